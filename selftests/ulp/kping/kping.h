/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kping: ping-pong and bandwidth between two ends of a connection, in the kernel.
 *
 *  main.c    the files in debugfs, threads
 *  cmd.c     commands and results as text
 *  run.c     what a client and a server do
 *  conn.c    connections
 *  data.c    posting, completions, waiting
 *  buf.c     memory
 *  talk.c    telling the peer about memory
 *  rping.c   ... and the modes: what rping(1) does
 *  ping.c    client of a ping-pong
 *  echo.c    its server, also with an SRQ
 *  stream.c  client of a stream
 *  sink.c    its server
 *  cycle.c   endpoints and connections without messages
 */
#ifndef KPING_H
#define KPING_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/net_namespace.h>

#include <rdma_ep.h>

#define KPING_MAX_SIZE	SZ_1M	/* bytes of a message */
#define KPING_TALK_WRS	8	/* of a queue, beside those of the mode: for acknowledgments */

/* Also in struct kping_hello */
enum kping_mode {
	KPING_RPING,		/* READ, WRITE and SEND as rping(1) has it */
	KPING_PINGPONG,		/* SEND back and forth */
	KPING_SRQ,		/* the same on many connections and one SRQ */
	KPING_STREAM,		/* one direction, as many as possible */
	KPING_CREATE,		/* endpoints, not connected, one after the other */
	KPING_CYCLE,		/* connections, one after the other */
	KPING_NR_MODES
};

enum kping_op {
	KPING_SEND,
	KPING_WRITE,
	KPING_READ,
	KPING_NR_OPS
};

/**
 * struct kping_cmd - what is to be done
 * @addr: of the server
 * @server: be it
 * @verify: look at all data
 * @mode: what is played
 * @op: in a stream
 * @poll: context of completion handlers
 * @count: messages or rounds, on every connection; endpoints (of a client)
 * @size: bytes of each; of a server: at most
 * @batch: requests posted in one call (stream)
 * @depth: requests in flight (stream)
 * @conns: connections; of a server 0: until it is stopped
 * @timeout: for the peer's part in connecting and disconnecting, ms
 */
struct kping_cmd {
	struct sockaddr_storage addr;
	bool server;
	bool verify;
	enum kping_mode mode;
	enum kping_op op;
	enum ib_poll_context poll;
	u32 count;
	u32 size;
	u32 batch;
	u32 depth;
	u32 conns;
	u32 timeout;
};

/**
 * struct kping_result - what came of it
 * @device: that was used
 * @ns: time it took (of a client)
 * @conns: connections
 * @rounds: messages or rounds on all of them
 * @verified: of these
 */
struct kping_result {
	char device[IB_DEVICE_NAME_MAX];
	u64 ns;
	u32 conns;
	u64 rounds;
	u64 verified;
};

/**
 * struct kping_run - a command being executed
 * @ref: list and file
 * @entry: in the list of runs
 * @id: number
 * @net: network namespace of whoever gave the command
 * @cmd: the command
 * @task: thread; whoever takes it from here stops it
 * @done: completed with it
 * @status: 0 or negative errno
 * @result: what came of it
 * @srq: buffers in the SRQ of a server, or NULL
 */
struct kping_run {
	struct kref ref;
	struct list_head entry;
	unsigned int id;
	struct net *net;
	struct kping_cmd cmd;
	struct task_struct *task;
	struct completion done;
	int status;
	struct kping_result result;
	struct echo_pool *srq;
};

/**
 * struct kping_counter - that a thread waits for
 * @value: goes up in completion handlers
 * @target: wake the thread when it is reached
 */
struct kping_counter {
	atomic_t value;
	int target;
};

/**
 * struct kping_buf - memory that the device uses
 * @pd: protection domain
 * @data: memory
 * @size: its size
 * @sg: mapped for the device
 * @mr: registration, NULL: for local use only
 */
struct kping_buf {
	struct ib_pd *pd;
	void *data;
	size_t size;
	struct scatterlist sg;
	struct ib_mr *mr;
};

/**
 * struct kping_advert - "this is where you may read or write", as rping(1) says it
 * @addr: address
 * @rkey: key
 * @size: bytes
 */
struct kping_advert {
	__be64 addr;
	__be32 rkey;
	__be32 size;
};

/**
 * struct kping_talk - adverts back and forth
 * @tx: message that is sent
 * @rx: message that is received
 * @rx_cqe: its completion
 * @received: messages
 * @heard: of which the thread knows
 */
struct kping_talk {
	struct kping_buf tx;
	struct kping_buf rx;
	struct ib_cqe rx_cqe;
	struct kping_counter received;
	int heard;
};

/**
 * struct kping_conn - a connection
 * @entry: in the list of whoever has many
 * @run: run that it is part of
 * @cmd: what is played on it: the run's command; of a server with what the client
 *	wishes
 * @ops: of the mode
 * @mode: state of the mode
 * @ep: endpoint
 * @qp: its QP
 * @send_cq: its CQ
 * @recv_cq: its CQ
 * @error: first error, also that the peer has gone
 * @wait: the thread waits here for counters and @error
 * @lock: held while posting
 * @closing: nothing may be posted any more
 * @cqe: completion of what the thread posts
 * @sent: such completions
 * @posted: what they will be
 * @talk: adverts
 * @began: start of the data phase, ns
 * @ended: its end
 * @rounds: done
 * @verified: of these
 */
struct kping_conn {
	struct list_head entry;
	struct kping_run *run;
	struct kping_cmd cmd;
	const struct kping_ops *ops;
	void *mode;

	struct rdma_ep *ep;
	struct ib_qp *qp;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;

	int error;
	wait_queue_head_t wait;
	spinlock_t lock;	/* closing */
	bool closing;

	struct ib_cqe cqe;
	struct kping_counter sent;
	int posted;
	struct kping_talk talk;

	u64 began;
	u64 ended;
	struct kping_counter rounds;
	u64 verified;
};

/**
 * struct kping_ops - a mode, on one side
 * @prepare: the QP is there, not yet connected: memory and first receives (optional).
 *	@release is called if it fails, too
 * @start: connected; must not wait for long (client, optional)
 * @play: return when all rounds are done (client)
 * @serve: return when the client has gone, which is no error (server)
 * @release: the QP is gone (optional)
 */
struct kping_ops {
	int (*prepare)(struct kping_conn *conn);
	int (*start)(struct kping_conn *conn);
	int (*play)(struct kping_conn *conn);
	int (*serve)(struct kping_conn *conn);
	void (*release)(struct kping_conn *conn);
};

extern const struct kping_ops kping_rping_ops;
extern const struct kping_ops kping_ping_ops;
extern const struct kping_ops kping_echo_ops;
extern const struct kping_ops kping_stream_ops;
extern const struct kping_ops kping_sink_ops;

/* cmd.c */
int kping_parse(struct kping_cmd *cmd, struct net *net, char *text);
int kping_print(const struct kping_run *run, char *text, size_t size);

/* run.c */
int kping_client(struct kping_run *run);
int kping_server(struct kping_run *run);

/* conn.c */
struct rdma_ep *kping_listen(struct kping_run *run);
void kping_unlisten(struct kping_run *run, struct rdma_ep *listener);
struct kping_conn *kping_accept(struct kping_run *run, struct rdma_ep *ep);
struct kping_conn *kping_create(struct kping_run *run);
struct kping_conn *kping_connect(struct kping_run *run);
void kping_close(struct kping_conn *conn);

/* data.c */
extern const struct kping_ops kping_wait_ops;

static inline struct ib_send_wr kping_send_wr(struct ib_cqe *cqe, struct ib_sge *sge)
{
	return (struct ib_send_wr) {
		.wr_cqe = cqe,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = 1,
	};
}

void kping_data_init(struct kping_conn *conn);
void kping_data_stop(struct kping_conn *conn);
int kping_post_send(struct kping_conn *conn, const struct ib_send_wr *wr);
int kping_post_answer(struct kping_conn *conn, const struct ib_send_wr *wr);
int kping_post_recv(struct kping_conn *conn, struct ib_cqe *cqe, const struct kping_buf *buf);
void kping_fail(struct kping_conn *conn, int error);
bool kping_succeeded(struct kping_conn *conn, const struct ib_wc *wc);
void kping_count(struct kping_conn *conn, struct kping_counter *counter, int n);
int kping_wait(struct kping_conn *conn, struct kping_counter *counter, int target);
int kping_wait_end(struct kping_conn *conn);
int kping_submit(struct kping_conn *conn, struct ib_send_wr *wr);
int kping_flush(struct kping_conn *conn);

/* buf.c */
int kping_buf_alloc(struct ib_pd *pd, struct kping_buf *buf, size_t size);
int kping_buf_register(struct kping_conn *conn, struct kping_buf *buf, int access);
void kping_buf_free(struct kping_buf *buf);
void kping_buf_to_cpu(const struct kping_buf *buf);
void kping_buf_to_device(const struct kping_buf *buf);
struct ib_sge kping_sge(const struct kping_buf *buf, u32 length);
void kping_fill(struct kping_buf *buf, u32 length, u8 seed);
bool kping_check(struct kping_buf *buf, u32 length, u8 seed);
void kping_poison(struct kping_buf *buf);

/* talk.c */
int kping_talk_prepare(struct kping_conn *conn);
void kping_talk_release(struct kping_conn *conn);
int kping_say(struct kping_conn *conn, const struct kping_buf *buf);
int kping_hear(struct kping_conn *conn, struct kping_advert *advert);
int kping_read_access(const struct kping_conn *conn);
int kping_rdma(struct kping_conn *conn, enum ib_wr_opcode opcode,
	       const struct kping_buf *buf, const struct kping_advert *advert,
	       u32 length);

/* cycle.c */
int kping_cycles(struct kping_run *run);

/* echo.c */
int kping_srq_create(struct kping_run *run, struct rdma_ep *listener);
void kping_srq_destroy(struct kping_run *run, struct rdma_ep *listener);

#endif /* KPING_H */
