// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared receive queues. The tests of ibv_create_srq_ex(3) and ibv_post_srq_recv(3) are in
 * page_*.c.
 */
#include "lib_test.h"

FIXTURE(srq) {
	struct ibv_context *context;
	struct ibv_device_attr dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char buf[256];
};

FIXTURE_SETUP(srq)
{
	self->context = ASSERT_PTR(lib_context());
	ASSERT_EQ(0, ibv_query_device(self->context, &self->dev));
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 64, NULL, NULL, 0));
	self->mr = ASSERT_PTR(ibv_reg_mr(self->pd, self->buf, sizeof(self->buf),
					 IBV_ACCESS_LOCAL_WRITE));
}

FIXTURE_TEARDOWN(srq)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

static struct ibv_srq *create(FIXTURE_DATA(srq) *self, uint32_t max_wr)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = self,
		.attr = { .max_wr = max_wr, .max_sge = 2 },
	};

	return ibv_create_srq(self->pd, &attr);
}

static bool no_query(FIXTURE_DATA(srq) *self)
{
	return is_libsiw(self->context);
}

/* P0: ibv_create_srq, ibv_query_srq, ibv_destroy_srq */
TEST_F(srq, create_and_query)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = self,
		.attr = { .max_wr = 13, .max_sge = 2, .srq_limit = 5 },
	};
	struct ibv_srq_attr got = {};
	struct ibv_srq *srq;

	if (no_query(self))
		SKIP(return, "libsiw can not query SRQs");
	srq = ASSERT_PTR(ibv_create_srq(self->pd, &attr));
	EXPECT_EQ(self->context, srq->context);
	EXPECT_EQ((void *)self, srq->srq_context);
	EXPECT_EQ(self->pd, srq->pd);
	EXPECT_EQ(0, srq->events_completed);
	EXPECT_LE(13, attr.attr.max_wr);
	EXPECT_LE(2, attr.attr.max_sge);
	EXPECT_EQ(0, ibv_query_srq(srq, &got));
	EXPECT_GRANTED(got.max_wr, attr.attr.max_wr);
	EXPECT_EQ(attr.attr.max_sge, got.max_sge);
	EXPECT_EQ(5, got.srq_limit);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_destroy_srq(srq));

	/* srq_limit is "irrelevant for ibv_create_srq", and many programs do not set it. */
	if (!is_stock()) {
		attr.attr.srq_limit = 0xdeadbeef;
		srq = ASSERT_PTR(ibv_create_srq(self->pd, &attr));
		EXPECT_EQ(0, ibv_query_srq(srq, &got));
		EXPECT_EQ(0, got.srq_limit);
		EXPECT_EQ(0, ibv_destroy_srq(srq));
	}

	attr.attr.max_wr = self->dev.max_srq_wr + 1;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq(self->pd, &attr));
	attr.attr.max_wr = 1;
	attr.attr.max_sge = self->dev.max_srq_sge + 1;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq(self->pd, &attr));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq(NULL, &attr));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_srq(self->pd, NULL));
	EXPECT_EQ(EINVAL, ibv_query_srq(NULL, &got));
	EXPECT_EQ(EINVAL, ibv_destroy_srq(NULL));
}

static struct ibv_srq *create_with_cq(FIXTURE_DATA(srq) *self, uint32_t mask)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = mask | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_BASIC,
		.pd = self->pd, .cq = self->cq,
	};

	return ibv_create_srq_ex(self->context, &attr);
}

/* A CQ is an attribute of XRC SRQs. An SRQ without a type is a basic one. */
TEST_F(srq, basic_srq_has_no_cq)
{
	struct ibv_srq *srq;

	if (is_stock()) {
		srq = create_with_cq(self, IBV_SRQ_INIT_ATTR_TYPE);
		if (srq) {
			EXPECT_EQ(0, ibv_destroy_srq(srq));
			SKIP(return, "this version's provider does not look at that");
		}
	}
	EXPECT_FAILS_NULL(EOPNOTSUPP, create_with_cq(self, IBV_SRQ_INIT_ATTR_TYPE));
	EXPECT_FAILS_NULL(EOPNOTSUPP, create_with_cq(self, 0));
}

/* P0: ibv_modify_srq */
TEST_F(srq, modify)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };
	struct ibv_srq *srq;
	uint32_t max_wr;

	if (no_query(self))
		SKIP(return, "libsiw can not query SRQs");
	srq = ASSERT_PTR(create(self, 10));
	EXPECT_EQ(0, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	EXPECT_EQ(0, ibv_query_srq(srq, &attr));
	EXPECT_EQ(4, attr.srq_limit);
	max_wr = attr.max_wr;
	attr.srq_limit = max_wr + 1;
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));

	attr.max_wr = max_wr + 20;
	attr.srq_limit = 1;	/* not in the mask */
	if (lib_iwarp(self->context)) {
		EXPECT_EQ(EOPNOTSUPP, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
		EXPECT_EQ(0, ibv_destroy_srq(srq));
		return;
	}
	EXPECT_EQ(0, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	EXPECT_EQ(0, ibv_query_srq(srq, &attr));
	EXPECT_LE(max_wr + 20, attr.max_wr);
	EXPECT_EQ(4, attr.srq_limit);
	attr.max_wr = self->dev.max_srq_wr + 1;
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	/* Less than the limit */
	attr.max_wr = 3;
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	if (!is_stock())	/* stock crashes */
		EXPECT_EQ(EINVAL, ibv_modify_srq(NULL, &attr, IBV_SRQ_LIMIT));
}

/* ------------------------------------------------------------------ */

/* ibv_create_qp(3): max_recv_wr and max_recv_sge are ignored if the QP has an SRQ. */
TEST_F(srq, qp_ignores_receive_capabilities)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(self->cq);
	struct ibv_srq *srq = ASSERT_PTR(create(self, 8));
	struct ibv_qp *qp;

	attr.srq = srq;
	attr.cap.max_recv_wr = 1 << 30;
	attr.cap.max_recv_sge = 1 << 20;
	qp = ibv_create_qp(self->pd, &attr);
	if (is_libsiw(self->context) && !qp) {
		EXPECT_EQ(0, ibv_destroy_srq(srq));
		SKIP(return, "the stock stack on siw looks at them");
	}
	ASSERT_TRUE(qp != NULL);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

#define PLACE	8	/* bytes for each message */

/* Posts a list of @n receives of @sges entries each, for a message of @sges bytes. */
static int post_list(struct ibv_srq *srq, struct ibv_mr *mr, uint64_t first, int n, int sges)
{
	struct ibv_sge sge[32][3];
	struct ibv_recv_wr wr[32], *bad = wr;
	int i, j, ret;

	for (i = 0; i < n; i++) {
		for (j = 0; j < sges; j++)
			sge[i][j] = (struct ibv_sge) {
				(uintptr_t)mr->addr + (first + i) % 32 * PLACE + j, 1, mr->lkey,
			};
		wr[i] = (struct ibv_recv_wr) {
			first + i, i + 1 < n ? &wr[i + 1] : NULL, sge[i], sges,
		};
	}
	ret = ibv_post_srq_recv(srq, wr, &bad);
	/* No request is bad. (librxe leaves bad alone.) */
	return ret ?: !is_stock() && bad ? -1 : 0;
}

/* Lists of several lengths and numbers of entries: each receive is used, in order. */
TEST_F(srq, lists)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 3 } };
	uint64_t posted = 0, got = 0;
	struct pair p = {};
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char text[4];

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, pair_passive(&p));
	ASSERT_EQ(0, rdma_create_srq(p.p, NULL, &init));
	ASSERT_EQ(0, pair_qp(p.p));
	ASSERT_EQ(0, pair_accept(&p));
	mr = ASSERT_PTR(rdma_reg_msgs(p.p, self->buf, sizeof(self->buf)));
	for (int round = 0; round < 60; round++) {
		int n = 1 + round * 7 % 24, sges = 1 + round % 3;

		ASSERT_EQ(0, post_list(p.p->srq, mr, posted, n, sges));
		posted += n;
		for (int more = round % 4 == 3 ? n : 0; got < posted; got++) {
			snprintf(text, sizeof(text), "%03d", (int)(got % 1000));
			ASSERT_EQ(0, rdma_post_send(p.a, NULL, text, sges, NULL,
						    IBV_SEND_INLINE | IBV_SEND_SIGNALED));
			ASSERT_EQ(0, lib_wait_wc(p.a->send_cq, &wc, 1));
			ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
			/* A post between a message and its poll */
			if (more-- > 0)
				ASSERT_EQ(0, post_list(p.p->srq, mr, posted++, 1, sges));
			ASSERT_EQ(0, lib_wait_wc(p.p->recv_cq, &wc, 1));
			ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
			ASSERT_EQ(got, wc.wr_id);
			ASSERT_EQ(0, memcmp(self->buf + got % 32 * PLACE, text, sges));
		}
	}
	rdma_destroy_qp(p.p);
	rdma_destroy_srq(p.p);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	EXPECT_EQ(0, pair_down(&p));
}

static void *destroy_srq(void *srq)
{
	return (void *)(long)ibv_destroy_srq(srq);
}

/* Fewer requests than the limit raise an event. ibv_destroy_srq() waits for its acknowledgment. */
TEST_F(srq, limit_event)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct lib_thread t;
	struct pair p = {};
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	int i;

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, pair_passive(&p));
	ASSERT_EQ(0, rdma_create_srq(p.p, NULL, &init));
	srq = p.p->srq;
	ASSERT_EQ(0, pair_qp(p.p));
	EXPECT_EQ(srq, p.p->qp->srq);
	ASSERT_EQ(0, pair_accept(&p));

	mr = ASSERT_PTR(rdma_reg_msgs(p.p, self->buf, sizeof(self->buf)));
	/* rdma_post_recv() posts to the SRQ of the id. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rdma_post_recv(p.p, NULL, self->buf, 64, mr));
	ASSERT_EQ(0, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	EXPECT_TRUE(lib_quiet(self->context->async_fd));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_send(p.a, "x", 1));
	ASSERT_TRUE(lib_readable(self->context->async_fd, WAIT_MS));
	ASSERT_EQ(0, ibv_get_async_event(self->context, &event));
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, event.event_type);
	EXPECT_EQ(srq, event.element.srq);

	rdma_destroy_qp(p.p);
	START_BLOCKED(&t, destroy_srq, srq);
	ibv_ack_async_event(&event);
	EXPECT_RETURNS(0, &t);
	p.p->srq = NULL;
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
