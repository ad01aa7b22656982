/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A silent peer: an id of rdma_cm without rdma_ep, which connects and then does nothing.
 * Calls that wait, for the tests that end such waits.
 */
#ifndef KTEST_RAW_H
#define KTEST_RAW_H

#include "world.h"

/**
 * struct kt_raw - a silent peer
 * @id: id of rdma_cm
 * @answer: confirm the connection after the server's response
 * @event: completed by each event
 * @last: latest event
 */
struct kt_raw {
	struct rdma_cm_id *id;
	bool answer;
	struct completion event;
	enum rdma_cm_event_type last;
};

/* Returns after sending the request. The removal of the device waits for kt_undo(). */
struct kt_raw *kt_raw_connect(struct kt *t, const struct sockaddr_storage *dst, bool answer);

/* Calls that wait, and the reason */
enum kt_wait_kind {
	KT_WAIT_GET_REQUEST,	/* no client connects */
	KT_WAIT_CONNECT,	/* the server does not answer */
	KT_WAIT_ACCEPT,		/* the client does not confirm */
	KT_WAIT_SLOTS,		/* all send slots are taken */
	KT_WAIT_DISCONNECT,	/* the peer does not answer */
	KT_WAIT_GET_EVENT,	/* the channel has no event */
	KT_WAIT_CREATE,		/* the neighbour does not exist */
	KT_WAIT_NR
};

extern const char *const kt_wait_names[KT_WAIT_NR];

/**
 * struct kt_waiter - a call that waits, and its objects
 * @kind: which call
 * @fn: the call
 * @args: arguments of @fn
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

/* Prepares w->fn(&w->args) to wait on the device with @addr. False: iWARP does not wait. */
bool kt_waiter_open(struct kt *t, struct kt_waiter *w, enum kt_wait_kind kind,
		    const char *addr, unsigned int timeout_ms);
void kt_waiter_close(struct kt *t, struct kt_waiter *w);

#endif /* KTEST_RAW_H */
