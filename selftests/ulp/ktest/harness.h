/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small test harness for the kernel: Debian's kernels have no KUnit.
 *
 * A test is a function with expectations (kt_expect_*()) and requirements (kt_assert_*(),
 * which end it). It runs in a kernel thread of its own; beyond its time limit it has failed,
 * and kthread_stop() ends it. The objects of a test are destroyed after it (kt_defer()), unless
 * the test destroys them. Failures are reported with file, line and values. Results are KTAP
 * lines in a file of debugfs, which does not overflow as the kernel log does.
 *
 * debugfs, in rdma_ep_ktest/:
 *   list		the names of the tests, one a line
 *   run		write a name, or "all", to run tests; the write returns after them
 *   results		KTAP of the tests of the last write to "run"
 */
#ifndef KTEST_HARNESS_H
#define KTEST_HARNESS_H

#include <linux/completion.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>

struct kt;

/**
 * struct kt_test - a test
 * @name: unique; no spaces
 * @fn: the test
 * @limit_s: seconds until it counts as hung; 0: 60
 * @arg: for kt_arg(), where a function serves several tests
 */
struct kt_test {
	const char *name;
	void (*fn)(struct kt *t);
	unsigned int limit_s;
	long arg;
};

/* A NULL-terminated list of lists, each of which ends with a NULL name */
extern const struct kt_test *const kt_suites[];

int kt_harness_init(void);
void kt_harness_exit(void);
struct dentry *kt_debugfs(void);

long kt_arg(struct kt *t);
/* @reason is not copied. */
void kt_skip(struct kt *t, const char *reason);
/* Works in softirqs. Drops a line that does not fit; its failure still counts. */
__printf(1, 2) void kt_print(const char *fmt, ...);
#define kt_note(fmt, ...)	kt_print("# " fmt, ##__VA_ARGS__)

/* Each returns whether the expectation is met, so that a test can end early. */
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
/* Expects a pointer that is neither NULL nor an error. */
#define kt_expect_ok(t, ptr) \
	kt_check_eq(t, kbasename(__FILE__), __LINE__, #ptr, 0, \
		    kt_ptr_err(ptr))
#define kt_expect_err(t, err, ptr) \
	kt_check_eq(t, kbasename(__FILE__), __LINE__, #ptr, err, \
		    kt_ptr_err(ptr))

/*
 * The same, but a failure ends the test. Only for the test's own thread, and not between
 * kt_splats_begin() and kt_splats_end().
 */
#define kt_assert(t, cond) \
	kt_abort_unless(t, kt_expect(t, cond))
#define kt_assert_eq(t, want, got) \
	kt_abort_unless(t, kt_expect_eq(t, want, got))
#define kt_assert_ok(t, ptr) \
	kt_abort_unless(t, kt_expect_ok(t, ptr))

struct completion *kt_done(struct kt *t);

/* Inline, as objtool's list of functions that do not return has none of modules. */
static inline void __noreturn kt_abort(struct kt *t)
{
	kthread_complete_and_exit(kt_done(t), 0);
}

static inline void kt_abort_unless(struct kt *t, bool ok)
{
	if (!ok)
		kt_abort(t);
}

/* 0 for a pointer to something, 1 for NULL */
static inline long kt_ptr_err(const void *ptr)
{
	return ptr ? PTR_ERR_OR_ZERO(ptr) : 1;
}

/* Stages of destruction after a test; in each the last created object is first. */
enum kt_stage {
	KT_CALLS,	/* running calls, which are stopped */
	KT_ENDPOINTS,
	KT_IO,		/* buffers of work requests, after the QPs */
	KT_REST,	/* parts of endpoints, channels, devices, namespaces */
	KT_MEMORY,
	KT_STAGES
};

/* Calls @fn(t, arg) after the test. @arg is unique. For the test's own thread. */
void kt_defer(struct kt *t, enum kt_stage stage, void (*fn)(struct kt *t, void *arg), void *arg);
/* kt_undo() makes that call now; kt_forget() cancels it, as @arg has been destroyed. */
void kt_undo(struct kt *t, void *arg);
void kt_forget(struct kt *t, void *arg);
void *kt_zalloc(struct kt *t, size_t size);

struct rdma_ep;
struct rdma_ep_attr;
struct rdma_ep_channel;
struct rdma_ep_cm_event;
struct rdma_conn_param;

/**
 * struct kt_args - arguments and results of a call that waits
 * @ep: endpoint
 * @channel: for kt_call_get_event()
 * @param: for connect and accept; NULL: none
 * @timeout_ms: limit of the wait
 * @attr: for kt_call_create()
 * @data: for other calls
 * @child: result of kt_call_get_request(), of kt_call_create()
 * @event: result of kt_call_get_event()
 */
struct kt_args {
	struct rdma_ep *ep;
	struct rdma_ep_channel *channel;
	const struct rdma_conn_param *param;
	unsigned int timeout_ms;
	const struct rdma_ep_attr *attr;
	void *data;
	struct rdma_ep *child;
	struct rdma_ep_cm_event *event;
};

/**
 * struct kt_call - a call in a thread of its own, as it may wait
 * @fn: the call
 * @args: for @fn
 * @task: the thread; NULL: it has been stopped
 * @done: completed when @fn has returned
 * @ret: the result of @fn
 */
struct kt_call {
	int (*fn)(struct kt_args *args);
	struct kt_args args;
	struct task_struct *task;
	struct completion done;
	int ret;
};

/* @args is copied. */
struct kt_call *kt_call(struct kt *t, int (*fn)(struct kt_args *args), const struct kt_args *args);
struct kt_call *kt_call_in(struct kt *t, enum kt_stage stage, int (*fn)(struct kt_args *args),
			   const struct kt_args *args);
bool kt_call_wait(struct kt_call *call, unsigned int ms);
/* Calls kthread_stop(), which ends a wait. Returns the call's result. */
int kt_call_stop(struct kt_call *call);

bool kt_check_call(struct kt *t, const char *file, int line,
		   struct kt_call *call, unsigned int ms, int want);
#define kt_expect_call(t, call, ms, want) \
	kt_check_call(t, kbasename(__FILE__), __LINE__, call, ms, want)

#define kt_expect_waits(t, call) \
	kt_expect(t, !kt_call_wait(call, KT_WAITS_MS))
#define KT_WAITS_MS	300	/* a call that has not returned by then waits */

/* Waits for @cond, at most @ms. The value is @cond. */
#define kt_wait_for(cond, ms) \
({ \
	ktime_t __end = ktime_add_ms(ktime_get(), ms); \
	while (!(cond) && ktime_before(ktime_get(), __end)) \
		schedule_timeout_idle(msecs_to_jiffies(10) ?: 1); \
	(cond); \
})

#endif /* KTEST_HARNESS_H */
