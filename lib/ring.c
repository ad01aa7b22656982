// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rings: memory shared with the kernel, where it puts completions and says whether
 * there may be more, so that most polls and requests for an event need no system
 * call.
 */
#include <sys/mman.h>

#include "internal.h"

/* Without this memory all goes by system calls. */
void lep_rings_map(struct lep_session *session)
{
	void *p = mmap(NULL, RDMA_EP_MAX_RINGS * sizeof(struct rdma_ep_cq_ring),
		       PROT_READ | PROT_WRITE, MAP_SHARED, session->fd, 0);

	session->rings = p == MAP_FAILED ? NULL : p;
}

struct rdma_ep_cq_ring *lep_ring_at(struct lep_session *session, uint32_t index)
{
	return session->rings && index != RDMA_EP_NO_RING ?
	       &session->rings[index] : NULL;
}

static bool pending(const struct rdma_ep_cq_ring *ring)
{
	return __atomic_load_n(&ring->pending, __ATOMIC_ACQUIRE);
}

/* Returns 0 or an errno if nothing can be put into the ring. */
static int fill(struct ibv_cq *cq)
{
	struct rdma_ep_poll_cq cmd = { .cq = cq->handle };

	return lep_call(lep_to_ctx(cq->context)->session, POLL_CQ, &cmd) ? errno : 0;
}

/* Takes what is there, up to num. */
static int take(struct rdma_ep_cq_ring *ring, int num, struct ibv_wc *wc)
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

/* As ibv_poll_cq(3). In a child there is no such memory. */
int lep_ring_poll(struct lep_cq *cq, int num, struct ibv_wc *wc)
{
	struct rdma_ep_cq_ring *ring = cq->ring;
	int n, more, error = 0;

	if (lep_inherited(lep_to_ctx(cq->cq.context)->session))
		return -EBADF;
	/* The word first: what came before it was 0 is in the ring. */
	if (!pending(ring) &&
	    __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) ==
	    __atomic_load_n(&ring->tail, __ATOMIC_RELAXED))
		return 0;
	pthread_mutex_lock(&cq->ring_lock);
	n = take(ring, num, wc);
	/* Fewer than asked for mean that there are no more. */
	while (n < num && pending(ring)) {
		error = fill(&cq->cq);
		if (error)
			break;
		more = take(ring, num - n, wc + n);
		if (!more)
			break;
		n += more;
	}
	pthread_mutex_unlock(&cq->ring_lock);
	return error && !n ? -error : n;
}

/* Asks for an event; false: that takes a system call. */
bool lep_ring_arm(struct lep_cq *cq)
{
	struct rdma_ep_cq_ring *ring = cq->ring;

	if (lep_inherited(lep_to_ctx(cq->cq.context)->session))
		return false;
	__atomic_store_n(&ring->armed, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !pending(ring);
}
