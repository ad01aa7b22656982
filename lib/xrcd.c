// SPDX-License-Identifier: BSD-2-Clause
/* XRC domains, and the QPs and SRQs in them. */
#include <fcntl.h>

#include "objects.h"

/* ibv_open_xrcd(3) */
struct ibv_xrcd *lep_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD |
				IBV_XRCD_INIT_ATTR_OFLAGS;
	struct rdma_ep_cmd_open_xrcd cmd = {};
	struct lep_xrcd *xrcd;

	if (!attr)
		return lep_null(EINVAL);
	if (attr->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED)
		return lep_null(EOPNOTSUPP);
	if (attr->comp_mask != needed)
		return lep_null(EINVAL);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	if (attr->oflags & O_CREAT)
		cmd.flags |= RDMA_EP_XRCD_CREATE;
	if (attr->oflags & O_EXCL)
		cmd.flags |= RDMA_EP_XRCD_EXCLUSIVE;
	cmd.ctx = lep_to_ctx(context)->handle;
	cmd.fd = attr->fd;
	if (lep_ctx_call(context, OPEN_XRCD, &cmd))
		return lep_free_null(xrcd);
	xrcd->xrcd.context = context;
	xrcd->handle = cmd.xrcd;
	return &xrcd->xrcd;
}

/* ibv_close_xrcd(3) */
int lep_close_xrcd(struct ibv_xrcd *xrcd)
{
	return lep_obj_destroy_free(xrcd->context, RDMA_EP_OBJ_XRCD, lep_xrcd_handle(xrcd),
				    xrcd);
}

/* ibv_open_qp(3) */
struct ibv_qp *lep_open_qp(struct ibv_context *context,
			   struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
				IBV_QP_OPEN_ATTR_TYPE;
	struct rdma_ep_cmd_open_qp cmd = {};
	struct lep_qp *qp;
	int error;

	if (!attr)
		return lep_null(EINVAL);
	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return lep_null(EOPNOTSUPP);
	if ((attr->comp_mask & needed) != needed || !attr->xrcd ||
	    attr->xrcd->context != context ||
	    attr->qp_type != IBV_QPT_XRC_RECV)
		return lep_null(EINVAL);
	qp = lep_qp_alloc();
	if (!qp)
		return NULL;
	cmd.uid = (uintptr_t)qp;
	cmd.xrcd = lep_xrcd_handle(attr->xrcd);
	cmd.qp_num = attr->qp_num;
	if (lep_ctx_call(context, OPEN_QP, &cmd)) {
		error = errno;
		lep_qp_free(qp);
		return lep_null(error);
	}
	qp->qp.context = context;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->qp.qp_context = attr->qp_context;
	qp->qp.handle = cmd.qp;
	qp->qp.qp_num = attr->qp_num;
	qp->qp.state = cmd.state;
	qp->qp.qp_type = attr->qp_type;
	return &qp->qp;
}

/* ibv_get_srq_num(3): EINVAL for other than XRC SRQs. */
int lep_get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	const struct lep_srq *ours = lep_to_srq(srq);

	if (!num || !ours->xrc)
		return EINVAL;
	*num = ours->num;
	return 0;
}
