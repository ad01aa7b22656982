// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole endpoints in one command.
 */
#include <linux/fdtable.h>
#include <linux/string.h>

#include "../../engine/trace.h"
#include "cm.h"
#include "../verbs/verbs.h"

static int uep_ep_passive(struct uep_id *id, struct sockaddr *src)
{
	int ret;

	ret = ep_id_begin(&id->id);
	if (ret)
		return ret;
	ret = rdma_bind_addr(id->id.cm_id, src);
	trace_rdma_ep_bind_addr(&id->id, NULL, ret);
	ep_id_end(&id->id);
	return ret;
}

/*
 * Nothing that was made here is published before it is complete, so a failure
 * or a signal in the middle leaves nothing: the command is rolled back.
 */
int uep_create_ep(struct uep_cmd *cmd)
{
	struct rdma_ep_create_ep *arg = cmd->arg;
	bool passive = arg->flags & RDMA_EP_EP_PASSIVE;
	bool with_qp = arg->flags & RDMA_EP_EP_CREATE_QP;
	struct sockaddr *src = uep_sockaddr(&arg->src);
	struct sockaddr *dst = uep_sockaddr(&arg->dst);
	struct uep_id *id;
	int ret;

	if (passive ? with_qp || dst || !src : !dst)
		return -EINVAL;
	if (IS_ERR(src) || IS_ERR(dst))
		return -EAFNOSUPPORT;
	if (!with_qp && memchr_inv(&arg->qp, 0, sizeof(arg->qp)))
		return -EINVAL;
	id = uep_id_make(cmd, arg->flags, arg->uid, &arg->channel_fd, arg->ps, arg->qp_type);
	if (IS_ERR(id))
		return PTR_ERR(id);

	if (passive)
		ret = uep_ep_passive(id, src);
	else
		ret = ep_id_resolve(&id->id, src, dst, arg->addr_timeout_ms, arg->route_timeout_ms);
	if (ret)
		return ret;

	ret = ep_id_begin(&id->id);
	if (ret)
		return ret;
	if (with_qp)
		ret = uep_qp_make(cmd, &arg->qp, id);
	if (!ret)
		uep_id_info(id, &arg->info);
	ep_id_end(&id->id);
	arg->id = id->obj.handle;
	return ret;
}

static int uep_request_qp(struct uep_cmd *cmd, struct rdma_ep_qp_init *init, struct uep_id *child)
{
	int nr_steps = cmd->nr_steps;
	int ret;

	ret = ep_id_begin_bound(&child->id);
	if (ret)
		return ret;
	ret = uep_qp_make(cmd, init, child);
	ep_id_end(&child->id);
	if (ret)
		uep_cmd_rollback(cmd, nr_steps);
	return ret;
}

int uep_get_request(struct uep_cmd *cmd)
{
	struct rdma_ep_get_request *arg = cmd->arg;
	bool with_qp = arg->flags & RDMA_EP_EP_CREATE_QP;
	bool await = arg->flags & RDMA_EP_AWAIT;
	struct uep_channel *chan;
	struct uep_id *id, *child;
	struct uep_event *ev;
	u32 reported;
	int ret;

	if ((!await && arg->await_fd) || (!with_qp && memchr_inv(&arg->qp, 0, sizeof(arg->qp))))
		return -EINVAL;
	id = uep_obj_lookup(cmd->s, arg->id, RDMA_EP_OBJ_ID);
	if (!id)
		return -ENOENT;
	ev = uep_cmd_take_event(cmd, id);
	uep_obj_put(&id->obj);
	if (!ev && await)
		ev = uep_cmd_await_event(cmd, arg->await_fd);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	if (!ev)
		return -EAGAIN;
	arg->event = ev->rec;
	arg->channel_fd = -1;
	arg->qp_errno = 0;
	child = ev->child;
	if (!child)
		return 0;

	if (arg->flags & RDMA_EP_ID_PRIVATE_CHANNEL) {
		chan = uep_channel_for(cmd, arg->flags, &arg->channel_fd);
		if (IS_ERR(chan))
			return PTR_ERR(chan);
		uep_cmd_move(cmd, child, chan, &reported);
	}
	if (!with_qp)
		return 0;
	ret = uep_request_qp(cmd, &arg->qp, child);
	if (ret == -ERESTARTSYS)
		return ret;
	arg->qp_errno = -ret;
	if (ret) {
		/* What it mentions has been undone. */
		memset(&arg->qp, 0, sizeof(arg->qp));
		arg->qp.send_cq.channel_fd = -1;
		arg->qp.recv_cq.channel_fd = -1;
	}
	return 0;
}

/**
 * struct uep_part - an object that ends with its endpoint
 * @type: type
 * @handle: in the command's structure, like what follows
 * @events: events that are to be acknowledged
 * @comp_events: CQ: the same of completion events
 * @fd: id or CQ: the file to close
 * @obj: object (reference), NULL if there is none
 * @claimed: it is about to be destroyed
 */
struct uep_part {
	enum rdma_ep_obj_type type;
	u32 *handle;
	u32 *events;
	u32 *comp_events;
	s32 *fd;
	struct uep_obj *obj;
	bool claimed;
};

/* Is it a file of the channel that the id or the CQ reports to? */
static bool uep_part_fd_ok(const struct uep_part *part)
{
	struct uep_queue *q = uep_queue_find(part->obj->session, *part->fd, NULL);
	const void *chan;

	if (!q)
		return false;
	if (part->type == RDMA_EP_OBJ_ID)
		chan = READ_ONCE(container_of(part->obj, struct uep_id, obj)->chan);
	else
		chan = container_of(part->obj, struct uep_cq, obj)->chan;
	uep_queue_put(q);
	return q == chan;
}

static int uep_part_find(struct uep_session *s, struct uep_part *part)
{
	/* An id there must be. */
	if (!*part->handle && part->type != RDMA_EP_OBJ_ID)
		return part->fd && *part->fd != -1 ? -EBADF : 0;
	part->obj = uep_obj_lookup(s, *part->handle, part->type);
	if (!part->obj)
		return -ENOENT;
	return part->fd && *part->fd != -1 && !uep_part_fd_ok(part) ? -EBADF : 0;
}

/* Destroys the object, which has been claimed, and closes its file. */
static void uep_part_end(struct uep_part *part)
{
	struct rdma_ep_destroy out = {};
	bool acked;

	uep_obj_end(part->obj, &out);
	acked = *part->events == out.events_reported && (!part->comp_events ||
		 *part->comp_events == out.comp_events_reported);
	*part->handle = 0;
	*part->events = out.events_reported;
	if (part->comp_events)
		*part->comp_events = out.comp_events_reported;
	/* Whoever has yet to acknowledge may read from it again before that. */
	if (part->fd && *part->fd != -1 && acked && uep_part_fd_ok(part)) {
		close_fd(*part->fd);
		*part->fd = -1;
	}
}

/* Of the two that calls are waited for. -EINTR: neither is destroyed. */
static int uep_parts_claim(struct uep_part *id, struct uep_part *qp)
{
	int ret;

	if (!uep_obj_claim(id->obj))
		return -ENOENT;
	qp->claimed = qp->obj && uep_obj_claim(qp->obj);
	if (qp->claimed) {
		ret = uep_obj_settle(qp->obj);
		if (ret) {
			uep_obj_unclaim(id->obj);
			return ret;
		}
	}
	ret = uep_obj_settle(id->obj);
	if (ret && qp->claimed)
		uep_obj_unclaim(qp->obj);
	id->claimed = true;
	return ret;
}

/*
 * The id is claimed first, and so decides who of several destroys the endpoint: from
 * there on nothing fails, unless the task is killed. It ends last, as its connection belongs
 * to the QP.
 */
int uep_destroy_ep(struct uep_cmd *cmd)
{
	struct rdma_ep_destroy_ep *arg = cmd->arg;
	struct uep_part parts[] = {
		{ RDMA_EP_OBJ_QP, &arg->qp, &arg->qp_events },
		{ RDMA_EP_OBJ_SRQ, &arg->srq, &arg->srq_events },
		{ RDMA_EP_OBJ_CQ, &arg->send_cq.cq, &arg->send_cq.events,
		  &arg->send_cq.comp_events, &arg->send_cq.channel_fd },
		{ RDMA_EP_OBJ_CQ, &arg->recv_cq.cq, &arg->recv_cq.events,
		  &arg->recv_cq.comp_events, &arg->recv_cq.channel_fd },
		{ RDMA_EP_OBJ_ID, &arg->id, &arg->events, NULL,
		  &arg->channel_fd },
	};
	struct uep_part *id = &parts[ARRAY_SIZE(parts) - 1];
	struct uep_part *qp = &parts[0];
	int i, ret = 0;

	if (arg->reserved)
		return -EINVAL;
	for (i = 0; !ret && i < ARRAY_SIZE(parts); i++)
		ret = uep_part_find(cmd->s, &parts[i]);
	if (!ret)
		ret = uep_parts_claim(id, qp);
	for (i = 0; !ret && i < ARRAY_SIZE(parts); i++)
		if (parts[i].claimed ||
		    (&parts[i] != qp && parts[i].obj &&
		     uep_obj_claim(parts[i].obj)))
			uep_part_end(&parts[i]);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].obj)
			uep_obj_put(parts[i].obj);
	return ret;
}
