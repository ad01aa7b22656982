// SPDX-License-Identifier: GPL-2.0-only
/*
 * The opcodes, flags and states with which a QP accepts a request, and the end of requests when
 * the QP is moved to another state or destroyed.
 */
#include "abi_test.h"

#define LEN	4096
#define QKEY	0x11111111

/* Two QPs without ids, which send to each other */
struct raw {
	struct abi s;
	__u32 type;
	__u32 cq;
	struct rdma_ep_qp_init qp[2];
	__u32 ah;
	char *buf;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
};

FIXTURE(type) {
	struct raw raw;
};

FIXTURE_VARIANT(type) {
	__u32 type;
	__u32 opcodes;		/* allowed ones */
};

#define OP(_name) (1U << WR_##_name)

/* These write to local memory, and have no inline data. */
#define SINKS	(OP(RDMA_READ) | OP(CMP_AND_SWP) | OP(FETCH_AND_ADD))
/* These use a receive of the peer. */
#define MESSAGES \
	(OP(SEND) | OP(SEND_WITH_IMM) | OP(SEND_WITH_INV) | OP(RDMA_WRITE_WITH_IMM))
#define RC_OPCODES \
	(OP(SEND) | OP(SEND_WITH_IMM) | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | \
	 OP(RDMA_READ) | OP(CMP_AND_SWP) | OP(FETCH_AND_ADD) | OP(SEND_WITH_INV))
#define IWARP_OPCODES \
	(OP(SEND) | OP(RDMA_WRITE) | OP(RDMA_READ) | OP(SEND_WITH_INV))
#define ALL_FLAGS	(SEND_FENCE | SEND_SIGNALED | SEND_SOLICITED | SEND_INLINE)

FIXTURE_VARIANT_ADD(type, rc) { .type = QPT_RC, .opcodes = RC_OPCODES };

FIXTURE_VARIANT_ADD(type, uc) {
	.type = QPT_UC,
	.opcodes = OP(SEND) | OP(SEND_WITH_IMM) | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM),
};

FIXTURE_VARIANT_ADD(type, ud) { .type = QPT_UD, .opcodes = OP(SEND) | OP(SEND_WITH_IMM) };

static int create(struct raw *r, struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_qp(&r->s, r->type, r->cq, 0, &c);
	*init = c.init;
	return ret;
}

static int map_buf(struct raw *r)
{
	r->buf = abi_map(LEN);
	return abi_reg_mr(&r->s, r->s.pd, r->buf, LEN, AC_ALL, &r->mr);
}

static int setup(struct raw *r, __u32 type)
{
	r->type = type;
	return abi_create_cq(&r->s, -1, 128, 0, &r->cq) ?:
	       abi_create_ah(&r->s, r->s.pd, &r->ah) ?:
	       create(r, &r->qp[0]) ?:
	       create(r, &r->qp[1]) ?:
	       map_buf(r);
}

FIXTURE_SETUP(type)
{
	OK(abi_open(&self->raw.s));
	if (self->raw.s.iwarp)
		SKIP_FIXTURE("the CM moves iWARP's QPs");
	OK(setup(&self->raw, variant->type));
}

FIXTURE_TEARDOWN(type)
{
	abi_close(&self->raw.s);
}

FIXTURE(datagram) {
	struct raw raw;
};

FIXTURE_SETUP(datagram)
{
	OK(abi_open(&self->raw.s));
	if (self->raw.s.iwarp)
		SKIP_FIXTURE("iWARP has no datagrams");
	OK(setup(&self->raw, QPT_UD));
}

FIXTURE_TEARDOWN(datagram)
{
	abi_close(&self->raw.s);
}

static int to_init(struct raw *r, int i)
{
	return abi_qp_init(&r->s, r->qp[i].qp, r->type, QKEY);
}

static int to_rts(struct raw *r, int i)
{
	return abi_qp_rts(&r->s, r->qp[i].qp, r->type, r->qp[!i].qp_num);
}

static int ready(struct raw *r)
{
	return to_init(r, 0) ?: to_init(r, 1) ?: to_rts(r, 0) ?: to_rts(r, 1);
}

/* Builds a send in which only opcode and flags may be wrong. */
static struct rdma_ep_send_wr *build_flags(struct raw *r, __u32 opcode, __u32 flags, __u64 wr_id)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&r->w, opcode, flags, wr_id);
	if (r->type == QPT_UD) {
		wr->ah = r->ah;
		wr->remote_qpn = r->qp[1].qp_num;
		wr->remote_qkey = QKEY;
	} else {
		abi_remote(wr, &r->mr, 1024);
	}
	if (flags & SEND_INLINE)
		abi_inline(&r->w, wr, "12345678", 8);
	else
		abi_mr_sge(&r->w, &r->mr, 0, 8);
	return wr;
}

static struct rdma_ep_send_wr *build(struct raw *r, __u32 opcode, __u64 wr_id)
{
	return build_flags(r, opcode, SEND_SIGNALED, wr_id);
}

static int post_send(struct raw *r)
{
	return ABI_POST(&r->s, SEND, r->qp[0].qp, &r->w, NULL);
}

static int post_recv(struct raw *r, int i, __u64 wr_id)
{
	return abi_post_recv(&r->s, r->qp[i].qp, wr_id, r->mr.iova + 2048, 1024, r->mr.lkey);
}

static bool has(__u32 set, __u32 op)
{
	return op < 32 && (set & (1U << op));
}

/* The rules of rdma_ep.h for flags, and of ibv_post_send(3) for inline data */
static bool allowed(const struct abi *s, __u32 opcodes, __u32 op, __u32 flags)
{
	if (!has(opcodes, op) || (flags & ~ALL_FLAGS) || ((flags & SEND_INLINE) && has(SINKS, op)))
		return false;
	return !s->iwarp || !(((flags & SEND_FENCE) && op == WR_RDMA_READ) ||
			      ((flags & SEND_INLINE) && op == WR_SEND_WITH_INV));
}

/* The request succeeds, and completes only if signalled; the message after it completes. */
static void expect_done(struct __test_metadata *_metadata, struct raw *r, __u32 op, __u32 flags)
{
	int i, want = 2 + has(MESSAGES, op) + !!(flags & SEND_SIGNALED);
	struct rdma_ep_wc wc[4];

	for (i = 0; i < 1 + has(MESSAGES, op); i++)
		OK(post_recv(r, 1, 1000));
	build_flags(r, op, flags, 1);
	LOGGED(ASSERT_EQ(0, post_send(r)), "opcode 0x%x, flags 0x%x", op, flags);
	build(r, WR_SEND, 2);
	OK(post_send(r));
	LOGGED(ASSERT_EQ(want, abi_wait(&r->s, r->cq, wc, want)),
	       "opcode 0x%x, flags 0x%x", op, flags);
	for (i = 0; i < want; i++) {
		LOGGED(EXPECT_EQ(WC_SUCCESS, wc[i].status), "opcode 0x%x, flags 0x%x", op, flags);
		EXPECT_TRUE(wc[i].wr_id != 1 || (flags & SEND_SIGNALED));
	}
}

/* The QP is in ERR: it accepts any request, and flushes it. */
static void expect_flushed(struct __test_metadata *_metadata, struct raw *r, __u32 op, __u32 flags)
{
	build_flags(r, op, flags, 3);
	LOGGED(ASSERT_EQ(0, post_send(r)), "opcode 0x%x, flags 0x%x", op, flags);
	EXPECT_WC(&r->s, r->cq, 3, WC_WR_FLUSH_ERR);
}

/* Tests each opcode with all combinations of flags, and with each unknown bit. */
static void cross(struct __test_metadata *_metadata, struct raw *r, __u32 opcodes, bool in_error)
{
	static const __u32 far[] = {
		0xf0, 0xf1, 0xff, 0x100, 0x102, 0x10002, 0x7fffffff,
		0x80000002, 0xfffffffe, 0xffffffff,
	};
	__u32 op, flags;

	for (size_t i = 0; i < 256 + ARRAY_SIZE(far); i++) {
		op = i < 256 ? i : far[i - 256];
		for (__u32 n = 0; n <= ALL_FLAGS + 28; n++) {
			flags = n <= ALL_FLAGS ? n : SEND_SIGNALED | 1U << (n - ALL_FLAGS + 3);
			if (!allowed(&r->s, opcodes, op, flags)) {
				build_flags(r, op, flags, op);
				LOGGED(EXPECT_EQ(-EINVAL, post_send(r)),
				       "opcode 0x%x, flags 0x%x", op, flags);
			} else if (in_error) {
				expect_flushed(_metadata, r, op, flags);
			} else if (op != WR_SEND_WITH_INV) {
				/* No key of user memory can be invalidated. */
				expect_done(_metadata, r, op, flags);
			}
		}
	}
}

TEST_F(type, opcodes)
{
	struct raw *r = &self->raw;

	OK(ready(r));
	cross(_metadata, r, variant->opcodes, false);
}

/*
 * The same for a QP of a connection, also over iWARP, where only the CM moves a QP to RTS. The
 * QP is in ERR, where keys do not matter.
 */
TEST(opcodes_of_a_connection)
{
	struct raw *r = calloc(1, sizeof(*r));
	struct abi_pair p = {};

	ASSERT_NE(NULL, r);
	OK(abi_open(&r->s));
	OK(abi_pair_open(&r->s, &p));
	r->type = QPT_RC;
	r->qp[0] = p.end[0].qp;
	r->cq = p.end[0].cq[0];
	OK(map_buf(r));
	OK(abi_qp_state(&r->s, r->qp[0].qp, QPS_ERR));
	cross(_metadata, r, r->s.iwarp ? IWARP_OPCODES : RC_OPCODES, true);
	abi_close(&r->s);
	free(r);
}

TEST_F(type, states)
{
	struct raw *r = &self->raw;
	struct rdma_ep_wc wc[4];
	__u32 posted;

	/* RESET: neither sends nor receives */
	build(r, WR_SEND, 1);
	EXPECT_EQ(-EINVAL, ABI_POST(&r->s, SEND, r->qp[0].qp, &r->w, &posted));
	EXPECT_EQ(0, posted);
	EXPECT_EQ(-EINVAL, post_recv(r, 0, 2));
	/* INIT: receives */
	OK(to_init(r, 0));
	EXPECT_EQ(-EINVAL, post_send(r));
	EXPECT_EQ(0, post_recv(r, 0, 3));
	/* RTS: both */
	OK(to_init(r, 1));
	OK(to_rts(r, 0));
	OK(to_rts(r, 1));
	EXPECT_EQ(0, post_recv(r, 1, 4));
	EXPECT_EQ(0, post_send(r));
	ASSERT_EQ(2, abi_wait(&r->s, r->cq, wc, 2));
	EXPECT_EQ(1 + 4, wc[0].wr_id + wc[1].wr_id);
	/* ERR: both, which are flushed */
	OK(abi_qp_state(&r->s, r->qp[0].qp, QPS_ERR));
	build(r, WR_SEND, 5);
	EXPECT_EQ(0, post_send(r));
	EXPECT_EQ(0, post_recv(r, 0, 6));
	ASSERT_EQ(3, abi_wait(&r->s, r->cq, wc, 3));
	EXPECT_EQ(3 + 5 + 6, wc[0].wr_id + wc[1].wr_id + wc[2].wr_id);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[i].status);
	OK(abi_qp_state(&r->s, r->qp[0].qp, QPS_RESET));
	EXPECT_EQ(-EINVAL, post_send(r));
	EXPECT_EQ(-EINVAL, post_recv(r, 0, 7));
}

/*
 * rxe does not check cur_qp_state, and from Linux 6.12 on accepts any attribute if the state
 * stays: a QP in ERR would continue with flushed queues, a responder would lose resources that it
 * is using. (RXE-17)
 */
TEST_F(type, wrong_current_state_refused)
{
	struct raw *r = &self->raw;
	bool rc = r->type == QPT_RC;

#define MODIFY(_mask, ...) ({						\
	const struct ib_uverbs_qp_attr __attr = { .qp_attr_mask = (_mask), ##__VA_ARGS__ }; \
									\
	abi_modify_qp(&r->s, r->qp[0].qp, &__attr);			\
})
	/* In RESET only the state can be changed. */
	EXPECT_EQ(-EINVAL, MODIFY(QP_SQ_PSN));
	EXPECT_EQ(-EINVAL, MODIFY(QP_TIMEOUT | QP_RETRY_CNT));
	OK(ready(r));
	EXPECT_EQ(-EINVAL, MODIFY(QP_SQ_PSN));
	EXPECT_EQ(-EOPNOTSUPP, MODIFY(QP_MAX_DEST_RD_ATOMIC, .max_dest_rd_atomic = 4));
	EXPECT_EQ(-EOPNOTSUPP, MODIFY(QP_MAX_DEST_RD_ATOMIC | QP_CUR_STATE,
				      .max_dest_rd_atomic = 4, .cur_qp_state = QPS_SQD));
	/* RTS allows this attribute. */
	if (rc)
		EXPECT_EQ(0, MODIFY(QP_MIN_RNR_TIMER, .min_rnr_timer = 7));
	/* The correct current state is accepted. */
	EXPECT_EQ(0, MODIFY(QP_STATE | QP_CUR_STATE, .cur_qp_state = QPS_RTS, .qp_state = QPS_RTS));
	OK(abi_qp_state(&r->s, r->qp[0].qp, QPS_ERR));
	EXPECT_EQ(-EINVAL, MODIFY(QP_STATE | QP_CUR_STATE | QP_SQ_PSN |
				  (rc ? QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY |
				   QP_MAX_QP_RD_ATOMIC : 0),
				  .cur_qp_state = QPS_RTR, .qp_state = QPS_RTS));
#undef MODIFY
}

/* Requests end without completions, and their slots are free again. */
TEST_F(type, reset_empties_queues)
{
	struct raw *r = &self->raw;
	__u32 depth = r->qp[0].max_recv_wr, i;
	struct rdma_ep_wc wc;

	ASSERT_GE(100, depth);
	OK(to_init(r, 0));
	for (i = 0; i < depth; i++)
		OK(post_recv(r, 0, i));
	EXPECT_EQ(-ENOMEM, post_recv(r, 0, i));
	OK(abi_qp_state(&r->s, r->qp[0].qp, QPS_RESET));
	usleep(20000);
	EXPECT_EQ(0, abi_poll(&r->s, r->cq, &wc, 1));
	OK(to_init(r, 0));
	for (i = 0; i < depth; i++)
		OK(post_recv(r, 0, i));
	EXPECT_EQ(-ENOMEM, post_recv(r, 0, i));
}

/* The CQ of a destroyed QP and another one has no completions but those of their requests. */
TEST_F(type, destroy_with_completions)
{
	struct raw *r = &self->raw;
	struct rdma_ep_wc wc[64];
	unsigned int seen[2] = {};
	int n, which;

	for (which = 0; which < 2; which++) {
		OK(to_init(r, which));
		for (int i = 0; i < 8; i++)
			OK(post_recv(r, which, which * 1000 + i));
		OK(abi_qp_state(&r->s, r->qp[which].qp, QPS_ERR));
	}
	OK(ABI_DESTROY(&r->s, QP, r->qp[0].qp));
	/* New QPs reuse its number and its memory. */
	for (int i = 0; i < 4; i++) {
		struct rdma_ep_qp_init other;

		OK(create(r, &other));
	}
	usleep(100000);
	n = abi_poll(&r->s, r->cq, wc, 64);
	ASSERT_LE(8, n);
	for (int i = 0; i < n; i++) {
		which = wc[i].wr_id / 1000;
		ASSERT_GT(2, which);
		ASSERT_GT(8, wc[i].wr_id % 1000);
		seen[which] |= 1U << wc[i].wr_id % 1000;
		EXPECT_EQ(r->qp[which].qp_num, wc[i].qp_num);
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[i].status);
	}
	EXPECT_EQ(0xff, seen[1]);
	EXPECT_EQ(n, __builtin_popcount(seen[0]) + 8);
	EXPECT_EQ(0, abi_poll(&r->s, r->cq, wc, 64));
}

TEST_F(datagram, ah_of_other_pd_refused)
{
	struct raw *r = &self->raw;
	struct rdma_ep_send_wr *wr;
	struct abi other;
	__u32 pd, ah, foreign, gone;

	OK(ready(r));
	OK(abi_alloc_pd(&r->s, r->s.ctx, &pd));
	OK(abi_create_ah(&r->s, pd, &ah));
	OK(abi_create_ah(&r->s, r->s.pd, &gone));
	OK(ABI_DESTROY(&r->s, AH, gone));
	OK(abi_open(&other));
	for (int i = 0; i < 100; i++)
		OK(abi_create_ah(&other, other.pd, &foreign));
	wr = build(r, WR_SEND, 1);

	const __u32 bad[] = { ah, 0, foreign, gone, r->s.pd, r->qp[0].qp, ~0U };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wr->ah = bad[i];
		LOGGED(EXPECT_EQ(-EINVAL, post_send(r)), "address handle %zu", i);
	}
	wr->ah = r->ah;
	EXPECT_EQ(0, post_send(r));
}

/* Posts a receive (10) and a send (11) to it. */
static int post_datagram(struct raw *r)
{
	struct rdma_ep_send_wr *wr;

	strcpy(r->buf, "gram");
	memset(r->buf + 2048, 0, 1024);
	wr = build(r, WR_SEND_WITH_IMM, 11);
	wr->imm_data = 0x5678;
	return post_recv(r, 1, 10) ?: post_send(r);
}

static void expect_datagram(struct __test_metadata *_metadata, struct raw *r,
			    const struct rdma_ep_wc wc[2])
{
	int first = wc[0].wr_id == 11 ? 0 : 1;
	const struct rdma_ep_wc *send = &wc[first], *recv = &wc[!first];

	EXPECT_EQ(11, send->wr_id);
	EXPECT_EQ(WC_SUCCESS, send->status);
	EXPECT_EQ(10, recv->wr_id);
	EXPECT_EQ(WC_SUCCESS, recv->status);
	EXPECT_EQ(WC_OP_RECV, recv->opcode);
	EXPECT_EQ(GRH_BYTES + 8, recv->byte_len);
	EXPECT_EQ(r->qp[0].qp_num, recv->src_qp);
	EXPECT_EQ(WC_GRH | WC_WITH_IMM, recv->wc_flags);
	EXPECT_EQ(0x5678, recv->imm_data);
	EXPECT_STREQ("gram", r->buf + 2048 + GRH_BYTES);
}

TEST_F(datagram, datagram_received)
{
	struct raw *r = &self->raw;
	struct rdma_ep_wc wc[2];

	OK(ready(r));
	OK(post_datagram(r));
	ASSERT_EQ(2, abi_wait(&r->s, r->cq, wc, 2));
	expect_datagram(_metadata, r, wc);
}

/*
 * The AH may be destroyed right after the post: the datagram has been sent, or the request fails.
 * rxe looks the AH up when it sends. Newer versions send in a work item, and the QP enters ERR:
 * the request completes with its own error or is flushed.
 */
TEST_F(datagram, ah_destroyed_after_post)
{
	struct raw *r = &self->raw;
	struct rdma_ep_wc wc[2];

	OK(ready(r));
	OK(post_datagram(r));
	EXPECT_EQ(0, ABI_DESTROY(&r->s, AH, r->ah));
	ASSERT_EQ(1, abi_wait(&r->s, r->cq, wc, 1));
	if (wc[0].wr_id == 11 && wc[0].status != WC_SUCCESS) {
		EXPECT_TRUE(wc[0].status == WC_LOC_QP_OP_ERR || wc[0].status == WC_WR_FLUSH_ERR);
		usleep(ABI_QUIET_MS * 1000);
		EXPECT_EQ(0, abi_poll(&r->s, r->cq, wc, 2));
		return;
	}
	LOGGED(ASSERT_EQ(1, abi_wait(&r->s, r->cq, wc + 1, 1)),
	       "only request %llu, status %u", wc[0].wr_id, wc[0].status);
	expect_datagram(_metadata, r, wc);
}

TEST_F(datagram, privileged_qkey)
{
	struct raw *r = &self->raw;
	struct rdma_ep_send_wr *wr;
	__u32 posted;

	OK(ready(r));
	wr = build(r, WR_SEND, 1);
	wr->remote_qkey = 0x80000000 | QKEY;
	EXPECT_EQ(0, post_send(r));
	OK(abi_become_nobody());
	EXPECT_EQ(-EPERM, ABI_POST(&r->s, SEND, r->qp[0].qp, &r->w, &posted));
	EXPECT_EQ(0, posted);
	wr->remote_qkey = QKEY;
	EXPECT_EQ(0, post_send(r));
}

/* An overrun CQ raises one event, and does not affect another CQ. */
TEST_F(type, cq_overflow)
{
	struct raw *r = &self->raw;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_qp_init good;
	struct rdma_ep_wc wc[16];
	__u32 cq;
	int n;

	OK(abi_create_cq(&r->s, -1, 1, 909, &cq));
	OK(abi_create_qp(&r->s, r->type, cq, 0, &c));
	good = r->qp[0];
	r->qp[0] = c.init;
	OK(to_init(r, 0));
	for (__u32 i = 0; i < 16; i++)
		OK(post_recv(r, 0, i));
	OK(abi_qp_state(&r->s, c.init.qp, QPS_ERR));
	EXPECT_ASYNC(r->s.async_fd, EVENT_CQ_ERR, 909);
	usleep(50000);
	n = abi_poll(&r->s, cq, wc, 16);
	EXPECT_GT(16, n);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(i, wc[i].wr_id);
		EXPECT_EQ(c.init.qp_num, wc[i].qp_num);
	}
	EXPECT_EQ(0, ABI_DESTROY(&r->s, QP, c.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(&r->s, CQ, cq));
	EXPECT_TRUE(abi_quiet(r->s.async_fd));
	r->qp[0] = good;
	OK(ready(r));
	OK(post_recv(r, 1, 50));
	build(r, WR_SEND, 51);
	OK(post_send(r));
	EXPECT_EQ(2, abi_wait(&r->s, r->cq, wc, 2));
}

TEST_HARNESS_MAIN
