// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that are none, addresses that lead nowhere, attributes that do not fit.
 */
#include "tests.h"

static void kt_bad_channel(struct kt *t, struct rdma_ep_channel *bad)
{
	struct rdma_ep_cm_event *event;

	/* As kfree() does. */
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(bad));
	event = rdma_ep_get_event(bad, 0);
	kt_expect_err(t, -EINVAL, event);
	/* Nothing to be seen, but nothing happens either. */
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
	struct rdma_ep *child;

	kt_expect_eq(t, 0, rdma_ep_destroy(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(bad, &qp));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_qp(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(bad, NULL, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_destroy_srq(bad));
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(bad, 1));
	child = rdma_ep_get_request(bad, 0);
	kt_expect_err(t, -EINVAL, child);
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

/* Good endpoints, but something that is passed along is no object. */
static void kt_bad_arguments(struct kt *t)
{
	struct kt_setup setup = {};
	struct kt_pair p;
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	void *err = ERR_PTR(-ENOMEM);

	if (!kt_pair_listen(t, &p, &setup))
		return;
	p.client = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, p.client))
		goto out;
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, NULL, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, NULL, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, err, &srq));
	kt_expect_eq(t, -EINVAL, rdma_ep_migrate(p.client, err));
	kt_expect_eq(t, -EINVAL, rdma_ep_local_addr(p.client, NULL));
	kt_expect_eq(t, -EINVAL, rdma_ep_peer_addr(p.client, NULL));
	qp.pd = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = kt_qp();
	qp.init.send_cq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = kt_qp();
	qp.init.recv_cq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = kt_qp();
	qp.init.srq = err;
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(p.client, &qp));
	qp = kt_qp();
	qp.init.create_flags = IB_QP_CREATE_NETIF_QP | BIT(30);
	/* Which error is the driver's business. */
	kt_expect(t, rdma_ep_create_qp(p.client, &qp) < 0);
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.client));
	/* None of it has done harm. */
	qp = kt_qp();
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
out:
	kt_destroy(t, p.client);
	kt_destroy(t, p.listener);
}

/* rdma_ep_create() with this must fail with that. */
static void kt_no_ep(struct kt *t, int line, int want, const struct rdma_ep_attr *attr)
{
	struct rdma_ep *ep = rdma_ep_create(attr);

	kt_check_eq(t, kbasename(__FILE__), line, "rdma_ep_create()", want, kt_ptr_err(ep));
	kt_destroy(t, ep);
}

#define kt_expect_no_ep(t, want, ...) \
	kt_no_ep(t, __LINE__, want, &(struct rdma_ep_attr) { __VA_ARGS__ })

static void kt_create_attr(struct kt *t)
{
	const struct sockaddr *good = kt_ptr(kt_addr());
	const struct sockaddr *good6 = kt_ptr(kt_addr6());
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 7);
	struct sockaddr_storage unspec = { .ss_family = AF_UNSPEC };
	struct sockaddr_storage local = { .ss_family = AF_UNIX };
	struct sockaddr_storage big = { .ss_family = 0xffff };
	void *err = ERR_PTR(-ENOMEM);

	kt_no_ep(t, __LINE__, -EINVAL, NULL);
	kt_no_ep(t, __LINE__, -EINVAL, err);
	kt_expect_no_ep(t, -EINVAL, .src = good);	/* no namespace */
	kt_expect_no_ep(t, -EINVAL, .net = err, .src = good);
	kt_expect_no_ep(t, -EINVAL, .net = &init_net);	/* no address */
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = err);
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = err);
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = good, .qp = err);
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = kt_ptr(&unspec));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = kt_ptr(&local));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = kt_ptr(&big));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&unspec));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&local));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&big));
	/* One of each family. */
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = good6, .dst = kt_ptr(&dst));
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = good, .ps = 1);
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .src = good, .channel = err);
}

/* QP types and port spaces. */
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
		kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst), .qp = &qp);
	}
	qp = kt_qp();
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst),
			.ps = RDMA_PS_UDP, .qp = &qp);
	qp.init.qp_type = IB_QPT_UD;
	kt_expect_no_ep(t, -EINVAL, .net = &init_net, .dst = kt_ptr(&dst),
			.ps = RDMA_PS_TCP, .qp = &qp);
}

/* An address of this machine without an RDMA device, and none of it. */
static void kt_create_addr(struct kt *t)
{
	struct sockaddr_storage other = kt_sa("192.0.2.7", 0);
	struct sockaddr_storage plain = kt_sa("10.78.0.1", 0);
	struct sockaddr_storage taken;
	struct kt_setup setup = {};
	struct rdma_ep *ep;

	kt_expect_no_ep(t, -EADDRNOTAVAIL, .net = &init_net, .src = kt_ptr(&other));
	if (kt_expect_eq(t, 0, kt_helper("plain"))) {
		kt_expect_no_ep(t, -ENODEV, .net = &init_net, .src = kt_ptr(&plain));
	}
	kt_helper("clean");

	ep = kt_passive(&setup);
	if (kt_expect_ok(t, ep) && kt_expect_eq(t, 0, rdma_ep_local_addr(ep, &taken)) &&
	    kt_expect(t, kt_port(&taken)))
		kt_expect_no_ep(t, -EADDRINUSE, .net = &init_net, .src = kt_ptr(&taken));
	kt_destroy(t, ep);
	/* Free again. */
	setup.addr = &taken;
	ep = kt_passive(&setup);
	kt_expect_ok(t, ep);
	kt_destroy(t, ep);
}

static void kt_unreachable(struct kt *t)
{
	struct sockaddr_storage no_route = kt_sa("192.0.2.7", 7);
	struct sockaddr_storage no_route6 = kt_sa("2001:db8::7", 7);
	struct sockaddr_storage nobody = kt_sa("10.42.0.77", 7);
	ktime_t start;
	s64 ms;

	kt_expect_no_ep(t, -ENETUNREACH, .net = &init_net, .dst = kt_ptr(&no_route));
	kt_expect_no_ep(t, -ENETUNREACH, .net = &init_net, .dst = kt_ptr(&no_route6));

	/* Nobody answers: this takes its time, and not more. */
	start = ktime_get();
	kt_expect_no_ep(t, -ETIMEDOUT, .net = &init_net, .dst = kt_ptr(&nobody), .timeout_ms = 500);
	ms = ktime_ms_delta(ktime_get(), start);
	kt_note(t, "no neighbour: %lld ms of 500", ms);
	kt_expect(t, ms >= 450 && ms < 500 + KT_PROMPT_MS);
	start = ktime_get();
	kt_expect_no_ep(t, -ETIMEDOUT, .net = &init_net, .dst = kt_ptr(&nobody));
	ms = ktime_ms_delta(ktime_get(), start);
	kt_note(t, "no neighbour: %lld ms of 2000", ms);
	kt_expect(t, ms >= 1950 && ms < 2000 + KT_PROMPT_MS);
}

/* Nobody listens there. */
static void kt_refused(struct kt *t)
{
	struct sockaddr_storage dst = kt_with_port(kt_addr(), 1);
	struct kt_setup setup = {};
	struct rdma_ep *ep;

	ep = kt_active_to(&setup, &dst);
	if (kt_expect_ok(t, ep))
		kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(ep, NULL, KT_CALL_MS));
	kt_destroy(t, ep);
}

/* More private data than can be sent, and lengths without data. */
static void kt_private_data_size(struct kt *t)
{
	static const u8 data[U8_MAX];
	struct rdma_conn_param big = {
		.private_data = data, .private_data_len = U8_MAX
	};
	struct rdma_conn_param nothing = { .private_data_len = 1 };
	struct kt_setup setup = {};
	struct rdma_ep *client;
	struct kt_pair p;

	if (kt_iwarp()) {
		kt_skip(t, "siw takes all that fits into a u8");
		return;
	}
	if (!kt_pair_listen(t, &p, &setup))
		return;
	client = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, client)) {
		kt_expect_eq(t, -EINVAL, rdma_ep_connect(client, &big, 0));
		kt_expect_eq(t, -EINVAL, rdma_ep_connect(client, &nothing, 0));
	}
	kt_destroy(t, client);

	if (kt_pair_request(t, &p)) {
		kt_expect_eq(t, -EINVAL, rdma_ep_reject(p.server, NULL, 1));
		kt_expect_eq(t, -EINVAL, rdma_ep_reject(p.server, data, U8_MAX));
		kt_expect_eq(t, -EINVAL, rdma_ep_accept(p.server, &big, 0));
		/* It can still be had. */
		if (kt_pair_accept(t, &p)) {
			kt_destroy(t, p.client);
			kt_destroy(t, p.server);
		}
	}
	kt_destroy(t, p.listener);
}

const struct kt_test kt_bad_input_tests[] = {
	{ "no_objects", kt_no_objects },
	{ "bad_arguments", kt_bad_arguments },
	{ "create_attr", kt_create_attr },
	{ "create_type", kt_create_type },
	{ "create_addr", kt_create_addr },
	{ "unreachable", kt_unreachable },
	{ "refused", kt_refused },
	{ "private_data_size", kt_private_data_size },
	{}
};
