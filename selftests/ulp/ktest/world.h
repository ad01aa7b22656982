/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the tests: addresses, endpoints and pairs of them, work requests, a
 * second device, shell commands.
 */
#ifndef KTEST_WORLD_H
#define KTEST_WORLD_H

#include <linux/inet.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma_ep.h>

#include "harness.h"

/* Time limits, long enough for emulated CPUs */
#define KT_CALL_MS	10000	/* for a connection without obstacles */
#define KT_PROMPT_MS	5000	/* for the return of a wait after its end */
#define KT_WRS		16	/* entries of a queue */

/* ---- addresses */

int kt_world_init(void);
extern char *kt_addr_text;	/* kt_addr() as text */
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
/* On iWARP, ends the test, which counts as skipped. */
void kt_not_on_iwarp(struct kt *t, const char *reason);

/* ---- endpoints */

/**
 * struct kt_setup - attributes of a pair of endpoints; all may be 0
 * @net: their namespace; NULL: the initial one
 * @addr: address of the listener; NULL: kt_addr()
 * @ps: port space
 * @client_qp: QP of the client; NULL: kt_qp()
 * @server_qp: QP of the listener's requests; NULL: kt_qp()
 * @client_channel: channel of the client
 * @server_channel: channel of the listener
 * @connect: parameters of rdma_ep_connect()
 * @accept: parameters of rdma_ep_accept()
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
/* Call rdma_ep_create(). @setup: NULL if all of it is 0 */
struct rdma_ep *kt_create_passive(const struct kt_setup *setup);
struct rdma_ep *kt_create_active(const struct kt_setup *setup, const struct sockaddr_storage *dst);

/* Requires an endpoint, which is destroyed after the test. */
#define kt_own(t, ep) \
	kt_own_ep(t, kbasename(__FILE__), __LINE__, #ep, ep)
struct rdma_ep *kt_own_ep(struct kt *t, const char *file, int line, const char *what,
			  struct rdma_ep *ep);
/* Expects the error @want instead of an endpoint. */
#define kt_expect_no_ep(t, want, ep) \
	kt_check_no_ep(t, kbasename(__FILE__), __LINE__, #ep, want, ep)
bool kt_check_no_ep(struct kt *t, const char *file, int line, const char *what, long want,
		    struct rdma_ep *ep);
/* Destroys @ep now instead of after the test; NULL: does nothing. */
void kt_destroy(struct kt *t, struct rdma_ep *ep);

struct rdma_ep *kt_passive(struct kt *t, const struct kt_setup *setup);
struct rdma_ep *kt_active(struct kt *t, const struct kt_setup *setup, struct rdma_ep *listener);
struct rdma_ep *kt_active_to(struct kt *t, const struct kt_setup *setup,
			     const struct sockaddr_storage *dst);

/* ---- parts of endpoints, destroyed after the test */

struct rdma_ep_channel *kt_channel(struct kt *t, rdma_ep_event_fn fn, void *context);
/* Fails the test if an event comes within @ms milliseconds, and returns that event. May sleep. */
void kt_expect_no_event(struct kt *t, struct rdma_ep_channel *ch, unsigned int ms);
struct ib_pd *kt_pd(struct kt *t, struct ib_device *dev);
struct ib_cq *kt_cq(struct kt *t, struct ib_device *dev, enum ib_poll_context ctx);

/* ---- pairs of endpoints */

/**
 * struct kt_pair - two endpoints that connect to each other
 * @setup: their attributes
 * @listener: listener
 * @client: connects to @listener
 * @server: request of @listener
 * @connect: running call of rdma_ep_connect()
 */
struct kt_pair {
	struct kt_setup setup;
	struct rdma_ep *listener;
	struct rdma_ep *client;
	struct rdma_ep *server;
	struct kt_call *connect;
};

/* Single steps. kt_pair_client() listens and creates the client, but does not connect. */
void kt_pair_client(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
void kt_pair_listen(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
void kt_pair_request(struct kt *t, struct kt_pair *p);
void kt_pair_accept(struct kt *t, struct kt_pair *p);
/* kt_pair_connect() requests and accepts; kt_pair_open() also listens. */
void kt_pair_connect(struct kt *t, struct kt_pair *p);
void kt_pair_open(struct kt *t, struct kt_pair *p, const struct kt_setup *setup);
/* Disconnects both at the same time, as each waits for the other. */
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
struct kt_call *kt_connect(struct kt *t, struct rdma_ep *ep, unsigned int timeout_ms);

/**
 * struct kt_client - a client whose request has not been accepted yet
 * @ep: endpoint
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
 * @cqe: completion handler
 * @io: structure that contains it
 * @done: number of completions
 * @status: status of the last one
 */
struct kt_wr {
	struct ib_cqe cqe;
	struct kt_io *io;
	atomic_t done;
	enum ib_wc_status status;
};

/**
 * struct kt_io - work requests of a QP or SRQ, on one buffer
 * @dev: device of the QP or SRQ
 * @buf: the buffer
 * @dma: address of @buf for the device
 * @lkey: key of @buf
 * @posted: number of requests in @wr
 * @done: number of completions
 * @ok: number of successful completions
 * @gone: the endpoint has been destroyed
 * @late: number of completions after that
 * @fn: called by each completion handler, or NULL
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

/* Destroyed after the test, or with kt_undo() after its endpoint. */
struct kt_io *kt_io_create(struct kt *t, struct ib_pd *pd);
int kt_io_recv(struct kt_io *io, struct rdma_ep *ep);
int kt_io_srq_recv(struct kt_io *io, struct ib_srq *srq);
int kt_io_send(struct kt_io *io, struct rdma_ep *ep);

/* ---- the rest of the machine */

/* Returns the exit status of a shell command, run as root in the initial namespaces. */
__printf(1, 2) int kt_shell(const char *fmt, ...);
/* Runs the script that creates devices: "add" creates the second one, with KT_ADDR2. */
extern char *kt_helper_script, *kt_kind;
#define kt_helper(fmt, ...) \
	kt_shell("exec /bin/bash %s %s " fmt, kt_helper_script, kt_kind, ##__VA_ARGS__)

#define KT_ADDR2	"10.77.0.1"	/* address of the second device */

/* Creates the second device, which is removed after the test. */
void kt_second_device(struct kt *t);
/* Instead creates a mock device, whose operations kt_helper("fail ...") makes fail. */
void kt_mock_device(struct kt *t);
/* Starts removing the device, which waits for its endpoints. @how: argument of the script */
struct kt_call *kt_remove(struct kt *t, const char *how);

/* Returns the namespace of "ip netns add NAME", and puts it after the test. */
struct net *kt_get_netns(struct kt *t, const char *name);

#endif /* KTEST_WORLD_H */
