// SPDX-License-Identifier: GPL-2.0-only
/* Rings: completions in shared memory, and CQs that are reused. See abi_ring_map.c for mappings. */
#include <sched.h>
#include "abi_cmds.h"
#include "abi_ring.h"

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

TEST_HARNESS_MAIN
