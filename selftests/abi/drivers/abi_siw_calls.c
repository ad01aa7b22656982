// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of siw that fail in the middle of a call, or come with bad private data or through
 * another device. The peer is a TCP socket.
 */
#include "abi_test.h"
#include "abi_mpa.h"

FIXTURE(calls) {
	struct abi s;
	struct rdma_ep_cmd_create_qp qp;
	int channel, tcp;
	struct sockaddr_in sin;		/* of a TCP socket that listens */
	__u32 id;
};

FIXTURE_SETUP(calls)
{
	socklen_t len = sizeof(self->sin);

	OK(abi_open(&self->s));
	if (!self->s.iwarp)
		SKIP_FIXTURE("it is no TCP");
	self->channel = abi_channel(&self->s);
	self->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	self->sin = self->s.addr;
	OK(bind(self->tcp, (struct sockaddr *)&self->sin, len));
	OK(getsockname(self->tcp, (struct sockaddr *)&self->sin, &len));
	OK(listen(self->tcp, 0));
	OK(abi_tcp_client(&self->s, self->channel, &self->sin, 1, &self->id));
	OK(abi_id_qp(&self->s, 0, &self->qp));
}

FIXTURE_TEARDOWN(calls)
{
	close(self->tcp);
	close(self->channel);
	abi_close(&self->s);
}

/* Answers with @len bytes, of which siw takes four if enhanced. Returns the socket, or -EIO. */
static int answer(int listener, __u16 bits, const void *data, __u16 len)
{
	struct mpa_frame frame = { .bits = htons(bits), .len = htons(len) };
	char request[sizeof(frame) + 4];
	int tcp = accept(listener, NULL, NULL);

	memcpy(frame.key, MPA_REPLY, sizeof(frame.key));
	if (recv(tcp, request, sizeof(request), MSG_WAITALL) == sizeof(request) &&
	    write(tcp, &frame, sizeof(frame)) == sizeof(frame) && write(tcp, data, len) == len)
		return tcp;
	close(tcp);
	return -EIO;
}

static int refuse(struct _test_data_calls *self, const void *data, __u16 len)
{
	int tcp = answer(self->tcp, MPA_REVISION_2 | MPA_ENHANCED | MPA_REJECT, data, len);

	return tcp < 0 ? tcp : close(tcp);
}

TEST_F(calls, refused_with_data)
{
	static const char data[] = "\0\1\0\1sorry";
	struct rdma_ep_channel_event ev;

	OK(abi_connect(&self->s, self->id, self->qp.init.qp_num));
	OK(refuse(self, data, sizeof(data)));
	OK(abi_event(self->channel, EV_REJECTED, &ev));
	EXPECT_EQ(sizeof(data) - 4, ev.param.conn.private_data_len);
	EXPECT_EQ(0, memcmp(ev.param.conn.private_data, data + 4, sizeof(data) - 4));
}

/* siw subtracts its four bytes from a shorter length, and reads beyond its buffer. (SIW-03) */
TEST_F(calls, refused_with_short_data_leaks_nothing)
{
	struct rdma_ep_channel_event ev;

	SKIP_IF(TEST_SCALE > 1, "siw reads it, which KASAN reports");
	OK(abi_connect(&self->s, self->id, self->qp.init.qp_num));
	OK(refuse(self, "no", 2));
	OK(abi_event(self->channel, EV_REJECTED, &ev));
	EXPECT_EQ(0, ev.param.conn.private_data_len);
}

/* A CONNECT that waits for a listener */
struct connecting {
	struct mpa_full full;
	struct rdma_ep_cmd_connect arg;
	struct abi_call call;
};

static int begin(struct _test_data_calls *self, struct connecting *c, __u32 qp_num)
{
	const struct abi *s = &self->s;
	int ret;

	c->arg.conn = (struct rdma_ep_conn_param) {
		.responder_resources = 1, .initiator_depth = 1, .qp_num = qp_num,
	};
	ret = mpa_fill(&s->addr, &c->full) ?:
	      abi_tcp_client(s, self->channel, &c->full.sin, 1, &c->arg.id) ?:
	      ABI_CALL(&c->call, s, CONNECT, &c->arg);
	usleep(300000 * TEST_SCALE);
	return ret;
}

/* Returns the result of the call. */
static int end(struct connecting *c)
{
	mpa_unfill(&c->full);
	return abi_call_returned(&c->call) ? c->call.ret : -ETIMEDOUT;
}

/* During the TCP handshake siw does not expect other calls on the QP. (SIW-24) */
TEST_F(calls, qp_busy_while_connecting)
{
	const struct abi *s = &self->s;
	struct connecting c = {};

	OK(begin(self, &c, self->qp.init.qp_num));
	EXPECT_EQ(-EBUSY, abi_qp_state(s, self->qp.init.qp, QPS_SQD));
	EXPECT_GT(0, end(&c));
	EXPECT_EQ(0, abi_qp_state(s, self->qp.init.qp, QPS_ERR));
}

/* A QP that was moved to ERR does not stay connected if the listener answers afterwards. */
TEST_F(calls, qp_in_error_does_not_connect)
{
	const struct abi *s = &self->s;
	struct connecting c = {};
	struct rdma_ep_channel_event ev;
	int tcp;
	char byte;

	OK(begin(self, &c, self->qp.init.qp_num));
	EXPECT_EQ(0, abi_qp_state(s, self->qp.init.qp, QPS_ERR));
	for (int i = 0; i < 2; i++)
		close(accept(c.full.tcp, NULL, NULL));
	tcp = answer(c.full.tcp, MPA_REVISION_2 | MPA_ENHANCED, "\0\1\0\1", 4);
	EXPECT_LE(0, tcp);
	OK(abi_read(self->channel, &ev, sizeof(ev), 5000 * TEST_SCALE));
	/* siw may have processed the answer before the move. */
	if (ev.event == EV_ESTABLISHED)
		OK(abi_event(self->channel, EV_DISCONNECTED, &ev));
	/* The peer's connection ends, too. */
	EXPECT_TRUE(abi_ready(tcp, ABI_WAIT_MS));
	EXPECT_GE(0, recv(tcp, &byte, 1, MSG_DONTWAIT));
	close(tcp);
	EXPECT_EQ(0, end(&c));
}

/* A task that destroys an object of the CONNECT waits for the call, and can be killed. */
TEST_F(calls, destroyer_killed_while_connecting)
{
	struct connecting c = {};
	struct {
		__u32 type, handle;
	} what[] = { { RDMA_EP_OBJ_QP, self->qp.init.qp }, { RDMA_EP_OBJ_ID } };
	pid_t pid;

	OK(begin(self, &c, self->qp.init.qp_num));
	what[1].handle = c.arg.id;
	for (size_t i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			abi_destroy(&self->s, what[i].type, what[i].handle);
			_exit(0);
		}
		usleep(300000 * TEST_SCALE);
		LOGGED(EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG)),
		       "object of type %u is gone", what[i].type);
		kill(pid, SIGKILL);
		LOGGED(EXPECT_TRUE(ABI_UNTIL(waitpid(pid, NULL, WNOHANG))),
		       "the destroyer of an object of type %u cannot be killed", what[i].type);
	}
	end(&c);
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, c.arg.id));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, self->qp.init.qp));
}

/*
 * A CONNECT with the number of a QP that is being created does not begin: the process that creates
 * the QP would wait for the peer, and could not be killed.
 */
TEST_F(calls, creator_killed_while_connecting)
{
	struct rdma_ep_cmd_create_qp before, qp;
	const struct abi *s = &self->s;
	struct connecting c = {};
	pid_t pid;
	__u32 cq;

	SKIP_IF(!abi_can_stall(), "no userfaultfd for writes");
	OK(abi_create_cq(s, -1, 16, 0, &cq));
	/* siw takes the lowest free number. */
	OK(abi_create_qp(s, QPT_RC, cq, 0, &before));
	OK(ABI_DESTROY(s, QP, before.init.qp));
	abi_qp_attr(&qp, QPT_RC, s->pd, cq, cq);
	qp.size = sizeof(qp);
	pid = FD(abi_stall_child(s->fd, RDMA_EP_IOC_CREATE_QP, &qp));
	OK(begin(self, &c, before.init.qp_num));
	kill(pid, SIGKILL);
	EXPECT_WITHIN(2000 * TEST_SCALE, EXPECT_TRUE(ABI_UNTIL(waitpid(pid, NULL, WNOHANG))));
	EXPECT_EQ(-EINVAL, end(&c));
}

/*
 * A CONNECT uses the QP of another id, which is rejected meanwhile. The one thread of the CM that
 * delivers all answers does not wait for the call.
 */
TEST_F(calls, event_delivered_while_connecting)
{
	struct rdma_ep_cmd_create_qp own;
	const struct abi *s = &self->s;
	struct connecting c = {};

	OK(abi_connect(s, self->id, self->qp.init.qp_num));
	OK(abi_id_qp(s, self->id, &own));
	OK(begin(self, &c, own.init.qp_num));
	EXPECT_EQ(0, refuse(self, "\0\1\0\1", 4));
	EXPECT_EVENT(self->channel, EV_REJECTED, self->id);
	EXPECT_GT(0, end(&c));
}

/*
 * A READ is not answered. Sends that are posted after it complete, and make room in the queue.
 * The READ completes at the end of the connection.
 */
TEST_F(calls, unanswered_read_blocks_no_sends)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp own;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc[16];
	struct abi_wrs w;
	char buf[64];
	int tcp;
	__u32 i;

	OK(abi_reg_mr(s, s->pd, buf, sizeof(buf), AC_ALL, &mr));
	OK(abi_id_qp(s, self->id, &own));
	ASSERT_GE(ARRAY_SIZE(wc), own.init.max_send_wr);
	ASSERT_LT(1, own.init.max_send_wr);
	OK(abi_connect(s, self->id, 0));
	tcp = FD(answer(self->tcp, MPA_REVISION_2 | MPA_ENHANCED, "\0\1\0\1", 4));
	OK(abi_event(self->channel, EV_ESTABLISHED, NULL));
	wr = abi_wrs_send(&w, WR_RDMA_READ, SEND_SIGNALED, 1000);
	wr->rkey = 1;
	abi_mr_sge(&w, &mr, 0, sizeof(buf));
	OK(ABI_POST(s, SEND, own.init.qp, &w, NULL));
	for (int round = 0; round < 40; round++) {
		i = own.init.max_send_wr - 1;
		abi_send_wrs(&w, i, SEND_SIGNALED, 0);
		ASSERT_EQ(0, round & 1 ? abi_send_all(s, own.init.qp, &w, NULL) :
			  ABI_POST(s, SEND, own.init.qp, &w, NULL)) {
			TH_LOG("round %d", round);
		}
		ASSERT_EQ(i, abi_wait(s, own.init.send_cq.cq, wc, i));
		while (i--)
			EXPECT_EQ(i, wc[i].wr_id);
	}
	EXPECT_EQ(0, ABI_ID_CMD(s, DISCONNECT, self->id, 0));
	EXPECT_WC(s, own.init.send_cq.cq, 1000, WC_WR_FLUSH_ERR);
	close(tcp);
}

static void drain(int channel)
{
	struct rdma_ep_channel_event ev;

	while (abi_ready(channel, 0))
		abi_read(channel, &ev, sizeof(ev), 0);
}

/* Ends a connection with a reset, after a while. */
struct cutter {
	int tcp;
	unsigned int delay_us;
};

static void *cut_off(void *arg)
{
	struct linger now = { .l_onoff = 1 };
	struct cutter *c = arg;

	setsockopt(c->tcp, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	usleep(c->delay_us);
	close(c->tcp);
	return NULL;
}

#define FLUSHED	4000

struct poster {
	const struct abi *s;
	__u32 qp;
	__u32 posted;
	const struct abi_wrs *one;
};

/* Posts that are refused because siw is changing the state do not count. */
static void *post_on(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < FLUSHED; i++)
		p->posted += !ABI_POST(p->s, SEND, p->qp, p->one, NULL);
	return NULL;
}

/* siw flushes the queue after a reset. Requests that are posted meanwhile may complete earlier. */
TEST_F(calls, post_while_flushing_completes_once)
{
	static char buf[32768];
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc;
	struct poster p = { .s = s };
	struct abi_wrs *w = calloc(1, sizeof(*w));
	pthread_t thread;
	struct cutter c = {};
	__u32 id, cq, seen;
	int n;

	OK(abi_reg_mr(s, s->pd, buf, sizeof(buf), AC_ALL, &mr));
	abi_send_wr(w, WR_SEND, SEND_SIGNALED, 1);
	abi_mr_sge(w, &mr, 0, sizeof(buf));
	p.one = w;
	for (int round = 0; round < 5; round++) {
		OK(abi_create_cq(s, -1, 2 * FLUSHED + 64, 0, &cq));
		OK(abi_tcp_client(s, self->channel, &self->sin, 1, &id));
		abi_qp_attr(&qp, QPT_RC, s->pd, cq, cq);
		qp.id = id;
		qp.init.max_send_wr = 2 * FLUSHED;
		OK(ABI(s->fd, CREATE_QP, &qp));
		OK(abi_connect(s, id, 0));
		c.tcp = FD(answer(self->tcp, MPA_REVISION_2 | MPA_ENHANCED, "\0\1\0\1", 4));
		OK(abi_event(self->channel, EV_ESTABLISHED, NULL));
		p.qp = qp.init.qp;
		p.posted = 0;
		for (int i = 0; i < FLUSHED; i++)
			OK(ABI_POST(s, SEND, p.qp, w, NULL));
		OK(pthread_create(&thread, NULL, post_on, &p));
		cut_off(&c);
		pthread_join(thread, NULL);
		p.posted += FLUSHED;
		for (seen = 0; seen < p.posted; seen += n) {
			n = abi_wait(s, cq, &wc, 1);
			if (n <= 0)
				break;
		}
		LOGGED(EXPECT_EQ(p.posted, seen), "round %d", round);
		OK(ABI_DESTROY(s, QP, p.qp));
		OK(ABI_DESTROY(s, CQ, cq));
		OK(ABI_DESTROY(s, ID, id));
		drain(self->channel);
	}
	free(w);
}

/*
 * A reset in the middle of many READs. siw may complete a READ that it could not send before it
 * flushes earlier ones. Each READ completes once. (SIW-10)
 */
TEST_F(calls, reads_cut_off_complete_once)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc[16];
	pthread_t thread;
	struct cutter c;
	struct abi_wrs w;
	char buf[64];
	__u32 i, id, posted, seen;

	OK(abi_reg_mr(s, s->pd, buf, sizeof(buf), AC_ALL, &mr));
	for (int round = 0; round < 20; round++) {
		OK(abi_tcp_client(s, self->channel, &self->sin, 1, &id));
		OK(abi_id_qp(s, id, &qp));
		OK(abi_connect_reads(s, id, 0, 16));
		c.tcp = FD(answer(self->tcp, MPA_REVISION_2 | MPA_ENHANCED, "\0\20\0\20", 4));
		OK(abi_event(self->channel, EV_ESTABLISHED, NULL));
		abi_wrs_init(&w);
		for (i = 0; i < 16; i++) {
			wr = abi_send_wr(&w, WR_RDMA_READ, SEND_SIGNALED, i);
			wr->rkey = 1;
			abi_mr_sge(&w, &mr, 0, sizeof(buf));
		}
		c.delay_us = abi_random() % 2000;
		OK(pthread_create(&thread, NULL, cut_off, &c));
		usleep(abi_random() % 2000);
		ABI_POST(s, SEND, qp.init.qp, &w, &posted);
		pthread_join(thread, NULL);
		ABI_ID_CMD(s, DISCONNECT, id, 0);
		LOGGED(ASSERT_EQ(posted, abi_wait(s, qp.init.send_cq.cq, wc, posted)),
		       "round %d", round);
		for (i = 0, seen = 0; i < posted; i++) {
			EXPECT_NE(WC_SUCCESS, wc[i].status);
			seen |= 1U << wc[i].wr_id;
		}
		EXPECT_EQ((1U << posted) - 1, seen);
		OK(ABI_DESTROY(s, ID, id));
		drain(self->channel);
	}
}

/* Sends a request, as the peer. Returns the peer's socket, or -EIO. */
static int request(struct _test_data_calls *self, const struct sockaddr_in *sin)
{
	struct mpa_request req = {
		.frame.bits = htons(MPA_ENHANCED | MPA_REVISION_2), .frame.len = htons(4),
		.ird = htons(1), .ord = htons(1),
	};
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(req.frame.key, MPA_REQUEST, sizeof(req.frame.key));
	if (connect(tcp, (const struct sockaddr *)sin, sizeof(*sin)) ||
	    write(tcp, &req, sizeof(req)) != sizeof(req)) {
		close(tcp);
		return -EIO;
	}
	return tcp;
}

/*
 * The peer has reset the connection when its request is accepted. If siw notices that late, it
 * leaves the QP in RTS without a socket. (SIW-24)
 */
TEST_F(calls, accept_after_reset_sets_qp_in_error)
{
	struct linger now = { .l_onoff = 1 };
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	int round, tcp, ret, failed = 0;
	__u32 listener, id;
	bool posted;

	OK(abi_tcp_listen(s, self->channel, 0, 2, &listener, &sin));
	for (round = 0; round < 100; round++) {
		tcp = FD(request(self, &sin));
		id = NEXT_EVENT(self->channel, EV_CONNECT_REQUEST).child;
		OK(abi_id_qp(s, 0, &qp));
		setsockopt(tcp, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(tcp);
		ret = abi_accept(s, id, 3, qp.init.qp_num);
		posted = !abi_post_empty_send(s, qp.init.qp, SEND_SIGNALED, 1);
		if (ret) {
			failed++;
			/* A send that can be posted is flushed. */
			if (posted)
				EXPECT_WC(s, qp.init.send_cq.cq, 1, WC_WR_FLUSH_ERR);
		} else {
			OK(abi_event(self->channel, EV_ESTABLISHED, NULL));
			OK(abi_event(self->channel, EV_DISCONNECTED, NULL));
		}
		OK(ABI_DESTROY(s, ID, id));
		OK(ABI_DESTROY(s, QP, qp.init.qp));
	}
	TH_LOG("%d of %d accepted too late", failed, round);
}

/* A second device, whose interface leads to a namespace of its own */
#define NS	"abi_siw"
#define NETDEV	"abi_siw0"
#define DEVICE	"abi_siw_2"
#define ADDR	"10.91.18.1"

static int add_device(const struct sockaddr_in *other)
{
	return system("ip netns add " NS) ?:
	       system("ip link add " NETDEV " type veth peer name eth0 netns " NS) ?:
	       system("ip addr add " ADDR "/24 dev " NETDEV) ?:
	       system("ip -n " NS " addr add 10.91.18.2/24 dev eth0") ?:
	       system("ip link set " NETDEV " up") ?:
	       system("ip -n " NS " link set eth0 up") ?:
	       abi_system("ip -n " NS " route add %s via " ADDR, inet_ntoa(other->sin_addr)) ?:
	       system("rdma link add " DEVICE " type siw netdev " NETDEV);
}

static void remove_device(void)
{
	system("{ rdma link del " DEVICE "; ip link del " NETDEV
	       "; ip netns del " NS "; } 2>/dev/null");
}

static int enter(const char *ns)
{
	int fd = open(ns, O_RDONLY | O_CLOEXEC);
	int ret = setns(fd, CLONE_NEWNET);

	close(fd);
	return ret;
}

/*
 * siw listens by interface, and rdma_cm looks up the device by address. If the two differ, the
 * request would be accepted with the other device's QP of the same number. (IWCM-03)
 */
TEST_F(calls, request_on_other_device_refused)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	const struct abi *s = &self->s;
	struct rdma_ep_channel_event ev;
	struct mpa_frame frame;
	struct timeval limit = { .tv_sec = 10 * TEST_SCALE };
	int tcp, own;
	ssize_t len;
	__u32 id;

	remove_device();
	OK(add_device(&s->addr));
	OK(abi_tcp_id(s, self->channel, 4, &id));
	OK(abi_bind(s, id, &sin));
	OK(ABI_ID_CMD(s, LISTEN, id, 0));
	OK(enter("/run/netns/" NS));

	inet_pton(AF_INET, ADDR, &sin.sin_addr);
	own = request(self, &sin);
	EXPECT_LE(0, own);
	EXPECT_EQ(0, abi_event(self->channel, EV_CONNECT_REQUEST, &ev));

	sin.sin_addr = s->addr.sin_addr;
	tcp = request(self, &sin);
	EXPECT_LE(0, tcp);
	setsockopt(tcp, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* The answer is a reject. */
	len = recv(tcp, &frame, sizeof(frame), MSG_WAITALL);
	EXPECT_EQ(sizeof(frame), len);
	EXPECT_TRUE(frame.bits & htons(MPA_REJECT));
	EXPECT_TRUE(abi_quiet(self->channel));
	close(own);
	close(tcp);
	EXPECT_EQ(0, enter("/proc/1/ns/net"));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, ev.child));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, id));
	remove_device();
}

/* Listens with the longest backlog, which is charged with 640 KB for each device. */
static int listen_as_user(void *arg)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_in sin;
	struct abi s;
	__u32 id;
	int channel;

	CHECK(1, setresuid(1000, 1000, 1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	channel = abi_channel(&s);
	for (__u32 i = 0; i < 2; i++) {
		sin = i ? any : s.addr;
		sin.sin_port = 0;
		CHECK(3 + i, abi_tcp_id(&s, channel, i, &id) == 0);
		CHECK(5 + i, abi_bind(&s, id, &sin) == 0);
		CHECK(7 + i, ABI_ID_CMD(&s, LISTEN, id, 0) == (i ? -EDQUOT : 0));
		CHECK(9 + i, ABI_DESTROY(&s, ID, id) == 0);
	}
	return 0;
}

TEST_F(calls, listener_charged_for_each_device)
{
	int old;

	remove_device();
	OK(add_device(&self->s.addr));
	old = test_param("session_max_queue_mb", 1);
	EXPECT_EQ(0, abi_child(listen_as_user, NULL));
	test_param("session_max_queue_mb", old);
	remove_device();
}

TEST_HARNESS_MAIN
