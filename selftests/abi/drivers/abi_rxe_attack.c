// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on rxe by a user without rights. No call may last, SIGKILL must end all tasks, the
 * device must be removable at once, and the system's work queue must have room for other users.
 * If the module fails, a test ends its attack itself, so that the machine remains usable: it
 * kills the readers before it waits for the stuck task.
 */
#include "abi_test.h"

#define NETDEV		"epattack0"
#define DEVICE		"ep_attack"

#define READERS		24
#define READ_LEN	(64u << 10)
#define READS		16
#define ATTACK_MS	6000
/* Time limit of a command, of the end of a task, and of the removal of the device */
#define LIMIT_MS	(5000 * TEST_SCALE)
/* Time limit of work items in the system's work queue */
#define REFRESH_MS	(1000 * TEST_SCALE)

/* Shared by the processes of an attack */
struct shared {
	__u32 victim_qpn;
	__u32 reader_qpn;
	__u64 addr;
	__u32 rkey;
	long turns;
	long longest;
	long reads;
	int failed;
};

FIXTURE(attack) {
	struct abi s;
	__u32 cq;
	char *buf;
	struct rdma_ep_cmd_reg_mr mr;
	struct shared *shared;
};

FIXTURE_SETUP(attack)
{
	const char *kind = getenv("DEVICE") ?: "rxe";

	if (strcmp(kind, "rxe"))
		SKIP_FIXTURE("it is about rxe");
	unsetenv("RDMA_EP_TEST_ADDR");
	setenv("RDMA_DEV", DEVICE, 1);
	OK(abi_add_netdev(NETDEV, "10.91.19.1/24"));
	OK(system("rdma link add " DEVICE " type rxe netdev " NETDEV));
	OK(abi_open_wait(&self->s));
	OK(abi_create_cq(&self->s, -1, 1024, 0, &self->cq));
	self->buf = abi_map(1 << 20);
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 1 << 20, AC_ALL, &self->mr));
	self->shared = abi_map_shared(sizeof(*self->shared));
}

FIXTURE_TEARDOWN(attack)
{
	abi_close(&self->s);
	abi_del_netdev(NETDEV);
}

static int create_qp(const struct abi *s, __u32 send_cq, __u32 recv_cq, struct rdma_ep_qp_init *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, QPT_RC, s->pd, send_cq, recv_cq);
	c.init.max_send_wr = READS;
	c.init.max_recv_wr = 4;
	ret = ABI(s->fd, CREATE_QP, &c);
	*qp = c.init;
	return ret;
}

static int to_rtr(const struct abi *s, __u32 qp, __u32 dest)
{
	struct ib_uverbs_qp_attr attr;

	abi_rtr_attr(s, dest, &attr);
	attr.path_mtu = 1;
	attr.max_dest_rd_atomic = READS;
	return abi_modify_qp(s, qp, &attr);
}

static int to_rts(const struct abi *s, __u32 qp)
{
	struct ib_uverbs_qp_attr attr;

	abi_rts_attr(&attr);
	attr.timeout = 8;
	attr.max_rd_atomic = READS;
	return abi_modify_qp(s, qp, &attr);
}

static int post_reads(const struct abi *s, const struct shared *sh, __u32 qp,
		      const struct rdma_ep_cmd_reg_mr *to, int num)
{
	static struct abi_wrs w;
	struct rdma_ep_send_wr *wr;
	__u32 posted;

	abi_wrs_init(&w);
	for (int i = 0; i < num; i++) {
		wr = abi_send_wr(&w, WR_RDMA_READ, SEND_SIGNALED, qp);
		wr->remote_addr = sh->addr;
		wr->rkey = sh->rkey;
		abi_sge(&w, to->iova, READ_LEN, to->lkey);
	}
	return ABI_POST(s, SEND, qp, &w, &posted);
}

static int read_on(const struct abi *s, const struct shared *sh, __u32 qp,
		   const struct rdma_ep_cmd_reg_mr *to)
{
	return abi_qp_init(s, qp, QPT_RC, 0) ?:
	       to_rtr(s, qp, sh->victim_qpn) ?:
	       to_rts(s, qp) ?:
	       post_reads(s, sh, qp, to, READS);
}

/* READs from the victim, and reconnects after errors, until it is killed. */
static int readers(struct shared *sh)
{
	struct rdma_ep_qp_init qp[READERS];
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc[16];
	struct abi s;
	__u32 cq;
	char *buf = abi_map(READ_LEN);
	int n;

	CHECK(2, !abi_open(&s));
	CHECK(3, !abi_create_cq(&s, -1, 1024, 0, &cq));
	CHECK(4, !abi_reg_mr(&s, s.pd, buf, READ_LEN, AC_ALL, &mr));
	for (int i = 0; i < READERS; i++)
		CHECK(5, !create_qp(&s, cq, cq, &qp[i]));
	__atomic_store_n(&sh->reader_qpn, qp[0].qp_num, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&sh->victim_qpn, __ATOMIC_SEQ_CST))
		usleep(1000);
	for (int i = 0; i < READERS; i++)
		CHECK(6, !read_on(&s, sh, qp[i].qp, &mr));
	for (;;) {
		n = abi_poll(&s, cq, wc, 16);
		for (int i = 0; i < n; i++) {
			if (!wc[i].status) {
				__atomic_add_fetch(&sh->reads, 1, __ATOMIC_RELAXED);
				post_reads(&s, sh, wc[i].wr_id, &mr, 1);
			} else if (wc[i].status != WC_WR_FLUSH_ERR) {
				abi_qp_state(&s, wc[i].wr_id, QPS_RESET);
				read_on(&s, sh, wc[i].wr_id, &mr);
			}
		}
		if (n <= 0)
			usleep(1000);
	}
}

/* The refusal of a READ from before the RESET may have moved the QP to ERR. */
static bool has_failed(const struct abi *s, __u32 qp)
{
	return abi_state_of(s, qp) == QPS_ERR;
}

/* Resets and connects one QP repeatedly. */
static int victim(struct shared *sh)
{
	struct rdma_ep_qp_init qp;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s;
	long start, took;
	__u32 cq;
	char *buf = abi_map(READ_LEN);
	int ret;

	CHECK(2, !abi_open(&s));
	CHECK(3, !abi_create_cq(&s, -1, 64, 0, &cq));
	CHECK(4, !abi_reg_mr(&s, s.pd, buf, READ_LEN, AC_ALL, &mr));
	CHECK(5, !create_qp(&s, cq, cq, &qp));
	sh->addr = mr.iova;
	sh->rkey = mr.rkey;
	__atomic_store_n(&sh->victim_qpn, qp.qp_num, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&sh->reader_qpn, __ATOMIC_SEQ_CST))
		usleep(1000);
	for (;;) {
		start = abi_now_ms();
		ret = abi_qp_init(&s, qp.qp, QPT_RC, 0) ?:
		      to_rtr(&s, qp.qp, sh->reader_qpn);
		if (ret && !(ret == -EINVAL && has_failed(&s, qp.qp)))
			sh->failed = ret;
		usleep(abi_random() % 3000);
		ret = abi_qp_state(&s, qp.qp, QPS_RESET);
		if (ret)
			sh->failed = ret;
		took = abi_now_ms() - start;
		if (took > sh->longest)
			sh->longest = took;
		__atomic_add_fetch(&sh->turns, 1, __ATOMIC_RELAXED);
	}
}

static pid_t start(int (*role)(struct shared *sh), struct shared *sh)
{
	pid_t pid = fork();

	if (!pid) {
		/* (The device is chosen by its name, the node has mode 0666.) */
		_exit(setgid(65534) || setuid(65534) ? 99 : role(sh));
	}
	return pid;
}

/* Kills the process. Returns how many milliseconds it takes to end, or -1. */
static long end(pid_t pid, long limit)
{
	long start = abi_now_ms();

	kill(pid, SIGKILL);
	do {
		if (waitpid(pid, NULL, WNOHANG))
			return abi_now_ms() - start;
		usleep(10000);
	} while (abi_now_ms() - start < limit);
	return -1;
}

static long refresh(void)
{
	long start = abi_now_ms();
	int fd = open("/proc/sys/vm/stat_refresh", O_RDONLY);
	char byte;

	if (fd < 0 || read(fd, &byte, 1) < 0)
		return -1;
	close(fd);
	return abi_now_ms() - start;
}

static int unplug(void)
{
	return system("rdma link delete " DEVICE);
}

/* RXE-16 */
TEST_F_TIMEOUT(attack, reconnect_under_readers_ends, 120)
{
	struct shared *sh = self->shared;
	pid_t reading, moving;
	long took, turns;

	reading = start(readers, sh);
	moving = start(victim, sh);
	usleep(ATTACK_MS / 2 * 1000);
	turns = __atomic_load_n(&sh->turns, __ATOMIC_RELAXED);
	usleep(ATTACK_MS / 2 * 1000);
	took = refresh();
	EXPECT_LE(0, took);
	EXPECT_GT(REFRESH_MS, took);
	TH_LOG("%ld turns, %ld ms the longest, %ld READs", sh->turns, sh->longest, sh->reads);
	LOGGED(EXPECT_GT(sh->turns, turns), "stuck after %ld turns", turns);
	EXPECT_EQ(0, sh->failed);
	EXPECT_GT(LIMIT_MS, sh->longest);
	took = end(moving, LIMIT_MS);
	EXPECT_LE(0, took);
	if (took < 0) {
		/* The stuck task continues when no more packets arrive. */
		end(reading, LIMIT_MS);
		end(moving, 60000);
		return;
	}
	EXPECT_WITHIN(LIMIT_MS, EXPECT_EQ(0, unplug()));
	took = end(reading, LIMIT_MS);
	EXPECT_LE(0, took);
}

/* @kept: a QP that keeps @mr, as the completions of WRITEs do not fit into @small */
static int overrun(const FIXTURE_DATA(attack) * self, __u32 small,
		   const struct rdma_ep_cmd_reg_mr *mr, __u32 *kept)
{
	const struct abi *s = &self->s;
	struct rdma_ep_qp_init from, to;
	struct rdma_ep_send_wr *wr;
	static struct abi_wrs w;
	__u32 posted;
	int ret;

	ret = create_qp(s, self->cq, self->cq, &from) ?:
	      create_qp(s, self->cq, small, &to) ?:
	      abi_qp_init(s, from.qp, QPT_RC, 0) ?:
	      abi_qp_init(s, to.qp, QPT_RC, 0);
	abi_wrs_init(&w);
	for (int i = 0; i < 4; i++) {
		abi_recv_wr(&w, i);
		abi_mr_sge(&w, &self->mr, 0, 8);
	}
	ret = ret ?: ABI_POST(s, RECV, to.qp, &w, &posted) ?:
		     abi_qp_rts(s, from.qp, QPT_RC, to.qp_num) ?:
		     abi_qp_rts(s, to.qp, QPT_RC, from.qp_num);
	abi_wrs_init(&w);
	for (int i = 0; i < 4; i++) {
		wr = abi_send_wr(&w, WR_RDMA_WRITE_WITH_IMM, 0, i);
		wr->remote_addr = mr->iova;
		wr->rkey = mr->rkey;
		abi_mr_sge(&w, &self->mr, 0, 8);
	}
	ret = ret ?: ABI_POST(s, SEND, from.qp, &w, &posted);
	*kept = to.qp;
	return ret ?: ABI_UNTIL(abi_state_of(s, to.qp) == QPS_ERR) ? 0 : -ETIMEDOUT;
}

static int reg_page(const FIXTURE_DATA(attack) * self, struct rdma_ep_cmd_reg_mr *mr)
{
	return abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, mr);
}

#define FAILED	600

/* The number of other QPs that have failed does not matter. (RXE-21, RXE-03) */
TEST_F_TIMEOUT(attack, region_of_failed_qp_among_many_ends, 120)
{
	struct rdma_ep_qp_init qp;
	struct rdma_ep_cmd_reg_mr mr;
	__u32 small, kept;

	OK(abi_create_cq(&self->s, -1, 1, 0, &small));
	for (int i = 0; i < FAILED; i++) {
		OK(create_qp(&self->s, self->cq, self->cq, &qp));
		OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
		OK(abi_qp_state(&self->s, qp.qp, QPS_ERR));
	}
	OK(reg_page(self, &mr));
	OK(overrun(self, small, &mr, &kept));
	EXPECT_WITHIN(LIMIT_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr)));
}

struct failing {
	const struct abi *s;
	__u32 qp;
	int stop;
};

static void *fail_again(void *data)
{
	struct failing *f = data;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		abi_qp_state(f->s, f->qp, QPS_ERR);
		usleep(20000);
	}
	return NULL;
}

/* The user moves the QP to ERR again and again meanwhile. */
TEST_F_TIMEOUT(attack, region_of_qp_that_fails_again_ends, 120)
{
	struct failing f = { .s = &self->s };
	struct rdma_ep_cmd_reg_mr mr;
	pthread_t thread;
	__u32 small;

	OK(abi_create_cq(&self->s, -1, 1, 0, &small));
	OK(reg_page(self, &mr));
	OK(overrun(self, small, &mr, &f.qp));
	OK(pthread_create(&thread, NULL, fail_again, &f));
	EXPECT_WITHIN(LIMIT_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr)));
	__atomic_store_n(&f.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* Posts receives to a QP in ERR, which flushes them. */
static int post_flushed(const struct abi *s, __u32 qp, int num)
{
	for (int i = 0; i < num; i++) {
		int ret = abi_post_empty_recv(s, qp, i);

		if (ret)
			return ret;
	}
	return 0;
}

static int fill_ring(const struct abi *s, __u32 cq)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = cq };

	return ABI(s->fd, POLL_CQ, &p);
}

static __u32 ring_level(const volatile struct rdma_ep_cq_ring *ring)
{
	return ring->head - ring->tail;
}

/*
 * The CQ is armed, and full of completions that the user does not poll, also behind the ring: a
 * request for solicited ones waits for no further one. (It did for half a second, with a lock for
 * which the rescue of regions waits once for each CQ of each failed QP.)
 */
TEST_F_TIMEOUT(attack, solicited_event_of_full_cq_returns, 120)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_cq cq = {
		.flags = RDMA_EP_CQ_RING, .ctx = s->ctx, .channel_fd = -1, .cqe = 15,
	};
	struct rdma_ep_cq_ring *ring = ASSERT_PTR(abi_rings(s));
	struct rdma_ep_cmd_create_qp flushed;
	struct rdma_ep_qp_init other;
	int all;

	OK(ABI(s->fd, CREATE_CQ, &cq));
	ASSERT_GT(RDMA_EP_MAX_RINGS, cq.ring);
	ring += cq.ring;
	/* The granted entries, and one that is not granted */
	all = cq.cqe + 1;
	/* Its requests have slots until their completions have been taken. */
	abi_qp_attr(&flushed, QPT_RC, s->pd, cq.cq, cq.cq);
	flushed.init.max_recv_wr = RDMA_EP_RING_ENTRIES + 4 * all;
	OK(ABI(s->fd, CREATE_QP, &flushed));
	OK(create_qp(s, cq.cq, cq.cq, &other));
	OK(abi_qp_init(s, flushed.init.qp, QPT_RC, 0));
	OK(abi_qp_state(s, flushed.init.qp, QPS_ERR));
	OK(abi_qp_init(s, other.qp, QPT_RC, 0));

	for (__u32 i = 1; i <= RDMA_EP_RING_ENTRIES; i++) {
		OK(post_flushed(s, flushed.init.qp, 1));
		ASSERT_TRUE(ABI_UNTIL(!fill_ring(s, cq.cq) && ring_level(ring) == i));
	}
	OK(post_flushed(s, flushed.init.qp, all));
	usleep(20000);
	/* This takes them from the device. */
	OK(abi_qp_state(s, other.qp, QPS_RESET));
	OK(abi_notify_cq(s, cq.cq, 0));
	OK(post_flushed(s, flushed.init.qp, all));
	usleep(20000);
	__atomic_fetch_add(&ring->tail, 1, __ATOMIC_RELEASE);
	OK(fill_ring(s, cq.cq));
	ASSERT_EQ(RDMA_EP_RING_ENTRIES, ring_level(ring));
	for (int i = 0; i < 4; i++)
		EXPECT_WITHIN(100 * TEST_SCALE,
			      EXPECT_EQ(0, abi_notify_cq(s, cq.cq, RDMA_EP_NOTIFY_SOLICITED)));
}

#define REGIONS	280

struct dereg {
	const struct abi *s;
	__u32 mr;
	pthread_t thread;
	pthread_barrier_t *together;
	long took;
	int ret;
};

/* All threads run on one CPU, as the system's work queue has a limit for each. */
static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *dereg_thread(void *data)
{
	struct dereg *d = data;
	long begin;

	stay_here();
	pthread_barrier_wait(d->together);
	begin = abi_now_ms();
	d->ret = ABI_DESTROY(d->s, MR, d->mr);
	d->took = abi_now_ms() - begin;
	return NULL;
}

TEST_F_TIMEOUT(attack, regions_at_once_leave_work_queue_free, 170)
{
	static struct dereg d[REGIONS];
	pthread_barrier_t together;
	struct rdma_ep_cmd_reg_mr mr;
	long took, longest = 0, last = 0;
	pthread_attr_t attr;
	__u32 small, kept;

	OK(abi_create_cq(&self->s, -1, 1, 0, &small));
	pthread_barrier_init(&together, NULL, REGIONS + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < REGIONS; i++) {
		OK(reg_page(self, &mr));
		LOGGED(ASSERT_EQ(0, overrun(self, small, &mr, &kept)), "region %d", i);
		d[i].s = &self->s;
		d[i].mr = mr.mr;
		d[i].together = &together;
		OK(pthread_create(&d[i].thread, &attr, dereg_thread, &d[i]));
	}
	pthread_barrier_wait(&together);
	for (int i = 0; i < 20; i++) {
		took = refresh();
		EXPECT_LE(0, took);
		if (took > longest)
			longest = took;
		usleep(100000);
	}
	for (int i = 0; i < REGIONS; i++) {
		pthread_join(d[i].thread, NULL);
		EXPECT_EQ(0, d[i].ret);
		if (d[i].took > last)
			last = d[i].took;
	}
	TH_LOG("%ld ms to refresh, %ld ms to deregister", longest, last);
	EXPECT_GT(REFRESH_MS, longest);
	EXPECT_GT(LIMIT_MS, last);
}

TEST_HARNESS_MAIN
