// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions over user memory. */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/user_namespace.h>

#include "../../compat.h"
#include "verbs.h"

/* A region has left pd->mrs. Ordered before changes of the region and of the device's. */
static void uep_mr_forget(struct uep_pd *pd)
{
	atomic64_inc_return(&pd->mr_gen);
}

static void uep_mr_destroy_hw(struct ep_res *res)
{
	struct uep_mr *mr = container_of(res, struct uep_mr, res);

	xa_erase(&mr->pd->mrs, mr->ibmr->lkey);
	uep_mr_forget(mr->pd);
	/* May take long: a QP that has failed can hold it (uep_qp_dereg_pending()). */
	atomic_inc(&mr->pd->nr_deregs);
	WARN_ON_ONCE(ep_mr_dereg(res->dev, mr->ibmr));
	atomic_dec(&mr->pd->nr_deregs);
	mr->ibmr = NULL;
	uep_uncharge_pages(mr->obj.session, mr->nr_pages);
}

/* Posted receives may name the region, but not later ones. Not inside ep_dev_enter() */
static void uep_mr_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	/* Without a handle its creation has failed. */
	if (obj->handle)
		uep_recv_rings_take(container_of(obj, struct uep_mr, obj)->pd);
}

static const struct uep_obj_type uep_mr_type = {
	.type = RDMA_EP_OBJ_MR,
	.destroy = uep_mr_destroy,
	.res = offsetof(struct uep_mr, res),
};

/* Is there memory everywhere in the range? */
static bool uep_mr_is_mapped(u64 addr, u64 length)
{
	struct mm_struct *mm = current->mm;
	u64 end = addr + length;
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(mm))
		return false;
	do {
		vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr)
			break;
		addr = vma->vm_end;
	} while (addr < end);
	mmap_read_unlock(mm);
	return addr >= end;
}

/* The error of drivers for a region that is too large, and is not tried. */
static int uep_mr_too_large(u64 addr, u64 length)
{
	if (length > rlimit(RLIMIT_MEMLOCK) && !capable(CAP_IPC_LOCK))
		return -ENOMEM;
	return uep_mr_is_mapped(addr, length) ? -ENOMEM : -EFAULT;
}

static u64 uep_mr_nr_pages(u64 addr, u64 length)
{
	return ((addr + length - 1) >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
}

/* This function and the next make the checks that ib_reg_user_mr() expects of its caller. */
static int uep_mr_check_range(struct ib_device *ibdev, u64 addr, u64 length, u64 iova)
{
	const struct ep_driver_ops *drv = ep_driver_ops_of(ibdev);
	u64 end;

	/*
	 * Drivers store addresses and lengths in a long. Those without EP_CAP_MAP_IOVA ignore
	 * iova when they check an lkey.
	 */
	if (!length || check_add_overflow(addr, length, &end) ||
	    PAGE_ALIGN(end) < end || (unsigned long)end != end ||
	    check_add_overflow(iova, length, &end) || length > ibdev->attrs.max_mr_size ||
	    uep_mr_nr_pages(addr, length) > U32_MAX || offset_in_page(addr ^ iova) ||
	    (iova != addr && !ep_dev_has(ibdev, EP_CAP_MAP_IOVA)))
		return -EINVAL;
	if (drv->max_mr_pages && uep_mr_nr_pages(addr, length) > drv->max_mr_pages())
		return uep_mr_too_large(addr, length);
	return 0;
}

/* The pages are pinned: no paging on demand */
#define UEP_MR_NOT_OFFERED \
	(IB_ACCESS_MW_BIND | IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB | IB_ZERO_BASED)
#define UEP_MR_OFFERED							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |		\
	 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC | EP_COMPAT_ACCESS_FLUSH)

static int uep_mr_check_access(struct ib_device *ibdev, u32 *access)
{
	u32 hints = *access & IB_UVERBS_ACCESS_OPTIONAL_RANGE;

	/* Software devices have no order to relax. */
	*access &= ~IB_UVERBS_ACCESS_OPTIONAL_RANGE;
	if (*access & ~(UEP_MR_OFFERED | UEP_MR_NOT_OFFERED))
		return -EINVAL;
	if (*access & UEP_MR_NOT_OFFERED)
		return -EOPNOTSUPP;
	if (!ep_dev_has(ibdev, EP_CAP_SOFTWARE))
		*access |= hints & IB_ACCESS_RELAXED_ORDERING;
	return ib_check_mr_access(ibdev, *access);
}

/* The log names drivers whose registration must not be used. */
static int uep_mr_check_driver(struct ib_device *ibdev)
{
	if (ibdev->ops.reg_user_mr && ep_dev_has(ibdev, EP_CAP_REG_MR))
		return 0;
	pr_notice_ratelimited(KBUILD_MODNAME ": %s: its driver cannot register user memory for the kernel\n",
			      ibdev->name);
	return -EOPNOTSUPP;
}

static int uep_mr_charge(struct uep_cmd *cmd, u64 addr, u64 length, bool skip_rlimit, u64 *nr)
{
	*nr = uep_mr_nr_pages(addr, length);
	if (!uep_charge_pages(cmd->s, *nr, skip_rlimit))
		return 0;
	cmd->counted = true;
	return uep_mr_too_large(addr, length);
}

/* Counts the driver's refusal of memory. */
static struct ib_mr *uep_mr_counted(struct uep_cmd *cmd, struct ib_mr *ibmr)
{
	if (ibmr == ERR_PTR(-ENOMEM) || ibmr == ERR_PTR(-EPERM)) {
		uep_count_refusal(cmd->s, UEP_REFUSED_MEMLOCK);
		cmd->counted = true;
	}
	return ibmr;
}

/*
 * For the call of the driver that pins memory, which ib_core compares with RLIMIT_MEMLOCK: the
 * caller's credentials with CAP_IPC_LOCK and no other capability. Only this thread uses them, and
 * only until uep_mr_revert(); other threads of the process keep their rights and their limit, and
 * so does an observer (task_struct.real_cred). A page fault meanwhile has the caller's ids and
 * security label. The pages count in mm->pinned_vm as ever. Returns the caller's own, NULL if
 * their rights are enough, or ERR_PTR.
 */
static const struct cred *uep_mr_override(bool skip_rlimit)
{
	struct cred *cred;

	if (!skip_rlimit)
		return NULL;
	cred = prepare_creds();
	if (!cred)
		return ERR_PTR(-ENOMEM);
	put_user_ns(cred->user_ns);
	cred->user_ns = get_user_ns(&init_user_ns);
	cap_clear(cred->cap_inheritable);
	cap_clear(cred->cap_ambient);
	cap_clear(cred->cap_effective);
	cap_raise(cred->cap_effective, CAP_IPC_LOCK);
	cred->cap_permitted = cred->cap_effective;
	return override_creds(cred);
}

static void uep_mr_revert(const struct cred *old)
{
	const struct cred *cred = current_cred();

	if (!old)
		return;
	revert_creds(old);
	put_cred(cred);
}

static struct ib_mr *uep_mr_reg(struct uep_cmd *cmd, struct uep_mr *mr, bool skip_rlimit)
{
	const struct cred *old = uep_mr_override(skip_rlimit);
	const struct rdma_ep_cmd_reg_mr *arg = cmd->arg;
	struct ib_mr *ibmr;

	if (IS_ERR(old))
		return ERR_CAST(old);
	ibmr = ib_reg_user_mr(mr->pd->pd.ibpd, arg->addr, arg->length, arg->iova, arg->access);
	uep_mr_revert(old);
	return uep_mr_counted(cmd, ibmr);
}

/* Keeps the keys, which stay known when the device's region has been destroyed. */
static void uep_mr_keys(struct uep_mr *mr, u32 *lkey, u32 *rkey)
{
	mr->lkey = mr->ibmr->lkey;
	mr->rkey = mr->ibmr->rkey;
	*lkey = mr->lkey;
	*rkey = mr->rkey;
}

static int uep_mr_create_hw(struct uep_cmd *cmd, struct uep_mr *mr)
{
	bool skip_rlimit = uep_group_skips_rlimit(mr->obj.session->group);
	struct ib_device *ibdev = mr->obj.dev->ibdev;
	struct rdma_ep_cmd_reg_mr *arg = cmd->arg;
	int ret;

	ret = uep_mr_check_driver(ibdev) ?:
	      uep_mr_check_range(ibdev, arg->addr, arg->length, arg->iova) ?:
	      uep_mr_check_access(ibdev, &arg->access) ?:
	      uep_mr_charge(cmd, arg->addr, arg->length, skip_rlimit, &mr->nr_pages);
	if (ret)
		return ret;
	ret = ep_res_init(&mr->res, mr->obj.dev, EP_RES_MR, &uep_obj_res_ops, uep_mr_destroy_hw);
	if (ret)
		goto err_pages;
	mr->ibmr = uep_mr_reg(cmd, mr, skip_rlimit);
	ret = PTR_ERR_OR_ZERO(mr->ibmr);
	if (ret)
		goto err_res;
	mr->iova = arg->iova;
	mr->length = arg->length;
	mr->access = arg->access;
	mr->pinned_writable = ib_access_writable(arg->access);
	ret = xa_insert(&mr->pd->mrs, mr->ibmr->lkey, mr, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_mr;
	ep_res_add(&mr->res);
	mr->addr = arg->addr;
	uep_mr_keys(mr, &arg->lkey, &arg->rkey);
	return 0;

err_mr:
	ib_dereg_mr(mr->ibmr);
err_res:
	ep_res_uncharge(&mr->res);
err_pages:
	uep_uncharge_pages(mr->obj.session, mr->nr_pages);
	return ret;
}

/* Called inside ep_dev_enter(). */
static struct uep_mr *uep_mr_create(struct uep_cmd *cmd, struct uep_pd *pd)
{
	struct uep_mr *mr = uep_obj_alloc_in(&pd->obj, &uep_mr_type, sizeof(*mr), 0);

	if (IS_ERR(mr))
		return mr;
	mutex_init(&mr->lock);
	mr->pd = pd;
	return uep_obj_created(&mr->obj, uep_mr_create_hw(cmd, mr));
}

int uep_reg_mr(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_reg_mr *arg = cmd->arg;
	struct uep_pd *pd;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	pd = uep_obj_enter(cmd->s, arg->pd, RDMA_EP_OBJ_PD, &srcu);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = uep_cmd_add_obj(cmd, uep_mr_create(cmd, pd), &arg->mr);
	return uep_obj_exit(&pd->obj, srcu, ret);
}

static_assert((int)RDMA_EP_REREG_TRANSLATION == IB_MR_REREG_TRANS);
static_assert((int)RDMA_EP_REREG_ACCESS == IB_MR_REREG_ACCESS);

/*
 * Updates @mr after a change. @new: NULL, or a region that the driver has created instead of
 * changing the old one: ib_uverbs would initialise it, and deregister the old one.
 */
static void uep_mr_update(struct uep_mr *mr, struct ib_mr *new,
			  const struct rdma_ep_cmd_rereg_mr *arg)
{
	struct ib_mr *old = mr->ibmr;

	if (arg->flags & RDMA_EP_REREG_ACCESS)
		mr->access = arg->access;
	if (arg->flags & RDMA_EP_REREG_TRANSLATION) {
		mr->addr = arg->addr;
		mr->iova = arg->iova;
		mr->length = arg->length;
		mr->pinned_writable = ib_access_writable(mr->access);
	}
	if (new) {
		new->device = old->device;
		new->pd = old->pd;
		new->type = IB_MR_TYPE_USER;
		atomic_inc(&new->pd->usecnt);
		mr->ibmr = new;
		WARN_ON_ONCE(ib_dereg_mr(old));
	}
	mr->ibmr->iova = mr->iova;
	mr->ibmr->length = mr->length;
}

static struct ib_mr *uep_mr_rereg(struct uep_cmd *cmd, struct uep_mr *mr, bool skip_rlimit)
{
	const struct rdma_ep_cmd_rereg_mr *arg = cmd->arg;
	const struct cred *old = uep_mr_override(skip_rlimit);
	struct ib_mr *ibmr;

	if (IS_ERR(old))
		return ERR_CAST(old);
	ibmr = mr->ibmr->device->ops.rereg_user_mr(mr->ibmr, arg->flags, arg->addr, arg->length,
						   arg->iova, arg->access, mr->ibmr->pd, NULL);
	uep_mr_revert(old);
	return uep_mr_counted(cmd, ibmr);
}

/*
 * Inside ep_dev_enter() and with mr->lock. Work requests do not find the region until the end;
 * the device decides about those that use it already.
 */
static int uep_mr_change(struct uep_cmd *cmd, struct uep_mr *mr)
{
	bool skip_rlimit = uep_group_skips_rlimit(mr->obj.session->group);
	struct rdma_ep_cmd_rereg_mr *arg = cmd->arg;
	struct xarray *mrs = &mr->pd->mrs;
	u32 lkey = mr->ibmr->lkey;
	u64 nr_pages = 0;
	struct ib_mr *new;
	int ret = 0;

	if (arg->flags & RDMA_EP_REREG_TRANSLATION)
		ret = uep_mr_charge(cmd, arg->addr, arg->length, skip_rlimit, &nr_pages);
	if (ret)
		return ret;
	xa_store(mrs, lkey, XA_ZERO_ENTRY, 0); /* keeps its place */
	uep_mr_forget(mr->pd);
	new = uep_mr_rereg(cmd, mr, skip_rlimit);
	if (IS_ERR(new)) {
		ret = PTR_ERR(new);
	} else {
		/* The old key can be another region's as soon as the old region is destroyed. */
		if (new && new->lkey != lkey)
			xa_erase(mrs, lkey);
		uep_mr_update(mr, new, arg);
		if (arg->flags & RDMA_EP_REREG_TRANSLATION)
			swap(mr->nr_pages, nr_pages);
	}
	uep_uncharge_pages(mr->obj.session, nr_pages);
	uep_mr_keys(mr, &arg->lkey, &arg->rkey);
	return xa_err(xa_store(mrs, arg->lkey, mr, GFP_KERNEL_ACCOUNT)) ?: ret;
}

static int uep_mr_check_rereg(struct uep_mr *mr, struct ib_device *ibdev,
			      struct rdma_ep_cmd_rereg_mr *arg)
{
	int ret = 0;

	if (!ibdev->ops.rereg_user_mr || !ep_dev_has(ibdev, EP_CAP_REREG_MR))
		return -EOPNOTSUPP;
	if (arg->flags & RDMA_EP_REREG_ACCESS)
		ret = uep_mr_check_access(ibdev, &arg->access);
	else
		arg->access = mr->access;
	if (ret)
		return ret;
	if (arg->flags & RDMA_EP_REREG_TRANSLATION)
		return uep_mr_check_range(ibdev, arg->addr, arg->length, arg->iova);
	/* The memory is pinned for reading only. Not all drivers check that. */
	return ib_access_writable(arg->access) && !mr->pinned_writable ? -EACCES : 0;
}

int uep_rereg_mr(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_rereg_mr *arg = cmd->arg;
	struct uep_mr *mr;
	int srcu, ret;

	if (!arg->flags)
		return -EINVAL;
	/* DESTROY returns -EBUSY until the end. */
	mr = uep_obj_use(cmd->s, arg->mr, RDMA_EP_OBJ_MR);
	if (!mr)
		return -ENOENT;
	uep_recv_rings_take(mr->pd);
	ret = mutex_lock_killable(&mr->lock);
	if (ret)
		goto out;
	ret = ep_dev_enter(mr->obj.dev, &srcu);
	if (ret)
		goto out_unlock;
	ret = uep_mr_check_rereg(mr, mr->obj.dev->ibdev, arg) ?: uep_mr_change(cmd, mr);
	ep_dev_exit(mr->obj.dev, srcu);
out_unlock:
	mutex_unlock(&mr->lock);
out:
	uep_obj_del_user(&mr->obj);
	return ret;
}
