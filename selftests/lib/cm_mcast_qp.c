// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups: QPs that are attached to them.
 */
#include "cm_mcast.h"

/* The program has put a QP of its own into the id. */
TEST_F(mcast, other_qp)
{
	struct ibv_qp *own = self->a.id->qp, *other;
	struct ibv_qp_init_attr attr = lib_qp_attr_on(self->a.cq);

	attr.qp_type = IBV_QPT_UD;
	other = ASSERT_PTR(ibv_create_qp(self->a.id->pd, &attr));
	self->a.id->qp = other;
	ASSERT_EQ(0, join(&self->a, &self->sin));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(other));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_EQ(0, ibv_destroy_qp(other));
	self->a.id->qp = own;
}

static struct ibv_qp *join_other(FIXTURE_DATA(mcast) *self)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(self->a.cq);
	struct ibv_qp *other;

	attr.qp_type = IBV_QPT_UD;
	other = ibv_create_qp(self->a.id->pd, &attr);
	if (other)
		self->a.id->qp = other;
	return other && !join(&self->a, &self->sin) ? other : NULL;
}

/* The group's GID on RoCE v2 */
static union ibv_gid group_gid(FIXTURE_DATA(mcast) *self)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff } };

	memcpy(gid.raw + 12, &self->sin.sin_addr, 4);
	return gid;
}

static int detach(FIXTURE_DATA(mcast) *self, struct ibv_qp *qp)
{
	union ibv_gid gid = group_gid(self);

	return ibv_detach_mcast(qp, &gid, self->a.lid);
}

/* Attaches the QP of b, which has read its MULTICAST_JOIN. */
static int attach_b(FIXTURE_DATA(mcast) *self)
{
	union ibv_gid gid = group_gid(self);

	return ibv_attach_mcast(self->b.id->qp, &gid, self->b.lid);
}

/* Destroys a QP that librdmacm has dropped, because it was attached. */
static int end_dropped(FIXTURE_DATA(mcast) *self, struct ibv_qp *qp)
{
	return is_stock() ? detach(self, qp) ?: ibv_destroy_qp(qp) : 0;
}

/* No membership uses a destroyed QP. */
TEST_F(mcast, other_qp_destroyed_with_the_id)
{
	struct ibv_qp *own = self->a.id->qp, *other = ASSERT_PTR(join_other(self));

	rdma_destroy_qp(self->a.id);
	EXPECT_EQ(NULL, self->a.id->qp);
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_EQ(0, end_dropped(self, other));

	/* The same, but rdma_destroy_id() leaves the group. */
	other = ASSERT_PTR(join_other(self));
	rdma_destroy_qp(self->a.id);
	EXPECT_EQ(0, rdma_destroy_id(self->a.id));
	EXPECT_EQ(0, end_dropped(self, other));
	EXPECT_EQ(0, ibv_destroy_qp(own));
	self->a.id = NULL;
}

TEST_F(mcast, other_qp_destroyed_with_the_endpoint)
{
	struct ibv_qp *own = self->a.id->qp, *other = ASSERT_PTR(join_other(self));

	rdma_destroy_ep(self->a.id);
	EXPECT_EQ(0, end_dropped(self, other));
	EXPECT_EQ(0, ibv_destroy_qp(own));
	self->a.id = NULL;
}

TEST_F(mcast, other_qp_destroyed_by_the_program)
{
	struct ibv_qp *own = self->a.id->qp, *other = ASSERT_PTR(join_other(self));

	ASSERT_EQ(0, detach(self, other));
	EXPECT_EQ(0, ibv_destroy_qp(other));
	self->a.id->qp = NULL;
	EXPECT_EQ(0, rdma_destroy_id(self->a.id));
	EXPECT_EQ(0, ibv_destroy_qp(own));
	self->a.id = NULL;
}

/* Joins the group, and creates the QP while the event is still unread. */
static int late_qp(struct member *m, struct sockaddr_in *sin)
{
	DO(rdma_join_multicast(m->id, SA(sin), NULL));
	DO(!lib_readable(m->channel->fd, WAIT_MS));
	if (m->id->qp)
		rdma_destroy_qp(m->id);
	DO(member_qp(m));
	DO(member_joined(m));
	return 0;
}

/*
 * rdma_join_multicast(3): a QP of the id is attached "when the multicast event is
 * retrieved", not when the group is joined.
 */
TEST_F(mcast, qp_before_the_event_is_read)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, late_qp(&self->b, &self->sin));
	ASSERT_EQ(0, post_to_group(&self->a, 'x'));
	EXPECT_TRUE(completes(&self->a, 1, 'x'));
	EXPECT_TRUE(completes(&self->b, 0, 'x'));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->b.id->qp));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	ASSERT_EQ(0, post_to_group(&self->a, 'y'));
	EXPECT_TRUE(completes(&self->a, 1, 'y'));
	EXPECT_TRUE(lib_no_wc(self->b.cq));

	/* The same with a QP that replaces another one */
	ASSERT_EQ(0, late_qp(&self->b, &self->sin));
	ASSERT_EQ(0, post_to_group(&self->a, 'z'));
	EXPECT_TRUE(completes(&self->a, 1, 'z'));
	EXPECT_TRUE(completes(&self->b, 0, 'z'));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
}

TEST_F(mcast, qp_after_the_event_is_read)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, join(&self->b, &self->sin));
	ASSERT_EQ(0, member_qp(&self->b));
	ASSERT_EQ(0, post_to_group(&self->a, 'x'));
	EXPECT_TRUE(completes(&self->a, 1, 'x'));
	EXPECT_TRUE(lib_no_wc(self->b.cq));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	/* (Stock would detach the QP, which is attached to no group.) */
	if (!is_stock())
		EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
}

/* rdma_leave_multicast() detaches a QP that the program has attached itself. */
TEST_F(mcast, qp_attached_by_the_program)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, join(&self->b, &self->sin));
	ASSERT_EQ(0, member_qp(&self->b));
	ASSERT_EQ(0, attach_b(self));
	ASSERT_EQ(0, post_to_group(&self->a, 'y'));
	EXPECT_TRUE(completes(&self->a, 1, 'y'));
	EXPECT_TRUE(completes(&self->b, 0, 'y'));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->b.id->qp));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_EQ(0, ibv_destroy_qp(self->b.id->qp));
	self->b.id->qp = NULL;
}

/* The program attaches the QP that replaces the one of the join. */
TEST_F(mcast, replaced_qp_attached_by_the_program)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	ASSERT_EQ(0, join(&self->b, &self->sin));
	ASSERT_EQ(0, detach(self, self->b.id->qp));
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, member_qp(&self->b));
	ASSERT_EQ(0, attach_b(self));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	EXPECT_EQ(0, ibv_destroy_qp(self->b.id->qp));
	self->b.id->qp = NULL;
}

/* The same with a QP that the id did not create */
TEST_F(mcast, other_qp_attached_by_the_program)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(self->b.cq);

	attr.qp_type = IBV_QPT_UD;
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, join(&self->b, &self->sin));
	self->b.id->qp = ASSERT_PTR(ibv_create_qp(self->b.id->pd, &attr));
	ASSERT_EQ(0, attach_b(self));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->b.id->qp));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(0, ibv_destroy_qp(self->b.id->qp));
	self->b.id->qp = NULL;
}

/* Leaving as a sender detaches no QP. */
TEST_F(mcast, sender_leaves)
{
	ASSERT_EQ(0, join(&self->a, &self->sin));
	rdma_destroy_qp(self->b.id);
	ASSERT_EQ(0, join_as(&self->b, &self->sin, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER));
	ASSERT_EQ(0, member_qp(&self->b));
	ASSERT_EQ(0, attach_b(self));
	EXPECT_EQ(0, rdma_leave_multicast(self->b.id, SA(&self->sin)));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->b.id->qp));
	EXPECT_EQ(0, detach(self, self->b.id->qp));
	EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
}

TEST_F(mcast, destroyed_while_joined)
{
	struct ibv_qp *qp = self->a.id->qp;

	ASSERT_EQ(0, join(&self->a, &self->sin));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(qp));
	if (is_stock())		/* stock would keep the QP and the CQ */
		EXPECT_EQ(0, rdma_leave_multicast(self->a.id, SA(&self->sin)));
	/* The teardown destroys the QP, then the id. */
}

TEST_F(mcast, attach_by_hand)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 230, 5, 6, 9 } };
	union ibv_gid unicast = { .raw = { [10] = 0xff, 0xff, 10, 5, 6, 9 } };
	struct ibv_qp *qp = self->a.id->qp;

	/* An IPv4-mapped address must be a multicast address. */
	EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &unicast, 0));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(qp, &gid, 0));
	ASSERT_EQ(0, ibv_attach_mcast(qp, &gid, 0));
	EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 0));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_detach_mcast(qp, &gid, 0));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(qp, &gid, 0));
	if (!is_stock()) {
		EXPECT_EQ(EINVAL, ibv_attach_mcast(NULL, &gid, 0));
		EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, NULL, 0));
		EXPECT_EQ(EINVAL, ibv_detach_mcast(NULL, &gid, 0));
		EXPECT_EQ(EINVAL, ibv_detach_mcast(qp, NULL, 0));
		/*
		 * rxe ignores the LID: it attaches the group once, but ib_core counts twice, so
		 * a QP of the stock library could not be destroyed.
		 */
		EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 0));
		EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 0xc000));
		EXPECT_EQ(0, ibv_detach_mcast(qp, &gid, 0));
		EXPECT_EQ(EBUSY, ibv_destroy_qp(qp));
		EXPECT_EQ(EINVAL, ibv_detach_mcast(qp, &gid, 0));
		EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 7));
		EXPECT_EQ(0, ibv_detach_mcast(qp, &gid, 0xc000));
		/* The teardown destroys the QP, still attached with LID 7. */
	}
}

TEST_HARNESS_MAIN
