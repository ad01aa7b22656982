// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of the zoo (fault_zoo.c) in which a thread polls memory that it shares with the kernel,
 * and detects only from this memory that the device is removed.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fault_zoo.h"

#define BYTES	4096

static void poll_ring(struct task *t)
{
	struct zoo_ring *r = &t->zoo->ring[t->id];
	struct rdma_ep_wc wc[8];
	int n;

	for (;;) {
		n = abi_ring_poll(&t->zoo->s, r->cq, r->ring, wc, 8);
		if (n < 0)
			break;
		for (int i = 0; i < n; i++) {
			/* Completions that the removal of the device flushes are in order, too. */
			if (wc[i].wr_id != r->taken) {
				fault_say("completion %llu instead of %llu",
					  (unsigned long long)wc[i].wr_id,
					  (unsigned long long)r->taken);
				_exit(FAULT_WRONG);
			}
			if (wc[i].status)
				zoo_only_removal(t, wc[i].status);
			r->taken++;
		}
		/* There are only two CPUs for all threads. */
		if (!n)
			usleep(2000);
	}
	zoo_only_removal(t, n);
}

/* Starts a thread that polls the CQ, which is empty. */
static int start_poll(struct zoo *z, const char *name, int nr, __u32 cq, __u32 ring)
{
	if (!z->rings)
		z->rings = abi_rings(&z->s);
	if (!z->rings)
		return -ENOMEM;
	z->ring[nr] = (struct zoo_ring) { .cq = cq, .ring = &z->rings[ring] };
	return zoo_task(z, name, poll_ring, -1, nr);
}

/* Posts RDMA WRITEs to QP task.id, whose completions are polled, until a post fails. */
static void post_writes(struct task *t)
{
	const struct abi *s = &t->zoo->s;
	char *mem = abi_map(2 * BYTES);
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
	__u64 n = 0;
	int ret;

	ret = abi_reg_mr(s, s->pd, mem, 2 * BYTES, AC_ALL, &mr);
	while (!ret) {
		wr = abi_wrs_send(&w, WR_RDMA_WRITE, SEND_SIGNALED, n);
		abi_remote(wr, &mr, BYTES);
		abi_mr_sge(&w, &mr, 0, BYTES);
		ret = ABI_POST(s, SEND, t->id, &w, NULL);
		if (!ret)
			n++;
		else if (ret == -ENOMEM)	/* the queue is full */
			ret = 0;
		usleep(5000);
	}
	zoo_only_removal(t, ret);
}

int zoo_ring_traffic(struct zoo *z)
{
	struct abi_pair p = { .max_wr = 32, .rings = true };
	long end = abi_now_ms() + ABI_WAIT_MS;
	int ret;

	ret = abi_pair_open(&z->s, &p) ?:
	      start_poll(z, "ring", ZOO_TRAFFIC, p.end[0].cq[0], p.end[0].ring[0]) ?:
	      zoo_task(z, "writes into a ring", post_writes, -1, p.end[0].qp.qp);
	/* Wait for traffic. */
	while (!ret && z->ring[ZOO_TRAFFIC].taken < 10)
		if (zoo_gone(z, 10))
			ret = -EIO;
		else if (abi_now_ms() > end)
			ret = -ETIMEDOUT;
	return ret;
}

/* A CQ that stays empty */
int zoo_ring_idle(struct zoo *z)
{
	__u32 cq, ring;

	return abi_create_ring_cq(&z->s, -1, 16, 0, &cq, &ring) ?:
	       start_poll(z, "idle ring", ZOO_IDLE, cq, ring);
}
