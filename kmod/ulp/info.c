// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accessors: the properties of an endpoint.
 */
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm_ib.h>

#include "ulp.h"

/**
 * rdma_ep_device() - device of an endpoint
 * @ep: endpoint
 *
 * The device stays until the endpoint is destroyed.
 *
 * Return: device, or NULL if the endpoint listens on a wildcard address
 */
struct ib_device *rdma_ep_device(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? NULL : ep->ibdev;
}
EXPORT_SYMBOL_GPL(rdma_ep_device);

/**
 * rdma_ep_port() - port of an endpoint
 * @ep: endpoint
 *
 * Return: number of the port of rdma_ep_device(), or 0
 */
u32 rdma_ep_port(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? 0 : ep->port;
}
EXPORT_SYMBOL_GPL(rdma_ep_port);

/* Its handlers may look while rdma_ep_destroy() takes it away. */
static const struct ulp_qp *ulp_qp(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? NULL : READ_ONCE(ep->qp);
}

/**
 * rdma_ep_pd() - PD of an endpoint
 * @ep: endpoint
 *
 * Return: PD of its QP, or else of its SRQ, or NULL if it has neither
 */
struct ib_pd *rdma_ep_pd(const struct rdma_ep *ep)
{
	const struct ulp_qp *qp = ulp_qp(ep);
	const struct ulp_srq *srq;
	struct ib_pd *pd = NULL;

	if (qp)
		return qp->pd;
	if (IS_ERR_OR_NULL(ep))
		return NULL;
	/* rdma_ep_destroy_srq() may free it meanwhile. */
	rcu_read_lock();
	srq = READ_ONCE(ep->srq);
	if (srq)
		pd = srq->pd;
	rcu_read_unlock();
	return pd;
}
EXPORT_SYMBOL_GPL(rdma_ep_pd);

/**
 * rdma_ep_qp() - QP of an endpoint
 * @ep: endpoint
 *
 * Post to it, but leave its state alone.
 *
 * Return: QP, or NULL
 */
struct ib_qp *rdma_ep_qp(const struct rdma_ep *ep)
{
	const struct ulp_qp *qp = ulp_qp(ep);

	return qp ? qp->qp.ibqp : NULL;
}
EXPORT_SYMBOL_GPL(rdma_ep_qp);

/**
 * rdma_ep_send_cq() - CQ of an endpoint's sends
 * @ep: endpoint
 *
 * Return: CQ, or NULL
 */
struct ib_cq *rdma_ep_send_cq(const struct rdma_ep *ep)
{
	const struct ulp_qp *qp = ulp_qp(ep);

	return qp ? qp->send_cq : NULL;
}
EXPORT_SYMBOL_GPL(rdma_ep_send_cq);

/**
 * rdma_ep_recv_cq() - CQ of an endpoint's receives
 * @ep: endpoint
 *
 * Return: CQ, or NULL
 */
struct ib_cq *rdma_ep_recv_cq(const struct rdma_ep *ep)
{
	const struct ulp_qp *qp = ulp_qp(ep);

	return qp ? qp->recv_cq : NULL;
}
EXPORT_SYMBOL_GPL(rdma_ep_recv_cq);

/**
 * rdma_ep_srq() - SRQ of an endpoint
 * @ep: endpoint
 *
 * Return: the SRQ of rdma_ep_create_srq(), or of the listener that the endpoint came
 * from, or NULL
 */
struct ib_srq *rdma_ep_srq(const struct rdma_ep *ep)
{
	const struct ulp_srq *srq;
	struct ib_srq *ibsrq = NULL;

	if (IS_ERR_OR_NULL(ep))
		return NULL;
	rcu_read_lock();
	srq = READ_ONCE(ep->srq);
	if (srq)
		ibsrq = READ_ONCE(srq->srq.ibsrq);
	rcu_read_unlock();
	return ibsrq;
}
EXPORT_SYMBOL_GPL(rdma_ep_srq);

/**
 * rdma_ep_channel() - channel of an endpoint's events
 * @ep: endpoint
 *
 * Return: channel. That of a synchronous endpoint is its own and only good for
 * rdma_ep_get_event()
 */
struct rdma_ep_channel *rdma_ep_channel(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? NULL : READ_ONCE(ep->channel);
}
EXPORT_SYMBOL_GPL(rdma_ep_channel);

/**
 * rdma_ep_event() - event that a synchronous call has waited for
 * @ep: endpoint
 *
 * The event of the last rdma_ep_connect() or rdma_ep_accept(), or the request that
 * rdma_ep_get_request() made @ep of: parameters, private data, and why the peer has
 * rejected. Valid until the next such call.
 *
 * Return: event, or NULL: there is none, or rdma_ep_abort() has ended the call before it came
 */
const struct rdma_cm_event *rdma_ep_event(const struct rdma_ep *ep)
{
	const struct ulp_event *ev = IS_ERR_OR_NULL(ep) ? NULL : READ_ONCE(ep->last);

	return ev ? &ev->pub.cm : NULL;
}
EXPORT_SYMBOL_GPL(rdma_ep_event);

/**
 * rdma_ep_context() - the caller's own pointer
 * @ep: endpoint
 *
 * Return: the pointer of rdma_ep_create() or rdma_ep_set_context()
 */
void *rdma_ep_context(const struct rdma_ep *ep)
{
	return IS_ERR_OR_NULL(ep) ? NULL : READ_ONCE(ep->context);
}
EXPORT_SYMBOL_GPL(rdma_ep_context);

/**
 * rdma_ep_set_context() - set the caller's own pointer
 * @ep: endpoint
 * @context: for rdma_ep_context()
 */
void rdma_ep_set_context(struct rdma_ep *ep, void *context)
{
	if (!IS_ERR_OR_NULL(ep))
		WRITE_ONCE(ep->context, context);
}
EXPORT_SYMBOL_GPL(rdma_ep_set_context);

/**
 * rdma_ep_local_addr() - local address of an endpoint
 * @ep: endpoint
 * @addr: is filled in
 *
 * Return: 0, or -EINVAL
 */
int rdma_ep_local_addr(const struct rdma_ep *ep, struct sockaddr_storage *addr)
{
	if (IS_ERR_OR_NULL(ep) || IS_ERR_OR_NULL(addr))
		return -EINVAL;
	*addr = ep->local;
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_local_addr);

/**
 * rdma_ep_peer_addr() - address of an endpoint's peer
 * @ep: endpoint
 * @addr: is filled in
 *
 * Return: 0, -ENOTCONN if there is no peer, or -EINVAL
 */
int rdma_ep_peer_addr(const struct rdma_ep *ep, struct sockaddr_storage *addr)
{
	if (IS_ERR_OR_NULL(ep) || IS_ERR_OR_NULL(addr))
		return -EINVAL;
	*addr = ep->peer;
	/* A listener has the family of a peer, and nothing else. */
	return memchr_inv(addr->__data, 0, sizeof(addr->__data)) ? 0 : -ENOTCONN;
}
EXPORT_SYMBOL_GPL(rdma_ep_peer_addr);

/**
 * rdma_ep_qp_cap() - what an endpoint's QP was granted
 * @ep: endpoint
 * @cap: is filled in, as rdma_ep_create_qp() does with its attributes
 *
 * Meant for a request, whose QP rdma_ep_get_request() has made.
 *
 * Return: 0, or -EINVAL if there is no QP
 */
int rdma_ep_qp_cap(const struct rdma_ep *ep, struct ib_qp_cap *cap)
{
	const struct ulp_qp *qp = ulp_qp(ep);

	if (!qp || IS_ERR_OR_NULL(cap))
		return -EINVAL;
	*cap = qp->granted;
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_qp_cap);

static bool ulp_iwarp(const struct rdma_ep *ep)
{
	return ep->ibdev && rdma_protocol_iwarp(ep->ibdev, ep->port);
}

/**
 * rdma_ep_reject_msg() - a peer's reason to reject in words
 * @ep: endpoint that was rejected
 * @event: its %RDMA_CM_EVENT_REJECTED: &rdma_ep_cm_event.cm, or rdma_ep_event()
 *
 * Return: static text, also for an event of another kind
 */
const char *rdma_ep_reject_msg(const struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	if (IS_ERR_OR_NULL(ep) || IS_ERR_OR_NULL(event) || event->event != RDMA_CM_EVENT_REJECTED)
		return "not rejected";
	return ulp_iwarp(ep) ? iwcm_reject_msg(event->status) : ibcm_reject_msg(event->status);
}
EXPORT_SYMBOL_GPL(rdma_ep_reject_msg);

/**
 * rdma_ep_consumer_reject() - was it the peer's protocol that rejected, not its CM?
 * @ep: endpoint that was rejected
 * @event: as for rdma_ep_reject_msg()
 *
 * Then the private data of the event are the protocol's. Not every iWARP driver reports this.
 *
 * Return: whether it was
 */
bool rdma_ep_consumer_reject(const struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	if (IS_ERR_OR_NULL(ep) || IS_ERR_OR_NULL(event) || event->event != RDMA_CM_EVENT_REJECTED)
		return false;
	return event->status == (ulp_iwarp(ep) ? -ECONNREFUSED : IB_CM_REJ_CONSUMER_DEFINED);
}
EXPORT_SYMBOL_GPL(rdma_ep_consumer_reject);

/**
 * rdma_ep_path() - path record of an endpoint
 * @ep: endpoint that has a route
 * @path: is filled in
 *
 * Return: 0, -EINVAL if the endpoint has no device, as one with %RDMA_EP_ASYNC that is not
 * resolved, or -ENODATA if it has no path record, as with iWARP
 */
int rdma_ep_path(struct rdma_ep *ep, struct sa_path_rec *path)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	int ret = PTR_ERR_OR_ZERO(call);

	if (!ret && IS_ERR_OR_NULL(path))
		ret = -EINVAL;
	ret = ret ?: ulp_begin(ep, ep_id_begin_bound);
	if (ret)
		return ret;
	/* Until the endpoint is resolved rdma_cm writes the record. */
	if (!ep->ibdev)
		ret = -EINVAL;
	else if (ep->id.cm_id->route.path_rec)
		*path = *ep->id.cm_id->route.path_rec;
	else
		ret = -ENODATA;
	return ulp_end(ep, ret);
}
EXPORT_SYMBOL_GPL(rdma_ep_path);

/**
 * rdma_ep_gids() - GIDs of an endpoint and its peer
 * @ep: endpoint with a device
 * @sgid: NULL, or the endpoint's is filled in
 * @dgid: NULL, or the peer's
 *
 * Return: 0, or -EINVAL if the endpoint has no device
 */
int rdma_ep_gids(struct rdma_ep *ep, union ib_gid *sgid, union ib_gid *dgid)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	int ret = PTR_ERR_OR_ZERO(call) ?: IS_ERR(sgid) || IS_ERR(dgid) ? -EINVAL :
		  ulp_begin(ep, ep_id_begin_bound);

	if (ret)
		return ret;
	rdma_read_gids(ep->id.cm_id, sgid, dgid);
	return ulp_end(ep, 0);
}
EXPORT_SYMBOL_GPL(rdma_ep_gids);
