// SPDX-License-Identifier: GPL-2.0-only
/* Measures endpoints without traffic: creation, connection, and memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define BATCH	64

/*
 * Creates and destroys the first endpoint of a process, with all initialisation of the library.
 */
void bench_create_first(void)
{
	struct rdma_addrinfo *res;
	uint64_t start = bench_begin();

	res = bench_resolve("7100", false);
	rdma_destroy_ep(bench_new(res, BENCH_DEPTH));
	bench_result("create_first", bench_end(start), 1);
	rdma_freeaddrinfo(res);
}

/*
 * Another endpoint exists meanwhile, as in typical programs, so the device is open and its PD
 * exists. All endpoints are created before the first is destroyed, so no object is reused.
 */
void bench_create(void)
{
	unsigned int n = bench_times(BATCH, 8);
	struct rdma_addrinfo *res = bench_resolve("7101", false);
	struct rdma_cm_id *first = bench_new(res, BENCH_DEPTH);
	struct rdma_cm_id *ids[BATCH];
	uint64_t start, create;
	unsigned int i;

	start = bench_begin();
	for (i = 0; i < n; i++)
		ids[i] = bench_new(res, BENCH_DEPTH);
	create = bench_end(start);
	bench_result("create", create, n);
	start = bench_begin();
	for (i = 0; i < n; i++)
		rdma_destroy_ep(ids[i]);
	start = bench_end(start);
	bench_result("destroy", start, n);
	bench_sum("create_destroy", create + start, n);
	rdma_destroy_ep(first);
	rdma_freeaddrinfo(res);
}

struct server {
	struct rdma_cm_id *listener;
	unsigned int n;
};

static void *serve(void *arg)
{
	struct server *server = arg;
	unsigned int i;

	for (i = 0; i < server->n; i++) {
		struct rdma_cm_id *id = bench_accept(server->listener);

		/* Over RoCE the client's rdma_disconnect() waits for this one. */
		rdma_disconnect(id);
		rdma_destroy_ep(id);
	}
	return NULL;
}

struct client {
	struct rdma_addrinfo *res;
	uint64_t *ns;
	unsigned int n;
};

static void *connect_again_and_again(void *arg)
{
	struct client *client = arg;
	unsigned int i;

	for (i = 0; i < client->n; i++) {
		uint64_t start = bench_now();
		struct rdma_cm_id *id = bench_new(client->res, BENCH_DEPTH);

		bench_connect(id);
		rdma_disconnect(id);
		rdma_destroy_ep(id);
		client->ns[i] = bench_now() - start;
	}
	return NULL;
}

/* Whole lives of connections, in @threads clients at a time */
static void cycles(const char *name, const char *port, unsigned int threads, unsigned int n)
{
	struct ibv_qp_init_attr attr = bench_attr(BENCH_DEPTH);
	struct rdma_cm_id *listener = bench_listen(port, &attr);
	struct rdma_addrinfo *res = bench_resolve(port, false);
	struct client client[8];
	struct server server[8];
	pthread_t clients[8];
	pthread_t servers[8];
	uint64_t *ns = calloc(n * threads, sizeof(*ns));
	uint64_t start;
	unsigned int i;

	start = bench_begin();
	for (i = 0; i < threads; i++) {
		client[i] = (struct client){ .res = res, .ns = ns + i * n, .n = n };
		server[i] = (struct server){ .listener = listener, .n = n };
		if (pthread_create(&servers[i], NULL, serve, &server[i]) ||
		    pthread_create(&clients[i], NULL, connect_again_and_again, &client[i]))
			bench_fail("pthread_create");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(clients[i], NULL);
		pthread_join(servers[i], NULL);
	}
	start = bench_end(start);
	if (threads > 1)
		bench_result(name, start, n * threads);
	else
		bench_results(name, ns, n);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(res);
	free(ns);
}

void bench_cycle(void)
{
	cycles("cycle", "7102", 1, bench_times(100, 10));
}

void bench_rate_1(void)
{
	cycles("rate_1", "7103", 1, bench_times(100, 10));
}

void bench_rate_8(void)
{
	cycles("rate_8", "7104", 8, bench_times(20, 4));
}

/* The sum of the numbers in those lines of a file that have this format */
static long sum_of(const char *path, const char *format)
{
	long sum = 0, value;
	char line[200];
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		bench_fail(path);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, format, &value) == 1)
			sum += value;
	fclose(f);
	return sum;
}

/*
 * Used memory of the whole system, in KiB. The free pages in the lists of the CPUs are not among
 * the available ones, and since Linux 6.7 these lists hold up to an eighth of the memory.
 */
static long memory_in_use(void)
{
	return sum_of("/proc/meminfo", "MemTotal: %ld") -
	       sum_of("/proc/meminfo", "MemAvailable: %ld") -
	       sum_of("/proc/zoneinfo", " count: %ld") * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The queues are small: 10,000 endpoints of BENCH_DEPTH do not fit into a guest's memory. */
void bench_idle(void)
{
	static const unsigned int steps[] = { 10, 1000, 10000 };
	unsigned int most = bench_times(10000, 10);
	struct rdma_addrinfo *res = bench_resolve("7105", false);
	struct rdma_cm_id **ids = calloc(most + 20, sizeof(*ids));
	unsigned int step, i, held = 0;
	long before, after;
	uint64_t begin;
	uint64_t ns[20];
	char name[40];

	ids[held++] = bench_new(res, 16);
	before = memory_in_use();
	for (step = 0; step < ARRAY_SIZE(steps) && steps[step] <= most; step++) {
		while (held < steps[step] + ARRAY_SIZE(ns)) {
			ids[held] = bench_try_new(res, 16);
			if (!ids[held])
				break;
			held++;
		}
		if (held < steps[step] + ARRAY_SIZE(ns)) {
			fprintf(stderr, "bench: no more than %u endpoints\n", held);
			for (; step < ARRAY_SIZE(steps); step++)
				printf("none idle_%u\n", steps[step]);
			break;
		}
		/* Destroy the extra endpoints, which have shown that the measured ones fit. */
		while (held > steps[step])
			rdma_destroy_ep(ids[--held]);
		after = memory_in_use();
		begin = bench_begin();
		for (i = 0; i < ARRAY_SIZE(ns); i++) {
			uint64_t start = bench_now();

			ids[held + i] = bench_new(res, 16);
			ns[i] = bench_now() - start;
		}
		bench_end(begin);
		snprintf(name, sizeof(name), "idle_%u", steps[step]);
		bench_results(name, ns, ARRAY_SIZE(ns));
		if (held > 100) {
			snprintf(name, sizeof(name), "idle_%u_memory", steps[step]);
			bench_value(name, "bytes", (after - before) * 1024.0 / (held - 1));
		}
		for (i = 0; i < ARRAY_SIZE(ns); i++)
			rdma_destroy_ep(ids[held + i]);
	}
	begin = bench_begin();
	for (i = 0; i < held; i++)
		rdma_destroy_ep(ids[i]);
	bench_result("idle_destroy", bench_end(begin), held);
	rdma_freeaddrinfo(res);
	free(ids);
}
