// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the API in rdma_ep.h, in the kernel. clients/ktest.sh runs them.
 */
#include <linux/module.h>

#include "tests.h"

const struct kt_test *const kt_suites[] = {
	kt_bad_input_tests,
	kt_state_tests,
	kt_caps_tests,
	kt_connect_tests,
	kt_qp_tests,
	kt_srq_tests,
	kt_event_tests,
	kt_migrate_tests,
	kt_end_tests,
	kt_option_tests,
	kt_multicast_tests,
	kt_context_tests,
	kt_wait_tests,
	kt_fault_tests,
	kt_removal_tests,
	kt_stress_tests,
	NULL
};

static int __init kt_init(void)
{
	int ret;

	ret = kt_world_init();
	return ret ?: kt_harness_init();
}

static void __exit kt_exit(void)
{
	kt_harness_exit();
}

module_init(kt_init);
module_exit(kt_exit);

MODULE_DESCRIPTION("Tests of rdma_ep's kernel API");
MODULE_LICENSE("GPL");
