/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of the library.
 */
#ifndef RDMA_EP_LIB_TEST_H
#define RDMA_EP_LIB_TEST_H

#include "test.h"
#include "lib_util.h"

#endif
