// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device is removed while it has objects of all types. The removal does not wait for programs,
 * and is reported to them.
 */
#include "abi_test.h"
#include "abi_cmds.h"

#define NETDEV	"epunplug0"
#define DEVICE	"ep_unplug"

FIXTURE(unplug) {
	struct abi_world w;
	union abi_arg *arg;	/* one for each command */
	bool *prepared;
};

/* Adds a device of the kind under test. */
static int add_device(void)
{
	return abi_system("rdma link add " DEVICE " type %s netdev " NETDEV,
			  getenv("DEVICE") ?: "rxe");
}

static int unplug(void)
{
	return system("rdma link delete " DEVICE);
}

static int usable(struct abi_world *w)
{
	int ret = abi_open_wait(&w->s);

	abi_close(&w->s);
	return ret ?: abi_world_open(w);
}

FIXTURE_SETUP(unplug)
{
	unsetenv("RDMA_EP_TEST_ADDR");
	setenv("RDMA_DEV", DEVICE, 1);
	/* A device besides that of other tests */
	if (abi_add_netdev(NETDEV, "10.91.17.1/24") || add_device())
		SKIP_FIXTURE("cannot make a device with ip(8) and rdma(8)");
	OK(usable(&self->w));
	self->arg = calloc(abi_num_commands, sizeof(*self->arg));
	self->prepared = calloc(abi_num_commands, sizeof(bool));
	ASSERT_NE(NULL, self->arg);
}

FIXTURE_TEARDOWN(unplug)
{
	abi_close(&self->w.s);
	abi_del_netdev(NETDEV);
}

static bool expected(const struct abi_command *c, int ret)
{
	unsigned int gone = c->gone ?: GONE_EIO;

	return (gone & GONE_OK && !ret) || (gone & GONE_ENODEV && ret == -ENODEV) ||
	       (gone & GONE_EIO && ret == -EIO);
}

TEST_F(unplug, every_command)
{
	long start;
	int ret;

	for (unsigned int i = 0; i < abi_num_commands; i++) {
		/* (abi_handover tests these.) */
		if (abi_commands[i].ends)
			continue;
		ret = abi_prepare(&self->w, &abi_commands[i], &self->arg[i]);
		if (ret == -EOPNOTSUPP)
			continue;
		LOGGED(ASSERT_EQ(0, ret), "cannot prepare %s", abi_commands[i].name);
		self->prepared[i] = true;
	}
	start = abi_now_ms();
	OK(unplug());
	/* (iw_cm waits for the answer to a request, siw for 10 s.) */
	EXPECT_GT((self->w.s.iwarp ? 20000 : 10000) * TEST_SCALE, abi_now_ms() - start);
	for (unsigned int i = 0; i < abi_num_commands; i++) {
		if (!self->prepared[i])
			continue;
		ret = abi_ioctl(self->w.s.fd, abi_commands[i].cmd, &self->arg[i]);
		LOGGED(EXPECT_TRUE(expected(&abi_commands[i], ret)),
		       "%s returned %d", abi_commands[i].name, ret);
	}
	/* (Objects of the prepared commands use these.) */
	for (int type = ABI_OBJ_LAST; type >= RDMA_EP_OBJ_CTX; type--) {
		if (!self->w.obj[type])
			continue;
		ret = abi_destroy(&self->w.s, type, self->w.obj[type]);
		EXPECT_TRUE(!ret || (ret == -EBUSY && (type == RDMA_EP_OBJ_PD ||
						       type == RDMA_EP_OBJ_CQ ||
						       type == RDMA_EP_OBJ_SRQ))) {
			TH_LOG("destroying type %d: %d", type, ret);
		}
	}
}

/* All objects can be destroyed after the removal, users first. */
TEST_F(unplug, unused_objects_destroyed_after_removal)
{
	static const int order[] = {
		RDMA_EP_OBJ_QP, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_CQ, RDMA_EP_OBJ_MR, RDMA_EP_OBJ_AH,
		RDMA_EP_OBJ_XRCD, RDMA_EP_OBJ_PD, RDMA_EP_OBJ_ID, RDMA_EP_OBJ_MCAST,
		RDMA_EP_OBJ_CTX,
	};

	OK(unplug());
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!self->w.obj[order[i]])
			continue;
		LOGGED(EXPECT_EQ(0, abi_destroy(&self->w.s, order[i], self->w.obj[order[i]])),
		       "type %d", order[i]);
	}
}

/*
 * Reads DEVICE_REMOVAL. Over iWARP a connection ends with its QP: DISCONNECTED comes first, or
 * rdma_cm drops it because the id's removal has begun.
 */
static int removal(const struct abi *s, int channel, struct rdma_ep_channel_event *ev)
{
	int ret = abi_read(channel, ev, sizeof(*ev), ABI_WAIT_MS);

	if (!ret && s->iwarp && ev->event == EV_DISCONNECTED)
		ret = abi_read(channel, ev, sizeof(*ev), ABI_WAIT_MS);
	if (!ret && ev->event != EV_DEVICE_REMOVAL)
		ret = -EPROTO;
	return ret;
}

TEST_F(unplug, removal_gives_events)
{
	struct rdma_ep_async_event async;
	struct rdma_ep_channel_event ev;
	struct abi_pair p = {};

	OK(abi_pair_open(&self->w.s, &p));
	OK(unplug());
	EXPECT_EQ(0, removal(&self->w.s, p.end[0].channel, &ev));
	EXPECT_EQ(p.end[0].id, ev.id);
	EXPECT_EQ(0, removal(&self->w.s, p.end[1].channel, &ev));
	EXPECT_EQ(0, abi_read(self->w.s.async_fd, &async, sizeof(async), ABI_WAIT_MS));
	EXPECT_EQ(EVENT_DEVICE_FATAL, async.event);
	EXPECT_EQ(-EIO, ABI_ID_CMD(&self->w.s, DISCONNECT, p.end[0].id, 0));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, ID, p.end[0].id));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, QP, p.end[0].qp.qp));
}

/* The next owner of a session finds the removed objects, and the event of the removal. */
TEST_F(unplug, adopted_after_removal)
{
	struct rdma_ep_obj_info info[ABI_LIST_MAX];
	struct rdma_ep_channel_event ev;
	int fd, queue, num, removed = 0;
	struct abi_pair p = {};

	OK(abi_pair_open(&self->w.s, &p));
	OK(abi_export(&self->w.s, 0));
	OK(unplug());
	fd = FD(abi_adopt(self->w.s.fd));
	close(self->w.s.fd);
	self->w.s.fd = fd;
	num = abi_list_objs(fd, 64, info);
	for (int i = 0; i < num; i++)
		removed += !!(info[i].flags & RDMA_EP_OBJ_REMOVED);
	EXPECT_LT(8, removed);
	queue = FD(abi_open_queue(fd, RDMA_EP_OBJ_ID, p.end[0].id));
	EXPECT_EQ(0, removal(&self->w.s, queue, &ev));
	EXPECT_EQ(p.end[0].id, ev.id);
	EXPECT_EQ(-EIO, abi_post_empty_recv(&self->w.s, p.end[0].qp.qp, 1));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, ID, p.end[0].id));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, QP, p.end[0].qp.qp));
}

/* The removal wakes tasks that wait for a completion, as there are no more. */
TEST_F(unplug, removal_wakes_waiter)
{
	struct rdma_ep_cmd_notify_cq n = {};
	struct rdma_ep_wc wc;
	__u32 gone;

	OK(abi_create_cq(&self->w.s, self->w.comp_channel, 16, 41, &gone));
	OK(ABI_DESTROY(&self->w.s, CQ, gone));
	OK(abi_create_cq(&self->w.s, self->w.comp_channel, 16, 42, &n.cq));
	OK(ABI(self->w.s.fd, NOTIFY_CQ, &n));
	ASSERT_TRUE(abi_quiet(self->w.comp_channel));
	OK(unplug());
	EXPECT_COMP(self->w.comp_channel, 42);
	EXPECT_TRUE(abi_quiet(self->w.comp_channel));
	EXPECT_EQ(-EIO, abi_poll(&self->w.s, n.cq, &wc, 1));
	EXPECT_EQ(-EIO, ABI(self->w.s.fd, NOTIFY_CQ, &n));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, CQ, n.cq));
}

/* A task that polls in memory, without system calls until @pending is set */
struct ring_poller {
	const struct abi *s;
	__u32 cq;
	struct rdma_ep_cq_ring *ring;
	pthread_t thread;
	int last;
	volatile bool stop, done;
};

static void *ring_thread(void *arg)
{
	struct ring_poller *p = arg;
	struct rdma_ep_wc wc;

	while (!p->stop && !p->last)
		p->last = abi_ring_poll(p->s, p->cq, p->ring, &wc, 1);
	p->done = true;
	return NULL;
}

/* Is the CQ empty and armed? */
static bool ring_rests(const struct ring_poller *p)
{
	struct rdma_ep_wc wc;

	return !abi_ring_poll(p->s, p->cq, p->ring, &wc, 1) && !p->ring->pending;
}

/* Sends empty messages from the client to the server. */
static int ring_sends(const struct abi *s, const struct abi_pair *p, int n)
{
	struct abi_wrs sends, recvs;

	abi_wrs_init(&sends);
	abi_wrs_init(&recvs);
	while (n--) {
		abi_recv_wr(&recvs, n);
		abi_send_wr(&sends, WR_SEND, SEND_SIGNALED, n);
	}
	return ABI_POST(s, RECV, p->end[1].qp.qp, &recvs, NULL) ?:
	       ABI_POST(s, SEND, p->end[0].qp.qp, &sends, NULL);
}

TEST_F(unplug, removal_seen_in_ring)
{
	/* A CQ without a QP, and the receive CQ of the client, which gets no messages */
	struct ring_poller poller[2] = { { .s = &self->w.s }, { .s = &self->w.s } };
	struct abi_pair p = { .rings = true };
	struct rdma_ep_cq_ring *rings, *full;
	struct rdma_ep_cmd_poll_cq fill = {};
	struct rdma_ep_wc wc[8];
	long end;
	__u32 index;

	rings = ASSERT_PTR(abi_rings(&self->w.s));
	OK(abi_create_ring_cq(&self->w.s, self->w.comp_channel, 16, 43, &poller[0].cq, &index));
	OK(abi_pair_open(&self->w.s, &p));
	poller[0].ring = &rings[index];
	poller[1].cq = p.end[0].cq[1];
	poller[1].ring = &rings[p.end[0].ring[1]];
	full = &rings[p.end[0].ring[0]];
	fill.cq = p.end[0].cq[0];
	OK(ring_sends(&self->w.s, &p, 3));
	for (end = abi_now_ms() + ABI_WAIT_MS; full->head != 3 && abi_now_ms() < end;)
		OK(ABI(self->w.s.fd, POLL_CQ, &fill));
	ASSERT_EQ(3, full->head);
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(ring_rests(&poller[i]));
		OK(pthread_create(&poller[i].thread, NULL, ring_thread, &poller[i]));
	}
	poller[0].ring->armed = 1;
	ASSERT_TRUE(abi_quiet(self->w.comp_channel));
	EXPECT_FALSE(poller[0].done || poller[1].done);

	OK(unplug());
	end = abi_now_ms() + ABI_WAIT_MS;
	for (int i = 0; i < 2; i++) {
		while (!poller[i].done && abi_now_ms() < end)
			usleep(10000);
		EXPECT_TRUE(poller[i].done);
		poller[i].stop = true;
		pthread_join(poller[i].thread, NULL);
		EXPECT_EQ(-EIO, poller[i].last);
		/* Later polls fail, too. */
		EXPECT_EQ(-EIO, abi_ring_poll(&self->w.s, poller[i].cq, poller[i].ring, wc, 8));
	}
	EXPECT_COMP(self->w.comp_channel, 43);
	/* Earlier completions can still be taken. */
	EXPECT_EQ(3, abi_ring_poll(&self->w.s, fill.cq, full, wc, 8));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(2 - i, wc[i].wr_id);
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
	}
	EXPECT_EQ(-EIO, abi_ring_poll(&self->w.s, fill.cq, full, wc, 8));
	EXPECT_EQ(0, ABI_DESTROY(&self->w.s, CQ, poller[0].cq));
	munmap(rings, ABI_RINGS_BYTES);
}

/* A thread that sends and polls until the device is removed */
struct traffic {
	const struct abi *s;
	struct abi_pair *p;
	int sent, got, last;
	volatile bool stop;
};

/* Full queues, and (iWARP) a connection that ends before its QP does */
static bool goes_on(int ret)
{
	return !ret || ret == -ENOMEM || ret == -ENOTCONN;
}

static void *traffic_thread(void *arg)
{
	struct traffic *t = arg;
	struct abi_end *e = t->p->end;
	struct rdma_ep_wc wc[8];
	int ret = 0;

	while (!t->stop && goes_on(ret)) {
		ret = abi_post_empty_recv(t->s, e[1].qp.qp, 1);
		if (!goes_on(ret))
			break;
		ret = abi_post_empty_send(t->s, e[0].qp.qp, SEND_SIGNALED, 2);
		if (!ret)
			t->sent++;
		abi_poll(t->s, e[1].cq[1], wc, 8);
		if (abi_poll(t->s, e[0].cq[0], wc, 8) > 0)
			t->got++;
	}
	t->last = ret;
	return NULL;
}

TEST_F(unplug, removal_under_traffic)
{
	struct abi_pair p = { .max_wr = 32 };
	struct traffic t = { .s = &self->w.s, .p = &p };
	pthread_t thread;

	OK(abi_pair_open(&self->w.s, &p));
	OK(pthread_create(&thread, NULL, traffic_thread, &t));
	usleep(200000);
	EXPECT_WITHIN(10000 * TEST_SCALE, EXPECT_EQ(0, unplug()));
	usleep(100000);
	t.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, t.sent);
	EXPECT_LT(0, t.got);
	EXPECT_EQ(-EIO, t.last);
}

static int ud_qp(const struct abi_world *w, __u32 id, __u32 *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_qp(&w->s, QPT_UD, w->obj[RDMA_EP_OBJ_CQ], id, &c);
	*qp = c.init.qp;
	return ret;
}

/* Memberships and attachments end with the device; handles of memberships remain. */
TEST_F(unplug, removal_ends_memberships)
{
	struct abi_world *w = &self->w;
	struct rdma_ep_cmd_destroy d = { .type = RDMA_EP_OBJ_MCAST };
	__u32 id, own, plain, mc[3], late;
	int channel = abi_channel(&w->s), i;

	SKIP_IF(w->s.iwarp, "iWARP has no multicast");
	OK(abi_ud_id(&w->s, channel, 0, &id));
	OK(ud_qp(w, id, &own));
	OK(ud_qp(w, 0, &plain));
	OK(abi_join(&w->s, id, 1, 1, &mc[0]));
	OK(abi_event(channel, EV_MULTICAST_JOIN, NULL));
	OK(abi_join(&w->s, id, 2, 2, &mc[1]));
	ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
	for (i = 0; i < 10; i++)
		OK(abi_attach(&w->s, plain, i));
	OK(abi_join(&w->s, id, 1, 3, &mc[2]));
	OK(unplug());

	EXPECT_EQ(-EIO, abi_join(&w->s, id, 3, 3, &late));
	EXPECT_EQ(-EIO, abi_attach(&w->s, own, 3));
	EXPECT_EQ(-EIO, abi_detach(&w->s, own, 1));
	EXPECT_EQ(-EIO, abi_attach(&w->s, plain, 1));
	EXPECT_EQ(-EIO, abi_detach(&w->s, plain, 1));
	/* Events that were read before count. The QPs are not attached any more. */
	for (i = 0; i < 2; i++) {
		d.handle = mc[i];
		EXPECT_EQ(0, ABI(w->s.fd, DESTROY, &d));
		EXPECT_EQ(!i, d.events_reported);
	}
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, own));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, plain));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, ID, id));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, MCAST, mc[2]));
	EXPECT_TRUE(abi_quiet(channel));
}

/* The device is removed while tasks join, leave, attach and detach. */
struct joiner {
	const struct abi_world *w;
	__u32 id, qp;
	int joined, last;
	volatile bool stop;
};

static void *join_thread(void *arg)
{
	struct joiner *j = arg;
	const struct abi *s = &j->w->s;
	__u32 mc[8] = {};

	for (unsigned int i = 0; !j->stop; i++) {
		ABI_DESTROY(s, MCAST, mc[i % 8]);
		j->last = abi_join(s, j->id, i % 16, 0, &mc[i % 8]);
		if (!j->last)
			j->joined++;
	}
	return NULL;
}

static void *attach_thread(void *arg)
{
	struct joiner *j = arg;

	for (unsigned int i = 0; !j->stop; i++) {
		abi_attach(&j->w->s, j->qp, i % 64);
		abi_detach(&j->w->s, j->qp, (i + 1) % 64);
	}
	return NULL;
}

TEST_F(unplug, removal_while_joining)
{
	struct abi_world *w = &self->w;
	struct joiner j = { .w = w };
	pthread_t thread[2];

	SKIP_IF(w->s.iwarp, "iWARP has no multicast");
	OK(abi_ud_id(&w->s, w->ud_channel, 0, &j.id));
	OK(ud_qp(w, j.id, &j.qp));
	OK(pthread_create(&thread[0], NULL, join_thread, &j));
	OK(pthread_create(&thread[1], NULL, attach_thread, &j));
	usleep(300000);
	EXPECT_WITHIN(10000 * TEST_SCALE, EXPECT_EQ(0, unplug()));
	usleep(50000);
	j.stop = true;
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	EXPECT_LT(0, j.joined);
	EXPECT_EQ(-EIO, j.last);
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, j.qp));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, ID, j.id));
}

/* A session that is closed after the removal of its device leaves no objects. */
TEST_F(unplug, close_after_removal)
{
	struct abi_pair p = {};
	struct pollfd pfd = { .events = POLLIN };

	OK(abi_pair_open(&self->w.s, &p));
	OK(unplug());
	close(self->w.s.fd);
	self->w.s.fd = -1;
	pfd.fd = p.end[0].channel;
	EXPECT_EQ(1, poll(&pfd, 1, ABI_WAIT_MS));
	EXPECT_EQ(0, abi_idle());
	/* A new device of the same name can be used. */
	OK(add_device());
	EXPECT_EQ(0, usable(&self->w));
}

#define MANY_QPS	600

/* Creates QPs in RTS whose peer does not exist. */
static int make_qps(const struct abi *s)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;
	__u32 cq;

	ret = abi_create_cq(s, -1, 16, 0, &cq);
	for (int i = 0; i < MANY_QPS && !ret; i++) {
		ret = abi_create_qp(s, QPT_UC, cq, 0, &c) ?:
		      abi_qp_init(s, c.init.qp, QPT_UC, 0) ?:
		      abi_qp_rts(s, c.init.qp, QPT_UC, 0x123456);
	}
	return ret;
}

/*
 * rxe gets time to acknowledge messages before a QP is destroyed, once for many QPs. The limits
 * are relative, as the time depends on the machine.
 */
TEST_F_TIMEOUT(unplug, removal_with_many_qps_fast, 200)
{
	struct rdma_ep_cmd_destroy d = { .type = RDMA_EP_OBJ_CTX,
		.flags = RDMA_EP_DESTROY_CONTENTS };
	int ret, async;
	struct abi s;
	long ms[3];

	SKIP_IF(self->w.s.iwarp, "siw takes no QP without a connection");
	for (int i = 0; i < 3; i++) {
		OK(abi_open(&s));
		OK(abi_ctx(&s, &d.handle, &async));
		OK(abi_alloc_pd(&s, d.handle, &s.pd));
		s.ctx = d.handle;
		OK(make_qps(&s));
		ms[i] = abi_now_ms();
		ret = 0;
		if (i == 0)
			abi_close(&s);
		else if (i == 1)
			ret = ABI(s.fd, DESTROY, &d);
		else
			ret = unplug();
		ms[i] = abi_now_ms() - ms[i];
		EXPECT_EQ(0, ret);
		if (i)
			abi_close(&s);
		close(async);
	}
	TH_LOG("close %ld ms, destroy %ld ms, unplug %ld ms", ms[0], ms[1], ms[2]);
	EXPECT_GT(3 * ms[0] + 2000 * TEST_SCALE, ms[1]);
	EXPECT_GT(3 * ms[0] + 2000 * TEST_SCALE, ms[2]);
}

/* Idle CQs are destroyed with the device. */
TEST_F(unplug, removal_with_kept_cqs)
{
	struct rdma_ep_cmd_create_ep e;
	struct abi *s = &self->w.s;

	for (int round = 0; round < 3; round++) {
		abi_own_ep(s, 4740, &e);
		OK(ABI(s->fd, CREATE_EP, &e));
		OK(ABI_DESTROY(s, QP, e.qp.qp));
		OK(ABI_DESTROY(s, CQ, e.qp.send_cq.cq));
		if (round)
			OK(ABI_DESTROY(s, CQ, e.qp.recv_cq.cq));
		OK(unplug());
		OK(add_device());
		abi_close(s);
		OK(usable(&self->w));
	}
}

TEST_HARNESS_MAIN
