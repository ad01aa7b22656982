// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on the memory in which receives of an SRQ are posted. A task may write any value to it at
 * any time: only checked receives are posted, and only the SRQ itself fails.
 */
#include "abi_recv_ring.h"

#define NETDEV	"eprecv0"
#define DEVICE	"ep_recv"

/* Receives beyond the limit wait in the ring until the queue has room, in order. */
TEST_F(recv, beyond_limit)
{
	struct rdma_ep_cmd_srq_attr a = { .srq = self->srq.srq };
	struct rdma_ep_ring_recv recv;
	int n;

	OK(ABI(self->s.fd, QUERY_SRQ, &a));
	n = a.max_wr;
	for (int i = 0; i < n; i += 16)
		OK(post(self, n - i < 16 ? n - i : 16, i, NULL));
	OK(settle(self, &self->c[0]));
	EXPECT_NE(0, self->r->kick);
	for (int i = 0; i < ENTRIES; i++) {
		recv = recv_of(self, n + i);
		put_one(self, &recv);
	}
	OK(kick(self));
	EXPECT_EQ(0, self->r->head);
	OK(send_n(self, &self->c[0], n));
	OK(take(self, &self->c[0], n));
	OK(settle(self, &self->c[0]));
	EXPECT_EQ(ENTRIES, self->r->head);
	OK(send_n(self, &self->c[0], ENTRIES));
	OK(take(self, &self->c[0], ENTRIES));
}

static const struct wrong {
	const char *name;
	struct rdma_ep_ring_recv recv;	/* added to a good one */
} wrongs[] = {
	{ "lkey", { .sge = { { .lkey = 0x100 } } } },
	{ "no lkey", { .sge = { { .lkey = 1 } } } },
	{ "address before", { .sge = { { .addr = -SIZE * PLACES } } } },
	{ "address behind", { .sge = { { .addr = LEN } } } },
	{ "length", { .sge = { { .length = LEN } } } },
	{ "long length", { .sge = { { .length = 0x80000000 } } } },
	{ "second entry", { .wr = { .num_sge = 1 }, .sge = { {}, { 1, 1, 1 } } } },
	{ "three entries", { .wr = { .num_sge = 2 } } },
	{ "many entries", { .wr = { .num_sge = 0xfffffffe } } },
	{ "reserved", { .wr = { .reserved = 1 } } },
};

static void make_wrong(struct rdma_ep_ring_recv *recv, const struct wrong *w)
{
	recv->wr.num_sge += w->recv.wr.num_sge;
	recv->wr.reserved += w->recv.wr.reserved;
	recv->sge[0].addr += w->recv.sge[0].addr;
	recv->sge[0].length += w->recv.sge[0].length;
	recv->sge[0].lkey += w->recv.sge[0].lkey;
	recv->sge[1] = w->recv.sge[1];
}

TEST_F(recv, wrong_receives)
{
	struct rdma_ep_ring_recv recv;

	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
		OK(open_ring(self));
		recv = recv_of(self, 16);
		make_wrong(&recv, &wrongs[i]);
		put_one(self, &recv);
		/* A good one behind it is lost. */
		recv = recv_of(self, 17);
		put_one(self, &recv);
		EXPECT_TRUE(abi_quiet(self->s.async_fd));
		/* A message or a call makes the module read the ring. */
		if (i & 1)
			OK(send_n(self, &self->c[0], 1));
		else
			EXPECT_EQ(-EINVAL, kick(self));
		LOGGED(ASSERT_EQ(0, failed(self)), "%s", wrongs[i].name);
		OK(reopen(self));
	}
}

/* Keys of another PD, of a region without local write, of a destroyed region */
TEST_F(recv, wrong_keys)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_ring_recv recv;
	__u32 pd;

	for (int i = 0; i < 3; i++) {
		OK(open_ring(self));
		OK(i ? 0 : abi_alloc_pd(&self->s, self->s.ctx, &pd));
		OK(abi_reg_mr(&self->s, i ? self->s.pd : pd, self->mem, LEN,
			      i == 1 ? AC_REMOTE_READ : AC_ALL, &mr));
		if (i == 2)
			OK(ABI_DESTROY(&self->s, MR, mr.mr));
		recv = recv_of(self, 16);
		recv.sge[0].lkey = mr.lkey;
		put_one(self, &recv);
		OK(send_n(self, &self->c[0], 1));
		LOGGED(ASSERT_EQ(0, failed(self)), "key %d", i);
		OK(reopen(self));
	}
}

TEST_F(recv, wrong_indexes)
{
	static const __u32 tails[] = {
		ENTRIES + 1, 1000, -1, -ENTRIES, 0x80000000, 0x7fffffff,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		OK(open_ring(self));
		self->r->tail = tails[i];
		if (i & 1)
			OK(send_n(self, &self->c[0], 1));
		else
			EXPECT_EQ(-EINVAL, kick(self));
		LOGGED(ASSERT_EQ(0, failed(self)), "tail %#x", tails[i]);
		OK(reopen(self));
	}
	/* The module does not read the words that it writes. */
	OK(open_ring(self));
	self->r->head = 4711;
	self->r->limit = 1 << 20;
	self->r->max_sge = 100;
	self->r->kick = 1;
	OK(send_n(self, &self->c[0], 16));
	OK(take(self, &self->c[0], 16));
}

static volatile bool stop;

static void *scribble(void *arg)
{
	volatile __u32 *words = arg;

	while (!stop)
		words[abi_random() % (sizeof(struct rdma_ep_recv_ring) / 4)] =
			abi_random() % 3 ? abi_random() % 64 : abi_random();
	return NULL;
}

/* Another thread writes random values to the ring, while the device takes receives. */
TEST_F(recv, garbage_under_the_kernel)
{
	struct rdma_ep_async_event ev;
	struct rdma_ep_wc wc;
	pthread_t thread;

	for (int round = 0; round < 20; round++) {
		OK(post(self, 16, 0, NULL));
		OK(settle(self, &self->c[0]));
		stop = false;
		OK(pthread_create(&thread, NULL, scribble, (void *)self->r));
		for (int i = 0; i < 10; i++) {
			abi_post_empty_send(&self->s, self->c[0].from.qp, SEND_SIGNALED, i);
			abi_wait(&self->s, self->c[0].send_cq, &wc, 1);
			settle(self, &self->c[0]);
			kick(self);
		}
		stop = true;
		pthread_join(thread, NULL);
		OK(reopen(self));
	}
	while (abi_ready(self->s.async_fd, 0))
		OK(abi_read(self->s.async_fd, &ev, sizeof(ev), 0));
	/* The next SRQ, which has the same ring, works. */
	OK(open_ring(self));
	OK(send_n(self, &self->c[0], 16));
	OK(take(self, &self->c[0], 16));
}

struct flip {
	volatile __u32 *word;
	__u32 difference;
	volatile bool stop;
};

static void *flip(void *arg)
{
	struct flip *f = arg;
	__u32 good = *f->word;

	while (!f->stop) {
		*f->word = good ^ f->difference;
		*f->word = good;
	}
	return NULL;
}

/* Each field changes while the module reads it: it refuses the receive, or posts the good one. */
TEST_F(recv, changed_under_the_kernel)
{
	static const struct {
		size_t at;
		__u32 difference;
	} fields[] = {
		{ offsetof(struct rdma_ep_ring_recv, wr.num_sge), 0x80000000 },
		{ offsetof(struct rdma_ep_ring_recv, wr.reserved), 1 },
		{ offsetof(struct rdma_ep_ring_recv, sge[0].addr) + 4, 0x80000000 },
		{ offsetof(struct rdma_ep_ring_recv, sge[0].length), 0x80000000 },
		{ offsetof(struct rdma_ep_ring_recv, sge[0].lkey), 0x80000000 },
	};
	unsigned int posted = 0, refused = 0;
	struct rdma_ep_ring_recv recv;
	struct flip f = {};
	pthread_t thread;

	SKIP_IF(abi_one_cpu(), "one CPU: nothing changes meanwhile");
	for (size_t i = 0; i < 8 * ARRAY_SIZE(fields); i++) {
		OK(open_ring(self));
		recv = recv_of(self, 16);
		*(struct rdma_ep_ring_recv *)&self->r->recv[0] = recv;
		f.word = (void *)&self->r->recv[0] + fields[i / 8].at;
		f.difference = fields[i / 8].difference;
		f.stop = false;
		OK(pthread_create(&thread, NULL, flip, &f));
		usleep(1000 * (i % 8));
		self->r->tail = 1;
		EXPECT_EQ(0, send_n(self, &self->c[0], 1));
		f.stop = true;
		pthread_join(thread, NULL);
		if (self->r->head) {
			posted++;
			OK(send_n(self, &self->c[0], 16) ?: take(self, &self->c[0], 17));
		} else {
			refused++;
			OK(failed(self));
		}
		OK(reopen(self));
	}
	TH_LOG("%u posted, %u refused", posted, refused);
	EXPECT_LT(0, posted);
	EXPECT_LT(0, refused);
}

/* Receives in an unmapped ring stay posted, and calls can post further ones. */
TEST_F(recv, unmapped)
{
	OK(open_ring(self));
	ASSERT_EQ(8, put(self, 8, 16));
	OK(munmap(self->rings, ABI_RINGS_BYTES));
	OK(send_n(self, &self->c[0], 24));
	OK(post(self, 8, 24, NULL));
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	self->r = (void *)&self->rings[self->srq.ring];
	EXPECT_EQ(8, self->r->head);
	OK(take(self, &self->c[0], 24));
	OK(send_n(self, &self->c[0], 8));
	OK(take(self, &self->c[0], 8));
}

#define POSTERS		3
#define POSTS		400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int posted;

static void *post_thread(void *arg)
{
	struct rdma_ep_ring_recv none = {};
	struct _test_data_recv *t = arg;
	struct abi_wrs w;
	bool done;

	for (int i = 0; i < POSTS; i++) {
		pthread_mutex_lock(&lock);
		done = !__atomic_load_n(&t->r->kick, __ATOMIC_ACQUIRE) &&
		       (__s32)(t->r->limit - t->r->tail) > 0;
		if (done)
			put_one(t, &none);
		pthread_mutex_unlock(&lock);
		abi_wrs_recv(&w, 0);
		if (done && t->r->kick && kick(t))
			break;
		while (!done && ABI_POST(&t->s, SRQ_RECV, t->srq.srq, &w, NULL) == -ENOMEM)
			usleep(1000);
		__atomic_add_fetch(&posted, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Threads post in the ring and by calls, while messages arrive; each finds its receive. */
TEST_F(recv, threads)
{
	pthread_t thread[POSTERS];
	struct rdma_ep_wc wc;
	int got = 0;

	for (int i = 0; i < POSTERS; i++)
		OK(pthread_create(&thread[i], NULL, post_thread, self));
	for (int sent = 0; sent < POSTERS * POSTS; sent++) {
		ASSERT_TRUE(ABI_UNTIL(__atomic_load_n(&posted, __ATOMIC_SEQ_CST) > sent));
		OK(abi_post_empty_send(&self->s, self->c[0].from.qp, SEND_SIGNALED, sent));
		ASSERT_EQ(1, abi_wait(&self->s, self->c[0].send_cq, &wc, 1));
		ASSERT_EQ(0, wc.status);
		while (abi_ring_poll(&self->s, self->c[0].cq,
				     &self->rings[self->c[0].ring], &wc, 1) == 1) {
			ASSERT_EQ(0, wc.status);
			got++;
		}
	}
	for (int i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_TRUE(ABI_UNTIL((got += abi_ring_poll(&self->s, self->c[0].cq,
						    &self->rings[self->c[0].ring], &wc, 1)) ==
			      POSTERS * POSTS));
	EXPECT_TRUE(abi_quiet(self->s.async_fd));
}

/* A child with the descriptor maps the ring and posts, without the library's lock. */
TEST_F(recv, forked)
{
	int status;
	pid_t pid;

	OK(open_ring(self));
	ASSERT_EQ(4, put(self, 4, 16));
	pid = fork();
	if (!pid) {
		struct rdma_ep_cq_ring *rings = abi_rings(&self->s);

		if (!rings)
			_exit(1);
		self->rings = rings;
		self->r = (void *)&rings[self->srq.ring];
		_exit(self->r->tail != 4 || put(self, 4, 20) != 4);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(8, self->r->tail);
	OK(send_n(self, &self->c[0], 24));
	OK(take(self, &self->c[0], 24));
}

/* Without the lock, two threads would write wrong receives. */
static void *post_until_gone(void *arg)
{
	struct _test_data_recv *t = arg;
	long ret = 0;

	while (!ret || ret == -ENOMEM) {
		pthread_mutex_lock(&lock);
		put(t, 4, 0);
		pthread_mutex_unlock(&lock);
		ret = kick(t);
	}
	return (void *)ret;
}

TEST_F(recv, destroyed_while_posting)
{
	pthread_t thread;
	void *ret;

	for (int i = 0; i < 20; i++) {
		OK(open_ring(self));
		OK(pthread_create(&thread, NULL, post_until_gone, self));
		usleep(1000 * (i % 5));
		OK(del_conn(self));
		OK(ABI_DESTROY(&self->s, SRQ, self->srq.srq));
		pthread_join(thread, &ret);
		ASSERT_EQ(-ENOENT, (long)ret);
		EXPECT_NE(0, self->r->kick);
		OK(create_srq(&self->s, 63, RDMA_EP_RECV_RING, &self->srq));
		OK(add_conn(self, self->srq.srq, NULL));
		self->r = (void *)&self->rings[self->srq.ring];
		EXPECT_EQ(0, self->r->tail);
	}
}

TEST_F(recv, wrong_calls)
{
	struct rdma_ep_cmd_create_srq c;
	struct rdma_ep_cmd_post p = { .handle = self->srq.srq, .wrs_len = 16 };

	EXPECT_EQ(-EINVAL, ABI(self->s.fd, POST_SRQ_RECV, &p));
	p = (struct rdma_ep_cmd_post) { .handle = self->c[0].from.qp };
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, POST_RECV, &p));
	EXPECT_EQ(-ENOENT, ABI(self->s.fd, POST_SRQ_RECV, &p));
	EXPECT_EQ(-EINVAL, create_srq(&self->s, 8, 2, &c));
	OK(create_srq(&self->s, 8, 0, &c));
	EXPECT_EQ(RDMA_EP_NO_RING, c.ring);
	p = (struct rdma_ep_cmd_post) { .handle = c.srq };
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, POST_SRQ_RECV, &p));
	c = (struct rdma_ep_cmd_create_srq) { .pd = self->s.pd, .max_wr = 8, .reserved = 1 };
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, CREATE_SRQ, &c));
}

/* The device is removed, while threads post and messages come. */
TEST_F(recv, device_removed)
{
	struct _test_data_recv *t = self;
	pthread_t thread[2];
	void *ret;

	munmap(self->rings, ABI_RINGS_BYTES);
	abi_close(&self->s);
	self->rings = NULL;
	self->nr = 0;
	unsetenv("RDMA_EP_TEST_ADDR");
	setenv("RDMA_DEV", DEVICE, 1);
	if (abi_add_netdev(NETDEV, "10.91.18.1/24") ||
	    abi_system("rdma link add " DEVICE " type %s netdev " NETDEV,
		       getenv("DEVICE") ?: "rxe"))
		SKIP(return, "cannot make a device with ip(8) and rdma(8)");
	OK(abi_open_wait(&self->s));
	OK(open_all(self));
	OK(open_ring(self));
	for (int i = 0; i < 2; i++)
		OK(pthread_create(&thread[i], NULL, post_until_gone, t));
	for (int i = 0; i < 20; i++)
		abi_post_empty_send(&self->s, self->c[0].from.qp, SEND_SIGNALED, i);
	OK(system("rdma link delete " DEVICE));
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], &ret);
		EXPECT_EQ(-EIO, (long)ret);
	}
	EXPECT_EQ(-EIO, kick(self));
	EXPECT_NE(0, self->r->kick);
	self->r->tail = 12345;
	EXPECT_EQ(-EIO, kick(self));
	abi_del_netdev(NETDEV);
}

TEST_HARNESS_MAIN
