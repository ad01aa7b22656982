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

struct uep_async_queue *uep_async_create(void)
{
	struct uep_async_queue *q;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	kref_init(&q->ref);
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->nodes);
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

/* Any context. */
void uep_async_post(struct uep_async_queue *q, struct uep_async_node *node,
		    enum ib_event_type event)
{
	unsigned long flags;

	/* Newer kernels may have events that a bit mask has no place for. */
	if (event >= BITS_PER_TYPE(node->pending))
		return;
	spin_lock_irqsave(&q->lock, flags);
	if (!node->closed) {
		if (!node->pending)
			list_add_tail(&node->entry, &q->nodes);
		node->pending |= BIT(event);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	wake_up_poll(&q->wait.head, EPOLLIN | EPOLLRDNORM);
}

/* Drops unread events, and those that may still come. Returns the number of read ones. */
u32 uep_async_purge(struct uep_async_queue *q, struct uep_async_node *node)
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

static bool uep_async_take(struct uep_async_queue *q,
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
	}
	spin_unlock_irq(&q->lock);
	return node;
}

/* Faults are found out before an event is taken: its object may go meanwhile. */
static int uep_async_deliver(void *priv, char __user *buf)
{
	struct rdma_ep_async_event rec = {};

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_async_take(priv, &rec))
		return -EAGAIN;
	return copy_to_user(buf, &rec, sizeof(rec)) ? -EFAULT : 0;
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
