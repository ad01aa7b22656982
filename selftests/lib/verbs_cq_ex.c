// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended CQs: creation, iteration over completions, and use as plain CQs.
 *
 * With the stock library no test calls ibv_next_poll() after the last completion: librxe of
 * rdma-core 44 loses its position there.
 */
#include "lib_test.h"

FIXTURE(cqx) {
	struct pair p;
	struct ibv_context *context;
	struct ibv_comp_channel *ch;
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq, *other;	/* ex, and the peer's CQ */
	struct ibv_mr *mr;
	char buf[64];
	uint64_t next;
};

static struct ibv_cq_init_attr_ex cq_attr(FIXTURE_DATA(cqx) *self)
{
	return (struct ibv_cq_init_attr_ex) {
		.cqe = 64,
		.cq_context = self,
		.channel = self->ch,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
}

static int make_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(cq);

	attr.cap.max_send_wr = 32;
	attr.cap.max_recv_wr = 32;
	return rdma_create_qp(id, NULL, &attr);
}

FIXTURE_SETUP(cqx)
{
	struct ibv_cq_init_attr_ex attr;
	struct pair *p = &self->p;

	self->context = ASSERT_PTR(lib_context());
	self->ch = ASSERT_PTR(ibv_create_comp_channel(self->context));
	attr = cq_attr(self);
	self->ex = ibv_create_cq_ex(self->context, &attr);
	if (!self->ex && errno == EOPNOTSUPP && is_stock())
		SKIP_FIXTURE("the device's library has no extended CQs");
	ASSERT_TRUE(self->ex != NULL);
	self->cq = ibv_cq_ex_to_cq(self->ex);
	self->other = ASSERT_PTR(ibv_create_cq(self->context, 64, NULL, NULL, 0));

	ASSERT_EQ(0, pair_route(p));
	ASSERT_EQ(0, make_qp(p->a, self->other));
	ASSERT_EQ(0, pair_passive(p));
	ASSERT_EQ(0, make_qp(p->p, self->cq));
	ASSERT_EQ(0, pair_accept(p));
	self->mr = ASSERT_PTR(rdma_reg_msgs(p->p, self->buf, sizeof(self->buf)));
}

FIXTURE_TEARDOWN(cqx)
{
	if (!self->ex)
		return;
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
	if (self->cq)
		EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_destroy_cq(self->other));
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->ch));
}

/* Completes n more receives. The wr_ids count from 1 on. */
static int complete(FIXTURE_DATA(cqx) *self, int n)
{
	struct ibv_wc wc;

	while (n--) {
		if (rdma_post_recv(self->p.p, (void *)++self->next, self->buf, 64, self->mr) ||
		    rdma_post_send(self->p.a, NULL, "x", 1, NULL, IBV_SEND_INLINE) ||
		    lib_wait_wc(self->other, &wc, 1) || wc.status)
			return -1;
	}
	/* The sender's completion may come a little earlier. */
	usleep(20000);
	return 0;
}

static int start(FIXTURE_DATA(cqx) *self)
{
	struct ibv_poll_cq_attr attr = {};

	return ibv_start_poll(self->ex, &attr);
}

/* Returns the wr_id of the next completion, or 0. */
static uint64_t iterate_once(FIXTURE_DATA(cqx) *self)
{
	uint64_t wr_id;

	if (start(self))
		return 0;
	wr_id = self->ex->wr_id;
	ibv_end_poll(self->ex);
	return wr_id;
}

TEST_F(cqx, create)
{
	struct ibv_cq_init_attr_ex attr = cq_attr(self);
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;

	EXPECT_EQ((void *)self->ex, (void *)self->cq);
	EXPECT_EQ(self->context, self->cq->context);
	EXPECT_EQ(self->ch, self->cq->channel);
	EXPECT_EQ((void *)self, self->cq->cq_context);
	EXPECT_LE(64, self->cq->cqe);
	EXPECT_EQ(self->context, self->ex->context);
	EXPECT_EQ(self->cq->cqe, self->ex->cqe);
	EXPECT_EQ(1, self->ch->refcnt);
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));

	attr.wc_flags = 0;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	attr.channel = NULL;
	attr.cqe = 1;
	ex = ASSERT_PTR(ibv_create_cq_ex(self->context, &attr));
	cq = ibv_cq_ex_to_cq(ex);
	EXPECT_TRUE(!cq->channel);
	EXPECT_EQ(1, self->ch->refcnt);
	EXPECT_EQ(ENOENT, ibv_start_poll(ex, &(struct ibv_poll_cq_attr) {}));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* Creation with one attribute changed fails. */
#define EXPECT_REFUSED(_errno, _change) do { \
	struct ibv_cq_init_attr_ex attr = cq_attr(self); \
	_change; \
	EXPECT_FAILS_NULL(_errno, ibv_create_cq_ex(self->context, &attr)); \
} while (0)

TEST_F(cqx, create_errors)
{
	static const uint64_t hardware[] = {
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		IBV_WC_EX_WITH_CVLAN,
		IBV_WC_EX_WITH_FLOW_TAG,
		IBV_WC_EX_WITH_TM_INFO,
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		1ULL << 12,
		1ULL << 40,
	};
	struct ibv_cq_init_attr_ex attr = cq_attr(self);
	struct ibv_device_attr dev;
	int i;

	ASSERT_EQ(0, ibv_query_device(self->context, &dev));
	for (i = 0; i < ARRAY_SIZE(hardware); i++)
		EXPECT_REFUSED(EOPNOTSUPP, attr.wc_flags |= hardware[i]);
	EXPECT_REFUSED(EINVAL, attr.cqe = dev.max_cqe + 1);
	EXPECT_REFUSED(EINVAL, attr.cqe = 0);
	EXPECT_REFUSED(EINVAL, attr.comp_vector = self->context->num_comp_vectors);
	EXPECT_REFUSED(EINVAL, attr.comp_vector = ~0U);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_create_cq_ex(self->context, &attr));
	attr.comp_mask = 1U << 7;
	EXPECT_TRUE(!ibv_create_cq_ex(self->context, &attr));
	EXPECT_EQ(1, self->ch->refcnt);
	if (is_stock())	/* stock leaves errno alone, ignores flags, or crashes */
		return;
	EXPECT_REFUSED(EOPNOTSUPP, attr.comp_mask = 1U << 7);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1U << 9;
	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_create_cq_ex(self->context, &attr));
	EXPECT_FAILS_NULL(EINVAL, ibv_create_cq_ex(self->context, NULL));
}

TEST_F(cqx, fields)
{
	struct ibv_sge sge = { (uintptr_t)self->buf, 64, self->mr->lkey };
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(0x12345678),
		.sg_list = &(struct ibv_sge) { (uintptr_t)"hello", 5, 0 },
		.num_sge = 1,
		.send_flags = IBV_SEND_INLINE,
	}, *bad;
	struct ibv_recv_wr recv = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 },
			   *bad_recv;
	bool imm = !lib_iwarp(self->context);
	struct ibv_cq_ex *ex = self->ex;
	struct ibv_wc wc;

	EXPECT_EQ(ENOENT, start(self));
	EXPECT_EQ(ENOENT, errno);
	if (!imm)
		send.opcode = IBV_WR_SEND;
	ASSERT_EQ(0, ibv_post_recv(self->p.p->qp, &recv, &bad_recv));
	ASSERT_EQ(0, ibv_post_send(self->p.a->qp, &send, &bad));
	ASSERT_EQ(0, lib_wait_wc(self->other, &wc, 1));
	usleep(20000);
	ASSERT_EQ(0, start(self));
	EXPECT_EQ(77, ex->wr_id);
	EXPECT_EQ(IBV_WC_SUCCESS, ex->status);
	EXPECT_EQ(IBV_WC_RECV, ibv_wc_read_opcode(ex));
	EXPECT_EQ(5, ibv_wc_read_byte_len(ex));
	EXPECT_EQ(self->p.p->qp->qp_num, ibv_wc_read_qp_num(ex));
	EXPECT_EQ(0, ibv_wc_read_vendor_err(ex));
	if (imm) {
		EXPECT_NE(0, ibv_wc_read_wc_flags(ex) & IBV_WC_WITH_IMM);
		EXPECT_EQ(htonl(0x12345678), ibv_wc_read_imm_data(ex));
		EXPECT_EQ(0x12345678, ntohl(ibv_wc_read_invalidated_rkey(ex)));
	}
	EXPECT_EQ(0, ibv_wc_read_slid(ex));
	EXPECT_EQ(0, ibv_wc_read_sl(ex));
	EXPECT_EQ(0, ibv_wc_read_dlid_path_bits(ex));
	ibv_wc_read_src_qp(ex);	/* undefined for a connected QP */
	ibv_end_poll(ex);

	/* A failed completion */
	recv.wr_id = 78;
	ASSERT_EQ(0, ibv_post_recv(self->p.p->qp, &recv, &bad_recv));
	ASSERT_EQ(0, lib_modify_qp(self->p.p->qp, IBV_QPS_ERR));
	usleep(50000);
	ASSERT_EQ(0, start(self));
	EXPECT_EQ(78, ex->wr_id);
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, ex->status);
	EXPECT_EQ(self->p.p->qp->qp_num, ibv_wc_read_qp_num(ex));
	ibv_end_poll(ex);
	EXPECT_EQ(ENOENT, start(self));
}

/* Fields that were not requested, or that the device lacks, are 0. */
TEST_F(cqx, unasked_fields)
{
	struct ibv_cq_init_attr_ex attr = cq_attr(self);
	struct ibv_wc_tm_info info = { .tag = 1, .priv = 1 };
	struct ibv_cq_ex *ex;

	if (is_stock())
		SKIP(return, "the stock library crashes");
	attr.wc_flags = 0;
	ex = ASSERT_PTR(ibv_create_cq_ex(self->context, &attr));
	EXPECT_EQ(0, ibv_wc_read_byte_len(ex));
	EXPECT_EQ(0, ibv_wc_read_completion_ts(ex));
	EXPECT_EQ(0, ibv_wc_read_completion_wallclock_ns(ex));
	EXPECT_EQ(0, ibv_wc_read_cvlan(ex));
	EXPECT_EQ(0, ibv_wc_read_flow_tag(ex));
	ibv_wc_read_tm_info(ex, &info);
	EXPECT_EQ(0, info.tag | info.priv);
	/* Calls outside of an iteration */
	EXPECT_EQ(EINVAL, ibv_next_poll(ex));
	ibv_end_poll(ex);
	EXPECT_EQ(EINVAL, ibv_start_poll(ex, &(struct ibv_poll_cq_attr) { 1 }));
	EXPECT_EQ(ENOENT, ibv_start_poll(ex, NULL));
	EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
}

TEST_F(cqx, iterate)
{
	int i;

	ASSERT_EQ(0, complete(self, 5));
	ASSERT_EQ(0, start(self));
	for (i = 1; i <= 5; i++) {
		EXPECT_EQ(i, self->ex->wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, self->ex->status);
		EXPECT_EQ(1, ibv_wc_read_byte_len(self->ex));
		if (i < 5)
			ASSERT_EQ(0, ibv_next_poll(self->ex));
	}
	ibv_end_poll(self->ex);
	EXPECT_EQ(ENOENT, start(self));
	EXPECT_EQ(ENOENT, start(self));
}

TEST_F(cqx, iterate_to_the_end_and_on)
{
	if (is_stock())
		SKIP(return, "librxe of rdma-core 44 loses its place");
	ASSERT_EQ(0, complete(self, 2));
	ASSERT_EQ(0, start(self));
	ASSERT_EQ(0, ibv_next_poll(self->ex));
	EXPECT_EQ(ENOENT, ibv_next_poll(self->ex));
	EXPECT_EQ(ENOENT, ibv_next_poll(self->ex));
	/* The last completion is still current. */
	EXPECT_EQ(2, self->ex->wr_id);
	EXPECT_EQ(1, ibv_wc_read_byte_len(self->ex));
	/* The iteration continues with later completions. */
	ASSERT_EQ(0, complete(self, 2));
	ASSERT_EQ(0, ibv_next_poll(self->ex));
	EXPECT_EQ(3, self->ex->wr_id);
	ASSERT_EQ(0, ibv_next_poll(self->ex));
	EXPECT_EQ(4, self->ex->wr_id);
	EXPECT_EQ(ENOENT, ibv_next_poll(self->ex));
	ibv_end_poll(self->ex);
	EXPECT_EQ(ENOENT, start(self));
	ASSERT_EQ(0, complete(self, 1));
	EXPECT_EQ(5, iterate_once(self));
}

/* Iterations and ibv_poll_cq() share one queue, and keep its order. */
TEST_F(cqx, both_ways_of_polling)
{
	struct ibv_wc wc[32];
	uint64_t expect = 1;
	int i, n;

	ASSERT_EQ(0, complete(self, 20));
	EXPECT_EQ(expect++, iterate_once(self));
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 0, wc));
	ASSERT_EQ(2, ibv_poll_cq(self->cq, 2, wc));
	EXPECT_EQ(expect++, wc[0].wr_id);
	EXPECT_EQ(expect++, wc[1].wr_id);
	ASSERT_EQ(0, complete(self, 10));
	ASSERT_EQ(0, start(self));
	EXPECT_EQ(expect++, self->ex->wr_id);
	ASSERT_EQ(0, ibv_next_poll(self->ex));
	EXPECT_EQ(expect++, self->ex->wr_id);
	ibv_end_poll(self->ex);
	/* More completions than the library has read ahead, then the rest */
	n = ibv_poll_cq(self->cq, 18, wc);
	ASSERT_EQ(18, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(expect++, wc[i].wr_id);
	EXPECT_EQ(expect++, iterate_once(self));
	n = ibv_poll_cq(self->cq, 32, wc);
	ASSERT_EQ(6, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(expect++, wc[i].wr_id);
	EXPECT_EQ(31, expect);
	EXPECT_EQ(0, ibv_poll_cq(self->cq, 32, wc));
	EXPECT_EQ(ENOENT, start(self));
}

/* The CQ outlives the QP, and is destroyed with unread completions. */
TEST_F(cqx, destroy_with_completions)
{
	struct ibv_wc wc[8];

	ASSERT_EQ(0, complete(self, 6));
	EXPECT_EQ(1, iterate_once(self));
	rdma_destroy_qp(self->p.p);
	ASSERT_EQ(2, ibv_poll_cq(self->cq, 2, wc));
	EXPECT_EQ(2, wc[0].wr_id);
	ASSERT_EQ(0, start(self));
	EXPECT_EQ(4, self->ex->wr_id);
	/* An iteration does not prevent the destruction. */
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	self->cq = NULL;
	EXPECT_EQ(0, self->ch->refcnt);
}

TEST_F(cqx, events)
{
	void *context = NULL;

	ASSERT_EQ(0, complete(self, 3));
	EXPECT_EQ(1, iterate_once(self));
	ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
	/* Earlier completions raise no event. */
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, complete(self, 1));
	EXPECT_EQ(self->cq, lib_cq_event_context(self->ch, &context));
	EXPECT_EQ((void *)self, context);
	EXPECT_EQ(1, self->ex->comp_events_completed);
	EXPECT_EQ(2, iterate_once(self));
}

TEST_F(cqx, resize)
{
	int i, ret;

	ASSERT_EQ(0, complete(self, 6));
	EXPECT_EQ(1, iterate_once(self));
	ret = ibv_resize_cq(self->cq, 100);
	if (ret == EOPNOTSUPP || ret == ENOSYS)
		SKIP(return, "the device cannot resize CQs");
	ASSERT_EQ(0, ret);
	EXPECT_LE(100, self->ex->cqe);
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 2));
	EXPECT_LE(100, self->ex->cqe);
	for (i = 2; i <= 6; i++)
		EXPECT_EQ(i, iterate_once(self));
	EXPECT_EQ(ENOENT, start(self));
	/* Some are in a batch of the library, some in the ring, and some in the kernel. */
	ASSERT_EQ(0, complete(self, 40));
	EXPECT_EQ(7, iterate_once(self));
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 38));
	EXPECT_EQ(0, ibv_resize_cq(self->cq, 39));
	for (i = 8; i <= 46; i++)
		EXPECT_EQ(i, iterate_once(self));
}

static void *poll_one(void *arg)
{
	struct ibv_wc wc = {};

	return (void *)(ibv_poll_cq(arg, 1, &wc) == 1 ? (long)wc.wr_id : -1L);
}

TEST_F(cqx, iteration_keeps_others_out)
{
	struct lib_thread t;

	ASSERT_EQ(0, complete(self, 3));
	ASSERT_EQ(0, start(self));
	START_BLOCKED(&t, poll_one, self->cq);
	ASSERT_EQ(0, ibv_next_poll(self->ex));
	EXPECT_EQ(2, self->ex->wr_id);
	ibv_end_poll(self->ex);
	EXPECT_RETURNS(3, &t);
}

#define MANY 96

struct crowd {
	struct ibv_cq_ex *ex;
	pthread_mutex_t lock;
	int got, seen[MANY + 1];
};

static void saw(struct crowd *c, uint64_t wr_id)
{
	pthread_mutex_lock(&c->lock);
	c->got++;
	if (wr_id <= MANY)
		c->seen[wr_id]++;
	pthread_mutex_unlock(&c->lock);
}

static bool all(struct crowd *c)
{
	bool ret;

	pthread_mutex_lock(&c->lock);
	ret = c->got >= MANY;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

static void *iterate(void *arg)
{
	struct crowd *c = arg;
	int i;

	for (i = 0; i < WAIT_MS && !all(c); i++) {
		if (!ibv_start_poll(c->ex, &(struct ibv_poll_cq_attr) {})) {
			saw(c, c->ex->wr_id);
			if (!is_stock() && !ibv_next_poll(c->ex))
				saw(c, c->ex->wr_id);
			ibv_end_poll(c->ex);
		}
		usleep(1000);
	}
	return NULL;
}

static void *poll_some(void *arg)
{
	struct crowd *c = arg;
	struct ibv_wc wc[3];
	int i, n;

	for (i = 0; i < WAIT_MS && !all(c); i++) {
		n = ibv_poll_cq(ibv_cq_ex_to_cq(c->ex), 3, wc);
		while (n > 0)
			saw(c, wc[--n].wr_id);
		usleep(1000);
	}
	return NULL;
}

/* Each completion is seen once. */
TEST_F(cqx, many_threads)
{
	struct crowd c = { .ex = self->ex, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct lib_thread t[4];
	void *ret;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, lib_start(&t[i], i < 2 ? iterate : poll_some, &c));
	for (i = 0; i < MANY / 16; i++)
		EXPECT_EQ(0, complete(self, 16));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, lib_join(&t[i], &ret));
	EXPECT_EQ(MANY, c.got);
	for (i = 1; i <= MANY; i++)
		EXPECT_EQ(1, c.seen[i]);
}

TEST_HARNESS_MAIN
