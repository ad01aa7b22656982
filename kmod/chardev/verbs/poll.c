// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions: from the device to the user, on request or into the ring that is
 * shared with him.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <rdma/opa_addr.h>

#include "../../compat.h"
#include "../trace.h"
#include "verbs.h"

/* Completions that were taken from the device before the user could have them. */
struct uep_wc_chunk {
	struct list_head entry;
	u32 pos;
	u32 nr;
	struct rdma_ep_wc wc[UEP_POLL_BATCH];
};

void uep_cq_drop_held(struct uep_cq *cq)
{
	struct uep_wc_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &cq->held, entry)
		kfree(chunk);
}

static void uep_cq_set_pending(struct uep_cq *cq)
{
	if (cq->ring.shared)
		WRITE_ONCE(cq->ring.shared->pending, UEP_RING_PENDING);
}

/*
 * Has the user asked for this event? If the CQ is armed by itself he does so in the
 * ring. The barrier pairs with the user's, between asking and looking whether
 * anything is pending.
 */
static bool uep_cq_asked(struct uep_cq *cq)
{
	struct rdma_ep_cq_ring *ring = cq->ring.shared;

	bool asked = xchg(&cq->asked, 0);

	/* Either way is answered by the same event. */
	smp_mb(); /* pending before armed, as the user armed before pending */
	if (ring && READ_ONCE(ring->armed) && xchg(&ring->armed, 0))
		asked = true;
	return asked;
}

/* The device says so; hw->lock is held. Any context. */
void uep_cq_completed(struct uep_cq *cq)
{
	uep_cq_set_pending(cq);
	if (uep_cq_asked(cq) && cq->chan)
		uep_node_post(cq->chan, &cq->comp, 0);
}

/*
 * The device goes away: nothing will complete any more, and who waits for it is to
 * find out. hw->poll_lock and hw->lock are held.
 */
void uep_cq_lost(struct uep_cq *cq)
{
	cq->dead = true;
	uep_cq_set_pending(cq);
	if (cq->chan)
		uep_node_post(cq->chan, &cq->comp, 0);
}

/* The ABI's flags, which are those of libibverbs. */
enum {
	UEP_WC_GRH = 1 << 0,
	UEP_WC_WITH_IMM = 1 << 1,
	UEP_WC_IP_CSUM_OK = 1 << 2,
	UEP_WC_WITH_INV = 1 << 3,
};

static u32 uep_wc_flags(int flags)
{
	/* The kernel has the last two the other way round. */
	return (flags & IB_WC_GRH ? UEP_WC_GRH : 0) |
	       (flags & IB_WC_WITH_IMM ? UEP_WC_WITH_IMM : 0) |
	       (flags & IB_WC_IP_CSUM_OK ? UEP_WC_IP_CSUM_OK : 0) |
	       (flags & IB_WC_WITH_INVALIDATE ? UEP_WC_WITH_INV : 0);
}

/* Returns false for a completion that belongs to nobody any more. */
static bool uep_wc_to_user(struct uep_cq *cq, struct rdma_ep_wc *dst, const struct ib_wc *src)
{
	const struct uep_qp *qp;

	memset(dst, 0, sizeof(*dst));
	if (!uep_wq_complete(cq->obj.session, src->wr_id, src->qp, &dst->wr_id, &dst->qp_num))
		return false;
	if (!dst->qp_num) {
		qp = xa_load(&cq->qps, (unsigned long)src->qp);
		dst->qp_num = qp ? qp->qp.qp_num : 0;
	}
	dst->status = src->status;
	dst->opcode = src->opcode;
	dst->vendor_err = src->vendor_err;
	dst->byte_len = src->byte_len;
	dst->imm_data = (__force u32)src->ex.imm_data;
	dst->src_qp = src->src_qp;
	dst->wc_flags = uep_wc_flags(src->wc_flags);
	dst->pkey_index = src->pkey_index;
	dst->slid = ib_lid_cpu16(src->slid);
	dst->sl = src->sl;
	dst->dlid_path_bits = src->dlid_path_bits;
	return true;
}

static void uep_cq_trace_errors(const struct uep_cq *cq, const struct rdma_ep_wc *wc, u32 nr)
{
	for (; nr--; wc++)
		if (wc->status != IB_WC_SUCCESS)
			trace_rdma_ep_wc_error(cq, wc);
}

/*
 * Takes up to @max completions, at most a batch, from the device;
 * cq->hw->poll_lock is held. Returns how many the device had, or its error; *@nr of
 * them are for the user.
 */
static int uep_cq_poll_hw(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc, u32 *nr)
{
	struct ib_wc *ibwc = cq->hw->wc;
	int n, i;

	*nr = 0;
	n = ib_poll_cq(cq->hw->cq.ibcq, max, ibwc);
	if (n > 0) {
		rcu_read_lock();
		for (i = 0; i < n; i++)
			if (uep_wc_to_user(cq, &wc[*nr], &ibwc[i]))
				(*nr)++;
		rcu_read_unlock();
		cq->nr_polled += *nr;
		WRITE_ONCE(cq->polled_at, jiffies);
	}
	trace_rdma_ep_poll(cq, *nr, n);
	if (trace_rdma_ep_wc_error_enabled())
		uep_cq_trace_errors(cq, wc, *nr);
	/* Drivers may have begun with one that they do not report. */
	memset(ibwc, 0, (n < 0 ? max : min_t(u32, n + 1, max)) * sizeof(*ibwc));
	return n;
}

/* A chunk with room at the end of the held ones, or NULL. */
static struct uep_wc_chunk *uep_cq_last_chunk(struct uep_cq *cq)
{
	struct uep_wc_chunk *chunk;

	if (!list_empty(&cq->held)) {
		chunk = list_last_entry(&cq->held, struct uep_wc_chunk, entry);
		if (chunk->nr < UEP_POLL_BATCH)
			return chunk;
	}
	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT);
	if (chunk)
		list_add_tail(&chunk->entry, &cq->held);
	return chunk;
}

/*
 * They could not be delivered: keep them for the next call, which takes these first. So
 * there is never more than one batch of each polling task.
 */
static void uep_cq_hold(struct uep_cq *cq, const struct rdma_ep_wc *wc, u32 nr)
{
	struct uep_wc_chunk *chunk;

	chunk = kmalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	chunk->pos = 0;
	chunk->nr = nr;
	memcpy(chunk->wc, wc, nr * sizeof(*wc));
	mutex_lock(&cq->hw->poll_lock);
	list_add(&chunk->entry, &cq->held);
	cq->nr_held += nr;
	mutex_unlock(&cq->hw->poll_lock);
}

static u32 uep_cq_poll_held(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc)
{
	struct uep_wc_chunk *chunk;
	u32 nr;

	chunk = list_first_entry(&cq->held, struct uep_wc_chunk, entry);
	nr = min(max, chunk->nr - chunk->pos);
	memcpy(wc, &chunk->wc[chunk->pos], nr * sizeof(*wc));
	chunk->pos += nr;
	cq->nr_held -= nr;
	if (chunk->pos == chunk->nr) {
		list_del(&chunk->entry);
		kfree(chunk);
	}
	return nr;
}

/*
 * Up to one batch; cq->hw->poll_lock is held. Returns 1 if there may be more, 0 if
 * not, or an errno.
 */
static int uep_cq_poll(struct uep_cq *cq, u32 max, struct rdma_ep_wc *wc, u32 *nr)
{
	int ret;

	max = min_t(u32, max, UEP_POLL_BATCH);
	*nr = 0;
	if (!list_empty(&cq->held)) {
		*nr = uep_cq_poll_held(cq, max, wc);
		return 1;
	}
	if (cq->dead)
		return -EIO;
	ret = uep_cq_poll_hw(cq, max, wc, nr);
	return ret < 0 ? ret : ret == max;
}

/*
 * Has the device say when something completes; cq->hw->poll_lock is held. Until it
 * is certain that nothing has before, the user must think that there may be
 * something. Returns whether the device does.
 */
static bool uep_cq_arm_itself(struct uep_cq *cq)
{
	if (cq->manual ||
	    !ep_dev_has(cq->hw->cq.ibcq->device, EP_CAP_SOFTWARE))
		return false;
	WRITE_ONCE(cq->by_itself, true);
	WRITE_ONCE(cq->hw->armed, true);
	/* Before the handler is called. */
	smp_store_mb(cq->ring.shared->pending, UEP_RING_ARMING);
	return !ib_req_notify_cq(cq->hw->cq.ibcq, IB_CQ_NEXT_COMP);
}

/*
 * Puts what has completed into the ring, at most what one takes: others may be adding
 * and taking at the same time. cq->hw->poll_lock is held. Returns 0, or why nothing
 * could be put there.
 *
 * The CQ is looked at again after it has been armed. A driver's answer to
 * IB_CQ_REPORT_MISSED_EVENTS is not certain: it may read how much there is without the
 * lock under which its completions are added and notified. Polling takes that lock,
 * so what has not been found will be notified.
 */
static int uep_cq_fill(struct uep_cq *cq)
{
	struct rdma_ep_wc wc[UEP_POLL_BATCH] __uninitialized;
	u32 room, nr, filled = 0;
	bool armed = false;
	int ret;

	while (filled < RDMA_EP_RING_ENTRIES) {
		room = uep_ring_room(&cq->ring);
		if (!room)
			return 0;
		ret = uep_cq_poll(cq, room, wc, &nr);
		uep_ring_put(&cq->ring, wc, nr);
		filled += nr;
		if (ret < 0)
			return filled ? 0 : ret;
		if (ret)
			continue;
		if (armed) {
			cmpxchg(&cq->ring.shared->pending, UEP_RING_ARMING, 0);
			return 0;
		}
		armed = uep_cq_arm_itself(cq);
		if (!armed)
			return 0;
	}
	return 0;
}

/*
 * Takes what the device has, so that completions of a QP that is going away can
 * still be told apart. Bounded by the size of the CQ.
 */
void uep_cq_drain(struct uep_cq *cq)
{
	struct uep_wc_chunk *chunk;
	u32 want, nr;
	int n;

	mutex_lock(&cq->hw->poll_lock);
	if (cq->ring.shared)
		uep_cq_fill(cq);
	while (!cq->dead && cq->nr_held < cq->hw->cq.cqe) {
		chunk = uep_cq_last_chunk(cq);
		if (!chunk)
			break;
		want = UEP_POLL_BATCH - chunk->nr;
		n = uep_cq_poll_hw(cq, want, &chunk->wc[chunk->nr], &nr);
		chunk->nr += nr;
		cq->nr_held += nr;
		if (!chunk->nr) {
			list_del(&chunk->entry);
			kfree(chunk);
		}
		if (n < (int)want)
			break;
	}
	mutex_unlock(&cq->hw->poll_lock);
}

/*
 * Fills the ring in passing, if something has completed. Nothing is lost if
 * somebody else is at it.
 */
void uep_cq_harvest(struct uep_cq *cq)
{
	if (!READ_ONCE(cq->by_itself) || !READ_ONCE(cq->ring.shared->pending) ||
	    !mutex_trylock(&cq->hw->poll_lock))
		return;
	uep_cq_fill(cq);
	mutex_unlock(&cq->hw->poll_lock);
}

/* Who posts is going to poll. */
void uep_qp_harvest(struct uep_qp *qp)
{
	uep_cq_harvest(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		uep_cq_harvest(qp->recv_cq);
}

static int uep_cq_poll_ring(struct uep_cq *cq)
{
	int ret;

	mutex_lock(&cq->hw->poll_lock);
	ret = uep_cq_fill(cq);
	mutex_unlock(&cq->hw->poll_lock);
	return ret;
}

/*
 * The completions, and how many they are with those before. Written with no lock
 * held: a fault may take as long as the user likes.
 */
static int uep_cq_deliver(struct uep_cmd *cmd, const struct rdma_ep_wc *wc, u32 nr)
{
	struct rdma_ep_poll_cq __user *uarg = cmd->uarg;
	struct rdma_ep_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc __user *uwc = u64_to_user_ptr(arg->wcs);

	if (nr && copy_to_user(uwc + arg->num, wc, nr * sizeof(*wc)))
		return -EFAULT;
	if (put_user(arg->num + nr, &uarg->num))
		return -EFAULT;
	arg->num += nr;
	return 0;
}

int uep_poll_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_poll_cq *arg = cmd->arg;
	struct rdma_ep_wc wc[UEP_POLL_BATCH] __uninitialized;
	struct uep_cq *cq;
	u32 nr = 0;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	arg->num = 0;
	ret = uep_cq_deliver(cmd, wc, 0);
	if (!ret && cq->ring.shared)
		ret = arg->max || arg->wcs ? -EINVAL : uep_cq_poll_ring(cq);
	while (ret >= 0 && arg->num < arg->max) {
		mutex_lock(&cq->hw->poll_lock);
		ret = uep_cq_poll(cq, arg->max - arg->num, wc, &nr);
		mutex_unlock(&cq->hw->poll_lock);
		if (nr && uep_cq_deliver(cmd, wc, nr)) {
			uep_cq_hold(cq, wc, nr);
			ret = -EFAULT;
		}
		/* Fewer than asked for means to the user that it is empty. */
		if (ret <= 0 || fatal_signal_pending(current))
			break;
		ret = 0;
		cond_resched();
	}
	ret = uep_obj_done(&cq->obj, ret);
	/* What has been delivered can not be taken back. */
	return ret < 0 && !arg->num ? ret : 0;
}

/* How long a device may take for a completion */
#define UEP_DISARM_TIME		(HZ / 2)

/* Of a QP that is in no list. */
static void uep_cq_no_event(struct ib_event *event, void *context)
{
}

/* One completion, of a QP that is made for it and has failed. No work request stands behind it. */
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
	/* There is no way from RESET. */
	if (ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			 IB_QP_PORT | IB_QP_ACCESS_FLAGS))
		goto out;
	attr.qp_state = IB_QPS_ERR;
	if (ib_modify_qp(qp, &attr, IB_QP_STATE))
		goto out;
	WRITE_ONCE(hw->disarming, true);
	if (!ib_post_recv(qp, &wr, &bad))
		wait_var_event_timeout(&hw->armed, !READ_ONCE(hw->armed), UEP_DISARM_TIME);
	WRITE_ONCE(hw->disarming, false);
out:
	ib_destroy_qp(qp);
}

/*
 * A driver with EP_CAP_STICKY_NOTIFY notifies of the next completion, also after a later
 * request for solicited completions only. So a completion comes, unless the user has
 * asked for it: another CQ object may have used the hardware CQ before. (It is empty, or it
 * would have notified.) hw->poll_lock is held.
 */
static void uep_cq_disarm(struct uep_cq *cq)
{
	struct ep_dev *dev = cq->obj.dev;
	struct ib_pd *pd;
	int srcu;

	if (!READ_ONCE(cq->hw->armed) || READ_ONCE(cq->asked) ||
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

/*
 * Only the device knows which completions are solicited, so who wants to hear of
 * those alone has to ask it each time.
 */
static int uep_cq_ask(struct uep_cq *cq, bool solicited)
{
	cq->manual = solicited;
	if (solicited) {
		uep_cq_disarm(cq);
		WRITE_ONCE(cq->by_itself, false);
		uep_cq_set_pending(cq);
	} else {
		WRITE_ONCE(cq->hw->armed, true);
	}
	smp_store_mb(cq->asked, 1); /* before the handler is called */
	return ib_req_notify_cq(cq->hw->cq.ibcq, solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
}

int uep_notify_cq(struct uep_cmd *cmd)
{
	struct rdma_ep_notify_cq *arg = cmd->arg;
	struct uep_cq *cq;
	int ret = -EIO;

	if (arg->reserved)
		return -EINVAL;
	cq = uep_obj_lookup(cmd->s, arg->cq, RDMA_EP_OBJ_CQ);
	if (!cq)
		return -ENOENT;
	mutex_lock(&cq->hw->poll_lock);
	if (!cq->dead)
		ret = uep_cq_ask(cq, arg->flags & RDMA_EP_NOTIFY_SOLICITED);
	mutex_unlock(&cq->hw->poll_lock);
	return uep_obj_done(&cq->obj, ret);
}
