/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between drivers: capabilities, limits, and operations for what a driver
 * needs beside calls of ib_core. kmod/drivers implements them.
 */
#ifndef RDMA_EP_DRIVER_H
#define RDMA_EP_DRIVER_H

#include <rdma/ib_verbs.h>

struct ep_dev;
struct ep_qp;
struct iw_cm_id;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * enum ep_dev_caps - properties of a driver's devices
 * @EP_CAP_REG_MR: registers user memory without udata
 * @EP_CAP_MAP_IOVA: ... at another address as well
 * @EP_CAP_REREG_MR: changes such a region
 * @EP_CAP_INLINE: takes inline data from a kernel address
 * @EP_CAP_RESIZE_CQ: resizes a CQ without udata
 * @EP_CAP_XRC: makes XRC requests of posted sends
 * @EP_CAP_SOFTWARE: the device is a program of this machine. A completion notification
 *	costs next to nothing, and queues are ordinary memory
 * @EP_CAP_MTU_10240: has path MTUs above 4096
 * @EP_CAP_STICKY_NOTIFY: notifies of the next completion even if it is later asked for
 *	solicited completions only
 * @EP_CAP_MCAST_ALONE: attaching or detaching two QPs at a time corrupts its groups
 * @EP_CAP_READS_APART: READs complete in an order of their own
 * @EP_CAP_READ_TWICE: an interrupted READ may complete twice
 * @EP_CAP_SPLIT_SEND: prepare_send() may need two entries for a send of one
 * @EP_CAP_NO_RESET: RESET leaves the queues as they are
 * @EP_CAP_NO_SQD: SQD does not drain the send queue
 * @EP_CAP_QP_PINS_MODULE: unloading it hangs as long as it has QPs
 * @EP_CAP_LISTEN_ANY_NET: accepts connection requests from other network namespaces
 */
enum ep_dev_caps {
	EP_CAP_REG_MR		= BIT(0),
	EP_CAP_MAP_IOVA		= BIT(1),
	EP_CAP_REREG_MR		= BIT(2),
	EP_CAP_INLINE		= BIT(3),
	EP_CAP_RESIZE_CQ	= BIT(4),
	EP_CAP_XRC		= BIT(5),
	EP_CAP_SOFTWARE		= BIT(6),
	EP_CAP_MTU_10240	= BIT(7),
	EP_CAP_STICKY_NOTIFY	= BIT(8),
	EP_CAP_MCAST_ALONE	= BIT(9),
	EP_CAP_READS_APART	= BIT(10),
	EP_CAP_READ_TWICE	= BIT(11),
	EP_CAP_SPLIT_SEND	= BIT(12),
	EP_CAP_NO_RESET		= BIT(13),
	EP_CAP_NO_SQD		= BIT(14),
	EP_CAP_QP_PINS_MODULE	= BIT(15),
	EP_CAP_LISTEN_ANY_NET	= BIT(16),
};

/**
 * struct ep_driver_ops - operations of a driver; all are optional
 * @add: sets limits and &ep_dev.driver_data of a new device
 * @stop_all: the device is being removed, and no call on it runs or begins. Its QPs are
 *	destroyed next
 * @remove: frees &ep_dev.driver_data; no objects are left
 * @max_mr_pages: the most pages of a region
 * @dereg_mr: replaces ib_dereg_mr()
 * @before_modify: checks and corrects a change of a QP (&ep_qp.lock)
 * @before_reset: posts are refused, the QP is reset next; @old is its state (&ep_qp.lock)
 * @modify: replaces ib_modify_qp() (&ep_qp.lock)
 * @after_query: corrects attributes that ib_query_qp() returned (&ep_qp.lock)
 * @stop_receiving: a QP in ERR whose posted requests have completed receives nothing
 *	more on return
 * @stop: the QP is destroyed next, with others. *@waited is set by the first call
 * @before_destroy: empties a QP that is destroyed next (&ep_qp.lock)
 * @destroy: replaces ib_destroy_qp()
 * @prepare_send: checks and corrects a send that is posted next. @flags: send flags
 *	that the caller asked for. @spare: two entries that @wr may use
 * @fix_event: corrects an event before rdma_cm's handler passes it on
 * @before_accept: rdma_accept() is called next
 * @accept_failed: rdma_accept() has failed
 * @before_disconnect: rdma_disconnect() is called next, without the handler mutex
 * @before_destroy_id: rdma_destroy_id() is called next. Returns a reference for
 *	@after_destroy_id, or NULL
 * @after_destroy_id: rdma_destroy_id() has returned
 */
struct ep_driver_ops {
	int (*add)(struct ep_dev *dev);
	void (*stop_all)(struct ep_dev *dev);
	void (*remove)(struct ep_dev *dev);
	u64 (*max_mr_pages)(void);
	int (*dereg_mr)(struct ep_dev *dev, struct ib_mr *mr);
	int (*before_modify)(struct ep_qp *qp, struct ib_qp_attr *attr,
			     int *mask);
	void (*before_reset)(struct ep_qp *qp, enum ib_qp_state old);
	int (*modify)(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
	void (*after_query)(const struct ep_qp *qp, struct ib_qp_attr *attr);
	void (*stop_receiving)(struct ep_qp *qp);
	void (*stop)(struct ep_qp *qp, bool *waited);
	void (*before_destroy)(struct ep_qp *qp);
	int (*destroy)(struct ep_qp *qp, struct ib_qp *ibqp);
	int (*prepare_send)(struct ep_qp *qp, struct ib_send_wr *wr, u32 flags,
			    struct ib_sge *spare);
	void (*fix_event)(struct rdma_cm_event *event);
	void (*before_accept)(struct rdma_cm_id *cm_id);
	void (*accept_failed)(struct rdma_cm_id *cm_id);
	void (*before_disconnect)(struct rdma_cm_id *cm_id);
	struct iw_cm_id *(*before_destroy_id)(struct rdma_cm_id *cm_id);
	void (*after_destroy_id)(struct iw_cm_id *iw);
};

/**
 * struct ep_driver - a driver
 * @caps: enum ep_dev_caps
 * @max_private_data: the longest private data of its CM; 0: 255
 * @read_bytes: kernel memory that an outstanding READ takes; 0: 64
 * @ops: operations or NULL
 */
struct ep_driver {
	u32 caps;
	u8 max_private_data;
	u16 read_bytes;
	const struct ep_driver_ops *ops;
};

void ep_drivers_register(const struct ep_driver *drivers, unsigned int nr);
const struct ep_driver *ep_driver_of(const struct ib_device *ibdev);
const struct ep_driver_ops *ep_driver_ops_of(const struct ib_device *ibdev);

/* Do all of @caps apply? */
static inline bool ep_dev_has(const struct ib_device *ibdev, u32 caps)
{
	return (ep_driver_of(ibdev)->caps & caps) == caps;
}

/* drivers/caps.c */
int ep_drivers_init(void);
void ep_drivers_exit(void);

#endif /* RDMA_EP_DRIVER_H */
