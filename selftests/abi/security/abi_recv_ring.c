// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that are posted to an SRQ in shared memory, its ring. The module moves them to the
 * device's queue in time, also with several QPs and CQs, and all of them when the SRQ or the owner
 * changes. The peer does not repeat messages, so a late receive fails the connection.
 */
#include "abi_recv_ring.h"

TEST_F(recv, receives_without_calls)
{
	volatile struct rdma_ep_recv_ring *r = self->r;

	EXPECT_NE(0, r->kick);
	EXPECT_EQ(2, r->max_sge);
	OK(open_ring(self));
	EXPECT_EQ(0, r->head);
	for (__u64 i = 16; i < 16 + 20 * 8; i += 8) {
		ASSERT_EQ(8, put(self, 8, i));
		ASSERT_EQ(i - 16, r->head);
		OK(send_n(self, &self->c[0], 8));
		/* The first message closed the ring and emptied it. */
		ASSERT_EQ(i - 8, r->head);
		ASSERT_NE(0, r->kick);
		OK(take(self, &self->c[0], 8));
		OK(settle(self, &self->c[0]));
		ASSERT_EQ(0, r->kick);
	}
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
}

/* At any time the queue has one receive, and the ring the next one. */
TEST_F(recv, never_late)
{
	__u64 next = 1;
	int n;

	OK(post(self, 1, 0, NULL));
	for (int i = 0; i < 200; i++) {
		OK(settle(self, &self->c[0]));
		ASSERT_EQ(0, self->r->kick);
		ASSERT_EQ(1, put(self, 1, next++));
		/* The second message takes the one in the ring, before any call. */
		n = i % 3 ? 1 : 2;
		OK(send_n(self, &self->c[0], n));
		if (n == 2)
			OK(post(self, 1, next++, NULL));
		OK(take(self, &self->c[0], n));
	}
}

/* Each QP may take a receive before any completes: the queue must have one for each. */
TEST_F(recv, more_qps_than_receives)
{
	struct conn *c = self->c;

	for (int i = 1; i < 4; i++)
		OK(add_conn(self, self->srq.srq, &c[0]));
	OK(post(self, 3, 0, NULL));
	OK(settle(self, c));
	EXPECT_NE(0, self->r->kick);
	OK(post(self, 1, 3, NULL));
	EXPECT_EQ(0, self->r->kick);
	EXPECT_EQ(4, put(self, 4, 4));
	/* A new QP: the receives in the ring are moved first. */
	OK(add_conn(self, self->srq.srq, &c[0]));
	EXPECT_EQ(4, self->r->head);
	for (int i = 0; i < 8; i++) {
		OK(send_n(self, &c[i % 5], 1));
		OK(take(self, &c[i % 5], 1));
	}
	/* A destroyed QP may have taken two receives. */
	OK(post(self, 5, 8, NULL));
	OK(settle(self, c));
	EXPECT_EQ(0, self->r->kick);
	OK(del_conn(self));
	OK(send_n(self, c, 1));
	OK(take(self, c, 1));
	OK(settle(self, c));
	EXPECT_NE(0, self->r->kick);
	OK(post(self, 1, 13, NULL));
	EXPECT_NE(0, self->r->kick);
	OK(post(self, 1, 14, NULL));
	EXPECT_EQ(0, self->r->kick);
}

TEST_F(recv, several_cqs)
{
	struct conn *c = self->c;
	struct rdma_ep_cmd_create_srq other;

	OK(add_conn(self, self->srq.srq, NULL));
	OK(post(self, 16, 0, NULL));
	OK(settle(self, &c[0]));
	EXPECT_NE(0, self->r->kick);
	OK(settle(self, &c[1]));
	EXPECT_EQ(0, self->r->kick);
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(2, put(self, 2, 16 + 2 * i));
		OK(send_n(self, &c[i & 1], 1));
		ASSERT_NE(0, self->r->kick);
		ASSERT_EQ(2 * i + 2, self->r->head);
		OK(send_n(self, &c[!(i & 1)], 1));
		OK(take(self, &c[i & 1], 1));
		OK(settle(self, &c[i & 1]));
		ASSERT_NE(0, self->r->kick);
		OK(take(self, &c[!(i & 1)], 1));
		OK(settle(self, &c[!(i & 1)]));
		ASSERT_EQ(0, self->r->kick);
	}
	/* A CQ serves one ring: that of another SRQ with a QP on the CQ is never opened. */
	OK(create_srq(&self->s, 63, RDMA_EP_RECV_RING, &other));
	OK(add_conn(self, other.srq, &c[0]));
	self->srq.srq = other.srq;
	OK(post(self, 16, 100, NULL));
	OK(settle(self, &c[0]));
	EXPECT_NE(0, ((struct rdma_ep_recv_ring *)&self->rings[other.ring])->kick);
	EXPECT_EQ(0, self->r->kick);
}

/* With NOTIFY_SOLICITED the device does not report other completions. */
TEST_F(recv, solicited_events_close_it)
{
	OK(open_ring(self));
	ASSERT_EQ(4, put(self, 4, 16));
	OK(abi_notify_cq(&self->s, self->c[0].cq, RDMA_EP_NOTIFY_SOLICITED));
	EXPECT_NE(0, self->r->kick);
	EXPECT_EQ(4, self->r->head);
	OK(settle(self, &self->c[0]));
	EXPECT_NE(0, self->r->kick);
	OK(abi_notify_cq(&self->s, self->c[0].cq, 0));
	OK(settle(self, &self->c[0]));
	EXPECT_EQ(0, self->r->kick);
}

/* The queue and its ring take as many receives as an SRQ without a ring. */
TEST_F(recv, queue_takes_its_size)
{
	struct rdma_ep_cmd_srq_attr a = { .srq = self->srq.srq };
	__u32 posted;
	int n = 16;

	OK(open_ring(self));
	OK(ABI(self->s.fd, QUERY_SRQ, &a));
	while (n < (int)a.max_wr) {
		int more = put(self, 40, n);

		ASSERT_GE(ENTRIES, more);
		n += more;
		ASSERT_GE(a.max_wr, n);
		if (n < (int)a.max_wr)
			OK(post(self, 1, n++, NULL));
	}
	EXPECT_EQ(0, put(self, 1, n));
	EXPECT_EQ(-ENOMEM, post(self, 2, n, &posted));
	EXPECT_EQ(0, posted);
	OK(send_n(self, &self->c[0], n));
	OK(take(self, &self->c[0], n));
	EXPECT_EQ(self->r->tail, self->r->head);
}

/* SRQ_LIMIT_REACHED depends on the receives in the ring and on the queue together. */
TEST_F(recv, limit_event)
{
	struct rdma_ep_cmd_srq_attr a = {
		.flags = RDMA_EP_SRQ_LIMIT, .srq_limit = 3, .srq = self->srq.srq,
	};

	OK(post(self, 4, 0, NULL));
	OK(settle(self, &self->c[0]));
	ASSERT_EQ(4, put(self, 4, 4));
	OK(ABI(self->s.fd, MODIFY_SRQ, &a));
	EXPECT_EQ(4, self->r->head);
	OK(send_n(self, &self->c[0], 4));
	OK(take(self, &self->c[0], 4));
	OK(settle(self, &self->c[0]));
	/* The receives in the ring count, so no event follows yet. */
	ASSERT_EQ(0, self->r->kick);
	ASSERT_EQ(4, put(self, 4, 8));
	OK(send_n(self, &self->c[0], 5));
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
	OK(take(self, &self->c[0], 5));
	OK(settle(self, &self->c[0]));
	EXPECT_NE(0, self->r->kick);
	OK(send_n(self, &self->c[0], 1));
	EXPECT_ASYNC(self->s.async_fd, EVENT_SRQ_LIMIT_REACHED, 77);
}

TEST_F(recv, resized)
{
	struct rdma_ep_cmd_srq_attr a = {
		.flags = RDMA_EP_SRQ_MAX_WR, .max_wr = 31, .srq = self->srq.srq,
	};
	int n = 32;

	OK(open_ring(self));
	ASSERT_EQ(16, put(self, 16, 16));
	/* The SRQ has 32 receives. */
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, MODIFY_SRQ, &a));
	EXPECT_EQ(16, self->r->head);
	a.max_wr = 255;
	OK(ABI(self->s.fd, MODIFY_SRQ, &a));
	OK(settle(self, &self->c[0]));
	while (n < 200) {
		int more = put(self, ENTRIES, n);

		ASSERT_EQ(ENTRIES, more);
		n += more;
		OK(kick(self));
	}
	OK(send_n(self, &self->c[0], 60));
	self->got = 60;
	OK(del_conn(self));
}

/* The region of posted receives may be destroyed, as without a ring. */
TEST_F(recv, region_ends_after_post)
{
	OK(open_ring(self));
	ASSERT_EQ(4, put(self, 4, 16));
	OK(ABI_DESTROY(&self->s, MR, self->mr.mr));
	EXPECT_EQ(4, self->r->head);
	EXPECT_EQ(0, self->r->kick);
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
}

/* A QP that is reset may have a receive that never completes. */
TEST_F(recv, reset_counts)
{
	struct conn *c = &self->c[0];

	OK(post(self, 2, 0, NULL));
	OK(settle(self, c));
	EXPECT_EQ(0, self->r->kick);
	ASSERT_EQ(1, put(self, 1, 2));
	OK(abi_qp_state(&self->s, c->to.qp, QPS_RESET));
	EXPECT_NE(0, self->r->kick);
	EXPECT_EQ(1, self->r->head);
	OK(settle(self, c));
	EXPECT_EQ(0, self->r->kick);
	for (int i = 0; i < 2; i++)
		OK(abi_qp_state(&self->s, c->to.qp, QPS_RESET));
	OK(settle(self, c));
	EXPECT_NE(0, self->r->kick);
}

/* Receives in a closed ring are taken also if the kernel cannot copy the list behind them. */
TEST_F(recv, list_not_copied)
{
	struct rdma_ep_cmd_post p = { .wrs_len = 32, .handle = self->srq.srq, .num = 1 };
	struct rdma_ep_ring_recv recv;

	OK(open_ring(self));
	OK(send_n(self, &self->c[0], 1));
	ASSERT_NE(0, self->r->kick);
	recv = recv_of(self, 16);
	put_one(self, &recv);
	EXPECT_EQ(-EFAULT, ABI(self->s.fd, POST_SRQ_RECV, &p));
	EXPECT_EQ(0, p.posted);
	EXPECT_EQ(1, self->r->head);
	recv = recv_of(self, 17);
	put_one(self, &recv);
	p.wrs_len = -1;
	EXPECT_EQ(-E2BIG, ABI(self->s.fd, POST_SRQ_RECV, &p));
	EXPECT_EQ(2, self->r->head);
	OK(send_n(self, &self->c[0], 17));
	OK(take(self, &self->c[0], 18));
}

/* QPs that ended before the queue's receives were posted do not count, however many there are. */
TEST_F(recv, ring_opens_after_many_qps)
{
	__u64 next = 48;

	OK(post(self, 48, 0, NULL));
	for (int i = 0; i < 100; i++) {
		OK(add_conn(self, self->srq.srq, &self->c[0]));
		OK(send_n(self, &self->c[1], 8));
		OK(take(self, &self->c[1], 8));
		OK(post(self, 8, next, NULL));
		next += 8;
		OK(del_conn(self));
		OK(ABI_DESTROY(&self->s, CQ, self->c[1].send_cq));
	}
	OK(settle(self, &self->c[0]));
	ASSERT_EQ(0, self->r->kick);
	ASSERT_EQ(8, put(self, 8, next));
	OK(send_n(self, &self->c[0], 56));
	OK(take(self, &self->c[0], 56));
}

/* A session is charged for pages of rings; later SRQs and CQs reuse them. */
TEST_F(recv, charged)
{
	struct rdma_ep_cmd_create_srq srq[40];
	struct abi_charges before, with, without;
	struct abi other;

	OK(abi_open(&other));
	OK(abi_charges(&other, &before));
	for (int i = 0; i < 40; i++) {
		OK(create_srq(&other, 1, i < 20 ? 0 : RDMA_EP_RECV_RING, &srq[i]));
		EXPECT_EQ(i < 20, srq[i].ring == RDMA_EP_NO_RING);
		if (i == 19)
			OK(abi_charges(&other, &without));
	}
	OK(abi_charges(&other, &with));
	EXPECT_EQ(without.queues - before.queues + 40,
		  with.queues - without.queues);
	for (int i = 0; i < 40; i++)
		OK(ABI_DESTROY(&other, SRQ, srq[i].srq));
	OK(abi_charges(&other, &with));
	EXPECT_EQ(before.queues + 40, with.queues);
	abi_close(&other);
}

/* A new owner gets the posted receives; the previous one cannot post any more. */
TEST_F(recv, handed_over)
{
	struct rdma_ep_cmd_adopt a = {};
	struct rdma_ep_obj_info info[64];
	struct rdma_ep_cmd_list_objs l = { .objs = (uintptr_t)info, .max = 64 };
	volatile struct rdma_ep_recv_ring *old = self->r;
	struct rdma_ep_cq_ring *old_rings = self->rings;
	struct rdma_ep_ring_recv recv;
	__u32 found = 0;

	OK(open_ring(self));
	ASSERT_EQ(8, put(self, 8, 16));
	OK(ABI(self->s.fd, ADOPT, &a));
	EXPECT_NE(0, old->kick);
	EXPECT_EQ(-EBADF, kick(self));
	recv = recv_of(self, 99);
	put_one(self, &recv);
	old->tail += 1000;
	close(self->s.fd);
	self->s.fd = a.fd;
	OK(ABI(a.fd, LIST_OBJS, &l));
	for (__u32 i = 0; i < l.num; i++) {
		if (info[i].type != RDMA_EP_OBJ_SRQ)
			continue;
		EXPECT_EQ(self->srq.ring, info[i].ring);
		found++;
	}
	EXPECT_EQ(1, found);
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	self->r = (void *)&self->rings[self->srq.ring];
	EXPECT_NE(0, self->r->kick);
	EXPECT_EQ(2, self->r->max_sge);
	EXPECT_EQ(8, self->r->head);
	EXPECT_EQ(8, self->r->tail);
	OK(settle(self, &self->c[0]));
	EXPECT_EQ(0, self->r->kick);
	ASSERT_EQ(8, put(self, 8, 24));
	OK(send_n(self, &self->c[0], 32));
	OK(take(self, &self->c[0], 32));
	munmap(old_rings, ABI_RINGS_BYTES);
}

/* After EXPORT, even before ADOPT, the old mapping has no effect. */
TEST_F(recv, exported)
{
	struct rdma_ep_cmd_export e = {};
	struct rdma_ep_cmd_adopt a = {};
	struct rdma_ep_cq_ring *old = self->rings;
	struct rdma_ep_ring_recv recv;

	OK(open_ring(self));
	ASSERT_EQ(4, put(self, 4, 16));
	/* A message moves the receives to the queue. */
	OK(send_n(self, &self->c[0], 1));
	OK(take(self, &self->c[0], 1));
	OK(settle(self, &self->c[0]));
	ASSERT_EQ(4, put(self, 4, 20));
	OK(ABI(self->s.fd, EXPORT, &e));
	EXPECT_NE(0, self->r->kick);
	EXPECT_EQ(8, self->r->head);
	recv = recv_of(self, 99);
	put_one(self, &recv);
	OK(ABI(self->s.fd, ADOPT, &a));
	EXPECT_EQ(8, self->r->head);
	close(self->s.fd);
	self->s.fd = a.fd;
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	self->r = (void *)&self->rings[self->srq.ring];
	EXPECT_EQ(8, self->r->head);
	munmap(old, ABI_RINGS_BYTES);
	OK(send_n(self, &self->c[0], 23));
	OK(take(self, &self->c[0], 23));
}

/* The new owner also gets receives for which the queue has no room. */
TEST_F(recv, handed_over_full)
{
	struct rdma_ep_cmd_srq_attr q = { .srq = self->srq.srq };
	struct rdma_ep_cmd_adopt a = {};
	struct rdma_ep_ring_recv recv;
	int n;

	OK(ABI(self->s.fd, QUERY_SRQ, &q));
	n = q.max_wr;
	OK(post(self, n, 0, NULL));
	for (int i = 0; i < 5; i++) {
		recv = recv_of(self, n + i);
		put_one(self, &recv);
	}
	OK(ABI(self->s.fd, ADOPT, &a));
	munmap(self->rings, ABI_RINGS_BYTES);
	close(self->s.fd);
	self->s.fd = a.fd;
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	self->r = (void *)&self->rings[self->srq.ring];
	EXPECT_EQ(0, self->r->head);
	EXPECT_EQ(5, self->r->tail);
	OK(send_n(self, &self->c[0], n));
	OK(take(self, &self->c[0], n));
	OK(settle(self, &self->c[0]));
	OK(send_n(self, &self->c[0], 5));
	OK(take(self, &self->c[0], 5));
}

TEST_HARNESS_MAIN
