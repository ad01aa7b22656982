// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels, events of CQs, polling. The tests of ibv_create_cq(3) are in
 * page_ibv_create_cq.c.
 */
#include "lib_test.h"

FIXTURE(cq) {
	struct ibv_context *context;
	struct ibv_comp_channel *ch;
};

FIXTURE_SETUP(cq)
{
	self->context = ASSERT_PTR(lib_context());
	self->ch = ASSERT_PTR(ibv_create_comp_channel(self->context));
}

FIXTURE_TEARDOWN(cq)
{
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
}

/* P0: ibv_create_comp_channel, ibv_destroy_comp_channel */
TEST_F(cq, channel)
{
	struct ibv_comp_channel *ch = ASSERT_PTR(ibv_create_comp_channel(self->context));
	struct ibv_cq *cq, *got;
	void *context;
	int fd;

	fd = ch->fd;
	EXPECT_EQ(self->context, ch->context);
	EXPECT_EQ(0, ch->refcnt);
	EXPECT_NE(self->ch->fd, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_TRUE(lib_quiet(fd));
	cq = ASSERT_PTR(ibv_create_cq(self->context, 4, NULL, ch, 0));
	EXPECT_EQ(1, ch->refcnt);
	EXPECT_EQ(EBUSY, ibv_destroy_comp_channel(ch));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_FAILS(EAGAIN, ibv_get_cq_event(ch, &got, &context));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ch->refcnt);
	EXPECT_EQ(0, ibv_destroy_comp_channel(ch));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_comp_channel(NULL));
	EXPECT_EQ(EINVAL, ibv_destroy_comp_channel(NULL));
}

/* ------------------------------------------------------------------ */

/* A connection; the passive side's receives complete in cq. */
FIXTURE(comp) {
	struct pair p;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_comp_channel *ch;
	struct ibv_mr *mr;
	char buf[64];
	uint64_t next;
};

FIXTURE_SETUP(comp)
{
	ASSERT_EQ(0, pair_up(&self->p));
	self->id = self->p.p;
	self->cq = self->id->recv_cq;
	self->ch = self->id->recv_cq_channel;
	self->mr = ASSERT_PTR(rdma_reg_msgs(self->id, self->buf, sizeof(self->buf)));
}

FIXTURE_TEARDOWN(comp)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

/* Completes one more receive. The wr_ids count from 1 on. */
static int complete(FIXTURE_DATA(comp) *self, int flags)
{
	struct ibv_wc wc;

	if (rdma_post_recv(self->id, (void *)++self->next, self->buf, 64, self->mr) ||
	    rdma_post_send(self->p.a, NULL, "x", 1, NULL, IBV_SEND_INLINE | flags) ||
	    lib_wait_wc(self->p.a->send_cq, &wc, 1))
		return -1;
	/* The sender's completion may come a little earlier. */
	usleep(20000);
	return wc.status;
}

/* P0: ibv_poll_cq */
TEST_F(comp, poll)
{
	struct ibv_wc wc[8] = {};
	int i;

	EXPECT_EQ(0, ibv_poll_cq(self->cq, 8, wc));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, complete(self, 0));
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 0, wc));
	EXPECT_EQ(2, ibv_poll_cq(self->cq, 2, wc));
	EXPECT_EQ(3, ibv_poll_cq(self->cq, 6, wc + 2));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(i + 1, wc[i].wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, wc[i].status);
		EXPECT_EQ(IBV_WC_RECV, wc[i].opcode);
		EXPECT_EQ(1, wc[i].byte_len);
		EXPECT_EQ(self->id->qp->qp_num, wc[i].qp_num);
	}
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 8, wc));
}

/* P0: ibv_req_notify_cq, ibv_get_cq_event, ibv_ack_cq_events */
TEST_F(comp, notify_once)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;
	struct ibv_wc wc[8];

	/* Without a request, no event is raised. */
	ASSERT_EQ(0, complete(self, 0));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(1, ibv_poll_cq(self->cq, 8, wc));

	/* A request raises one event, however many completions follow. */
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, complete(self, 0));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	ASSERT_EQ(0, complete(self, 0));
	ASSERT_EQ(0, ibv_get_cq_event(self->ch, &cq, &context));
	EXPECT_EQ(self->cq, cq);
	EXPECT_EQ((void *)self->id, context);
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	EXPECT_EQ(0, self->cq->comp_events_completed);
	ibv_ack_cq_events(cq, 1);
	EXPECT_EQ(1, self->cq->comp_events_completed);
	ASSERT_EQ(2, ibv_poll_cq(self->cq, 8, wc));

	/* The channel may be nonblocking. */
	ASSERT_EQ(0, fcntl(self->ch->fd, F_SETFL, O_NONBLOCK));
	EXPECT_FAILS(EAGAIN, ibv_get_cq_event(self->ch, &cq, &context));
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, complete(self, 0));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));
}

TEST_F(comp, notify_solicited_only)
{
	if (lib_iwarp(self->id->verbs))
		SKIP(return, "siw ignores this");
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 1));
	ASSERT_EQ(0, complete(self, 0));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, complete(self, IBV_SEND_SOLICITED));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));

	/* A request for any completion includes solicited ones. */
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, complete(self, IBV_SEND_SOLICITED));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));
}

/* Earlier requests for any completion make no difference. */
TEST_F(comp, notify_solicited_only_after_ordinary_use)
{
	struct ibv_wc wc[8];
	int i;

	if (lib_iwarp(self->id->verbs))
		SKIP(return, "siw ignores this");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
		ASSERT_EQ(0, complete(self, 0));
		EXPECT_EQ(self->cq, lib_cq_event(self->ch));
		ASSERT_EQ(1, ibv_poll_cq(self->cq, 8, wc));
		ASSERT_EQ(0, ibv_poll_cq(self->cq, 8, wc));
	}
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 1));
	ASSERT_EQ(0, complete(self, 0));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, complete(self, IBV_SEND_SOLICITED));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	/* Both completions are there, and no other. */
	EXPECT_EQ(2, ibv_poll_cq(self->cq, 8, wc));
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 8, wc));
}

/* A connection; the passive side's receives complete in a CQ, which they may fill. */
FIXTURE(full) {
	struct pair p;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char buf[64];
};

FIXTURE_SETUP(full)
{
	ASSERT_EQ(0, pair_client(&self->p));
	ASSERT_EQ(0, pair_passive(&self->p));
	self->ch = ASSERT_PTR(ibv_create_comp_channel(self->p.p->verbs));
	self->mr = ASSERT_PTR(rdma_reg_msgs(self->p.p, self->buf, sizeof(self->buf)));
	if (lib_iwarp(self->p.p->verbs))
		SKIP_FIXTURE("siw ignores the flag");
}

FIXTURE_TEARDOWN(full)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
	if (self->cq)
		EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
}

/* Connects with a CQ of this size. */
static int full_connect(FIXTURE_DATA(full) *self, int cqe)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	self->cq = ibv_create_cq(self->p.p->verbs, cqe, NULL, self->ch, 0);
	if (!self->cq)
		return -1;
	attr.recv_cq = self->cq;
	attr.cap.max_recv_wr = self->cq->cqe;
	return rdma_create_qp(self->p.p, NULL, &attr) ?: pair_accept(&self->p);
}

static int full_recv(FIXTURE_DATA(full) *self)
{
	for (int i = 0; i < self->cq->cqe; i++)
		if (rdma_post_recv(self->p.p, NULL, self->buf, 64, self->mr))
			return -1;
	return 0;
}

static int full_send(FIXTURE_DATA(full) *self, int flags)
{
	return rdma_post_send(self->p.a, NULL, "x", 1, NULL, IBV_SEND_INLINE | flags);
}

static int full_sent(FIXTURE_DATA(full) *self, int n)
{
	struct ibv_wc wc = {};

	while (n-- && !wc.status)
		if (lib_wait_wc(self->p.a->send_cq, &wc, 1))
			return -1;
	return wc.status;
}

/* One message with an event, after which the module waits for any completion. */
static int full_use(FIXTURE_DATA(full) *self)
{
	struct ibv_wc wc;

	return ibv_req_notify_cq(self->cq, 0) ?:
	       rdma_post_recv(self->p.p, NULL, self->buf, 64, self->mr) ?:
	       full_send(self, 0) ?:
	       full_sent(self, 1) ?:
	       (lib_cq_event(self->ch) == self->cq ? 0 : -1) ?:
	       lib_wait_wc(self->cq, &wc, 1) ?:
	       wc.status ?: ibv_poll_cq(self->cq, 1, &wc);
}

/* Takes all completions, which must be successful, and no other. */
static int full_take(FIXTURE_DATA(full) *self)
{
	struct ibv_wc wc = {};
	int i;

	for (i = 0; i < self->cq->cqe && !wc.status; i++)
		if (lib_wait_wc(self->cq, &wc, 1))
			return -1;
	return wc.status ?: ibv_poll_cq(self->cq, 1, &wc);
}

/* The request takes no entry of the user's, so that the last completion finds room. */
TEST_F(full, notify_solicited_only_leaves_room)
{
	int i;

	ASSERT_EQ(0, full_connect(self, 15));
	ASSERT_EQ(0, full_use(self));
	ASSERT_EQ(0, full_recv(self));
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 1));
	for (i = 1; i < self->cq->cqe; i++) {
		ASSERT_EQ(0, full_send(self, 0));
		ASSERT_EQ(0, full_sent(self, 1));
	}
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, full_send(self, IBV_SEND_SOLICITED));
	ASSERT_EQ(0, full_sent(self, 1));
	EXPECT_EQ(self->cq, lib_cq_event(self->ch));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	EXPECT_EQ(0, full_take(self));
	EXPECT_QPS(IBV_QPS_RTS, self->p.p->qp);
	EXPECT_FALSE(lib_readable(self->p.p->verbs->async_fd, 0));
}

static void spin(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/*
 * Messages arrive before, during and after the request: the CQ does not overflow, and there is no
 * event of them.
 */
TEST_F(full, notify_solicited_only_during_messages)
{
	int round, i;

	ASSERT_EQ(0, full_connect(self, 1));
	ASSERT_GE(8, self->cq->cqe);
	for (round = 0; round < 200; round++) {
		ASSERT_EQ(0, full_use(self));
		ASSERT_EQ(0, full_recv(self));
		for (i = 0; i < self->cq->cqe; i++)
			ASSERT_EQ(0, full_send(self, 0));
		spin(round % 40 * 20);
		ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 1));
		ASSERT_EQ(0, full_sent(self, self->cq->cqe));
		ASSERT_EQ(0, full_take(self));
		ASSERT_FALSE(lib_readable(self->ch->fd, 0));
	}
	EXPECT_FALSE(lib_readable(self->p.p->verbs->async_fd, 0));
}

/* ------------------------------------------------------------------ */

#define RECVS	8

/* Number of receives that have completed and been replaced */
static int replaced;

/* Waits for receives: over iWARP, a send without one ends the connection. */
static void *send_many(void *arg)
{
	struct rdma_cm_id *id = arg;
	struct ibv_wc wc;
	long i;

	for (i = 0; i < 200; i++) {
		while (i >= RECVS + __atomic_load_n(&replaced, __ATOMIC_ACQUIRE))
			usleep(100);
		if (rdma_post_send(id, NULL, "y", 1, NULL, IBV_SEND_INLINE) ||
		    lib_wait_wc(id->send_cq, &wc, 1) || wc.status)
			return (void *)(i + 1);
	}
	return NULL;
}

/* Polls one completion, if there is one, and posts a receive in its place. */
static bool replace(FIXTURE_DATA(comp) *self, int *posted)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(self->cq, 1, &wc) != 1 || wc.status)
		return false;
	if ((*posted)++ < 200 && rdma_post_recv(self->id, NULL, self->buf, 64, self->mr))
		return false;
	__atomic_add_fetch(&replaced, 1, __ATOMIC_RELEASE);
	return true;
}

/* A loop that polls, requests an event, polls again and waits misses no completion. */
TEST_F(comp, no_wakeup_is_lost)
{
	struct lib_thread t;
	struct ibv_cq *cq;
	int posted, events = 0;
	void *context;

	for (posted = 0; posted < RECVS; posted++)
		ASSERT_EQ(0, rdma_post_recv(self->id, NULL, self->buf, 64, self->mr));
	ASSERT_EQ(0, lib_start(&t, send_many, self->p.a));
	for (;;) {
		while (replace(self, &posted))
			;
		if (replaced == 200)
			break;
		ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
		if (replace(self, &posted))
			continue;
		ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
		ASSERT_EQ(0, ibv_get_cq_event(self->ch, &cq, &context));
		events++;
	}
	ibv_ack_cq_events(self->cq, events);	/* all at once */
	EXPECT_RETURNS(0, &t);
}

static void *wait_for_event(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(arg, &cq, &context))
		return (void *)(long)errno;
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

TEST_F(comp, thread_blocks_and_can_be_cancelled)
{
	struct lib_thread t;

	START_BLOCKED(&t, wait_for_event, self->ch);
	EXPECT_CANCELLED(&t);

	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	START_BLOCKED(&t, wait_for_event, self->ch);
	ASSERT_EQ(0, complete(self, 0));
	EXPECT_RETURNS(0, &t);
}

static void *destroy_cq(void *cq)
{
	return (void *)(long)ibv_destroy_cq(cq);
}

/* P0: ibv_destroy_cq, ibv_ack_cq_events */
TEST_F(comp, destroy_waits_for_acks)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_cq *cq;
	struct lib_thread t;
	void *context;

	if (is_libsiw(id->verbs))
		SKIP(return, "libsiw takes a CQ in use apart");
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, complete(self, 0));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	ASSERT_EQ(0, ibv_get_cq_event(self->ch, &cq, &context));
	/* As rdma_destroy_qp() does */
	EXPECT_EQ(0, ibv_destroy_qp(id->qp));
	id->qp = NULL;
	START_BLOCKED(&t, destroy_cq, cq);
	ibv_ack_cq_events(cq, 1);
	EXPECT_RETURNS(0, &t);
	EXPECT_EQ(0, self->ch->refcnt);
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
	EXPECT_EQ(0, ibv_destroy_cq(id->send_cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(id->send_cq_channel));
}

TEST_F(comp, unread_events_go_with_the_cq)
{
	struct rdma_cm_id *id = self->id;

	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	ASSERT_EQ(0, complete(self, 0));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	EXPECT_EQ(0, ibv_destroy_qp(id->qp));
	id->qp = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
	EXPECT_EQ(0, ibv_destroy_cq(id->send_cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(id->send_cq_channel));
}

/* P0: ibv_resize_cq */
TEST_F(comp, resize)
{
	struct ibv_wc wc[8];
	int i, ret;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, complete(self, 0));
	ret = ibv_resize_cq(self->cq, 100);
	if (lib_iwarp(self->p.a->verbs)) {
		EXPECT_TRUE(ret == EOPNOTSUPP || ret == ENOSYS);
		SKIP(return, "siw does not resize CQs");
	}
	ASSERT_EQ(0, ret);
	EXPECT_LE(100, self->cq->cqe);
	/* The CQ keeps its completions, and stays large enough for them. */
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 2));
	EXPECT_LE(100, self->cq->cqe);
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 1 << 30));
	ASSERT_EQ(0, complete(self, 0));
	ASSERT_EQ(4, ibv_poll_cq(self->cq, 8, wc));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(i + 1, wc[i].wr_id);
	EXPECT_EQ(0, ibv_resize_cq(self->cq, 10));
	EXPECT_LE(10, self->cq->cqe);
	EXPECT_GT(100, self->cq->cqe);
	/* Some of these completions are in the library's ring already, and count as well. */
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, complete(self, 0));
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 2));
	EXPECT_EQ(4, ibv_poll_cq(self->cq, 8, wc));
	/* After one poll the ring is full, and the rest is elsewhere. */
	ASSERT_EQ(0, ibv_resize_cq(self->cq, 100));
	for (i = 0; i < 40; i++)
		ASSERT_EQ(0, complete(self, 0));
	ASSERT_EQ(1, ibv_poll_cq(self->cq, 1, wc));
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 38));
	EXPECT_EQ(0, ibv_resize_cq(self->cq, 39));
	for (i = 0; i < 39; i++)
		EXPECT_EQ(wc[0].wr_id + 1 + i, lib_next_wc(self->cq).wr_id);
}

TEST_HARNESS_MAIN
