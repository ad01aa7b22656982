// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues: creating, changing and destroying them. See poll.c for their contents. */
#include <linux/slab.h>

#include "../../compat.h"
#include "verbs.h"

/* The device's */

static struct uep_cq_hw *uep_cq_hw_of(struct ep_res *res)
{
	return container_of(res, struct uep_cq_hw, cq.res);
}

/* Any context. */
static void uep_cq_hw_comp(struct ib_cq *ibcq, void *context)
{
	struct uep_cq_hw *hw = context;
	unsigned long flags;

	/* With the lock, see uep_cq_request() */
	spin_lock_irqsave(&hw->lock, flags);
	smp_store_mb(hw->armed, false); /* before waiters: uep_cq_await() reads armed last */
	uep_cq_wake_waiters(hw);
	if (hw->user)
		uep_cq_completed(hw->user);
	spin_unlock_irqrestore(&hw->lock, flags);
}

/* Any context. */
static void uep_cq_hw_event(struct ib_event *event, void *context)
{
	struct uep_cq_hw *hw = context;
	unsigned long flags;

	spin_lock_irqsave(&hw->lock, flags);
	hw->tainted = true;
	if (hw->user)
		uep_node_post(hw->user->ctx->async, &hw->user->async, event->event);
	spin_unlock_irqrestore(&hw->lock, flags);
}

/* On return no task polls it, and it has no QP of uep_cq_disarm(). */
static void uep_cq_hw_before_destroy(struct ep_res *res)
{
	struct uep_cq_hw *hw = uep_cq_hw_of(res);

	guard(mutex)(&hw->notify_lock);
	guard(mutex)(&hw->poll_lock);
	spin_lock_irq(&hw->lock);
	if (hw->user)
		uep_cq_set_dead(hw->user);
	spin_unlock_irq(&hw->lock);
}

static void uep_cq_hw_free(struct kref *ref)
{
	struct uep_cq_hw *hw = container_of(ref, struct uep_cq_hw, ref);

	ep_res_fini(&hw->cq.res);
	kfree_rcu(hw, rcu);
}

static void uep_cq_hw_put(struct uep_cq_hw *hw)
{
	kref_put(&hw->ref, uep_cq_hw_free);
}

static void uep_cq_hw_destroy(struct uep_idle *idle)
{
	struct uep_cq_hw *hw = container_of(idle, struct uep_cq_hw, idle);

	ep_res_destroy(&hw->cq.res);
	uep_cq_hw_put(hw);
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
	.before_destroy = uep_cq_hw_before_destroy,
	.get = uep_cq_hw_get_res,
	.put = uep_cq_hw_put_res,
};

/* Entries for the completion of uep_cq_disarm(), beside @cqe of the user; 0 for the largest CQ */
static u32 uep_cq_spare(const struct ib_device *ibdev, u32 cqe)
{
	return ep_dev_has(ibdev, EP_CAP_STICKY_NOTIFY) && cqe < ibdev->attrs.max_cqe ? 1 : 0;
}

/* The entries that the device needs for @cqe of the user, as far as it has so many */
static u32 uep_cq_hw_cqe(const struct ib_device *ibdev, u32 cqe)
{
	u32 want = cqe + uep_cq_spare(ibdev, cqe), max = ibdev->attrs.max_cqe;

	/* Room for the second completion of one READ of each QP that has room for a READ. */
	if (ep_dev_has(ibdev, EP_CAP_READ_TWICE))
		want = 2 * cqe;
	return cqe < max ? min(want, max) : cqe;
}

/* The user's part of @of_device entries */
static u32 uep_cq_granted(const struct ib_device *ibdev, u32 cqe, u32 of_device)
{
	if (ep_dev_has(ibdev, EP_CAP_READ_TWICE))
		return max(cqe, of_device / 2);
	return max(cqe, of_device - uep_cq_spare(ibdev, cqe));
}

/* Called inside ep_dev_enter(). */
static struct uep_cq_hw *uep_cq_hw_create(struct ep_dev *dev, u32 cqe, u32 comp_vector)
{
	struct ib_cq_init_attr attr = {
		.cqe = uep_cq_hw_cqe(dev->ibdev, cqe),
		.comp_vector = comp_vector,
	};
	struct uep_cq_hw *hw;
	int ret;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	kref_init(&hw->ref);
	mutex_init(&hw->notify_lock);
	mutex_init(&hw->poll_lock);
	spin_lock_init(&hw->lock);
	hw->wanted = cqe;
	hw->idle.end = uep_cq_hw_destroy;
	hw->idle.dev = dev;
	hw->idle.cqe = cqe;
	hw->idle.comp_vector = comp_vector;

	ret = ep_cq_create(&hw->cq, dev, &uep_cq_res_ops, uep_cq_hw_comp,
			   uep_cq_hw_event, hw, &attr);
	if (ret) {
		uep_cq_hw_put(hw);
		return ERR_PTR(ret);
	}
	hw->granted = uep_cq_granted(dev->ibdev, cqe, hw->cq.cqe);
	return hw;
}

/*
 * Empties a CQ without QPs, which is like a new one then, and takes it out of its cgroup.
 * False: it cannot be used again.
 */
static bool uep_cq_hw_renew(struct uep_cq_hw *hw)
{
	u32 left = hw->cq.cqe;
	int n = 1, idx;

	if (ep_dev_enter(hw->cq.res.dev, &idx))
		return false;
	mutex_lock(&hw->poll_lock);
	if (!ep_dev_has(hw->cq.ibcq->device, EP_CAP_SOFTWARE))
		left = 0;
	while (n > 0 && left && !hw->tainted) {
		n = uep_cq_hw_discard(hw);
		left -= min_t(u32, left, max(n, 0));
	}
	mutex_unlock(&hw->poll_lock);
	if (!n)
		ep_res_uncharge(&hw->cq.res);
	ep_dev_exit(hw->cq.res.dev, idx);
	return !n;
}

/*
 * An idle one of the session, or a new one. Called inside ep_dev_enter(), so the idle one is
 * not destroyed with its device meanwhile.
 */
static struct uep_cq_hw *uep_cq_hw_get(struct uep_session *s, struct ep_dev *dev, u32 cqe,
				       u32 comp_vector)
{
	struct uep_idle *idle = uep_idle_take(s, dev, cqe, comp_vector);
	struct uep_cq_hw *hw;

	if (idle) {
		hw = container_of(idle, struct uep_cq_hw, idle);
		/* An event may have come meanwhile. */
		if (!hw->tainted && !ep_res_charge(&hw->cq.res))
			return hw;
		uep_cq_hw_destroy(idle);
	}
	hw = uep_cq_hw_create(dev, cqe, comp_vector);
	/* Idle ones count in the limits of the device. */
	if (IS_ERR(hw) && PTR_ERR(hw) != -EINVAL && uep_idle_flush_user(s->user))
		hw = uep_cq_hw_create(dev, cqe, comp_vector);
	return hw;
}

/* The user's */

/* Lookups fail, but tasks that have looked it up continue. */
static void uep_cq_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);
	struct uep_cq_hw *hw = cq->hw;

	if (hw) {
		mutex_lock(&hw->poll_lock);
		cq->dead = true;
		/* The CQ's charge ends, though tasks may still have references to it. */
		uep_cq_free_buf(cq);
		mutex_unlock(&hw->poll_lock);
		spin_lock_irq(&hw->lock);
		hw->user = NULL;
		spin_unlock_irq(&hw->lock);
		kref_get(&hw->ref);
		/* On success the charge for its memory moves to the idle list. */
		if (uep_idle_room(obj->session, obj->queue_bytes) && uep_cq_hw_renew(hw) &&
		    uep_idle_add(&hw->idle, obj->session, obj->queue_bytes))
			obj->queue_bytes = 0;
		else
			uep_cq_hw_destroy(&hw->idle);
	}
	out->comp_events_reported = cq->chan ? uep_node_purge(cq->chan, &cq->comp) : 0;
	out->events_reported = uep_node_purge(cq->ctx->async, &cq->async);
}

static void uep_cq_free(struct uep_obj *obj)
{
	struct uep_cq *cq = container_of(obj, struct uep_cq, obj);
	atomic64_t *past = cq->ctx->account->past;

	atomic64_add(cq->nr_polled, &obj->session->past_polled);
	atomic64_add(cq->nr_polled, &past[UEP_COMPLETIONS]);
	atomic64_add(cq->received.posted, &past[UEP_RECEIVED]);
	atomic64_add(cq->received.bytes, &past[UEP_RECEIVED_BYTES]);
	xa_destroy(&cq->qps);
	uep_ring_destroy(obj->session, &cq->ring);
	uep_queue_put(cq->chan);
	if (cq->hw)
		uep_cq_hw_put(cq->hw);
}

static const struct uep_obj_type uep_cq_type = {
	.type = RDMA_EP_OBJ_CQ,
	.destroy = uep_cq_destroy,
	.free = uep_cq_free,
};

/* See uep_ring_move(). Handlers and pollers use the old place or the new one. */
void uep_cq_move_ring(struct uep_cq *cq, struct xarray *pages)
{
	struct uep_cq_hw *hw = cq->hw;

	guard(mutex)(&hw->poll_lock);
	spin_lock_irq(&hw->lock);
	uep_ring_move(&cq->ring, pages);
	spin_unlock_irq(&hw->lock);
}

/* Memory of the device's queue, and of held completions */
static u64 uep_cq_bytes(u32 cqe)
{
	return uep_hw_queue_bytes(cqe, 2 * sizeof(struct ib_wc));
}

/*
 * Called inside ep_dev_enter(). @chan: completion channel or NULL; its reference passes to
 * the CQ, also on failure.
 */
struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid, struct uep_queue *chan, u32 cqe,
			     u32 comp_vector, bool ring)
{
	const struct ib_device *ibdev = ctx->obj.dev->ibdev;
	struct uep_session *s = ctx->obj.session;
	struct uep_cq *cq = ERR_PTR(-EINVAL);
	struct uep_cq_hw *hw;
	int ret;

	if (cqe && cqe <= UEP_MAX_CQE)
		cq = uep_obj_alloc_in(&ctx->obj, &uep_cq_type, sizeof(*cq),
				      uep_cq_bytes(cqe + uep_cq_spare(ibdev, cqe)));
	if (IS_ERR(cq)) {
		uep_queue_put(chan);
		return cq;
	}
	cq->chan = chan;
	uep_node_init(&cq->comp, &cq->obj, uid);
	xa_init(&cq->qps);
	uep_node_init(&cq->async, &cq->obj, uid);
	cq->ctx = ctx;

	cq->ring.index = RDMA_EP_NO_RING;
	ret = ring ? uep_ring_create(s, &cq->ring) : 0;
	if (ret)
		goto out;
	hw = uep_cq_hw_get(s, ctx->obj.dev, cqe, comp_vector);
	ret = PTR_ERR_OR_ZERO(hw);
	if (ret)
		goto out;
	cq->hw = hw;
	spin_lock_irq(&hw->lock);
	hw->user = cq;
	spin_unlock_irq(&hw->lock);
out:
	return uep_obj_created(&cq->obj, ret);
}

int uep_create_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_cq *arg = cmd->arg;
	struct uep_queue *chan = NULL;
	struct uep_ctx *ctx;
	struct uep_cq *cq;
	int srcu, ret;

	ctx = uep_obj_enter(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	if (arg->channel_fd != -1) {
		chan = uep_queue_find(cmd->s, arg->channel_fd, &uep_comp_ops);
		if (!chan) {
			ret = -EBADF;
			goto out;
		}
	}
	cq = uep_cq_create(ctx, arg->uid, chan, arg->cqe, arg->comp_vector,
			   arg->flags & RDMA_EP_CQ_RING);
	ret = uep_cmd_add_obj(cmd, cq, &arg->cq);
	if (!ret) {
		arg->cqe = cq->hw->granted;
		arg->ring = cq->ring.index;
	}
out:
	return uep_obj_exit(&ctx->obj, srcu, ret);
}

/* With poll_lock. *@bytes: the charge of the new size, and on return that of the old one */
static int uep_cq_resize(struct uep_cq *cq, struct rdma_ep_cmd_resize_cq *arg, u64 *bytes)
{
	struct ib_cq *ibcq = cq->hw->cq.ibcq;
	u32 want;
	int ret;

	if (cq->dead)
		return -EIO;
	if (arg->cqe > ibcq->device->attrs.max_cqe)
		return -EINVAL;
	if (!ep_dev_has(ibcq->device, EP_CAP_RESIZE_CQ))
		return -EOPNOTSUPP;
	if (arg->cqe < (u64)arg->taken + uep_cq_count(cq))
		return -EINVAL;
	cq->hw->tainted = true;
	/* The completions in the CQ have to fit into the user's entries. */
	ret = ep_compat_resize_cq(ibcq, arg->cqe);
	if (ret)
		return ret;
	/* If it fails, the CQ has no further entry, as the largest one. */
	want = uep_cq_hw_cqe(ibcq->device, arg->cqe);
	if (want > ibcq->cqe)
		ep_compat_resize_cq(ibcq, want);
	if (!cq->nr_buf)
		uep_cq_free_buf(cq);
	/* The charge falls only without memory of held completions. */
	if (*bytes > cq->obj.queue_bytes || !cq->buf)
		swap(*bytes, cq->obj.queue_bytes);
	WRITE_ONCE(cq->hw->wanted, arg->cqe);
	cq->hw->cq.cqe = ibcq->cqe;
	arg->cqe = uep_cq_granted(ibcq->device, arg->cqe, ibcq->cqe);
	WRITE_ONCE(cq->hw->granted, arg->cqe);
	return 0;
}

int uep_resize_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_resize_cq *arg = cmd->arg;
	struct uep_cq *cq;
	int srcu, ret = -EINVAL;
	u64 bytes;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_obj_enter(cmd->s, arg->cq, RDMA_EP_OBJ_CQ, &srcu);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (!arg->cqe || arg->cqe > UEP_MAX_CQE)
		goto out;
	/* Charged as one more object until it has worked. */
	bytes = uep_cq_bytes(arg->cqe + uep_cq_spare(cq->obj.dev->ibdev, arg->cqe));
	ret = uep_charge(cmd->s, 1, bytes);
	if (ret)
		goto out;
	mutex_lock(&cq->hw->poll_lock);
	ret = uep_cq_resize(cq, arg, &bytes);
	mutex_unlock(&cq->hw->poll_lock);
	uep_uncharge(cmd->s, 1, bytes);
out:
	return uep_obj_exit(&cq->obj, srcu, ret);
}

int uep_modify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_modify_cq *arg = cmd->arg;
	struct uep_cq *cq;
	int ret = -EIO;

	if (arg->reserved || arg->cq_count > U16_MAX || arg->cq_period > U16_MAX)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	mutex_lock(&cq->hw->poll_lock);
	if (!cq->dead) {
		cq->hw->tainted = true;
		ret = rdma_set_cq_moderation(cq->hw->cq.ibcq, arg->cq_count, arg->cq_period);
	}
	mutex_unlock(&cq->hw->poll_lock);
	return uep_obj_done(&cq->obj, ret);
}
