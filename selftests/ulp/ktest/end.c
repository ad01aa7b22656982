// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of endpoints: its causes, flushed requests, events and callbacks; rdma_ep_abort()
 * in each context and state, rdma_ep_drain().
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "raw.h"
#include "tests.h"

#define KT_ERROR	(-EBADMSG)	/* an error that no other part returns */

static void kt_expect_over(struct kt *t, struct rdma_ep *ep, int status)
{
	kt_wait_for(rdma_ep_status(ep), KT_PROMPT_MS);
	/* siw may report a send that meets the end of the stream as a failed QP (SIW-30). */
	if (kt_iwarp() && status == -ECONNRESET && rdma_ep_status(ep) == -EIO)
		return;
	kt_expect_eq(t, status, rdma_ep_status(ep));
}

/* A connection, and two receives of its server */
struct kt_busy {
	struct kt_pair p;
	struct kt_io *io;
};

static void kt_busy_open(struct kt *t, struct kt_busy *b, const struct kt_setup *setup)
{
	kt_pair_open(t, &b->p, setup);
	b->io = kt_io_create(t, rdma_ep_pd(b->p.server));
	kt_assert_eq(t, 0, kt_io_recv(b->io, b->p.server));
	kt_assert_eq(t, 0, kt_io_recv(b->io, b->p.server));
}

static void kt_expect_flushed(struct kt *t, const struct kt_io *io)
{
	kt_expect(t, kt_wait_for(atomic_read(&io->done) == io->posted, KT_PROMPT_MS));
	kt_expect_eq(t, 0, atomic_read(&io->ok));
}

/* A disconnect by the peer flushes receives at once, without a call of the owner. */
static void kt_peer_disconnects(struct kt *t)
{
	struct kt_busy b;
	int ret;

	kt_busy_open(t, &b, NULL);
	kt_expect_eq(t, 0, rdma_ep_status(b.p.listener));
	kt_expect_eq(t, 0, rdma_ep_status(b.p.client));
	kt_expect_eq(t, 0, rdma_ep_status(b.p.server));
	ret = rdma_ep_disconnect(b.p.client, 0);
	kt_expect(t, !ret || ret == -ETIMEDOUT);
	kt_expect_flushed(t, b.io);
	kt_expect_over(t, b.p.server, -ECONNRESET);
	kt_expect_over(t, b.p.client, -ESHUTDOWN);
	kt_expect_eq(t, 0, rdma_ep_disconnect(b.p.server, KT_CALL_MS));
	/* The first error stays, also when the peer has answered. */
	rdma_ep_abort(b.p.server, KT_ERROR);
	kt_expect_eq(t, -ECONNRESET, rdma_ep_status(b.p.server));
	kt_expect_eq(t, 0, rdma_ep_disconnect(b.p.client, KT_CALL_MS));
	kt_expect_eq(t, -ESHUTDOWN, rdma_ep_status(b.p.client));
	kt_expect_eq(t, 0, rdma_ep_status(b.p.listener));
}

static void kt_peer_rejects(struct kt *t)
{
	struct kt_pair p;

	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, rdma_ep_reject(p.server, NULL, 0));
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
	kt_expect_over(t, p.client, -ECONNREFUSED);
}

/* Handlers of the flushed requests find the status: it is set before the QP fails. */
static void kt_status_before_flush(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_call *call;
	struct kt_pair p;

	kt_mock_device(t);
	kt_pair_client(t, &p, &(struct kt_setup) { .addr = &addr });
	kt_destroy(t, p.listener);
	kt_assert_eq(t, 0, kt_helper("stall modify_qp 1"));
	call = kt_connect(t, p.client, KT_CALL_MS);
	kt_expect(t, kt_wait_for(rdma_ep_status(p.client), KT_PROMPT_MS));
	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_status(p.client));
	kt_expect_waits(t, call);
	kt_assert_eq(t, 0, kt_helper("stall modify_qp 0"));
	kt_expect_call(t, call, KT_PROMPT_MS, -ECONNREFUSED);
}

static void kt_end_bad_input(struct kt *t)
{
	kt_expect_eq(t, -EINVAL, rdma_ep_status(NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_status(ERR_PTR(-ENOMEM)));
	rdma_ep_abort(NULL, 0);
	rdma_ep_abort(ERR_PTR(-ENOMEM), 0);
	rdma_ep_on_end(NULL, NULL);
	rdma_ep_on_end(ERR_PTR(-ENOMEM), NULL);
	kt_expect_eq(t, -EINVAL, rdma_ep_drain(NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_drain(ERR_PTR(-ENOMEM)));
}

/* ---- abort */

static void kt_expect_aborted(struct kt *t, struct rdma_ep *ep)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };

	kt_expect_no_ep(t, -EINVAL, rdma_ep_get_request(ep, 0));
	kt_expect_eq(t, KT_ERROR, rdma_ep_status(ep));
	kt_expect_eq(t, KT_ERROR, rdma_ep_listen(ep, 1));
	kt_expect_eq(t, KT_ERROR, rdma_ep_connect(ep, NULL, 0));
	kt_expect_eq(t, KT_ERROR, rdma_ep_accept(ep, NULL, 0));
	kt_expect_eq(t, KT_ERROR, rdma_ep_reject(ep, NULL, 0));
	kt_expect_eq(t, KT_ERROR, rdma_ep_create_srq(ep, NULL, &srq));
	kt_expect_eq(t, 0, rdma_ep_disconnect(ep, KT_CALL_MS));
	kt_expect(t, rdma_ep_device(ep));
}

static int kt_call_create_qp(struct kt_args *a)
{
	struct rdma_ep_qp_attr qp = kt_qp();

	return rdma_ep_create_qp(a->ep, &qp);
}

/* The end comes before the driver has created the QP: later requests are flushed all the same. */
static void kt_abort_creation(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_call *call;
	struct kt_pair p;
	struct kt_io *io;

	kt_mock_device(t);
	kt_pair_client(t, &p, &(struct kt_setup) { .addr = &addr });
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_assert_eq(t, 0, kt_helper("stall create_qp 1"));
	call = kt_call(t, kt_call_create_qp, &(struct kt_args) { .ep = p.client });
	kt_expect_waits(t, call);
	rdma_ep_abort(p.client, KT_ERROR);
	kt_expect_waits(t, call);
	kt_assert_eq(t, 0, kt_helper("stall create_qp 0"));
	kt_abort_unless(t, kt_expect_call(t, call, KT_PROMPT_MS, 0));
	io = kt_io_create(t, rdma_ep_pd(p.client));
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_expect_flushed(t, io);
}

static void kt_abort_connected(struct kt *t)
{
	struct kt_busy b;

	kt_busy_open(t, &b, NULL);
	rdma_ep_abort(b.p.server, KT_ERROR);
	rdma_ep_abort(b.p.server, -EIO);
	kt_expect_aborted(t, b.p.server);
	kt_expect_flushed(t, b.io);
	kt_expect_over(t, b.p.client, -ECONNRESET);
	/* A receive that is posted later is flushed, too. */
	kt_expect_eq(t, 0, kt_io_recv(b.io, b.p.server));
	kt_expect_flushed(t, b.io);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b.p.server));
}

/* rdma_ep_abort() ends each call that waits on the endpoint. */
static void kt_abort_waits(struct kt *t)
{
	struct kt_waiter w;
	struct kt_call *call;
	int kind;

	for (kind = 0; kind <= KT_WAIT_DISCONNECT; kind++) {
		if (!kt_waiter_open(t, &w, kind, kt_addr_text, RDMA_EP_FOREVER))
			continue;
		call = kt_call(t, w.fn, &w.args);
		kt_expect_waits(t, call);
		rdma_ep_abort(w.args.ep, KT_ERROR);
		kt_expect_call(t, call, KT_PROMPT_MS, kind == KT_WAIT_DISCONNECT ? 0 : KT_ERROR);
		kt_waiter_close(t, &w);
	}
}

/* A number that is no errno becomes one: calls return the error as a pointer. */
static void kt_abort_bad_error(struct kt *t)
{
	static const int bad[] = { 1, INT_MAX, -MAX_ERRNO - 1, INT_MIN };
	struct kt_waiter w;
	struct kt_call *call;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		kt_waiter_open(t, &w, KT_WAIT_GET_REQUEST, kt_addr_text, RDMA_EP_FOREVER);
		call = kt_call(t, w.fn, &w.args);
		kt_expect_waits(t, call);
		rdma_ep_abort(w.args.ep, bad[i]);
		kt_expect_call(t, call, KT_PROMPT_MS, -ECONNABORTED);
		kt_waiter_close(t, &w);
	}
}

/* Aborting a request refuses it at once. */
static void kt_abort_request(struct kt *t)
{
	struct kt_pair p;

	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	rdma_ep_abort(p.server, 0);
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
	kt_expect_over(t, p.server, -ECONNABORTED);
	/* Aborting a listener refuses later requests, whatever the error. */
	rdma_ep_abort(p.listener, kt_arg(t));
	p.client = kt_active(t, NULL, p.listener);
	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(p.client, NULL, KT_CALL_MS));
}

static void kt_abort_here(void *arg)
{
	rdma_ep_abort(arg, KT_ERROR);
}

static void kt_abort_in_cq(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_io *send;
	struct kt_busy b;

	qp.poll_ctx = kt_arg(t);
	kt_busy_open(t, &b, &(struct kt_setup) { .server_qp = &qp });
	b.io->fn = kt_abort_here;
	b.io->fn_arg = b.p.server;
	send = kt_io_create(t, rdma_ep_pd(b.p.client));
	kt_expect_eq(t, 0, kt_io_send(send, b.p.client));
	kt_expect_over(t, b.p.server, KT_ERROR);
	kt_expect(t, kt_wait_for(atomic_read(&b.io->done) == 2, KT_PROMPT_MS));
	kt_expect_over(t, b.p.client, -ECONNRESET);
}

static void kt_abort_irqs_off(struct kt *t)
{
	struct kt_busy b;

	kt_busy_open(t, &b, NULL);
	local_irq_disable();
	rdma_ep_abort(b.p.server, KT_ERROR);
	local_irq_enable();
	kt_expect_flushed(t, b.io);
}

/* A channel gets one event of the end, even if others follow. */
static void kt_abort_events(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct rdma_ep_cm_event *event;
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, ch));
	rdma_ep_abort(p.client, KT_ERROR);
	event = rdma_ep_get_event(ch, KT_PROMPT_MS);
	kt_assert_ok(t, event);
	kt_expect_ptr(t, p.client, event->ep);
	kt_expect_eq(t, RDMA_CM_EVENT_DISCONNECTED, event->cm.event);
	kt_expect_eq(t, KT_ERROR, event->status);
	rdma_ep_ack_event(event);
	kt_expect_over(t, p.server, -ECONNRESET);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, KT_CALL_MS));
	event = rdma_ep_get_event(ch, 500);
	if (!kt_expect_err(t, -ETIMEDOUT, event))
		kt_note("event %d", event->cm.event);
	rdma_ep_ack_event(event);
}

/* The work item of rdma_ep_abort() may begin before, during and after rdma_ep_destroy(). */
static void kt_abort_destroy(struct kt *t)
{
	struct rdma_ep *ep;
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, NULL);
	for (i = 0; i < 60; i++) {
		ep = kt_active(t, NULL, p.listener);
		rdma_ep_abort(ep, KT_ERROR);
		if (i % 3 == 1)
			cond_resched();
		else if (i % 3 == 2)
			schedule_timeout_idle(1);
		kt_destroy(t, ep);
	}
	for (i = 0; i < 4; i++) {
		kt_pair_connect(t, &p);
		rdma_ep_abort(p.client, KT_ERROR);
		rdma_ep_abort(p.server, KT_ERROR);
		kt_destroy(t, p.client);
		kt_destroy(t, p.server);
	}
}

/* ---- callbacks */

/**
 * struct kt_ended - calls of the function that rdma_ep_on_end() has set
 * @n: their number
 * @error: argument of the latest
 * @noio: the latest was called in a memalloc_noio_save() scope
 */
struct kt_ended {
	atomic_t n;
	int error;
	bool noio;
};

static void kt_ended(struct rdma_ep *ep, int error)
{
	struct kt_ended *e = rdma_ep_context(ep);

	e->error = error;
	e->noio = current->flags & PF_MEMALLOC_NOIO;
	atomic_inc(&e->n);
}

static struct kt_ended *kt_watch(struct kt *t, struct rdma_ep *ep)
{
	struct kt_ended *e = kt_zalloc(t, sizeof(*e));

	rdma_ep_set_context(ep, e);
	rdma_ep_on_end(ep, kt_ended);
	return e;
}

/* An idle synchronous endpoint without a channel reports its end. */
static void kt_on_end(struct kt *t)
{
	struct kt_ended *c, *s;
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	c = kt_watch(t, p.client);
	rdma_ep_on_end(p.client, NULL);
	s = kt_watch(t, p.server);
	kt_expect_eq(t, 0, atomic_read(&s->n));
	rdma_ep_abort(p.client, KT_ERROR);
	kt_expect(t, kt_wait_for(atomic_read(&s->n), KT_PROMPT_MS));
	kt_expect_eq(t, -ECONNRESET, s->error);
	kt_expect(t, s->noio);
	/* A function that is set after the end is called at once. */
	kt_expect_eq(t, 0, atomic_read(&c->n));
	rdma_ep_on_end(p.client, kt_ended);
	kt_expect(t, kt_wait_for(atomic_read(&c->n), KT_PROMPT_MS));
	kt_expect_eq(t, KT_ERROR, c->error);
	rdma_ep_abort(p.client, KT_ERROR);
	rdma_ep_abort(p.server, KT_ERROR);
	kt_pair_close(t, &p);
	kt_expect_eq(t, 1, atomic_read(&c->n));
	kt_expect_eq(t, 1, atomic_read(&s->n));
}

/* A port without a listener. siw's call fails, and rdma_cm reports nothing. */
static void kt_refused(struct kt *t)
{
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 1);
	struct kt_setup setup = { .client_channel = kt_channel(t, NULL, NULL) };
	struct rdma_ep *ep = kt_active_to(t, NULL, &dst);
	struct kt_ended *e = kt_watch(t, ep);
	struct rdma_ep_cm_event *event;

	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(ep, NULL, KT_CALL_MS));
	kt_expect_over(t, ep, -ECONNREFUSED);
	kt_expect(t, rdma_ep_event(ep) && rdma_ep_event(ep)->status);
	kt_expect(t, kt_wait_for(atomic_read(&e->n), KT_PROMPT_MS));
	kt_expect_eq(t, -ECONNREFUSED, e->error);

	ep = kt_active_to(t, &setup, &dst);
	kt_expect_eq(t, 0, rdma_ep_connect(ep, NULL, 0));
	event = rdma_ep_get_event(setup.client_channel, KT_CALL_MS);
	kt_assert_ok(t, event);
	kt_expect_ptr(t, ep, event->ep);
	kt_expect_eq(t, -ECONNREFUSED, event->status);
	rdma_ep_ack_event(event);
}

/* The removal of the device calls the function, too. */
static void kt_on_end_removed(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_ended *l, *s;
	struct kt_call *del;
	struct kt_busy b;

	kt_second_device(t);
	kt_busy_open(t, &b, &(struct kt_setup) { .addr = &addr });
	l = kt_watch(t, b.p.listener);
	s = kt_watch(t, b.p.server);
	del = kt_remove(t, "del");
	kt_expect(t, kt_wait_for(atomic_read(&l->n) && atomic_read(&s->n), KT_PROMPT_MS));
	kt_expect_eq(t, -ENODEV, l->error);
	kt_expect(t, s->error == -ENODEV || s->error == -ECONNRESET);
	kt_expect_flushed(t, b.io);
	kt_destroy(t, b.p.server);
	kt_undo(t, b.io);
	kt_destroy(t, b.p.client);
	kt_destroy(t, b.p.listener);
	kt_expect_call(t, del, 3 * KT_PROMPT_MS, 0);
}

/* ---- asynchronous events of the QP */

/* Calls the QP's event handler with interrupts off, as a driver may do. */
static void kt_qp_event(struct rdma_ep *ep, enum ib_event_type type)
{
	struct ib_qp *qp = rdma_ep_qp(ep);
	struct ib_event event = { .device = qp->device, .event = type, .element.qp = qp };

	local_irq_disable();
	qp->event_handler(&event, qp->qp_context);
	local_irq_enable();
}

/* The peer's confirmation is lost, but its data arrive: COMM_EST ends rdma_ep_accept(). */
static void kt_comm_est(struct kt *t)
{
	bool mock = kt_arg(t);
	struct kt_waiter w;
	struct kt_call *call;

	kt_not_on_iwarp(t, "iWARP has no confirmation");
	if (mock)
		kt_mock_device(t);
	kt_assert(t, kt_waiter_open(t, &w, KT_WAIT_ACCEPT, mock ? KT_ADDR2 : kt_addr_text,
				    RDMA_EP_FOREVER));
	call = kt_call(t, w.fn, &w.args);
	kt_expect_waits(t, call);
	if (mock)
		kt_expect_eq(t, 0, kt_helper("event %d qp %u", IB_EVENT_COMM_EST,
					     rdma_ep_qp(w.args.ep)->qp_num));
	else
		kt_qp_event(w.args.ep, IB_EVENT_COMM_EST);
	kt_expect_call(t, call, KT_PROMPT_MS, 0);
	kt_expect_eq(t, 0, rdma_ep_status(w.args.ep));
	kt_qp_event(w.args.ep, IB_EVENT_COMM_EST);
	/* The peer rejects instead of confirming: no DISCONNECTED follows. */
	kt_undo(t, w.raw);
	w.raw = NULL;
	kt_expect_over(t, w.args.ep, -ECONNREFUSED);
	kt_expect_eq(t, 0, rdma_ep_disconnect(w.args.ep, KT_CALL_MS));
	kt_waiter_close(t, &w);
}

static void kt_qp_fatal(struct kt *t)
{
	struct kt_busy b;

	kt_busy_open(t, &b, NULL);
	kt_qp_event(b.p.server, kt_arg(t));
	kt_expect_flushed(t, b.io);
	kt_expect_eq(t, -EIO, rdma_ep_status(b.p.server));
	kt_expect_over(t, b.p.client, -ECONNRESET);
}

/* ---- drain */

static void kt_slow_handler(void *arg)
{
	msleep(100);
}

static void kt_drain(struct kt *t)
{
	struct rdma_ep_qp_attr attr = kt_qp();
	struct kt_busy b;
	struct ib_qp *qp;

	/* The receives' handlers still run when the sends have completed. */
	attr.poll_ctx = IB_POLL_WORKQUEUE;
	kt_busy_open(t, &b, &(struct kt_setup) { .server_qp = &attr });
	b.io->fn = kt_slow_handler;
	qp = rdma_ep_qp(b.p.server);
	kt_expect_eq(t, 0, rdma_ep_drain(b.p.server));
	kt_expect_eq(t, 2, atomic_read(&b.io->done));
	kt_expect_ptr(t, qp, rdma_ep_qp(b.p.server));
	/* On iWARP, leaving RTS ends the connection. */
	kt_expect(t, kt_iwarp() || !rdma_ep_status(b.p.server));
	/* Drain again, first without and then with a new request */
	kt_expect_eq(t, 0, rdma_ep_drain(b.p.server));
	kt_expect_eq(t, 0, kt_io_recv(b.io, b.p.server));
	rdma_ep_abort(b.p.server, KT_ERROR);
	kt_expect_eq(t, 0, rdma_ep_drain(b.p.server));
	kt_expect_eq(t, 3, atomic_read(&b.io->done));
	kt_expect_eq(t, -EINVAL, rdma_ep_drain(b.p.listener));
}

const struct kt_test kt_end_tests[] = {
	{ "end_by_peer", kt_peer_disconnects },
	{ "end_by_rejection", kt_peer_rejects },
	{ "status_before_flush", kt_status_before_flush },
	{ "end_bad_input", kt_end_bad_input },
	{ "end_callback", kt_on_end },
	{ "end_by_refusal", kt_refused },
	{ "end_callback_removal", kt_on_end_removed },
	{ "end_by_qp_fatal", kt_qp_fatal, .arg = IB_EVENT_QP_FATAL },
	{ "end_by_qp_request_error", kt_qp_fatal, .arg = IB_EVENT_QP_REQ_ERR },
	{ "end_by_qp_access_error", kt_qp_fatal, .arg = IB_EVENT_QP_ACCESS_ERR },
	{ "creation_aborted", kt_abort_creation },
	{ "abort_connected", kt_abort_connected },
	{ "abort_waits", kt_abort_waits, 120 },
	{ "abort_bad_error", kt_abort_bad_error },
	{ "abort_request", kt_abort_request, .arg = KT_ERROR },
	{ "abort_request_no_memory", kt_abort_request, .arg = -ENOMEM },
	{ "abort_in_softirq_cq", kt_abort_in_cq, .arg = IB_POLL_SOFTIRQ },
	{ "abort_in_workqueue_cq", kt_abort_in_cq, .arg = IB_POLL_WORKQUEUE },
	{ "abort_in_unbound_cq", kt_abort_in_cq, .arg = IB_POLL_UNBOUND_WORKQUEUE },
	{ "abort_irqs_off", kt_abort_irqs_off },
	{ "abort_events", kt_abort_events },
	{ "abort_and_destroy", kt_abort_destroy, 120 },
	{ "unconfirmed_but_used", kt_comm_est },
	{ "unconfirmed_but_used_mock", kt_comm_est, .arg = true },
	{ "drain", kt_drain },
	{}
};
