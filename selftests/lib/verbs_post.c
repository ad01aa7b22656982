// SPDX-License-Identifier: GPL-2.0-only
/* Posting work requests: lists, invalid requests, inline data */
#include "lib_test.h"

FIXTURE(post) {
	struct pair p;
	struct ibv_qp *a, *b;
	struct ibv_cq *acq, *bcq;	/* a's sends, b's receives */
	struct ibv_qp_cap cap;
	char out[4096], in[4096];
	struct ibv_mr *out_mr, *in_mr;
	struct ibv_sge os, is;
};

FIXTURE_SETUP(post)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i;

	ASSERT_EQ(0, pair_up(&self->p));
	self->a = self->p.a->qp;
	self->b = self->p.p->qp;
	self->acq = self->p.a->send_cq;
	self->bcq = self->p.p->recv_cq;
	ASSERT_EQ(0, ibv_query_qp(self->a, &attr, IBV_QP_CAP, &init));
	self->cap = init.cap;
	for (i = 0; i < sizeof(self->out); i++)
		self->out[i] = i * 7;
	memset(self->in, 0, sizeof(self->in));
	self->out_mr = ASSERT_PTR(rdma_reg_msgs(self->p.a, self->out, sizeof(self->out)));
	self->in_mr = ASSERT_PTR(rdma_reg_msgs(self->p.p, self->in, sizeof(self->in)));
	self->os = (struct ibv_sge) { (uintptr_t)self->out, 100, self->out_mr->lkey };
	self->is = (struct ibv_sge) { (uintptr_t)self->in, 100, self->in_mr->lkey };
}

FIXTURE_TEARDOWN(post)
{
	EXPECT_EQ(0, rdma_dereg_mr(self->out_mr));
	EXPECT_EQ(0, rdma_dereg_mr(self->in_mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

static int receive(FIXTURE_DATA(post) *self, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &self->is, .num_sge = 1 }, *bad;

	return ibv_post_recv(self->b, &wr, &bad);
}

static int send_one(FIXTURE_DATA(post) *self)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &self->os, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	return ibv_post_send(self->a, &wr, &bad);
}

/* A list of sends with wr_ids from @wr_id on, each with one entry of sge[] */
static void send_list(struct ibv_send_wr *wr, int n, uint64_t wr_id, struct ibv_sge *sge)
{
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr) {
			.wr_id = wr_id + i, .next = i < n - 1 ? wr + i + 1 : NULL,
			.sg_list = sge + i, .num_sge = 1, .opcode = IBV_WR_SEND,
		};
}

static void recv_list(struct ibv_recv_wr *wr, int n, uint64_t wr_id, struct ibv_sge *sge)
{
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = wr_id + i, .next = i < n - 1 ? wr + i + 1 : NULL,
			.sg_list = sge + i, .num_sge = 1,
		};
}

/* P0: ibv_post_send, ibv_post_recv */
TEST_F(post, lists)
{
	struct ibv_sge in[3], out[3];
	struct ibv_recv_wr recv[3], *bad_recv = (void *)8;
	struct ibv_send_wr send[3], *bad_send = (void *)8;
	bool imm = !lib_iwarp(self->a->context);
	struct ibv_wc wc[3];
	int i;

	for (i = 0; i < 3; i++) {
		in[i] = self->is;
		in[i].addr += 100 * i;
		out[i] = self->os;
		out[i].addr += 100 * i;
	}
	recv_list(recv, 3, 1000, in);
	send_list(send, 3, 2000, out);
	send[1].opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	send[1].imm_data = htonl(0x12345678);
	ASSERT_EQ(0, ibv_post_recv(self->b, recv, &bad_recv));
	ASSERT_EQ(0, ibv_post_send(self->a, send, &bad_send));
	/* No request is bad. */
	if (!is_libsiw(self->a->context))
		EXPECT_EQ(NULL, bad_recv);
	EXPECT_EQ(NULL, bad_send);
	/* The program may reuse the requests. */
	memset(send, 0xff, sizeof(send));
	memset(recv, 0xff, sizeof(recv));
	ASSERT_EQ(0, lib_wait_wc(self->acq, wc, 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(2000 + i, wc[i].wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, wc[i].status);
		EXPECT_EQ(IBV_WC_SEND, wc[i].opcode);
	}
	ASSERT_EQ(0, lib_wait_wc(self->bcq, wc, 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1000 + i, wc[i].wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, wc[i].status);
		EXPECT_EQ(100, wc[i].byte_len);
		EXPECT_EQ(imm && i == 1, !!(wc[i].wc_flags & IBV_WC_WITH_IMM));
	}
	if (imm)
		EXPECT_EQ(htonl(0x12345678), wc[1].imm_data);
	EXPECT_EQ(0, memcmp(self->in, self->out, 300));
	EXPECT_EQ(0, self->in[300]);
}

TEST_F(post, bad_send)
{
	struct ibv_send_wr send[3], *bad = NULL;
	struct ibv_sge sge[64];
	int i;

	if (is_libsiw(self->a->context))
		SKIP(return, "libsiw checks less, and has errnos of its own");
	for (i = 0; i < 64; i++)
		sge[i] = self->os;
	send_list(send, 3, 10, sge);
	ASSERT_EQ(0, receive(self, 0));
	send[1].num_sge = self->cap.max_send_sge + 1;
	EXPECT_EQ(EINVAL, ibv_post_send(self->a, send, &bad));
	EXPECT_EQ(send + 1, bad);
	/* The request before the bad one has been posted, the next has not. */
	EXPECT_WC(self->acq, 10, IBV_WC_SUCCESS);
	EXPECT_TRUE(lib_no_wc(self->acq));

	/* Too much inline data */
	send[0].next = NULL;
	send[0].send_flags = IBV_SEND_INLINE;
	sge[0].length = self->cap.max_inline_data + 1;
	bad = NULL;
	EXPECT_EQ(EINVAL, ibv_post_send(self->a, send, &bad));
	EXPECT_EQ(&send[0], bad);
	EXPECT_TRUE(lib_no_wc(self->acq));
	EXPECT_QPS(IBV_QPS_RTS, self->a);
}

TEST_F(post, bad_recv)
{
	struct ibv_recv_wr recv[3], *bad = NULL;
	struct ibv_sge sge[64] = { self->is, self->is, self->is };
	int i, ret = 0;

	if (is_libsiw(self->b->context))
		SKIP(return, "libsiw checks less, and has errnos of its own");
	recv_list(recv, 3, 0, sge);
	recv[2].num_sge = self->cap.max_recv_sge + 1;
	EXPECT_EQ(EINVAL, ibv_post_recv(self->b, recv, &bad));
	EXPECT_EQ(recv + 2, bad);
	/* The queue has 2 requests, and room for the others. */
	recv[0].next = NULL;
	for (i = 2; i <= self->cap.max_recv_wr && !ret; i++) {
		bad = NULL;
		ret = ibv_post_recv(self->b, recv, &bad);
	}
	EXPECT_EQ(ENOMEM, ret);
	EXPECT_EQ(self->cap.max_recv_wr + 1, i);
	EXPECT_EQ(&recv[0], bad);
}

/* The queue holds as many requests as granted, in one list or several. */
TEST_F(post, full_send_queue)
{
	int n = self->cap.max_send_wr, i;
	struct ibv_send_wr *send, *bad = NULL;
	struct ibv_sge *sge;

	if (lib_iwarp(self->a->context))
		SKIP(return, "iWARP's sends do not wait for receives");
	send = ASSERT_PTR(calloc(n + 1, sizeof(*send)));
	sge = ASSERT_PTR(calloc(n + 1, sizeof(*sge)));
	for (i = 0; i <= n; i++)
		sge[i] = self->os;
	send_list(send, n + 1, 0, sge);
	/* Without receives, the sends stay in the queue. */
	EXPECT_EQ(ENOMEM, ibv_post_send(self->a, send, &bad));
	EXPECT_EQ(send + n, bad);
	bad = NULL;
	EXPECT_EQ(ENOMEM, ibv_post_send(self->a, send + n, &bad));
	EXPECT_EQ(send + n, bad);
}

/* ibv_post_send() copies inline data, which needs no key. */
TEST_F(post, inline_data)
{
	int len = self->cap.max_inline_data, i;
	char *text = malloc(len);
	struct ibv_sge sge[2] = {
		{ (uintptr_t)text, 7, 0 },
		{ (uintptr_t)text + 7, len - 7, 0x99999999 },
	};
	struct ibv_send_wr send = {
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	}, *bad;
	struct ibv_wc wc;

	ASSERT_LE(16, len);
	self->is.length = 4096;
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, receive(self, i));
		memset(text, 'a' + i, len);
		ASSERT_EQ(0, ibv_post_send(self->a, &send, &bad));
		memset(text, 'X', len);
		ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(len, wc.byte_len);
		EXPECT_EQ('a' + i, self->in[0]);
		EXPECT_EQ('a' + i, self->in[len - 1]);
		EXPECT_EQ(0, self->in[len]);
	}
	free(text);
}

/* A message of several packets, and one that is longer than its buffer */
TEST_F(post, long_messages)
{
	struct ibv_wc wc;

	self->os.length = 4096;
	self->is.length = 4096;
	ASSERT_EQ(0, receive(self, 0));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(4096, wc.byte_len);
	EXPECT_EQ(0, memcmp(self->in, self->out, 4096));
	ASSERT_EQ(0, lib_wait_wc(self->acq, &wc, 1));

	self->is.length = 10;
	ASSERT_EQ(0, receive(self, 0));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, lib_wait_wc(self->acq, &wc, 1));
	/* (iWARP does not report it to the sender.) */
	if (!lib_iwarp(self->a->context))
		EXPECT_NE(IBV_WC_SUCCESS, wc.status);
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
	EXPECT_NE(IBV_WC_SUCCESS, wc.status);
	EXPECT_QPS(IBV_QPS_ERR, self->a);
}

TEST_F(post, wrong_key)
{
	struct ibv_send_wr send = {
		.wr_id = 1,
		.sg_list = &self->os,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	}, *bad;
	struct ibv_wc wc;

	ASSERT_EQ(0, receive(self, 0));
	self->os.lkey ^= 0x5500;
	if (is_stock()) {
		ASSERT_EQ(0, ibv_post_send(self->a, &send, &bad));
		ASSERT_EQ(0, lib_wait_wc(self->acq, &wc, 1));
		EXPECT_NE(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(1, wc.wr_id);
	} else {
		/* rdma_ep refuses a wrong key before a kernel QP gets it. */
		EXPECT_EQ(EINVAL, ibv_post_send(self->a, &send, &bad));
		EXPECT_EQ(&send, bad);
	}
	EXPECT_TRUE(lib_no_wc(self->bcq) || is_stock());
	EXPECT_EQ(0, self->in[1]);
}

/* Requests use the addresses of the registration. */
TEST_F(post, memory_at_another_address)
{
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (lib_iwarp(self->a->context))
		SKIP(return, "siw's regions have the memory's addresses");
	/* Some devices need the same offset in the page. */
	mr = ASSERT_PTR(ibv_reg_mr_iova(self->p.p->pd, self->in, sizeof(self->in),
					0x7000000 + (uintptr_t)self->in % 4096,
					IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ((void *)self->in, mr->addr);
	self->is.addr = 0x7000000 + (uintptr_t)self->in % 4096 + 50;
	self->is.lkey = mr->lkey;
	ASSERT_EQ(0, receive(self, 0));
	ASSERT_EQ(0, send_one(self));
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(0, memcmp(self->in + 50, self->out, 100));
	EXPECT_EQ(0, self->in[150] | self->in[49]);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* An unsignalled request has no completion. */
TEST(unsignalled)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr send[2] = {
		{ .wr_id = 1, .opcode = IBV_WR_SEND, .next = send + 1 },
		{ .wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED },
	}, *bad;
	struct pair p = {};

	attr.sq_sig_all = 0;
	ASSERT_EQ(0, pair_route(&p));
	if (is_libsiw(p.a->verbs))
		SKIP(return, "libsiw takes no receive without an entry");
	ASSERT_EQ(0, rdma_create_qp(p.a, NULL, &attr));
	ASSERT_EQ(0, pair_requested(&p));
	ASSERT_EQ(0, pair_accept(&p));
	ASSERT_EQ(0, ibv_post_recv(p.p->qp, &recv, &bad_recv));
	ASSERT_EQ(0, ibv_post_recv(p.p->qp, &recv, &bad_recv));
	ASSERT_EQ(0, ibv_post_send(p.a->qp, send, &bad));
	EXPECT_WC(p.a->send_cq, 2, IBV_WC_SUCCESS);
	EXPECT_TRUE(lib_no_wc(p.a->send_cq));
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
