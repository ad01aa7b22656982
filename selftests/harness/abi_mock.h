/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mock device (mock/mock.h documents it) for the raw ioctl tests.
 */
#ifndef ABI_MOCK_H
#define ABI_MOCK_H

#include "abi.h"

#define MOCK_NAME	"mock0"
#define MOCK_NETDEV	"epmock0"
#define MOCK_LOCAL_LKEY	0x1d00		/* of its PDs */

/* An errno that no function returns by itself */
#define MOCK_ERRNO	EL2HLT

/* More of enum ibv_event_type */
enum {
	EVENT_QP_FATAL = 1,
	EVENT_QP_REQ_ERR,
	EVENT_QP_ACCESS_ERR,
	EVENT_SQ_DRAINED = 5,
	EVENT_PATH_MIG_ERR = 7,
	EVENT_PORT_ACTIVE = 9,
	EVENT_PORT_ERR,
	EVENT_LID_CHANGE,
	EVENT_PKEY_CHANGE,
	EVENT_SM_CHANGE,
	EVENT_SRQ_ERR,
	EVENT_QP_LAST_WQE_REACHED = 16,
	EVENT_CLIENT_REREGISTER,
	EVENT_GID_CHANGE,
};

struct mock_count {
	int qp, cq, srq, pd, mr, ah, xrcd;
};

#define MOCK_COUNTS		"qp %d cq %d srq %d pd %d mr %d ah %d xrcd %d"
#define MOCK_COUNT_ARGS(_c)	(_c).qp, (_c).cq, (_c).srq, (_c).pd, (_c).mr, (_c).ah, (_c).xrcd

static inline int mock_count_all(const struct mock_count *c)
{
	return c->qp + c->cq + c->srq + c->pd + c->mr + c->ah + c->xrcd;
}

/* The module, and a network device of our own. -ENOENT: there is no module */
int mock_load(void);
void mock_unload(void);
/* A device, and $RDMA_DEV set to it; returns when it can be used. */
int mock_new(const char *options);
int mock_del(void);
/* Dropping a reference to a GID takes so long, until mock_unload(). */
int mock_put_gid_ms(int ms);
/* No route is found before a query for one is cancelled, until then as well. */
int mock_cm_ms(int ms);
/* Unconnected ids have their QPs use it, until then. */
int mock_ud_qkey(__u32 qkey);
/* A post to a QP takes so long in the driver, until then. */
int mock_post_ms(int ms);
/* So does the work after a send, when the lock that it was posted under is free. */
int mock_after_ms(int ms);

/* Writes a file of the device; returns its number; @file: "fail/create_qp" */
int mock_write(const char *file, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int mock_read(const char *file);
/* So many calls of the operation fail, -1: all, after so many that do not. */
int mock_fail(const char *op, int err, int times, int after);
#define mock_fail_once(_op)	mock_fail(_op, MOCK_ERRNO, 1, 0)
/* So many calls of the operation wait until it is 0. */
int mock_stall(const char *op, int calls);
/* How often it has been called */
int mock_calls(const char *op);
/* A number that stands behind a name: ("last", "qp") */
int mock_read_key(const char *file, const char *key);
int mock_count(struct mock_count *c);
/* Opens a file to be written later, perhaps without rights. */
int mock_open(const char *file);
/* Waits until that many calls of the operation wait. */
int mock_wait_stalled(const char *op, int calls);

#endif /* ABI_MOCK_H */
