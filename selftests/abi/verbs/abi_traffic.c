// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ends post random requests, and a model checks the results: each signalled request completes
 * once, in order; posts succeed while the queue has room; data and receives match the requests.
 */
#include "abi_test.h"

#define DEPTH		24		/* of send and receive queues */
#define SENDS		10		/* in flight that use receives */
#define BLOCK		256
#define BLOCKS		(4 * DEPTH)
#define REQUESTS	1500		/* of each end */
#define QUIET		6		/* most unsignalled requests in a row */

/* Requests are numbered from 0; number % BLOCKS is the index of their data. */
struct request {
	__u32 opcode;
	__u32 sum;			/* of FETCH_ADDs before */
	bool announced, done;
	bool implied;			/* done, as a later one is */
};

struct memory {
	char from[BLOCKS][BLOCK];	/* WRITEs and SENDs */
	char into[BLOCKS][BLOCK];	/* READs */
	char shown[BLOCKS][BLOCK];	/* to the peer's READs */
	char taken[BLOCKS][BLOCK];	/* from the peer's WRITEs */
	char received[BLOCKS][BLOCK];	/* by numbers of receives */
	__u64 counter;
	__u64 was[BLOCKS];
};

struct side {
	struct memory *m;
	struct rdma_ep_cmd_reg_mr mr;
	struct request all[REQUESTS];
	__u32 posted, oldest;		/* oldest: the first that may not be done */
	__u32 quiet;
	__u32 adds;
	__u32 arriving;			/* that use receives and have not arrived */
	__u32 sends[REQUESTS];		/* numbers of those that use receives */
	__u32 nr_sends, nr_arrived;
	__u32 nr_recvs;
};

FIXTURE(traffic) {
	struct abi s;
	struct abi_pair p;
	struct abi_wrs w;
	struct side side[2];
	bool cutting;
};

FIXTURE_VARIANT(traffic) {
	bool sig_all;
	bool fenced;
	bool cut;			/* ERR ends the traffic */
};

FIXTURE_VARIANT_ADD(traffic, some_announced) {};
FIXTURE_VARIANT_ADD(traffic, all_announced) { .sig_all = true };
FIXTURE_VARIANT_ADD(traffic, fenced) { .fenced = true };
FIXTURE_VARIANT_ADD(traffic, cut) { .cut = true };
FIXTURE_VARIANT_ADD(traffic, all_cut) { .sig_all = true, .cut = true };

FIXTURE_SETUP(traffic)
{
	OK(abi_open(&self->s));
	self->p.max_wr = DEPTH;
	self->p.sig_all = variant->sig_all;
	OK(abi_pair_open(&self->s, &self->p));
	for (int i = 0; i < 2; i++) {
		struct side *a = &self->side[i];

		a->m = abi_map(sizeof(*a->m));
		OK(abi_reg_mr(&self->s, self->s.pd, a->m, sizeof(*a->m), AC_ALL, &a->mr));
	}
}

TEARDOWN_CLOSES(traffic)

static void fill(char block[BLOCK], __u32 number, __u32 opcode)
{
	for (int i = 0; i < BLOCK; i++)
		block[i] = number * 7 + opcode * 31 + i;
}

static bool filled(const char block[BLOCK], __u32 number, __u32 opcode)
{
	char want[BLOCK];

	fill(want, number, opcode);
	return abi_arrived(block, want, BLOCK);
}

static bool uses_receive(__u32 opcode)
{
	return opcode == WR_SEND || opcode == WR_SEND_WITH_IMM || opcode == WR_RDMA_WRITE_WITH_IMM;
}

static bool reads(__u32 opcode)
{
	return opcode == WR_RDMA_READ || opcode == WR_FETCH_AND_ADD;
}

static int receive(struct _test_data_traffic *self, int end)
{
	struct side *a = &self->side[end];
	__u32 block = a->nr_recvs % BLOCKS;

	abi_wrs_init(&self->w);
	memset(a->m->received[block], 0, BLOCK);
	abi_recv_wr(&self->w, a->nr_recvs++);
	abi_sge(&self->w, (uintptr_t)a->m->received[block], BLOCK, a->mr.lkey);
	return ABI_POST(&self->s, RECV, self->p.end[end].qp.qp, &self->w, NULL);
}

/*
 * siw does not respond to READs while it waits for the response to one: if both ends READ, they
 * wait for each other for ever.
 */
static __u32 choose(struct _test_data_traffic *self, int end)
{
	static const __u32 ops[] = {
		WR_RDMA_WRITE, WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_RDMA_READ, WR_SEND_WITH_IMM,
		WR_RDMA_WRITE_WITH_IMM, WR_FETCH_AND_ADD,
	};
	__u32 nr = !self->s.iwarp ? 8 : end ? 3 : 5, op;
	const struct side *a = &self->side[end];

	do {
		op = ops[abi_random() % nr];
	} while (uses_receive(op) && a->arriving >= SENDS);
	return op;
}

/* Adds the next request of the end to the list. */
static void add(struct _test_data_traffic *self, int end, bool sig_all, bool fenced)
{
	struct side *a = &self->side[end], *b = &self->side[!end];
	__u32 n = a->posted++, block = n % BLOCKS, flags = 0, cut;
	__u32 op = choose(self, end);
	struct rdma_ep_send_wr *wr;
	struct request *r = &a->all[n];
	char *local, *remote;

	r->opcode = op;
	r->announced = n == REQUESTS - 1 || a->quiet == QUIET || abi_random() % 2;
	a->quiet = r->announced ? 0 : a->quiet + 1;
	if (r->announced)
		flags |= SEND_SIGNALED;
	r->announced |= sig_all;
	/* siw has no fenced READs. */
	if (fenced && abi_random() % 3 == 0 && !(self->s.iwarp && op == WR_RDMA_READ))
		flags |= SEND_FENCE;
	wr = abi_send_wr(&self->w, op, flags, n);
	wr->imm_data = n;
	if (uses_receive(op)) {
		a->arriving++;
		a->sends[a->nr_sends++] = n;
	}
	if (op == WR_FETCH_AND_ADD) {
		r->sum = a->adds++;
		wr->remote_addr = (uintptr_t)&b->m->counter;
		wr->rkey = b->mr.rkey;
		wr->compare_add = 1;
		a->m->was[block] = ~0ULL;
		abi_sge(&self->w, (uintptr_t)&a->m->was[block], 8, a->mr.lkey);
		return;
	}
	if (op == WR_RDMA_READ) {
		remote = b->m->shown[block];
		local = a->m->into[block];
		memset(local, 0, BLOCK);
		fill(remote, n, op);
	} else {
		remote = b->m->taken[block];
		local = a->m->from[block];
		memset(remote, 0, BLOCK);
		fill(local, n, op);
	}
	wr->remote_addr = (uintptr_t)remote;
	wr->rkey = b->mr.rkey;
	if (op == WR_SEND || op == WR_SEND_WITH_IMM) {
		wr->remote_addr = 0;
		wr->rkey = 0;
	}
	/* A READ of iWARP has one entry. */
	cut = op == WR_RDMA_READ && self->s.iwarp ? 0 : abi_random() % BLOCK;
	if (cut)
		abi_sge(&self->w, (uintptr_t)local, cut, a->mr.lkey);
	abi_sge(&self->w, (uintptr_t)local + cut, BLOCK - cut, a->mr.lkey);
}

/* Posts up to 4 requests, if there is room. */
static int post(struct _test_data_traffic *self, int end, bool sig_all, bool fenced)
{
	struct side *a = &self->side[end];
	int n = abi_random() % 5;

	abi_wrs_init(&self->w);
	while (n-- && a->posted < REQUESTS && a->posted - a->oldest < DEPTH)
		add(self, end, sig_all, fenced);
	return self->w.num ? ABI_POST(&self->s, SEND, self->p.end[end].qp.qp, &self->w, NULL) : 0;
}

/* Checks a completion, and the state of requests before it. */
static int sent(struct _test_data_traffic *self, int end, const struct rdma_ep_wc *wc)
{
	struct side *a = &self->side[end], *b = &self->side[!end];
	__u32 n = wc->wr_id, block = n % BLOCKS;
	struct request *r = &a->all[n];

	CHECK(31, n < a->posted);
	/* An unsignalled READ of siw may still fail after a later request has completed. */
	if (r->implied && self->s.iwarp && self->cutting && reads(r->opcode)) {
		CHECK(32, wc->status);
		r->implied = false;
		return 0;
	}
	CHECK(1, n >= a->oldest);
	CHECK(2, !r->done);
	/* A failed request completes in any case. */
	CHECK(3, r->announced || wc->status);
	r->done = true;
	for (__u32 i = a->oldest; i < n; i++) {
		struct request *before = &a->all[i];

		if (before->done)
			continue;
		/* siw may complete a READ after later requests. */
		CHECK(4, !before->announced || (self->s.iwarp && reads(before->opcode) &&
						!reads(r->opcode)) || wc->status);
		if (!before->announced) {
			before->done = true;
			before->implied = true;
		}
	}
	while (a->oldest < a->posted && a->all[a->oldest].done)
		a->oldest++;
	if (wc->status) {
		/* siw may be sending the request or waiting for a READ response. */
		CHECK(5, wc->status == WC_WR_FLUSH_ERR || (self->s.iwarp && self->cutting &&
							   (wc->status == WC_LOC_QP_OP_ERR ||
							    wc->status == WC_GENERAL_ERR)));
		return 0;
	}
	switch (r->opcode) {
	case WR_RDMA_READ:
		CHECK(6, wc->opcode == WC_OP_RDMA_READ && filled(a->m->into[block], n, r->opcode));
		break;
	case WR_FETCH_AND_ADD:
		CHECK(7, wc->opcode == WC_OP_FETCH_ADD && a->m->was[block] == r->sum);
		break;
	case WR_RDMA_WRITE:
	case WR_RDMA_WRITE_WITH_IMM:
		CHECK(8, wc->opcode == WC_OP_RDMA_WRITE);
		/* Over iWARP the data may not have arrived, and may be lost. */
		CHECK(9, (self->s.iwarp && self->cutting) ||
		      filled(b->m->taken[block], n, r->opcode));
		break;
	default:
		CHECK(10, wc->opcode == WC_OP_SEND);
	}
	return 0;
}

static int received(struct _test_data_traffic *self, int end, const struct rdma_ep_wc *wc)
{
	struct side *a = &self->side[end], *b = &self->side[!end];
	__u32 n = b->sends[b->nr_arrived], opcode = b->all[n].opcode;
	const char *block = a->m->received[wc->wr_id % BLOCKS];

	CHECK(11, wc->status == 0 && b->nr_arrived < b->nr_sends);
	CHECK(12, wc->wr_id == b->nr_arrived);
	CHECK(13, wc->qp_num == self->p.end[end].qp.qp_num);
	b->nr_arrived++;
	b->arriving--;
	if (opcode != WR_SEND)
		CHECK(14, (wc->wc_flags & WC_WITH_IMM) && wc->imm_data == n);
	if (opcode == WR_RDMA_WRITE_WITH_IMM) {
		CHECK(15, wc->opcode == WC_OP_RECV_RDMA_WITH_IMM);
	} else {
		CHECK(16, wc->opcode == WC_OP_RECV && wc->byte_len == BLOCK);
		CHECK(17, filled(block, n, opcode));
	}
	return receive(self, end);
}

/* Takes completions of both ends. Returns their number, or a negative number of a check. */
static int take(struct _test_data_traffic *self)
{
	struct rdma_ep_wc wc[8];
	int n, ret, nr = 0;

	for (int end = 0; end < 2; end++) {
		for (int which = 0; which < 2; which++) {
			n = abi_poll(&self->s, self->p.end[end].cq[which], wc,
				     1 + abi_random() % 8);
			if (n < 0)
				return n;
			for (int i = 0; i < n; i++) {
				ret = which ? received(self, end, &wc[i]) : sent(self, end, &wc[i]);
				if (ret) {
					fprintf(stderr, "# end %d: request %llu, status %u, of %u\n",
						end, wc[i].wr_id, wc[i].status,
						self->side[end].posted);
					return -ret;
				}
			}
			nr += n;
		}
	}
	return nr;
}

static bool finished(const struct _test_data_traffic *self)
{
	for (int i = 0; i < 2; i++) {
		const struct side *a = &self->side[i];

		if (a->posted < REQUESTS || a->oldest < REQUESTS || a->nr_arrived < a->nr_sends)
			return false;
	}
	return true;
}

/* Moves both QPs to ERR: each request completes once. */
static int cut(struct _test_data_traffic *self)
{
	long end = abi_now_ms() + ABI_WAIT_MS;
	struct rdma_ep_wc wc[8];
	int n, ret;

	self->cutting = true;
	for (int i = 0; i < 2; i++)
		CHECK(21, abi_qp_state(&self->s, self->p.end[i].qp.qp, QPS_ERR) == 0);
	for (int i = 0; i < 2; i++) {
		struct side *a = &self->side[i];
		__u32 last = a->posted;

		/* Unsignalled requests are done when a later one completes. */
		while (last > a->oldest && !a->all[last - 1].announced)
			last--;
		while (a->oldest < last && abi_now_ms() < end) {
			n = abi_poll(&self->s, self->p.end[i].cq[0], wc, 8);
			for (int j = 0; j < n; j++) {
				ret = sent(self, i, &wc[j]);
				if (ret)
					return ret;
			}
			if (!n)
				usleep(1000);
		}
		CHECK(22, a->oldest >= last);
	}
	return 0;
}

TEST_F(traffic, random)
{
	long end;
	int n;

	for (int i = 0; i < 2; i++)
		for (n = 0; n < DEPTH; n++)
			OK(receive(self, i));
	end = abi_now_ms() + ABI_WAIT_MS;
	while (!finished(self)) {
		for (int i = 0; i < 2; i++)
			OK(post(self, i, variant->sig_all, variant->fenced));
		if (variant->cut && self->side[0].posted > REQUESTS / 3) {
			OK(cut(self));
			return;
		}
		n = take(self);
		ASSERT_LE(0, n);
		if (n)
			end = abi_now_ms() + ABI_WAIT_MS;
		LOGGED(ASSERT_GT(end, abi_now_ms()),
		       "posted %u, %u, done %u, %u", self->side[0].posted, self->side[1].posted,
		       self->side[0].oldest, self->side[1].oldest);
	}
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(self->side[!i].adds, self->side[i].m->counter);
}

TEST_HARNESS_MAIN
