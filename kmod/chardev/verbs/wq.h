/* SPDX-License-Identifier: GPL-2.0-only */
/* Slots of work queues (wq.c): taking one, for each posted request */
#ifndef RDMA_EP_WQ_H
#define RDMA_EP_WQ_H

#include "verbs.h"

#define UEP_SLOT_BITS	20
#define UEP_SEQ_BITS	12
#define UEP_SEQ_MASK	((1U << UEP_SEQ_BITS) - 1)

static inline u32 uep_slot_next(const struct uep_wq *wq, u32 i)
{
	return i + 1 + wq->slots[i].next;
}

static inline u32 uep_wq_next(const struct uep_wq *wq, u32 i)
{
	return i + 1 == wq->size ? 0 : i + 1;
}

/* Is the oldest request of the order unsignalled? It may have completed unreported. */
static inline bool uep_wq_may_be_done(const struct uep_wq *wq, u32 o)
{
	const struct uep_wq_order *order = &wq->order[o];

	return order->used && !wq->slots[o * wq->size + order->tail].signalled;
}

/*
 * Takes a slot for a request that is posted next, with wq->lock. False if all are in use by
 * requests whose completion has not been polled.
 */
static inline bool uep_wq_push(struct uep_wq *wq, u64 wr_id, enum uep_signalled signalled,
			       bool read, u64 *cookie)
{
	u32 o = read && wq->reads_apart, i;
	struct uep_wq_order *order = &wq->order[o];
	struct uep_slot *slot;

	if (!wq->slots)
		return false;
	if (order->used == wq->size) {
		/* There are more slots than the device's queue and a batch need. */
		if (!wq->ordered || !uep_wq_may_be_done(wq, o))
			return false;
		order->tail = uep_wq_next(wq, order->tail);
		order->used--;
	}
	i = o * wq->size + order->head;
	slot = &wq->slots[i];
	order->head = wq->ordered ? uep_wq_next(wq, order->head) : uep_slot_next(wq, i);
	order->used++;
	if (!wq->ordered)
		slot->next = ++wq->nr_posted;
	slot->wr_id = wr_id;
	slot->seq = (slot->seq + 1) & UEP_SEQ_MASK;
	slot->busy = true;
	slot->signalled = signalled;
	*cookie = (u64)wq->id << 32 | (u64)slot->seq << UEP_SLOT_BITS | i;
	return true;
}

#endif /* RDMA_EP_WQ_H */
