/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mock device (mock/mock.h documents it) for tests of the library: it has XRC. It is
 * created for the first test of a program, and removed with the program.
 */
#ifndef RDMA_EP_LIB_MOCK_H
#define RDMA_EP_LIB_MOCK_H

#include "lib_util.h"

/* A context of its own each time; NULL: there is no device. */
struct ibv_context *lib_mock_up(void);
struct ibv_context *lib_mock_open(void);

/* For an id of that kind of QP there, with RAI_PASSIVE or without. */
struct rdma_addrinfo *lib_mock_rai(int flags, int qp_type);

/* fd -1: a domain that is not shared */
struct ibv_xrcd *lib_open_xrcd(struct ibv_context *context, int fd, int oflags);

#endif
