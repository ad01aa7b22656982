// SPDX-License-Identifier: BSD-2-Clause
/* QPs with extended attributes. */
#include "objects.h"

/*
 * The operations of QPs by type, as in librxe, without those that need memory windows.
 * (librxe and the manual page also list SEND_WITH_INV on UC, which cannot be posted.)
 */
#define RC_OPS \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV)
#define UC_OPS \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define UD_OPS \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
/* SEND is missing: the kernel's work request has no field for the number of the SRQ. */
#define XRC_OPS \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define IWARP_OPS \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND_WITH_INV)

static uint64_t send_ops(const struct ibv_context *context,
			 enum ibv_qp_type type)
{
	bool iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;

	switch (type) {
	case IBV_QPT_RC:
		return iwarp ? IWARP_OPS : RC_OPS;
	case IBV_QPT_UC:
		return UC_OPS;
	case IBV_QPT_UD:
		return UD_OPS;
	case IBV_QPT_XRC_SEND:
		return lep_has_xrc(context) ? XRC_OPS : 0;
	default:
		return 0;
	}
}

/* 0 if the context can have such QPs, else an errno. */
int lep_qp_check_ex(const struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (lep_has_xrc(context))
		known |= IBV_QP_INIT_ATTR_XRCD;
	if (attr->comp_mask & ~known)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    attr->send_ops_flags & ~send_ops(context, attr->qp_type))
		return EOPNOTSUPP;
	return 0;
}

/* The extended attributes begin with the plain ones. */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
	       offsetof(struct ibv_qp_init_attr, sq_sig_all), "qp_init_attr");

/* True if the attributes that a QP of the type needs are set. */
static bool complete(const struct ibv_context *context,
		     const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd &&
		       attr->xrcd->context == context;
	return attr->comp_mask & IBV_QP_INIT_ATTR_PD && attr->pd &&
	       attr->pd->context == context && attr->send_cq &&
	       (attr->recv_cq || attr->qp_type == IBV_QPT_XRC_SEND);
}

/* ibv_create_qp_ex(3), which calls ibv_create_qp() for plain attributes. */
struct ibv_qp *lep_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_pd *pd;
	int error;

	if (!attr)
		return lep_null(EINVAL);
	error = lep_qp_check_ex(context, attr);
	if (error)
		return lep_null(error);
	if (!complete(context, attr))
		return lep_null(EINVAL);

	pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	return lep_qp_create(context, pd, (struct ibv_qp_init_attr *)attr, attr);
}

/* Returns NULL for a QP that was not created with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. */
LEP_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (!qp)
		return NULL;
	if (!lep_ours(qp->context))
		return lep_forward(NULL, "IBVERBS_1.6", ibv_qp_to_qp_ex, qp);
	return lep_to_qp(qp)->wr ? &lep_to_qp(qp)->ex : NULL;
}
