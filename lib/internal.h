/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of librdma_ep share.
 *
 * The public structures of verbs.h and rdma_cma.h are the truth: programs read
 * and write them, so nothing that they hold is kept a second time here. Private
 * structures start with the public one that programs see.
 */
#ifndef RDMA_EP_LIB_INTERNAL_H
#define RDMA_EP_LIB_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rdma_ep.h>

/* The headers wrap these in macros; the library defines the functions. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

/*
 * The kernel has written into memory that a command only points to. valgrind knows
 * of the commands themselves (by their numbers), but not of that.
 */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define lep_written(ptr, len) \
	((void)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(ptr, len))
#else
#define lep_written(ptr, len) ((void)(ptr), (void)(len))
#endif

#define LEP_EXPORT __attribute__((visibility("default")))

#ifndef AF_IB
#define AF_IB 27
#endif

#define lep_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* ---------------------------------------------------------------- session.c */

/*
 * One open of the device. All objects point to the session that they were made
 * in: a fork()ed child sets the file descriptor of its parent's session to -1,
 * so that the parent's objects fail with EBADF there.
 */
struct lep_session {
	int fd;
	uint32_t max_post_bytes;
	struct rdma_ep_cq_ring *rings;	/* or NULL */
};

/* Is it the session of a process that this one was fork()ed from? */
static inline bool lep_inherited(const struct lep_session *session)
{
	return session->fd < 0;
}

struct lep_session *lep_session_get(void);
int lep_session_get_cm(struct lep_session **session);
int lep_obj_destroy(struct lep_session *session, uint32_t type, uint32_t handle,
		    uint32_t *events, uint32_t *comp_events);
void lep_close_fd(int fd);
void lep_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond,
		    const uint32_t *acked, uint32_t reported);

/* Fills in the size that every command starts with, then calls. */
#define lep_call(session, name, cmd) \
	((cmd)->size = sizeof(*(cmd)), \
	 ioctl((session)->fd, RDMA_EP_IOC_##name, (cmd)))

static inline int lep_err(int error)
{
	errno = error;
	return -1;
}

static inline void *lep_null(int error)
{
	errno = error;
	return NULL;
}

/* Queries name a device by its index: of one that was open, it has been removed. */
static inline int lep_query_errno(int error)
{
	return error == ENODEV ? EIO : error;
}

/* ----------------------------------------------------- device.c, context.c */

struct lep_context;

struct lep_device {
	struct ibv_device ibdev;
	/*
	 * libibverbs keeps private members behind the public ones; libraries
	 * that look there (mlx5dv_is_supported() compares the ops pointer) find
	 * zeros.
	 */
	uint64_t verbs_device[16];

	struct lep_device *next;
	uint32_t index;
	uint32_t ib_index;
	__be64 guid;
	int num_comp_vectors;
	int num_ports;

	/* Those of the current session; lep_devices_lock. */
	struct lep_context *ctx;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;

	bool has_xrc;

	/* What connections may ask for at most. */
	bool have_limits;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

struct lep_context {
	struct lep_session *session;
	uint32_t handle;
	bool is_default;
	struct verbs_context verbs;	/* ends with the public context */
};

static inline struct lep_context *lep_to_ctx(struct ibv_context *context)
{
	return lep_container(context, struct lep_context, verbs.context);
}

static inline struct lep_device *lep_to_dev(struct ibv_device *device)
{
	return (struct lep_device *)device;
}

extern pthread_mutex_t lep_devices_lock;

int lep_devices_refresh(struct lep_session *session, uint32_t **indices);
struct lep_device *lep_device_get(struct lep_session *session, uint32_t index);
bool lep_device_ours(struct ibv_device *device);
int lep_device_default(struct lep_session *session, struct lep_device *dev,
		       struct ibv_context **context, struct ibv_pd **pd);
struct ibv_xrcd *lep_device_xrcd(struct ibv_context *context);
int lep_device_limits(struct lep_session *session, struct lep_device *dev);
void lep_devices_forked(void);

struct ibv_context *lep_context_open(struct lep_session *session,
				     struct lep_device *dev, uint32_t flags,
				     uint32_t *pd);
int lep_query_port_attr(struct ibv_context *context, uint8_t port_num,
			struct ibv_port_attr *attr, size_t len);
int lep_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t len);

/* ----------------------------------------------------------- the data path */

int lep_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int lep_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int lep_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int lep_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int lep_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

/*
 * Is this context, or the context of an object, one of ours? Contexts of the
 * real libibverbs may live in the same process; calls on those are passed on.
 */
static inline bool lep_ours(const struct ibv_context *context)
{
	return context && context->ops.poll_cq == lep_poll_cq;
}

/* ------------------------------------------------------------------- ring.c */

struct lep_cq;

void lep_rings_map(struct lep_session *session);
struct rdma_ep_cq_ring *lep_ring_at(struct lep_session *session, uint32_t index);
int lep_ring_poll(struct lep_cq *cq, int num, struct ibv_wc *wc);
bool lep_ring_arm(struct lep_cq *cq);

/* ---------------------------------------------------------------- forward.c */

void *lep_real(const char *name, const char *version);
void *lep_real_cm(const char *name);
void *lep_real_rsocket(const char *name);
bool lep_called_by_real(const void *return_address);

/* Has the function that this stands in been called by one of the real libraries? */
#define lep_real_calls() lep_called_by_real(__builtin_return_address(0))

/* The real function, looked up once; a null pointer if there is none. */
#define lep_real_fn(fn, lookup) ({ \
	static __typeof__(&fn) real_fn; \
	__typeof__(&fn) fn_ = __atomic_load_n(&real_fn, __ATOMIC_RELAXED); \
	if (!fn_) { \
		fn_ = (__typeof__(&fn))(lookup); \
		__atomic_store_n(&real_fn, fn_, __ATOMIC_RELAXED); \
	} \
	fn_; })

/* Call the function of the real libibverbs; it yields fail if there is none. */
#define lep_forward(fail, version, fn, ...) ({ \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real(#fn, version)); \
	to_ ? to_(__VA_ARGS__) : (errno = ENOSYS, (fail)); })

/* The same with librdmacm. */
#define lep_forward_cm(fail, fn, ...) ({ \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real_cm(#fn)); \
	to_ ? to_(__VA_ARGS__) : (errno = EINVAL, (fail)); })

/* Where there is nothing to return. */
#define lep_forward_cm_void(fn, ...) do { \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real_cm(#fn)); \
	if (to_) \
		to_(__VA_ARGS__); \
} while (0)

/* ------------------------------------------------------------------- convert.c */

void lep_ah_attr_from_uapi(struct ibv_ah_attr *dst,
			   const struct ib_uverbs_ah_attr *src);
void lep_ah_attr_to_uapi(struct ib_uverbs_ah_attr *dst,
			 const struct ibv_ah_attr *src);
void lep_qp_attr_from_uapi(struct ibv_qp_attr *dst,
			   const struct ib_uverbs_qp_attr *src);
void lep_qp_attr_to_uapi(struct ib_uverbs_qp_attr *dst,
			 const struct ibv_qp_attr *src, int mask);
void lep_path_from_uapi(struct ibv_sa_path_rec *dst,
			const struct rdma_ep_path_rec *src);
socklen_t lep_addr_len(const struct sockaddr *addr);
int lep_addr_to_uapi(struct __kernel_sockaddr_storage *dst,
		     const struct sockaddr *src, socklen_t len);

/* -------------------------------------------------------------- verbs objects */

struct lep_id;

struct lep_wr_list;

/* The extended structure begins with the plain one, and grows at its end. */
#define LEP_QP_EX_NEWER 8
struct lep_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	void (*newer[LEP_QP_EX_NEWER])(struct ibv_qp_ex *qp);
	struct lep_wr_list *wr;		/* of a QP with ibv_wr_*() functions */
	uint32_t max_inline_data;
	struct lep_id *id;	/* whose connection moves it; lep_qp_owner_lock */
};

struct lep_cq_batch;

/* Every CQ has room for the extended structure, which begins with the plain one. */
struct lep_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct lep_cq_batch *batch;	/* of an extended CQ */
	struct rdma_ep_cq_ring *ring;	/* or NULL */
	pthread_mutex_t ring_lock;	/* taking completions from it */
};

static inline struct lep_cq *lep_to_cq(struct ibv_cq *cq)
{
	return (struct lep_cq *)cq;
}

struct ibv_cq *lep_cq_alloc(void);
void lep_cq_free(struct ibv_cq *cq);
void lep_cq_fill(struct ibv_cq *cq, struct ibv_context *context,
		 struct ibv_comp_channel *channel, void *cq_context,
		 uint32_t handle, uint32_t cqe, uint32_t ring);
struct ibv_cq *lep_cq_create(struct ibv_context *context, uint32_t cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     uint32_t comp_vector);
int lep_poll_kernel(struct ibv_cq *cq, int num, struct ibv_wc *wc);

struct ibv_cq_ex *lep_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);
void lep_cq_batch_free(struct lep_cq_batch *batch);
int lep_cq_batch_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int lep_cq_batch_left(struct ibv_cq *cq);

/* A QP, and the CQs that the kernel makes with it, before the ioctl. */
struct lep_qp_build {
	struct lep_qp *qp;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_comp_channel *send_channel;
	struct ibv_comp_channel *recv_channel;
};

struct lep_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

struct lep_srq {
	struct ibv_srq srq;
	bool xrc;
	uint32_t num;
};

static inline uint32_t lep_xrcd_handle(struct ibv_xrcd *xrcd)
{
	return ((struct lep_xrcd *)xrcd)->handle;
}

static inline bool lep_has_xrc(const struct ibv_context *context)
{
	return lep_to_dev(context->device)->has_xrc;
}

struct ibv_xrcd *lep_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int lep_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *lep_open_qp(struct ibv_context *context,
			   struct ibv_qp_open_attr *attr);
int lep_get_srq_num(struct ibv_srq *srq, uint32_t *num);

struct lep_qp *lep_qp_alloc(void);
void lep_qp_free(struct lep_qp *qp);
int lep_qp_build_begin(struct lep_qp_build *build, struct rdma_ep_qp_init *init,
		       struct ibv_pd *pd, const struct ibv_qp_init_attr *attr,
		       bool make_cqs);
struct ibv_qp *lep_qp_build_finish(struct lep_qp_build *build,
				   const struct rdma_ep_qp_init *init,
				   struct ibv_context *context, struct ibv_pd *pd,
				   struct ibv_qp_init_attr *attr,
				   struct lep_id *id);
void lep_qp_build_abort(struct lep_qp_build *build);
void lep_qp_build_undo(struct lep_session *session, const struct rdma_ep_qp_init *init);
int lep_qp_check_ex(const struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr);
int lep_qp_build_begin_ex(struct lep_qp_build *build, struct rdma_ep_qp_init *init,
			  struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr,
			  bool make_cqs);
int lep_wr_list_create(struct lep_qp *qp, uint64_t ops);
void lep_wr_list_set_limits(struct lep_qp *qp, const struct ibv_qp_cap *cap);
void lep_wr_list_free(struct lep_wr_list *list);
struct ibv_qp *lep_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);
int lep_qp_destroy(struct ibv_qp *qp, uint32_t flags);
void lep_qp_release(struct ibv_qp *qp, uint32_t events);
void lep_cq_release(struct ibv_cq *cq, uint32_t events, uint32_t comp_events);
void lep_srq_release(struct ibv_srq *srq, uint32_t events);
int lep_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

struct ibv_srq *lep_srq_create(struct lep_session *session,
			       struct ibv_context *context, struct ibv_pd *pd,
			       uint32_t id, void *srq_context,
			       struct ibv_srq_attr *attr,
			       struct ibv_xrcd *xrcd, struct ibv_cq *cq);
int lep_srq_check_ex(const struct ibv_srq_init_attr_ex *attr);
struct ibv_srq *lep_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);

/* -------------------------------------------------------------------- rdma_cm */

struct lep_mcast;

/* Programs may use channels that they have put together themselves: no tag. */
struct lep_channel {
	struct rdma_event_channel channel;
	const void *tag;
	struct lep_session *session;
};

struct lep_id {
	struct rdma_cm_id id;
	const void *tag;		/* see lep_foreign_id() */
	struct lep_session *session;
	uint32_t handle;
	bool sync;
	bool has_device;

	/* Events that have been acknowledged. */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t acked;

	/* Of rdma_resolve_addrinfo(), not yet queried; mutex. */
	bool resolving;
	struct rdma_addrinfo *resolved;

	/* Multicast groups that it is in; mutex. */
	struct lep_mcast *mcasts;

	/* The QP that rdma_create_qp() made; lep_qp_owner_lock. */
	struct lep_qp *own_qp;
	/* Its address, even if it is gone: id->qp may still point there. */
	const struct ibv_qp *made_qp;
	/* Its PD, likewise: the default one, or the program's, in id->pd. */
	const struct ibv_pd *made_pd;
	/* It was told of a CONNECT_ERROR that the library made. */
	bool failed;

	/* From the connection request. */
	uint8_t responder_resources;
	uint8_t initiator_depth;

	struct ibv_ece local_ece;
	struct ibv_qp_init_attr *saved_attr;	/* of a passive endpoint */
	void *connect;				/* ai_connect of rdma_create_ep() */
	size_t connect_len;
	struct ibv_sa_path_rec path[2];
};

struct lep_event {
	struct rdma_cm_event event;
	struct lep_id *charged;	/* whose acks this one counts to; NULL: none */
	struct lep_mcast *mcast;	/* to which it counts as well, or NULL */
	uint8_t private_data[RDMA_EP_MAX_PRIVATE_DATA];
};

static inline struct lep_id *lep_to_id(struct rdma_cm_id *id)
{
	return (struct lep_id *)id;
}

extern const char lep_id_tag[];

/*
 * Is this an id of the real librdmacm? rsockets live in there and have such; calls
 * on them are passed on. What follows the public members is in librdmacm a
 * pointer too, to something else.
 */
static inline bool lep_foreign_id(struct rdma_cm_id *id)
{
	return id && lep_to_id(id)->tag != lep_id_tag;
}

struct rdma_event_channel *lep_channel_alloc(void);
bool lep_channel_inherited(const struct rdma_event_channel *channel);
struct lep_id *lep_id_alloc(struct lep_session *session, void *context, int ps,
			    enum ibv_qp_type qp_type);
void lep_id_free(struct lep_id *id);
int lep_id_set_info(struct lep_id *id, const struct rdma_ep_id_info *info);
int lep_id_create(struct rdma_event_channel *channel, void *context, int ps,
		  enum ibv_qp_type qp_type, struct rdma_cm_id **out);
int lep_id_bind(struct lep_id *id, const struct sockaddr *addr, socklen_t len);
int lep_id_resolve_addr(struct lep_id *id, const struct sockaddr *src,
			socklen_t src_len, const struct sockaddr *dst,
			socklen_t dst_len, int timeout_ms);
int lep_id_query(struct lep_id *id, struct rdma_ep_query_id *cmd);
void lep_qp_set_owner(struct lep_id *id, struct lep_qp *qp);
void lep_qp_clear_owner(struct lep_qp *qp);
void lep_id_clear_qp(struct lep_id *id);
void lep_id_set_qp_state(struct lep_id *id, enum ibv_qp_state state);
void lep_id_qp_connected(struct lep_id *id);
void lep_id_query_qp_state(struct lep_id *id);
struct ibv_qp *lep_id_external_qp(struct lep_id *id);
int lep_external_qp_connect(struct lep_id *id, struct ibv_qp *qp,
			    const struct rdma_ep_conn_param *limit);
int lep_external_qp_set_state(struct ibv_qp *qp, enum ibv_qp_state state);
extern pthread_mutex_t lep_qp_owner_lock;

void lep_mcast_leave_all(struct lep_id *id);
void lep_mcast_free_all(struct lep_id *id);
void lep_mcast_count_ack(struct lep_mcast *mcast);
int lep_mcast_event(struct lep_id *id, struct lep_mcast *mcast,
		    struct rdma_cm_event *event);

struct lep_event *lep_event_alloc(void);
bool lep_event_fill(struct lep_event *event, const struct rdma_ep_event *record,
		    struct lep_id *child, struct rdma_event_channel *channel);
int lep_id_await_event(struct rdma_cm_id *id);

/* What a call on a synchronous id waits for in its ioctl. */
struct lep_await {
	struct lep_id *id;
	struct rdma_ep_await *await;	/* in the command */
	struct lep_event *event;		/* what rec is to become */
	struct rdma_ep_event rec;
	int error;			/* of the wait */
};

int lep_await_ioctl(struct lep_await *wait, unsigned long request, void *cmd);
int lep_await_finish(struct lep_await *wait);
void lep_await_init(struct lep_await *wait, struct lep_id *id, uint32_t *flags,
		    struct rdma_ep_await *await);

/*
 * As lep_call(), but if the id is synchronous this also waits for the event that
 * lep_await_finish() goes on with. Not if it fails.
 */
#define lep_call_await(id, name, cmd, wait) \
	((cmd)->size = sizeof(*(cmd)), \
	 lep_await_init(wait, id, &(cmd)->flags, &(cmd)->await), \
	 lep_await_ioctl(wait, RDMA_EP_IOC_##name, (cmd)))

int lep_ioctl_cancelable(int fd, unsigned long request, void *cmd,
			 void (*cancelled)(void *arg), void *arg);
int lep_write_event(struct lep_id *id, uint32_t event, int status, uint64_t arg);
void lep_id_drop_addrinfo(struct lep_id *id);
void lep_id_drop_event(struct rdma_cm_id *id);
void lep_id_destroy_cqs(struct rdma_cm_id *id);
void lep_id_release(struct lep_id *id, uint32_t events);

#endif
