// SPDX-License-Identifier: GPL-2.0-only
/* Creating, modifying and querying QPs */
#include "lib_test.h"

FIXTURE(qp) {
	struct ibv_context *context;
	struct ibv_device_attr dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr attr;
	bool iwarp;
};

FIXTURE_SETUP(qp)
{
	self->context = ASSERT_PTR(lib_context());
	self->iwarp = lib_iwarp(self->context);
	ASSERT_EQ(0, ibv_query_device(self->context, &self->dev));
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 64, NULL, NULL, 0));
	self->attr = lib_qp_attr_on(self->cq);
	self->attr.qp_context = self;
}

FIXTURE_TEARDOWN(qp)
{
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* P0: ibv_create_qp, ibv_query_qp, ibv_destroy_qp */
TEST_F(qp, create)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < (self->iwarp ? 1 : ARRAY_SIZE(types)); i++) {
		self->attr.qp_type = types[i];
		self->attr.cap = (struct ibv_qp_cap) { 5, 9, 2, 1, 16 };
		qp = ASSERT_PTR(ibv_create_qp(self->pd, &self->attr));
		EXPECT_EQ(self->context, qp->context);
		EXPECT_EQ((void *)self, qp->qp_context);
		EXPECT_EQ(self->pd, qp->pd);
		EXPECT_EQ(self->cq, qp->send_cq);
		EXPECT_EQ(self->cq, qp->recv_cq);
		EXPECT_TRUE(!qp->srq);
		EXPECT_EQ(types[i], qp->qp_type);
		EXPECT_NE(0, qp->qp_num);
		EXPECT_EQ(IBV_QPS_RESET, qp->state);
		EXPECT_EQ(0, qp->events_completed);
		EXPECT_LE(5, self->attr.cap.max_send_wr);
		EXPECT_LE(9, self->attr.cap.max_recv_wr);
		EXPECT_LE(2, self->attr.cap.max_send_sge);
		EXPECT_LE(1, self->attr.cap.max_recv_sge);
		EXPECT_LE(16, self->attr.cap.max_inline_data);

		memset(&init, 0, sizeof(init));
		ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
		/* siw has no such state. */
		if (!lib_iwarp(self->context))
			EXPECT_EQ(IBV_QPS_RESET, attr.qp_state);
		EXPECT_EQ(types[i], init.qp_type);
		EXPECT_EQ(self->cq, init.send_cq);
		EXPECT_EQ(self->cq, init.recv_cq);
		EXPECT_EQ((void *)self, init.qp_context);
		EXPECT_EQ(1, init.sq_sig_all);
		EXPECT_GRANTED(init.cap.max_send_wr, self->attr.cap.max_send_wr);
		EXPECT_GRANTED(init.cap.max_recv_wr, self->attr.cap.max_recv_wr);
		/* libsiw grants more than it returns. */
		if (!is_stock() || !self->iwarp)
			EXPECT_EQ(self->attr.cap.max_inline_data, init.cap.max_inline_data);
		EXPECT_EQ(init.cap.max_send_sge, attr.cap.max_send_sge);
		/* A query of other attributes does not update qp->state. */
		qp->state = IBV_QPS_SQE;
		ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
		EXPECT_EQ(IBV_QPS_SQE, qp->state);
		ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
		EXPECT_EQ(attr.qp_state, qp->state);
		EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
		EXPECT_EQ(0, ibv_destroy_qp(qp));
	}
}

/* Creation with one attribute changed fails. */
#define EXPECT_REFUSED(_errno, _change) do { \
	struct ibv_qp_init_attr attr = self->attr; \
	_change; \
	EXPECT_FAILS_NULL(_errno, ibv_create_qp(self->pd, &attr)); \
} while (0)

TEST_F(qp, create_errors)
{
	struct ibv_qp_init_attr attr = self->attr;

	EXPECT_REFUSED(EINVAL, attr.cap.max_send_wr = self->dev.max_qp_wr + 1);
	EXPECT_REFUSED(EINVAL, attr.cap.max_recv_wr = self->dev.max_qp_wr + 1);
	EXPECT_REFUSED(EINVAL, attr.cap.max_send_sge = self->dev.max_sge + 1);
	EXPECT_REFUSED(EINVAL, attr.cap.max_inline_data = 1 << 20);
	attr.qp_type = 99;
	EXPECT_TRUE(!ibv_create_qp(self->pd, &attr));
	attr = self->attr;
	attr.send_cq = NULL;
	attr.recv_cq = NULL;
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(self->pd, &attr));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(NULL, &attr));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(self->pd, NULL));
	EXPECT_EQ(EINVAL, ibv_destroy_qp(NULL));
	EXPECT_EQ(EINVAL, ibv_modify_qp(NULL, NULL, 0));
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Connects the QP to itself. */
static int to_rtr(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.rq_psn = 100,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = 1, .hop_limit = 64 },
		},
	};

	if (ibv_query_gid(qp->context, 1, 1, &attr.ah_attr.grh.dgid))
		return errno;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
		.sq_psn = 100,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* P0: ibv_modify_qp, ibv_query_qp */
TEST_F(qp, through_the_states)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	struct ibv_qp *qp;

	if (self->iwarp)
		SKIP(return, "the states are InfiniBand's");
	qp = ASSERT_PTR(ibv_create_qp(self->pd, &self->attr));
	/* Invalid transitions */
	EXPECT_EQ(EINVAL, to_rtr(qp));
	EXPECT_EQ(EINVAL, lib_modify_qp(qp, IBV_QPS_INIT));	/* attributes are missing */
	EXPECT_EQ(EINVAL, lib_modify_qp(qp, IBV_QPS_ERR + 50));
	EXPECT_EQ(IBV_QPS_RESET, qp->state);

	ASSERT_EQ(0, to_init(qp));
	EXPECT_EQ(IBV_QPS_INIT, qp->state);
	EXPECT_EQ(EINVAL, to_rts(qp));
	EXPECT_EQ(IBV_QPS_INIT, qp->state);
	ASSERT_EQ(0, to_rtr(qp));
	EXPECT_EQ(IBV_QPS_RTR, qp->state);
	ASSERT_EQ(0, to_rts(qp));
	EXPECT_EQ(IBV_QPS_RTS, qp->state);

	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
				  IBV_QP_AV | IBV_QP_TIMEOUT, &init));
	EXPECT_EQ(IBV_QPS_RTS, attr.qp_state);
	EXPECT_EQ(qp->qp_num, attr.dest_qp_num);
	EXPECT_EQ(IBV_MTU_1024, attr.path_mtu);
	EXPECT_EQ(IBV_ACCESS_REMOTE_READ, attr.qp_access_flags);
	EXPECT_EQ(14, attr.timeout);
	EXPECT_EQ(6, attr.retry_cnt);
	EXPECT_EQ(5, attr.rnr_retry);
	EXPECT_EQ(12, attr.min_rnr_timer);
	EXPECT_EQ(1, attr.port_num);
	EXPECT_EQ(1, attr.ah_attr.is_global);
	EXPECT_EQ(1, attr.ah_attr.grh.sgid_index);
	EXPECT_EQ(64, attr.ah_attr.grh.hop_limit);

	/* An attribute without a state */
	attr.min_rnr_timer = 7;
	EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER));
	EXPECT_EQ(IBV_QPS_RTS, qp->state);
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init));
	EXPECT_EQ(7, attr.min_rnr_timer);

	/* A query may have reserved bits in its mask, but no later ones. */
	attr.min_rnr_timer = 0;
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_RATE_LIMIT - 1, &init));
	EXPECT_EQ(7, attr.min_rnr_timer);
	EXPECT_EQ(EOPNOTSUPP, ibv_query_qp(qp, &attr, IBV_QP_RATE_LIMIT, &init));

	/* The query updates qp->state. */
	qp->state = IBV_QPS_INIT;
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(IBV_QPS_RTS, qp->state);

	EXPECT_EQ(0, lib_modify_qp(qp, IBV_QPS_ERR));
	EXPECT_EQ(IBV_QPS_ERR, qp->state);
	EXPECT_EQ(EINVAL, to_rts(qp));
	EXPECT_EQ(0, lib_modify_qp(qp, IBV_QPS_RESET));
	EXPECT_EQ(IBV_QPS_RESET, qp->state);
	EXPECT_EQ(0, to_init(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* P0: ibv_post_send, ibv_post_recv, ibv_destroy_qp */
TEST_F(qp, flushed_in_the_error_state)
{
	struct ibv_recv_wr recv = { .wr_id = 3 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 4, .opcode = IBV_WR_SEND },
			   *bad_send;
	struct ibv_wc wc;
	struct ibv_qp *qp;

	if (self->iwarp)
		SKIP(return, "the states are InfiniBand's");
	qp = ASSERT_PTR(ibv_create_qp(self->pd, &self->attr));
	ASSERT_EQ(0, to_init(qp));
	ASSERT_EQ(0, to_rtr(qp));
	ASSERT_EQ(0, to_rts(qp));
	ASSERT_EQ(0, ibv_post_recv(qp, &recv, &bad_recv));
	ASSERT_EQ(0, lib_modify_qp(qp, IBV_QPS_ERR));
	wc = EXPECT_WC(self->cq, 3, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(qp->qp_num, wc.qp_num);
	/* Posting is still allowed. */
	ASSERT_EQ(0, ibv_post_send(qp, &send, &bad_send));
	EXPECT_WC(self->cq, 4, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_HARNESS_MAIN
