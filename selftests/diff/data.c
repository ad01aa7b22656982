// SPDX-License-Identifier: GPL-2.0-only
/* Data transfers: completions on both sides of two connected QPs. */
#include <arpa/inet.h>

#include "diff.h"

static char src[4096], dst[4096];

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *acq, *bcq;
	struct ibv_qp *a, *b;
	struct ibv_mr *mr, *rmr;
} d;

/* The transfer of one request, on new QPs, as an error ends a QP */
struct xfer {
	const char *what;
	int opcode;
	uint32_t len, recv_len;	/* 0: no receive is posted */
	int access;		/* access flags of the target region */
	int flags;
	int32_t offset;		/* into the target */
	bool bad_rkey, other_pd;
	int qp_access;		/* access flags of the target's QP; 0: all */
};

#define LW IBV_ACCESS_LOCAL_WRITE
#define RW (LW | IBV_ACCESS_REMOTE_WRITE)
#define RR IBV_ACCESS_REMOTE_READ
#define RA (LW | IBV_ACCESS_REMOTE_ATOMIC)

static const struct xfer xfers[] = {
	{ "SEND", IBV_WR_SEND, 64, 64, LW },
	{ "SEND, empty", IBV_WR_SEND, 0, 64, LW },
	{ "SEND, solicited", IBV_WR_SEND, 64, 64, LW, IBV_SEND_SOLICITED },
	{ "SEND with immediate", IBV_WR_SEND_WITH_IMM, 64, 64, LW },
	{ "SEND, inline", IBV_WR_SEND, 16, 64, LW, IBV_SEND_INLINE },
	{ "SEND, receive too short", IBV_WR_SEND, 64, 16, LW },
	{ "SEND, of packets", IBV_WR_SEND, 3000, 3000, LW },
	{ "SEND, receive not writable", IBV_WR_SEND, 64, 64, 0 },
	{ "SEND, no receive", IBV_WR_SEND, 64, 0, LW },
	{ "WRITE", IBV_WR_RDMA_WRITE, 64, 0, RW },
	{ "WRITE, empty", IBV_WR_RDMA_WRITE, 0, 0, RW },
	{ "WRITE, of packets", IBV_WR_RDMA_WRITE, 3000, 0, RW },
	{ "WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, 64, 64, RW },
	{ "WRITE, not allowed", IBV_WR_RDMA_WRITE, 64, 0, LW },
	{ "WRITE, QP does not allow", IBV_WR_RDMA_WRITE, 64, 0, RW, .qp_access = RR },
	{ "WRITE, bad rkey", IBV_WR_RDMA_WRITE, 64, 0, RW, .bad_rkey = true },
	{ "WRITE, beyond", IBV_WR_RDMA_WRITE, 64, 0, RW, .offset = 4090 },
	{ "WRITE, before", IBV_WR_RDMA_WRITE, 64, 0, RW, .offset = -1 },
	{ "WRITE, other PD", IBV_WR_RDMA_WRITE, 64, 0, RW, .other_pd = true },
	{ "READ", IBV_WR_RDMA_READ, 64, 0, RR },
	{ "READ, empty", IBV_WR_RDMA_READ, 0, 0, RR },
	{ "READ, not allowed", IBV_WR_RDMA_READ, 64, 0, RW },
	{ "READ, beyond", IBV_WR_RDMA_READ, 64, 0, RR, .offset = 4090 },
	{ "READ, bad rkey", IBV_WR_RDMA_READ, 64, 0, RR, .bad_rkey = true },
	{ "CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0, RA },
	{ "FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, RA },
	{ "FETCH_AND_ADD, not allowed", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, RW },
	{ "FETCH_AND_ADD, odd address", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, RA, .offset = 4 },
	{ "SEND with invalidate, unknown rkey", IBV_WR_SEND_WITH_INV, 64, 64, LW },
};

static void transfer(const struct xfer *x)
{
	struct ibv_sge sge = { (uintptr_t)src, x->len, 0 };
	struct ibv_sge rsge = { (uintptr_t)dst, x->recv_len, 0 };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = x->len ? 1 : 0,
		.opcode = x->opcode, .send_flags = IBV_SEND_SIGNALED | x->flags,
		.imm_data = htonl(0x12345678),
	}, *bad;
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &rsge, .num_sge = 1 }, *bad_recv;
	struct ibv_qp_attr attr = { .qp_access_flags = x->qp_access };
	struct ibv_pd *other = x->other_pd ? diff_pd(d.context) : NULL;
	uint64_t *counter = (uint64_t *)dst;

	d.a = diff_qp(d.pd, d.acq, IBV_QPT_RC);
	d.b = diff_qp(d.pd, d.bcq, IBV_QPT_RC);
	diff_move(d.a, IBV_QPS_RTS, d.b->qp_num);
	diff_move(d.b, IBV_QPS_RTS, d.a->qp_num);
	if (x->qp_access)
		NEED(!ibv_modify_qp(d.b, &attr, IBV_QP_ACCESS_FLAGS));
	d.mr = diff_mr(d.pd, src, sizeof(src), LW);
	d.rmr = diff_mr(other ?: d.pd, dst, sizeof(dst), x->access);
	sge.lkey = d.mr->lkey;
	rsge.lkey = d.rmr->lkey;
	memset(src, 'x', sizeof(src));
	memset(dst, 0, sizeof(dst));
	*counter = 40;
	if (x->recv_len)
		P(ibv_post_recv(d.b, &recv, &bad_recv), "%s", x->what);
	if (x->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || x->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)dst + x->offset;
		wr.wr.atomic.rkey = d.rmr->rkey;
		wr.wr.atomic.compare_add = x->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? 40 : 2;
		wr.wr.atomic.swap = 42;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)dst + x->offset;
		wr.wr.rdma.rkey = x->bad_rkey ? 0x12345 : d.rmr->rkey;
	}
	if (x->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = 0x12345;
	if (!P(ibv_post_send(d.a, &wr, &bad), "%s", x->what)) {
		diff_value("sender", "%s", diff_wc(d.acq));
		if (x->recv_len)
			diff_value("receiver", "%s", diff_wc(d.bcq));
		diff_value("after", "%s %s, wrote %d %d, counter %d",
			   diff_state(lib_qp_state(d.a)),
			   diff_state(lib_qp_state(d.b)), dst[0] == 'x',
			   src[0] != 'x', (int)*counter == 42);
	}
	ibv_destroy_qp(d.a);
	ibv_destroy_qp(d.b);
	ibv_dereg_mr(d.mr);
	ibv_dereg_mr(d.rmr);
	if (other)
		ibv_dealloc_pd(other);
}

/* Requests that ERR flushes, in order, and a receive that RESET drops */
static void flush(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;
	int i;

	d.a = diff_qp(d.pd, d.acq, IBV_QPT_RC);
	diff_move(d.a, IBV_QPS_INIT, 0);
	for (i = 0; i < 3; i++) {
		recv.wr_id = i;
		NEED(!ibv_post_recv(d.a, &recv, &bad_recv));
	}
	P(ibv_modify_qp(d.a, &attr, IBV_QP_STATE), "three receives posted");
	for (i = 0; i < 3; i++)
		diff_value(i ? i > 1 ? "third" : "second" : "first", "%s", diff_wc(d.acq));
	diff_value("no more", "%d", lib_no_wc(d.acq));
	P(ibv_post_send(d.a, &wr, &bad), "error state");
	diff_value("flushed send", "%s", diff_wc(d.acq));
	P(ibv_destroy_qp(d.a), "error state");

	d.a = diff_qp(d.pd, d.acq, IBV_QPT_RC);
	diff_move(d.a, IBV_QPS_INIT, 0);
	NEED(!ibv_post_recv(d.a, &recv, &bad_recv));
	attr.qp_state = IBV_QPS_RESET;
	P(ibv_modify_qp(d.a, &attr, IBV_QP_STATE), "to RESET, one receive");
	diff_value("after RESET", "%d", lib_no_wc(d.acq));
	ibv_destroy_qp(d.a);
}

void diff_topic_data(void)
{
	size_t i;

	d.context = diff_open();
	d.pd = diff_pd(d.context);
	d.acq = diff_cq(d.context, 64);
	d.bcq = diff_cq(d.context, 64);
	for (i = 0; i < ARRAY_SIZE(xfers); i++)
		transfer(&xfers[i]);
	flush();
}
