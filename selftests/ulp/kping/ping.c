// SPDX-License-Identifier: GPL-2.0-only
/*
 * Client of a ping-pong: sends a message, receives it back, and sends the next.
 * After the first message completion handlers do all of the work, so many
 * connections run at the same time.
 */
#include <linux/slab.h>

#include "kping.h"

/**
 * struct ping - state of a connection
 * @conn: the connection
 * @tx: message to send
 * @rx: message that the server returns
 * @tx_cqe: completion of @tx
 * @rx_cqe: completion of @rx
 * @pending: how many of the two have not completed in this round
 */
struct ping {
	struct kping_conn *conn;
	struct kping_buf tx;
	struct kping_buf rx;
	struct ib_cqe tx_cqe;
	struct ib_cqe rx_cqe;
	atomic_t pending;
};

/* Differs between rounds and connections, so that messages cannot be confused. */
static u8 ping_seed(const struct kping_conn *conn)
{
	return atomic_read(&conn->rounds.value) + 37 * conn->qp->qp_num;
}

static void ping_send(struct ping *ping)
{
	struct kping_conn *conn = ping->conn;
	struct ib_sge sge = kping_sge(&ping->tx, conn->cmd.size);
	struct ib_send_wr wr = kping_send_wr(&ping->tx_cqe, &sge);

	if (conn->cmd.verify) {
		kping_fill(&ping->tx, conn->cmd.size, ping_seed(conn));
		kping_poison(&ping->rx);
	}
	atomic_set(&ping->pending, 2);
	if (!kping_post_recv(conn, &ping->rx_cqe, &ping->rx))
		kping_post_send(conn, &wr);
}

/*
 * The next round begins when both the receive and the send have completed: before
 * that the device may still read the buffer.
 */
static void ping_done(struct ping *ping, const struct ib_wc *wc)
{
	struct kping_conn *conn = ping->conn;
	int left;

	if (!kping_succeeded(conn, wc) || !atomic_dec_and_test(&ping->pending))
		return;
	if (conn->cmd.verify) {
		if (!kping_check(&ping->rx, conn->cmd.size, ping_seed(conn))) {
			kping_fail(conn, -EBADMSG);
			return;
		}
		conn->verified++;
	}
	left = conn->cmd.count - atomic_read(&conn->rounds.value) - 1;
	if (!left)
		conn->ended = ktime_get_ns();
	kping_count(conn, &conn->rounds, 1);
	if (left)
		ping_send(ping);
}

static void ping_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	ping_done(container_of(wc->wr_cqe, struct ping, tx_cqe), wc);
}

static void ping_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ping *ping = container_of(wc->wr_cqe, struct ping, rx_cqe);
	struct kping_conn *conn = ping->conn;

	if (wc->status == IB_WC_SUCCESS && wc->byte_len != conn->cmd.size)
		kping_fail(conn, -EPROTO);
	else
		ping_done(ping, wc);
}

static int ping_prepare(struct kping_conn *conn)
{
	struct ping *ping = kzalloc(sizeof(*ping), GFP_KERNEL);

	if (!ping)
		return -ENOMEM;
	conn->mode = ping;
	ping->conn = conn;
	ping->tx_cqe.done = ping_tx_done;
	ping->rx_cqe.done = ping_rx_done;
	return kping_buf_alloc(conn->qp->pd, &ping->tx, conn->cmd.size) ?:
	       kping_buf_alloc(conn->qp->pd, &ping->rx, conn->cmd.size);
}

static void ping_release(struct kping_conn *conn)
{
	struct ping *ping = conn->mode;

	if (!ping)
		return;
	kping_buf_free(&ping->tx);
	kping_buf_free(&ping->rx);
	kfree(ping);
}

static int ping_start(struct kping_conn *conn)
{
	conn->rounds.target = conn->cmd.count;
	conn->began = ktime_get_ns();
	ping_send(conn->mode);
	return 0;
}

static int ping_play(struct kping_conn *conn)
{
	return kping_wait(conn, &conn->rounds, conn->cmd.count);
}

const struct kping_ops kping_ping_ops = {
	.prepare = ping_prepare,
	.start = ping_start,
	.play = ping_play,
	.release = ping_release,
};
