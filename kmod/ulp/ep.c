// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: creation, destruction, events, and what there is to know of one.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>

#include "../engine/trace.h"
#include "ulp.h"

/* As long as librdmacm's rdma_create_ep() waits */
#define ULP_TIMEOUT_MS	2000

/* Our own notice of the removal, or rdma_cm's: whichever comes first. */
static void ulp_ep_removed(struct rdma_ep *ep)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DEVICE_REMOVAL };

	if (test_and_set_bit(ULP_EP_REMOVED, &ep->flags))
		return;
	ulp_over(ep, -ENODEV);
	set_bit(ULP_EP_OVER, &ep->flags);
	ulp_report(ep, &event, -ENODEV);
}

/*
 * rdma_cm calls the peer unreachable, too, when the hardware address of a neighbour with its
 * IP address changes, also in another namespace. Any user can cause that. The connection is
 * as good as before.
 */
static bool ulp_of_neighbour(const struct ep_id *id,
			     const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_UNREACHABLE &&
	       current_work() == &id->cm_id->net_work;
}

/* With the handler locked */
void ulp_id_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	struct rdma_ep *ep = container_of(id, struct rdma_ep, id);
	int error = ulp_end_of(event);

	if (ulp_of_neighbour(id, event))
		return;
	switch (event->event) {
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ulp_ep_removed(ep);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		set_bit(ULP_EP_ESTABLISHED, &ep->flags);
		/* Only now it can be disconnected. */
		if (test_bit(ULP_EP_ABORTED, &ep->flags)) {
			ulp_queue_work(ep);
			return;
		}
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		set_bit(ULP_EP_DISCONNECTED, &ep->flags);
		break;
	default:
		break;
	}
	if (!error) {
		/* Nothing follows the end: %RDMA_CM_EVENT_TIMEWAIT_EXIT would. */
		if (!test_bit(ULP_EP_OVER, &ep->flags))
			ulp_report(ep, event, 0);
		return;
	}
	ulp_over(ep, error);
	ulp_report_end(ep, event);
}

static void ulp_hold_get(struct ep_dev_user *hold)
{
	kref_get(&container_of(hold, struct rdma_ep, hold)->ref);
}

static void ulp_hold_removed(struct ep_dev_user *hold)
{
	struct rdma_ep *ep = container_of(hold, struct rdma_ep, hold);

	ulp_ep_removed(ep);
	ulp_ep_put(ep);
}

static const struct ep_id_ops ulp_id_ops;

/* Number of endpoints so far */
static atomic_t ulp_eps;

/* An endpoint without id and channel. It keeps the module. */
static struct rdma_ep *ulp_ep_new(const char *caller)
{
	struct rdma_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	__module_get(THIS_MODULE);
	kref_init(&ep->ref);
	refcount_set(&ep->users, 1);
	init_completion(&ep->unused);
	INIT_WORK(&ep->work, ulp_work);
	ep_id_init(&ep->id, &ulp_id_ops);
	ep->id.number = atomic_inc_return(&ulp_eps);
	ep->hold.owner = caller;
	ep->hold.get = ulp_hold_get;
	ep->hold.removed = ulp_hold_removed;
	ep->caller = caller;
	mutex_init(&ep->lock);
	mutex_init(&ep->deliver);
	return ep;
}

/* Destroys an endpoint, once its owner has given it up. */
void ulp_ep_end(struct rdma_ep *ep)
{
	ulp_ep_close(ep);
	ulp_destroy_qp(ep);
	if (ep->srq)
		ulp_srq_put(ep->srq);
	if (ep->own_pd)
		ep_dev_put_pd(ep->hold.dev, ep->own_pd);
	ulp_ep_release(ep);
}

/**
 * rdma_ep_destroy() - destroy an endpoint
 * @ep: endpoint; nothing is done if it is NULL or an ERR_PTR
 *
 * Disconnects if need be, without waiting for the peer, or rejects. Waits for calls
 * of other threads on the endpoint, which are woken, and for everything that has
 * been posted to its QP to complete: on return no callback and no completion handler
 * of the endpoint runs or will run, and its QP and CQs are gone. Receives in an
 * SRQ do not complete; one that has just now may be lost with an own CQ, or still be
 * in one of the caller's, so its handler must not count on the endpoint. Connection
 * requests that nobody has taken are refused. The SRQ stays until the last of the
 * endpoints that came from this one is destroyed, too; QPs of others that receive from it
 * must have been destroyed by then. CQs that the caller gave must
 * be in a state to run handlers. See rdma_destroy_ep(3).
 *
 * Return: 0, or -EDEADLK; then nothing has been done
 */
int rdma_ep_destroy(struct rdma_ep *ep)
{
	int ret;

	if (IS_ERR_OR_NULL(ep))
		return 0;
	ret = ulp_check_context(ep, true, _RET_IP_);
	if (!ret)
		ulp_ep_end(ep);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_ep_destroy);

/* A new endpoint for a request, with a channel of its own as long as it is nobody's. */
static struct rdma_ep *ulp_child_new(const struct rdma_ep *listener,
				     const struct rdma_cm_id *cm_id,
				     const struct rdma_cm_event *event)
{
	struct rdma_ep *child = ulp_ep_new(listener->caller);

	if (!child)
		return NULL;
	if (listener->request_qp) {
		child->request_qp = kmemdup(listener->request_qp,
					    sizeof(*child->request_qp),
					    GFP_KERNEL);
		if (!child->request_qp)
			goto err;
	}
	if (ulp_migrate(child, NULL) || ulp_ep_bind(child, cm_id))
		goto err;
	child->local = cm_id->route.addr.src_addr;
	child->peer = cm_id->route.addr.dst_addr;
	child->context = listener->context;
	child->responder_resources = event->param.conn.responder_resources;
	child->initiator_depth = event->param.conn.initiator_depth;
	return child;

err:
	ulp_ep_end(child);
	return NULL;
}

static int ulp_new_request(struct rdma_ep *ep, struct rdma_cm_id *cm_id,
			   const struct rdma_cm_event *event)
{
	struct rdma_ep *child;
	struct ulp_event *ev;
	int ret = -ENOMEM;

	child = ulp_child_new(ep, cm_id, event);
	if (!child)
		return -ENOMEM;
	ev = ulp_event_new(ep, event, 0);
	if (!ev)
		goto err;
	ev->pub.child = child;
	ret = ulp_deliver_request(ep, ev, cm_id);
	if (!ret)
		return 0;
	ulp_event_free(ev);
err:
	ulp_ep_end(child);
	return ret;
}

static int ulp_id_request(struct ep_id *id, struct rdma_cm_id *cm_id,
			  const struct rdma_cm_event *event)
{
	/* To release memory may take a consumer that waits for the CM. */
	unsigned int noio = memalloc_noio_save();
	int ret;

	ret = ulp_new_request(container_of(id, struct rdma_ep, id), cm_id,
			      event);
	memalloc_noio_restore(noio);
	return ret;
}

static const struct ep_id_ops ulp_id_ops = {
	.request = ulp_id_request,
	.event = ulp_id_event,
	.get_qp = ulp_get_qp,
	.put_qp = ulp_put_qp,
	.wait_state = TASK_KILLABLE,
};

static int ulp_copy_addr(struct sockaddr_storage *dst,
			 const struct sockaddr *src)
{
	int len = src ? rdma_addr_size((struct sockaddr *)src) : 0;

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, len);
	return src && !len ? -EINVAL : 0;
}

static int ulp_resolve(struct rdma_ep *ep, const struct rdma_ep_attr *attr)
{
	unsigned int timeout = attr->timeout_ms ?: ULP_TIMEOUT_MS;
	struct sockaddr_storage src, dst;
	int ret;

	if (ulp_copy_addr(&src, attr->src) || ulp_copy_addr(&dst, attr->dst))
		return -EINVAL;
	if (attr->dst)
		return ep_id_resolve(&ep->id,
				     attr->src ? (struct sockaddr *)&src : NULL,
				     (struct sockaddr *)&dst, timeout, timeout);
	ret = ep_id_begin(&ep->id);
	if (ret)
		return ret;
	ret = rdma_bind_addr(ep->id.cm_id, (struct sockaddr *)&src);
	trace_rdma_ep_bind_addr(&ep->id, NULL, ret);
	ep_id_end(&ep->id);
	return ret;
}

static int ulp_ep_bound(struct rdma_ep *ep)
{
	int ret;

	ret = ep_id_begin(&ep->id);
	if (ret)
		return ret;
	ret = ulp_ep_bind(ep, ep->id.cm_id);
	ep->local = ep->id.cm_id->route.addr.src_addr;
	ep->peer = ep->id.cm_id->route.addr.dst_addr;
	ep_id_end(&ep->id);
	return ret ?: ulp_ep_hold(ep);
}

static enum rdma_ucm_port_space ulp_port_space(const struct rdma_ep_attr *attr)
{
	if (attr->ps)
		return attr->ps;
	return attr->qp && attr->qp->init.qp_type == IB_QPT_UD ? RDMA_PS_UDP :
								 RDMA_PS_TCP;
}

/* With a channel of its own, so that nobody hears of it too soon. */
static int ulp_ep_setup(struct rdma_ep *ep, const struct rdma_ep_attr *attr)
{
	enum rdma_ucm_port_space ps = ulp_port_space(attr);
	enum ib_qp_type qp_type = ps == RDMA_PS_UDP ? IB_QPT_UD : IB_QPT_RC;
	int ret;

	if (attr->qp && attr->qp->init.qp_type == IB_QPT_UC && ps == RDMA_PS_TCP)
		qp_type = IB_QPT_UC;
	ret = ulp_migrate(ep, NULL);
	if (ret)
		return ret;
	ret = ep_id_create_kernel(&ep->id, attr->net, ps, qp_type, ep->caller);
	if (ret)
		return ret;
	ret = ulp_resolve(ep, attr);
	if (!ret)
		ret = ulp_ep_bound(ep);
	if (ret || !attr->qp)
		return ulp_errno(ep, ret);
	if (attr->dst)
		return ulp_create_qp(ep, attr->qp);
	ep->request_qp = kmemdup(attr->qp, sizeof(*attr->qp), GFP_KERNEL);
	return ep->request_qp ? 0 : -ENOMEM;
}

static int ulp_check_attr(const struct rdma_ep_attr *attr)
{
	if (IS_ERR_OR_NULL(attr->net) || IS_ERR(attr->src) ||
	    IS_ERR(attr->dst) || (!attr->src && !attr->dst) ||
	    IS_ERR(attr->qp) || IS_ERR(attr->channel) ||
	    (attr->channel && attr->channel->private))
		return -EINVAL;
	switch ((int)attr->ps) {
	case 0:
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
		return 0;
	default:
		return -EINVAL;
	}
}

struct rdma_ep *__rdma_ep_create(const struct rdma_ep_attr *attr,
				 const char *caller)
{
	struct rdma_ep *ep;
	int ret;

	if (IS_ERR_OR_NULL(attr) || ulp_check_attr(attr))
		return ERR_PTR(-EINVAL);
	ret = ulp_check_context(NULL, false, _RET_IP_);
	if (ret)
		return ERR_PTR(ret);
	ep = ulp_ep_new(caller);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->context = attr->context;
	ret = ulp_ep_setup(ep, attr);
	if (!ret) {
		if (attr->channel)
			ulp_migrate(ep, attr->channel);
		return ep;
	}
	ulp_ep_end(ep);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(__rdma_ep_create);

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
 * Return: event, or NULL
 */
const struct rdma_cm_event *rdma_ep_event(const struct rdma_ep *ep)
{
	const struct ulp_event *ev = IS_ERR_OR_NULL(ep) ? NULL :
							  READ_ONCE(ep->last);

	return ev ? &ev->pub.cm : NULL;
}
EXPORT_SYMBOL_GPL(rdma_ep_event);

/**
 * rdma_ep_context() - the caller's own pointer
 * @ep: endpoint
 *
 * Return: what was given to rdma_ep_create() or rdma_ep_set_context()
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
