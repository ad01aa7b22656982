// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events and the channels that they go to.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "ulp.h"

/* ------------------------------------------------------------------ */
/* Channels                                                           */
/* ------------------------------------------------------------------ */

struct rdma_ep_channel *ulp_channel_new(rdma_ep_event_fn fn, void *context)
{
	struct rdma_ep_channel *chan;

	chan = kzalloc(sizeof(*chan), GFP_KERNEL);
	if (!chan)
		return NULL;
	kref_init(&chan->ref);
	spin_lock_init(&chan->lock);
	INIT_LIST_HEAD(&chan->events);
	init_waitqueue_head(&chan->wait);
	chan->fn = fn;
	chan->context = context;
	return chan;
}

static void ulp_channel_free(struct kref *ref)
{
	kfree(container_of(ref, struct rdma_ep_channel, ref));
}

void ulp_channel_put(struct rdma_ep_channel *chan)
{
	kref_put(&chan->ref, ulp_channel_free);
}

void ulp_channel_wake(struct rdma_ep_channel *chan)
{
	/* After what the waiters look at has changed. */
	spin_lock(&chan->lock);
	spin_unlock(&chan->lock);
	wake_up_all(&chan->wait);
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
struct rdma_ep_channel *rdma_ep_channel_create(rdma_ep_event_fn fn,
					       void *context)
{
	struct rdma_ep_channel *chan;
	int ret;

	ret = ulp_check_context(NULL, _RET_IP_);
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
 * Who waits in rdma_ep_get_event() gets -ESHUTDOWN.
 *
 * Return: 0, -EBUSY if endpoints use it, or -EDEADLK
 */
int rdma_ep_channel_destroy(struct rdma_ep_channel *channel)
{
	bool busy;
	int ret;

	if (IS_ERR_OR_NULL(channel))
		return 0;
	ret = ulp_check_context(NULL, _RET_IP_);
	if (ret)
		return ret;
	spin_lock(&channel->lock);
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

/* ------------------------------------------------------------------ */
/* Events                                                             */
/* ------------------------------------------------------------------ */

struct ulp_event *ulp_event_new(struct rdma_ep *ep,
				const struct rdma_cm_event *cm, gfp_t gfp)
{
	/* The two kinds of parameters have it in the same place. */
	const void *data = cm->param.conn.private_data;
	u8 len = cm->param.conn.private_data_len;
	struct ulp_event *ev;

	BUILD_BUG_ON(offsetof(struct rdma_cm_event, param.conn.private_data) !=
		     offsetof(struct rdma_cm_event, param.ud.private_data));
	BUILD_BUG_ON(offsetof(struct rdma_cm_event, param.conn.private_data_len) !=
		     offsetof(struct rdma_cm_event, param.ud.private_data_len));
	if (!data)
		len = 0;
	ev = kzalloc(struct_size(ev, data, len), gfp);
	if (!ev)
		return NULL;
	kref_get(&ep->ref);
	ev->pub.ep = ep;
	ev->pub.cm = *cm;
	memcpy(ev->data, data, len);
	ev->pub.cm.param.conn.private_data = len ? ev->data : NULL;
	ev->pub.cm.param.conn.private_data_len = len;
	return ev;
}

/* What it brought has been taken. */
void ulp_event_free(struct ulp_event *ev)
{
	if (!ev)
		return;
	ulp_ep_put(ev->pub.ep);
	kfree(ev);
}

/* Nobody wants it any more. */
static void ulp_event_drop(struct ulp_event *ev)
{
	if (ev->pub.child)
		ulp_ep_end(ev->pub.child);
	ulp_event_free(ev);
}

static void ulp_events_drop(struct list_head *events)
{
	struct ulp_event *ev, *next;

	list_for_each_entry_safe(ev, next, events, entry)
		ulp_event_drop(ev);
}

/* Hands the event over, or queues it. Called with @ep->deliver held. */
static void ulp_event_pass(struct rdma_ep_channel *chan, struct ulp_event *ev)
{
	struct ulp_callback cb;

	if (chan->fn) {
		ulp_callback_begin(&cb);
		chan->fn(&ev->pub, chan->context);
		ulp_callback_end(&cb);
		ulp_event_free(ev);
		return;
	}
	spin_lock(&chan->lock);
	list_add_tail(&ev->entry, &chan->events);
	spin_unlock(&chan->lock);
	wake_up_all(&chan->wait);
}

static void ulp_attach(struct rdma_ep *ep, struct rdma_ep_channel *chan)
{
	kref_get(&chan->ref);
	spin_lock(&chan->lock);
	chan->nr_eps++;
	spin_unlock(&chan->lock);
	ep->channel = chan;
}

/*
 * Delivers an event and consumes it. Fails only for a connection request
 * (@child_id) that nobody would take, which is left as it is. Process context.
 */
int ulp_deliver(struct rdma_ep *ep, struct ulp_event *ev,
		struct rdma_cm_id *child_id)
{
	struct rdma_ep *child = ev->pub.child;
	struct rdma_ep_channel *chan;
	int ret = 0;

	mutex_lock(&ep->deliver);
	chan = ep->channel;
	if (test_bit(ULP_EP_DYING, &ep->flags))
		ret = -ESHUTDOWN;
	/* A callback takes it at once. */
	else if (child && chan->fn)
		ret = ulp_ep_hold(child, child_id);
	if (child && !ret) {
		ulp_attach(child, chan);
		ep_id_adopt(&child->id, child_id);
	}
	if (!ret)
		ulp_event_pass(chan, ev);
	else if (!child)
		ulp_event_free(ev);
	mutex_unlock(&ep->deliver);
	return ret;
}

/* Takes the endpoint's unread events out of its channel, and it, too. */
static struct rdma_ep_channel *ulp_leave(struct rdma_ep *ep,
					 struct list_head *events)
{
	struct rdma_ep_channel *chan = ep->channel;
	struct ulp_event *ev, *next;

	spin_lock(&chan->lock);
	list_for_each_entry_safe(ev, next, &chan->events, entry)
		if (ev->pub.ep == ep)
			list_move_tail(&ev->entry, events);
	chan->nr_eps--;
	/* Who waits there for a synchronous endpoint waits in vain. */
	if (chan->private && !chan->nr_eps)
		chan->closed = true;
	spin_unlock(&chan->lock);
	wake_up_all(&chan->wait);
	return chan;
}

/* Called when no more events come. */
void ulp_detach(struct rdma_ep *ep)
{
	struct rdma_ep_channel *chan;
	LIST_HEAD(events);

	mutex_lock(&ep->deliver);
	chan = ulp_leave(ep, &events);
	ep->channel = NULL;
	mutex_unlock(&ep->deliver);
	ulp_events_drop(&events);
	ulp_channel_put(chan);
}

/*
 * A connection request becomes its taker's. Returns false if its device is going
 * away: nobody is to hear of it.
 */
static bool ulp_event_taken(struct ulp_event *ev)
{
	if (!ev->pub.child)
		return true;
	atomic_inc(&ev->pub.ep->id.backlog);
	return ulp_ep_taken(ev->pub.child);
}

/* @new: channel, or NULL: a private one */
int ulp_migrate(struct rdma_ep *ep, struct rdma_ep_channel *new)
{
	struct rdma_ep_channel *private = NULL, *old;
	struct ulp_event *ev, *next;
	LIST_HEAD(dropped);
	LIST_HEAD(events);

	if (!new) {
		private = ulp_channel_new(NULL, NULL);
		if (!private)
			return -ENOMEM;
		private->private = true;
		new = private;
	}
	mutex_lock(&ep->deliver);
	old = ep->channel;
	if (old)
		ulp_leave(ep, &events);
	ulp_attach(ep, new);
	list_for_each_entry_safe(ev, next, &events, entry) {
		if (new->fn && !ulp_event_taken(ev)) {
			list_move(&ev->entry, &dropped);
			continue;
		}
		list_del(&ev->entry);
		ulp_event_pass(new, ev);
	}
	mutex_unlock(&ep->deliver);
	ulp_events_drop(&dropped);
	if (old)
		ulp_channel_put(old);
	if (private)
		ulp_channel_put(private);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Reading                                                            */
/* ------------------------------------------------------------------ */

/* @ep: whose event, NULL: anybody's */
static struct ulp_event *ulp_channel_pop(struct rdma_ep_channel *chan,
					 const struct rdma_ep *ep, int *closed)
{
	struct ulp_event *ev, *found = NULL;

	spin_lock(&chan->lock);
	*closed = chan->closed ? -ESHUTDOWN : 0;
	list_for_each_entry(ev, &chan->events, entry) {
		if (!ep || ev->pub.ep == ep) {
			list_del(&ev->entry);
			found = ev;
			break;
		}
	}
	spin_unlock(&chan->lock);
	return found;
}

/**
 * ulp_take - wait for the next event
 * @ep: synchronous endpoint that waits for one of its own, or NULL
 * @chan: where
 * @timeout_ms: timeout
 *
 * Return: the event, -ETIMEDOUT, -EINTR, -ESHUTDOWN or -ENODEV
 */
struct ulp_event *ulp_take(struct rdma_ep *ep, struct rdma_ep_channel *chan,
			   unsigned int timeout_ms)
{
	struct ulp_event *ev;
	int ret, error;

	do {
		ev = NULL;
		error = 0;
		ret = ulp_wait(chan->wait,
			       (ep && (error = ulp_alive(ep))) ||
			       (ev = ulp_channel_pop(chan, ep, &error)) || error,
			       timeout_ms);
		if (ret || !ev)
			return ERR_PTR(ret ?: error);
		if (ulp_event_taken(ev))
			return ev;
		ulp_event_drop(ev);
	} while (1);
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
 *
 * * -ETIMEDOUT: none has come
 * * -EINVAL: the channel has a callback
 */
struct rdma_ep_cm_event *rdma_ep_get_event(struct rdma_ep_channel *channel,
					   unsigned int timeout_ms)
{
	struct ulp_event *ev;
	int ret;

	if (IS_ERR_OR_NULL(channel) || channel->fn)
		return ERR_PTR(-EINVAL);
	ret = ulp_check_context(NULL, _RET_IP_);
	if (ret)
		return ERR_PTR(ret);
	kref_get(&channel->ref);
	ev = ulp_take(NULL, channel, timeout_ms);
	ulp_channel_put(channel);
	return IS_ERR(ev) ? ERR_CAST(ev) : &ev->pub;
}
EXPORT_SYMBOL_GPL(rdma_ep_get_event);

/**
 * rdma_ep_ack_event() - give an event back
 * @event: from rdma_ep_get_event(); nothing is done if it is NULL or an ERR_PTR
 *
 * Its private data is gone afterwards. A new endpoint that it brought is not: that
 * belongs to who got the event. Any context but interrupts.
 */
void rdma_ep_ack_event(struct rdma_ep_cm_event *event)
{
	if (!IS_ERR_OR_NULL(event))
		ulp_event_free(container_of(event, struct ulp_event, pub));
}
EXPORT_SYMBOL_GPL(rdma_ep_ack_event);
