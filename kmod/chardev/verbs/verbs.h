/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verbs objects in the user face, and the commands on them. How they live and
 * lock is in ../core/core.h.
 */
#ifndef RDMA_EP_VERBS_H
#define RDMA_EP_VERBS_H

#include <linux/path.h>

#include "../core/core.h"

/* Asynchronous events (async.c) */

struct uep_queue *uep_async_create(void);

/* Contexts (ctx.c) */

struct uep_pd;

/**
 * struct uep_ctx - a device opened in a session
 * @obj: object; PDs and CQs use it
 * @net_cookie: network namespace of who opened it
 * @async: its asynchronous events
 * @default_pd: the session's default PD on the device, if this is the default
 *	context
 * @entry: in the list of all contexts
 * @nr_ports: number of @ports
 * @ports: events of the device (0) and its ports
 */
struct uep_ctx {
	struct uep_obj obj;
	u64 net_cookie;
	struct uep_queue *async;
	struct uep_pd *default_pd;
	struct list_head entry;
	u32 nr_ports;
	struct uep_node ports[];
};

struct uep_ctx *uep_ctx_create(struct uep_session *s, struct ep_dev *dev);
struct ep_dev *uep_dev_lookup(u32 index, int *srcu);
void uep_dev_leave(struct ep_dev *dev, int srcu);
int uep_open_device(struct uep_cmd *cmd);
void uep_ctx_event(struct ep_dev *dev, struct ib_event *event);

/* PDs, AHs (pd.c), MRs (mr.c) */

/**
 * struct uep_pd - protection domain
 * @obj: object; MRs, AHs, SRQs and QPs use it
 * @ctx: context
 * @pd: the engine's
 * @mrs: its MRs by lkey, looked up under RCU for every posted entry
 * @nr_deregs: those that are being deregistered
 */
struct uep_pd {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct ep_pd pd;
	struct xarray mrs;
	atomic_t nr_deregs;
};

struct uep_pd *uep_pd_create(struct uep_ctx *ctx);
struct uep_pd *uep_pd_enter(struct uep_session *s, u32 handle, struct ep_dev *dev, int *srcu);
int uep_alloc_pd(struct uep_cmd *cmd);

/**
 * struct uep_mr - memory region
 * @obj: object
 * @lock: held over changes (RDMA_EP_IOC_REREG_MR), while the object is in use. Not
 *	where it is destroyed
 * @pd: its PD
 * @res: on the device
 * @ibmr: hardware object
 * @iova: first address
 * @length: bytes
 * @nr_pages: charged
 * @access: enum ib_access_flags
 * @pinned_writable: the memory may be given any access that writes
 */
struct uep_mr {
	struct uep_obj obj;
	struct mutex lock;		/* changes */
	struct uep_pd *pd;
	struct ep_res res;
	struct ib_mr *ibmr;
	u64 iova;
	u64 length;
	u64 nr_pages;
	u32 access;
	bool pinned_writable;
};

bool uep_mr_check(struct uep_pd *pd, const struct ib_sge *sge, bool write);
int uep_reg_mr(struct uep_cmd *cmd);
int uep_rereg_mr(struct uep_cmd *cmd);

/**
 * struct uep_ah - address handle
 * @obj: object
 * @live: the handle and posts in flight; the last one destroys @ibah
 * @pd: its PD
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

/* XRC domains (xrcd.c) */

/**
 * struct uep_xrcd - XRC domain, as far as this session has opened it
 * @obj: object; SRQs and QPs use it
 * @ctx: context
 * @xrcd: the engine's
 * @path: keeps the inode that names it to others; empty if none does
 */
struct uep_xrcd {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct ep_xrcd xrcd;
	struct path path;
};

int uep_open_xrcd(struct uep_cmd *cmd);

/* Work queues: slots of posted work requests (wq.c) */

/* Requests that are checked, and then posted, in one go. */
#define UEP_POST_BATCH		8

/**
 * struct uep_slot - a posted work request
 * @wr_id: the user's
 * @next: free slot of an unordered queue: the next one, counted from the one behind
 *	it, so that the list of new slots is all zeros
 * @seq: use count, part of the cookie
 * @busy: in use
 * @signalled: a completion will tell of it
 */
struct uep_slot {
	u64 wr_id;
	u32 next;
	u16 seq;
	bool busy;
	bool signalled;
};

/**
 * struct uep_wq_order - requests that complete in order, or in any
 * @head: ordered: next slot to use; else: first free slot
 * @tail: ordered: oldest slot in use
 * @used: slots in use
 * @passed: ordered: those from @tail to the latest that has completed, if an older one
 *	has not
 */
struct uep_wq_order {
	u32 head;
	u32 tail;
	u32 used;
	u32 passed;
};

/**
 * struct uep_wq - a send, receive or shared receive queue
 * @session: whose it is; only to be compared
 * @lock: everything below; held across ib_post_*, never taken by handlers
 * @id: names the queue in what is given to the driver as wr_id, 0 as long as there
 *	are no @slots
 * @size: number of @slots of an order, or how many there will be
 * @ordered: send queue: completes in order, and only signalled requests
 *	announce it
 * @reads_apart: READs complete in an order of their own: they have slots of
 *	their own, behind the others
 * @dead: the queue is being destroyed: no more posts
 * @order: what completes in the order of posting: READs with @reads_apart, all the rest
 * @traffic: what has been posted
 * @qp_num: QP, 0 for a shared receive queue
 * @xrcd: XRC SRQ: domain, whose QPs it receives for
 * @slots: what the user posted; NULL if that is nothing yet
 */
struct uep_wq {
	const struct uep_session *session;
	spinlock_t lock;		/* slots; held across posts */
	u32 id;
	u32 size;
	bool ordered;
	bool reads_apart;
	bool dead;
	struct uep_wq_order order[2];
	struct uep_traffic traffic;
	u32 qp_num;
	struct ep_xrcd *xrcd;
	struct uep_slot *slots;
};

int uep_wq_init(struct uep_wq *wq, const struct uep_session *session, u32 size, bool ordered);
int uep_wq_prepare(struct uep_wq *wq);
void uep_wq_pass(struct uep_wq *wq);
void uep_wq_stop(struct uep_wq *wq);
void uep_wq_free(struct uep_wq *wq);
int uep_wq_grow(struct uep_wq *wq, u32 size);
bool uep_wq_has_room(struct uep_wq *wq, u32 max, u32 num);
bool uep_wq_push(struct uep_wq *wq, u64 wr_id, bool signalled, bool read, u64 *cookie);
void uep_wq_pop(struct uep_wq *wq, u64 cookie);
void uep_wq_reset(struct uep_wq *wq);
bool uep_wq_complete(const struct uep_session *session, u64 cookie,
		     const struct ib_qp *ibqp, u64 *wr_id, u32 *qp_num);
void uep_wq_cleanup(void);

/* CQs (cq.c) and completion channels (comp.c) */

struct uep_qp;
struct uep_wc_chunk;

/* Bounds the stack and how long drivers keep interrupts off in one go. */
#define UEP_POLL_BATCH	8

/**
 * struct uep_cq_hw - a device's CQ, which may serve one struct uep_cq after another
 * @ref: the device's list; its user, or the list of those that have none
 * @rcu: delays the free: a driver may be late with a notification
 * @cq: the engine's
 * @poll_lock: held over what is done with @cq; outside of @lock
 * @lock: @user, taken in any context
 * @user: whose it is, told by handlers; NULL: nobody's
 * @wanted: entries that were asked for
 * @comp_vector: completion vector
 * @wc: completions that are being polled. Zero in between: drivers fill in what a
 *	completion has, no more (@poll_lock)
 * @worn: something has been done to it that a new one does not have: no other user
 *	(@poll_lock or @lock to write, only ever set)
 * @armed: the device has been told to notify of any completion, and has not since
 * @disarming: uep_cq_disarm() waits for that
 * @idle: while it is nobody's
 */
struct uep_cq_hw {
	struct kref ref;
	struct rcu_head rcu;
	struct ep_cq cq;
	struct mutex poll_lock;		/* what is done with cq */
	spinlock_t lock;		/* user */
	struct uep_cq *user;
	u32 wanted;
	u32 comp_vector;
	struct ib_wc wc[UEP_POLL_BATCH];
	bool worn;
	bool armed;
	bool disarming;
	struct uep_idle idle;
};

void uep_cq_hw_put(struct uep_cq_hw *hw);

/**
 * struct uep_cq - completion queue
 * @obj: object; QPs use it
 * @ctx: context
 * @hw: the device's (holds a reference), NULL if there never was one
 * @chan: completion channel or NULL
 * @comp: completion events
 * @async: asynchronous events
 * @held: completions that have been taken from the device but not by the user
 *	(hw->poll_lock)
 * @nr_held: how many
 * @nr_polled: completions that there have been for the user (hw->poll_lock)
 * @polled_at: when there were some last, or it was made (jiffies; hw->poll_lock to
 *	write)
 * @dead: @hw is gone, or no longer this CQ's (hw->poll_lock)
 * @asked: the user has asked for an event with the next completion
 * @ring: where the user looks for completions first
 * @manual: ... which would be wrong, as the user wants to know of some only
 *	(hw->poll_lock)
 * @by_itself: the device is told to notify whenever it has been found empty, so
 *	that the user need not ask (hw->poll_lock to write)
 * @qps: QPs by address of the hardware object, for completions of shared receive
 *	queues, which name their QP by a pointer that must not be followed
 */
struct uep_cq {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct uep_cq_hw *hw;
	struct uep_queue *chan;
	struct uep_node comp;
	struct uep_node async;
	struct list_head held;
	u32 nr_held;
	u64 nr_polled;
	unsigned long polled_at;
	bool dead;
	u32 asked;			/* not all machines exchange bytes */
	struct uep_ring ring;
	bool manual;
	bool by_itself;
	struct xarray qps;
};

struct uep_cq *uep_cq_create(struct uep_ctx *ctx, u64 uid, struct uep_queue *chan, u32 cqe,
			     u32 comp_vector, bool ring);
u32 uep_cq_granted(const struct uep_cq *cq);
int uep_create_cq(struct uep_cmd *cmd);
int uep_resize_cq(struct uep_cmd *cmd);
int uep_modify_cq(struct uep_cmd *cmd);

/* poll.c */
void uep_cq_completed(struct uep_cq *cq);
void uep_cq_lost(struct uep_cq *cq);
void uep_cq_harvest(struct uep_cq *cq);
void uep_qp_harvest(struct uep_qp *qp);
void uep_cq_drain(struct uep_cq *cq);
void uep_cq_drop_held(struct uep_cq *cq);
int uep_poll_cq(struct uep_cmd *cmd);
int uep_notify_cq(struct uep_cmd *cmd);

struct uep_queue *uep_comp_create(struct uep_cmd *cmd, s32 *fd);
struct uep_queue *uep_comp_find(struct uep_session *s, int fd);
int uep_create_comp_channel(struct uep_cmd *cmd);

/* SRQs (srq.c), QPs (qp.c), posting (post.c) */

/**
 * struct uep_srq - shared receive queue
 * @obj: object; QPs use it
 * @pd: PD
 * @xrcd: XRC: domain (uses it), else NULL
 * @cq: XRC: CQ (uses it), else NULL
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
	struct uep_xrcd *xrcd;
	struct uep_cq *cq;
	struct ep_srq srq;
	struct uep_wq wq;
	struct mutex modify_lock;	/* modify and query, dead */
	bool dead;
	u32 max_sge;
	struct uep_node async;
};

struct uep_srq *uep_srq_create(struct uep_pd *pd, struct rdma_ep_create_srq *arg);
int uep_modify_srq(struct uep_cmd *cmd);
int uep_query_srq(struct uep_cmd *cmd);

/**
 * struct uep_qp - queue pair
 * @obj: object
 * @ctx: context, of @pd or @xrcd
 * @pd: PD, NULL for an XRC target
 * @xrcd: XRC target: domain (uses it), else NULL
 * @send_cq: CQ (uses it), NULL for an XRC target
 * @recv_cq: the same; @send_cq for an XRC initiator
 * @srq: SRQ or NULL (uses it)
 * @qp: the engine's
 * @sq: posted sends
 * @rq: posted receives, unused with an SRQ
 * @key: index in uep_session.qps
 * @hw_key: index in uep_cq.qps, kept when the hardware object goes
 * @iwarp: iWARP rules apply to work requests
 * @prepare_send: the driver's, or NULL (&struct ep_driver_ops)
 * @max_msg_size: longest message of the port
 * @max_sge_rd: entries of one RDMA READ
 * @async: asynchronous events
 */
struct uep_qp {
	struct uep_obj obj;
	struct uep_ctx *ctx;
	struct uep_pd *pd;
	struct uep_xrcd *xrcd;
	struct uep_cq *send_cq;
	struct uep_cq *recv_cq;
	struct uep_srq *srq;
	struct ep_qp qp;
	struct uep_wq sq;
	struct uep_wq rq;
	unsigned long key;
	unsigned long hw_key;
	bool iwarp;
	int (*prepare_send)(struct ep_qp *qp, struct ib_send_wr *wr, u32 flags,
			    struct ib_sge *spare);
	u32 max_msg_size;
	u32 max_sge_rd;
	struct uep_node async;
};

extern const struct ep_res_ops uep_qp_res_ops;

void uep_qp_event(struct ib_event *event, void *context);
struct uep_qp *uep_qp_alloc(struct uep_obj *parent, struct uep_ctx *ctx, u64 uid);
unsigned long uep_qp_key(const struct uep_qp *qp);
void uep_qp_learn_port(struct uep_qp *qp, u32 port);
struct uep_qp *uep_target_create(struct uep_xrcd *xrcd, u64 uid, const u32 *num);
struct uep_qp *uep_qp_by_num(struct uep_session *s, struct ep_dev *dev, u32 qp_num);
int uep_open_qp(struct uep_cmd *cmd);
int uep_modify_qp(struct uep_cmd *cmd);
int uep_query_qp(struct uep_cmd *cmd);
int uep_attach_mcast(struct uep_cmd *cmd);
int uep_detach_mcast(struct uep_cmd *cmd);

int uep_post_send(struct uep_cmd *cmd);
int uep_post_recv(struct uep_cmd *cmd);
int uep_post_srq_recv(struct uep_cmd *cmd);

/* Queries (query.c), conversions (attr.c) */

int uep_query(struct uep_cmd *cmd);
int uep_query_devices(struct uep_cmd *cmd);
int uep_query_device(struct uep_cmd *cmd);
int uep_query_port(struct uep_cmd *cmd);
int uep_query_gid(struct uep_cmd *cmd);
int uep_query_gid_table(struct uep_cmd *cmd);
int uep_query_pkey(struct uep_cmd *cmd);

void uep_ah_attr_to_user(struct ib_uverbs_ah_attr *dst, struct rdma_ah_attr *src);
int uep_ah_attr_from_user(struct uep_ctx *ctx, struct rdma_ah_attr *dst,
			  const struct ib_uverbs_ah_attr *src);
void uep_qp_attr_to_user(struct ib_uverbs_qp_attr *dst, struct ib_qp_attr *src, int mask);
int uep_qp_attr_from_user(struct uep_qp *qp, struct ib_qp_attr *dst,
			  const struct ib_uverbs_qp_attr *src, int *mask);

#endif /* RDMA_EP_VERBS_H */
