/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks for tests of the raw ioctl ABI.
 */
#ifndef ABI_TEST_H
#define ABI_TEST_H

#include "test.h"
#include "abi.h"

/* Asserts that the call returns 0; logs the call and its errno. */
#define OK(_call) ({							\
	int __result = (_call);						\
									\
	ASSERT_EQ(0, __result) {					\
		TH_LOG("%s: %s", #_call, strerror(abs(__result)));	\
	}								\
})

/* Asserts that the call returns a descriptor; logs the call and its errno. */
#define FD(_call) ({							\
	int __fd = (_call);						\
									\
	ASSERT_LT(0, __fd) {						\
		TH_LOG("%s: %s", #_call, strerror(abs(__fd)));		\
	}								\
	__fd;								\
})

/* Skips the rest of the test if the condition is true. */
#define SKIP_IF(_cond, ...) do {					\
	if (_cond)							\
		SKIP(return, __VA_ARGS__);				\
} while (0)

/* Runs the statements, which must take less than @_ms milliseconds. */
#define EXPECT_WITHIN(_ms, ...) ({					\
	long __start = abi_now_ms();					\
									\
	__VA_ARGS__;							\
	EXPECT_GT(_ms, abi_now_ms() - __start);				\
})

/* Expects -1 and this errno, the failure of a system call. */
#define EXPECT_ERRNO(_errno, _call) ({					\
	EXPECT_EQ(-1, _call);						\
	EXPECT_EQ(_errno, errno);					\
})

/* Returns the next completion of the CQ, which must have this wr_id and status. */
#define EXPECT_WC(_s, _cq, _wr_id, _status) ({				\
	struct rdma_ep_wc __wc = {};					\
									\
	ASSERT_EQ(1, abi_wait(_s, _cq, &__wc, 1));			\
	EXPECT_EQ(_wr_id, __wc.wr_id);					\
	EXPECT_EQ(_status, __wc.status);				\
	__wc;								\
})

/* Returns the next event of the channel, which must be of this type. */
#define NEXT_EVENT(_channel, _event) ({					\
	struct rdma_ep_channel_event __ev;					\
									\
	ASSERT_EQ(0, abi_event(_channel, _event, &__ev));		\
	__ev;								\
})
/* The same, for this id */
#define EXPECT_EVENT(_channel, _event, _id) ({				\
	struct rdma_ep_channel_event __event = NEXT_EVENT(_channel, _event);	\
									\
	EXPECT_EQ(_id, __event.id);					\
	__event;							\
})
/* The same for completion events and asynchronous events */
#define EXPECT_COMP(_channel, _uid) ({					\
	struct rdma_ep_comp_event __ev;					\
									\
	ASSERT_EQ(0, abi_read(_channel, &__ev, sizeof(__ev), ABI_WAIT_MS)); \
	EXPECT_EQ(_uid, __ev.uid);					\
})
#define EXPECT_ASYNC(_fd, _event, _uid) ({				\
	struct rdma_ep_async_event __ev;				\
									\
	ASSERT_EQ(0, abi_read(_fd, &__ev, sizeof(__ev), ABI_WAIT_MS));	\
	EXPECT_EQ(_event, __ev.event);					\
	EXPECT_EQ(_uid, __ev.uid);					\
})

/* Starts a command in a thread, where it must block; expects its return with this result. */
#define START_BLOCKED(_call, _s, _cmd, _arg) ({				\
	ASSERT_EQ(0, ABI_CALL(_call, _s, _cmd, _arg));			\
	EXPECT_TRUE(abi_call_blocked(_call));				\
})
#define EXPECT_RETURNS(_ret, _call) ({					\
	ASSERT_TRUE(abi_call_returned(_call));				\
	EXPECT_EQ(_ret, (_call)->ret);					\
})

/* The teardown of a fixture with nothing but a session, "s" */
#define TEARDOWN_CLOSES(_fixture)					\
	FIXTURE_TEARDOWN(_fixture)					\
	{								\
		abi_close(&self->s);					\
	}

#endif
