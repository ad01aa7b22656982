/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench measures the costs of RDMA operations. It calls only librdmacm and libibverbs, so that the
 * same program runs on the stock libraries and on rdma_ep.
 *
 *  main.c    options, results
 *  conn.c    pairs of connected endpoints, both ends in this process
 *  calls.c   single calls
 *  cm.c      creation, connections, many endpoints
 *  ping.c    one message back and forth
 *  stream.c  many messages in one direction
 *  srq.c     one SRQ with many connections
 *  share.c   processes that share a device
 *  lives.c   system calls, counted by strace(1)
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Entries of the queues of an endpoint, unless it stays idle */
#define BENCH_DEPTH	256

struct bench_options {
	const char *addr;	/* address of the device */
	unsigned int scale;	/* divides the numbers of operations */
};

extern struct bench_options bench_options;

/* Ends the program with an error: a failed benchmark has no result. */
void bench_fail(const char *what) __attribute__((noreturn));

/*
 * Ends the benchmark without results, and main.c repeats it. On any stack siw sometimes loses
 * connections, as it may overlook a message that arrives while the connection is made. The stock
 * libraries sometimes fail to create a QP of siw while another thread creates one.
 */
void bench_again(const char *what) __attribute__((noreturn));

/* The time in ns */
uint64_t bench_now(void);

/* @n divided by the scale, at least @min */
unsigned int bench_times(unsigned int n, unsigned int min);

/*
 * Begin and end of a measurement, which has one result. They execute special no-ops that the
 * emulator's plugin (vm/profile.c) detects.
 */
uint64_t bench_begin(void);
uint64_t bench_end(uint64_t begin);

/* Prints a result: @ns / @n for each operation. */
void bench_result(const char *name, uint64_t ns, uint64_t n);

/* Prints the mean and percentiles of @n single times, and sorts them. */
void bench_results(const char *name, uint64_t *ns, size_t n);

/* Prints the sum of printed results, in the format of bench_result(). */
void bench_sum(const char *name, uint64_t ns, uint64_t n);

void bench_value(const char *name, const char *unit, double value);

/* Marks a place for strace(1): a system call with this path */
void bench_trace(const char *what);

/* conn.c */

/**
 * struct bench_pair - two connected endpoints
 * @active: the connecting endpoint
 * @passive: the accepting endpoint
 * @active_mr: region of @memory for @active
 * @passive_mr: region of @memory for @passive
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

struct ibv_qp_init_attr bench_attr(unsigned int depth);

struct rdma_addrinfo *bench_resolve(const char *port, bool passive);

/* A listener on @port, whose accepted endpoints have @attr */
struct rdma_cm_id *bench_listen(const char *port, struct ibv_qp_init_attr *attr);

/* A new endpoint, not connected; NULL on failure */
struct rdma_cm_id *bench_try_new(struct rdma_addrinfo *res, unsigned int depth);

/* The same; a failure ends the benchmark. */
struct rdma_cm_id *bench_new(struct rdma_addrinfo *res, unsigned int depth);

/* Connects, and waits until the peer has accepted. */
void bench_connect(struct rdma_cm_id *id);

struct rdma_cm_id *bench_accept(struct rdma_cm_id *listener);

/* Connects @n pairs by the returned listener on @port. The passive ends have @attr. */
struct rdma_cm_id *bench_pairs(struct bench_pair *pairs, unsigned int n,
			       const char *port, struct ibv_qp_init_attr *attr);

/* Connects one pair with queues of BENCH_DEPTH entries. */
struct rdma_cm_id *bench_one_pair(struct bench_pair *pair, const char *port);

void bench_end_pairs(struct bench_pair *pairs, unsigned int n, struct rdma_cm_id *listener);

/* Posts @n receives of @len bytes each, in one list. */
void bench_post_recv(struct ibv_qp *qp, struct ibv_mr *mr, uint32_t len, unsigned int n);

/*
 * A request of @pair's active end, between the first @len bytes of the memory and its second half,
 * where receives are. The request refers to @sge.
 */
struct ibv_send_wr bench_wr(const struct bench_pair *pair, enum ibv_wr_opcode opcode,
			    uint32_t len, struct ibv_sge *sge);

/* Posts @n copies of @wr in one list. Only the last one is signaled. */
void bench_post_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, unsigned int n);

/* Takes up to 16 completions, which must be successful; returns their number. */
unsigned int bench_poll(struct ibv_cq *cq);

/* Takes @n completions. Sleeps while the CQ is empty. */
void bench_wait(struct ibv_cq *cq, struct ibv_comp_channel *channel, unsigned int n);

/* ping.c: measures @rounds on a connection to @port, with the result @name. */
void bench_ping(const char *name, const char *port, bool polling, unsigned int rounds);

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
