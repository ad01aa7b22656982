// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints that are created and destroyed repeatedly. The module keeps their idle CQs for later
 * ones: these must not keep other objects busy, and are destroyed soon.
 */
#include "abi_test.h"

/* An endpoint that owns all of its parts */
struct endpoint {
	struct rdma_ep_cmd_create_ep e;
	__u32 id;
};

FIXTURE(again) {
	struct abi_objects none;
	struct abi s;
	struct rdma_ep_cmd_create_ep proto;
	struct endpoint a, b, c;
};

FIXTURE_SETUP(again)
{
	OK(abi_idle());
	OK(abi_objects(&self->none));
	OK(abi_open(&self->s));
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

/* Kept CQs do not delay the end of a PD, even if it is not the default one. */
TEST_F(again, pd_of_endpoint_freed_at_once)
{
	__u32 pd;

	for (int i = 0; i < 5; i++) {
		OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
		self->proto.qp.pd = pd;
		OK(make(self, &self->a));
		OK(unmake(self, &self->a));
		OK(ABI_DESTROY(&self->s, PD, pd));
	}
}

/* CQs that outlive their QP are destroyed like others. */
TEST_F(again, cq_outlives_qp)
{
	struct abi_objects before;
	struct rdma_ep_cmd_resize_cq r = {};

	OK(abi_objects(&before));
	for (int i = 0; i < 10; i++) {
		OK(make(self, &self->a));
		OK(unmake_qp(self, &self->a));
		if (i & 1) {
			/* A resized CQ is not kept. */
			r.cq = self->a.e.qp.recv_cq.cq;
			r.cqe = 40;
			ABI(self->s.fd, RESIZE_CQ, &r);
		}
		if (i & 2)
			usleep(200000);
		OK(unmake_rest(self, &self->a));
	}
	EXPECT_EQ(0, abi_objects_wait(&before));
}

TEST_F(again, kept_cq_serves_user_and_endpoint)
{
	__u32 cq;

	for (int i = 0; i < 20; i++) {
		OK(make(self, &self->a));
		OK(unmake(self, &self->a));
		OK(abi_create_cq(&self->s, -1, self->proto.qp.max_recv_wr, 0, &cq));
		if (i & 1)
			usleep(150000);
		OK(ABI_DESTROY(&self->s, CQ, cq));
		OK(make(self, &self->b));
		OK(unmake(self, &self->b));
	}
}

/* At most 24 CQs are kept, for a short time, and not after the end of the session. */
TEST_F(again, kept_cqs_destroyed_soon)
{
	enum { MANY = 30 };
	struct endpoint many[MANY];
	struct abi_objects before, after;

	OK(abi_objects(&before));
	for (int i = 0; i < MANY; i++)
		OK(make(self, &many[i]));
	for (int i = 0; i < MANY; i++)
		OK(unmake(self, &many[i]));
	OK(abi_objects(&after));
	EXPECT_EQ(before.qp, after.qp);
	EXPECT_GE(before.cq + 24, after.cq);
	EXPECT_EQ(0, abi_objects_wait(&before));

	OK(make(self, &self->a));
	OK(unmake(self, &self->a));
	abi_close(&self->s);
	OK(abi_objects(&after));
	EXPECT_EQ(self->none.qp, after.qp);
	EXPECT_EQ(self->none.cq, after.cq);
	EXPECT_EQ(self->none.pd, after.pd);
	OK(abi_open(&self->s));
}

TEST_F(again, kept_cqs_serve_connection)
{
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP,
	};
	int channel = abi_channel(&self->s), round;
	struct endpoint *p = &self->c;
	struct sockaddr_in sin;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc;
	__u32 listener;
	char *mem;

	mem = abi_map(4096);
	OK(abi_reg_mr(&self->s, self->s.pd, mem, 4096, AC_ALL, &mr));
	OK(abi_tcp_listen(&self->s, channel, 10, 1, &listener, &sin));
	memcpy(&self->proto.dst, &sin, sizeof(sin));
	for (round = 0; round < 10; round++) {
		OK(make(self, &self->a));
		OK(unmake(self, &self->a));
		OK(make(self, p));
		OK(abi_post_empty_recv(&self->s, p->e.qp.qp, 4711));
		OK(abi_connect(&self->s, p->id, 0));
		ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
		g.id = listener;
		g.qp = self->proto.qp;
		OK(ABI(self->s.fd, GET_REQUEST, &g));
		ASSERT_EQ(0, g.qp_errno);
		/* Before the peer may send */
		OK(abi_post_recv(&self->s, g.qp.qp, 5, mem, 8, mr.lkey));
		OK(abi_accept(&self->s, g.event.child, 73, 0));
		OK(abi_event(p->e.channel_fd, EV_ESTABLISHED, NULL));
		OK(abi_event(g.channel_fd, EV_ESTABLISHED, NULL));

		sprintf(mem + 8, "round%d", round);
		OK(abi_post_send(&self->s, p->e.qp.qp, SEND_SIGNALED, 6, mem + 8, 8, mr.lkey));
		wc = EXPECT_WC(&self->s, g.qp.recv_cq.cq, 5, 0);
		EXPECT_EQ(8, wc.byte_len);
		EXPECT_EQ(0, memcmp(mem, mem + 8, 8));
		wc = EXPECT_WC(&self->s, p->e.qp.send_cq.cq, 6, 0);
		EXPECT_EQ(p->e.qp.qp_num, wc.qp_num);

		OK(unmake(self, p));
		self->b.e.qp = g.qp;
		self->b.e.channel_fd = g.channel_fd;
		self->b.id = g.event.child;
		OK(unmake(self, &self->b));
	}
}

TEST_HARNESS_MAIN
