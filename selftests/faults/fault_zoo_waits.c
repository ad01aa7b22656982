// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of the zoo (fault_zoo.c) in which a thread waits.
 */
#include <poll.h>
#include <unistd.h>

#include "fault_zoo.h"

/* Time limit of resolving an address that does not answer */
#define RESOLVE_MS	60000

/* Waits for any event. */
static void read_event(struct task *t)
{
	struct rdma_ep_channel_event ev;

	read(t->fd, &ev, sizeof(ev));
}

static int listening(struct zoo *z, const char *what, void (*wait)(struct task *t))
{
	struct sockaddr_in sin;
	int channel;
	__u32 id;

	return zoo_listener(z, &channel, &id, &sin) ?:
	       zoo_task(z, what, wait, channel, id);
}

int zoo_event(struct zoo *z)
{
	return listening(z, "get_event", read_event);
}

/* Waits as rdma_get_request(3) does if the kernel does not wait for it. */
static void get_request(struct task *t)
{
	struct rdma_ep_cmd_get_request g = { .id = t->id };
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	int ret;

	do {
		poll(&p, 1, -1);
		ret = ABI(t->zoo->s.fd, GET_REQUEST, &g);
	} while (ret == -EAGAIN);
}

int zoo_request(struct zoo *z)
{
	return listening(z, "get_request", get_request);
}

static void read_comp(struct task *t)
{
	struct rdma_ep_comp_event ev;

	read(t->fd, &ev, sizeof(ev));
}

int zoo_comp(struct zoo *z)
{
	struct rdma_ep_cmd_notify_cq n = {};
	int channel = abi_comp_channel(&z->s);

	return abi_create_cq(&z->s, channel, 16, 7, &n.cq) ?:
	       ABI(z->s.fd, NOTIFY_CQ, &n) ?:
	       zoo_task(z, "get_cq_event", read_comp, channel, 0);
}

static void read_async(struct task *t)
{
	struct rdma_ep_async_event ev;

	read(t->fd, &ev, sizeof(ev));
}

int zoo_async(struct zoo *z)
{
	__u32 ctx;
	int fd;

	return abi_ctx(&z->s, &ctx, &fd) ?:
	       zoo_task(z, "get_async_event", read_async, fd, 0);
}

/* No peer answers, and the id has no device yet that could be removed. */
static void create_ep(struct task *t)
{
	struct rdma_ep_cmd_create_ep e = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP, .ps = RDMA_PS_TCP,
		.qp_type = QPT_RC, .addr_timeout_ms = RESOLVE_MS, .route_timeout_ms = RESOLVE_MS,
	};

	memcpy(&e.dst, &t->zoo->silent, sizeof(t->zoo->silent));
	abi_auto_qp(&e.qp);
	ABI(t->zoo->s.fd, CREATE_EP, &e);
}

int zoo_resolve(struct zoo *z)
{
	int channel = abi_channel(&z->s), i, ret = 0;
	struct sockaddr_in src, sin;
	__u32 id;

	for (i = 0; i < 4 && !ret; i++) {
		src = z->s.addr;
		zoo_nobody(z, &sin);
		ret = abi_tcp_id(&z->s, channel, i, &id);
		/* Bound to a device, or not */
		if (!ret && i % 2)
			ret = abi_bind(&z->s, id, &src);
		if (!ret)
			ret = abi_resolve_addr(&z->s, id, &sin, RESOLVE_MS);
	}
	if (ret)
		return ret;
	ret = zoo_task(z, "create_ep", create_ep, -1, 0);
	z->task[z->nr_tasks - 1].stays = true;
	return ret;
}

/* ---- waits inside the commands */

static void await_request(struct task *t)
{
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP | RDMA_EP_AWAIT,
		.id = t->id, .await_fd = t->fd,
	};

	abi_auto_qp(&g.qp);
	zoo_only_removal(t, ABI(t->zoo->s.fd, GET_REQUEST, &g));
}

static void await_resolve(struct task *t)
{
	struct rdma_ep_channel_event ev;
	struct rdma_ep_cmd_resolve_addr r = {
		.flags = RDMA_EP_AWAIT,
		.id = t->id,
		.timeout_ms = RESOLVE_MS,
		.await = { .event = (uintptr_t)&ev, .channel_fd = t->fd },
	};

	memcpy(&r.dst, &t->zoo->silent, sizeof(t->zoo->silent));
	zoo_only_removal(t, ABI(t->zoo->s.fd, RESOLVE_ADDR, &r));
}

int zoo_await(struct zoo *z)
{
	int channel[2] = { abi_channel(&z->s), abi_channel(&z->s) }, listener, ret;
	struct sockaddr_in sin, src = z->s.addr;
	__u32 id[2], request;

	ret = zoo_listener(z, &listener, &request, &sin) ?:
	      abi_tcp_id(&z->s, channel[0], 1, &id[0]) ?:
	      abi_bind(&z->s, id[0], &src) ?:
	      abi_tcp_id(&z->s, channel[1], 2, &id[1]) ?:
	      zoo_task(z, "get_request in the kernel", await_request, listener, request) ?:
	      zoo_task(z, "resolve_addr in the kernel", await_resolve, channel[0], id[0]);
	if (ret)
		return ret;
	/* Not bound to a device yet */
	ret = zoo_task(z, "resolve_addr without device", await_resolve, channel[1], id[1]);
	z->task[z->nr_tasks - 1].stays = true;
	return ret;
}
