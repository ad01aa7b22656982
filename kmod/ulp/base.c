// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may call, and how it waits.
 *
 * A call that is made in a callback would wait for the callback to return. Tasks in
 * callbacks are on a list, so that such calls are found out.
 */
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>

#include "ulp.h"

static LIST_HEAD(ulp_callbacks);
static DEFINE_SPINLOCK(ulp_callbacks_lock);

/* Any context. */
void ulp_callback_begin(struct ulp_callback *cb)
{
	unsigned long flags;

	cb->task = current;
	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_add(&cb->entry, &ulp_callbacks);
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
}

void ulp_callback_end(struct ulp_callback *cb)
{
	unsigned long flags;

	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_del(&cb->entry);
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
}

static bool ulp_in_callback(void)
{
	const struct ulp_callback *cb;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&ulp_callbacks_lock, flags);
	list_for_each_entry(cb, &ulp_callbacks, entry)
		found |= cb->task == current;
	spin_unlock_irqrestore(&ulp_callbacks_lock, flags);
	return found;
}

/*
 * Is this the work item that runs the completion handlers of one of the QP's CQs?
 * Freeing the CQ would wait for it. It may be any work item, which may have been
 * freed by now, so only its address is looked at.
 */
static bool ulp_in_completion(const struct rdma_ep *ep)
{
	const struct work_struct *work = current_work();

	return work && (work == READ_ONCE(ep->cq_work[0]) ||
			work == READ_ONCE(ep->cq_work[1]));
}

/* @ep: endpoint that the call is about, or NULL. @caller: who called */
int ulp_check_context(const struct rdma_ep *ep, unsigned long caller)
{
	if (likely(!in_interrupt() && !irqs_disabled() && !ulp_in_callback() &&
		   !(ep && ulp_in_completion(ep)))) {
		might_sleep();
		return 0;
	}
	WARN_ONCE(1, "%s: called by %pS in an RDMA callback or in an atomic context\n",
		  KBUILD_MODNAME, (void *)caller);
	return -EDEADLK;
}

/* Is the caller a kernel thread that is to stop? */
bool ulp_stopped(void)
{
	return (current->flags & PF_KTHREAD) && kthread_should_stop();
}

/* Why a wait ended without what it was for. */
int ulp_wait_error(long ret)
{
	return ret || ulp_stopped() ? -EINTR : -ETIMEDOUT;
}
