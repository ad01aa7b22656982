// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events and the channels that they go to.
 *
 * The events of a channel with a callback are queued as others are, and the channel's work
 * item reads them. So a callback runs without a lock of rdma_cm.
 */
#include <linux/slab.h>

#include "ulp.h"

static void ulp_channel_work(struct work_struct *work);

static struct rdma_ep_channel *ulp_channel_new(rdma_ep_event_fn fn, void *context)
{
	struct rdma_ep_channel *chan;

	chan = kzalloc(sizeof(*chan), GFP_KERNEL);
	if (!chan)
		return NULL;
	refcount_set(&chan->ref, 1);
	spin_lock_init(&chan->lock);
	INIT_LIST_HEAD(&chan->events);
	init_waitqueue_head(&chan->wait);
	INIT_WORK(&chan->work, ulp_channel_work);
	chan->fn = fn;
	chan->context = context;
	return chan;
}

void ulp_channel_put(struct rdma_ep_channel *chan)
{
	if (chan && refcount_dec_and_test(&chan->ref))
		kfree(chan);
}

/**
 * rdma_ep_channel_create() - make a channel for events
 * @fn: called for each event; NULL: they are queued for rdma_ep_get_event()
 * @context: for @fn
 *
 * See rdma_create_event_channel(3).
 *
 * Return: the channel, to be destroyed with rdma_ep_channel_destroy(), or -ENOMEM
 */
struct rdma_ep_channel *rdma_ep_channel_create(rdma_ep_event_fn fn, void *context)
{
	struct rdma_ep_channel *chan;
	int ret;

	ret = ulp_check_context(NULL, false, _RET_IP_);
	if (ret)
		return ERR_PTR(ret);
	chan = ulp_channel_new(fn, context);
	return chan ?: ERR_PTR(-ENOMEM);
}
EXPORT_SYMBOL_GPL(rdma_ep_channel_create);

/**
 * rdma_ep_channel_destroy() - destroy a channel
 * @channel: channel; nothing is done if it is NULL or an ERR_PTR
 *
 * Tasks that wait in rdma_ep_get_event() get -ESHUTDOWN.
 *
 * Return: 0, -EBUSY if endpoints use it, or -EDEADLK
 */
int rdma_ep_channel_destroy(struct rdma_ep_channel *channel)
{
	bool busy;
	int ret;

	if (IS_ERR_OR_NULL(channel))
		return 0;
	ret = ulp_check_context(NULL, false, _RET_IP_);
	if (ret)
		return ret;
	spin_lock(&channel->lock);
	wait_event_cmd(channel->wait, !channel->taking,
		       spin_unlock(&channel->lock), spin_lock(&channel->lock));
	busy = channel->private || channel->nr_eps;
	if (!busy)
		channel->closed = true;
	spin_unlock(&channel->lock);
	if (busy)
		return -EBUSY;
	wake_up_all(&channel->wait);
	ulp_channel_put(channel);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_channel_destroy);

/* Frees an event that nothing will read. No endpoint has taken over its child. */
static void ulp_event_drop(struct ulp_event *ev)
{
	if (ev->pub.child) {
		ulp_ep_close(ev->pub.child);
		ulp_ep_release(ev->pub.child);
	}
	ulp_event_free(ev);
}

/* With the deliver lock of the event's endpoint held, whose channel it is */
static void ulp_event_queue(struct rdma_ep_channel *chan, struct ulp_event *ev)
{
	scoped_guard(spinlock, &chan->lock)
		list_add_tail(&ev->entry, &chan->events);
	wake_up_all(&chan->wait);
	if (!chan->fn)
		return;
	refcount_inc(&chan->ref);
	if (!queue_work(ulp_event_wq, &chan->work))
		ulp_channel_put(chan);
}

/* @events: of the endpoint, which come along */
static void ulp_attach(struct rdma_ep *ep, struct rdma_ep_channel *chan, struct list_head *events)
{
	struct ulp_event *ev, *next;

	refcount_inc(&chan->ref);
	scoped_guard(spinlock, &chan->lock)
		chan->nr_eps++;
	ep->channel = chan;
	list_for_each_entry_safe(ev, next, events, entry)
		ulp_event_queue(chan, ev);
}

/*
 * Takes the endpoint's unread events out of its channel, and it, too. @settled: not while a
 * callback runs for it. Returns whether it has been done.
 */
static bool ulp_leave(struct rdma_ep *ep, struct list_head *events, bool settled)
{
	struct rdma_ep_channel *chan = ep->channel;
	struct ulp_event *ev, *next;

	scoped_guard(spinlock, &chan->lock) {
		if (settled && chan->running == ep)
			return false;
		ep->channel = NULL;
		list_for_each_entry_safe(ev, next, &chan->events, entry)
			if (ev->pub.ep == ep)
				list_move_tail(&ev->entry, events);
		chan->nr_eps--;
		/* Tasks that wait there for a synchronous endpoint are to return. */
		if (chan->private)
			chan->closed = true;
	}
	wake_up_all(&chan->wait);
	return true;
}

/*
 * A connection request that is no longer queued gets the hold and the SRQ of an endpoint
 * with an owner. Called with the listener's deliver lock held, so that
 * its SRQ stays.
 */
static int ulp_claim_child(struct ulp_event *ev)
{
	struct rdma_ep *listener = ev->pub.ep, *child = ev->pub.child;
	int ret;

	if (test_bit(ULP_EP_DYING, &listener->flags))
		return -ESHUTDOWN;
	ret = ulp_ep_hold(child);
	if (ret)
		return ret;
	child->srq = listener->srq;
	if (child->srq)
		refcount_inc(&child->srq->ref);
	return 0;
}

/* Consumes @ev, unless this fails: the listener ends. Process context */
int ulp_deliver_request(struct rdma_ep *ep, struct ulp_event *ev, struct rdma_cm_id *child_id)
{
	guard(mutex)(&ep->deliver);
	/* The CM rejects for every error but -ENOMEM, which an abort may have. */
	if (ulp_check_alive(ep))
		return -ECONNABORTED;
	ep_id_adopt(&ev->pub.child->id, child_id);
	ulp_event_queue(ep->channel, ev);
	return 0;
}

/*
 * @status: why the endpoint is over since this event, or 0. Then nothing is reported after the
 * end: %RDMA_CM_EVENT_TIMEWAIT_EXIT, or a resolved route. Process context
 */
void ulp_report(struct rdma_ep *ep, const struct rdma_cm_event *event, int status)
{
	struct ulp_event *ev;

	guard(mutex)(&ep->deliver);
	if (test_bit(ULP_EP_DYING, &ep->flags) || (!status && test_bit(ULP_EP_OVER, &ep->flags)))
		return;
	ev = ulp_event_new(ep, event, status);
	if (ev)
		ulp_event_queue(ep->channel, ev);
}

/* Tasks that wait for events look at the endpoint again. */
void ulp_wake(struct rdma_ep *ep)
{
	guard(mutex)(&ep->deliver);
	if (ep->channel)
		wake_up_all(&ep->channel->wait);
}

/* Waits for the callback that runs for the endpoint. */
static void ulp_await_callback(struct rdma_ep_channel *chan, const struct rdma_ep *ep)
{
	wait_event(chan->wait, READ_ONCE(chan->running) != ep);
}

/* Ends the calls and events of an endpoint: on return no handler runs, and none will. */
void ulp_ep_close(struct rdma_ep *ep)
{
	struct rdma_ep_channel *chan;
	struct ulp_event *ev, *next;
	LIST_HEAD(events);

	set_bit(ULP_EP_DYING, &ep->flags);
	ulp_wake(ep);
	wake_up_all(&ep->slots_wait);
	ulp_exit(ep);
	wait_for_completion(&ep->unused);
	ep_id_destroy(&ep->id);

	scoped_guard(mutex, &ep->deliver) {
		chan = ep->channel;
		if (chan)
			ulp_leave(ep, &events, false);
	}
	list_for_each_entry_safe(ev, next, &events, entry)
		ulp_event_drop(ev);
	if (chan)
		ulp_await_callback(chan, ep);
	ulp_channel_put(chan);
}

/*
 * Takes the endpoint out of its channel, if it has one, when no callback runs for it. Returns
 * the channel, with the deliver lock held.
 */
static struct rdma_ep_channel *ulp_leave_settled(struct rdma_ep *ep, struct list_head *events)
{
	struct rdma_ep_channel *chan;

	for (;;) {
		mutex_lock(&ep->deliver);
		chan = ep->channel;
		if (!chan || ulp_leave(ep, events, true))
			return chan;
		refcount_inc(&chan->ref);
		mutex_unlock(&ep->deliver);
		ulp_await_callback(chan, ep);
		ulp_channel_put(chan);
	}
}

/* @new: channel, or NULL: a private one, which may not be had (-ENOMEM) */
int ulp_migrate(struct rdma_ep *ep, struct rdma_ep_channel *new)
{
	struct rdma_ep_channel *private = NULL, *old;
	LIST_HEAD(events);

	if (!new) {
		private = ulp_channel_new(NULL, NULL);
		if (!private)
			return -ENOMEM;
		private->private = true;
		new = private;
	}
	old = ulp_leave_settled(ep, &events);
	ulp_attach(ep, new, &events);
	mutex_unlock(&ep->deliver);
	ulp_channel_put(old);
	ulp_channel_put(private);
	return 0;
}

static struct ulp_event *ulp_channel_pop(struct rdma_ep_channel *chan, int *closed)
{
	struct ulp_event *ev;

	spin_lock(&chan->lock);
	*closed = chan->closed ? -ESHUTDOWN : 0;
	ev = list_first_entry_or_null(&chan->events, struct ulp_event, entry);
	if (ev) {
		list_del(&ev->entry);
		/* The channel stays until its endpoint is there, or is not. */
		if (ev->pub.child)
			chan->taking++;
		if (chan->fn)
			WRITE_ONCE(chan->running, ev->pub.ep);
	}
	spin_unlock(&chan->lock);
	return ev;
}

/* Is there something to take? */
static bool ulp_event_taken(struct ulp_event *ev, struct rdma_ep_channel *chan)
{
	struct rdma_ep *ep = ev->pub.ep;
	int ret;

	if (!ev->pub.child)
		return true;
	atomic_inc(&ep->id.backlog);
	scoped_guard(mutex, &ep->deliver) {
		ret = ulp_claim_child(ev);
		/*
		 * Its events follow the request, but not into an endpoint's own channel. Where they
		 * are, in a channel of its own, no callback runs that ulp_migrate() would wait for.
		 */
		if (!ret && !chan->private)
			ulp_migrate(ev->pub.child, chan);
	}
	scoped_guard(spinlock, &chan->lock)
		chan->taking--;
	wake_up_all(&chan->wait);
	return !ret;
}

static void ulp_channel_call(struct rdma_ep_channel *chan, struct ulp_event *ev)
{
	struct ulp_callback cb;

	if (ulp_event_taken(ev, chan)) {
		ulp_callback_begin(&cb, ev->pub.ep);
		chan->fn(&ev->pub, chan->context);
		ulp_callback_end(&cb);
		ulp_event_free(ev);
	} else {
		ulp_event_drop(ev);
	}
	scoped_guard(spinlock, &chan->lock)
		WRITE_ONCE(chan->running, NULL);
	wake_up_all(&chan->wait);
}

static void ulp_channel_work(struct work_struct *work)
{
	struct rdma_ep_channel *chan = container_of(work, struct rdma_ep_channel, work);
	struct ulp_event *ev;
	int closed;

	guard(ulp_noio)();
	while ((ev = ulp_channel_pop(chan, &closed)))
		ulp_channel_call(chan, ev);
	ulp_channel_put(chan);
}

/*
 * The end of the endpoint has been reported: its event is the last one, but another task may have
 * taken it. Returns the next event, or NULL: nothing follows.
 */
static struct ulp_event *ulp_take_last(struct rdma_ep *ep, struct rdma_ep_channel *chan, int *error)
{
	struct ulp_event *ev;

	/* On the way into the channel */
	mutex_lock(&ep->deliver);
	mutex_unlock(&ep->deliver);
	ev = ulp_channel_pop(chan, error);
	if (!ev && !*error)
		*error = READ_ONCE(ep->status);
	return ev;
}

/**
 * ulp_take - wait for the next event
 * @ep: synchronous endpoint that waits for one of its own, or NULL
 * @chan: where
 * @left: jiffies to wait, in and out
 *
 * Return: the event, -ETIMEDOUT, -EINTR, -ESHUTDOWN, -ENODEV, or why @ep is over
 */
struct ulp_event *ulp_take(struct rdma_ep *ep, struct rdma_ep_channel *chan, long *left)
{
	struct ulp_event *ev;
	int ret, error;

	do {
		ev = NULL;
		error = 0;
		ret = ulp_wait(chan->wait,
			       (ep && (error = ulp_check_alive(ep))) ||
			       (ev = ulp_channel_pop(chan, &error)) || error ||
			       (ep && test_bit(ULP_EVENT_OVER, &ep->used_events)),
			       *left);
		if (!ret && !ev && !error)
			ev = ulp_take_last(ep, chan, &error);
		if (ret || !ev)
			return ERR_PTR(ret ?: error);
		if (ulp_event_taken(ev, chan))
			return ev;
		ulp_event_drop(ev);
	} while (1);
}

/* A synchronous endpoint's channel with a reference, else NULL. */
struct rdma_ep_channel *ulp_sync_channel(struct rdma_ep *ep)
{
	guard(mutex)(&ep->deliver);
	if (!ep->channel->private)
		return NULL;
	refcount_inc(&ep->channel->ref);
	return ep->channel;
}

void ulp_set_last(struct rdma_ep *ep, struct ulp_event *ev)
{
	ulp_event_free(xchg(&ep->last, ev));
}

/* A synchronous endpoint waits for an event, or the end. Nothing to do for others. */
int ulp_await(struct rdma_ep *ep, enum rdma_cm_event_type type, unsigned int timeout_ms)
{
	CLASS(ulp_sync_channel, chan)(ep);
	long left = ulp_timeout(timeout_ms);
	struct ulp_event *ev;
	int ret;

	if (!chan)
		return 0;
	do {
		ev = ulp_take(ep, chan, &left);
		if (IS_ERR(ev))
			return PTR_ERR(ev);
		ret = ev->pub.cm.event == type ? 0 : ev->pub.status ?: 1;
		ulp_set_last(ep, ev);
	} while (ret > 0);
	return ret;
}

/**
 * rdma_ep_get_event() - wait for an event
 * @channel: channel without a callback: one of the caller's, or that of a
 *	synchronous endpoint
 * @timeout_ms: timeout
 *
 * Events of an endpoint come in the order in which they happened. See
 * rdma_get_cm_event(3).
 *
 * Return: the event, which must be given back with rdma_ep_ack_event(), or
 * * -ETIMEDOUT: none has come
 * * -EINVAL: the channel has a callback
 */
struct rdma_ep_cm_event *rdma_ep_get_event(struct rdma_ep_channel *channel, unsigned int timeout_ms)
{
	long left = ulp_timeout(timeout_ms);
	struct ulp_event *ev;
	int ret;

	if (IS_ERR_OR_NULL(channel) || channel->fn)
		return ERR_PTR(-EINVAL);
	ret = ulp_check_context(NULL, false, _RET_IP_);
	if (ret)
		return ERR_PTR(ret);
	refcount_inc(&channel->ref);
	ev = ulp_take(NULL, channel, &left);
	ulp_channel_put(channel);
	return IS_ERR(ev) ? ERR_CAST(ev) : &ev->pub;
}
EXPORT_SYMBOL_GPL(rdma_ep_get_event);

/**
 * rdma_ep_ack_event() - give an event back
 * @event: from rdma_ep_get_event(); nothing is done if it is NULL or an ERR_PTR
 *
 * Frees its private data, but not its child, which belongs to the receiver of the event.
 *
 * Context: any but interrupts
 */
void rdma_ep_ack_event(struct rdma_ep_cm_event *event)
{
	if (!IS_ERR_OR_NULL(event))
		ulp_event_free(container_of(event, struct ulp_event, pub));
}
EXPORT_SYMBOL_GPL(rdma_ep_ack_event);
