// SPDX-License-Identifier: GPL-2.0-only
/* Checking entries of work requests against memory regions. */
#include "verbs.h"

/* Copies the region of the key, or 0 bytes without such a region. */
static void uep_mr_find(struct uep_pd *pd, struct uep_mr_range *range, u32 lkey)
{
	struct uep_mr *mr;

	range->lkey = lkey;
	do {
		range->gen = atomic_read_acquire(&pd->mr_gen);
		range->length = 0;
		rcu_read_lock();
		mr = xa_load(&pd->mrs, lkey);
		if (mr) {
			range->iova = READ_ONCE(mr->iova);
			range->length = READ_ONCE(mr->length);
			range->access = READ_ONCE(mr->access);
		}
		rcu_read_unlock();
		smp_rmb(); /* the region before the generation: uep_mr_forget() */
	} while (mr && atomic_read(&pd->mr_gen) != range->gen);
}

/*
 * Is the whole entry inside a region of this PD, which may be written if @write? The only way
 * for an lkey to a driver, where the same number could be a key of kernel memory. @last: for
 * the entries of one call, which often name the same region. @sge is not empty
 */
bool uep_mr_check(struct uep_pd *pd, struct uep_mr_range *last, const struct ib_sge *sge,
		  bool write)
{
	u64 offset;

	/* An empty range is that of no key, or of one that does not exist. */
	if (!last->length || last->lkey != sge->lkey || last->gen != atomic_read(&pd->mr_gen))
		uep_mr_find(pd, last, sge->lkey);
	offset = sge->addr - last->iova;
	return sge->addr >= last->iova && offset <= last->length &&
	       sge->length <= last->length - offset &&
	       (!write || (last->access & IB_ACCESS_LOCAL_WRITE));
}
