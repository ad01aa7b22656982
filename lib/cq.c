// SPDX-License-Identifier: BSD-2-Clause
/* Completion channels and completion queues. */
#include <limits.h>
#include <unistd.h>

#include "objects.h"

struct ibv_comp_channel *lep_comp_channel_create(struct ibv_context *context)
{
	struct rdma_ep_cmd_create_fd cmd = {};
	struct ibv_comp_channel *channel;

	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	if (lep_ctx_call(context, CREATE_COMP_CHANNEL, &cmd))
		return lep_free_null(channel);
	channel->context = context;
	channel->fd = cmd.fd;
	return channel;
}

/* ibv_create_comp_channel(3) */
LEP_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	if (!context)
		return lep_null(EINVAL);
	if (!lep_ours(context))
		return lep_forward(NULL, "IBVERBS_1.0", ibv_create_comp_channel,
				   context);
	return lep_comp_channel_create(context);
}

int lep_comp_channel_destroy(struct ibv_comp_channel *channel)
{
	struct ibv_context *context = channel->context;
	bool busy;

	pthread_mutex_lock(&context->mutex);
	busy = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (busy)
		return EBUSY;
	lep_close_fd(channel->fd);
	free(channel);
	return 0;
}

/* ibv_destroy_comp_channel(3): EBUSY while a CQ uses it. */
LEP_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (!channel)
		return EINVAL;
	if (!lep_ours(channel->context))
		return lep_forward(ENOSYS, "IBVERBS_1.0",
				   ibv_destroy_comp_channel, channel);
	return lep_comp_channel_destroy(channel);
}

static void count_user(struct ibv_comp_channel *channel, int delta)
{
	if (!channel)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += delta;
	pthread_mutex_unlock(&channel->context->mutex);
}

/* The CQ's address is the cookie with which the kernel reports events. */
struct ibv_cq *lep_cq_alloc(void)
{
	struct lep_cq *cq;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	pthread_mutex_init(&cq->ring_lock, NULL);
	return &cq->cq;
}

void lep_cq_free(struct ibv_cq *cq)
{
	if (!cq)
		return;
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	pthread_mutex_destroy(&lep_to_cq(cq)->ring_lock);
	lep_cq_batch_free(lep_to_cq(cq)->batch);
	free(cq);
}

void lep_cq_fill(struct ibv_cq *cq, struct ibv_context *context,
		 struct ibv_comp_channel *channel, void *cq_context,
		 uint32_t handle, uint32_t cqe, uint32_t ring)
{
	cq->context = context;
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->handle = handle;
	cq->cqe = cqe;
	lep_to_cq(cq)->ring = lep_ring_at(lep_to_ctx(context)->session, ring);
	count_user(channel, 1);
}

struct ibv_cq *lep_cq_create(struct ibv_context *context, uint32_t cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     uint32_t comp_vector)
{
	struct rdma_ep_cmd_create_cq cmd = {};
	struct ibv_cq *cq;
	int error;

	if (!cqe || cqe > INT_MAX || comp_vector > INT_MAX)
		return lep_null(EINVAL);
	if (channel && channel->context != context)
		return lep_null(EBADF);

	cq = lep_cq_alloc();
	if (!cq)
		return NULL;
	cmd.uid = (uintptr_t)cq;
	cmd.ctx = lep_to_ctx(context)->handle;
	cmd.channel_fd = channel ? channel->fd : -1;
	cmd.cqe = cqe;
	cmd.comp_vector = comp_vector;
	cmd.flags = lep_to_ctx(context)->session->rings ? RDMA_EP_CQ_RING : 0;
	if (lep_ctx_call(context, CREATE_CQ, &cmd)) {
		error = errno;
		lep_cq_free(cq);
		return lep_null(error);
	}
	lep_cq_fill(cq, context, channel, cq_context, cmd.cq, cmd.cqe,
		    cmd.ring);
	return cq;
}

/* ibv_create_cq(3) */
LEP_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
					void *cq_context,
					struct ibv_comp_channel *channel,
					int comp_vector)
{
	if (!context)
		return lep_null(EINVAL);
	if (!lep_ours(context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_cq, context,
				   cqe, cq_context, channel, comp_vector);
	return lep_cq_create(context, cqe, cq_context, channel, comp_vector);
}

/* ibv_create_cq_ex(3). The parent domain is ignored: it can only be a plain PD. */
struct ibv_cq_ex *lep_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct lep_cq_batch *batch;
	struct ibv_cq *cq;
	int flags;

	if (!attr)
		return lep_null(EINVAL);
	flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return lep_null(EOPNOTSUPP);

	batch = lep_cq_batch_alloc(flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	if (!batch)
		return NULL;
	cq = lep_cq_create(context, attr->cqe, attr->cq_context, attr->channel,
			   attr->comp_vector);
	if (!cq) {
		lep_cq_batch_free(batch);
		return NULL;
	}
	lep_cq_batch_attach(lep_to_cq(cq), batch);
	return &lep_to_cq(cq)->ex;
}

/* ibv_resize_cq(3) */
LEP_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct rdma_ep_cmd_resize_cq cmd = {};

	if (!cq)
		return EINVAL;
	if (!lep_ours(cq->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_resize_cq, cq, cqe);
	/* A fork()ed child does not have the memory of the ring. */
	if (lep_inherited(lep_to_ctx(cq->context)->session))
		return EBADF;
	if (cqe < 1)
		return EINVAL;
	cmd.cq = cq->handle;
	cmd.cqe = cqe;
	cmd.taken = lep_to_cq(cq)->batch ? lep_cq_batch_left(cq) : 0;
	if (lep_ctx_call(cq->context, RESIZE_CQ, &cmd))
		return errno;
	cq->cqe = cmd.cqe;
	return 0;
}

/* Frees a CQ that the kernel has destroyed, once all its events are acknowledged. */
void lep_cq_release(struct ibv_cq *cq, uint32_t events, uint32_t comp_events)
{
	count_user(cq->channel, -1);
	lep_wait_acked(&cq->mutex, &cq->cond, &cq->comp_events_completed,
		       comp_events);
	lep_wait_acked(&cq->mutex, &cq->cond, &cq->async_events_completed,
		       events);
	lep_cq_free(cq);
}

int lep_cq_destroy(struct ibv_cq *cq)
{
	uint32_t async_events, comp_events;

	if (lep_obj_destroy(lep_to_ctx(cq->context)->session, RDMA_EP_OBJ_CQ,
			    cq->handle, &async_events, &comp_events))
		return errno;
	lep_cq_release(cq, async_events, comp_events);
	return 0;
}

/* ibv_destroy_cq(3): waits for the acknowledgment of all its events. */
LEP_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (!cq)
		return EINVAL;
	if (!lep_ours(cq->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_destroy_cq, cq);
	return lep_cq_destroy(cq);
}

static void comp_event_cancelled(void *arg)
{
	const struct rdma_ep_comp_event *record = arg;

	ibv_ack_cq_events((void *)(uintptr_t)record->uid, 1);
}

/* ibv_get_cq_event(3): blocks in read(2), which is a cancellation point. */
LEP_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel,
				struct ibv_cq **cq, void **cq_context)
{
	struct rdma_ep_comp_event record = {};

	if (!channel || !cq || !cq_context)
		return lep_err(EINVAL);
	if (!lep_ours(channel->context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_get_cq_event, channel,
				   cq, cq_context);
	if (lep_inherited(lep_to_ctx(channel->context)->session))
		return lep_err(EBADF);

	if (lep_read_record(channel->fd, &record, sizeof(record), comp_event_cancelled, &record))
		return -1;
	*cq = (void *)(uintptr_t)record.uid;
	*cq_context = (*cq)->cq_context;
	return 0;
}

/* ibv_ack_cq_events(3): uses only public members, which CQs of any library have. */
LEP_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (!cq)
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* ibv_req_notify_cq(3) */
int lep_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct rdma_ep_cmd_notify_cq cmd = {
		.flags = solicited_only ? RDMA_EP_NOTIFY_SOLICITED : 0,
		.cq = cq->handle,
	};

	if (!solicited_only && lep_to_cq(cq)->ring && lep_ring_arm(lep_to_cq(cq)))
		return 0;
	return lep_ctx_call(cq->context, NOTIFY_CQ, &cmd);
}

/* ibv_modify_cq(3) */
int lep_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct rdma_ep_cmd_modify_cq cmd = { .cq = cq->handle };

	if (!attr)
		return EINVAL;
	cmd.cq_count = attr->moderate.cq_count;
	cmd.cq_period = attr->moderate.cq_period;
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EOPNOTSUPP;
	return lep_ctx_call(cq->context, MODIFY_CQ, &cmd);
}
