// SPDX-License-Identifier: GPL-2.0-only
/* CREATE_SRQ, with an id or without. */
#include "../verbs/verbs.h"
#include "cm.h"

static int uep_create_srq_for(struct uep_cmd *cmd, struct uep_id *id)
{
	struct rdma_ep_cmd_create_srq *arg = cmd->arg;
	struct ep_dev *dev = NULL;
	struct uep_srq *srq;
	struct uep_pd *pd;
	int srcu, ret;

	if (arg->reserved || arg->srq_type > IB_SRQT_XRC ||
	    (arg->srq_type != IB_SRQT_XRC && (arg->xrcd || arg->cq)))
		return -EINVAL;
	if (id) {
		if (id->srq && !uep_obj_claimed(&id->srq->obj))
			return -EINVAL;
		dev = ep_id_dev(&id->id);
		if (!dev)
			return -EIO;
	}
	pd = uep_pd_enter(cmd->s, arg->pd, dev, &srcu);
	ep_dev_put(dev);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	srq = uep_srq_create(pd, arg);
	if (id && !IS_ERR(srq))
		uep_cmd_own(cmd, id);
	ret = uep_cmd_add_obj(cmd, srq, &arg->srq);
	if (ret)
		goto out;
	if (id) {
		if (id->srq)
			uep_obj_put(&id->srq->obj);
		uep_obj_get(&srq->obj);
		id->srq = srq;
	}
	arg->pd = pd->obj.handle;
	arg->max_wr = srq->srq.attr.max_wr;
	arg->max_sge = srq->srq.attr.max_sge;
	arg->srq_num = srq->srq.num;
	arg->ring = srq->ring.mem.index;
out:
	return uep_obj_exit(&pd->obj, srcu, ret);
}

int uep_create_srq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_srq *arg = cmd->arg;
	struct uep_id *id;

	if (!arg->id)
		return uep_create_srq_for(cmd, NULL);
	id = uep_id_begin_bound(cmd->s, arg->id);
	return IS_ERR(id) ? PTR_ERR(id) : uep_id_end(id, uep_create_srq_for(cmd, id));
}
