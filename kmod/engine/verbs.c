// SPDX-License-Identifier: GPL-2.0-only
/*
 * PDs, CQs, SRQs and QPs: creation and destruction.
 *
 * The create functions are called inside ep_dev_enter(), with the owner's object zeroed but
 * for ep_res.owner. Kernel consumers (no ops) are users of the device instead.
 */
#include <linux/module.h>

#include "engine.h"

static void ep_pd_destroy_hw(struct ep_res *res)
{
	struct ep_pd *pd = container_of(res, struct ep_pd, res);

	ib_dealloc_pd(xchg(&pd->ibpd, NULL));
}

/*
 * Where a device has no lkey for all memory, ib_core gives each kernel PD a region over it.
 * Posts of programs do not need the region. They must not be able to name it, as some drivers
 * answer a peer's READ from any region of the PD.
 */
static void ep_pd_drop_dma_mr(struct ib_pd *ibpd)
{
	if (!ibpd->__internal_mr)
		return;
	WARN_ON_ONCE(ibpd->device->ops.dereg_mr(ibpd->__internal_mr, NULL));
	ibpd->__internal_mr = NULL;
	ibpd->local_dma_lkey = 0;
}

/* For posts of programs: ib_pd.local_dma_lkey is not valid. */
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

	if (!ep_dev_has_srq(dev->ibdev))
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
	/* Not every driver writes the granted attributes back. */
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

static struct ib_qp *ep_qp_create_hw(struct ep_qp *qp, struct ib_pd *pd,
				     struct ib_qp_init_attr *attr, const char *caller)
{
	struct module *module;
	struct ib_qp *ibqp;

	if (qp->xrcd)
		return ep_xrcd_create_qp(qp->xrcd, attr, caller);
	module = ep_qp_module(pd->device);
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
	 * Destroying a QP may take long, and waits for the CM on some devices, so it happens
	 * without qp->lock.
	 */
	mutex_lock(&qp->lock);
	ibqp = qp->ibqp;
	if (drv->before_destroy)
		drv->before_destroy(qp);
	WRITE_ONCE(qp->ibqp, NULL);
	qp->state = IB_QPS_RESET;
	ep_qp_unlock(qp);
	/* A program's task has waited in ep_qp_begin_destroy(). */
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

/* Not every driver writes the granted depths and inline size back. */
static void ep_qp_query_cap(struct ep_qp *qp)
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

/* @ibqp: or an ERR_PTR */
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

/* Sets qp->cap to the granted one. @caller: module that is shown as the owner */
int ep_qp_create(struct ep_qp *qp, struct ep_dev *dev, struct ib_pd *pd,
		 const struct ep_res_ops *ops, struct ib_qp_init_attr *attr, const char *caller)
{
	int ret;

	ret = ep_qp_check_cap(dev->ibdev, attr);
	if (ret)
		return ret;
	ret = ep_res_init(&qp->res, dev, EP_RES_QP, ops, ep_qp_destroy_hw);
	if (ret)
		return ret;
	ret = ep_qp_set_hw(qp, ep_qp_create_hw(qp, pd, attr, caller));
	if (ret)
		return ret;
	qp->state = IB_QPS_RESET;
	qp->has_srq = attr->srq;
	qp->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	/* An XRC target has no queues of its own. */
	if (!qp->xrcd) {
		qp->cap = attr->cap;
		ep_qp_query_cap(qp);
	}
	ep_res_add(&qp->res);
	return 0;
}

/* As ep_qp_create(), for one more opener of an XRC target */
int ep_qp_open(struct ep_qp *qp, struct ep_dev *dev, const struct ep_res_ops *ops,
	       struct ib_qp_open_attr *attr)
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
	if (!ib_query_qp(qp->ibqp, &now, IB_QP_STATE, &init))
		qp->state = now.qp_state;
	ep_res_add(&qp->res);
	return 0;
}
