// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes rdma_put_gid_attr() of ib_core slow: one call at a time sleeps first, for GIDs of any
 * device.
 */
#include <linux/delay.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <rdma/ib_cache.h>

#include "mock.h"

static void mock_put_gid(const struct ib_gid_attr *attr);

static struct mock_replacement mock_put_gid_attr =
	MOCK_REPLACEMENT(mock_put_gid_attr, "rdma_put_gid_attr", mock_put_gid);

/* Runs in the context of the caller. */
static void mock_put_gid(const struct ib_gid_attr *attr)
{
	if (preemptible() && !rcu_preempt_depth())
		msleep(READ_ONCE(mock_put_gid_attr.ms));
	rdma_put_gid_attr(attr);
	mock_replaced(&mock_put_gid_attr);
}

int mock_put_gid_delay(unsigned int ms)
{
	return mock_replace(&mock_put_gid_attr, ms);
}
