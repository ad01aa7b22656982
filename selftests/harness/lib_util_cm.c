// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections and endpoints for the tests of the library.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "lib_util.h"

int pair_listen(struct pair *p)
{
	if (!p->ps)
		p->ps = RDMA_PS_TCP;
	p->addr = lib_addr(0);
	p->ac = rdma_create_event_channel();
	p->pc = rdma_create_event_channel();
	DO(!p->ac || !p->pc);
	DO(rdma_create_id(p->pc, &p->listener, p, p->ps));
	DO(rdma_bind_addr(p->listener, SA(&p->addr)));
	DO(rdma_listen(p->listener, 16));
	p->addr.sin_port = rdma_get_src_port(p->listener);
	return 0;
}

int pair_resolve(struct pair *p)
{
	DO(rdma_create_id(p->ac, &p->a, NULL, p->ps));
	DO(rdma_resolve_addr(p->a, NULL, SA(&p->addr), 2000));
	DO(lib_event(p->ac, RDMA_CM_EVENT_ADDR_RESOLVED));
	DO(rdma_resolve_route(p->a, 2000));
	DO(lib_event(p->ac, RDMA_CM_EVENT_ROUTE_RESOLVED));
	return 0;
}

int pair_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	attr.qp_type = id->qp_type;
	DO(rdma_create_qp(id, NULL, &attr));
	return 0;
}

int pair_request(struct pair *p, struct rdma_conn_param *param)
{
	DO(rdma_connect(p->a, param));
	p->request = lib_get_event(p->pc, RDMA_CM_EVENT_CONNECT_REQUEST);
	DO(!p->request);
	p->p = p->request->id;
	return 0;
}

int pair_ack(struct pair *p)
{
	struct rdma_cm_event *event = p->request;

	p->request = NULL;
	return event ? rdma_ack_cm_event(event) : 0;
}

int pair_route(struct pair *p)
{
	DO(pair_listen(p));
	DO(pair_resolve(p));
	return 0;
}

int pair_client(struct pair *p)
{
	DO(pair_route(p));
	DO(pair_qp(p->a));
	return 0;
}

int pair_passive(struct pair *p)
{
	DO(pair_request(p, NULL));
	DO(pair_ack(p));
	return 0;
}

int pair_requested(struct pair *p)
{
	DO(pair_passive(p));
	DO(pair_qp(p->p));
	return 0;
}

int pair_accept(struct pair *p)
{
	DO(rdma_accept(p->p, NULL));
	DO(lib_event(p->ac, RDMA_CM_EVENT_ESTABLISHED));
	if (p->ps == RDMA_PS_TCP)
		DO(lib_event(p->pc, RDMA_CM_EVENT_ESTABLISHED));
	return 0;
}

int pair_up(struct pair *p)
{
	DO(pair_client(p));
	DO(pair_requested(p));
	DO(pair_accept(p));
	return 0;
}

static int drop(struct rdma_cm_id *id)
{
	if (!id)
		return 0;
	if (id->qp)
		rdma_destroy_qp(id);
	DO(rdma_destroy_id(id));
	return 0;
}

int pair_down(struct pair *p)
{
	DO(pair_ack(p));
	DO(drop(p->a));
	DO(drop(p->p));
	DO(drop(p->listener));
	if (p->ac)
		rdma_destroy_event_channel(p->ac);
	if (p->pc)
		rdma_destroy_event_channel(p->pc);
	memset(p, 0, sizeof(*p));
	return 0;
}

struct rdma_addrinfo *lib_rai(int flags, uint16_t port, int ps)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags | RAI_NUMERICHOST,
		.ai_port_space = ps,
	};
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_addrinfo *res = NULL;
	char addr[INET_ADDRSTRLEN], service[8];

	inet_ntop(AF_INET, &sin.sin_addr, addr, sizeof(addr));
	snprintf(service, sizeof(service), "%u", port);
	if (rdma_getaddrinfo(addr, service, &hints, &res)) {
		lib_say(__FILE__, __LINE__, "rdma_getaddrinfo: %s", strerror(errno));
		return NULL;
	}
	return res;
}

struct eps eps_with_qps(void)
{
	static struct ibv_qp_init_attr attr;

	attr = lib_qp_attr();
	return (struct eps) { .passive_attr = &attr };
}

int eps_listen(struct eps *e)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP);

	DO(!res);
	DO(rdma_create_ep(&e->listener, res, e->pd, e->passive_attr));
	rdma_freeaddrinfo(res);
	DO(rdma_listen(e->listener, 4));
	return 0;
}

static void *serve(void *arg)
{
	struct eps *e = arg;

	if (rdma_get_request(e->listener, &e->p)) {
		e->p = NULL;
		e->server_errno = errno;
		return "rdma_get_request";
	}
	if (e->before_accept)
		e->before_accept(e);
	if (rdma_accept(e->p, e->accept)) {
		e->server_errno = errno;
		return "rdma_accept";
	}
	return NULL;
}

int eps_client(struct eps *e)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_addrinfo *res;

	res = lib_rai(0, ntohs(rdma_get_src_port(e->listener)), RDMA_PS_TCP);
	DO(!res);
	DO(rdma_create_ep(&e->a, res, NULL, e->active_attr ?: &attr));
	rdma_freeaddrinfo(res);
	return 0;
}

int eps_up(struct eps *e)
{
	struct lib_thread t;
	void *failed;

	if (!e->listener)
		DO(eps_listen(e));
	DO(eps_client(e));
	DO(lib_start(&t, serve, e));
	DO(rdma_connect(e->a, e->connect));
	DO(lib_join(&t, &failed));
	if (failed) {
		lib_say(__FILE__, __LINE__, "%s: %s", (char *)failed, strerror(e->server_errno));
		return -1;
	}
	return 0;
}

int eps_down(struct eps *e)
{
	if (e->a)
		rdma_destroy_ep(e->a);
	if (e->p)
		rdma_destroy_ep(e->p);
	if (e->listener)
		rdma_destroy_ep(e->listener);
	e->a = NULL;
	e->p = NULL;
	e->listener = NULL;
	return 0;
}

int ud_up(struct ud *u, struct rdma_event_channel *channel, struct ibv_srq_init_attr *srq)
{
	u->id = lib_bound_id(channel, RDMA_PS_UDP);
	DO(!u->id || lib_iwarp(u->id->verbs));
	if (srq)
		DO(rdma_create_srq(u->id, NULL, srq));
	DO(pair_qp(u->id));
	u->mr = rdma_reg_msgs(u->id, u->buf, sizeof(u->buf));
	u->ah = lib_own_ah(u->id);
	DO(!u->mr || !u->ah);
	memcpy(u->buf + 64, "datagram", sizeof("datagram"));
	return 0;
}

int ud_recv(struct ud *u, uint64_t wr_id)
{
	return rdma_post_recv(u->id, (void *)(uintptr_t)wr_id, u->buf, 64, u->mr);
}

int ud_send(struct ud *u, uint32_t qpn)
{
	DO(rdma_post_ud_send(u->id, NULL, u->buf + 64, 9, u->mr, 0, u->ah, qpn));
	return lib_next_wc(u->id->send_cq).status;
}

int ud_down(struct ud *u)
{
	if (u->ah)
		DO(ibv_destroy_ah(u->ah));
	if (u->mr)
		DO(rdma_dereg_mr(u->mr));
	if (!u->id)
		return 0;
	if (u->id->qp)
		rdma_destroy_qp(u->id);
	if (u->id->srq)
		rdma_destroy_srq(u->id);
	DO(rdma_destroy_id(u->id));
	return 0;
}
