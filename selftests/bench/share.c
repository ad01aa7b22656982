// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that share a device: measures whether they get equal shares, and the latency
 * beside a neighbour that writes all the time.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

#define SHARERS		4
#define SHARE_NS	400000000ull
#define BATCH		16

struct shared {
	atomic_uint ready;
	atomic_ullong start;	/* ns; 0: not yet set */
	atomic_ullong end;
	unsigned long messages[SHARERS];
};

struct neighbour {
	struct shared *shared;
	unsigned int index;
	uint32_t size;
	pid_t pid;
};

/* Writes one list of messages from one end of @pair to the other, and waits for it. */
static void stream_once(struct bench_pair *pair, uint32_t size)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = bench_wr(pair, IBV_WR_RDMA_WRITE, size, &sge);

	bench_post_send(pair->active->qp, &wr, BATCH);
	bench_wait(pair->active->send_cq, pair->active->send_cq_channel, 1);
}

static void __attribute__((noreturn)) stream_on(struct neighbour *n)
{
	struct shared *shared = n->shared;
	struct bench_pair pair;
	char port[8];

	snprintf(port, sizeof(port), "%u", 7120 + n->index);
	bench_one_pair(&pair, port);
	stream_once(&pair, n->size);
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->start) || bench_now() < atomic_load(&shared->start))
		usleep(1000);
	while (bench_now() < atomic_load(&shared->end)) {
		stream_once(&pair, n->size);
		shared->messages[n->index] += BATCH;
	}
	/* The kernel cleans up. */
	_exit(0);
}

static struct shared *begin_neighbours(struct neighbour *n, unsigned int count, uint32_t size)
{
	struct shared *shared;
	unsigned int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		bench_fail("mmap");
	for (i = 0; i < count; i++) {
		n[i] = (struct neighbour){
			.shared = shared,
			.index = i,
			.size = size,
			.pid = fork(),
		};
		if (n[i].pid < 0)
			bench_fail("fork");
		if (!n[i].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			stream_on(&n[i]);
		}
	}
	while (atomic_load(&shared->ready) < count) {
		if (waitpid(-1, NULL, WNOHANG) > 0) {
			errno = ECHILD;
			bench_again("a neighbour");
		}
		usleep(1000);
	}
	return shared;
}

static void end_neighbours(struct neighbour *n, unsigned int count)
{
	unsigned int i;
	int status;

	for (i = 0; i < count; i++)
		if (waitpid(n[i].pid, &status, 0) != n[i].pid || status)
			bench_fail("a neighbour");
}

/* The ratio of the largest to the smallest share */
void bench_share(void)
{
	unsigned long least = -1ul, most = 0;
	struct neighbour n[SHARERS];
	struct shared *shared;
	unsigned int i;

	shared = begin_neighbours(n, SHARERS, 64);
	atomic_store(&shared->end, bench_now() + SHARE_NS + 20000000);
	atomic_store(&shared->start, bench_now() + 20000000);
	end_neighbours(n, SHARERS);
	for (i = 0; i < SHARERS; i++) {
		least = shared->messages[i] < least ? shared->messages[i] : least;
		most = shared->messages[i] > most ? shared->messages[i] : most;
	}
	if (!least) {
		fprintf(stderr, "bench: one got nothing of the device\n");
		exit(1);
	}
	bench_value("share_4", "times", (double)most / least);
}

/*
 * The latency of messages of 64 bytes beside a neighbour that permanently writes lists of 16 times
 * 64 KiB, and the neighbour's throughput in MB/s.
 */
void bench_ping_beside(void)
{
	struct neighbour n;
	struct shared *shared;
	uint64_t start;
	double bytes;

	shared = begin_neighbours(&n, 1, 65536);
	atomic_store(&shared->end, UINT64_MAX);
	atomic_store(&shared->start, 1);
	bytes = shared->messages[0];
	start = bench_now();
	bench_ping("ping_beside", "7119", false, bench_times(2000, 20));
	bytes = (shared->messages[0] - bytes) * 65536;
	bench_value("beside_ping", "mb", bytes * 1000. / (bench_now() - start));
	atomic_store(&shared->end, 0);
	end_neighbours(&n, 1);
}
