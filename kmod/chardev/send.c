// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting sends.
 */
#include <linux/nospec.h>

#include "../compat.h"
#include "post.h"
#include "trace.h"

union uep_send_wr {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ib_ud_wr ud;
};

/* Sends that have been checked and not yet posted. */
struct uep_send_batch {
	u32 nr;
	union uep_send_wr wr[UEP_POST_BATCH];
	struct ib_sge sge[UEP_POST_BATCH][2];	/* that are not the user's */
	struct uep_ah *ah[UEP_POST_BATCH];
	u64 wr_id[UEP_POST_BATCH];
};

#define UEP_RC		BIT(IB_QPT_RC)
#define UEP_UC		BIT(IB_QPT_UC)
#define UEP_UD		BIT(IB_QPT_UD)
#define UEP_XRC		BIT(IB_QPT_XRC_INI)

/**
 * struct uep_send_op - an opcode that may be posted
 * @qp_types: on what
 * @iwarp: iWARP has it
 * @imm: carries immediate data or an rkey to invalidate
 * @rdma: has a remote address
 * @atomic: is an atomic
 * @sink: writes to local memory
 */
struct uep_send_op {
	u32 qp_types;
	bool iwarp;
	bool imm;
	bool rdma;
	bool atomic;
	bool sink;
};

/*
 * An XRC initiator has what RC has, except for what goes to an SRQ of the peer's
 * choice: there is no place for its number in struct ib_send_wr.
 */
static const struct uep_send_op uep_send_ops[] = {
	[IB_WR_RDMA_WRITE] = { UEP_RC | UEP_UC | UEP_XRC, .iwarp = true,
			       .rdma = true },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { UEP_RC | UEP_UC, .imm = true,
					.rdma = true },
	[IB_WR_SEND] = { UEP_RC | UEP_UC | UEP_UD, .iwarp = true },
	[IB_WR_SEND_WITH_IMM] = { UEP_RC | UEP_UC | UEP_UD, .imm = true },
	[IB_WR_RDMA_READ] = { UEP_RC | UEP_XRC, .iwarp = true, .rdma = true,
			      .sink = true },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { UEP_RC | UEP_XRC, .atomic = true,
				       .sink = true },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { UEP_RC | UEP_XRC, .atomic = true,
					 .sink = true },
	[IB_WR_SEND_WITH_INV] = { UEP_RC, .iwarp = true, .imm = true },
};

#define UEP_SEND_FLAGS \
	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

static const struct uep_send_op *uep_send_op(struct uep_qp *qp, u32 opcode)
{
	const struct uep_send_op *op;

	if (opcode >= ARRAY_SIZE(uep_send_ops))
		return ERR_PTR(-EINVAL);
	op = &uep_send_ops[array_index_nospec(opcode,
					      ARRAY_SIZE(uep_send_ops))];
	if ((op->qp_types & BIT(qp->qp.type)) && (!qp->iwarp || op->iwarp))
		return op;
	return ERR_PTR(qp->qp.type == IB_QPT_XRC_INI && op->qp_types ?
		       -EOPNOTSUPP : -EINVAL);
}

/*
 * The data of one send: entries, or bytes to be sent inline. @sge: for two entries that
 * are not the user's.
 */
static int uep_send_data(struct uep_qp *qp, const struct uep_send_op *op,
			 const struct rdma_ep_send_wr *u,
			 struct uep_post_buf *buf, struct ib_send_wr *wr,
			 struct ib_sge *sge)
{
	u32 max_sge = qp->qp.cap.max_send_sge;
	u64 total;
	void *data;
	int n;

	if (u->send_flags & IB_SEND_INLINE) {
		if (u->num_sge || op->sink ||
		    u->inline_len > qp->qp.cap.max_inline_data)
			return -EINVAL;
		data = uep_post_next(buf, ALIGN((u64)u->inline_len, 8));
		if (!data)
			return -EINVAL;
		/* Drivers may get stuck on inline sends without data. */
		if (!u->inline_len) {
			wr->send_flags &= ~IB_SEND_INLINE;
			return 0;
		}
		sge->addr = (uintptr_t)data;
		sge->length = u->inline_len;
		sge->lkey = 0;
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
	n = uep_post_sges(qp->pd, data, u->num_sge, op->sink, &total);
	if (n < 0)
		return n;
	if (total > qp->max_msg_size || (op->atomic && total < 8))
		return -EINVAL;
	/* iWARP names one sink on the wire, also of a READ of no bytes. */
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
 * Some drivers put a privileged key on the wire, where it would reach QP1. Posts
 * are in no section of the device: only this rare case needs one.
 */
static int uep_send_check_qkey(struct uep_qp *qp, u32 qkey)
{
	struct ep_dev *dev = qp->ctx->dev;
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

/* Checks one send and adds it to the batch. */
static int uep_send_add(struct uep_qp *qp, struct uep_post_buf *buf,
			struct uep_send_batch *b)
{
	union uep_send_wr *k = &b->wr[b->nr];
	const struct rdma_ep_send_wr *u;
	const struct uep_send_op *op;
	int ret;

	b->ah[b->nr] = NULL;
	u = uep_post_next(buf, sizeof(*u));
	if (!u || u->reserved || (u->send_flags & ~UEP_SEND_FLAGS))
		return -EINVAL;
	op = uep_send_op(qp, u->opcode);
	if (IS_ERR(op))
		return PTR_ERR(op);

	memset(k, 0, sizeof(*k));
	k->wr.opcode = u->opcode;
	k->wr.send_flags = u->send_flags;
	if (op->imm)
		k->wr.ex.imm_data = (__force __be32)u->imm_data;
	if (op->rdma) {
		k->rdma.remote_addr = u->remote_addr;
		k->rdma.rkey = u->rkey;
	}
	if (op->atomic) {
		if (u->remote_addr & 7)
			return -EINVAL;
		k->atomic.remote_addr = u->remote_addr;
		k->atomic.compare_add = u->compare_add;
		k->atomic.swap = u->swap;
		k->atomic.rkey = u->rkey;
	}
	b->wr_id[b->nr] = u->wr_id;
	/* Last: the record's place in the buffer is behind us from here on. */
	ret = uep_send_data(qp, op, u, buf, &k->wr, b->sge[b->nr]);
	if (!ret && qp->prepare_send)
		ret = qp->prepare_send(&qp->qp, &k->wr, u->send_flags,
				       b->sge[b->nr]);
	if (!ret && qp->qp.type == IB_QPT_UD)
		ret = uep_send_ud(qp, u, &k->ud, &b->ah[b->nr]);
	return ret;
}

static bool uep_send_signalled(struct uep_qp *qp, const struct ib_send_wr *wr)
{
	return qp->qp.sq_sig_all || (wr->send_flags & IB_SEND_SIGNALED);
}

/*
 * Posts from the @first of the batch on. Returns how many are on the queue;
 * *@err is why there are no more.
 */
static u32 uep_send_post(struct uep_qp *qp, struct uep_send_batch *b, u32 first,
			 int *err)
{
	const struct ib_send_wr *bad = NULL;
	struct uep_wq *wq = &qp->sq;
	u32 i, n = first, good;

again:
	*err = wait_on_bit(&qp->qp.cm_use, EP_QP_ACCEPTING, TASK_KILLABLE);
	if (*err)
		return 0;
	/*
	 * _bh: a driver of Linux 6.1 hands a kernel consumer's sends to a tasklet,
	 * which runs when the lock is dropped instead of some time later.
	 */
	spin_lock_bh(&wq->lock);
	if (unlikely(test_bit(EP_QP_ACCEPTING, &qp->qp.cm_use))) {
		spin_unlock_bh(&wq->lock);
		goto again;
	}
	if (wq->dead)
		*err = -EIO;
	/* An iWARP QP is moved by its driver, which checks. */
	else if (!qp->iwarp && READ_ONCE(qp->qp.state) < IB_QPS_RTS)
		*err = -EINVAL;
	while (!*err && n < b->nr) {
		struct ib_send_wr *wr = &b->wr[n].wr;

		if (!uep_wq_push(wq, b->wr_id[n], uep_send_signalled(qp, wr),
				 wr->opcode == IB_WR_RDMA_READ, &wr->wr_id)) {
			*err = -ENOMEM;
			break;
		}
		if (n > first)
			b->wr[n - 1].wr.next = wr;
		wr->next = NULL;
		n++;
	}
	good = n;
	if (n > first) {
		int ret = ib_post_send(qp->qp.ibqp, &b->wr[first].wr, &bad);

		if (ret) {
			*err = ret;
			for (good = first; good < n; good++)
				if (&b->wr[good].wr == bad)
					break;
		}
		for (i = n; i > good; i--)
			uep_wq_pop(wq, b->wr[i - 1].wr.wr_id);
		for (i = first; i < good; i++)
			uep_wq_count(wq, b->wr[i].wr.sg_list,
				     b->wr[i].wr.num_sge);
	}
	spin_unlock_bh(&wq->lock);
	return good - first;
}

/* Done with what is in the batch. */
static void uep_send_drop(struct uep_send_batch *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++)
		if (b->ah[i])
			uep_ah_put(b->ah[i]);
	b->nr = 0;
}

static u32 uep_send_flush(struct uep_qp *qp, struct uep_send_batch *b, int *err)
{
	u32 done;

	done = uep_send_post(qp, b, 0, err);
	if (*err == -ENOMEM) {
		/*
		 * The slots are those of requests whose completion the user has
		 * not polled. The device may have room nevertheless.
		 */
		uep_cq_drain(qp->send_cq);
		done += uep_send_post(qp, b, done, err);
	}
	uep_send_drop(b);
	return done;
}

/*
 * Before a list is posted as a whole. One that makes several batches is gone
 * through; the only batch of one that does not is posted when it is complete.
 */
static int uep_send_check_all(struct uep_qp *qp, u32 num,
			      struct uep_post_buf *buf, struct uep_send_batch *b)
{
	u32 left;
	int ret;

	for (left = num > UEP_POST_BATCH ? num : 0; left; left--) {
		ret = uep_send_add(qp, buf, b);
		if (b->ah[0])
			uep_ah_put(b->ah[0]);
		if (ret)
			return ret;
	}
	buf->pos = 0;
	if (uep_wq_has_room(&qp->sq, qp->qp.cap.max_send_wr, num))
		return 0;
	uep_cq_drain(qp->send_cq);
	return uep_wq_has_room(&qp->sq, qp->qp.cap.max_send_wr, num) ?
	       0 : -ENOMEM;
}

static int uep_send_all(struct uep_obj *obj, struct rdma_ep_post *arg,
			struct uep_post_buf *buf)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);
	struct uep_send_batch b __uninitialized;
	int ret, err;
	u32 left;

	/* An XRC target only receives, and that from SRQs. */
	if (qp->xrcd)
		return -EINVAL;
	/* Without its device the memory regions are gone, too: say which. */
	if (READ_ONCE(qp->sq.dead))
		return -EIO;
	ret = uep_wq_prepare(&qp->sq);
	b.nr = 0;
	if (!ret && (arg->flags & RDMA_EP_POST_ALL))
		ret = uep_send_check_all(qp, arg->num, buf, &b);
	for (left = arg->num; left && !ret; left--) {
		ret = uep_send_add(qp, buf, &b);
		if (ret) {
			if (b.ah[b.nr])
				uep_ah_put(b.ah[b.nr]);
			if (arg->flags & RDMA_EP_POST_ALL)
				uep_send_drop(&b);
			break;
		}
		if (++b.nr == UEP_POST_BATCH)
			arg->posted += uep_send_flush(qp, &b, &ret);
	}
	if (b.nr) {
		arg->posted += uep_send_flush(qp, &b, &err);
		if (err)
			ret = err;
	}
	trace_rdma_ep_post(obj, arg, buf, true, ret);
	uep_qp_harvest(qp);
	return ret;
}

int uep_post_send(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_QP, uep_send_all);
}
