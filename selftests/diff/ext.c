// SPDX-License-Identifier: GPL-2.0-only
/* The extended verbs: CQs, QPs, and objects that only some devices support. */
#include <arpa/inet.h>
#include <fcntl.h>

#include "diff.h"

static char buf[4096] __attribute__((aligned(4096)));

static const char *read_wc(struct ibv_cq_ex *cq, uint64_t flags)
{
	static char text[160];
	int len;

	len = snprintf(text, sizeof(text), "id %llu status %d",
		       (unsigned long long)cq->wr_id, cq->status);
	if (cq->status)
		return text;
	len += snprintf(text + len, sizeof(text) - len, " opcode %d flags %x",
			ibv_wc_read_opcode(cq), ibv_wc_read_wc_flags(cq));
	if (flags & IBV_WC_EX_WITH_BYTE_LEN)
		len += snprintf(text + len, sizeof(text) - len, " len %u",
				ibv_wc_read_byte_len(cq));
	return text;
}

static void read_fields(struct ibv_cq_ex *cq, struct ibv_qp *qp)
{
	I(ibv_wc_read_opcode(cq), "flushed");
	I(ibv_wc_read_vendor_err(cq) & 0, "flushed");
	I(ibv_wc_read_byte_len(cq) & 0, "flushed");
	I(ibv_wc_read_imm_data(cq) & 0, "flushed");
	I(ibv_wc_read_invalidated_rkey(cq) & 0, "flushed");
	I(ibv_wc_read_qp_num(cq) == qp->qp_num, "flushed");
	I(ibv_wc_read_src_qp(cq) & 0, "flushed");
	I(ibv_wc_read_wc_flags(cq), "flushed");
	I(ibv_wc_read_slid(cq), "flushed");
	I(ibv_wc_read_sl(cq), "flushed");
	I(ibv_wc_read_dlid_path_bits(cq), "flushed");
}

/* Fields that were not requested, so the CQ has no functions to read them */
static void missing_fields(struct ibv_cq_ex *cq)
{
	struct ibv_wc_tm_info tm;

	I(ibv_wc_read_completion_ts(cq), "not asked for");
	I(ibv_wc_read_completion_wallclock_ns(cq), "not asked for");
	I(ibv_wc_read_cvlan(cq), "not asked for");
	I(ibv_wc_read_flow_tag(cq), "not asked for");
	V(ibv_wc_read_tm_info(cq, &tm), "not asked for");
}

static void poll_ex(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr poll = {};
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad;
	struct ibv_cq_ex *cq;
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp;
	struct ibv_wc wc;

	cq = N(ibv_create_cq_ex(context, &attr), "standard fields");
	if (!cq)
		return;
	N(ibv_cq_ex_to_cq(cq), "plain");
	I(ibv_start_poll(cq, &poll), "empty");
	poll.comp_mask = 1;
	I(ibv_start_poll(cq, &poll), "comp_mask 1");
	poll.comp_mask = 0;
	I(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), "of an extended CQ");
	init = diff_qp_attr(ibv_cq_ex_to_cq(cq), IBV_QPT_RC);
	NEED(qp = ibv_create_qp(pd, &init));
	diff_move(qp, IBV_QPS_INIT, 0);
	NEED(!ibv_post_recv(qp, &wr, &bad));
	wr.wr_id = 6;
	NEED(!ibv_post_recv(qp, &wr, &bad));
	NEED(!ibv_modify_qp(qp, &qp_attr, IBV_QP_STATE));
	if (!I(ibv_start_poll(cq, &poll), "two flushed")) {
		diff_value("first", "%s", read_wc(cq, attr.wc_flags));
		read_fields(cq, qp);
		missing_fields(cq);
		I(ibv_next_poll(cq), "second");
		diff_value("second", "%s", read_wc(cq, attr.wc_flags));
		I(ibv_next_poll(cq), "no more");
		V(ibv_end_poll(cq), "plain");
	}
	I(ibv_start_poll(cq, &poll), "empty again");
	P(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "a QP uses it");
	ibv_destroy_qp(qp);
	P(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "extended");
}

void diff_topic_cq_ex(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq_init_attr_ex attr;
	struct ibv_cq_ex *cq;
	int bit;

	for (bit = -1; bit < 16; bit++) {
		attr = (struct ibv_cq_init_attr_ex) {
			.cqe = 4, .wc_flags = bit < 0 ? 0 : 1ULL << bit,
		};
		cq = N(ibv_create_cq_ex(context, &attr), "wc_flags bit %d", bit);
		if (cq)
			ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
	for (bit = 0; bit < 4; bit++) {
		attr = (struct ibv_cq_init_attr_ex) {
			.cqe = 4, .comp_mask = 1U << bit, .parent_domain = pd,
		};
		cq = N(ibv_create_cq_ex(context, &attr), "comp_mask bit %d", bit);
		if (cq)
			ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
		attr = (struct ibv_cq_init_attr_ex) {
			.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
			.flags = 1U << bit,
		};
		cq = N(ibv_create_cq_ex(context, &attr), "flags bit %d", bit);
		if (cq)
			ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
	attr = (struct ibv_cq_init_attr_ex) {};
	N(ibv_create_cq_ex(context, &attr), "0 entries");
	attr.cqe = 0x7fffffff;
	N(ibv_create_cq_ex(context, &attr), "too many entries");
	attr.cqe = 4;
	attr.comp_vector = 0x7fffffff;
	N(ibv_create_cq_ex(context, &attr), "vector too large");
	N(ibv_create_cq_ex(NULL, &attr), "context NULL");
	N(ibv_create_cq_ex(context, NULL), "attr NULL");
	poll_ex(context, pd);
}

struct wr_test {
	struct ibv_qp_ex *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
};

static void finish(struct wr_test *t, const char *what)
{
	if (!P(ibv_wr_complete(t->qp), "%s", what))
		diff_value("completion", "%s", diff_wc(t->cq));
	else
		diff_value("no completion", "%d", lib_no_wc(t->cq));
}

/* In state ERR: all accepted requests are flushed. */
static void wr_calls(struct wr_test *t)
{
	struct ibv_sge sge[3] = {
		{ (uintptr_t)buf, 8, t->mr->lkey },
		{ (uintptr_t)buf, 8, t->mr->lkey },
		{ (uintptr_t)buf, 8, t->mr->lkey },
	};
	struct ibv_data_buf bufs[3] = { { buf, 8 }, { buf, 8 }, { buf, 8 } };
	uint64_t addr = (uintptr_t)buf;
	uint32_t key = t->mr->rkey;

	t->qp->wr_flags = IBV_SEND_SIGNALED;
	t->qp->wr_id = 1;
#define TRY(_what, _op, _data) do { \
	ibv_wr_start(t->qp); \
	V(_op, "%s", _what); \
	V(_data, "%s", _what); \
	finish(t, _what); \
} while (0)
	V(ibv_wr_start(t->qp), "empty");
	P(ibv_wr_complete(t->qp), "empty");
	TRY("send", ibv_wr_send(t->qp), ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8));
	TRY("send_imm", ibv_wr_send_imm(t->qp, 1), ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8));
	TRY("write", ibv_wr_rdma_write(t->qp, key, addr), ibv_wr_set_sge_list(t->qp, 2, sge));
	TRY("write_imm", ibv_wr_rdma_write_imm(t->qp, key, addr, 1),
	    ibv_wr_set_inline_data(t->qp, buf, 8));
	TRY("read", ibv_wr_rdma_read(t->qp, key, addr),
	    ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8));
	TRY("cmp_swp", ibv_wr_atomic_cmp_swp(t->qp, key, addr, 1, 2),
	    ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8));
	TRY("fetch_add", ibv_wr_atomic_fetch_add(t->qp, key, addr, 1),
	    ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8));
	TRY("send_inv", ibv_wr_send_inv(t->qp, 1), ibv_wr_set_inline_data_list(t->qp, 2, bufs));
	TRY("too many SGEs", ibv_wr_send(t->qp), ibv_wr_set_sge_list(t->qp, 3, sge));
	TRY("inline too long", ibv_wr_send(t->qp), ibv_wr_set_inline_data(t->qp, buf, 4000));
	TRY("inline list too long", ibv_wr_send(t->qp), ibv_wr_set_inline_data_list(t->qp, 1,
					&(struct ibv_data_buf) { buf, 4000 }));
	TRY("unknown lkey", ibv_wr_send(t->qp), ibv_wr_set_sge(t->qp, 0x12345, addr, 8));
	/* Neither stack offers these operations. */
	V(ibv_wr_local_inv(t->qp, 1), "not asked for");
	V(ibv_wr_bind_mw(t->qp, NULL, 1, NULL), "not asked for");
	V(ibv_wr_atomic_write(t->qp, key, addr, buf), "not asked for");
	V(ibv_wr_send_tso(t->qp, buf, 8, 64), "not asked for");
	V(ibv_wr_set_xrc_srqn(t->qp, 1), "not asked for");
	/* Aborting a list drops its requests. */
	ibv_wr_start(t->qp);
	ibv_wr_send(t->qp);
	ibv_wr_set_sge(t->qp, t->mr->lkey, addr, 8);
	V(ibv_wr_abort(t->qp), "one request");
	diff_value("aborted", "%d", lib_no_wc(t->cq));
#undef TRY
}

static struct ibv_qp *make_qp(struct ibv_context *context, struct ibv_pd *pd,
			      struct ibv_cq *cq, int type, uint64_t ops, const char *what)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { 64, 8, 2, 2, 64 },
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = ops,
	};

	return N(ibv_create_qp_ex(context, &attr), "%s", what);
}

static void wr_api(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	const uint64_t rc = IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			    IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV;
	struct wr_test t = { .cq = cq };
	struct ibv_qp *qp;

	t.mr = diff_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	qp = make_qp(context, pd, cq, IBV_QPT_RC, rc, "RC, all operations");
	if (qp) {
		t.qp = N(ibv_qp_to_qp_ex(qp), "RC");
		if (t.qp) {
			diff_move(qp, IBV_QPS_ERR, 0);
			wr_calls(&t);
		}
		ibv_destroy_qp(qp);
	}
	qp = make_qp(context, pd, cq, IBV_QPT_UD, IBV_QP_EX_WITH_SEND |
		     IBV_QP_EX_WITH_SEND_WITH_IMM, "UD, sends");
	if (qp) {
		t.qp = N(ibv_qp_to_qp_ex(qp), "UD");
		if (t.qp) {
			ibv_wr_start(t.qp);
			ibv_wr_send(t.qp);
			V(ibv_wr_set_ud_addr(t.qp, NULL, 1, 1), "AH NULL");
			ibv_wr_abort(t.qp);
		}
		ibv_destroy_qp(qp);
	}
	qp = diff_qp(pd, cq, IBV_QPT_RC);
	N(ibv_qp_to_qp_ex(qp), "a plain QP");
	N(ibv_qp_to_qp_ex(NULL), "NULL");
	ibv_destroy_qp(qp);
	ibv_dereg_mr(t.mr);
}

void diff_topic_qp_ex(void)
{
	static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
				     IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
				     IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, 0 };
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 64);
	struct ibv_qp_init_attr_ex attr, good = {
		.cap = { 4, 4, 1, 1, 16 },
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;
	size_t i;
	int bit;

	N(ibv_create_qp_ex(NULL, &good), "context NULL");
	N(ibv_create_qp_ex(context, NULL), "attr NULL");
#define TRY(_set, ...) do { \
	attr = good; \
	_set; \
	qp = N(ibv_create_qp_ex(context, &attr), __VA_ARGS__); \
	if (qp) \
		ibv_destroy_qp(qp); \
} while (0)
	for (bit = -1; bit < 32; bit++)
		TRY(attr.comp_mask |= bit < 0 ? 0 : 1U << bit, "PD and comp_mask bit %d", bit);
	TRY(attr.comp_mask = 0, "comp_mask 0");
	TRY(attr.pd = NULL, "PD NULL");
	for (bit = 0; bit < 16; bit++) {
		TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS,
		     attr.create_flags = 1U << bit), "create_flags bit %d", bit);
		TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		     attr.send_ops_flags = 1ULL << bit), "RC, send_ops bit %d", bit);
		TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, attr.qp_type = IBV_QPT_UC,
		     attr.send_ops_flags = 1ULL << bit), "UC, send_ops bit %d", bit);
		TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, attr.qp_type = IBV_QPT_UD,
		     attr.send_ops_flags = 1ULL << bit), "UD, send_ops bit %d", bit);
	}
	TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	     attr.send_ops_flags = 1ULL << 63), "send_ops bit 63");
	TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	     attr.send_ops_flags = 0), "send_ops 0");
	for (i = 0; i < ARRAY_SIZE(types); i++)
		TRY((attr.qp_type = types[i], attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS),
		    "type %d", types[i]);
	TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS,
	     attr.cap.max_send_wr = 0x7fffffff), "too many requests");
	TRY((attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
	     attr.max_tso_header = 64), "max_tso_header 64");
#undef TRY
	wr_api(context, pd, cq);
	N(ibv_open_qp(context, &(struct ibv_qp_open_attr) {}), "plain");
	N(ibv_open_qp(NULL, &(struct ibv_qp_open_attr) {}), "context NULL");
}

static void domains(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr parent = { .pd = pd };
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td;
	struct ibv_pd *ppd;

	td = N(ibv_alloc_td(context, &td_attr), "plain");
	if (td)
		P(ibv_dealloc_td(td), "plain");
	N(ibv_alloc_td(NULL, &td_attr), "context NULL");
	P(ibv_dealloc_td(NULL), "NULL");
	ppd = N(ibv_alloc_parent_domain(context, &parent), "plain");
	if (ppd)
		ibv_dealloc_pd(ppd);
	parent.comp_mask = ~0U;
	N(ibv_alloc_parent_domain(context, &parent), "comp_mask -1");
	N(ibv_alloc_parent_domain(NULL, &parent), "context NULL");
}

static void xrc(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd fake = { .context = context }, *xrcd;

	xrcd = N(ibv_open_xrcd(context, &attr), "plain");
	if (xrcd)
		P(ibv_close_xrcd(xrcd), "plain");
	attr.comp_mask = 0;
	N(ibv_open_xrcd(context, &attr), "comp_mask 0");
	attr.comp_mask = ~0U;
	N(ibv_open_xrcd(context, &attr), "comp_mask -1");
	N(ibv_open_xrcd(NULL, &attr), "context NULL");
	P(ibv_close_xrcd(&fake), "never opened");
	P(ibv_close_xrcd(NULL), "NULL");
}

static void windows(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_mw_bind bind = { .wr_id = 1 };
	struct ibv_cq *cq = diff_cq(context, 4);
	struct ibv_qp *qp = diff_qp(pd, cq, IBV_QPT_RC);
	struct ibv_mw fake = { .context = context, .pd = pd }, *mw;
	int type;

	for (type = 0; type < 4; type++) {
		mw = N(ibv_alloc_mw(pd, type), "type %d", type);
		if (mw)
			P(ibv_dealloc_mw(mw), "type %d", type);
	}
	N(ibv_alloc_mw(NULL, IBV_MW_TYPE_1), "PD NULL");
	P(ibv_dealloc_mw(&fake), "never allocated");
	P(ibv_dealloc_mw(NULL), "NULL");
	P(ibv_bind_mw(qp, &fake, &bind), "never allocated");
	P(ibv_bind_mw(NULL, &fake, &bind), "qp NULL");
	P(ibv_bind_mw(qp, NULL, &bind), "mw NULL");
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

static void device_memory(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm fake = { .context = context }, *dm;

	dm = N(ibv_alloc_dm(context, &attr), "plain");
	if (dm)
		P(ibv_free_dm(dm), "plain");
	N(ibv_alloc_dm(NULL, &attr), "context NULL");
	P(ibv_free_dm(&fake), "never allocated");
	P(ibv_free_dm(NULL), "NULL");
	N(ibv_reg_dm_mr(pd, &fake, 0, 64, IBV_ACCESS_ZERO_BASED), "never allocated");
	P(ibv_memcpy_to_dm(&fake, 0, buf, 8), "never allocated");
	P(ibv_memcpy_from_dm(buf, &fake, 0, 8), "never allocated");
	N(ibv_import_dm(context, 0), "handle 0");
	N(ibv_import_dm(NULL, 0), "context NULL");
	V(ibv_unimport_dm(NULL), "NULL");
}

static void work_queues(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_cq *cq = diff_cq(context, 4);
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd,
		.cq = cq,
	};
	struct ibv_rwq_ind_table_init_attr ind = {};
	struct ibv_rwq_ind_table table = { .context = context };
	struct ibv_wq fake = { .context = context };
	struct ibv_wq_attr modify = {};
	struct ibv_recv_wr wr = {}, *bad;

	N(ibv_create_wq(context, &attr), "plain");
	N(ibv_create_wq(NULL, &attr), "context NULL");
	P(ibv_modify_wq(&fake, &modify), "never created");
	P(ibv_destroy_wq(&fake), "never created");
	P(ibv_destroy_wq(NULL), "NULL");
	P(ibv_post_wq_recv(&fake, &wr, &bad), "never created");
	N(ibv_create_rwq_ind_table(context, &ind), "empty");
	N(ibv_create_rwq_ind_table(NULL, &ind), "context NULL");
	P(ibv_destroy_rwq_ind_table(&table), "never created");
	P(ibv_destroy_rwq_ind_table(NULL), "NULL");
	ibv_destroy_cq(cq);
}

static void flows(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_flow_attr attr = { .size = sizeof(attr), .port = 1 };
	struct ibv_flow_action_esp_attr esp = {};
	struct ibv_counters_init_attr init = {};
	struct ibv_counter_attach_attr attach = {};
	struct ibv_counters counters = { .context = context };
	struct ibv_flow_action action = { .context = context };
	struct ibv_flow flow = { .context = context };
	struct ibv_cq *cq = diff_cq(context, 4);
	struct ibv_qp *qp = diff_qp(pd, cq, IBV_QPT_UD);
	uint64_t value;

	N(ibv_create_flow(qp, &attr), "plain");
	N(ibv_create_flow(NULL, &attr), "qp NULL");
	P(ibv_destroy_flow(&flow), "never created");
	P(ibv_destroy_flow(NULL), "NULL");
	N(ibv_create_flow_action_esp(context, &esp), "plain");
	N(ibv_create_flow_action_esp(NULL, &esp), "context NULL");
	P(ibv_modify_flow_action_esp(&action, &esp), "never created");
	P(ibv_destroy_flow_action(&action), "never created");
	N(ibv_create_counters(context, &init), "plain");
	N(ibv_create_counters(NULL, &init), "context NULL");
	P(ibv_destroy_counters(&counters), "never created");
	P(ibv_attach_counters_point_flow(&counters, &attach, &flow), "never created");
	P(ibv_read_counters(&counters, &value, 1, 0), "never created");
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

void diff_topic_ext(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);

	domains(context, pd);
	xrc(context);
	windows(context, pd);
	device_memory(context, pd);
	work_queues(context, pd);
	flows(context, pd);
}
