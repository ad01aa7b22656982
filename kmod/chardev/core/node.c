// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of counters: completion channels and asynchronous events.
 *
 * Handlers post in any context, also inside our own calls of the driver, so a post only
 * counts and wakes, and allocates nothing: each object has a node, with the number of its
 * unread events or one bit for each type of them.
 */
#include <linux/bitops.h>

#include "core.h"

/* The node comes after @head if it has had nothing unread; q->lock is held. */
static void uep_node_pend(struct uep_queue *q, struct uep_node *node, u32 type,
			  struct list_head *head)
{
	if (!node->pending)
		list_add(&node->entry, head);
	if (q->ops->typed)
		node->pending |= BIT(type);
	else if (node->pending < U32_MAX)
		node->pending++;
}

/* Any context. @type: of queues that have types */
void uep_node_post(struct uep_queue *q, struct uep_node *node, u32 type)
{
	unsigned long flags;

	/* Newer kernels may have events that a bit mask has no place for. */
	if (type >= BITS_PER_TYPE(node->pending))
		return;
	spin_lock_irqsave(&q->lock, flags);
	if (!node->closed)
		uep_node_pend(q, node, type, q->records.prev);
	spin_unlock_irqrestore(&q->lock, flags);
	uep_queue_wake(q);
}

/* Drops unread events, and those that may still come. Returns the number of read ones. */
u32 uep_node_purge(struct uep_queue *q, struct uep_node *node)
{
	struct uep_taken *taken;
	u32 reported;

	spin_lock_irq(&q->lock);
	list_for_each_entry(taken, &q->taken, entry)
		if (taken->node == node)
			taken->node = NULL;
	if (node->pending)
		list_del(&node->entry);
	node->pending = 0;
	node->closed = true;
	reported = node->reported;
	spin_unlock_irq(&q->lock);
	return reported;
}

/* Takes the next event, counted as read. uep_node_settle() follows if there is one. */
bool uep_node_take(struct uep_queue *q, struct uep_taken *taken)
{
	struct uep_node *node;

	spin_lock_irq(&q->lock);
	node = list_first_entry_or_null(&q->records, struct uep_node, entry);
	if (node) {
		taken->node = node;
		taken->obj = node->obj;
		taken->uid = node->uid;
		taken->type = q->ops->typed ? __ffs(node->pending) : 0;
		node->reported++;
		node->pending = q->ops->typed ? node->pending & (node->pending - 1) :
						node->pending - 1;
		if (node->pending)
			list_move_tail(&node->entry, &q->records);
		else
			list_del(&node->entry);
		/* The last reference is only dropped after uep_node_purge(). */
		if (node->obj)
			uep_obj_get(node->obj);
		else
			list_add(&taken->entry, &q->taken);
	}
	spin_unlock_irq(&q->lock);
	return node;
}

/*
 * The user has the event, or it is the next one again. Not if its object has been
 * destroyed meanwhile, with this one counted as read.
 */
int uep_node_settle(struct uep_queue *q, struct uep_taken *taken, bool delivered)
{
	if (!taken->obj || !delivered) {
		spin_lock_irq(&q->lock);
		if (!taken->obj)
			list_del(&taken->entry);
		if (!delivered && taken->node && !taken->node->closed) {
			taken->node->reported--;
			uep_node_pend(q, taken->node, taken->type, &q->records);
		}
		spin_unlock_irq(&q->lock);
	}
	if (taken->obj)
		uep_obj_put(taken->obj);
	if (delivered)
		return 0;
	uep_queue_wake(q);
	return -EFAULT;
}
