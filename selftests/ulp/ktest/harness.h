/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small test harness for the kernel: Debian's kernels have no KUnit.
 *
 * A test is a function that states what it expects. It runs in a kernel thread
 * of its own; one that does not end in time is told to stop, as kthread_stop()
 * does, and has failed. What failed is told with file, line and values. Results
 * are KTAP lines in a file of debugfs, where nothing is lost if the kernel log
 * overflows.
 *
 * debugfs, in rdma_ep_ktest/:
 *   list		the names of the tests, one a line
 *   run		write a name, or "all", to run tests: returns when they ended
 *   results		KTAP of what has been run by the last write to "run"
 */
#ifndef KTEST_HARNESS_H
#define KTEST_HARNESS_H

#include <linux/completion.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>

struct kt;

/**
 * struct kt_test - a test
 * @name: unique; no spaces
 * @fn: the test
 * @limit_s: seconds until it counts as hung; 0: 60
 */
struct kt_test {
	const char *name;
	void (*fn)(struct kt *t);
	unsigned int limit_s;
};

/* A NULL-terminated list of lists, each of which ends with a NULL name. */
extern const struct kt_test *const kt_suites[];

int kt_harness_init(void);
void kt_harness_exit(void);
struct dentry *kt_debugfs(void);

/* What a test says. @reason is not copied. */
void kt_skip(struct kt *t, const char *reason);
bool kt_skipped(struct kt *t);
__printf(2, 3) void kt_note(struct kt *t, const char *fmt, ...);

/* All return whether it was as expected, so that a test can give up. */
bool kt_check(struct kt *t, const char *file, int line, bool ok, const char *what);
bool kt_check_eq(struct kt *t, const char *file, int line, const char *what, s64 want, s64 got);
bool kt_check_ptr(struct kt *t, const char *file, int line, const char *what,
		  const void *want, const void *got);

#define kt_expect(t, cond) \
	kt_check(t, kbasename(__FILE__), __LINE__, cond, #cond)
#define kt_expect_eq(t, want, got) \
	kt_check_eq(t, kbasename(__FILE__), __LINE__, #got, want, got)
#define kt_expect_ptr(t, want, got) \
	kt_check_ptr(t, kbasename(__FILE__), __LINE__, #got, want, got)
/* A pointer that is neither NULL nor an error. */
#define kt_expect_ok(t, ptr) \
	kt_check_eq(t, kbasename(__FILE__), __LINE__, #ptr, 0, \
		    kt_ptr_err(ptr))
#define kt_expect_err(t, err, ptr) \
	kt_check_eq(t, kbasename(__FILE__), __LINE__, #ptr, err, \
		    kt_ptr_err(ptr))

/* 0 for a pointer to something, 1 for NULL */
static inline long kt_ptr_err(const void *ptr)
{
	return ptr ? PTR_ERR_OR_ZERO(ptr) : 1;
}

/**
 * struct kt_call - a call that a thread of its own makes, as it may wait
 * @fn: the call
 * @arg: for @fn
 * @task: the thread
 * @done: completed when @fn has returned
 * @ret: what it returned
 */
struct kt_call {
	int (*fn)(void *arg);
	void *arg;
	struct task_struct *task;
	struct completion done;
	int ret;
};

/*
 * Every call that was started successfully must be reaped. kt_call_stop() is
 * kthread_stop(): it ends a wait.
 */
int kt_call_start(struct kt_call *call, int (*fn)(void *arg), void *arg);
bool kt_call_wait(struct kt_call *call, unsigned int ms);
void kt_call_reap(struct kt_call *call);
int kt_call_stop(struct kt_call *call);

/* Has returned @want within @ms, and is reaped. */
bool kt_check_call(struct kt *t, const char *file, int line,
		   struct kt_call *call, unsigned int ms, int want);
#define kt_expect_call(t, call, ms, want) \
	kt_check_call(t, kbasename(__FILE__), __LINE__, call, ms, want)

#define kt_expect_waits(t, call) \
	kt_expect(t, !kt_call_wait(call, KT_WAITS_MS))
#define KT_WAITS_MS	300	/* what has not returned by then waits */

/* Until @cond, at most @ms; the value is @cond. */
#define kt_wait_for(cond, ms) \
({ \
	ktime_t __end = ktime_add_ms(ktime_get(), ms); \
	while (!(cond) && ktime_before(ktime_get(), __end)) \
		schedule_timeout_idle(msecs_to_jiffies(10) ?: 1); \
	(cond); \
})

#endif /* KTEST_HARNESS_H */
