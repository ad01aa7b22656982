// SPDX-License-Identifier: GPL-2.0-only
/* Creating extended QPs, and the operations that they offer; verbs_wr.c tests posting */
#include "verbs_ex.h"

FIXTURE(qpx) {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr_ex attr;
};

FIXTURE_SETUP(qpx)
{
	self->context = ASSERT_PTR(lib_context());
	if (is_libsiw(self->context))
		SKIP_FIXTURE("libsiw has no extended QPs");
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 16, NULL, NULL, 0));
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
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const uint64_t ops[] = {
		RC_OPS | IBV_QP_EX_WITH_SEND_WITH_INV,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
		IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	bool iwarp = lib_iwarp(self->context);
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_init_attr plain;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < (iwarp ? 1 : 3); i++) {
		attr = self->attr;
		attr.qp_type = types[i];
		attr.send_ops_flags = iwarp ? IWARP_OPS : ops[i];
		attr.qp_context = self;
		qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &attr));
		ex = ASSERT_PTR(ibv_qp_to_qp_ex(qp));
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

	/* Without send_ops_flags, the QP is a plain one. */
	attr = self->attr;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &attr));
	EXPECT_TRUE(!ibv_qp_to_qp_ex(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	plain = lib_qp_attr_on(self->cq);
	qp = ASSERT_PTR(ibv_create_qp(self->pd, &plain));
	EXPECT_TRUE(!ibv_qp_to_qp_ex(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	/* create_flags may be given, but must be 0. */
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = 0;
	qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &attr));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* rdma-core 44 has no name for it. */
#define QP_EX_WITH_FLUSH	(1ULL << 11)

/* Creation with one attribute changed fails. */
#define EXPECT_REFUSED(_errno, _change) do { \
	struct ibv_qp_init_attr_ex attr = self->attr; \
	_change; \
	EXPECT_FAILS_NULL(_errno, ibv_create_qp_ex(self->context, &attr)); \
} while (0)

TEST_F(qpx, create_errors)
{
	static const uint32_t masks[] = {
		IBV_QP_INIT_ATTR_MAX_TSO_HEADER, IBV_QP_INIT_ATTR_IND_TABLE,
		IBV_QP_INIT_ATTR_RX_HASH, 1U << 20,
	};
	static const uint64_t never[] = { IBV_QP_EX_WITH_TSO, 1ULL << 30, 1ULL << 40 };
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
	struct ibv_qp_init_attr_ex attr = self->attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++)
		EXPECT_REFUSED(EOPNOTSUPP, attr.comp_mask |= masks[i]);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		EXPECT_REFUSED(EOPNOTSUPP, attr.send_ops_flags |= never[i]);
	for (i = 0; i < ARRAY_SIZE(other_type); i++) {
		attr = self->attr;
		attr.qp_type = other_type[i].type;
		attr.send_ops_flags |= other_type[i].op;
		EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_create_qp_ex(self->context, &attr));
	}
	attr = self->attr;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_create_qp_ex(self->context, &attr));
	EXPECT_REFUSED(EINVAL, attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	EXPECT_REFUSED(EINVAL, attr.cap.max_send_wr = 1 << 30);
	if (is_stock())	/* stock may have these, and crashes on the others */
		return;
	for (i = 0; i < ARRAY_SIZE(users_only); i++)
		EXPECT_REFUSED(EOPNOTSUPP, attr.send_ops_flags |= users_only[i]);
	/* A UC QP cannot post it. */
	EXPECT_REFUSED(EOPNOTSUPP, attr.qp_type = IBV_QPT_UC;
		       attr.send_ops_flags |= IBV_QP_EX_WITH_SEND_WITH_INV);
	EXPECT_REFUSED(EINVAL, attr.pd = NULL);
	EXPECT_REFUSED(EINVAL, attr.send_cq = NULL);
	EXPECT_REFUSED(EINVAL, attr.recv_cq = NULL);
	EXPECT_TRUE(!ibv_qp_to_qp_ex(NULL));
}

/* The QP's state forbids the list, which is dropped. */
TEST_F(qpx, wrong_state)
{
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &self->attr));
	struct ibv_wc wc;

	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(lib_iwarp(self->context) ? ENOTCONN : EINVAL, ibv_wr_complete(ex));
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 1, &wc));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* The list begins with an operation that fails, and this first error is reported. */
#define EXPECT_NOT_OFFERED(_op) do { \
	ibv_wr_start(ex); \
	_op; \
	ibv_wr_set_sge_list(ex, 1000000, NULL); \
	EXPECT_EQ(EINVAL, ibv_wr_complete(ex)); \
} while (0)

TEST_F(qpx, not_asked_for)
{
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	if (is_stock())
		SKIP(return, "the stock library crashes");
	qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &self->attr));
	ex = ibv_qp_to_qp_ex(qp);
	EXPECT_NOT_OFFERED(ibv_wr_send_imm(ex, 0));
	EXPECT_NOT_OFFERED(ibv_wr_send_inv(ex, 1));
	EXPECT_NOT_OFFERED(ibv_wr_rdma_write(ex, 1, 8));
	EXPECT_NOT_OFFERED(ibv_wr_rdma_write_imm(ex, 1, 8, 0));
	EXPECT_NOT_OFFERED(ibv_wr_rdma_read(ex, 1, 8));
	EXPECT_NOT_OFFERED(ibv_wr_atomic_cmp_swp(ex, 1, 8, 0, 0));
	EXPECT_NOT_OFFERED(ibv_wr_atomic_fetch_add(ex, 1, 8, 0));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

#define QKEY	0x1234567

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
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
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc[2];
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	int i, n;

	if (lib_iwarp(self->context))
		SKIP(return, "iWARP has no datagrams");
	self->attr.qp_type = IBV_QPT_UD;
	qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &self->attr));
	ASSERT_EQ(0, to_rts(qp));
	ex = ibv_qp_to_qp_ex(qp);
	ASSERT_EQ(0, ibv_query_gid(self->context, 1, 1, &ah_attr.grh.dgid));
	ah = ASSERT_PTR(ibv_create_ah(self->pd, &ah_attr));
	mr = ASSERT_PTR(ibv_reg_mr(self->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE));
	sge.lkey = mr->lkey;

	/* The address after the data, then before it */
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
	/* The last datagram has no address. Stock may send it anywhere. */
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
