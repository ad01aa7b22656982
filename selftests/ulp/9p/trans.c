// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests and replies, and the interface to the 9P client.
 *
 * Each request takes a credit, which stands for a posted receive, and a send slot. Replies
 * arrive in any order, and the tag of a reply identifies its request. One credit is reserved
 * for flushes: requests of killed tasks, each of which needs a flush, may hold all others.
 */
#include <linux/fs_context.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/parser.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "p9.h"

#include <net/9p/transport.h>

/* A request that is being sent */
struct p9_send {
	struct ib_cqe cqe;
	struct p9_conn *conn;
	struct p9_req_t *req;		/* a reference: the device reads its memory */
	u64 dma;
};

/* Returns true to the one caller that removes @req from the list; that caller completes it. */
static bool take_pending(struct p9_conn *conn, struct p9_req_t *req)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&conn->lock, flags);
	taken = !list_empty(&req->req_list);
	list_del_init(&req->req_list);
	spin_unlock_irqrestore(&conn->lock, flags);
	return taken;
}

/* The semaphore of the request's credit */
static struct semaphore *credits_of(struct p9_conn *conn, const struct p9_req_t *req)
{
	return req->tc.id == P9_TFLUSH ? &conn->flush : &conn->credits;
}

/* ---- replies */

static int post_reply(struct p9_reply *r)
{
	struct ib_qp *qp = rdma_ep_qp(r->conn->ep);
	struct ib_sge sge = {
		.addr = r->dma,
		.length = r->conn->size,
		.lkey = qp->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &r->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(qp, &wr, NULL);
}

/* Sets @back to the semaphore whose credit is returned. The reply is the peer's, so check it. */
static int deliver(struct p9_conn *conn, const struct p9_reply *r, u32 len,
		   struct semaphore **back)
{
	const struct p9_header *head = r->data;
	struct p9_req_t *req;

	if (len < sizeof(*head) || le32_to_cpu(head->size) != len)
		return -EPROTO;
	req = p9_tag_lookup(conn->client, le16_to_cpu(head->tag));
	if (!req)
		return -EPROTO;
	if (take_pending(conn, req)) {
		*back = credits_of(conn, req);
		if (len <= req->rc.capacity) {
			memcpy(req->rc.sdata, r->data, len);
			req->rc.size = len;
			p9_client_cb(conn->client, req, REQ_STATUS_RCVD);
		} else {
			req->t_err = -EMSGSIZE;
			p9_client_cb(conn->client, req, REQ_STATUS_ERROR);
		}
	}
	p9_req_put(conn->client, req);
	return 0;
}

static void reply_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct p9_reply *r = container_of(wc->wr_cqe, struct p9_reply, cqe);
	struct p9_conn *conn = r->conn;
	struct semaphore *back = NULL;
	int ret;

	if (wc->status != IB_WC_SUCCESS) {
		rdma_ep_abort(conn->ep, -EIO);
		return;
	}
	ib_dma_sync_single_for_cpu(conn->dev, r->dma, conn->size, DMA_FROM_DEVICE);
	ret = deliver(conn, r, wc->byte_len, &back);
	if (ret)
		rdma_ep_abort(conn->ep, ret);
	ib_dma_sync_single_for_device(conn->dev, r->dma, conn->size, DMA_FROM_DEVICE);
	if (post_reply(r))
		rdma_ep_abort(conn->ep, -EIO);
	/* The next request relies on the receive, so return the credit after posting it. */
	if (back)
		up(back);
}

static int reply_init(struct p9_reply *r, struct p9_conn *conn)
{
	r->cqe.done = reply_done;
	r->conn = conn;
	r->data = kmalloc(conn->size, GFP_KERNEL);
	if (!r->data)
		return -ENOMEM;
	r->dma = ib_dma_map_single(conn->dev, r->data, conn->size, DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(conn->dev, r->dma))
		return post_reply(r);
	r->dma = 0;
	return -EIO;
}

/* The caller calls p9_replies_free(), also after a failure. */
int p9_replies_post(struct p9_conn *conn)
{
	u32 i;
	int ret = 0;

	conn->replies = kcalloc(conn->depth, sizeof(*conn->replies), GFP_KERNEL);
	if (!conn->replies)
		return -ENOMEM;
	for (i = 0; i < conn->depth && !ret; i++)
		ret = reply_init(&conn->replies[i], conn);
	return ret;
}

/* Called between destroying QP and endpoint: the device still exists. */
void p9_replies_free(struct p9_conn *conn)
{
	struct p9_reply *r = conn->replies;

	if (!r)
		return;
	for (; r < conn->replies + conn->depth; r++) {
		if (r->dma)
			ib_dma_unmap_single(conn->dev, r->dma, conn->size, DMA_FROM_DEVICE);
		kfree(r->data);
	}
	kfree(conn->replies);
	conn->replies = NULL;
}

static struct p9_req_t *first_pending(struct p9_conn *conn)
{
	struct p9_req_t *req;

	spin_lock_irq(&conn->lock);
	req = list_first_entry_or_null(&conn->pending, struct p9_req_t, req_list);
	if (req)
		list_del_init(&req->req_list);
	spin_unlock_irq(&conn->lock);
	return req;
}

/* deliver() and other callers of take_pending() may remove requests at the same time. */
void p9_fail_pending(struct p9_conn *conn, int error)
{
	struct p9_req_t *req;

	while ((req = first_pending(conn))) {
		req->t_err = error;
		up(credits_of(conn, req));
		p9_client_cb(conn->client, req, REQ_STATUS_ERROR);
	}
}

/* ---- requests */

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct p9_send *send = container_of(wc->wr_cqe, struct p9_send, cqe);
	struct p9_conn *conn = send->conn;

	if (wc->status != IB_WC_SUCCESS)
		rdma_ep_abort(conn->ep, -EIO);
	rdma_ep_put_slots(conn->ep, 1);
	ib_dma_unmap_single(conn->dev, send->dma, send->req->tc.size, DMA_TO_DEVICE);
	p9_req_put(conn->client, send->req);
	kfree(send);
}

static int post_send(struct p9_conn *conn, struct p9_send *send)
{
	struct ib_qp *qp = rdma_ep_qp(conn->ep);
	struct ib_sge sge = {
		.length = send->req->tc.size,
		.lkey = qp->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &send->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};
	int ret;

	send->dma = ib_dma_map_single(conn->dev, send->req->tc.sdata, sge.length, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->dev, send->dma))
		return -EIO;
	sge.addr = send->dma;
	ret = ib_post_send(qp, &wr, NULL);
	if (ret)
		ib_dma_unmap_single(conn->dev, send->dma, sge.length, DMA_TO_DEVICE);
	return ret;
}

/* The reply may arrive before this returns. */
static int send_request(struct p9_conn *conn, struct p9_req_t *req)
{
	struct p9_send *send;
	int ret;

	if (!conn->ep)
		return -EIO;
	ret = rdma_ep_wait_slots(conn->ep, 1, RDMA_EP_FOREVER);
	if (ret)
		return ret;
	ret = -ENOMEM;
	send = kzalloc(sizeof(*send), GFP_NOFS);
	if (!send)
		goto put_slot;
	send->cqe.done = send_done;
	send->conn = conn;
	send->req = req;
	p9_req_get(req);
	WRITE_ONCE(req->status, REQ_STATUS_SENT);
	spin_lock_irq(&conn->lock);
	list_add_tail(&req->req_list, &conn->pending);
	spin_unlock_irq(&conn->lock);
	ret = post_send(conn, send);
	if (!ret) {
		/* p9_fail_pending() may have run just before the request was in the list. */
		ret = rdma_ep_status(conn->ep);
		return ret && take_pending(conn, req) ? ret : 0;
	}
	p9_req_put(conn->client, req);
	kfree(send);
	/* Otherwise p9_fail_pending() has completed the request. */
	ret = take_pending(conn, req) ? ret : 0;
put_slot:
	rdma_ep_put_slots(conn->ep, 1);
	return ret;
}

/*
 * The 9P client hides a signal that was there before the request, so the task would wait for the
 * reply, perhaps for ever, and no further signal could end it. The flushes and clunks of an exiting
 * task get replies.
 */
static bool is_too_late(const struct p9_req_t *req)
{
	return __fatal_signal_pending(current) && req->tc.id != P9_TFLUSH &&
	       req->tc.id != P9_TCLUNK;
}

static int p9_ep_request(struct p9_client *client, struct p9_req_t *req)
{
	struct p9_conn *conn = client->trans;
	struct semaphore *credits = credits_of(conn, req);
	int ret;

	if (is_too_late(req) || down_killable(credits))
		return -ERESTARTSYS;
	down_read(&conn->sem);
	ret = send_request(conn, req);
	up_read(&conn->sem);
	if (ret)
		up(credits);
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/* Refuses: a request that has been sent needs a flush request. */
static int p9_ep_cancel(struct p9_client *client, struct p9_req_t *req)
{
	return 1;
}

/* @req has been flushed, so the server does not reply to it. */
static int p9_ep_cancelled(struct p9_client *client, struct p9_req_t *req)
{
	struct p9_conn *conn = client->trans;

	if (take_pending(conn, req)) {
		up(credits_of(conn, req));
		p9_req_put(client, req);
	}
	return 0;
}

/* ---- mounts */

#ifdef HAVE_FS_CONTEXT
static u16 port_of(const struct fs_context *fc)
{
	const struct v9fs_context *ctx = fc->fs_private;

	return ctx->rdma_opts.port;
}
#else
static u16 port_of(char *options)
{
	static const match_table_t tokens = { { 1, "port=%u" }, { 0, NULL } };
	substring_t args[MAX_OPT_ARGS];
	int port = P9_PORT;
	char *option;

	while ((option = strsep(&options, ",")))
		if (*option && match_token(option, tokens, args) == 1)
			match_int(&args[0], &port);
	return port;
}
#endif

static int mount_9p(struct p9_client *client, const char *addr, u16 port)
{
	struct p9_conn *conn;
	int ret;

	if (!addr)
		return -EINVAL;
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return -ENOMEM;
	conn->client = client;
	conn->size = min_t(u32, client->msize, P9_MAX_SIZE);
	conn->depth = clamp_t(u32, P9_REPLY_MEM / conn->size, 4, P9_MAX_DEPTH);
	sema_init(&conn->credits, conn->depth - 1);
	sema_init(&conn->flush, 1);
	init_rwsem(&conn->sem);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->pending);
	client->trans = conn;
	/* on_end() may disconnect the client before p9_connect() returns. */
	client->status = Connected;
	ret = p9_connect(conn, current->nsproxy->net_ns, addr, port);
	if (!ret)
		return 0;
	client->trans = NULL;
	kfree(conn);
	return ret;
}

#ifdef HAVE_FS_CONTEXT
static int p9_ep_create(struct p9_client *client, struct fs_context *fc)
{
	return mount_9p(client, fc->source, port_of(fc));
}
#else
static int p9_ep_create(struct p9_client *client, const char *addr, char *args)
{
	char *options = kstrdup(args ?: "", GFP_KERNEL);
	int ret;

	if (!options)
		return -ENOMEM;
	ret = mount_9p(client, addr, port_of(options));
	kfree(options);
	return ret;
}
#endif

static void p9_ep_close(struct p9_client *client)
{
	struct p9_conn *conn = client->trans;

	if (!conn)
		return;
	p9_client_disconnect(client);
	p9_disconnect(conn);
	/* Without an endpoint, on_end() cannot schedule it again. */
	cancel_work_sync(&conn->gone);
	p9_fail_pending(conn, -EIO);
	client->trans = NULL;
	kfree(conn);
}

static struct p9_trans_module p9_ep_trans = {
	.name = "rdma_ep",
	.maxsize = P9_MAX_SIZE,
	.owner = THIS_MODULE,
	.create = p9_ep_create,
	.close = p9_ep_close,
	.request = p9_ep_request,
	.cancel = p9_ep_cancel,
	.cancelled = p9_ep_cancelled,
};

static int __init p9_ep_init(void)
{
	v9fs_register_trans(&p9_ep_trans);
	return 0;
}
module_init(p9_ep_init);

static void __exit p9_ep_exit(void)
{
	v9fs_unregister_trans(&p9_ep_trans);
}
module_exit(p9_ep_exit);

MODULE_DESCRIPTION("9P transport on rdma_ep");
MODULE_LICENSE("GPL");
MODULE_ALIAS("9p-rdma_ep");
