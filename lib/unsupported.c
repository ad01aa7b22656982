// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel ABI does not offer. The functions are here nevertheless, since
 * the real ones would look for private members that our objects do not have; they
 * fail as the real ones do where a provider lacks the feature. (Of verbs.h's
 * inline functions most fail by themselves, see set_ops().)
 */
#include "internal.h"

/* Verbs: other kinds of memory regions */

LEP_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					    size_t length, uint64_t iova, int fd,
					    int access)
{
	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.12", ibv_reg_dmabuf_mr, pd,
				   offset, length, iova, fd, access);
	return lep_null(EOPNOTSUPP);
}

/*
 * Verbs: objects of another process. Importing a device is never passed on: a
 * program would get onto the stock stack unnoticed.
 */

LEP_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return lep_null(EOPNOTSUPP);
}

LEP_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context,
					uint32_t pd_handle)
{
	if (context && !lep_ours(context))
		return lep_forward(NULL, "IBVERBS_1.10", ibv_import_pd, context,
				   pd_handle);
	return lep_null(EOPNOTSUPP);
}

LEP_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	if (pd && !lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.10", ibv_import_mr, pd,
				   mr_handle);
	return lep_null(EOPNOTSUPP);
}

LEP_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context,
					uint32_t dm_handle)
{
	if (context && !lep_ours(context))
		return lep_forward(NULL, "IBVERBS_1.13", ibv_import_dm, context,
				   dm_handle);
	return lep_null(EOPNOTSUPP);
}

#define UNIMPORT(fn, version, type) \
	LEP_EXPORT void fn(struct type *obj) \
	{ \
		void (*real)(struct type *obj); \
 \
		if (!obj || lep_ours(obj->context)) \
			return; \
		real = (__typeof__(real))lep_real(#fn, version); \
		if (real) \
			real(obj); \
	}

UNIMPORT(ibv_unimport_pd, "IBVERBS_1.10", ibv_pd)
UNIMPORT(ibv_unimport_mr, "IBVERBS_1.10", ibv_mr)
UNIMPORT(ibv_unimport_dm, "IBVERBS_1.13", ibv_dm)

/* Verbs: a provider's helper */

LEP_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
					   struct ibv_ah_attr *attr,
					   uint8_t eth_mac[6], uint16_t *vid);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
				struct ibv_ah_attr *attr, uint8_t eth_mac[6],
				uint16_t *vid)
{
	if (context && !lep_ours(context))
		return lep_forward(-ENOSYS, "IBVERBS_1.1",
				   ibv_resolve_eth_l2_from_gid, context, attr,
				   eth_mac, vid);
	return -EOPNOTSUPP;
}

/*
 * Verbs: fork(2). Every kernel that the module runs on copies pinned pages for
 * the child, so there is nothing to prepare.
 */

LEP_EXPORT int ibv_fork_init(void)
{
	return 0;
}

LEP_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
