// SPDX-License-Identifier: GPL-2.0-only
/*
 * Silent peers, and calls that wait for them.
 */
#include <linux/slab.h>

#include "raw.h"

static int kt_raw_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kt_raw *raw = id->context;

	raw->last = event->event;
	if (event->event == RDMA_CM_EVENT_CONNECT_RESPONSE && raw->answer)
		rdma_accept(id, NULL);
	complete(&raw->event);
	return 0;
}

static int kt_raw_step(struct kt_raw *raw, int ret, enum rdma_cm_event_type want)
{
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&raw->event, msecs_to_jiffies(KT_CALL_MS)))
		return -ETIMEDOUT;
	return raw->last == want ? 0 : -EPROTO;
}

/* Returns when the request is on its way. */
int kt_raw_connect(struct kt_raw *raw, const struct sockaddr_storage *dst, bool answer)
{
	struct rdma_conn_param param = {
		.qp_num = 0x1234, .retry_count = 7, .rnr_retry_count = 7,
	};
	struct sockaddr_storage addr = *dst;
	int ret;

	*raw = (struct kt_raw) { .answer = answer };
	init_completion(&raw->event);
	raw->id = rdma_create_id(&init_net, kt_raw_handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(raw->id))
		return PTR_ERR(raw->id);
	ret = rdma_resolve_addr(raw->id, NULL, (struct sockaddr *)&addr, KT_CALL_MS);
	ret = kt_raw_step(raw, ret, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!ret)
		ret = kt_raw_step(raw, rdma_resolve_route(raw->id, KT_CALL_MS),
				  RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (!ret)
		ret = rdma_connect(raw->id, &param);
	if (ret)
		rdma_destroy_id(raw->id);
	return ret;
}

/* The removal of its device waits for this. */
void kt_raw_destroy(struct kt_raw *raw)
{
	rdma_destroy_id(raw->id);
}

/* ---- calls that wait */

const char *const kt_wait_names[KT_WAIT_NR] = {
	[KT_WAIT_GET_REQUEST] = "get_request",
	[KT_WAIT_CONNECT] = "connect",
	[KT_WAIT_ACCEPT] = "accept",
	[KT_WAIT_DISCONNECT] = "disconnect",
	[KT_WAIT_GET_EVENT] = "get_event",
	[KT_WAIT_CREATE] = "create",
};

static bool kt_waiter_listen(struct kt *t, struct kt_waiter *w)
{
	struct kt_setup setup = { .addr = &w->src };

	w->listener = kt_passive(&setup);
	return kt_expect_ok(t, w->listener) && kt_expect_eq(t, 0, rdma_ep_listen(w->listener, 8));
}

static bool kt_waiter_connect(struct kt *t, struct kt_waiter *w)
{
	struct kt_setup setup = {};

	w->fn = kt_call_connect;
	w->args.ep = kt_active(&setup, w->listener);
	return kt_expect_ok(t, w->args.ep);
}

/* The request of a silent client; if it @answers, then only once. */
static bool kt_waiter_raw(struct kt *t, struct kt_waiter *w, bool answer)
{
	struct sockaddr_storage dst;

	if (!kt_expect_eq(t, 0, rdma_ep_local_addr(w->listener, &dst)) ||
	    !kt_expect_eq(t, 0, kt_raw_connect(&w->raw, &dst, answer)))
		return false;
	w->has_raw = true;
	w->args.ep = rdma_ep_get_request(w->listener, KT_CALL_MS);
	return kt_expect_ok(t, w->args.ep);
}

static bool kt_waiter_accept(struct kt *t, struct kt_waiter *w)
{
	w->fn = kt_call_accept;
	return kt_waiter_raw(t, w, false);
}

static bool kt_waiter_disconnect(struct kt *t, struct kt_waiter *w)
{
	w->fn = kt_call_disconnect;
	return kt_waiter_raw(t, w, true) &&
	       kt_expect_eq(t, 0, rdma_ep_accept(w->args.ep, NULL, KT_CALL_MS));
}

static bool kt_waiter_get_event(struct kt *t, struct kt_waiter *w)
{
	w->fn = kt_call_get_event;
	w->channel = rdma_ep_channel_create(NULL, NULL);
	w->args.channel = w->channel;
	return kt_expect_ok(t, w->channel) &&
	       kt_expect_eq(t, 0, rdma_ep_migrate(w->listener, w->channel));
}

static bool kt_waiter_create(struct kt *t, struct kt_waiter *w)
{
	w->fn = kt_call_create;
	/* Next to the device's own address. */
	w->dst = kt_with_port(&w->src, 7);
	((u8 *)&((struct sockaddr_in *)&w->dst)->sin_addr)[3] = 99;
	w->attr = (struct rdma_ep_attr) {
		.net = &init_net,
		.src = kt_ptr(&w->src),
		.dst = kt_ptr(&w->dst),
		.timeout_ms = min(w->args.timeout_ms, 30000U),
	};
	w->args.attr = &w->attr;
	return true;
}

bool kt_waiter_open(struct kt *t, struct kt_waiter *w, enum kt_wait_kind kind,
		    const char *addr, unsigned int timeout_ms)
{
	bool ok;

	*w = (struct kt_waiter) {
		.kind = kind, .args.timeout_ms = timeout_ms,
		.src = kt_sa(addr, 0),
	};
	kt_note(t, "%s", kt_wait_names[kind]);
	/* A TCP connection: nothing to be ready for, or to answer. */
	if ((kind == KT_WAIT_ACCEPT || kind == KT_WAIT_DISCONNECT) && kt_iwarp())
		return false;
	/* Nobody else is on the device then. */
	ok = kind == KT_WAIT_CREATE || kt_waiter_listen(t, w);
	if (!ok)
		goto out;
	switch (kind) {
	case KT_WAIT_GET_REQUEST:
		w->fn = kt_call_get_request;
		w->args.ep = w->listener;
		break;
	case KT_WAIT_CONNECT:
		ok = kt_waiter_connect(t, w);
		break;
	case KT_WAIT_ACCEPT:
		ok = kt_waiter_accept(t, w);
		break;
	case KT_WAIT_DISCONNECT:
		ok = kt_waiter_disconnect(t, w);
		break;
	case KT_WAIT_GET_EVENT:
		ok = kt_waiter_get_event(t, w);
		break;
	default:
		ok = kt_waiter_create(t, w);
		break;
	}
out:
	if (!ok)
		kt_waiter_close(t, w);
	return ok;
}

void kt_waiter_close(struct kt *t, struct kt_waiter *w)
{
	if (w->args.ep != w->listener)
		kt_destroy(t, w->args.ep);
	if (w->kind == KT_WAIT_CREATE)
		kt_destroy(t, w->args.child);
	rdma_ep_ack_event(w->args.event);
	kt_destroy(t, w->listener);
	if (w->channel)
		kt_expect_eq(t, 0, rdma_ep_channel_destroy(w->channel));
	if (w->has_raw)
		kt_raw_destroy(&w->raw);
	w->has_raw = false;
}
