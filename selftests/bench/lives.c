// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marks the system calls of an endpoint, from its creation to its destruction, for strace(1).
 * The first endpoint of the process does not count, as it causes further calls.
 */
#include <pthread.h>
#include "bench.h"

#define LIVES	2	/* the last one is marked */

static void *accept_all(void *listener)
{
	int i;

	for (i = 1; i <= LIVES; i++) {
		struct rdma_cm_id *id;

		if (i == LIVES)
			bench_trace("/bench/passive");
		id = bench_accept(listener);
		rdma_disconnect(id);
		rdma_destroy_ep(id);
		if (i == LIVES)
			bench_trace("/bench/end");
	}
	return NULL;
}

void bench_lives(void)
{
	struct ibv_qp_init_attr attr = bench_attr(BENCH_DEPTH);
	struct rdma_cm_id *listener = bench_listen("7113", &attr);
	struct rdma_addrinfo *res = bench_resolve("7113", false);
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, accept_all, listener))
		bench_fail("pthread_create");
	for (i = 1; i <= LIVES; i++) {
		struct rdma_cm_id *id;

		if (i == LIVES)
			bench_trace("/bench/active");
		id = bench_new(res, BENCH_DEPTH);
		bench_connect(id);
		rdma_disconnect(id);
		rdma_destroy_ep(id);
		if (i == LIVES)
			bench_trace("/bench/end");
	}
	pthread_join(thread, NULL);
	rdma_freeaddrinfo(res);
	rdma_destroy_ep(listener);
}

/* Marks the creation of the first endpoint: all calls since the program's start count. */
void bench_start(void)
{
	struct rdma_addrinfo *res = bench_resolve("7114", false);
	struct rdma_cm_id *id = bench_new(res, BENCH_DEPTH);

	bench_trace("/bench/end");
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}
