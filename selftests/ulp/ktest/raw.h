/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer that does not play along: an id of rdma_cm without rdma_ep, which
 * connects and then is silent. And calls that wait, for all tests that end them.
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

int kt_raw_connect(struct kt_raw *raw, const struct sockaddr_storage *dst, bool answer);
void kt_raw_destroy(struct kt_raw *raw);

/* Calls that wait. */
enum kt_wait_kind {
	KT_WAIT_GET_REQUEST,	/* for a client that does not come */
	KT_WAIT_CONNECT,	/* for a server that does not answer */
	KT_WAIT_ACCEPT,		/* for a client that is never ready */
	KT_WAIT_DISCONNECT,	/* for a peer that does not answer */
	KT_WAIT_GET_EVENT,	/* on a channel without events */
	KT_WAIT_CREATE,		/* for a neighbour that is not there */
	KT_WAIT_NR
};

extern const char *const kt_wait_names[KT_WAIT_NR];

/**
 * struct kt_waiter - what a call waits with
 * @kind: which call
 * @fn: the call
 * @args: its arguments
 * @listener: listener
 * @other: another endpoint on the device, or NULL
 * @channel: for %KT_WAIT_GET_EVENT
 * @raw: the silent peer
 * @has_raw: there is one
 * @attr: for %KT_WAIT_CREATE
 * @src: for @attr
 * @dst: for @attr
 */
struct kt_waiter {
	enum kt_wait_kind kind;
	int (*fn)(void *args);
	struct kt_args args;
	struct rdma_ep *listener;
	struct rdma_ep *other;
	struct rdma_ep_channel *channel;
	struct kt_raw raw;
	bool has_raw;
	struct rdma_ep_attr attr;
	struct sockaddr_storage src, dst;
};

/*
 * Everything so that w->fn(&w->args) waits. @addr is the device's. False if that is
 * not possible, and reported, or on this device, and not reported.
 */
bool kt_waiter_open(struct kt *t, struct kt_waiter *w, enum kt_wait_kind kind,
		    const char *addr, unsigned int timeout_ms);
/* Destroys endpoints and all. */
void kt_waiter_close(struct kt *t, struct kt_waiter *w);

#endif /* KTEST_RAW_H */
