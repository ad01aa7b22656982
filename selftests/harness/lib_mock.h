/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mock device, which mock/mock.h documents, for tests of the library that need XRC. The first
 * test of a program creates it, and the program removes it at its exit.
 */
#ifndef RDMA_EP_LIB_MOCK_H
#define RDMA_EP_LIB_MOCK_H

#include "lib_util.h"

/* A new context, or NULL if there is no device. lib_mock_up() creates the device. */
struct ibv_context *lib_mock_up(void);
struct ibv_context *lib_mock_open(void);
/* Removes the device at once. */
void lib_mock_down(void);

/* For an id with this type of QP on the device. @flags: RAI_PASSIVE or 0 */
struct rdma_addrinfo *lib_mock_rai(int flags, int qp_type);

/* @fd: -1 for a domain that is not shared */
struct ibv_xrcd *lib_open_xrcd(struct ibv_context *context, int fd, int oflags);

#endif
