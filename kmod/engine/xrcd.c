// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC domains, and the target QPs in them.
 *
 * Both may have several openers. The core counts the openers of a QP, and gives
 * each an ib_qp of its own; who has opened a domain is counted here. Each opener's
 * is an object on the device, so that each is charged for its own, and the last
 * one to be destroyed takes the hardware object along.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "engine.h"

/* An XRC domain */
struct ep_xrc_domain {
	struct hlist_node node;		/* in ep_dev.xrcds */
	const void *file;		/* names it, with user; NULL: it is not shared */
	const void *user;
	unsigned int opens;		/* openers (ep_dev.xrcd_lock) */
	struct ib_xrcd *ibxrcd;		/* NULL until it is set, once (lock) */
	/* The core leaves it to its caller to serialise changes of a QP, and openers are many */
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

static struct ep_xrc_domain *ep_xrcd_new(struct ep_dev *dev, const void *file, const void *user)
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

/* Finds or makes it; ep_xrcd_put() follows. */
static struct ep_xrc_domain *ep_xrcd_get(struct ep_dev *dev, const void *file, const void *user,
					 bool create, bool exclusive)
{
	struct ep_xrc_domain *dom = NULL;

	mutex_lock(&dev->xrcd_lock);
	if (file)
		dom = ep_xrcd_find(dev, file, user);
	/* These errors are those of uverbs. */
	if (dom && exclusive)
		dom = ERR_PTR(-EINVAL);
	else if (!dom && file && !create)
		dom = ERR_PTR(-EAGAIN);
	else if (!dom)
		dom = ep_xrcd_new(dev, file, user);
	if (!IS_ERR(dom))
		dom->opens++;
	mutex_unlock(&dev->xrcd_lock);
	return dom;
}

/*
 * The last one takes the hardware object along. Whoever opens the same file meanwhile
 * gets another one, as nobody knows this one any more.
 */
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
		/*
		 * Nothing is left in it. The core counts a QP whose making has
		 * failed half way all the same.
		 */
		atomic_set(&dom->ibxrcd->usecnt, 0);
		WARN_ON_ONCE(ib_dealloc_xrcd_user(dom->ibxrcd, NULL));
	}
	xa_destroy(&dom->qps);
	kfree(dom);
}

/* @create: if not, an opener whose driver has failed has left it without */
static int ep_xrcd_alloc_hw(struct ep_dev *dev, struct ep_xrc_domain *dom, bool create)
{
	struct ib_xrcd *ibxrcd;
	int ret = 0;

	mutex_lock(&dom->lock);
	if (dom->ibxrcd)
		goto out;
	/* The inode would only be kept for us. */
	ibxrcd = create ? ib_alloc_xrcd_user(dev->ibdev, NULL, NULL) : ERR_PTR(-EAGAIN);
	if (IS_ERR(ibxrcd))
		ret = PTR_ERR(ibxrcd);
	else
		dom->ibxrcd = ibxrcd;
out:
	mutex_unlock(&dom->lock);
	return ret;
}

static void ep_xrcd_destroy_hw(struct ep_res *res)
{
	struct ep_xrcd *xrcd = container_of(res, struct ep_xrcd, res);

	ep_xrcd_put(res->dev, xrcd->dom);
	xrcd->dom = NULL;
	xrcd->ibxrcd = NULL;
}

/**
 * ep_xrcd_open - open an XRC domain
 * @xrcd: the opener's
 * @dev: device, inside ep_dev_enter()
 * @ops: the owner's
 * @file: together with @user, names a domain that can be shared; must stay what it
 *	is until @xrcd has been freed. NULL: a domain of its own
 * @user: the same
 * @create: make it if it is not there
 * @exclusive: it must not be there
 *
 * Return: 0, -EOPNOTSUPP if the device has none, -EAGAIN if it is not there,
 * -EINVAL if it is, or an error of the driver
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
	/* Nobody waits for the driver but who wants the same domain. */
	dom = ep_xrcd_get(dev, file, user, create, exclusive);
	ret = PTR_ERR_OR_ZERO(dom);
	if (ret)
		goto err_res;
	ret = ep_xrcd_alloc_hw(dev, dom, create || !file);
	if (ret)
		goto err_dom;
	xrcd->dom = dom;
	xrcd->ibxrcd = dom->ibxrcd;
	ep_res_add(&xrcd->res);
	return 0;

err_dom:
	ep_xrcd_put(dev, dom);
err_res:
	ep_res_uncharge(&xrcd->res);
	return ret;
}

/* A new target QP, which others can open by its number. */
struct ib_qp *ep_xrcd_create_qp(struct ep_xrcd *xrcd, struct ib_qp_init_attr *attr,
				const char *caller)
{
	struct ep_xrc_domain *dom = xrcd->dom;
	struct ib_qp *ibqp;
	int ret;

	attr->xrcd = dom->ibxrcd;
	mutex_lock(&dom->lock);
	ibqp = ep_compat_create_xrc_target(dom->ibxrcd->device, attr, caller);
	if (!IS_ERR(ibqp)) {
		ret = xa_err(xa_store(&dom->qps, (unsigned long)ibqp->real_qp,
				      xa_mk_value(ibqp->qp_num),
				      GFP_KERNEL_ACCOUNT));
		if (ret) {
			ib_destroy_qp(ibqp);
			ibqp = ERR_PTR(ret);
		}
	}
	mutex_unlock(&dom->lock);
	return ibqp;
}

/* One more opener of a target QP. -EINVAL if none has the number. */
struct ib_qp *ep_xrcd_open_qp(struct ep_xrcd *xrcd, struct ib_qp_open_attr *attr)
{
	struct ep_xrc_domain *dom = xrcd->dom;
	struct ib_qp *ibqp;

	mutex_lock(&dom->lock);
	ibqp = ib_open_qp(dom->ibxrcd, attr);
	mutex_unlock(&dom->lock);
	return ibqp;
}

int ep_xrcd_modify_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask)
{
	struct ep_xrc_domain *dom = xrcd->dom;
	int ret;

	mutex_lock(&dom->lock);
	ret = ib_modify_qp(ibqp, attr, mask);
	mutex_unlock(&dom->lock);
	return ret;
}

/* Destroys the opener's, and with the last one the QP. */
int ep_xrcd_destroy_qp(struct ep_xrcd *xrcd, struct ib_qp *ibqp)
{
	struct ep_xrc_domain *dom = xrcd->dom;
	int ret;

	mutex_lock(&dom->lock);
	if (atomic_read(&ibqp->real_qp->usecnt) == 1)
		xa_erase(&dom->qps, (unsigned long)ibqp->real_qp);
	ret = ib_destroy_qp(ibqp);
	mutex_unlock(&dom->lock);
	return ret;
}

/*
 * Number of the target QP that a completion points to, 0 if it is gone. Not
 * followed, only compared. Called under rcu_read_lock(), while there is an SRQ in
 * the domain.
 */
u32 ep_xrcd_qp_num(struct ep_xrcd *xrcd, const struct ib_qp *ibqp)
{
	void *entry = xa_load(&xrcd->dom->qps, (unsigned long)ibqp);

	return entry ? xa_to_value(entry) : 0;
}
