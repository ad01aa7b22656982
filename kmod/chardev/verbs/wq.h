/* SPDX-License-Identifier: GPL-2.0-only */
/* Slots of work queues (wq.c): taking one, for each posted request, and freeing it */
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

static inline void uep_slot_set_next(struct uep_wq *wq, u32 i, u32 next)
{
	wq->slots[i].next = next - i - 1;
}

/* Slots of both orders */
static inline u32 uep_wq_nr_slots(const struct uep_wq *wq, u32 size)
{
	return wq->reads_apart ? 2 * size : size;
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

static inline void uep_wq_free_slot(struct uep_wq *wq, u32 i)
{
	struct uep_slot *slot = &wq->slots[i];

	slot->busy = false;
	uep_slot_set_next(wq, i, wq->order[0].head);
	wq->order[0].head = i;
	wq->order[0].used--;
}

struct uep_wq *uep_wq_switch(const struct uep_session *session, struct uep_wq_last *last,
			     struct uep_wq **locked, u32 id);
bool uep_wq_complete_ordered(struct uep_wq *wq, u32 i);

/*
 * Resolves the cookie of a completion and frees the slot, under rcu_read_lock(). *@qp_num is not
 * set for a basic shared receive queue. *@locked: the queue of the completion before, NULL at
 * first; it stays locked until uep_wq_complete_end(), as the next completion is often of the same
 * queue. @last: the caller's, also for later calls
 */
static inline bool uep_wq_complete(const struct uep_session *session, struct uep_wq_last *last,
				   struct uep_wq **locked, const struct ib_wc *wc, u64 *wr_id,
				   u32 *qp_num)
{
	u64 cookie = wc->wr_id;
	struct uep_wq *wq = *locked;
	u32 i = cookie & ((1U << UEP_SLOT_BITS) - 1);
	u16 seq = (cookie >> UEP_SLOT_BITS) & UEP_SEQ_MASK;
	struct uep_slot *slot;

	if (!wq || wq->id != cookie >> 32)
		wq = uep_wq_switch(session, last, locked, cookie >> 32);
	if (!wq || !wq->slots || i >= uep_wq_nr_slots(wq, wq->size))
		return false;
	slot = &wq->slots[i];
	if (!slot->busy || slot->seq != seq)
		return false;
	*wr_id = slot->wr_id;
	if (wq->qp_num)
		*qp_num = wq->qp_num;
	else if (wq->xrcd)
		*qp_num = ep_xrcd_qp_num(wq->xrcd, wc->qp);
	if (wq->ordered)
		return uep_wq_complete_ordered(wq, i) &&
		       (slot->signalled != UEP_SIGNALLED_HERE || wc->status != IB_WC_SUCCESS);
	if ((s32)(slot->next - wq->latest) > 0)
		wq->latest = slot->next;
	uep_wq_free_slot(wq, i);
	return true;
}

#endif /* RDMA_EP_WQ_H */
