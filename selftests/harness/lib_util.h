/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the tests of the library's contracts. They are written against the manual
 * pages, and built twice: with -lrdma_ep, and as NAME.stock with -lrdmacm
 * -libverbs. The second shows that a test expects the right thing.
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

#define WAIT_MS		(24000 * TEST_SCALE)	/* for events that must happen */
#define QUIET_MS	100	/* for those that must not */

/* The call fails with this errno. (Stock: not called at all.) */
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

/* In functions that return 0 or -1: report the first failure, and return. */
#define DO(_call) do { \
	if (_call) { \
		lib_say(__FILE__, __LINE__, "%s: %s", #_call, strerror(errno)); \
		return -1; \
	} \
} while (0)

/* An address of the RDMA device's netdev: $RDMA_ADDR, or found. */
struct sockaddr_in lib_addr(uint16_t port);
bool lib_addr6(struct sockaddr_in6 *sin6);
#define SA(_addr) ((struct sockaddr *)(_addr))

/* The context of the device that has that address; NULL: none. */
struct ibv_context *lib_context(void);
bool lib_iwarp(struct ibv_context *context);

/* An id that is bound to that device; without a channel a synchronous one. */
struct rdma_cm_id *lib_bound_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* An unconnected id's own address, to send to. */
struct ibv_ah *lib_own_ah(struct rdma_cm_id *id);

/* The function of this name; how many of a list (NULL at its end) do not exist. */
void *lib_symbol(const char *name);
int lib_missing(const char *const *names);
#define MISSING(...)	lib_missing((const char *const []) { __VA_ARGS__, NULL })

/* Has this member of a structure that type? */
#define MEMBER_IS(_struct, _member, _type) \
	__builtin_types_compatible_p(typeof(((struct _struct *)0)->_member), \
				     _type)

/* The stock library of siw: checks less, and has errnos of its own. */
static inline bool is_libsiw(struct ibv_context *context)
{
	return is_stock() && lib_iwarp(context);
}

bool lib_readable(int fd, int ms);
#define lib_quiet(_fd) (!lib_readable(_fd, QUIET_MS))

/* The next event must be of this type. Status: 0 or not, as the type has it. */
struct rdma_cm_event *lib_get_event(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type);
int lib_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* Poll until there are n completions. */
int lib_wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int n);
/* The next one. If there is none its status is IBV_WC_GENERAL_ERR. */
struct ibv_wc lib_next_wc(struct ibv_cq *cq);
/*
 * Has the data arrived? A WRITE has arrived when it completes; over iWARP it arrives soon
 * after that.
 */
bool lib_arrived(const void *at, const void *data, size_t len);
bool lib_no_wc(struct ibv_cq *cq);
/* The CQ of the next event and its context, or NULL; the event is acknowledged. */
struct ibv_cq *lib_cq_event(struct ibv_comp_channel *channel);
struct ibv_cq *lib_cq_event_context(struct ibv_comp_channel *channel, void **context);
/* Up to 16 bytes, which have been sent when this returns. */
int lib_send(struct rdma_cm_id *id, const void *msg, size_t len);

enum ibv_qp_state lib_qp_state(struct ibv_qp *qp);

/*
 * The same, or the expected one where the device does not report it: iWARP has other
 * states, of which only "connected" has a counterpart, and siw of old kernels reports
 * RESET always. An end comes from the peer there, so this waits for it.
 */
enum ibv_qp_state lib_qp_state_as(struct ibv_qp *qp, enum ibv_qp_state expected);
#define EXPECT_QPS(_state, _qp) \
	EXPECT_EQ(_state, lib_qp_state_as(_qp, _state))

/* Signalled RC, 8 requests of 2 SGEs each way, CQs to be created; or both on @cq. */
struct ibv_qp_init_attr lib_qp_attr(void);
struct ibv_qp_init_attr lib_qp_attr_on(struct ibv_cq *cq);

static inline int lib_modify_qp(struct ibv_qp *qp, enum ibv_qp_state state)
{
	return ibv_modify_qp(qp, &(struct ibv_qp_attr) { .qp_state = state }, IBV_QP_STATE);
}

/* Threads for calls that block. */
struct lib_thread {
	pthread_t thread;
	void *(*fn)(void *arg);
	void *arg;
	bool done;
};

int lib_start(struct lib_thread *t, void *(*fn)(void *arg), void *arg);
bool lib_still_blocked(struct lib_thread *t);
int lib_join(struct lib_thread *t, void **ret);

/* A connection with asynchronous ids, each side with a channel of its own. */
struct pair {
	struct rdma_event_channel *ac, *pc;
	struct rdma_cm_id *listener, *a, *p;
	struct rdma_cm_event *request;		/* not acknowledged yet */
	struct sockaddr_in addr;
	enum rdma_port_space ps;
};

int pair_listen(struct pair *p);
int pair_resolve(struct pair *p);
int pair_qp(struct rdma_cm_id *id);
int pair_request(struct pair *p, struct rdma_conn_param *param);
int pair_ack(struct pair *p);
int pair_passive(struct pair *p);	/* the request is acknowledged: an id without a QP */
int pair_route(struct pair *p);		/* the active side's id, with a route */
int pair_client(struct pair *p);	/* the active side's id, with a route and a QP */
int pair_requested(struct pair *p);	/* its request, and a QP for that */
int pair_accept(struct pair *p);	/* both are connected */
int pair_up(struct pair *p);		/* all of it */
int pair_down(struct pair *p);		/* all that exists */

/* A connection of synchronous endpoints: create_ep, get_request, ... */
struct eps {
	struct rdma_cm_id *listener, *a, *p;
	struct ibv_qp_init_attr *passive_attr, *active_attr;
	struct ibv_pd *pd;
	struct rdma_conn_param *connect, *accept;
	/* for the passive side's thread */
	void (*before_accept)(struct eps *e);
	int server_errno;
};

struct rdma_addrinfo *lib_rai(int flags, uint16_t port, int ps);
/* Its connections have QPs of lib_qp_attr(). */
struct eps eps_with_qps(void);
int eps_listen(struct eps *e);
int eps_client(struct eps *e);		/* the active endpoint */
int eps_up(struct eps *e);
int eps_down(struct eps *e);

/* A datagram endpoint that sends to itself. */
struct ud {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	char buf[128];		/* the first half receives, the second half is "datagram" */
};

/* @srq: its attributes, or NULL. -1 also if iWARP has no datagrams */
int ud_up(struct ud *u, struct rdma_event_channel *channel, struct ibv_srq_init_attr *srq);
int ud_recv(struct ud *u, uint64_t wr_id);
/* To that QP. Returns the status of its completion. */
int ud_send(struct ud *u, uint32_t qpn);
int ud_down(struct ud *u);

#endif
