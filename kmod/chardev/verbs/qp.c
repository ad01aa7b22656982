// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs. */
#include "verbs.h"

void uep_qp_event(struct ib_event *event, void *context)
{
	struct uep_qp *qp = context;

	uep_node_post(qp->ctx->async, &qp->async, event->event);
}

/* On return no post calls the driver. */
static void uep_qp_before_destroy(struct ep_res *res)
{
	struct uep_qp *qp = res->owner;

	qp->hw_key = uep_qp_hw_key(qp->qp.ibqp);
	uep_wq_stop(&qp->sq);
	uep_wq_stop(&qp->rq);
}

/* On return each running post has read the new state. */
static void uep_qp_stop_posts(struct ep_res *res)
{
	struct uep_qp *qp = res->owner;

	uep_wq_sync(&qp->sq);
	uep_wq_sync(&qp->rq);
}

/* XRC targets have no CQs. Returns whether no completion of a receive is left on the device. */
static bool uep_qp_drain(struct uep_qp *qp)
{
	bool empty;

	if (qp->xrcd)
		return true;
	empty = uep_cq_drain(qp->recv_cq);
	if (qp->send_cq != qp->recv_cq)
		uep_cq_drain(qp->send_cq);
	return empty;
}

/* A reset has emptied the device's queues. Completions that it made before are kept. */
static void uep_qp_reap(struct ep_res *res)
{
	struct uep_qp *qp = res->owner;

	uep_recv_ring_reset_qp(qp, uep_qp_drain(qp));
	uep_wq_reset(&qp->sq);
	uep_wq_reset(&qp->rq);
}

/* Takes the QP's completions out of the CQs, while they can be resolved. */
static void uep_qp_destroyed(struct ep_res *res)
{
	struct uep_qp *qp = res->owner;

	if (qp->sq.id || qp->rq.id || qp->srq)
		uep_recv_ring_del_qp(qp, uep_qp_drain(qp));
	/* A new QP may have the address. */
	if (qp->srq)
		xa_cmpxchg(&qp->recv_cq->qps, qp->hw_key, qp, NULL, 0);
	uep_wq_free(&qp->sq);
	uep_wq_free(&qp->rq);
}

static const void *uep_qp_user(struct ep_res *res)
{
	const struct uep_qp *qp = res->owner;

	return qp->obj.session->user;
}

static bool uep_qp_dereg_pending(struct ep_res *res)
{
	const struct uep_qp *qp = res->owner;

	return qp->pd && atomic_read(&qp->pd->nr_deregs);
}

const struct ep_res_ops uep_qp_res_ops = {
	.before_destroy = uep_qp_before_destroy,
	.stop_posts = uep_qp_stop_posts,
	.reap = uep_qp_reap,
	.destroyed = uep_qp_destroyed,
	.get = uep_obj_get_res,
	.put = uep_obj_put_res,
	.user = uep_qp_user,
	.dereg_pending = uep_qp_dereg_pending,
};

/*
 * QPs by device and number, which has 24 bits. Those of the first device have small keys, which
 * need few levels of the tree. On 32-bit machines devices whose indexes differ by a multiple of 256
 * have the same keys, so lookups compare the device, and of two QPs with one key the second is not
 * created.
 */
static unsigned long uep_qp_key_of(const struct ep_dev *dev, u32 qp_num)
{
	return (unsigned long)(dev->index - 1) << 24 | (qp_num & 0xffffff);
}

unsigned long uep_qp_key(const struct uep_qp *qp)
{
	return uep_qp_key_of(qp->obj.dev, qp->qp.qp_num);
}

static void uep_qp_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	xa_cmpxchg(&obj->session->qps, uep_qp_key(qp), qp, NULL, 0);
	out->events_reported = uep_node_purge(qp->ctx->async, &qp->async);
}

static void uep_qp_free(struct uep_obj *obj)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);
	atomic64_t *past = qp->ctx->account->past;

	uep_past_add(&obj->session->past_sends, &qp->sq.traffic);
	uep_past_add(&obj->session->past_recvs, &qp->rq.traffic);
	atomic64_add(qp->sq.traffic.posted - qp->sq.reads.posted, &past[UEP_SENT]);
	atomic64_add(qp->sq.traffic.bytes - qp->sq.reads.bytes, &past[UEP_SENT_BYTES]);
	atomic64_add(qp->sq.reads.posted, &past[UEP_READ]);
	atomic64_add(qp->sq.reads.bytes, &past[UEP_READ_BYTES]);
}

/* As with uverbs a QP in a multicast group is destroyed only with RDMA_EP_DESTROY_DETACH. */
static bool uep_qp_busy(struct uep_obj *obj)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	return READ_ONCE(qp->qp.nr_mcasts);
}

static int uep_qp_settle(struct uep_obj *obj)
{
	return ep_qp_begin_destroy(&container_of(obj, struct uep_qp, obj)->qp);
}

static void uep_qp_unclaim(struct uep_obj *obj)
{
	ep_qp_cancel_destroy(&container_of(obj, struct uep_qp, obj)->qp);
	uep_obj_drop_claim(obj);
}

static void uep_qp_publish(struct uep_obj *obj)
{
	WRITE_ONCE(container_of(obj, struct uep_qp, obj)->qp.unpublished, false);
	uep_obj_publish(obj);
}

static const struct uep_obj_type uep_qp_type = {
	.type = RDMA_EP_OBJ_QP,
	.res = offsetof(struct uep_qp, qp.res),
	.settle = uep_qp_settle,
	.unclaim = uep_qp_unclaim,
	.busy = uep_qp_busy,
	.destroy = uep_qp_destroy,
	.publish = uep_qp_publish,
	.free = uep_qp_free,
};

/* A QP in a PD or XRC domain, without CQs and hardware object. */
struct uep_qp *uep_qp_alloc(struct uep_obj *parent, struct uep_ctx *ctx, u64 uid)
{
	struct uep_qp *qp;

	qp = uep_obj_alloc_in(parent, &uep_qp_type, sizeof(*qp), 0);
	if (IS_ERR(qp))
		return qp;
	qp->ctx = ctx;
	qp->qp.unpublished = true;
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	uep_node_init(&qp->async, &qp->obj, uid);
	return qp;
}

/* Sets the rules for work requests that depend on the port, which is valid. */
void uep_qp_set_port(struct uep_qp *qp, u32 port)
{
	struct ep_dev *dev = qp->obj.dev;

	qp->max_msg_size = dev->max_msg_sz[port];
	qp->iwarp = rdma_protocol_iwarp(dev->ibdev, port);
	qp->send_ops = uep_send_ops(qp->qp.type, qp->iwarp);
	qp->prepare_send = dev->ops->prepare_send;
}

/*
 * The session's QP of that number on the device, with a reference, or NULL. One whose command has
 * not succeeded is not found.
 */
struct uep_qp *uep_qp_by_num(struct uep_session *s, struct ep_dev *dev, u32 qp_num)
{
	struct uep_qp *qp;

	if (qp_num > 0xffffff)
		return NULL;
	rcu_read_lock();
	qp = xa_load(&s->qps, uep_qp_key_of(dev, qp_num));
	if (qp && (qp->obj.dev != dev || READ_ONCE(qp->qp.unpublished) ||
		   !kref_get_unless_zero(&qp->obj.ref)))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}
