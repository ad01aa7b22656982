/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rdma_ep for kernel consumers.
 *
 * The engine under kmod/engine is written to be called by kernel ULPs as well
 * as by the character device, but this version of the module exports no symbols
 * yet: the only thing that a ULP can use is the version below.
 */
#ifndef RDMA_EP_H
#define RDMA_EP_H

/** RDMA_EP_VERSION - version of the module and of this interface */
#define RDMA_EP_VERSION	"0.1.0"

#endif /* RDMA_EP_H */
