// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes on demand: "insmod provoke.ko what=NAME" makes one, and fails to load. The self-test
 * of the rig checks that a debug kernel reports each, and that the rig sees the report.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *what = "";
module_param(what, charp, 0);

/* The compiler must not see through the mistakes. */
static void *hide(void *p)
{
	OPTIMIZER_HIDE_VAR(p);
	return p;
}

static void provoke_use_after_free(void)
{
	char *p = hide(kmalloc(64, GFP_KERNEL));

	kfree(hide(p));
	if (p)
		WRITE_ONCE(p[8], 1);
}

static void provoke_out_of_bounds(void)
{
	char *p = hide(kmalloc(60, GFP_KERNEL));

	if (p)
		WRITE_ONCE(p[60], 1);
	kfree(p);
}

/* Each order alone is fine, and no thread waits. */
static void provoke_lock_order(void)
{
	static DEFINE_MUTEX(a);
	static DEFINE_MUTEX(b);

	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);

	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static void provoke_sleep_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

/* Several objects, as a stale copy of the last pointer may remain in memory. */
static void provoke_leak(void)
{
	int i;

	for (i = 0; i < 10; i++)
		hide(kmalloc(4000, GFP_KERNEL));
}

static void provoke_shift(void)
{
	unsigned int bits = 33;
	unsigned int x = 1;

	OPTIMIZER_HIDE_VAR(bits);
	x <<= bits;
	OPTIMIZER_HIDE_VAR(x);
}

static void provoke_nothing(struct timer_list *t)
{
}

static void provoke_free_timer(void)
{
	struct timer_list *t = hide(kmalloc(sizeof(*t), GFP_KERNEL));

	if (!t)
		return;
	timer_setup(t, provoke_nothing, 0);
	mod_timer(t, jiffies + HZ);
	kfree(t);
}

static int provoke_racer(void *n)
{
	while (!kthread_should_stop()) {
		++*(int *)n;
		cpu_relax();
	}
	return 0;
}

/* Two tasks write without a lock. */
static void provoke_race(void)
{
	static int n;
	unsigned long end = jiffies + 3 * HZ;
	struct task_struct *racer = kthread_run(provoke_racer, &n, "provoke");

	if (IS_ERR(racer))
		return;
	while (time_before(jiffies, end)) {
		n++;
		cpu_relax();
	}
	kthread_stop(racer);
}

static int __init provoke_init(void)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} mistakes[] = {
		{ "use_after_free", provoke_use_after_free },
		{ "out_of_bounds", provoke_out_of_bounds },
		{ "lock_order", provoke_lock_order },
		{ "sleep_in_atomic", provoke_sleep_in_atomic },
		{ "leak", provoke_leak },
		{ "shift", provoke_shift },
		{ "free_timer", provoke_free_timer },
		{ "race", provoke_race },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (!strcmp(what, mistakes[i].name)) {
			mistakes[i].fn();
			return -EAGAIN;		/* so that the next insmod works */
		}
	}
	return -EINVAL;
}
module_init(provoke_init);

MODULE_DESCRIPTION("mistakes on demand");
MODULE_LICENSE("GPL");
