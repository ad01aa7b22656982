// SPDX-License-Identifier: GPL-2.0-only
/* Posting in each state, invalid requests, full queues. */
#include "diff.h"

static char buf[8192];

struct post {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_sge sge[4];
};

static struct ibv_sge sge_of(const struct post *p)
{
	return (struct ibv_sge) { (uintptr_t)buf, 64, p->mr->lkey };
}

static void setup(struct post *p, enum ibv_qp_type type)
{
	int i;

	p->context = diff_open();
	p->pd = diff_pd(p->context);
	p->cq = diff_cq(p->context, 256);
	p->mr = diff_mr(p->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC);
	p->qp = diff_qp(p->pd, p->cq, type);
	for (i = 0; i < 4; i++)
		p->sge[i] = sge_of(p);
}

/* Drops all requests and completions; after a crash, replaces QP and CQ. */
static void drain(struct post *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	if (diff_crashed) {
		p->cq = diff_cq(p->context, 256);
		p->qp = diff_qp(p->pd, p->cq, p->qp->qp_type);
		return;
	}
	ibv_modify_qp(p->qp, &attr, IBV_QP_STATE);
	while (ibv_poll_cq(p->cq, 1, &wc) > 0)
		;
}

void diff_topic_post_recv(void)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_ERR,
	};
	struct ibv_recv_wr wr, *bad, **out, chain[3];
	struct post p;
	size_t s;
	int i, ret;

	setup(&p, IBV_QPT_RC);
	wr = (struct ibv_recv_wr) { .wr_id = 1, .sg_list = p.sge, .num_sge = 1 };
	for (s = 0; s < ARRAY_SIZE(states); s++) {
		diff_move(p.qp, states[s], p.qp->qp_num);
		P(ibv_post_recv(p.qp, &wr, &bad), "in %s", diff_state(states[s]));
		if (states[s] == IBV_QPS_ERR)
			diff_value("flushed", "%s", diff_wc(p.cq));
		drain(&p);
	}
	P(ibv_post_recv(NULL, &wr, &bad), "qp NULL");
	diff_crashed = false;
#define TRY(_what, _bad, _set) do { \
	diff_move(p.qp, IBV_QPS_INIT, 0); \
	wr = (struct ibv_recv_wr) { .sg_list = p.sge, .num_sge = 1 }; \
	p.sge[0] = sge_of(&p); \
	out = _bad; \
	_set; \
	bad = NULL; \
	if (P(ibv_post_recv(p.qp, &wr, out), "%s", _what) > 0 && \
	    out && bad != &wr) \
		diff_value("bad_wr", "not set"); \
	drain(&p); \
} while (0)
	TRY("bad_wr NULL", NULL, (void)0);
	TRY("no SGE", &bad, wr.num_sge = 0);
	TRY("max_recv_sge SGEs", &bad, wr.num_sge = 2);
	TRY("max_recv_sge + 1 SGEs", &bad, wr.num_sge = 3);
	TRY("too many SGEs, bad_wr NULL", NULL, wr.num_sge = 3);
	TRY("-1 SGEs", &bad, wr.num_sge = -1);
	TRY("INT_MAX SGEs", &bad, wr.num_sge = 0x7fffffff);
	TRY("SGEs NULL", &bad, wr.sg_list = NULL);
	TRY("unknown lkey", &bad, p.sge[0].lkey = 0x12345);
	TRY("lkey 0", &bad, p.sge[0].lkey = 0);
	TRY("beyond the region", &bad, p.sge[0].length = sizeof(buf) + 1);
	TRY("before the region", &bad, p.sge[0].addr--);
	TRY("wraps", &bad, p.sge[0].addr = -32ULL);
	TRY("an SGE of length 0", &bad, p.sge[0].length = 0);
#undef TRY
	diff_move(p.qp, IBV_QPS_INIT, 0);
	P(ibv_post_recv(p.qp, NULL, &bad), "wr NULL");
	drain(&p);

	diff_move(p.qp, IBV_QPS_INIT, 0);
	for (i = 0; i < 3; i++) {
		chain[i] = wr;
		chain[i].wr_id = i;
		chain[i].next = i < 2 ? &chain[i + 1] : NULL;
	}
	chain[1].num_sge = 3;
	bad = NULL;
	P(ibv_post_recv(p.qp, chain, &bad), "second of three is bad");
	diff_value("bad_wr of three", "%d", bad ? (int)(bad - chain) : -1);
	for (i = 0, ret = 0; i < 4096 && !ret; i++)
		ret = ibv_post_recv(p.qp, &wr, &bad);
	diff_value("full", "%s, more than 7: %d", diff_errno(ret), i > 7);
	P(ibv_post_recv(p.qp, &wr, &bad), "full");
}

/* A valid request, for a QP that send_one() connects to itself */
static struct ibv_send_wr good_send(struct post *p, struct ibv_ah *ah)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = p->sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	int i;

	for (i = 0; i < 4; i++)
		p->sge[i] = sge_of(p);
	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = p->qp->qp_num;
		wr.wr.ud.remote_qkey = 0x11111111;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)buf;
		wr.wr.rdma.rkey = p->mr->rkey;
	}
	return wr;
}

static void send_one(struct post *p, struct ibv_send_wr *wr, const char *type, const char *what)
{
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &p->sge[3], .num_sge = 1 }, *bad_recv;
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr *bad = NULL;
	int ret;

	if (p->qp->qp_type != IBV_QPT_UD && atomic) {
		wr->wr.atomic.remote_addr = (uintptr_t)buf + !!strstr(what, "odd address");
		wr->wr.atomic.rkey = p->mr->rkey;
	}
	diff_move(p->qp, IBV_QPS_RTS, p->qp->qp_num);
	NEED(!ibv_post_recv(p->qp, &recv, &bad_recv));
	ret = P(ibv_post_send(p->qp, wr, &bad), "%s, %s", type, what);
	if (ret > 0 && bad != wr)
		diff_value("bad_wr", "not set");
	drain(p);
}

static void bad_sends(struct post *p, const char *type, struct ibv_ah *ah)
{
	struct ibv_send_wr wr;

#define TRY(_what, _set) do { \
	wr = good_send(p, ah); \
	_set; \
	send_one(p, &wr, type, _what); \
} while (0)
	TRY("plain", (void)0);
	TRY("no SGE", wr.num_sge = 0);
	TRY("max_send_sge SGEs", wr.num_sge = 2);
	TRY("max_send_sge + 1 SGEs", wr.num_sge = 3);
	TRY("-1 SGEs", wr.num_sge = -1);
	TRY("INT_MAX SGEs", wr.num_sge = 0x7fffffff);
	TRY("SGEs NULL", wr.sg_list = NULL);
	TRY("unknown lkey", p->sge[0].lkey = 0x12345);
	TRY("lkey 0", p->sge[0].lkey = 0);
	TRY("beyond the region", p->sge[0].length = sizeof(buf) + 1);
	TRY("before the region", p->sge[0].addr = (uintptr_t)buf - 1);
	TRY("wraps", p->sge[0].addr = -32ULL);
	TRY("an SGE of length 0", p->sge[0].length = 0);
	TRY("an SGE of length -1", p->sge[0].length = ~0U);
	TRY("opcode 99", wr.opcode = 99);
	TRY("opcode -1", wr.opcode = -1);
	TRY("BIND_MW", wr.opcode = IBV_WR_BIND_MW);
	TRY("TSO", wr.opcode = IBV_WR_TSO);
	TRY("DRIVER1", wr.opcode = IBV_WR_DRIVER1);
	TRY("LOCAL_INV", (wr.opcode = IBV_WR_LOCAL_INV, wr.invalidate_rkey = 0x12345));
	TRY("all flags", wr.send_flags = -1);
	TRY("flag 1 << 10", wr.send_flags |= 1 << 10);
	TRY("IP_CSUM", wr.send_flags |= IBV_SEND_IP_CSUM);
	TRY("inline", (wr.send_flags |= IBV_SEND_INLINE, p->sge[0].length = 16));
	TRY("inline, too long", (wr.send_flags |= IBV_SEND_INLINE, p->sge[0].length = 4096));
	TRY("inline READ", (wr.send_flags |= IBV_SEND_INLINE, p->sge[0].length = 16,
			    wr.opcode = IBV_WR_RDMA_READ));
	TRY("inline, no SGE", (wr.send_flags |= IBV_SEND_INLINE, wr.num_sge = 0));
	TRY("RDMA WRITE", wr.opcode = IBV_WR_RDMA_WRITE);
	TRY("RDMA WRITE with immediate", wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM);
	TRY("RDMA READ", wr.opcode = IBV_WR_RDMA_READ);
	TRY("SEND with immediate", wr.opcode = IBV_WR_SEND_WITH_IMM);
	TRY("SEND with invalidate", wr.opcode = IBV_WR_SEND_WITH_INV);
	TRY("CMP_AND_SWP", (wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, p->sge[0].length = 8));
	TRY("FETCH_AND_ADD", (wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, p->sge[0].length = 8));
	TRY("CMP_AND_SWP, 4 bytes", (wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, p->sge[0].length = 4));
	TRY("CMP_AND_SWP, odd address",
	    (wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, p->sge[0].length = 8));
	TRY("AH NULL", wr.wr.ud.ah = NULL);
	TRY("unsignaled", wr.send_flags = 0);
#undef TRY
}

static void sends_of(enum ibv_qp_type type, const char *name)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_ERR,
	};
	struct ibv_send_wr wr = { .wr_id = 1, .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_send_wr chain[3];
	struct ibv_ah_attr attr;
	struct ibv_ah *ah = NULL;
	struct post p;
	size_t i;

	setup(&p, type);
	if (type == IBV_QPT_UD) {
		attr = diff_path(p.context);
		NEED(ah = ibv_create_ah(p.pd, &attr));
		wr.wr.ud.ah = ah;
	}
	wr.sg_list = p.sge;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		diff_move(p.qp, states[i], p.qp->qp_num);
		P(ibv_post_send(p.qp, &wr, &bad), "%s, in %s", name, diff_state(states[i]));
		if (states[i] == IBV_QPS_ERR)
			diff_value("flushed", "%s", diff_wc(p.cq));
		drain(&p);
	}
	bad_sends(&p, name, ah);

	diff_move(p.qp, IBV_QPS_ERR, 0);
	for (i = 0; i < 3; i++) {
		chain[i] = wr;
		chain[i].wr_id = i;
		chain[i].next = i < 2 ? &chain[i + 1] : NULL;
	}
	chain[1].num_sge = 5;
	diff_move(p.qp, IBV_QPS_RTS, p.qp->qp_num);
	bad = NULL;
	P(ibv_post_send(p.qp, chain, &bad), "%s, second of three is bad", name);
	diff_value("bad_wr of three", "%d", bad ? (int)(bad - chain) : -1);
	drain(&p);
	diff_move(p.qp, IBV_QPS_RTS, p.qp->qp_num);
	P(ibv_post_send(p.qp, NULL, &bad), "%s, wr NULL", name);
	wr.num_sge = 5;
	P(ibv_post_send(p.qp, &wr, NULL), "%s, too many SGEs, bad_wr NULL", name);
}

void diff_topic_post_send(void)
{
	struct ibv_send_wr wr = {}, *bad;

	P(ibv_post_send(NULL, &wr, &bad), "qp NULL");
	sends_of(IBV_QPT_RC, "RC");
	sends_of(IBV_QPT_UC, "UC");
	sends_of(IBV_QPT_UD, "UD");
}
