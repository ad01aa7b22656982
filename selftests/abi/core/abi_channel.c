// SPDX-License-Identifier: GPL-2.0-only
/* The three kinds of files that events are read from follow the same rules. */
#include "abi_test.h"

#define QKEY	0x22223333

enum kind { CM, COMP, ASYNC };

/* A QP that sends to itself and receives from an SRQ */
struct source {
	__u32 cq, srq, qp, qp_num, ah;
	char grh[GRH_BYTES];
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs wrs;
};

FIXTURE(channel) {
	struct abi s;
	int fd;
	struct source src[2];
};

FIXTURE_VARIANT(channel) {
	enum kind kind;
	size_t len;
};

FIXTURE_VARIANT_ADD(channel, cm) { .kind = CM, .len = sizeof(struct rdma_ep_channel_event) };
FIXTURE_VARIANT_ADD(channel, comp) { .kind = COMP, .len = sizeof(struct rdma_ep_comp_event) };
FIXTURE_VARIANT_ADD(channel, async) { .kind = ASYNC, .len = sizeof(struct rdma_ep_async_event) };

static int make_source(const struct abi *s, int channel, __u64 uid, struct source *src)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_cq(s, channel, 64, uid, &src->cq) ?:
	      abi_create_srq(s, s->pd, 32, uid, &src->srq) ?:
	      abi_create_ah(s, s->pd, &src->ah) ?:
	      abi_reg_mr(s, s->pd, src->grh, GRH_BYTES, AC_LOCAL_WRITE, &src->mr);
	if (ret)
		return ret;
	abi_qp_attr(&c, QPT_UD, s->pd, src->cq, src->cq);
	c.init.srq = src->srq;
	c.init.uid = uid;
	ret = ABI(s->fd, CREATE_QP, &c);
	src->qp = c.init.qp;
	src->qp_num = c.init.qp_num;
	return ret ?: abi_qp_init(s, src->qp, QPT_UD, QKEY) ?:
	       abi_qp_rts(s, src->qp, QPT_UD, 0);
}

/* Sends one message. Its completions stay in the CQ until a poll. */
static int send_one(const struct abi *s, struct source *src, __u32 flags)
{
	struct rdma_ep_send_wr *wr;
	int ret;

	abi_wrs_recv(&src->wrs, 1);
	abi_mr_sge(&src->wrs, &src->mr, 0, GRH_BYTES);
	ret = ABI_POST(s, SRQ_RECV, src->srq, &src->wrs, NULL);
	wr = abi_wrs_send(&src->wrs, WR_SEND, flags, 2);
	wr->ah = src->ah;
	wr->remote_qpn = src->qp_num;
	wr->remote_qkey = QKEY;
	return ret ?: ABI_POST(s, SEND, src->qp, &src->wrs, NULL);
}

static int drain(const struct abi *s, __u32 cq, __u32 num)
{
	struct rdma_ep_wc wc[16];

	if (abi_wait(s, cq, wc, num) != (int)num)
		return -EIO;
	for (__u32 i = 0; i < num; i++) {
		if (wc[i].status)
			return -EIO;
	}
	return 0;
}

/* Causes one event of source @i, with the uid 100 + @i. */
static int cause(struct _test_data_channel *self, enum kind kind, int i)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_srq_attr a = { .flags = RDMA_EP_SRQ_LIMIT, .srq_limit = 1 };
	struct sockaddr_in dst = s->addr;
	struct source *src = &self->src[i];
	__u32 id;
	int ret;

	switch (kind) {
	case CM:
		dst.sin_port = htons(4714);
		return abi_tcp_id(s, self->fd, 100 + i, &id) ?:
		       abi_resolve_addr(s, id, &dst, 5000);
	case COMP:
		ret = src->cq ? 0 : make_source(s, self->fd, 100 + i, src);
		return ret ?: abi_notify_cq(s, src->cq, 0) ?: send_one(s, src, 0) ?:
		       drain(s, src->cq, 1);
	case ASYNC:
		/* The only receive is consumed: fewer are left than the limit. */
		ret = src->cq ? 0 : make_source(s, -1, 100 + i, src);
		a.srq = src->srq;
		return ret ?: ABI(s->fd, MODIFY_SRQ, &a) ?:
		       send_one(s, src, 0) ?: drain(s, src->cq, 1);
	}
	return -EINVAL;
}

FIXTURE_SETUP(channel)
{
	OK(abi_open(&self->s));
	if (variant->kind == ASYNC) {
		self->fd = self->s.async_fd;
		self->s.async_fd = -1;
	} else {
		self->fd = variant->kind == CM ? abi_channel(&self->s) : abi_comp_channel(&self->s);
	}
	ASSERT_LE(0, self->fd);
	SKIP_IF(variant->kind != CM && self->s.iwarp, "needs datagrams");
}

FIXTURE_TEARDOWN(channel)
{
	close(self->fd);
	abi_close(&self->s);
}

static bool is_event(const struct _fixture_variant_channel *variant, const void *rec, int i)
{
	const struct rdma_ep_comp_event *comp = rec;
	const struct rdma_ep_async_event *async = rec;
	const struct rdma_ep_channel_event *cm = rec;

	switch (variant->kind) {
	case CM:
		return cm->uid == 100u + i && cm->event == EV_ADDR_RESOLVED;
	case COMP:
		return comp->uid == 100u + i;
	case ASYNC:
		return async->uid == 100u + i && !async->reserved &&
		       async->event == EVENT_SRQ_LIMIT_REACHED;
	}
	return false;
}

TEST_F(channel, nothing_there)
{
	char buf[2048];

	EXPECT_FALSE(abi_ready(self->fd, 0));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
	EXPECT_EQ(0, fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK));
	EXPECT_ERRNO(EAGAIN, read(self->fd, buf, variant->len));
	EXPECT_ERRNO(EAGAIN, read(self->fd, buf, sizeof(buf)));
	EXPECT_ERRNO(EINVAL, read(self->fd, buf, variant->len - 1));
	EXPECT_EQ(-1, write(self->fd, buf, variant->len));
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
}

TEST_F(channel, one_record)
{
	char buf[2048], *hole;

	SKIP_IF(variant->kind != CM && self->s.iwarp, "needs datagrams");
	OK(cause(self, variant->kind, 0));
	ASSERT_TRUE(abi_ready(self->fd, ABI_WAIT_MS));
	/* A read into a short or inaccessible buffer does not consume the event. */
	EXPECT_ERRNO(EINVAL, read(self->fd, buf, variant->len - 1));
	EXPECT_ERRNO(EINVAL, read(self->fd, buf, 1));
	hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT_ERRNO(EFAULT, read(self->fd, hole, variant->len));
	EXPECT_TRUE(abi_ready(self->fd, 0));
	/* Nothing is written behind the record. */
	memset(buf, 0x5a, sizeof(buf));
	EXPECT_EQ(variant->len, read(self->fd, buf, variant->len + 7));
	EXPECT_TRUE(is_event(variant, buf, 0));
	EXPECT_EQ(0x5a, buf[variant->len]);
	EXPECT_TRUE(abi_quiet(self->fd));
}

TEST_F(channel, several_records)
{
	char buf[4096] = "";
	int swapped;

	SKIP_IF(variant->kind != CM && self->s.iwarp, "needs datagrams");
	OK(cause(self, variant->kind, 0));
	OK(cause(self, variant->kind, 1));
	usleep(ABI_QUIET_MS * 1000);
	ASSERT_EQ(2 * variant->len, read(self->fd, buf, 3 * variant->len));
	swapped = !is_event(variant, buf, 0);
	EXPECT_TRUE(is_event(variant, buf, swapped));
	EXPECT_TRUE(is_event(variant, buf + variant->len, !swapped));
	EXPECT_TRUE(abi_quiet(self->fd));

	/* A read returns as many records as fit. */
	OK(cause(self, variant->kind, 0));
	OK(cause(self, variant->kind, 1));
	usleep(ABI_QUIET_MS * 1000);
	EXPECT_EQ(variant->len, read(self->fd, buf, 2 * variant->len - 1));
	EXPECT_TRUE(abi_ready(self->fd, 0));
	EXPECT_EQ(variant->len, read(self->fd, buf, variant->len));
	EXPECT_TRUE(abi_quiet(self->fd));
}

TEST_F(channel, interrupted)
{
	char buf[2048];
	long start = abi_now_ms();

	abi_alarm(100);
	EXPECT_ERRNO(EINTR, read(self->fd, buf, variant->len));
	abi_alarm(0);
	EXPECT_LE(90, abi_now_ms() - start);
}

struct reader {
	int fd;
	char buf[2048];
	ssize_t ret;
	int err;
	volatile bool done;
};

static void *reader_thread(void *arg)
{
	struct reader *r = arg;

	r->ret = read(r->fd, r->buf, sizeof(r->buf));
	r->err = errno;
	r->done = true;
	return NULL;
}

/* Joins the thread if its read has returned. */
static bool came_back(struct reader *r, pthread_t thread)
{
	return ABI_UNTIL(r->done) && !pthread_join(thread, NULL);
}

TEST_F(channel, wakes_reader)
{
	struct reader r = { .fd = self->fd };
	pthread_t thread;

	SKIP_IF(variant->kind != CM && self->s.iwarp, "needs datagrams");
	OK(pthread_create(&thread, NULL, reader_thread, &r));
	usleep(100000);
	EXPECT_FALSE(r.done);
	OK(cause(self, variant->kind, 0));
	ASSERT_TRUE(came_back(&r, thread));
	EXPECT_EQ(variant->len, r.ret);
	EXPECT_TRUE(is_event(variant, r.buf, 0));
}

TEST_F(channel, session_goes)
{
	struct reader r = { .fd = self->fd };
	struct pollfd p = { .fd = self->fd, .events = POLLIN };
	pthread_t thread;
	char buf[2048];

	OK(pthread_create(&thread, NULL, reader_thread, &r));
	usleep(100000);
	EXPECT_FALSE(r.done);
	close(self->s.fd);
	self->s.fd = -1;
	ASSERT_TRUE(came_back(&r, thread));
	EXPECT_EQ(-1, r.ret);
	EXPECT_EQ(EIO, r.err);
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_TRUE(p.revents & POLLERR);
	EXPECT_ERRNO(EIO, read(self->fd, buf, variant->len));
}

/* The session ends while poll(2) waits. */
TEST_F(channel, session_goes_under_poll)
{
	struct pollfd p = { .fd = self->fd, .events = POLLIN };
	long start = abi_now_ms();
	int status;
	pid_t pid;

	/* The child has the last reference to the session for a moment. */
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		usleep(300000);
		_exit(0);
	}
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_EQ(1, poll(&p, 1, ABI_WAIT_MS));
	EXPECT_TRUE(p.revents & POLLERR);
	/* The end of the session wakes poll(2) before its time limit. */
	EXPECT_GT(ABI_WAIT_MS / 2, abi_now_ms() - start);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
}

FIXTURE(comp) {
	struct abi s;
	int fd;
	struct source src;
};

FIXTURE_SETUP(comp)
{
	OK(abi_open(&self->s));
	self->fd = FD(abi_comp_channel(&self->s));
	if (self->s.iwarp)
		SKIP_FIXTURE("needs datagrams");
	OK(make_source(&self->s, self->fd, 7, &self->src));
}

TEARDOWN_CLOSES(comp)

TEST_F(comp, one_event_for_each_arming)
{
	struct rdma_ep_comp_event ev[4];
	struct abi *s = &self->s;

	/* Not armed */
	OK(send_one(s, &self->src, SEND_SIGNALED));
	OK(drain(s, self->src.cq, 2));
	EXPECT_TRUE(abi_quiet(self->fd));
	/* Armed once: one event of several completions */
	OK(abi_notify_cq(s, self->src.cq, 0));
	EXPECT_TRUE(abi_quiet(self->fd));
	for (int i = 0; i < 4; i++)
		OK(send_one(s, &self->src, SEND_SIGNALED));
	OK(drain(s, self->src.cq, 8));
	ASSERT_TRUE(abi_ready(self->fd, ABI_WAIT_MS));
	EXPECT_EQ(sizeof(ev[0]), read(self->fd, ev, sizeof(ev)));
	EXPECT_EQ(7, ev[0].uid);
	EXPECT_TRUE(abi_quiet(self->fd));
	/* Armed and fired twice: two events of the same CQ */
	for (int i = 0; i < 2; i++) {
		OK(abi_notify_cq(s, self->src.cq, 0));
		OK(send_one(s, &self->src, 0));
		OK(drain(s, self->src.cq, 1));
		usleep(20000);
	}
	EXPECT_EQ(2 * sizeof(ev[0]), read(self->fd, ev, sizeof(ev)));
	EXPECT_EQ(7, ev[1].uid);
}

TEST_F(comp, solicited)
{
	struct abi *s = &self->s;

	OK(abi_notify_cq(s, self->src.cq, RDMA_EP_NOTIFY_SOLICITED));
	OK(send_one(s, &self->src, SEND_SIGNALED));
	OK(drain(s, self->src.cq, 2));
	EXPECT_TRUE(abi_quiet(self->fd));
	OK(send_one(s, &self->src, SEND_SOLICITED));
	OK(drain(s, self->src.cq, 1));
	EXPECT_COMP(self->fd, 7);
	EXPECT_TRUE(abi_quiet(self->fd));
}

/* The destruction of a CQ drops its unread events. */
TEST_F(comp, destroy_cq)
{
	struct abi *s = &self->s;

	for (int i = 0; i < 3; i++) {
		OK(abi_notify_cq(s, self->src.cq, 0));
		OK(send_one(s, &self->src, 0));
		OK(drain(s, self->src.cq, 1));
		if (i < 2)
			EXPECT_COMP(self->fd, 7);
	}
	ASSERT_TRUE(abi_ready(self->fd, ABI_WAIT_MS));
	OK(ABI_DESTROY(s, QP, self->src.qp));
	EXPECT_EQ(2, ABI_DESTROY_COUNT(s, CQ, self->src.cq));
	EXPECT_FALSE(abi_ready(self->fd, 0));
}

/* An asynchronous event that comes again before it is read is reported once. */
TEST_F(comp, async_events_are_merged)
{
	struct rdma_ep_cmd_srq_attr a = {
		.flags = RDMA_EP_SRQ_LIMIT, .srq = self->src.srq, .srq_limit = 1,
	};
	struct abi *s = &self->s;

	for (int i = 0; i < 3; i++) {
		a.srq_limit = 1;
		OK(ABI(s->fd, MODIFY_SRQ, &a));
		OK(send_one(s, &self->src, 0));
		OK(drain(s, self->src.cq, 1));
		usleep(20000);
	}
	EXPECT_ASYNC(s->async_fd, EVENT_SRQ_LIMIT_REACHED, 7);
	EXPECT_TRUE(abi_quiet(s->async_fd));
	/* The limit has fired, and is not armed any more. */
	a.flags = 0;
	OK(ABI(s->fd, QUERY_SRQ, &a));
	EXPECT_EQ(0, a.srq_limit);
	OK(ABI_DESTROY(s, QP, self->src.qp));
	EXPECT_EQ(1, ABI_DESTROY_COUNT(s, SRQ, self->src.srq));
}

TEST_HARNESS_MAIN
