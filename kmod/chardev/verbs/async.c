// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of contexts.
 */
#include <linux/uaccess.h>

#include "verbs.h"

/* Most faults are found out before an event is taken: its object may be destroyed meanwhile. */
static int uep_async_deliver(struct uep_queue *q, char __user *buf)
{
	struct rdma_ep_async_event rec = {};
	struct uep_node_event ev;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	if (!uep_node_dequeue(q, &ev))
		return -EAGAIN;
	rec.event = ev.type;
	rec.uid = ev.node->uid;
	return uep_node_read(q, &ev, !copy_to_user(buf, &rec, sizeof(rec)));
}

static const struct uep_queue_ops uep_async_ops = {
	.name = "[rdma_ep_async]",
	.size = sizeof(struct rdma_ep_async_event),
	.typed = true,
	.deliver = uep_async_deliver,
};

/* Of no session: a file may outlive that. */
struct uep_queue *uep_async_create(void)
{
	return uep_queue_alloc(NULL, &uep_async_ops, sizeof(struct uep_queue));
}
