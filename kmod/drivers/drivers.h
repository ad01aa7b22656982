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

/* How many existing QPs of its device a QP can have been connected to */
#define EP_RXE_PEERS	16

/* A QP of rxe (ep_qp.driver_data). Without another lock: ep_qp.lock */
struct ep_rxe_qp {
	unsigned long failed_at;	/* jiffies when the rescue found it in ERR, or 0 */
	unsigned long failed_rcu;	/* the grace period that began then */
	bool emptied;			/* the rescue has emptied it since */
	bool acked;			/* ep_rxe_wait_acks() has returned */
	bool used;			/* it has been in RTR, or almost */
	u32 round;			/* last walk that visited it (ep_dev.lock) */
	unsigned int missed;		/* visits in a row that found it locked (rescue only) */
	int access;			/* access rights in RTR */
	struct list_head entry;		/* in ep_rxe_dev.destroying (ep_rxe_dev.lock) */
	unsigned long look_at;		/* jiffies when its peers are to fail (the same) */
	u32 peers[EP_RXE_PEERS];	/* QPs of this device that it was connected to, or 0 */
};

static inline struct ep_rxe_qp *ep_rxe_qp(const struct ep_qp *qp)
{
	BUILD_BUG_ON(sizeof(struct ep_rxe_qp) > sizeof(qp->driver_data));
	return (struct ep_rxe_qp *)qp->driver_data;
}

/* rxe_qp.c */
int ep_rxe_query(const struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
enum ib_qp_state ep_rxe_state(const struct ep_qp *qp);
void ep_rxe_empty(struct ep_qp *qp);
struct ep_qp *ep_rxe_find(struct ep_dev *dev, u32 qp_num);
bool ep_rxe_is_local(const struct ep_qp *qp, const struct rdma_ah_attr *ah_attr);
void ep_rxe_stop_receiving(struct ep_qp *qp);
int ep_rxe_before_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int *mask);
void ep_rxe_before_reset(struct ep_qp *qp, enum ib_qp_state old);
int ep_rxe_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask);
void ep_rxe_after_query(const struct ep_qp *qp, struct ib_qp_attr *attr);

#endif /* RDMA_EP_DRIVERS_H */
