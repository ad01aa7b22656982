// SPDX-License-Identifier: GPL-2.0-only
/* The regions against which uep_mr_check() checks the entries of work requests */
#include "verbs.h"

/* Copies the region of the key, or 0 bytes without such a region. */
void uep_mr_find(struct uep_pd *pd, struct uep_mr_range *range, u32 lkey)
{
	struct uep_mr *mr;

	range->lkey = lkey;
	do {
		range->gen = atomic64_read_acquire(&pd->mr_gen);
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
	} while (mr && atomic64_read(&pd->mr_gen) != range->gen);
}
