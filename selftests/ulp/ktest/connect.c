// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections without channels: addresses, parameters, private data, rejection.
 */
#include "tests.h"

/* A message each way. */
static void kt_messages(struct kt *t, struct rdma_ep *a, struct rdma_ep *b)
{
	struct kt_io *ioa, *iob;

	ioa = kt_io_create(t, rdma_ep_pd(a));
	iob = kt_io_create(t, rdma_ep_pd(b));
	if (!ioa || !iob)
		goto out;
	kt_expect_eq(t, 0, kt_io_recv(ioa, a));
	kt_expect_eq(t, 0, kt_io_recv(iob, b));
	/* iWARP: the one that has connected has the first word. */
	strscpy(ioa->buf, "hello", KT_IO_SIZE);
	kt_expect_eq(t, 0, kt_io_send(ioa, a));
	kt_expect(t, kt_wait_for(atomic_read(&iob->ok) == 1, KT_CALL_MS));
	kt_expect_eq(t, 0, strncmp(iob->buf, "hello", KT_IO_SIZE));
	kt_expect(t, kt_wait_for(atomic_read(&ioa->ok) == 1, KT_CALL_MS));
	strscpy(iob->buf, "goodbye", KT_IO_SIZE);
	kt_expect_eq(t, 0, kt_io_send(iob, b));
	kt_expect(t, kt_wait_for(atomic_read(&ioa->ok) == 2, KT_CALL_MS));
	kt_expect_eq(t, 0, strncmp(ioa->buf, "goodbye", KT_IO_SIZE));
	kt_expect(t, kt_wait_for(atomic_read(&iob->ok) == 2, KT_CALL_MS));
out:
	/* The QPs first: nothing is outstanding when they are gone. */
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	kt_io_destroy(t, ioa);
	kt_io_destroy(t, iob);
}

static void kt_check_addresses(struct kt *t, const struct kt_pair *p)
{
	struct sockaddr_storage listen, local, peer, back;

	kt_expect_eq(t, 0, rdma_ep_local_addr(p->listener, &listen));
	kt_expect(t, kt_port(&listen));
	kt_expect_eq(t, -ENOTCONN, rdma_ep_peer_addr(p->listener, &peer));
	kt_expect_eq(t, 0, rdma_ep_local_addr(p->client, &local));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p->client, &peer));
	kt_expect(t, kt_same_addr(&peer, &listen));
	kt_expect_eq(t, 0, rdma_ep_local_addr(p->server, &back));
	kt_expect(t, kt_same_addr(&back, &listen));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p->server, &back));
	kt_expect(t, kt_same_addr(&back, &local));
}

static void kt_connect_over(struct kt *t, const struct kt_setup *setup)
{
	struct kt_pair p;

	if (!kt_pair_open(t, &p, setup))
		return;
	kt_check_addresses(t, &p);
	kt_expect_ptr(t, rdma_ep_device(p.client), rdma_ep_device(p.server));
	kt_expect_eq(t, 1, rdma_ep_port(p.client));
	kt_expect_eq(t, 1, rdma_ep_port(p.server));
	kt_expect_eq(t, RDMA_CM_EVENT_ESTABLISHED, rdma_ep_event(p.client)->event);
	kt_expect_eq(t, RDMA_CM_EVENT_ESTABLISHED, rdma_ep_event(p.server)->event);
	/* What the listener was given is its request's, too. */
	kt_expect_ptr(t, &p.setup, rdma_ep_context(p.server));
	rdma_ep_set_context(p.server, t);
	kt_expect_ptr(t, t, rdma_ep_context(p.server));
	kt_expect_ptr(t, &p.setup, rdma_ep_context(p.listener));

	kt_messages(t, p.client, p.server);
	kt_pair_disconnect(t, &p);
	kt_pair_close(t, &p);
}

static void kt_connect_ipv4(struct kt *t)
{
	struct kt_setup setup = {};

	kt_connect_over(t, &setup);
}

static void kt_connect_ipv6(struct kt *t)
{
	struct kt_setup setup = { .addr = kt_addr6() };

	kt_connect_over(t, &setup);
}

static void kt_connect_uc(struct kt *t)
{
	struct rdma_ep_qp_attr client = kt_qp(), server = kt_qp();
	struct kt_setup setup = {
		.client_qp = &client, .server_qp = &server,
	};

	if (kt_iwarp()) {
		kt_skip(t, "iWARP has no UC");
		return;
	}
	client.init.qp_type = IB_QPT_UC;
	server.init.qp_type = IB_QPT_UC;
	kt_connect_over(t, &setup);
}

/* Both ends are destroyed while connected; the peer hears of it. */
static void kt_destroy_connected(struct kt *t)
{
	struct kt_setup setup = {};
	struct kt_pair p;

	if (!kt_pair_open(t, &p, &setup))
		return;
	kt_destroy(t, p.client);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, KT_CALL_MS));
	kt_destroy(t, p.server);
	if (kt_pair_request(t, &p) && kt_pair_accept(t, &p)) {
		kt_destroy(t, p.server);
		kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, KT_CALL_MS));
		kt_destroy(t, p.client);
	}
	kt_destroy(t, p.listener);
}

static void kt_wildcard(struct kt *t)
{
	struct sockaddr_storage any = kt_sa("0.0.0.0", 0), to, listen;
	struct kt_setup setup = { .addr = &any };
	struct kt_args args = { .timeout_ms = KT_CALL_MS };
	struct kt_call call;
	struct rdma_ep *server;
	struct kt_pair p;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	kt_expect_ptr(t, NULL, rdma_ep_device(p.listener));
	if (!kt_expect_eq(t, 0, rdma_ep_local_addr(p.listener, &listen)))
		goto out;
	to = kt_with_port(kt_addr(), kt_port(&listen));
	args.ep = kt_active_to(&setup, &to);
	if (!kt_expect_ok(t, args.ep) ||
	    !kt_expect_eq(t, 0, kt_call_start(&call, kt_call_connect, &args)))
		goto out_client;
	server = rdma_ep_get_request(p.listener, KT_CALL_MS);
	if (kt_expect_ok(t, server)) {
		kt_expect_ptr(t, rdma_ep_device(args.ep), rdma_ep_device(server));
		kt_expect(t, rdma_ep_qp(server));
		kt_expect_eq(t, 0, rdma_ep_accept(server, NULL, KT_CALL_MS));
	}
	kt_expect_call(t, &call, KT_CALL_MS, 0);
	kt_destroy(t, server);
out_client:
	kt_destroy(t, args.ep);
out:
	kt_destroy(t, p.listener);
}

/* Is it this private data, with what the protocol pads it with? */
static bool kt_is_data(const struct rdma_cm_event *event, const u8 *data, size_t len)
{
	const struct rdma_conn_param *param;

	if (!event)
		return false;
	param = &event->param.conn;
	return param->private_data && param->private_data_len >= len &&
	       !memcmp(param->private_data, data, len);
}

static void kt_private_data(struct kt *t)
{
	u8 there[56], back[196];
	struct rdma_conn_param connect = {
		.private_data = there, .private_data_len = sizeof(there),
		.responder_resources = 3, .initiator_depth = 2,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_conn_param accept = {
		.private_data = back, .private_data_len = sizeof(back),
		.responder_resources = 2, .initiator_depth = 1,
	};
	struct kt_setup setup = { .connect = &connect, .accept = &accept };
	const struct rdma_cm_event *event;
	struct kt_pair p;
	int i;

	for (i = 0; i < sizeof(back); i++)
		back[i] = 3 * i + 1;
	for (i = 0; i < sizeof(there); i++)
		there[i] = 5 * i + 2;
	if (!kt_pair_listen(t, &p, &setup))
		return;
	if (!kt_pair_request(t, &p))
		goto out;
	event = rdma_ep_event(p.server);
	kt_expect(t, kt_is_data(event, there, sizeof(there)));
	if (kt_expect(t, event)) {
		kt_expect_eq(t, RDMA_CM_EVENT_CONNECT_REQUEST, event->event);
		/* The peer's are ours the other way round. */
		kt_expect_eq(t, 2, event->param.conn.responder_resources);
		kt_expect_eq(t, 3, event->param.conn.initiator_depth);
	}
	if (!kt_pair_accept(t, &p))
		goto out;
	kt_expect(t, kt_is_data(rdma_ep_event(p.client), back, sizeof(back)));
	kt_destroy(t, p.client);
	kt_destroy(t, p.server);
out:
	kt_destroy(t, p.listener);
}

static void kt_reject(struct kt *t)
{
	struct kt_setup setup = {};
	const struct rdma_cm_event *event;
	struct kt_pair p;
	u8 why[148];
	int i;

	for (i = 0; i < sizeof(why); i++)
		why[i] = 7 * i + 3;
	if (!kt_pair_listen(t, &p, &setup))
		return;
	if (!kt_pair_request(t, &p))
		goto out;
	kt_expect_eq(t, 0, rdma_ep_reject(p.server, why, sizeof(why)));
	kt_expect_call(t, &p.connect, KT_CALL_MS, -ECONNREFUSED);
	event = rdma_ep_event(p.client);
	kt_expect(t, event && event->event == RDMA_CM_EVENT_REJECTED);
	kt_expect(t, kt_is_data(event, why, sizeof(why)));
	kt_destroy(t, p.server);
	kt_destroy(t, p.client);

	/* Destroying a request is a rejection, too. */
	if (kt_pair_request(t, &p)) {
		kt_destroy(t, p.server);
		kt_expect_call(t, &p.connect, KT_CALL_MS, -ECONNREFUSED);
		kt_destroy(t, p.client);
	}
out:
	kt_destroy(t, p.listener);
}

/* Unconnected: the answer says where to send to. */
static void kt_ud(struct kt *t)
{
	struct rdma_ep_qp_attr client = kt_qp(), server = kt_qp();
	struct kt_setup setup = {
		.client_qp = &client, .server_qp = &server,
	};
	const struct rdma_cm_event *event;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct kt_pair p;

	if (kt_iwarp()) {
		kt_skip(t, "iWARP has no UD");
		return;
	}
	client.init.qp_type = IB_QPT_UD;
	server.init.qp_type = IB_QPT_UD;
	if (!kt_pair_listen(t, &p, &setup))
		return;
	if (!kt_pair_request(t, &p))
		goto out;
	/* Ready to send at once. */
	kt_expect_eq(t, 0, ib_query_qp(rdma_ep_qp(p.client), &attr, IB_QP_STATE, &init));
	kt_expect_eq(t, IB_QPS_RTS, attr.qp_state);
	kt_expect_eq(t, IB_QPT_UD, rdma_ep_qp(p.server)->qp_type);
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	if (kt_expect_call(t, &p.connect, KT_CALL_MS, 0)) {
		event = rdma_ep_event(p.client);
		kt_expect_eq(t, rdma_ep_qp(p.server)->qp_num, event->param.ud.qp_num);
		kt_expect(t, event->param.ud.qkey);
	}
	kt_destroy(t, p.client);
	kt_destroy(t, p.server);
out:
	kt_destroy(t, p.listener);
}

/* A client gives up before it is taken: the next one is served all the same. */
static void kt_given_up(struct kt *t)
{
	struct kt_args args = { .timeout_ms = 2 * KT_CALL_MS };
	struct kt_setup setup = {};
	struct rdma_ep *server;
	struct kt_call call;
	struct kt_pair p;
	int i, accepted = 0;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	p.client = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, p.client))
		kt_expect_eq(t, -ETIMEDOUT, rdma_ep_connect(p.client, NULL, 300));
	kt_destroy(t, p.client);
	args.ep = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, args.ep) ||
	    !kt_expect_eq(t, 0, kt_call_start(&call, kt_call_connect, &args)))
		goto out;
	/* The first may be taken, and turn out to be gone; the second may not. */
	for (i = 0; i < 2 && !accepted; i++) {
		server = rdma_ep_get_request(p.listener, KT_CALL_MS);
		if (!kt_expect_ok(t, server))
			continue;
		if (!rdma_ep_accept(server, NULL, KT_CALL_MS))
			accepted++;
		if (accepted)
			kt_expect_call(t, &call, KT_CALL_MS, 0);
		kt_destroy(t, server);
	}
	if (!kt_expect_eq(t, 1, accepted))
		kt_call_stop(&call);
out:
	kt_destroy(t, args.ep);
	kt_destroy(t, p.listener);
}

/* Several clients at once, taken in the order in which they came. */
static void kt_many_requests(struct kt *t)
{
	struct kt_args args[4] = {};
	struct kt_call call[4];
	struct kt_setup setup = {};
	struct rdma_ep *server[4] = {};
	struct sockaddr_storage local, peer;
	struct kt_pair p;
	int i, n = 0;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		args[i].ep = kt_active(&setup, p.listener);
		args[i].timeout_ms = 2 * KT_CALL_MS;
		if (!kt_expect_ok(t, args[i].ep) ||
		    kt_call_start(&call[i], kt_call_connect, &args[i]))
			break;
		n++;
		kt_expect(t, !kt_call_wait(&call[i], 200));
	}
	for (i = 0; i < n; i++) {
		server[i] = rdma_ep_get_request(p.listener, KT_CALL_MS);
		if (!kt_expect_ok(t, server[i]))
			continue;
		kt_expect_eq(t, 0, rdma_ep_local_addr(args[i].ep, &local));
		kt_expect_eq(t, 0, rdma_ep_peer_addr(server[i], &peer));
		kt_expect(t, kt_same_addr(&local, &peer));
	}
	for (i = n; i--;) {
		if (!IS_ERR(server[i]))
			kt_expect_eq(t, 0, rdma_ep_accept(server[i], NULL, KT_CALL_MS));
		kt_expect_call(t, &call[i], KT_CALL_MS, 0);
		kt_destroy(t, server[i]);
	}
	for (i = 0; i < ARRAY_SIZE(args); i++)
		kt_destroy(t, args[i].ep);
	kt_destroy(t, p.listener);
}

const struct kt_test kt_connect_tests[] = {
	{ "connect_ipv4", kt_connect_ipv4 },
	{ "connect_ipv6", kt_connect_ipv6 },
	{ "connect_uc", kt_connect_uc },
	{ "connect_ud", kt_ud },
	{ "wildcard", kt_wildcard },
	{ "destroy_connected", kt_destroy_connected },
	{ "private_data", kt_private_data },
	{ "reject", kt_reject },
	{ "requests_in_order", kt_many_requests },
	{ "request_given_up", kt_given_up },
	{}
};
