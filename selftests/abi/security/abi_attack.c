// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests of an attacker, which no driver may see: most of them would give access to
 * kernel memory.
 */
#include "abi_test.h"

#define LEN	8192
#define QKEY	0x11111111

FIXTURE(attack) {
	struct abi s;
	struct abi_pair p;
	__u32 qp;			/* client */
	__u32 peer;			/* server */
	char *buf;			/* LEN bytes, registered */
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
};

FIXTURE_SETUP(attack)
{
	OK(abi_open(&self->s));
	self->p.max_wr = 32;
	self->p.max_sge = 6;		/* siw's limit, below rxe's */
	OK(abi_pair_open(&self->s, &self->p));
	self->qp = self->p.end[0].qp.qp;
	self->peer = self->p.end[1].qp.qp;
	/* The pages on both sides are mapped, so that only a check of the range protects them. */
	self->buf = abi_map(LEN + 8192);
	self->buf += 4096;
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &self->mr));
}

TEARDOWN_CLOSES(attack)

/* Posts; the reported number is 0 after an error, else that of all requests. */
static int post_to(const struct abi *s, unsigned long cmd, __u32 qp, const struct abi_wrs *w)
{
	__u32 posted;
	int ret = abi_post(s, cmd, qp, w, &posted);

	if (posted != (ret ? 0 : w->num)) {
		fprintf(stderr, "# posted %u of %u, returned %d\n", posted, w->num, ret);
		return -EPROTO;
	}
	return ret;
}

static int post_send(struct _test_data_attack *self)
{
	return post_to(&self->s, RDMA_EP_IOC_POST_SEND, self->qp, &self->w);
}

static int post_recv(struct _test_data_attack *self)
{
	return post_to(&self->s, RDMA_EP_IOC_POST_RECV, self->peer, &self->w);
}

static int send_sge(struct _test_data_attack *self, __u32 opcode, __u64 addr, __u32 len, __u32 lkey)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->w, opcode, SEND_SIGNALED, 1);
	abi_remote(wr, &self->mr, 0);
	abi_sge(&self->w, addr, len, lkey);
	return post_send(self);
}

static int recv_sge(struct _test_data_attack *self, __u64 addr, __u32 len, __u32 lkey)
{
	abi_wrs_recv(&self->w, 1);
	abi_sge(&self->w, addr, len, lkey);
	return post_recv(self);
}

/* The entry is refused in a send, in a receive, and as the sink of a READ. */
static void expect_refused(struct __test_metadata *_metadata,
			   struct _test_data_attack *self, __u64 addr, __u32 len, __u32 lkey)
{
	const __u64 base = self->mr.iova;

	LOGGED(EXPECT_TRUE(send_sge(self, WR_SEND, addr, len, lkey) == -EINVAL &&
			   send_sge(self, WR_RDMA_READ, addr, len, lkey) == -EINVAL &&
			   recv_sge(self, addr, len, lkey) == -EINVAL),
	       "base%+lld, %u bytes, key 0x%x (own is 0x%x)",
	       (long long)(addr - base), len, lkey, self->mr.lkey);
}

/* Returns 0 if a message arrives over the connection. */
static int still_works(struct _test_data_attack *self)
{
	const __u32 cq[] = { self->p.end[0].cq[0], self->p.end[1].cq[1] };
	struct rdma_ep_wc wc;

	strcpy(self->buf, "fine");
	self->buf[100] = 0;
	if (recv_sge(self, self->mr.iova + 100, 64, self->mr.lkey) ||
	    send_sge(self, WR_SEND, self->mr.iova, 5, self->mr.lkey))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(cq); i++)
		if (abi_wait(&self->s, cq[i], &wc, 1) != 1 || wc.status || wc.wr_id != 1)
			return -2;
	return strcmp(self->buf + 100, "fine");
}

TEST_F(attack, guessed_keys)
{
	__u64 addr = self->mr.iova;
	__u32 own = self->mr.lkey;

	expect_refused(_metadata, self, addr, 8, 0);
	expect_refused(_metadata, self, addr, 8, ~0U);
	expect_refused(_metadata, self, addr, 8, 0x80000000);
	expect_refused(_metadata, self, 0xffff888000000000ULL, 8, own);
	for (int i = -256; i <= 256; i++) {
		if (i)
			expect_refused(_metadata, self, addr, 8, own + i);
	}
	/* Keys of rxe are index << 8 | variant: try all variants of the neighbours. */
	for (__u32 key = (own >> 8) - 3; key != (own >> 8) + 3; key++) {
		for (__u32 low = 0; low < 256; low++) {
			if ((key << 8 | low) == own)
				continue;
			LOGGED(EXPECT_EQ(-EINVAL, send_sge(self, WR_SEND, addr, 8, key << 8 | low)),
			       "key 0x%x", key << 8 | low);
		}
	}
	EXPECT_EQ(0, still_works(self));
}

TEST_F(attack, other_keys)
{
	__u64 addr = self->mr.iova;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi other;
	__u32 pd;

	/* A key of another session, for the same memory */
	OK(abi_open(&other));
	OK(abi_reg_mr(&other, other.pd, self->buf, LEN, AC_ALL, &mr));
	expect_refused(_metadata, self, addr, 8, mr.lkey);
	expect_refused(_metadata, self, addr, 8, mr.rkey);
	/* A key of another PD of this session */
	OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
	OK(abi_reg_mr(&self->s, pd, self->buf, LEN, AC_ALL, &mr));
	expect_refused(_metadata, self, addr, 8, mr.lkey);
	/* The key of a destroyed region */
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &mr));
	EXPECT_EQ(0, recv_sge(self, addr, 8, mr.lkey));
	OK(ABI_DESTROY(&self->s, MR, mr.mr));
	expect_refused(_metadata, self, addr, 8, mr.lkey);
	abi_close(&other);
	EXPECT_EQ(0, send_sge(self, WR_SEND, addr, 8, self->mr.lkey));
}

TEST_F(attack, ranges)
{
	const __u64 base = self->mr.iova;
	const __u32 lkey = self->mr.lkey;
	struct abi_range bad[ABI_BAD_RANGES];

	abi_bad_ranges(base, LEN, bad);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_refused(_metadata, self, bad[i].addr, bad[i].len, lkey);
	/* Each entry is checked. */
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
	abi_sge(&self->w, base, 8, lkey);
	abi_sge(&self->w, base + LEN, 8, lkey);
	EXPECT_EQ(-EINVAL, post_send(self));
	/* To the last byte */
	EXPECT_EQ(0, recv_sge(self, base, LEN, lkey));
	EXPECT_EQ(0, send_sge(self, WR_SEND, base, LEN, lkey));
}

/* Maps @len bytes of addresses onto the same 4 MiB. */
static char *same_pages(size_t len)
{
	const size_t chunk = 4 << 20;
	size_t size = (len + chunk - 1) & ~(chunk - 1), pos;
	int fd = memfd_create("pages", MFD_CLOEXEC);
	char *mem;

	mem = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || ftruncate(fd, chunk))
		return NULL;
	for (pos = 0; pos < size; pos += chunk)
		if (mmap(mem + pos, chunk, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return mem;
}

/*
 * siw adds the lengths of received packets up in an int. SRQs and receive queues share the
 * check, so an SRQ is enough.
 */
static void expect_long_receives_refused(struct __test_metadata *_metadata,
					 struct _test_data_attack *self,
					 const struct rdma_ep_cmd_reg_mr *mr, __u64 part, __u32 n)
{
	struct rdma_ep_cmd_create_srq c = { .pd = self->s.pd, .max_wr = 8, .max_sge = n };

	OK(ABI(self->s.fd, CREATE_SRQ, &c));
	ASSERT_EQ(n, c.max_sge);
	abi_wrs_recv(&self->w, 1);
	for (__u32 i = 0; i < n; i++)
		abi_sge(&self->w, mr->iova, part, mr->lkey);
	EXPECT_EQ(-EINVAL, post_to(&self->s, RDMA_EP_IOC_POST_SRQ_RECV, c.srq, &self->w));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, SRQ, c.srq));
}

/* Lengths whose sum is just over the longest message (SIW-19) */
TEST_F(attack, long_messages)
{
	struct rdma_ep_cmd_query_port port = { .dev_index = self->s.dev, .port_num = 1 };
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	__u32 n = self->p.end[0].qp.max_send_sge;
	struct rdma_ep_cmd_reg_mr mr;
	__u64 max, part;
	char *mem;
	int ret;

	OK(ABI(self->s.fd, QUERY_PORT, &port));
	max = port.attr.max_msg_sz;
	/* siw adds lengths up in an int. */
	if (self->s.iwarp)
		ASSERT_EQ(INT_MAX, max);
	/* siw of Linux 6.1 ignores CAP_IPC_LOCK (SIW-26). */
	OK(setrlimit(RLIMIT_MEMLOCK, &unlimited));
	part = (max / n + 4096) & ~4095ULL;
	mem = ASSERT_PTR(same_pages(part));
	OK(abi_reg_mr(&self->s, self->s.pd, mem, part, AC_LOCAL_WRITE, &mr));
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
	for (__u32 i = 0; i < n; i++)
		abi_mr_sge(&self->w, &mr, 0, part);
	ret = post_send(self);
	LOGGED(EXPECT_EQ(-EINVAL, ret), "%u times %llu bytes", n, part);
	if (self->s.iwarp)
		expect_long_receives_refused(_metadata, self, &mr, part, n);
	EXPECT_EQ(0, still_works(self));
	munmap(mem, part);
}

/* WRITEs from one page or two, which are rarely adjacent in physical memory; 0: data arrived */
static int write_from(struct _test_data_attack *self, __u32 qp, __u32 off, __u32 len)
{
	char *to = self->buf + 4096 + 200;
	struct rdma_ep_send_wr *wr;

	memset(to, 0, 64);
	wr = abi_wrs_send(&self->w, WR_RDMA_WRITE, SEND_SIGNALED, 1);
	wr->remote_addr = (uintptr_t)to;
	wr->rkey = self->mr.rkey;
	abi_mr_sge(&self->w, &self->mr, off, len);
	return post_to(&self->s, RDMA_EP_IOC_POST_SEND, qp, &self->w) ?:
	       !abi_arrived(to, self->buf + off, len) || to[len];
}

/*
 * siw sends a short message over a page boundary with the memory behind the first page. It does
 * the same in a READ response, so such READs are refused. (SIW-16)
 */
TEST_F(attack, short_messages)
{
	const __u64 base = self->mr.iova;
	struct abi_pair one = { .max_wr = 4, .max_sge = 1 };
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc[1];
	bool wrong;

	OK(abi_pair_open(&self->s, &one));
	for (__u32 off = 0; off < LEN; off++)
		self->buf[off] = abi_random() | 1;
	for (__u32 off = 4096 - 33; off < 4096; off++) {
		for (__u32 len = 2; len <= 33; len += off & 1 ? 31 : 3) {
			LOGGED(ASSERT_EQ(0, write_from(self, self->qp, off, len)),
			       "%u bytes at %u", len, off);
			ASSERT_EQ(1, abi_wait(&self->s, self->p.end[0].cq[0], wc, 1));
			OK(write_from(self, one.end[0].qp.qp, off, len));
			ASSERT_EQ(1, abi_wait(&self->s, one.end[0].cq[0], wc, 1));
		}
	}
	for (__u32 len = 31; len <= 33; len++) {
		for (__u32 off = 4096 - len; off <= 4097 - len; off++) {
			wr = abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED, 1);
			wr->remote_addr = base + off;
			wr->rkey = self->mr.rkey;
			abi_sge(&self->w, base + 6000, len, self->mr.lkey);
			wrong = self->s.iwarp && off + len > 4096 && len <= 32;
			LOGGED(EXPECT_EQ(wrong ? -EINVAL : 0, post_send(self)),
			       "%u bytes at %u", len, off);
			if (wrong)
				continue;
			EXPECT_WC(&self->s, self->p.end[0].cq[0], 1, WC_SUCCESS);
			EXPECT_TRUE(abi_arrived(self->buf + 6000, self->buf + off, len));
		}
	}
	EXPECT_EQ(0, still_works(self));
}

TEST_F(attack, access)
{
	struct rdma_ep_cmd_reg_mr ro;

	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, 0, &ro));
	EXPECT_EQ(-EINVAL, recv_sge(self, ro.iova, 8, ro.lkey));
	EXPECT_EQ(-EINVAL, send_sge(self, WR_RDMA_READ, ro.iova, 8, ro.lkey));
	if (!self->s.iwarp) {
		EXPECT_EQ(-EINVAL, send_sge(self, WR_CMP_AND_SWP, ro.iova, 8, ro.lkey));
		EXPECT_EQ(-EINVAL, send_sge(self, WR_FETCH_AND_ADD, ro.iova, 8, ro.lkey));
	}
	/* Sends may read it. */
	EXPECT_EQ(0, recv_sge(self, self->mr.iova, 8, self->mr.lkey));
	EXPECT_EQ(0, send_sge(self, WR_SEND, ro.iova, 8, ro.lkey));
}

TEST_F(attack, send_flags)
{
	int ret, expected;

	for (unsigned int bit = 0; bit < 32; bit++) {
		if (1U << bit == SEND_INLINE)
			continue;
		OK(recv_sge(self, self->mr.iova, 8, self->mr.lkey));
		abi_wrs_send(&self->w, WR_SEND, 1U << bit, 1);
		expected = 1U << bit & (SEND_FENCE | SEND_SIGNALED | SEND_SOLICITED) ? 0 : -EINVAL;
		ret = post_send(self);
		LOGGED(EXPECT_EQ(expected, ret), "flag bit %u", bit);
	}
}

TEST_F(attack, numbers_of_entries)
{
	static const __u32 bad[] = {
		17, 33, 255, 256, 65535, 65536, 0x0fffffff, 0x10000000, 0x10000001, 0x40000000,
		0x7fffffff, 0x80000000, 0xf0000000, 0xfffffffc, 0xffffffff,
	};
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_recv_wr *rwr;
	__u32 max = self->p.end[0].qp.max_send_sge;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
		abi_mr_sge(&self->w, &self->mr, 0, 8);
		wr->num_sge = bad[i];
		LOGGED(EXPECT_EQ(-EINVAL, post_send(self)), "send: %u entries", bad[i]);
		rwr = abi_wrs_recv(&self->w, 1);
		abi_mr_sge(&self->w, &self->mr, 0, 8);
		rwr->num_sge = bad[i];
		LOGGED(EXPECT_EQ(-EINVAL, post_recv(self)), "recv: %u entries", bad[i]);
	}
	/* The list has all entries, but one more than the queue allows. */
	ASSERT_GT(200, max);
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
	for (__u32 n = 0; n <= max; n++)
		abi_mr_sge(&self->w, &self->mr, 0, 8);
	EXPECT_EQ(-EINVAL, post_send(self));
	max = self->p.end[1].qp.max_recv_sge;
	abi_wrs_recv(&self->w, 1);
	for (__u32 n = 0; n <= max; n++)
		abi_mr_sge(&self->w, &self->mr, 0, 8);
	EXPECT_EQ(-EINVAL, post_recv(self));
	EXPECT_EQ(0, still_works(self));
}

TEST_F(attack, inline_lengths)
{
	__u32 max = self->p.end[0].qp.max_inline_data;
	const __u32 bad[] = {
		17, 64, max + 1, 4096, 65536, 0x7fffffff, 0x80000000,
		0xfffffff8, 0xfffffff9, 0xffffffff,
	};
	struct rdma_ep_send_wr *wr;

	/* The list holds 16 bytes. */
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
		abi_inline(&self->w, wr, "0123456789abcdef", 16);
		wr->inline_len = bad[i];
		LOGGED(EXPECT_EQ(-EINVAL, post_send(self)), "%u bytes", bad[i]);
	}
	/* Inline data together with an entry, or without the flag */
	wr = abi_wrs_send(&self->w, WR_SEND, SEND_INLINE, 1);
	abi_mr_sge(&self->w, &self->mr, 0, 8);
	wr->inline_len = 16;
	EXPECT_EQ(-EINVAL, post_send(self));
	wr->send_flags = 0;
	EXPECT_EQ(-EINVAL, post_send(self));
	/* A READ has no inline data. */
	wr = abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED, 1);
	abi_remote(wr, &self->mr, 0);
	abi_inline(&self->w, wr, "0123456789abcdef", 16);
	EXPECT_EQ(-EINVAL, post_send(self));
	EXPECT_EQ(0, still_works(self));
}

TEST_F(attack, buffers)
{
	struct rdma_ep_cmd_query q = {};
	struct rdma_ep_cmd_post good = { .handle = self->qp, .num = 3 }, p;
	static const __u32 too_many[] = { 4, 1000, 0x80000000, ~0U };
	char *page;

	OK(ABI(self->s.fd, QUERY, &q));
#define EXPECT_REFUSED(_errno) ({					\
	LOGGED(EXPECT_EQ(_errno, ABI(self->s.fd, POST_SEND, &p)), "length %u", p.wrs_len); \
	EXPECT_EQ(0, p.posted);						\
})
	abi_wrs_init(&self->w);
	/* SENDs without receives would end an iWARP connection. */
	for (size_t i = 0; i < 3; i++)
		abi_send_wr(&self->w, WR_RDMA_WRITE, SEND_SIGNALED, i);
	good.wrs = (uintptr_t)self->w.buf;
	good.wrs_len = self->w.len;

	p = good;
	p.num = 0;
	EXPECT_REFUSED(-EINVAL);
	/* Not even the first one fits. */
	p = good;
	for (p.wrs_len = 0; p.wrs_len < sizeof(struct rdma_ep_send_wr); p.wrs_len += 7)
		EXPECT_REFUSED(-EINVAL);
	p.wrs_len = q.max_post_bytes + 1;
	EXPECT_REFUSED(-E2BIG);
	p.wrs_len = ~0U;
	EXPECT_REFUSED(-E2BIG);

	page = abi_map(8192);
	munmap(page + 4096, 4096);
	memcpy(page + 4096 - good.wrs_len + 8, self->w.buf, good.wrs_len - 8);
	p = good;
	p.wrs = (uintptr_t)page + 4096 - good.wrs_len + 8;
	EXPECT_REFUSED(-EFAULT);
	p.wrs = 0;
	EXPECT_REFUSED(-EFAULT);
	p.wrs = 0xffff888000000000ULL;
	EXPECT_REFUSED(-EFAULT);
#undef EXPECT_REFUSED

	/* The list has three requests: the fourth fails. */
	for (size_t i = 0; i < ARRAY_SIZE(too_many); i++) {
		p = good;
		p.num = too_many[i];
		EXPECT_EQ(-EINVAL, ABI(self->s.fd, POST_SEND, &p));
		LOGGED(EXPECT_EQ(3, p.posted), "%u announced", too_many[i]);
	}
}

TEST_F(attack, reserved)
{
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1)->reserved = 1;
	EXPECT_EQ(-EINVAL, post_send(self));
	abi_wrs_recv(&self->w, 1)->reserved = 0x80000000;
	EXPECT_EQ(-EINVAL, post_recv(self));
}

/* The requests before the bad one are posted, those behind it are not. */
TEST_F(attack, one_bad_in_a_list)
{
	struct rdma_ep_wc wc[8];
	__u32 posted;

	for (__u32 bad = 0; bad < 6; bad++) {
		abi_wrs_init(&self->w);
		for (__u32 i = 0; i < 6; i++) {
			abi_recv_wr(&self->w, 100 * bad + i);
			abi_sge(&self->w, self->mr.iova + 64 * i, 64, i == bad ? 0 : self->mr.lkey);
		}
		EXPECT_EQ(-EINVAL, ABI_POST(&self->s, RECV, self->peer, &self->w, &posted));
		EXPECT_EQ(bad, posted);
		abi_wrs_init(&self->w);
		for (__u32 i = 0; i < 6; i++) {
			abi_send_wr(&self->w, i == bad ? 7 : WR_SEND,
				    SEND_SIGNALED, 1000 * bad + i);
			abi_mr_sge(&self->w, &self->mr, 4096, 8 + i);
		}
		EXPECT_EQ(-EINVAL, ABI_POST(&self->s, SEND, self->qp, &self->w, &posted));
		EXPECT_EQ(bad, posted);
		ASSERT_EQ(bad, abi_wait(&self->s, self->p.end[1].cq[1], wc, bad));
		for (__u32 i = 0; i < bad; i++) {
			EXPECT_EQ(100 * bad + i, wc[i].wr_id);
			EXPECT_EQ(8 + i, wc[i].byte_len);
			EXPECT_EQ(WC_SUCCESS, wc[i].status);
		}
		ASSERT_EQ(bad, abi_wait(&self->s, self->p.end[0].cq[0], wc, bad));
		for (__u32 i = 0; i < bad; i++)
			EXPECT_EQ(1000 * bad + i, wc[i].wr_id);
	}
	EXPECT_EQ(0, still_works(self));
}

/* RDMA_EP_POST_ALL: all parts of a long list are checked before anything of it is posted. */
TEST(long_list)
{
	enum { NUM = 1000, BAD = NUM - 10 };
	struct abi_pair pair = { .max_wr = NUM };
	struct rdma_ep_cmd_post good, p;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc;
	size_t size = 32 * 4096;
	char *map;
	struct abi s;

	OK(abi_open(&s));
	OK(abi_pair_open(&s, &pair));
	map = abi_map(size + 4096);
	mprotect(map + size, 4096, PROT_NONE);
	wr = (struct rdma_ep_send_wr *)(map + size) - NUM;
	for (int i = 0; i < NUM; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = WR_RDMA_WRITE;
		wr[i].send_flags = i == NUM - 1 ? SEND_SIGNALED : 0;
	}
	good = (struct rdma_ep_cmd_post) {
		.flags = RDMA_EP_POST_ALL, .wrs = (uintptr_t)wr, .wrs_len = NUM * sizeof(*wr),
		.handle = pair.end[0].qp.qp, .num = NUM,
	};
#define EXPECT_REFUSED(_errno) ({					\
	EXPECT_EQ(_errno, ABI(s.fd, POST_SEND, &p));			\
	EXPECT_EQ(0, p.posted);						\
})
#define EXPECT_BAD(_field, _value) ({					\
	p = good;							\
	wr[BAD]._field = _value;					\
	EXPECT_REFUSED(-EINVAL);					\
	wr[BAD]._field = 0;						\
})
	EXPECT_BAD(num_sge, 1);
	EXPECT_BAD(num_sge, ~0U);
	EXPECT_BAD(inline_len, ~0U);
	EXPECT_BAD(reserved, 1);
	p = good;
	p.wrs_len--;
	EXPECT_REFUSED(-EINVAL);
	p.wrs_len = ~0U;
	EXPECT_REFUSED(-EFAULT);
	p = good;
	p.num = pair.end[0].qp.max_send_wr + 1;
	EXPECT_REFUSED(-ENOMEM);
	p = good;
	p.flags = 0;
	EXPECT_REFUSED(-E2BIG);
	EXPECT_EQ(0, abi_poll(&s, pair.end[0].cq[0], &wc, 1));

	p = good;
	EXPECT_EQ(0, ABI(s.fd, POST_SEND, &p));
	EXPECT_EQ(NUM, p.posted);
	EXPECT_WC(&s, pair.end[0].cq[0], NUM - 1, WC_SUCCESS);
	mprotect(map + size - 4096, 4096, PROT_NONE);
	p = good;
	EXPECT_REFUSED(-EFAULT);
#undef EXPECT_BAD
#undef EXPECT_REFUSED
	abi_close(&s);
}

TEST_HARNESS_MAIN
