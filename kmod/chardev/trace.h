/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events of sessions: posts, completions, failed commands. Those of ids are in
 * engine/trace.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_ep

#if !defined(RDMA_EP_CHARDEV_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMA_EP_CHARDEV_TRACE_H

#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <rdma/ib_cm.h>
#include <trace/misc/rdma.h>

struct rdma_ep_cmd_post;
struct rdma_ep_wc;
struct uep_cq;
struct uep_obj;
struct uep_session;

/* Opcode of receives; those of sends are an enum ib_wr_opcode. */
#define UEP_TRACE_RECV	IB_WC_RECV

#define UEP_TRACE_OPCODES						\
	uep_trace_op(IB_WR_RDMA_WRITE, RDMA_WRITE)			\
	uep_trace_op(IB_WR_RDMA_WRITE_WITH_IMM, RDMA_WRITE_WITH_IMM)	\
	uep_trace_op(IB_WR_SEND, SEND)					\
	uep_trace_op(IB_WR_SEND_WITH_IMM, SEND_WITH_IMM)		\
	uep_trace_op(IB_WR_RDMA_READ, RDMA_READ)			\
	uep_trace_op(IB_WR_ATOMIC_CMP_AND_SWP, ATOMIC_CMP_AND_SWP)	\
	uep_trace_op(IB_WR_ATOMIC_FETCH_AND_ADD, ATOMIC_FETCH_AND_ADD)	\
	uep_trace_op(IB_WR_SEND_WITH_INV, SEND_WITH_INV)		\
	uep_trace_op_end(UEP_TRACE_RECV, RECV)

#undef uep_trace_op
#undef uep_trace_op_end
#define uep_trace_op(value, name)	TRACE_DEFINE_ENUM(value);
#define uep_trace_op_end		uep_trace_op
UEP_TRACE_OPCODES

#undef uep_trace_op
#undef uep_trace_op_end
#define uep_trace_op(value, name)	{ value, #name },
#define uep_trace_op_end(value, name)	{ value, #name }

/*
 * The life of a session, in the task that opens the device, and in the task that closes it.
 *
 * @session: number, as rdma-ep(1) shows it
 * @comm: its name, as the process may have exited when the trace is read
 */
DECLARE_EVENT_CLASS(rdma_ep_session,
	TP_PROTO(const struct uep_session *s),
	TP_ARGS(s),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(pid_t, pid)
		__array(char, comm, TASK_COMM_LEN)
	),
	TP_fast_assign(
		__entry->session = s->number;
		__entry->pid = task_tgid_nr(current);
		strscpy(__entry->comm, current->comm, TASK_COMM_LEN);
	),
	TP_printk("session=%llu pid=%d comm=%s", __entry->session, __entry->pid, __entry->comm)
);

#define UEP_TRACE_SESSION(name)						\
	DEFINE_EVENT(rdma_ep_session, rdma_ep_session_##name,		\
		TP_PROTO(const struct uep_session *s),			\
		TP_ARGS(s))

UEP_TRACE_SESSION(open);
UEP_TRACE_SESSION(close);
/* Its owner gives it up; another one takes it. The task that does so reports it. */
UEP_TRACE_SESSION(export);
UEP_TRACE_SESSION(adopt);

/*
 * A list of work requests has been posted, or its first requests. A list that is refused as
 * a whole, for its handle or its size, is traced by rdma_ep_refuse only.
 *
 * @qp_num: QP, or 0
 * @srq: handle of the SRQ, or 0
 * @opcode: of the first request, enum ib_wr_opcode; of receives IB_WC_RECV
 * @num: number of requests in the list
 * @posted: number of posted requests
 * @bytes: data of the posted requests
 * @ret: 0, or errno of the first refused request
 */
TRACE_EVENT(rdma_ep_post,
	TP_PROTO(const struct uep_obj *obj, const struct rdma_ep_cmd_post *arg,
		 u32 opcode, u64 bytes, int ret),
	TP_ARGS(obj, arg, opcode, bytes, ret),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u64, bytes)
		__field(u32, qp_num)
		__field(u32, srq)
		__field(u32, opcode)
		__field(u32, num)
		__field(u32, posted)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->session = obj->session->number;
		__entry->qp_num = uep_trace_qp_num(obj);
		__entry->srq = __entry->qp_num ? 0 : obj->handle;
		__entry->opcode = opcode;
		__entry->num = arg->num;
		__entry->posted = arg->posted;
		__entry->bytes = bytes;
		__entry->ret = ret;
	),
	TP_printk("session=%llu qp=%u srq=%u opcode=%s num=%u posted=%u bytes=%llu ret=%d",
		  __entry->session, __entry->qp_num, __entry->srq,
		  __print_symbolic(__entry->opcode, UEP_TRACE_OPCODES),
		  __entry->num, __entry->posted, __entry->bytes, __entry->ret)
);

/*
 * The device has been polled, for POLL_CQ or into the shared ring. Not traced if the device
 * had no completion.
 *
 * @cq: handle of the CQ
 * @num: completions for the user
 * @ret: completions of the device, including those of destroyed queues; or its errno
 */
TRACE_EVENT_CONDITION(rdma_ep_poll,
	TP_PROTO(const struct uep_cq *cq, u32 num, int ret),
	TP_ARGS(cq, num, ret),
	TP_CONDITION(ret),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, cq)
		__field(u32, num)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->session = cq->obj.session->number;
		__entry->cq = cq->obj.handle;
		__entry->num = num;
		__entry->ret = ret;
	),
	TP_printk("session=%llu cq=%u num=%u ret=%d", __entry->session,
		  __entry->cq, __entry->num, __entry->ret)
);

/*
 * A completion for the user has an error status.
 *
 * @cq: handle of the CQ
 * @vendor_err: specific to the device
 */
TRACE_EVENT_CONDITION(rdma_ep_wc_error,
	TP_PROTO(const struct uep_cq *cq, u32 qp_num, const struct ib_wc *wc),
	TP_ARGS(cq, qp_num, wc),
	TP_CONDITION(wc->status != IB_WC_SUCCESS),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, cq)
		__field(u32, qp_num)
		__field(u32, status)
		__field(u32, vendor_err)
	),
	TP_fast_assign(
		__entry->session = cq->obj.session->number;
		__entry->cq = cq->obj.handle;
		__entry->qp_num = qp_num;
		__entry->status = wc->status;
		__entry->vendor_err = wc->vendor_err;
	),
	TP_printk("session=%llu cq=%u qp=%u status=%s vendor_err=%u",
		  __entry->session, __entry->cq, __entry->qp_num,
		  rdma_show_wc_status(__entry->status), __entry->vendor_err)
);

/*
 * A command has failed, in the task that called it. Neither commands that are restarted
 * after a signal nor unknown commands (ENOTTY) are traced.
 *
 * @stage: "arguments" (address, size or flags of the structure), "command" (its execution),
 *	"wait" (for the event that completes it), "results" (the copy to user memory)
 * @ret: errno below 0; rdma_ep.h has the reasons of each command
 */
TRACE_EVENT_CONDITION(rdma_ep_refuse,
	TP_PROTO(const struct uep_session *s, u32 nr, const char *cmd, const char *stage, int ret),
	TP_ARGS(s, nr, cmd, stage, ret),
	TP_CONDITION(ret != -ERESTARTSYS && ret != -EINTR),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, nr)
		__field(int, ret)
		__array(char, cmd, 24)
		__array(char, stage, 16)
	),
	TP_fast_assign(
		__entry->session = s->number;
		__entry->nr = nr;
		__entry->ret = ret;
		strscpy(__entry->cmd, cmd, sizeof(__entry->cmd));
		strscpy(__entry->stage, stage, sizeof(__entry->stage));
	),
	TP_printk("session=%llu cmd=%s stage=%s ret=%d", __entry->session,
		  __entry->cmd, __entry->stage, __entry->ret)
);

/*
 * A limit is exceeded: the first one in the order of uep_over(), before the rdma_ep_refuse of
 * the command. Of an unread event, which is lost, each of its two limits that is exceeded. The
 * owners of a session (EDQUOT of ADOPT) have no such event.
 *
 * @limit: a name of uep_refusals: "session_max_objects", "session_max_queue_mb",
 *	"user_max_objects", "user_max_queue_mb", "user_max_pinned_mb", "cgroup_objects",
 *	"cgroup_queue", "cgroup_pinned" or "restriction"; or of an unread event "unread_events"
 *	(of the session) or "user_max_events"
 * @wanted: objects, bytes or events with the refused ones
 * @max: the limit
 */
TRACE_EVENT(rdma_ep_over_limit,
	TP_PROTO(const struct uep_session *s, const char *limit, u64 wanted, u64 max),
	TP_ARGS(s, limit, wanted, max),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u64, wanted)
		__field(u64, max)
		__array(char, limit, 24)
	),
	TP_fast_assign(
		__entry->session = s->number;
		__entry->wanted = wanted;
		__entry->max = max;
		strscpy(__entry->limit, limit, sizeof(__entry->limit));
	),
	TP_printk("session=%llu limit=%s wanted=%llu max=%llu",
		  __entry->session, __entry->limit, __entry->wanted,
		  __entry->max)
);

#endif /* RDMA_EP_CHARDEV_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH kmod/chardev
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
