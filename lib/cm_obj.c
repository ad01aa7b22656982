// SPDX-License-Identifier: BSD-2-Clause
/* The objects of rdma_cm: event channels, ids, events. */
#include "cm.h"

static const char channel_tag;
const char lep_id_tag[1];

/* The caller fills in the file descriptor. */
struct rdma_event_channel *lep_channel_alloc(struct lep_session *session)
{
	struct lep_channel *channel;

	channel = malloc(sizeof(*channel));
	if (!channel)
		return NULL;
	channel->channel.fd = -1;
	channel->tag = &channel_tag;
	channel->session = session;
	return &channel->channel;
}

/* True in a fork()ed child, which would take events away from its parent. */
bool lep_channel_inherited(const struct rdma_event_channel *ch)
{
	const struct lep_channel *channel = (const struct lep_channel *)ch;

	return channel->tag == &channel_tag && lep_inherited(channel->session);
}

/* Destroys a channel of any library. */
void lep_channel_destroy(struct rdma_event_channel *channel)
{
	if (!channel)
		return;
	lep_close_fd(channel->fd);
	free(channel);
}

/* Allocates an id that has no kernel object yet. Its address is the cookie. */
struct lep_id *lep_id_alloc(struct lep_session *session, void *context, int ps,
			    enum ibv_qp_type qp_type)
{
	struct lep_id *id;

	id = calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->tag = lep_id_tag;
	id->session = session;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	pthread_mutex_init(&id->mutex, NULL);
	pthread_cond_init(&id->cond, NULL);
	return id;
}

/* The same with a private channel, for synchronous operation. */
struct lep_id *lep_id_alloc_sync(struct lep_session *session, void *context, int ps,
				 enum ibv_qp_type qp_type)
{
	struct lep_id *id = lep_id_alloc(session, context, ps, qp_type);

	if (!id)
		return NULL;
	id->id.channel = lep_channel_alloc(session);
	id->sync = id->id.channel;
	if (id->sync)
		return id;
	lep_id_free(id);
	return NULL;
}

/* Frees the memory and the private channel of an id, but no kernel object. */
void lep_id_free(struct lep_id *id)
{
	int error = errno;

	if (!id)
		return;
	lep_owner_clear_qp(&id->owner);
	if (id->sync)
		lep_channel_destroy(id->id.channel);
	lep_mcast_free_all(id);
	lep_id_drop_addrinfo(id);
	pthread_cond_destroy(&id->cond);
	pthread_mutex_destroy(&id->mutex);
	free(id->saved_attr);
	free(id->connect);
	free(id);
	errno = error;
}

/*
 * Copy the addresses and the device from the kernel. When the id is first bound to a
 * device, it gets the context and default PD that all ids on the device share.
 */
int lep_id_set_info(struct lep_id *id, const struct rdma_ep_id_info *info)
{
	struct rdma_route *route = &id->id.route;
	struct ibv_context *context;
	struct lep_device *dev;
	struct ibv_pd *pd;
	int i;

	_Static_assert(sizeof(info->src) == sizeof(route->addr.src_storage),
		       "sockaddr_storage");
	if (info->src.ss_family)
		memcpy(&route->addr.src_storage, &info->src, sizeof(info->src));
	if (info->dst.ss_family)
		memcpy(&route->addr.dst_storage, &info->dst, sizeof(info->dst));
	if (!info->dev_index)
		return 0;

	if (!id->has_device) {
		dev = lep_device_get(id->session, info->dev_index);
		if (!dev ||
		    lep_device_default(id->session, dev, &context, &pd))
			return -1;
		id->has_device = true;
		id->id.verbs = context;
		if (!id->id.pd)
			id->id.pd = pd;
	}
	id->id.port_num = info->port_num;
	route->addr.addr.ibaddr.pkey = info->pkey;
	memcpy(route->addr.addr.ibaddr.sgid.raw, info->sgid,
	       sizeof(info->sgid));
	memcpy(route->addr.addr.ibaddr.dgid.raw, info->dgid,
	       sizeof(info->dgid));

	/* iWARP has no path records. */
	if (id->id.verbs->device->transport_type == IBV_TRANSPORT_IB &&
	    info->num_paths) {
		for (i = 0; i < info->num_paths && i < 2; i++)
			lep_path_from_uapi(&id->path[i], &info->path[i]);
		route->path_rec = id->path;
		route->num_paths = i;
	}
	return 0;
}

int lep_id_query(struct lep_id *id, struct rdma_ep_cmd_query_id *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->id = id->handle;
	return lep_call(id->session, QUERY_ID, cmd) ? -1 : 0;
}

/* Queries the attributes for the transition of a QP to attr->qp_state. */
int lep_id_init_qp_attr(struct lep_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct rdma_ep_cmd_init_qp_attr cmd = {
		.id = id->handle,
		.qp_state = attr->qp_state,
	};

	if (lep_call(id->session, INIT_QP_ATTR, &cmd))
		return -1;
	lep_qp_attr_from_uapi(attr, &cmd.attr);
	*mask = cmd.attr.qp_attr_mask;
	return 0;
}

/* Ends rdma_resolve_addrinfo() without a result, or with one that was not queried. */
void lep_id_drop_addrinfo(struct lep_id *id)
{
	struct rdma_addrinfo *info;

	pthread_mutex_lock(&id->mutex);
	info = id->resolved;
	id->resolved = NULL;
	id->resolving = false;
	pthread_mutex_unlock(&id->mutex);
	lep_addrinfo_free(info);
}

struct lep_event *lep_event_alloc(void)
{
	return calloc(1, sizeof(struct lep_event));
}

/*
 * Count the acknowledgment of an event of the id, and of its membership mcast unless that
 * is NULL. rdma_leave_multicast() may free mcast as soon as id->mutex is released.
 */
void lep_id_count_ack(struct lep_id *id, struct lep_mcast *mcast)
{
	pthread_mutex_lock(&id->mutex);
	id->acked++;
	if (mcast)
		mcast->acked++;
	pthread_cond_broadcast(&id->cond);
	pthread_mutex_unlock(&id->mutex);
}

/*
 * The listening id counts a connection request. No id counts an event that the library has
 * generated.
 */
void lep_event_ack(struct lep_event *event)
{
	if (event->charged)
		lep_id_count_ack(event->charged, event->mcast);
	free(event);
}

/* Acknowledges the event in id.event of a synchronous id. */
void lep_id_drop_event(struct lep_id *id)
{
	if (!id->id.event)
		return;
	lep_event_ack((struct lep_event *)id->id.event);
	id->id.event = NULL;
}
