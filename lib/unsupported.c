// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that the kernel ABI cannot implement. They are defined because the real ones
 * would use private members that objects of this library lack. They fail as the real ones
 * do if a provider lacks the feature. (Most inline functions of verbs.h fail by themselves,
 * see set_ops().)
 */
#include "objects.h"

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
 * Verbs: objects of another process. The call that imports a device is never passed on: the
 * program would run on the stock stack without notice.
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
		if (obj && !lep_ours(obj->context)) \
			lep_forward_void(version, fn, obj); \
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
