// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of libibverbs after rdma-core 44, which programs of newer suites call (for example
 * ibv_rc_pingpong): buffers that the library allocates, and memory regions described by a
 * structure. There is no verbs_newer.stock, as stock libraries of older suites lack the functions.
 */
#include "lib_test.h"

/* Declared again, because older versions of verbs.h lack them */
struct ibv_buf;
struct ibv_mr_init_attr;
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
			      size_t length, int access);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);

struct mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
};

enum {
	MASK_IOVA = 1 << 0,
	MASK_ADDR = 1 << 1,
	MASK_FD = 1 << 2,
	MASK_FD_OFFSET = 1 << 3,
	MASK_DMAH = 1 << 4,
};

static struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, struct mr_init_attr *attr)
{
	return ibv_reg_mr_ex(pd, (struct ibv_mr_init_attr *)attr);
}

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

FIXTURE(newer) {
	struct ibv_context *context;
	struct ibv_pd *pd;
};

FIXTURE_SETUP(newer)
{
	self->context = ASSERT_PTR(lib_context());
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
}

FIXTURE_TEARDOWN(newer)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

TEST_F(newer, buffer)
{
	struct ibv_buf *buf = NULL;
	struct ibv_mr *mr;
	char *p = ASSERT_PTR(ibv_alloc_buf(self->pd, 10000, &buf));

	ASSERT_NE(NULL, buf);
	EXPECT_EQ(0, (uintptr_t)p % 4096);
	memset(p, 1, 10000);
	EXPECT_FAILS(ENODATA, ibv_export_buf_dmabuf_fd(buf));

	mr = ASSERT_PTR(ibv_reg_buf_mr(self->pd, buf, p, 10000, ACCESS));
	EXPECT_EQ((void *)p, mr->addr);
	EXPECT_EQ(10000, mr->length);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	mr = ASSERT_PTR(ibv_reg_buf_mr(self->pd, buf, p + 9999, 1, ACCESS));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	ibv_free_buf(buf);
}

TEST_F(newer, buffer_bad_input)
{
	struct ibv_pd *other = ASSERT_PTR(ibv_alloc_pd(self->context));
	struct ibv_buf *buf = NULL;
	char *p;

	EXPECT_FAILS_NULL(EINVAL, ibv_alloc_buf(NULL, 10, &buf));
	EXPECT_FAILS_NULL(EINVAL, ibv_alloc_buf(self->pd, 10, NULL));
	EXPECT_FAILS_NULL(ENOMEM, ibv_alloc_buf(self->pd, SIZE_MAX / 2, &buf));
	p = ASSERT_PTR(ibv_alloc_buf(self->pd, 100, &buf));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(NULL, buf, p, 1, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(self->pd, NULL, p, 1, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(other, buf, p, 1, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(self->pd, buf, p - 1, 1, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(self->pd, buf, p, 101, 0));
	EXPECT_FAILS_NULL(EINVAL, ibv_reg_buf_mr(self->pd, buf, p + 1, SIZE_MAX, 0));
	EXPECT_FAILS(EINVAL, ibv_export_buf_dmabuf_fd(NULL));
	ibv_free_buf(NULL);
	ibv_free_buf(buf);
	EXPECT_EQ(0, ibv_dealloc_pd(other));
}

TEST_F(newer, reg_mr_ex)
{
	static char mem[8192] __attribute__((aligned(4096)));
	struct mr_init_attr attr = {
		.length = sizeof(mem),
		.access = ACCESS,
		.comp_mask = MASK_ADDR,
		.addr = mem,
		.fd = -1,
	};
	struct ibv_mr *mr = ASSERT_PTR(reg_mr_ex(self->pd, &attr));

	EXPECT_EQ((void *)mem, mr->addr);
	EXPECT_EQ(sizeof(mem), mr->length);
	EXPECT_EQ(self->pd, mr->pd);
	EXPECT_EQ(0, ibv_dereg_mr(mr));

	attr.comp_mask |= MASK_IOVA;
	attr.iova = (uintptr_t)mem;
	mr = ASSERT_PTR(reg_mr_ex(self->pd, &attr));
	EXPECT_EQ(0, ibv_dereg_mr(mr));

	attr.comp_mask = MASK_IOVA;
	EXPECT_FAILS_NULL(EINVAL, reg_mr_ex(self->pd, &attr));
	attr.comp_mask = MASK_ADDR | MASK_FD_OFFSET;
	EXPECT_FAILS_NULL(EINVAL, reg_mr_ex(self->pd, &attr));
	attr.comp_mask = MASK_ADDR | MASK_FD;
	EXPECT_FAILS_NULL(EINVAL, reg_mr_ex(self->pd, &attr));
	attr.comp_mask = MASK_FD | MASK_FD_OFFSET |
			 MASK_IOVA;
	EXPECT_FAILS_NULL(EOPNOTSUPP, reg_mr_ex(self->pd, &attr));
	attr.comp_mask = MASK_ADDR | MASK_DMAH;
	EXPECT_FAILS_NULL(EOPNOTSUPP, reg_mr_ex(self->pd, &attr));
	attr.comp_mask = MASK_ADDR | 1 << 20;
	EXPECT_FAILS_NULL(EOPNOTSUPP, reg_mr_ex(self->pd, &attr));
	EXPECT_FAILS_NULL(EINVAL, reg_mr_ex(NULL, &attr));
	EXPECT_FAILS_NULL(EINVAL, reg_mr_ex(self->pd, NULL));
}

/* ibv_devinfo(1) and pyverbs call ibv_query_gid_type() for each entry of the GID table. */
TEST_F(newer, type_of_an_empty_gid_is_zero)
{
	int (*query)(struct ibv_context *context, uint8_t port_num, unsigned int index,
		     unsigned int *type);
	struct ibv_port_attr port;
	unsigned int type = 7;

	query = ASSERT_PTR(dlvsym(RTLD_DEFAULT, "ibv_query_gid_type", "IBVERBS_PRIVATE_34"));
	ASSERT_EQ(0, ibv_query_port(self->context, 1, &port));
	if (lib_iwarp(self->context))
		SKIP(return, "the table of iWARP has one entry");
	EXPECT_EQ(0, query(self->context, 1, port.gid_tbl_len - 1, &type));
	EXPECT_EQ(0, type);
	EXPECT_FAILS(EINVAL, query(self->context, 1, port.gid_tbl_len, &type));
}

TEST_HARNESS_MAIN
