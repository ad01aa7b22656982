// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: what a session has open of a device.
 */
#include <linux/nsproxy.h>

#include "verbs.h"

/* All contexts of all sessions, to find those that a device event is for. */
static DEFINE_MUTEX(uep_ctxs_lock);
static LIST_HEAD(uep_ctxs);

static void uep_ctx_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_ctx *ctx = container_of(obj, struct uep_ctx, obj);
	u32 i;

	mutex_lock(&uep_ctxs_lock);
	list_del(&ctx->entry);
	mutex_unlock(&uep_ctxs_lock);
	for (i = 0; i < ctx->nr_ports; i++)
		uep_node_purge(ctx->async, &ctx->ports[i]);
	uep_queue_kill(ctx->async);
}

static void uep_ctx_free(struct uep_obj *obj)
{
	struct uep_ctx *ctx = container_of(obj, struct uep_ctx, obj);

	if (ctx->async)
		uep_queue_put(ctx->async);
	ep_dev_put(obj->dev);
}

static const struct uep_obj_type uep_ctx_type = {
	.type = RDMA_EP_OBJ_CTX,
	.destroy = uep_ctx_destroy,
	.free = uep_ctx_free,
};

/* Called inside ep_dev_enter(). */
struct uep_ctx *uep_ctx_create(struct uep_session *s, struct ep_dev *dev)
{
	u32 nr_ports = dev->ibdev->phys_port_cnt + 1;
	struct uep_queue *async;
	struct uep_ctx *ctx;
	u32 i;

	ctx = uep_obj_alloc(s, &uep_ctx_type, struct_size(ctx, ports, nr_ports), 0);
	if (IS_ERR(ctx))
		return ctx;
	kref_get(&dev->ref);
	ctx->obj.dev = dev;
	ctx->net_cookie = current->nsproxy->net_ns->net_cookie;
	async = uep_async_create();
	if (IS_ERR(async)) {
		uep_obj_put(&ctx->obj);
		return ERR_CAST(async);
	}
	ctx->async = async;
	ctx->nr_ports = nr_ports;
	for (i = 0; i < nr_ports; i++)
		uep_node_init(&ctx->ports[i], &ctx->obj, i);
	mutex_lock(&uep_ctxs_lock);
	list_add_tail(&ctx->entry, &uep_ctxs);
	mutex_unlock(&uep_ctxs_lock);
	return ctx;
}

/*
 * The device that a command names, with a reference and inside ep_dev_enter(), until
 * uep_dev_leave(); or ERR_PTR(-ENODEV) if the caller's network namespace may not use it.
 */
struct ep_dev *uep_dev_lookup(u32 index, int *srcu)
{
	struct ep_dev *dev = ep_dev_get(index);

	if (!dev)
		return ERR_PTR(-ENODEV);
	if (ep_dev_enter(dev, srcu))
		goto err_put;
	if (!rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns))
		goto err_exit;
	return dev;

err_exit:
	ep_dev_exit(dev, *srcu);
err_put:
	ep_dev_put(dev);
	return ERR_PTR(-ENODEV);
}

void uep_dev_leave(struct ep_dev *dev, int srcu)
{
	ep_dev_exit(dev, srcu);
	ep_dev_put(dev);
}

/* An event of a device or port. Process context. */
void uep_ctx_event(struct ep_dev *dev, struct ib_event *event)
{
	struct uep_ctx *ctx;
	u32 port = 0;

	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		port = event->element.port_num;
		break;
	default:
		break;
	}

	mutex_lock(&uep_ctxs_lock);
	list_for_each_entry(ctx, &uep_ctxs, entry)
		if (ctx->obj.dev == dev && port < ctx->nr_ports)
			uep_node_post(ctx->async, &ctx->ports[port], event->event);
	mutex_unlock(&uep_ctxs_lock);
}
