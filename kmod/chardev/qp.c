// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "../compat.h"
#include "cm.h"
#include "verbs.h"

void uep_qp_event(struct ib_event *event, void *context)
{
	struct uep_qp *qp = context;

	/* Nobody's: see ep_qp_keep(). */
	if (!qp)
		return;
	uep_async_post(qp->ctx->async, &qp->async, event->event);
}

static struct uep_qp *uep_qp_of_res(struct ep_res *res)
{
	struct ep_qp *qp = container_of(res, struct ep_qp, res);

	return container_of(qp, struct uep_qp, qp);
}

/* Takes the locks that posts hold: afterwards none is in the driver. */
static void uep_qp_killing(struct ep_res *res)
{
	struct uep_qp *qp = uep_qp_of_res(res);

	qp->hw_key = (unsigned long)qp->qp.ibqp;
	uep_wq_stop(&qp->sq);
	uep_wq_stop(&qp->rq);
}

/* The same, for a while: who comes later sees the new state. */
static void uep_qp_quiet(struct ep_res *res)
{
	struct uep_qp *qp = uep_qp_of_res(res);

	uep_wq_pass(&qp->sq);
	uep_wq_pass(&qp->rq);
}

/* An XRC target has no CQs. */
static void uep_qp_drain(struct uep_qp *qp)
{
	if (qp->xrcd)
		return;
	uep_cq_drain(qp->recv_cq);
	if (qp->send_cq != qp->recv_cq)
		uep_cq_drain(qp->send_cq);
}

/* A reset empties the queues of the device: follow it. What had completed stays. */
static void uep_qp_forget_res(struct ep_res *res)
{
	struct uep_qp *qp = uep_qp_of_res(res);

	uep_qp_drain(qp);
	uep_wq_reset(&qp->sq);
	uep_wq_reset(&qp->rq);
}

/*
 * The QP is gone, but completions of it may still be in the CQs. Take them while
 * it is known whose they are.
 */
static void uep_qp_put_res(struct ep_res *res)
{
	struct uep_qp *qp = uep_qp_of_res(res);

	if (qp->sq.id || qp->rq.id || qp->srq)
		uep_qp_drain(qp);
	/* A new QP may have the address by now, and the number. */
	if (qp->srq)
		xa_cmpxchg(&qp->recv_cq->qps, qp->hw_key, qp, NULL, 0);
	uep_wq_free(&qp->sq);
	uep_wq_free(&qp->rq);
	uep_obj_put(&qp->obj);
}

static bool uep_qp_keep_res(struct ep_res *res)
{
	return uep_qp_keep(uep_qp_of_res(res));
}

static void uep_qp_hold_res(struct ep_res *res)
{
	uep_obj_get(&uep_qp_of_res(res)->obj);
}

static void uep_qp_unhold_res(struct ep_res *res)
{
	uep_obj_put(&uep_qp_of_res(res)->obj);
}

static const void *uep_qp_user_of_res(struct ep_res *res)
{
	return uep_qp_of_res(res)->obj.session->user;
}

static bool uep_qp_kept(struct ep_res *res)
{
	const struct uep_qp *qp = uep_qp_of_res(res);

	return qp->pd && atomic_read(&qp->pd->nr_deregs);
}

static unsigned long uep_qp_got_at(struct ep_res *res)
{
	return READ_ONCE(uep_qp_of_res(res)->recv_cq->polled_at);
}

const struct ep_res_ops uep_qp_res_ops = {
	.killing = uep_qp_killing,
	.quiet = uep_qp_quiet,
	.forget = uep_qp_forget_res,
	.keep = uep_qp_keep_res,
	.put = uep_qp_put_res,
	.hold = uep_qp_hold_res,
	.unhold = uep_qp_unhold_res,
	.user = uep_qp_user_of_res,
	.kept = uep_qp_kept,
	.got_at = uep_qp_got_at,
};

static void uep_qp_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	xa_cmpxchg(&obj->session->qps, qp->key, qp, NULL, 0);
	/* Being destroyed is no event. */
	out->events_reported = uep_async_purge(qp->ctx->async, &qp->async);
	ep_res_destroy(&qp->qp.res);
	if (qp->xrcd) {
		uep_obj_unuse(&qp->xrcd->obj);
		return;
	}
	if (qp->srq)
		uep_obj_unuse(&qp->srq->obj);
	uep_obj_unuse(&qp->recv_cq->obj);
	uep_obj_unuse(&qp->send_cq->obj);
	uep_obj_unuse(&qp->pd->obj);
}

static void uep_qp_free(struct uep_obj *obj)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	uep_wq_free(&qp->sq);
	uep_wq_free(&qp->rq);
	uep_past_add(&obj->session->past_sends, &qp->sq.traffic);
	uep_past_add(&obj->session->past_recvs, &qp->rq.traffic);
	ep_res_fini(&qp->qp.res);
	if (qp->xrcd) {
		uep_obj_put(&qp->xrcd->obj);
	} else {
		if (qp->srq)
			uep_obj_put(&qp->srq->obj);
		uep_obj_put(&qp->recv_cq->obj);
		uep_obj_put(&qp->send_cq->obj);
		uep_obj_put(&qp->pd->obj);
	}
	kfree_rcu(qp, obj.rcu);
}

/* Destroying it would detach it, but the user is to know what he does. */
static bool uep_qp_busy(struct uep_obj *obj)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	return READ_ONCE(qp->qp.nr_mcasts);
}

static int uep_qp_settle(struct uep_obj *obj)
{
	return ep_qp_settle(&container_of(obj, struct uep_qp, obj)->qp);
}

static void uep_qp_unclaim(struct uep_obj *obj)
{
	ep_qp_unsettle(&container_of(obj, struct uep_qp, obj)->qp);
	uep_obj_unclaimed(obj);
}

static const struct uep_obj_type uep_qp_type = {
	.type = RDMA_EP_OBJ_QP,
	.settle = uep_qp_settle,
	.unclaim = uep_qp_unclaim,
	.busy = uep_qp_busy,
	.destroy = uep_qp_destroy,
	.free = uep_qp_free,
};

/* A QP that the caller gives its parts, held for it, and hardware. */
struct uep_qp *uep_qp_alloc(struct uep_session *s, struct uep_ctx *ctx,
			    u64 uid, u64 queue_bytes)
{
	struct uep_qp *qp;

	qp = uep_obj_alloc(s, &uep_qp_type, sizeof(*qp), queue_bytes);
	if (IS_ERR(qp))
		return qp;
	qp->ctx = ctx;
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	uep_async_node_init(&qp->async, uid);
	return qp;
}

/*
 * QPs by device and number, of 24 bits. Where a long has 32, two devices have the same key
 * if 255 others have come between them: a caller that looks a QP up compares the device.
 */
static unsigned long uep_qp_key_of(const struct ep_dev *dev, u32 qp_num)
{
	return (unsigned long)dev->index << 24 | (qp_num & 0xffffff);
}

unsigned long uep_qp_key(const struct uep_qp *qp)
{
	return uep_qp_key_of(qp->ctx->dev, qp->qp.qp_num);
}

/* What a QP is made of: all held for it. */
struct uep_qp_parts {
	struct uep_pd *pd;
	struct uep_cq *send_cq;
	struct uep_cq *recv_cq;
	struct uep_srq *srq;
	bool of_id;
};

static void uep_qp_parts_release(struct uep_qp_parts *parts)
{
	if (parts->srq)
		uep_obj_unhold(&parts->srq->obj);
	if (parts->recv_cq)
		uep_obj_unhold(&parts->recv_cq->obj);
	if (parts->send_cq)
		uep_obj_unhold(&parts->send_cq->obj);
	uep_obj_unhold(&parts->pd->obj);
}

/* The CQ that the user named, or one made with a channel of its own. */
static struct uep_cq *uep_qp_cq(struct uep_cmd *cmd, struct uep_ctx *ctx,
				struct rdma_ep_auto_cq *arg, bool make, u32 cqe)
{
	struct uep_comp_channel *chan;
	struct uep_obj *obj;
	struct uep_cq *cq;
	bool ring;
	int ret;

	ring = arg->ring & RDMA_EP_CQ_RING;
	arg->channel_fd = -1;
	arg->cqe = 0;
	arg->ring = RDMA_EP_NO_RING;
	if (arg->cq) {
		obj = uep_obj_use(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
		if (!obj)
			return ERR_PTR(-ENOENT);
		cq = container_of(obj, struct uep_cq, obj);
		if (cq->ctx->dev == ctx->dev)
			return cq;
		uep_obj_unhold(obj);
		return ERR_PTR(-EINVAL);
	}
	if (!make)
		return ERR_PTR(-ENOENT);
	if (!cqe)
		return NULL;

	chan = uep_comp_create(cmd, &arg->channel_fd);
	if (IS_ERR(chan))
		return ERR_CAST(chan);
	cq = uep_cq_create(ctx, arg->uid, chan, cqe, 0, ring);
	if (IS_ERR(cq))
		return cq;
	ret = uep_cmd_add_obj(cmd, &cq->obj);
	if (ret)
		return ERR_PTR(ret);
	uep_obj_hold(&cq->obj);
	arg->cq = cq->obj.handle;
	arg->cqe = uep_cq_granted(cq);
	arg->ring = cq->ring.index;
	return cq;
}

/* For a queue that QPs of this type do not have. */
static void uep_qp_no_cq(struct rdma_ep_auto_cq *arg)
{
	arg->cq = 0;
	arg->channel_fd = -1;
	arg->cqe = 0;
	arg->ring = RDMA_EP_NO_RING;
}

static int uep_qp_srq(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
		      struct uep_id *id, struct uep_qp_parts *parts)
{
	struct uep_srq *srq;
	struct uep_obj *obj;

	if (init->srq) {
		obj = uep_obj_use(cmd->s, init->srq, RDMA_EP_OBJ_SRQ);
		if (!obj)
			return -ENOENT;
		srq = container_of(obj, struct uep_srq, obj);
	} else if (id && id->srq) {
		/* Not one whose command has not succeeded yet. */
		srq = id->srq;
		obj = uep_obj_use(cmd->s, srq->obj.handle, RDMA_EP_OBJ_SRQ);
		if (obj && obj != &srq->obj)
			uep_obj_unhold(obj);
		if (obj != &srq->obj)
			return 0;
	} else {
		return 0;
	}
	parts->srq = srq;
	/* An XRC SRQ is for the targets in its domain. */
	return srq->pd->ctx->dev == parts->pd->ctx->dev && !srq->xrcd ?
	       0 : -EINVAL;
}

static int uep_qp_find_parts(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
			     struct uep_id *id, struct uep_qp_parts *parts)
{
	struct uep_ctx *ctx = parts->pd->ctx;
	struct uep_cq *cq;
	int ret;

	if (init->qp_type == IB_QPT_XRC_INI) {
		init->max_recv_wr = 0;
		init->max_recv_sge = 0;
		uep_qp_no_cq(&init->recv_cq);
	} else {
		ret = uep_qp_srq(cmd, init, id, parts);
		if (ret)
			return ret;
		/* With an SRQ there is no receive queue that could be too large. */
		if (!parts->srq && (init->max_recv_wr > UEP_MAX_WR ||
				    init->max_recv_sge > UEP_MAX_SGE))
			return -EINVAL;
		cq = uep_qp_cq(cmd, ctx, &init->recv_cq, id,
			       init->max_recv_wr);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		parts->recv_cq = cq;
	}
	cq = uep_qp_cq(cmd, ctx, &init->send_cq, id, init->max_send_wr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	parts->send_cq = cq;
	/* A queue without entries gets no CQ, but drivers want to see one. */
	if (!parts->recv_cq && !parts->send_cq)
		return -EINVAL;
	if (!parts->recv_cq && uep_obj_hold(&parts->send_cq->obj))
		parts->recv_cq = parts->send_cq;
	if (!parts->send_cq && uep_obj_hold(&parts->recv_cq->obj))
		parts->send_cq = parts->recv_cq;
	return 0;
}

/* For outstanding READs, as many as the device has. */
static u64 uep_qp_read_bytes(const struct ib_device *ibdev, u32 qp_type)
{
	u32 size = ep_driver_of(ibdev)->read_bytes ?: 64;
	u32 nr = ibdev->attrs.max_qp_rd_atom;

	return qp_type == IB_QPT_RC && nr ? uep_queue_bytes(nr - 1, size) : 0;
}

static u64 uep_qp_bytes(const struct ib_device *ibdev,
			const struct rdma_ep_qp_init *init, bool has_rq)
{
	u32 send = 192 + sizeof(struct uep_slot) +
		   max_t(u32, init->max_inline_data,
			 init->max_send_sge * sizeof(struct ib_sge));
	u32 recv = 64 + sizeof(struct uep_slot) +
		   init->max_recv_sge * sizeof(struct ib_sge);

	return uep_queue_bytes(init->max_send_wr, send) +
	       (has_rq ? uep_queue_bytes(init->max_recv_wr, recv) : 0) +
	       uep_qp_read_bytes(ibdev, init->qp_type);
}

/*
 * A driver's send queue may hold more than it grants, as its size is rounded up.
 * There must be a slot for all that it holds and what is posted in one go.
 */
static u32 uep_qp_sq_slots(u32 max_send_wr)
{
	return max_send_wr ?
	       roundup_pow_of_two(max_send_wr + 1) + UEP_POST_BATCH : 0;
}

static int uep_qp_create_hw(struct uep_qp *qp, struct ib_qp_init_attr *attr)
{
	/* Of an attempt that has failed */
	ep_res_fini(&qp->qp.res);
	attr->cap = qp->wanted;
	return ep_qp_create(&qp->qp, qp->ctx->dev, qp->pd->pd.ibpd,
			    &uep_qp_res_ops, attr, KBUILD_MODNAME);
}

/* Called inside ep_dev_enter(); takes over the parts in any case. */
static struct uep_qp *uep_qp_new(struct uep_session *s,
				 const struct rdma_ep_qp_init *init,
				 struct uep_qp_parts *parts)
{
	struct ib_device *ibdev = parts->pd->ctx->dev->ibdev;
	struct ib_qp_init_attr attr = {
		.event_handler = uep_qp_event,
		.send_cq = parts->send_cq->hw->cq.ibcq,
		.recv_cq = init->qp_type == IB_QPT_XRC_INI ? NULL :
			   parts->recv_cq->hw->cq.ibcq,
		.srq = parts->srq ? parts->srq->srq.ibsrq : NULL,
		.cap = {
			.max_send_wr = init->max_send_wr,
			.max_recv_wr = parts->srq ? 0 : init->max_recv_wr,
			.max_send_sge = init->max_send_sge,
			.max_recv_sge = parts->srq ? 0 : init->max_recv_sge,
			.max_inline_data = init->max_inline_data,
		},
		.sq_sig_type = init->flags & RDMA_EP_QP_SQ_SIG_ALL ?
			       IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = init->qp_type,
	};
	struct uep_qp *qp;
	int ret;

	qp = uep_qp_alloc(s, parts->pd->ctx, init->uid,
			  uep_qp_bytes(ibdev, init, !parts->srq));
	if (IS_ERR(qp)) {
		uep_qp_parts_release(parts);
		return qp;
	}
	qp->pd = parts->pd;
	qp->send_cq = parts->send_cq;
	qp->recv_cq = parts->recv_cq;
	qp->srq = parts->srq;
	qp->of_id = parts->of_id;
	qp->max_sge_rd = ibdev->attrs.max_sge_rd;
	attr.qp_context = qp;
	if (!ep_dev_has(ibdev, EP_CAP_INLINE))
		attr.cap.max_inline_data = 0;
	if (ep_dev_has(ibdev, EP_CAP_SPLIT_SEND) && attr.cap.max_send_sge == 1)
		attr.cap.max_send_sge = 2;

	qp->wanted = attr.cap;

	uep_obj_get(&qp->obj);
	ret = uep_qp_use_again(qp, &attr);
	if (ret == -ENODEV)
		ret = uep_qp_create_hw(qp, &attr);
	/* Those that nobody uses are not to be in the user's way. */
	if (ret && ret != -EINVAL && uep_idle_flush_user(s->user))
		ret = uep_qp_create_hw(qp, &attr);
	if (ret) {
		uep_obj_put(&qp->obj);
		goto err;
	}
	if (!ep_dev_has(ibdev, EP_CAP_INLINE))
		qp->qp.cap.max_inline_data = 0;
	qp->key = uep_qp_key(qp);
	qp->sq.qp_num = qp->qp.qp_num;
	qp->rq.qp_num = qp->qp.qp_num;
	qp->sq.reads_apart = ep_dev_has(ibdev, EP_CAP_READS_APART);
	ret = uep_wq_init(&qp->sq, qp->obj.session,
			  uep_qp_sq_slots(qp->qp.cap.max_send_wr), true);
	if (!ret && !qp->srq)
		ret = uep_wq_init(&qp->rq, qp->obj.session,
				  qp->qp.cap.max_recv_wr, false);
	/* One that is going, with completions to drain, may have had the address. */
	if (!ret && qp->srq &&
	    xa_load(&qp->recv_cq->qps, (unsigned long)qp->qp.ibqp))
		uep_cq_drain(qp->recv_cq);
	if (!ret && qp->srq)
		ret = xa_err(xa_store(&qp->recv_cq->qps,
				      (unsigned long)qp->qp.ibqp, qp,
				      GFP_KERNEL_ACCOUNT));
	if (!ret)
		ret = xa_err(xa_store(&s->qps, qp->key, qp,
				      GFP_KERNEL_ACCOUNT));
	if (ret)
		goto err;
	return qp;

err:
	uep_obj_discard(&qp->obj);
	return ERR_PTR(ret);
}

/* What a valid port says about the messages that may be sent. */
void uep_qp_learn_port(struct uep_qp *qp, u32 port)
{
	struct ep_dev *dev = qp->ctx->dev;

	qp->max_msg_size = dev->max_msg_sz[port];
	qp->iwarp = rdma_protocol_iwarp(dev->ibdev, port);
	qp->prepare_send = dev->ops->prepare_send;
}

static int uep_qp_check_init(const struct rdma_ep_qp_init *init)
{
	if (init->flags & ~RDMA_EP_QP_SQ_SIG_ALL ||
	    (init->send_cq.ring | init->recv_cq.ring) & ~RDMA_EP_CQ_RING)
		return -EINVAL;
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		break;
	case IB_QPT_RAW_PACKET:
	case IB_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
	if (init->max_send_wr > UEP_MAX_WR ||
	    init->max_send_sge > UEP_MAX_SGE ||
	    init->max_inline_data > UEP_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* A new QP, inside ep_dev_enter(). */
static struct uep_qp *uep_qp_build(struct uep_cmd *cmd,
				   struct rdma_ep_qp_init *init,
				   struct uep_id *id, int *srcu)
{
	struct uep_qp_parts parts = { .of_id = id };
	struct uep_qp *qp;
	struct ep_dev *dev;
	int ret;

	parts.pd = uep_pd_enter(cmd->s, init->pd, id, srcu);
	if (IS_ERR(parts.pd))
		return ERR_CAST(parts.pd);
	dev = parts.pd->ctx->dev;
	kref_get(&dev->ref);
	if ((init->qp_type == IB_QPT_XRC_INI && !ep_dev_has(dev->ibdev, EP_CAP_XRC)) ||
	    (init->qp_type != IB_QPT_RC && rdma_protocol_iwarp(dev->ibdev, 1)))
		ret = -EOPNOTSUPP;
	else if (id && !ep_id_suits_qp(&id->id, init->qp_type))
		ret = -EINVAL;
	else
		ret = uep_qp_find_parts(cmd, init, id, &parts);
	if (ret) {
		uep_qp_parts_release(&parts);
		qp = ERR_PTR(ret);
	} else {
		qp = uep_qp_new(cmd->s, init, &parts);
	}
	if (IS_ERR(qp))
		ep_dev_exit(dev, *srcu);
	ep_dev_put(dev);
	return qp;
}

/**
 * uep_qp_make - create a QP with what belongs to it
 * @cmd: command; the QP and CQs that are made become part of its results
 * @init: attributes, in and out
 * @id: id that the QP is to belong to, between ep_id_begin_bound() and
 *	ep_id_end(), or NULL
 *
 * Return: 0 or an errno of &struct rdma_ep_create_qp
 */
int uep_qp_make(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
		struct uep_id *id)
{
	struct uep_qp *qp;
	struct ep_dev *dev;
	int srcu, ret;

	ret = uep_qp_check_init(init);
	if (ret)
		return ret;
	if (init->qp_type == IB_QPT_XRC_TGT) {
		uep_qp_no_cq(&init->send_cq);
		uep_qp_no_cq(&init->recv_cq);
		qp = uep_target_create(cmd->s, init, id, &srcu);
	} else {
		qp = uep_qp_build(cmd, init, id, &srcu);
	}
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	dev = qp->ctx->dev;
	kref_get(&dev->ref);
	/* Ports of a device do not differ in this until one is chosen. */
	uep_qp_learn_port(qp, id ? id->id.cm_id->port_num :
			  rdma_start_port(dev->ibdev));
	if (id)
		ret = ep_id_attach_qp(&id->id, &qp->qp);
	if (ret) {
		uep_obj_discard(&qp->obj);
		goto out;
	}
	if (id)
		uep_cmd_own(cmd, id);
	ret = uep_cmd_add_obj(cmd, &qp->obj);
	if (ret)
		goto out;

	init->pd = qp->xrcd ? qp->xrcd->obj.handle : qp->pd->obj.handle;
	init->max_send_wr = qp->qp.cap.max_send_wr;
	init->max_recv_wr = qp->qp.cap.max_recv_wr;
	init->max_send_sge = qp->qp.cap.max_send_sge;
	init->max_recv_sge = qp->qp.cap.max_recv_sge;
	init->max_inline_data = qp->qp.cap.max_inline_data;
	init->qp = qp->obj.handle;
	init->qp_num = qp->qp.qp_num;
	init->state = qp->qp.state;
out:
	ep_dev_exit(dev, srcu);
	ep_dev_put(dev);
	return ret;
}

int uep_create_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_create_qp *arg = cmd->arg;
	struct uep_id *id;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->id)
		return uep_qp_make(cmd, &arg->init, NULL);
	id = uep_id_begin_bound(cmd->s, arg->id);
	return IS_ERR(id) ? PTR_ERR(id) :
			    uep_id_end(id, uep_qp_make(cmd, &arg->init, id));
}

/* The session's QP of that number on the device, with a reference, or NULL. */
struct uep_qp *uep_qp_by_num(struct uep_session *s, struct ep_dev *dev,
			     u32 qp_num)
{
	struct uep_qp *qp;

	if (qp_num > 0xffffff)
		return NULL;
	rcu_read_lock();
	qp = xa_load(&s->qps, uep_qp_key_of(dev, qp_num));
	if (qp && (qp->ctx->dev != dev ||
		   !kref_get_unless_zero(&qp->obj.ref)))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}
