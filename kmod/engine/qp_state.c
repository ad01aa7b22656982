// SPDX-License-Identifier: GPL-2.0-only
/* State changes of QPs, and their use by the CM. */
#include "engine.h"

/* ib_cm does not check the MTU of a peer or a user, and drivers divide by it. */
static bool ep_qp_mtu_ok(const struct ib_device *ibdev, unsigned int mtu)
{
	unsigned int most = ep_dev_has(ibdev, EP_CAP_MTU_10240) ? (unsigned int)OPA_MTU_10240 :
								  IB_MTU_4096;

	return mtu >= IB_MTU_256 && mtu <= most;
}

static int ep_qp_modify_hw(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	const struct ep_driver_ops *drv = qp->res.dev->ops;

	if (qp->xrcd)
		return ep_xrcd_modify_qp(qp->xrcd, qp->ibqp, attr, mask);
	return drv->modify ? drv->modify(qp, attr, mask) : ib_modify_qp(qp->ibqp, attr, mask);
}

/*
 * ep_qp_modify() with qp->lock held and a QP that exists. On the way down posts are refused
 * before the change, on the way up until after it. Drivers empty the queues in a RESET without
 * a lock, so posts have ended by then. (Kernel consumers reset idle QPs only.)
 */
static int ep_qp_move(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	bool reset = (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET;
	const struct ep_driver_ops *drv = qp->res.dev->ops;
	const struct ep_res_ops *ops = qp->res.ops;
	enum ib_qp_state old = qp->state;
	int ret;

	if ((mask & IB_QP_PATH_MTU) && !ep_qp_mtu_ok(qp->ibqp->device, attr->path_mtu))
		return -EINVAL;
	if (!(mask & IB_QP_STATE) || attr->qp_state != IB_QPS_INIT)
		qp->tainted = true;
	ret = drv->before_modify ? drv->before_modify(qp, attr, &mask) : 0;
	if (ret)
		return ret;
	if (reset) {
		WRITE_ONCE(qp->state, IB_QPS_RESET);
		if (ops)
			ops->stop_posts(&qp->res);
		if (drv->before_reset)
			drv->before_reset(qp, old);
	}
	ret = ep_qp_modify_hw(qp, attr, mask);
	if (!ret && reset && ops && !ep_dev_has(qp->ibqp->device, EP_CAP_NO_RESET))
		ops->reap(&qp->res);
	if (mask & IB_QP_STATE)
		WRITE_ONCE(qp->state, ret ? old : attr->qp_state);
	return ret;
}

/* Flushes posted requests, unless the QP has been destroyed; qp->lock is held. */
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

/* Does the work that ep_qp_error() leaves to the task with the lock. */
void ep_qp_unlock(struct ep_qp *qp)
{
	do {
		if (ep_qp_must_fail(qp)) {
			clear_bit(EP_QP_FAILED, &qp->cm_use);
			ep_qp_fail(qp);
		}
		mutex_unlock(&qp->lock);
		/* Reads EP_QP_FAILED after the unlock; pairs with ep_qp_error(). */
		smp_mb();
	} while (ep_qp_must_fail(qp) && mutex_trylock(&qp->lock));
}

/* The driver may wait: called before the lock is taken, which others wait for. */
static void ep_qp_before_end(struct ep_qp *qp)
{
	const struct ep_driver_ops *drv = qp->res.dev->ops;

	if (drv->before_end)
		drv->before_end(qp);
}

/*
 * Flushes posted requests: at once, or when the task with qp->lock unlocks it. Does not wait,
 * so handlers of rdma_cm and drivers' operations may call it.
 */
void ep_qp_error(struct ep_qp *qp)
{
	set_bit(EP_QP_FAILED, &qp->cm_use);
	/* Tries the lock after setting the bit; pairs with ep_qp_unlock(). */
	smp_mb__after_atomic();
	if (mutex_trylock(&qp->lock))
		ep_qp_unlock(qp);
}

/* As ep_qp_error(), but the QP has failed on return. Not called in handlers. */
void ep_qp_error_wait(struct ep_qp *qp)
{
	ep_qp_before_end(qp);
	guard(ep_qp)(qp);
	set_bit(EP_QP_FAILED, &qp->cm_use);
}

/* qp->lock is held. */
int ep_qp_modify_locked(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	if (!qp->ibqp)
		return -EIO;
	/* Other openers change the port of an XRC target: ep_xrcd_modify_qp() checks it. */
	if (!qp->xrcd && !ep_qp_port_ok(qp->ibqp, attr, mask))
		return -EINVAL;
	if (!test_bit(EP_QP_PINNED, &qp->cm_use))
		return ep_qp_move(qp, attr, mask);
	if (mask != IB_QP_STATE || attr->qp_state != IB_QPS_ERR)
		return -EBUSY;
	/* A transition to ERR follows when the QP is unpinned. */
	set_bit(EP_QP_FAILED, &qp->cm_use);
	return 0;
}

/* -EINTR: the task is killed */
int ep_qp_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	/* Events of the connection may arrive before the CM's call has released the QP. */
	int ret = wait_on_bit(&qp->cm_use, EP_QP_ACCEPTING, TASK_KILLABLE);

	if (ret)
		return ret;
	if ((mask & IB_QP_STATE) &&
	    (attr->qp_state == IB_QPS_ERR || attr->qp_state == IB_QPS_RESET))
		ep_qp_before_end(qp);
	ret = mutex_lock_killable(&qp->lock);
	if (ret)
		return ret;
	ret = ep_qp_modify_locked(qp, attr, mask);
	ep_qp_unlock(qp);
	return ret;
}

/* -EINTR: the task is killed */
int ep_qp_query(struct ep_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = qp->ibqp ? ib_query_qp(qp->ibqp, attr, mask, init) : -EIO;
	if (!ret && qp->res.dev->ops->after_query)
		qp->res.dev->ops->after_query(qp, attr);
	ep_qp_unlock(qp);
	return ret;
}

/*
 * The caller has claimed the QP and destroys it next: no call of the CM begins with it any more,
 * and a running one has ended on return. -EINTR if the task is killed: nothing has changed.
 */
int ep_qp_begin_destroy(struct ep_qp *qp)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	qp->destroying = true;
	ep_qp_unlock(qp);
	ret = wait_on_bit(&qp->cm_use, EP_QP_PINNED, TASK_KILLABLE);
	if (ret)
		ep_qp_cancel_destroy(qp);
	return ret;
}

void ep_qp_cancel_destroy(struct ep_qp *qp)
{
	WRITE_ONCE(qp->destroying, false);
}

/*
 * Pins an iWARP QP for a call of the CM, for the one connection of its life: a driver may
 * report events of a second one as those of the first, and iw_cm BUG()s. qp->lock is held.
 * Returns false for a QP that is being destroyed or that the CM has used.
 *
 * No other task moves or destroys the QP until ep_qp_unpin(). The CM looks the number up
 * again, and it must not be another QP's by then. A driver whose call fails may drop its
 * references to the QP without the QP's lock. After a failed accept it may leave the QP in
 * RTS without a socket, so sends wait for the result.
 */
bool ep_qp_pin(struct ep_qp *qp, bool accepting)
{
	const struct ep_res_ops *ops = qp->res.ops;

	if (!qp->ibqp || qp->cm_used || READ_ONCE(qp->destroying))
		return false;
	WRITE_ONCE(qp->cm_used, true);
	set_bit(EP_QP_PINNED, &qp->cm_use);
	if (accepting) {
		set_bit(EP_QP_ACCEPTING, &qp->cm_use);
		if (ops)
			ops->stop_posts(&qp->res);
	}
	return true;
}

/* @ret: result of the call. The handler must not be locked. */
void ep_qp_unpin(struct ep_qp *qp, int ret)
{
	guard(ep_qp)(qp);
	if (ret) {
		WRITE_ONCE(qp->cm_used, false);
		if (test_bit(EP_QP_ACCEPTING, &qp->cm_use))
			set_bit(EP_QP_FAILED, &qp->cm_use);
	}
	if (test_and_clear_bit(EP_QP_FAILED, &qp->cm_use))
		ep_qp_fail(qp);
	clear_and_wake_up_bit(EP_QP_ACCEPTING, &qp->cm_use);
	clear_and_wake_up_bit(EP_QP_PINNED, &qp->cm_use);
}

/*
 * iw_cm disconnects with the connection's QP, but holds no reference to it once the connection
 * has ended. Destroying the QP waits for this one. NULL: the QP has been destroyed, or is being
 * destroyed.
 */
struct ib_qp *ep_qp_get_iwarp(struct ep_qp *qp)
{
	guard(ep_qp)(qp);
	if (qp->ibqp)
		qp->ibqp->device->ops.iw_add_ref(qp->ibqp);
	return qp->ibqp;
}

void ep_qp_put_iwarp(struct ib_qp *ibqp)
{
	if (ibqp)
		ibqp->device->ops.iw_rem_ref(ibqp);
}
