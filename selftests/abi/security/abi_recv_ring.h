/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of receives in shared memory: connections to an SRQ with a ring. A message
 * without a receive is an error.
 */
#ifndef ABI_RECV_RING_H
#define ABI_RECV_RING_H

#include "abi_test.h"

#define LEN	8192
#define SIZE	64			/* of a receive, at wr_id % PLACES */
#define PLACES	64
#define ENTRIES	RDMA_EP_RING_ENTRIES
#define MAX	8			/* connections */
#define EVENT_SRQ_ERR	14

/* A QP that sends, and one that receives from the SRQ; connections may share a receive CQ */
struct conn {
	__u32 cq, ring;			/* of receives */
	__u32 send_cq;
	struct rdma_ep_qp_init from, to;
};

FIXTURE(recv) {
	struct abi s;
	struct rdma_ep_cq_ring *rings;
	struct rdma_ep_cmd_create_srq srq;
	volatile struct rdma_ep_recv_ring *r;
	struct conn c[MAX];
	unsigned int nr;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
	__u64 sent, got;		/* messages; receives are in order */
};

static inline int create_srq(const struct abi *s, __u32 max_wr, __u32 flags,
		      struct rdma_ep_cmd_create_srq *c)
{
	*c = (struct rdma_ep_cmd_create_srq) {
		.flags = flags, .uid = 77, .pd = s->pd, .max_wr = max_wr, .max_sge = 2,
	};
	return ABI(s->fd, CREATE_SRQ, c);
}

static inline int create_qp(const struct abi *s, __u32 send_cq, __u32 recv_cq, __u32 srq,
		     struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, QPT_RC, s->pd, send_cq, recv_cq);
	c.init.srq = srq;
	ret = ABI(s->fd, CREATE_QP, &c);
	*init = c.init;
	return ret;
}

/* As abi_qp_connect(), without RNR retries */
static inline int qp_connect(const struct abi *s, const struct rdma_ep_qp_init *a,
		      const struct rdma_ep_qp_init *b)
{
	struct ib_uverbs_qp_attr rtr, rts;

	abi_rtr_attr(s, b->qp_num, &rtr);
	abi_rts_attr(&rts);
	rts.rnr_retry = 0;
	return abi_qp_init(s, a->qp, QPT_RC, 0) ?: abi_modify_qp(s, a->qp, &rtr) ?:
	       abi_modify_qp(s, a->qp, &rts);
}

/* @with: connection whose CQ of receives it shares, or NULL */
static inline int add_conn(struct _test_data_recv *t, __u32 srq, const struct conn *with)
{
	struct conn *c = &t->c[t->nr++];
	const struct abi *s = &t->s;
	int ret = 0;

	if (with) {
		c->cq = with->cq;
		c->ring = with->ring;
	} else {
		ret = abi_create_ring_cq(s, -1, 256, 0, &c->cq, &c->ring);
	}
	return ret ?:
	       abi_create_cq(s, -1, 64, 0, &c->send_cq) ?:
	       create_qp(s, c->send_cq, c->send_cq, 0, &c->from) ?:
	       create_qp(s, c->send_cq, c->cq, srq, &c->to) ?:
	       qp_connect(s, &c->from, &c->to) ?: qp_connect(s, &c->to, &c->from);
}

static inline int del_conn(struct _test_data_recv *t)
{
	const struct conn *c = &t->c[--t->nr];

	return ABI_DESTROY(&t->s, QP, c->from.qp) ?: ABI_DESTROY(&t->s, QP, c->to.qp);
}

static inline int open_all(struct _test_data_recv *t)
{
	int ret = create_srq(&t->s, 63, RDMA_EP_RECV_RING, &t->srq);

	if (ret || t->srq.ring == RDMA_EP_NO_RING)
		return ret ?: -EOPNOTSUPP;
	t->rings = abi_rings(&t->s);
	if (!t->rings)
		return -ENOMEM;
	t->r = (void *)&t->rings[t->srq.ring];
	t->mem = abi_map(LEN);
	return abi_reg_mr(&t->s, t->s.pd, t->mem, LEN, AC_ALL, &t->mr) ?:
	       add_conn(t, t->srq.srq, NULL);
}

FIXTURE_SETUP(recv)
{
	int ret;

	OK(abi_open(&self->s));
	ret = open_all(self);
	if (ret == -EOPNOTSUPP)
		SKIP_FIXTURE("no rings of receives with this driver");
	OK(ret);
}

FIXTURE_TEARDOWN(recv)
{
	if (self->rings)
		munmap(self->rings, ABI_RINGS_BYTES);
	abi_close(&self->s);
}

/* Posts @n receives by a call, numbered from @first on. */
static inline int post(struct _test_data_recv *t, int n, __u64 first, __u32 *posted)
{
	abi_wrs_init(&t->w);
	for (; n--; first++) {
		abi_recv_wr(&t->w, first);
		abi_mr_sge(&t->w, &t->mr, first % PLACES * SIZE, SIZE);
	}
	return ABI_POST(&t->s, SRQ_RECV, t->srq.srq, &t->w, posted);
}

static inline int kick(struct _test_data_recv *t)
{
	struct rdma_ep_cmd_post p = { .handle = t->srq.srq };

	return ABI(t->s.fd, POST_SRQ_RECV, &p);
}

static inline struct rdma_ep_ring_recv recv_of(struct _test_data_recv *t, __u64 wr_id)
{
	return (struct rdma_ep_ring_recv) {
		.wr = { .wr_id = wr_id, .num_sge = 1 },
		.sge = { { t->mr.iova + wr_id % PLACES * SIZE, SIZE, t->mr.lkey } },
	};
}

/* Writes a receive to the ring, whether or not the module allows it. */
static inline void put_one(struct _test_data_recv *t, const struct rdma_ep_ring_recv *recv)
{
	volatile struct rdma_ep_recv_ring *r = t->r;

	*(struct rdma_ep_ring_recv *)&r->recv[r->tail % ENTRIES] = *recv;
	__atomic_store_n(&r->tail, r->tail + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Writes up to @n receives to the ring, as the library does; returns how many. */
static inline int put(struct _test_data_recv *t, int n, __u64 first)
{
	volatile struct rdma_ep_recv_ring *r = t->r;
	struct rdma_ep_ring_recv recv;
	int i;

	for (i = 0; i < n && !__atomic_load_n(&r->kick, __ATOMIC_ACQUIRE) &&
	     (__s32)(r->limit - r->tail) > 0; i++) {
		recv = recv_of(t, first + i);
		put_one(t, &recv);
		if (r->kick && kick(t))
			return -EIO;
	}
	return i;
}

/* Takes @n completions, which are in order; each message contains its number. */
static inline int take(struct _test_data_recv *t, struct conn *c, int n)
{
	struct rdma_ep_wc wc;

	while (n--) {
		if (!ABI_UNTIL(abi_ring_poll(&t->s, c->cq, &t->rings[c->ring], &wc, 1) == 1))
			return -ETIMEDOUT;
		if (wc.status || wc.wr_id != t->got || wc.byte_len != 8 ||
		    wc.qp_num != c->to.qp_num ||
		    memcmp(t->mem + t->got % PLACES * SIZE, &t->got, 8)) {
			fprintf(stderr, "# receive %llu, status %u instead of %llu\n",
				(unsigned long long)wc.wr_id, wc.status,
				(unsigned long long)t->got);
			return -EPROTO;
		}
		t->got++;
	}
	return 0;
}

/* Sends @n messages; fails if there is no receive for one. */
static inline int send_n(struct _test_data_recv *t, struct conn *c, int n)
{
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc;
	int ret;

	while (n--) {
		wr = abi_wrs_send(&t->w, WR_SEND, SEND_SIGNALED, t->sent);
		abi_inline(&t->w, wr, &t->sent, 8);
		t->sent++;
		ret = ABI_POST(&t->s, SEND, c->from.qp, &t->w, NULL);
		if (ret)
			return ret;
		if (abi_wait(&t->s, c->send_cq, &wc, 1) != 1)
			return -ETIMEDOUT;
		if (wc.status) {
			fprintf(stderr, "# send: status %u\n", wc.status);
			return -EIO;
		}
	}
	return 0;
}

/* Polls the CQ: the module may open the ring if the CQ is empty. */
static inline int settle(struct _test_data_recv *t, struct conn *c)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = c->cq };

	return ABI(t->s.fd, POLL_CQ, &p);
}

/* Posts 16 receives by a call, and opens the ring. */
static inline int open_ring(struct _test_data_recv *t)
{
	return post(t, 16, 0, NULL) ?: settle(t, &t->c[0]) ?: t->r->kick ? -EAGAIN : 0;
}

/* A wrong receive raises SRQ_ERR and ends posting; the 16 receives of open_ring() still work. */
static inline int failed(struct _test_data_recv *t)
{
	struct rdma_ep_async_event ev;
	int ret = abi_read(t->s.async_fd, &ev, sizeof(ev), ABI_WAIT_MS);

	if (ret || ev.event != EVENT_SRQ_ERR || ev.uid != 77) {
		fprintf(stderr, "# no event: %d, %u\n", ret, ev.event);
		return -EPROTO;
	}
	if (post(t, 1, 99, &(__u32){ 0 }) != -EINVAL || kick(t) != -EINVAL || !t->r->kick)
		return -EEXIST;
	ret = send_n(t, &t->c[0], 16 - t->sent) ?: take(t, &t->c[0], 16 - t->got);
	/* No other receive has been posted. */
	return ret ?: send_n(t, &t->c[0], 1) != -EIO ? -EEXIST : 0;
}

/* Replaces the SRQ and its connection, after a wrong receive. */
static inline int reopen(struct _test_data_recv *t)
{
	int ret = del_conn(t) ?: ABI_DESTROY(&t->s, SRQ, t->srq.srq) ?:
		  create_srq(&t->s, 63, RDMA_EP_RECV_RING, &t->srq) ?:
		  add_conn(t, t->srq.srq, NULL);

	t->r = (void *)&t->rings[t->srq.ring];
	t->sent = 0;
	t->got = 0;
	return ret;
}

#endif
