/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kvs: a key-value store over RDMA, as an example of a protocol on rdma_ep.
 *
 *	conn.c		the server's connections: listener, SRQ, clients
 *	slot.c		buffers and completions of the server
 *	serve.c		executing requests
 *	store.c		keys and values
 *	client.c	a connection to a server, and requests on it
 *	load.c		many clients at once, everything verified
 *	main.c		module and debugfs
 */
#ifndef KVS_H
#define KVS_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma_ep.h>

#include "wire.h"

#define KVS_CLIENTS	64
/* Each client holds at most KVS_CREDITS slots, also one that never receives its replies. */
#define KVS_SLOTS	(KVS_CLIENTS * KVS_CREDITS)

/* ---- server */

/**
 * struct kvs_conn - a client; its endpoint's context
 * @ep: endpoint, NULL: free entry
 */
struct kvs_conn {
	struct rdma_ep *ep;
};

/**
 * struct kvs_slot - memory for one request, replaced by its reply
 * @recv: completion of the receive
 * @send: completion of the reply
 * @slots: the structure that contains it
 * @msg: %KVS_MSG_MAX bytes
 * @sge: the same for the device
 */
struct kvs_slot {
	struct ib_cqe recv;
	struct ib_cqe send;
	struct kvs_slots *slots;
	struct kvs_msg *msg;
	struct ib_sge sge;
};

/**
 * struct kvs_slots - receives for all clients
 * @dev: the device that uses them
 * @srq: the SRQ to which they are posted
 * @slot: the slots
 */
struct kvs_slots {
	struct ib_device *dev;
	struct ib_srq *srq;
	struct kvs_slot slot[KVS_SLOTS];
};

int kvs_slots_post(struct kvs_slots **out, struct ib_srq *srq);
void kvs_slots_free(struct kvs_slots *slots);
unsigned int kvs_slots_posted(void);

/**
 * struct kvs_server - a listener and its clients
 * @channel: events of all of them
 * @listener: owns the SRQ of all clients; NULL after the removal of its device
 * @slots: receives in that SRQ
 * @conns: clients
 * @thread: handles the events
 */
struct kvs_server {
	struct rdma_ep_channel *channel;
	struct rdma_ep *listener;
	struct kvs_slots *slots;
	struct kvs_conn conns[KVS_CLIENTS];
	struct task_struct *thread;
};

int kvs_server_start(struct kvs_server *srv, struct net *net, const struct sockaddr *addr);
void kvs_server_stop(struct kvs_server *srv);

size_t kvs_serve(struct kvs_msg *msg, size_t len);

int kvs_store_put(const u8 *key, size_t key_len, const u8 *value, size_t len);
ssize_t kvs_store_get(const u8 *key, size_t key_len, u8 *value);
int kvs_store_delete(const u8 *key, size_t key_len);
void kvs_store_clear(void);

/* ---- client */

/**
 * struct kvs_client - a connection to a server; one request at a time
 * @lock: serializes requests and the destruction of @ep
 * @ep: endpoint, NULL after the end of the connection
 * @gone: destroys @ep after a disconnect by the server or the removal of the device
 * @dev: the endpoint's device
 * @send: completion of the request
 * @recv: completion of the reply
 * @done: completed by @send and @recv each, and by the end of the connection
 * @error: first error; no request is possible after it
 * @len: length of the reply
 * @tag: tag of the latest request
 * @dma: address of @msg for the device
 * @mapped: @dma is valid
 * @msg: request, followed at %KVS_MSG_MAX by its reply
 */
struct kvs_client {
	struct mutex lock;	/* requests, ep */
	struct rdma_ep *ep;
	struct work_struct gone;
	struct ib_device *dev;
	struct ib_cqe send;
	struct ib_cqe recv;
	struct completion done;
	int error;
	u32 len;
	u16 tag;
	u64 dma;
	bool mapped;
	struct kvs_msg *msg;
};

struct kvs_client *kvs_connect(struct net *net, const struct sockaddr *addr);
ssize_t kvs_call(struct kvs_client *client, enum kvs_op op, const char *key,
		 const void *value, size_t len, void *reply);
void kvs_close(struct kvs_client *client);

/**
 * struct kvs_load - many clients at once
 * @net: network namespace
 * @addr: address of the server
 * @clients: number of clients, each a thread with a connection
 * @requests: number of requests of each client
 * @tried: clients that have tried to connect; requests begin when all have
 * @all_tried: woken then
 * @connected: clients that have connected
 * @replies: number of correct replies
 */
struct kvs_load {
	struct net *net;
	struct sockaddr_storage addr;
	unsigned int clients;
	unsigned int requests;
	atomic_t tried;
	wait_queue_head_t all_tried;
	atomic_t connected;
	atomic_t replies;
};

int kvs_load_run(struct kvs_load *load);

#endif /* KVS_H */
