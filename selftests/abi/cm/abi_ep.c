// SPDX-License-Identifier: GPL-2.0-only
/* QPs and SRQs of ids, and the commands CREATE_EP and GET_REQUEST. */
#include "abi_test.h"

FIXTURE(ep) {
	struct abi s;
	int channel;
	__u32 cq;
	__u32 bound;		/* an id bound to the device */
};

static void open_ep(struct __test_metadata *_metadata, struct _test_data_ep *self)
{
	struct sockaddr_in sin;

	OK(abi_open(&self->s));
	self->channel = abi_channel(&self->s);
	OK(abi_create_cq(&self->s, -1, 64, 0, &self->cq));
	OK(abi_tcp_id(&self->s, self->channel, 1, &self->bound));
	sin = self->s.addr;
	OK(abi_bind(&self->s, self->bound, &sin));
}

FIXTURE_SETUP(ep)
{
	open_ep(_metadata, self);
}

TEARDOWN_CLOSES(ep)

/* Counts the objects of a new session after those of earlier tests have been freed. */
static void count(struct __test_metadata *_metadata, struct _test_data_ep *self,
		  struct abi_objects *o)
{
	abi_close(&self->s);
	close(self->channel);
	OK(abi_idle());
	open_ep(_metadata, self);
	OK(abi_objects(o));
}

static void set_ep(struct _test_data_ep *self, struct rdma_ep_cmd_create_ep *e, __u32 flags,
		   __u16 port)
{
	struct sockaddr_in sin = self->s.addr;

	memset(e, 0, sizeof(*e));
	e->flags = flags;
	e->uid = 0xeeeeffff00001111ULL;
	e->channel_fd = self->channel;
	e->ps = RDMA_PS_TCP;
	e->qp_type = QPT_RC;
	e->addr_timeout_ms = 5000;
	e->route_timeout_ms = 5000;
	sin.sin_port = port;
	if (flags & RDMA_EP_EP_PASSIVE)
		memcpy(&e->src, &sin, sizeof(sin));
	else
		memcpy(&e->dst, &sin, sizeof(sin));
}

/* CREATE_QP also creates the CQs, with completion channels. */
static void set_qp(struct rdma_ep_qp_init *q)
{
	abi_auto_qp(q);
	q->uid = 11;
	q->send_cq.uid = 22;
	q->recv_cq.uid = 33;
}

TEST_F(ep, qp_with_everything_made)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c = { .id = self->bound };
	struct rdma_ep_cmd_notify_cq n = {};
	struct rdma_ep_wc wc;

	set_qp(&c.init);
	OK(ABI(s->fd, CREATE_QP, &c));
	EXPECT_EQ(s->pd, c.init.pd);
	EXPECT_EQ(QPS_INIT, c.init.state);
	EXPECT_NE(0, c.init.qp);
	EXPECT_NE(0, c.init.qp_num);
	EXPECT_NE(0, c.init.send_cq.cq);
	EXPECT_NE(0, c.init.recv_cq.cq);
	EXPECT_NE(c.init.send_cq.cq, c.init.recv_cq.cq);
	EXPECT_LE(16, c.init.send_cq.cqe);
	EXPECT_LE(16, c.init.recv_cq.cqe);
	EXPECT_LE(16, c.init.max_send_wr);
	EXPECT_LE(2, c.init.max_recv_sge);
	EXPECT_LE(64, c.init.max_inline_data);
	EXPECT_NE(c.init.send_cq.channel_fd, c.init.recv_cq.channel_fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(c.init.send_cq.channel_fd, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(c.init.recv_cq.channel_fd, F_GETFD));

	/* The QP takes receives, and the CQ reports to its channel. */
	EXPECT_EQ(0, abi_post_empty_recv(s, c.init.qp, 5));
	n.cq = c.init.recv_cq.cq;
	EXPECT_EQ(0, ABI(s->fd, NOTIFY_CQ, &n));
	EXPECT_EQ(0, abi_qp_state(s, c.init.qp, QPS_ERR));
	EXPECT_COMP(c.init.recv_cq.channel_fd, 33);
	EXPECT_EQ(1, abi_wait(s, c.init.recv_cq.cq, &wc, 1));
	EXPECT_EQ(c.init.qp_num, wc.qp_num);

	/* An id has at most one QP. */
	set_qp(&c.init);
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c));
}

TEST_F(ep, qp_again_after_destroy)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c = { .id = self->bound };

	set_qp(&c.init);
	OK(ABI(s->fd, CREATE_QP, &c));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, CQ, c.init.send_cq.cq));
	EXPECT_EQ(0, ABI_DESTROY(s, CQ, c.init.recv_cq.cq));
	set_qp(&c.init);
	EXPECT_EQ(0, ABI(s->fd, CREATE_QP, &c));
}

TEST_F(ep, qp_of_an_unbound_id)
{
	struct rdma_ep_cmd_create_qp c = {};
	int fds;

	OK(abi_tcp_id(&self->s, self->channel, 0, &c.id));
	set_qp(&c.init);
	fds = abi_count_fds();
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, CREATE_QP, &c));
	EXPECT_EQ(fds, abi_count_fds());
}

/* A queue without entries gets no CQ, and a given CQ is used. */
TEST_F(ep, qp_without_receives)
{
	struct rdma_ep_cmd_create_qp c = { .id = self->bound };

	set_qp(&c.init);
	c.init.max_recv_wr = 0;
	c.init.max_recv_sge = 0;
	c.init.recv_cq.cqe = 99;
	c.init.recv_cq.channel_fd = 99;
	c.init.send_cq.cq = self->cq;
	OK(ABI(self->s.fd, CREATE_QP, &c));
	EXPECT_EQ(0, c.init.recv_cq.cq);
	EXPECT_EQ(-1, c.init.recv_cq.channel_fd);
	EXPECT_EQ(0, c.init.recv_cq.cqe);
	EXPECT_EQ(self->cq, c.init.send_cq.cq);
	EXPECT_EQ(-1, c.init.send_cq.channel_fd);
	EXPECT_EQ(0, c.init.send_cq.cqe);
}

/* A failure after the creation of the CQs destroys them. */
TEST_F(ep, failed_qp_leaves_nothing)
{
	struct rdma_ep_cmd_create_qp c = {};
	struct abi_objects before;
	int fds = abi_count_fds();

	count(_metadata, self, &before);
	c.id = self->bound;
	set_qp(&c.init);
	EXPECT_NE(0, ABI_WITH(self->s.fd, CREATE_QP, c, init.max_send_sge, 100000));
	EXPECT_NE(0, ABI_WITH(self->s.fd, CREATE_QP, c, init.max_inline_data, 1 << 30));
	EXPECT_NE(0, ABI_WITH(self->s.fd, CREATE_QP, c, init.max_send_wr, ~0U));
	EXPECT_NE(0, ABI_WITH(self->s.fd, CREATE_QP, c, init.qp_type, 7));
	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(0, abi_objects_wait(&before));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_QP, &c));
}

TEST_F(ep, srq_of_an_id)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_srq c = { .id = self->bound, .max_wr = 8, .max_sge = 1 };
	struct rdma_ep_cmd_create_qp qp = { .id = self->bound };
	struct rdma_ep_cmd_create_srq unbound = c;

	OK(ABI(s->fd, CREATE_SRQ, &c));
	EXPECT_NE(0, c.srq);
	EXPECT_LE(8, c.max_wr);
	EXPECT_LE(1, c.max_sge);
	unbound = c;
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_SRQ, &unbound));
	OK(abi_tcp_id(s, self->channel, 0, &unbound.id));
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_SRQ, &unbound));

	/* A QP of the id uses the id's SRQ. */
	set_qp(&qp.init);
	qp.init.max_recv_wr = 0;
	qp.init.recv_cq.cq = self->cq;
	OK(ABI(s->fd, CREATE_QP, &qp));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, SRQ, c.srq));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, qp.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, SRQ, c.srq));
	/* The id can have another SRQ. */
	EXPECT_EQ(0, ABI(s->fd, CREATE_SRQ, &c));
}

TEST_F(ep, passive_ep_listens)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_ep e;
	struct sockaddr_in *src = (struct sockaddr_in *)&e.info.src;

	set_ep(self, &e, RDMA_EP_EP_PASSIVE, 0);
	OK(ABI(s->fd, CREATE_EP, &e));
	EXPECT_NE(0, e.id);
	EXPECT_EQ(s->dev, e.info.dev_index);
	EXPECT_EQ(1, e.info.port_num);
	EXPECT_NE(0, src->sin_port);
	EXPECT_EQ(0, e.qp.qp);
	EXPECT_EQ(0, ABI_ID_CMD(s, LISTEN, e.id, 1));
	/* The same port again */
	set_ep(self, &e, RDMA_EP_EP_PASSIVE, src->sin_port);
	EXPECT_EQ(-EADDRINUSE, ABI(s->fd, CREATE_EP, &e));
}

TEST_F(ep, active_ep_resolves)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_ep e;
	struct rdma_ep_cmd_query_id q = {};
	struct sockaddr_in *dst = (struct sockaddr_in *)&e.info.dst;

	set_ep(self, &e, RDMA_EP_EP_CREATE_QP | RDMA_EP_ID_PRIVATE_CHANNEL, htons(4715));
	set_qp(&e.qp);
	OK(ABI(s->fd, CREATE_EP, &e));
	EXPECT_NE(0, e.id);
	EXPECT_NE(0, e.qp.qp);
	EXPECT_EQ(QPS_INIT, e.qp.state);
	EXPECT_NE(self->channel, e.channel_fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(e.channel_fd, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(e.qp.send_cq.channel_fd, F_GETFD));
	EXPECT_EQ(htons(4715), dst->sin_port);
	EXPECT_EQ(s->dev, e.info.dev_index);
	if (!s->iwarp)
		EXPECT_EQ(1, e.info.num_paths);
	/* The steps of CREATE_EP report no events. */
	EXPECT_TRUE(abi_quiet(e.channel_fd));
	q.id = e.id;
	OK(ABI(s->fd, QUERY_ID, &q));
	EXPECT_EQ(0, q.events_reported);
	EXPECT_EQ(0, memcmp(&q.info, &e.info, sizeof(q.info)));

	/* Without a QP, on a given channel */
	set_ep(self, &e, 0, htons(4715));
	OK(ABI(s->fd, CREATE_EP, &e));
	EXPECT_EQ(0, e.qp.qp);
	EXPECT_EQ(self->channel, e.channel_fd);
	EXPECT_TRUE(abi_quiet(self->channel));
}

TEST_F(ep, bad_arguments_refused)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_ep good, e;
	struct abi_objects before;
	int ret, fds = abi_count_fds();

	count(_metadata, self, &before);
	set_ep(self, &good, RDMA_EP_EP_CREATE_QP | RDMA_EP_ID_PRIVATE_CHANNEL, htons(4716));
	set_qp(&good.qp);

	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, flags,
				    good.flags | RDMA_EP_EP_PASSIVE));
	/* Without a QP, but with its attributes */
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, flags, RDMA_EP_ID_PRIVATE_CHANNEL));
	set_ep(self, &e, RDMA_EP_EP_PASSIVE, 0);
	memcpy(&e.dst, &e.src, sizeof(e.dst));
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_EP, &e));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, ps, 5));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, qp_type, 77));
	e = good;
	e.flags &= ~RDMA_EP_ID_PRIVATE_CHANNEL;
	e.channel_fd = 0;
	EXPECT_EQ(-EBADF, ABI(s->fd, CREATE_EP, &e));
	EXPECT_EQ(-EAFNOSUPPORT, ABI_WITH(s->fd, CREATE_EP, good, dst.ss_family, AF_UNIX));
	/* QP capabilities that no device grants */
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, qp.max_send_sge, 100000));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, good, qp.max_recv_wr, ~0U));
	/* A neighbour that does not answer */
	e = good;
	((struct sockaddr_in *)&e.dst)->sin_addr.s_addr ^= htonl(0x4e);
	e.addr_timeout_ms = 300;
	ret = ABI(s->fd, CREATE_EP, &e);
	LOGGED(EXPECT_TRUE(ret == -ETIMEDOUT || ret == -EHOSTUNREACH), "returned %d", ret);
	/* A source address that is not local */
	e = good;
	memcpy(&e.src, &e.dst, sizeof(e.src));
	inet_pton(AF_INET, "192.0.2.1", &((struct sockaddr_in *)&e.src)->sin_addr);
	ret = ABI(s->fd, CREATE_EP, &e);
	LOGGED(EXPECT_TRUE(ret == -EADDRNOTAVAIL || ret == -ENODEV), "returned %d", ret);

	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(0, abi_objects_wait(&before));
	EXPECT_EQ(0, ABI(s->fd, CREATE_EP, &good));
}

TEST_F(ep, signal_interrupts_create_ep)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_ep e;
	struct abi_objects before;
	int fds = abi_count_fds();
	long start;

	count(_metadata, self, &before);
	set_ep(self, &e, RDMA_EP_EP_CREATE_QP | RDMA_EP_ID_PRIVATE_CHANNEL, htons(4717));
	set_qp(&e.qp);
	((struct sockaddr_in *)&e.dst)->sin_addr.s_addr ^= htonl(0x4f);
	e.addr_timeout_ms = 20000;
	start = abi_now_ms();
	abi_alarm(200);
	EXPECT_EQ(-EINTR, ABI(s->fd, CREATE_EP, &e));
	abi_alarm(0);
	EXPECT_LE(190, abi_now_ms() - start);
	EXPECT_GT(2500 * TEST_SCALE, abi_now_ms() - start);
	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(0, abi_objects_wait(&before));
}

TEST_F(ep, privileged_port_needs_right)
{
	struct rdma_ep_cmd_create_ep e;

	OK(abi_become_nobody());
	set_ep(self, &e, RDMA_EP_EP_PASSIVE, htons(82));
	EXPECT_EQ(-EACCES, ABI(self->s.fd, CREATE_EP, &e));
	set_ep(self, &e, RDMA_EP_EP_PASSIVE, htons(1082));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_EP, &e));
}

FIXTURE(request) {
	struct abi s;
	int server, client;
	__u32 cq;
	__u32 listener;
	__u32 id;		/* the client's */
	struct rdma_ep_cmd_create_qp qp;
};

FIXTURE_SETUP(request)
{
	struct abi *s = &self->s;
	struct sockaddr_in sin;

	OK(abi_open(s));
	self->server = abi_channel(s);
	self->client = abi_channel(s);
	OK(abi_create_cq(s, -1, 64, 0, &self->cq));
	OK(abi_tcp_listen(s, self->server, 0, 71, &self->listener, &sin));
	OK(abi_tcp_client(s, self->client, &sin, 72, &self->id));
	OK(abi_create_qp(s, QPT_RC, self->cq, self->id, &self->qp));
}

TEARDOWN_CLOSES(request)

static int ask(struct _test_data_request *self)
{
	int ret = abi_connect(&self->s, self->id, 0);

	return ret ?: abi_ready(self->server, ABI_WAIT_MS) ? 0 : -ETIMEDOUT;
}

TEST_F(request, request_taken_and_accepted)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP, .id = self->listener,
	};
	struct rdma_ep_cmd_query_id q = { .id = self->listener };
	struct rdma_ep_channel_event ev;

	set_qp(&g.qp);
	EXPECT_EQ(-EAGAIN, ABI(s->fd, GET_REQUEST, &g));
	OK(ask(self));
	set_qp(&g.qp);
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(EV_CONNECT_REQUEST, g.event.event);
	EXPECT_EQ(71, g.event.uid);
	EXPECT_EQ(self->listener, g.event.id);
	EXPECT_NE(0, g.event.child);
	EXPECT_EQ(RDMA_EP_EVENT_INFO, g.event.flags);
	EXPECT_EQ(0, g.qp_errno);
	EXPECT_NE(0, g.qp.qp);
	EXPECT_EQ(QPS_INIT, g.qp.state);
	EXPECT_EQ(FD_CLOEXEC, fcntl(g.channel_fd, F_GETFD));
	EXPECT_FALSE(abi_ready(self->server, 0));
	OK(ABI(s->fd, QUERY_ID, &q));
	EXPECT_EQ(1, q.events_reported);

	OK(abi_accept(s, g.event.child, 73, 0));
	OK(abi_event(self->client, EV_ESTABLISHED, &ev));
	OK(abi_event(g.channel_fd, EV_ESTABLISHED, &ev));
	EXPECT_EQ(73, ev.uid);
	EXPECT_EQ(g.event.child, ev.id);
	EXPECT_TRUE(abi_quiet(self->server));
	set_qp(&g.qp);
	EXPECT_EQ(-EAGAIN, ABI(s->fd, GET_REQUEST, &g));
}

TEST_F(request, request_without_qp)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = { .id = self->listener };
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_channel_event ev;

	OK(ask(self));
	g.qp.max_send_wr = 1;
	EXPECT_EQ(-EINVAL, ABI(s->fd, GET_REQUEST, &g));
	g.qp.max_send_wr = 0;
	EXPECT_TRUE(abi_ready(self->server, 0));
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(-1, g.channel_fd);
	EXPECT_EQ(0, g.qp.qp);
	EXPECT_EQ(EV_CONNECT_REQUEST, g.event.event);
	c = self->qp;
	OK(abi_create_qp(s, QPT_RC, self->cq, g.event.child, &c));
	OK(abi_accept(s, g.event.child, 74, 0));
	/* The child has no channel of its own, and reports to the listener's. */
	OK(abi_event(self->server, EV_ESTABLISHED, &ev));
	EXPECT_EQ(74, ev.uid);
}

/* GET_REQUEST succeeds without the QP, and the request can be rejected. */
TEST_F(request, failed_qp_keeps_request)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP, .id = self->listener,
	};
	struct rdma_ep_cmd_reject r = {};
	int fds;

	OK(ask(self));
	set_qp(&g.qp);
	g.qp.max_send_sge = 100000;
	fds = abi_count_fds();
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(EINVAL, g.qp_errno);
	EXPECT_EQ(0, g.qp.qp);
	EXPECT_LE(0, g.channel_fd);
	/* The file of the request's channel, none of CQs */
	EXPECT_EQ(fds + 1, abi_count_fds());
	r.id = g.event.child;
	EXPECT_EQ(0, ABI(s->fd, REJECT, &r));
	EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, NULL));
}

/* A request that cannot be written to the caller stays in the queue, or is rejected. */
TEST_F(request, unreported_request_stays)
{
	struct rdma_ep_cmd_get_request *g = abi_map(4096);
	int fds;

	OK(ask(self));
	g->size = sizeof(*g);
	g->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	g->id = self->listener;
	set_qp(&g->qp);
	mprotect(g, 4096, PROT_READ);
	fds = abi_count_fds();
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_GET_REQUEST, g));
	EXPECT_EQ(fds, abi_count_fds());
	mprotect(g, 4096, PROT_READ | PROT_WRITE);
	if (abi_ready(self->server, ABI_QUIET_MS)) {
		EXPECT_EQ(0, abi_event(self->server, EV_CONNECT_REQUEST, NULL));
	} else {
		EXPECT_EQ(0, abi_event(self->client, EV_REJECTED, NULL));
	}
}

/* GET_REQUEST returns events of other ids on the channel unchanged. */
TEST_F(request, other_events_pass_unchanged)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL, .id = self->listener,
	};
	struct sockaddr_in dst = s->addr;
	int fds;
	__u32 id;

	dst.sin_port = htons(4718);
	OK(abi_tcp_id(s, self->server, 75, &id));
	OK(abi_resolve_addr(s, id, &dst, 5000));
	ASSERT_TRUE(abi_ready(self->server, ABI_WAIT_MS));
	fds = abi_count_fds();
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(EV_ADDR_RESOLVED, g.event.event);
	EXPECT_EQ(75, g.event.uid);
	EXPECT_EQ(0, g.event.child);
	EXPECT_EQ(-1, g.channel_fd);
	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(-EAGAIN, ABI(s->fd, GET_REQUEST, &g));
}

TEST_HARNESS_MAIN
