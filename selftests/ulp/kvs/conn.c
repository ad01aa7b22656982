// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server's connections: a listener with an SRQ, and its clients. One thread handles all
 * events, so no lock is needed.
 */
#include <linux/kthread.h>

#include "kvs.h"

static void add_conn(struct kvs_server *srv, struct rdma_ep *ep)
{
	struct kvs_conn *conn = srv->conns;

	while (conn->ep)
		if (++conn == srv->conns + KVS_CLIENTS)
			goto refuse;
	rdma_ep_set_context(ep, conn);
	if (rdma_ep_create_qp(ep, NULL) || rdma_ep_accept(ep, NULL, 0))
		goto refuse;
	conn->ep = ep;
	return;

refuse:
	rdma_ep_destroy(ep);
}

static void remove_conn(struct kvs_conn *conn)
{
	rdma_ep_destroy(conn->ep);
	conn->ep = NULL;
}

static void close_all(struct kvs_server *srv)
{
	unsigned int i;

	for (i = 0; i < KVS_CLIENTS; i++)
		remove_conn(&srv->conns[i]);
	/* Unmap the buffers before destroying the listener, which holds the device. */
	rdma_ep_destroy_srq(srv->listener);
	kvs_slots_free(srv->slots);
	rdma_ep_destroy(srv->listener);
	srv->slots = NULL;
	srv->listener = NULL;
}

static int handle_events(void *data)
{
	struct kvs_server *srv = data;
	struct rdma_ep_cm_event *event;

	while (!kthread_should_stop()) {
		event = rdma_ep_get_event(srv->channel, RDMA_EP_FOREVER);
		if (IS_ERR(event))
			continue;
		if (event->child)
			add_conn(srv, event->child);
		else if (event->status && event->ep == srv->listener)
			close_all(srv);
		else if (event->status)
			remove_conn(rdma_ep_context(event->ep));
		rdma_ep_ack_event(event);
	}
	return 0;
}

static int listen(struct kvs_server *srv, struct net *net, const struct sockaddr *addr)
{
	struct rdma_ep_qp_attr qp = RDMA_EP_RC_QP(KVS_CREDITS, 0, IB_POLL_WORKQUEUE);
	struct ib_srq_init_attr srq = { .attr.max_wr = KVS_SLOTS, .attr.max_sge = 1 };
	struct rdma_ep_attr attr = {
		.net = net,
		.src = addr,
		.qp = &qp,
		.channel = srv->channel,
	};

	srv->listener = rdma_ep_create(&attr);
	return PTR_ERR_OR_ZERO(srv->listener) ?:
	       rdma_ep_create_srq(srv->listener, NULL, &srq) ?:
	       kvs_slots_post(&srv->slots, rdma_ep_srq(srv->listener)) ?:
	       rdma_ep_listen(srv->listener, KVS_CLIENTS);
}

int kvs_server_start(struct kvs_server *srv, struct net *net, const struct sockaddr *addr)
{
	int ret;

	srv->channel = rdma_ep_channel_create(NULL, NULL);
	ret = PTR_ERR_OR_ZERO(srv->channel) ?: listen(srv, net, addr);
	if (!ret) {
		srv->thread = kthread_run(handle_events, srv, "kvs");
		ret = PTR_ERR_OR_ZERO(srv->thread);
	}
	if (ret) {
		close_all(srv);
		rdma_ep_channel_destroy(srv->channel);
	}
	return ret;
}

void kvs_server_stop(struct kvs_server *srv)
{
	kthread_stop(srv->thread);
	close_all(srv);
	rdma_ep_channel_destroy(srv->channel);
}
