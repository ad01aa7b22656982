// SPDX-License-Identifier: BSD-2-Clause
/*
 * Receives of an SRQ in memory that is shared with the kernel. The kernel sets "kick" while it
 * takes them by system calls only.
 */
#include "objects.h"

static bool kick(const struct rdma_ep_recv_ring *ring)
{
	return __atomic_load_n(&ring->kick, __ATOMIC_ACQUIRE);
}

/* True if the ring takes a receive. The caller has read kick before. */
static bool room(const struct rdma_ep_recv_ring *ring, uint32_t tail)
{
	return (int32_t)(__atomic_load_n(&ring->limit, __ATOMIC_RELAXED) - tail) > 0;
}

/* True if a receive can be in a ring. Others have an errno, which the kernel returns. */
static bool suits(const struct rdma_ep_recv_ring *ring, const struct ibv_recv_wr *wr)
{
	return wr->num_sge >= 0 && wr->num_sge <= RDMA_EP_RING_SGES &&
	       (uint32_t)wr->num_sge <= ring->max_sge && (wr->sg_list || !wr->num_sge);
}

static void put(struct rdma_ep_ring_recv *recv, const struct ibv_recv_wr *wr)
{
	int i;

	recv->wr.wr_id = wr->wr_id;
	recv->wr.num_sge = wr->num_sge;
	recv->wr.reserved = 0;
	for (i = 0; i < wr->num_sge; i++)
		memcpy(&recv->sge[i], &wr->sg_list[i], sizeof(recv->sge[i]));
}

/* Puts receives into the ring. Returns the first one that is not there, or NULL */
static struct ibv_recv_wr *fill(struct rdma_ep_recv_ring *ring, struct ibv_recv_wr *wr)
{
	uint32_t tail = ring->tail;

	while (wr && !kick(ring) && room(ring, tail) && suits(ring, wr)) {
		put(&ring->recv[tail % RDMA_EP_RING_ENTRIES], wr);
		__atomic_store_n(&ring->tail, ++tail, __ATOMIC_RELEASE);
		wr = wr->next;
	}
	return wr;
}

/*
 * Posts receives of a list without a system call, and describes them in @list. Returns the first
 * one that has to be posted by the kernel, or NULL
 */
struct ibv_recv_wr *lep_recv_ring_post(struct lep_srq *srq, struct ibv_recv_wr *wr,
				       struct lep_ring_list *list)
{
	struct rdma_ep_recv_ring *ring = srq->ring;

	list->num = 0;
	list->call = false;
	/* A fork()ed child does not have the memory of the ring. */
	if (!ring || lep_inherited(lep_to_ctx(srq->srq.context)->session) || kick(ring))
		return wr;
	pthread_mutex_lock(&srq->ring_lock);
	list->first = ring->tail;
	wr = fill(ring, wr);
	list->num = ring->tail - list->first;
	pthread_mutex_unlock(&srq->ring_lock);
	if (!list->num)
		return wr;
	/* The kernel sets kick, and then reads the tail. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	list->call = kick(ring);
	return wr;
}

/* How many receives of the list the kernel has taken from the ring */
uint32_t lep_recv_ring_taken(const struct lep_srq *srq, const struct lep_ring_list *list)
{
	int32_t taken;

	if (!list->num)
		return 0;
	/* Negative: the kernel has not taken all those before */
	taken = __atomic_load_n(&srq->ring->head, __ATOMIC_ACQUIRE) - list->first;
	if (taken < 0)
		return 0;
	return (uint32_t)taken < list->num ? (uint32_t)taken : list->num;
}
