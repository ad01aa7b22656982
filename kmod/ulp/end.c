// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of endpoints: its causes and its effects.
 */
#include <rdma/ib_cm.h>

#include "../engine/trace.h"
#include "ulp.h"

/* Why an endpoint is over since @event, or 0 */
int ulp_end_of(const struct rdma_cm_event *event)
{
	/* Statuses above 0 are the peer's. */
	int error = min(event->status, 0);

	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		return -ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* This is how an unconnected endpoint is rejected. */
		return event->status > 0 ? -ECONNREFUSED : error ?: -ETIMEDOUT;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return error ?: -ECONNABORTED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	default:
		return 0;
	}
}

/* Any context. The work item has a reference. */
void ulp_queue_work(struct rdma_ep *ep)
{
	refcount_inc(&ep->ref);
	if (!queue_work(ulp_event_wq, &ep->work))
		ulp_ep_put(ep);
}

/* Any context */
void ulp_over(struct rdma_ep *ep, int error)
{
	cmpxchg(&ep->status, 0, error);
	ulp_queue_work(ep);
}

/* The first event of the end is reported. Process context */
void ulp_report_end(struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	if (test_and_set_bit(ULP_EP_OVER, &ep->flags))
		ulp_wake(ep);
	else
		ulp_report(ep, event, READ_ONCE(ep->status));
}

/* A step of connecting has failed, and rdma_cm reports no event. Process context */
void ulp_failed(struct rdma_ep *ep, enum rdma_cm_event_type type, int error)
{
	const struct rdma_cm_event event = { .event = type, .status = error };

	ulp_over(ep, error);
	ulp_report_end(ep, &event);
}

/*
 * The consumer may have been quicker than the CM to learn of the connection. Only hardware
 * reports this.
 */
static void ulp_comm_est(struct rdma_ep *ep)
{
	static const struct rdma_cm_event established = {
		.event = RDMA_CM_EVENT_ESTABLISHED,
	};

	if (ep_id_begin_bound(&ep->id))
		return;
	rdma_lock_handler(ep->id.cm_id);
	if (ep_id_notify(&ep->id, IB_EVENT_COMM_EST) > 0) {
		trace_rdma_ep_cm_event(&ep->id, ep->id.cm_id, &established, 0);
		ep->id.ops->event(&ep->id, &established);
	}
	rdma_unlock_handler(ep->id.cm_id);
	ep_id_end(&ep->id);
}

/* Posted requests complete, of an unconnected QP only after an abort. */
static void ulp_fail_qp(struct rdma_ep *ep)
{
	struct ep_qp *qp = ep_id_get_qp(&ep->id);

	if (!qp)
		return;
	if (qp->type != IB_QPT_UD || test_bit(ULP_EP_ABORTED, &ep->flags))
		ep_qp_error(qp);
	ep_id_put_qp(&ep->id, qp);
}

/* Harmless if the connection has ended, or was never there. */
static void ulp_leave_peer(struct rdma_ep *ep)
{
	if (ep_id_begin_bound(&ep->id))
		return;
	if (ep->id.request)
		ep_id_reject(&ep->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	else if (test_bit(ULP_EP_ESTABLISHED, &ep->flags) && ep->qp_type != IB_QPT_UD)
		ep_id_disconnect(&ep->id, NULL);
	ep_id_end(&ep->id);
}

/* The effects of flags and status. In the work item */
void ulp_finish(struct rdma_ep *ep)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DISCONNECTED };
	struct ulp_callback cb;
	rdma_ep_end_fn fn;

	if (test_and_clear_bit(ULP_EP_COMM_EST, &ep->flags))
		ulp_comm_est(ep);
	event.status = READ_ONCE(ep->status);
	if (!event.status)
		return;
	ulp_fail_qp(ep);
	wake_up_all(&ep->slots_wait);
	if (test_bit(ULP_EP_ABORTED, &ep->flags)) {
		/* First, as ulp_leave_peer() waits for calls that wait for the peer. */
		ulp_report_end(ep, &event);
		ulp_leave_peer(ep);
	}
	fn = xchg(&ep->on_end, NULL);
	if (!fn)
		return;
	ulp_callback_begin(&cb, ep);
	fn(ep, event.status);
	ulp_callback_end(&cb);
}

/**
 * rdma_ep_abort() - begin the end of an endpoint
 * @ep: endpoint; nothing is done if it is NULL or an ERR_PTR
 * @error: why: a negative errno, others mean -ECONNABORTED. Only the first error of an
 *	endpoint counts
 *
 * Does not wait. Requests of the QP, also those that are posted later, complete with
 * %IB_WC_WR_FLUSH_ERR soon; a connection is disconnected, a request rejected, a listener
 * refuses requests. Calls on the endpoint return the error, also those that wait now, except
 * for those that destroy or drain something, rdma_ep_disconnect(), rdma_ep_migrate() and the
 * accessors. The endpoint reports %RDMA_CM_EVENT_DISCONNECTED with the error, unless it was
 * over before. Its owner destroys it as always, before or after that.
 *
 * Context: any, also callbacks and completion handlers. The caller makes sure that the
 * endpoint has not been destroyed: rdma_ep_destroy() waits for handlers and callbacks.
 */
void rdma_ep_abort(struct rdma_ep *ep, int error)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	cmpxchg(&ep->status, 0, IS_ERR_VALUE((long)error) ? error : -ECONNABORTED);
	set_bit(ULP_EP_ABORTED, &ep->flags);
	/* A full barrier between the bit and the work item: see ulp_id_event(). */
	ulp_queue_work(ep);
}
EXPORT_SYMBOL_GPL(rdma_ep_abort);

/**
 * rdma_ep_status() - is an endpoint over?
 * @ep: endpoint
 *
 * Context: any
 *
 * Return: 0, or the first error that ended it, which does not change any more:
 * * -ECONNREFUSED: the peer has rejected. Set before requests of the QP are flushed, unless the
 *	driver flushes them by itself
 * * -ETIMEDOUT: the peer does not answer
 * * -ECONNABORTED and others: resolving or connecting has failed
 * * -ECONNRESET: the peer has disconnected
 * * -ESHUTDOWN: rdma_ep_disconnect()
 * * -ENODEV: the device is being removed
 * * -EIO: the QP has failed, as the device reports
 * * that of rdma_ep_abort()
 * * -EINVAL: @ep is NULL or an ERR_PTR
 */
int rdma_ep_status(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? -EINVAL : READ_ONCE(ep->status);
}
EXPORT_SYMBOL_GPL(rdma_ep_status);

/**
 * rdma_ep_on_end() - have a function called when an endpoint is over
 * @ep: endpoint
 * @fn: function; NULL: none any more (it may be running)
 *
 * Whether it has a channel or not. If the endpoint is over, @fn is called soon. It is called
 * once, and not after rdma_ep_destroy() has returned.
 *
 * Context: any
 */
void rdma_ep_on_end(struct rdma_ep *ep, rdma_ep_end_fn fn)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	/* Before the status is read: see ulp_finish(). */
	xchg(&ep->on_end, fn);
	if (READ_ONCE(ep->status))
		ulp_queue_work(ep);
}
EXPORT_SYMBOL_GPL(rdma_ep_on_end);
