// SPDX-License-Identifier: GPL-2.0-only
/* QPs are disconnected or moved to ERR: each request completes exactly once. */
#include "abi_test.h"

FIXTURE(flush) {
	struct abi s;
	struct abi_pair p;
	struct abi_wrs w;
};

FIXTURE_VARIANT(flush) {
	bool by_modify;
	bool sig_all;
};

FIXTURE_VARIANT_ADD(flush, disconnect) {};
FIXTURE_VARIANT_ADD(flush, modify) { .by_modify = true };
FIXTURE_VARIANT_ADD(flush, signal_all) { .by_modify = true, .sig_all = true };

FIXTURE_SETUP(flush)
{
	OK(abi_open(&self->s));
	self->p.sig_all = variant->sig_all;
	OK(abi_pair_open(&self->s, &self->p));
}

TEARDOWN_CLOSES(flush)

static int stop(struct abi *s, struct abi_end *e, bool by_modify)
{
	usleep(50000);
	return by_modify ? abi_qp_state(s, e->qp.qp, QPS_ERR) : ABI_ID_CMD(s, DISCONNECT, e->id, 0);
}

/*
 * Sends wait on their queue as the peer has no receives. Those of iWARP would not wait, so they
 * are posted in ERR. A disconnected QP of iWARP is not in ERR, and takes no sends.
 */
TEST_F(flush, every_request_completes_once)
{
	enum { SENDS = 6, RECVS = 9 };
	struct abi_end *e = &self->p.end[0];
	struct rdma_ep_wc wc[RECVS];
	int sends = self->s.iwarp && !variant->by_modify ? 0 : SENDS;
	unsigned int seen = 0;

	abi_recv_wrs(&self->w, RECVS, 0xabcd000000000000ULL);
	OK(ABI_POST(&self->s, RECV, e->qp.qp, &self->w, NULL));
	if (self->s.iwarp)
		OK(stop(&self->s, e, variant->by_modify));
	abi_wrs_init(&self->w);
	for (int i = 0; i < sends; i++)
		abi_send_wr(&self->w, WR_SEND, i % 2 ? SEND_SIGNALED : 0, i);
	if (sends)
		OK(ABI_POST(&self->s, SEND, e->qp.qp, &self->w, NULL));
	if (!self->s.iwarp)
		OK(stop(&self->s, e, variant->by_modify));
	ASSERT_EQ(RECVS, abi_wait(&self->s, e->cq[1], wc, RECVS));
	for (int i = 0; i < RECVS; i++) {
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[i].status);
		EXPECT_EQ(e->qp.qp_num, wc[i].qp_num);
		EXPECT_EQ(0xabcd000000000000ULL, wc[i].wr_id & ~15ULL);
		seen |= 1U << (wc[i].wr_id & 15);
	}
	EXPECT_EQ((1U << RECVS) - 1, seen);
	ASSERT_EQ(sends, abi_wait(&self->s, e->cq[0], wc, sends));
	for (int i = 0; i < sends; i++) {
		EXPECT_EQ(i, wc[i].wr_id);
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[i].status);
		EXPECT_EQ(e->qp.qp_num, wc[i].qp_num);
	}
	usleep(50000);
	EXPECT_EQ(0, abi_poll(&self->s, e->cq[0], wc, RECVS));
	EXPECT_EQ(0, abi_poll(&self->s, e->cq[1], wc, RECVS));
}

/*
 * Unsignalled sends fill the queue. If the device takes more than max_send_wr, these must not
 * displace others.
 */
TEST_F(flush, unsignalled_requests_flushed)
{
	struct abi_end *e = &self->p.end[0];
	__u32 depth = e->qp.max_send_wr, posted, total;
	struct rdma_ep_wc wc[64];

	SKIP_IF(self->s.iwarp, "iWARP's sends do not wait for receives");
	ASSERT_GE(32, depth);
	abi_send_wrs(&self->w, depth, 0, 0);
	OK(ABI_POST(&self->s, SEND, e->qp.qp, &self->w, NULL));
	usleep(50000);
	abi_send_wrs(&self->w, 8, 0, depth);
	if (ABI_POST(&self->s, SEND, e->qp.qp, &self->w, &posted))
		EXPECT_EQ(0, posted);
	total = depth + posted;
	OK(abi_qp_state(&self->s, e->qp.qp, QPS_ERR));
	ASSERT_EQ(total, abi_wait(&self->s, e->cq[0], wc, total));
	for (__u32 i = 0; i < total; i++) {
		EXPECT_EQ(i, wc[i].wr_id);
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[i].status);
	}
}

/* With sq_sig_all, all sends complete. */
TEST_F(flush, unsignalled_successes_report_nothing)
{
	struct rdma_ep_wc wc[4];
	int expected = variant->sig_all ? 3 : 1;

	abi_recv_wrs(&self->w, 3, 0);
	OK(ABI_POST(&self->s, RECV, self->p.end[1].qp.qp, &self->w, NULL));
	abi_wrs_init(&self->w);
	for (int i = 0; i < 3; i++)
		abi_send_wr(&self->w, WR_SEND, i == 2 ? SEND_SIGNALED : 0, i);
	OK(ABI_POST(&self->s, SEND, self->p.end[0].qp.qp, &self->w, NULL));
	ASSERT_EQ(expected, abi_wait(&self->s, self->p.end[0].cq[0], wc, expected));
	EXPECT_EQ(2, wc[expected - 1].wr_id);
	EXPECT_EQ(0, abi_poll(&self->s, self->p.end[0].cq[0], wc, 4));
}

TEST_HARNESS_MAIN
