// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures messages on connections that share an SRQ and a CQ, as in servers. Each connection
 * sends one message in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include "bench.h"

#define SIZE		64
#define RECEIVES	64
#define DEPTH		32
/* Messages in flight, fewer than RECEIVES */
#define WINDOW		16

struct server {
	struct rdma_cm_id *id;	/* owner of the SRQ */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

static void post_recv(struct server *server)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)server->mr->addr + BENCH_MEMORY / 2,
		.length = SIZE,
		.lkey = server->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_srq_recv(server->id->srq, &wr, &bad))
		bench_fail("ibv_post_srq_recv");
}

/* Creates the SRQ before the listener, whose attributes contain it. */
static void start_server(struct server *server, const char *port)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };
	struct rdma_addrinfo *res = bench_resolve(port, true);

	if (rdma_create_ep(&server->id, res, NULL, NULL))
		bench_fail("rdma_create_ep without attributes");
	if (rdma_create_srq(server->id, NULL, &attr))
		bench_fail("rdma_create_srq");
	server->channel = ibv_create_comp_channel(server->id->verbs);
	if (!server->channel)
		bench_fail("ibv_create_comp_channel");
	server->cq = ibv_create_cq(server->id->verbs, 4 * RECEIVES, NULL, server->channel, 0);
	if (!server->cq)
		bench_fail("ibv_create_cq");
	rdma_freeaddrinfo(res);
}

static void end_server(struct server *server)
{
	ibv_destroy_cq(server->cq);
	ibv_destroy_comp_channel(server->channel);
	rdma_destroy_srq(server->id);
	rdma_destroy_ep(server->id);
}

static void run_srq(unsigned int conns, const char *port, const char *srq_port)
{
	struct bench_pair *pairs = calloc(conns, sizeof(*pairs));
	unsigned int messages = bench_times(3200, 512);
	unsigned int sent = 0, i, n;
	struct ibv_qp_init_attr attr = bench_attr(DEPTH);
	struct rdma_cm_id *listener;
	struct server server;
	struct ibv_sge sge = { .length = SIZE };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	uint64_t start;
	char name[40];

	if (!pairs)
		bench_fail("memory");
	start_server(&server, srq_port);
	attr.srq = server.id->srq;
	attr.recv_cq = server.cq;
	attr.send_cq = server.cq;
	listener = bench_pairs(pairs, conns, port, &attr);
	server.mr = pairs[0].passive_mr;
	sge.addr = (uintptr_t)pairs[0].active_mr->addr;
	sge.lkey = pairs[0].active_mr->lkey;
	for (i = 0; i < RECEIVES; i++)
		post_recv(&server);

	start = bench_begin();
	for (i = 0; i < messages / WINDOW; i++) {
		for (n = 0; n < WINDOW; n++) {
			struct rdma_cm_id *id = pairs[sent++ % conns].active;

			/* Takes the completion of the connection's previous send. */
			bench_poll(id->send_cq);
			bench_post_send(id->qp, &wr, 1);
		}
		bench_wait(server.cq, server.channel, WINDOW);
		for (n = 0; n < WINDOW; n++)
			post_recv(&server);
	}
	snprintf(name, sizeof(name), "srq_%u", conns);
	bench_result(name, bench_end(start), sent);
	bench_end_pairs(pairs, conns, listener);
	end_server(&server);
	free(pairs);
}

void bench_srq_1(void)
{
	run_srq(1, "7109", "7119");
}

void bench_srq_16(void)
{
	run_srq(16, "7110", "7120");
}

void bench_srq_256(void)
{
	run_srq(256, "7111", "7121");
}
