// SPDX-License-Identifier: BSD-2-Clause
/* Protection domains and memory regions. */
#include "objects.h"

/* ibv_alloc_pd(3) */
LEP_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct rdma_ep_cmd_alloc_pd cmd = {};
	struct ibv_pd *pd;

	if (!context)
		return lep_null(EINVAL);
	if (!lep_ours(context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_alloc_pd, context);

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	cmd.ctx = lep_to_ctx(context)->handle;
	if (lep_ctx_call(context, ALLOC_PD, &cmd))
		return lep_free_null(pd);
	pd->context = context;
	pd->handle = cmd.pd;
	return pd;
}

/* ibv_dealloc_pd(3) */
LEP_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (!pd)
		return EINVAL;
	if (!lep_ours(pd->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_dealloc_pd, pd);
	return lep_obj_destroy_free(pd->context, RDMA_EP_OBJ_PD, pd->handle, pd);
}

/* Huge pages are a hint, and MW_BIND has no effect without memory windows. */
static unsigned int offered_access(unsigned int access)
{
	return access & ~(IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND);
}

struct ibv_mr *lep_mr_reg(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t iova, unsigned int access)
{
	struct rdma_ep_cmd_reg_mr cmd = {
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = iova,
		.pd = pd->handle,
		.access = offered_access(access),
	};
	struct ibv_mr *mr;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	if (lep_ctx_call(pd->context, REG_MR, &cmd))
		return lep_free_null(mr);
	/* valgrind: a program may send undefined memory, and receives write without a call. */
	lep_written(addr, length);
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = cmd.mr;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return mr;
}

/* ibv_reg_mr(3), and the variants that its macro in verbs.h selects. */
LEP_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr,
				     size_t length, int access)
{
	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_reg_mr, pd, addr,
				   length, access);
	return lep_mr_reg(pd, addr, length, (uintptr_t)addr, access);
}

LEP_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr,
					  size_t length, uint64_t iova,
					  int access)
{
	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.7", ibv_reg_mr_iova, pd,
				   addr, length, iova, access);
	return lep_mr_reg(pd, addr, length, iova, access);
}

LEP_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr,
					   size_t length, uint64_t iova,
					   unsigned int access)
{
	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.8", ibv_reg_mr_iova2, pd,
				   addr, length, iova, access);
	return lep_mr_reg(pd, addr, length, iova, access);
}

static int rereg_fail(int error)
{
	errno = error;
	return IBV_REREG_MR_ERR_INPUT;
}

/* ibv_rereg_mr(3) */
LEP_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			    void *addr, size_t length, int access)
{
	struct rdma_ep_cmd_rereg_mr cmd = {
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = (uintptr_t)addr,
		.access = offered_access(access),
	};

	if (!mr)
		return rereg_fail(EINVAL);
	if (!lep_ours(mr->context))
		return lep_forward(IBV_REREG_MR_ERR_INPUT, "IBVERBS_1.1",
				   ibv_rereg_mr, mr, flags, pd, addr, length,
				   access);
	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return rereg_fail(EINVAL);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))
		return rereg_fail(EINVAL);
	if (flags & IBV_REREG_MR_CHANGE_PD &&
	    (!pd || pd->context != mr->context))
		return rereg_fail(EINVAL);
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return rereg_fail(EINVAL);
	/*
	 * The kernel refuses posts with a key of another PD, so such a region would be
	 * useless.
	 */
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		errno = EOPNOTSUPP;
		return IBV_REREG_MR_ERR_CMD;
	}

	cmd.mr = mr->handle;
	if (lep_ctx_call(mr->context, REREG_MR, &cmd))
		return IBV_REREG_MR_ERR_CMD;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		lep_written(addr, length);
		mr->addr = addr;
		mr->length = length;
	}
	return 0;
}

/* ibv_dereg_mr(3) */
LEP_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (!mr)
		return EINVAL;
	if (!lep_ours(mr->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_dereg_mr, mr);
	return lep_obj_destroy_free(mr->context, RDMA_EP_OBJ_MR, mr->handle, mr);
}
