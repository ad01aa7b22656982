// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of counters: completion channels and asynchronous events.
 *
 * Handlers post in any context, also during calls of the driver, so a post only counts and
 * wakes, and allocates nothing: each object has a node with the number, or the types, of
 * its unread events.
 */
#include <linux/string.h>

#include "core.h"

/* Takes the type at a place. Holds q->lock. */
static void uep_node_cut(struct uep_node *node, u8 *place)
{
	node->pending--;
	memmove(place, place + 1, node->types + node->pending - place);
}

/*
 * Adds an event. @again: one that has been taken before, which is the next one. A type is pending
 * once: it moves to the end, as the latest state of a port is read last. Holds q->lock.
 */
static void uep_node_add(struct uep_queue *q, struct uep_node *node, u8 type, bool again)
{
	u8 *place;

	if (!node->pending)
		list_add(&node->entry, again ? &q->records : q->records.prev);
	if (!q->ops->typed) {
		node->pending += node->pending < U32_MAX;
		return;
	}
	place = memchr(node->types, type, node->pending);
	if (place && again)
		return;
	if (place)
		uep_node_cut(node, place);
	place = again ? node->types : node->types + node->pending;
	memmove(place + 1, place, node->types + node->pending++ - place);
	*place = type;
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

u64 uep_node_uid(struct uep_queue *q, const struct uep_node *node)
{
	u64 uid;

	spin_lock_irq(&q->lock);
	uid = node->uid;
	spin_unlock_irq(&q->lock);
	return uid;
}

/* Any context. @type: event type of a typed queue, else 0 */
void uep_node_post(struct uep_queue *q, struct uep_node *node, u32 type)
{
	unsigned long flags;

	/* Newer kernels may define other types. */
	if (type >= UEP_NODE_TYPES)
		return;
	spin_lock_irqsave(&q->lock, flags);
	if (!node->closed)
		uep_node_add(q, node, type, false);
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
		ev->type = node->types[0];
		ev->uid = node->uid;
		if (q->ops->typed)
			uep_node_cut(node, node->types);
		else
			node->pending--;
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
		if (!node->closed) {
			node->reported--;
			uep_node_add(q, node, ev->type, true);
		}
		spin_unlock_irq(&q->lock);
		uep_queue_wake(q);
	}
	uep_obj_put(node->obj);
	return delivered ? 0 : -EFAULT;
}
