// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting work requests.
 *
 * Drivers trust kernel consumers: they do not check keys, addresses, opcodes and flags. So a list
 * is copied, and the copy is checked and posted. A driver gets only what the lists in batch.c and
 * send.c allow, and nothing that it would refuse half-way. Requests that it refuses nevertheless
 * are rolled back.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "../trace.h"
#include "post.h"

/*
 * Drains the CQs with completions of the SRQ, which have slots until they are polled: those of
 * its QPs, one by one until a slot is free.
 */
static void uep_srq_drain(struct uep_srq *srq)
{
	struct uep_session *s = srq->obj.session;
	const struct uep_cq *last = NULL;
	struct uep_qp *qp;
	unsigned long key;
	u32 n = 0;

	if (srq->cq) {
		uep_cq_drain(srq->cq);
		return;
	}
	rcu_read_lock();
	xa_for_each(&s->qps, key, qp) {
		if (qp->srq != srq || qp->recv_cq == last || !kref_get_unless_zero(&qp->obj.ref)) {
			if (!(++n % UEP_RCU_BATCH)) {
				rcu_read_unlock();
				cond_resched();
				rcu_read_lock();
			}
			continue;
		}
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

/* Empties the batch. */
static void uep_batch_drop(struct uep_post_queue *q, struct uep_post_batch *b)
{
	u32 i;

	if (q->send && q->qp->qp.type == IB_QPT_UD)
		for (i = 0; i < b->nr; i++)
			uep_ah_put(b->req[i].ah);
	uep_batch_init(b);
}

/* Frees the slots of requests that have completed. */
static void uep_post_drain(struct uep_post_queue *q)
{
	if (q->srq)
		uep_srq_drain(q->srq);
	else
		uep_cq_drain(q->send ? q->qp->send_cq : q->qp->recv_cq);
}

/* Does the latest request end a piece? READs are a peer's work. */
static bool uep_batch_ends_piece(struct uep_post_queue *q, const struct uep_post_batch *b)
{
	const struct uep_post_req *r = &b->req[b->nr - 1];

	if (likely(!q->piece) || r->wr.wr.opcode == IB_WR_RDMA_READ)
		return false;
	q->in_piece += r->bytes;
	return q->in_piece >= q->piece;
}

/* The batch ends a piece: waits for the piece before, and makes sure of a completion. */
static void uep_batch_pace(struct uep_post_queue *q, struct uep_post_batch *b)
{
	struct ib_send_wr *last = &b->req[b->nr - 1].wr.wr;

	q->in_piece = 0;
	if (!uep_pace_wait(q->qp)) {
		q->piece = 0;
		return;
	}
	if (!uep_is_signalled(q->qp, last)) {
		last->send_flags |= IB_SEND_SIGNALED;
		b->signal_last = true;
	}
	b->ends_piece = true;
}

static u32 uep_batch_flush(struct uep_post_queue *q, struct uep_post_batch *b, int *err)
{
	u32 done;

	if (unlikely(q->piece && q->in_piece >= q->piece))
		uep_batch_pace(q, b);
	done = uep_batch_post(q, b, 0, err);
	if (*err == -ENOMEM) {
		/* No free slot, but the device may have room. */
		uep_post_drain(q);
		done += uep_batch_post(q, b, done, err);
	}
	uep_batch_drop(q, b);
	return done;
}

/*
 * Called for a list that is posted completely or not at all. If it can make several batches all
 * sends are checked before the first is posted; a single batch is posted only when it is
 * complete. A list with several parts is copied again then, and each send is checked again.
 */
static int uep_post_check_all(struct uep_post_queue *q, u32 num, struct uep_post_buf *buf,
			      struct uep_post_batch *b)
{
	u32 left, max = q->qp->qp.cap.max_send_wr;
	int ret;

	/* Bounds the work for the checks. */
	if (num > max)
		return -ENOMEM;
	left = num > UEP_POST_BATCH || q->piece || uep_post_is_part(buf) ? num : 0;
	for (; left; left--) {
		ret = uep_post_is_cut(buf) ? uep_post_load(buf, buf->from + buf->pos) : 0;
		if (ret)
			return ret;
		ret = uep_send_add(q->qp, buf, b->req);
		if (b->req->ah)
			uep_ah_put(b->req->ah);
		if (ret)
			return ret;
	}
	buf->pos = 0;
	ret = buf->from ? uep_post_load(buf, 0) : 0;
	if (ret)
		return ret;
	if (uep_wq_has_room(q->wq, max, num))
		return 0;
	uep_post_drain(q);
	return uep_wq_has_room(q->wq, max, num) ? 0 : -ENOMEM;
}

/* The requests of the batch are in the copy, so they are posted before the next part is copied. */
static int uep_post_next_part(struct uep_post_queue *q, struct rdma_ep_cmd_post *arg,
			      struct uep_post_buf *buf, struct uep_post_batch *b)
{
	int ret = 0;

	if (b->nr)
		arg->posted += uep_batch_flush(q, b, &ret);
	return ret ?: uep_post_load(buf, buf->from + buf->pos);
}

/* Posts what is in the buffer, and counts in arg->posted. */
static noinline_for_stack int uep_post_all(struct uep_post_queue *q, struct rdma_ep_cmd_post *arg,
					   struct uep_post_buf *buf)
{
	struct uep_post_batch b __uninitialized;
	unsigned long began_at = jiffies;
	struct uep_post_req *r;
	int ret, err;
	u32 left;

	/* Before the checks: with its device the QP has lost its memory regions. */
	if (READ_ONCE(q->wq->dead))
		return -EIO;
	ret = uep_wq_prepare(q->wq);
	uep_batch_init(&b);
	if (q->send) {
		q->piece = uep_pace_begin(q->qp);
		q->in_piece = READ_ONCE(q->qp->pace.bytes);
	}
	/* Only POST_SEND has the flag. */
	if (!ret && (arg->flags & RDMA_EP_POST_ALL))
		ret = uep_post_check_all(q, arg->num, buf, &b);
	for (left = arg->num; left && !ret; left--) {
		if (uep_post_is_cut(buf)) {
			ret = uep_post_next_part(q, arg, buf, &b);
			if (ret)
				break;
		}
		r = &b.req[b.nr];
		ret = q->send ? uep_send_add(q->qp, buf, r) : uep_recv_add(q, buf, r);
		if (ret) {
			if (q->send && r->ah)
				uep_ah_put(r->ah);
			if (arg->flags & RDMA_EP_POST_ALL)
				uep_batch_drop(q, &b);
			break;
		}
		b.nr++;
		if (uep_batch_ends_piece(q, &b) || b.nr == UEP_POST_BATCH)
			arg->posted += uep_batch_flush(q, &b, &ret);
	}
	if (b.nr) {
		arg->posted += uep_batch_flush(q, &b, &err);
		if (err)
			ret = err;
	}
	if (q->send)
		uep_pace_end(q->qp, q->bytes, q->in_piece, began_at);
	return ret;
}

/* A QP with an SRQ has no receive queue. An XRC target has no queues, an initiator only sends. */
static bool uep_post_queue_init(struct uep_post_queue *q, struct uep_obj *obj, bool send)
{
	struct uep_srq *srq = container_of(obj, struct uep_srq, obj);
	struct uep_qp *qp = container_of(obj, struct uep_qp, obj);

	if (obj->type->type == RDMA_EP_OBJ_SRQ) {
		*q = uep_srq_post_queue(srq);
		return true;
	}
	*q = (struct uep_post_queue) { send ? &qp->sq : &qp->rq, qp->pd, qp, NULL, send,
				       qp->qp.cap.max_recv_sge };
	return !qp->xrcd && (send || !(qp->srq || qp->qp.type == IB_QPT_XRC_INI));
}

/* For traces: of the first request in the buffer. */
static u32 uep_post_opcode(const struct uep_post_buf *buf, bool send)
{
	const struct rdma_ep_send_wr *u = (void *)buf->data;

	if (!send)
		return UEP_TRACE_RECV;
	return buf->len < sizeof(*u) ? 0 : u->opcode;
}

/* Takes the receives in an SRQ's ring. */
static int uep_post_ring(struct uep_session *s, u32 handle)
{
	struct uep_srq *srq = uep_obj_lookup(s, handle, RDMA_EP_OBJ_SRQ);
	int ret = -EINVAL;

	if (!srq)
		return -ENOENT;
	if (uep_srq_has_ring(srq)) {
		ret = uep_wq_prepare(&srq->wq) ?: uep_recv_ring_close(srq);
		uep_recv_ring_open(srq);
	}
	return uep_obj_done(&srq->obj, ret);
}

static int uep_post_list(struct uep_session *s, struct rdma_ep_cmd_post *arg,
			 enum rdma_ep_obj_type type, bool send)
{
	struct uep_post_buf buf __uninitialized;
	struct uep_post_queue q;
	struct uep_obj *obj;
	int ret;

	ret = uep_post_copy(&buf, arg);
	if (ret) {
		/* The user's list may begin in the ring. */
		if (type == RDMA_EP_OBJ_SRQ)
			uep_post_ring(s, arg->handle);
		return ret;
	}
	ret = -ENOENT;
	obj = uep_obj_lookup(s, arg->handle, type);
	if (!obj)
		goto out_free;
	ret = -EINVAL;
	if (!uep_post_queue_init(&q, obj, send))
		goto out;
	ret = q.srq ? uep_recv_ring_close(q.srq) : 0;
	if (!ret) {
		uep_post_begin_checks(&buf, q.wq);
		ret = uep_post_all(&q, arg, &buf);
		uep_post_end_checks(&buf, q.wq);
	}
	if (q.srq)
		uep_recv_ring_open(q.srq);
	trace_rdma_ep_post(obj, arg, uep_post_opcode(&buf, send), q.bytes, ret);
	/* A driver's worker that the post has woken runs before the user does: it may complete. */
	if (send)
		ep_compat_resched();
	/* The user polls next. */
	if (q.qp)
		uep_cq_reap(q.qp->send_cq);
	if (q.qp && q.qp->recv_cq != q.qp->send_cq)
		uep_cq_reap(q.qp->recv_cq);
	if (send)
		uep_cq_reap_others(q.qp);
out:
	ret = uep_obj_done(obj, ret);
out_free:
	uep_post_free(&buf);
	return ret;
}

static int uep_post(struct uep_cmd *cmd, enum rdma_ep_obj_type type, bool send)
{
	struct rdma_ep_cmd_post __user *uarg = cmd->uarg;
	struct rdma_ep_cmd_post *arg = cmd->arg;
	int ret;

	arg->posted = 0;
	/* POST_SRQ_RECV without receives */
	ret = !arg->num && !arg->wrs_len && type == RDMA_EP_OBJ_SRQ ?
	      uep_post_ring(cmd->s, arg->handle) : uep_post_list(cmd->s, arg, type, send);
	/* Not put_user(): abi_fail lets copies fail. */
	return copy_to_user(&uarg->posted, &arg->posted, sizeof(arg->posted)) ? -EFAULT : ret;
}

int uep_post_send(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_QP, true);
}

int uep_post_recv(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_QP, false);
}

int uep_post_srq_recv(struct uep_cmd *cmd)
{
	return uep_post(cmd, RDMA_EP_OBJ_SRQ, false);
}
