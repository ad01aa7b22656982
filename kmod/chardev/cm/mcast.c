// SPDX-License-Identifier: GPL-2.0-only
/* Multicast: memberships of ids. */
#include <rdma/ib_addr.h>

#include "cm.h"

static void uep_mcast_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_mcast *mcast = container_of(obj, struct uep_mcast, obj);
	struct uep_session *s = obj->session;

	if (!mcast->joined)
		return;
	ep_id_leave(&mcast->id->id, &mcast->mc);
	uep_events_purge(mcast->id, mcast);
	spin_lock(&s->ev_lock);
	out->events_reported = mcast->events_reported;
	spin_unlock(&s->ev_lock);
}

static void uep_mcast_free(struct uep_obj *obj)
{
	uep_obj_put(&container_of(obj, struct uep_mcast, obj)->id->obj);
}

static int uep_mcast_settle(struct uep_obj *obj)
{
	return ep_id_wait(&container_of(obj, struct uep_mcast, obj)->id->id, false);
}

static const struct uep_obj_type uep_mcast_type = {
	.type = RDMA_EP_OBJ_MCAST,
	.settle = uep_mcast_settle,
	.destroy = uep_mcast_destroy,
	.free = uep_mcast_free,
};

int uep_join_multicast(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_join_multicast *arg = cmd->arg;
	struct sockaddr *addr = uep_sockaddr(&arg->addr);
	struct uep_mcast *mcast;
	struct uep_id *id;
	int ret;

	if (!addr)
		return -EINVAL;
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	id = uep_obj_lookup(cmd->s, arg->id, RDMA_EP_OBJ_ID);
	if (!id)
		return -ENOENT;
	mcast = uep_obj_alloc(cmd->s, &uep_mcast_type, sizeof(*mcast), 0);
	if (IS_ERR(mcast)) {
		uep_obj_put(&id->obj);
		return PTR_ERR(mcast);
	}
	mcast->id = id;
	mcast->uid = arg->uid;
	mcast->mc.send_only = arg->flags & RDMA_EP_JOIN_SEND_ONLY;
	memcpy(&mcast->mc.addr, addr, rdma_addr_size(addr));

	ret = ep_id_begin_bound(&id->id);
	if (!ret) {
		ret = uep_id_check_access(id) ?: uep_check_mcast(cmd->s, addr) ?:
		      ep_id_join(&id->id, &mcast->mc);
		mcast->joined = !ret;
		ep_id_end(&id->id);
	}
	if (!ret)
		return uep_cmd_add_obj(cmd, mcast, &arg->mcast);
	uep_obj_discard(&mcast->obj);
	return ret;
}
