/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of the library.
 */
#ifndef RDMA_EP_LIB_TEST_H
#define RDMA_EP_LIB_TEST_H

#include "test.h"
#include "lib_util.h"

/* The pointer that a call returns. The test ends if that is NULL. */
#define ASSERT_PTR(_call) ({ \
	__auto_type ptr_ = (_call); \
	int errno_ = errno; \
	ASSERT_NE(NULL, ptr_) { \
		TH_LOG("%s: %s", #_call, strerror(errno_)); \
	} \
	ptr_; })

#endif
