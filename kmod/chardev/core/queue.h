/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are read by record (queue.c), and the records of objects (node.c). */
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

/* A kind of queue */
struct uep_queue_ops {
	const char *name;		/* of its files */
	size_t size;			/* of a record */
	/* Events have types (uep_node.types), and one of each is unread at most */
	bool typed;
	/* Writes the next record. -EAGAIN: the queue is empty; -EFAULT: the record stays */
	int (*deliver)(struct uep_queue *q, char __user *buf);
	void (*closed)(struct uep_queue *q); /* optional: the file has been closed */
};

/* Records for the user to read; first member of the structures around it */
struct uep_queue {
	struct kref ref;		/* its files, and the objects that report to it */
	/* Delays the free: a late handler of a completion may still hold @lock */
	struct rcu_head rcu;
	const struct uep_queue_ops *ops;
	struct uep_session *session;	/* holds a reference, and is charged a file; or NULL */
	struct list_head entry;		/* in uep_session.queues */
	u32 number;			/* unique among those of the session */
	/* CM events (uep_session.ev_lock), or nodes with unread events (@lock) */
	struct list_head records;
	wait_queue_head_t wait;		/* readers */
	/* The latest file that was given O_ASYNC, or NULL (@lock) */
	struct uep_queue_file *async;
	/* The session or the device's context has ended: reads fail with -EIO */
	bool dead;
	/* Nodes and their @records, @opener, @nr_files, @seen; taken in any context */
	spinlock_t lock;
	const struct uep_owner *opener;	/* owner of the latest file; only to be compared */
	u32 nr_files;			/* files of @opener, also of commands that may fail */
	/* A command of @opener with one of them has succeeded since there was none */
	bool seen;
};

/* A file of a queue; private_data of the file */
struct uep_queue_file {
	struct uep_queue *q;		/* holds a reference */
	struct uep_owner *owner;	/* holds a reference */
	struct fasync_struct *fasync;	/* has an entry while the file has O_ASYNC */
};

#define UEP_NODE_TYPES 32	/* types of events, and types of one object or port */

/* Unread events of an object or a port (node.c; uep_queue.lock) */
struct uep_node {
	struct list_head entry;		/* in uep_queue.records while @pending */
	u32 pending;			/* number of unread events */
	u8 types[UEP_NODE_TYPES];	/* their types, the earliest first (uep_queue_ops.typed) */
	u32 reported;			/* number of read events */
	bool closed;			/* the object is being destroyed: late events are dropped */
	u64 uid;			/* the user's cookie */
	struct uep_obj *obj;		/* referenced by tasks that read an event of it */
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
