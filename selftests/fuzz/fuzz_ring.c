// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the rings, memory that is shared with the kernel: writes arbitrary values there, and maps
 * and unmaps it meanwhile.
 */
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

/* The usual number of rings in use */
#define RINGS		10
#define RING_BYTES	sizeof(struct rdma_ep_cq_ring)

static_assert(RING_BYTES == 4096 || 4096 % RING_BYTES == 0, "rings cross no page");

uint8_t *fuzz_map_rings(int fd)
{
	void *p = mmap(NULL, ABI_RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * The ring may not exist, or another thread may unmap it here: process_vm_writev() fails without
 * a signal.
 */
static void write_word(uint8_t *at, uint32_t value)
{
	struct iovec from = { &value, sizeof(value) }, to = { at, sizeof(value) };

	process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

static uint32_t read_word(uint8_t *at)
{
	uint32_t value = 0;
	struct iovec to = { &value, sizeof(value) }, from = { at, sizeof(value) };

	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	return value;
}

static void write_ring(struct fuzz_session *fs, struct fuzz_random *r)
{
	uint8_t *ring = fs->rings + fuzz_below(r, RINGS) * RING_BYTES;
	uint8_t *head = ring + offsetof(struct rdma_ep_cq_ring, head);
	uint8_t *tail = ring + offsetof(struct rdma_ep_cq_ring, tail);
	uint8_t *armed = ring + offsetof(struct rdma_ep_cq_ring, armed);

	switch (fuzz_below(r, 8)) {
	case 0:
	case 1:
	case 2:			/* takes all entries, so that there is room again */
		write_word(tail, read_word(head));
		break;
	case 3:			/* takes too few or too many */
		write_word(tail, read_word(head) + fuzz_below(r, 100) - 50);
		break;
	case 4:
		write_word(tail, fuzz_next(r));
		break;
	case 5:
		write_word(armed, fuzz_below(r, 2));
		break;
	case 6:
		write_word(armed, fuzz_next(r));
		break;
	default:		/* the kernel's words, entries, and unused words */
		write_word(ring + fuzz_below(r, RING_BYTES / 4) * 4, fuzz_next(r));
	}
}

/*
 * Maps the rings at their usual address. mmap(MAP_FIXED) would unmap the address first, and leave
 * it to another thread's memory if a session with another owner refuses the mapping.
 */
static void map_rings(struct fuzz_session *fs)
{
	uint8_t *p = fuzz_map_rings(fs->s.fd);

	if (p)
		mremap(p, ABI_RINGS_BYTES, ABI_RINGS_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		       fs->rings);
}

/* Maps at another address with random arguments, which are mostly refused. */
static void map_odd(struct fuzz_session *fs, struct fuzz_random *r)
{
	size_t len = (1 + fuzz_below(r, 8)) * 4096;
	off_t offset = (off_t)fuzz_below(r, fuzz_chance(r, 50) ? 4 : 2 * RDMA_EP_MAX_RINGS) * 4096;
	void *p;

	if (fuzz_chance(r, 10))
		offset = fuzz_next(r) & ~4095ULL;
	p = mmap(NULL, len, fuzz_below(r, 8), fuzz_chance(r, 80) ? MAP_SHARED : MAP_PRIVATE,
		 fs->s.fd, offset);
	if (p == MAP_FAILED)
		return;
	write_word(p, fuzz_next(r));
	mprotect(p, len, fuzz_below(r, 8));
	munmap(p, len);
}

void fuzz_ring(struct fuzz_session *fs, struct fuzz_random *r)
{
	switch (fuzz_below(r, 20)) {
	case 0:
		/* Reserve the address, as another thread may write there. */
		mmap(fs->rings, ABI_RINGS_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		break;
	case 1:
	case 2:
		map_rings(fs);
		break;
	case 3:
		map_odd(fs, r);
		break;
	default:
		write_ring(fs, r);
	}
}
