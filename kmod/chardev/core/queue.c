// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are read by record: event channels, completion channels and queues of
 * asynchronous events.
 */
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "core.h"

static bool uep_queue_ready(const struct uep_queue *q)
{
	return READ_ONCE(q->dead) || !list_empty_careful(&q->records);
}

/* Reads whole records: at least one, and no more than are there. */
static ssize_t uep_queue_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct uep_queue *q = file->private_data;
	size_t size = q->ops->size;
	ssize_t done = 0;
	int ret = -EINVAL;

	while (len - done >= size) {
		ret = READ_ONCE(q->dead) ? -EIO : q->ops->deliver(q, buf + done);
		if (!ret) {
			done += size;
			if (signal_pending(current))
				break;
			cond_resched();
			continue;
		}
		if (ret != -EAGAIN || done || (file->f_flags & O_NONBLOCK))
			break;
		if (wait_event_interruptible(q->wait, uep_queue_ready(q)))
			return -ERESTARTSYS;
	}
	return done ? done : ret;
}

static __poll_t uep_queue_poll(struct file *file, poll_table *wait)
{
	struct uep_queue *q = file->private_data;

	poll_wait(file, &q->wait, wait);
	if (READ_ONCE(q->dead))
		return EPOLLERR | EPOLLHUP;
	return list_empty_careful(&q->records) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static int uep_queue_release(struct inode *inode, struct file *file)
{
	struct uep_queue *q = file->private_data;

	if (q->ops->closed)
		q->ops->closed(q);
	uep_queue_put(q);
	return 0;
}

static const struct file_operations uep_queue_fops = {
	.owner = THIS_MODULE,
	.read = uep_queue_read,
	.poll = uep_queue_poll,
	.release = uep_queue_release,
};

/* @s: session, or NULL. @size: of the structure, which begins with a struct uep_queue */
void *uep_queue_alloc(struct uep_session *s, const struct uep_queue_ops *ops, size_t size)
{
	struct uep_queue *q;
	int ret;

	ret = s ? uep_charge_file(s) : 0;
	if (ret)
		return ERR_PTR(ret);
	q = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!q) {
		if (s)
			uep_uncharge_file(s);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&q->ref);
	q->ops = ops;
	INIT_LIST_HEAD(&q->records);
	init_waitqueue_head(&q->wait);
	spin_lock_init(&q->lock);
	if (s) {
		uep_session_get(s);
		q->session = s;
		spin_lock(&s->ev_lock);
		list_add(&q->entry, &s->queues);
		spin_unlock(&s->ev_lock);
	}
	return q;
}

static void uep_queue_free(struct kref *ref)
{
	struct uep_queue *q = container_of(ref, struct uep_queue, ref);
	struct uep_session *s = q->session;

	/* The owner of a record holds a reference, or purges the record first. */
	WARN_ON_ONCE(!list_empty(&q->records));
	if (s) {
		spin_lock(&s->ev_lock);
		list_del(&q->entry);
		spin_unlock(&s->ev_lock);
		uep_uncharge_file(s);
		uep_session_put(s);
	}
	kfree_rcu(q, rcu);
}

void uep_queue_put(struct uep_queue *q)
{
	kref_put(&q->ref, uep_queue_free);
}

void uep_queue_kill(struct uep_queue *q)
{
	WRITE_ONCE(q->dead, true);
	wake_up_poll(&q->wait, EPOLLERR | EPOLLHUP);
}

/* Creates a file that reads the queue. Returns its descriptor. */
int uep_queue_add_file(struct uep_cmd *cmd, struct uep_queue *q)
{
	int fd;

	kref_get(&q->ref);
	fd = uep_cmd_add_file(cmd, q->ops->name, &uep_queue_fops, q);
	if (fd < 0)
		uep_queue_put(q);
	return fd;
}

/* Creates a queue with a file. Returns it with a reference of the caller. */
void *uep_queue_create(struct uep_cmd *cmd, const struct uep_queue_ops *ops, size_t size, s32 *fd)
{
	struct uep_queue *q = uep_queue_alloc(cmd->s, ops, size);
	int ret;

	if (IS_ERR(q))
		return q;
	ret = uep_queue_add_file(cmd, q);
	if (ret < 0) {
		uep_queue_put(q);
		return ERR_PTR(ret);
	}
	*fd = ret;
	return q;
}

/* Returns the session's queue that the file reads, or NULL. @ops: of this kind; NULL: of any */
void *uep_queue_of_file(struct file *file, const struct uep_session *s,
			const struct uep_queue_ops *ops)
{
	struct uep_queue *q = file->private_data;

	if (file->f_op != &uep_queue_fops || q->session != s || (ops && q->ops != ops))
		return NULL;
	return q;
}

/* The same of the caller's descriptor, with a reference. */
void *uep_queue_find(struct uep_session *s, int fd, const struct uep_queue_ops *ops)
{
	struct file *file = fget(fd);
	struct uep_queue *q;

	if (!file)
		return NULL;
	q = uep_queue_of_file(file, s, ops);
	if (q)
		kref_get(&q->ref);
	fput(file);
	return q;
}
