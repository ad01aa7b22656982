// SPDX-License-Identifier: GPL-2.0-only
/*
 * O_ASYNC: SIGIO for completion channels, queues of asynchronous events and event channels. It
 * would catch: a file that sends no signal, a signal without an event, a signal after the flag
 * has been cleared.
 */
#include <time.h>

#include "lib_test.h"

static sigset_t sigio;

/* Makes the file send SIGIO to this process, which blocks the signal. */
static int set_async(int fd)
{
	sigemptyset(&sigio);
	sigaddset(&sigio, SIGIO);
	DO(sigprocmask(SIG_BLOCK, &sigio, NULL));
	DO(fcntl(fd, F_SETOWN, getpid()));
	DO(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	return 0;
}

static int clear_async(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC);
}

static bool signalled(int ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	return sigtimedwait(&sigio, NULL, &time) == SIGIO;
}

#define EXPECT_SIGIO()		EXPECT_TRUE(signalled(WAIT_MS))
#define EXPECT_NO_SIGIO()	EXPECT_FALSE(signalled(QUIET_MS))

FIXTURE(sigio) {
	struct pair p;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	char buf[64];
};

/* The passive side receives into an SRQ. */
FIXTURE_SETUP(sigio)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };

	ASSERT_EQ(0, pair_client(&self->p));
	ASSERT_EQ(0, pair_passive(&self->p));
	ASSERT_EQ(0, rdma_create_srq(self->p.p, NULL, &init));
	self->srq = self->p.p->srq;
	ASSERT_EQ(0, pair_qp(self->p.p));
	ASSERT_EQ(0, pair_accept(&self->p));
	self->mr = ASSERT_PTR(rdma_reg_msgs(self->p.p, self->buf, sizeof(self->buf)));
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, rdma_post_recv(self->p.p, NULL, self->buf, 64, self->mr));
}

FIXTURE_TEARDOWN(sigio)
{
	EXPECT_EQ(0, rdma_dereg_mr(self->mr));
	rdma_destroy_qp(self->p.p);
	rdma_destroy_srq(self->p.p);
	EXPECT_EQ(0, pair_down(&self->p));
}

TEST_F(sigio, completion_channel)
{
	struct ibv_comp_channel *ch = self->p.p->recv_cq_channel;
	struct ibv_cq *cq = self->p.p->recv_cq;

	ASSERT_EQ(0, set_async(ch->fd));
	ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
	EXPECT_NO_SIGIO();
	ASSERT_EQ(0, lib_send(self->p.a, "x", 1));
	EXPECT_SIGIO();
	EXPECT_EQ(cq, lib_cq_event(ch));

	ASSERT_EQ(0, clear_async(ch->fd));
	ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
	ASSERT_EQ(0, lib_send(self->p.a, "x", 1));
	EXPECT_EQ(cq, lib_cq_event(ch));
	EXPECT_NO_SIGIO();
}

TEST_F(sigio, asynchronous_events)
{
	struct ibv_context *context = self->p.p->verbs;
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_async_event event;

	ASSERT_EQ(0, set_async(context->async_fd));
	ASSERT_EQ(0, ibv_modify_srq(self->srq, &attr, IBV_SRQ_LIMIT));
	EXPECT_NO_SIGIO();
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_send(self->p.a, "x", 1));
	EXPECT_SIGIO();
	ASSERT_EQ(0, ibv_get_async_event(context, &event));
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, event.event_type);
	ibv_ack_async_event(&event);
	EXPECT_EQ(0, clear_async(context->async_fd));
}

TEST_F(sigio, event_channel)
{
	struct rdma_event_channel *ch = self->p.pc;

	if (is_stock())
		SKIP(return, "ucma's files have none");
	ASSERT_EQ(0, set_async(ch->fd));
	EXPECT_NO_SIGIO();
	ASSERT_EQ(0, rdma_disconnect(self->p.a));
	EXPECT_SIGIO();
	ASSERT_EQ(0, lib_event(ch, RDMA_CM_EVENT_DISCONNECTED));

	/* An id brings its unread events. (Over iWARP, a's event needs no rdma_disconnect(p).) */
	rdma_disconnect(self->p.p);
	ASSERT_EQ(0, clear_async(ch->fd));
	ASSERT_TRUE(lib_readable(self->p.ac->fd, WAIT_MS));
	ASSERT_EQ(0, set_async(ch->fd));
	ASSERT_EQ(0, rdma_migrate_id(self->p.a, ch));
	EXPECT_SIGIO();
	ASSERT_EQ(0, lib_event(ch, RDMA_CM_EVENT_DISCONNECTED));
}

TEST_HARNESS_MAIN
