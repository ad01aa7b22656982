// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests for events of completions.
 *
 * A driver with EP_CAP_STICKY_NOTIFY reports any next completion if that was requested before a
 * request for solicited ones, and the kernel requests it for a ring. One completion more uses that
 * up before, of a QP that is made to fail. The user does not get it.
 *
 * It has an entry of its own (uep_cq_spare()), so the CQ does not overflow, whatever completes
 * meanwhile, if the user's completions fit into the user's entries. If they do not, or the CQ is
 * the largest one, the earlier request stays, and an event may follow any completion.
 *
 * The task waits without poll_lock, for which the rescue of regions waits. Only this clears
 * any_requested, as a late handler of Linux 6.1 would clear it for a newer request: a program that
 * alternates between both kinds of requests has one completion more for each solicited one.
 */
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>

#include "verbs.h"

/* How long a device may take for a completion, and the interval of the looks */
#define UEP_DISARM_TIME		(500 * NSEC_PER_MSEC)
#define UEP_DISARM_LOOK_TIME	(50 * NSEC_PER_USEC)

/* A QP that is in no list has this handler. */
static void uep_cq_no_event(struct ib_event *event, void *context)
{
}

/* A QP whose receives fail at once, or ERR_PTR */
static struct ib_qp *uep_cq_failed_qp(struct ib_cq *ibcq, struct ib_pd *pd)
{
	struct ib_qp_init_attr init = {
		.send_cq = ibcq,
		.recv_cq = ibcq,
		.event_handler = uep_cq_no_event,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct ib_qp *qp;
	int ret;

	qp = ib_create_qp(pd, &init);
	if (IS_ERR(qp))
		return qp;
	/* RESET does not lead to ERR. */
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_ERR;
	ret = ret ?: ib_modify_qp(qp, &attr, IB_QP_STATE);
	if (!ret)
		return qp;
	ib_destroy_qp(qp);
	return ERR_PTR(ret);
}

/* Returns whether an earlier request has to be used up, and the CQ has room for that. */
static bool uep_cq_begin_disarm(struct uep_cq *cq)
{
	struct uep_cq_hw *hw = cq->hw;

	guard(mutex)(&hw->poll_lock);
	if (cq->dead)
		return false;
	/* From here on the CQ is not armed for its ring, and is not used again. */
	cq->solicited = true;
	hw->tainted = true;
	WRITE_ONCE(cq->auto_arm, false);
	uep_cq_set_pending(cq);
	if (!hw->any_requested || hw->cq.cqe == hw->granted ||
	    !ep_dev_has(hw->cq.ibcq->device, EP_CAP_STICKY_NOTIFY))
		return false;
	/* The request is the user's own, and remains valid. */
	if (READ_ONCE(cq->notify) || (cq->ring.shared && READ_ONCE(cq->ring.shared->armed)))
		return false;
	hw->disarming = uep_cq_drain_locked(cq);
	return hw->disarming;
}

/* Takes completions. Returns whether that of the QP is still to come, or its report. */
static bool uep_cq_is_disarming(struct uep_cq *cq)
{
	struct uep_cq_hw *hw = cq->hw;

	guard(mutex)(&hw->poll_lock);
	/* The completion does not come before the user has polled. */
	if (cq->dead || !uep_cq_drain_locked(cq))
		return false;
	if (hw->disarming || READ_ONCE(hw->armed))
		return true;
	hw->any_requested = false;
	return false;
}

static void uep_cq_await_disarm(struct uep_cq *cq)
{
	ktime_t end = ktime_add_ns(ktime_get(), UEP_DISARM_TIME), look;

	while (uep_cq_is_disarming(cq) && ktime_before(ktime_get(), end) &&
	       !fatal_signal_pending(current)) {
		look = ns_to_ktime(UEP_DISARM_LOOK_TIME);
		set_current_state(TASK_KILLABLE);
		schedule_hrtimeout_range(&look, UEP_DISARM_LOOK_TIME, HRTIMER_MODE_REL);
	}
}

static void uep_cq_complete_once(struct uep_cq *cq, struct ib_pd *pd)
{
	const struct ib_recv_wr wr = { .wr_id = UEP_DISARM_ID }, *bad;
	struct ib_qp *qp = uep_cq_failed_qp(cq->hw->cq.ibcq, pd);

	if (IS_ERR(qp))
		return;
	if (!ib_post_recv(qp, &wr, &bad))
		uep_cq_await_disarm(cq);
	ib_destroy_qp(qp);
	/* It may have completed late. */
	uep_cq_drain(cq);
}

/* Called before a request for events of solicited completions, with notify_lock. */
static void uep_cq_disarm(struct uep_cq *cq)
{
	struct ep_dev *dev = cq->obj.dev;
	struct ib_pd *pd;
	int srcu;

	if (!uep_cq_begin_disarm(cq) || ep_dev_enter(dev, &srcu))
		return;
	pd = ib_alloc_pd(dev->ibdev, 0);
	if (!IS_ERR(pd)) {
		uep_cq_complete_once(cq, pd);
		ib_dealloc_pd(pd);
	}
	ep_dev_exit(dev, srcu);
}

/*
 * Called with poll_lock. Only the device distinguishes solicited completions, so each event is
 * requested there.
 */
static int uep_cq_request(struct uep_cq *cq, bool solicited)
{
	struct uep_cq_hw *hw = cq->hw;

	if (cq->dead)
		return -EIO;
	cq->solicited = solicited;
	if (solicited) {
		/* The request may replace one that "armed" stands for. */
		spin_lock_irq(&hw->lock);
		if (cq->srq)
			uep_recv_ring_cq_busy(cq);
		/* The handler that has stored armed has finished: it does not use the request. */
		spin_unlock_irq(&hw->lock);
	} else {
		hw->any_requested = true;
		WRITE_ONCE(hw->armed, true);
	}
	smp_store_mb(cq->notify, 1); /* before the handler is called */
	return ib_req_notify_cq(hw->cq.ibcq, solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
}

int uep_notify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_notify_cq *arg = cmd->arg;
	bool solicited = arg->flags & RDMA_EP_NOTIFY_SOLICITED;
	struct uep_cq *cq;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	ret = mutex_lock_killable(&cq->hw->notify_lock);
	if (ret)
		return uep_obj_done(&cq->obj, ret);
	if (solicited)
		uep_cq_disarm(cq);
	scoped_guard(mutex, &cq->hw->poll_lock)
		ret = uep_cq_request(cq, solicited);
	mutex_unlock(&cq->hw->notify_lock);
	return uep_obj_done(&cq->obj, ret);
}
