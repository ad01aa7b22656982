// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests: posting, execution and completion. The post functions take mock_dev.lock, the
 * others run under it.
 */
#include <linux/string.h>

#include "mock.h"

/* Not a status: the peer has no posted receive, or is still in INIT. */
#define MOCK_RNR	(-1)

static struct mock_wqe *mock_wq_push(struct mock_wq *wq)
{
	struct mock_wqe *wqe;

	if (wq->used == wq->size)
		return NULL;
	wqe = &wq->ring[(wq->head + wq->used++) % wq->size];
	memset(wqe, 0, sizeof(*wqe));
	return wqe;
}

static void mock_wq_pop(struct mock_wq *wq)
{
	wq->head = (wq->head + 1) % wq->size;
	wq->used--;
}

/* Refuses an SGE of zero bytes, which means 2^31 bytes to some hardware. */
static bool mock_sges_ok(const struct ib_sge *sge, int num)
{
	int i;

	if (num > MOCK_MAX_SGE)
		return false;
	for (i = 0; i < num; i++)
		if (!sge[i].length)
			return false;
	return true;
}

static int mock_wqe_sge(struct mock_wqe *wqe, const struct ib_sge *sge, int num)
{
	if (!mock_sges_ok(sge, num))
		return -EINVAL;
	wqe->num_sge = num;
	memcpy(wqe->sge, sge, num * sizeof(*sge));
	return 0;
}

static u64 mock_length(const struct mock_wqe *wqe)
{
	u64 length = 0;
	int i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

/* Copies between a buffer and the SGEs of a work request, from @skip bytes on. */
static bool mock_copy(struct mock_dev *m, struct ib_pd *pd,
		      const struct mock_wqe *wqe, u64 skip, u8 *data, u64 len, bool to_wqe)
{
	int i;

	for (i = 0; i < wqe->num_sge && len; i++) {
		const struct ib_sge *sge = &wqe->sge[i];
		u8 *p;
		u64 n;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		p = mock_local(m, pd, sge, to_wqe);
		if (!p)
			return false;
		n = min_t(u64, len, sge->length - skip);
		if (to_wqe)
			memcpy(p + skip, data, n);
		else
			memcpy(data, p + skip, n);
		skip = 0;
		data += n;
		len -= n;
	}
	return true;
}

/* Copies the SGEs of one request to those of another, behind the first @skip bytes. */
static enum ib_wc_status mock_copy_across(struct mock_dev *m, struct ib_pd *from_pd,
					  const struct mock_wqe *from, struct ib_pd *to_pd,
					  const struct mock_wqe *to, u64 skip)
{
	int i;

	for (i = 0; i < from->num_sge; i++) {
		const struct ib_sge *sge = &from->sge[i];
		u8 *p;

		if (from->flags & IB_SEND_INLINE)
			p = (u8 *)from->data + (sge->addr - from->sge[0].addr);
		else
			p = mock_local(m, from_pd, sge, false);
		if (!p)
			return IB_WC_LOC_PROT_ERR;
		if (!mock_copy(m, to_pd, to, skip, p, sge->length, true))
			return IB_WC_REM_OP_ERR;
		skip += sge->length;
	}
	return IB_WC_SUCCESS;
}

static void mock_complete_send(struct mock_qp *qp, const struct mock_wqe *wqe,
			       enum ib_wc_status status)
{
	static const enum ib_wc_opcode opcodes[] = {
		[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
		[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
		[IB_WR_SEND] = IB_WC_SEND,
		[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
		[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
		[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
		[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
		[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	};
	struct ib_wc wc = {
		.wr_id = wqe->id, .status = status, .opcode = opcodes[wqe->opcode], .qp = &qp->ibqp,
		.byte_len = mock_length(wqe), .port_num = 1,
	};

	if (status == IB_WC_SUCCESS && !qp->sig_all && !(wqe->flags & IB_SEND_SIGNALED))
		return;
	mock_cq_add(to_mock_cq(qp->ibqp.send_cq), &wc, false);
}

/* The SRQ of the QP's receives, or NULL */
static struct mock_srq *mock_srq_of(struct mock_dev *m, struct mock_qp *qp)
{
	struct mock_obj *obj;
	unsigned long i;

	/*
	 * XRC sends contain the number of the SRQ, but struct ib_send_wr has no field for it: take
	 * the first SRQ of the domain.
	 */
	if (qp->type == IB_QPT_XRC_TGT) {
		xa_for_each(&m->objs[MOCK_SRQ], i, obj) {
			struct mock_srq *srq = container_of(obj, struct mock_srq, obj);

			if (srq->xrcd && srq->xrcd == qp->xrcd)
				return srq;
		}
	}
	return qp->srq;
}

/* The PD for the peer's accesses; that of the SRQ for an XRC target */
static struct ib_pd *mock_pd_of(struct mock_dev *m, struct mock_qp *qp)
{
	struct mock_srq *srq;

	if (qp->type != IB_QPT_XRC_TGT)
		return qp->pd;
	srq = mock_srq_of(m, qp);
	return srq ? srq->pd : NULL;
}

static struct mock_wq *mock_rq_of(struct mock_qp *qp, struct mock_srq *srq)
{
	return srq ? &srq->rq : &qp->rq;
}

static void mock_complete_recv(struct mock_dev *m, struct mock_qp *qp,
			       struct mock_srq *srq, struct ib_wc *wc, bool solicited)
{
	struct mock_wq *rq = mock_rq_of(qp, srq);
	struct ib_cq *cq = qp->ibqp.recv_cq;

	wc->wr_id = rq->ring[rq->head].id;
	wc->qp = &qp->ibqp;
	wc->port_num = 1;
	mock_wq_pop(rq);
	/* Completions of an XRC target use the CQ of its SRQ. */
	if (qp->type == IB_QPT_XRC_TGT)
		cq = srq->ibsrq.ext.cq;
	mock_cq_add(to_mock_cq(cq), wc, solicited);
	if (srq && srq->limit && rq->used < srq->limit) {
		srq->limit = 0;
		mock_raise(m, &srq->obj, IB_EVENT_SRQ_LIMIT_REACHED);
	}
}

static bool mock_is_ud(const struct mock_qp *qp)
{
	return qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;
}

/* Writes a GRH in front of a message for a UD QP. */
static bool mock_put_grh(struct mock_dev *m, struct mock_qp *qp, const struct mock_wqe *recv,
			 const struct mock_wqe *send)
{
	struct ib_grh grh = {
		.version_tclass_flow = cpu_to_be32(6 << 28),
		.paylen = cpu_to_be16(mock_length(send)), .next_hdr = 0x1b, .hop_limit = 1,
		.sgid = send->sgid, .dgid = send->dgid,
	};

	return mock_copy(m, qp->pd, recv, 0, (u8 *)&grh, sizeof(grh), true);
}

static bool mock_has_imm(const struct mock_wqe *wqe)
{
	return wqe->opcode == IB_WR_SEND_WITH_IMM || wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

/* Completes a receive of @dest. @data: with the message; false: RDMA with immediate data */
static int mock_deliver(struct mock_dev *m, struct mock_qp *qp,
			struct mock_qp *dest, const struct mock_wqe *wqe, bool data)
{
	struct mock_srq *srq = mock_srq_of(m, dest);
	struct mock_wq *rq = mock_rq_of(dest, srq);
	u64 skip = mock_is_ud(dest) ? sizeof(struct ib_grh) : 0;
	struct ib_wc wc = {
		.opcode = data ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = mock_length(wqe) + (data ? skip : 0), .src_qp = qp->obj.num,
	};
	struct mock_wqe *recv;
	int status = IB_WC_SUCCESS;

	if (!rq->used)
		return MOCK_RNR;
	recv = &rq->ring[rq->head];
	if (mock_has_imm(wqe)) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = wqe->imm;
	} else if (wqe->opcode == IB_WR_SEND_WITH_INV) {
		wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = (__force u32)wqe->imm;
	}
	if (skip) {
		wc.wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc.network_hdr_type = RDMA_NETWORK_ROCE_V1;
	}
	if (data && wc.byte_len > mock_length(recv)) {
		status = IB_WC_REM_INV_REQ_ERR;
		wc.status = IB_WC_LOC_LEN_ERR;
	} else if (data) {
		if (skip && !mock_put_grh(m, dest, recv, wqe))
			status = IB_WC_REM_OP_ERR;
		else
			status = mock_copy_across(m, qp->pd, wqe, mock_pd_of(m, dest), recv, skip);
		if (status == IB_WC_REM_OP_ERR)
			wc.status = IB_WC_LOC_PROT_ERR;
		else if (status)
			return status;
	}
	mock_complete_recv(m, dest, srq, &wc, wqe->flags & IB_SEND_SOLICITED);
	return status;
}

static int mock_atomic(struct mock_dev *m, struct mock_qp *qp,
		       struct mock_qp *dest, const struct mock_wqe *wqe)
{
	u64 *p, old;

	p = (u64 *)mock_remote(m, mock_pd_of(m, dest), wqe->rkey, wqe->raddr,
			       sizeof(*p), IB_ACCESS_REMOTE_ATOMIC);
	if (!p)
		return IB_WC_REM_ACCESS_ERR;
	old = *p;
	if (wqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		*p += wqe->compare;
	else if (old == wqe->compare)
		*p = wqe->swap;
	return mock_copy(m, qp->pd, wqe, 0, (u8 *)&old, sizeof(old), true) ?
	       IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR;
}

static int mock_rdma(struct mock_dev *m, struct mock_qp *qp,
		     struct mock_qp *dest, const struct mock_wqe *wqe)
{
	bool read = wqe->opcode == IB_WR_RDMA_READ;
	u64 length = mock_length(wqe);
	struct mock_wqe sink = {};
	u8 *p = NULL;

	if (length) {
		p = mock_remote(m, mock_pd_of(m, dest), wqe->rkey, wqe->raddr, length,
				read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE);
		if (!p)
			return IB_WC_REM_ACCESS_ERR;
	}
	if (read)
		return mock_copy(m, qp->pd, wqe, 0, p, length, true) ?
		       IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR;
	sink.num_sge = 1;
	sink.sge[0].addr = (uintptr_t)p;
	sink.sge[0].length = length;
	sink.sge[0].lkey = MOCK_LOCAL_LKEY;
	return mock_copy_across(m, qp->pd, wqe, mock_pd_of(m, dest), &sink, 0);
}

static struct mock_qp *mock_qp_find(struct mock_dev *m, u32 num)
{
	struct mock_obj *obj = xa_load(&m->objs[MOCK_QP], num);

	return obj ? container_of(obj, struct mock_qp, obj) : NULL;
}

static bool mock_can_receive(const struct mock_qp *qp, const struct mock_qp *from)
{
	if (qp->state < IB_QPS_RTR || qp->state > IB_QPS_SQE || mock_is_ud(qp) != mock_is_ud(from))
		return false;
	return mock_is_ud(qp) || qp->attr.dest_qp_num == from->obj.num;
}

/* Returns a status, or MOCK_RNR. */
static int mock_execute(struct mock_dev *m, struct mock_qp *qp, const struct mock_wqe *wqe)
{
	bool ud = mock_is_ud(qp), reliable = !ud && qp->type != IB_QPT_UC;
	struct mock_qp *dest;
	int ret;

	dest = mock_qp_find(m, ud ? wqe->qpn : qp->attr.dest_qp_num);
	/* The peer is connecting: mock_qp_go() retries the send. */
	if (dest && reliable && dest->state == IB_QPS_INIT)
		return MOCK_RNR;
	if (!dest || wqe->lost || !mock_can_receive(dest, qp) ||
	    (dest->type == IB_QPT_UD && wqe->qkey != dest->attr.qkey))
		return reliable ? IB_WC_RETRY_EXC_ERR : IB_WC_SUCCESS;

	switch (wqe->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		ret = mock_deliver(m, qp, dest, wqe, true);
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		if (!mock_rq_of(dest, mock_srq_of(m, dest))->used)
			return reliable ? MOCK_RNR : IB_WC_SUCCESS;
		fallthrough;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		ret = mock_rdma(m, qp, dest, wqe);
		if (!ret && mock_has_imm(wqe))
			ret = mock_deliver(m, qp, dest, wqe, false);
		break;
	default:
		ret = mock_atomic(m, qp, dest, wqe);
	}
	return ret == MOCK_RNR && !reliable ? IB_WC_SUCCESS : ret;
}

/* Executes the send queue until it is empty, fails, or lacks a receive of the peer. */
static void mock_run(struct mock_dev *m, struct mock_qp *qp)
{
	struct mock_wqe *wqe;
	int status;

	if (qp->running)
		return;
	qp->running = true;
	while (qp->sq.used && qp->state == IB_QPS_RTS) {
		wqe = &qp->sq.ring[qp->sq.head];
		status = mock_execute(m, qp, wqe);
		if (status == MOCK_RNR)
			break;
		mock_complete_send(qp, wqe, status);
		mock_wq_pop(&qp->sq);
		if (status && !mock_is_ud(qp))
			qp->state = IB_QPS_ERR;
	}
	qp->running = false;
	if (qp->state == IB_QPS_ERR)
		mock_flush(qp);
}

void mock_flush(struct mock_qp *qp)
{
	struct mock_dev *m = to_mock(qp->ibqp.device);
	struct ib_wc wc;

	for (; qp->sq.used; mock_wq_pop(&qp->sq))
		mock_complete_send(qp, &qp->sq.ring[qp->sq.head], IB_WC_WR_FLUSH_ERR);
	while (qp->rq.used) {
		memset(&wc, 0, sizeof(wc));
		wc.status = IB_WC_WR_FLUSH_ERR;
		wc.opcode = IB_WC_RECV;
		mock_complete_recv(m, qp, NULL, &wc, false);
	}
	if (qp->srq && !qp->last_wqe)
		mock_raise(m, &qp->obj, IB_EVENT_QP_LAST_WQE_REACHED);
	qp->last_wqe = true;
}

/* Runs senders that wait for a receive of @qp, or of QPs with @srq. */
void mock_run_senders(struct mock_dev *m, struct mock_qp *qp, struct mock_srq *srq)
{
	struct mock_qp *peer, *dest;
	struct mock_obj *obj;
	unsigned long i;

	if (qp) {
		peer = mock_qp_find(m, qp->attr.dest_qp_num);
		if (peer && peer->attr.dest_qp_num == qp->obj.num)
			mock_run(m, peer);
		return;
	}
	xa_for_each(&m->objs[MOCK_QP], i, obj) {
		peer = container_of(obj, struct mock_qp, obj);
		dest = mock_qp_find(m, peer->attr.dest_qp_num);
		if (dest && mock_srq_of(m, dest) == srq)
			mock_run(m, peer);
	}
}

static int mock_fill_inline(struct mock_wqe *wqe)
{
	u64 base = wqe->num_sge ? wqe->sge[0].addr : 0, at = 0;
	int i;

	if (mock_length(wqe) > MOCK_MAX_INLINE)
		return -EINVAL;
	for (i = 0; i < wqe->num_sge; i++) {
		memcpy(wqe->data + at, (void *)(uintptr_t)wqe->sge[i].addr, wqe->sge[i].length);
		/* The copy is contiguous, so the addresses must be, too. */
		wqe->sge[i].addr = base + at;
		at += wqe->sge[i].length;
	}
	return 0;
}

static void mock_fill_ud(struct mock_wqe *wqe, const struct ib_ud_wr *wr)
{
	struct mock_ah *ah = container_of(wr->ah, struct mock_ah, ibah);

	wqe->qpn = wr->remote_qpn;
	wqe->qkey = wr->remote_qkey;
	wqe->sgid = ah->sgid;
	wqe->dgid = ah->dgid;
	wqe->lost = !ah->here;
}

static int mock_fill_send(struct mock_qp *qp, struct mock_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	if (mock_wqe_sge(wqe, wr->sg_list, wr->num_sge))
		return -EINVAL;
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->raddr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->raddr = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		if (mock_is_ud(qp))
			mock_fill_ud(wqe, ud_wr(wr));
		break;
	default:
		return -EINVAL;
	}
	return wqe->flags & IB_SEND_INLINE ? mock_fill_inline(wqe) : 0;
}

int mock_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	struct mock_wqe *wqe;
	unsigned long flags;
	int ret = 0;

	mock_post_slowly(m, MOCK_OP_post_send);
	spin_lock_irqsave(&m->lock, flags);
	for (; wr && !ret; wr = wr->next) {
		/* Requests before a failure stay posted. */
		*bad = wr;
		ret = mock_gate_locked(m, MOCK_OP_post_send);
		if (!ret && qp->state < IB_QPS_RTS)
			ret = -EINVAL;
		if (ret)
			break;
		wqe = mock_wq_push(&qp->sq);
		ret = wqe ? mock_fill_send(qp, wqe, wr) : -ENOMEM;
		if (ret && wqe)
			qp->sq.used--;
	}
	if (qp->state == IB_QPS_ERR)
		mock_flush(qp);
	else
		mock_run(m, qp);
	mock_unlock(m, flags);
	mock_after_post(m);
	return ret;
}

static int mock_push_recv(struct mock_wq *rq, const struct ib_recv_wr *wr)
{
	struct mock_wqe *wqe;

	if (!mock_sges_ok(wr->sg_list, wr->num_sge))
		return -EINVAL;
	wqe = mock_wq_push(rq);
	if (!wqe)
		return -ENOMEM;
	wqe->id = wr->wr_id;
	return mock_wqe_sge(wqe, wr->sg_list, wr->num_sge);
}

int mock_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct mock_dev *m = to_mock(ibqp->device);
	struct mock_qp *qp = to_mock_qp(ibqp);
	int ret = MOCK_GATE_ATOMIC(ibqp->device, post_recv);
	unsigned long flags;

	*bad = wr;
	if (ret)
		return ret;
	/* As in other drivers, mock_modify_qp() may run between this check and the lock. */
	if (READ_ONCE(qp->state) == IB_QPS_RESET)
		return -EINVAL;
	mock_post_slowly(m, MOCK_OP_post_recv);
	spin_lock_irqsave(&m->lock, flags);
	for (; wr && !ret; wr = wr->next) {
		*bad = wr;
		ret = mock_push_recv(&qp->rq, wr);
	}
	if (qp->state == IB_QPS_ERR)
		mock_flush(qp);
	else
		mock_run_senders(m, qp, NULL);
	mock_unlock(m, flags);
	return ret;
}

int mock_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct mock_dev *m = to_mock(ibsrq->device);
	struct mock_srq *srq = to_mock_srq(ibsrq);
	int ret = MOCK_GATE_ATOMIC(ibsrq->device, post_srq_recv);
	unsigned long flags;

	*bad = wr;
	if (ret)
		return ret;
	spin_lock_irqsave(&m->lock, flags);
	for (; wr && !ret; wr = wr->next) {
		*bad = wr;
		ret = mock_push_recv(&srq->rq, wr);
	}
	mock_run_senders(m, NULL, srq);
	mock_unlock(m, flags);
	return ret;
}
