// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: an id's own QP and its way through INIT, RTR, RTS and ERR.
 *
 * The QP is never attached to the rdma_cm id (rdma_cm_id.qp stays NULL): the two
 * may be destroyed in either order, and multicast needs it so. Instead the QP is
 * moved here with the attributes that rdma_init_qp_attr() hands out.
 */
#include <rdma/ib_cm.h>

#include "engine.h"

static bool ep_qp_alive(struct ep_qp *qp)
{
	bool alive;

	mutex_lock(&qp->lock);
	alive = qp->ibqp;
	mutex_unlock(&qp->lock);
	return alive;
}

/* The id's own QP with a reference, or NULL if it has none (any more). */
struct ep_qp *ep_id_get_qp(struct ep_id *id)
{
	struct ep_qp *qp;

	mutex_lock(&id->link_lock);
	qp = id->qp;
	if (qp && !ep_qp_alive(qp))
		qp = NULL;
	if (qp)
		id->ops->get_qp(qp);
	mutex_unlock(&id->link_lock);
	return qp;
}

/* Moves the QP with what the CM says, within @limit if given. */
static int ep_id_modify_qp(struct ep_id *id, struct ep_qp *qp,
			   enum ib_qp_state state,
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
	return ep_qp_modify(qp, &attr, mask);
}

/* An unconnected QP is ready to send at once. */
static int ep_id_init_ud_qp(struct ep_id *id, struct ep_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int ret;

	ret = ep_id_modify_qp(id, qp, IB_QPS_INIT, NULL);
	if (ret)
		return ret;
	ret = ep_qp_modify(qp, &attr, IB_QP_STATE);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = 0;
	return ep_qp_modify(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

/**
 * ep_id_attach_qp - make a new QP the id's own
 * @id: an id that is bound to the QP's device, between ep_id_begin_bound() and
 *	ep_id_end()
 * @qp: QP in RESET
 *
 * The QP is ready to post receives afterwards, an unconnected one to send. The
 * id takes a reference on success.
 *
 * Return: 0, -EINVAL if the id has a QP, or an error of the transition
 */
int ep_id_attach_qp(struct ep_id *id, struct ep_qp *qp)
{
	struct ep_qp *old;
	int ret;

	if (id->qp && ep_qp_alive(id->qp))
		return -EINVAL;
	if (qp->type == IB_QPT_UD)
		ret = ep_id_init_ud_qp(id, qp);
	else
		ret = ep_id_modify_qp(id, qp, IB_QPS_INIT, NULL);
	if (ret)
		return ret;

	id->ops->get_qp(qp);
	mutex_lock(&id->link_lock);
	old = id->qp;
	id->qp = qp;
	mutex_unlock(&id->link_lock);
	if (old)
		id->ops->put_qp(old);
	return 0;
}

static int ep_id_ready_qp(struct ep_id *id, struct ep_qp *qp,
			  const struct rdma_conn_param *limit)
{
	int ret;

	/* INIT again: now the CM knows the access that the peer gets. */
	ret = ep_id_modify_qp(id, qp, IB_QPS_INIT, NULL);
	if (ret)
		return ret;
	ret = ep_id_modify_qp(id, qp, IB_QPS_RTR, limit);
	if (ret)
		return ret;
	return ep_id_modify_qp(id, qp, IB_QPS_RTS, limit);
}

/*
 * The peer accepted: bring the id's own QP up and say so. Runs in the event
 * handler. Returns 1 if the id has no QP; then completing the connection is up
 * to the owner.
 */
int ep_id_conn_response(struct ep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(id);
	int ret;

	if (!qp)
		return 1;
	ret = ep_id_ready_qp(id, qp, NULL);
	if (ret)
		rdma_reject(id->cm_id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	else
		ret = rdma_accept(id->cm_id, NULL);
	if (ret)
		ep_qp_error(qp);
	id->ops->put_qp(qp);
	return ret;
}

/* Called between ep_id_begin_bound() and ep_id_end(). */
int ep_id_connect(struct ep_id *id, struct rdma_conn_param *param,
		  struct rdma_ucm_ece *ece)
{
	int ret;

	ret = rdma_connect_ece(id->cm_id, param, ece);
	if (!ret)
		id->begun = true;
	return ret;
}

/*
 * Accepts a connection request: the id's own QP first, so that it can receive
 * by the time the peer hears of it. Called between ep_id_begin_bound() and
 * ep_id_end(), with the handler locked.
 */
int ep_id_accept(struct ep_id *id, struct rdma_conn_param *param,
		 struct rdma_ucm_ece *ece)
{
	struct ep_qp *qp;
	int ret;

	/* Anything else must not disturb what the QP is in the middle of. */
	if (!id->request)
		return -EINVAL;
	id->request = false;
	qp = ep_id_get_qp(id);
	if (qp && qp->type != IB_QPT_UD) {
		ret = ep_id_ready_qp(id, qp, param);
		if (ret)
			goto err;
	}
	ret = rdma_accept_ece(id->cm_id, param, ece);
err:
	if (ret && qp && qp->type != IB_QPT_UD)
		ep_qp_error(qp);
	if (qp)
		id->ops->put_qp(qp);
	return ret;
}

/* Called between ep_id_begin_bound() and ep_id_end(). */
int ep_id_reject(struct ep_id *id, const void *data, u8 len, u8 reason)
{
	int ret;

	ret = rdma_reject(id->cm_id, data, len, reason);
	if (!ret)
		id->request = false;
	return ret;
}

/* Flushes the id's own QP, then tells the peer. */
int ep_id_disconnect(struct ep_id *id)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct rdma_cm_id *cm_id;
	struct ep_qp *qp;
	int ret;

	ret = ep_id_begin_bound(id);
	if (ret)
		return ret;
	ret = -EINVAL;
	if (!id->begun)
		goto out;
	cm_id = id->cm_id;
	qp = ep_id_get_qp(id);
	if (qp) {
		/* iWARP drains the send queue before it closes. */
		if (rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
			attr.qp_state = IB_QPS_SQD;
		ep_qp_modify(qp, &attr, IB_QP_STATE);
		id->ops->put_qp(qp);
	}
	ret = rdma_disconnect(cm_id);
out:
	ep_id_end(id);
	return ret;
}

/* Completes a connection whose QP the owner has brought up himself. */
int ep_id_establish(struct ep_id *id)
{
	int ret;

	ret = ep_id_begin_bound(id);
	if (ret)
		return ret;
	rdma_lock_handler(id->cm_id);
	/* In another state it would reject the peer. */
	ret = -EINVAL;
	if (id->responded)
		ret = rdma_accept(id->cm_id, NULL);
	id->responded = false;
	rdma_unlock_handler(id->cm_id);
	ep_id_end(id);
	return ret;
}

/*
 * An asynchronous event of the id's QP that the CM should know of. It would take
 * a path migration for granted, too: go on with an alternate path that it has
 * never been told, and lose its references to the device and its GID.
 */
int ep_id_notify(struct ep_id *id, enum ib_event_type event)
{
	int ret;

	if (event != IB_EVENT_COMM_EST)
		return -EINVAL;
	ret = ep_id_begin_bound(id);
	if (ret)
		return ret;
	ret = rdma_notify(id->cm_id, event);
	ep_id_end(id);
	return ret;
}
