// SPDX-License-Identifier: GPL-2.0-only
/* Multicast: memberships of ids, their events and their end. */
#include "abi_mcast.h"

/* Joins, and reads the event. */
static int joined(const struct abi *s, struct member *m, __u16 group, __u32 *mcast)
{
	return abi_join(s, m->id, group, MC_UID, mcast) ?:
	       abi_event(m->channel, EV_MULTICAST_JOIN, NULL);
}

/* The next event is the JOIN of the membership with @uid. */
static void expect_joined(struct __test_metadata *_metadata, struct member *m, __u64 uid)
{
	EXPECT_EQ(uid, NEXT_EVENT(m->channel, EV_MULTICAST_JOIN).param.ud.mcast_uid);
}

/* The number of users of the group in /proc/net/igmp, or an errno */
static int ip_members(__u16 group)
{
	FILE *f = fopen("/proc/net/igmp", "re");
	struct sockaddr_in sin;
	unsigned int addr;
	int n, users = 0;
	char line[128];

	if (!f)
		return -errno;
	abi_group(&sin, group);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %8X %d", &addr, &n) == 2 && addr == sin.sin_addr.s_addr)
			users += n;
	}
	fclose(f);
	return users;
}

/* Sends from a to the group. Returns the number of messages that b receives, or an errno. */
static int b_gets(struct _test_data_mcast *self, __u16 group, long wait_ms)
{
	struct rdma_ep_cmd_create_ah ah = { .pd = self->s.pd };
	const struct abi *s = &self->s;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc[4];
	long end;
	int ret;

	ret = abi_post_recv(s, self->b.qp, 1, self->b.mr.iova, GRH_BYTES + MSG, self->b.mr.lkey);
	if (ret && ret != -ENOMEM)
		return ret;
	abi_self_ah(s, &ah.attr);
	abi_group_gid(ah.attr.grh.dgid, group);
	ret = ABI(s->fd, CREATE_AH, &ah);
	if (ret)
		return ret;
	wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 2);
	wr->ah = ah.ah;
	wr->remote_qpn = MC_QPN;
	wr->remote_qkey = UDP_QKEY;
	abi_mr_sge(&self->w, &self->a.mr, 0, MSG);
	ret = ABI_POST(s, SEND, self->a.qp, &self->w, NULL);
	if (!ret && (abi_wait(s, self->a.cq, wc, 1) != 1 || wc[0].status))
		ret = -EIO;
	ret = ret ?: ABI_DESTROY(s, AH, ah.ah);
	end = abi_now_ms() + wait_ms;
	while (!ret && abi_now_ms() < end) {
		ret = abi_poll(s, self->b.cq, wc, 4);
		usleep(1000);
	}
	return ret;
}

/* ---- Joining and leaving */

TEST_F(mcast, join_event)
{
	struct rdma_ep_channel_event ev, only = {};
	__u8 gid[16];
	__u32 mc;

	OK(abi_join(&self->s, self->a.id, 1, MC_UID, &mc));
	EXPECT_NE(0, mc);
	ev = EXPECT_EVENT(self->a.channel, EV_MULTICAST_JOIN, self->a.id);
	EXPECT_EQ(ID_UID, ev.uid);
	EXPECT_EQ(0, ev.status);
	EXPECT_EQ(RDMA_EP_EVENT_UD, ev.flags);
	EXPECT_EQ(MC_UID, ev.param.ud.mcast_uid);
	EXPECT_EQ(MC_QPN, ev.param.ud.qp_num);
	EXPECT_EQ(UDP_QKEY, ev.param.ud.qkey);
	EXPECT_EQ(1, ev.param.ud.ah_attr.is_global);
	EXPECT_EQ(1, ev.param.ud.ah_attr.port_num);
	abi_group_gid(gid, 1);
	EXPECT_EQ(0, memcmp(gid, ev.param.ud.ah_attr.grh.dgid, 16));
	EXPECT_EQ(1, ip_members(1));
	/* All other bytes are zero: above all, there is no kernel pointer. */
	only.uid = ev.uid;
	only.id = ev.id;
	only.event = ev.event;
	only.flags = ev.flags;
	only.param.ud.qp_num = ev.param.ud.qp_num;
	only.param.ud.qkey = ev.param.ud.qkey;
	only.param.ud.mcast_uid = ev.param.ud.mcast_uid;
	only.param.ud.ah_attr = ev.param.ud.ah_attr;
	EXPECT_EQ(0, memcmp(&only, &ev, sizeof(ev)));
	EXPECT_EQ(1, leave(&self->s, mc));
	EXPECT_EQ(0, ip_members(1));
	EXPECT_TRUE(abi_quiet(self->a.channel));
}

TEST_F(mcast, events_are_counted)
{
	__u32 mc[3];

	OK(joined(&self->s, &self->a, 1, &mc[0]));
	OK(joined(&self->s, &self->a, 2, &mc[1]));
	OK(abi_join(&self->s, self->a.id, 3, 0, &mc[2]));
	EXPECT_TRUE(abi_ready(self->a.channel, ABI_WAIT_MS));
	EXPECT_EQ(2, abi_events_reported(&self->s, self->a.id));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	EXPECT_EQ(-ENOENT, leave(&self->s, mc[0]));
	EXPECT_EQ(0, leave(&self->s, mc[2]));
	EXPECT_EQ(2, abi_events_reported(&self->s, self->a.id));
	EXPECT_EQ(2, ABI_DESTROY_COUNT(&self->s, ID, self->a.id));
	EXPECT_EQ(1, leave(&self->s, mc[1]));
}

/* The end of a membership drops its own unread events only. */
TEST_F(mcast, unread_events)
{
	__u32 mc[3];

	for (int i = 0; i < 3; i++)
		OK(abi_join(&self->s, self->a.id, i, i, &mc[i]));
	usleep(ABI_QUIET_MS * 1000);
	EXPECT_EQ(0, leave(&self->s, mc[1]));
	expect_joined(_metadata, &self->a, 0);
	expect_joined(_metadata, &self->a, 2);
	EXPECT_TRUE(abi_quiet(self->a.channel));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	EXPECT_EQ(1, leave(&self->s, mc[2]));
}

/* Leaving drops events that are queued, or are still to be queued. */
TEST_F(mcast, late_events)
{
	__u32 mc;

	for (int i = 0; i < 60; i++) {
		OK(abi_join(&self->s, self->a.id, i, MC_UID, &mc));
		if (i % 3)
			usleep(100 * (i % 10));
		OK(leave(&self->s, mc));
	}
	EXPECT_TRUE(abi_quiet(self->a.channel));
	EXPECT_EQ(0, abi_events_reported(&self->s, self->a.id));
	/* The QP is attached to none of the groups. */
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
}

/* The events of a membership move with its id. */
TEST_F(mcast, migrate)
{
	__u32 mc[2];

	OK(abi_join(&self->s, self->a.id, 1, 1, &mc[0]));
	OK(abi_join(&self->s, self->a.id, 2, 2, &mc[1]));
	EXPECT_TRUE(abi_ready(self->a.channel, ABI_WAIT_MS));
	OK(abi_migrate(&self->s, self->a.id, self->b.channel));
	EXPECT_EQ(0, leave(&self->s, mc[0]));
	expect_joined(_metadata, &self->b, 2);
	EXPECT_TRUE(abi_quiet(self->a.channel));
	EXPECT_TRUE(abi_quiet(self->b.channel));
	EXPECT_EQ(1, leave(&self->s, mc[1]));
}

/* Two memberships in one group have an event each, and end independently. */
TEST_F(mcast, same_group_twice)
{
	__u32 mc[2];

	for (int first = 0; first < 2; first++) {
		for (int i = 0; i < 2; i++) {
			OK(abi_join(&self->s, self->b.id, 1, i, &mc[i]));
			expect_joined(_metadata, &self->b, i);
		}
		EXPECT_EQ(1, b_gets(self, 1, ABI_WAIT_MS));
		EXPECT_EQ(1, leave(&self->s, mc[first]));
		EXPECT_EQ(1, ip_members(1));
		LOGGED(EXPECT_EQ(1, b_gets(self, 1, ABI_WAIT_MS)), "number %d has left", first);
		EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, QP, self->b.qp));
		EXPECT_EQ(1, leave(&self->s, mc[!first]));
		EXPECT_EQ(0, ip_members(1));
		EXPECT_EQ(0, b_gets(self, 1, 4 * ABI_QUIET_MS));
	}
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->b.qp));
}

/* Leaving detaches the QP, also if the JOIN has not been reported yet. */
TEST_F(mcast, qp_destroyed_right_after_leaving)
{
	struct rdma_ep_cmd_create_qp qp;
	__u32 mc;

	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
	for (int i = 0; i < 100; i++) {
		OK(abi_create_qp(&self->s, QPT_UD, self->a.cq, self->a.id, &qp));
		OK(abi_join(&self->s, self->a.id, 1, 0, &mc));
		usleep(i % 10 * 20);
		ASSERT_LE(0, leave(&self->s, mc));
		LOGGED(ASSERT_EQ(0, abi_destroy_flags(&self->s, RDMA_EP_OBJ_QP, qp.init.qp, 0)),
		       "round %d", i);
	}
}

/* Reading the event attaches the QP that the id has by then, once even if reads fail. */
TEST_F(mcast, qp_before_the_event_is_read)
{
	void *volatile nowhere = (void *)8;
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	__u32 mc;

	/* First in place of a QP that was attached, then for an id that had no QP */
	for (int i = 0; i < 2; i++) {
		OK(abi_join(s, self->b.id, 1, i, &mc));
		EXPECT_TRUE(abi_ready(self->b.channel, ABI_WAIT_MS));
		if (!i)
			OK(abi_destroy_flags(s, RDMA_EP_OBJ_QP, self->b.qp,
					     RDMA_EP_DESTROY_DETACH));
		OK(abi_create_qp(s, QPT_UD, self->b.cq, self->b.id, &qp));
		self->b.qp = qp.init.qp;
		EXPECT_EQ(0, b_gets(self, 1, 4 * ABI_QUIET_MS));
		for (int j = 0; j < 3; j++)
			EXPECT_ERRNO(EFAULT, read(self->b.channel, nowhere,
						  sizeof(struct rdma_ep_channel_event)));
		expect_joined(_metadata, &self->b, i);
		EXPECT_EQ(1, b_gets(self, 1, ABI_WAIT_MS));
		EXPECT_EQ(-EBUSY, ABI_DESTROY(s, QP, self->b.qp));
		EXPECT_EQ(1, leave(s, mc));
		EXPECT_EQ(0, b_gets(self, 1, 4 * ABI_QUIET_MS));
		EXPECT_EQ(0, ABI_DESTROY(s, QP, self->b.qp));
	}
}

/* Two memberships in one group, of which one ends before its event has been read */
TEST_F(mcast, same_group_twice_at_once)
{
	__u32 mc[2];

	for (int i = 0; i < 40; i++) {
		int first = i & 1;

		OK(abi_join(&self->s, self->a.id, 1, 0, &mc[0]));
		OK(abi_join(&self->s, self->a.id, 1, 1, &mc[1]));
		OK(leave(&self->s, mc[first]));
		expect_joined(_metadata, &self->a, !first);
		ASSERT_EQ(1, leave(&self->s, mc[!first]));
	}
	EXPECT_TRUE(abi_quiet(self->a.channel));
	EXPECT_EQ(0, ip_members(1));
}

TEST_F(mcast, send_only)
{
	struct rdma_ep_cmd_join_multicast j = {
		.flags = RDMA_EP_JOIN_SEND_ONLY, .uid = MC_UID, .id = self->a.id,
	};

	abi_group((struct sockaddr_in *)&j.addr, 1);
	OK(ABI(self->s.fd, JOIN_MULTICAST, &j));
	EXPECT_EQ(0, abi_event(self->a.channel, EV_MULTICAST_JOIN, NULL));
	EXPECT_EQ(0, ip_members(1));
	/* The QP is not attached. */
	EXPECT_EQ(-EINVAL, abi_detach(&self->s, self->a.qp, 1));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
	EXPECT_EQ(1, leave(&self->s, j.mcast));
}

/* rdma_cm joins such a group, but the QP cannot be attached to it. */
TEST_F(mcast, unicast_address)
{
	struct rdma_ep_cmd_join_multicast j = { .uid = MC_UID, .id = self->a.id };
	struct rdma_ep_channel_event ev;

	memcpy(&j.addr, &self->s.addr, sizeof(self->s.addr));
	OK(ABI(self->s.fd, JOIN_MULTICAST, &j));
	EXPECT_EQ(0, abi_event(self->a.channel, EV_MULTICAST_ERROR, &ev));
	EXPECT_EQ(-EINVAL, ev.status);
	EXPECT_EQ(MC_UID, ev.param.ud.mcast_uid);
	EXPECT_EQ(1, leave(&self->s, j.mcast));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
}

TEST_F(mcast, bad_addresses)
{
	const struct {
		struct sockaddr_in6 sin6;
		int ret;
	} bad[] = {
		{ { .sin6_family = AF_UNSPEC }, -EINVAL },
		{ { .sin6_family = AF_UNIX }, -EAFNOSUPPORT },
		{ { .sin6_family = 0xffff }, -EAFNOSUPPORT },
		{ { .sin6_family = AF_INET }, -EINVAL },
		{ { .sin6_family = AF_INET6 }, -EINVAL },
		{ { .sin6_family = 27 /* AF_IB */ }, -EINVAL },
		{ { .sin6_family = AF_INET6, .sin6_addr.s6_addr = {
			0xff, 0x0e, [15] = 1 } }, -ENOTSUPP },
	};
	struct rdma_ep_cmd_join_multicast j = { .id = self->a.id };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(&j.addr, &bad[i].sin6, sizeof(bad[i].sin6));
		LOGGED(EXPECT_EQ(bad[i].ret, ABI(self->s.fd, JOIN_MULTICAST, &j)),
		       "address %zu", i);
	}
	EXPECT_TRUE(abi_quiet(self->a.channel));
}

/* rdma_cm leaves groups on the interface of the id, which a member must not change. (CMA-09) */
TEST_F(mcast, resolve_as_a_member)
{
	struct sockaddr_in dst = self->s.addr;
	struct sockaddr_in6 sin6;
	__u32 mcast, id;

	/* IPv4: the source address decides, and does not change. */
	dst.sin_port = htons(4711);
	OK(abi_join(&self->s, self->a.id, 1, 0, &mcast));
	OK(abi_event(self->a.channel, EV_MULTICAST_JOIN, NULL));
	EXPECT_EQ(0, abi_resolve_addr(&self->s, self->a.id, &dst, 5000));
	EXPECT_EQ(0, abi_event(self->a.channel, EV_ADDR_RESOLVED, NULL));

	SKIP_IF(abi_addr6(&self->s, &sin6), "no IPv6 address");
	OK(abi_create_id(&self->s, self->a.channel, RDMA_PS_UDP, QPT_UD, 0, &id));
	OK(abi_bind_to(&self->s, id, &sin6));
	sin6.sin6_port = htons(4711);
	OK(abi_join(&self->s, id, 1, 0, &mcast));
	OK(abi_event(self->a.channel, EV_MULTICAST_JOIN, NULL));
	EXPECT_EQ(-EINVAL, abi_resolve_addr(&self->s, id, &sin6, 5000));
	EXPECT_EQ(1, leave(&self->s, mcast));
	EXPECT_EQ(0, abi_resolve_addr(&self->s, id, &sin6, 5000));
	EXPECT_EQ(0, abi_event(self->a.channel, EV_ADDR_RESOLVED, NULL));
}

TEST_F(mcast, states_of_the_id)
{
	struct abi *s = &self->s;
	int channel = abi_channel(s), server = abi_channel(s);
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	struct abi_pair p = {};
	__u32 id, listener, mc;

	OK(abi_create_id(s, channel, RDMA_PS_UDP, QPT_UD, 0, &id));
	EXPECT_EQ(-EINVAL, abi_join(s, id, 1, 0, &mc));
	sin = s->addr;
	OK(abi_tcp_id(s, channel, 0, &id));
	EXPECT_EQ(-EINVAL, abi_join(s, id, 1, 0, &mc));
	OK(abi_bind(s, id, &sin));
	EXPECT_EQ(-EINVAL, abi_join(s, id, 1, 0, &mc));

	OK(abi_listen(s, server, RDMA_PS_UDP, 0, 0, &listener, &sin));
	EXPECT_EQ(-EINVAL, abi_join(s, listener, 1, 0, &mc));
	/* An id may join with its peer's address resolved, but not with a route. */
	OK(abi_create_id(s, channel, RDMA_PS_UDP, QPT_UD, 0, &id));
	OK(abi_resolve(s, channel, id, &sin));
	OK(abi_join(s, id, 1, 0, &mc));
	EXPECT_EQ(0, abi_event(channel, EV_MULTICAST_JOIN, NULL));
	EXPECT_EQ(1, leave(s, mc));
	OK(abi_resolve_route(s, channel, id));
	EXPECT_EQ(-EINVAL, abi_join(s, id, 1, 0, &mc));
	OK(abi_connect(s, id, 0));
	OK(abi_event(server, EV_CONNECT_REQUEST, &ev));
	EXPECT_EQ(-EINVAL, abi_join(s, id, 1, 0, &mc));
	EXPECT_EQ(-EINVAL, abi_join(s, ev.child, 1, 0, &mc));

	OK(abi_pair_open(s, &p));
	EXPECT_EQ(-EINVAL, abi_join(s, p.end[0].id, 1, 0, &mc));
	EXPECT_EQ(-EINVAL, abi_join(s, p.end[1].id, 1, 0, &mc));
	EXPECT_TRUE(abi_quiet(channel));
	EXPECT_EQ(0, ip_members(1));
}

/* A membership whose handle cannot be returned is ended. */
TEST_F(mcast, bad_response_pointer)
{
	struct rdma_ep_cmd_join_multicast *j;
	__u32 mc;

	j = abi_map(4096);
	j->size = sizeof(*j);
	j->uid = 7;
	j->id = self->a.id;
	abi_group((struct sockaddr_in *)&j->addr, 1);
	mprotect(j, 4096, PROT_READ);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_JOIN_MULTICAST, j));
	EXPECT_TRUE(abi_quiet(self->a.channel));
	EXPECT_EQ(0, ip_members(1));
	EXPECT_EQ(0, abi_events_reported(&self->s, self->a.id));
	OK(abi_join(&self->s, self->a.id, 1, MC_UID, &mc));
	expect_joined(_metadata, &self->a, MC_UID);
	EXPECT_EQ(1, abi_events_reported(&self->s, self->a.id));
	EXPECT_EQ(1, leave(&self->s, mc));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
}

/* ---- Order of destruction */

TEST_F(mcast, id_first)
{
	__u32 mc[2];

	OK(joined(&self->s, &self->a, 1, &mc[0]));
	OK(abi_join(&self->s, self->a.id, 2, 0, &mc[1]));
	EXPECT_TRUE(abi_ready(self->a.channel, ABI_WAIT_MS));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, self->a.id));
	EXPECT_TRUE(abi_quiet(self->a.channel));
	/* The id has left the groups, but its QP is still attached. */
	EXPECT_EQ(0, ip_members(1));
	EXPECT_EQ(0, ip_members(2));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, QP, self->a.qp));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, QP, self->a.qp));
	EXPECT_EQ(0, leave(&self->s, mc[1]));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
}

TEST_F(mcast, qp_first)
{
	__u32 mc[2];

	OK(joined(&self->s, &self->a, 1, &mc[0]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, QP, self->a.qp));
	EXPECT_EQ(0, abi_destroy_flags(&self->s, RDMA_EP_OBJ_QP, self->a.qp,
				       RDMA_EP_DESTROY_DETACH));
	/* The id keeps the membership, and can join other groups. */
	EXPECT_EQ(1, ip_members(1));
	EXPECT_EQ(0, joined(&self->s, &self->a, 2, &mc[1]));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	EXPECT_EQ(1, leave(&self->s, mc[1]));
	EXPECT_EQ(0, ip_members(1));
}

/* Leaving does not fail if the user has detached the QP. */
TEST_F(mcast, detach_the_ids_qp)
{
	__u32 mc[2];

	OK(joined(&self->s, &self->a, 1, &mc[0]));
	EXPECT_EQ(0, abi_attach(&self->s, self->a.qp, 1));
	EXPECT_EQ(0, abi_detach(&self->s, self->a.qp, 1));
	EXPECT_EQ(-EINVAL, abi_detach(&self->s, self->a.qp, 1));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	OK(joined(&self->s, &self->a, 1, &mc[0]));
	OK(joined(&self->s, &self->a, 1, &mc[1]));
	EXPECT_EQ(0, abi_detach(&self->s, self->a.qp, 1));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->a.qp));
	EXPECT_EQ(1, leave(&self->s, mc[0]));
	EXPECT_EQ(1, leave(&self->s, mc[1]));
}

/* Leaving detaches a QP that the user has attached, unless another membership needs it. */
TEST_F(mcast, users_attachment)
{
	struct rdma_ep_cmd_create_qp c;
	struct abi *s = &self->s;
	__u32 mc[2];

	OK(ABI_DESTROY(s, QP, self->a.qp));
	OK(joined(s, &self->a, 1, &mc[0]));
	OK(abi_create_qp(s, QPT_UD, self->a.cq, self->a.id, &c));
	OK(abi_attach(s, c.init.qp, 1));
	OK(abi_attach(s, c.init.qp, 2));
	OK(abi_attach(s, self->b.qp, 1));
	EXPECT_EQ(1, leave(s, mc[0]));
	EXPECT_EQ(-EINVAL, abi_detach(s, c.init.qp, 1));
	EXPECT_EQ(0, abi_detach(s, c.init.qp, 2));
	EXPECT_EQ(0, abi_detach(s, self->b.qp, 1));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));

	OK(joined(s, &self->a, 1, &mc[0]));
	OK(abi_create_qp(s, QPT_UD, self->a.cq, self->a.id, &c));
	OK(joined(s, &self->a, 1, &mc[1]));
	OK(abi_attach(s, c.init.qp, 1));
	EXPECT_EQ(1, leave(s, mc[0]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(1, leave(s, mc[1]));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
}

/* Closes a session with memberships and attachments in every state. */
TEST(close_session)
{
	struct member m[6] = {};
	struct rdma_ep_channel_event ev;
	struct abi s;
	__u32 mc;

	OK(abi_idle());
	OK(abi_open(&s));
	SKIP_IF(s.iwarp, "iWARP has no multicast");
	for (int i = 0; i < 6; i++)
		OK(member_up(&s, &m[i]));
	/* Event read; unread; id destroyed; QP destroyed; both destroyed; not yet reported */
	OK(joined(&s, &m[0], 0, &mc));
	OK(abi_join(&s, m[1].id, 1, MC_UID, &mc));
	OK(joined(&s, &m[2], 2, &mc));
	OK(abi_join(&s, m[2].id, 3, MC_UID, &mc));
	OK(ABI_DESTROY(&s, ID, m[2].id));
	for (int i = 3; i < 5; i++) {
		OK(joined(&s, &m[i], i, &mc));
		OK(abi_destroy_flags(&s, RDMA_EP_OBJ_QP, m[i].qp, RDMA_EP_DESTROY_DETACH));
	}
	OK(ABI_DESTROY(&s, ID, m[4].id));
	OK(abi_attach(&s, m[0].qp, 0));
	OK(abi_attach(&s, m[0].qp, 100));
	OK(abi_attach(&s, m[5].qp, 100));
	OK(abi_join(&s, m[5].id, 5, MC_UID, &mc));
	close(s.fd);
	for (int i = 0; i < 6; i++) {
		LOGGED(EXPECT_EQ(0, ip_members(i)), "group %d", i);
		EXPECT_EQ(-EIO, abi_read(m[i].channel, &ev, sizeof(ev), ABI_WAIT_MS));
	}
	close(s.async_fd);
	EXPECT_EQ(0, abi_idle());
}

/* The close does not search the list of memberships for each of them. */
TEST_F(mcast, close_with_many)
{
	long start = abi_now_ms(), join_ms;
	__u32 id = self->a.id, mc;

	for (int i = 0; i < 4000; i++) {
		if (i && i % 1000 == 0)
			OK(abi_ud_id(&self->s, self->a.channel, 0, &id));
		OK(abi_join(&self->s, id, i, MC_UID, &mc));
	}
	join_ms = abi_now_ms() - start;
	start = abi_now_ms();
	abi_close(&self->s);
	/* (On the debug kernel, both take about as long.) */
	EXPECT_GT(2 * join_ms, abi_now_ms() - start);
	EXPECT_EQ(0, ip_members(3999));
}

/* The limit of an id counts memberships, also in the same group. (CMA-01) */
TEST_F(mcast, join_too_many)
{
	enum { MAX = 1024 };
	struct rdma_ep_cmd_join_multicast j = { .flags = RDMA_EP_JOIN_SEND_ONLY, .id = self->a.id };
	struct abi *s = &self->s;

	abi_group((struct sockaddr_in *)&j.addr, 1);
	for (int i = 0; i < MAX; i++)
		LOGGED(ASSERT_EQ(0, ABI(s->fd, JOIN_MULTICAST, &j)), "time %d", i);
	EXPECT_EQ(-ENOMEM, ABI(s->fd, JOIN_MULTICAST, &j));
	leave(s, j.mcast);
	EXPECT_EQ(0, ABI(s->fd, JOIN_MULTICAST, &j));
	EXPECT_EQ(-ENOMEM, ABI(s->fd, JOIN_MULTICAST, &j));
	/* Other ids are not affected. */
	j.id = self->b.id;
	EXPECT_EQ(0, ABI(s->fd, JOIN_MULTICAST, &j));
}

TEST(iwarp)
{
	struct rdma_ep_cmd_create_qp c;
	struct abi s;
	__u32 id, mc, cq;

	OK(abi_open(&s));
	SKIP_IF(!s.iwarp, "not iWARP");
	OK(abi_ud_id(&s, abi_channel(&s), 0, &id));
	EXPECT_EQ(-ENOSYS, abi_join(&s, id, 1, 0, &mc));
	OK(abi_create_cq(&s, -1, 16, 0, &cq));
	OK(abi_create_qp(&s, QPT_RC, cq, 0, &c));
	EXPECT_EQ(-EOPNOTSUPP, abi_attach(&s, c.init.qp, 1));
	EXPECT_EQ(-EINVAL, abi_detach(&s, c.init.qp, 1));
	abi_close(&s);
}

TEST_HARNESS_MAIN
