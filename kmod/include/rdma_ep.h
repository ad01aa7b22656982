/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rdma_ep for kernel consumers: connected RDMA endpoints in a few calls.
 *
 * The endpoint API of librdmacm for kernel protocols: rdma_ep_create() resolves addresses and
 * makes an id, a QP, its CQs and a PD; rdma_ep_connect() and rdma_ep_accept() return when the
 * connection is up, rdma_ep_disconnect() when it has ended; rdma_ep_get_request() waits for a
 * client. A protocol that cannot wait gives its endpoints a channel, and gets events. See
 * docs/kernel/ulp.md for a tour.
 */
#ifndef RDMA_EP_H
#define RDMA_EP_H

#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/socket.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/** RDMA_EP_VERSION - version of the module and of this interface */
#define RDMA_EP_VERSION	"0.1.0"

/**
 * DOC: Conventions
 *
 * Contexts: the accessors (those from rdma_ep_device() to rdma_ep_consumer_reject()),
 * rdma_ep_abort(), rdma_ep_on_end(), rdma_ep_try_slots() and rdma_ep_put_slots() can be called
 * in any context, rdma_ep_ack_event() in any but interrupts. Every other function may sleep
 * and is called in process context, without locks that a callback or a completion handler
 * takes. Those that would wait for themselves are refused with -EDEADLK and a warning that
 * names the caller, and change nothing:
 *
 * * all of them from interrupts, and from the handlers of asynchronous QP and SRQ events
 * * rdma_ep_destroy() and rdma_ep_migrate() of an endpoint from its own event callback
 *   (&struct rdma_ep_channel), and from its &rdma_ep_end_fn
 * * all of them on an endpoint from a completion handler that its own CQ runs in a work queue
 *
 * Errors: functions return 0 or a negative errno, or an ERR_PTR. These can come
 * from any of them and are not repeated below:
 *
 * * -EINVAL: an object is NULL or an ERR_PTR (destroying none is fine)
 * * -EDEADLK: called in a context that is not allowed, see above
 * * -ENODEV: the endpoint's device is being removed, see below
 * * -ESHUTDOWN: another task destroys the object
 * * -EINTR: the wait was killed, or kthread_stop() was called on the caller
 * * the error of rdma_ep_abort()
 *
 * Waiting: timeouts are in milliseconds. %RDMA_EP_FOREVER means none, 0 does not
 * wait. Only fatal signals and kthread_stop() end a wait early, so that a kernel
 * thread may wait for requests without a limit and still be stopped. Two waits are
 * the RDMA core's: resolving addresses in rdma_ep_create(), which only fatal signals
 * end early, and iWARP's, where a driver may do all of a TCP handshake before
 * rdma_ep_connect() begins to count, and rdma_ep_destroy() waits for it.
 *
 * Lifetime: the caller that is given an endpoint destroys it, exactly once. Calls
 * of other threads on the endpoint end then with -ESHUTDOWN, and
 * rdma_ep_destroy() waits for them; no call may begin afterwards.
 *
 * The end: an endpoint is over when it could not be resolved or connected, the peer has
 * rejected or disconnected, its QP failed, its device is removed, or rdma_ep_abort() was
 * called. (The timeout of a call is no end.) rdma_ep_status() returns why from then on. Its QP
 * goes to ERR, so posted requests complete with %IB_WC_WR_FLUSH_ERR (of an unconnected endpoint
 * only after rdma_ep_abort()). The first event of the end has &rdma_ep_cm_event.status set; after
 * it comes no other one but a device removal. The owner destroys the endpoint. So a protocol
 * needs no table of events: one has a child, or a status, or may be ignored.
 *
 * Device removal: endpoints on the device get %RDMA_CM_EVENT_DEVICE_REMOVAL, once,
 * on their channel; a task that waits in a call on one gets -ENODEV, and so do later
 * calls but rdma_ep_destroy(), rdma_ep_destroy_qp(), rdma_ep_destroy_srq(), rdma_ep_drain(),
 * rdma_ep_migrate(), rdma_ep_leave() and the accessors. The objects stay usable until
 * the endpoint is destroyed, which the removal waits for: protocols must do so
 * without waiting for a peer. An endpoint that is going to be idle learns of it by the flush
 * of a receive, by rdma_ep_on_end(), or by a channel. Only listeners on a wildcard address do not
 * belong to a device. (Some drivers' modules cannot be unloaded while their devices have
 * QPs, so there is no removal then: delete the link to remove a device.)
 *
 * Memory: callbacks run in a scope of memalloc_noio_save(). The delivery of the events of a
 * connection allocates no memory, except for a peer's answer that comes while another call uses
 * the QP, and that with %GFP_NOIO. So protocols of storage can reconnect in callbacks. There is
 * no guarantee of progress without free memory: the work queue of callbacks is not
 * WQ_MEM_RECLAIM, as queues of rdma_cm that it waits for are not, so a new worker thread may be
 * needed; nor are connections made without allocations.
 */

/** RDMA_EP_FOREVER - timeout of a wait that has none */
#define RDMA_EP_FOREVER	UINT_MAX

struct rdma_ep;

/**
 * struct rdma_ep_cm_event - something has happened to an endpoint
 * @ep: endpoint that it is about
 * @child: new endpoint with %RDMA_CM_EVENT_CONNECT_REQUEST, which belongs to the
 *	receiver of the event, who accepts, rejects or destroys it; NULL with other
 *	events
 * @status: not 0: the endpoint is over, and this is why: rdma_ep_status() of that time, or
 *	-ENODEV with %RDMA_CM_EVENT_DEVICE_REMOVAL
 * @cm: event, status and parameters in the terms of rdma_cm(7); its private data
 *	is valid as long as the event: until rdma_ep_ack_event(), or in the callback.
 *	After rdma_ep_abort() it is %RDMA_CM_EVENT_DISCONNECTED, and only @status is the error:
 *	iWARP's own event may be quicker.
 *	rdma_cm's %RDMA_CM_EVENT_UNREACHABLE that comes because the hardware address of a
 *	neighbour has changed is left out; %RDMA_CM_EVENT_ADDR_CHANGE has no @status: the
 *	interface's own has changed, and the connection may still work
 */
struct rdma_ep_cm_event {
	struct rdma_ep *ep;
	struct rdma_ep *child;
	int status;
	struct rdma_cm_event cm;
};

/**
 * typedef rdma_ep_event_fn - event callback of a channel
 * @event: event
 * @context: of rdma_ep_channel_create()
 *
 * Process context, in a work item of the channel: one event after another. It may sleep, but
 * not wait for other events of the channel. It may make all calls but those that wait for
 * itself: create the QP of @event->child and accept it, or destroy it, or end @event->ep with
 * rdma_ep_abort().
 */
typedef void (*rdma_ep_event_fn)(const struct rdma_ep_cm_event *event,
				 void *context);

/**
 * typedef rdma_ep_end_fn - function that is called when an endpoint is over
 * @ep: endpoint
 * @error: rdma_ep_status()
 *
 * Process context, in a work item of the endpoint. It may sleep and make all calls but those
 * that wait for itself.
 */
typedef void (*rdma_ep_end_fn)(struct rdma_ep *ep, int error);

struct rdma_ep_channel *rdma_ep_channel_create(rdma_ep_event_fn fn,
					       void *context);
int rdma_ep_channel_destroy(struct rdma_ep_channel *channel);
struct rdma_ep_cm_event *rdma_ep_get_event(struct rdma_ep_channel *channel,
					   unsigned int timeout_ms);
void rdma_ep_ack_event(struct rdma_ep_cm_event *event);

/**
 * enum rdma_ep_qp_attr_flags - what a QP's CQs are to be
 * @RDMA_EP_QP_ONE_CQ: both queues get one CQ, if the caller gives none
 * @RDMA_EP_QP_POOL_CQ: the same, one of ib_cq_pool_get(), which other QPs use as well: its
 *	cq_context is not the endpoint, and destroying the QP is refused in a completion handler
 *	of any of these QPs. Not with %IB_POLL_DIRECT
 * @RDMA_EP_QP_VECTOR: the CQs that are made use @comp_vector
 */
enum rdma_ep_qp_attr_flags {
	RDMA_EP_QP_ONE_CQ	= BIT(0),
	RDMA_EP_QP_POOL_CQ	= BIT(1),
	RDMA_EP_QP_VECTOR	= BIT(2),
};

/**
 * struct rdma_ep_qp_attr - QP of an endpoint
 * @pd: protection domain, on the endpoint's device; NULL: the one that all endpoints of
 *	the calling module share on the device, and no other module: it exists until the
 *	endpoint is destroyed, so the caller's memory regions may use it. A PD of the
 *	caller's is kept until the QP is destroyed
 * @poll_ctx: how the completion queues that are made for the QP run their
 *	handlers; see &enum ib_poll_context
 * @init: as for ib_create_qp(). Capabilities are those wanted and, on return,
 *	those granted; of work requests never more than wanted, as the CQs have room
 *	for no more. @init.send_cq and @init.recv_cq: from ib_alloc_cq() on the
 *	same device, with room for two completions more than the QP's queue; or
 *	NULL: made with the QP, as deep as its queues, with the endpoint as
 *	their cq_context; one for both if neither is given and the QP receives
 *	from an SRQ (@init.send_cq is not given alone then). @init.srq: NULL: the
 *	endpoint's own, or that of the listener that it came from, if there is one;
 *	with the caller's, @init.cap.max_recv_wr is the depth of the CQ. For
 *	@init.cap.max_rdma_ctxs a send CQ that is made has room, too. @init.port_num:
 *	0: the endpoint's. @init.qp_type: %IB_QPT_UD in the port space %RDMA_PS_UDP;
 *	%IB_QPT_RC, or %IB_QPT_UC if given to rdma_ep_create(), in %RDMA_PS_TCP
 * @flags: &enum rdma_ep_qp_attr_flags
 * @comp_vector: with %RDMA_EP_QP_VECTOR, of as many as the device has, counted round
 * @slots_free: called by rdma_ep_put_slots() after rdma_ep_try_slots() has failed, in the
 *	context of the former, sometimes also if it has not failed; or NULL
 *
 * One entry of each queue is kept for draining, so at most one less than the
 * device's limit is granted. Never post more than was granted: drivers may take it,
 * and draining fails then. The QP's qp_context is the caller's, for completion
 * handlers to find by wc->qp. (Not for those of receives from an SRQ in a CQ of the
 * caller's that is not that of the sends too: the QP may have been destroyed by then.)
 */
struct rdma_ep_qp_attr {
	struct ib_pd *pd;
	enum ib_poll_context poll_ctx;
	struct ib_qp_init_attr init;
	u32 flags;
	u32 comp_vector;
	void (*slots_free)(struct rdma_ep *ep);
};

/**
 * RDMA_EP_RC_QP - a usual &struct rdma_ep_qp_attr
 * @_send: send work requests
 * @_recv: receive work requests; 0 with an SRQ
 * @_poll_ctx: context of its completion handlers
 *
 * Reliable, with one scatter/gather element each, and all sends signaled.
 */
#define RDMA_EP_RC_QP(_send, _recv, _poll_ctx)				\
	((struct rdma_ep_qp_attr) {					\
		.poll_ctx = (_poll_ctx),				\
		.init.qp_type = IB_QPT_RC,				\
		.init.sq_sig_type = IB_SIGNAL_ALL_WR,			\
		.init.cap.max_send_wr = (_send),			\
		.init.cap.max_recv_wr = (_recv),			\
		.init.cap.max_send_sge = 1,				\
		.init.cap.max_recv_sge = 1,				\
	})

/**
 * enum rdma_ep_attr_flags - how an endpoint is to be made
 * @RDMA_EP_DUAL_STACK: a passive endpoint on [::] has its port for IPv4, too. Else it is for
 *	IPv6 only, and an endpoint on 0.0.0.0 can have the same port
 * @RDMA_EP_REUSEADDR: an endpoint may have the local address of another that has this flag,
 *	while neither listens. An endpoint that listens shares its address with no other one
 * @RDMA_EP_ASYNC: an active endpoint is resolved after rdma_ep_create() has returned, and its
 *	QP made. Then %RDMA_CM_EVENT_ROUTE_RESOLVED follows, or its end. Until then it has no
 *	device, and rdma_ep_connect() returns -EINVAL
 */
enum rdma_ep_attr_flags {
	RDMA_EP_DUAL_STACK	= BIT(0),
	RDMA_EP_REUSEADDR	= BIT(1),
	RDMA_EP_ASYNC		= BIT(2),
};

/**
 * struct rdma_ep_attr - what an endpoint is to be
 * @net: network namespace of its addresses
 * @src: local address. Required of a passive endpoint, where port 0 is any port;
 *	optional of an active one
 * @dst: address of the peer, or NULL: a passive endpoint
 * @ps: %RDMA_PS_TCP, %RDMA_PS_UDP, %RDMA_PS_IB (for addresses of AF_IB, too), or 0:
 *	%RDMA_PS_UDP if @qp is of type %IB_QPT_UD, else %RDMA_PS_TCP
 * @timeout_ms: limit for resolving the address, and again for the route; 0: 2000
 * @qp: QP of an active endpoint, made at once; of a passive endpoint's requests,
 *	made by rdma_ep_get_request(). NULL: none
 * @channel: where its events go, and those of requests; NULL: to the calls that
 *	wait for them (a synchronous endpoint)
 * @context: for rdma_ep_context(); requests inherit it
 * @flags: &enum rdma_ep_attr_flags
 * @tos: type of service of its packets; 0: none. Requests of a listener have it with iWARP
 *	only: with InfiniBand and RoCE their packets have the peer's
 * @ack_timeout: how long an %IB_QPT_RC QP, also of a request, waits for an acknowledgment, as
 *	in &struct ib_qp_attr: 4.096 us * 2^@ack_timeout, at most 31; 0: rdma_cm's value
 * @min_rnr_timer: how long the peer waits before it sends again what found no receive, as in
 *	&struct ib_qp_attr, at most 31; 0: rdma_cm's value. %IB_QPT_RC only, and not with iWARP
 */
struct rdma_ep_attr {
	struct net *net;
	const struct sockaddr *src;
	const struct sockaddr *dst;
	enum rdma_ucm_port_space ps;
	unsigned int timeout_ms;
	struct rdma_ep_qp_attr *qp;
	struct rdma_ep_channel *channel;
	void *context;
	u32 flags;
	u8 tos;
	u8 ack_timeout;
	u8 min_rnr_timer;
};

struct rdma_ep *__rdma_ep_create(const struct rdma_ep_attr *attr,
				 const char *caller,
				 struct lock_class_key *keys);
/**
 * rdma_ep_create() - make an endpoint
 * @attr: attributes
 *
 * An active endpoint has its route resolved, and its QP, if @attr has one, in state
 * INIT (RTS if unconnected) on return: receives can be posted. The capabilities that its
 * QP was granted are in @attr->qp. A passive endpoint is bound to its address. Even with
 * a channel this waits for address and route. See rdma_create_ep(3).
 *
 * Return: the endpoint, to be destroyed with rdma_ep_destroy(), or
 * * -EINVAL: no namespace, neither @src nor @dst, a bad address, timers of %IB_QPT_RC for
 *   another type, or, of an active endpoint, a QP that rdma_ep_create_qp() refuses
 * * -EADDRINUSE, -EADDRNOTAVAIL: from binding to @src
 * * -ENODEV: no RDMA device has the address
 * * -EHOSTUNREACH, -ENETUNREACH, -ETIMEDOUT and others: from resolving @dst
 * * -ENOMEM
 */
#define rdma_ep_create(attr)						\
({									\
	/* To lockdep, callbacks of the endpoints and of their requests */ \
	static struct lock_class_key __keys[2];				\
									\
	__rdma_ep_create((attr), KBUILD_MODNAME, __keys);		\
})

int rdma_ep_destroy(struct rdma_ep *ep);

int rdma_ep_create_qp(struct rdma_ep *ep, struct rdma_ep_qp_attr *attr);
int rdma_ep_destroy_qp(struct rdma_ep *ep);
int rdma_ep_drain(struct rdma_ep *ep);
int rdma_ep_create_srq(struct rdma_ep *ep, struct ib_pd *pd,
		       struct ib_srq_init_attr *attr);
int rdma_ep_destroy_srq(struct rdma_ep *ep);

int rdma_ep_listen(struct rdma_ep *ep, int backlog);
struct rdma_ep *rdma_ep_get_request(struct rdma_ep *listener,
				    unsigned int timeout_ms);
int rdma_ep_connect(struct rdma_ep *ep, const struct rdma_conn_param *param,
		    unsigned int timeout_ms);
int rdma_ep_accept(struct rdma_ep *ep, const struct rdma_conn_param *param,
		   unsigned int timeout_ms);
int rdma_ep_reject(struct rdma_ep *ep, const void *data, u8 len);
int rdma_ep_disconnect(struct rdma_ep *ep, unsigned int timeout_ms);
int rdma_ep_migrate(struct rdma_ep *ep, struct rdma_ep_channel *channel);
int rdma_ep_join(struct rdma_ep *ep, const struct sockaddr *group,
		 bool send_only, unsigned int timeout_ms);
int rdma_ep_leave(struct rdma_ep *ep, const struct sockaddr *group);

bool rdma_ep_try_slots(struct rdma_ep *ep, unsigned int n);
int rdma_ep_wait_slots(struct rdma_ep *ep, unsigned int n,
		       unsigned int timeout_ms);
void rdma_ep_put_slots(struct rdma_ep *ep, unsigned int n);

void rdma_ep_abort(struct rdma_ep *ep, int error);
void rdma_ep_on_end(struct rdma_ep *ep, rdma_ep_end_fn fn);

struct ib_device *rdma_ep_device(const struct rdma_ep *ep);
u32 rdma_ep_port(const struct rdma_ep *ep);
struct ib_pd *rdma_ep_pd(const struct rdma_ep *ep);
struct ib_qp *rdma_ep_qp(const struct rdma_ep *ep);
struct ib_cq *rdma_ep_send_cq(const struct rdma_ep *ep);
struct ib_cq *rdma_ep_recv_cq(const struct rdma_ep *ep);
struct ib_srq *rdma_ep_srq(const struct rdma_ep *ep);
struct rdma_ep_channel *rdma_ep_channel(const struct rdma_ep *ep);
const struct rdma_cm_event *rdma_ep_event(const struct rdma_ep *ep);
int rdma_ep_status(const struct rdma_ep *ep);
void *rdma_ep_context(const struct rdma_ep *ep);
void rdma_ep_set_context(struct rdma_ep *ep, void *context);
int rdma_ep_local_addr(const struct rdma_ep *ep, struct sockaddr_storage *addr);
int rdma_ep_peer_addr(const struct rdma_ep *ep, struct sockaddr_storage *addr);
int rdma_ep_qp_cap(const struct rdma_ep *ep, struct ib_qp_cap *cap);
const char *rdma_ep_reject_msg(const struct rdma_ep *ep,
			       const struct rdma_cm_event *event);
bool rdma_ep_consumer_reject(const struct rdma_ep *ep,
			     const struct rdma_cm_event *event);

int rdma_ep_path(struct rdma_ep *ep, struct sa_path_rec *path);
int rdma_ep_gids(struct rdma_ep *ep, union ib_gid *sgid, union ib_gid *dgid);

#endif /* RDMA_EP_H */
