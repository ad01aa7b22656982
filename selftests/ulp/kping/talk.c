// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends the peer the address and key of memory, and reads and writes the peer's.
 *
 * The messages are those of rping(1). Each side waits for a message of the other
 * before it sends its next one, so one receive is enough. The client sends first,
 * as iWARP requires.
 */
#include "kping.h"

static void kping_talk_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kping_conn *conn = container_of(wc->wr_cqe, struct kping_conn, talk.rx_cqe);

	if (kping_succeeded(conn, wc)) {
		if (wc->byte_len == sizeof(struct kping_advert))
			kping_count(conn, &conn->talk.received, 1);
		else
			kping_fail(conn, -EPROTO);
	}
}

int kping_talk_prepare(struct kping_conn *conn)
{
	struct kping_talk *talk = &conn->talk;
	int ret;

	talk->rx_cqe.done = kping_talk_received;
	ret = kping_buf_alloc(conn->qp->pd, &talk->tx, sizeof(struct kping_advert));
	if (ret)
		return ret;
	ret = kping_buf_alloc(conn->qp->pd, &talk->rx, sizeof(struct kping_advert));
	if (ret)
		return ret;
	return kping_post_recv(conn, &talk->rx_cqe, &talk->rx);
}

void kping_talk_release(struct kping_conn *conn)
{
	kping_buf_free(&conn->talk.rx);
	kping_buf_free(&conn->talk.tx);
}

/* @buf: memory that the peer may use; NULL: its content does not matter ("go on") */
int kping_say(struct kping_conn *conn, const struct kping_buf *buf)
{
	struct kping_advert *advert = conn->talk.tx.data;
	struct ib_sge sge = kping_sge(&conn->talk.tx, sizeof(*advert));
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	int ret;

	/* The previous message has the same buffer. */
	ret = kping_flush(conn);
	if (ret)
		return ret;
	if (buf) {
		kping_buf_to_cpu(&conn->talk.tx);
		advert->addr = cpu_to_be64(buf->mr->iova);
		advert->rkey = cpu_to_be32(buf->mr->rkey);
		advert->size = cpu_to_be32(buf->size);
		kping_buf_to_device(&conn->talk.tx);
	}
	return kping_submit(conn, &wr);
}

/* Waits for the peer's message and copies it to @advert, if not NULL. */
int kping_hear(struct kping_conn *conn, struct kping_advert *advert)
{
	struct kping_talk *talk = &conn->talk;
	int ret;

	ret = kping_wait(conn, &talk->received, talk->heard + 1);
	if (ret)
		return ret;
	talk->heard++;
	kping_buf_to_cpu(&talk->rx);
	if (advert)
		memcpy(advert, talk->rx.data, sizeof(*advert));
	kping_buf_to_device(&talk->rx);
	return kping_post_recv(conn, &talk->rx_cqe, &talk->rx);
}

/* Access flags of the target of a READ: on iWARP, the peer's response writes to it. */
int kping_read_access(const struct kping_conn *conn)
{
	bool iwarp = rdma_protocol_iwarp(conn->qp->device, rdma_ep_port(conn->ep));

	return IB_ACCESS_LOCAL_WRITE | (iwarp ? IB_ACCESS_REMOTE_WRITE : 0);
}

/* READs into @buf or WRITEs from it, and waits for the completion. */
int kping_rdma(struct kping_conn *conn, enum ib_wr_opcode opcode,
	       const struct kping_buf *buf, const struct kping_advert *advert,
	       u32 length)
{
	struct ib_sge sge = kping_sge(buf, length);
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = be64_to_cpu(advert->addr),
		.rkey = be32_to_cpu(advert->rkey),
	};

	if (length > buf->size || length > be32_to_cpu(advert->size))
		return -EMSGSIZE;
	return kping_submit(conn, &wr.wr) ?: kping_flush(conn);
}
