// SPDX-License-Identifier: BSD-2-Clause
/*
 * Endpoints: rdma_create_ep(3), rdma_get_request(3), rdma_destroy_ep(3).
 *
 * One ioctl executes each of these functions. The library takes the single steps
 * - if the address information has a path record, as CREATE_EP has no field for it;
 * - for an XRC target QP, whose domain depends on the device of the id: one ioctl creates
 *   the id, and another the QP;
 * - if GET_REQUEST has no event for the program: the library reads the channel, and creates
 *   the QP after that;
 * - if DESTROY_EP cannot take an object, or fails: see destroy_at_once().
 */
#include "cm.h"

#define TIMEOUT_MS 2000

static int save_connect(struct lep_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_connect_len)
		return 0;
	if (!res->ai_connect || res->ai_connect_len > UINT8_MAX)
		return lep_err(EINVAL);
	id->connect = malloc(res->ai_connect_len);
	if (!id->connect)
		return -1;
	memcpy(id->connect, res->ai_connect, res->ai_connect_len);
	id->connect_len = res->ai_connect_len;
	return 0;
}

/*
 * Leave the same event in id.event as the single steps. The kernel has not reported it, so
 * no id counts its acknowledgment.
 */
static int show_route_resolved(struct lep_id *id)
{
	struct lep_event *event;

	event = lep_event_alloc();
	if (!event)
		return -1;
	event->event.id = &id->id;
	event->event.event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	id->id.event = &event->event;
	return 0;
}

static int save_attr(struct lep_id *id, const struct ibv_qp_init_attr *attr,
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

/* Takes the single steps, with the path record of the address information. */
static int resolve_with_path(struct lep_id *id, const struct rdma_addrinfo *res)
{
	if (lep_id_resolve_addr(id, res->ai_src_addr, res->ai_src_len,
				res->ai_dst_addr, res->ai_dst_len, TIMEOUT_MS))
		return -1;
	if (lep_id_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
			      res->ai_route, res->ai_route_len))
		return -1;
	return lep_id_await_event(id);
}

/* The QP type for the kernel: every port space but IB has a type of its own. */
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

/* The context is that of the id, which the kernel has resolved. pd may be NULL. */
static bool qp_objects_fit(const struct ibv_context *context, const struct ibv_pd *pd,
			   const struct ibv_qp_init_attr *attr)
{
	return (!pd || pd->context == context) && lep_qp_attr_of_context(context, attr);
}

/* One ioctl creates the id, bound or resolved, and its QP and CQs, but no XRC target QP. */
static int create_at_once(struct lep_id *id, const struct rdma_addrinfo *res,
			  struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	bool passive = res->ai_flags & RAI_PASSIVE;
	struct rdma_ep_cmd_create_ep cmd = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL,
		.uid = (uintptr_t)id,
		.channel_fd = -1,
		.ps = res->ai_port_space,
		.qp_type = kernel_qp_type(res),
		.addr_timeout_ms = TIMEOUT_MS,
		.route_timeout_ms = TIMEOUT_MS,
	};
	struct lep_qp_build build = {};
	bool make_qp = attr && !passive && res->ai_qp_type != IBV_QPT_XRC_RECV;

	if (lep_addr_to_uapi(&cmd.src, res->ai_src_addr, res->ai_src_len))
		return -1;
	if (passive) {
		cmd.flags |= RDMA_EP_EP_PASSIVE;
		if (save_attr(id, attr, res->ai_qp_type))
			return -1;
	} else {
		if (lep_addr_to_uapi(&cmd.dst, res->ai_dst_addr,
				     res->ai_dst_len))
			return -1;
		if (show_route_resolved(id))
			return -1;
	}
	if (make_qp) {
		cmd.flags |= RDMA_EP_EP_CREATE_QP;
		attr->qp_type = res->ai_qp_type;
		if (lep_qp_build_begin(&build, id->session, &cmd.qp, pd, attr, NULL,
				       true))
			return -1;
	}

	if (lep_call(id->session, CREATE_EP, &cmd)) {
		lep_qp_build_abort(&build);
		return -1;
	}
	id->handle = cmd.id;
	id->id.channel->fd = cmd.channel_fd;
	if (lep_id_set_info(id, &cmd.info) ||
	    (make_qp && !qp_objects_fit(id->id.verbs, pd, attr) && lep_err(EINVAL))) {
		if (make_qp)
			lep_qp_build_undo(id->session, &cmd.qp);
		lep_qp_build_abort(&build);
		return -1;
	}
	if (make_qp)
		lep_id_finish_qp(id, &build, &cmd.qp, pd ? pd : id->id.pd, attr);
	else if (passive && pd)
		id->id.pd = pd;
	return 0;
}

static bool same_session(const struct lep_id *id, struct ibv_context *context)
{
	return lep_ours(context) && lep_to_ctx(context)->session == id->session;
}

/*
 * True if DESTROY_EP can take the CQ: it is one of this session, and its channel, if it has
 * one, is the id's and serves no other CQ.
 */
static bool plain_cq(const struct lep_id *id, const struct ibv_cq *cq,
		     const struct ibv_comp_channel *channel)
{
	if (!cq)
		return !channel;
	return same_session(id, cq->context) && cq->channel == channel &&
	       (!channel || channel->refcnt == 1);
}

static void fill_cq(struct rdma_ep_destroy_cq *cmd, struct ibv_cq *cq)
{
	cmd->channel_fd = -1;
	if (!cq)
		return;
	cmd->cq = cq->handle;
	if (cq->channel)
		cmd->channel_fd = cq->channel->fd;
	cmd->events = __atomic_load_n(&cq->async_events_completed,
				      __ATOMIC_RELAXED);
	cmd->comp_events = __atomic_load_n(&cq->comp_events_completed,
					   __ATOMIC_RELAXED);
}

/* A CQ that could not be destroyed still uses its channel. */
static void finish_destroyed_cq(const struct rdma_ep_destroy_cq *cmd,
				struct ibv_cq *cq,
				struct ibv_comp_channel *channel)
{
	if (!cq || cmd->cq)
		return;
	lep_cq_release(cq, cmd->events, cmd->comp_events);
	if (channel) {
		channel->fd = cmd->channel_fd;
		lep_comp_channel_destroy(channel);
	}
}

/* The number of acknowledged events of the id, including the one in id.event. */
static uint32_t events_acked(struct lep_id *id)
{
	const struct lep_event *shown = (struct lep_event *)id->id.event;
	uint32_t acked;

	pthread_mutex_lock(&id->mutex);
	acked = id->acked;
	pthread_mutex_unlock(&id->mutex);
	return shown && shown->charged == id ? acked + 1 : acked;
}

/*
 * One ioctl destroys all objects, and closes the channels whose events are all
 * acknowledged. Returns false, without an effect, if that is not possible: the id is in a
 * multicast group, an object is not of this session, a CQ is no plain_cq(), both CQs are
 * the same one, or the ioctl fails.
 */
static bool destroy_at_once(struct lep_id *id)
{
	struct ibv_qp *qp = id->id.qp;
	struct ibv_srq *srq = id->id.srq;
	struct ibv_cq *recv_cq = qp || srq ? id->id.recv_cq : NULL;
	struct ibv_cq *send_cq = qp || srq ? id->id.send_cq : NULL;
	struct ibv_comp_channel *recv_channel = id->id.recv_cq_channel;
	struct ibv_comp_channel *send_channel = id->id.send_cq_channel;
	struct rdma_ep_cmd_destroy_ep cmd = {
		.id = id->handle,
		.channel_fd = -1,
		.qp = qp ? qp->handle : 0,
		.srq = srq ? srq->handle : 0,
	};

	if (id->mcasts || (qp && !same_session(id, qp->context)) ||
	    (srq && !same_session(id, srq->context)) ||
	    !plain_cq(id, recv_cq, recv_channel) ||
	    !plain_cq(id, send_cq, send_channel) ||
	    (recv_cq && recv_cq == send_cq))
		return false;
	if (id->sync && id->id.channel)
		cmd.channel_fd = id->id.channel->fd;
	fill_cq(&cmd.recv_cq, recv_cq);
	fill_cq(&cmd.send_cq, send_cq);
	cmd.events = events_acked(id);
	if (lep_call(id->session, DESTROY_EP, &cmd))
		return false;

	if (qp && !cmd.qp)
		lep_qp_release(qp, cmd.qp_events);
	if (srq && !cmd.srq)
		lep_srq_release(srq, cmd.srq_events);
	finish_destroyed_cq(&cmd.recv_cq, recv_cq, recv_channel);
	finish_destroyed_cq(&cmd.send_cq, send_cq, send_channel);
	if (id->sync && id->id.channel)
		id->id.channel->fd = cmd.channel_fd;
	lep_id_release(id, cmd.events);
	return true;
}

static void destroy_ep(struct lep_id *id)
{
	if (destroy_at_once(id))
		return;
	if (id->id.qp)
		lep_id_destroy_qp(id);
	if (id->id.srq)
		lep_id_destroy_srq(id);
	lep_id_destroy(id);
}

/* rdma_destroy_ep(3) */
LEP_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (lep_foreign_id(id))
		lep_forward_cm_void(rdma_destroy_ep, id);
	else if (id)
		destroy_ep(lep_to_id(id));
}

/* rdma_create_ep(3) */
LEP_EXPORT int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res,
			      struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct lep_session *session;
	struct lep_id *id;
	bool passive, with_path;
	int error;

	if (!out || !res)
		return lep_err(EINVAL);
	passive = res->ai_flags & RAI_PASSIVE;
	if (passive ? !res->ai_src_len : !res->ai_dst_len)
		return lep_err(EINVAL);
	if (pd && !lep_ours(pd->context))
		return lep_err(EINVAL);
	if (lep_session_get_cm(&session))
		return -1;

	with_path = !passive && res->ai_route_len;
	if (with_path) {
		if (lep_id_create(NULL, NULL, res->ai_port_space,
				  res->ai_qp_type, &id))
			return -1;
		if (resolve_with_path(id, res))
			goto err;
	} else {
		id = lep_id_alloc_sync(session, NULL, res->ai_port_space,
				       res->ai_qp_type);
		if (!id)
			return -1;
		if ((!passive && save_connect(id, res)) ||
		    create_at_once(id, res, pd, attr))
			goto err;
	}
	if (attr && !passive && !id->id.qp) {
		attr->qp_type = res->ai_qp_type;
		if (lep_id_create_qp(id, pd, attr, NULL))
			goto err;
	}
	if (with_path && save_connect(id, res))
		goto err;
	*out = &id->id;
	return 0;

err:
	error = errno;
	if (id->handle) {
		destroy_ep(id);
	} else {
		lep_id_drop_event(id);
		lep_id_free(id);
	}
	return lep_err(error);
}

/* The result of rdma_get_request() for the event that it received. */
static int request_from_event(struct rdma_cm_id *listen,
			      struct rdma_cm_event *event)
{
	listen->event = event;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return lep_err(ECONNREFUSED);
	if (lep_event_status(event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return lep_err(EINVAL);
	listen->event = NULL;
	return 0;
}

/* The next event of a listener, and the objects for a connection request. */
struct get_request {
	struct lep_id *listener;
	struct rdma_ep_cmd_get_request cmd;
	struct ibv_qp_init_attr attr;
	struct lep_qp_build build;
	struct rdma_event_channel *channel;
	struct lep_event *event;
	struct lep_id *child;
};

static void free_request(struct get_request *req)
{
	int error = errno;

	lep_qp_build_abort(&req->build);
	free(req->channel);
	lep_id_free(req->child);
	free(req->event);
	errno = error;
}

/*
 * Complete the objects after the kernel has delivered an event. Returns -1 and EAGAIN if
 * the program cannot get the request, whose id has been destroyed then.
 */
static int finish_request(struct get_request *req, struct rdma_cm_event **out,
			  int *qp_errno)
{
	struct rdma_ep_cmd_get_request *cmd = &req->cmd;
	struct lep_session *session = req->listener->session;
	struct ibv_pd *pd = req->listener->id.pd;
	struct rdma_event_channel *channel = NULL;
	struct lep_id *child = NULL;
	bool made;

	if (cmd->event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		child = req->child;
		channel = req->channel;
		channel->fd = cmd->channel_fd;
		req->child = NULL;
		req->channel = NULL;
	}
	made = child && cmd->flags & RDMA_EP_EP_CREATE_QP && !cmd->qp_errno;
	if (!lep_event_fill(req->event, &cmd->event, child, channel)) {
		if (made)
			lep_qp_build_undo(session, &cmd->qp);
		free_request(req);
		return lep_err(EAGAIN);
	}

	if (cmd->flags & RDMA_EP_EP_CREATE_QP)
		*qp_errno = cmd->qp_errno;
	if (made && !qp_objects_fit(child->id.verbs, pd, &req->attr)) {
		lep_qp_build_undo(session, &cmd->qp);
		made = false;
		*qp_errno = EINVAL;
	}
	if (made) {
		lep_id_finish_qp(child, &req->build, &cmd->qp,
				 pd ? pd : child->id.pd, &req->attr);
		memset(&req->build, 0, sizeof(req->build));
	}
	*out = &req->event->event;
	req->event = NULL;
	free_request(req);
	return 0;
}

/* Rejects a request that the kernel has delivered to a cancelled thread. */
static void request_cancelled(void *arg)
{
	struct get_request *req = arg;
	struct rdma_cm_event *event;
	int qp_errno;

	if (!req->cmd.event.id) {
		free_request(req);
	} else if (!finish_request(req, &event, &qp_errno)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			destroy_ep(lep_to_id(event->id));
		lep_event_ack((struct lep_event *)event);
	}
}

/*
 * Wait for a request, and create the new id's channel, QP and CQs, in one ioctl. EAGAIN if
 * the channel is empty and O_NONBLOCK, or from finish_request().
 */
static int get_at_once(struct lep_id *listener,
		       const struct ibv_qp_init_attr *saved,
		       struct rdma_cm_event **out, int *qp_errno)
{
	struct get_request req = {
		.listener = listener,
		.cmd = {
			.size = sizeof(req.cmd),
			.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_AWAIT,
			.id = listener->handle,
			.channel_fd = -1,
			.await_fd = listener->id.channel ?
				    listener->id.channel->fd : -1,
		},
	};

	req.event = lep_event_alloc();
	req.child = lep_id_alloc(listener->session, NULL, 0, 0);
	req.channel = lep_channel_alloc(listener->session);
	if (!req.event || !req.child || !req.channel)
		goto err;
	if (saved) {
		req.attr = *saved;
		if (!lep_qp_build_begin(&req.build, listener->session, &req.cmd.qp,
					listener->id.pd, &req.attr, NULL, true))
			req.cmd.flags |= RDMA_EP_EP_CREATE_QP;
		else if (errno == EINVAL)
			*qp_errno = EINVAL;	/* of a request, which comes first */
		else
			goto err;
	}
	if (!lep_ioctl_cancelable(listener->session->fd, RDMA_EP_IOC_GET_REQUEST,
				  &req.cmd, request_cancelled, &req))
		return finish_request(&req, out, qp_errno);
err:
	free_request(&req);
	return -1;
}

/*
 * rdma_get_request(3). It waits like rdma_get_cm_event(3): it is a cancellation point,
 * obeys O_NONBLOCK, and continues after a signal whose handler has SA_RESTART.
 */
LEP_EXPORT int rdma_get_request(struct rdma_cm_id *listen,
				struct rdma_cm_id **id)
{
	struct lep_id *listener = lep_to_id(listen);
	const struct ibv_qp_init_attr *saved;
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr attr;
	bool made = true;
	int qp_errno = 0;

	if (lep_foreign_id(listen))
		return lep_forward_cm(-1, rdma_get_request, listen, id);
	if (!listen || !id || !listener->sync)
		return lep_err(EINVAL);
	pthread_testcancel();
	lep_id_drop_event(listener);

	saved = listener->saved_attr;
	if (saved && saved->qp_type == IBV_QPT_XRC_RECV) {
		saved = NULL;
		made = false;
	}
	if (get_at_once(listener, saved, &event, &qp_errno)) {
		if (errno != EAGAIN ||
		    lep_channel_get_event(listen->channel, &event))
			return -1;
		made = false;
	}
	if (request_from_event(listen, event))
		return -1;
	if (!made && listener->saved_attr) {
		attr = *listener->saved_attr;
		if (lep_id_create_qp(lep_to_id(event->id), listen->pd, &attr,
				     NULL))
			qp_errno = errno;
	}
	if (qp_errno) {
		listen->event = event;
		return lep_err(qp_errno);
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
