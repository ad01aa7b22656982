/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMA_EP_TEST_PARAM_H
#define RDMA_EP_TEST_PARAM_H

/* Sets a parameter of the module; returns the old value, or -1. */
int test_param(const char *name, int value);

#endif
