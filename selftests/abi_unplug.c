// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device goes away under everything that lives on it. It does so at once,
 * whatever programs do, and the programs are told.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "abi_cmds.h"

#define NETDEV	"epunplug0"
#define PEER	"epunplug1"
#define DEVICE	"rxe_unplug"

FIXTURE(unplug) {
	struct abi_world w;
	union abi_arg *arg;	/* one for each command */
	bool *prepared;
};

/* A device of our own, next to the one that other tests use */
static int plug(void)
{
	return system("ip link add " NETDEV " type veth peer name " PEER) ?:
	       system("ip link set " PEER " up") ?:
	       system("ip link set " NETDEV " up") ?:
	       system("ip addr add 10.91.17.1/24 dev " NETDEV) ?:
	       system("rdma link add " DEVICE " type rxe netdev " NETDEV);
}

static int unplug(void)
{
	return system("rdma link delete " DEVICE);
}

static int usable(struct abi_world *w)
{
	long end = abi_now_ms() + ABI_WAIT_MS;
	struct abi s;
	int ret;

	/* Its GIDs come a little later. */
	do {
		usleep(100000);
		ret = abi_open(&s);
		abi_close(&s);
	} while (ret && abi_now_ms() < end);
	return ret ?: abi_world_open(w);
}

FIXTURE_SETUP(unplug)
{
	system("ip link del " NETDEV " 2>/dev/null");
	unsetenv("RDMA_EP_TEST_ADDR");
	setenv("RDMA_DEV", DEVICE, 1);
	if (plug())
		SKIP(return, "cannot make a device with ip(8) and rdma(8)");
	ASSERT_EQ(0, usable(&self->w));
	self->arg = calloc(abi_num_commands, sizeof(*self->arg));
	self->prepared = calloc(abi_num_commands, sizeof(bool));
	ASSERT_NE(NULL, self->arg);
}

FIXTURE_TEARDOWN(unplug)
{
	abi_close(&self->w.s);
	system("ip link del " NETDEV " 2>/dev/null");
}

/* What needs no device, and what asks for one by address or number */
static bool expected(unsigned long cmd, int ret)
{
	switch (cmd) {
	case RDMA_EP_IOC_QUERY:
	case RDMA_EP_IOC_QUERY_DEVICES:
	case RDMA_EP_IOC_DESTROY:
	case RDMA_EP_IOC_CREATE_CHANNEL:
	case RDMA_EP_IOC_CREATE_COMP_CHANNEL:
	case RDMA_EP_IOC_CREATE_ID:
		return !ret;
	case RDMA_EP_IOC_OPEN_DEVICE:
	case RDMA_EP_IOC_QUERY_DEVICE:
	case RDMA_EP_IOC_QUERY_PORT:
	case RDMA_EP_IOC_QUERY_GID:
	case RDMA_EP_IOC_QUERY_PKEY:
	case RDMA_EP_IOC_BIND_ADDR:
		return ret == -ENODEV;
	case RDMA_EP_IOC_CREATE_EP:
		return ret == -ENODEV || ret == -EIO;
	case RDMA_EP_IOC_RESOLVE_ADDR:
		/* An event tells. */
		return !ret || ret == -ENODEV;
	case RDMA_EP_IOC_QUERY_ID:
	case RDMA_EP_IOC_MIGRATE_ID:
	case RDMA_EP_IOC_GET_REQUEST:
		/* These are about our own objects: still possible */
		return !ret || ret == -EIO;
	default:
		return ret == -EIO;
	}
}

TEST_F(unplug, every_command)
{
	long start;
	unsigned int i;
	int type, ret;

	if (!self->arg)
		SKIP(return, "no device");
	for (i = 0; i < abi_num_commands; i++) {
		ret = abi_commands[i].prepare(&self->w, &self->arg[i]);
		if (ret == -EOPNOTSUPP)
			continue;
		ASSERT_EQ(0, ret) {
			TH_LOG("cannot prepare %s", abi_commands[i].name);
		}
		self->prepared[i] = true;
	}
	start = abi_now_ms();
	ASSERT_EQ(0, unplug());
	EXPECT_GT(10000, abi_now_ms() - start);
	for (i = 0; i < abi_num_commands; i++) {
		if (!self->prepared[i])
			continue;
		ret = abi_ioctl(self->w.s.fd, abi_commands[i].cmd,
				&self->arg[i]);
		EXPECT_TRUE(expected(abi_commands[i].cmd, ret)) {
			TH_LOG("%s returned %d", abi_commands[i].name, ret);
		}
	}
	/* (All prepared objects use these.) */
	for (type = RDMA_EP_OBJ_QP; type >= RDMA_EP_OBJ_CTX; type--) {
		ret = abi_destroy(&self->w.s, type, self->w.obj[type]);
		EXPECT_TRUE(!ret || (ret == -EBUSY &&
				     (type == RDMA_EP_OBJ_PD ||
				      type == RDMA_EP_OBJ_CQ ||
				      type == RDMA_EP_OBJ_SRQ))) {
			TH_LOG("destroying type %d: %d", type, ret);
		}
	}
}

/* Unused objects can all be destroyed, users first. */
TEST_F(unplug, destroy)
{
	static const int order[] = {
		RDMA_EP_OBJ_QP, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_CQ,
		RDMA_EP_OBJ_MR, RDMA_EP_OBJ_AH, RDMA_EP_OBJ_PD,
		RDMA_EP_OBJ_ID, RDMA_EP_OBJ_CTX,
	};
	size_t i;

	if (!self->arg)
		SKIP(return, "no device");
	ASSERT_EQ(0, unplug());
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		EXPECT_EQ(0, abi_destroy(&self->w.s, order[i],
					 self->w.obj[order[i]])) {
			TH_LOG("type %d", order[i]);
		}
	}
}

TEST_F(unplug, events)
{
	struct rdma_ep_async_event async;
	struct rdma_ep_event ev;
	struct abi_pair p = {};

	if (!self->arg)
		SKIP(return, "no device");
	ASSERT_EQ(0, abi_pair_open(&self->w.s, &p));
	ASSERT_EQ(0, unplug());
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DEVICE_REMOVAL, &ev));
	EXPECT_EQ(p.end[0].id, ev.id);
	EXPECT_EQ(0, abi_event(p.end[1].channel, EV_DEVICE_REMOVAL, &ev));
	EXPECT_EQ(0, abi_read(self->w.s.async_fd, &async, sizeof(async),
			      ABI_WAIT_MS));
	EXPECT_EQ(EVENT_DEVICE_FATAL, async.event);
	EXPECT_EQ(-EIO, ABI_ID_CMD(&self->w.s, DISCONNECT, p.end[0].id, 0));
	EXPECT_EQ(0, abi_destroy(&self->w.s, RDMA_EP_OBJ_ID, p.end[0].id));
	EXPECT_EQ(0, abi_destroy(&self->w.s, RDMA_EP_OBJ_QP, p.end[0].qp.qp));
}

/* Completions that were there before can still be taken, or not: no more. */
struct traffic {
	const struct abi *s;
	struct abi_pair *p;
	int sent, got, last;
	volatile bool stop;
};

static void *traffic_thread(void *arg)
{
	struct traffic *t = arg;
	struct abi_end *e = t->p->end;
	struct rdma_ep_wc wc[8];
	struct abi_wrs w;
	int ret = 0;

	while (!t->stop && (!ret || ret == -ENOMEM)) {
		abi_wrs_init(&w);
		abi_recv_wr(&w, 1);
		ret = ABI_POST(t->s, RECV, e[1].qp.qp, &w, NULL);
		if (ret && ret != -ENOMEM)
			break;
		abi_wrs_init(&w);
		abi_send_wr(&w, WR_SEND, SEND_SIGNALED, 2);
		ret = ABI_POST(t->s, SEND, e[0].qp.qp, &w, NULL);
		if (!ret)
			t->sent++;
		abi_poll(t->s, e[1].cq[1], wc, 8);
		if (abi_poll(t->s, e[0].cq[0], wc, 8) > 0)
			t->got++;
	}
	t->last = ret;
	return NULL;
}

TEST_F(unplug, under_traffic)
{
	struct abi_pair p = { .max_wr = 32 };
	struct traffic t = { .s = &self->w.s, .p = &p };
	pthread_t thread;
	long start;

	if (!self->arg)
		SKIP(return, "no device");
	ASSERT_EQ(0, abi_pair_open(&self->w.s, &p));
	ASSERT_EQ(0, pthread_create(&thread, NULL, traffic_thread, &t));
	usleep(200000);
	start = abi_now_ms();
	EXPECT_EQ(0, unplug());
	EXPECT_GT(10000, abi_now_ms() - start);
	usleep(100000);
	t.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, t.sent);
	EXPECT_LT(0, t.got);
	EXPECT_EQ(-EIO, t.last);
}

/* A session that is closed when its device has gone leaves nothing, either. */
TEST_F(unplug, close_after)
{
	struct abi_pair p = {};
	struct pollfd pfd = { .events = POLLIN };

	if (!self->arg)
		SKIP(return, "no device");
	ASSERT_EQ(0, abi_pair_open(&self->w.s, &p));
	ASSERT_EQ(0, unplug());
	close(self->w.s.fd);
	self->w.s.fd = -1;
	pfd.fd = p.end[0].channel;
	EXPECT_EQ(1, poll(&pfd, 1, ABI_WAIT_MS));
	EXPECT_EQ(0, abi_idle());
	/* A new device of the same name is another one. */
	ASSERT_EQ(0, system("rdma link add " DEVICE " type rxe netdev " NETDEV));
	EXPECT_EQ(0, usable(&self->w));
}

TEST_HARNESS_MAIN
