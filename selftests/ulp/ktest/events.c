// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints with channels: queued events and callbacks, what they bring, and in
 * which order.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <net/arp.h>
#include <net/neighbour.h>

#include "tests.h"

/* The next event is this one; or NULL. */
static struct rdma_ep_cm_event *kt_next(struct kt *t, int line, struct rdma_ep_channel *ch,
					struct rdma_ep *ep, enum rdma_cm_event_type type)
{
	struct rdma_ep_cm_event *event = rdma_ep_get_event(ch, KT_CALL_MS);
	const char *file = kbasename(__FILE__);

	if (!kt_check_eq(t, file, line, "rdma_ep_get_event()", 0, kt_ptr_err(event)))
		return NULL;
	if (kt_check_ptr(t, file, line, "event->ep", ep, event->ep) &
	    kt_check_eq(t, file, line, "event->cm.event", type, event->cm.event))
		return event;
	rdma_ep_ack_event(event);
	return NULL;
}

#define kt_expect_event(t, ch, ep, type) kt_next(t, __LINE__, ch, ep, type)

static void kt_expect_no_event(struct kt *t, struct rdma_ep_channel *ch)
{
	struct rdma_ep_cm_event *event = rdma_ep_get_event(ch, 0);

	kt_expect_err(t, -ETIMEDOUT, event);
	rdma_ep_ack_event(event);
}

/* Nothing is waited for: two channels tell all that there is to know. */
static void kt_event_queue(struct kt *t)
{
	struct rdma_ep_channel *cch = rdma_ep_channel_create(NULL, NULL);
	struct rdma_ep_channel *sch = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = {
		.client_channel = cch, .server_channel = sch,
	};
	struct rdma_conn_param param = {
		.private_data = "knock", .private_data_len = 5,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_ep_cm_event *event;
	struct kt_pair p;

	if (!kt_expect_ok(t, cch) || !kt_expect_ok(t, sch))
		goto out;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	kt_expect_ptr(t, sch, rdma_ep_channel(p.listener));
	p.client = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, p.client))
		goto out_listener;
	kt_expect_no_event(t, cch);
	kt_expect_eq(t, 0, rdma_ep_connect(p.client, &param, 0));
	event = kt_expect_event(t, sch, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!event || !kt_expect_ok(t, event->child))
		goto out_client;
	p.server = event->child;
	kt_expect(t, event->cm.param.conn.private_data_len >= 5 &&
		  !memcmp(event->cm.param.conn.private_data, "knock", 5));
	rdma_ep_ack_event(event);
	kt_expect_ptr(t, sch, rdma_ep_channel(p.server));
	kt_expect_ptr(t, rdma_ep_context(p.listener), rdma_ep_context(p.server));
	/* With the attributes that the listener was made with. */
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.server));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.server, NULL));
	kt_expect(t, rdma_ep_qp(p.server));
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, 0));
	event = kt_expect_event(t, cch, p.client, RDMA_CM_EVENT_ESTABLISHED);
	kt_expect(t, event && !event->child);
	rdma_ep_ack_event(event);
	event = kt_expect_event(t, sch, p.server, RDMA_CM_EVENT_ESTABLISHED);
	rdma_ep_ack_event(event);

	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, 0));
	event = kt_expect_event(t, sch, p.server, RDMA_CM_EVENT_DISCONNECTED);
	rdma_ep_ack_event(event);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, 0));
	event = kt_expect_event(t, cch, p.client, RDMA_CM_EVENT_DISCONNECTED);
	rdma_ep_ack_event(event);
	kt_destroy(t, p.server);
	/* In use. */
	kt_expect_eq(t, -EBUSY, rdma_ep_channel_destroy(cch));
	kt_expect_eq(t, -EBUSY, rdma_ep_channel_destroy(sch));
out_client:
	kt_destroy(t, p.client);
out_listener:
	kt_destroy(t, p.listener);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(cch));
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(sch));
}

/* An event is its reader's until he gives it back, whatever becomes of the rest. */
static void kt_event_outlives(struct kt *t)
{
	struct rdma_ep_channel *ch = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = { .server_channel = ch };
	struct rdma_conn_param param = {
		.private_data = "still here", .private_data_len = 10,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_ep_cm_event *event;
	struct kt_args args = { .param = &param, .timeout_ms = KT_CALL_MS };
	struct kt_call call;
	struct kt_pair p;

	if (!kt_expect_ok(t, ch) || !kt_pair_listen(t, &p, &setup))
		goto out;
	args.ep = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, args.ep) && !kt_call_start(&call, kt_call_connect, &args)) {
		event = kt_expect_event(t, ch, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
		if (event) {
			kt_destroy(t, event->child);
			kt_destroy(t, p.listener);
			p.listener = NULL;
			kt_expect(t, !memcmp(event->cm.param.conn.private_data, "still here", 10));
			rdma_ep_ack_event(event);
		}
		kt_expect_call(t, &call, KT_CALL_MS, -ECONNREFUSED);
	}
	kt_destroy(t, args.ep);
	kt_destroy(t, p.listener);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(ch));
}

/* Requests that nobody has read are refused with their listener. */
static void kt_event_unread(struct kt *t)
{
	struct rdma_ep_channel *ch = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = { .server_channel = ch };
	struct kt_args args[2] = {};
	struct kt_call call[2];
	struct kt_pair p;
	int i, n = 0;

	if (!kt_expect_ok(t, ch) || !kt_pair_listen(t, &p, &setup))
		goto out;
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		args[i].timeout_ms = 2 * KT_CALL_MS;
		args[i].ep = kt_active(&setup, p.listener);
		if (!kt_expect_ok(t, args[i].ep) ||
		    kt_call_start(&call[i], kt_call_connect, &args[i]))
			break;
		n++;
	}
	for (i = 0; i < n; i++)
		kt_expect_waits(t, &call[i]);
	kt_destroy(t, p.listener);
	for (i = 0; i < n; i++)
		kt_expect_call(t, &call[i], KT_PROMPT_MS, -ECONNREFUSED);
	for (i = 0; i < ARRAY_SIZE(args); i++)
		kt_destroy(t, args[i].ep);
	kt_expect_no_event(t, ch);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(ch));
}

/* More than the backlog have to try again, and are taken then. */
static void kt_backlog(struct kt *t)
{
	struct kt_setup setup = {};
	struct kt_args args[2] = {};
	struct rdma_ep *listener, *server;
	struct kt_call call[2];
	int i, n = 0;

	if (kt_iwarp()) {
		kt_skip(t, "siw has a backlog of its own");
		return;
	}
	listener = kt_passive(&setup);
	if (!kt_expect_ok(t, listener))
		return;
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(listener, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(listener, -1));
	kt_expect_eq(t, 0, rdma_ep_listen(listener, 1));
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		args[i].timeout_ms = 6 * KT_CALL_MS;
		args[i].ep = kt_active(&setup, listener);
		if (!kt_expect_ok(t, args[i].ep) ||
		    kt_call_start(&call[i], kt_call_connect, &args[i]))
			break;
		n++;
		kt_expect_waits(t, &call[i]);
	}
	for (i = 0; i < n; i++) {
		server = rdma_ep_get_request(listener, 3 * KT_CALL_MS);
		if (!kt_expect_ok(t, server))
			break;
		kt_expect_eq(t, 0, rdma_ep_accept(server, NULL, KT_CALL_MS));
		kt_expect_call(t, &call[i], KT_CALL_MS, 0);
		kt_destroy(t, server);
		/* The other one has not been let in. */
		if (!i) {
			server = rdma_ep_get_request(listener, 0);
			kt_expect_err(t, -ETIMEDOUT, server);
			kt_destroy(t, server);
		}
	}
	for (; i < n; i++)
		kt_call_stop(&call[i]);
	for (i = 0; i < ARRAY_SIZE(args); i++)
		kt_destroy(t, args[i].ep);
	kt_destroy(t, listener);
}

#define KT_SEEN	16

/**
 * struct kt_seen - what a callback has seen
 * @n: number of events
 * @event: the first of them
 * @ep: whom they are about
 * @child: of the last connection request
 * @busy: callbacks that run
 * @overlaps: it was called while it ran
 */
struct kt_seen {
	atomic_t n;
	enum rdma_cm_event_type event[KT_SEEN];
	struct rdma_ep *ep[KT_SEEN];
	struct rdma_ep *child;
	atomic_t busy;
	atomic_t overlaps;
};

static void kt_see(const struct rdma_ep_cm_event *event, void *context)
{
	struct kt_seen *seen = context;
	int n = atomic_read(&seen->n);

	if (atomic_inc_return(&seen->busy) > 1)
		atomic_inc(&seen->overlaps);
	if (n < KT_SEEN) {
		seen->event[n] = event->cm.event;
		seen->ep[n] = event->ep;
	}
	if (event->child) {
		/* Allowed here. */
		rdma_ep_set_context(event->child, seen);
		seen->child = event->child;
	}
	schedule_timeout_idle(msecs_to_jiffies(20));
	atomic_dec(&seen->busy);
	atomic_inc(&seen->n);
}

static void kt_event_callback(struct kt *t)
{
	static const enum rdma_cm_event_type client_events[] = {
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
	};
	static const enum rdma_cm_event_type server_events[] = {
		RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_DISCONNECTED,
	};
	struct kt_seen c = {}, s = {};
	struct rdma_ep_channel *cch = rdma_ep_channel_create(kt_see, &c);
	struct rdma_ep_channel *sch = rdma_ep_channel_create(kt_see, &s);
	struct kt_setup setup = {
		.client_channel = cch, .server_channel = sch,
	};
	struct rdma_ep_cm_event *event;
	struct kt_pair p;
	int i;

	if (!kt_expect_ok(t, cch) || !kt_expect_ok(t, sch))
		goto out;
	event = rdma_ep_get_event(cch, 0);
	kt_expect_err(t, -EINVAL, event);
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	p.client = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, p.client))
		goto out_listener;
	kt_expect_eq(t, 0, rdma_ep_connect(p.client, NULL, 0));
	if (!kt_expect(t, kt_wait_for(atomic_read(&s.n) == 1, KT_CALL_MS)))
		goto out_client;
	kt_expect_ptr(t, &s, rdma_ep_context(s.child));
	kt_expect_eq(t, 0, rdma_ep_create_qp(s.child, NULL));
	kt_expect_eq(t, 0, rdma_ep_accept(s.child, NULL, 0));
	kt_expect(t, kt_wait_for(atomic_read(&s.n) == 2 && atomic_read(&c.n) == 1, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, 0));
	kt_expect(t, kt_wait_for(atomic_read(&s.n) == 3, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_disconnect(s.child, 0));
	kt_expect(t, kt_wait_for(atomic_read(&c.n) == 2, KT_CALL_MS));
	for (i = 0; i < ARRAY_SIZE(client_events); i++) {
		kt_expect_eq(t, client_events[i], c.event[i]);
		kt_expect_ptr(t, p.client, c.ep[i]);
	}
	for (i = 0; i < ARRAY_SIZE(server_events); i++) {
		kt_expect_eq(t, server_events[i], s.event[i]);
		kt_expect_ptr(t, i ? s.child : p.listener, s.ep[i]);
	}
out_client:
	kt_destroy(t, s.child);
	kt_destroy(t, p.client);
out_listener:
	kt_destroy(t, p.listener);
	/* No callback after that, nor one more event than there should be. */
	kt_expect_eq(t, 3, atomic_read(&s.n));
	kt_expect_eq(t, 2, atomic_read(&c.n));
	kt_expect_eq(t, 0, atomic_read(&c.overlaps));
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(cch));
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(sch));
}

/* ---- migration */

/* Two connection requests for a listener; how many there are. */
static int kt_two_clients(struct kt *t, const struct kt_setup *setup,
			  struct rdma_ep *listener, struct kt_args *args, struct kt_call *call)
{
	int i;

	for (i = 0; i < 2; i++) {
		args[i] = (struct kt_args) { .timeout_ms = 3 * KT_CALL_MS };
		args[i].ep = kt_active(setup, listener);
		if (!kt_expect_ok(t, args[i].ep))
			break;
		if (kt_call_start(&call[i], kt_call_connect, &args[i])) {
			kt_destroy(t, args[i].ep);
			break;
		}
		kt_expect_waits(t, &call[i]);
	}
	return i;
}

/* Synchronous -> queue -> callback -> synchronous, requests come along. */
static void kt_migrate(struct kt *t)
{
	struct kt_seen seen = {};
	struct rdma_ep_channel *queue = rdma_ep_channel_create(NULL, NULL);
	struct rdma_ep_channel *calls = rdma_ep_channel_create(kt_see, &seen);
	struct kt_setup setup = {};
	struct rdma_ep_cm_event *event;
	struct rdma_ep *server[3] = {};
	struct kt_args args[2];
	struct kt_call call[2];
	struct kt_pair p;
	int i, n = 0;

	if (!kt_expect_ok(t, queue) || !kt_expect_ok(t, calls) || !kt_pair_listen(t, &p, &setup))
		goto out;
	n = kt_two_clients(t, &setup, p.listener, args, call);
	if (!kt_expect_eq(t, 2, n))
		goto out_eps;

	/* The first is read from a queue, */
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, queue));
	kt_expect_ptr(t, queue, rdma_ep_channel(p.listener));
	event = kt_expect_event(t, queue, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (event)
		server[0] = event->child;
	rdma_ep_ack_event(event);
	/* the second comes in a callback, before migration is over. */
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, calls));
	kt_expect_eq(t, 1, atomic_read(&seen.n));
	kt_expect_eq(t, RDMA_CM_EVENT_CONNECT_REQUEST, seen.event[0]);
	server[1] = seen.child;
	kt_expect_no_event(t, queue);
	/* The requests have the channel that the listener had. */
	kt_expect_ptr(t, queue, rdma_ep_channel(server[0]));
	kt_expect_ptr(t, calls, rdma_ep_channel(server[1]));

	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, NULL));
	server[2] = rdma_ep_get_request(p.listener, 0);
	kt_expect_err(t, -ETIMEDOUT, server[2]);
	/* And so can requests, in mid-connection. */
	for (i = 0; i < 2; i++) {
		if (!server[i])
			continue;
		kt_expect_eq(t, 0, rdma_ep_migrate(server[i], NULL));
		kt_expect_eq(t, 0, rdma_ep_create_qp(server[i], NULL));
		kt_expect_eq(t, 0, rdma_ep_accept(server[i], NULL, KT_CALL_MS));
	}
out_eps:
	for (i = 0; i < n; i++) {
		kt_expect_call(t, &call[i], KT_CALL_MS, 0);
		kt_destroy(t, args[i].ep);
		kt_destroy(t, server[i]);
	}
	kt_destroy(t, p.listener);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(queue));
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(calls));
}

/* Back from a channel: what was in the queue is there for get_request. */
static void kt_migrate_back(struct kt *t)
{
	struct rdma_ep_channel *queue = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = { .server_channel = queue };
	struct kt_setup client = {};
	struct kt_args args[2];
	struct kt_call call[2];
	struct rdma_ep *server;
	struct kt_pair p;
	int i, n;

	if (!kt_expect_ok(t, queue) || !kt_pair_listen(t, &p, &setup))
		goto out;
	n = kt_two_clients(t, &client, p.listener, args, call);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, NULL));
	kt_expect_no_event(t, queue);
	for (i = 0; i < n; i++) {
		server = rdma_ep_get_request(p.listener, KT_CALL_MS);
		if (kt_expect_ok(t, server))
			kt_expect_eq(t, 0, rdma_ep_accept(server, NULL, KT_CALL_MS));
		kt_expect_call(t, &call[i], KT_CALL_MS, 0);
		kt_destroy(t, server);
		kt_destroy(t, args[i].ep);
	}
	/* Not to a channel that is another endpoint's own. */
	kt_expect(t, rdma_ep_channel(p.listener));
	kt_expect_eq(t, -EINVAL, rdma_ep_migrate(p.listener, rdma_ep_channel(p.listener)));
	kt_destroy(t, p.listener);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(queue));
}

/* The end of a connection, by the client: in the server's channel. */
static void kt_end(struct kt *t, struct kt_pair *p, struct rdma_ep_channel *queue)
{
	int ret;

	kt_expect_eq(t, 0, rdma_ep_migrate(p->server, queue));
	kt_expect_no_event(t, queue);
	/* Whether iWARP waits for the peer is up to its driver. */
	ret = rdma_ep_disconnect(p->client, 0);
	kt_expect(t, !ret || ret == -ETIMEDOUT);
}

/* An established connection: its end is told where it is, and goes along. */
static void kt_migrate_connected(struct kt *t)
{
	struct rdma_ep_channel *queue = rdma_ep_channel_create(NULL, NULL);
	struct kt_setup setup = {};
	struct rdma_ep_cm_event *event;
	struct kt_pair p;

	if (!kt_expect_ok(t, queue) || !kt_pair_open(t, &p, &setup))
		goto out;
	kt_end(t, &p, queue);
	event = kt_expect_event(t, queue, p.server, RDMA_CM_EVENT_DISCONNECTED);
	rdma_ep_ack_event(event);
	kt_destroy(t, p.server);
	kt_destroy(t, p.client);
	if (!kt_pair_request(t, &p) || !kt_pair_accept(t, &p))
		goto out_listener;
	kt_end(t, &p, queue);
	schedule_timeout_idle(HZ);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.server, NULL));
	kt_expect_no_event(t, queue);
	event = kt_expect_event(t, rdma_ep_channel(p.server), p.server, RDMA_CM_EVENT_DISCONNECTED);
	rdma_ep_ack_event(event);
	kt_destroy(t, p.server);
	kt_destroy(t, p.client);
out_listener:
	kt_destroy(t, p.listener);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(queue));
}

/* Hardware addresses that the neighbour has, one after the other */
static void kt_change_neighbour(struct kt *t, const struct sockaddr_in *sin)
{
	u32 flags = NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN;
	u8 mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
	struct net_device *dev;
	struct neighbour *n;

	dev = ip_dev_find(&init_net, sin->sin_addr.s_addr);
	if (!kt_expect_ok(t, dev))
		return;
	n = __neigh_lookup_errno(&arp_tbl, &sin->sin_addr, dev);
	if (kt_expect_ok(t, n)) {
		for (; mac[5] < 30; mac[5]++) {
			kt_expect_eq(t, 0, neigh_update(n, mac, NUD_PERMANENT, flags, 0));
			schedule_timeout_idle(HZ / 50);
		}
		neigh_update(n, dev->dev_addr, NUD_NOARP, flags, 0);
		neigh_release(n);
	}
	dev_put(dev);
}

/* rdma_cm says so each time: any user can have it do that. */
static void kt_neighbour(struct kt *t)
{
	struct rdma_ep_channel *queue = rdma_ep_channel_create(NULL, NULL);
	struct rdma_ep_cm_event *event;
	struct kt_setup setup = {};
	struct sockaddr_storage peer;
	struct kt_pair p;
	int n = 0;

	if (kt_iwarp()) {
		kt_skip(t, "rdma_cm looks after neighbours for RoCE only");
		goto out;
	}
	if (!kt_expect_ok(t, queue) || !kt_pair_open(t, &p, &setup))
		goto out;
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, queue));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p.client, &peer));
	kt_change_neighbour(t, (struct sockaddr_in *)&peer);
	for (;;) {
		event = rdma_ep_get_event(queue, 500);
		if (IS_ERR(event))
			break;
		kt_expect_eq(t, RDMA_CM_EVENT_UNREACHABLE, event->cm.event);
		rdma_ep_ack_event(event);
		n++;
	}
	kt_expect_eq(t, 1, n);
	kt_pair_close(t, &p);
out:
	kt_expect_eq(t, 0, rdma_ep_channel_destroy(queue));
}

const struct kt_test kt_event_tests[] = {
	{ "event_queue", kt_event_queue },
	{ "event_outlives_endpoint", kt_event_outlives },
	{ "event_unread_requests", kt_event_unread },
	{ "backlog", kt_backlog, 120 },
	{ "event_callback", kt_event_callback },
	{ "event_of_a_neighbour", kt_neighbour },
	{}
};

const struct kt_test kt_migrate_tests[] = {
	{ "migrate", kt_migrate },
	{ "migrate_back", kt_migrate_back },
	{ "migrate_connected", kt_migrate_connected },
	{}
};
