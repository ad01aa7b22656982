// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests for events of completions.
 */
#include <linux/wait_bit.h>

#include "verbs.h"

/* How long a device may take for a completion */
#define UEP_DISARM_TIME		(HZ / 2)

/* A QP that is in no list has this handler. */
static void uep_cq_no_event(struct ib_event *event, void *context)
{
}

/* Causes one completion, which resolves to no work request: of a QP that is made to fail. */
static void uep_cq_complete_once(struct uep_cq_hw *hw, struct ib_pd *pd)
{
	struct ib_cq *ibcq = hw->cq.ibcq;
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
	const struct ib_recv_wr wr = {}, *bad;
	struct ib_qp *qp;

	qp = ib_create_qp(pd, &init);
	if (IS_ERR(qp))
		return;
	/* RESET does not lead to ERR. */
	if (ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			 IB_QP_PORT | IB_QP_ACCESS_FLAGS))
		goto out;
	attr.qp_state = IB_QPS_ERR;
	if (ib_modify_qp(qp, &attr, IB_QP_STATE))
		goto out;
	atomic_inc(&hw->waiters);
	if (!ib_post_recv(qp, &wr, &bad))
		wait_var_event_timeout(&hw->armed, !READ_ONCE(hw->armed), UEP_DISARM_TIME);
	atomic_dec(&hw->waiters);
out:
	ib_destroy_qp(qp);
}

/*
 * Called before a request for events of solicited completions, with poll_lock. A driver with
 * EP_CAP_STICKY_NOTIFY reports any next completion if that was requested before, so one is
 * caused, unless the user has made that request. (The CQ is empty, or it would not be armed.)
 */
static void uep_cq_disarm(struct uep_cq *cq)
{
	struct ep_dev *dev = cq->obj.dev;
	struct ib_pd *pd;
	int srcu;

	if (!READ_ONCE(cq->hw->armed) || READ_ONCE(cq->notify) ||
	    (cq->ring.shared && READ_ONCE(cq->ring.shared->armed)) || ep_dev_enter(dev, &srcu))
		return;
	pd = ep_dev_has(dev->ibdev, EP_CAP_STICKY_NOTIFY) ?
	     ib_alloc_pd(dev->ibdev, 0) : NULL;
	if (!IS_ERR_OR_NULL(pd)) {
		uep_cq_complete_once(cq->hw, pd);
		ib_dealloc_pd(pd);
	}
	ep_dev_exit(dev, srcu);
}

int uep_notify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_notify_cq *arg = cmd->arg;
	bool solicited = arg->flags & RDMA_EP_NOTIFY_SOLICITED;
	struct uep_cq *cq;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_cq_lock(cmd->s, arg->cq);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	/* Only the device distinguishes solicited completions, so each event is requested there. */
	cq->solicited = solicited;
	if (solicited) {
		/* The request may replace one that "armed" stands for. */
		cq->hw->tainted = true;
		spin_lock_irq(&cq->hw->lock);
		if (cq->srq)
			uep_recv_ring_cq_busy(cq);
		spin_unlock_irq(&cq->hw->lock);
		uep_cq_disarm(cq);
		WRITE_ONCE(cq->auto_arm, false);
		uep_cq_set_pending(cq);
	} else {
		WRITE_ONCE(cq->hw->armed, true);
	}
	smp_store_mb(cq->notify, 1); /* before the handler is called */
	return uep_cq_unlock(cq, ib_req_notify_cq(cq->hw->cq.ibcq, solicited ? IB_CQ_SOLICITED :
						  IB_CQ_NEXT_COMP));
}
