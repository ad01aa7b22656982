// SPDX-License-Identifier: GPL-2.0-only
/* Tests of rdma_create_qp(3), sentence by sentence, numbered as in docs/programs/pages.md */
#include "lib_test.h"

/* Two bound ids, and a PD of their device. */
FIXTURE(qp) {
	struct rdma_cm_id *id, *other;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr attr;
};

FIXTURE_SETUP(qp)
{
	self->id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->other = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->verbs = self->id->verbs;
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->verbs));
	self->attr = lib_qp_attr();
}

FIXTURE_TEARDOWN(qp)
{
	if (self->id->qp)
		rdma_destroy_qp(self->id);
	if (self->other->qp)
		rdma_destroy_qp(self->other);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* P0: rdma_create_qp, rdma_destroy_qp */
TEST_F(qp, rdma_create_qp_S01_qp_is_made)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	EXPECT_TRUE(!self->id->qp);
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	qp = ASSERT_PTR(self->id->qp);
	EXPECT_NE(0, qp->qp_num);
	EXPECT_EQ(self->verbs, qp->context);
	EXPECT_TRUE(!qp->srq && !self->id->srq);
	EXPECT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	rdma_destroy_qp(self->id);
	EXPECT_TRUE(!self->id->qp);
	if (!is_stock())	/* stock crashes */
		rdma_destroy_qp(self->id);
}

TEST_F(qp, rdma_create_qp_S02_symbol_takes_the_documented_arguments)
{
	int (*create)(struct rdma_cm_id *id, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *qp_init_attr) =
		lib_symbol("rdma_create_qp");

	ASSERT_TRUE(create != NULL);
	ASSERT_EQ(0, create(self->id, self->pd, &self->attr));
	EXPECT_TRUE(self->id->qp != NULL);
}

TEST_F(qp, rdma_create_qp_S03_other_id_gets_no_qp)
{
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_TRUE(!self->other->qp && !self->other->send_cq && !self->other->recv_cq);
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(self->other, NULL, &self->attr));
	EXPECT_NE(self->id->qp, self->other->qp);
	EXPECT_NE(self->id->qp->qp_num, self->other->qp->qp_num);
	EXPECT_NE(self->id->send_cq, self->other->send_cq);
	rdma_destroy_qp(self->id);
	EXPECT_NE(IBV_QPS_UNKNOWN, lib_qp_state(self->other->qp));
}

TEST_F(qp, rdma_create_qp_S04_pd_is_that_of_the_qp_or_left_out)
{
	ASSERT_EQ(0, rdma_create_qp(self->id, self->pd, &self->attr));
	EXPECT_EQ(self->pd, self->id->qp->pd);
	EXPECT_EQ(self->pd, self->id->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(self->other, NULL, &self->attr));
	EXPECT_NE(self->pd, self->other->qp->pd);
}

TEST_F(qp, rdma_create_qp_S05_context_and_type_are_taken_from_the_attributes)
{
	self->attr.qp_context = self;
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ((void *)self, self->id->qp->qp_context);
	EXPECT_EQ(IBV_QPT_RC, self->id->qp->qp_type);
}

/* "Transition it for sending and receiving": an unconnected QP moves to INIT. */
TEST_F(qp, rdma_create_qp_S06_qp_leaves_reset)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ(IBV_QPS_INIT, self->id->qp->state);
	ASSERT_EQ(0, ibv_query_qp(self->id->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, &init));
	/* (iWARP has other states, and always grants all access.) */
	if (!lib_iwarp(self->verbs)) {
		EXPECT_EQ(IBV_QPS_INIT, attr.qp_state);
		EXPECT_EQ(0, attr.qp_access_flags);
	}
}

TEST_F(qp, rdma_create_qp_S07_success_is_0_and_failure_minus_1)
{
	EXPECT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	self->attr = lib_qp_attr();
	self->attr.cap.max_send_sge = 10000;
	EXPECT_EQ(-1, rdma_create_qp(self->other, NULL, &self->attr));
	EXPECT_TRUE(!self->other->qp);
	if (!is_stock())	/* stock leaves destroyed CQs in attr */
		EXPECT_TRUE(!self->other->send_cq && !self->other->recv_cq &&
			    !self->other->send_cq_channel && !self->other->recv_cq_channel);
}

TEST_F(qp, rdma_create_qp_S08_failure_sets_errno)
{
	self->attr.cap.max_send_sge = 10000;
	errno = 0;
	EXPECT_EQ(-1, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_NE(0, errno);
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(self->other, NULL, &self->attr));
	EXPECT_FAILS(EINVAL, rdma_create_qp(self->other, NULL, &self->attr));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_create_qp(NULL, NULL, &self->attr));
	EXPECT_FAILS(EINVAL, rdma_create_qp(self->id, NULL, NULL));
}

TEST_F(qp, rdma_create_qp_S09_unbound_id_is_refused)
{
	struct rdma_cm_id *unbound;

	if (is_stock())
		SKIP(return, "librdmacm crashes on an unbound id");
	ASSERT_EQ(0, rdma_create_id(NULL, &unbound, NULL, RDMA_PS_TCP));
	EXPECT_FAILS(EINVAL, rdma_create_qp(unbound, NULL, &self->attr));
	EXPECT_FAILS(EINVAL, rdma_create_qp(unbound, self->pd, &self->attr));
	EXPECT_EQ(0, rdma_destroy_id(unbound));
}

/* The other context is of the same device, opened a second time. */
TEST_F(qp, rdma_create_qp_S09_pd_of_another_context_is_refused)
{
	struct ibv_context *other = ibv_open_device(self->verbs->device);
	struct ibv_pd *pd;

	ASSERT_TRUE(other && other != self->verbs);
	pd = ASSERT_PTR(ibv_alloc_pd(other));
	EXPECT_FAILS(EINVAL, rdma_create_qp(self->id, pd, &self->attr));
	EXPECT_TRUE(!self->id->qp && !self->id->send_cq && !self->id->recv_cq);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST(rdma_create_qp_S10_qp_moves_with_its_connection)
{
	struct pair p = {};

	ASSERT_EQ(0, pair_client(&p));
	EXPECT_QPS(IBV_QPS_INIT, p.a->qp);
	ASSERT_EQ(0, pair_requested(&p));
	EXPECT_QPS(IBV_QPS_INIT, p.p->qp);
	ASSERT_EQ(0, pair_accept(&p));
	EXPECT_QPS(IBV_QPS_RTS, p.a->qp);
	EXPECT_QPS(IBV_QPS_RTS, p.p->qp);
	ASSERT_EQ(0, rdma_disconnect(p.a));
	ASSERT_EQ(0, lib_event(p.pc, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_QPS(IBV_QPS_ERR, p.a->qp);
	EXPECT_EQ(0, pair_down(&p));
}

/* A later message is in the buffer that was posted before the connection. */
TEST(rdma_create_qp_S11_new_qp_takes_receives)
{
	struct pair p = {};
	char buf[16] = {};
	struct ibv_mr *mr;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_client(&p));
	mr = ASSERT_PTR(rdma_reg_msgs(p.a, buf, sizeof(buf)));
	ASSERT_EQ(0, rdma_post_recv(p.a, (void *)7, buf, sizeof(buf), mr));
	ASSERT_EQ(0, pair_requested(&p));
	ASSERT_EQ(0, pair_accept(&p));
	if (lib_iwarp(p.a->verbs)) {
		/* MPA: the side that connects sends first. */
		char in[4];
		struct ibv_mr *in_mr = ASSERT_PTR(rdma_reg_msgs(p.p, in, sizeof(in)));

		ASSERT_EQ(0, rdma_post_recv(p.p, NULL, in, sizeof(in), in_mr));
		ASSERT_EQ(0, lib_send(p.a, "go", 2));
		ASSERT_EQ(0, lib_wait_wc(p.p->recv_cq, &wc, 1));
		EXPECT_EQ(0, rdma_dereg_mr(in_mr));
	}
	ASSERT_EQ(0, lib_send(p.p, "early", 6));
	EXPECT_WC(p.a->recv_cq, 7, IBV_WC_SUCCESS);
	EXPECT_STREQ("early", buf);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	EXPECT_EQ(0, pair_down(&p));
}

/* The QP sends, here to itself, without a connection. */
TEST(rdma_create_qp_S12_new_datagram_qp_sends)
{
	struct ud u = {};

	if (lib_iwarp(ASSERT_PTR(lib_context())))
		SKIP(return, "iWARP has no datagrams");
	ASSERT_EQ(0, ud_up(&u, NULL, NULL));
	EXPECT_QPS(IBV_QPS_RTS, u.id->qp);
	EXPECT_EQ(IBV_QPS_RTS, u.id->qp->state);
	ASSERT_EQ(0, ud_recv(&u, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_send(&u, u.id->qp->qp_num));
	EXPECT_EQ(IBV_WC_SUCCESS, lib_next_wc(u.id->recv_cq).status);
	EXPECT_STREQ("datagram", u.buf + 40);
	EXPECT_EQ(0, ud_down(&u));
}

TEST_F(qp, rdma_create_qp_S13_pd_left_out_is_the_default_one)
{
	struct ibv_pd *default_pd = ASSERT_PTR(self->id->pd);

	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ(default_pd, self->id->qp->pd);
	EXPECT_EQ(default_pd, self->id->pd);
	rdma_destroy_qp(self->id);
	EXPECT_EQ(default_pd, self->id->pd);
}

/* librdmacm takes the PD of the previous QP, against the page. */
TEST_F(qp, rdma_create_qp_S13_pd_left_out_is_not_that_of_the_qp_before)
{
	struct ibv_pd *default_pd = self->id->pd;

	ASSERT_EQ(0, rdma_create_qp(self->id, self->pd, &self->attr));
	rdma_destroy_qp(self->id);
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ(is_stock() ? self->pd : default_pd, self->id->qp->pd);
}

TEST_F(qp, rdma_create_qp_S14_ids_of_a_device_share_its_default_pd)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	EXPECT_EQ(self->id->pd, self->other->pd);
	EXPECT_EQ(self->verbs, self->other->verbs);
	EXPECT_EQ(self->verbs, self->id->pd->context);
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	ASSERT_EQ(0, rdma_create_qp(self->other, NULL, &attr));
	EXPECT_EQ(self->id->qp->pd, self->other->qp->pd);
}

TEST_F(qp, rdma_create_qp_S15_qp_has_at_least_the_requested_sizes)
{
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr attr;

	self->attr.cap.max_send_wr = 5;
	self->attr.cap.max_recv_wr = 9;
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	ASSERT_EQ(0, ibv_query_qp(self->id->qp, &attr, IBV_QP_CAP, &init));
	EXPECT_LE(5, init.cap.max_send_wr);
	EXPECT_LE(9, init.cap.max_recv_wr);
	EXPECT_LE(2, init.cap.max_send_sge);
	EXPECT_LE(2, init.cap.max_recv_sge);
	EXPECT_LE(16, init.cap.max_inline_data);
}

TEST_F(qp, rdma_create_qp_S16_cqs_that_are_given_are_used)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(self->verbs, 32, NULL, NULL, 0));

	self->attr = lib_qp_attr_on(cq);
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(cq, id->qp->send_cq);
	EXPECT_EQ(cq, id->qp->recv_cq);
	rdma_destroy_qp(id);

	/* Only the send CQ is given. */
	self->attr = lib_qp_attr();
	self->attr.send_cq = cq;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(cq, id->qp->send_cq);
	EXPECT_TRUE(!id->send_cq && !id->send_cq_channel);
	ASSERT_TRUE(id->recv_cq && id->recv_cq_channel);
	EXPECT_EQ(id->recv_cq, id->qp->recv_cq);
	rdma_destroy_qp(id);
	EXPECT_TRUE(!id->recv_cq && !id->recv_cq_channel);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* Each CQ has events on its own channel. */
TEST_F(qp, rdma_create_qp_S17_cqs_left_out_are_made_with_channels)
{
	struct rdma_cm_id *id = self->id;
	void *context = NULL;
	struct ibv_mr *mr;
	char buf[8];

	self->attr.cap.max_send_wr = 5;
	self->attr.cap.max_recv_wr = 9;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	ASSERT_TRUE(id->send_cq && id->recv_cq);
	ASSERT_TRUE(id->send_cq_channel && id->recv_cq_channel);
	EXPECT_NE(id->send_cq, id->recv_cq);
	EXPECT_NE(id->send_cq_channel, id->recv_cq_channel);
	EXPECT_NE(id->send_cq_channel->fd, id->recv_cq_channel->fd);
	EXPECT_EQ(id->send_cq_channel, id->send_cq->channel);
	EXPECT_EQ(id->recv_cq_channel, id->recv_cq->channel);
	EXPECT_EQ(1, id->send_cq_channel->refcnt);
	EXPECT_EQ(id->verbs, id->send_cq->context);
	EXPECT_LE(5, id->send_cq->cqe);
	EXPECT_LE(9, id->recv_cq->cqe);
	EXPECT_EQ(id->send_cq, id->qp->send_cq);
	EXPECT_EQ(id->recv_cq, id->qp->recv_cq);

	mr = ASSERT_PTR(rdma_reg_msgs(id, buf, sizeof(buf)));
	ASSERT_EQ(0, ibv_req_notify_cq(id->recv_cq, 0));
	ASSERT_EQ(0, rdma_post_recv(id, (void *)4, buf, sizeof(buf), mr));
	ASSERT_EQ(0, lib_modify_qp(id->qp, IBV_QPS_ERR));
	EXPECT_EQ(id->recv_cq, lib_cq_event_context(id->recv_cq_channel, &context));
	EXPECT_EQ((void *)id, context);
	EXPECT_EQ(4, lib_next_wc(id->recv_cq).wr_id);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
}

TEST_F(qp, rdma_create_qp_S18_cqs_that_were_made_are_shown_in_the_id)
{
	struct rdma_cm_id *id = self->id;
	int send_fd, recv_fd;
	struct ibv_cq *cq;

	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(id->qp->send_cq, id->send_cq);
	EXPECT_EQ(id->qp->recv_cq, id->recv_cq);
	EXPECT_EQ(id->send_cq->channel, id->send_cq_channel);
	EXPECT_EQ(id->recv_cq->channel, id->recv_cq_channel);
	EXPECT_EQ((void *)id, id->send_cq->cq_context);
	EXPECT_EQ((void *)id, id->recv_cq->cq_context);
	send_fd = id->send_cq_channel->fd;
	recv_fd = id->recv_cq_channel->fd;
	rdma_destroy_qp(id);
	EXPECT_TRUE(!id->send_cq && !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel);
	EXPECT_EQ(-1, fcntl(send_fd, F_GETFD));
	EXPECT_EQ(-1, fcntl(recv_fd, F_GETFD));

	/* Given CQs are not stored in the id. */
	cq = ASSERT_PTR(ibv_create_cq(self->verbs, 32, NULL, NULL, 0));
	self->attr = lib_qp_attr_on(cq);
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_TRUE(!id->send_cq && !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel);
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

TEST_F(qp, rdma_create_qp_S19_attributes_become_those_of_the_qp)
{
	struct ibv_qp_cap *cap = &self->attr.cap;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cap->max_send_wr = 5;
	cap->max_recv_wr = 9;
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ(self->id->send_cq, self->attr.send_cq);
	EXPECT_EQ(self->id->recv_cq, self->attr.recv_cq);
	ASSERT_EQ(0, ibv_query_qp(self->id->qp, &attr, IBV_QP_CAP, &init));
	EXPECT_EQ(init.cap.max_send_sge, cap->max_send_sge);
	EXPECT_EQ(init.cap.max_recv_sge, cap->max_recv_sge);
	EXPECT_GRANTED(init.cap.max_send_wr, cap->max_send_wr);
	EXPECT_GRANTED(init.cap.max_recv_wr, cap->max_recv_wr);
	EXPECT_GRANTED(init.cap.max_inline_data, cap->max_inline_data);
	EXPECT_LE(5, cap->max_send_wr);
	EXPECT_LE(9, cap->max_recv_wr);
	EXPECT_LE(2, cap->max_send_sge);
	EXPECT_LE(2, cap->max_recv_sge);
	EXPECT_LE(16, cap->max_inline_data);
}

TEST_F(qp, rdma_create_qp_S20_second_qp_of_an_id_is_refused)
{
	struct ibv_qp *qp;

	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	qp = self->id->qp;
	EXPECT_FAILS(EINVAL, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_EQ(qp, self->id->qp);

	/* A destroyed QP can be replaced. */
	rdma_destroy_qp(self->id);
	self->attr = lib_qp_attr();
	EXPECT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
}

TEST(rdma_create_qp_S21_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("rdma_bind_addr", "rdma_resolve_addr", "rdma_destroy_qp",
			     "ibv_create_qp", "ibv_modify_qp"));
}

TEST_HARNESS_MAIN
