/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differential run: one program that is linked with the stock libraries and makes a long
 * list of calls, most of them with an error. diff.sh runs it on the stock stack and on rdma_ep,
 * and compares its output line by line.
 *
 * A call prints
 *
 *	topic: function: case | answer
 *
 * An answer contains no values that differ from run to run: no addresses, handles, QP numbers,
 * times. Each topic runs in a process of its own. A crash or hang is an answer, too, and the
 * topic continues.
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
	DIFF_I,		/* a number, -1 and errno, or -errno */
	DIFF_X,		/* a number, and errno if it is not 0 */
};

#define ARRAY_SIZE(_array) (sizeof(_array) / sizeof((_array)[0]))

extern sigjmp_buf diff_jump;

void diff_begin(const char *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void diff_end(enum diff_kind kind, long value);
void diff_died(int signal);

/*
 * The last call crashed or hung. It may have held a lock of its object, which must
 * not be used again.
 */
extern bool diff_crashed;

/*
 * If the call dies, only the variables that it sets are undefined, as sigsetjmp()
 * saves the registers right before. -Wclobbered is off for that reason.
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

/* DIFF() for each kind of function. The value is that of the call. */
#define E(_call, ...)	DIFF(DIFF_E, #_call, _call, __VA_ARGS__)
#define P(_call, ...)	DIFF(DIFF_P, #_call, _call, __VA_ARGS__)
#define I(_call, ...)	DIFF(DIFF_I, #_call, _call, __VA_ARGS__)
#define X(_call, ...)	DIFF(DIFF_X, #_call, _call, __VA_ARGS__)
#define N(_call, ...)	({ (__typeof__(_call))DIFF(DIFF_N, #_call, _call, __VA_ARGS__); })
#define V(_call, ...)	((void)DIFF(DIFF_V, #_call, (_call, 0), __VA_ARGS__))

/* Prints a result of the last call: "LABEL = what | ...". */
void diff_value(const char *what, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints whether at least the requested value was granted. */
#define DIFF_GRANTED(_what, _granted, _asked) \
	diff_value(_what, "%s", (_granted) >= (_asked) ? "granted" : "less")

/* Preparations of the tested calls. A failure ends the topic. */
#define NEED(_cond) do { \
	errno = 0; \
	if (!(_cond)) \
		diff_failed(#_cond); \
} while (0)
void diff_failed(const char *what) __attribute__((noreturn));

/* Sets a shorter limit for the next call, which is expected to hang. */
void diff_hangs(int ms);

const char *diff_errno(int error);
const char *diff_state(enum ibv_qp_state state);

/*
 * Copies an object, with the private data of the library behind it. After the object
 * is destroyed, the copy serves as a stale pointer that can be read.
 */
void *diff_copy(const void *object);

/* A new context, and objects of a context */
struct ibv_context *diff_open(void);
struct ibv_pd *diff_pd(struct ibv_context *context);
struct ibv_cq *diff_cq(struct ibv_context *context, int cqe);
struct ibv_mr *diff_mr(struct ibv_pd *pd, void *buf, size_t len, int access);
struct ibv_qp_init_attr diff_qp_attr(struct ibv_cq *cq, enum ibv_qp_type type);
struct ibv_qp *diff_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type);
/* Capabilities for tests of QP creation */
#define DIFF_CAPS	12
extern const struct diff_caps {
	const char *what;
	struct ibv_qp_cap cap;
} diff_caps[DIFF_CAPS];
/* Synchronous ids: create, bind to the device; destroy with QP and SRQ */
struct rdma_cm_id *diff_id(enum rdma_port_space ps);
struct rdma_cm_id *diff_bound(enum rdma_port_space ps);
void diff_drop(struct rdma_cm_id *id);
/* Returns the path from the device to itself, over RDMA_ADDR. */
struct ibv_ah_attr diff_path(struct ibv_context *context);
/* Sets the attributes that a transition to state needs, and returns their mask. */
int diff_qp_to(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn,
	       struct ibv_qp_attr *attr);
/* Moves a QP to that state; RTR and later with the peer dest_qpn. */
void diff_move(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn);
const char *diff_wc(struct ibv_cq *cq);

/* Reads and acknowledges the next event of the channel, and returns it as text. */
const char *diff_event(struct rdma_event_channel *channel);

/* The topics. Each has a process of its own, and need not clean up. */
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
