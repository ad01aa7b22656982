// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communication ids: lifetime, events, address and route resolution.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm_ib.h>

#include "../compat.h"
#include "engine.h"
#include "trace.h"

/*
 * Destroys ids whose device has been removed. Not WQ_MEM_RECLAIM: destroying an
 * id flushes queues of the CM that are not.
 */
static struct workqueue_struct *ep_id_wq;
struct workqueue_struct *ep_wq;

/*
 * rdma_cm drops first the device and then its GID. In between, a removal that waited for
 * the last id frees the table of the GID. So the device is held until both are dropped.
 * (CMA-04)
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
 * cma_process_remove() calls ep_id_handler(), and then, without a lock, cancels a pending
 * query for a route. It follows the id's device, which rdma_destroy_id() clears (6.1 to
 * 7.2). So such an id is destroyed before rdma_cm removes the device, or when it has
 * cancelled the query: it does not sleep between the handler and that.
 */
static void ep_id_destroy_routing(struct ep_id *id)
{
	struct ep_dev *dev = id->route_dev;
	int idx;

	if (ep_dev_enter_cm(dev, &idx)) {
		ep_id_destroy_cm_id(id->cm_id);
		ep_dev_exit_cm(dev, idx);
		return;
	}
	wait_event(id->route_wait, !READ_ONCE(id->routing) || READ_ONCE(id->removed));
	/* The handler, which may sleep, is over, */
	rdma_lock_handler(id->cm_id);
	rdma_unlock_handler(id->cm_id);
	/* and so is what its caller did next. */
	synchronize_rcu_tasks();
	ep_id_destroy_cm_id(id->cm_id);
}

/* The peer's response is not answered any more. With the handler locked. */
static void ep_id_drop_response(struct ep_id *id)
{
	kfree(id->response);
	id->response = NULL;
}

/* Handlers may still use id->cm_id until rdma_destroy_id() returns. */
static void ep_id_close(struct ep_id *id)
{
	bool closed;

	mutex_lock(&id->lock);
	closed = id->closed;
	id->closed = true;
	mutex_unlock(&id->lock);
	if (closed)
		return;
	trace_rdma_ep_id_destroy(id, NULL, 0);

	/* From here on handlers leave nothing to later_work. */
	rdma_lock_handler(id->cm_id);
	id->no_later = true;
	ep_id_drop_response(id);
	rdma_unlock_handler(id->cm_id);
	cancel_work_sync(&id->later_work);
	ep_id_drop_mcasts(id);
	if (READ_ONCE(id->routing))
		ep_id_destroy_routing(id);
	else
		ep_id_destroy_cm_id(id->cm_id);
}

static void ep_id_close_work(struct work_struct *work)
{
	ep_id_close(container_of(work, struct ep_id, close_work));
}

/* Traced first: the owner may act on it at once. With the handler locked. */
static void ep_id_report(struct ep_id *id, const struct rdma_cm_event *event)
{
	trace_rdma_ep_cm_event(id, id->cm_id, event, 0);
	id->ops->event(id, event);
}

/* Does ep_id_resolve() wait for this event? The owner does not get it then. */
static bool ep_id_sync_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	if (!READ_ONCE(id->sync))
		return false;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		id->status = event->status;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		id->status = -ENODEV;
		break;
	default:
		return false;
	}
	complete(&id->done);
	return true;
}

/*
 * The peer has confirmed a connection, or it never will. Returns true if the owner does not
 * get this event, as ep_id_notify() has announced ESTABLISHED to it.
 */
static bool ep_id_confirmed(struct ep_id *id, const struct rdma_cm_event *event)
{
	static const struct rdma_cm_event over = {
		.event = RDMA_CM_EVENT_DISCONNECTED,
	};
	bool announced = id->announced;

	id->unconfirmed = false;
	id->announced = false;
	if (!announced)
		return false;
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id->leaving)
			rdma_disconnect(id->cm_id);
		return true;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		ep_id_report(id, &over);
		return true;
	default:
		return false;
	}
}

/* @ret: what ep_id_conn_response() has returned. With the handler locked. */
static void ep_id_responded(struct ep_id *id, const struct rdma_cm_event *event, int ret)
{
	/* The rest of the event is the same. */
	struct rdma_cm_event changed = *event;

	if (ret > 0) {
		id->responded = true;
	} else {
		changed.event = ret ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED;
		changed.status = ret;
		id->failed = ret;
	}
	ep_id_report(id, &changed);
}

/*
 * rdma_cm's handlers share few work items. So they wait for no lock that a user may hold,
 * and leave the work to an item of the id, which may wait. With the handler locked.
 */
static void ep_id_later(struct ep_id *id)
{
	if (!id->no_later)
		queue_work(ep_wq, &id->later_work);
}

/* The peer has accepted, but the QP is locked. With the handler locked. */
static int ep_id_respond_later(struct ep_id *id, const struct rdma_cm_event *event)
{
	u8 len = event->param.conn.private_data_len;
	struct ep_response *r;

	if (id->no_later)
		return 0;
	r = kzalloc(struct_size(r, private_data, len), GFP_KERNEL_ACCOUNT);
	if (!r)
		return -ENOMEM;
	r->event = *event;
	if (len) {
		memcpy(r->private_data, event->param.conn.private_data, len);
		r->event.param.conn.private_data = r->private_data;
	}
	kfree(id->response);
	id->response = r;
	ep_id_later(id);
	return 0;
}

/* The connection has failed. With the handler locked. */
static void ep_id_fail_qp(struct ep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(id);

	if (!qp)
		return;
	/* (Changes of an XRC target wait for those of others in its domain.) */
	if (qp->xrcd) {
		WRITE_ONCE(id->fail_qp, 1);
		ep_id_later(id);
	} else {
		ep_qp_error(qp);
	}
	id->ops->put_qp(qp);
}

static void ep_id_response(struct ep_id *id, const struct rdma_cm_event *event)
{
	int ret = ep_id_conn_response(id);

	if (ret == -EBUSY) {
		ret = ep_id_respond_later(id, event);
		if (!ret)
			return;
		rdma_reject(id->cm_id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		ep_id_fail_qp(id);
	}
	ep_id_responded(id, event, ret);
}

/* Returns whether it has to be tried again. */
static bool ep_id_respond(struct ep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(id);
	struct ep_response *r;
	int ret = 0;

	/* Wait for the task that has locked the QP. */
	if (qp) {
		mutex_lock(&qp->lock);
		ep_qp_unlock(qp);
		id->ops->put_qp(qp);
	}
	rdma_lock_handler(id->cm_id);
	r = id->response;
	if (r)
		ret = ep_id_conn_response(id);
	if (r && ret != -EBUSY) {
		id->response = NULL;
		ep_id_responded(id, &r->event, ret);
		kfree(r);
	}
	rdma_unlock_handler(id->cm_id);
	return ret == -EBUSY;
}

static void ep_id_later_work(struct work_struct *work)
{
	struct ep_id *id = container_of(work, struct ep_id, later_work);
	struct ep_qp *qp;
	bool again;

	qp = xchg(&id->fail_qp, 0) ? ep_id_get_qp(id) : NULL;
	if (qp) {
		ep_qp_error(qp);
		id->ops->put_qp(qp);
	}
	again = READ_ONCE(id->response) && ep_id_respond(id);
	if (ep_id_attach_later(id) || again)
		queue_work(ep_wq, &id->later_work);
}

/* InfiniBand's ports are in no network namespace; other ports may be losing theirs. */
static bool ep_port_in_net(struct ib_device *ibdev, u32 port, const struct net *net)
{
	struct net_device *ndev = ep_compat_port_netdev(ibdev, port);
	bool ret = ndev ? net_eq(dev_net(ndev), net) : rdma_protocol_ib(ibdev, port);

	dev_put(ndev);
	return ret;
}

/*
 * Did an iWARP request come in through another device, or interface, than that of the new
 * id? rdma_cm looks for the address, but some drivers listen by the number of an interface.
 * The request would be accepted with whatever QP of that device has the QP's number.
 * (IWCM-03)
 */
static bool ep_id_misplaced(struct rdma_cm_id *cm_id)
{
	struct ib_device *ibdev = cm_id->device;

	if (!rdma_protocol_iwarp(ibdev, cm_id->port_num))
		return false;
	return rdma_iw_cm_id(cm_id)->device != ibdev ||
	       (ep_dev_has(ibdev, EP_CAP_LISTEN_ANY_NET) &&
		!ep_port_in_net(ibdev, cm_id->port_num, cm_id->route.addr.dev_addr.net));
}

static int ep_id_request(struct ep_id *id, struct rdma_cm_id *cm_id,
			 const struct rdma_cm_event *event)
{
	struct rdma_dev_addr *addr = &cm_id->route.addr.dev_addr;
	int ret = ep_id_misplaced(cm_id) ? -ENODEV : -ENOMEM;

	/* Below 0 when one that could not be delivered came back. */
	if (ret == -ENOMEM && atomic_dec_if_positive(&id->backlog) >= 0) {
		ret = id->ops->request(id, cm_id, event);
		if (ret)
			atomic_inc(&id->backlog);
	}
	/* rdma_cm destroys @cm_id right after this: see ep_id_destroy_cm_id(). */
	if (ret && addr->sgid_attr) {
		rdma_put_gid_attr(addr->sgid_attr);
		addr->sgid_attr = NULL;
	}
	trace_rdma_ep_cm_event(id, cm_id, event, ret);
	return ret;
}

/*
 * rdma_cm's event handler, with the handler mutex held. Always returns 0 except for a
 * connection request that is refused: rdma_cm would destroy the id.
 */
static int ep_id_handler(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	const struct ep_driver_ops *drv = ep_driver_ops_of(cm_id->device);
	struct ep_id *id = cm_id->context;

	if (drv->fix_event)
		drv->fix_event(event);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
		WRITE_ONCE(id->resolving, false);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return ep_id_request(id, cm_id, event);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		ep_id_response(id, event);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		if (ep_id_confirmed(id, event))
			return 0;
		break;
	case RDMA_CM_EVENT_REJECTED:
		ep_id_fail_qp(id);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
		ep_id_drop_response(id);
		ep_id_confirmed(id, event);
		/* The owner has had a CONNECT_ERROR instead. */
		if (id->failed)
			return 0;
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		if (ep_id_mcast_event(id, event))
			ep_id_later(id);
		return 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		WRITE_ONCE(id->routing, false);
		wake_up_all(&id->route_wait);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ep_id_drop_response(id);
		WRITE_ONCE(id->removed, true);
		wake_up_all(&id->route_wait);
		queue_work(ep_id_wq, &id->close_work);
		break;
	default:
		break;
	}
	trace_rdma_ep_cm_event(id, cm_id, event, 0);
	if (!ep_id_sync_event(id, event))
		id->ops->event(id, event);
	return 0;
}

void ep_id_init(struct ep_id *id, const struct ep_id_ops *ops)
{
	id->ops = ops;
	mutex_init(&id->lock);
	spin_lock_init(&id->link_lock);
	INIT_LIST_HEAD(&id->mcasts);
	INIT_LIST_HEAD(&id->joined);
	INIT_WORK(&id->later_work, ep_id_later_work);
	INIT_WORK(&id->close_work, ep_id_close_work);
	init_waitqueue_head(&id->route_wait);
	init_completion(&id->done);
	id->closed = true;
	atomic_set(&id->backlog, 0);
}

static int ep_id_open(struct ep_id *id, struct rdma_cm_id *cm_id)
{
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	id->cm_id = cm_id;
	id->closed = false;
	id->opened = true;
	trace_rdma_ep_id_create(id, NULL, 0);
	return 0;
}

/* The id belongs to the network namespace and the process of the caller. */
int ep_id_create(struct ep_id *id, enum rdma_ucm_port_space ps, enum ib_qp_type qp_type)
{
	return ep_id_open(id, rdma_create_user_id(ep_id_handler, id, ps, qp_type));
}

/* The id belongs to the module @caller. */
int ep_id_create_kernel(struct ep_id *id, struct net *net, enum rdma_ucm_port_space ps,
			enum ib_qp_type qp_type, const char *caller)
{
	return ep_id_open(id, __rdma_create_kernel_id(net, ep_id_handler, id, ps, qp_type, caller));
}

/* Takes over the new id of a connection request, in ep_id_ops.request. */
void ep_id_adopt(struct ep_id *id, struct rdma_cm_id *cm_id)
{
	ep_id_open(id, cm_id);
	id->begun = true;
	id->request = true;
	cm_id->context = id;
}

/* On return no handler runs and none will. Called once, not in an event handler. */
void ep_id_destroy(struct ep_id *id)
{
	/* A request that was refused: we may be in its handler. */
	if (!id->opened)
		return;
	ep_id_close(id);
	/* If the device was removed, the work may be the one to destroy it. */
	cancel_work_sync(&id->close_work);
	if (id->route_dev)
		ep_dev_put(id->route_dev);
	id->route_dev = NULL;
	if (id->qp)
		id->ops->put_qp(id->qp);
	id->qp = NULL;
}

/*
 * Waits for the running call, which may be a handshake at the peer's pace. @ending: the
 * caller has claimed the id and is about to destroy it: no other call begins. -EINTR if the
 * task is killed.
 */
int ep_id_settle(struct ep_id *id, bool ending)
{
	int ret = mutex_lock_killable(&id->lock);

	if (ret)
		return ret;
	id->ending |= ending;
	mutex_unlock(&id->lock);
	return 0;
}

/* Is it the address of an interface? */
static bool ep_addr_of_netdev(const struct sockaddr_storage *addr)
{
	const struct in6_addr *in6;
	__be32 in;

	switch (addr->ss_family) {
	case AF_INET:
		in = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
		return !ipv4_is_zeronet(in) && !ipv4_is_loopback(in);
	case AF_INET6:
		in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;
		return !ipv6_addr_any(in6) && !ipv6_addr_loopback(in6);
	default:
		return false;
	}
}

/*
 * For a loopback address rdma_cm takes the first device, and gives the id such an address as
 * well; it searches AF_IB's GIDs on all devices, and on 6.1 the link address of the interface
 * on those of iWARP. Each may find a device of another network namespace.
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

/*
 * Begins a section in which id->cm_id can be used. -EIO if it has been destroyed, -ENODEV if
 * its device is not for its namespace, -ERESTARTSYS for a signal.
 */
int ep_id_begin(struct ep_id *id)
{
	int ret;

	/* A driver may connect with the lock held, at the peer's pace. */
	if (id->ops->wait_state == TASK_KILLABLE ?
	    mutex_lock_killable(&id->lock) : mutex_lock_interruptible(&id->lock))
		return -ERESTARTSYS;
	ret = id->closed || id->ending ? -EIO : ep_id_may_use_dev(id) ? 0 : -ENODEV;
	if (ret)
		mutex_unlock(&id->lock);
	return ret;
}

/* The same for an id that is bound to a device: -EINVAL if it is not. */
int ep_id_begin_bound(struct ep_id *id)
{
	int ret = ep_id_begin(id);

	if (ret)
		return ret;
	/* (It may have got one just now.) */
	ret = !id->cm_id->device ? -EINVAL : ep_id_may_use_dev(id) ? 0 : -ENODEV;
	if (ret)
		ep_id_end(id);
	return ret;
}

void ep_id_end(struct ep_id *id)
{
	mutex_unlock(&id->lock);
}

/* The id's device with a reference. Between ep_id_begin() and ep_id_end(), in handlers */
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

/*
 * Called between ep_id_begin() and ep_id_end(). Without @src rdma_cm sets the interface to
 * that of @dst before it checks the id's state. But it finds an id that has a route by its
 * interface, to remove it from a table before it is freed: so @src is always given. The
 * handler mutex keeps away a removal, which must not report itself while the id is bound.
 * (CMA-06)
 */
int ep_id_resolve_addr(struct ep_id *id, struct sockaddr *src,
		       const struct sockaddr *dst, u32 timeout_ms)
{
	struct rdma_addr *addr = &id->cm_id->route.addr;
	int ret = -EINVAL;

	/*
	 * rdma_cm leaves a group on the id's interface of that time. Resolving may take
	 * an id with an IPv6 address to another one; for IPv4 it stays.
	 */
	if (READ_ONCE(id->resolving) ||
	    (!list_empty(&id->mcasts) && addr->src_addr.ss_family == AF_INET6))
		goto out;
	/*
	 * The last request may still have to return from the handler. rdma_cm waits for
	 * that, but not with the handler locked.
	 */
	rdma_addr_cancel(&addr->dev_addr);
	if (!src && id->cm_id->device)
		src = (struct sockaddr *)&addr->src_addr;
	rdma_lock_handler(id->cm_id);
	ret = rdma_resolve_addr(id->cm_id, src, dst, timeout_ms);
	if (!ret)
		id->resolving = true;
	rdma_unlock_handler(id->cm_id);
out:
	trace_rdma_ep_resolve_addr(id, NULL, ret);
	return ret;
}

/*
 * Without a GID an id on RoCE (of an AF_IB address, or a loopback one) has no interface and
 * can have no route, unless a failed bind has left it one. It would not be found in that
 * table, and its messages would use any device that has the path's GID.
 */
static bool ep_id_has_gid(const struct ep_id *id)
{
	return id->cm_id->route.addr.dev_addr.sgid_attr;
}

static bool ep_id_may_route(const struct ep_id *id)
{
	const struct rdma_cm_id *cm_id = id->cm_id;

	return !rdma_protocol_roce(cm_id->device, cm_id->port_num) || ep_id_has_gid(id);
}

/*
 * Called between ep_id_begin_bound() and ep_id_end(). Returns -EIO if the device is
 * going away, or what rdma_cm reports.
 */
int ep_id_resolve_route(struct ep_id *id, u32 timeout_ms)
{
	int ret;

	rdma_lock_handler(id->cm_id);
	if (!id->route_dev)
		id->route_dev = ep_id_dev(id);
	ret = !id->route_dev ? -EIO :
	      !ep_id_may_route(id) ? -ENODEV : rdma_resolve_route(id->cm_id, timeout_ms);
	if (!ret)
		id->routing = true;
	rdma_unlock_handler(id->cm_id);
	trace_rdma_ep_resolve_route(id, NULL, ret);
	return ret;
}

/*
 * Sets the route, without a query. Called between ep_id_begin_bound() and ep_id_end().
 * rdma_cm leaks the path of a query that failed, and finds the device by the path if the id
 * has no GID: the path's must be its own then.
 */
int ep_id_set_path(struct ep_id *id, struct sa_path_rec *path)
{
	struct rdma_cm_id *cm_id = id->cm_id;
	union ib_gid gid;

	if (cm_id->route.path_rec)
		return -EINVAL;
	if (!ep_id_may_route(id))
		return -ENODEV;
	if (rdma_cap_ib_cm(cm_id->device, cm_id->port_num) && !ep_id_has_gid(id)) {
		rdma_read_gids(cm_id, &gid, NULL);
		if (memcmp(&path->sgid, &gid, sizeof(gid)))
			return -EINVAL;
	}
	return rdma_set_ib_path(cm_id, path);
}

/* Ends a step of ep_id_resolve(), and waits for its event unless it has failed. */
static int ep_id_sync_end(struct ep_id *id, int ret)
{
	ep_id_end(id);
	return ret ?: wait_for_completion_state(&id->done, id->ops->wait_state) ?: id->status;
}

/**
 * ep_id_resolve - resolve address and route, and wait for both
 * @id: a new id
 * @src: source address or NULL
 * @dst: destination
 * @addr_timeout_ms: limit for the address
 * @route_timeout_ms: limit for the route
 *
 * After a failure or a signal the id is only good for ep_id_destroy().
 *
 * Return: 0, -ERESTARTSYS, or what rdma_cm reports
 */
int ep_id_resolve(struct ep_id *id, struct sockaddr *src, const struct sockaddr *dst,
		  u32 addr_timeout_ms, u32 route_timeout_ms)
{
	int ret;

	WRITE_ONCE(id->sync, true);
	ret = ep_id_begin(id);
	if (ret)
		return ret;
	ret = ep_id_sync_end(id, ep_id_resolve_addr(id, src, dst, addr_timeout_ms));
	if (ret)
		return ret;
	reinit_completion(&id->done);
	ret = ep_id_begin_bound(id);
	if (ret)
		return ret;
	ret = ep_id_sync_end(id, ep_id_resolve_route(id, route_timeout_ms));
	if (ret)
		return ret;

	/* A removal in the meantime has been swallowed, later ones are not. */
	ret = ep_id_begin(id);
	if (ret)
		return ret;
	rdma_lock_handler(id->cm_id);
	WRITE_ONCE(id->sync, false);
	ret = id->status;
	rdma_unlock_handler(id->cm_id);
	ep_id_end(id);
	return ret;
}

int ep_id_init_engine(void)
{
	ep_id_wq = alloc_workqueue("rdma_ep_id", WQ_UNBOUND, 0);
	if (!ep_id_wq)
		return -ENOMEM;
	ep_wq = alloc_workqueue("rdma_ep", WQ_UNBOUND, 0);
	if (ep_wq)
		return 0;
	destroy_workqueue(ep_id_wq);
	return -ENOMEM;
}

void ep_id_cleanup_engine(void)
{
	destroy_workqueue(ep_id_wq);
	destroy_workqueue(ep_wq);
}
