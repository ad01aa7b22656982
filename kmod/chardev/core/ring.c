// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a session shares with its user: CQs put completions there, so that polling
 * needs a system call only if completions may have to be fetched from the device. Users put
 * receives of SRQs there (verbs/recv_ring.c).
 *
 * Of a CQ's ring the kernel reads two words, the user's position and the request for an event.
 * Wrong values harm only the user. The kernel's own state is in struct uep_ring.
 */
#include <linux/mm.h>

#include "core.h"

#define UEP_RING_SIZE	sizeof(struct rdma_ep_cq_ring)
#define UEP_RINGS_PAGE	(PAGE_SIZE / UEP_RING_SIZE)

static_assert(PAGE_SIZE % UEP_RING_SIZE == 0);
/* A ring of receives takes the place of one of completions. */
static_assert(sizeof(struct rdma_ep_recv_ring) == UEP_RING_SIZE);
static_assert(offsetof(struct rdma_ep_recv_ring, head) == offsetof(struct rdma_ep_cq_ring, head));
static_assert(offsetof(struct rdma_ep_recv_ring, kick) ==
	      offsetof(struct rdma_ep_cq_ring, pending));
static_assert(offsetof(struct rdma_ep_recv_ring, tail) == offsetof(struct rdma_ep_cq_ring, tail));
static_assert(offsetof(struct rdma_ep_recv_ring, recv) == offsetof(struct rdma_ep_cq_ring, wc));

/* Allocates a page of rings for the place @nr of @pages. Or ERR_PTR */
static struct page *uep_ring_page_add(struct xarray *pages, unsigned long nr)
{
	struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	int ret;

	if (!page)
		return ERR_PTR(-ENOMEM);
	ret = xa_err(xa_store(pages, nr, page, GFP_KERNEL_ACCOUNT));
	if (!ret)
		return page;
	__free_page(page);
	return ERR_PTR(ret);
}

/* Returns the page of a ring. It stays allocated and charged as long as the session. */
static struct page *uep_ring_page(struct uep_session *s, u32 index)
{
	unsigned long nr = index / UEP_RINGS_PAGE;
	struct page *page;
	int ret;

	guard(mutex)(&s->ring_lock);
	page = xa_load(&s->ring_pages, nr);
	if (page)
		return page;
	ret = uep_charge(s, 0, PAGE_SIZE);
	if (ret)
		return ERR_PTR(ret);
	page = uep_ring_page_add(&s->ring_pages, nr);
	if (IS_ERR(page))
		uep_uncharge(s, 0, PAGE_SIZE);
	return page;
}

static struct rdma_ep_cq_ring *uep_ring_in(struct page *page, u32 index)
{
	return page_address(page) + index % UEP_RINGS_PAGE * UEP_RING_SIZE;
}

/* Returns 0 without a ring if all rings of the session are in use. */
int uep_ring_create(struct uep_session *s, struct uep_ring *ring)
{
	struct page *page;
	int index;

	ring->index = RDMA_EP_NO_RING;
	index = ida_alloc_max(&s->rings, RDMA_EP_MAX_RINGS - 1, GFP_KERNEL_ACCOUNT);
	if (index == -ENOSPC)
		return 0;
	if (index < 0)
		return index;
	page = uep_ring_page(s, index);
	if (IS_ERR(page)) {
		ida_free(&s->rings, index);
		return PTR_ERR(page);
	}
	ring->index = index;
	get_page(page);
	ring->shared = uep_ring_in(page, index);
	/* Another CQ or SRQ may have used it before. */
	memset(ring->shared, 0, offsetof(struct rdma_ep_cq_ring, wc));
	WRITE_ONCE(ring->shared->pending, UEP_RING_PENDING);
	return 0;
}

/* Completion handlers do not use the ring any more. */
void uep_ring_destroy(struct uep_session *s, struct uep_ring *ring)
{
	if (!ring->shared)
		return;
	put_page(virt_to_page(ring->shared));
	ring->shared = NULL;
	ida_free(&s->rings, ring->index);
}

/* Returns the number of free entries. */
u32 uep_ring_room(const struct uep_ring *ring)
{
	/* Pairs with the user's release after it has read the entries before the tail. */
	u32 used = ring->head - smp_load_acquire(&ring->shared->tail);

	return used < RDMA_EP_RING_ENTRIES ? RDMA_EP_RING_ENTRIES - used : 0;
}

/* Returns the place of the next entry; *@room: the entries that may be written from there on */
struct rdma_ep_wc *uep_ring_next(const struct uep_ring *ring, u32 *room)
{
	u32 i = ring->head % RDMA_EP_RING_ENTRIES;

	*room = min(uep_ring_room(ring), RDMA_EP_RING_ENTRIES - i);
	return &ring->shared->wc[i];
}

/* The next @nr entries have been written. */
void uep_ring_add(struct uep_ring *ring, u32 nr)
{
	ring->head += nr;
	/* Pairs with the user's acquire before it reads the entries. */
	smp_store_release(&ring->shared->head, ring->head);
}

/*
 * Allocates a page for each one of the session that @pages does not have yet. They take the
 * place, and the charge, of those.
 */
int uep_rings_prepare(struct uep_session *s, struct xarray *pages)
{
	struct page *page;
	unsigned long i;

	guard(mutex)(&s->ring_lock);
	xa_for_each(&s->ring_pages, i, page) {
		if (xa_load(pages, i))
			continue;
		page = uep_ring_page_add(pages, i);
		if (IS_ERR(page))
			return PTR_ERR(page);
	}
	return 0;
}

/*
 * Moves a ring to its page in @pages, with unread completions. The user has written what it
 * likes to the old place; a late user of that is led to the kernel.
 */
void uep_ring_move(struct uep_ring *ring, struct xarray *pages)
{
	struct rdma_ep_cq_ring *old = ring->shared;
	struct page *page;

	if (!old)
		return;
	page = xa_load(pages, ring->index / UEP_RINGS_PAGE);
	get_page(page);
	ring->shared = uep_ring_in(page, ring->index);
	memcpy(ring->shared, old, sizeof(*old));
	ring->shared->head = ring->head;
	if (ring->head - ring->shared->tail > RDMA_EP_RING_ENTRIES)
		ring->shared->tail = ring->head;
	WRITE_ONCE(ring->shared->pending, UEP_RING_PENDING);
	WRITE_ONCE(old->pending, UEP_RING_PENDING);
	put_page(virt_to_page(old));
}

/* All rings have moved to @pages. Mappings of @old get no page of the session from now on. */
void uep_rings_replace(struct uep_session *s, struct uep_owner *old, struct xarray *pages)
{
	struct page *page;
	unsigned long i;

	guard(mutex)(&s->ring_lock);
	old->rings_lost = true;
	xa_for_each(pages, i, page)
		put_page(xa_store(&s->ring_pages, i, page, 0));
	xa_destroy(pages);
}

void uep_rings_discard(struct xarray *pages)
{
	struct page *page;
	unsigned long i;

	xa_for_each(pages, i, page)
		__free_page(page);
	xa_destroy(pages);
}

/* For an owner that has lost the session: rings that lead to the kernel */
struct page *uep_ring_lost_page(void)
{
	struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	u32 i;

	for (i = 0; page && i < UEP_RINGS_PAGE; i++)
		uep_ring_in(page, i)->pending = UEP_RING_PENDING;
	return page;
}

void uep_rings_cleanup(struct uep_session *s)
{
	struct page *page;
	unsigned long i;

	xa_for_each(&s->ring_pages, i, page)
		uep_uncharge(s, 0, PAGE_SIZE);
	uep_rings_discard(&s->ring_pages);
	ida_destroy(&s->rings);
}
