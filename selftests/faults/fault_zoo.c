// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process that holds, at the same time, all that may exist when a fault happens: waits,
 * requests, connections, groups, memory, queues.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi_cmds.h"
#include "fault_zoo.h"

/* Time limit for the end of a wait after the removal of its device */
#define WOKEN_MS	(5000 * TEST_SCALE)
#define PAGES_BYTES	(8 << 20)

static void *task_thread(void *arg)
{
	struct task *t = arg;

	t->fn(t);
	t->done = true;
	return NULL;
}

int zoo_task(struct zoo *z, const char *name, void (*fn)(struct task *), int fd, __u32 id)
{
	struct task *t = &z->task[z->nr_tasks++];

	t->name = name;
	t->fn = fn;
	t->zoo = z;
	t->fd = fd;
	t->id = id;
	return -pthread_create(&t->thread, NULL, task_thread, t);
}

int zoo_listener(struct zoo *z, int *channel, __u32 *id, struct sockaddr_in *sin)
{
	*channel = abi_channel(&z->s);
	return abi_tcp_listen(&z->s, *channel, 0, 1, id, sin);
}

/* An address of the network without a host */
void zoo_nobody(struct zoo *z, struct sockaddr_in *sin)
{
	*sin = z->s.addr;
	sin->sin_addr.s_addr = htonl((ntohl(sin->sin_addr.s_addr) & ~0xffU) |
				     (100 + fault_random(&z->rand) % 100));
	sin->sin_port = htons(7471);
}

/* The device may be removed at any time, also while states are created. */
bool zoo_gone(struct zoo *z, int timeout_ms)
{
	struct rdma_ep_async_event ev;

	while (!z->gone && abi_ready(z->fatal_fd, timeout_ms) &&
	       !abi_read(z->fatal_fd, &ev, sizeof(ev), 0))
		z->gone = ev.event == EVENT_DEVICE_FATAL;
	return z->gone;
}

void zoo_only_removal(struct task *t, int why)
{
	long end = abi_now_ms() + ABI_WAIT_MS;

	while (!t->zoo->gone && abi_now_ms() < end)
		usleep(10000);
	if (t->zoo->gone)
		return;
	fault_say("%s ends by itself (%d)", t->name, why);
	_exit(FAULT_FAILED);
}

/* ---- connections in all states */

static int client(struct zoo *z, const struct sockaddr_in *dst, __u32 *id)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 cq;
	int ret;

	ret = abi_tcp_client(&z->s, abi_channel(&z->s), dst, 2, id) ?:
	      abi_create_cq(&z->s, -1, 32, 0, &cq);
	if (ret)
		return ret;
	return abi_create_qp(&z->s, QPT_RC, cq, *id, &c);
}

/* Connection requests. Some of their events have been read, none is answered. */
static int start_pending(struct zoo *z)
{
	int nr = 2 + fault_random(&z->rand) % 6, channel, i, ret;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	__u32 id;

	ret = zoo_listener(z, &channel, &id, &sin);
	for (i = 0; i < nr && !ret; i++) {
		ret = client(z, &sin, &id) ?: abi_connect(&z->s, id, 0);
		if (!ret && i % 2)
			ret = abi_event(channel, EV_CONNECT_REQUEST, &ev);
	}
	return ret;
}

static int post_some(struct zoo *z, struct abi_pair *p)
{
	size_t size = 1 << 20;
	char *mem = abi_map(size);
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_send_wr *wr;
	struct abi_wrs w;
	int ret;

	ret = abi_reg_mr(&z->s, z->s.pd, mem, size, AC_ALL, &mr);
	for (int i = 0; i < 8 && !ret; i++) {
		abi_wrs_recv(&w, i);
		abi_sge(&w, (uintptr_t)mem, 4096, mr.lkey);
		ret = ABI_POST(&z->s, RECV, p->end[0].qp.qp, &w, NULL);
	}
	for (int i = 0; i < 6 && !ret; i++) {
		wr = abi_wrs_send(&w, i % 2 ? WR_RDMA_READ : WR_RDMA_WRITE, SEND_SIGNALED, i);
		wr->rkey = mr.rkey;
		wr->remote_addr = (uintptr_t)mem;
		abi_sge(&w, (uintptr_t)mem + size / 2, size / 2, mr.lkey);
		ret = ABI_POST(&z->s, SEND, p->end[0].qp.qp, &w, NULL);
	}
	/* There is no receive for these: they are sent repeatedly. */
	for (int i = 0; i < 4 && !ret && !z->s.iwarp; i++) {
		abi_wrs_send(&w, WR_SEND, SEND_SIGNALED, 100 + i);
		abi_sge(&w, (uintptr_t)mem, 2048, mr.lkey);
		ret = ABI_POST(&z->s, SEND, p->end[0].qp.qp, &w, NULL);
	}
	return ret;
}

static int start_posted(struct zoo *z)
{
	struct abi_pair p = { .max_wr = 32 };

	return abi_pair_open(&z->s, &p) ?: post_some(z, &p);
}

static void stream(struct task *t)
{
	struct fault_end *e = t->zoo->end;
	int n;

	while (!e[0].bad && !e[1].bad) {
		n = fault_server_step(&e[1]);
		n += fault_client_step(&e[0], ~0ULL);
		if (!n)
			usleep(300);
	}
	if (e[0].bad == FAULT_WRONG || e[1].bad == FAULT_WRONG) {
		fault_say("wrong data");
		_exit(FAULT_WRONG);
	}
}

static int start_stream(struct zoo *z)
{
	struct abi_pair p = { .max_wr = FAULT_WINDOW };

	return abi_pair_open(&z->s, &p) ?:
	       fault_end_of(&z->end[1], &z->s, &p.end[1], z->rand) ?:
	       fault_end_of(&z->end[0], &z->s, &p.end[0], z->rand) ?:
	       zoo_task(z, "stream", stream, -1, 0);
}

/* Makes and ends connections until one fails. */
static void churn(struct task *t)
{
	const struct abi *s = &t->zoo->s;
	struct sockaddr_in sin;
	int channel, ret;
	__u32 id;

	ret = zoo_listener(t->zoo, &channel, &id, &sin);
	while (!ret) {
		struct abi_pair p = {};
		int i;

		ret = abi_pair_open(s, &p);
		for (i = 0; i < 2 && !ret; i++)
			ret = ABI_DESTROY(s, ID, p.end[i].id) ?:
			      ABI_DESTROY(s, QP, p.end[i].qp.qp) ?:
			      ABI_DESTROY(s, CQ, p.end[i].cq[0]) ?:
			      ABI_DESTROY(s, CQ, p.end[i].cq[1]);
		if (!ret)
			ret = ABI_DESTROY(s, ID, p.listener);
		close(p.end[0].channel);
		close(p.end[1].channel);
	}
}

static int start_churn(struct zoo *z)
{
	return zoo_task(z, "churn", churn, -1, 0);
}

/* ---- other objects */

static int start_groups(struct zoo *z)
{
	int channel = abi_channel(&z->s), i, ret;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_channel_event ev;
	__u32 id, cq, mc;

	ret = abi_create_cq(&z->s, -1, 64, 0, &cq) ?:
	      abi_ud_id(&z->s, channel, 0, &id);
	if (ret)
		return ret;
	ret = abi_create_qp(&z->s, QPT_UD, cq, id, &c);
	for (i = 0; i < 6 && !ret; i++) {
		ret = abi_join(&z->s, id, i, i, &mc);
		if (!ret && i % 2)
			ret = abi_event(channel, EV_MULTICAST_JOIN, &ev);
	}
	for (i = 100; i < 110 && !ret; i++)
		ret = abi_attach(&z->s, c.init.qp, i);
	return ret;
}

static int start_srq(struct zoo *z)
{
	struct abi_pair p = {};
	struct abi_wrs w;

	abi_recv_wrs(&w, 8, 0);
	return abi_create_srq(&z->s, z->s.pd, 16, 0, &p.srq) ?:
	       ABI_POST(&z->s, SRQ_RECV, p.srq, &w, NULL) ?:
	       abi_pair_open(&z->s, &p);
}

static int start_pages(struct zoo *z)
{
	char *mem = abi_map(PAGES_BYTES);
	struct rdma_ep_cmd_reg_mr mr;
	__u32 pd;

	return abi_alloc_pd(&z->s, z->s.ctx, &pd) ?:
	       abi_reg_mr(&z->s, pd, mem, PAGES_BYTES, AC_ALL, &mr);
}

/* Events that are not read */
static int start_unread(struct zoo *z)
{
	struct rdma_ep_cmd_write_event ev = { .event = RDMA_EP_CM_EVENT_USER };
	int channel = abi_channel(&z->s), i, ret;

	ret = abi_tcp_id(&z->s, channel, 0, &ev.id);
	for (i = 0; i < 500 && !ret; i++)
		ret = ABI(z->s.fd, WRITE_EVENT, &ev);
	return ret;
}

/* A CQ, an SRQ and QPs, without any id */
static int start_verbs(struct zoo *z)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 cq, srq;
	int ret;

	ret = abi_create_cq(&z->s, -1, 64, 0, &cq) ?:
	      abi_create_srq(&z->s, z->s.pd, 8, 0, &srq);
	for (int i = 0; i < 8 && !ret; i++) {
		abi_qp_attr(&c, QPT_RC, z->s.pd, cq, cq);
		c.init.srq = i % 2 ? srq : 0;
		ret = ABI(z->s.fd, CREATE_QP, &c);
		if (!ret)
			ret = abi_qp_init(&z->s, c.init.qp, QPT_RC, 0);
	}
	return ret;
}

static int start_objects(struct zoo *z)
{
	/* In a separate session, which is closed with the process */
	return abi_world_open(calloc(1, sizeof(struct abi_world)));
}

/* ---- all states */

static const struct state {
	const char *name;
	int (*start)(struct zoo *z);
	bool roce;		/* iWARP does not support it */
	bool no_ids;		/* it holds no network namespace */
} states[] = {
	{ "event", zoo_event },
	{ "request", zoo_request },
	{ "comp", zoo_comp, .no_ids = true },
	{ "async", zoo_async, .no_ids = true },
	{ "resolve", zoo_resolve },
	{ "await", zoo_await },
	{ "ring", zoo_ring_traffic },
	{ "idle_ring", zoo_ring_idle, .no_ids = true },
	{ "pending", start_pending },
	{ "posted", start_posted },
	{ "stream", start_stream },
	{ "churn", start_churn },
	{ "groups", start_groups, .roce = true },
	{ "srq", start_srq },
	{ "pages", start_pages, .no_ids = true },
	{ "unread", start_unread },
	{ "verbs", start_verbs, .no_ids = true },
	{ "objects", start_objects },
};

#define NR_STATES	(sizeof(states) / sizeof(states[0]))

static bool wanted(const struct zoo *z, const struct state *st, bool leave, char **names)
{
	if ((st->roce && z->s.iwarp) || (leave && !st->no_ids))
		return false;
	if (!names[0])
		return true;
	for (; *names; names++)
		if (!strcmp(*names, st->name))
			return true;
	return false;
}

static int start_all(struct zoo *z, bool leave, char **names)
{
	int order[NR_STATES], k, ret;

	for (int i = 0; i < (int)NR_STATES; i++) {
		k = fault_random(&z->rand) % (i + 1);
		order[i] = order[k];
		order[k] = i;
	}
	for (int i = 0; i < (int)NR_STATES && !fault_stop; i++) {
		const struct state *st = &states[order[i]];

		if (!wanted(z, st, leave, names))
			continue;
		ret = st->start(z);
		/* (The event of the removal comes after its results.) */
		if (ret && zoo_gone(z, WOKEN_MS))
			return 0;
		if (ret) {
			fault_say("%s can not be started: %s", st->name, strerror(-ret));
			return ret;
		}
	}
	return 0;
}

/* All waits for the device must end. */
static int all_woken(struct zoo *z)
{
	long end = abi_now_ms() + WOKEN_MS;
	int asleep = 0;

	for (int i = 0; i < z->nr_tasks; i++) {
		while (!z->task[i].done && !z->task[i].stays && abi_now_ms() < end)
			usleep(10000);
		if (z->task[i].done || z->task[i].stays)
			continue;
		fault_say("%s is not woken", z->task[i].name);
		asleep++;
	}
	return asleep ? FAULT_FAILED : FAULT_OK;
}

static int leave_namespace(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = setns(fd, CLONE_NEWNET) ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * Runs until the device is removed, or until SIGTERM.
 * @leave: enter the initial network namespace once the device is open
 * @names: of states; empty for all
 */
int fault_zoo(__u64 seed, bool leave, char **names)
{
	struct zoo *z = calloc(1, sizeof(*z));
	__u32 ctx;
	int ret;

	z->rand = seed;
	ret = abi_open(&z->s) ?: abi_ctx(&z->s, &ctx, &z->fatal_fd);
	zoo_nobody(z, &z->silent);
	if (!ret && leave)
		ret = leave_namespace();
	if (ret) {
		fault_say("can not be opened: %s", strerror(-ret));
		return FAULT_FAILED;
	}
	if (start_all(z, leave, names))
		return FAULT_FAILED;
	fault_say("ready");
	while (!fault_stop && !zoo_gone(z, 100))
		;
	if (!z->gone)
		return FAULT_OK;
	fault_say("gone");
	ret = all_woken(z);
	fault_say("woken");
	return ret;
}
