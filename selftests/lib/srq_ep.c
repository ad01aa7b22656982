// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several connections share one SRQ: rdma_create_ep(), rdma_create_srq(),
 * rdma_get_request(), ibv_post_srq_recv(), as a program would use them. One thread serves
 * all connections, the other one connects and checks the answers. The program is linked with
 * the library, without preloading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "lib_util.h"

#define CONNS	3
#define ROUNDS	20
#define MSG	512
#define BUFS	8

struct server {
	struct rdma_cm_id *listener, *conn[CONNS];
	struct ibv_cq *cq;		/* for sends and receives of all connections */
	struct ibv_mr *mr;
	char buf[BUFS][MSG];
	int received[CONNS];
	const char *failed;
};

static struct server server;

static int post(struct ibv_srq *srq, int i)
{
	struct ibv_sge sge = { (uintptr_t)server.buf[i], MSG, server.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static const char *start(void)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, 0, RDMA_PS_TCP);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = BUFS, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id;
	int i;

	/*
	 * The attributes of the connections' QPs must name the SRQ, and the SRQ needs the device
	 * of an id. So the first endpoint has no attributes.
	 */
	if (!res || rdma_create_ep(&id, res, NULL, NULL))
		return "rdma_create_ep";
	server.listener = id;
	if (rdma_create_srq(id, NULL, &srq) || !id->srq || srq.attr.max_wr < BUFS)
		return "rdma_create_srq";
	server.cq = ibv_create_cq(id->verbs, 2 * BUFS, NULL, NULL, 0);
	server.mr = rdma_reg_msgs(id, server.buf, sizeof(server.buf));
	if (!server.cq || !server.mr)
		return "ibv_create_cq, rdma_reg_msgs";
	for (i = 0; i < BUFS; i++)
		if (post(id->srq, i))
			return "ibv_post_srq_recv";

	/* The second endpoint has attributes, and listens. */
	attr.srq = id->srq;
	attr.send_cq = server.cq;
	attr.recv_cq = server.cq;
	if (rdma_create_ep(&server.conn[0], res, id->pd, &attr))
		return "rdma_create_ep with attributes";
	rdma_freeaddrinfo(res);
	return rdma_listen(server.conn[0], CONNS) ? "rdma_listen" : NULL;
}

static int connection_of(uint32_t qp_num)
{
	int i;

	for (i = 0; i < CONNS; i++)
		if (server.conn[i] && server.conn[i]->qp->qp_num == qp_num)
			return i;
	return -1;
}

/* Sends each message back with its last byte incremented, until all rounds are complete. */
static void *serve(void *listener)
{
	struct rdma_cm_id *all = server.listener;
	int left = CONNS * ROUNDS, i, conn;
	struct ibv_wc wc;

	server.failed = "rdma_get_request";
	for (i = 0; i < CONNS; i++) {
		if (rdma_get_request(listener, &server.conn[i]))
			return NULL;
		if (server.conn[i]->qp->srq != all->srq) {
			server.failed = "not the SRQ";
			return NULL;
		}
		if (rdma_accept(server.conn[i], NULL)) {
			server.failed = "rdma_accept";
			return NULL;
		}
	}
	server.failed = "completions";
	while (left) {
		if (lib_wait_wc(server.cq, &wc, 1) || wc.status)
			return NULL;
		i = wc.wr_id;
		conn = connection_of(wc.qp_num);
		if (conn < 0 || wc.opcode == IBV_WC_SEND) {
			if (conn < 0 || post(all->srq, i))
				return NULL;
			left--;
			continue;
		}
		server.received[conn]++;
		server.buf[i][wc.byte_len - 1]++;
		if (rdma_post_send(server.conn[conn], (void *)wc.wr_id,
				   server.buf[i], wc.byte_len, server.mr, 0))
			return NULL;
	}
	server.failed = NULL;
	return NULL;
}

static const char *talk(struct rdma_cm_id **id, struct ibv_mr **mr, char *out, char *in)
{
	struct ibv_wc wc;
	int round, i, j, len;

	for (round = 0; round < ROUNDS; round++) {
		/* All connections send before the first answer is awaited. */
		len = 1 + (round * 37) % MSG;
		for (i = 0; i < CONNS; i++) {
			for (j = 0; j < len; j++)
				out[i * MSG + j] = round + i * 50 + j;
			if (rdma_post_recv(id[i], NULL, in + i * MSG, MSG, mr[i]) ||
			    rdma_post_send(id[i], NULL, out + i * MSG, len, mr[i], 0))
				return "posting";
		}
		for (i = 0; i < CONNS; i++) {
			if (rdma_get_send_comp(id[i], &wc) != 1 || wc.status ||
			    rdma_get_recv_comp(id[i], &wc) != 1 || wc.status || wc.byte_len != len)
				return "completions";
			out[i * MSG + len - 1]++;
			if (memcmp(in + i * MSG, out + i * MSG, len))
				return "the data";
		}
	}
	return NULL;
}

static int result(const char *failed, const char *name)
{
	if (failed)
		ksft_print_msg("%s: %s (%s)\n", name, failed, strerror(errno));
	ksft_test_result(!failed, "%s\n", name);
	return !failed;
}

int main(void)
{
	static char mem[2 * CONNS * MSG];
	struct rdma_cm_id *id[CONNS] = {}, *listener;
	struct ibv_qp_init_attr attr;
	struct ibv_mr *mr[CONNS] = {};
	struct rdma_addrinfo *res;
	const char *failed = NULL;
	struct ibv_srq_attr left;
	struct lib_thread t;
	int i;

	alarm(60);
	ksft_print_header();
	ksft_set_plan(5);
	if (!result(start(), "listens with an SRQ"))
		ksft_exit_fail();
	listener = server.conn[0];
	server.conn[0] = NULL;
	res = lib_rai(0, ntohs(rdma_get_src_port(listener)), RDMA_PS_TCP);
	if (!res || lib_start(&t, serve, listener))
		ksft_exit_fail();
	for (i = 0; i < CONNS && !failed; i++) {
		attr = lib_qp_attr();
		if (rdma_create_ep(&id[i], res, NULL, &attr))
			failed = "rdma_create_ep";
		else if (rdma_connect(id[i], NULL))
			failed = "rdma_connect";
		else
			mr[i] = rdma_reg_msgs(id[i], mem, sizeof(mem));
	}
	rdma_freeaddrinfo(res);
	if (!result(failed, "connections are made"))
		ksft_exit_fail();
	result(talk(id, mr, mem, mem + CONNS * MSG), "data goes both ways");
	lib_join(&t, NULL);
	result(server.failed, "the server saw it all");

	failed = NULL;
	for (i = 0; i < CONNS; i++) {
		if (server.received[i] != ROUNDS)
			failed = "receives of a connection";
		if (rdma_dereg_mr(mr[i]))
			failed = "rdma_dereg_mr";
		rdma_destroy_ep(id[i]);
		if (server.conn[i])
			rdma_destroy_ep(server.conn[i]);
	}
	rdma_destroy_ep(listener);
	/* libsiw cannot query SRQs. */
	if (!is_libsiw(server.listener->verbs) &&
	    (ibv_query_srq(server.listener->srq, &left) || left.max_wr < BUFS))
		failed = "ibv_query_srq";
	if (rdma_dereg_mr(server.mr))
		failed = "rdma_dereg_mr";
	rdma_destroy_srq(server.listener);
	if (server.listener->srq || ibv_destroy_cq(server.cq))
		failed = "rdma_destroy_srq, ibv_destroy_cq";
	rdma_destroy_ep(server.listener);
	result(failed, "all is given back");
	ksft_finished();
}
