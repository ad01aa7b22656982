// SPDX-License-Identifier: BSD-2-Clause
/* Extended completion queues. */
#include "objects.h"

/* ibv_create_cq_ex(3). A parent domain makes no difference: it can only be a plain one. */
struct ibv_cq_ex *lep_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct lep_cq_batch *batch;
	struct ibv_cq *cq;
	int flags;

	if (!attr)
		return lep_null(EINVAL);
	flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return lep_null(EOPNOTSUPP);

	batch = lep_cq_batch_alloc(flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	if (!batch)
		return NULL;
	cq = lep_cq_create(context, attr->cqe, attr->cq_context, attr->channel,
			   attr->comp_vector);
	if (!cq) {
		lep_cq_batch_free(batch);
		return NULL;
	}
	lep_cq_batch_attach(lep_to_cq(cq), batch);
	return &lep_to_cq(cq)->ex;
}
