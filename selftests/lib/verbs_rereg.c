// SPDX-License-Identifier: GPL-2.0-only
/* Changing memory regions: ibv_rereg_mr(3) */
#include "lib_test.h"

#define LOCAL	IBV_ACCESS_LOCAL_WRITE
#define WRITE	(LOCAL | IBV_ACCESS_REMOTE_WRITE)

FIXTURE(rereg) {
	struct pair p;
	struct ibv_pd *pd;	/* not that of mr */
	struct ibv_mr *mr;	/* of the passive side, on mem[0], for remote writes */
	char mem[2][4096];
};

FIXTURE_SETUP(rereg)
{
	memset(self->mem, 0, sizeof(self->mem));
	ASSERT_EQ(0, pair_up(&self->p));
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->p.p->verbs));
	self->mr = ASSERT_PTR(ibv_reg_mr(self->p.p->pd, self->mem[0], 4096, WRITE));
}

FIXTURE_TEARDOWN(rereg)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/*
 * No driver of a software device changes the memory or the PD of a region. rxe changes the
 * access from Linux 6.5 on, but the stock library does not use that.
 */
static bool changes_access(FIXTURE_DATA(rereg) *self)
{
	struct utsname u;

	return !is_stock() && !lib_iwarp(self->p.p->verbs) && !uname(&u) &&
	       strncmp(u.release, "6.1.", 4);
}

/* Status of a remote write to an address of the region, or -1 */
static int write_at(FIXTURE_DATA(rereg) *self, const void *at, uint32_t rkey)
{
	struct ibv_wc wc;

	if (rdma_post_write(self->p.a, NULL, "hi", 3, NULL, IBV_SEND_INLINE, (uintptr_t)at, rkey) ||
	    lib_wait_wc(self->p.a->send_cq, &wc, 1))
		return -1;
	return wc.status;
}

/*
 * A remote write that must not be executed. The writer gets an error. Over iWARP it gets none,
 * and the peer ends the connection.
 */
static bool refused(FIXTURE_DATA(rereg) *self, char *at, uint32_t rkey)
{
	bool iwarp = lib_iwarp(self->p.a->verbs);

	at[0] = 0;
	if (write_at(self, at, rkey) != (iwarp ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR))
		return false;
	if (iwarp && lib_event(self->p.pc, RDMA_CM_EVENT_DISCONNECTED))
		return false;
	return !at[0];
}

TEST_F(rereg, bad_input)
{
	struct ibv_mr was = *self->mr;

	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(self->mr, 1 << 5, NULL, NULL, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 100, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       self->mem[1], 0, 0));
	EXPECT_EQ(EINVAL, errno);
	/* The access is given, but is not to be changed. */
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, LOCAL));
	EXPECT_EQ(EINVAL, errno);
	if (!is_stock()) {
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(self->mr, 0, NULL, NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
			  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
			  ibv_rereg_mr(NULL, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, 0));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
}

/* A peer continues to use the keys that it has received. */
TEST_F(rereg, access_changed_keeps_keys)
{
	struct ibv_mr was = *self->mr;

	if (!changes_access(self))
		SKIP(return, "rxe of Linux 6.1, siw and the stock library do not");
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				  NULL, 0, WRITE | IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
	EXPECT_TRUE(lib_arrived(self->mem[0], "hi", 3));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL));
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_TRUE(refused(self, self->mem[0], was.rkey));
}

TEST_F(rereg, access_refused_keeps_the_region)
{
	struct ibv_mr was = *self->mr;

	errno = 0;
	/* Remote write access needs local write access. */
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
			       0, IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(changes_access(self) ? EINVAL : EOPNOTSUPP, errno);
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
	EXPECT_TRUE(lib_arrived(self->mem[0], "hi", 3));
}

TEST_F(rereg, read_only_memory_is_not_made_writable)
{
	struct ibv_mr *mr;
	char *mem;

	if (!changes_access(self))
		SKIP(return, "rxe of Linux 6.1, siw and the stock library do not");
	mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(mem != MAP_FAILED);
	mr = ASSERT_PTR(ibv_reg_mr(self->p.p->pd, mem, 4096, IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
						     WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_at(self, mem, mr->rkey));
	EXPECT_EQ(0, mem[0]);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* The error is that of the stock libraries, and the region keeps its keys. */
TEST_F(rereg, memory_and_pd_are_not_supported)
{
	const int t = IBV_REREG_MR_CHANGE_TRANSLATION;
	const int p = IBV_REREG_MR_CHANGE_PD, a = IBV_REREG_MR_CHANGE_ACCESS;
	const int flags[] = { t, p, t | p, t | a, p | a, t | p | a };
	struct ibv_mr was = *self->mr;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		errno = 0;
		EXPECT_EQ(IBV_REREG_MR_ERR_CMD, ibv_rereg_mr(self->mr, flags[i],
							     flags[i] & p ? self->pd : NULL,
							     flags[i] & t ? self->mem[1] : NULL,
							     flags[i] & t ? 4096 : 0,
							     flags[i] & a ? WRITE : 0));
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
	EXPECT_EQ(0, memcmp(&was, self->mr, sizeof(was)));
	EXPECT_EQ(IBV_WC_SUCCESS, write_at(self, self->mem[0], was.rkey));
	EXPECT_TRUE(lib_arrived(self->mem[0], "hi", 3));
}

TEST_HARNESS_MAIN
