// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of contexts.
 *
 * Drivers raise these in any context and with their locks held, so nothing is
 * allocated for an event: each object has a node with one bit per event type.
 */
#include <linux/anon_inodes.h>
#include <linux/bitops.h>
#include <linux/poll.h>
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
	init_waitqueue_head(&q->wait);
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
	wake_up_poll(&q->wait, EPOLLERR | EPOLLHUP);
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
	wake_up_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
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

static bool uep_async_ready(struct uep_async_queue *q)
{
	return !list_empty_careful(&q->nodes) || READ_ONCE(q->dead);
}

static ssize_t uep_async_read(struct file *file, char __user *buf, size_t len,
			      loff_t *pos)
{
	struct uep_async_queue *q = file->private_data;
	struct rdma_ep_async_event rec = {};
	ssize_t done = 0;

	if (len < sizeof(rec))
		return -EINVAL;
	/* Faults are found out before an event is taken, as far as can be. */
	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	while (len - done >= sizeof(rec)) {
		if (READ_ONCE(q->dead))
			return done ? done : -EIO;
		if (uep_async_take(q, &rec)) {
			if (copy_to_user(buf + done, &rec, sizeof(rec)))
				return done ? done : -EFAULT;
			done += sizeof(rec);
			continue;
		}
		if (done)
			break;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(q->wait, uep_async_ready(q)))
			return -ERESTARTSYS;
	}
	return done;
}

static __poll_t uep_async_poll(struct file *file, poll_table *wait)
{
	struct uep_async_queue *q = file->private_data;

	poll_wait(file, &q->wait, wait);
	if (READ_ONCE(q->dead))
		return EPOLLERR | EPOLLHUP;
	return list_empty_careful(&q->nodes) ? 0 : EPOLLIN | EPOLLRDNORM;
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
