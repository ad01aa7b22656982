// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device goes away: under calls that wait, and under endpoints in every state.
 * Who waits hears of it within KT_PROMPT_MS; the removal waits for endpoints to be
 * destroyed, and then ends within KT_REMOVAL_MS.
 */
#include "raw.h"
#include "tests.h"

#define KT_REMOVAL_MS	15000

/* ---- under calls */

static void kt_removed_under(struct kt *t, enum kt_wait_kind kind)
{
	struct kt_call call, del;
	struct kt_waiter w;

	if (!kt_second_device(t))
		return;
	if (!kt_waiter_open(t, &w, kind, KT_ADDR2, RDMA_EP_FOREVER)) {
		kt_skip(t, "nothing to wait for on iWARP");
		goto out;
	}
	if (!kt_expect_eq(t, 0, kt_call_start(&call, w.fn, &w.args)))
		goto out_waiter;
	kt_expect_waits(t, &call);
	if (!kt_expect_eq(t, 0, kt_call_start(&del, kt_call_helper, "del"))) {
		kt_call_stop(&call);
		goto out_waiter;
	}
	/* A channel is of no device. */
	kt_expect_call(t, &call, KT_PROMPT_MS, kind == KT_WAIT_GET_EVENT ? 0 : -ENODEV);
	if (kind == KT_WAIT_GET_EVENT && !IS_ERR_OR_NULL(w.args.event)) {
		kt_expect_eq(t, RDMA_CM_EVENT_DEVICE_REMOVAL, w.args.event->cm.event);
		kt_expect_ptr(t, w.listener, w.args.event->ep);
	}
	/* It waits for its endpoints. */
	if (w.listener) {
		kt_expect_waits(t, &del);
		kt_expect(t, rdma_ep_device(w.listener));
	}
	kt_waiter_close(t, &w);
	kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
	goto out;

out_waiter:
	kt_waiter_close(t, &w);
out:
	kt_no_second_device(t);
}

static void kt_removed_get_request(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_GET_REQUEST);
}

static void kt_removed_connect(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_CONNECT);
}

static void kt_removed_accept(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_ACCEPT);
}

static void kt_removed_disconnect(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_DISCONNECT);
}

static void kt_removed_get_event(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_GET_EVENT);
}

static void kt_removed_create(struct kt *t)
{
	kt_removed_under(t, KT_WAIT_CREATE);
}

/* ---- under endpoints */

/* Everything but the accessors and what destroys. */
static void kt_expect_dead(struct kt *t, struct rdma_ep *ep)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };

	kt_expect_eq(t, -ENODEV, rdma_ep_listen(ep, 1));
	kt_expect_eq(t, -ENODEV, rdma_ep_connect(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_accept(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_reject(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_disconnect(ep, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_create_srq(ep, NULL, &srq));
}

/*
 * Its own channel says so, once. A driver may have ended the connection before, as
 * siw does with its netdev.
 */
static void kt_expect_removal(struct kt *t, struct rdma_ep *ep)
{
	struct rdma_ep_cm_event *event;

	event = rdma_ep_get_event(rdma_ep_channel(ep), KT_PROMPT_MS);
	if (!IS_ERR(event) && event->cm.event == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_ep_ack_event(event);
		event = rdma_ep_get_event(rdma_ep_channel(ep), KT_PROMPT_MS);
	}
	if (kt_expect_ok(t, event)) {
		kt_expect_eq(t, RDMA_CM_EVENT_DEVICE_REMOVAL, event->cm.event);
		kt_expect_ptr(t, ep, event->ep);
	}
	rdma_ep_ack_event(event);
	event = rdma_ep_get_event(rdma_ep_channel(ep), 300);
	kt_expect_err(t, -ETIMEDOUT, event);
	rdma_ep_ack_event(event);
}

static bool kt_remove(struct kt *t, struct kt_call *del, const char *how)
{
	return kt_expect_eq(t, 0, kt_call_start(del, kt_call_helper, (void *)how));
}

static void kt_removed_connected(struct kt *t, const char *how)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_setup setup = { .addr = &addr };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep *child;
	struct kt_io *io;
	struct kt_call del;
	struct kt_pair p;

	if (!kt_second_device(t))
		return;
	if (!kt_pair_open(t, &p, &setup))
		goto out;
	io = kt_io_create(t, rdma_ep_pd(p.client));
	if (!io || !kt_expect_eq(t, 0, kt_io_recv(io, p.client)) || !kt_remove(t, &del, how)) {
		kt_pair_close(t, &p);
		kt_io_destroy(t, io);
		goto out;
	}
	kt_expect_removal(t, p.client);
	kt_expect_removal(t, p.server);
	kt_expect_removal(t, p.listener);
	kt_expect_dead(t, p.client);
	kt_expect_dead(t, p.server);
	kt_expect_dead(t, p.listener);
	child = rdma_ep_get_request(p.listener, 0);
	kt_expect_err(t, -ENODEV, child);

	/* All that there was is there until it is given up. */
	kt_expect_waits(t, &del);
	kt_expect(t, rdma_ep_device(p.client));
	kt_expect(t, rdma_ep_qp(p.client));
	kt_expect(t, rdma_ep_pd(p.server));
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, -ENODEV, rdma_ep_create_qp(p.client, &qp));
	kt_io_destroy(t, io);
	kt_pair_close(t, &p);
	kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
out:
	kt_no_second_device(t);
}

static void kt_removed_connected_link(struct kt *t)
{
	kt_removed_connected(t, "del");
}

static void kt_removed_connected_netdev(struct kt *t)
{
	kt_removed_connected(t, "del-netdev");
}

/* Half a connection: the client waits, the server has not answered. */
static void kt_removed_half_open(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_setup setup = { .addr = &addr };
	struct kt_call del;
	struct kt_pair p;

	if (!kt_second_device(t))
		return;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	if (!kt_pair_request(t, &p)) {
		kt_destroy(t, p.listener);
		goto out;
	}
	if (!kt_remove(t, &del, "del")) {
		kt_destroy(t, p.server);
		kt_call_stop(&p.connect);
		goto out_pair;
	}
	kt_expect_call(t, &p.connect, KT_PROMPT_MS, -ENODEV);
	kt_expect_removal(t, p.server);
	kt_expect_dead(t, p.server);
	kt_expect_dead(t, p.client);
	kt_destroy(t, p.server);
	kt_destroy(t, p.listener);
	p.listener = NULL;
	kt_expect_waits(t, &del);
	kt_destroy(t, p.client);
	p.client = NULL;
	kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
out_pair:
	kt_destroy(t, p.client);
	kt_destroy(t, p.listener);
out:
	kt_no_second_device(t);
}

/* Requests that nobody has taken are nobody's, and must not hold it up. */
static void kt_removed_queued(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct rdma_ep_channel *ch = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = { .addr = &addr, .server_channel = ch };
	struct rdma_ep_cm_event *event;
	struct kt_args args = { .timeout_ms = RDMA_EP_FOREVER };
	struct kt_call del, call;
	struct kt_pair p;

	if (!kt_second_device(t))
		goto out_channel;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	args.ep = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, args.ep) ||
	    !kt_expect_eq(t, 0, kt_call_start(&call, kt_call_connect, &args)))
		goto out_listener;
	kt_expect_waits(t, &call);
	if (kt_remove(t, &del, "del")) {
		kt_expect_call(t, &call, KT_PROMPT_MS, -ENODEV);
		/* The request may be read before it is known to be dead. */
		event = rdma_ep_get_event(ch, KT_PROMPT_MS);
		kt_expect_ok(t, event);
		if (!IS_ERR(event))
			kt_expect_eq(t, RDMA_CM_EVENT_DEVICE_REMOVAL, event->cm.event);
		rdma_ep_ack_event(event);
		kt_destroy(t, args.ep);
		args.ep = NULL;
		kt_expect_waits(t, &del);
		kt_destroy(t, p.listener);
		p.listener = NULL;
		kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
	} else {
		kt_call_stop(&call);
	}
out_listener:
	kt_destroy(t, args.ep);
	kt_destroy(t, p.listener);
out:
	kt_no_second_device(t);
out_channel:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(ch));
}

/**
 * struct kt_told - what a callback was told
 * @removals: how often that the device goes away
 * @others: other events
 */
struct kt_told {
	atomic_t removals;
	atomic_t others;
};

static void kt_tell(const struct rdma_ep_cm_event *event, void *context)
{
	struct kt_told *told = context;

	if (event->cm.event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		atomic_inc(&told->removals);
	else
		atomic_inc(&told->others);
}

/* By callback: once for each endpoint, and none after it is destroyed. */
static void kt_removed_callback(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_setup setup = { .addr = &addr };
	struct rdma_ep_channel *ch;
	struct kt_told told = {};
	struct kt_call del;
	struct kt_pair p;
	bool removed;

	ch = rdma_ep_channel_create(kt_tell, &told);
	if (!kt_expect_ok(t, ch))
		return;
	if (!kt_second_device(t))
		goto out_channel;
	if (!kt_pair_open(t, &p, &setup))
		goto out;
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, ch));
	kt_expect_eq(t, 0, rdma_ep_migrate(p.server, ch));
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, ch));
	removed = kt_remove(t, &del, "del");
	if (removed) {
		kt_expect(t, kt_wait_for(atomic_read(&told.removals) == 3, KT_PROMPT_MS));
		kt_expect_waits(t, &del);
	}
	kt_expect_eq(t, 0, atomic_read(&told.others));
	/* (One that is destroyed may still disconnect the other.) */
	kt_pair_close(t, &p);
	if (removed) {
		kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
		kt_expect_eq(t, 3, atomic_read(&told.removals));
	}
out:
	kt_no_second_device(t);
out_channel:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(ch));
}

/* Own PD and CQs, an SRQ: all can be given up in the usual order. */
static void kt_removed_own_parts(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_setup setup = { .addr = &addr };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_call del;
	struct kt_pair p;
	struct ib_pd *pd;
	struct ib_cq *cq;

	if (!kt_second_device(t))
		return;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	p.client = kt_active(&setup, p.listener);
	pd = ib_alloc_pd(rdma_ep_device(p.listener), 0);
	cq = ib_alloc_cq(rdma_ep_device(p.listener), NULL, 64, 0, IB_POLL_WORKQUEUE);
	if (!kt_expect_ok(t, p.client) || !kt_expect_ok(t, pd) || !kt_expect_ok(t, cq))
		goto out_parts;
	qp.pd = pd;
	qp.init.send_cq = cq;
	qp.init.recv_cq = cq;
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_create_srq(p.client, pd, &srq));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	if (!kt_remove(t, &del, "del"))
		goto out_parts;
	kt_expect_removal(t, p.client);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(p.client));
	ib_free_cq(cq);
	ib_dealloc_pd(pd);
	kt_expect_waits(t, &del);
	kt_destroy(t, p.client);
	kt_destroy(t, p.listener);
	kt_expect_call(t, &del, KT_REMOVAL_MS, 0);
	goto out;

out_parts:
	kt_destroy(t, p.client);
	if (!IS_ERR(cq))
		ib_free_cq(cq);
	if (!IS_ERR(pd))
		ib_dealloc_pd(pd);
	kt_destroy(t, p.listener);
out:
	kt_no_second_device(t);
}

/* A wildcard listener is of no device, and serves the next one. */
static void kt_removed_wildcard(struct kt *t)
{
	struct sockaddr_storage any = kt_sa("0.0.0.0", 0), to, listen;
	struct kt_setup setup = { .addr = &any };
	struct kt_args args = { .timeout_ms = RDMA_EP_FOREVER };
	struct kt_args client = { .timeout_ms = KT_CALL_MS };
	struct kt_call wait, connect;
	struct kt_pair p;

	if (kt_iwarp()) {
		kt_skip(t, "siw can not bind a wildcard address's port twice");
		return;
	}
	if (!kt_second_device(t))
		return;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	args.ep = p.listener;
	if (!kt_expect_eq(t, 0, kt_call_start(&wait, kt_call_get_request, &args)))
		goto out_listener;
	kt_expect_eq(t, 0, kt_helper("del"));
	kt_expect_waits(t, &wait);
	kt_no_second_device(t);
	kt_second_device(t);
	kt_expect_eq(t, 0, rdma_ep_local_addr(p.listener, &listen));
	to = kt_sa(KT_ADDR2, kt_port(&listen));
	client.ep = kt_active_to(&setup, &to);
	if (kt_expect_ok(t, client.ep) && !kt_call_start(&connect, kt_call_connect, &client)) {
		if (kt_expect_call(t, &wait, KT_CALL_MS, 0)) {
			kt_expect_eq(t, 0, rdma_ep_accept(args.child, NULL, KT_CALL_MS));
			kt_expect_call(t, &connect, KT_CALL_MS, 0);
			kt_destroy(t, args.child);
		} else {
			kt_call_stop(&connect);
		}
	} else {
		kt_call_stop(&wait);
	}
	kt_destroy(t, client.ep);
out_listener:
	kt_destroy(t, p.listener);
out:
	kt_no_second_device(t);
}

const struct kt_test kt_removal_tests[] = {
	{ "removed_under_get_request", kt_removed_get_request },
	{ "removed_under_connect", kt_removed_connect },
	{ "removed_under_accept", kt_removed_accept },
	{ "removed_under_disconnect", kt_removed_disconnect },
	{ "removed_under_get_event", kt_removed_get_event },
	{ "removed_under_create", kt_removed_create },
	{ "removed_connected", kt_removed_connected_link },
	{ "removed_connected_netdev", kt_removed_connected_netdev },
	{ "removed_half_open", kt_removed_half_open },
	{ "removed_queued_request", kt_removed_queued },
	{ "removed_callback", kt_removed_callback },
	{ "removed_own_pd_cq_srq", kt_removed_own_parts },
	{ "removed_wildcard_listener", kt_removed_wildcard, 120 },
	{}
};
