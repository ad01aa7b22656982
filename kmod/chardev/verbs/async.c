// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of contexts.
 *
 * Drivers raise these in any context and with their locks held, so nothing is
 * allocated for an event: each object has a node with one bit per event type.
 */
#include <linux/bitops.h>
#include <linux/uaccess.h>

#include "verbs.h"

/**
 * struct uep_async_taken - an event on its way to the user
 * @entry: in uep_async_queue.taken
 * @node: whose it is, NULL when that is gone
 */
struct uep_async_taken {
	struct list_head entry;
	struct uep_async_node *node;
};

void uep_async_node_init(struct uep_async_node *node, u64 uid)
{
	INIT_LIST_HEAD(&node->entry);
	node->uid = uid;
}

/* The node comes after @head if it has had nothing unread; q->lock is held. */
static void uep_async_pend(struct uep_async_node *node, enum ib_event_type event,
			   struct list_head *head)
{
	if (!node->pending)
		list_add(&node->entry, head);
	node->pending |= BIT(event);
}

/* Any context. */
void uep_async_post(struct uep_async_queue *q, struct uep_async_node *node,
		    enum ib_event_type event)
{
	unsigned long flags;

	/* Newer kernels may have events that a bit mask has no place for. */
	if (event >= BITS_PER_TYPE(node->pending))
		return;
	spin_lock_irqsave(&q->lock, flags);
	if (!node->closed)
		uep_async_pend(node, event, q->q.records.prev);
	spin_unlock_irqrestore(&q->lock, flags);
	uep_queue_wake(&q->q);
}

/* Drops unread events, and those that may still come. Returns the number of read ones. */
u32 uep_async_purge(struct uep_async_queue *q, struct uep_async_node *node)
{
	struct uep_async_taken *taken;
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

/* uep_async_settle() follows if there was one. */
static bool uep_async_take(struct uep_async_queue *q,
			   struct uep_async_taken *taken,
			   struct rdma_ep_async_event *rec)
{
	struct uep_async_node *node;

	spin_lock_irq(&q->lock);
	node = list_first_entry_or_null(&q->q.records, struct uep_async_node, entry);
	if (node) {
		rec->event = __ffs(node->pending);
		rec->uid = node->uid;
		node->reported++;
		node->pending &= node->pending - 1;
		if (node->pending)
			list_move_tail(&node->entry, &q->q.records);
		else
			list_del(&node->entry);
		taken->node = node;
		list_add(&taken->entry, &q->taken);
	}
	spin_unlock_irq(&q->lock);
	return node;
}

/*
 * The user has the event, or it is the next one again. Not if its object has gone
 * meanwhile, with this one counted as read.
 */
static void uep_async_settle(struct uep_async_queue *q,
			     struct uep_async_taken *taken,
			     enum ib_event_type event, bool delivered)
{
	spin_lock_irq(&q->lock);
	list_del(&taken->entry);
	if (!delivered && taken->node) {
		taken->node->reported--;
		uep_async_pend(taken->node, event, &q->q.records);
	}
	spin_unlock_irq(&q->lock);
	if (!delivered)
		uep_queue_wake(&q->q);
}

/* Most faults are found out before an event is taken: its object may be destroyed meanwhile. */
static int uep_async_deliver(struct uep_queue *uq, char __user *buf)
{
	struct uep_async_queue *q = container_of(uq, struct uep_async_queue, q);
	struct rdma_ep_async_event rec = {};
	struct uep_async_taken taken;
	bool delivered;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_async_take(q, &taken, &rec))
		return -EAGAIN;
	delivered = !copy_to_user(buf, &rec, sizeof(rec));
	uep_async_settle(q, &taken, rec.event, delivered);
	return delivered ? 0 : -EFAULT;
}

static const struct uep_queue_ops uep_async_ops = {
	.name = "[rdma_ep_async]",
	.size = sizeof(struct rdma_ep_async_event),
	.deliver = uep_async_deliver,
};

/* Of no session: a file may outlive that. */
struct uep_async_queue *uep_async_create(void)
{
	struct uep_async_queue *q = uep_queue_alloc(NULL, &uep_async_ops, sizeof(*q));

	if (IS_ERR(q))
		return q;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->taken);
	return q;
}
