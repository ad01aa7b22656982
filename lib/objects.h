/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librdma_ep, the middle layer: contexts and the objects in them.
 *
 * A function that the context's table of verbs points to has the verb's name:
 * lep_create_qp_ex() is ibv_create_qp_ex(3). Others are named by their object:
 * lep_qp_destroy().
 */
#ifndef RDMA_EP_LIB_OBJECTS_H
#define RDMA_EP_LIB_OBJECTS_H

#include "core.h"

/* ----------------------------------------------- context.c, device_default.c */

struct lep_context {
	struct lep_session *session;
	uint32_t handle;
	bool is_default;
	/* A default context is in lep_session.defaults, and has these objects that ids share. */
	struct lep_context *next;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct verbs_context verbs;	/* ends with the public context */
};

static inline struct lep_context *lep_to_ctx(struct ibv_context *context)
{
	return lep_container(context, struct lep_context, verbs.context);
}

/* Executes a command on the session of the context. 0 or an errno. */
#define lep_ctx_call(context, name, cmd) \
	(lep_call(lep_to_ctx(context)->session, name, cmd) ? errno : 0)

static inline bool lep_has_xrc(const struct ibv_context *context)
{
	return lep_to_dev(context->device)->has_xrc;
}

/* Destroys an object that has no events, and frees its structure; 0 or an errno. */
static inline int lep_obj_destroy_free(struct ibv_context *context, uint32_t type,
				       uint32_t handle, void *obj)
{
	if (lep_obj_destroy(lep_to_ctx(context)->session, type, handle, NULL, NULL))
		return errno;
	free(obj);
	return 0;
}

struct ibv_context *lep_context_open(struct lep_session *session,
				     struct lep_device *dev, uint32_t flags,
				     uint32_t *pd);
struct ibv_context *lep_context_make(struct lep_session *session, struct lep_device *dev,
				     uint32_t handle, bool is_default);
void lep_context_add_default(struct lep_context *ctx, struct ibv_pd *pd);
int lep_device_default(struct lep_session *session, struct lep_device *dev,
		       struct ibv_context **context, struct ibv_pd **pd);
struct ibv_xrcd *lep_device_xrcd(struct ibv_context *context);
bool lep_device_shares(struct lep_session *session, const struct rdma_ep_obj_info *info);
void lep_device_free_defaults(struct lep_session *session);

/* ----------------------------------------------------- device_query.c, gid.c */

int lep_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t len);
int lep_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr, size_t len);
int lep_gid_query(struct ibv_context *context, uint32_t port_num,
		  uint32_t index, struct rdma_ep_cmd_query_gid *cmd);

/* ------------------------------------------------------------------- pd_mr.c */

struct ibv_mr *lep_mr_reg(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t iova, unsigned int access);

/* --------------------------------------------------- ring.c, cq_batch.c, cq.c */

struct lep_cq_batch;

/* Every CQ has room for the extended structure, which begins with the plain one. */
struct lep_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct lep_cq_batch *batch;	/* of an extended CQ */
	struct rdma_ep_cq_ring *ring;	/* or NULL */
	pthread_mutex_t ring_lock;	/* held while completions are taken */
};

static inline struct lep_cq *lep_to_cq(struct ibv_cq *cq)
{
	return (struct lep_cq *)cq;
}

struct rdma_ep_cq_ring *lep_ring_at(struct lep_session *session, uint32_t index);
bool lep_ring_arm(struct lep_cq *cq);
int lep_cq_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);

struct lep_cq_batch *lep_cq_batch_alloc(bool single_threaded);
void lep_cq_batch_free(struct lep_cq_batch *batch);
void lep_cq_batch_attach(struct lep_cq *cq, struct lep_cq_batch *batch);
int lep_cq_batch_left(struct ibv_cq *cq);
bool lep_cq_batch_single_threaded(const struct lep_cq *cq);
bool lep_cq_can_unread(struct lep_cq *cq);
void lep_cq_unread(struct lep_cq *cq);
void lep_ring_unread(struct rdma_ep_cq_ring *ring, const struct ibv_wc *wc, unsigned int num);
unsigned int lep_ring_room(const struct rdma_ep_cq_ring *ring);
int lep_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);

/*
 * True if this library has created the context. The process may also have contexts of the
 * real libibverbs; exported functions pass calls on those to it.
 */
static inline bool lep_ours(const struct ibv_context *context)
{
	return context && context->ops.poll_cq == lep_poll_cq;
}

struct ibv_comp_channel *lep_comp_channel_create(struct ibv_context *context);
int lep_comp_channel_destroy(struct ibv_comp_channel *channel);
struct ibv_cq *lep_cq_alloc(void);
void lep_cq_free(struct ibv_cq *cq);
void lep_cq_fill(struct ibv_cq *cq, struct ibv_context *context,
		 struct ibv_comp_channel *channel, void *cq_context,
		 uint32_t handle, uint32_t cqe, uint32_t ring);
struct ibv_cq *lep_cq_create(struct ibv_context *context, uint32_t cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     uint32_t comp_vector);
void lep_cq_release(struct ibv_cq *cq, uint32_t events, uint32_t comp_events);
int lep_cq_destroy(struct ibv_cq *cq);
int lep_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int lep_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *lep_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);

/* ----------------------------------------------- srq.c, recv_ring.c, xrcd.c */

struct lep_srq {
	struct ibv_srq srq;
	bool xrc;
	uint32_t num;
	struct rdma_ep_recv_ring *ring;	/* or NULL */
	pthread_mutex_t ring_lock;	/* held while receives are put there */
};

static inline struct lep_srq *lep_to_srq(struct ibv_srq *srq)
{
	return (struct lep_srq *)srq;
}

struct lep_srq *lep_srq_alloc(void);
void lep_srq_free(struct lep_srq *srq);
void lep_srq_fill(struct lep_srq *srq, struct ibv_context *context, struct ibv_pd *pd,
		  void *srq_context, uint32_t handle, uint32_t ring);

/* The beginning of a list, in an SRQ's ring */
struct lep_ring_list {
	uint32_t first;		/* number of its first receive there, modulo 2^32 */
	uint32_t num;
	bool call;		/* the kernel has to be called for them */
};

struct ibv_recv_wr *lep_recv_ring_post(struct lep_srq *srq, struct ibv_recv_wr *wr,
				       struct lep_ring_list *list);
uint32_t lep_recv_ring_taken(const struct lep_srq *srq, const struct lep_ring_list *list);
struct ibv_srq *lep_srq_create(struct ibv_context *context, struct ibv_pd *pd,
			       uint32_t id, void *srq_context,
			       struct ibv_srq_attr *attr,
			       struct ibv_xrcd *xrcd, struct ibv_cq *cq);
int lep_srq_check_ex(const struct ibv_srq_init_attr_ex *attr);
void lep_srq_release(struct ibv_srq *srq, uint32_t events);
struct ibv_srq *lep_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);
int lep_get_srq_num(struct ibv_srq *srq, uint32_t *num);

struct lep_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

static inline uint32_t lep_xrcd_handle(struct ibv_xrcd *xrcd)
{
	return ((struct lep_xrcd *)xrcd)->handle;
}

struct ibv_xrcd *lep_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int lep_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *lep_open_qp(struct ibv_context *context,
			   struct ibv_qp_open_attr *attr);

/* ------------------------------------------- qp_owner.c, wr.c, qp.c, qp_ex.c */

struct lep_wr_list;

/*
 * The extended structure begins with the plain one, and grows at its end: functions that
 * newer headers add are NULL.
 */
#define LEP_QP_EX_NEWER 8
struct lep_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	void (*newer[LEP_QP_EX_NEWER])(struct ibv_qp_ex *qp);
	struct lep_wr_list *wr;		/* of a QP with ibv_wr_*() functions */
	uint32_t max_inline_data;
	struct lep_qp_owner *owner;	/* or NULL; lep_qp_owner_lock */
};

static inline struct lep_qp *lep_to_qp(struct ibv_qp *qp)
{
	return (struct lep_qp *)qp;
}

/*
 * The link from an id to the QP that rdma_create_qp() has created for it. The kernel moves
 * this QP with the connection; the library updates qp->state when a call or an event
 * reports the change. The link does not depend on id->qp, which the program may change, and
 * which may point to a destroyed QP.
 */
struct lep_qp_owner {
	struct lep_qp *qp;		/* or NULL; lep_qp_owner_lock */
};

extern pthread_mutex_t lep_qp_owner_lock;

void lep_qp_set_owner(struct lep_qp *qp, struct lep_qp_owner *owner);
void lep_qp_clear_owner(struct lep_qp *qp);
void lep_owner_clear_qp(struct lep_qp_owner *owner);
void lep_owner_set_qp_state(struct lep_qp_owner *owner, enum ibv_qp_state state);
void lep_owner_qp_connected(struct lep_qp_owner *owner);
void lep_owner_query_qp_state(struct lep_qp_owner *owner);

int lep_wr_list_create(struct lep_qp *qp, uint64_t ops);
void lep_wr_list_set_limits(struct lep_qp *qp, const struct ibv_qp_cap *cap);
void lep_wr_list_free(struct lep_wr_list *list);
bool lep_wr_list_started(const struct lep_qp *qp);
uint64_t lep_wr_list_ops(const struct lep_qp *qp);

/* A CQ that the kernel creates together with a QP, and its channel. */
struct lep_auto_cq {
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
};

/* The structures of a QP and its CQs, allocated before the kernel creates the objects. */
struct lep_qp_build {
	struct lep_qp *qp;
	struct lep_auto_cq send;
	struct lep_auto_cq recv;
};

struct lep_qp *lep_qp_alloc(void);
void lep_qp_free(struct lep_qp *qp);
bool lep_qp_attr_of_context(const struct ibv_context *context,
			    const struct ibv_qp_init_attr *attr);
int lep_qp_build_begin(struct lep_qp_build *build, struct lep_session *session,
		       struct rdma_ep_qp_init *init, struct ibv_pd *pd,
		       const struct ibv_qp_init_attr *attr,
		       const struct ibv_qp_init_attr_ex *ex, bool make_cqs);
int lep_qp_build_create(struct lep_qp_build *build, struct ibv_context *context,
			struct rdma_ep_cmd_create_qp *cmd, uint32_t id, struct ibv_xrcd *xrcd);
void lep_qp_build_abort(struct lep_qp_build *build);
void lep_qp_build_undo(struct lep_session *session,
		       const struct rdma_ep_qp_init *init);
struct ibv_qp *lep_qp_build_finish(struct lep_qp_build *build,
				   const struct rdma_ep_qp_init *init,
				   struct ibv_context *context,
				   struct ibv_pd *pd,
				   struct ibv_qp_init_attr *attr,
				   void *cq_context);
struct ibv_qp *lep_qp_create(struct ibv_context *context, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr,
			     const struct ibv_qp_init_attr_ex *ex);
void lep_qp_release(struct ibv_qp *qp, uint32_t events);
int lep_qp_destroy(struct ibv_qp *qp, uint32_t flags);
int lep_qp_check_ex(const struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *lep_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);

/* ------------------------------------------------------------------- post.c */

int lep_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int lep_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int lep_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

#endif
