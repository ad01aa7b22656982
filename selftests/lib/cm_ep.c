// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: rdma_get_request(), private data of rdma_connect(), rdma_destroy_ep(). The tests
 * of rdma_create_ep(3) are in page_rdma_create_ep.c.
 */
#include "lib_test.h"

FIXTURE(ep) {
	struct eps e;
};

FIXTURE_SETUP(ep)
{
	self->e = eps_with_qps();
}

FIXTURE_TEARDOWN(ep)
{
	EXPECT_EQ(0, eps_down(&self->e));
}

TEST_F(ep, get_request_of_an_asynchronous_id)
{
	struct rdma_event_channel *ch = ASSERT_PTR(rdma_create_event_channel());
	struct rdma_cm_id *id;

	ASSERT_EQ(0, eps_listen(&self->e));
	ASSERT_EQ(0, rdma_migrate_id(self->e.listener, ch));
	EXPECT_FAILS(EINVAL, rdma_get_request(self->e.listener, &id));
	rdma_destroy_ep(self->e.listener);
	self->e.listener = NULL;
	rdma_destroy_event_channel(ch);
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_get_request(NULL, &id));
}

/* ai_connect precedes the program's private data in the request. */
TEST_F(ep, connect_data_of_the_address)
{
	struct rdma_event_channel *ch = ASSERT_PTR(rdma_create_event_channel());
	struct rdma_conn_param param = { .private_data = "there", .private_data_len = 5 };
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct eps *e = &self->e;
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, eps_listen(e));
	res = ASSERT_PTR(lib_rai(0, ntohs(rdma_get_src_port(e->listener)), RDMA_PS_TCP));
	res->ai_connect = strdup("hi ");
	res->ai_connect_len = 3;
	ASSERT_EQ(0, rdma_create_ep(&e->a, res, NULL, &attr));
	rdma_freeaddrinfo(res);

	/* The asynchronous calls need no second thread. */
	ASSERT_EQ(0, rdma_migrate_id(e->a, ch));
	ASSERT_EQ(0, rdma_connect(e->a, &param));
	ASSERT_EQ(0, rdma_get_request(e->listener, &e->p));
	event = ASSERT_PTR(e->p->event);
	ASSERT_TRUE(event->param.conn.private_data != NULL);
	EXPECT_EQ(0, memcmp(event->param.conn.private_data, "hi there", 9));
	EXPECT_EQ(0, rdma_reject(e->p, NULL, 0));
	EXPECT_EQ(0, lib_event(ch, RDMA_CM_EVENT_REJECTED));
	rdma_destroy_ep(e->a);
	e->a = NULL;
	rdma_destroy_event_channel(ch);
}

/* A listener for all devices with this PD: the QP of its request gets no CQ of another context. */
static void refuse_cq(struct __test_metadata *_metadata, FIXTURE_DATA(ep) *self, struct ibv_pd *pd)
{
	struct rdma_event_channel *ch = ASSERT_PTR(rdma_create_event_channel());
	struct ibv_qp_init_attr attr;
	struct eps *e = &self->e;
	struct ibv_context *other;
	struct rdma_addrinfo *res;
	struct ibv_cq *cq;

	other = ASSERT_PTR(ibv_open_device(ASSERT_PTR(lib_context())->device));
	cq = ASSERT_PTR(ibv_create_cq(other, 32, NULL, NULL, 0));
	attr = lib_qp_attr_on(cq);
	res = ASSERT_PTR(lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP));
	((struct sockaddr_in *)res->ai_src_addr)->sin_addr.s_addr = INADDR_ANY;
	ASSERT_EQ(0, rdma_create_ep(&e->listener, res, pd, &attr));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, rdma_listen(e->listener, 1));
	ASSERT_EQ(0, eps_client(e));
	ASSERT_EQ(0, rdma_migrate_id(e->a, ch));
	ASSERT_EQ(0, rdma_connect(e->a, NULL));
	EXPECT_FAILS(EINVAL, rdma_get_request(e->listener, &e->p));
	e->p = NULL;
	/* No QP has the CQ. The request is in the event. */
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	ASSERT_NE(NULL, e->listener->event);
	EXPECT_EQ(0, rdma_destroy_id(e->listener->event->id));
	EXPECT_EQ(0, lib_event(ch, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(0, eps_down(e));
	rdma_destroy_event_channel(ch);
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST_F(ep, cq_of_another_context)
{
	if (is_stock())
		SKIP(return, "the stock library passes a number to the kernel");
	refuse_cq(_metadata, self, NULL);
}

TEST_F(ep, cq_of_another_context_than_the_pd)
{
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(ASSERT_PTR(lib_context())));

	if (is_stock())
		SKIP(return, "the stock library passes a number to the kernel");
	refuse_cq(_metadata, self, pd);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* rdma_destroy_ep() destroys the SRQ as well. */
TEST(destroy_with_srq)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdma_addrinfo *res = ASSERT_PTR(lib_rai(0, 7471, RDMA_PS_TCP));
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct rdma_cm_id *id;
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(context));

	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL));
	ASSERT_EQ(0, rdma_create_srq(id, pd, &srq));
	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	EXPECT_EQ(id->srq, id->qp->srq);
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	rdma_freeaddrinfo(res);
}

TEST_HARNESS_MAIN
