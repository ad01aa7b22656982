// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended QPs, and posting with functions: ibv_wr_start() to ibv_wr_complete().
 */
#include "lib_test.h"

#define RC_OPS \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define IWARP_OPS \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_READ)
#define REMOTE \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

#define SEND_OPS	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static struct ibv_qp_init_attr_ex attr_ex(struct ibv_pd *pd, struct ibv_cq *cq, uint64_t ops)
{
	struct ibv_qp_init_attr plain = lib_qp_attr();

	return (struct ibv_qp_init_attr_ex) {
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.comp_mask = SEND_OPS,
		.pd = pd,
		.send_ops_flags = ops,
	};
}

/* ------------------------------------------------------------------ */

FIXTURE(qpx) {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr_ex attr;
};

FIXTURE_SETUP(qpx)
{
	self->context = lib_context();
	ASSERT_TRUE(self->context != NULL);
	if (is_libsiw(self->context))
		SKIP_FIXTURE("libsiw has no extended QPs");
	self->pd = ibv_alloc_pd(self->context);
	self->cq = ibv_create_cq(self->context, 16, NULL, NULL, 0);
	ASSERT_TRUE(self->pd && self->cq);
	self->attr = attr_ex(self->pd, self->cq, IBV_QP_EX_WITH_SEND);
}

FIXTURE_TEARDOWN(qpx)
{
	if (!self->pd)
		return;
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

TEST_F(qpx, create)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	static const uint64_t ops[] = {
		RC_OPS | IBV_QP_EX_WITH_SEND_WITH_INV,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
		IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		IBV_QP_EX_WITH_SEND_WITH_INV,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	bool iwarp = lib_iwarp(self->context);
	struct ibv_qp_init_attr plain = lib_qp_attr();
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < (iwarp ? 1 : 3); i++) {
		attr = self->attr;
		attr.qp_type = types[i];
		attr.send_ops_flags = iwarp ? IWARP_OPS : ops[i];
		attr.qp_context = self;
		qp = ibv_create_qp_ex(self->context, &attr);
		ASSERT_TRUE(qp != NULL);
		ex = ibv_qp_to_qp_ex(qp);
		ASSERT_TRUE(ex != NULL);
		EXPECT_EQ((void *)qp, (void *)ex);
		EXPECT_EQ(qp->qp_num, ex->qp_base.qp_num);
		EXPECT_EQ((void *)self, qp->qp_context);
		EXPECT_EQ(self->pd, qp->pd);
		EXPECT_EQ(self->cq, qp->send_cq);
		EXPECT_EQ(types[i], qp->qp_type);
		EXPECT_EQ(IBV_QPS_RESET, qp->state);
		EXPECT_LE(8, attr.cap.max_send_wr);
		EXPECT_LE(2, attr.cap.max_send_sge);
		EXPECT_LE(16, attr.cap.max_inline_data);
		EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_destroy_qp(qp));
	}

	/* Without the flags it is a plain one */
	attr = self->attr;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	qp = ibv_create_qp_ex(self->context, &attr);
	ASSERT_TRUE(qp != NULL);
	EXPECT_TRUE(!ibv_qp_to_qp_ex(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	plain.send_cq = self->cq;
	plain.recv_cq = self->cq;
	qp = ibv_create_qp(self->pd, &plain);
	ASSERT_TRUE(qp != NULL);
	EXPECT_TRUE(!ibv_qp_to_qp_ex(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	/* And there may be flags, but no bit in them */
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = 0;
	qp = ibv_create_qp_ex(self->context, &attr);
	ASSERT_TRUE(qp != NULL);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* rdma-core 44 has no name for it. */
#define QP_EX_WITH_FLUSH	(1ULL << 11)

#define REFUSED(_errno, _attr) \
	FAILS_NULL(_errno, ibv_create_qp_ex(self->context, _attr))

TEST_F(qpx, create_errors)
{
	static const uint32_t masks[] = {
		IBV_QP_INIT_ATTR_MAX_TSO_HEADER, IBV_QP_INIT_ATTR_IND_TABLE,
		IBV_QP_INIT_ATTR_RX_HASH, 1U << 20,
	};
	static const uint64_t never[] = {
		IBV_QP_EX_WITH_TSO, 1ULL << 30, 1ULL << 40,
	};
	static const uint64_t users_only[] = {
		IBV_QP_EX_WITH_LOCAL_INV, IBV_QP_EX_WITH_BIND_MW,
		IBV_QP_EX_WITH_ATOMIC_WRITE, QP_EX_WITH_FLUSH,
	};
	static const struct {
		enum ibv_qp_type type;
		uint64_t op;
	} other_type[] = {
		{ IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_INV },
		{ IBV_QPT_RAW_PACKET, IBV_QP_EX_WITH_SEND },
		{ 99, IBV_QP_EX_WITH_SEND },
	};
	struct ibv_qp_init_attr_ex attr;
	int i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		attr = self->attr;
		attr.comp_mask |= masks[i];
		EXPECT_TRUE(REFUSED(EOPNOTSUPP, &attr));
	}
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		attr = self->attr;
		attr.send_ops_flags |= never[i];
		EXPECT_TRUE(REFUSED(EOPNOTSUPP, &attr));
	}
	for (i = 0; i < sizeof(other_type) / sizeof(other_type[0]); i++) {
		attr = self->attr;
		attr.qp_type = other_type[i].type;
		attr.send_ops_flags |= other_type[i].op;
		EXPECT_TRUE(REFUSED(EOPNOTSUPP, &attr));
	}
	attr = self->attr;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	EXPECT_TRUE(REFUSED(EOPNOTSUPP, &attr));
	attr = self->attr;
	attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	EXPECT_TRUE(REFUSED(EINVAL, &attr));
	attr = self->attr;
	attr.cap.max_send_wr = 1 << 30;
	EXPECT_TRUE(REFUSED(EINVAL, &attr));
	if (is_stock())	/* may have these; crashes on the others */
		return;
	for (i = 0; i < sizeof(users_only) / sizeof(users_only[0]); i++) {
		attr = self->attr;
		attr.send_ops_flags |= users_only[i];
		EXPECT_TRUE(REFUSED(EOPNOTSUPP, &attr));
	}
	attr = self->attr;
	attr.pd = NULL;
	EXPECT_TRUE(REFUSED(EINVAL, &attr));
	attr = self->attr;
	attr.send_cq = NULL;
	EXPECT_TRUE(REFUSED(EINVAL, &attr));
	attr = self->attr;
	attr.recv_cq = NULL;
	EXPECT_TRUE(REFUSED(EINVAL, &attr));
	EXPECT_TRUE(!ibv_qp_to_qp_ex(NULL));
}

/* The state decides, and a refused list is gone. */
TEST_F(qpx, wrong_state)
{
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	qp = ibv_create_qp_ex(self->context, &self->attr);
	ASSERT_TRUE(qp != NULL);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(lib_iwarp(self->context) ? ENOTCONN : EINVAL, ibv_wr_complete(ex));
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 1, &wc));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(qpx, not_asked_for)
{
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	int i;

	if (is_stock())
		SKIP(return, "the stock library crashes");
	qp = ibv_create_qp_ex(self->context, &self->attr);
	ASSERT_TRUE(qp != NULL);
	ex = ibv_qp_to_qp_ex(qp);
	for (i = 0; i < 7; i++) {
		ibv_wr_start(ex);
		switch (i) {
		case 0:
			ibv_wr_send_imm(ex, 0);
			break;
		case 1:
			ibv_wr_send_inv(ex, 1);
			break;
		case 2:
			ibv_wr_rdma_write(ex, 1, 8);
			break;
		case 3:
			ibv_wr_rdma_write_imm(ex, 1, 8, 0);
			break;
		case 4:
			ibv_wr_rdma_read(ex, 1, 8);
			break;
		case 5:
			ibv_wr_atomic_cmp_swp(ex, 1, 8, 0, 0);
			break;
		case 6:
			ibv_wr_atomic_fetch_add(ex, 1, 8, 0);
			break;
		}
		/* The first error is the one that is returned */
		ibv_wr_set_sge_list(ex, 1000000, NULL);
		EXPECT_EQ(EINVAL, ibv_wr_complete(ex));
	}
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* ------------------------------------------------------------------ */

/* a posts; b is a plain QP that receives, and whose "in" is open to a. */
FIXTURE(wr) {
	struct pair p;
	struct ibv_qp_ex *a;
	struct ibv_qp *b;
	struct ibv_cq *acq, *bcq;
	struct ibv_qp_cap cap;
	uint64_t out[64], in[64];
	struct ibv_mr *out_mr, *in_mr;
	int recvs;
	bool iwarp;
	sem_t window;
};

FIXTURE_SETUP(wr)
{
	struct pair *p = &self->p;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr query;
	struct ibv_qp_init_attr_ex attr;
	int i;

	ASSERT_EQ(0, pair_listen(p));
	ASSERT_EQ(0, pair_resolve(p));
	self->iwarp = lib_iwarp(p->a->verbs);
	if (is_stock() && self->iwarp)
		SKIP_FIXTURE("libsiw has no extended QPs");
	attr = attr_ex(NULL, NULL, self->iwarp ? IWARP_OPS : RC_OPS);
	attr.send_ops_flags |= IBV_QP_EX_WITH_SEND_WITH_INV;
	ASSERT_EQ(0, rdma_create_qp_ex(p->a, &attr));
	EXPECT_EQ(p->a->pd, attr.pd);
	ASSERT_EQ(0, pair_requested(p));
	ASSERT_EQ(0, pair_accept(p));

	self->a = ibv_qp_to_qp_ex(p->a->qp);
	ASSERT_TRUE(self->a != NULL);
	self->b = p->p->qp;
	self->acq = p->a->send_cq;
	self->bcq = p->p->recv_cq;
	ASSERT_EQ(0, ibv_query_qp(p->a->qp, &query, IBV_QP_CAP, &init));
	self->cap = init.cap;
	for (i = 0; i < 64; i++)
		self->out[i] = 0x0101010101010101 * i;
	memset(self->in, 0, sizeof(self->in));
	self->out_mr = ibv_reg_mr(p->a->pd, self->out, sizeof(self->out), IBV_ACCESS_LOCAL_WRITE);
	self->in_mr = ibv_reg_mr(p->p->pd, self->in, sizeof(self->in), REMOTE);
	ASSERT_TRUE(self->out_mr && self->in_mr);
}

FIXTURE_TEARDOWN(wr)
{
	if (!self->a) {
		EXPECT_EQ(0, pair_down(&self->p));
		return;
	}
	EXPECT_EQ(0, ibv_dereg_mr(self->out_mr));
	EXPECT_EQ(0, ibv_dereg_mr(self->in_mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

static int receive(FIXTURE_DATA(wr) *self, int n)
{
	struct ibv_sge sge = { (uintptr_t)self->in, sizeof(self->in),
			       self->in_mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (n--) {
		recv.wr_id = 100 + self->recvs++;
		if (ibv_post_recv(self->b, &recv, &bad))
			return -1;
	}
	return 0;
}

static void set_id(FIXTURE_DATA(wr) *self, uint64_t wr_id, unsigned int flags)
{
	self->a->wr_id = wr_id;
	self->a->wr_flags = flags;
}

/* The first bytes of "out". */
static void set_out(FIXTURE_DATA(wr) *self, uint32_t len)
{
	ibv_wr_set_sge(self->a, self->out_mr->lkey, (uintptr_t)self->out, len);
}

/* A message of that many bytes, as one list. */
static int send_one(FIXTURE_DATA(wr) *self, uint64_t wr_id, uint32_t len)
{
	ibv_wr_start(self->a);
	set_id(self, wr_id, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	set_out(self, len);
	return ibv_wr_complete(self->a);
}

/* The next completion of a sender or receiver is this. */
static bool completed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = {};

	if (!lib_wait_wc(cq, &wc, 1) && !wc.status && wc.wr_id == wr_id && wc.opcode == opcode)
		return true;
	lib_say(__FILE__, __LINE__, "wr_id %llu, status %d, opcode %d",
		(unsigned long long)wc.wr_id, wc.status, wc.opcode);
	return false;
}

/* Nothing has been posted, and the QP can go on. */
static bool nothing_happened(FIXTURE_DATA(wr) *self)
{
	return lib_no_wc(self->acq) && lib_no_wc(self->bcq) &&
	       lib_qp_state_as(self->p.a->qp, IBV_QPS_RTS) == IBV_QPS_RTS &&
	       !receive(self, 1) && !send_one(self, 4711, 8) &&
	       completed(self->acq, 4711, IBV_WC_SEND) &&
	       completed(self->bcq, 100 + self->recvs - 1, IBV_WC_RECV);
}

TEST_F(wr, send)
{
	ASSERT_EQ(0, receive(self, 2));
	ASSERT_EQ(0, send_one(self, 1, 200));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 100, IBV_WC_RECV));
	EXPECT_EQ(0, memcmp(self->in, self->out, 200));
	EXPECT_EQ(0, self->in[25]);
	/* Nothing at all */
	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 101, IBV_WC_RECV));
	/* Not even a request */
	ibv_wr_start(self->a);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
}

/* The older way of posting goes on working. */
TEST_F(wr, plain_posts)
{
	ASSERT_EQ(0, receive(self, 2));
	ASSERT_EQ(0, rdma_post_send(self->p.a, (void *)5, self->out, 8,
				    self->out_mr, IBV_SEND_SIGNALED));
	ASSERT_EQ(0, send_one(self, 6, 16));
	EXPECT_TRUE(completed(self->acq, 5, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->acq, 6, IBV_WC_SEND));
}

TEST_F(wr, immediate)
{
	struct ibv_wc wc;

	if (self->iwarp)
		SKIP(return, "iWARP has no immediate data");
	ASSERT_EQ(0, receive(self, 2));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(self->a, htonl(0x1234));
	set_out(self, 16);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write_imm(self->a, self->in_mr->rkey, (uintptr_t)&self->in[32], htonl(0x5678));
	set_out(self, 40);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_RDMA_WRITE));
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_NE(0, wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(htonl(0x1234), wc.imm_data);
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(htonl(0x5678), wc.imm_data);
	EXPECT_EQ(40, wc.byte_len);
	EXPECT_EQ(0, memcmp(&self->in[32], self->out, 40));
}

TEST_F(wr, write_and_read)
{
	struct ibv_sge list[2] = {
		{ (uintptr_t)&self->out[40], 80, self->out_mr->lkey },
		{ (uintptr_t)&self->out[20], 80, self->out_mr->lkey },
	};

	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(self->a, self->in_mr->rkey, (uintptr_t)self->in);
	ibv_wr_set_sge_list(self->a, 2, list);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in, self->out + 40, 80));
	EXPECT_TRUE(lib_arrived(self->in + 10, self->out + 20, 80));
	EXPECT_EQ(0, self->in[20]);

	self->in[0] = 0xfeedface;
	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_read(self->a, self->in_mr->rkey, (uintptr_t)self->in);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_RDMA_READ));
	EXPECT_EQ(0xfeedface, self->out[0]);
}

TEST_F(wr, atomics)
{
	if (self->iwarp)
		SKIP(return, "iWARP has no atomics");
	self->in[3] = 1000;
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(self->a, self->in_mr->rkey, (uintptr_t)&self->in[3], 234);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_FETCH_ADD));
	EXPECT_EQ(1000, self->out[0]);
	EXPECT_EQ(1234, self->in[3]);

	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(self->a, self->in_mr->rkey, (uintptr_t)&self->in[3], 1234, 99);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_COMP_SWAP));
	EXPECT_EQ(1234, self->out[0]);
	EXPECT_EQ(99, self->in[3]);
}

/* Whether a key can be invalidated is for its driver to say: rxe refuses regions. */
TEST_F(wr, send_with_invalidate)
{
	struct ibv_wc out, in;

	ASSERT_EQ(0, receive(self, 1));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_send_inv(self->a, self->in_mr->rkey);
	set_out(self, 16);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	ASSERT_EQ(0, lib_wait_wc(self->acq, &out, 1));
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &in, 1));
	if (in.status == IBV_WC_SUCCESS) {
		EXPECT_NE(0, in.wc_flags & IBV_WC_WITH_INV);
		EXPECT_EQ(self->in_mr->rkey, in.invalidated_rkey);
	}
	EXPECT_EQ(1, out.wr_id);
	EXPECT_EQ(100, in.wr_id);
}

/* Several in one list: in order, and only those complete that are to. */
TEST_F(wr, list)
{
	int i;

	ASSERT_EQ(0, receive(self, 7));
	ibv_wr_start(self->a);
	for (i = 0; i < 7; i++) {
		set_id(self, i, i % 3 ? 0 : IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8 * i);
	}
	EXPECT_TRUE(lib_no_wc(self->bcq));
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	for (i = 0; i < 7; i++)
		EXPECT_TRUE(completed(self->bcq, 100 + i, IBV_WC_RECV));
	for (i = 0; i < 7; i += 3)
		EXPECT_TRUE(completed(self->acq, i, IBV_WC_SEND));
	EXPECT_TRUE(lib_no_wc(self->acq));
}

/* The data is taken when the function is called. */
TEST_F(wr, inline_data)
{
	/* rxe looks at the flag, though no page says that it is needed */
	unsigned int flag = is_stock() ? IBV_SEND_INLINE : 0;
	char text[16] = "before";
	struct ibv_data_buf list[3] = {
		{ text, 3 }, { NULL, 0 }, { text + 8, 5 },
	};

	ASSERT_EQ(0, receive(self, 1));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED | flag);
	ibv_wr_send(self->a);
	ibv_wr_set_inline_data(self->a, text, 7);
	strcpy(text, "after");
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 100, IBV_WC_RECV));
	EXPECT_EQ(0, strcmp("before", (char *)self->in));
	EXPECT_EQ(0, ((char *)self->in)[7]);

	if (is_stock())	/* librxe of rdma-core 44 forgets the length */
		return;
	ASSERT_EQ(0, receive(self, 1));
	memcpy(text, "one.....two!", 13);
	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	ibv_wr_set_inline_data_list(self->a, 3, list);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 101, IBV_WC_RECV));
	EXPECT_EQ(0, strcmp("onetwo!", (char *)self->in));
}

/* The last that is said about the data counts; the flag does not. */
TEST_F(wr, data_set_again)
{
	if (is_stock())
		SKIP(return, "librxe mixes inline data and entries");
	ASSERT_EQ(0, receive(self, 3));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	ibv_wr_send(self->a);
	ibv_wr_set_inline_data(self->a, "inline", 7);
	set_out(self, 24);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	set_out(self, 24);
	ibv_wr_set_inline_data(self->a, "inline", 7);
	set_id(self, 3, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	set_out(self, 24);
	ibv_wr_set_sge(self->a, 0, 0, 0);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	for (int i = 0; i < 3; i++) {
		struct ibv_wc wc;

		EXPECT_TRUE(completed(self->acq, 1 + i, IBV_WC_SEND));
		ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
		EXPECT_EQ(i == 0 ? 24 : i == 1 ? 7 : 0, wc.byte_len);
	}
}

/* What is wrong with one request drops them all. */
TEST_F(wr, errors)
{
	struct ibv_sge *list = calloc(self->cap.max_send_sge + 1, sizeof(*list));
	int i;

	for (i = 0; i <= self->cap.max_send_sge; i++)
		list[i] = (struct ibv_sge) { (uintptr_t)self->out, 8,
					     self->out_mr->lkey };
	for (i = 0; i < 2; i++) {
		ibv_wr_start(self->a);
		set_id(self, 1, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8);
		set_id(self, 2, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		if (i)
			ibv_wr_set_sge_list(self->a, self->cap.max_send_sge + 1, list);
		else
			ibv_wr_set_inline_data(self->a, self->out, self->cap.max_inline_data + 1);
		set_out(self, 8);
		set_id(self, 3, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8);
		EXPECT_EQ(ENOSPC, ibv_wr_complete(self->a));
		EXPECT_TRUE(nothing_happened(self));
	}
	free(list);
}

TEST_F(wr, abort)
{
	int i;

	for (i = 0; i < 3; i++) {
		ibv_wr_start(self->a);
		set_id(self, i, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8);
		ibv_wr_abort(self->a);
	}
	EXPECT_TRUE(nothing_happened(self));
}

static int fill(FIXTURE_DATA(wr) *self, int n)
{
	ibv_wr_start(self->a);
	while (n--) {
		set_id(self, n, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8);
	}
	return ibv_wr_complete(self->a);
}

/* A list that there is no room for is not posted in part. */
TEST_F(wr, full_queue)
{
	int n = self->cap.max_send_wr, i;

	ASSERT_LE(8, n);
	EXPECT_EQ(ENOSPC, fill(self, n + 1));
	EXPECT_TRUE(nothing_happened(self));
	/* Nobody receives: they stay (and do not over iWARP) */
	if (self->iwarp)
		return;
	EXPECT_EQ(0, fill(self, n - 2));
	EXPECT_EQ(ENOSPC, fill(self, 3));
	EXPECT_EQ(0, fill(self, 2));
	EXPECT_EQ(ENOSPC, fill(self, 1));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, receive(self, 1));
		EXPECT_TRUE(completed(self->bcq, 100 + self->recvs - 1, IBV_WC_RECV));
		EXPECT_TRUE(completed(self->acq, i < n - 2 ? n - 3 - i : n - 1 - i, IBV_WC_SEND));
	}
	EXPECT_TRUE(nothing_happened(self));
}

/* More often than the queue is long, and never a completion. */
TEST_F(wr, unsignalled)
{
	int n = 2 * self->cap.max_send_wr, i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, receive(self, 2));
		ibv_wr_start(self->a);
		set_id(self, 1, 0);
		ibv_wr_send(self->a);
		ibv_wr_send(self->a);
		ASSERT_EQ(0, ibv_wr_complete(self->a));
		ASSERT_TRUE(completed(self->bcq, 100 + 2 * i, IBV_WC_RECV));
		ASSERT_TRUE(completed(self->bcq, 101 + 2 * i, IBV_WC_RECV));
	}
	EXPECT_TRUE(lib_no_wc(self->acq));
}

/*
 * Programs test these pointers before they use an operation. A pointer that is set although
 * no QP has the operation makes them post it, and the whole list fails (librpma).
 */
TEST_F(wr, unsupported_operations_are_null)
{
	struct ibv_qp_ex *a = self->a;

	EXPECT_TRUE(a->wr_send != NULL);
	EXPECT_TRUE(a->wr_local_inv == NULL);
	EXPECT_TRUE(a->wr_bind_mw == NULL);
	EXPECT_TRUE(a->wr_send_tso == NULL);
	EXPECT_TRUE(a->wr_atomic_write == NULL);
	/* wr_flush of newer headers; older stock libraries have no room for it. */
	if (!is_stock())
		EXPECT_TRUE((&a->wr_atomic_write)[1] == NULL);
}

/* What crashes the stock library, or gets lost there. */
TEST_F(wr, misuse)
{
	struct ibv_qp_ex *a = self->a;

	if (is_stock())
		SKIP(return, "the stock library crashes");
	/* Not begun */
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	ibv_wr_abort(a);
	ibv_wr_send(a);
	set_out(self, 8);
	EXPECT_TRUE(nothing_happened(self));
	/* Nothing to set anything of */
	ibv_wr_start(a);
	set_out(self, 8);
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	/* A request has no field for the number of an SRQ. */
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_xrc_srqn(a, 1);
	EXPECT_EQ(EOPNOTSUPP, ibv_wr_complete(a));
	/* The first error is the one that is returned */
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_xrc_srqn(a, 1);
	ibv_wr_set_sge_list(a, 1000000, NULL);
	EXPECT_EQ(EOPNOTSUPP, ibv_wr_complete(a));
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_sge_list(a, 1, NULL);
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_inline_data_list(a, 1, NULL);
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_ud_addr(a, NULL, 1, 1);
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	EXPECT_TRUE(nothing_happened(self));
}

/* A key that is not the program's is refused at once, with all of the list. */
TEST_F(wr, bad_key)
{
	int n = self->cap.max_send_wr, i;

	if (is_stock())
		SKIP(return, "the stock library finds out later");
	ASSERT_LE(8, n);
	ibv_wr_start(self->a);
	for (i = 0; i < n; i++) {
		set_id(self, i, IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		if (i == n - 1)
			ibv_wr_set_sge(self->a, self->out_mr->lkey ^ 0x5500,
				       (uintptr_t)self->out, 8);
		else
			set_out(self, 8);
	}
	EXPECT_EQ(EINVAL, ibv_wr_complete(self->a));
	EXPECT_TRUE(nothing_happened(self));
}

static void *send_two(void *arg)
{
	FIXTURE_DATA(wr) *self = arg;

	ibv_wr_start(self->a);
	set_id(self, 21, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	set_id(self, 22, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	return (void *)(long)ibv_wr_complete(self->a);
}

TEST_F(wr, start_keeps_others_out)
{
	struct lib_thread t;
	void *ret;
	int i;

	ASSERT_EQ(0, receive(self, 4));
	ibv_wr_start(self->a);
	set_id(self, 11, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	ASSERT_EQ(0, lib_start(&t, send_two, self));
	EXPECT_TRUE(lib_still_blocked(&t));
	set_id(self, 12, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	ASSERT_EQ(0, lib_join(&t, &ret));
	EXPECT_EQ(0, (long)ret);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(completed(self->acq, i < 2 ? 11 + i : 19 + i, IBV_WC_SEND));
}

static void *send_many(void *arg)
{
	FIXTURE_DATA(wr) *self = arg;
	struct ibv_wc wc;
	long i;

	for (i = 0; i < 20; i++) {
		if (sem_wait(&self->window) || send_one(self, 1, 8) ||
		    lib_wait_wc(self->acq, &wc, 1))
			return (void *)(i + 1);
	}
	return NULL;
}

TEST_F(wr, many_threads)
{
	struct lib_thread t[2];
	struct ibv_wc wc;
	void *ret;
	int i;

	/* Never more than there are receives for: that ends iWARP's connection. */
	ASSERT_EQ(0, sem_init(&self->window, 0, 8));
	ASSERT_EQ(0, receive(self, 8));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_start(&t[i], send_many, self));
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, lib_wait_wc(self->bcq, &wc, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(8, wc.byte_len);
		ASSERT_EQ(0, receive(self, 1));
		sem_post(&self->window);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, lib_join(&t[i], &ret));
		EXPECT_EQ(0, (long)ret);
	}
}

/* ------------------------------------------------------------------ */

#define QKEY	0x1234567

/* A datagram QP that sends to itself. */
static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};
	int ret;

	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

TEST_F(qpx, datagrams)
{
	struct ibv_ah_attr ah_attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = 1, .hop_limit = 64 },
	};
	char buf[128] = "";
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), 0 };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 },
			   *bad;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc[2];
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	int i, n;

	if (lib_iwarp(self->context))
		SKIP(return, "iWARP has no datagrams");
	self->attr.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp_ex(self->context, &self->attr);
	ASSERT_TRUE(qp != NULL);
	ASSERT_EQ(0, to_rts(qp));
	ex = ibv_qp_to_qp_ex(qp);
	ASSERT_EQ(0, ibv_query_gid(self->context, 1, 1, &ah_attr.grh.dgid));
	ah = ibv_create_ah(self->pd, &ah_attr);
	mr = ibv_reg_mr(self->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_TRUE(ah && mr);
	sge.lkey = mr->lkey;

	/* The address before the data, and after it */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ibv_post_recv(qp, &recv, &bad));
		ibv_wr_start(ex);
		ex->wr_id = 8;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		if (i)
			ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 30 + i);
		if (!i)
			ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
		EXPECT_EQ(0, ibv_wr_complete(ex));
		ASSERT_EQ(0, lib_wait_wc(self->cq, wc, 2));
		EXPECT_EQ(15, wc[0].wr_id + wc[1].wr_id);
		EXPECT_EQ(0, wc[0].status | wc[1].status);
		EXPECT_EQ(40 + 30 + i, wc[wc[0].wr_id == 7 ? 0 : 1].byte_len);
	}
	/* One without an address; stock may send it anywhere. */
	for (n = 1; n < 11 && !is_stock(); n += 3) {
		ibv_wr_start(ex);
		for (i = 0; i < n; i++) {
			ibv_wr_send(ex);
			ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 30);
			if (i < n - 1)
				ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
		}
		EXPECT_EQ(EINVAL, ibv_wr_complete(ex));
	}
	EXPECT_TRUE(lib_no_wc(self->cq));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_HARNESS_MAIN
