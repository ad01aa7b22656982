/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kping: ping-pong and bandwidth between two ends of a connection, in the kernel.
 *
 *  main.c    the files in debugfs, threads
 *  cmd.c     commands and results as text
 *  run.c     the steps of a client and a server
 *  conn.c    connections
 *  data.c    posting, completions, waiting
 *  buf.c     memory
 *  talk.c    exchanging addresses of memory with the peer
 *  rping.c   the protocol of rping(1)
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
#define KPING_TALK_WRS	8	/* entries of a queue for acknowledgments, beside cmd.depth */

/* Also in struct kping_hello */
enum kping_mode {
	KPING_RPING,		/* READ, WRITE and SEND in the order of rping(1) */
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
 * struct kping_cmd - a command
 * @addr: address of the server
 * @server: run the server instead of the client
 * @verify: check all data
 * @mode: mode
 * @op: operation of a stream
 * @poll: context of completion handlers
 * @count: messages or rounds on every connection; endpoints (of a client)
 * @size: bytes of each; of a server: at most
 * @batch: requests posted in one call (stream)
 * @depth: requests in flight (stream)
 * @conns: number of connections; 0: a server runs until it is stopped
 * @timeout: limit of each step of connecting and disconnecting, ms
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
 * struct kping_result - result of a command
 * @device: name of the device
 * @ns: duration (of a client)
 * @conns: connections
 * @rounds: messages or rounds on all of them
 * @verified: number of @rounds that have been verified
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
 * @ref: held by the list and the file
 * @entry: in the list of runs
 * @id: number
 * @net: network namespace of the task that wrote the command
 * @cmd: the command
 * @task: thread, or NULL: kping_run_stop() has taken it
 * @done: completed at the end of the thread
 * @status: 0 or negative errno
 * @result: result
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
 * struct kping_counter - a counter for which a thread waits
 * @value: incremented by completion handlers
 * @target: wake the thread at this @value
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
 * @sg: mapping for the device
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
 * struct kping_advert - memory that the peer may read or write, in the format of rping(1)
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
 * struct kping_talk - exchange of adverts
 * @tx: message to send
 * @rx: message to receive
 * @rx_cqe: completion of @rx
 * @received: number of messages that have arrived
 * @heard: number of messages that the thread has read
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
 * @entry: in the list of the run's connections
 * @run: run that it is part of
 * @cmd: the run's command; of a server, with the parameters in the client's hello
 * @ops: functions of the mode
 * @mode: state of the mode
 * @ep: endpoint
 * @qp: QP of @ep
 * @send_cq: CQ of @qp
 * @recv_cq: CQ of @qp
 * @error: first error; -ECONNRESET after a disconnect by the peer
 * @wait: the thread waits here for counters and @error
 * @lock: held while posting
 * @closing: nothing may be posted any more
 * @cqe: completion of the thread's requests
 * @sent: number of those completions
 * @posted: number of those requests
 * @talk: adverts
 * @began: start of the data phase, ns
 * @ended: end of the data phase, ns
 * @rounds: number of finished rounds
 * @verified: number of @rounds that have been verified
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
 * struct kping_ops - functions of a mode, for a client or a server
 * @prepare: called with a QP before connecting: allocates memory, posts the first receives
 *	(optional). @release is called also if it fails
 * @start: called after connecting; must not wait for long (client)
 * @play: returns when all rounds are done (client)
 * @serve: returns after the client's disconnect, which is no error (server)
 * @release: called after the QP is destroyed (optional)
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
