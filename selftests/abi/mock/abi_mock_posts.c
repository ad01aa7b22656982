// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests that must not reach a driver. rxe and siw refuse most of them on their own; the
 * mock device accepts all but entries of no bytes, and counts calls. Other tests check
 * the contents of completions, and references that a post holds while the driver works.
 */
#include "abi_test.h"
#include "abi_mock.h"

#define LEN	8192
/* Limits of the QPs, below those of the device */
#define SGES	4
#define INLINE	64

/* Two QPs, each connected to itself: [0] with a receive queue, [1] with the SRQ */
FIXTURE(posts) {
	struct abi s;
	struct rdma_ep_qp_init qp[2];
	__u32 cq[2];
	__u32 srq;
	char *mem;			/* LEN bytes, registered */
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
};

static const struct queue {
	const char *name;
	const char *op;			/* of the driver */
	unsigned long cmd;
} queues[] = {
	{ "SEND", "post_send", RDMA_EP_IOC_POST_SEND },
	{ "RECV", "post_recv", RDMA_EP_IOC_POST_RECV },
	{ "SRQ_RECV", "post_srq_recv", RDMA_EP_IOC_POST_SRQ_RECV },
};

enum { SEND, RECV, SRQ_RECV };

static int make_qp(struct _test_data_posts *self, int i)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_cq(s, -1, 64, 0, &self->cq[i]);
	abi_qp_attr(&c, QPT_RC, s->pd, self->cq[i], self->cq[i]);
	c.init.max_send_sge = SGES;
	c.init.max_recv_sge = SGES;
	c.init.max_inline_data = INLINE;
	c.init.srq = i ? self->srq : 0;
	ret = ret ?: ABI(s->fd, CREATE_QP, &c) ?:
	      abi_qp_init(s, c.init.qp, QPT_RC, 0) ?:
	      abi_qp_rts(s, c.init.qp, QPT_RC, c.init.qp_num);
	self->qp[i] = c.init;
	return ret;
}

FIXTURE_SETUP(posts)
{
	struct rdma_ep_cmd_create_srq c = { .max_wr = 16, .max_sge = SGES };
	struct abi *s = &self->s;

	s->fd = -1;
	OK(mock_load());
	OK(mock_new(""));
	OK(abi_open(s));
	c.pd = s->pd;
	OK(ABI(s->fd, CREATE_SRQ, &c));
	ASSERT_EQ(SGES, c.max_sge);
	self->srq = c.srq;
	OK(make_qp(self, 0));
	OK(make_qp(self, 1));
	ASSERT_EQ(SGES, self->qp[0].max_send_sge);
	ASSERT_EQ(SGES, self->qp[0].max_recv_sge);
	ASSERT_EQ(INLINE, self->qp[0].max_inline_data);
	self->mem = abi_map(LEN);
	OK(abi_reg_mr(s, s->pd, self->mem, LEN, AC_ALL, &self->mr));
}

FIXTURE_TEARDOWN(posts)
{
	abi_close(&self->s);
	mock_unload();
}

/* ---- one request at a time */

static void begin(struct _test_data_posts *self, int q)
{
	abi_wrs_init(&self->w);
	if (q == SEND)
		abi_send_wr(&self->w, WR_SEND, SEND_SIGNALED, 1);
	else
		abi_recv_wr(&self->w, 2);
}

static struct rdma_ep_send_wr *begin_remote(struct _test_data_posts *self,
					    __u32 opcode, __u64 offset)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->w, opcode, SEND_SIGNALED, 1);
	abi_remote(wr, &self->mr, offset);
	return wr;
}

static void entry(struct _test_data_posts *self, __u64 offset, __u32 len)
{
	abi_mr_sge(&self->w, &self->mr, offset, len);
}

static void empty_entry(struct _test_data_posts *self)
{
	abi_sge(&self->w, ~0ULL, 0, 0);
}

/* Adds @num entries of 8 bytes. */
static void entries(struct _test_data_posts *self, int num)
{
	for (int n = 0; n < num; n++)
		entry(self, 100 * n, 8);
}

static int post(struct _test_data_posts *self, int q, int i)
{
	return abi_post(&self->s, queues[q].cmd,
			q == SRQ_RECV ? self->srq : self->qp[i].qp, &self->w, NULL);
}

/* Returns 0 if the post fails with -EINVAL and without a call of the driver. */
static int refused(struct _test_data_posts *self, int q)
{
	int calls = mock_calls(queues[q].op);
	int ret = post(self, q, 0);

	if (calls < 0 || mock_calls(queues[q].op) != calls) {
		fprintf(stderr, "# %s has got to the driver\n", queues[q].name);
		return -EPROTO;
	}
	return ret == -EINVAL ? 0 : -ENOTTY;
}

/* Returns 0 if the post succeeds with one call of the driver. */
static int taken(struct _test_data_posts *self, int q, int i)
{
	int calls = mock_calls(queues[q].op);
	int ret = post(self, q, i);

	return ret ?: mock_calls(queues[q].op) == calls + 1 ? 0 : -EPROTO;
}

/* Takes @num successful completions; those of receives have @len bytes. */
static int completed(struct _test_data_posts *self, int i, int num, __u32 len)
{
	struct rdma_ep_wc wc[4];

	if (abi_wait(&self->s, self->cq[i], wc, num) != num)
		return -ETIMEDOUT;
	for (int n = 0; n < num; n++)
		if (wc[n].status || (wc[n].wr_id == 2 && wc[n].byte_len != len)) {
			fprintf(stderr, "# request %d: status %u, %u bytes\n",
				(int)wc[n].wr_id, wc[n].status, wc[n].byte_len);
			return -EIO;
		}
	return 0;
}

/* ---- entries of no bytes */

/* Two entries among empty ones, which mean 2^31 bytes to some hardware */
static void entries_among_empty(struct _test_data_posts *self, __u64 offset)
{
	empty_entry(self);
	entry(self, offset, 3);
	empty_entry(self);
	entry(self, offset + 100, 5);
}

static bool arrived(struct _test_data_posts *self, __u64 offset)
{
	bool ret = !memcmp(self->mem + offset, "abc", 3) &&
		   !memcmp(self->mem + offset + 100, "defgh", 5);

	memset(self->mem + offset, 0, 200);
	return ret;
}

/* Empty entries are left out; the others keep their order. */
TEST_F(posts, empty_sge_left_out)
{
	memcpy(self->mem, "abc", 3);
	memcpy(self->mem + 100, "defgh", 5);
	for (int i = 0; i < 2; i++) {
		int recv = i ? SRQ_RECV : RECV;

		begin(self, RECV);
		entries_among_empty(self, 1000);
		OK(taken(self, recv, i));
		begin(self, SEND);
		entries_among_empty(self, 0);
		OK(taken(self, SEND, i));
		OK(completed(self, i, 2, 8));
		EXPECT_TRUE(arrived(self, 1000));

		/* An empty entry behind another one, and alone */
		begin(self, RECV);
		entry(self, 1000, 8);
		empty_entry(self);
		OK(taken(self, recv, i));
		begin(self, SEND);
		entry(self, 0, 3);
		empty_entry(self);
		OK(taken(self, SEND, i));
		OK(completed(self, i, 2, 3));
		begin(self, RECV);
		empty_entry(self);
		OK(taken(self, recv, i));
		begin(self, SEND);
		empty_entry(self);
		OK(taken(self, SEND, i));
		OK(completed(self, i, 2, 0));
	}
	/* Entries that returned data is written to */
	memcpy(self->mem + 200, "abcdefgh", 8);
	begin_remote(self, WR_RDMA_READ, 200);
	entries_among_empty(self, 1000);
	OK(taken(self, SEND, 0));
	OK(completed(self, 0, 1, 0));
	EXPECT_TRUE(arrived(self, 1000));
	begin_remote(self, WR_FETCH_AND_ADD, 200);
	entries_among_empty(self, 1000);
	OK(taken(self, SEND, 0));
	OK(completed(self, 0, 1, 0));
	EXPECT_TRUE(arrived(self, 1000));
}

/* ---- completions */

#define WCS	4
#define UNTOUCHED	0x5a

/* Takes exactly WCS completions in one call, which does not write behind them. */
static int take(struct _test_data_posts *self, struct rdma_ep_wc *wc)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = self->cq[0], .wcs = (uintptr_t)wc, .max = WCS + 1 };
	struct rdma_ep_wc none;
	int ret;

	memset(&none, UNTOUCHED, sizeof(none));
	memset(wc, UNTOUCHED, (WCS + 1) * sizeof(*wc));
	ret = ABI(self->s.fd, POLL_CQ, &p);
	if (ret || p.num != WCS)
		return ret ?: -ENODATA;
	return memcmp(&wc[WCS], &none, sizeof(none)) ? -EPROTO : 0;
}

/*
 * A completion has no data of earlier completions or of the kernel, even if the driver sets few
 * members, as for failed requests.
 */
TEST_F(posts, completion_shows_nothing_else)
{
	struct rdma_ep_wc wc[WCS + 1], want;

	for (int i = 0; i < WCS / 2; i++) {
		begin(self, RECV);
		entry(self, 1000, 8);
		OK(post(self, RECV, 0));
	}
	for (int i = 0; i < WCS / 2; i++) {
		abi_wrs_send(&self->w, WR_SEND_WITH_IMM, SEND_SIGNALED, 1)->imm_data = 0x04030201;
		entry(self, 0, 8);
		OK(post(self, SEND, 0));
	}
	OK(take(self, wc));
	for (int i = 0; i < WCS; i++) {
		want = (struct rdma_ep_wc){
			.wr_id = 1, .opcode = WC_OP_SEND, .byte_len = 8,
			.qp_num = self->qp[0].qp_num,
		};
		if (wc[i].wr_id == 2) {
			want.wr_id = 2;
			want.opcode = WC_OP_RECV;
			want.src_qp = self->qp[0].qp_num;
			want.imm_data = 0x04030201;
			want.wc_flags = WC_WITH_IMM;
		}
		LOGGED(EXPECT_EQ(0, memcmp(&want, &wc[i], sizeof(want))),
		       "completion %d of %d", i, (int)wc[i].wr_id);
	}
	for (int i = 0; i < WCS; i++) {
		begin(self, RECV);
		OK(post(self, RECV, 0));
	}
	OK(abi_qp_state(&self->s, self->qp[0].qp, QPS_ERR));
	OK(take(self, wc));
	want = (struct rdma_ep_wc){
		.wr_id = 2, .status = WC_WR_FLUSH_ERR,
		.qp_num = self->qp[0].qp_num,
	};
	for (int i = 0; i < WCS; i++)
		EXPECT_EQ(0, memcmp(&want, &wc[i], sizeof(want)));
}

/* ---- more than was granted */

/* The buffer holds all inline bytes, so that only their number can be wrong. */
TEST_F(posts, inline_data_up_to_grant)
{
	static const __u32 bad[] = { INLINE + 1, INLINE + 7, INLINE + 8, 2 * INLINE, 4096 };
	struct rdma_ep_send_wr *wr;
	char data[4096];

	memset(data, 'x', sizeof(data));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
		abi_inline(&self->w, wr, data, bad[i]);
		LOGGED(EXPECT_EQ(0, refused(self, SEND)), "SEND of %u bytes", bad[i]);
		wr = begin_remote(self, WR_RDMA_WRITE, 0);
		abi_inline(&self->w, wr, data, bad[i]);
		LOGGED(EXPECT_EQ(0, refused(self, SEND)), "WRITE of %u bytes", bad[i]);
	}
	begin(self, RECV);
	entry(self, 0, LEN);
	OK(taken(self, RECV, 0));
	wr = abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 1);
	abi_inline(&self->w, wr, data, INLINE);
	OK(taken(self, SEND, 0));
	OK(completed(self, 0, 2, INLINE));
	EXPECT_EQ(0, memcmp(self->mem, data, INLINE));
	EXPECT_EQ(0, self->mem[INLINE]);
}

/* One entry too many in the buffer, and numbers for which the buffer is too short */
TEST_F(posts, numbers_of_entries)
{
	static const __u32 bad[] = {
		SGES + 1, 17, 256, 65536, 0x0fffffff, 0x10000000, 0x10000001, 0x40000000,
		0x7fffffff, 0x80000000, 0xf0000000, 0xfffffffc, 0xfffffffe, 0xffffffff,
	};

	for (int q = SEND; q <= SRQ_RECV; q++) {
		begin(self, q);
		entries(self, SGES + 1);
		LOGGED(EXPECT_EQ(0, refused(self, q)), "%s", queues[q].name);
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			*self->w.num_sge = bad[i];
			LOGGED(EXPECT_EQ(0, refused(self, q)),
			       "%s: %u entries", queues[q].name, bad[i]);
		}
		/* An empty entry counts, too. */
		begin(self, q);
		entries(self, SGES);
		empty_entry(self);
		LOGGED(EXPECT_EQ(0, refused(self, q)), "%s, and an empty one", queues[q].name);
	}
	for (int q = SRQ_RECV; q >= SEND; q--) {
		begin(self, q);
		entries(self, SGES);
		EXPECT_EQ(0, taken(self, q, 0));
	}
	EXPECT_EQ(0, completed(self, 0, 2, 8 * SGES));
}

/* ---- memory outside of the region */

TEST_F(posts, range_outside_mr_refused)
{
	const __u64 base = self->mr.iova;
	struct abi_range bad[ABI_BAD_RANGES];

	abi_bad_ranges(base, LEN, bad);
	for (int q = SEND; q <= SRQ_RECV; q++) {
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			begin(self, q);
			abi_sge(&self->w, bad[i].addr, bad[i].len, self->mr.lkey);
			LOGGED(EXPECT_EQ(0, refused(self, q)), "%s: base%+lld, %u bytes",
			       queues[q].name, (long long)(bad[i].addr - base), bad[i].len);
		}
		/* Each entry is checked. */
		begin(self, q);
		entry(self, 0, 8);
		entry(self, LEN, 8);
		LOGGED(EXPECT_EQ(0, refused(self, q)), "%s: two entries", queues[q].name);
	}
	/* To the last byte */
	for (int q = SRQ_RECV; q >= SEND; q--) {
		begin(self, q);
		entry(self, 0, LEN);
		EXPECT_EQ(0, taken(self, q, 0));
	}
	EXPECT_EQ(0, completed(self, 0, 2, LEN));
}

TEST_F(posts, receive_into_read_only_mr_refused)
{
	static const __u32 sinks[] = { WR_RDMA_READ, WR_CMP_AND_SWP, WR_FETCH_AND_ADD };
	struct rdma_ep_cmd_reg_mr ro;

	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, 0, &ro));
	for (int q = RECV; q <= SRQ_RECV; q++) {
		begin(self, q);
		abi_mr_sge(&self->w, &ro, 0, 8);
		LOGGED(EXPECT_EQ(0, refused(self, q)), "%s", queues[q].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sinks); i++) {
		begin_remote(self, sinks[i], 0);
		abi_mr_sge(&self->w, &ro, 0, 8);
		LOGGED(EXPECT_EQ(0, refused(self, SEND)), "opcode %u", sinks[i]);
	}
	begin(self, RECV);
	entry(self, 0, 8);
	OK(taken(self, RECV, 0));
	begin(self, SEND);
	abi_mr_sge(&self->w, &ro, 0, 8);
	OK(taken(self, SEND, 0));
	EXPECT_EQ(0, completed(self, 0, 2, 8));
}

/* Nor does it become one: the driver would write to memory that is pinned for reading. */
TEST_F(posts, read_only_mr_not_made_writable)
{
	struct rdma_ep_cmd_rereg_mr r = { .flags = RDMA_EP_REREG_ACCESS };
	struct rdma_ep_cmd_reg_mr ro;

	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, 0, &ro));
	r.mr = ro.mr;
	EXPECT_EQ(-EACCES, ABI_WITH(self->s.fd, REREG_MR, r, access, AC_LOCAL_WRITE));
	EXPECT_EQ(0, mock_calls("rereg_user_mr"));
	EXPECT_EQ(0, ABI_WITH(self->s.fd, REREG_MR, r, access, AC_REMOTE_READ));
	begin(self, RECV);
	abi_mr_sge(&self->w, &ro, 0, 8);
	EXPECT_EQ(0, refused(self, RECV));
}

/* ---- atomics */

TEST_F(posts, atomic_size_and_alignment_checked)
{
	static const __u32 opcodes[] = { WR_CMP_AND_SWP, WR_FETCH_AND_ADD };
	__u64 *target = (__u64 *)self->mem, *old = target + 100;
	struct rdma_ep_send_wr *wr;

	*target = 5;
	for (__u32 i = 0; i < ARRAY_SIZE(opcodes); i++) {
		/* No room for the old value */
		for (__u32 len = 0; len < 8; len++) {
			begin_remote(self, opcodes[i], 0);
			entry(self, 800, len);
			LOGGED(EXPECT_EQ(0, refused(self, SEND)),
			       "opcode %u: %u bytes", opcodes[i], len);
			begin_remote(self, opcodes[i], 0);
			entry(self, 800, len / 2);
			entry(self, 900, len - len / 2);
			LOGGED(EXPECT_EQ(0, refused(self, SEND)),
			       "opcode %u: %u bytes in two", opcodes[i], len);
		}
		begin_remote(self, opcodes[i], 0);
		EXPECT_EQ(0, refused(self, SEND));
		/* Remote address not aligned */
		for (__u32 len = 1; len < 8; len++) {
			begin_remote(self, opcodes[i], len);
			entry(self, 800, 8);
			LOGGED(EXPECT_EQ(0, refused(self, SEND)),
			       "opcode %u: %u bytes off", opcodes[i], len);
		}
		EXPECT_EQ(5, *target);

		wr = begin_remote(self, opcodes[i], 0);
		wr->compare_add = 5;
		wr->swap = 10;
		entry(self, 800, 8);
		OK(taken(self, SEND, 0));
		OK(completed(self, 0, 1, 0));
		EXPECT_EQ(5, *old);
		EXPECT_EQ(10, *target);
		*target = 5;
	}
}

/* ---- address handles that are destroyed while a post uses them */

struct datagram {
	const struct abi *s;
	__u32 pd, cq, qp, ah;
	struct abi_wrs w;
	struct rdma_ep_cmd_post post;
	struct abi_call call;
};

/* Returns once another thread is in the post, which @slow delays. */
static int begin_datagram(struct datagram *d, int (*slow)(int ms))
{
	const struct abi *s = d->s;
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_alloc_pd(s, s->ctx, &d->pd) ?:
	      abi_create_cq(s, -1, 16, 0, &d->cq) ?:
	      abi_create_ah(s, d->pd, &d->ah);
	if (ret)
		return ret;
	abi_qp_attr(&c, QPT_UD, d->pd, d->cq, d->cq);
	ret = ABI(s->fd, CREATE_QP, &c) ?:
	      abi_qp_init(s, c.init.qp, QPT_UD, 1) ?:
	      abi_qp_rts(s, c.init.qp, QPT_UD, 0) ?:
	      slow(2000);
	d->qp = c.init.qp;
	abi_wrs_send(&d->w, WR_SEND, SEND_SIGNALED, 1)->ah = d->ah;
	d->post = (struct rdma_ep_cmd_post) {
		.wrs = (uintptr_t)d->w.buf, .wrs_len = d->w.len, .num = 1, .handle = d->qp,
	};
	return ret ?: ABI_CALL(&d->call, s, POST_SEND, &d->post) ?:
	       mock_wait_stalled("post_send", 1);
}

/* If false, the post may have ended before the results were read. */
static bool still_posting(const struct datagram *d)
{
	return mock_read("stall/post_send") == 1 && !d->call.done;
}

static int end_datagram(struct datagram *d, int (*slow)(int ms))
{
	return slow(0) ?: abi_call_returned(&d->call) ? d->call.ret : -ETIMEDOUT;
}

/* The handle ends at once; the driver's AH and its PD live until the post ends. */
static void destroy_meanwhile(struct __test_metadata *_metadata, const struct abi *s,
			      int (*slow)(int ms), bool without_qp)
{
	struct datagram d = { .s = s };
	bool posting = false;
	int ah, pd;

	/* Repeat if the host paused the guest, or ksoftirqd ran the tasklet. */
	for (int round = 0; round < 10 && !posting; round++) {
		OK(begin_datagram(&d, slow));
		if (without_qp)
			EXPECT_EQ(0, ABI_DESTROY(s, QP, d.qp));
		EXPECT_EQ(0, ABI_DESTROY(s, AH, d.ah));
		EXPECT_EQ(-ENOENT, ABI_DESTROY(s, AH, d.ah));
		pd = ABI_DESTROY(s, PD, d.pd);
		ah = mock_read_key("count", "ah");
		posting = still_posting(&d);
		EXPECT_EQ(0, end_datagram(&d, slow));
		if (posting) {
			EXPECT_EQ(-EBUSY, pd);
			EXPECT_EQ(1, ah);
		}
		EXPECT_EQ(0, mock_read_key("count", "ah"));
		if (!without_qp)
			EXPECT_EQ(0, ABI_DESTROY(s, QP, d.qp));
		if (pd)
			EXPECT_EQ(0, ABI_DESTROY(s, PD, d.pd));
		EXPECT_EQ(0, ABI_DESTROY(s, CQ, d.cq));
	}
	EXPECT_TRUE(posting);
}

/* The driver is using the AH. Destroying the QP would wait for it, so the QP stays. */
TEST_F(posts, ah_destroyed_while_driver_posts)
{
	SKIP_IF(abi_one_cpu(), "one CPU: nothing happens meanwhile");
	destroy_meanwhile(_metadata, &self->s, mock_post_ms, false);
}

/* The driver is done with the AH, and the PD has no other object. */
TEST_F(posts, ah_in_use_keeps_its_pd)
{
	SKIP_IF(abi_one_cpu(), "one CPU: nothing happens meanwhile");
	destroy_meanwhile(_metadata, &self->s, mock_after_ms, true);
}

TEST_HARNESS_MAIN
