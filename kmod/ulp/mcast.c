// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups of unconnected endpoints.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "ulp.h"

/* A membership. The endpoint, handlers and the task that joins have references. */
struct ulp_mcast {
	refcount_t ref;
	struct list_head entry;		/* in rdma_ep.mcasts, or empty: left */
	struct sockaddr_storage addr;	/* as the caller has it */
	struct ulp_event *event;	/* for the answer, if a task waits for that (deliver) */
	int result;			/* ... for the task; above 0: none yet (the same) */
	struct ep_mcast mc;
};

void ulp_get_mcast(struct ep_mcast *mc)
{
	refcount_inc(&container_of(mc, struct ulp_mcast, mc)->ref);
}

void ulp_put_mcast(struct ep_mcast *mc)
{
	struct ulp_mcast *m = container_of(mc, struct ulp_mcast, mc);

	if (!refcount_dec_and_test(&m->ref))
		return;
	kfree(m->event);
	kfree(m);
}

/*
 * Gives an answer to the task that waits for it. Returns whether one does: other events of groups
 * go to the channel. With the handler locked
 */
bool ulp_mcast_event(struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	struct ep_mcast *mc = (void *)event->param.ud.private_data;
	struct ulp_mcast *m = container_of(mc, struct ulp_mcast, mc);
	bool joined = event->event == RDMA_CM_EVENT_MULTICAST_JOIN;
	bool awaited;

	mutex_lock(&ep->deliver);
	awaited = m->event;
	if (awaited && m->result > 0) {
		ulp_event_fill(m->event, ep, event, 0);
		WRITE_ONCE(m->result, joined ? 0 : min(event->status, 0) ?: -EIO);
	}
	mutex_unlock(&ep->deliver);
	if (awaited)
		ulp_wake(ep);
	return awaited;
}

static void ulp_mcast_leave(struct rdma_ep *ep, struct ulp_mcast *m)
{
	list_del_init(&m->entry);
	ep_id_leave(&ep->id, &m->mc);
	/* No handler has it any more, but a task may wait for it. */
	if (cmpxchg(&m->result, 1, -ESHUTDOWN) == 1)
		ulp_wake(ep);
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

/* @await: the caller waits for the answer. With ep->lock held. Returns a reference */
static struct ulp_mcast *ulp_mcast_join(struct rdma_ep *ep, const struct sockaddr_storage *addr,
					bool send_only, bool await)
{
	struct ulp_mcast *m;
	int ret;

	if (ep->qp_type != IB_QPT_UD)
		return ERR_PTR(-EINVAL);
	if (ulp_mcast_find(ep, addr))
		return ERR_PTR(-EEXIST);
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	refcount_set(&m->ref, 1);
	m->addr = *addr;
	m->mc.addr = *addr;
	m->mc.send_only = send_only;
	m->result = 1;
	if (await)
		m->event = ulp_event_alloc(GFP_KERNEL);
	ret = await && !m->event ? -ENOMEM :
	      READ_ONCE(ep->status) ?: ulp_begin(ep, ep_id_begin_bound) ?:
	      ulp_end(ep, ep_id_join(&ep->id, &m->mc));
	if (ret) {
		ulp_put_mcast(&m->mc);
		return ERR_PTR(ret);
	}
	refcount_inc(&m->ref);
	list_add(&m->entry, &ep->mcasts);
	return m;
}

/* As ulp_await(), for the answer of a group. @chan: where the task is woken */
static int ulp_mcast_await(struct rdma_ep *ep, struct ulp_mcast *m,
			   struct rdma_ep_channel *chan, unsigned int timeout_ms)
{
	long left = ulp_timeout(timeout_ms);
	struct ulp_event *ev = NULL;
	int ret, error = 0;

	ret = ulp_wait(chan->wait,
		       READ_ONCE(m->result) <= 0 ||
		       (error = ulp_check_alive(ep) ?: READ_ONCE(ep->status)) ||
		       (error = READ_ONCE(chan->closed) ? -ESHUTDOWN : 0),
		       left) ?: error;
	mutex_lock(&ep->deliver);
	if (m->result > 0)
		m->result = ret;
	ret = m->result;
	if (m->event->pub.ep)
		swap(ev, m->event);
	mutex_unlock(&ep->deliver);
	if (ev)
		ulp_set_last(ep, ev);
	return ret;
}

static int ulp_join(struct rdma_ep *ep, const struct sockaddr_storage *addr,
		    bool send_only, unsigned int timeout_ms)
{
	CLASS(ulp_sync_channel, chan)(ep);
	struct ulp_mcast *m;
	int ret = 0;

	scoped_guard(mutex, &ep->lock)
		m = ulp_mcast_join(ep, addr, send_only, chan);
	if (IS_ERR(m))
		return PTR_ERR(m);
	if (chan)
		ret = ulp_mcast_await(ep, m, chan, timeout_ms);
	if (ret) {
		guard(mutex)(&ep->lock);
		/* Another task may have left it. */
		if (!list_empty(&m->entry))
			ulp_mcast_leave(ep, m);
	}
	ulp_put_mcast(&m->mc);
	return ret;
}

/**
 * rdma_ep_join() - join a multicast group
 * @ep: unconnected passive endpoint on an address of a device, before rdma_ep_listen()
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
 * * -EINVAL: a connected endpoint, one with a route or that listens, no device, no address
 * * -EEXIST: it has joined this group
 * * -ETIMEDOUT: there is no answer
 * * -ESHUTDOWN: rdma_ep_leave() or rdma_ep_migrate() has been called meanwhile
 * * -ENOMEM, and others that rdma_cm reports
 */
int rdma_ep_join(struct rdma_ep *ep, const struct sockaddr *group,
		 bool send_only, unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	struct sockaddr_storage addr;

	return PTR_ERR_OR_ZERO(call) ?: ulp_copy_addr(&addr, group) ?:
	       ulp_join(ep, &addr, send_only, timeout_ms);
}
EXPORT_SYMBOL_GPL(rdma_ep_join);

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
	CLASS(ulp_call, call)(ep, _RET_IP_);
	struct sockaddr_storage addr;
	struct ulp_mcast *m;
	int ret = PTR_ERR_OR_ZERO(call) ?: ulp_copy_addr(&addr, group);

	if (ret)
		return ret;
	guard(mutex)(&ep->lock);
	m = ulp_mcast_find(ep, &addr);
	if (!m)
		return -EINVAL;
	ulp_mcast_leave(ep, m);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_leave);
