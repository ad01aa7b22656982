// SPDX-License-Identifier: GPL-2.0-only
/* QPs: creation, queries, and each transition between states. */
#include "diff.h"

static void create_caps(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;
	size_t i;

	for (i = 0; i < DIFF_CAPS; i++) {
		attr = diff_qp_attr(cq, IBV_QPT_RC);
		attr.cap = diff_caps[i].cap;
		qp = N(ibv_create_qp(pd, &attr), "%s", diff_caps[i].what);
		if (!qp)
			continue;
		diff_value("cap", "send %s %s recv %s %s inline %s",
			   attr.cap.max_send_wr >= diff_caps[i].cap.max_send_wr ? "granted" : "less",
			   attr.cap.max_send_sge >= diff_caps[i].cap.max_send_sge ? "granted" : "less",
			   attr.cap.max_recv_wr >= diff_caps[i].cap.max_recv_wr ? "granted" : "less",
			   attr.cap.max_recv_sge >= diff_caps[i].cap.max_recv_sge ? "granted" : "less",
			   attr.cap.max_inline_data >=
			   diff_caps[i].cap.max_inline_data ? "granted" : "less");
		ibv_destroy_qp(qp);
	}
}

static void create(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
				     IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
				     IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, 0, 1,
				     99, -1 };
	struct ibv_context *other = diff_open();
	struct ibv_cq *foreign = diff_cq(other, 16);
	struct ibv_qp_init_attr attr = diff_qp_attr(cq, IBV_QPT_RC);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	size_t i;

	N(ibv_create_qp(NULL, &attr), "PD NULL");
	N(ibv_create_qp(pd, NULL), "attr NULL");
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr = diff_qp_attr(cq, types[i]);
		qp = N(ibv_create_qp(pd, &attr), "type %d", types[i]);
		if (!qp)
			continue;
		diff_value("new", "type %d state %s %s pd %d cq %d %d",
			   qp->qp_type, diff_state(qp->state),
			   diff_state(lib_qp_state(qp)), qp->pd == pd,
			   qp->send_cq == cq, qp->recv_cq == cq);
		ibv_destroy_qp(qp);
	}
	NEED(srq = ibv_create_srq(pd, &srq_attr));
	for (i = 0; i < 3; i++) {
		attr = diff_qp_attr(cq, types[i]);
		attr.srq = srq;
		qp = N(ibv_create_qp(pd, &attr), "type %d with an SRQ", types[i]);
		if (qp)
			ibv_destroy_qp(qp);
	}
	ibv_destroy_srq(srq);
	attr = diff_qp_attr(cq, IBV_QPT_RC);
	attr.send_cq = NULL;
	N(ibv_create_qp(pd, &attr), "send_cq NULL");
	attr = diff_qp_attr(cq, IBV_QPT_RC);
	attr.recv_cq = NULL;
	N(ibv_create_qp(pd, &attr), "recv_cq NULL");
	attr = diff_qp_attr(foreign, IBV_QPT_RC);
	qp = N(ibv_create_qp(pd, &attr), "CQ of another context");
	if (qp)
		ibv_destroy_qp(qp);
	create_caps(pd, cq);
	ibv_destroy_cq(foreign);
	ibv_close_device(other);
}

static void query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	P(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "plain");
	diff_value("query", "state %s type %d sig_all %d cq %d %d srq %d",
		   diff_state(attr.qp_state), init.qp_type, init.sq_sig_all,
		   init.send_cq == qp->send_cq, init.recv_cq == qp->recv_cq, !!init.srq);
	P(ibv_query_qp(qp, &attr, 0, &init), "mask 0");
	P(ibv_query_qp(qp, &attr, -1, &init), "mask -1");
	P(ibv_query_qp(qp, &attr, 1 << 30, &init), "mask bit 30");
	P(ibv_query_qp(NULL, &attr, IBV_QP_STATE, &init), "qp NULL");
	P(ibv_query_qp(qp, NULL, IBV_QP_STATE, &init), "attr NULL");
	P(ibv_query_qp(qp, &attr, IBV_QP_STATE, NULL), "init_attr NULL");
}

void diff_topic_qp(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 16);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp, *stale;
	struct ibv_ece ece = {};

	create(context, pd, cq);
	qp = diff_qp(pd, cq, IBV_QPT_RC);
	query(qp);
	P(ibv_modify_qp(NULL, &attr, IBV_QP_STATE), "qp NULL");
	P(ibv_modify_qp(qp, NULL, IBV_QP_STATE), "attr NULL");
	P(ibv_modify_qp(qp, &attr, 0), "mask 0");
	P(ibv_modify_qp(qp, &attr, -1), "mask -1");
	P(ibv_modify_qp(qp, &attr, IBV_QP_STATE | 1 << 30), "mask bit 30");
	P(ibv_modify_qp_rate_limit(qp, &(struct ibv_qp_rate_limit_attr) {}), "plain");
	P(ibv_modify_qp_rate_limit(NULL, &(struct ibv_qp_rate_limit_attr) {}), "qp NULL");
	P(ibv_query_ece(qp, &ece), "plain");
	P(ibv_query_ece(NULL, &ece), "qp NULL");
	P(ibv_query_ece(qp, NULL), "ece NULL");
	P(ibv_set_ece(qp, &ece), "vendor_id 0");
	ece.vendor_id = 1;
	P(ibv_set_ece(qp, &ece), "vendor_id 1");
	ece.comp_mask = 1;
	P(ibv_set_ece(qp, &ece), "comp_mask 1");
	P(ibv_set_ece(NULL, &ece), "qp NULL");
	I(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), "plain");
	I(ibv_query_qp_data_in_order(qp, 99, ~0U), "unknown opcode");
	I(ibv_query_qp_data_in_order(NULL, IBV_WR_RDMA_WRITE, 0), "qp NULL");
	P(ibv_dealloc_pd(pd), "a QP uses it");
	P(ibv_destroy_qp(NULL), "NULL");
	stale = diff_copy(qp);
	P(ibv_destroy_qp(qp), "plain");
	P(ibv_modify_qp(stale, &attr, IBV_QP_STATE), "stale QP");
	P(ibv_query_qp(stale, &attr, IBV_QP_STATE, &init), "stale QP");
	P(ibv_destroy_qp(stale), "stale QP");
}

/* Each transition: right mask, state only, an extra bit */
static void transitions(enum ibv_qp_type type)
{
	static const enum ibv_qp_state from[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_ERR,
	};
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 16);
	struct ibv_qp *qp = diff_qp(pd, cq, type);
	struct ibv_qp_attr attr;
	int to, mask, how, ret;
	size_t f;
	static const char *const hows[] = { "", ", only the state", ", and CAP", ", and ALT_PATH" };

	for (f = 0; f < ARRAY_SIZE(from); f++)
		for (to = IBV_QPS_RESET; to <= IBV_QPS_UNKNOWN + 1; to++)
			for (how = 0; how < 4; how++) {
				diff_move(qp, from[f], qp->qp_num);
				mask = diff_qp_to(qp, to, qp->qp_num, &attr);
				if (how == 1 && mask == IBV_QP_STATE)
					continue;
				if (how == 1)
					mask = IBV_QP_STATE;
				else if (how == 2)
					mask |= IBV_QP_CAP;
				else if (how == 3)
					mask |= IBV_QP_ALT_PATH;
				ret = P(ibv_modify_qp(qp, &attr, mask),
					"%s to %s (%d)%s", diff_state(from[f]),
					diff_state(to), to, hows[how]);
				if (!ret || how == 0)
					diff_value("state", "%s %s", diff_state(qp->state),
						   diff_state(lib_qp_state(qp)));
			}
}

/* Values out of range, one by one; masks without IBV_QP_STATE */
static void values(enum ibv_qp_type type)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 16);
	struct ibv_qp *qp = diff_qp(pd, cq, type);
	struct ibv_qp_attr attr;
	int mask;

#define TRY(_from, _to, _what, _set) do { \
	diff_move(qp, IBV_QPS_##_from, qp->qp_num); \
	mask = diff_qp_to(qp, IBV_QPS_##_to, qp->qp_num, &attr); \
	_set; \
	P(ibv_modify_qp(qp, &attr, mask), "%s", _what); \
} while (0)

	TRY(RESET, INIT, "INIT, port 0", attr.port_num = 0);
	TRY(RESET, INIT, "INIT, port 2", attr.port_num = 2);
	TRY(RESET, INIT, "INIT, port 255", attr.port_num = 255);
	TRY(RESET, INIT, "INIT, pkey_index 1", attr.pkey_index = 1);
	TRY(RESET, INIT, "INIT, pkey_index 65535", attr.pkey_index = 65535);
	TRY(RESET, INIT, "INIT, access 0", attr.qp_access_flags = 0);
	TRY(RESET, INIT, "INIT, access -1", attr.qp_access_flags = -1);
	TRY(RESET, INIT, "INIT, access of regions",
	    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
				   IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING);
	TRY(RESET, INIT, "INIT, privileged qkey", attr.qkey = 0x80010000);
	TRY(RESET, INIT, "INIT, cur_qp_state right",
	    (attr.cur_qp_state = IBV_QPS_RESET, mask |= IBV_QP_CUR_STATE));
	TRY(RESET, INIT, "INIT, cur_qp_state wrong",
	    (attr.cur_qp_state = IBV_QPS_RTS, mask |= IBV_QP_CUR_STATE));
	if (type != IBV_QPT_UD) {
		TRY(INIT, RTR, "RTR, mtu 0", attr.path_mtu = 0);
		TRY(INIT, RTR, "RTR, mtu 6", attr.path_mtu = 6);
		TRY(INIT, RTR, "RTR, mtu 4096", attr.path_mtu = IBV_MTU_4096);
		TRY(INIT, RTR, "RTR, sgid_index 200", attr.ah_attr.grh.sgid_index = 200);
		TRY(INIT, RTR, "RTR, sgid_index 255", attr.ah_attr.grh.sgid_index = 255);
		TRY(INIT, RTR, "RTR, no GRH", attr.ah_attr.is_global = 0);
		TRY(INIT, RTR, "RTR, AH's port 0", attr.ah_attr.port_num = 0);
		TRY(INIT, RTR, "RTR, AH's port 2", attr.ah_attr.port_num = 2);
		TRY(INIT, RTR, "RTR, dgid 0", memset(&attr.ah_attr.grh.dgid, 0, 16));
		TRY(INIT, RTR, "RTR, dest_qp_num -1", attr.dest_qp_num = -1);
		TRY(INIT, RTR, "RTR, rq_psn -1", attr.rq_psn = -1);
		TRY(INIT, RTR, "RTR, max_dest_rd_atomic 255", attr.max_dest_rd_atomic = 255);
		TRY(INIT, RTR, "RTR, max_dest_rd_atomic 128", attr.max_dest_rd_atomic = 128);
		TRY(INIT, RTR, "RTR, min_rnr_timer 31", attr.min_rnr_timer = 31);
		TRY(INIT, RTR, "RTR, min_rnr_timer 255", attr.min_rnr_timer = 255);
		TRY(RTR, RTS, "RTS, timeout 31", attr.timeout = 31);
		TRY(RTR, RTS, "RTS, timeout 255", attr.timeout = 255);
		TRY(RTR, RTS, "RTS, retry_cnt 8", attr.retry_cnt = 8);
		TRY(RTR, RTS, "RTS, retry_cnt 255", attr.retry_cnt = 255);
		TRY(RTR, RTS, "RTS, rnr_retry 8", attr.rnr_retry = 8);
		TRY(RTR, RTS, "RTS, max_rd_atomic 129", attr.max_rd_atomic = 129);
		TRY(RTR, RTS, "RTS, max_rd_atomic 255", attr.max_rd_atomic = 255);
	}
	TRY(RTR, RTS, "RTS, sq_psn -1", attr.sq_psn = -1);
	TRY(RTR, RTS, "RTS, rate_limit", (attr.rate_limit = 1, mask |= IBV_QP_RATE_LIMIT));
	TRY(RTR, RTS, "RTS, path_mig_state",
	    (attr.path_mig_state = 99, mask |= IBV_QP_PATH_MIG_STATE));
	TRY(RTS, RTS, "in RTS, only min_rnr_timer",
	    (attr.min_rnr_timer = 2, mask = IBV_QP_MIN_RNR_TIMER));
	TRY(RTS, RTS, "in RTS, only access flags",
	    (attr.qp_access_flags = 1, mask = IBV_QP_ACCESS_FLAGS));
	TRY(RTS, RTS, "in RTS, only qkey", (attr.qkey = 5, mask = IBV_QP_QKEY));
	TRY(RTS, RTS, "in RTS, only dest_qpn", (attr.dest_qp_num = 5, mask = IBV_QP_DEST_QPN));
	TRY(RESET, RESET, "in RESET, only access flags",
	    (attr.qp_access_flags = 1, mask = IBV_QP_ACCESS_FLAGS));
}

void diff_topic_qp_rc(void)
{
	transitions(IBV_QPT_RC);
	values(IBV_QPT_RC);
}

void diff_topic_qp_uc(void)
{
	transitions(IBV_QPT_UC);
	values(IBV_QPT_UC);
}

void diff_topic_qp_ud(void)
{
	transitions(IBV_QPT_UD);
	values(IBV_QPT_UD);
}
