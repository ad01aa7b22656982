// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of rdma_create_srq(3), sentence by sentence, numbered as in docs/programs/pages.md.
 * Sentences that need XRC are in page_xrc.c.
 */
#include "lib_test.h"

/* Two bound ids, and a PD of their device. */
FIXTURE(srq) {
	struct rdma_cm_id *id, *other;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_srq_init_attr attr;
};

FIXTURE_SETUP(srq)
{
	self->id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->other = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->verbs = self->id->verbs;
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->verbs));
	self->attr.attr.max_wr = 10;
	self->attr.attr.max_sge = 2;
}

FIXTURE_TEARDOWN(srq)
{
	if (self->id->srq)
		rdma_destroy_srq(self->id);
	if (self->other->srq)
		rdma_destroy_srq(self->other);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* P0: rdma_create_srq, rdma_destroy_srq */
TEST_F(srq, rdma_create_srq_S01_srq_is_made)
{
	EXPECT_TRUE(!self->id->srq);
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	ASSERT_TRUE(self->id->srq != NULL);
	EXPECT_EQ(self->verbs, self->id->srq->context);
	rdma_destroy_srq(self->id);
	EXPECT_TRUE(!self->id->srq);
}

TEST_F(srq, rdma_create_srq_S02_symbol_takes_the_documented_arguments)
{
	int (*create)(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr) =
		lib_symbol("rdma_create_srq");

	ASSERT_TRUE(create != NULL);
	ASSERT_EQ(0, create(self->id, self->pd, &self->attr));
	EXPECT_TRUE(self->id->srq != NULL);
}

TEST_F(srq, rdma_create_srq_S03_other_id_gets_no_srq)
{
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_TRUE(!self->other->srq);
	ASSERT_EQ(0, rdma_create_srq(self->other, NULL, &self->attr));
	EXPECT_NE(self->id->srq, self->other->srq);
}

TEST_F(srq, rdma_create_srq_S04_pd_is_that_of_the_srq_or_left_out)
{
	ASSERT_EQ(0, rdma_create_srq(self->id, self->pd, &self->attr));
	EXPECT_EQ(self->pd, self->id->srq->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
	ASSERT_EQ(0, rdma_create_srq(self->other, NULL, &self->attr));
	EXPECT_NE(self->pd, self->other->srq->pd);
}

TEST_F(srq, rdma_create_srq_S05_context_is_taken_from_the_attributes)
{
	self->attr.srq_context = self;
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_EQ((void *)self, self->id->srq->srq_context);
}

/* The id's QP takes its receives from the SRQ, and points to it. */
TEST_F(srq, rdma_create_srq_S06_qp_of_the_id_receives_into_it)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct pair p = {};
	struct ibv_mr *mr;
	char buf[8] = {};

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, pair_passive(&p));
	ASSERT_EQ(0, rdma_create_srq(p.p, NULL, &self->attr));
	mr = ASSERT_PTR(rdma_reg_msgs(p.p, buf, sizeof(buf)));
	/* rdma_post_recv() posts to the SRQ of the id. */
	ASSERT_EQ(0, rdma_post_recv(p.p, (void *)3, buf, sizeof(buf), mr));
	ASSERT_EQ(0, rdma_create_qp(p.p, NULL, &attr));
	EXPECT_EQ(p.p->srq, p.p->qp->srq);
	EXPECT_EQ(p.p->srq, attr.srq);
	ASSERT_EQ(0, pair_accept(&p));
	ASSERT_EQ(0, lib_send(p.a, "shared", 7));
	EXPECT_WC(p.p->recv_cq, 3, IBV_WC_SUCCESS);
	EXPECT_STREQ("shared", buf);
	rdma_destroy_qp(p.p);
	EXPECT_TRUE(p.p->srq != NULL);
	rdma_destroy_srq(p.p);
	EXPECT_TRUE(!p.p->srq);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	EXPECT_EQ(0, pair_down(&p));
}

TEST_F(srq, rdma_create_srq_S07_success_is_0_and_failure_minus_1)
{
	EXPECT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	self->attr.attr.max_wr = 1 << 30;
	EXPECT_EQ(-1, rdma_create_srq(self->other, NULL, &self->attr));
	EXPECT_TRUE(!self->other->srq);
}

TEST_F(srq, rdma_create_srq_S08_failure_sets_errno)
{
	self->attr.attr.max_wr = 1 << 30;
	errno = 0;
	EXPECT_EQ(-1, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_NE(0, errno);
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_create_srq(NULL, NULL, &self->attr));
	EXPECT_FAILS(EINVAL, rdma_create_srq(self->id, NULL, NULL));
}

TEST_F(srq, rdma_create_srq_S09_unbound_id_is_refused)
{
	struct rdma_cm_id *unbound;

	if (is_stock())
		SKIP(return, "librdmacm crashes on an unbound id");
	ASSERT_EQ(0, rdma_create_id(NULL, &unbound, NULL, RDMA_PS_TCP));
	EXPECT_FAILS(EINVAL, rdma_create_srq(unbound, NULL, &self->attr));
	EXPECT_EQ(0, rdma_destroy_id(unbound));
}

/* librdmacm does not check the PD, and creates an SRQ that no QP of the id can have. */
TEST_F(srq, rdma_create_srq_S09_pd_of_another_context_is_refused)
{
	struct ibv_context *other = ibv_open_device(self->verbs->device);
	struct ibv_pd *pd;

	ASSERT_TRUE(other && other != self->verbs);
	pd = ASSERT_PTR(ibv_alloc_pd(other));
	if (is_stock()) {
		EXPECT_EQ(0, rdma_create_srq(self->id, pd, &self->attr));
		EXPECT_EQ(other, self->id->srq->context);
		rdma_destroy_srq(self->id);
	} else {
		EXPECT_FAILS(EINVAL, rdma_create_srq(self->id, pd, &self->attr));
		EXPECT_TRUE(!self->id->srq);
	}
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST_F(srq, rdma_create_srq_S10_new_srq_takes_receives)
{
	char buf[16];
	struct ibv_mr *mr = ASSERT_PTR(rdma_reg_msgs(self->id, buf, sizeof(buf)));
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf) };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	sge.lkey = mr->lkey;
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, ibv_post_srq_recv(self->id->srq, &wr, &bad));
	EXPECT_EQ(0, rdma_dereg_mr(mr));
}

TEST_F(srq, rdma_create_srq_S11_pd_left_out_is_the_default_one)
{
	struct ibv_pd *default_pd = ASSERT_PTR(self->id->pd);

	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_EQ(default_pd, self->id->srq->pd);
	EXPECT_EQ(default_pd, self->id->pd);
}

TEST_F(srq, rdma_create_srq_S12_ids_of_a_device_share_its_default_pd)
{
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	ASSERT_EQ(0, rdma_create_srq(self->other, NULL, &self->attr));
	EXPECT_EQ(self->id->srq->pd, self->other->srq->pd);
	EXPECT_EQ(self->verbs, self->id->srq->pd->context);
}

TEST_F(srq, rdma_create_srq_S13_srq_has_at_least_the_requested_sizes)
{
	struct ibv_srq_attr got = {};

	if (is_libsiw(self->verbs))
		SKIP(return, "libsiw can not query SRQs");
	self->attr.attr.max_wr = 13;
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	ASSERT_EQ(0, ibv_query_srq(self->id->srq, &got));
	EXPECT_LE(13, got.max_wr);
	EXPECT_LE(2, got.max_sge);
}

TEST_F(srq, rdma_create_srq_S17_attributes_become_those_of_the_srq)
{
	struct ibv_srq_attr got = {};

	self->attr.attr.max_wr = 13;
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_LE(13, self->attr.attr.max_wr);
	EXPECT_LE(2, self->attr.attr.max_sge);
	if (is_libsiw(self->verbs))	/* libsiw cannot query SRQs */
		return;
	ASSERT_EQ(0, ibv_query_srq(self->id->srq, &got));
	EXPECT_EQ(got.max_sge, self->attr.attr.max_sge);
	EXPECT_GRANTED(got.max_wr, self->attr.attr.max_wr);
}

/* librdmacm loses the first SRQ. */
TEST_F(srq, rdma_create_srq_S18_second_srq_of_an_id_is_refused)
{
	struct ibv_srq *srq;

	ASSERT_EQ(0, rdma_create_srq(self->id, self->pd, &self->attr));
	srq = self->id->srq;
	if (is_stock()) {
		EXPECT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
		EXPECT_NE(srq, self->id->srq);
		EXPECT_EQ(0, ibv_destroy_srq(srq));
		return;
	}
	EXPECT_FAILS(EINVAL, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_EQ(srq, self->id->srq);

	/* A destroyed SRQ can be replaced. */
	rdma_destroy_srq(self->id);
	EXPECT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
}

/* ibv_create_xsrq(), the last function of the page, is in neither library. */
TEST(rdma_create_srq_S19_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("rdma_bind_addr", "rdma_resolve_addr", "rdma_create_ep",
			     "rdma_destroy_srq", "ibv_create_srq"));
	EXPECT_EQ(NULL, dlsym(RTLD_DEFAULT, "ibv_create_xsrq"));
}

TEST_HARNESS_MAIN
