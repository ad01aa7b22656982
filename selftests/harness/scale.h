/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TEST_SCALE of the environment multiplies all time limits of a test, as a debug kernel is
 * several times slower. The compiler's command line includes this file.
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
