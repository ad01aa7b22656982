// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs objects: the results of creating, modifying and querying them, and all errors
 */
#include "abi_test.h"

#define MB (1UL << 20)

FIXTURE(verbs) {
	struct abi s;
	struct rdma_ep_cmd_query_device dev;
	struct rdma_ep_cmd_query limits;
	char *mem;		/* 1 MiB */
	__u32 cq;
};

FIXTURE_SETUP(verbs)
{
	OK(abi_open(&self->s));
	self->dev.dev_index = self->s.dev;
	OK(ABI(self->s.fd, QUERY_DEVICE, &self->dev));
	OK(ABI(self->s.fd, QUERY, &self->limits));
	self->mem = abi_map(MB);
	OK(abi_create_cq(&self->s, -1, 64, 0, &self->cq));
}

TEARDOWN_CLOSES(verbs)

static int reg(struct _test_data_verbs *self, void *addr, size_t len, __u32 access)
{
	struct rdma_ep_cmd_reg_mr mr;
	int ret = abi_reg_mr(&self->s, self->s.pd, addr, len, access, &mr);

	if (!ret)
		ret = ABI_DESTROY(&self->s, MR, mr.mr);
	return ret;
}

TEST_F(verbs, mr)
{
	struct rdma_ep_cmd_reg_mr a, b, c = {};

	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, MB, AC_ALL, &a));
	/* One byte of the same memory, at an odd address */
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem + 4001, 1, 0, &b));
	EXPECT_NE(0, a.mr);
	EXPECT_NE(a.mr, b.mr);
	EXPECT_NE(a.lkey, b.lkey);
	EXPECT_NE(0, a.lkey);
	EXPECT_NE(0, a.rkey);
	/* Another iova with the same offset in the page, which siw ignores */
	c.addr = (uintptr_t)self->mem + 100;
	c.length = 5000;
	c.iova = 0x7000000000000064ULL;
	c.pd = self->s.pd;
	c.access = AC_LOCAL_WRITE;
	EXPECT_EQ(self->s.iwarp ? -EINVAL : 0, ABI(self->s.fd, REG_MR, &c));
	if (!self->s.iwarp) {
		c.iova++;
		EXPECT_EQ(-EINVAL, ABI(self->s.fd, REG_MR, &c));
		/* The iova ends just below 2^64, and beyond. */
		c.iova = -5000ULL & ~4095ULL;
		c.addr = (uintptr_t)self->mem;
		EXPECT_EQ(0, ABI(self->s.fd, REG_MR, &c));
		c.length = 8193;
		EXPECT_EQ(-EINVAL, ABI(self->s.fd, REG_MR, &c));
	}
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, a.mr));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, b.mr));
}

/* SIW-20 */
TEST_F(verbs, mr_range)
{
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(-EINVAL, reg(self, self->mem, 0, AC_LOCAL_WRITE));
	EXPECT_EQ(-EINVAL, reg(self, self->mem, -1UL, AC_LOCAL_WRITE));
	EXPECT_EQ(-EINVAL, reg(self, (void *)-4096UL, 8192, AC_LOCAL_WRITE));
	EXPECT_EQ(-EINVAL, reg(self, (void *)-1UL, 2, AC_LOCAL_WRITE));
	EXPECT_EQ(-EINVAL, reg(self, self->mem, -(uintptr_t)self->mem + 1, AC_LOCAL_WRITE));
	/*
	 * These are larger than any memory, and fail before a list of their pages is allocated.
	 * The number of pages has 32 bits.
	 */
	for (int i = 35; i < 47; i++) {
		int ret = i < 44 ? -EFAULT : -EINVAL;

		EXPECT_EQ(ret, reg(self, self->mem, 1UL << i, AC_LOCAL_WRITE));
		EXPECT_EQ(ret, reg(self, self->mem, (1UL << i) + 4096, AC_LOCAL_WRITE));
	}
	EXPECT_EQ(-EINVAL, reg(self, (void *)-4096UL, 1, AC_LOCAL_WRITE));
	/* Memory that is not mapped, in whole or in part; kernel memory */
	EXPECT_EQ(-EFAULT, reg(self, NULL, 4096, AC_LOCAL_WRITE));
	EXPECT_EQ(-EFAULT, reg(self, (void *)0xffff888000000000UL, 4096, AC_LOCAL_WRITE));
	munmap(self->mem + 8192, 4096);
	EXPECT_EQ(-EFAULT, reg(self, self->mem, MB, AC_LOCAL_WRITE));
	EXPECT_EQ(-EFAULT, reg(self, self->mem + 8192, 1, 0));
	EXPECT_EQ(-EFAULT, reg(self, self->mem + 8191, 2, 0));
	EXPECT_EQ(0, reg(self, self->mem, 8192, AC_LOCAL_WRITE));
	/* Write access to read-only memory */
	EXPECT_EQ(-EFAULT, reg(self, ro, 8192, AC_LOCAL_WRITE));
	EXPECT_EQ(-EFAULT, reg(self, ro, 8192, AC_ALL));
}

TEST_F(verbs, mr_access)
{
	struct utsname u;
	__u32 a;
	bool old;
	int ret;

	OK(uname(&u));
	old = !strncmp(u.release, "6.1.", 4);
	/* Every combination of the basic flags */
	for (a = 0; a <= AC_ALL; a++) {
		bool ok = (a & AC_LOCAL_WRITE) || !(a & (AC_REMOTE_WRITE | AC_REMOTE_ATOMIC));

		LOGGED(EXPECT_EQ(ok ? 0 : -EINVAL, reg(self, self->mem, 4096, a)),
		       "access 0x%x", a);
	}
	for (__u32 bit = 0; bit < 32; bit++) {
		a = 1U << bit;
		ret = reg(self, self->mem, 4096, a | AC_LOCAL_WRITE);
		if (a & (AC_ALL | IB_UVERBS_ACCESS_OPTIONAL_RANGE)) {
			LOGGED(EXPECT_EQ(0, ret), "access bit %u", bit);
		} else if (!old && (bit == 8 || bit == 9)) {
			/* FLUSH: rxe only; bit 9 needs persistent memory */
			LOGGED(EXPECT_EQ(self->s.iwarp ? -EOPNOTSUPP : bit == 8 ? 0 : -EINVAL, ret),
			       "access bit %u", bit);
		} else if (a & (IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
				IB_UVERBS_ACCESS_ON_DEMAND | IB_UVERBS_ACCESS_HUGETLB)) {
			LOGGED(EXPECT_EQ(-EOPNOTSUPP, ret), "access bit %u", bit);
		} else {
			LOGGED(EXPECT_EQ(-EINVAL, ret), "access bit %u", bit);
		}
	}
}

static int memlock(void *arg)
{
	struct _test_data_verbs *self = arg;
	const struct abi *s = &self->s;
	struct rlimit r = { 65536, 65536 };
	struct rdma_ep_cmd_reg_mr mr[3];
	char *mem = self->mem;
	int ret;

	/* CAP_IPC_LOCK exempts root. */
	CHECK(1, setrlimit(RLIMIT_MEMLOCK, &r) == 0);
	/* siw of Linux 6.1 has the limit for root as well (SIW-26). */
	ret = reg(self, mem, MB, AC_LOCAL_WRITE);
	CHECK(2, !ret || (s->iwarp && ret == -ENOMEM));
	CHECK(3, abi_become_nobody() == 0);
	CHECK(4, abi_reg_mr(s, s->pd, mem, MB, AC_LOCAL_WRITE, &mr[0]) == -ENOMEM);
	CHECK(5, abi_reg_mr(s, s->pd, mem, 32768, AC_LOCAL_WRITE, &mr[0]) == 0);
	CHECK(6, abi_reg_mr(s, s->pd, mem + 32768, 32768, AC_LOCAL_WRITE, &mr[1]) == 0);
	/* The limit is for the sum of regions, without destroyed ones. */
	CHECK(7, abi_reg_mr(s, s->pd, mem, 4096, AC_LOCAL_WRITE, &mr[2]) == -ENOMEM);
	CHECK(8, ABI_DESTROY(s, MR, mr[0].mr) == 0);
	CHECK(9, abi_reg_mr(s, s->pd, mem, 4096, AC_LOCAL_WRITE, &mr[2]) == 0);
	return 0;
}

/* Pinned pages count for the caller, not for the session's opener. */
TEST_F(verbs, memlock)
{
	EXPECT_EQ(0, abi_child(memlock, self));
}

TEST_F(verbs, cq)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_cq good = { .ctx = s->ctx, .channel_fd = -1, .cqe = 10,
		.uid = 1 }, c;
	static const __u32 bad_cqe[] = { 0, 0x7fffffff, 0x80000000, ~0U };
	struct abi other;

	c = good;
	OK(ABI(s->fd, CREATE_CQ, &c));
	EXPECT_LE(10, c.cqe);
	/* Drivers round up; siw gets more entries, which are not reported. */
	EXPECT_GT(2 * 10, c.cqe);
	EXPECT_NE(0, c.cq);
	EXPECT_EQ(0, ABI_WITH(s->fd, CREATE_CQ, good, cqe, 1));
	EXPECT_EQ(0, ABI_WITH(s->fd, CREATE_CQ, good, comp_vector, self->dev.num_comp_vectors - 1));

	for (size_t i = 0; i < ARRAY_SIZE(bad_cqe); i++)
		LOGGED(EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_CQ, good, cqe, bad_cqe[i])),
		       "%u entries", bad_cqe[i]);
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_CQ, good, cqe, self->dev.attr.max_cqe + 1));
	EXPECT_EQ(-EINVAL,
		  ABI_WITH(s->fd, CREATE_CQ, good, comp_vector, self->dev.num_comp_vectors));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_CQ, good, comp_vector, 0x80000000));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_CQ, good, comp_vector, ~0U));

	OK(abi_open(&other));

	const int bad_fd[] = {
		-2, 10000, open("/dev/null", O_RDWR), s->fd, abi_channel(s),
		abi_comp_channel(&other),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad_fd); i++)
		LOGGED(EXPECT_EQ(-EBADF, ABI_WITH(s->fd, CREATE_CQ, good, channel_fd, bad_fd[i])),
		       "channel %zu", i);
}

TEST_F(verbs, cq_resize)
{
	struct rdma_ep_cmd_resize_cq r = { .cq = self->cq, .cqe = 200 };
	int ret = ABI(self->s.fd, RESIZE_CQ, &r);

	if (self->s.iwarp) {
		EXPECT_EQ(-EOPNOTSUPP, ret);
		SKIP(return, "siw does not resize CQs");
	}
	EXPECT_EQ(0, ret);
	EXPECT_LE(200, r.cqe);
	r.cqe = 20;
	EXPECT_EQ(0, ABI(self->s.fd, RESIZE_CQ, &r));
	EXPECT_LE(20, r.cqe);
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, self->dev.attr.max_cqe + 1));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESIZE_CQ, r, cqe, ~0U));
}

/* The device's largest CQ has no further entry, and is charged for none. */
TEST_F(verbs, largest_cq_is_charged_like_a_resized_one)
{
	struct rdma_ep_cmd_resize_cq r = { .cqe = self->dev.attr.max_cqe };
	long before = abi_fdinfo(&self->s, "queue-memory"), created;
	__u32 largest;

	SKIP_IF(self->s.iwarp, "siw does not resize CQs");
	OK(abi_create_cq(&self->s, -1, r.cqe, 0, &largest));
	created = abi_fdinfo(&self->s, "queue-memory") - before;
	OK(abi_create_cq(&self->s, -1, 1, 0, &r.cq));
	ASSERT_EQ(0, ABI(self->s.fd, RESIZE_CQ, &r));
	EXPECT_EQ(before + 2 * created, abi_fdinfo(&self->s, "queue-memory"));
}

/* KiB of vmalloc() memory and of slabs */
static long kernel_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	long kib, sum = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmallocUsed: %ld", &kib) == 1 ||
		    sscanf(line, "SUnreclaim: %ld", &kib) == 1)
			sum += kib;
	if (f)
		fclose(f);
	return sum;
}

/* A CQ that shrinks frees the memory that held completions for the user. */
TEST_F(verbs, shrunk_cq_keeps_no_memory)
{
	enum { CQS = 16, RECVS = 16 };
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resize_cq r = { .cqe = 1 };
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_wc wc[RECVS];
	struct abi_wrs w;
	long before;

	if (s->iwarp)
		SKIP(return, "siw does not resize CQs");
	before = kernel_memory();
	ASSERT_LT(0, before);
	for (int i = 0; i < CQS; i++) {
		OK(abi_create_cq(s, -1, self->dev.attr.max_cqe, 0, &r.cq));
		OK(abi_create_qp(s, QPT_RC, r.cq, 0, &qp));
		OK(abi_qp_init(s, qp.init.qp, QPT_RC, 0));
		abi_recv_wrs(&w, RECVS, 0);
		OK(ABI_POST(s, RECV, qp.init.qp, &w, NULL));
		OK(abi_qp_state(s, qp.init.qp, QPS_ERR));
		usleep(10000);
		/* This moves completions from the device to the held ones. */
		OK(ABI_DESTROY(s, QP, qp.init.qp));
		ASSERT_EQ(RECVS, abi_wait(s, r.cq, wc, RECVS));
		r.cqe = 1;
		OK(ABI(s->fd, RESIZE_CQ, &r));
	}
	EXPECT_GT(before + (8 << 10), kernel_memory());
}

TEST_F(verbs, srq)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_srq good = {
		.pd = s->pd, .max_wr = 10, .max_sge = 2, .srq_limit = 3,
	}, c;
	struct rdma_ep_cmd_srq_attr a = {};
	static const __u32 bad[] = { 0x10000000, 0x80000000, ~0U };

	c = good;
	OK(ABI(s->fd, CREATE_SRQ, &c));
	EXPECT_LE(10, c.max_wr);
	EXPECT_LE(2, c.max_sge);
	a.srq = c.srq;
	OK(ABI(s->fd, QUERY_SRQ, &a));
	EXPECT_EQ(c.max_wr, a.max_wr);
	EXPECT_EQ(c.max_sge, a.max_sge);
	EXPECT_EQ(3, a.srq_limit);

	a.flags = RDMA_EP_SRQ_LIMIT;
	a.srq_limit = 7;
	EXPECT_EQ(0, ABI(s->fd, MODIFY_SRQ, &a));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_SRQ, a, srq_limit, c.max_wr + 1));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_SRQ, a, srq_limit, ~0U));
	/* Nothing to change */
	a.flags = 0;
	EXPECT_EQ(0, ABI(s->fd, MODIFY_SRQ, &a));
	OK(ABI(s->fd, QUERY_SRQ, &a));
	EXPECT_EQ(7, a.srq_limit);
	a.flags = RDMA_EP_SRQ_LIMIT;
	EXPECT_EQ(-EINVAL, ABI(s->fd, QUERY_SRQ, &a));

	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, good, pd, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, good, max_wr, 0));
	EXPECT_EQ(-EINVAL,
		  ABI_WITH(s->fd, CREATE_SRQ, good, max_wr, self->dev.attr.max_srq_wr + 1));
	EXPECT_EQ(-EINVAL,
		  ABI_WITH(s->fd, CREATE_SRQ, good, max_sge, self->dev.attr.max_srq_sge + 1));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, good, max_wr, bad[i]));
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, good, max_sge, bad[i]));
		EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, good, srq_limit, bad[i]));
	}
}

TEST_F(verbs, srq_resize)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_srq_attr a = { .flags = RDMA_EP_SRQ_MAX_WR };
	struct abi_wrs w;
	__u32 posted;
	int ret;

	OK(abi_create_srq(s, s->pd, 8, 0, &a.srq));
	abi_recv_wrs(&w, 8, 0);
	OK(ABI_POST(s, SRQ_RECV, a.srq, &w, NULL));
	a.max_wr = 64;
	ret = ABI(s->fd, MODIFY_SRQ, &a);
	SKIP_IF(ret == -EOPNOTSUPP, "the device cannot resize SRQs");
	EXPECT_EQ(0, ret);
	/* The SRQ has 8 receives. After a refusal it still works. */
	a.max_wr = 4;
	EXPECT_EQ(-EINVAL, ABI(s->fd, MODIFY_SRQ, &a));
	/* The SRQ takes max_wr receives. */
	a.flags = 0;
	OK(ABI(s->fd, QUERY_SRQ, &a));
	EXPECT_LE(64, a.max_wr);
	abi_recv_wrs(&w, (int)a.max_wr, 0);
	EXPECT_EQ(-ENOMEM, ABI_POST(s, SRQ_RECV, a.srq, &w, &posted));
	EXPECT_EQ(a.max_wr - 8, posted);
	/* The SRQ has more receives. */
	a.flags = RDMA_EP_SRQ_MAX_WR;
	a.max_wr = 16;
	EXPECT_EQ(-EINVAL, ABI(s->fd, MODIFY_SRQ, &a));
	EXPECT_EQ(-ENOMEM, ABI_POST(s, SRQ_RECV, a.srq, &w, &posted));
	EXPECT_EQ(0, posted);
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_SRQ, a, max_wr, ~0U));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_SRQ, a, max_wr, 0));
}

static int create_qp(struct _test_data_verbs *self, __u32 type, struct rdma_ep_cmd_create_qp *c)
{
	abi_qp_attr(c, type, self->s.pd, self->cq, self->cq);
	return ABI(self->s.fd, CREATE_QP, c);
}

/* Drivers create QPs of other types with an SRQ as well. */
TEST_F(verbs, qp_with_srq)
{
	static const __u32 types[] = { QPT_RC, QPT_UD, QPT_UC };
	struct rdma_ep_cmd_create_qp c;
	__u32 srq;

	SKIP_IF(self->s.iwarp, "iWARP has RC only");
	OK(abi_create_srq(&self->s, self->s.pd, 8, 0, &srq));
	for (int i = 0; i < 3; i++) {
		abi_qp_attr(&c, types[i], self->s.pd, self->cq, self->cq);
		c.init.srq = srq;
		LOGGED(EXPECT_EQ(i < 2 ? 0 : -EINVAL, ABI(self->s.fd, CREATE_QP, &c)),
		       "type %u", types[i]);
	}
}

TEST_F(verbs, qp)
{
	static const __u32 types[] = { QPT_RC, QPT_UC, QPT_UD };
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_cmd_query_qp q;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		abi_qp_attr(&c, types[i], s->pd, self->cq, self->cq);
		if (s->iwarp && i) {
			EXPECT_EQ(-EOPNOTSUPP, ABI(s->fd, CREATE_QP, &c));
			continue;
		}
		c.init.flags = i ? RDMA_EP_QP_SQ_SIG_ALL : 0;
		OK(ABI(s->fd, CREATE_QP, &c));
		EXPECT_EQ(QPS_RESET, c.init.state);
		EXPECT_EQ(s->pd, c.init.pd);
		EXPECT_EQ(self->cq, c.init.send_cq.cq);
		EXPECT_EQ(-1, c.init.send_cq.channel_fd);
		EXPECT_EQ(0, c.init.send_cq.cqe);
		EXPECT_LT(s->iwarp ? 0 : 1, c.init.qp_num);
		EXPECT_LE(16, c.init.max_send_wr);
		EXPECT_LE(64, c.init.max_inline_data);
		memset(&q, 0xff, sizeof(q));
		q.flags = 0;
		q.qp = c.init.qp;
		OK(ABI(s->fd, QUERY_QP, &q));
		/* Drivers translate the states of iWARP. */
		if (!s->iwarp)
			EXPECT_EQ(QPS_RESET, q.attr.qp_state);
		EXPECT_EQ(types[i], q.qp_type);
		EXPECT_EQ(i ? 1 : 0, q.sq_sig_all);
		EXPECT_EQ(c.init.max_send_wr, q.attr.max_send_wr);
		EXPECT_EQ(c.init.max_recv_wr, q.attr.max_recv_wr);
		EXPECT_EQ(c.init.max_send_sge, q.attr.max_send_sge);
		EXPECT_EQ(c.init.max_recv_sge, q.attr.max_recv_sge);
		EXPECT_EQ(c.init.max_inline_data, q.attr.max_inline_data);
		EXPECT_EQ(0, q.attr.reserved[0]);
	}
}

TEST_F(verbs, qp_types_refused)
{
	static const __u32 types[] = { 0, 1, 5, 6, 7, 8, 9, 10, 11, 0xff, 0x102, 0x1000, ~0U };
	struct rdma_ep_cmd_create_qp c;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		ret = create_qp(self, types[i], &c);
		/* An XRC target needs a domain, which rxe and siw do not have. */
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP ||
			    (types[i] == 10 && ret == -ENOENT)) {
			TH_LOG("type %u: %d", types[i], ret);
		}
	}
}

TEST_F(verbs, qp_caps)
{
	static const __u32 bad[] = { 0x00100001, 0x10000000, 0x7fffffff, 0x80000000, ~0U };
	struct rdma_ep_cmd_query_device *d = &self->dev;
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp good, c;
	const struct {
		__u32 *cap, limit;
	} caps[] = {
		{ &c.init.max_send_wr, d->attr.max_qp_wr },
		{ &c.init.max_recv_wr, d->attr.max_qp_wr },
		{ &c.init.max_send_sge, d->attr.max_sge },
		{ &c.init.max_recv_sge, d->attr.max_sge },
		{ &c.init.max_inline_data, 0x000fffff },
	};

	abi_qp_attr(&good, QPT_RC, s->pd, self->cq, self->cq);
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		for (size_t j = 0; j <= ARRAY_SIZE(bad); j++) {
			c = good;
			*caps[i].cap = j < ARRAY_SIZE(bad) ? bad[j] : caps[i].limit + 1;
			LOGGED(EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c)),
			       "capability %zu: %u", i, *caps[i].cap);
		}
	}
	/* A device may refuse all capabilities at their limits at once, but not one. */
	EXPECT_EQ(0, ABI_WITH(s->fd, CREATE_QP, good, init.max_send_sge, d->attr.max_sge));
	EXPECT_EQ(0, ABI_WITH(s->fd, CREATE_QP, good, init.max_recv_wr, d->attr.max_qp_wr));
}

/* Without an id, CREATE_QP creates no CQs and uses no default PD. */
TEST_F(verbs, qp_needs_everything)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	int ret, fds = abi_count_fds();

	for (int missing = 0; missing < 3; missing++) {
		abi_qp_attr(&c, QPT_RC, missing == 0 ? 0 : s->pd, missing == 1 ? 0 : self->cq,
			    missing == 2 ? 0 : self->cq);
		ret = ABI(s->fd, CREATE_QP, &c);
		EXPECT_TRUE(ret == -EINVAL || ret == -ENOENT);
	}
	EXPECT_EQ(fds, abi_count_fds());
}

TEST_F(verbs, qp_modify)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_cmd_modify_qp m;
	__u32 qp;

	SKIP_IF(s->iwarp, "the CM moves iWARP's QPs");
	OK(create_qp(self, QPT_RC, &c));
	qp = c.init.qp;
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_RTS));
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_RTR));
	/* INIT needs more attributes, and the other states do not exist. */
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_INIT));
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_ERR + 1));
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, ~0U));
	m = (struct rdma_ep_cmd_modify_qp) {
		.qp = qp, .attr.qp_state = QPS_INIT, .attr.port_num = 1,
		.attr.qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS,
	};
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_QP, m, attr.port_num, 2));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_QP, m, attr.port_num, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, MODIFY_QP, m, attr.qp_attr_mask,
				    m.attr.qp_attr_mask | 1U << 31));
	EXPECT_EQ(0, ABI(s->fd, MODIFY_QP, &m));

	EXPECT_EQ(0, abi_qp_rts(s, qp, QPT_RC, c.init.qp_num));
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_INIT));
	EXPECT_EQ(0, abi_qp_state(s, qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, abi_qp_state(s, qp, QPS_RTS));
	EXPECT_EQ(0, abi_qp_state(s, qp, QPS_RESET));
	EXPECT_EQ(0, abi_qp_init(s, qp, QPT_RC, 0));
}

TEST_F(verbs, privileged_qkey)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c, d;

	SKIP_IF(s->iwarp, "iWARP has no Q_Keys");
	OK(create_qp(self, QPT_UD, &c));
	OK(create_qp(self, QPT_UD, &d));
	EXPECT_EQ(0, abi_qp_init(s, c.init.qp, QPT_UD, 0x80000001));
	OK(abi_become_nobody());
	EXPECT_EQ(-EPERM, abi_qp_init(s, d.init.qp, QPT_UD, 0x80000001));
	EXPECT_EQ(-EPERM, abi_qp_init(s, d.init.qp, QPT_UD, ~0U));
	EXPECT_EQ(0, abi_qp_init(s, d.init.qp, QPT_UD, 0x7fffffff));
}

TEST_F(verbs, ah)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_ah good = { .pd = s->pd }, a;
	struct rdma_ep_cmd_query_port p = { .dev_index = s->dev, .port_num = 1 };
	int ret;

	SKIP_IF(s->iwarp, "iWARP has no address handles");
	abi_self_ah(s, &good.attr);
	a = good;
	OK(ABI(s->fd, CREATE_AH, &a));
	EXPECT_NE(0, a.ah);
	EXPECT_EQ(0, ABI_DESTROY(s, AH, a.ah));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_AH, good, attr.port_num, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_AH, good, attr.port_num, 2));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_AH, good, attr.port_num, 255));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_AH, good, attr.is_global, 0));
	a = good;
	a.attr.grh.sgid_index = 255;
	OK(ABI(s->fd, QUERY_PORT, &p));
	EXPECT_EQ(p.attr.gid_tbl_len > 255 ? -ENODATA : -EINVAL, ABI(s->fd, CREATE_AH, &a));
	/* A neighbour that does not answer */
	a = good;
	a.attr.grh.dgid[15] ^= 0x4c;
	ret = ABI(s->fd, CREATE_AH, &a);
	LOGGED(EXPECT_TRUE(ret == -EHOSTUNREACH || ret == -ETIMEDOUT), "returned %d", ret);
}

TEST_HARNESS_MAIN
