/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the tests of connections and requests: a listener and its clients */
#ifndef ABI_CM_H
#define ABI_CM_H

#include "abi_test.h"

#define LISTENER_UID	0x1111222233334444ULL
#define CLIENT_UID	0x5555666677778888ULL
#define CHILD_UID	0x99990000aaaabbbbULL

/* Private data in IB messages; rdma_cm takes 36 bytes of requests */
#define REQ_BYTES	(92 - 36)
#define REP_BYTES	196
#define REJ_BYTES	148
#define SIDR_REQ_BYTES	(216 - 36)
#define SIDR_REP_BYTES	136
/* Private data in siw's messages */
#define SIW_BYTES	251

static inline __u8 max_data(const struct abi *s, __u8 ib)
{
	return s->iwarp ? SIW_BYTES : ib;
}

FIXTURE(cm) {
	struct abi s;
	int server;		/* channels */
	int client;
	__u32 listener;
	struct sockaddr_in sin;
	__u32 cq;
};

FIXTURE_SETUP(cm)
{
	struct abi *s = &self->s;

	OK(abi_open(s));
	self->server = abi_channel(s);
	self->client = abi_channel(s);
	OK(abi_tcp_listen(s, self->server, 0, LISTENER_UID, &self->listener, &self->sin));
	OK(abi_create_cq(s, -1, 256, 0, &self->cq));
}

TEARDOWN_CLOSES(cm)

/* Creates a QP of @id, which the CM moves. 0: without an id */
static inline int new_qp(struct _test_data_cm *self, __u32 id, __u32 type,
			 struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_qp(&self->s, type, self->cq, id, &c);
	*init = c.init;
	return ret;
}

static inline int new_client(struct _test_data_cm *self, __u32 *id)
{
	return abi_tcp_client(&self->s, self->client, &self->sin, CLIENT_UID, id);
}

/* Creates a client with a QP, and sends its request. */
static inline int asking(struct _test_data_cm *self, __u32 *id)
{
	struct rdma_ep_qp_init qp;

	return new_client(self, id) ?:
	       new_qp(self, *id, QPT_RC, &qp) ?:
	       abi_connect(&self->s, *id, 0);
}

/* The same, and reads the request. */
static inline int request(struct _test_data_cm *self, __u32 *id, __u32 *child)
{
	struct rdma_ep_channel_event ev;
	int ret;

	ret = asking(self, id) ?:
	      abi_event(self->server, EV_CONNECT_REQUEST, &ev);
	*child = ev.child;
	return ret;
}

/*
 * The QP's state, or @expected where the device does not report it: of iWARP's states only RTS
 * has a counterpart.
 */
static inline __u32 qp_state(const struct abi *s, __u32 qp, __u32 expected)
{
	struct rdma_ep_cmd_query_qp q = { .qp = qp, .attr_mask = QP_STATE };

	if (ABI(s->fd, QUERY_QP, &q))
		return ~0U;
	if (s->iwarp && expected != QPS_RTS && q.attr.qp_state != QPS_RTS)
		return expected;
	return q.attr.qp_state;
}

#define EXPECT_QPS(_state, _s, _qp) \
	EXPECT_EQ(_state, qp_state(_s, _qp, _state))

/* Does @data consist of the bytes that were sent, and zeros behind them? */
static inline bool same_data(const __u8 *data, const char *sent, __u8 len)
{
	if (memcmp(data, sent, strlen(sent)))
		return false;
	for (int i = strlen(sent); i < RDMA_EP_MAX_PRIVATE_DATA; i++) {
		if (data[i])
			return false;
	}
	return len >= strlen(sent);
}

#endif /* ABI_CM_H */
