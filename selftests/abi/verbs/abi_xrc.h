/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of XRC: the mock device, two sessions of one user, a file
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

	self->s.fd = -1;
	self->s2.fd = -1;
	OK(mock_load());
	OK(mock_new(""));
	OK(abi_open(&self->s));
	OK(abi_open(&self->s2));
	self->file = mkstemp(name);
	ASSERT_LE(0, self->file);
	unlink(name);
	self->mem = abi_map(65536);
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
static inline int new_target(const struct abi *s, __u32 xrcd, struct rdma_ep_cmd_create_qp *c)
{
	abi_qp_attr(c, TGT, xrcd, 0, 0);
	return ABI(s->fd, CREATE_QP, c);
}

static inline int new_srq(const struct abi *s, __u32 xrcd, __u32 cq,
			  struct rdma_ep_cmd_create_srq *c)
{
	*c = (struct rdma_ep_cmd_create_srq) {
		.pd = s->pd, .max_wr = 16, .max_sge = 1, .srq_type = IB_UVERBS_SRQT_XRC,
		.xrcd = xrcd, .cq = cq,
	};
	return ABI(s->fd, CREATE_SRQ, c);
}

static inline int open_qp(const struct abi *s, __u32 xrcd, __u32 num, __u64 uid, __u32 *qp)
{
	struct rdma_ep_cmd_open_qp o = { .uid = uid, .xrcd = xrcd, .qp_num = num };
	int ret = ABI(s->fd, OPEN_QP, &o);

	*qp = o.qp;
	return ret;
}

#endif /* ABI_XRC_H */
