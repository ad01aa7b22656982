// SPDX-License-Identifier: GPL-2.0-only
/*
 * PDs, CQs, SRQs and QPs: creation, destruction, state.
 *
 * The create functions are called inside ep_dev_enter() with the owner's object
 * zeroed, and with a reference for the device's list in hand that is theirs on
 * success. Kernel consumers (no ops) hold the device instead.
 */
#include "engine.h"

static void ep_pd_destroy_hw(struct ep_res *res)
{
	struct ep_pd *pd = container_of(res, struct ep_pd, res);

	struct ib_pd *ibpd = pd->ibpd;

	pd->ibpd = NULL;
	ib_dealloc_pd(ibpd);
}

int ep_pd_create(struct ep_pd *pd, struct ep_dev *dev,
		 const struct ep_res_ops *ops)
{
	int ret;

	ret = ep_res_init(&pd->res, dev, EP_RES_PD, ops, ep_pd_destroy_hw);
	if (ret)
		return ret;
	pd->ibpd = ib_alloc_pd(dev->ibdev, 0);
	if (IS_ERR(pd->ibpd)) {
		ret = PTR_ERR(pd->ibpd);
		pd->ibpd = NULL;
		ep_res_abort(&pd->res);
		return ret;
	}
	ep_res_add(&pd->res);
	return 0;
}

static void ep_cq_destroy_hw(struct ep_res *res)
{
	struct ep_cq *cq = container_of(res, struct ep_cq, res);
	struct ib_cq *ibcq = cq->ibcq;

	cq->ibcq = NULL;
	ib_destroy_cq(ibcq);
}

/* @comp and @event must not be NULL: some drivers call them unchecked. */
int ep_cq_create(struct ep_cq *cq, struct ep_dev *dev,
		 const struct ep_res_ops *ops, ib_comp_handler comp,
		 void (*event)(struct ib_event *, void *), void *context,
		 const struct ib_cq_init_attr *attr)
{
	int ret;

	/* Not every driver checks these. */
	if (!attr->cqe || attr->cqe > dev->ibdev->attrs.max_cqe ||
	    attr->comp_vector >= dev->ibdev->num_comp_vectors)
		return -EINVAL;

	ret = ep_res_init(&cq->res, dev, EP_RES_CQ, ops, ep_cq_destroy_hw);
	if (ret)
		return ret;
	cq->ibcq = ib_create_cq(dev->ibdev, comp, event, context, attr);
	if (IS_ERR(cq->ibcq)) {
		ret = PTR_ERR(cq->ibcq);
		cq->ibcq = NULL;
		ep_res_abort(&cq->res);
		return ret;
	}
	cq->cqe = cq->ibcq->cqe;
	ep_res_add(&cq->res);
	return 0;
}

static void ep_srq_destroy_hw(struct ep_res *res)
{
	struct ep_srq *srq = container_of(res, struct ep_srq, res);
	struct ib_srq *ibsrq = srq->ibsrq;

	srq->ibsrq = NULL;
	ib_destroy_srq(ibsrq);
}

int ep_srq_create(struct ep_srq *srq, struct ep_dev *dev, struct ib_pd *pd,
		  const struct ep_res_ops *ops, struct ib_srq_init_attr *attr)
{
	const struct ib_device_attr *limits = &dev->ibdev->attrs;
	int ret;

	if (!dev->ibdev->ops.create_srq)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > limits->max_srq_wr ||
	    attr->attr.max_sge > limits->max_srq_sge ||
	    attr->attr.srq_limit > attr->attr.max_wr)
		return -EINVAL;

	ret = ep_res_init(&srq->res, dev, EP_RES_SRQ, ops, ep_srq_destroy_hw);
	if (ret)
		return ret;
	srq->ibsrq = ib_create_srq(pd, attr);
	if (IS_ERR(srq->ibsrq)) {
		ret = PTR_ERR(srq->ibsrq);
		srq->ibsrq = NULL;
		ep_res_abort(&srq->res);
		return ret;
	}
	/* Not every driver writes back what it made of the request. */
	if (ib_query_srq(srq->ibsrq, &srq->attr))
		srq->attr = attr->attr;
	if (attr->srq_type == IB_SRQT_XRC)
		srq->num = srq->ibsrq->ext.xrc.srq_num;
	ep_res_add(&srq->res);
	return 0;
}

static void ep_qp_destroy_hw(struct ep_res *res)
{
	struct ep_qp *qp = container_of(res, struct ep_qp, res);
	struct ib_qp *ibqp;

	/*
	 * Destroying waits for the CM on some devices, whose handlers may wait
	 * for qp->lock: only take the pointer away under it.
	 */
	mutex_lock(&qp->lock);
	ibqp = qp->ibqp;
	qp->ibqp = NULL;
	qp->state = IB_QPS_RESET;
	mutex_unlock(&qp->lock);
	ep_qp_detach_all(qp, ibqp);
	WARN_ON_ONCE(qp->xrcd ? ep_xrcd_destroy_qp(qp->xrcd, ibqp) :
				ib_destroy_qp(ibqp));
}

static int ep_qp_check_cap(const struct ib_device *ibdev,
			   const struct ib_qp_init_attr *attr)
{
	const struct ib_device_attr *limits = &ibdev->attrs;
	const struct ib_qp_cap *cap = &attr->cap;

	if (cap->max_send_wr > limits->max_qp_wr ||
	    cap->max_send_sge > limits->max_send_sge)
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
	qp->cap.max_inline_data = max(qp->cap.max_inline_data,
				      attr.cap.max_inline_data);
	if (!qp->has_srq)
		qp->cap.max_recv_wr = max(qp->cap.max_recv_wr,
					  attr.cap.max_recv_wr);
}

/* The QP has been made, or not. */
static int ep_qp_set_hw(struct ep_qp *qp, struct ib_qp *ibqp)
{
	mutex_init(&qp->lock);
	INIT_LIST_HEAD(&qp->mcasts);
	if (IS_ERR(ibqp)) {
		ep_res_abort(&qp->res);
		return PTR_ERR(ibqp);
	}
	qp->ibqp = ibqp;
	qp->type = ibqp->qp_type;
	qp->qp_num = ibqp->qp_num;
	return 0;
}

/* What is granted is in qp->cap. @caller: module that is shown as the owner */
int ep_qp_create(struct ep_qp *qp, struct ep_dev *dev, struct ib_pd *pd,
		 const struct ep_res_ops *ops, struct ib_qp_init_attr *attr,
		 const char *caller)
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
		ibqp = ib_create_qp_kernel(pd, attr, caller);
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

/* Process context, or an id's event handler. */
int ep_qp_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state old;
	int ret = -EIO;

	mutex_lock(&qp->lock);
	if (!qp->ibqp)
		goto out;
	/* On the way down posts are refused first, on the way up last. */
	old = qp->state;
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET)
		WRITE_ONCE(qp->state, IB_QPS_RESET);
	ret = qp->xrcd ? ep_xrcd_modify_qp(qp->xrcd, qp->ibqp, attr, mask) :
			 ib_modify_qp(qp->ibqp, attr, mask);
	if (mask & IB_QP_STATE)
		WRITE_ONCE(qp->state, ret ? old : attr->qp_state);
	if (!ret && (mask & IB_QP_PORT))
		qp->port = attr->port_num;
out:
	mutex_unlock(&qp->lock);
	return ret;
}

int ep_qp_query(struct ep_qp *qp, struct ib_qp_attr *attr, int mask,
		struct ib_qp_init_attr *init)
{
	int ret = -EIO;

	mutex_lock(&qp->lock);
	if (qp->ibqp)
		ret = ib_query_qp(qp->ibqp, attr, mask, init);
	mutex_unlock(&qp->lock);
	return ret;
}

/* Flushes what is posted. A QP that has been destroyed meanwhile is fine. */
void ep_qp_error(struct ep_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ep_qp_modify(qp, &attr, IB_QP_STATE);
}

/*
 * Keeps an iWARP QP's number from being given to another QP: the CM of iWARP
 * looks the number up again after we have. Destroying the QP waits for
 * ep_qp_unpin(), as it does for the CM. Returns NULL for a QP that is gone.
 */
struct ib_qp *ep_qp_pin(struct ep_qp *qp)
{
	struct ib_qp *ibqp;

	mutex_lock(&qp->lock);
	ibqp = qp->ibqp;
	if (ibqp)
		ibqp->device->ops.iw_add_ref(ibqp);
	mutex_unlock(&qp->lock);
	return ibqp;
}

void ep_qp_unpin(struct ib_qp *ibqp)
{
	ibqp->device->ops.iw_rem_ref(ibqp);
}
