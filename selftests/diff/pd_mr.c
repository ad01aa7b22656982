// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains and memory regions. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "diff.h"

static char buf[8192] __attribute__((aligned(4096)));

void diff_topic_pd(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd, *stale;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_ah_attr attr = diff_path(context);

	N(ibv_alloc_pd(NULL), "NULL");
	pd = N(ibv_alloc_pd(context), "plain");
	diff_value("pd", "context %d", pd->context == context);
	mr = diff_mr(pd, buf, 64, 0);
	P(ibv_dealloc_pd(pd), "with an MR");
	ibv_dereg_mr(mr);
	NEED(ah = ibv_create_ah(pd, &attr));
	P(ibv_dealloc_pd(pd), "with an AH");
	ibv_destroy_ah(ah);
	stale = diff_copy(pd);
	P(ibv_dealloc_pd(NULL), "NULL");
	P(ibv_dealloc_pd(pd), "plain");
	N(ibv_reg_mr(stale, buf, 64, 0), "stale PD");
	N(ibv_create_ah(stale, &attr), "stale PD");
	P(ibv_dealloc_pd(stale), "stale PD");
	N(ibv_import_pd(NULL, 0), "context NULL");
	N(ibv_import_pd(context, 0), "handle 0");
	N(ibv_import_pd(context, 0x7fffffff), "unknown handle");
	V(ibv_unimport_pd(NULL), "NULL");
	pd = diff_pd(context);
	V(ibv_unimport_pd(pd), "not imported");
}

static const struct {
	const char *what;
	int access;
} accesses[] = {
	{ "0", 0 }, { "LW", IBV_ACCESS_LOCAL_WRITE },
	{ "RW", IBV_ACCESS_REMOTE_WRITE }, { "RR", IBV_ACCESS_REMOTE_READ },
	{ "RA", IBV_ACCESS_REMOTE_ATOMIC }, { "MW", IBV_ACCESS_MW_BIND },
	{ "LW RW", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE },
	{ "LW RA", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC },
	{ "LW MW", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND },
	{ "ZERO_BASED", IBV_ACCESS_ZERO_BASED },
	{ "LW ZERO_BASED", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED },
	{ "ON_DEMAND", IBV_ACCESS_ON_DEMAND },
	{ "HUGETLB", IBV_ACCESS_HUGETLB },
	{ "LW RELAXED_ORDERING", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING },
	{ "bit 8", 1 << 8 }, { "bit 9", 1 << 9 }, { "bit 10", 1 << 10 },
	{ "bit 19", 1 << 19 },
	{ "all optional", IBV_ACCESS_OPTIONAL_RANGE },
	{ "LW, an optional one", IBV_ACCESS_LOCAL_WRITE | 1 << 25 },
	{ "bit 30", 1 << 30 }, { "all", -1 },
};

static void drop(struct ibv_mr *mr)
{
	if (mr)
		ibv_dereg_mr(mr);
}

static void tell(struct ibv_mr *mr, struct ibv_pd *pd)
{
	if (mr)
		diff_value("mr", "addr %d length %zu keys %d pd %d", mr->addr == buf,
			   mr->length, mr->lkey && mr->rkey, mr->pd == pd);
	drop(mr);
}

static void addresses(struct ibv_pd *pd)
{
	char *hole, *readonly;
	struct rlimit none = {};

	tell(N(ibv_reg_mr(pd, buf, 1, 0), "length 1"), pd);
	tell(N(ibv_reg_mr(pd, buf, 0, 0), "length 0"), pd);
	tell(N(ibv_reg_mr(pd, buf + 1, 4095, 0), "odd"), pd);
	tell(N(ibv_reg_mr(pd, NULL, 64, 0), "address NULL"), pd);
	tell(N(ibv_reg_mr(pd, NULL, 0, 0), "address NULL, length 0"), pd);
	tell(N(ibv_reg_mr(pd, (void *)-4096L, 4096, 0), "last page"), pd);
	tell(N(ibv_reg_mr(pd, (void *)-4096L, 8192, 0), "wraps"), pd);
	tell(N(ibv_reg_mr(pd, buf, (size_t)1 << 62, 0), "2^62"), pd);
	tell(N(ibv_reg_mr(pd, buf, SIZE_MAX, 0), "length -1"), pd);
	NEED((hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	munmap(hole + 4096, 4096);
	tell(N(ibv_reg_mr(pd, hole, 3 * 4096, 0), "with a hole"), pd);
	tell(N(ibv_reg_mr(pd, hole + 4096, 64, 0), "unmapped"), pd);
	NEED((readonly = mmap(NULL, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	drop(N(ibv_reg_mr(pd, readonly, 4096, 0), "read-only memory"));
	drop(N(ibv_reg_mr(pd, readonly, 4096, IBV_ACCESS_LOCAL_WRITE), "read-only memory, LW"));
	NEED((readonly = mmap(NULL, 4096, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	N(ibv_reg_mr(pd, readonly, 4096, 0), "PROT_NONE");
	/* The limit does not apply to a task with CAP_IPC_LOCK. */
	setrlimit(RLIMIT_MEMLOCK, &none);
	drop(N(ibv_reg_mr(pd, buf, 64, 0), "RLIMIT_MEMLOCK 0, as root"));
}

static void rereg(struct ibv_context *context, struct ibv_pd *pd)
{
	static const int flags[] = { 0, IBV_REREG_MR_CHANGE_TRANSLATION,
				     IBV_REREG_MR_CHANGE_PD,
				     IBV_REREG_MR_CHANGE_ACCESS, 7, 8, -1 };
	struct ibv_mr *mr = diff_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_context *other = diff_open();
	struct ibv_pd *pd2 = diff_pd(context), *foreign = diff_pd(other);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		X(ibv_rereg_mr(mr, flags[i], pd, buf, 4096,
			       IBV_ACCESS_LOCAL_WRITE), "flags %d", flags[i]);
	X(ibv_rereg_mr(NULL, IBV_REREG_MR_CHANGE_PD, pd, buf, 4096, 0), "mr NULL");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, buf, 4096, 0), "PD NULL");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd2, buf, 4096, 0), "other PD");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, foreign, buf, 4096, 0), "PD of another context");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, pd, NULL, 4096, 0), "address NULL");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, pd, buf, 0, 0), "length 0");
	X(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, pd, buf, 4096,
		       IBV_ACCESS_REMOTE_WRITE), "RW without LW");
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd2);
	ibv_dealloc_pd(foreign);
	ibv_close_device(other);
}

void diff_topic_mr(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_mr *mr, *stale;
	size_t i;

	N(ibv_reg_mr(NULL, buf, 64, 0), "PD NULL");
	N(ibv_reg_mr_iova(NULL, buf, 64, 0, 0), "PD NULL");
	N(ibv_reg_mr_iova2(NULL, buf, 64, 0, 0), "PD NULL");
	N(ibv_reg_dmabuf_mr(NULL, 0, 64, 0, -1, 0), "PD NULL");
	for (i = 0; i < ARRAY_SIZE(accesses); i++) {
		tell(N(ibv_reg_mr(pd, buf, 64, accesses[i].access),
		       "access %s", accesses[i].what), pd);
		drop(N(ibv_reg_mr_iova2(pd, buf, 64, (uintptr_t)buf,
					accesses[i].access), "access %s", accesses[i].what));
	}
	drop(N((ibv_reg_mr)(pd, buf, 64, IBV_ACCESS_LOCAL_WRITE), "the function itself"));
	mr = N(ibv_reg_mr_iova(pd, buf, 64, 0x123000, 0), "iova");
	tell(mr, pd);
	drop(N(ibv_reg_mr_iova(pd, buf + 1, 64, 0x123000, 0), "iova, other offset in the page"));
	drop(N(ibv_reg_mr_iova(pd, buf, 64, -32ULL, 0), "iova wraps"));
	addresses(pd);

	N(ibv_reg_dmabuf_mr(pd, 0, 64, 0, -1, 0), "fd -1");
	N(ibv_reg_dmabuf_mr(pd, 0, 64, 0, open("/dev/null", O_RDWR), 0), "fd of /dev/null");
	N(ibv_import_mr(pd, 0), "handle 0");
	N(ibv_import_mr(NULL, 0), "PD NULL");
	V(ibv_unimport_mr(NULL), "NULL");
	N(ibv_alloc_null_mr(pd), "plain");
	N(ibv_alloc_null_mr(NULL), "NULL");
	rereg(context, pd);

	P(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), "no SGE");
	P(ibv_advise_mr(pd, 99, 0, NULL, 0), "unknown advice");
	P(ibv_advise_mr(NULL, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), "PD NULL");

	mr = diff_mr(pd, buf, 64, 0);
	stale = diff_copy(mr);
	P(ibv_dereg_mr(NULL), "NULL");
	P(ibv_dereg_mr(mr), "plain");
	X(ibv_rereg_mr(stale, IBV_REREG_MR_CHANGE_ACCESS, pd, buf, 64, 0), "stale MR");
	P(ibv_dereg_mr(stale), "stale MR");
}
