// SPDX-License-Identifier: GPL-2.0-only
/*
 * SPLIT_ID moves a connection request to a session of its own, where it is accepted.
 *
 * The tests would catch: a request that is lost by a failure, or remains after a success; an id
 * that moves with a QP or SRQ; a listener or connection that moves; a peer that is not rejected
 * when the new session ends.
 */
#include "abi_test.h"

FIXTURE(split) {
	struct abi s, client;
	int channel, client_channel;	/* of the listener, of the client's ids */
	__u32 listener, child;		/* the listener, the last request */
	struct sockaddr_in to;		/* the listener's address */
	struct rdma_ep_cmd_create_qp client_qp, qp;
};

/* Connects another client, and reads its request. */
static int request(struct _test_data_split *t)
{
	struct rdma_ep_channel_event ev;
	__u32 id;
	int ret;

	ret = abi_tcp_client(&t->client, t->client_channel, &t->to, 0, &id) ?:
	      abi_id_qp(&t->client, id, &t->client_qp) ?:
	      abi_connect(&t->client, id, 0) ?:
	      abi_event(t->channel, EV_CONNECT_REQUEST, &ev);
	t->child = ev.child;
	return ret;
}

FIXTURE_SETUP(split)
{
	OK(abi_open(&self->s));
	OK(abi_open(&self->client));
	self->channel = abi_channel(&self->s);
	self->client_channel = FD(abi_channel(&self->client));
	OK(abi_tcp_listen(&self->s, self->channel, 4, 0, &self->listener, &self->to));
	OK(request(self));
}

FIXTURE_TEARDOWN(split)
{
	abi_close(&self->s);
	abi_close(&self->client);
}

TEST_F(split, request_moves_to_own_session)
{
	struct rdma_ep_cmd_set_obj cookie = {
		.flags = RDMA_EP_SET_COOKIE, .type = RDMA_EP_OBJ_ID, .handle = self->child,
		.cookie = 4711,
	};
	struct rdma_ep_obj_info info[ABI_LIST_MAX];
	struct rdma_ep_channel_event ev;
	struct abi own = self->s;
	int events, fd;

	OK(ABI(self->s.fd, SET_OBJ, &cookie));
	fd = FD(abi_split_id(&self->s, self->child));
	EXPECT_EQ(-ENOENT, abi_split_id(&self->s, self->child));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(&self->s, ID, self->child));
	own.fd = FD(abi_adopt(fd));
	ASSERT_EQ(1, abi_list_objs(own.fd, 64, info));
	EXPECT_EQ(RDMA_EP_OBJ_ID, info[0].type);
	EXPECT_EQ(RDMA_EP_OBJ_REQUEST, info[0].flags);
	EXPECT_EQ(4711, info[0].cookie);
	EXPECT_EQ(self->s.dev, info[0].dev_index);
	self->child = info[0].handle;
	events = FD(abi_open_queue(own.fd, RDMA_EP_OBJ_ID, self->child));
	OK(abi_open_default(&own));
	OK(abi_id_qp(&own, self->child, &self->qp));
	OK(abi_post_empty_recv(&own, self->qp.init.qp, 5));
	OK(abi_accept(&own, self->child, 9, 0));
	ev = NEXT_EVENT(events, EV_ESTABLISHED);
	EXPECT_EQ(9, ev.uid);
	EXPECT_EQ(0, abi_event(self->client_channel, EV_ESTABLISHED, NULL));
	/* The peer's session may change its owner meanwhile. */
	OK(abi_export(&self->client, 0));
	self->client.fd = FD(abi_adopt(self->client.fd));
	OK(abi_post_empty_send(&self->client, self->client_qp.init.qp, SEND_SIGNALED, 1));
	EXPECT_WC(&own, self->qp.init.recv_cq.cq, 5, WC_SUCCESS);
	/* The id ends with its session; context, PD and listener remain. */
	close(own.fd);
	EXPECT_EQ(3, abi_count_objs(self->s.fd));
}

TEST_F(split, only_requests_move)
{
	struct rdma_ep_cmd_split_id s = { .id = self->child };
	int fd, fds;

	EXPECT_EQ(-EINVAL, abi_split_id(&self->s, self->listener));
	OK(abi_id_qp(&self->s, self->child, &self->qp));
	fds = abi_count_fds();
	EXPECT_EQ(-EBUSY, ABI(self->s.fd, SPLIT_ID, &s));
	EXPECT_EQ(self->qp.init.qp, s.busy);
	EXPECT_EQ(RDMA_EP_OBJ_QP, s.busy_type);
	EXPECT_EQ(-1, s.fd);
	EXPECT_EQ(fds, abi_count_fds());
	/* The refused call has not changed the request. */
	OK(abi_accept(&self->s, self->child, 0, 0));
	EXPECT_EQ(0, abi_event(self->client_channel, EV_ESTABLISHED, NULL));
	EXPECT_EQ(0, abi_event(self->channel, EV_ESTABLISHED, NULL));
	/* Established, with a QP */
	EXPECT_EQ(-EINVAL, abi_split_id(&self->s, self->child));
	EXPECT_EQ(-ENOENT, abi_split_id(&self->s, self->qp.init.qp));
	/* If no process adopts the session, the peer is rejected. */
	OK(request(self));
	fd = FD(abi_split_id(&self->s, self->child));
	close(fd);
	EXPECT_EQ(0, abi_event(self->client_channel, EV_REJECTED, NULL));
}

/* A request can move after its QP or SRQ has been destroyed. A listener never moves. */
TEST_F(split, request_moves_without_its_parts)
{
	struct rdma_ep_cmd_create_srq srq = { .max_wr = 4, .max_sge = 1, .id = self->child };
	int fd;

	OK(abi_id_qp(&self->s, self->child, &self->qp));
	EXPECT_EQ(-EBUSY, abi_split_id(&self->s, self->child));
	OK(ABI_DESTROY(&self->s, QP, self->qp.init.qp));
	OK(ABI(self->s.fd, CREATE_SRQ, &srq));
	EXPECT_EQ(-EBUSY, abi_split_id(&self->s, self->child));
	OK(ABI_DESTROY(&self->s, SRQ, srq.srq));
	fd = abi_split_id(&self->s, self->child);
	EXPECT_LT(0, fd);
	close(fd);
	EXPECT_EQ(0, abi_event(self->client_channel, EV_REJECTED, NULL));
	srq.id = self->listener;
	OK(ABI(self->s.fd, CREATE_SRQ, &srq));
	EXPECT_EQ(-EINVAL, abi_split_id(&self->s, self->listener));
}

/* If the result cannot be written the request remains. */
TEST_F(split, failed_split)
{
	struct rdma_ep_cmd_split_id *s = abi_map(4096);
	int fds = abi_count_fds();

	s->size = sizeof(*s);
	s->id = self->child;
	mprotect(s, 4096, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_SPLIT_ID, s));
	EXPECT_EQ(fds, abi_count_fds());
	OK(abi_id_qp(&self->s, self->child, &self->qp));
	OK(abi_accept(&self->s, self->child, 0, 0));
	EXPECT_EQ(0, abi_event(self->client_channel, EV_ESTABLISHED, NULL));
}

TEST_HARNESS_MAIN
