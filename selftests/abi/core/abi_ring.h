/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the tests of the rings of completions: a connected pair with a ring for each CQ. */
#ifndef ABI_RING_H
#define ABI_RING_H

#include "abi_test.h"

#define PAGE		4096
#define RING_BYTES	sizeof(struct rdma_ep_cq_ring)
#define ALL_BYTES	(RDMA_EP_MAX_RINGS * RING_BYTES)
#define ENTRIES		RDMA_EP_RING_ENTRIES

FIXTURE(ring) {
	struct abi_objects none;
	struct abi s;
	struct abi_pair p;
	struct abi_wrs w;
	struct rdma_ep_cq_ring *rings;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE_SETUP(ring)
{
	OK(abi_idle());
	OK(abi_objects(&self->none));
	OK(abi_open(&self->s));
	self->rings = ASSERT_PTR(abi_rings(&self->s));
	self->p.rings = true;
	self->p.max_wr = 100;
	self->p.comp = FD(abi_comp_channel(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = abi_map(PAGE);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, PAGE, AC_ALL, &self->mr));
}

FIXTURE_TEARDOWN(ring)
{
	munmap(self->rings, ALL_BYTES);
	close(self->p.comp);
	abi_close(&self->s);
}

/* Reserves addresses, without memory. */
static inline void *reserve(size_t len)
{
	void *p = abi_map(len);

	mprotect(p, len, PROT_NONE);
	return p;
}

static inline volatile struct rdma_ep_cq_ring *ring_of(struct _test_data_ring *t, int end, int cq)
{
	return &t->rings[t->p.end[end].ring[cq]];
}

static inline int fill(const struct _test_data_ring *t, int end, int cq)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = t->p.end[end].cq[cq] };

	return ABI(t->s.fd, POLL_CQ, &p);
}

static inline int notify(const struct _test_data_ring *t, int end, int cq, __u32 flags)
{
	return abi_notify_cq(&t->s, t->p.end[end].cq[cq], flags);
}

/* Posts @n signalled WRITEs. (A READ would meet a bug of siw.) */
static inline int post_by(struct _test_data_ring *t, int end, int n, __u64 wr_id)
{
	struct rdma_ep_send_wr *wr;
	int ret;

	while (n--) {
		wr = abi_wrs_send(&t->w, WR_RDMA_WRITE, SEND_SIGNALED, wr_id++);
		abi_remote(wr, &t->mr, 0);
		abi_mr_sge(&t->w, &t->mr, 0, 8);
		ret = ABI_POST(&t->s, SEND, t->p.end[end].qp.qp, &t->w, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

/* ... by the client */
static inline int post(struct _test_data_ring *t, int n, __u64 wr_id)
{
	return post_by(t, 0, n, wr_id);
}

/* Reads a completion event of the client's send CQ. */
static inline int event(struct _test_data_ring *t)
{
	struct rdma_ep_comp_event ev;

	return abi_read(t->p.comp, &ev, sizeof(ev), ABI_WAIT_MS) ?: ev.uid ? -EPROTO : 0;
}

/* Waits for @n completions, in sequence from @wr_id on, and takes them. */
static inline int take(struct _test_data_ring *t, int n, __u64 wr_id)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);
	long end = abi_now_ms() + ABI_WAIT_MS;
	__u32 tail = r->tail;

	while (n && abi_now_ms() < end) {
		volatile struct rdma_ep_wc *wc = &r->wc[tail % ENTRIES];

		if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == tail) {
			if (fill(t, 0, 0))
				return -EIO;
			continue;
		}
		if (wc->wr_id != wr_id || wc->status || wc->qp_num != t->p.end[0].qp.qp_num) {
			fprintf(stderr, "# wr_id %llu, status %u\n",
				(unsigned long long)wc->wr_id, wc->status);
			return -EPROTO;
		}
		wr_id++;
		n--;
		__atomic_store_n(&r->tail, ++tail, __ATOMIC_RELEASE);
	}
	return n ? -ETIMEDOUT : 0;
}

/* Posts one request, and takes its completion. */
static inline int once(struct _test_data_ring *t, __u64 wr_id)
{
	return post(t, 1, wr_id) ?: take(t, 1, wr_id);
}

/* Polls an empty CQ, which arms it. Returns -EEXIST if it was not empty. */
static inline int settle(struct _test_data_ring *t)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);

	return fill(t, 0, 0) ?: r->head != r->tail ? -EEXIST : 0;
}

/* Waits, without a command, for an entry in the ring or for @pending. */
static inline int wait_pending(struct _test_data_ring *t)
{
	volatile struct rdma_ep_cq_ring *r = ring_of(t, 0, 0);

	return ABI_UNTIL(r->pending || r->head != r->tail) ? 0 : -ETIMEDOUT;
}

/* Destroys the connection with its CQs, and creates the same again. */
static inline int reopen(struct _test_data_ring *t)
{
	struct abi_end *e;
	int ret = 0;

	for (e = t->p.end; e < t->p.end + 2; e++) {
		ret = ret ?:
		      ABI_DESTROY(&t->s, QP, e->qp.qp) ?:
		      ABI_DESTROY(&t->s, ID, e->id) ?:
		      ABI_DESTROY(&t->s, CQ, e->cq[0]) ?:
		      ABI_DESTROY(&t->s, CQ, e->cq[1]);
	}
	ret = ret ?: ABI_DESTROY(&t->s, ID, t->p.listener);
	for (e = t->p.end; e < t->p.end + 2; e++)
		close(e->channel);
	return ret ?:
	       /* The destruction of a CQ drops its events. */
	       abi_ready(t->p.comp, 0) ? -EEXIST : abi_pair_open(&t->s, &t->p);
}

#endif /* ABI_RING_H */
