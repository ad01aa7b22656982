// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of librdmacm after rdma-core 44: resolution of names that ends with an event, and
 * events that the program writes. There is no cm_newer.stock, as stock libraries of older suites
 * lack the functions.
 */
#include "lib_test.h"

#ifndef RAI_SA
#define RAI_SA 0x10
#define RAI_DNS 0x20
/* Older headers do not declare these. */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg);
#endif
#define ADDRINFO_RESOLVED	16
#define USER			18
#define INTERNAL		19

FIXTURE(newer) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(newer)
{
	self->channel = ASSERT_PTR(rdma_create_event_channel());
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(newer)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

TEST_F(newer, resolve_addrinfo)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct sockaddr_in *sin;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, "192.0.2.7", "7471", &hints));
	EXPECT_FAILS(EBUSY, rdma_resolve_addrinfo(self->id, "192.0.2.8", "7471", &hints));
	EXPECT_EQ(0, lib_event(self->channel, ADDRINFO_RESOLVED));
	/* The result has not been queried yet. */
	EXPECT_FAILS(EBUSY, rdma_resolve_addrinfo(self->id, "192.0.2.8", "7471", &hints));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &info));
	EXPECT_EQ(RDMA_PS_TCP, info->ai_port_space);
	EXPECT_EQ(IBV_QPT_RC, info->ai_qp_type);
	sin = ASSERT_PTR((struct sockaddr_in *)info->ai_dst_addr);
	EXPECT_EQ(AF_INET, sin->sin_family);
	EXPECT_EQ(htons(7471), sin->sin_port);
	EXPECT_EQ(inet_addr("192.0.2.7"), sin->sin_addr.s_addr);
	rdma_freeaddrinfo(info);

	/* A result is returned once. */
	EXPECT_FAILS(ENOENT, rdma_query_addrinfo(self->id, &info));
	/* The end of the id frees a result that is never queried. */
	EXPECT_EQ(0, rdma_resolve_addrinfo(self->id, "192.0.2.8", "7471", NULL));
	EXPECT_EQ(0, lib_event(self->channel, ADDRINFO_RESOLVED));
}

TEST_F(newer, resolve_addrinfo_failures)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info;

	EXPECT_FAILS(ENOENT, rdma_query_addrinfo(self->id, &info));
	EXPECT_FAILS(EINVAL, rdma_query_addrinfo(NULL, &info));
	EXPECT_FAILS(EINVAL, rdma_query_addrinfo(self->id, NULL));
	EXPECT_FAILS(EINVAL, rdma_resolve_addrinfo(NULL, "x", "1", NULL));
	EXPECT_FAILS(EINVAL, rdma_resolve_addrinfo(self->id, NULL, NULL, NULL));
	EXPECT_FAILS(ENOENT, rdma_resolve_addrinfo(self->id, "no number", "1", &hints));
	hints.ai_flags = RAI_SA | RAI_DNS;
	EXPECT_FAILS(ENOTSUP, rdma_resolve_addrinfo(self->id, NULL, "1", &hints));
	hints.ai_flags = RAI_SA;
	EXPECT_FAILS(ENOTSUP, rdma_resolve_addrinfo(self->id, "192.0.2.7", "1", &hints));
	/* Ethernet has no subnet administrator. */
	EXPECT_FAILS(EOPNOTSUPP, rdma_resolve_addrinfo(self->id, NULL, "1", &hints));
	/* No failure reports an event, and the call can be repeated. */
	EXPECT_TRUE(lib_quiet(self->channel->fd));
	EXPECT_EQ(0, rdma_resolve_addrinfo(self->id, "192.0.2.7", "1", NULL));
	EXPECT_EQ(0, lib_event(self->channel, ADDRINFO_RESOLVED));
}

TEST(resolve_addrinfo_synchronously)
{
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, "192.0.2.7", "7471", NULL));
	ASSERT_NE(NULL, id->event);
	EXPECT_EQ(ADDRINFO_RESOLVED, (int)id->event->event);
	ASSERT_EQ(0, rdma_query_addrinfo(id, &info));
	rdma_freeaddrinfo(info);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Programs that call these start without librdmacm as well. */
TEST(epoll_of_rsockets)
{
	EXPECT_EQ(0, MISSING("repoll_create", "repoll_ctl", "repoll_wait"));
}

TEST_F(newer, write_cm_event)
{
	struct rdma_cm_event *event;
	uint64_t arg;

	ASSERT_EQ(0, rdma_write_cm_event(self->id, USER, -7, 0x123456789abcdef0));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, USER, 0, 1));
	ASSERT_EQ(0, rdma_get_cm_event(self->channel, &event));
	EXPECT_EQ(USER, (int)event->event);
	EXPECT_EQ(-7, event->status);
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(NULL, event->listen_id);
	memcpy(&arg, &event->param, sizeof(arg));
	EXPECT_EQ(0x123456789abcdef0, arg);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, lib_event(self->channel, USER));
	EXPECT_TRUE(lib_quiet(self->channel->fd));
}

TEST_F(newer, write_cm_event_failures)
{
	EXPECT_FAILS(EINVAL, rdma_write_cm_event(NULL, USER, 0, 0));
	EXPECT_FAILS(EINVAL, rdma_write_cm_event(self->id, INTERNAL, 0, 0));
	EXPECT_FAILS(EINVAL, rdma_write_cm_event(self->id, ADDRINFO_RESOLVED, 0, 0));
	EXPECT_FAILS(EINVAL, rdma_write_cm_event(self->id, RDMA_CM_EVENT_ESTABLISHED, 0, 0));
	EXPECT_FAILS(EINVAL, rdma_write_cm_event(self->id, -1, 0, 0));
	EXPECT_TRUE(lib_quiet(self->channel->fd));
}

static void *get_user_event(void *arg)
{
	return lib_event(arg, USER) ? arg : NULL;
}

TEST_F(newer, write_cm_event_wakes)
{
	struct lib_thread t = {};

	START_BLOCKED(&t, get_user_event, self->channel);
	ASSERT_EQ(0, rdma_write_cm_event(self->id, USER, 0, 0));
	EXPECT_RETURNS(NULL, &t);
}

/* Written events are acknowledged and migrated as others are. */
TEST_F(newer, write_cm_event_migrates)
{
	struct rdma_event_channel *other = ASSERT_PTR(rdma_create_event_channel());

	ASSERT_EQ(0, rdma_write_cm_event(self->id, USER, 0, 0));
	ASSERT_EQ(0, rdma_migrate_id(self->id, other));
	EXPECT_TRUE(lib_quiet(self->channel->fd));
	EXPECT_EQ(0, lib_event(other, USER));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, USER, 0, 0));
	ASSERT_EQ(0, rdma_migrate_id(self->id, self->channel));
	EXPECT_EQ(0, lib_event(self->channel, USER));
	rdma_destroy_event_channel(other);
}

TEST_HARNESS_MAIN
