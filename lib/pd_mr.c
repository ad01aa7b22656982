// SPDX-License-Identifier: BSD-2-Clause
/* Protection domains and memory regions. */
#include "internal.h"

/* ibv_alloc_pd(3) */
EP_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct rdma_ep_alloc_pd cmd = {};
	struct ibv_pd *pd;
	int error;

	if (!context)
		return ep_null(EINVAL);
	if (!ep_ours(context))
		return ep_forward(NULL, "IBVERBS_1.1", ibv_alloc_pd, context);

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	cmd.ctx = ep_ctx(context)->handle;
	if (ep_call(ep_ctx(context)->session, ALLOC_PD, &cmd)) {
		error = errno;
		free(pd);
		return ep_null(error);
	}
	pd->context = context;
	pd->handle = cmd.pd;
	return pd;
}

/* ibv_dealloc_pd(3) */
EP_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (!pd)
		return EINVAL;
	if (!ep_ours(pd->context))
		return ep_forward(ENOSYS, "IBVERBS_1.1", ibv_dealloc_pd, pd);
	if (ep_destroy(ep_ctx(pd->context)->session, RDMA_EP_OBJ_PD, pd->handle,
		       NULL, NULL))
		return errno;
	free(pd);
	return 0;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     uint64_t iova, unsigned int access)
{
	struct rdma_ep_reg_mr cmd = {
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = iova,
		.pd = pd->handle,
		.access = access,
	};
	struct ibv_mr *mr;
	int error;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	if (ep_call(ep_ctx(pd->context)->session, REG_MR, &cmd)) {
		error = errno;
		free(mr);
		return ep_null(error);
	}
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = cmd.mr;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return mr;
}

/* ibv_reg_mr(3), and its forms that verbs.h chooses from. */
EP_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr,
				    size_t length, int access)
{
	if (!pd)
		return ep_null(EINVAL);
	if (!ep_ours(pd->context))
		return ep_forward(NULL, "IBVERBS_1.1", ibv_reg_mr, pd, addr,
				  length, access);
	return reg_mr(pd, addr, length, (uintptr_t)addr, access);
}

EP_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr,
					 size_t length, uint64_t iova,
					 int access)
{
	if (!pd)
		return ep_null(EINVAL);
	if (!ep_ours(pd->context))
		return ep_forward(NULL, "IBVERBS_1.7", ibv_reg_mr_iova, pd,
				  addr, length, iova, access);
	return reg_mr(pd, addr, length, iova, access);
}

EP_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr,
					  size_t length, uint64_t iova,
					  unsigned int access)
{
	if (!pd)
		return ep_null(EINVAL);
	if (!ep_ours(pd->context))
		return ep_forward(NULL, "IBVERBS_1.8", ibv_reg_mr_iova2, pd,
				  addr, length, iova, access);
	return reg_mr(pd, addr, length, iova, access);
}

/* ibv_dereg_mr(3) */
EP_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (!mr)
		return EINVAL;
	if (!ep_ours(mr->context))
		return ep_forward(ENOSYS, "IBVERBS_1.1", ibv_dereg_mr, mr);
	if (ep_destroy(ep_ctx(mr->context)->session, RDMA_EP_OBJ_MR, mr->handle,
		       NULL, NULL))
		return errno;
	free(mr);
	return 0;
}
