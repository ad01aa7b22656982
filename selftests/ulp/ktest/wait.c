// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that wait end at their time limit, by kthread_stop(), by SIGKILL, or when their object
 * is destroyed.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "raw.h"
#include "tests.h"

#define KT_TIMEOUT_MS	300

/* The call returns -ETIMEDOUT, not before its time limit and not long after. */
static void kt_times_out(struct kt *t, struct kt_waiter *w)
{
	ktime_t start = ktime_get();
	int ret = w->fn(&w->args);
	s64 ms = ktime_ms_delta(ktime_get(), start);

	kt_expect_eq(t, -ETIMEDOUT, ret);
	kt_note("%lld ms of %u", ms, KT_TIMEOUT_MS);
	kt_expect(t, ms >= KT_TIMEOUT_MS - 20);
	kt_expect(t, ms < KT_TIMEOUT_MS + KT_PROMPT_MS);
}

static void kt_timeouts(struct kt *t)
{
	struct kt_waiter w;
	int kind;

	for (kind = 0; kind < KT_WAIT_NR; kind++) {
		if (!kt_waiter_open(t, &w, kind, kt_addr_text, KT_TIMEOUT_MS))
			continue;
		kt_times_out(t, &w);
		kt_waiter_close(t, &w);
	}
}

/* A timeout of 0 does not wait at all. */
static void kt_no_wait(struct kt *t)
{
	struct kt_waiter w;
	ktime_t start;
	int kind;

	for (kind = 0; kind < KT_WAIT_CREATE; kind++) {
		if (!kt_waiter_open(t, &w, kind, kt_addr_text, 0))
			continue;
		start = ktime_get();
		kt_expect_eq(t, -ETIMEDOUT, w.fn(&w.args));
		kt_expect(t, ktime_ms_delta(ktime_get(), start) < 500);
		kt_waiter_close(t, &w);
	}
}

/* kthread_stop() ends waits without a limit. Creation always has a limit. */
static void kt_stopped(struct kt *t)
{
	struct kt_waiter w;
	struct kt_call *call;
	ktime_t start;
	int kind;

	for (kind = 0; kind < KT_WAIT_CREATE; kind++) {
		if (!kt_waiter_open(t, &w, kind, kt_addr_text, RDMA_EP_FOREVER))
			continue;
		call = kt_call(t, w.fn, &w.args);
		kt_expect_waits(t, call);
		start = ktime_get();
		kt_expect_eq(t, -EINTR, kt_call_stop(call));
		kt_expect(t, ktime_ms_delta(ktime_get(), start) < KT_PROMPT_MS);
		kt_waiter_close(t, &w);
	}
}

/* ---- SIGKILL: a process makes the call by writing to a file of this module */

#define KT_WRITE	"echo > /sys/kernel/debug/%s/wait"

/**
 * struct kt_victim - a call of a process that is killed
 * @w: the call
 * @task: reference to the process, set before the call; NULL before
 * @ret: the call's result; 1 before it returns
 */
struct kt_victim {
	struct kt_waiter *w;
	struct task_struct *task;
	int ret;
};

static struct kt_victim *kt_victim;

static ssize_t kt_wait_write(struct file *file, const char __user *ubuf, size_t count, loff_t *pos)
{
	struct kt_victim *v = READ_ONCE(kt_victim);

	if (!v)
		return -EINVAL;
	/* kt_kill() uses and puts the reference. */
	smp_store_release(&v->task, get_task_struct(current));
	v->ret = v->w->fn(&v->w->args);
	return v->ret ?: count;
}

static const struct file_operations kt_wait_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kt_wait_write,
};

static void kt_remove_file(struct kt *t, void *file)
{
	debugfs_remove(file);
	WRITE_ONCE(kt_victim, NULL);
}

static int kt_call_write(struct kt_args *args)
{
	return kt_shell(KT_WRITE, KBUILD_MODNAME);
}

static void kt_kill(struct kt *t, struct kt_waiter *w)
{
	struct kt_victim v = { .w = w, .ret = 1 };
	struct kt_call *call;

	WRITE_ONCE(kt_victim, &v);
	call = kt_call(t, kt_call_write, &(struct kt_args) {});
	/* Pairs with kt_wait_write(), which has taken the reference. */
	if (kt_expect(t, kt_wait_for(smp_load_acquire(&v.task), KT_CALL_MS))) {
		kt_expect_waits(t, call);
		kt_expect_eq(t, 0, send_sig(SIGKILL, v.task, 1));
		put_task_struct(v.task);
	}
	/* 137: killed by SIGKILL */
	kt_expect_call(t, call, KT_PROMPT_MS, 137);
	kt_expect_eq(t, -EINTR, v.ret);
	WRITE_ONCE(kt_victim, NULL);
}

static void kt_killed(struct kt *t)
{
	struct kt_waiter w;
	int kind;

	kt_defer(t, KT_CALLS, kt_remove_file,
		 debugfs_create_file("wait", 0200, kt_debugfs(), NULL, &kt_wait_fops));
	for (kind = 0; kind < KT_WAIT_NR; kind++) {
		if (!kt_waiter_open(t, &w, kind, kt_addr_text, RDMA_EP_FOREVER))
			continue;
		kt_kill(t, &w);
		kt_waiter_close(t, &w);
	}
}

/* ---- the end of the object */

/* Destroying a listener ends all waits for its requests. */
static void kt_listener_destroyed(struct kt *t)
{
	struct kt_args args = { .timeout_ms = RDMA_EP_FOREVER };
	struct kt_call *call[3];
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, NULL);
	args.ep = p.listener;
	for (i = 0; i < ARRAY_SIZE(call); i++)
		call[i] = kt_call(t, kt_call_get_request, &args);
	for (i = 0; i < ARRAY_SIZE(call); i++)
		kt_expect_waits(t, call[i]);
	kt_destroy(t, p.listener);
	for (i = 0; i < ARRAY_SIZE(call); i++)
		kt_expect_call(t, call[i], KT_PROMPT_MS, -ESHUTDOWN);
}

/* Destroying an endpoint ends a call that waits on it. */
static void kt_destroyed(struct kt *t)
{
	static const enum kt_wait_kind kinds[] = {
		KT_WAIT_CONNECT, KT_WAIT_ACCEPT, KT_WAIT_SLOTS, KT_WAIT_DISCONNECT,
	};
	struct kt_waiter w;
	struct kt_call *call;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!kt_waiter_open(t, &w, kinds[i], kt_addr_text, RDMA_EP_FOREVER))
			continue;
		call = kt_call(t, w.fn, &w.args);
		kt_expect_waits(t, call);
		kt_destroy(t, w.args.ep);
		kt_expect_call(t, call, KT_PROMPT_MS, -ESHUTDOWN);
		w.args.ep = NULL;
		kt_waiter_close(t, &w);
	}
}

static void kt_channel_destroyed(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct kt_call *call = kt_call(t, kt_call_get_event, &(struct kt_args) {
		.channel = ch, .timeout_ms = RDMA_EP_FOREVER });

	kt_expect_waits(t, call);
	kt_undo(t, ch);
	kt_expect_call(t, call, KT_PROMPT_MS, -ESHUTDOWN);
}

/* Migrating a listener to another channel ends a wait for its requests. */
static void kt_migrated(struct kt *t)
{
	struct rdma_ep_channel *ch = kt_channel(t, NULL, NULL);
	struct kt_call *call;
	struct kt_pair p;

	kt_pair_listen(t, &p, NULL);
	call = kt_call(t, kt_call_get_request, &(struct kt_args) {
		.ep = p.listener, .timeout_ms = RDMA_EP_FOREVER });
	kt_expect_waits(t, call);
	kt_expect_eq(t, 0, rdma_ep_migrate(p.listener, ch));
	kt_expect_call(t, call, KT_PROMPT_MS, -ESHUTDOWN);
}

/* Two tasks wait for the end of an endpoint. One gets the event, and both return. */
static void kt_wait_two(struct kt *t)
{
	struct kt_call *get;
	struct kt_pair p;
	int i;

	kt_pair_listen(t, &p, NULL);
	/* With various delays, either task may be first. */
	for (i = 0; i < 8; i++) {
		kt_pair_request(t, &p);
		get = kt_call(t, kt_call_get_event, &(struct kt_args) {
			.channel = rdma_ep_channel(p.client), .timeout_ms = KT_CALL_MS });
		schedule_timeout_idle(msecs_to_jiffies(20 * i));
		kt_expect_eq(t, 0, rdma_ep_reject(p.server, NULL, 0));
		kt_expect_call(t, p.connect, KT_PROMPT_MS, -ECONNREFUSED);
		kt_destroy(t, p.client);
		kt_destroy(t, p.server);
		kt_call_stop(get);
		rdma_ep_ack_event(get->args.event);
	}
}

const struct kt_test kt_wait_tests[] = {
	{ "timeouts", kt_timeouts, 120 },
	{ "no_wait", kt_no_wait },
	{ "kthread_stop", kt_stopped, 120 },
	{ "sigkill", kt_killed, 120 },
	{ "listener_destroyed_under_waiters", kt_listener_destroyed },
	{ "endpoint_destroyed_under_call", kt_destroyed },
	{ "channel_destroyed_under_waiter", kt_channel_destroyed },
	{ "migrated_under_waiter", kt_migrated },
	{ "end_of_two_waiters", kt_wait_two },
	{}
};
