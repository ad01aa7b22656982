// SPDX-License-Identifier: GPL-2.0-only
/* Connections of asynchronous ids */
#include "lib_test.h"

/* Sizes of the private data in messages of the IB CM. The receiver always gets all of it. */
#define REQ_LEN 56
#define REP_LEN 196
#define REJ_LEN 148

FIXTURE(conn) {
	struct pair p;
	struct ibv_device_attr dev;
	bool iwarp;
};

/* The active side is ready to connect. */
FIXTURE_SETUP(conn)
{
	ASSERT_EQ(0, pair_client(&self->p));
	ASSERT_EQ(0, ibv_query_device(self->p.a->verbs, &self->dev));
	self->iwarp = lib_iwarp(self->p.a->verbs);
}

FIXTURE_TEARDOWN(conn)
{
	EXPECT_EQ(0, pair_down(&self->p));
}

static int connect_pair(struct pair *p)
{
	return pair_requested(p) ?: pair_accept(p);
}

static bool is_zero(const char *p, int n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* The private data is the text, padded with zeros to the size of the field. */
static bool padded(const struct rdma_conn_param *c, const char *text, int len)
{
	int n = strlen(text);

	if (c->private_data && c->private_data_len == len && !memcmp(c->private_data, text, n) &&
	    is_zero((char *)c->private_data + n, len - n))
		return true;
	lib_say(__FILE__, __LINE__, "%u bytes of private data, not %d", c->private_data_len, len);
	return false;
}

/* P0: rdma_connect, rdma_accept */
TEST_F(conn, request_and_its_id)
{
	struct pair *p = &self->p;
	struct rdma_conn_param param = {
		.private_data = "hello",
		.private_data_len = 5,
		.responder_resources = 2,
		.initiator_depth = 3,
		.flow_control = 1,
		.retry_count = 5,
		.rnr_retry_count = 6,
	}, *c;
	struct rdma_cm_event *event;
	char text[] = "world";

	ASSERT_EQ(0, pair_request(p, &param));
	event = p->request;
	EXPECT_EQ(p->listener, event->listen_id);
	EXPECT_NE(p->listener, event->id);
	EXPECT_EQ(0, event->status);

	/* The new id */
	EXPECT_EQ((void *)p, p->p->context);
	EXPECT_EQ(p->pc, p->p->channel);
	EXPECT_EQ(RDMA_PS_TCP, p->p->ps);
	EXPECT_EQ(IBV_QPT_RC, p->p->qp_type);
	EXPECT_EQ(p->a->verbs, p->p->verbs);
	EXPECT_EQ(p->a->pd, p->p->pd);
	EXPECT_EQ(1, p->p->port_num);
	EXPECT_TRUE(!p->p->qp && !p->p->event);
	EXPECT_EQ(rdma_get_src_port(p->listener), rdma_get_src_port(p->p));
	EXPECT_EQ(rdma_get_src_port(p->a), rdma_get_dst_port(p->p));
	EXPECT_EQ(p->addr.sin_addr.s_addr, p->p->route.addr.dst_sin.sin_addr.s_addr);
	EXPECT_EQ(p->addr.sin_addr.s_addr, p->p->route.addr.src_sin.sin_addr.s_addr);

	c = &event->param.conn;
	if (self->iwarp)
		SKIP(return, "the rest is of InfiniBand's CM");
	EXPECT_EQ(1, p->p->route.num_paths);
	EXPECT_TRUE(padded(c, "hello", REQ_LEN));
	/* The depths are swapped to the receiver's view. */
	EXPECT_EQ(3, c->responder_resources);
	EXPECT_EQ(2, c->initiator_depth);
	EXPECT_EQ(1, c->flow_control);
	EXPECT_EQ(5, c->retry_count);
	EXPECT_EQ(6, c->rnr_retry_count);
	EXPECT_EQ(0, c->srq);
	EXPECT_EQ(p->a->qp->qp_num, c->qp_num);
	ASSERT_EQ(0, pair_ack(p));

	ASSERT_EQ(0, pair_qp(p->p));
	memset(&param, 0, sizeof(param));
	param.private_data = text;
	param.private_data_len = 5;
	param.responder_resources = 1;
	param.initiator_depth = 2;
	param.rnr_retry_count = 4;
	ASSERT_EQ(0, rdma_accept(p->p, &param));
	memset(text, 'x', 5);	/* rdma_accept() has copied it */
	/* rdma_accept() moves the passive side's QP to RTS at once. */
	EXPECT_QPS(IBV_QPS_RTS, p->p->qp);

	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_ESTABLISHED));
	c = &event->param.conn;
	EXPECT_EQ(p->a, event->id);
	EXPECT_TRUE(padded(c, "world", REP_LEN));
	EXPECT_EQ(2, c->responder_resources);
	EXPECT_EQ(1, c->initiator_depth);
	EXPECT_EQ(4, c->rnr_retry_count);
	EXPECT_EQ(p->p->qp->qp_num, c->qp_num);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_QPS(IBV_QPS_RTS, p->a->qp);

	event = ASSERT_PTR(lib_get_event(p->pc, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(p->p, event->id);
	EXPECT_EQ(0, event->param.conn.private_data_len);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

/* Without parameters, a request has the maximum values, and is accepted as requested. */
TEST_F(conn, null_parameters)
{
	struct rdma_cm_event *event;
	struct pair *p = &self->p;
	struct rdma_conn_param *c;

	ASSERT_EQ(0, pair_request(p, NULL));
	c = &p->request->param.conn;
	if (!self->iwarp) {
		EXPECT_EQ((uint8_t)self->dev.max_qp_init_rd_atom, c->responder_resources);
		EXPECT_EQ((uint8_t)self->dev.max_qp_rd_atom, c->initiator_depth);
		EXPECT_EQ(7, c->retry_count);
		EXPECT_EQ(7, c->rnr_retry_count);
		EXPECT_EQ(0, c->flow_control);
		EXPECT_TRUE(padded(c, "", REQ_LEN));
	}
	ASSERT_EQ(0, pair_ack(p));
	ASSERT_EQ(0, pair_qp(p->p));
	ASSERT_EQ(0, rdma_accept(p->p, NULL));
	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_ESTABLISHED));
	c = &event->param.conn;
	if (!self->iwarp) {
		EXPECT_EQ((uint8_t)self->dev.max_qp_rd_atom, c->responder_resources);
		EXPECT_EQ((uint8_t)self->dev.max_qp_init_rd_atom, c->initiator_depth);
		EXPECT_EQ(7, c->rnr_retry_count);
	}
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, lib_event(p->pc, RDMA_CM_EVENT_ESTABLISHED));
}

/* 0xff is the maximum: of the device in rdma_connect(), of the request in rdma_accept(). */
TEST_F(conn, maximum_parameters)
{
	struct rdma_conn_param param = {
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = 2,
		.retry_count = 15,
		.rnr_retry_count = 15,
	}, *c;
	struct rdma_cm_event *event;
	struct pair *p = &self->p;

	if (self->iwarp)
		SKIP(return, "these are of InfiniBand's CM");
	ASSERT_EQ(0, pair_request(p, &param));
	c = &p->request->param.conn;
	EXPECT_EQ(2, c->responder_resources);
	EXPECT_EQ((uint8_t)self->dev.max_qp_rd_atom, c->initiator_depth);
	EXPECT_EQ(7, c->retry_count);
	EXPECT_EQ(7, c->rnr_retry_count);
	ASSERT_EQ(0, pair_ack(p));
	ASSERT_EQ(0, pair_qp(p->p));
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	ASSERT_EQ(0, rdma_accept(p->p, &param));
	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_ESTABLISHED));
	c = &event->param.conn;
	EXPECT_EQ((uint8_t)self->dev.max_qp_rd_atom, c->responder_resources);
	EXPECT_EQ(2, c->initiator_depth);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, lib_event(p->pc, RDMA_CM_EVENT_ESTABLISHED));
}

TEST_F(conn, parameters_over_the_limit)
{
	struct rdma_conn_param param = {};
	struct pair *p = &self->p;
	char data[256] = {};

	if ((uint8_t)self->dev.max_qp_rd_atom >= 254 ||
	    (uint8_t)self->dev.max_qp_init_rd_atom >= 254)
		SKIP(return, "the device has no limit");
	param.responder_resources = self->dev.max_qp_rd_atom + 1;
	EXPECT_FAILS(EINVAL, rdma_connect(p->a, &param));
	param.responder_resources = 0;
	param.initiator_depth = self->dev.max_qp_init_rd_atom + 1;
	EXPECT_FAILS(EINVAL, rdma_connect(p->a, &param));
	param.initiator_depth = 0;
	param.private_data = data;
	param.private_data_len = REQ_LEN + 1;
	if (!self->iwarp)
		EXPECT_FAILS(EINVAL, rdma_connect(p->a, &param));

	/* The longest private data of a request */
	param.private_data_len = REQ_LEN;
	memset(data, 'q', REQ_LEN);
	ASSERT_EQ(0, pair_request(p, &param));
	EXPECT_TRUE(padded(&p->request->param.conn, data, REQ_LEN));
	ASSERT_EQ(0, pair_ack(p));
	ASSERT_EQ(0, pair_qp(p->p));

	param.private_data = NULL;
	param.private_data_len = 0;
	param.responder_resources = self->dev.max_qp_rd_atom + 1;
	EXPECT_FAILS(EINVAL, rdma_accept(p->p, &param));
	param.responder_resources = 0;
	param.initiator_depth = self->dev.max_qp_init_rd_atom + 1;
	EXPECT_FAILS(EINVAL, rdma_accept(p->p, &param));
}

TEST_F(conn, long_private_data_in_the_reply)
{
	struct rdma_conn_param param = {};
	struct rdma_cm_event *event;
	struct pair *p = &self->p;
	char data[256] = {};

	memset(data, 'r', REP_LEN);
	ASSERT_EQ(0, pair_requested(p));
	param.private_data = data;
	param.private_data_len = REP_LEN;
	ASSERT_EQ(0, rdma_accept(p->p, &param));
	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_TRUE(padded(&event->param.conn, data, REP_LEN));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(conn, too_long_private_data_in_the_reply)
{
	struct rdma_conn_param param = {};
	struct pair *p = &self->p;
	char data[256] = {};

	if (self->iwarp)
		SKIP(return, "the limit is InfiniBand's");
	ASSERT_EQ(0, pair_requested(p));
	param.private_data = data;
	param.private_data_len = REP_LEN + 1;
	EXPECT_FAILS(EINVAL, rdma_accept(p->p, &param));
	/*
	 * A failed accept leaves no half open QP. The stock library fails after it has moved the
	 * QP to RTS, and moves it to ERR. rdma_ep fails before it modifies the QP.
	 */
	EXPECT_QPS(is_stock() ? IBV_QPS_ERR : IBV_QPS_INIT, p->p->qp);
}

/* P0: rdma_reject */
TEST_F(conn, reject)
{
	struct rdma_cm_event *event;
	struct pair *p = &self->p;
	char data[REJ_LEN + 1] = "not today";

	ASSERT_EQ(0, pair_passive(p));
	if (!self->iwarp)
		EXPECT_FAILS(EINVAL, rdma_reject(p->p, data, REJ_LEN + 1));
	ASSERT_EQ(0, rdma_reject(p->p, data, 9));
	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(p->a, event->id);
	if (self->iwarp) {
		/* The answer and the end of the TCP stream race. */
		EXPECT_TRUE(event->status == -ECONNREFUSED || event->status == -ECONNRESET);
	} else {
		EXPECT_EQ(28, event->status);
		EXPECT_TRUE(padded(&event->param.conn, "not today", REJ_LEN));
	}
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_QPS(IBV_QPS_ERR, p->a->qp);
	EXPECT_FAILS(EINVAL, rdma_reject(p->p, NULL, 0));
}

TEST_F(conn, reject_without_data)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, pair_request(p, NULL));
	ASSERT_EQ(0, rdma_reject(p->p, NULL, 0));
	EXPECT_EQ(0, lib_event(p->ac, RDMA_CM_EVENT_REJECTED));
}

TEST_F(conn, connect_without_listener_fails)
{
	struct rdma_cm_event *event;
	struct pair *p = &self->p;

	EXPECT_EQ(0, rdma_destroy_id(p->listener));
	p->listener = NULL;
	/* siw's connect waits for the TCP connection. */
	if (self->iwarp) {
		EXPECT_FAILS(ECONNREFUSED, rdma_connect(p->a, NULL));
		return;
	}
	ASSERT_EQ(0, rdma_connect(p->a, NULL));
	event = ASSERT_PTR(lib_get_event(p->ac, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(8, event->status);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_QPS(IBV_QPS_ERR, p->a->qp);
}

TEST_F(conn, request_destroyed)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, pair_passive(p));
	EXPECT_EQ(0, rdma_destroy_id(p->p));
	p->p = NULL;
	EXPECT_EQ(0, lib_event(p->ac, RDMA_CM_EVENT_REJECTED));
}

/* Requests beyond the backlog are not reported. */
TEST_F(conn, backlog)
{
	struct pair *p = &self->p, q = {};
	struct rdma_cm_event *event;

	EXPECT_EQ(0, rdma_destroy_id(p->listener));
	ASSERT_EQ(0, rdma_create_id(p->pc, &p->listener, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(p->listener, SA(&p->addr)));
	ASSERT_EQ(0, rdma_listen(p->listener, 1));
	q = *p;
	q.a = NULL;
	ASSERT_EQ(0, pair_resolve(&q));
	ASSERT_EQ(0, pair_qp(q.a));

	ASSERT_EQ(0, rdma_connect(p->a, NULL));
	ASSERT_TRUE(lib_readable(p->pc->fd, WAIT_MS));
	ASSERT_EQ(0, rdma_connect(q.a, NULL));
	usleep(QUIET_MS * 1000);
	event = ASSERT_PTR(lib_get_event(p->pc, RDMA_CM_EVENT_CONNECT_REQUEST));
	EXPECT_EQ(rdma_get_src_port(p->a), rdma_get_dst_port(event->id));
	p->p = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(lib_quiet(p->pc->fd));
	rdma_destroy_qp(q.a);
	EXPECT_EQ(0, rdma_destroy_id(q.a));

	/* A request that has been read makes room for another one. */
	EXPECT_EQ(0, rdma_destroy_id(p->p));
	p->p = NULL;
	EXPECT_EQ(0, lib_event(p->ac, RDMA_CM_EVENT_REJECTED));
	q.a = NULL;
	ASSERT_EQ(0, pair_resolve(&q));
	ASSERT_EQ(0, pair_qp(q.a));
	ASSERT_EQ(0, rdma_connect(q.a, NULL));
	event = ASSERT_PTR(lib_get_event(p->pc, RDMA_CM_EVENT_CONNECT_REQUEST));
	EXPECT_EQ(rdma_get_src_port(q.a), rdma_get_dst_port(event->id));
	p->p = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	rdma_destroy_qp(q.a);
	EXPECT_EQ(0, rdma_destroy_id(q.a));
}

/* P0: rdma_disconnect */
TEST_F(conn, disconnect)
{
	char buf[64];
	struct ibv_mr *mr;
	struct pair *p = &self->p;

	ASSERT_EQ(0, connect_pair(p));
	EXPECT_EQ(p->a->pd, p->p->pd);
	mr = ASSERT_PTR(rdma_reg_msgs(p->a, buf, sizeof(buf)));
	ASSERT_EQ(0, rdma_post_recv(p->a, (void *)1, buf, 64, mr));
	ASSERT_EQ(0, rdma_post_recv(p->p, (void *)2, buf, 64, mr));

	ASSERT_EQ(0, rdma_disconnect(p->a));
	/* The stock library moves an iWARP QP to SQD. */
	EXPECT_EQ(is_stock() && self->iwarp ? IBV_QPS_SQD : IBV_QPS_ERR, p->a->qp->state);
	if (!self->iwarp)
		EXPECT_QPS(IBV_QPS_ERR, p->a->qp);
	EXPECT_WC(p->a->recv_cq, 1, IBV_WC_WR_FLUSH_ERR);

	/* rdma_disconnect() does not modify the peer's QP. */
	ASSERT_EQ(0, lib_event(p->pc, RDMA_CM_EVENT_DISCONNECTED));
	if (!self->iwarp)
		EXPECT_QPS(IBV_QPS_RTS, p->p->qp);
	EXPECT_EQ(0, rdma_disconnect(p->p));
	EXPECT_WC(p->p->recv_cq, 2, IBV_WC_WR_FLUSH_ERR);
	ASSERT_EQ(0, lib_event(p->ac, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_EQ(0, rdma_dereg_mr(mr));
}

TEST_F(conn, destroying_the_id_disconnects)
{
	struct pair *p = &self->p;
	struct ibv_qp *qp;

	ASSERT_EQ(0, connect_pair(p));
	/* The CQs of rdma_create_qp() are left behind. */
	qp = p->a->qp;
	EXPECT_EQ(0, rdma_destroy_id(p->a));
	p->a = NULL;
	EXPECT_EQ(0, lib_event(p->pc, RDMA_CM_EVENT_DISCONNECTED));
	/* A QP outlives its id. */
	EXPECT_NE(IBV_QPS_UNKNOWN, lib_qp_state(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));

	/* The QP is destroyed first, without rdma_destroy_qp(). */
	EXPECT_EQ(0, ibv_destroy_qp(p->p->qp));
	p->p->qp = NULL;
	EXPECT_EQ(0, rdma_destroy_id(p->p));
	p->p = NULL;
}

TEST_F(conn, wrong_state)
{
	struct rdma_conn_param param = {};
	struct pair *p = &self->p;

	EXPECT_FAILS(EINVAL, rdma_reject(p->a, NULL, 0));
	EXPECT_FAILS(EINVAL, rdma_accept(p->listener, &param));
	EXPECT_FAILS(EINVAL, rdma_reject(p->listener, NULL, 0));
	EXPECT_FAILS(EINVAL, rdma_establish(p->a));

	ASSERT_EQ(0, pair_request(p, NULL));
	EXPECT_FAILS(EINVAL, rdma_connect(p->a, NULL));
	ASSERT_EQ(0, pair_ack(p));
	ASSERT_EQ(0, pair_qp(p->p));
	ASSERT_EQ(0, pair_accept(p));
	EXPECT_FAILS(EINVAL, rdma_establish(p->a));
	EXPECT_FAILS(EINVAL, rdma_reject(p->p, NULL, 0));
}

TEST_F(conn, needs_qp_or_parameters)
{
	struct pair *p = &self->p;

	rdma_destroy_qp(p->a);
	EXPECT_FAILS(EINVAL, rdma_connect(p->a, NULL));
	EXPECT_FAILS(EINVAL, rdma_disconnect(p->a));
	ASSERT_EQ(0, pair_qp(p->a));
	ASSERT_EQ(0, pair_request(p, NULL));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_accept(p->p, NULL));
	EXPECT_EQ(0, rdma_reject(p->p, NULL, 0));
}

TEST_F(conn, connect_before_route)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	if (!is_stock()) {	/* stock crashes without a device */
		struct rdma_conn_param param = {};

		EXPECT_FAILS(EINVAL, rdma_connect(id, &param));
	}
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, SA(&self->p.addr), 2000));
	ASSERT_EQ(0, pair_qp(id));
	EXPECT_FAILS(EINVAL, rdma_connect(id, NULL));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* A response has the vendor of the request, and options of its own. */
TEST(vendor_options)
{
	struct ibv_ece a = { .vendor_id = 0x5a5a, .options = 3 };
	struct ibv_ece p = { .vendor_id = 0x7b7b, .options = 7 };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_ece got = {};
	struct ibv_qp_init_attr attr;
	struct ibv_qp *aqp, *pqp;
	struct pair pair = {};
	struct ibv_cq *cq;

	ASSERT_EQ(0, pair_route(&pair));
	if (lib_iwarp(pair.a->verbs)) {
		EXPECT_EQ(0, pair_down(&pair));
		SKIP(return, "messages of iWARP have no room for them");
	}
	cq = ASSERT_PTR(ibv_create_cq(pair.a->verbs, 16, NULL, NULL, 0));
	attr = lib_qp_attr_on(cq);
	aqp = ASSERT_PTR(ibv_create_qp(pair.a->pd, &attr));
	attr = lib_qp_attr_on(cq);
	pqp = ASSERT_PTR(ibv_create_qp(pair.a->pd, &attr));

	ASSERT_EQ(0, rdma_set_local_ece(pair.a, &a));
	param.qp_num = aqp->qp_num;
	ASSERT_EQ(0, pair_request(&pair, &param));
	ASSERT_EQ(0, rdma_get_remote_ece(pair.p, &got));
	EXPECT_EQ(a.vendor_id, got.vendor_id);
	EXPECT_EQ(a.options, got.options);

	ASSERT_EQ(0, rdma_set_local_ece(pair.p, &p));
	param.qp_num = pqp->qp_num;
	ASSERT_EQ(0, rdma_accept(pair.p, &param));
	ASSERT_EQ(0, lib_event(pair.ac, RDMA_CM_EVENT_CONNECT_RESPONSE));
	ASSERT_EQ(0, rdma_get_remote_ece(pair.a, &got));
	EXPECT_EQ(a.vendor_id, got.vendor_id);
	EXPECT_EQ(p.options, got.options);

	EXPECT_EQ(0, pair_down(&pair));
	EXPECT_EQ(0, ibv_destroy_qp(aqp));
	EXPECT_EQ(0, ibv_destroy_qp(pqp));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* The CM accepts only IBV_EVENT_COMM_EST. */
TEST_F(conn, notify)
{
	struct pair *p = &self->p;

	EXPECT_FAILS(EINVAL, rdma_notify(p->a, IBV_EVENT_COMM_EST));
	ASSERT_EQ(0, connect_pair(p));
	if (!self->iwarp) {
		EXPECT_FAILS(EISCONN, rdma_notify(p->p, IBV_EVENT_COMM_EST));
		EXPECT_FAILS(EINVAL, rdma_notify(p->p, IBV_EVENT_SQ_DRAINED));
	}
	EXPECT_TRUE(lib_quiet(p->ac->fd));
	EXPECT_TRUE(lib_quiet(p->pc->fd));
	/* (With the stock libraries, PATH_MIG makes the IB CM forget the connection's GID.) */
	if (!is_stock()) {
		EXPECT_FAILS(EINVAL, rdma_notify(p->p, IBV_EVENT_PATH_MIG));
		EXPECT_FAILS(EINVAL, rdma_notify(NULL, IBV_EVENT_COMM_EST));
	}
}

TEST_HARNESS_MAIN
