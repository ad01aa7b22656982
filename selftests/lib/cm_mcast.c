// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups that ids join.
 */
#include "cm_mcast.h"

#define ENOTSUPP	524	/* an errno of the kernel only */

TEST_F(mcast, join_event)
{
	struct rdma_cm_event *event;
	int context;

	ASSERT_EQ(0, rdma_join_multicast(self->a.id, SA(&self->sin), &context));
	event = ASSERT_PTR(lib_get_event(self->a.channel, RDMA_CM_EVENT_MULTICAST_JOIN));
	EXPECT_EQ(self->a.id, event->id);
	EXPECT_EQ(NULL, event->listen_id);
	EXPECT_EQ((void *)&context, event->param.ud.private_data);
	EXPECT_EQ(0, event->param.ud.private_data_len);
	EXPECT_EQ(0xffffff, event->param.ud.qp_num);
	EXPECT_NE(0, event->param.ud.qkey);
	EXPECT_EQ(1, event->param.ud.ah_attr.is_global);
	EXPECT_EQ(self->a.id->port_num, event->param.ud.ah_attr.port_num);
	/* RoCE v2: the GID is the IPv4-mapped address. */
	EXPECT_EQ(0xff, event->param.ud.ah_attr.grh.dgid.raw[10]);
	EXPECT_EQ(0, memcmp(&event->param.ud.ah_attr.grh.dgid.raw[12], &self->sin.sin_addr, 4));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_TRUE(lib_quiet(self->a.channel->fd));
}

TEST_F(mcast, all_members_get_it)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	ASSERT_EQ(0, join(&self->b, &self->sin));
	ASSERT_EQ(0, post_to_group(&self->a, 'x'));
	EXPECT_TRUE(completes(&self->a, 1, 'x'));
	EXPECT_TRUE(completes(&self->b, 0, 'x'));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	ASSERT_EQ(0, post_to_group(&self->a, 'y'));
	EXPECT_TRUE(completes(&self->a, 1, 'y'));
	EXPECT_TRUE(lib_no_wc(self->b.cq));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
}

TEST_F(mcast, send_only)
{
	int i;

	ASSERT_EQ(0, join_as(&self->a, &self->sin, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER));
	ASSERT_EQ(0, join_as(&self->b, &self->sin, RDMA_MC_JOIN_FLAG_FULLMEMBER));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, post_to_group(&self->a, '0' + i));
		ASSERT_TRUE(completes(&self->a, 1, 0));
		ASSERT_TRUE(completes(&self->b, 0, '0' + i));
	}
	EXPECT_TRUE(lib_no_wc(self->a.cq));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
}

/* A message can be sent as soon as the join has been reported. */
TEST_F(mcast, send_at_once)
{
	int i;

	ASSERT_EQ(0, join(&self->b, &self->sin));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, join_as(&self->a, &self->sin, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER));
		ASSERT_EQ(0, post_to_group(&self->a, '0' + i));
		ASSERT_TRUE(completes(&self->a, 1, 0));
		ASSERT_TRUE(completes(&self->b, 0, '0' + i));
		EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	}
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
}

TEST_F(mcast, leave)
{
	struct sockaddr_in other = group("230.5.6.8");

	EXPECT_FAILS(EADDRNOTAVAIL, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	ASSERT_EQ(0, rdma_join_multicast(self->a.id, SA(&self->sin), NULL));
	EXPECT_FAILS(EADDRNOTAVAIL, rdma_leave_multicast(self->a.id, SA(&other)));
	/* Leaving removes the unread event. */
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_TRUE(lib_quiet(self->a.channel->fd));
	EXPECT_FAILS(EADDRNOTAVAIL, rdma_leave_multicast(self->a.id, SA(&self->sin)));
}

static void *do_leave(void *arg)
{
	struct member *m = arg;
	struct sockaddr_in sin = group("230.5.6.7");

	return rdma_leave_multicast(m->id, SA(&sin)) ? m : NULL;
}

/* Leaves the group once it has been joined. Returns 0 or an errno. */
static void *leave_at_once(void *arg)
{
	struct member *m = arg;
	struct sockaddr_in sin = group("230.5.6.7");

	while (rdma_leave_multicast(m->id, SA(&sin)))
		if (errno != EADDRNOTAVAIL)
			return (void *)(long)errno;
	return NULL;
}

/* rdma_leave_multicast() waits for rdma_join_multicast() of another thread. */
TEST_F(mcast, leave_while_joining)
{
	struct lib_thread t;
	int i;

	if (is_stock())
		SKIP(return, "librdmacm leaves a group with the handle 0");
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, lib_start(&t, leave_at_once, &self->a));
		ASSERT_EQ(0, rdma_join_multicast(self->a.id, SA(&self->sin), NULL));
		EXPECT_RETURNS(0, &t);
	}
}

TEST_F(mcast, leave_waits_for_acks)
{
	struct lib_thread t = {};
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_join_multicast(self->a.id, SA(&self->sin), NULL));
	event = ASSERT_PTR(lib_get_event(self->a.channel, RDMA_CM_EVENT_MULTICAST_JOIN));
	START_BLOCKED(&t, do_leave, &self->a);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_RETURNS(NULL, &t);
}

TEST_F(mcast, two_groups)
{
	struct sockaddr_in other = group("230.5.6.8");

	ASSERT_EQ(0, join(&self->a, &self->sin));
	ASSERT_EQ(0, join(&self->b, &other));
	ASSERT_EQ(0, post_to_group(&self->a, 'x'));
	EXPECT_TRUE(completes(&self->a, 1, 'x'));
	EXPECT_TRUE(lib_no_wc(self->b.cq));
	ASSERT_EQ(0, join(&self->b, &self->sin));
	ASSERT_EQ(0, post_to_group(&self->a, 'y'));
	EXPECT_TRUE(completes(&self->a, 1, 'y'));
	EXPECT_TRUE(completes(&self->b, 0, 'y'));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&other)));
	ASSERT_EQ(0, post_to_group(&self->a, 'z'));
	EXPECT_TRUE(completes(&self->a, 1, 'z'));
	EXPECT_TRUE(completes(&self->b, 0, 'z'));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
}

TEST_F(mcast, bad_input)
{
	struct rdma_cm_join_mc_attr_ex attr = { .addr = SA(&self->sin) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in none = { .sin_family = AF_INET };
	struct sockaddr bad = { .sa_family = AF_UNIX };
	struct rdma_cm_id *id = self->a.id, *unbound;
	struct member rc = {};

	inet_pton(AF_INET6, "ff0e::1234", &sin6.sin6_addr);
	EXPECT_FAILS(EINVAL, rdma_join_multicast(id, &bad, NULL));
	EXPECT_FAILS(EINVAL, rdma_join_multicast(id, SA(&none), NULL));
	EXPECT_FAILS(ENOTSUPP, rdma_join_multicast(id, SA(&sin6), NULL));
	EXPECT_FAILS(EINVAL, rdma_leave_multicast(id, &bad));

	EXPECT_FAILS(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	EXPECT_FAILS(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	EXPECT_FAILS(ENOTSUP, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			 RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	EXPECT_FAILS(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));

	ASSERT_EQ(0, rdma_create_id(self->a.channel, &unbound, NULL, RDMA_PS_UDP));
	EXPECT_FAILS(EINVAL, rdma_join_multicast(unbound, SA(&self->sin), NULL));
	EXPECT_EQ(0, rdma_destroy_id(unbound));

	ASSERT_EQ(0, member_up(&rc, RDMA_PS_TCP));
	EXPECT_FAILS(EINVAL, rdma_join_multicast(rc.id, SA(&self->sin), NULL));
	EXPECT_EQ(0, member_down(&rc));
	if (!is_stock()) {
		EXPECT_FAILS(EINVAL, rdma_join_multicast(NULL, SA(&self->sin), NULL));
		EXPECT_FAILS(EINVAL, rdma_join_multicast(id, NULL, NULL));
		EXPECT_FAILS(EINVAL, rdma_join_multicast_ex(id, NULL, NULL));
		EXPECT_FAILS(EINVAL, rdma_leave_multicast(id, NULL));
		EXPECT_FAILS(EINVAL, rdma_leave_multicast(NULL, SA(&self->sin)));
	}
	EXPECT_TRUE(lib_quiet(self->a.channel->fd));
}

TEST(synchronous)
{
	struct rdma_cm_id *id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_UDP));
	struct sockaddr_in mc = group("230.5.6.7");
	int context;

	if (lib_iwarp(id->verbs)) {
		EXPECT_EQ(0, rdma_destroy_id(id));
		SKIP(return, "iWARP has no multicast");
	}
	ASSERT_EQ(0, rdma_join_multicast(id, SA(&mc), &context));
	ASSERT_NE(NULL, id->event);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, id->event->event);
	EXPECT_EQ((void *)&context, id->event->param.ud.private_data);
	if (is_stock()) {	/* stock waits for this acknowledgment for ever */
		EXPECT_EQ(0, rdma_ack_cm_event(id->event));
		id->event = NULL;
	}
	EXPECT_EQ(0, rdma_leave_multicast(id, SA(&mc)));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
