/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential run: one program that is linked with the stock libraries and makes a long
 * list of calls, most of them with something wrong. diff.sh runs it on the stock stack and on
 * rdma_ep and compares its output line by line.
 *
 * A call prints
 *
 *	topic: function: what about it | answer
 *
 * and the answer holds nothing that may differ from run to run: no addresses, handles, QP
 * numbers, times. Each topic runs in a process of its own. A call that crashes or hangs gets
 * that as its answer, and the topic goes on.
 */
#ifndef RDMA_EP_DIFF_H
#define RDMA_EP_DIFF_H

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_util.h"

enum diff_kind {
	DIFF_E,		/* 0, or -1 and errno */
	DIFF_P,		/* 0, or an errno */
	DIFF_N,		/* a pointer, or NULL and errno */
	DIFF_V,		/* nothing */
	DIFF_I,		/* a number; errno if it is -1, -errno by its name */
	DIFF_X,		/* a number, and errno if it is not 0 */
};

#define ARRAY_SIZE(_array) (sizeof(_array) / sizeof((_array)[0]))

extern sigjmp_buf diff_jump;

void diff_begin(const char *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void diff_end(enum diff_kind kind, long value);
void diff_died(int signal);

/*
 * Did the last call die? It may have held a lock of what it was called on, which
 * is then not to be used again.
 */
extern bool diff_crashed;

/*
 * A variable that the call sets is undefined if the call dies, but nothing else
 * is: registers are saved right before. (So -Wclobbered is off.)
 */
#define DIFF(_kind, _text, _call, ...) ({ \
	volatile long value_ = (_kind) == DIFF_N ? 0 : -1; \
	int signal_ = sigsetjmp(diff_jump, 1); \
	if (!signal_) { \
		diff_begin(_text, __VA_ARGS__); \
		value_ = (long)(_call); \
		diff_end(_kind, value_); \
	} else { \
		diff_died(signal_); \
	} \
	value_; })

/* DIFF(), by the type of the function. The call's value is passed on. */
#define E(_call, ...)	DIFF(DIFF_E, #_call, _call, __VA_ARGS__)
#define P(_call, ...)	DIFF(DIFF_P, #_call, _call, __VA_ARGS__)
#define I(_call, ...)	DIFF(DIFF_I, #_call, _call, __VA_ARGS__)
#define X(_call, ...)	DIFF(DIFF_X, #_call, _call, __VA_ARGS__)
#define N(_call, ...)	({ (__typeof__(_call))DIFF(DIFF_N, #_call, _call, __VA_ARGS__); })
#define V(_call, ...)	((void)DIFF(DIFF_V, #_call, (_call, 0), __VA_ARGS__))

/* Something that the last call has left behind: "... = what | ...". */
void diff_value(const char *what, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* At least what was asked for? */
#define DIFF_GRANTED(_what, _granted, _asked) \
	diff_value(_what, "%s", (_granted) >= (_asked) ? "granted" : "less")

/* What calls are tried on must work; if it does not the topic ends. */
#define NEED(_cond) do { \
	errno = 0; \
	if (!(_cond)) \
		diff_failed(#_cond); \
} while (0)
void diff_failed(const char *what) __attribute__((noreturn));

/* The next call is expected to hang: a shorter limit. */
void diff_hangs(int ms);

const char *diff_errno(int error);
const char *diff_state(enum ibv_qp_state state);

/*
 * A copy of an object with all that the library keeps behind it. Once the object
 * has been destroyed, the copy is what a stale pointer is, except that reading it
 * is defined.
 */
void *diff_copy(const void *object);

/* An open context of its own, and what hangs on it; made as needed. */
struct ibv_context *diff_open(void);
struct ibv_pd *diff_pd(struct ibv_context *context);
struct ibv_cq *diff_cq(struct ibv_context *context, int cqe);
struct ibv_mr *diff_mr(struct ibv_pd *pd, void *buf, size_t len, int access);
struct ibv_qp_init_attr diff_qp_attr(struct ibv_cq *cq, enum ibv_qp_type type);
struct ibv_qp *diff_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type);
/* Capabilities that QPs are created with */
#define DIFF_CAPS	12
extern const struct diff_caps {
	const char *what;
	struct ibv_qp_cap cap;
} diff_caps[DIFF_CAPS];
/* Synchronous ids: new, bound to the device's address; destroyed, with QP and SRQ. */
struct rdma_cm_id *diff_id(enum rdma_port_space ps);
struct rdma_cm_id *diff_bound(enum rdma_port_space ps);
void diff_drop(struct rdma_cm_id *id);
/* The path from the device to itself, over RDMA_ADDR. */
struct ibv_ah_attr diff_path(struct ibv_context *context);
/* The attributes that a transition to state needs, and their mask. */
int diff_qp_to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn,
	       struct ibv_qp_attr *attr);
/* Bring a QP to that state; RTR and later with dest_qpn at its other end. */
void diff_move(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn);
/* The next completion, as text. */
const char *diff_wc(struct ibv_cq *cq);

/* The next event of the channel, as text, acknowledged. */
const char *diff_event(struct rdma_event_channel *channel);

/* The topics. Each has a process of its own, and cleans up nothing. */
typedef void diff_topic(void);
diff_topic diff_topic_cm_channel, diff_topic_cm_id, diff_topic_cm_resolve,
	diff_topic_cm_addrinfo, diff_topic_cm_option, diff_topic_cm_conn, diff_topic_cm_accept,
	diff_topic_cm_qp, diff_topic_cm_srq, diff_topic_cm_ep, diff_topic_cm_mcast,
	diff_topic_cm_inline, diff_topic_dev, diff_topic_dev_query, diff_topic_pd,
	diff_topic_mr, diff_topic_cq, diff_topic_comp, diff_topic_srq, diff_topic_qp,
	diff_topic_qp_rc, diff_topic_qp_uc, diff_topic_qp_ud, diff_topic_post_recv,
	diff_topic_post_send, diff_topic_data, diff_topic_ah, diff_topic_mcast,
	diff_topic_async, diff_topic_cq_ex, diff_topic_qp_ex, diff_topic_ext, diff_topic_pure;

#endif
