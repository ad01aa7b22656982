// SPDX-License-Identifier: GPL-2.0-only
/* Measures latency: one message of 64 bytes, back and forth. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "bench.h"

#define SIZE	64

struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	unsigned int rounds;
	bool polling;
};

static void send_one(struct end *end)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->mr->addr,
		.length = SIZE,
		.lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	bench_post_send(end->id->qp, &wr, 1);
}

static void wait_for_one(struct end *end, struct ibv_cq *cq,
			 int (*get)(struct rdma_cm_id *, struct ibv_wc *))
{
	struct ibv_wc wc;

	if (end->polling) {
		while (!bench_poll(cq))
			sched_yield();
	} else {
		if (get(end->id, &wc) != 1)
			bench_fail("waiting for a completion");
		if (wc.status)
			bench_fail(ibv_wc_status_str(wc.status));
	}
}

static int get_recv(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdma_get_recv_comp(id, wc);
}

static int get_send(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdma_get_send_comp(id, wc);
}

static void *pong(void *arg)
{
	struct end *end = arg;
	unsigned int i;

	for (i = 0; i < end->rounds; i++) {
		wait_for_one(end, end->id->recv_cq, get_recv);
		bench_post_recv(end->id->qp, end->mr, SIZE, 1);
		send_one(end);
		wait_for_one(end, end->id->send_cq, get_send);
	}
	return NULL;
}

void bench_ping(const char *name, const char *port, bool polling, unsigned int rounds)
{
	unsigned int warm = rounds / 10 + 1;
	struct bench_pair pair;
	struct rdma_cm_id *listener = bench_one_pair(&pair, port);
	struct end active = { .id = pair.active, .mr = pair.active_mr, .polling = polling };
	struct end passive = {
		.id = pair.passive,
		.mr = pair.passive_mr,
		.rounds = rounds + warm,
		.polling = polling,
	};
	uint64_t *ns = calloc(rounds, sizeof(*ns));
	pthread_t thread;
	uint64_t begin = 0;
	unsigned int i;

	bench_post_recv(pair.passive->qp, pair.passive_mr, SIZE, 8);
	bench_post_recv(pair.active->qp, pair.active_mr, SIZE, 8);
	if (pthread_create(&thread, NULL, pong, &passive))
		bench_fail("pthread_create");
	for (i = 0; i < rounds + warm; i++) {
		uint64_t start;

		if (i == warm)
			begin = bench_begin();
		start = bench_now();
		send_one(&active);
		wait_for_one(&active, active.id->recv_cq, get_recv);
		bench_post_recv(active.id->qp, active.mr, SIZE, 1);
		wait_for_one(&active, active.id->send_cq, get_send);
		if (i >= warm)
			ns[i - warm] = bench_now() - start;
	}
	bench_end(begin);
	pthread_join(thread, NULL);
	bench_results(name, ns, rounds);
	bench_end_pairs(&pair, 1, listener);
	free(ns);
}

void bench_ping_events(void)
{
	bench_ping("ping_events", "7106", false, bench_times(2000, 100));
}

void bench_ping_polling(void)
{
	bench_ping("ping_polling", "7107", true, bench_times(2000, 100));
}
