// SPDX-License-Identifier: GPL-2.0-only
/*
 * CM events: what there is room for, queueing them, dropping them.
 *
 * All queues of a session are under one lock, so that an id moves between channels with
 * its events in one step.
 */
#include <linux/slab.h>

#include "cm.h"

/* The id that it is about is still there. */
void uep_event_free(struct uep_event *ev)
{
	if (ev->charged)
		uep_uncharge(ev->id->obj.session, 0);
	if (ev->child)
		uep_obj_discard(&ev->child->obj);
	if (ev->mcast)
		uep_obj_put(&ev->mcast->obj);
	kfree(ev);
}

/* Does nobody want to know of it any more? */
bool uep_event_stale(const struct uep_event *ev)
{
	return ev->id->gone || (ev->mcast && uep_obj_ended(&ev->mcast->obj));
}

/*
 * Is it news of the id from the CM? Nobody has asked for these, and they come once. So
 * there is room for some of each id, which has been paid for: other ids, and other
 * sessions, whose events nobody reads, do not keep it from learning that its connection is
 * up, or down, or that its device goes.
 */
static bool uep_event_is_news(const struct uep_event *ev)
{
	return !ev->charged && !ev->child;
}

/* Counts an unread event if there is room; ev_lock is held. */
bool uep_event_count(struct uep_event *ev, bool force)
{
	bool news = uep_event_is_news(ev);
	struct uep_id *id = ev->id;

	force |= news && id->nr_news < UEP_ID_NEWS;
	if (!force && id->nr_events >= UEP_MAX_ID_EVENTS)
		return false;
	if (!uep_count_event(id->obj.session, force))
		return false;
	id->nr_events++;
	id->nr_news += news;
	return true;
}

void uep_event_uncount(struct uep_event *ev)
{
	ev->id->nr_events--;
	ev->id->nr_news -= uep_event_is_news(ev);
	uep_uncount_event(ev->id->obj.session);
}

/*
 * Queues an event of the id. @cm_id: the new id of a connection request, which
 * passes to ev->child; else NULL. Returns false if nobody would read it; then
 * the event is still the caller's, and the request rdma_cm's.
 */
bool uep_channel_queue(struct uep_id *id, struct uep_event *ev, struct rdma_cm_id *cm_id)
{
	struct uep_session *s = id->obj.session;
	bool wanted;

	ev->id = id;
	spin_lock(&s->ev_lock);
	wanted = !uep_event_stale(ev) && id->accepted;
	if (!wanted || !uep_event_count(ev, false)) {
		spin_unlock(&s->ev_lock);
		return false;
	}
	if (cm_id) {
		ep_id_adopt(&ev->child->id, cm_id);
		ev->child->chan = id->chan;
		kref_get(&id->chan->q.ref);
	}
	ev->rec.id = id->obj.handle;
	ev->rec.uid = id->uid;
	list_add_tail(&ev->entry, &id->chan->q.records);
	list_add_tail(&ev->own, &id->events);
	/* Under the lock: it keeps the channel. */
	uep_queue_wake(&id->chan->q);
	spin_unlock(&s->ev_lock);
	return true;
}

/*
 * Drops the unread events of an id that is being destroyed, or only those of a
 * membership of its that is.
 */
void uep_channel_purge(struct uep_id *id, struct uep_mcast *mcast)
{
	struct uep_session *s = id->obj.session;
	struct uep_event *ev, *next;
	LIST_HEAD(dropped);

	spin_lock(&s->ev_lock);
	if (!mcast)
		id->gone = true;
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

/*
 * A request that has not been read is for who reads its listener's events, and so is
 * what becomes of it; ev_lock is held. Returns the channel that its id reported to, with
 * a reference.
 */
struct uep_channel *uep_event_follow(const struct uep_event *ev, struct uep_channel *chan)
{
	struct uep_channel *old = ev->child->chan;

	kref_get(&chan->q.ref);
	ev->child->chan = chan;
	return old;
}
