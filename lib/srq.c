// SPDX-License-Identifier: BSD-2-Clause
/* Shared receive queues. */
#include "objects.h"

struct lep_srq *lep_srq_alloc(void)
{
	struct lep_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	pthread_mutex_init(&srq->ring_lock, NULL);
	return srq;
}

void lep_srq_free(struct lep_srq *srq)
{
	pthread_cond_destroy(&srq->srq.cond);
	pthread_mutex_destroy(&srq->srq.mutex);
	pthread_mutex_destroy(&srq->ring_lock);
	free(srq);
}

void lep_srq_fill(struct lep_srq *srq, struct ibv_context *context, struct ibv_pd *pd,
		  void *srq_context, uint32_t handle, uint32_t ring)
{
	srq->srq.context = context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	srq->srq.handle = handle;
	srq->ring = (void *)lep_ring_at(lep_to_ctx(context)->session, ring);
}

/*
 * Create an SRQ on pd, associated with the id of that handle unless it is 0. With an XRC
 * domain it is an XRC SRQ, which completes to cq.
 */
struct ibv_srq *lep_srq_create(struct ibv_context *context, struct ibv_pd *pd,
			       uint32_t id, void *srq_context,
			       struct ibv_srq_attr *attr,
			       struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct rdma_ep_cmd_create_srq cmd = {
		.id = id,
		.pd = pd->handle,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		/*
		 * The manual calls it "irrelevant for ibv_create_srq", so programs do not
		 * initialise it, and "the limit value of the SRQ" for ibv_create_srq_ex().
		 * The library ignores a value above max_wr.
		 */
		.srq_limit = attr->srq_limit <= attr->max_wr ? attr->srq_limit : 0,
		.flags = lep_to_ctx(context)->session->rings ? RDMA_EP_RECV_RING : 0,
	};
	struct lep_srq *srq;
	int error;

	if (xrcd) {
		cmd.srq_type = IBV_SRQT_XRC;
		cmd.xrcd = lep_xrcd_handle(xrcd);
		cmd.cq = cq->handle;
	}
	srq = lep_srq_alloc();
	if (!srq)
		return NULL;
	cmd.uid = (uintptr_t)srq;
	if (lep_ctx_call(context, CREATE_SRQ, &cmd)) {
		error = errno;
		lep_srq_free(srq);
		return lep_null(error);
	}
	srq->xrc = xrcd;
	srq->num = cmd.srq_num;
	lep_srq_fill(srq, context, pd, srq_context, cmd.srq, cmd.ring);
	attr->max_wr = cmd.max_wr;
	attr->max_sge = cmd.max_sge;
	return &srq->srq;
}

/* ibv_create_srq(3) */
LEP_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
					  struct ibv_srq_init_attr *attr)
{
	if (!pd || !attr)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_srq, pd, attr);
	return lep_srq_create(pd->context, pd, 0, attr->srq_context, &attr->attr,
			      NULL, NULL);
}

/* 0 if the extended attributes are for a basic or XRC SRQ, else an errno. */
int lep_srq_check_ex(const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t basic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t tm = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
	enum ibv_srq_type type = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ?
		attr->srq_type : IBV_SRQT_BASIC;

	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED)
		return EOPNOTSUPP;
	switch (type) {
	case IBV_SRQT_BASIC:
		return attr->comp_mask & ~basic ? EOPNOTSUPP : 0;
	case IBV_SRQT_XRC:
		return 0;
	case IBV_SRQT_TM:
		return (attr->comp_mask & tm) == tm ? EOPNOTSUPP : EINVAL;
	default:
		return EINVAL;
	}
}

/* ibv_create_srq_ex(3), which calls ibv_create_srq() for plain attributes. */
struct ibv_srq *lep_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	int error = lep_srq_check_ex(attr);

	if (error)
		return lep_null(error);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return lep_null(EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
	    attr->srq_type != IBV_SRQT_XRC)
		return lep_srq_create(context, attr->pd, 0, attr->srq_context,
				      &attr->attr, NULL, NULL);
	if ((attr->comp_mask & xrc) != xrc)
		return lep_null(EINVAL);
	if (!lep_has_xrc(context))
		return lep_null(EOPNOTSUPP);
	if (!attr->xrcd || attr->xrcd->context != context || !attr->cq ||
	    attr->cq->context != context)
		return lep_null(EINVAL);
	return lep_srq_create(context, attr->pd, 0, attr->srq_context,
			      &attr->attr, attr->xrcd, attr->cq);
}

/* ibv_modify_srq(3) */
LEP_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			      int attr_mask)
{
	struct rdma_ep_cmd_srq_attr cmd = {};

	if (!srq || !attr)
		return EINVAL;
	if (!lep_ours(srq->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_modify_srq, srq,
				   attr, attr_mask);
	_Static_assert((int)RDMA_EP_SRQ_MAX_WR == IBV_SRQ_MAX_WR &&
		       (int)RDMA_EP_SRQ_LIMIT == IBV_SRQ_LIMIT, "srq flags");
	cmd.flags = attr_mask;
	cmd.srq = srq->handle;
	if (attr_mask & IBV_SRQ_MAX_WR)
		cmd.max_wr = attr->max_wr;
	if (attr_mask & IBV_SRQ_LIMIT)
		cmd.srq_limit = attr->srq_limit;
	return lep_ctx_call(srq->context, MODIFY_SRQ, &cmd);
}

/* ibv_query_srq(3) */
LEP_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct rdma_ep_cmd_srq_attr cmd = {};

	if (!srq || !attr)
		return EINVAL;
	if (!lep_ours(srq->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_query_srq, srq,
				   attr);
	cmd.srq = srq->handle;
	if (lep_ctx_call(srq->context, QUERY_SRQ, &cmd))
		return errno;
	attr->max_wr = cmd.max_wr;
	attr->max_sge = cmd.max_sge;
	attr->srq_limit = cmd.srq_limit;
	return 0;
}

/* Frees an SRQ that the kernel has destroyed, once all its events are acknowledged. */
void lep_srq_release(struct ibv_srq *srq, uint32_t events)
{
	lep_wait_acked(&srq->mutex, &srq->cond, &srq->events_completed, events);
	lep_srq_free(lep_to_srq(srq));
}

/* ibv_destroy_srq(3): waits for the acknowledgment of all its events. */
LEP_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	uint32_t events;

	if (!srq)
		return EINVAL;
	if (!lep_ours(srq->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_destroy_srq, srq);
	if (lep_obj_destroy(lep_to_ctx(srq->context)->session, RDMA_EP_OBJ_SRQ,
			    srq->handle, &events, NULL))
		return errno;
	lep_srq_release(srq, events);
	return 0;
}
