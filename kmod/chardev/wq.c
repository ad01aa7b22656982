// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of posted work requests.
 *
 * A driver is never given the user's wr_id: what it reports back could be stale
 * or belong to another queue, and the QP pointer in a completion may dangle. It
 * is given a cookie that names a queue, a slot and the slot's use count; a
 * completion whose cookie does not resolve is dropped.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "verbs.h"

#define UEP_SLOT_BITS	20
#define UEP_SEQ_BITS	12
#define UEP_SEQ_MASK	((1U << UEP_SEQ_BITS) - 1)
#define UEP_NO_SLOT	U32_MAX

static_assert(4 * UEP_MAX_WR <= 1U << UEP_SLOT_BITS);

/* Queues of all sessions by id. Ids come round late, cookies even later. */
static DEFINE_XARRAY_ALLOC1(uep_wqs);
static u32 uep_wqs_next;

static void uep_wq_chain(struct uep_wq *wq, u32 from)
{
	u32 i;

	for (i = from; i < wq->size; i++)
		wq->slots[i].next = i + 1 < wq->size ? i + 1 : wq->head;
	wq->head = from;
}

/* @ordered: a send queue; see &struct uep_wq. An empty queue needs no slots. */
int uep_wq_init(struct uep_wq *wq, u32 size, bool ordered)
{
	int ret;

	spin_lock_init(&wq->lock);
	wq->ordered = ordered;
	if (!size)
		return 0;
	if (size > 1U << UEP_SLOT_BITS)
		return -EINVAL;
	wq->slots = kvcalloc(size, sizeof(*wq->slots), GFP_KERNEL_ACCOUNT);
	if (!wq->slots)
		return -ENOMEM;
	wq->size = size;
	if (!ordered) {
		wq->head = UEP_NO_SLOT;
		uep_wq_chain(wq, 0);
	}
	ret = xa_alloc_cyclic(&uep_wqs, &wq->id, wq, XA_LIMIT(1, U32_MAX),
			      &uep_wqs_next, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		kvfree(wq->slots);
		wq->slots = NULL;
		wq->size = 0;
		return ret;
	}
	return 0;
}

/* Makes room for more requests of an unordered queue. */
int uep_wq_grow(struct uep_wq *wq, u32 size)
{
	struct uep_slot *slots, *old;
	u32 from;

	slots = kvcalloc(size, sizeof(*slots), GFP_KERNEL_ACCOUNT);
	if (!slots)
		return -ENOMEM;
	spin_lock(&wq->lock);
	old = slots;
	if (size > wq->size && !wq->dead) {
		memcpy(slots, wq->slots, wq->size * sizeof(*slots));
		from = wq->size;
		old = wq->slots;
		wq->slots = slots;
		wq->size = size;
		uep_wq_chain(wq, from);
	}
	spin_unlock(&wq->lock);
	kvfree(old);
	return 0;
}

/* No more posts; those in flight have returned. */
void uep_wq_stop(struct uep_wq *wq)
{
	spin_lock(&wq->lock);
	wq->dead = true;
	spin_unlock(&wq->lock);
}

/* The device has forgotten what was posted, and refuses posts for now. */
void uep_wq_reset(struct uep_wq *wq)
{
	u32 i;

	spin_lock(&wq->lock);
	/* Use counts go on, so that old cookies do not resolve. */
	for (i = 0; i < wq->size; i++)
		wq->slots[i].busy = false;
	wq->used = 0;
	wq->tail = 0;
	wq->head = 0;
	if (!wq->ordered && wq->size) {
		wq->head = UEP_NO_SLOT;
		uep_wq_chain(wq, 0);
	}
	spin_unlock(&wq->lock);
}

/* No more completions either. The structure itself must stay a grace period. */
void uep_wq_free(struct uep_wq *wq)
{
	struct uep_slot *slots;

	if (!wq->id)
		return;
	xa_erase(&uep_wqs, wq->id);
	spin_lock(&wq->lock);
	slots = wq->slots;
	wq->slots = NULL;
	wq->size = 0;
	wq->id = 0;
	spin_unlock(&wq->lock);
	kvfree(slots);
}

static u32 uep_wq_next(const struct uep_wq *wq, u32 i)
{
	return i + 1 == wq->size ? 0 : i + 1;
}

/*
 * Takes a slot for a request that is about to be posted; wq->lock is held. False
 * if the queue is full of requests whose completion the user has not seen.
 */
bool uep_wq_push(struct uep_wq *wq, u64 wr_id, bool signalled, u64 *cookie)
{
	struct uep_slot *slot;
	u32 i;

	if (wq->used == wq->size) {
		/*
		 * There are more slots than the device holds requests and one
		 * call posts: an unsignalled send this old is done.
		 */
		if (!wq->size || !wq->ordered ||
		    wq->slots[wq->tail].signalled)
			return false;
		wq->tail = uep_wq_next(wq, wq->tail);
		wq->used--;
	}
	i = wq->head;
	slot = &wq->slots[i];
	wq->head = wq->ordered ? uep_wq_next(wq, i) : slot->next;
	wq->used++;
	slot->wr_id = wr_id;
	slot->seq = (slot->seq + 1) & UEP_SEQ_MASK;
	slot->busy = true;
	slot->signalled = signalled;
	*cookie = (u64)wq->id << 32 | (u64)slot->seq << UEP_SLOT_BITS | i;
	return true;
}

static void uep_wq_free_slot(struct uep_wq *wq, u32 i)
{
	struct uep_slot *slot = &wq->slots[i];

	slot->busy = false;
	slot->next = wq->head;
	wq->head = i;
	wq->used--;
}

/* Undoes the last uep_wq_push(), which was not posted; wq->lock is held. */
void uep_wq_pop(struct uep_wq *wq, u64 cookie)
{
	u32 i = cookie & ((1U << UEP_SLOT_BITS) - 1);

	if (!wq->ordered) {
		uep_wq_free_slot(wq, i);
		return;
	}
	wq->slots[i].busy = false;
	wq->head = i;
	wq->used--;
}

/* Everything up to a completed send has completed, too. */
static bool uep_wq_complete_ordered(struct uep_wq *wq, u32 i)
{
	u32 distance = i >= wq->tail ? i - wq->tail : i + wq->size - wq->tail;

	if (distance >= wq->used)
		return false;
	wq->used -= distance + 1;
	wq->tail = uep_wq_next(wq, i);
	wq->slots[i].busy = false;
	return true;
}

/*
 * Resolves what a completion brought back, and frees the slot. @qp_num is left
 * alone for a basic shared receive queue. Called under rcu_read_lock().
 */
bool uep_wq_complete(u64 cookie, const struct ib_qp *ibqp, u64 *wr_id,
		     u32 *qp_num)
{
	struct uep_wq *wq = xa_load(&uep_wqs, cookie >> 32);
	u32 i = cookie & ((1U << UEP_SLOT_BITS) - 1);
	u16 seq = (cookie >> UEP_SLOT_BITS) & UEP_SEQ_MASK;
	bool ok = false;

	if (!wq)
		return false;
	spin_lock(&wq->lock);
	if (i < wq->size && wq->slots[i].busy && wq->slots[i].seq == seq) {
		*wr_id = wq->slots[i].wr_id;
		if (wq->qp_num)
			*qp_num = wq->qp_num;
		else if (wq->xrcd)
			*qp_num = ep_xrcd_qp_num(wq->xrcd, ibqp);
		if (wq->ordered) {
			ok = uep_wq_complete_ordered(wq, i);
		} else {
			uep_wq_free_slot(wq, i);
			ok = true;
		}
	}
	spin_unlock(&wq->lock);
	return ok;
}

void uep_wq_cleanup(void)
{
	WARN_ON(!xa_empty(&uep_wqs));
	xa_destroy(&uep_wqs);
}
