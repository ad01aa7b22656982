// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removal of the device during calls that wait, and with endpoints in every state. A call
 * returns within KT_PROMPT_MS. The removal waits until all endpoints are destroyed, and then
 * ends within KT_REMOVAL_MS.
 */
#include <rdma/ib_sa.h>

#include "raw.h"
#include "tests.h"

#define KT_REMOVAL_MS	15000

/* ---- under calls */

static void kt_removed_under(struct kt *t)
{
	enum kt_wait_kind kind = kt_arg(t);
	struct kt_call *call, *removal;
	struct kt_waiter w;

	kt_second_device(t);
	if (!kt_waiter_open(t, &w, kind, KT_ADDR2, RDMA_EP_FOREVER)) {
		kt_skip(t, "nothing to wait for on iWARP");
		return;
	}
	call = kt_call(t, w.fn, &w.args);
	kt_expect_waits(t, call);
	removal = kt_remove(t, "del");
	/* A channel belongs to no device, so the removal is an event. */
	kt_expect_call(t, call, KT_PROMPT_MS, kind == KT_WAIT_GET_EVENT ? 0 : -ENODEV);
	w.args = call->args;
	if (kind == KT_WAIT_GET_EVENT && !IS_ERR_OR_NULL(w.args.event)) {
		kt_expect_eq(t, RDMA_CM_EVENT_DEVICE_REMOVAL, w.args.event->cm.event);
		kt_expect_ptr(t, w.listener, w.args.event->ep);
	}
	/* The removal waits for the endpoints of the device. */
	if (w.listener) {
		kt_expect_waits(t, removal);
		kt_expect(t, rdma_ep_device(w.listener));
	}
	kt_waiter_close(t, &w);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/* ---- under endpoints */

/* Calls all functions except the accessors and those that destroy. */
static void kt_expect_dead(struct kt *t, struct rdma_ep *ep)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct sa_path_rec path;

	kt_expect_eq(t, -ENODEV, rdma_ep_listen(ep, 1));
	kt_expect_eq(t, -ENODEV, rdma_ep_connect(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_accept(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_reject(ep, NULL, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_disconnect(ep, 0));
	kt_expect_eq(t, -ENODEV, rdma_ep_create_srq(ep, NULL, &srq));
	kt_expect_eq(t, -ENODEV, rdma_ep_path(ep, &path));
	kt_expect_eq(t, -ENODEV, rdma_ep_gids(ep, NULL, NULL));
	kt_expect(t, rdma_ep_status(ep));
}

/*
 * The endpoint's own channel reports the removal once. A driver may end the connection first,
 * as siw does with its netdev.
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

static void kt_removed_connected(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_call *removal;
	struct kt_pair p;
	struct kt_io *io;

	kt_second_device(t);
	kt_pair_open(t, &p, &(struct kt_setup) { .addr = &addr });
	io = kt_io_create(t, rdma_ep_pd(p.client));
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	removal = kt_remove(t, kt_arg(t) ? "del-netdev" : "del");
	kt_expect_removal(t, p.client);
	kt_expect_removal(t, p.server);
	kt_expect_removal(t, p.listener);
	kt_expect_dead(t, p.client);
	kt_expect_dead(t, p.server);
	kt_expect_dead(t, p.listener);
	kt_expect_no_ep(t, -ENODEV, rdma_ep_get_request(p.listener, 0));

	/* All objects exist until the test destroys them. */
	kt_expect_waits(t, removal);
	kt_expect(t, rdma_ep_device(p.client));
	kt_expect(t, rdma_ep_qp(p.client));
	kt_expect(t, rdma_ep_pd(p.server));
	kt_expect_eq(t, 0, kt_io_recv(io, p.client));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, -ENODEV, rdma_ep_create_qp(p.client, &qp));
	kt_undo(t, io);
	kt_pair_close(t, &p);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/* An unconnected endpoint can leave its group, but joins no other one. */
static void kt_removed_ud(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0), group = kt_sa("239.1.2.3", 0);
	struct rdma_ep *ep;
	struct kt_call *removal;

	kt_not_on_iwarp(t, "iWARP has no UD");
	kt_second_device(t);
	ep = kt_passive(t, &(struct kt_setup) { .addr = &addr, .ps = RDMA_PS_UDP });
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&group), true, KT_CALL_MS));
	removal = kt_remove(t, "del");
	kt_expect_removal(t, ep);
	kt_expect_dead(t, ep);
	kt_expect_eq(t, 0, rdma_ep_leave(ep, kt_ptr(&group)));
	kt_expect_eq(t, -EINVAL, rdma_ep_leave(ep, kt_ptr(&group)));
	kt_expect_eq(t, -ENODEV, rdma_ep_join(ep, kt_ptr(&group), true, 0));
	kt_expect_waits(t, removal);
	kt_destroy(t, ep);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/* A client waits for a server that has not answered. */
static void kt_removed_half_open(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_call *removal;
	struct kt_pair p;

	kt_second_device(t);
	kt_pair_listen(t, &p, &(struct kt_setup) { .addr = &addr });
	kt_pair_request(t, &p);
	removal = kt_remove(t, "del");
	kt_expect_call(t, p.connect, KT_PROMPT_MS, -ENODEV);
	kt_expect_removal(t, p.server);
	kt_expect_dead(t, p.server);
	kt_expect_dead(t, p.client);
	kt_destroy(t, p.server);
	kt_destroy(t, p.listener);
	kt_expect_waits(t, removal);
	kt_destroy(t, p.client);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/* The removal does not wait for requests that are unread. */
static void kt_removed_queued(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct rdma_ep_cm_event *event;
	struct kt_call *removal;
	struct kt_client c;
	struct kt_pair p;

	kt_second_device(t);
	kt_pair_listen(t, &p, &(struct kt_setup) { .addr = &addr, .server_channel = ch });
	c = kt_client(t, p.listener, RDMA_EP_FOREVER);
	removal = kt_remove(t, "del");
	kt_expect_call(t, c.connect, KT_PROMPT_MS, -ENODEV);
	/* rdma_ep_get_event() drops the request, as its device is removed. */
	event = rdma_ep_get_event(ch, KT_PROMPT_MS);
	kt_assert_ok(t, event);
	kt_expect_eq(t, RDMA_CM_EVENT_DEVICE_REMOVAL, event->cm.event);
	rdma_ep_ack_event(event);
	kt_destroy(t, c.ep);
	kt_expect_waits(t, removal);
	kt_destroy(t, p.listener);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/**
 * struct kt_reports - events of a callback
 * @removals: number of events of the removal of the device
 * @others: number of other events, except a first DISCONNECTED of an endpoint on iWARP
 * @iwarp: the device is iWARP, where the removal of the peer disconnects
 * @seen: endpoints that have had an event
 */
struct kt_reports {
	atomic_t removals;
	atomic_t others;
	bool iwarp;
	struct rdma_ep *seen[3];
};

static bool kt_first_report(struct kt_reports *reports, struct rdma_ep *ep)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(reports->seen) && reports->seen[i]; i++)
		if (reports->seen[i] == ep)
			return false;
	if (i < ARRAY_SIZE(reports->seen))
		reports->seen[i] = ep;
	return true;
}

static void kt_report(const struct rdma_ep_cm_event *event, void *context)
{
	struct kt_reports *reports = context;
	bool first = kt_first_report(reports, event->ep);

	if (event->cm.event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		atomic_inc(&reports->removals);
	else if (!first || !reports->iwarp || event->cm.event != RDMA_CM_EVENT_DISCONNECTED)
		atomic_inc(&reports->others);
}

/* The callback is called once for each endpoint, and not after its destruction. */
static void kt_removed_callback(struct kt *t)
{
	struct kt_reports *reports = kt_zalloc(t, sizeof(*reports));
	struct rdma_ep_channel *ch = kt_channel(t, kt_report, reports);
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_call *removal;
	struct kt_pair p;

	kt_second_device(t);
	kt_pair_open(t, &p, &(struct kt_setup) { .addr = &addr });
	reports->iwarp = kt_iwarp();
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, ch));
	kt_expect_eq(t, 0, rdma_ep_migrate(p.server, ch));
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, ch));
	removal = kt_remove(t, "del");
	kt_expect(t, kt_wait_for(atomic_read(&reports->removals) == 3, KT_PROMPT_MS));
	kt_expect_waits(t, removal);
	kt_expect_eq(t, 0, atomic_read(&reports->others));
	/* Destroying one endpoint may disconnect the other. */
	kt_pair_close(t, &p);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
	kt_expect_eq(t, 3, atomic_read(&reports->removals));
}

/* The caller's PD and CQs, and an SRQ, can be destroyed in the usual order. */
static void kt_removed_own_parts(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_call *removal;
	struct kt_pair p;

	kt_second_device(t);
	kt_pair_client(t, &p, &(struct kt_setup) { .addr = &addr });
	qp.pd = kt_pd(t, rdma_ep_device(p.listener));
	qp.init.send_cq = kt_cq(t, rdma_ep_device(p.listener), IB_POLL_WORKQUEUE);
	qp.init.recv_cq = qp.init.send_cq;
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_create_srq(p.client, qp.pd, &srq));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	removal = kt_remove(t, "del");
	kt_expect_removal(t, p.client);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	kt_expect_eq(t, 0, rdma_ep_destroy_srq(p.client));
	kt_undo(t, qp.init.send_cq);
	kt_undo(t, qp.pd);
	kt_expect_waits(t, removal);
	kt_destroy(t, p.client);
	kt_destroy(t, p.listener);
	kt_expect_call(t, removal, KT_REMOVAL_MS, 0);
}

/* A wildcard listener belongs to no device, and serves the next device. */
static void kt_removed_wildcard(struct kt *t)
{
	struct sockaddr_storage any = kt_sa("0.0.0.0", 0), to, listen;
	struct kt_call *wait, *connect;
	struct kt_pair p;

	kt_not_on_iwarp(t, "siw cannot bind a wildcard address's port twice");
	kt_second_device(t);
	kt_pair_listen(t, &p, &(struct kt_setup) { .addr = &any });
	wait = kt_call(t, kt_call_get_request, &(struct kt_args) {
		.ep = p.listener, .timeout_ms = RDMA_EP_FOREVER });
	kt_expect_eq(t, 0, kt_helper("del"));
	kt_expect_waits(t, wait);
	kt_expect_eq(t, 0, kt_helper("clean"));
	kt_assert_eq(t, 0, kt_helper("add"));
	kt_expect_eq(t, 0, rdma_ep_local_addr(p.listener, &listen));
	to = kt_sa(KT_ADDR2, kt_port(&listen));
	connect = kt_connect(t, kt_active_to(t, NULL, &to), KT_CALL_MS);
	kt_abort_unless(t, kt_expect_call(t, wait, KT_CALL_MS, 0));
	p.server = kt_own(t, wait->args.child);
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
	kt_expect_call(t, connect, KT_CALL_MS, 0);
}

const struct kt_test kt_removal_tests[] = {
	{ "removed_under_get_request", kt_removed_under, .arg = KT_WAIT_GET_REQUEST },
	{ "removed_under_connect", kt_removed_under, .arg = KT_WAIT_CONNECT },
	{ "removed_under_accept", kt_removed_under, .arg = KT_WAIT_ACCEPT },
	{ "removed_under_wait_slots", kt_removed_under, .arg = KT_WAIT_SLOTS },
	{ "removed_under_disconnect", kt_removed_under, .arg = KT_WAIT_DISCONNECT },
	{ "removed_under_get_event", kt_removed_under, .arg = KT_WAIT_GET_EVENT },
	{ "removed_under_create", kt_removed_under, .arg = KT_WAIT_CREATE },
	{ "removed_connected", kt_removed_connected },
	{ "removed_connected_netdev", kt_removed_connected, .arg = true },
	{ "removed_unconnected", kt_removed_ud },
	{ "removed_half_open", kt_removed_half_open },
	{ "removed_queued_request", kt_removed_queued },
	{ "removed_callback", kt_removed_callback },
	{ "removed_own_pd_cq_srq", kt_removed_own_parts },
	{ "removed_wildcard_listener", kt_removed_wildcard, 120 },
	{}
};
