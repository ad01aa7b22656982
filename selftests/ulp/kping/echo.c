// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server of a ping-pong: returns each message from the buffer that received it.
 * Everything happens in completion handlers. A buffer is posted, sent when it has
 * received a message, and posted again when the send has completed.
 *
 * With an SRQ all connections share one pool of buffers, and the QP of a completion
 * identifies the connection.
 */
#include <linux/slab.h>

#include "kping.h"

/*
 * A client has one message in flight, but echo_tx_done() may be late to repost its
 * buffer, and iWARP ends a connection whose message finds no receive.
 */
#define ECHO_SLOTS	16
#define ECHO_SRQ_SLOTS	4	/* for each connection */

/**
 * struct echo_slot - a buffer
 * @pool: pool that it belongs to
 * @rx_cqe: completion of the receive
 * @tx_cqe: completion of the send
 * @buf: memory
 */
struct echo_slot {
	struct echo_pool *pool;
	struct ib_cqe rx_cqe;
	struct ib_cqe tx_cqe;
	struct kping_buf buf;
};

/**
 * struct echo_pool - buffers of a connection or an SRQ
 * @srq: SRQ, or NULL
 * @nr_slots: number of buffers
 * @slots: buffers
 */
struct echo_pool {
	struct ib_srq *srq;
	unsigned int nr_slots;
	struct echo_slot slots[];
};

static void echo_post_srq(struct echo_slot *slot)
{
	struct ib_sge sge = kping_sge(&slot->buf, slot->buf.size);
	struct ib_recv_wr wr = { .wr_cqe = &slot->rx_cqe, .sg_list = &sge, .num_sge = 1 };

	WARN_ON_ONCE(ib_post_srq_recv(slot->pool->srq, &wr, NULL));
}

static int echo_send(struct kping_conn *conn, struct echo_slot *slot, u32 length)
{
	struct ib_sge sge = kping_sge(&slot->buf, length);
	struct ib_send_wr wr = kping_send_wr(&slot->tx_cqe, &sge);

	return kping_post_answer(conn, &wr);
}

static void echo_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct echo_slot *slot = container_of(wc->wr_cqe, struct echo_slot, rx_cqe);
	struct kping_conn *conn = wc->qp->qp_context;
	bool sent = kping_succeeded(conn, wc) &&
		!echo_send(conn, slot, wc->byte_len);

	/*
	 * Count the round now instead of in echo_tx_done(): the peer may disconnect
	 * when it has the last message, which flushes the send.
	 */
	if (sent)
		kping_count(conn, &conn->rounds, 1);
	else if (slot->pool->srq)
		echo_post_srq(slot);
}

static void echo_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct echo_slot *slot = container_of(wc->wr_cqe, struct echo_slot, tx_cqe);
	struct kping_conn *conn = wc->qp->qp_context;
	bool ok = kping_succeeded(conn, wc);

	rdma_ep_put_slots(conn->ep, 1);
	if (slot->pool->srq)
		echo_post_srq(slot);
	else if (ok)
		kping_post_recv(conn, &slot->rx_cqe, &slot->buf);
}

static void echo_pool_free(struct echo_pool *pool)
{
	unsigned int i;

	for (i = 0; pool && i < pool->nr_slots; i++)
		kping_buf_free(&pool->slots[i].buf);
	kfree(pool);
}

static struct echo_pool *echo_pool_alloc(struct ib_pd *pd, u32 nr_slots, u32 size)
{
	struct echo_pool *pool;
	struct echo_slot *slot;

	pool = kzalloc(struct_size(pool, slots, nr_slots), GFP_KERNEL);
	if (!pool)
		return NULL;
	pool->nr_slots = nr_slots;
	for (slot = pool->slots; slot < pool->slots + nr_slots; slot++) {
		slot->pool = pool;
		slot->rx_cqe.done = echo_rx_done;
		slot->tx_cqe.done = echo_tx_done;
		if (kping_buf_alloc(pd, &slot->buf, size)) {
			echo_pool_free(pool);
			return NULL;
		}
	}
	return pool;
}

static int echo_prepare(struct kping_conn *conn)
{
	u32 n = min_t(u32, ECHO_SLOTS, conn->cmd.depth);
	struct echo_pool *pool = echo_pool_alloc(conn->qp->pd, n, conn->cmd.size);
	unsigned int i;
	int ret;

	if (!pool)
		return -ENOMEM;
	conn->mode = pool;
	for (i = 0; i < n; i++) {
		ret = kping_post_recv(conn, &pool->slots[i].rx_cqe, &pool->slots[i].buf);
		if (ret)
			return ret;
	}
	return 0;
}

static void echo_release(struct kping_conn *conn)
{
	echo_pool_free(conn->mode);
}

const struct kping_ops kping_echo_ops = {
	.prepare = echo_prepare,
	.serve = kping_wait_end,
	.release = echo_release,
};

/* Frees all objects of the device while the listener still holds the device. */
void kping_srq_destroy(struct kping_run *run, struct rdma_ep *listener)
{
	if (run->cmd.mode != KPING_SRQ)
		return;
	rdma_ep_destroy_srq(listener);
	echo_pool_free(run->srq);
	run->srq = NULL;
}

/* After a failure, the caller calls kping_srq_destroy(). */
int kping_srq_create(struct kping_run *run, struct rdma_ep *listener)
{
	u32 n = run->cmd.conns * ECHO_SRQ_SLOTS;
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = n, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	unsigned int i;
	int ret;

	if (run->cmd.mode != KPING_SRQ)
		return 0;
	ret = rdma_ep_create_srq(listener, NULL, &attr);
	if (ret)
		return ret;
	run->srq = echo_pool_alloc(rdma_ep_pd(listener), n, run->cmd.size);
	if (!run->srq)
		return -ENOMEM;
	run->srq->srq = rdma_ep_srq(listener);
	for (i = 0; i < n; i++)
		echo_post_srq(&run->srq->slots[i]);
	return 0;
}
