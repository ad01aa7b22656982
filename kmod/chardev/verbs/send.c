// SPDX-License-Identifier: GPL-2.0-only
/* Checking sends. */
#include "../../compat.h"
#include "post.h"

/*
 * Sets of opcodes, BIT(enum ib_wr_opcode). XRC initiators have those of RC, except for the ones
 * that consume a receive of the peer's SRQ: struct ib_send_wr has no member for its number.
 */
#define UEP_OPS_ATOMIC	(BIT(IB_WR_ATOMIC_CMP_AND_SWP) | BIT(IB_WR_ATOMIC_FETCH_AND_ADD))
#define UEP_OPS_UD	(BIT(IB_WR_SEND) | BIT(IB_WR_SEND_WITH_IMM))
#define UEP_OPS_UC	(UEP_OPS_UD | BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_WRITE_WITH_IMM))
#define UEP_OPS_RC	(UEP_OPS_UC | UEP_OPS_ATOMIC | BIT(IB_WR_RDMA_READ) | \
			 BIT(IB_WR_SEND_WITH_INV))
#define UEP_OPS_XRC_INI	(UEP_OPS_ATOMIC | BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_READ))
#define UEP_OPS_IWARP	(BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_READ) | BIT(IB_WR_SEND) | \
			 BIT(IB_WR_SEND_WITH_INV))
/* Have immediate data, or an rkey to invalidate */
#define UEP_OPS_IMM	(BIT(IB_WR_RDMA_WRITE_WITH_IMM) | BIT(IB_WR_SEND_WITH_IMM) | \
			 BIT(IB_WR_SEND_WITH_INV))
/* Have a remote address, and are no atomics */
#define UEP_OPS_RDMA	(BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_WRITE_WITH_IMM) | \
			 BIT(IB_WR_RDMA_READ))
/* Write to local memory */
#define UEP_OPS_SINK	(UEP_OPS_ATOMIC | BIT(IB_WR_RDMA_READ))

#define UEP_SEND_FLAGS \
	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

/* The opcodes that a QP of the type may post */
u32 uep_send_ops(enum ib_qp_type type, bool iwarp)
{
	u32 ops = 0;

	switch (type) {
	case IB_QPT_RC:
		ops = UEP_OPS_RC;
		break;
	case IB_QPT_UC:
		ops = UEP_OPS_UC;
		break;
	case IB_QPT_UD:
		ops = UEP_OPS_UD;
		break;
	case IB_QPT_XRC_INI:
		ops = UEP_OPS_XRC_INI;
		break;
	default:
		break;
	}
	return iwarp ? ops & UEP_OPS_IWARP : ops;
}

/* The data of one send: entries, or inline bytes. @op: BIT() of the opcode */
static int uep_send_data(struct uep_qp *qp, u32 op, const struct rdma_ep_send_wr *u,
			 struct uep_post_buf *buf, struct uep_post_req *r)
{
	bool sink = op & UEP_OPS_SINK;
	u32 max_sge = qp->qp.cap.max_send_sge;
	struct ib_send_wr *wr = &r->wr.wr;
	struct ib_sge *sge = r->sge;
	void *data;
	int n;

	if (u->send_flags & IB_SEND_INLINE) {
		if (u->num_sge || sink || u->inline_len > qp->qp.cap.max_inline_data)
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

	if (op & BIT(IB_WR_RDMA_READ))
		max_sge = min(max_sge, qp->max_sge_rd);
	if (u->inline_len || u->num_sge > max_sge)
		return -EINVAL;
	data = uep_post_next(buf, (u64)u->num_sge * sizeof(struct ib_sge));
	if (!data)
		return -EINVAL;
	n = uep_post_sges(qp->pd, buf, data, u->num_sge, sink, &r->bytes);
	if (n < 0)
		return n;
	if (r->bytes > qp->max_msg_size || ((op & UEP_OPS_ATOMIC) && r->bytes < 8))
		return -EINVAL;
	/* On iWARP a READ names exactly one sink, even for no bytes. */
	if (qp->iwarp && sink && n != 1) {
		if (n)
			return -EINVAL;
		*sge = (struct ib_sge) {};
		data = sge;
		n = 1;
	}
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
	u32 op;
	int ret;

	r->ah = NULL;
	u = uep_post_next(buf, sizeof(*u));
	if (!u || u->reserved || (u->send_flags & ~UEP_SEND_FLAGS) ||
	    u->opcode >= BITS_PER_TYPE(op))
		return -EINVAL;
	op = BIT(u->opcode);
	if (unlikely(!(op & qp->send_ops)))
		return qp->qp.type == IB_QPT_XRC_INI && (op & UEP_OPS_RC) ? -EOPNOTSUPP : -EINVAL;

	if (op & UEP_OPS_RDMA) {
		k->rdma = (struct ib_rdma_wr) { .remote_addr = u->remote_addr, .rkey = u->rkey };
	} else if (op & UEP_OPS_ATOMIC) {
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
	if (op & UEP_OPS_IMM)
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
