// SPDX-License-Identifier: GPL-2.0-only
/* The table of commands, and their execution. */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "../compat.h"
#include "chardev.h"
#include "cm/cm.h"
#include "trace.h"
#include "verbs/verbs.h"

/* The first members of every command's structure */
struct uep_cmd_hdr {
	u32 size;
	u32 flags;
};

/* A command */
struct uep_cmd_op {
	uep_cmd_fn *fn;
	const char *name;		/* for traces */
	u16 size;			/* size of its structure */
	u16 min_size;			/* size in the first version of the ABI */
	u32 flags;			/* valid flags */
	u16 await;			/* offset of its struct rdma_ep_await, or 0 */
	/* The results are not copied after @fn: it copies them itself, or there is no result. */
	bool responds;
	bool unowned;			/* works on a session without an owner */
};

/* Of a structure: it is on the stack */
#define UEP_CMD_MAX_SIZE	896

#define UEP_CMD(_cmd, _fn, _struct, _last, _flags, ...)			\
	[RDMA_EP_CMD_##_cmd] = {					\
		.fn = _fn,						\
		.name = #_cmd,						\
		.size = sizeof(struct _struct) +			\
			BUILD_BUG_ON_ZERO(sizeof(struct _struct) > UEP_CMD_MAX_SIZE), \
		.min_size = offsetofend(struct _struct, _last),		\
		.flags = _flags,					\
		__VA_ARGS__						\
	}

#define UEP_AWAIT(_struct)	.await = offsetof(struct _struct, await)

static const struct uep_cmd_op uep_cmd_ops[] = {
	UEP_CMD(QUERY, uep_query, rdma_ep_cmd_query, max_backlog, 0,
		.unowned = true),
	UEP_CMD(QUERY_DEVICES, uep_query_devices, rdma_ep_cmd_query_devices, num, 0),
	UEP_CMD(OPEN_DEVICE, uep_open_device, rdma_ep_cmd_open_device, pd, RDMA_EP_OPEN_DEFAULT),
	UEP_CMD(QUERY_DEVICE, uep_query_device, rdma_ep_cmd_query_device, timestamp_mask, 0),
	UEP_CMD(QUERY_PORT, uep_query_port, rdma_ep_cmd_query_port, netdev_index, 0),
	UEP_CMD(QUERY_GID, uep_query_gid, rdma_ep_cmd_query_gid, gid, 0),
	UEP_CMD(QUERY_PKEY, uep_query_pkey, rdma_ep_cmd_query_pkey, pkey, 0),
	UEP_CMD(DESTROY, uep_destroy, rdma_ep_cmd_destroy, comp_events_reported,
		RDMA_EP_DESTROY_DETACH | RDMA_EP_DESTROY_CONTENTS),
	UEP_CMD(QUERY_GID_TABLE, uep_query_gid_table, rdma_ep_cmd_query_gid_table, reserved, 0),

	UEP_CMD(CREATE_CHANNEL, uep_create_channel, rdma_ep_cmd_create_fd, reserved, 0),
	UEP_CMD(CREATE_ID, uep_create_id, rdma_ep_cmd_create_id, id, RDMA_EP_ID_PRIVATE_CHANNEL),
	UEP_CMD(CREATE_EP, uep_create_ep, rdma_ep_cmd_create_ep, info,
		RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE | RDMA_EP_EP_CREATE_QP),
	UEP_CMD(BIND_ADDR, uep_bind_addr, rdma_ep_cmd_bind_addr, info, 0),
	UEP_CMD(RESOLVE_ADDR, uep_resolve_addr, rdma_ep_cmd_resolve_addr, await,
		RDMA_EP_AWAIT, UEP_AWAIT(rdma_ep_cmd_resolve_addr)),
	UEP_CMD(RESOLVE_ROUTE, uep_resolve_route, rdma_ep_cmd_id, await,
		RDMA_EP_AWAIT, UEP_AWAIT(rdma_ep_cmd_id)),
	UEP_CMD(LISTEN, uep_listen, rdma_ep_cmd_id, await, 0, UEP_AWAIT(rdma_ep_cmd_id)),
	UEP_CMD(CONNECT, uep_connect, rdma_ep_cmd_connect, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_cmd_connect)),
	UEP_CMD(ACCEPT, uep_accept, rdma_ep_cmd_connect, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_cmd_connect)),
	UEP_CMD(REJECT, uep_reject, rdma_ep_cmd_reject, private_data, 0),
	UEP_CMD(DISCONNECT, uep_disconnect, rdma_ep_cmd_id, await, RDMA_EP_AWAIT,
		UEP_AWAIT(rdma_ep_cmd_id)),
	UEP_CMD(ESTABLISH, uep_establish, rdma_ep_cmd_id, await, 0, UEP_AWAIT(rdma_ep_cmd_id)),
	UEP_CMD(QUERY_ID, uep_query_id, rdma_ep_cmd_query_id, info, 0),
	UEP_CMD(SET_OPTION, uep_set_option, rdma_ep_cmd_set_option, optval, 0),
	UEP_CMD(MIGRATE_ID, uep_migrate_id, rdma_ep_cmd_migrate_id, reserved,
		RDMA_EP_ID_PRIVATE_CHANNEL),
	UEP_CMD(INIT_QP_ATTR, uep_init_qp_attr, rdma_ep_cmd_init_qp_attr, attr, 0),
	UEP_CMD(GET_REQUEST, uep_get_request, rdma_ep_cmd_get_request, event,
		RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP | RDMA_EP_AWAIT),
	UEP_CMD(JOIN_MULTICAST, uep_join_multicast, rdma_ep_cmd_join_multicast,
		addr, RDMA_EP_JOIN_SEND_ONLY),
	UEP_CMD(NOTIFY, uep_notify, rdma_ep_cmd_id, await, 0, UEP_AWAIT(rdma_ep_cmd_id)),
	UEP_CMD(WRITE_EVENT, uep_write_event, rdma_ep_cmd_write_event, arg, 0),
	UEP_CMD(DESTROY_EP, uep_destroy_ep, rdma_ep_cmd_destroy_ep, send_cq, 0),

	UEP_CMD(ALLOC_PD, uep_alloc_pd, rdma_ep_cmd_alloc_pd, pd, 0),
	UEP_CMD(REG_MR, uep_reg_mr, rdma_ep_cmd_reg_mr, reserved, 0),
	UEP_CMD(CREATE_AH, uep_create_ah, rdma_ep_cmd_create_ah, attr, 0),
	UEP_CMD(OPEN_XRCD, uep_open_xrcd, rdma_ep_cmd_open_xrcd, reserved,
		RDMA_EP_XRCD_CREATE | RDMA_EP_XRCD_EXCLUSIVE),
	UEP_CMD(REREG_MR, uep_rereg_mr, rdma_ep_cmd_rereg_mr, rkey,
		RDMA_EP_REREG_TRANSLATION | RDMA_EP_REREG_ACCESS),

	UEP_CMD(CREATE_COMP_CHANNEL, uep_create_comp_channel, rdma_ep_cmd_create_fd, reserved, 0),
	UEP_CMD(CREATE_CQ, uep_create_cq, rdma_ep_cmd_create_cq, ring, RDMA_EP_CQ_RING),
	UEP_CMD(RESIZE_CQ, uep_resize_cq, rdma_ep_cmd_resize_cq, reserved, 0),
	UEP_CMD(POLL_CQ, uep_poll_cq, rdma_ep_cmd_poll_cq, reserved, 0,
		.responds = true),
	UEP_CMD(NOTIFY_CQ, uep_notify_cq, rdma_ep_cmd_notify_cq, reserved,
		RDMA_EP_NOTIFY_SOLICITED),
	UEP_CMD(MODIFY_CQ, uep_modify_cq, rdma_ep_cmd_modify_cq, reserved, 0),

	UEP_CMD(CREATE_SRQ, uep_create_srq, rdma_ep_cmd_create_srq, reserved, RDMA_EP_RECV_RING),
	UEP_CMD(MODIFY_SRQ, uep_modify_srq, rdma_ep_cmd_srq_attr, srq_limit,
		RDMA_EP_SRQ_MAX_WR | RDMA_EP_SRQ_LIMIT),
	UEP_CMD(QUERY_SRQ, uep_query_srq, rdma_ep_cmd_srq_attr, srq_limit, 0),

	UEP_CMD(CREATE_QP, uep_create_qp, rdma_ep_cmd_create_qp, init, 0),
	UEP_CMD(MODIFY_QP, uep_modify_qp, rdma_ep_cmd_modify_qp, attr, 0),
	UEP_CMD(QUERY_QP, uep_query_qp, rdma_ep_cmd_query_qp, sq_sig_all, 0),
	UEP_CMD(POST_SEND, uep_post_send, rdma_ep_cmd_post, posted,
		RDMA_EP_POST_ALL, .responds = true),
	UEP_CMD(POST_RECV, uep_post_recv, rdma_ep_cmd_post, posted, 0,
		.responds = true),
	UEP_CMD(POST_SRQ_RECV, uep_post_srq_recv, rdma_ep_cmd_post, posted, 0,
		.responds = true),
	UEP_CMD(ATTACH_MCAST, uep_attach_mcast, rdma_ep_cmd_qp_mcast, gid, 0),
	UEP_CMD(DETACH_MCAST, uep_detach_mcast, rdma_ep_cmd_qp_mcast, gid, 0),
	UEP_CMD(OPEN_QP, uep_open_qp, rdma_ep_cmd_open_qp, state, 0),

	UEP_CMD(LIST_OBJS, uep_list_objs, rdma_ep_cmd_list_objs, reserved, 0),
	UEP_CMD(SET_OBJ, uep_set_obj, rdma_ep_cmd_set_obj, note,
		RDMA_EP_SET_UID | RDMA_EP_SET_COOKIE | RDMA_EP_SET_NOTE),
	UEP_CMD(OPEN_QUEUE, uep_open_queue, rdma_ep_cmd_open_queue, reserved, 0),
	UEP_CMD(EXPORT, uep_export, rdma_ep_cmd_export, reserved,
		RDMA_EP_KEEP | RDMA_EP_EXPORT_FD, .unowned = true),
	UEP_CMD(SPLIT_ID, uep_split_id, rdma_ep_cmd_split_id, busy_type, 0),
	UEP_CMD(RESTRICT, uep_restrict, rdma_ep_cmd_restrict, max_pinned_bytes,
		RDMA_EP_RESTRICT_IDS | RDMA_EP_RESTRICT_DEVICES | RDMA_EP_RESTRICT_BIND |
		RDMA_EP_RESTRICT_CONNECT | RDMA_EP_RESTRICT_OBJECTS |
		RDMA_EP_RESTRICT_QUEUES | RDMA_EP_RESTRICT_PINNED,
		.unowned = true, .responds = true),
	UEP_CMD(ADOPT, uep_adopt, rdma_ep_cmd_adopt, reserved, RDMA_EP_KEEP, .unowned = true),
};

/* Structures of the data path */
#define UEP_CMD_SHORT_SIZE	sizeof(struct rdma_ep_cmd_post)

static_assert(sizeof(struct rdma_ep_cmd_poll_cq) == UEP_CMD_SHORT_SIZE);

/* Returns the event to wait for, or NULL. Before the handler, as a failure is final after it. */
static struct rdma_ep_await *uep_cmd_await_arg(const struct uep_cmd_op *op, void *arg)
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
	struct rdma_ep_await __user *uaw = cmd->uarg + ((void *)aw - cmd->arg);
	struct uep_event *ev = uep_cmd_await_event(cmd, aw->channel_fd);

	aw->state = RDMA_EP_AWAIT_DONE;
	/* A restarted system call waits only, and does not execute the command again. */
	if (IS_ERR(ev))
		return put_user(aw->state, &uaw->state) ? -EFAULT : PTR_ERR(ev);
	if (!ev)
		return 0;
	aw->state = RDMA_EP_AWAIT_EVENT;
	return uep_event_to_user(u64_to_user_ptr(aw->event), ev);
}

/* quota.c counts refusals by its limits, handlers set uep_cmd.counted. */
static void uep_count_refused_cmd(struct uep_session *s, const struct uep_cmd_op *op, int ret)
{
	switch (ret) {
	case -EDQUOT:
	case -EINTR:
	case -ERESTARTSYS:
		break;
	case -EAGAIN:
		/* GET_REQUEST: there is no request. */
		if (op != &uep_cmd_ops[RDMA_EP_CMD_GET_REQUEST])
			uep_count_refusal(s, UEP_REFUSED_RDMA_MAX);
		break;
	case -EACCES:
	case -EPERM:
		uep_count_refusal(s, UEP_REFUSED_ACCESS);
		break;
	default:
		uep_count_refusal(s, UEP_REFUSED_OTHER);
	}
}

/* Traces and counts a failed command; a successful one costs nothing. */
static int uep_refuse(struct uep_session *s, const struct uep_cmd_op *op,
		      const char *stage, int ret)
{
	uep_count_refused_cmd(s, op, ret);
	trace_rdma_ep_refuse(s, op - uep_cmd_ops, op->name, stage, ret);
	return ret;
}

/* Not inlined: with the caller's frame it would exceed what 32-bit kernels warn of. */
static noinline int uep_cmd_execute(struct file *file, struct uep_session *s,
				    const struct uep_cmd_op *op, void *arg,
				    void __user *uarg, u32 usize)
{
	struct uep_cmd cmd __uninitialized;
	struct uep_cmd_hdr *hdr = arg;
	struct rdma_ep_await *aw;
	int ret;

	/* usercopy checks the memory at each copy whose size is not constant. */
	if (usize == UEP_CMD_SHORT_SIZE && op->size == UEP_CMD_SHORT_SIZE)
		ret = copy_from_user(arg, uarg, UEP_CMD_SHORT_SIZE) ? -EFAULT : 0;
	else
		ret = copy_struct_from_user(arg, op->size, uarg, usize);
	if (ret)
		return uep_refuse(s, op, "arguments", ret);
	if (hdr->size != usize || (hdr->flags & ~op->flags))
		return uep_refuse(s, op, "arguments", -EINVAL);
	aw = uep_cmd_await_arg(op, arg);
	if (IS_ERR(aw))
		return uep_refuse(s, op, "arguments", PTR_ERR(aw));

	cmd.s = s;
	cmd.file = file;
	cmd.arg = arg;
	cmd.uarg = uarg;
	cmd.nr_steps = 0;
	cmd.counted = false;
	ret = aw && aw->state ? 0 : op->fn(&cmd);
	if (ret && cmd.counted) {
		trace_rdma_ep_refuse(s, op - uep_cmd_ops, op->name, "command", ret);
	} else if (ret) {
		uep_refuse(s, op, "command", ret);
	} else if (aw) {
		ret = uep_cmd_await(&cmd, aw);
		if (ret)
			uep_refuse(s, op, "wait", ret);
	}
	if (!ret && !op->responds &&
	    copy_to_user(uarg, arg, min_t(u32, usize, op->size)))
		ret = uep_refuse(s, op, "results", -EFAULT);
	if (ret)
		uep_cmd_rollback(&cmd, 0);
	else if (cmd.nr_steps)
		uep_cmd_commit(&cmd);
	return ret;
}

static int uep_cmd_call(struct file *file, struct uep_session *s, const struct uep_cmd_op *op,
			void __user *uarg, u32 usize)
{
	u64 arg[UEP_CMD_MAX_SIZE / sizeof(u64)] __uninitialized;

	if (usize < op->min_size)
		return uep_refuse(s, op, "arguments", -EINVAL);
	return uep_cmd_execute(file, s, op, arg, uarg, usize);
}

long uep_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	struct uep_owner *owner = file->private_data;
	void __user *uarg = (void __user *)arg;
	const struct uep_cmd_op *op;
	u32 index = _IOC_NR(nr);
	struct uep_session *s;
	int ret;

	if (_IOC_TYPE(nr) != RDMA_EP_IOC_TYPE || _IOC_DIR(nr) != (_IOC_READ | _IOC_WRITE) ||
	    index >= ARRAY_SIZE(uep_cmd_ops))
		return -ENOTTY;
	op = &uep_cmd_ops[array_index_nospec(index, ARRAY_SIZE(uep_cmd_ops))];
	if (!op->fn)
		return -ENOTTY;
	if (likely(!op->unowned)) {
		if (!uep_owner_enter(owner))
			return -EBADF;
		ret = uep_cmd_call(file, owner->session, op, uarg, _IOC_SIZE(nr));
		uep_owner_exit(owner);
		return ret;
	}
	s = uep_owner_session(owner);
	if (!s)
		return -EBADF;
	ret = uep_cmd_call(file, s, op, uarg, _IOC_SIZE(nr));
	uep_session_put(s);
	return ret;
}
