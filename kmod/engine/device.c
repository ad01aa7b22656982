// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA devices as they come and go, and the hardware objects on them.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "engine.h"

/* Devices by our index; an entry holds a reference until the removal. */
static DEFINE_XARRAY_ALLOC1(ep_devs);
static u32 ep_dev_next_index;
static void (*ep_dev_event)(struct ep_dev *dev, struct ib_event *event);

static void ep_dev_free(struct kref *ref)
{
	struct ep_dev *dev = container_of(ref, struct ep_dev, ref);

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

/*
 * Begins a section in which dev->ibdev is there and its objects can be used.
 * Must not wait for users or peers inside. Returns -EIO if the device is gone.
 */
int ep_dev_enter(struct ep_dev *dev, int *idx)
{
	*idx = srcu_read_lock(&dev->srcu);
	if (likely(!READ_ONCE(dev->dead))) {
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

/**
 * ep_res_init - prepare a hardware object and charge it to the current cgroup
 * @res: object
 * @dev: device, inside ep_dev_enter()
 * @class: kind of object
 * @ops: the owner's operations
 * @destroy: destroys the hardware object
 *
 * Followed by ep_res_add() once the hardware object exists, or ep_res_abort().
 * Either way the owner calls ep_res_fini() before it frees @res.
 *
 * Return: 0, -EAGAIN or -ENOMEM from the RDMA controller
 */
int ep_res_init(struct ep_res *res, struct ep_dev *dev, enum ep_res_class class,
		const struct ep_res_ops *ops,
		void (*destroy)(struct ep_res *res))
{
	int ret;

	ret = ep_compat_cg_charge(dev->ibdev, &res->cg);
	if (ret)
		return ret;
	kref_get(&dev->ref);
	res->dev = dev;
	res->class = class;
	res->ops = ops;
	res->destroy = destroy;
	INIT_LIST_HEAD(&res->entry);
	return 0;
}

/* Undoes the charge of ep_res_init() when there is no hardware object. */
void ep_res_abort(struct ep_res *res)
{
	ep_compat_cg_uncharge(res->dev->ibdev, res->cg);
}

/*
 * From here on the object is destroyed with its device. The caller has given
 * the list a reference to the owner's object.
 */
void ep_res_add(struct ep_res *res)
{
	struct ep_dev *dev = res->dev;

	spin_lock(&dev->lock);
	list_add_tail(&res->entry, &dev->res[res->class]);
	spin_unlock(&dev->lock);
}

static void ep_res_kill(struct ep_res *res)
{
	if (res->ops->killing)
		res->ops->killing(res);
	res->destroy(res);
	ep_compat_cg_uncharge(res->dev->ibdev, res->cg);
	res->ops->put(res);
}

/*
 * Destroys the hardware object, if it was ever made, unless the removal of the
 * device has done so or is about to. Process context.
 */
void ep_res_destroy(struct ep_res *res)
{
	struct ep_dev *dev = res->dev;
	bool claimed;
	int idx;

	if (!dev || ep_dev_enter(dev, &idx))
		return;
	spin_lock(&dev->lock);
	claimed = !list_empty(&res->entry);
	list_del_init(&res->entry);
	spin_unlock(&dev->lock);
	if (claimed)
		ep_res_kill(res);
	ep_dev_exit(dev, idx);
}

void ep_res_fini(struct ep_res *res)
{
	if (res->dev)
		ep_dev_put(res->dev);
	res->dev = NULL;
}

static struct ep_res *ep_dev_claim_res(struct ep_dev *dev,
				       enum ep_res_class class)
{
	struct ep_res *res;

	spin_lock(&dev->lock);
	res = list_first_entry_or_null(&dev->res[class], struct ep_res, entry);
	if (res)
		list_del_init(&res->entry);
	spin_unlock(&dev->lock);
	return res;
}

static void ep_dev_event_handler(struct ib_event_handler *handler,
				 struct ib_event *event)
{
	ep_dev_event(container_of(handler, struct ep_dev, event_handler),
		     event);
}

static int ep_client_add(struct ib_device *ibdev);
static void ep_client_remove(struct ib_device *ibdev, void *data);

static struct ib_client ep_client = {
	.name = KBUILD_MODNAME,
	.add = ep_client_add,
	.remove = ep_client_remove,
};

static int ep_client_add(struct ib_device *ibdev)
{
	struct ib_port_attr attr;
	struct ep_dev *dev;
	u32 port;
	int ret, i;

	dev = kzalloc(struct_size(dev, max_msg_sz, ibdev->phys_port_cnt + 1),
		      GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	ret = init_srcu_struct(&dev->srcu);
	if (ret)
		goto err_free;
	kref_init(&dev->ref);
	spin_lock_init(&dev->lock);
	for (i = 0; i < EP_RES_NR; i++)
		INIT_LIST_HEAD(&dev->res[i]);
	dev->ibdev = ibdev;
	rdma_for_each_port(ibdev, port)
		dev->max_msg_sz[port] = ib_query_port(ibdev, port, &attr) ?
					1U << 31 : attr.max_msg_sz;
	ib_set_client_data(ibdev, &ep_client, dev);

	ret = xa_alloc_cyclic(&ep_devs, &dev->index, dev, xa_limit_31b,
			      &ep_dev_next_index, GFP_KERNEL);
	if (ret < 0)
		goto err_srcu;
	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, ep_dev_event_handler);
	ib_register_event_handler(&dev->event_handler);
	return 0;

err_srcu:
	cleanup_srcu_struct(&dev->srcu);
err_free:
	kfree(dev);
	return ret;
}

/*
 * The device goes away now, whether or not anybody lets go of it: wait for
 * calls in flight, then destroy what there is, users of objects first.
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
	WRITE_ONCE(dev->dead, true);
	synchronize_srcu(&dev->srcu);

	for (class = 0; class < EP_RES_NR; class++)
		while ((res = ep_dev_claim_res(dev, class)))
			ep_res_kill(res);

	ep_dev_event(dev, &event);
	ep_dev_put(dev);
}

/* @event: told of device and port events, in process context */
int ep_dev_init(void (*event)(struct ep_dev *dev, struct ib_event *event))
{
	ep_dev_event = event;
	return ib_register_client(&ep_client);
}

void ep_dev_cleanup(void)
{
	ib_unregister_client(&ep_client);
}
