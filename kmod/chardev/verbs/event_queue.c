// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels, and the queues of asynchronous events.
 *
 * As with uverbs each notification of a CQ is an event of its channel, but the unread events
 * of a CQ are a counter instead of a list.
 */
#include <linux/uaccess.h>

#include "verbs.h"

/*
 * Both functions write to @buf first, so that its memory is there: once the object is destroyed,
 * an event of which the copy fails cannot be given back.
 */
static int uep_comp_deliver(struct uep_queue *q, char __user *buf)
{
	struct rdma_ep_comp_event __user *urec = (void __user *)buf;
	struct uep_node_event ev;

	if (put_user(0, &urec->uid))
		return -EFAULT;
	if (!uep_node_dequeue(q, &ev))
		return -EAGAIN;
	/* The user polls next. */
	uep_cq_reap(container_of(ev.node->obj, struct uep_cq, obj));
	/* Not put_user(): abi_fail lets copies fail. */
	return uep_node_read(q, &ev, !copy_to_user(&urec->uid, &ev.uid, sizeof(urec->uid)));
}

static int uep_async_deliver(struct uep_queue *q, char __user *buf)
{
	struct rdma_ep_async_event rec = {};
	struct uep_node_event ev;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_node_dequeue(q, &ev))
		return -EAGAIN;
	rec.event = ev.type;
	rec.uid = ev.uid;
	return uep_node_read(q, &ev, !copy_to_user(buf, &rec, sizeof(rec)));
}

const struct uep_queue_ops uep_comp_ops = {
	.name = "[rdma_ep_comp]",
	.size = sizeof(struct rdma_ep_comp_event),
	.deliver = uep_comp_deliver,
};

const struct uep_queue_ops uep_async_ops = {
	.name = "[rdma_ep_async]",
	.size = sizeof(struct rdma_ep_async_event),
	.typed = true,
	.deliver = uep_async_deliver,
};

/* A channel with a file, and with a reference for the caller. */
struct uep_queue *uep_comp_create(struct uep_cmd *cmd, s32 *fd)
{
	return uep_queue_create(cmd, &uep_comp_ops, sizeof(struct uep_queue), fd);
}

int uep_create_comp_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_fd *arg = cmd->arg;
	struct uep_queue *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_comp_create(cmd, &arg->fd);
	if (IS_ERR(chan))
		return PTR_ERR(chan);
	uep_queue_put(chan);
	return 0;
}
