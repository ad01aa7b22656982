// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restrictions of addresses in commands that take a GID, which has no port: QPs that a program
 * connects, address handles, multicast groups and paths. iWARP has none of these.
 */
#include <rdma/ib_user_sa.h>

#include "abi_restrict.h"

FIXTURE(gid) {
	struct abi s;
	int channel;
	__u32 id, ud_id;
	struct sockaddr_in own;		/* the device's address, with PORT */
	struct rdma_ep_cmd_create_qp rc;	/* in INIT */
	struct ib_uverbs_qp_attr rtr;	/* to itself */
};

FIXTURE_SETUP(gid)
{
	__u32 cq;

	OK(abi_open(&self->s));
	if (self->s.iwarp)
		SKIP_FIXTURE("iWARP has none");
	self->channel = FD(abi_channel(&self->s));
	OK(abi_tcp_id(&self->s, self->channel, 0, &self->id));
	OK(abi_ud_id(&self->s, abi_channel(&self->s), 0, &self->ud_id));
	abi_own_addr(&self->s, PORT, &self->own);
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_RC, cq, 0, &self->rc));
	OK(abi_qp_init(&self->s, self->rc.init.qp, QPT_RC, 0));
	abi_rtr_attr(&self->s, self->rc.init.qp_num, &self->rtr);
}

TEARDOWN_CLOSES(gid)

/* A path of this port to itself */
static int set_path(const struct abi *s, __u32 id)
{
	struct ib_path_rec_data data = {
		.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
	};
	struct rdma_ep_cmd_set_option path = {
		.id = id, .level = RDMA_OPTION_IB, .optname = RDMA_OPTION_IB_PATH,
		.optval = (uintptr_t)&data, .optlen = sizeof(data),
	};

	memcpy(&data.path_rec[2], s->gid, 16);
	memcpy(&data.path_rec[6], s->gid, 16);
	return ABI(s->fd, SET_OPTION, &path);
}

TEST_F(gid, peers_by_gid)
{
	struct rdma_ep_grant grants[] = {
		grant_own(&self->s, RDMA_EP_GRANT_CONNECT, 1, LAST_PORT),
		grant(RDMA_EP_GRANT_CONNECT, "230.1.0.0", 16, 1, LAST_PORT),
	};
	struct rdma_ep_cmd_create_qp ud = {};
	__u32 cq, ah, mcast;

	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_UD, cq, 0, &ud));
	OK(abi_qp_init(&self->s, ud.init.qp, QPT_UD, 1));
	OK(abi_create_ah(&self->s, self->s.pd, &ah));
	OK(ABI_DESTROY(&self->s, AH, ah));

	/* A grant without port 0 does not include the GID. */
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_CONNECT, grants, 2));
	EXPECT_EQ(-EACCES, abi_modify_qp(&self->s, self->rc.init.qp, &self->rtr));
	EXPECT_EQ(QPS_INIT, abi_state_of(&self->s, self->rc.init.qp));
	EXPECT_EQ(-EACCES, abi_create_ah(&self->s, self->s.pd, &ah));
	EXPECT_EQ(-EACCES, abi_join(&self->s, self->ud_id, 1, 0, &mcast));
	EXPECT_EQ(-EACCES, abi_attach(&self->s, ud.init.qp, 1));
	OK(abi_resolve_addr(&self->s, self->id, &self->own, 1000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_EQ(-EACCES, set_path(&self->s, self->id));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 1000));
}

/* A grant of all ports of an address includes its GID. */
TEST_F(gid, peers_by_granted_gid)
{
	struct rdma_ep_grant grants[] = {
		grant_own(&self->s, RDMA_EP_GRANT_CONNECT, 0, LAST_PORT),
		grant(RDMA_EP_GRANT_CONNECT, "230.1.0.0", 16, 0, LAST_PORT),
	};
	__u32 ah, mcast;

	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_CONNECT, grants, 2));
	EXPECT_EQ(0, abi_modify_qp(&self->s, self->rc.init.qp, &self->rtr));
	EXPECT_EQ(0, abi_create_ah(&self->s, self->s.pd, &ah));
	EXPECT_EQ(0, abi_join(&self->s, self->ud_id, 1, 0, &mcast));
}

/* A source GID needs a grant for its address, with any ports. */
TEST_F(gid, local_gids)
{
	struct rdma_ep_grant other = grant(RDMA_EP_GRANT_BIND, "192.0.2.0", 24, 0, LAST_PORT);
	struct rdma_ep_grant own = grant_own(&self->s, RDMA_EP_GRANT_BIND, PORT, PORT);
	__u32 ah;

	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &own, 1));
	EXPECT_EQ(0, abi_create_ah(&self->s, self->s.pd, &ah));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &other, 1));
	EXPECT_EQ(-EACCES, abi_create_ah(&self->s, self->s.pd, &ah));
	EXPECT_EQ(-EACCES, abi_modify_qp(&self->s, self->rc.init.qp, &self->rtr));
}

/* A path that a program sets may begin and end anywhere: it is refused, even if set before. */
TEST_F(gid, paths)
{
	const __u32 flags[] = { RDMA_EP_RESTRICT_BIND, RDMA_EP_RESTRICT_CONNECT };
	const struct rdma_ep_grant grants[] = {
		grant_own(&self->s, RDMA_EP_GRANT_BIND, 0, LAST_PORT),
		grant_own(&self->s, RDMA_EP_GRANT_CONNECT, 0, LAST_PORT),
	};
	struct rdma_ep_cmd_create_qp qp;
	__u32 early, late;
	int channel;

	for (int i = 0; i < 2; i++) {
		struct abi s;

		OK(abi_open(&s));
		channel = FD(abi_channel(&s));
		OK(abi_tcp_id(&s, channel, 0, &early));
		OK(abi_resolve_addr(&s, early, &self->own, 1000));
		OK(abi_event(channel, EV_ADDR_RESOLVED, NULL));
		OK(set_path(&s, early));
		OK(abi_event(channel, EV_ROUTE_RESOLVED, NULL));
		OK(abi_id_qp(&s, early, &qp));
		OK(abi_tcp_id(&s, channel, 0, &late));
		OK(abi_resolve_addr(&s, late, &self->own, 1000));
		OK(abi_event(channel, EV_ADDR_RESOLVED, NULL));
		OK(restrict_to(&s, flags[i], &grants[i], 1));
		EXPECT_EQ(-EACCES, set_path(&s, late));
		EXPECT_EQ(-EACCES, abi_connect(&s, early, 0));
		EXPECT_EQ(0, ABI_ID_CMD(&s, RESOLVE_ROUTE, late, 1000));
		abi_close(&s);
	}
}

TEST_HARNESS_MAIN
