// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection domains.
 */
#include <linux/slab.h>

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
