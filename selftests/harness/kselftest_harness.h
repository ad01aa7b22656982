/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's test harness, with time limits that grow with TEST_SCALE: on a
 * kernel full of debugging everything takes that many times as long. And they are three
 * times what the kernel's harness gives: several guests share a CPU.
 */
#ifndef HARNESS_KSELFTEST_HARNESS_H
#define HARNESS_KSELFTEST_HARNESS_H

#include_next <kselftest_harness.h>

/* Both are only used where a test is defined. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(90 * TEST_SCALE)

#undef TEST_F_TIMEOUT
#define TEST_F_TIMEOUT(_fixture, _test, _seconds) \
	__TEST_F_IMPL(_fixture, _test, -1, 3 * (_seconds) * TEST_SCALE)

#endif
