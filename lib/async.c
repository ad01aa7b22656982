// SPDX-License-Identifier: BSD-2-Clause
/* Asynchronous events: ibv_get_async_event(3). */
#include "objects.h"

/* The kind of object that an event is about; PORT also stands for the device. */
enum element {
	PORT,
	CQ,
	QP,
	SRQ,
	WQ,
};

static enum element element_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return SRQ;
	case IBV_EVENT_WQ_FATAL:
		return WQ;
	default:
		return PORT;
	}
}

static void set_event(struct ibv_async_event *event, const struct rdma_ep_async_event *record)
{
	event->event_type = record->event;
	/* All pointers of the union are in the same place. */
	if (element_of(event->event_type) == PORT)
		event->element.port_num = record->uid;
	else
		event->element.cq = (void *)(uintptr_t)record->uid;
}

static void async_event_cancelled(void *arg)
{
	const struct rdma_ep_async_event *record = arg;
	struct ibv_async_event event;

	if (!record->uid)
		return;
	set_event(&event, record);
	ibv_ack_async_event(&event);
}

/* ibv_get_async_event(3): blocks in read(2), which is a cancellation point. */
LEP_EXPORT int ibv_get_async_event(struct ibv_context *context,
				   struct ibv_async_event *event)
{
	struct rdma_ep_async_event record = {};

	if (!context || !event)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_get_async_event,
				   context, event);
	if (lep_inherited(lep_to_ctx(context)->session))
		return lep_err(EBADF);

	if (lep_read_record(context->async_fd, &record, sizeof(record), async_event_cancelled,
			    &record))
		return -1;
	set_event(event, &record);
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/* ibv_ack_async_event(3): uses only public members, which objects of any library have. */
LEP_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;

	if (!event)
		return;
	switch (element_of(event->event_type)) {
	case CQ:
		cq = event->element.cq;
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case QP:
		qp = event->element.qp;
		ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case SRQ:
		srq = event->element.srq;
		ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case WQ:
		wq = event->element.wq;
		ack(&wq->mutex, &wq->cond, &wq->events_completed);
		break;
	case PORT:
		break;
	}
}
