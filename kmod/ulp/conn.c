// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: listening, requests, connecting, accepting, disconnecting.
 */
#include <rdma/ib_cm.h>

#include "ulp.h"

/* As ulp_await(), for a connection that ends, but the event stays. */
static int ulp_await_disconnected(struct rdma_ep *ep, unsigned int timeout_ms)
{
	CLASS(ulp_sync_channel, chan)(ep);
	long left = ulp_timeout(timeout_ms);
	int ret, error = 0;

	if (!chan)
		return 0;
	ret = ulp_wait(chan->wait,
		       test_bit(ULP_EP_DISCONNECTED, &ep->flags) || (error = ulp_check_alive(ep)) ||
		       (error = READ_ONCE(chan->closed) ? -ESHUTDOWN : 0),
		       left) ?: error;
	/* Its peer is not waited for. */
	return test_bit(ULP_EP_ABORTED, &ep->flags) && ret == READ_ONCE(ep->status) ? 0 : ret;
}

/**
 * rdma_ep_listen() - listen for connection requests
 * @ep: passive endpoint
 * @backlog: requests that may wait to be taken, at least 1; a larger number than 1024
 *	counts as 1024. Requests beyond it are dropped, and come again when the peer's
 *	CM repeats them; with iWARP they are refused
 *
 * Requests go to rdma_ep_get_request(), or, if the endpoint has a channel, there as
 * %RDMA_CM_EVENT_CONNECT_REQUEST. They get the SRQ that the endpoint has when they
 * are taken. See rdma_listen(3).
 *
 * Return: 0, -EINVAL for a bad backlog or an endpoint that listens or is not
 * passive, -EADDRINUSE or -EADDRNOTAVAIL if another endpoint has the address, or -ENOMEM
 */
int rdma_ep_listen(struct rdma_ep *ep, int backlog)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	if (IS_ERR(call))
		return PTR_ERR(call);
	if (backlog < 1)
		return -EINVAL;
	/* rdma_cm lets an id listen whose address could not be resolved. */
	return ulp_begin(ep, ep_id_begin) ?:
	       ulp_end(ep, !ep->passive ? -EINVAL :
			   ep_id_listen(&ep->id, min(backlog, EP_MAX_BACKLOG)));
}
EXPORT_SYMBOL_GPL(rdma_ep_listen);

/*
 * A request that has been taken, with a channel of its own. A peer may be the cause that
 * there is no QP for it: only a mistake in the listener's attributes ends the server's wait.
 */
static int ulp_make_request(struct ulp_event *ev)
{
	struct rdma_ep *child = ev->pub.child;
	int ret = 0;

	if (child->request_qp)
		ret = ulp_create_qp(child, child->request_qp);
	if (!ret) {
		ulp_set_last(child, ev);
		return 0;
	}
	/* There is no peer any more, or no device. */
	if (ret == -ENOTCONN || READ_ONCE(child->status) || ulp_check_alive(child))
		ret = -EAGAIN;
	if (ret != -EAGAIN)
		pr_warn_ratelimited("%s: a connection request for %s is refused, as it gets no QP: %d\n",
				    KBUILD_MODNAME, child->hold.owner, ret);
	if (ret != -EINVAL && ret != -EOPNOTSUPP)
		ret = -EAGAIN;
	ulp_ep_destroy(child);
	ulp_event_free(ev);
	return ret;
}

static struct rdma_ep *ulp_get_request(struct rdma_ep *listener, unsigned int timeout_ms)
{
	CLASS(ulp_sync_channel, chan)(listener);
	long left = ulp_timeout(timeout_ms);
	struct ulp_event *ev;
	int ret = -EAGAIN;

	if (!chan || !listener->id.listening)
		return ERR_PTR(-EINVAL);
	while (ret == -EAGAIN) {
		ev = ulp_take(listener, chan, &left);
		if (IS_ERR(ev))
			return ERR_CAST(ev);
		if (ev->pub.child)
			ret = ulp_make_request(ev);
		else
			ulp_event_free(ev);
	}
	return ret ? ERR_PTR(ret) : ev->pub.child;
}

/**
 * rdma_ep_get_request() - wait for a connection request
 * @listener: synchronous endpoint that listens
 * @timeout_ms: timeout
 *
 * The new endpoint is synchronous. If @listener was made with QP attributes it has
 * a QP with them, on its own device, and receives can be posted. If there is no memory
 * for that, or the device has no more QPs, the request is refused, which is logged, and the
 * wait continues. rdma_ep_event() has what the peer has sent. Followed by
 * rdma_ep_accept() or rdma_ep_reject(), and rdma_ep_destroy() in any case. Several
 * threads may wait. See rdma_get_request(3).
 *
 * Return: the new endpoint, or
 * * -ETIMEDOUT: there was no request
 * * -EINVAL: @listener does not listen or has a channel; or its QP attributes do not fit
 *   the device of a request, which is refused; @listener is as good as before
 * * -EOPNOTSUPP: the same, the device cannot
 */
struct rdma_ep *rdma_ep_get_request(struct rdma_ep *listener, unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(listener, _RET_IP_);

	return IS_ERR(call) ? call : ulp_get_request(listener, timeout_ms);
}
EXPORT_SYMBOL_GPL(rdma_ep_get_request);

/*
 * Without parameters: the limits of the device, and those that a request's peer has named. @param
 * becomes a copy, as the engine fills in the fields of the QP.
 */
static int ulp_set_param(const struct rdma_ep *ep, const struct rdma_conn_param *given,
			 struct rdma_conn_param *param, bool accept)
{
	const struct ib_device_attr *attrs = &ep->ibdev->attrs;

	if (IS_ERR(given))
		return -EINVAL;
	if (given) {
		*param = *given;
		return param->private_data_len && IS_ERR_OR_NULL(param->private_data) ? -EINVAL : 0;
	}
	memset(param, 0, sizeof(*param));
	param->retry_count = 7;
	param->rnr_retry_count = 7;
	if (ep->qp_type == IB_QPT_UD)
		return 0;
	param->responder_resources = min(attrs->max_qp_rd_atom, U8_MAX);
	param->initiator_depth = min(attrs->max_qp_init_rd_atom, U8_MAX);
	if (accept) {
		param->responder_resources = min(param->responder_resources,
						 ep->responder_resources);
		param->initiator_depth = min(param->initiator_depth, ep->initiator_depth);
	}
	return 0;
}

static int ulp_connect(struct rdma_ep *ep, const struct rdma_conn_param *given, bool accept)
{
	struct rdma_ucm_ece ece = {};
	struct rdma_conn_param param;
	int ret;

	ret = ulp_begin(ep, ep_id_begin_bound);
	if (ret)
		return ret;
	ret = ep->ibdev ? ulp_set_param(ep, given, &param, accept) : -EINVAL;
	if (ret)
		return ulp_end(ep, ret);
	if (accept) {
		ret = ep_id_accept(&ep->id, NULL, &param, &ece, NULL, NULL);
		/* If the peer has taken the request back, the CM has nothing to accept. */
		if (ret == -EINVAL && ep->id.request)
			ret = READ_ONCE(ep->status) ?: ret;
		return ulp_end(ep, ret);
	}
	ret = ep_id_connect(&ep->id, NULL, &param, &ece);
	if (ret == -ERESTARTSYS)
		ret = -EINTR;
	if (!ret || ret == -EINVAL || ret == -EINTR)
		return ulp_end(ep, ret);
	ep_id_end(&ep->id);
	/* If the driver connects in the call, rdma_cm reports no event of its failure. */
	ulp_failed(ep, RDMA_CM_EVENT_CONNECT_ERROR, ret);
	return ulp_check_alive(ep);
}

/**
 * rdma_ep_connect() - connect to the peer
 * @ep: active endpoint with a QP; an unconnected one needs none
 * @param: private data, depths and retries; NULL: no private data, the depths of
 *	the device, 7 retries. @param.qp_num and @param.srq are not looked at
 * @timeout_ms: limit for the peer's answer, if the endpoint is synchronous
 *
 * With a channel it returns when the request is on its way, and %RDMA_CM_EVENT_ESTABLISHED
 * or an error follows. After an error of the peer's or a timeout the endpoint is only
 * good for rdma_ep_event(), which has the details, and rdma_ep_destroy(). The QP can send on
 * return, or when the event comes. See rdma_connect(3).
 *
 * Return: 0, or
 * * -EINVAL: not resolved, no QP, connected before, bad parameters
 * * -ECONNREFUSED: the peer has rejected
 * * -ETIMEDOUT: the peer does not answer
 * * -ECONNABORTED, -ECONNRESET and others: the connection broke at once
 */
int rdma_ep_connect(struct rdma_ep *ep, const struct rdma_conn_param *param,
		    unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	return PTR_ERR_OR_ZERO(call) ?: ulp_connect(ep, param, false) ?:
	       ulp_await(ep, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}
EXPORT_SYMBOL_GPL(rdma_ep_connect);

/**
 * rdma_ep_accept() - accept a connection request
 * @ep: endpoint of a request, with a QP
 * @param: as for rdma_ep_connect(); NULL: the depths of the request, within
 *	the limits of the device
 * @timeout_ms: limit for the peer to be ready, if the endpoint is synchronous
 *
 * Post receives before: the peer may send as soon as it has been accepted. With a
 * channel, %RDMA_CM_EVENT_ESTABLISHED or an error follows, but no event for an unconnected
 * endpoint. See rdma_accept(3).
 *
 * Return: 0, or
 * * -EINVAL: no request, or one that has been answered; no QP; bad parameters
 * * -ETIMEDOUT: the peer does not answer
 * * rdma_ep_status(): the peer has taken its request back
 * * others as for rdma_ep_connect()
 */
int rdma_ep_accept(struct rdma_ep *ep, const struct rdma_conn_param *param, unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	int ret = PTR_ERR_OR_ZERO(call) ?: ulp_connect(ep, param, true);

	/* Without a connection there is nothing but the answer. */
	if (ret || ep->qp_type == IB_QPT_UD)
		return ret;
	return ulp_await(ep, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}
EXPORT_SYMBOL_GPL(rdma_ep_accept);

/**
 * rdma_ep_reject() - reject a connection request
 * @ep: endpoint of a request
 * @data: private data for the peer, or NULL
 * @len: its length
 *
 * The endpoint is only good for rdma_ep_destroy() then. See rdma_reject(3).
 *
 * Return: 0, or -EINVAL: no request, or one that has been answered, or too much data
 */
int rdma_ep_reject(struct rdma_ep *ep, const void *data, u8 len)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	int ret = PTR_ERR_OR_ZERO(call) ?: ulp_begin(ep, ep_id_begin_bound);

	if (ret)
		return ret;
	ret = -EINVAL;
	if (ep->id.request && (!len || !IS_ERR_OR_NULL(data)))
		ret = ep_id_reject(&ep->id, data, len, IB_CM_REJ_CONSUMER_DEFINED);
	return ulp_end(ep, ret);
}
EXPORT_SYMBOL_GPL(rdma_ep_reject);

static int ulp_disconnect(struct rdma_ep *ep)
{
	int ret;

	/* The work item does it. */
	if (test_bit(ULP_EP_ABORTED, &ep->flags))
		return 0;
	ret = ulp_begin(ep, ep_id_begin_bound);
	if (ret)
		return ret;
	ret = -EINVAL;
	if (test_bit(ULP_EP_ESTABLISHED, &ep->flags) && ep->qp_type != IB_QPT_UD) {
		cmpxchg(&ep->status, 0, -ESHUTDOWN);
		ret = ep_id_disconnect(&ep->id, NULL);
		/* Perhaps no event follows. */
		if (ret)
			ulp_queue_work(ep);
	}
	/* Perhaps the peer was first. */
	if (test_bit(ULP_EP_DISCONNECTED, &ep->flags))
		ret = 0;
	return ulp_end(ep, ret);
}

/**
 * rdma_ep_disconnect() - end a connection
 * @ep: connected endpoint
 * @timeout_ms: limit for the peer's answer, if the endpoint is synchronous
 *
 * Posted requests complete with %IB_WC_WR_FLUSH_ERR. With a channel,
 * %RDMA_CM_EVENT_DISCONNECTED follows, unless the peer has been first. Ending a
 * connection that has ended is fine. The peer's answer comes when its owner, too,
 * disconnects or destroys the endpoint: to be independent of that, call rdma_ep_abort() or
 * rdma_ep_destroy() instead. See rdma_disconnect(3).
 *
 * Return: 0, -EINVAL if it was never connected (an unconnected endpoint cannot be),
 * or -ETIMEDOUT
 */
int rdma_ep_disconnect(struct rdma_ep *ep, unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	return PTR_ERR_OR_ZERO(call) ?: ulp_disconnect(ep) ?:
	       ulp_await_disconnected(ep, timeout_ms);
}
EXPORT_SYMBOL_GPL(rdma_ep_disconnect);

/**
 * rdma_ep_migrate() - let an endpoint's events go elsewhere
 * @ep: endpoint
 * @channel: channel, or NULL: make it synchronous
 *
 * Unread events move along. Calls that wait for the endpoint's events get -ESHUTDOWN. Waits
 * for a callback that runs for the endpoint. See rdma_migrate_id(3).
 *
 * Return: 0, -EINVAL if @channel is an ERR_PTR or another endpoint's own, or -ENOMEM
 */
int rdma_ep_migrate(struct rdma_ep *ep, struct rdma_ep_channel *channel)
{
	/* It waits for the endpoint's callbacks. */
	int ret = IS_ERR_OR_NULL(ep) ? -EINVAL : ulp_check_context(ep, true, _RET_IP_);

	CLASS(ulp_call, call)(ep, _RET_IP_);
	ret = ret ?: PTR_ERR_OR_ZERO(call);
	if (ret)
		return ret;
	if (IS_ERR(channel) || (channel && channel->private))
		return -EINVAL;
	return ulp_migrate(ep, channel);
}
EXPORT_SYMBOL_GPL(rdma_ep_migrate);
