// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels: queues of the completion events of CQs.
 *
 * Each time a notification fires is one event, as with uverbs, but events of one CQ are a
 * counter instead of a list.
 */
#include <linux/uaccess.h>

#include "verbs.h"

/* Most faults are found out before an event is taken: its CQ may be destroyed meanwhile. */
static int uep_comp_deliver(struct uep_queue *q, char __user *buf)
{
	struct rdma_ep_comp_event rec = {};
	struct uep_node_event ev;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_node_dequeue(q, &ev))
		return -EAGAIN;
	/* What the user is going to ask for next. */
	uep_cq_harvest(container_of(ev.node->obj, struct uep_cq, obj));
	rec.uid = ev.node->uid;
	return uep_node_read(q, &ev, !copy_to_user(buf, &rec, sizeof(rec)));
}

static const struct uep_queue_ops uep_comp_ops = {
	.name = "[rdma_ep_comp]",
	.size = sizeof(struct rdma_ep_comp_event),
	.deliver = uep_comp_deliver,
};

/* Makes a channel with a file. Returns it with a reference of the caller's own. */
struct uep_queue *uep_comp_create(struct uep_cmd *cmd, s32 *fd)
{
	return uep_queue_create(cmd, &uep_comp_ops, sizeof(struct uep_queue), fd);
}

/* The channel behind the caller's file, with a reference, or NULL. */
struct uep_queue *uep_comp_find(struct uep_session *s, int fd)
{
	return uep_queue_find(s, fd, &uep_comp_ops);
}

int uep_create_comp_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_create_fd *arg = cmd->arg;
	struct uep_queue *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_comp_create(cmd, &arg->fd);
	if (IS_ERR(chan))
		return PTR_ERR(chan);
	uep_queue_put(chan);
	return 0;
}
