/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Communication ids and their events in the user face, and the commands on them.
 * How they live and lock is in ../core/core.h.
 */
#ifndef RDMA_EP_CM_H
#define RDMA_EP_CM_H

#include "../core/core.h"

struct uep_srq;

/* CM events (channel.c), ids (id.c), endpoints (ep.c) */

/**
 * struct uep_channel - event channel
 * @q: its file and its ids hold references; the records are unread events (session->ev_lock)
 * @ids: the published ids that report to it (session->ev_lock)
 * @closed: its file has been closed: ids that still come here end (session->ev_lock)
 * @end_work: ends @ids (holds a reference while it is queued)
 */
struct uep_channel {
	struct uep_queue q;
	struct list_head ids;
	bool closed;
	struct work_struct end_work;
};

/**
 * struct uep_event - an unread event
 * @entry: in uep_channel.q.records
 * @own: in uep_id.events
 * @id: id that it is about; not a reference, the id purges its events
 * @child: new id of a connection request (owns the initial reference)
 * @mcast: membership that it is about (holds a reference), or NULL
 * @charged: of the user's making, and charged to the quota as an object
 * @rec: what the user reads
 */
struct uep_event {
	struct list_head entry;
	struct list_head own;
	struct uep_id *id;
	struct uep_id *child;
	struct uep_mcast *mcast;
	bool charged;
	struct rdma_ep_event rec;
};

/**
 * struct uep_id - communication id
 * @obj: object
 * @id: the engine's
 * @chan: where its events go (session->ev_lock; holds a reference)
 * @of_chan: in uep_channel.ids from its publication to its end; the task that ends the ids of
 *	a closed channel has those that it has claimed in a list of its own (session->ev_lock)
 * @events: its unread events: the channel may have any number of others'
 *	(session->ev_lock)
 * @nr_events: how many
 * @nr_news: ... of which the CM has told, but for requests
 * @uid: the user's cookie (session->ev_lock)
 * @accepted: its events are of interest: it was not made by a connection
 *	request, or that has been accepted (session->ev_lock)
 * @gone: being destroyed: queue nothing (session->ev_lock)
 * @chan_ends: with its channel (session->ev_lock)
 * @last: latest event, for people to read; -1: none
 * @events_reported: events that have been read (session->ev_lock)
 * @srq: SRQ of the id (holds a reference; id.lock)
 * @ece: what the peer sent (session->ev_lock)
 */
struct uep_id {
	struct uep_obj obj;
	struct ep_id id;
	struct uep_channel *chan;
	struct list_head of_chan;
	struct list_head events;
	u32 nr_events;
	u32 nr_news;
	u64 uid;
	bool accepted;
	bool gone;
	bool chan_ends;
	int last;
	u32 events_reported;
	struct uep_srq *srq;
	struct rdma_ucm_ece ece;
};

/**
 * struct uep_mcast - membership of an id in a multicast group
 * @obj: object
 * @id: id (holds a reference, but does not use it: it may end first)
 * @mc: the engine's
 * @joined: there is something to leave
 * @uid: the user's cookie
 * @events_reported: events that have been read (session->ev_lock)
 */
struct uep_mcast {
	struct uep_obj obj;
	struct uep_id *id;
	struct ep_mcast mc;
	bool joined;
	u64 uid;
	u32 events_reported;
};

/*
 * So many unread events of an id there is always room for: up, down, free again, and its
 * device gone.
 */
#define UEP_ID_NEWS	4U

struct uep_channel *uep_channel_for(struct uep_cmd *cmd, u32 flags, s32 *fd);
bool uep_channel_queue(struct uep_id *id, struct uep_event *ev, struct rdma_cm_id *cm_id);
void uep_channel_purge(struct uep_id *id, struct uep_mcast *mcast);
void uep_cmd_move(struct uep_cmd *cmd, struct uep_id *id, struct uep_channel *chan, u32 *reported);
struct uep_event *uep_cmd_await_event(struct uep_cmd *cmd, int fd);
struct uep_event *uep_cmd_take_event(struct uep_cmd *cmd, struct uep_id *id);
void uep_id_publish(struct uep_obj *obj);
void uep_channel_unclaim(struct uep_id *id);
void uep_event_free(struct uep_event *ev);
bool uep_event_stale(const struct uep_event *ev);
bool uep_event_count(struct uep_event *ev, bool force);
void uep_event_uncount(struct uep_event *ev);
struct uep_channel *uep_event_follow(const struct uep_event *ev, struct uep_channel *chan);
int uep_create_channel(struct uep_cmd *cmd);
int uep_migrate_id(struct uep_cmd *cmd);

void uep_cmd_own(struct uep_cmd *cmd, struct uep_id *id);
void uep_id_refuse(struct uep_obj *obj);
struct uep_id *uep_id_begin(struct uep_session *s, u32 handle);
struct uep_id *uep_id_begin_bound(struct uep_session *s, u32 handle);
int uep_id_end(struct uep_id *id, int ret);
struct uep_id *uep_id_make(struct uep_cmd *cmd, u32 flags, u64 uid,
			   s32 *channel_fd, u32 ps, u32 qp_type);
struct sockaddr *uep_sockaddr(struct __kernel_sockaddr_storage *ss);
int uep_create_id(struct uep_cmd *cmd);
int uep_bind_addr(struct uep_cmd *cmd);
int uep_resolve_addr(struct uep_cmd *cmd);
int uep_resolve_route(struct uep_cmd *cmd);
int uep_listen(struct uep_cmd *cmd);
int uep_connect(struct uep_cmd *cmd);
int uep_accept(struct uep_cmd *cmd);
int uep_reject(struct uep_cmd *cmd);
int uep_disconnect(struct uep_cmd *cmd);
int uep_establish(struct uep_cmd *cmd);
int uep_query_id(struct uep_cmd *cmd);
int uep_set_option(struct uep_cmd *cmd);
int uep_init_qp_attr(struct uep_cmd *cmd);
int uep_notify(struct uep_cmd *cmd);
int uep_write_event(struct uep_cmd *cmd);
int uep_join_multicast(struct uep_cmd *cmd);

int uep_qp_make(struct uep_cmd *cmd, struct rdma_ep_qp_init *init, struct uep_id *id);
int uep_create_qp(struct uep_cmd *cmd);
int uep_create_srq(struct uep_cmd *cmd);

int uep_create_ep(struct uep_cmd *cmd);
int uep_get_request(struct uep_cmd *cmd);
int uep_destroy_ep(struct uep_cmd *cmd);

void uep_id_info(struct uep_id *id, struct rdma_ep_id_info *info);
void uep_event_fill(struct uep_id *id, struct rdma_ep_event *rec,
		    const struct rdma_cm_event *event);

#endif /* RDMA_EP_CM_H */
