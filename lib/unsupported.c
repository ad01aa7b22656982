// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel ABI does not offer. The functions are here nevertheless, since
 * the real ones would look for private members that our objects do not have; they
 * fail as the real ones do where a provider lacks the feature. (Of verbs.h's
 * inline functions most fail by themselves, see set_ops().)
 */
#include "internal.h"

/* rdma_cm: multicast groups, and reporting of asynchronous events */

EP_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				  void *context)
{
	(void)context;
	if (!id || !ep_addr_len(addr))
		return ep_err(EINVAL);
	return ep_err(EOPNOTSUPP);
}

EP_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				     struct rdma_cm_join_mc_attr_ex *attr,
				     void *context)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
				RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	(void)context;
	if (!id || !attr)
		return ep_err(EINVAL);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return ep_err(ENOTSUP);
	if ((attr->comp_mask & needed) != needed ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
	    !ep_addr_len(attr->addr))
		return ep_err(EINVAL);
	return ep_err(EOPNOTSUPP);
}

EP_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id,
				   struct sockaddr *addr)
{
	if (!id || !ep_addr_len(addr))
		return ep_err(EINVAL);
	return ep_err(EADDRNOTAVAIL);	/* no id is in any group */
}

EP_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	if (!id || event != IBV_EVENT_COMM_EST)
		return ep_err(EINVAL);
	return ep_err(EOPNOTSUPP);
}

/* rdma_cm: newer than some rdma_cma.h */

EP_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
				    const char *service,
				    const struct rdma_addrinfo *hints);
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
			  const char *service,
			  const struct rdma_addrinfo *hints)
{
	if (!id || (!node && !service && !hints))
		return ep_err(EINVAL);
	return ep_err(EOPNOTSUPP);
}

EP_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id,
				  struct rdma_addrinfo **info);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	if (!id || !info)
		return ep_err(EINVAL);
	return ep_err(ENOENT);	/* nothing has been resolved */
}

EP_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id,
				  enum rdma_cm_event_type event, int status,
				  uint64_t arg);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg)
{
	(void)event, (void)status, (void)arg;
	return ep_err(id ? EOPNOTSUPP : EINVAL);
}

/* Verbs: multicast */

EP_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			       uint16_t lid)
{
	if (!qp || !gid)
		return EINVAL;
	if (!ep_ours(qp->context))
		return ep_forward(ENOSYS, "IBVERBS_1.1", ibv_attach_mcast, qp,
				  gid, lid);
	return EOPNOTSUPP;
}

EP_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			       uint16_t lid)
{
	if (!qp || !gid)
		return EINVAL;
	if (!ep_ours(qp->context))
		return ep_forward(ENOSYS, "IBVERBS_1.1", ibv_detach_mcast, qp,
				  gid, lid);
	return EOPNOTSUPP;
}

/* Verbs: other kinds of memory regions */

EP_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			   void *addr, size_t length, int access)
{
	if (!mr) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (!ep_ours(mr->context))
		return ep_forward(IBV_REREG_MR_ERR_INPUT, "IBVERBS_1.1",
				  ibv_rereg_mr, mr, flags, pd, addr, length,
				  access);
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;	/* the region is as it was */
}

EP_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					   size_t length, uint64_t iova, int fd,
					   int access)
{
	if (!pd)
		return ep_null(EINVAL);
	if (!ep_ours(pd->context))
		return ep_forward(NULL, "IBVERBS_1.12", ibv_reg_dmabuf_mr, pd,
				  offset, length, iova, fd, access);
	return ep_null(EOPNOTSUPP);
}

/*
 * Verbs: objects of another process. Importing a device is never passed on: the
 * real function would ask ibv_get_device_list(), and so get our devices.
 */

EP_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return ep_null(EOPNOTSUPP);
}

EP_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context,
				       uint32_t pd_handle)
{
	if (context && !ep_ours(context))
		return ep_forward(NULL, "IBVERBS_1.10", ibv_import_pd, context,
				  pd_handle);
	return ep_null(EOPNOTSUPP);
}

EP_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	if (pd && !ep_ours(pd->context))
		return ep_forward(NULL, "IBVERBS_1.10", ibv_import_mr, pd,
				  mr_handle);
	return ep_null(EOPNOTSUPP);
}

EP_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context,
				       uint32_t dm_handle)
{
	if (context && !ep_ours(context))
		return ep_forward(NULL, "IBVERBS_1.13", ibv_import_dm, context,
				  dm_handle);
	return ep_null(EOPNOTSUPP);
}

#define UNIMPORT(fn, version, type) \
	EP_EXPORT void fn(struct type *obj) \
	{ \
		void (*real)(struct type *obj); \
 \
		if (!obj || ep_ours(obj->context)) \
			return; \
		real = (__typeof__(real))ep_real(#fn, version); \
		if (real) \
			real(obj); \
	}

UNIMPORT(ibv_unimport_pd, "IBVERBS_1.10", ibv_pd)
UNIMPORT(ibv_unimport_mr, "IBVERBS_1.10", ibv_mr)
UNIMPORT(ibv_unimport_dm, "IBVERBS_1.13", ibv_dm)

/* Verbs: a provider's helper */

EP_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
					  struct ibv_ah_attr *attr,
					  uint8_t eth_mac[6], uint16_t *vid);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
				struct ibv_ah_attr *attr, uint8_t eth_mac[6],
				uint16_t *vid)
{
	if (context && !ep_ours(context))
		return ep_forward(-ENOSYS, "IBVERBS_1.1",
				  ibv_resolve_eth_l2_from_gid, context, attr,
				  eth_mac, vid);
	return -EOPNOTSUPP;
}

/*
 * Verbs: fork(2). Every kernel that the module runs on copies pinned pages for
 * the child, so there is nothing to prepare.
 */

EP_EXPORT int ibv_fork_init(void)
{
	return 0;
}

EP_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
