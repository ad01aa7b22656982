/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control of the mock device, which mock/mock.h documents, for the raw ioctl tests.
 */
#ifndef ABI_MOCK_H
#define ABI_MOCK_H

#include "abi.h"

#define MOCK_NAME	"mock0"
#define MOCK_NETDEV	"epmock0"
#define MOCK_NAME2	"mock1"
#define MOCK_NETDEV2	"epmock1"
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

/* Loads the module and adds a network device. Returns -ENOENT if there is no module. */
int mock_load(void);
void mock_unload(void);
/* Creates a device, sets $RDMA_DEV to it, and waits until it is usable. */
int mock_new(const char *options);
int mock_del(void);
/*
 * Selects the device of these functions, the first (0) or the second (1), and sets $RDMA_DEV to it.
 * mock_new() adds the network device of the second.
 */
void mock_select(int nr);
/* The files of mock.h for all devices. mock_unload() resets them to 0. */
int mock_put_gid_ms(int ms);
int mock_cm_ms(int ms);
int mock_ud_qkey(__u32 qkey);
int mock_work_ms(int ms);
/* Does a work item sleep for work_ms, or run after that? */
bool mock_work_runs(void);
int mock_post_ms(int ms);
int mock_after_ms(int ms);

/* Writes a file of the device, or reads its number. @file: for example "fail/create_qp" */
int mock_write(const char *file, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int mock_read(const char *file);
/* @times calls of the operation (-1: all) fail, after @after calls that do not. */
int mock_fail(const char *op, int err, int times, int after);
#define mock_fail_once(_op)	mock_fail(_op, MOCK_ERRNO, 1, 0)
/* The next @calls calls of the operation wait until mock_stall(op, 0). */
int mock_stall(const char *op, int calls);
int mock_calls(const char *op);
/* The number after a name, for example ("last", "qp") */
int mock_read_key(const char *file, const char *key);
int mock_count(struct mock_count *c);
/* Opens a file for writing, so that the caller can write it without root's rights later. */
int mock_open(const char *file);
int mock_wait_stalled(const char *op, int calls);

#endif /* ABI_MOCK_H */
