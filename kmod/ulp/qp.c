// SPDX-License-Identifier: GPL-2.0-only
/*
 * An endpoint's QP and its CQs.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "ulp.h"

/* For ib_drain_sq() and ib_drain_rq(): a work request, and two completions */
#define ULP_DRAIN_WR	1
#define ULP_DRAIN_CQE	2
/* Work requests of an rdma_rw context at most: registration, access, invalidation */
#define ULP_RW_CTX_WR	3
#define ULP_QP_FLAGS	(RDMA_EP_QP_ONE_CQ | RDMA_EP_QP_POOL_CQ | RDMA_EP_QP_VECTOR)

/*
 * By the hardware object, whose qp_context is the consumer's: completion handlers
 * find their connection there.
 */
static DEFINE_XARRAY(ulp_qps);

static void ulp_qp_event(struct ib_event *event, void *context)
{
	struct ulp_qp *qp = xa_load(&ulp_qps, (unsigned long)event->element.qp);
	struct ulp_callback cb;

	if (!qp)
		return;
	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete_all(&qp->last_wqe);
		break;
	case IB_EVENT_COMM_EST:
		set_bit(ULP_EP_COMM_EST, &qp->ep->flags);
		ulp_queue_work(qp->ep);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rdma_ep_abort(qp->ep, -EIO);
		break;
	default:
		break;
	}
	if (!qp->event_handler)
		return;
	ulp_callback_begin(&cb, NULL);
	qp->event_handler(event, context);
	ulp_callback_end(&cb);
}

void ulp_get_qp(struct ep_qp *qp)
{
	refcount_inc(&container_of(qp, struct ulp_qp, qp)->ref);
}

void ulp_put_qp(struct ep_qp *qp)
{
	struct ulp_qp *ulp_qp = container_of(qp, struct ulp_qp, qp);

	if (!refcount_dec_and_test(&ulp_qp->ref))
		return;
	ep_res_fini(&qp->res);
	kfree(ulp_qp);
}

static void ulp_qp_free_parts(struct ulp_qp *qp)
{
	if (qp->drain_ah)
		rdma_destroy_ah(qp->drain_ah, RDMA_DESTROY_AH_SLEEPABLE);
	/* ib_free_cq() waits for the work item that runs the CQ's handlers. */
	ulp_wait_cq_begin();
	if (qp->pool_cqe)
		ib_cq_pool_put(qp->send_cq, qp->pool_cqe);
	if (qp->own_send_cq)
		ib_free_cq(qp->send_cq);
	if (qp->own_recv_cq)
		ib_free_cq(qp->recv_cq);
	ulp_wait_cq_end();
}

/* One that ib_alloc_cq() has made: others cannot be drained. */
static bool ulp_cq_ok(const struct rdma_ep *ep, const struct ib_cq *cq)
{
	return !IS_ERR(cq) && cq->device == ep->ibdev && cq->wc;
}

static struct ib_cq *ulp_cq_new(struct rdma_ep *ep, u32 depth, const struct rdma_ep_qp_attr *attr)
{
	u32 vector = attr->comp_vector % ep->ibdev->num_comp_vectors;

	if (depth > ep->ibdev->attrs.max_cqe - ULP_DRAIN_CQE)
		return ERR_PTR(-EINVAL);
	if (attr->flags & RDMA_EP_QP_VECTOR)
		return __ib_alloc_cq(ep->ibdev, ep, depth + ULP_DRAIN_CQE,
				     vector, attr->poll_ctx, ep->hold.owner);
	return __ib_alloc_cq_any(ep->ibdev, ep, depth + ULP_DRAIN_CQE, attr->poll_ctx,
				 ep->hold.owner);
}

/* Both queues get one CQ, which other QPs use as well. */
static int ulp_qp_pool_cq(struct rdma_ep *ep, struct ulp_qp *qp,
			  const struct rdma_ep_qp_attr *attr, u32 depth)
{
	int hint = attr->flags & RDMA_EP_QP_VECTOR ? attr->comp_vector : -1;
	struct ib_cq *cq;

	depth += 2 * ULP_DRAIN_CQE;
	if (depth > ep->ibdev->attrs.max_cqe)
		return -EINVAL;
	cq = ib_cq_pool_get(ep->ibdev, depth, hint, attr->poll_ctx);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->send_cq = cq;
	qp->recv_cq = cq;
	qp->pool_cqe = depth;
	return 0;
}

/* The CQ that the caller gave, or a new one, or, for no queue, none. */
static int ulp_qp_cq(struct rdma_ep *ep, const struct rdma_ep_qp_attr *attr,
		     struct ib_cq *given, u32 depth, struct ib_cq **cq, bool *own)
{
	if (given) {
		*cq = given;
		return ulp_cq_ok(ep, given) ? 0 : -EINVAL;
	}
	if (!depth)
		return 0;
	*cq = ulp_cq_new(ep, depth, attr);
	if (IS_ERR(*cq))
		return PTR_ERR(*cq);
	*own = true;
	return 0;
}

/* ib_create_qp() adds those of the rdma_rw contexts, as far as the device can. */
static u32 ulp_qp_max_send_wr(const struct rdma_ep *ep, const struct ib_qp_cap *cap)
{
	return min_t(u64, cap->max_send_wr + (u64)ULP_RW_CTX_WR * cap->max_rdma_ctxs,
		     ep->ibdev->attrs.max_qp_wr);
}

/* ulp_qp_free_parts() follows, also if this fails. */
static int ulp_qp_get_parts(struct rdma_ep *ep, struct ulp_qp *qp,
			    const struct rdma_ep_qp_attr *attr, const struct ib_qp_init_attr *init)
{
	u32 send = ulp_qp_max_send_wr(ep, &init->cap);
	u32 recv = init->cap.max_recv_wr;
	int ret;

	/* The QP may get all that is in the SRQ. */
	if (!recv && init->srq && init->srq == ulp_ibsrq(ep))
		recv = ep->srq->srq.attr.max_wr;
	/* The depth of the caller's SRQ is unknown here. */
	if (!recv && init->srq && !init->recv_cq)
		return -EINVAL;
	/*
	 * Receives from an SRQ are not drained. In one CQ their completions are
	 * in front of the last one of the send queue, which is drained: see
	 * ulp_drain_shared(). In a CQ of their own made here, their end would be unknown.
	 */
	if (init->srq && init->send_cq && !init->recv_cq)
		return -EINVAL;
	if ((init->srq || (attr->flags & RDMA_EP_QP_ONE_CQ)) && !init->recv_cq && !init->send_cq) {
		recv += send ? send + ULP_DRAIN_CQE : 0;
		send = 0;
	}
	qp->pd = ulp_pd(ep, attr->pd);
	if (IS_ERR(qp->pd))
		return PTR_ERR(qp->pd);
	if (attr->flags & RDMA_EP_QP_POOL_CQ)
		return ulp_qp_pool_cq(ep, qp, attr, recv + send);
	ret = ulp_qp_cq(ep, attr, init->recv_cq, recv, &qp->recv_cq, &qp->own_recv_cq);
	if (!ret)
		ret = ulp_qp_cq(ep, attr, init->send_cq, send, &qp->send_cq, &qp->own_send_cq);
	if (ret)
		return ret;
	/* A queue without entries gets no CQ, but drivers want to see one. */
	qp->recv_cq = qp->recv_cq ?: qp->send_cq;
	qp->send_cq = qp->send_cq ?: qp->recv_cq;
	return 0;
}

/* The attributes for the driver */
static int ulp_qp_init_attr(struct rdma_ep *ep, const struct ib_qp_init_attr *given,
			    struct ib_qp_init_attr *init)
{
	const struct ib_device_attr *attrs = &ep->ibdev->attrs;
	const u32 max_wr = attrs->max_qp_wr - ULP_DRAIN_WR;

	*init = *given;
	init->srq = given->srq ?: ulp_ibsrq(ep);
	if (IS_ERR(init->srq) || (init->srq && init->srq->device != ep->ibdev))
		return -EINVAL;
	/* With an SRQ, max_recv_wr is the depth of the CQ. */
	if (init->cap.max_send_wr > max_wr ||
	    init->cap.max_recv_wr > (init->srq ? attrs->max_cqe : max_wr))
		return -EINVAL;
	/* No queue at all, whichever CQs it would have */
	if (!init->srq && !init->cap.max_recv_wr && !init->cap.max_send_wr &&
	    !init->cap.max_rdma_ctxs)
		return -EINVAL;
	init->event_handler = ulp_qp_event;
	/* Only the endpoint has that of a request for a listener on all devices. */
	init->port_num = given->port_num ?: ep->port;
	return 0;
}

static void ulp_qp_destroy_hw(struct ulp_qp *qp)
{
	/* Before another QP can be there. */
	xa_erase(&ulp_qps, (unsigned long)qp->qp.ibqp);
	ep_res_destroy(&qp->qp.res);
}

/* Where it leads does not matter, but drivers want one: to ourselves. */
static int ulp_qp_get_drain_ah(struct rdma_ep *ep, struct ulp_qp *qp)
{
	const struct ib_gid_attr *sgid = ep->id.cm_id->route.addr.dev_addr.sgid_attr;
	struct rdma_ah_attr attr = {
		.type = rdma_ah_find_type(ep->ibdev, ep->port),
	};
	union ib_gid gid;
	struct ib_ah *ah;

	if (!sgid)
		return -EADDRNOTAVAIL;
	gid = sgid->gid;
	rdma_ah_set_port_num(&attr, ep->port);
	rdma_ah_set_grh(&attr, &gid, 0, sgid->index, 1, 0);
	ah = rdma_create_ah(qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	qp->drain_ah = ah;
	return 0;
}

/* Called between ep_id_begin_bound() and ep_id_end() of the id. */
static int ulp_qp_make_hw(struct rdma_ep *ep, struct ulp_qp *qp, struct rdma_ep_qp_attr *attr)
{
	const struct ib_qp_cap wanted = attr->init.cap;
	struct ib_qp_init_attr init;
	int ret;

	ret = ulp_qp_init_attr(ep, &attr->init, &init);
	if (ret)
		return ret;
	ret = ulp_qp_get_parts(ep, qp, attr, &init);
	if (ret)
		goto err_parts;
	init.send_cq = qp->send_cq;
	init.recv_cq = qp->recv_cq;
	/* With an SRQ the send queue is drained for both. */
	if (wanted.max_send_wr || wanted.max_rdma_ctxs || init.srq)
		init.cap.max_send_wr += ULP_DRAIN_WR;
	if (init.srq) {
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	} else if (wanted.max_recv_wr) {
		init.cap.max_recv_wr += ULP_DRAIN_WR;
	}
	ret = ep_qp_create(&qp->qp, ep->hold.dev, qp->pd, NULL, &init, ep->hold.owner);
	if (ret)
		goto err_parts;
	ret = xa_err(xa_store(&ulp_qps, (unsigned long)qp->qp.ibqp, qp, GFP_KERNEL));
	if (!ret && init.qp_type == IB_QPT_UD)
		ret = ulp_qp_get_drain_ah(ep, qp);
	if (ret)
		goto err_qp;
	ret = ep_id_attach_qp(&ep->id, &qp->qp);
	/* It has no other QP: the CM has none of the state that a QP needs. */
	if (ret == -EINVAL)
		ret = -ENOTCONN;
	if (ret)
		goto err_qp;
	attr->init.cap = qp->qp.cap;
	/* Drivers round up, but the CQs are as deep as the caller wanted. */
	attr->init.cap.max_send_wr = wanted.max_send_wr;
	attr->init.cap.max_recv_wr = wanted.max_recv_wr;
	/* With an SRQ the driver was not given the caller's. */
	if (init.srq)
		attr->init.cap.max_recv_sge = wanted.max_recv_sge;
	qp->granted = attr->init.cap;
	return 0;

err_qp:
	ulp_qp_destroy_hw(qp);
err_parts:
	ulp_qp_free_parts(qp);
	return ret;
}

static int ulp_qp_check(const struct rdma_ep *ep, const struct rdma_ep_qp_attr *attr)
{
	if (IS_ERR_OR_NULL(attr) || IS_ERR(attr->init.send_cq) || IS_ERR(attr->init.recv_cq) ||
	    attr->poll_ctx > IB_POLL_DIRECT || (attr->flags & ~ULP_QP_FLAGS))
		return -EINVAL;
	if ((attr->flags & RDMA_EP_QP_POOL_CQ) &&
	    (attr->init.send_cq || attr->init.recv_cq || attr->poll_ctx == IB_POLL_DIRECT))
		return -EINVAL;
	return attr->init.qp_type == ep->qp_type ? 0 : -EINVAL;
}

/* Called with ep->lock held, or before the endpoint has an owner. */
int ulp_create_qp(struct rdma_ep *ep, struct rdma_ep_qp_attr *attr)
{
	struct ulp_qp *qp;
	int ret;

	ret = ep->qp || !ep->ibdev ? -EINVAL : ulp_begin(ep, ep_id_begin_bound);
	if (ret)
		return ret;
	ret = ulp_qp_check(ep, attr);
	if (ret)
		goto out;
	ret = -ENOMEM;
	qp = kzalloc(sizeof(*qp), GFP_KERNEL);
	if (!qp)
		goto out;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->last_wqe);
	qp->event_handler = attr->init.event_handler;
	qp->ep = ep;
	ret = ulp_qp_make_hw(ep, qp, attr);
	if (ret) {
		ulp_put_qp(&qp->qp);
		goto out;
	}
	ep->slots_free = attr->slots_free;
	WRITE_ONCE(ep->max_slots, qp->granted.max_send_wr);
	atomic_set(&ep->slots, qp->granted.max_send_wr);
	WRITE_ONCE(ep->poll_sends, qp->send_cq->poll_ctx == IB_POLL_DIRECT);
	WRITE_ONCE(ep->cq_work[0], &qp->send_cq->work);
	WRITE_ONCE(ep->cq_work[1], &qp->recv_cq->work);
	WRITE_ONCE(ep->qp, qp);
	/*
	 * ulp_fail_qp() may have run before the id had the QP: then it has held ep_id.link_lock
	 * before ep_id_set_qp(), so the status is visible here.
	 */
	if (READ_ONCE(ep->status))
		ulp_queue_work(ep);
out:
	return ulp_end(ep, ret);
}

/**
 * rdma_ep_create_qp() - make a QP for an endpoint
 * @ep: endpoint that is bound to a device, does not listen and has no QP
 * @attr: attributes; NULL: those that the listener had whose request it is
 *
 * The QP is in state INIT on return, or RTS if unconnected. The handlers of its CQs run
 * for requests of the caller only. See rdma_create_qp(3).
 *
 * Return: 0, or
 * * -EINVAL: the endpoint has a QP or no device; PD, CQ or SRQ are of another
 *   device; a CQ is not from ib_alloc_cq(), or given for the sends alone although there
 *   is an SRQ; the type is not the port space's; more is wanted than the device can, or
 *   no queue at all
 * * -ENOTCONN: the peer has taken its request back, or the connection has failed or ended
 * * -EADDRNOTAVAIL: unconnected, and without a GID, as with an address of AF_IB
 * * -ENOMEM, and other errors of the driver
 */
int rdma_ep_create_qp(struct rdma_ep *ep, struct rdma_ep_qp_attr *attr)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	if (IS_ERR(call))
		return PTR_ERR(call);
	guard(mutex)(&ep->lock);
	return ep->id.listening ? -EINVAL : ulp_create_qp(ep, attr ?: ep->request_qp);
}
EXPORT_SYMBOL_GPL(rdma_ep_create_qp);

/* Called with ep->lock held, or when no other task uses the endpoint */
void ulp_destroy_qp(struct rdma_ep *ep)
{
	struct ulp_qp *qp = ep->qp;

	if (!qp)
		return;
	ulp_drain_qp(ep);
	WRITE_ONCE(ep->qp, NULL);
	ulp_qp_destroy_hw(qp);
	ulp_qp_free_parts(qp);
	/* Handlers have run until now. */
	WRITE_ONCE(ep->cq_work[0], NULL);
	WRITE_ONCE(ep->cq_work[1], NULL);
	WRITE_ONCE(ep->max_slots, 0);
	atomic_set(&ep->slots, 0);
	WRITE_ONCE(ep->poll_sends, false);
	ulp_put_qp(&qp->qp);
}

/* -EINVAL: there is no QP */
static int ulp_call_qp(struct rdma_ep *ep, void (*fn)(struct rdma_ep *ep))
{
	guard(mutex)(&ep->lock);
	if (!ep->qp)
		return -EINVAL;
	fn(ep);
	return 0;
}

/**
 * rdma_ep_drain() - wait for all completions of an endpoint
 * @ep: endpoint with a QP
 *
 * Requests of the QP complete, with %IB_WC_WR_FLUSH_ERR if they have not been carried out,
 * and on return the completion handlers have run. The QP stays, in ERR: later posts complete
 * in the same way, so the caller makes sure that there are none. A connection is not
 * disconnected, but iWARP's ends with the state RTS. Receives from an SRQ count if the QP has
 * taken them. The wait is for the device and for the caller's handlers, not for the peer, and
 * no signal ends it. Handlers of a CQ of %IB_POLL_DIRECT run in the calling task here, in
 * rdma_ep_destroy_qp() and in rdma_ep_destroy(); they make only calls that are allowed in any
 * context.
 *
 * Return: 0, or -EINVAL if there is no QP
 */
int rdma_ep_drain(struct rdma_ep *ep)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	return PTR_ERR_OR_ZERO(call) ?: ulp_call_qp(ep, ulp_drain_qp);
}
EXPORT_SYMBOL_GPL(rdma_ep_drain);

/**
 * rdma_ep_destroy_qp() - destroy an endpoint's QP
 * @ep: endpoint
 *
 * When all that has been posted to it has completed; see rdma_ep_destroy(). Calls
 * that use the QP must have ended. See rdma_destroy_qp(3).
 *
 * Return: 0, or -EINVAL if there is none
 */
int rdma_ep_destroy_qp(struct rdma_ep *ep)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);

	return PTR_ERR_OR_ZERO(call) ?: ulp_call_qp(ep, ulp_destroy_qp);
}
EXPORT_SYMBOL_GPL(rdma_ep_destroy_qp);
