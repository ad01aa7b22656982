/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel face: endpoints for kernel consumers over the engine.
 *
 * Locks, outermost first
 * ----------------------
 *  rdma_ep.lock            making and destroying QP and SRQ
 *   ep_id.lock, rdma_cm's handler mutex: see the engine
 *    rdma_ep.deliver       the endpoint's events in order, and their channel;
 *                          held over event callbacks; that of a listener before
 *                          that of a request
 *     rdma_ep_channel.lock queue (leaf)
 *     ep_dev.hold_lock     see the engine
 *
 * Lifetime
 * --------
 * An endpoint has one owner, and a reference for that. Others keep only its memory:
 * events that have been taken and not acknowledged. Its users (ulp_enter()) are
 * the calls that are being made; destroying it waits for them.
 *
 * An endpoint that is bound to a device holds it (struct ep_hold) from then on. The
 * exception is a connection request that nobody has taken yet: its owner, who would
 * have to let go of the device, does not know of it. It has no hardware objects
 * and goes with its id. Its own events wait in a private channel until it is taken
 * (ulp_take_child()).
 */
#ifndef RDMA_EP_ULP_H
#define RDMA_EP_ULP_H

#include <linux/completion.h>
#include <linux/instruction_pointer.h>
#include <linux/refcount.h>
#include <linux/wait.h>

#include "../include/rdma_ep.h"
#include "../engine/engine.h"

int ulp_init(void);
void ulp_cleanup(void);

/**
 * struct rdma_ep_channel - where events go
 * @ref: owner, endpoints and who waits
 * @lock: protects the rest
 * @events: unread events
 * @wait: woken when there are, and when who waits must look at its endpoint again
 * @nr_eps: endpoints whose events go here
 * @taking: who is taking a request: its endpoint may be one of them soon
 * @closed: will not get any more
 * @private: of a synchronous endpoint
 * @fn: called instead of queueing events
 * @context: for @fn
 */
struct rdma_ep_channel {
	struct kref ref;
	spinlock_t lock;		/* all but fn and context */
	struct list_head events;
	wait_queue_head_t wait;
	unsigned int nr_eps;
	unsigned int taking;
	bool closed;
	bool private;
	rdma_ep_event_fn fn;
	void *context;
};

/**
 * struct ulp_event - an event with what it points to
 * @entry: in rdma_ep_channel.events
 * @pub: what the consumer sees; holds a reference to pub.ep
 * @data: private data
 */
struct ulp_event {
	struct list_head entry;
	struct rdma_ep_cm_event pub;
	u8 data[];
};

/**
 * struct ulp_pd - PD in use
 * @pd: PD
 * @dev: device whose shared PD it is, or NULL
 */
struct ulp_pd {
	struct ib_pd *pd;
	struct ep_dev *dev;
};

/**
 * struct ulp_srq - an endpoint's SRQ, and that of its requests
 * @ref: endpoints
 * @srq: the engine's
 * @pd: PD
 * @event_handler: the consumer's
 * @context: for @event_handler
 */
struct ulp_srq {
	struct kref ref;
	struct ep_srq srq;
	struct ulp_pd pd;
	void (*event_handler)(struct ib_event *event, void *context);
	void *context;
};

/**
 * struct ulp_qp - an endpoint's QP
 * @ref: endpoint and id
 * @qp: the engine's
 * @pd: PD
 * @drain_ah: where the last send of an unconnected QP goes, or NULL
 * @send_cq: CQ
 * @recv_cq: CQ
 * @own_send_cq: @send_cq was made for it
 * @own_recv_cq: @recv_cq was made for it
 * @last_wqe: it has taken its last receive from an SRQ
 * @event_handler: the consumer's
 */
struct ulp_qp {
	struct kref ref;
	struct ep_qp qp;
	struct ulp_pd pd;
	struct ib_ah *drain_ah;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	bool own_send_cq;
	bool own_recv_cq;
	struct completion last_wqe;
	void (*event_handler)(struct ib_event *event, void *context);
};

/* Bits of rdma_ep.flags */
enum {
	ULP_EP_DYING,		/* being destroyed */
	ULP_EP_REMOVED,		/* the device goes away */
	ULP_EP_ESTABLISHED,	/* was connected once */
	ULP_EP_DISCONNECTED,	/* and is no more */
	ULP_EP_NEIGH_CHANGED,	/* its peer's address, as far as rdma_cm knows */
};

/**
 * struct rdma_ep - an endpoint
 * @ref: see above
 * @users: calls that are being made, and 1 until it is destroyed
 * @unused: completed when there are none left
 * @id: communication id
 * @dev: device that it is bound to (holds a reference), or NULL
 * @hold: on @dev
 * @ibdev: the same while it is held, or NULL
 * @port: port of the device
 * @qp_type: of the id
 * @caller: module that made it
 * @context: the consumer's
 * @flags: ULP_EP_*
 * @lock: protects @qp and @srq against concurrent calls
 * @qp: QP or NULL
 * @srq: SRQ or NULL
 * @cq_work: work items that run the completion handlers of @qp
 * @uses_pd: keeps the device's shared PD
 * @request_qp: attributes of a passive endpoint's requests, and of a request; or
 *	NULL
 * @responder_resources: what the peer asked for (of a request)
 * @initiator_depth: the same
 * @deliver: held while events are delivered; protects @channel, and @srq against
 *	requests that are taken
 * @channel: where its events go
 * @last: event that a call has waited for (calls of the owner)
 */
struct rdma_ep {
	struct kref ref;
	refcount_t users;
	struct completion unused;
	struct ep_id id;
	struct ep_dev *dev;
	struct ep_hold hold;
	struct ib_device *ibdev;
	u32 port;
	enum ib_qp_type qp_type;
	const char *caller;
	void *context;
	unsigned long flags;
	struct mutex lock;		/* qp, srq */
	struct ulp_qp *qp;
	struct ulp_srq *srq;
	bool uses_pd;
	const struct work_struct *cq_work[2];
	struct rdma_ep_qp_attr *request_qp;
	u8 responder_resources;
	u8 initiator_depth;
	struct mutex deliver;		/* channel, srq */
	struct rdma_ep_channel *channel;
	struct ulp_event *last;
};

/* base.c */

/**
 * struct ulp_callback - a task that runs a consumer's callback
 * @entry: in a list of all
 * @task: task
 */
struct ulp_callback {
	struct list_head entry;
	const struct task_struct *task;
};

void ulp_callback_begin(struct ulp_callback *cb);
void ulp_callback_end(struct ulp_callback *cb);
int ulp_check_context(const struct rdma_ep *ep, unsigned long caller);
int ulp_wait_error(long ret);
bool ulp_stopped(void);
int ulp_enter_from(struct rdma_ep *ep, unsigned long caller);
void ulp_exit(struct rdma_ep *ep);
int ulp_errno(const struct rdma_ep *ep, int ret);
int ulp_begin(struct rdma_ep *ep, int (*begin)(struct ep_id *id));
int ulp_end(struct rdma_ep *ep, int ret);
int ulp_ep_bind(struct rdma_ep *ep, const struct rdma_cm_id *cm_id);
int ulp_ep_hold(struct rdma_ep *ep);
void ulp_ep_put(struct rdma_ep *ep);
struct ulp_event *ulp_event_new(struct rdma_ep *ep,
				const struct rdma_cm_event *cm, gfp_t gfp);
void ulp_event_free(struct ulp_event *ev);
void ulp_ep_release(struct rdma_ep *ep);

#define ulp_enter(ep)	ulp_enter_from(ep, _RET_IP_)

/* In jiffies, for ulp_wait(). */
static inline long ulp_timeout(unsigned int timeout_ms)
{
	return timeout_ms == RDMA_EP_FOREVER ? MAX_SCHEDULE_TIMEOUT :
					       msecs_to_jiffies(timeout_ms);
}

/**
 * ulp_wait() - wait until something is so, as rdma_ep.h promises
 * @wq: wait queue
 * @cond: what
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
struct rdma_ep_channel *ulp_channel_new(rdma_ep_event_fn fn, void *context);
void ulp_channel_put(struct rdma_ep_channel *chan);
int ulp_deliver(struct rdma_ep *ep, struct ulp_event *ev,
		struct rdma_cm_id *child_id);
struct ulp_event *ulp_take(struct rdma_ep *ep, struct rdma_ep_channel *chan,
			   long *left);
int ulp_migrate(struct rdma_ep *ep, struct rdma_ep_channel *new);
void ulp_ep_close(struct rdma_ep *ep);

/* ep.c */
void ulp_ep_end(struct rdma_ep *ep);

/* Neither being destroyed nor going away with its device? */
static inline int ulp_alive(const struct rdma_ep *ep)
{
	if (test_bit(ULP_EP_DYING, &ep->flags))
		return -ESHUTDOWN;
	if (test_bit(ULP_EP_REMOVED, &ep->flags))
		return -ENODEV;
	return 0;
}

/* The SRQ of the endpoint, or NULL */
static inline struct ib_srq *ulp_ibsrq(const struct rdma_ep *ep)
{
	return ep->srq ? ep->srq->srq.ibsrq : NULL;
}

/* qp.c */
int ulp_create_qp(struct rdma_ep *ep, struct rdma_ep_qp_attr *attr);
int ulp_create_request_qp(struct rdma_ep *ep);
void ulp_destroy_qp(struct rdma_ep *ep);
void ulp_get_qp(struct ep_qp *qp);
void ulp_put_qp(struct ep_qp *qp);
void ulp_srq_put(struct ulp_srq *srq);

#endif /* RDMA_EP_ULP_H */
