/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of the raw ioctl ABI.
 */
#ifndef ABI_TEST_H
#define ABI_TEST_H

#include "test.h"
#include "abi.h"

#endif
