// SPDX-License-Identifier: GPL-2.0-only
/*
 * LIST_OBJS: the attributes from which the library rebuilds its structure of an object that
 * another process has created.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "cm/cm.h"
#include "verbs/verbs.h"

#define UEP_MAX_LIST	256U

/* The handle of a structure's object, 0 of NULL */
#define uep_handle_of(_ptr) ({						\
	typeof(_ptr) __ptr = (_ptr);					\
									\
	__ptr ? __ptr->obj.handle : 0;					\
})

static int uep_list_mr(struct uep_mr *mr, struct rdma_ep_obj_info *info)
{
	int ret;

	info->pd = mr->pd->obj.handle;
	/* REREG_MR may wait for the user's memory. */
	ret = mutex_lock_killable(&mr->lock);
	if (ret)
		return ret;
	info->addr = mr->addr;
	info->iova = mr->iova;
	info->length = mr->length;
	info->access = mr->access;
	info->lkey = mr->lkey;
	info->rkey = mr->rkey;
	mutex_unlock(&mr->lock);
	return 0;
}

static void uep_list_cq(struct uep_cq *cq, struct rdma_ep_obj_info *info)
{
	/* That of comp does not change without a channel. */
	info->uid = uep_node_uid(cq->ctx->async, &cq->async);
	info->ctx = cq->ctx->obj.handle;
	info->channel = cq->chan ? cq->chan->number : 0;
	info->cqe = READ_ONCE(cq->hw->granted);
	info->ring = cq->ring.index;
}

static void uep_list_srq(struct uep_srq *srq, struct rdma_ep_obj_info *info)
{
	info->uid = uep_node_uid(srq->pd->ctx->async, &srq->async);
	info->pd = srq->pd->obj.handle;
	info->recv_cq = uep_handle_of(srq->cq);
	info->xrcd = uep_handle_of(srq->xrcd);
	info->number = srq->xrcd ? srq->srq.num : 0;
	info->ring = srq->ring.mem.index;
}

static void uep_list_qp(struct uep_qp *qp, struct rdma_ep_obj_info *info)
{
	info->uid = uep_node_uid(qp->ctx->async, &qp->async);
	info->ctx = qp->ctx->obj.handle;
	info->pd = uep_handle_of(qp->pd);
	info->send_cq = uep_handle_of(qp->send_cq);
	info->recv_cq = uep_handle_of(qp->recv_cq);
	info->srq = uep_handle_of(qp->srq);
	info->xrcd = uep_handle_of(qp->xrcd);
	info->number = qp->qp.qp_num;
	info->subtype = qp->qp.type;
}

/* With id.lock */
static void uep_list_id_locked(struct uep_id *id, struct rdma_ep_obj_info *info)
{
	if (id->srq && !uep_obj_claimed(&id->srq->obj))
		info->srq = id->srq->obj.handle;
	if (id->id.closed) {
		info->flags |= RDMA_EP_OBJ_REMOVED;
		return;
	}
	info->ps = id->id.cm_id->ps;
	info->subtype = id->id.cm_id->qp_type;
	if (id->id.listening)
		info->flags |= RDMA_EP_OBJ_LISTENING;
	if (id->id.request)
		info->flags |= RDMA_EP_OBJ_REQUEST;
}

static int uep_list_id(struct uep_id *id, struct rdma_ep_obj_info *info)
{
	struct uep_session *s = id->obj.session;
	struct ep_dev *dev;
	struct ep_qp *qp;
	int ret;

	ret = mutex_lock_killable(&id->id.lock);
	if (ret)
		return ret;
	uep_list_id_locked(id, info);
	dev = id->id.closed ? NULL : ep_id_dev(&id->id);
	ep_id_end(&id->id);
	if (dev)
		info->dev_index = dev->index;
	ep_dev_put(dev);
	qp = ep_id_get_qp(&id->id);
	if (qp)
		info->qp = container_of(qp, struct uep_qp, qp)->obj.handle;
	ep_id_put_qp(&id->id, qp);
	spin_lock(&s->ev_lock);
	info->uid = id->uid;
	if (id->chan) {
		info->channel = id->chan->q.number;
		if (id->chan->private)
			info->flags |= RDMA_EP_OBJ_PRIVATE;
	}
	spin_unlock(&s->ev_lock);
	return 0;
}

static void uep_list_mcast(struct uep_mcast *mcast, struct rdma_ep_obj_info *info)
{
	struct uep_session *s = mcast->obj.session;

	spin_lock(&s->ev_lock);
	info->uid = mcast->uid;
	spin_unlock(&s->ev_lock);
	info->id = uep_obj_claimed(&mcast->id->obj) ? 0 : mcast->id->obj.handle;
}

static int uep_list_type(struct uep_obj *obj, struct rdma_ep_obj_info *info)
{
	struct uep_pd *pd;

	switch (obj->type->type) {
	case RDMA_EP_OBJ_CTX:
		if (container_of(obj, struct uep_ctx, obj)->default_pd)
			info->flags |= RDMA_EP_OBJ_DEFAULT;
		return 0;
	case RDMA_EP_OBJ_PD:
		pd = container_of(obj, struct uep_pd, obj);
		info->ctx = pd->ctx->obj.handle;
		if (pd->ctx->default_pd == pd)
			info->flags |= RDMA_EP_OBJ_DEFAULT;
		return 0;
	case RDMA_EP_OBJ_MR:
		return uep_list_mr(container_of(obj, struct uep_mr, obj), info);
	case RDMA_EP_OBJ_AH:
		info->pd = container_of(obj, struct uep_ah, obj)->pd->obj.handle;
		return 0;
	case RDMA_EP_OBJ_CQ:
		uep_list_cq(container_of(obj, struct uep_cq, obj), info);
		return 0;
	case RDMA_EP_OBJ_SRQ:
		uep_list_srq(container_of(obj, struct uep_srq, obj), info);
		return 0;
	case RDMA_EP_OBJ_QP:
		uep_list_qp(container_of(obj, struct uep_qp, obj), info);
		return 0;
	case RDMA_EP_OBJ_XRCD:
		info->ctx = container_of(obj, struct uep_xrcd, obj)->ctx->obj.handle;
		return 0;
	case RDMA_EP_OBJ_ID:
		return uep_list_id(container_of(obj, struct uep_id, obj), info);
	case RDMA_EP_OBJ_MCAST:
		uep_list_mcast(container_of(obj, struct uep_mcast, obj), info);
		return 0;
	}
	return 0;
}

static int uep_list_obj(struct uep_obj *obj, struct rdma_ep_obj_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = obj->handle;
	info->type = obj->type->type;
	info->cookie = READ_ONCE(obj->cookie);
	info->ring = RDMA_EP_NO_RING;
	spin_lock(&obj->session->note_lock);
	if (obj->note)
		memcpy(info->note, obj->note, sizeof(info->note));
	spin_unlock(&obj->session->note_lock);
	if (obj->dev) {
		info->dev_index = obj->dev->index;
		if (READ_ONCE(obj->dev->removing))
			info->flags |= RDMA_EP_OBJ_REMOVED;
	}
	return uep_list_type(obj, info);
}

int uep_list_objs(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_list_objs *arg = cmd->arg;
	struct rdma_ep_obj_info __user *uinfo = u64_to_user_ptr(arg->objs);
	unsigned long handle = arg->cursor;
	struct rdma_ep_obj_info info;
	struct uep_obj *obj;
	int ret = 0;

	if (!arg->max || arg->reserved)
		return -EINVAL;
	arg->cursor = 0;
	for (arg->num = 0; !ret && (obj = uep_next_obj(cmd->s, &handle, 0, NULL));
	     arg->num++) {
		if (arg->num == min(arg->max, UEP_MAX_LIST)) {
			uep_obj_put(obj);
			arg->cursor = handle - 1;
			break;
		}
		ret = uep_list_obj(obj, &info);
		uep_obj_put(obj);
		if (!ret && copy_to_user(uinfo + arg->num, &info, sizeof(info)))
			ret = -EFAULT;
		if (fatal_signal_pending(current))
			ret = -EINTR;
	}
	return ret;
}
