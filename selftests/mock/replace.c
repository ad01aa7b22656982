// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of other modules, of which one call at a time, for any device, runs a function of this
 * module instead.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "mock.h"

static int mock_replacement_begins(struct kprobe *kp, struct pt_regs *regs)
{
	struct mock_replacement *r = container_of(kp, struct mock_replacement, probe);

	if (cmpxchg(&r->task, NULL, current))
		return 0;
	instruction_pointer_set(regs, (unsigned long)r->function);
	return 1;
}

/* Prevents optimization of the kprobe, so that mock_replacement_begins() may change the IP. */
static void mock_replacement_ends(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* Sets ms; 0: off, when the running call has ended. Returns -ENOENT without the symbol. */
int mock_replace(struct mock_replacement *r, unsigned int ms)
{
	int ret = 0;

	mutex_lock(&r->lock);
	if (ms && !r->ms) {
		r->probe = (struct kprobe) {
			.symbol_name = r->symbol,
			.pre_handler = mock_replacement_begins,
			.post_handler = mock_replacement_ends,
		};
		ret = register_kprobe(&r->probe);
	} else if (!ms && r->ms) {
		unregister_kprobe(&r->probe);
		while (READ_ONCE(r->task))
			msleep(20);
		/* The task may still be returning from the function. */
		synchronize_rcu_tasks();
	}
	if (!ret)
		WRITE_ONCE(r->ms, ms);
	mutex_unlock(&r->lock);
	return ret;
}
