/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events of ids, those of programs and those of kernel consumers. Together with those of
 * sessions (chardev/trace.h) they are the system "rdma_ep". docs/admin/tracing.md is their
 * manual. Fields stay as they are, others may be added, but no pointers, nor values of users
 * (cookies, private data).
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_ep

#if !defined(RDMA_EP_ENGINE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMA_EP_ENGINE_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <rdma/ib_cm.h>
#include <trace/misc/rdma.h>

#include "engine.h"

void ep_trace_addr(u8 *dst, const struct sockaddr_storage *ss);
void ep_trace_dev(char *dst, const struct rdma_cm_id *cm_id);

/*
 * Common fields:
 *
 * @session: number of the id's session in rdma-ep(1); 0: a kernel consumer's
 * @id: its handle in the session; kernel consumers': a number never used again
 * @src: its address, a struct sockaddr_in or sockaddr_in6; 0.0.0.0:0 if it has none yet; the
 *	GID of an AF_IB address
 * @dst: the peer's, the same
 * @dev: the device that it is bound to, or "-"
 */
#define EP_TRACE_ID							\
	__field(u64, session)						\
	__field(u32, id)						\
	__array(u8, src, sizeof(struct sockaddr_in6))			\
	__array(u8, dst, sizeof(struct sockaddr_in6))			\
	__array(char, dev, IB_DEVICE_NAME_MAX)

#define EP_TRACE_ASSIGN_ID(_id, _cm_id)					\
	do {								\
		__entry->session = (_id)->owner;			\
		__entry->id = (_id)->number;				\
		ep_trace_addr(__entry->src,				\
			      &(_cm_id)->route.addr.src_addr);		\
		ep_trace_addr(__entry->dst,				\
			      &(_cm_id)->route.addr.dst_addr);		\
		ep_trace_dev(__entry->dev, _cm_id);			\
	} while (0)

/*
 * A step in the life of an id and its result, written afterwards: events that the CM reports of
 * it may precede it. Between ep_id_begin() and ep_id_end(), or while no other task has the id
 *
 * @qp_num: connect, accept: QP in the message to the peer; disconnect: QP of the id; otherwise,
 *	and if there is none, 0
 * @ret: 0, or an errno below 0
 */
DECLARE_EVENT_CLASS(rdma_ep_id,
	TP_PROTO(const struct ep_id *id, const struct ep_qp *qp, int ret),
	TP_ARGS(id, qp, ret),
	TP_STRUCT__entry(
		EP_TRACE_ID
		__field(u32, qp_num)
		__field(int, ret)
	),
	TP_fast_assign(
		EP_TRACE_ASSIGN_ID(id, id->cm_id);
		__entry->qp_num = qp ? qp->qp_num : 0;
		__entry->ret = ret;
	),
	TP_printk("session=%llu id=%u src=%pISpc dst=%pISpc dev=%s qp=%u ret=%d",
		  __entry->session, __entry->id, __entry->src, __entry->dst,
		  __entry->dev, __entry->qp_num, __entry->ret)
);

#define EP_TRACE_STEP(name)						\
	DEFINE_EVENT(rdma_ep_id, rdma_ep_##name,			\
		TP_PROTO(const struct ep_id *id, const struct ep_qp *qp, \
			 int ret),					\
		TP_ARGS(id, qp, ret))

/* The id of a connection request has its addresses already. */
EP_TRACE_STEP(id_create);
/* Its owner destroys it, or its device has been removed. */
EP_TRACE_STEP(id_destroy);
EP_TRACE_STEP(bind_addr);
EP_TRACE_STEP(resolve_addr);
EP_TRACE_STEP(resolve_route);
EP_TRACE_STEP(listen);
EP_TRACE_STEP(connect);
EP_TRACE_STEP(accept);
EP_TRACE_STEP(reject);
EP_TRACE_STEP(disconnect);
/* The owner has brought up its QP, and completes the connection. */
EP_TRACE_STEP(establish);

/*
 * An event of rdma_cm, as the id's owner gets it, or the command that waits for it. A
 * connection request has the listener's id, and the addresses of the new one.
 *
 * @event: enum rdma_cm_event_type
 * @status: 0, an errno below 0, or the transport's reason above 0
 * @ret: 0; of a refused request an errno. -ENOMEM: no memory, a quota, or more than the backlog;
 *	IB repeats it
 */
TRACE_EVENT(rdma_ep_cm_event,
	TP_PROTO(const struct ep_id *id, const struct rdma_cm_id *cm_id,
		 const struct rdma_cm_event *event, int ret),
	TP_ARGS(id, cm_id, event, ret),
	TP_STRUCT__entry(
		EP_TRACE_ID
		__field(u32, event)
		__field(int, status)
		__field(int, ret)
	),
	TP_fast_assign(
		EP_TRACE_ASSIGN_ID(id, cm_id);
		__entry->event = event->event;
		__entry->status = event->status;
		__entry->ret = ret;
	),
	TP_printk("session=%llu id=%u event=%s status=%d src=%pISpc dst=%pISpc dev=%s ret=%d",
		  __entry->session, __entry->id,
		  rdma_show_cm_event(__entry->event), __entry->status,
		  __entry->src, __entry->dst, __entry->dev, __entry->ret)
);

#endif /* RDMA_EP_ENGINE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH kmod/engine
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
