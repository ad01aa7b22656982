/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of the character device: commands, sessions, handles, quotas, files that are
 * read by record. It calls nothing of verbs and cm, which embed its structures.
 *
 * Objects and handles
 * -------------------
 * The handle table and each task that works on an object hold references
 * (uep_obj.ref). An object is reserved in the table while it is being made, and
 * published when the whole command has succeeded and its results are with the
 * user. Destroying claims it first: uep_obj.users goes from 0 to -1 for exactly
 * one destroyer, and objects that depend on it take part in that counter, so
 * that "in use" is decided here and never by the core. Lookups are RCU, objects
 * are freed after a grace period.
 *
 * Locks, outermost first (those of the engine see engine/engine.h)
 * ----------------------
 *  uep_session.ending       held while ids of a closed channel end
 *  ep_id.lock ...            engine
 *   uep_session.ctx_lock     default contexts
 *   uep_session.ev_lock      queues of CM events, what channel an id reports to
 *  uep_idle_user.ending      destruction of a user's idle CQs: inside of what is
 *                           above, of what else commands hold while they make objects, and
 *                           of ep_dev_enter()
 *   uep_idle_user.lock      the lists of them (leaf)
 *  uep_cq_hw.poll_lock       one poller at a time, order of completions
 *   uep_wq.lock              slots; held across ib_post_*
 *    uep_cq_hw.lock          whose the CQ is; taken by handlers in any context
 *     uep_queue.lock, the same; leaf, interrupts off
 */
#ifndef RDMA_EP_CORE_H
#define RDMA_EP_CORE_H

#include <linux/file.h>
#include <linux/idr.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include <rdma/rdma_ep.h>

#include "../../engine/engine.h"

/* Limits on single queues; the device's own may be lower. */
#define UEP_MAX_WR		65536U
#define UEP_MAX_CQE		262144U
#define UEP_MAX_POST_BYTES	65536U
#define UEP_MAX_BACKLOG		1024U
#define UEP_MAX_SGE		256U
#define UEP_MAX_INLINE		4096U
/* Unread CM events of a session. */
#define UEP_MAX_EVENTS		65536U
/* Of an id, which may move with them under a lock that the CM's handlers wait for. */
#define UEP_MAX_ID_EVENTS	4096U

struct uep_session;
struct uep_cmd;

/* Users (user.c) and quotas (quota.c) */

/**
 * struct uep_idle_user - a user's CQs that wait to be used again (idle.c)
 * @ending: held while some are being destroyed
 * @lock: the lists, of the sessions too, and what they count
 * @all: of all sessions of the user, the oldest first
 * @nr: how many
 * @work: destroys what has waited long enough (ep_wq)
 */
struct uep_idle_user {
	struct mutex ending;		/* destruction */
	spinlock_t lock;		/* the lists */
	struct list_head all;
	unsigned int nr;
	struct delayed_work work;
};

/* What is counted of a session and of a user */
enum uep_held {
	UEP_OBJS,
	UEP_QUEUE_BYTES,
	UEP_NR_HELD,
};

/**
 * struct uep_user - what one user's sessions hold together
 * @node: with the others who have open sessions (quota.c)
 * @ref: sessions
 * @uid: who
 * @held: charged: objects, sessions and channels; memory of queues
 * @nr_events: unread CM events
 * @pinned_pages: registered
 * @reclaim: gives back what is charged to the user and not in use; returns whether
 *	there was any. Process context, holds uep_idle_user.ending
 * @idle: CQs that wait to be used again
 */
struct uep_user {
	struct hlist_node node;
	refcount_t ref;
	kuid_t uid;
	atomic64_t held[UEP_NR_HELD];
	atomic_t nr_events;
	atomic64_t pinned_pages;
	bool (*reclaim)(struct uep_user *user);
	struct uep_idle_user idle;
};

void uep_quota_init(void);

struct uep_user *uep_user_get(kuid_t uid);
void uep_user_put(struct uep_user *user);
bool uep_user_is_current(const struct uep_user *user);
u64 uep_queue_bytes(u32 nr, u32 size);
int uep_charge(struct uep_session *s, u64 queue_bytes);
int uep_charge_file(struct uep_user *user);
void uep_uncharge_file(struct uep_user *user);
int uep_charge_queues(struct uep_session *s, u64 queue_bytes);
void uep_uncharge_queues(struct uep_session *s, u64 queue_bytes);
void uep_uncharge(struct uep_session *s, u64 queue_bytes);
int uep_charge_pages(struct uep_session *s, u64 nr);
void uep_uncharge_pages(struct uep_session *s, u64 nr);
bool uep_count_event(struct uep_session *s, bool force);
void uep_uncount_event(struct uep_session *s);
void uep_quota_query(struct rdma_ep_query *q);
void uep_quota_show(struct seq_file *m, struct uep_session *s);

/* CQs that wait to be used again (idle.c) */

/**
 * struct uep_idle - something of the device that nobody uses
 * @end: destroys it; process context. Set by the owner, the rest is idle.c's
 * @entry: in uep_session.idle
 * @all: in the list of all sessions of the user
 * @session: whose it was
 * @bytes: charged to it
 * @until: jiffies
 */
struct uep_idle {
	void (*end)(struct uep_idle *idle);
	struct list_head entry;
	struct list_head all;
	struct uep_session *session;
	u64 bytes;
	unsigned long until;
};

void uep_idle_flush(const struct uep_session *s);
bool uep_idle_flush_user(struct uep_user *user);
bool uep_idle_room(const struct uep_session *s, u64 bytes);
bool uep_idle_add(struct uep_idle *idle, struct uep_session *s, u64 bytes);
struct uep_idle *uep_idle_take(struct uep_session *s,
			       bool (*match)(struct uep_idle *idle,
					     const void *arg), const void *arg);
void uep_idle_init(struct uep_user *user);
void uep_idle_cleanup(struct uep_user *user);

/* Sessions (session_ref.c) and objects (object.c) */

/**
 * struct uep_traffic - what has been posted to a queue
 * @posted: work requests
 * @bytes: the data that they name
 */
struct uep_traffic {
	u64 posted;
	u64 bytes;
};

/* The sum for those that are gone. */
struct uep_past {
	atomic64_t posted;
	atomic64_t bytes;
};

void uep_past_add(struct uep_past *past, const struct uep_traffic *t);

/**
 * struct uep_session - one open of the device
 * @ref: the file, its objects and its channels
 * @number: never used again, for people
 * @objs: handle table
 * @next_handle: where to look for a free one
 * @qps: QPs by device index and QP number
 * @ev_lock: all CM event queues of the session and uep_id.chan
 * @ctx_lock: @default_ctxs
 * @default_ctxs: default contexts by device index
 * @user: whose quota it uses
 * @past_sends: what went through queues that are gone (fdinfo.c, also the next two)
 * @past_recvs: the same of receives
 * @past_polled: completions of CQs that are gone
 * @held: charged
 * @nr_events: unread CM events (@ev_lock)
 * @ring_lock: @ring_pages
 * @ring_pages: memory shared with the user, page by page
 * @rings: which rings in there are taken
 * @idle: CQs that wait to be used again (idle.c, also the next two)
 * @nr_idle: how many
 * @idle_bytes: memory of theirs that is charged
 * @queues: its event and completion channels (@ev_lock)
 * @dead: the file has been released (@ev_lock)
 * @ending: read: ids of a closed channel are being ended; write: waits for that
 * @release_work: destroys everything
 */
struct uep_session {
	struct kref ref;
	u64 number;
	struct xarray objs;
	u32 next_handle;
	struct xarray qps;
	spinlock_t ev_lock;		/* CM event queues */
	struct mutex ctx_lock;		/* default_ctxs */
	struct xarray default_ctxs;
	struct uep_user *user;
	struct uep_past past_sends;
	struct uep_past past_recvs;
	atomic64_t past_polled;
	atomic64_t held[UEP_NR_HELD];
	u32 nr_events;
	struct mutex ring_lock;		/* ring_pages */
	struct xarray ring_pages;
	struct ida rings;
	struct list_head idle;
	unsigned int nr_idle;
	u64 idle_bytes;
	struct list_head queues;
	bool dead;
	struct rw_semaphore ending;	/* before everything is destroyed */
	struct work_struct release_work;
};

struct uep_obj;

/**
 * struct uep_obj_type - how objects of a type end
 * @type: type
 * @res: offset of the object's struct ep_res, or 0 if it has none or ends it itself
 * @busy: optional: is it in use in a way that @uep_obj.users does not count?
 * @settle: optional: the object has been claimed: waits for calls under way that @destroy
 *	would wait for, which may take as long as a peer likes, and lets none begin. -EINTR if
 *	the task is killed, and it is claimed no more
 * @unclaim: optional, comes with @settle: the object is not destroyed after all; undoes
 *	what @settle, and callers that saw the claim, have done, and ends that with
 *	uep_obj_unclaimed()
 * @destroy: optional: the object has been claimed: ends what is not in @res, writes the
 *	user's results. Also called for objects whose creation failed half-way
 * @publish: optional: gives the object to the user instead of uep_obj_publish()
 * @free: optional: the last reference has been dropped: frees what the object owns. Process
 *	context. May come long after @destroy if the device is being removed
 */
struct uep_obj_type {
	enum rdma_ep_obj_type type;
	size_t res;
	bool (*busy)(struct uep_obj *obj);
	int (*settle)(struct uep_obj *obj);
	void (*unclaim)(struct uep_obj *obj);
	void (*destroy)(struct uep_obj *obj, struct rdma_ep_destroy *out);
	void (*publish)(struct uep_obj *obj);
	void (*free)(struct uep_obj *obj);
};

/* QP: PD, two CQs, SRQ */
#define UEP_MAX_USES	4

/**
 * struct uep_obj - what a handle names; the structures around it begin with it
 * @ref: references
 * @rcu: delays the free
 * @type: type
 * @session: session (holds a reference)
 * @handle: handle, 0 if none
 * @users: objects that depend on this one; -1 claimed for destruction
 * @queue_bytes: charged with the object
 * @dev: device, NULL if the object has none of its own
 * @uses: objects that this one depends on: counts in their @users until it is destroyed, and
 *	holds references until it is freed. The first is the PD, context or domain that it was
 *	made in
 * @nr_uses: how many
 */
struct uep_obj {
	struct kref ref;
	struct rcu_head rcu;
	const struct uep_obj_type *type;
	struct uep_session *session;
	u32 handle;
	atomic_t users;
	u64 queue_bytes;
	struct ep_dev *dev;
	struct uep_obj *uses[UEP_MAX_USES];
	int nr_uses;
};

void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type, size_t size,
		    u64 queue_bytes);
void *uep_obj_alloc_in(struct uep_obj *parent, const struct uep_obj_type *type, size_t size,
		       u64 queue_bytes);
bool uep_obj_depend(struct uep_obj *obj, struct uep_obj *used);
void uep_obj_get(struct uep_obj *obj);
void uep_obj_put(struct uep_obj *obj);
void *uep_obj_lookup(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type);
void *uep_obj_enter(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type, int *srcu);
void *uep_obj_enter_on(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type,
		       const struct ep_dev *dev, int *srcu);
int uep_obj_done(struct uep_obj *obj, int ret);
int uep_obj_exit(struct uep_obj *obj, int srcu, int ret);
bool uep_obj_ended(struct uep_obj *obj);
int uep_obj_error(struct uep_obj *obj, int ret);
bool uep_obj_hold(struct uep_obj *obj);
void uep_obj_unhold(struct uep_obj *obj);
void *uep_obj_use(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type);
void *uep_obj_use_for(struct uep_obj *user, u32 handle, enum rdma_ep_obj_type type);
int uep_obj_reserve(struct uep_obj *obj);
void uep_obj_publish(struct uep_obj *obj);
bool uep_obj_claim(struct uep_obj *obj);
void uep_obj_unclaimed(struct uep_obj *obj);
void uep_obj_unclaim(struct uep_obj *obj);
int uep_obj_settle(struct uep_obj *obj);
void uep_obj_end(struct uep_obj *obj, struct rdma_ep_destroy *out);
void uep_obj_discard(struct uep_obj *obj);

/* For struct ep_res_ops of objects with @uep_obj_type.res */
void uep_obj_get_res(struct ep_res *res);
void uep_obj_put_res(struct ep_res *res);
extern const struct ep_res_ops uep_obj_res_ops;

void uep_session_get(struct uep_session *s);
void uep_session_put(struct uep_session *s);
bool uep_session_run(struct uep_session *s, struct work_struct *work);
int uep_session_init(void);
void uep_session_cleanup(void);

/* Files that are read by record (queue.c, node.c) */

struct uep_queue;

/**
 * struct uep_queue_ops - a kind of queue
 * @name: of its files
 * @size: of a record
 * @typed: nodes have one bit for each type of event, not a count
 * @deliver: writes the next record. -EAGAIN if there is none; -EFAULT, and then the record is
 *	still the next one
 * @closed: optional: its file has been closed
 */
struct uep_queue_ops {
	const char *name;
	size_t size;
	bool typed;
	int (*deliver)(struct uep_queue *q, char __user *buf);
	void (*closed)(struct uep_queue *q);
};

/**
 * struct uep_queue - records for the user to read; the structures around it begin with it
 * @ref: its files, and the objects that report to it
 * @rcu: delays the free: a late handler of a completion may hold a lock that is in there
 * @ops: kind
 * @session: session (holds a reference, and is charged a file), or NULL
 * @entry: in uep_session.queues
 * @records: what has records to read; locked by the owner
 * @wait: readers
 * @dead: the session, or what else it reports on, has ended: reads fail with -EIO
 * @lock: of queues of nodes: @records, @taken and the nodes; taken in any context
 * @taken: events that are being delivered
 */
struct uep_queue {
	struct kref ref;
	struct rcu_head rcu;
	const struct uep_queue_ops *ops;
	struct uep_session *session;
	struct list_head entry;
	struct list_head records;
	wait_queue_head_t wait;
	bool dead;
	spinlock_t lock;		/* nodes */
	struct list_head taken;
};

/**
 * struct uep_node - unread events of an object or a port (node.c)
 * @entry: in uep_queue.records while @pending
 * @pending: how many, or a bit mask of their types
 * @reported: events that have been read
 * @closed: the object is being destroyed: late events are dropped
 * @uid: the user's cookie
 * @obj: object, NULL if its events may be delivered without a reference to it
 */
struct uep_node {
	struct list_head entry;
	u32 pending;
	u32 reported;
	bool closed;
	u64 uid;
	struct uep_obj *obj;
};

/**
 * struct uep_taken - an event of a node on its way to the user
 * @entry: in uep_queue.taken, unless there is @obj
 * @node: node, NULL when that has been purged
 * @obj: uep_node.obj (holds a reference)
 * @uid: the user's cookie
 * @type: type
 */
struct uep_taken {
	struct list_head entry;
	struct uep_node *node;
	struct uep_obj *obj;
	u64 uid;
	u32 type;
};

void uep_node_post(struct uep_queue *q, struct uep_node *node, u32 type);
u32 uep_node_purge(struct uep_queue *q, struct uep_node *node);
bool uep_node_take(struct uep_queue *q, struct uep_taken *taken);
int uep_node_settle(struct uep_queue *q, struct uep_taken *taken, bool delivered);

/* Any context. */
static inline void uep_queue_wake(struct uep_queue *q)
{
	wake_up_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
}

void *uep_queue_alloc(struct uep_session *s, const struct uep_queue_ops *ops, size_t size);
void uep_queue_put(struct uep_queue *q);
void uep_queue_kill(struct uep_queue *q);
int uep_queue_add_file(struct uep_cmd *cmd, struct uep_queue *q);
void *uep_queue_create(struct uep_cmd *cmd, const struct uep_queue_ops *ops, size_t size, s32 *fd);
void *uep_queue_of_file(struct file *file, const struct uep_session *s,
			const struct uep_queue_ops *ops);
void *uep_queue_find(struct uep_session *s, int fd, const struct uep_queue_ops *ops);

/* Where completions of a CQ are for the user to take (ring.c) */

/* Values of rdma_ep_cq_ring.pending beside 0. */
enum {
	UEP_RING_PENDING = 1,
	UEP_RING_ARMING,	/* 0 soon, unless something completes */
};

/**
 * struct uep_ring - a CQ's ring
 * @shared: memory shared with the user, or NULL: no ring
 * @index: where the user finds it
 * @head: rdma_ep_cq_ring.head (uep_cq.poll_lock)
 */
struct uep_ring {
	struct rdma_ep_cq_ring *shared;
	u32 index;
	u32 head;
};

void uep_rings_init(struct uep_session *s);
void uep_rings_cleanup(struct uep_session *s);
int uep_ring_create(struct uep_session *s, struct uep_ring *ring);
void uep_ring_destroy(struct uep_session *s, struct uep_ring *ring);
u32 uep_ring_room(const struct uep_ring *ring);
void uep_ring_put(struct uep_ring *ring, const struct rdma_ep_wc *wc, u32 nr);
int uep_mmap(struct file *file, struct vm_area_struct *vma);

/* Commands (cmd.c) */

struct uep_cmd_step;

/**
 * struct uep_cmd_step_ops - how a step of a command ends
 * @commit: the command has succeeded, and its results are with the user: cannot fail
 * @abort: it has failed, and so have the steps after this one been undone
 */
struct uep_cmd_step_ops {
	void (*commit)(struct uep_cmd_step *step);
	void (*abort)(struct uep_cmd_step *step);
};

/**
 * struct uep_cmd_step - something that a command has made, taken or changed
 * @ops: how it ends
 * @obj: what
 * @arg: more of it
 */
struct uep_cmd_step {
	const struct uep_cmd_step_ops *ops;
	void *obj;
	void *arg;
};

/* GET_REQUEST: event, file, move, owner, two CQs with a file each, QP. */
#define UEP_CMD_MAX_STEPS	10

/**
 * struct uep_cmd - a command being executed
 * @s: session
 * @arg: the command's structure, copied in; copied out afterwards
 * @uarg: where that is
 * @steps: what is to be undone if the command fails
 * @nr_steps: how many
 */
struct uep_cmd {
	struct uep_session *s;
	void *arg;
	void __user *uarg;
	struct uep_cmd_step steps[UEP_CMD_MAX_STEPS];
	int nr_steps;
};

void uep_cmd_add_step(struct uep_cmd *cmd, const struct uep_cmd_step_ops *ops, void *obj,
		      void *arg);
int uep_cmd_add_obj(struct uep_cmd *cmd, void *obj, u32 *handle);
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv);
void uep_cmd_commit(struct uep_cmd *cmd);
void uep_cmd_rollback(struct uep_cmd *cmd, int nr_steps);

#endif /* RDMA_EP_CORE_H */
