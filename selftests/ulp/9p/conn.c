// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection of a 9P client: all of its endpoint handling.
 */
#include <linux/inet.h>

#include "p9.h"

#define CONNECT_MS	30000

/* Fails the requests that wait for a reply. */
static void on_end(struct rdma_ep *ep, int error)
{
	struct p9_conn *conn = rdma_ep_context(ep);

	p9_client_disconnect(conn->client);
	p9_fail_pending(conn, error);
	/* The removal of a device must not wait until the file system is unmounted. */
	schedule_work(&conn->gone);
}

static void gone(struct work_struct *work)
{
	p9_disconnect(container_of(work, struct p9_conn, gone));
}

int p9_connect(struct p9_conn *conn, struct net *net, const char *addr, u16 port)
{
	struct rdma_ep_qp_attr qp = RDMA_EP_RC_QP(conn->depth, conn->depth,
						  IB_POLL_SOFTIRQ);
	struct sockaddr_storage dst;
	struct rdma_ep_attr attr = {
		.net = net,
		.dst = (struct sockaddr *)&dst,
		.timeout_ms = CONNECT_MS,
		.qp = &qp,
		.context = conn,
	};
	char service[8];
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	ret = inet_pton_with_scope(net, AF_UNSPEC, addr, service, &dst);
	if (ret)
		return ret;
	conn->ep = rdma_ep_create(&attr);
	if (IS_ERR(conn->ep))
		return PTR_ERR(conn->ep);
	INIT_WORK(&conn->gone, gone);
	conn->dev = rdma_ep_device(conn->ep);
	ret = p9_replies_post(conn) ?: rdma_ep_connect(conn->ep, NULL, CONNECT_MS);
	if (ret)
		p9_disconnect(conn);
	else
		rdma_ep_on_end(conn->ep, on_end);
	return ret;
}

/* Unmaps the memory between destroying QP and endpoint, as the endpoint holds the device. */
void p9_disconnect(struct p9_conn *conn)
{
	/* End the wait for slots in send_request(), which holds the semaphore. */
	down_read(&conn->sem);
	rdma_ep_abort(conn->ep, -ENOTCONN);
	up_read(&conn->sem);
	down_write(&conn->sem);
	if (conn->ep) {
		rdma_ep_destroy_qp(conn->ep);
		p9_replies_free(conn);
		rdma_ep_destroy(conn->ep);
		conn->ep = NULL;
	}
	up_write(&conn->sem);
}
