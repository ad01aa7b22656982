// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that the user posts to an SRQ in shared memory, without a system call.
 *
 * They have to be on the device's queue before the device runs out of receives. The user may
 * leave them in the ring ("open") while
 *
 *  - each CQ that receives of the SRQ complete to is quiet: the driver notifies the kernel of
 *    the next completion, and the kernel has polled all before it;
 *  - the queue has a receive for each QP.
 *
 * A QP has taken one receive at most that has not completed, so the queue has at least the
 * receive that the QP needs next until one of the QPs completes a receive. Then the ring is
 * closed and emptied in the completion handler, and with EP_CAP_RECV_RING no QP takes a second
 * receive before that. The queue's level is known from the order of the receives; only a QP
 * that has ended may have taken one that never completes (uep_recv_ring.ended).
 *
 * A closed ring is empty, but for receives that the user has written while it was being closed,
 * and calls for. So each pull, also in a handler, is of RDMA_EP_RING_ENTRIES receives at most,
 * which are copied and then checked as those of POST_SRQ_RECV.
 *
 * A CQ serves one ring, so that its handler does not pull as many as the user likes. The SRQs'
 * uep_cq.srq and nr_srq_qps change with uep_cq_hw.lock: then no handler runs.
 */
#include <linux/xarray.h>

#include "post.h"

static_assert(sizeof(struct rdma_ep_ring_recv) * UEP_POST_BATCH <= UEP_POST_STACK);
static_assert(sizeof(struct rdma_ep_ring_recv) % sizeof(u64) == 0);
/* As RDMA_EP_IOC_POST_SRQ_RECV has it, so that one function checks both */
static_assert(offsetof(struct rdma_ep_ring_recv, sge) == sizeof(struct rdma_ep_recv_wr));

/* The user's next receives come by system calls. With lock */
static void uep_recv_ring_shut(struct uep_recv_ring *r)
{
	r->open = false;
	/* Before the tail is read: the user writes the tail, and then reads kick. */
	smp_store_mb(r->mem.recv->kick, UEP_RING_PENDING);
}

/* A receive is wrong, and there is no call that could fail. With lock */
static void uep_recv_ring_fail(struct uep_srq *srq)
{
	uep_recv_ring_shut(&srq->ring);
	srq->ring.failed = true;
	uep_node_post(srq->pd->ctx->async, &srq->async, IB_EVENT_SRQ_ERR);
}

/*
 * Posts receives that have been copied. Returns how many; *@err is the error of the next one, or 0
 */
static noinline_for_stack u32 uep_recv_ring_post(struct uep_post_queue *q,
						 struct uep_post_buf *buf, u32 nr, int *err)
{
	struct uep_post_batch b __uninitialized;
	int post_err = 0;
	u32 done = 0;

	uep_batch_init(&b);
	for (*err = 0; b.nr < nr && !*err; b.nr += !*err) {
		buf->pos = b.nr * sizeof(struct rdma_ep_ring_recv);
		buf->len = buf->pos + sizeof(struct rdma_ep_ring_recv);
		*err = uep_recv_add(q, buf, &b.req[b.nr]);
	}
	if (b.nr)
		done = uep_batch_post(q, &b, 0, &post_err);
	if (post_err)
		*err = post_err;
	return done;
}

/* As uep_recv_ring_post(), for up to a batch of the receives in the ring */
static u32 uep_recv_ring_batch(struct uep_srq *srq, u32 nr, int *err)
{
	struct uep_post_queue q = uep_srq_post_queue(srq);
	const struct uep_ring *mem = &srq->ring.mem;
	struct uep_post_buf buf __uninitialized;
	struct rdma_ep_ring_recv *copy = (void *)buf.stack;
	u32 i;

	nr = min_t(u32, nr, UEP_POST_BATCH);
	for (i = 0; i < nr; i++)
		copy[i] = mem->recv->recv[(mem->head + i) % RDMA_EP_RING_ENTRIES];
	barrier(); /* from here on only the copy counts */
	buf.data = (u8 *)buf.stack;
	uep_post_begin_checks(&buf, q.wq);
	nr = uep_recv_ring_post(&q, &buf, nr, err);
	uep_post_end_checks(&buf, q.wq);
	return nr;
}

/* Receives in the ring, with lock; more than RDMA_EP_RING_ENTRIES: the user's tail is wrong */
static u32 uep_recv_ring_used(const struct uep_recv_ring *r)
{
	/* Pairs with the user's release after it has written the receives before the tail. */
	u32 tail = smp_load_acquire(&r->mem.recv->tail);

	return (r->given_up ? r->end : tail) - r->mem.head;
}

/*
 * Posts the receives in the ring, with lock. Receives for which the queue has no room stay: the
 * user has written more than the limit.
 */
static void uep_recv_ring_pull(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;
	u32 nr = uep_recv_ring_used(r);
	int err = 0;
	u32 done;

	if (likely(!nr) || r->failed || READ_ONCE(srq->wq.dead))
		return;
	if (nr > RDMA_EP_RING_ENTRIES)
		err = -EINVAL;
	while (nr && !err) {
		done = uep_recv_ring_batch(srq, nr, &err);
		r->mem.head += done;
		nr -= done;
	}
	WRITE_ONCE(r->mem.recv->head, r->mem.head);
	if (err == -EINVAL)
		uep_recv_ring_fail(srq);
}

/* Drops the QPs whose receives are older than the latest completed one. With wq.lock */
static void uep_recv_ring_drop_ended(struct uep_srq *srq)
{
	struct uep_recv_ended *e = srq->ring.ended;

	while (e[0].nr && (s32)(srq->wq.latest - e[0].at) >= 0) {
		e[0] = e[1];
		e[1].nr = 0;
	}
}

/* Opens the ring if that is safe, and for as many as the queue has room for. With lock */
static void uep_recv_ring_try_open(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;
	struct uep_wq *wq = &srq->wq;
	u32 level, free;

	if (!r->nr_qps || r->nr_apart || r->nr_quiet < r->nr_cqs || r->failed || r->given_up)
		return;
	spin_lock(&wq->lock);
	level = uep_wq_level(wq, &free);
	uep_recv_ring_drop_ended(srq);
	if (wq->dead || level >= r->max_wr)
		level = 0;
	spin_unlock(&wq->lock);
	if (level < (u64)r->nr_qps + r->ended[0].nr + r->ended[1].nr + r->srq_limit || !free)
		return;
	WRITE_ONCE(r->mem.recv->limit, r->mem.head +
		   min3(r->max_wr - level, free, (u32)RDMA_EP_RING_ENTRIES));
	r->open = true;
	/* Pairs with the user's acquire before it reads the limit. */
	smp_store_release(&r->mem.recv->kick, 0);
}

/* The common case of a closed ring, without lock: a user that has written to it calls later. */
static bool uep_recv_ring_idle(const struct uep_srq *srq)
{
	const struct uep_recv_ring *r = &srq->ring;

	return !READ_ONCE(r->open) && !READ_ONCE(r->failed) && !READ_ONCE(srq->wq.dead) &&
	       READ_ONCE(r->mem.head) == READ_ONCE(r->mem.recv->tail);
}

/*
 * Posts the receives in the ring; later receives come by system calls. Returns the errno of posts
 * to an SRQ that has failed or is destroyed, or 0
 */
int uep_recv_ring_close(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;
	int ret;

	if (!uep_srq_has_ring(srq) || uep_recv_ring_idle(srq))
		return 0;
	spin_lock_irq(&r->lock);
	if (r->open)
		uep_recv_ring_shut(r);
	uep_recv_ring_pull(srq);
	ret = READ_ONCE(srq->wq.dead) ? -EIO : r->failed ? -EINVAL : 0;
	spin_unlock_irq(&r->lock);
	return ret;
}

/* After uep_recv_ring_close(): receives may have been posted. */
void uep_recv_ring_open(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;

	/* A CQ that becomes quiet opens it, too. */
	if (!uep_srq_has_ring(srq) || READ_ONCE(r->nr_quiet) < READ_ONCE(r->nr_cqs) ||
	    READ_ONCE(r->nr_qps) > READ_ONCE(r->max_wr))
		return;
	spin_lock_irq(&r->lock);
	uep_recv_ring_try_open(srq);
	spin_unlock_irq(&r->lock);
}

/* The device's queue has another size, or its limit is being armed, as far as it works. */
void uep_recv_ring_resize(struct uep_srq *srq, u32 max_wr, u32 srq_limit)
{
	struct uep_recv_ring *r = &srq->ring;

	spin_lock_irq(&r->lock);
	r->max_wr = max_wr;
	r->srq_limit = srq_limit;
	spin_unlock_irq(&r->lock);
}

/* The CQ has been armed, and then found empty. With poll_lock */
void uep_recv_ring_cq_empty(struct uep_cq *cq)
{
	struct uep_srq *srq;

	if (!READ_ONCE(cq->srq))
		return;
	spin_lock_irq(&cq->hw->lock);
	srq = cq->srq;
	if (srq) {
		spin_lock(&srq->ring.lock);
		/* The handler stores armed first. */
		if (!cq->quiet && READ_ONCE(cq->hw->armed)) {
			cq->quiet = true;
			srq->ring.nr_quiet++;
		}
		uep_recv_ring_pull(srq);
		uep_recv_ring_try_open(srq);
		spin_unlock(&srq->ring.lock);
	}
	spin_unlock_irq(&cq->hw->lock);
}

/* The device reports a completion, or will not report the next one. Any context, with hw->lock */
void uep_recv_ring_cq_busy(struct uep_cq *cq)
{
	struct uep_srq *srq = cq->srq;
	struct uep_recv_ring *r = &srq->ring;

	/* hw->lock disables interrupts. */
	spin_lock(&r->lock);
	if (cq->quiet) {
		cq->quiet = false;
		r->nr_quiet--;
	}
	if (r->open) {
		uep_recv_ring_shut(r);
		uep_recv_ring_pull(srq);
	}
	spin_unlock(&r->lock);
}

/* With hw->lock of the CQ, and lock */
static void uep_recv_ring_link(struct uep_qp *qp)
{
	struct uep_recv_ring *r = &qp->srq->ring;
	struct uep_cq *cq = qp->recv_cq;

	r->nr_qps++;
	if (cq->srq && cq->srq != qp->srq) {
		qp->srq_apart = true;
		r->nr_apart++;
		return;
	}
	if (!cq->srq) {
		WRITE_ONCE(cq->srq, qp->srq);
		r->nr_cqs++;
	}
	cq->nr_srq_qps++;
}

static void uep_recv_ring_unlink(struct uep_qp *qp)
{
	struct uep_recv_ring *r = &qp->srq->ring;
	struct uep_cq *cq = qp->recv_cq;

	r->nr_qps--;
	if (qp->srq_apart) {
		r->nr_apart--;
		return;
	}
	if (--cq->nr_srq_qps)
		return;
	WRITE_ONCE(cq->srq, NULL);
	r->nr_cqs--;
	r->nr_quiet -= cq->quiet;
	cq->quiet = false;
}

/* @nr: receives that the QP may have taken, and that never complete. Called with lock */
static void uep_recv_ring_qp_ended(struct uep_srq *srq, u32 nr)
{
	struct uep_recv_ended *e = srq->ring.ended;

	spin_lock(&srq->wq.lock);
	uep_recv_ring_drop_ended(srq);
	e += !!e->nr;
	e->at = srq->wq.nr_posted;
	spin_unlock(&srq->wq.lock);
	if (check_add_overflow(e->nr, nr, &e->nr))
		e->nr = U32_MAX;
}

/* Changes how many QPs receive from the SRQ: @change links or unlinks the QP. */
static void uep_recv_ring_change(struct uep_qp *qp, void (*change)(struct uep_qp *qp))
{
	struct uep_cq_hw *hw = qp->recv_cq->hw;
	struct uep_recv_ring *r = &qp->srq->ring;

	spin_lock_irq(&hw->lock);
	spin_lock(&r->lock);
	uep_recv_ring_shut(r);
	uep_recv_ring_pull(qp->srq);
	change(qp);
	spin_unlock(&r->lock);
	spin_unlock_irq(&hw->lock);
}

/* The QP is created next. */
void uep_recv_ring_add_qp(struct uep_qp *qp)
{
	if (qp->srq && uep_srq_has_ring(qp->srq))
		uep_recv_ring_change(qp, uep_recv_ring_link);
}

/* A QP has been reset. @empty: no completion is left in its receive CQ */
void uep_recv_ring_reset_qp(struct uep_qp *qp, bool empty)
{
	struct uep_recv_ring *r;
	u32 nr;

	if (!qp->srq || !uep_srq_has_ring(qp->srq))
		return;
	r = &qp->srq->ring;
	/*
	 * One that was begun, and one of a packet that arrived while the QP was being emptied; or
	 * those of a CQ that is destroyed with completions.
	 */
	nr = empty ? 2 : qp->recv_cq->hw->cq.cqe;
	spin_lock_irq(&r->lock);
	uep_recv_ring_shut(r);
	uep_recv_ring_pull(qp->srq);
	uep_recv_ring_qp_ended(qp->srq, nr);
	spin_unlock_irq(&r->lock);
}

/* The QP has been destroyed, or never existed. */
void uep_recv_ring_del_qp(struct uep_qp *qp, bool empty)
{
	uep_recv_ring_reset_qp(qp, empty);
	if (qp->srq && uep_srq_has_ring(qp->srq))
		uep_recv_ring_change(qp, uep_recv_ring_unlink);
}

/* Pulls the rings of all SRQs in the PD, before a region is changed that receives may name. */
void uep_recv_rings_take(struct uep_pd *pd)
{
	struct uep_recv_ring *r;
	struct uep_srq *srq;
	unsigned long index;

	xa_for_each(&pd->recv_rings, index, srq) {
		rcu_read_lock();
		srq = xa_load(&pd->recv_rings, index);
		if (srq && !kref_get_unless_zero(&srq->obj.ref))
			srq = NULL;
		rcu_read_unlock();
		if (!srq)
			continue;
		r = &srq->ring;
		spin_lock_irq(&r->lock);
		uep_recv_ring_pull(srq);
		spin_unlock_irq(&r->lock);
		uep_obj_put(&srq->obj);
		cond_resched();
	}
}

/* The SRQ exists on a device with EP_CAP_RECV_RING. */
int uep_recv_ring_create(struct uep_srq *srq, u32 srq_limit)
{
	struct uep_recv_ring *r = &srq->ring;
	int ret;

	ret = uep_ring_create(srq->obj.session, &r->mem);
	if (ret || !uep_srq_has_ring(srq))
		return ret;
	r->max_wr = srq->srq.attr.max_wr;
	r->srq_limit = srq_limit;
	r->mem.recv->max_sge = srq->srq.attr.max_sge;
	return xa_err(xa_store(&srq->pd->recv_rings, r->mem.index, srq, GFP_KERNEL_ACCOUNT));
}

/* The device's queue is being destroyed. No QP is left. */
void uep_recv_ring_stop(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;

	if (!uep_srq_has_ring(srq))
		return;
	spin_lock_irq(&r->lock);
	uep_recv_ring_shut(r);
	spin_unlock_irq(&r->lock);
}

void uep_recv_ring_free(struct uep_srq *srq)
{
	if (!uep_srq_has_ring(srq))
		return;
	xa_cmpxchg(&srq->pd->recv_rings, srq->ring.mem.index, srq, NULL, 0);
	uep_ring_destroy(srq->obj.session, &srq->ring.mem);
}

/*
 * The owner gives the session up, but its mapping stays: the receives that are in the ring now are
 * posted, and no more.
 */
void uep_recv_ring_give_up(struct uep_srq *srq)
{
	struct uep_recv_ring *r = &srq->ring;
	u32 left;

	if (!uep_srq_has_ring(srq))
		return;
	spin_lock_irq(&r->lock);
	uep_recv_ring_shut(r);
	uep_recv_ring_pull(srq);
	left = uep_recv_ring_used(r);
	r->end = r->mem.head + (left <= RDMA_EP_RING_ENTRIES ? left : 0);
	r->given_up = true;
	spin_unlock_irq(&r->lock);
}

/* See uep_ring_move(). Receives of the previous owner are on the queue then, or still there. */
void uep_recv_ring_move(struct uep_srq *srq, struct xarray *pages)
{
	struct uep_recv_ring *r = &srq->ring;

	if (!uep_srq_has_ring(srq))
		return;
	uep_recv_ring_give_up(srq);
	spin_lock_irq(&r->lock);
	uep_ring_move(&r->mem, pages);
	r->mem.recv->tail = r->end;
	r->mem.recv->max_sge = srq->srq.attr.max_sge;
	r->given_up = false;
	spin_unlock_irq(&r->lock);
}
