// SPDX-License-Identifier: GPL-2.0-only
/*
 * SRQs: of a listener, shared by its requests; of other endpoints; and their destruction.
 */
#include "tests.h"

#define KT_CLIENTS	3

static struct ib_srq_init_attr kt_srq_attr(void)
{
	return (struct ib_srq_init_attr) { .attr = { .max_wr = 2 * KT_WRS, .max_sge = 1 } };
}

static struct rdma_ep *kt_srq_listener(struct kt *t, const struct kt_setup *setup,
				       struct ib_srq_init_attr *attr)
{
	struct rdma_ep *listener = kt_passive(t, setup);

	kt_expect_eq(t, 0, rdma_ep_create_srq(listener, NULL, attr));
	kt_expect_eq(t, 0, rdma_ep_listen(listener, KT_CLIENTS));
	return listener;
}

/**
 * struct kt_shared - a listener with an SRQ and some clients
 * @listener: listener
 * @pair: connection of each client
 * @recv: receives in the SRQ
 */
struct kt_shared {
	struct rdma_ep *listener;
	struct kt_pair pair[KT_CLIENTS];
	struct kt_io *recv;
};

static void kt_shared_open(struct kt *t, struct kt_shared *s)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct kt_pair *p;

	*s = (struct kt_shared) { .listener = kt_srq_listener(t, NULL, &attr) };
	s->recv = kt_io_create(t, rdma_ep_pd(s->listener));
	for (p = s->pair; p < s->pair + KT_CLIENTS; p++) {
		p->listener = s->listener;
		kt_pair_connect(t, p);
	}
}

static void kt_shared_send(struct kt *t, struct kt_shared *s, struct ib_srq *srq)
{
	int i, before = atomic_read(&s->recv->ok);
	struct kt_io *io[KT_CLIENTS];

	for (i = 0; i < KT_CLIENTS; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(s->recv, srq));
	for (i = 0; i < KT_CLIENTS; i++) {
		io[i] = kt_io_create(t, rdma_ep_pd(s->pair[i].client));
		kt_expect_eq(t, 0, kt_io_send(io[i], s->pair[i].client));
	}
	kt_expect(t, kt_wait_for(atomic_read(&s->recv->ok) == before + KT_CLIENTS, KT_CALL_MS));
	for (i = 0; i < KT_CLIENTS; i++) {
		kt_wait_for(atomic_read(&io[i]->done) == 1, KT_CALL_MS);
		kt_undo(t, io[i]);
	}
}

static void kt_srq_shared(struct kt *t)
{
	struct kt_shared s;
	struct ib_srq *srq;
	int i;

	kt_shared_open(t, &s);
	srq = rdma_ep_srq(s.listener);
	for (i = 0; i < KT_CLIENTS; i++) {
		kt_expect_ptr(t, srq, rdma_ep_srq(s.pair[i].server));
		kt_expect_ptr(t, srq, rdma_ep_qp(s.pair[i].server)->srq);
		kt_expect_ptr(t, NULL, rdma_ep_srq(s.pair[i].client));
	}
	kt_shared_send(t, &s, srq);

	/* The QP of a request holds the SRQ. */
	kt_expect_eq(t, -EBUSY, rdma_ep_destroy_srq(s.pair[0].server));
	/* The SRQ survives the listener until the last request is destroyed. */
	kt_destroy(t, s.listener);
	kt_shared_send(t, &s, srq);
	for (i = 0; i < KT_CLIENTS; i++) {
		kt_expect_ptr(t, srq, rdma_ep_srq(s.pair[i].server));
		kt_destroy(t, s.pair[i].client);
		kt_destroy(t, s.pair[i].server);
	}
}

/* The listener's SRQ is destroyed, but the existing requests hold it. */
static void kt_srq_destroyed(struct kt *t)
{
	struct ib_srq *srq;
	struct kt_shared s;
	struct kt_pair p;

	kt_shared_open(t, &s);
	srq = rdma_ep_srq(s.listener);
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(s.listener));
	kt_expect_ptr(t, NULL, rdma_ep_srq(s.listener));
	kt_shared_send(t, &s, srq);
	p = (struct kt_pair) { .listener = s.listener };
	kt_pair_request(t, &p);
	kt_expect_ptr(t, NULL, rdma_ep_srq(p.server));
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.server)->srq);
	kt_pair_accept(t, &p);
}

static void kt_srq_two(struct kt *t, struct rdma_ep **a, struct rdma_ep **b)
{
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	*a = p.client;
	*b = kt_active(t, NULL, p.listener);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(*a));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(*b));
}

/* An SRQ with the caller's PD, and a QP with the SRQ of another endpoint */
static void kt_srq_own(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep *a, *b;
	struct ib_pd *pd;

	kt_srq_two(t, &a, &b);
	pd = kt_pd(t, rdma_ep_device(a));
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
}

static void kt_srq_limit_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		complete(context);
}

/* The SRQ limit event calls the caller's handler with its context. */
static void kt_srq_limit(struct kt *t)
{
	struct completion *reached = kt_zalloc(t, sizeof(*reached));
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct ib_srq_attr limit = { .srq_limit = 1 };
	struct kt_io *recv, *send;
	struct kt_pair p = {};
	int i;

	init_completion(reached);
	attr.event_handler = kt_srq_limit_event;
	attr.srq_context = reached;
	p.listener = kt_srq_listener(t, NULL, &attr);
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	for (i = 0; i < 2; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	kt_expect_eq(t, 0, ib_modify_srq(rdma_ep_srq(p.listener), &limit, IB_SRQ_LIMIT));
	kt_pair_connect(t, &p);
	send = kt_io_create(t, rdma_ep_pd(p.client));
	for (i = 0; i < 2; i++)
		kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, wait_for_completion_timeout(reached, msecs_to_jiffies(KT_CALL_MS)));
	kt_expect(t, kt_wait_for(atomic_read(&recv->ok) == 2, KT_CALL_MS));
}

#define KT_REPLIES	4

/**
 * struct kt_replies - replies to received messages
 * @io: the replies
 * @server: endpoint that sends them
 * @ret: the first error of posting a reply
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
 * The endpoint is destroyed before completions of receives are polled. Their handlers run
 * while the QP exists, and the replies that they post complete as well.
 */
static void kt_srq_replies(struct kt *t)
{
	struct kt_replies *replies = kt_zalloc(t, sizeof(*replies));
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 7, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_io *recv, *send;
	struct kt_pair p = {};
	int i;

	qp.poll_ctx = IB_POLL_DIRECT;
	p.listener = kt_srq_listener(t, &(struct kt_setup) { .server_qp = &qp }, &attr);
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	replies->io = kt_io_create(t, rdma_ep_pd(p.listener));
	kt_pair_connect(t, &p);
	replies->server = p.server;
	recv->fn_arg = replies;
	recv->fn = kt_reply;
	for (i = 0; i < KT_REPLIES; i++)
		kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	send = kt_io_create(t, rdma_ep_pd(p.client));
	for (i = 0; i < KT_REPLIES; i++)
		kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, kt_wait_for(atomic_read(&send->done) == KT_REPLIES, KT_CALL_MS));
	kt_expect_eq(t, 0, atomic_read(&recv->done));
	kt_destroy(t, p.server);
	kt_expect_eq(t, 0, replies->ret);
	kt_expect_eq(t, KT_REPLIES, atomic_read(&recv->ok));
	kt_expect_eq(t, KT_REPLIES, replies->io->posted);
}

/* The CQ has room for the capacity of the SRQ and of the send queue. */
static void kt_srq_room(struct kt *t)
{
	struct ib_srq_init_attr attr;
	struct rdma_ep_qp_attr qp;
	struct kt_pair p;
	struct ib_cq *cq;
	u32 wr;

	kt_pair_listen(t, &p, NULL);
	for (wr = 1; wr <= KT_WRS; wr++) {
		attr = (struct ib_srq_init_attr) { .attr = { .max_wr = wr, .max_sge = 1 } };
		p.client = kt_active(t, NULL, p.listener);
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
		kt_expect_eq(t, 0, rdma_ep_create_srq(p.client, NULL, &attr));
		qp = kt_qp();
		kt_assert_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
		kt_expect_ptr(t, rdma_ep_send_cq(p.client), rdma_ep_recv_cq(p.client));
		/* One entry more is for the request that drains the queue. */
		kt_expect(t, rdma_ep_send_cq(p.client)->cqe > wr + qp.init.cap.max_send_wr);
		kt_destroy(t, p.client);
	}
	/* With an SRQ, a send CQ alone is refused: the receives would not be drained. */
	p.client = kt_active(t, NULL, p.listener);
	cq = kt_cq(t, rdma_ep_device(p.listener), IB_POLL_WORKQUEUE);
	attr = kt_srq_attr();
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_create_srq(p.client, NULL, &attr));
	qp = kt_qp();
	qp.init.send_cq = cq;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
}

/* An SRQ cannot be destroyed while another endpoint's QP uses it. */
static void kt_srq_of_another(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep *a, *b;

	kt_srq_two(t, &a, &b);
	kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
	qp.init.srq = rdma_ep_srq(a);
	kt_expect_eq(t, 0, rdma_ep_create_qp(b, &qp));
	kt_expect_eq(t, -EBUSY, rdma_ep_destroy_srq(a));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(a));
}

/* An SRQ may be deeper than any QP's own queue; then the CQ is as deep. */
static void kt_srq_deep(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	const struct ib_device_attr *dev;
	struct rdma_ep *a, *b;

	kt_srq_two(t, &a, &b);
	dev = &rdma_ep_device(a)->attrs;
	if (dev->max_srq_wr <= dev->max_qp_wr) {
		kt_skip(t, "the device has no SRQs deeper than QPs");
		return;
	}
	attr.attr.max_wr = dev->max_qp_wr;
	kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
	qp.init.srq = rdma_ep_srq(a);
	qp.init.cap.max_recv_wr = UINT_MAX;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(b, &qp));
	qp.init.cap.max_recv_wr = attr.attr.max_wr;
	kt_assert_eq(t, 0, rdma_ep_create_qp(b, &qp));
	kt_expect(t, rdma_ep_recv_cq(b)->cqe >= attr.attr.max_wr + KT_WRS);
}

/* Creating a QP with another endpoint's SRQ leaves its attributes as requested. */
static void kt_srq_attr_again(struct kt *t)
{
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep *a, *b;
	int i;

	kt_srq_two(t, &a, &b);
	kt_expect_eq(t, 0, rdma_ep_create_srq(a, NULL, &attr));
	qp.init.srq = rdma_ep_srq(a);
	for (i = 0; i < 2; i++) {
		kt_expect_eq(t, 0, rdma_ep_create_qp(b, &qp));
		kt_expect_eq(t, KT_WRS, qp.init.cap.max_recv_wr);
		kt_expect_eq(t, 1, qp.init.cap.max_recv_sge);
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	}
}

/**
 * struct kt_slow - a handler that sleeps while its endpoint is destroyed
 * @began: completed when the handler runs
 * @work: destroys the endpoint
 * @ep: the endpoint
 * @ended: the endpoint has been destroyed
 * @late: number of handlers that ended after that
 */
struct kt_slow {
	struct completion began;
	struct work_struct work;
	struct rdma_ep *ep;
	atomic_t ended;
	atomic_t late;
};

static void kt_slow_handler(void *arg)
{
	struct kt_slow *slow = arg;

	complete(&slow->began);
	schedule_timeout_idle(msecs_to_jiffies(KT_WAITS_MS));
	if (atomic_read(&slow->ended))
		atomic_inc(&slow->late);
}

static void kt_slow_destroy(struct work_struct *work)
{
	struct kt_slow *slow = container_of(work, struct kt_slow, work);

	rdma_ep_destroy(slow->ep);
	atomic_set(&slow->ended, 1);
}

/*
 * The receives of the SRQ complete in a CQ of the caller. A work item destroys the endpoint
 * while a handler of that CQ runs; rdma_ep_destroy() returns after the handler.
 */
static void kt_srq_handler_ends(struct kt *t)
{
	struct kt_slow *slow = kt_zalloc(t, sizeof(*slow));
	struct ib_srq_init_attr attr = kt_srq_attr();
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_io *recv, *send;
	struct kt_pair p = {};

	init_completion(&slow->began);
	INIT_WORK(&slow->work, kt_slow_destroy);
	p.listener = kt_srq_listener(t, NULL, &attr);
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	recv->fn_arg = slow;
	recv->fn = kt_slow_handler;
	kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.server));
	qp.init.recv_cq = kt_cq(t, rdma_ep_device(p.listener), IB_POLL_UNBOUND_WORKQUEUE);
	kt_assert_eq(t, 0, rdma_ep_create_qp(p.server, &qp));
	kt_pair_accept(t, &p);
	send = kt_io_create(t, rdma_ep_pd(p.client));
	kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, wait_for_completion_timeout(&slow->began, msecs_to_jiffies(KT_CALL_MS)));
	slow->ep = p.server;
	kt_forget(t, p.server);
	queue_work(system_unbound_wq, &slow->work);
	flush_work(&slow->work);
	kt_expect_eq(t, 1, atomic_read(&recv->done));
	kt_expect_eq(t, 0, atomic_read(&slow->late));
}

/* ---- accessors while an SRQ is created and destroyed */

static int kt_call_look(struct kt_args *a)
{
	while (!kthread_should_stop()) {
		rdma_ep_srq(a->ep);
		rdma_ep_pd(a->ep);
		cond_resched();
	}
	return 0;
}

static void kt_srq_looked_at(struct kt *t)
{
	struct rdma_ep *ep = kt_passive(t, NULL);
	struct kt_call *call = kt_call(t, kt_call_look, &(struct kt_args) { .ep = ep });
	struct ib_srq_init_attr srq;
	int i, ret = 0;

	for (i = 0; i < 300 && !ret; i++) {
		srq = (struct ib_srq_init_attr) { .attr = { .max_wr = 1, .max_sge = 1 } };
		ret = rdma_ep_create_srq(ep, NULL, &srq) ?: rdma_ep_destroy_srq(ep);
	}
	kt_expect_eq(t, 0, ret);
	kt_expect_eq(t, 0, kt_call_stop(call));
}

const struct kt_test kt_srq_tests[] = {
	{ "srq_shared", kt_srq_shared },
	{ "srq_destroyed_before_requests", kt_srq_destroyed },
	{ "srq_own_pd", kt_srq_own },
	{ "srq_limit_event", kt_srq_limit },
	{ "srq_replies_of_handlers", kt_srq_replies },
	{ "srq_room_in_cq", kt_srq_room },
	{ "srq_of_another", kt_srq_of_another },
	{ "srq_deeper_than_qps", kt_srq_deep },
	{ "srq_attr_again", kt_srq_attr_again },
	{ "srq_handler_ends", kt_srq_handler_ends },
	{ "srq_looked_at", kt_srq_looked_at },
	{}
};
