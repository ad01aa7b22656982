// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failures in commands that create or fill rings, and in those that wait for the event that they
 * cause.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi_fail.h"

/* Longer than the module keeps unused CQs */
#define SETTLE_MS	500
#define RINGS_PAGE	(4096 / sizeof(struct rdma_ep_cq_ring))

/* ---- rings */

/* Returns the session's charge for queues. */
static long queue_kib(const struct abi *s)
{
	return abi_fdinfo(s, "queue-memory");
}

/* The same without unused CQs, which the module keeps for a tenth of a second. */
static long settled_kib(const struct abi *s)
{
	long kib, since, end = abi_now_ms() + ABI_WAIT_MS;

	do {
		kib = queue_kib(s);
		since = abi_now_ms();
		while (queue_kib(s) == kib && abi_now_ms() - since < SETTLE_MS)
			usleep(10000);
	} while (queue_kib(s) != kib && abi_now_ms() < end);
	return kib;
}

/* Charge before a ring CQ, and of one that needs another page of rings */
static long kib_before, kib_new;

/* One CQ more than a page has rings for. */
ABI_FN(create_cq_ring, create_cq)
{
	__u32 cq, ring;
	int ret = 0;

	a->flags = RDMA_EP_CQ_RING;
	a->ctx = w->s.ctx;
	a->channel_fd = w->comp_channel;
	a->cqe = 8;
	for (unsigned int i = 0; i < RINGS_PAGE && !ret; i++) {
		kib_before = queue_kib(&w->s);
		ret = abi_create_ring_cq(&w->s, -1, 8, 0, &cq, &ring);
	}
	kib_new = queue_kib(&w->s) - kib_before + 4;
	kib_before = settled_kib(&w->s);
	return ret;
}

static int charged(const struct abi *s, long kib)
{
	long is = settled_kib(s);

	if (is == kib)
		return 0;
	fprintf(stderr, "# queues count for %ld KiB, not %ld\n", is, kib);
	return -EUCLEAN;
}

/* The ring is the next one and unused, and the only additional charge. */
ABI_FN(check_cq_ring, create_cq)
{
	struct rdma_ep_cq_ring *rings = abi_rings(&w->s);
	int ret = 0;

	if (!rings)
		return -ENOMEM;
	if (a->ring != RINGS_PAGE) {
		fprintf(stderr, "# ring %u\n", a->ring);
		ret = -EEXIST;
	} else if (rings[a->ring].head || rings[a->ring].tail || !rings[a->ring].pending) {
		ret = -EPROTO;
	}
	munmap(rings, ABI_RINGS_BYTES);
	return ret ?: charged(&w->s, kib_before + kib_new);
}

/*
 * Takes all rings of a page but the last, so that the QP has this one and the first of another
 * page.
 */
static int ring_qp(struct abi_world *w, struct rdma_ep_qp_init *init)
{
	__u32 cq, ring;
	int ret = 0;

	abi_auto_qp(init);
	init->send_cq.ring = RDMA_EP_CQ_RING;
	init->recv_cq.ring = RDMA_EP_CQ_RING;
	for (unsigned int i = 0; i < RINGS_PAGE - 1 && !ret; i++)
		ret = abi_create_ring_cq(&w->s, -1, 8, 0, &cq, &ring);
	return ret;
}

static int check_ring_qp(const struct abi *s, const struct rdma_ep_qp_init *init)
{
	__u32 send = init->send_cq.ring, recv = init->recv_cq.ring;

	if (send + recv != 2 * RINGS_PAGE - 1 || send > RINGS_PAGE || recv > RINGS_PAGE) {
		fprintf(stderr, "# rings %u, %u\n", send, recv);
		return -EEXIST;
	}
	return fail_destroy_qp(s, init);
}

ABI_FN(create_qp_ring, create_qp)
{
	struct sockaddr_in sin = w->s.addr;

	return ring_qp(w, &a->init) ?:
	       abi_tcp_id(&w->s, w->channel, 7, &a->id) ?:
	       abi_bind(&w->s, a->id, &sin);
}

ABI_FN(check_create_qp_ring, create_qp)
{
	return check_ring_qp(&w->s, &a->init);
}

ABI_FN(create_ep_ring, create_ep)
{
	return fail_ep_active(w, a) ?: ring_qp(w, &a->qp);
}

ABI_FN(check_create_ep_ring, create_ep)
{
	return check_ring_qp(&w->s, &a->qp);
}

ABI_FN(get_request_ring, get_request)
{
	int server;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	return ring_qp(w, &a->qp) ?: fail_requested(w, &server, &a->id);
}

/* A request without memory for its QP has none, and returns the errno. */
ABI_FN(check_get_request_ring, get_request)
{
	if (a->qp_errno)
		return a->qp_errno == ENOMEM || a->qp_errno == ENFILE ? 0 : -EPROTO;
	return check_ring_qp(&w->s, &a->qp);
}

/* A flushed receive on its own CQ; its completion is not polled. */
static int flushed(struct abi_world *w, __u32 cq, __u32 *qp)
{
	struct rdma_ep_comp_event ev;

	return abi_notify_cq(&w->s, cq, 0) ?:
	       fail_flushed(w, cq, qp) ?:
	       abi_read(w->comp_channel, &ev, sizeof(ev), ABI_WAIT_MS);
}

/* CQ or ring of the last prepared case */
static __u32 flushed_to;

ABI_FN(poll_cq_ring, poll_cq)
{
	__u32 qp;

	return abi_create_ring_cq(&w->s, w->comp_channel, 8, 0, &a->cq, &flushed_to) ?:
	       flushed(w, a->cq, &qp);
}

/* The ring has the completion once, after any number of polls. */
static int check_ring_polled(struct abi_world *w, void *arg)
{
	struct rdma_ep_cq_ring *rings = abi_rings(&w->s);
	int ret;

	if (!rings)
		return -ENOMEM;
	ret = rings[flushed_to].head == 1 && rings[flushed_to].wc[0].wr_id == 77 ? 0 : -ENODATA;
	munmap(rings, ABI_RINGS_BYTES);
	return ret;
}

/*
 * The destruction of a QP sets its completions in a CQ aside. Without memory for that they are
 * lost, which verbs permit for a destroyed QP: but only one failure may lose them.
 */
static unsigned int flushed_lost;

ABI_FN(destroy_qp_flushed, destroy)
{
	a->type = RDMA_EP_OBJ_QP;
	return abi_create_cq(&w->s, w->comp_channel, 8, 0, &flushed_to) ?:
	       flushed(w, flushed_to, &a->handle);
}

static int check_flushed(struct abi_world *w, void *arg)
{
	struct rdma_ep_wc wc[4];
	int n = abi_poll(&w->s, flushed_to, wc, 4);

	if (!n && !flushed_lost++)
		return 0;
	return n == 1 && wc[0].wr_id == 77 ? 0 : -ENODATA;
}

/* ---- the event that completes a command */

/* The event exists before the call; a failed call puts it back, so that the next call finds it. */
static int user_event(struct abi_world *w, __u32 id, int channel, struct rdma_ep_await *aw)
{
	aw->event = (uintptr_t)w->page;
	aw->channel_fd = channel;
	/* Without the event, the command does not wait. */
	return fcntl(channel, F_SETFL, O_NONBLOCK) ? -errno : abi_user_event(&w->s, id, 0);
}

/* @id: of the event, or 0 for any */
static int awaited(struct abi_world *w, const struct rdma_ep_await *aw, __u32 id)
{
	struct rdma_ep_channel_event *ev = w->page;

	return aw->state == RDMA_EP_AWAIT_EVENT && ev->event == RDMA_EP_CM_EVENT_USER &&
	       (!id || ev->id == id) ? 0 : -EPROTO;
}

/* After -EFAULT, the next call only waits for the event. */
static void resume_id_cmd(union abi_arg *arg)
{
	((struct rdma_ep_cmd_id *)arg)->await.state = RDMA_EP_AWAIT_DONE;
}

static void resume_connect(union abi_arg *arg)
{
	((struct rdma_ep_cmd_connect *)arg)->await.state = RDMA_EP_AWAIT_DONE;
}

ABI_FN(check_id_cmd_await, id)
{
	return awaited(w, &a->await, a->id);
}

ABI_FN(check_connect_await, connect)
{
	return awaited(w, &a->await, a->id);
}

ABI_FN(resolve_route_await, id)
{
	struct sockaddr_in dst = w->s.addr;
	int channel = abi_channel(&w->s);

	dst.sin_port = htons(7471);
	a->flags = RDMA_EP_AWAIT;
	a->arg = 5000;
	return abi_tcp_id(&w->s, channel, 0, &a->id) ?:
	       abi_resolve(&w->s, channel, a->id, &dst) ?:
	       user_event(w, a->id, channel, &a->await);
}

ABI_FN(connect_await, connect)
{
	int channel;

	a->flags = RDMA_EP_AWAIT;
	return fail_connect_own(w, a, &channel) ?:
	       user_event(w, a->id, channel, &a->await);
}

/* (An id that is not accepted cannot have such an event, so the listener has it.) */
ABI_FN(check_accept_await, connect)
{
	return awaited(w, &a->await, 0);
}

ABI_FN(accept_await, connect)
{
	__u32 listener;
	int server;

	a->flags = RDMA_EP_AWAIT;
	return fail_accept_own(w, a, &server, &listener) ?:
	       user_event(w, listener, server, &a->await);
}

ABI_FN(disconnect_await, id)
{
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	a->flags = RDMA_EP_AWAIT;
	a->id = p.end[0].id;
	return ret ?: user_event(w, a->id, p.end[0].channel, &a->await);
}

#define AWAIT(_cmd, _prepare, _check, _resume, ...) \
	FAIL_CASE(_cmd, _prepare, .check = _check, .resume = _resume, .effect = true, \
		  .again = EINVAL, .fresh = true, __VA_ARGS__)

/* Another page of rings stays as long as the session. */
#define RING(_cmd, _prepare, _check) \
	FAIL_CASE(_cmd, _prepare, .check = _check, .keeps = 4, .fresh = true)

const struct fail_case fail_more_cases[] = {
	RING(CREATE_CQ, create_cq_ring, check_cq_ring),
	RING(CREATE_QP, create_qp_ring, check_create_qp_ring),
	RING(CREATE_EP, create_ep_ring, check_create_ep_ring),
	RING(GET_REQUEST, get_request_ring, check_get_request_ring),
	FAIL_CASE(POLL_CQ, poll_cq_ring, .needs = ABI_IB, .check = check_ring_polled),
	FAIL_CASE(DESTROY, destroy_qp_flushed, .needs = ABI_IB, .check = check_flushed,
		  .effect = true, .again = ENOENT),
	AWAIT(RESOLVE_ROUTE, resolve_route_await, check_id_cmd_await, resume_id_cmd),
	AWAIT(CONNECT, connect_await, check_connect_await, resume_connect,
	      .not_siw = FAIL_SIW_EARLY),
	FAIL_CASE(ACCEPT, accept_await, .check = check_accept_await,
		  .resume = resume_connect, .once = true, .again = EINVAL, .fresh = true),
	AWAIT(DISCONNECT, disconnect_await, check_id_cmd_await, resume_id_cmd),
};

const unsigned int fail_nr_more_cases = sizeof(fail_more_cases) / sizeof(fail_more_cases[0]);
