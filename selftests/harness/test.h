/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The test harness, and the headers of the system.
 */
#ifndef RDMA_EP_TEST_H
#define RDMA_EP_TEST_H

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In angle brackets, as #include_next continues in the folder after its own. */
#include <kselftest_harness.h>
#include "param.h"
#include "skip.h"

/* A check such as EXPECT_EQ(...), and a message if it fails */
#define LOGGED(_check, ...)	({ _check { TH_LOG(__VA_ARGS__); } })

/* Returns the pointer that a call returns. NULL ends the test. */
#define ASSERT_PTR(_call) ({ \
	__auto_type ptr_ = (_call); \
	int errno_ = errno; \
	ASSERT_NE(NULL, ptr_) { \
		TH_LOG("%s: %s", #_call, strerror(errno_)); \
	} \
	ptr_; })

/* Waits for a child, whose exit status must be 0. */
#define EXPECT_SUCCESS(_pid) ({						\
	pid_t __pid = (_pid);						\
	int __status;							\
									\
	ASSERT_EQ(__pid, waitpid(__pid, &__status, 0));			\
	EXPECT_EQ(0, __status);						\
})

#define WITH_RLIMIT(_resource, _max, ...) ({				\
	struct rlimit __all, __few;					\
									\
	getrlimit(_resource, &__all);					\
	__few = __all;							\
	__few.rlim_cur = (_max);					\
	setrlimit(_resource, &__few);					\
	__VA_ARGS__;							\
	setrlimit(_resource, &__all);					\
})

#endif
