// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of connected endpoints, and calls for threads of their own.
 */
#include "world.h"

/* RC, with completion queues of its own. */
struct rdma_ep_qp_attr kt_qp(void)
{
	return (struct rdma_ep_qp_attr) {
		.poll_ctx = IB_POLL_WORKQUEUE,
		.init = {
			.qp_type = IB_QPT_RC,
			.sq_sig_type = IB_SIGNAL_ALL_WR,
			.cap = {
				.max_send_wr = KT_WRS,
				.max_recv_wr = KT_WRS,
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
		},
	};
}

struct rdma_ep *kt_passive(const struct kt_setup *setup)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = setup->net ?: &init_net,
		.src = kt_ptr(setup->addr ?: kt_addr()),
		.ps = setup->ps,
		.qp = setup->server_qp ?: &qp,
		.channel = setup->server_channel,
		.context = (void *)setup,
	};

	return rdma_ep_create(&attr);
}

struct rdma_ep *kt_active_to(const struct kt_setup *setup, const struct sockaddr_storage *dst)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = setup->net ?: &init_net,
		.dst = kt_ptr(dst),
		.ps = setup->ps,
		.timeout_ms = KT_CALL_MS,
		.qp = setup->client_qp ?: &qp,
		.channel = setup->client_channel,
		.context = (void *)setup,
	};

	return rdma_ep_create(&attr);
}

struct rdma_ep *kt_active(const struct kt_setup *setup, struct rdma_ep *listener)
{
	struct sockaddr_storage dst;
	int ret;

	ret = rdma_ep_local_addr(listener, &dst);
	return ret ? ERR_PTR(ret) : kt_active_to(setup, &dst);
}

bool kt_iwarp(void)
{
	struct kt_setup setup = {};
	struct rdma_ep *ep = kt_passive(&setup);
	bool iwarp;

	if (IS_ERR(ep))
		return false;
	iwarp = rdma_protocol_iwarp(rdma_ep_device(ep), rdma_ep_port(ep));
	rdma_ep_destroy(ep);
	return iwarp;
}

void kt_destroy(struct kt *t, struct rdma_ep *ep)
{
	if (!IS_ERR_OR_NULL(ep))
		kt_expect_eq(t, 0, rdma_ep_destroy(ep));
}

bool kt_pair_listen(struct kt *t, struct kt_pair *p, const struct kt_setup *setup)
{
	*p = (struct kt_pair) { .setup = *setup };
	p->listener = kt_passive(&p->setup);
	if (kt_expect_ok(t, p->listener) && kt_expect_eq(t, 0, rdma_ep_listen(p->listener, 8)))
		return true;
	kt_destroy(t, p->listener);
	return false;
}

static int kt_pair_connect(void *arg)
{
	struct kt_pair *p = arg;

	return rdma_ep_connect(p->client, p->setup.connect, KT_CALL_MS);
}

/* The client connects and its request is here; listens before if needed. */
bool kt_pair_request(struct kt *t, struct kt_pair *p)
{
	p->client = kt_active(&p->setup, p->listener);
	if (!kt_expect_ok(t, p->client))
		return false;
	if (!kt_expect_eq(t, 0, kt_call_start(&p->connect, kt_pair_connect, p)))
		goto err_client;
	p->server = rdma_ep_get_request(p->listener, KT_CALL_MS);
	if (kt_expect_ok(t, p->server))
		return true;
	kt_call_stop(&p->connect);
err_client:
	kt_destroy(t, p->client);
	return false;
}

/* Both are destroyed if it failed. */
bool kt_pair_accept(struct kt *t, struct kt_pair *p)
{
	bool accepted, connected;

	accepted = kt_expect_eq(t, 0, rdma_ep_accept(p->server, p->setup.accept, KT_CALL_MS));
	if (!accepted)
		kt_destroy(t, p->server);
	connected = kt_expect_call(t, &p->connect, KT_CALL_MS, 0);
	if (accepted && connected)
		return true;
	if (accepted)
		kt_destroy(t, p->server);
	kt_destroy(t, p->client);
	return false;
}

bool kt_pair_open(struct kt *t, struct kt_pair *p, const struct kt_setup *setup)
{
	if (!kt_pair_listen(t, p, setup))
		return false;
	if (kt_pair_request(t, p) && kt_pair_accept(t, p))
		return true;
	kt_destroy(t, p->listener);
	return false;
}

bool kt_pair_disconnect(struct kt *t, struct kt_pair *p)
{
	struct kt_args args = { .ep = p->client, .timeout_ms = KT_CALL_MS };
	struct kt_call call;
	bool ok;

	if (!kt_expect_eq(t, 0, kt_call_start(&call, kt_call_disconnect, &args)))
		return false;
	ok = kt_expect_eq(t, 0, rdma_ep_disconnect(p->server, KT_CALL_MS));
	return kt_expect_call(t, &call, KT_CALL_MS, 0) && ok;
}

void kt_pair_close(struct kt *t, struct kt_pair *p)
{
	kt_destroy(t, p->client);
	kt_destroy(t, p->server);
	kt_destroy(t, p->listener);
}

int kt_call_create(void *arg)
{
	struct kt_args *a = arg;

	a->child = rdma_ep_create(a->attr);
	return PTR_ERR_OR_ZERO(a->child);
}

int kt_call_get_request(void *arg)
{
	struct kt_args *a = arg;

	a->child = rdma_ep_get_request(a->ep, a->timeout_ms);
	return PTR_ERR_OR_ZERO(a->child);
}

int kt_call_connect(void *arg)
{
	struct kt_args *a = arg;

	return rdma_ep_connect(a->ep, a->param, a->timeout_ms);
}

int kt_call_accept(void *arg)
{
	struct kt_args *a = arg;

	return rdma_ep_accept(a->ep, a->param, a->timeout_ms);
}

int kt_call_disconnect(void *arg)
{
	struct kt_args *a = arg;

	return rdma_ep_disconnect(a->ep, a->timeout_ms);
}

int kt_call_get_event(void *arg)
{
	struct kt_args *a = arg;

	a->event = rdma_ep_get_event(a->channel, a->timeout_ms);
	return PTR_ERR_OR_ZERO(a->event);
}
