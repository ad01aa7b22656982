/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of XRC share: the mock device, two sessions of one user, a file.
 */
#ifndef ABI_XRC_H
#define ABI_XRC_H

#include "abi_test.h"
#include "abi_mock.h"

#define RC	QPT_RC
#define INI	QPT_XRC_INI
#define TGT	QPT_XRC_TGT
#define CREATE	RDMA_EP_XRCD_CREATE
#define EXCL	RDMA_EP_XRCD_EXCLUSIVE
/* rdma_cma.h's RDMA_PS_IB */
#define PS_IB	0x013f

FIXTURE(xrc) {
	struct abi s;
	struct abi s2;			/* another session of the same user */
	int file;
	char *mem;
};

FIXTURE_SETUP(xrc)
{
	char name[] = "/tmp/abi_xrc.XXXXXX";

	memset(self, 0, sizeof(*self));
	self->s.fd = -1;
	self->s2.fd = -1;
	ASSERT_EQ(0, mock_load());
	ASSERT_EQ(0, mock_new(""));
	ASSERT_EQ(0, abi_open(&self->s));
	ASSERT_EQ(0, abi_open(&self->s2));
	self->file = mkstemp(name);
	ASSERT_LE(0, self->file);
	unlink(name);
	self->mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(xrc)
{
	abi_close(&self->s);
	abi_close(&self->s2);
	close(self->file);
	mock_unload();
}

static inline int count_of(const char *kind)
{
	return mock_read_key("count", kind);
}

static inline int close_xrcd(const struct abi *s, __u32 xrcd)
{
	return ABI_DESTROY(s, XRCD, xrcd);
}

/* A target QP in RESET. */
static inline int new_target(const struct abi *s, __u32 xrcd, struct rdma_ep_create_qp *c)
{
	abi_qp_attr(c, TGT, xrcd, 0, 0);
	return ABI(s->fd, CREATE_QP, c);
}

static inline int new_srq(const struct abi *s, __u32 xrcd, __u32 cq, struct rdma_ep_create_srq *c)
{
	memset(c, 0, sizeof(*c));
	c->pd = s->pd;
	c->max_wr = 16;
	c->max_sge = 1;
	c->srq_type = IB_UVERBS_SRQT_XRC;
	c->xrcd = xrcd;
	c->cq = cq;
	return ABI(s->fd, CREATE_SRQ, c);
}

static inline int open_qp(const struct abi *s, __u32 xrcd, __u32 num, __u64 uid, __u32 *qp)
{
	struct rdma_ep_open_qp o = { .uid = uid, .xrcd = xrcd, .qp_num = num };
	int ret = ABI(s->fd, OPEN_QP, &o);

	*qp = o.qp;
	return ret;
}

static inline int state_of(const struct abi *s, __u32 qp)
{
	struct rdma_ep_query_qp q = { .qp = qp, .attr_mask = QP_STATE };
	int ret = ABI(s->fd, QUERY_QP, &q);

	return ret ?: q.attr.qp_state;
}

#endif /* ABI_XRC_H */
