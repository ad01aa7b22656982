// SPDX-License-Identifier: GPL-2.0-only
/*
 * What drivers do for a kernel consumer that brings user memory.
 *
 * By their sources, of Linux 6.1, 6.12 and 7.2: a driver that is not in the table is not
 * used for what the table is about. Those that are known not to be fit:
 *
 *  irdma	looks into the missing udata when it registers user memory
 *  mthca	the same
 *  hns		takes a missing udata for kernel memory, and registers the wrong pages
 *  efa		makes no queues for the kernel
 *  usnic	the same
 *  bng_re	the same
 */
#include "../compat.h"
#include "../engine/engine.h"

static const struct {
	u32 id;
	u32 can;
} ep_drivers[] = {
	{ RDMA_DRIVER_RXE, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_REREG_MR |
			   EP_CAN_INLINE | EP_CAN_RESIZE_CQ },
	{ RDMA_DRIVER_SIW, EP_CAN_REG_MR | EP_CAN_INLINE },
	{ RDMA_DRIVER_MLX5, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_REREG_MR |
			    EP_CAN_INLINE | EP_CAN_RESIZE_CQ | EP_CAN_XRC },
	{ RDMA_DRIVER_MLX4, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_REREG_MR |
			    EP_CAN_RESIZE_CQ },
	{ RDMA_DRIVER_CXGB4, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_INLINE },
	{ RDMA_DRIVER_BNXT_RE, EP_CAN_REG_MR | EP_CAN_MAP_IOVA |
			       EP_CAN_INLINE },
	{ RDMA_DRIVER_OCRDMA, EP_CAN_REG_MR | EP_CAN_MAP_IOVA |
			      EP_CAN_RESIZE_CQ },
	{ RDMA_DRIVER_QEDR, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_INLINE |
			    EP_CAN_XRC },
	{ RDMA_DRIVER_VMW_PVRDMA, EP_CAN_REG_MR | EP_CAN_MAP_IOVA },
	{ RDMA_DRIVER_ERDMA, EP_CAN_REG_MR | EP_CAN_MAP_IOVA | EP_CAN_INLINE },
	{ RDMA_DRIVER_HFI1, EP_CAN_REG_MR | EP_CAN_RESIZE_CQ },
	{ RDMA_DRIVER_QIB, EP_CAN_REG_MR | EP_CAN_RESIZE_CQ },
	/* 7.2 only. Has no SRQs, and takes lkey 0 for all memory. */
	{ EP_COMPAT_DRIVER_IONIC, EP_CAN_REG_MR | EP_CAN_MAP_IOVA |
				  EP_CAN_INLINE },
	/* Of QPs only UD ones are for the kernel. */
	{ EP_COMPAT_DRIVER_MANA, EP_CAN_REG_MR | EP_CAN_MAP_IOVA },
};

/* Does the driver do all of @what (EP_CAN_*)? */
bool ep_dev_can(const struct ib_device *ibdev, u32 what)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ep_drivers); i++)
		if (ep_drivers[i].id == ibdev->ops.driver_id)
			return (ep_drivers[i].can & what) == what;
	return false;
}
