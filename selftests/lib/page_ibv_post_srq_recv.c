// SPDX-License-Identifier: GPL-2.0-only
/* Tests of ibv_post_srq_recv(3), sentence by sentence, numbered as in docs/programs/pages.md */
#include "lib_test.h"

#define MAX_WR	8
#define MAX_SGE	2

/* A connection whose passive side receives into an SRQ. */
FIXTURE(recv) {
	struct pair p;
	struct ibv_srq *srq;
	struct ibv_cq *cq;		/* where its receives complete */
	struct ibv_mr *mr;
	uint32_t max_wr, max_sge;	/* granted */
	struct ibv_sge sge[MAX_SGE];
	char buf[256];
};

FIXTURE_SETUP(recv)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_WR, .max_sge = MAX_SGE } };
	struct pair *p = &self->p;
	int i;

	ASSERT_EQ(0, pair_client(p));
	ASSERT_EQ(0, pair_passive(p));
	ASSERT_EQ(0, rdma_create_srq(p->p, NULL, &attr));
	ASSERT_EQ(0, pair_qp(p->p));
	ASSERT_EQ(0, pair_accept(p));
	self->srq = p->p->srq;
	self->cq = p->p->recv_cq;
	self->max_wr = attr.attr.max_wr;
	self->max_sge = attr.attr.max_sge;
	self->mr = ASSERT_PTR(rdma_reg_msgs(p->p, self->buf, sizeof(self->buf)));
	for (i = 0; i < MAX_SGE; i++)
		self->sge[i] = (struct ibv_sge) {
			(uintptr_t)self->buf + 64 * i, 64, self->mr->lkey
		};
}

FIXTURE_TEARDOWN(recv)
{
	rdma_destroy_qp(self->p.p);
	rdma_destroy_srq(self->p.p);
	EXPECT_EQ(0, rdma_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

/* A receive request for the first 64 bytes of buf */
static struct ibv_recv_wr request(FIXTURE_DATA(recv) *self, uint64_t wr_id)
{
	return (struct ibv_recv_wr) { .wr_id = wr_id, .sg_list = self->sge, .num_sge = 1 };
}

/* A list of such requests, with wr_ids from 10 on */
static void request_list(FIXTURE_DATA(recv) *self, struct ibv_recv_wr *wr, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		wr[i] = request(self, 10 + i);
		wr[i].next = i < n - 1 ? &wr[i + 1] : NULL;
	}
}

/* More entries than a request may have. (libsiw takes up to 6, whatever was granted.) */
static int too_many(FIXTURE_DATA(recv) *self)
{
	return is_libsiw(self->p.p->verbs) ? 64 : self->max_sge + 1;
}

/* Return value of a failed post, which libsiw negates, against the page */
static int failure(FIXTURE_DATA(recv) *self, int error)
{
	return is_libsiw(self->p.p->verbs) ? -error : error;
}

/* Sends a message. Returns the completion of its receive. */
static struct ibv_wc receive(FIXTURE_DATA(recv) *self, const char *msg)
{
	if (lib_send(self->p.a, msg, strlen(msg)))
		return (struct ibv_wc) { .status = IBV_WC_GENERAL_ERR };
	return lib_next_wc(self->cq);
}

/* P0: ibv_post_srq_recv */
TEST_F(recv, ibv_post_srq_recv_S01_message_is_received_by_the_srq)
{
	struct ibv_recv_wr wr = request(self, 1), *bad;
	struct ibv_wc wc;

	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	wc = receive(self, "hello");
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(self->p.p->qp->qp_num, wc.qp_num);
	EXPECT_EQ(5, wc.byte_len);
	EXPECT_STREQ("hello", self->buf);
}

TEST_F(recv, ibv_post_srq_recv_S02_function_takes_the_documented_arguments)
{
	int (*post)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr) = ibv_post_srq_recv;
	struct ibv_recv_wr wr = request(self, 1), *bad;

	EXPECT_EQ(0, post(self->srq, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, receive(self, "x").status);
}

TEST_F(recv, ibv_post_srq_recv_S03_whole_list_is_posted_in_its_order)
{
	struct ibv_recv_wr wr[3], *bad;
	struct ibv_wc wc;
	int i;

	request_list(self, wr, 3);
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, wr, &bad));
	memset(wr, 0xff, sizeof(wr));	/* the program may reuse them */
	for (i = 0; i < 3; i++) {
		wc = receive(self, "abc");
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(10 + i, wc.wr_id);
	}
}

TEST_F(recv, ibv_post_srq_recv_S04_list_is_posted_up_to_the_one_that_is_wrong)
{
	struct ibv_recv_wr wr[3], *bad = NULL;

	request_list(self, wr, 3);
	wr[1].num_sge = too_many(self);
	EXPECT_EQ(failure(self, EINVAL), ibv_post_srq_recv(self->srq, wr, &bad));
	EXPECT_EQ(&wr[1], bad);
	wr[1] = request(self, 20);
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr[1], &bad));
	EXPECT_EQ(10, receive(self, "abc").wr_id);
	EXPECT_EQ(20, receive(self, "abc").wr_id);
}

TEST(ibv_post_srq_recv_S05_structures_have_the_documented_members)
{
	EXPECT_TRUE(MEMBER_IS(ibv_recv_wr, wr_id, uint64_t));
	EXPECT_TRUE(MEMBER_IS(ibv_recv_wr, next, struct ibv_recv_wr *));
	EXPECT_TRUE(MEMBER_IS(ibv_recv_wr, sg_list, struct ibv_sge *));
	EXPECT_TRUE(MEMBER_IS(ibv_recv_wr, num_sge, int));
	EXPECT_TRUE(MEMBER_IS(ibv_sge, addr, uint64_t));
	EXPECT_TRUE(MEMBER_IS(ibv_sge, length, uint32_t));
	EXPECT_TRUE(MEMBER_IS(ibv_sge, lkey, uint32_t));
}

TEST_F(recv, ibv_post_srq_recv_S06_wr_id_is_that_of_the_completion)
{
	struct ibv_recv_wr wr = request(self, 0x123456789abcdef0), *bad;

	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_EQ(0x123456789abcdef0, receive(self, "x").wr_id);
}

TEST_F(recv, ibv_post_srq_recv_S07_list_ends_with_null)
{
	struct ibv_recv_wr wr[3], *bad;

	wr[0] = request(self, 1);
	wr[1] = request(self, 2);
	wr[2] = request(self, 3);	/* not in the list */
	wr[0].next = &wr[1];
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, wr, &bad));
	wr[2].wr_id = 4;
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr[2], &bad));
	EXPECT_EQ(1, receive(self, "x").wr_id);
	EXPECT_EQ(2, receive(self, "x").wr_id);
	EXPECT_EQ(4, receive(self, "x").wr_id);
}

TEST_F(recv, ibv_post_srq_recv_S08_message_is_scattered_over_the_array)
{
	struct ibv_recv_wr wr = request(self, 1), *bad;

	self->sge[0].length = 4;
	wr.num_sge = 2;
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, receive(self, "scattered").status);
	EXPECT_EQ(0, memcmp(self->buf, "scat\0", 5));
	EXPECT_STREQ("tered", self->buf + 64);
}

TEST_F(recv, ibv_post_srq_recv_S09_entries_after_num_sge_are_not_used)
{
	struct ibv_recv_wr wr = request(self, 1), *bad;

	self->sge[1] = (struct ibv_sge) { 8, 1 << 20, 0x12345 };
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, receive(self, "one").status);
	EXPECT_STREQ("one", self->buf);
	wr.num_sge = too_many(self);
	EXPECT_EQ(failure(self, EINVAL), ibv_post_srq_recv(self->srq, &wr, &bad));
	/* A request without entries, for a message of no bytes; libsiw refuses it */
	wr.num_sge = 0;
	if (is_libsiw(self->p.p->verbs)) {
		EXPECT_EQ(-EINVAL, ibv_post_srq_recv(self->srq, &wr, &bad));
		return;
	}
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, receive(self, "").status);
}

TEST_F(recv, ibv_post_srq_recv_S10_message_goes_to_the_address)
{
	struct ibv_recv_wr wr = request(self, 1), *bad;

	self->sge[0].addr = (uintptr_t)self->buf + 101;
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, receive(self, "there").status);
	EXPECT_EQ(0, self->buf[100]);
	EXPECT_STREQ("there", self->buf + 101);
	EXPECT_EQ(0, self->buf[106]);
}

/* A longer message is not received, and ends the connection. */
TEST_F(recv, ibv_post_srq_recv_S11_message_stays_within_the_length)
{
	struct ibv_recv_wr wr = request(self, 1), *bad;
	struct ibv_wc wc;

	self->sge[0].length = 4;
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	wc = receive(self, "fits");
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(4, wc.byte_len);
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	ASSERT_EQ(0, rdma_post_send(self->p.a, NULL, "too long", 8, NULL, IBV_SEND_INLINE));
	if (!lib_iwarp(self->p.p->verbs)) {
		ASSERT_EQ(0, lib_wait_wc(self->cq, &wc, 1));
		EXPECT_NE(IBV_WC_SUCCESS, wc.status);
	}
	EXPECT_QPS(IBV_QPS_ERR, self->p.p->qp);
	EXPECT_EQ(0, self->buf[4]);
}

/* Stock checks the key when a message arrives, rdma_ep when the request is posted. */
TEST_F(recv, ibv_post_srq_recv_S12_memory_is_that_of_the_key)
{
	struct ibv_recv_wr wr = request(self, 1), *bad = NULL;

	self->sge[0].lkey ^= 0x55500;
	EXPECT_EQ(is_stock() ? 0 : EINVAL, ibv_post_srq_recv(self->srq, &wr, &bad));
	if (!is_stock()) {
		EXPECT_EQ(&wr, bad);
		return;
	}
	ASSERT_EQ(0, rdma_post_send(self->p.a, NULL, "x", 1, NULL, IBV_SEND_INLINE));
	EXPECT_QPS(IBV_QPS_ERR, self->p.p->qp);
	EXPECT_EQ(0, self->buf[0]);
}

TEST_F(recv, ibv_post_srq_recv_S13_success_is_0_and_failure_the_errno)
{
	struct ibv_recv_wr wr = request(self, 1), *bad = NULL;
	struct ibv_srq_attr attr = { .max_wr = self->max_wr };
	int i, ret = 0;

	wr.num_sge = too_many(self);
	EXPECT_EQ(failure(self, EINVAL), ibv_post_srq_recv(self->srq, &wr, &bad));
	wr.num_sge = 1;
	/* Posts until the SRQ is full. */
	if (!is_libsiw(self->p.p->verbs))	/* libsiw cannot query SRQs */
		ASSERT_EQ(0, ibv_query_srq(self->srq, &attr));
	for (i = 0; i <= attr.max_wr && !ret; i++)
		ret = ibv_post_srq_recv(self->srq, &wr, &bad);
	EXPECT_EQ(failure(self, ENOMEM), ret);
	EXPECT_EQ(attr.max_wr + 1, i);
	EXPECT_EQ(&wr, bad);
}

TEST_F(recv, ibv_post_srq_recv_S14_buffer_is_left_alone_after_its_completion)
{
	struct ibv_recv_wr wr[2], *bad;

	wr[0] = request(self, 1);
	wr[1] = request(self, 2);
	wr[1].sg_list = &self->sge[1];
	wr[0].next = &wr[1];
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, wr, &bad));
	EXPECT_EQ(1, receive(self, "first").wr_id);
	EXPECT_STREQ("first", self->buf);
	strcpy(self->buf, "mine");
	EXPECT_EQ(2, receive(self, "second").wr_id);
	EXPECT_STREQ("mine", self->buf);
	EXPECT_STREQ("second", self->buf + 64);
}

/* ------------------------------------------------------------------ */

/* A datagram that was received into an SRQ */
FIXTURE(ud) {
	struct ud u;
	struct ibv_wc wc;
};

FIXTURE_SETUP(ud)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_recv_wr wr = { .wr_id = 9, .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	if (lib_iwarp(ASSERT_PTR(lib_context())))
		SKIP_FIXTURE("iWARP has no datagrams");
	ASSERT_EQ(0, ud_up(&self->u, NULL, &srq));
	memset(self->u.buf, 0x77, 64);
	sge = (struct ibv_sge) { (uintptr_t)self->u.buf, 64, self->u.mr->lkey };
	wr.sg_list = &sge;
	ASSERT_EQ(0, ibv_post_srq_recv(self->u.id->srq, &wr, &bad));
	ASSERT_EQ(IBV_WC_SUCCESS, ud_send(&self->u, self->u.id->qp->qp_num));
	self->wc = lib_next_wc(self->u.id->recv_cq);
	ASSERT_EQ(IBV_WC_SUCCESS, self->wc.status);
	ASSERT_EQ(9, self->wc.wr_id);
}

FIXTURE_TEARDOWN(ud)
{
	EXPECT_EQ(0, ud_down(&self->u));
}

/* With RoCE over IPv4, the IPv4 header is at the end of the 40 bytes. */
TEST_F(ud, ibv_post_srq_recv_S15_grh_is_in_the_first_40_bytes)
{
	struct sockaddr_in sin = lib_addr(0);

	EXPECT_TRUE(self->wc.wc_flags & IBV_WC_GRH);
	EXPECT_EQ(0x45, self->u.buf[20]);
	EXPECT_EQ(0, memcmp(self->u.buf + 32, &sin.sin_addr, 4));
	EXPECT_EQ(0, memcmp(self->u.buf + 36, &sin.sin_addr, 4));
}

TEST_F(ud, ibv_post_srq_recv_S17_data_begin_after_40_bytes)
{
	EXPECT_EQ(40 + 9, self->wc.byte_len);
	EXPECT_STREQ("datagram", self->u.buf + 40);
	EXPECT_EQ(0x77, self->u.buf[49]);
}

/* The page's ibv_post_send(), ibv_post_recv() and ibv_poll_cq() are inline. */
TEST(ibv_post_srq_recv_S18_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("ibv_create_qp"));
}

TEST_HARNESS_MAIN
