// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client's connection to a server, made with calls that wait. on_end() runs when the
 * connection ends, so that device removal does not wait for the next request.
 */
#include <linux/slab.h>

#include "kvs.h"

#define CONNECT_MS	5000
#define REPLY_MS	5000

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kvs_client *client =
		container_of(wc->wr_cqe, struct kvs_client, send);

	if (wc->status != IB_WC_SUCCESS)
		client->error = -EIO;
	complete(&client->done);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kvs_client *client =
		container_of(wc->wr_cqe, struct kvs_client, recv);

	if (wc->status != IB_WC_SUCCESS)
		client->error = -EIO;
	client->len = wc->byte_len;
	complete(&client->done);
}

/* ---- connection */

/* One mapping for the request and for the reply behind it */
static int map(struct kvs_client *client)
{
	client->dev = rdma_ep_device(client->ep);
	client->dma = ib_dma_map_single(client->dev, client->msg, 2 * KVS_MSG_MAX,
					DMA_BIDIRECTIONAL);
	client->mapped = !ib_dma_mapping_error(client->dev, client->dma);
	return client->mapped ? 0 : -EIO;
}

static void unmap(struct kvs_client *client)
{
	if (client->mapped)
		ib_dma_unmap_single(client->dev, client->dma, 2 * KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	client->mapped = false;
}

static void on_end(struct rdma_ep *ep, int error)
{
	struct kvs_client *client = rdma_ep_context(ep);

	client->error = error == -ENODEV ? error : -ENOTCONN;
	complete_all(&client->done);
	schedule_work(&client->gone);
}

static void disconnect(struct kvs_client *client)
{
	mutex_lock(&client->lock);
	if (client->ep) {
		rdma_ep_destroy_qp(client->ep);
		unmap(client);
		rdma_ep_destroy(client->ep);
		client->ep = NULL;
	}
	mutex_unlock(&client->lock);
}

static void gone(struct work_struct *work)
{
	disconnect(container_of(work, struct kvs_client, gone));
}

static int connect(struct kvs_client *client, struct net *net, const struct sockaddr *addr)
{
	struct rdma_ep_qp_attr qp = RDMA_EP_RC_QP(1, 1, IB_POLL_SOFTIRQ);
	struct rdma_ep_attr attr = {
		.net = net,
		.dst = addr,
		.qp = &qp,
		.context = client,
	};
	int ret;

	client->ep = rdma_ep_create(&attr);
	if (IS_ERR(client->ep))
		return PTR_ERR(client->ep);
	ret = map(client) ?: rdma_ep_connect(client->ep, NULL, CONNECT_MS);
	if (ret)
		disconnect(client);
	else
		rdma_ep_on_end(client->ep, on_end);
	return ret;
}

/* Creates a connection. Requests on it are serialized. */
struct kvs_client *kvs_connect(struct net *net, const struct sockaddr *addr)
{
	struct kvs_client *client;
	int ret;

	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return ERR_PTR(-ENOMEM);
	mutex_init(&client->lock);
	init_completion(&client->done);
	INIT_WORK(&client->gone, gone);
	client->send.done = send_done;
	client->recv.done = recv_done;
	client->msg = kzalloc(2 * KVS_MSG_MAX, GFP_KERNEL);
	ret = client->msg ? connect(client, net, addr) : -ENOMEM;
	if (!ret)
		return client;
	kfree(client->msg);
	kfree(client);
	return ERR_PTR(ret);
}

void kvs_close(struct kvs_client *client)
{
	disconnect(client);
	/* Without an endpoint, on_end() cannot schedule it again. */
	cancel_work_sync(&client->gone);
	kfree(client->msg);
	kfree(client);
}

/* ---- requests */

static int post(struct kvs_client *client, size_t len)
{
	struct ib_qp *qp = rdma_ep_qp(client->ep);
	struct ib_sge sge = {
		.addr = client->dma + KVS_MSG_MAX,
		.length = KVS_MSG_MAX,
		.lkey = qp->pd->local_dma_lkey,
	};
	struct ib_recv_wr recv = { .wr_cqe = &client->recv, .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr send = {
		.wr_cqe = &client->send,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};
	int ret;

	ret = ib_post_recv(qp, &recv, NULL);
	if (ret)
		return ret;
	sge.addr = client->dma;
	sge.length = len;
	return ib_post_send(qp, &send, NULL);
}

/* The buffers belong to the device until both requests have completed. */
static int exchange(struct kvs_client *client, size_t len)
{
	unsigned long limit = msecs_to_jiffies(REPLY_MS);
	long left = limit;
	int ret, i;

	ib_dma_sync_single_for_device(client->dev, client->dma, 2 * KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	ret = post(client, len);
	for (i = 0; !ret && i < 2; i++) {
		left = wait_for_completion_killable_timeout(&client->done, limit);
		if (left <= 0)
			ret = left ?: -ETIMEDOUT;
	}
	/* Requests may still be in flight, so the connection cannot be used again. */
	if (ret && !client->error)
		client->error = ret;
	ib_dma_sync_single_for_cpu(client->dev, client->dma, 2 * KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	return client->error;
}

static size_t request(struct kvs_client *client, enum kvs_op op,
		      const char *key, const void *value, size_t len)
{
	struct kvs_msg *msg = client->msg;

	msg->version = KVS_VERSION;
	msg->op = op;
	msg->status = 0;
	msg->key_len = strlen(key);
	msg->value_len = cpu_to_be16(len);
	msg->tag = cpu_to_be16(++client->tag);
	memcpy(msg->data, key, msg->key_len);
	memcpy(msg->data + msg->key_len, value, len);
	return sizeof(*msg) + msg->key_len + len;
}

static ssize_t result(struct kvs_client *client, void *value)
{
	const struct kvs_msg *msg = (void *)client->msg + KVS_MSG_MAX;
	size_t len;

	if (client->len < sizeof(*msg) || be16_to_cpu(msg->tag) != client->tag)
		return -EPROTO;
	switch (msg->status) {
	case KVS_OK:
		break;
	case KVS_NOT_FOUND:
		return -ENOENT;
	case KVS_FULL:
		return -ENOSPC;
	default:
		return -EPROTO;
	}
	len = be16_to_cpu(msg->value_len);
	if (len > KVS_VALUE_MAX || client->len != sizeof(*msg) + len)
		return -EPROTO;
	if (value)
		memcpy(value, msg->data, len);
	return len;
}

/*
 * Executes @op with @key, and with @len bytes of @value for a put. @reply: NULL, or
 * room for a value. Returns the length of the value in the reply, -ENOENT, -ENOSPC,
 * -EPROTO if the reply is malformed, or the error that ended the connection:
 * -ENOTCONN, -ENODEV, -EIO, -ETIMEDOUT, -ERESTARTSYS (killed).
 */
ssize_t kvs_call(struct kvs_client *client, enum kvs_op op, const char *key,
		 const void *value, size_t len, void *reply)
{
	ssize_t ret;

	if (!*key || strlen(key) > KVS_KEY_MAX || len > KVS_VALUE_MAX)
		return -EINVAL;
	if (mutex_lock_killable(&client->lock))
		return -ERESTARTSYS;
	ret = client->error;
	if (!ret && !client->ep)
		ret = -ENOTCONN;
	if (!ret)
		ret = exchange(client, request(client, op, key, value, len));
	if (!ret)
		ret = result(client, reply);
	mutex_unlock(&client->lock);
	return ret;
}
