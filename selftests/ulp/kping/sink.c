// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server of a stream. For READs and WRITEs the server only sends the address of its
 * memory. For SENDs it has as many receives as the client may have messages in
 * flight. It sends an acknowledgment each time that half of them have been posted
 * again, and when all messages have arrived.
 */
#include <linux/slab.h>

#include "kping.h"

/**
 * struct sink_slot - a receive
 * @sink: state of the connection
 * @cqe: completion of the receive
 * @buf: memory of the receive
 */
struct sink_slot {
	struct sink *sink;
	struct ib_cqe cqe;
	struct kping_buf buf;
};

/**
 * struct sink - state of a connection
 * @conn: the connection
 * @buf: memory for the client's READs and WRITEs
 * @ack: acknowledgment
 * @ack_cqe: completion of @ack
 * @unacked: receives posted again since the last acknowledgment
 * @nr_slots: number of receives (SEND)
 * @slots: receives
 */
struct sink {
	struct kping_conn *conn;
	struct kping_buf buf;
	struct kping_buf ack;
	struct ib_cqe ack_cqe;
	u32 unacked;
	u32 nr_slots;
	struct sink_slot slots[];
};

static void sink_ack_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sink *sink = container_of(wc->wr_cqe, struct sink, ack_cqe);

	rdma_ep_put_slots(sink->conn->ep, 1);
	kping_succeeded(sink->conn, wc);
}

static int sink_ack(struct sink *sink)
{
	struct ib_sge sge = kping_sge(&sink->ack, sink->ack.size);
	struct ib_send_wr wr = kping_send_wr(&sink->ack_cqe, &sge);

	return kping_post_answer(sink->conn, &wr);
}

static bool sink_verify(struct kping_conn *conn, struct sink_slot *slot, u32 length)
{
	if (length != conn->cmd.size)
		return false;
	if (!conn->cmd.verify)
		return true;
	if (!kping_check(&slot->buf, length, 0))
		return false;
	kping_poison(&slot->buf);
	conn->verified++;
	return true;
}

static void sink_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sink_slot *slot = container_of(wc->wr_cqe, struct sink_slot, cqe);
	struct sink *sink = slot->sink;
	struct kping_conn *conn = sink->conn;

	if (!kping_succeeded(conn, wc))
		return;
	if (!sink_verify(conn, slot, wc->byte_len)) {
		kping_fail(conn, -EBADMSG);
		return;
	}
	kping_count(conn, &conn->rounds, 1);
	if (kping_post_recv(conn, &slot->cqe, &slot->buf))
		return;
	if (++sink->unacked == sink->nr_slots / 2 ||
	    atomic_read(&conn->rounds.value) == conn->cmd.count) {
		sink->unacked = 0;
		sink_ack(sink);
	}
}

static int sink_prepare_slots(struct kping_conn *conn, struct sink *sink)
{
	struct sink_slot *slot;
	int ret;

	sink->ack_cqe.done = sink_ack_done;
	ret = kping_buf_alloc(conn->qp->pd, &sink->ack, sizeof(struct kping_advert));
	for (slot = sink->slots; slot < sink->slots + sink->nr_slots && !ret;
	     slot++) {
		slot->sink = sink;
		slot->cqe.done = sink_received;
		ret = kping_buf_alloc(conn->qp->pd, &slot->buf, conn->cmd.size) ?:
		      kping_post_recv(conn, &slot->cqe, &slot->buf);
	}
	return ret;
}

static int sink_prepare(struct kping_conn *conn)
{
	u32 n = conn->cmd.op == KPING_SEND ? conn->cmd.depth : 0;
	struct sink *sink;

	sink = kzalloc(struct_size(sink, slots, n), GFP_KERNEL);
	if (!sink)
		return -ENOMEM;
	conn->mode = sink;
	sink->conn = conn;
	sink->nr_slots = n;
	if (n)
		return sink_prepare_slots(conn, sink);
	return kping_buf_alloc(conn->qp->pd, &sink->buf, conn->cmd.size) ?:
	       kping_talk_prepare(conn);
}

static void sink_release(struct kping_conn *conn)
{
	struct sink *sink = conn->mode;
	u32 i;

	kping_talk_release(conn);
	if (!sink)
		return;
	for (i = 0; i < sink->nr_slots; i++)
		kping_buf_free(&sink->slots[i].buf);
	kping_buf_free(&sink->ack);
	kping_buf_free(&sink->buf);
	kfree(sink);
}

static int sink_serve(struct kping_conn *conn)
{
	struct sink *sink = conn->mode;
	int ret = 0;

	if (conn->cmd.op != KPING_SEND) {
		kping_fill(&sink->buf, conn->cmd.size, 0);
		ret = kping_buf_register(conn, &sink->buf,
					 IB_ACCESS_LOCAL_WRITE |
					 IB_ACCESS_REMOTE_READ |
					 IB_ACCESS_REMOTE_WRITE) ?:
		      kping_hear(conn, NULL) ?:
		      kping_say(conn, &sink->buf);
	}
	return ret ?: kping_wait_end(conn);
}

const struct kping_ops kping_sink_ops = {
	.prepare = sink_prepare,
	.serve = sink_serve,
	.release = sink_release,
};
