/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user face: sessions, handles and everything that user space can touch.
 *
 * Objects and handles
 * -------------------
 * A handle table entry and whoever works on an object hold references
 * (uep_obj.ref). An object is reserved in the table while it is being made, and
 * published when the whole command has succeeded and its results are with the
 * user. Destroying claims it first: uep_obj.users goes from 0 to -1 for exactly
 * one destroyer, and objects that depend on it take part in that counter, so
 * that "in use" is decided here and never by the core. Lookups are RCU, objects
 * are freed after a grace period.
 *
 * Locks, outermost first (those of the engine see engine/engine.h)
 * ----------------------
 *  ep_id.lock ...            engine
 *   uep_session.ctx_lock     default contexts
 *   uep_session.ev_lock      queues of CM events, what channel an id reports to
 *  uep_cq.poll_lock          one poller at a time, order of completions
 *   uep_wq.lock              slots; held across ib_post_*
 *    uep_comp_channel.lock,  taken by completion and event handlers in any
 *    uep_async_queue.lock    context: leaf, interrupts off
 */
#ifndef RDMA_EP_CHARDEV_H
#define RDMA_EP_CHARDEV_H

#include <linux/file.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/rdma_ep.h>

#include "../engine/engine.h"

/* Limits on single queues; the device's own may be lower. */
#define UEP_MAX_WR		65536U
#define UEP_MAX_CQE		(1U << 18)
#define UEP_MAX_POST_BYTES	65536U
#define UEP_MAX_BACKLOG		1024U

struct uep_session;
struct uep_cmd;
struct uep_event;

/* ------------------------------------------------------------------ */
/* Quotas (quota.c)                                                   */
/* ------------------------------------------------------------------ */

/* What one user's sessions hold together. */
struct uep_user;

struct uep_user *uep_user_get(kuid_t uid);
void uep_user_put(struct uep_user *user);
int uep_charge(struct uep_session *s, u64 queue_bytes);
void uep_uncharge(struct uep_session *s, u64 queue_bytes);
void uep_quota_query(struct rdma_ep_query *q);

/* ------------------------------------------------------------------ */
/* Sessions and objects (session.c)                                   */
/* ------------------------------------------------------------------ */

/**
 * struct uep_session - one open of the device
 * @ref: the file, its objects and its channels
 * @objs: handle table
 * @qps: QPs by device index and QP number
 * @ev_lock: all CM event queues of the session and uep_id.chan
 * @ctx_lock: @default_ctxs
 * @default_ctxs: default contexts by device index
 * @user: whose quota it uses
 * @nr_objs: objects charged
 * @queue_bytes: queue memory charged
 * @dead: the file has been released (@ev_lock)
 * @release_work: destroys everything
 */
struct uep_session {
	struct kref ref;
	struct xarray objs;
	struct xarray qps;
	spinlock_t ev_lock;
	struct mutex ctx_lock;
	struct xarray default_ctxs;
	struct uep_user *user;
	atomic_t nr_objs;
	atomic64_t queue_bytes;
	bool dead;
	struct work_struct release_work;
};

struct uep_obj;

/**
 * struct uep_obj_type - how objects of a type end
 * @destroy: the object has been claimed: end it, let go of the use of others
 *	(uep_obj_unuse()), write what the user is told. Also called for objects
 *	whose creation failed half-way
 * @free: the last reference is gone: put those others, kfree_rcu() the memory.
 *	Process context. May come long after @destroy if the device is going away
 */
struct uep_obj_type {
	enum rdma_ep_obj_type type;
	void (*destroy)(struct uep_obj *obj, struct rdma_ep_destroy *out);
	void (*free)(struct uep_obj *obj);
};

/**
 * struct uep_obj - what a handle names
 * @ref: references
 * @rcu: delays the free
 * @type: type
 * @session: session (holds a reference)
 * @handle: handle, 0 if none
 * @users: objects that depend on this one; -1 claimed for destruction
 * @queue_bytes: charged with the object
 */
struct uep_obj {
	struct kref ref;
	struct rcu_head rcu;
	const struct uep_obj_type *type;
	struct uep_session *session;
	u32 handle;
	atomic_t users;
	u64 queue_bytes;
};

void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type,
		    size_t size, u64 queue_bytes);
void uep_obj_get(struct uep_obj *obj);
void uep_obj_put(struct uep_obj *obj);
struct uep_obj *uep_obj_lookup(struct uep_session *s, u32 handle,
			       enum rdma_ep_obj_type type);
bool uep_obj_ended(struct uep_obj *obj);
bool uep_obj_hold(struct uep_obj *obj);
void uep_obj_unuse(struct uep_obj *obj);
void uep_obj_unhold(struct uep_obj *obj);
struct uep_obj *uep_obj_use(struct uep_session *s, u32 handle,
			    enum rdma_ep_obj_type type);
int uep_obj_reserve(struct uep_obj *obj);
void uep_obj_publish(struct uep_obj *obj);
void uep_obj_discard(struct uep_obj *obj);
int uep_destroy(struct uep_cmd *cmd);

struct uep_session *uep_session_create(void);
void uep_session_get(struct uep_session *s);
void uep_session_put(struct uep_session *s);
void uep_session_release(struct uep_session *s);
int uep_session_init(void);
void uep_session_cleanup(void);

/* ------------------------------------------------------------------ */
/* Commands (main.c)                                                  */
/* ------------------------------------------------------------------ */

#define UEP_CMD_MAX_OBJS	4
#define UEP_CMD_MAX_FDS		4

/**
 * struct uep_cmd - a command being executed
 * @s: session
 * @arg: the command's structure, copied in; copied out afterwards
 * @objs: objects that the command made; published if all goes well
 * @files: files that the command made, with the numbers they will have
 * @event: event that the command took from a channel; put back if it fails
 */
struct uep_cmd {
	struct uep_session *s;
	void *arg;
	struct uep_obj *objs[UEP_CMD_MAX_OBJS];
	int nr_objs;
	struct {
		struct file *file;
		int fd;
	} files[UEP_CMD_MAX_FDS];
	int nr_files;
	struct uep_event *event;
};

void uep_cmd_rollback(struct uep_cmd *cmd, int nr_objs, int nr_files);
int uep_cmd_add_obj(struct uep_cmd *cmd, struct uep_obj *obj);
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv);

/* ------------------------------------------------------------------ */
/* Asynchronous events (async.c)                                      */
/* ------------------------------------------------------------------ */

/**
 * struct uep_async_queue - asynchronous events of a context
 * @ref: the context and its files
 * @lock: everything below; taken in any context
 * @nodes: nodes with unread events
 * @wait: readers
 * @dead: the context is gone
 */
struct uep_async_queue {
	struct kref ref;
	spinlock_t lock;
	struct list_head nodes;
	wait_queue_head_t wait;
	bool dead;
};

/**
 * struct uep_async_node - unread events of one object or port
 * @entry: in uep_async_queue.nodes while @pending
 * @pending: bit mask of event types
 * @reported: events that have been read
 * @closed: the object is gone; drop late events
 * @uid: what the user knows it by
 */
struct uep_async_node {
	struct list_head entry;
	u32 pending;
	u32 reported;
	bool closed;
	u64 uid;
};

struct uep_async_queue *uep_async_create(void);
void uep_async_put(struct uep_async_queue *q);
void uep_async_kill(struct uep_async_queue *q);
void uep_async_node_init(struct uep_async_node *node, u64 uid);
void uep_async_post(struct uep_async_queue *q, struct uep_async_node *node,
		    enum ib_event_type event);
u32 uep_async_purge(struct uep_async_queue *q, struct uep_async_node *node);
int uep_async_file(struct uep_cmd *cmd, struct uep_async_queue *q);

/* ------------------------------------------------------------------ */
/* Contexts (ctx.c)                                                   */
/* ------------------------------------------------------------------ */

struct uep_pd;
struct uep_id;

/**
 * struct uep_ctx - a device opened in a session
 * @obj: object; PDs and CQs use it
 * @dev: device
 * @async: its asynchronous events
 * @default_pd: the session's default PD on the device, if this is the default
 *	context
 * @entry: in the list of all contexts
 * @nr_ports: number of @ports
 * @ports: events of the device (0) and its ports
 */
struct uep_ctx {
	struct uep_obj obj;
	struct ep_dev *dev;
	struct uep_async_queue *async;
	struct uep_pd *default_pd;
	struct list_head entry;
	u32 nr_ports;
	struct uep_async_node ports[];
};

struct uep_ctx *uep_ctx_default(struct uep_session *s, struct ep_dev *dev);
struct ep_dev *uep_dev_lookup(u32 index, int *srcu);
int uep_open_device(struct uep_cmd *cmd);
void uep_ctx_event(struct ep_dev *dev, struct ib_event *event);

/* ------------------------------------------------------------------ */
/* PDs, AHs (pd.c), MRs (mr.c)                                        */
/* ------------------------------------------------------------------ */

/**
 * struct uep_pd - protection domain
 * @obj: object; MRs, AHs, SRQs and QPs use it
 * @ctx: context (uses it, unless this is its default PD)
 * @pd: the engine's
 * @mrs: its MRs by lkey, looked up under RCU for every posted entry
 */
struct uep_pd {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct ep_pd pd;
	struct xarray mrs;
};

struct uep_pd *uep_pd_create(struct uep_ctx *ctx);
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle,
			    struct uep_id *id, int *srcu);
int uep_alloc_pd(struct uep_cmd *cmd);

/**
 * struct uep_mr - memory region
 * @obj: object
 * @pd: its PD (uses it)
 * @res: on the device
 * @ibmr: hardware object
 * @iova: first address
 * @length: bytes
 * @writable: has local write access
 */
struct uep_mr {
	struct uep_obj obj;
	struct uep_pd *pd;
	struct ep_res res;
	struct ib_mr *ibmr;
	u64 iova;
	u64 length;
	bool writable;
};

bool uep_mr_driver_ok(const struct ib_device *ibdev);
bool uep_mr_check(struct uep_pd *pd, const struct ib_sge *sge, bool write);
int uep_reg_mr(struct uep_cmd *cmd);

/**
 * struct uep_ah - address handle
 * @obj: object
 * @live: the handle and posts in flight; the last one destroys @ibah
 * @pd: its PD (uses it)
 * @res: on the device
 * @ibah: hardware object
 */
struct uep_ah {
	struct uep_obj obj;
	refcount_t live;
	struct uep_pd *pd;
	struct ep_res res;
	struct ib_ah *ibah;
};

struct uep_ah *uep_ah_get(struct uep_session *s, u32 handle);
void uep_ah_put(struct uep_ah *ah);
int uep_create_ah(struct uep_cmd *cmd);

/* ------------------------------------------------------------------ */
/* Work queues: slots of posted work requests (wq.c)                  */
/* ------------------------------------------------------------------ */

struct uep_slot {
	u64 wr_id;
	u32 next;
	u16 seq;
	bool busy;
	bool signalled;
};

/**
 * struct uep_wq - a send, receive or shared receive queue
 * @lock: everything below; held across ib_post_*, never taken by handlers
 * @id: names the queue in what is given to the driver as wr_id, 0 if none
 * @size: number of @slots
 * @ordered: send queue: completes in order, and only signalled requests
 *	announce it
 * @dead: the queue is being destroyed: no more posts
 * @head: ordered: next slot to use; else: first free slot
 * @tail: ordered: oldest slot in use
 * @used: slots in use
 * @qp_num: QP, 0 for a shared receive queue
 * @slots: what the user posted
 */
struct uep_wq {
	spinlock_t lock;
	u32 id;
	u32 size;
	bool ordered;
	bool dead;
	u32 head;
	u32 tail;
	u32 used;
	u32 qp_num;
	struct uep_slot *slots;
};

int uep_wq_init(struct uep_wq *wq, u32 size, bool ordered);
void uep_wq_stop(struct uep_wq *wq);
void uep_wq_free(struct uep_wq *wq);
int uep_wq_grow(struct uep_wq *wq, u32 size);
bool uep_wq_push(struct uep_wq *wq, u64 wr_id, bool signalled, u64 *cookie);
void uep_wq_pop(struct uep_wq *wq, u64 cookie);
bool uep_wq_complete(u64 cookie, u64 *wr_id, u32 *qp_num);
void uep_wq_cleanup(void);

/* ------------------------------------------------------------------ */
/* CQs (cq.c) and completion channels (comp.c)                        */
/* ------------------------------------------------------------------ */

/**
 * struct uep_comp_channel - completion channel
 * @ref: the file and its CQs
 * @session: session (holds a reference)
 * @rcu: delays the free: a late completion handler may still hold @lock
 * @lock: queue of CQs with unread events; taken in any context
 * @cqs: that queue
 * @wait: readers
 */
struct uep_comp_channel {
	struct kref ref;
	struct rcu_head rcu;
	struct uep_session *session;
	spinlock_t lock;
	struct list_head cqs;
	wait_queue_head_t wait;
};

struct uep_wc_chunk;

/**
 * struct uep_cq - completion queue
 * @obj: object; QPs use it
 * @ctx: context (uses it)
 * @cq: the engine's
 * @uid: the user's cookie
 * @chan: completion channel or NULL
 * @comp_entry: in chan->cqs while @comp_pending
 * @comp_pending: unread completion events (chan->lock)
 * @comp_closed: drop late ones (chan->lock)
 * @comp_reported: read completion events (chan->lock)
 * @async: asynchronous events
 * @poll_lock: serialises polling, protects @held and @nr_held
 * @held: completions that have been taken from the device but not by the user
 * @nr_held: how many
 * @dead: the hardware object is gone (@poll_lock)
 * @qps: QP numbers by address of the QP, for completions of shared receive
 *	queues, which name their QP by a pointer that must not be followed
 */
struct uep_cq {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct ep_cq cq;
	u64 uid;
	struct uep_comp_channel *chan;
	struct list_head comp_entry;
	u32 comp_pending;
	bool comp_closed;
	u32 comp_reported;
	struct uep_async_node async;
	struct mutex poll_lock;
	struct list_head held;
	u32 nr_held;
	bool dead;
	struct xarray qps;
};

struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid,
			     struct uep_comp_channel *chan, u32 cqe,
			     u32 comp_vector);
void uep_cq_drain(struct uep_cq *cq);
int uep_create_cq(struct uep_cmd *cmd);
int uep_resize_cq(struct uep_cmd *cmd);
int uep_poll_cq(struct uep_cmd *cmd);
int uep_notify_cq(struct uep_cmd *cmd);

struct uep_comp_channel *uep_comp_create(struct uep_cmd *cmd, int *fd);
struct uep_comp_channel *uep_comp_get(struct uep_session *s, int fd);
void uep_comp_put(struct uep_comp_channel *chan);
void uep_comp_post(struct uep_cq *cq);
u32 uep_comp_purge(struct uep_cq *cq);
int uep_create_comp_channel(struct uep_cmd *cmd);

/* ------------------------------------------------------------------ */
/* SRQs (srq.c), QPs (qp.c), posting (post.c)                         */
/* ------------------------------------------------------------------ */

/**
 * struct uep_srq - shared receive queue
 * @obj: object; QPs use it
 * @pd: PD (uses it)
 * @srq: the engine's
 * @wq: posted receives
 * @modify_lock: modify and query against destruction
 * @dead: the hardware object is gone or going (@modify_lock)
 * @max_sge: entries per receive
 * @async: asynchronous events
 */
struct uep_srq {
	struct uep_obj obj;
	struct uep_pd *pd;
	struct ep_srq srq;
	struct uep_wq wq;
	struct mutex modify_lock;
	bool dead;
	u32 max_sge;
	struct uep_async_node async;
};

int uep_create_srq(struct uep_cmd *cmd);
int uep_modify_srq(struct uep_cmd *cmd);
int uep_query_srq(struct uep_cmd *cmd);

/**
 * struct uep_qp - queue pair
 * @obj: object
 * @pd: PD (uses it)
 * @send_cq: CQ (uses it)
 * @recv_cq: CQ (uses it)
 * @srq: SRQ or NULL (uses it)
 * @qp: the engine's
 * @sq: posted sends
 * @rq: posted receives, unused with an SRQ
 * @key: index in uep_session.qps
 * @hw_key: index in uep_cq.qps, kept when the hardware object goes
 * @iwarp: iWARP rules apply to work requests
 * @max_msg_size: longest message of the port
 * @async: asynchronous events
 */
struct uep_qp {
	struct uep_obj obj;
	struct uep_pd *pd;
	struct uep_cq *send_cq;
	struct uep_cq *recv_cq;
	struct uep_srq *srq;
	struct ep_qp qp;
	struct uep_wq sq;
	struct uep_wq rq;
	unsigned long key;
	unsigned long hw_key;
	bool iwarp;
	u32 max_msg_size;
	struct uep_async_node async;
};

int uep_qp_make(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
		struct uep_id *id);
struct uep_qp *uep_qp_by_num(struct uep_session *s, struct ep_dev *dev,
			     u32 qp_num);
int uep_create_qp(struct uep_cmd *cmd);
int uep_modify_qp(struct uep_cmd *cmd);
int uep_query_qp(struct uep_cmd *cmd);

int uep_post_send(struct uep_cmd *cmd);
int uep_post_recv(struct uep_cmd *cmd);
int uep_post_srq_recv(struct uep_cmd *cmd);

/* ------------------------------------------------------------------ */
/* CM events (channel.c), ids (id.c), endpoints (ep.c)                */
/* ------------------------------------------------------------------ */

/**
 * struct uep_channel - event channel
 * @ref: the file and its ids
 * @session: session (holds a reference)
 * @events: unread events (session->ev_lock)
 * @wait: readers
 */
struct uep_channel {
	struct kref ref;
	struct uep_session *session;
	struct list_head events;
	wait_queue_head_t wait;
};

/**
 * struct uep_event - an unread event
 * @entry: in uep_channel.events
 * @id: id that it is about; not a reference, the id purges its events
 * @child: new id of a connection request (owns the initial reference)
 * @rec: what the user reads
 */
struct uep_event {
	struct list_head entry;
	struct uep_id *id;
	struct uep_id *child;
	struct rdma_ep_event rec;
};

/**
 * struct uep_id - communication id
 * @obj: object
 * @id: the engine's
 * @chan: where its events go (session->ev_lock; holds a reference)
 * @uid: the user's cookie (session->ev_lock)
 * @accepted: its events are of interest: it was not made by a connection
 *	request, or that has been accepted (session->ev_lock)
 * @gone: being destroyed: queue nothing (session->ev_lock)
 * @events_reported: events that have been read (session->ev_lock)
 * @srq: SRQ of the id (holds a reference; id.lock)
 * @ece: what the peer sent (session->ev_lock)
 */
struct uep_id {
	struct uep_obj obj;
	struct ep_id id;
	struct uep_channel *chan;
	u64 uid;
	bool accepted;
	bool gone;
	u32 events_reported;
	struct uep_srq *srq;
	struct rdma_ucm_ece ece;
};

struct uep_channel *uep_channel_for(struct uep_cmd *cmd, u32 flags, s32 *fd);
void uep_channel_put(struct uep_channel *chan);
bool uep_channel_queue(struct uep_id *id, struct uep_event *ev,
		       struct rdma_cm_id *cm_id);
void uep_channel_purge(struct uep_id *id);
struct uep_channel *uep_channel_move(struct uep_id *id,
				     struct uep_channel *chan, u32 *reported);
struct uep_event *uep_channel_take_of(struct uep_id *id);
void uep_channel_untake(struct uep_event *ev);
void uep_channel_delivered(struct uep_event *ev);
void uep_event_free(struct uep_event *ev);
int uep_create_channel(struct uep_cmd *cmd);
int uep_migrate_id(struct uep_cmd *cmd);

struct uep_id *uep_id_lookup(struct uep_session *s, u32 handle);
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

int uep_create_ep(struct uep_cmd *cmd);
int uep_get_request(struct uep_cmd *cmd);

/* ------------------------------------------------------------------ */
/* Queries (query.c), conversions (attr.c)                            */
/* ------------------------------------------------------------------ */

int uep_query(struct uep_cmd *cmd);
int uep_query_devices(struct uep_cmd *cmd);
int uep_query_device(struct uep_cmd *cmd);
int uep_query_port(struct uep_cmd *cmd);
int uep_query_gid(struct uep_cmd *cmd);
int uep_query_pkey(struct uep_cmd *cmd);

void uep_ah_attr_to_user(struct ib_uverbs_ah_attr *dst,
			 struct rdma_ah_attr *src);
int uep_ah_attr_from_user(struct ib_device *ibdev, struct rdma_ah_attr *dst,
			  const struct ib_uverbs_ah_attr *src);
void uep_qp_attr_to_user(struct ib_uverbs_qp_attr *dst, struct ib_qp_attr *src,
			 int mask);
int uep_qp_attr_from_user(struct uep_qp *qp, struct ib_qp_attr *dst,
			  const struct ib_uverbs_qp_attr *src, int *mask);
void uep_id_info(struct uep_id *id, struct rdma_ep_id_info *info);
void uep_event_fill(struct uep_id *id, struct rdma_ep_event *rec,
		    const struct rdma_cm_event *event);

#endif /* RDMA_EP_CHARDEV_H */
