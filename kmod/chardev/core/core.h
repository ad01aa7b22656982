/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of the character device: sessions, handles, quotas, commands, and files that
 * are read by record. It calls nothing of verbs and cm, which embed its structures.
 *
 * Objects and handles
 * -------------------
 * The handle table and each task that works on an object hold references
 * (uep_obj.ref). A command reserves an object's handle while it creates the object, and
 * publishes the object after the whole command has succeeded and its results have been
 * copied to user memory. A destroyer claims the object first: uep_obj.users changes from
 * 0 to -1 for exactly one task. Dependent objects count in uep_obj.users, so EBUSY is
 * decided here and never by ib_core. Lookups are RCU, and objects are freed after a grace
 * period.
 *
 * Locks, outermost first (those of the engine: engine/engine.h)
 * ----------------------
 *  uep_session.ending       held while ids of a closed channel end
 *  ep_id.lock ...            engine
 *   uep_session.ctx_lock     default contexts
 *   uep_session.ev_lock      queues of CM events, the channels of ids; outside of uep_queue.lock
 *  uep_idle_user.ending      destruction of a user's idle CQs; inside the locks above,
 *                           the locks of commands that create objects, and ep_dev_enter()
 *   uep_idle_user.lock      lists of idle CQs (leaf)
 *  uep_cq_hw.notify_lock     requests for events; a killable wait for the device, bounded
 *  uep_cq_hw.poll_lock       one poller at a time, order of completions
 *   uep_wq.lock              slots; held across ib_post_*
 *    uep_cq_hw.lock          the CQ's user; taken by handlers in any context
 *     uep_recv_ring.lock     taken by handlers, too; held around posts of the ring's receives
 *      uep_wq.lock of an SRQ interrupts off
 *     uep_queue.lock, the same, also inside of ep_dev.watch_lock; interrupts off, and of
 *                           ours the innermost: SIGIO is sent inside
 *  uep_session.held_lock is a leaf, inside any lock that is taken in process context
 * uep_groups_lock (group.c) and uep_account_mutex (account.c) are leaf mutexes, taken inside any
 * of the mutexes above and inside ep_dev_enter(); neither is held for longer than a table takes.
 */
#ifndef RDMA_EP_CORE_H
#define RDMA_EP_CORE_H

#include <linux/completion.h>
#include <linux/file.h>
#include <linux/idr.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include <rdma/rdma_ep.h>

#include "../../engine/engine.h"
#include "account.h"
#include "group.h"
#include "queue.h"
#include "restriction.h"

/* Limits of single queues and of one command; those of a device may be lower. */
#define UEP_MAX_WR		65536U
#define UEP_MAX_CQE		262144U
#define UEP_MAX_POST_BYTES	65536U
#define UEP_MAX_SGE		256U
#define UEP_MAX_INLINE		4096U
/* Objects of a session that are looked at before the next grace period */
#define UEP_RCU_BATCH		1024
/* Unread CM events of a session */
#define UEP_MAX_EVENTS		65536U
/* An id takes them to another channel under a lock that rdma_cm's handlers wait for. */
#define UEP_MAX_ID_EVENTS	4096U
/* Adopters of a session whose files are open */
#define UEP_MAX_OWNERS		64

struct uep_session;
struct uep_cmd;

/* Users (session_ref.c) and quotas (quota.c) */

/* Idle CQs of a user (idle.c) */
struct uep_idle_user {
	struct mutex ending;		/* held while some of @all are destroyed */
	/* @all, @nr, and those of the sessions (uep_session.idle, nr_idle, idle_bytes) */
	spinlock_t lock;
	struct list_head all;		/* idle CQs of all sessions of the user, the oldest first */
	unsigned int nr;		/* number of @all */
	struct delayed_work work;	/* destroys the expired ones (ep_wq) */
};

/* All sessions of one user, or those in a cgroup with limits of its own */
struct uep_user {
	struct hlist_node node;		/* in the table of users with open sessions */
	refcount_t ref;			/* sessions */
	kuid_t uid;
	u64 group;			/* id of that cgroup (uep_group_users()), or 0 */
	atomic64_t held[UEP_NR_HELD];	/* charged */
	atomic_t nr_events;		/* unread CM events */
	/* Destroys the user's idle CQs, returns whether there was any; process context */
	bool (*reclaim)(struct uep_user *user);
	struct uep_idle_user idle;
};

void uep_quota_init(void);
u64 uep_hw_queue_bytes(u32 nr, u32 size);
int uep_charge(struct uep_session *s, int nr_objs, u64 queue_bytes);
void uep_uncharge(struct uep_session *s, int nr_objs, u64 queue_bytes);
void uep_add_files(struct uep_session *s, int nr);
int uep_charge_files(struct uep_session *s, int nr);
void uep_uncharge_files(struct uep_session *s, int nr);
int uep_charge_channel(struct uep_session *s);
void uep_uncharge_channel(struct uep_session *s);
int uep_charge_pages(struct uep_session *s, u64 nr, bool skip_rlimit);
void uep_uncharge_pages(struct uep_session *s, u64 nr);
bool uep_charge_event(struct uep_session *s, bool force);
void uep_uncharge_event(struct uep_session *s);
void uep_quota_query(struct rdma_ep_cmd_query *q);
void uep_quota_show(struct seq_file *m, struct uep_session *s);

/* Idle CQs (idle.c) */

/* A CQ of the device without a user */
struct uep_idle {
	/* The creator of the CQ sets these four. */
	void (*end)(struct uep_idle *idle); /* destroys it; process context */
	const struct ep_dev *dev;
	u32 cqe;			/* entries that its first user wanted */
	u32 comp_vector;
	struct list_head entry;		/* in uep_session.idle */
	struct list_head all;		/* in uep_idle_user.all */
	struct uep_session *session;	/* session that used it, and may again */
	u64 bytes;			/* charged to @session */
	unsigned long until;		/* expires (jiffies) */
};

void uep_idle_flush(const struct uep_session *s);
bool uep_idle_flush_user(struct uep_user *user);
bool uep_idle_room(const struct uep_session *s, u64 bytes);
bool uep_idle_add(struct uep_idle *idle, struct uep_session *s, u64 bytes);
struct uep_idle *uep_idle_take(struct uep_session *s, const struct ep_dev *dev, u32 cqe,
			       u32 comp_vector);
void uep_idle_init(struct uep_user *user);

/* Sessions (session_ref.c) and objects (object.c) */

void uep_past_add(struct uep_past *past, const struct uep_traffic *t);

/* One open of the device */
struct uep_session {
	struct kref ref;		/* the file, its objects and its channels */
	u64 number;			/* unique, for traces and fdinfo */
	struct xarray objs;		/* handle table */
	u32 next_handle;		/* where the search for a free handle begins */
	struct xarray qps;		/* QPs by device index and QP number */
	/* All CM event queues of the session, and members of cm's structures that name it */
	spinlock_t ev_lock;
	struct mutex ctx_lock;		/* @default_ctxs */
	struct xarray default_ctxs;	/* default contexts by device index */
	struct uep_user *user;		/* user whose quota the session is charged to */
	struct uep_group *group;	/* cgroup of the opener, charged as well */
	struct uep_account *account;	/* of user and cgroup, for the administrator */
	struct list_head in_account;	/* in uep_account.sessions */
	struct uep_past past_sends;	/* of destroyed queues */
	struct uep_past past_recvs;	/* of destroyed queues */
	atomic64_t past_polled;		/* completions of destroyed CQs */
	atomic64_t held[UEP_NR_HELD];	/* charged */
	u32 nr_events;			/* unread CM events (@ev_lock) */
	atomic_t nr_owners;		/* owners that are charged to it */
	struct mutex ring_lock;		/* @ring_pages */
	struct xarray ring_pages;	/* memory shared with the user, by page number */
	struct ida rings;		/* indices of the rings in @ring_pages that are in use */
	struct list_head idle;		/* idle CQs (uep_idle_user.lock) */
	unsigned int nr_idle;		/* number of @idle (uep_idle_user.lock) */
	u64 idle_bytes;			/* charged for @idle (uep_idle_user.lock) */
	struct list_head queues;	/* event and completion channels (@ev_lock) */
	u32 queue_number;		/* of the latest of them (@ev_lock) */
	spinlock_t note_lock;		/* notes of objects */
	spinlock_t held_lock;		/* charges of session and restrictions together */
	/* The latest one (@held_lock; read without it). NULL: none */
	struct uep_restriction *restriction;
	u32 nr_restrictions;		/* number of them (@held_lock) */
	u32 nr_channels;		/* charged (@held_lock) */
	bool dead;			/* the file has been released (@ev_lock) */
	/* Read: ids of a closed channel are being ended; write: waits for that */
	struct rw_semaphore ending;
	struct work_struct release_work; /* destroys everything */
};

struct uep_session *uep_session_alloc(void);
void uep_session_get(struct uep_session *s);
void uep_session_put(struct uep_session *s);
bool uep_session_run(struct uep_session *s, struct work_struct *work);
static inline void uep_count_refusal(struct uep_session *s, enum uep_refusal reason)
{
	atomic64_inc(&s->account->refused[reason]);
}

int uep_session_init(void);
void uep_session_cleanup(void);

/* Owners of sessions (owner.c) */

/**
 * struct uep_owner - an owner of a session
 * @ref: files
 * @files: those of the session; the release of the last one ends it
 * @calls: commands and reads under way that need the session; killed: the owner has none
 * @quiet: completed when @calls, which has been killed, is zero
 * @lock: @session
 * @session: session whose files are this owner's. NULL: another
 *	owner has taken it. Holds the session's first reference
 * @charged: session that @files are charged to (a reference), until the last one is released;
 *	NULL: its own charge includes them
 * @ended: @calls has been killed
 * @adopted: a task is making another owner, or gives the session up
 * @keep: ids outlive the files of their channels
 * @rings_lost: the session's rings are elsewhere (uep_session.ring_lock)
 *
 * Each file of a session and of its queues belongs to the owner that has created it.
 * private_data of the session's files is their owner.
 */
struct uep_owner {
	struct kref ref;
	atomic_t files;
	struct percpu_ref calls;
	struct completion quiet;
	spinlock_t lock;		/* session */
	struct uep_session *session;
	struct uep_session *charged;
	atomic_t ended;
	atomic_t adopted;
	bool keep;
	bool rings_lost;
};

struct uep_owner *uep_owner_create(struct uep_session *charged);
void uep_owner_put(struct uep_owner *owner);
void uep_owner_end_charge(struct uep_owner *owner);
struct uep_session *uep_owner_session(struct uep_owner *owner);
struct uep_session *uep_owner_take_session(struct uep_owner *owner);
void uep_owner_end(struct uep_owner *owner);

/* Begins a call, until uep_owner_exit(). False: the owner has lost the session. */
static inline bool uep_owner_enter(struct uep_owner *owner)
{
	return percpu_ref_tryget_live(&owner->calls);
}

static inline void uep_owner_exit(struct uep_owner *owner)
{
	percpu_ref_put(&owner->calls);
}

static inline bool uep_owner_ended(struct uep_owner *owner)
{
	return percpu_ref_is_dying(&owner->calls);
}

struct uep_obj;

/**
 * struct uep_obj_type - operations of the objects of a type; all are optional
 * @type: type
 * @res: offset of the object's struct ep_res; 0: none, or @destroy destroys it
 * @busy: is the object in use in a way that @uep_obj.users does not count?
 * @settle: the object has been claimed: lets no call begin, and waits for calls under way,
 *	for as long as a peer takes. -EINTR: the task is killed, the claim is dropped
 * @unclaim: undoes @settle and the claim, which uep_obj_drop_claim() drops
 * @destroy: the object has been claimed: destroys all but @res, writes the results. Also
 *	called after a creation that failed half-way
 * @publish: instead of uep_obj_publish()
 * @free: the last reference has been dropped, perhaps long after @destroy, by the removal
 *	of the device. Process context
 */
struct uep_obj_type {
	enum rdma_ep_obj_type type;
	size_t res;
	bool (*busy)(struct uep_obj *obj);
	int (*settle)(struct uep_obj *obj);
	void (*unclaim)(struct uep_obj *obj);
	void (*destroy)(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out);
	void (*publish)(struct uep_obj *obj);
	void (*free)(struct uep_obj *obj);
};

/* QP: PD, two CQs, SRQ */
#define UEP_MAX_USES	4

/* Base of the structures of objects, their first member */
struct uep_obj {
	struct kref ref;
	int nr_uses;			/* number of @uses */
	struct rcu_head rcu;		/* delays the free */
	const struct uep_obj_type *type;
	struct uep_session *session;	/* holds a reference */
	u32 handle;			/* 0: none */
	atomic_t users;			/* objects that depend on it; -1: claimed for destruction */
	u64 queue_bytes;		/* charged with the object */
	u64 cookie;			/* the program's, see SET_OBJ */
	/* The library's, see SET_OBJ (uep_session.note_lock); NULL: zeros */
	u8 *note;
	struct ep_dev *dev;		/* NULL: none */
	/*
	 * Objects that this one depends on: it counts in their @users until it is destroyed, and
	 * holds references until it is freed. The first is its PD, context or domain
	 */
	struct uep_obj *uses[UEP_MAX_USES];
};

void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type, size_t size,
		    u64 queue_bytes);
void *uep_obj_alloc_in(struct uep_obj *parent, const struct uep_obj_type *type, size_t size,
		       u64 queue_bytes);
void uep_obj_get(struct uep_obj *obj);
void uep_obj_put(struct uep_obj *obj);
void *uep_obj_lookup(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type);
void uep_each_obj(struct uep_session *s, void (*fn)(struct uep_obj *obj, void *arg), void *arg);
int uep_obj_done(struct uep_obj *obj, int ret);
void *uep_obj_enter_on(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type,
		       const struct ep_dev *dev, int *srcu);
int uep_obj_exit(struct uep_obj *obj, int srcu, int ret);
bool uep_obj_add_user(struct uep_obj *obj);
void uep_obj_del_user(struct uep_obj *obj);
void *uep_obj_use(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type);
void *uep_obj_use_for(struct uep_obj *user, u32 handle, enum rdma_ep_obj_type type);
bool uep_obj_depend(struct uep_obj *obj, struct uep_obj *used);
int uep_obj_reserve(struct uep_obj *obj);
void uep_obj_publish(struct uep_obj *obj);
int uep_obj_copy_note(struct uep_obj *to, struct uep_obj *from);
bool uep_obj_claim(struct uep_obj *obj);
int uep_obj_settle(struct uep_obj *obj);
void uep_obj_unclaim(struct uep_obj *obj);
void uep_obj_end(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out);
int uep_obj_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out);
void uep_obj_discard(struct uep_obj *obj);

/*
 * Ends a creation, whose result is @ret: the structure that begins with @obj, or it is discarded
 * and ERR_PTR
 */
static inline void *uep_obj_created(struct uep_obj *obj, int ret)
{
	if (!ret)
		return obj;
	uep_obj_discard(obj);
	return ERR_PTR(ret);
}

/* Has a destroyer claimed it? */
static inline bool uep_obj_claimed(const struct uep_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

static inline void uep_obj_drop_claim(struct uep_obj *obj)
{
	atomic_set(&obj->users, 0);
}

/*
 * Looks the object up, and enters its device until uep_obj_exit(). Or ERR_PTR. A DESTROY by another
 * task may still destroy the object of the device: its type has a lock or a count for that.
 */
static inline void *uep_obj_enter(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type,
				  int *srcu)
{
	return uep_obj_enter_on(s, handle, type, NULL, srcu);
}

/* For struct ep_res_ops of objects with @uep_obj_type.res */
void uep_obj_get_res(struct ep_res *res);
void uep_obj_put_res(struct ep_res *res);
extern const struct ep_res_ops uep_obj_res_ops;

/* Rings of completions, or of receives, in memory that is shared with the user (ring.c) */

/* Values of rdma_ep_cq_ring.pending beside 0; the first also of rdma_ep_recv_ring.kick */
enum {
	UEP_RING_PENDING = 1,
	UEP_RING_ARMING,	/* 0 soon, unless something completes */
};

/**
 * struct uep_ring - a ring of a CQ or an SRQ
 * @shared: memory shared with the user, holds a reference to its page; NULL: no ring. Moves
 *	with uep_cq_hw.poll_lock and lock, or uep_recv_ring.lock
 * @recv: @shared of an SRQ
 * @index: where the user finds it
 * @head: rdma_ep_cq_ring.head (uep_cq_hw.poll_lock), or rdma_ep_recv_ring.head
 */
struct uep_ring {
	union {
		struct rdma_ep_cq_ring *shared;
		struct rdma_ep_recv_ring *recv;
	};
	u32 index;
	u32 head;
};

void uep_rings_cleanup(struct uep_session *s);
int uep_ring_create(struct uep_session *s, struct uep_ring *ring);
void uep_ring_destroy(struct uep_session *s, struct uep_ring *ring);
u32 uep_ring_room(const struct uep_ring *ring);
struct rdma_ep_wc *uep_ring_next(const struct uep_ring *ring, u32 *room);
void uep_ring_add(struct uep_ring *ring, u32 nr);
int uep_rings_prepare(struct uep_session *s, struct xarray *pages);
void uep_ring_move(struct uep_ring *ring, struct xarray *pages);
void uep_rings_replace(struct uep_session *s, struct uep_owner *old, struct xarray *pages);
void uep_rings_discard(struct xarray *pages);
struct page *uep_ring_lost_page(void);
int uep_mmap(struct file *file, struct vm_area_struct *vma);

/* Commands (cmd.c) */

/**
 * struct uep_cmd_step - a change that a command has made
 * @end: commits it (cannot fail), after the results have been copied to user memory; or
 *	undoes it, after the steps that follow it
 * @obj: for @end
 * @arg: for @end
 */
struct uep_cmd_step {
	void (*end)(struct uep_cmd_step *step, bool commit);
	void *obj;
	void *arg;
};

/* GET_REQUEST: event, file, move, owner, two CQs with a file each, QP */
#define UEP_CMD_MAX_STEPS	10

/* A command being executed */
struct uep_cmd {
	struct uep_session *s;
	struct file *file;		/* of the session */
	/* Private copy of the command's structure, copied out afterwards */
	void *arg;
	void __user *uarg;		/* the structure in user memory */
	/* Changes that are committed or undone at the end */
	struct uep_cmd_step steps[UEP_CMD_MAX_STEPS];
	int nr_steps;			/* number of @steps */
	/* The handler has counted the reason, or its failure is no refusal */
	bool counted;
};

/* Handler of a command. 0 or an errno of its structure */
typedef int uep_cmd_fn(struct uep_cmd *cmd);

void uep_cmd_add_step(struct uep_cmd *cmd, void (*end)(struct uep_cmd_step *step, bool commit),
		      void *obj, void *arg);
int uep_cmd_add_obj(struct uep_cmd *cmd, void *obj, u32 *handle);
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv, int flags);
static inline struct uep_owner *uep_cmd_owner(const struct uep_cmd *cmd)
{
	return cmd->file->private_data;
}

void uep_cmd_commit(struct uep_cmd *cmd);
void uep_cmd_rollback(struct uep_cmd *cmd, int nr_steps);

#endif /* RDMA_EP_CORE_H */
