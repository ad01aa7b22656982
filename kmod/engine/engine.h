/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: RDMA devices, verbs objects, communication ids, and the connection logic that
 * ties them together. It is free of user space: the character device and the kernel API
 * embed its objects in theirs.
 *
 * Lifetime of verbs objects
 * -------------------------
 * Every verbs object embeds a struct ep_res and is on its device's list, with a reference to
 * the owner's object (ep_res_ops.get), until its hardware object is destroyed. The task that
 * takes it off the list (under ep_dev.lock) destroys it: the owner's, or the removal of the
 * device. After a removal the owner's object stays with a NULL hardware pointer; operations
 * on it return -EIO.
 *
 * Calls of the driver stand between ep_dev_enter() and ep_dev_exit(), an SRCU read section
 * that the removal waits for. Nothing in it waits for a user or a peer, except that
 * registering memory faults the user's pages in. The data path does without: locks that the
 * owner takes in ep_res_ops.before_destroy exclude posts and polls from destruction.
 *
 * A kernel consumer uses the bare hardware objects, so only it destroys them. They have no
 * ep_res_ops, are on no list and in no cgroup. The consumer is a user of the device (struct
 * ep_dev_user): a removal notifies it and waits for ep_dev_del_user().
 *
 * Locks, outermost first
 * ----------------------
 *  ep_id.lock            serialises rdma_cm calls on one id
 *   handler mutex        rdma_cm's own, held around ep_id event handlers
 *    a driver's own      QPs that are being destroyed (drivers/)
 *     ep_qp.lock         state changes of a QP against its destruction; with the handler
 *			mutex held it is only tried
 *      ep_dev.mcast_lock multicast groups (leaf, but for calls of the driver)
 *      the owner's, of posted requests and of CQs (ep_res_ops.reap)
 *      XRC domain        changes of the QPs that it shares (leaf)
 *      ep_dev.lock       the device's list of objects (leaf)
 *      ep_id.link_lock   QP and multicast groups of the id (leaf)
 *    ep_dev.pd_lock      kernel consumers' PDs: around calls of the driver, in no handler
 *    ep_dev.user_lock    kernel consumers of the device (leaf)
 *    ep_dev.xrcd_lock    the XRC domains (leaf)
 *    ep_dev.watch_lock   objects that get the device's events, around ep_dev_watch.event
 *    ep_dev.event_lock   events to be reported (leaf)
 *
 * Event handlers run with the handler mutex held, so they never take ep_id.lock. They share
 * few work items with all ids of the machine, so they wait for no lock that a user can hold
 * for long. They try it, and leave the work to the task that unlocks it (ep_qp_error()) or
 * to the id's own work item, which takes first that lock and then the handler mutex, one at
 * a time (ep_id.work). No task with the handler mutex waits for ep_qp.lock.
 *
 * Calls of the driver under ep_qp.lock and inside ep_dev_enter() end soon, whatever users
 * do. Operations of drivers (driver.h) bound those that do not;
 * docs/security/known-issues.md lists the rest.
 *
 * ep_dev.cm_srcu is held around rdma_destroy_id(), outside everything but ep_dev.srcu;
 * ep_client_remove() waits for it at its end, without any lock.
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
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "driver.h"

struct ep_res;

/* In the order in which the removal of a device destroys them */
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

/*
 * An RDMA device, or a removed one that objects still refer to. @ibdev is valid between
 * ep_dev_enter() and ep_dev_exit(), and for a user of the device (ep_dev_add_user()).
 */
struct ep_dev {
	struct kref ref;
	struct ib_device *ibdev;
	u32 index;			/* its name for programs; never used twice */
	bool removing;			/* the removal has begun (srcu, user_lock) */
	bool removed;			/* ... and is over here: rdma_cm's begins (cm_srcu) */
	struct srcu_struct srcu;
	struct srcu_struct cm_srcu;
	spinlock_t lock;		/* res, qps */
	struct list_head res[EP_RES_NR]; /* objects of programs */
	DECLARE_HASHTABLE(qps, 10);	/* the QPs among them, by number */
	struct ib_event_handler event_handler;
	struct mutex watch_lock;	/* removal from watches */
	struct xarray watches;		/* objects that get its events (struct ep_dev_watch) */
	spinlock_t event_lock;		/* events */
	struct list_head events;	/* those to be reported, the latest last */
	struct ep_dev_event *event_kinds; /* one for each port and type */
	struct work_struct event_work;
	struct mutex user_lock;		/* users */
	struct list_head users;		/* kernel consumers (ep_dev_user.entry) */
	wait_queue_head_t user_wait;	/* woken when one leaves the list */
	struct mutex pd_lock;		/* owner_pds */
	struct list_head owner_pds;	/* of kernel consumers without one of their own */
	struct mutex xrcd_lock;		/* xrcds, ep_xrc_domain.opens */
	DECLARE_HASHTABLE(xrcds, 6);	/* XRC domains that can be shared */
	struct mutex mcast_lock;	/* the driver's groups, with EP_CAP_MCAST_ALONE */
	const struct ep_driver_ops *ops;
	void *driver_data;		/* for ops */
	u32 max_recv_sz;		/* most bytes of a receive */
	u32 pace_bytes;			/* the driver's */
	unsigned long little_at;	/* when a QP latest sent little (jiffies; no lock) */
	u32 little_qpn;			/* ... its number (no lock); 0: none */
	u32 max_msg_sz[];		/* longest message, by port number */
};

/* For work that programs cause: on the system's queues it would delay others. Short items */
extern struct workqueue_struct *ep_wq;

int ep_dev_init(void);
void ep_dev_cleanup(void);
struct ep_dev *ep_dev_get(u32 index);
struct ep_dev *ep_dev_next(u32 *index);
struct ep_dev *ep_dev_of(struct ib_device *ibdev);
void ep_dev_put(struct ep_dev *dev);
int ep_dev_enter(struct ep_dev *dev, int *idx);
void ep_dev_exit(struct ep_dev *dev, int idx);

/* An object that gets the events of a device (dev_event.c) */
struct ep_dev_watch {
	u32 number;			/* in ep_dev.watches */
	/* An event of a port, or of the device (0). Process context; adds and removes no watch */
	void (*event)(struct ep_dev_watch *watch, u32 port, u32 type);
};

int ep_dev_add_watch(struct ep_dev *dev, struct ep_dev_watch *watch);
void ep_dev_del_watch(struct ep_dev *dev, struct ep_dev_watch *watch);
int ep_dev_init_events(struct ep_dev *dev);
void ep_dev_free_events(struct ep_dev *dev);
void ep_dev_begin_events(struct ep_dev *dev);
void ep_dev_end_events(struct ep_dev *dev);
int ep_dev_event_init(void);
void ep_dev_event_cleanup(void);

/* A kernel consumer of a device */
struct ep_dev_user {
	struct ep_dev *dev;		/* a reference; NULL: not added */
	struct list_head entry;		/* in dev->users */
	bool notified;			/* removed() has been called */
	const char *owner;		/* name of the consumer */
	/* Takes a reference to the object that embeds @user */
	void (*get)(struct ep_dev_user *user);
	/*
	 * The removal of the device waits for ep_dev_del_user(). Called once at most, in
	 * process context, perhaps after ep_dev_del_user(). Drops the reference
	 */
	void (*removed)(struct ep_dev_user *user);
};

int ep_dev_add_user(struct ep_dev *dev, struct ep_dev_user *user);
void ep_dev_del_user(struct ep_dev_user *user);
struct ib_pd *ep_dev_get_pd(struct ep_dev *dev, const char *owner);
void ep_dev_put_pd(struct ep_dev *dev, struct ib_pd *pd);

/*
 * Operations of an object's owner. QPs have all of them, others get() and put(), and perhaps
 * before_destroy() and destroyed(). "hw": the hardware object
 */
struct ep_res_ops {
	/* hw is destroyed next: stops using it. Called once, may sleep */
	void (*before_destroy)(struct ep_res *res);
	/* hw has been destroyed. Called once, may sleep */
	void (*destroyed)(struct ep_res *res);
	/* References to the owner's object, not to hw; get() is called under a spinlock */
	void (*get)(struct ep_res *res);
	void (*put)(struct ep_res *res);
	/*
	 * ep_qp.state has become RESET, or EP_QP_ACCEPTING is set. On return no task posts that
	 * read an older value. Under ep_qp.lock
	 */
	void (*stop_posts)(struct ep_res *res);
	/* After stop_posts(), at a reset: takes completions; no other request completes */
	void (*reap)(struct ep_res *res);
	/* The user whose object it is, for comparisons */
	const void *(*user)(struct ep_res *res);
	/* Is a region of the QP's PD being deregistered? Under a spinlock */
	bool (*dereg_pending)(struct ep_res *res);
};

/* A hardware object on a device */
struct ep_res {
	struct ep_dev *dev;		/* a reference */
	struct list_head entry;		/* in dev->res, empty once claimed for destruction */
	enum ep_res_class class;
	const struct ep_res_ops *ops;	/* NULL: a kernel consumer's */
	void *owner;			/* for @ops; set by the owner */
	void (*destroy)(struct ep_res *res); /* destroys the hardware object */
	struct rdma_cgroup *cg;		/* charged one, or NULL */
};

int ep_res_init(struct ep_res *res, struct ep_dev *dev, enum ep_res_class class,
		const struct ep_res_ops *ops, void (*destroy)(struct ep_res *res));
int ep_res_charge(struct ep_res *res);
void ep_res_uncharge(struct ep_res *res);
void ep_res_add(struct ep_res *res);
int ep_res_abort(struct ep_res *res, const void *hw);
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

/*
 * An XRC domain as one opener sees it. SRQs and QPs in it are destroyed before it is closed,
 * so neither pointer is NULL while one of them has its hardware object.
 */
struct ep_xrcd {
	struct ep_res res;
	struct ep_xrc_domain *dom;
	struct ib_xrcd *ibxrcd;
};

/* Bits of ep_qp.cm_use */
enum ep_qp_cm_use {
	EP_QP_PINNED,		/* in a call of the CM: no other task moves or destroys it */
	EP_QP_ACCEPTING,	/* a connection is being accepted with it: sends wait */
	EP_QP_FAILED,		/* moves to ERR when neither pinned nor locked (set unlocked) */
};

/*
 * A queue pair. ep_qp.lock is held over state changes; @ibqp is not NULL under it until the
 * QP is being destroyed. Handlers of rdma_cm, and tasks with the handler mutex, only try it.
 * ep_qp_unlock() releases it.
 */
struct ep_qp {
	struct ep_res res;
	struct hlist_node by_num;	/* in ep_dev.qps while res is in the device's list */
	struct mutex lock;		/* ibqp, state changes */
	struct ib_qp *ibqp;
	enum ib_qp_type type;
	enum ib_qp_state state;		/* last one set here (the data path reads it unlocked) */
	u32 qp_num;
	bool has_srq;
	bool cm_used;			/* iWARP: it is, or was, connected (set under lock) */
	/*
	 * iWARP's CM moves a connected QP: RTS since it has accepted or reported the connection,
	 * ERR since it has reported the end; RESET before. A program's QP only (handler)
	 */
	enum ib_qp_state conn_state;
	unsigned long cm_use;		/* enum ep_qp_cm_use */
	bool destroying;		/* no call of the CM begins with it (set under lock) */
	bool unpublished;		/* the same: the command that creates it may fail */
	bool tainted;			/* a peer may send to it, or it left INIT (lock) */
	/* XRC target: set before creation. ibqp is this opener's, the QP may have others */
	struct ep_xrcd *xrcd;
	bool sq_sig_all;
	struct ib_qp_cap cap;		/* granted */
	struct list_head mcasts;	/* groups that it is attached to (lock) */
	u32 nr_mcasts;
	u64 driver_data[16];		/* for the driver's operations; zeroed at first */
};

void ep_qp_unlock(struct ep_qp *qp);
DEFINE_GUARD(ep_qp, struct ep_qp *, mutex_lock(&_T->lock), ep_qp_unlock(_T))

int ep_pd_create(struct ep_pd *pd, struct ep_dev *dev, const struct ep_res_ops *ops);
int ep_cq_create(struct ep_cq *cq, struct ep_dev *dev, const struct ep_res_ops *ops,
		 ib_comp_handler comp, void (*event)(struct ib_event *, void *), void *context,
		 const struct ib_cq_init_attr *attr);
int ep_srq_create(struct ep_srq *srq, struct ep_dev *dev, struct ib_pd *pd,
		  const struct ep_res_ops *ops, struct ib_srq_init_attr *attr);
int ep_qp_create(struct ep_qp *qp, struct ep_dev *dev, struct ib_pd *pd,
		 const struct ep_res_ops *ops, struct ib_qp_init_attr *attr, const char *caller);
int ep_qp_open(struct ep_qp *qp, struct ep_dev *dev, const struct ep_res_ops *ops,
	       struct ib_qp_open_attr *attr);
int ep_qp_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
int ep_qp_query(struct ep_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init);
int ep_qp_modify_locked(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
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
	return dev->ops->dereg_mr ? dev->ops->dereg_mr(dev, mr) : ib_dereg_mr(mr);
}

/* Is the path to the peer one of the QP's port? The core leaves it to its callers. */
static inline bool ep_qp_port_ok(const struct ib_qp *ibqp, const struct ib_qp_attr *attr, int mask)
{
	return !(mask & IB_QP_STATE) || attr->qp_state != IB_QPS_RTR || !(mask & IB_QP_AV) ||
	       rdma_ah_get_port_num(&attr->ah_attr) == ibqp->real_qp->port;
}

int ep_qp_begin_destroy(struct ep_qp *qp);
void ep_qp_cancel_destroy(struct ep_qp *qp);
bool ep_qp_pin(struct ep_qp *qp, bool accepting);
void ep_qp_unpin(struct ep_qp *qp, int ret);
struct ib_qp *ep_qp_get_iwarp(struct ep_qp *qp);
void ep_qp_put_iwarp(struct ib_qp *ibqp);

int ep_xrcd_open(struct ep_xrcd *xrcd, struct ep_dev *dev, const struct ep_res_ops *ops,
		 const void *file, const void *user, bool create, bool exclusive);
struct ib_qp *ep_xrcd_create_qp(struct ep_xrcd *xrcd, struct ib_qp_init_attr *attr,
				const char *caller);
struct ib_qp *ep_xrcd_open_qp(struct ep_xrcd *xrcd, struct ib_qp_open_attr *attr);
int ep_xrcd_modify_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask);
int ep_xrcd_destroy_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp);
u32 ep_xrcd_qp_num(struct ep_xrcd *xrcd, const struct ib_qp *ibqp);

int ep_qp_attach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members);
int ep_qp_detach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid);
void ep_qp_leave_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid);
void ep_qp_drop_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid);
void ep_qp_detach_all(struct ep_qp *qp, struct ib_qp *ibqp);

struct ep_id;

/* Membership of an id in a multicast group */
struct ep_mcast {
	struct list_head entry;		/* in ep_id.mcasts (ep_id.link_lock) */
	u32 key;			/* rdma_cm's context, also after its end */
	struct sockaddr_storage addr;	/* of the group, with key */
	bool send_only;			/* the id's QP is not attached */
	struct ep_qp *qp;		/* attached one (a reference) or NULL (link_lock) */
	union ib_gid gid;		/* ... to this group */
	u16 lid;
	struct list_head joined;	/* in ep_id.joined: qp is to be attached (link_lock) */
	bool deferred;			/* ... or is just being attached (handler mutex) */
	struct rdma_cm_event event;	/* for the owner then, while deferred */
	bool lost;			/* the group is lost (handler mutex) */
};

/* Operations of an id's owner */
struct ep_id_ops {
	/*
	 * A connection request arrived on listening id @id. The owner creates an id, calls
	 * ep_id_adopt() on it, and reports it. After an error nothing has been adopted, and
	 * the request is refused
	 */
	int (*request)(struct ep_id *id, struct rdma_cm_id *cm_id,
		       const struct rdma_cm_event *event);
	/*
	 * Any other event. With the handler mutex: may sleep, calls no ep_id_* function but
	 * ep_id_dev(), does not wait for a user. With multicast events
	 * param.ud.private_data is the struct ep_mcast
	 */
	void (*event)(struct ep_id *id, const struct rdma_cm_event *event);
	/*
	 * Optional: the engine moves the QP of an id that has failed to connect to ERR next, so
	 * requests are flushed. event() follows, unless it has reported a failure before. The
	 * same context
	 */
	void (*failing)(struct ep_id *id, int error);
	/* Optional: may ep_id_resolve() resolve the route? Inside ep_id_begin_bound() */
	int (*may_route)(struct ep_id *id);
	/* ... whatever the task? False: may_route() decides. With the handler mutex, as event() */
	bool (*may_route_unasked)(struct ep_id *id);
	/* References to the object around @qp or @mc; get_*() is called under a spinlock */
	void (*get_qp)(struct ep_qp *qp);
	void (*put_qp)(struct ep_qp *qp);
	void (*get_mcast)(struct ep_mcast *mc);
	void (*put_mcast)(struct ep_mcast *mc);
	/* Signals that end ep_id_resolve(): %TASK_INTERRUPTIBLE or %TASK_KILLABLE */
	unsigned int wait_state;
};

struct ep_response;

DEFINE_GUARD(ep_id_handler, struct rdma_cm_id *, rdma_lock_handler(_T), rdma_unlock_handler(_T))

/* A communication id. "handler" is rdma_cm's handler mutex of it */
struct ep_id {
	const struct ep_id_ops *ops;
	u64 owner;			/* for traces: number of a session, or 0 */
	u32 number;			/* ... and of the id; both set before cm_id */
	bool closed;			/* destroyed, or being so, also with the device (lock) */
	bool destroying;		/* no call begins (lock) */
	bool listening;			/* (lock) */
	bool request;			/* one that has not been accepted (lock) */
	struct mutex lock;		/* calls of rdma_cm; closed */
	struct rdma_cm_id *cm_id;	/* under lock while not closed, and in handlers; set once */
	struct work_struct close_work;	/* destroys cm_id after the device's removal */
	struct work_struct work;	/* does what would make a handler wait (ep_wq) */
	struct ep_response *response;	/* the peer's, to be confirmed (handler) */
	int fail_qp;			/* its QP, an XRC target, is to move to ERR (xchg) */
	u32 conn_qpn;			/* number of the QP in the connection (set under lock) */
	bool has_conn;			/* there is, or was, a connection to disconnect (lock) */
	bool no_work;			/* handlers queue it no more (handler) */
	bool resolving;			/* rdma_cm looks for an address (handler; set under lock) */
	bool routing;			/* rdma_cm looks for a route (handler) */
	bool removed;			/* rdma_cm has reported the removal (handler) */
	bool failed;			/* connecting failed here: no more events (handler) */
	bool responded;			/* the owner is to complete the connection (handler) */
	bool unconfirmed;		/* accepted; the peer has not confirmed (handler) */
	bool announced;			/* ... but the owner has an ESTABLISHED (handler) */
	bool disconnecting;		/* ... and has disconnected (handler) */
	bool routed;			/* ep_id_resolve(): the handler resolves the route */
	u32 route_timeout_ms;		/* ... its argument */
	/* ... gets events (handler). NULL: they are the owner's. False: this one is, too */
	bool (*sync)(struct ep_id *id, const struct rdma_cm_event *event);
	struct completion done;		/* ... completed by these */
	int status;			/* ... the latest one's */
	atomic_t backlog;		/* requests that may still be queued */
	struct ep_dev *route_dev;	/* set with the first route (a reference) */
	wait_queue_head_t route_wait;	/* woken when routing ends, or removed is set */
	spinlock_t link_lock;		/* qp, mcasts, nr_mcasts, joined */
	u32 nr_mcasts;
	struct ep_qp *qp;		/* the id's own (a reference), maybe destroyed by now */
	struct list_head mcasts;	/* groups; no references, memberships leave first */
	struct list_head joined;	/* those whose QP is to be attached (references) */
	u32 mcast_key;			/* last ep_mcast.key */
};

/* See ep_id_ops.failing. With the handler locked */
static inline void ep_id_failing(struct ep_id *id, int error)
{
	if (id->ops->failing)
		id->ops->failing(id, error);
}

int ep_id_init_engine(void);
void ep_id_cleanup_engine(void);

void ep_id_init(struct ep_id *id, const struct ep_id_ops *ops);
int ep_id_open(struct ep_id *id, struct rdma_cm_id *cm_id);
void ep_id_adopt(struct ep_id *id, struct rdma_cm_id *cm_id);
int ep_id_move(struct ep_id *from, struct ep_id *to);
void ep_id_move_back(struct ep_id *from, struct ep_id *to);
void ep_id_destroy(struct ep_id *id);
int ep_id_wait(struct ep_id *id, bool destroying);
int ep_id_begin(struct ep_id *id);
int ep_id_begin_bound(struct ep_id *id);
void ep_id_end(struct ep_id *id);
struct ep_dev *ep_id_dev(struct ep_id *id);
/* Requests that may wait for a listener's owner; iw_cm and drivers allocate memory for each. */
#define EP_MAX_BACKLOG	1024
int ep_id_listen(struct ep_id *id, int backlog);
int ep_id_resolve_addr(struct ep_id *id, struct sockaddr *src, const struct sockaddr *dst,
		       u32 timeout_ms);
int ep_id_resolve_route(struct ep_id *id, u32 timeout_ms);
int ep_id_set_path(struct ep_id *id, struct sa_path_rec *path);
int ep_id_resolve(struct ep_id *id, struct sockaddr *src, const struct sockaddr *dst,
		  u32 addr_timeout_ms, u32 route_timeout_ms);

void ep_id_drop_response(struct ep_id *id);
void ep_id_work(struct work_struct *work);
bool ep_port_in_net(struct ib_device *ibdev, u32 port, const struct net *net);
bool ep_id_of_neighbour(const struct ep_id *id, const struct rdma_cm_event *event);
int ep_id_handler(struct rdma_cm_id *cm_id, struct rdma_cm_event *event);

bool ep_id_suits_qp(const struct ep_id *id, enum ib_qp_type qp_type);
int ep_id_attach_qp(struct ep_id *id, struct ep_qp *qp);
void ep_id_forget_qp(struct ep_id *id);
struct ep_qp *ep_id_get_qp(struct ep_id *id);
void ep_id_put_qp(struct ep_id *id, struct ep_qp *qp);
void ep_id_set_qp(struct ep_id *id, struct ep_qp *qp);
int ep_id_connect(struct ep_id *id, struct ep_qp *other, struct rdma_conn_param *param,
		  struct rdma_ucm_ece *ece);
int ep_id_accept(struct ep_id *id, struct ep_qp *other, struct rdma_conn_param *param,
		 struct rdma_ucm_ece *ece, void (*accepted)(struct ep_id *id, void *arg),
		 void *arg);
int ep_id_reject(struct ep_id *id, const void *data, u8 len, u8 reason);
int ep_id_disconnect(struct ep_id *id, struct ep_qp *conn_qp);
int ep_id_establish(struct ep_id *id);
int ep_id_conn_response(struct ep_id *id);
int ep_id_notify(struct ep_id *id, enum ib_event_type event);

int ep_id_join(struct ep_id *id, struct ep_mcast *mc);
void ep_id_leave(struct ep_id *id, struct ep_mcast *mc);
int ep_id_attach_late(struct ep_id *id, struct ep_mcast *mc);
bool ep_id_mcast_event(struct ep_id *id, const struct rdma_cm_event *event);
bool ep_id_attach_joined(struct ep_id *id);
void ep_id_drop_joined(struct ep_id *id);

#endif /* RDMA_EP_ENGINE_H */
