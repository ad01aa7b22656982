// SPDX-License-Identifier: GPL-2.0-only
/* Connections of synchronous ids, of QPs that the program modifies, and of datagram ids */
#include "lib_test.h"

static void *disconnect(void *id)
{
	return (void *)(long)rdma_disconnect(id);
}

/* P0: rdma_connect, rdma_accept, rdma_disconnect */
TEST(connect_and_disconnect)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;

	ASSERT_EQ(0, eps_up(&e));
	ASSERT_TRUE(e.a->event && e.p->event);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, e.a->event->event);
	EXPECT_EQ(e.a, e.a->event->id);
	EXPECT_EQ(0, e.a->event->status);
	EXPECT_EQ(lib_iwarp(e.a->verbs) ? 0 : e.p->qp->qp_num, e.a->event->param.conn.qp_num);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, e.p->event->event);

	/*
	 * rdma_disconnect() waits until the peer has disconnected as well. (Over iWARP, the end
	 * of the TCP connection is enough.)
	 */
	ASSERT_EQ(0, lib_start(&t, disconnect, e.a));
	if (!lib_iwarp(e.a->verbs)) {
		EXPECT_TRUE(lib_still_blocked(&t));
		EXPECT_QPS(IBV_QPS_ERR, e.a->qp);
	}
	/* The passive side has its event already, so this call does not block. */
	EXPECT_EQ(0, rdma_disconnect(e.p));
	ASSERT_TRUE(e.p->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, e.p->event->event);
	EXPECT_RETURNS(0, &t);
	ASSERT_TRUE(e.a->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, e.a->event->event);
	EXPECT_EQ(0, eps_down(&e));
}

static void *refuse(void *arg)
{
	struct eps *e = arg;

	STEP(!rdma_get_request(e->listener, &e->p));
	STEP(!rdma_reject(e->p, "no", 2));
	return NULL;
}

TEST(refused)
{
	struct lib_thread t;
	struct eps e = {};

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	ASSERT_EQ(0, lib_start(&t, refuse, &e));
	EXPECT_FAILS(ECONNREFUSED, rdma_connect(e.a, NULL));
	ASSERT_TRUE(e.a->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, e.a->event->event);
	if (!lib_iwarp(e.a->verbs)) {
		EXPECT_EQ(28, e.a->event->status);
		ASSERT_TRUE(e.a->event->param.conn.private_data != NULL);
		EXPECT_EQ(0, memcmp(e.a->event->param.conn.private_data, "no", 3));
	}
	EXPECT_RETURNS(NULL, &t);

	/* The id has the event of its request until it is rejected. (Stock keeps the event.) */
	if (!is_stock()) {
		ASSERT_EQ(NULL, e.p->event);
		/* The listener is destroyed first, and waits for no acknowledgment. */
		rdma_destroy_ep(e.listener);
		e.listener = NULL;
	}
	EXPECT_EQ(0, eps_down(&e));

	/* The listener is destroyed before the connect. */
	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	rdma_destroy_ep(e.listener);
	e.listener = NULL;
	EXPECT_FAILS(ECONNREFUSED, rdma_connect(e.a, NULL));
	EXPECT_EQ(0, eps_down(&e));
}

/* The passive side without endpoints. Returns the step that failed, or NULL. */
static void *serve(void *arg)
{
	struct eps *e = arg;

	STEP(!rdma_get_request(e->listener, &e->p));
	STEP(!pair_qp(e->p));
	STEP(!rdma_accept(e->p, NULL));
	return NULL;
}

TEST(without_endpoints)
{
	struct sockaddr_in sin = lib_addr(0);
	struct lib_thread t;
	struct eps e = {};

	e.listener = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_listen(e.listener, 1));
	sin.sin_port = rdma_get_src_port(e.listener);
	ASSERT_EQ(0, lib_start(&t, serve, &e));
	ASSERT_EQ(0, rdma_create_id(NULL, &e.a, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(e.a, NULL, SA(&sin), 2000));
	ASSERT_EQ(0, rdma_resolve_route(e.a, 2000));
	ASSERT_EQ(0, pair_qp(e.a));
	ASSERT_EQ(0, rdma_connect(e.a, NULL));
	EXPECT_RETURNS(NULL, &t);
	EXPECT_QPS(IBV_QPS_RTS, e.a->qp);
	EXPECT_QPS(IBV_QPS_RTS, e.p->qp);
	EXPECT_EQ(0, eps_down(&e));
}

/* ------------------------------------------------------------------ */

static struct ibv_qp *own_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(cq);

	return ibv_create_qp(id->pd, &attr);
}

static int move_qp(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	return rdma_seterrno(ibv_modify_qp(qp, &attr, mask));
}

static int move_to_rts(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	return move_qp(id, qp, IBV_QPS_INIT) || move_qp(id, qp, IBV_QPS_RTR) ||
	       move_qp(id, qp, IBV_QPS_RTS);
}

/* P0: rdma_establish, rdma_init_qp_attr, ibv_create_qp, ibv_modify_qp */
TEST(own_qps)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_event *event;
	struct ibv_qp *aqp, *pqp;
	struct ibv_sge sge = {};
	struct ibv_recv_wr recv = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 },
			   *bad_recv;
	struct ibv_send_wr send = { .wr_id = 6, .sg_list = &sge, .num_sge = 1,
				    .opcode = IBV_WR_SEND }, *bad_send;
	char in[16] = {}, out[16] = "own QP";
	struct ibv_mr *in_mr, *out_mr;
	struct pair p = {};
	struct ibv_cq *cq;

	ASSERT_EQ(0, pair_route(&p));
	if (lib_iwarp(p.a->verbs))
		SKIP(return, "iWARP's connections need the id's QP");
	cq = ASSERT_PTR(ibv_create_cq(p.a->verbs, 64, NULL, NULL, 0));
	aqp = ASSERT_PTR(own_qp(p.a, cq));
	EXPECT_EQ(IBV_QPS_RESET, aqp->state);
	ASSERT_EQ(0, move_qp(p.a, aqp, IBV_QPS_INIT));
	EXPECT_EQ(IBV_QPS_INIT, aqp->state);

	param.qp_num = aqp->qp_num;
	ASSERT_EQ(0, pair_request(&p, &param));
	EXPECT_EQ(aqp->qp_num, p.request->param.conn.qp_num);
	ASSERT_EQ(0, pair_ack(&p));
	pqp = ASSERT_PTR(own_qp(p.p, cq));
	ASSERT_EQ(0, move_to_rts(p.p, pqp));
	param.qp_num = pqp->qp_num;
	ASSERT_EQ(0, rdma_accept(p.p, &param));

	/* The id has no QP, so the program gets the response as an event. */
	event = ASSERT_PTR(lib_get_event(p.ac, RDMA_CM_EVENT_CONNECT_RESPONSE));
	EXPECT_EQ(pqp->qp_num, event->param.conn.qp_num);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	ASSERT_EQ(0, move_to_rts(p.a, aqp));
	EXPECT_EQ(IBV_QPS_RTS, aqp->state);
	EXPECT_TRUE(lib_quiet(p.pc->fd));
	ASSERT_EQ(0, rdma_establish(p.a));
	EXPECT_EQ(0, lib_event(p.pc, RDMA_CM_EVENT_ESTABLISHED));

	/* The QPs are connected. */
	in_mr = ASSERT_PTR(rdma_reg_msgs(p.p, in, sizeof(in)));
	out_mr = ASSERT_PTR(rdma_reg_msgs(p.a, out, sizeof(out)));
	sge = (struct ibv_sge) { (uintptr_t)in, 16, in_mr->lkey };
	ASSERT_EQ(0, ibv_post_recv(pqp, &recv, &bad_recv));
	sge = (struct ibv_sge) { (uintptr_t)out, 16, out_mr->lkey };
	ASSERT_EQ(0, ibv_post_send(aqp, &send, &bad_send));
	EXPECT_EQ(IBV_WC_SUCCESS, lib_next_wc(cq).status);
	EXPECT_EQ(IBV_WC_SUCCESS, lib_next_wc(cq).status);
	EXPECT_STREQ("own QP", in);
	EXPECT_EQ(0, rdma_dereg_mr(in_mr));
	EXPECT_EQ(0, rdma_dereg_mr(out_mr));

	/* rdma_disconnect() of an id without a QP leaves the program's QP alone. */
	ASSERT_EQ(0, rdma_disconnect(p.a));
	EXPECT_QPS(IBV_QPS_RTS, aqp);
	EXPECT_EQ(0, lib_event(p.pc, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_EQ(0, ibv_destroy_qp(aqp));
	EXPECT_EQ(0, ibv_destroy_qp(pqp));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, pair_down(&p));
}

TEST(establish_misuse)
{
	struct pair p = {};

	ASSERT_EQ(0, pair_up(&p));
	EXPECT_FAILS(EINVAL, rdma_establish(p.a));	/* the id has a QP */
	EXPECT_EQ(0, pair_down(&p));
	ASSERT_EQ(0, pair_route(&p));
	EXPECT_FAILS(EINVAL, rdma_establish(p.a));	/* there is no response */
	EXPECT_EQ(0, pair_down(&p));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_establish(NULL));
}

/* ------------------------------------------------------------------ */

#define SIDR_REQ_LEN 180
#define SIDR_REP_LEN 136

/* P0: rdma_connect, rdma_accept, rdma_post_ud_send */
TEST(datagrams)
{
	struct rdma_conn_param param = { .private_data = "question", .private_data_len = 8 };
	struct pair p = { .ps = RDMA_PS_UDP };
	struct rdma_cm_event *event;
	char in[64] = {}, out[16] = "datagram";
	struct ibv_mr *in_mr, *out_mr;
	struct ibv_wc wc;
	struct ibv_ah *ah;

	ASSERT_EQ(0, pair_listen(&p));
	if (lib_iwarp(p.listener->verbs))
		SKIP(return, "iWARP has no datagrams");
	ASSERT_EQ(0, pair_resolve(&p));
	ASSERT_EQ(0, pair_qp(p.a));
	ASSERT_EQ(0, pair_request(&p, &param));
	EXPECT_EQ(SIDR_REQ_LEN, p.request->param.ud.private_data_len);
	EXPECT_EQ(0, memcmp(p.request->param.ud.private_data, "question", 9));
	EXPECT_EQ(IBV_QPT_UD, p.p->qp_type);
	EXPECT_EQ(RDMA_PS_UDP, p.p->ps);
	ASSERT_EQ(0, pair_ack(&p));
	ASSERT_EQ(0, pair_qp(p.p));
	param.private_data = "answer";
	param.private_data_len = 6;
	param.qp_num = p.p->qp->qp_num;
	ASSERT_EQ(0, rdma_accept(p.p, &param));

	event = ASSERT_PTR(lib_get_event(p.ac, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(p.p->qp->qp_num, event->param.ud.qp_num);
	EXPECT_EQ(RDMA_UDP_QKEY, event->param.ud.qkey);
	EXPECT_EQ(SIDR_REP_LEN, event->param.ud.private_data_len);
	EXPECT_EQ(0, memcmp(event->param.ud.private_data, "answer", 7));
	EXPECT_EQ(1, event->param.ud.ah_attr.is_global);
	ah = ASSERT_PTR(ibv_create_ah(p.a->pd, &event->param.ud.ah_attr));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(lib_quiet(p.pc->fd));	/* no event for the passive side */

	in_mr = ASSERT_PTR(rdma_reg_msgs(p.p, in, sizeof(in)));
	out_mr = ASSERT_PTR(rdma_reg_msgs(p.a, out, sizeof(out)));
	ASSERT_EQ(0, rdma_post_recv(p.p, (void *)1, in, sizeof(in), in_mr));
	ASSERT_EQ(0, rdma_post_ud_send(p.a, (void *)2, out, 9, out_mr, IBV_SEND_SIGNALED, ah,
				       p.p->qp->qp_num));
	ASSERT_EQ(1, rdma_get_send_comp(p.a, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	ASSERT_EQ(1, rdma_get_recv_comp(p.p, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(40 + 9, wc.byte_len);
	EXPECT_TRUE(wc.wc_flags & IBV_WC_GRH);
	EXPECT_EQ(p.a->qp->qp_num, wc.src_qp);
	EXPECT_STREQ("datagram", in + 40);
	EXPECT_EQ(0, rdma_dereg_mr(in_mr));
	EXPECT_EQ(0, rdma_dereg_mr(out_mr));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
	EXPECT_EQ(0, pair_down(&p));
}

TEST(datagrams_refused)
{
	struct pair p = { .ps = RDMA_PS_UDP };
	struct rdma_cm_event *event;

	ASSERT_EQ(0, pair_listen(&p));
	if (lib_iwarp(p.listener->verbs))
		SKIP(return, "iWARP has no datagrams");
	ASSERT_EQ(0, pair_resolve(&p));
	ASSERT_EQ(0, pair_qp(p.a));
	ASSERT_EQ(0, pair_passive(&p));
	ASSERT_EQ(0, rdma_reject(p.p, "no", 2));
	event = ASSERT_PTR(lib_get_event(p.ac, RDMA_CM_EVENT_UNREACHABLE));
	EXPECT_NE(0, event->status);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
