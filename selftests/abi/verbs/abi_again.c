// SPDX-License-Identifier: GPL-2.0-only
/*
 * QPs of the device that serve one endpoint after another: which may, and what the
 * next one sees of the last. A QP is known by its number: of two that are destroyed
 * the latest is the first to be used again, where the devices themselves give
 * another number (rxe), or the lowest that is free (siw), which is that of the other.
 */
#include "abi_test.h"

/* How often to try what has to be done within the tenth of a second that is kept. */
#define TRIES		50

/* An endpoint that owns all of its parts */
struct endpoint {
	struct rdma_ep_create_ep e;
	__u32 id;
};

FIXTURE(again) {
	struct abi_objects none;
	struct abi s;
	struct rdma_ep_create_ep proto;
	struct endpoint a, b, c;
};

FIXTURE_SETUP(again)
{
	ASSERT_EQ(0, abi_idle());
	ASSERT_EQ(0, abi_objects(&self->none));
	ASSERT_EQ(0, abi_open(&self->s));
	abi_own_ep(&self->s, 4730, &self->proto);
}

FIXTURE_TEARDOWN(again)
{
	abi_close(&self->s);
	EXPECT_EQ(0, abi_objects_wait(&self->none));
}

static int make(struct _test_data_again *t, struct endpoint *p)
{
	int ret;

	p->e = t->proto;
	ret = ABI(t->s.fd, CREATE_EP, &p->e);
	p->id = p->e.id;
	return ret;
}

static int unmake_cq(struct _test_data_again *t, const struct rdma_ep_auto_cq *cq)
{
	close(cq->channel_fd);
	return ABI_DESTROY(&t->s, CQ, cq->cq);
}

static int unmake_qp(struct _test_data_again *t, const struct endpoint *p)
{
	return ABI_DESTROY(&t->s, QP, p->e.qp.qp);
}

static int unmake_rest(struct _test_data_again *t, const struct endpoint *p)
{
	int ret = ABI_DESTROY(&t->s, ID, p->id);

	close(p->e.channel_fd);
	return ret ?: unmake_cq(t, &p->e.qp.send_cq) ?:
		      unmake_cq(t, &p->e.qp.recv_cq);
}

static int unmake(struct _test_data_again *t, const struct endpoint *p)
{
	return unmake_qp(t, p) ?: unmake_rest(t, p);
}

/*
 * Makes two, does what @wear says to them, destroys both and makes one. Has it the QP
 * of the second? -1: something failed.
 */
static int used_again(struct _test_data_again *t, int (*wear)(struct _test_data_again *t,
							      struct endpoint *p))
{
	struct rdma_ep_create_ep proto = t->proto;
	int ret;

	ret = make(t, &t->a) ?: make(t, &t->b) ?:
	      (wear ? wear(t, &t->a) ?: wear(t, &t->b) : 0) ?:
	      unmake(t, &t->a) ?: unmake(t, &t->b) ?: make(t, &t->c) ?:
	      unmake(t, &t->c);
	t->proto = proto;
	return ret ? -1 : t->c.e.qp.qp_num == t->b.e.qp.qp_num;
}

static bool ever_used_again(struct _test_data_again *t)
{
	int i;

	for (i = 0; i < TRIES; i++)
		if (used_again(t, NULL) == 1)
			return true;
	return false;
}

#define EXPECT_NEVER_AGAIN(_wear)					\
	do {								\
		int _i;							\
									\
		for (_i = 0; _i < 5; _i++)				\
			EXPECT_EQ(0, used_again(self, _wear));		\
	} while (0)

/* siw of Linux 6.1 does not say in what state a QP is. */
static bool state_unknown(const struct _test_data_again *t)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	if (sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return false;
	return t->s.iwarp && (major < 6 || (major == 6 && minor < 12));
}

/* Without this the other tests would not mean anything. */
TEST_F(again, qp)
{
	if (state_unknown(self)) {
		EXPECT_NEVER_AGAIN(NULL);
		return;
	}
	ASSERT_TRUE(ever_used_again(self));
	EXPECT_EQ(self->b.e.qp.max_send_wr, self->c.e.qp.max_send_wr);
	EXPECT_EQ(self->b.e.qp.max_recv_wr, self->c.e.qp.max_recv_wr);
	EXPECT_EQ(self->b.e.qp.max_send_sge, self->c.e.qp.max_send_sge);
	EXPECT_EQ(self->b.e.qp.max_inline_data, self->c.e.qp.max_inline_data);
	EXPECT_EQ(QPS_INIT, self->c.e.qp.state);
	EXPECT_EQ(self->b.e.qp.send_cq.cqe, self->c.e.qp.send_cq.cqe);
}

static int post_recv(struct _test_data_again *t, struct endpoint *p)
{
	return abi_post_recv(&t->s, p->e.qp.qp, 4711, 0, 0, 0);
}

/* siw would keep it through a RESET. */
TEST_F(again, posted)
{
	EXPECT_NEVER_AGAIN(post_recv);
}

static int fail(struct _test_data_again *t, struct endpoint *p)
{
	return abi_qp_state(&t->s, p->e.qp.qp, QPS_ERR);
}

static int post_fail_reset(struct _test_data_again *t, struct endpoint *p)
{
	return post_recv(t, p) ?: fail(t, p) ?:
	       abi_qp_state(&t->s, p->e.qp.qp, QPS_RESET);
}

TEST_F(again, modified)
{
	EXPECT_NEVER_AGAIN(fail);
	EXPECT_NEVER_AGAIN(post_fail_reset);
}

static int set_psn(struct _test_data_again *t, struct endpoint *p)
{
	struct rdma_ep_modify_qp m = {
		.qp = p->e.qp.qp,
		.attr = { .qp_attr_mask = 1 << 12 /* IB_QP_RQ_PSN */, .rq_psn = 7 },
	};

	/* Not every device takes that in this state. */
	ABI(t->s.fd, MODIFY_QP, &m);
	return 0;
}

/* What was set stays behind in some drivers. */
TEST_F(again, attributes)
{
	EXPECT_NEVER_AGAIN(set_psn);
}

/* Of one that is no id's the user may have told anybody. */
TEST_F(again, without_id)
{
	struct rdma_ep_create_qp c, two[2], next;
	__u32 cq;
	int i;

	ASSERT_EQ(0, abi_create_cq(&self->s, -1, 16, 0, &cq));
	abi_qp_attr(&c, QPT_RC, self->s.pd, cq, cq);
	for (i = 0; i < 5; i++) {
		two[0] = c;
		two[1] = c;
		next = c;
		ASSERT_EQ(0, ABI(self->s.fd, CREATE_QP, &two[0]));
		ASSERT_EQ(0, ABI(self->s.fd, CREATE_QP, &two[1]));
		ASSERT_EQ(0, ABI_DESTROY(&self->s, QP, two[0].init.qp));
		ASSERT_EQ(0, ABI_DESTROY(&self->s, QP, two[1].init.qp));
		ASSERT_EQ(0, ABI(self->s.fd, CREATE_QP, &next));
		EXPECT_NE(two[1].init.qp_num, next.init.qp_num);
		ASSERT_EQ(0, ABI_DESTROY(&self->s, QP, next.init.qp));
	}
}

/* A peer has heard of its number, although there was never a connection. */
static int connect_nowhere(struct _test_data_again *t, struct endpoint *p)
{
	struct rdma_ep_event ev;

	/* (siw says so at once.) */
	if (!abi_connect(&t->s, p->id, 0))
		return abi_read(p->e.channel_fd, &ev, sizeof(ev), ABI_WAIT_MS);
	return t->s.iwarp ? 0 : -1;
}

TEST_F(again, told)
{
	EXPECT_NEVER_AGAIN(connect_nowhere);
}

static int want_sge(struct _test_data_again *t, struct endpoint *p)
{
	t->proto.qp.max_send_sge = 3;
	return 0;
}

static int want_wr(struct _test_data_again *t, struct endpoint *p)
{
	t->proto.qp.max_recv_wr = 10;
	return 0;
}

static int want_sig_all(struct _test_data_again *t, struct endpoint *p)
{
	t->proto.qp.flags = RDMA_EP_QP_SQ_SIG_ALL;
	return 0;
}

static int want_pd(struct _test_data_again *t, struct endpoint *p)
{
	return abi_alloc_pd(&t->s, t->s.ctx, &t->proto.qp.pd);
}

/* One that was made for something else is not it. */
TEST_F(again, other_kind)
{
	EXPECT_NEVER_AGAIN(want_sge);
	EXPECT_NEVER_AGAIN(want_wr);
	EXPECT_NEVER_AGAIN(want_sig_all);
	EXPECT_NEVER_AGAIN(want_pd);
}

/* A PD can be freed at once, also if it is not the default one. */
TEST_F(again, own_pd)
{
	__u32 pd;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, abi_alloc_pd(&self->s, self->s.ctx, &pd));
		self->proto.qp.pd = pd;
		ASSERT_EQ(0, make(self, &self->a));
		ASSERT_EQ(0, unmake(self, &self->a));
		ASSERT_EQ(0, ABI_DESTROY(&self->s, PD, pd));
	}
}

/* CQs that outlive the QP go when they are told to, and what is kept of it with them. */
TEST_F(again, cq_after_qp)
{
	struct abi_objects before;
	struct rdma_ep_resize_cq r = {};
	int i;

	ASSERT_EQ(0, abi_objects(&before));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, make(self, &self->a));
		ASSERT_EQ(0, unmake_qp(self, &self->a));
		if (i & 1) {
			/* Then it is not kept itself. */
			r.cq = self->a.e.qp.recv_cq.cq;
			r.cqe = 40;
			ABI(self->s.fd, RESIZE_CQ, &r);
		}
		if (i & 2)
			usleep(200000);
		ASSERT_EQ(0, unmake_rest(self, &self->a));
	}
	EXPECT_EQ(0, abi_objects_wait(&before));
}

/* A CQ of a kept QP that the user makes his own again meanwhile */
TEST_F(again, cq_taken)
{
	struct rdma_ep_create_cq c;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, make(self, &self->a));
		ASSERT_EQ(0, unmake(self, &self->a));
		memset(&c, 0, sizeof(c));
		c.ctx = self->s.ctx;
		c.channel_fd = -1;
		c.cqe = self->proto.qp.max_recv_wr;
		ASSERT_EQ(0, ABI(self->s.fd, CREATE_CQ, &c));
		if (i & 1) {
			usleep(150000);
		}
		ASSERT_EQ(0, ABI_DESTROY(&self->s, CQ, c.cq));
		ASSERT_EQ(0, make(self, &self->b));
		ASSERT_EQ(0, unmake(self, &self->b));
	}
}

/* More than are kept, and none for long; nothing is left when the session ends. */
TEST_F(again, not_for_long)
{
	enum { MANY = 30 };
	struct endpoint many[MANY];
	struct abi_objects before, after;
	int i;

	ASSERT_EQ(0, abi_objects(&before));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, make(self, &many[i]));
	}
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, unmake(self, &many[i]));
	}
	ASSERT_EQ(0, abi_objects(&after));
	EXPECT_GE(before.qp + 24, after.qp);
	EXPECT_EQ(0, abi_objects_wait(&before));

	ASSERT_EQ(0, make(self, &self->a));
	ASSERT_EQ(0, unmake(self, &self->a));
	abi_close(&self->s);
	ASSERT_EQ(0, abi_objects(&after));
	EXPECT_EQ(self->none.qp, after.qp);
	EXPECT_EQ(self->none.cq, after.cq);
	EXPECT_EQ(self->none.pd, after.pd);
	ASSERT_EQ(0, abi_open(&self->s));
}

/* A connection with it is like one with a new QP. */
TEST_F(again, connection)
{
	struct rdma_ep_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP,
	};
	int channel = abi_channel(&self->s), round;
	struct endpoint *p = &self->c;
	struct sockaddr_in sin;
	struct rdma_ep_event ev;
	struct rdma_ep_reg_mr mr;
	struct rdma_ep_wc wc;
	struct abi_wrs w;
	__u32 listener;
	char *mem;

	mem = abi_map(4096);
	ASSERT_EQ(0, abi_reg_mr(&self->s, self->s.pd, mem, 4096, AC_ALL, &mr));
	ASSERT_EQ(0, abi_tcp_listen(&self->s, channel, 10, 1, &listener, &sin));
	memcpy(&self->proto.dst, &sin, sizeof(sin));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, make(self, &self->a));
		ASSERT_EQ(0, unmake(self, &self->a));
		ASSERT_EQ(0, make(self, p));
		ASSERT_EQ(0, post_recv(self, p));
		ASSERT_EQ(0, abi_connect(&self->s, p->id, 0));
		ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
		g.id = listener;
		g.qp = self->proto.qp;
		ASSERT_EQ(0, ABI(self->s.fd, GET_REQUEST, &g));
		ASSERT_EQ(0, g.qp_errno);
		/* Before the peer may send */
		abi_wrs_recv(&w, 5);
		abi_sge(&w, (uintptr_t)mem, 8, mr.lkey);
		ASSERT_EQ(0, ABI_POST(&self->s, RECV, g.qp.qp, &w, NULL));
		ASSERT_EQ(0, abi_accept(&self->s, g.event.child, 73, 0));
		ASSERT_EQ(0, abi_event(p->e.channel_fd, EV_ESTABLISHED, &ev));
		ASSERT_EQ(0, abi_event(g.channel_fd, EV_ESTABLISHED, &ev));

		sprintf(mem + 8, "round%d", round);
		abi_wrs_send(&w, WR_SEND, SEND_SIGNALED, 6);
		abi_sge(&w, (uintptr_t)mem + 8, 8, mr.lkey);
		ASSERT_EQ(0, ABI_POST(&self->s, SEND, p->e.qp.qp, &w, NULL));
		ASSERT_EQ(1, abi_wait(&self->s, g.qp.recv_cq.cq, &wc, 1));
		EXPECT_EQ(0, wc.status);
		EXPECT_EQ(5, wc.wr_id);
		EXPECT_EQ(8, wc.byte_len);
		EXPECT_EQ(0, memcmp(mem, mem + 8, 8));
		ASSERT_EQ(1, abi_wait(&self->s, p->e.qp.send_cq.cq, &wc, 1));
		EXPECT_EQ(0, wc.status);
		EXPECT_EQ(6, wc.wr_id);
		EXPECT_EQ(p->e.qp.qp_num, wc.qp_num);

		ASSERT_EQ(0, unmake(self, p));
		self->b.e.qp = g.qp;
		self->b.e.channel_fd = g.channel_fd;
		self->b.id = g.event.child;
		ASSERT_EQ(0, unmake(self, &self->b));
	}
}

TEST_HARNESS_MAIN
