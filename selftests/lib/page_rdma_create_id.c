// SPDX-License-Identifier: GPL-2.0-only
/* Tests of rdma_create_id(3), sentence by sentence, numbered as in docs/programs/pages.md */
#include "lib_test.h"

FIXTURE(id) {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(id)
{
	self->sin = lib_addr(7471);
	self->ch = ASSERT_PTR(rdma_create_event_channel());
}

FIXTURE_TEARDOWN(id)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->ch);
}

/* P0: rdma_create_id, rdma_destroy_id */
TEST_F(id, rdma_create_id_S01_id_is_made_with_nothing_on_it)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	id = ASSERT_PTR(self->id);
	EXPECT_TRUE(!id->verbs && !id->pd && !id->qp && !id->srq);
	EXPECT_TRUE(!id->event);
	EXPECT_TRUE(!id->send_cq && !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel);
	EXPECT_EQ(0, id->port_num);
}

TEST_F(id, rdma_create_id_S02_symbol_takes_the_documented_arguments)
{
	int (*create)(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		      enum rdma_port_space ps) = lib_symbol("rdma_create_id");

	ASSERT_TRUE(create != NULL);
	ASSERT_EQ(0, create(self->ch, &self->id, self, RDMA_PS_TCP));
	EXPECT_EQ((void *)self, self->id->context);
}

TEST_F(id, rdma_create_id_S03_events_come_on_that_channel_and_no_other)
{
	struct rdma_event_channel *other = ASSERT_PTR(rdma_create_event_channel());
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(other, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(self->ch, self->id->channel);
	EXPECT_EQ(other, id->channel);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000));
	EXPECT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_FALSE(lib_readable(other->fd, 0));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, SA(&self->sin), 2000));
	EXPECT_EQ(0, lib_event(other, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(other);
}

/* Without a channel, the id has one of its own until it is destroyed. */
TEST_F(id, rdma_create_id_S04_channel_may_be_left_out)
{
	struct rdma_cm_id *other;
	int fd;

	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(NULL, &other, NULL, RDMA_PS_TCP));
	ASSERT_TRUE(self->id->channel && other->channel);
	EXPECT_NE(self->id->channel, other->channel);
	EXPECT_NE(self->id->channel->fd, other->channel->fd);
	fd = other->channel->fd;
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, rdma_destroy_id(other));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_LE(0, fcntl(self->id->channel->fd, F_GETFD));
}

TEST_F(id, rdma_create_id_S05_each_call_returns_another_id)
{
	struct rdma_cm_id *id = NULL;

	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &id, NULL, RDMA_PS_TCP));
	EXPECT_TRUE(id && id != self->id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(id, rdma_create_id_S06_context_is_in_the_id_and_its_events)
{
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, self, RDMA_PS_TCP));
	EXPECT_EQ((void *)self, self->id->context);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_EQ((void *)self, event->id->context);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(id, rdma_create_id_S07_port_space_decides_the_kind_of_qp)
{
	static const struct {
		enum rdma_port_space ps;
		enum ibv_qp_type type;
	} spaces[] = {
		{ RDMA_PS_TCP, IBV_QPT_RC },
		{ RDMA_PS_UDP, IBV_QPT_UD },
		{ RDMA_PS_IPOIB, IBV_QPT_UD },
		{ RDMA_PS_IB, IBV_QPT_RC },
	};
	struct rdma_cm_id *id;
	size_t i;

	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		ASSERT_EQ(0, rdma_create_id(self->ch, &id, NULL, spaces[i].ps));
		EXPECT_EQ(spaces[i].ps, id->ps);
		EXPECT_EQ(spaces[i].type, id->qp_type);
		EXPECT_EQ(0, rdma_destroy_id(id));
	}
	EXPECT_FAILS(EINVAL, rdma_create_id(self->ch, &id, NULL, 0x1234));
	EXPECT_FAILS(EINVAL, rdma_create_id(NULL, &id, NULL, 0));
}

/* Addresses, ports and route are unset before the id is resolved. */
TEST_F(id, rdma_create_id_S08_id_keeps_the_addresses_of_its_communication)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, NULL, RDMA_PS_TCP));
	id = self->id;
	EXPECT_EQ(0, id->route.num_paths);
	EXPECT_EQ(0, id->route.addr.src_addr.sa_family);
	EXPECT_EQ(0, rdma_get_src_port(id));
	EXPECT_EQ(0, rdma_get_dst_port(id));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, SA(&self->sin), 2000));
	EXPECT_EQ(AF_INET, id->route.addr.src_addr.sa_family);
	EXPECT_NE(0, rdma_get_src_port(id));
	EXPECT_EQ(htons(7471), rdma_get_dst_port(id));
	EXPECT_EQ(self->sin.sin_addr.s_addr, id->route.addr.dst_sin.sin_addr.s_addr);
}

TEST_F(id, rdma_create_id_S09_success_is_0_and_failure_minus_1)
{
	struct rdma_cm_id *id;

	EXPECT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(-1, rdma_create_id(self->ch, &id, NULL, 0x1234));
}

TEST_F(id, rdma_create_id_S10_failure_sets_errno)
{
	struct rdma_cm_id *id;

	EXPECT_FAILS(EINVAL, rdma_create_id(self->ch, &id, NULL, 0x1234));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP));
}

/* Before it is bound, the id has no device and no attributes for a QP. */
TEST_F(id, rdma_create_id_S12_id_has_no_device_before_it_is_bound)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct sockaddr_in sin = lib_addr(0);
	int mask;

	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_TRUE(!self->id->verbs);
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(self->id, &attr, &mask));
	EXPECT_FAILS(EINVAL, rdma_connect(self->id, NULL));
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_TRUE(self->id->verbs != NULL);
	EXPECT_EQ(0, rdma_init_qp_attr(self->id, &attr, &mask));
	/* Bound, but not resolved */
	EXPECT_FAILS(EINVAL, rdma_resolve_route(self->id, 2000));
}

/* The id has its device only after the event has been read. */
TEST_F(id, rdma_create_id_S13_operation_ends_with_an_event_on_the_channel)
{
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	EXPECT_TRUE(!self->id->verbs);
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(0, event->status);
	EXPECT_TRUE(!self->id->event);	/* only for synchronous ids */
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(self->id->verbs != NULL);
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	EXPECT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

TEST_F(id, rdma_create_id_S14_call_of_an_id_without_channel_has_done_all)
{
	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000));
	EXPECT_TRUE(self->id->verbs && self->id->pd);
	EXPECT_FALSE(lib_readable(self->id->channel->fd, 0));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	if (!lib_iwarp(self->id->verbs))
		EXPECT_EQ(1, self->id->route.num_paths);
}

static void *connect_id(void *id)
{
	return (void *)(long)rdma_connect(id, NULL);
}

TEST(rdma_create_id_S15_synchronous_connect_blocks_until_it_is_accepted)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	ASSERT_EQ(0, lib_start(&t, connect_id, e.a));
	ASSERT_EQ(0, rdma_get_request(e.listener, &e.p));
	EXPECT_TRUE(lib_still_blocked(&t));
	EXPECT_EQ(0, rdma_accept(e.p, NULL));
	EXPECT_RETURNS(0, &t);
	EXPECT_QPS(IBV_QPS_RTS, e.a->qp);
	EXPECT_EQ(0, eps_down(&e));
}

TEST_F(id, rdma_create_id_S16_event_is_in_the_id_until_the_next_call)
{
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_TRUE(!self->id->event);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000));
	event = ASSERT_PTR(self->id->event);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event->event);
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(0, event->status);
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	ASSERT_TRUE(self->id->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, self->id->event->event);
}

/* An id occupies its port until it is destroyed. */
TEST_F(id, rdma_create_id_S17_destroyed_id_is_released)
{
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->ch, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(id, SA(&sin)));
	sin.sin_port = rdma_get_src_port(id);
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	EXPECT_FAILS(EADDRINUSE, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_destroy_id(NULL));
}

/* ------------------------------------------------------------------ */

/* A connection whose passive side has two receives. */
FIXTURE(tcp) {
	struct pair p;
	struct ibv_mr *mr;
	char buf[64];
};

FIXTURE_SETUP(tcp)
{
	ASSERT_EQ(0, pair_up(&self->p));
	self->mr = ASSERT_PTR(rdma_reg_msgs(self->p.p, self->buf, sizeof(self->buf)));
	ASSERT_EQ(0, rdma_post_recv(self->p.p, (void *)1, self->buf, 32, self->mr));
	ASSERT_EQ(0, rdma_post_recv(self->p.p, (void *)2, self->buf + 32, 32, self->mr));
}

FIXTURE_TEARDOWN(tcp)
{
	EXPECT_EQ(0, rdma_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

/* A message arrives over a connection, and cannot be sent without one. */
TEST_F(tcp, rdma_create_id_S19_tcp_is_reliable_and_connected)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id;

	EXPECT_EQ(IBV_QPT_RC, self->p.a->qp_type);
	EXPECT_EQ(IBV_QPT_RC, self->p.a->qp->qp_type);
	ASSERT_EQ(0, lib_send(self->p.a, "reliable", 9));
	EXPECT_EQ(IBV_WC_SUCCESS, lib_next_wc(self->p.p->recv_cq).status);
	EXPECT_STREQ("reliable", self->buf);

	id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	EXPECT_EQ(-1, rdma_post_send(id, NULL, "x", 1, NULL, IBV_SEND_INLINE));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(tcp, rdma_create_id_S20_messages_stay_apart)
{
	struct ibv_wc wc[2];

	ASSERT_EQ(0, lib_send(self->p.a, "one", 3));
	ASSERT_EQ(0, lib_send(self->p.a, "three", 5));
	ASSERT_EQ(0, lib_wait_wc(self->p.p->recv_cq, wc, 2));
	EXPECT_EQ(1, wc[0].wr_id);
	EXPECT_EQ(3, wc[0].byte_len);
	EXPECT_STREQ("one", self->buf);
	EXPECT_EQ(2, wc[1].wr_id);
	EXPECT_EQ(5, wc[1].byte_len);
	EXPECT_STREQ("three", self->buf + 32);
}

/* ------------------------------------------------------------------ */

/* An unconnected endpoint with one receive. */
FIXTURE(udp) {
	struct rdma_event_channel *ch;
	struct ud u;
};

FIXTURE_SETUP(udp)
{
	self->ch = ASSERT_PTR(rdma_create_event_channel());
	if (lib_iwarp(ASSERT_PTR(lib_context())))
		SKIP_FIXTURE("iWARP has no datagrams");
	ASSERT_EQ(0, ud_up(&self->u, self->ch, NULL));
	ASSERT_EQ(0, ud_recv(&self->u, 0));
}

FIXTURE_TEARDOWN(udp)
{
	EXPECT_EQ(0, ud_down(&self->u));
	rdma_destroy_event_channel(self->ch);
}

/* A datagram to a QP that does not exist is lost, which is no error. */
TEST_F(udp, rdma_create_id_S21_udp_is_unreliable_and_unconnected)
{
	EXPECT_EQ(IBV_QPT_UD, self->u.id->qp_type);
	EXPECT_EQ(IBV_QPT_UD, self->u.id->qp->qp_type);
	EXPECT_EQ(IBV_WC_SUCCESS, ud_send(&self->u, 0xfffff0));
	EXPECT_TRUE(lib_no_wc(self->u.id->recv_cq));
	EXPECT_EQ(IBV_QPS_RTS, lib_qp_state(self->u.id->qp));
}

TEST_F(udp, rdma_create_id_S22_udp_sends_datagrams)
{
	struct ibv_wc wc;

	EXPECT_EQ(IBV_WC_SUCCESS, ud_send(&self->u, self->u.id->qp->qp_num));
	wc = lib_next_wc(self->u.id->recv_cq);
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(40 + 9, wc.byte_len);
	EXPECT_STREQ("datagram", self->u.buf + 40);
}

TEST_F(udp, rdma_create_id_S22_udp_sends_to_multicast_groups)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct rdma_cm_event *event;
	struct ud *u = &self->u;
	uint32_t qpn;

	inet_pton(AF_INET, "230.5.6.9", &sin.sin_addr);
	ASSERT_EQ(0, rdma_join_multicast(u->id, SA(&sin), NULL));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_MULTICAST_JOIN));
	EXPECT_EQ(0, ibv_destroy_ah(u->ah));
	u->ah = ASSERT_PTR(ibv_create_ah(u->id->pd, &event->param.ud.ah_attr));
	qpn = event->param.ud.qp_num;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_send(u, qpn));
	EXPECT_EQ(IBV_WC_SUCCESS, lib_next_wc(u->id->recv_cq).status);
	EXPECT_STREQ("datagram", u->buf + 40);
	EXPECT_EQ(0, rdma_leave_multicast(u->id, SA(&sin)));
}

TEST(rdma_create_id_S23_functions_that_are_pointed_to_exist)
{
	EXPECT_EQ(0, MISSING("rdma_create_event_channel", "rdma_destroy_id", "rdma_get_devices",
			     "rdma_bind_addr", "rdma_resolve_addr", "rdma_connect",
			     "rdma_listen", "rdma_set_option"));
}

TEST_HARNESS_MAIN
