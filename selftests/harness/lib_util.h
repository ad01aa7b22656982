/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of the library check it against the manual pages. They are built twice: with -lrdma_ep, and
 * as NAME.stock with -lrdmacm -libverbs, which shows that their expectations are right.
 *
 * The functions return 0 or -1, and print errors on stderr.
 */
#ifndef RDMA_EP_LIB_UTIL_H
#define RDMA_EP_LIB_UTIL_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "stock.h"

#define WAIT_MS		(24000 * TEST_SCALE)	/* time limit of expected events */
#define QUIET_MS	100	/* the wait for events that must not happen */

/* The call returns -1 and this errno. */
#define FAILS(_errno, _call) ({ \
	errno = 0; \
	long ret_ = (long)(_call); \
	int errno_ = errno; \
	int ok_ = ret_ == -1 && errno_ == (_errno); \
	if (!ok_) \
		lib_say(__FILE__, __LINE__, "%s: returned %ld, errno %d (%s)", \
			#_call, ret_, errno_, strerror(errno_)); \
	ok_; })

/* The same for calls that return a pointer. */
#define FAILS_NULL(_errno, _call) ({ \
	errno = 0; \
	const void *ret_ = (_call); \
	int errno_ = errno; \
	int ok_ = !ret_ && errno_ == (_errno); \
	if (!ok_) \
		lib_say(__FILE__, __LINE__, "%s: returned %p, errno %d (%s)", \
			#_call, ret_, errno_, strerror(errno_)); \
	ok_; })

void lib_say(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* For functions that return 0 or -1: reports a failed call, and returns -1. */
#define DO(_call) do { \
	if (_call) { \
		lib_say(__FILE__, __LINE__, "%s: %s", #_call, strerror(errno)); \
		return -1; \
	} \
} while (0)

/* The address of the RDMA device: $RDMA_ADDR, or that of the first device found */
struct sockaddr_in lib_addr(uint16_t port);
bool lib_addr6(struct sockaddr_in6 *sin6);
#define SA(_addr) ((struct sockaddr *)(_addr))

/* The context of the device with that address, or NULL */
struct ibv_context *lib_context(void);
bool lib_iwarp(struct ibv_context *context);

/* An id that is bound to that device. @channel: NULL for a synchronous id */
struct rdma_cm_id *lib_bound_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* An address handle for an unconnected id's own address */
struct ibv_ah *lib_own_ah(struct rdma_cm_id *id);

void *lib_symbol(const char *name);
/* The number of names, in a list that ends with NULL, which have no function */
int lib_missing(const char *const *names);
#define MISSING(...)	lib_missing((const char *const []) { __VA_ARGS__, NULL })

#define MEMBER_IS(_struct, _member, _type) \
	__builtin_types_compatible_p(typeof(((struct _struct *)0)->_member), \
				     _type)

/* The stock library of siw checks less than others, and returns other errnos. */
static inline bool is_libsiw(struct ibv_context *context)
{
	return is_stock() && lib_iwarp(context);
}

bool lib_readable(int fd, int ms);
#define lib_quiet(_fd) (!lib_readable(_fd, QUIET_MS))

/* Takes the next event, which must be of this type. lib_event() acknowledges it, too. */
struct rdma_cm_event *lib_get_event(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type);
int lib_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* Polls until there are n completions. */
int lib_wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int n);
/* The next completion. Its status is IBV_WC_GENERAL_ERR if none arrives. */
struct ibv_wc lib_next_wc(struct ibv_cq *cq);
/* Waits for the data: over iWARP a WRITE arrives shortly after its completion. */
bool lib_arrived(const void *at, const void *data, size_t len);
bool lib_no_wc(struct ibv_cq *cq);
/* Takes and acknowledges the next event. Returns its CQ (and the CQ's context), or NULL. */
struct ibv_cq *lib_cq_event(struct ibv_comp_channel *channel);
struct ibv_cq *lib_cq_event_context(struct ibv_comp_channel *channel, void **context);
/* Sends up to 16 bytes, and waits for the completion. */
int lib_send(struct rdma_cm_id *id, const void *msg, size_t len);

enum ibv_qp_state lib_qp_state(struct ibv_qp *qp);

/*
 * The QP's state, or @expected if the device does not report it: iWARP has only a
 * counterpart of "connected", and siw of old kernels always reports RESET to the stock library.
 * If @expected is not RTS this waits until the QP leaves RTS.
 */
enum ibv_qp_state lib_qp_state_as(struct ibv_qp *qp, enum ibv_qp_state expected);
#define EXPECT_QPS(_state, _qp) \
	EXPECT_EQ(_state, lib_qp_state_as(_qp, _state))

/* RC, all sends signaled, 8 requests of 2 SGEs for each queue; without CQs, or with @cq for both */
struct ibv_qp_init_attr lib_qp_attr(void);
struct ibv_qp_init_attr lib_qp_attr_on(struct ibv_cq *cq);

static inline int lib_modify_qp(struct ibv_qp *qp, enum ibv_qp_state state)
{
	return ibv_modify_qp(qp, &(struct ibv_qp_attr) { .qp_state = state }, IBV_QP_STATE);
}

struct lib_thread {
	pthread_t thread;
	void *(*fn)(void *arg);
	void *arg;
	bool done;
};

int lib_start(struct lib_thread *t, void *(*fn)(void *arg), void *arg);
bool lib_still_blocked(struct lib_thread *t);
int lib_join(struct lib_thread *t, void **ret);

/* A connection with asynchronous ids. Each side has its own channel. */
struct pair {
	struct rdma_event_channel *ac, *pc;
	struct rdma_cm_id *listener, *a, *p;
	struct rdma_cm_event *request;		/* not yet acknowledged */
	struct sockaddr_in addr;
	enum rdma_port_space ps;
};

int pair_listen(struct pair *p);
int pair_resolve(struct pair *p);
int pair_qp(struct rdma_cm_id *id);
int pair_request(struct pair *p, struct rdma_conn_param *param);
int pair_ack(struct pair *p);
int pair_passive(struct pair *p);	/* request and acknowledge: the passive id, without a QP */
int pair_route(struct pair *p);		/* listen, and the active id with a route */
int pair_client(struct pair *p);	/* the same, and the active id's QP */
int pair_requested(struct pair *p);	/* the passive id with a QP */
int pair_accept(struct pair *p);	/* connects both ids */
int pair_up(struct pair *p);		/* all steps */
int pair_down(struct pair *p);		/* destroys all existing parts */

/* A connection of synchronous endpoints: rdma_create_ep(), rdma_get_request(), ... */
struct eps {
	struct rdma_cm_id *listener, *a, *p;
	struct ibv_qp_init_attr *passive_attr, *active_attr;
	struct ibv_pd *pd;
	struct rdma_conn_param *connect, *accept;
	/* The passive side's thread calls it. */
	void (*before_accept)(struct eps *e);
	int server_errno;
};

struct rdma_addrinfo *lib_rai(int flags, uint16_t port, int ps);
/* Connections of the listener have QPs of lib_qp_attr(). */
struct eps eps_with_qps(void);
int eps_listen(struct eps *e);
int eps_client(struct eps *e);		/* creates the active endpoint */
int eps_up(struct eps *e);
int eps_down(struct eps *e);

/* A datagram endpoint that sends to itself */
struct ud {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	char buf[128];		/* first half: receives, second half: "datagram" */
};

/* @srq: attributes of the endpoint's SRQ, or NULL. Returns -1 also on iWARP. */
int ud_up(struct ud *u, struct rdma_event_channel *channel, struct ibv_srq_init_attr *srq);
int ud_recv(struct ud *u, uint64_t wr_id);
int ud_send(struct ud *u, uint32_t qpn);
int ud_down(struct ud *u);

#endif
