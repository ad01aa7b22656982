// SPDX-License-Identifier: BSD-2-Clause
/* Joining and leaving multicast groups. The kernel attaches the id's own QP. */
#include "cm.h"

static int join(struct lep_id *id, const struct sockaddr *addr, bool send_only,
		void *context)
{
	struct rdma_ep_cmd_join_multicast cmd = {
		.flags = send_only ? RDMA_EP_JOIN_SEND_ONLY : 0,
		.id = id->handle,
	};
	struct lep_mcast *mcast;

	if (lep_addr_to_uapi(&cmd.addr, addr, lep_addr_len(addr)))
		return -1;
	mcast = calloc(1, sizeof(*mcast));
	if (!mcast)
		return -1;
	mcast->context = context;
	mcast->send_only = send_only;
	memcpy(&mcast->addr, addr, lep_addr_len(addr));
	lep_mcast_add(id, mcast);

	cmd.uid = (uintptr_t)mcast;
	if (lep_call(id->session, JOIN_MULTICAST, &cmd)) {
		lep_mcast_remove(id, mcast);
		return lep_free_err(mcast);
	}
	lep_mcast_set_handle(id, mcast, cmd.mcast);
	return lep_id_await_event(id);
}

/* rdma_join_multicast(3) */
LEP_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				   void *context)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_join_multicast, id, addr,
				      context);
	if (!id || !lep_addr_len(addr))
		return lep_err(EINVAL);
	return join(lep_to_id(id), addr, false, context);
}

/* rdma_join_multicast_ex(3) */
LEP_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				      struct rdma_cm_join_mc_attr_ex *attr,
				      void *context)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
				RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_join_multicast_ex, id, attr,
				      context);
	if (!id || !attr)
		return lep_err(EINVAL);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return lep_err(ENOTSUP);
	if ((attr->comp_mask & needed) != needed ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
	    !lep_addr_len(attr->addr))
		return lep_err(EINVAL);
	return join(lep_to_id(id), attr->addr,
		    attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		    context);
}

/* rdma_leave_multicast(3): waits for the acknowledgment of its events. */
LEP_EXPORT int rdma_leave_multicast(struct rdma_cm_id *cm_id,
				    struct sockaddr *addr)
{
	struct lep_id *id = lep_to_id(cm_id);
	socklen_t len = lep_addr_len(addr);
	struct lep_mcast *mcast;
	uint32_t events;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_leave_multicast, cm_id, addr);
	if (!id || !len)
		return lep_err(EINVAL);
	mcast = lep_mcast_take(id, addr, len);
	if (!mcast)
		return lep_err(EADDRNOTAVAIL);
	/* The event in id.event of a synchronous id may be one of them. */
	if (id->sync)
		lep_id_drop_event(id);
	lep_mcast_detach_external(id, mcast);
	if (lep_mcast_leave(id, mcast, &events))
		return lep_free_err(mcast);
	lep_wait_acked(&id->mutex, &id->cond, &mcast->acked, events);
	free(mcast);
	return 0;
}
