// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains, memory regions, and inline functions of the headers */
/* With this, the headers define __ibv_get_device_list() (see below). */
#define RDMA_STATIC_PROVIDERS none

#include "lib_test.h"

/* Statically linked programs name their providers here. librdma_ep needs no provider. */
struct verbs_device_ops {
	int unused;
};

const struct verbs_device_ops verbs_provider_none;
static int static_providers;

void ibv_static_providers(void *unused, ...)
{
	static_providers++;
}

/* P0: __ibv_get_device_list */
TEST(device_list)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct ibv_device **list;
	bool found = false;
	int num = -1, i;

	list = ASSERT_PTR(__ibv_get_device_list(&num));
	EXPECT_EQ(1, static_providers);
	for (i = 0; list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]),
				 ibv_get_device_name(context->device));
	EXPECT_EQ(num, i);
	EXPECT_TRUE(found);
	ibv_free_device_list(list);
	/* The macro of this name expands to the same call. */
	list = ASSERT_PTR(ibv_get_device_list(NULL));
	EXPECT_EQ(2, static_providers);
	ibv_free_device_list(list);
}

/* P0: verbs_get_ctx */
TEST(extended_context)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct ibv_context old = {};
	struct verbs_context *vctx = ASSERT_PTR(verbs_get_ctx(context));

	EXPECT_EQ(context, &vctx->context);
	EXPECT_LE(sizeof(struct verbs_context) - sizeof(struct ibv_context), vctx->sz);
	EXPECT_TRUE(context->ops.post_send && context->ops.post_recv &&
		    context->ops.post_srq_recv && context->ops.poll_cq &&
		    context->ops.req_notify_cq);
	EXPECT_LE(1, context->num_comp_vectors);
	EXPECT_TRUE(!verbs_get_ctx(&old));
}

/* P0: rdma_seterrno */
TEST(seterrno)
{
	errno = 0;
	EXPECT_EQ(0, rdma_seterrno(0));
	EXPECT_EQ(0, errno);
	EXPECT_FAILS(EIO, rdma_seterrno(EIO));
}

FIXTURE(mr) {
	struct ibv_context *context;
	struct ibv_pd *pd;
	char *buf;
	size_t len;
};

FIXTURE_SETUP(mr)
{
	self->context = ASSERT_PTR(lib_context());
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->len = 16384;
	self->buf = mmap(NULL, self->len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
}

FIXTURE_TEARDOWN(mr)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* P0: ibv_alloc_pd, ibv_dealloc_pd */
TEST_F(mr, pd)
{
	struct ibv_pd *other = ASSERT_PTR(ibv_alloc_pd(self->context));
	struct ibv_mr *mr;

	EXPECT_NE(self->pd, other);
	EXPECT_EQ(self->context, other->context);
	mr = ASSERT_PTR(ibv_reg_mr(other, self->buf, 100, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(other));
	EXPECT_EQ(other, mr->pd);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(other));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS_NULL(EINVAL, ibv_alloc_pd(NULL));
	EXPECT_EQ(EINVAL, ibv_dealloc_pd(NULL));
}

/* Checks that the region is that of the memory, and deregisters it. */
static bool is_mr(struct ibv_mr *mr, FIXTURE_DATA(mr) *self, void *addr, size_t len)
{
	if (mr && mr->context == self->context && mr->pd == self->pd && mr->addr == addr &&
	    mr->length == len && mr->lkey && !ibv_dereg_mr(mr))
		return true;
	lib_say(__FILE__, __LINE__, "%s", mr ? "wrong members" : strerror(errno));
	return false;
}

/* P0: ibv_reg_mr, ibv_dereg_mr, __ibv_reg_mr */
TEST_F(mr, constant_access)
{
	struct ibv_mr *mr, *other;

	/* Neither address nor length is aligned. */
	mr = ASSERT_PTR(ibv_reg_mr(self->pd, self->buf + 3, 4099, IBV_ACCESS_LOCAL_WRITE));
	other = ASSERT_PTR(__ibv_reg_mr(self->pd, self->buf + 3, 4099, IBV_ACCESS_REMOTE_READ, 1));
	EXPECT_NE(mr->lkey, other->lkey);
	EXPECT_NE(0, other->rkey);
	EXPECT_TRUE(is_mr(mr, self, self->buf + 3, 4099));
	EXPECT_TRUE(is_mr(other, self, self->buf + 3, 4099));
}

/* P0: ibv_reg_mr_iova2, __ibv_reg_mr, __ibv_reg_mr_iova */
TEST_F(mr, variable_access)
{
	volatile unsigned int access = IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *mr;

	mr = ibv_reg_mr(self->pd, self->buf, self->len, access);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));
	mr = __ibv_reg_mr(self->pd, self->buf, self->len, access, 0);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));

	/* Optional flags are never refused. */
	access |= IBV_ACCESS_RELAXED_ORDERING;
	mr = ibv_reg_mr(self->pd, self->buf, self->len, access);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));
	access |= IBV_ACCESS_OPTIONAL_RANGE;
	mr = ibv_reg_mr_iova2(self->pd, self->buf, self->len, (uintptr_t)self->buf, access);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));

	/* An iova that is not the memory's address, which siw would not translate */
	if (lib_iwarp(self->context)) {
		if (!is_stock())
			EXPECT_FAILS_NULL(EINVAL, ibv_reg_mr_iova(self->pd, self->buf, self->len,
								  0x10000, access));
		return;
	}
	mr = __ibv_reg_mr_iova(self->pd, self->buf, self->len, 0x10000, access, 0);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));
	mr = ibv_reg_mr_iova(self->pd, self->buf, self->len, 0, IBV_ACCESS_LOCAL_WRITE);
	EXPECT_TRUE(is_mr(mr, self, self->buf, self->len));
}

TEST_F(mr, read_only_memory)
{
	struct ibv_mr *mr;

	self->buf[0] = 1;
	ASSERT_EQ(0, mprotect(self->buf, self->len, PROT_READ));
	mr = ibv_reg_mr(self->pd, self->buf, 100, IBV_ACCESS_REMOTE_READ);
	EXPECT_TRUE(is_mr(mr, self, self->buf, 100));
	mr = ibv_reg_mr(self->pd, self->buf, 100, 0);
	EXPECT_TRUE(is_mr(mr, self, self->buf, 100));
	EXPECT_FAILS_NULL(EFAULT, ibv_reg_mr(self->pd, self->buf, 100, IBV_ACCESS_LOCAL_WRITE));
}

TEST_F(mr, errors)
{
	ASSERT_EQ(0, munmap(self->buf + 8192, 8192));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_mr(self->pd, self->buf, 100, IBV_ACCESS_REMOTE_WRITE));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_mr(self->pd, self->buf, 100, IBV_ACCESS_REMOTE_ATOMIC));
	EXPECT_FAILS_NULL(EFAULT, ibv_reg_mr(self->pd, self->buf, 8193, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_TRUE(!ibv_reg_mr(self->pd, self->buf, 100, 1 << 19));
	/* The range wraps at the end of the address space. */
	EXPECT_TRUE(!ibv_reg_mr(self->pd, (void *)-4096UL, 8192, 0));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_mr(NULL, self->buf, 1, 0));
	EXPECT_EQ(EINVAL, ibv_dereg_mr(NULL));
	/* (New kernels have it on rxe, and old ones return EINVAL.) */
	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_reg_mr(self->pd, self->buf, 100, IBV_ACCESS_ON_DEMAND));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_mr(self->pd, self->buf, 100,
					     IBV_ACCESS_ON_DEMAND | 1 << 19));
}

/*
 * A range without memory fails with EFAULT, whatever its size. (RLIMIT_MEMLOCK is checked before
 * that.)
 */
TEST_F(mr, large_region_without_memory)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	size_t size = (size_t)1 << 36;
	char *hole;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &all));
	hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_TRUE(hole != MAP_FAILED);
	ASSERT_EQ(0, munmap(hole, size));
	/* siw of Linux 6.1 and 6.12 counts pages in an int. */
	if (!is_libsiw(self->context))
		for (; size <= (size_t)1 << 42; size <<= 2)
			EXPECT_FAILS_NULL(EFAULT, ibv_reg_mr(self->pd, hole, size,
							     IBV_ACCESS_LOCAL_WRITE));
	/* The end of the last page wraps to 0, which siw itself does not check. */
	errno = 0;
	EXPECT_TRUE(!ibv_reg_mr(self->pd, (void *)-4096UL, 100, 0));
	if (!is_libsiw(self->context))
		EXPECT_EQ(EINVAL, errno);
}

/* P0: rdma_reg_msgs, rdma_reg_read, rdma_reg_write, rdma_dereg_mr */
TEST_F(mr, registration_for_an_id)
{
	struct rdma_cm_id *id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	struct ibv_mr *msgs, *read, *write;
	struct ibv_pd *default_pd = id->pd;

	msgs = ASSERT_PTR(rdma_reg_msgs(id, self->buf, 100));
	read = ASSERT_PTR(rdma_reg_read(id, self->buf, 100));
	write = ASSERT_PTR(rdma_reg_write(id, self->buf, 100));
	EXPECT_EQ(default_pd, msgs->pd);
	EXPECT_EQ(default_pd, read->pd);
	EXPECT_EQ(default_pd, write->pd);
	EXPECT_EQ(self->buf, msgs->addr);
	EXPECT_EQ(100, msgs->length);
	EXPECT_EQ(0, rdma_dereg_mr(msgs));
	EXPECT_EQ(0, rdma_dereg_mr(read));
	/* A memory region outlives its id. */
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(self->buf, write->addr);
	EXPECT_EQ(0, rdma_dereg_mr(write));
}

/* Pinned memory of this process, or -1 */
static long pinned_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* Regions that a program leaves behind are deregistered. */
TEST_F(mr, close_device_with_memory)
{
	struct ibv_context *context;
	long pinned = pinned_kb();
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	ASSERT_LE(0, pinned);
	context = ASSERT_PTR(ibv_open_device(self->context->device));
	pd = ASSERT_PTR(ibv_alloc_pd(context));
	mr = ASSERT_PTR(ibv_reg_mr(pd, self->buf, self->len, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_LT(pinned, pinned_kb());
	EXPECT_EQ(0, ibv_close_device(context));
	EXPECT_EQ(pinned, pinned_kb());
	/* Other contexts still work. */
	mr = ASSERT_PTR(ibv_reg_mr(self->pd, self->buf, 1, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* ib_send_bw leaves a CQ behind. */
TEST_F(mr, close_device_with_queues)
{
	struct ibv_context *context = ASSERT_PTR(ibv_open_device(self->context->device));
	struct ibv_comp_channel *channel = ASSERT_PTR(ibv_create_comp_channel(context));
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(context, 4, NULL, channel, 0));
	struct ibv_pd *pd = ASSERT_PTR(ibv_alloc_pd(context));
	struct ibv_qp_init_attr attr = lib_qp_attr_on(cq);
	struct ibv_qp *qp = ASSERT_PTR(ibv_create_qp(pd, &attr));

	EXPECT_EQ(0, ibv_close_device(context));
	if (is_stock())	/* stock uses freed memory */
		return;
	EXPECT_EQ(ENOENT, ibv_destroy_qp(qp));
	EXPECT_EQ(ENOENT, ibv_destroy_cq(cq));
	EXPECT_EQ(ENOENT, ibv_dealloc_pd(pd));
}

TEST_HARNESS_MAIN
