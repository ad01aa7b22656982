// SPDX-License-Identifier: GPL-2.0-only
/*
 * ibv_wr_complete() with a list that is longer than the kernel copies at once: the list is
 * posted completely, or not at all.
 */
#include "verbs_ex.h"

#define DEPTH	1024
#define RECVS	256
#define WORDS	64

/* a posts to a queue of DEPTH sends. The peer is in p. */
FIXTURE(list) {
	struct pair p;
	struct ibv_qp_ex *a;
	uint64_t out[WORDS], in[WORDS];
	struct ibv_mr *out_mr, *in_mr;
	int max_send_wr;
	bool iwarp;
};

FIXTURE_SETUP(list)
{
	struct ibv_qp_init_attr peer = lib_qp_attr(), init;
	struct ibv_qp_init_attr_ex attr;
	struct pair *p = &self->p;
	struct ibv_qp_attr query;

	ASSERT_EQ(0, pair_route(p));
	self->iwarp = lib_iwarp(p->a->verbs);
	if (is_stock() && self->iwarp)
		SKIP_FIXTURE("libsiw has no extended QPs");
	attr = attr_ex(NULL, NULL, self->iwarp ? IWARP_OPS : RC_OPS);
	attr.cap.max_send_wr = DEPTH;
	ASSERT_EQ(0, rdma_create_qp_ex(p->a, &attr));
	ASSERT_EQ(0, ibv_query_qp(p->a->qp, &query, IBV_QP_CAP, &init));
	self->max_send_wr = init.cap.max_send_wr;
	ASSERT_LE(DEPTH, self->max_send_wr);
	ASSERT_EQ(0, pair_passive(p));
	peer.cap.max_recv_wr = RECVS;
	ASSERT_EQ(0, rdma_create_qp(p->p, NULL, &peer));
	ASSERT_EQ(0, pair_accept(p));
	self->a = ASSERT_PTR(ibv_qp_to_qp_ex(p->a->qp));
	for (int i = 0; i < WORDS; i++)
		self->out[i] = 0x0101010101010101 * i;
	memset(self->in, 0, sizeof(self->in));
	self->out_mr = ASSERT_PTR(ibv_reg_mr(p->a->pd, self->out, sizeof(self->out),
					     IBV_ACCESS_LOCAL_WRITE));
	self->in_mr = ASSERT_PTR(ibv_reg_mr(p->p->pd, self->in, sizeof(self->in),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

FIXTURE_TEARDOWN(list)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->out_mr));
	EXPECT_EQ(0, ibv_dereg_mr(self->in_mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

/* Sends num messages of 8 bytes. The key of the last one is changed by these bits. */
static int send_list(FIXTURE_DATA(list) *self, int num, uint32_t wrong)
{
	ibv_wr_start(self->a);
	for (int i = 0; i < num; i++) {
		self->a->wr_id = i;
		self->a->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(self->a);
		ibv_wr_set_sge(self->a, self->out_mr->lkey ^ (i == num - 1 ? wrong : 0),
			       (uintptr_t)self->out, 8);
	}
	return ibv_wr_complete(self->a);
}

static bool completed(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc = lib_next_wc(cq);

	return wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id;
}

static int post_recvs(FIXTURE_DATA(list) *self, int num)
{
	while (num--)
		DO(rdma_post_recv(self->p.p, (void *)7, self->in, 8, self->in_mr));
	return 0;
}

/* The peer receives these messages, and no other one. */
static int receive(FIXTURE_DATA(list) *self, int num)
{
	for (int i = 0; i < num; i++) {
		DO(!completed(self->p.p->recv_cq, 7));
		DO(!completed(self->p.a->send_cq, i));
	}
	DO(!lib_no_wc(self->p.p->recv_cq));
	return 0;
}

static bool nothing_happened(FIXTURE_DATA(list) *self)
{
	return lib_no_wc(self->p.a->send_cq) &&
	       lib_qp_state_as(self->p.a->qp, IBV_QPS_RTS) == IBV_QPS_RTS;
}

TEST_F(list, posted)
{
	int num = DEPTH - 24;

	ibv_wr_start(self->a);
	for (int i = 0; i < num; i++) {
		self->a->wr_id = i;
		self->a->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(self->a, self->in_mr->rkey, (uintptr_t)&self->in[i % WORDS]);
		ibv_wr_set_sge(self->a, self->out_mr->lkey, (uintptr_t)&self->out[i % WORDS], 8);
	}
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	for (int i = 0; i < num; i++)
		ASSERT_TRUE(completed(self->p.a->send_cq, i));
	EXPECT_TRUE(lib_arrived(self->in, self->out, sizeof(self->out)));
	EXPECT_TRUE(nothing_happened(self));
}

/* The kernel finds the unknown key of the last request, and posts none. */
TEST_F(list, bad_key)
{
	if (is_stock())
		SKIP(return, "the stock library finds out later");
	ASSERT_EQ(0, post_recvs(self, 1));
	EXPECT_EQ(EINVAL, send_list(self, 800, 0x5500));
	EXPECT_TRUE(lib_no_wc(self->p.p->recv_cq));
	EXPECT_TRUE(nothing_happened(self));
	EXPECT_EQ(EINVAL, send_list(self, 800, 0x5500));
	EXPECT_TRUE(lib_no_wc(self->p.p->recv_cq));
	EXPECT_TRUE(nothing_happened(self));
	EXPECT_EQ(0, send_list(self, 1, 0));
	EXPECT_EQ(0, receive(self, 1));
}

TEST_F(list, too_little_room)
{
	if (self->iwarp)
		SKIP(return, "over iWARP no sends wait in the queue");
	EXPECT_EQ(0, send_list(self, 200, 0));
	EXPECT_EQ(ENOSPC, send_list(self, self->max_send_wr - 100, 0));
	ASSERT_EQ(0, post_recvs(self, 201));
	ASSERT_EQ(0, receive(self, 200));
	EXPECT_TRUE(nothing_happened(self));
	EXPECT_EQ(0, send_list(self, 1, 0));
	EXPECT_EQ(0, receive(self, 1));
}

TEST_HARNESS_MAIN
