/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that are read by record (queue.c), and the records of objects (node.c).
 */
#ifndef RDMA_EP_QUEUE_H
#define RDMA_EP_QUEUE_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct uep_cmd;
struct uep_obj;
struct uep_owner;
struct uep_queue;
struct uep_session;

/**
 * struct uep_queue_ops - a kind of queue
 * @name: of its files
 * @size: of a record
 * @typed: events have types (uep_node.types), and one of each is unread at most
 * @deliver: writes the next record. -EAGAIN: the queue is empty; -EFAULT: the record stays
 * @closed: optional: the file has been closed
 */
struct uep_queue_ops {
	const char *name;
	size_t size;
	bool typed;
	int (*deliver)(struct uep_queue *q, char __user *buf);
	void (*closed)(struct uep_queue *q);
};

/**
 * struct uep_queue - records for the user to read; first member of the structures around it
 * @ref: its files, and the objects that report to it
 * @rcu: delays the free: a late handler of a completion may still hold @lock
 * @ops: kind
 * @session: session (holds a reference, and is charged a file), or NULL
 * @entry: in uep_session.queues
 * @number: unique among those of the session
 * @records: CM events (uep_session.ev_lock), or nodes with unread events (@lock)
 * @wait: readers
 * @async: the latest file that was given O_ASYNC, or NULL (@lock)
 * @dead: the session or the device's context has ended: reads fail with -EIO
 * @lock: nodes and their @records, @opener, @nr_files, @seen; taken in any context
 * @opener: owner of the latest file; only to be compared
 * @nr_files: files of @opener, also of commands that may fail
 * @seen: a command of @opener with one of them has succeeded since there was none
 */
struct uep_queue {
	struct kref ref;
	struct rcu_head rcu;
	const struct uep_queue_ops *ops;
	struct uep_session *session;
	struct list_head entry;
	u32 number;
	struct list_head records;
	wait_queue_head_t wait;
	struct uep_queue_file *async;
	bool dead;
	spinlock_t lock;		/* nodes */
	const struct uep_owner *opener;
	u32 nr_files;
	bool seen;
};

/**
 * struct uep_queue_file - a file of a queue; private_data of the file
 * @q: queue (holds a reference)
 * @owner: owner (holds a reference)
 * @fasync: has an entry while the file has O_ASYNC
 */
struct uep_queue_file {
	struct uep_queue *q;
	struct uep_owner *owner;
	struct fasync_struct *fasync;
};

#define UEP_NODE_TYPES 32	/* types of events, and types of one object or port */

/**
 * struct uep_node - unread events of an object or a port (node.c; uep_queue.lock)
 * @entry: in uep_queue.records while @pending
 * @pending: number of unread events
 * @types: their types, the earliest first (uep_queue_ops.typed)
 * @reported: number of read events
 * @closed: the object is being destroyed: late events are dropped
 * @uid: the user's cookie
 * @obj: object; referenced by tasks that read an event of it
 */
struct uep_node {
	struct list_head entry;
	u32 pending;
	u8 types[UEP_NODE_TYPES];
	u32 reported;
	bool closed;
	u64 uid;
	struct uep_obj *obj;
};

/* An event that is being read: its node, whose object is referenced, its type, and the cookie */
struct uep_node_event {
	struct uep_node *node;
	u32 type;
	u64 uid;
};

void uep_node_init(struct uep_node *node, struct uep_obj *obj, u64 uid);
void uep_node_set_uid(struct uep_queue *q, struct uep_node *node, u64 uid, bool forget);
u64 uep_node_uid(struct uep_queue *q, const struct uep_node *node);
void uep_node_post(struct uep_queue *q, struct uep_node *node, u32 type);
u32 uep_node_purge(struct uep_queue *q, struct uep_node *node);
bool uep_node_dequeue(struct uep_queue *q, struct uep_node_event *ev);
int uep_node_read(struct uep_queue *q, struct uep_node_event *ev, bool delivered);

void uep_queue_signal(struct uep_queue *q);

/* Any context. */
static inline void uep_queue_wake(struct uep_queue *q)
{
	wake_up_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
	if (READ_ONCE(q->async))
		uep_queue_signal(q);
}

void *uep_queue_alloc(struct uep_session *s, const struct uep_queue_ops *ops, size_t size);
void uep_queue_put(struct uep_queue *q);
void uep_queue_kill(struct uep_queue *q);
void uep_queues_wake(struct uep_session *s, bool kill);
int uep_queue_add_file(struct uep_cmd *cmd, struct uep_queue *q, bool reopen);
void *uep_queue_create(struct uep_cmd *cmd, const struct uep_queue_ops *ops, size_t size, s32 *fd);
void *uep_queue_of_file(struct file *file, const struct uep_session *s,
			const struct uep_queue_ops *ops);
void *uep_queue_find(struct uep_session *s, int fd, const struct uep_queue_ops *ops);

#endif /* RDMA_EP_QUEUE_H */
