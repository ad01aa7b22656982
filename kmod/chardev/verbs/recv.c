// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting receives.
 */
#include <linux/sched/signal.h>

#include "post.h"
#include "../trace.h"

struct uep_recv_batch {
	u32 nr;
	struct ib_recv_wr wr[UEP_POST_BATCH];
	u64 wr_id[UEP_POST_BATCH];
};

/* Where receives go: a QP's own queue, or a shared one. */
struct uep_recv_queue {
	struct uep_pd *pd;
	struct uep_wq *wq;
	struct uep_qp *qp;
	struct uep_srq *srq;
	u32 max_sge;
};

static int uep_recv_add(struct uep_recv_queue *q, struct uep_post_buf *buf,
			struct uep_recv_batch *b)
{
	struct ib_recv_wr *wr = &b->wr[b->nr];
	const struct rdma_ep_recv_wr *u;
	struct ib_sge *sge;
	u64 total;
	int n;

	u = uep_post_next(buf, sizeof(*u));
	if (!u || u->reserved || u->num_sge > q->max_sge)
		return -EINVAL;
	sge = uep_post_next(buf, (u64)u->num_sge * sizeof(*sge));
	if (!sge)
		return -EINVAL;
	n = uep_post_sges(q->pd, sge, u->num_sge, true, &total);
	if (n < 0)
		return n;
	if (total > q->pd->obj.dev->max_recv_sz)
		return -EINVAL;
	b->wr_id[b->nr] = u->wr_id;
	wr->sg_list = sge;
	wr->num_sge = n;
	return 0;
}

static int uep_recv_post_hw(struct uep_recv_queue *q, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad)
{
	if (q->srq)
		return ib_post_srq_recv(q->srq->srq.ibsrq, wr, bad);
	return ib_post_recv(q->qp->qp.ibqp, wr, bad);
}

/* As uep_send_post(). */
static u32 uep_recv_post(struct uep_recv_queue *q, struct uep_recv_batch *b, u32 first, int *err)
{
	const struct ib_recv_wr *bad = NULL;
	u32 i, n = first, good;

	*err = 0;
	spin_lock(&q->wq->lock);
	if (q->wq->dead)
		*err = -EIO;
	else if (q->qp && READ_ONCE(q->qp->qp.state) < IB_QPS_INIT)
		*err = -EINVAL;
	while (!*err && n < b->nr) {
		if (!uep_wq_push(q->wq, b->wr_id[n], true, false, &b->wr[n].wr_id)) {
			*err = -ENOMEM;
			break;
		}
		if (n > first)
			b->wr[n - 1].next = &b->wr[n];
		b->wr[n].next = NULL;
		n++;
	}
	good = n;
	if (n > first) {
		int ret = uep_recv_post_hw(q, &b->wr[first], &bad);

		if (ret) {
			*err = ret;
			for (good = first; good < n; good++)
				if (&b->wr[good] == bad)
					break;
		}
		for (i = n; i > good; i--)
			uep_wq_pop(q->wq, b->wr[i - 1].wr_id);
		for (i = first; i < good; i++)
			uep_wq_count(q->wq, b->wr[i].sg_list, b->wr[i].num_sge);
	}
	spin_unlock(&q->wq->lock);
	return good - first;
}

/*
 * Of what has been received from an SRQ the completions are in the CQs of its QPs, and
 * have slots until they are taken. Each CQ, as long as there is no free one.
 */
static void uep_srq_drain(struct uep_srq *srq)
{
	struct uep_session *s = srq->obj.session;
	const struct uep_cq *last = NULL;
	struct uep_qp *qp;
	unsigned long key;

	if (srq->cq) {
		uep_cq_drain(srq->cq);
		return;
	}
	rcu_read_lock();
	xa_for_each(&s->qps, key, qp) {
		if (qp->srq != srq || qp->recv_cq == last || !kref_get_unless_zero(&qp->obj.ref))
			continue;
		rcu_read_unlock();
		last = qp->recv_cq;
		uep_cq_drain(qp->recv_cq);
		uep_obj_put(&qp->obj);
		cond_resched();
		rcu_read_lock();
		if (READ_ONCE(srq->wq.order[0].used) < srq->wq.size ||
		    fatal_signal_pending(current))
			break;
	}
	rcu_read_unlock();
}

static u32 uep_recv_flush(struct uep_recv_queue *q, struct uep_recv_batch *b, int *err)
{
	u32 done;

	done = uep_recv_post(q, b, 0, err);
	if (*err == -ENOMEM) {
		if (q->qp)
			uep_cq_drain(q->qp->recv_cq);
		else
			uep_srq_drain(q->srq);
		done += uep_recv_post(q, b, done, err);
	}
	b->nr = 0;
	return done;
}

static int uep_recv_all(struct uep_recv_queue *q, struct rdma_ep_post *arg,
			struct uep_post_buf *buf)
{
	struct uep_recv_batch b __uninitialized;
	int ret, err;
	u32 left;

	if (READ_ONCE(q->wq->dead))
		return -EIO;
	ret = uep_wq_prepare(q->wq);
	b.nr = 0;
	for (left = arg->num; left && !ret; left--) {
		ret = uep_recv_add(q, buf, &b);
		if (!ret && ++b.nr == UEP_POST_BATCH)
			arg->posted += uep_recv_flush(q, &b, &ret);
	}
	if (b.nr) {
		arg->posted += uep_recv_flush(q, &b, &err);
		if (err)
			ret = err;
	}
	return ret;
}

static int uep_recv_qp(struct uep_obj *obj, struct rdma_ep_post *arg, struct uep_post_buf *buf)
{
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);
	struct uep_recv_queue q = {
		.pd = qp->pd,
		.wq = &qp->rq,
		.qp = qp,
		.max_sge = qp->qp.cap.max_recv_sge,
	};
	int ret;

	/* With an SRQ, receives are posted there. XRC knows nothing else. */
	if (qp->srq || qp->xrcd || qp->qp.type == IB_QPT_XRC_INI)
		return -EINVAL;
	ret = uep_recv_all(&q, arg, buf);
	if (trace_rdma_ep_post_enabled())
		uep_post_trace(obj, arg, buf, false, ret);
	uep_qp_harvest(qp);
	return ret;
}

static int uep_recv_srq(struct uep_obj *obj, struct rdma_ep_post *arg, struct uep_post_buf *buf)
{
	struct uep_srq *srq = container_of(obj, struct uep_srq, obj);
	struct uep_recv_queue q = {
		.pd = srq->pd,
		.wq = &srq->wq,
		.srq = srq,
		.max_sge = srq->max_sge,
	};
	int ret = uep_recv_all(&q, arg, buf);

	if (trace_rdma_ep_post_enabled())
		uep_post_trace(obj, arg, buf, false, ret);
	return ret;
}

int uep_post_recv(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_QP, uep_recv_qp);
}

int uep_post_srq_recv(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_SRQ, uep_recv_srq);
}
