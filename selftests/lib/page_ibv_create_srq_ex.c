// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of ibv_create_srq_ex(3), sentence by sentence, numbered as in docs/programs/pages.md.
 * Sentences that need XRC are in page_xrc.c.
 */
#include "lib_test.h"

FIXTURE(srq) {
	struct ibv_context *context;
	struct ibv_device_attr dev;
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_srq_init_attr_ex attr;
};

FIXTURE_SETUP(srq)
{
	self->context = ASSERT_PTR(lib_context());
	ASSERT_EQ(0, ibv_query_device(self->context, &self->dev));
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->attr = (struct ibv_srq_init_attr_ex) {
		.srq_context = self,
		.attr = { .max_wr = 13, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = self->pd,
	};
}

FIXTURE_TEARDOWN(srq)
{
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

static bool create(FIXTURE_DATA(srq) *self)
{
	self->srq = ibv_create_srq_ex(self->context, &self->attr);
	return self->srq;
}

/* P0: ibv_create_srq_ex, ibv_destroy_srq */
TEST_F(srq, ibv_create_srq_ex_S01_srq_is_made_and_destroyed)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(self->context, self->srq->context);
	EXPECT_EQ(0, self->srq->events_completed);
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->srq = NULL;
}

/* ibv_create_srq_ex() is inline, and calls a function pointer of the library. */
TEST_F(srq, ibv_create_srq_ex_S02_function_takes_the_documented_arguments)
{
	struct ibv_srq *(*make)(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr) =
		ibv_create_srq_ex;

	self->srq = make(self->context, &self->attr);
	EXPECT_TRUE(self->srq != NULL);
}

TEST_F(srq, ibv_create_srq_ex_S03_symbol_takes_the_documented_argument)
{
	int (*destroy)(struct ibv_srq *srq) = lib_symbol("ibv_destroy_srq");

	ASSERT_TRUE(destroy && create(self));
	EXPECT_EQ(0, destroy(self->srq));
	self->srq = NULL;
}

/* page_xrc.c creates XRC SRQs on a device that has XRC. */
TEST_F(srq, ibv_create_srq_ex_S04_basic_srq_is_made_and_xrc_needs_a_device_with_it)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.srq_type = IBV_SRQT_XRC;
	EXPECT_FALSE(create(self));
	EXPECT_TRUE(errno == EOPNOTSUPP || errno == EINVAL);
}

TEST(ibv_create_srq_ex_S05_structures_have_the_documented_members)
{
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, srq_context, void *));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, attr, struct ibv_srq_attr));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, comp_mask, uint32_t));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, srq_type, enum ibv_srq_type));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, pd, struct ibv_pd *));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, xrcd, struct ibv_xrcd *));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_init_attr_ex, cq, struct ibv_cq *));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_attr, max_wr, uint32_t));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_attr, max_sge, uint32_t));
	EXPECT_TRUE(MEMBER_IS(ibv_srq_attr, srq_limit, uint32_t));
}

TEST_F(srq, ibv_create_srq_ex_S06_context_is_in_the_srq)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ((void *)self, self->srq->srq_context);
}

TEST_F(srq, ibv_create_srq_ex_S07_attributes_over_the_device_limits_are_refused)
{
	self->attr.attr.max_wr = self->dev.max_srq_wr + 1;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq_ex(self->context, &self->attr));
	self->attr.attr.max_wr = 1;
	self->attr.attr.max_sge = self->dev.max_srq_sge + 1;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq_ex(self->context, &self->attr));
	self->attr.attr.max_sge = 1;
	EXPECT_TRUE(create(self));
}

TEST_F(srq, ibv_create_srq_ex_S08_field_that_the_mask_leaves_out_is_not_read)
{
	self->attr.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	self->attr.srq_type = IBV_SRQT_XRC;
	self->attr.xrcd = (void *)8;
	self->attr.cq = (void *)8;
	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	/* An SRQ needs a PD. */
	self->attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	self->attr.srq_type = IBV_SRQT_BASIC;
	EXPECT_FALSE(create(self));
}

TEST_F(srq, ibv_create_srq_ex_S09_type_may_be_basic_or_left_out_but_not_unknown)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	self->attr.srq_type = 7;
	EXPECT_FALSE(create(self));
}

TEST_F(srq, ibv_create_srq_ex_S10_pd_is_that_of_the_srq)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(self->pd, self->srq->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
}

/* Posts up to max + 1 receives of num_sge entries. Returns how many succeed. */
static int post_until_refused(FIXTURE_DATA(srq) *self, int num_sge, int max)
{
	static char buf[64];
	struct ibv_mr *mr = ibv_reg_mr(self->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_recv_wr wr = { .num_sge = num_sge }, *bad;
	struct ibv_sge sge[64];
	int i;

	if (!mr || num_sge > 64)
		return -1;
	for (i = 0; i < num_sge; i++)
		sge[i] = (struct ibv_sge) { (uintptr_t)buf, 1, mr->lkey };
	wr.sg_list = sge;
	for (i = 0; i <= max; i++)
		if (ibv_post_srq_recv(self->srq, &wr, &bad))
			break;
	ibv_dereg_mr(mr);
	return i;
}

TEST_F(srq, ibv_create_srq_ex_S13_as_many_requests_can_be_outstanding)
{
	ASSERT_TRUE(create(self));
	EXPECT_LE(13, post_until_refused(self, 1, 13));
}

TEST_F(srq, ibv_create_srq_ex_S14_request_may_have_as_many_entries)
{
	self->attr.attr.max_sge = 5;
	ASSERT_TRUE(create(self));
	EXPECT_LE(1, post_until_refused(self, 5, 0));
}

TEST_F(srq, ibv_create_srq_ex_S15_limit_is_that_of_the_srq)
{
	struct ibv_srq_attr got = {};

	if (is_libsiw(self->context))
		SKIP(return, "libsiw can not query SRQs");
	self->attr.attr.srq_limit = 5;
	ASSERT_TRUE(create(self));
	ASSERT_EQ(0, ibv_query_srq(self->srq, &got));
	EXPECT_EQ(5, got.srq_limit);
}

/* The page's "original values" are those that the SRQ has. */
TEST_F(srq, ibv_create_srq_ex_S16_attributes_become_those_of_the_srq)
{
	struct ibv_srq_attr got = {};

	ASSERT_TRUE(create(self));
	if (is_libsiw(self->context))
		SKIP(return, "libsiw can not query SRQs");
	ASSERT_EQ(0, ibv_query_srq(self->srq, &got));
	EXPECT_EQ(got.max_sge, self->attr.attr.max_sge);
	EXPECT_GRANTED(got.max_wr, self->attr.attr.max_wr);
}

TEST_F(srq, ibv_create_srq_ex_S17_attributes_are_never_less_than_requested)
{
	uint32_t max_wr, max_sge;

	for (max_wr = 1; max_wr < 500; max_wr = 3 * max_wr + 1) {
		max_sge = 1 + max_wr % 4;
		self->attr.attr.max_wr = max_wr;
		self->attr.attr.max_sge = max_sge;
		ASSERT_TRUE(create(self));
		EXPECT_LE(max_wr, self->attr.attr.max_wr);
		EXPECT_LE(max_sge, self->attr.attr.max_sge);
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
		self->srq = NULL;
	}
}

TEST_F(srq, ibv_create_srq_ex_S18_destroyed_srq_lets_go_of_its_pd)
{
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(self->context));

	self->attr.pd = pd;
	ASSERT_TRUE(create(self));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->srq = NULL;
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(srq, ibv_create_srq_ex_S19_success_is_a_pointer_and_failure_null)
{
	self->attr.attr.max_wr = self->dev.max_srq_wr + 1;
	EXPECT_EQ(NULL, ibv_create_srq_ex(self->context, &self->attr));
	self->attr.attr.max_wr = 1;
	EXPECT_TRUE(create(self));
}

static struct ibv_qp *srq_qp(FIXTURE_DATA(srq) *self, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.srq = self->srq;
	return ibv_create_qp(self->pd, &attr);
}

TEST_F(srq, ibv_create_srq_ex_S20_destroying_returns_0_or_the_errno)
{
	struct ibv_cq *cq = ibv_create_cq(self->context, 32, NULL, NULL, 0);
	struct ibv_qp *qp;

	ASSERT_TRUE(cq && create(self));
	qp = ASSERT_PTR(srq_qp(self, cq));
	EXPECT_EQ(EBUSY, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->srq = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	if (!is_stock())	/* stock crashes */
		EXPECT_EQ(EINVAL, ibv_destroy_srq(NULL));
}

TEST_F(srq, ibv_create_srq_ex_S21_srq_stays_as_long_as_any_qp_has_it)
{
	struct ibv_cq *cq = ibv_create_cq(self->context, 32, NULL, NULL, 0);
	struct ibv_qp *qp, *other;

	ASSERT_TRUE(cq && create(self));
	qp = ASSERT_PTR(srq_qp(self, cq));
	other = ASSERT_PTR(srq_qp(self, cq));
	EXPECT_EQ(self->srq, qp->srq);
	EXPECT_EQ(EBUSY, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(EBUSY, ibv_destroy_srq(self->srq));
	EXPECT_EQ(1, post_until_refused(self, 1, 0));	/* the SRQ still works */
	EXPECT_EQ(0, ibv_destroy_qp(other));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->srq = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

TEST(ibv_create_srq_ex_S22_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("ibv_alloc_pd", "ibv_modify_srq", "ibv_query_srq"));
}

TEST_HARNESS_MAIN
