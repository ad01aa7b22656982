// SPDX-License-Identifier: GPL-2.0-only
/*
 * What siw and rdma_cm make of a connection that goes wrong in the middle of a call: its
 * QP, its device, and the data that came with it. The peer is a TCP socket.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "abi.h"
#include "abi_mpa.h"
#include "skip.h"

FIXTURE(calls) {
	struct abi s;
	struct rdma_ep_create_qp qp;
	int channel, tcp;
	struct sockaddr_in sin;		/* of a TCP socket that listens */
	__u32 id;
};

FIXTURE_SETUP(calls)
{
	socklen_t len = sizeof(self->sin);

	ASSERT_EQ(0, abi_open(&self->s));
	if (!self->s.iwarp)
		SKIP_FIXTURE("it is no TCP");
	self->channel = abi_channel(&self->s);
	self->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	self->sin = self->s.addr;
	ASSERT_EQ(0, bind(self->tcp, (struct sockaddr *)&self->sin, len));
	ASSERT_EQ(0, getsockname(self->tcp, (struct sockaddr *)&self->sin, &len));
	ASSERT_EQ(0, listen(self->tcp, 0));
	ASSERT_EQ(0, abi_client(&self->s, self->channel, RDMA_PS_TCP, &self->sin,
				1, &self->id));
	ASSERT_EQ(0, abi_id_qp(&self->s, 0, &self->qp));
}

FIXTURE_TEARDOWN(calls)
{
	close(self->tcp);
	close(self->channel);
	abi_close(&self->s);
}

/* Answers with so many bytes of data, of which siw takes the first four if enhanced. */
static int answer(struct _test_data_calls *self, __u16 bits, const void *data,
		  __u16 len)
{
	struct mpa_frame frame = { .bits = htons(bits), .len = htons(len) };
	char request[sizeof(frame) + 4];
	int tcp = accept(self->tcp, NULL, NULL), ret = 0;

	memcpy(frame.key, MPA_REPLY, sizeof(frame.key));
	if (recv(tcp, request, sizeof(request), MSG_WAITALL) != sizeof(request) ||
	    write(tcp, &frame, sizeof(frame)) != sizeof(frame) ||
	    write(tcp, data, len) != len)
		ret = -EIO;
	close(tcp);
	return ret;
}

/* It is refused, with data. */
TEST_F(calls, refused)
{
	static const char data[] = "\0\1\0\1sorry";
	struct rdma_ep_event ev;

	ASSERT_EQ(0, abi_connect(&self->s, self->id, self->qp.init.qp_num));
	ASSERT_EQ(0, answer(self, MPA_REVISION_2 | MPA_ENHANCED | MPA_REJECT,
			    data, sizeof(data)));
	ASSERT_EQ(0, abi_event(self->channel, EV_REJECTED, &ev));
	EXPECT_EQ(sizeof(data) - 4, ev.param.conn.private_data_len);
	EXPECT_EQ(0, memcmp(ev.param.conn.private_data, data + 4,
			    sizeof(data) - 4));
}

/* ... of which there is less than siw takes: what it says then is the kernel's. */
TEST_F(calls, refused_in_short)
{
	struct rdma_ep_event ev;

	if (TEST_SCALE > 1)
		SKIP(return, "siw reads it, which KASAN reports");
	ASSERT_EQ(0, abi_connect(&self->s, self->id, self->qp.init.qp_num));
	ASSERT_EQ(0, answer(self, MPA_REVISION_2 | MPA_ENHANCED | MPA_REJECT,
			    "no", 2));
	ASSERT_EQ(0, abi_event(self->channel, EV_REJECTED, &ev));
	EXPECT_EQ(0, ev.param.conn.private_data_len);
}

struct connecting {
	struct _test_data_calls *self;
	int ret;
};

static void *connecting(void *arg)
{
	struct connecting *c = arg;

	c->ret = abi_connect(&c->self->s, c->self->id, c->self->qp.init.qp_num);
	return NULL;
}

/*
 * The TCP handshake goes on: siw keeps what it has to itself meanwhile, and does not
 * expect anybody else at the QP.
 */
TEST_F(calls, busy)
{
	struct connecting c = { .self = self };
	const struct abi *s = &self->s;
	int i, full[2];
	pthread_t thread;

	/* Nobody accepts, so that one more is not answered. */
	for (i = 0; i < 2; i++) {
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
				 SOCK_NONBLOCK, 0);
		connect(full[i], (struct sockaddr *)&self->sin,
			sizeof(self->sin));
	}
	usleep(100000);
	ASSERT_EQ(0, pthread_create(&thread, NULL, connecting, &c));
	usleep(300000 * TEST_SCALE);
	EXPECT_EQ(-EBUSY, abi_qp_state(s, self->qp.init.qp, QPS_ERR));
	/* A reset ends it. */
	close(self->tcp);
	self->tcp = -1;
	for (i = 0; i < 2; i++)
		close(full[i]);
	pthread_join(thread, NULL);
	EXPECT_GT(0, c.ret);
	EXPECT_EQ(0, abi_qp_state(s, self->qp.init.qp, QPS_ERR));
}

/* A request from a peer who is going to go: returns his socket. */
static int request(struct _test_data_calls *self, const struct sockaddr_in *sin)
{
	struct mpa_request req = {
		.frame.bits = htons(MPA_ENHANCED | MPA_REVISION_2),
		.frame.len = htons(4),
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
 * Who asked is gone when he is accepted. If siw finds that out late, it leaves the QP as
 * a connected one, without its socket.
 */
TEST_F(calls, reset_before_accept)
{
	struct linger now = { .l_onoff = 1 };
	const struct abi *s = &self->s;
	struct rdma_ep_create_qp qp;
	struct rdma_ep_event ev;
	struct rdma_ep_wc wc;
	struct sockaddr_in sin;
	struct abi_wrs w;
	int round, tcp, ret, failed = 0;
	__u32 listener, id;

	ASSERT_EQ(0, abi_listen(s, self->channel, RDMA_PS_TCP, 0, 2, &listener,
				&sin));
	for (round = 0; round < 100; round++) {
		tcp = request(self, &sin);
		ASSERT_LE(0, tcp);
		ASSERT_EQ(0, abi_event(self->channel, EV_CONNECT_REQUEST, &ev));
		id = ev.child;
		ASSERT_EQ(0, abi_id_qp(s, 0, &qp));
		setsockopt(tcp, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(tcp);
		ret = abi_accept(s, id, 3, qp.init.qp_num);
		abi_wrs_init(&w);
		abi_send_wr(&w, WR_SEND, SEND_SIGNALED, 1);
		if (ret) {
			failed++;
			/* It is flushed, if it can be posted. */
			if (!ABI_POST(s, SEND, qp.init.qp, &w, NULL)) {
				ASSERT_EQ(1, abi_wait(s, qp.init.send_cq.cq, &wc,
						      1));
				EXPECT_EQ(WC_WR_FLUSH_ERR, wc.status);
			}
		} else {
			ABI_POST(s, SEND, qp.init.qp, &w, NULL);
			ASSERT_EQ(0, abi_event(self->channel, EV_ESTABLISHED,
					       &ev));
			ASSERT_EQ(0, abi_event(self->channel, EV_DISCONNECTED,
					       &ev));
		}
		ASSERT_EQ(0, abi_destroy(s, RDMA_EP_OBJ_ID, id));
		ASSERT_EQ(0, abi_destroy(s, RDMA_EP_OBJ_QP, qp.init.qp));
	}
	TH_LOG("%d of %d accepted too late", failed, round);
}

/* A second device, whose interface leads to a namespace of its own. */
#define NS	"abi_siw"
#define NETDEV	"abi_siw0"
#define DEVICE	"abi_siw_2"
#define ADDR	"10.91.18.1"

static int add_device(const struct sockaddr_in *other)
{
	char route[128];

	snprintf(route, sizeof(route), "ip -n " NS " route add %s via " ADDR,
		 inet_ntoa(other->sin_addr));
	return system("ip netns add " NS) ?:
	       system("ip link add " NETDEV " type veth peer name eth0 netns " NS) ?:
	       system("ip addr add " ADDR "/24 dev " NETDEV) ?:
	       system("ip -n " NS " addr add 10.91.18.2/24 dev eth0") ?:
	       system("ip link set " NETDEV " up") ?:
	       system("ip -n " NS " link set eth0 up") ?:
	       system(route) ?:
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
 * siw listens by interface, and rdma_cm takes the device that has the address. A QP of
 * the one would be taken for that of the same number on the other.
 */
TEST_F(calls, other_device)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	const struct abi *s = &self->s;
	struct rdma_ep_event ev;
	struct mpa_frame frame;
	struct timeval limit = { .tv_sec = 10 * TEST_SCALE };
	int tcp, own;
	ssize_t len;
	__u32 id;

	remove_device();
	ASSERT_EQ(0, add_device(&s->addr));
	ASSERT_EQ(0, abi_create_id(s, self->channel, RDMA_PS_TCP,
				   IB_UVERBS_QPT_RC, 4, &id));
	ASSERT_EQ(0, abi_bind(s, id, &sin));
	ASSERT_EQ(0, ABI_ID_CMD(s, LISTEN, id, 0));
	ASSERT_EQ(0, enter("/run/netns/" NS));

	inet_pton(AF_INET, ADDR, &sin.sin_addr);
	own = request(self, &sin);
	EXPECT_LE(0, own);
	EXPECT_EQ(0, abi_event(self->channel, EV_CONNECT_REQUEST, &ev));

	sin.sin_addr = s->addr.sin_addr;
	tcp = request(self, &sin);
	EXPECT_LE(0, tcp);
	setsockopt(tcp, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* The answer is a refusal. */
	len = recv(tcp, &frame, sizeof(frame), MSG_WAITALL);
	EXPECT_EQ(sizeof(frame), len);
	EXPECT_TRUE(frame.bits & htons(MPA_REJECT));
	EXPECT_TRUE(abi_quiet(self->channel));
	close(own);
	close(tcp);
	EXPECT_EQ(0, enter("/proc/1/ns/net"));
	EXPECT_EQ(0, abi_destroy(s, RDMA_EP_OBJ_ID, ev.child));
	EXPECT_EQ(0, abi_destroy(s, RDMA_EP_OBJ_ID, id));
	remove_device();
}

TEST_HARNESS_MAIN
