// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection domains and address handles.
 */
#include <linux/slab.h>

#include "cm.h"
#include "verbs.h"

static void uep_pd_put_res(struct ep_res *res)
{
	struct ep_pd *pd = container_of(res, struct ep_pd, res);

	uep_obj_put(&container_of(pd, struct uep_pd, pd)->obj);
}

static const struct ep_res_ops uep_pd_res_ops = {
	.put = uep_pd_put_res,
};

static void uep_pd_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_pd *pd = container_of(obj, struct uep_pd, obj);

	ep_res_destroy(&pd->pd.res);
	uep_obj_unuse(&pd->ctx->obj);
}

static void uep_pd_free(struct uep_obj *obj)
{
	struct uep_pd *pd = container_of(obj, struct uep_pd, obj);

	ep_res_fini(&pd->pd.res);
	xa_destroy(&pd->mrs);
	uep_obj_put(&pd->ctx->obj);
	kfree_rcu(pd, obj.rcu);
}

static const struct uep_obj_type uep_pd_type = {
	.type = RDMA_EP_OBJ_PD,
	.destroy = uep_pd_destroy,
	.free = uep_pd_free,
};

/* Called inside ep_dev_enter(), with @ctx held or being made by the caller. */
struct uep_pd *uep_pd_create(struct uep_ctx *ctx)
{
	struct uep_pd *pd;
	int ret;

	pd = uep_obj_alloc(ctx->obj.session, &uep_pd_type, sizeof(*pd), 0);
	if (IS_ERR(pd))
		return pd;
	xa_init(&pd->mrs);
	uep_obj_hold(&ctx->obj);
	pd->ctx = ctx;
	uep_obj_get(&pd->obj);
	ret = ep_pd_create(&pd->pd, ctx->dev, &uep_pd_res_ops);
	if (ret) {
		uep_obj_put(&pd->obj);
		uep_obj_discard(&pd->obj);
		return ERR_PTR(ret);
	}
	return pd;
}

int uep_alloc_pd(struct uep_cmd *cmd)
{
	struct rdma_ep_alloc_pd *arg = cmd->arg;
	struct uep_ctx *ctx;
	struct uep_pd *pd;
	int srcu, ret;

	ctx = uep_ctx_enter(cmd->s, arg->ctx, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	pd = uep_pd_create(ctx);
	ret = IS_ERR(pd) ? PTR_ERR(pd) : uep_cmd_add_obj(cmd, &pd->obj);
	if (!ret)
		arg->pd = pd->obj.handle;
	uep_ctx_exit(ctx, srcu);
	return ret;
}

static struct uep_pd *uep_pd_default(struct uep_session *s, struct ep_dev *dev)
{
	struct uep_ctx *ctx = uep_ctx_default(s, dev);

	if (IS_ERR(ctx))
		return ERR_CAST(ctx);
	uep_obj_hold(&ctx->default_pd->obj);
	return ctx->default_pd;
}

static struct uep_pd *uep_pd_named(struct uep_session *s, u32 handle,
				   struct ep_dev *dev)
{
	struct uep_obj *obj = uep_obj_use(s, handle, RDMA_EP_OBJ_PD);
	struct uep_pd *pd;

	if (!obj)
		return ERR_PTR(-ENOENT);
	pd = container_of(obj, struct uep_pd, obj);
	if (!dev || pd->ctx->dev == dev)
		return pd;
	uep_obj_unhold(obj);
	return ERR_PTR(-EINVAL);
}

/**
 * uep_pd_enter - the PD for a new QP or SRQ
 * @s: session
 * @handle: its handle, or 0 for the default PD of @id's device
 * @id: id that the object is for, between ep_id_begin_bound() and ep_id_end(),
 *	or NULL
 * @srcu: for ep_dev_exit()
 *
 * Return: the PD, held for the new object and inside ep_dev_enter(); -ENOENT,
 * -EINVAL for another device than the id's or neither PD nor id, -EIO
 */
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle,
			    struct uep_id *id, int *srcu)
{
	struct ep_dev *dev = NULL;
	struct uep_pd *pd;
	int ret;

	if (id) {
		dev = ep_id_dev(&id->id);
		if (!dev)
			return ERR_PTR(-EIO);
	}
	if (handle) {
		pd = uep_pd_named(s, handle, dev);
		ret = IS_ERR(pd) ? 0 : ep_dev_enter(pd->ctx->dev, srcu);
		if (ret) {
			uep_obj_unhold(&pd->obj);
			pd = ERR_PTR(ret);
		}
	} else if (dev) {
		ret = ep_dev_enter(dev, srcu);
		pd = ret ? ERR_PTR(ret) : uep_pd_default(s, dev);
		if (!ret && IS_ERR(pd))
			ep_dev_exit(dev, *srcu);
	} else {
		pd = ERR_PTR(-EINVAL);
	}
	if (dev)
		ep_dev_put(dev);
	return pd;
}

static void uep_ah_destroy_hw(struct ep_res *res)
{
	struct uep_ah *ah = container_of(res, struct uep_ah, res);
	struct ib_ah *ibah = ah->ibah;

	ah->ibah = NULL;
	rdma_destroy_ah(ibah, RDMA_DESTROY_AH_SLEEPABLE);
}

static void uep_ah_put_res(struct ep_res *res)
{
	uep_obj_put(&container_of(res, struct uep_ah, res)->obj);
}

static const struct ep_res_ops uep_ah_res_ops = {
	.put = uep_ah_put_res,
};

/* For a post, so that the hardware object stays until the driver has seen it. */
struct uep_ah *uep_ah_get(struct uep_session *s, u32 handle)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, RDMA_EP_OBJ_AH);
	struct uep_ah *ah;

	if (!obj)
		return NULL;
	ah = container_of(obj, struct uep_ah, obj);
	if (refcount_inc_not_zero(&ah->live))
		return ah;
	uep_obj_put(obj);
	return NULL;
}

static void uep_ah_drop(struct uep_ah *ah)
{
	if (!refcount_dec_and_test(&ah->live))
		return;
	ep_res_destroy(&ah->res);
	uep_obj_unuse(&ah->pd->obj);
}

void uep_ah_put(struct uep_ah *ah)
{
	uep_ah_drop(ah);
	uep_obj_put(&ah->obj);
}

static void uep_ah_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	uep_ah_drop(container_of(obj, struct uep_ah, obj));
}

static void uep_ah_free(struct uep_obj *obj)
{
	struct uep_ah *ah = container_of(obj, struct uep_ah, obj);

	ep_res_fini(&ah->res);
	uep_obj_put(&ah->pd->obj);
	kfree_rcu(ah, obj.rcu);
}

static const struct uep_obj_type uep_ah_type = {
	.type = RDMA_EP_OBJ_AH,
	.destroy = uep_ah_destroy,
	.free = uep_ah_free,
};

/* Called inside ep_dev_enter(). */
static int uep_ah_create_hw(struct uep_ah *ah, struct ep_dev *dev,
			    const struct ib_uverbs_ah_attr *uattr)
{
	struct rdma_ah_attr attr = {};
	int ret;

	ret = uep_ah_attr_from_user(ah->pd->ctx, &attr, uattr);
	if (ret)
		goto out;
	ret = ep_res_init(&ah->res, dev, EP_RES_AH, &uep_ah_res_ops,
			  uep_ah_destroy_hw);
	if (ret)
		goto out;
	/* The variant for users resolves the destination's link address. */
	ah->ibah = rdma_create_user_ah(ah->pd->pd.ibpd, &attr, NULL);
	if (IS_ERR(ah->ibah)) {
		ret = PTR_ERR(ah->ibah);
		ep_res_uncharge(&ah->res);
		goto out;
	}
	uep_obj_get(&ah->obj);
	ep_res_add(&ah->res);
out:
	rdma_destroy_ah_attr(&attr);
	return ret;
}

int uep_create_ah(struct uep_cmd *cmd)
{
	struct rdma_ep_create_ah *arg = cmd->arg;
	struct uep_obj *obj;
	struct ep_dev *dev;
	struct uep_ah *ah;
	int srcu, ret;

	obj = uep_obj_use(cmd->s, arg->pd, RDMA_EP_OBJ_PD);
	if (!obj)
		return -ENOENT;
	ah = uep_obj_alloc(cmd->s, &uep_ah_type, sizeof(*ah), 0);
	if (IS_ERR(ah)) {
		uep_obj_unhold(obj);
		return PTR_ERR(ah);
	}
	refcount_set(&ah->live, 1);
	ah->pd = container_of(obj, struct uep_pd, obj);
	dev = ah->pd->ctx->dev;
	ret = ep_dev_enter(dev, &srcu);
	if (!ret) {
		ret = uep_ah_create_hw(ah, dev, &arg->attr);
		ep_dev_exit(dev, srcu);
	}
	if (ret) {
		uep_obj_discard(&ah->obj);
		return ret;
	}
	ret = uep_cmd_add_obj(cmd, &ah->obj);
	if (!ret)
		arg->ah = ah->obj.handle;
	return ret;
}
