/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A silent peer: an id of rdma_cm without rdma_ep, which connects and then does nothing. And
 * calls that wait, for all tests that end them.
 */
#ifndef KTEST_RAW_H
#define KTEST_RAW_H

#include "world.h"

/**
 * struct kt_raw - a peer
 * @id: its id
 * @answer: it completes connections
 * @event: completed by each event
 * @last: that event
 */
struct kt_raw {
	struct rdma_cm_id *id;
	bool answer;
	struct completion event;
	enum rdma_cm_event_type last;
};

/* Returns when the request is on its way. The removal of the device waits for kt_undo(). */
struct kt_raw *kt_raw_connect(struct kt *t, const struct sockaddr_storage *dst, bool answer);

/* Calls that wait. */
enum kt_wait_kind {
	KT_WAIT_GET_REQUEST,	/* for a client that does not come */
	KT_WAIT_CONNECT,	/* for a server that does not answer */
	KT_WAIT_ACCEPT,		/* for a client that is never ready */
	KT_WAIT_SLOTS,		/* for a send slot, all of which are taken */
	KT_WAIT_DISCONNECT,	/* for a peer that does not answer */
	KT_WAIT_GET_EVENT,	/* on a channel without events */
	KT_WAIT_CREATE,		/* for a neighbour that is not there */
	KT_WAIT_NR
};

extern const char *const kt_wait_names[KT_WAIT_NR];

/**
 * struct kt_waiter - a call that waits, and its objects
 * @kind: which call
 * @fn: the call
 * @args: its arguments
 * @listener: listener
 * @channel: for %KT_WAIT_GET_EVENT
 * @raw: the silent peer, or NULL
 * @attr: for %KT_WAIT_CREATE
 * @src: for @attr
 * @dst: for @attr
 */
struct kt_waiter {
	enum kt_wait_kind kind;
	int (*fn)(struct kt_args *args);
	struct kt_args args;
	struct rdma_ep *listener;
	struct rdma_ep_channel *channel;
	struct kt_raw *raw;
	struct rdma_ep_attr attr;
	struct sockaddr_storage src, dst;
};

/* Everything so that w->fn(&w->args) waits. @addr is the device's. False: not on iWARP. */
bool kt_waiter_open(struct kt *t, struct kt_waiter *w, enum kt_wait_kind kind,
		    const char *addr, unsigned int timeout_ms);
void kt_waiter_close(struct kt *t, struct kt_waiter *w);

#endif /* KTEST_RAW_H */
