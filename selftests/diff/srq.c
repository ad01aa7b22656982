// SPDX-License-Identifier: GPL-2.0-only
/* Shared receive queues. */
#include "diff.h"

static char buf[4096];

static const struct {
	const char *what;
	struct ibv_srq_attr attr;
} sizes[] = {
	{ "plain", { 8, 2, 0 } }, { "max_wr 0", { 0, 1, 0 } },
	{ "max_wr 1", { 1, 1, 0 } },
	{ "max_sge 0", { 8, 0, 0 } }, { "limit", { 8, 1, 4 } },
	{ "limit max_wr", { 8, 1, 8 } }, { "limit too large", { 8, 1, 100 } },
	{ "max_wr too large", { 0x7fffffff, 1, 0 } },
	{ "max_sge too large", { 8, 1000, 0 } }, { "all -1", { -1, -1, -1 } },
};

/* Tag matching: all attributes that the type needs, and without one of them */
static void create_tm(struct ibv_context *context, struct ibv_pd *pd)
{
	static const struct {
		const char *what;
		uint32_t left_out;
	} cases[] = {
		{ "complete", 0 }, { "without a CQ", IBV_SRQ_INIT_ATTR_CQ },
		{ "without tags", IBV_SRQ_INIT_ATTR_TM },
	};
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_srq *srq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibv_srq_init_attr_ex ex = {
			.attr = sizes[0].attr, .pd = pd, .cq = cq, .srq_type = IBV_SRQT_TM,
			.comp_mask = (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				      IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM) &
				     ~cases[i].left_out,
			.tm_cap = { .max_num_tags = 1, .max_ops = 1 },
		};

		srq = N(ibv_create_srq_ex(context, &ex), "tag matching, %s", cases[i].what);
		if (srq)
			ibv_destroy_srq(srq);
	}
	ibv_destroy_cq(cq);
}

static void create(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = {};
	struct ibv_srq_init_attr_ex ex;
	struct ibv_srq *srq;
	size_t i;
	int bit;

	N(ibv_create_srq(NULL, &attr), "PD NULL");
	N(ibv_create_srq(pd, NULL), "attr NULL");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		attr.attr = sizes[i].attr;
		attr.srq_context = &attr;
		srq = N(ibv_create_srq(pd, &attr), "%s", sizes[i].what);
		if (!srq)
			continue;
		diff_value("attr", "max_wr %s max_sge %s context %d",
			   attr.attr.max_wr >= sizes[i].attr.max_wr ? "granted" : "less",
			   attr.attr.max_sge >= sizes[i].attr.max_sge ?
			   "granted" : "less", srq->srq_context == &attr);
		ibv_destroy_srq(srq);
	}
	for (bit = -1; bit < 32; bit++) {
		memset(&ex, 0, sizeof(ex));
		ex.attr = sizes[0].attr;
		ex.pd = pd;
		ex.comp_mask = IBV_SRQ_INIT_ATTR_PD |
			       (bit < 0 ? 0 : 1U << bit);
		srq = N(ibv_create_srq_ex(context, &ex), "comp_mask bit %d", bit);
		if (srq)
			ibv_destroy_srq(srq);
	}
	ex.comp_mask = 0;
	N(ibv_create_srq_ex(context, &ex), "comp_mask 0");
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	N(ibv_create_srq_ex(context, &ex), "no PD");
	ex.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	for (bit = 0; bit < 4; bit++) {
		ex.srq_type = bit;
		srq = N(ibv_create_srq_ex(context, &ex), "type %d", bit);
		if (srq)
			ibv_destroy_srq(srq);
	}
	create_tm(context, pd);
	N(ibv_create_srq_ex(NULL, &ex), "context NULL");
	N(ibv_create_srq_ex(context, NULL), "attr NULL");
}

static void modify(struct ibv_srq *srq)
{
	static const int masks[] = { 0, IBV_SRQ_MAX_WR, IBV_SRQ_LIMIT,
				     IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 4, 8, -1 };
	static const int values[] = { 1, 8, 0, 4, 1000, 0x7fffffff };
	struct ibv_srq_attr attr;
	size_t m, v;

	for (m = 0; m < ARRAY_SIZE(masks); m++)
		for (v = 0; v < (masks[m] & ~3 ? 2 : ARRAY_SIZE(values)); v++) {
			attr = (struct ibv_srq_attr) {
				.max_wr = values[v], .max_sge = 1,
				.srq_limit = masks[m] == IBV_SRQ_LIMIT ?
					     values[v] : 1,
			};
			P(ibv_modify_srq(srq, &attr, masks[m]), "mask %x, %d", masks[m], values[v]);
		}
	P(ibv_modify_srq(NULL, &attr, 0), "srq NULL");
	P(ibv_modify_srq(srq, NULL, IBV_SRQ_LIMIT), "attr NULL");
	P(ibv_query_srq(srq, &attr), "plain");
	diff_value("queried", "max_sge %d", attr.max_sge);
	P(ibv_query_srq(NULL, &attr), "srq NULL");
	P(ibv_query_srq(srq, NULL), "attr NULL");
}

static void post(struct ibv_srq *srq, struct ibv_mr *mr)
{
	struct ibv_sge sge[4] = {};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 1 }, *bad;
	struct ibv_recv_wr chain[3];
	int i, ret = 0;

	for (i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge) { (uintptr_t)buf, 64, mr->lkey };
	P(ibv_post_srq_recv(srq, &wr, &bad), "plain");
	P(ibv_post_srq_recv(srq, NULL, &bad), "wr NULL");
	P(ibv_post_srq_recv(NULL, &wr, &bad), "srq NULL");
	wr.num_sge = 0;
	P(ibv_post_srq_recv(srq, &wr, &bad), "no SGE");
	wr.num_sge = 4;
	bad = NULL;
	P(ibv_post_srq_recv(srq, &wr, &bad), "too many SGEs");
	diff_value("bad_wr", "%d", bad == &wr);
	wr.num_sge = -1;
	P(ibv_post_srq_recv(srq, &wr, &bad), "-1 SGEs");
	wr.num_sge = 1;
	sge[0].lkey = 0x12345;
	P(ibv_post_srq_recv(srq, &wr, &bad), "unknown lkey");
	sge[0].lkey = mr->lkey;
	sge[0].length = sizeof(buf) + 1;
	P(ibv_post_srq_recv(srq, &wr, &bad), "beyond the region");
	sge[0].length = 64;
	for (i = 0; i < 3; i++) {
		chain[i] = wr;
		chain[i].next = i < 2 ? &chain[i + 1] : NULL;
	}
	chain[1].num_sge = 4;
	bad = NULL;
	P(ibv_post_srq_recv(srq, chain, &bad), "second of three is bad");
	diff_value("bad_wr of three", "%d", bad ? (int)(bad - chain) : -1);
	for (i = 0; i < 4096 && !ret; i++)
		ret = ibv_post_srq_recv(srq, &wr, &bad);
	diff_value("full", "%s after 7: %d", diff_errno(ret), i > 7);
}

/* Called last, as a crash may leave the SRQ locked. */
static void post_crash(struct ibv_srq *srq)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;

	P(ibv_post_srq_recv(srq, &wr, &bad), "SGEs NULL");
}

void diff_topic_srq(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_mr *mr = diff_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_srq_init_attr attr = { .attr = { 16, 2, 0 } };
	struct ibv_cq *cq = diff_cq(context, 16);
	struct ibv_qp_init_attr init = diff_qp_attr(cq, IBV_QPT_RC);
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_srq *srq, *stale;
	struct ibv_qp *qp;
	uint32_t num;

	create(context, pd);
	NEED(srq = ibv_create_srq(pd, &attr));
	modify(srq);
	P(ibv_get_srq_num(srq, &num), "basic SRQ");
	P(ibv_get_srq_num(NULL, &num), "srq NULL");
	P(ibv_post_srq_ops(srq, NULL, NULL), "ops NULL");
	P(ibv_post_srq_ops(srq, &(struct ibv_ops_wr) {}, NULL), "plain");
	ibv_destroy_srq(srq);

	NEED(srq = ibv_create_srq(pd, &attr));
	post(srq, mr);
	init.srq = srq;
	NEED(qp = ibv_create_qp(pd, &init));
	P(ibv_post_recv(qp, &wr, &bad), "a QP with an SRQ");
	P(ibv_destroy_srq(srq), "a QP uses it");
	P(ibv_dealloc_pd(pd), "an SRQ uses it");
	ibv_destroy_qp(qp);
	P(ibv_destroy_srq(NULL), "NULL");
	stale = diff_copy(srq);
	P(ibv_destroy_srq(srq), "plain");
	P(ibv_modify_srq(stale, &attr.attr, IBV_SRQ_LIMIT), "stale SRQ");
	P(ibv_query_srq(stale, &attr.attr), "stale SRQ");
	init.srq = stale;
	N(ibv_create_qp(pd, &init), "stale SRQ");
	P(ibv_destroy_srq(stale), "stale SRQ");
	P(ibv_post_srq_recv(stale, &wr, &bad), "stale SRQ");
	NEED(srq = ibv_create_srq(pd, &attr));
	post_crash(srq);
}
