/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault_load, the program into which faults are injected: it holds every state that may outlive
 * it, and checks every byte of its streams.
 */
#ifndef FAULT_H
#define FAULT_H

#include <signal.h>

#include "abi.h"

#define FAULT_WINDOW	16
#define FAULT_MSG	16384		/* the longest message */

/* Exit status of fault_load. */
enum {
	FAULT_OK,
	FAULT_FAILED,
	FAULT_BROKEN,	/* the connection ended */
	FAULT_WRONG,	/* received data differs from the sent data */
};

/* Set by SIGTERM and SIGUSR1 */
extern volatile sig_atomic_t fault_stop, fault_go;

/* Reproducible: the same seed (not 0) gives the same numbers. */
__u64 fault_random(__u64 *state);

/* Prints a line for the script. */
void fault_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * struct fault_end - one side of a checked stream
 * @s: session
 * @id: its id, connected
 * @qp: its QP
 * @send_cq: CQ of sends
 * @recv_cq: CQ of receives
 * @mr: memory: a window of receives, then one of sends
 * @buf: the same
 * @seed: of the contents, on both sides
 * @next: sequence number of the next message to arrive
 * @sent: messages posted
 * @posted: number of these that have not completed
 * @bad: FAULT_BROKEN or FAULT_WRONG
 * @status: completion status, or errno, of the failure
 *
 * The client sends, the server sends the messages back. Both check that messages arrive once and
 * in order, and that each byte is derived from the seed and the number of the message.
 */
struct fault_end {
	const struct abi *s;
	__u32 id;
	__u32 qp;
	__u32 send_cq;
	__u32 recv_cq;
	struct rdma_ep_cmd_reg_mr mr;
	char *buf;
	__u64 seed;
	__u64 next;
	__u64 sent;
	unsigned int posted;
	int bad;
	int status;
};

/* Registers memory and posts receives. Called before data can arrive. */
int fault_end_init(struct fault_end *e, const struct abi *s, __u32 pd, __u64 seed);
int fault_end_of(struct fault_end *e, const struct abi *s, const struct abi_end *from, __u64 seed);
void fault_end_unmap(struct fault_end *e);
/* Return the number of messages that made progress; the caller then checks @bad. */
int fault_client_step(struct fault_end *e, __u64 total);
int fault_server_step(struct fault_end *e);

/* Makes a connection, uses it and ends it. */
int fault_connect(const struct abi *s, __u64 seed);

/* Modes of the program, which return its exit status. */
int fault_stream(__u64 seed, int pause_us);
int fault_serve(int port);
int fault_send(const char *addr, int port, __u64 seed, __u64 messages, int retries);
int fault_zoo(__u64 seed, bool leave_netns, char **states);
int fault_storm(__u64 seed, int connections);
int fault_overrun(__u64 seed);
int fault_flood(__u64 seed);
int fault_exhaust(__u64 seed, int messages);

#endif /* FAULT_H */
