// SPDX-License-Identifier: GPL-2.0-only
/*
 * The harness: runs tests in threads, keeps the results. See harness.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/debug.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "harness.h"

#define KT_LIMIT_S	60
#define KT_STOP_S	20	/* limit of kthread_stop() of a test */
#define KT_LOG_SIZE	SZ_256K

/**
 * struct kt_deferred - an object to be destroyed after a test
 * @node: in kt.deferred
 * @fn: destroys it
 * @arg: the object
 */
struct kt_deferred {
	struct list_head node;
	void (*fn)(struct kt *t, void *arg);
	void *arg;
};

/**
 * struct kt - a running test
 * @test: the test
 * @task: the thread of the test, later the one that destroys its objects
 * @done: completed at the end of each thread
 * @failed: number of expectations that were not met
 * @skip: reason for not running it, or NULL
 * @stop: stops @task at the time limit
 * @deferred: lists of struct kt_deferred for each stage; used by @task only
 */
struct kt {
	const struct kt_test *test;
	struct task_struct *task;
	struct completion done;
	atomic_t failed;
	const char *skip;
	struct kt_call stop;
	struct list_head deferred[KT_STAGES];
};

static struct dentry *kt_dir;
static DEFINE_MUTEX(kt_run_lock);
/* A test could not be stopped, so no other test can run. */
static bool kt_hung;

static DEFINE_SPINLOCK(kt_log_lock);
static char *kt_log;
static size_t kt_log_len;

static void kt_log_reset(void)
{
	unsigned long flags;

	spin_lock_irqsave(&kt_log_lock, flags);
	kt_log_len = 0;
	spin_unlock_irqrestore(&kt_log_lock, flags);
}

void kt_print(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	unsigned long flags;
	va_list args;
	size_t room;
	int n;

	va_start(args, fmt);
	vaf.va = &args;
	spin_lock_irqsave(&kt_log_lock, flags);
	room = KT_LOG_SIZE - kt_log_len;
	n = snprintf(kt_log + kt_log_len, room, "%pV\n", &vaf);
	if (n < room)
		kt_log_len += n;
	spin_unlock_irqrestore(&kt_log_lock, flags);
	va_end(args);
}

void kt_skip(struct kt *t, const char *reason)
{
	t->skip = reason;
}

long kt_arg(struct kt *t)
{
	return t->test->arg;
}

bool kt_check(struct kt *t, const char *file, int line, bool ok, const char *what)
{
	if (ok)
		return true;
	atomic_inc(&t->failed);
	kt_note("%s:%d: not true: %s", file, line, what);
	return false;
}

/* -22 as "-22 (-EINVAL)" */
static const char *kt_value(char *buf, size_t size, s64 value)
{
	if (value < 0 && value >= -MAX_ERRNO)
		snprintf(buf, size, "%lld (%pe)", value, ERR_PTR(value));
	else
		snprintf(buf, size, "%lld", value);
	return buf;
}

bool kt_check_eq(struct kt *t, const char *file, int line, const char *what, s64 want, s64 got)
{
	char a[40], b[40];

	if (want == got)
		return true;
	atomic_inc(&t->failed);
	kt_note("%s:%d: %s: %s, not %s", file, line, what,
		kt_value(a, sizeof(a), got), kt_value(b, sizeof(b), want));
	return false;
}

bool kt_check_ptr(struct kt *t, const char *file, int line, const char *what,
		  const void *want, const void *got)
{
	if (want == got)
		return true;
	atomic_inc(&t->failed);
	kt_note("%s:%d: %s: %pe, not %pe", file, line, what, got, want);
	return false;
}

/* ---- objects of a test */

void kt_defer(struct kt *t, enum kt_stage stage, void (*fn)(struct kt *t, void *arg), void *arg)
{
	struct kt_deferred *d = kmalloc(sizeof(*d), GFP_KERNEL | __GFP_NOFAIL);

	*d = (struct kt_deferred) { .fn = fn, .arg = arg };
	list_add(&d->node, &t->deferred[stage]);
}

static void kt_undo_one(struct kt *t, struct kt_deferred *d)
{
	list_del(&d->node);
	d->fn(t, d->arg);
	kfree(d);
}

static struct kt_deferred *kt_find(struct kt *t, void *arg)
{
	struct kt_deferred *d;
	int stage;

	for (stage = 0; stage < KT_STAGES; stage++)
		list_for_each_entry(d, &t->deferred[stage], node)
			if (d->arg == arg)
				return d;
	kt_expect(t, !"an object of the test");
	kt_abort(t);
}

void kt_undo(struct kt *t, void *arg)
{
	kt_undo_one(t, kt_find(t, arg));
}

static void kt_do_nothing(struct kt *t, void *arg)
{
}

void kt_forget(struct kt *t, void *arg)
{
	kt_find(t, arg)->fn = kt_do_nothing;
}

static void kt_free(struct kt *t, void *arg)
{
	kfree(arg);
}

void *kt_zalloc(struct kt *t, size_t size)
{
	void *p = kzalloc(size, GFP_KERNEL);

	kt_assert(t, p);
	kt_defer(t, KT_MEMORY, kt_free, p);
	return p;
}

/* ---- threads */

static int kt_call_thread(void *arg)
{
	struct kt_call *call = arg;

	call->ret = call->fn(&call->args);
	complete(&call->done);
	return 0;
}

static int kt_call_start(struct kt_call *call, int (*fn)(struct kt_args *args),
			 const struct kt_args *args)
{
	struct task_struct *task;

	call->fn = fn;
	call->args = *args;
	init_completion(&call->done);
	task = kthread_create(kt_call_thread, call, "ktest_call");
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* kthread_stop() may be called after the end of the thread. */
	call->task = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

static void kt_end_call(struct kt *t, void *arg)
{
	kt_call_stop(arg);
}

struct kt_call *kt_call_in(struct kt *t, enum kt_stage stage, int (*fn)(struct kt_args *args),
			   const struct kt_args *args)
{
	struct kt_call *call = kt_zalloc(t, sizeof(*call));

	kt_assert_eq(t, 0, kt_call_start(call, fn, args));
	kt_defer(t, stage, kt_end_call, call);
	return call;
}

struct kt_call *kt_call(struct kt *t, int (*fn)(struct kt_args *args), const struct kt_args *args)
{
	return kt_call_in(t, KT_CALLS, fn, args);
}

bool kt_call_wait(struct kt_call *call, unsigned int ms)
{
	return kt_wait_for(completion_done(&call->done), ms);
}

int kt_call_stop(struct kt_call *call)
{
	if (call->task) {
		kthread_stop(call->task);
		put_task_struct(call->task);
		call->task = NULL;
	}
	return call->ret;
}

bool kt_check_call(struct kt *t, const char *file, int line,
		   struct kt_call *call, unsigned int ms, int want)
{
	ktime_t start = ktime_get();

	if (kt_call_wait(call, ms))
		return kt_check_eq(t, file, line, "the call's result", want, kt_call_stop(call));
	atomic_inc(&t->failed);
	kt_note("%s:%d: %ps() has not returned in %u ms", file, line, call->fn, ms);
	kt_call_stop(call);
	kt_note("%s:%d: stopped, it returned %d after %lld ms", file,
		line, call->ret, ktime_ms_delta(ktime_get(), start));
	return false;
}

static int kt_test_thread(void *arg)
{
	struct kt *t = arg;

	t->test->fn(t);
	complete(&t->done);
	return 0;
}

struct completion *kt_done(struct kt *t)
{
	return &t->done;
}

static int kt_destroy_thread(void *arg)
{
	struct kt_deferred *d;
	struct kt *t = arg;
	int stage;

	for (stage = 0; stage < KT_STAGES; stage++)
		while ((d = list_first_entry_or_null(&t->deferred[stage],
						     struct kt_deferred, node)))
			kt_undo_one(t, d);
	complete(&t->done);
	return 0;
}

static bool kt_ended(struct kt *t, unsigned int seconds)
{
	return wait_for_completion_killable_timeout(&t->done, seconds * HZ) > 0;
}

static int kt_stop_thread(struct kt_args *args)
{
	kthread_stop(args->data);
	return 0;
}

/*
 * Stops a test beyond its time limit. Another thread calls kthread_stop(), which waits for
 * the end of the test.
 */
static void kt_stop(struct kt *t)
{
	struct kt_args args = { .data = t->task };

	if (!kt_call_start(&t->stop, kt_stop_thread, &args) && kt_ended(t, KT_STOP_S)) {
		kt_call_stop(&t->stop);
		return;
	}
	kt_note("it cannot be stopped; no test can be run any more");
	kt_hung = true;
	__module_get(THIS_MODULE);
	sched_show_task(t->task);
}

static void kt_run_thread(struct kt *t, int (*fn)(void *arg), unsigned int limit)
{
	struct task_struct *task = kthread_create(fn, t, "ktest");

	if (!kt_expect_ok(t, task))
		return;
	init_completion(&t->done);
	t->task = get_task_struct(task);
	wake_up_process(task);
	if (!kt_ended(t, limit)) {
		atomic_inc(&t->failed);
		kt_note("ran into its time limit of %u s", limit);
		kt_stop(t);
	} else {
		kthread_stop(task);
	}
	if (!kt_hung)
		put_task_struct(task);
}

static void kt_result(struct kt *t, unsigned int n)
{
	const char *name = t->test->name;

	if (atomic_read(&t->failed))
		kt_print("not ok %u %s", n, name);
	else if (t->skip)
		kt_print("ok %u %s # SKIP %s", n, name, t->skip);
	else
		kt_print("ok %u %s", n, name);
}

static void kt_run_test(const struct kt_test *test, unsigned int n)
{
	struct kt *t = kt_hung ? NULL : kzalloc(sizeof(*t), GFP_KERNEL);
	int stage;

	if (!t) {
		kt_print("not ok %u %s", n, test->name);
		return;
	}
	t->test = test;
	for (stage = 0; stage < KT_STAGES; stage++)
		INIT_LIST_HEAD(&t->deferred[stage]);
	kt_run_thread(t, kt_test_thread, test->limit_s ?: KT_LIMIT_S);
	if (!kt_hung)
		kt_run_thread(t, kt_destroy_thread, KT_LIMIT_S);
	kt_result(t, n);
	if (!kt_hung)
		kfree(t);
}

/* Runs all tests, or the one named @wanted; with @dry, only counts them. */
static unsigned int kt_run(const char *wanted, bool dry)
{
	const struct kt_test *const *suite;
	const struct kt_test *test;
	unsigned int n = 0;

	for (suite = kt_suites; *suite; suite++) {
		for (test = *suite; test->name; test++) {
			if (wanted && strcmp(wanted, test->name))
				continue;
			n++;
			if (!dry)
				kt_run_test(test, n);
		}
	}
	return n;
}

/* ---- debugfs */

static ssize_t kt_run_write(struct file *file, const char __user *ubuf, size_t count, loff_t *pos)
{
	char name[64], *wanted;
	unsigned int n;
	ssize_t ret;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, ubuf, count))
		return -EFAULT;
	name[count] = 0;
	wanted = strim(name);
	if (!strcmp(wanted, "all"))
		wanted = NULL;
	n = kt_run(wanted, true);
	if (!n)
		return -ENOENT;

	ret = mutex_lock_killable(&kt_run_lock);
	if (ret)
		return ret;
	kt_log_reset();
	kt_print("KTAP version 1");
	kt_print("1..%u", n);
	kt_run(wanted, false);
	mutex_unlock(&kt_run_lock);
	return count;
}

static const struct file_operations kt_run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kt_run_write,
};

static ssize_t kt_results_read(struct file *file, char __user *ubuf, size_t count, loff_t *pos)
{
	return simple_read_from_buffer(ubuf, count, pos, kt_log, READ_ONCE(kt_log_len));
}

static const struct file_operations kt_results_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = kt_results_read,
};

static int kt_list_show(struct seq_file *seq, void *v)
{
	const struct kt_test *const *suite;
	const struct kt_test *test;

	for (suite = kt_suites; *suite; suite++)
		for (test = *suite; test->name; test++)
			seq_printf(seq, "%s\n", test->name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kt_list);

struct dentry *kt_debugfs(void)
{
	return kt_dir;
}

int kt_harness_init(void)
{
	kt_log = vzalloc(KT_LOG_SIZE);
	if (!kt_log)
		return -ENOMEM;
	kt_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("list", 0400, kt_dir, NULL, &kt_list_fops);
	debugfs_create_file("run", 0200, kt_dir, NULL, &kt_run_fops);
	debugfs_create_file("results", 0400, kt_dir, NULL, &kt_results_fops);
	return 0;
}

void kt_harness_exit(void)
{
	debugfs_remove_recursive(kt_dir);
	vfree(kt_log);
}
