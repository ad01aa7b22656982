/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks for tests of the library.
 */
#ifndef RDMA_EP_LIB_TEST_H
#define RDMA_EP_LIB_TEST_H

#include "test.h"
#include "lib_util.h"

#define EXPECT_FAILS(_errno, _call)		EXPECT_TRUE(FAILS(_errno, _call))
#define EXPECT_FAILS_NULL(_errno, _call)	EXPECT_TRUE(FAILS_NULL(_errno, _call))

/* Returns the next completion, which must have this wr_id and status. */
#define EXPECT_WC(_cq, _wr_id, _status) ({ \
	struct ibv_wc wc_ = lib_next_wc(_cq); \
	EXPECT_EQ(_wr_id, wc_.wr_id); \
	EXPECT_EQ(_status, wc_.status); \
	wc_; })

/* A queue has the capacity of its attributes; the stock libraries may grant more. */
#define EXPECT_GRANTED(_actual, _attribute) do { \
	if (is_stock()) { \
		EXPECT_GE(_actual, _attribute); \
	} else { \
		EXPECT_EQ(_actual, _attribute); \
	} \
} while (0)

/* For functions that return the failed step or NULL, as those of threads do */
#define STEP(_ok) do { \
	if (!(_ok)) { \
		lib_say(__FILE__, __LINE__, "%s: %s", #_ok, strerror(errno)); \
		return #_ok; \
	} \
} while (0)

/* Calls a function that consists of such steps. */
#define ASSERT_STEPS(_call) do { \
	const char *failed_ = (_call); \
	ASSERT_EQ(NULL, failed_) { \
		TH_LOG("%s", failed_); \
	} \
} while (0)

/* Calls fn(arg) in a thread, where it must block. */
#define START_BLOCKED(_thread, _fn, _arg) do { \
	ASSERT_EQ(0, lib_start(_thread, _fn, _arg)); \
	ASSERT_TRUE(lib_still_blocked(_thread)); \
} while (0)

/* The function of a thread returns this number or pointer. */
#define EXPECT_RETURNS(_value, _thread) do { \
	void *ret_; \
	ASSERT_EQ(0, lib_join(_thread, &ret_)); \
	EXPECT_EQ((long)(_value), (long)ret_); \
} while (0)

#define EXPECT_CANCELLED(_thread) do { \
	ASSERT_EQ(0, pthread_cancel((_thread)->thread)); \
	EXPECT_RETURNS(PTHREAD_CANCELED, _thread); \
} while (0)

#endif
