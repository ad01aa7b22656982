// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels: the files that completion events are read from.
 */
#include <linux/uaccess.h>

#include "verbs.h"

/* Most faults are found out before an event is taken: its CQ may be destroyed meanwhile. */
static int uep_comp_deliver(struct uep_queue *q, char __user *buf)
{
	struct uep_comp_channel *chan = container_of(q, struct uep_comp_channel, q);
	struct rdma_ep_comp_event rec = {};
	struct uep_cq *cq;
	int ret = 0;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	cq = uep_comp_take(chan, &rec.uid);
	if (!cq)
		return -EAGAIN;
	/* What the user is going to ask for next. */
	uep_cq_harvest(cq);
	if (copy_to_user(buf, &rec, sizeof(rec))) {
		uep_comp_untake(chan, cq);
		ret = -EFAULT;
	}
	uep_obj_put(&cq->obj);
	return ret;
}

static const struct uep_queue_ops uep_comp_ops = {
	.name = "[rdma_ep_comp]",
	.size = sizeof(struct rdma_ep_comp_event),
	.deliver = uep_comp_deliver,
};

/* Makes a channel with a file. Returns it with a reference of the caller's own. */
struct uep_comp_channel *uep_comp_create(struct uep_cmd *cmd, s32 *fd)
{
	struct uep_comp_channel *chan;

	chan = uep_queue_create(cmd, &uep_comp_ops, sizeof(*chan), fd);
	if (!IS_ERR(chan))
		spin_lock_init(&chan->lock);
	return chan;
}

/* The channel behind the caller's file, with a reference, or NULL. */
struct uep_comp_channel *uep_comp_find(struct uep_session *s, int fd)
{
	return uep_queue_find(s, fd, &uep_comp_ops);
}

int uep_create_comp_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_create_fd *arg = cmd->arg;
	struct uep_comp_channel *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_comp_create(cmd, &arg->fd);
	if (IS_ERR(chan))
		return PTR_ERR(chan);
	uep_queue_put(&chan->q);
	return 0;
}
