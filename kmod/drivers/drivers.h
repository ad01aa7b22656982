/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMA_EP_DRIVERS_H
#define RDMA_EP_DRIVERS_H

#include "../compat.h"
#include "../engine/engine.h"

extern const struct ep_driver_ops ep_rxe_ops;
extern const struct ep_driver_ops ep_siw_ops;

int ep_rxe_init(void);
void ep_rxe_exit(void);
void ep_siw_exit(void);

#endif /* RDMA_EP_DRIVERS_H */
