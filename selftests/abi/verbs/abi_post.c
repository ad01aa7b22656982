// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data path in regular use: data arrives, completions are right, queues fill up and empty.
 */
#include "abi_test.h"

#define LEN	8192

FIXTURE(rc) {
	struct abi s;
	struct abi_pair p;
	char *buf[2];			/* LEN bytes each: client, server */
	struct rdma_ep_cmd_reg_mr mr[2];
	struct abi_wrs w;
};

FIXTURE_SETUP(rc)
{
	OK(abi_open(&self->s));
	self->p.max_wr = 16;
	OK(abi_pair_open(&self->s, &self->p));
	for (int i = 0; i < 2; i++) {
		self->buf[i] = abi_map(LEN);
		OK(abi_reg_mr(&self->s, self->s.pd, self->buf[i], LEN, AC_ALL, &self->mr[i]));
	}
}

TEARDOWN_CLOSES(rc)

static int recv_one(struct _test_data_rc *self, __u64 wr_id, __u32 offset, __u32 len)
{
	return abi_post_recv(&self->s, self->p.end[1].qp.qp, wr_id, self->mr[1].iova + offset,
			     len, self->mr[1].lkey);
}

static int post(struct _test_data_rc *self)
{
	return ABI_POST(&self->s, SEND, self->p.end[0].qp.qp, &self->w, NULL);
}

/* Sends @num empty messages, and waits for them; their receives are numbered from @first. */
static int empty_messages(struct _test_data_rc *self, int num, __u64 first)
{
	struct rdma_ep_wc wc[16];
	int ret = 0;

	for (int i = 0; i < num && !ret; i++)
		ret = recv_one(self, first + i, 0, 0) ?:
		      abi_post_empty_send(&self->s, self->p.end[0].qp.qp, SEND_SIGNALED, i);
	if (!ret && abi_wait(&self->s, self->p.end[0].cq[0], wc, num) != num)
		return -ETIMEDOUT;
	usleep(50000);
	return ret;
}

static int sent(struct _test_data_rc *self, struct rdma_ep_wc *wc, int num)
{
	return abi_wait(&self->s, self->p.end[0].cq[0], wc, num);
}

/* Take the next completion of the client's sends, or of the server's receives: a success. */
#define SENT(_wr_id) \
	EXPECT_WC(&self->s, self->p.end[0].cq[0], _wr_id, WC_SUCCESS)
#define RECEIVED(_wr_id) \
	EXPECT_WC(&self->s, self->p.end[1].cq[1], _wr_id, WC_SUCCESS)

static int received(struct _test_data_rc *self, struct rdma_ep_wc *wc, int num)
{
	return abi_wait(&self->s, self->p.end[1].cq[1], wc, num);
}

static bool same(struct _test_data_rc *self, int to, __u32 at, int from, __u32 from_at, __u32 len)
{
	return !memcmp(self->buf[to] + at, self->buf[from] + from_at, len);
}

TEST_F(rc, send)
{
	__u64 sid = abi_random(), rid = abi_random();
	struct rdma_ep_wc wc;

	abi_fill(self->buf[0], LEN);
	OK(recv_one(self, rid, 100, 6000));
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, sid);
	abi_mr_sge(&self->w, &self->mr[0], 4000, 1500);
	abi_mr_sge(&self->w, &self->mr[0], 7, 3000);
	OK(post(self));
	wc = RECEIVED(rid);
	EXPECT_EQ(WC_OP_RECV, wc.opcode);
	EXPECT_EQ(4500, wc.byte_len);
	EXPECT_EQ(self->p.end[1].qp.qp_num, wc.qp_num);
	EXPECT_EQ(0, wc.wc_flags & WC_WITH_IMM);
	EXPECT_EQ(0, wc.reserved[0] | wc.reserved[1]);
	EXPECT_TRUE(same(self, 1, 100, 0, 4000, 1500));
	EXPECT_TRUE(same(self, 1, 1600, 0, 7, 3000));
	EXPECT_EQ(0, self->buf[1][4600]);
	wc = SENT(sid);
	EXPECT_EQ(WC_OP_SEND, wc.opcode);
	EXPECT_EQ(self->p.end[0].qp.qp_num, wc.qp_num);
}

TEST_F(rc, send_with_imm)
{
	struct rdma_ep_wc wc;

	SKIP_IF(self->s.iwarp, "iWARP has no immediate data");
	OK(recv_one(self, 1, 0, 64));
	strcpy(self->buf[0], "with");
	abi_wrs_send(&self->w, WR_SEND_WITH_IMM, 0, 2)->imm_data = htonl(0xdeadbeef);
	abi_mr_sge(&self->w, &self->mr[0], 0, 5);
	OK(post(self));
	wc = RECEIVED(1);
	EXPECT_EQ(WC_WITH_IMM, wc.wc_flags & WC_WITH_IMM);
	EXPECT_EQ(htonl(0xdeadbeef), wc.imm_data);
	EXPECT_STREQ("with", self->buf[1]);
}

/* Prepares a signalled request for the server's memory; its wr_id is 100 + opcode. */
static struct rdma_ep_send_wr *rdma(struct _test_data_rc *self, __u32 opcode, __u32 remote,
				    __u32 local, __u32 len)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->w, opcode, SEND_SIGNALED, 100 + opcode);
	abi_remote(wr, &self->mr[1], remote);
	if (len)
		abi_mr_sge(&self->w, &self->mr[0], local, len);
	return wr;
}

TEST_F(rc, write_and_read)
{
	abi_fill(self->buf[0], LEN);
	rdma(self, WR_RDMA_WRITE, 1000, 1, 5000);
	OK(post(self));
	EXPECT_EQ(WC_OP_RDMA_WRITE, SENT(100 + WR_RDMA_WRITE).opcode);
	EXPECT_TRUE(abi_arrived(self->buf[1] + 1000, self->buf[0] + 1, 5000));
	EXPECT_EQ(0, self->buf[1][999]);
	EXPECT_EQ(0, self->buf[1][6000]);

	abi_fill(self->buf[1], LEN);
	memset(self->buf[0], 0, LEN);
	rdma(self, WR_RDMA_READ, 33, 2000, 6000);
	OK(post(self));
	EXPECT_EQ(WC_OP_RDMA_READ, SENT(100 + WR_RDMA_READ).opcode);
	EXPECT_TRUE(same(self, 0, 2000, 1, 33, 6000));
	EXPECT_EQ(0, self->buf[0][1999]);
	EXPECT_EQ(0, self->buf[0][8000]);
}

/* siw completes a WRITE when it has been sent, perhaps before an earlier READ. */
TEST_F(rc, read_before_write)
{
	static const __u32 ops[] = { WR_RDMA_READ, WR_RDMA_WRITE, WR_RDMA_WRITE };
	static const __u32 flags[] = { SEND_SIGNALED, 0, SEND_SIGNALED };
	struct rdma_ep_wc wc[2];
	struct rdma_ep_send_wr *wr;
	bool first;

	/* The queue has 16 slots. */
	for (int round = 0; round < 50; round++) {
		abi_fill(self->buf[1], LEN);
		abi_wrs_init(&self->w);
		for (__u32 i = 0; i < 3; i++) {
			wr = abi_send_wr(&self->w, ops[i], flags[i], 3 * round + i);
			abi_remote(wr, &self->mr[1], i * 2048);
			abi_mr_sge(&self->w, &self->mr[0], i * 2048, 2048);
		}
		OK(post(self));
		LOGGED(ASSERT_EQ(2, sent(self, wc, 2)), "round %d", round);
		first = wc[0].wr_id != 3 * round;
		EXPECT_TRUE(!first || self->s.iwarp);
		EXPECT_EQ(3 * round, wc[first].wr_id);
		EXPECT_EQ(WC_OP_RDMA_READ, wc[first].opcode);
		EXPECT_EQ(3 * round + 2, wc[!first].wr_id);
		EXPECT_EQ(WC_OP_RDMA_WRITE, wc[!first].opcode);
		EXPECT_EQ(WC_SUCCESS, wc[0].status | wc[1].status);
		EXPECT_EQ(0, memcmp(self->buf[0], self->buf[1], 2048));
	}
}

/* A READ and WRITEs fill the queue; in ERR each completes once, in any order. */
TEST_F(rc, read_before_many)
{
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc[16];
	__u32 seen = 0;

	abi_wrs_init(&self->w);
	for (__u32 i = 0; i < 16; i++) {
		wr = abi_send_wr(&self->w, i ? WR_RDMA_WRITE : WR_RDMA_READ, SEND_SIGNALED, i);
		abi_remote(wr, &self->mr[1], 0);
		abi_mr_sge(&self->w, &self->mr[0], 0, LEN);
	}
	OK(post(self));
	OK(abi_qp_state(&self->s, self->p.end[0].qp.qp, QPS_ERR));
	ASSERT_EQ(16, sent(self, wc, 16));
	for (__u32 i = 0; i < 16; i++)
		seen |= 1U << wc[i].wr_id;
	EXPECT_EQ(0xffff, seen);
}

TEST_F(rc, write_with_imm)
{
	struct rdma_ep_wc wc;

	SKIP_IF(self->s.iwarp, "iWARP has no immediate data");
	OK(recv_one(self, 44, 0, 0));
	abi_fill(self->buf[0], 100);
	rdma(self, WR_RDMA_WRITE_WITH_IMM, 500, 0, 100)->imm_data = 7;
	OK(post(self));
	wc = RECEIVED(44);
	EXPECT_EQ(WC_OP_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(WC_WITH_IMM, wc.wc_flags & WC_WITH_IMM);
	EXPECT_EQ(7, wc.imm_data);
	EXPECT_EQ(100, wc.byte_len);
	EXPECT_TRUE(same(self, 1, 500, 0, 0, 100));
}

TEST_F(rc, atomics)
{
	__u64 *local = (__u64 *)self->buf[0], *remote = (__u64 *)self->buf[1];
	struct rdma_ep_send_wr *wr;

	SKIP_IF(self->s.iwarp, "iWARP has no atomics");
	remote[3] = 1000;
	rdma(self, WR_FETCH_AND_ADD, 24, 0, 8)->compare_add = 0x100000000ULL;
	OK(post(self));
	EXPECT_EQ(WC_OP_FETCH_ADD, SENT(100 + WR_FETCH_AND_ADD).opcode);
	EXPECT_EQ(1000, local[0]);
	EXPECT_EQ(0x1000003e8ULL, remote[3]);

	wr = rdma(self, WR_CMP_AND_SWP, 24, 8, 8);
	wr->compare_add = 0x1000003e8ULL;
	wr->swap = 0xfedcba9876543210ULL;
	OK(post(self));
	EXPECT_EQ(WC_OP_COMP_SWAP, SENT(100 + WR_CMP_AND_SWP).opcode);
	EXPECT_EQ(0x1000003e8ULL, local[1]);
	EXPECT_EQ(0xfedcba9876543210ULL, remote[3]);
	EXPECT_EQ(0, remote[2] | remote[4]);
}

/* Lengths up to max_inline_data, from unregistered memory */
TEST_F(rc, inline_data)
{
	__u32 max = self->p.end[0].qp.max_inline_data, len;
	const __u32 lens[] = { 0, 1, 7, 8, 9, 63, 64, max };
	struct rdma_ep_send_wr *wr;
	static char data[16384];

	ASSERT_LE(64, max);
	ASSERT_GT(sizeof(data), max);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i];
		if (!len && self->s.iwarp)
			continue;
		abi_fill(data, sizeof(data));
		memset(self->buf[1], 0, LEN);
		OK(recv_one(self, i, 0, LEN));
		wr = abi_wrs_send(&self->w, WR_SEND, 0, 0);
		abi_inline(&self->w, wr, data, len);
		LOGGED(ASSERT_EQ(0, post(self)), "%u bytes", len);
		/* The caller may reuse the list at once. */
		memset(self->w.buf, 0xee, sizeof(self->w.buf));
		EXPECT_EQ(len, RECEIVED(i).byte_len);
		EXPECT_EQ(0, memcmp(self->buf[1], data, len));
		EXPECT_EQ(0, self->buf[1][len]);
	}
	wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 0);
	abi_inline(&self->w, wr, data, max + 1);
	EXPECT_EQ(-EINVAL, post(self));

	abi_fill(data, sizeof(data));
	wr = rdma(self, WR_RDMA_WRITE, 9, 0, 0);
	abi_inline(&self->w, wr, data, 64);
	OK(post(self));
	SENT(100 + WR_RDMA_WRITE);
	EXPECT_TRUE(abi_arrived(self->buf[1] + 9, data, 64));
}

/* The address of a work request is the iova. */
TEST_F(rc, iova)
{
	struct rdma_ep_cmd_reg_mr mr = {
		.addr = (uintptr_t)self->buf[0], .length = LEN, .iova = 0xfffffffffffe0000ULL,
		.pd = self->s.pd, .access = AC_ALL,
	};

	SKIP_IF(self->s.iwarp, "iWARP has no iova of its own");
	OK(ABI(self->s.fd, REG_MR, &mr));
	abi_fill(self->buf[0], LEN);
	OK(recv_one(self, 1, 0, LEN));
	abi_wrs_send(&self->w, WR_SEND, 0, 2);
	abi_mr_sge(&self->w, &mr, 5000, 100);
	OK(post(self));
	RECEIVED(1);
	EXPECT_TRUE(same(self, 1, 0, 0, 5000, 100));
	EXPECT_EQ(-EINVAL, abi_post_send(&self->s, self->p.end[0].qp.qp, 0, 3, self->buf[0], 100,
					 mr.lkey));
}

TEST_F(rc, zero_length_entries)
{
	OK(recv_one(self, 1, 0, LEN));
	strcpy(self->buf[0], "abc");
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 2);
	/* The entry is ignored, whatever else is in it. */
	abi_sge(&self->w, 0xdead0000, 0, 0x12345678);
	abi_mr_sge(&self->w, &self->mr[0], 0, 4);
	OK(post(self));
	EXPECT_EQ(4, RECEIVED(1).byte_len);
	EXPECT_STREQ("abc", self->buf[1]);
	/* An empty entry alone */
	OK(recv_one(self, 3, 0, LEN));
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 4);
	abi_sge(&self->w, 0, 0, 0);
	OK(post(self));
	EXPECT_EQ(0, RECEIVED(3).byte_len);
}

/* Lists of 8 sends, two of which are signalled */
TEST_F(rc, unsignalled)
{
	__u32 depth = self->p.end[0].qp.max_send_wr;
	struct rdma_ep_wc wc[8];
	__u64 expect[8];

	ASSERT_LE(16, depth);
	for (__u32 round = 0; round < 2 * depth; round++) {
		abi_wrs_init(&self->w);
		for (int i = 0; i < 8; i++) {
			expect[i] = abi_random();
			abi_recv_wr(&self->w, ~expect[i]);
		}
		OK(ABI_POST(&self->s, RECV, self->p.end[1].qp.qp, &self->w, NULL));
		abi_wrs_init(&self->w);
		for (int i = 0; i < 8; i++)
			abi_send_wr(&self->w, WR_SEND, i == 5 || i == 7 ? SEND_SIGNALED : 0,
				    expect[i]);
		OK(post(self));
		for (int i = 0; i < 8; i++)
			RECEIVED(~expect[i]);
		SENT(expect[5]);
		SENT(expect[7]);
	}
	EXPECT_EQ(0, abi_poll(&self->s, self->p.end[0].cq[0], wc, 8));
}

/* A device may take more than max_send_wr; when it takes no more, the post fails. */
TEST_F(rc, send_queue_full)
{
	__u32 depth = self->p.end[0].qp.max_send_wr, posted, i, n = 0;
	struct rdma_ep_wc *wc = calloc(4 * depth, sizeof(*wc));

	SKIP_IF(self->s.iwarp, "iWARP's sends do not wait for receives");
	ASSERT_GE(100, depth);
	/* Nothing can complete while there is no receive. */
	abi_send_wrs(&self->w, 4 * depth, SEND_SIGNALED, 500);
	EXPECT_EQ(-ENOMEM, ABI_POST(&self->s, SEND, self->p.end[0].qp.qp, &self->w, &posted));
	EXPECT_LE(depth, posted);
	ASSERT_GT(4 * depth, posted);
	EXPECT_EQ(-ENOMEM, post(self));
	while (n < posted) {
		for (i = 0; i < depth && i < posted - n; i++)
			OK(recv_one(self, i, 0, 0));
		ASSERT_EQ(i, received(self, wc, i));
		n += i;
	}
	ASSERT_EQ(posted, sent(self, wc, posted));
	for (i = 0; i < posted; i++) {
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
		EXPECT_EQ(500 + i, wc[i].wr_id);
	}
	OK(recv_one(self, 0, 0, 0));
	OK(abi_post_empty_send(&self->s, self->p.end[0].qp.qp, SEND_SIGNALED, 1));
	SENT(1);
}

/* A post of all sends or none returns @_ret, and reports @_num posted ones. */
#define EXPECT_ALL(_ret, _num) ({					\
	__u32 __posted;							\
									\
	EXPECT_EQ(_ret, abi_send_all(&self->s, self->p.end[0].qp.qp, &self->w, &__posted)); \
	EXPECT_EQ(_num, __posted);					\
})

/* RDMA_EP_POST_ALL covers lists of several batches. */
TEST_F(rc, all_or_nothing)
{
	__u32 depth = self->p.end[0].qp.max_send_wr;
	struct rdma_ep_wc *wc = calloc(depth + 1, sizeof(*wc));

	ASSERT_LE(16, depth);
	for (__u32 bad = 0; bad < depth; bad += 5) {
		abi_wrs_init(&self->w);
		for (__u32 i = 0; i < depth; i++) {
			abi_send_wr(&self->w, WR_SEND, SEND_SIGNALED, i);
			abi_sge(&self->w, self->mr[0].iova, 4,
				self->mr[0].lkey ^ (i == bad ? 0x1100 : 0));
		}
		EXPECT_ALL(-EINVAL, 0);
	}
	abi_send_wrs(&self->w, depth + 1, SEND_SIGNALED, 0);
	EXPECT_ALL(-ENOMEM, 0);
	/* The rest needs sends that wait for receives. */
	if (self->s.iwarp)
		return;

	/* A list with empty entries, which are left out */
	abi_wrs_init(&self->w);
	for (__u32 i = 0; i < depth - 1; i++) {
		abi_send_wr(&self->w, WR_SEND, SEND_SIGNALED, i);
		abi_sge(&self->w, 1, 0, 2);
		abi_mr_sge(&self->w, &self->mr[0], 0, 4);
	}
	EXPECT_ALL(0, depth - 1);
	abi_send_wrs(&self->w, 2, SEND_SIGNALED, 1);
	EXPECT_ALL(-ENOMEM, 0);
	for (__u32 i = 0; i < depth - 1; i++) {
		OK(recv_one(self, i, 0, LEN));
		EXPECT_EQ(4, RECEIVED(i).byte_len);
	}
	/* The post drains the CQ, which makes room. */
	OK(recv_one(self, depth, 0, LEN));
	OK(recv_one(self, depth, 0, LEN));
	usleep(50000);
	EXPECT_ALL(0, 2);
	ASSERT_EQ(depth + 1, sent(self, wc, depth + 1));
	for (__u32 i = 0; i < depth + 1; i++)
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
	free(wc);
}

TEST_F(rc, recv_queue_full)
{
	__u32 depth = self->p.end[1].qp.max_recv_wr, posted;

	ASSERT_GE(1000, depth);
	abi_recv_wrs(&self->w, depth + 1, 0);
	EXPECT_EQ(-ENOMEM, ABI_POST(&self->s, RECV, self->p.end[1].qp.qp, &self->w, &posted));
	EXPECT_EQ(depth, posted);
	OK(abi_post_empty_send(&self->s, self->p.end[0].qp.qp, 0, 1));
	RECEIVED(0);
	/* One slot is free. */
	EXPECT_EQ(0, recv_one(self, 1, 0, 0));
	EXPECT_EQ(-ENOMEM, recv_one(self, 2, 0, 0));
}

TEST_F(rc, poll)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = self->p.end[1].cq[1], .wcs = 1, .max = 4 };
	struct rdma_ep_wc wc[16];
	char *page;
	int ret;

	/* Without completions the address does not matter. */
	EXPECT_EQ(0, ABI(self->s.fd, POLL_CQ, &p));
	EXPECT_EQ(0, p.num);
	OK(empty_messages(self, 12, 600));
	p.max = 0;
	EXPECT_EQ(0, ABI(self->s.fd, POLL_CQ, &p));
	EXPECT_EQ(0, p.num);
	/* Completions are not lost by a bad array, */
	for (int i = 0; i < 3; i++) {
		p.max = i == 1 ? ~0U : 16;
		p.wcs = i == 2 ? 0xffff888000000000ULL : 16;
		EXPECT_EQ(-EFAULT, ABI(self->s.fd, POLL_CQ, &p));
	}
	page = abi_map(8192);
	/* nor by a read-only structure. */
	p.size = sizeof(p);
	p.wcs = (uintptr_t)wc;
	memcpy(page, &p, sizeof(p));
	mprotect(page, 4096, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_POLL_CQ, page));
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	/* Two entries fit, the third is not mapped: only written completions are consumed. */
	munmap(page + 4096, 4096);
	ASSERT_EQ(2, abi_wait(&self->s, p.cq, wc, 2));
	p.wcs = (uintptr_t)page + 4096 - 2 * sizeof(wc[0]);
	p.max = 16;
	ret = ABI(self->s.fd, POLL_CQ, &p);
	if (ret) {
		EXPECT_EQ(-EFAULT, ret);
		p.num = 0;
	}
	memcpy(wc + 2, page + 4096 - 2 * sizeof(wc[0]), p.num * sizeof(wc[0]));
	ASSERT_EQ(10 - p.num, abi_wait(&self->s, p.cq, wc + 2 + p.num, 10 - p.num));
	for (int i = 0; i < 12; i++) {
		EXPECT_EQ(600 + i, wc[i].wr_id);
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
	}
	EXPECT_EQ(0, abi_poll(&self->s, p.cq, wc, 16));
}

/* siw reports success for RESET but does not reset the QP: later completions are delivered. */
TEST_F(rc, reset_of_nothing)
{
	struct rdma_ep_wc wc;

	SKIP_IF(!self->s.iwarp, "not iWARP");
	OK(recv_one(self, 77, 0, 8));
	OK(abi_qp_state(&self->s, self->p.end[1].qp.qp, QPS_RESET));
	OK(abi_post_empty_send(&self->s, self->p.end[0].qp.qp, SEND_SIGNALED, 1));
	ASSERT_EQ(1, received(self, &wc, 1));
	EXPECT_EQ(77, wc.wr_id);
}

/* A CQ cannot become smaller than its contents, whether the device holds these or the kernel. */
TEST_F(rc, resize_filled_cq)
{
	struct rdma_ep_cmd_resize_cq r = { .cq = self->p.end[1].cq[1], .cqe = 2 };

	SKIP_IF(self->s.iwarp, "siw does not resize CQs");
	OK(empty_messages(self, 6, 800));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 2));
	EXPECT_EQ(0, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 64));
	for (int i = 0; i < 6; i++)
		RECEIVED(800 + i);
	EXPECT_EQ(0, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 2));

	/* The end of their QP takes completions out of the device. */
	EXPECT_EQ(0, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 64));
	OK(empty_messages(self, 6, 900));
	OK(ABI_DESTROY(&self->s, QP, self->p.end[1].qp.qp));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 2));
	for (int i = 0; i < 6; i++)
		RECEIVED(900 + i);
	EXPECT_EQ(0, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 2));
}

struct poster {
	struct _test_data_rc *rc;
	__u32 qp;
	int ret;
};

static void *post_on(void *arg)
{
	struct poster *p = arg;
	__u32 posted;

	do {
		p->ret = abi_send_all(&p->rc->s, p->qp, &p->rc->w, &posted);
	} while (p->ret == -ENOMEM);
	return NULL;
}

/* Posts that find the queue full drain its CQ, while another task destroys the QP. */
TEST_F(rc, no_room_while_destroyed)
{
	struct poster p = { .rc = self };
	__u32 depth;
	pthread_t thread;

	for (int round = 0; round < 30; round++) {
		struct abi_pair pair = { .max_wr = 16, .no_reads = round & 1 };

		OK(abi_pair_open(&self->s, &pair));
		p.qp = pair.end[0].qp.qp;
		depth = pair.end[0].qp.max_send_wr;
		/* The peer has no receives; siw completes these sends, but they are not polled. */
		abi_send_wrs(&self->w, depth / 2, SEND_SIGNALED, 0);
		OK(ABI_POST(&self->s, SEND, p.qp, &self->w, NULL));
		abi_wrs_init(&self->w);
		for (__u32 i = 0; i < depth; i++) {
			abi_send_wr(&self->w, WR_SEND, SEND_SIGNALED, i);
			abi_mr_sge(&self->w, &self->mr[0], 0, 8);
		}
		OK(pthread_create(&thread, NULL, post_on, &p));
		usleep(abi_random() % 3000);
		EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, p.qp));
		pthread_join(thread, NULL);
		/* With siw, the post may find room, or the connection may have ended. */
		EXPECT_TRUE(p.ret == -ENOENT || p.ret == -EIO ||
			    (self->s.iwarp && (!p.ret || p.ret == -ENOTCONN))) {
			TH_LOG("round %d: %d", round, p.ret);
		}
	}
}

TEST_HARNESS_MAIN
