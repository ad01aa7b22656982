// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups that ids have joined, and attaching the id's QP to them.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <rdma/ib.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "engine.h"
#include "trace.h"

/* Each event looks through them, in a work queue that all ids of rdma_cm share. */
#define EP_ID_MAX_MCASTS	1024U

/* -EINTR if the task is killed */
static int ep_mcast_lock(struct ep_qp *qp)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (!ret)
		ep_dev_lock_mcast(qp->res.dev);
	return ret;
}

/* For handlers, which do not wait */
static bool ep_mcast_trylock(struct ep_qp *qp)
{
	if (!mutex_trylock(&qp->lock))
		return false;
	if (ep_dev_trylock_mcast(qp->res.dev))
		return true;
	ep_qp_unlock(qp);
	return false;
}

static void ep_mcast_unlock(struct ep_qp *qp)
{
	ep_dev_unlock_mcast(qp->res.dev);
	ep_qp_unlock(qp);
}

/* Attaching twice is attaching once, as it is with uverbs. */
int ep_qp_attach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	int ret = ep_mcast_lock(qp);

	if (ret)
		return ret;
	ret = ep_qp_attach_locked(qp, gid, lid, 0);
	ep_mcast_unlock(qp);
	return ret;
}

/* Regardless of memberships */
int ep_qp_detach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	int ret = ep_mcast_lock(qp);

	if (ret)
		return ret;
	ret = ep_qp_detach_locked(qp, gid, lid, 0);
	ep_mcast_unlock(qp);
	return ret;
}

/*
 * rdma_cm leaves the first of the id's groups whose address is the same, be it
 * this membership or another one in the group, whose event may not have come yet.
 * So make the address unmistakable, where it does not name the group.
 */
static void ep_mcast_mark_addr(struct ep_mcast *mc)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&mc->addr;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&mc->addr;
	struct sockaddr_ib *sib = (struct sockaddr_ib *)&mc->addr;

	switch (mc->addr.ss_family) {
	case AF_INET:
		memcpy(sin->sin_zero, &mc->key, sizeof(mc->key));
		break;
	case AF_INET6:
		sin6->sin6_flowinfo = (__force __be32)mc->key;
		break;
	case AF_IB:
		sib->sib_sid = cpu_to_be64(mc->key);
		break;
	}
}

/**
 * ep_id_join - join a multicast group
 * @id: id that is bound to a device, between ep_id_begin_bound() and ep_id_end()
 * @mc: membership: @addr and @send_only are set, the rest zero
 *
 * Followed by an event if it succeeds, and then by ep_id_leave() at some time.
 *
 * Return: 0, -ENOMEM if the id is in too many, or what rdma_cm says
 */
int ep_id_join(struct ep_id *id, struct ep_mcast *mc)
{
	int ret;

	INIT_LIST_HEAD(&mc->joined);
	spin_lock(&id->link_lock);
	if (id->nr_mcasts == EP_ID_MAX_MCASTS) {
		spin_unlock(&id->link_lock);
		return -ENOMEM;
	}
	id->nr_mcasts++;
	mc->key = ++id->mcast_key;
	ep_mcast_mark_addr(mc);
	list_add(&mc->entry, &id->mcasts);
	spin_unlock(&id->link_lock);

	ret = rdma_join_multicast(id->cm_id, (struct sockaddr *)&mc->addr,
				  BIT(mc->send_only ? SENDONLY_FULLMEMBER_JOIN : FULLMEMBER_JOIN),
				  (void *)(uintptr_t)mc->key);
	if (ret) {
		spin_lock(&id->link_lock);
		list_del_init(&mc->entry);
		id->nr_mcasts--;
		spin_unlock(&id->link_lock);
	}
	return ret;
}

/*
 * Detaches the QP and leaves the group. Process context, not in an event handler;
 * the id may have been destroyed, by its owner or with its device. A handler that
 * runs meanwhile has a reference to @mc and may still report on it.
 */
void ep_id_leave(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp;

	mutex_lock(&id->lock);
	spin_lock(&id->link_lock);
	list_del_init(&mc->entry);
	id->nr_mcasts--;
	qp = mc->qp;
	mc->qp = NULL;
	spin_unlock(&id->link_lock);
	if (qp) {
		mutex_lock(&qp->lock);
		ep_dev_lock_mcast(qp->res.dev);
		ep_qp_detach_locked(qp, &mc->gid, mc->lid, 1);
		ep_mcast_unlock(qp);
		id->ops->put_qp(qp);
	}
	if (!id->closed)
		rdma_leave_multicast(id->cm_id, (struct sockaddr *)&mc->addr);
	mutex_unlock(&id->lock);
}

/* The membership that an event is about, with a reference, or NULL. */
static struct ep_mcast *ep_id_mcast_of(struct ep_id *id, const struct rdma_cm_event *event)
{
	u32 key = (uintptr_t)event->param.ud.private_data;
	struct ep_mcast *mc, *found = NULL;

	spin_lock(&id->link_lock);
	list_for_each_entry(mc, &id->mcasts, entry)
		if (mc->key == key)
			found = mc;
	if (found)
		id->ops->get_mcast(found);
	spin_unlock(&id->link_lock);
	return found;
}

/*
 * Attaches the QP to the group that was joined, with ep_mcast_lock(), which ends. Takes
 * over the reference to it.
 */
static int ep_mcast_attach(struct ep_id *id, struct ep_mcast *mc, struct ep_qp *qp)
{
	struct ep_qp *old = NULL;
	bool left;
	int ret;

	ret = ep_qp_attach_locked(qp, &mc->gid, mc->lid, 1);
	if (ret)
		goto unlock;
	spin_lock(&id->link_lock);
	left = list_empty(&mc->entry);
	if (!left) {
		id->ops->get_qp(qp);
		old = mc->qp;
		mc->qp = qp;
	}
	spin_unlock(&id->link_lock);
	if (left)
		ep_qp_detach_locked(qp, &mc->gid, mc->lid, 1);
unlock:
	ep_mcast_unlock(qp);
	if (old)
		id->ops->put_qp(old);
	id->ops->put_qp(qp);
	return ret;
}

/* @ret: of attaching the QP. With the handler locked. */
static void ep_mcast_report(struct ep_id *id, struct ep_mcast *mc,
			    const struct rdma_cm_event *event, int ret)
{
	struct rdma_cm_event changed = *event;

	changed.param.ud.private_data = mc;
	if (ret) {
		changed.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		changed.status = ret;
	}
	trace_rdma_ep_cm_event(id, id->cm_id, &changed, 0);
	id->ops->event(id, &changed);
}

/*
 * Another task has qp->lock; takes over the reference to @mc. With the handler locked.
 * Returns whether the id's work item has to attach the QP.
 */
static bool ep_mcast_later(struct ep_id *id, struct ep_mcast *mc, const struct rdma_cm_event *event)
{
	if (id->no_later || mc->later) {
		id->ops->put_mcast(mc);
		return false;
	}
	mc->later = true;
	mc->event = *event;
	rdma_copy_ah_attr(&mc->event.param.ud.ah_attr, &event->param.ud.ah_attr);
	spin_lock(&id->link_lock);
	list_add_tail(&mc->joined, &id->joined);
	spin_unlock(&id->link_lock);
	return true;
}

/* What has been joined, and not attached yet. With what ep_mcast_later() took over. */
static struct ep_mcast *ep_id_joined(struct ep_id *id)
{
	struct ep_mcast *mc;

	spin_lock(&id->link_lock);
	mc = list_first_entry_or_null(&id->joined, struct ep_mcast, joined);
	if (mc)
		list_del_init(&mc->joined);
	spin_unlock(&id->link_lock);
	return mc;
}

/*
 * In the id's work item, which may wait. Returns whether there is another group: that is
 * for the item's next run, as others wait for theirs.
 */
bool ep_id_attach_later(struct ep_id *id)
{
	struct ep_mcast *mc = ep_id_joined(id);
	struct ep_qp *qp;
	int ret = 0;

	if (!mc)
		return false;
	qp = ep_id_get_qp(id);
	if (qp) {
		mutex_lock(&qp->lock);
		ep_dev_lock_mcast(qp->res.dev);
		ret = ep_mcast_attach(id, mc, qp);
	}
	rdma_lock_handler(id->cm_id);
	/* The group may be lost again. */
	if (!mc->lost)
		ep_mcast_report(id, mc, &mc->event, ret);
	rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
	mc->later = false;
	rdma_unlock_handler(id->cm_id);
	id->ops->put_mcast(mc);
	return !list_empty_careful(&id->joined);
}

/* The id ends. */
void ep_id_drop_mcasts(struct ep_id *id)
{
	struct ep_mcast *mc;

	while ((mc = ep_id_joined(id))) {
		rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
		id->ops->put_mcast(mc);
	}
}

/*
 * A group has been joined, or lost. Runs in the event handler. Returns whether
 * ep_id_attach_later() has to follow.
 */
bool ep_id_mcast_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	struct ep_mcast *mc = ep_id_mcast_of(id, event);
	const struct rdma_ah_attr *attr = &event->param.ud.ah_attr;
	struct ep_qp *qp = NULL;
	int ret = 0;

	if (!mc)
		return false;
	if (event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		mc->lost = true;
	else if (!mc->send_only)
		qp = ep_id_get_qp(id);
	if (qp) {
		mc->gid = rdma_ah_read_grh(attr)->dgid;
		mc->lid = rdma_ah_get_dlid(attr);
		if (!ep_mcast_trylock(qp)) {
			id->ops->put_qp(qp);
			return ep_mcast_later(id, mc, event);
		}
		ret = ep_mcast_attach(id, mc, qp);
	}
	ep_mcast_report(id, mc, event, ret);
	id->ops->put_mcast(mc);
	return false;
}
