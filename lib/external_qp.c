// SPDX-License-Identifier: BSD-2-Clause
/* QPs that rdma_create_qp() did not create for their id: see lep_id_external_qp(). */
#include "cm.h"

int lep_external_qp_set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE);

	return error ? lep_err(error) : 0;
}

/* Moves the QP to RTS, as the kernel does with an id's own QP. limit may be NULL. */
int lep_external_qp_connect(struct lep_id *id, struct ibv_qp *qp,
			    const struct rdma_ep_conn_param *limit)
{
	enum ibv_qp_state state;
	struct ibv_qp_attr attr;
	int mask, error;

	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		memset(&attr, 0, sizeof(attr));
		attr.qp_state = state;
		if (lep_id_init_qp_attr(id, &attr, &mask))
			return -1;
		if (limit && state == IBV_QPS_RTR)
			attr.max_dest_rd_atomic = limit->responder_resources;
		if (limit && state == IBV_QPS_RTS)
			attr.max_rd_atomic = limit->initiator_depth;
		error = ibv_modify_qp(qp, &attr, mask);
		if (error)
			return lep_err(error);
	}
	return 0;
}
