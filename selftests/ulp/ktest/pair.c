// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints and their parts, pairs of connected endpoints, calls for threads of their own.
 */
#include "world.h"

struct rdma_ep_qp_attr kt_qp(void)
{
	return RDMA_EP_RC_QP(KT_WRS, KT_WRS, IB_POLL_WORKQUEUE);
}

static const struct kt_setup kt_default_setup;

struct rdma_ep *kt_create_passive(const struct kt_setup *setup)
{
	const struct kt_setup *s = setup ?: &kt_default_setup;
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = s->net ?: &init_net,
		.src = kt_ptr(s->addr ?: kt_addr()),
		.ps = s->ps,
		.qp = s->server_qp ?: &qp,
		.channel = s->server_channel,
		.context = (void *)setup,
	};

	return rdma_ep_create(&attr);
}

struct rdma_ep *kt_create_active(const struct kt_setup *setup, const struct sockaddr_storage *dst)
{
	const struct kt_setup *s = setup ?: &kt_default_setup;
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = s->net ?: &init_net,
		.dst = kt_ptr(dst),
		.ps = s->ps,
		.timeout_ms = KT_CALL_MS,
		.qp = s->client_qp ?: &qp,
		.channel = s->client_channel,
		.context = (void *)setup,
	};

	return rdma_ep_create(&attr);
}

static void kt_end_ep(struct kt *t, void *ep)
{
	kt_expect_eq(t, 0, rdma_ep_destroy(ep));
}

struct rdma_ep *kt_own_ep(struct kt *t, const char *file, int line, const char *what,
			  struct rdma_ep *ep)
{
	kt_abort_unless(t, kt_check_eq(t, file, line, what, 0, kt_ptr_err(ep)));
	kt_defer(t, KT_ENDPOINTS, kt_end_ep, ep);
	return ep;
}

bool kt_check_no_ep(struct kt *t, const char *file, int line, const char *what, long want,
		    struct rdma_ep *ep)
{
	bool ok = kt_check_eq(t, file, line, what, want, kt_ptr_err(ep));

	if (!IS_ERR_OR_NULL(ep))
		rdma_ep_destroy(ep);
	return ok;
}

void kt_destroy(struct kt *t, struct rdma_ep *ep)
{
	if (ep)
		kt_undo(t, ep);
}

struct rdma_ep *kt_passive(struct kt *t, const struct kt_setup *setup)
{
	return kt_own(t, kt_create_passive(setup));
}

struct rdma_ep *kt_active_to(struct kt *t, const struct kt_setup *setup,
			     const struct sockaddr_storage *dst)
{
	return kt_own(t, kt_create_active(setup, dst));
}

struct rdma_ep *kt_active(struct kt *t, const struct kt_setup *setup, struct rdma_ep *listener)
{
	struct sockaddr_storage dst;

	kt_assert_eq(t, 0, rdma_ep_local_addr(listener, &dst));
	return kt_active_to(t, setup, &dst);
}

bool kt_iwarp(void)
{
	struct rdma_ep *ep = kt_create_passive(NULL);
	bool iwarp;

	if (IS_ERR(ep))
		return false;
	iwarp = rdma_protocol_iwarp(rdma_ep_device(ep), rdma_ep_port(ep));
	rdma_ep_destroy(ep);
	return iwarp;
}

void kt_not_on_iwarp(struct kt *t, const char *reason)
{
	if (!kt_iwarp())
		return;
	kt_skip(t, reason);
	kt_abort(t);
}

/* ---- parts */

static void kt_end_channel(struct kt *t, void *ch)
{
	/* A channel that still exists may call functions of this module. */
	if (!kt_expect_eq(t, 0, rdma_ep_channel_destroy(ch)))
		__module_get(THIS_MODULE);
}

struct rdma_ep_channel *kt_channel(struct kt *t, rdma_ep_event_fn fn, void *context)
{
	struct rdma_ep_channel *ch = rdma_ep_channel_create(fn, context);

	kt_assert_ok(t, ch);
	kt_defer(t, KT_REST, kt_end_channel, ch);
	return ch;
}

void kt_expect_no_event(struct kt *t, struct rdma_ep_channel *ch, unsigned int ms)
{
	struct rdma_ep_cm_event *event = rdma_ep_get_event(ch, ms);

	kt_expect_err(t, -ETIMEDOUT, event);
	rdma_ep_ack_event(event);
}

static void kt_end_pd(struct kt *t, void *pd)
{
	ib_dealloc_pd(pd);
}

struct ib_pd *kt_pd(struct kt *t, struct ib_device *dev)
{
	struct ib_pd *pd = ib_alloc_pd(dev, 0);

	kt_assert_ok(t, pd);
	kt_defer(t, KT_REST, kt_end_pd, pd);
	return pd;
}

static void kt_end_cq(struct kt *t, void *cq)
{
	ib_free_cq(cq);
}

struct ib_cq *kt_cq(struct kt *t, struct ib_device *dev, enum ib_poll_context ctx)
{
	struct ib_cq *cq = ib_alloc_cq(dev, NULL, 64, 0, ctx);

	kt_assert_ok(t, cq);
	kt_defer(t, KT_REST, kt_end_cq, cq);
	return cq;
}

/* ---- pairs */

void kt_pair_listen(struct kt *t, struct kt_pair *p, const struct kt_setup *setup)
{
	*p = (struct kt_pair) { .setup = setup ? *setup : kt_default_setup };
	p->listener = kt_passive(t, &p->setup);
	kt_assert_eq(t, 0, rdma_ep_listen(p->listener, 8));
}

void kt_pair_client(struct kt *t, struct kt_pair *p, const struct kt_setup *setup)
{
	kt_pair_listen(t, p, setup);
	p->client = kt_active(t, &p->setup, p->listener);
}

void kt_pair_request(struct kt *t, struct kt_pair *p)
{
	p->client = kt_active(t, &p->setup, p->listener);
	p->connect = kt_call(t, kt_call_connect, &(struct kt_args) {
		.ep = p->client, .param = p->setup.connect, .timeout_ms = KT_CALL_MS });
	p->server = kt_own(t, rdma_ep_get_request(p->listener, KT_CALL_MS));
}

void kt_pair_accept(struct kt *t, struct kt_pair *p)
{
	kt_assert_eq(t, 0, rdma_ep_accept(p->server, p->setup.accept, KT_CALL_MS));
	kt_abort_unless(t, kt_expect_call(t, p->connect, KT_CALL_MS, 0));
}

void kt_pair_connect(struct kt *t, struct kt_pair *p)
{
	kt_pair_request(t, p);
	kt_pair_accept(t, p);
}

void kt_pair_open(struct kt *t, struct kt_pair *p, const struct kt_setup *setup)
{
	kt_pair_listen(t, p, setup);
	kt_pair_connect(t, p);
}

void kt_pair_disconnect(struct kt *t, struct kt_pair *p)
{
	struct kt_call *call = kt_call(t, kt_call_disconnect, &(struct kt_args) {
		.ep = p->client, .timeout_ms = KT_CALL_MS });

	kt_expect_eq(t, 0, rdma_ep_disconnect(p->server, KT_CALL_MS));
	kt_expect_call(t, call, KT_CALL_MS, 0);
}

void kt_pair_close(struct kt *t, struct kt_pair *p)
{
	kt_destroy(t, p->client);
	kt_destroy(t, p->server);
	kt_destroy(t, p->listener);
}

/* ---- calls */

int kt_call_create(struct kt_args *a)
{
	a->child = rdma_ep_create(a->attr);
	return PTR_ERR_OR_ZERO(a->child);
}

int kt_call_get_request(struct kt_args *a)
{
	a->child = rdma_ep_get_request(a->ep, a->timeout_ms);
	return PTR_ERR_OR_ZERO(a->child);
}

int kt_call_connect(struct kt_args *a)
{
	return rdma_ep_connect(a->ep, a->param, a->timeout_ms);
}

int kt_call_accept(struct kt_args *a)
{
	return rdma_ep_accept(a->ep, a->param, a->timeout_ms);
}

int kt_call_disconnect(struct kt_args *a)
{
	return rdma_ep_disconnect(a->ep, a->timeout_ms);
}

/* Waits for all slots of a QP with the attributes kt_qp(). */
int kt_call_slots(struct kt_args *a)
{
	return rdma_ep_wait_slots(a->ep, KT_WRS, a->timeout_ms);
}

int kt_call_get_event(struct kt_args *a)
{
	a->event = rdma_ep_get_event(a->channel, a->timeout_ms);
	return PTR_ERR_OR_ZERO(a->event);
}

struct kt_call *kt_connect(struct kt *t, struct rdma_ep *ep, unsigned int timeout_ms)
{
	return kt_call(t, kt_call_connect,
		       &(struct kt_args) { .ep = ep, .timeout_ms = timeout_ms });
}

struct kt_client kt_client(struct kt *t, struct rdma_ep *listener, unsigned int timeout_ms)
{
	struct kt_client c = { .ep = kt_active(t, NULL, listener) };

	c.connect = kt_connect(t, c.ep, timeout_ms);
	kt_expect_waits(t, c.connect);
	return c;
}
