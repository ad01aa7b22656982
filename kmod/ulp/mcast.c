// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups of unconnected endpoints.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>

#include "ulp.h"

/* A membership. The endpoint and handlers have references. */
struct ulp_mcast {
	struct kref ref;
	struct list_head entry;		/* in rdma_ep.mcasts */
	struct sockaddr_storage addr;	/* as the caller has it */
	struct ep_mcast mc;
};

void ulp_get_mcast(struct ep_mcast *mc)
{
	kref_get(&container_of(mc, struct ulp_mcast, mc)->ref);
}

static void ulp_mcast_free(struct kref *ref)
{
	kfree(container_of(ref, struct ulp_mcast, ref));
}

void ulp_put_mcast(struct ep_mcast *mc)
{
	kref_put(&container_of(mc, struct ulp_mcast, mc)->ref, ulp_mcast_free);
}

static void ulp_mcast_leave(struct rdma_ep *ep, struct ulp_mcast *m)
{
	list_del(&m->entry);
	ep_id_leave(&ep->id, &m->mc);
	ulp_put_mcast(&m->mc);
}

/* The endpoint is being destroyed. */
void ulp_leave_all(struct rdma_ep *ep)
{
	struct ulp_mcast *m, *next;

	list_for_each_entry_safe(m, next, &ep->mcasts, entry)
		ulp_mcast_leave(ep, m);
}

static struct ulp_mcast *ulp_mcast_find(const struct rdma_ep *ep,
					const struct sockaddr_storage *addr)
{
	struct ulp_mcast *m;

	list_for_each_entry(m, &ep->mcasts, entry)
		if (!memcmp(&m->addr, addr, sizeof(*addr)))
			return m;
	return NULL;
}

static int ulp_mcast_addr(struct sockaddr_storage *dst,
			  const struct sockaddr *src)
{
	int len = IS_ERR_OR_NULL(src) ? 0 :
		  rdma_addr_size((struct sockaddr *)src);

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, len);
	return len ? 0 : -EINVAL;
}

/* With ep->lock held. @key: ep_mcast.key, out */
static int ulp_mcast_join(struct rdma_ep *ep, const struct sockaddr_storage *addr, bool send_only,
			  u32 *key)
{
	struct ulp_mcast *m;
	int ret;

	if (ep->qp_type != IB_QPT_UD)
		return -EINVAL;
	if (ulp_mcast_find(ep, addr))
		return -EEXIST;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	kref_init(&m->ref);
	m->addr = *addr;
	m->mc.addr = *addr;
	m->mc.send_only = send_only;
	ret = ulp_begin(ep, ep_id_begin_bound) ?:
	      ulp_end(ep, ep_id_join(&ep->id, &m->mc));
	if (ret) {
		kfree(m);
		return ret;
	}
	*key = m->mc.key;
	list_add(&m->entry, &ep->mcasts);
	return 0;
}

static int ulp_mcast_drop(struct rdma_ep *ep,
			  const struct sockaddr_storage *addr)
{
	struct ulp_mcast *m;

	mutex_lock(&ep->lock);
	m = ulp_mcast_find(ep, addr);
	if (m)
		ulp_mcast_leave(ep, m);
	mutex_unlock(&ep->lock);
	return m ? 0 : -EINVAL;
}

static int ulp_join(struct rdma_ep *ep, const struct sockaddr *group,
		    bool send_only, unsigned int timeout_ms)
{
	struct sockaddr_storage addr;
	u32 key;
	int ret;

	ret = ulp_mcast_addr(&addr, group);
	if (ret)
		return ret;
	mutex_lock(&ep->lock);
	ret = ulp_mcast_join(ep, &addr, send_only, &key);
	mutex_unlock(&ep->lock);
	if (ret)
		return ret;
	ret = ulp_await(ep, RDMA_CM_EVENT_MULTICAST_JOIN, key, timeout_ms);
	if (ret)
		ulp_mcast_drop(ep, &addr);
	return ret;
}

/**
 * rdma_ep_join() - join a multicast group
 * @ep: unconnected endpoint with a device, bound or resolved
 * @group: address of the group
 * @send_only: only send to it; else the endpoint's QP, if there is one, receives
 * @timeout_ms: limit, if the endpoint is synchronous
 *
 * With a channel, %RDMA_CM_EVENT_MULTICAST_JOIN or %RDMA_CM_EVENT_MULTICAST_ERROR follows; the
 * membership stays until rdma_ep_leave() in both cases. The event, after a synchronous call
 * rdma_ep_event(), has the address handle's attributes, the QP number and the Q_Key for
 * sending to the group. rdma_ep_destroy() leaves all groups. See rdma_join_multicast(3).
 *
 * Return: 0, or
 * * -EINVAL: a connected endpoint, no device, no address
 * * -EEXIST: it has joined this group
 * * -ETIMEDOUT: there is no answer
 * * -ENOMEM, and others that rdma_cm reports
 */
int rdma_ep_join(struct rdma_ep *ep, const struct sockaddr *group,
		 bool send_only, unsigned int timeout_ms)
{
	return ulp_entered(ep, ulp_join(ep, group, send_only, timeout_ms));
}
EXPORT_SYMBOL_GPL(rdma_ep_join);

static int ulp_group_leave(struct rdma_ep *ep, const struct sockaddr *group)
{
	struct sockaddr_storage addr;

	return ulp_mcast_addr(&addr, group) ?: ulp_mcast_drop(ep, &addr);
}

/**
 * rdma_ep_leave() - leave a multicast group
 * @ep: endpoint
 * @group: address, as for rdma_ep_join()
 *
 * See rdma_leave_multicast(3).
 *
 * Return: 0, or -EINVAL if it has not joined
 */
int rdma_ep_leave(struct rdma_ep *ep, const struct sockaddr *group)
{
	return ulp_entered(ep, ulp_group_leave(ep, group));
}
EXPORT_SYMBOL_GPL(rdma_ep_leave);
