// SPDX-License-Identifier: GPL-2.0-only
/*
 * An endpoint's SRQ, and the PD of its QP and SRQ.
 */
#include <linux/slab.h>

#include "ulp.h"

/*
 * @pd: the caller's, or NULL: the one of the calling module on the device. The endpoint, which
 * holds the device, keeps that from the first use on: consumers destroy their memory regions
 * after the QP.
 */
struct ib_pd *ulp_pd(struct rdma_ep *ep, struct ib_pd *pd)
{
	if (pd)
		return IS_ERR(pd) || pd->device != ep->ibdev ? ERR_PTR(-EINVAL) : pd;
	if (!ep->own_pd) {
		pd = ep_dev_get_pd(ep->hold.dev, ep->hold.owner);
		if (IS_ERR(pd))
			return pd;
		ep->own_pd = pd;
	}
	return ep->own_pd;
}

static void ulp_srq_event(struct ib_event *event, void *context)
{
	struct ulp_srq *srq = context;
	struct ulp_callback cb;

	if (!srq->event_handler)
		return;
	ulp_callback_begin(&cb, NULL);
	srq->event_handler(event, srq->context);
	ulp_callback_end(&cb);
}

void ulp_srq_put(struct ulp_srq *srq)
{
	if (!refcount_dec_and_test(&srq->ref))
		return;
	ep_res_destroy(&srq->srq.res);
	if (srq->pd_dev)
		ep_dev_put_pd(srq->pd_dev, srq->pd);
	ep_res_fini(&srq->srq.res);
	kfree_rcu(srq, rcu);
}

static struct ulp_srq *ulp_srq_new(struct rdma_ep *ep, struct ib_pd *pd,
				   struct ib_srq_init_attr *attr)
{
	struct ib_srq_init_attr init = *attr;
	struct ulp_srq *srq;
	int ret;

	srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	if (!srq)
		return ERR_PTR(-ENOMEM);
	refcount_set(&srq->ref, 1);
	srq->event_handler = attr->event_handler;
	srq->context = attr->srq_context;
	srq->pd = ulp_pd(ep, pd);
	ret = PTR_ERR_OR_ZERO(srq->pd);
	if (ret)
		goto err;
	init.event_handler = ulp_srq_event;
	init.srq_context = srq;
	ret = ep_srq_create(&srq->srq, ep->hold.dev, srq->pd, NULL, &init);
	if (ret)
		goto err;
	/* It may outlive the endpoint. (This cannot fail: the PD exists.) */
	if (!pd) {
		ep_dev_get_pd(ep->hold.dev, ep->hold.owner);
		srq->pd_dev = ep->hold.dev;
	}
	attr->attr = srq->srq.attr;
	return srq;

err:
	ep_res_fini(&srq->srq.res);
	kfree(srq);
	return ERR_PTR(ret);
}

/**
 * rdma_ep_create_srq() - make a shared receive queue for an endpoint
 * @ep: endpoint that is bound to a device and has no SRQ
 * @pd: PD, or NULL; see &struct rdma_ep_qp_attr
 * @attr: as for ib_create_srq(), of type %IB_SRQT_BASIC; the granted attributes
 *	are written back
 *
 * QPs that are made for the endpoint and for its requests receive from it. See
 * rdma_create_srq(3).
 *
 * Return: 0, or
 * * -EINVAL: the endpoint has an SRQ or is not bound to a device, the PD is of
 *   another one, or more is wanted than the device can
 * * -EOPNOTSUPP: the device has no SRQs, or none of that type
 * * -ENOMEM
 */
int rdma_ep_create_srq(struct rdma_ep *ep, struct ib_pd *pd, struct ib_srq_init_attr *attr)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	struct ulp_srq *srq;
	int ret;

	if (IS_ERR(call))
		return PTR_ERR(call);
	guard(mutex)(&ep->lock);
	ret = ulp_check_alive(ep);
	if (ret)
		return ret;
	if (IS_ERR_OR_NULL(attr) || ep->srq || !ep->ibdev)
		return -EINVAL;
	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	srq = ulp_srq_new(ep, pd, attr);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	guard(mutex)(&ep->deliver);
	smp_store_release(&ep->srq, srq);	/* accessors read it unlocked */
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_create_srq);

/* With the endpoint's deliver lock held, so that no request shares it meanwhile */
static bool ulp_srq_busy(const struct rdma_ep *ep, const struct ulp_srq *srq)
{
	const struct ib_srq *ibsrq = srq->srq.ibsrq;

	if (ep->qp && ep->qp->qp.ibqp->srq == ibsrq)
		return true;
	return refcount_read(&srq->ref) == 1 && atomic_read(&ibsrq->usecnt);
}

/**
 * rdma_ep_destroy_srq() - let go of an endpoint's SRQ
 * @ep: endpoint
 *
 * It is destroyed when the endpoints that share it have done so, too, or have been
 * destroyed. Buffers of its receives are then the caller's again. See
 * rdma_destroy_srq(3).
 *
 * Return: 0, -EINVAL if it has none, or -EBUSY if the endpoint's QP uses it, or if it
 * would be destroyed and QPs of endpoints that do not share it use it
 */
int rdma_ep_destroy_srq(struct rdma_ep *ep)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	struct ulp_srq *srq;

	if (IS_ERR(call))
		return PTR_ERR(call);
	guard(mutex)(&ep->lock);
	scoped_guard(mutex, &ep->deliver) {
		srq = ep->srq;
		if (!srq)
			return -EINVAL;
		if (ulp_srq_busy(ep, srq))
			return -EBUSY;
		WRITE_ONCE(ep->srq, NULL);
	}
	ulp_srq_put(srq);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_ep_destroy_srq);
