// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data path that the modes share: posting, completions, waiting.
 *
 * Completion handlers post further requests. Destroying a QP waits for all posted
 * requests, so kping_data_stop() first ends posting, under the lock.
 */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "kping.h"

#define KPING_SPINS	16

static void kping_thread_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kping_conn *conn = container_of(wc->wr_cqe, struct kping_conn, cqe);

	if (kping_succeeded(conn, wc))
		kping_count(conn, &conn->sent, 1);
}

void kping_data_init(struct kping_conn *conn)
{
	INIT_LIST_HEAD(&conn->entry);
	init_waitqueue_head(&conn->wait);
	spin_lock_init(&conn->lock);
	conn->cqe.done = kping_thread_done;
	conn->rounds.target = INT_MAX;
}

/*
 * Any context. Keeps the first error only, as it causes the others. rdma_ep_abort() also ends
 * a wait for send slots.
 */
void kping_fail(struct kping_conn *conn, int error)
{
	/* Only siw returns ENOTCONN, for a connection that is being closed. */
	if (error == -ENOTCONN)
		error = -ECONNRESET;
	cmpxchg(&conn->error, 0, error);
	rdma_ep_abort(conn->ep, error);
	wake_up(&conn->wait);
}

bool kping_succeeded(struct kping_conn *conn, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return true;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		pr_debug("kping: %s\n", ib_wc_status_msg(wc->status));
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		kping_fail(conn, -EIO);
	else
		kping_fail(conn, rdma_ep_status(conn->ep) ?: -ECONNRESET);
	return false;
}

int kping_post_send(struct kping_conn *conn, const struct ib_send_wr *wr)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&conn->lock, flags);
	ret = conn->closing ? -ESHUTDOWN : ib_post_send(conn->qp, wr, NULL);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (unlikely(ret))
		kping_fail(conn, ret);
	return ret;
}

/*
 * Posts in a completion handler of a server. Fails without a free send slot: a client
 * without receives would overflow the queue. The handler of the completion returns the slot.
 */
int kping_post_answer(struct kping_conn *conn, const struct ib_send_wr *wr)
{
	int ret = rdma_ep_try_slots(conn->ep, 1) ? 0 : -ENOBUFS;

	if (unlikely(ret)) {
		kping_fail(conn, ret);
		return ret;
	}
	ret = kping_post_send(conn, wr);
	if (unlikely(ret))
		rdma_ep_put_slots(conn->ep, 1);
	return ret;
}

int kping_post_recv(struct kping_conn *conn, struct ib_cqe *cqe, const struct kping_buf *buf)
{
	struct ib_sge sge = kping_sge(buf, buf->size);
	struct ib_recv_wr wr = { .wr_cqe = cqe, .sg_list = &sge, .num_sge = 1 };
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&conn->lock, flags);
	ret = conn->closing ? -ESHUTDOWN : ib_post_recv(conn->qp, &wr, NULL);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (unlikely(ret))
		kping_fail(conn, ret);
	return ret;
}

/* No request is posted after this returns. Any context. */
void kping_data_stop(struct kping_conn *conn)
{
	unsigned long flags;

	kping_fail(conn, -ECONNRESET);
	spin_lock_irqsave(&conn->lock, flags);
	conn->closing = true;
	spin_unlock_irqrestore(&conn->lock, flags);
}

/*
 * Runs completion handlers. Sleeps after KPING_SPINS idle polls: a software device may
 * need this CPU.
 */
static void kping_poll(struct kping_conn *conn, int *idle)
{
	if (ib_process_cq_direct(conn->send_cq, -1) +
	    ib_process_cq_direct(conn->recv_cq, -1) > 0) {
		*idle = 0;
	} else if (++*idle > KPING_SPINS) {
		*idle = 0;
		usleep_range(1, 2);
	}
}

void kping_count(struct kping_conn *conn, struct kping_counter *counter, int n)
{
	if (atomic_add_return(n, &counter->value) >= READ_ONCE(counter->target))
		wake_up(&conn->wait);
}

static bool kping_reached(const struct kping_conn *conn, const struct kping_counter *counter)
{
	return atomic_read(&counter->value) >= counter->target ||
		READ_ONCE(conn->error) || kthread_should_stop();
}

/* Returns 0 if @target is reached, even if the connection has failed since. */
int kping_wait(struct kping_conn *conn, struct kping_counter *counter, int target)
{
	int idle = 0;

	/* A barrier in the wait orders this before reading the counter, see kping_count(). */
	WRITE_ONCE(counter->target, target);
	if (conn->cmd.poll == IB_POLL_DIRECT) {
		while (!kping_reached(conn, counter))
			kping_poll(conn, &idle);
	} else {
		wait_event_idle(conn->wait, kping_reached(conn, counter));
	}
	if (atomic_read(&counter->value) >= target)
		return 0;
	return READ_ONCE(conn->error) ?: -EINTR;
}

/* For servers: waits for the client's disconnect. */
int kping_wait_end(struct kping_conn *conn)
{
	struct kping_counter never = {};
	int ret;

	ret = kping_wait(conn, &never, 1);
	return ret == -ECONNRESET ? 0 : ret;
}

/* Functions for connections without data, and for an SRQ, whose handlers serve all (echo.c) */
const struct kping_ops kping_wait_ops = {
	.serve = kping_wait_end,
};

/* For threads: posts without waiting. */
int kping_submit(struct kping_conn *conn, struct ib_send_wr *wr)
{
	wr->wr_cqe = &conn->cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	conn->posted++;
	return kping_post_send(conn, wr);
}

/* For threads: waits for all requests of kping_submit(). */
int kping_flush(struct kping_conn *conn)
{
	return kping_wait(conn, &conn->sent, conn->posted);
}
