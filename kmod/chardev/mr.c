// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions over user memory.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../compat.h"
#include "verbs.h"

/*
 * Drivers that register user memory for the kernel, that is without udata.
 * Others look into the missing udata (irdma, mthca), or take a missing udata to
 * mean kernel memory and register the wrong pages (hns).
 */
bool uep_mr_driver_ok(const struct ib_device *ibdev)
{
	if (!ibdev->ops.reg_user_mr)
		return false;

	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_OCRDMA:
	case RDMA_DRIVER_QEDR:
	case RDMA_DRIVER_VMW_PVRDMA:
	case RDMA_DRIVER_HFI1:
	case RDMA_DRIVER_QIB:
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
	case RDMA_DRIVER_ERDMA:
		return true;
	default:
		return false;
	}
}

static void uep_mr_put_res(struct ep_res *res)
{
	uep_obj_put(&container_of(res, struct uep_mr, res)->obj);
}

static const struct ep_res_ops uep_mr_res_ops = {
	.put = uep_mr_put_res,
};

/* A deregistration that takes longer waits for somebody. */
#define UEP_MR_KEPT_TIME	(HZ / 4)

static void uep_mr_kept(void *mr)
{
	uep_qp_drop_regions(mr);
}

/*
 * rxe waits 50 seconds for a QP that has failed and keeps the region, and then frees it
 * all the same. (ep_qp_drop_region() says which.) So they are looked for meanwhile, again
 * and again, as one may fail just then.
 */
static void uep_mr_destroy_hw(struct ep_res *res)
{
	struct uep_mr *mr = container_of(res, struct uep_mr, res);
	bool rxe = ep_is_rxe(mr->ibmr->device);
	struct ep_rxe_watch watch;

	xa_erase(&mr->pd->mrs, mr->ibmr->lkey);
	if (rxe)
		ep_rxe_watch_begin(&watch, UEP_MR_KEPT_TIME, uep_mr_kept, mr);
	WARN_ON_ONCE(ib_dereg_mr(mr->ibmr));
	if (rxe)
		ep_rxe_watch_end(&watch);
	mr->ibmr = NULL;
	uep_uncharge_pages(mr->obj.session, mr->nr_pages);
}

static void uep_mr_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	struct uep_mr *mr = container_of(obj, struct uep_mr, obj);

	ep_res_destroy(&mr->res);
	uep_obj_unuse(&mr->pd->obj);
}

static void uep_mr_free(struct uep_obj *obj)
{
	struct uep_mr *mr = container_of(obj, struct uep_mr, obj);

	ep_res_fini(&mr->res);
	uep_obj_put(&mr->pd->obj);
	kfree_rcu(mr, obj.rcu);
}

static const struct uep_obj_type uep_mr_type = {
	.type = RDMA_EP_OBJ_MR,
	.destroy = uep_mr_destroy,
	.free = uep_mr_free,
};

/*
 * Is the whole entry inside a region of this PD, which may be written if @write?
 * This is the only way by which an lkey gets to a driver: there the same number
 * could mean kernel memory.
 */
bool uep_mr_check(struct uep_pd *pd, const struct ib_sge *sge, bool write)
{
	struct uep_mr *mr;
	bool ok = false;

	rcu_read_lock();
	mr = xa_load(&pd->mrs, sge->lkey);
	if (mr && (mr->writable || !write) && sge->addr >= mr->iova) {
		u64 offset = sge->addr - mr->iova;

		ok = offset <= mr->length && sge->length <= mr->length - offset;
	}
	rcu_read_unlock();
	return ok;
}

/* What ib_reg_user_mr() leaves to its caller. */
static int uep_mr_check_args(struct ib_device *ibdev,
			     struct rdma_ep_reg_mr *arg)
{
	u64 end;

	if (!uep_mr_driver_ok(ibdev)) {
		pr_notice_ratelimited(KBUILD_MODNAME ": %s: its driver can not register user memory for the kernel\n",
				      ibdev->name);
		return -EOPNOTSUPP;
	}
	if (!arg->length || check_add_overflow(arg->addr, arg->length, &end) ||
	    check_add_overflow(arg->iova, arg->length, &end) ||
	    arg->length > ibdev->attrs.max_mr_size)
		return -EINVAL;
	if ((arg->addr & ~PAGE_MASK) != (arg->iova & ~PAGE_MASK))
		return -EINVAL;
	/* These ignore iova when they check an lkey. */
	if (arg->iova != arg->addr &&
	    (ep_is_siw(ibdev) ||
	     ibdev->ops.driver_id == RDMA_DRIVER_HFI1 ||
	     ibdev->ops.driver_id == RDMA_DRIVER_QIB))
		return -EINVAL;
	/* siw counts in an int, and allocates for all pages before any is there. */
	if (ep_is_siw(ibdev) &&
	    arg->length >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;

	/*
	 * rxe has 16 bytes for each page, in one piece, and the core warns of too large
	 * ones. (Early 6.12 had not; nothing tells.)
	 */
	if (EP_COMPAT_RXE_WORKS && ep_is_rxe(ibdev) &&
	    (arg->length + (arg->addr & ~PAGE_MASK) + PAGE_SIZE - 1) >> PAGE_SHIFT >
	    KMALLOC_MAX_SIZE / 16)
		return -ENOMEM;

	/* Optional ones are hints; relaxed ordering means nothing in software. */
	arg->access &= ~IB_UVERBS_ACCESS_OPTIONAL_RANGE;
	if (arg->access & (IB_ACCESS_MW_BIND | IB_ACCESS_ON_DEMAND |
			   IB_ACCESS_HUGETLB | IB_ZERO_BASED))
		return -EOPNOTSUPP;
	if (arg->access & ~(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			    IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		return -EINVAL;
	return ib_check_mr_access(ibdev, arg->access);
}

/* Called inside ep_dev_enter(). */
static int uep_mr_create_hw(struct uep_mr *mr, struct ep_dev *dev,
			    struct rdma_ep_reg_mr *arg)
{
	int ret;

	ret = uep_mr_check_args(dev->ibdev, arg);
	if (ret)
		return ret;
	mr->nr_pages = ((arg->addr + arg->length - 1) >> PAGE_SHIFT) -
		       (arg->addr >> PAGE_SHIFT) + 1;
	ret = uep_charge_pages(mr->obj.session, mr->nr_pages);
	if (ret)
		return ret;
	ret = ep_res_init(&mr->res, dev, EP_RES_MR, &uep_mr_res_ops,
			  uep_mr_destroy_hw);
	if (ret)
		goto err_pages;
	mr->ibmr = ib_reg_user_mr(mr->pd->pd.ibpd, arg->addr, arg->length,
				  arg->iova, arg->access);
	if (IS_ERR(mr->ibmr)) {
		ret = PTR_ERR(mr->ibmr);
		goto err_res;
	}
	mr->iova = arg->iova;
	mr->length = arg->length;
	mr->writable = arg->access & IB_ACCESS_LOCAL_WRITE;
	ret = xa_insert(&mr->pd->mrs, mr->ibmr->lkey, mr, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_mr;
	uep_obj_get(&mr->obj);
	ep_res_add(&mr->res);
	arg->lkey = mr->ibmr->lkey;
	arg->rkey = mr->ibmr->rkey;
	return 0;

err_mr:
	ib_dereg_mr(mr->ibmr);
err_res:
	ep_res_abort(&mr->res);
err_pages:
	uep_uncharge_pages(mr->obj.session, mr->nr_pages);
	return ret;
}

int uep_reg_mr(struct uep_cmd *cmd)
{
	struct rdma_ep_reg_mr *arg = cmd->arg;
	struct uep_obj *obj;
	struct ep_dev *dev;
	struct uep_mr *mr;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	obj = uep_obj_use(cmd->s, arg->pd, RDMA_EP_OBJ_PD);
	if (!obj)
		return -ENOENT;
	mr = uep_obj_alloc(cmd->s, &uep_mr_type, sizeof(*mr), 0);
	if (IS_ERR(mr)) {
		uep_obj_unhold(obj);
		return PTR_ERR(mr);
	}
	mr->pd = container_of(obj, struct uep_pd, obj);
	dev = mr->pd->ctx->dev;
	ret = ep_dev_enter(dev, &srcu);
	if (!ret) {
		ret = uep_mr_create_hw(mr, dev, arg);
		ep_dev_exit(dev, srcu);
	}
	if (ret) {
		uep_obj_discard(&mr->obj);
		return ret;
	}
	ret = uep_cmd_add_obj(cmd, &mr->obj);
	if (!ret)
		arg->mr = mr->obj.handle;
	return ret;
}
