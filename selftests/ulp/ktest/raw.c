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

static void kt_raw_step(struct kt *t, struct kt_raw *raw, int ret, enum rdma_cm_event_type want)
{
	kt_assert_eq(t, 0, ret);
	kt_assert(t, wait_for_completion_timeout(&raw->event, msecs_to_jiffies(KT_CALL_MS)));
	kt_assert_eq(t, want, raw->last);
}

static void kt_raw_end(struct kt *t, void *arg)
{
	rdma_destroy_id(((struct kt_raw *)arg)->id);
}

struct kt_raw *kt_raw_connect(struct kt *t, const struct sockaddr_storage *dst, bool answer)
{
	struct rdma_conn_param param = { .qp_num = 0x1234, .retry_count = 7, .rnr_retry_count = 7 };
	struct kt_raw *raw = kt_zalloc(t, sizeof(*raw));
	struct sockaddr_storage addr = *dst;

	raw->answer = answer;
	init_completion(&raw->event);
	raw->id = rdma_create_id(&init_net, kt_raw_handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	kt_assert_ok(t, raw->id);
	kt_defer(t, KT_ENDPOINTS, kt_raw_end, raw);
	kt_raw_step(t, raw, rdma_resolve_addr(raw->id, NULL, (struct sockaddr *)&addr, KT_CALL_MS),
		    RDMA_CM_EVENT_ADDR_RESOLVED);
	kt_raw_step(t, raw, rdma_resolve_route(raw->id, KT_CALL_MS), RDMA_CM_EVENT_ROUTE_RESOLVED);
	kt_assert_eq(t, 0, rdma_connect(raw->id, &param));
	return raw;
}

/* ---- calls that wait */

const char *const kt_wait_names[KT_WAIT_NR] = {
	[KT_WAIT_GET_REQUEST] = "get_request",
	[KT_WAIT_CONNECT] = "connect",
	[KT_WAIT_ACCEPT] = "accept",
	[KT_WAIT_SLOTS] = "wait_slots",
	[KT_WAIT_DISCONNECT] = "disconnect",
	[KT_WAIT_GET_EVENT] = "get_event",
	[KT_WAIT_CREATE] = "create",
};

/* @answer: the silent client confirms the connection, but answers nothing later */
static struct rdma_ep *kt_raw_request(struct kt *t, struct kt_waiter *w, bool answer)
{
	struct sockaddr_storage dst;

	kt_assert_eq(t, 0, rdma_ep_local_addr(w->listener, &dst));
	w->raw = kt_raw_connect(t, &dst, answer);
	return kt_own(t, rdma_ep_get_request(w->listener, KT_CALL_MS));
}

/* Attributes of a connection to a missing neighbour, in the subnet of the device */
static void kt_waiter_attr(struct kt_waiter *w)
{
	w->dst = kt_with_port(&w->src, 7);
	((u8 *)&((struct sockaddr_in *)&w->dst)->sin_addr)[3] = 99;
	w->attr = (struct rdma_ep_attr) {
		.net = &init_net,
		.src = kt_ptr(&w->src),
		.dst = kt_ptr(&w->dst),
		.timeout_ms = min(w->args.timeout_ms, 30000U),
	};
	w->args.attr = &w->attr;
}

bool kt_waiter_open(struct kt *t, struct kt_waiter *w, enum kt_wait_kind kind,
		    const char *addr, unsigned int timeout_ms)
{
	*w = (struct kt_waiter) {
		.kind = kind, .args.timeout_ms = timeout_ms,
		.src = kt_sa(addr, 0),
	};
	kt_note("%s", kt_wait_names[kind]);
	/* iWARP has a TCP connection, so the peer need not confirm or answer. */
	if ((kind == KT_WAIT_ACCEPT || kind == KT_WAIT_DISCONNECT) && kt_iwarp())
		return false;
	/* KT_WAIT_CREATE is to be the only user of the device. */
	if (kind != KT_WAIT_CREATE) {
		w->listener = kt_passive(t, &(struct kt_setup) { .addr = &w->src });
		kt_assert_eq(t, 0, rdma_ep_listen(w->listener, 8));
	}
	switch (kind) {
	case KT_WAIT_GET_REQUEST:
		w->fn = kt_call_get_request;
		w->args.ep = w->listener;
		break;
	case KT_WAIT_CONNECT:
		w->fn = kt_call_connect;
		w->args.ep = kt_active(t, NULL, w->listener);
		break;
	case KT_WAIT_ACCEPT:
		w->fn = kt_call_accept;
		w->args.ep = kt_raw_request(t, w, false);
		break;
	case KT_WAIT_SLOTS:
		w->fn = kt_call_slots;
		w->args.ep = kt_active(t, NULL, w->listener);
		kt_assert(t, rdma_ep_try_slots(w->args.ep, KT_WRS));
		break;
	case KT_WAIT_DISCONNECT:
		w->fn = kt_call_disconnect;
		w->args.ep = kt_raw_request(t, w, true);
		kt_assert_eq(t, 0, rdma_ep_accept(w->args.ep, NULL, KT_CALL_MS));
		break;
	case KT_WAIT_GET_EVENT:
		w->fn = kt_call_get_event;
		w->channel = kt_channel(t, NULL, NULL);
		w->args.channel = w->channel;
		kt_assert_eq(t, 0, rdma_ep_migrate(w->listener, w->channel));
		break;
	default:
		w->fn = kt_call_create;
		kt_waiter_attr(w);
		break;
	}
	return true;
}

void kt_waiter_close(struct kt *t, struct kt_waiter *w)
{
	if (w->args.ep != w->listener)
		kt_destroy(t, w->args.ep);
	if (w->kind == KT_WAIT_CREATE && !IS_ERR_OR_NULL(w->args.child))
		rdma_ep_destroy(w->args.child);
	rdma_ep_ack_event(w->args.event);
	kt_destroy(t, w->listener);
	if (w->channel)
		kt_undo(t, w->channel);
	if (w->raw)
		kt_undo(t, w->raw);
}
