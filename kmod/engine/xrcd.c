// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC domains, and the target QPs in them.
 *
 * Both may have several openers. ib_core counts the openers of a QP and gives each an ib_qp
 * of its own; this file counts those of a domain. Each opener has an object on the device,
 * so each is charged, and destroying the last one destroys the hardware object.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "engine.h"

/* An XRC domain. ib_core leaves it to its openers to serialise changes of a QP: @lock */
struct ep_xrc_domain {
	struct hlist_node node;		/* in ep_dev.xrcds */
	const void *file;		/* the key, with user; NULL: it is not shared */
	const void *user;
	unsigned int opens;		/* openers (ep_dev.xrcd_lock) */
	struct ib_xrcd *ibxrcd;		/* NULL until it is set, once (lock) */
	struct mutex lock;		/* ibxrcd, changes of target QPs, qps */
	struct xarray qps;		/* numbers of target QPs by address, for completions */
};

static struct ep_xrc_domain *ep_xrcd_find(struct ep_dev *dev, const void *file, const void *user)
{
	struct ep_xrc_domain *dom;

	hash_for_each_possible(dev->xrcds, dom, node, (unsigned long)file)
		if (dom->file == file && dom->user == user)
			return dom;
	return NULL;
}

static struct ep_xrc_domain *ep_xrcd_alloc(struct ep_dev *dev, const void *file, const void *user)
{
	struct ep_xrc_domain *dom = kzalloc(sizeof(*dom), GFP_KERNEL_ACCOUNT);

	if (!dom)
		return ERR_PTR(-ENOMEM);
	mutex_init(&dom->lock);
	xa_init(&dom->qps);
	dom->file = file;
	dom->user = user;
	if (file)
		hash_add(dev->xrcds, &dom->node, (unsigned long)file);
	return dom;
}

/* Finds or allocates a domain; ep_xrcd_put() follows. The errors are those of uverbs. */
static struct ep_xrc_domain *ep_xrcd_get(struct ep_dev *dev, const void *file, const void *user,
					 bool create, bool exclusive)
{
	struct ep_xrc_domain *dom;

	guard(mutex)(&dev->xrcd_lock);
	dom = file ? ep_xrcd_find(dev, file, user) : NULL;
	if (dom && exclusive)
		return ERR_PTR(-EINVAL);
	if (!dom && file && !create)
		return ERR_PTR(-EAGAIN);
	if (!dom)
		dom = ep_xrcd_alloc(dev, file, user);
	if (!IS_ERR(dom))
		dom->opens++;
	return dom;
}

/* The last put destroys the hardware object; an open of the file meanwhile allocates a domain. */
static void ep_xrcd_put(struct ep_dev *dev, struct ep_xrc_domain *dom)
{
	bool last;

	mutex_lock(&dev->xrcd_lock);
	last = !--dom->opens;
	if (last)
		hash_del(&dom->node);
	mutex_unlock(&dev->xrcd_lock);
	if (!last)
		return;
	if (dom->ibxrcd) {
		/* Nothing is left in it, but ib_core still counts QPs whose creation failed. */
		atomic_set(&dom->ibxrcd->usecnt, 0);
		WARN_ON_ONCE(ib_dealloc_xrcd_user(dom->ibxrcd, NULL));
	}
	xa_destroy(&dom->qps);
	kfree(dom);
}

/* @create: if false, the domain may be without a hardware object, as its driver has failed */
static int ep_xrcd_alloc_hw(struct ep_dev *dev, struct ep_xrc_domain *dom, bool create)
{
	struct ib_xrcd *ibxrcd;

	guard(mutex)(&dom->lock);
	if (dom->ibxrcd)
		return 0;
	/* ib_core only keeps the inode for its caller, so it gets none. */
	ibxrcd = create ? ib_alloc_xrcd_user(dev->ibdev, NULL, NULL) : ERR_PTR(-EAGAIN);
	if (!IS_ERR(ibxrcd))
		dom->ibxrcd = ibxrcd;
	return PTR_ERR_OR_ZERO(ibxrcd);
}

static void ep_xrcd_destroy_hw(struct ep_res *res)
{
	struct ep_xrcd *xrcd = container_of(res, struct ep_xrcd, res);

	ep_xrcd_put(res->dev, xrcd->dom);
	xrcd->dom = NULL;
	xrcd->ibxrcd = NULL;
}

/*
 * Opens a domain, inside ep_dev_enter(). @file and @user: key of a domain that can be shared; @file
 * stays valid until @xrcd has been freed, or is NULL for a domain of its own. Returns -EOPNOTSUPP
 * if the device has none, -EAGAIN if it does not exist and not @create, -EINVAL if it exists and
 * @exclusive, or an error of the driver.
 */
int ep_xrcd_open(struct ep_xrcd *xrcd, struct ep_dev *dev, const struct ep_res_ops *ops,
		 const void *file, const void *user, bool create, bool exclusive)
{
	struct ep_xrc_domain *dom;
	int ret;

	if (!dev->ibdev->ops.alloc_xrcd)
		return -EOPNOTSUPP;
	ret = ep_res_init(&xrcd->res, dev, EP_RES_XRCD, ops, ep_xrcd_destroy_hw);
	if (ret)
		return ret;
	/* The driver is called without xrcd_lock, so it delays no opener of another domain. */
	dom = ep_xrcd_get(dev, file, user, create, exclusive);
	if (IS_ERR(dom))
		return ep_res_abort(&xrcd->res, dom);
	ret = ep_xrcd_alloc_hw(dev, dom, create || !file);
	if (ret) {
		ep_xrcd_put(dev, dom);
		return ep_res_abort(&xrcd->res, ERR_PTR(ret));
	}
	xrcd->dom = dom;
	xrcd->ibxrcd = dom->ibxrcd;
	ep_res_add(&xrcd->res);
	return 0;
}

/* A new target QP, which others can open by its number */
struct ib_qp *ep_xrcd_create_qp(struct ep_xrcd *xrcd, struct ib_qp_init_attr *attr,
				const char *caller)
{
	struct ep_xrc_domain *dom = xrcd->dom;
	struct ib_qp *ibqp;
	int ret;

	guard(mutex)(&dom->lock);
	attr->xrcd = dom->ibxrcd;
	ibqp = ep_compat_create_xrc_target(dom->ibxrcd->device, attr, caller);
	if (IS_ERR(ibqp))
		return ibqp;
	ret = xa_err(xa_store(&dom->qps, (unsigned long)ibqp->real_qp,
			      xa_mk_value(ibqp->qp_num), GFP_KERNEL_ACCOUNT));
	if (!ret)
		return ibqp;
	ib_destroy_qp(ibqp);
	return ERR_PTR(ret);
}

/* One more opener of a target QP; -EINVAL if none has the number */
struct ib_qp *ep_xrcd_open_qp(struct ep_xrcd *xrcd, struct ib_qp_open_attr *attr)
{
	guard(mutex)(&xrcd->dom->lock);
	return ib_open_qp(xrcd->dom->ibxrcd, attr);
}

int ep_xrcd_modify_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask)
{
	guard(mutex)(&xrcd->dom->lock);
	if (!ep_qp_port_ok(ibqp, attr, mask))
		return -EINVAL;
	return ib_modify_qp(ibqp, attr, mask);
}

/* Destroys the opener's ib_qp, and with the last one the QP. */
int ep_xrcd_destroy_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp)
{
	struct ep_xrc_domain *dom = xrcd->dom;

	guard(mutex)(&dom->lock);
	if (atomic_read(&ibqp->real_qp->usecnt) == 1)
		xa_erase(&dom->qps, (unsigned long)ibqp->real_qp);
	return ib_destroy_qp(ibqp);
}

/*
 * The number of the target QP of a completion, or 0 if it has been destroyed. @ibqp is not
 * followed, only compared. Called under rcu_read_lock(), while the domain has an SRQ
 */
u32 ep_xrcd_qp_num(struct ep_xrcd *xrcd, const struct ib_qp *ibqp)
{
	void *entry = xa_load(&xrcd->dom->qps, (unsigned long)ibqp);

	return entry ? xa_to_value(entry) : 0;
}
