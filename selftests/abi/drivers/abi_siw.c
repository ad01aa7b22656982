// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP sockets as peers of siw. They request to send the first message (MPA, peer to peer), and
 * do not send it.
 */
#include "abi_test.h"
#include "abi_mpa.h"

FIXTURE(siw) {
	struct abi s;
	struct rdma_ep_cmd_create_qp qp;
	int channel, tcp;
	__u32 id;
};

FIXTURE_VARIANT(siw) {
	bool other;		/* accept with a QP that is not the id's */
};

FIXTURE_VARIANT_ADD(siw, own) {};
FIXTURE_VARIANT_ADD(siw, other) { .other = true };

FIXTURE_SETUP(siw)
{
	struct mpa_request req = {
		.frame.bits = htons(MPA_ENHANCED | MPA_REVISION_2), .frame.len = htons(4),
		.ird = htons(MPA_PEER_TO_PEER | 1), .ord = htons(MPA_RTR_WRITE | 1),
	};
	struct sockaddr_in sin;
	__u32 listener;

	OK(abi_open(&self->s));
	if (!self->s.iwarp)
		SKIP_FIXTURE("it is no TCP");
	self->channel = abi_channel(&self->s);
	OK(abi_tcp_listen(&self->s, self->channel, 0, 1, &listener, &sin));
	self->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(connect(self->tcp, (struct sockaddr *)&sin, sizeof(sin)));
	memcpy(req.frame.key, MPA_REQUEST, sizeof(req.frame.key));
	ASSERT_EQ(sizeof(req), write(self->tcp, &req, sizeof(req)));
	self->id = NEXT_EVENT(self->channel, EV_CONNECT_REQUEST).child;
	OK(abi_id_qp(&self->s, variant->other ? 0 : self->id, &self->qp));
	OK(abi_accept(&self->s, self->id, 2, variant->other ? self->qp.init.qp_num : 0));
	/* The connection is established by the peer's first message. */
	EXPECT_TRUE(abi_quiet(self->channel));
}

FIXTURE_TEARDOWN(siw)
{
	long start = abi_now_ms();

	close(self->tcp);
	close(self->channel);
	abi_close(&self->s);
	EXPECT_GT(5000 * TEST_SCALE, abi_now_ms() - start);
}

/* iw_cm BUG()s if it sees CLOSE before ESTABLISHED. (IWCM-02) */
TEST_F(siw, silent_peer_resets)
{
	struct linger now = { .l_onoff = 1 };

	OK(setsockopt(self->tcp, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	close(self->tcp);
	self->tcp = -1;
	EXPECT_EVENT(self->channel, EV_ESTABLISHED, self->id);
	EXPECT_EVENT(self->channel, EV_DISCONNECTED, self->id);
	EXPECT_TRUE(abi_quiet(self->channel));
}

/* A peer that stays and sends nothing: no call may wait for it. */
TEST_F(siw, silent_peer_disconnect_returns)
{
	long start = abi_now_ms();

	EXPECT_EQ(0, ABI_ID_CMD(&self->s, DISCONNECT, self->id, 0));
	EXPECT_GT(5000 * TEST_SCALE, abi_now_ms() - start);
}

TEST_F(siw, silent_peer_destroy_qp_returns)
{
	long start = abi_now_ms();

	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->qp.init.qp));
	/* That has ended the connection. */
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, DISCONNECT, self->id, 0));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, self->id));
	EXPECT_GT(5000 * TEST_SCALE, abi_now_ms() - start);
}

TEST_F(siw, silent_peer_destroy_id_returns)
{
	long start = abi_now_ms();

	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, self->id));
	EXPECT_GT(5000 * TEST_SCALE, abi_now_ms() - start);
}

TEST_F(siw, silent_peer_close_returns)
{
	/* The teardown closes the session. */
}

/* Data that is no valid message establishes the connection, and ends it. */
TEST_F(siw, peer_sends_garbage)
{
	char words[64] = "\0\2what is this";

	ASSERT_EQ(sizeof(words), write(self->tcp, words, sizeof(words)));
	OK(abi_event(self->channel, EV_ESTABLISHED, NULL));
	OK(abi_event(self->channel, EV_DISCONNECTED, NULL));
}

TEST_HARNESS_MAIN
