// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are read by record: event channels, completion channels and queues of
 * asynchronous events.
 */
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "core.h"

/* Readers that are woken before a handler of rdma_cm has its turn */
#define UEP_WAKE_BATCH	64

/* Until its owner has lost the session. */
static int uep_queue_deliver(struct uep_queue_file *qf, char __user *buf)
{
	struct uep_queue *q = qf->q;

	if (uep_owner_ended(qf->owner))
		return -EBADF;
	if (READ_ONCE(q->dead))
		return -EIO;
	/* Without the lock: an event that is being posted wakes the reader. */
	return list_empty_careful(&q->records) ? -EAGAIN : q->ops->deliver(q, buf);
}

static ssize_t uep_queue_read_all(struct file *file, char __user *buf, size_t len)
{
	struct uep_queue_file *qf = file->private_data;
	struct uep_queue *q = qf->q;
	size_t size = q->ops->size;
	ssize_t done = 0;
	int ret = -EINVAL;

	while (len - done >= size) {
		ret = uep_queue_deliver(qf, buf + done);
		if (!ret) {
			done += size;
			if (signal_pending(current))
				break;
			cond_resched();
			continue;
		}
		if (ret != -EAGAIN || done || (file->f_flags & O_NONBLOCK))
			break;
		if (wait_event_interruptible(q->wait, READ_ONCE(q->dead) ||
					     !list_empty_careful(&q->records) ||
					     uep_owner_ended(qf->owner)))
			return -ERESTARTSYS;
	}
	return done ? done : ret;
}

/* Reads whole records: at least one, and no more than are there. */
static ssize_t uep_queue_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct uep_queue_file *qf = file->private_data;
	ssize_t ret;

	if (!uep_owner_enter(qf->owner))
		return -EBADF;
	ret = uep_queue_read_all(file, buf, len);
	uep_owner_exit(qf->owner);
	return ret;
}

static __poll_t uep_queue_poll(struct file *file, poll_table *wait)
{
	struct uep_queue_file *qf = file->private_data;
	struct uep_queue *q = qf->q;

	poll_wait(file, &q->wait, wait);
	if (READ_ONCE(q->dead) || uep_owner_ended(qf->owner))
		return EPOLLERR | EPOLLHUP;
	return list_empty_careful(&q->records) ? 0 : EPOLLIN | EPOLLRDNORM;
}

/*
 * Sends SIGIO for one file of the queue, as a user may have any number of them, unless its owner
 * has lost the session.
 */
void uep_queue_signal(struct uep_queue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->async && !uep_owner_ended(q->async->owner))
		kill_fasync(&q->async->fasync, SIGIO, POLL_IN);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* O_ASYNC that is cleared leaves the file there: another thread may set it again meanwhile. */
static int uep_queue_fasync(int fd, struct file *file, int on)
{
	struct uep_queue_file *qf = file->private_data;
	struct uep_queue *q = qf->q;

	if (on) {
		spin_lock_irq(&q->lock);
		if (!uep_owner_ended(qf->owner))
			WRITE_ONCE(q->async, qf);
		spin_unlock_irq(&q->lock);
	}
	return fasync_helper(fd, file, on, &qf->fasync);
}

static void uep_queue_drop_async(struct uep_queue_file *qf)
{
	struct uep_queue *q = qf->q;

	spin_lock_irq(&q->lock);
	if (q->async == qf)
		WRITE_ONCE(q->async, NULL);
	spin_unlock_irq(&q->lock);
}

/* Counts a file of the queue, also one of a command that has not succeeded yet. */
static void uep_queue_count_file(struct uep_queue_file *qf)
{
	struct uep_queue *q = qf->q;

	spin_lock_irq(&q->lock);
	if (q->opener != qf->owner) {
		q->opener = qf->owner;
		q->nr_files = 0;
		q->seen = false;
	}
	q->nr_files++;
	spin_unlock_irq(&q->lock);
}

static void uep_queue_see_file(struct uep_queue_file *qf)
{
	struct uep_queue *q = qf->q;

	spin_lock_irq(&q->lock);
	q->seen |= q->opener == qf->owner;
	spin_unlock_irq(&q->lock);
}

/*
 * False: other files of the owner are left, or the file is of a command that has failed and the
 * owner had none.
 */
static bool uep_queue_uncount_file(struct uep_queue_file *qf)
{
	struct uep_queue *q = qf->q;
	bool last = false;

	spin_lock_irq(&q->lock);
	if (q->opener == qf->owner && !--q->nr_files) {
		last = q->seen;
		q->seen = false;
	}
	spin_unlock_irq(&q->lock);
	return last;
}

/* The close(2) of the last file of the session's owner. */
static void uep_queue_closed(struct uep_queue_file *qf)
{
	struct uep_queue *q = qf->q;

	if (!uep_queue_uncount_file(qf) || !q->ops->closed || !uep_owner_enter(qf->owner))
		return;
	if (!READ_ONCE(qf->owner->keep))
		q->ops->closed(q);
	uep_owner_exit(qf->owner);
}

static int uep_queue_release(struct inode *inode, struct file *file)
{
	struct uep_queue_file *qf = file->private_data;

	uep_queue_drop_async(qf);
	uep_queue_closed(qf);
	uep_queue_put(qf->q);
	uep_owner_put(qf->owner);
	kfree(qf);
	return 0;
}

static const struct file_operations uep_queue_fops = {
	.owner = THIS_MODULE,
	.read = uep_queue_read,
	.poll = uep_queue_poll,
	.fasync = uep_queue_fasync,
	.release = uep_queue_release,
};

/* @s: session, or NULL. @size: of the structure, which begins with a struct uep_queue */
void *uep_queue_alloc(struct uep_session *s, const struct uep_queue_ops *ops, size_t size)
{
	struct uep_queue *q;
	int ret;

	ret = s ? uep_charge_channel(s) : 0;
	if (ret)
		return ERR_PTR(ret);
	q = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!q) {
		if (s)
			uep_uncharge_channel(s);
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
		q->number = ++s->queue_number;
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
		uep_uncharge_channel(s);
		uep_session_put(s);
	}
	kfree_rcu(q, rcu);
}

/* @q may be NULL. */
void uep_queue_put(struct uep_queue *q)
{
	if (q)
		kref_put(&q->ref, uep_queue_free);
}

void uep_queue_kill(struct uep_queue *q)
{
	WRITE_ONCE(q->dead, true);
	wake_up_poll(&q->wait, EPOLLERR | EPOLLHUP);
	uep_queue_signal(q);
}

/*
 * Wakes the readers of all queues of a session. @kill: they find no session any more. Queues that
 * are created meanwhile do not matter. Users choose the number of queues, and handlers of rdma_cm
 * wait for the lock.
 */
void uep_queues_wake(struct uep_session *s, bool kill)
{
	struct uep_queue *q, *held = NULL, *last;
	u32 n = 0;

	spin_lock(&s->ev_lock);
	list_for_each_entry(q, &s->queues, entry) {
		if (kill)
			uep_queue_kill(q);
		else
			wake_up_poll(&q->wait, EPOLLERR | EPOLLHUP);
		/* One with a reference stays in the list. */
		if (++n % UEP_WAKE_BATCH || !kref_get_unless_zero(&q->ref))
			continue;
		spin_unlock(&s->ev_lock);
		last = held;
		held = q;
		uep_queue_put(last);
		cond_resched();
		spin_lock(&s->ev_lock);
	}
	spin_unlock(&s->ev_lock);
	uep_queue_put(held);
}

static void uep_queue_end_reopen(struct uep_cmd_step *step, bool commit)
{
	if (commit)
		uep_queue_see_file(step->obj);
}

/*
 * Creates a file that reads the queue. Returns its descriptor. @reopen: the queue has objects,
 * which stay if the command fails
 */
int uep_queue_add_file(struct uep_cmd *cmd, struct uep_queue *q, bool reopen)
{
	struct uep_queue_file *qf = kzalloc(sizeof(*qf), GFP_KERNEL_ACCOUNT);
	int fd;

	if (!qf)
		return -ENOMEM;
	qf->q = q;
	qf->owner = uep_cmd_owner(cmd);
	fd = uep_cmd_add_file(cmd, q->ops->name, &uep_queue_fops, qf, O_RDONLY);
	if (fd < 0) {
		kfree(qf);
		return fd;
	}
	kref_get(&q->ref);
	kref_get(&qf->owner->ref);
	uep_queue_count_file(qf);
	/* Its end comes before that of the file. */
	if (reopen)
		uep_cmd_add_step(cmd, uep_queue_end_reopen, qf, NULL);
	else
		uep_queue_see_file(qf);
	return fd;
}

/* Creates a queue with a file. Returns it with a reference of the caller. */
void *uep_queue_create(struct uep_cmd *cmd, const struct uep_queue_ops *ops, size_t size, s32 *fd)
{
	struct uep_queue *q = uep_queue_alloc(cmd->s, ops, size);
	int ret;

	if (IS_ERR(q))
		return q;
	ret = uep_queue_add_file(cmd, q, false);
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
	struct uep_queue_file *qf = file->private_data;

	if (file->f_op != &uep_queue_fops || qf->q->session != s || (ops && qf->q->ops != ops) ||
	    uep_owner_ended(qf->owner))
		return NULL;
	return qf->q;
}

/* As uep_queue_of_file(), for a descriptor of the caller and with a reference */
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
