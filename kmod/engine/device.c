// SPDX-License-Identifier: GPL-2.0-only
/* RDMA devices, their addition and removal, and the hardware objects on them. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "engine.h"

/* A removal that waits for a kernel consumer warns at this interval. */
#define EP_DEV_USER_WARN	(10 * HZ)

/* By ep_dev.index; an entry holds a reference until the removal. */
static DEFINE_XARRAY_ALLOC1(ep_devs);
static u32 ep_dev_next_index;

/* By enum rdma_driver_id */
static const struct ep_driver *ep_drivers;
static unsigned int ep_nr_drivers;

void ep_drivers_register(const struct ep_driver *drivers, unsigned int nr)
{
	ep_drivers = drivers;
	ep_nr_drivers = nr;
}

/* An unknown driver has no capabilities. */
const struct ep_driver *ep_driver_of(const struct ib_device *ibdev)
{
	static const struct ep_driver unknown;
	unsigned int id = ibdev->ops.driver_id;

	return id < ep_nr_drivers ? &ep_drivers[id] : &unknown;
}

/* Never NULL. @ibdev: may be NULL, as in an id that is not bound to a device */
const struct ep_driver_ops *ep_driver_ops_of(const struct ib_device *ibdev)
{
	static const struct ep_driver_ops none;

	return ibdev && ep_driver_of(ibdev)->ops ? ep_driver_of(ibdev)->ops : &none;
}

/* Is there a driver of that name? Any name is one before ep_drivers_register(). */
bool ep_driver_exists(const char *name)
{
	unsigned int i;

	for (i = 0; i < ep_nr_drivers; i++)
		if (ep_drivers[i].name && !strcmp(ep_drivers[i].name, name))
			return true;
	return !ep_nr_drivers;
}

static void ep_dev_free(struct kref *ref)
{
	struct ep_dev *dev = container_of(ref, struct ep_dev, ref);

	ep_dev_free_events(dev);
	cleanup_srcu_struct(&dev->cm_srcu);
	cleanup_srcu_struct(&dev->srcu);
	kfree(dev);
}

/* @dev: may be NULL */
void ep_dev_put(struct ep_dev *dev)
{
	if (dev)
		kref_put(&dev->ref, ep_dev_free);
}

/* Returns the first device after *index with a reference, or NULL. */
struct ep_dev *ep_dev_next(u32 *index)
{
	unsigned long i = *index;
	struct ep_dev *dev;

	xa_lock(&ep_devs);
	dev = xa_find_after(&ep_devs, &i, U32_MAX, XA_PRESENT);
	if (dev)
		kref_get(&dev->ref);
	xa_unlock(&ep_devs);
	*index = i;
	return dev;
}

/* Returns the device with a reference, or NULL. */
struct ep_dev *ep_dev_get(u32 index)
{
	struct ep_dev *dev;

	xa_lock(&ep_devs);
	dev = xa_load(&ep_devs, index);
	if (dev)
		kref_get(&dev->ref);
	xa_unlock(&ep_devs);
	return dev;
}

/*
 * Returns our device for @ibdev with a reference, or NULL if it is being removed. The caller
 * keeps @ibdev itself from being freed.
 */
struct ep_dev *ep_dev_of(struct ib_device *ibdev)
{
	struct ep_dev *dev;
	unsigned long i;

	xa_lock(&ep_devs);
	xa_for_each(&ep_devs, i, dev) {
		if (dev->ibdev == ibdev) {
			kref_get(&dev->ref);
			break;
		}
	}
	xa_unlock(&ep_devs);
	return dev;
}

/*
 * Begins a section in which dev->ibdev is valid and its objects can be used. Nothing inside
 * waits for users or peers. Returns -EIO after the removal of the device.
 */
int ep_dev_enter(struct ep_dev *dev, int *idx)
{
	*idx = srcu_read_lock(&dev->srcu);
	if (likely(!READ_ONCE(dev->removing))) {
		__release(&dev->srcu);	/* for sparse: ep_dev_exit() does */
		return 0;
	}
	srcu_read_unlock(&dev->srcu, *idx);
	return -EIO;
}

void ep_dev_exit(struct ep_dev *dev, int idx)
{
	__acquire(&dev->srcu);
	srcu_read_unlock(&dev->srcu, idx);
}

/*
 * The device can be used outside ep_dev_enter() until ep_dev_del_user(), which a removal waits
 * for. Returns -ENODEV if it is being removed already.
 */
int ep_dev_add_user(struct ep_dev *dev, struct ep_dev_user *user)
{
	guard(mutex)(&dev->user_lock);
	if (dev->removing)
		return -ENODEV;
	kref_get(&dev->ref);
	user->dev = dev;
	list_add_tail(&user->entry, &dev->users);
	return 0;
}

void ep_dev_del_user(struct ep_dev_user *user)
{
	struct ep_dev *dev = user->dev;

	if (!dev)
		return;
	user->dev = NULL;
	scoped_guard(mutex, &dev->user_lock) {
		list_del(&user->entry);
		wake_up(&dev->user_wait);
	}
	ep_dev_put(dev);
}

/* The PD of a kernel consumer on a device */
struct ep_owner_pd {
	struct list_head entry;		/* in ep_dev.owner_pds */
	const char *owner;
	struct ib_pd *pd;
	unsigned int users;
};

/* A use of the PD that module @owner has on the device, of which the caller is a user */
struct ib_pd *ep_dev_get_pd(struct ep_dev *dev, const char *owner)
{
	struct ep_owner_pd *p;
	struct ib_pd *pd;

	guard(mutex)(&dev->pd_lock);
	list_for_each_entry(p, &dev->owner_pds, entry)
		if (!strcmp(p->owner, owner))
			goto found;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return ERR_PTR(-ENOMEM);
	pd = ib_alloc_pd(dev->ibdev, 0);
	if (IS_ERR(pd)) {
		kfree(p);
		return pd;
	}
	p->owner = owner;
	p->pd = pd;
	list_add(&p->entry, &dev->owner_pds);
found:
	p->users++;
	return p->pd;
}

void ep_dev_put_pd(struct ep_dev *dev, struct ib_pd *pd)
{
	struct ep_owner_pd *p, *next;

	guard(mutex)(&dev->pd_lock);
	list_for_each_entry_safe(p, next, &dev->owner_pds, entry) {
		if (p->pd != pd || --p->users)
			continue;
		list_del(&p->entry);
		ib_dealloc_pd(pd);
		kfree(p);
	}
}

/*
 * Prepares an object and charges the current cgroup, inside ep_dev_enter() or for a user of the
 * device. Followed by ep_res_add() once the hardware object exists, or ep_res_abort(); either way
 * by ep_res_fini() before @res is freed. Returns -EAGAIN or -ENOMEM of the RDMA controller.
 */
int ep_res_init(struct ep_res *res, struct ep_dev *dev, enum ep_res_class class,
		const struct ep_res_ops *ops, void (*destroy)(struct ep_res *res))
{
	int ret;

	kref_get(&dev->ref);
	res->dev = dev;
	res->class = class;
	res->ops = ops;
	res->destroy = destroy;
	INIT_LIST_HEAD(&res->entry);
	ret = ep_res_charge(res);
	if (ret)
		ep_res_fini(res);
	return ret;
}

int ep_res_charge(struct ep_res *res)
{
	return res->ops ? ep_compat_cg_charge(res->dev->ibdev, &res->cg) : 0;
}

/* Called by the task that has the object to itself or destroys it. */
void ep_res_uncharge(struct ep_res *res)
{
	ep_compat_cg_uncharge(res->dev->ibdev, res->cg);
	res->cg = NULL;
}

/* Undoes the charge of ep_res_init(). @hw: an ERR_PTR instead of a hardware object */
int ep_res_abort(struct ep_res *res, const void *hw)
{
	ep_res_uncharge(res);
	return PTR_ERR(hw);
}

static struct ep_qp *ep_res_qp(struct ep_res *res)
{
	return res->class == EP_RES_QP ? container_of(res, struct ep_qp, res) : NULL;
}

/*
 * Puts the object on its device's list, with a reference to the owner's object: from here on
 * the removal of the device destroys it.
 */
void ep_res_add(struct ep_res *res)
{
	struct ep_qp *qp = ep_res_qp(res);
	struct ep_dev *dev = res->dev;

	if (!res->ops)
		return;
	spin_lock(&dev->lock);
	res->ops->get(res);
	list_add_tail(&res->entry, &dev->res[res->class]);
	if (qp)
		hash_add(dev->qps, &qp->by_num, qp->qp_num);
	spin_unlock(&dev->lock);
}

/*
 * Takes an object off its device's list: @res, if it is there, or if that is NULL the first
 * of @class. The caller destroys the result.
 */
static struct ep_res *ep_res_claim(struct ep_dev *dev, struct ep_res *res, enum ep_res_class class)
{
	spin_lock(&dev->lock);
	if (!res)
		res = list_first_entry_or_null(&dev->res[class], struct ep_res, entry);
	else if (list_empty(&res->entry))
		res = NULL;
	if (res) {
		list_del_init(&res->entry);
		if (ep_res_qp(res))
			hash_del(&ep_res_qp(res)->by_num);
	}
	spin_unlock(&dev->lock);
	return res;
}

static void ep_res_kill(struct ep_res *res)
{
	if (res->ops->before_destroy)
		res->ops->before_destroy(res);
	res->destroy(res);
	ep_res_uncharge(res);
	if (res->ops->destroyed)
		res->ops->destroyed(res);
	res->ops->put(res);
}

/*
 * Destroys the hardware object, if there is one and ep_client_remove() has not claimed it,
 * which leaves objects of kernel consumers to them. Process context.
 */
void ep_res_destroy(struct ep_res *res)
{
	struct ep_dev *dev = res->dev;
	int idx;

	if (dev && !res->ops)
		res->destroy(res);
	if (!dev || !res->ops || ep_dev_enter(dev, &idx))
		return;
	if (ep_res_claim(dev, res, res->class))
		ep_res_kill(res);
	ep_dev_exit(dev, idx);
}

void ep_res_fini(struct ep_res *res)
{
	ep_dev_put(res->dev);
	res->dev = NULL;
}

/* A kernel consumer that has not been notified of the removal, with a reference, or NULL */
static struct ep_dev_user *ep_dev_next_user(struct ep_dev *dev)
{
	struct ep_dev_user *user;

	guard(mutex)(&dev->user_lock);
	list_for_each_entry(user, &dev->users, entry) {
		if (user->notified)
			continue;
		user->notified = true;
		user->get(user);
		return user;
	}
	return NULL;
}

/* Notifies the kernel consumers of the removal, and waits until they have destroyed all. */
static void ep_dev_wait_users(struct ep_dev *dev)
{
	struct ep_dev_user *user;

	while ((user = ep_dev_next_user(dev)))
		user->removed(user);

	while (!wait_event_timeout(dev->user_wait, list_empty(&dev->users), EP_DEV_USER_WARN)) {
		guard(mutex)(&dev->user_lock);
		user = list_first_entry_or_null(&dev->users, struct ep_dev_user, entry);
		if (user)
			pr_warn("%s: cannot be removed before %s destroys its endpoints\n",
				dev->ibdev->name, user->owner);
	}
}

static struct ib_client ep_client;

static int ep_client_add(struct ib_device *ibdev)
{
	struct ib_port_attr attr;
	struct ep_dev *dev;
	u32 port;
	int ret, i;

	dev = kzalloc(struct_size(dev, max_msg_sz, ibdev->phys_port_cnt + 1), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	ret = init_srcu_struct(&dev->srcu);
	if (ret)
		goto err_free;
	ret = init_srcu_struct(&dev->cm_srcu);
	if (ret)
		goto err_srcu;
	kref_init(&dev->ref);
	spin_lock_init(&dev->lock);
	for (i = 0; i < EP_RES_NR; i++)
		INIT_LIST_HEAD(&dev->res[i]);
	hash_init(dev->qps);
	mutex_init(&dev->user_lock);
	INIT_LIST_HEAD(&dev->users);
	init_waitqueue_head(&dev->user_wait);
	mutex_init(&dev->pd_lock);
	INIT_LIST_HEAD(&dev->owner_pds);
	mutex_init(&dev->xrcd_lock);
	hash_init(dev->xrcds);
	mutex_init(&dev->mcast_lock);
	dev->ibdev = ibdev;
	ret = ep_dev_init_events(dev);
	if (ret)
		goto err_events;
	dev->ops = ep_driver_ops_of(ibdev);
	rdma_for_each_port(ibdev, port)
		dev->max_msg_sz[port] = ib_query_port(ibdev, port, &attr) ?
					1U << 31 : attr.max_msg_sz;
	dev->pace_bytes = ep_driver_of(ibdev)->pace_bytes;
	dev->max_recv_sz = U32_MAX;	/* drivers add lengths up in 32 bits */
	ret = dev->ops->add ? dev->ops->add(dev) : 0;
	if (ret)
		goto err_events;
	ib_set_client_data(ibdev, &ep_client, dev);

	ret = xa_alloc_cyclic(&ep_devs, &dev->index, dev, xa_limit_31b, &ep_dev_next_index,
			      GFP_KERNEL);
	if (ret < 0)
		goto err_driver;
	ep_dev_begin_events(dev);
	return 0;

err_driver:
	if (dev->ops->remove)
		dev->ops->remove(dev);
err_events:
	ep_dev_free_events(dev);
	cleanup_srcu_struct(&dev->cm_srcu);
err_srcu:
	cleanup_srcu_struct(&dev->srcu);
err_free:
	kfree(dev);
	return ret;
}

/* Waits for running calls, then destroys all objects of programs, and waits for other users. */
static void ep_client_remove(struct ib_device *ibdev, void *data)
{
	struct ep_dev *dev = data;
	struct ep_res *res;
	int class;

	/* From here on nothing notes an event. */
	ib_unregister_event_handler(&dev->event_handler);
	xa_erase(&ep_devs, dev->index);
	scoped_guard(mutex, &dev->user_lock)
		WRITE_ONCE(dev->removing, true);
	synchronize_srcu(&dev->srcu);
	if (dev->ops->stop_all)
		dev->ops->stop_all(dev);

	for (class = 0; class < EP_RES_NR; class++)
		while ((res = ep_res_claim(dev, NULL, class)))
			ep_res_kill(res);

	ep_dev_end_events(dev);
	ep_dev_wait_users(dev);
	if (dev->ops->remove)
		dev->ops->remove(dev);

	/* rdma_cm registered before this client, so it removes the device afterwards. */
	WRITE_ONCE(dev->removed, true);
	synchronize_srcu(&dev->cm_srcu);
	ep_dev_put(dev);
}

static struct ib_client ep_client = {
	.name = KBUILD_MODNAME,
	.add = ep_client_add,
	.remove = ep_client_remove,
};

int ep_dev_init(void)
{
	int ret = ep_dev_event_init();

	if (ret)
		return ret;
	ret = ib_register_client(&ep_client);
	if (ret)
		ep_dev_event_cleanup();
	return ret;
}

void ep_dev_cleanup(void)
{
	ib_unregister_client(&ep_client);
	ep_dev_event_cleanup();
}
