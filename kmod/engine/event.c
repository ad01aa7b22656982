// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of communication ids: rdma_cm's handler, and the id's work item for everything that
 * would make a handler wait.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/iw_cm.h>

#include "../compat.h"
#include "engine.h"
#include "trace.h"

/*
 * Destroys ids whose device has been removed. Not WQ_MEM_RECLAIM: destroying an id flushes
 * queues of the CM that are not. WQ_MAX_ACTIVE, here and for ep_wq: an item calls the driver of its
 * id, and those that wait for one device delay no others. (EP-01)
 */
static struct workqueue_struct *ep_id_wq;
struct workqueue_struct *ep_wq;

/* A peer's answer that is to be confirmed. event's private data is here */
struct ep_response {
	struct rdma_cm_event event;
	u8 private_data[];
};

/* The peer's response is not answered any more. With the handler locked. */
void ep_id_drop_response(struct ep_id *id)
{
	kfree(id->response);
	id->response = NULL;
}

/* With the handler locked. The owner may act on the event at once, so the trace is first. */
static void ep_id_report(struct ep_id *id, const struct rdma_cm_event *event)
{
	bool (*sync)(struct ep_id *id, const struct rdma_cm_event *event) = READ_ONCE(id->sync);

	trace_rdma_ep_cm_event(id, id->cm_id, event, 0);
	if (!sync || !sync(id, event))
		id->ops->event(id, event);
}

/*
 * The peer has confirmed a connection, or it never will. Returns true if the owner does not get
 * this event, as it has got an ESTABLISHED after ep_id_notify().
 */
static bool ep_id_confirmed(struct ep_id *id, const struct rdma_cm_event *event)
{
	static const struct rdma_cm_event over = { .event = RDMA_CM_EVENT_DISCONNECTED };
	bool announced = id->announced;

	id->unconfirmed = false;
	id->announced = false;
	if (!announced)
		return false;
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id->disconnecting)
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

/* @ret: result of ep_id_conn_response(). With the handler locked. */
static void ep_id_responded(struct ep_id *id, const struct rdma_cm_event *event, int ret)
{
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

/* With the handler locked. ep_id_close() sets no_work. */
static void ep_id_queue_work(struct ep_id *id)
{
	if (!id->no_work)
		queue_work(ep_wq, &id->work);
}

/*
 * The peer has accepted, but the QP is locked. With the handler locked. Reclaim may
 * need a kernel consumer that waits for this connection, hence GFP_NOIO.
 */
static int ep_id_defer_response(struct ep_id *id, const struct rdma_cm_event *event)
{
	u8 len = event->param.conn.private_data_len;
	struct ep_response *r;

	if (id->no_work)
		return 0;
	r = kzalloc(struct_size(r, private_data, len), GFP_NOIO | __GFP_ACCOUNT);
	if (!r)
		return -ENOMEM;
	r->event = *event;
	if (len) {
		memcpy(r->private_data, event->param.conn.private_data, len);
		r->event.param.conn.private_data = r->private_data;
	}
	ep_id_drop_response(id);
	id->response = r;
	ep_id_queue_work(id);
	return 0;
}

/* The connection has failed. With the handler locked. */
static void ep_id_fail_qp(struct ep_id *id, int error)
{
	struct ep_qp *qp = ep_id_get_qp(id);

	ep_id_failing(id, error);
	if (!qp)
		return;
	/* A change of an XRC target waits for those of other users in its domain. */
	if (qp->xrcd) {
		WRITE_ONCE(id->fail_qp, 1);
		ep_id_queue_work(id);
	} else {
		ep_qp_error(qp);
	}
	ep_id_put_qp(id, qp);
}

static void ep_id_response(struct ep_id *id, const struct rdma_cm_event *event)
{
	int ret = ep_id_conn_response(id);

	if (ret == -EBUSY) {
		ret = ep_id_defer_response(id, event);
		if (!ret)
			return;
		rdma_reject(id->cm_id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		ep_id_fail_qp(id, ret);
	}
	ep_id_responded(id, event, ret);
}

/* Returns whether it has to be tried again. */
static bool ep_id_respond(struct ep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(id);
	struct ep_response *r;
	int ret = 0;

	/* Waits for the task that has locked the QP. */
	if (qp) {
		mutex_lock(&qp->lock);
		ep_qp_unlock(qp);
		ep_id_put_qp(id, qp);
	}
	rdma_lock_handler(id->cm_id);
	r = id->response;
	if (r)
		ret = ep_id_conn_response(id);
	if (r && ret != -EBUSY) {
		ep_id_responded(id, &r->event, ret);
		ep_id_drop_response(id);
	}
	rdma_unlock_handler(id->cm_id);
	return ret == -EBUSY;
}

void ep_id_work(struct work_struct *work)
{
	struct ep_id *id = container_of(work, struct ep_id, work);
	struct ep_qp *qp = xchg(&id->fail_qp, 0) ? ep_id_get_qp(id) : NULL;
	bool again;

	if (qp) {
		ep_qp_error(qp);
		ep_id_put_qp(id, qp);
	}
	again = READ_ONCE(id->response) && ep_id_respond(id);
	if (ep_id_attach_joined(id) || again)
		queue_work(ep_wq, &id->work);
}

/* See ep_qp.conn_state. With the handler locked. */
static void ep_id_qp_moved(struct ep_id *id, bool established)
{
	u32 num = READ_ONCE(id->conn_qpn);
	struct ep_qp *qp;
	struct ep_dev *dev;

	if (!rdma_protocol_iwarp(id->cm_id->device, id->cm_id->port_num))
		return;
	dev = ep_dev_of(id->cm_id->device);
	if (!dev)
		return;
	spin_lock(&dev->lock);
	hash_for_each_possible(dev->qps, qp, by_num, num) {
		if (qp->qp_num != num || !READ_ONCE(qp->cm_used))
			continue;
		if (established)
			WRITE_ONCE(qp->conn_state, IB_QPS_RTS);
		/* Otherwise it is a later QP of the number. */
		else if (qp->conn_state == IB_QPS_RTS)
			WRITE_ONCE(qp->conn_state, IB_QPS_ERR);
	}
	spin_unlock(&dev->lock);
	ep_dev_put(dev);
}

/* InfiniBand's ports are in no network namespace; other ports may be losing theirs. */
bool ep_port_in_net(struct ib_device *ibdev, u32 port, const struct net *net)
{
	struct net_device *ndev = ep_compat_port_netdev(ibdev, port);
	bool ret = ndev ? net_eq(dev_net(ndev), net) : rdma_protocol_ib(ibdev, port);

	dev_put(ndev);
	return ret;
}

/*
 * Did an iWARP request arrive through another device, or interface, than that of the new id?
 * rdma_cm looks for the address, but some drivers listen by the number of an interface. The
 * request would be accepted with any QP of that device that has the QP's number. (IWCM-03)
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

/*
 * rdma_cm calls the peer unreachable, too, when the hardware address of a neighbour with its
 * IP address changes, also in another namespace. Any user can cause that. The connection is
 * as good as before.
 */
bool ep_id_of_neighbour(const struct ep_id *id, const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_UNREACHABLE &&
	       current_work() == &id->cm_id->net_work;
}

static int ep_id_request(struct ep_id *id, struct rdma_cm_id *cm_id,
			 const struct rdma_cm_event *event)
{
	struct rdma_dev_addr *addr = &cm_id->route.addr.dev_addr;
	int ret = -ENOMEM;

	/* Below 0 when a request that could not be delivered came back. */
	if (ep_id_misplaced(cm_id)) {
		ret = -ENODEV;
	} else if (atomic_dec_if_positive(&id->backlog) >= 0) {
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
 * rdma_cm's event handler, with the handler mutex held. Returns 0 except for a connection
 * request that is refused: rdma_cm would destroy the id.
 */
int ep_id_handler(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
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
		ep_id_qp_moved(id, true);
		fallthrough;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		if (ep_id_confirmed(id, event))
			return 0;
		break;
	case RDMA_CM_EVENT_REJECTED:
		ep_id_fail_qp(id, -ECONNREFUSED);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
		ep_id_qp_moved(id, false);
		ep_id_drop_response(id);
		ep_id_confirmed(id, event);
		/* The owner has had a CONNECT_ERROR instead. */
		if (id->failed)
			return 0;
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		if (ep_id_mcast_event(id, event))
			ep_id_queue_work(id);
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
	ep_id_report(id, event);
	return 0;
}

int ep_id_init_engine(void)
{
	ep_id_wq = alloc_workqueue("rdma_ep_id", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!ep_id_wq)
		return -ENOMEM;
	ep_wq = alloc_workqueue("rdma_ep", WQ_UNBOUND, WQ_MAX_ACTIVE);
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
