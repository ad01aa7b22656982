// SPDX-License-Identifier: GPL-2.0-only
/*
 * CM events: their limits, queueing and dropping them.
 *
 * One lock protects all queues of a session, so that an id moves to another channel with
 * its events in one step.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cm.h"

/* A zeroed event, without the half of the structure that few types need. Or NULL */
struct uep_event *uep_event_alloc(enum rdma_cm_event_type type)
{
	size_t size = offsetof(struct uep_event, rec.info);

	if (uep_event_has_info(type))
		size = sizeof(struct uep_event);
	return kzalloc(size, GFP_KERNEL_ACCOUNT);
}

/* Returns 0 or -EFAULT. */
int uep_event_to_user(void __user *buf, const struct uep_event *ev)
{
	const size_t head = offsetof(struct rdma_ep_channel_event, info);

	/* Constant sizes, see uep_cmd_execute() */
	if (ev->rec.flags & RDMA_EP_EVENT_INFO)
		return copy_to_user(buf, &ev->rec, sizeof(ev->rec)) ? -EFAULT : 0;
	return copy_to_user(buf, &ev->rec, head) ||
	       clear_user(buf + head, sizeof(ev->rec) - head) ? -EFAULT : 0;
}

/* As uep_event_to_user(), into the result of a command */
void uep_event_copy(struct rdma_ep_channel_event *rec, const struct uep_event *ev)
{
	memcpy(rec, &ev->rec, offsetof(struct rdma_ep_channel_event, info));
	if (ev->rec.flags & RDMA_EP_EVENT_INFO)
		rec->info = ev->rec.info;
	else
		memset(&rec->info, 0, sizeof(rec->info));
}

/* The caller keeps ev->id. */
void uep_event_free(struct uep_event *ev)
{
	if (ev->charged)
		uep_uncharge(ev->id->obj.session, 1, 0);
	if (ev->child)
		uep_obj_discard(&ev->child->obj);
	if (ev->mcast)
		uep_obj_put(&ev->mcast->obj);
	kfree(ev);
}

/* Are the events of its id or membership dropped? Holds ev_lock. */
bool uep_event_stale(const struct uep_event *ev)
{
	return ev->id->dying || (ev->mcast && uep_obj_claimed(&ev->mcast->obj));
}

/*
 * An event that is neither the user's nor a request is a change of the id's state, and comes
 * once. Each id is charged for some of them in advance (UEP_ID_BYTES), so that unread events
 * of other ids and sessions never drop it.
 */
static bool uep_event_reserved(const struct uep_event *ev)
{
	return !ev->charged && !ev->child;
}

/* Counts an unread event if there is room. @force: regardless of room. Holds ev_lock. */
bool uep_event_count(struct uep_event *ev, bool force)
{
	bool reserved = uep_event_reserved(ev);
	struct uep_id *id = ev->id;

	force |= reserved && id->nr_reserved < UEP_ID_RESERVED_EVENTS;
	if (!force && id->nr_events >= UEP_MAX_ID_EVENTS)
		return false;
	if (!uep_charge_event(id->obj.session, force))
		return false;
	id->nr_events++;
	id->nr_reserved += reserved;
	return true;
}

void uep_event_uncount(struct uep_event *ev)
{
	ev->id->nr_events--;
	ev->id->nr_reserved -= uep_event_reserved(ev);
	uep_uncharge_event(ev->id->obj.session);
}

/*
 * Queues an event of the id. @cm_id: rdma_cm's id of a connection request, which ev->child
 * adopts; else NULL. Returns false if the event is dropped; then the caller still owns the
 * event, and rdma_cm the request.
 */
bool uep_event_queue(struct uep_id *id, struct uep_event *ev, struct rdma_cm_id *cm_id)
{
	struct uep_session *s = id->obj.session;
	bool queued;

	ev->id = id;
	spin_lock(&s->ev_lock);
	queued = !uep_event_stale(ev) && id->accepted && uep_event_count(ev, false);
	if (!queued)
		goto out;
	if (cm_id)
		ep_id_adopt(&ev->child->id, cm_id);
	ev->rec.id = id->obj.handle;
	ev->rec.uid = id->uid;
	if (ev->mcast)
		ev->rec.param.ud.mcast_uid = ev->mcast->uid;
	list_add_tail(&ev->entry, &id->chan->q.records);
	list_add_tail(&ev->own, &id->events);
	/* The lock keeps the channel. */
	uep_queue_wake(&id->chan->q);
out:
	spin_unlock(&s->ev_lock);
	return queued;
}

/*
 * Sets the cookie of the id, or if @mcast is not NULL of this membership of it, also in unread
 * events. @forget: the events that have been read are another owner's
 */
void uep_id_set_uid(struct uep_id *id, struct uep_mcast *mcast, u64 uid, bool forget)
{
	u32 *reported = mcast ? &mcast->events_reported : &id->events_reported;
	u64 *cookie = mcast ? &mcast->uid : &id->uid;
	struct uep_session *s = id->obj.session;
	struct uep_event *ev;

	spin_lock(&s->ev_lock);
	*cookie = uid;
	if (forget)
		*reported = 0;
	list_for_each_entry(ev, &id->events, own)
		if (!mcast)
			ev->rec.uid = uid;
		else if (ev->mcast == mcast)
			ev->rec.param.ud.mcast_uid = uid;
	spin_unlock(&s->ev_lock);
}

/* Drops the unread events of an id that is being destroyed, or of a membership of it. */
void uep_events_purge(struct uep_id *id, struct uep_mcast *mcast)
{
	struct uep_session *s = id->obj.session;
	struct uep_event *ev, *next;
	LIST_HEAD(dropped);

	spin_lock(&s->ev_lock);
	if (!mcast)
		id->dying = true;
	list_for_each_entry_safe(ev, next, &id->events, own)
		if (!mcast || ev->mcast == mcast) {
			list_del(&ev->own);
			list_move_tail(&ev->entry, &dropped);
			uep_event_uncount(ev);
		}
	spin_unlock(&s->ev_lock);
	list_for_each_entry_safe(ev, next, &dropped, entry)
		uep_event_free(ev);
}
