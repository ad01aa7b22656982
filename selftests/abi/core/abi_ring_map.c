// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of the memory of rings. */
#include "abi_ring.h"

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
