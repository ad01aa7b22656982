// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs. */
#include "internal.h"

/*
 * The kernel moves the QP that rdma_create_qp() made along with its connection;
 * qp->state follows when the program learns of it. The tie between the two is
 * kept apart from id->qp, which may point to a QP that is gone.
 */
pthread_mutex_t lep_qp_owner_lock = PTHREAD_MUTEX_INITIALIZER;

void lep_qp_set_owner(struct lep_id *id, struct lep_qp *qp)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	id->own_qp = qp;
	id->made_qp = &qp->qp;
	qp->id = id;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_qp_clear_owner(struct lep_qp *qp)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (qp->id)
		qp->id->own_qp = NULL;
	qp->id = NULL;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_id_clear_qp(struct lep_id *id)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (id->own_qp)
		id->own_qp->id = NULL;
	id->own_qp = NULL;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_id_set_qp_state(struct lep_id *id, enum ibv_qp_state state)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (id->own_qp)
		id->own_qp->qp.state = state;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

/*
 * The connection is up. The program, or another thread, may have moved the QP on
 * since that happened.
 */
void lep_id_qp_connected(struct lep_id *id)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (id->own_qp && id->own_qp->qp.state < IBV_QPS_RTS)
		id->own_qp->qp.state = IBV_QPS_RTS;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

/* Something failed, and how far the kernel got with the QP is for it to say. */
void lep_id_query_qp_state(struct lep_id *id)
{
	struct rdma_ep_query_qp cmd = { .attr_mask = IBV_QP_STATE };
	struct lep_session *session = id->session;
	const struct lep_qp *qp;
	int error = errno;

	pthread_mutex_lock(&lep_qp_owner_lock);
	qp = id->own_qp;
	if (qp)
		cmd.qp = qp->qp.handle;
	pthread_mutex_unlock(&lep_qp_owner_lock);
	if (!qp)
		return;

	if (lep_call(session, QUERY_QP, &cmd))
		cmd.attr.qp_state = IBV_QPS_ERR;	/* the device is gone */
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (id->own_qp == qp)
		id->own_qp->qp.state = cmd.attr.qp_state;
	pthread_mutex_unlock(&lep_qp_owner_lock);
	errno = error;
}

/*
 * The QP in id->qp if the program has put one there that rdma_create_qp() did
 * not make for this id. The kernel does not know that it belongs to the id, so
 * the library moves it.
 */
struct ibv_qp *lep_id_external_qp(struct lep_id *id)
{
	struct ibv_qp *qp = id->id.qp;

	return qp == id->made_qp ? NULL : qp;
}

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

/* Of one direction: the CQ to use, or what is needed to have one made. */
static int prepare_cq(struct rdma_ep_auto_cq *init, struct ibv_cq *given,
		      bool make, struct ibv_cq **cq,
		      struct ibv_comp_channel **channel)
{
	struct lep_session *session = lep_session_get();

	if (given) {
		if (!lep_ours(given->context))
			return lep_err(EINVAL);
		init->cq = given->handle;
		return 0;
	}
	if (!make)
		return 0;
	*channel = calloc(1, sizeof(**channel));
	*cq = *channel ? lep_cq_alloc() : NULL;
	if (!*cq)
		return -1;
	init->uid = (uintptr_t)*cq;
	init->ring = session && session->rings ? RDMA_EP_CQ_RING : 0;
	return 0;
}

/* A context's handles mean nothing in another, even if the device is the same. */
static bool of_context(const struct ibv_context *context,
		       const struct ibv_qp_init_attr *attr)
{
	return (!attr->send_cq || attr->send_cq->context == context) &&
	       (!attr->recv_cq || attr->recv_cq->context == context) &&
	       (!attr->srq || attr->srq->context == context);
}

/*
 * Fill in the kernel's attributes of a new QP and allocate all that its creation
 * will yield, so that nothing can fail once the kernel has made it. With make_cqs
 * the kernel also makes the CQs that attr does not name (rdma_create_qp(3)).
 */
int lep_qp_build_begin(struct lep_qp_build *build, struct rdma_ep_qp_init *init,
		       struct ibv_pd *pd, const struct ibv_qp_init_attr *attr,
		       bool make_cqs)
{
	memset(build, 0, sizeof(*build));
	memset(init, 0, sizeof(*init));
	if ((pd && (!lep_ours(pd->context) || !of_context(pd->context, attr))) ||
	    (attr->srq && !lep_ours(attr->srq->context)))
		return lep_err(EINVAL);

	build->qp = lep_qp_alloc();
	if (!build->qp)
		return -1;

	if (prepare_cq(&init->send_cq, attr->send_cq,
		       make_cqs && attr->cap.max_send_wr,
		       &build->send_cq, &build->send_channel) ||
	    prepare_cq(&init->recv_cq, attr->recv_cq,
		       make_cqs && attr->cap.max_recv_wr,
		       &build->recv_cq, &build->recv_channel)) {
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
	lep_cq_free(build->send_cq);
	lep_cq_free(build->recv_cq);
	free(build->send_channel);
	free(build->recv_channel);
	memset(build, 0, sizeof(*build));
	errno = error;
}

/* Destroy what the kernel has made if the library can not go on. */
void lep_qp_build_undo(struct lep_session *session, const struct rdma_ep_qp_init *init)
{
	int error = errno;

	lep_obj_destroy(session, RDMA_EP_OBJ_QP, init->qp, NULL, NULL);
	if (init->send_cq.cqe) {
		lep_obj_destroy(session, RDMA_EP_OBJ_CQ, init->send_cq.cq, NULL, NULL);
		lep_close_fd(init->send_cq.channel_fd);
	}
	if (init->recv_cq.cqe) {
		lep_obj_destroy(session, RDMA_EP_OBJ_CQ, init->recv_cq.cq, NULL, NULL);
		lep_close_fd(init->recv_cq.channel_fd);
	}
	errno = error;
}

/* A CQ that was made becomes the id's, with the id as its cq_context. */
static void finish_cq(const struct rdma_ep_auto_cq *init, struct ibv_cq *cq,
		      struct ibv_comp_channel *channel, struct lep_id *id,
		      struct ibv_context *context, struct ibv_cq **attr_cq,
		      struct ibv_cq **id_cq,
		      struct ibv_comp_channel **id_channel)
{
	if (!cq)
		return;
	if (!init->cqe) {
		lep_cq_free(cq);
		free(channel);
		return;
	}
	channel->context = context;
	channel->fd = init->channel_fd;
	lep_cq_fill(cq, context, channel, &id->id, init->cq, init->cqe,
		    init->ring);
	*attr_cq = cq;
	*id_cq = cq;
	*id_channel = channel;
}

/*
 * The kernel has made the QP: fill in the public structures, and those of its CQs
 * and the members of id. Writes the granted attributes back to attr.
 */
struct ibv_qp *lep_qp_build_finish(struct lep_qp_build *build,
				   const struct rdma_ep_qp_init *init,
				   struct ibv_context *context, struct ibv_pd *pd,
				   struct ibv_qp_init_attr *attr,
				   struct lep_id *id)
{
	struct ibv_qp *qp = &build->qp->qp;

	if (id) {
		finish_cq(&init->recv_cq, build->recv_cq, build->recv_channel,
			  id, context, &attr->recv_cq, &id->id.recv_cq,
			  &id->id.recv_cq_channel);
		finish_cq(&init->send_cq, build->send_cq, build->send_channel,
			  id, context, &attr->send_cq, &id->id.send_cq,
			  &id->id.send_cq_channel);
	}

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
	if (id) {
		lep_qp_set_owner(id, build->qp);
		id->made_pd = pd;
		id->id.pd = pd;
		id->id.qp = qp;
	}
	return qp;
}

/* ibv_create_qp(3) */
LEP_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
					struct ibv_qp_init_attr *attr)
{
	struct rdma_ep_create_qp cmd = {};
	struct lep_qp_build build;

	if (!pd || !attr)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_qp, pd, attr);
	/* There is no place for its domain in these attributes. */
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return lep_null(EINVAL);
	if (!attr->send_cq ||
	    (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND))
		return lep_null(EINVAL);

	if (lep_qp_build_begin(&build, &cmd.init, pd, attr, false))
		return NULL;
	if (lep_call(lep_to_ctx(pd->context)->session, CREATE_QP, &cmd)) {
		lep_qp_build_abort(&build);
		return NULL;
	}
	return lep_qp_build_finish(&build, &cmd.init, pd->context, pd, attr, NULL);
}

/*
 * What the plain calls know; beyond are those with functions of their own. A
 * query may also ask for the reserved ones in between.
 */
#define QP_ATTRS ((IBV_QP_DEST_QPN << 1) - 1)
#define QP_QUERY_ATTRS (IBV_QP_RATE_LIMIT - 1)

/* ibv_modify_qp(3) */
LEP_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			     int attr_mask)
{
	struct rdma_ep_modify_qp cmd = {};

	if (!qp || !attr)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_modify_qp, qp,
				   attr, attr_mask);
	if (attr_mask & ~QP_ATTRS)
		return EOPNOTSUPP;
	cmd.qp = qp->handle;
	lep_qp_attr_to_uapi(&cmd.attr, attr, attr_mask);
	if (lep_call(lep_to_ctx(qp->context)->session, MODIFY_QP, &cmd))
		return errno;
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

/* ibv_query_qp(3) */
LEP_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			    int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct rdma_ep_query_qp cmd = {};

	if (!qp || !attr)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_query_qp, qp,
				   attr, attr_mask, init_attr);
	if (attr_mask & ~QP_QUERY_ATTRS)
		return EOPNOTSUPP;
	cmd.qp = qp->handle;
	cmd.attr_mask = attr_mask;
	if (lep_call(lep_to_ctx(qp->context)->session, QUERY_QP, &cmd))
		return errno;

	lep_qp_attr_from_uapi(attr, &cmd.attr);
	attr->qp_state = cmd.attr.qp_state;
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

/* The kernel has destroyed it: waits until all its events have been acknowledged. */
void lep_qp_release(struct ibv_qp *qp, uint32_t events)
{
	lep_qp_clear_owner((struct lep_qp *)qp);
	lep_wait_acked(&qp->mutex, &qp->cond, &qp->events_completed, events);
	lep_qp_free((struct lep_qp *)qp);
}

/* The flags are those of RDMA_EP_IOC_DESTROY. */
int lep_qp_destroy(struct ibv_qp *qp, uint32_t flags)
{
	struct rdma_ep_destroy cmd = {
		.flags = flags,
		.type = RDMA_EP_OBJ_QP,
		.handle = qp->handle,
	};

	if (lep_call(lep_to_ctx(qp->context)->session, DESTROY, &cmd))
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

/* ECE is the business of provider libraries; we say that ours has none. */
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

/* No guarantee about the order in which data is written. */
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
