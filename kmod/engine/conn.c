// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: an id's own QP and its way through INIT, RTR, RTS and ERR.
 *
 * The QP is never attached to the rdma_cm id (rdma_cm_id.qp stays NULL): the two may be
 * destroyed in either order, and multicast needs it so. This file moves the QP with the
 * attributes from rdma_init_qp_attr().
 */
#include <rdma/ib_cm.h>

#include "../compat.h"
#include "engine.h"
#include "trace.h"

/* 4.3 s: 4.096 us * 2^20 */
#define EP_MAX_LIFE_TIME	20

/* A hint without ep_qp.lock: the QP may be destroyed at any time. */
static bool ep_qp_alive(const struct ep_qp *qp)
{
	return READ_ONCE(qp->ibqp);
}

/* The id's own QP with a reference, or NULL if it has none or it has been destroyed */
struct ep_qp *ep_id_get_qp(struct ep_id *id)
{
	struct ep_qp *qp;

	spin_lock(&id->link_lock);
	qp = id->qp;
	if (qp && !ep_qp_alive(qp))
		qp = NULL;
	if (qp)
		id->ops->get_qp(qp);
	spin_unlock(&id->link_lock);
	return qp;
}

/* @qp: a reference, or NULL */
void ep_id_put_qp(struct ep_id *id, struct ep_qp *qp)
{
	if (qp)
		id->ops->put_qp(qp);
}

/* Makes @qp, or none, the id's own. Takes over its reference, and drops the old one's. */
void ep_id_set_qp(struct ep_id *id, struct ep_qp *qp)
{
	spin_lock(&id->link_lock);
	swap(qp, id->qp);
	spin_unlock(&id->link_lock);
	ep_id_put_qp(id, qp);
}

/* Moves the QP with the CM's attributes, within @limit if given; qp->lock is held. */
static int ep_id_move_qp(struct ep_id *id, struct ep_qp *qp, enum ib_qp_state state,
			 const struct rdma_conn_param *limit)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = 0;
	int ret;

	ret = rdma_init_qp_attr(id->cm_id, &attr, &mask);
	if (ret)
		return ret;
	if (limit && (mask & IB_QP_MAX_DEST_RD_ATOMIC))
		attr.max_dest_rd_atomic = limit->responder_resources;
	if (limit && (mask & IB_QP_MAX_QP_RD_ATOMIC))
		attr.max_rd_atomic = limit->initiator_depth;
	/* The broadcast group of IPoIB has such a Q_Key. */
	if ((mask & IB_QP_QKEY) && (attr.qkey & IB_QP_SET_QKEY) && qp->res.ops &&
	    !ep_compat_qkey_allowed(id->cm_id->device))
		return -EPERM;
	return ep_qp_modify_locked(qp, &attr, mask);
}

static int ep_id_init_qp(struct ep_id *id, struct ep_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = ep_id_move_qp(id, qp, IB_QPS_INIT, NULL);
	ep_qp_unlock(qp);
	if (ret || qp->type != IB_QPT_UD)
		return ret;
	/* An unconnected QP can send at once. */
	ret = ep_qp_modify(qp, &attr, IB_QP_STATE);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = 0;
	return ep_qp_modify(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static bool ep_qp_type_special(enum ib_qp_type qp_type)
{
	return qp_type == IB_QPT_UD || qp_type == IB_QPT_XRC_INI || qp_type == IB_QPT_XRC_TGT;
}

/* The CM treats other connected types as one. */
bool ep_id_suits_qp(const struct ep_id *id, enum ib_qp_type qp_type)
{
	return qp_type == id->cm_id->qp_type ||
	       (!ep_qp_type_special(qp_type) && !ep_qp_type_special(id->cm_id->qp_type));
}

/*
 * Makes a QP in RESET the id's own, between ep_id_begin_bound() and ep_id_end(). Afterwards it can
 * post receives, an unconnected one also sends. The id takes a reference on success. Returns
 * -EINVAL if the id has a QP, or an error of the transition.
 */
int ep_id_attach_qp(struct ep_id *id, struct ep_qp *qp)
{
	int ret;

	if (id->qp && ep_qp_alive(id->qp))
		return -EINVAL;
	ret = ep_id_init_qp(id, qp);
	if (ret)
		return ret;
	id->ops->get_qp(qp);
	ep_id_set_qp(id, qp);
	return 0;
}

/* Drops a QP that has been destroyed. Called between ep_id_begin() and ep_id_end(). */
void ep_id_forget_qp(struct ep_id *id)
{
	if (id->qp && !ep_qp_alive(id->qp))
		ep_id_set_qp(id, NULL);
}

/* qp->lock is held. */
static int ep_id_ready_qp(struct ep_id *id, struct ep_qp *qp, const struct rdma_conn_param *limit)
{
	/* INIT again: now the CM has the access rights of the peer. */
	return ep_id_move_qp(id, qp, IB_QPS_INIT, NULL) ?:
	       ep_id_move_qp(id, qp, IB_QPS_RTR, limit) ?:
	       ep_id_move_qp(id, qp, IB_QPS_RTS, limit);
}

/*
 * The peer has accepted: brings up the id's own QP, and confirms. With the handler locked.
 * Returns 1 if the id has no QP, so that the owner completes the connection; -EBUSY if another
 * task has qp->lock: nothing has changed.
 */
int ep_id_conn_response(struct ep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(id);
	int ret;

	if (!qp)
		return 1;
	if (!mutex_trylock(&qp->lock)) {
		ep_id_put_qp(id, qp);
		return -EBUSY;
	}
	ret = ep_id_ready_qp(id, qp, NULL);
	ep_qp_unlock(qp);
	if (ret)
		rdma_reject(id->cm_id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	else
		ret = rdma_accept(id->cm_id, NULL);
	if (ret == -EBUSY)
		ret = -EIO;
	if (ret) {
		ep_id_failing(id, ret);
		ep_qp_error(qp);
	}
	ep_id_put_qp(id, qp);
	return ret;
}

static bool ep_id_iwarp(const struct ep_id *id)
{
	return rdma_protocol_iwarp(id->cm_id->device, id->cm_id->port_num);
}

static u8 ep_id_max_private(const struct ep_id *id)
{
	return ep_driver_of(id->cm_id->device)->max_private_data ?: U8_MAX;
}

static int ep_id_check_param(const struct ep_id *id, const struct rdma_conn_param *param)
{
	const struct ib_device_attr *attrs = &id->cm_id->device->attrs;

	if (param->private_data_len > ep_id_max_private(id))
		return -EINVAL;
	if (id->cm_id->qp_type != IB_QPT_UD &&
	    (param->responder_resources > attrs->max_qp_rd_atom ||
	     param->initiator_depth > attrs->max_qp_init_rd_atom))
		return -EINVAL;
	return 0;
}

/* Fills in the QP's part of the message to the peer; qp->lock is held. */
static int ep_id_set_param(struct ep_qp *qp, struct rdma_conn_param *param)
{
	/* If the command that creates it fails, nothing waits for a peer. */
	if (READ_ONCE(qp->unpublished))
		return -EINVAL;
	qp->tainted = true;
	if (!qp->ibqp || qp->cm_used)
		return -EINVAL;
	param->qp_num = qp->qp_num;
	param->srq = qp->has_srq;
	return 0;
}

/* iWARP's CM uses the QP itself, which is pinned until its call has ended. */
static int ep_id_pin_qp(struct ep_id *id, struct ep_qp *qp, bool accepting, bool *pinned)
{
	if (!ep_id_iwarp(id))
		return 0;
	*pinned = ep_qp_pin(qp, accepting);
	return *pinned ? 0 : -EINVAL;
}

/*
 * A path's packets live for seconds. The IB CM keeps the remains of a connection, which are
 * charged to no user, for the path's life time, up to hours, and computes with it unchecked.
 */
static void ep_id_limit_life(struct rdma_cm_id *cm_id)
{
	struct sa_path_rec *path = cm_id->route.path_rec;

	if (path)
		path->packet_life_time = min_t(u8, path->packet_life_time, EP_MAX_LIFE_TIME);
}

static int ep_id_offer_qp(struct ep_id *id, struct ep_qp *qp, struct rdma_conn_param *param,
			  bool *pinned)
{
	int ret = qp ? mutex_lock_killable(&qp->lock) : -EINVAL;

	if (ret)
		return ret;
	ret = ep_id_set_param(qp, param) ?: ep_id_pin_qp(id, qp, false, pinned);
	ep_qp_unlock(qp);
	return ret;
}

/*
 * Begins to connect, between ep_id_begin_bound() and ep_id_end(). @other: QP for the connection if
 * the id has none of its own, or NULL. Fills in the QP's parameters. Returns -EINVAL for bad
 * parameters or no QP, -EINTR if the task is killed, or an error of rdma_cm.
 */
int ep_id_connect(struct ep_id *id, struct ep_qp *other, struct rdma_conn_param *param,
		  struct rdma_ucm_ece *ece)
{
	struct ep_qp *own = ep_id_get_qp(id);
	struct ep_qp *qp = own ?: other;
	bool pinned = false;
	int ret;

	ret = ep_id_check_param(id, param);
	/* An unconnected endpoint sends a request without a QP. */
	if (!ret && id->cm_id->qp_type != IB_QPT_UD)
		ret = ep_id_offer_qp(id, qp, param, &pinned);
	if (ret)
		goto out;
	ep_id_limit_life(id->cm_id);
	/* For a handler that runs before the return */
	if (!id->has_conn)
		WRITE_ONCE(id->conn_qpn, param->qp_num);
	ret = rdma_connect_ece(id->cm_id, param, ece);
	if (pinned)
		ep_qp_unpin(qp, ret);
	if (ret)
		goto out;
	id->has_conn = true;
out:
	trace_rdma_ep_connect(id, qp, ret);
	ep_id_put_qp(id, own);
	return ret;
}

/* The CM checks this after the QP has been brought up, and rejects the peer. */
static u8 ep_id_accept_max_private(const struct ep_id *id)
{
	if (ep_id_iwarp(id))
		return U8_MAX;
	return id->cm_id->qp_type == IB_QPT_UD ?
	       IB_CM_SIDR_REP_PRIVATE_DATA_SIZE : IB_CM_REP_PRIVATE_DATA_SIZE;
}

/*
 * Locks the handler and the QP. No task waits for a QP with the handler locked, as the CM's
 * work items would wait, too. -EINTR if the task is killed
 */
static int ep_id_lock_with_qp(struct ep_id *id, struct ep_qp *qp)
{
	int ret;

	for (;;) {
		rdma_lock_handler(id->cm_id);
		if (mutex_trylock(&qp->lock))
			return 0;
		rdma_unlock_handler(id->cm_id);
		ret = mutex_lock_killable(&qp->lock);
		if (ret)
			return ret;
		ep_qp_unlock(qp);
	}
}

/* With the handler and the QP locked; unlocks the QP. */
static int ep_id_accept_locked(struct ep_id *id, struct ep_qp *qp, struct rdma_conn_param *param,
			       struct rdma_ucm_ece *ece, bool own, bool *pinned)
{
	const struct ep_driver_ops *drv = ep_driver_ops_of(id->cm_id->device);
	int ret;

	ret = ep_id_set_param(qp, param);
	/* Without a request the QP may be in use, and stays as it is. */
	if (!ret && !id->request)
		ret = -EINVAL;
	if (ret) {
		ep_qp_unlock(qp);
		return ret;
	}
	if (own)
		ret = ep_id_ready_qp(id, qp, param);
	if (!ret)
		ret = ep_id_pin_qp(id, qp, true, pinned);
	ep_qp_unlock(qp);
	if (ret)
		goto out;
	/* If the CM cannot accept it rejects. */
	id->request = false;
	if (*pinned && drv->before_accept)
		drv->before_accept(id->cm_id);
	ret = rdma_accept_ece(id->cm_id, param, ece);
	if (!ret) {
		WRITE_ONCE(id->conn_qpn, param->qp_num);
		if (*pinned)
			WRITE_ONCE(qp->conn_state, IB_QPS_RTS);
	} else if (*pinned && drv->accept_failed) {
		drv->accept_failed(id->cm_id);
	}
out:
	if (ret && own)
		ep_qp_error(qp);
	id->unconfirmed = !ret && id->cm_id->qp_type != IB_QPT_UD && !*pinned;
	return ret;
}

/*
 * Accepts a connection request; parameters and results are those of ep_id_connect(), and -EINVAL
 * if there is no request. @accepted: called with @arg after the accept, before any event of the
 * connection; or NULL
 *
 * The id's own QP is brought up first, so that it can receive before the peer can send. If that
 * fails the request is as before: it may be rejected, or accepted with another QP.
 */
int ep_id_accept(struct ep_id *id, struct ep_qp *other, struct rdma_conn_param *param,
		 struct rdma_ucm_ece *ece, void (*accepted)(struct ep_id *id, void *arg), void *arg)
{
	struct ep_qp *own = ep_id_get_qp(id);
	struct ep_qp *qp = own ?: other;
	bool pinned = false;
	int ret;

	ret = ep_id_check_param(id, param);
	if (!ret && (!qp || param->private_data_len > ep_id_accept_max_private(id)))
		ret = -EINVAL;
	if (!ret)
		ret = ep_id_lock_with_qp(id, qp);
	if (ret)
		goto out;
	ret = ep_id_accept_locked(id, qp, param, ece, own && own->type != IB_QPT_UD, &pinned);
	if (!ret && accepted)
		accepted(id, arg);
	rdma_unlock_handler(id->cm_id);
	if (pinned)
		ep_qp_unpin(qp, ret);
out:
	trace_rdma_ep_accept(id, qp, ret);
	ep_id_put_qp(id, own);
	return ret;
}

/*
 * Called between ep_id_begin_bound() and ep_id_end(), only for a request or a response: if an id
 * that is connecting rejects, the IB CM forgets the request that it has to take back, and
 * rdma_destroy_id() waits for minutes, until the request times out (IBCM-03). iw_cm assumes a
 * failure, and BUG()s in a disconnect (IWCM-02).
 */
int ep_id_reject(struct ep_id *id, const void *data, u8 len, u8 reason)
{
	int ret = -EINVAL;

	guard(ep_id_handler)(id->cm_id);
	if ((id->request || id->responded) && len <= ep_id_max_private(id))
		ret = rdma_reject(id->cm_id, data, len, reason);
	if (!ret) {
		id->request = false;
		id->responded = false;
	}
	trace_rdma_ep_reject(id, NULL, ret);
	return ret;
}

/*
 * Flushes the id's own QP, then disconnects. Without a connection it fails, but only iWARP,
 * which cannot drain then, leaves the QP alone. Called between ep_id_begin_bound() and
 * ep_id_end(). @conn_qp: the QP of @id->conn_qpn; NULL: destroyed, or the id's own
 */
int ep_id_disconnect(struct ep_id *id, struct ep_qp *conn_qp)
{
	const struct ep_driver_ops *drv = ep_driver_ops_of(id->cm_id->device);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ep_qp *qp = ep_id_get_qp(id);
	struct ib_qp *ibqp = NULL;
	int ret = -EINVAL;

	if (!id->has_conn && ep_id_iwarp(id))
		goto out;
	if (ep_id_iwarp(id)) {
		if (!conn_qp && qp && qp->qp_num == id->conn_qpn)
			conn_qp = qp;
		if (conn_qp)
			ibqp = ep_qp_get_iwarp(conn_qp);
		/* iWARP drains the send queue before it closes. */
		if (!ep_dev_has(id->cm_id->device, EP_CAP_NO_SQD))
			attr.qp_state = IB_QPS_SQD;
	}
	/* The QP of a killed task is flushed all the same. */
	if (qp && ep_qp_modify(qp, &attr, IB_QP_STATE) == -EINTR)
		ep_qp_error(qp);
	if (!id->has_conn)
		goto out;
	/* The destruction of iWARP's QP ends the connection. */
	ret = 0;
	if (ep_id_iwarp(id) && !ibqp)
		goto out;
	/* Until the confirmation the CM cannot disconnect: ep_id_confirmed() does it then. */
	scoped_guard(ep_id_handler, id->cm_id)
		id->disconnecting = id->announced;
	if (drv->before_disconnect)
		drv->before_disconnect(id->cm_id);
	ret = rdma_disconnect(id->cm_id);
	ep_qp_put_iwarp(ibqp);
out:
	trace_rdma_ep_disconnect(id, qp, ret);
	ep_id_put_qp(id, qp);
	return ret;
}

/* The owner has brought up its QP. Called between ep_id_begin_bound() and ep_id_end(). */
int ep_id_establish(struct ep_id *id)
{
	int ret;

	guard(ep_id_handler)(id->cm_id);
	/* In another state rdma_accept() rejects the peer. */
	ret = id->responded ? rdma_accept(id->cm_id, NULL) : -EINVAL;
	id->responded = false;
	trace_rdma_ep_establish(id, NULL, ret);
	return ret;
}

/*
 * Passes an asynchronous event of the id's QP on to the CM, between ep_id_begin_bound() and
 * ep_id_end(), with the handler locked. Returns 1 if the owner has to report the connection as
 * established: data has arrived through the QP before the peer's confirmation.
 *
 * The IB CM does not get that event. It would cancel its repeated response in another thread, but
 * not if the connection has ended by then: rdma_destroy_id() would wait until the response has
 * been sent sixteen times, for more than a minute (IBCM-04). Nor does it get a path migration: it
 * would use an alternate path that it has never received, and lose its references to the device
 * and its GID.
 */
int ep_id_notify(struct ep_id *id, enum ib_event_type event)
{
	if (event != IB_EVENT_COMM_EST)
		return -EINVAL;
	if (id->announced)
		return -EISCONN;
	if (!id->unconfirmed)
		return rdma_notify(id->cm_id, event);
	id->unconfirmed = false;
	id->announced = true;
	return 1;
}
