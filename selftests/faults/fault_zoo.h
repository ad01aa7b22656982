/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the states of the zoo (fault_zoo.c).
 */
#ifndef FAULT_ZOO_H
#define FAULT_ZOO_H

#include <pthread.h>

#include "fault.h"

/* A thread that waits or works */
struct task {
	pthread_t thread;
	const char *name;
	void (*fn)(struct task *t);
	struct zoo *zoo;
	int fd;
	__u32 id;
	bool stays;		/* its wait does not end with the device */
	volatile bool done;
};

/* A CQ with a ring; a task's id is its number. */
struct zoo_ring {
	__u32 cq;
	struct rdma_ep_cq_ring *ring;
	volatile __u64 taken;		/* completions */
};

enum { ZOO_TRAFFIC, ZOO_IDLE, ZOO_NR_RINGS };

struct zoo {
	struct abi s;
	__u64 rand;			/* of the thread that starts the tasks */
	struct sockaddr_in silent;	/* a peer that does not answer */
	int fatal_fd;			/* reports the removal */
	volatile bool gone;
	struct task task[16];
	int nr_tasks;
	struct fault_end end[2];
	struct rdma_ep_cq_ring *rings;	/* all of the session's */
	struct zoo_ring ring[ZOO_NR_RINGS];
};

/* Starts a thread. */
int zoo_task(struct zoo *z, const char *name, void (*fn)(struct task *t), int fd, __u32 id);
/* True if the device is removed. Called by the thread that starts the tasks. */
bool zoo_gone(struct zoo *z, int timeout_ms);
/* The task's operation has ended with @why: fails unless the device is removed. */
void zoo_only_removal(struct task *t, int why);
int zoo_listener(struct zoo *z, int *channel, __u32 *id, struct sockaddr_in *sin);
/* Returns an address of the network without a host. */
void zoo_nobody(struct zoo *z, struct sockaddr_in *sin);

/* States: tasks that wait */
int zoo_event(struct zoo *z);
int zoo_request(struct zoo *z);
int zoo_comp(struct zoo *z);
int zoo_async(struct zoo *z);
int zoo_resolve(struct zoo *z);
int zoo_await(struct zoo *z);
/* and tasks that poll memory */
int zoo_ring_traffic(struct zoo *z);
int zoo_ring_idle(struct zoo *z);

#endif /* FAULT_ZOO_H */
