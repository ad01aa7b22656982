// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: making, changing and destroying them. What is in them is the
 * matter of poll.c.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "../../compat.h"
#include "verbs.h"

/* ------------------------------------------------------------------ */
/* The device's                                                       */
/* ------------------------------------------------------------------ */

static struct uep_cq_hw *uep_cq_hw_of(struct ep_res *res)
{
	struct ep_cq *cq = container_of(res, struct ep_cq, res);

	return container_of(cq, struct uep_cq_hw, cq);
}

/* Any context, as all handlers. */
static void uep_cq_hw_comp(struct ib_cq *ibcq, void *context)
{
	struct uep_cq_hw *hw = context;
	unsigned long flags;

	WRITE_ONCE(hw->armed, false);
	if (unlikely(READ_ONCE(hw->disarming)))
		wake_up_var(&hw->armed);
	spin_lock_irqsave(&hw->lock, flags);
	if (hw->user)
		uep_cq_completed(hw->user);
	spin_unlock_irqrestore(&hw->lock, flags);
}

static void uep_cq_hw_event(struct ib_event *event, void *context)
{
	struct uep_cq_hw *hw = context;
	struct uep_cq *cq;
	unsigned long flags;

	spin_lock_irqsave(&hw->lock, flags);
	hw->worn = true;
	cq = hw->user;
	if (cq)
		uep_node_post(cq->ctx->async, &cq->async, event->event);
	spin_unlock_irqrestore(&hw->lock, flags);
}

/* Afterwards nobody polls it. */
static void uep_cq_hw_killing(struct ep_res *res)
{
	struct uep_cq_hw *hw = uep_cq_hw_of(res);

	mutex_lock(&hw->poll_lock);
	spin_lock_irq(&hw->lock);
	if (hw->user)
		uep_cq_lost(hw->user);
	spin_unlock_irq(&hw->lock);
	mutex_unlock(&hw->poll_lock);
}

static void uep_cq_hw_free(struct kref *ref)
{
	struct uep_cq_hw *hw = container_of(ref, struct uep_cq_hw, ref);

	ep_res_fini(&hw->cq.res);
	/* A driver may be late with a notification. */
	kfree_rcu(hw, rcu);
}

void uep_cq_hw_put(struct uep_cq_hw *hw)
{
	kref_put(&hw->ref, uep_cq_hw_free);
}

/* Nobody uses it any more. */
static void uep_cq_hw_end(struct uep_cq_hw *hw)
{
	ep_res_destroy(&hw->cq.res);
	uep_cq_hw_put(hw);
}

static void uep_cq_hw_end_idle(struct uep_idle *idle)
{
	uep_cq_hw_end(container_of(idle, struct uep_cq_hw, idle));
}

static void uep_cq_hw_get_res(struct ep_res *res)
{
	kref_get(&uep_cq_hw_of(res)->ref);
}

static void uep_cq_hw_put_res(struct ep_res *res)
{
	uep_cq_hw_put(uep_cq_hw_of(res));
}

static const struct ep_res_ops uep_cq_res_ops = {
	.killing = uep_cq_hw_killing,
	.hold = uep_cq_hw_get_res,
	.unhold = uep_cq_hw_put_res,
};

/* Called inside ep_dev_enter(). */
static struct uep_cq_hw *uep_cq_hw_create(struct ep_dev *dev, u32 cqe, u32 comp_vector)
{
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = comp_vector,
	};
	struct uep_cq_hw *hw;
	int ret;

	/*
	 * A READ that is cut off when it is its turn may complete twice: there
	 * must be room for one of each QP that has room for any. (uep_cq_granted())
	 */
	if (ep_dev_has(dev->ibdev, EP_CAP_READ_TWICE) &&
	    cqe <= dev->ibdev->attrs.max_cqe)
		attr.cqe = min_t(u32, 2 * cqe, dev->ibdev->attrs.max_cqe);
	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	kref_init(&hw->ref);
	mutex_init(&hw->poll_lock);
	spin_lock_init(&hw->lock);
	hw->wanted = cqe;
	hw->comp_vector = comp_vector;
	hw->idle.end = uep_cq_hw_end_idle;

	ret = ep_cq_create(&hw->cq, dev, &uep_cq_res_ops, uep_cq_hw_comp,
			   uep_cq_hw_event, hw, &attr);
	if (!ret)
		return hw;
	uep_cq_hw_put(hw);
	return ERR_PTR(ret);
}

/* What the user may reckon with; called inside ep_dev_enter(). */
u32 uep_cq_granted(const struct uep_cq *cq)
{
	const struct uep_cq_hw *hw = cq->hw;

	return ep_dev_has(hw->cq.res.dev->ibdev, EP_CAP_READ_TWICE) ?
	       max(hw->wanted, hw->cq.cqe / 2) : hw->cq.cqe;
}

/*
 * A CQ whose QPs are gone is like a new one once it is empty. Is it now? If so it is
 * in no cgroup any more.
 */
static bool uep_cq_hw_renew(struct uep_cq_hw *hw)
{
	bool empty = false;
	u32 left = hw->cq.cqe;
	int n, idx;

	if (ep_dev_enter(hw->cq.res.dev, &idx))
		return false;
	mutex_lock(&hw->poll_lock);
	if (!ep_dev_has(hw->cq.ibcq->device, EP_CAP_SOFTWARE))
		left = 0;
	while (!empty && left && !hw->worn) {
		n = ib_poll_cq(hw->cq.ibcq, UEP_POLL_BATCH, hw->wc);
		empty = !n;
		memset(hw->wc, 0, sizeof(hw->wc));
		if (n < 0)
			break;
		left -= min_t(u32, left, n);
	}
	mutex_unlock(&hw->poll_lock);
	/* Other objects may be had in its place. */
	if (empty)
		ep_res_uncharge(&hw->cq.res);
	ep_dev_exit(hw->cq.res.dev, idx);
	return empty;
}

/* ------------------------------------------------------------------ */
/* The user's                                                         */
/* ------------------------------------------------------------------ */

/* Nobody can find it any more, but who has is still using it. */
static void uep_cq_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);
	struct uep_cq_hw *hw = cq->hw;

	if (hw) {
		mutex_lock(&hw->poll_lock);
		cq->dead = true;
		mutex_unlock(&hw->poll_lock);
		spin_lock_irq(&hw->lock);
		hw->user = NULL;
		spin_unlock_irq(&hw->lock);
		kref_get(&hw->ref);
		/* It takes the charge with it. */
		if (uep_idle_room(obj->session, obj->queue_bytes) && uep_cq_hw_renew(hw) &&
		    uep_idle_add(&hw->idle, obj->session, obj->queue_bytes))
			obj->queue_bytes = 0;
		else
			uep_cq_hw_end(hw);
	}
	out->comp_events_reported = cq->chan ? uep_node_purge(cq->chan, &cq->comp) : 0;
	out->events_reported = uep_node_purge(cq->ctx->async, &cq->async);
}

static void uep_cq_free(struct uep_obj *obj)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);

	uep_cq_drop_held(cq);
	atomic64_add(cq->nr_polled, &obj->session->past_polled);
	xa_destroy(&cq->qps);
	uep_ring_destroy(obj->session, &cq->ring);
	if (cq->chan)
		uep_queue_put(cq->chan);
	if (cq->hw)
		uep_cq_hw_put(cq->hw);
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

struct uep_cq_wish {
	const struct ep_dev *dev;
	u32 cqe;
	u32 comp_vector;
};

static bool uep_cq_hw_suits(struct uep_idle *idle, const void *arg)
{
	struct uep_cq_hw *hw = container_of(idle, struct uep_cq_hw, idle);
	const struct uep_cq_wish *wish = arg;

	return !hw->worn && hw->cq.res.dev == wish->dev && hw->wanted == wish->cqe &&
	       hw->comp_vector == wish->comp_vector;
}

/*
 * One that the session has had before, or a new one. Called inside ep_dev_enter(): so the
 * former is not destroyed with its device at the same time.
 */
static struct uep_cq_hw *uep_cq_hw_find(struct uep_session *s, struct ep_dev *dev, u32 cqe,
					u32 comp_vector)
{
	struct uep_cq_wish wish = { dev, cqe, comp_vector };
	struct uep_idle *idle = uep_idle_take(s, uep_cq_hw_suits, &wish);
	struct uep_cq_hw *hw;

	if (idle) {
		hw = container_of(idle, struct uep_cq_hw, idle);
		if (!ep_res_charge(&hw->cq.res))
			return hw;
		uep_cq_hw_end(hw);
	}
	hw = uep_cq_hw_create(dev, cqe, comp_vector);
	/* Those that are idle are not to be in the user's way. */
	if (IS_ERR(hw) && PTR_ERR(hw) != -EINVAL && uep_idle_flush_user(s->user))
		hw = uep_cq_hw_create(dev, cqe, comp_vector);
	return hw;
}

/*
 * Called inside ep_dev_enter(). @chan: the channel, whose reference passes to
 * the CQ in any case, or NULL.
 */
struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid, struct uep_queue *chan, u32 cqe,
			     u32 comp_vector, bool ring)
{
	struct uep_session *s = ctx->obj.session;
	struct uep_cq *cq = ERR_PTR(-EINVAL);
	struct uep_cq_hw *hw;
	int ret;

	if (cqe && cqe <= UEP_MAX_CQE)
		cq = uep_obj_alloc_in(&ctx->obj, &uep_cq_type, sizeof(*cq), uep_cq_bytes(cqe));
	if (IS_ERR(cq)) {
		if (chan)
			uep_queue_put(chan);
		return cq;
	}
	cq->chan = chan;
	uep_node_init(&cq->comp, &cq->obj, uid);
	cq->polled_at = jiffies;
	INIT_LIST_HEAD(&cq->held);
	xa_init(&cq->qps);
	uep_node_init(&cq->async, &cq->obj, uid);
	cq->ctx = ctx;

	cq->ring.index = RDMA_EP_NO_RING;
	ret = ring ? uep_ring_create(s, &cq->ring) : 0;
	if (ret)
		goto err;
	hw = uep_cq_hw_find(s, ctx->obj.dev, cqe, comp_vector);
	if (IS_ERR(hw)) {
		ret = PTR_ERR(hw);
		goto err;
	}
	cq->hw = hw;
	spin_lock_irq(&hw->lock);
	hw->user = cq;
	spin_unlock_irq(&hw->lock);
	return cq;

err:
	uep_obj_discard(&cq->obj);
	return ERR_PTR(ret);
}

int uep_create_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_create_cq *arg = cmd->arg;
	struct uep_queue *chan = NULL;
	struct uep_ctx *ctx;
	struct uep_cq *cq;
	int srcu, ret;

	ctx = uep_obj_enter(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	if (arg->channel_fd != -1) {
		chan = uep_comp_find(cmd->s, arg->channel_fd);
		if (!chan) {
			ret = -EBADF;
			goto out;
		}
	}
	cq = uep_cq_create(ctx, arg->uid, chan, arg->cqe, arg->comp_vector,
			   arg->flags & RDMA_EP_CQ_RING);
	ret = uep_cmd_add_obj(cmd, cq, &arg->cq);
	if (!ret) {
		arg->cqe = uep_cq_granted(cq);
		arg->ring = cq->ring.index;
	}
out:
	return uep_obj_exit(&ctx->obj, srcu, ret);
}

int uep_resize_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_resize_cq *arg = cmd->arg;
	struct ib_cq *ibcq;
	struct uep_cq *cq;
	u64 bytes;
	int ret;

	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	ret = -EINVAL;
	if (!arg->cqe || arg->cqe > UEP_MAX_CQE)
		goto out;
	/* Charged as one more object until it has worked. */
	bytes = uep_cq_bytes(arg->cqe);
	ret = uep_charge(cmd->s, 1, bytes);
	if (ret)
		goto out;

	mutex_lock(&cq->hw->poll_lock);
	ret = -EIO;
	if (cq->dead)
		goto out_unlock;
	ret = -EINVAL;
	ibcq = cq->hw->cq.ibcq;
	if (arg->cqe < cq->nr_held || arg->cqe > ibcq->device->attrs.max_cqe)
		goto out_unlock;
	ret = -EOPNOTSUPP;
	if (!ep_dev_has(ibcq->device, EP_CAP_RESIZE_CQ))
		goto out_unlock;
	cq->hw->worn = true;
	ret = ep_compat_resize_cq(ibcq, arg->cqe);
	if (!ret) {
		swap(bytes, cq->obj.queue_bytes);
		cq->hw->cq.cqe = ibcq->cqe;
		arg->cqe = ibcq->cqe;
	}
out_unlock:
	mutex_unlock(&cq->hw->poll_lock);
	uep_uncharge(cmd->s, 1, bytes);
out:
	return uep_obj_done(&cq->obj, ret);
}

int uep_modify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_modify_cq *arg = cmd->arg;
	struct uep_cq *cq;
	int ret = -EIO;

	if (arg->reserved || arg->cq_count > U16_MAX || arg->cq_period > U16_MAX)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	mutex_lock(&cq->hw->poll_lock);
	if (!cq->dead) {
		cq->hw->worn = true;
		ret = rdma_set_cq_moderation(cq->hw->cq.ibcq, arg->cq_count, arg->cq_period);
	}
	mutex_unlock(&cq->hw->poll_lock);
	return uep_obj_done(&cq->obj, ret);
}
