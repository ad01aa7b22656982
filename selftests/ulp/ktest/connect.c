// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections without channels: addresses, parameters, private data, rejection.
 */
#include "tests.h"

/* Sends a message each way, then destroys the QPs. */
static void kt_messages(struct kt *t, struct rdma_ep *a, struct rdma_ep *b)
{
	struct kt_io *ioa = kt_io_create(t, rdma_ep_pd(a)), *iob = kt_io_create(t, rdma_ep_pd(b));

	kt_expect_eq(t, 0, kt_io_recv(ioa, a));
	kt_expect_eq(t, 0, kt_io_recv(iob, b));
	/* On iWARP the connecting side must send first. */
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
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(a));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(b));
	kt_undo(t, ioa);
	kt_undo(t, iob);
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

	kt_pair_open(t, &p, setup);
	kt_check_addresses(t, &p);
	kt_expect_ptr(t, rdma_ep_device(p.client), rdma_ep_device(p.server));
	kt_expect_eq(t, 1, rdma_ep_port(p.client));
	kt_expect_eq(t, 1, rdma_ep_port(p.server));
	kt_expect_eq(t, RDMA_CM_EVENT_ESTABLISHED, rdma_ep_event(p.client)->event);
	kt_expect_eq(t, RDMA_CM_EVENT_ESTABLISHED, rdma_ep_event(p.server)->event);
	/* A request inherits the context of its listener. */
	kt_expect_ptr(t, &p.setup, rdma_ep_context(p.server));
	rdma_ep_set_context(p.server, t);
	kt_expect_ptr(t, t, rdma_ep_context(p.server));
	kt_expect_ptr(t, &p.setup, rdma_ep_context(p.listener));

	kt_messages(t, p.client, p.server);
	kt_pair_disconnect(t, &p);
}

static void kt_connect_ipv4(struct kt *t)
{
	kt_connect_over(t, NULL);
}

static void kt_connect_ipv6(struct kt *t)
{
	kt_connect_over(t, &(struct kt_setup) { .addr = kt_addr6() });
}

static void kt_connect_uc(struct kt *t)
{
	struct rdma_ep_qp_attr client = kt_qp(), server = kt_qp();

	kt_not_on_iwarp(t, "iWARP has no UC");
	client.init.qp_type = IB_QPT_UC;
	server.init.qp_type = IB_QPT_UC;
	kt_connect_over(t, &(struct kt_setup) { .client_qp = &client, .server_qp = &server });
}

/* Destroying a connected endpoint, client or server, disconnects its peer. */
static void kt_destroy_connected(struct kt *t)
{
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_destroy(t, p.client);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, KT_CALL_MS));
	kt_destroy(t, p.server);
	kt_pair_connect(t, &p);
	kt_destroy(t, p.server);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, KT_CALL_MS));
}

static void kt_wildcard(struct kt *t)
{
	struct sockaddr_storage any = kt_sa("0.0.0.0", 0), to, listen;
	struct kt_setup setup = { .addr = &any };
	struct kt_pair p;

	kt_pair_listen(t, &p, &setup);
	kt_expect_ptr(t, NULL, rdma_ep_device(p.listener));
	kt_assert_eq(t, 0, rdma_ep_local_addr(p.listener, &listen));
	to = kt_with_port(kt_addr(), kt_port(&listen));
	p.client = kt_active_to(t, &setup, &to);
	p.connect = kt_connect(t, p.client, KT_CALL_MS);
	p.server = kt_own(t, rdma_ep_get_request(p.listener, KT_CALL_MS));
	kt_expect_ptr(t, rdma_ep_device(p.client), rdma_ep_device(p.server));
	kt_expect(t, rdma_ep_qp(p.server));
	kt_pair_accept(t, &p);
}

/* Returns whether @event has this private data, which the protocol may pad. */
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
	kt_pair_listen(t, &p, &setup);
	kt_pair_request(t, &p);
	event = rdma_ep_event(p.server);
	kt_assert(t, event);
	kt_expect(t, kt_is_data(event, there, sizeof(there)));
	kt_expect_eq(t, RDMA_CM_EVENT_CONNECT_REQUEST, event->event);
	/* Each value of the peer is the other one of this side. */
	kt_expect_eq(t, 2, event->param.conn.responder_resources);
	kt_expect_eq(t, 3, event->param.conn.initiator_depth);
	kt_pair_accept(t, &p);
	kt_expect(t, kt_is_data(rdma_ep_event(p.client), back, sizeof(back)));
}

static void kt_reject(struct kt *t)
{
	const struct rdma_cm_event *event;
	struct kt_pair p;
	u8 why[148];
	int i;

	for (i = 0; i < sizeof(why); i++)
		why[i] = 7 * i + 3;
	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, rdma_ep_reject(p.server, why, sizeof(why)));
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
	event = rdma_ep_event(p.client);
	kt_expect(t, event && event->event == RDMA_CM_EVENT_REJECTED);
	kt_expect(t, kt_is_data(event, why, sizeof(why)));

	/* Destroying a request is a rejection, too. */
	kt_pair_request(t, &p);
	kt_destroy(t, p.server);
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
}

/* UD: the answer has the QP number and Q_Key of the server. */
static void kt_ud(struct kt *t)
{
	struct rdma_ep_qp_attr client = kt_qp(), server = kt_qp();
	struct kt_setup setup = { .client_qp = &client, .server_qp = &server };
	const struct rdma_cm_event *event;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct kt_pair p;

	kt_not_on_iwarp(t, "iWARP has no UD");
	client.init.qp_type = IB_QPT_UD;
	server.init.qp_type = IB_QPT_UD;
	kt_pair_listen(t, &p, &setup);
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, ib_query_qp(rdma_ep_qp(p.client), &attr, IB_QP_STATE, &init));
	kt_expect_eq(t, IB_QPS_RTS, attr.qp_state);
	kt_expect_eq(t, IB_QPT_UD, rdma_ep_qp(p.server)->qp_type);
	kt_pair_accept(t, &p);
	event = rdma_ep_event(p.client);
	kt_expect_eq(t, rdma_ep_qp(p.server)->qp_num, event->param.ud.qp_num);
	kt_expect(t, event->param.ud.qkey);
}

/* A client is destroyed before its request is accepted; the next client is still served. */
static void kt_given_up(struct kt *t)
{
	struct rdma_ep *server;
	struct kt_call *call;
	struct kt_pair p;
	int i, accepted = 0;

	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, -ETIMEDOUT, rdma_ep_connect(p.client, NULL, 300));
	kt_destroy(t, p.client);
	call = kt_connect(t, kt_active(t, NULL, p.listener), 2 * KT_CALL_MS);
	/* The first client's request may be returned, but cannot be accepted. */
	for (i = 0; i < 2 && !accepted; i++) {
		server = rdma_ep_get_request(p.listener, KT_CALL_MS);
		if (!kt_expect_ok(t, server))
			continue;
		kt_own(t, server);
		accepted += !rdma_ep_accept(server, NULL, KT_CALL_MS);
	}
	kt_assert_eq(t, 1, accepted);
	kt_expect_call(t, call, KT_CALL_MS, 0);
}

/* Requests of several clients are returned in order of arrival. */
static void kt_many_requests(struct kt *t)
{
	struct sockaddr_storage local, peer;
	struct rdma_ep *server[4];
	struct kt_client c[4];
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, NULL);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = kt_client(t, p.listener, 2 * KT_CALL_MS);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		server[i] = kt_own(t, rdma_ep_get_request(p.listener, KT_CALL_MS));
		kt_expect_eq(t, 0, rdma_ep_local_addr(c[i].ep, &local));
		kt_expect_eq(t, 0, rdma_ep_peer_addr(server[i], &peer));
		kt_expect(t, kt_same_addr(&local, &peer));
	}
	for (i = ARRAY_SIZE(c); i--;) {
		kt_expect_eq(t, 0, rdma_ep_accept(server[i], NULL, KT_CALL_MS));
		kt_expect_call(t, c[i].connect, KT_CALL_MS, 0);
	}
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
