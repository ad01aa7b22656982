// SPDX-License-Identifier: GPL-2.0-only
/* Checking sends. */
#include <linux/nospec.h>

#include "../../compat.h"
#include "post.h"

#define UEP_RC		BIT(IB_QPT_RC)
#define UEP_UC		BIT(IB_QPT_UC)
#define UEP_UD		BIT(IB_QPT_UD)
#define UEP_XRC		BIT(IB_QPT_XRC_INI)

/* An opcode that may be posted */
struct uep_send_op {
	u32 qp_types;
	bool iwarp;		/* iWARP has it */
	bool imm;		/* has immediate data, or an rkey to invalidate */
	bool rdma;		/* has a remote address */
	bool atomic;
	bool sink;		/* writes to local memory */
};

/*
 * XRC initiators have the opcodes of RC, except for those that consume a receive of the peer's
 * SRQ: struct ib_send_wr has no member for its number.
 */
static const struct uep_send_op uep_send_ops[] = {
	[IB_WR_RDMA_WRITE] = { UEP_RC | UEP_UC | UEP_XRC, .iwarp = true, .rdma = true },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { UEP_RC | UEP_UC, .imm = true, .rdma = true },
	[IB_WR_SEND] = { UEP_RC | UEP_UC | UEP_UD, .iwarp = true },
	[IB_WR_SEND_WITH_IMM] = { UEP_RC | UEP_UC | UEP_UD, .imm = true },
	[IB_WR_RDMA_READ] = { UEP_RC | UEP_XRC, .iwarp = true, .rdma = true, .sink = true },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { UEP_RC | UEP_XRC, .atomic = true, .sink = true },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { UEP_RC | UEP_XRC, .atomic = true, .sink = true },
	[IB_WR_SEND_WITH_INV] = { UEP_RC, .iwarp = true, .imm = true },
};

#define UEP_SEND_FLAGS \
	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

static const struct uep_send_op *uep_send_op(struct uep_qp *qp, u32 opcode)
{
	const struct uep_send_op *op;

	if (opcode >= ARRAY_SIZE(uep_send_ops))
		return ERR_PTR(-EINVAL);
	op = &uep_send_ops[array_index_nospec(opcode, ARRAY_SIZE(uep_send_ops))];
	if ((op->qp_types & BIT(qp->qp.type)) && (!qp->iwarp || op->iwarp))
		return op;
	return ERR_PTR(qp->qp.type == IB_QPT_XRC_INI && op->qp_types ? -EOPNOTSUPP : -EINVAL);
}

/* The data of one send: entries, or inline bytes */
static int uep_send_data(struct uep_qp *qp, const struct uep_send_op *op,
			 const struct rdma_ep_send_wr *u, struct uep_post_buf *buf,
			 struct uep_post_req *r)
{
	u32 max_sge = qp->qp.cap.max_send_sge;
	struct ib_send_wr *wr = &r->wr.wr;
	struct ib_sge *sge = r->sge;
	void *data;
	int n;

	if (u->send_flags & IB_SEND_INLINE) {
		if (u->num_sge || op->sink || u->inline_len > qp->qp.cap.max_inline_data)
			return -EINVAL;
		data = uep_post_next(buf, ALIGN((u64)u->inline_len, 8));
		if (!data)
			return -EINVAL;
		r->bytes = u->inline_len;
		/* Inline sends of no bytes can block the queue of a driver. */
		if (!u->inline_len) {
			wr->send_flags &= ~IB_SEND_INLINE;
			return 0;
		}
		*sge = (struct ib_sge) { .addr = (uintptr_t)data, .length = u->inline_len };
		wr->sg_list = sge;
		wr->num_sge = 1;
		return 0;
	}

	if (op->rdma && op->sink)
		max_sge = min(max_sge, qp->max_sge_rd);
	if (u->inline_len || u->num_sge > max_sge)
		return -EINVAL;
	data = uep_post_next(buf, (u64)u->num_sge * sizeof(struct ib_sge));
	if (!data)
		return -EINVAL;
	n = uep_post_sges(qp->pd, buf, data, u->num_sge, op->sink, &r->bytes);
	if (n < 0)
		return n;
	if (r->bytes > qp->max_msg_size || (op->atomic && r->bytes < 8))
		return -EINVAL;
	/* On iWARP a READ names exactly one sink, even for no bytes. */
	if (qp->iwarp && op->sink && !n) {
		*sge = (struct ib_sge) {};
		data = sge;
		n = 1;
	}
	if (qp->iwarp && op->sink && n != 1)
		return -EINVAL;
	wr->sg_list = data;
	wr->num_sge = n;
	return 0;
}

/*
 * Some drivers send a privileged key, with which a request reaches QP1. Posts do not enter the
 * device, except for this rare case.
 */
static int uep_send_check_qkey(struct uep_qp *qp, u32 qkey)
{
	struct ep_dev *dev = qp->obj.dev;
	int srcu, ret;

	if (likely(!(qkey & IB_QP_SET_QKEY)))
		return 0;
	ret = ep_dev_enter(dev, &srcu);
	if (ret)
		return ret;
	ret = ep_compat_qkey_allowed(dev->ibdev) ? 0 : -EPERM;
	ep_dev_exit(dev, srcu);
	return ret;
}

static int uep_send_ud(struct uep_qp *qp, const struct rdma_ep_send_wr *u,
		       struct ib_ud_wr *wr, struct uep_ah **out)
{
	struct uep_ah *ah;
	int ret;

	ret = uep_send_check_qkey(qp, u->remote_qkey);
	if (ret)
		return ret;
	ah = uep_ah_get(qp->obj.session, u->ah);
	if (!ah)
		return -EINVAL;
	*out = ah;
	if (ah->pd != qp->pd)
		return -EINVAL;
	if (!ah->ibah)
		return -EIO;
	wr->ah = ah->ibah;
	wr->remote_qpn = u->remote_qpn;
	wr->remote_qkey = u->remote_qkey;
	return 0;
}

/*
 * Checks one send and writes it to the batch, which the caller then counts. r->ah is set also on
 * failure.
 */
int uep_send_add(struct uep_qp *qp, struct uep_post_buf *buf, struct uep_post_req *r)
{
	union uep_wr *k = &r->wr;
	const struct rdma_ep_send_wr *u;
	const struct uep_send_op *op;
	int ret;

	r->ah = NULL;
	u = uep_post_next(buf, sizeof(*u));
	if (!u || u->reserved || (u->send_flags & ~UEP_SEND_FLAGS))
		return -EINVAL;
	op = uep_send_op(qp, u->opcode);
	if (IS_ERR(op))
		return PTR_ERR(op);

	if (op->rdma) {
		k->rdma = (struct ib_rdma_wr) { .remote_addr = u->remote_addr, .rkey = u->rkey };
	} else if (op->atomic) {
		if (u->remote_addr & 7)
			return -EINVAL;
		k->atomic = (struct ib_atomic_wr) {
			.remote_addr = u->remote_addr,
			.compare_add = u->compare_add,
			.swap = u->swap,
			.rkey = u->rkey,
		};
	} else if (qp->qp.type == IB_QPT_UD) {
		k->ud = (struct ib_ud_wr) {};
	} else {
		k->wr = (struct ib_send_wr) {};
	}
	k->wr.opcode = u->opcode;
	k->wr.send_flags = u->send_flags;
	if (op->imm)
		k->wr.ex.imm_data = (__force __be32)u->imm_data;
	r->wr_id = u->wr_id;
	/* Last, as it reads the buffer behind the record. */
	ret = uep_send_data(qp, op, u, buf, r);
	if (!ret && qp->prepare_send)
		ret = qp->prepare_send(&qp->qp, &k->wr, u->send_flags, r->sge);
	if (!ret && qp->qp.type == IB_QPT_UD)
		ret = uep_send_ud(qp, u, &k->ud, &r->ah);
	return ret;
}
