// SPDX-License-Identifier: GPL-2.0-only
/* rdma_set_option(3) */
#include <infiniband/sa.h>

#include "lib_test.h"

FIXTURE(option) {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id, *other, *ud;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(option)
{
	self->sin = lib_addr(0);
	self->ch = ASSERT_PTR(rdma_create_event_channel());
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->ud, NULL, RDMA_PS_UDP));
}

FIXTURE_TEARDOWN(option)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	EXPECT_EQ(0, rdma_destroy_id(self->ud));
	rdma_destroy_event_channel(self->ch);
}

static int set_int(struct rdma_cm_id *id, int optname, int val)
{
	return rdma_set_option(id, RDMA_OPTION_ID, optname, &val, sizeof(val));
}

/* P0: rdma_set_option */
TEST_F(option, tos_and_ack_timeout)
{
	uint8_t val = 16;

	EXPECT_EQ(0, rdma_set_option(self->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &val, 1));
	EXPECT_EQ(0, rdma_set_option(self->ud, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &val, 1));
	EXPECT_EQ(0, rdma_set_option(self->id, RDMA_OPTION_ID,
				     RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1));
	/* Datagrams are not acknowledged. */
	EXPECT_FAILS(EINVAL, rdma_set_option(self->ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     &val, 1));
}

TEST_F(option, wrong_lengths)
{
	static const struct {
		int level, name;
		size_t len;
	} opts[] = {
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 2 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 4 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 8 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 3 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 5 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 4 },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 0 },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 7 },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, sizeof(struct ibv_path_data) - 1 },
	};
	char val[256] = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		EXPECT_TRUE(FAILS(EINVAL, rdma_set_option(self->id,
				opts[i].level, opts[i].name, val, opts[i].len)))
			TH_LOG("option %d", i);
	}
	/* Longer than any option */
	EXPECT_FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, val,
					     1 << 30));
}

TEST_F(option, unknown)
{
	char val[8] = {};

	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, 2, 0, val, 4));
	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, 77, 1, val, 1));
	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_ID, 4, val, 1));
	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_ID, 99, val, 4));
	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_IB, 0, val, 4));
	EXPECT_FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_IB, 2, val, 4));
	EXPECT_FAILS(EFAULT, rdma_set_option(self->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
					     (void *)8, 1));
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_set_option(NULL, 0, 0, val, 1));
}

TEST_F(option, reuseaddr)
{
	struct sockaddr_in sin = self->sin;

	ASSERT_EQ(0, set_int(self->id, RDMA_OPTION_ID_REUSEADDR, 1));
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	sin.sin_port = rdma_get_src_port(self->id);
	EXPECT_FAILS(EADDRINUSE, rdma_bind_addr(self->other, SA(&sin)));
	ASSERT_EQ(0, set_int(self->other, RDMA_OPTION_ID_REUSEADDR, 1));
	EXPECT_EQ(0, rdma_bind_addr(self->other, SA(&sin)));
	EXPECT_EQ(sin.sin_port, rdma_get_src_port(self->other));

	/* A listener must be the only id on its port. */
	EXPECT_FAILS(EADDRINUSE, rdma_listen(self->id, 1));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	EXPECT_EQ(0, rdma_listen(self->id, 1));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, set_int(self->other, RDMA_OPTION_ID_REUSEADDR, 1));
	EXPECT_FAILS(EADDRINUSE, rdma_bind_addr(self->other, SA(&sin)));
}

TEST_F(option, reuseaddr_too_late)
{
	ASSERT_EQ(0, rdma_listen(self->id, 1));
	EXPECT_FAILS(EINVAL, set_int(self->id, RDMA_OPTION_ID_REUSEADDR, 1));
}

TEST_F(option, afonly)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	ASSERT_EQ(0, set_int(self->id, RDMA_OPTION_ID_AFONLY, 1));
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin6)));
	sin.sin_port = rdma_get_src_port(self->id);
	EXPECT_EQ(0, rdma_bind_addr(self->other, SA(&sin)));
	EXPECT_EQ(0, rdma_destroy_id(self->other));

	/* Without AFONLY, the wildcard of IPv6 includes IPv4. */
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, set_int(self->id, RDMA_OPTION_ID_AFONLY, 0));
	sin6.sin6_port = 0;
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin6)));
	sin.sin_port = rdma_get_src_port(self->id);
	EXPECT_FAILS(EADDRNOTAVAIL, rdma_bind_addr(self->other, SA(&sin)));
	ASSERT_EQ(0, rdma_listen(self->id, 1));
	EXPECT_FAILS(EINVAL, set_int(self->id, RDMA_OPTION_ID_AFONLY, 1));
}

/* RDMA_OPTION_IB_PATH replaces rdma_resolve_route(). */
TEST_F(option, ib_path)
{
	struct sockaddr_in sin = self->sin;
	struct ibv_path_data path = {};

	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	if (lib_iwarp(self->id->verbs))
		SKIP(return, "iWARP has no paths");
	sin.sin_port = htons(7471);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&sin), 2000));
	ASSERT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));

	EXPECT_FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
					     sizeof(path)));
	path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
		     IBV_PATH_FLAG_BIDIRECTIONAL;
	path.path.sgid = self->id->route.addr.addr.ibaddr.sgid;
	path.path.dgid = self->id->route.addr.addr.ibaddr.dgid;
	path.path.pkey = htons(0xffff);
	path.path.reversible_numpath = IBV_PATH_RECORD_REVERSIBLE | 1;
	EXPECT_EQ(0, rdma_set_option(self->id, RDMA_OPTION_IB,
				     RDMA_OPTION_IB_PATH, &path, sizeof(path)));
	EXPECT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

/* The QP gets the acknowledgment timeout of its id. */
TEST(ack_timeout_in_the_qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p = {};
	uint8_t val = 18;

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, rdma_set_option(p.a, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1));
	ASSERT_EQ(0, pair_requested(&p));
	val = 17;
	ASSERT_EQ(0, rdma_set_option(p.p, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1));
	ASSERT_EQ(0, rdma_accept(p.p, NULL));
	ASSERT_EQ(0, lib_event(p.ac, RDMA_CM_EVENT_ESTABLISHED));
	ASSERT_EQ(0, ibv_query_qp(p.a->qp, &attr, IBV_QP_TIMEOUT, &init));
	if (!lib_iwarp(p.a->verbs)) {
		EXPECT_EQ(18, attr.timeout);
		ASSERT_EQ(0, ibv_query_qp(p.p->qp, &attr, IBV_QP_TIMEOUT, &init));
		EXPECT_EQ(17, attr.timeout);
	}
	ASSERT_EQ(0, lib_event(p.pc, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
