/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the tests of QPs and regions on rxe */
#ifndef ABI_RXE_H
#define ABI_RXE_H

#include "abi_test.h"

#define LEN		(8u << 20)
#define MSG		512
/* The number of no QP */
#define NO_QPN		0xfffffe
#define DESTROY_MS	(10000 * TEST_SCALE)

FIXTURE(rxe) {
	struct abi s;
	__u32 cq;
	char *buf;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs w;
	char work_cpus[64];		/* old CPU mask of unbound work, if it has been changed */
};

static inline int set_work_cpus(const char *mask, char *old, size_t size)
{
	FILE *f = fopen("/sys/devices/virtual/workqueue/cpumask", "r+e");

	if (!f || (old && !fgets(old, size, f)))
		return -EIO;
	rewind(f);
	fputs(mask, f);
	return fclose(f) ? -EIO : 0;
}

FIXTURE_SETUP(rxe)
{
	OK(abi_open(&self->s));
	if (self->s.iwarp)
		SKIP_FIXTURE("siw takes no QP without a connection");
	OK(abi_create_cq(&self->s, -1, 128, 0, &self->cq));
	self->buf = abi_map(LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &self->mr));
}

FIXTURE_TEARDOWN(rxe)
{
	if (self->work_cpus[0])
		EXPECT_EQ(0, set_work_cpus(self->work_cpus, NULL, 0));
	abi_close(&self->s);
}

static inline int create_qp(const FIXTURE_DATA(rxe) * self, __u32 type, __u32 cq,
		     struct rdma_ep_qp_init *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, type, self->s.pd, self->cq, cq);
	c.init.max_send_wr = 100;
	c.init.max_recv_wr = 64;
	c.init.max_send_sge = 16;
	ret = ABI(self->s.fd, CREATE_QP, &c);
	*qp = c.init;
	return ret;
}

static inline int state_of(const FIXTURE_DATA(rxe) * self, __u32 qp)
{
	return abi_state_of(&self->s, qp);
}

static inline int post_recvs(FIXTURE_DATA(rxe) * self, __u32 qp, int num)
{
	abi_wrs_init(&self->w);
	for (int i = 0; i < num; i++) {
		abi_recv_wr(&self->w, i);
		abi_mr_sge(&self->w, &self->mr, 0, MSG);
	}
	return ABI_POST(&self->s, RECV, qp, &self->w, NULL);
}

/* Connects two QPs in RESET to each other. */
static inline int connect_qps(const FIXTURE_DATA(rxe) * self, const struct rdma_ep_qp_init *a,
		       const struct rdma_ep_qp_init *b)
{
	return abi_qp_connect(&self->s, QPT_RC, a, b);
}

/* Connects a QP in RESET to a QP of this number. */
static inline int connect_to(const FIXTURE_DATA(rxe) * self, __u32 qp, __u32 dest)
{
	return abi_qp_init(&self->s, qp, QPT_RC, 0) ?: abi_qp_rts(&self->s, qp, QPT_RC, dest);
}

static inline int post_sends(FIXTURE_DATA(rxe) * self, __u32 qp, int num, __u32 opcode,
		      const struct rdma_ep_cmd_reg_mr *to)
{
	struct rdma_ep_send_wr *wr;

	abi_wrs_init(&self->w);
	for (int i = 0; i < num; i++) {
		wr = abi_send_wr(&self->w, opcode, SEND_SIGNALED, 100 + i);
		if (to)
			abi_remote(wr, to, 0);
		abi_mr_sge(&self->w, &self->mr, 0, MSG);
	}
	return ABI_POST(&self->s, SEND, qp, &self->w, NULL);
}

#endif /* ABI_RXE_H */
