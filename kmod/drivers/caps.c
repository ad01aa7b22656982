// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capabilities of drivers for a kernel consumer that brings user memory, by the sources of Linux
 * 6.1, 6.12 and 7.2. A driver that is not in the table has none. Unfit ones:
 *
 *  irdma, mthca	use the missing udata when they register user memory
 *  hns			takes a missing udata for kernel memory, and registers the wrong pages
 *  efa, usnic, bng_re	create no queues for the kernel
 */
#include "drivers.h"

/* Values of enum rdma_driver_id (the ABI of uverbs) that not all headers have */
#define EP_DRIVER_MANA	20
#define EP_DRIVER_IONIC	21

#define EP_CAPS_MAP	(EP_CAP_REG_MR | EP_CAP_MAP_IOVA)

static const struct ep_driver ep_drivers[] = {
	[RDMA_DRIVER_RXE] = {
		.name = "rxe",
		.caps = EP_CAPS_MAP | EP_CAP_REREG_MR | EP_CAP_INLINE |
			EP_CAP_RESIZE_CQ | EP_CAP_SOFTWARE |
			EP_CAP_STICKY_NOTIFY |
			/* Other CPUs' completions wait for the CQ's lock meanwhile. */
			(EP_COMPAT_QP_WORK_ITEMS ? EP_CAP_RECV_RING : 0) |
			EP_CAP_MCAST_ALONE,	/* RXE-10 */
		.ops = &ep_rxe_ops,
	},
	[RDMA_DRIVER_SIW] = {
		.name = "siw",
		.caps = EP_CAP_REG_MR | EP_CAP_INLINE | EP_CAP_SOFTWARE |
			EP_CAP_READS_APART | EP_CAP_READ_TWICE |
			EP_CAP_SPLIT_SEND | EP_CAP_NO_RESET | EP_CAP_NO_SQD |
			EP_CAP_QP_PINS_MODULE |	/* SIW-22 */
			EP_CAP_LISTEN_ANY_NET,	/* IWCM-03 */
		/* It counts a message, with its own four bytes, in eight bits. */
		.max_private_data = U8_MAX - 4,
		/* READs of the peer, and its own */
		.read_bytes = 2 * 128,
		.pace_bytes = 128 << 10,
		.ops = &ep_siw_ops,
	},
	[RDMA_DRIVER_MLX5] = {
		.name = "mlx5",
		.caps = EP_CAPS_MAP | EP_CAP_REREG_MR | EP_CAP_INLINE |
			EP_CAP_RESIZE_CQ | EP_CAP_XRC,
	},
	[RDMA_DRIVER_MLX4] = {
		.name = "mlx4",
		.caps = EP_CAPS_MAP | EP_CAP_REREG_MR | EP_CAP_RESIZE_CQ,
	},
	[RDMA_DRIVER_CXGB4] = { .name = "cxgb4", .caps = EP_CAPS_MAP | EP_CAP_INLINE },
	[RDMA_DRIVER_BNXT_RE] = { .name = "bnxt_re", .caps = EP_CAPS_MAP | EP_CAP_INLINE },
	[RDMA_DRIVER_OCRDMA] = { .name = "ocrdma", .caps = EP_CAPS_MAP | EP_CAP_RESIZE_CQ },
	[RDMA_DRIVER_QEDR] = { .name = "qedr", .caps = EP_CAPS_MAP | EP_CAP_INLINE | EP_CAP_XRC },
	/* It warns of each attempt to create an SRQ for the kernel. */
	[RDMA_DRIVER_VMW_PVRDMA] = { .name = "vmw_pvrdma", .caps = EP_CAPS_MAP | EP_CAP_NO_SRQ },
	/* It has no SRQs. */
	[RDMA_DRIVER_ERDMA] = { .name = "erdma", .caps = EP_CAPS_MAP | EP_CAP_INLINE },
	[RDMA_DRIVER_HFI1] = {
		.name = "hfi1",
		.caps = EP_CAP_REG_MR | EP_CAP_RESIZE_CQ | EP_CAP_MTU_10240,
	},
	[RDMA_DRIVER_QIB] = { .name = "qib", .caps = EP_CAP_REG_MR | EP_CAP_RESIZE_CQ },
	/* 7.2 only. It has no SRQs, and takes lkey 0 for all memory. */
	[EP_DRIVER_IONIC] = { .name = "ionic", .caps = EP_CAPS_MAP | EP_CAP_INLINE },
	/* Kernel consumers get UD QPs only. */
	[EP_DRIVER_MANA] = { .name = "mana", .caps = EP_CAPS_MAP },
	[RDMA_DRIVER_IRDMA] = { .name = "irdma" },
	[RDMA_DRIVER_MTHCA] = { .name = "mthca" },
	[RDMA_DRIVER_HNS] = { .name = "hns" },
	[RDMA_DRIVER_EFA] = { .name = "efa" },
	[RDMA_DRIVER_USNIC] = { .name = "usnic" },
};

/* Called before the first device is added. */
int ep_drivers_init(void)
{
	ep_drivers_register(ep_drivers, ARRAY_SIZE(ep_drivers));
	return ep_rxe_init();
}

/* Called after the last id and device have been destroyed. */
void ep_drivers_exit(void)
{
	ep_rxe_exit();
	ep_siw_exit();
}
