// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event channels: the ids that report to them, and the files that CM events are read
 * from. User memory is only touched with an event off the queue and no lock held, so that a
 * reader whose copy faults holds up no other task.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_cm.h>

#include "cm.h"

/*
 * Before many ids are destroyed, in the tear-down of a session or a channel: answers a
 * connection request over iWARP, be it in the event queue of a listener or an id of its own.
 * InfiniBand's CM does that when the id is destroyed, one after the other: drivers of Linux
 * 6.1 may lose MADs if several are in flight when the route is removed.
 */
void uep_id_refuse(struct uep_obj *obj)
{
	struct uep_id *id = container_of(obj, struct uep_id, obj);
	const struct rdma_cm_id *cm_id = id->id.cm_id;

	uep_channel_purge(id, NULL);
	if (ep_id_begin_bound(&id->id))
		return;
	if (id->id.request && rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
		ep_id_reject(&id->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	ep_id_end(&id->id);
}

/*
 * The file is gone, and with it the ids that report to it, as on the stock stack. Requests
 * are answered first: an id of the same channel may wait for that.
 */
static void uep_channel_end_work(struct work_struct *work)
{
	struct uep_channel *chan = container_of(work, struct uep_channel, end_work);
	struct uep_session *s = chan->q.session;
	struct rdma_ep_destroy out;
	struct uep_id *id, *next;
	LIST_HEAD(ids);

	down_read(&s->ending);
	do {
		spin_lock(&s->ev_lock);
		/* Then the session ends them. */
		id = s->dead ? NULL : list_first_entry_or_null(&chan->ids, struct uep_id, of_chan);
		if (id && uep_obj_claim(&id->obj)) {
			id->chan_ends = true;
			list_move_tail(&id->of_chan, &ids);
		} else if (id) {
			list_del_init(&id->of_chan);
		}
		spin_unlock(&s->ev_lock);
		cond_resched();
	} while (id);
	list_for_each_entry(id, &ids, of_chan)
		uep_id_refuse(&id->obj);
	list_for_each_entry_safe(id, next, &ids, of_chan)
		uep_obj_end(&id->obj, &out);
	up_read(&s->ending);
	uep_queue_put(&chan->q);
}

static void uep_channel_end(struct uep_channel *chan)
{
	kref_get(&chan->q.ref);
	if (!uep_session_run(chan->q.session, &chan->end_work))
		uep_queue_put(&chan->q);
}

/* Drops ev_lock. @chan: an id has come to it, and ends if it is closed; or NULL */
static void uep_channel_unlock(struct uep_session *s, struct uep_channel *chan)
	__releases(&s->ev_lock)
{
	bool closed = chan && chan->closed;

	if (closed)
		kref_get(&chan->q.ref);
	spin_unlock(&s->ev_lock);
	if (closed) {
		uep_channel_end(chan);
		uep_queue_put(&chan->q);
	}
}

/* Makes the id the user's; ev_lock is held. Returns the channel that it has come to. */
static struct uep_channel *uep_id_publish_locked(struct uep_id *id)
{
	uep_obj_publish(&id->obj);
	list_add_tail(&id->of_chan, &id->chan->ids);
	return id->chan;
}

void uep_id_publish(struct uep_obj *obj)
{
	spin_lock(&obj->session->ev_lock);
	uep_channel_unlock(obj->session,
			   uep_id_publish_locked(container_of(obj, struct uep_id, obj)));
}

/* The task that was to destroy the id is killed: it ends with its channel after all. */
void uep_channel_unclaim(struct uep_id *id)
{
	struct uep_session *s = id->obj.session;
	struct uep_channel *chan = NULL;

	spin_lock(&s->ev_lock);
	uep_obj_unclaimed(&id->obj);
	if (list_empty(&id->of_chan)) {
		chan = id->chan;
		list_add_tail(&id->of_chan, &chan->ids);
	}
	uep_channel_unlock(s, chan);
}

/*
 * Moves the id with its unread events. @chan: reference, which the id takes.
 * Returns the old channel with the reference that the id had.
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
	/* One that ends with its channel is in a list of uep_channel_end_work(). */
	if (!list_empty(&id->of_chan) && !id->chan_ends)
		list_move_tail(&id->of_chan, &chan->ids);
	if (old != chan)
		list_for_each_entry(ev, &id->events, own) {
			list_move_tail(&ev->entry, &chan->q.records);
			/* It reported to @old, too: not the last reference. */
			if (ev->child)
				uep_queue_put(&uep_event_follow(ev, chan)->q);
		}
	*reported = id->events_reported;
	if (!list_empty(&chan->q.records))
		uep_queue_wake(&chan->q);
	uep_channel_unlock(s, chan);
	return old;
}

static void uep_moved(struct uep_cmd_step *step)
{
	struct uep_id *id = step->obj;

	uep_queue_put(step->arg);
	uep_obj_put(&id->obj);
}

static void uep_move_back(struct uep_cmd_step *step)
{
	u32 reported;

	step->arg = uep_channel_move(step->obj, step->arg, &reported);
	uep_moved(step);
}

static const struct uep_cmd_step_ops uep_move_ops = {
	.commit = uep_moved,
	.abort = uep_move_back,
};

/* Moves the id as part of the command: back again if that fails. */
void uep_cmd_move(struct uep_cmd *cmd, struct uep_id *id, struct uep_channel *chan, u32 *reported)
{
	uep_obj_get(&id->obj);
	uep_cmd_add_step(cmd, &uep_move_ops, id, uep_channel_move(id, chan, reported));
}

/*
 * Takes the next event, counted as read. The id that it is about can go away
 * meanwhile, but not its memory: the event has a reference now.
 */
static struct uep_event *uep_channel_take_locked(struct uep_channel *chan)
{
	struct uep_event *ev;

	ev = list_first_entry_or_null(&chan->q.records, struct uep_event, entry);
	if (ev) {
		list_del(&ev->entry);
		list_del(&ev->own);
		uep_event_uncount(ev);
		ev->id->events_reported++;
		if (ev->mcast)
			ev->mcast->events_reported++;
		if (ev->child)
			atomic_inc(&ev->id->id.backlog);
		uep_obj_get(&ev->id->obj);
	}
	return ev;
}

static struct uep_event *uep_channel_take(struct uep_channel *chan)
{
	struct uep_session *s = chan->q.session;
	struct uep_event *ev;

	spin_lock(&s->ev_lock);
	ev = uep_channel_take_locked(chan);
	spin_unlock(&s->ev_lock);
	return ev;
}

/* The next event of the channel that the id reports to. */
static struct uep_event *uep_channel_take_of(struct uep_id *id)
{
	struct uep_session *s = id->obj.session;
	struct uep_event *ev;

	spin_lock(&s->ev_lock);
	ev = uep_channel_take_locked(id->chan);
	spin_unlock(&s->ev_lock);
	return ev;
}

/* The event could not be delivered after all: it is the next one again. */
static void uep_channel_untake(struct uep_event *ev)
{
	struct uep_id *id = ev->id;
	struct uep_session *s = id->obj.session;
	struct uep_channel *old = NULL;
	bool stale;

	spin_lock(&s->ev_lock);
	stale = uep_event_stale(ev);
	id->events_reported--;
	if (ev->mcast)
		ev->mcast->events_reported--;
	if (!stale) {
		uep_event_count(ev, true);
		if (ev->child) {
			atomic_dec(&id->id.backlog);
			old = uep_event_follow(ev, id->chan);
		}
		list_add(&ev->entry, &id->chan->q.records);
		list_add(&ev->own, &id->events);
		uep_queue_wake(&id->chan->q);
	}
	spin_unlock(&s->ev_lock);
	if (old)
		uep_queue_put(&old->q);
	if (stale)
		uep_event_free(ev);
	uep_obj_put(&id->obj);
}

/*
 * The user has the event: its new id, if any, is his. Unless the session was
 * closed meanwhile: nobody would destroy an id that is published after that.
 */
static void uep_channel_delivered(struct uep_event *ev)
{
	struct uep_id *id = ev->id;
	struct uep_session *s = id->obj.session;
	struct uep_channel *chan = NULL;

	spin_lock(&s->ev_lock);
	if (ev->child && !s->dead) {
		chan = uep_id_publish_locked(ev->child);
		ev->child = NULL;
	}
	uep_channel_unlock(s, chan);
	uep_event_free(ev);
	uep_obj_put(&id->obj);
}

static int uep_channel_deliver(struct uep_queue *q, char __user *buf)
{
	struct uep_event *ev = uep_channel_take(container_of(q, struct uep_channel, q));

	if (!ev)
		return -EAGAIN;
	if (copy_to_user(buf, &ev->rec, sizeof(ev->rec))) {
		uep_channel_untake(ev);
		return -EFAULT;
	}
	uep_channel_delivered(ev);
	return 0;
}

static void uep_channel_closed(struct uep_queue *q)
{
	struct uep_channel *chan = container_of(q, struct uep_channel, q);
	struct uep_session *s = q->session;
	bool ids;

	spin_lock(&s->ev_lock);
	chan->closed = true;
	ids = !list_empty(&chan->ids) && !s->dead;
	spin_unlock(&s->ev_lock);
	if (ids)
		uep_channel_end(chan);
}

static const struct uep_queue_ops uep_channel_ops = {
	.name = "[rdma_ep_event]",
	.size = sizeof(struct rdma_ep_event),
	.deliver = uep_channel_deliver,
	.closed = uep_channel_closed,
};

/*
 * The next event as read(2) of the file would get it, with the same wait; NULL if that
 * would not wait or fail. Nothing of any id is held meanwhile, and the session can
 * not end: the command has its file.
 */
static struct uep_event *uep_channel_await(struct uep_session *s, int fd)
{
	struct file *file = fget(fd);
	struct uep_event *ev = NULL;
	struct uep_channel *chan;

	if (!file)
		return NULL;
	chan = uep_queue_of_file(file, s, &uep_channel_ops);
	if (!chan)
		goto out;
	while (!(ev = uep_channel_take(chan)) && !(file->f_flags & O_NONBLOCK)) {
		if (wait_event_interruptible(chan->q.wait, !list_empty_careful(&chan->q.records))) {
			ev = ERR_PTR(-ERESTARTSYS);
			break;
		}
	}
out:
	fput(file);
	return ev;
}

static void uep_cmd_event_delivered(struct uep_cmd_step *step)
{
	uep_channel_delivered(step->obj);
}

static void uep_cmd_event_untake(struct uep_cmd_step *step)
{
	uep_channel_untake(step->obj);
}

static const struct uep_cmd_step_ops uep_cmd_event_ops = {
	.commit = uep_cmd_event_delivered,
	.abort = uep_cmd_event_untake,
};

/* As uep_channel_await(), as part of the command: the event is put back if that fails. */
struct uep_event *uep_cmd_await_event(struct uep_cmd *cmd, int fd)
{
	struct uep_event *ev = uep_channel_await(cmd->s, fd);

	if (!IS_ERR_OR_NULL(ev))
		uep_cmd_add_step(cmd, &uep_cmd_event_ops, ev, NULL);
	return ev;
}

/* The next event of the channel that the id reports to, the same; or NULL. */
struct uep_event *uep_cmd_take_event(struct uep_cmd *cmd, struct uep_id *id)
{
	struct uep_event *ev = uep_channel_take_of(id);

	if (ev)
		uep_cmd_add_step(cmd, &uep_cmd_event_ops, ev, NULL);
	return ev;
}

/* Makes a channel with a file. Returns it with a reference of the caller's. */
static struct uep_channel *uep_channel_create(struct uep_cmd *cmd, s32 *fd)
{
	struct uep_channel *chan;

	chan = uep_queue_create(cmd, &uep_channel_ops, sizeof(*chan), fd);
	if (IS_ERR(chan))
		return chan;
	INIT_LIST_HEAD(&chan->ids);
	INIT_WORK(&chan->end_work, uep_channel_end_work);
	return chan;
}

/* The channel that a command names or wants made, with a reference. */
struct uep_channel *uep_channel_for(struct uep_cmd *cmd, u32 flags, s32 *fd)
{
	struct uep_channel *chan;

	if (flags & RDMA_EP_ID_PRIVATE_CHANNEL)
		return uep_channel_create(cmd, fd);
	chan = uep_queue_find(cmd->s, *fd, &uep_channel_ops);
	return chan ? chan : ERR_PTR(-EBADF);
}

int uep_create_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_create_fd *arg = cmd->arg;
	struct uep_channel *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_channel_create(cmd, &arg->fd);
	if (IS_ERR(chan))
		return PTR_ERR(chan);
	uep_queue_put(&chan->q);
	return 0;
}
