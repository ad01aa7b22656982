// SPDX-License-Identifier: GPL-2.0-only
/* Connection requests that are rejected, wait in the backlog, or lose one of their ends. */
#include "abi_cm.h"

/* An ACCEPT that cannot move the QP to RTS leaves the request pending. */
TEST_F(cm, reject_after_accept)
{
	static const char why[] = "after all";
	struct abi *s = &self->s;
	struct rdma_ep_cmd_reject r = { .reason = 28, .private_data_len = sizeof(why) };
	struct rdma_ep_qp_init qp;
	struct rdma_ep_channel_event ev;
	__u32 id;

	SKIP_IF(s->iwarp, "iWARP's CM moves the QP");
	memcpy(r.private_data, why, sizeof(why));
	OK(request(self, &id, &r.id));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	OK(abi_qp_state(s, qp.qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	/* The QP stays in the error state. */
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	EXPECT_EQ(0, ABI(s->fd, REJECT, &r));
	ev = NEXT_EVENT(self->client, EV_REJECTED);
	EXPECT_STREQ(why, (char *)ev.param.conn.private_data);
	EXPECT_EQ(-EINVAL, ABI(s->fd, REJECT, &r));
	ABI_DESTROY(s, QP, qp.qp);

	/* With another QP the ACCEPT succeeds. */
	OK(request(self, &id, &r.id));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	OK(abi_qp_state(s, qp.qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, abi_accept(s, r.id, CHILD_UID, 0));
	OK(ABI_DESTROY(s, QP, qp.qp));
	OK(new_qp(self, r.id, QPT_RC, &qp));
	EXPECT_EQ(0, abi_accept(s, r.id, CHILD_UID, 0));
	EXPECT_EQ(0, abi_event(self->client, EV_ESTABLISHED, NULL));
}

TEST_F(cm, reject)
{
	static const __u32 bad_reason[] = { 1, 8, 24, 27, 29, 34, 36, ~0U };
	static const char why[] = "no time for you";
	struct abi *s = &self->s;
	struct rdma_ep_cmd_reject r = {};
	struct rdma_ep_qp_init qp;
	struct rdma_ep_channel_event ev;
	__u32 id, child;

	for (__u32 reason = 0; reason <= 35; reason += reason ? 7 : 28) {
		OK(request(self, &id, &child));
		OK(new_qp(self, child, QPT_RC, &qp));
		r = (struct rdma_ep_cmd_reject) { .id = child, .reason = reason };
		for (size_t i = 0; i < ARRAY_SIZE(bad_reason); i++)
			LOGGED(EXPECT_EQ(-EINVAL,
					 ABI_WITH(s->fd, REJECT, r, reason, bad_reason[i])),
			       "reason %u", bad_reason[i]);

		const __u32 bad_len[] = {
			RDMA_EP_MAX_PRIVATE_DATA + 1, ~0U, max_data(s, REJ_BYTES) + 1
		};

		for (size_t i = 0; i < ARRAY_SIZE(bad_len); i++)
			EXPECT_EQ(-EINVAL,
				  ABI_WITH(s->fd, REJECT, r, private_data_len, bad_len[i]));
		r.private_data_len = strlen(why);
		strcpy((char *)r.private_data, why);
		EXPECT_EQ(0, ABI(s->fd, REJECT, &r));
		ev = EXPECT_EVENT(self->client, EV_REJECTED, id);
		EXPECT_EQ(CLIENT_UID, ev.uid);
		EXPECT_EQ(0, ev.flags);
		EXPECT_TRUE(same_data(ev.param.conn.private_data, why,
				      ev.param.conn.private_data_len));
		if (!s->iwarp) {
			EXPECT_EQ(REJ_BYTES, ev.param.conn.private_data_len);
			EXPECT_EQ(reason ?: 28, (__u32)ev.status);
		}
		/* A request is rejected once. A late ACCEPT does not move the QP. */
		EXPECT_EQ(-EINVAL, ABI(s->fd, REJECT, &r));
		EXPECT_EQ(-EINVAL, abi_accept(s, child, 1, 0));
		EXPECT_QPS(QPS_INIT, s, qp.qp);
		EXPECT_EQ(0, ABI_DESTROY(s, ID, child));
	}
}

/* A request has no uid before ACCEPT, so its events are dropped until then. */
TEST_F(cm, events_before_accept_are_dropped)
{
	__u32 id, child;

	OK(request(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	EXPECT_TRUE(abi_quiet(self->server));
	EXPECT_EQ(0, abi_events_reported(&self->s, child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
}

TEST_F(cm, destroying_a_child_rejects)
{
	__u32 id, child;

	OK(request(self, &id, &child));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, child));
	EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, NULL));
}

/* The destruction of a listener rejects unread requests, whose children have no handle yet. */
TEST_F(cm, destroying_a_listener_rejects)
{
	struct rdma_ep_qp_init qp;
	__u32 id[2], child;

	/* One request is read, one is not. */
	OK(request(self, &id[0], &child));
	OK(asking(self, &id[1]));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));

	EXPECT_EQ(1, ABI_DESTROY_COUNT(&self->s, ID, self->listener));
	EXPECT_FALSE(abi_ready(self->server, 0));
	EXPECT_EVENT(self->client, EV_REJECTED, id[1]);
	/* The request that was read remains. */
	OK(new_qp(self, child, QPT_RC, &qp));
	EXPECT_EQ(0, abi_accept(&self->s, child, CHILD_UID, 0));
	EXPECT_EVENT(self->client, EV_ESTABLISHED, id[0]);
}

/*
 * Both sides are in one session. Over iWARP the destruction of a connecting id waits for the
 * answer to its request (siw: 10 s), so the session first answers requests, read and unread.
 */
TEST_F(cm, closing_answers_requests)
{
	__u32 id[2], child;

	OK(request(self, &id[0], &child));
	OK(asking(self, &id[1]));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));
	EXPECT_WITHIN(5000 * TEST_SCALE, abi_close(&self->s));
	OK(abi_open(&self->s));
}

/* The IB CM drops a request above the backlog, and the peer repeats it. iWARP rejects it. */
TEST_F_TIMEOUT(cm, backlog, 60)
{
	struct abi *s = &self->s;
	struct rdma_ep_channel_event ev[4];
	struct sockaddr_in sin;
	int i, channel = abi_channel(s);
	__u32 listener, id;
	struct rdma_ep_qp_init qp;

	OK(abi_tcp_listen(s, channel, 2, 0, &listener, &sin));
	for (i = 0; i < 3; i++) {
		OK(abi_tcp_client(s, self->client, &sin, i, &id));
		OK(new_qp(self, id, QPT_RC, &qp));
		OK(abi_connect(s, id, 0));
	}
	usleep(4 * ABI_QUIET_MS * 1000);
	ASSERT_EQ(2 * sizeof(ev[0]), read(channel, ev, sizeof(ev)));
	if (s->iwarp) {
		EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, &ev[2]));
		EXPECT_EQ(id, ev[2].id);
		EXPECT_TRUE(abi_quiet(channel));
		return;
	}
	OK(abi_read(channel, &ev[2], sizeof(ev[2]), 2 * ABI_WAIT_MS));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(EV_CONNECT_REQUEST, ev[i].event);
	EXPECT_NE(ev[0].child, ev[1].child);
	EXPECT_NE(ev[1].child, ev[2].child);
	EXPECT_EQ(3, abi_events_reported(s, listener));
}

/* A request that the kernel cannot take leaves its place in the backlog to the next one. */
TEST_F_TIMEOUT(cm, refused_request_takes_no_place, 60)
{
	struct abi *s = &self->s;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_qp_init qp;
	struct sockaddr_in sin;
	int channel = abi_channel(s), max;
	__u32 listener, id[2];

	OK(abi_tcp_listen(s, channel, 1, 0, &listener, &sin));
	for (int i = 0; i < 2; i++) {
		OK(abi_tcp_client(s, self->client, &sin, i, &id[i]));
		OK(new_qp(self, id[i], QPT_RC, &qp));
	}
	/* The limit exempts this task, but not the kernel's thread. */
	max = test_param("session_max_objects", 1);
	EXPECT_EQ(0, abi_connect(s, id[0], 0));
	EXPECT_FALSE(abi_ready(channel, 4 * ABI_QUIET_MS));
	test_param("session_max_objects", max);
	if (s->iwarp) {
		OK(abi_read(self->client, &ev, sizeof(ev), ABI_WAIT_MS));
		OK(abi_connect(s, id[1], 0));
	}
	EXPECT_EQ(0, abi_read(channel, &ev, sizeof(ev), 2 * ABI_WAIT_MS));
	EXPECT_EQ(EV_CONNECT_REQUEST, ev.event);
}

TEST_HARNESS_MAIN
