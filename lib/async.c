// SPDX-License-Identifier: BSD-2-Clause
/* Asynchronous events: ibv_get_async_event(3). */
#include <unistd.h>

#include "objects.h"

/* Blocks in read(2), which is a cancellation point. */
LEP_EXPORT int ibv_get_async_event(struct ibv_context *context,
				   struct ibv_async_event *event)
{
	struct rdma_ep_async_event record;
	ssize_t len;

	if (!context || !event)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_get_async_event,
				   context, event);
	if (lep_inherited(lep_to_ctx(context)->session))
		return lep_err(EBADF);

	len = read(context->async_fd, &record, sizeof(record));
	if (len != sizeof(record))
		return len < 0 ? -1 : lep_err(EIO);

	event->event_type = record.event;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->element.cq = (void *)(uintptr_t)record.uid;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->element.qp = (void *)(uintptr_t)record.uid;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq = (void *)(uintptr_t)record.uid;
		break;
	default:
		event->element.port_num = record.uid;
		break;
	}
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/* Uses public members only, so any library's objects are served. */
LEP_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;

	if (!event)
		return;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		cq = event->element.cq;
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		qp = event->element.qp;
		ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		srq = event->element.srq;
		ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case IBV_EVENT_WQ_FATAL:
		wq = event->element.wq;
		ack(&wq->mutex, &wq->cond, &wq->events_completed);
		break;
	default:
		break;
	}
}
