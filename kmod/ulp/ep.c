// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: creation, destruction, events.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "../engine/trace.h"
#include "ulp.h"

/* As long as librdmacm's rdma_create_ep() waits */
#define ULP_TIMEOUT_MS	2000
#define ULP_FLAGS	(RDMA_EP_DUAL_STACK | RDMA_EP_REUSEADDR | RDMA_EP_ASYNC)
/* The timers of IB have five bits. */
#define ULP_MAX_TIMER	31

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

/* With the handler locked */
static void ulp_id_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	struct rdma_ep *ep = container_of(id, struct rdma_ep, id);
	int error = ulp_end_of(event);

	if (ep_id_of_neighbour(id, event))
		return;
	switch (event->event) {
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ulp_ep_removed(ep);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		set_bit(ULP_EP_ESTABLISHED, &ep->flags);
		/*
		 * Only now it can be disconnected. rdma_ep_abort() sets its bit before the work
		 * item, in ulp_leave_peer(), reads this one.
		 */
		smp_mb__after_atomic();
		if (test_bit(ULP_EP_ABORTED, &ep->flags)) {
			ulp_queue_work(ep);
			return;
		}
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		if (ulp_mcast_event(ep, event))
			return;
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		set_bit(ULP_EP_ADDR, &ep->flags);
		ulp_queue_work(ep);
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		set_bit(ULP_EP_ROUTE, &ep->flags);
		ulp_queue_work(ep);
		return;
	default:
		break;
	}
	if (!error) {
		ulp_report(ep, event, 0);
		return;
	}
	/* A peer rejects if it has not confirmed (ulp_comm_est()), or if the answer was lost. */
	if (event->event == RDMA_CM_EVENT_DISCONNECTED || test_bit(ULP_EP_ESTABLISHED, &ep->flags))
		set_bit(ULP_EP_DISCONNECTED, &ep->flags);
	ulp_over(ep, error);
	ulp_report_end(ep, event);
}

/* A completion handler that gets a flushed request reads the status. */
static void ulp_id_failing(struct ep_id *id, int error)
{
	struct rdma_ep *ep = container_of(id, struct rdma_ep, id);

	cmpxchg(&ep->status, 0, error);
}

static void ulp_hold_get(struct ep_dev_user *hold)
{
	refcount_inc(&container_of(hold, struct rdma_ep, hold)->ref);
}

static void ulp_hold_removed(struct ep_dev_user *hold)
{
	struct rdma_ep *ep = container_of(hold, struct rdma_ep, hold);

	ulp_ep_removed(ep);
	ulp_ep_put(ep);
}

static const struct ep_id_ops ulp_id_ops;
static void ulp_work(struct work_struct *work);

/* Number of endpoints so far */
static atomic_t ulp_eps;

/* An endpoint without id and channel. It keeps the module. @child: of a request */
static struct rdma_ep *ulp_ep_new(const char *caller, struct lock_class_key *keys, bool child)
{
	struct rdma_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	__module_get(THIS_MODULE);
	refcount_set(&ep->ref, 1);
	refcount_set(&ep->users, 1);
	init_completion(&ep->unused);
	INIT_WORK(&ep->work, ulp_work);
	ep_id_init(&ep->id, &ulp_id_ops);
	ep->id.number = atomic_inc_return(&ulp_eps);
	ep->keys = keys;
	lockdep_init_map(&ep->callbacks, "rdma_ep_callbacks", keys + child, 0);
	ep->hold.owner = caller;
	ep->hold.get = ulp_hold_get;
	ep->hold.removed = ulp_hold_removed;
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->mcasts);
	init_waitqueue_head(&ep->slots_wait);
	mutex_init(&ep->deliver);
	/* That of a listener is held around that of a request. */
	lockdep_set_subclass(&ep->deliver, child);
	return ep;
}

/* Destroys an endpoint, once its owner has given it up. */
void ulp_ep_destroy(struct rdma_ep *ep)
{
	ulp_ep_close(ep);
	ulp_leave_all(ep);
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
 * Disconnects if need be, without waiting for the peer, or rejects. Waits for calls of other
 * threads on the endpoint, which are woken, for its callbacks, and for everything that has been
 * posted to its QP to complete: on return no callback and no completion handler of the
 * endpoint runs or will run, and its QP and CQs have been destroyed. So the caller holds no
 * lock that its event callback, its &rdma_ep_end_fn or one of its completion handlers takes:
 * they would wait for each other. Where such a lock is held, call rdma_ep_abort() and destroy
 * the endpoint later.
 *
 * Receives in an SRQ do not complete; one that has just now may be lost with an own CQ, or
 * still be in one of the caller's, so its handler must not count on the endpoint. Sends that
 * such a handler posts while the endpoint is being destroyed may not complete either. Connection
 * requests that were not taken are refused. The SRQ stays until the last of the endpoints that
 * came from this one is destroyed, too; QPs of others that receive from it must have been
 * destroyed by then. CQs that the caller gave must be in a state to run handlers. See
 * rdma_destroy_ep(3).
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
		ulp_ep_destroy(ep);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_ep_destroy);

/* Also of a request that is new, with the handler locked */
static int ulp_set_options(const struct rdma_ep *ep, struct rdma_cm_id *cm_id)
{
	int ret = 0;

	/* rdma_cm warns of it. */
	if ((ep->ack_timeout || ep->min_rnr_timer) && cm_id->qp_type != IB_QPT_RC)
		return -EINVAL;
	if (ep->tos)
		rdma_set_service_type(cm_id, ep->tos);
	if (ep->ack_timeout)
		ret = rdma_set_ack_timeout(cm_id, ep->ack_timeout);
	if (!ret && ep->min_rnr_timer)
		ret = rdma_set_min_rnr_timer(cm_id, ep->min_rnr_timer);
	return ret;
}

/* @attr: for a QP that is made later, or NULL */
static int ulp_keep_qp_attr(struct rdma_ep *ep, const struct rdma_ep_qp_attr *attr)
{
	if (!attr)
		return 0;
	ep->request_qp = kmemdup(attr, sizeof(*attr), GFP_KERNEL);
	return ep->request_qp ? 0 : -ENOMEM;
}

/* A new endpoint for a request, with a channel of its own until it is taken. */
static struct rdma_ep *ulp_child_new(const struct rdma_ep *listener, struct rdma_cm_id *cm_id,
				     const struct rdma_cm_event *event)
{
	struct rdma_ep *child = ulp_ep_new(listener->hold.owner, listener->keys, true);

	if (!child)
		return NULL;
	if (ulp_keep_qp_attr(child, listener->request_qp) || ulp_migrate(child, NULL) ||
	    ulp_ep_find_dev(child, cm_id) || ulp_set_options(listener, cm_id))
		goto err;
	child->local = cm_id->route.addr.src_addr;
	child->peer = cm_id->route.addr.dst_addr;
	child->context = listener->context;
	child->responder_resources = event->param.conn.responder_resources;
	child->initiator_depth = event->param.conn.initiator_depth;
	return child;

err:
	ulp_ep_destroy(child);
	return NULL;
}

static int ulp_id_request(struct ep_id *id, struct rdma_cm_id *cm_id,
			  const struct rdma_cm_event *event)
{
	struct rdma_ep *ep = container_of(id, struct rdma_ep, id), *child;
	struct ulp_event *ev;
	int ret = -ENOMEM;

	guard(ulp_noio)();
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
	ulp_ep_destroy(child);
	return ret;
}

static const struct ep_id_ops ulp_id_ops = {
	.request = ulp_id_request,
	.event = ulp_id_event,
	.failing = ulp_id_failing,
	.get_qp = ulp_get_qp,
	.put_qp = ulp_put_qp,
	.get_mcast = ulp_get_mcast,
	.put_mcast = ulp_put_mcast,
	.wait_state = TASK_KILLABLE,
};

static int ulp_bind(struct rdma_ep *ep, u32 flags, struct sockaddr *src)
{
	struct rdma_cm_id *cm_id = ep->id.cm_id;
	int ret = 0;

	/* A listener on 0.0.0.0 can have the same port then. */
	if (src->sa_family == AF_INET6 && ipv6_addr_any(&((struct sockaddr_in6 *)src)->sin6_addr))
		ret = rdma_set_afonly(cm_id, !(flags & RDMA_EP_DUAL_STACK));
	if (!ret)
		ret = rdma_bind_addr(cm_id, src);
	trace_rdma_ep_bind_addr(&ep->id, NULL, ret);
	return ret;
}

static int ulp_resolve(struct rdma_ep *ep, const struct rdma_ep_attr *attr)
{
	struct sockaddr_storage src, dst;
	struct sockaddr *from = NULL;
	int ret;

	if ((attr->src && ulp_copy_addr(&src, attr->src)) ||
	    (attr->dst && ulp_copy_addr(&dst, attr->dst)))
		return -EINVAL;
	if (attr->src)
		from = (struct sockaddr *)&src;
	ret = ep_id_begin(&ep->id);
	if (ret)
		return ret;
	ret = ulp_set_options(ep, ep->id.cm_id);
	if (!ret && (attr->flags & RDMA_EP_REUSEADDR))
		ret = rdma_set_reuseaddr(ep->id.cm_id, 1);
	if (!ret && !attr->dst)
		ret = ulp_bind(ep, attr->flags, from);
	else if (!ret && (attr->flags & RDMA_EP_ASYNC))
		ret = ep_id_resolve_addr(&ep->id, from, (struct sockaddr *)&dst, ep->resolve_ms);
	ep_id_end(&ep->id);
	if (ret || !attr->dst || (attr->flags & RDMA_EP_ASYNC))
		return ret;
	return ep_id_resolve(&ep->id, from, (struct sockaddr *)&dst,
			     ep->resolve_ms, ep->resolve_ms);
}

static int ulp_ep_bound(struct rdma_ep *ep)
{
	int ret;

	ret = ulp_begin(ep, ep_id_begin);
	if (ret)
		return ret;
	ret = ulp_ep_find_dev(ep, ep->id.cm_id);
	ep->local = ep->id.cm_id->route.addr.src_addr;
	ep->peer = ep->id.cm_id->route.addr.dst_addr;
	ep_id_end(&ep->id);
	return ret ?: ulp_ep_hold(ep);
}

static int ulp_resolve_route(struct rdma_ep *ep)
{
	return ulp_begin(ep, ep_id_begin_bound) ?:
	       ulp_errno(ep, ulp_end(ep, ep_id_resolve_route(&ep->id, ep->resolve_ms)));
}

static int ulp_route_resolved(struct rdma_ep *ep)
{
	static const struct rdma_cm_event resolved = {
		.event = RDMA_CM_EVENT_ROUTE_RESOLVED,
	};
	int ret;

	mutex_lock(&ep->lock);
	ret = ulp_ep_bound(ep);
	if (!ret && ep->request_qp)
		ret = ulp_create_qp(ep, ep->request_qp);
	mutex_unlock(&ep->lock);
	if (!ret)
		ulp_report(ep, &resolved, 0);
	return ret;
}

/* The next step of an endpoint that is resolved without waiting. In its work item */
static void ulp_resolve_next(struct rdma_ep *ep)
{
	int ret = 0;

	if (test_and_clear_bit(ULP_EP_ADDR, &ep->flags))
		ret = ulp_resolve_route(ep);
	if (!ret && test_and_clear_bit(ULP_EP_ROUTE, &ep->flags))
		ret = ulp_route_resolved(ep);
	/* After an abort ulp_finish() reports the end. */
	if (ret && !test_bit(ULP_EP_ABORTED, &ep->flags))
		ulp_failed(ep, RDMA_CM_EVENT_ROUTE_ERROR, ret);
}

static void ulp_work(struct work_struct *work)
{
	struct rdma_ep *ep = container_of(work, struct rdma_ep, work);

	guard(ulp_noio)();
	/* Not of an endpoint that has been destroyed, and it waits for this. */
	if (refcount_inc_not_zero(&ep->users)) {
		ulp_resolve_next(ep);
		ulp_finish(ep);
		ulp_exit(ep);
	}
	ulp_ep_put(ep);
}

static enum rdma_ucm_port_space ulp_port_space(const struct rdma_ep_attr *attr)
{
	if (attr->ps)
		return attr->ps;
	return attr->qp && attr->qp->init.qp_type == IB_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static enum ib_qp_type ulp_qp_type(const struct rdma_ep_attr *attr, enum rdma_ucm_port_space ps)
{
	enum ib_qp_type qp_type = attr->qp ? attr->qp->init.qp_type : IB_QPT_RC;

	if (ps == RDMA_PS_UDP)
		return IB_QPT_UD;
	return qp_type == IB_QPT_UC || (qp_type == IB_QPT_UD && ps == RDMA_PS_IB) ?
	       qp_type : IB_QPT_RC;
}

/* With a channel of its own at first: no callback runs before the caller has the endpoint. */
static int ulp_ep_setup(struct rdma_ep *ep, const struct rdma_ep_attr *attr)
{
	enum rdma_ucm_port_space ps = ulp_port_space(attr);
	bool later = !attr->dst || (attr->flags & RDMA_EP_ASYNC);
	int ret;

	ep->passive = !attr->dst;
	ep->resolve_ms = attr->timeout_ms ?: ULP_TIMEOUT_MS;
	ep->tos = attr->tos;
	ep->ack_timeout = attr->ack_timeout;
	ep->min_rnr_timer = attr->min_rnr_timer;
	ret = ulp_keep_qp_attr(ep, later ? attr->qp : NULL) ?: ulp_migrate(ep, NULL) ?:
	      ep_id_open(&ep->id, __rdma_create_kernel_id(attr->net, ep_id_handler, &ep->id, ps,
							  ulp_qp_type(attr, ps), ep->hold.owner));
	if (ret)
		return ret;
	ep->qp_type = ep->id.cm_id->qp_type;
	ret = ulp_resolve(ep, attr);
	if (!ret && !(attr->flags & RDMA_EP_ASYNC))
		ret = ulp_ep_bound(ep);
	if (ret || !attr->qp || later)
		return ulp_errno(ep, ret);
	return ulp_create_qp(ep, attr->qp);
}

static int ulp_check_attr(const struct rdma_ep_attr *attr)
{
	if (IS_ERR_OR_NULL(attr->net) || IS_ERR(attr->src) || IS_ERR(attr->dst) ||
	    (!attr->src && !attr->dst) || IS_ERR(attr->qp) || IS_ERR(attr->channel) ||
	    (attr->channel && attr->channel->private))
		return -EINVAL;
	if ((attr->flags & ~ULP_FLAGS) || attr->ack_timeout > ULP_MAX_TIMER ||
	    attr->min_rnr_timer > ULP_MAX_TIMER || (!attr->dst && (attr->flags & RDMA_EP_ASYNC)))
		return -EINVAL;
	switch ((int)attr->ps) {
	case 0:
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IB:
		return 0;
	default:
		return -EINVAL;
	}
}

struct rdma_ep *__rdma_ep_create(const struct rdma_ep_attr *attr, const char *caller,
				 struct lock_class_key *keys)
{
	struct rdma_ep *ep;
	int ret;

	if (IS_ERR_OR_NULL(attr) || ulp_check_attr(attr))
		return ERR_PTR(-EINVAL);
	ret = ulp_check_context(NULL, false, _RET_IP_);
	if (ret)
		return ERR_PTR(ret);
	ep = ulp_ep_new(caller, keys, false);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->context = attr->context;
	ret = ulp_ep_setup(ep, attr);
	if (!ret) {
		if (attr->channel)
			ulp_migrate(ep, attr->channel);
		return ep;
	}
	ulp_ep_destroy(ep);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(__rdma_ep_create);
