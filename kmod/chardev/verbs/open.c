// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening a device, and the default context and PD that a session has on it.
 */
#include "verbs.h"

static struct uep_ctx *uep_ctx_create_default(struct uep_session *s, struct ep_dev *dev)
{
	struct uep_ctx *ctx;
	struct uep_pd *pd;
	int ret;

	ctx = uep_ctx_create(s, dev);
	if (IS_ERR(ctx))
		return ctx;
	pd = uep_pd_create(ctx);
	if (IS_ERR(pd)) {
		ret = PTR_ERR(pd);
		goto err_ctx;
	}
	ret = uep_obj_reserve(&ctx->obj);
	if (ret)
		goto err_pd;
	ret = uep_obj_reserve(&pd->obj);
	if (ret)
		goto err_pd;
	ret = xa_insert(&s->default_ctxs, dev->index, ctx, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_pd;

	/* Keeps the user from destroying it until the session ends. */
	uep_obj_add_user(&pd->obj);
	ctx->default_pd = pd;
	uep_obj_publish(&ctx->obj);
	uep_obj_publish(&pd->obj);
	return ctx;

err_pd:
	uep_obj_discard(&pd->obj);
err_ctx:
	uep_obj_discard(&ctx->obj);
	return ERR_PTR(ret);
}

/*
 * The session's default context on @dev, made on first use. It lives until the
 * session ends. Called inside ep_dev_enter().
 */
static struct uep_ctx *uep_ctx_default(struct uep_session *s, struct ep_dev *dev)
{
	struct uep_ctx *ctx;

	mutex_lock(&s->ctx_lock);
	ctx = xa_load(&s->default_ctxs, dev->index);
	if (!ctx)
		ctx = uep_ctx_create_default(s, dev);
	mutex_unlock(&s->ctx_lock);
	return ctx;
}

static struct uep_pd *uep_pd_default(struct uep_session *s, struct ep_dev *dev)
{
	struct uep_ctx *ctx = uep_ctx_default(s, dev);

	if (IS_ERR(ctx))
		return ERR_CAST(ctx);
	uep_obj_get(&ctx->default_pd->obj);
	return ctx->default_pd;
}

/**
 * uep_pd_enter - the PD for a new QP or SRQ
 * @s: session
 * @handle: its handle, or 0 for the default PD of @dev
 * @dev: device that it must be on, or NULL
 * @srcu: for uep_obj_exit()
 *
 * Return: the PD, with a reference and inside ep_dev_enter(); -ENOENT, -EINVAL for
 * another device or neither PD nor device, -EIO
 */
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle, struct ep_dev *dev, int *srcu)
{
	struct uep_pd *pd;
	int ret;

	if (handle)
		return uep_obj_enter_on(s, handle, RDMA_EP_OBJ_PD, dev, srcu);
	if (!dev)
		return ERR_PTR(-EINVAL);
	ret = ep_dev_enter(dev, srcu);
	if (ret)
		return ERR_PTR(ret);
	pd = uep_pd_default(s, dev);
	if (IS_ERR(pd))
		ep_dev_exit(dev, *srcu);
	return pd;
}

int uep_open_device(struct uep_cmd *cmd)
{
	struct rdma_ep_open_device *arg = cmd->arg;
	struct uep_ctx *ctx;
	struct ep_dev *dev;
	int srcu, ret;

	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	arg->pd = 0;
	if (arg->flags & RDMA_EP_OPEN_DEFAULT) {
		ctx = uep_ctx_default(cmd->s, dev);
		ret = PTR_ERR_OR_ZERO(ctx);
		if (!ret)
			arg->pd = ctx->default_pd->obj.handle;
	} else {
		ctx = uep_ctx_create(cmd->s, dev);
		ret = uep_cmd_add_obj(cmd, ctx, NULL);
	}
	if (ret)
		goto out;
	arg->ctx = ctx->obj.handle;
	arg->async_fd = uep_queue_add_file(cmd, ctx->async);
	if (arg->async_fd < 0)
		ret = arg->async_fd;
out:
	uep_dev_leave(dev, srcu);
	return ret;
}
