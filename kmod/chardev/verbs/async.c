// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of contexts.
 *
 * Drivers raise these in any context and with their locks held, so nothing is
 * allocated for an event: each object has a node with one bit per event type.
 */
#include <linux/anon_inodes.h>
#include <linux/bitops.h>
#include <linux/slab.h>
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

struct uep_async_queue *uep_async_create(void)
{
	struct uep_async_queue *q;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	kref_init(&q->ref);
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->nodes);
	INIT_LIST_HEAD(&q->taken);
	init_waitqueue_head(&q->wait.head);
	return q;
}

static void uep_async_free(struct kref *ref)
{
	kfree(container_of(ref, struct uep_async_queue, ref));
}

void uep_async_put(struct uep_async_queue *q)
{
	kref_put(&q->ref, uep_async_free);
}

/* The context is gone: its files read as -EIO from here on. */
void uep_async_kill(struct uep_async_queue *q)
{
	spin_lock_irq(&q->lock);
	q->dead = true;
	spin_unlock_irq(&q->lock);
	wake_up_poll(&q->wait.head, EPOLLERR | EPOLLHUP);
}

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
		uep_async_pend(node, event, q->nodes.prev);
	spin_unlock_irqrestore(&q->lock, flags);
	wake_up_poll(&q->wait.head, EPOLLIN | EPOLLRDNORM);
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
	node = list_first_entry_or_null(&q->nodes, struct uep_async_node,
					entry);
	if (node) {
		rec->event = __ffs(node->pending);
		rec->uid = node->uid;
		node->reported++;
		node->pending &= node->pending - 1;
		if (node->pending)
			list_move_tail(&node->entry, &q->nodes);
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
		uep_async_pend(taken->node, event, &q->nodes);
	}
	spin_unlock_irq(&q->lock);
	if (!delivered)
		wake_up_poll(&q->wait.head, EPOLLIN | EPOLLRDNORM);
}

/* Most faults are found out before an event is taken: its object may go meanwhile. */
static int uep_async_deliver(void *priv, char __user *buf)
{
	struct rdma_ep_async_event rec = {};
	struct uep_async_taken taken;
	bool delivered;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_async_take(priv, &taken, &rec))
		return -EAGAIN;
	delivered = !copy_to_user(buf, &rec, sizeof(rec));
	uep_async_settle(priv, &taken, rec.event, delivered);
	return delivered ? 0 : -EFAULT;
}

static struct uep_wait *uep_async_wait(void *priv)
{
	struct uep_async_queue *q = priv;

	return &q->wait;
}

static bool uep_async_dead(void *priv)
{
	struct uep_async_queue *q = priv;

	return READ_ONCE(q->dead);
}

static bool uep_async_empty(void *priv)
{
	struct uep_async_queue *q = priv;

	return list_empty_careful(&q->nodes);
}

static const struct uep_reader uep_async_reader = {
	.size = sizeof(struct rdma_ep_async_event),
	.wait = uep_async_wait,
	.dead = uep_async_dead,
	.empty = uep_async_empty,
	.deliver = uep_async_deliver,
};

static ssize_t uep_async_read(struct file *file, char __user *buf, size_t len,
			      loff_t *pos)
{
	return uep_read(file, buf, len, &uep_async_reader);
}

static __poll_t uep_async_poll(struct file *file, poll_table *wait)
{
	return uep_poll(file, wait, &uep_async_reader);
}

static int uep_async_release(struct inode *inode, struct file *file)
{
	uep_async_put(file->private_data);
	return 0;
}

static const struct file_operations uep_async_fops = {
	.owner = THIS_MODULE,
	.read = uep_async_read,
	.poll = uep_async_poll,
	.release = uep_async_release,
};

/* Makes a file that reads the queue. Returns its number. */
int uep_async_file(struct uep_cmd *cmd, struct uep_async_queue *q)
{
	int fd;

	kref_get(&q->ref);
	fd = uep_cmd_add_file(cmd, "[rdma_ep_async]", &uep_async_fops, q);
	if (fd < 0)
		uep_async_put(q);
	return fd;
}
