// SPDX-License-Identifier: BSD-2-Clause
/* The multicast groups of a QP. */
#include "objects.h"

static struct rdma_ep_qp_mcast qp_mcast(const struct ibv_qp *qp,
					const union ibv_gid *gid, uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd = { .qp = qp->handle, .lid = lid };

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return cmd;
}

/* ibv_attach_mcast(3) */
LEP_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd;

	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_attach_mcast, qp,
				   gid, lid);
	cmd = qp_mcast(qp, gid, lid);
	return lep_call(lep_to_ctx(qp->context)->session, ATTACH_MCAST, &cmd) ?
		errno : 0;
}

/* ibv_detach_mcast(3) */
LEP_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd;

	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_detach_mcast, qp,
				   gid, lid);
	cmd = qp_mcast(qp, gid, lid);
	return lep_call(lep_to_ctx(qp->context)->session, DETACH_MCAST, &cmd) ?
		errno : 0;
}
