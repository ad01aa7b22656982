// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions: from the device to the user, on request or into the shared ring. See notify.c for
 * requests for events.
 */
#include <linux/hrtimer.h>
#include <linux/local_lock.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <rdma/opa_addr.h>

#include "../trace.h"
#include "wq.h"

/* Rings of other CQs that a post fills, a power of two */
#define UEP_CQ_HINTS	16

/* For ib_poll_cq(), with @lock: all zero between uses, as drivers do not set all members. */
struct uep_poll_buf {
	local_lock_t lock;
	struct ib_wc wc[UEP_POLL_BATCH];
};

static DEFINE_PER_CPU(struct uep_poll_buf, uep_poll_buf) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/*
 * The latest CQs of sends for which a device has reported a completion on this CPU, without an
 * event for the user. They are hints for the next post: the session is only compared, and the
 * handle is looked up. With interrupts disabled, except on PREEMPT_RT, where handlers may overwrite
 * each other's hints
 */
struct uep_cq_hints {
	u32 nr;				/* given until now */
	u32 nr_taken;
	struct uep_cq_hint {
		const struct uep_session *session;
		u32 handle;
	} hint[UEP_CQ_HINTS];
};

static DEFINE_PER_CPU(struct uep_cq_hints, uep_cq_hints);

void uep_cq_set_pending(struct uep_cq *cq)
{
	if (cq->ring.shared)
		WRITE_ONCE(cq->ring.shared->pending, UEP_RING_PENDING);
}

/*
 * Ends the user's request for an event, made by NOTIFY_CQ or, with auto_arm, in the ring: one
 * event answers both. The barrier pairs with the user's: the user sets armed and then reads
 * pending, here pending is set and then armed read.
 */
static bool uep_cq_test_and_clear_notify(struct uep_cq *cq)
{
	struct rdma_ep_cq_ring *ring = cq->ring.shared;
	/* A full barrier, so pending is before armed */
	bool notify = xchg(&cq->notify, 0);

	return (ring && READ_ONCE(ring->armed) && xchg(&ring->armed, 0)) || notify;
}

static void uep_cq_give_hint(const struct uep_cq *cq)
{
	struct uep_cq_hints *h = this_cpu_ptr(&uep_cq_hints);
	struct uep_cq_hint *hint = &h->hint[h->nr % UEP_CQ_HINTS];

	hint->session = cq->obj.session;
	hint->handle = cq->obj.handle;
	h->nr++;
}

/* The device reports a completion. Any context, with hw->lock. */
void uep_cq_completed(struct uep_cq *cq)
{
	if (cq->srq)
		uep_recv_ring_cq_busy(cq);
	uep_cq_set_pending(cq);
	if (uep_cq_test_and_clear_notify(cq)) {
		if (cq->chan)
			uep_node_post(cq->chan, &cq->comp, 0);
	} else if (READ_ONCE(cq->auto_arm) && !READ_ONCE(cq->receives)) {
		/* A program polls for several messages at once, but for a send before each post. */
		uep_cq_give_hint(cq);
	}
}

/* The device is being removed: wakes tasks that wait for completions. Both locks are held. */
void uep_cq_set_dead(struct uep_cq *cq)
{
	cq->dead = true;
	uep_cq_set_pending(cq);
	if (cq->chan)
		uep_node_post(cq->chan, &cq->comp, 0);
}

/* The ABI has the flags of libibverbs, which exchange checksum and invalidation. */
static_assert(IB_WC_WITH_INVALIDATE == BIT(2) && IB_WC_IP_CSUM_OK == BIT(3));

static u32 uep_wc_flags(int flags)
{
	return (flags & (IB_WC_GRH | IB_WC_WITH_IMM)) | (flags & IB_WC_IP_CSUM_OK) >> 1 |
	       (flags & IB_WC_WITH_INVALIDATE) << 1;
}

/* Returns false for a completion of a queue that has been freed. Called under rcu_read_lock(). */
static bool uep_wc_to_user(struct uep_cq *cq, struct uep_wq **locked, struct rdma_ep_wc *dst,
			   const struct ib_wc *src)
{
	const struct uep_qp *qp;
	u32 qp_num = 0;
	u64 wr_id;

	if (!uep_wq_complete(cq->obj.session, &cq->last, locked, src, &wr_id, &qp_num))
		return false;
	if (!qp_num) {
		qp = xa_load(&cq->qps, uep_qp_hw_key(src->qp));
		qp_num = qp ? qp->qp.qp_num : 0;
	}
	trace_rdma_ep_wc_error(cq, qp_num, src);
	*dst = (struct rdma_ep_wc) {
		.wr_id = wr_id,
		UEP_COPY(status),
		UEP_COPY(opcode),
		UEP_COPY(vendor_err),
		UEP_COPY(byte_len),
		.imm_data = (__force u32)src->ex.imm_data,
		.qp_num = qp_num,
		UEP_COPY(src_qp),
		.wc_flags = uep_wc_flags(src->wc_flags),
		UEP_COPY(pkey_index),
		.slid = ib_lid_cpu16(src->slid),
		UEP_COPY(sl),
		UEP_COPY(dlid_path_bits),
	};
	if (src->status == IB_WC_SUCCESS && (src->opcode & IB_WC_RECV)) {
		cq->received.posted++;
		cq->received.bytes += src->byte_len;
	}
	return true;
}

/* Drops up to one batch of a CQ without user, with poll_lock. Returns as ib_poll_cq(). */
int uep_cq_hw_discard(struct uep_cq_hw *hw)
{
	struct ib_wc *ibwc;
	int n;

	local_lock(&uep_poll_buf.lock);
	ibwc = this_cpu_ptr(uep_poll_buf.wc);
	n = ib_poll_cq(hw->cq.ibcq, UEP_POLL_BATCH, ibwc);
	memset(ibwc, 0, UEP_POLL_BATCH * sizeof(*ibwc));
	local_unlock(&uep_poll_buf.lock);
	return n;
}

/*
 * Writes up to @max completions of the device, one batch at most, to @wc, and sets *@nr, with
 * poll_lock. Returns how many the device had, or its error.
 */
static int uep_cq_poll_hw(struct uep_cq *cq, struct rdma_ep_wc *wc, u32 max, u32 *nr)
{
	struct uep_wq *locked = NULL;
	struct ib_wc *ibwc;
	int n, i;

	*nr = 0;
	local_lock(&uep_poll_buf.lock);
	ibwc = this_cpu_ptr(uep_poll_buf.wc);
	n = ib_poll_cq(cq->hw->cq.ibcq, max, ibwc);
	rcu_read_lock();
	for (i = 0; i < n; i++) {
		if (uep_wc_to_user(cq, &locked, &wc[*nr], &ibwc[i]))
			++*nr;
		else if (ibwc[i].wr_id == UEP_DISARM_ID)
			cq->hw->disarming = false;
		ibwc[i] = (struct ib_wc) {};
	}
	uep_wq_complete_end(locked);
	rcu_read_unlock();
	/* Their requests may have been among these. */
	uep_cq_wake_waiters(cq->hw);
	/* A driver may have begun to write one more than it returns. */
	if (n < 0)
		memset(ibwc, 0, max * sizeof(*ibwc));
	else if (n < (int)max)
		ibwc[n] = (struct ib_wc) {};
	local_unlock(&uep_poll_buf.lock);
	cq->nr_polled += *nr;
	trace_rdma_ep_poll(cq, *nr, n);
	return n;
}

/* As uep_cq_poll_hw(), to the held completions, which have room for @max more. */
static int uep_cq_poll_held(struct uep_cq *cq, u32 max)
{
	u32 nr;
	int n = uep_cq_poll_hw(cq, &cq->buf[cq->first_buf + cq->nr_buf], max, &nr);

	cq->nr_buf += nr;
	return n;
}

static void uep_cq_consume(struct uep_cq *cq, u32 nr)
{
	cq->first_buf += nr;
	cq->nr_buf -= nr;
}

/*
 * Arms the CQ, with poll_lock. Until a poll has then found it empty the user has to assume that
 * something is pending. Returns false if it is not armed.
 */
static bool uep_cq_arm(struct uep_cq *cq)
{
	if (cq->dead || cq->solicited ||
	    !(cq->auto_arm || ep_dev_has(cq->hw->cq.ibcq->device, EP_CAP_SOFTWARE)))
		return false;
	WRITE_ONCE(cq->auto_arm, true);
	cq->hw->any_requested = true;
	WRITE_ONCE(cq->hw->armed, true);
	/* Before the handler is called. */
	smp_store_mb(cq->ring.shared->pending, UEP_RING_ARMING);
	return !ib_req_notify_cq(cq->hw->cq.ibcq, IB_CQ_NEXT_COMP);
}

/*
 * Moves completions to @wc, held ones or else up to one batch of the device, and sets *@nr, with
 * poll_lock. Returns 1 if there may be more, 0 if not, or an errno.
 */
static int uep_cq_take(struct uep_cq *cq, struct rdma_ep_wc *wc, u32 max, u32 *nr)
{
	int n;

	*nr = min(max, cq->nr_buf);
	if (*nr) {
		memcpy(wc, &cq->buf[cq->first_buf], *nr * sizeof(*wc));
		uep_cq_consume(cq, *nr);
		return 1;
	}
	if (cq->dead)
		return -EIO;
	max = min_t(u32, max, UEP_POLL_BATCH);
	n = uep_cq_poll_hw(cq, wc, max, nr);
	return n < 0 ? n : n == max;
}

/*
 * Moves completions into the ring, with poll_lock; not more than the ring takes, as the user
 * and the device may continue at the same time. Returns 0, or an errno if there were none.
 *
 * The CQ is armed, and then polled until it is empty. The answer to
 * IB_CQ_REPORT_MISSED_EVENTS is not reliable: a driver may read its count without the lock
 * under which it adds and reports completions. A poll takes that lock, so the driver reports
 * each completion that the poll does not find.
 */
static int uep_cq_fill(struct uep_cq *cq)
{
	struct rdma_ep_wc *wc;
	u32 room, nr, filled;
	bool armed = false;
	int ret;

	for (filled = 0; filled < RDMA_EP_RING_ENTRIES; filled += nr) {
		wc = uep_ring_next(&cq->ring, &room);
		if (!room)
			return 0;
		armed = armed || uep_cq_arm(cq);
		ret = uep_cq_take(cq, wc, room, &nr);
		uep_ring_add(&cq->ring, nr);
		if (ret < 0)
			return filled ? 0 : ret;
		if (ret)
			continue;
		if (armed) {
			cmpxchg(&cq->ring.shared->pending, UEP_RING_ARMING, 0);
			uep_recv_ring_cq_empty(cq);
		}
		return 0;
	}
	return 0;
}

/*
 * Makes room for @more completions behind the held ones, or for as many as there is memory,
 * and returns that. Not more at a time than are held: their memory is charged with the CQ, but
 * few CQs ever hold as many as they may.
 */
static u32 uep_cq_extend_buf(struct uep_cq *cq, u32 more)
{
	u32 want = cq->nr_buf + more, size = max(want, 2 * cq->nr_buf);
	struct rdma_ep_wc *buf = NULL;

	if (cq->first_buf + want <= cq->max_buf)
		return more;
	if (want > cq->max_buf) {
		size = min_t(u32, size, cq->hw->cq.cqe);
		buf = kvmalloc_array(size, sizeof(*buf), GFP_KERNEL_ACCOUNT);
	}
	if (cq->nr_buf)
		memmove(buf ?: cq->buf, cq->buf + cq->first_buf, cq->nr_buf * sizeof(*buf));
	cq->first_buf = 0;
	if (buf) {
		kvfree(cq->buf);
		cq->buf = buf;
		cq->max_buf = size;
	}
	return min(more, cq->max_buf - cq->nr_buf);
}

/*
 * Polls the device, up to one batch, if no completion is held; with poll_lock. Returns 1 if
 * there may be more than are held then, 0 if not, or an errno.
 */
static int uep_cq_poll(struct uep_cq *cq, u32 max)
{
	int n;

	if (cq->nr_buf)
		return 1;
	if (cq->dead)
		return -EIO;
	max = uep_cq_extend_buf(cq, min3(max, (u32)UEP_POLL_BATCH, cq->hw->cq.cqe));
	if (!max)
		return -ENOMEM;
	n = uep_cq_poll_held(cq, max);
	return n < 0 ? n : n == max;
}

/* Frees the memory of held completions when no completion is held; with poll_lock. */
void uep_cq_free_buf(struct uep_cq *cq)
{
	kvfree(cq->buf);
	cq->buf = NULL;
	cq->max_buf = 0;
	cq->first_buf = 0;
	cq->nr_buf = 0;
}

/*
 * Takes completions from the device, as many as the CQ has entries, while their queues can
 * still be found: a QP is destroyed or reset next, or its slots are needed. Returns whether none is
 * left on the device. With poll_lock
 */
bool uep_cq_drain_locked(struct uep_cq *cq)
{
	u32 max;
	int n;

	if (cq->ring.shared)
		uep_cq_fill(cq);
	while (!cq->dead) {
		if (cq->nr_buf >= cq->hw->cq.cqe)
			return false;
		max = min_t(u32, cq->hw->cq.cqe - cq->nr_buf, UEP_POLL_BATCH);
		max = uep_cq_extend_buf(cq, max);
		if (!max)
			return false;
		n = uep_cq_poll_held(cq, max);
		if (n < (int)max)
			return n >= 0;
	}
	return true;
}

/* Takes completions from the device, and returns the number of unread ones. With poll_lock */
u32 uep_cq_count(struct uep_cq *cq)
{
	uep_cq_drain_locked(cq);
	return cq->nr_buf +
	       (cq->ring.shared ? RDMA_EP_RING_ENTRIES - uep_ring_room(&cq->ring) : 0);
}

bool uep_cq_drain(struct uep_cq *cq)
{
	bool empty;

	mutex_lock(&cq->hw->poll_lock);
	empty = uep_cq_drain_locked(cq);
	mutex_unlock(&cq->hw->poll_lock);
	return empty;
}

/* Arms the CQ and takes its completions. False: the device will not report the next one. */
static bool uep_cq_drain_armed(struct uep_cq *cq)
{
	bool ok;

	mutex_lock(&cq->hw->poll_lock);
	/* Then the device reports unsolicited completions, but the user wants no event of them. */
	ok = !cq->dead && !cq->solicited;
	if (ok && !READ_ONCE(cq->hw->armed)) {
		cq->hw->any_requested = true;
		WRITE_ONCE(cq->hw->armed, true);
		ok = !ib_req_notify_cq(cq->hw->cq.ibcq, IB_CQ_NEXT_COMP);
	}
	uep_cq_drain_locked(cq);
	mutex_unlock(&cq->hw->poll_lock);
	return ok;
}

/*
 * Waits until another task has polled the completion of the request, until the device has reported
 * a completion, which it may have done before, or until @end. An errno after a fatal signal
 */
static long uep_cq_await(struct uep_cq_hw *hw, struct uep_wq *wq, u64 cookie, ktime_t end)
{
	return ___wait_var_event(&hw->armed,
				 !uep_wq_is_posted(wq, cookie) || !READ_ONCE(hw->armed) ||
				 !ktime_before(ktime_get(), end),
				 TASK_KILLABLE, 0, 0L,
				 schedule_hrtimeout(&end, HRTIMER_MODE_ABS));
}

/*
 * Takes completions until the request has completed, until @end, and not after a fatal signal.
 * Returns whether it has completed.
 */
bool uep_cq_wait(struct uep_cq *cq, struct uep_wq *wq, u64 cookie, ktime_t end)
{
	bool ok, posted;

	atomic_inc(&cq->hw->waiters);
	do {
		ok = uep_cq_drain_armed(cq) && ktime_before(ktime_get(), end) &&
		     !fatal_signal_pending(current);
		posted = uep_wq_is_posted(wq, cookie);
	} while (ok && posted && !uep_cq_await(cq->hw, wq, cookie, end));
	atomic_dec(&cq->hw->waiters);
	return !posted;
}

/* See uep_cq_reap(). */
void uep_cq_try_fill(struct uep_cq *cq)
{
	if (!mutex_trylock(&cq->hw->poll_lock))
		return;
	uep_cq_fill(cq);
	mutex_unlock(&cq->hw->poll_lock);
}

/* Takes the hints of this CPU. Returns how many are of other CQs of the QP's session. */
static u32 uep_cq_take_hints(const struct uep_qp *qp, u32 *handles)
{
	const struct uep_cq_hint *hint;
	struct uep_cq_hints *h;
	unsigned long flags;
	u32 i, nr = 0;

	local_irq_save(flags);
	h = this_cpu_ptr(&uep_cq_hints);
	for (i = h->nr - min(h->nr - h->nr_taken, (u32)UEP_CQ_HINTS); i != h->nr; i++) {
		hint = &h->hint[i % UEP_CQ_HINTS];
		if (hint->session == qp->obj.session && hint->handle != qp->send_cq->obj.handle)
			handles[nr++] = hint->handle;
	}
	h->nr_taken = h->nr;
	local_irq_restore(flags);
	return nr;
}

/*
 * The caller has posted to @qp. Fills the rings of other CQs of the session that have completed
 * something on this CPU: a server with many connections polls the CQ of each before it posts again.
 */
void uep_cq_reap_others(const struct uep_qp *qp)
{
	u32 handles[UEP_CQ_HINTS] __uninitialized;
	struct uep_cq *cq;
	u32 nr;

	if (this_cpu_read(uep_cq_hints.nr) == this_cpu_read(uep_cq_hints.nr_taken))
		return;
	for (nr = uep_cq_take_hints(qp, handles); nr; nr--) {
		cq = uep_obj_lookup(qp->obj.session, handles[nr - 1], RDMA_EP_OBJ_CQ);
		if (!cq)
			continue;
		uep_cq_reap(cq);
		uep_obj_put(&cq->obj);
	}
}

/*
 * Writes up to one batch of the held completions, and their number with those before: each
 * stays until both are written. With poll_lock, so no page is faulted in: a fault takes as
 * long as the user likes. Returns how many could not be written.
 */
static u32 uep_cq_deliver(struct uep_cmd *cmd, struct uep_cq *cq)
{
	struct rdma_ep_cmd_poll_cq __user *uarg = cmd->uarg;
	struct rdma_ep_cmd_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc __user *uwc = u64_to_user_ptr(arg->wcs);
	u32 nr = min3(cq->nr_buf, arg->max - arg->num, (u32)UEP_POLL_BATCH);
	u32 num = arg->num + nr;

	if (!nr)
		return 0;
	if (copy_to_user_nofault(uwc + arg->num, &cq->buf[cq->first_buf], nr * sizeof(*uwc)) ||
	    copy_to_user_nofault(&uarg->num, &num, sizeof(num)))
		return nr;
	uep_cq_consume(cq, nr);
	arg->num = num;
	return 0;
}

/* Faults in the memory that uep_cq_deliver() has failed to write. */
static int uep_cq_fault_in(struct uep_cmd *cmd, u32 nr)
{
	struct rdma_ep_cmd_poll_cq __user *uarg = cmd->uarg;
	struct rdma_ep_cmd_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc __user *uwc = u64_to_user_ptr(arg->wcs);

	if (fault_in_subpage_writeable((char __user *)(uwc + arg->num), nr * sizeof(*uwc)))
		return -EFAULT;
	return put_user(arg->num, &uarg->num);
}

int uep_poll_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_poll_cq __user *uarg = cmd->uarg;
	struct rdma_ep_cmd_poll_cq *arg = cmd->arg;
	struct uep_cq *cq;
	int ret, more;
	u32 faulty;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	arg->num = 0;
	ret = put_user(arg->num, &uarg->num);
	if (!ret && cq->ring.shared) {
		mutex_lock(&cq->hw->poll_lock);
		ret = arg->max || arg->wcs ? -EINVAL : uep_cq_fill(cq);
		mutex_unlock(&cq->hw->poll_lock);
	}
	while (!ret && arg->num < arg->max) {
		mutex_lock(&cq->hw->poll_lock);
		more = uep_cq_poll(cq, arg->max - arg->num);
		faulty = uep_cq_deliver(cmd, cq);
		mutex_unlock(&cq->hw->poll_lock);
		if (faulty)
			ret = uep_cq_fault_in(cmd, faulty);
		else if (more <= 0)
			ret = more;
		/* A user who gets fewer than wanted takes the CQ as empty. */
		if ((!faulty && !more) || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	ret = uep_obj_done(&cq->obj, ret);
	/* Delivered completions cannot be taken back. */
	return ret < 0 && !arg->num ? ret : 0;
}
