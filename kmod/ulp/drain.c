// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completions of a QP before its end.
 */
#include "ulp.h"

#define ULP_LAST_WQE_TIME	HZ

struct ulp_drain {
	struct ib_cqe cqe;
	struct completion done;
};

static void ulp_drained(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct ulp_drain, cqe)->done);
}

/*
 * ib_drain_sq() posts an RDMA WRITE, which an unconnected QP cannot do. The QP is in
 * ERR, so this is not sent either.
 */
static void ulp_drain_ud(struct ulp_qp *qp)
{
	struct ulp_drain drain = { .cqe.done = ulp_drained };
	struct ib_ud_wr wr = {
		.wr.wr_cqe = &drain.cqe,
		.wr.opcode = IB_WR_SEND,
		.wr.send_flags = IB_SEND_SIGNALED,
		.ah = qp->drain_ah,
	};

	init_completion(&drain.done);
	/* A device that has failed takes nothing, and completes nothing in order. */
	if (ib_post_send(qp->qp.ibqp, &wr.wr, NULL))
		return;
	if (qp->send_cq->poll_ctx != IB_POLL_DIRECT)
		wait_for_completion(&drain.done);
	else
		while (!wait_for_completion_timeout(&drain.done, HZ / 10))
			ib_process_cq_direct(qp->send_cq, -1);
}

static void ulp_drain_sq(struct ulp_qp *qp)
{
	if (qp->qp.type == IB_QPT_UD)
		ulp_drain_ud(qp);
	else
		ib_drain_sq(qp->qp.ibqp);
}

/*
 * Receives from an SRQ: their handlers follow wc->qp, and may post answers. All posts before
 * have been waited for; now first for the receives meanwhile, and then for the answers.
 * Completions of receives are in front of the last one of the send queue, if both have one
 * CQ; else, if that runs its handlers in a work item, they have run when the item has ended.
 */
static void ulp_drain_shared(struct ulp_qp *qp)
{
	const struct ep_driver_ops *drv = qp->qp.res.dev->ops;

	ulp_drain_sq(qp);
	if (drv->stop_receiving)
		drv->stop_receiving(&qp->qp);
	/* Hardware reports its last receive. (Not all drivers do.) */
	if (!ep_dev_has(qp->qp.ibqp->device, EP_CAP_SOFTWARE))
		wait_for_completion_timeout(&qp->last_wqe, ULP_LAST_WQE_TIME);
	if (qp->recv_cq != qp->send_cq &&
	    (qp->recv_cq->poll_ctx == IB_POLL_WORKQUEUE ||
	     qp->recv_cq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)) {
		ulp_wait_cq_begin();
		flush_work(&qp->recv_cq->work);
		ulp_wait_cq_end();
	}
	ulp_drain_sq(qp);
	ulp_drain_sq(qp);
}

/*
 * On return all that has been posted has completed, and its handlers have run. Handlers still
 * look at ep->qp, so that their calls are refused.
 */
void ulp_drain_qp(struct rdma_ep *ep)
{
	struct ulp_qp *qp = ep->qp;
	struct ulp_callback cb;

	/* Handlers of a CQ of IB_POLL_DIRECT run here. Their calls would wait for this one. */
	ulp_callback_begin(&cb, NULL);
	ep_qp_error_wait(&qp->qp);
	if (qp->qp.cap.max_send_wr)
		ulp_drain_sq(qp);
	/* Not ib_drain_qp(): not every driver reports the last receive from an SRQ. */
	if (qp->qp.has_srq)
		ulp_drain_shared(qp);
	else if (qp->qp.cap.max_recv_wr)
		ib_drain_rq(qp->qp.ibqp);
	ulp_callback_end(&cb);
}
