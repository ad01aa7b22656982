// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of sentences about XRC in manual pages, numbered as in docs/programs/pages.md. They run
 * on the mock device, for which the stock libraries have no driver.
 */
#include "lib_test.h"
#include "lib_mock.h"

FIXTURE(xrc) {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_srq_init_attr_ex attr;
};

FIXTURE_SETUP(xrc)
{
	self->context = ASSERT_PTR(lib_mock_up());
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 32, NULL, NULL, 0));
	self->xrcd = ASSERT_PTR(lib_open_xrcd(self->context, -1, O_CREAT));
	self->attr = (struct ibv_srq_init_attr_ex) {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = self->pd, .xrcd = self->xrcd, .cq = self->cq,
	};
}

FIXTURE_TEARDOWN(xrc)
{
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->context));
}

static bool create(FIXTURE_DATA(xrc) *self)
{
	self->srq = ibv_create_srq_ex(self->context, &self->attr);
	return self->srq;
}

TEST_F(xrc, ibv_create_srq_ex_S04_both_kinds_are_made_on_a_device_with_xrc)
{
	uint32_t num = 0;

	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_get_srq_num(self->srq, &num));
	EXPECT_NE(0, num);
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.srq_type = IBV_SRQT_BASIC;
	self->attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ASSERT_TRUE(create(self));
	EXPECT_EQ(EINVAL, ibv_get_srq_num(self->srq, &num));
}

TEST_F(xrc, ibv_create_srq_ex_S09_type_xrc_makes_an_xrc_srq)
{
	uint32_t num = 0;

	ASSERT_TRUE(create(self));
	EXPECT_EQ(0, ibv_get_srq_num(self->srq, &num));
	EXPECT_EQ(self->pd, self->srq->pd);
	EXPECT_LE(8, self->attr.attr.max_wr);
}

TEST_F(xrc, ibv_create_srq_ex_S11_srq_belongs_to_the_domain)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(EBUSY, ibv_close_xrcd(self->xrcd));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.xrcd = NULL;
	EXPECT_FALSE(create(self));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(xrc, ibv_create_srq_ex_S12_srq_holds_the_cq)
{
	ASSERT_TRUE(create(self));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	self->attr.cq = NULL;
	EXPECT_FALSE(create(self));
	EXPECT_EQ(EINVAL, errno);
}

/* ------------------------------------------------------------------ */

/* An id for an XRC_RECV QP, as that of rdma_xserver, but without the QP */
FIXTURE(id) {
	struct ibv_context *context;
	struct rdma_cm_id *id;
	struct ibv_srq_init_attr attr;
};

FIXTURE_SETUP(id)
{
	struct rdma_addrinfo *res;

	self->context = ASSERT_PTR(lib_mock_up());
	res = ASSERT_PTR(lib_mock_rai(RAI_PASSIVE, IBV_QPT_XRC_RECV));
	ASSERT_EQ(0, rdma_create_ep(&self->id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
	self->attr.attr.max_wr = 10;
	self->attr.attr.max_sge = 1;
}

FIXTURE_TEARDOWN(id)
{
	rdma_destroy_ep(self->id);
	EXPECT_EQ(0, ibv_close_device(self->context));
}

/* The page's ext.xrc.cq is today's cq of rdma_create_srq_ex(). */
TEST_F(id, rdma_create_srq_S14_cq_of_an_xrc_srq_is_used_or_left_out)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};
	uint32_t num;

	attr.cq = ASSERT_PTR(ibv_create_cq(self->id->verbs, 8, NULL, NULL, 0));
	ASSERT_EQ(0, rdma_create_srq_ex(self->id, &attr));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(attr.cq));
	EXPECT_TRUE(!self->id->recv_cq && !self->id->recv_cq_channel);
	rdma_destroy_srq(self->id);
	EXPECT_EQ(0, ibv_destroy_cq(attr.cq));
	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_EQ(0, ibv_get_srq_num(self->id->srq, &num));
}

TEST_F(id, rdma_create_srq_S15_cq_left_out_is_made_with_a_channel)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 10, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_XRC,
	};
	struct rdma_cm_id *id = self->id;

	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	ASSERT_TRUE(id->recv_cq && id->recv_cq_channel);
	EXPECT_EQ(id->recv_cq, attr.cq);
	EXPECT_EQ(id->recv_cq_channel, id->recv_cq->channel);
	EXPECT_EQ(id->verbs, id->recv_cq->context);
	EXPECT_LE(10, id->recv_cq->cqe);
	/* The SRQ uses the CQ. */
	EXPECT_EQ(EBUSY, ibv_destroy_cq(id->recv_cq));
}

TEST_F(id, rdma_create_srq_S16_cq_that_was_made_is_shown_in_the_id)
{
	struct rdma_cm_id *id = self->id;
	int fd;

	EXPECT_TRUE(!id->recv_cq && !id->recv_cq_channel);
	ASSERT_EQ(0, rdma_create_srq(id, NULL, &self->attr));
	ASSERT_TRUE(id->recv_cq && id->recv_cq_channel);
	EXPECT_EQ((void *)id, id->recv_cq->cq_context);
	fd = id->recv_cq_channel->fd;
	EXPECT_LE(0, fcntl(fd, F_GETFD));
	rdma_destroy_srq(id);
	EXPECT_TRUE(!id->recv_cq && !id->recv_cq_channel);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
}

TEST_F(id, rdma_create_srq_S18_second_xrc_srq_of_an_id_is_refused)
{
	struct ibv_srq *srq;
	struct ibv_cq *cq;

	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	srq = self->id->srq;
	cq = self->id->recv_cq;
	EXPECT_FAILS(EINVAL, rdma_create_srq(self->id, NULL, &self->attr));
	EXPECT_EQ(srq, self->id->srq);
	EXPECT_EQ(cq, self->id->recv_cq);
}

/* The other device is the one that all other tests run on. */
TEST_F(id, rdma_create_srq_S12_default_pd_of_another_device_is_another)
{
	struct rdma_cm_id *other = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));

	ASSERT_EQ(0, rdma_create_srq(self->id, NULL, &self->attr));
	ASSERT_EQ(0, rdma_create_srq(other, NULL, &self->attr));
	EXPECT_NE(self->id->srq->pd, other->srq->pd);
	EXPECT_EQ(self->id->verbs, self->id->srq->pd->context);
	EXPECT_EQ(other->verbs, other->srq->pd->context);
	rdma_destroy_srq(other);
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(id, rdma_create_qp_S14_default_pd_of_another_device_is_another)
{
	struct rdma_cm_id *other = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));

	EXPECT_NE(self->id->verbs, other->verbs);
	EXPECT_TRUE(self->id->pd && other->pd);
	EXPECT_NE(self->id->pd, other->pd);
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_HARNESS_MAIN
