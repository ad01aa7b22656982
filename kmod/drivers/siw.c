// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of iWARP, and what rdma_cm and iw_cm take for granted of them.
 *
 * A peer of siw may ask that the first message is his (MPA v2, peer to peer). siw waits for it
 * then: it has accepted the connection, and says nothing of it. If the connection ends
 * before, iw_cm is told of an end without a beginning, which is a BUG() there. Until
 * there is one or the other, whoever disconnects or destroys the id waits, killed or not.
 *
 * So what siw says goes through us, and a beginning is put in where there is none: at the
 * end of the connection, or of the id.
 */
#include <linux/rcupdate.h>
#include <rdma/iw_cm.h>

#include "../compat.h"
#include "../engine/engine.h"

/* What fits into an MPA frame besides siw's own four bytes */
#define EP_SIW_MAX_PRIVATE_DATA	252

/* iw_cm's own, which is the same for every id. */
static iw_event_handler ep_iw_handler;
/* Order of what is passed on; which of our handlers an id has. */
static DEFINE_SPINLOCK(ep_iw_lock);

/* After the beginning: another one would be a BUG() as well. */
static int ep_iw_begun(struct iw_cm_id *iw, struct iw_cm_event *event)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&ep_iw_lock, flags);
	if (event->event != IW_CM_EVENT_ESTABLISHED)
		ret = ep_iw_handler(iw, event);
	spin_unlock_irqrestore(&ep_iw_lock, flags);
	return ret;
}

static int ep_iw_accepted(struct iw_cm_id *iw, struct iw_cm_event *event);

/* @said: what siw says, if anything. Does nothing if there is a beginning. */
static void ep_iw_begin(struct iw_cm_id *iw, const struct iw_cm_event *said)
{
	struct iw_cm_event first = { .event = IW_CM_EVENT_ESTABLISHED };
	unsigned long flags;

	if (said && said->event == IW_CM_EVENT_ESTABLISHED)
		first = *said;
	spin_lock_irqsave(&ep_iw_lock, flags);
	if (iw->event_handler == ep_iw_accepted) {
		WRITE_ONCE(iw->event_handler, ep_iw_begun);
		ep_iw_handler(iw, &first);
	}
	spin_unlock_irqrestore(&ep_iw_lock, flags);
}

/* Before the beginning. Any context, like iw_cm's. */
static int ep_iw_accepted(struct iw_cm_id *iw, struct iw_cm_event *event)
{
	ep_iw_begin(iw, event);
	return ep_iw_begun(iw, event);
}

/* siw's iw_cm id behind the id, if there is one. */
static struct iw_cm_id *ep_iw_of(struct rdma_cm_id *cm_id)
{
	return cm_id->device && ep_is_siw(cm_id->device) ?
	       rdma_iw_cm_id(cm_id) : NULL;
}

/* siw counts the bytes of its messages in eight bits, its own four among them. */
u8 ep_iw_max_private(const struct rdma_cm_id *cm_id)
{
	return ep_is_siw(cm_id->device) ? U8_MAX - 4 : U8_MAX;
}

/*
 * A request came in through a device, or an interface, that is not the one of the new
 * id: siw listens by the number of an interface, and rdma_cm looks for the address. It
 * would be accepted with whatever QP there has the number of the one that we mean.
 */
bool ep_iw_misplaced(struct rdma_cm_id *cm_id)
{
	struct net_device *ndev;
	bool ret;

	if (!rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
		return false;
	if (rdma_iw_cm_id(cm_id)->device != cm_id->device)
		return true;
	if (!ep_is_siw(cm_id->device))
		return false;
	ndev = ep_compat_port_netdev(cm_id->device, cm_id->port_num);
	ret = !ndev || !net_eq(dev_net(ndev), cm_id->route.addr.dev_addr.net);
	dev_put(ndev);
	return ret;
}

/*
 * siw's client believes the length that the answer says. A short one it makes up to be
 * huge, and reads what is behind its buffer; a failed one may have come in parts.
 */
void ep_iw_check_data(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_REJECTED:
		if (event->param.conn.private_data_len <= EP_SIW_MAX_PRIVATE_DATA)
			return;
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		break;
	default:
		return;
	}
	if (ep_iw_of(cm_id))
		event->param.conn.private_data_len = 0;
}

/* Called before rdma_accept(). */
void ep_iw_accept(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = ep_iw_of(cm_id);

	if (!iw)
		return;
	WRITE_ONCE(ep_iw_handler, iw->event_handler);
	WRITE_ONCE(iw->event_handler, ep_iw_accepted);
}

/* It has failed: siw has nothing to say. */
void ep_iw_accept_failed(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = ep_iw_of(cm_id);

	if (iw)
		WRITE_ONCE(iw->event_handler, ep_iw_handler);
}

/* Called before rdma_disconnect(), without the handler's lock. */
void ep_iw_disconnect(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = ep_iw_of(cm_id);

	if (iw)
		ep_iw_begin(iw, NULL);
}

/*
 * Called before rdma_destroy_id(), followed by ep_iw_destroyed() with what it returns.
 * siw may have the iw_cm id for longer than rdma_cm.
 */
struct iw_cm_id *ep_iw_destroy(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = ep_iw_of(cm_id);

	if (!iw || (READ_ONCE(iw->event_handler) != ep_iw_accepted &&
		    READ_ONCE(iw->event_handler) != ep_iw_begun))
		return NULL;
	iw->add_ref(iw);
	ep_iw_begin(iw, NULL);
	return iw;
}

/* Nothing that is said now is listened to. */
void ep_iw_destroyed(struct iw_cm_id *iw)
{
	if (!iw)
		return;
	WRITE_ONCE(iw->event_handler, ep_iw_handler);
	iw->rem_ref(iw);
}

/* There are no ids, but siw may still have to return from our code: of any context. */
void ep_iw_cleanup(void)
{
	if (!ep_iw_handler)
		return;
	synchronize_rcu_tasks();
	synchronize_rcu();
}
