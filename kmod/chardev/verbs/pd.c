// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains. */
#include "verbs.h"

static void uep_pd_free(struct uep_obj *obj)
{
	struct uep_pd *pd = container_of(obj, struct uep_pd, obj);

	xa_destroy(&pd->mrs);
	xa_destroy(&pd->recv_rings);
}

static const struct uep_obj_type uep_pd_type = {
	.type = RDMA_EP_OBJ_PD,
	.res = offsetof(struct uep_pd, pd.res),
	.free = uep_pd_free,
};

/* Called inside ep_dev_enter(). */
struct uep_pd *uep_pd_create(struct uep_ctx *ctx)
{
	struct uep_pd *pd = uep_obj_alloc_in(&ctx->obj, &uep_pd_type, sizeof(*pd), 0);

	if (IS_ERR(pd))
		return pd;
	xa_init(&pd->mrs);
	xa_init(&pd->recv_rings);
	pd->ctx = ctx;
	return uep_obj_created(&pd->obj, ep_pd_create(&pd->pd, pd->obj.dev, &uep_obj_res_ops));
}

int uep_alloc_pd(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_alloc_pd *arg = cmd->arg;
	struct uep_ctx *ctx;
	int srcu, ret;

	ctx = uep_obj_enter(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = uep_cmd_add_obj(cmd, uep_pd_create(ctx), &arg->pd);
	return uep_obj_exit(&ctx->obj, srcu, ret);
}
