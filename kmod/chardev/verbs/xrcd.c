// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC domains.
 *
 * One is shared by those sessions of a user that have opened it with the same file.
 * A path is held for that, not the inode alone: then nobody can unmount the file's
 * file system, and not the file: it may be the session's own.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "verbs.h"

static void uep_xrcd_put_res(struct ep_res *res)
{
	struct ep_xrcd *xrcd = container_of(res, struct ep_xrcd, res);

	uep_obj_put(&container_of(xrcd, struct uep_xrcd, xrcd)->obj);
}

static const struct ep_res_ops uep_xrcd_res_ops = {
	.put = uep_xrcd_put_res,
};

static void uep_xrcd_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_xrcd *xrcd = container_of(obj, struct uep_xrcd, obj);

	ep_res_destroy(&xrcd->xrcd.res);
	uep_obj_unuse(&xrcd->ctx->obj);
}

static void uep_xrcd_free(struct uep_obj *obj)
{
	struct uep_xrcd *xrcd = container_of(obj, struct uep_xrcd, obj);

	ep_res_fini(&xrcd->xrcd.res);
	path_put(&xrcd->path);
	uep_obj_put(&xrcd->ctx->obj);
	kfree_rcu(xrcd, obj.rcu);
}

static const struct uep_obj_type uep_xrcd_type = {
	.type = RDMA_EP_OBJ_XRCD,
	.destroy = uep_xrcd_destroy,
	.free = uep_xrcd_free,
};

/* The XRC domain that a command names, held for a new object; or NULL. */
struct uep_xrcd *uep_xrcd_use(struct uep_session *s, u32 handle)
{
	struct uep_obj *obj = uep_obj_use(s, handle, RDMA_EP_OBJ_XRCD);

	return obj ? container_of(obj, struct uep_xrcd, obj) : NULL;
}

/* Keeps what @fd is open to. */
static int uep_xrcd_hold_file(struct uep_xrcd *xrcd, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	xrcd->path = file->f_path;
	path_get(&xrcd->path);
	fput(file);
	return 0;
}

/* Called inside ep_dev_enter(), with @ctx held. */
static struct uep_xrcd *uep_xrcd_create(struct uep_ctx *ctx, int fd, u32 flags)
{
	struct uep_session *s = ctx->obj.session;
	const struct inode *inode = NULL;
	struct uep_xrcd *xrcd;
	int ret = 0;

	xrcd = uep_obj_alloc(s, &uep_xrcd_type, sizeof(*xrcd), 0);
	if (IS_ERR(xrcd))
		return xrcd;
	uep_obj_hold(&ctx->obj);
	xrcd->ctx = ctx;
	if (fd != -1)
		ret = uep_xrcd_hold_file(xrcd, fd);
	if (ret)
		goto err;
	if (fd != -1)
		inode = d_inode(xrcd->path.dentry);
	uep_obj_get(&xrcd->obj);
	ret = ep_xrcd_open(&xrcd->xrcd, ctx->dev, &uep_xrcd_res_ops, inode,
			   s->user, flags & RDMA_EP_XRCD_CREATE,
			   flags & RDMA_EP_XRCD_EXCLUSIVE);
	if (!ret)
		return xrcd;
	uep_obj_put(&xrcd->obj);
err:
	uep_obj_discard(&xrcd->obj);
	return ERR_PTR(ret);
}

int uep_open_xrcd(struct uep_cmd *cmd)
{
	struct rdma_ep_open_xrcd *arg = cmd->arg;
	struct uep_xrcd *xrcd;
	struct uep_ctx *ctx;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	ctx = uep_ctx_enter(cmd->s, arg->ctx, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	xrcd = uep_xrcd_create(ctx, arg->fd, arg->flags);
	ret = IS_ERR(xrcd) ? PTR_ERR(xrcd) : uep_cmd_add_obj(cmd, &xrcd->obj);
	if (!ret)
		arg->xrcd = xrcd->obj.handle;
	uep_ctx_exit(ctx, srcu);
	return ret;
}
