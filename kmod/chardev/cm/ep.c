// SPDX-License-Identifier: GPL-2.0-only
/* Endpoints: CREATE_EP, GET_REQUEST and DESTROY_EP. */
#include <linux/fdtable.h>
#include <linux/string.h>

#include "../../engine/trace.h"
#include "cm.h"
#include "../verbs/verbs.h"

static int uep_ep_bind(struct uep_id *id, struct sockaddr *src)
{
	int ret = ep_id_begin(&id->id);

	if (ret)
		return ret;
	ret = rdma_bind_addr(id->id.cm_id, src);
	trace_rdma_ep_bind_addr(&id->id, NULL, ret);
	ep_id_end(&id->id);
	return ret;
}

/* All objects are published with the command, so a failure or a signal leaves none. */
int uep_create_ep(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_ep *arg = cmd->arg;
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
	id = uep_id_create(cmd, arg->flags, arg->uid, &arg->channel_fd, arg->ps, arg->qp_type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	arg->id = id->obj.handle;
	ret = passive ? uep_check_bind(cmd->s, src) : uep_check_resolve(cmd->s, src, dst);
	if (ret)
		return ret;
	ret = passive ? uep_ep_bind(id, src) :
	      ep_id_resolve(&id->id, src, dst, arg->addr_timeout_ms, arg->route_timeout_ms);
	if (!ret)
		ret = ep_id_begin(&id->id);
	if (ret)
		return ret;
	if (passive)
		ret = uep_id_check_access(id);
	if (!ret && with_qp)
		ret = uep_qp_create(cmd, &arg->qp, id);
	if (!ret)
		uep_id_info(id, &arg->info);
	ep_id_end(&id->id);
	return ret;
}

static int uep_request_qp(struct uep_cmd *cmd, struct rdma_ep_qp_init *init, struct uep_id *child)
{
	int nr_steps = cmd->nr_steps;
	int ret;

	ret = ep_id_begin_bound(&child->id);
	if (ret)
		return ret;
	ret = uep_qp_create(cmd, init, child);
	ep_id_end(&child->id);
	if (ret)
		uep_cmd_rollback(cmd, nr_steps);
	return ret;
}

int uep_get_request(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_get_request *arg = cmd->arg;
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
	ev = uep_cmd_dequeue_event(cmd, id);
	uep_obj_put(&id->obj);
	if (!ev && await)
		ev = uep_cmd_await_event(cmd, arg->await_fd);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	if (!ev)
		return -EAGAIN;
	uep_event_copy(&arg->event, ev);
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
	if (ret == -EINTR)
		return ret;
	arg->qp_errno = -ret;
	if (ret) {
		/* The objects that it names have been undone. */
		memset(&arg->qp, 0, sizeof(arg->qp));
		arg->qp.send_cq.channel_fd = -1;
		arg->qp.recv_cq.channel_fd = -1;
	}
	return 0;
}

/* An object that is destroyed with its endpoint */
struct uep_member {
	enum rdma_ep_obj_type type;
	u32 *handle;			/* in the command's structure, as the following pointers */
	u32 *events;			/* events to be acknowledged */
	u32 *comp_events;		/* CQ: completion events to be acknowledged */
	s32 *fd;			/* id or CQ: file to be closed */
	struct uep_obj *obj;		/* reference; NULL: none */
	bool claimed;			/* to be destroyed */
};

/* Is it a file of the channel that the id or the CQ reports to? */
static bool uep_member_fd_ok(const struct uep_member *m)
{
	struct uep_queue *q = uep_queue_find(m->obj->session, *m->fd, NULL);
	const void *chan;

	if (!q)
		return false;
	if (m->type == RDMA_EP_OBJ_ID)
		chan = READ_ONCE(container_of(m->obj, struct uep_id, obj)->chan);
	else
		chan = container_of(m->obj, struct uep_cq, obj)->chan;
	uep_queue_put(q);
	return q == chan;
}

static int uep_member_lookup(struct uep_session *s, struct uep_member *m)
{
	bool has_fd = m->fd && *m->fd != -1;

	/* The id is mandatory. */
	if (!*m->handle && m->type != RDMA_EP_OBJ_ID)
		return has_fd ? -EBADF : 0;
	m->obj = uep_obj_lookup(s, *m->handle, m->type);
	if (!m->obj)
		return -ENOENT;
	return has_fd && !uep_member_fd_ok(m) ? -EBADF : 0;
}

/* Destroys a claimed object, and closes its file. */
static void uep_member_destroy(struct uep_member *m)
{
	struct rdma_ep_cmd_destroy out = {};
	bool acked;

	uep_obj_end(m->obj, &out);
	acked = *m->events == out.events_reported &&
		(!m->comp_events || *m->comp_events == out.comp_events_reported);
	*m->handle = 0;
	*m->events = out.events_reported;
	if (m->comp_events)
		*m->comp_events = out.comp_events_reported;
	/* Before the last event is acknowledged, its reader may read the file again. */
	if (m->fd && *m->fd != -1 && acked && uep_member_fd_ok(m)) {
		close_fd(*m->fd);
		*m->fd = -1;
	}
}

/* Claims id and QP, and waits for calls with them. -EINTR: neither is destroyed */
static int uep_members_claim(struct uep_member *id, struct uep_member *qp)
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
 * The first task that claims the id destroys the endpoint. From there on nothing
 * fails, unless the task is killed. The id is destroyed last, as its connection uses the QP.
 */
int uep_destroy_ep(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_destroy_ep *arg = cmd->arg;
	struct uep_member members[] = {
		{ RDMA_EP_OBJ_QP, &arg->qp, &arg->qp_events },
		{ RDMA_EP_OBJ_SRQ, &arg->srq, &arg->srq_events },
		{ RDMA_EP_OBJ_CQ, &arg->send_cq.cq, &arg->send_cq.events,
		  &arg->send_cq.comp_events, &arg->send_cq.channel_fd },
		{ RDMA_EP_OBJ_CQ, &arg->recv_cq.cq, &arg->recv_cq.events,
		  &arg->recv_cq.comp_events, &arg->recv_cq.channel_fd },
		{ RDMA_EP_OBJ_ID, &arg->id, &arg->events, NULL, &arg->channel_fd },
	};
	struct uep_member *end = members + ARRAY_SIZE(members);
	struct uep_member *qp = members, *id = end - 1, *m;
	int ret = 0;

	if (arg->reserved)
		return -EINVAL;
	for (m = members; !ret && m < end; m++)
		ret = uep_member_lookup(cmd->s, m);
	if (!ret)
		ret = uep_members_claim(id, qp);
	for (m = members; !ret && m < end; m++)
		if (m->claimed || (m != qp && m->obj && uep_obj_claim(m->obj)))
			uep_member_destroy(m);
	for (m = members; m < end; m++)
		if (m->obj)
			uep_obj_put(m->obj);
	return ret;
}
