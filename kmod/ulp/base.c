// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on endpoints: their contexts, waits and errors, and the device of an endpoint.
 *
 * A call in a callback would wait for the callback to return. Tasks in callbacks are on a
 * list, so that such calls are refused.
 */
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "ulp.h"

static LIST_HEAD(ulp_callbacks);
static DEFINE_SPINLOCK(ulp_callbacks_lock);

/* Any context. */
void ulp_callback_begin(struct ulp_callback *cb)
{
	unsigned long flags;

	cb->task = current;
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
}

static bool ulp_in_callback(void)
{
	const struct ulp_callback *cb;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_for_each_entry(cb, &ulp_callbacks, entry)
		found |= cb->task == current;
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
	return found;
}

/*
 * Is this the work item that runs the completion handlers of one of the QP's CQs?
 * Freeing the CQ would wait for it. It may be any work item, which may have been
 * freed by now, so only its address is looked at.
 */
static bool ulp_in_completion(const struct rdma_ep *ep)
{
	const struct work_struct *work = current_work();

	return work && (work == READ_ONCE(ep->cq_work[0]) ||
			work == READ_ONCE(ep->cq_work[1]));
}

/* @ep: endpoint that the call is about, or NULL. @caller: who called */
int ulp_check_context(const struct rdma_ep *ep, unsigned long caller)
{
	if (likely(!in_interrupt() && !irqs_disabled() && !ulp_in_callback() &&
		   !(ep && ulp_in_completion(ep)))) {
		might_sleep();
		return 0;
	}
	WARN_ONCE(1, "%s: called by %pS in an RDMA callback or in an atomic context\n",
		  KBUILD_MODNAME, (void *)caller);
	return -EDEADLK;
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
int ulp_enter_from(struct rdma_ep *ep, unsigned long caller)
{
	int ret;

	if (IS_ERR_OR_NULL(ep))
		return -EINVAL;
	ret = ulp_check_context(ep, caller);
	if (ret)
		return ret;
	if (!refcount_inc_not_zero(&ep->users))
		return -ESHUTDOWN;
	if (!test_bit(ULP_EP_DYING, &ep->flags))
		return 0;
	ulp_exit(ep);
	return -ESHUTDOWN;
}

void ulp_exit(struct rdma_ep *ep)
{
	if (refcount_dec_and_test(&ep->users))
		complete(&ep->unused);
}

/* What the engine says, as rdma_ep.h promises it. */
int ulp_errno(const struct rdma_ep *ep, int ret)
{
	switch (ret) {
	case 0:
		return 0;
	case -ERESTARTSYS:
		return -EINTR;
	case -EIO:	/* the id is gone */
		return ulp_alive(ep) ?: -ENODEV;
	default:	/* perhaps because of that */
		return ulp_alive(ep) ?: ret;
	}
}

/* @begin: ep_id_begin() or ep_id_begin_bound(). Followed by ulp_end(). */
int ulp_begin(struct rdma_ep *ep, int (*begin)(struct ep_id *id))
{
	int ret = ulp_alive(ep);

	return ret ?: ulp_errno(ep, begin(&ep->id));
}

/* Returns what the call returns. */
int ulp_end(struct rdma_ep *ep, int ret)
{
	ep_id_end(&ep->id);
	return ulp_errno(ep, ret);
}

/*
 * Finds the device that @cm_id is bound to, if any. Called between ep_id_begin() and
 * ep_id_end(), or in the handler of a connection request.
 */
int ulp_ep_bind(struct rdma_ep *ep, const struct rdma_cm_id *cm_id)
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

static void ulp_ep_free(struct kref *ref)
{
	kfree(container_of(ref, struct rdma_ep, ref));
}

void ulp_ep_put(struct rdma_ep *ep)
{
	kref_put(&ep->ref, ulp_ep_free);
}

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
	/* It is the id's. Who makes an address handle has it looked up again. */
	if (ep->qp_type == IB_QPT_UD)
		ev->pub.cm.param.ud.ah_attr.grh.sgid_attr = NULL;
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

/* The end of an endpoint without calls, events and hardware objects */
void ulp_ep_release(struct rdma_ep *ep)
{
	ulp_event_free(ep->last);
	kfree(ep->request_qp);
	ep_dev_del_user(&ep->hold);
	if (ep->dev)
		ep_dev_put(ep->dev);
	module_put(THIS_MODULE);
	ulp_ep_put(ep);
}
