/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench: what RDMA operations cost, through librdmacm and libibverbs only, so
 * that the same program runs on the stock libraries and on rdma_ep.
 *
 *  main.c    options, results
 *  conn.c    pairs of connected endpoints, both ends in this process
 *  calls.c   single calls
 *  cm.c      creating, connecting, holding many
 *  ping.c    one message back and forth
 *  stream.c  many in one direction
 *  srq.c     one SRQ with many connections
 *  share.c   processes that share a device
 *  lives.c   for counting system calls
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Entries of the queues of an endpoint that does work. */
#define BENCH_DEPTH	256

struct bench_options {
	const char *addr;	/* of the device */
	unsigned int scale;	/* divides how often things are done */
};

extern struct bench_options bench_options;

/* Ends the program: a benchmark with errors has no result. */
void bench_fail(const char *what) __attribute__((noreturn));

/*
 * The same for connections, which siw loses now and then, on any stack: it may not
 * see what comes just when a connection is made; and the stock libraries can not always
 * create a QP of siw while another thread does. The benchmark is tried again, and what
 * it has measured so far is not told.
 */
void bench_again(const char *what) __attribute__((noreturn));

/* ns */
uint64_t bench_now(void);

/* @n divided by the scale, at least @min */
unsigned int bench_times(unsigned int n, unsigned int min);

/*
 * What is measured is between these two; there is one result for each pair. An
 * emulator that has been told to (vm/profile.c) sees them as well: they are
 * instructions that do nothing.
 */
uint64_t bench_begin(void);
uint64_t bench_end(uint64_t begin);

/* One result: @name, ns for each of @n operations. */
void bench_result(const char *name, uint64_t ns, uint64_t n);

/* The same of @n single times, which are sorted: with percentiles. */
void bench_results(const char *name, uint64_t *ns, size_t n);

/* A sum of results that have been told, as bench_result() would tell it. */
void bench_sum(const char *name, uint64_t ns, uint64_t n);

/* A value that is no time. */
void bench_value(const char *name, const char *unit, double value);

/* Seen by strace(1): a system call with this name. */
void bench_trace(const char *what);

/* conn.c */

/**
 * struct bench_pair - two connected endpoints
 * @active: the one that connected
 * @passive: the other
 * @active_mr: all of @memory, for @active
 * @passive_mr: all of @memory, for @passive
 * @memory: BENCH_MEMORY bytes
 */
struct bench_pair {
	struct rdma_cm_id *active;
	struct rdma_cm_id *passive;
	struct ibv_mr *active_mr;
	struct ibv_mr *passive_mr;
	void *memory;
};

#define BENCH_MEMORY	(2 << 20)

/* Attributes of an endpoint with queues of @depth entries. */
struct ibv_qp_init_attr bench_attr(unsigned int depth);

struct rdma_addrinfo *bench_resolve(const char *port, bool passive);

/* A listener on @port for endpoints with @attr. */
struct rdma_cm_id *bench_listen(const char *port, struct ibv_qp_init_attr *attr);

/* Created, not connected; NULL if that fails. */
struct rdma_cm_id *bench_try_new(struct rdma_addrinfo *res, unsigned int depth);

/* The same, and must not fail. */
struct rdma_cm_id *bench_new(struct rdma_addrinfo *res, unsigned int depth);

/* Without access to memory. Needs nobody else. */
void bench_connect(struct rdma_cm_id *id);

/* The next request that @listener gets, accepted; it is not waited for. */
struct rdma_cm_id *bench_accept(struct rdma_cm_id *listener);

/* @n pairs on one listener, whose port is @port; the passive ends have @attr. */
struct rdma_cm_id *bench_pairs(struct bench_pair *pairs, unsigned int n,
			       const char *port, struct ibv_qp_init_attr *attr);

/* One of them, with queues of BENCH_DEPTH. */
struct rdma_cm_id *bench_one_pair(struct bench_pair *pair, const char *port);

void bench_end_pairs(struct bench_pair *pairs, unsigned int n, struct rdma_cm_id *listener);

/* Post @n receives of @len bytes each, in one list. */
void bench_post_recv(struct ibv_qp *qp, struct ibv_mr *mr, uint32_t len, unsigned int n);

/*
 * A request of @pair's active end: the first @len bytes of its memory, to or from what
 * receives are for. @sge is used as long as the request is.
 */
struct ibv_send_wr bench_wr(const struct bench_pair *pair, enum ibv_wr_opcode opcode,
			    uint32_t len, struct ibv_sge *sge);

/* Post @n sends of @wr's kind in one list, the last of which is signaled. */
void bench_post_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, unsigned int n);

/* How many completions @cq has now; looks at their status. */
unsigned int bench_poll(struct ibv_cq *cq);

/* Until @cq has had @n of them. Sleeps if there are none. */
void bench_wait(struct ibv_cq *cq, struct ibv_comp_channel *channel, unsigned int n);

/* ping.c: @rounds on a connection to @port, as the result @name */
void bench_ping(const char *name, const char *port, bool polling, unsigned int rounds);

/* The benchmarks. */
void bench_calls(void);
void bench_create_first(void);
void bench_create(void);
void bench_cycle(void);
void bench_rate_1(void);
void bench_rate_8(void);
void bench_idle(void);
void bench_ping_events(void);
void bench_ping_polling(void);
void bench_ping_beside(void);
void bench_streams(void);
void bench_share(void);
void bench_srq_1(void);
void bench_srq_16(void);
void bench_srq_256(void);
void bench_lives(void);
void bench_start(void);

#endif
