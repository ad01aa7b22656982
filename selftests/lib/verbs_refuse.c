// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls for features that software devices lack, or that a kernel consumer of verbs cannot
 * offer. Each is refused, also with objects that no call can create.
 */
#include "lib_test.h"

FIXTURE(refuse) {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
};

FIXTURE_SETUP(refuse)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr attr;

	self->c = ASSERT_PTR(lib_context());
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->c));
	self->cq = ASSERT_PTR(ibv_create_cq(self->c, 16, NULL, NULL, 0));
	attr = lib_qp_attr_on(self->cq);
	self->qp = ASSERT_PTR(ibv_create_qp(self->pd, &attr));
	self->srq = ASSERT_PTR(ibv_create_srq(self->pd, &srq));
}

FIXTURE_TEARDOWN(refuse)
{
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

#define NOT_MADE(_call)	EXPECT_FAILS_NULL(EOPNOTSUPP, _call)
#define NOT_DONE(_call)	EXPECT_EQ(EOPNOTSUPP, _call)

/* Null regions, device memory, dmabufs, memory windows */
TEST_F(refuse, memory)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_sge sge = {};
	/* Imitations of objects that cannot be created */
	struct ibv_dm dm = { .context = self->c };
	struct ibv_mw mw = { .context = self->c, .pd = self->pd, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = {};

	NOT_MADE(ibv_alloc_null_mr(self->pd));
	NOT_MADE(ibv_alloc_dm(self->c, &dm_attr));
	NOT_MADE(ibv_reg_dm_mr(self->pd, &dm, 0, 64, 0));
	NOT_MADE(ibv_reg_dmabuf_mr(self->pd, 0, 4096, 0, -1, 0));
	NOT_DONE(ibv_free_dm(&dm));
	if (is_stock())	/* rxe has memory windows, newer versions on-demand paging */
		return;
	NOT_DONE(ibv_advise_mr(self->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	NOT_MADE(ibv_alloc_mw(self->pd, IBV_MW_TYPE_1));
	NOT_MADE(ibv_alloc_mw(self->pd, IBV_MW_TYPE_2));
	NOT_DONE(ibv_bind_mw(self->qp, &mw, &bind));
	NOT_DONE(ibv_dealloc_mw(&mw));
}

/* Domains, clocks, rates, tag matching */
TEST_F(refuse, odds_and_ends)
{
	struct ibv_parent_domain_init_attr parent = { .pd = self->pd };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1 };
	struct ibv_device_attr_ex dev;
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td td = { .context = self->c };
	struct ibv_ops_wr op = {}, *bad_op = NULL;
	struct ibv_srq_init_attr_ex tm = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = self->pd, .cq = self->cq,
		.tm_cap = { .max_num_tags = 1, .max_ops = 1 },
	};
	int type;

	NOT_MADE(ibv_alloc_td(self->c, &td_attr));
	NOT_DONE(ibv_dealloc_td(&td));
	NOT_MADE(ibv_alloc_parent_domain(self->c, &parent));
	NOT_DONE(ibv_query_rt_values_ex(self->c, &values));
	NOT_DONE(ibv_modify_qp_rate_limit(self->qp, &rate));
	NOT_MADE(ibv_create_srq_ex(self->c, &tm));
	NOT_DONE(ibv_post_srq_ops(self->srq, &op, &bad_op));
	if (!is_stock())	/* stock leaves bad_op unchanged */
		EXPECT_EQ(&op, bad_op);
	NOT_MADE(ibv_import_pd(self->c, 1));
	NOT_MADE(ibv_import_mr(self->pd, 1));
	NOT_MADE(ibv_import_dm(self->c, 1));
	EXPECT_EQ(0, ibv_query_qp_data_in_order(self->qp, IBV_WR_SEND, 0));

	/* No receive side scaling for any type */
	ASSERT_EQ(0, ibv_query_device_ex(self->c, NULL, &dev));
	for (type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
		EXPECT_EQ(0, ibv_is_qpt_supported(dev.rss_caps.supported_qpts, type));
	if (!is_stock())
		EXPECT_EQ(0, dev.odp_caps.general_caps | dev.xrc_odp_caps);
	EXPECT_EQ(0, dev.tso_caps.max_tso | dev.tm_caps.max_num_tags);
	EXPECT_EQ(0, dev.max_dm_size | dev.raw_packet_caps | dev.completion_timestamp_mask);
}

/* Raw packets, and their flows, counters and work queues */
TEST_F(refuse, packets)
{
	struct ibv_flow_attr flow_attr = { .size = sizeof(flow_attr), .port = 1 };
	struct ibv_wq_init_attr wq_attr = {
		.pd = self->pd, .cq = self->cq, .wq_type = IBV_WQT_RQ,
		.max_wr = 1, .max_sge = 1,
	};
	struct ibv_rwq_ind_table_init_attr table_attr = {};
	struct ibv_counters_init_attr counters_attr = {};
	struct ibv_flow_action_esp_attr esp_attr = {};
	struct ibv_flow flow = { .context = self->c };
	struct ibv_flow_action action = { .context = self->c };
	struct ibv_counters counters = { .context = self->c };
	struct ibv_rwq_ind_table table = { .context = self->c };
	struct ibv_wq wq = { .context = self->c };
	struct ibv_counter_attach_attr attach = {};
	struct ibv_qp_init_attr attr = lib_qp_attr_on(self->cq);
	struct ibv_wq_attr modify = {};
	uint64_t value;

	NOT_MADE(ibv_create_flow(self->qp, &flow_attr));
	NOT_DONE(ibv_destroy_flow(&flow));
	NOT_MADE(ibv_create_flow_action_esp(self->c, &esp_attr));
	NOT_DONE(ibv_modify_flow_action_esp(&action, &esp_attr));
	NOT_DONE(ibv_destroy_flow_action(&action));
	NOT_MADE(ibv_create_counters(self->c, &counters_attr));
	NOT_DONE(ibv_attach_counters_point_flow(&counters, &attach, &flow));
	NOT_DONE(ibv_read_counters(&counters, &value, 1, 0));
	NOT_DONE(ibv_destroy_counters(&counters));
	NOT_MADE(ibv_create_wq(self->c, &wq_attr));
	NOT_DONE(ibv_modify_wq(&wq, &modify));
	NOT_DONE(ibv_destroy_wq(&wq));
	NOT_MADE(ibv_create_rwq_ind_table(self->c, &table_attr));
	NOT_DONE(ibv_destroy_rwq_ind_table(&table));
	attr.qp_type = IBV_QPT_RAW_PACKET;
	EXPECT_TRUE(!ibv_create_qp(self->pd, &attr));
	attr.qp_type = IBV_QPT_DRIVER;
	EXPECT_TRUE(!ibv_create_qp(self->pd, &attr));
}

TEST_HARNESS_MAIN
