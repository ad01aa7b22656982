// SPDX-License-Identifier: GPL-2.0-only
/* Attaching QPs to multicast groups, and detaching them. */
#include "abi_mcast.h"

TEST_F(mcast, attach)
{
	struct abi *s = &self->s;
	__u32 qp = self->a.qp;

	EXPECT_EQ(-EINVAL, abi_detach(s, qp, 1));
	EXPECT_EQ(0, abi_attach(s, qp, 1));
	EXPECT_EQ(0, abi_attach(s, qp, 1));
	EXPECT_EQ(-EINVAL, abi_detach(s, qp, 2));
	EXPECT_EQ(-EINVAL, abi_detach(s, self->b.qp, 1));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, QP, qp));
	EXPECT_EQ(0, abi_detach(s, qp, 1));
	EXPECT_EQ(-EINVAL, abi_detach(s, qp, 1));
	/* A QP can be attached in any state. */
	EXPECT_EQ(0, abi_qp_state(s, qp, QPS_RESET));
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(0, abi_attach(s, qp, i));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, QP, qp));
	EXPECT_EQ(0, abi_destroy_flags(s, RDMA_EP_OBJ_QP, qp, RDMA_EP_DESTROY_DETACH));
	EXPECT_EQ(-ENOENT, abi_attach(s, qp, 1));
	EXPECT_EQ(-ENOENT, abi_detach(s, qp, 1));
}

TEST_F(mcast, attach_what_can_not_be)
{
	static const __u32 lids[] = { 0x10000, 0x1c000, 0x80000000, ~0U };
	static const int types[] = { QPT_RC, QPT_UC };
	struct rdma_ep_cmd_qp_mcast a = { .qp = self->a.qp };
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;

	abi_group_gid(a.gid, 1);
	for (size_t i = 0; i < ARRAY_SIZE(lids); i++) {
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, ATTACH_MCAST, a, lid, lids[i]));
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, DETACH_MCAST, a, lid, lids[i]));
	}
	memcpy(a.gid, s->gid, sizeof(a.gid));
	EXPECT_EQ(-EINVAL, ABI(s->fd, ATTACH_MCAST, &a));
	memset(a.gid, 0, sizeof(a.gid));
	EXPECT_EQ(-EINVAL, ABI(s->fd, ATTACH_MCAST, &a));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		OK(abi_create_qp(s, types[i], self->a.cq, 0, &c));
		EXPECT_EQ(-EINVAL, abi_attach(s, c.init.qp, 1));
		EXPECT_EQ(-EINVAL, abi_detach(s, c.init.qp, 1));
		EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	}
	EXPECT_EQ(0, ABI_DESTROY(s, QP, self->a.qp));
}

/* ATTACH_MCAST and the memberships of the QP's id share a limit of groups for each QP. */
TEST_F(mcast, attach_too_many)
{
	enum { MAX = 1024 };
	struct rdma_ep_cmd_query_device q = { .dev_index = self->s.dev };
	struct abi *s = &self->s;
	struct rdma_ep_channel_event ev;
	__u32 mc;

	OK(ABI(s->fd, QUERY_DEVICE, &q));
	SKIP_IF(q.attr.max_mcast_grp <= MAX, "the device has %u groups", q.attr.max_mcast_grp);
	for (int i = 0; i < MAX; i++)
		LOGGED(ASSERT_EQ(0, abi_attach(s, self->a.qp, i)), "group %d", i);
	EXPECT_EQ(-ENOMEM, abi_attach(s, self->a.qp, MAX));
	EXPECT_EQ(0, abi_attach(s, self->a.qp, 0));
	OK(abi_join(s, self->a.id, MAX, 0, &mc));
	EXPECT_EQ(0, abi_event(self->a.channel, EV_MULTICAST_ERROR, &ev));
	EXPECT_EQ(-ENOMEM, ev.status);
	EXPECT_EQ(1, leave(s, mc));
	EXPECT_EQ(0, abi_detach(s, self->a.qp, 17));
	EXPECT_EQ(0, abi_attach(s, self->a.qp, MAX));
	EXPECT_EQ(-ENOMEM, abi_attach(s, self->a.qp, 17));
	/* Other QPs are not affected. */
	EXPECT_EQ(0, abi_attach(s, self->b.qp, 17));
	EXPECT_EQ(0, abi_destroy_flags(s, RDMA_EP_OBJ_QP, self->a.qp, RDMA_EP_DESTROY_DETACH));
}

TEST_HARNESS_MAIN
