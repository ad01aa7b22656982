// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the work item of rdma_ep's ids slow: one call of ep_id_work() at a time sleeps first, for
 * an id of any device.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "mock.h"

static void mock_item(struct work_struct *work);

static struct mock_replacement mock_item_work =
	MOCK_REPLACEMENT(mock_item_work, "ep_id_work", mock_item);

static void mock_item(struct work_struct *work)
{
	msleep(READ_ONCE(mock_item_work.ms));
	((work_func_t)mock_item_work.probe.addr)(work);
	mock_replaced(&mock_item_work);
}

bool mock_item_runs(void)
{
	return READ_ONCE(mock_item_work.task);
}

int mock_item_delay(unsigned int ms)
{
	return mock_replace(&mock_item_work, ms);
}
