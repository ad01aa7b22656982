// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups: ids that join them, QPs that are attached to them.
 */
#include "lib_test.h"

#define GRH		40
#define MSG		64
#define RECVS		16
#define ENOTSUPP	524	/* an errno of the kernel only */

/* A datagram endpoint, which receives into RECVS buffers */
struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
	uint16_t lid;
	char buf[(RECVS + 1) * (GRH + MSG)];
};

static struct sockaddr_in group(const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &sin.sin_addr);
	return sin;
}

static int post_recv(struct member *m, int i)
{
	struct ibv_sge sge = { (uintptr_t)m->buf + i * (GRH + MSG), GRH + MSG, m->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(m->id->qp, &wr, &bad);
}

static int member_qp(struct member *m)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(m->cq);
	int i;

	attr.qp_type = m->id->qp_type;
	attr.cap.max_recv_wr = RECVS;
	if (rdma_create_qp(m->id, NULL, &attr))
		return -1;
	for (i = 0; i < RECVS; i++)
		if (post_recv(m, i))
			return -1;
	return 0;
}

static int member_up(struct member *m, enum rdma_port_space ps)
{
	m->channel = rdma_create_event_channel();
	m->id = m->channel ? lib_bound_id(m->channel, ps) : NULL;
	m->cq = m->id ? ibv_create_cq(m->id->verbs, 2 * RECVS, m, NULL, 0) : NULL;
	if (!m->cq)
		return -1;
	m->mr = ibv_reg_mr(m->id->pd, m->buf, sizeof(m->buf), IBV_ACCESS_LOCAL_WRITE);
	return m->mr ? member_qp(m) : -1;
}

static int member_down(struct member *m)
{
	int ret = 0;

	if (m->ah)
		ret |= ibv_destroy_ah(m->ah);
	if (m->id && m->id->qp)
		rdma_destroy_qp(m->id);
	if (m->mr)
		ret |= ibv_dereg_mr(m->mr);
	if (m->cq)
		ret |= ibv_destroy_cq(m->cq);
	if (m->id)
		ret |= rdma_destroy_id(m->id);
	if (m->channel)
		rdma_destroy_event_channel(m->channel);
	memset(m, 0, sizeof(*m));
	return ret;
}

/* Reads the join event, which has the group's address. */
static int member_joined(struct member *m)
{
	struct rdma_cm_event *event = lib_get_event(m->channel, RDMA_CM_EVENT_MULTICAST_JOIN);

	if (!event)
		return -1;
	if (m->ah)
		ibv_destroy_ah(m->ah);
	m->ah = ibv_create_ah(m->id->pd, &event->param.ud.ah_attr);
	m->qpn = event->param.ud.qp_num;
	m->qkey = event->param.ud.qkey;
	m->lid = event->param.ud.ah_attr.dlid;
	return rdma_ack_cm_event(event) || !m->ah ? -1 : 0;
}

static int join(struct member *m, struct sockaddr_in *sin)
{
	return rdma_join_multicast(m->id, SA(sin), NULL) ?: member_joined(m);
}

static int join_as(struct member *m, struct sockaddr_in *sin, uint32_t flags)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.addr = SA(sin),
		.join_flags = flags,
	};

	return rdma_join_multicast_ex(m->id, &attr, NULL) ?: member_joined(m);
}

static int post_to_group(struct member *m, char c)
{
	char *msg = m->buf + RECVS * (GRH + MSG);
	struct ibv_sge sge = { (uintptr_t)msg, MSG, m->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 100, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = m->ah, .remote_qpn = m->qpn, .remote_qkey = m->qkey },
	}, *bad;

	memset(msg, c, MSG);
	return ibv_post_send(m->id->qp, &wr, &bad);
}

/* Waits for completions of @sends sends and, unless @c is 0, of a message filled with @c. */
static bool completes(struct member *m, int sends, char c)
{
	struct ibv_wc wc[2];
	int n = sends + !!c, i, recvs = 0;

	if (lib_wait_wc(m->cq, wc, n))
		return false;
	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			lib_say(__FILE__, __LINE__, "wr_id %lu: %s",
				wc[i].wr_id, ibv_wc_status_str(wc[i].status));
			return false;
		}
		if (wc[i].wr_id == 100)
			continue;
		recvs++;
		if (wc[i].byte_len != GRH + MSG || !(wc[i].wc_flags & IBV_WC_GRH) ||
		    m->buf[wc[i].wr_id * (GRH + MSG) + GRH] != c) {
			lib_say(__FILE__, __LINE__, "another message");
			return false;
		}
		if (post_recv(m, wc[i].wr_id))
			return false;
	}
	return recvs == !!c;
}

FIXTURE(mcast) {
	struct member a, b;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(mcast)
{
	self->sin = group("230.5.6.7");
	if (lib_iwarp(ASSERT_PTR(lib_context())))
		SKIP_FIXTURE("iWARP has no multicast");
	ASSERT_EQ(0, member_up(&self->a, RDMA_PS_UDP));
	ASSERT_EQ(0, member_up(&self->b, RDMA_PS_UDP));
}

FIXTURE_TEARDOWN(mcast)
{
	EXPECT_EQ(0, member_down(&self->a));
	EXPECT_EQ(0, member_down(&self->b));
}

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

static int detach(FIXTURE_DATA(mcast) *self, struct ibv_qp *qp)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff } };

	memcpy(gid.raw + 12, &self->sin.sin_addr, 4);
	return ibv_detach_mcast(qp, &gid, self->a.lid);
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
