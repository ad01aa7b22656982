// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options of endpoints, QPs and CQs; accessors of capabilities, reasons and paths; send slots.
 */
#include <linux/delay.h>
#include <rdma/ib_sa.h>

#include "tests.h"

#define KT_PORT	7431

static struct rdma_ep *kt_bound(const char *addr, u16 port, u32 flags)
{
	struct sockaddr_storage src = kt_sa(addr, port);
	struct rdma_ep_attr attr = { .net = &init_net, .src = kt_ptr(&src), .flags = flags };

	return rdma_ep_create(&attr);
}

/*
 * Two listeners at one port, one for each address family. RDMA_EP_DUAL_STACK needs the port of
 * both.
 */
static void kt_families(struct kt *t)
{
	struct rdma_ep *a, *b;

	a = kt_own(t, kt_bound("0.0.0.0", KT_PORT, 0));
	b = kt_own(t, kt_bound("::", KT_PORT, 0));
	kt_expect_eq(t, 0, rdma_ep_listen(a, 4));
	kt_expect_eq(t, 0, rdma_ep_listen(b, 4));
	kt_destroy(t, b);
	kt_expect_no_ep(t, -EADDRNOTAVAIL, kt_bound("::", KT_PORT, RDMA_EP_DUAL_STACK));
}

static void kt_reuseaddr(struct kt *t)
{
	struct rdma_ep *a, *b;

	a = kt_own(t, kt_bound("0.0.0.0", KT_PORT, RDMA_EP_REUSEADDR));
	b = kt_own(t, kt_bound("0.0.0.0", KT_PORT, RDMA_EP_REUSEADDR));
	/* A listener shares its address with no other endpoint. */
	kt_expect_eq(t, -EADDRNOTAVAIL, rdma_ep_listen(a, 4));
	kt_destroy(t, b);
	kt_expect_no_ep(t, -EADDRNOTAVAIL, kt_bound("0.0.0.0", KT_PORT, 0));
	kt_expect_eq(t, 0, rdma_ep_listen(a, 4));
	kt_expect_no_ep(t, -EADDRNOTAVAIL, kt_bound("0.0.0.0", KT_PORT, RDMA_EP_REUSEADDR));
}

/* Clients with one source port, as those of rtrs */
static void kt_reuseaddr_active(struct kt *t)
{
	struct sockaddr_storage src = kt_with_port(kt_addr(), KT_PORT);
	struct sockaddr_storage dst = kt_with_port(kt_addr(), KT_PORT + 1), addr;
	struct rdma_ep_attr attr = {
		.net = &init_net, .src = kt_ptr(&src), .dst = kt_ptr(&dst),
		.timeout_ms = KT_CALL_MS, .flags = RDMA_EP_REUSEADDR,
	};
	int i;

	for (i = 0; i < 2; i++) {
		kt_expect_eq(t, 0, rdma_ep_local_addr(kt_own(t, rdma_ep_create(&attr)), &addr));
		kt_expect_eq(t, KT_PORT, kt_port(&addr));
	}
	attr.flags = 0;
	kt_expect_no_ep(t, -EADDRINUSE, rdma_ep_create(&attr));
}

static void kt_bad_options(struct kt *t)
{
	struct rdma_ep_attr good = { .net = &init_net, .src = kt_ptr(kt_addr()) }, attr = good;
	struct rdma_ep_qp_attr qp = kt_qp();

	attr.flags = BIT(7);
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	attr.flags = RDMA_EP_ASYNC;	/* there is nothing to resolve */
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	attr = good;
	attr.ack_timeout = 32;
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	attr = good;
	attr.min_rnr_timer = 32;
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	/* Only reliable connections have these timers. */
	attr = good;
	attr.ps = RDMA_PS_UDP;
	attr.min_rnr_timer = 7;
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	attr = good;
	attr.ps = RDMA_PS_UDP;
	attr.ack_timeout = 11;
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
	qp.init.qp_type = IB_QPT_UC;
	attr = good;
	attr.qp = &qp;
	attr.min_rnr_timer = 7;
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(&attr));
}

static struct rdma_ep *kt_tuned(const struct sockaddr *src, const struct sockaddr *dst)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = &init_net, .src = src, .dst = dst, .qp = &qp,
		.timeout_ms = KT_CALL_MS,
		.tos = 0x20, .ack_timeout = 11, .min_rnr_timer = 7,
	};

	return rdma_ep_create(&attr);
}

static void kt_expect_tuned(struct kt *t, struct rdma_ep *ep)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};

	kt_expect_eq(t, 0, ib_query_qp(rdma_ep_qp(ep), &attr,
				       IB_QP_TIMEOUT | IB_QP_MIN_RNR_TIMER, &init));
	kt_expect_eq(t, 11, attr.timeout);
	kt_expect_eq(t, 7, attr.min_rnr_timer);
}

/* Timers of a client and of a listener's requests */
static void kt_timers(struct kt *t)
{
	struct sockaddr_storage dst;
	struct kt_pair p = {};

	kt_not_on_iwarp(t, "timers of IB");
	p.listener = kt_own(t, kt_tuned(kt_ptr(kt_addr()), NULL));
	kt_assert_eq(t, 0, rdma_ep_local_addr(p.listener, &dst));
	kt_expect_eq(t, 0, rdma_ep_listen(p.listener, 4));
	p.client = kt_own(t, kt_tuned(NULL, kt_ptr(&dst)));
	p.connect = kt_connect(t, p.client, KT_CALL_MS);
	p.server = kt_own(t, rdma_ep_get_request(p.listener, KT_CALL_MS));
	kt_pair_accept(t, &p);
	kt_expect_tuned(t, p.client);
	kt_expect_tuned(t, p.server);
}

/* ---- creating without waiting */

static int kt_status_of(struct kt *t, struct rdma_ep_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_ep_cm_event *event = rdma_ep_get_event(ch, KT_CALL_MS);
	int status;

	kt_assert_ok(t, event);
	kt_expect_eq(t, type, event->cm.event);
	status = event->status;
	rdma_ep_ack_event(event);
	return status;
}

static void kt_async(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct sockaddr_storage dst, addr;
	struct kt_call *call;
	struct kt_pair p;
	struct rdma_ep_attr attr = {
		.net = &init_net, .dst = kt_ptr(&dst), .qp = &qp, .timeout_ms = KT_CALL_MS,
		.channel = ch, .flags = RDMA_EP_ASYNC,
	};

	kt_pair_listen(t, &p, NULL);
	kt_assert_eq(t, 0, rdma_ep_local_addr(p.listener, &dst));
	call = kt_call(t, kt_call_get_request, &(struct kt_args) {
		.ep = p.listener, .timeout_ms = KT_CALL_MS });
	p.client = kt_own(t, rdma_ep_create(&attr));
	kt_expect_eq(t, 0, kt_status_of(t, ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
	kt_expect(t, rdma_ep_device(p.client));
	kt_expect(t, rdma_ep_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p.client, &addr));
	kt_expect(t, kt_same_addr(&addr, &dst));
	kt_expect_eq(t, 0, rdma_ep_connect(p.client, NULL, 0));
	kt_abort_unless(t, kt_expect_call(t, call, KT_CALL_MS, 0));
	p.server = kt_own(t, call->args.child);
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	kt_expect_eq(t, 0, kt_status_of(t, ch, RDMA_CM_EVENT_ESTABLISHED));
}

static void kt_async_fails(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct sockaddr_storage dst = kt_with_port(kt_addr(), KT_PORT);
	struct rdma_ep_attr attr = {
		.net = &init_net, .dst = kt_ptr(&dst), .qp = &qp, .timeout_ms = KT_CALL_MS,
		.channel = ch, .flags = RDMA_EP_ASYNC,
	};
	struct rdma_ep_cm_event *event;
	struct rdma_ep *ep;
	int i;

	for (i = 0; i < 20; i++) {
		ep = kt_own(t, rdma_ep_create(&attr));
		if (i % 2)
			schedule_timeout_idle(1);
		kt_destroy(t, ep);
	}
	qp.init.cap.max_send_wr = UINT_MAX;
	ep = kt_own(t, rdma_ep_create(&attr));
	event = rdma_ep_get_event(ch, KT_CALL_MS);
	kt_assert_ok(t, event);
	kt_expect_eq(t, -EINVAL, event->status);
	rdma_ep_ack_event(event);
	kt_expect_eq(t, -EINVAL, rdma_ep_status(ep));

	/* Without a neighbour it is bound, but does not become a listener. */
	dst = kt_sa("10.42.0.77", KT_PORT);
	attr.timeout_ms = KT_WAITS_MS;
	ep = kt_own(t, rdma_ep_create(&attr));
	kt_expect_eq(t, -ETIMEDOUT, kt_status_of(t, ch, RDMA_CM_EVENT_ADDR_ERROR));
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(ep, 1));
}

/* Aborting an endpoint during resolution: the event of the end is the last one. */
static void kt_async_aborted(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct sockaddr_storage dst = kt_with_port(kt_addr(), KT_PORT);
	struct rdma_ep_attr attr = {
		.net = &init_net, .dst = kt_ptr(&dst), .timeout_ms = KT_CALL_MS,
		.channel = ch, .flags = RDMA_EP_ASYNC,
	};
	enum rdma_cm_event_type type;
	struct rdma_ep_cm_event *event;
	struct rdma_ep *ep;
	int i, status;

	for (i = 0; i < 200; i++) {
		ep = kt_own(t, rdma_ep_create(&attr));
		udelay(i * 5);
		rdma_ep_abort(ep, -EBADMSG);
		do {
			event = rdma_ep_get_event(ch, KT_CALL_MS);
			kt_assert_ok(t, event);
			status = event->status;
			type = event->cm.event;
			rdma_ep_ack_event(event);
		} while (!status);
		kt_expect_eq(t, RDMA_CM_EVENT_DISCONNECTED, type);
		kt_expect_eq(t, -EBADMSG, status);
		kt_expect_no_event(t, ch, 10);
		kt_destroy(t, ep);
	}
}

/* An endpoint with a path also has a device. */
static void kt_async_path(struct kt *t)
{
	struct sockaddr_storage dst = kt_with_port(kt_addr(), KT_PORT);
	struct rdma_ep_attr attr = {
		.net = &init_net, .dst = kt_ptr(&dst), .timeout_ms = KT_CALL_MS,
		.flags = RDMA_EP_ASYNC,
	};
	struct sa_path_rec path;
	struct rdma_ep *ep;
	int i;

	kt_not_on_iwarp(t, "iWARP has no paths");
	for (i = 0; i < 100; i++) {
		ep = kt_own(t, rdma_ep_create(&attr));
		while (rdma_ep_path(ep, &path) == -EINVAL)
			cond_resched();
		kt_expect(t, rdma_ep_device(ep));
		kt_expect_eq(t, 0, rdma_ep_path(ep, &path));
		kt_destroy(t, ep);
	}
}

/* ---- CQs */

static void kt_cq_case(struct kt *t, const struct sockaddr_storage *addr, u32 flags, u32 vector,
		       bool one)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_io *recv, *send;
	struct kt_pair p;

	qp.flags = flags;
	qp.comp_vector = vector;
	kt_pair_open(t, &p, &(struct kt_setup) { .addr = addr, .server_qp = &qp });
	kt_expect_eq(t, one, rdma_ep_send_cq(p.server) == rdma_ep_recv_cq(p.server));
	recv = kt_io_create(t, rdma_ep_pd(p.server));
	send = kt_io_create(t, rdma_ep_pd(p.client));
	kt_expect_eq(t, 0, kt_io_recv(recv, p.server));
	kt_expect_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, kt_wait_for(atomic_read(&recv->ok) == 1, KT_CALL_MS));
	while (recv->posted < KT_WRS)
		kt_assert_eq(t, 0, kt_io_recv(recv, p.server));
	kt_destroy(t, p.server);
	kt_expect_eq(t, recv->posted, atomic_read(&recv->done));
	kt_destroy(t, p.client);
	kt_undo(t, recv);
	kt_undo(t, send);
	kt_destroy(t, p.listener);
}

static void kt_cqs(struct kt *t)
{
	kt_cq_case(t, NULL, 0, 0, false);
	kt_cq_case(t, NULL, RDMA_EP_QP_ONE_CQ, 0, true);
	kt_cq_case(t, NULL, RDMA_EP_QP_VECTOR, 12345, false);
}

/* CQs of the pool exist until their device is removed, so this needs the second device. */
static void kt_pool_cqs(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);

	kt_second_device(t);
	kt_cq_case(t, &addr, RDMA_EP_QP_POOL_CQ, 0, true);
	kt_cq_case(t, &addr, RDMA_EP_QP_POOL_CQ | RDMA_EP_QP_VECTOR, 1, true);
}

static void kt_bad_cqs(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = { .client_qp = &qp };
	struct sockaddr_storage dst = kt_with_port(kt_addr(), KT_PORT);

	qp.flags = BIT(9);
	kt_expect_no_ep(t, -EINVAL, kt_create_active(&setup, &dst));
	qp.flags = RDMA_EP_QP_POOL_CQ;
	qp.poll_ctx = IB_POLL_DIRECT;
	kt_expect_no_ep(t, -EINVAL, kt_create_active(&setup, &dst));
}

/* ---- accessors */

static void kt_qp_caps(struct kt *t)
{
	struct ib_qp_cap cap = {};
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_qp_cap(p.server, &cap));
	kt_expect(t, cap.max_send_wr >= KT_WRS && cap.max_recv_wr >= KT_WRS);
	kt_expect(t, cap.max_send_sge >= 1 && cap.max_recv_sge >= 1);
	kt_expect_eq(t, -EINVAL, rdma_ep_qp_cap(p.listener, &cap));
	kt_expect_eq(t, -EINVAL, rdma_ep_qp_cap(p.server, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_qp_cap(NULL, &cap));
}

static void kt_reject_reason(struct kt *t)
{
	const struct rdma_cm_event *event;
	struct kt_pair p;

	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, rdma_ep_reject(p.server, "why", 3));
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
	event = rdma_ep_event(p.client);
	kt_assert(t, event);
	/* siw reports the same status as for a broken connection. */
	kt_expect(t, kt_iwarp() || rdma_ep_consumer_reject(p.client, event));
	kt_note("%s", rdma_ep_reject_msg(p.client, event));
	kt_expect(t, strlen(rdma_ep_reject_msg(p.client, event)) > 5);
	kt_expect(t, !rdma_ep_consumer_reject(NULL, NULL));
	kt_expect(t, rdma_ep_reject_msg(NULL, NULL));
}

static void kt_path(struct kt *t)
{
	union ib_gid sgid, dgid, zero = {};
	struct sa_path_rec path = {};
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_expect_eq(t, -EINVAL, rdma_ep_path(p.client, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_path(NULL, &path));
	kt_expect_eq(t, 0, rdma_ep_gids(p.server, NULL, NULL));
	if (kt_iwarp()) {
		kt_expect_eq(t, -ENODATA, rdma_ep_path(p.client, &path));
		return;
	}
	kt_expect_eq(t, 0, rdma_ep_path(p.client, &path));
	kt_expect_eq(t, 0, rdma_ep_gids(p.client, &sgid, &dgid));
	kt_expect(t, !memcmp(&sgid, &path.sgid, sizeof(sgid)));
	kt_expect(t, !memcmp(&dgid, &path.dgid, sizeof(dgid)));
	kt_expect(t, memcmp(&dgid, &zero, sizeof(dgid)));
}

static void kt_port_space_ib(struct kt *t)
{
	struct kt_pair p;

	kt_not_on_iwarp(t, "a port space of IB");
	kt_pair_open(t, &p, &(struct kt_setup) { .ps = RDMA_PS_IB });
}

/* ---- send slots */

static atomic_t kt_slots_freed;

static void kt_slots_free(struct rdma_ep *ep)
{
	atomic_inc(&kt_slots_freed);
}

static void kt_slots(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_args args = { .timeout_ms = RDMA_EP_FOREVER };
	struct kt_call *call;
	struct kt_pair p;

	qp.slots_free = kt_slots_free;
	atomic_set(&kt_slots_freed, 0);
	kt_expect(t, !rdma_ep_try_slots(NULL, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_wait_slots(NULL, 1, 0));
	rdma_ep_put_slots(NULL, 1);
	kt_pair_open(t, &p, &(struct kt_setup) { .server_qp = &qp });
	kt_expect(t, !rdma_ep_try_slots(p.listener, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_wait_slots(p.listener, 1, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_wait_slots(p.server, KT_WRS + 1, 0));
	kt_expect_eq(t, 0, rdma_ep_wait_slots(p.server, KT_WRS, 0));
	rdma_ep_put_slots(p.server, KT_WRS);
	kt_expect_eq(t, 0, atomic_read(&kt_slots_freed));
	kt_expect(t, rdma_ep_try_slots(p.server, KT_WRS - 1));
	kt_expect(t, !rdma_ep_try_slots(p.server, 2));
	kt_expect(t, rdma_ep_try_slots(p.server, 1));
	kt_expect_eq(t, -ETIMEDOUT, rdma_ep_wait_slots(p.server, 1, 100));
	local_irq_disable();
	rdma_ep_put_slots(p.server, 1);
	local_irq_enable();
	kt_expect_eq(t, 1, atomic_read(&kt_slots_freed));
	rdma_ep_put_slots(p.server, 1);
	kt_expect_eq(t, 1, atomic_read(&kt_slots_freed));
	args.ep = p.server;
	call = kt_call(t, kt_call_slots, &args);
	kt_expect_waits(t, call);
	rdma_ep_put_slots(p.server, KT_WRS - 2);
	kt_expect_call(t, call, KT_PROMPT_MS, 0);
	call = kt_call(t, kt_call_slots, &args);
	kt_expect_waits(t, call);
	kt_expect_eq(t, -EINTR, kt_call_stop(call));
	/* The end of the connection ends the wait. */
	call = kt_call(t, kt_call_slots, &args);
	kt_expect_waits(t, call);
	rdma_ep_abort(p.client, -EBADMSG);
	kt_expect_call(t, call, KT_PROMPT_MS, -ECONNRESET);
}

#define KT_SLOT_ROUNDS	20000
#define KT_SLOT_SECONDS	5	/* limit, as on one CPU the tasks alternate at the tick only */

/**
 * struct kt_slot_race - rounds of kt_slots_race()
 * @round: round that the test has begun
 * @put: round that kt_call_put_slots() has ended
 */
struct kt_slot_race {
	atomic_t round;
	atomic_t put;
};

static int kt_call_put_slots(struct kt_args *args)
{
	struct kt_slot_race *race = args->data;
	int round = 0;

	while (!kthread_should_stop()) {
		if (atomic_read_acquire(&race->round) == round) {
			cpu_relax();
			cond_resched();
			continue;
		}
		rdma_ep_put_slots(args->ep, KT_WRS);
		atomic_set_release(&race->put, ++round);
	}
	return 0;
}

/*
 * A failed rdma_ep_try_slots() leads to a call of slots_free, also if a later try takes the
 * slots while rdma_ep_put_slots() returns them in another task.
 */
static void kt_slots_race(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	unsigned long end = jiffies + KT_SLOT_SECONDS * HZ;
	struct kt_slot_race race = {};
	struct kt_call *call;
	struct kt_pair p;
	int lost = 0, i;

	qp.slots_free = kt_slots_free;
	kt_pair_client(t, &p, &(struct kt_setup) { .client_qp = &qp });
	kt_assert(t, rdma_ep_try_slots(p.client, KT_WRS));
	call = kt_call(t, kt_call_put_slots, &(struct kt_args) { .ep = p.client, .data = &race });
	for (i = 1; i <= KT_SLOT_ROUNDS && time_before(jiffies, end); i++) {
		kt_expect(t, !rdma_ep_try_slots(p.client, KT_WRS));
		atomic_set(&kt_slots_freed, 0);
		atomic_set_release(&race.round, i);
		ndelay(i % 256 * 16);
		while (!rdma_ep_try_slots(p.client, KT_WRS))
			cond_resched();
		while (atomic_read_acquire(&race.put) != i)
			cond_resched();
		lost += !atomic_read(&kt_slots_freed);
	}
	kt_expect_eq(t, 0, kt_call_stop(call));
	kt_expect_eq(t, 0, lost);
}

static void kt_slot_back(void *arg)
{
	rdma_ep_put_slots(arg, 1);
}

/* With IB_POLL_DIRECT, the task that waits for slots runs the handlers that return them. */
static void kt_slots_polled(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_args args = { .timeout_ms = RDMA_EP_FOREVER };
	struct kt_io *recv, *send;
	struct kt_call *call;
	struct kt_pair p;

	qp.poll_ctx = IB_POLL_DIRECT;
	kt_pair_open(t, &p, &(struct kt_setup) { .client_qp = &qp });
	recv = kt_io_create(t, rdma_ep_pd(p.server));
	send = kt_io_create(t, rdma_ep_pd(p.client));
	send->fn = kt_slot_back;
	send->fn_arg = p.client;
	args.ep = p.client;
	while (recv->posted < KT_WRS)
		kt_assert_eq(t, 0, kt_io_recv(recv, p.server));
	kt_expect(t, rdma_ep_try_slots(p.client, KT_WRS));
	while (send->posted < KT_WRS)
		kt_assert_eq(t, 0, kt_io_send(send, p.client));
	kt_expect(t, kt_wait_for(atomic_read(&recv->ok) == KT_WRS, KT_CALL_MS));
	kt_expect_eq(t, 0, atomic_read(&send->done));
	kt_expect(t, !rdma_ep_try_slots(p.client, 1));
	kt_expect_eq(t, 0, rdma_ep_wait_slots(p.client, KT_WRS, KT_CALL_MS));
	kt_expect_eq(t, KT_WRS, atomic_read(&send->ok));
	/* Without completions: the time limit, kthread_stop() and the end of the connection */
	kt_expect_eq(t, -ETIMEDOUT, rdma_ep_wait_slots(p.client, 1, 0));
	kt_expect_eq(t, -ETIMEDOUT, rdma_ep_wait_slots(p.client, 1, 100));
	call = kt_call(t, kt_call_slots, &args);
	kt_expect_waits(t, call);
	kt_expect_eq(t, -EINTR, kt_call_stop(call));
	call = kt_call(t, kt_call_slots, &args);
	kt_expect_waits(t, call);
	rdma_ep_abort(p.server, -EBADMSG);
	kt_expect_call(t, call, KT_PROMPT_MS, -ECONNRESET);
}

const struct kt_test kt_option_tests[] = {
	{ "option_families", kt_families },
	{ "option_reuseaddr", kt_reuseaddr },
	{ "option_reuseaddr_active", kt_reuseaddr_active },
	{ "option_bad", kt_bad_options },
	{ "option_timers", kt_timers },
	{ "option_async", kt_async },
	{ "option_async_fails", kt_async_fails },
	{ "option_async_aborted", kt_async_aborted, 120 },
	{ "option_async_path", kt_async_path },
	{ "option_cqs", kt_cqs },
	{ "option_pool_cqs", kt_pool_cqs },
	{ "option_bad_cqs", kt_bad_cqs },
	{ "granted_caps", kt_qp_caps },
	{ "reject_reason", kt_reject_reason },
	{ "path_and_gids", kt_path },
	{ "port_space_ib", kt_port_space_ib },
	{ "send_slots", kt_slots },
	{ "send_slots_race", kt_slots_race, 120 },
	{ "send_slots_polled", kt_slots_polled },
	{}
};
