/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Communication ids, their events, and the commands on them. ../core/core.h has the rules of
 * lifetimes and the order of locks.
 */
#ifndef RDMA_EP_CM_H
#define RDMA_EP_CM_H

#include "../core/core.h"

struct uep_srq;

/* Event channel */
struct uep_channel {
	/* Its file and its ids hold references; the records are unread events (ev_lock) */
	struct uep_queue q;
	struct list_head ids;		/* published ids that report to it (ev_lock) */
	/* Its file has been closed: ids that move to it are destroyed (ev_lock) */
	bool closed;
	bool private;			/* created with an id, or by its migration */
	struct work_struct end_work;	/* destroys @ids (holds a reference while it is queued) */
};

/* An unread event */
struct uep_event {
	struct list_head entry;		/* in uep_channel.q.records */
	struct list_head own;		/* in uep_id.events */
	struct uep_id *id;		/* no reference, as the id purges its events */
	struct uep_id *child;		/* new id of a connection request (initial reference) */
	struct uep_mcast *mcast;	/* of the event (holds a reference), or NULL */
	bool charged;			/* written by the user, charged to the quota as an object */
	/* Record for the user; rec.info is there only with uep_event_has_info() */
	struct rdma_ep_channel_event rec;
};

/* Communication id (ev_lock: uep_session.ev_lock) */
struct uep_id {
	struct uep_obj obj;
	struct ep_id id;		/* the engine's */
	/* Channel of its events (holds a reference; ev_lock). NULL: its request is unread */
	struct uep_channel *chan;
	/*
	 * In uep_channel.ids from publication to destruction, or in the list of
	 * uep_channel_end_work() (ev_lock)
	 */
	struct list_head chan_entry;
	/* Its unread events, as the channel may have many of other ids (ev_lock) */
	struct list_head events;
	u32 nr_events;			/* number of @events */
	u32 nr_reserved;		/* number of those with reserved room */
	u64 uid;			/* the user's cookie (ev_lock) */
	/* Events are queued: it is not of a connection request, or of an accepted one (ev_lock) */
	bool accepted;
	bool dying;			/* being destroyed: no event is queued (ev_lock) */
	bool chan_ends;			/* uep_channel_end_work() destroys it (ev_lock) */
	int last;			/* latest event for fdinfo; -1: none */
	u32 events_reported;		/* number of read events (ev_lock) */
	bool own_path;			/* the user has set its path (id.lock) */
	bool both_families;		/* the user has set RDMA_OPTION_ID_AFONLY to 0 (id.lock) */
	struct uep_srq *srq;		/* holds a reference (id.lock) */
	/* Of the task that listens, if the id is bound to no device (before it listens: id.lock) */
	const struct cred *cred;
	struct uep_group *group;	/* cgroup of that task (holds a reference; as @cred) */
	struct rdma_ucm_ece ece;	/* received from the peer (ev_lock) */
};

/* Membership of an id in a multicast group */
struct uep_mcast {
	struct uep_obj obj;
	/* Id (holds a reference, but is no user of it: the id may be destroyed first) */
	struct uep_id *id;
	struct ep_mcast mc;		/* the engine's */
	bool joined;			/* the group is to be left */
	u64 uid;			/* the user's cookie (ev_lock) */
	u32 events_reported;		/* number of read events (ev_lock) */
};

/* Room for unread events of an id: established, disconnected, timewait exit, device removal */
#define UEP_ID_RESERVED_EVENTS	4U

/* attr.c */
void uep_id_info(struct uep_id *id, struct rdma_ep_id_info *info);
bool uep_event_has_info(enum rdma_cm_event_type type);
void uep_event_fill(struct uep_id *id, struct rdma_ep_channel_event *rec,
		    const struct rdma_cm_event *event);

/* event.c */
struct uep_event *uep_event_alloc(enum rdma_cm_event_type type);
int uep_event_to_user(void __user *buf, const struct uep_event *ev);
void uep_event_copy(struct rdma_ep_channel_event *rec, const struct uep_event *ev);
void uep_event_free(struct uep_event *ev);
bool uep_event_stale(const struct uep_event *ev);
bool uep_event_count(struct uep_event *ev, bool force);
void uep_event_uncount(struct uep_event *ev);
bool uep_event_queue(struct uep_id *id, struct uep_event *ev, struct rdma_cm_id *cm_id);
void uep_id_set_uid(struct uep_id *id, struct uep_mcast *mcast, u64 uid, bool forget);
void uep_events_purge(struct uep_id *id, struct uep_mcast *mcast);

/* channel.c */
struct uep_queue *uep_id_queue(struct uep_id *id);
void uep_id_refuse(struct uep_obj *obj);
void uep_id_publish(struct uep_obj *obj);
void uep_id_unclaim(struct uep_obj *obj);
struct uep_channel *uep_channel_alloc(struct uep_session *s);
struct uep_channel *uep_channel_for(struct uep_cmd *cmd, u32 flags, s32 *fd);
void uep_cmd_move(struct uep_cmd *cmd, struct uep_id *id, struct uep_channel *chan, u32 *reported);
struct uep_event *uep_cmd_await_event(struct uep_cmd *cmd, int fd);
struct uep_event *uep_cmd_dequeue_event(struct uep_cmd *cmd, struct uep_id *id);
uep_cmd_fn uep_create_channel;

/* access.c */
int uep_id_check_access(const struct uep_id *id);
int uep_id_check_listen(const struct uep_id *id);
int uep_id_check_peer(const struct uep_id *id);
int uep_id_may_route(struct ep_id *eid);
bool uep_id_may_route_unasked(struct ep_id *eid);

/* id.c */
void uep_cmd_own(struct uep_cmd *cmd, struct uep_id *id);
struct uep_id *uep_id_alloc(struct uep_session *s);
struct uep_id *uep_id_begin(struct uep_session *s, u32 handle);
struct uep_id *uep_id_begin_bound(struct uep_session *s, u32 handle);
int uep_id_end(struct uep_id *id, int ret);
int uep_id_keep_rights(struct uep_id *id);
void uep_id_report(struct uep_id *id, struct uep_event *ev, enum rdma_cm_event_type type);
void uep_id_count_event(const struct uep_id *id, enum rdma_cm_event_type event);
struct uep_id *uep_id_create(struct uep_cmd *cmd, u32 flags, u64 uid,
			     s32 *channel_fd, u32 ps, u32 qp_type);
struct sockaddr *uep_sockaddr(struct __kernel_sockaddr_storage *ss);
uep_cmd_fn uep_create_id, uep_bind_addr, uep_resolve_addr, uep_resolve_route, uep_migrate_id;
uep_cmd_fn uep_query_id, uep_write_event;

/* conn.c */
uep_cmd_fn uep_listen, uep_connect, uep_accept, uep_reject, uep_disconnect, uep_establish;
uep_cmd_fn uep_init_qp_attr, uep_notify;

/* split.c */
int uep_cmd_split(struct uep_cmd *cmd, u32 handle, struct uep_session *to, struct uep_obj **part);

/* option.c, mcast.c, qp_create.c, srq_create.c, ep.c */
int uep_qp_create(struct uep_cmd *cmd, struct rdma_ep_qp_init *init, struct uep_id *id);
uep_cmd_fn uep_set_option, uep_join_multicast, uep_create_qp, uep_create_srq;
uep_cmd_fn uep_create_ep, uep_get_request, uep_destroy_ep;

#endif /* RDMA_EP_CM_H */
