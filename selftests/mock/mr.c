// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions and their keys.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mock.h"

/* The low byte of a key */
#define MOCK_KEY_TAG	0x5a

struct ib_mr *mock_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct mock_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ibmr.lkey = MOCK_LOCAL_LKEY;
	mr->ibmr.rkey = MOCK_LOCAL_LKEY;
	return &mr->ibmr;
}

/* Charges RLIMIT_MEMLOCK of the caller, as ib_umem_get() does. */
static int mock_mr_charge(struct mock_mr *mr)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(mr->nr_pages, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(mr->nr_pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	mr->mm = mm;
	return 0;
}

static void mock_mr_uncharge(struct mock_mr *mr)
{
	atomic64_sub(mr->nr_pages, &mr->mm->pinned_vm);
	mmdrop(mr->mm);
}

static int mock_mr_pin(struct mock_mr *mr, u64 start, u64 length)
{
	unsigned long first = start & PAGE_MASK;
	int n, ret;

	mr->nr_pages = (PAGE_ALIGN(start + length) - first) >> PAGE_SHIFT;
	ret = mock_mr_charge(mr);
	if (ret)
		return ret;
	ret = -ENOMEM;
	mr->pages = kvcalloc(mr->nr_pages, sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages)
		goto err_charge;
	n = pin_user_pages_fast(first, mr->nr_pages, FOLL_LONGTERM |
				(mr->writable ? FOLL_WRITE : 0), mr->pages);
	if (n != mr->nr_pages) {
		ret = n < 0 ? n : -EFAULT;
		goto err;
	}
	mr->map = vmap(mr->pages, mr->nr_pages, VM_MAP, PAGE_KERNEL);
	if (!mr->map)
		goto err;
	mr->start = (u8 *)mr->map + offset_in_page(start);
	return 0;

err:
	if (n > 0)
		unpin_user_pages(mr->pages, n);
	kvfree(mr->pages);
err_charge:
	mock_mr_uncharge(mr);
	return ret;
}

static void mock_mr_unpin(struct mock_mr *mr)
{
	vunmap(mr->map);
	unpin_user_pages_dirty_lock(mr->pages, mr->nr_pages, mr->writable);
	kvfree(mr->pages);
	mock_mr_uncharge(mr);
}

static int mock_mr_init(struct mock_dev *m, struct mock_mr *mr, u64 start, u64 length)
{
	u32 key;
	int ret;

	ret = mock_count_add(m, MOCK_MR, m->attr.max_mr);
	if (ret)
		return ret;
	ret = mock_mr_pin(mr, start, length);
	if (ret)
		goto err;
	ret = xa_alloc_cyclic(&m->mrs, &key, mr, XA_LIMIT(0x100, 0xffffff),
			      &m->next_key, GFP_KERNEL);
	if (ret < 0)
		goto err_pin;
	mr->ibmr.lkey = key << 8 | MOCK_KEY_TAG;
	mr->ibmr.rkey = mr->ibmr.lkey;
	return 0;

err_pin:
	mock_mr_unpin(mr);
err:
	mock_count_sub(m, MOCK_MR);
	return ret;
}

static struct ib_mr *mock_mr_new(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access)
{
	struct mock_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->writable = ib_access_writable(access);
	mr->access = access;
	mr->ibmr.pd = ibpd;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	ret = mock_mr_init(to_mock(ibpd->device), mr, start, length);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

#ifdef HAVE_REG_MR_DMAH
struct ib_mr *mock_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah, struct ib_udata *udata)
#else
struct ib_mr *mock_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata)
#endif
{
	int ret = MOCK_GATE(ibpd->device, reg_user_mr);

	return ret ? ERR_PTR(ret) : mock_mr_new(ibpd, start, length, iova, access);
}

/* Like some drivers, it does not check whether the pages are pinned for writing. */
struct ib_mr *mock_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mock_mr *mr = container_of(ibmr, struct mock_mr, ibmr);
	struct mock_dev *m = to_mock(ibmr->device);
	int ret = MOCK_GATE(ibmr->device, rereg_user_mr);

	if (ret)
		return ERR_PTR(ret);
	if (flags & IB_MR_REREG_TRANS)
		return mock_mr_new(ibpd, start, length, iova, access);
	spin_lock_irq(&m->lock);
	mr->access = access;
	spin_unlock_irq(&m->lock);
	return NULL;
}

int mock_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mock_mr *mr = container_of(ibmr, struct mock_mr, ibmr);
	struct mock_dev *m = to_mock(ibmr->device);
	int ret;

	if (mr->pages) {
		ret = MOCK_GATE(ibmr->device, dereg_mr);
		if (ret)
			return ret;
		xa_erase(&m->mrs, ibmr->lkey >> 8);
		/* A holder of the lock may still use the region. */
		spin_lock_irq(&m->lock);
		spin_unlock_irq(&m->lock);
		mock_mr_unpin(mr);
		mock_count_sub(m, MOCK_MR);
	}
	kfree(mr);
	return 0;
}

static u8 *mock_mr_at(struct mock_dev *m, struct ib_pd *pd, u32 key, u64 addr,
		      u64 length, int access)
{
	struct mock_mr *mr = xa_load(&m->mrs, key >> 8);
	u64 offset;

	if (!mr || mr->ibmr.lkey != key || mr->ibmr.pd != pd ||
	    (mr->access & access) != access || addr < mr->ibmr.iova)
		return NULL;
	offset = addr - mr->ibmr.iova;
	if (offset > mr->ibmr.length || length > mr->ibmr.length - offset)
		return NULL;
	return mr->start + offset;
}

/* The kernel address of an SGE, or NULL; m->lock is held. */
u8 *mock_local(struct mock_dev *m, struct ib_pd *pd, const struct ib_sge *sge, bool write)
{
	if (sge->lkey == MOCK_LOCAL_LKEY)
		return (u8 *)(uintptr_t)sge->addr;
	return mock_mr_at(m, pd, sge->lkey, sge->addr, sge->length,
			  write ? IB_ACCESS_LOCAL_WRITE : 0);
}

/* The kernel address of memory that the peer accesses, or NULL; m->lock is held. */
u8 *mock_remote(struct mock_dev *m, struct ib_pd *pd, u32 rkey, u64 addr, u64 length, int access)
{
	return mock_mr_at(m, pd, rkey, addr, length, access);
}
