// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection domains, addresses, XRC domains and queue pairs.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "mock.h"

/* Number of the core's own QP, for the CM's messages */
#define MOCK_GSI_QPN	1

int mock_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibpd->device);

	return MOCK_GATE(ibpd->device, alloc_pd) ?:
	       mock_count_add(m, MOCK_PD, m->attr.max_pd);
}

int mock_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	int ret = MOCK_GATE(ibpd->device, dealloc_pd);

	if (!ret)
		mock_count_sub(to_mock(ibpd->device), MOCK_PD);
	return ret;
}

static bool mock_is_here(struct ib_device *ibdev, const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid(ibdev, gid, IB_GID_TYPE_ROCE, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

int mock_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(init->ah_attr);
	struct mock_ah *ah = container_of(ibah, struct mock_ah, ibah);
	struct mock_dev *m = to_mock(ibah->device);
	int ret = mock_gate(ibah->device, MOCK_OP_create_ah,
			    init->flags & RDMA_CREATE_AH_SLEEPABLE);

	/* Address handles of an InfiniBand port may have no GRH. */
	if (!ret && !grh->sgid_attr)
		ret = -EOPNOTSUPP;
	if (!ret)
		ret = mock_count_add(m, MOCK_AH, m->attr.max_ah);
	if (ret)
		return ret;
	ah->dgid = grh->dgid;
	ah->sgid = grh->sgid_attr->gid;
	ah->here = mock_is_here(ibah->device, &ah->dgid);
	return 0;
}

int mock_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	int ret = mock_gate(ibah->device, MOCK_OP_destroy_ah, flags & RDMA_DESTROY_AH_SLEEPABLE);

	if (!ret)
		mock_count_sub(to_mock(ibah->device), MOCK_AH);
	return ret;
}

int mock_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return MOCK_GATE(ibxrcd->device, alloc_xrcd) ?:
	       mock_count_add(to_mock(ibxrcd->device), MOCK_XRCD, INT_MAX);
}

int mock_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	int ret = MOCK_GATE(ibxrcd->device, dealloc_xrcd);

	if (!ret)
		mock_count_sub(to_mock(ibxrcd->device), MOCK_XRCD);
	return ret;
}

static bool mock_qp_type_ok(struct mock_dev *m, enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_GSI:
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return true;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return m->attr.device_cap_flags & IB_DEVICE_XRC;
	default:
		return false;
	}
}

static int mock_qp_init(struct mock_dev *m, struct mock_qp *qp, struct ib_qp_init_attr *init)
{
	bool sends = init->qp_type != IB_QPT_XRC_TGT;
	bool recvs = sends && init->qp_type != IB_QPT_XRC_INI && !init->srq;
	struct ib_qp_cap *cap = &init->cap;

	if (cap->max_inline_data > MOCK_MAX_INLINE)
		return -EINVAL;
	qp->pd = qp->ibqp.pd;
	qp->type = init->qp_type;
	qp->srq = to_mock_srq(init->srq);
	qp->xrcd = init->xrcd;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->cap = *cap;
	if (sends)
		qp->cap.max_send_wr = mock_queried(m, cap->max_send_wr);
	if (recvs)
		qp->cap.max_recv_wr = mock_queried(m, cap->max_recv_wr);
	if (sends && mock_wq_init(&qp->sq, mock_depth(m, cap->max_send_wr)))
		return -ENOMEM;
	if (recvs && mock_wq_init(&qp->rq, mock_depth(m, cap->max_recv_wr)))
		return -ENOMEM;
	if (sends)
		cap->max_send_wr = mock_granted(m, cap->max_send_wr);
	if (recvs)
		cap->max_recv_wr = mock_granted(m, cap->max_recv_wr);
	if (m->caps == MOCK_CAPS_MORE)
		cap->max_inline_data = MOCK_MAX_INLINE;
	return mock_obj_add(m, &qp->obj, MOCK_QP, qp->type == IB_QPT_GSI ? MOCK_GSI_QPN : 0);
}

int mock_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	int ret = MOCK_GATE(ibqp->device, create_qp);

	if (ret)
		return ret;
	if (init->create_flags || !mock_qp_type_ok(m, init->qp_type))
		return -EOPNOTSUPP;
	ret = mock_count_add(m, MOCK_QP, m->attr.max_qp);
	if (ret)
		return ret;
	ret = mock_qp_init(m, qp, init);
	if (ret) {
		kvfree(qp->sq.ring);
		kvfree(qp->rq.ring);
		mock_count_sub(m, MOCK_QP);
		return ret;
	}
	ibqp->qp_num = qp->obj.num;
	return 0;
}

static void mock_qp_set(struct mock_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
}

static void mock_qp_go(struct mock_dev *m, struct mock_qp *qp, enum ib_qp_state state)
{
	qp->state = state;
	switch (state) {
	case IB_QPS_RESET:
		qp->sq.used = 0;
		qp->rq.used = 0;
		qp->last_wqe = false;
		break;
	case IB_QPS_ERR:
		mock_flush(qp);
		break;
	default:
		break;
	}
	/* Senders may wait until this QP can receive. */
	mock_run_senders(m, qp, NULL);
}

int mock_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	int ret = MOCK_GATE(ibqp->device, modify_qp);
	enum ib_qp_state cur, next;
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&m->lock, flags);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, next, qp->type, mask)) {
		ret = -EINVAL;
	} else {
		mock_qp_set(qp, attr, mask);
		if (mask & IB_QP_STATE)
			mock_qp_go(m, qp, next);
	}
	mock_unlock(m, flags);
	return ret;
}

int mock_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	int ret = MOCK_GATE(ibqp->device, query_qp);

	if (ret)
		return ret;
	spin_lock_irq(&m->lock);
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->cap = qp->cap;
	init->cap = qp->cap;
	init->qp_type = qp->type;
	spin_unlock_irq(&m->lock);
	return 0;
}

int mock_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	int ret = MOCK_GATE(ibqp->device, destroy_qp);
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&m->lock, flags);
	mock_qp_go(m, qp, IB_QPS_RESET);
	mock_unlock(m, flags);
	mock_obj_del(m, &qp->obj);
	kvfree(qp->sq.ring);
	kvfree(qp->rq.ring);
	mock_count_sub(m, MOCK_QP);
	return 0;
}

/* Multicasts are not delivered. The core counts the attachments. */
int mock_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return MOCK_GATE(ibqp->device, attach_mcast);
}

int mock_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return MOCK_GATE(ibqp->device, detach_mcast);
}
