// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changing memory regions: ibv_rereg_mr(3).
 */
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "lib_util.h"

#define LOCAL	IBV_ACCESS_LOCAL_WRITE
#define WRITE	(LOCAL | IBV_ACCESS_REMOTE_WRITE)

FIXTURE(rereg) {
	struct pair p;
	struct ibv_pd *pd;	/* another one */
	struct ibv_mr *mr;	/* of the passive side, on mem[0], to be written */
	char mem[2][4096];
};

FIXTURE_SETUP(rereg)
{
	memset(self->mem, 0, sizeof(self->mem));
	ASSERT_EQ(0, pair_up(&self->p));
	self->pd = ibv_alloc_pd(self->p.p->verbs);
	ASSERT_TRUE(self->pd != NULL);
	self->mr = ibv_reg_mr(self->p.p->pd, self->mem[0], 4096, WRITE);
	ASSERT_TRUE(self->mr != NULL);
}

FIXTURE_TEARDOWN(rereg)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* Stock on rxe: no driver for Linux 6.1's software devices can do it. */
static bool unsupported(FIXTURE_DATA(rereg) *self)
{
	return is_stock() &&
	       ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    WRITE) && errno == EOPNOTSUPP;
}

/* What became of a remote write to an address of the region? */
static int write_at(FIXTURE_DATA(rereg) *self, const void *at, uint32_t rkey)
{
	struct ibv_wc wc;

	if (rdma_post_write(self->p.a, NULL, "hi", 3, NULL, IBV_SEND_INLINE,
			    (uintptr_t)at, rkey) ||
	    lib_wait_wc(self->p.a->send_cq, &wc, 1))
		return -1;
	return wc.status;
}

/*
 * A remote write that must not be done. The writer is told; not over iWARP, there
 * the peer ends the connection.
 */
static bool refused(FIXTURE_DATA(rereg) *self, char *at, uint32_t rkey)
{
	bool iwarp = lib_iwarp(self->p.a->verbs);

	at[0] = 0;
	if (write_at(self, at, rkey) !=
	    (iwarp ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR))
		return false;
	if (iwarp && lib_event(self->p.pc, RDMA_CM_EVENT_DISCONNECTED))
		return false;
	return !at[0];
}

TEST_F(rereg, bad_input)
{
	struct ibv_mr was = *self->mr;

	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, 1 << 5, NULL, NULL, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       NULL, 100, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       self->mem[1], 0, 0));
	EXPECT_EQ(EINVAL, errno);
	/* Not to be changed, and yet given */
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL,
			       0, LOCAL));
	EXPECT_EQ(EINVAL, errno);
	if (!is_stock()) {
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
			  ibv_rereg_mr(self->mr, 0, NULL, NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
			  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, NULL,
				       NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
			  ibv_rereg_mr(NULL, IBV_REREG_MR_CHANGE_PD, self->pd,
				       NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
}

/* It failed further down: the caller can count on nothing but ibv_dereg_mr(3). */
TEST_F(rereg, failure_keeps_the_region)
{
	struct ibv_mr was = *self->mr;
	char *hole;

	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(hole != MAP_FAILED);
	ASSERT_EQ(0, munmap(hole, 8192));
	errno = 0;
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			       IBV_REREG_MR_CHANGE_PD, self->pd, hole, 8192, 0));
	EXPECT_TRUE(errno == EFAULT || errno == ENOMEM);
	/* Remote access needs local access */
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
			       0, IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(EINVAL, errno);
	if (is_stock())
		return;
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
	EXPECT_EQ(0, strcmp("hi", self->mem[0]));
}

TEST_F(rereg, translation)
{
	uint32_t rkey = self->mr->rkey;
	struct ibv_pd *pd = self->mr->pd;

	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION,
				  NULL, self->mem[1] + 96, 4000, 0));
	EXPECT_EQ((void *)(self->mem[1] + 96), self->mr->addr);
	EXPECT_EQ(4000, self->mr->length);
	EXPECT_EQ(pd, self->mr->pd);
	EXPECT_EQ(self->p.p->verbs, self->mr->context);
	EXPECT_EQ(IBV_WC_SUCCESS,
		  write_at(self, self->mem[1] + 96, self->mr->rkey));
	EXPECT_EQ(0, strcmp("hi", self->mem[1] + 96));
	EXPECT_EQ(0, self->mem[0][0]);
	/* Where it was it is no more */
	EXPECT_TRUE(refused(self, self->mem[0], rkey));
}

TEST_F(rereg, access)
{
	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				  NULL, 0, WRITE | IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ((void *)self->mem[0], self->mr->addr);
	EXPECT_EQ(4096, self->mr->length);
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], self->mr->rkey));
	EXPECT_EQ(0, strcmp("hi", self->mem[0]));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				  NULL, 0, LOCAL));
	EXPECT_TRUE(refused(self, self->mem[0], self->mr->rkey));
}

/* What is not changed stays: another address for the peer, and its rights. */
TEST_F(rereg, iova_stays)
{
	/* The place within the page is the same */
	uintptr_t iova = 0x70000 + ((uintptr_t)self->mem[1] & 4095);
	struct ibv_mr *mr;

	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	if (lib_iwarp(self->p.a->verbs))
		SKIP(return, "siw's regions have the memory's addresses");
	mr = ibv_reg_mr_iova(self->pd, self->mem[1], 4096, iova, WRITE);
	ASSERT_TRUE(mr != NULL);
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, self->p.p->pd,
				  NULL, 0, 0));
	EXPECT_EQ(self->p.p->pd, mr->pd);
	EXPECT_EQ((void *)self->mem[1], mr->addr);
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, (void *)(iova + 0x10), mr->rkey));
	EXPECT_EQ(0, strcmp("hi", self->mem[1] + 0x10));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(rereg, pd)
{
	struct ibv_pd *third;

	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	third = ibv_alloc_pd(self->p.p->verbs);
	ASSERT_TRUE(third != NULL);
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, third, NULL,
				  0, 0));
	EXPECT_EQ(third, self->mr->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(third));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd,
				  NULL, 0, 0));
	EXPECT_EQ(0, ibv_dealloc_pd(third));
	/* The QP is in another */
	EXPECT_TRUE(refused(self, self->mem[0], self->mr->rkey));
}

TEST_F(rereg, all_combinations)
{
	const int t = IBV_REREG_MR_CHANGE_TRANSLATION;
	const int p = IBV_REREG_MR_CHANGE_PD, a = IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_pd *pd[2] = { self->p.p->pd, self->pd };
	int flags, where = 0, home = 0;

	if (unsupported(self))
		SKIP(return, "the device cannot do it");
	for (flags = 1; flags <= (t | p | a); flags++) {
		where ^= !!(flags & t);
		home ^= !!(flags & p);
		ASSERT_EQ(0, ibv_rereg_mr(self->mr, flags,
					  flags & p ? pd[home] : NULL,
					  flags & t ? self->mem[where] : NULL,
					  flags & t ? 4096 : 0,
					  flags & a ? WRITE : 0));
		EXPECT_EQ(pd[home], self->mr->pd);
		EXPECT_EQ((void *)self->mem[where], self->mr->addr);
		EXPECT_EQ(4096, self->mr->length);
		if (home)
			continue;
		memset(self->mem, 0, sizeof(self->mem));
		EXPECT_EQ(IBV_WC_SUCCESS,
			  write_at(self, self->mem[where], self->mr->rkey));
		EXPECT_EQ(0, strcmp("hi", self->mem[where]));
	}
}

TEST_HARNESS_MAIN
