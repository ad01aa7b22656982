// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of posted work requests. Functions that SRQs use disable interrupts (uep_srq_wq_key).
 *
 * A driver does not get the user's wr_id but a cookie that names a queue, a slot and the slot's
 * use count, as a completion may be late, or of another queue, and the QP that it points to
 * may be freed. A completion whose cookie does not resolve is dropped.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "wq.h"

static_assert(4 * UEP_MAX_WR <= 1U << UEP_SLOT_BITS);

/* Queues of all sessions by id; an id is not used again soon. */
static DEFINE_XARRAY_ALLOC1(uep_wqs);
static u32 uep_wqs_next;

/* Freed ones of all sessions; for struct uep_wq_last */
static atomic64_t uep_wqs_freed;

/* @ordered: a send queue. Slots are allocated with the first post: many endpoints wait long. */
int uep_wq_init(struct uep_wq *wq, const struct uep_session *session, u32 size, bool ordered)
{
	spin_lock_init(&wq->lock);
	wq->session = session;
	if (size > 1U << (UEP_SLOT_BITS - 1))
		return -EINVAL;
	wq->ordered = ordered;
	wq->size = size;
	return 0;
}

static int uep_wq_alloc_slots(struct uep_wq *wq)
{
	u32 size = READ_ONCE(wq->size), id = 0;
	struct uep_slot *slots;
	int ret;

	slots = kvcalloc(uep_wq_nr_slots(wq, size), sizeof(*slots), GFP_KERNEL_ACCOUNT);
	if (!slots)
		return -ENOMEM;
	ret = xa_alloc_cyclic(&uep_wqs, &id, wq, XA_LIMIT(1, U32_MAX),
			      &uep_wqs_next, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		kvfree(slots);
		return ret;
	}
	spin_lock_irq(&wq->lock);
	if (!wq->dead && !wq->slots && wq->size == size) {
		swap(wq->slots, slots);
		WRITE_ONCE(wq->id, id);
		id = 0;
	}
	spin_unlock_irq(&wq->lock);
	if (id)
		xa_erase(&uep_wqs, id);
	kvfree(slots);
	return 0;
}

/* See uep_wq_prepare(). Queues that are empty or dead get no slots. */
int uep_wq_add_slots(struct uep_wq *wq)
{
	int ret = 0;

	while (!READ_ONCE(wq->id) && READ_ONCE(wq->size) && !READ_ONCE(wq->dead) && !ret)
		ret = uep_wq_alloc_slots(wq);
	return ret;
}

/* Adds slots to an unordered queue. */
int uep_wq_grow(struct uep_wq *wq, u32 size)
{
	struct uep_slot *slots, *old;

	slots = kvcalloc(size, sizeof(*slots), GFP_KERNEL_ACCOUNT);
	if (!slots)
		return -ENOMEM;
	spin_lock_irq(&wq->lock);
	old = slots;
	if (size > wq->size && !wq->slots) {
		wq->size = size;
	} else if (size > wq->size && !wq->dead) {
		memcpy(slots, wq->slots, wq->size * sizeof(*slots));
		old = wq->slots;
		wq->slots = slots;
		/* The new slots come first. */
		uep_slot_set_next(wq, size - 1, wq->order[0].head);
		wq->order[0].head = wq->size;
		wq->size = size;
	}
	spin_unlock_irq(&wq->lock);
	kvfree(old);
	return 0;
}

/* Waits for posts under way. */
void uep_wq_sync(struct uep_wq *wq)
{
	spin_lock(&wq->lock);
	spin_unlock(&wq->lock);
}

/* On return no post is under way, and none will be. */
void uep_wq_stop(struct uep_wq *wq)
{
	spin_lock_irq(&wq->lock);
	wq->dead = true;
	spin_unlock_irq(&wq->lock);
}

/* The QP has been reset, and posts are refused until it leaves RESET. */
void uep_wq_reset(struct uep_wq *wq)
{
	u32 i;

	spin_lock(&wq->lock);
	/* seq stays, so that old cookies do not resolve. */
	for (i = 0; wq->slots && i < uep_wq_nr_slots(wq, wq->size); i++) {
		wq->slots[i].busy = false;
		wq->slots[i].next = 0;
	}
	memset(wq->order, 0, sizeof(wq->order));
	spin_unlock(&wq->lock);
}

/* From here on no cookie resolves. */
void uep_wq_free(struct uep_wq *wq)
{
	struct uep_slot *slots;

	if (!wq->id)
		return;
	xa_erase(&uep_wqs, wq->id);
	/* Before the grace period that precedes the structure's end: uep_wq_find() */
	atomic64_inc_return(&uep_wqs_freed);
	spin_lock_irq(&wq->lock);
	slots = wq->slots;
	wq->slots = NULL;
	wq->size = 0;
	wq->id = 0;
	spin_unlock_irq(&wq->lock);
	kvfree(slots);
}

/* Can @num more be posted to a send queue of @max? Requests may have completed unreported. */
bool uep_wq_has_room(struct uep_wq *wq, u32 max, u32 num)
{
	bool ret;

	spin_lock(&wq->lock);
	/* Without slots it is empty, or dead: the post will fail. */
	ret = num <= max &&
	      (!wq->slots ||
	       wq->order[0].used + wq->order[1].used + num <= max ||
	       uep_wq_may_be_done(wq, 0) || uep_wq_may_be_done(wq, 1));
	spin_unlock(&wq->lock);
	return ret;
}

/* Undoes the latest uep_wq_push() of the order, with wq->lock. */
void uep_wq_pop(struct uep_wq *wq, u64 cookie)
{
	u32 i = cookie & ((1U << UEP_SLOT_BITS) - 1), o = i >= wq->size;

	if (!wq->ordered) {
		wq->nr_posted--;
		uep_wq_free_slot(wq, i);
		return;
	}
	wq->slots[i].busy = false;
	wq->order[o].head = i - o * wq->size;
	wq->order[o].used--;
}

/* Has the request been posted, and its completion not been taken? */
bool uep_wq_is_posted(struct uep_wq *wq, u64 cookie)
{
	u32 i = cookie & ((1U << UEP_SLOT_BITS) - 1);
	u16 seq = (cookie >> UEP_SLOT_BITS) & UEP_SEQ_MASK;
	bool ret;

	spin_lock(&wq->lock);
	ret = wq->slots && wq->id == cookie >> 32 && i < uep_wq_nr_slots(wq, wq->size) &&
	      wq->slots[i].busy && wq->slots[i].seq == seq;
	spin_unlock(&wq->lock);
	return ret;
}

/*
 * With a request all older ones of its order have completed. With reads_apart the driver may
 * report a failed one before older ones, so signalled ones wait for their own completion.
 */
bool uep_wq_complete_ordered(struct uep_wq *wq, u32 i)
{
	u32 o = i >= wq->size, base = o * wq->size;
	struct uep_wq_order *order = &wq->order[o];
	u32 distance;

	i -= base;
	distance = i >= order->tail ? i - order->tail : i + wq->size - order->tail;
	if (distance >= order->used)
		return false;
	wq->slots[base + i].busy = false;
	order->passed = max(order->passed, distance + 1);
	while (order->passed) {
		struct uep_slot *oldest = &wq->slots[base + order->tail];

		if (wq->reads_apart && oldest->busy && oldest->signalled)
			break;
		oldest->busy = false;
		order->tail = uep_wq_next(wq, order->tail);
		order->used--;
		order->passed--;
	}
	return true;
}

void uep_wq_complete_end(struct uep_wq *locked)
{
	if (!locked)
		return;
	__acquire(&locked->lock);	/* by uep_wq_switch() */
	spin_unlock_irq(&locked->lock);
}

/*
 * Returns the session's queue of the id, or NULL. An unpolled completion may be older than the
 * queue that has the id now, which can be another session's.
 */
static struct uep_wq *uep_wq_find(const struct uep_session *session, struct uep_wq_last *last,
				  u32 id)
{
	s64 freed = atomic64_read(&uep_wqs_freed);
	struct uep_wq *wq;

	/* A queue that is freed from here on lasts until the caller's rcu_read_unlock(). */
	if (last->wq && last->freed == freed && READ_ONCE(last->wq->id) == id)
		return last->wq;
	wq = xa_load(&uep_wqs, id);
	if (wq && wq->session != session)
		wq = NULL;
	last->wq = wq;
	last->freed = freed;
	return wq;
}

/* Locks the session's queue of the id instead of *@locked, or none. */
struct uep_wq *uep_wq_switch(const struct uep_session *session, struct uep_wq_last *last,
			     struct uep_wq **locked, u32 id)
{
	struct uep_wq *wq = uep_wq_find(session, last, id);

	uep_wq_complete_end(*locked);
	*locked = wq;
	if (wq) {
		spin_lock_irq(&wq->lock);
		__release(&wq->lock);	/* by uep_wq_complete_end() */
	}
	return wq;
}

/*
 * Requests of an unordered queue that have been posted after the latest completed one, with
 * wq->lock. The device has taken the older ones if it takes them in order, also those that
 * never complete, as their QP failed. @free: slots that are not in use
 */
u32 uep_wq_level(const struct uep_wq *wq, u32 *free)
{
	*free = wq->size - wq->order[0].used;
	return wq->nr_posted - wq->latest;
}

void uep_wq_cleanup(void)
{
	WARN_ON(!xa_empty(&uep_wqs));
	xa_destroy(&uep_wqs);
}
