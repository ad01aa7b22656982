/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between drivers: capabilities, limits, and operations for quirks. kmod/drivers
 * implements them.
 */
#ifndef RDMA_EP_DRIVER_H
#define RDMA_EP_DRIVER_H

#include <rdma/ib_verbs.h>

struct ep_dev;
struct ep_qp;
struct iw_cm_id;
struct rdma_cm_event;
struct rdma_cm_id;

/* Properties of a driver's devices */
enum ep_dev_caps {
	EP_CAP_REG_MR		= BIT(0),	/* registers user memory without udata */
	EP_CAP_MAP_IOVA		= BIT(1),	/* ... at another address as well */
	EP_CAP_REREG_MR		= BIT(2),	/* changes such a region */
	EP_CAP_INLINE		= BIT(3),	/* takes inline data from a kernel address */
	EP_CAP_RESIZE_CQ	= BIT(4),	/* resizes a CQ without udata */
	EP_CAP_XRC		= BIT(5),	/* makes XRC requests of posted sends */
	/* Software: notifications are cheap, queues are ordinary memory */
	EP_CAP_SOFTWARE		= BIT(6),
	EP_CAP_MTU_10240	= BIT(7),	/* has path MTUs above 4096 */
	/* Notifies of the next completion even after a request for solicited ones only */
	EP_CAP_STICKY_NOTIFY	= BIT(8),
	/* Attaching or detaching two QPs at a time corrupts its multicast groups */
	EP_CAP_MCAST_ALONE	= BIT(9),
	EP_CAP_READS_APART	= BIT(10),	/* READs complete in an order of their own */
	EP_CAP_READ_TWICE	= BIT(11),	/* an interrupted READ may complete twice */
	EP_CAP_SPLIT_SEND	= BIT(12),	/* prepare_send() may need a second entry */
	EP_CAP_NO_RESET		= BIT(13),	/* RESET leaves the queues as they are */
	EP_CAP_NO_SQD		= BIT(14),	/* SQD does not drain the send queue */
	EP_CAP_QP_PINS_MODULE	= BIT(15),	/* unloading it hangs while it has QPs */
	EP_CAP_LISTEN_ANY_NET	= BIT(16),	/* accepts requests of other net namespaces */
	/*
	 * A QP takes no receive between a completion and the return of the completion handler,
	 * in which receives can be posted to an SRQ; and SRQs are in order
	 */
	EP_CAP_RECV_RING	= BIT(17),
	EP_CAP_NO_SRQ		= BIT(18),	/* its SRQs are for user space only */
};

/* Operations of a driver; all are optional. (lock): under ep_qp.lock */
struct ep_driver_ops {
	/* Sets limits and ep_dev.driver_data of a new device */
	int (*add)(struct ep_dev *dev);
	/* The device is being removed: no other call runs, its QPs are destroyed next */
	void (*stop_all)(struct ep_dev *dev);
	/* Frees driver_data; no objects are left */
	void (*remove)(struct ep_dev *dev);

	/* The most pages of a region */
	u64 (*max_mr_pages)(void);
	/* Replaces ib_dereg_mr() */
	int (*dereg_mr)(struct ep_dev *dev, struct ib_mr *mr);

	/* Checks and corrects a change (lock) */
	int (*before_modify)(struct ep_qp *qp, struct ib_qp_attr *attr, int *mask);
	/* A task moves the QP to ERR or RESET next. Not called in handlers, or with the lock */
	void (*before_end)(struct ep_qp *qp);
	/* Posts are refused, the QP is reset next. @old: its state before (lock) */
	void (*before_reset)(struct ep_qp *qp, enum ib_qp_state old);
	/* Replaces ib_modify_qp() (lock) */
	int (*modify)(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
	/* Corrects the result of ib_query_qp() (lock) */
	void (*after_query)(const struct ep_qp *qp, struct ib_qp_attr *attr);
	/* On return a QP in ERR that has no posted requests receives nothing more */
	void (*stop_receiving)(struct ep_qp *qp);
	/* The QP is destroyed next, with others. The first call sets *@waited */
	void (*stop)(struct ep_qp *qp, bool *waited);
	/* Empties a QP that is destroyed next (lock) */
	void (*before_destroy)(struct ep_qp *qp);
	/* Replaces ib_destroy_qp() */
	int (*destroy)(struct ep_qp *qp, struct ib_qp *ibqp);
	/*
	 * Checks and corrects a send that is posted next. @flags: send flags that the
	 * caller passed. @spare: two entries that @wr may use
	 */
	int (*prepare_send)(struct ep_qp *qp, struct ib_send_wr *wr, u32 flags,
			    struct ib_sge *spare);

	/* Corrects an event of rdma_cm */
	void (*fix_event)(struct rdma_cm_event *event);
	/* Around calls of rdma_cm; before_disconnect() without the handler mutex */
	void (*before_accept)(struct rdma_cm_id *cm_id);
	void (*accept_failed)(struct rdma_cm_id *cm_id);
	void (*before_disconnect)(struct rdma_cm_id *cm_id);
	/* Returns a reference for after_destroy_id(), or NULL */
	struct iw_cm_id *(*before_destroy_id)(struct rdma_cm_id *cm_id);
	void (*after_destroy_id)(struct iw_cm_id *iw);
};

struct ep_driver {
	const char *name;		/* in rules of the administrator */
	u32 caps;			/* enum ep_dev_caps */
	u8 max_private_data;		/* of a CM message; 0: 255 */
	u16 read_bytes;			/* memory of an outstanding READ; 0: 64 */
	/*
	 * It transmits a QP's sends to their end before it turns to another QP. So many bytes at
	 * a time while another QP sends little; 0: its QPs take turns
	 */
	u32 pace_bytes;
	const struct ep_driver_ops *ops; /* or NULL */
};

void ep_drivers_register(const struct ep_driver *drivers, unsigned int nr);
const struct ep_driver *ep_driver_of(const struct ib_device *ibdev);
const struct ep_driver_ops *ep_driver_ops_of(const struct ib_device *ibdev);
bool ep_driver_exists(const char *name);

/* Do all of @caps apply? */
static inline bool ep_dev_has(const struct ib_device *ibdev, u32 caps)
{
	return (ep_driver_of(ibdev)->caps & caps) == caps;
}

static inline bool ep_dev_has_srq(const struct ib_device *ibdev)
{
	return ibdev->ops.create_srq && !ep_dev_has(ibdev, EP_CAP_NO_SRQ);
}

/* drivers/caps.c */
int ep_drivers_init(void);
void ep_drivers_exit(void);

#endif /* RDMA_EP_DRIVER_H */
