// SPDX-License-Identifier: BSD-2-Clause
/* QPs and SRQs that are associated with an id. */
#include "cm.h"

/*
 * Destroy the CQs and channels that rdma_create_qp() created. Those that the program has
 * put in their place are destroyed as well, as with librdmacm.
 */
static void destroy_cqs(struct rdma_cm_id *id)
{
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	id->recv_cq = NULL;
	id->send_cq = NULL;

	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	id->recv_cq_channel = NULL;
	id->send_cq_channel = NULL;
}

/*
 * The XRC domain of a target QP: that of the attributes, or the one that ids share, which
 * extended attributes get.
 */
static struct ibv_xrcd *target_xrcd(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *ex)
{
	struct ibv_xrcd *xrcd;

	if (ex && ex->comp_mask & IBV_QP_INIT_ATTR_XRCD && ex->xrcd)
		return ex->xrcd->context == id->verbs ? ex->xrcd :
							lep_null(EINVAL);
	if (id->qp_type != IBV_QPT_XRC_RECV)
		return lep_null(EINVAL);
	xrcd = lep_device_xrcd(id->verbs);
	if (ex && xrcd) {
		ex->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		ex->xrcd = xrcd;
	}
	return xrcd;
}

/*
 * The program may destroy the PD that it gave for a QP after that QP: the default PD
 * replaces it in the id.
 */
static void drop_made_pd(struct lep_id *id)
{
	struct ibv_context *context;
	struct ibv_pd *pd;

	/* (In a forked child the default PD has another context, or there is none.) */
	if (id->made_pd && id->id.pd == id->made_pd && id->id.verbs &&
	    !lep_device_default(id->session, lep_to_dev(id->id.verbs->device), &context, &pd) &&
	    context == id->id.verbs)
		id->id.pd = pd;
	id->made_pd = NULL;
}

/* Completes an id for which the kernel has created a QP, and possibly CQs with it. */
void lep_id_finish_qp(struct lep_id *id, struct lep_qp_build *build,
		      const struct rdma_ep_qp_init *init, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = lep_qp_build_finish(build, init, id->id.verbs, pd,
						attr, &id->id);

	if (build->recv.cq) {
		id->id.recv_cq = build->recv.cq;
		id->id.recv_cq_channel = build->recv.channel;
	}
	if (build->send.cq) {
		id->id.send_cq = build->send.cq;
		id->id.send_cq_channel = build->send.channel;
	}
	lep_qp_set_owner(lep_to_qp(qp), &id->owner);
	id->made_qp = qp;
	id->made_pd = pd == id->id.pd ? NULL : pd;
	id->id.pd = pd;
	id->id.qp = qp;
}

/* ex is attr as extended attributes, or NULL if the attributes are plain ones. */
int lep_id_create_qp(struct lep_id *ours, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *attr,
		     struct ibv_qp_init_attr_ex *ex)
{
	struct rdma_ep_cmd_create_qp cmd = {};
	struct rdma_cm_id *id = &ours->id;
	struct ibv_xrcd *xrcd = NULL;
	struct lep_qp_build build;

	if (!id->verbs || id->qp)
		return lep_err(EINVAL);
	if (!pd)
		pd = id->pd;
	if (!pd || pd->context != id->verbs)
		return lep_err(EINVAL);
	if ((id->recv_cq && attr->recv_cq && id->recv_cq != attr->recv_cq) ||
	    (id->send_cq && attr->send_cq && id->send_cq != attr->send_cq))
		return lep_err(EINVAL);

	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		xrcd = target_xrcd(id, ex);
		if (!xrcd)
			return -1;
	}

	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	/* An XRC_SEND QP receives nothing. */
	if (!attr->srq && attr->qp_type != IBV_QPT_XRC_SEND)
		attr->srq = id->srq;

	if (lep_qp_build_begin(&build, ours->session, &cmd.init, pd, attr, ex, true) ||
	    lep_qp_build_create(&build, id->verbs, &cmd, ours->handle, xrcd))
		return -1;
	lep_id_finish_qp(ours, &build, &cmd.init, pd, attr);
	/* From now on the ECE options are those of the QP: none, see ibv_query_ece(). */
	memset(&ours->local_ece, 0, sizeof(ours->local_ece));
	return 0;
}

/* rdma_create_qp(3) */
LEP_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *attr)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_create_qp, id, pd, attr);
	if (!id || !attr)
		return lep_err(EINVAL);
	return lep_id_create_qp(lep_to_id(id), pd, attr, NULL);
}

/* rdma_create_qp_ex(3) */
LEP_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id,
				 struct ibv_qp_init_attr_ex *attr)
{
	int error;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_create_qp_ex, id, attr);
	if (!id || !attr || !id->verbs)
		return lep_err(EINVAL);
	error = lep_qp_check_ex(id->verbs, attr);
	if (error)
		return lep_err(error);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	return lep_id_create_qp(lep_to_id(id), attr->pd,
				(struct ibv_qp_init_attr *)attr, attr);
}

/* The QP leaves its multicast groups, as rdma_destroy_qp(3) cannot fail. */
void lep_id_destroy_qp(struct lep_id *ours)
{
	struct rdma_cm_id *id = &ours->id;

	if (lep_ours(id->qp->context))
		lep_qp_destroy(id->qp, RDMA_EP_DESTROY_DETACH);
	else
		ibv_destroy_qp(id->qp);
	/* Another QP may get this address. */
	if (id->qp == ours->made_qp)
		ours->made_qp = NULL;
	id->qp = NULL;
	drop_made_pd(ours);
	/* The CQs of an id with an XRC SRQ belong to the SRQ. */
	if (id->qp_type != IBV_QPT_XRC_RECV || !id->srq)
		destroy_cqs(id);
}

/* rdma_destroy_qp(3) */
LEP_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (lep_foreign_id(id)) {
		lep_forward_cm_void(rdma_destroy_qp, id);
		return;
	}
	if (!id || !id->qp) {
		errno = EINVAL;
		return;
	}
	lep_id_destroy_qp(lep_to_id(id));
}

/*
 * Complete the attributes of an XRC SRQ. A CQ and its channel are created if neither the
 * attributes nor the id have them. Returns 0, or -1 and errno.
 */
static int complete_xrc(struct rdma_cm_id *id,
			struct ibv_srq_init_attr_ex *attr,
			struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (!lep_has_xrc(id->verbs))
		return lep_err(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = lep_device_xrcd(id->verbs);
		if (!attr->xrcd)
			return -1;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	}
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq)
		return 0;
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	attr->cq = id->recv_cq;
	if (attr->cq)
		return 0;
	if (!id->recv_cq_channel) {
		*channel = lep_comp_channel_create(id->verbs);
		if (!*channel)
			return -1;
	}
	*cq = lep_cq_create(id->verbs, attr->attr.max_wr, id,
			    *channel ? *channel : id->recv_cq_channel, 0);
	attr->cq = *cq;
	return *cq ? 0 : -1;
}

/*
 * The id gets a CQ that is created for the SRQ only together with the SRQ: one of several
 * concurrent calls succeeds in the kernel.
 */
static struct ibv_srq *create_xrc(struct rdma_cm_id *id,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_comp_channel *channel = NULL;
	struct ibv_srq *srq = NULL;
	struct ibv_cq *cq = NULL;
	int error = 0;

	if (complete_xrc(id, attr, &channel, &cq))
		error = errno;
	else if (attr->xrcd->context != id->verbs ||
		 attr->cq->context != id->verbs)
		error = EINVAL;
	else
		srq = lep_srq_create(id->verbs, attr->pd, lep_to_id(id)->handle,
				     attr->srq_context, &attr->attr, attr->xrcd,
				     attr->cq);
	if (srq) {
		if (channel)
			id->recv_cq_channel = channel;
		if (cq)
			id->recv_cq = cq;
		return srq;
	}
	if (!error)
		error = errno;
	if (cq)
		lep_cq_destroy(cq);
	if (channel)
		lep_comp_channel_destroy(channel);
	return lep_null(error);
}

static struct ibv_srq *create_srq(struct rdma_cm_id *id,
				  struct ibv_srq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	if (!attr->pd || attr->pd->context != id->verbs)
		return lep_null(EINVAL);
	if (attr->srq_type == IBV_SRQT_XRC)
		return create_xrc(id, attr);
	return lep_srq_create(id->verbs, attr->pd, lep_to_id(id)->handle,
			      attr->srq_context, &attr->attr, NULL, NULL);
}

/* A failure leaves the attributes as they were. */
static int set_srq(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr_ex given = *attr;
	struct ibv_srq *srq;
	int error;

	error = lep_srq_check_ex(attr);
	if (error)
		return lep_err(error);
	if (!id->verbs || id->srq)
		return lep_err(EINVAL);

	srq = create_srq(id, attr);
	if (!srq) {
		*attr = given;
		return -1;
	}
	if (!id->pd)
		id->pd = attr->pd;
	id->srq = srq;
	return 0;
}

/* rdma_create_srq_ex(3) */
LEP_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id,
				  struct ibv_srq_init_attr_ex *attr)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_create_srq_ex, id, attr);
	if (!id || !attr || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return lep_err(EINVAL);
	return set_srq(id, attr);
}

/* rdma_create_srq(3) */
LEP_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	int ret;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_create_srq, id, pd, attr);
	if (!id || !attr)
		return lep_err(EINVAL);
	if (id->qp_type == IBV_QPT_XRC_RECV)
		attr_ex.srq_type = IBV_SRQT_XRC;
	attr_ex.srq_context = attr->srq_context;
	attr_ex.attr = attr->attr;
	ret = set_srq(id, &attr_ex);
	attr->attr = attr_ex.attr;
	return ret;
}

/* The id's CQs stay as long as it has a QP. */
void lep_id_destroy_srq(struct lep_id *ours)
{
	struct rdma_cm_id *id = &ours->id;

	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (!id->qp)
		destroy_cqs(id);
}

/* rdma_destroy_srq(3) */
LEP_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (lep_foreign_id(id)) {
		lep_forward_cm_void(rdma_destroy_srq, id);
		return;
	}
	if (!id || !id->srq) {
		errno = EINVAL;
		return;
	}
	lep_id_destroy_srq(lep_to_id(id));
}
