// SPDX-License-Identifier: GPL-2.0-only
/* Resolution of addresses and routes. */
#include <linux/slab.h>
#include <rdma/rdma_cm_ib.h>

#include "engine.h"
#include "trace.h"

/*
 * Called between ep_id_begin() and ep_id_end(). Without @src rdma_cm sets the interface to that
 * of @dst before it checks the id's state. But an id that has a route is in a table by its
 * interface, from which it is removed before it is freed: so @src is always given. The handler
 * mutex excludes a removal, which must not be reported while the id is being bound. (CMA-06)
 */
int ep_id_resolve_addr(struct ep_id *id, struct sockaddr *src, const struct sockaddr *dst,
		       u32 timeout_ms)
{
	struct rdma_addr *addr = &id->cm_id->route.addr;
	int ret = -EINVAL;

	/*
	 * rdma_cm leaves a group on the interface that the id has by then. Resolving may move
	 * an id with an IPv6 address to another one; with IPv4 it stays.
	 */
	if (READ_ONCE(id->resolving) ||
	    (!list_empty(&id->mcasts) && addr->src_addr.ss_family == AF_INET6))
		goto out;
	/*
	 * The last request's callback may still run. rdma_resolve_addr() waits for it, but
	 * must not do so with the handler locked.
	 */
	rdma_addr_cancel(&addr->dev_addr);
	if (!src && id->cm_id->device)
		src = (struct sockaddr *)&addr->src_addr;
	scoped_guard(ep_id_handler, id->cm_id) {
		ret = rdma_resolve_addr(id->cm_id, src, dst, timeout_ms);
		id->resolving |= !ret;
	}
out:
	trace_rdma_ep_resolve_addr(id, NULL, ret);
	return ret;
}

/*
 * On RoCE an id without a GID (of an AF_IB address, or a loopback one) has no interface, or
 * that of a failed bind. It would not be found in the table by interface, and its messages
 * would use any device that has the path's GID. So it can have no route.
 */
static bool ep_id_has_gid(const struct ep_id *id)
{
	return id->cm_id->route.addr.dev_addr.sgid_attr;
}

static bool ep_id_is_routable(const struct ep_id *id)
{
	return !rdma_protocol_roce(id->cm_id->device, id->cm_id->port_num) || ep_id_has_gid(id);
}

/* With the handler locked. As ep_id_resolve_route() */
static int ep_id_begin_route(struct ep_id *id, u32 timeout_ms)
{
	int ret;

	if (!id->route_dev)
		id->route_dev = ep_id_dev(id);
	ret = !id->route_dev ? -EIO :
	      !ep_id_is_routable(id) ? -ENODEV : rdma_resolve_route(id->cm_id, timeout_ms);
	if (!ret)
		id->routing = true;
	trace_rdma_ep_resolve_route(id, NULL, ret);
	return ret;
}

/*
 * Called between ep_id_begin_bound() and ep_id_end(). Returns -EIO if the device is being
 * removed, or an error of rdma_cm.
 */
int ep_id_resolve_route(struct ep_id *id, u32 timeout_ms)
{
	guard(ep_id_handler)(id->cm_id);
	return ep_id_begin_route(id, timeout_ms);
}

/*
 * Sets the route without a query. Called between ep_id_begin_bound() and ep_id_end(). rdma_cm
 * leaks the path of a query that failed. It finds the device by the path if the id has no GID:
 * the path's must be the id's then.
 */
int ep_id_set_path(struct ep_id *id, struct sa_path_rec *path)
{
	struct rdma_cm_id *cm_id = id->cm_id;
	union ib_gid gid;

	if (cm_id->route.path_rec)
		return -EINVAL;
	if (!ep_id_is_routable(id))
		return -ENODEV;
	if (rdma_cap_ib_cm(cm_id->device, cm_id->port_num) && !ep_id_has_gid(id)) {
		rdma_read_gids(cm_id, &gid, NULL);
		if (memcmp(&path->sgid, &gid, sizeof(gid)))
			return -EINVAL;
	}
	return rdma_set_ib_path(cm_id, path);
}

/*
 * Resolves the route of an iWARP id at once. Such a route has no path: rdma_resolve_route() only
 * changes the id's state, in a work item that the caller would have to wait for. So does setting a
 * path, which is dropped again. As ep_id_resolve_route(), but without an event: the trace gets
 * one, as the trace of a route consists of two
 */
static int ep_id_skip_route(struct ep_id *id)
{
	static const struct rdma_cm_event resolved = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };
	struct rdma_route *route = &id->cm_id->route;
	struct sa_path_rec none = {};
	int ret;

	guard(ep_id_handler)(id->cm_id);
	ret = id->removed ? -EIO :
	      !id->route_timeout_ms ? -EINVAL : rdma_set_ib_path(id->cm_id, &none);
	trace_rdma_ep_resolve_route(id, NULL, ret);
	if (ret)
		return ret;
	kfree(route->path_rec);
	route->path_rec = NULL;
	route->num_pri_alt_paths = 0;
	trace_rdma_ep_cm_event(id, id->cm_id, &resolved, 0);
	return 0;
}

/*
 * The address is known: begins to resolve the route, which saves the task a wakeup and a wait.
 * False: it is left to the task, as an error is, or the id is being destroyed
 */
static bool ep_id_route_next(struct ep_id *id)
{
	if (id->no_work || rdma_protocol_iwarp(id->cm_id->device, id->cm_id->port_num) ||
	    (id->ops->may_route && !id->ops->may_route_unasked(id)))
		return false;
	id->routed = !ep_id_begin_route(id, id->route_timeout_ms);
	return id->routed;
}

/* ep_id.sync: the owner does not get the events that ep_id_resolve() waits for. */
static bool ep_id_sync_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (ep_id_route_next(id))
			return true;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		break;
	default:
		return false;
	}
	id->status = event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ? -ENODEV : event->status;
	complete(&id->done);
	return true;
}

/* Ends a step of ep_id_resolve(), and waits for its event unless the step has failed. */
static int ep_id_sync_end(struct ep_id *id, int ret)
{
	ep_id_end(id);
	return ret ?: wait_for_completion_state(&id->done, id->ops->wait_state) ?: id->status;
}

/* The second step of ep_id_resolve(), unless ep_id_route_next() has begun it */
static int ep_id_sync_route(struct ep_id *id)
{
	int ret;

	reinit_completion(&id->done);
	ret = ep_id_begin_bound(id);
	if (ret)
		return ret;
	if (id->ops->may_route)
		ret = id->ops->may_route(id);
	if (!rdma_protocol_iwarp(id->cm_id->device, id->cm_id->port_num))
		return ep_id_sync_end(id, ret ?: ep_id_resolve_route(id, id->route_timeout_ms));
	ret = ret ?: ep_id_skip_route(id);
	ep_id_end(id);
	return ret;
}

/*
 * Resolves address and route of a new id, and waits for both. Returns -ERESTARTSYS for a signal,
 * or an error of rdma_cm; after a failure only ep_id_destroy() may follow.
 */
int ep_id_resolve(struct ep_id *id, struct sockaddr *src, const struct sockaddr *dst,
		  u32 addr_timeout_ms, u32 route_timeout_ms)
{
	int ret;

	id->route_timeout_ms = route_timeout_ms;
	WRITE_ONCE(id->sync, ep_id_sync_event);
	ret = ep_id_begin(id);
	if (ret)
		return ret;
	ret = ep_id_sync_end(id, ep_id_resolve_addr(id, src, dst, addr_timeout_ms));
	if (!ret && !id->routed)
		ret = ep_id_sync_route(id);
	if (ret)
		return ret;

	/* A removal in the meantime is in id->status; later ones are reported to the owner. */
	ret = ep_id_begin(id);
	if (ret)
		return ret;
	scoped_guard(ep_id_handler, id->cm_id) {
		WRITE_ONCE(id->sync, NULL);
		ret = id->status;
	}
	ep_id_end(id);
	return ret;
}
