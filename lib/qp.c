// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs. */
#include "objects.h"

struct lep_qp *lep_qp_alloc(void)
{
	struct lep_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	return qp;
}

void lep_qp_free(struct lep_qp *qp)
{
	if (!qp)
		return;
	pthread_cond_destroy(&qp->qp.cond);
	pthread_mutex_destroy(&qp->qp.mutex);
	lep_wr_list_free(qp->wr);
	free(qp);
}

/* Prepares the CQ of one direction: the given one, or one that the kernel creates. */
static int begin_cq(struct lep_session *session, struct rdma_ep_auto_cq *init,
		    struct ibv_cq *given, bool make, struct lep_auto_cq *made)
{
	if (given) {
		if (!lep_ours(given->context) || lep_to_ctx(given->context)->session != session)
			return lep_err(EINVAL);
		init->cq = given->handle;
		return 0;
	}
	if (!make)
		return 0;
	made->channel = calloc(1, sizeof(*made->channel));
	made->cq = made->channel ? lep_cq_alloc() : NULL;
	if (!made->cq)
		return -1;
	init->uid = (uintptr_t)made->cq;
	init->ring = session->rings ? RDMA_EP_CQ_RING : 0;
	return 0;
}

static void abort_cq(struct lep_auto_cq *made)
{
	lep_cq_free(made->cq);
	free(made->channel);
	made->cq = NULL;
	made->channel = NULL;
}

static void undo_cq(struct lep_session *session,
		    const struct rdma_ep_auto_cq *init)
{
	if (!init->cqe)
		return;
	lep_obj_destroy(session, RDMA_EP_OBJ_CQ, init->cq, NULL, NULL);
	lep_close_fd(init->channel_fd);
}

static void finish_cq(const struct rdma_ep_auto_cq *init,
		      struct lep_auto_cq *made, struct ibv_context *context,
		      void *cq_context, struct ibv_cq **attr_cq)
{
	if (!init->cqe)
		abort_cq(made);
	if (!made->cq)
		return;
	made->channel->context = context;
	made->channel->fd = init->channel_fd;
	lep_cq_fill(made->cq, context, made->channel, cq_context, init->cq,
		    init->cqe, init->ring);
	*attr_cq = made->cq;
}

/* True if all objects are of the context. The kernel's handles do not show that. */
bool lep_qp_attr_of_context(const struct ibv_context *context,
			    const struct ibv_qp_init_attr *attr)
{
	return (!attr->send_cq || attr->send_cq->context == context) &&
	       (!attr->recv_cq || attr->recv_cq->context == context) &&
	       (!attr->srq || attr->srq->context == context);
}

/*
 * Fill in the kernel's attributes of a new QP and allocate all its structures, so that
 * nothing can fail once the kernel has created it. ex is attr as extended attributes, or
 * NULL if they are plain ones. With make_cqs the kernel also creates the CQs that attr does
 * not name (rdma_create_qp(3)). Without a PD the caller compares the contexts of the
 * objects, once it has the context.
 */
int lep_qp_build_begin(struct lep_qp_build *build, struct lep_session *session,
		       struct rdma_ep_qp_init *init, struct ibv_pd *pd,
		       const struct ibv_qp_init_attr *attr,
		       const struct ibv_qp_init_attr_ex *ex, bool make_cqs)
{
	memset(build, 0, sizeof(*build));
	memset(init, 0, sizeof(*init));
	if ((pd && (!lep_ours(pd->context) || !lep_qp_attr_of_context(pd->context, attr))) ||
	    (attr->srq && !lep_ours(attr->srq->context)))
		return lep_err(EINVAL);

	build->qp = lep_qp_alloc();
	if (!build->qp)
		return -1;

	if (begin_cq(session, &init->send_cq, attr->send_cq,
		     make_cqs && attr->cap.max_send_wr, &build->send) ||
	    begin_cq(session, &init->recv_cq, attr->recv_cq,
		     make_cqs && (attr->cap.max_recv_wr || attr->srq), &build->recv) ||
	    (ex && ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	     lep_wr_list_create(build->qp, ex->send_ops_flags))) {
		lep_qp_build_abort(build);
		return -1;
	}

	init->uid = (uintptr_t)build->qp;
	init->flags = attr->sq_sig_all ? RDMA_EP_QP_SQ_SIG_ALL : 0;
	init->pd = pd ? pd->handle : 0;
	init->srq = attr->srq ? attr->srq->handle : 0;
	init->qp_type = attr->qp_type;
	init->max_send_wr = attr->cap.max_send_wr;
	init->max_recv_wr = attr->cap.max_recv_wr;
	init->max_send_sge = attr->cap.max_send_sge;
	init->max_recv_sge = attr->cap.max_recv_sge;
	init->max_inline_data = attr->cap.max_inline_data;
	return 0;
}

void lep_qp_build_abort(struct lep_qp_build *build)
{
	int error = errno;

	lep_qp_free(build->qp);
	abort_cq(&build->send);
	abort_cq(&build->recv);
	memset(build, 0, sizeof(*build));
	errno = error;
}

/* Destroys the kernel's objects after a failure in the library. */
void lep_qp_build_undo(struct lep_session *session,
		       const struct rdma_ep_qp_init *init)
{
	int error = errno;

	lep_obj_destroy(session, RDMA_EP_OBJ_QP, init->qp, NULL, NULL);
	undo_cq(session, &init->send_cq);
	undo_cq(session, &init->recv_cq);
	errno = error;
}

/*
 * Fill in the public structures of a QP that the kernel has created, and of the CQs with
 * it, which stay in build. Writes the granted attributes back to attr.
 */
struct ibv_qp *lep_qp_build_finish(struct lep_qp_build *build,
				   const struct rdma_ep_qp_init *init,
				   struct ibv_context *context,
				   struct ibv_pd *pd,
				   struct ibv_qp_init_attr *attr,
				   void *cq_context)
{
	struct ibv_qp *qp = &build->qp->qp;

	finish_cq(&init->recv_cq, &build->recv, context, cq_context,
		  &attr->recv_cq);
	finish_cq(&init->send_cq, &build->send, context, cq_context,
		  &attr->send_cq);

	attr->cap.max_send_wr = init->max_send_wr;
	attr->cap.max_recv_wr = init->max_recv_wr;
	attr->cap.max_send_sge = init->max_send_sge;
	attr->cap.max_recv_sge = init->max_recv_sge;
	attr->cap.max_inline_data = init->max_inline_data;

	qp->context = context;
	qp->qp_context = attr->qp_context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->handle = init->qp;
	qp->qp_num = init->qp_num;
	qp->state = init->state;
	qp->qp_type = attr->qp_type;
	build->qp->max_inline_data = init->max_inline_data;
	if (build->qp->wr)
		lep_wr_list_set_limits(build->qp, &attr->cap);
	return qp;
}

/*
 * Execute CREATE_QP after lep_qp_build_begin(), on the id of that handle unless it is 0.
 * xrcd is the domain of an XRC target QP, else NULL. Returns 0, or -1 and errno.
 */
int lep_qp_build_create(struct lep_qp_build *build, struct ibv_context *context,
			struct rdma_ep_cmd_create_qp *cmd, uint32_t id, struct ibv_xrcd *xrcd)
{
	cmd->id = id;
	if (xrcd)
		cmd->init.pd = lep_xrcd_handle(xrcd);
	if (!lep_ctx_call(context, CREATE_QP, cmd))
		return 0;
	lep_qp_build_abort(build);
	return -1;
}

/* Creates a QP without an id. ex is as in lep_qp_build_begin(). */
struct ibv_qp *lep_qp_create(struct ibv_context *context, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr,
			     const struct ibv_qp_init_attr_ex *ex)
{
	bool target = attr->qp_type == IBV_QPT_XRC_RECV;
	struct rdma_ep_cmd_create_qp cmd = {};
	struct lep_qp_build build;

	if (lep_qp_build_begin(&build, lep_to_ctx(context)->session, &cmd.init, pd, attr,
			       ex, false) ||
	    lep_qp_build_create(&build, context, &cmd, 0, target ? ex->xrcd : NULL))
		return NULL;
	return lep_qp_build_finish(&build, &cmd.init, context, pd, attr, NULL);
}

/* ibv_create_qp(3) */
LEP_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
					struct ibv_qp_init_attr *attr)
{
	if (!pd || !attr)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_qp, pd, attr);
	/* Plain attributes have no member for the domain. */
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return lep_null(EINVAL);
	if (!attr->send_cq ||
	    (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND))
		return lep_null(EINVAL);

	return lep_qp_create(pd->context, pd, attr, NULL);
}

/*
 * The attributes of the plain calls. Later attributes have functions of their own. A query
 * may also name the reserved bits in between.
 */
#define QP_ATTRS ((IBV_QP_DEST_QPN << 1) - 1)
#define QP_QUERY_ATTRS (IBV_QP_RATE_LIMIT - 1)

/* ibv_modify_qp(3) */
LEP_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			     int attr_mask)
{
	struct rdma_ep_cmd_modify_qp cmd = {};

	if (!qp || !attr)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_modify_qp, qp,
				   attr, attr_mask);
	if (attr_mask & ~QP_ATTRS)
		return EOPNOTSUPP;
	cmd.qp = qp->handle;
	lep_qp_attr_to_uapi(&cmd.attr, attr, attr_mask);
	if (lep_ctx_call(qp->context, MODIFY_QP, &cmd))
		return errno;
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

/* ibv_query_qp(3) */
LEP_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			    int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct rdma_ep_cmd_query_qp cmd = {};

	if (!qp || !attr)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_query_qp, qp,
				   attr, attr_mask, init_attr);
	if (attr_mask & ~QP_QUERY_ATTRS)
		return EOPNOTSUPP;
	cmd.qp = qp->handle;
	cmd.attr_mask = attr_mask;
	if (lep_ctx_call(qp->context, QUERY_QP, &cmd))
		return errno;

	lep_qp_attr_from_uapi(attr, &cmd.attr);
	attr->qp_state = cmd.attr.qp_state;
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	if (init_attr) {
		init_attr->qp_context = qp->qp_context;
		init_attr->send_cq = qp->send_cq;
		init_attr->recv_cq = qp->recv_cq;
		init_attr->srq = qp->srq;
		init_attr->cap = attr->cap;
		init_attr->qp_type = cmd.qp_type;
		init_attr->sq_sig_all = cmd.sq_sig_all;
	}
	return 0;
}

/* Frees a QP that the kernel has destroyed, once all its events are acknowledged. */
void lep_qp_release(struct ibv_qp *qp, uint32_t events)
{
	lep_qp_clear_owner(lep_to_qp(qp));
	lep_wait_acked(&qp->mutex, &qp->cond, &qp->events_completed, events);
	lep_qp_free(lep_to_qp(qp));
}

/* The flags are those of RDMA_EP_IOC_DESTROY. */
int lep_qp_destroy(struct ibv_qp *qp, uint32_t flags)
{
	struct rdma_ep_cmd_destroy cmd = {
		.flags = flags,
		.type = RDMA_EP_OBJ_QP,
		.handle = qp->handle,
	};

	if (lep_ctx_call(qp->context, DESTROY, &cmd))
		return errno;
	lep_qp_release(qp, cmd.events_reported);
	return 0;
}

/* ibv_destroy_qp(3): EBUSY if it is attached to a multicast group. */
LEP_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (!qp)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_destroy_qp, qp);
	return lep_qp_destroy(qp, 0);
}

static int qp_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid,
		    unsigned long request)
{
	struct rdma_ep_cmd_qp_mcast cmd = {
		.size = sizeof(cmd),
		.qp = qp->handle,
		.lid = lid,
	};

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return ioctl(lep_to_ctx(qp->context)->session->fd, request, &cmd) ? errno : 0;
}

/* ibv_attach_mcast(3) */
LEP_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_attach_mcast, qp,
				   gid, lid);
	return qp_mcast(qp, gid, lid, RDMA_EP_IOC_ATTACH_MCAST);
}

/* ibv_detach_mcast(3) */
LEP_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_detach_mcast, qp,
				   gid, lid);
	return qp_mcast(qp, gid, lid, RDMA_EP_IOC_DETACH_MCAST);
}

/* Provider libraries implement ECE; this library has none. */
LEP_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!qp)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.10", ibv_query_ece, qp, ece);
	return EOPNOTSUPP;
}

LEP_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!qp)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.10", ibv_set_ece, qp, ece);
	return EOPNOTSUPP;
}

/* The library gives no guarantee about the order in which data is written. */
LEP_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp,
					  enum ibv_wr_opcode op, uint32_t flags)
{
	if (!qp)
		return 0;
	if (!lep_ours(qp->context))
		return lep_forward(0, "IBVERBS_1.14",
				   ibv_query_qp_data_in_order, qp, op, flags);
	return 0;
}
