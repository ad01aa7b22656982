// SPDX-License-Identifier: GPL-2.0-only
/* Communication ids: creation, destruction, and sections in which they can be used. */
#include <net/ipv6.h>

#include "engine.h"
#include "trace.h"

/*
 * rdma_cm drops first the device and then its GID. In between, a removal that waited for the
 * last id frees the table of the GID, so the device is held until both are dropped. (CMA-04)
 */
static void ep_id_destroy_cm_id(struct rdma_cm_id *cm_id)
{
	const struct ep_driver_ops *drv;
	struct iw_cm_id *iw = NULL;
	struct ib_device *ibdev;

	/* Nothing else binds it to a device now. */
	rdma_addr_cancel(&cm_id->route.addr.dev_addr);
	ibdev = cm_id->device;
	drv = ep_driver_ops_of(ibdev);
	if (ibdev && !ib_device_try_get(ibdev))
		ibdev = NULL;
	if (drv->before_destroy_id)
		iw = drv->before_destroy_id(cm_id);
	rdma_destroy_id(cm_id);
	if (iw)
		drv->after_destroy_id(iw);
	if (ibdev)
		ib_device_put(ibdev);
}

/*
 * cma_process_remove() calls ep_id_handler(), and then, without a lock, cancels a pending query
 * for a route. It follows the id's device, which rdma_destroy_id() clears (6.1 to 7.2, no fix).
 * So such an id is destroyed before rdma_cm removes the device, or after it has cancelled the
 * query: it does not sleep between the handler and that.
 */
static void ep_id_destroy_routing(struct ep_id *id)
{
	struct ep_dev *dev = id->route_dev;
	int idx = srcu_read_lock(&dev->cm_srcu);
	bool removed = READ_ONCE(dev->removed);

	/* ep_client_remove() waits for the section, and rdma_cm removes the device later. */
	if (!removed)
		ep_id_destroy_cm_id(id->cm_id);
	srcu_read_unlock(&dev->cm_srcu, idx);
	if (!removed)
		return;
	wait_event(id->route_wait, !READ_ONCE(id->routing) || READ_ONCE(id->removed));
	/* The handler, which may sleep, returns, */
	rdma_lock_handler(id->cm_id);
	rdma_unlock_handler(id->cm_id);
	/* and cma_process_remove() cancels the query. */
	synchronize_rcu_tasks();
	ep_id_destroy_cm_id(id->cm_id);
}

/*
 * Handlers may use id->cm_id until rdma_destroy_id() returns. False: another task has closed the
 * id, or does so
 */
static bool ep_id_close(struct ep_id *id)
{
	bool closed;

	mutex_lock(&id->lock);
	closed = id->closed;
	id->closed = true;
	mutex_unlock(&id->lock);
	if (closed)
		return false;
	trace_rdma_ep_id_destroy(id, NULL, 0);

	/* From here on handlers do not queue the work. */
	scoped_guard(ep_id_handler, id->cm_id) {
		id->no_work = true;
		ep_id_drop_response(id);
	}
	cancel_work_sync(&id->work);
	ep_id_drop_joined(id);
	if (READ_ONCE(id->routing))
		ep_id_destroy_routing(id);
	else
		ep_id_destroy_cm_id(id->cm_id);
	return true;
}

static void ep_id_close_work(struct work_struct *work)
{
	ep_id_close(container_of(work, struct ep_id, close_work));
}

void ep_id_init(struct ep_id *id, const struct ep_id_ops *ops)
{
	id->ops = ops;
	mutex_init(&id->lock);
	spin_lock_init(&id->link_lock);
	INIT_LIST_HEAD(&id->mcasts);
	INIT_LIST_HEAD(&id->joined);
	INIT_WORK(&id->work, ep_id_work);
	INIT_WORK(&id->close_work, ep_id_close_work);
	init_waitqueue_head(&id->route_wait);
	init_completion(&id->done);
	id->closed = true;
	atomic_set(&id->backlog, 0);
}

/* @cm_id: a new one with ep_id_handler(), or an ERR_PTR, whose error is returned */
int ep_id_open(struct ep_id *id, struct rdma_cm_id *cm_id)
{
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	id->cm_id = cm_id;
	id->closed = false;
	trace_rdma_ep_id_create(id, NULL, 0);
	return 0;
}

/* Takes over the new id of a connection request, in ep_id_ops.request. */
void ep_id_adopt(struct ep_id *id, struct rdma_cm_id *cm_id)
{
	ep_id_open(id, cm_id);
	id->has_conn = true;
	id->request = true;
	cm_id->context = id;
}

/*
 * Moves the request of @from to @to, which has none, and which no other task has found. Called
 * between ep_id_begin() and ep_id_end() of @from, on which later calls fail with -EIO. -EINVAL: it
 * is no request that waits for an answer; -EBUSY: it has a QP; -EIO: its device is being removed
 */
int ep_id_move(struct ep_id *from, struct ep_id *to)
{
	/* Handlers find the id in cm_id->context, under this lock. */
	guard(ep_id_handler)(from->cm_id);
	if (!from->request)
		return -EINVAL;
	if (from->removed)
		return -EIO;
	if (from->qp)
		return -EBUSY;
	ep_id_adopt(to, from->cm_id);
	from->closed = true;
	return 0;
}

/* Undoes ep_id_move(), unless the device is being removed: then the request ends with @from. */
void ep_id_move_back(struct ep_id *from, struct ep_id *to)
{
	mutex_lock(&from->lock);
	mutex_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	if (!from->closed)
		ep_id_move(from, to);
	mutex_unlock(&to->lock);
	mutex_unlock(&from->lock);
}

/* On return no handler runs and none will. Called once, not in an event handler. */
void ep_id_destroy(struct ep_id *id)
{
	/* The id of a refused request: the caller may run in its handler. */
	if (!id->cm_id)
		return;
	/* If the request has been moved, ep_id_close() does not wait for the item. */
	if (!ep_id_close(id))
		cancel_work_sync(&id->work);
	/* After a removal of the device ep_id_close_work() may be destroying it. */
	if (id->removed)
		cancel_work_sync(&id->close_work);
	ep_dev_put(id->route_dev);
	id->route_dev = NULL;
	/* ep_id_get_qp() of a task that reads an event may run here. */
	ep_id_set_qp(id, NULL);
}

/*
 * Waits for the running call, which may be a handshake at the peer's pace. @destroying: the caller
 * has claimed the id and destroys it next: no other call begins. -EINTR if the task is killed
 */
int ep_id_wait(struct ep_id *id, bool destroying)
{
	int ret = mutex_lock_killable(&id->lock);

	if (ret)
		return ret;
	id->destroying |= destroying;
	mutex_unlock(&id->lock);
	return 0;
}

/* Is it the address of an interface? */
static bool ep_addr_of_netdev(const struct sockaddr_storage *addr)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	__be32 in = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

	switch (addr->ss_family) {
	case AF_INET:
		return !ipv4_is_zeronet(in) && !ipv4_is_loopback(in);
	case AF_INET6:
		return !ipv6_addr_any(in6) && !ipv6_addr_loopback(in6);
	default:
		return false;
	}
}

/*
 * For a loopback address rdma_cm takes the first device, and gives the id such an address as
 * well. It searches all devices for AF_IB's GIDs, and on 6.1 those of iWARP for the link address
 * of the interface. Each may find a device of another network namespace.
 */
static bool ep_id_may_use_dev(const struct ep_id *id)
{
	const struct rdma_addr *addr = &id->cm_id->route.addr;
	struct ib_device *ibdev = READ_ONCE(id->cm_id->device);
	u32 port = id->cm_id->port_num;

	if (!ibdev)
		return true;
	if (!rdma_dev_access_netns(ibdev, addr->dev_addr.net))
		return false;
	if (ep_addr_of_netdev(&addr->src_addr) && !rdma_protocol_iwarp(ibdev, port))
		return true;
	return ep_port_in_net(ibdev, port, addr->dev_addr.net);
}

static int ep_id_begin_with(struct ep_id *id, bool bound)
{
	/* A driver may connect with the lock held, at the peer's pace. */
	int ret = mutex_lock_killable(&id->lock);

	if (ret)
		return ret;
	if (id->closed || id->destroying)
		ret = -EIO;
	/* First, as it may be bound meanwhile */
	else if (bound && !READ_ONCE(id->cm_id->device))
		ret = -EINVAL;
	else if (!ep_id_may_use_dev(id))
		ret = -ENODEV;
	if (ret)
		mutex_unlock(&id->lock);
	return ret;
}

/*
 * Begins a section in which id->cm_id can be used. -EIO if it has been destroyed, -ENODEV if its
 * device is not for its namespace, -EINTR if the task is killed: rdma_ucm's calls do not fail for
 * other signals.
 */
int ep_id_begin(struct ep_id *id)
{
	return ep_id_begin_with(id, false);
}

/* As ep_id_begin(), for an id that is bound to a device: -EINVAL if it is not */
int ep_id_begin_bound(struct ep_id *id)
{
	return ep_id_begin_with(id, true);
}

void ep_id_end(struct ep_id *id)
{
	mutex_unlock(&id->lock);
}

/* The id's device with a reference. Between ep_id_begin() and ep_id_end(), and in handlers */
struct ep_dev *ep_id_dev(struct ep_id *id)
{
	struct ib_device *ibdev = id->cm_id->device;

	return ibdev && ep_id_may_use_dev(id) ? ep_dev_of(ibdev) : NULL;
}

/* @backlog: requests that may wait for the owner. Between ep_id_begin() and ep_id_end() */
int ep_id_listen(struct ep_id *id, int backlog)
{
	int ret;

	/* Before the first request; a second listen fails and changes nothing. */
	if (!id->listening)
		atomic_set(&id->backlog, backlog);
	ret = rdma_listen(id->cm_id, backlog);
	if (!ret)
		id->listening = true;
	trace_rdma_ep_listen(id, NULL, ret);
	return ret;
}
