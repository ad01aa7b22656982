// SPDX-License-Identifier: GPL-2.0-only
/* The calls of rdma_verbs.h that post to an id and wait for its completions */
#include "lib_test.h"

FIXTURE(rdma) {
	struct pair p;
	struct rdma_cm_id *a, *b;
	char out[256], in[256];
	struct ibv_mr *out_mr, *in_mr, *read_mr, *write_mr;
};

/* a works on "out". b has "in", with regions for messages, remote reads and remote writes. */
FIXTURE_SETUP(rdma)
{
	int i;

	ASSERT_EQ(0, pair_up(&self->p));
	self->a = self->p.a;
	self->b = self->p.p;
	for (i = 0; i < sizeof(self->out); i++)
		self->out[i] = i ^ 0x5a;
	memset(self->in, 0, sizeof(self->in));
	self->out_mr = ASSERT_PTR(rdma_reg_msgs(self->a, self->out, sizeof(self->out)));
	self->in_mr = ASSERT_PTR(rdma_reg_msgs(self->b, self->in, sizeof(self->in)));
	self->read_mr = ASSERT_PTR(rdma_reg_read(self->b, self->in, sizeof(self->in)));
	self->write_mr = ASSERT_PTR(rdma_reg_write(self->b, self->in, sizeof(self->in)));
}

FIXTURE_TEARDOWN(rdma)
{
	EXPECT_EQ(0, rdma_dereg_mr(self->out_mr));
	EXPECT_EQ(0, rdma_dereg_mr(self->in_mr));
	EXPECT_EQ(0, rdma_dereg_mr(self->read_mr));
	EXPECT_EQ(0, rdma_dereg_mr(self->write_mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

static enum ibv_wc_status sent(FIXTURE_DATA(rdma) *self, long wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	if (rdma_get_send_comp(self->a, &wc) != 1)
		return -1;
	if (wc.wr_id == wr_id && wc.qp_num == self->a->qp->qp_num &&
	    (wc.status || wc.opcode == opcode))
		return wc.status;
	lib_say(__FILE__, __LINE__, "unexpected completion");
	return -1;
}

/* P0: rdma_post_send, rdma_post_recv, rdma_get_send_comp, rdma_get_recv_comp */
TEST_F(rdma, send_and_recv)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rdma_post_recv(self->b, (void *)(10L + i), self->in + 64 * i, 64,
					    self->in_mr));
	ASSERT_EQ(0, rdma_post_send(self->a, (void *)7, self->out, 64, self->out_mr, 0));
	EXPECT_EQ(0, sent(self, 7, IBV_WC_SEND));
	ASSERT_EQ(0, rdma_post_send(self->a, (void *)8, self->out + 64, 10, NULL, IBV_SEND_INLINE));
	ASSERT_EQ(0, rdma_post_send(self->a, (void *)9, NULL, 0, NULL, IBV_SEND_INLINE));
	EXPECT_EQ(0, sent(self, 8, IBV_WC_SEND));
	EXPECT_EQ(0, sent(self, 9, IBV_WC_SEND));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, rdma_get_recv_comp(self->b, &wc));
		EXPECT_EQ(10 + i, wc.wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(IBV_WC_RECV, wc.opcode);
		EXPECT_EQ(i == 0 ? 64 : i == 1 ? 10 : 0, wc.byte_len);
	}
	EXPECT_EQ(0, memcmp(self->in, self->out, 64 + 10));
	EXPECT_EQ(0, self->in[64 + 10]);
}

/* P0: rdma_post_sendv, rdma_post_recvv */
TEST_F(rdma, lists)
{
	struct ibv_sge out[2] = {
		{ (uintptr_t)self->out + 100, 30, self->out_mr->lkey },
		{ (uintptr_t)self->out, 50, self->out_mr->lkey },
	};
	struct ibv_sge in[2] = {
		{ (uintptr_t)self->in + 200, 40, self->in_mr->lkey },
		{ (uintptr_t)self->in, 100, self->in_mr->lkey },
	};
	struct ibv_wc wc;

	ASSERT_EQ(0, rdma_post_recvv(self->b, (void *)1, in, 2));
	ASSERT_EQ(0, rdma_post_sendv(self->a, (void *)2, out, 2, 0));
	EXPECT_EQ(0, sent(self, 2, IBV_WC_SEND));
	ASSERT_EQ(1, rdma_get_recv_comp(self->b, &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(80, wc.byte_len);
	EXPECT_EQ(0, memcmp(self->in + 200, self->out + 100, 30));
	EXPECT_EQ(0, memcmp(self->in + 230, self->out, 10));
	EXPECT_EQ(0, memcmp(self->in, self->out + 10, 40));
	EXPECT_EQ(0, self->in[40]);
}

/* P0: rdma_post_write, rdma_post_writev */
TEST_F(rdma, write)
{
	struct ibv_sge out[2] = {
		{ (uintptr_t)self->out + 100, 30, self->out_mr->lkey },
		{ (uintptr_t)self->out, 50, self->out_mr->lkey },
	};

	ASSERT_EQ(0, rdma_post_write(self->a, (void *)1, self->out, 33,
				     self->out_mr, 0, (uintptr_t)self->in + 5,
				     self->write_mr->rkey));
	EXPECT_EQ(0, sent(self, 1, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in + 5, self->out, 33));
	EXPECT_EQ(0, self->in[4] | self->in[5 + 33]);

	ASSERT_EQ(0, rdma_post_writev(self->a, (void *)2, out, 2, 0, (uintptr_t)self->in + 100,
				      self->write_mr->rkey));
	EXPECT_EQ(0, sent(self, 2, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in + 100, self->out + 100, 30));
	EXPECT_TRUE(lib_arrived(self->in + 130, self->out, 50));
	ASSERT_EQ(0, rdma_post_write(self->a, (void *)3, "inline", 7, NULL,
				     IBV_SEND_INLINE, (uintptr_t)self->in, self->write_mr->rkey));
	EXPECT_EQ(0, sent(self, 3, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in, "inline", 7));
}

/* P0: rdma_post_read, rdma_post_readv */
TEST_F(rdma, read)
{
	struct ibv_sge out[2] = {
		{ (uintptr_t)self->out + 100, 30, self->out_mr->lkey },
		{ (uintptr_t)self->out, 50, self->out_mr->lkey },
	};
	int i;

	if (lib_iwarp(self->a->verbs))
		SKIP(return, "iWARP writes where it reads to: other rights");
	for (i = 0; i < sizeof(self->in); i++)
		self->in[i] = i ^ 0x33;
	ASSERT_EQ(0, rdma_post_read(self->a, (void *)1, self->out, 33,
				    self->out_mr, 0, (uintptr_t)self->in + 5, self->read_mr->rkey));
	EXPECT_EQ(0, sent(self, 1, IBV_WC_RDMA_READ));
	EXPECT_EQ(0, memcmp(self->in + 5, self->out, 33));
	ASSERT_EQ(0, rdma_post_readv(self->a, (void *)2, out, 2, 0, (uintptr_t)self->in + 100,
				     self->read_mr->rkey));
	EXPECT_EQ(0, sent(self, 2, IBV_WC_RDMA_READ));
	EXPECT_EQ(0, memcmp(self->out + 100, self->in + 100, 30));
	EXPECT_EQ(0, memcmp(self->out, self->in + 130, 50));
}

/* A READ of no bytes accesses no memory. It only shows that the peer's QP answers. */
TEST_F(rdma, read_of_no_bytes_completes)
{
	struct ibv_sge empty = { (uintptr_t)self->out, 0, self->out_mr->lkey };

	ASSERT_EQ(0, rdma_post_readv(self->a, (void *)1, NULL, 0, 0,
				     (uintptr_t)self->in, self->read_mr->rkey));
	EXPECT_EQ(0, sent(self, 1, IBV_WC_RDMA_READ));
	ASSERT_EQ(0, rdma_post_readv(self->a, (void *)2, &empty, 1, 0,
				     (uintptr_t)self->in, self->read_mr->rkey));
	EXPECT_EQ(0, sent(self, 2, IBV_WC_RDMA_READ));
	/* The connection still works. */
	ASSERT_EQ(0, rdma_post_write(self->a, (void *)3, self->out, 33,
				     self->out_mr, 0, (uintptr_t)self->in, self->write_mr->rkey));
	EXPECT_EQ(0, sent(self, 3, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in, self->out, 33));
}

/* The QP of the active side grants remote writes as well. */
TEST_F(rdma, write_from_the_passive_side)
{
	struct ibv_mr *mr = ASSERT_PTR(rdma_reg_write(self->a, self->out, sizeof(self->out)));
	struct ibv_wc wc;

	memset(self->in, 0x77, 64);
	ASSERT_EQ(0, rdma_post_write(self->b, (void *)1, self->in, 64,
				     self->in_mr, 0, (uintptr_t)self->out, mr->rkey));
	ASSERT_EQ(1, rdma_get_send_comp(self->b, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(0, memcmp(self->in, self->out, 64));
	EXPECT_EQ(0, rdma_dereg_mr(mr));
}

/*
 * A write that the peer must refuse. The writer gets an error. Over iWARP the peer ends the
 * connection instead, maybe before the request completes. (Then siw flushes the request, or
 * reports a local error.)
 */
static bool refused(FIXTURE_DATA(rdma) *self, uint32_t rkey)
{
	bool iwarp = lib_iwarp(self->a->verbs);
	enum ibv_wc_status status;
	struct ibv_wc wc;

	if (rdma_post_recv(self->b, (void *)2, self->in, 64, self->in_mr) ||
	    rdma_post_write(self->a, (void *)1, self->out, 33, self->out_mr, 0,
			    (uintptr_t)self->in, rkey))
		return false;
	status = sent(self, 1, IBV_WC_RDMA_WRITE);
	if (iwarp ? status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR &&
	    status != IBV_WC_LOC_QP_OP_ERR : status != IBV_WC_REM_ACCESS_ERR) {
		lib_say(__FILE__, __LINE__, "the writer is told %d", status);
		return false;
	}
	if (iwarp && (lib_wait_wc(self->b->recv_cq, &wc, 1) || wc.status != IBV_WC_WR_FLUSH_ERR)) {
		lib_say(__FILE__, __LINE__, "the connection does not end");
		return false;
	}
	return !self->in[0];
}

/* P0: rdma_reg_msgs, rdma_reg_read, rdma_reg_write */
TEST_F(rdma, messages_memory_is_private)
{
	EXPECT_TRUE(refused(self, self->in_mr->rkey ?: 0x1234));
	EXPECT_QPS(IBV_QPS_ERR, self->a->qp);
}

TEST_F(rdma, memory_for_reading_is_not_for_writing)
{
	EXPECT_TRUE(refused(self, self->read_mr->rkey));
}

/* The inline functions return -1 with errno, unlike the functions that they call. */
TEST_F(rdma, errors)
{
	struct ibv_sge sge[64] = {};

	if (is_libsiw(self->a->verbs))
		SKIP(return, "libsiw checks less, and has errnos of its own");
	EXPECT_FAILS(EINVAL, rdma_post_sendv(self->a, NULL, sge, 64, 0));
	EXPECT_FAILS(EINVAL, rdma_post_recvv(self->b, NULL, sge, 64));
	EXPECT_FAILS(EINVAL, rdma_post_readv(self->a, NULL, sge, 64, 0, 0, 0));
	EXPECT_FAILS(EINVAL, rdma_post_writev(self->a, NULL, sge, 64, 0, 0, 0));
}

static void *get_recv_comp(void *arg)
{
	struct ibv_wc wc;
	int ret = rdma_get_recv_comp(arg, &wc);

	return (void *)(ret == 1 ? (long)wc.wr_id : -1);
}

/* P0: rdma_get_recv_comp */
TEST_F(rdma, get_comp_blocks)
{
	struct lib_thread t;
	int i;

	for (i = 1; i < 4; i++) {
		ASSERT_EQ(0, rdma_post_recv(self->b, (void *)(long)i, self->in, 64, self->in_mr));
		START_BLOCKED(&t, get_recv_comp, self->b);
		ASSERT_EQ(0, rdma_post_send(self->a, (void *)7, self->out, 64, self->out_mr, 0));
		EXPECT_RETURNS(i, &t);
		EXPECT_EQ(0, sent(self, 7, IBV_WC_SEND));
	}
	/* ibv_get_cq_event() is a cancellation point. */
	START_BLOCKED(&t, get_recv_comp, self->b);
	EXPECT_CANCELLED(&t);
}

TEST_HARNESS_MAIN
