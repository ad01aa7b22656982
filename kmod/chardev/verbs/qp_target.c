// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC target QPs: they belong to a domain, and have neither PD nor queues.
 */
#include "verbs.h"

/*
 * One more opener of a target QP in the domain that the handle names: of a new one,
 * or if @num is not NULL of that with the number. @dev: the device that it must be
 * on, or NULL. Returns it inside ep_dev_enter().
 */
static struct uep_qp *uep_target_new(struct uep_session *s, u32 handle,
				     u64 uid, struct ep_dev *dev,
				     const u32 *num, int *srcu)
{
	struct ib_qp_init_attr init = {
		.event_handler = uep_qp_event,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_qp_open_attr open = {
		.event_handler = uep_qp_event,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct uep_xrcd *xrcd = uep_xrcd_use(s, handle);
	struct uep_qp *qp;
	int ret;

	if (!xrcd)
		return ERR_PTR(-ENOENT);
	if (dev && dev != xrcd->ctx->dev)
		qp = ERR_PTR(-EINVAL);
	else
		qp = uep_qp_alloc(s, xrcd->ctx, uid, 0);
	if (IS_ERR(qp)) {
		uep_obj_unhold(&xrcd->obj);
		return qp;
	}
	qp->xrcd = xrcd;
	qp->qp.xrcd = &xrcd->xrcd;
	dev = xrcd->ctx->dev;
	ret = ep_dev_enter(dev, srcu);
	if (ret)
		goto err;
	init.qp_context = qp;
	open.qp_context = qp;
	uep_obj_get(&qp->obj);
	if (num) {
		open.qp_num = *num;
		ret = ep_qp_open(&qp->qp, dev, &uep_qp_res_ops, &open);
	} else {
		ret = ep_qp_create(&qp->qp, dev, NULL, &uep_qp_res_ops, &init,
				   KBUILD_MODNAME);
	}
	if (ret) {
		uep_obj_put(&qp->obj);
		goto err_exit;
	}
	/* The session may have it open already. */
	qp->key = uep_qp_key(qp);
	ret = xa_insert(&s->qps, qp->key, qp, GFP_KERNEL_ACCOUNT);
	if (!ret || ret == -EBUSY)
		return qp;

err_exit:
	ep_dev_exit(dev, *srcu);
err:
	uep_obj_discard(&qp->obj);
	return ERR_PTR(ret);
}

/* Returns it inside ep_dev_enter(). @dev: the device that it must be on, or NULL */
struct uep_qp *uep_target_create(struct uep_session *s,
				 const struct rdma_ep_qp_init *init,
				 struct ep_dev *dev, int *srcu)
{
	return uep_target_new(s, init->pd, init->uid, dev, NULL, srcu);
}

int uep_open_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_open_qp *arg = cmd->arg;
	struct ep_dev *dev;
	struct uep_qp *qp;
	int srcu, ret;

	qp = uep_target_new(cmd->s, arg->xrcd, arg->uid, NULL, &arg->qp_num,
			    &srcu);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	dev = qp->ctx->dev;
	kref_get(&dev->ref);
	ret = uep_cmd_add_obj(cmd, &qp->obj);
	if (!ret) {
		arg->qp = qp->obj.handle;
		arg->state = qp->qp.state;
	}
	ep_dev_exit(dev, srcu);
	ep_dev_put(dev);
	return ret;
}
