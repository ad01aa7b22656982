// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event channels: the ids that report to them, and the files that CM events are read from.
 * User memory is only touched with an event off the queue and no lock held, so that a
 * reader whose copy faults delays no other task.
 */
#include <linux/uaccess.h>
#include <rdma/ib_cm.h>

#include "cm.h"

/*
 * Before many ids are destroyed, with a session or a channel: answers a connection request
 * over iWARP, in the event queue of a listener or with an id of its own. InfiniBand's CM
 * answers when the id is destroyed, one request after the other: drivers of Linux 6.1 may
 * lose MADs if several are in flight when the route is removed.
 */
void uep_id_refuse(struct uep_obj *obj)
{
	struct uep_id *id = container_of(obj, struct uep_id, obj);
	const struct rdma_cm_id *cm_id = id->id.cm_id;

	uep_events_purge(id, NULL);
	if (ep_id_begin_bound(&id->id))
		return;
	if (id->id.request && rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
		ep_id_reject(&id->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	ep_id_end(&id->id);
}

/*
 * Destroys the ids of a channel whose file has been closed, as the stock stack does. It
 * answers requests first: another id of the same channel may wait for the answer.
 */
static void uep_channel_end_work(struct work_struct *work)
{
	struct uep_channel *chan = container_of(work, struct uep_channel, end_work);
	struct uep_session *s = chan->q.session;
	struct rdma_ep_cmd_destroy out;
	struct uep_id *id, *next;
	LIST_HEAD(ids);

	down_read(&s->ending);
	do {
		spin_lock(&s->ev_lock);
		/* uep_session_release_work() destroys the ids of a dead session. */
		id = s->dead ? NULL :
		     list_first_entry_or_null(&chan->ids, struct uep_id, chan_entry);
		if (id && uep_obj_claim(&id->obj)) {
			id->chan_ends = true;
			list_move_tail(&id->chan_entry, &ids);
		} else if (id) {
			list_del_init(&id->chan_entry);
		}
		spin_unlock(&s->ev_lock);
		cond_resched();
	} while (id);
	list_for_each_entry(id, &ids, chan_entry)
		uep_id_refuse(&id->obj);
	list_for_each_entry_safe(id, next, &ids, chan_entry)
		uep_obj_end(&id->obj, &out);
	up_read(&s->ending);
	uep_queue_put(&chan->q);
}

/* Drops ev_lock, and destroys the ids of @chan if it is closed: one may have come to it. */
static void uep_channel_unlock(struct uep_session *s, struct uep_channel *chan)
	__releases(&s->ev_lock)
{
	bool end = chan && chan->closed && !list_empty(&chan->ids) && !s->dead;

	if (end)
		kref_get(&chan->q.ref);
	spin_unlock(&s->ev_lock);
	if (!end)
		return;
	/* The work item has a reference of its own, and may drop it at once. */
	kref_get(&chan->q.ref);
	if (!uep_session_run(s, &chan->end_work))
		uep_queue_put(&chan->q);
	uep_queue_put(&chan->q);
}

/* Publishes the id, and returns its channel. Holds ev_lock. */
static struct uep_channel *uep_id_publish_locked(struct uep_id *id)
{
	uep_obj_publish(&id->obj);
	list_add_tail(&id->chan_entry, &id->chan->ids);
	return id->chan;
}

void uep_id_publish(struct uep_obj *obj)
{
	spin_lock(&obj->session->ev_lock);
	uep_channel_unlock(obj->session,
			   uep_id_publish_locked(container_of(obj, struct uep_id, obj)));
}

/* The channel's end skipped the claimed id if it came meanwhile: the id ends with it now. */
void uep_id_unclaim(struct uep_obj *obj)
{
	struct uep_id *id = container_of(obj, struct uep_id, obj);
	struct uep_channel *chan = NULL;

	spin_lock(&obj->session->ev_lock);
	uep_obj_drop_claim(obj);
	if (list_empty(&id->chan_entry)) {
		chan = id->chan;
		list_add_tail(&id->chan_entry, &chan->ids);
	}
	uep_channel_unlock(obj->session, chan);
}

/*
 * Moves the id with its unread events. The reference to @chan passes to the id; returns the
 * old channel with the id's reference.
 */
static struct uep_channel *uep_channel_move(struct uep_id *id, struct uep_channel *chan,
					    u32 *reported)
{
	struct uep_session *s = id->obj.session;
	struct uep_channel *old;
	struct uep_event *ev;

	spin_lock(&s->ev_lock);
	old = id->chan;
	id->chan = chan;
	/* With chan_ends, the entry is in the list of uep_channel_end_work(). */
	if (!list_empty(&id->chan_entry) && !id->chan_ends)
		list_move_tail(&id->chan_entry, &chan->ids);
	if (old != chan)
		list_for_each_entry(ev, &id->events, own)
			list_move_tail(&ev->entry, &chan->q.records);
	*reported = id->events_reported;
	if (!list_empty(&chan->q.records))
		uep_queue_wake(&chan->q);
	uep_channel_unlock(s, chan);
	return old;
}

static void uep_cmd_end_move(struct uep_cmd_step *step, bool commit)
{
	struct uep_id *id = step->obj;
	struct uep_channel *old = step->arg;
	u32 reported;

	if (!commit)
		old = uep_channel_move(id, old, &reported);
	uep_queue_put(&old->q);
	uep_obj_put(&id->obj);
}

/* Moves the id as a step of the command. */
void uep_cmd_move(struct uep_cmd *cmd, struct uep_id *id, struct uep_channel *chan, u32 *reported)
{
	uep_obj_get(&id->obj);
	uep_cmd_add_step(cmd, uep_cmd_end_move, id, uep_channel_move(id, chan, reported));
}

/*
 * Attaches the id's QP to the group before the event is read, as the stock library does. A killed
 * task may read the event without that.
 */
static void uep_event_attach(struct uep_event *ev)
{
	int ret;

	if (!ev->mcast || ev->rec.event != RDMA_CM_EVENT_MULTICAST_JOIN)
		return;
	ret = ep_id_attach_late(&ev->id->id, &ev->mcast->mc);
	if (ret && ret != -EINTR) {
		ev->rec.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		ev->rec.status = ret;
	}
}

/*
 * Takes the next event of the channel, or of the id's channel, counted as read, with a
 * reference to ev->id: the id may be destroyed before uep_event_read(), which follows. From
 * here on the id of a request reports to the same channel as its listener.
 */
static struct uep_event *uep_event_dequeue(struct uep_session *s, struct uep_channel *chan,
					   struct uep_id *id)
{
	struct uep_event *ev;

	spin_lock(&s->ev_lock);
	if (id)
		chan = id->chan;
	ev = list_first_entry_or_null(&chan->q.records, struct uep_event, entry);
	if (ev) {
		list_del(&ev->entry);
		list_del(&ev->own);
		uep_event_uncount(ev);
		ev->id->events_reported++;
		if (ev->mcast)
			ev->mcast->events_reported++;
		if (ev->child) {
			atomic_inc(&ev->id->id.backlog);
			kref_get(&chan->q.ref);
			ev->child->chan = chan;
		}
		uep_obj_get(&ev->id->obj);
	}
	spin_unlock(&s->ev_lock);
	if (ev)
		uep_event_attach(ev);
	return ev;
}

/*
 * Makes the event the next one again. Returns the channel that its child reported to, with a
 * reference, or NULL. Holds ev_lock.
 */
static struct uep_channel *uep_event_requeue(struct uep_event *ev)
{
	struct uep_channel *old = NULL;
	struct uep_id *id = ev->id;

	uep_event_count(ev, true);
	if (ev->child) {
		atomic_dec(&id->id.backlog);
		swap(old, ev->child->chan);
	}
	list_add(&ev->entry, &id->chan->q.records);
	list_add(&ev->own, &id->events);
	uep_queue_wake(&id->chan->q);
	return old;
}

/* Ends the reading of an event: publishes its child, or, if not delivered, requeues it. */
static void uep_event_read(struct uep_event *ev, bool delivered)
{
	struct uep_channel *chan = NULL, *old = NULL;
	struct uep_id *id = ev->id;
	struct uep_session *s = id->obj.session;

	spin_lock(&s->ev_lock);
	if (delivered) {
		/* uep_session_release_work() does not see ids that are published after it. */
		if (ev->child && !s->dead) {
			chan = uep_id_publish_locked(ev->child);
			ev->child = NULL;
		}
	} else {
		id->events_reported--;
		if (ev->mcast)
			ev->mcast->events_reported--;
		if (!uep_event_stale(ev)) {
			old = uep_event_requeue(ev);
			ev = NULL;
		}
	}
	uep_channel_unlock(s, chan);
	if (old)
		uep_queue_put(&old->q);
	if (ev)
		uep_event_free(ev);
	uep_obj_put(&id->obj);
}

static int uep_channel_deliver(struct uep_queue *q, char __user *buf)
{
	struct uep_event *ev = uep_event_dequeue(q->session,
						 container_of(q, struct uep_channel, q), NULL);
	bool delivered;

	if (!ev)
		return -EAGAIN;
	delivered = !uep_event_to_user(buf, ev);
	uep_event_read(ev, delivered);
	return delivered ? 0 : -EFAULT;
}

static void uep_channel_closed(struct uep_queue *q)
{
	struct uep_channel *chan = container_of(q, struct uep_channel, q);

	spin_lock(&q->session->ev_lock);
	chan->closed = true;
	uep_channel_unlock(q->session, chan);
}

static const struct uep_queue_ops uep_channel_ops = {
	.name = "[rdma_ep_event]",
	.size = sizeof(struct rdma_ep_channel_event),
	.deliver = uep_channel_deliver,
	.closed = uep_channel_closed,
};

static void uep_cmd_end_event(struct uep_cmd_step *step, bool commit)
{
	uep_event_read(step->obj, commit);
}

/*
 * Takes the next event as a step of the command, as read(2) of the file would, with the
 * same wait. NULL if read(2) would neither wait nor succeed. No lock of an id is held
 * meanwhile, and the session does not end: the command has its file.
 */
struct uep_event *uep_cmd_await_event(struct uep_cmd *cmd, int fd)
{
	struct file *file = fget(fd);
	struct uep_event *ev = NULL;
	struct uep_channel *chan;
	int ret;

	if (!file)
		return NULL;
	chan = uep_queue_of_file(file, cmd->s, &uep_channel_ops);
	if (!chan)
		goto out;
	while (!(ev = uep_event_dequeue(cmd->s, chan, NULL)) && !(file->f_flags & O_NONBLOCK)) {
		ret = wait_event_interruptible(chan->q.wait,
					       !list_empty_careful(&chan->q.records) ||
					       uep_owner_ended(uep_cmd_owner(cmd)));
		if (!ret && uep_owner_ended(uep_cmd_owner(cmd)))
			ret = -EBADF;
		if (ret) {
			ev = ERR_PTR(ret);
			goto out;
		}
	}
	if (ev)
		uep_cmd_add_step(cmd, uep_cmd_end_event, ev, NULL);
out:
	fput(file);
	return ev;
}

/* Takes the next event of the id's channel as a step of the command. Or NULL */
struct uep_event *uep_cmd_dequeue_event(struct uep_cmd *cmd, struct uep_id *id)
{
	struct uep_event *ev = uep_event_dequeue(cmd->s, NULL, id);

	if (ev)
		uep_cmd_add_step(cmd, uep_cmd_end_event, ev, NULL);
	return ev;
}

/* @chan: or ERR_PTR, which is returned */
static struct uep_channel *uep_channel_init(struct uep_channel *chan, bool private)
{
	if (IS_ERR(chan))
		return chan;
	INIT_LIST_HEAD(&chan->ids);
	INIT_WORK(&chan->end_work, uep_channel_end_work);
	chan->private = private;
	return chan;
}

/* Creates a channel with a file. Returns it with a reference of the caller. */
static struct uep_channel *uep_channel_create(struct uep_cmd *cmd, s32 *fd, bool private)
{
	return uep_channel_init(uep_queue_create(cmd, &uep_channel_ops,
						 sizeof(struct uep_channel), fd), private);
}

/* Allocates a channel without a file: OPEN_QUEUE makes one. */
struct uep_channel *uep_channel_alloc(struct uep_session *s)
{
	return uep_channel_init(uep_queue_alloc(s, &uep_channel_ops, sizeof(struct uep_channel)),
				false);
}

/* Returns the channel that a command names or creates, with a reference. */
struct uep_channel *uep_channel_for(struct uep_cmd *cmd, u32 flags, s32 *fd)
{
	struct uep_channel *chan;

	if (flags & RDMA_EP_ID_PRIVATE_CHANNEL)
		return uep_channel_create(cmd, fd, true);
	chan = uep_queue_find(cmd->s, *fd, &uep_channel_ops);
	return chan ? chan : ERR_PTR(-EBADF);
}

/* The id's channel, with a reference, or NULL: the request is unread. */
struct uep_queue *uep_id_queue(struct uep_id *id)
{
	struct uep_session *s = id->obj.session;
	struct uep_queue *q = NULL;

	spin_lock(&s->ev_lock);
	if (id->chan) {
		q = &id->chan->q;
		kref_get(&q->ref);
	}
	spin_unlock(&s->ev_lock);
	return q;
}

int uep_create_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_fd *arg = cmd->arg;
	struct uep_channel *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_channel_create(cmd, &arg->fd, false);
	if (!IS_ERR(chan))
		uep_queue_put(&chan->q);
	return PTR_ERR_OR_ZERO(chan);
}
