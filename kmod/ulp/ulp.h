/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface for kernel consumers: endpoints over the engine.
 *
 * Locks, outermost first
 * ----------------------
 *  rdma_ep.lock            making, draining and destroying QP and SRQ
 *   ep_id.lock, rdma_cm's handler mutex: see the engine
 *    rdma_ep.deliver       the endpoint's channel; that of a listener before that of a
 *			  request
 *     rdma_ep_channel.lock queue (leaf)
 *     ep_dev.user_lock     see the engine
 *
 * Callbacks run without locks, in a work item of their channel or of the endpoint. They may
 * make all calls but those that wait for them to return: struct ulp_callback.
 *
 * Lifetime
 * --------
 * An endpoint has one owner, and a reference for that. Others keep only its memory:
 * events that have been taken and not acknowledged, and its work item. Its users
 * (ulp_enter()) are the calls that are being made, and the running work item; destroying it
 * waits for them.
 *
 * An endpoint that is bound to a device holds it (struct ep_dev_user) from then on. A connection
 * request that was not taken yet is the exception: it has no owner that could release the
 * device. It has no hardware objects and is destroyed with its id. Its own events wait in a
 * private channel until it is taken (ulp_event_taken()).
 *
 * The end
 * -------
 * An endpoint is over when rdma_ep.status is set, by an event of rdma_cm, the removal of its
 * device, or rdma_ep_abort(). ulp_over() sets it, in any context, and the work item does the
 * rest: the QP fails, an abort disconnects, the consumer's callback runs. The first such
 * event is reported (%ULP_EP_OVER), and the removal.
 */
#ifndef RDMA_EP_ULP_H
#define RDMA_EP_ULP_H

#include <linux/completion.h>
#include <linux/instruction_pointer.h>
#include <linux/lockdep.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../include/rdma_ep.h"
#include "../engine/engine.h"

int ulp_init(void);
void ulp_cleanup(void);

/* Where events go. Owner, endpoints, waiting tasks and the work item have references. */
struct rdma_ep_channel {
	refcount_t ref;
	spinlock_t lock;		/* all but fn and context */
	struct list_head events;	/* unread ones */
	wait_queue_head_t wait;		/* also woken to look at the endpoint again */
	unsigned int nr_eps;		/* endpoints whose events go here */
	unsigned int taking;		/* tasks that take a request: one more endpoint soon */
	bool closed;			/* gets no more events */
	bool private;			/* a synchronous endpoint's */
	rdma_ep_event_fn fn;		/* called for each event, by work */
	void *context;			/* for fn */
	struct work_struct work;
	const struct rdma_ep *running;	/* fn runs, or is about to, for its event */
};

/* Events that must not get lost: rdma_ep has the memory, each comes once */
enum {
	ULP_EVENT_RESOLVED,
	ULP_EVENT_UP,
	ULP_EVENT_OVER,
	ULP_EVENT_REMOVED,
	ULP_EVENT_NR,
};

/* An event and its private data */
struct ulp_event {
	struct list_head entry;		/* in rdma_ep_channel.events */
	bool allocated;			/* not one of rdma_ep.own_events */
	struct rdma_ep_cm_event pub;	/* the consumer's part; pub.ep is a reference */
	u8 data[U8_MAX];
};

/* An endpoint's SRQ, and that of its requests. Endpoints have references. */
struct ulp_srq {
	refcount_t ref;
	struct rcu_head rcu;		/* accessors look at it without a lock */
	struct ep_srq srq;
	struct ib_pd *pd;
	struct ep_dev *pd_dev;		/* for the PD of the owning module (a use), or NULL */
	void (*event_handler)(struct ib_event *event, void *context);
	void *context;			/* the consumer's, as event_handler */
};

/* An endpoint's QP. Endpoint and id have references. */
struct ulp_qp {
	refcount_t ref;
	struct ep_qp qp;
	struct ib_pd *pd;		/* the caller's, or rdma_ep.own_pd */
	struct ib_ah *drain_ah;		/* unconnected QP: destination of its last send */
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	bool own_send_cq;		/* made for it */
	bool own_recv_cq;
	u32 pool_cqe;			/* entries of both CQs, which are from a pool; or 0 */
	struct ib_qp_cap granted;
	struct completion last_wqe;	/* it has taken its last receive from an SRQ */
	struct rdma_ep *ep;		/* exists as long as the hardware object */
	void (*event_handler)(struct ib_event *event, void *context);
};

/* Bits of rdma_ep.flags */
enum {
	ULP_EP_DYING,		/* being destroyed */
	ULP_EP_REMOVED,		/* the device is being removed */
	ULP_EP_ESTABLISHED,	/* was connected once */
	ULP_EP_DISCONNECTED,	/* and is no more */
	ULP_EP_ABORTED,		/* status is set: work disconnects, calls return it */
	ULP_EP_OVER,		/* the first event of the end has been reported */
	ULP_EP_COMM_EST,	/* data came before the peer's confirmation, for work */
	ULP_EP_ADDR,		/* the address is resolved, for work */
	ULP_EP_ROUTE,		/* the route is */
	ULP_EP_WANTS_SLOTS,	/* slots_free is to be called */
};

/*
 * An endpoint. The accessors read @qp and @ibdev without a lock.
 */
struct rdma_ep {
	refcount_t ref;
	refcount_t users;		/* calls that are being made, and 1 until its end */
	struct completion unused;	/* completed when there are none left */
	struct ep_id id;
	struct ep_dev *dev;		/* that it is bound to (a reference), or NULL */
	struct ep_dev_user hold;	/* on dev; its owner: the module that made the endpoint */
	struct ib_device *ibdev;	/* dev's while it is held, or NULL */
	u32 port;
	enum ib_qp_type qp_type;	/* of the id */
	bool passive;			/* made to listen */
	void *context;			/* the consumer's */
	unsigned long flags;		/* ULP_EP_* */
	int status;			/* why it is over, or 0 (set once, in any context) */
	rdma_ep_end_fn on_end;		/* called once when status is set (xchg) */
	struct lock_class_key *keys;	/* of callbacks: its own, and its requests' */
	struct lockdep_map callbacks;	/* "held" by callbacks, and by tasks that wait for them */
	struct work_struct work;	/* the steps that follow from status and some flags */
	struct mutex lock;		/* making and destroying qp and srq; own_pd */
	struct ulp_qp *qp;
	struct ulp_srq *srq;		/* (deliver, too, against requests that are taken) */
	struct ib_pd *own_pd;		/* of the owning module, from the first use on */
	const struct work_struct *cq_work[2]; /* run the completion handlers of qp */
	struct rdma_ep_qp_attr *request_qp; /* for requests, or for later; or NULL */
	struct list_head mcasts;	/* groups that it has joined (lock) */
	u32 resolve_ms;			/* limit of each step */
	u8 tos;				/* options, also of requests; 0: none */
	u8 ack_timeout;
	u8 min_rnr_timer;
	atomic_t slots;			/* sends that may be posted */
	u32 max_slots;
	bool poll_sends;		/* its handlers run in tasks that wait for slots */
	wait_queue_head_t slots_wait;
	void (*slots_free)(struct rdma_ep *ep); /* the consumer's, or NULL */
	u8 responder_resources;		/* of a request: as the peer has named it */
	u8 initiator_depth;
	struct sockaddr_storage local;	/* addresses, from creation on */
	struct sockaddr_storage peer;
	struct mutex deliver;		/* channel; held while events are queued */
	struct rdma_ep_channel *channel;
	struct ulp_event *last;		/* that a call has waited for (the owner's calls) */
	unsigned long used_events;	/* bits of own_events (deliver) */
	struct ulp_event own_events[ULP_EVENT_NR];
};

/* base.c */

/*
 * A task that runs a consumer's callback. @ep: calls that wait for this endpoint's callbacks
 * are refused; NULL: all calls are
 */
struct ulp_callback {
	struct list_head entry;
	const struct task_struct *task;
	struct rdma_ep *ep;
};

/* Allocations do not wait for storage, whose consumer may wait for the CM. */
DEFINE_LOCK_GUARD_0(ulp_noio, _T->flags = memalloc_noio_save(),
		    memalloc_noio_restore(_T->flags), unsigned int flags)

/* Runs callbacks of channels and endpoints. */
extern struct workqueue_struct *ulp_event_wq;

/*
 * Around a wait for the work item of a CQ. The caller may be in that of another endpoint's CQ,
 * which is no less right than any other task that waits, but to lockdep all CQs' work items are
 * one.
 */
static inline void ulp_wait_cq_begin(void)
{
	if (current_work())
		lockdep_off();
}

static inline void ulp_wait_cq_end(void)
{
	if (current_work())
		lockdep_on();
}

void ulp_callback_begin(struct ulp_callback *cb, struct rdma_ep *ep);
void ulp_callback_end(struct ulp_callback *cb);
int ulp_check_context(struct rdma_ep *ep, bool ends, unsigned long caller);
int ulp_wait_error(long ret);
bool ulp_stopped(void);
struct rdma_ep *ulp_enter(struct rdma_ep *ep, unsigned long caller);
void ulp_exit(struct rdma_ep *ep);
int ulp_copy_addr(struct sockaddr_storage *dst, const struct sockaddr *src);
int ulp_errno(const struct rdma_ep *ep, int ret);
int ulp_begin(struct rdma_ep *ep, int (*begin)(struct ep_id *id));
int ulp_end(struct rdma_ep *ep, int ret);
int ulp_ep_find_dev(struct rdma_ep *ep, const struct rdma_cm_id *cm_id);
int ulp_ep_hold(struct rdma_ep *ep);
void ulp_ep_put(struct rdma_ep *ep);
struct ulp_event *ulp_event_alloc(gfp_t gfp);
void ulp_event_fill(struct ulp_event *ev, struct rdma_ep *ep,
		    const struct rdma_cm_event *cm, int status);
struct ulp_event *ulp_event_new(struct rdma_ep *ep, const struct rdma_cm_event *cm, int status);
void ulp_event_free(struct ulp_event *ev);
void ulp_ep_release(struct rdma_ep *ep);

/* A call on @ep, to the end of the function, or an ERR_PTR: it must not be made */
DEFINE_CLASS(ulp_call, struct rdma_ep *, ulp_exit(_T), ulp_enter(ep, caller),
	     struct rdma_ep *ep, unsigned long caller)

/* Returns jiffies, for ulp_wait(). */
static inline long ulp_timeout(unsigned int timeout_ms)
{
	return timeout_ms == RDMA_EP_FOREVER ? MAX_SCHEDULE_TIMEOUT : msecs_to_jiffies(timeout_ms);
}

/**
 * ulp_wait() - wait for a condition, as rdma_ep.h promises
 * @wq: wait queue
 * @cond: condition
 * @left: how many jiffies, in and out
 *
 * Return: 0, -ETIMEDOUT or -EINTR
 */
#define ulp_wait(wq, cond, left)					\
({									\
	bool __ok = false;						\
	long __ret = wait_event_killable_timeout(wq,			\
		(__ok = (cond)) || ulp_stopped(), (left));		\
	if (__ok)							\
		(left) = __ret;						\
	__ok ? 0 : ulp_wait_error(__ret);				\
})

/* channel.c */
void ulp_channel_put(struct rdma_ep_channel *chan);
int ulp_deliver_request(struct rdma_ep *ep, struct ulp_event *ev, struct rdma_cm_id *child_id);
void ulp_report(struct rdma_ep *ep, const struct rdma_cm_event *event, int status);
void ulp_wake(struct rdma_ep *ep);
struct ulp_event *ulp_take(struct rdma_ep *ep, struct rdma_ep_channel *chan, long *left);
int ulp_migrate(struct rdma_ep *ep, struct rdma_ep_channel *new);
struct rdma_ep_channel *ulp_sync_channel(struct rdma_ep *ep);
DEFINE_CLASS(ulp_sync_channel, struct rdma_ep_channel *, ulp_channel_put(_T),
	     ulp_sync_channel(ep), struct rdma_ep *ep)
void ulp_set_last(struct rdma_ep *ep, struct ulp_event *ev);
int ulp_await(struct rdma_ep *ep, enum rdma_cm_event_type type, unsigned int timeout_ms);
void ulp_ep_close(struct rdma_ep *ep);

/* end.c */
int ulp_end_of(const struct rdma_cm_event *event);
void ulp_over(struct rdma_ep *ep, int error);
void ulp_queue_work(struct rdma_ep *ep);
void ulp_finish(struct rdma_ep *ep);
void ulp_report_end(struct rdma_ep *ep, const struct rdma_cm_event *event);
void ulp_failed(struct rdma_ep *ep, enum rdma_cm_event_type type, int error);

/* ep.c */
void ulp_ep_destroy(struct rdma_ep *ep);

/* mcast.c */
void ulp_get_mcast(struct ep_mcast *mc);
void ulp_put_mcast(struct ep_mcast *mc);
bool ulp_mcast_event(struct rdma_ep *ep, const struct rdma_cm_event *event);
void ulp_leave_all(struct rdma_ep *ep);

/* 0, or why calls fail: the endpoint is being destroyed, removed with its device, or aborted */
static inline int ulp_check_alive(const struct rdma_ep *ep)
{
	if (test_bit(ULP_EP_DYING, &ep->flags))
		return -ESHUTDOWN;
	if (test_bit(ULP_EP_REMOVED, &ep->flags))
		return -ENODEV;
	if (test_bit(ULP_EP_ABORTED, &ep->flags))
		return READ_ONCE(ep->status);
	return 0;
}

/* The SRQ of the endpoint, or NULL. With its lock or deliver lock held */
static inline struct ib_srq *ulp_ibsrq(const struct rdma_ep *ep)
{
	return ep->srq ? ep->srq->srq.ibsrq : NULL;
}

/* qp.c */
int ulp_create_qp(struct rdma_ep *ep, struct rdma_ep_qp_attr *attr);
void ulp_destroy_qp(struct rdma_ep *ep);
void ulp_get_qp(struct ep_qp *qp);
void ulp_put_qp(struct ep_qp *qp);

/* drain.c */
void ulp_drain_qp(struct rdma_ep *ep);

/* srq.c */
struct ib_pd *ulp_pd(struct rdma_ep *ep, struct ib_pd *pd);
void ulp_srq_put(struct ulp_srq *srq);

#endif /* RDMA_EP_ULP_H */
