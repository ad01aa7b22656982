// SPDX-License-Identifier: GPL-2.0-only
/* Connections: requests, answers, events and their contents. */
#include "abi_cm.h"

/* A thread that resolves the route of the present id, over and over */
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
 * RESOLVE_ROUTE may run before the handler of ADDR_RESOLVED has returned. The event has no paths
 * nevertheless.
 */
TEST_F(cm, route_before_the_event)
{
	struct router r = { .s = &self->s };
	struct sockaddr_in sin = self->sin;
	struct rdma_ep_channel_event ev;
	int paths = 0;
	__u32 id;

	OK(pthread_create(&r.thread, NULL, route, &r));
	for (int i = 0; i < 300; i++) {
		/* On RoCE every other address is loopback, for which RESOLVE_ROUTE fails. */
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
 * siw reports each of the two depths for the other, and on Linux 6.1 no state. @own: the ids have
 * QPs of their own
 */
static void query_connected(struct __test_metadata *_metadata, FIXTURE_DATA(cm) * self, bool own)
{
	struct rdma_ep_cmd_connect c = { .conn = {
		.responder_resources = 8, .initiator_depth = 4, .retry_count = 7,
	} };
	struct rdma_ep_cmd_connect a = { .uid = CHILD_UID, .conn = {
		.responder_resources = 4, .initiator_depth = 8,
	} };
	struct rdma_ep_qp_init qp[2];
	struct rdma_ep_channel_event ev;

	OK(new_client(self, &c.id));
	OK(new_qp(self, own ? c.id : 0, QPT_RC, &qp[0]));
	c.conn.qp_num = qp[0].qp_num;
	OK(ABI(self->s.fd, CONNECT, &c));
	OK(abi_event(self->server, EV_CONNECT_REQUEST, &ev));
	a.id = ev.child;
	OK(new_qp(self, own ? a.id : 0, QPT_RC, &qp[1]));
	a.conn.qp_num = qp[1].qp_num;
	OK(ABI(self->s.fd, ACCEPT, &a));
	EXPECT_EQ(QPS_RTS, qp_state(&self->s, qp[1].qp, QPS_RTS));
	OK(abi_event(self->client, EV_ESTABLISHED, NULL));
	OK(abi_event(self->server, EV_ESTABLISHED, NULL));
	for (int i = 0; i < 2; i++) {
		struct rdma_ep_cmd_query_qp q = {
			.qp = qp[i].qp,
			.attr_mask = QP_STATE | QP_MAX_QP_RD_ATOMIC | QP_MAX_DEST_RD_ATOMIC,
		};

		OK(ABI(self->s.fd, QUERY_QP, &q));
		EXPECT_EQ(QPS_RTS, q.attr.qp_state);
		EXPECT_EQ(i ? 8 : 4, q.attr.max_rd_atomic);
		EXPECT_EQ(i ? 4 : 8, q.attr.max_dest_rd_atomic);
	}
	OK(ABI_ID_CMD(&self->s, DISCONNECT, c.id, 0));
	OK(abi_event(self->server, EV_DISCONNECTED, NULL));
	EXPECT_TRUE(!self->s.iwarp ||
		    ABI_UNTIL(qp_state(&self->s, qp[1].qp, QPS_RTS) != QPS_RTS));
	OK(ABI_DESTROY(&self->s, ID, c.id));
	OK(ABI_DESTROY(&self->s, ID, a.id));
}

TEST_F(cm, query_connected_qps)
{
	query_connected(_metadata, self, true);
	/* The user moves other QPs, but iWARP's CM moves any. */
	if (self->s.iwarp)
		query_connected(_metadata, self, false);
}

TEST_F(cm, peer_of_connect_gets_parameters)
{
	static const char asked[] = "may I?", answer[] = "you may, of course";
	struct abi *s = &self->s;
	struct rdma_ep_cmd_connect c = { .conn = {
		.responder_resources = 3, .initiator_depth = 2,
		.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6,
		/* Ignored: the kernel sets them. */
		.srq = 1, .qp_num = 0x123456,
		.private_data = "may I?", .private_data_len = strlen(asked),
	} };
	struct rdma_ep_cmd_connect a = { .uid = CHILD_UID, .conn = {
		.responder_resources = 2, .initiator_depth = 1,
		.flow_control = 1, .rnr_retry_count = 4,
		.srq = 1, .qp_num = 0x123456,
		.private_data = "you may, of course", .private_data_len = strlen(answer),
	} };
	struct rdma_ep_qp_init client_qp, server_qp;
	struct sockaddr_in *src, *dst;
	struct rdma_ep_channel_event ev;
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
	/* The peer's responder_resources are this side's initiator_depth, and vice versa. */
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
	/* The kernel moves the QP before it answers. */
	EXPECT_QPS(QPS_RTS, s, server_qp.qp);

	OK(abi_event(self->client, EV_ESTABLISHED, &ev));
	EXPECT_QPS(QPS_RTS, s, client_qp.qp);
	EXPECT_EQ(CLIENT_UID, ev.uid);
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, ev.child);
	EXPECT_EQ(0, ev.flags);
	EXPECT_EQ(0, ev.info.dev_index);
	EXPECT_TRUE(same_data(ev.param.conn.private_data, answer, ev.param.conn.private_data_len));
	/* rdma_cm reports the two limits of an iWARP connection the other way round. */
	EXPECT_EQ(s->iwarp ? 2 : 1, ev.param.conn.responder_resources);
	EXPECT_EQ(s->iwarp ? 1 : 2, ev.param.conn.initiator_depth);
	if (!s->iwarp) {
		EXPECT_EQ(REP_BYTES, ev.param.conn.private_data_len);
		EXPECT_EQ(server_qp.qp_num, ev.param.conn.qp_num);
		EXPECT_EQ(0, ev.param.conn.srq);
		EXPECT_EQ(4, ev.param.conn.rnr_retry_count);
	}
	/* The child has the uid of its ACCEPT. */
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
	struct rdma_ep_cmd_query_device d = { .dev_index = s->dev };
	struct rdma_ep_cmd_connect good = {};
	struct rdma_ep_cmd_create_qp theirs;
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
	/* The length with 36 bytes of rdma_cm, or 4 of siw, would not fit into its field. */
	EXPECT_REFUSED(conn.private_data_len, 255);
	EXPECT_REFUSED(uid, 1);
#undef EXPECT_REFUSED

	/* The refused calls have had no effect. */
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
	struct rdma_ep_cmd_connect a = { .uid = CHILD_UID };
	struct rdma_ep_cmd_query_device d = { .dev_index = s->dev };
	struct rdma_ep_qp_init qp;
	__u32 id;

	OK(ABI(s->fd, QUERY_DEVICE, &d));
	OK(request(self, &id, &a.id));
	EXPECT_EQ(-EINVAL, ABI(s->fd, ACCEPT, &a));
	/* The number of no QP, or of the GSI QP */
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.qp_num, s->iwarp ? 0xfffffe : 1));
	OK(new_qp(self, a.id, QPT_RC, &qp));
	if (d.attr.max_qp_rd_atom < 255)
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.responder_resources, 255));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ACCEPT, a, conn.private_data_len,
				    max_data(s, REP_BYTES) + 1));
	EXPECT_QPS(QPS_INIT, s, qp.qp);
	/* The client's id, which is not a request */
	EXPECT_EQ(-EINVAL, abi_accept(s, id, 1, 0));

	a.conn.private_data_len = max_data(s, REP_BYTES);
	EXPECT_EQ(0, ABI(s->fd, ACCEPT, &a));
	EXPECT_EQ(a.conn.private_data_len,
		  NEXT_EVENT(self->client, EV_ESTABLISHED).param.conn.private_data_len);
	EXPECT_EQ(-EINVAL, ABI(s->fd, ACCEPT, &a));
}

/* An id of a request reports to the channel that the request was read from. */
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

/* Calls in the wrong state do not disturb a connection. */
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

TEST_F(cm, disconnect)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_id c = {};
	struct abi_pair p = {};

	OK(abi_pair_open(s, &p));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(s, DISCONNECT, p.listener, 0));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(s, ESTABLISH, p.end[0].id, 0));
	/* The result is the state of the QP. */
	c.id = p.end[0].id;
	EXPECT_EQ(0, ABI(s->fd, DISCONNECT, &c));
	EXPECT_EQ(QPS_ERR, c.arg);
	EXPECT_QPS(QPS_ERR, s, p.end[0].qp.qp);
	EXPECT_EQ(3, EXPECT_EVENT(p.end[1].channel, EV_DISCONNECTED, p.end[1].id).uid);
	/* The answer */
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, p.end[1].id, 0));
	EXPECT_QPS(QPS_ERR, s, p.end[1].qp.qp);
	EXPECT_EQ(2, NEXT_EVENT(p.end[0].channel, EV_DISCONNECTED).uid);
	/* Id and QP can be destroyed in either order. */
	EXPECT_EQ(0, ABI_DESTROY(s, ID, p.end[0].id));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, p.end[0].qp.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, p.end[1].qp.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, p.end[1].id));
}

/* A failed DISCONNECT flushes the QP, except over iWARP, which could not drain it. */
TEST_F(cm, disconnect_unconnected)
{
	struct rdma_ep_qp_init qp;
	__u32 id;

	OK(new_client(self, &id));
	OK(new_qp(self, id, QPT_RC, &qp));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, DISCONNECT, id, 0));
	EXPECT_QPS(self->s.iwarp ? QPS_INIT : QPS_ERR, &self->s, qp.qp);
}

/* The destruction of a connected id disconnects it. */
TEST_F(cm, destroy_connected)
{
	__u32 id, child;

	OK(connection(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
	EXPECT_EVENT(self->client, EV_DISCONNECTED, id);
}

/* Moves a QP without an id, with the CM's attributes for it. */
static int modify_as_told(const struct abi *s, __u32 id, __u32 qp, __u32 state)
{
	struct rdma_ep_cmd_init_qp_attr a = { .id = id, .qp_state = state };

	return ABI(s->fd, INIT_QP_ATTR, &a) ?: abi_modify_qp(s, qp, &a.attr);
}

static int rename_dev(const char *from, const char *to)
{
	char command[160];

	snprintf(command, sizeof(command), "rdma dev set %s name %s", from, to);
	return system(command);
}

TEST_F(cm, connections_of_a_renamed_device_count)
{
	long established = abi_accounts("established");
	struct rdma_ep_cmd_open_device open = { .dev_index = self->s.dev };
	struct abi_pair p = {}, q = {};
	struct rdma_ep_device_info info;

	OK(abi_device_info(&self->s, &info));
	OK(rename_dev((char *)info.name, "ep_renamed"));
	EXPECT_EQ(0, abi_pair_open(&self->s, &p));
	EXPECT_EQ(0, ABI(self->s.fd, OPEN_DEVICE, &open));
	OK(rename_dev("ep_renamed", (char *)info.name));
	EXPECT_EQ(established + 2, abi_accounts("established"));
	/* Opened under its old name, it counts there again. */
	OK(ABI(self->s.fd, OPEN_DEVICE, &open));
	EXPECT_EQ(0, abi_pair_open(&self->s, &q));
	EXPECT_EQ(0, system("grep -q 'device name ep_renamed .* established 0 ' /proc/rdma_ep"));
	EXPECT_EQ(established + 4, abi_accounts("established"));
}

TEST_F(cm, qp_without_id)
{
	struct abi *s = &self->s;
	struct rdma_ep_qp_init cqp, sqp;
	struct rdma_ep_channel_event ev;
	long established = abi_accounts("established");
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
	EXPECT_EQ(established + 2, abi_accounts("established"));

	OK(abi_post_empty_send(s, cqp.qp, SEND_SIGNALED, 78));
	ASSERT_EQ(2, abi_wait(s, self->cq, wc, 2));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
	EXPECT_EQ(WC_SUCCESS, wc[1].status);
	EXPECT_EQ(77 + 78, wc[0].wr_id + wc[1].wr_id);
}

/* The client of an unconnected pair gets an address to send to. */
TEST_F(cm, datagrams)
{
	static const char asked[] = "where?", answer[] = "there";
	struct abi *s = &self->s;
	struct rdma_ep_cmd_connect c = { .conn = {
		.private_data = "where?", .private_data_len = strlen(asked),
	} };
	struct rdma_ep_cmd_connect a = { .uid = CHILD_UID, .conn = {
		.private_data = "there", .private_data_len = strlen(answer),
	} };
	struct rdma_ep_cmd_create_ah ah = { .pd = self->s.pd };
	struct rdma_ep_qp_init cqp, sqp;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_wc wc[2];
	struct sockaddr_in sin;
	__u32 listener, id;
	struct rdma_ep_cmd_reg_mr mr;
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
