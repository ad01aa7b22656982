// SPDX-License-Identifier: GPL-2.0-only
/* Tests of ibv_create_cq(3), sentence by sentence, numbered as in docs/programs/pages.md */
#include "lib_test.h"

FIXTURE(cq) {
	struct ibv_context *context;
	struct ibv_device_attr dev;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
};

FIXTURE_SETUP(cq)
{
	self->context = ASSERT_PTR(lib_context());
	ASSERT_EQ(0, ibv_query_device(self->context, &self->dev));
	self->ch = ASSERT_PTR(ibv_create_comp_channel(self->context));
}

FIXTURE_TEARDOWN(cq)
{
	if (self->cq)
		EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
}

/* P0: ibv_create_cq, ibv_destroy_cq */
TEST_F(cq, ibv_create_cq_S01_cq_is_made_and_destroyed)
{
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, NULL, 0));
	struct ibv_wc wc;

	EXPECT_EQ(self->context, cq->context);
	EXPECT_EQ(0, cq->comp_events_completed);
	EXPECT_EQ(0, cq->async_events_completed);
	EXPECT_EQ(0, ibv_poll_cq(cq, 1, &wc));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

TEST_F(cq, ibv_create_cq_S02_symbol_takes_the_documented_arguments)
{
	struct ibv_cq *(*create)(struct ibv_context *context, int cqe, void *cq_context,
				 struct ibv_comp_channel *channel,
				 int comp_vector) = lib_symbol("ibv_create_cq");

	ASSERT_TRUE(create != NULL);
	self->cq = create(self->context, 4, self, self->ch, 0);
	EXPECT_TRUE(self->cq != NULL);
}

TEST_F(cq, ibv_create_cq_S03_symbol_takes_the_documented_argument)
{
	int (*destroy)(struct ibv_cq *cq) = lib_symbol("ibv_destroy_cq");
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, NULL, 0));

	ASSERT_TRUE(destroy != NULL);
	EXPECT_EQ(0, destroy(cq));
}

/* A QP whose receives complete in the CQ as soon as the QP fails */
struct flushed {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char buf[8];
};

static int flush_up(struct flushed *f, struct ibv_cq *cq, int recvs)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	int i;

	f->id = lib_bound_id(NULL, RDMA_PS_TCP);
	if (!f->id)
		return -1;
	attr.recv_cq = cq;
	attr.cap.max_recv_wr = recvs;
	if (rdma_create_qp(f->id, NULL, &attr))
		return -1;
	f->mr = rdma_reg_msgs(f->id, f->buf, sizeof(f->buf));
	if (!f->mr)
		return -1;
	for (i = 0; i < recvs; i++)
		if (rdma_post_recv(f->id, (void *)(long)i, f->buf, 8, f->mr))
			return -1;
	return 0;
}

static int flush_now(struct flushed *f)
{
	return lib_modify_qp(f->id->qp, IBV_QPS_ERR);
}

static int flush_down(struct flushed *f)
{
	if (f->id->qp)
		rdma_destroy_qp(f->id);
	return rdma_dereg_mr(f->mr) | rdma_destroy_id(f->id);
}

TEST_F(cq, ibv_create_cq_S04_cq_holds_as_many_completions)
{
	struct flushed f = {};
	struct ibv_wc wc[5];
	int i;

	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 5, NULL, NULL, 0));
	EXPECT_LE(5, self->cq->cqe);
	ASSERT_EQ(0, flush_up(&f, self->cq, 5));
	ASSERT_EQ(0, flush_now(&f));
	ASSERT_EQ(0, lib_wait_wc(self->cq, wc, 5));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(i, wc[i].wr_id);
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc[i].status);
	}
	EXPECT_EQ(0, flush_down(&f));
}

TEST_F(cq, ibv_create_cq_S05_context_is_in_the_cq_and_its_events)
{
	struct flushed f = {};
	void *context = NULL;

	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 4, self, self->ch, 0));
	EXPECT_EQ((void *)self, self->cq->cq_context);
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, flush_up(&f, self->cq, 1));
	ASSERT_EQ(0, flush_now(&f));
	EXPECT_EQ(self->cq, lib_cq_event_context(self->ch, &context));
	EXPECT_EQ((void *)self, context);
	EXPECT_EQ(0, flush_down(&f));
}

/* A CQ with a channel raises its event there; one without a channel works as well. */
TEST_F(cq, ibv_create_cq_S06_channel_is_optional_and_gets_the_events)
{
	struct ibv_cq *other = ASSERT_PTR(ibv_create_cq(self->context, 1, NULL, NULL, 0));
	struct flushed f = {}, g = {};
	struct ibv_wc wc;

	EXPECT_TRUE(!other->channel && !other->cq_context);
	EXPECT_EQ(0, self->ch->refcnt);
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, self->ch, 0));
	EXPECT_EQ(self->ch, self->cq->channel);
	EXPECT_EQ(1, self->ch->refcnt);
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, flush_up(&f, other, 1));
	ASSERT_EQ(0, flush_up(&g, self->cq, 1));
	ASSERT_EQ(0, flush_now(&f));
	ASSERT_EQ(0, lib_wait_wc(other, &wc, 1));
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
	ASSERT_EQ(0, flush_now(&g));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));
	EXPECT_EQ(0, flush_down(&f));
	EXPECT_EQ(0, flush_down(&g));
	EXPECT_EQ(0, ibv_destroy_cq(other));
}

TEST_F(cq, ibv_create_cq_S07_vectors_are_those_of_the_context)
{
	struct ibv_context *c = self->context;
	struct ibv_cq *cq;
	int i;

	ASSERT_LE(1, c->num_comp_vectors);
	for (i = 0; i < c->num_comp_vectors; i++) {
		cq = ASSERT_PTR(ibv_create_cq(c, 1, NULL, NULL, i));
		EXPECT_EQ(0, ibv_destroy_cq(cq));
	}
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(c, 1, NULL, NULL, c->num_comp_vectors));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(c, 1, NULL, NULL, -1));
}

TEST_F(cq, ibv_create_cq_S08_destroyed_cq_lets_go_of_its_channel)
{
	struct ibv_comp_channel *ch = ASSERT_PTR(ibv_create_comp_channel(self->context));
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, ch, 0));

	EXPECT_EQ(EBUSY, ibv_destroy_comp_channel(ch));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ch->refcnt);
	EXPECT_EQ(0, ibv_destroy_comp_channel(ch));
}

TEST_F(cq, ibv_create_cq_S09_success_is_a_pointer_and_failure_null)
{
	struct ibv_context *c = self->context;

	self->cq = ibv_create_cq(c, 4, NULL, NULL, 0);
	EXPECT_TRUE(self->cq != NULL);
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(c, self->dev.max_cqe + 1, NULL, NULL, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(c, 0, NULL, NULL, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(c, -1, NULL, NULL, 0));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS_NULL(EINVAL, ibv_create_cq(NULL, 1, NULL, NULL, 0));
}

TEST_F(cq, ibv_create_cq_S10_destroying_returns_0_or_the_errno)
{
	struct flushed f = {};

	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, NULL, 0));
	ASSERT_EQ(0, flush_up(&f, self->cq, 1));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, flush_down(&f));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	self->cq = NULL;
	if (!is_stock())	/* stock crashes */
		EXPECT_EQ(EINVAL, ibv_destroy_cq(NULL));
}

TEST_F(cq, ibv_create_cq_S11_cq_is_never_smaller_than_requested)
{
	struct ibv_cq *cq;
	int cqe;

	for (cqe = 1; cqe < 2000; cqe = 3 * cqe + 1) {
		cq = ASSERT_PTR(ibv_create_cq(self->context, cqe, NULL, NULL, 0));
		EXPECT_LE(cqe, cq->cqe);
		EXPECT_EQ(0, ibv_destroy_cq(cq));
	}
}

/* The CQ has room for cqe completions. */
TEST_F(cq, ibv_create_cq_S12_cqe_is_the_actual_size)
{
	struct flushed f = {};
	struct ibv_wc wc[64];

	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 7, NULL, NULL, 0));
	ASSERT_LE(7, self->cq->cqe);
	ASSERT_GE(64, self->cq->cqe);
	ASSERT_EQ(0, flush_up(&f, self->cq, self->cq->cqe));
	ASSERT_EQ(0, flush_now(&f));
	EXPECT_EQ(0, lib_wait_wc(self->cq, wc, self->cq->cqe));
	EXPECT_EQ(0, flush_down(&f));
}

/* A QP that sends or receives keeps the CQ. (libsiw takes a CQ in use apart.) */
TEST_F(cq, ibv_create_cq_S13_cq_stays_as_long_as_any_qp_has_it)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	struct flushed f = {};
	struct ibv_wc wc;

	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 64, NULL, NULL, 0));
	ASSERT_EQ(0, flush_up(&f, self->cq, 1));
	attr.send_cq = self->cq;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
	if (!is_libsiw(self->context)) {
		ASSERT_EQ(0, flush_now(&f));
		EXPECT_EQ(0, lib_wait_wc(self->cq, &wc, 1));
	}
	EXPECT_EQ(0, flush_down(&f));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	self->cq = NULL;
}

/* The page's ibv_req_notify_cq() is inline. */
TEST(ibv_create_cq_S14_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("ibv_resize_cq", "ibv_ack_cq_events", "ibv_create_qp"));
}

TEST_HARNESS_MAIN
