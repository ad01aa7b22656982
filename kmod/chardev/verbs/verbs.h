/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verbs objects of the character device, and the commands on them. ../core/core.h has the
 * rules of their lifetime, and the order of all locks.
 *
 * "Inside ep_dev_enter()" of a caller: it has entered the object's device.
 */
#ifndef RDMA_EP_VERBS_H
#define RDMA_EP_VERBS_H

#include <linux/path.h>
#include <linux/wait_bit.h>

#include "../core/core.h"

/* Completion channels, asynchronous events (event_queue.c) */

extern const struct uep_queue_ops uep_comp_ops;
extern const struct uep_queue_ops uep_async_ops;

struct uep_queue *uep_comp_create(struct uep_cmd *cmd, s32 *fd);
uep_cmd_fn uep_create_comp_channel;

/* Contexts (ctx.c) */

struct uep_pd;
struct uep_qp;
struct uep_srq;

/* A device opened in a session; PDs, CQs and XRC domains depend on it */
struct uep_ctx {
	struct uep_obj obj;
	u64 net_cookie;			/* of the opener's network namespace */
	struct uep_queue *async;	/* asynchronous events */
	struct uep_account_dev *account;
	struct uep_pd *default_pd;	/* of a default context */
	struct ep_dev_watch watch;
	u32 nr_ports;
	struct uep_node ports[];	/* events of the device (0) and its ports */
};

struct ep_dev *uep_dev_enter(struct uep_session *s, u32 index, int *srcu);
void uep_dev_exit(struct ep_dev *dev, int srcu);
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle, struct ep_dev *dev, int *srcu);
uep_cmd_fn uep_open_device;

/* Protection domains (pd.c); MRs, AHs, SRQs and QPs depend on them */

struct uep_pd {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct ep_pd pd;
	struct xarray mrs;		/* MRs by lkey: RCU, for entries that are posted */
	struct xarray recv_rings;	/* SRQs by the index of their ring: RCU */
	atomic64_t mr_gen;		/* grows after a region has left mrs (uep_mr_range) */
	atomic_t nr_deregs;		/* MRs that are being deregistered */
};

struct uep_pd *uep_pd_create(struct uep_ctx *ctx);
uep_cmd_fn uep_alloc_pd;

/* Memory regions (mr.c, mr_check.c) */

struct uep_mr {
	struct uep_obj obj;
	struct mutex lock;		/* changes, by tasks that use the object: not destruction */
	struct uep_pd *pd;
	struct ep_res res;
	struct ib_mr *ibmr;
	u64 addr;			/* in the process that registered it */
	u64 iova;
	u64 length;
	u32 lkey;
	u32 rkey;
	u64 nr_pages;			/* charged */
	u32 access;			/* enum ib_access_flags */
	bool pinned_writable;		/* the memory can be given any right to write */
};

/*
 * The region of an earlier entry of the same queue, copied. It is the region of @lkey while
 * uep_pd.mr_gen is @gen: both ends of a region's life, and its changes, take it out of
 * uep_pd.mrs, increment mr_gen, and only then touch it. All zero: none.
 */
struct uep_mr_range {
	u64 iova;
	u64 length;
	u32 lkey;
	u32 access;
	s64 gen;
};

void __cold uep_mr_find(struct uep_pd *pd, struct uep_mr_range *range, u32 lkey);

/*
 * Is the whole entry inside a region of this PD, which may be written if @write? The only way
 * for an lkey to a driver, where the same number could be a key of kernel memory. @last: for
 * the entries of one queue, which often name the same region. @sge is not empty
 */
static inline bool uep_mr_check(struct uep_pd *pd, struct uep_mr_range *last,
				const struct ib_sge *sge, bool write)
{
	u64 offset;

	/* An empty range is that of no key, or of one that does not exist. */
	if (unlikely(!last->length || last->lkey != sge->lkey ||
		     last->gen != atomic64_read(&pd->mr_gen)))
		uep_mr_find(pd, last, sge->lkey);
	offset = sge->addr - last->iova;
	return sge->addr >= last->iova && offset <= last->length &&
	       sge->length <= last->length - offset &&
	       (!write || (last->access & IB_ACCESS_LOCAL_WRITE));
}

uep_cmd_fn uep_reg_mr, uep_rereg_mr;

/* Address handles (ah.c) */

struct uep_ah {
	struct uep_obj obj;
	refcount_t live;		/* the handle, and posts: the last one destroys ibah */
	struct uep_pd *pd;
	struct ep_res res;
	struct ib_ah *ibah;
};

struct uep_ah *uep_ah_get(struct uep_session *s, u32 handle);
void uep_ah_put(struct uep_ah *ah);
uep_cmd_fn uep_create_ah;

/* XRC domains as this session has opened them, and their target QPs (xrcd.c) */

struct uep_xrcd {
	struct uep_obj obj;		/* SRQs and QPs depend on it */
	struct uep_ctx *ctx;
	struct ep_xrcd xrcd;
	struct path path;		/* holds the inode that identifies it, or is empty */
};

struct uep_qp *uep_target_create(struct uep_xrcd *xrcd, u64 uid, const u32 *num);
uep_cmd_fn uep_open_xrcd, uep_open_qp;

/* Work queues: slots of posted work requests (wq.c) */

/* Requests that are checked, and then posted, in one go */
#define UEP_POST_BATCH		8

/* A posted work request */
struct uep_slot {
	u64 wr_id;			/* the user's */
	/*
	 * Unordered queue: next free slot, relative to the following one: 0 in new slots; in a
	 * slot in use the number of the request (uep_wq.nr_posted)
	 */
	u32 next;
	u16 seq;			/* use count, part of the cookie */
	bool busy;
	u8 signalled;			/* enum uep_signalled */
};

enum uep_signalled {
	UEP_UNSIGNALLED,		/* has a completion only if it fails */
	UEP_SIGNALLED,
	UEP_SIGNALLED_HERE,		/* ... but the user gets it only if it fails */
};

/* Requests of a queue that complete in order, or all requests of an unordered one */
struct uep_wq_order {
	u32 head;			/* ordered: next slot to use; else: first free slot */
	u32 tail;			/* ordered: oldest slot in use */
	u32 used;			/* slots in use */
	/* Ordered: slots from tail to the latest completed one, if an older one is not */
	u32 passed;
};

/*
 * A send, receive or shared receive queue. @lock protects what has no other rule. It is held
 * across ib_post_*(), and handlers do not take it. The structure is freed a grace period after
 * uep_wq_free(), as uep_wq_find() finds it under RCU.
 */
struct uep_wq {
	const struct uep_session *session; /* only to be compared */
	spinlock_t lock;		/* slots; held across posts */
	u32 id;				/* upper half of cookies; 0: no slots yet */
	u32 size;			/* slots of one order, now or later */
	/* Send queue: requests complete in order, and only signalled ones are reported */
	bool ordered;
	bool reads_apart;		/* READs have an order and slots of their own, behind */
	bool dead;			/* no more posts */
	struct uep_wq_order order[2];	/* READs with reads_apart: 1 */
	u32 nr_posted;			/* unordered queue: requests, modulo 2^32 */
	u32 latest;			/* ... number of the youngest one that has completed */
	struct uep_traffic traffic;	/* posted */
	struct uep_traffic reads;	/* of these READs: their data comes in */
	u32 qp_num;			/* 0: shared receive queue */
	struct ep_xrcd *xrcd;		/* XRC SRQ: domain of the QPs that receive from it */
	struct uep_slot *slots;		/* NULL until the first post */
	struct uep_mr_range mr;		/* of the latest posted entry (mr_used) */
	atomic_t mr_used;		/* 1: by a post, which may change it */
};

/* The queue of an earlier completion, which exists while the number of freed queues is @freed. */
struct uep_wq_last {
	struct uep_wq *wq;		/* or NULL */
	s64 freed;
};

int uep_wq_init(struct uep_wq *wq, const struct uep_session *session, u32 size, bool ordered);
int uep_wq_add_slots(struct uep_wq *wq);
void uep_wq_sync(struct uep_wq *wq);
void uep_wq_stop(struct uep_wq *wq);
void uep_wq_free(struct uep_wq *wq);
int uep_wq_grow(struct uep_wq *wq, u32 size);
bool uep_wq_has_room(struct uep_wq *wq, u32 max, u32 num);
bool uep_wq_is_posted(struct uep_wq *wq, u64 cookie);
u32 uep_wq_level(const struct uep_wq *wq, u32 *free);
void uep_wq_pop(struct uep_wq *wq, u64 cookie);
void uep_wq_reset(struct uep_wq *wq);
void uep_wq_complete_end(struct uep_wq *locked);
void uep_wq_cleanup(void);

/* Before the first push; process context. 0 or an errno */
static inline int uep_wq_prepare(struct uep_wq *wq)
{
	return likely(READ_ONCE(wq->id)) ? 0 : uep_wq_add_slots(wq);
}

/* CQs (cq.c), polling them (poll.c), requests for events (notify.c) */

/* Bounds the time for which drivers disable interrupts */
#define UEP_POLL_BATCH	16

/* The wr_id of uep_cq_disarm(): no cookie of a request is 0 */
#define UEP_DISARM_ID	0

/*
 * A CQ of the device. It serves one struct uep_cq after another: handlers find the current one
 * as @user, under @lock, which they take in any context. @poll_lock is held around each use
 * of @cq, but for the QP of uep_cq_disarm(), which exists with @notify_lock. @tainted is set
 * under either lock, and never cleared.
 */
struct uep_cq_hw {
	struct kref ref;		/* the device's list; the user, or the idle list */
	struct ep_cq cq;
	struct mutex notify_lock;	/* requests for events; outside poll_lock */
	struct mutex poll_lock;		/* uses of cq */
	spinlock_t lock;		/* user */
	struct uep_cq *user;		/* NULL: idle, or destroyed */
	u32 wanted;			/* entries that the user wanted (poll_lock; read without) */
	u32 granted;			/* and may use (the same) */
	bool tainted;			/* differs from a new one: it gets no other user */
	bool armed;			/* the device will report any completion */
	atomic_t waiters;		/* tasks in uep_cq_wait() */
	bool any_requested;		/* a report of any, since uep_cq_disarm() (poll_lock) */
	bool disarming;			/* its completion has not been polled (poll_lock) */
	union {
		struct uep_idle idle;
		struct rcu_head rcu;	/* at its end: a driver may be late with a notification */
	};
};

/*
 * A completion queue. hw->poll_lock protects what has no other rule, and the order of
 * completions: the user gets those in @buf before any of the device.
 */
struct uep_cq {
	struct uep_obj obj;		/* QPs depend on it */
	struct uep_ctx *ctx;
	struct uep_cq_hw *hw;		/* a reference; NULL if there never was one */
	struct uep_queue *chan;		/* completion channel or NULL */
	struct uep_node comp;		/* completion events */
	struct uep_node async;		/* asynchronous events */
	struct rdma_ep_wc *buf;		/* completions for the user (charged with the CQ) or NULL */
	u32 max_buf;			/* size of buf */
	u32 first_buf;			/* the oldest one */
	u32 nr_buf;			/* held ones */
	u64 nr_polled;			/* completions for the user until now */
	struct uep_wq_last last;	/* queue of the latest one */
	struct uep_traffic received;	/* of these messages of peers */
	bool dead;			/* hw is destroyed, or not this CQ's any more */
	u32 notify;			/* the user requests an event (u32: for xchg()) */
	struct uep_ring ring;
	/* SRQ with a ring whose receives complete here, or NULL (hw->lock) */
	struct uep_srq *srq;
	u32 nr_srq_qps;			/* ... QPs between them (hw->lock) */
	bool quiet;			/* ... see uep_recv_ring.nr_quiet (uep_recv_ring.lock) */
	bool solicited;			/* ... of solicited completions only: no auto_arm */
	/* It is armed whenever the ring is filled: the user requests events in the ring */
	bool auto_arm;
	bool receives;			/* a QP has it for receives, or had */
	/*
	 * QPs by uep_qp_hw_key(): the completions of a shared receive queue have a pointer to the
	 * hardware object, which must not be followed
	 */
	struct xarray qps;
};

/* Drivers' QPs are so large that they are aligned like this: a short key needs few levels. */
#define UEP_QP_ALIGN_BITS	9

static inline unsigned long uep_qp_hw_key(const struct ib_qp *ibqp)
{
	unsigned long key = (unsigned long)ibqp - PAGE_OFFSET;

	return key >> UEP_QP_ALIGN_BITS | key << (BITS_PER_LONG - UEP_QP_ALIGN_BITS);
}

struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid, struct uep_queue *chan, u32 cqe,
			     u32 comp_vector, bool ring);
void uep_cq_move_ring(struct uep_cq *cq, struct xarray *pages);
uep_cmd_fn uep_create_cq, uep_resize_cq, uep_modify_cq;

void uep_cq_set_pending(struct uep_cq *cq);
void uep_cq_completed(struct uep_cq *cq);
void uep_cq_set_dead(struct uep_cq *cq);
void uep_cq_try_fill(struct uep_cq *cq);
void uep_cq_reap_others(const struct uep_qp *qp);
u32 uep_cq_count(struct uep_cq *cq);
int uep_cq_hw_discard(struct uep_cq_hw *hw);
bool uep_cq_drain_locked(struct uep_cq *cq);
bool uep_cq_drain(struct uep_cq *cq);
bool uep_cq_wait(struct uep_cq *cq, struct uep_wq *wq, u64 cookie, ktime_t end);
void uep_cq_free_buf(struct uep_cq *cq);
uep_cmd_fn uep_poll_cq, uep_notify_cq;

/* Called when the device has reported a completion, and when completions have been taken. */
static inline void uep_cq_wake_waiters(struct uep_cq_hw *hw)
{
	if (unlikely(atomic_read(&hw->waiters)))
		wake_up_var(&hw->armed);
}

/* Fills the ring if something is pending, unless another task is polling. */
static inline void uep_cq_reap(struct uep_cq *cq)
{
	if (READ_ONCE(cq->auto_arm) && READ_ONCE(cq->ring.shared->pending))
		uep_cq_try_fill(cq);
}

/* Shared receive queues (srq.c), receives in shared memory (recv_ring.c) */

/*
 * Receives that QPs may have taken before they ended, and that never complete. The device takes
 * receives in order, so uep_wq_level() counts these until uep_wq.latest has reached @at.
 */
struct uep_recv_ended {
	u32 nr;				/* U32_MAX: or more */
	u32 at;				/* uep_wq.nr_posted when the last of these QPs ended */
};

/* Receives that the user posts in shared memory */
struct uep_recv_ring {
	spinlock_t lock;		/* all but mem.index; taken in any context */
	struct uep_ring mem;
	bool open;			/* the user need not call: mem.recv->kick is 0 */
	bool failed;			/* a receive was refused: no more are posted */
	bool given_up;			/* the owner's writes do not count any more */
	u32 end;			/* ... mem.recv->tail then */
	u32 max_wr;			/* entries of the device's queue */
	u32 srq_limit;			/* that may be armed */
	u32 nr_qps;			/* QPs that receive from the SRQ */
	u32 nr_apart;			/* ... with a CQ of another SRQ's ring */
	u32 nr_cqs;			/* CQs that have uep_cq.srq set to the SRQ */
	u32 nr_quiet;			/* ... armed, then found empty, and not notified since */
	/*
	 * Each end of a QP moves the mark @at of its element. uep_wq.latest does not reach a mark
	 * that moves as fast as itself, as with short connections and a full queue. So the mark of
	 * ended[0] stays: further QPs count in ended[1], which replaces ended[0] when latest has
	 * reached that mark. A QP counts until twice the queue's receives have been used, at most.
	 * ended[1] is empty if ended[0] is.
	 */
	struct uep_recv_ended ended[2];
};

struct uep_srq {
	struct uep_obj obj;		/* QPs depend on it */
	struct uep_pd *pd;
	struct uep_xrcd *xrcd;		/* XRC: domain and CQ, else NULL */
	struct uep_cq *cq;
	struct ep_srq srq;
	struct uep_wq wq;
	struct mutex modify_lock;	/* modify and query, dead */
	bool dead;			/* it is being destroyed (modify_lock) */
	struct uep_recv_ring ring;
	struct uep_node async;		/* asynchronous events */
};

struct uep_srq *uep_srq_create(struct uep_pd *pd, struct rdma_ep_cmd_create_srq *arg);
uep_cmd_fn uep_modify_srq, uep_query_srq;

static inline bool uep_srq_has_ring(const struct uep_srq *srq)
{
	return srq->ring.mem.index != RDMA_EP_NO_RING;
}

int uep_recv_ring_create(struct uep_srq *srq, u32 srq_limit);
void uep_recv_ring_free(struct uep_srq *srq);
void uep_recv_ring_stop(struct uep_srq *srq);
void uep_recv_ring_give_up(struct uep_srq *srq);
void uep_recv_ring_move(struct uep_srq *srq, struct xarray *pages);
int uep_recv_ring_close(struct uep_srq *srq);
void uep_recv_ring_open(struct uep_srq *srq);
void uep_recv_ring_resize(struct uep_srq *srq, u32 max_wr, u32 srq_limit);
void uep_recv_ring_add_qp(struct uep_qp *qp);
void uep_recv_ring_del_qp(struct uep_qp *qp, bool empty);
void uep_recv_ring_reset_qp(struct uep_qp *qp, bool empty);
void uep_recv_ring_cq_empty(struct uep_cq *cq);
void uep_recv_ring_cq_busy(struct uep_cq *cq);
void uep_recv_rings_take(struct uep_pd *pd);

/* Queue pairs (qp.c, qp_modify.c) */

/* Pacing of a QP's sends (pace.c). Read and written without a lock: it affects times only */
struct uep_pace {
	u64 cookie;			/* last request of the latest piece; 0: none */
	u64 bytes;			/* posted since then */
	u64 posted_at;			/* when the latest piece was posted (ktime_get_ns()) */
	unsigned long began_at;		/* when the latest post of much began (jiffies) */
	unsigned long much_at;		/* ... and ended (jiffies) */
	unsigned long failed_at;	/* when a wait for a piece ended in vain (jiffies) */
	bool much;			/* began_at and much_at are valid */
	bool failed;			/* failed_at is valid */
};

struct uep_qp {
	struct uep_obj obj;
	struct uep_ctx *ctx;		/* of pd or xrcd */
	struct uep_pd *pd;		/* NULL: XRC target */
	struct uep_xrcd *xrcd;		/* XRC target: domain, else NULL */
	struct uep_cq *send_cq;		/* NULL: XRC target */
	struct uep_cq *recv_cq;		/* ... too; of an XRC initiator it is send_cq */
	struct uep_srq *srq;		/* or NULL */
	bool srq_apart;			/* counts in uep_recv_ring.nr_apart */
	struct ep_qp qp;
	struct uep_wq sq;
	struct uep_wq rq;		/* unused with an SRQ */
	unsigned long hw_key;		/* in uep_cq.qps, after the hardware object's end */
	bool iwarp;			/* the rules of iWARP apply to work requests */
	u32 send_ops;			/* opcodes that it may post, BIT(enum ib_wr_opcode) */
	int (*prepare_send)(struct ep_qp *qp, struct ib_send_wr *wr, u32 flags,
			    struct ib_sge *spare); /* the driver's, or NULL */
	u32 max_msg_size;		/* of the port */
	u32 max_sge_rd;			/* entries of one RDMA READ */
	struct uep_pace pace;
	struct uep_node async;		/* asynchronous events */
};

extern const struct ep_res_ops uep_qp_res_ops;

void uep_qp_event(struct ib_event *event, void *context);
struct uep_qp *uep_qp_alloc(struct uep_obj *parent, struct uep_ctx *ctx, u64 uid);
unsigned long uep_qp_key(const struct uep_qp *qp);
void uep_qp_set_port(struct uep_qp *qp, u32 port);
struct uep_qp *uep_qp_by_num(struct uep_session *s, struct ep_dev *dev, u32 qp_num);
uep_cmd_fn uep_modify_qp, uep_query_qp, uep_attach_mcast, uep_detach_mcast;

/* Posting (post.c, post_buf.c, send.c) */

int uep_post_init(void);
void uep_post_cleanup(void);
u32 uep_send_ops(enum ib_qp_type type, bool iwarp);
uep_cmd_fn uep_post_send, uep_post_recv, uep_post_srq_recv;

/* Queries (query.c), conversions (attr.c) */

uep_cmd_fn uep_query, uep_query_devices, uep_query_device, uep_query_port, uep_query_gid;
uep_cmd_fn uep_query_gid_table, uep_query_pkey;

/* Initialises a member with that of the same name in the structure src. */
#define UEP_COPY(member)	.member = src->member

void uep_ah_attr_to_user(struct ib_uverbs_ah_attr *dst, struct rdma_ah_attr *src);
int uep_ah_attr_from_user(struct uep_ctx *ctx, struct rdma_ah_attr *dst,
			  const struct ib_uverbs_ah_attr *src);
void uep_qp_attr_to_user(struct ib_uverbs_qp_attr *dst, struct ib_qp_attr *src, int mask);
int uep_qp_attr_from_user(struct uep_qp *qp, struct ib_qp_attr *dst,
			  const struct ib_uverbs_qp_attr *src, int *mask);

#endif /* RDMA_EP_VERBS_H */
