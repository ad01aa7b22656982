// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures many messages in one direction: a thread posts a list, sleeps until it has completed,
 * and posts the next one. It serves both ends, so that the result does not contain wakeups of
 * threads. It does not poll in a loop: the number of polls would depend on the scheduler, and be up
 * to half of all instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include "bench.h"

struct stream {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t size;
	unsigned int batch;
	unsigned int messages;
};

static void run_stream(struct bench_pair *pair, const struct stream *s)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = bench_wr(pair, s->opcode, s->size, &sge);
	unsigned int lists = s->messages / s->batch, i;
	struct rdma_cm_id *to = pair->passive;
	bool send = s->opcode == IBV_WR_SEND;
	uint64_t start = bench_begin();
	char name[60];

	for (i = 0; i < lists; i++) {
		if (send)
			bench_post_recv(to->qp, pair->passive_mr, s->size, s->batch);
		bench_post_send(pair->active->qp, &wr, s->batch);
		if (send)
			bench_wait(to->recv_cq, to->recv_cq_channel, s->batch);
		/* Only the list's last message has a completion. */
		bench_wait(pair->active->send_cq, pair->active->send_cq_channel, 1);
	}
	snprintf(name, sizeof(name), "%s_%u_%u", s->name, s->size, s->batch);
	bench_result(name, bench_end(start), lists * s->batch);
}

void bench_streams(void)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
	} ops[] = {
		{ "send", IBV_WR_SEND },
		{ "write", IBV_WR_RDMA_WRITE },
		{ "read", IBV_WR_RDMA_READ },
	};
	static const struct {
		uint32_t bytes;
		unsigned int messages;
	} sizes[] = {
		{ 64, 2560 },
		{ 4096, 640 },
		{ 65536, 128 },
	};
	static const unsigned int batches[] = { 1, 16, 64 };
	struct bench_pair pair;
	struct rdma_cm_id *listener = bench_one_pair(&pair, "7108");
	size_t op, size, batch;

	for (op = 0; op < ARRAY_SIZE(ops); op++)
		for (size = 0; size < ARRAY_SIZE(sizes); size++)
			for (batch = 0; batch < ARRAY_SIZE(batches); batch++) {
				struct stream s = {
					.name = ops[op].name,
					.opcode = ops[op].opcode,
					.size = sizes[size].bytes,
					.batch = batches[batch],
					.messages = bench_times(sizes[size].messages,
								batches[batch]),
				};

				run_stream(&pair, &s);
			}
	bench_end_pairs(&pair, 1, listener);
}
