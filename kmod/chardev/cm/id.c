// SPDX-License-Identifier: GPL-2.0-only
/* Communication ids: their life, events and addresses. */
#include <linux/cred.h>
#include <linux/slab.h>
#include <rdma/rdma_user_cm.h>

#include "../../engine/trace.h"
#include "cm.h"
#include "../verbs/verbs.h"

/* Charged: the CM's memory of an id, its route and connection, and the reserved events */
#define UEP_ID_BYTES	(4096U + UEP_ID_RESERVED_EVENTS * 1024U)
static_assert(sizeof(struct uep_event) <= 1024);

static void uep_id_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_id *id = container_of(obj, struct uep_id, obj);

	uep_events_purge(id, NULL);
	ep_id_destroy(&id->id);
	spin_lock(&obj->session->ev_lock);
	list_del_init(&id->chan_entry);
	out->events_reported = id->events_reported;
	spin_unlock(&obj->session->ev_lock);
}

/*
 * A command that created a QP or SRQ for the id has been undone: drops the id's references
 * to them, which would keep objects that the id depends on in use. If the task is killed,
 * they stay until the id gets another one or is destroyed.
 */
static void uep_id_forget(struct uep_id *id)
{
	struct uep_srq *srq = NULL;

	if (ep_id_begin(&id->id))
		return;
	ep_id_forget_qp(&id->id);
	if (id->srq && uep_obj_claimed(&id->srq->obj))
		swap(srq, id->srq);
	ep_id_end(&id->id);
	if (srq)
		uep_obj_put(&srq->obj);
}

static void uep_cmd_end_own(struct uep_cmd_step *step, bool commit)
{
	struct uep_id *id = step->obj;

	if (!commit)
		uep_id_forget(id);
	uep_obj_put(&id->obj);
}

/* The next step of the command is a QP or SRQ of the id. */
void uep_cmd_own(struct uep_cmd *cmd, struct uep_id *id)
{
	uep_obj_get(&id->obj);
	uep_cmd_add_step(cmd, uep_cmd_end_own, id, NULL);
}

static void uep_id_drop_rights(struct uep_id *id)
{
	if (!id->group)
		return;
	uep_group_put(id->group);
	put_cred(id->cred);
	id->group = NULL;
}

/*
 * Keeps the rights of the task that listens, for requests of devices that come later. An id that is
 * bound to a device has none of these. Inside uep_id_begin(). -ENOMEM
 */
int uep_id_keep_rights(struct uep_id *id)
{
	/* If it listens already, the handler uses them, and LISTEN fails. */
	if (id->id.cm_id->device || id->id.listening)
		return 0;
	uep_id_drop_rights(id);
	id->group = uep_group_get();
	if (!id->group)
		return -ENOMEM;
	id->cred = get_current_cred();
	return 0;
}

static void uep_id_free(struct uep_obj *obj)
{
	struct uep_id *id = container_of(obj, struct uep_id, obj);

	if (id->chan)
		uep_queue_put(&id->chan->q);
	if (id->srq)
		uep_obj_put(&id->srq->obj);
	uep_id_drop_rights(id);
}

static int uep_id_settle(struct uep_obj *obj)
{
	return ep_id_wait(&container_of(obj, struct uep_id, obj)->id, true);
}

static const struct uep_obj_type uep_id_type = {
	.type = RDMA_EP_OBJ_ID,
	.settle = uep_id_settle,
	.unclaim = uep_id_unclaim,
	.destroy = uep_id_destroy,
	.publish = uep_id_publish,
	.free = uep_id_free,
};

static void uep_id_get_qp(struct ep_qp *qp)
{
	uep_obj_get(&container_of(qp, struct uep_qp, qp)->obj);
}

static void uep_id_put_qp(struct ep_qp *qp)
{
	uep_obj_put(&container_of(qp, struct uep_qp, qp)->obj);
}

static void uep_id_get_mcast(struct ep_mcast *mc)
{
	uep_obj_get(&container_of(mc, struct uep_mcast, mc)->obj);
}

static void uep_id_put_mcast(struct ep_mcast *mc)
{
	uep_obj_put(&container_of(mc, struct uep_mcast, mc)->obj);
}

static const struct ep_id_ops uep_id_ops;

struct uep_id *uep_id_alloc(struct uep_session *s)
{
	struct uep_id *id;

	id = uep_obj_alloc(s, &uep_id_type, sizeof(*id), UEP_ID_BYTES);
	if (IS_ERR(id))
		return id;
	ep_id_init(&id->id, &uep_id_ops);
	INIT_LIST_HEAD(&id->events);
	INIT_LIST_HEAD(&id->chan_entry);
	id->id.owner = s->number;
	id->last = -1;
	return id;
}

static struct uep_id *uep_id_begin_with(struct uep_session *s, u32 handle,
					int (*begin)(struct ep_id *id))
{
	struct uep_id *id = uep_obj_lookup(s, handle, RDMA_EP_OBJ_ID);
	int ret;

	if (!id)
		return ERR_PTR(-ENOENT);
	ret = begin(&id->id);
	return ret ? ERR_PTR(uep_obj_done(&id->obj, ret)) : id;
}

/* Looks the id up, and calls ep_id_begin() until uep_id_end(). Or ERR_PTR */
struct uep_id *uep_id_begin(struct uep_session *s, u32 handle)
{
	return uep_id_begin_with(s, handle, ep_id_begin);
}

/* As uep_id_begin(). -EINVAL if the id is not bound to a device */
struct uep_id *uep_id_begin_bound(struct uep_session *s, u32 handle)
{
	return uep_id_begin_with(s, handle, ep_id_begin_bound);
}

/* @ret: result of the command. Returns the errno for the user, as uep_obj_done() does. */
int uep_id_end(struct uep_id *id, int ret)
{
	ep_id_end(&id->id);
	return uep_obj_done(&id->obj, ret);
}

/* Only requests and responses carry it, under any event type. */
static void uep_id_set_ece(struct uep_id *id, const struct rdma_cm_event *event)
{
	if (!event->ece.vendor_id && !event->ece.attr_mod)
		return;
	spin_lock(&id->obj.session->ev_lock);
	id->ece = event->ece;
	spin_unlock(&id->obj.session->ev_lock);
}

/* The new id has a handle, which the event contains, but is published when that is read. */
static int uep_id_request(struct ep_id *eid, struct rdma_cm_id *cm_id,
			  const struct rdma_cm_event *event)
{
	struct uep_id *id = container_of(eid, struct uep_id, id);
	struct uep_session *s = id->obj.session;
	struct uep_id *child;
	struct uep_event *ev;
	int ret;

	if (!uep_dev_granted(s, cm_id->device))
		return -ECONNREFUSED;
	/* An id that is bound to no device listens on later ones, too. */
	if (!eid->cm_id->device && !uep_dev_allows(cm_id->device, id->cred, id->group))
		return -ECONNREFUSED;
	child = uep_id_alloc(s);
	if (IS_ERR(child))
		return -ENOMEM;
	ret = uep_obj_reserve(&child->obj);
	if (ret)
		goto err_child;
	child->id.number = child->obj.handle;
	ret = -ENOMEM;
	ev = uep_event_alloc(event->event);
	if (!ev)
		goto err_child;
	ev->child = child;
	ev->rec.child = child->obj.handle;
	uep_id_set_ece(child, event);
	/* For uep_event_fill(); uep_event_queue() adopts it. */
	child->id.cm_id = cm_id;
	uep_event_fill(child, &ev->rec, event);
	ret = -ECONNREFUSED;
	if (!uep_event_queue(id, ev, cm_id))
		goto err_event;
	return 0;

err_event:
	/* It is rdma_cm's again: ep_id_destroy() takes no lock in the listener's handler. */
	child->id.cm_id = NULL;
	kfree(ev);
err_child:
	uep_obj_discard(&child->obj);
	return ret;
}

/*
 * Counts connections, for the administrator. Inside a handler, with the handler mutex, or between
 * uep_id_begin_bound() and uep_id_end()
 */
void uep_id_count_event(const struct uep_id *id, enum rdma_cm_event_type event)
{
	const struct ib_device *ibdev = id->id.cm_id->device;
	struct uep_account *a = id->obj.session->account;

	if (!ibdev)
		return;
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		uep_account_count(a, ibdev, UEP_ESTABLISHED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		uep_account_count(a, ibdev, UEP_DISCONNECTED);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		uep_account_count(a, ibdev, UEP_CONNECT_FAILED);
		break;
	default:
		break;
	}
}

static void uep_id_event(struct ep_id *eid, const struct rdma_cm_event *event)
{
	bool of_mcast = event->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
			event->event == RDMA_CM_EVENT_MULTICAST_ERROR;
	struct uep_id *id = container_of(eid, struct uep_id, id);
	const struct ep_mcast *mc = event->param.ud.private_data;
	struct uep_event *ev;

	uep_id_set_ece(id, event);
	if (!of_mcast)
		WRITE_ONCE(id->last, event->event);
	if (!ep_id_of_neighbour(eid, event))
		uep_id_count_event(id, event->event);
	ev = uep_event_alloc(event->event);
	if (!ev) {
		pr_warn_ratelimited(KBUILD_MODNAME ": out of memory, %s event lost\n",
				    rdma_event_msg(event->event));
		return;
	}
	uep_event_fill(id, &ev->rec, event);
	if (of_mcast) {
		ev->mcast = container_of(mc, struct uep_mcast, mc);
		uep_obj_get(&ev->mcast->obj);
	}
	if (!uep_event_queue(id, ev, NULL))
		uep_event_free(ev);
}

/*
 * Queues an event that a command causes. Takes over @ev, a new one of this type. Called between
 * ep_id_begin() and ep_id_end().
 */
void uep_id_report(struct uep_id *id, struct uep_event *ev, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	trace_rdma_ep_cm_event(&id->id, id->id.cm_id, &event, 0);
	uep_event_fill(id, &ev->rec, &event);
	if (!uep_event_queue(id, ev, NULL))
		uep_event_free(ev);
}

static const struct ep_id_ops uep_id_ops = {
	.request = uep_id_request,
	.event = uep_id_event,
	.may_route = uep_id_may_route,
	.may_route_unasked = uep_id_may_route_unasked,
	.get_qp = uep_id_get_qp,
	.put_qp = uep_id_put_qp,
	.get_mcast = uep_id_get_mcast,
	.put_mcast = uep_id_put_mcast,
	.wait_state = TASK_INTERRUPTIBLE,
};

/* Queues an event that the user writes. */
int uep_write_event(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_write_event *arg = cmd->arg;
	struct uep_event *ev;
	struct uep_id *id;
	int ret;

	if (arg->reserved || arg->event < RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED ||
	    arg->event > RDMA_EP_CM_EVENT_USER)
		return -EINVAL;
	id = uep_obj_lookup(cmd->s, arg->id, RDMA_EP_OBJ_ID);
	if (!id)
		return -ENOENT;
	ret = uep_charge(cmd->s, 1, 0);
	if (ret)
		goto out;
	ev = uep_event_alloc(arg->event);
	if (!ev) {
		uep_uncharge(cmd->s, 1, 0);
		ret = -ENOMEM;
		goto out;
	}
	ev->charged = true;
	ev->rec.event = arg->event;
	ev->rec.status = arg->status;
	ev->rec.flags = RDMA_EP_EVENT_ARG;
	ev->rec.param.arg = arg->arg;
	if (!uep_event_queue(id, ev, NULL)) {
		uep_event_free(ev);
		ret = READ_ONCE(id->accepted) ? -ENOBUFS : -EINVAL;
		if (uep_obj_claimed(&id->obj))
			ret = -ENOENT;
	}
out:
	uep_obj_put(&id->obj);
	return ret;
}

/* The port space determines the QP type, except for RDMA_PS_IB. */
static int uep_id_qp_type(u32 ps, u32 *qp_type)
{
	switch (*qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		break;
	default:
		return -EINVAL;
	}
	switch (ps) {
	case RDMA_PS_TCP:
		*qp_type = IB_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*qp_type = IB_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		return 0;
	default:
		return -EINVAL;
	}
}

/* Creates an id as a step of the command. Returns it without a reference. */
struct uep_id *uep_id_create(struct uep_cmd *cmd, u32 flags, u64 uid,
			     s32 *channel_fd, u32 ps, u32 qp_type)
{
	struct uep_channel *chan;
	struct uep_id *id;
	int ret;

	ret = uep_check_create_id(cmd->s) ?: uep_id_qp_type(ps, &qp_type);
	if (ret)
		return ERR_PTR(ret);
	id = uep_id_alloc(cmd->s);
	if (IS_ERR(id))
		return id;
	chan = uep_channel_for(cmd, flags, channel_fd);
	if (IS_ERR(chan)) {
		uep_obj_discard(&id->obj);
		return ERR_CAST(chan);
	}
	id->chan = chan;
	id->uid = uid;
	id->accepted = true;
	ret = uep_cmd_add_obj(cmd, id, NULL);
	if (ret)
		return ERR_PTR(ret);
	id->id.number = id->obj.handle;
	ret = ep_id_open(&id->id, rdma_create_user_id(ep_id_handler, &id->id, ps, qp_type));
	return ret ? ERR_PTR(ret) : id;
}

int uep_create_id(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_id *arg = cmd->arg;
	struct uep_id *id;

	id = uep_id_create(cmd, arg->flags, arg->uid, &arg->channel_fd, arg->ps, arg->qp_type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	arg->id = id->obj.handle;
	return 0;
}

/* The user's address, or NULL. rdma_cm only gets families whose addresses fit the storage. */
struct sockaddr *uep_sockaddr(struct __kernel_sockaddr_storage *ss)
{
	switch (ss->ss_family) {
	case AF_UNSPEC:
		return NULL;
	case AF_INET:
	case AF_INET6:
	case AF_IB:
		return (struct sockaddr *)ss;
	default:
		return ERR_PTR(-EAFNOSUPPORT);
	}
}

int uep_bind_addr(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_bind_addr *arg = cmd->arg;
	struct sockaddr *addr = uep_sockaddr(&arg->addr);
	struct sockaddr_storage *src;
	sa_family_t family;
	struct uep_id *id;
	int ret;

	if (arg->reserved || !addr)
		return -EINVAL;
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	id = uep_id_begin(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = uep_check_bind(cmd->s, addr);
	if (ret)
		return uep_id_end(id, ret);
	src = &id->id.cm_id->route.addr.src_addr;
	family = src->ss_family;
	ret = rdma_bind_addr(id->id.cm_id, addr);
	/* rdma_cm keeps the address, but binds the id to an unspecified one when it listens. */
	if (ret && !family)
		src->ss_family = AF_UNSPEC;
	trace_rdma_ep_bind_addr(&id->id, NULL, ret);
	if (!ret)
		uep_id_info(id, &arg->info);
	return uep_id_end(id, ret);
}

int uep_resolve_addr(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_resolve_addr *arg = cmd->arg;
	struct sockaddr *src = uep_sockaddr(&arg->src);
	struct sockaddr *dst = uep_sockaddr(&arg->dst);
	struct uep_id *id;
	int ret;

	if (!dst)
		return -EINVAL;
	if (IS_ERR(src) || IS_ERR(dst))
		return -EAFNOSUPPORT;
	id = uep_id_begin(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = uep_check_resolve(cmd->s, src, dst) ?:
	      ep_id_resolve_addr(&id->id, src, dst, arg->timeout_ms);
	return uep_id_end(id, ret);
}

int uep_resolve_route(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_id *arg = cmd->arg;
	struct uep_id *id = uep_id_begin_bound(cmd->s, arg->id);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = uep_id_may_route(&id->id) ?:
	      ep_id_resolve_route(&id->id, arg->arg);
	return uep_id_end(id, ret);
}

int uep_migrate_id(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_migrate_id *arg = cmd->arg;
	struct uep_channel *chan;
	struct uep_id *id;

	if (arg->reserved)
		return -EINVAL;
	id = uep_obj_lookup(cmd->s, arg->id, RDMA_EP_OBJ_ID);
	if (!id)
		return -ENOENT;
	chan = uep_channel_for(cmd, arg->flags, &arg->channel_fd);
	if (!IS_ERR(chan))
		uep_cmd_move(cmd, id, chan, &arg->events_reported);
	uep_obj_put(&id->obj);
	return PTR_ERR_OR_ZERO(chan);
}

int uep_query_id(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_id *arg = cmd->arg;
	struct uep_id *id;

	id = uep_id_begin(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	uep_id_info(id, &arg->info);
	spin_lock(&cmd->s->ev_lock);
	arg->events_reported = id->events_reported;
	arg->ece_vendor_id = id->ece.vendor_id;
	arg->ece_options = id->ece.attr_mod;
	spin_unlock(&cmd->s->ev_lock);
	return uep_id_end(id, 0);
}
