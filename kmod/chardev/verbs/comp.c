// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion events: the queue of a completion channel.
 *
 * A completion handler may run in any context and inside our own posts, so it
 * only counts and wakes. Each time a notification fires is one event, as with
 * uverbs, but events of one CQ are a counter instead of a list.
 */
#include "verbs.h"

/* One more unread event, which comes after @head; chan->lock is held. */
static void uep_comp_count(struct uep_cq *cq, struct list_head *head)
{
	/* Nobody reads as many as can be counted. */
	if (cq->comp_pending < U32_MAX && !cq->comp_pending++)
		list_add(&cq->comp_entry, head);
}

/* Any context. */
void uep_comp_post(struct uep_cq *cq)
{
	struct uep_comp_channel *chan = cq->chan;
	unsigned long flags;

	if (!chan)
		return;
	spin_lock_irqsave(&chan->lock, flags);
	if (!cq->comp_closed)
		uep_comp_count(cq, chan->q.records.prev);
	spin_unlock_irqrestore(&chan->lock, flags);
	uep_queue_wake(&chan->q);
}

/* Drops unread events, and those that may still come. Returns the number of read ones. */
u32 uep_comp_purge(struct uep_cq *cq)
{
	struct uep_comp_channel *chan = cq->chan;
	u32 reported;

	if (!chan)
		return 0;
	spin_lock_irq(&chan->lock);
	if (cq->comp_pending)
		list_del(&cq->comp_entry);
	cq->comp_pending = 0;
	cq->comp_closed = true;
	reported = cq->comp_reported;
	spin_unlock_irq(&chan->lock);
	return reported;
}

/* Returns the CQ with a reference, or NULL. */
struct uep_cq *uep_comp_take(struct uep_comp_channel *chan, u64 *uid)
{
	struct uep_cq *cq;

	spin_lock_irq(&chan->lock);
	cq = list_first_entry_or_null(&chan->q.records, struct uep_cq, comp_entry);
	if (cq) {
		*uid = cq->uid;
		cq->comp_reported++;
		if (--cq->comp_pending)
			list_move_tail(&cq->comp_entry, &chan->q.records);
		else
			list_del(&cq->comp_entry);
		/* Whoever lets go of the last one takes it off the list before. */
		uep_obj_get(&cq->obj);
	}
	spin_unlock_irq(&chan->lock);
	return cq;
}

/*
 * The event could not be delivered after all: it is the next one again. Not of a CQ
 * that has gone meanwhile, with this one counted as read.
 */
void uep_comp_untake(struct uep_comp_channel *chan, struct uep_cq *cq)
{
	spin_lock_irq(&chan->lock);
	if (!cq->comp_closed) {
		cq->comp_reported--;
		uep_comp_count(cq, &chan->q.records);
	}
	spin_unlock_irq(&chan->lock);
	uep_queue_wake(&chan->q);
}
