// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: requests, answers, events and what is in them.
 */
#include "abi_test.h"

#define LISTENER_UID	0x1111222233334444ULL
#define CLIENT_UID	0x5555666677778888ULL
#define CHILD_UID	0x99990000aaaabbbbULL

/* What IB messages have room for in front of which rdma_cm puts 36 bytes */
#define REQ_BYTES	(92 - 36)
#define REP_BYTES	196
#define REJ_BYTES	148
#define SIDR_REQ_BYTES	(216 - 36)
#define SIDR_REP_BYTES	136
/* ... and siw's */
#define SIW_BYTES	251

static __u8 max_data(const struct abi *s, __u8 ib)
{
	return s->iwarp ? SIW_BYTES : ib;
}

FIXTURE(cm) {
	struct abi s;
	int server;		/* channels */
	int client;
	__u32 listener;
	struct sockaddr_in sin;
	__u32 cq;
};

FIXTURE_SETUP(cm)
{
	struct abi *s = &self->s;

	OK(abi_open(s));
	self->server = abi_channel(s);
	self->client = abi_channel(s);
	OK(abi_tcp_listen(s, self->server, 0, LISTENER_UID, &self->listener, &self->sin));
	OK(abi_create_cq(s, -1, 256, 0, &self->cq));
}

TEARDOWN_CLOSES(cm)

/* As often as it gets, the route of whatever id there is */
struct router {
	const struct abi *s;
	pthread_t thread;
	__u32 id;
	bool stop;
};

static void *route(void *arg)
{
	struct router *r = arg;
	__u32 id;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		id = __atomic_load_n(&r->id, __ATOMIC_RELAXED);
		if (id)
			ABI_ID_CMD(r->s, RESOLVE_ROUTE, id, 100);
	}
	return NULL;
}

/*
 * The handler that says that an address has been resolved runs when its route may be
 * resolved already, and does not look at that.
 */
TEST_F(cm, route_before_the_event)
{
	struct router r = { .s = &self->s };
	struct sockaddr_in sin = self->sin;
	struct rdma_ep_event ev;
	int paths = 0;
	__u32 id;

	OK(pthread_create(&r.thread, NULL, route, &r));
	for (int i = 0; i < 300; i++) {
		/* No route leads there, which frees what has been got. (Not siw's.) */
		if (!self->s.iwarp)
			sin.sin_addr.s_addr = i & 1 ?
				self->sin.sin_addr.s_addr : htonl(INADDR_LOOPBACK);
		OK(abi_tcp_id(&self->s, self->client, 0, &id));
		__atomic_store_n(&r.id, id, __ATOMIC_RELAXED);
		OK(abi_resolve_addr(&self->s, id, &sin, 1000));
		OK(abi_event(self->client, EV_ADDR_RESOLVED, &ev));
		paths += ev.info.num_paths;
		__atomic_store_n(&r.id, 0, __ATOMIC_RELAXED);
		OK(ABI_DESTROY(&self->s, ID, id));
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(0, paths);
}

/* A QP of @id, or without id one that nobody moves but us */
static int new_qp(struct _test_data_cm *self, __u32 id, __u32 type, struct rdma_ep_qp_init *init)
{
	struct rdma_ep_create_qp c;
	int ret;

	ret = abi_create_qp(&self->s, type, self->cq, id, &c);
	*init = c.init;
	return ret;
}

static int new_client(struct _test_data_cm *self, __u32 *id)
{
	return abi_tcp_client(&self->s, self->client, &self->sin, CLIENT_UID, id);
}

/* A client, with a QP of its own, that has asked */
static int asking(struct _test_data_cm *self, __u32 *id)
{
	struct rdma_ep_qp_init qp;

	return new_client(self, id) ?:
	       new_qp(self, *id, QPT_RC, &qp) ?:
	       abi_connect(&self->s, *id, 0);
}

/* Such a client, whose request has arrived */
static int request(struct _test_data_cm *self, __u32 *id, __u32 *child)
{
	struct rdma_ep_event ev;
	int ret;

	ret = asking(self, id) ?:
	      abi_event(self->server, EV_CONNECT_REQUEST, &ev);
	*child = ev.child;
	return ret;
}

static int connection(struct _test_data_cm *self, __u32 *id, __u32 *child)
{
	struct rdma_ep_qp_init qp;

	return request(self, id, child) ?:
	       new_qp(self, *child, QPT_RC, &qp) ?:
	       abi_accept(&self->s, *child, CHILD_UID, 0) ?:
	       abi_event(self->client, EV_ESTABLISHED, NULL) ?:
	       abi_event(self->server, EV_ESTABLISHED, NULL);
}

/*
 * The QP's state, or the expected one where the device cannot tell: iWARP's states are others, of
 * which only "connected" has a counterpart, and siw of old kernels never says more than RESET.
 */
static __u32 qp_state(const struct abi *s, __u32 qp, __u32 expected)
{
	struct rdma_ep_query_qp q = { .qp = qp, .attr_mask = QP_STATE };

	if (ABI(s->fd, QUERY_QP, &q))
		return ~0U;
	if (s->iwarp && (expected == QPS_RTS ? q.attr.qp_state == QPS_RESET :
			 q.attr.qp_state != QPS_RTS))
		return expected;
	return q.attr.qp_state;
}

#define EXPECT_QPS(_state, _s, _qp) \
	EXPECT_EQ(_state, qp_state(_s, _qp, _state))

/* The bytes that were sent, and zeros behind them */
static bool same_data(const __u8 *data, const char *sent, __u8 len)
{
	if (memcmp(data, sent, strlen(sent)))
		return false;
	for (int i = strlen(sent); i < RDMA_EP_MAX_PRIVATE_DATA; i++) {
		if (data[i])
			return false;
	}
	return len >= strlen(sent);
}

TEST_F(cm, what_the_peer_is_told)
{
	static const char asked[] = "may I?", answer[] = "you may, of course";
	struct abi *s = &self->s;
	struct rdma_ep_connect c = { .conn = {
		.responder_resources = 3, .initiator_depth = 2,
		.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6,
		/* Not the user's to say */
		.srq = 1, .qp_num = 0x123456,
		.private_data = "may I?", .private_data_len = strlen(asked),
	} };
	struct rdma_ep_connect a = { .uid = CHILD_UID, .conn = {
		.responder_resources = 2, .initiator_depth = 1,
		.flow_control = 1, .rnr_retry_count = 4,
		.srq = 1, .qp_num = 0x123456,
		.private_data = "you may, of course", .private_data_len = strlen(answer),
	} };
	struct rdma_ep_qp_init client_qp, server_qp;
	struct sockaddr_in *src, *dst;
	struct rdma_ep_event ev;
	__u32 id, child;

	OK(new_client(self, &id));
	OK(new_qp(self, id, QPT_RC, &client_qp));
	EXPECT_EQ(QPS_INIT, client_qp.state);
	c.id = id;
	OK(ABI(s->fd, CONNECT, &c));

	OK(abi_event(self->server, EV_CONNECT_REQUEST, &ev));
	child = ev.child;
	EXPECT_EQ(LISTENER_UID, ev.uid);
	EXPECT_EQ(self->listener, ev.id);
	EXPECT_NE(0, child);
	EXPECT_NE(ev.id, child);
	EXPECT_EQ(0, ev.status);
	EXPECT_EQ(RDMA_EP_EVENT_INFO, ev.flags);
	EXPECT_EQ(0, ev.reserved);
	EXPECT_TRUE(same_data(ev.param.conn.private_data, asked, ev.param.conn.private_data_len));
	/* Who receives this may do what the peer responds to. */
	EXPECT_EQ(2, ev.param.conn.responder_resources);
	EXPECT_EQ(3, ev.param.conn.initiator_depth);
	if (!s->iwarp) {
		EXPECT_EQ(REQ_BYTES, ev.param.conn.private_data_len);
		EXPECT_EQ(client_qp.qp_num, ev.param.conn.qp_num);
		EXPECT_EQ(0, ev.param.conn.srq);
		EXPECT_EQ(1, ev.param.conn.flow_control);
		EXPECT_EQ(5, ev.param.conn.retry_count);
		EXPECT_EQ(6, ev.param.conn.rnr_retry_count);
		EXPECT_EQ(1, ev.info.num_paths);
		EXPECT_EQ(0xffff, ev.info.path[0].pkey);
	}
	EXPECT_EQ(s->dev, ev.info.dev_index);
	EXPECT_EQ(1, ev.info.port_num);
	src = (struct sockaddr_in *)&ev.info.src;
	dst = (struct sockaddr_in *)&ev.info.dst;
	EXPECT_EQ(AF_INET, src->sin_family);
	EXPECT_EQ(self->sin.sin_port, src->sin_port);
	EXPECT_EQ(self->sin.sin_addr.s_addr, src->sin_addr.s_addr);
	EXPECT_EQ(s->addr.sin_addr.s_addr, dst->sin_addr.s_addr);
	EXPECT_NE(0, dst->sin_port);

	OK(new_qp(self, child, QPT_RC, &server_qp));
	a.id = child;
	OK(ABI(s->fd, ACCEPT, &a));
	/* The kernel has moved the QP before it answered. */
	EXPECT_QPS(QPS_RTS, s, server_qp.qp);

	OK(abi_event(self->client, EV_ESTABLISHED, &ev));
	EXPECT_QPS(QPS_RTS, s, client_qp.qp);
	EXPECT_EQ(CLIENT_UID, ev.uid);
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, ev.child);
	EXPECT_EQ(0, ev.flags);
	EXPECT_EQ(0, ev.info.dev_index);
	EXPECT_TRUE(same_data(ev.param.conn.private_data, answer, ev.param.conn.private_data_len));
	/* (Of an iWARP connection rdma_cm tells it the other way round.) */
	EXPECT_EQ(s->iwarp ? 2 : 1, ev.param.conn.responder_resources);
	EXPECT_EQ(s->iwarp ? 1 : 2, ev.param.conn.initiator_depth);
	if (!s->iwarp) {
		EXPECT_EQ(REP_BYTES, ev.param.conn.private_data_len);
		EXPECT_EQ(server_qp.qp_num, ev.param.conn.qp_num);
		EXPECT_EQ(0, ev.param.conn.srq);
		EXPECT_EQ(4, ev.param.conn.rnr_retry_count);
	}
	/* From now on the child has the uid that it was accepted with. */
	OK(abi_event(self->server, EV_ESTABLISHED, &ev));
	EXPECT_EQ(CHILD_UID, ev.uid);
	EXPECT_EQ(child, ev.id);
	EXPECT_EQ(0, ev.child);

	EXPECT_EQ(1, abi_events_reported(s, self->listener));
	EXPECT_EQ(1, abi_events_reported(s, child));
	EXPECT_EQ(3, abi_events_reported(s, id));
}

TEST_F(cm, connect_errors)
{
	struct abi *s = &self->s;
	struct rdma_ep_query_device d = { .dev_index = s->dev };
	struct rdma_ep_connect good = {};
	struct rdma_ep_create_qp theirs;
	struct rdma_ep_qp_init qp, gone;
	struct abi other;
	__u32 id, cq, reads, asks;

	OK(ABI(s->fd, QUERY_DEVICE, &d));
	reads = d.attr.max_qp_rd_atom;
	asks = d.attr.max_qp_init_rd_atom;
	OK(abi_open(&other));
	OK(abi_create_cq(&other, -1, 16, 0, &cq));
	OK(abi_create_qp(&other, QPT_RC, cq, 0, &theirs));
	OK(new_client(self, &id));
	OK(new_qp(self, 0, QPT_RC, &qp));
	OK(new_qp(self, 0, QPT_RC, &gone));
	OK(ABI_DESTROY(s, QP, gone.qp));
	good.id = id;
	good.conn.qp_num = qp.qp_num;
	good.conn.retry_count = 7;
	good.conn.rnr_retry_count = 7;

	const __u32 bad_num[] = {
		0, 1 /* the GSI QP */, theirs.init.qp_num, gone.qp_num, qp.qp_num | 1 << 24, ~0U,
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad_num); i++)
		LOGGED(EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CONNECT, good, conn.qp_num, bad_num[i])),
		       "QP number 0x%x (%zu)", bad_num[i], i);
#define EXPECT_REFUSED(_member, _value) \
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CONNECT, good, _member, _value))
	if (reads < 255) {
		EXPECT_REFUSED(conn.responder_resources, reads + 1);
		EXPECT_REFUSED(conn.responder_resources, 255);
	}
	if (asks < 255) {
		EXPECT_REFUSED(conn.initiator_depth, asks + 1);
		EXPECT_REFUSED(conn.initiator_depth, 255);
	}
	EXPECT_REFUSED(conn.private_data_len, max_data(s, REQ_BYTES) + 1);
	/* 36 more do not fit into the field for the length; nor do 4 for siw. */
	EXPECT_REFUSED(conn.private_data_len, 255);
	EXPECT_REFUSED(uid, 1);
#undef EXPECT_REFUSED

	/* None of that has had an effect. */
	EXPECT_TRUE(abi_quiet(self->server));
	good.conn.responder_resources = reads < 255 ? reads : 255;
	good.conn.private_data_len = max_data(s, REQ_BYTES);
	EXPECT_EQ(0, ABI(s->fd, CONNECT, &good));
	EXPECT_EQ(good.conn.private_data_len,
		  NEXT_EVENT(self->server, EV_CONNECT_REQUEST).param.conn.private_data_len);
	EXPECT_EQ(-EINVAL, ABI(s->fd, CONNECT, &good));
}

TEST_F(cm, accept_errors)
{
	struct abi *s = &self->s;
	struct rdma_ep_connect a = { .uid = CHILD_UID };
	struct rdma_ep_query_device d = { .dev_index = s->dev };
	struct rdma_ep_qp_init qp;
	__u32 id;

	OK(ABI(s->fd, QUERY_DEVICE, &d));
	OK(request(self, &id, &a.id));
	EXPECT_EQ(-EINVAL, ABI(s->fd, ACCEPT, &a));
	/* No QP's; the GSI QP */
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.qp_num, s->iwarp ? 0xfffffe : 1));
	OK(new_qp(self, a.id, QPT_RC, &qp));
	if (d.attr.max_qp_rd_atom < 255)
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.responder_resources, 255));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.private_data_len,
				    max_data(s, REP_BYTES) + 1));
	EXPECT_QPS(QPS_INIT, s, qp.qp);
	/* An id that asked, not one that was asked */
	EXPECT_EQ(-EINVAL, abi_accept(s, id, 1, 0));

	a.conn.private_data_len = max_data(s, REP_BYTES);
	EXPECT_EQ(0, ABI(s->fd, ACCEPT, &a));
	EXPECT_EQ(a.conn.private_data_len,
		  NEXT_EVENT(self->client, EV_ESTABLISHED).param.conn.private_data_len);
	EXPECT_EQ(-EINVAL, ABI(s->fd, ACCEPT, &a));
}

/* An id whose QP cannot be had ready still has its request. */
TEST_F(cm, reject_after_accept)
{
	static const char why[] = "after all";
	struct abi *s = &self->s;
	struct rdma_ep_reject r = { .reason = 28, .private_data_len = sizeof(why) };
	struct rdma_ep_qp_init qp;
	struct rdma_ep_event ev;
	__u32 id;

	SKIP_IF(s->iwarp, "iWARP's CM moves the QP");
	memcpy(r.private_data, why, sizeof(why));
	OK(request(self, &id, &r.id));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	OK(abi_qp_state(s, qp.qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	/* ... but the QP is in error, and stays so. */
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	EXPECT_EQ(0, ABI(s->fd, REJECT, &r));
	ev = NEXT_EVENT(self->client, EV_REJECTED);
	EXPECT_STREQ(why, (char *)ev.param.conn.private_data);
	EXPECT_EQ(-EINVAL, ABI(s->fd, REJECT, &r));
	ABI_DESTROY(s, QP, qp.qp);

	/* With another QP it goes on. */
	OK(request(self, &id, &r.id));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	OK(abi_qp_state(s, qp.qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	OK(ABI_DESTROY(s, QP, qp.qp));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	EXPECT_EQ(0, abi_accept(s, r.id, CHILD_UID, 0));
	EXPECT_EQ(0, abi_event(self->client, EV_ESTABLISHED, NULL));
}

/* The events of a request go where the request is. */
TEST_F(cm, migrate_with_request)
{
	struct abi *s = &self->s;
	int channel = abi_channel(s);
	struct rdma_ep_qp_init qp;
	__u32 id, child;

	ASSERT_LE(0, channel);
	OK(asking(self, &id));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));
	OK(abi_migrate(s, self->listener, channel));
	close(self->server);
	child = NEXT_EVENT(channel, EV_CONNECT_REQUEST).child;
	OK(new_qp(self, child, QPT_RC, &qp));
	OK(abi_accept(s, child, CHILD_UID, 0));
	EXPECT_EQ(CHILD_UID, NEXT_EVENT(channel, EV_ESTABLISHED).uid);
	OK(abi_event(self->client, EV_ESTABLISHED, NULL));
	OK(ABI_ID_CMD(s, DISCONNECT, id, 0));
	EXPECT_EQ(0, abi_event(channel, EV_DISCONNECTED, NULL));
}

/* A call in the wrong state does not break what works. */
TEST_F(cm, accept_twice)
{
	struct abi *s = &self->s;
	struct abi_pair p = {};

	OK(abi_pair_open(s, &p));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-EINVAL, abi_accept(s, p.end[i].id, 9, 0));
		EXPECT_EQ(-EINVAL, abi_connect(s, p.end[i].id, 0));
		EXPECT_QPS(QPS_RTS, s, p.end[i].qp.qp);
	}
	OK(abi_post_empty_recv(s, p.end[1].qp.qp, 1));
	OK(abi_post_empty_send(s, p.end[0].qp.qp, SEND_SIGNALED, 2));
	EXPECT_WC(s, p.end[0].cq[0], 2, WC_SUCCESS);
}

TEST_F(cm, reject)
{
	static const __u32 bad_reason[] = { 1, 8, 24, 27, 29, 34, 36, ~0U };
	static const char why[] = "no time for you";
	struct abi *s = &self->s;
	struct rdma_ep_reject r = {};
	struct rdma_ep_qp_init qp;
	struct rdma_ep_event ev;
	__u32 id, child;

	for (__u32 reason = 0; reason <= 35; reason += reason ? 7 : 28) {
		OK(request(self, &id, &child));
		OK(new_qp(self, child, QPT_RC, &qp));
		r = (struct rdma_ep_reject) { .id = child, .reason = reason };
		for (size_t i = 0; i < ARRAY_SIZE(bad_reason); i++)
			LOGGED(EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, REJECT, r, reason, bad_reason[i])),
			       "reason %u", bad_reason[i]);

		const __u32 bad_len[] = {
			RDMA_EP_MAX_PRIVATE_DATA + 1, ~0U, max_data(s, REJ_BYTES) + 1
		};

		for (size_t i = 0; i < ARRAY_SIZE(bad_len); i++)
			EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, REJECT, r, private_data_len, bad_len[i]));
		r.private_data_len = strlen(why);
		strcpy((char *)r.private_data, why);
		EXPECT_EQ(0, ABI(s->fd, REJECT, &r));
		ev = EXPECT_EVENT(self->client, EV_REJECTED, id);
		EXPECT_EQ(CLIENT_UID, ev.uid);
		EXPECT_EQ(0, ev.flags);
		EXPECT_TRUE(same_data(ev.param.conn.private_data, why,
				      ev.param.conn.private_data_len));
		if (!s->iwarp) {
			EXPECT_EQ(REJ_BYTES, ev.param.conn.private_data_len);
			EXPECT_EQ(reason ?: 28, (__u32)ev.status);
		}
		/* Only once; accepting it now does not disturb a QP. */
		EXPECT_EQ(-EINVAL, ABI(s->fd, REJECT, &r));
		EXPECT_EQ(-EINVAL, abi_accept(s, child, 1, 0));
		EXPECT_QPS(QPS_INIT, s, qp.qp);
		EXPECT_EQ(0, ABI_DESTROY(s, ID, child));
	}
}

/* The library closes what it accepted late: nothing may arrive before that. */
TEST_F(cm, events_before_accept_are_dropped)
{
	__u32 id, child;

	OK(request(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	EXPECT_TRUE(abi_quiet(self->server));
	EXPECT_EQ(0, abi_events_reported(&self->s, child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
}

TEST_F(cm, destroying_a_child_rejects)
{
	__u32 id, child;

	OK(request(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
	EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, NULL));
}

/* The child has no handle yet. */
TEST_F(cm, destroying_a_listener_rejects)
{
	struct rdma_ep_qp_init qp;
	__u32 id[2], child;

	/* One request is read, one is not. */
	OK(request(self, &id[0], &child));
	OK(asking(self, &id[1]));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));

	EXPECT_EQ(1, ABI_DESTROY_COUNT(&self->s, ID, self->listener));
	EXPECT_FALSE(abi_ready(self->server, 0));
	EXPECT_EVENT(self->client, EV_REJECTED, id[1]);
	/* The one that was read lives on. */
	OK(new_qp(self, child, QPT_RC, &qp));
	EXPECT_EQ(0, abi_accept(&self->s, child, CHILD_UID, 0));
	EXPECT_EVENT(self->client, EV_ESTABLISHED, id[0]);
}

/*
 * A session that has both sides: over iWARP an id cannot be destroyed before its
 * request is answered, so the answer, for one that is read and one that is not,
 * must come first. (Or else siw waits for 10 s.)
 */
TEST_F(cm, closing_answers_requests)
{
	__u32 id[2], child;

	OK(request(self, &id[0], &child));
	OK(asking(self, &id[1]));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));
	EXPECT_WITHIN(5000 * TEST_SCALE, abi_close(&self->s));
	OK(abi_open(&self->s));
}

/*
 * Requests over the limit are not lost: the peer asks again after a while. Not
 * over iWARP: there it is refused.
 */
TEST_F_TIMEOUT(cm, backlog, 60)
{
	struct abi *s = &self->s;
	struct rdma_ep_event ev[4];
	struct sockaddr_in sin;
	int i, channel = abi_channel(s);
	__u32 listener, id;
	struct rdma_ep_qp_init qp;

	OK(abi_tcp_listen(s, channel, 2, 0, &listener, &sin));
	for (i = 0; i < 3; i++) {
		OK(abi_tcp_client(s, self->client, &sin, i, &id));
		OK(new_qp(self, id, QPT_RC, &qp));
		OK(abi_connect(s, id, 0));
	}
	usleep(4 * ABI_QUIET_MS * 1000);
	ASSERT_EQ(2 * sizeof(ev[0]), read(channel, ev, sizeof(ev)));
	if (s->iwarp) {
		EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, &ev[2]));
		EXPECT_EQ(id, ev[2].id);
		EXPECT_TRUE(abi_quiet(channel));
		return;
	}
	OK(abi_read(channel, &ev[2], sizeof(ev[2]), 2 * ABI_WAIT_MS));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(EV_CONNECT_REQUEST, ev[i].event);
	EXPECT_NE(ev[0].child, ev[1].child);
	EXPECT_NE(ev[1].child, ev[2].child);
	EXPECT_EQ(3, abi_events_reported(s, listener));
}

TEST_F(cm, disconnect)
{
	struct abi *s = &self->s;
	struct abi_pair p = {};

	OK(abi_pair_open(s, &p));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(s, DISCONNECT, p.listener, 0));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(s, ESTABLISH, p.end[0].id, 0));
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, p.end[0].id, 0));
	EXPECT_QPS(QPS_ERR, s, p.end[0].qp.qp);
	EXPECT_EQ(3, EXPECT_EVENT(p.end[1].channel, EV_DISCONNECTED, p.end[1].id).uid);
	/* The answer */
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, p.end[1].id, 0));
	EXPECT_QPS(QPS_ERR, s, p.end[1].qp.qp);
	EXPECT_EQ(2, NEXT_EVENT(p.end[0].channel, EV_DISCONNECTED).uid);
	/* Id and QP go in either order. */
	EXPECT_EQ(0, ABI_DESTROY(s, ID, p.end[0].id));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, p.end[0].qp.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, p.end[1].qp.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, p.end[1].id));
}

TEST_F(cm, disconnect_unconnected)
{
	struct rdma_ep_qp_init qp;
	__u32 id;

	OK(new_client(self, &id));
	OK(new_qp(self, id, QPT_RC, &qp));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, DISCONNECT, id, 0));
	EXPECT_QPS(QPS_INIT, &self->s, qp.qp);
	EXPECT_EQ(0, abi_connect(&self->s, id, 0));
}

/* Who destroys a connected id has disconnected. */
TEST_F(cm, destroy_connected)
{
	__u32 id, child;

	OK(connection(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
	EXPECT_EVENT(self->client, EV_DISCONNECTED, id);
}

/* Moves a QP that belongs to no id, with what the CM knows. */
static int modify_as_told(const struct abi *s, __u32 id, __u32 qp, __u32 state)
{
	struct rdma_ep_init_qp_attr a = { .id = id, .qp_state = state };

	return ABI(s->fd, INIT_QP_ATTR, &a) ?: abi_modify_qp(s, qp, &a.attr);
}

TEST_F(cm, qp_without_id)
{
	struct abi *s = &self->s;
	struct rdma_ep_qp_init cqp, sqp;
	struct rdma_ep_event ev;
	struct rdma_ep_wc wc[2];
	__u32 id, child;

	OK(new_client(self, &id));
	OK(new_qp(self, 0, QPT_RC, &cqp));
	OK(new_qp(self, 0, QPT_RC, &sqp));
	EXPECT_EQ(QPS_RESET, cqp.state);
	OK(modify_as_told(s, id, cqp.qp, QPS_INIT));
	OK(abi_connect(s, id, cqp.qp_num));
	OK(abi_event(self->server, EV_CONNECT_REQUEST, &ev));
	child = ev.child;
	EXPECT_EQ(s->iwarp ? 0 : cqp.qp_num, ev.param.conn.qp_num);
	OK(modify_as_told(s, child, sqp.qp, QPS_INIT));
	OK(abi_post_empty_recv(s, sqp.qp, 77));
	if (s->iwarp) {			/* the CM moves both */
		OK(abi_accept(s, child, CHILD_UID, sqp.qp_num));
		OK(abi_event(self->client, EV_ESTABLISHED, &ev));
	} else {
		OK(modify_as_told(s, child, sqp.qp, QPS_RTR));
		OK(modify_as_told(s, child, sqp.qp, QPS_RTS));
		OK(abi_accept(s, child, CHILD_UID, sqp.qp_num));

		OK(abi_event(self->client, EV_CONNECT_RESPONSE, &ev));
		EXPECT_EQ(sqp.qp_num, ev.param.conn.qp_num);
		EXPECT_QPS(QPS_INIT, s, cqp.qp);
		OK(modify_as_told(s, id, cqp.qp, QPS_RTR));
		OK(modify_as_told(s, id, cqp.qp, QPS_RTS));
		EXPECT_EQ(0, ABI_ID_CMD(s, ESTABLISH, id, 0));
		EXPECT_EQ(-EINVAL, ABI_ID_CMD(s, ESTABLISH, id, 0));
	}
	EXPECT_EVENT(self->server, EV_ESTABLISHED, child);

	OK(abi_post_empty_send(s, cqp.qp, SEND_SIGNALED, 78));
	ASSERT_EQ(2, abi_wait(s, self->cq, wc, 2));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
	EXPECT_EQ(WC_SUCCESS, wc[1].status);
	EXPECT_EQ(77 + 78, wc[0].wr_id + wc[1].wr_id);
}

/* An unconnected pair gets an address to send to. */
TEST_F(cm, datagrams)
{
	static const char asked[] = "where?", answer[] = "there";
	struct abi *s = &self->s;
	struct rdma_ep_connect c = { .conn = {
		.private_data = "where?", .private_data_len = strlen(asked),
	} };
	struct rdma_ep_connect a = { .uid = CHILD_UID, .conn = {
		.private_data = "there", .private_data_len = strlen(answer),
	} };
	struct rdma_ep_create_ah ah = { .pd = self->s.pd };
	struct rdma_ep_qp_init cqp, sqp;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_event ev;
	struct rdma_ep_wc wc[2];
	struct sockaddr_in sin;
	__u32 listener, id;
	struct rdma_ep_reg_mr mr;
	char buf[64] = "";
	struct abi_wrs w;

	SKIP_IF(s->iwarp, "iWARP has no datagrams");
	OK(abi_listen(s, self->server, RDMA_PS_UDP, 0, 0, &listener, &sin));
	OK(abi_client(s, self->client, RDMA_PS_UDP, &sin, CLIENT_UID, &id));
	OK(new_qp(self, id, QPT_UD, &cqp));
	EXPECT_EQ(QPS_RTS, cqp.state);
	c.id = id;
	OK(ABI(s->fd, CONNECT, &c));
	OK(abi_event(self->server, EV_CONNECT_REQUEST, &ev));
	a.id = ev.child;
	EXPECT_EQ(RDMA_EP_EVENT_UD | RDMA_EP_EVENT_INFO, ev.flags);
	EXPECT_EQ(SIDR_REQ_BYTES, ev.param.ud.private_data_len);
	EXPECT_TRUE(same_data(ev.param.ud.private_data, asked, ev.param.ud.private_data_len));
	OK(new_qp(self, a.id, QPT_UD, &sqp));

	OK(ABI(s->fd, ACCEPT, &a));
	OK(abi_event(self->client, EV_ESTABLISHED, &ev));
	EXPECT_EQ(RDMA_EP_EVENT_UD, ev.flags);
	EXPECT_EQ(SIDR_REP_BYTES, ev.param.ud.private_data_len);
	EXPECT_TRUE(same_data(ev.param.ud.private_data, answer, ev.param.ud.private_data_len));
	EXPECT_EQ(sqp.qp_num, ev.param.ud.qp_num);
	EXPECT_EQ(0x01234567, ev.param.ud.qkey);	/* RDMA_UDP_QKEY */
	EXPECT_EQ(0, memcmp(ev.param.ud.ah_attr.grh.dgid, s->gid, 16));

	OK(abi_reg_mr(s, s->pd, buf, sizeof(buf), AC_LOCAL_WRITE, &mr));
	OK(abi_post_recv(s, sqp.qp, 1, buf, sizeof(buf), mr.lkey));
	ah.attr = ev.param.ud.ah_attr;
	OK(ABI(s->fd, CREATE_AH, &ah));
	wr = abi_wrs_send(&w, WR_SEND, SEND_SIGNALED, 2);
	wr->ah = ah.ah;
	wr->remote_qpn = ev.param.ud.qp_num;
	wr->remote_qkey = ev.param.ud.qkey;
	abi_inline(&w, wr, "datagram", 9);
	OK(ABI_POST(s, SEND, cqp.qp, &w, NULL));
	ASSERT_EQ(2, abi_wait(s, self->cq, wc, 2));
	EXPECT_STREQ("datagram", buf + GRH_BYTES);
}

TEST_HARNESS_MAIN
