/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel full of debugging takes several times as long: TEST_SCALE of the environment
 * multiplies every time limit of a test. Included by the compiler's command line.
 */
#ifndef HARNESS_SCALE_H
#define HARNESS_SCALE_H

#include <stdlib.h>

#define TEST_SCALE	test_scale()

static inline int test_scale(void)
{
	const char *scale = getenv("TEST_SCALE");

	return scale && atoi(scale) > 0 ? atoi(scale) : 1;
}

#endif
