// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC domains and their target QPs, which have neither PD nor queues.
 *
 * The sessions of a user that have opened a domain with the same file share it. Each holds
 * the file's path: an inode alone would not keep its file system mounted, and the open file
 * may be the session's own.
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

static int uep_xrcd_get_path(struct uep_xrcd *xrcd, int fd, const struct inode **inode)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	xrcd->path = file->f_path;
	path_get(&xrcd->path);
	*inode = d_inode(xrcd->path.dentry);
	fput(file);
	return 0;
}

/* Other sessions of the user share the domain of a file, with its QPs: no adopter gets at them. */
static bool uep_xrcd_is_own(const struct uep_session *s)
{
	return uid_eq(s->user->uid, current_euid());
}

/* Called inside ep_dev_enter(). */
static struct uep_xrcd *uep_xrcd_create(struct uep_ctx *ctx, int fd, u32 flags)
{
	const struct inode *inode = NULL;
	struct uep_xrcd *xrcd;
	int ret = 0;

	xrcd = uep_obj_alloc_in(&ctx->obj, &uep_xrcd_type, sizeof(*xrcd), 0);
	if (IS_ERR(xrcd))
		return xrcd;
	xrcd->ctx = ctx;
	if (fd != -1)
		ret = uep_xrcd_is_own(ctx->obj.session) ?
		      uep_xrcd_get_path(xrcd, fd, &inode) : -EACCES;
	if (!ret)
		ret = ep_xrcd_open(&xrcd->xrcd, ctx->obj.dev, &uep_obj_res_ops, inode,
				   ctx->obj.session->user, flags & RDMA_EP_XRCD_CREATE,
				   flags & RDMA_EP_XRCD_EXCLUSIVE);
	return uep_obj_created(&xrcd->obj, ret);
}

int uep_open_xrcd(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_open_xrcd *arg = cmd->arg;
	struct uep_ctx *ctx;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	ctx = uep_obj_enter(cmd->s, arg->ctx, RDMA_EP_OBJ_CTX, &srcu);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = uep_cmd_add_obj(cmd, uep_xrcd_create(ctx, arg->fd, arg->flags), &arg->xrcd);
	/* There is no such domain, which is no refusal by the rdma controller. */
	cmd->counted = ret == -EAGAIN && !(arg->flags & RDMA_EP_XRCD_CREATE);
	return uep_obj_exit(&ctx->obj, srcu, ret);
}

/*
 * One more opener of a target QP in the domain: of the QP with the number, or with @num NULL of
 * a new one. Called inside ep_dev_enter().
 */
struct uep_qp *uep_target_create(struct uep_xrcd *xrcd, u64 uid, const u32 *num)
{
	struct ib_qp_init_attr init = {
		.event_handler = uep_qp_event,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_qp_open_attr open = {
		.event_handler = uep_qp_event,
		.qp_num = num ? *num : 0,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct uep_qp *qp;
	int ret;

	qp = uep_qp_alloc(&xrcd->obj, xrcd->ctx, uid);
	if (IS_ERR(qp))
		return qp;
	qp->xrcd = xrcd;
	qp->qp.xrcd = &xrcd->xrcd;
	init.qp_context = qp;
	open.qp_context = qp;
	if (num)
		ret = ep_qp_open(&qp->qp, qp->obj.dev, &uep_qp_res_ops, &open);
	else
		ret = ep_qp_create(&qp->qp, qp->obj.dev, NULL, &uep_qp_res_ops, &init,
				   KBUILD_MODNAME);
	if (!ret) {
		ret = xa_insert(&qp->obj.session->qps, uep_qp_key(qp), qp, GFP_KERNEL_ACCOUNT);
		/* The session has opened it before. */
		if (ret == -EBUSY)
			ret = 0;
	}
	return uep_obj_created(&qp->obj, ret);
}

int uep_open_qp(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_open_qp *arg = cmd->arg;
	struct uep_xrcd *xrcd;
	struct uep_qp *qp;
	int srcu, ret;

	xrcd = uep_obj_enter(cmd->s, arg->xrcd, RDMA_EP_OBJ_XRCD, &srcu);
	if (IS_ERR(xrcd))
		return PTR_ERR(xrcd);
	ret = -EACCES;
	if (xrcd->path.dentry && !uep_xrcd_is_own(cmd->s))
		goto out;
	qp = uep_target_create(xrcd, arg->uid, &arg->qp_num);
	ret = uep_cmd_add_obj(cmd, qp, &arg->qp);
	if (!ret)
		arg->state = qp->qp.state;
out:
	return uep_obj_exit(&xrcd->obj, srcu, ret);
}
