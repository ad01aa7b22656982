// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listener's SRQ, which its requests share.
 */
#include "tests.h"

#define KT_CLIENTS	3

static struct ib_srq_init_attr kt_srq_attr(void)
{
	return (struct ib_srq_init_attr) {
		.attr = { .max_wr = 2 * KT_WRS, .max_sge = 1 },
	};
}

static struct rdma_ep *kt_srq_listener(struct kt *t, const struct kt_setup *setup,
				       struct ib_srq_init_attr *attr)
{
	struct rdma_ep *listener = kt_passive(setup);

	if (!kt_expect_ok(t, listener))
		return NULL;
	kt_expect_eq(t, 0, rdma_ep_create_srq(listener, NULL, attr));
	kt_expect_eq(t, 0, rdma_ep_listen(listener, KT_CLIENTS));
	return listener;
}

/**
 * struct kt_shared - a listener with an SRQ and some clients
 * @pair: of each client; the listener is that of the first
 * @n: how many
 * @recv: receives in the SRQ
 */
struct kt_shared {
	struct kt_pair pair[KT_CLIENTS];
	int n;
	struct kt_io *recv;
};

static bool kt_shared_open(struct kt *t, struct kt_shared *s)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct kt_setup setup = {};
	struct rdma_ep *listener;
	int i;

	*s = (struct kt_shared) {};
	listener = kt_srq_listener(t, &setup, &attr);
	if (!listener)
		return false;
	s->pair[0].listener = listener;
	s->recv = kt_io_create(t, rdma_ep_pd(listener));
	for (i = 0; i < KT_CLIENTS; i++) {
		s->pair[i].listener = listener;
		if (!kt_pair_request(t, &s->pair[i]) || !kt_pair_accept(t, &s->pair[i]))
			break;
		s->n++;
	}
	if (s->n == KT_CLIENTS && s->recv)
		return true;
	while (s->n--) {
		kt_destroy(t, s->pair[s->n].client);
		kt_destroy(t, s->pair[s->n].server);
	}
	kt_destroy(t, listener);
	kt_io_destroy(t, s->recv);
	return false;
}

/* One message from each client; all are received by @srq. */
static void kt_shared_send(struct kt *t, struct kt_shared *s, struct ib_srq *srq)
{
	struct kt_io *io[KT_CLIENTS];
	int before = atomic_read(&s->recv->ok);
	int i;

	for (i = 0; i < s->n; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(s->recv, srq));
	for (i = 0; i < s->n; i++) {
		io[i] = kt_io_create(t, rdma_ep_pd(s->pair[i].client));
		if (io[i])
			kt_expect_eq(t, 0, kt_io_send(io[i], s->pair[i].client));
	}
	kt_expect(t, kt_wait_for(atomic_read(&s->recv->ok) == before + s->n, KT_CALL_MS));
	for (i = 0; i < s->n; i++) {
		if (!io[i])
			continue;
		kt_wait_for(atomic_read(&io[i]->done) == 1, KT_CALL_MS);
		kt_io_destroy(t, io[i]);
	}
}

static void kt_srq_shared(struct kt *t)
{
	struct kt_shared s;
	struct ib_srq *srq;
	int i;

	if (!kt_shared_open(t, &s))
		return;
	srq = rdma_ep_srq(s.pair[0].listener);
	for (i = 0; i < s.n; i++) {
		kt_expect_ptr(t, srq, rdma_ep_srq(s.pair[i].server));
		kt_expect_ptr(t, srq, rdma_ep_qp(s.pair[i].server)->srq);
		kt_expect_ptr(t, NULL, rdma_ep_srq(s.pair[i].client));
	}
	kt_shared_send(t, &s, srq);

	/* Used, so it stays; a request can not let go of it with its QP. */
	kt_expect_eq(t, -EBUSY, rdma_ep_destroy_srq(s.pair[0].server));
	/* The listener goes first, the SRQ with the last of them. */
	kt_destroy(t, s.pair[0].listener);
	kt_shared_send(t, &s, srq);
	for (i = 0; i < s.n; i++) {
		kt_expect_ptr(t, srq, rdma_ep_srq(s.pair[i].server));
		kt_destroy(t, s.pair[i].client);
		kt_destroy(t, s.pair[i].server);
	}
	kt_io_destroy(t, s.recv);
}

/* Let go of it, and the requests that are there keep it. */
static void kt_srq_destroyed(struct kt *t)
{
	struct ib_srq *srq;
	struct kt_shared s;
	struct kt_pair p;
	int i;

	if (!kt_shared_open(t, &s))
		return;
	srq = rdma_ep_srq(s.pair[0].listener);
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(s.pair[0].listener));
	kt_expect_ptr(t, NULL, rdma_ep_srq(s.pair[0].listener));
	kt_shared_send(t, &s, srq);
	/* New ones have none. */
	p = (struct kt_pair) { .listener = s.pair[0].listener };
	if (kt_pair_request(t, &p)) {
		kt_expect_ptr(t, NULL, rdma_ep_srq(p.server));
		kt_expect_ptr(t, NULL, rdma_ep_qp(p.server)->srq);
		if (kt_pair_accept(t, &p)) {
			kt_destroy(t, p.client);
			kt_destroy(t, p.server);
		}
	}
	for (i = 0; i < s.n; i++) {
		kt_destroy(t, s.pair[i].server);
		kt_destroy(t, s.pair[i].client);
	}
	kt_destroy(t, s.pair[0].listener);
	kt_io_destroy(t, s.recv);
}

/* Of a PD of the caller's; and a QP that is given the SRQ of another endpoint. */
static void kt_srq_own(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = {};
	struct rdma_ep *a, *b;
	struct kt_pair p;
	struct ib_pd *pd;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	pd = ib_alloc_pd(rdma_ep_device(p.listener), 0);
	a = kt_active(&setup, p.listener);
	b = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, pd) || !kt_expect_ok(t, a) || !kt_expect_ok(t, b))
		goto out;
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	kt_expect_ptr(t, NULL, rdma_ep_pd(a));
	kt_expect_eq(t, 0, rdma_ep_create_srq(a, pd, &attr));
	kt_expect_ptr(t, pd, rdma_ep_pd(a));
	kt_expect_ptr(t, pd, rdma_ep_srq(a)->pd);
	qp.pd = pd;
	kt_expect_eq(t, 0, rdma_ep_create_qp(a, &qp));
	kt_expect_ptr(t, rdma_ep_srq(a), rdma_ep_qp(a)->srq);
	kt_expect_eq(t, -EBUSY, rdma_ep_destroy_srq(a));
	kt_expect(t, rdma_ep_srq(a));
	qp = kt_qp();
	qp.pd = pd;
	qp.init.srq = rdma_ep_srq(a);
	kt_expect_eq(t, 0, rdma_ep_create_qp(b, &qp));
	kt_expect_ptr(t, rdma_ep_srq(a), rdma_ep_qp(b)->srq);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(a));
	kt_expect_eq(t, 0, atomic_read(&pd->usecnt));
out:
	kt_destroy(t, a);
	kt_destroy(t, b);
	kt_destroy(t, p.listener);
	if (!IS_ERR(pd))
		ib_dealloc_pd(pd);
}

static void kt_srq_limit_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		complete(context);
}

/* The handler that was given is called, with its context. */
static void kt_srq_limit(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct ib_srq_attr limit = { .srq_limit = 1 };
	struct kt_setup setup = {};
	struct completion reached;
	struct kt_io *recv, *send = NULL;
	struct kt_pair p = {};
	int i;

	init_completion(&reached);
	attr.event_handler = kt_srq_limit_event;
	attr.srq_context = &reached;
	p.listener = kt_srq_listener(t, &setup, &attr);
	if (!p.listener)
		return;
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	for (i = 0; recv && i < 2; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	kt_expect_eq(t, 0, ib_modify_srq(rdma_ep_srq(p.listener), &limit, IB_SRQ_LIMIT));
	if (recv && kt_pair_request(t, &p) && kt_pair_accept(t, &p)) {
		send = kt_io_create(t, rdma_ep_pd(p.client));
		for (i = 0; send && i < 2; i++)
			kt_expect_eq(t, 0, kt_io_send(send, p.client));
		kt_expect(t, wait_for_completion_timeout(&reached, msecs_to_jiffies(KT_CALL_MS)));
		kt_expect(t, kt_wait_for(atomic_read(&recv->ok) == 2, KT_CALL_MS));
		kt_destroy(t, p.client);
		kt_destroy(t, p.server);
	}
	kt_io_destroy(t, send);
	kt_destroy(t, p.listener);
	kt_io_destroy(t, recv);
}

#define KT_REPLIES	4

/**
 * struct kt_replies - what answers each message that is received
 * @io: the answers
 * @server: from where
 * @ret: the first error of posting one
 */
struct kt_replies {
	struct kt_io *io;
	struct rdma_ep *server;
	int ret;
};

static void kt_reply(void *arg)
{
	struct kt_replies *r = arg;

	r->ret = r->ret ?: kt_io_send(r->io, r->server);
}

/*
 * Messages that nobody has looked at when the endpoint is destroyed: the handlers are
 * called with a QP that is there, and what they post completes as well.
 */
static void kt_srq_replies(struct kt *t)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 7, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = { .server_qp = &qp };
	struct kt_io *recv, *send = NULL;
	struct kt_replies replies = {};
	struct kt_pair p = {};
	int i;

	qp.poll_ctx = IB_POLL_DIRECT;
	p.listener = kt_srq_listener(t, &setup, &attr);
	if (!p.listener)
		return;
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	replies.io = kt_io_create(t, rdma_ep_pd(p.listener));
	if (!recv || !replies.io || !kt_pair_request(t, &p) || !kt_pair_accept(t, &p))
		goto out;
	replies.server = p.server;
	recv->fn_arg = &replies;
	recv->fn = kt_reply;
	for (i = 0; i < KT_REPLIES; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	send = kt_io_create(t, rdma_ep_pd(p.client));
	for (i = 0; send && i < KT_REPLIES; i++)
		kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, send && kt_wait_for(atomic_read(&send->done) == KT_REPLIES, KT_CALL_MS));
	kt_expect_eq(t, 0, atomic_read(&recv->done));
	kt_destroy(t, p.server);
	kt_expect_eq(t, 0, replies.ret);
	kt_expect_eq(t, KT_REPLIES, atomic_read(&recv->ok));
	kt_expect_eq(t, KT_REPLIES, replies.io->posted);
	kt_destroy(t, p.client);
out:
	kt_io_destroy(t, send);
	kt_io_destroy(t, replies.io);
	kt_destroy(t, p.listener);
	kt_io_destroy(t, recv);
}

/* The CQ has room for what the SRQ and the send queue are said to hold. */
static void kt_srq_room(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = {};
	struct ib_cq *cq = NULL;
	struct kt_pair p;
	struct rdma_ep *a;
	u32 wr;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	for (wr = 1; wr <= KT_WRS; wr++) {
		struct ib_srq_init_attr attr = {
			.attr = { .max_wr = wr, .max_sge = 1 },
		};

		a = kt_active(&setup, p.listener);
		if (!kt_expect_ok(t, a))
			break;
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
		kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
		qp = kt_qp();
		kt_expect_eq(t, 0, rdma_ep_create_qp(a, &qp));
		kt_expect_ptr(t, rdma_ep_send_cq(a), rdma_ep_recv_cq(a));
		/* ... and for what is posted to drain it. */
		kt_expect(t, rdma_ep_send_cq(a)->cqe > wr + qp.init.cap.max_send_wr);
		kt_destroy(t, a);
	}
	/* It would not be drained. */
	a = kt_active(&setup, p.listener);
	cq = ib_alloc_cq(rdma_ep_device(p.listener), NULL, 64, 0, IB_POLL_WORKQUEUE);
	if (kt_expect_ok(t, a) && kt_expect_ok(t, cq)) {
		struct ib_srq_init_attr attr = kt_srq_attr();

		kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
		kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
		qp = kt_qp();
		qp.init.send_cq = cq;
		kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(a, &qp));
	}
	kt_destroy(t, a);
	if (!IS_ERR_OR_NULL(cq))
		ib_free_cq(cq);
	kt_destroy(t, p.listener);
}

/* An SRQ that another endpoint's QP receives from stays. */
static void kt_srq_of_another(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = {};
	struct rdma_ep *a, *b;
	struct kt_pair p;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	a = kt_active(&setup, p.listener);
	b = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, a) && kt_expect_ok(t, b)) {
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
		kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
		qp.init.srq = rdma_ep_srq(a);
		kt_expect_eq(t, 0, rdma_ep_create_qp(b, &qp));
		kt_expect_eq(t, -EBUSY, rdma_ep_destroy_srq(a));
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
		kt_expect_eq(t, 0, rdma_ep_destroy_srq(a));
	}
	kt_destroy(t, b);
	kt_destroy(t, a);
	kt_destroy(t, p.listener);
}

const struct kt_test kt_srq_tests[] = {
	{ "srq_shared", kt_srq_shared },
	{ "srq_destroyed_before_requests", kt_srq_destroyed },
	{ "srq_own_pd", kt_srq_own },
	{ "srq_limit_event", kt_srq_limit },
	{ "srq_replies_of_handlers", kt_srq_replies },
	{ "srq_room_in_cq", kt_srq_room },
	{ "srq_of_another", kt_srq_of_another },
	{}
};
