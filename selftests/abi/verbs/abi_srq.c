// SPDX-License-Identifier: GPL-2.0-only
/* Shared receive queues: messages, SRQ_LIMIT_REACHED, and the size of the queue */
#include "abi_test.h"

FIXTURE(srq) {
	struct abi s;
	struct abi_pair p;
	char *buf;			/* a page, registered */
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
};

FIXTURE_SETUP(srq)
{
	OK(abi_open(&self->s));
	OK(abi_create_srq(&self->s, self->s.pd, 4, 321, &self->p.srq));
	OK(abi_pair_open(&self->s, &self->p));
	self->buf = abi_map(4096);
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, &self->mr));
}

TEARDOWN_CLOSES(srq)

TEST_F(srq, shared_receive_queue)
{
	struct rdma_ep_cmd_srq_attr a = {
		.flags = RDMA_EP_SRQ_LIMIT, .srq_limit = 3, .srq = self->p.srq,
	};
	struct abi_pair *p = &self->p;
	char *message = self->buf + 2048;
	unsigned int seen = 0;
	struct rdma_ep_wc wc[2];

	/* The QP itself takes no receives. */
	EXPECT_EQ(-EINVAL, abi_post_empty_recv(&self->s, p->end[1].qp.qp, 0));
	for (int i = 0; i < 4; i++) {
		abi_recv_wr(&self->w, 700 + i);
		abi_mr_sge(&self->w, &self->mr, 64 * i, 64);
	}
	OK(ABI_POST(&self->s, SRQ_RECV, p->srq, &self->w, NULL));
	OK(ABI(self->s.fd, MODIFY_SRQ, &a));
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
	strcpy(message, "shared");
	for (int i = 0; i < 2; i++)
		OK(abi_post_send(&self->s, p->end[0].qp.qp, 0, i, message, 7, self->mr.lkey));
	ASSERT_EQ(2, abi_wait(&self->s, p->end[1].cq[1], wc, 2));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
		EXPECT_EQ(p->end[1].qp.qp_num, wc[i].qp_num);
		EXPECT_EQ(7, wc[i].byte_len);
		ASSERT_LE(700, wc[i].wr_id);
		ASSERT_GT(704, wc[i].wr_id);
		seen |= 1U << (wc[i].wr_id - 700);
		EXPECT_STREQ("shared", self->buf + 64 * (wc[i].wr_id - 700));
	}
	EXPECT_EQ(2, __builtin_popcount(seen));
	/* Two receives are left, less than srq_limit. */
	EXPECT_ASYNC(self->s.async_fd, EVENT_SRQ_LIMIT_REACHED, 321);
}

/* Unpolled completions do not take up room in the SRQ. */
TEST_F(srq, shared_receive_queue_not_filled_by_completions)
{
	struct abi_pair *p = &self->p;

	for (int i = 0; i < 40; i++) {
		abi_wrs_recv(&self->w, i);
		LOGGED(ASSERT_EQ(0, ABI_POST(&self->s, SRQ_RECV, p->srq, &self->w, NULL)),
		       "receive %d", i);
		OK(abi_post_empty_send(&self->s, p->end[0].qp.qp, SEND_SIGNALED, i));
		EXPECT_WC(&self->s, p->end[0].cq[0], i, WC_SUCCESS);
	}
	for (int i = 0; i < 40; i++)
		EXPECT_EQ(p->end[1].qp.qp_num,
			  EXPECT_WC(&self->s, p->end[1].cq[1], i, WC_SUCCESS).qp_num);
}

TEST_F(srq, shared_receive_queue_full)
{
	struct rdma_ep_cmd_srq_attr a = { .srq = self->p.srq };
	__u32 posted;

	OK(ABI(self->s.fd, QUERY_SRQ, &a));
	ASSERT_GE(1000, a.max_wr);
	abi_recv_wrs(&self->w, a.max_wr + 1, 0);
	EXPECT_EQ(-ENOMEM, ABI_POST(&self->s, SRQ_RECV, a.srq, &self->w, &posted));
	EXPECT_EQ(a.max_wr, posted);
}

TEST_HARNESS_MAIN
