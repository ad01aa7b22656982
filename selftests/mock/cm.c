// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma_cm is slow where it looks for a route and where it cancels what an id is at,
 * which it does in functions that only a probe can get at.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "mock.h"

/* enum rdma_cm_state, which is private */
#define MOCK_CM_ROUTE_QUERY	3

static DEFINE_MUTEX(mock_cm_lock);		/* mock_cm_ms, mock_cm_probes */
static unsigned int mock_cm_ms;

/* In probes: they can not sleep. */
static int mock_cm_finds(struct kprobe *kp, struct pt_regs *regs)
{
	mdelay(READ_ONCE(mock_cm_ms));
	return 0;
}

static int mock_cm_cancels(struct kprobe *kp, struct pt_regs *regs)
{
	if (regs_get_kernel_argument(regs, 1) == MOCK_CM_ROUTE_QUERY)
		mdelay(READ_ONCE(mock_cm_ms));
	return 0;
}

/* Cleared, as register_kprobe() wants them. */
static struct kprobe mock_cm_probes[2];

static int mock_cm_register(void)
{
	static const struct kprobe probes[ARRAY_SIZE(mock_cm_probes)] = {
		{
			.symbol_name = "cma_work_handler",
			.pre_handler = mock_cm_finds,
		}, {
			.symbol_name = "cma_cancel_operation",
			.pre_handler = mock_cm_cancels,
		},
	};
	int i, ret;

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

/* How many milliseconds; 0: as always. -ENOENT if this kernel has no such functions. */
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
	}
	if (!ret)
		WRITE_ONCE(mock_cm_ms, ms);
	mutex_unlock(&mock_cm_lock);
	return ret;
}
