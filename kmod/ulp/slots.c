// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send slots: how many sends may still be posted to an endpoint's QP.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "ulp.h"

/* Completions that a task handles before it looks for other reasons to return */
#define ULP_POLL_BUDGET	16
/* Microseconds between two looks at a CQ at most, if a peer takes its time */
#define ULP_POLL_US	1000UL

static bool ulp_take_slots(struct rdma_ep *ep, unsigned int n)
{
	int left = atomic_read(&ep->slots);

	do {
		if (left < 0 || left < n)
			return false;
	} while (!atomic_try_cmpxchg(&ep->slots, &left, left - n));
	return true;
}

/**
 * rdma_ep_try_slots() - take send slots, if they are free
 * @ep: endpoint
 * @n: how many: the work requests that are posted next
 *
 * An endpoint has as many as its QP was granted send work requests (max_send_wr), without
 * those of rdma_rw contexts. Give them back with rdma_ep_put_slots() when the requests have
 * completed. If this fails, rdma_ep_qp_attr.slots_free is called when slots are given back.
 * It may be called once more than this has failed.
 *
 * Context: any
 *
 * Return: whether they were taken
 */
bool rdma_ep_try_slots(struct rdma_ep *ep, unsigned int n)
{
	if (IS_ERR_OR_NULL(ep))
		return false;
	if (ulp_take_slots(ep, n))
		return true;
	set_bit(ULP_EP_WANTS_SLOTS, &ep->flags);
	/* Some may have been put before the bit was set: see rdma_ep_put_slots(). */
	smp_mb__after_atomic();
	/* The bit stays, as it may be another caller's, too. */
	return ulp_take_slots(ep, n);
}
EXPORT_SYMBOL_GPL(rdma_ep_try_slots);

/*
 * Handles completions of sends. A task that drains or destroys the QP has its lock, and
 * handles them itself. Returns whether there were any.
 */
static bool ulp_poll_sends(struct rdma_ep *ep)
{
	struct ulp_callback cb;
	int done = 0;

	if (!mutex_trylock(&ep->lock))
		return false;
	/* The handlers' calls would wait for this one. */
	ulp_callback_begin(&cb, NULL);
	if (ep->qp)
		done = ib_process_cq_direct(ep->qp->send_cq, ULP_POLL_BUDGET);
	ulp_callback_end(&cb);
	mutex_unlock(&ep->lock);
	return done > 0;
}

/* With %IB_POLL_DIRECT no other task handles the completions that free slots. */
static int ulp_poll_slots(struct rdma_ep *ep, unsigned int n, long left)
{
	unsigned long end = jiffies + left, us = 1;
	int ret;

	for (;;) {
		ret = ulp_check_alive(ep) ?: READ_ONCE(ep->status);
		if (ret || ulp_take_slots(ep, n))
			return ret;
		if (fatal_signal_pending(current) || ulp_stopped())
			return -EINTR;
		if (ulp_poll_sends(ep))
			us = 1;
		if (ulp_take_slots(ep, n))
			return 0;
		if (left != MAX_SCHEDULE_TIMEOUT && time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		/* The device may be software that needs this CPU. */
		usleep_range(us, 2 * us);
		us = min(2 * us, ULP_POLL_US);
	}
}

/**
 * rdma_ep_wait_slots() - wait for send slots, and take them
 * @ep: endpoint with a QP
 * @n: how many
 * @timeout_ms: timeout
 *
 * See rdma_ep_try_slots(). Tasks that wait are not served in turn. If the QP's send CQ is of
 * %IB_POLL_DIRECT, its handlers run in the task that waits here; they make only calls that are
 * allowed in any context. A task that polls the CQ at the same time runs some of them.
 *
 * Return: 0, or
 * * -EINVAL: there are not so many, or no QP
 * * -ETIMEDOUT
 * * rdma_ep_status(): the endpoint is over
 */
int rdma_ep_wait_slots(struct rdma_ep *ep, unsigned int n, unsigned int timeout_ms)
{
	CLASS(ulp_call, call)(ep, _RET_IP_);
	long left = ulp_timeout(timeout_ms);
	int error = 0, ret;

	if (IS_ERR(call))
		return PTR_ERR(call);
	if (n > READ_ONCE(ep->max_slots))
		return -EINVAL;
	if (READ_ONCE(ep->poll_sends))
		return ulp_poll_slots(ep, n, left);
	ret = ulp_wait(ep->slots_wait,
		       (error = ulp_check_alive(ep) ?: READ_ONCE(ep->status)) ||
		       ulp_take_slots(ep, n), left);
	return ret ?: error;
}
EXPORT_SYMBOL_GPL(rdma_ep_wait_slots);

/**
 * rdma_ep_put_slots() - give send slots back
 * @ep: endpoint
 * @n: how many
 *
 * Context: any: a completion handler, as a rule. rdma_ep_qp_attr.slots_free is called in it
 */
void rdma_ep_put_slots(struct rdma_ep *ep, unsigned int n)
{
	void (*fn)(struct rdma_ep *ep);

	if (IS_ERR_OR_NULL(ep))
		return;
	/* Ordered before the bit and the queue are looked at. */
	atomic_add_return(n, &ep->slots);
	if (wq_has_sleeper(&ep->slots_wait))
		wake_up(&ep->slots_wait);
	fn = READ_ONCE(ep->slots_free);
	if (fn && test_and_clear_bit(ULP_EP_WANTS_SLOTS, &ep->flags))
		fn(ep);
}
EXPORT_SYMBOL_GPL(rdma_ep_put_slots);
