/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's test harness, with time limits multiplied by TEST_SCALE, and by three because
 * several guests share a CPU.
 */
#ifndef HARNESS_KSELFTEST_HARNESS_H
#define HARNESS_KSELFTEST_HARNESS_H

#include_next <kselftest_harness.h>

static inline int scaled_harness_run(int argc, char **argv)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t;

	for (f = __fixture_list; f; f = f->next)
		for (t = f->tests; t; t = t->next)
			t->timeout *= 3 * TEST_SCALE;
	return test_harness_run(argc, argv);
}

/* TEST_HARNESS_MAIN calls scaled_harness_run(). */
#define test_harness_run scaled_harness_run

#endif
