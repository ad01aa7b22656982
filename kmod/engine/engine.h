/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: RDMA devices, verbs objects and communication ids, and the
 * connection logic that ties them together. It knows nothing of user space; the
 * faces (the character device, kernel ULPs) embed its objects in theirs.
 *
 * Lifetime of verbs objects
 * -------------------------
 * Every verbs object embeds a struct ep_res and is on its device's list until
 * its hardware object is destroyed. That happens exactly once: whoever takes it
 * off the list (under ep_dev.lock) destroys it, be it the owner or the removal
 * of the device. The list holds a reference on the owner's object, which
 * ep_res_ops.put drops. After a removal the owner's object stays and its
 * hardware pointer is NULL; operations on it return -EIO.
 *
 * Everything that calls into the driver is bracketed by ep_dev_enter() and
 * ep_dev_exit(), an SRCU read section that the removal waits for. Nothing that
 * waits for a user or a peer may happen inside, except that registering memory
 * faults the user's pages in. The data path is the exception:
 * posts and polls are excluded from destruction by locks that the owner takes in
 * ep_res_ops.killing.
 *
 * A kernel consumer has the bare hardware objects in its hands, so they can not
 * be taken from it. It holds the device (struct ep_hold) instead, and a removal
 * tells it and waits until it lets go. Its objects have no ep_res_ops, are on no
 * list and in no cgroup, and are destroyed by it alone.
 *
 * Locks, outermost first
 * ----------------------
 *  ep_id.lock            serialises rdma_cm calls on one id
 *   handler mutex        rdma_cm's own, held around ep_id event handlers
 *    a driver's own      QPs that are being destroyed (drivers/)
 *     ep_qp.lock         state changes of a QP against its destruction; with the handler
 *			mutex held it is only tried
 *      ep_dev.mcast_lock multicast groups; in handlers it is only tried
 *      the owner's, of what is posted and of CQs (ep_res_ops.forget)
 *      XRC domain        changes of the QPs that it shares (leaf)
 *      ep_dev.lock       the device's list of objects (leaf)
 *      ep_id.link_lock   which QP and multicast groups belong to the id (leaf)
 *    ep_dev.pd_lock      kernel consumers' PD: around calls of the driver, so in no
 *			handler
 *    ep_dev.hold_lock    kernel consumers' holds (leaf)
 *    ep_dev.xrcd_lock    which XRC domains there are (leaf)
 *
 * Event handlers run with the handler mutex held, so they must not take
 * ep_id.lock. They run in few work items, for all ids of the machine: so they wait for
 * no lock that is held over what a user can make last. They try it, and if it is held leave
 * what is to be done to the task that unlocks it (ep_qp_error()), or to the id's own work
 * item, which takes the lock first and the handler mutex then, each for itself
 * (ep_id.later_work). A task with the handler mutex does not wait for ep_qp.lock, either.
 *
 * Drivers' calls under ep_qp.lock and inside of ep_dev_enter() end soon, whatever users
 * do: where a driver's do not, its operations (driver.h) bound them, and docs/security.md
 * lists what they cannot bound.
 *
 * ep_dev.cm_srcu is held around rdma_destroy_id(), outside of everything but ep_dev.srcu;
 * who waits for it, at the end of our removal of a device, holds nothing of ours.
 */
#ifndef RDMA_EP_ENGINE_H
#define RDMA_EP_ENGINE_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "driver.h"

struct ep_res;

/* Teardown order of a device that goes away. */
enum ep_res_class {
	EP_RES_QP,
	EP_RES_SRQ,
	EP_RES_CQ,
	EP_RES_MR,
	EP_RES_AH,
	EP_RES_XRCD,
	EP_RES_PD,
	EP_RES_NR,
};

/**
 * struct ep_dev - an RDMA device while it is there, and its remains after
 * @ref: references
 * @ibdev: the device; only valid between ep_dev_enter() and ep_dev_exit()
 * @index: our own number for it, never used twice
 * @dead: removal has begun
 * @gone: our part of the removal is over, and rdma_cm's begins
 * @srcu: protects @ibdev
 * @cm_srcu: protects what is not to be done when @gone
 * @lock: protects @res and @qps
 * @res: objects on the device, by class
 * @qps: the QPs among them, by number
 * @event_handler: for device and port events
 * @hold_lock: protects @holds
 * @holds: kernel consumers' holds
 * @unheld: woken when one has gone
 * @pd_lock: protects @kernel_pd and @kernel_pd_users
 * @kernel_pd: PD of kernel consumers that have none of their own
 * @kernel_pd_users: how many use it
 * @xrcd_lock: protects @xrcds, and how often each of them is open
 * @xrcds: XRC domains that can be shared
 * @mcast_lock: held while a QP is attached or detached, with %EP_CAP_MCAST_ALONE; inside
 *	of ep_qp.lock
 * @driver: its driver
 * @ops: the driver's operations
 * @driver_data: for these
 * @max_recv_sz: most bytes of a receive
 * @max_msg_sz: longest message, by port number
 */
struct ep_dev {
	struct kref ref;
	struct ib_device *ibdev;
	u32 index;
	bool dead;
	bool gone;
	struct srcu_struct srcu;
	struct srcu_struct cm_srcu;
	spinlock_t lock;		/* res, qps */
	struct list_head res[EP_RES_NR];
	DECLARE_HASHTABLE(qps, 10);
	struct ib_event_handler event_handler;
	struct mutex hold_lock;		/* holds */
	struct list_head holds;
	wait_queue_head_t unheld;
	struct mutex pd_lock;		/* kernel_pd */
	struct ib_pd *kernel_pd;
	unsigned int kernel_pd_users;
	struct mutex xrcd_lock;		/* xrcds */
	DECLARE_HASHTABLE(xrcds, 6);
	struct mutex mcast_lock;	/* the driver's groups */
	const struct ep_driver *driver;
	const struct ep_driver_ops *ops;
	void *driver_data;
	u32 max_recv_sz;
	u32 max_msg_sz[];
};

/*
 * Work that users cause goes here and not to the system's queues, where others would wait
 * for it. Each item is short.
 */
extern struct workqueue_struct *ep_wq;

int ep_dev_init(void (*event)(struct ep_dev *dev, struct ib_event *event));
void ep_dev_cleanup(void);
struct ep_dev *ep_dev_get(u32 index);
struct ep_dev *ep_dev_next(u32 *index);
struct ep_dev *ep_dev_of(struct ib_device *ibdev);
void ep_dev_put(struct ep_dev *dev);
u32 ep_dev_nr_iwarp(void);
int ep_dev_enter(struct ep_dev *dev, int *idx);
void ep_dev_exit(struct ep_dev *dev, int idx);
bool ep_dev_enter_cm(struct ep_dev *dev, int *idx);
void ep_dev_exit_cm(struct ep_dev *dev, int idx);

/**
 * struct ep_hold - a kernel consumer's hold on a device
 * @dev: the device (holds a reference), NULL if none is held
 * @entry: in dev->holds
 * @told: @removed has been called
 * @owner: name of the consumer
 * @get: takes a reference on what the hold is embedded in
 * @removed: the device is going away: let go of it soon. Called once at most, in
 *	process context, perhaps after ep_dev_unhold(). Drops the reference
 */
struct ep_hold {
	struct ep_dev *dev;
	struct list_head entry;
	bool told;
	const char *owner;
	void (*get)(struct ep_hold *hold);
	void (*removed)(struct ep_hold *hold);
};

int ep_dev_hold(struct ep_dev *dev, struct ep_hold *hold);
void ep_dev_unhold(struct ep_hold *hold);
struct ib_pd *ep_dev_get_pd(struct ep_dev *dev);
void ep_dev_put_pd(struct ep_dev *dev);

/**
 * struct ep_res_ops - what the owner of an object provides
 * @killing: optional; the hardware object is about to be destroyed: stop using
 *	it. Called once, may sleep
 * @quiet: optional; of QPs: ep_qp.state has become RESET, or EP_QP_ACCEPTING is set.
 *	Returns when nobody posts any more who saw it before. Under ep_qp.lock
 * @forget: comes with @quiet: takes what has completed; what has not will not be
 *	known to the user. After @quiet, for a reset
 * @keep: optional; the owner has no more use for the hardware object. Returns true
 *	if it has passed to somebody else instead of being destroyed. Inside
 *	ep_dev_enter()
 * @put: drops the reference that the device's list holds
 * @hold: of QPs, comes with @quiet: keeps the owner's object, not the hardware object.
 *	Under a spinlock, of what is in the device's list
 * @unhold: ends that
 * @user: comes with @hold: whose it is; only to be compared
 * @kept: comes with @hold: a region of the QP's PD is being deregistered. Under a spinlock
 * @got_at: comes with @hold: when the owner last took completions of the queue that it
 *	receives with (jiffies)
 */
struct ep_res_ops {
	void (*killing)(struct ep_res *res);
	void (*quiet)(struct ep_res *res);
	void (*forget)(struct ep_res *res);
	bool (*keep)(struct ep_res *res);
	void (*put)(struct ep_res *res);
	void (*hold)(struct ep_res *res);
	void (*unhold)(struct ep_res *res);
	const void *(*user)(struct ep_res *res);
	bool (*kept)(struct ep_res *res);
	unsigned long (*got_at)(struct ep_res *res);
};

/**
 * struct ep_res - a hardware object on a device
 * @dev: its device (holds a reference)
 * @entry: in dev->res, empty once claimed for destruction
 * @class: kind of object
 * @ops: the owner's; NULL: a kernel consumer's, which holds the device
 * @destroy: destroys the hardware object
 * @cg: cgroup that was charged, if @charged
 */
struct ep_res {
	struct ep_dev *dev;
	struct list_head entry;
	enum ep_res_class class;
	const struct ep_res_ops *ops;
	void (*destroy)(struct ep_res *res);
	struct rdma_cgroup *cg;
	bool charged;
};

void ep_res_prepare(struct ep_res *res, struct ep_dev *dev,
		    enum ep_res_class class, const struct ep_res_ops *ops,
		    void (*destroy)(struct ep_res *res));
int ep_res_init(struct ep_res *res, struct ep_dev *dev, enum ep_res_class class,
		const struct ep_res_ops *ops,
		void (*destroy)(struct ep_res *res));
int ep_res_charge(struct ep_res *res);
void ep_res_uncharge(struct ep_res *res);
void ep_res_add(struct ep_res *res);
int ep_res_abort(struct ep_res *res, const void *hw);
bool ep_res_claim(struct ep_res *res);
void ep_res_destroy(struct ep_res *res);
void ep_res_fini(struct ep_res *res);

struct ep_pd {
	struct ep_res res;
	struct ib_pd *ibpd;
};

struct ep_cq {
	struct ep_res res;
	struct ib_cq *ibcq;
	u32 cqe;
};

struct ep_srq {
	struct ep_res res;
	struct ib_srq *ibsrq;
	struct ib_srq_attr attr;
	u32 num;			/* XRC */
};

struct ep_xrc_domain;

/**
 * struct ep_xrcd - an XRC domain as one opener sees it
 * @res: on its device
 * @dom: the domain, which others may have open, too
 * @ibxrcd: the hardware object
 *
 * SRQs and QPs are made in it, and gone before it is closed; so @dom and @ibxrcd
 * are not NULL where one of them has its hardware object.
 */
struct ep_xrcd {
	struct ep_res res;
	struct ep_xrc_domain *dom;
	struct ib_xrcd *ibxrcd;
};

/**
 * enum ep_qp_cm_use - bits of &struct ep_qp.cm_use
 * @EP_QP_PINNED: it is in a call of the CM: nobody moves or destroys it meanwhile
 * @EP_QP_ACCEPTING: a connection is being accepted with it: sends wait
 * @EP_QP_FAILED: it is to be in error when it is pinned no more, and @lock is free (set
 *	without)
 */
enum ep_qp_cm_use {
	EP_QP_PINNED,
	EP_QP_ACCEPTING,
	EP_QP_FAILED,
};

/**
 * struct ep_qp - a queue pair
 * @res: on its device
 * @by_num: in ep_dev.qps while @res is in the device's list
 * @lock: held over state changes; @ibqp is not NULL under it until the QP is
 *	being destroyed. Unlocked by ep_qp_unlock(). Handlers of rdma_cm, and tasks with the
 *	handler locked, only try it
 * @ibqp: the hardware object
 * @type: QP type
 * @state: last state that we moved it to (read without lock by the data path)
 * @port: last port that it was given (@lock)
 * @qp_num: number
 * @has_srq: receives come from a shared receive queue
 * @cm_has: iWARP: a connection is or was made with it (@lock)
 * @cm_use: what the CM does with it just now
 * @ending: it is about to be destroyed: the CM does not get it any more (set with @lock)
 * @worn: a peer may know of it, or more was done to it than a move to INIT: it never
 *	is like a new one again (@lock, only ever set)
 * @xrcd: XRC target: where it is, set by the owner before it is made. @ibqp is
 *	this opener's, and the queue pair behind it may have others
 * @sq_sig_all: every send completes
 * @cap: granted capabilities
 * @mcasts: multicast groups that it is attached to (@lock)
 * @nr_mcasts: how many
 * @driver_data: for the driver's operations, zeroed at first
 */
struct ep_qp {
	struct ep_res res;
	struct hlist_node by_num;
	struct mutex lock;		/* ibqp, state changes */
	struct ib_qp *ibqp;
	enum ib_qp_type type;
	enum ib_qp_state state;
	u32 port;
	u32 qp_num;
	bool has_srq;
	bool cm_has;
	unsigned long cm_use;
	bool ending;
	bool worn;
	struct ep_xrcd *xrcd;
	bool sq_sig_all;
	struct ib_qp_cap cap;
	struct list_head mcasts;
	u32 nr_mcasts;
	u64 driver_data[16];
};

int ep_pd_create(struct ep_pd *pd, struct ep_dev *dev,
		 const struct ep_res_ops *ops);
int ep_cq_create(struct ep_cq *cq, struct ep_dev *dev,
		 const struct ep_res_ops *ops, ib_comp_handler comp,
		 void (*event)(struct ib_event *, void *), void *context,
		 const struct ib_cq_init_attr *attr);
int ep_srq_create(struct ep_srq *srq, struct ep_dev *dev, struct ib_pd *pd,
		  const struct ep_res_ops *ops,
		  struct ib_srq_init_attr *attr);
int ep_qp_create(struct ep_qp *qp, struct ep_dev *dev, struct ib_pd *pd,
		 const struct ep_res_ops *ops, struct ib_qp_init_attr *attr,
		 const char *caller);
bool ep_qp_keep(struct ep_qp *qp, struct ep_qp *keeper,
		const struct ep_res_ops *ops);
int ep_qp_take(struct ep_qp *qp, struct ep_qp *keeper,
	       const struct ep_res_ops *ops, void *context);
int ep_qp_open(struct ep_qp *qp, struct ep_dev *dev,
	       const struct ep_res_ops *ops, struct ib_qp_open_attr *attr);
int ep_qp_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
int ep_qp_query(struct ep_qp *qp, struct ib_qp_attr *attr, int mask,
		struct ib_qp_init_attr *init);
int ep_qp_modify_locked(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
void ep_qp_unlock(struct ep_qp *qp);
void ep_qp_error(struct ep_qp *qp);
void ep_qp_error_wait(struct ep_qp *qp);

/* @waited: false before the first of several QPs that are destroyed next */
static inline void ep_qp_stop(struct ep_qp *qp, bool *waited)
{
	if (qp->res.dev->ops->stop)
		qp->res.dev->ops->stop(qp, waited);
}

static inline int ep_mr_dereg(struct ep_dev *dev, struct ib_mr *mr)
{
	return dev->ops->dereg_mr ? dev->ops->dereg_mr(dev, mr) :
				    ib_dereg_mr(mr);
}

int ep_qp_settle(struct ep_qp *qp);
void ep_qp_unsettle(struct ep_qp *qp);
bool ep_qp_pin(struct ep_qp *qp, bool accepting);
void ep_qp_unpin(struct ep_qp *qp, int ret);
struct ib_qp *ep_qp_hold_iwarp(struct ep_qp *qp);
void ep_qp_unhold_iwarp(struct ib_qp *ibqp);

int ep_xrcd_open(struct ep_xrcd *xrcd, struct ep_dev *dev,
		 const struct ep_res_ops *ops, const void *file,
		 const void *user, bool create, bool exclusive);
struct ib_qp *ep_xrcd_create_qp(struct ep_xrcd *xrcd,
				struct ib_qp_init_attr *attr,
				const char *caller);
struct ib_qp *ep_xrcd_open_qp(struct ep_xrcd *xrcd,
			      struct ib_qp_open_attr *attr);
int ep_xrcd_modify_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp,
		      struct ib_qp_attr *attr, int mask);
int ep_xrcd_destroy_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp);
u32 ep_xrcd_qp_num(struct ep_xrcd *xrcd, const struct ib_qp *ibqp);

void ep_dev_lock_mcast(struct ep_dev *dev);
bool ep_dev_trylock_mcast(struct ep_dev *dev);
void ep_dev_unlock_mcast(struct ep_dev *dev);
int ep_qp_attach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid,
			u32 members);
int ep_qp_detach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid,
			u32 members);
int ep_qp_attach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid);
int ep_qp_detach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid);
void ep_qp_detach_all(struct ep_qp *qp, struct ib_qp *ibqp);

struct ep_id;

/**
 * struct ep_mcast - membership of an id in a multicast group
 * @entry: in ep_id.mcasts
 * @key: names it to rdma_cm, which may report on a membership that has ended
 * @addr: address of the group, with @key
 * @send_only: the id's QP is not to be attached
 * @qp: QP that has been attached (holds a reference), or NULL (ep_id.link_lock)
 * @gid: group that it has been attached to
 * @lid: the same
 * @joined: in ep_id.joined: it is to be attached (ep_id.link_lock)
 * @later: that is so, or just being done (handler mutex)
 * @event: what the owner hears then (as long as @later)
 * @lost: the group is lost (handler mutex)
 */
struct ep_mcast {
	struct list_head entry;
	u32 key;
	struct sockaddr_storage addr;
	bool send_only;
	struct ep_qp *qp;
	union ib_gid gid;
	u16 lid;
	struct list_head joined;
	bool later;
	struct rdma_cm_event event;
	bool lost;
};

/**
 * struct ep_response - a peer's answer that is to be confirmed
 * @event: of it
 * @private_data: event.param.conn.private_data
 */
struct ep_response {
	struct rdma_cm_event event;
	u8 private_data[];
};

/**
 * struct ep_id_ops - what the owner of an id provides
 * @request: a connection request arrived on listening id @id. The owner makes an
 *	id of its own, calls ep_id_adopt() on it, and reports it. On an error
 *	nothing may have been adopted, and the request is refused
 * @event: any other event. Called in rdma_cm's handlers, or with the handler locked: may
 *	sleep, must not call anything of ep_id_* but ep_id_dev(), nor wait for a user. With
 *	multicast events param.ud.private_data is the struct ep_mcast
 * @get_qp: takes a reference on the object around @qp. Under a spinlock
 * @put_qp: drops it
 * @get_mcast: takes a reference on the object around @mc; not needed by who
 *	never joins. Under a spinlock
 * @put_mcast: drops it
 * @wait_state: what may end a wait: %TASK_INTERRUPTIBLE or %TASK_KILLABLE
 */
struct ep_id_ops {
	int (*request)(struct ep_id *id, struct rdma_cm_id *cm_id,
		       const struct rdma_cm_event *event);
	void (*event)(struct ep_id *id, const struct rdma_cm_event *event);
	void (*get_qp)(struct ep_qp *qp);
	void (*put_qp)(struct ep_qp *qp);
	void (*get_mcast)(struct ep_mcast *mc);
	void (*put_mcast)(struct ep_mcast *mc);
	unsigned int wait_state;
};

/**
 * struct ep_id - a communication id
 * @ops: the owner's
 * @owner: whose it is, for people who trace: a session's number, or 0. Set by the
 *	owner, as @number, before there is a @cm_id
 * @number: how he names it
 * @lock: serialises all rdma_cm calls on the id, protects @closed
 * @cm_id: usable under @lock while not @closed, and in event handlers
 * @closed: destroyed, or being so, by the owner or with the device
 * @ending: the owner is about to destroy it: no call begins (@lock)
 * @close_work: destroys @cm_id after its device has been removed
 * @later_work: does what a handler has left, as it would have had to wait (ep_wq)
 * @no_later: nothing is left any more (handler mutex)
 * @fail_qp: the QP, an XRC target, is to be in error (xchg)
 * @response: the peer has accepted, which is to be answered (handler mutex)
 * @resolving: rdma_cm looks for an address (handler mutex; set under @lock)
 * @route_dev: the device, once a route has been asked for (holds a reference)
 * @routing: rdma_cm looks for a route (handler mutex)
 * @removed: it has told us that the device is removed (handler mutex)
 * @route_wait: woken when it does not look any more, or has told us
 * @link_lock: protects @qp, @mcasts, @nr_mcasts and @joined
 * @qp: the id's own QP (holds a reference), possibly destroyed by now
 * @mcasts: multicast groups that the id is in; no references, memberships leave
 *	before they end
 * @nr_mcasts: how many
 * @joined: memberships whose QP is to be attached (references)
 * @mcast_key: last ep_mcast.key used
 * @failed: connecting failed on our side: later events of the CM are not
 *	reported (handler mutex)
 * @opened: @cm_id has been set
 * @begun: there is, or was, a connection to disconnect (@lock)
 * @told: number of the QP that the peer has been told of (@lock)
 * @listening: (@lock)
 * @request: a connection request that has not been accepted (@lock)
 * @responded: the peer has accepted, and the owner is to complete the connection
 *	(handler mutex)
 * @unconfirmed: a connection that has been accepted, and the peer has not confirmed
 *	(handler mutex)
 * @announced: the same, but the owner knows better: ep_id_notify() (handler mutex)
 * @leaving: the owner has disconnected meanwhile (handler mutex)
 * @backlog: connection requests that may still be queued
 * @sync: event that ep_id_resolve() waits for is to be swallowed
 * @done: completed by that event
 * @status: its status
 */
struct ep_id {
	const struct ep_id_ops *ops;
	u64 owner;
	u32 number;
	struct mutex lock;		/* calls of rdma_cm, closed */
	struct rdma_cm_id *cm_id;
	bool closed;
	bool ending;
	struct work_struct close_work;
	struct work_struct later_work;
	bool no_later;
	int fail_qp;
	struct ep_response *response;
	bool resolving;
	struct ep_dev *route_dev;
	bool routing;
	bool removed;
	wait_queue_head_t route_wait;
	spinlock_t link_lock;		/* qp, mcasts, joined */
	struct ep_qp *qp;
	struct list_head mcasts;
	u32 nr_mcasts;
	struct list_head joined;
	u32 mcast_key;
	bool failed;
	bool opened;
	bool begun;
	u32 told;
	bool listening;
	bool request;
	bool responded;
	bool unconfirmed;
	bool announced;
	bool leaving;
	atomic_t backlog;
	bool sync;
	struct completion done;
	int status;
};

int ep_id_init_engine(void);
void ep_id_cleanup_engine(void);

void ep_id_init(struct ep_id *id, const struct ep_id_ops *ops);
int ep_id_create(struct ep_id *id, enum rdma_ucm_port_space ps,
		 enum ib_qp_type qp_type);
int ep_id_create_kernel(struct ep_id *id, struct net *net,
			enum rdma_ucm_port_space ps, enum ib_qp_type qp_type,
			const char *caller);
void ep_id_adopt(struct ep_id *id, struct rdma_cm_id *cm_id);
void ep_id_destroy(struct ep_id *id);
int ep_id_settle(struct ep_id *id, bool ending);
int ep_id_begin(struct ep_id *id);
int ep_id_begin_bound(struct ep_id *id);
void ep_id_end(struct ep_id *id);
struct ep_dev *ep_id_dev(struct ep_id *id);
int ep_id_listen(struct ep_id *id, int backlog);
int ep_id_resolve_addr(struct ep_id *id, struct sockaddr *src,
		       const struct sockaddr *dst, u32 timeout_ms);
int ep_id_resolve_route(struct ep_id *id, u32 timeout_ms);
int ep_id_set_path(struct ep_id *id, struct sa_path_rec *path);
int ep_id_resolve(struct ep_id *id, struct sockaddr *src,
		  const struct sockaddr *dst, u32 addr_timeout_ms,
		  u32 route_timeout_ms);

bool ep_id_suits_qp(const struct ep_id *id, enum ib_qp_type qp_type);
int ep_id_attach_qp(struct ep_id *id, struct ep_qp *qp);
void ep_id_forget_qp(struct ep_id *id);
struct ep_qp *ep_id_get_qp(struct ep_id *id);
int ep_id_connect(struct ep_id *id, struct ep_qp *other,
		  struct rdma_conn_param *param, struct rdma_ucm_ece *ece);
int ep_id_accept(struct ep_id *id, struct ep_qp *other,
		 struct rdma_conn_param *param, struct rdma_ucm_ece *ece,
		 void (*accepted)(struct ep_id *id, void *arg), void *arg);
int ep_id_reject(struct ep_id *id, const void *data, u8 len, u8 reason);
int ep_id_disconnect(struct ep_id *id, struct ep_qp *told);
int ep_id_establish(struct ep_id *id);
int ep_id_conn_response(struct ep_id *id);
int ep_id_notify(struct ep_id *id, enum ib_event_type event);

int ep_id_join(struct ep_id *id, struct ep_mcast *mc);
void ep_id_leave(struct ep_id *id, struct ep_mcast *mc);
bool ep_id_mcast_event(struct ep_id *id, const struct rdma_cm_event *event);
bool ep_id_attach_later(struct ep_id *id);
void ep_id_drop_mcasts(struct ep_id *id);

#endif /* RDMA_EP_ENGINE_H */
