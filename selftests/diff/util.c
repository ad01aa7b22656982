// SPDX-License-Identifier: GPL-2.0-only
/* Helpers of the topics: contexts, PDs, queues, states, completions. */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>

#include "diff.h"

struct ibv_context *diff_open(void)
{
	const char *name = getenv("RDMA_DEV");
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int i;

	NEED(list = ibv_get_device_list(NULL));
	for (i = 0; list[i] && !context; i++)
		if (!name || !strcmp(list[i]->name, name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEED(context);
	return context;
}

struct ibv_pd *diff_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	NEED(pd = ibv_alloc_pd(context));
	return pd;
}

struct ibv_cq *diff_cq(struct ibv_context *context, int cqe)
{
	struct ibv_cq *cq;

	NEED(cq = ibv_create_cq(context, cqe, NULL, NULL, 0));
	return cq;
}

struct ibv_mr *diff_mr(struct ibv_pd *pd, void *buf, size_t len, int access)
{
	struct ibv_mr *mr;

	NEED(mr = ibv_reg_mr(pd, buf, len, access));
	return mr;
}

const struct diff_caps diff_caps[] = {
	{ "all 0", { 0, 0, 0, 0, 0 } },
	{ "sends only", { 4, 0, 1, 0, 0 } },
	{ "receives only", { 0, 4, 0, 1, 0 } },
	{ "no SGEs", { 4, 4, 0, 0, 0 } },
	{ "inline", { 4, 4, 1, 1, 64 } },
	{ "inline 512", { 4, 4, 1, 1, 512 } },
	{ "max_send_wr too large", { 0x7fffffff, 4, 1, 1, 0 } },
	{ "max_recv_wr too large", { 4, 0x7fffffff, 1, 1, 0 } },
	{ "max_send_sge too large", { 4, 4, 1000, 1, 0 } },
	{ "max_recv_sge too large", { 4, 4, 1, 1000, 0 } },
	{ "max_inline_data too large", { 4, 4, 1, 1, 1 << 20 } },
	{ "all -1", { -1, -1, -1, -1, -1 } },
};

struct ibv_qp_init_attr diff_qp_attr(struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(cq);

	attr.qp_type = type;
	return attr;
}

struct ibv_qp *diff_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = diff_qp_attr(cq, type);
	struct ibv_qp *qp;

	NEED(qp = ibv_create_qp(pd, &attr));
	return qp;
}

struct rdma_cm_id *diff_id(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	NEED(!rdma_create_id(NULL, &id, NULL, ps));
	return id;
}

struct rdma_cm_id *diff_bound(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	NEED(id = lib_bound_id(NULL, ps));
	return id;
}

void diff_drop(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

static int gid_index(struct ibv_context *context, const union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	uint32_t i;

	for (i = 0; i < 16; i++)
		if (!ibv_query_gid_ex(context, 1, i, &entry, 0) &&
		    !memcmp(&entry.gid, gid, sizeof(*gid)) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			return i;
	diff_failed("no GID for RDMA_ADDR");
}

struct ibv_ah_attr diff_path(struct ibv_context *context)
{
	struct sockaddr_in sin = lib_addr(0);
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .hop_limit = 64, .dgid.raw = { [10] = 0xff, [11] = 0xff } },
	};

	memcpy(ah.grh.dgid.raw + 12, &sin.sin_addr, 4);
	ah.grh.sgid_index = gid_index(context, &ah.grh.dgid);
	return ah;
}

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

int diff_qp_to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn,
	       struct ibv_qp_attr *attr)
{
	bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;
	int mask = IBV_QP_STATE;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	switch (state) {
	case IBV_QPS_INIT:
		attr->port_num = 1;
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		attr->qkey = 0x11111111;
		attr->qp_access_flags = ALL_ACCESS;
		mask |= ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
		break;
	case IBV_QPS_RTR:
		if (ud)
			break;
		attr->path_mtu = IBV_MTU_1024;
		attr->dest_qp_num = dest_qpn;
		attr->ah_attr = diff_path(qp->context);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
		if (!rc)
			break;
		attr->max_dest_rd_atomic = 1;
		attr->min_rnr_timer = 1;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	case IBV_QPS_RTS:
		mask |= IBV_QP_SQ_PSN;
		if (!rc)
			break;
		attr->timeout = 10;
		attr->retry_cnt = 1;
		attr->rnr_retry = 1;
		attr->max_rd_atomic = 1;
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
		break;
	default:
		break;
	}
	return mask;
}

void diff_move(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn)
{
	enum ibv_qp_state s;
	struct ibv_qp_attr attr;
	int mask, i;

	/* RESET fails while a send queue drains, so repeat it. */
	attr.qp_state = IBV_QPS_RESET;
	for (i = 0; ibv_modify_qp(qp, &attr, IBV_QP_STATE); i++) {
		NEED(i < 5000);
		usleep(1000);
	}
	for (s = IBV_QPS_INIT; s <= state; s++) {
		mask = diff_qp_to(qp, s, dest_qpn, &attr);
		NEED(!ibv_modify_qp(qp, &attr, mask));
		if (state == IBV_QPS_ERR && s == IBV_QPS_INIT)
			s = IBV_QPS_ERR - 1;
	}
}

const char *diff_state(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

const char *diff_wc(struct ibv_cq *cq)
{
	static char text[128];
	struct ibv_wc wc;
	int i, ret = 0;

	for (i = 0; i < 3000 && !ret; i++) {
		ret = ibv_poll_cq(cq, 1, &wc);
		if (!ret)
			usleep(1000);
	}
	if (ret < 0)
		return "poll failed";
	if (!ret)
		return "none";
	/* The other fields are undefined after an error. */
	if (wc.status)
		snprintf(text, sizeof(text), "id %llu %s", (unsigned long long)wc.wr_id,
			 ibv_wc_status_str(wc.status));
	else
		snprintf(text, sizeof(text), "id %llu opcode %d len %u flags %x imm %x",
			 (unsigned long long)wc.wr_id, wc.opcode, wc.opcode & IBV_WC_RECV ||
			 wc.opcode == IBV_WC_RDMA_READ ? wc.byte_len : 0, wc.wc_flags,
			 wc.wc_flags & IBV_WC_WITH_IMM ? ntohl(wc.imm_data) : 0);
	return text;
}

const char *diff_event(struct rdma_event_channel *channel)
{
	static char text[128];
	struct rdma_cm_event *event;

	if (!lib_readable(channel->fd, 3000))
		return "none";
	if (rdma_get_cm_event(channel, &event))
		return "rdma_get_cm_event failed";
	snprintf(text, sizeof(text), "%s %d", rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	return text;
}
