// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches of checked requests, which post.h (receives) and send.c add. A batch is posted as one
 * chain.
 */
#include "post.h"
#include "wq.h"

/* Sends and receives are chained and rolled back by the same members. */
static_assert(offsetof(struct ib_send_wr, next) == offsetof(struct ib_recv_wr, next));
static_assert(offsetof(struct ib_send_wr, wr_id) == offsetof(struct ib_recv_wr, wr_id));
static_assert(offsetof(struct ib_send_wr, sg_list) == offsetof(struct ib_recv_wr, sg_list));
static_assert(offsetof(struct ib_send_wr, num_sge) == offsetof(struct ib_recv_wr, num_sge));

static bool uep_batch_push(struct uep_post_queue *q, struct uep_post_req *r, bool signal)
{
	enum uep_signalled signalled = UEP_SIGNALLED;
	const struct ib_send_wr *wr = &r->wr.wr;

	if (signal)
		signalled = UEP_SIGNALLED_HERE;
	else if (q->send && !uep_is_signalled(q->qp, wr))
		signalled = UEP_UNSIGNALLED;
	return uep_wq_push(q->wq, r->wr_id, signalled,
			   q->send && wr->opcode == IB_WR_RDMA_READ, &r->wr.recv.wr_id);
}

/* @bad: the first request that has not been posted */
static int uep_batch_post_hw(struct uep_post_queue *q, const struct uep_post_req *r,
			     const union uep_wr **bad)
{
	const struct ib_recv_wr **bad_recv = (void *)bad;
	const struct ib_send_wr **bad_send = (void *)bad;
	const union uep_wr *wr = &r->wr;

	if (q->send)
		return ib_post_send(q->qp->qp.ibqp, &wr->wr, bad_send);
	if (q->srq)
		return ib_post_srq_recv(q->srq->srq.ibsrq, &wr->recv, bad_recv);
	return ib_post_recv(q->qp->qp.ibqp, &wr->recv, bad_recv);
}

/* Counts the requests from @r to before @end, which have been posted. With wq->lock */
static void uep_post_count(struct uep_post_queue *q, const struct uep_post_req *r,
			   const struct uep_post_req *end)
{
	struct uep_wq *wq = q->wq;
	u64 bytes = 0;

	wq->traffic.posted += end - r;
	for (; r < end; r++) {
		bytes += r->bytes;
		if (q->send && r->wr.wr.opcode == IB_WR_RDMA_READ) {
			wq->reads.posted++;
			wq->reads.bytes += r->bytes;
		}
	}
	wq->traffic.bytes += bytes;
	q->bytes += bytes;
}

/* Does the queue take requests? With wq->lock. 0 or an errno */
static int uep_batch_may_post(const struct uep_post_queue *q)
{
	const struct uep_qp *qp = q->qp;

	if (q->wq->dead)
		return -EIO;
	/* The driver changes the state of a connected iWARP QP, and checks it. */
	if (qp && !(q->send && qp->iwarp) &&
	    READ_ONCE(qp->qp.state) < (q->send ? IB_QPS_RTS : IB_QPS_INIT))
		return -EINVAL;
	return 0;
}

/* With wq->lock. */
static u32 uep_batch_post_locked(struct uep_post_queue *q, struct uep_post_batch *b, u32 first,
				 int *err)
{
	struct uep_post_req *from = &b->req[first], *end = &b->req[b->nr], *r, *good;
	struct ib_recv_wr *last = NULL;
	const union uep_wr *bad = NULL;
	int ret = uep_batch_may_post(q);

	for (r = from; r < end && !ret; r++) {
		if (!uep_batch_push(q, r, b->signal_last && r + 1 == end)) {
			ret = -ENOMEM;
			break;
		}
		if (last)
			last->next = &r->wr.recv;
		last = &r->wr.recv;
	}
	*err = ret;
	if (!last)
		return 0;
	last->next = NULL;
	good = r;
	ret = uep_batch_post_hw(q, from, &bad);
	if (ret) {
		*err = ret;
		for (good = from; good < r && &good->wr != bad; good++)
			;
	}
	for (; r > good; r--)
		uep_wq_pop(q->wq, r[-1].wr.recv.wr_id);
	uep_post_count(q, from, good);
	if (b->ends_piece && good == end)
		WRITE_ONCE(q->qp->pace.cookie, end[-1].wr.recv.wr_id);
	return good - from;
}

/*
 * Posts the requests of the batch from @first on. Returns how many are on the queue; *@err is the
 * error of the next one, or 0. The queue of an SRQ takes them in any context.
 */
u32 uep_batch_post(struct uep_post_queue *q, struct uep_post_batch *b, u32 first, int *err)
{
	struct uep_wq *wq = q->wq;
	struct uep_qp *qp = q->qp;
	unsigned long flags;
	u32 nr;

	*err = 0;
	if (q->srq) {
		spin_lock_irqsave(&wq->lock, flags);
		nr = uep_batch_post_locked(q, b, first, err);
		spin_unlock_irqrestore(&wq->lock, flags);
		return nr;
	}
again:
	*err = q->send ? wait_on_bit(&qp->qp.cm_use, EP_QP_ACCEPTING, TASK_KILLABLE) : 0;
	if (*err)
		return 0;
	/*
	 * _bh: on Linux 6.1 a driver schedules a tasklet for sends of kernel consumers, which
	 * then runs at the unlock instead of some time later.
	 */
	spin_lock_bh(&wq->lock);
	if (q->send && unlikely(test_bit(EP_QP_ACCEPTING, &qp->qp.cm_use))) {
		spin_unlock_bh(&wq->lock);
		goto again;
	}
	nr = uep_batch_post_locked(q, b, first, err);
	spin_unlock_bh(&wq->lock);
	return nr;
}
