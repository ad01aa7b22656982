// SPDX-License-Identifier: GPL-2.0-only
/*
 * QPs of the device that are nobody's and as good as new: see idle.c.
 */
#include <linux/slab.h>

#include "verbs.h"

static struct uep_cq_hw *uep_qp_hw_get_cq(struct uep_cq_hw *cq)
{
	kref_get(&cq->ref);
	atomic_inc(&cq->nr_idle_qps);
	return cq;
}

static void uep_qp_hw_drop_cq(struct uep_cq_hw *cq)
{
	atomic_dec(&cq->nr_idle_qps);
	uep_cq_hw_put(cq);
}

static void uep_qp_hw_free(struct kref *ref)
{
	struct uep_qp_hw *hw = container_of(ref, struct uep_qp_hw, ref);

	ep_res_fini(&hw->qp.res);
	uep_qp_hw_drop_cq(hw->recv_cq);
	uep_qp_hw_drop_cq(hw->send_cq);
	kfree(hw);
}

static void uep_qp_hw_put(struct uep_qp_hw *hw)
{
	kref_put(&hw->ref, uep_qp_hw_free);
}

static void uep_qp_hw_put_res(struct ep_res *res)
{
	struct ep_qp *qp = container_of(res, struct ep_qp, res);

	uep_qp_hw_put(container_of(qp, struct uep_qp_hw, qp));
}

static const struct ep_res_ops uep_qp_hw_res_ops = {
	.put = uep_qp_hw_put_res,
};

static void uep_qp_hw_end(struct uep_idle *idle)
{
	struct uep_qp_hw *hw = container_of(idle, struct uep_qp_hw, idle);

	ep_res_destroy(&hw->qp.res);
	uep_qp_hw_put(hw);
}

/* The QP that it is, or NULL. */
struct uep_qp_hw *uep_idle_qp(struct uep_idle *idle)
{
	return idle->end == uep_qp_hw_end ?
	       container_of(idle, struct uep_qp_hw, idle) : NULL;
}

/*
 * The user has destroyed it. Returns whether the device's is kept. Called as
 * ep_res_ops.keep.
 */
bool uep_qp_keep(struct uep_qp *qp)
{
	struct uep_qp_hw *hw;

	/*
	 * Of others the user may have told a peer himself, who may not have given up
	 * yet. A PD of the user's own would have to go before it. What has been
	 * posted may stay in the driver's queue.
	 */
	if (!qp->of_id || qp->pd != qp->ctx->default_pd || qp->sq.id ||
	    qp->rq.id || !uep_idle_room(qp->obj.session, qp->obj.queue_bytes))
		return false;
	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return false;
	kref_init(&hw->ref);
	hw->idle.end = uep_qp_hw_end;
	hw->pd = qp->pd;
	hw->wanted = qp->wanted;
	hw->send_cq = uep_qp_hw_get_cq(qp->send_cq->hw);
	hw->recv_cq = uep_qp_hw_get_cq(qp->recv_cq->hw);

	kref_get(&hw->ref);
	if (!ep_qp_keep(&qp->qp, &hw->qp, &uep_qp_hw_res_ops)) {
		uep_qp_hw_put(hw);
		uep_qp_hw_put(hw);
		return false;
	}
	/* It takes the charge with it. */
	if (uep_idle_add(&hw->idle, qp->obj.session, qp->obj.queue_bytes))
		qp->obj.queue_bytes = 0;
	else
		uep_qp_hw_end(&hw->idle);
	return true;
}

struct uep_qp_wish {
	const struct uep_qp *qp;
	const struct ib_qp_init_attr *attr;
};

static bool uep_qp_hw_suits(struct uep_idle *idle, const void *arg)
{
	const struct uep_qp_hw *hw = uep_idle_qp(idle);
	const struct uep_qp_wish *wish = arg;

	return hw && hw->pd == wish->qp->pd &&
	       hw->send_cq == wish->qp->send_cq->hw &&
	       hw->recv_cq == wish->qp->recv_cq->hw &&
	       hw->qp.type == wish->attr->qp_type &&
	       hw->qp.sq_sig_all ==
			(wish->attr->sq_sig_type == IB_SIGNAL_ALL_WR) &&
	       !memcmp(&hw->wanted, &wish->qp->wanted, sizeof(hw->wanted));
}

/*
 * Gives the new QP one that the session has had before. Returns 0, or -ENODEV if there
 * is none, or another errno. Called inside ep_dev_enter().
 */
int uep_qp_use_again(struct uep_qp *qp, const struct ib_qp_init_attr *attr)
{
	struct uep_qp_wish wish = { qp, attr };
	struct uep_idle *idle;
	struct uep_qp_hw *hw;
	int ret;

	if (!qp->of_id || attr->srq)
		return -ENODEV;
	idle = uep_idle_take(qp->obj.session, uep_qp_hw_suits, &wish);
	if (!idle)
		return -ENODEV;
	hw = uep_idle_qp(idle);
	ret = ep_qp_take(&qp->qp, &hw->qp, &uep_qp_res_ops, qp);
	if (ret)
		ep_res_destroy(&hw->qp.res);
	uep_qp_hw_put(hw);
	return ret;
}
