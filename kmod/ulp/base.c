// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on endpoints: their contexts, waits and errors, and the device of an endpoint.
 *
 * Some calls in a callback would wait for the callback to return. Tasks in callbacks are on
 * a list, so that such calls are refused.
 */
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_addr.h>

#include "ulp.h"

struct workqueue_struct *ulp_event_wq;

static LIST_HEAD(ulp_callbacks);
static DEFINE_SPINLOCK(ulp_callbacks_lock);

/* Callbacks that the current task runs, or an atomic context */
enum {
	ULP_IN_CALLBACK = BIT(0),	/* any */
	ULP_IN_HANDLER	= BIT(1),	/* one, or a context, in which all calls are refused */
	ULP_IN_OWN	= BIT(2),	/* one of the endpoint in question */
};

/* Any context. */
void ulp_callback_begin(struct ulp_callback *cb, struct rdma_ep *ep)
{
	unsigned long flags;

	if (ep)
		lock_map_acquire(&ep->callbacks);
	cb->task = current;
	cb->ep = ep;
	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_add(&cb->entry, &ulp_callbacks);
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
}

void ulp_callback_end(struct ulp_callback *cb)
{
	unsigned long flags;

	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_del(&cb->entry);
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
	if (cb->ep)
		lock_map_release(&cb->ep->callbacks);
}

static unsigned int ulp_inside(const struct rdma_ep *ep)
{
	const struct ulp_callback *cb;
	unsigned int inside = 0;
	unsigned long flags;

	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_for_each_entry(cb, &ulp_callbacks, entry) {
		if (cb->task != current)
			continue;
		inside |= ULP_IN_CALLBACK;
		if (!cb->ep)
			inside |= ULP_IN_HANDLER;
		else if (cb->ep == ep)
			inside |= ULP_IN_OWN;
	}
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
	return inside;
}

/*
 * Is this the work item that runs the completion handlers of one of the QP's CQs?
 * Freeing the CQ would wait for it. It may be any work item, which may have been
 * freed by now, so only its address is looked at.
 */
static bool ulp_in_completion(const struct rdma_ep *ep)
{
	const struct work_struct *work = current_work();

	return work && (work == READ_ONCE(ep->cq_work[0]) || work == READ_ONCE(ep->cq_work[1]));
}

/*
 * @ep: endpoint that the call is about, or NULL. @ends: the call waits for its callbacks.
 * @caller: address in the calling function
 */
int ulp_check_context(struct rdma_ep *ep, bool ends, unsigned long caller)
{
	unsigned int inside = in_interrupt() || irqs_disabled() ? ULP_IN_HANDLER : ulp_inside(ep);

	if ((inside & ULP_IN_HANDLER) || (ends && (inside & ULP_IN_OWN)) ||
	    (ep && ulp_in_completion(ep))) {
		WARN_ONCE(1, "%s: called by %pS in an RDMA callback or in an atomic context\n",
			  KBUILD_MODNAME, (void *)caller);
		return -EDEADLK;
	}
	might_sleep();
	/*
	 * Lockdep reports a caller with a lock that a callback takes. (A callback may destroy
	 * other endpoints, which is no less right, but theirs may be of the same class.)
	 */
	if (ends && !inside) {
		lock_map_acquire(&ep->callbacks);
		lock_map_release(&ep->callbacks);
	}
	return 0;
}

/* Is the caller a kernel thread that is to stop? */
bool ulp_stopped(void)
{
	return (current->flags & PF_KTHREAD) && kthread_should_stop();
}

/* Why a wait ended without what it was for. */
int ulp_wait_error(long ret)
{
	return ret || ulp_stopped() ? -EINTR : -ETIMEDOUT;
}

/*
 * Begins a call on the endpoint. Every one but rdma_ep_destroy(), which waits for
 * ulp_exit(), and accessors.
 */
struct rdma_ep *ulp_enter(struct rdma_ep *ep, unsigned long caller)
{
	int ret;

	if (IS_ERR_OR_NULL(ep))
		return ERR_PTR(-EINVAL);
	ret = ulp_check_context(ep, false, caller);
	if (ret)
		return ERR_PTR(ret);
	if (!refcount_inc_not_zero(&ep->users))
		return ERR_PTR(-ESHUTDOWN);
	if (!test_bit(ULP_EP_DYING, &ep->flags))
		return ep;
	ulp_exit(ep);
	return ERR_PTR(-ESHUTDOWN);
}

/* @ep: or an ERR_PTR of ulp_enter() */
void ulp_exit(struct rdma_ep *ep)
{
	if (!IS_ERR(ep) && refcount_dec_and_test(&ep->users))
		complete(&ep->unused);
}

/* @src may be an ERR_PTR or NULL: -EINVAL. */
int ulp_copy_addr(struct sockaddr_storage *dst, const struct sockaddr *src)
{
	int len = IS_ERR_OR_NULL(src) ? 0 : rdma_addr_size((struct sockaddr *)src);

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, len);
	return len ? 0 : -EINVAL;
}

/*
 * Translates the result of ep_id_begin(), or of resolving, to that of a call. A driver's -EIO is
 * another one: see ulp_end().
 */
int ulp_errno(const struct rdma_ep *ep, int ret)
{
	if (ret == -ERESTARTSYS)
		return -EINTR;
	if (ret == -EIO)	/* the id has been destroyed */
		ret = -ENODEV;
	return ret ? ulp_check_alive(ep) ?: ret : 0;
}

/* @begin: ep_id_begin() or ep_id_begin_bound(). Followed by ulp_end(). */
int ulp_begin(struct rdma_ep *ep, int (*begin)(struct ep_id *id))
{
	return ulp_check_alive(ep) ?: ulp_errno(ep, begin(&ep->id));
}

/* Returns what the call returns. */
int ulp_end(struct rdma_ep *ep, int ret)
{
	ep_id_end(&ep->id);
	return ret ? ulp_check_alive(ep) ?: ret : 0;
}

/*
 * Finds the device that @cm_id is bound to, if any. Called between ep_id_begin() and
 * ep_id_end(), or in the handler of a connection request.
 */
int ulp_ep_find_dev(struct rdma_ep *ep, const struct rdma_cm_id *cm_id)
{
	ep->qp_type = cm_id->qp_type;
	if (!cm_id->device)
		return 0;
	ep->dev = ep_dev_of(cm_id->device);
	ep->port = cm_id->port_num;
	return ep->dev ? 0 : -ENODEV;
}

int ulp_ep_hold(struct rdma_ep *ep)
{
	int ret;

	if (!ep->dev)
		return 0;
	ret = ep_dev_add_user(ep->dev, &ep->hold);
	if (!ret)
		ep->ibdev = ep->dev->ibdev;
	return ret;
}

void ulp_ep_put(struct rdma_ep *ep)
{
	if (refcount_dec_and_test(&ep->ref))
		kfree(ep);
}

static unsigned int ulp_event_index(const struct rdma_cm_event *cm, int status)
{
	switch (cm->event) {
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return ULP_EVENT_REMOVED;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return ULP_EVENT_RESOLVED;
	case RDMA_CM_EVENT_ESTABLISHED:
		return ULP_EVENT_UP;
	default:
		return status ? ULP_EVENT_OVER : ULP_EVENT_NR;
	}
}

/* ulp_event_fill() follows, or kfree(). */
struct ulp_event *ulp_event_alloc(gfp_t gfp)
{
	struct ulp_event *ev = kzalloc(sizeof(*ev), gfp);

	if (ev)
		ev->allocated = true;
	return ev;
}

void ulp_event_fill(struct ulp_event *ev, struct rdma_ep *ep,
		    const struct rdma_cm_event *cm, int status)
{
	/* The two kinds of parameters have it in the same place. */
	const void *data = cm->param.conn.private_data;
	u8 len = cm->param.conn.private_data_len;

	BUILD_BUG_ON(offsetof(struct rdma_cm_event, param.conn.private_data) !=
		     offsetof(struct rdma_cm_event, param.ud.private_data));
	BUILD_BUG_ON(offsetof(struct rdma_cm_event, param.conn.private_data_len) !=
		     offsetof(struct rdma_cm_event, param.ud.private_data_len));
	if (!data)
		len = 0;
	refcount_inc(&ep->ref);
	ev->pub.ep = ep;
	ev->pub.status = status;
	ev->pub.cm = *cm;
	memcpy(ev->data, data, len);
	ev->pub.cm.param.conn.private_data = len ? ev->data : NULL;
	ev->pub.cm.param.conn.private_data_len = len;
	/* It is the id's. Making an address handle looks it up again. */
	if (ep->qp_type == IB_QPT_UD)
		ev->pub.cm.param.ud.ah_attr.grh.sgid_attr = NULL;
}

/*
 * An event of the first kinds is never lost, as its memory is there: a task might wait for
 * it without a limit. Allocating it could wait for memory, and the release of memory for a
 * consumer that waits for the event. With the endpoint's deliver lock held, but for a
 * connection request, which has no memory of its own.
 */
struct ulp_event *ulp_event_new(struct rdma_ep *ep, const struct rdma_cm_event *cm, int status)
{
	unsigned int index = ulp_event_index(cm, status);
	struct ulp_event *ev;

	if (index < ULP_EVENT_NR && !__test_and_set_bit(index, &ep->used_events))
		ev = &ep->own_events[index];
	else
		ev = ulp_event_alloc(GFP_NOIO | __GFP_NOWARN);
	if (ev)
		ulp_event_fill(ev, ep, cm, status);
	return ev;
}

/* A child has been taken. */
void ulp_event_free(struct ulp_event *ev)
{
	struct rdma_ep *ep;

	if (!ev)
		return;
	ep = ev->pub.ep;
	if (ev->allocated)
		kfree(ev);
	ulp_ep_put(ep);
}

/* The end of an endpoint without calls, events and hardware objects */
void ulp_ep_release(struct rdma_ep *ep)
{
	ulp_event_free(ep->last);
	kfree(ep->request_qp);
	ep_dev_del_user(&ep->hold);
	ep_dev_put(ep->dev);
	module_put(THIS_MODULE);
	ulp_ep_put(ep);
}

int ulp_init(void)
{
	/* WQ_MAX_ACTIVE: items that wait for a peer, or for their consumer, delay no others. */
	ulp_event_wq = alloc_workqueue("rdma_ep_event", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return ulp_event_wq ? 0 : -ENOMEM;
}

/* Work items of endpoints that have been destroyed may still be queued. */
void ulp_cleanup(void)
{
	destroy_workqueue(ulp_event_wq);
}
