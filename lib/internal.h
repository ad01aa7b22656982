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
#define ep_written(ptr, len) \
	((void)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(ptr, len))
#else
#define ep_written(ptr, len) ((void)(ptr), (void)(len))
#endif

#define EP_EXPORT __attribute__((visibility("default")))

#ifndef AF_IB
#define AF_IB 27
#endif

#define ep_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* ---------------------------------------------------------------- session.c */

/*
 * One open of the device. All objects point to the session that they were made
 * in: a fork()ed child sets the file descriptor of its parent's session to -1,
 * so that the parent's objects fail with EBADF there.
 */
struct ep_session {
	int fd;
	uint32_t max_post_bytes;
	struct rdma_ep_cq_ring *rings;	/* or NULL */
};

/* Is it the session of a process that this one was fork()ed from? */
static inline bool ep_inherited(const struct ep_session *session)
{
	return session->fd < 0;
}

struct ep_session *ep_session_get(void);
int ep_session_cm(struct ep_session **session);
int ep_destroy(struct ep_session *session, uint32_t type, uint32_t handle,
	       uint32_t *events, uint32_t *comp_events);
void ep_close(int fd);
void ep_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond,
		   const uint32_t *acked, uint32_t reported);

/* Fills in the size that every command starts with, then calls. */
#define ep_call(session, name, cmd) \
	((cmd)->size = sizeof(*(cmd)), \
	 ioctl((session)->fd, RDMA_EP_IOC_##name, (cmd)))

static inline int ep_err(int error)
{
	errno = error;
	return -1;
}

static inline void *ep_null(int error)
{
	errno = error;
	return NULL;
}

/* Queries name a device by its index: of one that was open, it has been removed. */
static inline int ep_query_errno(int error)
{
	return error == ENODEV ? EIO : error;
}

/* ----------------------------------------------------- device.c, context.c */

struct ep_context;

struct ep_device {
	struct ibv_device ibdev;
	/*
	 * libibverbs keeps private members behind the public ones; libraries
	 * that look there (mlx5dv_is_supported() compares the ops pointer) find
	 * zeros.
	 */
	uint64_t verbs_device[16];

	struct ep_device *next;
	uint32_t index;
	uint32_t ib_index;
	__be64 guid;
	int num_comp_vectors;
	int num_ports;

	/* Those of the current session; ep_devices_lock. */
	struct ep_context *ctx;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;

	bool has_xrc;

	/* What connections may ask for at most. */
	bool have_limits;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

struct ep_context {
	struct ep_session *session;
	uint32_t handle;
	bool is_default;
	struct verbs_context verbs;	/* ends with the public context */
};

static inline struct ep_context *ep_ctx(struct ibv_context *context)
{
	return ep_container(context, struct ep_context, verbs.context);
}

static inline struct ep_device *ep_dev(struct ibv_device *device)
{
	return (struct ep_device *)device;
}

extern pthread_mutex_t ep_devices_lock;

int ep_devices_refresh(struct ep_session *session, uint32_t **indices);
struct ep_device *ep_device_get(struct ep_session *session, uint32_t index);
bool ep_device_ours(struct ibv_device *device);
int ep_device_default(struct ep_session *session, struct ep_device *dev,
		      struct ibv_context **context, struct ibv_pd **pd);
struct ibv_xrcd *ep_device_xrcd(struct ibv_context *context);
int ep_device_limits(struct ep_session *session, struct ep_device *dev);
void ep_devices_forked(void);

struct ibv_context *ep_context_open(struct ep_session *session,
				    struct ep_device *dev, uint32_t flags,
				    uint32_t *pd);
int ep_query_port_attr(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *attr, size_t len);
int ep_query_device_ex(struct ibv_context *context,
		       const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t len);

/* ----------------------------------------------------------- the data path */

int ep_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int ep_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int ep_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		 struct ibv_send_wr **bad_wr);
int ep_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		 struct ibv_recv_wr **bad_wr);
int ep_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);

/*
 * Is this context, or the context of an object, one of ours? Contexts of the
 * real libibverbs may live in the same process; calls on those are passed on.
 */
static inline bool ep_ours(const struct ibv_context *context)
{
	return context && context->ops.poll_cq == ep_poll_cq;
}

/* ------------------------------------------------------------------- ring.c */

struct ep_cq;

void ep_rings_map(struct ep_session *session);
struct rdma_ep_cq_ring *ep_ring(struct ep_session *session, uint32_t index);
int ep_ring_poll(struct ep_cq *cq, int num, struct ibv_wc *wc);
bool ep_ring_arm(struct ep_cq *cq);

/* ---------------------------------------------------------------- forward.c */

void *ep_real(const char *name, const char *version);
void *ep_real_cm(const char *name);
void *ep_real_rsocket(const char *name);
bool ep_called_by_real(const void *return_address);

/* Has the function that this stands in been called by one of the real libraries? */
#define ep_real_calls() ep_called_by_real(__builtin_return_address(0))

/* The real function, looked up once; a null pointer if there is none. */
#define ep_real_fn(fn, lookup) ({ \
	static __typeof__(&fn) real_fn; \
	__typeof__(&fn) fn_ = __atomic_load_n(&real_fn, __ATOMIC_RELAXED); \
	if (!fn_) { \
		fn_ = (__typeof__(&fn))(lookup); \
		__atomic_store_n(&real_fn, fn_, __ATOMIC_RELAXED); \
	} \
	fn_; })

/* Call the function of the real libibverbs; it yields fail if there is none. */
#define ep_forward(fail, version, fn, ...) ({ \
	__typeof__(&fn) to_ = ep_real_fn(fn, ep_real(#fn, version)); \
	to_ ? to_(__VA_ARGS__) : (errno = ENOSYS, (fail)); })

/* The same with librdmacm. */
#define ep_forward_cm(fail, fn, ...) ({ \
	__typeof__(&fn) to_ = ep_real_fn(fn, ep_real_cm(#fn)); \
	to_ ? to_(__VA_ARGS__) : (errno = EINVAL, (fail)); })

/* Where there is nothing to return. */
#define ep_forward_cm_void(fn, ...) do { \
	__typeof__(&fn) to_ = ep_real_fn(fn, ep_real_cm(#fn)); \
	if (to_) \
		to_(__VA_ARGS__); \
} while (0)

/* ------------------------------------------------------------------- convert.c */

void ep_ah_attr_from_uapi(struct ibv_ah_attr *dst,
			  const struct ib_uverbs_ah_attr *src);
void ep_ah_attr_to_uapi(struct ib_uverbs_ah_attr *dst,
			const struct ibv_ah_attr *src);
void ep_qp_attr_from_uapi(struct ibv_qp_attr *dst,
			  const struct ib_uverbs_qp_attr *src);
void ep_qp_attr_to_uapi(struct ib_uverbs_qp_attr *dst,
			const struct ibv_qp_attr *src, int mask);
void ep_path_from_uapi(struct ibv_sa_path_rec *dst,
		       const struct rdma_ep_path_rec *src);
socklen_t ep_addr_len(const struct sockaddr *addr);
int ep_addr_to_uapi(struct __kernel_sockaddr_storage *dst,
		    const struct sockaddr *src, socklen_t len);

/* -------------------------------------------------------------- verbs objects */

struct ep_id;

struct ep_wr_list;

/* The extended structure begins with the plain one, and grows at its end. */
#define EP_QP_EX_NEWER 8
struct ep_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	void (*newer[EP_QP_EX_NEWER])(struct ibv_qp_ex *qp);
	struct ep_wr_list *wr;		/* of a QP with ibv_wr_*() functions */
	uint32_t max_inline_data;
	struct ep_id *id;	/* whose connection moves it; ep_own_qp_lock */
};

struct ep_cq_batch;

/* Every CQ has room for the extended structure, which begins with the plain one. */
struct ep_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct ep_cq_batch *batch;	/* of an extended CQ */
	struct rdma_ep_cq_ring *ring;	/* or NULL */
	pthread_mutex_t ring_lock;	/* taking completions from it */
};

static inline struct ep_cq *ep_cq(struct ibv_cq *cq)
{
	return (struct ep_cq *)cq;
}

struct ibv_cq *ep_cq_alloc(void);
void ep_cq_free(struct ibv_cq *cq);
void ep_cq_set(struct ibv_cq *cq, struct ibv_context *context,
	       struct ibv_comp_channel *channel, void *cq_context,
	       uint32_t handle, uint32_t cqe, uint32_t ring);
struct ibv_cq *ep_cq_create(struct ibv_context *context, uint32_t cqe,
			    void *cq_context, struct ibv_comp_channel *channel,
			    uint32_t comp_vector);
int ep_poll_kernel(struct ibv_cq *cq, int num, struct ibv_wc *wc);

struct ibv_cq_ex *ep_create_cq_ex(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr);
void ep_cq_batch_free(struct ep_cq_batch *batch);
int ep_cq_batch_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int ep_cq_batch_left(struct ibv_cq *cq);

/* A QP, and the CQs that the kernel makes with it, before the ioctl. */
struct ep_qp_build {
	struct ep_qp *qp;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_comp_channel *send_channel;
	struct ibv_comp_channel *recv_channel;
};

struct ep_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

struct ep_srq {
	struct ibv_srq srq;
	bool xrc;
	uint32_t num;
};

static inline uint32_t ep_xrcd_handle(struct ibv_xrcd *xrcd)
{
	return ((struct ep_xrcd *)xrcd)->handle;
}

static inline bool ep_has_xrc(const struct ibv_context *context)
{
	return ep_dev(context->device)->has_xrc;
}

struct ibv_xrcd *ep_open_xrcd(struct ibv_context *context,
			      struct ibv_xrcd_init_attr *attr);
int ep_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *ep_open_qp(struct ibv_context *context,
			  struct ibv_qp_open_attr *attr);
int ep_get_srq_num(struct ibv_srq *srq, uint32_t *num);

struct ep_qp *ep_qp_alloc(void);
void ep_qp_free(struct ep_qp *qp);
int ep_qp_prepare(struct ep_qp_build *build, struct rdma_ep_qp_init *init,
		  struct ibv_pd *pd, const struct ibv_qp_init_attr *attr,
		  bool make_cqs);
struct ibv_qp *ep_qp_finish(struct ep_qp_build *build,
			    const struct rdma_ep_qp_init *init,
			    struct ibv_context *context, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *attr,
			    struct ep_id *id);
void ep_qp_abort(struct ep_qp_build *build);
void ep_qp_undo(struct ep_session *session, const struct rdma_ep_qp_init *init);
int ep_qp_check_ex(const struct ibv_context *context,
		   const struct ibv_qp_init_attr_ex *attr);
int ep_qp_prepare_ex(struct ep_qp_build *build, struct rdma_ep_qp_init *init,
		     struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr,
		     bool make_cqs);
int ep_wr_init(struct ep_qp *qp, uint64_t ops);
void ep_wr_limits(struct ep_qp *qp, const struct ibv_qp_cap *cap);
void ep_wr_free(struct ep_wr_list *list);
struct ibv_qp *ep_create_qp_ex(struct ibv_context *context,
			       struct ibv_qp_init_attr_ex *attr);
int ep_qp_destroy(struct ibv_qp *qp, uint32_t flags);
void ep_qp_gone(struct ibv_qp *qp, uint32_t events);
void ep_cq_gone(struct ibv_cq *cq, uint32_t events, uint32_t comp_events);
void ep_srq_gone(struct ibv_srq *srq, uint32_t events);
int ep_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

struct ibv_srq *ep_srq_create(struct ep_session *session,
			      struct ibv_context *context, struct ibv_pd *pd,
			      uint32_t id, void *srq_context,
			      struct ibv_srq_attr *attr,
			      struct ibv_xrcd *xrcd, struct ibv_cq *cq);
int ep_srq_check_ex(const struct ibv_srq_init_attr_ex *attr);
struct ibv_srq *ep_create_srq_ex(struct ibv_context *context,
				 struct ibv_srq_init_attr_ex *attr);

/* -------------------------------------------------------------------- rdma_cm */

struct ep_mcast;

/* Programs may use channels that they have put together themselves: no tag. */
struct ep_channel {
	struct rdma_event_channel channel;
	const void *tag;
	struct ep_session *session;
};

struct ep_id {
	struct rdma_cm_id id;
	const void *tag;		/* see ep_foreign_id() */
	struct ep_session *session;
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
	struct ep_mcast *mcasts;

	/* The QP that rdma_create_qp() made; ep_own_qp_lock. */
	struct ep_qp *own_qp;
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

struct ep_event {
	struct rdma_cm_event event;
	struct ep_id *charged;	/* whose acks this one counts to; NULL: none */
	struct ep_mcast *mcast;	/* to which it counts as well, or NULL */
	uint8_t private_data[RDMA_EP_MAX_PRIVATE_DATA];
};

static inline struct ep_id *ep_cm_id(struct rdma_cm_id *id)
{
	return (struct ep_id *)id;
}

extern const char ep_id_tag[];

/*
 * Is this an id of the real librdmacm? rsockets live in there and have such; calls
 * on them are passed on. What follows the public members is in librdmacm a
 * pointer too, to something else.
 */
static inline bool ep_foreign_id(struct rdma_cm_id *id)
{
	return id && ep_cm_id(id)->tag != ep_id_tag;
}

struct rdma_event_channel *ep_channel_alloc(void);
bool ep_channel_inherited(const struct rdma_event_channel *channel);
struct ep_id *ep_id_alloc(struct ep_session *session, void *context, int ps,
			  enum ibv_qp_type qp_type);
void ep_id_free(struct ep_id *id);
int ep_id_set_info(struct ep_id *id, const struct rdma_ep_id_info *info);
int ep_id_create(struct rdma_event_channel *channel, void *context, int ps,
		 enum ibv_qp_type qp_type, struct rdma_cm_id **out);
int ep_id_bind(struct ep_id *id, const struct sockaddr *addr, socklen_t len);
int ep_id_resolve_addr(struct ep_id *id, const struct sockaddr *src,
		       socklen_t src_len, const struct sockaddr *dst,
		       socklen_t dst_len, int timeout_ms);
int ep_id_query(struct ep_id *id, struct rdma_ep_query_id *cmd);
void ep_id_own_qp(struct ep_id *id, struct ep_qp *qp);
void ep_qp_disown(struct ep_qp *qp);
void ep_id_disown(struct ep_id *id);
void ep_id_qp_state(struct ep_id *id, enum ibv_qp_state state);
void ep_id_qp_connected(struct ep_id *id);
void ep_id_qp_ask_state(struct ep_id *id);
struct ibv_qp *ep_id_other_qp(struct ep_id *id);
int ep_id_ready_qp(struct ep_id *id, struct ibv_qp *qp,
		   const struct rdma_ep_conn_param *limit);
int ep_qp_set_state(struct ibv_qp *qp, enum ibv_qp_state state);
extern pthread_mutex_t ep_own_qp_lock;

void ep_mcasts_leave(struct ep_id *id);
void ep_mcasts_free(struct ep_id *id);
void ep_mcast_acked(struct ep_mcast *mcast);
int ep_mcast_event(struct ep_id *id, struct ep_mcast *mcast,
		   struct rdma_cm_event *event);

struct ep_event *ep_event_alloc(void);
bool ep_event_set(struct ep_event *event, const struct rdma_ep_event *record,
		  struct ep_id *child, struct rdma_event_channel *channel);
int ep_complete(struct rdma_cm_id *id);

/* What a call on a synchronous id waits for in its ioctl. */
struct ep_wait {
	struct ep_id *id;
	struct rdma_ep_await *await;	/* in the command */
	struct ep_event *event;		/* what rec is to become */
	struct rdma_ep_event rec;
	int error;			/* of the wait */
};

int ep_await(struct ep_wait *wait, unsigned long request, void *cmd);
int ep_complete_await(struct ep_wait *wait);
void ep_wait_init(struct ep_wait *wait, struct ep_id *id, uint32_t *flags,
		  struct rdma_ep_await *await);

/*
 * As ep_call(), but if the id is synchronous this also waits for the event that
 * ep_complete_await() goes on with. Not if it fails.
 */
#define ep_call_await(ep_id, name, cmd, wait) \
	((cmd)->size = sizeof(*(cmd)), \
	 ep_wait_init(wait, ep_id, &(cmd)->flags, &(cmd)->await), \
	 ep_await(wait, RDMA_EP_IOC_##name, (cmd)))

int ep_ioctl_cancel(int fd, unsigned long request, void *cmd,
		    void (*cancelled)(void *arg), void *arg);
int ep_write_event(struct ep_id *id, uint32_t event, int status, uint64_t arg);
void ep_addrinfo_drop(struct ep_id *id);
void ep_drop_event(struct rdma_cm_id *id);
void ep_destroy_cqs(struct rdma_cm_id *id);
void ep_id_gone(struct ep_id *id, uint32_t events);

#endif
