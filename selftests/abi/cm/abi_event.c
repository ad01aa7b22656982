// SPDX-License-Identifier: GPL-2.0-only
/* Events that the user writes (WRITE_EVENT), announces (NOTIFY) or moderates (MODIFY_CQ). */
#include "abi_test.h"
#include "abi_cmds.h"

#define UID		0x5151515151515151ULL
#define ARG		0xfedcba9876543210ULL
#define MAX_EVENTS	65536	/* of a session, unread */
#define MAX_ID_EVENTS	4096	/* of an id */
#define LEAVE_MS	(10000 * TEST_SCALE)

FIXTURE(event) {
	struct abi s;
	int channel;
	__u32 id, other;
};

FIXTURE_SETUP(event)
{
	struct abi *s = &self->s;

	OK(abi_open(s));
	self->channel = FD(abi_channel(s));
	OK(abi_tcp_id(s, self->channel, UID, &self->id));
	OK(abi_tcp_id(s, self->channel, UID + 1, &self->other));
}

TEARDOWN_CLOSES(event)

static int write_event(const struct abi *s, __u32 id, __u32 event, int status, __u64 arg)
{
	struct rdma_ep_cmd_write_event w = { .id = id, .event = event, .status = status,
		.arg = arg };

	return ABI(s->fd, WRITE_EVENT, &w);
}

/* Is the next event the user's event with @arg? */
static bool reads(int channel, __u64 arg)
{
	struct rdma_ep_channel_event ev;

	return !abi_event(channel, RDMA_EP_CM_EVENT_USER, &ev) && ev.param.arg == arg;
}

/* Writes events, numbered from 0, until ENOBUFS or @max. Returns how many, or an errno. */
static int fill(const struct abi *s, __u32 id, int max)
{
	int ret, n = 0;

	do {
		ret = abi_user_event(s, id, n);
	} while (!ret && ++n < max);
	return !ret || ret == -ENOBUFS ? n : ret;
}

TEST_F(event, write)
{
	static const int status[] = { 0, -ENODEV, 28, INT32_MIN, INT32_MAX };
	struct rdma_ep_channel_event ev, want;
	__u32 event;
	int n = 0;

	for (event = RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED; event <= RDMA_EP_CM_EVENT_USER; event++) {
		for (size_t i = 0; i < ARRAY_SIZE(status); i++) {
			OK(write_event(&self->s, self->id, event, status[i], ARG + i));
			OK(abi_event(self->channel, event, &ev));
			memset(&want, 0, sizeof(want));
			want.uid = UID;
			want.id = self->id;
			want.event = event;
			want.status = status[i];
			want.flags = RDMA_EP_EVENT_ARG;
			want.param.arg = ARG + i;
			EXPECT_EQ(0, memcmp(&want, &ev, sizeof(ev)));
			EXPECT_EQ(++n, abi_events_reported(&self->s, self->id));
		}
	}
	EXPECT_EQ(0, abi_events_reported(&self->s, self->other));
}

TEST_F(event, write_others)
{
	static const __u32 bad[] = { 19, 20, 255, 0x110, 0x10000, 0x80000012, 0xffffffff };

	for (__u32 event = 0; event < RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED; event++)
		LOGGED(EXPECT_EQ(-EINVAL, write_event(&self->s, self->id, event, 0, 0)),
		       "event %u", event);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		LOGGED(EXPECT_EQ(-EINVAL, write_event(&self->s, self->id, bad[i], 0, 0)),
		       "event %u", bad[i]);
	EXPECT_TRUE(abi_quiet(self->channel));
}

/* User events keep their order among all events of the channel. */
TEST_F(event, order)
{
	struct abi *s = &self->s;
	struct sockaddr_in dst = s->addr;

	dst.sin_port = htons(7471);
	OK(abi_resolve_addr(s, self->other, &dst, 5000));
	ASSERT_TRUE(abi_ready(self->channel, ABI_WAIT_MS));
	OK(abi_user_event(s, self->id, 1));
	OK(abi_user_event(s, self->other, 2));
	EXPECT_EQ(0, abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	OK(ABI_ID_CMD(s, RESOLVE_ROUTE, self->other, 5000));
	usleep(2 * ABI_QUIET_MS * 1000);
	OK(abi_user_event(s, self->id, 3));
	EXPECT_TRUE(reads(self->channel, 1));
	EXPECT_TRUE(reads(self->channel, 2));
	EXPECT_EQ(0, abi_event(self->channel, EV_ROUTE_RESOLVED, NULL));
	EXPECT_TRUE(reads(self->channel, 3));
	EXPECT_TRUE(abi_quiet(self->channel));
	EXPECT_EQ(2, abi_events_reported(s, self->id));
	EXPECT_EQ(3, abi_events_reported(s, self->other));
}

/* User events move with their id, and are dropped with it. */
TEST_F(event, belong_to_the_id)
{
	struct abi *s = &self->s;
	int channel = abi_channel(s);

	ASSERT_LE(0, channel);
	OK(abi_user_event(s, self->id, 1));
	OK(abi_user_event(s, self->other, 2));
	OK(abi_user_event(s, self->id, 3));
	OK(abi_migrate(s, self->id, channel));
	EXPECT_TRUE(reads(self->channel, 2));
	EXPECT_TRUE(abi_quiet(self->channel));
	EXPECT_TRUE(reads(channel, 1));
	EXPECT_EQ(1, ABI_DESTROY_COUNT(s, ID, self->id));
	EXPECT_TRUE(abi_quiet(channel));
	EXPECT_EQ(-ENOENT, abi_user_event(s, self->id, 4));
}

static void *read_thread(void *arg)
{
	struct _test_data_event *self = arg;
	struct rdma_ep_channel_event ev = {};
	static __u64 seen;

	if (read(self->channel, &ev, sizeof(ev)) == sizeof(ev))
		seen = ev.param.arg;
	return &seen;
}

TEST_F(event, wakes_reader)
{
	pthread_t thread;
	void *seen;

	OK(pthread_create(&thread, NULL, read_thread, self));
	usleep(ABI_QUIET_MS * 1000);
	OK(abi_user_event(&self->s, self->id, ARG));
	OK(pthread_join(thread, &seen));
	EXPECT_EQ(ARG, *(__u64 *)seen);
}

/* An id that comes to the channel brings its unread events, which wake the reader. */
TEST_F(event, migrate_wakes_reader)
{
	struct abi *s = &self->s;
	int from = FD(abi_channel(s));
	pthread_t thread;
	void *seen;

	OK(abi_migrate(s, self->id, from));
	OK(abi_user_event(s, self->id, ARG + 1));
	OK(pthread_create(&thread, NULL, read_thread, self));
	usleep(ABI_QUIET_MS * 1000);
	OK(abi_migrate(s, self->id, self->channel));
	OK(pthread_join(thread, &seen));
	EXPECT_EQ(ARG + 1, *(__u64 *)seen);
}

/* A request takes no user events before it is accepted. */
TEST_F(event, write_to_request)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = {};
	struct rdma_ep_cmd_create_qp c;
	struct sockaddr_in sin;
	__u32 listener, client;
	int channel = abi_channel(s);

	OK(abi_tcp_listen(s, channel, 0, 0, &listener, &sin));
	OK(abi_user_event(s, listener, 1));
	/* GET_REQUEST takes other events as well. */
	g.id = listener;
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(RDMA_EP_CM_EVENT_USER, g.event.event);
	EXPECT_EQ(1, g.event.param.arg);
	EXPECT_EQ(0, g.event.child);
	EXPECT_EQ(-1, g.channel_fd);

	OK(abi_tcp_client(s, self->channel, &sin, 0, &client));
	OK(abi_id_qp(s, client, &c));
	OK(abi_connect(s, client, 0));
	ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
	OK(ABI(s->fd, GET_REQUEST, &g));
	ASSERT_EQ(EV_CONNECT_REQUEST, g.event.event);
	EXPECT_EQ(-EINVAL, abi_user_event(s, g.event.child, 2));
	EXPECT_TRUE(abi_quiet(channel));
	OK(abi_id_qp(s, g.event.child, &c));
	OK(abi_accept(s, g.event.child, 0, 0));
	OK(abi_event(channel, EV_ESTABLISHED, &g.event));
	OK(abi_user_event(s, g.event.id, 3));
	EXPECT_TRUE(reads(channel, 3));
}

/* A session holds MAX_EVENTS unread events, MAX_ID_EVENTS of each id. */
TEST_F(event, write_too_many)
{
	__u32 id = self->id;
	struct abi other;

	for (int i = 0; i < MAX_EVENTS / MAX_ID_EVENTS; i++) {
		if (i)
			OK(abi_tcp_id(&self->s, self->channel, 0, &id));
		ASSERT_EQ(MAX_ID_EVENTS, fill(&self->s, id, MAX_ID_EVENTS + 1));
	}
	EXPECT_EQ(-ENOBUFS, abi_user_event(&self->s, self->other, 0));
	OK(abi_open(&other));
	OK(abi_tcp_id(&other, abi_channel(&other), 0, &id));
	EXPECT_EQ(0, abi_user_event(&other, id, 0));
	abi_close(&other);
	EXPECT_TRUE(reads(self->channel, 0));
	EXPECT_EQ(0, abi_user_event(&self->s, self->other, 0));
	EXPECT_EQ(-ENOBUFS, abi_user_event(&self->s, self->other, 0));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, self->id));
	EXPECT_EQ(0, abi_user_event(&self->s, self->other, 0));
}

/* Two sessions of a user that may have ten unread events in all */
FIXTURE(crowded) {
	struct abi s, other;
	int channel, other_channel;
	__u32 id, other_id;
	int limit;
};

FIXTURE_SETUP(crowded)
{
	self->limit = test_param("user_max_events", 10);
	ASSERT_LT(10, self->limit);
	OK(abi_open(&self->s));
	OK(abi_open(&self->other));
	self->channel = abi_channel(&self->s);
	self->other_channel = abi_channel(&self->other);
	OK(abi_tcp_id(&self->s, self->channel, 0, &self->id));
	OK(abi_tcp_id(&self->other, self->other_channel, 0, &self->other_id));
}

FIXTURE_TEARDOWN(crowded)
{
	abi_close(&self->s);
	abi_close(&self->other);
	test_param("user_max_events", self->limit);
}

/* user_max_events limits all sessions of a user together. */
TEST_F(crowded, write_too_many_in_all)
{
	EXPECT_EQ(0, abi_user_event(&self->other, self->other_id, 0));
	EXPECT_EQ(9, fill(&self->s, self->id, 20));
	EXPECT_EQ(-ENOBUFS, abi_user_event(&self->other, self->other_id, 1));
	EXPECT_TRUE(reads(self->channel, 0));
	EXPECT_EQ(0, abi_user_event(&self->other, self->other_id, 1));
	EXPECT_EQ(-ENOBUFS, abi_user_event(&self->s, self->id, 9));
}

/* Unread events of one session do not drop CM events of the user's other sessions. */
TEST_F(crowded, other_session_over_limit_gets_cm_events)
{
	struct abi *other = &self->other;
	struct abi_pair p = {};

	OK(abi_pair_open(other, &p));
	EXPECT_EQ(10, fill(&self->s, self->id, 20));
	OK(abi_resolve_addr(other, self->other_id, &other->addr, 5000));
	EXPECT_EQ(0, abi_event(self->other_channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_EQ(-ENOBUFS, abi_user_event(other, self->other_id, 0));
	OK(ABI_ID_CMD(other, DISCONNECT, p.end[0].id, 0));
	EXPECT_EQ(0, abi_event(p.end[1].channel, EV_DISCONNECTED, NULL));
	OK(ABI_ID_CMD(other, DISCONNECT, p.end[1].id, 0));
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DISCONNECTED, NULL));
	/* No event of the first session has been dropped. */
	for (int n = 0; n < 10; n++)
		EXPECT_TRUE(reads(self->channel, n));
	EXPECT_TRUE(abi_quiet(self->channel));
}

/* Each id may exceed the limit by four CM events. */
TEST_F(crowded, unread_of_an_id)
{
	struct sockaddr_in nobody = self->other.addr;
	struct rdma_ep_channel_event ev;
	int n = 0;

	EXPECT_EQ(10, fill(&self->s, self->id, 20));
	nobody.sin_addr.s_addr ^= htonl(0x80);
	for (int i = 0; n < 20 && i < 1000; i++) {
		n += !abi_resolve_addr(&self->other, self->other_id, &nobody, 1);
		usleep(10000);
	}
	ASSERT_EQ(20, n);
	/* The last event must come before the first is read: otherwise it finds room. */
	usleep(1000000 * TEST_SCALE);
	for (n = 0; !abi_read(self->other_channel, &ev, sizeof(ev), ABI_QUIET_MS); n++)
		EXPECT_EQ(EV_ADDR_ERROR, ev.event);
	EXPECT_EQ(4, n);
	EXPECT_EQ(-ENOBUFS, abi_user_event(&self->other, self->other_id, 0));
}

/* ---- NOTIFY */

static int notify(const struct abi *s, __u32 id, __u32 event)
{
	return ABI_ID_CMD(s, NOTIFY, id, event);
}

TEST_F(event, notify_without_connection)
{
	struct abi *s = &self->s;
	struct sockaddr_in sin = s->addr;
	__u32 listener;

	EXPECT_EQ(-EINVAL, notify(s, self->id, EVENT_COMM_EST));
	OK(abi_bind(s, self->id, &sin));
	EXPECT_EQ(-EINVAL, notify(s, self->id, EVENT_COMM_EST));
	if (s->iwarp)
		return;		/* rdma_notify() does nothing over iWARP */
	OK(abi_tcp_listen(s, self->channel, 0, 0, &listener, &sin));
	EXPECT_EQ(-EINVAL, notify(s, listener, EVENT_COMM_EST));
}

/* NOTIFY does not change an established connection. */
TEST_F(event, notify_established)
{
	struct abi *s = &self->s;
	int known = s->iwarp ? 0 : -EISCONN;
	struct abi_pair p = {};

	OK(abi_pair_open(s, &p));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(known, notify(s, p.end[i].id, EVENT_COMM_EST));
		for (__u32 event = 0; event < 40; event++) {
			if (event == EVENT_COMM_EST)
				continue;
			LOGGED(EXPECT_EQ(-EINVAL, notify(s, p.end[i].id, event)),
			       "event %u", event);
		}
		EXPECT_EQ(-EINVAL, notify(s, p.end[i].id, 0x104));
		EXPECT_EQ(-EINVAL, notify(s, p.end[i].id, 0x80000004));
		EXPECT_EQ(-EINVAL, notify(s, p.end[i].id, ~0U));
	}
	EXPECT_TRUE(abi_quiet(p.end[0].channel));
	EXPECT_TRUE(abi_quiet(p.end[1].channel));
	/* The ends still exchange disconnects. */
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, p.end[0].id, 0));
	EXPECT_EQ(0, abi_event(p.end[1].channel, EV_DISCONNECTED, NULL));
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, p.end[1].id, 0));
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DISCONNECTED, NULL));
}

/* NOTIFY before the peer's confirmation establishes the connection. */
TEST(notify_in_time)
{
	const struct abi_command *c = abi_find_command(RDMA_EP_IOC_NOTIFY);
	union abi_arg arg, arg2;
	struct rdma_ep_cmd_id *n = (struct rdma_ep_cmd_id *)&arg;
	struct rdma_ep_cmd_migrate_id m = {};
	struct abi_world w;

	OK(abi_world_open(&w));
	SKIP_IF(w.s.iwarp, "iWARP has no such message");
	OK(abi_prepare(&w, c, &arg));
	m.id = n->id;
	m.channel_fd = abi_channel(&w.s);
	OK(ABI(w.s.fd, MIGRATE_ID, &m));
	EXPECT_TRUE(abi_quiet(m.channel_fd));
	arg2 = arg;
	EXPECT_EQ(0, abi_raw(w.s.fd, c->cmd, &arg));
	EXPECT_EVENT(m.channel_fd, EV_ESTABLISHED, n->id);
	EXPECT_EQ(-EISCONN, abi_raw(w.s.fd, c->cmd, &arg2));
	abi_close(&w.s);
}

/*
 * After NOTIFY the peer's confirmation is not reported again. A DISCONNECT between the two
 * takes effect with the confirmation.
 */
TEST_F(event, notify_before_peer)
{
	struct abi *s = &self->s;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	struct rdma_ep_cmd_create_qp qp[2];
	__u32 cq, listener, client, server;
	int channel;

	SKIP_IF(s->iwarp, "iWARP has no such message");
	channel = abi_channel(s);
	OK(abi_create_cq(s, -1, 8, 0, &cq));
	OK(abi_tcp_listen(s, channel, 0, 0, &listener, &sin));
	for (int first = 0; first < 2; first++) {
		/* QPs without an id */
		OK(abi_create_qp(s, QPT_RC, cq, 0, &qp[0]));
		OK(abi_create_qp(s, QPT_RC, cq, 0, &qp[1]));
		OK(abi_tcp_client(s, self->channel, &sin, 0, &client));
		OK(abi_connect(s, client, qp[0].init.qp_num));
		server = NEXT_EVENT(channel, EV_CONNECT_REQUEST).child;
		EXPECT_EQ(-EINVAL, notify(s, server, EVENT_COMM_EST));
		OK(abi_accept(s, server, 77, qp[1].init.qp_num));
		OK(abi_event(self->channel, EV_CONNECT_RESPONSE, &ev));
		EXPECT_EQ(-EINVAL, notify(s, client, EVENT_COMM_EST));
		EXPECT_EQ(0, notify(s, server, EVENT_COMM_EST));
		EXPECT_EQ(-EISCONN, notify(s, server, EVENT_COMM_EST));
		OK(abi_event(channel, EV_ESTABLISHED, &ev));
		EXPECT_EQ(77, ev.uid);
		if (first)
			EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, server, 0));
		EXPECT_TRUE(abi_quiet(channel));
		EXPECT_EQ(0, ABI_ID_CMD(s, ESTABLISH, client, 0));
		if (!first) {
			EXPECT_TRUE(abi_quiet(channel));
			EXPECT_EQ(-EISCONN, notify(s, server, EVENT_COMM_EST));
			EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, client, 0));
			OK(abi_event(channel, EV_DISCONNECTED, &ev));
			EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, server, 0));
		} else {
			OK(abi_event(self->channel, EV_DISCONNECTED, &ev));
			EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, client, 0));
			OK(abi_event(channel, EV_DISCONNECTED, &ev));
		}
		EXPECT_EQ(-EINVAL, notify(s, server, EVENT_COMM_EST));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, server));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, client));
		/* Drop the remaining events before the next round. */
		while (abi_ready(self->channel, 0))
			OK(abi_read(self->channel, &ev, sizeof(ev), 0));
	}
}

/*
 * An id can be destroyed right after NOTIFY. If the IB CM got the notification, it would cancel
 * its repeated response in another thread, but not if the connection has ended by then.
 * rdma_destroy_id() would wait until the response has been sent sixteen times, for more than a
 * minute. (IBCM-04)
 */
TEST(notify_and_leave)
{
	const struct abi_command *c = abi_find_command(RDMA_EP_IOC_NOTIFY);
	union abi_arg arg;
	__u32 id;
	struct abi_world w;
	long start;

	for (int i = 0; i < 4; i++) {
		OK(abi_world_open(&w));
		SKIP_IF(w.s.iwarp, "iWARP has no such message");
		OK(abi_prepare(&w, c, &arg));
		id = ((struct rdma_ep_cmd_id *)&arg)->id;
		OK(abi_keep_cpu(true));
		start = abi_now_ms();
		EXPECT_EQ(0, abi_raw(w.s.fd, c->cmd, &arg));
		if (i & 1)
			EXPECT_EQ(0, ABI_ID_CMD(&w.s, DISCONNECT, id, 0));
		EXPECT_EQ(0, ABI_DESTROY(&w.s, ID, id));
		OK(abi_keep_cpu(false));
		EXPECT_GT(LEAVE_MS, abi_now_ms() - start);
		abi_close(&w.s);
	}
}

/* ---- MODIFY_CQ */

TEST_F(event, modify_cq)
{
	static const __u32 bad[] = { 0x10000, 0x10001, 0x80000000, ~0U };
	static const __u32 good[] = { 0, 1, 0xffff };
	struct rdma_ep_cmd_modify_cq m = { .cq_count = 1, .cq_period = 1 };
	struct abi *s = &self->s;
	int first = 1, ret;

	OK(abi_create_cq(s, -1, 32, 0, &m.cq));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_CQ, m, cq_count, bad[i]));
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_CQ, m, cq_period, bad[i]));
	}
	/* All calls have the same result. Software devices do not support it. */
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		m.cq_count = good[i];
		m.cq_period = good[i];
		ret = ABI(s->fd, MODIFY_CQ, &m);
		if (first > 0)
			first = ret;
		EXPECT_EQ(first, ret);
	}
	EXPECT_TRUE(!first || first == -EOPNOTSUPP);
	OK(ABI_DESTROY(s, CQ, m.cq));
	EXPECT_EQ(-ENOENT, ABI(s->fd, MODIFY_CQ, &m));
}

/* Migrating an id to its own channel keeps the order of all events there. */
TEST_F(event, migrate_to_its_channel)
{
	struct abi *s = &self->s;

	for (int i = 0; i < 6; i++)
		OK(abi_user_event(s, i % 3 == 2 ? self->other : self->id, i));
	OK(abi_migrate(s, self->id, self->channel));
	for (int i = 0; i < 6; i++)
		EXPECT_TRUE(reads(self->channel, i));
	EXPECT_TRUE(abi_quiet(self->channel));
}

/*
 * An id that is connecting cannot reject. If it could, closing the session would take minutes,
 * or end in a BUG() of iw_cm. (IBCM-03, IWCM-02)
 */
TEST_F(event, reject_while_connecting)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_reject rej = {};
	struct sockaddr_in sin;
	__u32 listener, child;
	int server = abi_channel(s);

	OK(abi_tcp_listen(s, server, 0, 0, &listener, &sin));
	OK(abi_tcp_client(s, self->channel, &sin, 0, &rej.id));
	OK(abi_id_qp(s, rej.id, &qp));
	OK(abi_connect(s, rej.id, 0));
	EXPECT_EQ(-EINVAL, ABI(s->fd, REJECT, &rej));
	/* Destroying the child rejects: an iWARP id that is destroyed waits for an answer. */
	child = NEXT_EVENT(server, EV_CONNECT_REQUEST).child;
	EXPECT_EQ(0, ABI_DESTROY(s, ID, child));
	ABI_ID_CMD(s, DISCONNECT, rej.id, 0);
}

TEST_HARNESS_MAIN
