// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints with channels: queued events and callbacks, their contents and order; migration.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <net/arp.h>
#include <net/neighbour.h>

#include "tests.h"

/* Requires that the next event is of @ep and @type, and returns it. */
#define kt_event(t, ch, ep, type) \
	kt_event_at(t, __LINE__, ch, ep, type)
static struct rdma_ep_cm_event *kt_event_at(struct kt *t, int line, struct rdma_ep_channel *ch,
					    struct rdma_ep *ep, enum rdma_cm_event_type type)
{
	struct rdma_ep_cm_event *event = rdma_ep_get_event(ch, KT_CALL_MS);
	const char *file = kbasename(__FILE__);

	kt_abort_unless(t, kt_check_eq(t, file, line, "rdma_ep_get_event()", 0, kt_ptr_err(event)));
	if (kt_check_ptr(t, file, line, "event->ep", ep, event->ep) &
	    kt_check_eq(t, file, line, "event->cm.event", type, event->cm.event))
		return event;
	rdma_ep_ack_event(event);
	kt_abort(t);
}

#define kt_expect_event(t, ch, ep, type) \
	rdma_ep_ack_event(kt_event(t, ch, ep, type))

/* No call waits: two channels report all events. */
static void kt_event_queue(struct kt *t)
{
	struct rdma_ep_channel *cch = kt_channel(t, NULL, NULL);
	struct rdma_ep_channel *sch = kt_channel(t, NULL, NULL);
	struct kt_setup setup = { .client_channel = cch, .server_channel = sch };
	struct rdma_conn_param param = {
		.private_data = "knock", .private_data_len = 5,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_ep_cm_event *event;
	struct kt_pair p;

	kt_pair_client(t, &p, &setup);
	kt_expect_ptr(t, sch, rdma_ep_channel(p.listener));
	kt_expect_no_event(t, cch, 0);
	kt_expect_eq(t, 0, rdma_ep_connect(p.client, &param, 0));
	event = kt_event(t, sch, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.server = kt_own(t, event->child);
	kt_expect(t, event->cm.param.conn.private_data_len >= 5 &&
		  !memcmp(event->cm.param.conn.private_data, "knock", 5));
	rdma_ep_ack_event(event);
	kt_expect_ptr(t, sch, rdma_ep_channel(p.server));
	kt_expect_ptr(t, rdma_ep_context(p.listener), rdma_ep_context(p.server));
	/* Without attributes, the QP gets those of the listener. */
	kt_expect_ptr(t, NULL, rdma_ep_qp(p.server));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.server, NULL));
	kt_expect(t, rdma_ep_qp(p.server));
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, 0));
	event = kt_event(t, cch, p.client, RDMA_CM_EVENT_ESTABLISHED);
	kt_expect(t, !event->child);
	rdma_ep_ack_event(event);
	kt_expect_event(t, sch, p.server, RDMA_CM_EVENT_ESTABLISHED);

	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, 0));
	kt_expect_event(t, sch, p.server, RDMA_CM_EVENT_DISCONNECTED);
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, 0));
	kt_expect_event(t, cch, p.client, RDMA_CM_EVENT_DISCONNECTED);
	kt_destroy(t, p.server);
	kt_expect_eq(t, -EBUSY, rdma_ep_channel_destroy(cch));
	kt_expect_eq(t, -EBUSY, rdma_ep_channel_destroy(sch));
}

/* An event is valid until its reader acknowledges it, even after its endpoint is destroyed. */
static void kt_event_outlives(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct rdma_conn_param param = {
		.private_data = "still here", .private_data_len = 10,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_ep_cm_event *event;
	struct kt_call *call;
	struct kt_pair p;

	kt_pair_listen(t, &p, &(struct kt_setup) { .server_channel = ch });
	call = kt_call(t, kt_call_connect, &(struct kt_args) {
		.ep = kt_active(t, NULL, p.listener),
		.param = &param, .timeout_ms = KT_CALL_MS });
	event = kt_event(t, ch, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	kt_expect_eq(t, 0, rdma_ep_destroy(event->child));
	kt_destroy(t, p.listener);
	kt_expect(t, !memcmp(event->cm.param.conn.private_data, "still here", 10));
	rdma_ep_ack_event(event);
	kt_expect_call(t, call, KT_CALL_MS, -ECONNREFUSED);
}

/* Destroying a listener refuses its unread requests. */
static void kt_event_unread(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct kt_client c[2];
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, &(struct kt_setup) { .server_channel = ch });
	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = kt_client(t, p.listener, 2 * KT_CALL_MS);
	kt_destroy(t, p.listener);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		kt_expect_call(t, c[i].connect, KT_PROMPT_MS, -ECONNREFUSED);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		kt_destroy(t, c[i].ep);
	kt_expect_no_event(t, ch, 0);
}

/* iWARP's CM and siw allocate memory for each request of the backlog, which is limited. */
static void kt_huge_backlog(struct kt *t)
{
	struct kt_pair p = { .listener = kt_passive(t, NULL) };

	kt_expect_eq(t, 0, rdma_ep_listen(p.listener, INT_MAX));
	kt_pair_connect(t, &p);
}

/* A client repeats a request beyond the backlog, until it is accepted. iWARP's is refused. */
static void kt_backlog(struct kt *t)
{
	struct rdma_ep *listener = kt_passive(t, NULL), *server;
	int i, n = kt_iwarp() ? 1 : 2;
	struct kt_client c[2];

	kt_expect_eq(t, -EINVAL, rdma_ep_listen(listener, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_listen(listener, -1));
	kt_expect_eq(t, 0, rdma_ep_listen(listener, 1));
	for (i = 0; i < n; i++)
		c[i] = kt_client(t, listener, 6 * KT_CALL_MS);
	if (kt_iwarp())
		kt_expect_eq(t, -ECONNREFUSED,
			     rdma_ep_connect(kt_active(t, NULL, listener), NULL, KT_CALL_MS));
	for (i = 0; i < n; i++) {
		server = kt_own(t, rdma_ep_get_request(listener, 3 * KT_CALL_MS));
		kt_expect_eq(t, 0, rdma_ep_accept(server, NULL, KT_CALL_MS));
		kt_expect_call(t, c[i].connect, KT_CALL_MS, 0);
		kt_destroy(t, server);
		/* The other request was beyond the backlog. */
		if (!i)
			kt_expect_no_ep(t, -ETIMEDOUT, rdma_ep_get_request(listener, 0));
	}
}

#define KT_SEEN	16

/**
 * struct kt_seen - the events of a callback
 * @n: their number
 * @event: types of the first events
 * @ep: endpoints of these
 * @child: endpoint of the latest connection request
 * @busy: number of running callbacks
 * @overlaps: callbacks that began while another one ran
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
	struct kt_seen *c = kt_zalloc(t, sizeof(*c)), *s = kt_zalloc(t, sizeof(*s));
	struct rdma_ep_channel *cch = kt_channel(t, kt_see, c);
	struct rdma_ep_channel *sch = kt_channel(t, kt_see, s);
	struct kt_setup setup = { .client_channel = cch, .server_channel = sch };
	struct kt_pair p;
	int i;

	kt_expect_err(t, -EINVAL, rdma_ep_get_event(cch, 0));
	kt_pair_client(t, &p, &setup);
	kt_expect_eq(t, 0, rdma_ep_connect(p.client, NULL, 0));
	kt_assert(t, kt_wait_for(atomic_read(&s->n) == 1, KT_CALL_MS));
	p.server = kt_own(t, s->child);
	kt_expect_ptr(t, s, rdma_ep_context(p.server));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.server, NULL));
	kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, 0));
	kt_expect(t, kt_wait_for(atomic_read(&s->n) == 2 && atomic_read(&c->n) == 1, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.client, 0));
	kt_expect(t, kt_wait_for(atomic_read(&s->n) == 3, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_disconnect(p.server, 0));
	kt_expect(t, kt_wait_for(atomic_read(&c->n) == 2, KT_CALL_MS));
	for (i = 0; i < ARRAY_SIZE(client_events); i++) {
		kt_expect_eq(t, client_events[i], c->event[i]);
		kt_expect_ptr(t, p.client, c->ep[i]);
	}
	for (i = 0; i < ARRAY_SIZE(server_events); i++) {
		kt_expect_eq(t, server_events[i], s->event[i]);
		kt_expect_ptr(t, i ? p.server : p.listener, s->ep[i]);
	}
	kt_pair_close(t, &p);
	kt_expect_eq(t, 3, atomic_read(&s->n));
	kt_expect_eq(t, 2, atomic_read(&c->n));
	kt_expect_eq(t, 0, atomic_read(&c->overlaps));
}

/* ---- migration */

/* Migrates a listener from synchronous to queue, callback and back, with its unread requests. */
static void kt_migrate(struct kt *t)
{
	struct kt_seen *seen = kt_zalloc(t, sizeof(*seen));
	struct rdma_ep_channel *queue = kt_channel(t, NULL, NULL);
	struct rdma_ep_channel *calls = kt_channel(t, kt_see, seen);
	struct rdma_ep_cm_event *event;
	struct rdma_ep *server[2];
	struct kt_client c[2];
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, NULL);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = kt_client(t, p.listener, 3 * KT_CALL_MS);

	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, queue));
	kt_expect_ptr(t, queue, rdma_ep_channel(p.listener));
	event = kt_event(t, queue, p.listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	server[0] = kt_own(t, event->child);
	rdma_ep_ack_event(event);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, calls));
	kt_expect(t, kt_wait_for(atomic_read(&seen->n) == 1, KT_PROMPT_MS));
	kt_expect_eq(t, RDMA_CM_EVENT_CONNECT_REQUEST, seen->event[0]);
	server[1] = kt_own(t, seen->child);
	kt_expect_no_event(t, queue, 0);
	/* Each request has the listener's channel of that time. */
	kt_expect_ptr(t, queue, rdma_ep_channel(server[0]));
	kt_expect_ptr(t, calls, rdma_ep_channel(server[1]));

	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, NULL));
	kt_expect_no_ep(t, -ETIMEDOUT, rdma_ep_get_request(p.listener, 0));
	/* Requests that have not been accepted can migrate, too. */
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		kt_expect_eq(t, 0, rdma_ep_migrate(server[i], NULL));
		kt_expect_eq(t, 0, rdma_ep_create_qp(server[i], NULL));
		kt_expect_eq(t, 0, rdma_ep_accept(server[i], NULL, KT_CALL_MS));
	}
	for (i = 0; i < ARRAY_SIZE(c); i++)
		kt_expect_call(t, c[i].connect, KT_CALL_MS, 0);
}

/* After the way back, rdma_ep_get_request() returns the requests of the queue. */
static void kt_migrate_back(struct kt *t)
{
	struct rdma_ep_channel *queue = kt_channel(t, NULL, NULL);
	struct kt_client c[2];
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, &(struct kt_setup) { .server_channel = queue });
	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = kt_client(t, p.listener, 3 * KT_CALL_MS);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, NULL));
	kt_expect_no_event(t, queue, 0);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		p.server = kt_own(t, rdma_ep_get_request(p.listener, KT_CALL_MS));
		kt_expect_eq(t, 0, rdma_ep_accept(p.server, NULL, KT_CALL_MS));
		kt_expect_call(t, c[i].connect, KT_CALL_MS, 0);
	}
	/* The internal channel of a synchronous endpoint cannot be used. */
	kt_expect(t, rdma_ep_channel(p.listener));
	kt_expect_eq(t, -EINVAL, rdma_ep_migrate(p.listener, rdma_ep_channel(p.listener)));
}

/* Migrates the server to @queue, then disconnects the client. */
static void kt_end(struct kt *t, struct kt_pair *p, struct rdma_ep_channel *queue)
{
	int ret;

	kt_expect_eq(t, 0, rdma_ep_migrate(p->server, queue));
	kt_expect_no_event(t, queue, 0);
	/* An iWARP driver may wait for the peer or not. */
	ret = rdma_ep_disconnect(p->client, 0);
	kt_expect(t, !ret || ret == -ETIMEDOUT);
}

/* The end of an established connection is an event of the new channel, and can migrate. */
static void kt_migrate_connected(struct kt *t)
{
	struct rdma_ep_channel *queue = kt_channel(t, NULL, NULL);
	struct kt_pair p;

	kt_pair_open(t, &p, NULL);
	kt_end(t, &p, queue);
	kt_expect_event(t, queue, p.server, RDMA_CM_EVENT_DISCONNECTED);
	kt_destroy(t, p.server);
	kt_destroy(t, p.client);
	kt_pair_connect(t, &p);
	kt_end(t, &p, queue);
	schedule_timeout_idle(HZ);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.server, NULL));
	kt_expect_no_event(t, queue, 0);
	kt_expect_event(t, rdma_ep_channel(p.server), p.server, RDMA_CM_EVENT_DISCONNECTED);
}

/* Changes the hardware address of the neighbour repeatedly. */
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

/*
 * rdma_cm reports a new hardware address of a neighbour as the end of a connection, which it is
 * not. Any user can cause it.
 */
static void kt_neighbour(struct kt *t)
{
	struct rdma_ep_channel *queue = kt_channel(t, NULL, NULL);
	struct sockaddr_storage peer;
	struct kt_pair p;

	kt_not_on_iwarp(t, "rdma_cm looks after neighbours for RoCE only");
	kt_pair_open(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.client, queue));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p.client, &peer));
	kt_change_neighbour(t, (struct sockaddr_in *)&peer);
	kt_expect_no_event(t, queue, 500);
	kt_expect_eq(t, 0, rdma_ep_status(p.client));
	kt_expect_eq(t, 0, rdma_ep_status(p.server));
}

/* ---- callbacks that accept or refuse requests */

/**
 * struct kt_acceptor - a protocol that accepts in the callback of a request
 * @child: the request
 * @local: address of @child
 * @peer: address of its peer
 * @ret: results of the callback's calls
 * @noio: the callback runs in a memalloc_noio_save() scope
 * @up: number of connections
 * @over: number of events with a status
 * @status: status of the latest
 */
struct kt_acceptor {
	struct rdma_ep *child;
	struct sockaddr_storage local, peer;
	int ret[4];
	bool noio;
	atomic_t up;
	atomic_t over;
	int status;
};

static void kt_accept_here(const struct rdma_ep_cm_event *event, void *context)
{
	struct kt_acceptor *a = context;

	if (event->status) {
		a->status = event->status;
		atomic_inc(&a->over);
	}
	if (event->cm.event == RDMA_CM_EVENT_ESTABLISHED)
		atomic_inc(&a->up);
	if (!event->child)
		return;
	a->noio = current->flags & PF_MEMALLOC_NOIO;
	a->ret[0] = rdma_ep_local_addr(event->child, &a->local);
	a->ret[1] = rdma_ep_peer_addr(event->child, &a->peer);
	a->ret[2] = rdma_ep_create_qp(event->child, NULL);
	a->child = event->child;
	/* The peer may be connected before this returns. */
	a->ret[3] = rdma_ep_accept(event->child, NULL, 0);
}

/* Runs after the listener's destruction, so no callback runs any more. */
static void kt_end_accepted(struct kt *t, void *a)
{
	rdma_ep_destroy(((struct kt_acceptor *)a)->child);
}

static void kt_callback_accepts(struct kt *t)
{
	struct kt_acceptor *a = kt_zalloc(t, sizeof(*a));
	struct kt_setup setup = { .server_channel = kt_channel(t, kt_accept_here, a) };
	struct sockaddr_storage addr;
	struct kt_pair p;
	int i;

	kt_defer(t, KT_ENDPOINTS, kt_end_accepted, a);
	kt_pair_client(t, &p, &setup);
	kt_assert_eq(t, 0, rdma_ep_connect(p.client, NULL, KT_CALL_MS));
	kt_expect(t, kt_wait_for(atomic_read(&a->up), KT_CALL_MS));
	for (i = 0; i < ARRAY_SIZE(a->ret); i++)
		kt_expect_eq(t, 0, a->ret[i]);
	kt_expect(t, a->noio);
	kt_expect_eq(t, 0, rdma_ep_local_addr(p.client, &addr));
	kt_expect(t, kt_same_addr(&addr, &a->peer));
	kt_expect_eq(t, 0, rdma_ep_peer_addr(p.client, &addr));
	kt_expect(t, kt_same_addr(&addr, &a->local));
	rdma_ep_abort(p.client, -EBADMSG);
	kt_expect(t, kt_wait_for(atomic_read(&a->over), KT_CALL_MS));
	kt_expect_eq(t, -ECONNRESET, a->status);
}

static void kt_refuse_here(const struct rdma_ep_cm_event *event, void *context)
{
	int *ret = context;

	if (event->child)
		*ret = rdma_ep_destroy(event->child);
}

static void kt_callback_refuses(struct kt *t)
{
	int *ret = kt_zalloc(t, sizeof(*ret));
	struct kt_setup setup = { .server_channel = kt_channel(t, kt_refuse_here, ret) };
	struct kt_pair p;

	*ret = 1;
	kt_pair_client(t, &p, &setup);
	kt_expect_eq(t, -ECONNREFUSED, rdma_ep_connect(p.client, NULL, KT_CALL_MS));
	kt_expect(t, kt_wait_for(READ_ONCE(*ret) <= 0, KT_PROMPT_MS));
	kt_expect_eq(t, 0, *ret);
}

const struct kt_test kt_event_tests[] = {
	{ "event_queue", kt_event_queue },
	{ "event_outlives_endpoint", kt_event_outlives },
	{ "event_unread_requests", kt_event_unread },
	{ "backlog", kt_backlog, 120 },
	{ "backlog_huge", kt_huge_backlog },
	{ "event_callback", kt_event_callback },
	{ "event_of_a_neighbour", kt_neighbour },
	{ "callback_accepts", kt_callback_accepts },
	{ "callback_refuses", kt_callback_refuses },
	{}
};

const struct kt_test kt_migrate_tests[] = {
	{ "migrate", kt_migrate },
	{ "migrate_back", kt_migrate_back },
	{ "migrate_connected", kt_migrate_connected },
	{}
};
