// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes rdma_cm by probes: it finds no route before it cancels a query for one, both slowly, and
 * sets a chosen Q_Key in QPs.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "mock.h"

/* enum rdma_cm_state, which is private */
#define MOCK_CM_ROUTE_QUERY	3
/* Limit of the wait for a cancellation */
#define MOCK_CM_PATIENCE	(20 * HZ)

static DEFINE_MUTEX(mock_cm_lock);		/* mock_cm_ms, mock_cm_probes */
static unsigned int mock_cm_ms;
static bool mock_cm_cancelled;
static struct task_struct *mock_cm_task;	/* the task in mock_cm_find() */
static work_func_t mock_cm_work_handler;

/* Replaces cma_work_handler() for one call at a time. */
static void mock_cm_find(struct work_struct *work)
{
	unsigned long end = jiffies + MOCK_CM_PATIENCE;

	while (!READ_ONCE(mock_cm_cancelled) && time_before(jiffies, end))
		msleep(20);
	msleep(3 * READ_ONCE(mock_cm_ms));
	mock_cm_work_handler(work);
	WRITE_ONCE(mock_cm_task, NULL);
}

static int mock_cm_finds(struct kprobe *kp, struct pt_regs *regs)
{
	if (cmpxchg(&mock_cm_task, NULL, current))
		return 0;
	mock_cm_work_handler = (work_func_t)kp->addr;
	instruction_pointer_set(regs, (unsigned long)mock_cm_find);
	return 1;
}

/* Prevents optimization of the kprobe, so that mock_cm_finds() may change the IP. */
static void mock_cm_found(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* A probe cannot sleep, nor wake up a task. */
static int mock_cm_cancels(struct kprobe *kp, struct pt_regs *regs)
{
	if (regs_get_kernel_argument(regs, 1) != MOCK_CM_ROUTE_QUERY)
		return 0;
	WRITE_ONCE(mock_cm_cancelled, true);
	mdelay(READ_ONCE(mock_cm_ms));
	return 0;
}

/* Initialised before each register_kprobe(), which expects cleared members */
static struct kprobe mock_cm_probes[2];

static int mock_cm_register(void)
{
	static const struct kprobe probes[ARRAY_SIZE(mock_cm_probes)] = {
		{
			.symbol_name = "cma_cancel_operation",
			.pre_handler = mock_cm_cancels,
		}, {
			.symbol_name = "cma_work_handler",
			.pre_handler = mock_cm_finds,
			.post_handler = mock_cm_found,
		},
	};
	int i, ret;

	mock_cm_cancelled = false;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		mock_cm_probes[i] = probes[i];
		ret = register_kprobe(&mock_cm_probes[i]);
		if (ret)
			break;
	}
	if (!ret)
		return 0;
	while (i--)
		unregister_kprobe(&mock_cm_probes[i]);
	return ret;
}

/* Sets cm_ms; 0: off. Returns -ENOENT if this kernel lacks the probed functions. */
int mock_cm_delay(unsigned int ms)
{
	int ret = 0;
	int i;

	mutex_lock(&mock_cm_lock);
	if (ms && !mock_cm_ms) {
		ret = mock_cm_register();
	} else if (!ms && mock_cm_ms) {
		for (i = 0; i < ARRAY_SIZE(mock_cm_probes); i++)
			unregister_kprobe(&mock_cm_probes[i]);
		while (READ_ONCE(mock_cm_task))
			msleep(20);
		/* The task may still be returning from mock_cm_find(). */
		synchronize_rcu_tasks();
	}
	if (!ret)
		WRITE_ONCE(mock_cm_ms, ms);
	mutex_unlock(&mock_cm_lock);
	return ret;
}

/*
 * InfiniBand's subnet manager supplies the Q_Key of IPoIB's broadcast group. The mock device has
 * neither, so a probe sets the Q_Key.
 */
struct mock_init_attr {
	struct ib_qp_attr *attr;
	int *mask;
};

static u32 mock_ud_qkey;		/* set with mock_cm_lock held */

static int mock_init_attr_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct mock_init_attr *call = (void *)ri->data;

	call->attr = (void *)regs_get_kernel_argument(regs, 1);
	call->mask = (void *)regs_get_kernel_argument(regs, 2);
	return 0;
}

static int mock_init_attr_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct mock_init_attr *call = (void *)ri->data;

	if (!(int)regs_return_value(regs) && (*call->mask & IB_QP_QKEY))
		call->attr->qkey = READ_ONCE(mock_ud_qkey);
	return 0;
}

/* Initialised before each register_kretprobe(), which expects cleared members */
static struct kretprobe mock_init_attr_probe;

int mock_cm_ud_qkey(unsigned int qkey)
{
	int ret = 0;

	mutex_lock(&mock_cm_lock);
	if (qkey && !mock_ud_qkey) {
		mock_init_attr_probe = (struct kretprobe) {
			.kp.symbol_name = "rdma_init_qp_attr",
			.entry_handler = mock_init_attr_begins,
			.handler = mock_init_attr_ends,
			.data_size = sizeof(struct mock_init_attr),
		};
		WRITE_ONCE(mock_ud_qkey, qkey);
		ret = register_kretprobe(&mock_init_attr_probe);
	} else if (!qkey && mock_ud_qkey) {
		unregister_kretprobe(&mock_init_attr_probe);
	}
	WRITE_ONCE(mock_ud_qkey, ret ? 0 : qkey);
	mutex_unlock(&mock_cm_lock);
	return ret;
}
