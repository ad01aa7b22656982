// SPDX-License-Identifier: BSD-2-Clause
/* Event channels and communication ids: the exported functions. */
#include "cm.h"

/* rdma_create_event_channel(3) */
LEP_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_ep_cmd_create_fd cmd = {};
	struct rdma_event_channel *channel;
	struct lep_session *session;

	if (lep_real_calls())
		return lep_forward_cm(NULL, rdma_create_event_channel);
	if (lep_session_get_cm(&session))
		return NULL;
	channel = lep_channel_alloc(session);
	if (!channel)
		return NULL;
	if (lep_call(session, CREATE_CHANNEL, &cmd))
		return lep_free_null(channel);
	channel->fd = cmd.fd;
	return channel;
}

/* rdma_destroy_event_channel(3), whichever library's channel it is. */
LEP_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	lep_channel_destroy(channel);
}

/* rdma_create_id(3) */
LEP_EXPORT int rdma_create_id(struct rdma_event_channel *channel,
			      struct rdma_cm_id **id, void *context,
			      enum rdma_port_space ps)
{
	bool datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct lep_id *ours;

	if (!id)
		return lep_err(EINVAL);
	if (lep_real_calls())
		return lep_forward_cm(-1, rdma_create_id, channel, id, context,
				      ps);
	if (lep_id_create(channel, context, ps,
			  datagram ? IBV_QPT_UD : IBV_QPT_RC, &ours))
		return -1;
	*id = &ours->id;
	return 0;
}

/* rdma_destroy_id(3): waits for the acknowledgment of all its events. */
LEP_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	if (!id)
		return lep_err(EINVAL);
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_destroy_id, id);
	return lep_id_destroy(lep_to_id(id));
}

/* rdma_bind_addr(3) */
LEP_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	socklen_t len = lep_addr_len(addr);
	struct rdma_ep_cmd_bind_addr cmd = {};

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_bind_addr, id, addr);
	if (!id || !len)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	if (lep_addr_to_uapi(&cmd.addr, addr, len) ||
	    lep_call(lep_to_id(id)->session, BIND_ADDR, &cmd))
		return -1;
	return lep_id_set_info(lep_to_id(id), &cmd.info);
}

int lep_id_set_option(struct lep_id *id, int level, int optname, void *optval,
		      size_t optlen)
{
	struct rdma_ep_cmd_set_option cmd = {
		.id = id->handle,
		.level = level,
		.optname = optname,
		.optlen = optlen,
		.optval = (uintptr_t)optval,
	};

	return lep_call(id->session, SET_OPTION, &cmd) ? -1 : 0;
}

/* rdma_set_option(3) */
LEP_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
			       void *optval, size_t optlen)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_set_option, id, level, optname,
				      optval, optlen);
	if (!id || optlen > UINT32_MAX)
		return lep_err(EINVAL);
	return lep_id_set_option(lep_to_id(id), level, optname, optval, optlen);
}

/* rdma_migrate_id(3) */
LEP_EXPORT int rdma_migrate_id(struct rdma_cm_id *id,
			       struct rdma_event_channel *channel)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_migrate_id, id, channel);
	if (!id || (lep_to_id(id)->sync && !channel))
		return lep_err(EINVAL);
	return lep_id_migrate(lep_to_id(id), channel);
}

/* rdma_get_src_port(3). This function and the next one work on ids of any library. */
LEP_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id ? lep_addr_port(&id->route.addr.src_storage) : 0;
}

/* rdma_get_dst_port(3) */
LEP_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id ? lep_addr_port(&id->route.addr.dst_storage) : 0;
}

/* rdma_set_local_ece(3): the options are for a QP that the program creates itself. */
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
	struct rdma_ep_cmd_query_id cmd;

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
