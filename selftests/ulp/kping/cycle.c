// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the time to create and destroy endpoints (create), or to connect and
 * disconnect them (cycle), one after the other, without messages.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>

#include "kping.h"

static int kping_cycle(struct kping_run *run)
{
	struct kping_conn *conn;

	if (run->cmd.mode == KPING_CREATE)
		conn = kping_create(run);
	else
		conn = kping_connect(run);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	kping_close(conn);
	return 0;
}

/* The first one is not counted, as it fills caches for the others. */
int kping_cycles(struct kping_run *run)
{
	u64 began;
	u32 i;
	int ret;

	ret = kping_cycle(run);
	began = ktime_get_ns();
	for (i = 0; !ret && i < run->cmd.count; i++) {
		if (kthread_should_stop())
			return -EINTR;
		ret = kping_cycle(run);
		run->result.rounds++;
	}
	run->result.conns = run->result.rounds;
	if (!ret)
		run->result.ns = ktime_get_ns() - began;
	return ret;
}
