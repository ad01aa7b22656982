// SPDX-License-Identifier: BSD-2-Clause
/* Event channels and communication ids. */
#include <endian.h>
#include <netinet/in.h>

#include "internal.h"

static const char channel_tag;

/* The file descriptor is filled in later. */
struct rdma_event_channel *lep_channel_alloc(void)
{
	struct lep_session *session = lep_session_get();
	struct lep_channel *channel;

	if (!session)
		return NULL;
	channel = malloc(sizeof(*channel));
	if (!channel)
		return NULL;
	channel->channel.fd = -1;
	channel->tag = &channel_tag;
	channel->session = session;
	return &channel->channel;
}

/* Reading a parent's channel would take its events away from it. */
bool lep_channel_inherited(const struct rdma_event_channel *ch)
{
	const struct lep_channel *channel = (const struct lep_channel *)ch;

	return channel->tag == &channel_tag && lep_inherited(channel->session);
}

/* rdma_create_event_channel(3) */
LEP_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_ep_create_fd cmd = {};
	struct rdma_event_channel *channel;
	struct lep_session *session;
	int error;

	if (lep_real_calls())
		return lep_forward_cm(NULL, rdma_create_event_channel);
	if (lep_session_get_cm(&session))
		return NULL;
	channel = lep_channel_alloc();
	if (!channel)
		return NULL;
	if (lep_call(session, CREATE_CHANNEL, &cmd)) {
		error = errno;
		free(channel);
		return lep_null(error);
	}
	channel->fd = cmd.fd;
	return channel;
}

/* rdma_destroy_event_channel(3), whichever library's channel it is. */
LEP_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (!channel)
		return;
	lep_close_fd(channel->fd);
	free(channel);
}

const char lep_id_tag[1];

/* An id that the kernel does not know yet; its address is the cookie. */
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

/* Gives back the memory only, with the private channel of a synchronous id. */
void lep_id_free(struct lep_id *id)
{
	int error = errno;

	if (!id)
		return;
	lep_id_clear_qp(id);
	if (id->sync)
		rdma_destroy_event_channel(id->id.channel);
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
 * Take over what the kernel says the id is bound to. The first time that it is
 * bound to a device, it gets the context and default PD that all ids share.
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

/* channel NULL: on a private channel, for synchronous operation. */
int lep_id_create(struct rdma_event_channel *channel, void *context, int ps,
		  enum ibv_qp_type qp_type, struct rdma_cm_id **out)
{
	struct rdma_ep_create_id cmd = {
		.ps = ps,
		.qp_type = qp_type,
		.channel_fd = -1,
	};
	struct lep_session *session;
	struct lep_id *id;

	if (lep_session_get_cm(&session))
		return -1;
	id = lep_id_alloc(session, context, ps, qp_type);
	if (!id)
		return -1;
	if (channel) {
		id->id.channel = channel;
		cmd.channel_fd = channel->fd;
	} else {
		id->id.channel = lep_channel_alloc();
		if (!id->id.channel)
			goto err;
		id->sync = true;
		cmd.flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	}

	cmd.uid = (uintptr_t)id;
	if (lep_call(session, CREATE_ID, &cmd))
		goto err;
	id->handle = cmd.id;
	if (id->sync)
		id->id.channel->fd = cmd.channel_fd;
	*out = &id->id;
	return 0;

err:
	lep_id_free(id);
	return -1;
}

/* rdma_create_id(3) */
LEP_EXPORT int rdma_create_id(struct rdma_event_channel *channel,
			      struct rdma_cm_id **id, void *context,
			      enum rdma_port_space ps)
{
	bool datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;

	if (!id)
		return lep_err(EINVAL);
	if (lep_real_calls())
		return lep_forward_cm(-1, rdma_create_id, channel, id, context,
				      ps);
	return lep_id_create(channel, context, ps,
			     datagram ? IBV_QPT_UD : IBV_QPT_RC, id);
}

/* Acknowledge the event that a synchronous id shows. */
void lep_id_drop_event(struct rdma_cm_id *id)
{
	if (!id->event)
		return;
	rdma_ack_cm_event(id->event);
	id->event = NULL;
}

/* The kernel has destroyed it: waits until all its events have been acknowledged. */
void lep_id_release(struct lep_id *id, uint32_t events)
{
	lep_id_drop_event(&id->id);
	lep_wait_acked(&id->mutex, &id->cond, &id->acked, events);
	lep_id_free(id);
}

/* rdma_destroy_id(3): waits until all its events have been acknowledged. */
LEP_EXPORT int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct lep_id *id = lep_to_id(cm_id);
	uint32_t events;

	if (!id)
		return lep_err(EINVAL);
	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_destroy_id, cm_id);
	lep_mcast_leave_all(id);
	if (lep_obj_destroy(id->session, RDMA_EP_OBJ_ID, id->handle, &events, NULL))
		return -1;
	lep_id_release(id, events);
	return 0;
}

int lep_id_bind(struct lep_id *id, const struct sockaddr *addr, socklen_t len)
{
	struct rdma_ep_bind_addr cmd = { .id = id->handle };

	if (lep_addr_to_uapi(&cmd.addr, addr, len))
		return -1;
	if (lep_call(id->session, BIND_ADDR, &cmd))
		return -1;
	return lep_id_set_info(id, &cmd.info);
}

/* rdma_bind_addr(3) */
LEP_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	socklen_t len = lep_addr_len(addr);

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_bind_addr, id, addr);
	if (!id || !len)
		return lep_err(EINVAL);
	return lep_id_bind(lep_to_id(id), addr, len);
}

/* rdma_set_option(3) */
LEP_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
			       void *optval, size_t optlen)
{
	struct rdma_ep_set_option cmd = {
		.level = level,
		.optname = optname,
		.optlen = optlen,
		.optval = (uintptr_t)optval,
	};

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_set_option, id, level, optname,
				      optval, optlen);
	if (!id || optlen > UINT32_MAX)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	return lep_call(lep_to_id(id)->session, SET_OPTION, &cmd) ? -1 : 0;
}

/*
 * rdma_migrate_id(3). The kernel moves unread events along; those that were read
 * from the old channel must have been acknowledged before this returns.
 */
LEP_EXPORT int rdma_migrate_id(struct rdma_cm_id *cm_id,
			       struct rdma_event_channel *channel)
{
	struct rdma_event_channel *own = NULL;
	struct rdma_ep_migrate_id cmd = {};
	struct lep_id *id = lep_to_id(cm_id);
	int error;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_migrate_id, cm_id, channel);
	if (!id || (id->sync && !channel))
		return lep_err(EINVAL);

	cmd.id = id->handle;
	cmd.channel_fd = -1;
	if (channel) {
		cmd.channel_fd = channel->fd;
	} else {
		own = lep_channel_alloc();
		if (!own)
			return -1;
		cmd.flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	}
	if (lep_call(id->session, MIGRATE_ID, &cmd)) {
		error = errno;
		free(own);
		return lep_err(error);
	}
	if (own)
		own->fd = cmd.channel_fd;

	if (id->sync) {
		lep_id_drop_event(cm_id);
		rdma_destroy_event_channel(cm_id->channel);
	}
	id->sync = own;
	cm_id->channel = own ? own : channel;
	lep_wait_acked(&id->mutex, &id->cond, &id->acked, cmd.events_reported);
	return 0;
}

int lep_id_query(struct lep_id *id, struct rdma_ep_query_id *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->id = id->handle;
	return lep_call(id->session, QUERY_ID, cmd) ? -1 : 0;
}

static __be16 port_of(const struct sockaddr_storage *addr)
{
	__be64 sid;

	switch (addr->ss_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	case AF_IB:
		/* The low bits of sib_sid, behind family, P_Key, flow and GID */
		memcpy(&sid, (const char *)addr + 24, sizeof(sid));
		return htobe16((uint16_t)be64toh(sid));
	default:
		return 0;
	}
}

/* rdma_get_src_port(3), whichever library's id it is; so the next one. */
LEP_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id ? port_of(&id->route.addr.src_storage) : 0;
}

/* rdma_get_dst_port(3) */
LEP_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id ? port_of(&id->route.addr.dst_storage) : 0;
}

/* rdma_set_local_ece(3): to be sent for a QP that is not the id's own. */
LEP_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_set_local_ece, id, ece);
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return lep_err(EINVAL);
	lep_to_id(id)->local_ece = *ece;
	return 0;
}

/* rdma_get_remote_ece(3) */
LEP_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	struct rdma_ep_query_id cmd;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_get_remote_ece, id, ece);
	if (!id || id->qp || !ece)
		return lep_err(EINVAL);
	if (lep_id_query(lep_to_id(id), &cmd))
		return -1;
	memset(ece, 0, sizeof(*ece));
	ece->vendor_id = cmd.ece_vendor_id;
	ece->options = cmd.ece_options;
	return 0;
}
