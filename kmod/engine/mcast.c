// SPDX-License-Identifier: GPL-2.0-only
/* Multicast groups that ids have joined, and attaching the id's QP to them. */
#include <linux/in.h>
#include <linux/in6.h>
#include <rdma/ib.h>
#include <rdma/ib_sa.h>

#include "engine.h"
#include "trace.h"

/* Each event searches them, in a work queue that all ids of rdma_cm share. */
#define EP_ID_MAX_MCASTS	1024U

/*
 * rdma_leave_multicast() leaves the first of the id's groups that has the address, be it this
 * membership or another one of the group, whose event may still come. So the key makes the
 * address unique, in a field that does not name the group.
 */
static void ep_mcast_mark_addr(struct ep_mcast *mc)
{
	switch (mc->addr.ss_family) {
	case AF_INET:
		memcpy(((struct sockaddr_in *)&mc->addr)->sin_zero, &mc->key, sizeof(mc->key));
		break;
	case AF_INET6:
		((struct sockaddr_in6 *)&mc->addr)->sin6_flowinfo = (__force __be32)mc->key;
		break;
	case AF_IB:
		((struct sockaddr_ib *)&mc->addr)->sib_sid = cpu_to_be64(mc->key);
		break;
	}
}

/* Returns the QP that was attached for the membership, with the reference, or NULL. */
static struct ep_qp *ep_mcast_unlink(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp = NULL;

	spin_lock(&id->link_lock);
	list_del_init(&mc->entry);
	id->nr_mcasts--;
	swap(qp, mc->qp);
	spin_unlock(&id->link_lock);
	return qp;
}

/*
 * Joins a group, between ep_id_begin_bound() and ep_id_end(). @mc: @addr and @send_only are set,
 * the rest is zero. Followed by an event, and by ep_id_leave() at some time. Returns -EINVAL
 * for another type than UD, -ENOMEM if the id has joined too many, or an error of rdma_cm.
 */
int ep_id_join(struct ep_id *id, struct ep_mcast *mc)
{
	int ret;

	/* The rdma_cm of some kernels does not check it, and reports garbage. */
	if (id->cm_id->qp_type != IB_QPT_UD)
		return -EINVAL;
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
	if (ret)
		ep_mcast_unlink(id, mc);
	return ret;
}

/* No QP is attached for @mc later: rdma_leave_multicast() has waited for ep_id_mcast_event(). */
static void ep_mcast_cancel_attach(struct ep_id *id, struct ep_mcast *mc)
{
	bool queued;

	spin_lock(&id->link_lock);
	queued = !list_empty(&mc->joined);
	list_del_init(&mc->joined);
	spin_unlock(&id->link_lock);
	if (queued) {
		rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
		id->ops->put_mcast(mc);
	} else if (mc->deferred) {
		/* ep_id_attach_joined() has it. */
		flush_work(&id->work);
	}
}

/*
 * Detaches the id's QP, which has been attached by the program itself: the id got it after the
 * owner had taken MULTICAST_JOIN. id->lock is held; @mc is off the list.
 */
static void ep_id_detach_own(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp;

	if (mc->send_only || id->closed)
		return;
	qp = ep_id_get_qp(id);
	if (!qp)
		return;
	/* ep_id_mcast_event() may have found @mc before, and be setting the group. */
	rdma_lock_handler(id->cm_id);
	rdma_unlock_handler(id->cm_id);
	ep_qp_drop_mcast(qp, &mc->gid, mc->lid);
	ep_id_put_qp(id, qp);
}

/*
 * Detaches the QP and leaves the group. Process context, not in an event handler, nor in ep_wq.
 * The id may have been destroyed, by its owner or with its device. ep_id_mcast_event() and the
 * id's work item may run meanwhile, with a reference to @mc, and still report on it; on return
 * they have ended.
 */
void ep_id_leave(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp;

	mutex_lock(&id->lock);
	qp = ep_mcast_unlink(id, mc);
	if (qp)
		ep_qp_leave_mcast(qp, &mc->gid, mc->lid);
	ep_id_put_qp(id, qp);
	ep_id_detach_own(id, mc);
	if (!id->closed)
		rdma_leave_multicast(id->cm_id, (struct sockaddr *)&mc->addr);
	mutex_unlock(&id->lock);
	ep_mcast_cancel_attach(id, mc);
}

/* The membership of an event, with a reference, or NULL */
static struct ep_mcast *ep_id_find_mcast(struct ep_id *id, const struct rdma_cm_event *event)
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

/* Attaches the QP to the group, in the place of an older one. Takes over the reference to it. */
static int ep_mcast_attach(struct ep_id *id, struct ep_mcast *mc, struct ep_qp *qp)
{
	struct ep_qp *drop = qp;
	int ret;

	ret = ep_qp_attach_mcast(qp, &mc->gid, mc->lid, 1);
	if (ret)
		goto put;
	spin_lock(&id->link_lock);
	if (!list_empty(&mc->entry))
		swap(drop, mc->qp);
	spin_unlock(&id->link_lock);
	/* ep_id_leave() has run meanwhile, and found no QP to detach. */
	if (drop == qp)
		ep_qp_leave_mcast(qp, &mc->gid, mc->lid);
put:
	ep_id_put_qp(id, drop);
	return ret;
}

/*
 * The owner of @mc takes its MULTICAST_JOIN: the id may have another QP since the join. Process
 * context; ep_id_leave() and ep_id_destroy() may run meanwhile.
 */
int ep_id_attach_late(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp = mc->send_only ? NULL : ep_id_get_qp(id);
	bool attached;

	if (!qp)
		return 0;
	spin_lock(&id->link_lock);
	attached = mc->qp == qp || list_empty(&mc->entry);
	spin_unlock(&id->link_lock);
	if (!attached)
		return ep_mcast_attach(id, mc, qp);
	ep_id_put_qp(id, qp);
	return 0;
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

/* The next group whose QP is to be attached, with the reference of ep_id.joined, or NULL */
static struct ep_mcast *ep_id_next_joined(struct ep_id *id)
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
 * In the id's work item. Returns whether there is another group: the item's next run
 * attaches it, after the items of other ids.
 */
bool ep_id_attach_joined(struct ep_id *id)
{
	struct ep_mcast *mc = ep_id_next_joined(id);
	struct ep_qp *qp;
	int ret;

	if (!mc)
		return false;
	qp = ep_id_get_qp(id);
	ret = qp ? ep_mcast_attach(id, mc, qp) : 0;
	rdma_lock_handler(id->cm_id);
	/* A MULTICAST_ERROR may have been reported meanwhile. */
	if (!mc->lost)
		ep_mcast_report(id, mc, &mc->event, ret);
	rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
	mc->deferred = false;
	rdma_unlock_handler(id->cm_id);
	id->ops->put_mcast(mc);
	return !list_empty_careful(&id->joined);
}

/* The id is being destroyed, and its work item does not run any more. */
void ep_id_drop_joined(struct ep_id *id)
{
	struct ep_mcast *mc;

	while ((mc = ep_id_next_joined(id))) {
		rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
		id->ops->put_mcast(mc);
	}
}

/*
 * A group has been joined, or lost; in the event handler. The id's QP is attached by
 * ep_id_attach_joined(), since other tasks may hold qp->lock for long. Returns whether that has
 * to follow.
 */
bool ep_id_mcast_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	struct ep_mcast *mc = ep_id_find_mcast(id, event);
	const struct rdma_ah_attr *attr = &event->param.ud.ah_attr;

	if (!mc)
		return false;
	if (event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		mc->lost = true;
	if (mc->lost || mc->send_only) {
		ep_mcast_report(id, mc, event, 0);
	} else if (!id->no_work && !mc->deferred) {
		mc->deferred = true;
		mc->gid = rdma_ah_read_grh(attr)->dgid;
		mc->lid = rdma_ah_get_dlid(attr);
		mc->event = *event;
		rdma_copy_ah_attr(&mc->event.param.ud.ah_attr, attr);
		spin_lock(&id->link_lock);
		list_add_tail(&mc->joined, &id->joined);
		spin_unlock(&id->link_lock);
		return true;
	}
	id->ops->put_mcast(mc);
	return false;
}
