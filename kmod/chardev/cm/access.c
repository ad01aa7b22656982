// SPDX-License-Identifier: GPL-2.0-only
/* Rights of tasks and sessions to the device and the addresses of an id. */
#include "cm.h"

/* While an address is being resolved, the handler writes the source twice. */
static void uep_id_get_addr(const struct uep_id *id, struct rdma_addr *addr)
{
	guard(ep_id_handler)(id->id.cm_id);
	addr->src_addr = id->id.cm_id->route.addr.src_addr;
	addr->dst_addr = id->id.cm_id->route.addr.dst_addr;
}

/*
 * May the current task and the session use the device that the id is bound to, and its local
 * address? Called by the commands that let the id act on it: listen, resolve a route, connect,
 * join. Inside uep_id_begin()
 */
int uep_id_check_access(const struct uep_id *id)
{
	struct ib_device *ibdev = id->id.cm_id->device;
	struct uep_session *s = id->obj.session;
	struct rdma_addr addr;
	int ret;

	ret = ibdev ? uep_check_dev(s, ibdev) : 0;
	if (ret || !uep_restrictions(s))
		return ret;
	uep_id_get_addr(id, &addr);
	return uep_check_local(s, (struct sockaddr *)&addr.src_addr);
}

/* As uep_id_check_access(), to listen. An id without a device listens at all addresses. */
int uep_id_check_listen(const struct uep_id *id)
{
	struct uep_session *s = id->obj.session;
	int ret = uep_id_check_access(id);
	struct rdma_addr addr;

	if (ret || id->id.cm_id->device || !uep_restrictions(s))
		return ret;
	uep_id_get_addr(id, &addr);
	return uep_check_all_local(s, (struct sockaddr *)&addr.src_addr, id->both_families);
}

/* May the session reach the peer of the id? Inside uep_id_begin() */
int uep_id_check_peer(const struct uep_id *id)
{
	struct uep_session *s = id->obj.session;
	struct rdma_addr addr;

	if (!uep_restrictions(s))
		return 0;
	uep_id_get_addr(id, &addr);
	return (id->own_path ? uep_check_own_path(s) : 0) ?:
	       uep_check_peer(s, (struct sockaddr *)&addr.dst_addr);
}

/* ep_id_ops.may_route */
int uep_id_may_route(struct ep_id *eid)
{
	const struct uep_id *id = container_of(eid, struct uep_id, id);

	return uep_id_check_access(id) ?: uep_id_check_peer(id);
}

/* ep_id_ops.may_route_unasked */
bool uep_id_may_route_unasked(struct ep_id *eid)
{
	const struct uep_id *id = container_of(eid, struct uep_id, id);

	return !uep_restrictions(id->obj.session) && uep_access_is_open();
}
