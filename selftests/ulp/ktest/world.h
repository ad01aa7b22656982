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
extern char *kt_addr_text;	/* IPv4, the same as kt_addr() */
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
/* The test ends there, and is skipped. */
void kt_not_on_iwarp(struct kt *t, const char *reason);

/* ---- endpoints */

/**
 * struct kt_setup - attributes of a pair of endpoints; all may be 0
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

struct rdma_ep_qp_attr kt_qp(void);
/* rdma_ep_create(). @setup: NULL if all of it is 0 */
struct rdma_ep *kt_create_passive(const struct kt_setup *setup);
struct rdma_ep *kt_create_active(const struct kt_setup *setup, const struct sockaddr_storage *dst);

/* The endpoint that a call must return, destroyed after the test. */
#define kt_own(t, ep) \
	kt_own_ep(t, kbasename(__FILE__), __LINE__, #ep, ep)
struct rdma_ep *kt_own_ep(struct kt *t, const char *file, int line, const char *what,
			  struct rdma_ep *ep);
/* A call that must not return an endpoint, but @want. */
#define kt_expect_no_ep(t, want, ep) \
	kt_check_no_ep(t, kbasename(__FILE__), __LINE__, #ep, want, ep)
bool kt_check_no_ep(struct kt *t, const char *file, int line, const char *what, long want,
		    struct rdma_ep *ep);
/* If there is one: now. */
void kt_destroy(struct kt *t, struct rdma_ep *ep);

struct rdma_ep *kt_passive(struct kt *t, const struct kt_setup *setup);
struct rdma_ep *kt_active(struct kt *t, const struct kt_setup *setup, struct rdma_ep *listener);
struct rdma_ep *kt_active_to(struct kt *t, const struct kt_setup *setup,
			     const struct sockaddr_storage *dst);

/* ---- parts of endpoints, destroyed after the test */

struct rdma_ep_channel *kt_channel(struct kt *t, rdma_ep_event_fn fn, void *context);
struct ib_pd *kt_pd(struct kt *t, struct ib_device *dev);
struct ib_cq *kt_cq(struct kt *t, struct ib_device *dev, enum ib_poll_context ctx);

/* ---- pairs of endpoints */

/**
 * struct kt_pair - two endpoints that talk to each other
 * @setup: their attributes
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
	struct kt_call *connect;
};

/* Step by step. The client of the first one does not connect. */
void kt_pair_client(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
void kt_pair_listen(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
void kt_pair_request(struct kt *t, struct kt_pair *p);
void kt_pair_accept(struct kt *t, struct kt_pair *p);
/* Request and accept; listen, request and accept. */
void kt_pair_connect(struct kt *t, struct kt_pair *p);
void kt_pair_open(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
/* Both disconnect: each waits for the other. */
void kt_pair_disconnect(struct kt *t, struct kt_pair *p);
void kt_pair_close(struct kt *t, struct kt_pair *p);

/* ---- calls for kt_call() */

int kt_call_create(struct kt_args *args);
int kt_call_get_request(struct kt_args *args);
int kt_call_connect(struct kt_args *args);
int kt_call_accept(struct kt_args *args);
int kt_call_disconnect(struct kt_args *args);
int kt_call_slots(struct kt_args *args);
int kt_call_get_event(struct kt_args *args);
/* kt_call_connect() under way */
struct kt_call *kt_connect(struct kt *t, struct rdma_ep *ep, unsigned int timeout_ms);

/**
 * struct kt_client - a client whose request has not been accepted yet
 * @ep: its endpoint
 * @connect: call of rdma_ep_connect()
 */
struct kt_client {
	struct rdma_ep *ep;
	struct kt_call *connect;
};

struct kt_client kt_client(struct kt *t, struct rdma_ep *listener, unsigned int timeout_ms);

/* ---- work requests */

struct kt_io;

/**
 * struct kt_wr - a work request and its result
 * @cqe: its completion
 * @io: the list that it is in
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

/* Destroyed after the test, or before, but not before its endpoint. */
struct kt_io *kt_io_create(struct kt *t, struct ib_pd *pd);
int kt_io_recv(struct kt_io *io, struct rdma_ep *ep);
int kt_io_srq_recv(struct kt_io *io, struct ib_srq *srq);
int kt_io_send(struct kt_io *io, struct rdma_ep *ep);

/* ---- the rest of the machine */

/* Shell command, as root, in the initial namespaces. Its exit status. */
__printf(1, 2) int kt_shell(const char *fmt, ...);
/* The same of the script that makes devices: "add" makes the second one, with KT_ADDR2. */
extern char *kt_helper_script, *kt_kind;
#define kt_helper(fmt, ...) \
	kt_shell("exec /bin/bash %s %s " fmt, kt_helper_script, kt_kind, ##__VA_ARGS__)

#define KT_ADDR2	"10.77.0.1"	/* of the second device */

/* Removed after the test. */
void kt_second_device(struct kt *t);
/* The same of the mock device, whose operations kt_helper("fail ...") lets fail. */
void kt_mock_device(struct kt *t);
/* Its removal, for which the endpoints must be destroyed. @how: argument of the script */
struct kt_call *kt_remove(struct kt *t, const char *how);

/* Of "ip netns add NAME"; put after the test. */
struct net *kt_get_netns(struct kt *t, const char *name);

#endif /* KTEST_WORLD_H */
