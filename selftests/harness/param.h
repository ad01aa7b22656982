/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMA_EP_TEST_PARAM_H
#define RDMA_EP_TEST_PARAM_H

/* A parameter of the module: writes the value; returns the old one, or -1. */
int test_param(const char *name, int value);

#endif
