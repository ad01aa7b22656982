// SPDX-License-Identifier: GPL-2.0-only
/* Shared receive queues. */
#include <linux/log2.h>

#include "verbs.h"

/* With a ring: completion handlers, also those that run in a post to a QP, take the lock. */
static struct lock_class_key uep_srq_wq_key;

static void uep_srq_event(struct ib_event *event, void *context)
{
	struct uep_srq *srq = context;

	uep_node_post(srq->pd->ctx->async, &srq->async, event->event);
}

static void uep_srq_before_destroy(struct ep_res *res)
{
	struct uep_srq *srq = res->owner;

	uep_wq_stop(&srq->wq);
	uep_recv_ring_stop(srq);
}

static void uep_srq_destroyed(struct ep_res *res)
{
	struct uep_srq *srq = res->owner;

	/* Takes completions of XRC receives out of the CQ, while they can be resolved. */
	if (srq->cq)
		uep_cq_drain(srq->cq);
	uep_wq_free(&srq->wq);
}

static const struct ep_res_ops uep_srq_res_ops = {
	.before_destroy = uep_srq_before_destroy,
	.destroyed = uep_srq_destroyed,
	.get = uep_obj_get_res,
	.put = uep_obj_put_res,
};

static void uep_srq_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_srq *srq = container_of(obj, struct uep_srq, obj);

	/* From here on no task is changing the SRQ, or its queue_bytes. */
	scoped_guard(mutex, &srq->modify_lock)
		srq->dead = true;
	out->events_reported = uep_node_purge(srq->pd->ctx->async, &srq->async);
}

static void uep_srq_free(struct uep_obj *obj)
{
	struct uep_srq *srq = container_of(obj, struct uep_srq, obj);

	uep_recv_ring_free(srq);
	uep_past_add(&obj->session->past_recvs, &srq->wq.traffic);
}

static const struct uep_obj_type uep_srq_type = {
	.type = RDMA_EP_OBJ_SRQ,
	.res = offsetof(struct uep_srq, srq.res),
	.destroy = uep_srq_destroy,
	.free = uep_srq_free,
};

static u64 uep_srq_bytes(u32 max_wr, u32 max_sge)
{
	return uep_hw_queue_bytes(max_wr, 64 + 2 * sizeof(struct uep_slot) +
				  max_sge * sizeof(struct ib_sge));
}

/* Sets domain and CQ of an XRC SRQ. */
static int uep_srq_find_xrc(struct uep_srq *srq, struct ib_srq_init_attr *attr,
			    const struct rdma_ep_cmd_create_srq *arg)
{
	if (!srq->obj.dev->ibdev->ops.alloc_xrcd)
		return -EOPNOTSUPP;
	srq->xrcd = uep_obj_use_for(&srq->obj, arg->xrcd, RDMA_EP_OBJ_XRCD);
	if (IS_ERR(srq->xrcd))
		return PTR_ERR(srq->xrcd);
	srq->cq = uep_obj_use_for(&srq->obj, arg->cq, RDMA_EP_OBJ_CQ);
	if (IS_ERR(srq->cq))
		return PTR_ERR(srq->cq);
	srq->wq.xrcd = &srq->xrcd->xrcd;
	attr->srq_type = IB_SRQT_XRC;
	attr->ext.xrc.xrcd = srq->xrcd->xrcd.ibxrcd;
	attr->ext.cq = srq->cq->hw->cq.ibcq;
	return 0;
}

/* Called inside ep_dev_enter(). */
struct uep_srq *uep_srq_create(struct uep_pd *pd, struct rdma_ep_cmd_create_srq *arg)
{
	struct ib_srq_init_attr attr = {
		.event_handler = uep_srq_event,
		.attr = {
			.max_wr = arg->max_wr,
			.max_sge = arg->max_sge,
			.srq_limit = arg->srq_limit,
		},
		.srq_type = IB_SRQT_BASIC,
	};
	struct uep_srq *srq = ERR_PTR(-EINVAL);
	int ret;

	if (arg->max_wr <= UEP_MAX_WR && arg->max_sge <= UEP_MAX_SGE &&
	    arg->max_sge <= pd->obj.dev->ibdev->attrs.max_srq_sge)
		srq = uep_obj_alloc_in(&pd->obj, &uep_srq_type, sizeof(*srq),
				       uep_srq_bytes(arg->max_wr, arg->max_sge));
	if (IS_ERR(srq))
		return srq;
	srq->pd = pd;
	mutex_init(&srq->modify_lock);
	spin_lock_init(&srq->ring.lock);
	srq->ring.mem.index = RDMA_EP_NO_RING;
	uep_node_init(&srq->async, &srq->obj, arg->uid);
	attr.srq_context = srq;
	if (arg->srq_type == IB_SRQT_XRC) {
		ret = uep_srq_find_xrc(srq, &attr, arg);
		if (ret)
			goto out;
	}

	ret = ep_srq_create(&srq->srq, pd->obj.dev, pd->pd.ibpd, &uep_srq_res_ops, &attr);
	if (ret)
		goto out;
	/* Twice: a receive keeps its slot until its completion has been polled. */
	ret = uep_wq_init(&srq->wq, srq->obj.session, 2 * srq->srq.attr.max_wr, false);
	/* QPs of other sessions receive from an XRC SRQ. */
	if (!ret && (arg->flags & RDMA_EP_RECV_RING) && !srq->xrcd &&
	    ep_dev_has(pd->obj.dev->ibdev, EP_CAP_RECV_RING)) {
		lockdep_set_class(&srq->wq.lock, &uep_srq_wq_key);
		ret = uep_recv_ring_create(srq, arg->srq_limit);
	}
out:
	return uep_obj_created(&srq->obj, ret);
}

static_assert((int)RDMA_EP_SRQ_MAX_WR == IB_SRQ_MAX_WR);
static_assert((int)RDMA_EP_SRQ_LIMIT == IB_SRQ_LIMIT);

/* Posts the ring's receives first. Meanwhile the ring is used as both sizes and limits allow. */
static int uep_srq_modify_hw(struct uep_srq *srq, struct ib_srq_attr *attr,
			     enum ib_srq_attr_mask mask)
{
	u32 old_max_wr = srq->ring.max_wr, old_limit = srq->ring.srq_limit;
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : old_max_wr;
	u32 srq_limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : old_limit;
	int ret;

	uep_recv_ring_resize(srq, min(max_wr, old_max_wr), max(srq_limit, old_limit));
	ret = uep_recv_ring_close(srq) ?: ib_modify_srq(srq->srq.ibsrq, attr, mask);
	if (ret)
		uep_recv_ring_resize(srq, old_max_wr, old_limit);
	else if (!ib_query_srq(srq->srq.ibsrq, attr))
		uep_recv_ring_resize(srq, attr->max_wr, srq_limit);
	return ret;
}

static int uep_srq_modify(struct uep_srq *srq, struct rdma_ep_cmd_srq_attr *arg)
{
	struct ib_srq_attr attr = {
		.max_wr = arg->max_wr,
		.srq_limit = arg->srq_limit,
	};
	struct uep_session *s = srq->obj.session;
	u64 bytes;
	int ret;

	if (arg->flags & RDMA_EP_SRQ_MAX_WR) {
		if (!arg->max_wr || arg->max_wr > UEP_MAX_WR ||
		    arg->max_wr > srq->obj.dev->ibdev->attrs.max_srq_wr)
			return -EINVAL;
		bytes = uep_srq_bytes(arg->max_wr, srq->srq.attr.max_sge);
		ret = uep_charge(s, 1, bytes);
		if (ret)
			return ret;
		/* First: there must be as many slots as the device's queue has entries. */
		ret = uep_wq_grow(&srq->wq, 2 * roundup_pow_of_two(arg->max_wr + 1));
		/* Slots are not given back, so the charge does not fall. */
		if (!ret && bytes > srq->obj.queue_bytes)
			swap(bytes, srq->obj.queue_bytes);
		uep_uncharge(s, 1, bytes);
		if (ret)
			return ret;
	}
	return arg->flags ? uep_srq_modify_hw(srq, &attr, arg->flags) : 0;
}

static int uep_srq_query(struct uep_srq *srq, struct rdma_ep_cmd_srq_attr *arg)
{
	struct ib_srq_attr attr = {};
	int ret = ib_query_srq(srq->srq.ibsrq, &attr);

	if (ret)
		return ret;
	arg->max_wr = attr.max_wr;
	arg->max_sge = attr.max_sge;
	arg->srq_limit = attr.srq_limit;
	return 0;
}

static int uep_srq_call(struct uep_cmd *cmd,
			int (*fn)(struct uep_srq *srq, struct rdma_ep_cmd_srq_attr *arg))
{
	struct rdma_ep_cmd_srq_attr *arg = cmd->arg;
	struct uep_srq *srq;
	int srcu, ret = -EIO;

	srq = uep_obj_enter(cmd->s, arg->srq, RDMA_EP_OBJ_SRQ, &srcu);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	scoped_guard(mutex, &srq->modify_lock)
		if (!srq->dead)
			ret = fn(srq, arg);
	return uep_obj_exit(&srq->obj, srcu, ret);
}

int uep_modify_srq(struct uep_cmd *cmd)
{
	return uep_srq_call(cmd, uep_srq_modify);
}

int uep_query_srq(struct uep_cmd *cmd)
{
	return uep_srq_call(cmd, uep_srq_query);
}
