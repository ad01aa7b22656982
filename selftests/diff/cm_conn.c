// SPDX-License-Identifier: GPL-2.0-only
/* Listening, connecting, accepting and rejecting, with invalid arguments and in wrong states. */
#include <fcntl.h>

#include "diff.h"

static void listeners(void)
{
	static const int backlogs[] = { -1, 0, 1, 0x7fffffff };
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id, *child;
	size_t i;

	E(rdma_listen(NULL, 1), "id NULL");
	for (i = 0; i < ARRAY_SIZE(backlogs); i++) {
		id = diff_id(RDMA_PS_TCP);
		NEED(!rdma_bind_addr(id, SA(&sin)));
		E(rdma_listen(id, backlogs[i]), "backlog %d", backlogs[i]);
		rdma_destroy_id(id);
	}
	id = diff_id(RDMA_PS_TCP);
	E(rdma_listen(id, 1), "unbound");
	diff_value("after listen", "port %d verbs %d family %d",
		   !!rdma_get_src_port(id), !!id->verbs, id->route.addr.src_addr.sa_family);
	E(rdma_listen(id, 1), "twice");
	E(rdma_bind_addr(id, SA(&sin)), "listening");
	E(rdma_connect(id, NULL), "listening");
	E(rdma_accept(id, NULL), "listening");
	E(rdma_disconnect(id), "listening");
	E(rdma_reject(id, NULL, 0), "listening");
	E(rdma_establish(id), "listening");
	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	E(rdma_get_request(id, &child), "no request, O_NONBLOCK");
	E(rdma_get_request(id, NULL), "child NULL, O_NONBLOCK");
	fcntl(id->channel->fd, F_SETFL, 0);
	diff_hangs(300);
	E(rdma_get_request(id, &child), "no request: blocks");
	rdma_destroy_id(id);

	E(rdma_get_request(NULL, &child), "id NULL");
	id = diff_id(RDMA_PS_TCP);
	diff_hangs(300);
	E(rdma_get_request(id, &child), "not listening");
	rdma_destroy_id(id);
}

static void too_early(struct rdma_cm_id *id, const char *state)
{
	struct rdma_conn_param param = { .qp_num = 17 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_ece ece = { .vendor_id = 1 };
	int mask;

	E(rdma_connect(id, NULL), "%s, param NULL", state);
	if (!id->verbs || !strcmp(state, "bound"))
		E(rdma_connect(id, &param), "%s", state);
	E(rdma_accept(id, NULL), "%s, param NULL", state);
	E(rdma_accept(id, &param), "%s", state);
	E(rdma_reject(id, NULL, 0), "%s", state);
	E(rdma_reject_ece(id, NULL, 0), "%s", state);
	E(rdma_disconnect(id), "%s", state);
	E(rdma_establish(id), "%s", state);
	E(rdma_notify(id, IBV_EVENT_COMM_EST), "%s", state);
	E(rdma_notify(id, IBV_EVENT_QP_FATAL), "%s, wrong event", state);
	E(rdma_init_qp_attr(id, &attr, &mask), "%s", state);
	E(rdma_get_remote_ece(id, &ece), "%s", state);
	E(rdma_set_local_ece(id, &ece), "%s, vendor 0", state);
}

static void nulls(void)
{
	struct rdma_conn_param param = {};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_ece ece = { .vendor_id = 1 };
	struct rdma_cm_id *id;
	int mask;

	E(rdma_connect(NULL, &param), "id NULL");
	E(rdma_accept(NULL, &param), "id NULL");
	E(rdma_reject(NULL, NULL, 0), "id NULL");
	E(rdma_reject_ece(NULL, NULL, 0), "id NULL");
	E(rdma_disconnect(NULL), "id NULL");
	E(rdma_establish(NULL), "id NULL");
	E(rdma_notify(NULL, IBV_EVENT_COMM_EST), "id NULL");
	E(rdma_init_qp_attr(NULL, &attr, &mask), "id NULL");
	E(rdma_get_remote_ece(NULL, &ece), "id NULL");
	E(rdma_set_local_ece(NULL, &ece), "id NULL");
	id = diff_id(RDMA_PS_TCP);
	E(rdma_get_remote_ece(id, NULL), "ece NULL");
	E(rdma_set_local_ece(id, NULL), "ece NULL");
	E(rdma_set_local_ece(id, &ece), "plain");
	ece.comp_mask = 1;
	E(rdma_set_local_ece(id, &ece), "comp_mask");
	ece = (struct ibv_ece) {};
	E(rdma_set_local_ece(id, &ece), "vendor_id 0");
	rdma_destroy_id(id);
}

static void init_attr(struct rdma_cm_id *id, const char *state)
{
	struct ibv_qp_attr attr;
	int mask, s;

	for (s = IBV_QPS_RESET; s <= IBV_QPS_ERR + 1; s++) {
		memset(&attr, 0, sizeof(attr));
		attr.qp_state = s;
		mask = 0;
		if (!E(rdma_init_qp_attr(id, &attr, &mask), "%s, state %d", state, s))
			diff_value("attr", "mask %x access %x port %d pkey %d rd %d %d timeout %d retry %d",
				   mask, mask & IBV_QP_ACCESS_FLAGS ? attr.qp_access_flags : 0,
				   attr.port_num, attr.pkey_index,
				   attr.max_rd_atomic, attr.max_dest_rd_atomic,
				   attr.timeout, attr.retry_cnt);
	}
}

/* Destroys the ids of a connection, but not the listener. */
static void drop(struct pair *p)
{
	pair_ack(p);
	diff_drop(p->a);
	if (p->p)
		diff_drop(p->p);
	p->a = NULL;
	p->p = NULL;
}

/* Reads the connection request from the listener's channel. */
static struct rdma_conn_param *request_event(struct pair *p)
{
	NEED(p->request = lib_get_event(p->pc, RDMA_CM_EVENT_CONNECT_REQUEST));
	p->p = p->request->id;
	return &p->request->param.conn;
}

static void parameters(void)
{
	static const int lens[] = { 1, 56, 57, 255 };
	static const int depths[] = { 0, 1, 128, 129, 254, 255 };
	char data[256] = "private";
	struct rdma_conn_param param = { .private_data = data }, *c;
	struct pair p = {};
	size_t i;

	NEED(!pair_listen(&p));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		NEED(!pair_resolve(&p) && !pair_qp(p.a));
		param.private_data_len = lens[i];
		if (!E(rdma_connect(p.a, &param), "%d bytes of private data", lens[i])) {
			c = request_event(&p);
			diff_value("private data", "length %d, the same %d", c->private_data_len,
				   !memcmp(c->private_data, data, lens[i]));
		}
		drop(&p);
	}
	param.private_data_len = 0;
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		NEED(!pair_resolve(&p) && !pair_qp(p.a));
		param.responder_resources = depths[i];
		param.initiator_depth = depths[i];
		param.retry_count = 9;
		param.rnr_retry_count = 9;
		param.flow_control = 1;
		if (!E(rdma_connect(p.a, &param), "depth %d", depths[i])) {
			c = request_event(&p);
			diff_value("request", "depth %d %d retry %d rnr %d flow %d srq %d",
				   c->responder_resources, c->initiator_depth, c->retry_count,
				   c->rnr_retry_count, c->flow_control, c->srq);
		}
		drop(&p);
	}
	param = (struct rdma_conn_param) { .private_data_len = 8 };
	NEED(!pair_resolve(&p));
	E(rdma_connect(p.a, NULL), "no QP, param NULL");
	NEED(!pair_qp(p.a));
	E(rdma_connect(p.a, &param), "private data NULL, length 8");
	pair_down(&p);
}

void diff_topic_cm_conn(void)
{
	struct sockaddr_in sin = lib_addr(0), dst = lib_addr(7471);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct pair p = {};

	listeners();
	nulls();
	id = diff_id(RDMA_PS_TCP);
	too_early(id, "unbound");
	init_attr(id, "unbound");
	NEED(!rdma_bind_addr(id, SA(&sin)));
	too_early(id, "bound");
	init_attr(id, "bound");
	rdma_destroy_id(id);
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(id, NULL, SA(&dst), 2000));
	NEED(!lib_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	too_early(id, "address resolved");
	NEED(!rdma_resolve_route(id, 2000));
	NEED(!lib_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	E(rdma_listen(id, 1), "route resolved");
	too_early(id, "route resolved");
	init_attr(id, "route resolved");
	NEED(!pair_qp(id));
	E(rdma_connect(id, NULL), "nobody listens");
	diff_value("nobody listens", "%s", diff_event(channel));
	diff_value("QP of nobody listens", "%s", diff_state(lib_qp_state(id->qp)));
	E(rdma_connect(id, NULL), "after the rejection");
	E(rdma_disconnect(id), "after the rejection");
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);

	parameters();

	NEED(!pair_up(&p));
	init_attr(p.a, "connected");
	init_attr(p.p, "connected, passive");
	E(rdma_connect(p.a, NULL), "connected");
	E(rdma_connect(p.p, NULL), "connected, passive");
	E(rdma_accept(p.a, NULL), "connected");
	E(rdma_accept(p.p, NULL), "connected, passive");
	E(rdma_reject(p.a, NULL, 0), "connected");
	E(rdma_reject(p.p, NULL, 0), "connected, passive");
	E(rdma_establish(p.a), "connected, own QP");
	E(rdma_notify(p.a, IBV_EVENT_COMM_EST), "connected");
	E(rdma_notify(p.p, IBV_EVENT_COMM_EST), "connected, passive");
	E(rdma_notify(p.a, IBV_EVENT_QP_FATAL), "connected, wrong event");
	E(rdma_listen(p.a, 1), "connected");
	E(rdma_resolve_addr(p.a, NULL, SA(&dst), 100), "connected");
	E(rdma_resolve_route(p.a, 100), "connected");
	E(rdma_bind_addr(p.a, SA(&sin)), "connected");
	E(rdma_disconnect(p.a), "connected");
	diff_value("QP after disconnect", "%s", diff_state(lib_qp_state(p.a->qp)));
	diff_value("peer", "%s", diff_event(p.pc));
	diff_value("peer's QP", "%s", diff_state(lib_qp_state(p.p->qp)));
	E(rdma_disconnect(p.p), "passive, after the peer's");
	E(rdma_disconnect(p.a), "twice");
	E(rdma_connect(p.a, NULL), "disconnected");
	E(rdma_accept(p.p, NULL), "disconnected");
	diff_value("active", "%s", diff_event(p.ac));
}

static void request(struct pair *p, struct rdma_conn_param *param)
{
	NEED(!pair_resolve(p));
	if (!param)
		NEED(!pair_qp(p->a));
	NEED(!pair_request(p, param));
}

static void rejects(struct pair *p)
{
	static const int lens[] = { 0, 1, 148, 149, 255 };
	char data[256] = "reason";
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		request(p, NULL);
		ret = E(rdma_reject(p->p, data, lens[i]), "%d bytes", lens[i]);
		if (!ret)
			diff_value("event", "%s", diff_event(p->ac));
		drop(p);
		lib_readable(p->ac->fd, 0);
	}
	request(p, NULL);
	E(rdma_reject(p->p, NULL, 8), "private data NULL, length 8");
	diff_value("rejected, NULL", "%s", diff_event(p->ac));
	diff_value("QP rejected", "%s", diff_state(lib_qp_state(p->a->qp)));
	E(rdma_reject(p->p, NULL, 0), "twice");
	E(rdma_accept(p->p, NULL), "rejected");
	E(rdma_connect(p->a, NULL), "rejected");
	drop(p);

	request(p, NULL);
	E(rdma_reject_ece(p->p, data, 8), "plain");
	diff_value("rejected for ECE", "%s", diff_event(p->ac));
	drop(p);
}

static void accepts(struct pair *p)
{
	static const int lens[] = { 196, 197, 255 };
	static const int depths[] = { 1, 129, 254, 255 };
	char data[256] = "accepted";
	struct rdma_conn_param param = { .private_data = data };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		request(p, NULL);
		NEED(!pair_qp(p->p));
		param.private_data_len = lens[i];
		if (!E(rdma_accept(p->p, &param), "%d bytes", lens[i]))
			diff_value("event", "%s", diff_event(p->ac));
		diff_value("QP", "%s", diff_state(lib_qp_state(p->p->qp)));
		drop(p);
	}
	param.private_data_len = 0;
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		request(p, NULL);
		NEED(!pair_qp(p->p));
		param.responder_resources = depths[i];
		param.initiator_depth = depths[i];
		if (!E(rdma_accept(p->p, &param), "depth %d", depths[i]))
			diff_value("event", "%s", diff_event(p->ac));
		drop(p);
	}
	request(p, NULL);
	E(rdma_accept(p->p, NULL), "no QP, param NULL");
	E(rdma_connect(p->p, NULL), "request");
	E(rdma_listen(p->p, 1), "request");
	E(rdma_disconnect(p->p), "request");
	E(rdma_establish(p->p), "request");
	E(rdma_resolve_addr(p->p, NULL, SA(&p->addr), 100), "request");
	drop(p);
}

/* QPs that the program creates without the ids: CONNECT_RESPONSE and rdma_establish(3) */
static void own_qps(struct pair *p)
{
	struct rdma_conn_param param = {
		.initiator_depth = 1, .responder_resources = 1, .retry_count = 7,
	}, *c;
	struct rdma_cm_event *event;
	struct ibv_ece ece;
	struct ibv_qp *a, *b;
	struct ibv_cq *cq;

	NEED(!pair_resolve(p));
	cq = diff_cq(p->a->verbs, 16);
	a = diff_qp(p->a->pd, cq, IBV_QPT_RC);
	b = diff_qp(p->a->pd, cq, IBV_QPT_RC);
	param.qp_num = a->qp_num;
	E(rdma_connect(p->a, &param), "external QP");
	c = request_event(p);
	diff_value("external", "peer's number %d srq %d", c->qp_num == a->qp_num, c->srq);
	E(rdma_get_remote_ece(p->p, &ece), "of a request");
	diff_value("ece", "%x %x", ece.vendor_id, ece.options);
	init_attr(p->p, "request");
	param.qp_num = b->qp_num;
	E(rdma_accept(p->p, &param), "external QP");
	NEED(event = lib_get_event(p->ac, RDMA_CM_EVENT_CONNECT_RESPONSE));
	diff_value("response", "peer's number %d", event->param.conn.qp_num == b->qp_num);
	rdma_ack_cm_event(event);
	E(rdma_get_remote_ece(p->a, &ece), "of a response");
	init_attr(p->a, "response");
	E(rdma_establish(p->a), "response");
	E(rdma_establish(p->a), "twice");
	diff_value("established", "%s", diff_event(p->pc));
	E(rdma_disconnect(p->a), "external QP");
	diff_value("disconnected", "%s", diff_event(p->pc));
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	drop(p);
	ibv_destroy_cq(cq);

	/* The kernel's rdma_accept() rejects the connection when it fails. */
	request(p, NULL);
	E(rdma_accept(p->a, &param), "connecting");
	drop(p);

	NEED(!pair_resolve(p));
	param.qp_num = 0xfffff0;
	if (!E(rdma_connect(p->a, &param), "number of no QP")) {
		request_event(p);
		E(rdma_accept(p->p, &param), "number of no QP");
	}
	drop(p);
}

void diff_topic_cm_accept(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *ud;
	struct pair p = {};

	NEED(!pair_listen(&p));
	rejects(&p);
	accepts(&p);
	own_qps(&p);
	pair_down(&p);

	/* Datagrams */
	p.ps = RDMA_PS_UDP;
	NEED(!pair_listen(&p));
	NEED(!pair_resolve(&p));
	E(rdma_connect(p.a, NULL), "UD, no QP, param NULL");
	diff_value("UD request", "%s", diff_event(p.pc));
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &ud, NULL, RDMA_PS_UDP));
	E(rdma_connect(ud, NULL), "UD, unbound");
	E(rdma_accept(ud, NULL), "UD, unbound");
	E(rdma_disconnect(ud), "UD, unbound");
	rdma_destroy_id(ud);
	E(rdma_disconnect(p.a), "UD, connecting");
}
