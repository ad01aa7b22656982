// SPDX-License-Identifier: GPL-2.0-only
/* States and attributes of rxe's QPs. rxe.c names the versions that behave so. */
#include <rdma/ib_cache.h>

#include "drivers.h"

int ep_rxe_query(const struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_init_attr init = {};

	*attr = (struct ib_qp_attr){};
	return ib_query_qp(qp->ibqp, attr, mask, &init);
}

enum ib_qp_state ep_rxe_state(const struct ep_qp *qp)
{
	struct ib_qp_attr attr;

	return ep_rxe_query(qp, &attr, IB_QP_STATE) ? IB_QPS_ERR : attr.qp_state;
}

/*
 * Drops all posted requests of a QP without completing them, and its reference to a region;
 * qp->lock is held. In RESET an arriving packet would stay, in ERR rxe drops it. One RESET is not
 * enough: rxe loses its place in the send queue before it empties the queue, and an error may
 * overtake it. (RXE-18, RXE-19)
 */
void ep_rxe_empty(struct ep_qp *qp)
{
	static const enum ib_qp_state way[] = {
		IB_QPS_RESET, IB_QPS_RESET, IB_QPS_INIT, IB_QPS_ERR,
	};
	int to_init = IB_QP_PKEY_INDEX | IB_QP_PORT |
		      (qp->type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS);
	struct ib_qp_attr attr;
	size_t i;

	/* Without a port the QP has never been in INIT, and is empty. */
	if (ep_rxe_query(qp, &attr, to_init) || !attr.port_num)
		return;
	/* A QP in SQD accepts only the last transition (ERR), which flushes it. */
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		attr.qp_state = way[i];
		ib_modify_qp(qp->ibqp, &attr, way[i] == IB_QPS_INIT ?
			     IB_QP_STATE | to_init : IB_QP_STATE);
	}
}

/* In ERR rxe may still complete a receive that it has begun; after this it does not. */
void ep_rxe_stop_receiving(struct ep_qp *qp)
{
	guard(ep_qp)(qp);
	if (qp->ibqp)
		ep_rxe_empty(qp);
}

/*
 * rxe does not check a change against the QP's state. It takes the current state from the
 * caller, also RTR of a QP in ERR, whose queues have been flushed; from 6.12 on it takes any
 * attribute at any time if the state does not change, and frees resources for READs that a
 * responder is using. (RXE-17, RXE-23)
 */
int ep_rxe_before_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int *mask)
{
	bool reset = (*mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET;
	struct ib_qp_attr now;
	enum ib_qp_state next;
	int ret;

	if ((*mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    !((*mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTR))
		return -EOPNOTSUPP;
	/*
	 * A peer's FLUSH takes a resource without checking that there is one. rxe rounds their
	 * number up, in eight bits.
	 */
	if (*mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr->max_dest_rd_atomic = clamp_t(int, attr->max_dest_rd_atomic, 1,
						   qp->ibqp->device->attrs.max_qp_rd_atom);
	if ((*mask & IB_QP_STATE) && !(*mask & IB_QP_CUR_STATE) && !reset)
		return 0;
	ret = ep_rxe_query(qp, &now, IB_QP_STATE);
	if (ret)
		return ret;
	if ((*mask & IB_QP_CUR_STATE) && attr->cur_qp_state != now.qp_state)
		return -EINVAL;
	/* rxe refuses it, too, but after the queues have been emptied. */
	if (reset && now.qp_state == IB_QPS_SQD && now.sq_draining)
		return -EINVAL;
	next = *mask & IB_QP_STATE ? attr->qp_state : now.qp_state;
	if (!ib_modify_qp_is_ok(now.qp_state, next, qp->type, *mask))
		return -EINVAL;
	/* The state may change before rxe compares it. */
	*mask &= ~IB_QP_CUR_STATE;
	return 0;
}

/* 6.1 processes a packet as it arrives, under RCU; in ERR it drops packets. */
void ep_rxe_before_reset(struct ep_qp *qp, enum ib_qp_state old)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (old <= IB_QPS_INIT || !qp->res.ops)
		return;
	qp->res.ops->reap(&qp->res);
	ib_modify_qp(qp->ibqp, &attr, IB_QP_STATE);
	synchronize_rcu();
}

/* The address of no peer: the network stack drops packets from it. */
static const union ib_gid ep_rxe_no_peer = { .raw = { 0xff } };

/*
 * RTR of a QP that was connected before. rxe makes room for READs when the QP is in RTR already,
 * and waits until its responder is idle (6.12, 7.2): for ever, if former peers continue to send. So
 * the QP first gets an address from which nothing arrives; rxe sets the real one last. rxe also
 * answers requests from before the RESET in INIT, and a READ would take long. So the QP has no
 * access rights until then. (RXE-16)
 */
static int ep_rxe_to_rtr(struct ep_qp *qp, const struct ib_qp_attr *given, int mask)
{
	struct ib_qp_attr attr = *given;
	int ret;

	rdma_ah_retrieve_grh(&attr.ah_attr)->dgid = ep_rxe_no_peer;
	ret = ib_modify_qp(qp->ibqp, &attr, IB_QP_AV);
	if (ret)
		return ret;
	attr = *given;
	if (!(mask & IB_QP_ACCESS_FLAGS))
		attr.qp_access_flags = ep_rxe_qp(qp)->access;
	return ib_modify_qp(qp->ibqp, &attr, mask | IB_QP_ACCESS_FLAGS);
}

/*
 * Twice, see ep_rxe_empty(). rxe drops a READ that it was answering only with the room for READs,
 * and would resume it later.
 */
static int ep_rxe_reset(struct ep_qp *qp, struct ib_qp_attr *attr)
{
	struct ib_qp_attr room = { .max_dest_rd_atomic = 1 };

	return ib_modify_qp(qp->ibqp, attr, IB_QP_STATE) ?:
	       ib_modify_qp(qp->ibqp, attr, IB_QP_STATE) ?:
	       ep_rxe_qp(qp)->used ? ib_modify_qp(qp->ibqp, &room, IB_QP_MAX_DEST_RD_ATOMIC) : 0;
}

static int ep_rxe_modify_hw(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);
	enum ib_qp_state state = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	struct ib_qp_attr init;
	bool used;
	int ret;

	if ((mask & IB_QP_STATE) && state == IB_QPS_RESET)
		return ep_rxe_reset(qp, attr);
	if (!EP_COMPAT_QP_WORK_ITEMS || qp->type != IB_QPT_RC)
		return ib_modify_qp(qp->ibqp, attr, mask);
	if (state == IB_QPS_INIT && (mask & IB_QP_ACCESS_FLAGS)) {
		init = *attr;
		if (rxe->used)
			init.qp_access_flags = 0;
		ret = ib_modify_qp(qp->ibqp, &init, mask);
		if (!ret)
			rxe->access = attr->qp_access_flags;
		return ret;
	}
	if ((mask & IB_QP_STATE) && state == IB_QPS_RTR) {
		/* A change that fails may be half done. */
		used = rxe->used;
		rxe->used = true;
		if (used && ib_modify_qp_is_ok(ep_rxe_state(qp), IB_QPS_RTR, qp->type, mask))
			return ep_rxe_to_rtr(qp, attr, mask);
	}
	return ib_modify_qp(qp->ibqp, attr, mask);
}

void ep_rxe_after_query(const struct ep_qp *qp, struct ib_qp_attr *attr)
{
	const struct ep_rxe_qp *rxe = ep_rxe_qp(qp);

	if (rxe->used && attr->qp_state == IB_QPS_INIT)
		attr->qp_access_flags = rxe->access;
}

/* A program's QP of that number on the device, or NULL; dev->lock is held. */
struct ep_qp *ep_rxe_find(struct ep_dev *dev, u32 qp_num)
{
	struct ep_qp *qp;

	hash_for_each_possible(dev->qps, qp, by_num, qp_num)
		if (qp->qp_num == qp_num)
			return qp;
	return NULL;
}

/* Does the address belong to this device? */
bool ep_rxe_is_local(const struct ep_qp *qp, const struct rdma_ah_attr *ah_attr)
{
	const struct ib_gid_attr *gid;

	gid = rdma_find_gid(qp->res.dev->ibdev, (union ib_gid *)&rdma_ah_read_grh(ah_attr)->dgid,
			    IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
	if (IS_ERR(gid))
		return false;
	rdma_put_gid_attr(gid);
	return true;
}

/*
 * The QP is being connected. Packets that it sends before its next reset may be in its peer's
 * queue when it is destroyed, so its peers on this device are recorded. A peer that has been
 * destroyed makes room for the next. -EBUSY if all exist. @added: the new record, or NULL
 */
static int ep_rxe_add_peer(struct ep_qp *qp, const struct ib_qp_attr *attr, int mask, u32 **added)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);
	struct ep_dev *dev = qp->res.dev;
	u32 qp_num = attr->dest_qp_num, i;
	struct ib_qp_attr now;
	int ret;

	if (!EP_COMPAT_QP_WORK_ITEMS || !ep_rxe_is_local(qp, &attr->ah_attr))
		return 0;
	if (!(mask & IB_QP_DEST_QPN)) {
		ret = ep_rxe_query(qp, &now, IB_QP_DEST_QPN);
		if (ret)
			return ret;
		qp_num = now.dest_qp_num;
	}
	for (i = 0; i < EP_RXE_PEERS; i++)
		if (rxe->peers[i] == qp_num)
			return 0;
	/* A reference to a peer must not be the last one to be dropped here, so none is taken. */
	spin_lock(&dev->lock);
	for (i = 0; i < EP_RXE_PEERS; i++)
		if (!rxe->peers[i] || !ep_rxe_find(dev, rxe->peers[i]))
			break;
	spin_unlock(&dev->lock);
	if (i == EP_RXE_PEERS)
		return -EBUSY;
	*added = &rxe->peers[i];
	**added = qp_num;
	return 0;
}

int ep_rxe_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);
	u32 *added = NULL;
	int ret = 0;

	if (mask & IB_QP_AV)
		ret = ep_rxe_add_peer(qp, attr, mask, &added);
	if (!ret)
		ret = ep_rxe_modify_hw(qp, attr, mask);
	if (ret && added)
		*added = 0;
	if (!ret && (mask & IB_QP_STATE) && attr->qp_state != IB_QPS_ERR) {
		/* When it enters ERR again it may keep a region. */
		rxe->failed_at = 0;
		rxe->emptied = false;
	}
	return ret;
}
