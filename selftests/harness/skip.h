/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SKIP(return, ...) in FIXTURE_SETUP: older versions of the harness run the test all the same.
 * Each test is a process, whose exit status is one of two values if it is skipped.
 */
#ifndef RDMA_EP_SKIP_H
#define RDMA_EP_SKIP_H

#ifdef FIXTURE_TEARDOWN_PARENT
#define SKIP_STATUS	KSFT_SKIP
#else
#define SKIP_STATUS	255
#endif

#define SKIP_FIXTURE(...) SKIP(_exit(SKIP_STATUS), __VA_ARGS__)

#endif
