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

#include "verbs.h"

static void uep_xrcd_free(struct uep_obj *obj)
{
	path_put(&container_of(obj, struct uep_xrcd, obj)->path);
}

static const struct uep_obj_type uep_xrcd_type = {
	.type = RDMA_EP_OBJ_XRCD,
	.res = offsetof(struct uep_xrcd, xrcd.res),
	.free = uep_xrcd_free,
};

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

/* Called inside ep_dev_enter(). */
static struct uep_xrcd *uep_xrcd_create(struct uep_ctx *ctx, int fd, u32 flags)
{
	const struct inode *inode = NULL;
	struct uep_xrcd *xrcd;
	int ret;

	xrcd = uep_obj_alloc_in(&ctx->obj, &uep_xrcd_type, sizeof(*xrcd), 0);
	if (IS_ERR(xrcd))
		return xrcd;
	xrcd->ctx = ctx;
	if (fd != -1) {
		ret = uep_xrcd_hold_file(xrcd, fd);
		if (ret)
			goto err;
		inode = d_inode(xrcd->path.dentry);
	}
	ret = ep_xrcd_open(&xrcd->xrcd, ctx->obj.dev, &uep_obj_res_ops, inode,
			   ctx->obj.session->user, flags & RDMA_EP_XRCD_CREATE,
			   flags & RDMA_EP_XRCD_EXCLUSIVE);
	if (!ret)
		return xrcd;
err:
	uep_obj_discard(&xrcd->obj);
	return ERR_PTR(ret);
}

int uep_open_xrcd(struct uep_cmd *cmd)
{
	struct rdma_ep_open_xrcd *arg = cmd->arg;
	struct uep_ctx *ctx;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	ctx = uep_obj_enter(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = uep_cmd_add_obj(cmd, uep_xrcd_create(ctx, arg->fd, arg->flags), &arg->xrcd);
	return uep_obj_exit(&ctx->obj, srcu, ret);
}
