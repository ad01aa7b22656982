// SPDX-License-Identifier: GPL-2.0-only
/* Tests of rdma_create_ep(3), sentence by sentence, numbered as in docs/programs/pages.md */
#include "lib_test.h"

#define PORT	7471

/* Addresses and attributes of an active and a passive endpoint */
FIXTURE(ep) {
	struct rdma_addrinfo *active, *passive;
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(ep)
{
	self->active = ASSERT_PTR(lib_rai(0, PORT, RDMA_PS_TCP));
	self->passive = ASSERT_PTR(lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP));
	self->attr = lib_qp_attr();
}

FIXTURE_TEARDOWN(ep)
{
	if (self->id)
		rdma_destroy_ep(self->id);
	rdma_freeaddrinfo(self->active);
	rdma_freeaddrinfo(self->passive);
}

/* Creates self->id anew. */
static int create(FIXTURE_DATA(ep) *self, struct rdma_addrinfo *res, struct ibv_qp_init_attr *attr)
{
	if (self->id)
		rdma_destroy_ep(self->id);
	self->id = NULL;
	return rdma_create_ep(&self->id, res, NULL, attr);
}

/* P0: rdma_create_ep, rdma_destroy_ep */
TEST_F(ep, rdma_create_ep_S01_id_is_made_and_a_qp_if_wanted)
{
	ASSERT_EQ(0, create(self, self->active, NULL));
	ASSERT_TRUE(self->id != NULL);
	EXPECT_TRUE(!self->id->qp);
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	ASSERT_TRUE(self->id != NULL);
	EXPECT_TRUE(self->id->qp != NULL);
}

TEST_F(ep, rdma_create_ep_S02_symbol_takes_the_documented_arguments)
{
	int (*create)(struct rdma_cm_id **id, struct rdma_addrinfo *res,
		      struct ibv_pd *pd, struct ibv_qp_init_attr *attr) =
		lib_symbol("rdma_create_ep");

	ASSERT_TRUE(create != NULL);
	ASSERT_EQ(0, create(&self->id, self->active, NULL, &self->attr));
	EXPECT_TRUE(self->id->qp != NULL);
}

TEST_F(ep, rdma_create_ep_S03_each_call_returns_another_id)
{
	struct rdma_cm_id *id = NULL;

	ASSERT_EQ(0, create(self, self->passive, NULL));
	ASSERT_EQ(0, rdma_create_ep(&id, self->passive, NULL, NULL));
	EXPECT_TRUE(id && id != self->id);
	EXPECT_NE(rdma_get_src_port(id), rdma_get_src_port(self->id));
	EXPECT_TRUE(!id->context);
	rdma_destroy_ep(id);
}

TEST_F(ep, rdma_create_ep_S04_id_has_the_addresses_of_the_information)
{
	struct sockaddr_in *dst = (void *)self->active->ai_dst_addr;
	struct sockaddr_in *src = (void *)self->passive->ai_src_addr;

	ASSERT_EQ(0, create(self, self->active, NULL));
	EXPECT_EQ(htons(PORT), rdma_get_dst_port(self->id));
	EXPECT_NE(0, rdma_get_src_port(self->id));
	EXPECT_EQ(dst->sin_addr.s_addr, self->id->route.addr.dst_sin.sin_addr.s_addr);
	ASSERT_EQ(0, create(self, self->passive, NULL));
	EXPECT_EQ(src->sin_addr.s_addr, self->id->route.addr.src_sin.sin_addr.s_addr);
	EXPECT_EQ(0, rdma_get_dst_port(self->id));
}

TEST_F(ep, rdma_create_ep_S05_pd_may_be_left_out)
{
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	ASSERT_TRUE(self->id->qp && self->id->qp->pd);
	EXPECT_EQ(self->id->verbs, self->id->qp->pd->context);
}

TEST_F(ep, rdma_create_ep_S06_attributes_may_be_left_out)
{
	ASSERT_EQ(0, create(self, self->active, NULL));
	EXPECT_TRUE(self->id->verbs && !self->id->qp && !self->id->send_cq);
	EXPECT_EQ(0, pair_qp(self->id));	/* the QP can be created later */
	EXPECT_TRUE(self->id->qp != NULL);
}

TEST_F(ep, rdma_create_ep_S07_id_keeps_the_addresses_of_its_communication)
{
	ASSERT_EQ(0, create(self, self->passive, NULL));
	EXPECT_EQ(RDMA_PS_TCP, self->id->ps);
	EXPECT_EQ(IBV_QPT_RC, self->id->qp_type);
	EXPECT_TRUE(self->id->verbs != NULL);
	EXPECT_NE(0, rdma_get_src_port(self->id));
}

TEST_F(ep, rdma_create_ep_S08_success_is_0_and_failure_minus_1)
{
	struct rdma_cm_id *id;

	EXPECT_EQ(0, create(self, self->active, NULL));
	/* More than the device supports */
	self->attr.cap.max_send_wr = 1 << 30;
	EXPECT_EQ(-1, rdma_create_ep(&id, self->active, NULL, &self->attr));
	/* No interface has this address to listen on. */
	((struct sockaddr_in *)self->passive->ai_src_addr)->sin_addr.s_addr ^=
		htonl(0x62);
	EXPECT_EQ(-1, rdma_create_ep(&id, self->passive, NULL, NULL));
}

TEST_F(ep, rdma_create_ep_S09_failure_sets_errno)
{
	struct rdma_cm_id *id;

	/* No host has this address. */
	((struct sockaddr_in *)self->active->ai_dst_addr)->sin_addr.s_addr ^=
		htonl(0x62);
	errno = 0;
	EXPECT_EQ(-1, rdma_create_ep(&id, self->active, NULL, &self->attr));
	EXPECT_TRUE(errno == ETIMEDOUT || errno == EHOSTUNREACH);
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_create_ep(NULL, NULL, NULL, NULL));
	EXPECT_FAILS(EINVAL, rdma_create_ep(&id, NULL, NULL, NULL));
	rdma_destroy_ep(NULL);
}

/* The address information determines port space and QP type. */
TEST_F(ep, rdma_create_ep_S10_id_follows_the_resolved_information)
{
	struct rdma_addrinfo *udp = ASSERT_PTR(lib_rai(RAI_PASSIVE, 0, RDMA_PS_UDP));

	self->attr.qp_type = IBV_QPT_UD;
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	EXPECT_EQ(IBV_QPT_RC, self->attr.qp_type);
	EXPECT_EQ(IBV_QPT_RC, self->id->qp->qp_type);
	EXPECT_EQ(RDMA_PS_TCP, self->id->ps);
	ASSERT_EQ(0, create(self, udp, NULL));
	EXPECT_EQ(RDMA_PS_UDP, self->id->ps);
	EXPECT_EQ(IBV_QPT_UD, self->id->qp_type);
	rdma_freeaddrinfo(udp);
}

TEST_F(ep, rdma_create_ep_S11_active_id_gets_a_qp_if_there_are_attributes)
{
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	ASSERT_TRUE(self->id->qp != NULL);
	EXPECT_QPS(IBV_QPS_INIT, self->id->qp);
	ASSERT_EQ(0, create(self, self->active, NULL));
	EXPECT_TRUE(!self->id->qp);
}

TEST_F(ep, rdma_create_ep_S12_qp_is_on_the_given_or_the_default_pd)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct rdma_cm_id *bound;
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(context));

	ASSERT_EQ(0, rdma_create_ep(&self->id, self->active, pd, &self->attr));
	EXPECT_EQ(pd, self->id->pd);
	EXPECT_EQ(pd, self->id->qp->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	rdma_destroy_ep(self->id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));

	self->id = NULL;
	bound = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	EXPECT_EQ(bound->pd, self->id->qp->pd);
	EXPECT_EQ(bound->pd, self->id->pd);
	EXPECT_EQ(0, rdma_destroy_id(bound));
}

TEST_F(ep, rdma_create_ep_S13_attributes_are_used_as_by_rdma_create_qp)
{
	struct ibv_context *other;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;

	ASSERT_EQ(0, create(self, self->active, &self->attr));
	id = self->id;
	EXPECT_TRUE(id->send_cq && id->recv_cq && id->send_cq_channel && id->recv_cq_channel);
	EXPECT_EQ(id->send_cq, self->attr.send_cq);
	EXPECT_EQ(id->recv_cq, self->attr.recv_cq);
	EXPECT_EQ((void *)id, id->recv_cq->cq_context);
	EXPECT_LE(8, self->attr.cap.max_send_wr);
	EXPECT_LE(16, self->attr.cap.max_inline_data);
	rdma_destroy_qp(id);
	cq = ASSERT_PTR(ibv_create_cq(id->verbs, 32, NULL, NULL, 0));
	rdma_destroy_ep(id);
	self->id = NULL;
	self->attr = lib_qp_attr_on(cq);
	ASSERT_EQ(0, create(self, self->active, &self->attr));
	EXPECT_EQ(cq, self->id->qp->send_cq);
	EXPECT_EQ(cq, self->id->qp->recv_cq);
	EXPECT_TRUE(!self->id->send_cq && !self->id->recv_cq);
	rdma_destroy_ep(self->id);
	self->id = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(cq));

	/* All are of the id's context. (The stock library passes a number to the kernel.) */
	if (is_stock())
		return;
	other = ASSERT_PTR(ibv_open_device(lib_context()->device));
	cq = ASSERT_PTR(ibv_create_cq(other, 32, NULL, NULL, 0));
	self->attr = lib_qp_attr_on(cq);
	EXPECT_FAILS(EINVAL, create(self, self->active, &self->attr));
	self->attr.send_cq = NULL;
	EXPECT_FAILS(EINVAL, create(self, self->active, &self->attr));
	EXPECT_TRUE(!self->attr.send_cq);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST_F(ep, rdma_create_ep_S13_srq_is_of_the_ids_context)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_context *other;
	struct ibv_pd *pd;

	if (is_stock())
		SKIP(return, "the stock library passes a number to the kernel");
	other = ASSERT_PTR(ibv_open_device(ASSERT_PTR(lib_context())->device));
	pd = ASSERT_PTR(ibv_alloc_pd(other));
	self->attr.srq = ASSERT_PTR(ibv_create_srq(pd, &srq_attr));
	EXPECT_FAILS(EINVAL, create(self, self->active, &self->attr));
	EXPECT_EQ(0, ibv_destroy_srq(self->attr.srq));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_close_device(other));
}

/* ------------------------------------------------------------------ */

/* A listening endpoint with attributes for the QPs of its connections */
FIXTURE(conn) {
	struct eps e;
	struct ibv_qp_init_attr attr;
};

FIXTURE_SETUP(conn)
{
	self->attr = lib_qp_attr();
	self->e.passive_attr = &self->attr;
}

FIXTURE_TEARDOWN(conn)
{
	EXPECT_EQ(0, eps_down(&self->e));
}

/* eps_up() calls nothing between rdma_create_ep() and rdma_connect(). */
TEST_F(conn, rdma_create_ep_S14_active_id_connects)
{
	ASSERT_EQ(0, eps_up(&self->e));
	ASSERT_TRUE(self->e.a->event && self->e.p->event);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, self->e.a->event->event);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, self->e.p->event->event);
	EXPECT_QPS(IBV_QPS_RTS, self->e.a->qp);
	EXPECT_QPS(IBV_QPS_RTS, self->e.p->qp);
}

TEST_F(ep, rdma_create_ep_S15_active_id_is_resolved)
{
	ASSERT_EQ(0, create(self, self->active, NULL));
	EXPECT_TRUE(self->id->verbs && self->id->pd);
	EXPECT_EQ(1, self->id->port_num);
	if (!lib_iwarp(self->id->verbs))
		EXPECT_EQ(1, self->id->route.num_paths);
	ASSERT_TRUE(self->id->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, self->id->event->event);
	EXPECT_EQ(self->id, self->id->event->id);
	EXPECT_FAILS(EINVAL, rdma_resolve_addr(self->id, NULL, self->active->ai_dst_addr, 2000));
	EXPECT_FAILS(EINVAL, rdma_resolve_route(self->id, 2000));
}

/* The saved attributes create no QP yet, and the program's copy may change. */
TEST_F(conn, rdma_create_ep_S16_passive_id_saves_pd_and_attributes)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct eps *e = &self->e;

	e->pd = ASSERT_PTR(ibv_alloc_pd(context));
	self->attr.cap.max_recv_wr = 33;
	ASSERT_EQ(0, eps_listen(e));
	EXPECT_TRUE(!e->listener->qp && !e->listener->send_cq && !e->listener->recv_cq);
	EXPECT_TRUE(!self->attr.send_cq && !self->attr.recv_cq);
	EXPECT_EQ(e->pd, e->listener->pd);
	memset(&self->attr, 0x55, sizeof(self->attr));
	ASSERT_EQ(0, eps_up(e));
	EXPECT_LE(33, e->p->recv_cq->cqe);
	EXPECT_EQ(e->pd, e->p->qp->pd);
	EXPECT_TRUE(!e->listener->qp);
	EXPECT_EQ(0, eps_down(e));
	EXPECT_EQ(0, ibv_dealloc_pd(e->pd));
}

static void look_at_qp(struct eps *e)
{
	if (!e->p->qp || lib_qp_state_as(e->p->qp, IBV_QPS_INIT) != IBV_QPS_INIT)
		e->server_errno = EBADFD;
}

TEST_F(conn, rdma_create_ep_S17_request_has_a_qp_of_the_saved_attributes)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct eps *e = &self->e;

	self->attr.cap.max_recv_wr = 33;
	e->before_accept = look_at_qp;
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(0, e->server_errno);
	EXPECT_EQ(IBV_QPT_RC, e->p->qp->qp_type);
	EXPECT_EQ(IBV_QPT_RC, e->p->qp_type);
	EXPECT_EQ(e->p->pd, e->p->qp->pd);
	EXPECT_EQ(e->listener->verbs, e->p->verbs);
	EXPECT_TRUE(e->p->send_cq && e->p->recv_cq);
	EXPECT_EQ((void *)e->p, e->p->recv_cq->cq_context);
	ASSERT_EQ(0, ibv_query_qp(e->p->qp, &attr, IBV_QP_CAP, &init));
	EXPECT_LE(33, init.cap.max_recv_wr);
}

TEST_F(conn, rdma_create_ep_S17_request_has_a_qp_on_the_saved_pd)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct eps *e = &self->e;

	e->pd = ASSERT_PTR(ibv_alloc_pd(context));
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(e->pd, e->p->pd);
	EXPECT_EQ(e->pd, e->p->qp->pd);
	EXPECT_NE(e->pd, e->a->pd);
	EXPECT_EQ(0, eps_down(e));
	EXPECT_EQ(0, ibv_dealloc_pd(e->pd));
}

/* Given CQs serve all connections, and are not stored in the ids. */
TEST_F(conn, rdma_create_ep_S17_request_has_a_qp_with_the_saved_cqs)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct eps *e = &self->e;
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(context, 32, NULL, NULL, 0));

	self->attr = lib_qp_attr_on(cq);
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

TEST_F(conn, rdma_create_ep_S17_request_without_saved_attributes_has_no_qp)
{
	self->e.passive_attr = NULL;
	self->e.before_accept = make_qp;
	ASSERT_EQ(0, eps_up(&self->e));
	EXPECT_EQ(0, self->e.server_errno);
}

TEST_F(ep, rdma_create_ep_S18_passive_id_listens)
{
	ASSERT_EQ(0, create(self, self->passive, &self->attr));
	EXPECT_EQ(0, rdma_listen(self->id, 0));
	EXPECT_FAILS(EINVAL, rdma_listen(self->id, 0));
}

TEST_F(ep, rdma_create_ep_S19_passive_id_is_bound)
{
	struct sockaddr_in sin = lib_addr(0);

	ASSERT_EQ(0, create(self, self->passive, &self->attr));
	EXPECT_TRUE(self->id->verbs != NULL);
	EXPECT_NE(0, rdma_get_src_port(self->id));
	EXPECT_EQ(sin.sin_addr.s_addr, self->id->route.addr.src_sin.sin_addr.s_addr);
	EXPECT_FAILS(EINVAL, rdma_bind_addr(self->id, SA(&sin)));
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
}

/* P0: rdma_get_request */
TEST_F(conn, rdma_create_ep_S20_request_is_got_from_the_listening_id)
{
	struct rdma_conn_param param = { .private_data = "hi there", .private_data_len = 8 };
	struct eps *e = &self->e;

	e->connect = &param;
	e->before_accept = look_at_request;
	ASSERT_EQ(0, eps_up(e));
	EXPECT_EQ(0, e->server_errno);
	ASSERT_TRUE(e->p->channel != NULL);
	EXPECT_NE(e->listener, e->p);
	EXPECT_NE(e->listener->channel, e->p->channel);
	EXPECT_NE(e->listener->channel->fd, e->p->channel->fd);
}

static void *disconnect(void *id)
{
	return (void *)(long)rdma_disconnect(id);
}

/* The id has a channel of its own, and its calls complete before they return. */
TEST_F(conn, rdma_create_ep_S21_id_is_synchronous)
{
	struct eps *e = &self->e;
	struct lib_thread t;
	int fd;

	ASSERT_EQ(0, eps_up(e));
	ASSERT_TRUE(e->a->channel && e->a->channel != e->listener->channel);
	fd = e->a->channel->fd;
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_FALSE(lib_readable(fd, 0));
	ASSERT_EQ(0, lib_start(&t, disconnect, e->a));
	EXPECT_EQ(0, rdma_disconnect(e->p));
	EXPECT_RETURNS(0, &t);
	ASSERT_TRUE(e->a->event && e->p->event);
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, e->a->event->event);
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, e->p->event->event);
}

TEST_F(conn, rdma_create_ep_S22_migrated_id_is_asynchronous)
{
	struct rdma_event_channel *ch = ASSERT_PTR(rdma_create_event_channel());
	struct eps *e = &self->e;

	ASSERT_EQ(0, eps_listen(e));
	ASSERT_EQ(0, eps_client(e));
	ASSERT_EQ(0, rdma_migrate_id(e->a, ch));
	EXPECT_EQ(ch, e->a->channel);
	/* The request is not accepted yet: a synchronous call would not return. */
	ASSERT_EQ(0, rdma_connect(e->a, NULL));
	ASSERT_EQ(0, rdma_get_request(e->listener, &e->p));
	ASSERT_EQ(0, rdma_migrate_id(e->p, ch));
	ASSERT_EQ(0, rdma_accept(e->p, NULL));
	EXPECT_EQ(0, lib_event(ch, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, lib_event(ch, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, eps_down(e));
	rdma_destroy_event_channel(ch);
}

TEST_F(ep, rdma_create_ep_S23_destroyed_id_takes_its_qp_and_channels_along)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct sockaddr_in sin = lib_addr(0);
	int fd, send_fd, recv_fd;
	struct rdma_cm_id *id;
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(context));

	ASSERT_EQ(0, rdma_create_ep(&id, self->active, pd, &self->attr));
	fd = id->channel->fd;
	send_fd = id->send_cq_channel->fd;
	recv_fd = id->recv_cq_channel->fd;
	rdma_destroy_ep(id);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(-1, fcntl(send_fd, F_GETFD));
	EXPECT_EQ(-1, fcntl(recv_fd, F_GETFD));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));	/* its QP has been destroyed */

	/* A passive endpoint, which releases its port as well */
	ASSERT_EQ(0, rdma_create_ep(&id, self->passive, NULL, &self->attr));
	fd = id->channel->fd;
	sin.sin_port = rdma_get_src_port(id);
	rdma_destroy_ep(id);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
}

TEST(rdma_create_ep_S24_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("rdma_getaddrinfo", "rdma_create_event_channel", "rdma_connect",
			     "rdma_listen", "rdma_destroy_ep", "rdma_migrate_id"));
}

TEST_HARNESS_MAIN
