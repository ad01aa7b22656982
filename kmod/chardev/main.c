// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device node and its table of commands.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat.h"
#include "../include/rdma_ep.h"
#include "../ulp/ulp.h"
#include "cm.h"
#include "trace.h"
#include "verbs.h"

/* What every command's structure begins with. */
struct uep_cmd_hdr {
	u32 size;
	u32 flags;
};

/**
 * struct uep_cmd_op - a command
 * @fn: executes it
 * @name: for traces
 * @size: size of its structure
 * @min_size: the part that the first version had
 * @flags: flag bits that it knows
 * @await: where in the structure it has a struct rdma_ep_await, or 0
 * @respond_always: copy the structure back on failure, too
 * @responds: it writes its results itself, as what it takes from a queue could not
 *	be put back afterwards
 */
struct uep_cmd_op {
	int (*fn)(struct uep_cmd *cmd);
	const char *name;
	u16 size;
	u16 min_size;
	u32 flags;
	u16 await;
	bool respond_always;
	bool responds;
};

#define UEP_CMD(_cmd, _fn, _struct, _last, _flags, ...)			\
	[RDMA_EP_CMD_##_cmd] = {					\
		.fn = _fn,						\
		.name = #_cmd,						\
		.size = sizeof(struct _struct),				\
		.min_size = offsetofend(struct _struct, _last),		\
		.flags = _flags,					\
		__VA_ARGS__						\
	}

#define UEP_AWAIT(_struct)	.await = offsetof(struct _struct, await)

static const struct uep_cmd_op uep_cmd_ops[] = {
	UEP_CMD(QUERY, uep_query, rdma_ep_query, max_backlog, 0),
	UEP_CMD(QUERY_DEVICES, uep_query_devices, rdma_ep_query_devices, num,
		0),
	UEP_CMD(OPEN_DEVICE, uep_open_device, rdma_ep_open_device, pd,
		RDMA_EP_OPEN_DEFAULT),
	UEP_CMD(QUERY_DEVICE, uep_query_device, rdma_ep_query_device,
		timestamp_mask, 0),
	UEP_CMD(QUERY_PORT, uep_query_port, rdma_ep_query_port, netdev_index,
		0),
	UEP_CMD(QUERY_GID, uep_query_gid, rdma_ep_query_gid, gid, 0),
	UEP_CMD(QUERY_PKEY, uep_query_pkey, rdma_ep_query_pkey, pkey, 0),
	UEP_CMD(DESTROY, uep_destroy, rdma_ep_destroy, comp_events_reported,
		RDMA_EP_DESTROY_DETACH | RDMA_EP_DESTROY_CONTENTS),
	UEP_CMD(QUERY_GID_TABLE, uep_query_gid_table, rdma_ep_query_gid_table,
		reserved, 0),

	UEP_CMD(CREATE_CHANNEL, uep_create_channel, rdma_ep_create_fd,
		reserved, 0),
	UEP_CMD(CREATE_ID, uep_create_id, rdma_ep_create_id, id,
		RDMA_EP_ID_PRIVATE_CHANNEL),
	UEP_CMD(CREATE_EP, uep_create_ep, rdma_ep_create_ep, info,
		RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE |
		RDMA_EP_EP_CREATE_QP),
	UEP_CMD(BIND_ADDR, uep_bind_addr, rdma_ep_bind_addr, info, 0),
	UEP_CMD(RESOLVE_ADDR, uep_resolve_addr, rdma_ep_resolve_addr, await,
		RDMA_EP_AWAIT, UEP_AWAIT(rdma_ep_resolve_addr)),
	UEP_CMD(RESOLVE_ROUTE, uep_resolve_route, rdma_ep_id_cmd, await,
		RDMA_EP_AWAIT, UEP_AWAIT(rdma_ep_id_cmd)),
	UEP_CMD(LISTEN, uep_listen, rdma_ep_id_cmd, await, 0,
		UEP_AWAIT(rdma_ep_id_cmd)),
	UEP_CMD(CONNECT, uep_connect, rdma_ep_connect, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_connect)),
	UEP_CMD(ACCEPT, uep_accept, rdma_ep_connect, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_connect)),
	UEP_CMD(REJECT, uep_reject, rdma_ep_reject, private_data, 0),
	UEP_CMD(DISCONNECT, uep_disconnect, rdma_ep_id_cmd, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_id_cmd)),
	UEP_CMD(ESTABLISH, uep_establish, rdma_ep_id_cmd, await, 0,
		UEP_AWAIT(rdma_ep_id_cmd)),
	UEP_CMD(QUERY_ID, uep_query_id, rdma_ep_query_id, info, 0),
	UEP_CMD(SET_OPTION, uep_set_option, rdma_ep_set_option, optval, 0),
	UEP_CMD(MIGRATE_ID, uep_migrate_id, rdma_ep_migrate_id, reserved,
		RDMA_EP_ID_PRIVATE_CHANNEL),
	UEP_CMD(INIT_QP_ATTR, uep_init_qp_attr, rdma_ep_init_qp_attr, attr, 0),
	UEP_CMD(GET_REQUEST, uep_get_request, rdma_ep_get_request, event,
		RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP |
		RDMA_EP_AWAIT),
	UEP_CMD(JOIN_MULTICAST, uep_join_multicast, rdma_ep_join_multicast,
		addr, RDMA_EP_JOIN_SEND_ONLY),
	UEP_CMD(NOTIFY, uep_notify, rdma_ep_id_cmd, await, 0,
		UEP_AWAIT(rdma_ep_id_cmd)),
	UEP_CMD(WRITE_EVENT, uep_write_event, rdma_ep_write_event, arg, 0),
	UEP_CMD(DESTROY_EP, uep_destroy_ep, rdma_ep_destroy_ep, send_cq, 0),

	UEP_CMD(ALLOC_PD, uep_alloc_pd, rdma_ep_alloc_pd, pd, 0),
	UEP_CMD(REG_MR, uep_reg_mr, rdma_ep_reg_mr, reserved, 0),
	UEP_CMD(CREATE_AH, uep_create_ah, rdma_ep_create_ah, attr, 0),
	UEP_CMD(OPEN_XRCD, uep_open_xrcd, rdma_ep_open_xrcd, reserved,
		RDMA_EP_XRCD_CREATE | RDMA_EP_XRCD_EXCLUSIVE),
	UEP_CMD(REREG_MR, uep_rereg_mr, rdma_ep_rereg_mr, rkey,
		RDMA_EP_REREG_TRANSLATION | RDMA_EP_REREG_ACCESS),

	UEP_CMD(CREATE_COMP_CHANNEL, uep_create_comp_channel,
		rdma_ep_create_fd, reserved, 0),
	UEP_CMD(CREATE_CQ, uep_create_cq, rdma_ep_create_cq, ring,
		RDMA_EP_CQ_RING),
	UEP_CMD(RESIZE_CQ, uep_resize_cq, rdma_ep_resize_cq, cqe, 0),
	UEP_CMD(POLL_CQ, uep_poll_cq, rdma_ep_poll_cq, reserved, 0,
		.responds = true),
	UEP_CMD(NOTIFY_CQ, uep_notify_cq, rdma_ep_notify_cq, reserved,
		RDMA_EP_NOTIFY_SOLICITED),
	UEP_CMD(MODIFY_CQ, uep_modify_cq, rdma_ep_modify_cq, reserved, 0),

	UEP_CMD(CREATE_SRQ, uep_create_srq, rdma_ep_create_srq, srq_num, 0),
	UEP_CMD(MODIFY_SRQ, uep_modify_srq, rdma_ep_srq_attr, srq_limit,
		RDMA_EP_SRQ_MAX_WR | RDMA_EP_SRQ_LIMIT),
	UEP_CMD(QUERY_SRQ, uep_query_srq, rdma_ep_srq_attr, srq_limit, 0),

	UEP_CMD(CREATE_QP, uep_create_qp, rdma_ep_create_qp, init, 0),
	UEP_CMD(MODIFY_QP, uep_modify_qp, rdma_ep_modify_qp, attr, 0),
	UEP_CMD(QUERY_QP, uep_query_qp, rdma_ep_query_qp, sq_sig_all, 0),
	UEP_CMD(POST_SEND, uep_post_send, rdma_ep_post, posted,
		RDMA_EP_POST_ALL, .respond_always = true),
	UEP_CMD(POST_RECV, uep_post_recv, rdma_ep_post, posted, 0,
		.respond_always = true),
	UEP_CMD(POST_SRQ_RECV, uep_post_srq_recv, rdma_ep_post, posted, 0,
		.respond_always = true),
	UEP_CMD(ATTACH_MCAST, uep_attach_mcast, rdma_ep_qp_mcast, gid, 0),
	UEP_CMD(DETACH_MCAST, uep_detach_mcast, rdma_ep_qp_mcast, gid, 0),
	UEP_CMD(OPEN_QP, uep_open_qp, rdma_ep_open_qp, state, 0),
};

/* Structures up to this size need no allocation: those of the data path. */
#define UEP_CMD_STACK_SIZE	64

/* From here on the object is published or discarded with the command. */
int uep_cmd_add_obj(struct uep_cmd *cmd, struct uep_obj *obj)
{
	int ret;

	if (WARN_ON_ONCE(cmd->nr_objs == UEP_CMD_MAX_OBJS))
		ret = -ENOSPC;
	else
		ret = uep_obj_reserve(obj);
	if (ret) {
		uep_obj_discard(obj);
		return ret;
	}
	cmd->objs[cmd->nr_objs++] = obj;
	return 0;
}

/*
 * Makes a file that appears in the caller's table if the command succeeds.
 * Returns its number. On failure @priv has not been released.
 */
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv)
{
	struct file *file;
	int fd;

	if (WARN_ON_ONCE(cmd->nr_files == UEP_CMD_MAX_FDS))
		return -ENOSPC;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile(name, fops, priv, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	cmd->files[cmd->nr_files].file = file;
	cmd->files[cmd->nr_files++].fd = fd;
	return fd;
}

/* The id stays where it is. */
static void uep_cmd_end_move(struct uep_cmd *cmd)
{
	if (!cmd->moved)
		return;
	uep_channel_put(cmd->moved_from);
	uep_obj_put(&cmd->moved->obj);
}

static void uep_cmd_publish(struct uep_cmd *cmd)
{
	struct uep_obj *obj;
	int i;

	for (i = 0; i < cmd->nr_objs; i++) {
		obj = cmd->objs[i];
		if (obj->type->type == RDMA_EP_OBJ_ID)
			uep_id_publish(container_of(obj, struct uep_id, obj));
		else
			uep_obj_publish(obj);
	}
	for (i = 0; i < cmd->nr_files; i++)
		fd_install(cmd->files[i].fd, cmd->files[i].file);
	uep_cmd_end_move(cmd);
	if (cmd->owner)
		uep_obj_put(&cmd->owner->obj);
	if (cmd->event)
		uep_channel_delivered(cmd->event);
}

/* Undoes what the command made beyond the given numbers. */
void uep_cmd_rollback(struct uep_cmd *cmd, int nr_objs, int nr_files)
{
	while (cmd->nr_objs > nr_objs)
		uep_obj_discard(cmd->objs[--cmd->nr_objs]);
	while (cmd->nr_files > nr_files) {
		cmd->nr_files--;
		put_unused_fd(cmd->files[cmd->nr_files].fd);
		fput(cmd->files[cmd->nr_files].file);
	}
}

static void uep_cmd_abort(struct uep_cmd *cmd)
{
	u32 reported;

	if (cmd->moved)
		cmd->moved_from = uep_channel_move(cmd->moved, cmd->moved_from,
						   &reported);
	uep_cmd_end_move(cmd);
	uep_cmd_rollback(cmd, 0, 0);
	if (cmd->owner) {
		uep_id_forget(cmd->owner);
		uep_obj_put(&cmd->owner->obj);
	}
	if (cmd->event)
		uep_channel_untake(cmd->event);
}

/*
 * What the command is to wait for, NULL: nothing. Called before it is executed, as
 * later there is no way back.
 */
static struct rdma_ep_await *uep_cmd_await_arg(const struct uep_cmd_op *op,
					       void *arg)
{
	struct rdma_ep_await *aw = arg + op->await;
	struct uep_cmd_hdr *hdr = arg;

	if (!op->await)
		return NULL;
	if (!(hdr->flags & RDMA_EP_AWAIT))
		return memchr_inv(aw, 0, sizeof(*aw)) ? ERR_PTR(-EINVAL) : NULL;
	return aw->state > RDMA_EP_AWAIT_DONE ? ERR_PTR(-EINVAL) : aw;
}

static int uep_cmd_await(struct uep_cmd *cmd, struct rdma_ep_await *aw)
{
	struct rdma_ep_await __user *uaw =
		cmd->uarg + ((void *)aw - cmd->arg);
	struct uep_event *ev = uep_channel_await(cmd->s, aw->channel_fd);

	aw->state = RDMA_EP_AWAIT_DONE;
	/* When the command is begun anew it is not to be executed once more. */
	if (IS_ERR(ev))
		return put_user(aw->state, &uaw->state) ? -EFAULT : PTR_ERR(ev);
	if (!ev)
		return 0;
	cmd->event = ev;
	if (copy_to_user(u64_to_user_ptr(aw->event), &ev->rec, sizeof(ev->rec)))
		return -EFAULT;
	aw->state = RDMA_EP_AWAIT_EVENT;
	return 0;
}

/* Only where something has failed: what succeeds is to cost nothing. */
static int uep_refuse(struct uep_session *s, const struct uep_cmd_op *op,
		      const char *stage, int ret)
{
	trace_rdma_ep_refuse(s, op - uep_cmd_ops, op->name, stage, ret);
	return ret;
}

static int uep_cmd_execute(struct uep_session *s, const struct uep_cmd_op *op,
			   void *arg, void __user *uarg, u32 usize)
{
	struct uep_cmd cmd __uninitialized;
	struct uep_cmd_hdr *hdr = arg;
	struct rdma_ep_await *aw;
	int ret;

	ret = copy_struct_from_user(arg, op->size, uarg, usize);
	if (ret)
		return uep_refuse(s, op, "arguments", ret);
	if (hdr->size != usize || (hdr->flags & ~op->flags))
		return uep_refuse(s, op, "arguments", -EINVAL);
	aw = uep_cmd_await_arg(op, arg);
	if (IS_ERR(aw))
		return uep_refuse(s, op, "arguments", PTR_ERR(aw));

	cmd.s = s;
	cmd.arg = arg;
	cmd.uarg = uarg;
	cmd.nr_objs = 0;
	cmd.nr_files = 0;
	cmd.event = NULL;
	cmd.moved = NULL;
	cmd.owner = NULL;
	ret = aw && aw->state ? 0 : op->fn(&cmd);
	if (ret) {
		uep_refuse(s, op, "command", ret);
	} else if (aw) {
		ret = uep_cmd_await(&cmd, aw);
		if (ret)
			uep_refuse(s, op, "wait", ret);
	}
	if ((!ret || op->respond_always) && !op->responds &&
	    copy_to_user(uarg, arg, min_t(u32, usize, op->size)))
		ret = uep_refuse(s, op, "results", -EFAULT);
	if (ret)
		uep_cmd_abort(&cmd);
	else
		uep_cmd_publish(&cmd);
	return ret;
}

static long uep_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	u64 stack[UEP_CMD_STACK_SIZE / sizeof(u64)] __uninitialized;
	struct uep_session *s = file->private_data;
	void __user *uarg = (void __user *)arg;
	const struct uep_cmd_op *op;
	u32 index = _IOC_NR(nr);
	u32 usize = _IOC_SIZE(nr);
	void *buf = stack;
	int ret;

	if (_IOC_TYPE(nr) != RDMA_EP_IOC_TYPE ||
	    _IOC_DIR(nr) != (_IOC_READ | _IOC_WRITE) ||
	    index >= ARRAY_SIZE(uep_cmd_ops))
		return -ENOTTY;
	op = &uep_cmd_ops[array_index_nospec(index, ARRAY_SIZE(uep_cmd_ops))];
	if (!op->fn)
		return -ENOTTY;
	if (usize < op->min_size)
		return uep_refuse(s, op, "arguments", -EINVAL);

	if (op->size > sizeof(stack)) {
		buf = kmalloc(op->size, GFP_KERNEL_ACCOUNT);
		if (!buf)
			return uep_refuse(s, op, "arguments", -ENOMEM);
	}
	ret = uep_cmd_execute(s, op, buf, uarg, usize);
	if (buf != stack)
		kfree(buf);
	return ret;
}

static int uep_open(struct inode *inode, struct file *file)
{
	struct uep_session *s = uep_session_create();

	if (IS_ERR(s))
		return PTR_ERR(s);
	file->private_data = s;
	return stream_open(inode, file);
}

static int uep_release(struct inode *inode, struct file *file)
{
	uep_session_release(file->private_data);
	return 0;
}

static const struct file_operations uep_fops = {
	.owner = THIS_MODULE,
	.open = uep_open,
	.release = uep_release,
	.unlocked_ioctl = uep_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = uep_mmap,
	.show_fdinfo = uep_show_fdinfo,
};

static struct miscdevice uep_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_ep",
	.nodename = "infiniband/rdma_ep",
	.mode = 0666,
	.fops = &uep_fops,
};

static int __init uep_module_init(void)
{
	int ret;

	uep_quota_init();
	ret = ep_drivers_init();
	if (ret)
		return ret;
	ret = ep_id_init_engine();
	if (ret)
		goto err_drivers;
	ret = ulp_init();
	if (ret)
		goto err_engine;
	ret = uep_session_init();
	if (ret)
		goto err_ulp;
	ret = ep_dev_init(uep_ctx_event);
	if (ret)
		goto err_session;
	ret = misc_register(&uep_misc);
	if (ret)
		goto err_dev;
	return 0;

err_dev:
	ep_dev_cleanup();
err_session:
	uep_session_cleanup();
err_ulp:
	ulp_cleanup();
err_engine:
	ep_id_cleanup_engine();
err_drivers:
	ep_drivers_exit();
	return ret;
}

/*
 * No file is open any more, but sessions may still be torn down in the
 * background: wait for them first, then let go of the devices.
 */
static void __exit uep_module_exit(void)
{
	misc_deregister(&uep_misc);
	uep_session_cleanup();
	ep_dev_cleanup();
	ulp_cleanup();
	ep_id_cleanup_engine();
	ep_drivers_exit();
	uep_wq_cleanup();
}

module_init(uep_module_init);
module_exit(uep_module_exit);

MODULE_DESCRIPTION("RDMA endpoints owned by the kernel");
MODULE_AUTHOR("The rdma_ep developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(RDMA_EP_VERSION);
