/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Older versions of the harness run the test after SKIP(return, ...) in FIXTURE_SETUP.
 * SKIP_FIXTURE() ends the test's process, with the version's exit status of skipped tests.
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
