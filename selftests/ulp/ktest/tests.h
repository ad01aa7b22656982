/* SPDX-License-Identifier: GPL-2.0-only */
/* The lists of tests, one for each file */
#ifndef KTEST_TESTS_H
#define KTEST_TESTS_H

#include "world.h"

extern const struct kt_test kt_bad_input_tests[];
extern const struct kt_test kt_state_tests[];
extern const struct kt_test kt_caps_tests[];
extern const struct kt_test kt_connect_tests[];
extern const struct kt_test kt_qp_tests[];
extern const struct kt_test kt_srq_tests[];
extern const struct kt_test kt_event_tests[];
extern const struct kt_test kt_migrate_tests[];
extern const struct kt_test kt_end_tests[];
extern const struct kt_test kt_option_tests[];
extern const struct kt_test kt_multicast_tests[];
extern const struct kt_test kt_context_tests[];
extern const struct kt_test kt_wait_tests[];
extern const struct kt_test kt_fault_tests[];
extern const struct kt_test kt_removal_tests[];
extern const struct kt_test kt_stress_tests[];

#endif /* KTEST_TESTS_H */
