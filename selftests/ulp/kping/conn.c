// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: all of kping's endpoint handling, except for the SRQ in echo.c.
 *
 * The endpoints are synchronous: every call returns when its work is done. kping_on_end() is
 * called when a connection ends during the data phase.
 */
#include "kping.h"

#define KPING_MAGIC	0x6b70696e	/* "kpin" */
#define KPING_BACKLOG	128
#define KPING_MAX_READS	16		/* READs in flight */

/* A client's parameters, in its connection request (not in mode rping) */
struct kping_hello {
	__be32 magic;
	u8 mode;
	u8 op;
	u8 verify;
	u8 reserved;
	__be32 count;
	__be32 size;
	__be32 depth;
};

static void kping_on_end(struct rdma_ep *ep, int error)
{
	kping_fail(rdma_ep_context(ep), error);
}

static const struct kping_ops *kping_find_ops(const struct kping_cmd *cmd)
{
	switch (cmd->mode) {
	case KPING_PINGPONG:
		return cmd->server ? &kping_echo_ops : &kping_ping_ops;
	case KPING_SRQ:
		return cmd->server ? &kping_wait_ops : &kping_ping_ops;
	case KPING_STREAM:
		return cmd->server ? &kping_sink_ops : &kping_stream_ops;
	case KPING_CREATE:
	case KPING_CYCLE:
		return &kping_wait_ops;
	default:
		return &kping_rping_ops;
	}
}

static struct kping_conn *kping_conn_alloc(struct kping_run *run)
{
	struct kping_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->run = run;
	conn->cmd = run->cmd;
	conn->ops = kping_find_ops(&run->cmd);
	kping_data_init(conn);
	return conn;
}

static struct rdma_ep_qp_attr kping_qp_attr(struct kping_conn *conn)
{
	return (struct rdma_ep_qp_attr) {
		.poll_ctx = conn->cmd.poll,
		.init = {
			.qp_context = conn,
			.qp_type = IB_QPT_RC,
			.sq_sig_type = IB_SIGNAL_REQ_WR,
			.cap = {
				.max_send_wr = conn->cmd.depth + KPING_TALK_WRS,
				.max_recv_wr = conn->cmd.depth + KPING_TALK_WRS,
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
		},
	};
}

static struct rdma_conn_param kping_param(const struct kping_conn *conn)
{
	const struct ib_device_attr *dev = &rdma_ep_device(conn->ep)->attrs;
	int reads = conn->cmd.mode == KPING_STREAM ? KPING_MAX_READS : 1;

	return (struct rdma_conn_param) {
		.responder_resources = min(reads, dev->max_qp_rd_atom),
		.initiator_depth = min(reads, dev->max_qp_init_rd_atom),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static int kping_prepare(struct kping_conn *conn)
{
	conn->qp = rdma_ep_qp(conn->ep);
	conn->send_cq = rdma_ep_send_cq(conn->ep);
	conn->recv_cq = rdma_ep_recv_cq(conn->ep);
	strscpy(conn->run->result.device, dev_name(&conn->qp->device->dev),
		sizeof(conn->run->result.device));
	return conn->ops->prepare ? conn->ops->prepare(conn) : 0;
}

/* Creates an endpoint, without connecting it. */
struct kping_conn *kping_create(struct kping_run *run)
{
	struct kping_conn *conn = kping_conn_alloc(run);
	struct rdma_ep_qp_attr qp;
	struct rdma_ep_attr attr = {
		.net = run->net,
		.dst = (struct sockaddr *)&run->cmd.addr,
		.timeout_ms = run->cmd.timeout,
		.qp = &qp,
		.context = conn,
	};
	int ret;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	qp = kping_qp_attr(conn);
	conn->ep = rdma_ep_create(&attr);
	if (IS_ERR(conn->ep)) {
		ret = PTR_ERR(conn->ep);
		kfree(conn);
		return ERR_PTR(ret);
	}
	ret = kping_prepare(conn);
	if (!ret)
		return conn;

	kping_close(conn);
	return ERR_PTR(ret);
}

struct kping_conn *kping_connect(struct kping_run *run)
{
	struct kping_conn *conn = kping_create(run);
	struct kping_hello hello = {
		.magic = cpu_to_be32(KPING_MAGIC),
		.mode = run->cmd.mode,
		.op = run->cmd.op,
		.verify = run->cmd.verify,
		.count = cpu_to_be32(run->cmd.count),
		.size = cpu_to_be32(run->cmd.size),
		.depth = cpu_to_be32(run->cmd.depth),
	};
	struct rdma_conn_param param;
	int ret;

	if (IS_ERR(conn))
		return conn;
	param = kping_param(conn);
	if (run->cmd.mode != KPING_RPING) {
		param.private_data = &hello;
		param.private_data_len = sizeof(hello);
	}
	ret = rdma_ep_connect(conn->ep, &param, run->cmd.timeout);
	if (!ret) {
		rdma_ep_on_end(conn->ep, kping_on_end);
		return conn;
	}

	kping_close(conn);
	return ERR_PTR(ret);
}

struct rdma_ep *kping_listen(struct kping_run *run)
{
	struct rdma_ep_attr attr = { .net = run->net, .src = (struct sockaddr *)&run->cmd.addr };
	struct rdma_ep *listener;
	int ret;

	listener = rdma_ep_create(&attr);
	if (IS_ERR(listener))
		return listener;
	ret = kping_srq_create(run, listener) ?:
	      rdma_ep_listen(listener, KPING_BACKLOG);
	if (ret) {
		kping_unlisten(run, listener);
		return ERR_PTR(ret);
	}
	return listener;
}

void kping_unlisten(struct kping_run *run, struct rdma_ep *listener)
{
	kping_srq_destroy(run, listener);
	rdma_ep_destroy(listener);
}

/* Uses the client's parameters if they fit the server's mode and limits. */
static int kping_read_hello(struct kping_conn *conn)
{
	const struct rdma_conn_param *param =
		&rdma_ep_event(conn->ep)->param.conn;
	const struct kping_hello *hello = param->private_data;
	struct kping_cmd *cmd = &conn->cmd;

	if (cmd->mode == KPING_RPING)
		return 0;
	if (param->private_data_len < sizeof(*hello) ||
	    be32_to_cpu(hello->magic) != KPING_MAGIC ||
	    hello->mode != cmd->mode || hello->op >= KPING_NR_OPS ||
	    be32_to_cpu(hello->size) > cmd->size ||
	    be32_to_cpu(hello->depth) > cmd->depth)
		return -EPROTO;
	cmd->op = hello->op;
	cmd->verify = hello->verify;
	cmd->count = be32_to_cpu(hello->count);
	cmd->size = be32_to_cpu(hello->size);
	cmd->depth = be32_to_cpu(hello->depth);
	return 0;
}

/* @ep: a request. The connection owns it, and a failure destroys it. */
struct kping_conn *kping_accept(struct kping_run *run, struct rdma_ep *ep)
{
	struct kping_conn *conn = kping_conn_alloc(run);
	struct rdma_conn_param param;
	struct rdma_ep_qp_attr qp;
	int ret;

	if (!conn) {
		rdma_ep_destroy(ep);
		return ERR_PTR(-ENOMEM);
	}
	conn->ep = ep;
	rdma_ep_set_context(ep, conn);
	ret = kping_read_hello(conn);
	if (ret) {
		rdma_ep_reject(ep, NULL, 0);
		goto err_close;
	}
	qp = kping_qp_attr(conn);
	ret = rdma_ep_create_qp(ep, &qp);
	if (!ret)
		ret = kping_prepare(conn);
	if (ret)
		goto err_close;

	param = kping_param(conn);
	ret = rdma_ep_accept(ep, &param, run->cmd.timeout);
	/* Before a peer disconnected, completion handlers may have served it. */
	if (!ret || ret == -ECONNRESET) {
		rdma_ep_on_end(ep, kping_on_end);
		return conn;
	}

err_close:
	kping_close(conn);
	return ERR_PTR(ret);
}

/*
 * Frees the memory after the QP, so that the device does not use it any more, and
 * before the endpoint, which holds the device.
 */
void kping_close(struct kping_conn *conn)
{
	rdma_ep_disconnect(conn->ep, conn->cmd.timeout);
	if (conn->qp) {
		kping_data_stop(conn);
		rdma_ep_destroy_qp(conn->ep);
		if (conn->ops->release)
			conn->ops->release(conn);
		conn->run->result.rounds += atomic_read(&conn->rounds.value);
		conn->run->result.verified += conn->verified;
	}
	rdma_ep_destroy(conn->ep);
	kfree(conn);
}
