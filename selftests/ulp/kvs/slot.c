// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of the server: each is posted to the SRQ, receives a request, is the
 * source of the reply, and is posted again. Completion handlers run in a work queue.
 */
#include <linux/slab.h>

#include "kvs.h"

static atomic_t posted;

static void post(struct kvs_slot *slot)
{
	struct ib_recv_wr wr = { .wr_cqe = &slot->recv, .sg_list = &slot->sge, .num_sge = 1 };

	slot->sge.length = KVS_MSG_MAX;
	if (!ib_post_srq_recv(slot->slots->srq, &wr, NULL))
		atomic_inc(&posted);
}

/* The CQ belongs to the client's QP, so cq_context is the endpoint. */
static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	/* wc->status is not checked: an event reports the end of the connection. */
	rdma_ep_put_slots(cq->cq_context, 1);
	post(container_of(wc->wr_cqe, struct kvs_slot, send));
}

static int reply(struct kvs_slot *slot, struct ib_qp *qp, size_t len)
{
	struct ib_device *dev = slot->slots->dev;
	struct ib_send_wr wr = {
		.wr_cqe = &slot->send,
		.sg_list = &slot->sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};

	ib_dma_sync_single_for_cpu(dev, slot->sge.addr, KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	slot->sge.length = kvs_serve(slot->msg, len);
	ib_dma_sync_single_for_device(dev, slot->sge.addr, KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	return ib_post_send(qp, &wr, NULL);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kvs_slot *slot = container_of(wc->wr_cqe, struct kvs_slot, recv);
	struct rdma_ep *ep = cq->cq_context;

	atomic_dec(&posted);
	if (wc->status != IB_WC_SUCCESS)
		goto again;
	/* Drop requests beyond the client's credits. */
	if (!rdma_ep_try_slots(ep, 1))
		goto again;
	if (!reply(slot, wc->qp, wc->byte_len))
		return;
	rdma_ep_put_slots(ep, 1);
again:
	post(slot);
}

static int slot_init(struct kvs_slot *slot, struct kvs_slots *slots)
{
	struct ib_device *dev = slots->dev;

	slot->slots = slots;
	slot->recv.done = recv_done;
	slot->send.done = send_done;
	slot->sge.lkey = slots->srq->pd->local_dma_lkey;
	slot->msg = kzalloc(KVS_MSG_MAX, GFP_KERNEL);
	if (!slot->msg)
		return -ENOMEM;
	slot->sge.addr = ib_dma_map_single(dev, slot->msg, KVS_MSG_MAX, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(dev, slot->sge.addr))
		return 0;
	kfree(slot->msg);
	slot->msg = NULL;
	return -EIO;
}

/* The caller frees *@out with kvs_slots_free(), also after a failure. */
int kvs_slots_post(struct kvs_slots **out, struct ib_srq *srq)
{
	struct kvs_slots *slots;
	unsigned int i;
	int ret = 0;

	slots = kvzalloc(sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	slots->dev = srq->device;
	slots->srq = srq;
	for (i = 0; i < KVS_SLOTS && !ret; i++) {
		ret = slot_init(&slots->slot[i], slots);
		if (!ret)
			post(&slots->slot[i]);
	}
	*out = slots;
	return ret;
}

/* Called between the destruction of the SRQ and that of the endpoint, which holds the device */
void kvs_slots_free(struct kvs_slots *slots)
{
	struct kvs_slot *slot;

	if (!slots)
		return;
	for (slot = slots->slot; slot < slots->slot + KVS_SLOTS; slot++) {
		if (!slot->msg)
			break;
		ib_dma_unmap_single(slots->dev, slot->sge.addr, KVS_MSG_MAX, DMA_BIDIRECTIONAL);
		kfree(slot->msg);
	}
	atomic_set(&posted, 0);
	kvfree(slots);
}

unsigned int kvs_slots_posted(void)
{
	return atomic_read(&posted);
}
