// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of counters: completion channels and asynchronous events.
 *
 * Handlers post in any context, also during calls of the driver, so a post only counts and
 * wakes, and allocates nothing: each object has a node with the number, or the types, of
 * its unread events.
 */
#include <linux/bitops.h>

#include "core.h"

/* @head: the list entry that the node follows if it had no unread event. Holds q->lock. */
static void uep_node_add(struct uep_queue *q, struct uep_node *node, u32 type,
			 struct list_head *head)
{
	if (node->closed)
		return;
	if (!node->pending)
		list_add(&node->entry, head);
	if (q->ops->typed)
		node->pending |= BIT(type);
	else if (node->pending < U32_MAX)
		node->pending++;
}

void uep_node_init(struct uep_node *node, struct uep_obj *obj, u64 uid)
{
	node->obj = obj;
	node->uid = uid;
}

/* @forget: the events that have been read are another owner's */
void uep_node_set_uid(struct uep_queue *q, struct uep_node *node, u64 uid, bool forget)
{
	spin_lock_irq(&q->lock);
	node->uid = uid;
	if (forget)
		node->reported = 0;
	spin_unlock_irq(&q->lock);
}

/* Any context. @type: event type of a typed queue, else 0 */
void uep_node_post(struct uep_queue *q, struct uep_node *node, u32 type)
{
	unsigned long flags;

	/* Newer kernels may define types beyond the mask. */
	if (type >= BITS_PER_TYPE(node->pending))
		return;
	spin_lock_irqsave(&q->lock, flags);
	uep_node_add(q, node, type, q->records.prev);
	spin_unlock_irqrestore(&q->lock, flags);
	uep_queue_wake(q);
}

/* Drops unread and later events. Returns the number of read events. */
u32 uep_node_purge(struct uep_queue *q, struct uep_node *node)
{
	u32 reported;

	spin_lock_irq(&q->lock);
	if (node->pending)
		list_del(&node->entry);
	node->pending = 0;
	node->closed = true;
	reported = node->reported;
	spin_unlock_irq(&q->lock);
	return reported;
}

/* Takes the next event, counted as read. If there is one, uep_node_read() follows. */
bool uep_node_dequeue(struct uep_queue *q, struct uep_node_event *ev)
{
	struct uep_node *node;

	spin_lock_irq(&q->lock);
	node = list_first_entry_or_null(&q->records, struct uep_node, entry);
	if (node) {
		ev->node = node;
		ev->type = q->ops->typed ? __ffs(node->pending) : 0;
		node->pending -= q->ops->typed ? BIT(ev->type) : 1;
		node->reported++;
		if (node->pending)
			list_move_tail(&node->entry, &q->records);
		else
			list_del(&node->entry);
		/* The last reference is only dropped after uep_node_purge(). */
		uep_obj_get(node->obj);
	}
	spin_unlock_irq(&q->lock);
	return node;
}

/*
 * Ends the reading of an event. One that has not been delivered is the next one again,
 * unless its object has been destroyed, with the event counted as read.
 */
int uep_node_read(struct uep_queue *q, struct uep_node_event *ev, bool delivered)
{
	struct uep_node *node = ev->node;

	if (!delivered) {
		spin_lock_irq(&q->lock);
		node->reported -= !node->closed;
		uep_node_add(q, node, ev->type, &q->records);
		spin_unlock_irq(&q->lock);
		uep_queue_wake(q);
	}
	uep_obj_put(node->obj);
	return delivered ? 0 : -EFAULT;
}
