// SPDX-License-Identifier: GPL-2.0-only
/*
 * Client of a stream: keeps the send queue full. Each post is a batch of requests,
 * of which only the last is signaled.
 *
 * SENDs need receives of the server, which acknowledges regularly that it has
 * posted some again (sink.c). READs and WRITEs need the address of its memory.
 */
#include <linux/slab.h>

#include "kping.h"

#define STREAM_ACKS	4	/* receives for acknowledgments */

/**
 * struct stream - state of a connection
 * @conn: the connection
 * @local: source of SENDs and WRITEs, target of READs
 * @back: target of the READs that verify
 * @acks: memory for acknowledgments
 * @remote: the server's memory
 * @last_cqe: completion of a batch
 * @other_cqe: completion of other requests of a batch, which have failed
 * @ack_cqe: completion of an acknowledgment
 * @room: send slots that are taken and not used yet
 * @credit: messages for which the server has receives (SEND)
 * @refill: wake the thread when @credit or the free slots have reached it
 * @completed: number of completed messages
 * @sge: memory of all requests
 * @wrs: a whole batch; a smaller one begins in the middle
 */
struct stream {
	struct kping_conn *conn;
	struct kping_buf local;
	struct kping_buf back;
	struct kping_buf acks;
	struct kping_advert remote;
	struct ib_cqe last_cqe;
	struct ib_cqe other_cqe;
	struct ib_cqe ack_cqe;
	struct kping_counter credit;
	u32 room;
	u32 refill;
	u32 completed;
	struct ib_sge sge;
	struct ib_rdma_wr wrs[];
};

static void stream_batch_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *stream = container_of(wc->wr_cqe, struct stream, last_cqe);
	struct kping_conn *conn = stream->conn;
	u32 n = min(conn->cmd.batch, conn->cmd.count - stream->completed);

	if (kping_succeeded(conn, wc)) {
		stream->completed += n;
		kping_count(conn, &conn->rounds, n);
		rdma_ep_put_slots(conn->ep, n);
	}
}

/* Requests that are not signaled complete only if they fail. */
static void stream_other_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *stream = container_of(wc->wr_cqe, struct stream, other_cqe);

	kping_succeeded(stream->conn, wc);
}

static void stream_ack_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct stream *stream = container_of(wc->wr_cqe, struct stream, ack_cqe);
	struct kping_conn *conn = stream->conn;

	if (kping_succeeded(conn, wc) && !kping_post_recv(conn, &stream->ack_cqe, &stream->acks))
		kping_count(conn, &stream->credit, stream->refill);
}

static int stream_prepare(struct kping_conn *conn)
{
	const struct kping_cmd *cmd = &conn->cmd;
	struct ib_pd *pd = conn->qp->pd;
	struct stream *stream;
	int ret, i;

	stream = kzalloc(struct_size(stream, wrs, cmd->batch), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	conn->mode = stream;
	stream->conn = conn;
	stream->last_cqe.done = stream_batch_done;
	stream->other_cqe.done = stream_other_failed;
	stream->ack_cqe.done = stream_ack_done;
	stream->refill = cmd->depth / 2;
	/* Leave the stream cmd->depth slots; the others are for adverts. */
	if (!rdma_ep_try_slots(conn->ep, KPING_TALK_WRS))
		return -ENOBUFS;
	atomic_set(&stream->credit.value, cmd->depth);

	ret = kping_buf_alloc(pd, &stream->local, cmd->size) ?:
	      kping_buf_alloc(pd, &stream->back, cmd->size);
	if (ret)
		return ret;
	if (cmd->op != KPING_SEND)
		return kping_talk_prepare(conn);
	ret = kping_buf_alloc(pd, &stream->acks, sizeof(struct kping_advert));
	for (i = 0; i < STREAM_ACKS && !ret; i++)
		ret = kping_post_recv(conn, &stream->ack_cqe, &stream->acks);
	return ret;
}

static void stream_release(struct kping_conn *conn)
{
	struct stream *stream = conn->mode;

	kping_talk_release(conn);
	if (!stream)
		return;
	kping_buf_free(&stream->local);
	kping_buf_free(&stream->back);
	kping_buf_free(&stream->acks);
	kfree(stream);
}

/* All batches post these requests. */
static void stream_make_wrs(struct stream *stream)
{
	static const enum ib_wr_opcode opcodes[KPING_NR_OPS] = {
		[KPING_SEND] = IB_WR_SEND,
		[KPING_WRITE] = IB_WR_RDMA_WRITE,
		[KPING_READ] = IB_WR_RDMA_READ,
	};
	const struct kping_cmd *cmd = &stream->conn->cmd;
	struct ib_rdma_wr *wr;
	u32 i;

	stream->sge = kping_sge(&stream->local, cmd->size);
	for (i = 0; i < cmd->batch; i++) {
		wr = &stream->wrs[i];
		wr->wr.next = &stream->wrs[i + 1].wr;
		wr->wr.wr_cqe = &stream->other_cqe;
		wr->wr.opcode = opcodes[cmd->op];
		wr->wr.sg_list = &stream->sge;
		wr->wr.num_sge = 1;
		wr->remote_addr = be64_to_cpu(stream->remote.addr);
		wr->rkey = be32_to_cpu(stream->remote.rkey);
	}
	wr->wr.next = NULL;
	wr->wr.wr_cqe = &stream->last_cqe;
	wr->wr.send_flags = IB_SEND_SIGNALED;
}

static int stream_start(struct kping_conn *conn)
{
	struct stream *stream = conn->mode;
	int ret = 0;

	kping_fill(&stream->local, conn->cmd.size, 0);
	if (conn->cmd.op != KPING_SEND)
		ret = kping_buf_register(conn, &stream->local, kping_read_access(conn)) ?:
		      kping_buf_register(conn, &stream->back, kping_read_access(conn)) ?:
		      kping_say(conn, NULL) ?:
		      kping_hear(conn, &stream->remote) ?:
		      kping_flush(conn);
	if (!ret && be32_to_cpu(stream->remote.size) < conn->cmd.size && conn->cmd.op != KPING_SEND)
		ret = -EMSGSIZE;
	stream_make_wrs(stream);
	return ret;
}

/* Takes stream->refill slots at once, for fewer wake-ups. */
static int stream_take_room(struct stream *stream, u32 n)
{
	struct kping_conn *conn = stream->conn;
	int ret;

	if (stream->room < n) {
		ret = rdma_ep_wait_slots(conn->ep, stream->refill, RDMA_EP_FOREVER);
		if (ret)
			return READ_ONCE(conn->error) ?: ret;
		stream->room += stream->refill;
	}
	stream->room -= n;
	return 0;
}

static int stream_take_credit(struct stream *stream, u32 n)
{
	struct kping_counter *credit = &stream->credit;
	int ret = 0;

	if (atomic_read(&credit->value) < n)
		ret = kping_wait(stream->conn, credit, max(n, stream->refill));
	atomic_sub(n, &credit->value);
	return ret;
}

static int stream_run(struct kping_conn *conn)
{
	const struct kping_cmd *cmd = &conn->cmd;
	struct stream *stream = conn->mode;
	u32 left, n;
	int ret;

	for (left = cmd->count; left; left -= n) {
		n = min(left, cmd->batch);
		ret = stream_take_room(stream, n);
		if (!ret && cmd->op == KPING_SEND)
			ret = stream_take_credit(stream, n);
		if (!ret)
			ret = kping_post_send(conn, &stream->wrs[cmd->batch - n].wr);
		if (ret)
			return ret;
	}
	ret = kping_wait(conn, &conn->rounds, cmd->count);
	/* The last acknowledgment confirms that all messages have arrived. */
	if (!ret && cmd->op == KPING_SEND)
		ret = kping_wait(conn, &stream->credit, cmd->depth);
	return ret;
}

/* Transfers and verifies one message. After a WRITE, a READ returns the data. */
static int stream_verify(struct stream *stream, u32 n)
{
	struct kping_conn *conn = stream->conn;
	u32 size = conn->cmd.size;
	int ret;

	if (conn->cmd.op == KPING_WRITE) {
		kping_fill(&stream->local, size, n);
		ret = kping_rdma(conn, IB_WR_RDMA_WRITE, &stream->local, &stream->remote, size);
		if (ret)
			return ret;
	}
	kping_poison(&stream->back);
	ret = kping_rdma(conn, IB_WR_RDMA_READ, &stream->back, &stream->remote, size);
	if (ret)
		return ret;
	if (!kping_check(&stream->back, size, conn->cmd.op == KPING_WRITE ? n : 0))
		return -EBADMSG;
	conn->verified++;
	kping_count(conn, &conn->rounds, 1);
	return 0;
}

static int stream_play(struct kping_conn *conn)
{
	u32 n;
	int ret = 0;

	conn->began = ktime_get_ns();
	/* The server verifies SENDs. */
	if (conn->cmd.op == KPING_SEND || !conn->cmd.verify)
		ret = stream_run(conn);
	else
		for (n = 0; n < conn->cmd.count && !ret; n++)
			ret = stream_verify(conn->mode, n);
	conn->ended = ktime_get_ns();
	return ret;
}

const struct kping_ops kping_stream_ops = {
	.prepare = stream_prepare,
	.start = stream_start,
	.play = stream_play,
	.release = stream_release,
};
