// SPDX-License-Identifier: GPL-2.0-only
/*
 * PDs, CQs, SRQs and QPs: creation, destruction, state.
 *
 * The create functions are called inside ep_dev_enter() with the owner's object
 * zeroed, but for ep_res.owner. Kernel consumers (no ops) hold the device instead.
 */
#include <linux/module.h>

#include "../compat.h"
#include "engine.h"

static void ep_pd_destroy_hw(struct ep_res *res)
{
	struct ep_pd *pd = container_of(res, struct ep_pd, res);

	ib_dealloc_pd(xchg(&pd->ibpd, NULL));
}

/*
 * Where the device has no lkey of its own for it, the core gives a kernel consumer's PD a
 * region over all memory. Posts for users do not need it, and must not be able to name it
 * where a driver checks nothing: some answer a peer's READ from any region of the PD.
 */
static void ep_pd_drop_dma_mr(struct ib_pd *ibpd)
{
	if (!ibpd->__internal_mr)
		return;
	WARN_ON_ONCE(ibpd->device->ops.dereg_mr(ibpd->__internal_mr, NULL));
	ibpd->__internal_mr = NULL;
	ibpd->local_dma_lkey = 0;
}

/* For what users post: the PD can not be used with ib_pd.local_dma_lkey. */
int ep_pd_create(struct ep_pd *pd, struct ep_dev *dev, const struct ep_res_ops *ops)
{
	struct ib_pd *ibpd;
	int ret;

	ret = ep_res_init(&pd->res, dev, EP_RES_PD, ops, ep_pd_destroy_hw);
	if (ret)
		return ret;
	ibpd = ib_alloc_pd(dev->ibdev, 0);
	if (IS_ERR(ibpd))
		return ep_res_abort(&pd->res, ibpd);
	ep_pd_drop_dma_mr(ibpd);
	pd->ibpd = ibpd;
	ep_res_add(&pd->res);
	return 0;
}

static void ep_cq_destroy_hw(struct ep_res *res)
{
	struct ep_cq *cq = container_of(res, struct ep_cq, res);

	ib_destroy_cq(xchg(&cq->ibcq, NULL));
}

/* @comp and @event must not be NULL: some drivers call them unchecked. */
int ep_cq_create(struct ep_cq *cq, struct ep_dev *dev, const struct ep_res_ops *ops,
		 ib_comp_handler comp, void (*event)(struct ib_event *, void *), void *context,
		 const struct ib_cq_init_attr *attr)
{
	struct ib_cq *ibcq;
	int ret;

	/* Not every driver checks these. */
	if (!attr->cqe || attr->cqe > dev->ibdev->attrs.max_cqe ||
	    attr->comp_vector >= dev->ibdev->num_comp_vectors)
		return -EINVAL;

	ret = ep_res_init(&cq->res, dev, EP_RES_CQ, ops, ep_cq_destroy_hw);
	if (ret)
		return ret;
	ibcq = ib_create_cq(dev->ibdev, comp, event, context, attr);
	if (IS_ERR(ibcq))
		return ep_res_abort(&cq->res, ibcq);
	cq->ibcq = ibcq;
	cq->cqe = ibcq->cqe;
	ep_res_add(&cq->res);
	return 0;
}

static void ep_srq_destroy_hw(struct ep_res *res)
{
	struct ep_srq *srq = container_of(res, struct ep_srq, res);

	ib_destroy_srq(xchg(&srq->ibsrq, NULL));
}

int ep_srq_create(struct ep_srq *srq, struct ep_dev *dev, struct ib_pd *pd,
		  const struct ep_res_ops *ops, struct ib_srq_init_attr *attr)
{
	const struct ib_device_attr *limits = &dev->ibdev->attrs;
	struct ib_srq *ibsrq;
	int ret;

	if (!dev->ibdev->ops.create_srq)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > limits->max_srq_wr ||
	    attr->attr.max_sge > limits->max_srq_sge || attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;

	ret = ep_res_init(&srq->res, dev, EP_RES_SRQ, ops, ep_srq_destroy_hw);
	if (ret)
		return ret;
	ibsrq = ib_create_srq(pd, attr);
	if (IS_ERR(ibsrq))
		return ep_res_abort(&srq->res, ibsrq);
	srq->ibsrq = ibsrq;
	/* Not every driver writes back what it made of the request. */
	if (ib_query_srq(srq->ibsrq, &srq->attr))
		srq->attr = attr->attr;
	if (attr->srq_type == IB_SRQT_XRC)
		srq->num = srq->ibsrq->ext.xrc.srq_num;
	ep_res_add(&srq->res);
	return 0;
}

/* The driver's module, if each QP holds it, or NULL */
static struct module *ep_qp_module(const struct ib_device *ibdev)
{
	return ep_dev_has(ibdev, EP_CAP_QP_PINS_MODULE) ? ibdev->ops.owner : NULL;
}

/* XRC targets are made, and destroyed, by xrcd.c. */
static struct ib_qp *ep_qp_create_hw(struct ib_pd *pd, struct ib_qp_init_attr *attr,
				     const char *caller)
{
	struct module *module = ep_qp_module(pd->device);
	struct ib_qp *ibqp;

	if (!try_module_get(module))
		return ERR_PTR(-EIO);
	ibqp = ib_create_qp_kernel(pd, attr, caller);
	if (IS_ERR(ibqp))
		module_put(module);
	return ibqp;
}

static void ep_qp_destroy_hw(struct ep_res *res)
{
	struct ep_qp *qp = container_of(res, struct ep_qp, res);
	const struct ep_driver_ops *drv = res->dev->ops;
	struct module *module;
	struct ib_qp *ibqp;

	/*
	 * Destroying may take long, and waits for the CM on some devices: only take
	 * the pointer away under qp->lock.
	 */
	mutex_lock(&qp->lock);
	ibqp = qp->ibqp;
	if (drv->before_destroy)
		drv->before_destroy(qp);
	WRITE_ONCE(qp->ibqp, NULL);
	qp->state = IB_QPS_RESET;
	ep_qp_unlock(qp);
	/* A user's destroyer has waited before, see ep_qp_settle(). */
	wait_on_bit(&qp->cm_use, EP_QP_PINNED, TASK_UNINTERRUPTIBLE);
	ep_qp_detach_all(qp, ibqp);
	if (qp->xrcd) {
		WARN_ON_ONCE(ep_xrcd_destroy_qp(qp->xrcd, ibqp));
		return;
	}
	module = ep_qp_module(ibqp->device);
	WARN_ON_ONCE(drv->destroy ? drv->destroy(qp, ibqp) : ib_destroy_qp(ibqp));
	module_put(module);
}

static int ep_qp_check_cap(const struct ib_device *ibdev, const struct ib_qp_init_attr *attr)
{
	const struct ib_device_attr *limits = &ibdev->attrs;
	const struct ib_qp_cap *cap = &attr->cap;

	if (cap->max_send_wr > limits->max_qp_wr || cap->max_send_sge > limits->max_send_sge)
		return -EINVAL;
	if (!attr->srq && (cap->max_recv_wr > limits->max_qp_wr ||
			   cap->max_recv_sge > limits->max_recv_sge))
		return -EINVAL;
	return 0;
}

/* Not every driver writes back how deep it made the queues, and what is inline. */
static void ep_qp_learn_depth(struct ep_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};

	if (ib_query_qp(qp->ibqp, &attr, IB_QP_CAP, &init))
		return;
	qp->cap.max_send_wr = max(qp->cap.max_send_wr, attr.cap.max_send_wr);
	qp->cap.max_inline_data = max(qp->cap.max_inline_data, attr.cap.max_inline_data);
	if (!qp->has_srq)
		qp->cap.max_recv_wr = max(qp->cap.max_recv_wr, attr.cap.max_recv_wr);
}

/* The QP has been made, or not. */
static int ep_qp_set_hw(struct ep_qp *qp, struct ib_qp *ibqp)
{
	mutex_init(&qp->lock);
	INIT_LIST_HEAD(&qp->mcasts);
	if (IS_ERR(ibqp))
		return ep_res_abort(&qp->res, ibqp);
	qp->ibqp = ibqp;
	qp->type = ibqp->qp_type;
	qp->qp_num = ibqp->qp_num;
	return 0;
}

/* What is granted is in qp->cap. @caller: module that is shown as the owner */
int ep_qp_create(struct ep_qp *qp, struct ep_dev *dev, struct ib_pd *pd,
		 const struct ep_res_ops *ops, struct ib_qp_init_attr *attr, const char *caller)
{
	struct ib_qp *ibqp;
	int ret;

	ret = ep_qp_check_cap(dev->ibdev, attr);
	if (ret)
		return ret;
	ret = ep_res_init(&qp->res, dev, EP_RES_QP, ops, ep_qp_destroy_hw);
	if (ret)
		return ret;
	if (qp->xrcd)
		ibqp = ep_xrcd_create_qp(qp->xrcd, attr, caller);
	else
		ibqp = ep_qp_create_hw(pd, attr, caller);
	ret = ep_qp_set_hw(qp, ibqp);
	if (ret)
		return ret;
	qp->state = IB_QPS_RESET;
	qp->has_srq = attr->srq;
	qp->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	/* A target has no queues of its own. */
	if (!qp->xrcd) {
		qp->cap = attr->cap;
		ep_qp_learn_depth(qp);
	}
	ep_res_add(&qp->res);
	return 0;
}

/* As ep_qp_create(), of an XRC target that is there already. */
int ep_qp_open(struct ep_qp *qp, struct ep_dev *dev,
	       const struct ep_res_ops *ops, struct ib_qp_open_attr *attr)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr now = {};
	int ret;

	ret = ep_res_init(&qp->res, dev, EP_RES_QP, ops, ep_qp_destroy_hw);
	if (ret)
		return ret;
	ret = ep_qp_set_hw(qp, ep_xrcd_open_qp(qp->xrcd, attr));
	if (ret)
		return ret;
	if (!ib_query_qp(qp->ibqp, &now, IB_QP_STATE | IB_QP_PORT, &init)) {
		qp->state = now.qp_state;
		qp->port = now.port_num;
	}
	ep_res_add(&qp->res);
	return 0;
}

/* ib_cm does not check the MTU of a peer or a user, and drivers divide by it. */
static bool ep_qp_mtu_ok(const struct ib_device *ibdev, unsigned int mtu)
{
	return mtu >= IB_MTU_256 &&
	       mtu <= (ep_dev_has(ibdev, EP_CAP_MTU_10240) ?
		       (unsigned int)OPA_MTU_10240 : IB_MTU_4096);
}

static int ep_qp_modify_hw(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	const struct ep_driver_ops *drv = qp->res.dev->ops;

	if (qp->xrcd)
		return ep_xrcd_modify_qp(qp->xrcd, qp->ibqp, attr, mask);
	return drv->modify ? drv->modify(qp, attr, mask) : ib_modify_qp(qp->ibqp, attr, mask);
}

/*
 * ep_qp_modify() with qp->lock held, and @qp->ibqp there. On the way down posts are refused
 * first, on the way up last. A RESET empties the queues: drivers do so without a lock, so
 * posts must have ended. (Kernel consumers reset idle QPs only.)
 */
static int ep_qp_move(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	bool reset = (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET;
	const struct ep_driver *driver = qp->res.dev->driver;
	const struct ep_driver_ops *drv = qp->res.dev->ops;
	const struct ep_res_ops *ops = qp->res.ops;
	enum ib_qp_state old = qp->state;
	int ret;

	if ((mask & IB_QP_PATH_MTU) && !ep_qp_mtu_ok(qp->ibqp->device, attr->path_mtu))
		return -EINVAL;
	if (!(mask & IB_QP_STATE) || attr->qp_state != IB_QPS_INIT)
		qp->worn = true;
	ret = drv->before_modify ? drv->before_modify(qp, attr, &mask) : 0;
	if (ret)
		return ret;
	if (reset) {
		WRITE_ONCE(qp->state, IB_QPS_RESET);
		if (ops && ops->quiet)
			ops->quiet(&qp->res);
		if (drv->before_reset)
			drv->before_reset(qp, old);
	}
	ret = ep_qp_modify_hw(qp, attr, mask);
	if (!ret && reset && ops && ops->forget && !(driver->caps & EP_CAP_NO_RESET))
		ops->forget(&qp->res);
	if (mask & IB_QP_STATE)
		WRITE_ONCE(qp->state, ret ? old : attr->qp_state);
	if (!ret && (mask & IB_QP_PORT))
		qp->port = attr->port_num;
	return ret;
}

/* Flushes what is posted; qp->lock is held. A QP that is gone is fine. */
static void ep_qp_fail(struct ep_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (qp->ibqp)
		ep_qp_move(qp, &attr, IB_QP_STATE);
}

static bool ep_qp_must_fail(const struct ep_qp *qp)
{
	return test_bit(EP_QP_FAILED, &qp->cm_use) && !test_bit(EP_QP_PINNED, &qp->cm_use);
}

/* Does what ep_qp_error() has left to the task with the lock. */
void ep_qp_unlock(struct ep_qp *qp)
{
	do {
		if (ep_qp_must_fail(qp)) {
			clear_bit(EP_QP_FAILED, &qp->cm_use);
			ep_qp_fail(qp);
		}
		mutex_unlock(&qp->lock);
		/* Unlocked before the bit is looked at: see ep_qp_error(). */
		smp_mb();
	} while (ep_qp_must_fail(qp) && mutex_trylock(&qp->lock));
}

/*
 * Flushes what is posted: now, or when the task with qp->lock unlocks it. Does not wait, so
 * that handlers of rdma_cm and drivers' operations may call it.
 */
void ep_qp_error(struct ep_qp *qp)
{
	set_bit(EP_QP_FAILED, &qp->cm_use);
	/* The bit is set before the lock is tried: see ep_qp_unlock(). */
	smp_mb__after_atomic();
	if (mutex_trylock(&qp->lock))
		ep_qp_unlock(qp);
}

/* The same, and has been done by the end. In no handler. */
void ep_qp_error_wait(struct ep_qp *qp)
{
	mutex_lock(&qp->lock);
	set_bit(EP_QP_FAILED, &qp->cm_use);
	ep_qp_unlock(qp);
}

/* qp->lock is held. */
int ep_qp_modify_locked(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	if (!qp->ibqp)
		return -EIO;
	if (!test_bit(EP_QP_PINNED, &qp->cm_use))
		return ep_qp_move(qp, attr, mask);
	if (mask != IB_QP_STATE || attr->qp_state != IB_QPS_ERR)
		return -EBUSY;
	/* This is not to be lost. */
	set_bit(EP_QP_FAILED, &qp->cm_use);
	return 0;
}

/* -EINTR: the task is killed */
int ep_qp_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	/* The peer, and the owner, may have heard of it before the CM lets go of the QP. */
	int ret = wait_on_bit(&qp->cm_use, EP_QP_ACCEPTING, TASK_KILLABLE) ?:
		  mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = ep_qp_modify_locked(qp, attr, mask);
	ep_qp_unlock(qp);
	return ret;
}

/* The same */
int ep_qp_query(struct ep_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = -EIO;
	if (qp->ibqp)
		ret = ib_query_qp(qp->ibqp, attr, mask, init);
	if (!ret && qp->res.dev->ops->after_query)
		qp->res.dev->ops->after_query(qp, attr);
	ep_qp_unlock(qp);
	return ret;
}

/*
 * The caller has claimed the QP and is about to destroy it: from here on no call of the CM
 * begins with it, and the one that has it ends. -EINTR if the task is killed, and all is as it
 * was.
 */
int ep_qp_settle(struct ep_qp *qp)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	qp->ending = true;
	ep_qp_unlock(qp);
	ret = wait_on_bit(&qp->cm_use, EP_QP_PINNED, TASK_KILLABLE);
	if (ret)
		ep_qp_unsettle(qp);
	return ret;
}

/* It is not destroyed after all. */
void ep_qp_unsettle(struct ep_qp *qp)
{
	WRITE_ONCE(qp->ending, false);
}

/*
 * Pins an iWARP QP for a call of the CM, for the one connection of its life; qp->lock is
 * held. A driver may report events of a second connection as those of the first, and iw_cm
 * BUG()s. Returns false for a QP that is destroyed, or about to be, or that the CM has
 * already.
 *
 * No other task moves or destroys the QP until ep_qp_unpin(). The CM looks up the number
 * again, and it must not be another QP's by then. And a driver whose call fails may drop
 * its references to the QP without the QP's lock. If it fails to accept, it may leave the
 * QP in RTS, without a socket: sends wait until that is known.
 */
bool ep_qp_pin(struct ep_qp *qp, bool accepting)
{
	const struct ep_res_ops *ops = qp->res.ops;

	if (!qp->ibqp || qp->cm_has || READ_ONCE(qp->ending))
		return false;
	qp->cm_has = true;
	set_bit(EP_QP_PINNED, &qp->cm_use);
	if (accepting) {
		set_bit(EP_QP_ACCEPTING, &qp->cm_use);
		if (ops && ops->quiet)
			ops->quiet(&qp->res);
	}
	return true;
}

/* @ret: what the call has returned. Not with the handler locked. */
void ep_qp_unpin(struct ep_qp *qp, int ret)
{
	mutex_lock(&qp->lock);
	if (ret) {
		qp->cm_has = false;
		if (test_bit(EP_QP_ACCEPTING, &qp->cm_use))
			set_bit(EP_QP_FAILED, &qp->cm_use);
	}
	if (test_and_clear_bit(EP_QP_FAILED, &qp->cm_use))
		ep_qp_fail(qp);
	clear_and_wake_up_bit(EP_QP_ACCEPTING, &qp->cm_use);
	clear_and_wake_up_bit(EP_QP_PINNED, &qp->cm_use);
	ep_qp_unlock(qp);
}

/*
 * iw_cm disconnects with the connection's QP, but without its reference once the
 * connection has ended. Destroying the QP waits for this one. NULL: it is gone, or about
 * to go.
 */
struct ib_qp *ep_qp_hold_iwarp(struct ep_qp *qp)
{
	struct ib_qp *ibqp;

	mutex_lock(&qp->lock);
	ibqp = qp->ibqp;
	if (ibqp)
		ibqp->device->ops.iw_add_ref(ibqp);
	ep_qp_unlock(qp);
	return ibqp;
}

void ep_qp_unhold_iwarp(struct ib_qp *ibqp)
{
	if (ibqp)
		ibqp->device->ops.iw_rem_ref(ibqp);
}
