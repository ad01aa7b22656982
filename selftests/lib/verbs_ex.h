/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations and attributes for the tests of extended QPs */
#ifndef VERBS_EX_H
#define VERBS_EX_H

#include "lib_test.h"

#define RC_OPS \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define IWARP_OPS \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_READ)

static inline struct ibv_qp_init_attr_ex attr_ex(struct ibv_pd *pd, struct ibv_cq *cq, uint64_t ops)
{
	return (struct ibv_qp_init_attr_ex) {
		.cap = lib_qp_attr().cap,
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = ops,
	};
}

#endif
