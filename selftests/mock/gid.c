// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes rdma_put_gid_attr() slow. The function is in ib_core, hence a probe: one call at a time
 * sleeps first, for GIDs of any device.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <rdma/ib_cache.h>

#include "mock.h"

static DEFINE_MUTEX(mock_put_gid_lock);		/* mock_put_gid_ms */
static unsigned int mock_put_gid_ms;
static struct task_struct *mock_put_gid_task;	/* the task in mock_put_gid() */

/* Replaces rdma_put_gid_attr(), in the context of its caller. */
static void mock_put_gid(const struct ib_gid_attr *attr)
{
	if (preemptible() && !rcu_preempt_depth())
		msleep(READ_ONCE(mock_put_gid_ms));
	rdma_put_gid_attr(attr);
	WRITE_ONCE(mock_put_gid_task, NULL);
}

static int mock_put_gid_begins(struct kprobe *kp, struct pt_regs *regs)
{
	if (cmpxchg(&mock_put_gid_task, NULL, current))
		return 0;
	instruction_pointer_set(regs, (unsigned long)mock_put_gid);
	return 1;
}

/* Prevents optimization of the kprobe, so that mock_put_gid_begins() may change the IP. */
static void mock_put_gid_ends(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe mock_put_gid_probe;

int mock_put_gid_delay(unsigned int ms)
{
	int ret = 0;

	mutex_lock(&mock_put_gid_lock);
	if (ms && !mock_put_gid_ms) {
		mock_put_gid_probe = (struct kprobe) {
			.symbol_name = "rdma_put_gid_attr",
			.pre_handler = mock_put_gid_begins,
			.post_handler = mock_put_gid_ends,
		};
		ret = register_kprobe(&mock_put_gid_probe);
	} else if (!ms && mock_put_gid_ms) {
		unregister_kprobe(&mock_put_gid_probe);
		while (READ_ONCE(mock_put_gid_task))
			msleep(20);
		/* The task may still be returning from mock_put_gid(). */
		synchronize_rcu_tasks();
	}
	if (!ret)
		WRITE_ONCE(mock_put_gid_ms, ms);
	mutex_unlock(&mock_put_gid_lock);
	return ret;
}
