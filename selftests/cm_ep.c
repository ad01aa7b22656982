// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints: rdma_create_ep(), rdma_get_request(), rdma_destroy_ep().
 */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "lib_util.h"

/* P0: rdma_create_ep, rdma_destroy_ep */
TEST(passive)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id = NULL;
	int fd;

	ASSERT_TRUE(res != NULL);
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	ASSERT_TRUE(id && id->channel);
	fd = id->channel->fd;
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(RDMA_PS_TCP, id->ps);
	EXPECT_EQ(IBV_QPT_RC, id->qp_type);
	EXPECT_TRUE(!id->context);
	EXPECT_TRUE(id->verbs != NULL);
	EXPECT_NE(0, rdma_get_src_port(id));
	/* The QP is for the connections */
	EXPECT_TRUE(!id->qp && !id->send_cq && !id->recv_cq);
	EXPECT_TRUE(!attr.send_cq && !attr.recv_cq);
	EXPECT_EQ(0, rdma_listen(id, 0));
	rdma_destroy_ep(id);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
}

TEST(active)
{
	struct rdma_addrinfo *res = lib_rai(0, 7471, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id = NULL;
	int fd, recv_fd;

	ASSERT_TRUE(res != NULL);
	attr.qp_type = IBV_QPT_UD;	/* is the address info's to say */
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	ASSERT_TRUE(id && id->channel && id->qp && id->verbs && id->pd);
	EXPECT_EQ(IBV_QPT_RC, attr.qp_type);
	EXPECT_EQ(IBV_QPT_RC, id->qp->qp_type);
	EXPECT_EQ(id->pd, id->qp->pd);
	EXPECT_EQ(htons(7471), rdma_get_dst_port(id));
	EXPECT_NE(0, rdma_get_src_port(id));
	if (!lib_iwarp(id->verbs))
		EXPECT_EQ(1, id->route.num_paths);
	ASSERT_TRUE(id->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, id->event->event);
	EXPECT_EQ(id, id->event->id);

	/* Made for it, shown in both */
	EXPECT_TRUE(id->send_cq && id->recv_cq && id->send_cq_channel &&
		    id->recv_cq_channel);
	EXPECT_EQ(id->send_cq, attr.send_cq);
	EXPECT_EQ(id->recv_cq, attr.recv_cq);
	EXPECT_EQ((void *)id, id->recv_cq->cq_context);
	EXPECT_LE(8, attr.cap.max_send_wr);
	EXPECT_LE(16, attr.cap.max_inline_data);
	fd = id->channel->fd;
	recv_fd = id->recv_cq_channel->fd;
	rdma_destroy_ep(id);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(-1, fcntl(recv_fd, F_GETFD));

	/* No attributes: no QP */
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL));
	EXPECT_TRUE(id->verbs && !id->qp && !id->send_cq);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}

TEST(active_with_pd)
{
	struct rdma_addrinfo *res = lib_rai(0, 7471, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_context *context = lib_context();
	struct ibv_pd *pd;
	struct rdma_cm_id *id;

	ASSERT_TRUE(res && context);
	pd = ibv_alloc_pd(context);
	ASSERT_TRUE(pd != NULL);
	ASSERT_EQ(0, rdma_create_ep(&id, res, pd, &attr));
	EXPECT_EQ(pd, id->pd);
	EXPECT_EQ(pd, id->qp->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	rdma_freeaddrinfo(res);
}

TEST(errors)
{
	struct rdma_addrinfo *res = lib_rai(0, 7471, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id;

	ASSERT_TRUE(res != NULL);
	/* What the device can not do */
	attr.cap.max_send_wr = 1 << 30;
	EXPECT_EQ(-1, rdma_create_ep(&id, res, NULL, &attr));
	/* Nobody has this address */
	((struct sockaddr_in *)res->ai_dst_addr)->sin_addr.s_addr ^=
		htonl(0x62);
	attr = lib_qp_attr();
	errno = 0;
	EXPECT_EQ(-1, rdma_create_ep(&id, res, NULL, &attr));
	EXPECT_TRUE(errno == ETIMEDOUT || errno == EHOSTUNREACH);
	rdma_freeaddrinfo(res);

	/* An address that is not ours to listen on */
	res = lib_rai(RAI_PASSIVE, 7471, RDMA_PS_TCP);
	ASSERT_TRUE(res != NULL);
	((struct sockaddr_in *)res->ai_src_addr)->sin_addr.s_addr ^=
		htonl(0x62);
	EXPECT_EQ(-1, rdma_create_ep(&id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
	if (is_stock())	/* crashes */
		return;
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_ep(NULL, NULL, NULL, NULL)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_ep(&id, NULL, NULL, NULL)));
	rdma_destroy_ep(NULL);
}

FIXTURE(ep) {
	struct eps e;
	struct ibv_qp_init_attr attr;
};

FIXTURE_SETUP(ep)
{
	self->attr = lib_qp_attr();
	self->e.passive_attr = &self->attr;
}

FIXTURE_TEARDOWN(ep)
{
	EXPECT_EQ(0, eps_down(&self->e));
}

static void look_at_request(struct eps *e)
{
	struct rdma_cm_event *event = e->p->event;

	if (!event || event->event != RDMA_CM_EVENT_CONNECT_REQUEST ||
	    event->id != e->p || event->listen_id != e->listener ||
	    !event->param.conn.private_data ||
	    memcmp(event->param.conn.private_data, "hi there", 8)) {
		lib_say(__FILE__, __LINE__, "the request's event is not there");
		e->server_errno = EBADMSG;
	}
	if (!e->p->qp || lib_qp_state_as(e->p->qp, IBV_QPS_INIT) !=
			  IBV_QPS_INIT)
		e->server_errno = EBADFD;
}

/* P0: rdma_get_request */
TEST_F(ep, request_inherits_the_attributes)
{
	struct rdma_conn_param param = {
		.private_data = "hi there",
		.private_data_len = 8,
	};
	struct eps *e = &self->e;

	self->attr.cap.max_recv_wr = 33;
	ASSERT_EQ(0, eps_listen(e));
	/* They have been copied */
	memset(&self->attr, 0x55, sizeof(self->attr));
	e->connect = &param;
	e->before_accept = look_at_request;
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(0, e->server_errno);

	ASSERT_TRUE(e->p->qp && e->p->channel);
	EXPECT_EQ(IBV_QPT_RC, e->p->qp->qp_type);
	EXPECT_EQ(IBV_QPT_RC, e->p->qp_type);
	EXPECT_EQ(e->p->pd, e->p->qp->pd);
	EXPECT_EQ(e->listener->verbs, e->p->verbs);
	EXPECT_NE(e->listener->channel, e->p->channel);
	EXPECT_NE(e->listener->channel->fd, e->p->channel->fd);
	EXPECT_TRUE(e->p->send_cq && e->p->recv_cq);
	EXPECT_EQ((void *)e->p, e->p->recv_cq->cq_context);
	EXPECT_LE(33, e->p->recv_cq->cqe);
	EXPECT_TRUE(!e->listener->qp);

	/* What rdma_accept() waited for */
	ASSERT_TRUE(e->p->event && e->a->event);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, e->p->event->event);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, e->a->event->event);
	EXPECT_QPS(IBV_QPS_RTS, e->p->qp);
	EXPECT_QPS(IBV_QPS_RTS, e->a->qp);
}

TEST_F(ep, request_inherits_the_pd)
{
	struct ibv_context *context = lib_context();
	struct eps *e = &self->e;

	ASSERT_TRUE(context != NULL);
	e->pd = ibv_alloc_pd(context);
	ASSERT_TRUE(e->pd != NULL);
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(e->pd, e->listener->pd);
	EXPECT_EQ(e->pd, e->p->pd);
	EXPECT_EQ(e->pd, e->p->qp->pd);
	EXPECT_NE(e->pd, e->a->pd);
	EXPECT_EQ(0, eps_down(e));
	EXPECT_EQ(0, ibv_dealloc_pd(e->pd));
}

/* CQs that were given serve all connections, and are not shown in the ids. */
TEST_F(ep, request_inherits_the_cqs)
{
	struct ibv_context *context = lib_context();
	struct eps *e = &self->e;
	struct ibv_cq *cq;

	ASSERT_TRUE(context != NULL);
	cq = ibv_create_cq(context, 32, NULL, NULL, 0);
	ASSERT_TRUE(cq != NULL);
	self->attr.send_cq = cq;
	self->attr.recv_cq = cq;
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(cq, e->p->qp->send_cq);
	EXPECT_EQ(cq, e->p->qp->recv_cq);
	EXPECT_TRUE(!e->p->send_cq && !e->p->recv_cq &&
		    !e->p->send_cq_channel && !e->p->recv_cq_channel);
	EXPECT_EQ(EBUSY, ibv_destroy_cq(cq));
	EXPECT_EQ(0, eps_down(e));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

static void make_qp(struct eps *e)
{
	if (e->p->qp)
		e->server_errno = EBADFD;
	else if (pair_qp(e->p))
		e->server_errno = errno;
}

TEST_F(ep, request_without_attributes)
{
	self->e.passive_attr = NULL;
	self->e.before_accept = make_qp;
	ASSERT_EQ(0, eps_up(&self->e));
	EXPECT_EQ(0, self->e.server_errno);
}

static void *get_request(void *listener)
{
	struct rdma_cm_id *id;

	return (void *)(long)rdma_get_request(listener, &id);
}

TEST_F(ep, get_request_blocks)
{
	struct lib_thread t;
	void *ret;

	ASSERT_EQ(0, eps_listen(&self->e));
	ASSERT_EQ(0, lib_start(&t, get_request, self->e.listener));
	EXPECT_TRUE(lib_still_blocked(&t));
	ASSERT_EQ(0, pthread_cancel(t.thread));
	ASSERT_EQ(0, lib_join(&t, &ret));
	EXPECT_EQ(PTHREAD_CANCELED, ret);
	/* No harm done */
	EXPECT_EQ(0, eps_up(&self->e));
}

TEST_F(ep, get_request_of_an_asynchronous_id)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	ASSERT_EQ(0, eps_listen(&self->e));
	ASSERT_TRUE(ch != NULL);
	ASSERT_EQ(0, rdma_migrate_id(self->e.listener, ch));
	EXPECT_TRUE(FAILS(EINVAL, rdma_get_request(self->e.listener, &id)));
	rdma_destroy_ep(self->e.listener);
	self->e.listener = NULL;
	rdma_destroy_event_channel(ch);
	if (!is_stock())	/* crashes */
		EXPECT_TRUE(FAILS(EINVAL, rdma_get_request(NULL, &id)));
}

/* ai_connect goes before the program's own private data. */
TEST_F(ep, connect_data_of_the_address)
{
	struct rdma_conn_param param = {
		.private_data = "there",
		.private_data_len = 5,
	};
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct eps *e = &self->e;
	struct rdma_addrinfo *res;
	struct lib_thread t;
	struct rdma_cm_event *event;
	void *ret;

	ASSERT_EQ(0, eps_listen(e));
	res = lib_rai(0, ntohs(rdma_get_src_port(e->listener)), RDMA_PS_TCP);
	ASSERT_TRUE(res != NULL);
	res->ai_connect = strdup("hi ");
	res->ai_connect_len = 3;
	ASSERT_EQ(0, rdma_create_ep(&e->a, res, NULL, &attr));
	rdma_freeaddrinfo(res);

	/* Asynchronous, so that no second thread is needed */
	ASSERT_EQ(0, lib_start(&t, get_request, e->listener));
	struct rdma_event_channel *ch = rdma_create_event_channel();

	ASSERT_TRUE(ch != NULL);
	EXPECT_EQ(0, pthread_cancel(t.thread));
	ASSERT_EQ(0, lib_join(&t, &ret));
	ASSERT_EQ(0, rdma_migrate_id(e->a, ch));
	ASSERT_EQ(0, rdma_connect(e->a, &param));
	ASSERT_EQ(0, rdma_get_request(e->listener, &e->p));
	event = e->p->event;
	ASSERT_TRUE(event && event->param.conn.private_data);
	EXPECT_EQ(0, memcmp(event->param.conn.private_data, "hi there", 9));
	EXPECT_EQ(0, rdma_reject(e->p, NULL, 0));
	EXPECT_EQ(0, lib_event(ch, RDMA_CM_EVENT_REJECTED));
	rdma_destroy_ep(e->a);
	e->a = NULL;
	rdma_destroy_event_channel(ch);
}

/* rdma_destroy_ep() takes the SRQ as well. */
TEST(destroy_with_srq)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdma_addrinfo *res = lib_rai(0, 7471, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_context *context = lib_context();
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	ASSERT_TRUE(res && context);
	pd = ibv_alloc_pd(context);
	ASSERT_TRUE(pd != NULL);
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL));
	ASSERT_EQ(0, rdma_create_srq(id, pd, &srq));
	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	EXPECT_EQ(id->srq, id->qp->srq);
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	rdma_freeaddrinfo(res);
}

TEST_HARNESS_MAIN
