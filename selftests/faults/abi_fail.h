/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls in which one allocation, or one copy from or to user memory, fails.
 */
#ifndef ABI_FAIL_H
#define ABI_FAIL_H

#include "abi_cmds.h"

/**
 * struct fail_case - a command as it is called; @effect, @again, @once, @fresh, @silent and
 *	@not_siw as in struct abi_command
 * @name: for people
 * @cmd: ioctl number
 * @prepare: arguments with which it succeeds; NULL: those of the table of commands
 * @needs: with @prepare: what the device must be able to do
 * @check: after it has succeeded: is it what it says? 0 or an errno
 * @resume: after -EFAULT: what makes the arguments those of a call that goes on, and is
 *	to succeed, instead of @again
 * @half: rxe has done half of it when it runs out of memory; then the same
 * @keeps: queue memory, in KiB, that the session may have got, and be charged for, all
 *	the same: the next call does not need more
 * @siw_says: an errno by which siw, too, says that something has failed
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

/* More ways of calling commands than the table of commands has. */
extern const struct fail_case fail_cases[];
extern const unsigned int fail_nr_cases;
/* Those with rings, and those that wait */
extern const struct fail_case fail_more_cases[];
extern const unsigned int fail_nr_more_cases;

/* What cases are prepared with: a QP on the world's PD and CQ, */
int fail_make_qp(struct abi_world *w, __u32 type, __u32 id, __u32 *qp);
/* the arguments of CREATE_EP, */
int fail_ep_active(struct abi_world *w, void *arg);
/* a request that has arrived at a listener, whose channel is *server, */
int fail_requested(struct abi_world *w, int *server, __u32 *listener);
/* those of CONNECT and ACCEPT, with a QP, */
int fail_connect_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *channel);
int fail_accept_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *server,
		    __u32 *listener);
/* and a QP that has a receive flushed to the CQ. */
int fail_flushed(struct abi_world *w, __u32 cq, __u32 *qp);
/* A QP that has CQs of its own */
int fail_destroy_qp(const struct abi *s, const struct rdma_ep_qp_init *qp);

/* 0, or -ENOENT: the kernel can not do it */
int nth_setup(void);
void nth_restore(void);
/* The calling thread's @nth possible failure from now on is one. */
int nth_arm(unsigned int nth);
/* No more of that; true if there was one */
bool nth_disarm(void);

#endif /* ABI_FAIL_H */
