// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC target QPs: they belong to a domain, and have neither PD nor queues.
 */
#include "verbs.h"

/*
 * One more opener of a target QP in the domain: of a new one, or if @num is not NULL of that
 * with the number. Called inside ep_dev_enter().
 */
struct uep_qp *uep_target_create(struct uep_xrcd *xrcd, u64 uid, const u32 *num)
{
	struct ib_qp_init_attr init = {
		.event_handler = uep_qp_event,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_qp_open_attr open = {
		.event_handler = uep_qp_event,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct uep_qp *qp;
	int ret;

	qp = uep_qp_alloc(&xrcd->obj, xrcd->ctx, uid);
	if (IS_ERR(qp))
		return qp;
	qp->xrcd = xrcd;
	qp->qp.xrcd = &xrcd->xrcd;
	if (num) {
		open.qp_context = qp;
		open.qp_num = *num;
		ret = ep_qp_open(&qp->qp, qp->obj.dev, &uep_qp_res_ops, &open);
	} else {
		init.qp_context = qp;
		ret = ep_qp_create(&qp->qp, qp->obj.dev, NULL, &uep_qp_res_ops, &init,
				   KBUILD_MODNAME);
	}
	if (ret)
		goto err;
	/* The session may have it open already. */
	qp->key = uep_qp_key(qp);
	ret = xa_insert(&qp->obj.session->qps, qp->key, qp, GFP_KERNEL_ACCOUNT);
	if (!ret || ret == -EBUSY)
		return qp;
err:
	uep_obj_discard(&qp->obj);
	return ERR_PTR(ret);
}

int uep_open_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_open_qp *arg = cmd->arg;
	struct uep_xrcd *xrcd;
	struct uep_qp *qp;
	int srcu, ret;

	xrcd = uep_obj_enter(cmd->s, arg->xrcd, RDMA_EP_OBJ_XRCD, &srcu);
	if (IS_ERR(xrcd))
		return PTR_ERR(xrcd);
	qp = uep_target_create(xrcd, arg->uid, &arg->qp_num);
	ret = uep_cmd_add_obj(cmd, qp, &arg->qp);
	if (!ret)
		arg->state = qp->qp.state;
	return uep_obj_exit(&xrcd->obj, srcu, ret);
}
