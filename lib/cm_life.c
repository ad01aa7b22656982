// SPDX-License-Identifier: BSD-2-Clause
/* Ids: creation, destruction, migration. */
#include "cm.h"

/* Creates an id. If channel is NULL, the id is synchronous, on a private channel. */
int lep_id_create(struct rdma_event_channel *channel, void *context, int ps,
		  enum ibv_qp_type qp_type, struct lep_id **out)
{
	struct rdma_ep_cmd_create_id cmd = {
		.ps = ps,
		.qp_type = qp_type,
		.channel_fd = -1,
	};
	struct lep_session *session;
	struct lep_id *id;

	if (lep_session_get_cm(&session))
		return -1;
	id = channel ? lep_id_alloc(session, context, ps, qp_type) :
		       lep_id_alloc_sync(session, context, ps, qp_type);
	if (!id)
		return -1;
	if (channel) {
		id->id.channel = channel;
		cmd.channel_fd = channel->fd;
	} else {
		cmd.flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	}

	cmd.uid = (uintptr_t)id;
	if (lep_call(session, CREATE_ID, &cmd)) {
		lep_id_free(id);
		return -1;
	}
	id->handle = cmd.id;
	if (id->sync)
		id->id.channel->fd = cmd.channel_fd;
	*out = id;
	return 0;
}

/* Frees an id that the kernel has destroyed, once all its events are acknowledged. */
void lep_id_release(struct lep_id *id, uint32_t events)
{
	lep_id_drop_event(id);
	lep_wait_acked(&id->mutex, &id->cond, &id->acked, events);
	lep_id_free(id);
}

int lep_id_destroy(struct lep_id *id)
{
	uint32_t events;

	lep_mcast_leave_all(id);
	if (lep_obj_destroy(id->session, RDMA_EP_OBJ_ID, id->handle, &events,
			    NULL))
		return -1;
	lep_id_release(id, events);
	return 0;
}

/*
 * Migrate an id to another channel, or to a private one if channel is NULL. The kernel
 * moves unread events. The call waits for the acknowledgment of events that were read from
 * the old channel.
 */
int lep_id_migrate(struct lep_id *id, struct rdma_event_channel *channel)
{
	struct rdma_ep_cmd_migrate_id cmd = { .id = id->handle, .channel_fd = -1 };
	struct rdma_event_channel *own = NULL;

	if (channel) {
		cmd.channel_fd = channel->fd;
	} else {
		own = lep_channel_alloc(id->session);
		if (!own)
			return -1;
		cmd.flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	}
	if (lep_call(id->session, MIGRATE_ID, &cmd))
		return lep_free_err(own);
	if (own)
		own->fd = cmd.channel_fd;

	if (id->sync) {
		lep_id_drop_event(id);
		lep_channel_destroy(id->id.channel);
	}
	id->sync = own;
	id->id.channel = own ? own : channel;
	lep_wait_acked(&id->mutex, &id->cond, &id->acked, cmd.events_reported);
	return 0;
}
