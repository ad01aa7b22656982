/* SPDX-License-Identifier: GPL-2.0-only */
/* A fixture for tests of keys and of iWARP's QPs: two sessions with a connection. */
#ifndef ABI_KEYS_H
#define ABI_KEYS_H

#include "abi_test.h"

#define LEN	4096
#define WC_REM_ACCESS_ERR	10

/* A session with a registered page; [0]: client, [1]: server */
struct side {
	struct abi s;
	__u32 qp, cq;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE(keys) {
	struct abi_pair p;
	struct side side[2];
	struct abi_wrs w;
};

static inline __u8 *new_memory(void *at)
{
	return mmap(at, LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static inline int set_up(struct _test_data_keys *self)
{
	struct side *side;
	int ret;

	for (int i = 0; i < 2; i++) {
		side = &self->side[i];
		side->mem = new_memory(NULL);
		ret = abi_open(&side->s) ?:
		      abi_reg_mr(&side->s, side->s.pd, side->mem, LEN, AC_ALL, &side->mr);
		if (ret)
			return ret;
	}
	self->p.max_wr = 32;
	ret = abi_pair_between(&self->side[0].s, &self->side[1].s, &self->p);
	for (int i = 0; i < 2; i++) {
		self->side[i].qp = self->p.end[i].qp.qp;
		self->side[i].cq = self->p.end[i].cq[0];
	}
	return ret;
}

FIXTURE_SETUP(keys)
{
	OK(set_up(self));
}

FIXTURE_TEARDOWN(keys)
{
	abi_close(&self->side[0].s);
	abi_close(&self->side[1].s);
}

/* Posts a request of the client with one entry. */
static inline int post(struct _test_data_keys *self, __u32 opcode, __u64 remote,
		__u32 rkey, __u64 addr, __u32 len, __u32 lkey)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->w, opcode, SEND_SIGNALED, 7);
	wr->remote_addr = remote;
	wr->rkey = rkey;
	abi_sge(&self->w, addr, len, lkey);
	return ABI_POST(&self->side[0].s, SEND, self->side[0].qp, &self->w, NULL);
}

static inline int post_recv(struct _test_data_keys *self, int i, __u64 addr, __u32 len, __u32 lkey)
{
	return abi_post_recv(&self->side[i].s, self->side[i].qp, 8, addr, len, lkey);
}

/* Posts, and waits for the completion. Returns its status, or a negative errno */
static inline int carry_out(struct _test_data_keys *self, __u32 opcode, __u64 remote, __u32 rkey)
{
	struct side *c = &self->side[0];
	struct rdma_ep_wc wc;
	int ret = post(self, opcode, remote, rkey, c->mr.iova, 64, c->mr.lkey);

	if (ret)
		return ret;
	if (abi_wait(&c->s, c->cq, &wc, 1) != 1)
		return -ETIMEDOUT;
	return wc.status;
}

static inline __u32 number_of(struct abi *s, __u32 *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret = abi_id_qp(s, 0, &c);

	*qp = c.init.qp;
	return ret ? 0 : c.init.qp_num;
}

#endif /* ABI_KEYS_H */
