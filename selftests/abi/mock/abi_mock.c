// SPDX-License-Identifier: GPL-2.0-only
/*
 * Behaviour of drivers that the software devices lack: handlers in hard interrupt context or with
 * locks held, asynchronous events of every type, overrun CQs, and posts during a reset.
 */
#include <sys/klog.h>

#include "abi_test.h"
#include "abi_mock.h"

static const char * const contexts[] = { "irq", "post", "locked", "work" };

FIXTURE(mock) {
	struct abi s;
	char *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

static int begin(FIXTURE_DATA(mock) * self)
{
	return mock_new("") ?: abi_open(&self->s);
}

FIXTURE_SETUP(mock)
{
	self->s.fd = -1;
	LOGGED(ASSERT_EQ(0, mock_load()), "no mock device: modprobe rdma_ep_mock");
	self->mem = abi_map(65536);
}

FIXTURE_TEARDOWN(mock)
{
	abi_close(&self->s);
	mock_unload();
}

/* ---- completion handlers */

struct wire {
	int channel[2];			/* of the CQs of sends, receives */
	__u32 cq[2];
	__u32 qp[2];
};

/* Two connected QPs that share a CQ for sends and one for receives, each with a channel */
static int wire_open(const struct abi *s, struct wire *w, __u32 srq)
{
	struct rdma_ep_cmd_create_qp c[2];
	int ret;

	for (int i = 0; i < 2; i++) {
		w->channel[i] = abi_comp_channel(s);
		ret = w->channel[i] < 0 ? w->channel[i] :
		      abi_create_cq(s, w->channel[i], 256, 70 + i, &w->cq[i]);
		if (ret)
			return ret;
	}
	for (int i = 0; i < 2; i++) {
		abi_qp_attr(&c[i], QPT_RC, s->pd, w->cq[0], w->cq[1]);
		c[i].init.max_send_wr = 64;
		c[i].init.max_recv_wr = 64;
		c[i].init.srq = i ? srq : 0;
		ret = ABI(s->fd, CREATE_QP, &c[i]);
		if (ret)
			return ret;
		w->qp[i] = c[i].init.qp;
	}
	return abi_qp_connect(s, QPT_RC, &c[0].init, &c[1].init);
}

static void completions(struct __test_metadata *_metadata,
			FIXTURE_DATA(mock) * self, struct wire *w)
{
	struct abi *s = &self->s;

	for (int i = 0; i < 50; i++) {
		memset(self->mem, i + 1, 1000);
		OK(abi_post_recv(s, w->qp[1], i, self->mem + 4096, 1000, self->mr.lkey));
		for (int j = 0; j < 2; j++)
			OK(abi_notify_cq(s, w->cq[j], 0));
		OK(abi_post_send(s, w->qp[0], SEND_SIGNALED, 100 + i, self->mem, 1000,
				 self->mr.lkey));
		for (int j = 0; j < 2; j++) {
			EXPECT_COMP(w->channel[j], 70 + j);
			EXPECT_WC(s, w->cq[j], j ? i : 100 + i, WC_SUCCESS);
		}
		EXPECT_EQ(0, memcmp(self->mem, self->mem + 4096, 1000));
	}
	/* No event of an unarmed CQ; with NOTIFY_SOLICITED, solicited completions only */
	for (int i = 0; i < 3; i++) {
		OK(abi_post_empty_recv(s, w->qp[1], i));
		OK(abi_post_empty_send(s, w->qp[0], i == 2 ? SEND_SOLICITED : 0, i));
		EXPECT_EQ(i < 2, !abi_ready(w->channel[1], i < 2 ? ABI_QUIET_MS : ABI_WAIT_MS));
		OK(abi_notify_cq(s, w->cq[1], RDMA_EP_NOTIFY_SOLICITED));
	}
}

TEST_F(mock, completions_in_any_context)
{
	struct wire w;

	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++) {
		OK(begin(self));
		OK(mock_write("context", "%s", contexts[i]));
		OK(abi_reg_mr(&self->s, self->s.pd, self->mem, 65536, AC_ALL, &self->mr));
		LOGGED(ASSERT_EQ(0, wire_open(&self->s, &w, 0)), "%s", contexts[i]);
		completions(_metadata, self, &w);
		abi_close(&self->s);
		OK(mock_del());
	}
}

/* Two threads post, a third arms and polls both CQs and reads their channels. */
struct mill {
	const struct abi *s;
	struct wire *w;
	unsigned int rounds, failed;
	volatile bool stop;
};

static void *mill_post(void *arg)
{
	struct mill *m = arg;
	int ret;

	while (!m->stop) {
		ret = abi_post_empty_recv(m->s, m->w->qp[1], 1);
		if (ret && ret != -ENOMEM)
			m->failed++;
		ret = abi_post_empty_send(m->s, m->w->qp[0], SEND_SIGNALED, 2);
		if (ret && ret != -ENOMEM)
			m->failed++;
	}
	return NULL;
}

static void *mill_poll(void *arg)
{
	struct mill *m = arg;
	struct rdma_ep_comp_event ev;
	struct rdma_ep_wc wc[8];
	int n;

	while (!m->stop) {
		for (int i = 0; i < 2; i++) {
			if (abi_notify_cq(m->s, m->w->cq[i], 0))
				m->failed++;
			n = abi_poll(m->s, m->w->cq[i], wc, 8);
			if (n < 0)
				m->failed++;
			else
				m->rounds += n;
			if (abi_ready(m->w->channel[i], 0) &&
			    abi_read(m->w->channel[i], &ev, sizeof(ev), 0))
				m->failed++;
		}
	}
	return NULL;
}

TEST_F_TIMEOUT(mock, completions_from_many_threads, 120)
{
	pthread_t thread[3];
	struct wire w;

	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct mill m = { .s = &self->s, .w = &w };

		OK(begin(self));
		OK(mock_write("context", "%s", contexts[i]));
		OK(wire_open(&self->s, &w, 0));
		for (int j = 0; j < 3; j++)
			OK(pthread_create(&thread[j], NULL, j ? mill_post : mill_poll, &m));
		sleep(2);
		m.stop = true;
		for (int j = 0; j < 3; j++)
			pthread_join(thread[j], NULL);
		EXPECT_EQ(0, m.failed);
		LOGGED(EXPECT_LT(100, m.rounds), "%s", contexts[i]);
		abi_close(&self->s);
		OK(mock_del());
	}
}

/* ---- asynchronous events */

static const struct {
	__u32 type;
	const char *kind;
} object_events[] = {
	{ EVENT_QP_FATAL, "qp" }, { EVENT_QP_REQ_ERR, "qp" },
	{ EVENT_QP_ACCESS_ERR, "qp" }, { EVENT_COMM_EST, "qp" },
	{ EVENT_SQ_DRAINED, "qp" }, { EVENT_PATH_MIG, "qp" },
	{ EVENT_PATH_MIG_ERR, "qp" }, { EVENT_QP_LAST_WQE_REACHED, "qp" },
	{ EVENT_CQ_ERR, "cq" }, { EVENT_SRQ_ERR, "srq" },
	{ EVENT_SRQ_LIMIT_REACHED, "srq" },
};

/* Creates two objects of each kind; @number: those of the first ones */
static int event_objects(const struct abi *s, __u32 number[3])
{
	static const char * const kinds[] = { "qp", "cq", "srq" };
	struct rdma_ep_cmd_create_qp c;
	__u32 cq[2], srq[2];
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		ret = abi_create_cq(s, -1, 16, 300 + i, &cq[i]) ?:
		      abi_create_srq(s, s->pd, 16, 400 + i, &srq[i]);
		abi_qp_attr(&c, QPT_RC, s->pd, cq[i], cq[i]);
		c.init.uid = 200 + i;
		ret = ret ?: ABI(s->fd, CREATE_QP, &c);
		for (int j = 0; j < 3 && !i; j++)
			number[j] = mock_read_key("last", kinds[j]);
	}
	return ret;
}

static __u64 event_uid(const char *kind)
{
	return *kind == 'q' ? 200 : *kind == 'c' ? 300 : 400;
}

static __u32 event_number(const char *kind, const __u32 number[3])
{
	return number[*kind == 'q' ? 0 : *kind == 'c' ? 1 : 2];
}

TEST_F(mock, object_events_have_their_uid)
{
	__u32 number[3];
	struct abi s2;

	OK(begin(self));
	OK(abi_open(&s2));
	OK(event_objects(&self->s, number));
	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++) {
		OK(mock_write("context", "%s", contexts[i]));
		for (size_t j = 0; j < ARRAY_SIZE(object_events); j++) {
			const char *kind = object_events[j].kind;

			OK(mock_write("event", "%u %s %u", object_events[j].type, kind,
				      event_number(kind, number)));
			EXPECT_ASYNC(self->s.async_fd, object_events[j].type, event_uid(kind));
		}
		/* Each event arrived once, and in no other session. */
		EXPECT_TRUE(abi_quiet(self->s.async_fd));
		EXPECT_TRUE(abi_quiet(s2.async_fd));
	}
	abi_close(&s2);
}

/* Unread events of one object and type merge into one; no type is lost. */
TEST_F(mock, repeated_event_reported_once)
{
	struct rdma_ep_async_event ev;
	__u32 number[3], seen = 0;
	int n;

	OK(begin(self));
	OK(event_objects(&self->s, number));
	for (int i = 0; i < 400; i++)
		OK(mock_write("event", "%u qp %u", 1 + i % 7, number[0]));
	for (n = 0; abi_ready(self->s.async_fd, ABI_QUIET_MS); n++) {
		OK(abi_read(self->s.async_fd, &ev, sizeof(ev), 0));
		EXPECT_EQ(200, ev.uid);
		seen |= 1 << ev.event;
	}
	EXPECT_EQ(7, n);
	EXPECT_EQ(0xfe, seen);
}

/* The latest event is read last, even if it merges with an unread one of its type. */
TEST_F(mock, unread_events_of_an_object_keep_their_order)
{
	static const __u32 posted[] = {
		EVENT_SQ_DRAINED, EVENT_COMM_EST, EVENT_QP_FATAL, EVENT_SQ_DRAINED,
	};
	__u32 number[3];

	OK(begin(self));
	OK(event_objects(&self->s, number));
	for (size_t i = 0; i < ARRAY_SIZE(posted); i++)
		OK(mock_write("event", "%u qp %u", posted[i], number[0]));
	for (size_t i = 1; i < ARRAY_SIZE(posted); i++)
		EXPECT_ASYNC(self->s.async_fd, posted[i], 200);
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
}

TEST_F(mock, unknown_event_ignored)
{
	static const char * const kinds[] = { "qp", "cq", "srq", "device" };
	static const __u32 types[] = { 32, 33, 64, 1000, 0x7fffffff, ~0U };
	__u32 number[3];

	OK(begin(self));
	OK(event_objects(&self->s, number));
	for (size_t k = 0; k < ARRAY_SIZE(contexts); k++) {
		OK(mock_write("context", "%s", contexts[k]));
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			for (size_t j = 0; j < ARRAY_SIZE(types); j++)
				OK(mock_write("event", "%u %s %u", types[j], kinds[i],
					      i < 3 ? number[i] : 0));
		}
	}
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
}

TEST_F(mock, device_events_reach_every_context)
{
	static const __u32 types[] = {
		EVENT_DEVICE_FATAL, EVENT_PORT_ACTIVE, EVENT_PORT_ERR, EVENT_LID_CHANGE,
		EVENT_PKEY_CHANGE, EVENT_SM_CHANGE, EVENT_CLIENT_REREGISTER,
	};
	struct abi s2;
	__u32 ctx;
	int fd[3];

	OK(begin(self));
	OK(abi_open(&s2));
	fd[0] = self->s.async_fd;
	fd[1] = s2.async_fd;
	OK(abi_ctx(&s2, &ctx, &fd[2]));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		__u32 port = types[i] == EVENT_DEVICE_FATAL ? 0 : 1;

		OK(mock_write("event", "%u %s %u", types[i], port ? "port" : "device", port));
		for (int j = 0; j < 3; j++)
			EXPECT_ASYNC(fd[j], types[i], port);
	}
	/* ib_core reports changes of GIDs itself, and drops the events of drivers. */
	OK(mock_write("event", "%u port 1", EVENT_GID_CHANGE));
	for (int j = 0; j < 3; j++)
		EXPECT_TRUE(abi_quiet(fd[j]));
	OK(system("ip addr add 10.92.17.2/24 dev " MOCK_NETDEV));
	for (int j = 0; j < 3; j++)
		EXPECT_ASYNC(fd[j], EVENT_GID_CHANGE, 1);
	/* A port that the device does not have */
	OK(mock_write("event", "%u port 2", EVENT_PORT_ERR));
	OK(mock_write("event", "%u port %u", EVENT_PORT_ERR, ~0U));
	for (int j = 0; j < 3; j++)
		EXPECT_TRUE(abi_quiet(fd[j]));
	abi_close(&s2);
}

/* A failed device reports DEVICE_FATAL, and its removal reports it again. */
TEST_F(mock, fatal_event_then_removal)
{
	__u32 pd;

	OK(begin(self));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, i ? mock_del() : mock_write("event", "%u device 0",
							 EVENT_DEVICE_FATAL));
		EXPECT_ASYNC(self->s.async_fd, EVENT_DEVICE_FATAL, 0);
		EXPECT_TRUE(abi_quiet(self->s.async_fd));
		EXPECT_EQ(i ? -EIO : 0, abi_alloc_pd(&self->s, self->s.ctx, &pd));
	}
}

TEST_F(mock, srq_events_have_their_uid)
{
	struct rdma_ep_cmd_srq_attr a = { .flags = RDMA_EP_SRQ_LIMIT, .srq_limit = 3 };
	struct rdma_ep_async_event ev;
	struct abi *s = &self->s;
	struct abi_wrs wr;
	struct wire w;
	__u32 srq;

	OK(begin(self));
	OK(abi_create_srq(s, s->pd, 16, 77, &srq));
	OK(wire_open(s, &w, srq));
	a.srq = srq;
	for (int round = 0; round < 3; round++) {
		abi_recv_wrs(&wr, 4, 0);
		OK(ABI_POST(s, SRQ_RECV, srq, &wr, NULL));
		OK(ABI(s->fd, MODIFY_SRQ, &a));
		OK(abi_post_empty_send(s, w.qp[0], 0, 1));
		EXPECT_TRUE(abi_quiet(s->async_fd));
		/* One event only, although the SRQ stays below the limit */
		for (int i = 0; i < 3; i++)
			OK(abi_post_empty_send(s, w.qp[0], 0, 1));
		EXPECT_ASYNC(s->async_fd, EVENT_SRQ_LIMIT_REACHED, 77);
		EXPECT_TRUE(abi_quiet(s->async_fd));
	}
	a.srq_limit = 17;
	EXPECT_EQ(-EINVAL, ABI(s->fd, MODIFY_SRQ, &a));
	OK(abi_qp_state(s, w.qp[1], QPS_ERR));
	OK(abi_read(s->async_fd, &ev, sizeof(ev), ABI_WAIT_MS));
	EXPECT_EQ(EVENT_QP_LAST_WQE_REACHED, ev.event);
}

/* The next owner of a session gets no uid of the previous one, an address in its memory. */
TEST_F(mock, object_events_of_an_adopter)
{
	__u32 number[3];
	int fd, async;

	OK(begin(self));
	OK(event_objects(&self->s, number));
	fd = FD(abi_adopt(self->s.fd));
	close(self->s.fd);
	self->s.fd = fd;
	async = FD(abi_open_queue(fd, RDMA_EP_OBJ_CTX, self->s.ctx));
	for (size_t i = 0; i < ARRAY_SIZE(object_events); i++) {
		const char *kind = object_events[i].kind;

		OK(mock_write("event", "%u %s %u", object_events[i].type, kind,
			      event_number(kind, number)));
		EXPECT_ASYNC(async, object_events[i].type, 0);
	}
}

/* An overrun CQ raises CQ_ERR; its QP can be reset, and both can be destroyed. */
TEST_F(mock, cq_overrun_gives_event)
{
	struct rdma_ep_cmd_create_qp c;
	struct abi *s = &self->s;
	struct rdma_ep_wc wc[16];
	struct abi_wrs wr;
	__u32 cq;

	OK(begin(self));
	OK(abi_create_cq(s, -1, 2, 88, &cq));
	OK(abi_create_qp(s, QPT_RC, cq, 0, &c));
	OK(abi_qp_init(s, c.init.qp, QPT_RC, 0));
	abi_recv_wrs(&wr, 8, 0);
	OK(ABI_POST(s, RECV, c.init.qp, &wr, NULL));
	OK(abi_qp_state(s, c.init.qp, QPS_ERR));
	EXPECT_ASYNC(s->async_fd, EVENT_CQ_ERR, 88);
	EXPECT_EQ(2, abi_poll(s, cq, wc, 16));
	EXPECT_EQ(0, wc[0].wr_id);
	EXPECT_EQ(1, wc[1].wr_id);
	/* A reset frees the slots of requests whose completions were lost. */
	OK(abi_qp_state(s, c.init.qp, QPS_RESET));
	OK(abi_qp_init(s, c.init.qp, QPT_RC, 0));
	abi_recv_wrs(&wr, 16, 0);
	EXPECT_EQ(0, ABI_POST(s, RECV, c.init.qp, &wr, NULL));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, CQ, cq));
}

/* A reset waits for posts in the driver, so that none adds a request after it. */
TEST_F(mock, reset_while_posting)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_post post = {};
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_wc wc[16];
	struct abi_call call;
	struct abi_wrs w;
	__u32 cq;

	OK(begin(self));
	OK(abi_create_cq(s, -1, 64, 0, &cq));
	OK(abi_create_qp(s, QPT_RC, cq, 0, &c));
	OK(abi_qp_init(s, c.init.qp, QPT_RC, 0));
	ASSERT_GE(16, c.init.max_recv_wr);
	OK(mock_post_ms(1000));
	abi_wrs_recv(&w, 1);
	post.wrs = (uintptr_t)w.buf;
	post.wrs_len = w.len;
	post.num = 1;
	post.handle = c.init.qp;
	OK(ABI_CALL(&call, s, POST_RECV, &post));
	OK(mock_wait_stalled("post_recv", 1));
	EXPECT_EQ(0, abi_qp_state(s, c.init.qp, QPS_RESET));
	EXPECT_RETURNS(0, &call);
	OK(mock_post_ms(0));

	/* The queue is empty: it takes max_recv_wr requests, and only these complete. */
	OK(abi_qp_init(s, c.init.qp, QPT_RC, 0));
	for (__u32 i = 0; i < c.init.max_recv_wr; i++)
		LOGGED(EXPECT_EQ(0, abi_post_empty_recv(s, c.init.qp, 100 + i)),
		       "receive %u of %u", i, c.init.max_recv_wr);
	OK(abi_qp_state(s, c.init.qp, QPS_ERR));
	ASSERT_EQ(c.init.max_recv_wr, abi_poll(s, cq, wc, 16));
	for (__u32 i = 0; i < c.init.max_recv_wr; i++)
		EXPECT_EQ(100 + i, wc[i].wr_id);
}

TEST_HARNESS_MAIN
