// SPDX-License-Identifier: GPL-2.0-only
/* Rings: completions in shared memory, mappings of that memory, and CQs that are reused. */
#include <sched.h>
#include "abi_cmds.h"
#include "abi_test.h"

#define PAGE		4096
#define RING_BYTES	sizeof(struct rdma_ep_cq_ring)
#define ALL_BYTES	(RDMA_EP_MAX_RINGS * RING_BYTES)
#define ENTRIES		RDMA_EP_RING_ENTRIES

FIXTURE(ring) {
	struct abi_objects none;
	struct abi s;
	struct abi_pair p;
	struct abi_wrs w;
	struct rdma_ep_cq_ring *rings;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE_SETUP(ring)
{
	OK(abi_idle());
	OK(abi_objects(&self->none));
	OK(abi_open(&self->s));
	self->rings = ASSERT_PTR(abi_rings(&self->s));
	self->p.rings = true;
	self->p.max_wr = 100;
	self->p.comp = FD(abi_comp_channel(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = abi_map(PAGE);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, PAGE, AC_ALL, &self->mr));
}

FIXTURE_TEARDOWN(ring)
{
	munmap(self->rings, ALL_BYTES);
	close(self->p.comp);
	abi_close(&self->s);
}

/* Reserves addresses, without memory. */
static void *reserve(size_t len)
{
	void *p = abi_map(len);

	mprotect(p, len, PROT_NONE);
	return p;
}

static volatile struct rdma_ep_cq_ring *ring_of(struct _test_data_ring *t, int end, int cq)
{
	return &t->rings[t->p.end[end].ring[cq]];
}

static int fill(const struct _test_data_ring *t, int end, int cq)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = t->p.end[end].cq[cq] };

	return ABI(t->s.fd, POLL_CQ, &p);
}

static int notify(const struct _test_data_ring *t, int end, int cq, __u32 flags)
{
	return abi_notify_cq(&t->s, t->p.end[end].cq[cq], flags);
}

/* Posts @n signalled WRITEs. (A READ would meet a bug of siw.) */
static int post_by(struct _test_data_ring *t, int end, int n, __u64 wr_id)
{
	struct rdma_ep_send_wr *wr;
	int ret;

	while (n--) {
		wr = abi_wrs_send(&t->w, WR_RDMA_WRITE, SEND_SIGNALED, wr_id++);
		abi_remote(wr, &t->mr, 0);
		abi_mr_sge(&t->w, &t->mr, 0, 8);
		ret = ABI_POST(&t->s, SEND, t->p.end[end].qp.qp, &t->w, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

/* ... by the client */
static int post(struct _test_data_ring *t, int n, __u64 wr_id)
{
	return post_by(t, 0, n, wr_id);
}

/* Reads a completion event of the client's send CQ. */
static int event(struct _test_data_ring *t)
{
	struct rdma_ep_comp_event ev;

	return abi_read(t->p.comp, &ev, sizeof(ev), ABI_WAIT_MS) ?: ev.uid ? -EPROTO : 0;
}

/* Waits for @n completions, in sequence from @wr_id on, and takes them. */
static int take(struct _test_data_ring *t, int n, __u64 wr_id)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);
	long end = abi_now_ms() + ABI_WAIT_MS;
	__u32 tail = r->tail;

	while (n && abi_now_ms() < end) {
		volatile struct rdma_ep_wc *wc = &r->wc[tail % ENTRIES];

		if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == tail) {
			if (fill(t, 0, 0))
				return -EIO;
			continue;
		}
		if (wc->wr_id != wr_id || wc->status || wc->qp_num != t->p.end[0].qp.qp_num) {
			fprintf(stderr, "# wr_id %llu, status %u\n",
				(unsigned long long)wc->wr_id, wc->status);
			return -EPROTO;
		}
		wr_id++;
		n--;
		__atomic_store_n(&r->tail, ++tail, __ATOMIC_RELEASE);
	}
	return n ? -ETIMEDOUT : 0;
}

/* Posts one request, and takes its completion. */
static int once(struct _test_data_ring *t, __u64 wr_id)
{
	return post(t, 1, wr_id) ?: take(t, 1, wr_id);
}

/* Polls an empty CQ, which arms it. Returns -EEXIST if it was not empty. */
static int settle(struct _test_data_ring *t)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);

	return fill(t, 0, 0) ?: r->head != r->tail ? -EEXIST : 0;
}

/* Waits, without a command, for an entry in the ring or for @pending. */
static int wait_pending(struct _test_data_ring *t)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);

	return ABI_UNTIL(r->pending || r->head != r->tail) ? 0 : -ETIMEDOUT;
}

/* Destroys the connection with its CQs, and creates the same again. */
static int reopen(struct _test_data_ring *t)
{
	struct abi_end *e;
	int ret = 0;

	for (e = t->p.end; e < t->p.end + 2; e++) {
		ret = ret ?:
		      ABI_DESTROY(&t->s, QP, e->qp.qp) ?:
		      ABI_DESTROY(&t->s, ID, e->id) ?:
		      ABI_DESTROY(&t->s, CQ, e->cq[0]) ?:
		      ABI_DESTROY(&t->s, CQ, e->cq[1]);
	}
	ret = ret ?: ABI_DESTROY(&t->s, ID, t->p.listener);
	for (e = t->p.end; e < t->p.end + 2; e++)
		close(e->channel);
	return ret ?:
	       /* The destruction of a CQ drops its events. */
	       abi_ready(t->p.comp, 0) ? -EEXIST : abi_pair_open(&t->s, &t->p);
}

TEST_F(ring, completions)
{
	/* Each entry of the ring is used several times. */
	for (int round = 0; round < 4 * ENTRIES; round++) {
		OK(post(self, 3, 100 * round));
		OK(take(self, 3, 100 * round));
	}
}

/* Completions that do not fit into the ring stay in the CQ. */
TEST_F(ring, full_ring_keeps_rest)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);
	long end = abi_now_ms() + ABI_WAIT_MS;

	for (int round = 0; round < 8; round++)
		OK(post(self, 8, 8 * round));
	while (r->head - r->tail < ENTRIES && abi_now_ms() < end)
		OK(fill(self, 0, 0));
	EXPECT_EQ(ENTRIES, r->head - r->tail);
	EXPECT_EQ(0, fill(self, 0, 0));
	EXPECT_EQ(ENTRIES, r->head - r->tail);
	EXPECT_NE(0, r->pending);
	EXPECT_EQ(0, take(self, 64, 0));
	EXPECT_EQ(0, settle(self));
}

/* After a poll has found the CQ empty, @pending reports the next completion. */
TEST_F(ring, pending_flag_tells_of_completions)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);

	EXPECT_NE(0, r->pending);
	for (int round = 0; round < 20; round++) {
		OK(settle(self));
		ASSERT_EQ(0, r->pending);
		OK(post(self, 1, round));
		OK(wait_pending(self));
		/* No event was requested. */
		ASSERT_FALSE(abi_ready(self->p.comp, 0));
		OK(take(self, 1, round));
	}
}

/* Drops all completions of a CQ, which arms it. */
static int drop(struct _test_data_ring *t, int end, int cq)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, end, cq);
	int ret;

	do {
		__atomic_store_n(&r->tail, r->head, __ATOMIC_RELEASE);
		ret = fill(t, end, cq);
	} while (!ret && r->head != r->tail);
	return ret;
}

/*
 * A post fills the rings of other send CQs for which the device has reported something on the same
 * CPU, which may be any.
 */
TEST_F(ring, post_fills_ring_of_other_cq)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);
	cpu_set_t all, one;
	bool filled = false;
	int cpu = 0;

	if (abi_missing(&self->s, ABI_DEFERRED))
		SKIP(return, "%s", abi_missing(&self->s, ABI_DEFERRED));
	OK(sched_getaffinity(0, sizeof(all), &all));
	OK(once(self, 4711));
	for (int round = 0; round < 1000 && !filled; round++) {
		do {
			cpu = (cpu + 1) % CPU_SETSIZE;
		} while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		OK(sched_setaffinity(0, sizeof(one), &one));
		OK(drop(self, 0, 0));
		OK(drop(self, 1, 0));
		OK(post(self, 1, round));
		ASSERT_TRUE(ABI_UNTIL(r->pending || r->head != r->tail));
		/* The post of the client may have filled the ring. */
		if (r->head != r->tail)
			continue;
		OK(post_by(self, 1, 1, round));
		filled = r->head != r->tail;
	}
	EXPECT_TRUE(filled);
}

/* @armed in the ring requests one event. */
TEST_F(ring, armed_ring_gives_one_event)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);

	for (int round = 0; round < 20; round++) {
		OK(settle(self));
		__atomic_store_n(&r->armed, 1, __ATOMIC_SEQ_CST);
		ASSERT_EQ(0, r->pending);
		OK(post(self, 1, round));
		OK(event(self));
		ASSERT_EQ(0, r->armed);
		OK(take(self, 1, round));
		OK(settle(self));
		OK(post(self, 1, round));
		OK(wait_pending(self));
		ASSERT_FALSE(abi_ready(self->p.comp, 0));
		OK(take(self, 1, round));
	}
}

/* NOTIFY_CQ requests one event, also while @pending is set. */
TEST_F(ring, armed_by_command_gives_one_event)
{
	OK(notify(self, 0, 0, 0));
	OK(post(self, 1, 1));
	OK(event(self));
	OK(post(self, 1, 2));
	OK(take(self, 2, 1));
	EXPECT_TRUE(abi_quiet(self->p.comp));

	/* Requested both ways: one event */
	OK(settle(self));
	OK(notify(self, 0, 0, 0));
	ring_of(self, 0, 0)->armed = 1;
	OK(post(self, 1, 3));
	OK(event(self));
	OK(take(self, 1, 3));
	OK(settle(self));
	OK(once(self, 4));
	EXPECT_TRUE(abi_quiet(self->p.comp));

	/* These completions are not solicited. siw's first may be reported at the moment. */
	OK(notify(self, 0, 0, RDMA_EP_NOTIFY_SOLICITED));
	OK(once(self, 5));
	if (abi_ready(self->p.comp, ABI_QUIET_MS)) {
		EXPECT_TRUE(self->s.iwarp);
		OK(event(self));
	}
	OK(notify(self, 0, 0, RDMA_EP_NOTIFY_SOLICITED));
	OK(post(self, 2, 6));
	OK(take(self, 2, 6));
	EXPECT_TRUE(abi_quiet(self->p.comp));
	OK(notify(self, 0, 0, 0));
	OK(post(self, 1, 8));
	OK(event(self));
	OK(take(self, 1, 8));
}

/* POLL_CQ of a CQ with a ring takes no memory. */
TEST_F(ring, poll_into_memory_refused)
{
	struct rdma_ep_wc wc[2];
	__u32 cq;

	EXPECT_EQ(-EINVAL, abi_poll(&self->s, self->p.end[0].cq[0], wc, 2));
	OK(abi_create_cq(&self->s, -1, 4, 0, &cq));
	EXPECT_EQ(0, abi_poll(&self->s, cq, wc, 2));
}

/* Random values in a ring harm neither the kernel nor later CQs. */
TEST_F(ring, garbage_in_ring_harmless)
{
	struct rdma_ep_cq_ring *all = (void *)ring_of(self, 0, 0);

	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int byte = 0; byte < 128; byte++)
			((__u8 *)all)[byte] = abi_random();
		/* (These may fail: no completion is taken, so the queue is full soon.) */
		post(self, 1, i);
		fill(self, 0, 0);
		notify(self, 0, 0, 0);
	}
	/* The CQ cannot be used any more. The next one has the same ring. */
	OK(reopen(self));
	EXPECT_EQ(0, once(self, 4711));
}

/* CQs use the same ring in turn, which has to look like a new one. */
TEST_F(ring, ring_reused_looks_new)
{
	struct rdma_ep_cq_ring *r;
	__u32 cq, index, first = 0;

	for (int i = 0; i < 50; i++) {
		OK(abi_create_ring_cq(&self->s, self->p.comp, 64, 99, &cq, &index));
		ASSERT_GT(RDMA_EP_MAX_RINGS, index);
		if (!i)
			first = index;
		EXPECT_EQ(first, index);
		r = &self->rings[index];
		ASSERT_EQ(0, r->head);
		ASSERT_EQ(0, r->tail);
		ASSERT_EQ(0, r->armed);
		ASSERT_NE(0, r->pending);
		memset(r, 0xff, 128);
		OK(ABI_DESTROY(&self->s, CQ, cq));
	}
	ASSERT_FALSE(abi_ready(self->p.comp, 0));
}

/*
 * A connection that reuses the CQs of an earlier one gets none of its completions and events,
 * also if the CQs were full, armed, or had unread events.
 */
TEST_F(ring, reused_cq_shows_nothing)
{
	for (int round = 0; round < 10; round++) {
		OK(post(self, 20, 1000 * round));
		OK(notify(self, 0, round & 1, 0));
		OK(post(self, 5, 1000 * round + 20));
		if (round & 2)
			OK(take(self, 10, 1000 * round));
		OK(reopen(self));
		OK(settle(self));
		OK(once(self, 77));
		ASSERT_TRUE(abi_quiet(self->p.comp));
		OK(notify(self, 0, 0, 0));
		OK(post(self, 1, 78));
		OK(event(self));
		OK(take(self, 1, 78));
	}
}

/* Idle CQs are destroyed soon, and with their session. */
TEST_F(ring, idle_cq_destroyed_soon)
{
	struct abi_objects before, after;
	__u32 cq[8];
	struct abi other;

	OK(abi_objects(&before));
	for (int i = 0; i < 8; i++)
		OK(abi_create_cq(&self->s, -1, 16, 0, &cq[i]));
	for (int i = 0; i < 8; i++)
		OK(ABI_DESTROY(&self->s, CQ, cq[i]));
	EXPECT_EQ(0, abi_objects_wait(&before));

	OK(abi_open(&other));
	OK(abi_objects(&before));
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq[0]));
	OK(ABI_DESTROY(&self->s, CQ, cq[0]));
	abi_close(&other);
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq[0]));
	OK(ABI_DESTROY(&self->s, CQ, cq[0]));
	/* The close waits for the destruction of idle CQs. */
	munmap(self->rings, ALL_BYTES);
	self->rings = reserve(ALL_BYTES);
	close(self->p.comp);
	abi_close(&self->s);
	OK(abi_objects(&after));
	EXPECT_EQ(self->none.cq, after.cq);
	OK(abi_open(&self->s));
}

static int killed_by(void (*fn)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		fn(arg);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch(void *p)
{
	(void)*(volatile __u8 *)p;
}

/* A child inherits no mappings, so it opens a session of its own. */
static void touch_new_page(void *arg)
{
	struct abi s;
	__u8 *p;

	if (abi_open(&s))
		return;
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, s.fd, 0);
	if (p != MAP_FAILED)
		touch(p);
}

TEST_F(ring, mapping_flags_and_ranges)
{
	int fd = self->s.fd;
	void *p;

#define BAD(_len, _prot, _flags, _offset) ({				\
	void *__p = mmap(NULL, _len, _prot, _flags, fd, _offset);	\
	int __ret = __p == MAP_FAILED ? errno : 0;			\
	if (!__ret)							\
		munmap(__p, _len);					\
	__ret;								\
})
	EXPECT_EQ(EINVAL, BAD(PAGE, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(EINVAL, BAD(PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, BAD(ALL_BYTES + PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, BAD(PAGE, PROT_READ, MAP_SHARED, ALL_BYTES));
	EXPECT_EQ(EINVAL, BAD(ALL_BYTES, PROT_READ, MAP_SHARED, PAGE));
	EXPECT_NE(0, BAD(PAGE, PROT_READ, MAP_SHARED, ~0UL << 12));
	EXPECT_EQ(0, BAD(PAGE, PROT_READ, MAP_SHARED, ALL_BYTES - PAGE));

	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	touch(p);
	EXPECT_EQ(-1, mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(MAP_FAILED, mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(SIGSEGV, killed_by(touch, p));
	EXPECT_EQ(SIGSEGV, killed_by(touch, self->rings));
	EXPECT_EQ(0, munmap(p, PAGE));
	/* A page without any ring has no memory. */
	EXPECT_EQ(SIGBUS, killed_by(touch_new_page, NULL));
}

/* Is there a mapping? (A child could not check this, as it inherits none.) */
static bool mapped(void *p)
{
	return !msync(p, PAGE, MS_ASYNC);
}

/* Opens a session with a file of this mode, and creates its first ring. */
static int open_mode(struct abi *s, int mode)
{
	__u32 cq, ring;

	s->fd = open(RDMA_EP_DEVICE_NODE, mode | O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	return abi_open_default(s) ?: abi_create_ring_cq(s, -1, 16, 0, &cq, &ring) ?:
	       ring ? -EPROTO : 0;
}

/* A file that was opened for reading or writing alone cannot be mapped. */
TEST_F(ring, mapping_needs_read_and_write)
{
	static const int modes[] = { O_RDONLY, O_WRONLY };
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE };
	struct abi s = self->s;
	void *p;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		/* Another session on the same device, with a ring */
		OK(open_mode(&s, modes[i]));
		for (size_t j = 0; j < ARRAY_SIZE(prots); j++) {
			p = mmap(NULL, PAGE, prots[j], MAP_SHARED, s.fd, 0);
			LOGGED(EXPECT_EQ(MAP_FAILED, p),
			       "mode %d, protection %d", modes[i], prots[j]);
			EXPECT_TRUE(errno == EACCES || errno == EINVAL);
		}
		abi_close(&s);
	}
	/* The same succeeds with O_RDWR. */
	OK(open_mode(&s, O_RDWR));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_NE(0, ((volatile struct rdma_ep_cq_ring *)p)->pending);
	munmap(p, PAGE);
	abi_close(&s);
}

/* mremap(2) moves mappings, but neither extends nor duplicates them. */
TEST_F(ring, mremap_moves_but_does_not_grow)
{
	__u8 *old = (__u8 *)self->rings, *p, *to;

	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->s.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	to = reserve(2 * PAGE);
	/* An old size of 0 would duplicate the mapping. */
	EXPECT_EQ(MAP_FAILED, mremap(p, 0, PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(MAP_FAILED, mremap(old, 0, ALL_BYTES, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	EXPECT_EQ(MAP_FAILED, mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	ASSERT_TRUE(mapped(p));
	munmap(to, 2 * PAGE);

	/* Move the whole mapping, while completions come. */
	to = reserve(ALL_BYTES);
	for (int i = 0; i < 20; i++) {
		OK(post(self, 1, i));
		ASSERT_EQ(to, mremap(self->rings, ALL_BYTES, ALL_BYTES,
				     MREMAP_MAYMOVE | MREMAP_FIXED, to));
		EXPECT_FALSE(mapped(self->rings));
		p = (__u8 *)self->rings;
		self->rings = (void *)to;
		OK(take(self, 1, i));
		to = p;
	}
}

/* The remaining part of a mapping keeps its contents, and keeps the session. */
TEST_F(ring, partly_unmapped_ring_stays)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);
	__u8 *all = (__u8 *)self->rings;
	__u8 *page = all + ((__u8 *)r - all) / PAGE * PAGE;
	/* In the next page */
	volatile struct rdma_ep_cq_ring *other = ring_of(self, 1, 0);
	struct abi_objects before, after;
	__u32 others;

	ASSERT_EQ(page + PAGE, (__u8 *)other);
	OK(abi_objects(&before));
	for (int i = 0; i < 20; i++) {
		other->unused[0] = 1000 + i;
		/* The page alone, in the middle of the rest or at its beginning */
		OK(munmap(page, PAGE));
		EXPECT_FALSE(mapped(page));
		/* The rest is unchanged, also after it is faulted in again. */
		EXPECT_TRUE(mapped(page + PAGE));
		OK(madvise(page + PAGE, PAGE, MADV_DONTNEED));
		EXPECT_EQ(1000 + i, other->unused[0]);
		OK(post(self, 1, i));
		OK(fill(self, 0, 0));
		OK(notify(self, 0, 0, 0));
		ASSERT_EQ(page, mmap(page, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED, self->s.fd, page - all));
		OK(take(self, 1, i));
	}
	/* Unmap all but that page, which keeps its offset in the file. */
	others = page - all;
	if (others)
		OK(munmap(all, others));
	OK(munmap(page + PAGE, ALL_BYTES - others - PAGE));
	OK(once(self, 77));
	/* The page keeps the session. */
	abi_close(&self->s);
	OK(abi_objects(&after));
	EXPECT_EQ(before.qp, after.qp);
	EXPECT_EQ(21, r->head);
	OK(munmap(page, PAGE));
	EXPECT_EQ(0, abi_objects_wait(&self->none));
	self->rings = reserve(ALL_BYTES);
	OK(abi_open(&self->s));
}

/* The rings are unmapped while completions come, and mapped again. */
TEST_F(ring, ring_unmapped_and_mapped_again)
{
	for (int i = 0; i < 50; i++) {
		OK(post(self, 1, i));
		OK(munmap(self->rings, ALL_BYTES));
		OK(fill(self, 0, 0));
		self->rings = ASSERT_PTR(abi_rings(&self->s));
		OK(take(self, 1, i));
	}
}

/* A mapping keeps the session after the file has been closed. */
TEST_F(ring, mapping_outlives_file)
{
	struct abi_objects before, after;
	volatile struct rdma_ep_cq_ring *r = ring_of(self, 0, 0);

	OK(once(self, 5));
	OK(abi_objects(&before));
	abi_close(&self->s);
	OK(abi_objects(&after));
	EXPECT_EQ(before.qp, after.qp);
	EXPECT_EQ(1, r->head);
	EXPECT_EQ(5, r->wc[0].wr_id);
	OK(munmap(self->rings, ALL_BYTES));
	self->rings = reserve(ALL_BYTES);
	OK(abi_objects(&after));
	EXPECT_EQ(self->none.qp, after.qp);
	OK(abi_open(&self->s));
}

TEST_HARNESS_MAIN
