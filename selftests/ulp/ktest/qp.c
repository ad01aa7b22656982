// SPDX-License-Identifier: GPL-2.0-only
/*
 * QPs: their PDs and CQs, QPs of requests, failures of creation, and flushed completions.
 */
#include "tests.h"

/* Without a PD of the caller, all endpoints of a module share one for each device. */
static void kt_default_pd(struct kt *t)
{
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_expect_ptr(t, NULL, rdma_ep_pd(p.listener));
	kt_expect(t, rdma_ep_pd(p.client));
	kt_expect_ptr(t, rdma_ep_pd(p.client), rdma_ep_pd(p.server));
	kt_expect_ptr(t, rdma_ep_device(p.client), rdma_ep_pd(p.client)->device);
	kt_expect_ptr(t, rdma_ep_pd(p.client), rdma_ep_qp(p.client)->pd);
}

/* Peers of one module must not reach the memory of another: each has a PD of its own. */
static void kt_pd_of_modules(struct kt *t)
{
	static struct lock_class_key keys[2];
	/* The same name at another address is the same module. */
	char name[][8] = { "first", "second", "first" };
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_ep_attr attr = { .net = &init_net, .src = kt_ptr(kt_addr()) };
	struct rdma_ep *ep[3];
	struct ib_pd *pd;
	int i;

	for (i = 0; i < ARRAY_SIZE(ep); i++) {
		ep[i] = kt_own(t, __rdma_ep_create(&attr, name[i], keys));
		kt_expect_eq(t, 0, rdma_ep_create_srq(ep[i], NULL, &srq));
	}
	pd = rdma_ep_pd(ep[0]);
	kt_expect(t, pd);
	kt_expect(t, pd != rdma_ep_pd(ep[1]));
	kt_expect_ptr(t, pd, rdma_ep_pd(ep[2]));
	kt_destroy(t, ep[0]);
	kt_destroy(t, ep[1]);
	/* The last of its endpoints still holds the PD. */
	kt_expect_eq(t, 1, atomic_read(&pd->usecnt));
	kt_destroy(t, ep[2]);
}

/* The caller's PD and CQs are used, and survive the endpoint. */
static void kt_own_parts(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_device *dev;
	struct ib_cq *scq, *rcq;
	struct kt_pair p;
	struct ib_pd *pd;

	kt_pair_listen(t, &p, NULL);
	dev = rdma_ep_device(p.listener);
	pd = kt_pd(t, dev);
	scq = kt_cq(t, dev, IB_POLL_SOFTIRQ);
	rcq = kt_cq(t, dev, IB_POLL_WORKQUEUE);
	qp.pd = pd;
	qp.init.send_cq = scq;
	qp.init.recv_cq = rcq;
	p.setup.client_qp = &qp;
	kt_pair_connect(t, &p);
	kt_expect_ptr(t, pd, rdma_ep_pd(p.client));
	kt_expect_ptr(t, scq, rdma_ep_send_cq(p.client));
	kt_expect_ptr(t, rcq, rdma_ep_recv_cq(p.client));
	kt_expect_ptr(t, scq, rdma_ep_qp(p.client)->send_cq);
	kt_destroy(t, p.client);
	kt_expect_eq(t, 0, atomic_read(&pd->usecnt));
	kt_expect_eq(t, 0, atomic_read(&scq->usecnt));
	kt_expect_eq(t, 0, atomic_read(&rcq->usecnt));
}

/* Requests get a QP with the attributes of the listener. */
static void kt_inherited_qp(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct kt_pair p;

	qp.poll_ctx = IB_POLL_SOFTIRQ;
	qp.init.cap.max_send_wr = 33;
	qp.init.cap.max_recv_wr = 44;
	qp.init.cap.max_recv_sge = 2;
	kt_pair_listen(t, &p, &(struct kt_setup) { .server_qp = &qp });
	/* The listener has copied the attributes. */
	qp = kt_qp();
	kt_pair_request(t, &p);
	kt_assert(t, rdma_ep_qp(p.server));
	kt_expect_eq(t, IB_QPT_RC, rdma_ep_qp(p.server)->qp_type);
	kt_expect_eq(t, IB_POLL_SOFTIRQ, rdma_ep_send_cq(p.server)->poll_ctx);
	kt_expect(t, rdma_ep_send_cq(p.server)->cqe >= 33);
	kt_expect(t, rdma_ep_recv_cq(p.server)->cqe >= 44);
	kt_expect_eq(t, 0, ib_query_qp(rdma_ep_qp(p.server), &attr, IB_QP_STATE | IB_QP_CAP,
				       &init));
	kt_expect(t, init.cap.max_send_wr >= 33);
	kt_expect(t, init.cap.max_recv_wr >= 44);
	kt_expect(t, init.cap.max_recv_sge >= 2);
	kt_destroy(t, p.server);
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
}

/* A request whose QP cannot be created is refused. */
static void kt_request_qp_fails(struct kt *t)
{
	struct rdma_ep_qp_attr bad = kt_qp();
	struct kt_call *call;
	struct kt_pair p;

	bad.init.cap.max_send_wr = UINT_MAX;
	kt_pair_listen(t, &p, &(struct kt_setup) { .server_qp = &bad });
	call = kt_connect(t, kt_active(t, NULL, p.listener), KT_CALL_MS);
	kt_expect_no_ep(t, -EINVAL, rdma_ep_get_request(p.listener, KT_CALL_MS));
	kt_expect_call(t, call, KT_CALL_MS, -ECONNREFUSED);
	kt_expect_no_ep(t, -ETIMEDOUT, rdma_ep_get_request(p.listener, 0));
}

/*
 * Any peer can exhaust QPs by many connections. A request is refused if its QP cannot be
 * created, and the server continues to wait.
 */
static void kt_request_no_memory(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_call *wait, *connect;
	struct rdma_ep *refused;
	struct kt_pair p;

	kt_mock_device(t);
	kt_pair_listen(t, &p, &(struct kt_setup) { .addr = &addr });
	refused = kt_active(t, NULL, p.listener);
	p.client = kt_active(t, NULL, p.listener);
	wait = kt_call(t, kt_call_get_request, &(struct kt_args) {
		.ep = p.listener, .timeout_ms = RDMA_EP_FOREVER });
	kt_expect_eq(t, 0, kt_helper("fail create_qp 12 1 0"));
	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(refused, NULL, KT_CALL_MS));
	kt_expect_waits(t, wait);
	connect = kt_connect(t, p.client, KT_CALL_MS);
	kt_abort_unless(t, kt_expect_call(t, wait, KT_CALL_MS, 0));
	p.server = kt_own(t, wait->args.child);
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	kt_expect_call(t, connect, KT_CALL_MS, 0);
}

/* The client is destroyed before the server accepts, or creates the QP of, its request. */
static void kt_request_withdrawn(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p;

	kt_not_on_iwarp(t, "iWARP's QP is created without the CM");
	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	kt_destroy(t, p.client);
	kt_expect_call(t, p.connect, KT_PROMPT_MS, -ESHUTDOWN);
	kt_expect(t, kt_wait_for(rdma_ep_status(p.server), KT_CALL_MS));
	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.server));
	kt_expect_eq(t, -ENOTCONN, rdma_ep_create_qp(p.server, &qp));
}

/* A request without a QP cannot be accepted before its owner creates one. */
static void kt_request_without_qp(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = { .net = &init_net, .src = kt_ptr(kt_addr()) };
	struct kt_pair p = { .listener = kt_own(t, rdma_ep_create(&attr)) };

	kt_expect_ptr(t, NULL, rdma_ep_context(p.listener));
	kt_expect_eq(t, 0, rdma_ep_listen(p.listener, 1));
	kt_pair_request(t, &p);
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.server));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.server, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.server, &qp));
	kt_pair_accept(t, &p);
}

/* No error of the driver counts as removal of the device: the next try succeeds. */
static void kt_driver_error(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p;

	kt_mock_device(t);
	kt_pair_client(t, &p, &(struct kt_setup) { .addr = &addr });
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, kt_helper("fail create_qp %d 1 0", EIO));
	kt_expect_eq(t, -EIO, rdma_ep_create_qp(p.client, &qp));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
}

static void kt_connect_without_qp(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect(t, !rdma_ep_try_slots(p.client, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_wait_slots(p.client, 1, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(p.client, NULL, 0));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	/* The connection request is sent, but not awaited. */
	kt_expect_eq(t, -ETIMEDOUT, rdma_ep_connect(p.client, NULL, 0));
}

/* rdma_ep_destroy() waits for all completions, and no handler runs after it. */
static void kt_flushed(struct kt *t, enum ib_poll_context ctx, bool connected)
{
	struct rdma_ep_qp_attr client = kt_qp(), server = kt_qp();
	struct kt_setup setup = { .client_qp = &client, .server_qp = &server };
	struct kt_io *ioc, *ios;
	struct kt_pair p;
	int i;

	client.poll_ctx = ctx;
	server.poll_ctx = ctx;
	kt_pair_listen(t, &p, &setup);
	kt_pair_request(t, &p);
	ioc = kt_io_create(t, rdma_ep_pd(p.client));
	ios = kt_io_create(t, rdma_ep_pd(p.server));
	for (i = 0; i < KT_WRS; i++) {
		kt_expect_eq(t, 0, kt_io_recv(ioc, p.client));
		kt_expect_eq(t, 0, kt_io_recv(ios, p.server));
	}
	if (!connected) {
		kt_destroy(t, p.server);
		kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
		kt_destroy(t, p.client);
	} else {
		kt_pair_accept(t, &p);
		/* Each send may succeed or be flushed. */
		for (i = 0; i < KT_WRS; i++)
			kt_expect_eq(t, 0, kt_io_send(ioc, p.client));
		kt_destroy(t, p.client);
		kt_destroy(t, p.server);
	}
	kt_undo(t, ioc);
	kt_undo(t, ios);
	kt_destroy(t, p.listener);
}

static void kt_flushed_softirq(struct kt *t)
{
	kt_flushed(t, IB_POLL_SOFTIRQ, true);
	kt_flushed(t, IB_POLL_SOFTIRQ, false);
}

static void kt_flushed_workqueue(struct kt *t)
{
	kt_flushed(t, IB_POLL_WORKQUEUE, true);
	kt_flushed(t, IB_POLL_WORKQUEUE, false);
	kt_flushed(t, IB_POLL_UNBOUND_WORKQUEUE, true);
}

/* Disconnecting flushes the receives. */
static void kt_flushed_disconnect(struct kt *t)
{
	struct kt_io *io;
	struct kt_pair p;
	int i;

	kt_pair_open(t, &p, NULL);
	io = kt_io_create(t, rdma_ep_pd(p.client));
	for (i = 0; i < KT_WRS; i++)
		kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_pair_disconnect(t, &p);
	kt_expect(t, kt_wait_for(atomic_read(&io->done) == KT_WRS, KT_CALL_MS));
	kt_expect_eq(t, 0, atomic_read(&io->ok));
	kt_expect_eq(t, IB_WC_WR_FLUSH_ERR, io->wr[0].status);
}

/* One less than a power of 2: rxe grants exactly as many. */
#define KT_CTXS	(4 * KT_WRS - 1)

/*
 * The CQ has room for the requests that rdma_rw adds to the send queue, and the queue for the one
 * that drains it, also if rdma_rw's are the only ones.
 */
static void kt_rw_contexts(struct kt *t)
{
	struct ib_qp_init_attr init = {};
	struct rdma_ep_qp_attr qp;
	struct ib_qp_attr attr = {};
	struct kt_pair p;
	u32 send;

	kt_pair_client(t, &p, NULL);
	for (send = 0; send <= KT_WRS; send += KT_WRS) {
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
		qp = kt_qp();
		qp.init.cap.max_send_wr = send;
		qp.init.cap.max_rdma_ctxs = KT_CTXS;
		kt_assert_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
		kt_assert_eq(t, 0, ib_query_qp(rdma_ep_qp(p.client), &attr, IB_QP_CAP, &init));
		kt_expect(t, attr.cap.max_send_wr > send + KT_CTXS);
		kt_expect(t, rdma_ep_send_cq(p.client)->cqe >= attr.cap.max_send_wr);
	}
}

const struct kt_test kt_qp_tests[] = {
	{ "default_pd", kt_default_pd },
	{ "pd_of_each_module", kt_pd_of_modules },
	{ "own_pd_and_cqs", kt_own_parts },
	{ "request_qp_inherited", kt_inherited_qp },
	{ "request_qp_fails", kt_request_qp_fails },
	{ "request_no_memory", kt_request_no_memory },
	{ "request_withdrawn", kt_request_withdrawn },
	{ "request_without_qp", kt_request_without_qp },
	{ "driver_error", kt_driver_error },
	{ "connect_without_qp", kt_connect_without_qp },
	{ "flushed_softirq", kt_flushed_softirq },
	{ "flushed_workqueue", kt_flushed_workqueue, 120 },
	{ "flushed_by_disconnect", kt_flushed_disconnect },
	{ "rw_contexts", kt_rw_contexts },
	{}
};
