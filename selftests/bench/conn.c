// SPDX-License-Identifier: GPL-2.0-only
/* Pairs of connected endpoints, both ends in this process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

struct ibv_qp_init_attr bench_attr(unsigned int depth)
{
	struct ibv_qp_init_attr attr = {
		.cap.max_send_wr = depth,
		.cap.max_recv_wr = depth,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.qp_type = IBV_QPT_RC,
	};

	return attr;
}

struct rdma_addrinfo *bench_resolve(const char *port, bool passive)
{
	struct rdma_addrinfo hints = {
		.ai_flags = (passive ? RAI_PASSIVE : 0) | RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(bench_options.addr, port, &hints, &res))
		bench_fail("rdma_getaddrinfo");
	return res;
}

struct rdma_cm_id *bench_listen(const char *port, struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo *res = bench_resolve(port, true);
	struct rdma_cm_id *id;

	if (rdma_create_ep(&id, res, NULL, attr))
		bench_fail("rdma_create_ep of a listener");
	rdma_freeaddrinfo(res);
	if (rdma_listen(id, 128))
		bench_fail("rdma_listen");
	return id;
}

struct rdma_cm_id *bench_try_new(struct rdma_addrinfo *res, unsigned int depth)
{
	struct ibv_qp_init_attr attr = bench_attr(depth);
	struct rdma_cm_id *id;

	return rdma_create_ep(&id, res, NULL, &attr) ? NULL : id;
}

struct rdma_cm_id *bench_new(struct rdma_addrinfo *res, unsigned int depth)
{
	struct rdma_cm_id *id = bench_try_new(res, depth);

	if (!id)
		bench_again("rdma_create_ep");
	return id;
}

static const struct rdma_conn_param conn_param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

void bench_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param;

	if (rdma_connect(id, &param))
		bench_again("rdma_connect");
}

struct rdma_cm_id *bench_accept(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = conn_param;
	struct rdma_cm_id *id;

	if (rdma_get_request(listener, &id))
		bench_again("rdma_get_request");
	if (rdma_accept(id, &param))
		bench_again("rdma_accept");
	return id;
}

struct connecting {
	struct bench_pair *pairs;
	unsigned int n;
	struct rdma_addrinfo *res;
	unsigned int depth;
};

static void *connect_all(void *arg)
{
	struct connecting *c = arg;
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		c->pairs[i].active = bench_new(c->res, c->depth);
		bench_connect(c->pairs[i].active);
	}
	return NULL;
}

static struct ibv_mr *register_all(struct rdma_cm_id *id, void *memory)
{
	struct ibv_mr *mr;

	mr = ibv_reg_mr(id->pd, memory, BENCH_MEMORY,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		bench_fail("ibv_reg_mr");
	return mr;
}

struct rdma_cm_id *bench_pairs(struct bench_pair *pairs, unsigned int n,
			       const char *port, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *listener = bench_listen(port, attr);
	struct connecting c = {
		.pairs = pairs,
		.n = n,
		.res = bench_resolve(port, false),
		.depth = attr->cap.max_send_wr,
	};
	pthread_t thread;
	unsigned int i;
	void *memory;

	memory = aligned_alloc(4096, BENCH_MEMORY);
	if (!memory)
		bench_fail("memory");
	memset(memory, 0x5a, BENCH_MEMORY);

	if (pthread_create(&thread, NULL, connect_all, &c))
		bench_fail("pthread_create");
	for (i = 0; i < n; i++)
		pairs[i].passive = bench_accept(listener);
	pthread_join(thread, NULL);
	rdma_freeaddrinfo(c.res);

	for (i = 0; i < n; i++) {
		pairs[i].memory = memory;
		/* All ids of a process share one PD. */
		if (i) {
			pairs[i].active_mr = pairs[0].active_mr;
			pairs[i].passive_mr = pairs[0].passive_mr;
		} else {
			pairs[i].active_mr = register_all(pairs[i].active, memory);
			pairs[i].passive_mr = register_all(pairs[i].passive, memory);
		}
	}
	return listener;
}

struct rdma_cm_id *bench_one_pair(struct bench_pair *pair, const char *port)
{
	struct ibv_qp_init_attr attr = bench_attr(BENCH_DEPTH);

	return bench_pairs(pair, 1, port, &attr);
}

void bench_end_pairs(struct bench_pair *pairs, unsigned int n, struct rdma_cm_id *listener)
{
	unsigned int i;

	/* rdma_disconnect() waits for the other end, which this thread has not disconnected. */
	if (n) {
		ibv_dereg_mr(pairs[0].active_mr);
		ibv_dereg_mr(pairs[0].passive_mr);
	}
	for (i = 0; i < n; i++) {
		rdma_destroy_ep(pairs[i].active);
		rdma_destroy_ep(pairs[i].passive);
	}
	if (n)
		free(pairs[0].memory);
	rdma_destroy_ep(listener);
}

void bench_post_recv(struct ibv_qp *qp, struct ibv_mr *mr, uint32_t len, unsigned int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr + BENCH_MEMORY / 2,
		.length = len,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr[BENCH_DEPTH];
	struct ibv_recv_wr *bad;
	unsigned int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
		};
	if (ibv_post_recv(qp, wr, &bad))
		bench_fail("ibv_post_recv");
}

struct ibv_send_wr bench_wr(const struct bench_pair *pair, enum ibv_wr_opcode opcode,
			    uint32_t len, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = 1,
		.wr.rdma.remote_addr = (uintptr_t)pair->memory + BENCH_MEMORY / 2,
		.wr.rdma.rkey = pair->passive_mr->rkey,
	};

	*sge = (struct ibv_sge){
		.addr = (uintptr_t)pair->active_mr->addr,
		.length = len,
		.lkey = pair->active_mr->lkey,
	};
	return wr;
}

void bench_post_send(struct ibv_qp *qp, const struct ibv_send_wr *one, unsigned int n)
{
	struct ibv_send_wr wr[BENCH_DEPTH];
	struct ibv_send_wr *bad;
	unsigned int i;

	for (i = 0; i < n; i++) {
		wr[i] = *one;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED;
	}
	if (ibv_post_send(qp, wr, &bad))
		bench_fail("ibv_post_send");
}

unsigned int bench_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	int i, n;

	n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc);
	if (n < 0)
		bench_fail("ibv_poll_cq");
	for (i = 0; i < n; i++)
		if (wc[i].status)
			bench_fail(ibv_wc_status_str(wc[i].status));
	return n;
}

void bench_wait(struct ibv_cq *cq, struct ibv_comp_channel *channel, unsigned int n)
{
	unsigned int got = 0, more;
	struct ibv_cq *same;
	bool armed = false;
	void *context;

	while (got < n) {
		more = bench_poll(cq);
		got += more;
		if (more)
			continue;
		/* Completions from before the request generate no event: poll once more. */
		if (!armed) {
			if (ibv_req_notify_cq(cq, 0))
				bench_fail("ibv_req_notify_cq");
			armed = true;
			continue;
		}
		if (ibv_get_cq_event(channel, &same, &context))
			bench_fail("ibv_get_cq_event");
		ibv_ack_cq_events(same, 1);
		armed = false;
	}
}
