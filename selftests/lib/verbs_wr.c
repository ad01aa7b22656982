// SPDX-License-Identifier: GPL-2.0-only
/* Posting with functions: ibv_wr_start() to ibv_wr_complete() */
#include <dlfcn.h>

#include "verbs_ex.h"

#define REMOTE \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* a posts. b is a plain QP that receives, and grants a access to "in". */
FIXTURE(wr) {
	struct pair p;
	struct ibv_qp_ex *a;
	struct ibv_qp *b;
	struct ibv_cq *acq, *bcq;
	struct ibv_qp_cap cap;
	uint64_t out[64], in[64];
	struct ibv_mr *out_mr, *in_mr;
	int recvs;
	bool iwarp;
	sem_t window;
};

FIXTURE_SETUP(wr)
{
	struct pair *p = &self->p;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr query;
	struct ibv_qp_init_attr_ex attr;
	int i;

	ASSERT_EQ(0, pair_route(p));
	self->iwarp = lib_iwarp(p->a->verbs);
	if (is_stock() && self->iwarp)
		SKIP_FIXTURE("libsiw has no extended QPs");
	attr = attr_ex(NULL, NULL, self->iwarp ? IWARP_OPS : RC_OPS);
	attr.send_ops_flags |= IBV_QP_EX_WITH_SEND_WITH_INV;
	ASSERT_EQ(0, rdma_create_qp_ex(p->a, &attr));
	EXPECT_EQ(p->a->pd, attr.pd);
	ASSERT_EQ(0, pair_requested(p));
	ASSERT_EQ(0, pair_accept(p));

	self->a = ASSERT_PTR(ibv_qp_to_qp_ex(p->a->qp));
	self->b = p->p->qp;
	self->acq = p->a->send_cq;
	self->bcq = p->p->recv_cq;
	ASSERT_EQ(0, ibv_query_qp(p->a->qp, &query, IBV_QP_CAP, &init));
	self->cap = init.cap;
	for (i = 0; i < 64; i++)
		self->out[i] = 0x0101010101010101 * i;
	memset(self->in, 0, sizeof(self->in));
	self->out_mr = ASSERT_PTR(ibv_reg_mr(p->a->pd, self->out, sizeof(self->out),
					     IBV_ACCESS_LOCAL_WRITE));
	self->in_mr = ASSERT_PTR(ibv_reg_mr(p->p->pd, self->in, sizeof(self->in), REMOTE));
}

FIXTURE_TEARDOWN(wr)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->out_mr));
	EXPECT_EQ(0, ibv_dereg_mr(self->in_mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

static int receive(FIXTURE_DATA(wr) *self, int n)
{
	struct ibv_sge sge = { (uintptr_t)self->in, sizeof(self->in), self->in_mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (n--) {
		recv.wr_id = 100 + self->recvs++;
		if (ibv_post_recv(self->b, &recv, &bad))
			return -1;
	}
	return 0;
}

static void set_id(FIXTURE_DATA(wr) *self, uint64_t wr_id, unsigned int flags)
{
	self->a->wr_id = wr_id;
	self->a->wr_flags = flags;
}

static void set_out(FIXTURE_DATA(wr) *self, uint32_t len)
{
	ibv_wr_set_sge(self->a, self->out_mr->lkey, (uintptr_t)self->out, len);
}

/* Adds a signalled send to the list. The caller sets its data. */
static void add_send(FIXTURE_DATA(wr) *self, uint64_t wr_id)
{
	set_id(self, wr_id, IBV_SEND_SIGNALED);
	ibv_wr_send(self->a);
}

static int send_one(FIXTURE_DATA(wr) *self, uint64_t wr_id, uint32_t len)
{
	ibv_wr_start(self->a);
	add_send(self, wr_id);
	set_out(self, len);
	return ibv_wr_complete(self->a);
}

/* The next completion has this wr_id and opcode, and no error. */
static bool completed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = {};

	if (!lib_wait_wc(cq, &wc, 1) && !wc.status && wc.wr_id == wr_id && wc.opcode == opcode)
		return true;
	lib_say(__FILE__, __LINE__, "wr_id %llu, status %d, opcode %d",
		(unsigned long long)wc.wr_id, wc.status, wc.opcode);
	return false;
}

/* Nothing has been posted, and the QP still works. */
static bool nothing_happened(FIXTURE_DATA(wr) *self)
{
	return lib_no_wc(self->acq) && lib_no_wc(self->bcq) &&
	       lib_qp_state_as(self->p.a->qp, IBV_QPS_RTS) == IBV_QPS_RTS &&
	       !receive(self, 1) && !send_one(self, 4711, 8) &&
	       completed(self->acq, 4711, IBV_WC_SEND) &&
	       completed(self->bcq, 100 + self->recvs - 1, IBV_WC_RECV);
}

TEST_F(wr, send)
{
	ASSERT_EQ(0, receive(self, 2));
	ASSERT_EQ(0, send_one(self, 1, 200));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 100, IBV_WC_RECV));
	EXPECT_EQ(0, memcmp(self->in, self->out, 200));
	EXPECT_EQ(0, self->in[25]);
	/* A message without data */
	ibv_wr_start(self->a);
	add_send(self, 2);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 101, IBV_WC_RECV));
	/* A list without a request */
	ibv_wr_start(self->a);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
}

/* ibv_post_send() still works. */
TEST_F(wr, plain_posts)
{
	ASSERT_EQ(0, receive(self, 2));
	ASSERT_EQ(0, rdma_post_send(self->p.a, (void *)5, self->out, 8,
				    self->out_mr, IBV_SEND_SIGNALED));
	ASSERT_EQ(0, send_one(self, 6, 16));
	EXPECT_TRUE(completed(self->acq, 5, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->acq, 6, IBV_WC_SEND));
}

TEST_F(wr, immediate)
{
	struct ibv_wc wc;

	if (self->iwarp)
		SKIP(return, "iWARP has no immediate data");
	ASSERT_EQ(0, receive(self, 2));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(self->a, htonl(0x1234));
	set_out(self, 16);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write_imm(self->a, self->in_mr->rkey, (uintptr_t)&self->in[32], htonl(0x5678));
	set_out(self, 40);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_RDMA_WRITE));
	wc = lib_next_wc(self->bcq);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_NE(0, wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(htonl(0x1234), wc.imm_data);
	wc = lib_next_wc(self->bcq);
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(htonl(0x5678), wc.imm_data);
	EXPECT_EQ(40, wc.byte_len);
	EXPECT_EQ(0, memcmp(&self->in[32], self->out, 40));
}

TEST_F(wr, write_and_read)
{
	struct ibv_sge list[2] = {
		{ (uintptr_t)&self->out[40], 80, self->out_mr->lkey },
		{ (uintptr_t)&self->out[20], 80, self->out_mr->lkey },
	};

	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(self->a, self->in_mr->rkey, (uintptr_t)self->in);
	ibv_wr_set_sge_list(self->a, 2, list);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_RDMA_WRITE));
	EXPECT_TRUE(lib_arrived(self->in, self->out + 40, 80));
	EXPECT_TRUE(lib_arrived(self->in + 10, self->out + 20, 80));
	EXPECT_EQ(0, self->in[20]);

	self->in[0] = 0xfeedface;
	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_read(self->a, self->in_mr->rkey, (uintptr_t)self->in);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_RDMA_READ));
	EXPECT_EQ(0xfeedface, self->out[0]);
}

TEST_F(wr, atomics)
{
	if (self->iwarp)
		SKIP(return, "iWARP has no atomics");
	self->in[3] = 1000;
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(self->a, self->in_mr->rkey, (uintptr_t)&self->in[3], 234);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_FETCH_ADD));
	EXPECT_EQ(1000, self->out[0]);
	EXPECT_EQ(1234, self->in[3]);

	ibv_wr_start(self->a);
	set_id(self, 2, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(self->a, self->in_mr->rkey, (uintptr_t)&self->in[3], 1234, 99);
	set_out(self, 8);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_COMP_SWAP));
	EXPECT_EQ(1234, self->out[0]);
	EXPECT_EQ(99, self->in[3]);
}

/* The driver decides whether a key can be invalidated: rxe refuses keys of regions. */
TEST_F(wr, send_with_invalidate)
{
	struct ibv_wc out, in;

	ASSERT_EQ(0, receive(self, 1));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED);
	ibv_wr_send_inv(self->a, self->in_mr->rkey);
	set_out(self, 16);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	ASSERT_EQ(0, lib_wait_wc(self->acq, &out, 1));
	ASSERT_EQ(0, lib_wait_wc(self->bcq, &in, 1));
	if (in.status == IBV_WC_SUCCESS) {
		EXPECT_NE(0, in.wc_flags & IBV_WC_WITH_INV);
		EXPECT_EQ(self->in_mr->rkey, in.invalidated_rkey);
	}
	EXPECT_EQ(1, out.wr_id);
	EXPECT_EQ(100, in.wr_id);
}

/* The requests of a list stay in order, and only signalled ones complete. */
TEST_F(wr, list)
{
	int i;

	ASSERT_EQ(0, receive(self, 7));
	ibv_wr_start(self->a);
	for (i = 0; i < 7; i++) {
		set_id(self, i, i % 3 ? 0 : IBV_SEND_SIGNALED);
		ibv_wr_send(self->a);
		set_out(self, 8 * i);
	}
	EXPECT_TRUE(lib_no_wc(self->bcq));
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	for (i = 0; i < 7; i++)
		EXPECT_TRUE(completed(self->bcq, 100 + i, IBV_WC_RECV));
	for (i = 0; i < 7; i += 3)
		EXPECT_TRUE(completed(self->acq, i, IBV_WC_SEND));
	EXPECT_TRUE(lib_no_wc(self->acq));
}

/* ibv_wr_set_inline_data() copies the data. */
TEST_F(wr, inline_data)
{
	/* librxe needs the flag, which no manual page requires. */
	unsigned int flag = is_stock() ? IBV_SEND_INLINE : 0;
	char text[16] = "before";
	struct ibv_data_buf list[3] = { { text, 3 }, { NULL, 0 }, { text + 8, 5 } };

	ASSERT_EQ(0, receive(self, 1));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED | flag);
	ibv_wr_send(self->a);
	ibv_wr_set_inline_data(self->a, text, 7);
	strcpy(text, "after");
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 1, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 100, IBV_WC_RECV));
	EXPECT_EQ(0, strcmp("before", (char *)self->in));
	EXPECT_EQ(0, ((char *)self->in)[7]);

	if (is_stock())	/* librxe of rdma-core 44 forgets the length */
		return;
	ASSERT_EQ(0, receive(self, 1));
	memcpy(text, "one.....two!", 13);
	ibv_wr_start(self->a);
	add_send(self, 2);
	ibv_wr_set_inline_data_list(self->a, 3, list);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_TRUE(completed(self->acq, 2, IBV_WC_SEND));
	EXPECT_TRUE(completed(self->bcq, 101, IBV_WC_RECV));
	EXPECT_EQ(0, strcmp("onetwo!", (char *)self->in));
}

/* The last call that sets data counts, whatever the flag. */
TEST_F(wr, data_set_again)
{
	static const int lengths[] = { 24, 7, 0 };

	if (is_stock())
		SKIP(return, "librxe mixes inline data and entries");
	ASSERT_EQ(0, receive(self, 3));
	ibv_wr_start(self->a);
	set_id(self, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	ibv_wr_send(self->a);
	ibv_wr_set_inline_data(self->a, "inline", 7);
	set_out(self, 24);
	add_send(self, 2);
	set_out(self, 24);
	ibv_wr_set_inline_data(self->a, "inline", 7);
	add_send(self, 3);
	set_out(self, 24);
	ibv_wr_set_sge(self->a, 0, 0, 0);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	for (int i = 0; i < ARRAY_SIZE(lengths); i++) {
		EXPECT_TRUE(completed(self->acq, 1 + i, IBV_WC_SEND));
		EXPECT_EQ(lengths[i], lib_next_wc(self->bcq).byte_len);
	}
}

/* An error of one request drops all of the list. */
TEST_F(wr, errors)
{
	struct ibv_sge *list = calloc(self->cap.max_send_sge + 1, sizeof(*list));
	int i;

	for (i = 0; i <= self->cap.max_send_sge; i++)
		list[i] = (struct ibv_sge) { (uintptr_t)self->out, 8, self->out_mr->lkey };
	for (i = 0; i < 2; i++) {
		ibv_wr_start(self->a);
		add_send(self, 1);
		set_out(self, 8);
		add_send(self, 2);
		if (i)
			ibv_wr_set_sge_list(self->a, self->cap.max_send_sge + 1, list);
		else
			ibv_wr_set_inline_data(self->a, self->out, self->cap.max_inline_data + 1);
		set_out(self, 8);
		add_send(self, 3);
		set_out(self, 8);
		EXPECT_EQ(ENOSPC, ibv_wr_complete(self->a));
		EXPECT_TRUE(nothing_happened(self));
	}
	free(list);
}

TEST_F(wr, abort)
{
	int i;

	for (i = 0; i < 3; i++) {
		ibv_wr_start(self->a);
		add_send(self, i);
		set_out(self, 8);
		ibv_wr_abort(self->a);
	}
	EXPECT_TRUE(nothing_happened(self));
}

static int fill(FIXTURE_DATA(wr) *self, int n)
{
	ibv_wr_start(self->a);
	while (n--) {
		add_send(self, n);
		set_out(self, 8);
	}
	return ibv_wr_complete(self->a);
}

/* A list that does not fit is not posted in part. */
TEST_F(wr, full_queue)
{
	int n = self->cap.max_send_wr, i;

	ASSERT_LE(8, n);
	EXPECT_EQ(ENOSPC, fill(self, n + 1));
	EXPECT_TRUE(nothing_happened(self));
	/* Without receives, the sends stay in the queue (except over iWARP). */
	if (self->iwarp)
		return;
	EXPECT_EQ(0, fill(self, n - 2));
	EXPECT_EQ(ENOSPC, fill(self, 3));
	EXPECT_EQ(0, fill(self, 2));
	EXPECT_EQ(ENOSPC, fill(self, 1));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, receive(self, 1));
		EXPECT_TRUE(completed(self->bcq, 100 + self->recvs - 1, IBV_WC_RECV));
		EXPECT_TRUE(completed(self->acq, i < n - 2 ? n - 3 - i : n - 1 - i, IBV_WC_SEND));
	}
	EXPECT_TRUE(nothing_happened(self));
}

/* More requests than the queue has entries, without a completion */
TEST_F(wr, unsignalled)
{
	int n = 2 * self->cap.max_send_wr, i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, receive(self, 2));
		ibv_wr_start(self->a);
		set_id(self, 1, 0);
		ibv_wr_send(self->a);
		ibv_wr_send(self->a);
		ASSERT_EQ(0, ibv_wr_complete(self->a));
		ASSERT_TRUE(completed(self->bcq, 100 + 2 * i, IBV_WC_RECV));
		ASSERT_TRUE(completed(self->bcq, 101 + 2 * i, IBV_WC_RECV));
	}
	EXPECT_TRUE(lib_no_wc(self->acq));
}

/* A list with this call fails. */
#define EXPECT_REFUSED(_errno, _op) do { \
	ibv_wr_start(self->a); \
	_op; \
	EXPECT_EQ(_errno, ibv_wr_complete(self->a)); \
} while (0)
#define EXPECT_REFUSED_SEND(_errno, _op) do { \
	ibv_wr_start(self->a); \
	ibv_wr_send(self->a); \
	_op; \
	EXPECT_EQ(_errno, ibv_wr_complete(self->a)); \
} while (0)

/*
 * Programs test these pointers before they use an operation. A pointer that is set although
 * no QP has the operation makes them post it, and the whole list fails (librpma).
 */
TEST_F(wr, unsupported_operations_are_null)
{
	struct ibv_qp_ex *a = self->a;

	EXPECT_TRUE(a->wr_send != NULL);
	EXPECT_TRUE(a->wr_local_inv == NULL);
	EXPECT_TRUE(a->wr_bind_mw == NULL);
	EXPECT_TRUE(a->wr_send_tso == NULL);
	EXPECT_TRUE(a->wr_atomic_write == NULL);
	/* wr_flush of newer headers, for which older stock libraries have no room */
	if (!is_stock())
		EXPECT_TRUE((&a->wr_atomic_write)[1] == NULL);
}

/* The stock library crashes on these calls, or ignores them. */
TEST_F(wr, misuse)
{
	struct ibv_qp_ex *a = self->a;

	if (is_stock())
		SKIP(return, "the stock library crashes");
	/* Without ibv_wr_start() */
	EXPECT_EQ(EINVAL, ibv_wr_complete(a));
	ibv_wr_abort(a);
	ibv_wr_send(a);
	set_out(self, 8);
	EXPECT_TRUE(nothing_happened(self));
	/* Data without a request */
	EXPECT_REFUSED(EINVAL, set_out(self, 8));
	/* The QP is not an XRC_SEND QP. */
	EXPECT_REFUSED_SEND(EOPNOTSUPP, ibv_wr_set_xrc_srqn(a, 1));
	EXPECT_REFUSED_SEND(EINVAL, ibv_wr_set_sge_list(a, 1, NULL));
	EXPECT_REFUSED_SEND(EINVAL, ibv_wr_set_inline_data_list(a, 1, NULL));
	EXPECT_REFUSED_SEND(EINVAL, ibv_wr_set_ud_addr(a, NULL, 1, 1));
	/* The first error is reported. */
	ibv_wr_start(a);
	ibv_wr_send(a);
	ibv_wr_set_xrc_srqn(a, 1);
	ibv_wr_set_sge_list(a, 1000000, NULL);
	EXPECT_EQ(EOPNOTSUPP, ibv_wr_complete(a));
	EXPECT_TRUE(nothing_happened(self));
}

/* An unknown key is refused at once, with the whole list. */
TEST_F(wr, bad_key)
{
	int n = self->cap.max_send_wr, i;

	if (is_stock())
		SKIP(return, "the stock library finds out later");
	ASSERT_LE(8, n);
	ibv_wr_start(self->a);
	for (i = 0; i < n; i++) {
		add_send(self, i);
		if (i == n - 1)
			ibv_wr_set_sge(self->a, self->out_mr->lkey ^ 0x5500,
				       (uintptr_t)self->out, 8);
		else
			set_out(self, 8);
	}
	EXPECT_EQ(EINVAL, ibv_wr_complete(self->a));
	EXPECT_TRUE(nothing_happened(self));
}

static void *send_two(void *arg)
{
	FIXTURE_DATA(wr) *self = arg;

	ibv_wr_start(self->a);
	add_send(self, 21);
	add_send(self, 22);
	return (void *)(long)ibv_wr_complete(self->a);
}

TEST_F(wr, start_keeps_others_out)
{
	struct lib_thread t;
	int i;

	ASSERT_EQ(0, receive(self, 4));
	ibv_wr_start(self->a);
	add_send(self, 11);
	START_BLOCKED(&t, send_two, self);
	add_send(self, 12);
	EXPECT_EQ(0, ibv_wr_complete(self->a));
	EXPECT_RETURNS(0, &t);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(completed(self->acq, i < 2 ? 11 + i : 19 + i, IBV_WC_SEND));
}

static void *send_many(void *arg)
{
	FIXTURE_DATA(wr) *self = arg;
	struct ibv_wc wc;
	long i;

	for (i = 0; i < 20; i++) {
		if (sem_wait(&self->window) || send_one(self, 1, 8) ||
		    lib_wait_wc(self->acq, &wc, 1))
			return (void *)(i + 1);
	}
	return NULL;
}

TEST_F(wr, many_threads)
{
	struct lib_thread t[2];
	struct ibv_wc wc;
	int i;

	/* A send without a receive ends the connection over iWARP. */
	ASSERT_EQ(0, sem_init(&self->window, 0, 8));
	ASSERT_EQ(0, receive(self, 8));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_start(&t[i], send_many, self));
	for (i = 0; i < 40; i++) {
		wc = lib_next_wc(self->bcq);
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(8, wc.byte_len);
		ASSERT_EQ(0, receive(self, 1));
		sem_post(&self->window);
	}
	for (i = 0; i < 2; i++) {
		EXPECT_RETURNS(0, &t[i]);
	}
}

/* Older headers do not declare the function. */
TEST(names_of_opcodes)
{
	const char *(*name)(enum ibv_wr_opcode opcode) = dlsym(RTLD_DEFAULT, "ibv_wr_opcode_str");

	if (!name && is_stock())
		SKIP(return, "rdma-core before 49 has no ibv_wr_opcode_str()");
	ASSERT_TRUE(name);
	EXPECT_STREQ("rdma-write", name(IBV_WR_RDMA_WRITE));
	EXPECT_STREQ("send-with-inv", name(IBV_WR_SEND_WITH_INV));
	EXPECT_STREQ("driver1", name(IBV_WR_DRIVER1));
	EXPECT_STREQ("atomic-write", name(15));
}

TEST_HARNESS_MAIN
