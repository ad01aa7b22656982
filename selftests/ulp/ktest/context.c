// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls from contexts in which they would wait for themselves fail with -EDEADLK and a
 * warning, and change nothing. The module rdma_ep warns once, so the script reloads it before
 * the first of these tests, and checks for the warning.
 */
#include <linux/debug_locks.h>
#include <linux/interrupt.h>
#include <rdma/ib_sa.h>

#include "tests.h"

/**
 * struct kt_inside - calls that are made in a bad context
 * @ep: endpoint with a QP
 * @queue: channel without endpoints
 * @about: only calls on @ep are refused
 * @made: completed after the calls
 * @first: for the first handler only
 * @wrong: a bit for each call that was not refused
 */
struct kt_inside {
	struct rdma_ep *ep;
	struct rdma_ep_channel *queue;
	bool about;
	struct completion made;
	atomic_t first;
	unsigned long wrong;
};

static struct kt_inside *kt_inside_init(struct kt *t, struct rdma_ep *ep)
{
	struct kt_inside *in = kt_zalloc(t, sizeof(*in));

	in->ep = ep;
	in->queue = kt_channel(t, NULL, NULL);
	init_completion(&in->made);
	return in;
}

/* Calls every function with valid arguments. Returns a bit for each that was not refused. */
static unsigned long kt_call_about(struct rdma_ep *ep)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct sa_path_rec path;
	int ret[] = {
		PTR_ERR_OR_ZERO(rdma_ep_get_request(ep, 0)),
		rdma_ep_connect(ep, NULL, 0),
		rdma_ep_accept(ep, NULL, 0),
		rdma_ep_reject(ep, NULL, 0),
		rdma_ep_disconnect(ep, 0),
		rdma_ep_listen(ep, 1),
		rdma_ep_migrate(ep, NULL),
		rdma_ep_create_qp(ep, &qp),
		rdma_ep_destroy_qp(ep),
		rdma_ep_drain(ep),
		rdma_ep_wait_slots(ep, 1, 0),
		rdma_ep_join(ep, kt_ptr(kt_addr()), false, 0),
		rdma_ep_leave(ep, kt_ptr(kt_addr())),
		rdma_ep_path(ep, &path),
		rdma_ep_gids(ep, NULL, NULL),
		rdma_ep_create_srq(ep, NULL, &srq),
		rdma_ep_destroy_srq(ep),
		rdma_ep_destroy(ep),
	};
	unsigned long wrong = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(ret); i++)
		if (ret[i] != -EDEADLK)
			wrong |= BIT(i);
	return wrong;
}

static unsigned long kt_call_others(struct rdma_ep_channel *queue)
{
	struct rdma_ep_attr attr = { .net = &init_net, .src = kt_ptr(kt_addr()) };
	struct rdma_ep_channel *ch;
	unsigned long wrong = 0;

	if (PTR_ERR_OR_ZERO(rdma_ep_create(&attr)) != -EDEADLK)
		wrong |= BIT(20);
	if (PTR_ERR_OR_ZERO(rdma_ep_get_event(queue, 0)) != -EDEADLK)
		wrong |= BIT(21);
	if (rdma_ep_channel_destroy(queue) != -EDEADLK)
		wrong |= BIT(23);
	ch = rdma_ep_channel_create(NULL, NULL);
	if (PTR_ERR_OR_ZERO(ch) != -EDEADLK)
		wrong |= BIT(22);
	return wrong;
}

static void kt_inside(void *arg)
{
	struct kt_inside *in = arg;
	struct sockaddr_storage addr;
	struct ib_qp_cap cap;

	if (atomic_inc_return(&in->first) > 1)
		return;
	in->wrong = kt_call_about(in->ep);
	if (!in->about)
		in->wrong |= kt_call_others(in->queue);
	/* These are allowed in every context. */
	if (!rdma_ep_device(in->ep) || !rdma_ep_qp(in->ep) ||
	    !rdma_ep_channel(in->ep) || !rdma_ep_pd(in->ep) ||
	    rdma_ep_local_addr(in->ep, &addr) || rdma_ep_qp_cap(in->ep, &cap) ||
	    !rdma_ep_try_slots(in->ep, 1))
		in->wrong |= BIT(30);
	rdma_ep_put_slots(in->ep, 1);
	complete(&in->made);
}

static void kt_splats_begin(void)
{
	pr_info("rig: splats expected\n");
}

static void kt_splats_end(void)
{
	pr_info("rig: splats over\n");
}

static void kt_expect_refused(struct kt *t, struct kt_inside *in)
{
	kt_expect(t, wait_for_completion_timeout(&in->made, msecs_to_jiffies(KT_CALL_MS)));
	kt_expect_eq(t, 0, in->wrong);
}

/* ---- from the caller's own atomic sections */

enum kt_section { KT_IRQS_OFF, KT_BH_OFF };

static void kt_context_atomic(struct kt *t)
{
	struct kt_inside *in;
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	in = kt_inside_init(t, p.client);
	kt_splats_begin();
	if (kt_arg(t) == KT_IRQS_OFF) {
		local_irq_disable();
		kt_inside(in);
		local_irq_enable();
	} else {
		local_bh_disable();
		kt_inside(in);
		local_bh_enable();
	}
	kt_splats_end();
	kt_expect_refused(t, in);
	kt_expect(t, rdma_ep_qp(p.client));
	kt_pair_disconnect(t, &p);
}

/* ---- from completion handlers */

static void kt_context_cq(struct kt *t)
{
	enum ib_poll_context ctx = kt_arg(t);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_inside *in;
	struct kt_pair p;
	struct kt_io *io;

	qp.poll_ctx = ctx;
	kt_pair_open(t, &p, &(struct kt_setup) { .client_qp = &qp });
	in = kt_inside_init(t, p.client);
	in->about = ctx != IB_POLL_SOFTIRQ;
	io = kt_io_create(t, rdma_ep_pd(p.client));
	io->fn = kt_inside;
	io->fn_arg = in;
	kt_splats_begin();
	/* No message arrives, so disconnecting flushes the receive. */
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_pair_disconnect(t, &p);
	kt_expect_refused(t, in);
	kt_splats_end();
	kt_expect(t, rdma_ep_qp(p.client));
}

/* rdma_ep_drain() itself runs the handlers, with the endpoint's lock. */
static void kt_context_drain(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_inside *in;
	struct kt_pair p;
	struct kt_io *io;

	qp.poll_ctx = IB_POLL_DIRECT;
	kt_pair_open(t, &p, &(struct kt_setup) { .client_qp = &qp });
	in = kt_inside_init(t, p.client);
	io = kt_io_create(t, rdma_ep_pd(p.client));
	io->fn = kt_inside;
	io->fn_arg = in;
	kt_splats_begin();
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_expect_eq(t, 0, rdma_ep_drain(p.client));
	kt_expect_refused(t, in);
	kt_splats_end();
	kt_expect(t, rdma_ep_qp(p.client));
	/* Afterwards the same task may make any call. */
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
}

/**
 * struct kt_other - calls on another endpoint
 * @ep: endpoint
 * @made: completed after the calls
 * @ret: results of the calls
 */
struct kt_other {
	struct rdma_ep *ep;
	struct completion made;
	int ret[3];
};

static void kt_call_other(void *arg)
{
	struct kt_other *o = arg;
	struct sockaddr_storage addr;

	o->ret[0] = rdma_ep_local_addr(o->ep, &addr);
	o->ret[1] = rdma_ep_migrate(o->ep, NULL);
	o->ret[2] = rdma_ep_destroy(o->ep);
	complete(&o->made);
}

/* A completion handler in a work queue may make all calls on other endpoints. */
static void kt_context_other_ep(struct kt *t)
{
	struct kt_other *o = kt_zalloc(t, sizeof(*o));
	struct kt_pair p, q;
	struct kt_io *io;
	int i;

	kt_pair_open(t, &p, NULL);
	q = p;
	kt_pair_connect(t, &q);
	o->ep = q.client;
	init_completion(&o->made);
	io = kt_io_create(t, rdma_ep_pd(p.client));
	io->fn = kt_call_other;
	io->fn_arg = o;
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_pair_disconnect(t, &p);
	kt_assert(t, wait_for_completion_timeout(&o->made, msecs_to_jiffies(KT_CALL_MS)));
	kt_forget(t, q.client);
	for (i = 0; i < ARRAY_SIZE(o->ret); i++)
		kt_expect_eq(t, 0, o->ret[i]);
}

/* ---- from event handlers */

/* Only calls that would wait for the callback are refused. */
static void kt_inside_event(const struct rdma_ep_cm_event *event, void *context)
{
	struct kt_inside *in = context;
	struct sockaddr_storage addr;

	if (event->cm.event != RDMA_CM_EVENT_DISCONNECTED)
		return;
	if (rdma_ep_destroy(event->ep) != -EDEADLK)
		in->wrong |= BIT(0);
	if (rdma_ep_migrate(event->ep, NULL) != -EDEADLK)
		in->wrong |= BIT(1);
	if (rdma_ep_channel_destroy(rdma_ep_channel(event->ep)) != -EBUSY)
		in->wrong |= BIT(2);
	if (rdma_ep_peer_addr(event->ep, &addr) || rdma_ep_disconnect(event->ep, 0))
		in->wrong |= BIT(3);
	complete(&in->made);
}

static void kt_context_event(struct kt *t)
{
	struct kt_inside *in = kt_inside_init(t, NULL);
	struct rdma_ep_channel *ch = kt_channel(t, kt_inside_event, in);
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	in->ep = p.client;
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, ch));
	kt_splats_begin();
	kt_destroy(t, p.server);
	kt_expect_refused(t, in);
	kt_splats_end();
	kt_expect_ptr(t, ch, rdma_ep_channel(p.client));
}

static void kt_inside_end(struct rdma_ep *ep, int error)
{
	struct kt_inside *in = rdma_ep_context(ep);

	if (rdma_ep_destroy(ep) != -EDEADLK)
		in->wrong |= BIT(0);
	if (rdma_ep_drain(ep))
		in->wrong |= BIT(1);
	complete(&in->made);
}

static void kt_context_end(struct kt *t)
{
	struct kt_inside *in;
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	in = kt_inside_init(t, p.client);
	rdma_ep_set_context(p.client, in);
	rdma_ep_on_end(p.client, kt_inside_end);
	kt_splats_begin();
	kt_destroy(t, p.server);
	kt_expect_refused(t, in);
	kt_splats_end();
}

static void kt_inside_verbs(struct ib_event *event, void *context)
{
	kt_inside(context);
}

/* Connects to a listener with an SRQ; the calls of @in are on its server. */
static void kt_srq_open(struct kt *t, struct kt_pair *p, struct kt_inside *in,
			struct ib_srq_init_attr *srq)
{
	p->listener = kt_passive(t, &p->setup);
	kt_expect_eq(t, 0, rdma_ep_create_srq(p->listener, NULL, srq));
	kt_expect_eq(t, 0, rdma_ep_listen(p->listener, 1));
	kt_pair_request(t, p);
	in->ep = p->server;
	kt_pair_accept(t, p);
}

/*
 * The events depend on the driver: siw reports that a send queue has drained, rxe that a QP
 * with an SRQ gets no more receives.
 */
static void kt_context_qp_event(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct kt_inside *in = kt_inside_init(t, NULL);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p = { .setup.server_qp = &qp };

	qp.init.event_handler = kt_inside_verbs;
	qp.init.qp_context = in;
	kt_srq_open(t, &p, in, &srq);
	kt_splats_begin();
	kt_pair_disconnect(t, &p);
	if (wait_for_completion_timeout(&in->made, 2 * HZ))
		kt_expect_eq(t, 0, in->wrong);
	else
		kt_skip(t, "this driver reports no QP event on the way to ERR");
	kt_splats_end();
}

static void kt_context_srq_event(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct kt_inside *in = kt_inside_init(t, NULL);
	struct ib_srq_attr limit = { .srq_limit = 1 };
	struct kt_io *recv, *send;
	struct kt_pair p = {};

	srq.event_handler = kt_inside_verbs;
	srq.srq_context = in;
	kt_srq_open(t, &p, in, &srq);
	recv = kt_io_create(t, rdma_ep_pd(p.listener));
	send = kt_io_create(t, rdma_ep_pd(p.client));
	kt_expect_eq(t, 0, kt_io_srq_recv(recv, rdma_ep_srq(p.listener)));
	kt_expect_eq(t, 0, ib_modify_srq(rdma_ep_srq(p.listener), &limit, IB_SRQ_LIMIT));
	kt_splats_begin();
	kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect_refused(t, in);
	kt_splats_end();
}

/* ---- with a lock that a callback takes */

static DEFINE_MUTEX(kt_end_mutex);

static void kt_lock_in_end(struct rdma_ep *ep, int error)
{
	mutex_lock(&kt_end_mutex);
	mutex_unlock(&kt_end_mutex);
	complete(rdma_ep_context(ep));
}

/*
 * Lockdep reports a caller of rdma_ep_destroy() that holds a lock of a callback. There is no
 * deadlock, as the callback has returned. Lockdep is off after the report.
 */
static void kt_destroy_locked(struct kt *t)
{
	struct completion *ended = kt_zalloc(t, sizeof(*ended));
	struct kt_pair p;

	if (!IS_ENABLED(CONFIG_PROVE_LOCKING) || !debug_locks) {
		kt_skip(t, "a kernel without lockdep");
		return;
	}
	kt_pair_open(t, &p, NULL);
	init_completion(ended);
	rdma_ep_set_context(p.client, ended);
	rdma_ep_on_end(p.client, kt_lock_in_end);
	kt_destroy(t, p.server);
	kt_expect(t, wait_for_completion_timeout(ended, msecs_to_jiffies(KT_CALL_MS)));
	kt_expect(t, debug_locks);
	kt_splats_begin();
	mutex_lock(&kt_end_mutex);
	kt_destroy(t, p.client);
	mutex_unlock(&kt_end_mutex);
	kt_splats_end();
	kt_expect(t, !debug_locks);
}

const struct kt_test kt_context_tests[] = {
	{ "context_irqs_off", kt_context_atomic, .arg = KT_IRQS_OFF },
	{ "context_bh_off", kt_context_atomic, .arg = KT_BH_OFF },
	{ "context_softirq_cq", kt_context_cq, .arg = IB_POLL_SOFTIRQ },
	{ "context_workqueue_cq", kt_context_cq, .arg = IB_POLL_WORKQUEUE },
	{ "context_unbound_cq", kt_context_cq, .arg = IB_POLL_UNBOUND_WORKQUEUE },
	{ "context_drain_direct_cq", kt_context_drain },
	{ "context_event_callback", kt_context_event },
	{ "context_end_callback", kt_context_end },
	{ "context_qp_event", kt_context_qp_event },
	{ "context_srq_event", kt_context_srq_event },
	{ "other_endpoint_in_handler", kt_context_other_ep },
	{ "lockdep_destroy_under_lock", kt_destroy_locked },
	{}
};
