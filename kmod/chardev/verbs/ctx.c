// SPDX-License-Identifier: GPL-2.0-only
/* Contexts, and the default context and PD of a session on a device. */
#include <linux/nsproxy.h>

#include "verbs.h"

static void uep_ctx_event(struct ep_dev_watch *watch, u32 port, u32 type)
{
	struct uep_ctx *ctx = container_of(watch, struct uep_ctx, watch);

	uep_node_post(ctx->async, &ctx->ports[port], type);
}

static void uep_ctx_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_ctx *ctx = container_of(obj, struct uep_ctx, obj);
	u32 i;

	ep_dev_del_watch(obj->dev, &ctx->watch);
	for (i = 0; i < ctx->nr_ports; i++)
		uep_node_purge(ctx->async, &ctx->ports[i]);
	uep_queue_kill(ctx->async);
}

static void uep_ctx_free(struct uep_obj *obj)
{
	struct uep_ctx *ctx = container_of(obj, struct uep_ctx, obj);

	if (!IS_ERR(ctx->async))
		uep_queue_put(ctx->async);
	ep_dev_put(obj->dev);
}

static const struct uep_obj_type uep_ctx_type = {
	.type = RDMA_EP_OBJ_CTX,
	.destroy = uep_ctx_destroy,
	.free = uep_ctx_free,
};

/* Called inside ep_dev_enter(). */
static struct uep_ctx *uep_ctx_create(struct uep_session *s, struct ep_dev *dev)
{
	u32 i, nr_ports = dev->ibdev->phys_port_cnt + 1;
	struct uep_ctx *ctx;
	int ret = -ENOMEM;

	ctx = uep_obj_alloc(s, &uep_ctx_type, struct_size(ctx, ports, nr_ports), 0);
	if (IS_ERR(ctx))
		return ctx;
	kref_get(&dev->ref);
	ctx->obj.dev = dev;
	ctx->watch.event = uep_ctx_event;
	ctx->net_cookie = current->nsproxy->net_ns->net_cookie;
	ctx->nr_ports = nr_ports;
	for (i = 0; i < nr_ports; i++)
		uep_node_init(&ctx->ports[i], &ctx->obj, i);
	/* It belongs to no session: its files can be open longer. */
	ctx->async = uep_queue_alloc(NULL, &uep_async_ops, sizeof(*ctx->async));
	ctx->account = uep_account_dev(s->account, dev);
	if (!IS_ERR(ctx->async) && ctx->account)
		ret = ep_dev_add_watch(dev, &ctx->watch);
	if (!ret)
		return ctx;
	uep_obj_put(&ctx->obj);
	return ERR_PTR(ret);
}

static struct uep_ctx *uep_ctx_create_default(struct uep_session *s, struct ep_dev *dev)
{
	struct uep_ctx *ctx;
	struct uep_pd *pd;
	int ret;

	ctx = uep_ctx_create(s, dev);
	if (IS_ERR(ctx))
		return ctx;
	pd = uep_pd_create(ctx);
	ret = PTR_ERR_OR_ZERO(pd);
	if (ret)
		goto err_ctx;
	ret = uep_obj_reserve(&ctx->obj) ?: uep_obj_reserve(&pd->obj) ?:
	      xa_insert(&s->default_ctxs, dev->index, ctx, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_pd;

	/* Until the session ends, so DESTROY finds it in use. */
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

/* The session's default context on @dev, until the session ends. Inside ep_dev_enter(). */
static struct uep_ctx *uep_ctx_default(struct uep_session *s, struct ep_dev *dev)
{
	guard(mutex)(&s->ctx_lock);
	return xa_load(&s->default_ctxs, dev->index) ?: uep_ctx_create_default(s, dev);
}

/*
 * The PD for a new QP or SRQ, until uep_obj_exit(): that of the handle, which must be on @dev
 * (NULL: on any device), or with handle 0 the default PD of @dev. Or ERR_PTR: -ENOENT, -EINVAL
 * for another device or neither PD nor device, -EIO, -EACCES
 */
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle, struct ep_dev *dev, int *srcu)
{
	struct uep_ctx *ctx;
	int ret;

	if (handle)
		return uep_obj_enter_on(s, handle, RDMA_EP_OBJ_PD, dev, srcu);
	if (!dev)
		return ERR_PTR(-EINVAL);
	ret = ep_dev_enter(dev, srcu);
	if (ret)
		return ERR_PTR(ret);
	ret = uep_check_dev(s, dev->ibdev);
	ctx = ret ? ERR_PTR(ret) : uep_ctx_default(s, dev);
	if (IS_ERR(ctx)) {
		ep_dev_exit(dev, *srcu);
		return ERR_CAST(ctx);
	}
	uep_obj_get(&ctx->default_pd->obj);
	return ctx->default_pd;
}

/*
 * The device that a command names, with a reference and inside ep_dev_enter(), until
 * uep_dev_exit(); or ERR_PTR(-ENODEV) if the caller's network namespace may not use it, and
 * -EACCES or -ENOMEM of uep_check_dev().
 */
struct ep_dev *uep_dev_enter(struct uep_session *s, u32 index, int *srcu)
{
	struct ep_dev *dev = ep_dev_get(index);
	int ret = -ENODEV;

	if (!dev)
		return ERR_PTR(-ENODEV);
	if (ep_dev_enter(dev, srcu))
		goto err_put;
	if (!rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns))
		goto err_exit;
	ret = uep_check_dev(s, dev->ibdev);
	if (ret)
		goto err_exit;
	return dev;

err_exit:
	ep_dev_exit(dev, *srcu);
err_put:
	ep_dev_put(dev);
	return ERR_PTR(ret);
}

void uep_dev_exit(struct ep_dev *dev, int srcu)
{
	ep_dev_exit(dev, srcu);
	ep_dev_put(dev);
}

int uep_open_device(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_open_device *arg = cmd->arg;
	struct uep_ctx *ctx;
	struct ep_dev *dev;
	int srcu, ret;

	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
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
	arg->async_fd = uep_queue_add_file(cmd, ctx->async, false);
	ret = min(arg->async_fd, 0);
out:
	uep_dev_exit(dev, srcu);
	return ret;
}
