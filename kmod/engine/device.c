// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA devices as they come and go, and the hardware objects on them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "engine.h"

/* How long a removal waits for a kernel consumer before it says so. */
#define EP_HOLD_COMPLAIN	(10 * HZ)

/* Devices by our index; an entry holds a reference until the removal. */
static DEFINE_XARRAY_ALLOC1(ep_devs);
static u32 ep_dev_next_index;
static void (*ep_dev_event)(struct ep_dev *dev, struct ib_event *event);

/* By enum rdma_driver_id */
static const struct ep_driver *ep_drivers;
static unsigned int ep_nr_drivers;

/* Before the first device is added */
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

/* Never NULL. @ibdev: NULL: of an id that is not bound to a device */
const struct ep_driver_ops *ep_driver_ops_of(const struct ib_device *ibdev)
{
	static const struct ep_driver_ops none;

	return ibdev && ep_driver_of(ibdev)->ops ? ep_driver_of(ibdev)->ops : &none;
}

static void ep_dev_free(struct kref *ref)
{
	struct ep_dev *dev = container_of(ref, struct ep_dev, ref);

	cleanup_srcu_struct(&dev->cm_srcu);
	cleanup_srcu_struct(&dev->srcu);
	kfree(dev);
}

void ep_dev_put(struct ep_dev *dev)
{
	kref_put(&dev->ref, ep_dev_free);
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

/*
 * Returns our device for @ibdev with a reference, or NULL if it is going away.
 * The caller makes sure that @ibdev itself does not.
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

/* Devices on which listening takes memory for as many requests as may wait */
u32 ep_dev_nr_iwarp(void)
{
	struct ep_dev *dev;
	unsigned long i;
	u32 nr = 0;

	xa_lock(&ep_devs);
	xa_for_each(&ep_devs, i, dev)
		nr += dev->ibdev->node_type == RDMA_NODE_RNIC;
	xa_unlock(&ep_devs);
	return nr;
}

static bool ep_srcu_enter(struct srcu_struct *srcu, const bool *over, int *idx)
{
	*idx = srcu_read_lock(srcu);
	if (likely(!READ_ONCE(*over))) {
		__release(srcu);	/* for sparse: the exit functions do */
		return true;
	}
	srcu_read_unlock(srcu, *idx);
	return false;
}

/*
 * Begins a section in which dev->ibdev is valid and its objects can be used. Must not wait
 * for users or peers inside. Returns -EIO after the removal of the device.
 */
int ep_dev_enter(struct ep_dev *dev, int *idx)
{
	return ep_srcu_enter(&dev->srcu, &dev->dead, idx) ? 0 : -EIO;
}

void ep_dev_exit(struct ep_dev *dev, int idx)
{
	__acquire(&dev->srcu);
	srcu_read_unlock(&dev->srcu, idx);
}

/*
 * Begins a section in which rdma_cm does not learn of the removal of the device, also
 * while ep_client_remove() runs. Returns false if it may have.
 */
bool ep_dev_enter_cm(struct ep_dev *dev, int *idx)
{
	return ep_srcu_enter(&dev->cm_srcu, &dev->gone, idx);
}

void ep_dev_exit_cm(struct ep_dev *dev, int idx)
{
	__acquire(&dev->cm_srcu);
	srcu_read_unlock(&dev->cm_srcu, idx);
}

/**
 * ep_dev_hold - keep a device from going away without telling us
 * @dev: device
 * @hold: hold, with @owner, @get and @removed set
 *
 * The device can be used outside of ep_dev_enter() until ep_dev_unhold().
 *
 * Return: 0, or -ENODEV if it is going away already
 */
int ep_dev_hold(struct ep_dev *dev, struct ep_hold *hold)
{
	int ret = -ENODEV;

	mutex_lock(&dev->hold_lock);
	if (!dev->dead) {
		kref_get(&dev->ref);
		hold->dev = dev;
		list_add_tail(&hold->entry, &dev->holds);
		ret = 0;
	}
	mutex_unlock(&dev->hold_lock);
	return ret;
}

/* Does nothing if no device is held. */
void ep_dev_unhold(struct ep_hold *hold)
{
	struct ep_dev *dev = hold->dev;

	if (!dev)
		return;
	hold->dev = NULL;
	mutex_lock(&dev->hold_lock);
	list_del(&hold->entry);
	wake_up(&dev->unheld);
	mutex_unlock(&dev->hold_lock);
	ep_dev_put(dev);
}

/* The PD that kernel consumers of the device share. For who holds it. */
struct ib_pd *ep_dev_get_pd(struct ep_dev *dev)
{
	struct ib_pd *pd;

	mutex_lock(&dev->pd_lock);
	pd = dev->kernel_pd;
	if (!pd)
		pd = ib_alloc_pd(dev->ibdev, 0);
	if (!IS_ERR(pd)) {
		dev->kernel_pd = pd;
		dev->kernel_pd_users++;
	}
	mutex_unlock(&dev->pd_lock);
	return pd;
}

void ep_dev_put_pd(struct ep_dev *dev)
{
	mutex_lock(&dev->pd_lock);
	if (!--dev->kernel_pd_users) {
		ib_dealloc_pd(dev->kernel_pd);
		dev->kernel_pd = NULL;
	}
	mutex_unlock(&dev->pd_lock);
}

/**
 * ep_res_init - prepare a hardware object and charge it to the current cgroup
 * @res: object
 * @dev: device, inside ep_dev_enter() or held
 * @class: kind of object
 * @ops: the owner's operations; NULL: a kernel consumer's, not charged
 * @destroy: destroys the hardware object
 *
 * Followed by ep_res_add() once the hardware object exists, or ep_res_abort().
 * Either way the owner calls ep_res_fini() before it frees @res.
 *
 * Return: 0, -EAGAIN or -ENOMEM from the RDMA controller
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

/*
 * To the current cgroup; and back again, once, by whoever has the object to himself or
 * destroys it.
 */
int ep_res_charge(struct ep_res *res)
{
	int ret = 0;

	if (res->ops)
		ret = ep_compat_cg_charge(res->dev->ibdev, &res->cg);
	res->charged = res->ops && !ret;
	return ret;
}

void ep_res_uncharge(struct ep_res *res)
{
	if (res->charged)
		ep_compat_cg_uncharge(res->dev->ibdev, res->cg);
	res->charged = false;
}

/* Undoes the charge of ep_res_init(): there is no hardware object, but an ERR_PTR. */
int ep_res_abort(struct ep_res *res, const void *hw)
{
	ep_res_uncharge(res);
	return PTR_ERR(hw);
}

static struct ep_qp *ep_res_qp(struct ep_res *res)
{
	return res->class == EP_RES_QP ? container_of(res, struct ep_qp, res) : NULL;
}

/* Is it in the device's list? Not any more; dev->lock is held. */
static bool ep_res_unlink(struct ep_res *res)
{
	struct ep_qp *qp = ep_res_qp(res);

	if (list_empty(&res->entry))
		return false;
	list_del_init(&res->entry);
	if (qp)
		hash_del(&qp->by_num);
	return true;
}

/*
 * From here on the object is destroyed with its device, whose list holds a reference to the
 * owner's.
 */
void ep_res_add(struct ep_res *res)
{
	struct ep_qp *qp = ep_res_qp(res);
	struct ep_dev *dev = res->dev;

	if (!res->ops)
		return;
	spin_lock(&dev->lock);
	res->ops->hold(res);
	list_add_tail(&res->entry, &dev->res[res->class]);
	if (qp)
		hash_add(dev->qps, &qp->by_num, qp->qp_num);
	spin_unlock(&dev->lock);
}

static void ep_res_kill(struct ep_res *res)
{
	if (res->ops->killing)
		res->ops->killing(res);
	res->destroy(res);
	ep_res_uncharge(res);
	if (res->ops->gone)
		res->ops->gone(res);
	res->ops->unhold(res);
}

/* Whoever takes it off the list is the one who may do away with it. */
static bool ep_res_claim(struct ep_res *res)
{
	struct ep_dev *dev = res->dev;
	bool claimed;

	spin_lock(&dev->lock);
	claimed = ep_res_unlink(res);
	spin_unlock(&dev->lock);
	return claimed;
}

/*
 * Destroys the hardware object, if it was ever made. Not if the removal of the
 * device has done so or is about to, which leaves alone what a kernel consumer
 * made. Process context.
 */
void ep_res_destroy(struct ep_res *res)
{
	struct ep_dev *dev = res->dev;
	int idx;

	if (!dev)
		return;
	if (!res->ops) {
		res->destroy(res);
		return;
	}
	if (ep_dev_enter(dev, &idx))
		return;
	if (ep_res_claim(res))
		ep_res_kill(res);
	ep_dev_exit(dev, idx);
}

void ep_res_fini(struct ep_res *res)
{
	if (res->dev)
		ep_dev_put(res->dev);
	res->dev = NULL;
}

static struct ep_res *ep_dev_claim_res(struct ep_dev *dev, enum ep_res_class class)
{
	struct ep_res *res;

	spin_lock(&dev->lock);
	res = list_first_entry_or_null(&dev->res[class], struct ep_res, entry);
	if (res)
		ep_res_unlink(res);
	spin_unlock(&dev->lock);
	return res;
}

static void ep_dev_event_handler(struct ib_event_handler *handler, struct ib_event *event)
{
	ep_dev_event(container_of(handler, struct ep_dev, event_handler), event);
}

/* A hold whose owner does not know of the removal yet, with a reference. */
static struct ep_hold *ep_dev_untold(struct ep_dev *dev)
{
	struct ep_hold *hold, *found = NULL;

	mutex_lock(&dev->hold_lock);
	list_for_each_entry(hold, &dev->holds, entry) {
		if (hold->told)
			continue;
		hold->told = true;
		hold->get(hold);
		found = hold;
		break;
	}
	mutex_unlock(&dev->hold_lock);
	return found;
}

/* Tells kernel consumers that the device goes, and waits for them to let go. */
static void ep_dev_release(struct ep_dev *dev)
{
	struct ep_hold *hold;

	while ((hold = ep_dev_untold(dev)))
		hold->removed(hold);

	while (!wait_event_timeout(dev->unheld, list_empty(&dev->holds), EP_HOLD_COMPLAIN)) {
		mutex_lock(&dev->hold_lock);
		hold = list_first_entry_or_null(&dev->holds, struct ep_hold, entry);
		if (hold)
			pr_warn("%s: can not go away before %s destroys its endpoints\n",
				dev->ibdev->name, hold->owner);
		mutex_unlock(&dev->hold_lock);
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
	mutex_init(&dev->hold_lock);
	mutex_init(&dev->pd_lock);
	INIT_LIST_HEAD(&dev->holds);
	init_waitqueue_head(&dev->unheld);
	mutex_init(&dev->xrcd_lock);
	mutex_init(&dev->mcast_lock);
	hash_init(dev->qps);
	hash_init(dev->xrcds);
	dev->ibdev = ibdev;
	dev->driver = ep_driver_of(ibdev);
	dev->ops = ep_driver_ops_of(ibdev);
	rdma_for_each_port(ibdev, port)
		dev->max_msg_sz[port] = ib_query_port(ibdev, port, &attr) ?
					1U << 31 : attr.max_msg_sz;
	/* Drivers add lengths up in 32 bits. */
	dev->max_recv_sz = U32_MAX;
	ret = dev->ops->add ? dev->ops->add(dev) : 0;
	if (ret)
		goto err_cm_srcu;
	ib_set_client_data(ibdev, &ep_client, dev);

	ret = xa_alloc_cyclic(&ep_devs, &dev->index, dev, xa_limit_31b,
			      &ep_dev_next_index, GFP_KERNEL);
	if (ret < 0)
		goto err_driver;
	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, ep_dev_event_handler);
	ib_register_event_handler(&dev->event_handler);
	return 0;

err_driver:
	if (dev->ops->remove)
		dev->ops->remove(dev);
err_cm_srcu:
	cleanup_srcu_struct(&dev->cm_srcu);
err_srcu:
	cleanup_srcu_struct(&dev->srcu);
err_free:
	kfree(dev);
	return ret;
}

/*
 * The device goes away now, whether or not users let go of it: wait for calls in
 * flight, then destroy what there is, users of objects first. Kernel consumers are
 * to do that themselves.
 */
static void ep_client_remove(struct ib_device *ibdev, void *data)
{
	struct ep_dev *dev = data;
	struct ep_res *res;
	struct ib_event event = {
		.device = ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
	};
	int class;

	ib_unregister_event_handler(&dev->event_handler);
	xa_erase(&ep_devs, dev->index);
	mutex_lock(&dev->hold_lock);
	WRITE_ONCE(dev->dead, true);
	mutex_unlock(&dev->hold_lock);
	synchronize_srcu(&dev->srcu);
	if (dev->ops->stop_all)
		dev->ops->stop_all(dev);

	for (class = 0; class < EP_RES_NR; class++)
		while ((res = ep_dev_claim_res(dev, class)))
			ep_res_kill(res);

	ep_dev_event(dev, &event);
	ep_dev_release(dev);
	if (dev->ops->remove)
		dev->ops->remove(dev);

	/* rdma_cm is told after us, who were there later. */
	WRITE_ONCE(dev->gone, true);
	synchronize_srcu(&dev->cm_srcu);
	ep_dev_put(dev);
}

static struct ib_client ep_client = {
	.name = KBUILD_MODNAME,
	.add = ep_client_add,
	.remove = ep_client_remove,
};

/* @event: called for device and port events, in process context */
int ep_dev_init(void (*event)(struct ep_dev *dev, struct ib_event *event))
{
	ep_dev_event = event;
	return ib_register_client(&ep_client);
}

void ep_dev_cleanup(void)
{
	ib_unregister_client(&ep_client);
}
