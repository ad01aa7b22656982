// SPDX-License-Identifier: BSD-2-Clause
/* Communication events. */
#include <unistd.h>

#include "cm.h"

/* rdma_ack_cm_event(3) */
LEP_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (!event)
		return lep_err(EINVAL);
	if (lep_real_calls())
		return lep_forward_cm(-1, rdma_ack_cm_event, event);
	lep_event_ack((struct lep_event *)event);
	return 0;
}

static void set_param(struct lep_event *event, const struct rdma_ep_channel_event *rec)
{
	struct rdma_conn_param *conn = &event->event.param.conn;
	struct rdma_ud_param *ud = &event->event.param.ud;
	const uint8_t *data;
	uint8_t len;

	if (rec->flags & RDMA_EP_EVENT_ARG) {
		/* Some rdma_cma.h lack this member: uint64_t param.arg */
		memcpy(&event->event.param, &rec->param.arg,
		       sizeof(rec->param.arg));
		return;
	}
	if (rec->flags & RDMA_EP_EVENT_UD) {
		data = rec->param.ud.private_data;
		len = rec->param.ud.private_data_len;
		ud->private_data_len = len;
		ud->private_data = len ? event->private_data : NULL;
		lep_ah_attr_from_uapi(&ud->ah_attr, &rec->param.ud.ah_attr);
		ud->qp_num = rec->param.ud.qp_num;
		ud->qkey = rec->param.ud.qkey;
	} else {
		data = rec->param.conn.private_data;
		len = rec->param.conn.private_data_len;
		conn->private_data_len = len;
		conn->private_data = len ? event->private_data : NULL;
		conn->responder_resources = rec->param.conn.responder_resources;
		conn->initiator_depth = rec->param.conn.initiator_depth;
		conn->flow_control = rec->param.conn.flow_control;
		conn->retry_count = rec->param.conn.retry_count;
		conn->rnr_retry_count = rec->param.conn.rnr_retry_count;
		conn->srq = rec->param.conn.srq;
		conn->qp_num = rec->param.conn.qp_num;
	}
	memcpy(event->private_data, data, len);
}

/* rdma_ep_export(3) finds a structure by it; else the kernel gets it with rdma_accept(3). */
static int set_child_uid(struct lep_id *child)
{
	struct rdma_ep_cmd_set_obj cmd = {
		.flags = RDMA_EP_SET_UID,
		.handle = child->handle,
		.type = RDMA_EP_OBJ_ID,
		.uid = (uintptr_t)child,
	};

	return lep_call(child->session, SET_OBJ, &cmd);
}

/*
 * Make child the id of a connection request. It is NULL if its allocation has failed. The
 * child of a synchronous listener gets a private channel: the given one, if the kernel has
 * already created it. Returns false, and frees the child, if the program cannot get the
 * request.
 */
static bool set_child(struct lep_id *listener, const struct rdma_ep_channel_event *rec,
		      struct lep_id *child, struct rdma_event_channel *channel)
{
	if (!child) {
		lep_channel_destroy(channel);
		lep_obj_destroy(listener->session, RDMA_EP_OBJ_ID, rec->child, NULL,
				NULL);
		return false;
	}

	child->handle = rec->child;
	child->id.context = listener->id.context;
	child->id.ps = listener->id.ps;
	child->id.qp_type = listener->id.qp_type;
	child->id.channel = channel ? channel : listener->id.channel;
	child->sync = channel;
	if (!(rec->flags & RDMA_EP_EVENT_UD)) {
		child->responder_resources = rec->param.conn.responder_resources;
		child->initiator_depth = rec->param.conn.initiator_depth;
	}
	if (lep_id_set_info(child, &rec->info) || !child->id.verbs || set_child_uid(child) ||
	    (listener->sync && !channel && lep_id_migrate(child, NULL))) {
		lep_id_destroy(child);
		return false;
	}
	return true;
}

static void set_error(struct lep_event *event, enum rdma_cm_event_type type)
{
	event->event.event = type;
	event->event.status = -errno;
}

/* Completes a connection of an external QP after the peer has accepted. */
static void connect_external_qp(struct lep_event *event, struct lep_id *id,
				struct ibv_qp *qp)
{
	struct rdma_ep_cmd_id cmd = { .id = id->handle };

	if (!lep_external_qp_connect(id, qp, NULL) &&
	    !lep_call(id->session, ESTABLISH, &cmd)) {
		event->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	set_error(event, RDMA_CM_EVENT_CONNECT_ERROR);
	id->failed = true;
	lep_external_qp_set_state(qp, IBV_QPS_ERR);
}

/*
 * Fill the program's event from the kernel's record, and update the id. Returns false if
 * there is no event for the program, and acknowledges the record then. child and channel
 * are as in set_child(); only connection requests use them.
 */
bool lep_event_fill(struct lep_event *event, const struct rdma_ep_channel_event *rec,
		    struct lep_id *child, struct rdma_event_channel *channel)
{
	struct lep_id *id = (void *)(uintptr_t)rec->uid;
	struct ibv_qp *external;

	if (!id)
		return false;
	if (id->failed && (rec->event == RDMA_CM_EVENT_REJECTED ||
			   rec->event == RDMA_CM_EVENT_DISCONNECTED)) {
		lep_id_count_ack(id, NULL);
		return false;
	}
	event->charged = id;
	event->event.id = &id->id;
	event->event.event = rec->event;
	event->event.status = rec->status;
	set_param(event, rec);

	switch (event->event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (lep_id_set_info(id, &rec->info)) {
			set_error(event, RDMA_CM_EVENT_ADDR_ERROR);
		} else if (!id->id.verbs) {
			errno = ENODEV;
			set_error(event, RDMA_CM_EVENT_ADDR_ERROR);
		}
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (lep_id_set_info(id, &rec->info))
			set_error(event, RDMA_CM_EVENT_ROUTE_ERROR);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (!set_child(id, rec, child, channel)) {
			lep_id_count_ack(id, NULL);
			return false;
		}
		event->event.id = &child->id;
		event->event.listen_id = &id->id;
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		external = lep_id_external_qp(id);
		if (external)
			connect_external_qp(event, id, external);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		lep_owner_qp_connected(&id->owner);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		lep_owner_query_qp_state(&id->owner);
		break;
	case RDMA_CM_EVENT_REJECTED:
		lep_owner_set_qp_state(&id->owner, IBV_QPS_ERR);
		external = lep_id_external_qp(id);
		if (external)
			lep_external_qp_set_state(external, IBV_QPS_ERR);
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		event->mcast = (void *)(uintptr_t)rec->param.ud.mcast_uid;
		if (lep_mcast_event(id, event->mcast, &event->event))
			set_error(event, RDMA_CM_EVENT_MULTICAST_ERROR);
		break;
	default:
		break;
	}
	return true;
}

/* Allocates the id of a connection request. Other events have none: NULL. */
static struct lep_id *child_for(const struct rdma_ep_channel_event *rec)
{
	if (rec->event != RDMA_CM_EVENT_CONNECT_REQUEST || !rec->uid)
		return NULL;
	return lep_id_alloc(((struct lep_id *)(uintptr_t)rec->uid)->session, NULL,
			    0, 0);
}

/* An event that is being read */
struct reader {
	struct lep_event *event;
	struct rdma_ep_channel_event rec;
};

/* Acknowledges an event that the kernel has delivered, and rejects a request. */
static void read_cancelled(void *arg)
{
	struct reader *r = arg;

	if (!r->rec.uid || !lep_event_fill(r->event, &r->rec, child_for(&r->rec), NULL)) {
		free(r->event);
		return;
	}
	if (r->event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		lep_id_destroy(lep_to_id(r->event->event.id));
	lep_event_ack(r->event);
}

/* Reads one record. Returns false if there is no event for the program in it. */
static bool read_event(struct rdma_event_channel *channel, struct reader *r, int *ret)
{
	r->rec = (struct rdma_ep_channel_event){};
	*ret = lep_read_record(channel->fd, &r->rec, sizeof(r->rec), read_cancelled, r);
	return *ret || lep_event_fill(r->event, &r->rec, child_for(&r->rec), NULL);
}

/* Takes the next event. Blocks in read(2), which is a cancellation point. */
int lep_channel_get_event(struct rdma_event_channel *channel,
			  struct rdma_cm_event **out)
{
	struct reader r;
	int ret;

	if (!channel || !out)
		return lep_err(EINVAL);
	if (lep_channel_inherited(channel))
		return lep_err(EBADF);
	r.event = lep_event_alloc();
	if (!r.event)
		return -1;

	while (!read_event(channel, &r, &ret))
		memset(r.event, 0, sizeof(*r.event));
	if (ret)
		return lep_free_err(r.event);
	*out = &r.event->event;
	return 0;
}

/* rdma_get_cm_event(3) */
LEP_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel,
				 struct rdma_cm_event **event)
{
	if (lep_real_calls())
		return lep_forward_cm(-1, rdma_get_cm_event, channel, event);
	return lep_channel_get_event(channel, event);
}

int lep_id_write_event(struct lep_id *id, uint32_t event, int status,
		       uint64_t arg)
{
	struct rdma_ep_cmd_write_event cmd = {
		.id = id->handle,
		.event = event,
		.status = status,
		.arg = arg,
	};

	return lep_call(id->session, WRITE_EVENT, &cmd) ? -1 : 0;
}

/*
 * Execute a command that waits, as a cancellation point like read(2). The C library's
 * ioctl(2) is no cancellation point. cancelled() runs if the thread is cancelled. The
 * kernel may have executed the command by then: the results in the command show whether it
 * has.
 */
int lep_ioctl_cancelable(int fd, unsigned long request, void *cmd,
			 void (*cancelled)(void *arg), void *arg)
{
	int ret, type;

	pthread_cleanup_push(cancelled, arg);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = ioctl(fd, request, cmd);
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(0);
	return ret;
}

/* If the allocation fails, the ioctl does not wait, and the event stays in the channel. */
void lep_await_init(struct lep_await *wait, struct lep_id *id, uint32_t *flags,
		    struct rdma_ep_await *await)
{
	wait->id = id;
	wait->await = await;
	wait->error = 0;
	wait->event = id->sync ? lep_event_alloc() : NULL;
	if (!wait->event)
		return;
	*flags |= RDMA_EP_AWAIT;
	await->event = (uintptr_t)&wait->rec;
	await->channel_fd = id->id.channel ? id->id.channel->fd : -1;
}

/* Replaces id.event by the event that has arrived. */
static bool show_event(struct lep_await *wait)
{
	lep_id_drop_event(wait->id);
	if (wait->await->state == RDMA_EP_AWAIT_EVENT) {
		lep_written(&wait->rec, sizeof(wait->rec));
		if (lep_event_fill(wait->event, &wait->rec,
				   child_for(&wait->rec), NULL)) {
			wait->id->id.event = &wait->event->event;
			return true;
		}
	}
	free(wait->event);
	return false;
}

/* Keeps an event that the kernel has delivered in id.event, as it must be acknowledged. */
static void wait_cancelled(void *arg)
{
	struct lep_await *wait = arg;

	if (wait->await->state == RDMA_EP_AWAIT_EVENT)
		show_event(wait);
	else
		free(wait->event);
}

/* Returns 0 if the kernel has executed the command, even if the wait has failed. */
int lep_await_ioctl(struct lep_await *wait, unsigned long request, void *cmd)
{
	int fd = wait->id->session->fd;

	if (!wait->event)
		return ioctl(fd, request, cmd);
	if (!lep_ioctl_cancelable(fd, request, cmd, wait_cancelled, wait))
		return 0;
	wait->error = errno;
	return wait->await->state ? 0 : lep_free_err(wait->event);
}

/* The result of a call that ends with the event. */
int lep_event_status(const struct rdma_cm_event *event)
{
	if (!event->status)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return lep_err(ECONNREFUSED);
	return lep_err(abs(event->status));
}

/*
 * Ends a call on a synchronous id with the next event, of any type. The event stays in
 * id.event until the next such call.
 */
int lep_id_await_event(struct lep_id *id)
{
	if (!id->sync)
		return 0;
	lep_id_drop_event(id);
	return lep_channel_get_event(id->id.channel, &id->id.event) ?
		-1 : lep_event_status(id->id.event);
}

/* The same after lep_call_await(). */
int lep_await_finish(struct lep_await *wait)
{
	if (!wait->event)
		return lep_id_await_event(wait->id);
	if (show_event(wait))
		return lep_event_status(wait->id->id.event);
	/* With SA_RESTART the kernel itself has continued the wait after a signal. */
	return wait->error ? lep_err(wait->error) : lep_id_await_event(wait->id);
}

/* rdma_write_cm_event(3) */
LEP_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id,
				   enum rdma_cm_event_type event, int status,
				   uint64_t arg);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_write_cm_event, id, event, status,
				      arg);
	if (!id || (int)event != RDMA_EP_CM_EVENT_USER)
		return lep_err(EINVAL);
	return lep_id_write_event(lep_to_id(id), event, status, arg);
}
