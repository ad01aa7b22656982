// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/opa_addr.h>

#include "../compat.h"
#include "verbs.h"

/* Bounds the stack and how long drivers keep interrupts off in one go. */
#define UEP_POLL_BATCH	8

/* Completions that were taken from the device before the user could have them. */
struct uep_wc_chunk {
	struct list_head entry;
	u32 pos;
	u32 nr;
	struct rdma_ep_wc wc[UEP_POLL_BATCH];
};

static void uep_cq_comp(struct ib_cq *ibcq, void *context)
{
	uep_comp_post(context);
}

static void uep_cq_event(struct ib_event *event, void *context)
{
	struct uep_cq *cq = context;

	uep_async_post(cq->ctx->async, &cq->async, event->event);
}

static void uep_cq_killing(struct ep_res *res)
{
	struct ep_cq *ecq = container_of(res, struct ep_cq, res);
	struct uep_cq *cq = container_of(ecq, struct uep_cq, cq);

	mutex_lock(&cq->poll_lock);
	cq->dead = true;
	mutex_unlock(&cq->poll_lock);
	/* Nothing will complete any more: who waits for it is to find out. */
	if (READ_ONCE(res->dev->dead))
		uep_comp_post(cq);
}

static void uep_cq_put_res(struct ep_res *res)
{
	struct ep_cq *cq = container_of(res, struct ep_cq, res);

	uep_obj_put(&container_of(cq, struct uep_cq, cq)->obj);
}

static const struct ep_res_ops uep_cq_res_ops = {
	.killing = uep_cq_killing,
	.put = uep_cq_put_res,
};

static void uep_cq_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);

	ep_res_destroy(&cq->cq.res);
	out->comp_events_reported = uep_comp_purge(cq);
	out->events_reported = uep_async_purge(cq->ctx->async, &cq->async);
	uep_obj_unuse(&cq->ctx->obj);
}

static void uep_cq_free(struct uep_obj *obj)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);
	struct uep_wc_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &cq->held, entry)
		kfree(chunk);
	xa_destroy(&cq->qps);
	if (cq->chan)
		uep_comp_put(cq->chan);
	ep_res_fini(&cq->cq.res);
	uep_obj_put(&cq->ctx->obj);
	kfree_rcu(cq, obj.rcu);
}

static const struct uep_obj_type uep_cq_type = {
	.type = RDMA_EP_OBJ_CQ,
	.destroy = uep_cq_destroy,
	.free = uep_cq_free,
};

static u64 uep_cq_bytes(u32 cqe)
{
	return uep_queue_bytes(cqe, 2 * sizeof(struct ib_wc));
}

/*
 * Called inside ep_dev_enter(). @chan: the channel, whose reference passes to
 * the CQ in any case, or NULL.
 */
struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid,
			     struct uep_comp_channel *chan, u32 cqe,
			     u32 comp_vector)
{
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = comp_vector,
	};
	struct uep_cq *cq = ERR_PTR(-EINVAL);
	int ret;

	if (cqe && cqe <= UEP_MAX_CQE)
		cq = uep_obj_alloc(ctx->obj.session, &uep_cq_type, sizeof(*cq),
				   uep_cq_bytes(cqe));
	if (IS_ERR(cq)) {
		if (chan)
			uep_comp_put(chan);
		return cq;
	}
	cq->chan = chan;
	cq->uid = uid;
	mutex_init(&cq->poll_lock);
	INIT_LIST_HEAD(&cq->held);
	xa_init(&cq->qps);
	uep_async_node_init(&cq->async, uid);
	uep_obj_hold(&ctx->obj);
	cq->ctx = ctx;

	uep_obj_get(&cq->obj);
	ret = ep_cq_create(&cq->cq, ctx->dev, &uep_cq_res_ops, uep_cq_comp,
			   uep_cq_event, cq, &attr);
	if (ret) {
		uep_obj_put(&cq->obj);
		uep_obj_discard(&cq->obj);
		return ERR_PTR(ret);
	}
	return cq;
}

int uep_create_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_create_cq *arg = cmd->arg;
	struct uep_comp_channel *chan = NULL;
	struct uep_obj *obj;
	struct uep_ctx *ctx;
	struct uep_cq *cq;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	obj = uep_obj_use(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX);
	if (!obj)
		return -ENOENT;
	ctx = container_of(obj, struct uep_ctx, obj);
	ret = ep_dev_enter(ctx->dev, &srcu);
	if (ret)
		goto out;
	if (arg->channel_fd != -1) {
		chan = uep_comp_get(cmd->s, arg->channel_fd);
		if (!chan) {
			ret = -EBADF;
			goto out_exit;
		}
	}
	cq = uep_cq_create(ctx, arg->uid, chan, arg->cqe, arg->comp_vector);
	if (IS_ERR(cq))
		ret = PTR_ERR(cq);
	else
		ret = uep_cmd_add_obj(cmd, &cq->obj);
	if (!ret) {
		arg->cq = cq->obj.handle;
		arg->cqe = cq->cq.cqe;
	}
out_exit:
	ep_dev_exit(ctx->dev, srcu);
out:
	uep_obj_unhold(obj);
	return ret;
}

int uep_resize_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_resize_cq *arg = cmd->arg;
	struct uep_obj *obj;
	struct uep_cq *cq;
	u64 bytes;
	int ret;

	obj = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct uep_cq, obj);
	mutex_lock(&cq->poll_lock);
	ret = -EIO;
	if (cq->dead)
		goto out;
	ret = -EINVAL;
	if (!arg->cqe || arg->cqe > UEP_MAX_CQE || arg->cqe < cq->nr_held ||
	    arg->cqe > cq->cq.ibcq->device->attrs.max_cqe)
		goto out;

	/* Charged as one more object until it has worked. */
	bytes = uep_cq_bytes(arg->cqe);
	ret = uep_charge(cmd->s, bytes);
	if (ret)
		goto out;
	ret = ep_compat_resize_cq(cq->cq.ibcq, arg->cqe);
	if (!ret) {
		swap(bytes, obj->queue_bytes);
		cq->cq.cqe = cq->cq.ibcq->cqe;
		arg->cqe = cq->cq.cqe;
	}
	uep_uncharge(cmd->s, bytes);
out:
	mutex_unlock(&cq->poll_lock);
	ret = uep_obj_error(obj, ret);
	uep_obj_put(obj);
	return ret;
}

/* The ABI's flags, which are those of libibverbs. */
enum {
	UEP_WC_GRH = 1 << 0,
	UEP_WC_WITH_IMM = 1 << 1,
	UEP_WC_IP_CSUM_OK = 1 << 2,
	UEP_WC_WITH_INV = 1 << 3,
};

static u32 uep_wc_flags(int flags)
{
	/* The kernel has the last two the other way round. */
	return (flags & IB_WC_GRH ? UEP_WC_GRH : 0) |
	       (flags & IB_WC_WITH_IMM ? UEP_WC_WITH_IMM : 0) |
	       (flags & IB_WC_IP_CSUM_OK ? UEP_WC_IP_CSUM_OK : 0) |
	       (flags & IB_WC_WITH_INVALIDATE ? UEP_WC_WITH_INV : 0);
}

/* Returns false for a completion that belongs to nobody any more. */
static bool uep_wc_to_user(struct uep_cq *cq, struct rdma_ep_wc *dst,
			   const struct ib_wc *src)
{
	void *entry;

	memset(dst, 0, sizeof(*dst));
	if (!uep_wq_complete(src->wr_id, src->qp, &dst->wr_id, &dst->qp_num))
		return false;
	if (!dst->qp_num) {
		entry = xa_load(&cq->qps, (unsigned long)src->qp);
		dst->qp_num = entry ? xa_to_value(entry) : 0;
	}
	dst->status = src->status;
	dst->opcode = src->opcode;
	dst->vendor_err = src->vendor_err;
	dst->byte_len = src->byte_len;
	dst->imm_data = (__force u32)src->ex.imm_data;
	dst->src_qp = src->src_qp;
	dst->wc_flags = uep_wc_flags(src->wc_flags);
	dst->pkey_index = src->pkey_index;
	dst->slid = ib_lid_cpu16(src->slid);
	dst->sl = src->sl;
	dst->dlid_path_bits = src->dlid_path_bits;
	return true;
}

/*
 * Takes up to @max completions, at most a batch, from the device; cq->poll_lock is held. Returns
 * how many the device had, or its error; *@nr of them are for the user.
 */
static int uep_cq_poll_hw(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc,
			  u32 *nr)
{
	struct ib_wc ibwc[UEP_POLL_BATCH];
	int n, i;

	*nr = 0;
	/* Drivers fill in what a completion has, no more. */
	memset(ibwc, 0, max * sizeof(*ibwc));
	n = ib_poll_cq(cq->cq.ibcq, max, ibwc);
	if (n <= 0)
		return n;
	rcu_read_lock();
	for (i = 0; i < n; i++)
		if (uep_wc_to_user(cq, &wc[*nr], &ibwc[i]))
			(*nr)++;
	rcu_read_unlock();
	return n;
}

/* A chunk with room at the end of the held ones, or NULL. */
static struct uep_wc_chunk *uep_cq_last_chunk(struct uep_cq *cq)
{
	struct uep_wc_chunk *chunk;

	if (!list_empty(&cq->held)) {
		chunk = list_last_entry(&cq->held, struct uep_wc_chunk, entry);
		if (chunk->nr < UEP_POLL_BATCH)
			return chunk;
	}
	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL);
	if (chunk)
		list_add_tail(&chunk->entry, &cq->held);
	return chunk;
}

/*
 * Takes what the device has, so that completions of a QP that is going away can
 * still be told apart. Bounded by the size of the CQ.
 */
void uep_cq_drain(struct uep_cq *cq)
{
	struct uep_wc_chunk *chunk;
	u32 want, nr;
	int n;

	mutex_lock(&cq->poll_lock);
	while (!cq->dead && cq->nr_held < cq->cq.cqe) {
		chunk = uep_cq_last_chunk(cq);
		if (!chunk)
			break;
		want = UEP_POLL_BATCH - chunk->nr;
		n = uep_cq_poll_hw(cq, want, &chunk->wc[chunk->nr], &nr);
		chunk->nr += nr;
		cq->nr_held += nr;
		if (!chunk->nr) {
			list_del(&chunk->entry);
			kfree(chunk);
		}
		if (n < (int)want)
			break;
	}
	mutex_unlock(&cq->poll_lock);
}

/* They could not be delivered: keep them for the next call. */
static void uep_cq_hold(struct uep_cq *cq, const struct rdma_ep_wc *wc, u32 nr)
{
	struct uep_wc_chunk *chunk;

	chunk = kmalloc(sizeof(*chunk), GFP_KERNEL | __GFP_NOFAIL);
	chunk->pos = 0;
	chunk->nr = nr;
	memcpy(chunk->wc, wc, nr * sizeof(*wc));
	mutex_lock(&cq->poll_lock);
	list_add(&chunk->entry, &cq->held);
	cq->nr_held += nr;
	mutex_unlock(&cq->poll_lock);
}

static u32 uep_cq_poll_held(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc)
{
	struct uep_wc_chunk *chunk;
	u32 nr;

	chunk = list_first_entry(&cq->held, struct uep_wc_chunk, entry);
	nr = min(max, chunk->nr - chunk->pos);
	memcpy(wc, &chunk->wc[chunk->pos], nr * sizeof(*wc));
	chunk->pos += nr;
	cq->nr_held -= nr;
	if (chunk->pos == chunk->nr) {
		list_del(&chunk->entry);
		kfree(chunk);
	}
	return nr;
}

/* Up to one batch. Returns 1 if there may be more, 0 if not, or an errno. */
static int uep_cq_poll(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc,
		       u32 *nr)
{
	int ret;

	mutex_lock(&cq->poll_lock);
	max = min_t(u32, max, UEP_POLL_BATCH);
	*nr = 0;
	if (!list_empty(&cq->held)) {
		*nr = uep_cq_poll_held(cq, max, wc);
		ret = 1;
	} else if (cq->dead) {
		ret = -EIO;
	} else {
		ret = uep_cq_poll_hw(cq, max, wc, nr);
		if (ret >= 0)
			ret = ret == max;
	}
	mutex_unlock(&cq->poll_lock);
	return ret;
}

/*
 * The completions, and how many they are with those before. Written with no lock
 * held: a fault may take as long as the user likes.
 */
static int uep_cq_deliver(struct uep_cmd *cmd, const struct rdma_ep_wc *wc,
			  u32 nr)
{
	struct rdma_ep_poll_cq __user *uarg = cmd->uarg;
	struct rdma_ep_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc __user *uwc = u64_to_user_ptr(arg->wcs);

	if (nr && copy_to_user(uwc + arg->num, wc, nr * sizeof(*wc)))
		return -EFAULT;
	if (put_user(arg->num + nr, &uarg->num))
		return -EFAULT;
	arg->num += nr;
	return 0;
}

int uep_poll_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc wc[UEP_POLL_BATCH];
	struct uep_obj *obj;
	struct uep_cq *cq;
	u32 nr = 0;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	obj = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct uep_cq, obj);
	arg->num = 0;
	ret = uep_cq_deliver(cmd, wc, 0);
	while (ret >= 0 && arg->num < arg->max) {
		ret = uep_cq_poll(cq, arg->max - arg->num, wc, &nr);
		if (nr && uep_cq_deliver(cmd, wc, nr)) {
			uep_cq_hold(cq, wc, nr);
			ret = -EFAULT;
		}
		/* Fewer than asked for means to the user that it is empty. */
		if (ret <= 0)
			break;
		cond_resched();
	}
	ret = uep_obj_error(obj, ret);
	uep_obj_put(obj);
	/* What has been delivered can not be taken back. */
	return ret < 0 && !arg->num ? ret : 0;
}

int uep_notify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_notify_cq *arg = cmd->arg;
	struct uep_obj *obj;
	struct uep_cq *cq;
	int ret = -EIO;

	if (arg->reserved)
		return -EINVAL;
	obj = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct uep_cq, obj);
	mutex_lock(&cq->poll_lock);
	if (!cq->dead)
		ret = ib_req_notify_cq(cq->cq.ibcq,
				       arg->flags & RDMA_EP_NOTIFY_SOLICITED ?
				       IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
	mutex_unlock(&cq->poll_lock);
	ret = uep_obj_error(obj, ret);
	uep_obj_put(obj);
	return ret;
}

int uep_modify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_modify_cq *arg = cmd->arg;
	struct uep_obj *obj;
	struct uep_cq *cq;
	int ret = -EIO;

	if (arg->reserved || arg->cq_count > U16_MAX ||
	    arg->cq_period > U16_MAX)
		return -EINVAL;
	obj = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct uep_cq, obj);
	mutex_lock(&cq->poll_lock);
	if (!cq->dead)
		ret = rdma_set_cq_moderation(cq->cq.ibcq, arg->cq_count,
					     arg->cq_period);
	mutex_unlock(&cq->poll_lock);
	ret = uep_obj_error(obj, ret);
	uep_obj_put(obj);
	return ret;
}
