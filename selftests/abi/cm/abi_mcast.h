/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the tests of memberships and attachments: two unconnected ids with QPs */
#ifndef ABI_MCAST_H
#define ABI_MCAST_H

#include "abi_test.h"

#define ID_UID		0x1d1d1d1d1d1d1d1dULL
#define MC_UID		0x4d4d4d4d4d4d4d4dULL
#define UDP_QKEY	0x01234567	/* RDMA_UDP_QKEY */
#define MC_QPN		0xffffff
#define MSG		32
#define ENOTSUPP	524		/* internal to the kernel */

/* An unconnected id with a QP of its own that can send and receive. */
struct member {
	int channel;
	__u32 id, cq, qp;
	char *buf;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE(mcast) {
	struct abi s;
	struct member a, b;
	struct abi_wrs w;
};

static inline int member_up(const struct abi *s, struct member *m)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	m->channel = abi_channel(s);
	if (m->channel < 0)
		return m->channel;
	m->buf = calloc(1, GRH_BYTES + MSG);
	ret = abi_ud_id(s, m->channel, ID_UID, &m->id) ?:
	      abi_create_cq(s, -1, 64, 0, &m->cq) ?:
	      abi_reg_mr(s, s->pd, m->buf, GRH_BYTES + MSG, AC_LOCAL_WRITE, &m->mr);
	if (ret)
		return ret;
	ret = abi_create_qp(s, QPT_UD, m->cq, m->id, &c);
	m->qp = c.init.qp;
	return ret;
}

FIXTURE_SETUP(mcast)
{
	OK(abi_open(&self->s));
	if (self->s.iwarp)
		SKIP_FIXTURE("iWARP has no multicast");
	OK(member_up(&self->s, &self->a));
	OK(member_up(&self->s, &self->b));
}

FIXTURE_TEARDOWN(mcast)
{
	abi_close(&self->s);
	free(self->a.buf);
	free(self->b.buf);
}

/* Ends a membership. Returns the number of its events that have been read, or an errno. */
static inline int leave(const struct abi *s, __u32 mcast)
{
	return ABI_DESTROY_COUNT(s, MCAST, mcast);
}

#endif /* ABI_MCAST_H */
