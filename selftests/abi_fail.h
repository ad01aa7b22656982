/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls in which one allocation, or one copy from or to user memory, fails.
 */
#ifndef ABI_FAIL_H
#define ABI_FAIL_H

#include "abi_cmds.h"

/**
 * struct fail_case - a command as it is called
 * @name: for people
 * @cmd: ioctl number
 * @prepare: arguments with which it succeeds; NULL: those of the table of commands
 * @needs: with @prepare: what the device must be able to do
 * @check: after it has succeeded: is it what it says? 0 or an errno
 * @effect: what it has done stays although its structure could not be written back;
 *	called again it returns @again, or 0
 * @again: an errno, not negative
 * @half: rxe has done half of it when it runs out of memory; then the same
 * @once: it can not be called again, whatever has failed, and returns @again or 0
 * @fresh: use a new session for each call, as something happens behind them; and the
 *	CM's own address handles come and go
 */
struct fail_case {
	const char *name;
	unsigned long cmd;
	int (*prepare)(struct abi_world *w, union abi_arg *arg);
	enum abi_feature needs;
	int (*check)(struct abi_world *w, union abi_arg *arg);
	bool effect;
	int again;
	bool half;
	bool once;
	bool fresh;
};

/* More ways of calling commands than the table of commands has. */
extern const struct fail_case fail_cases[];
extern const unsigned int fail_nr_cases;

/* What is special about a command of the table, or NULL. */
const struct fail_case *fail_special(unsigned long cmd);

/* 0, or -ENOENT: the kernel can not do it */
int nth_setup(void);
void nth_restore(void);
/* The calling thread's @nth possible failure from now on is one. */
int nth_arm(unsigned int nth);
/* No more of that; true if there was one */
bool nth_disarm(void);

#endif /* ABI_FAIL_H */
