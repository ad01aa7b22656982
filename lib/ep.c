// SPDX-License-Identifier: BSD-2-Clause
/* Endpoints: rdma_create_ep(3) and what belongs to it. */
#include "internal.h"

#define TIMEOUT_MS 2000

static int save_connect(struct ep_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_connect_len)
		return 0;
	if (!res->ai_connect || res->ai_connect_len > UINT8_MAX)
		return ep_err(EINVAL);
	id->connect = malloc(res->ai_connect_len);
	if (!id->connect)
		return -1;
	memcpy(id->connect, res->ai_connect, res->ai_connect_len);
	id->connect_len = res->ai_connect_len;
	return 0;
}

/*
 * What the calls that the one ioctl stands for would have left in id->event. The
 * kernel has not reported it, so its acknowledgment counts to no id.
 */
static int show_route_resolved(struct ep_id *id)
{
	struct ep_event *event;

	event = ep_event_alloc();
	if (!event)
		return -1;
	event->event.id = &id->id;
	event->event.event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	id->id.event = &event->event;
	return 0;
}

static int save_attr(struct ep_id *id, const struct ibv_qp_init_attr *attr,
		     int qp_type)
{
	if (!attr)
		return 0;
	id->saved_attr = malloc(sizeof(*attr));
	if (!id->saved_attr)
		return -1;
	*id->saved_attr = *attr;
	id->saved_attr->qp_type = qp_type;
	return 0;
}

/* With the path given there are several steps, as the kernel resolves none. */
static int create_with_path(struct ep_id *id, const struct rdma_addrinfo *res,
			    struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (ep_id_resolve_addr(id, res->ai_src_addr, res->ai_src_len,
			       res->ai_dst_addr, res->ai_dst_len, TIMEOUT_MS))
		return -1;
	if (rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
			    res->ai_route, res->ai_route_len))
		return -1;
	if (ep_complete(&id->id))
		return -1;
	if (!attr)
		return 0;
	attr->qp_type = res->ai_qp_type;
	return rdma_create_qp(&id->id, pd, attr);
}

/*
 * The type that the kernel is told: only in the IB port space it is not the port
 * space's own, whatever the address information says.
 */
static int kernel_qp_type(const struct rdma_addrinfo *res)
{
	switch (res->ai_port_space) {
	case RDMA_PS_IB:
		return res->ai_qp_type;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IBV_QPT_UD;
	default:
		return IBV_QPT_RC;
	}
}

/* One ioctl makes the id, bound or resolved, and its QP and CQs. */
static int create_at_once(struct ep_id *id, const struct rdma_addrinfo *res,
			  struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	bool passive = res->ai_flags & RAI_PASSIVE;
	struct rdma_ep_create_ep cmd = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL,
		.uid = (uintptr_t)id,
		.channel_fd = -1,
		.ps = res->ai_port_space,
		.qp_type = kernel_qp_type(res),
		.addr_timeout_ms = TIMEOUT_MS,
		.route_timeout_ms = TIMEOUT_MS,
	};
	struct ep_qp_build build = {};
	/* An XRC target's domain is found when the device is known. */
	bool make_qp = attr && !passive && res->ai_qp_type != IBV_QPT_XRC_RECV;

	if (ep_addr_to_uapi(&cmd.src, res->ai_src_addr, res->ai_src_len))
		return -1;
	if (passive) {
		cmd.flags |= RDMA_EP_EP_PASSIVE;
		if (save_attr(id, attr, res->ai_qp_type))
			return -1;
	} else {
		if (ep_addr_to_uapi(&cmd.dst, res->ai_dst_addr,
				    res->ai_dst_len))
			return -1;
		if (show_route_resolved(id))
			return -1;
	}
	if (make_qp) {
		cmd.flags |= RDMA_EP_EP_CREATE_QP;
		attr->qp_type = res->ai_qp_type;
		if (ep_qp_prepare(&build, &cmd.qp, pd, attr, true))
			return -1;
	}

	if (ep_call(id->session, CREATE_EP, &cmd)) {
		ep_qp_abort(&build);
		return -1;
	}
	id->handle = cmd.id;
	id->id.channel->fd = cmd.channel_fd;
	if (ep_id_set_info(id, &cmd.info) ||
	    (make_qp && pd && pd->context != id->id.verbs && ep_err(EINVAL))) {
		if (make_qp)
			ep_qp_undo(id->session, &cmd.qp);
		ep_qp_abort(&build);
		return -1;
	}
	if (make_qp)
		ep_qp_finish(&build, &cmd.qp, id->id.verbs,
			     pd ? pd : id->id.pd, attr, id);
	else if (passive && pd)
		id->id.pd = pd;
	if (!attr || passive || make_qp)
		return 0;
	attr->qp_type = res->ai_qp_type;
	return rdma_create_qp(&id->id, pd, attr);
}

/* rdma_create_ep(3) */
EP_EXPORT int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ep_session *session;
	struct rdma_cm_id *cm_id;
	struct ep_id *id;
	bool passive;
	int error;

	if (!out || !res)
		return ep_err(EINVAL);
	passive = res->ai_flags & RAI_PASSIVE;
	if (passive ? !res->ai_src_len : !res->ai_dst_len)
		return ep_err(EINVAL);
	if (pd && !ep_ours(pd->context))
		return ep_err(EINVAL);
	if (ep_session_cm(&session))
		return -1;

	if (!passive && res->ai_route_len) {
		if (ep_id_create(NULL, NULL, res->ai_port_space,
				 res->ai_qp_type, &cm_id))
			return -1;
		id = ep_cm_id(cm_id);
		if (create_with_path(id, res, pd, attr) ||
		    save_connect(id, res))
			goto err;
		*out = cm_id;
		return 0;
	}

	id = ep_id_alloc(session, NULL, res->ai_port_space, res->ai_qp_type);
	if (!id)
		return -1;
	id->id.channel = ep_channel_alloc();
	id->sync = id->id.channel;
	if (!id->id.channel || (!passive && save_connect(id, res)) ||
	    create_at_once(id, res, pd, attr))
		goto err;
	*out = &id->id;
	return 0;

err:
	error = errno;
	if (id->handle) {
		rdma_destroy_ep(&id->id);
	} else {
		ep_drop_event(&id->id);
		ep_id_free(id);
	}
	return ep_err(error);
}

/* rdma_destroy_ep(3) */
EP_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (ep_foreign_id(id)) {
		ep_forward_cm_void(rdma_destroy_ep, id);
		return;
	}
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* What rdma_get_request() makes of the event that it got. */
static int request_from_event(struct rdma_cm_id *listen,
			      struct rdma_cm_event *event)
{
	listen->event = event;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ep_err(ECONNREFUSED);
	if (event->status)
		return ep_err(event->status < 0 ? -event->status :
			      event->status);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return ep_err(EINVAL);
	listen->event = NULL;
	return 0;
}

/*
 * Take a request that is waiting already, and create the new id's channel, QP and
 * CQs with it, in one call. EAGAIN if there is none.
 */
static int take_request(struct ep_id *listener,
			const struct ibv_qp_init_attr *saved,
			struct rdma_cm_event **out, int *qp_errno)
{
	struct rdma_ep_get_request cmd = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL,
		.id = listener->handle,
		.channel_fd = -1,
	};
	struct rdma_event_channel *channel;
	struct ibv_pd *pd = listener->id.pd;
	struct ibv_qp_init_attr attr = {};
	struct ep_qp_build build = {};
	struct ep_event *event;
	struct ep_id *child;
	bool made;
	int error;

	event = ep_event_alloc();
	child = ep_id_alloc(listener->session, NULL, 0, 0);
	channel = ep_channel_alloc();
	if (!event || !child || !channel)
		goto err;
	if (saved) {
		attr = *saved;
		cmd.flags |= RDMA_EP_EP_CREATE_QP;
		if (ep_qp_prepare(&build, &cmd.qp, pd, &attr, true))
			goto err;
	}
	if (ep_call(listener->session, GET_REQUEST, &cmd))
		goto err;

	if (cmd.event.event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		ep_qp_abort(&build);
		ep_id_free(child);
		free(channel);
		child = NULL;
		channel = NULL;
	} else {
		channel->fd = cmd.channel_fd;
	}
	made = child && saved && !cmd.qp_errno;
	if (!ep_event_set(event, &cmd.event, child, channel)) {
		/* The request was swallowed, and its id is gone. */
		if (made)
			ep_qp_undo(listener->session, &cmd.qp);
		ep_qp_abort(&build);
		free(event);
		return ep_err(EAGAIN);
	}

	*qp_errno = child ? cmd.qp_errno : 0;
	if (made && pd && pd->context != child->id.verbs) {
		ep_qp_undo(listener->session, &cmd.qp);
		made = false;
		*qp_errno = EINVAL;
	}
	if (made)
		ep_qp_finish(&build, &cmd.qp, child->id.verbs,
			     pd ? pd : child->id.pd, &attr, child);
	else
		ep_qp_abort(&build);
	*out = &event->event;
	return 0;

err:
	error = errno;
	ep_qp_abort(&build);
	free(channel);
	ep_id_free(child);
	free(event);
	return ep_err(error);
}

/*
 * rdma_get_request(3). If no request is waiting the calling thread waits in
 * rdma_get_cm_event(), and so in read(2): that is a cancellation point, knows
 * O_NONBLOCK, and goes on after a signal if its handler has SA_RESTART.
 */
EP_EXPORT int rdma_get_request(struct rdma_cm_id *listen,
			       struct rdma_cm_id **id)
{
	struct ep_id *listener = ep_cm_id(listen);
	const struct ibv_qp_init_attr *saved;
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr attr;
	bool made = true;
	int qp_errno = 0;

	if (ep_foreign_id(listen))
		return ep_forward_cm(-1, rdma_get_request, listen, id);
	if (!listen || !id || !listener->sync)
		return ep_err(EINVAL);
	pthread_testcancel();
	ep_drop_event(listen);

	/* An XRC target's domain is found when the device is known. */
	saved = listener->saved_attr;
	if (saved && saved->qp_type == IBV_QPT_XRC_RECV) {
		saved = NULL;
		made = false;
	}
	if (take_request(listener, saved, &event, &qp_errno)) {
		if (errno != EAGAIN ||
		    rdma_get_cm_event(listen->channel, &event))
			return -1;
		made = false;
	}
	if (request_from_event(listen, event))
		return -1;
	if (!made && listener->saved_attr) {
		attr = *listener->saved_attr;
		if (rdma_create_qp(event->id, listen->pd, &attr))
			qp_errno = errno;
	}
	if (qp_errno) {
		listen->event = event;
		return ep_err(qp_errno);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
