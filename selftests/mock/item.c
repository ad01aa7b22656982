// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the work item of rdma_ep's ids slow. ep_id_work() is in rdma_ep, hence a probe: one call at
 * a time sleeps first, for an id of any device.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "mock.h"

static DEFINE_MUTEX(mock_item_lock);		/* mock_item_ms, mock_item_probe */
static unsigned int mock_item_ms;
static struct task_struct *mock_item_task;	/* the task in mock_item() */
static work_func_t mock_item_function;

/* Replaces ep_id_work(). */
static void mock_item(struct work_struct *work)
{
	msleep(READ_ONCE(mock_item_ms));
	mock_item_function(work);
	WRITE_ONCE(mock_item_task, NULL);
}

static int mock_item_begins(struct kprobe *kp, struct pt_regs *regs)
{
	if (cmpxchg(&mock_item_task, NULL, current))
		return 0;
	mock_item_function = (work_func_t)kp->addr;
	instruction_pointer_set(regs, (unsigned long)mock_item);
	return 1;
}

/* Prevents optimization of the kprobe, so that mock_item_begins() may change the IP. */
static void mock_item_ends(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe mock_item_probe;

bool mock_item_runs(void)
{
	return READ_ONCE(mock_item_task);
}

int mock_item_delay(unsigned int ms)
{
	int ret = 0;

	mutex_lock(&mock_item_lock);
	if (ms && !mock_item_ms) {
		mock_item_probe = (struct kprobe) {
			.symbol_name = "ep_id_work",
			.pre_handler = mock_item_begins,
			.post_handler = mock_item_ends,
		};
		ret = register_kprobe(&mock_item_probe);
	} else if (!ms && mock_item_ms) {
		unregister_kprobe(&mock_item_probe);
		while (READ_ONCE(mock_item_task))
			msleep(20);
		/* The task may still be returning from mock_item(). */
		synchronize_rcu_tasks();
	}
	if (!ret)
		WRITE_ONCE(mock_item_ms, ms);
	mutex_unlock(&mock_item_lock);
	return ret;
}
