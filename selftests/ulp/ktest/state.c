// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls in states in which they are not allowed return -EINVAL and change nothing.
 */
#include "tests.h"

#define KT_LISTEN	BIT(0)
#define KT_GET_REQUEST	BIT(1)
#define KT_CONNECT	BIT(2)
#define KT_ACCEPT	BIT(3)
#define KT_REJECT	BIT(4)
#define KT_DISCONNECT	BIT(5)

/* Makes all calls that establish or end a connection, except those in @allowed. */
static void kt_wrong(struct kt *t, const char *state, struct rdma_ep *ep, unsigned int allowed)
{
	kt_note("%s", state);
	if (!(allowed & KT_LISTEN))
		kt_expect_eq(t, -EINVAL, rdma_ep_listen(ep, 1));
	if (!(allowed & KT_GET_REQUEST))
		kt_expect_no_ep(t, -EINVAL, rdma_ep_get_request(ep, 1000));
	if (!(allowed & KT_CONNECT))
		kt_expect_eq(t, -EINVAL, rdma_ep_connect(ep, NULL, 1000));
	if (!(allowed & KT_ACCEPT))
		kt_expect_eq(t, -EINVAL, rdma_ep_accept(ep, NULL, 1000));
	if (!(allowed & KT_REJECT))
		kt_expect_eq(t, -EINVAL, rdma_ep_reject(ep, NULL, 0));
	if (!(allowed & KT_DISCONNECT))
		kt_expect_eq(t, -EINVAL, rdma_ep_disconnect(ep, 1000));
}

static void kt_states(struct kt *t)
{
	struct rdma_ep *ep;
	struct kt_pair p;

	ep = kt_passive(t, NULL);
	kt_wrong(t, "bound", ep, KT_LISTEN);
	kt_destroy(t, ep);

	kt_pair_client(t, &p, NULL);
	kt_wrong(t, "listening", p.listener, KT_GET_REQUEST);
	kt_wrong(t, "active", p.client, KT_CONNECT);
	kt_destroy(t, p.client);

	kt_pair_request(t, &p);
	kt_wrong(t, "request", p.server, KT_ACCEPT | KT_REJECT);
	kt_wrong(t, "connecting", p.client, 0);
	kt_pair_accept(t, &p);
	kt_wrong(t, "connected, client", p.client, KT_DISCONNECT);
	kt_wrong(t, "connected, server", p.server, KT_DISCONNECT);
	kt_wrong(t, "listening still", p.listener, KT_GET_REQUEST);
	kt_pair_disconnect(t, &p);
	kt_wrong(t, "disconnected, client", p.client, KT_DISCONNECT);
	kt_wrong(t, "disconnected, server", p.server, KT_DISCONNECT);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, 0));
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, 0));
}

static void kt_rejected_states(struct kt *t)
{
	struct kt_pair p;

	kt_pair_listen(t, &p, NULL);
	kt_pair_request(t, &p);
	kt_expect_eq(t, 0, rdma_ep_reject(p.server, NULL, 0));
	kt_expect_call(t, p.connect, KT_CALL_MS, -ECONNREFUSED);
	kt_wrong(t, "rejected, server", p.server, 0);
	kt_wrong(t, "rejected, client", p.client, 0);
}

/* An endpoint has at most one QP and one SRQ. */
static void kt_second_qp(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_qp *ibqp;
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	ibqp = rdma_ep_qp(p.client);
	kt_expect(t, ibqp);
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	kt_expect_ptr(t, ibqp, rdma_ep_qp(p.client));

	kt_expect_eq(t, 0, rdma_ep_create_srq(p.client, NULL, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, NULL, &srq));
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(p.client));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_srq(p.client));

	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.client));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_qp(p.client));
	qp = kt_qp();
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	kt_expect(t, rdma_ep_qp(p.client));
}

/* A wildcard address has no device, so neither QP nor SRQ can be created. */
static void kt_wildcard_qp(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct sockaddr_storage any = kt_sa("0.0.0.0", 0);
	struct rdma_ep *ep = kt_passive(t, &(struct kt_setup) { .addr = &any });
	struct rdma_ep_qp_attr qp = kt_qp();

	kt_expect_ptr(t, NULL, rdma_ep_device(ep));
	kt_expect_eq(t, 0, rdma_ep_port(ep));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(ep, &qp));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(ep, NULL, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_qp(ep));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_srq(ep));
}

static void kt_channel_states(struct kt *t)
{
	struct kt_setup setup = { .server_channel = kt_channel(t, NULL, NULL) };
	struct kt_pair p;

	kt_pair_listen(t, &p, &setup);
	kt_expect_no_ep(t, -EINVAL, rdma_ep_get_request(p.listener, 1000));
}

const struct kt_test kt_state_tests[] = {
	{ "states", kt_states, 120 },
	{ "states_rejected", kt_rejected_states },
	{ "second_qp_and_srq", kt_second_qp },
	{ "wildcard_without_device", kt_wildcard_qp },
	{ "get_request_asynchronous", kt_channel_states },
	{}
};
