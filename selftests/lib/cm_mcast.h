/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the tests of multicast: two datagram endpoints and a group */
#ifndef CM_MCAST_H
#define CM_MCAST_H

#include "lib_test.h"

#define GRH		40
#define MSG		64
#define RECVS		16

/* A datagram endpoint, which receives into RECVS buffers */
struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
	uint16_t lid;
	char buf[(RECVS + 1) * (GRH + MSG)];
};

static inline struct sockaddr_in group(const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &sin.sin_addr);
	return sin;
}

static inline int post_recv(struct member *m, int i)
{
	struct ibv_sge sge = { (uintptr_t)m->buf + i * (GRH + MSG), GRH + MSG, m->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(m->id->qp, &wr, &bad);
}

static inline int member_qp(struct member *m)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(m->cq);
	int i;

	attr.qp_type = m->id->qp_type;
	attr.cap.max_recv_wr = RECVS;
	if (rdma_create_qp(m->id, NULL, &attr))
		return -1;
	for (i = 0; i < RECVS; i++)
		if (post_recv(m, i))
			return -1;
	return 0;
}

static inline int member_up(struct member *m, enum rdma_port_space ps)
{
	m->channel = rdma_create_event_channel();
	m->id = m->channel ? lib_bound_id(m->channel, ps) : NULL;
	m->cq = m->id ? ibv_create_cq(m->id->verbs, 2 * RECVS, m, NULL, 0) : NULL;
	if (!m->cq)
		return -1;
	m->mr = ibv_reg_mr(m->id->pd, m->buf, sizeof(m->buf), IBV_ACCESS_LOCAL_WRITE);
	return m->mr ? member_qp(m) : -1;
}

static inline int member_down(struct member *m)
{
	int ret = 0;

	if (m->ah)
		ret |= ibv_destroy_ah(m->ah);
	if (m->id && m->id->qp)
		rdma_destroy_qp(m->id);
	if (m->mr)
		ret |= ibv_dereg_mr(m->mr);
	if (m->cq)
		ret |= ibv_destroy_cq(m->cq);
	if (m->id)
		ret |= rdma_destroy_id(m->id);
	if (m->channel)
		rdma_destroy_event_channel(m->channel);
	memset(m, 0, sizeof(*m));
	return ret;
}

/* Reads the join event, which has the group's address. */
static inline int member_joined(struct member *m)
{
	struct rdma_cm_event *event = lib_get_event(m->channel, RDMA_CM_EVENT_MULTICAST_JOIN);

	if (!event)
		return -1;
	if (m->ah)
		ibv_destroy_ah(m->ah);
	m->ah = ibv_create_ah(m->id->pd, &event->param.ud.ah_attr);
	m->qpn = event->param.ud.qp_num;
	m->qkey = event->param.ud.qkey;
	m->lid = event->param.ud.ah_attr.dlid;
	return rdma_ack_cm_event(event) || !m->ah ? -1 : 0;
}

static inline int join(struct member *m, struct sockaddr_in *sin)
{
	return rdma_join_multicast(m->id, SA(sin), NULL) ?: member_joined(m);
}

static inline int join_as(struct member *m, struct sockaddr_in *sin, uint32_t flags)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.addr = SA(sin),
		.join_flags = flags,
	};

	return rdma_join_multicast_ex(m->id, &attr, NULL) ?: member_joined(m);
}

static inline int post_to_group(struct member *m, char c)
{
	char *msg = m->buf + RECVS * (GRH + MSG);
	struct ibv_sge sge = { (uintptr_t)msg, MSG, m->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 100, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = m->ah, .remote_qpn = m->qpn, .remote_qkey = m->qkey },
	}, *bad;

	memset(msg, c, MSG);
	return ibv_post_send(m->id->qp, &wr, &bad);
}

/* Waits for completions of @sends sends and, unless @c is 0, of a message filled with @c. */
static inline bool completes(struct member *m, int sends, char c)
{
	struct ibv_wc wc[2];
	int n = sends + !!c, i, recvs = 0;

	if (lib_wait_wc(m->cq, wc, n))
		return false;
	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			lib_say(__FILE__, __LINE__, "wr_id %lu: %s",
				wc[i].wr_id, ibv_wc_status_str(wc[i].status));
			return false;
		}
		if (wc[i].wr_id == 100)
			continue;
		recvs++;
		if (wc[i].byte_len != GRH + MSG || !(wc[i].wc_flags & IBV_WC_GRH) ||
		    m->buf[wc[i].wr_id * (GRH + MSG) + GRH] != c) {
			lib_say(__FILE__, __LINE__, "another message");
			return false;
		}
		if (post_recv(m, wc[i].wr_id))
			return false;
	}
	return recvs == !!c;
}

FIXTURE(mcast) {
	struct member a, b;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(mcast)
{
	self->sin = group("230.5.6.7");
	if (lib_iwarp(ASSERT_PTR(lib_context())))
		SKIP_FIXTURE("iWARP has no multicast");
	ASSERT_EQ(0, member_up(&self->a, RDMA_PS_UDP));
	ASSERT_EQ(0, member_up(&self->b, RDMA_PS_UDP));
}

FIXTURE_TEARDOWN(mcast)
{
	EXPECT_EQ(0, member_down(&self->a));
	EXPECT_EQ(0, member_down(&self->b));
}

#endif
