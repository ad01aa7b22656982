// SPDX-License-Identifier: GPL-2.0-only
/* QPs and SRQs of ids, and endpoints. */
#include <arpa/inet.h>

#include "diff.h"

static void tell_qp(struct rdma_cm_id *id, struct ibv_qp_init_attr *attr)
{
	diff_value("id", "qp %d send_cq %d %d recv_cq %d %d channels %d %d pd %d state %s type %d",
		   !!id->qp, !!id->send_cq, !!attr->send_cq, !!id->recv_cq,
		   !!attr->recv_cq, !!id->send_cq_channel,
		   !!id->recv_cq_channel, id->qp && id->qp->pd == id->pd,
		   id->qp ? diff_state(lib_qp_state(id->qp)) : "-",
		   id->qp ? id->qp->qp_type : -1);
}

static void caps(void)
{
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	size_t i;

	for (i = 0; i < DIFF_CAPS; i++) {
		id = diff_bound(RDMA_PS_TCP);
		attr = lib_qp_attr();
		attr.cap = diff_caps[i].cap;
		if (!E(rdma_create_qp(id, NULL, &attr), "%s", diff_caps[i].what)) {
			tell_qp(id, &attr);
			DIFF_GRANTED("max_send_wr", attr.cap.max_send_wr,
				     diff_caps[i].cap.max_send_wr);
			DIFF_GRANTED("max_recv_wr", attr.cap.max_recv_wr,
				     diff_caps[i].cap.max_recv_wr);
		}
		diff_drop(id);
	}
}

static void types(void)
{
	static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
				     IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
				     IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, 0, 99 };
	static const int spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP };
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	char what[32];
	size_t s, i;

	for (s = 0; s < 2; s++)
		for (i = 0; i < ARRAY_SIZE(types); i++) {
			id = diff_bound(spaces[s]);
			attr = lib_qp_attr();
			attr.qp_type = types[i];
			snprintf(what, sizeof(what), "type %d, space %x", types[i], spaces[s]);
			if (!E(rdma_create_qp(id, NULL, &attr), "%s", what)) {
				tell_qp(id, &attr);
			}
			diff_drop(id);
		}
}

void diff_topic_cm_qp(void)
{
	struct ibv_qp_init_attr_ex ex = {};
	struct ibv_qp_init_attr attr;
	struct ibv_context *context;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int bit;

	attr = lib_qp_attr();
	E(rdma_create_qp(NULL, NULL, &attr), "id NULL");
	E(rdma_create_qp_ex(NULL, &ex), "id NULL");
	V(rdma_destroy_qp(NULL), "id NULL");
	id = diff_id(RDMA_PS_TCP);
	E(rdma_create_qp(id, NULL, &attr), "unbound");
	rdma_destroy_id(id);

	id = diff_bound(RDMA_PS_TCP);
	E(rdma_create_qp(id, NULL, NULL), "attr NULL");
	E(rdma_create_qp_ex(id, NULL), "attr NULL");
	V(rdma_destroy_qp(id), "no QP");
	context = diff_open();
	pd = diff_pd(context);
	E(rdma_create_qp(id, pd, &attr), "PD of another context");
	ibv_dealloc_pd(pd);
	pd = diff_pd(id->verbs);
	E(rdma_create_qp(id, pd, &attr), "plain");
	tell_qp(id, &attr);
	E(rdma_create_qp(id, pd, &attr), "twice");
	P(ibv_dealloc_pd(pd), "a QP uses it");
	V(rdma_destroy_qp(id), "plain");
	diff_value("destroyed", "qp %d send_cq %d recv_cq %d", !!id->qp,
		   !!id->send_cq, !!id->recv_cq);
	id->pd = NULL;
	P(ibv_dealloc_pd(pd), "unused again");
	rdma_destroy_id(id);

	id = diff_bound(RDMA_PS_TCP);
	cq = diff_cq(id->verbs, 16);
	attr = diff_qp_attr(cq, IBV_QPT_RC);
	E(rdma_create_qp(id, NULL, &attr), "own CQs");
	tell_qp(id, &attr);
	rdma_destroy_qp(id);
	attr = lib_qp_attr();
	attr.send_cq = cq;
	E(rdma_create_qp(id, NULL, &attr), "own send CQ");
	tell_qp(id, &attr);
	rdma_destroy_qp(id);
	ibv_destroy_cq(cq);
	cq = diff_cq(context, 16);
	attr = diff_qp_attr(cq, IBV_QPT_RC);
	E(rdma_create_qp(id, NULL, &attr), "CQ of another context");
	if (id->qp)
		rdma_destroy_qp(id);
	ibv_destroy_cq(cq);
	rdma_destroy_id(id);

	caps();
	types();

	for (bit = -1; bit < 32; bit++) {
		id = diff_bound(RDMA_PS_TCP);
		attr = lib_qp_attr();
		memset(&ex, 0, sizeof(ex));
		ex.cap = attr.cap;
		ex.qp_type = IBV_QPT_RC;
		ex.pd = id->pd;
		ex.comp_mask = IBV_QP_INIT_ATTR_PD | (bit < 0 ? 0 : 1U << bit);
		E(rdma_create_qp_ex(id, &ex), "comp_mask bit %d", bit);
		if (id->qp)
			rdma_destroy_qp(id);
		ex.comp_mask = bit < 0 ? 0 : 1U << bit;
		ex.send_cq = NULL;
		ex.recv_cq = NULL;
		if (bit <= 0)
			E(rdma_create_qp_ex(id, &ex), "only bit %d", bit);
		diff_drop(id);
	}
	for (bit = 0; bit < 16; bit++) {
		id = diff_bound(RDMA_PS_TCP);
		ex = (struct ibv_qp_init_attr_ex) {
			.cap = attr.cap, .qp_type = IBV_QPT_RC, .pd = id->pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_CREATE_FLAGS,
			.create_flags = 1U << bit,
		};
		E(rdma_create_qp_ex(id, &ex), "create_flags bit %d", bit);
		if (id->qp)
			rdma_destroy_qp(id);
		ex = (struct ibv_qp_init_attr_ex) {
			.cap = attr.cap, .qp_type = IBV_QPT_RC, .pd = id->pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = 1ULL << bit,
		};
		E(rdma_create_qp_ex(id, &ex), "send_ops bit %d", bit);
		diff_drop(id);
	}
}

void diff_topic_cm_srq(void)
{
	static const struct {
		const char *what;
		struct ibv_srq_attr attr;
	} cases[] = {
		{ "plain", { 8, 1, 0 } }, { "max_wr 0", { 0, 1, 0 } },
		{ "max_sge 0", { 8, 0, 0 } }, { "limit", { 8, 1, 4 } },
		{ "limit too large", { 8, 1, 100 } },
		{ "max_wr too large", { 0x7fffffff, 1, 0 } },
		{ "max_sge too large", { 8, 1000, 0 } },
		{ "all -1", { -1, -1, -1 } },
	};
	struct ibv_srq_init_attr attr = { .attr = { 8, 1, 0 } };
	struct ibv_srq_init_attr_ex ex;
	struct ibv_qp_init_attr qp_attr;
	struct ibv_context *context;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	size_t i;
	int bit, type;

	E(rdma_create_srq(NULL, NULL, &attr), "id NULL");
	V(rdma_destroy_srq(NULL), "id NULL");
	id = diff_id(RDMA_PS_TCP);
	E(rdma_create_srq(id, NULL, &attr), "unbound");
	rdma_destroy_id(id);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = diff_bound(RDMA_PS_TCP);
		attr.attr = cases[i].attr;
		if (!E(rdma_create_srq(id, NULL, &attr), "%s", cases[i].what)) {
			diff_value("id", "srq %d pd %d cq %d", !!id->srq, id->srq->pd == id->pd,
				   !!id->recv_cq);
			DIFF_GRANTED("max_wr", attr.attr.max_wr, cases[i].attr.max_wr);
		}
		diff_drop(id);
	}
	id = diff_bound(RDMA_PS_TCP);
	E(rdma_create_srq(id, NULL, NULL), "attr NULL");
	E(rdma_create_srq_ex(id, NULL), "attr NULL");
	V(rdma_destroy_srq(id), "no SRQ");
	context = diff_open();
	pd = diff_pd(context);
	attr.attr = cases[0].attr;
	E(rdma_create_srq(id, pd, &attr), "PD of another context");
	if (id->srq)
		rdma_destroy_srq(id);
	NEED(!rdma_create_srq(id, NULL, &attr));
	E(rdma_create_srq(id, NULL, &attr), "twice");
	qp_attr = lib_qp_attr();
	E(rdma_create_qp(id, NULL, &qp_attr), "with the id's SRQ");
	diff_value("QP", "srq %d", id->qp && id->qp->srq == id->srq);
	P(ibv_destroy_srq(id->srq), "a QP uses it");
	rdma_destroy_qp(id);
	V(rdma_destroy_srq(id), "after the QP");
	rdma_destroy_id(id);

	for (bit = -1; bit < 8; bit++) {
		id = diff_bound(RDMA_PS_TCP);
		memset(&ex, 0, sizeof(ex));
		ex.attr = cases[0].attr;
		ex.comp_mask = bit < 0 ? 0 : 1U << bit;
		E(rdma_create_srq_ex(id, &ex), "only comp_mask bit %d", bit);
		if (id->srq)
			rdma_destroy_srq(id);
		ex.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
		E(rdma_create_srq_ex(id, &ex), "TYPE and bit %d", bit);
		diff_drop(id);
	}
	for (type = 0; type < 4; type++) {
		id = diff_bound(RDMA_PS_TCP);
		memset(&ex, 0, sizeof(ex));
		ex.attr = cases[0].attr;
		ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
		ex.srq_type = type;
		E(rdma_create_srq_ex(id, &ex), "type %d", type);
		diff_drop(id);
	}
}

void diff_topic_cm_ep(void)
{
	static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
				     IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, 0,
				     99 };
	struct rdma_addrinfo *res, hints = {};
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct rdma_cm_id *id;
	int type, passive;
	size_t i;

	NEED(res = lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP));
	E(rdma_create_ep(NULL, res, NULL, NULL), "id NULL");
	E(rdma_create_ep(&id, NULL, NULL, NULL), "res NULL");
	V(rdma_destroy_ep(NULL), "NULL");
	E(rdma_create_ep(&id, res, NULL, NULL), "passive");
	diff_value("passive", "verbs %d pd %d qp %d channel %d event %d",
		   !!id->verbs, !!id->pd, !!id->qp, !!id->channel, !!id->event);
	V(rdma_destroy_ep(id), "passive");
	E(rdma_create_ep(&id, res, pd, &attr), "passive, PD of another context");
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);

	NEED(res = lib_rai(0, 7471, RDMA_PS_TCP));
	E(rdma_create_ep(&id, res, NULL, NULL), "active, no QP");
	diff_value("active", "verbs %d pd %d qp %d channel %d event %s",
		   !!id->verbs, !!id->pd, !!id->qp, !!id->channel,
		   id->event ? rdma_event_str(id->event->event) : "none");
	E(rdma_connect(id, NULL), "endpoint, no QP");
	V(rdma_destroy_ep(id), "active, no QP");
	E(rdma_create_ep(&id, res, NULL, &attr), "active");
	diff_value("active", "qp %d send_cq %d recv_cq %d %d", !!id->qp,
		   !!id->send_cq, !!id->recv_cq, !!attr.recv_cq);
	E(rdma_connect(id, NULL), "endpoint, nobody listens");
	diff_value("refused", "event %s", id->event ? rdma_event_str(id->event->event) : "none");
	V(rdma_destroy_ep(id), "active");
	attr = lib_qp_attr();
	E(rdma_create_ep(&id, res, pd, &attr), "active, PD of another context");
	attr = lib_qp_attr();
	attr.cap.max_send_wr = 0x7fffffff;
	E(rdma_create_ep(&id, res, NULL, &attr), "active, too many requests");
	for (passive = 0; passive < 2; passive++)
		for (i = 0; i < ARRAY_SIZE(types); i++) {
			type = types[i];
			attr = lib_qp_attr();
			res->ai_qp_type = type;
			res->ai_flags = passive ? RAI_PASSIVE : 0;
			if (passive && !res->ai_src_addr) {
				res->ai_src_addr = res->ai_dst_addr;
				res->ai_src_len = res->ai_dst_len;
			}
			if (E(rdma_create_ep(&id, res, NULL, &attr),
			      "passive %d, type %d", passive, type))
				continue;
			diff_value("type", "id's %d attr's %d", id->qp_type, attr.qp_type);
			rdma_destroy_ep(id);
		}
	res->ai_src_addr = NULL;
	res->ai_src_len = 0;
	res->ai_flags = 0;
	res->ai_qp_type = IBV_QPT_RC;
	res->ai_port_space = 0x999;
	E(rdma_create_ep(&id, res, NULL, NULL), "port space 0x999");
	res->ai_port_space = RDMA_PS_TCP;
	((struct sockaddr_in *)res->ai_dst_addr)->sin_addr.s_addr = htonl(0xcb007107);
	E(rdma_create_ep(&id, res, NULL, NULL), "no route");
	rdma_freeaddrinfo(res);

	hints.ai_port_space = RDMA_PS_TCP;
	hints.ai_qp_type = IBV_QPT_RC;
	E(rdma_create_ep(&id, &hints, NULL, NULL), "no address, active");
	hints.ai_flags = RAI_PASSIVE;
	E(rdma_create_ep(&id, &hints, NULL, NULL), "no address, passive");
}
