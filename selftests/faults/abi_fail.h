/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls in which one allocation, or one copy from or to user memory, fails.
 */
#ifndef ABI_FAIL_H
#define ABI_FAIL_H

#include "abi_cmds.h"

/**
 * struct fail_case - a call of a command; @effect, @again, @once, @fresh, @silent and
 *	@not_siw as in struct abi_command
 * @name: for messages
 * @cmd: ioctl number
 * @prepare: fills in arguments with which it succeeds; NULL: those of the table of commands
 * @needs: with @prepare: a required feature of the device
 * @check: called after success, checks the results; 0 or an errno
 * @resume: called after -EFAULT, changes the arguments to those of a call that continues, which
 *	must succeed instead of returning @again
 * @half: rxe has executed half of it when an allocation fails, so it may return @again
 * @keeps: queue memory, in KiB, that the session may keep, and be charged for, after a
 *	failure: the next call does not need more
 * @siw_says: another errno with which siw reports a failure
 */
struct fail_case {
	const char *name;
	unsigned long cmd;
	int (*prepare)(struct abi_world *w, void *arg);
	enum abi_feature needs;
	int (*check)(struct abi_world *w, void *arg);
	bool effect;
	int again;
	void (*resume)(union abi_arg *arg);
	bool half;
	bool once;
	long keeps;
	const char *not_siw;
	int siw_says;
	bool fresh;
	bool silent;
};

#define FAIL_CASE(_cmd, _prepare, ...) \
	{ .name = #_prepare, .cmd = RDMA_EP_IOC_##_cmd, .prepare = _prepare, \
	  __VA_ARGS__ }

/* Calls of commands with other arguments than in the table of commands */
extern const struct fail_case fail_cases[];
extern const unsigned int fail_nr_cases;
/* Calls with rings, and calls that wait */
extern const struct fail_case fail_more_cases[];
extern const unsigned int fail_nr_more_cases;

/* Creates a QP on the world's PD and CQ, to prepare a case. */
int fail_make_qp(struct abi_world *w, __u32 type, __u32 id, __u32 *qp);
/* Fills in the arguments of CREATE_EP. */
int fail_ep_active(struct abi_world *w, void *arg);
/* Makes a request that has arrived at a listener, whose channel is *server. */
int fail_requested(struct abi_world *w, int *server, __u32 *listener);
/* Fill in the arguments of CONNECT and ACCEPT, with a QP. */
int fail_connect_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *channel);
int fail_accept_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *server,
		    __u32 *listener);
/* Creates a QP with a receive that is flushed to the CQ. */
int fail_flushed(struct abi_world *w, __u32 cq, __u32 *qp);
/* Destroys a QP and its own CQs. */
int fail_destroy_qp(const struct abi *s, const struct rdma_ep_qp_init *qp);

/* Returns 0, -ENOENT if the kernel has no fault injection, or another errno. */
int nth_setup(void);
void nth_restore(void);
/* Makes the @nth possible failure of the calling thread from now on fail. */
int nth_arm(unsigned int nth);
/* Ends this; true if there was a failure. */
bool nth_disarm(void);

#endif /* ABI_FAIL_H */
