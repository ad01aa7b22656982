/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests have in common: addresses, endpoints and pairs of them, work
 * requests, a second device, shell commands.
 */
#ifndef KTEST_WORLD_H
#define KTEST_WORLD_H

#include <linux/inet.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma_ep.h>

#include "harness.h"

/* Bounds under emulation; natively it is a fraction. */
#define KT_CALL_MS	10000	/* a connection that nothing hinders */
#define KT_PROMPT_MS	5000	/* a wait that something has ended */
#define KT_WRS		16	/* entries of a queue */

/* ---- addresses */

int kt_world_init(void);
const struct sockaddr_storage *kt_addr(void);
const struct sockaddr_storage *kt_addr6(void);
struct sockaddr_storage kt_sa(const char *addr, u16 port);
struct sockaddr_storage kt_with_port(const struct sockaddr_storage *addr, u16 port);
u16 kt_port(const struct sockaddr_storage *addr);
bool kt_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
static inline const struct sockaddr *kt_ptr(const struct sockaddr_storage *addr)
{
	return (const struct sockaddr *)addr;
}

bool kt_iwarp(void);

/* ---- endpoints */

/**
 * struct kt_setup - how a pair of endpoints is to be; all may be 0
 * @net: their namespace; NULL: the initial one
 * @addr: address of the listener; NULL: kt_addr()
 * @ps: port space
 * @client_qp: of the client; NULL: kt_qp()
 * @server_qp: of the listener, for its requests; NULL: kt_qp()
 * @client_channel: of the client
 * @server_channel: of the listener
 * @connect: parameters
 * @accept: parameters
 */
struct kt_setup {
	struct net *net;
	const struct sockaddr_storage *addr;
	enum rdma_ucm_port_space ps;
	struct rdma_ep_qp_attr *client_qp;
	struct rdma_ep_qp_attr *server_qp;
	struct rdma_ep_channel *client_channel;
	struct rdma_ep_channel *server_channel;
	const struct rdma_conn_param *connect;
	const struct rdma_conn_param *accept;
};

/**
 * struct kt_pair - two endpoints that talk to each other
 * @setup: how
 * @listener: listens
 * @client: connects to it
 * @server: request of @listener
 * @connect: call of rdma_ep_connect() under way
 */
struct kt_pair {
	struct kt_setup setup;
	struct rdma_ep *listener;
	struct rdma_ep *client;
	struct rdma_ep *server;
	struct kt_call connect;
};

struct rdma_ep_qp_attr kt_qp(void);
struct rdma_ep *kt_passive(const struct kt_setup *setup);
struct rdma_ep *kt_active(const struct kt_setup *setup, struct rdma_ep *listener);
struct rdma_ep *kt_active_to(const struct kt_setup *setup, const struct sockaddr_storage *dst);
/* Step by step; each is false, and reported, if it failed. */
bool kt_pair_listen(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
bool kt_pair_request(struct kt *t, struct kt_pair *p);
bool kt_pair_accept(struct kt *t, struct kt_pair *p);
/* All of them. Nothing is left when it failed. */
bool kt_pair_open(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
/* Both disconnect: each waits for the other. */
bool kt_pair_disconnect(struct kt *t, struct kt_pair *p);
void kt_pair_close(struct kt *t, struct kt_pair *p);
/* If there is one. */
void kt_destroy(struct kt *t, struct rdma_ep *ep);

/* ---- calls for struct kt_call */

/**
 * struct kt_args - what the calls below are made with
 * @ep: endpoint
 * @channel: for kt_call_get_event()
 * @param: for connect and accept; NULL: none
 * @timeout_ms: of the wait
 * @attr: for kt_call_create()
 * @child: result of kt_call_get_request(), of kt_call_create()
 * @event: result of kt_call_get_event()
 */
struct kt_args {
	struct rdma_ep *ep;
	struct rdma_ep_channel *channel;
	const struct rdma_conn_param *param;
	unsigned int timeout_ms;
	const struct rdma_ep_attr *attr;
	struct rdma_ep *child;
	struct rdma_ep_cm_event *event;
};

int kt_call_create(void *args);
int kt_call_get_request(void *args);
int kt_call_connect(void *args);
int kt_call_accept(void *args);
int kt_call_disconnect(void *args);
int kt_call_get_event(void *args);

/* ---- work requests */

struct kt_io;

/**
 * struct kt_wr - a work request and what became of it
 * @cqe: its completion
 * @io: whose it is
 * @done: completions
 * @status: of the last
 */
struct kt_wr {
	struct ib_cqe cqe;
	struct kt_io *io;
	atomic_t done;
	enum ib_wc_status status;
};

/**
 * struct kt_io - work requests of a QP or SRQ, on one buffer
 * @dev: its device
 * @buf: the buffer
 * @dma: its address for the device
 * @lkey: its key
 * @posted: number of requests in @wr
 * @done: of them completed
 * @ok: of them with success
 * @gone: the endpoint has been destroyed
 * @late: completions after that
 * @fn: called in each completion, or NULL
 * @fn_arg: for @fn
 * @wr: the requests
 */
struct kt_io {
	struct ib_device *dev;
	void *buf;
	u64 dma;
	u32 lkey;
	unsigned int posted;
	atomic_t done;
	atomic_t ok;
	bool gone;
	atomic_t late;
	void (*fn)(void *arg);
	void *fn_arg;
	struct kt_wr wr[4 * KT_WRS];
};

#define KT_IO_SIZE	64	/* bytes of a message */

struct kt_io *kt_io_create(struct kt *t, struct ib_pd *pd);
void kt_io_destroy(struct kt *t, struct kt_io *io);
int kt_io_recv(struct kt_io *io, struct rdma_ep *ep);
int kt_io_srq_recv(struct kt_io *io, struct ib_srq *srq);
int kt_io_send(struct kt_io *io, struct rdma_ep *ep);

/* ---- the rest of the machine */

/* Shell command, as root, in the initial namespaces. Its exit status. */
__printf(1, 2) int kt_shell(const char *fmt, ...);
/*
 * The same with the script that knows how to make devices. "device add" makes
 * the second one, with KT_ADDR2.
 */
__printf(1, 2) int kt_helper(const char *fmt, ...);
int kt_call_helper(void *command);

#define KT_ADDR2	"10.77.0.1"	/* of the second device */
#define KT_NOBODY2	"10.77.0.99"	/* a neighbour of it that is not there */

bool kt_second_device(struct kt *t);
void kt_no_second_device(struct kt *t);

struct net *kt_get_netns(const char *name);

#endif /* KTEST_WORLD_H */
