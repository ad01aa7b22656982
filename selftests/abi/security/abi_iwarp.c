// SPDX-License-Identifier: GPL-2.0-only
/* Requests that iWARP or siw cannot carry out are refused, and the connection still works. */
#include "abi_keys.h"

/*
 * A QP of iWARP serves one connection: siw would mix up the events of two, and iw_cm BUG()s on
 * one that it does not expect. (SIW-23)
 */
TEST_F(keys, iwarp_qp_connects_once)
{
	struct abi *c = &self->side[0].s, *s = &self->side[1].s;
	int channel[2] = { abi_channel(c), abi_channel(s) };
	__u32 listener, child, id[2], qp[2], num[2];
	struct sockaddr_in sin;

	SKIP_IF(!c->iwarp, "elsewhere the CM only tells the peer its number");
	OK(abi_tcp_listen(s, channel[1], 0, 0, &listener, &sin));
	for (int i = 0; i < 2; i++) {
		num[i] = number_of(c, &qp[i]);
		ASSERT_NE(0, num[i]);
		OK(abi_qp_init(c, qp[i], QPT_RC, 0));
		OK(abi_tcp_client(c, channel[0], &sin, 0, &id[i]));
	}
	/* A connected QP, and a connecting one */
	EXPECT_EQ(-EINVAL, abi_connect(c, id[0], self->p.end[0].qp.qp_num));
	OK(abi_connect(c, id[0], num[0]));
	EXPECT_EQ(-EINVAL, abi_connect(c, id[1], num[0]));
	child = NEXT_EVENT(channel[1], EV_CONNECT_REQUEST).child;
	EXPECT_EQ(-EINVAL, abi_accept(s, child, 0, self->p.end[1].qp.qp_num));
	/* The QP of a failed CONNECT can be used again. */
	EXPECT_EQ(-EINVAL, abi_connect(c, id[0], num[1]));
	EXPECT_EQ(0, abi_connect(c, id[1], num[1]));
	/* The end of the fixture's connection does not affect the others. */
	EXPECT_NE(WC_SUCCESS, carry_out(self, WR_RDMA_READ, self->side[1].mr.iova,
					self->side[1].mr.rkey ^ 0x5500));
	EXPECT_TRUE(abi_quiet(channel[0]));
	num[1] = number_of(s, &qp[1]);
	OK(abi_qp_init(s, qp[1], QPT_RC, 0));
	EXPECT_EQ(0, abi_accept(s, child, 0, num[1]));
	EXPECT_EVENT(channel[0], EV_ESTABLISHED, id[0]);
}

/* Fills the queue with sends, all of which arrive. */
static int fill_queue(struct _test_data_keys *self)
{
	struct side *c = &self->side[0], *s = &self->side[1];
	__u32 depth = self->p.end[0].qp.max_send_wr;
	struct rdma_ep_wc wc[64];

	if (depth > self->p.end[1].qp.max_recv_wr)
		depth = self->p.end[1].qp.max_recv_wr;
	if (depth > 64)
		depth = 64;
	for (__u32 i = 0; i < depth; i++)
		CHECK(1, !post_recv(self, 1, s->mr.iova, 64, s->mr.lkey));
	for (__u32 i = 0; i < depth; i++)
		CHECK(2, !post(self, WR_SEND, 0, 0, c->mr.iova, 8, c->mr.lkey));
	CHECK(3, abi_wait(&c->s, c->cq, wc, depth) == depth);
	for (__u32 i = 0; i < depth; i++)
		CHECK(4, !wc[i].status);
	CHECK(5, abi_wait(&s->s, self->p.end[1].cq[1], wc, depth) == depth);
	for (__u32 i = 0; i < depth; i++)
		CHECK(6, !wc[i].status);
	return 0;
}

/* Posts a request that fails on iWARP and succeeds elsewhere; then the queue still works. */
static int not_on_iwarp(struct _test_data_keys *self)
{
	struct side *c = &self->side[0];
	struct rdma_ep_wc wc;
	int ret;

	ret = ABI_POST(&c->s, SEND, c->qp, &self->w, NULL);
	if (c->s.iwarp)
		ret = ret == -EINVAL ? 0 : -EPROTO;
	else
		ret = ret ?: abi_wait(&c->s, c->cq, &wc, 1) == 1 ? wc.status : -EIO;
	return ret ?: fill_queue(self);
}

/* Begins a READ of the server's memory; the caller adds the sink. */
static void begin_read(struct _test_data_keys *self, __u32 flags)
{
	abi_remote(abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED | flags, 7),
		   &self->side[1].mr, 0);
}

/*
 * siw accepts some requests but never completes them, so they block the send queue: rdma_ep
 * refuses them. (SIW-21) abi_states.c tests the opcodes of other devices.
 */
TEST_F(keys, siw_sends_that_stick_refused)
{
	static const __u32 far[] = { 0xf0, 0x100, 0x102, 0x10002, 0x80000002, ~0U };
	struct side *c = &self->side[0], *s = &self->side[1];
	struct rdma_ep_send_wr *wr;
	__u32 op;

	for (size_t i = 0; i < 256 + ARRAY_SIZE(far); i++) {
		op = i < 256 ? i : far[i - 256];
		if (op == WR_SEND || op == WR_RDMA_WRITE || op == WR_RDMA_READ ||
		    op == WR_SEND_WITH_INV || (!c->s.iwarp && op < WR_SEND_WITH_INV))
			continue;
		LOGGED(EXPECT_EQ(-EINVAL, post(self, op, s->mr.iova, s->mr.rkey, c->mr.iova, 8,
					       c->mr.lkey)), "opcode 0x%x", op);
		if (i < 16 || i >= 250)
			LOGGED(ASSERT_EQ(0, fill_queue(self)), "after opcode 0x%x", op);
	}
	/* READs into two entries: a READ of iWARP has one sink. */
	begin_read(self, 0);
	abi_mr_sge(&self->w, &c->mr, 0, 8);
	abi_mr_sge(&self->w, &c->mr, 8, 8);
	OK(not_on_iwarp(self));
	/* A READ of no bytes completes. */
	for (int i = 0; i < 2 && c->s.iwarp; i++) {
		begin_read(self, 0);
		if (i)
			abi_mr_sge(&self->w, &c->mr, 0, 0);
		EXPECT_EQ(0, ABI_POST(&c->s, SEND, c->qp, &self->w, NULL));
		EXPECT_WC(&c->s, c->cq, 7, WC_SUCCESS);
		OK(fill_queue(self));
	}
	/* siw does not carry out READs with a fence, nor inline data with a key to invalidate. */
	begin_read(self, SEND_FENCE);
	abi_mr_sge(&self->w, &c->mr, 0, 8);
	OK(not_on_iwarp(self));
	if (c->s.iwarp) {
		wr = abi_wrs_send(&self->w, WR_SEND_WITH_INV, SEND_SIGNALED | SEND_INLINE, 7);
		abi_inline(&self->w, wr, "12345678", 8);
		OK(not_on_iwarp(self));
	}
	/* Inline data of no bytes */
	OK(post_recv(self, 1, s->mr.iova, 64, s->mr.lkey));
	OK(abi_post_empty_send(&c->s, c->qp, SEND_SIGNALED | SEND_INLINE | SEND_SOLICITED, 7));
	EXPECT_WC(&c->s, c->cq, 7, WC_SUCCESS);
	EXPECT_EQ(0, EXPECT_WC(&s->s, self->p.end[1].cq[1], 8, WC_SUCCESS).byte_len);
	EXPECT_EQ(0, fill_queue(self));
}

/* siw: READs are refused if the connection was set up without them. (SIW-21) */
TEST(siw_read_without_agreed_reads_refused)
{
	struct _test_data_keys *self = calloc(1, sizeof(*self));
	struct side *c = &self->side[0], *s = &self->side[1];

	self->p.no_reads = true;
	OK(set_up(self));
	if (c->s.iwarp)
		EXPECT_EQ(-EINVAL, post(self, WR_RDMA_READ, s->mr.iova, s->mr.rkey, c->mr.iova, 8,
					c->mr.lkey));
	EXPECT_EQ(0, fill_queue(self));
	abi_close(&c->s);
	abi_close(&s->s);
	free(self);
}

TEST_HARNESS_MAIN
