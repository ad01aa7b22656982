// SPDX-License-Identifier: GPL-2.0-only
/* CREATE_QP, with an id or without, and the CQs that it creates. */
#include <linux/log2.h>

#include "../verbs/verbs.h"
#include "cm.h"

/* The results for a queue without a CQ */
static void uep_qp_no_cq(struct rdma_ep_auto_cq *arg)
{
	arg->cq = 0;
	arg->channel_fd = -1;
	arg->cqe = 0;
	arg->ring = RDMA_EP_NO_RING;
}

/* Returns the CQ that the user names, or creates one with a channel of its own. */
static struct uep_cq *uep_qp_cq(struct uep_cmd *cmd, struct uep_qp *qp,
				struct rdma_ep_auto_cq *arg, bool create, u32 cqe)
{
	bool ring = arg->ring & RDMA_EP_CQ_RING;
	u32 handle = arg->cq;
	struct uep_queue *chan;
	struct uep_cq *cq;
	int ret;

	uep_qp_no_cq(arg);
	if (handle) {
		arg->cq = handle;
		return uep_obj_use_for(&qp->obj, handle, RDMA_EP_OBJ_CQ);
	}
	if (!create)
		return ERR_PTR(-ENOENT);
	if (!cqe)
		return NULL;

	chan = uep_comp_create(cmd, &arg->channel_fd);
	if (IS_ERR(chan))
		return ERR_CAST(chan);
	cq = uep_cq_create(qp->ctx, arg->uid, chan, cqe, 0, ring);
	ret = uep_cmd_add_obj(cmd, cq, &arg->cq);
	if (ret)
		return ERR_PTR(ret);
	uep_obj_depend(&qp->obj, &cq->obj);
	arg->cqe = cq->hw->granted;
	arg->ring = cq->ring.index;
	return cq;
}

/* The SRQ that the user names, or that of the id, unless its command has not succeeded yet. */
static int uep_qp_find_srq(struct uep_qp *qp, u32 qp_type, u32 handle, struct uep_id *id)
{
	bool of_id = !handle && id && id->srq && !uep_obj_claimed(&id->srq->obj);
	struct uep_srq *srq;

	if (!handle && !of_id)
		return 0;
	srq = uep_obj_use_for(&qp->obj, of_id ? id->srq->obj.handle : handle, RDMA_EP_OBJ_SRQ);
	if (IS_ERR(srq))
		return of_id && PTR_ERR(srq) == -ENOENT ? 0 : PTR_ERR(srq);
	qp->srq = srq;
	/* Not every driver checks the type. An XRC SRQ is for the targets in its domain. */
	return srq->xrcd || (qp_type != IB_QPT_RC && qp_type != IB_QPT_UD) ? -EINVAL : 0;
}

/* Receives of an SRQ complete in a CQ of the QP, whose receive queue has no entries. */
static u32 uep_qp_recv_cqe(const struct uep_qp *qp, const struct rdma_ep_qp_init *init)
{
	if (init->max_recv_wr || !qp->srq)
		return init->max_recv_wr;
	return min_t(u32, qp->srq->srq.attr.max_wr, qp->obj.dev->ibdev->attrs.max_cqe);
}

/* Finds or creates the CQs and the SRQ that the QP depends on. */
static int uep_qp_find_queues(struct uep_cmd *cmd, struct uep_qp *qp,
			      struct rdma_ep_qp_init *init, struct uep_id *id)
{
	struct uep_cq *recv = NULL, *send;
	int ret;

	if (init->qp_type == IB_QPT_XRC_INI) {
		if (init->srq)
			return -EINVAL;
		init->max_recv_wr = 0;
		init->max_recv_sge = 0;
		uep_qp_no_cq(&init->recv_cq);
	} else {
		ret = uep_qp_find_srq(qp, init->qp_type, init->srq, id);
		if (ret)
			return ret;
		/* With an SRQ the QP has no receive queue. */
		if (!qp->srq && (init->max_recv_wr > UEP_MAX_WR ||
				 init->max_recv_sge > UEP_MAX_SGE))
			return -EINVAL;
		recv = uep_qp_cq(cmd, qp, &init->recv_cq, id, uep_qp_recv_cqe(qp, init));
		if (IS_ERR(recv))
			return PTR_ERR(recv);
	}
	send = uep_qp_cq(cmd, qp, &init->send_cq, id, init->max_send_wr);
	if (IS_ERR(send))
		return PTR_ERR(send);
	if (recv)
		WRITE_ONCE(recv->receives, true);
	/* A queue without entries needs no CQ, but drivers expect one. */
	if (!recv && !send)
		return -EINVAL;
	if (!recv && uep_obj_depend(&qp->obj, &send->obj))
		recv = send;
	if (!send && uep_obj_depend(&qp->obj, &recv->obj))
		send = recv;
	qp->recv_cq = recv;
	qp->send_cq = send;
	return 0;
}

/* Memory for as many outstanding READs as the device allows */
static u64 uep_qp_read_bytes(const struct ib_device *ibdev, u32 qp_type)
{
	u32 size = ep_driver_of(ibdev)->read_bytes ?: 64;
	u32 nr = ibdev->attrs.max_qp_rd_atom;

	return qp_type == IB_QPT_RC && nr ? uep_hw_queue_bytes(nr - 1, size) : 0;
}

static u64 uep_qp_bytes(const struct ib_device *ibdev, const struct rdma_ep_qp_init *init,
			bool has_rq)
{
	u32 send = 192 + sizeof(struct uep_slot) +
		   max_t(u32, init->max_inline_data, init->max_send_sge * sizeof(struct ib_sge));
	u32 recv = 64 + sizeof(struct uep_slot) + init->max_recv_sge * sizeof(struct ib_sge);

	return uep_hw_queue_bytes(init->max_send_wr, send) +
	       (has_rq ? uep_hw_queue_bytes(init->max_recv_wr, recv) : 0) +
	       uep_qp_read_bytes(ibdev, init->qp_type);
}

/*
 * A driver rounds the size of its send queue up, and may hold more requests than it grants.
 * Each of them needs a slot, and so does each request of a batch that is being posted.
 */
static u32 uep_qp_sq_slots(u32 max_send_wr)
{
	return max_send_wr ? roundup_pow_of_two(max_send_wr + 1) + UEP_POST_BATCH : 0;
}

static int uep_qp_create_hw(struct uep_qp *qp, const struct rdma_ep_qp_init *init)
{
	struct ib_device *ibdev = qp->obj.dev->ibdev;
	struct ib_qp_init_attr attr = {
		.event_handler = uep_qp_event,
		.qp_context = qp,
		.send_cq = qp->send_cq->hw->cq.ibcq,
		.recv_cq = init->qp_type == IB_QPT_XRC_INI ? NULL : qp->recv_cq->hw->cq.ibcq,
		.srq = qp->srq ? qp->srq->srq.ibsrq : NULL,
		.cap = {
			.max_send_wr = init->max_send_wr,
			.max_recv_wr = qp->srq ? 0 : init->max_recv_wr,
			.max_send_sge = init->max_send_sge,
			.max_recv_sge = qp->srq ? 0 : init->max_recv_sge,
			.max_inline_data = init->max_inline_data,
		},
		.sq_sig_type = init->flags & RDMA_EP_QP_SQ_SIG_ALL ?
			       IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = init->qp_type,
	};
	int ret;

	if (!ep_dev_has(ibdev, EP_CAP_INLINE))
		attr.cap.max_inline_data = 0;
	if (ep_dev_has(ibdev, EP_CAP_SPLIT_SEND) && attr.cap.max_send_sge == 1)
		attr.cap.max_send_sge = 2;

	ret = ep_qp_create(&qp->qp, qp->obj.dev, qp->pd->pd.ibpd, &uep_qp_res_ops, &attr,
			   KBUILD_MODNAME);
	if (!ret && !ep_dev_has(ibdev, EP_CAP_INLINE))
		qp->qp.cap.max_inline_data = 0;
	return ret;
}

/* Prepares the slots of requests, and the tables by which completions find the QP. */
static int uep_qp_init_queues(struct uep_qp *qp)
{
	struct uep_session *s = qp->obj.session;
	unsigned long hw_key = uep_qp_hw_key(qp->qp.ibqp);
	int ret;

	qp->sq.qp_num = qp->qp.qp_num;
	qp->rq.qp_num = qp->qp.qp_num;
	qp->sq.reads_apart = ep_dev_has(qp->obj.dev->ibdev, EP_CAP_READS_APART);
	ret = uep_wq_init(&qp->sq, s, uep_qp_sq_slots(qp->qp.cap.max_send_wr), true);
	if (ret)
		return ret;
	if (qp->srq) {
		/* A QP at the same address may be being destroyed, with completions left. */
		if (xa_load(&qp->recv_cq->qps, hw_key))
			uep_cq_drain(qp->recv_cq);
		ret = xa_err(xa_store(&qp->recv_cq->qps, hw_key, qp, GFP_KERNEL_ACCOUNT));
	} else {
		ret = uep_wq_init(&qp->rq, s, qp->qp.cap.max_recv_wr, false);
	}
	ret = ret ?: xa_insert(&s->qps, uep_qp_key(qp), qp, GFP_KERNEL_ACCOUNT);
	/* On 32-bit machines a QP of another device may have the key (uep_qp_key()). */
	return ret == -EBUSY ? -ENOMEM : ret;
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
	if (init->max_send_wr > UEP_MAX_WR || init->max_send_sge > UEP_MAX_SGE ||
	    init->max_inline_data > UEP_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* Called inside ep_dev_enter(). */
static struct uep_qp *uep_qp_create_in(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
				       struct uep_id *id, struct uep_pd *pd)
{
	struct ib_device *ibdev = pd->obj.dev->ibdev;
	struct uep_qp *qp;
	u64 bytes;
	int ret;

	if ((init->qp_type == IB_QPT_XRC_INI && !ep_dev_has(ibdev, EP_CAP_XRC)) ||
	    (init->qp_type != IB_QPT_RC && rdma_protocol_iwarp(ibdev, 1)))
		return ERR_PTR(-EOPNOTSUPP);
	if (id && !ep_id_suits_qp(&id->id, init->qp_type))
		return ERR_PTR(-EINVAL);
	qp = uep_qp_alloc(&pd->obj, pd->ctx, init->uid);
	if (IS_ERR(qp))
		return qp;
	qp->pd = pd;
	qp->max_sge_rd = ibdev->attrs.max_sge_rd;
	ret = uep_qp_find_queues(cmd, qp, init, id);
	if (ret)
		goto out;
	bytes = uep_qp_bytes(ibdev, init, !qp->srq);
	ret = uep_charge(cmd->s, 0, bytes);
	if (ret)
		goto out;
	qp->obj.queue_bytes = bytes;
	uep_recv_ring_add_qp(qp);
	ret = uep_qp_create_hw(qp, init);
	if (ret)
		uep_recv_ring_del_qp(qp, true);
	else
		ret = uep_qp_init_queues(qp);
out:
	return uep_obj_created(&qp->obj, ret);
}

/*
 * Creates a QP, and the CQs that it needs, as steps of @cmd, with the attributes @init (in and
 * out), for @id (between ep_id_begin_bound() and ep_id_end()) or NULL. 0 or an errno of struct
 * rdma_ep_cmd_create_qp
 */
int uep_qp_create(struct uep_cmd *cmd, struct rdma_ep_qp_init *init, struct uep_id *id)
{
	bool target = init->qp_type == IB_QPT_XRC_TGT;
	struct ep_dev *dev = NULL;
	struct uep_obj *parent;
	struct uep_qp *qp;
	int srcu, ret;

	ret = uep_qp_check_init(init);
	if (ret)
		return ret;
	if (id) {
		if (target && !ep_id_suits_qp(&id->id, init->qp_type))
			return -EINVAL;
		dev = ep_id_dev(&id->id);
		if (!dev)
			return -EIO;
	}
	if (target)
		parent = uep_obj_enter_on(cmd->s, init->pd, RDMA_EP_OBJ_XRCD, dev, &srcu);
	else
		parent = (void *)uep_pd_enter(cmd->s, init->pd, dev, &srcu);
	ep_dev_put(dev);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	if (target) {
		uep_qp_no_cq(&init->send_cq);
		uep_qp_no_cq(&init->recv_cq);
		qp = uep_target_create(container_of(parent, struct uep_xrcd, obj), init->uid, NULL);
	} else {
		qp = uep_qp_create_in(cmd, init, id, container_of(parent, struct uep_pd, obj));
	}
	ret = PTR_ERR_OR_ZERO(qp);
	if (ret)
		goto out;
	/* Ports of a device do not differ in this until one is chosen. */
	uep_qp_set_port(qp, id ? id->id.cm_id->port_num : rdma_start_port(parent->dev->ibdev));
	if (id) {
		ret = ep_id_attach_qp(&id->id, &qp->qp);
		if (ret) {
			uep_obj_discard(&qp->obj);
			goto out;
		}
		uep_cmd_own(cmd, id);
	}
	ret = uep_cmd_add_obj(cmd, qp, &init->qp);
	if (ret)
		goto out;
	init->pd = parent->handle;
	init->max_send_wr = qp->qp.cap.max_send_wr;
	init->max_recv_wr = qp->qp.cap.max_recv_wr;
	init->max_send_sge = qp->qp.cap.max_send_sge;
	init->max_recv_sge = qp->qp.cap.max_recv_sge;
	init->max_inline_data = qp->qp.cap.max_inline_data;
	init->qp_num = qp->qp.qp_num;
	init->state = qp->qp.state;
out:
	return uep_obj_exit(parent, srcu, ret);
}

int uep_create_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_qp *arg = cmd->arg;
	struct uep_id *id;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->id)
		return uep_qp_create(cmd, &arg->init, NULL);
	id = uep_id_begin_bound(cmd->s, arg->id);
	return IS_ERR(id) ? PTR_ERR(id) : uep_id_end(id, uep_qp_create(cmd, &arg->init, id));
}
