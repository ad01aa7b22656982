// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of siw, and its connections.
 *
 * A peer may request to send the first message (MPA v2, peer to peer). siw accepts such a
 * connection and reports nothing until the message arrives. If the connection ends before that,
 * iw_cm BUG()s: it sees CLOSE before ESTABLISHED. Until one of them arrives rdma_disconnect()
 * and rdma_destroy_id() wait, uninterruptibly. (IWCM-02)
 *
 * So siw's events of an accepted connection pass through this file, which inserts a missing
 * ESTABLISHED at the end of the connection, or of the id.
 *
 * The sources of Linux 6.1, 6.12 and 7.2 all behave so: no quirk has a fix in 7.2.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "drivers.h"

/* Room in an MPA frame besides siw's own four bytes */
#define EP_SIW_MAX_PRIVATE_DATA	252

/* iw_cm's own handler, the same for every id */
static iw_event_handler ep_siw_iw_handler;
/*
 * Orders the events that are passed on; protects the choice of handler of an iw_cm id. Any
 * context; inside siw's locks, outside iw_cm's.
 */
static DEFINE_SPINLOCK(ep_siw_lock);

/* After ESTABLISHED: iw_cm BUG()s if it sees another one. */
static int ep_siw_established(struct iw_cm_id *iw, struct iw_cm_event *event)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&ep_siw_lock, flags);
	if (event->event != IW_CM_EVENT_ESTABLISHED)
		ret = ep_siw_iw_handler(iw, event);
	spin_unlock_irqrestore(&ep_siw_lock, flags);
	return ret;
}

static int ep_siw_accepted(struct iw_cm_id *iw, struct iw_cm_event *event);

/* @event: siw's, or NULL. Does nothing after ESTABLISHED. */
static void ep_siw_establish(struct iw_cm_id *iw, const struct iw_cm_event *event)
{
	struct iw_cm_event first = { .event = IW_CM_EVENT_ESTABLISHED };
	unsigned long flags;

	if (event && event->event == IW_CM_EVENT_ESTABLISHED)
		first = *event;
	spin_lock_irqsave(&ep_siw_lock, flags);
	if (iw->event_handler == ep_siw_accepted) {
		WRITE_ONCE(iw->event_handler, ep_siw_established);
		ep_siw_iw_handler(iw, &first);
	}
	spin_unlock_irqrestore(&ep_siw_lock, flags);
}

/* Before ESTABLISHED. Any context, like iw_cm's */
static int ep_siw_accepted(struct iw_cm_id *iw, struct iw_cm_event *event)
{
	ep_siw_establish(iw, event);
	return ep_siw_established(iw, event);
}

static void ep_siw_before_accept(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = rdma_iw_cm_id(cm_id);

	if (!iw)
		return;
	WRITE_ONCE(ep_siw_iw_handler, iw->event_handler);
	WRITE_ONCE(iw->event_handler, ep_siw_accepted);
}

/* siw reports nothing after a failed accept. */
static void ep_siw_accept_failed(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = rdma_iw_cm_id(cm_id);

	if (iw)
		WRITE_ONCE(iw->event_handler, ep_siw_iw_handler);
}

static void ep_siw_before_disconnect(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = rdma_iw_cm_id(cm_id);

	if (iw)
		ep_siw_establish(iw, NULL);
}

/* siw may keep the iw_cm id for longer than rdma_cm. */
static struct iw_cm_id *ep_siw_before_destroy_id(struct rdma_cm_id *cm_id)
{
	struct iw_cm_id *iw = rdma_iw_cm_id(cm_id);

	if (!iw || (READ_ONCE(iw->event_handler) != ep_siw_accepted &&
		    READ_ONCE(iw->event_handler) != ep_siw_established))
		return NULL;
	iw->add_ref(iw);
	ep_siw_establish(iw, NULL);
	return iw;
}

/* iw_cm ignores events after rdma_destroy_id(). */
static void ep_siw_after_destroy_id(struct iw_cm_id *iw)
{
	WRITE_ONCE(iw->event_handler, ep_siw_iw_handler);
	iw->rem_ref(iw);
}

/*
 * siw's client trusts the length in the peer's answer. It computes a huge length from a short
 * answer and reads beyond its buffer; a failed answer may be incomplete. (SIW-03)
 */
static void ep_siw_fix_event(struct rdma_cm_event *event)
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
	event->param.conn.private_data_len = 0;
}

/*
 * siw reports longer messages, but adds lengths in an int. The length of an almost full receive
 * with the next packet must not wrap to 0: siw would continue beyond the last entry. (SIW-19)
 */
static int ep_siw_add(struct ep_dev *dev)
{
	dev->max_msg_sz[1] = min_t(u32, dev->max_msg_sz[1], INT_MAX);
	dev->max_recv_sz = INT_MAX;
	return 0;
}

/* siw allocates for all pages before it pins one. (6.1 and 6.12 also count them in an int.) */
static u64 ep_siw_max_mr_pages(void)
{
	return totalram_pages();
}

/*
 * siw reports each of the two limits of READs for the other. Before Linux 6.8 it reports no state,
 * which reads as RESET; later it never reports RESET.
 */
static void ep_siw_after_query(const struct ep_qp *qp, struct ib_qp_attr *attr)
{
	swap(attr->max_rd_atomic, attr->max_dest_rd_atomic);
	if (attr->qp_state == IB_QPS_RESET)
		attr->qp_state = max(qp->state, READ_ONCE(qp->conn_state));
}

#define EP_SIW_SHORT	32	/* siw's MAX_HDR_INLINE */

/*
 * siw copies the data of such a short message of one entry next to its header. Where the data
 * crosses into the next page, it copies the memory after the first page instead. (SIW-16)
 */
static bool ep_siw_miscopies(u64 addr, u64 len)
{
	return len <= EP_SIW_SHORT && offset_in_page(addr) + len > PAGE_SIZE;
}

/* An entry for each page: siw sends two entries by other code. */
static void ep_siw_split(struct ib_send_wr *wr, struct ib_sge *sge)
{
	u32 len = PAGE_SIZE - offset_in_page(wr->sg_list->addr);

	sge[0] = *wr->sg_list;
	sge[1] = *wr->sg_list;
	sge[0].length = len;
	sge[1].addr += len;
	sge[1].length -= len;
	wr->sg_list = sge;
	wr->num_sge = 2;
}

/* Have READs been agreed on? ep_qp.driver_data[0] caches that they have. */
static int ep_siw_check_reads(struct ep_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret;

	if (READ_ONCE(qp->driver_data[0]))
		return 0;
	ret = ep_qp_query(qp, &attr, IB_QP_MAX_QP_RD_ATOMIC, &init);
	if (ret)
		return ret;
	if (!attr.max_rd_atomic)
		return -EINVAL;
	WRITE_ONCE(qp->driver_data[0], true);
	return 0;
}

/*
 * siw queues some requests and then neither sends nor completes them, nor any after them: a READ
 * behind a fence, or where no READs were agreed on; inline data next to a key. (SIW-21)
 */
static int ep_siw_prepare_send(struct ep_qp *qp, struct ib_send_wr *wr,
			       u32 flags, struct ib_sge *spare)
{
	if (wr->opcode == IB_WR_RDMA_READ) {
		/* The peer is likely to be siw as well, and would miscopy. */
		if ((flags & IB_SEND_FENCE) ||
		    ep_siw_miscopies(rdma_wr(wr)->remote_addr, wr->sg_list->length))
			return -EINVAL;
		return ep_siw_check_reads(qp);
	}
	if (flags & IB_SEND_INLINE)
		return wr->opcode == IB_WR_SEND_WITH_INV ? -EINVAL : 0;
	if (wr->num_sge == 1 && ep_siw_miscopies(wr->sg_list->addr, wr->sg_list->length))
		ep_siw_split(wr, spare);
	return 0;
}

const struct ep_driver_ops ep_siw_ops = {
	.add = ep_siw_add,
	.max_mr_pages = ep_siw_max_mr_pages,
	.after_query = ep_siw_after_query,
	.prepare_send = ep_siw_prepare_send,
	.fix_event = ep_siw_fix_event,
	.before_accept = ep_siw_before_accept,
	.accept_failed = ep_siw_accept_failed,
	.before_disconnect = ep_siw_before_disconnect,
	.before_destroy_id = ep_siw_before_destroy_id,
	.after_destroy_id = ep_siw_after_destroy_id,
};

/* siw may still be executing code of this file, in any context. */
void ep_siw_exit(void)
{
	if (!ep_siw_iw_handler)
		return;
	synchronize_rcu_tasks();
	synchronize_rcu();
}
