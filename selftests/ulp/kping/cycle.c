// SPDX-License-Identifier: GPL-2.0-only
/*
 * No messages: endpoints are made and go (create), connections are made and go
 * (cycle), one after the other. What that costs is the result.
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

/* The first one is not counted: what it finds nobody else has to look for. */
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
