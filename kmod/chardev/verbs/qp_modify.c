// SPDX-License-Identifier: GPL-2.0-only
/* Modifying and querying queue pairs, attaching them to multicast groups. */
#include "verbs.h"

/*
 * The core expects kernel consumers to resolve the link address of a RoCE destination. Creating
 * an address handle writes it into the attributes.
 */
static int uep_qp_resolve_av(struct uep_qp *qp, struct rdma_ah_attr *attr)
{
	struct ib_pd *ibpd;
	struct ib_ah *ah;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE)
		return 0;
	if (qp->xrcd) {
		/* It has no PD; any will do. */
		ibpd = ib_alloc_pd(qp->obj.dev->ibdev, 0);
		if (IS_ERR(ibpd))
			return PTR_ERR(ibpd);
	} else {
		/* The QP may be destroyed meanwhile, and its PD after it. */
		if (!uep_obj_add_user(&qp->pd->obj))
			return -ENOENT;
		ibpd = qp->pd->pd.ibpd;
	}
	ah = rdma_create_user_ah(ibpd, attr, NULL);
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (qp->xrcd)
		ib_dealloc_pd(ibpd);
	else
		uep_obj_del_user(&qp->pd->obj);
	return PTR_ERR_OR_ZERO(ah);
}

int uep_modify_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_modify_qp *arg = cmd->arg;
	struct ib_qp_attr attr = {};
	struct uep_qp *qp;
	int srcu, mask, ret;

	if (arg->reserved)
		return -EINVAL;
	qp = uep_obj_enter(cmd->s, arg->qp, RDMA_EP_OBJ_QP, &srcu);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = uep_qp_attr_from_user(qp, &attr, &arg->attr, &mask);
	if (!ret && (mask & IB_QP_AV))
		ret = uep_qp_resolve_av(qp, &attr.ah_attr);
	if (!ret)
		ret = ep_qp_modify(&qp->qp, &attr, mask);
	if (!ret && (mask & IB_QP_PORT))
		uep_qp_set_port(qp, attr.port_num);
	rdma_destroy_ah_attr(&attr.ah_attr);
	rdma_destroy_ah_attr(&attr.alt_ah_attr);
	return uep_obj_exit(&qp->obj, srcu, ret);
}

int uep_query_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_qp *arg = cmd->arg;
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	struct uep_qp *qp;
	int srcu, ret;

	qp = uep_obj_enter(cmd->s, arg->qp, RDMA_EP_OBJ_QP, &srcu);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = ep_qp_query(&qp->qp, &attr, arg->attr_mask, &init);
	if (!ret) {
		attr.cap = qp->qp.cap;
		uep_qp_attr_to_user(&arg->attr, &attr, arg->attr_mask);
		arg->qp_type = qp->qp.type;
		arg->sq_sig_all = qp->qp.sq_sig_all;
	}
	return uep_obj_exit(&qp->obj, srcu, ret);
}

static int uep_qp_mcast(struct uep_cmd *cmd, bool attach)
{
	struct rdma_ep_cmd_qp_mcast *arg = cmd->arg;
	struct uep_qp *qp;
	union ib_gid gid;
	int ret;

	if (arg->lid > U16_MAX)
		return -EINVAL;
	memcpy(gid.raw, arg->gid, sizeof(gid.raw));
	qp = uep_obj_lookup(cmd->s, arg->qp, RDMA_EP_OBJ_QP);
	if (!qp)
		return -ENOENT;
	ret = attach ? ep_qp_attach_mcast(&qp->qp, &gid, arg->lid, 0) :
		       ep_qp_detach_mcast(&qp->qp, &gid, arg->lid);
	return uep_obj_done(&qp->obj, ret);
}

int uep_attach_mcast(struct uep_cmd *cmd)
{
	const struct rdma_ep_cmd_qp_mcast *arg = cmd->arg;
	int ret = uep_check_gid(cmd->s, (const void *)arg->gid);

	return ret ?: uep_qp_mcast(cmd, true);
}

int uep_detach_mcast(struct uep_cmd *cmd)
{
	return uep_qp_mcast(cmd, false);
}
