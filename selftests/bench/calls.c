// SPDX-License-Identifier: GPL-2.0-only
/* Measures single calls, and getppid(2) for comparison. */
#include <sys/syscall.h>
#include <unistd.h>
#include "bench.h"

#define TIMES	200

void bench_calls(void)
{
	struct bench_pair pair;
	struct rdma_cm_id *listener = bench_one_pair(&pair, "7112");
	unsigned int n = bench_times(20000, 1000);
	uint64_t start;
	unsigned int i;

	start = bench_begin();
	for (i = 0; i < n; i++)
		syscall(SYS_getppid);
	bench_result("call_getppid", bench_end(start), n);

	start = bench_begin();
	for (i = 0; i < n; i++)
		bench_poll(pair.active->recv_cq);
	bench_result("call_poll_empty", bench_end(start), n);

	start = bench_begin();
	for (i = 0; i < n; i++)
		if (ibv_req_notify_cq(pair.active->recv_cq, 0))
			bench_fail("ibv_req_notify_cq");
	bench_result("call_notify", bench_end(start), n);

	/* Stay within the queue's entries, as no message consumes a receive. */
	start = bench_begin();
	for (i = 0; i < TIMES; i++)
		bench_post_recv(pair.active->qp, pair.active_mr, 64, 1);
	bench_result("call_post_recv", bench_end(start), TIMES);
	bench_end_pairs(&pair, 1, listener);
}
