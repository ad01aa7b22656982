// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completions from the kernel, through rings or by system calls. A ring is memory that is
 * shared with the kernel. The kernel puts completions there, and sets "pending" while there
 * may be more. With a ring, most polls and requests for an event need no system call.
 */
#include "objects.h"

struct rdma_ep_cq_ring *lep_ring_at(struct lep_session *session, uint32_t index)
{
	return session->rings && index != RDMA_EP_NO_RING ?
	       &session->rings[index] : NULL;
}

static bool pending(const struct rdma_ep_cq_ring *ring)
{
	return __atomic_load_n(&ring->pending, __ATOMIC_ACQUIRE);
}

/* Calls the kernel, which puts more completions into the ring. 0 or an errno. */
static int fill_ring(struct ibv_cq *cq)
{
	struct rdma_ep_cmd_poll_cq cmd = { .cq = cq->handle };

	return lep_ctx_call(cq->context, POLL_CQ, &cmd);
}

/* Takes up to num completions out of the ring. */
static int empty_ring(struct rdma_ep_cq_ring *ring, int num, struct ibv_wc *wc)
{
	uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint32_t tail = ring->tail;
	int n;

	for (n = 0; n < num && tail != head; n++, tail++)
		memcpy(&wc[n], &ring->wc[tail % RDMA_EP_RING_ENTRIES],
		       sizeof(*wc));
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return n;
}

/* Entries of the ring that hold no unread completion */
unsigned int lep_ring_room(const struct rdma_ep_cq_ring *ring)
{
	return RDMA_EP_RING_ENTRIES -
	       (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - ring->tail);
}

/*
 * Put completions back before the unread ones of a ring, which has room for them. The kernel
 * writes no others meanwhile.
 */
void lep_ring_unread(struct rdma_ep_cq_ring *ring, const struct ibv_wc *wc, unsigned int num)
{
	uint32_t tail = ring->tail - num;
	unsigned int i;

	for (i = 0; i < num; i++)
		memcpy(&ring->wc[(tail + i) % RDMA_EP_RING_ENTRIES], &wc[i], sizeof(*wc));
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

/* Polls a CQ whose ring may have something. Not inlined, so that other polls save no registers. */
static __attribute__((noinline)) int
poll_ring(struct lep_cq *cq, int num, struct ibv_wc *wc)
{
	struct rdma_ep_cq_ring *ring = cq->ring;
	int n, more, error = 0;

	pthread_mutex_lock(&cq->ring_lock);
	n = empty_ring(ring, num, wc);
	/* Fewer than num: the ring is empty. */
	while (n < num && pending(ring)) {
		error = fill_ring(&cq->cq);
		if (error)
			break;
		more = empty_ring(ring, num - n, wc + n);
		if (!more)
			break;
		n += more;
	}
	pthread_mutex_unlock(&cq->ring_lock);
	return error && !n ? -error : n;
}

/* Polls a CQ without a ring: the kernel writes into the caller's array. */
static __attribute__((noinline)) int
poll_kernel(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct rdma_ep_cmd_poll_cq cmd = {
		.wcs = (uintptr_t)wc,
		.cq = cq->handle,
		.max = num,
	};

	if (lep_ctx_call(cq->context, POLL_CQ, &cmd))
		return -errno;
	lep_written(wc, cmd.num * sizeof(*wc));
	return cmd.num;
}

#define SAME_WC(member) \
	_Static_assert(offsetof(struct ibv_wc, member) == \
		       offsetof(struct rdma_ep_wc, member), "wc." #member)
SAME_WC(wr_id);
SAME_WC(status);
SAME_WC(opcode);
SAME_WC(vendor_err);
SAME_WC(byte_len);
SAME_WC(imm_data);
SAME_WC(qp_num);
SAME_WC(src_qp);
SAME_WC(wc_flags);
SAME_WC(pkey_index);
SAME_WC(slid);
SAME_WC(sl);
SAME_WC(dlid_path_bits);
_Static_assert(sizeof(struct ibv_wc) == sizeof(struct rdma_ep_wc), "wc");

/* Polls a CQ. With a ring it fails in a fork()ed child, which does not have that memory. */
int lep_cq_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct rdma_ep_cq_ring *ring = lep_to_cq(cq)->ring;

	if (!ring)
		return poll_kernel(cq, num, wc);
	if (lep_inherited(lep_to_ctx(cq->context)->session))
		return -EBADF;
	/* Read pending first: a completion from before it became 0 is in the ring. */
	if (!pending(ring) &&
	    __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) ==
	    __atomic_load_n(&ring->tail, __ATOMIC_RELAXED))
		return 0;
	return poll_ring(lep_to_cq(cq), num, wc);
}

/* Requests an event. Returns false if that takes a system call. */
bool lep_ring_arm(struct lep_cq *cq)
{
	struct rdma_ep_cq_ring *ring = cq->ring;

	if (lep_inherited(lep_to_ctx(cq->cq.context)->session))
		return false;
	__atomic_store_n(&ring->armed, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !pending(ring);
}
