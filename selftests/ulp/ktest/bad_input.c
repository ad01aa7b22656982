// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invalid arguments: NULL and error pointers, unreachable addresses, attributes that do not
 * fit together.
 */
#include "tests.h"

static void kt_bad_channel(struct kt *t, struct rdma_ep_channel *bad)
{
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(bad));
	kt_expect_err(t, -EINVAL, rdma_ep_get_event(bad, 0));
	/* Must not crash; it has no result. */
	rdma_ep_ack_event((void *)bad);
}

static void kt_bad_accessors(struct kt *t, struct rdma_ep *bad)
{
	struct sockaddr_storage addr;

	kt_expect_ptr(t, NULL, rdma_ep_device(bad));
	kt_expect_eq(t, 0, rdma_ep_port(bad));
	kt_expect_ptr(t, NULL, rdma_ep_pd(bad));
	kt_expect_ptr(t, NULL, rdma_ep_qp(bad));
	kt_expect_ptr(t, NULL, rdma_ep_send_cq(bad));
	kt_expect_ptr(t, NULL, rdma_ep_recv_cq(bad));
	kt_expect_ptr(t, NULL, rdma_ep_srq(bad));
	kt_expect_ptr(t, NULL, rdma_ep_channel(bad));
	kt_expect_ptr(t, NULL, rdma_ep_event(bad));
	kt_expect_ptr(t, NULL, rdma_ep_context(bad));
	rdma_ep_set_context(bad, t);
	kt_expect_eq(t, -EINVAL, rdma_ep_local_addr(bad, &addr));
	kt_expect_eq(t, -EINVAL, rdma_ep_peer_addr(bad, &addr));
}

static void kt_bad_ep(struct kt *t, struct rdma_ep *bad)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct rdma_conn_param param = {};

	kt_expect_eq(t, 0, rdma_ep_destroy(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(bad, &qp));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_qp(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(bad, NULL, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_srq(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(bad, 1));
	kt_expect_no_ep(t, -EINVAL, rdma_ep_get_request(bad, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(bad, &param, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_accept(bad, &param, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_reject(bad, NULL, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_disconnect(bad, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_migrate(bad, NULL));
}

static void kt_no_objects(struct kt *t)
{
	void *bad[] = { NULL, ERR_PTR(-ENOMEM), ERR_PTR(-1) };
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		kt_bad_ep(t, bad[i]);
		kt_bad_accessors(t, bad[i]);
		kt_bad_channel(t, bad[i]);
	}
}

/* Valid endpoints with an invalid pointer among the other arguments */
static void kt_bad_arguments(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp, good = kt_qp();
	void *err = ERR_PTR(-ENOMEM);
	struct rdma_conn_param param = { .private_data = err, .private_data_len = 1 };
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(p.client, err, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(p.client, &param, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_gids(p.client, err, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_gids(p.client, NULL, err));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, NULL, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, NULL, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, err, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_migrate(p.client, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_local_addr(p.client, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_peer_addr(p.client, NULL));
	qp = good;
	qp.pd = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = good;
	qp.init.send_cq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = good;
	qp.init.recv_cq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = good;
	qp.init.srq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = good;
	qp.init.create_flags = IB_QP_CREATE_NETIF_QP | BIT(30);
	/* The error depends on the driver. */
	kt_expect(t, rdma_ep_create_qp(p.client, &qp) < 0);
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &good));

	kt_pair_request(t, &p);
	kt_expect_eq(t, -EINVAL, rdma_ep_reject(p.server, err, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_accept(p.server, err, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_accept(p.server, &param, 0));
	kt_pair_accept(t, &p);
}

/* Neither sends nor receives, with each kind of CQ */
static void kt_no_queue(struct kt *t)
{
	struct rdma_ep_qp_attr qp[4], good = kt_qp();
	struct kt_pair p;
	int i;

	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = good;
		qp[i].init.cap = (struct ib_qp_cap) {};
	}
	qp[1].flags = RDMA_EP_QP_POOL_CQ;
	qp[2].flags = RDMA_EP_QP_ONE_CQ;
	qp[3].init.send_cq = kt_cq(t, rdma_ep_device(p.client), IB_POLL_WORKQUEUE);
	qp[3].init.recv_cq = qp[3].init.send_cq;
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp[i]));
		kt_expect_ptr(t, NULL, rdma_ep_qp(p.client));
	}
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &good));
}

#define kt_expect_not_created(t, want, ...) \
	kt_expect_no_ep(t, want, rdma_ep_create((&(struct rdma_ep_attr) { __VA_ARGS__ })))

static void kt_create_attr(struct kt *t)
{
	const struct sockaddr *good = kt_ptr(kt_addr());
	const struct sockaddr *good6 = kt_ptr(kt_addr6());
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 7);
	struct sockaddr_storage unspec = { .ss_family = AF_UNSPEC };
	struct sockaddr_storage local = { .ss_family = AF_UNIX };
	struct sockaddr_storage big = { .ss_family = 0xffff };
	void *err = ERR_PTR(-ENOMEM);

	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(NULL));
	kt_expect_no_ep(t, -EINVAL, rdma_ep_create(err));
	kt_expect_not_created(t, -EINVAL, .src = good);	/* no namespace */
	kt_expect_not_created(t, -EINVAL, .net = err, .src = good);
	kt_expect_not_created(t, -EINVAL, .net = &init_net);	/* no address */
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = err);
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = err);
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = good, .qp = err);
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = kt_ptr(&unspec));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = kt_ptr(&local));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = kt_ptr(&big));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&unspec));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&local));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&big));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = good6, .dst = kt_ptr(&dst));
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = good, .ps = 1);
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .src = good, .channel = err);
}

/* Invalid QP types, and types that do not fit the port space */
static void kt_create_type(struct kt *t)
{
	static const enum ib_qp_type types[] = {
		IB_QPT_SMI, IB_QPT_GSI, IB_QPT_RAW_PACKET, IB_QPT_XRC_TGT,
		IB_QPT_XRC_INI, IB_QPT_DRIVER, IB_QPT_MAX,
	};
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 7);
	struct rdma_ep_qp_attr qp;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		qp = kt_qp();
		qp.init.qp_type = types[i];
		kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst), .qp = &qp);
	}
	qp = kt_qp();
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst),
			      .ps = RDMA_PS_UDP, .qp = &qp);
	qp.init.qp_type = IB_QPT_UD;
	kt_expect_not_created(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst),
			      .ps = RDMA_PS_TCP, .qp = &qp);
}

/* A foreign address, a local one without an RDMA device, one that is in use */
static void kt_create_addr(struct kt *t)
{
	struct sockaddr_storage other = kt_sa("192.0.2.7", 0);
	struct sockaddr_storage plain = kt_sa("10.78.0.1", 0);
	struct sockaddr_storage taken;
	struct kt_setup setup = { .addr = &taken };
	struct rdma_ep *ep;

	kt_expect_not_created(t, -EADDRNOTAVAIL, .net = &init_net, .src = kt_ptr(&other));
	if (kt_expect_eq(t, 0, kt_helper("plain")))
		kt_expect_not_created(t, -ENODEV, .net = &init_net, .src = kt_ptr(&plain));
	kt_helper("clean");

	ep = kt_passive(t, NULL);
	kt_assert_eq(t, 0, rdma_ep_local_addr(ep, &taken));
	kt_assert(t, kt_port(&taken));
	kt_expect_not_created(t, -EADDRINUSE, .net = &init_net, .src = kt_ptr(&taken));
	kt_destroy(t, ep);
	kt_passive(t, &setup);
}

/* For a missing neighbour, creation fails at its time limit. */
static void kt_no_neighbour(struct kt *t, unsigned int timeout_ms, unsigned int takes_ms)
{
	struct sockaddr_storage addr = kt_sa("10.42.0.77", 7);
	ktime_t start = ktime_get();
	s64 ms;

	kt_expect_not_created(t, -ETIMEDOUT, .net = &init_net, .dst = kt_ptr(&addr),
			      .timeout_ms = timeout_ms);
	ms = ktime_ms_delta(ktime_get(), start);
	kt_note("no neighbour: %lld ms of %u", ms, takes_ms);
	kt_expect(t, ms >= takes_ms - 50 && ms < takes_ms + KT_PROMPT_MS);
}

static void kt_unreachable(struct kt *t)
{
	struct sockaddr_storage no_route = kt_sa("192.0.2.7", 7);
	struct sockaddr_storage no_route6 = kt_sa("2001:db8::7", 7);

	kt_expect_not_created(t, -ENETUNREACH, .net = &init_net, .dst = kt_ptr(&no_route));
	kt_expect_not_created(t, -ENETUNREACH, .net = &init_net, .dst = kt_ptr(&no_route6));
	kt_no_neighbour(t, 500, 500);
	kt_no_neighbour(t, 0, 2000);
}

/* A port without a listener */
static void kt_refused(struct kt *t)
{
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 1);
	struct rdma_ep *ep = kt_active_to(t, NULL, &dst);

	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(ep, NULL, KT_CALL_MS));
}

/* Too much private data, and lengths without data */
static void kt_private_data_size(struct kt *t)
{
	static const u8 data[U8_MAX];
	struct rdma_conn_param big = { .private_data = data, .private_data_len = U8_MAX };
	struct rdma_conn_param nothing = { .private_data_len = 1 };
	struct kt_pair p;

	kt_not_on_iwarp(t, "siw takes all that fits into a u8");
	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(p.client, &big, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_connect(p.client, &nothing, 0));
	kt_destroy(t, p.client);

	kt_pair_request(t, &p);
	kt_expect_eq(t, -EINVAL, rdma_ep_reject(p.server, NULL, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_reject(p.server, data, U8_MAX));
	kt_expect_eq(t, -EINVAL, rdma_ep_accept(p.server, &big, 0));
	kt_pair_accept(t, &p);
}

const struct kt_test kt_bad_input_tests[] = {
	{ "no_objects", kt_no_objects },
	{ "bad_arguments", kt_bad_arguments },
	{ "no_queue", kt_no_queue },
	{ "create_attr", kt_create_attr },
	{ "create_type", kt_create_type },
	{ "create_addr", kt_create_addr },
	{ "unreachable", kt_unreachable },
	{ "refused", kt_refused },
	{ "private_data_size", kt_private_data_size },
	{}
};
