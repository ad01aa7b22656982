/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 9P over RDMA endpoints: mount -t 9p -o trans=rdma_ep,port=PORT ADDR DIR
 *
 * The wire protocol is that of trans=rdma: a connection in the port space TCP, without private
 * data; each message is a SEND.
 *
 *	conn.c		the connection
 *	trans.c		requests and replies; the interface to the 9P client
 */
#ifndef P9_H
#define P9_H

#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/9p/9p.h>
#include <net/9p/client.h>
#include <rdma_ep.h>

#define P9_PORT		5640		/* default port of a mount */
#define P9_MAX_SIZE	SZ_1M		/* bytes of a message */
#define P9_MAX_DEPTH	32		/* requests that may be unanswered */
#define P9_REPLY_MEM	SZ_4M		/* memory of all replies, which limits the depth */

/* The beginning of each message */
struct p9_header {
	__le32 size;
	u8 type;
	__le16 tag;
} __packed;

/**
 * struct p9_reply - a posted receive and its memory
 * @cqe: completion
 * @conn: connection
 * @data: memory, &p9_conn.size bytes
 * @dma: address of @data for the device, or 0
 */
struct p9_reply {
	struct ib_cqe cqe;
	struct p9_conn *conn;
	void *data;
	u64 dma;
};

/**
 * struct p9_conn - connection of a client
 * @client: client
 * @sem: held to post a request (read), to destroy @ep (write)
 * @ep: endpoint, NULL when it has been destroyed
 * @gone: destroys @ep
 * @dev: its device
 * @size: maximum size of a message
 * @depth: requests that may be unanswered
 * @replies: memory for their replies
 * @credits: receives that no request has reserved, except the one of @flush
 * @flush: one receive, for flushes only
 * @lock: protects @pending
 * @pending: requests that wait for a reply
 */
struct p9_conn {
	struct p9_client *client;
	struct rw_semaphore sem;	/* ep */
	struct rdma_ep *ep;
	struct work_struct gone;
	struct ib_device *dev;
	u32 size;
	u32 depth;
	struct p9_reply *replies;
	struct semaphore credits;
	struct semaphore flush;
	spinlock_t lock;	/* pending */
	struct list_head pending;
};

/* conn.c */
int p9_connect(struct p9_conn *conn, struct net *net, const char *addr, u16 port);
void p9_disconnect(struct p9_conn *conn);

/* trans.c */
int p9_replies_post(struct p9_conn *conn);
void p9_replies_free(struct p9_conn *conn);
void p9_fail_pending(struct p9_conn *conn, int error);

#endif /* P9_H */
