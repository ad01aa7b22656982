// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting work requests. The library packs a list into one buffer and passes it to the
 * kernel in one call (in several if it is longer than the kernel accepts). The kernel
 * checks the requests, except for values that cannot be encoded in the buffer.
 */
#include "objects.h"

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct rdma_ep_sge) &&
	       offsetof(struct ibv_sge, addr) ==
	       offsetof(struct rdma_ep_sge, addr) &&
	       offsetof(struct ibv_sge, length) ==
	       offsetof(struct rdma_ep_sge, length) &&
	       offsetof(struct ibv_sge, lkey) ==
	       offsetof(struct rdma_ep_sge, lkey), "sge");

/* The members with which send and receive requests begin. */
struct wr {
	uint64_t wr_id;
	struct wr *next;
};

#define BEGINS_AS_WR(type) \
	_Static_assert(offsetof(type, wr_id) == offsetof(struct wr, wr_id) && \
		       offsetof(type, next) == offsetof(struct wr, next), #type)
BEGINS_AS_WR(struct ibv_send_wr);
BEGINS_AS_WR(struct ibv_recv_wr);

#define ON_STACK 6144	/* 64 plain requests */

struct buffer {
	uint8_t *start;
	size_t len;
	size_t size;
	uint32_t num;
	uint8_t *heap;
	uint64_t stack[ON_STACK / sizeof(uint64_t)];
};

static void buffer_init(struct buffer *buf, size_t max)
{
	buf->start = (uint8_t *)buf->stack;
	buf->len = 0;
	buf->size = max < ON_STACK ? max : ON_STACK;
	buf->num = 0;
	buf->heap = NULL;
}

/* Make room for more bytes than are left; false if the buffer cannot grow so far. */
static bool buffer_grow(struct buffer *buf, size_t more, size_t max)
{
	size_t size = buf->size;
	uint8_t *heap;

	if (buf->len + more > max)
		return false;
	while (size < buf->len + more)
		size *= 4;
	if (size > max)
		size = max;
	heap = realloc(buf->heap, size);
	if (!heap)
		return false;
	if (!buf->heap)
		memcpy(heap, buf->stack, buf->len);
	buf->heap = heap;
	buf->start = heap;
	buf->size = size;
	return true;
}

/* Returns 0 or an errno; *posted requests have been posted in either case. */
static int buffer_flush(struct buffer *buf, struct lep_session *session,
			unsigned long request, uint32_t handle,
			uint32_t *posted)
{
	struct rdma_ep_cmd_post cmd = {
		.size = sizeof(cmd),
		.wrs = (uintptr_t)buf->start,
		.wrs_len = buf->len,
		.handle = handle,
		.num = buf->num,
	};
	int ret;

	if (!buf->num)
		return 0;
	ret = ioctl(session->fd, request, &cmd) ? errno : 0;
	*posted = cmd.posted;
	buf->len = 0;
	buf->num = 0;
	return ret;
}

/* The length of the request's record; 0 if the request cannot be encoded. */
static size_t send_len(const struct ibv_qp *qp, const struct wr *any)
{
	const struct ibv_send_wr *wr = (const struct ibv_send_wr *)any;
	uint64_t bytes = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > UINT16_MAX ||
	    (wr->num_sge && !wr->sg_list))
		return 0;
	if (qp->qp_type == IBV_QPT_UD &&
	    (!wr->wr.ud.ah || !lep_ours(wr->wr.ud.ah->context)))
		return 0;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return sizeof(struct rdma_ep_send_wr) +
		       wr->num_sge * sizeof(struct rdma_ep_sge);

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if (bytes > ((const struct lep_qp *)qp)->max_inline_data)
		return 0;
	return sizeof(struct rdma_ep_send_wr) + ((bytes + 7) & ~7ULL);
}

/* Most requests have one entry, which needs no call. */
static void pack_sges(void *p, const struct ibv_sge *sge, size_t bytes)
{
	if (bytes == sizeof(*sge))
		memcpy(p, sge, sizeof(*sge));
	else if (bytes)
		memcpy(p, sge, bytes);
}

/* Reads only the members that the opcode uses; programs leave the others uninitialised. */
static void send_pack(uint8_t *p, const struct ibv_qp *qp,
		      const struct wr *any, size_t len)
{
	const struct ibv_send_wr *wr = (const struct ibv_send_wr *)any;
	struct rdma_ep_send_wr *rec = (void *)p;
	uint8_t *end = p + len;
	int i;

	memset(rec, 0, sizeof(*rec));
	rec->wr_id = wr->wr_id;
	rec->opcode = wr->opcode;
	rec->send_flags = wr->send_flags;

	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		rec->imm_data = wr->imm_data;
		/* fall through */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		rec->remote_addr = wr->wr.rdma.remote_addr;
		rec->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		rec->remote_addr = wr->wr.atomic.remote_addr;
		rec->compare_add = wr->wr.atomic.compare_add;
		rec->swap = wr->wr.atomic.swap;
		rec->rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_SEND_WITH_IMM:
		rec->imm_data = wr->imm_data;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		rec->imm_data = wr->invalidate_rkey;
		break;
	default:
		break;
	}
	if (qp->qp_type == IBV_QPT_UD) {
		rec->ah = wr->wr.ud.ah->handle;
		rec->remote_qpn = wr->wr.ud.remote_qpn;
		rec->remote_qkey = wr->wr.ud.remote_qkey;
	}

	p += sizeof(*rec);
	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		rec->num_sge = wr->num_sge;
		pack_sges(p, wr->sg_list, len - sizeof(*rec));
		return;
	}

	for (i = 0; i < wr->num_sge; i++) {
		if (!wr->sg_list[i].length)
			continue;
		memcpy(p, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		p += wr->sg_list[i].length;
	}
	rec->inline_len = p - (uint8_t *)(rec + 1);
	memset(p, 0, end - p);
}

static size_t recv_len(const struct ibv_qp *qp, const struct wr *any)
{
	const struct ibv_recv_wr *wr = (const struct ibv_recv_wr *)any;

	(void)qp;
	if (wr->num_sge < 0 || (wr->num_sge && !wr->sg_list))
		return 0;
	return sizeof(struct rdma_ep_recv_wr) +
	       (size_t)wr->num_sge * sizeof(struct rdma_ep_sge);
}

static void recv_pack(uint8_t *p, const struct ibv_qp *qp,
		      const struct wr *any, size_t len)
{
	const struct ibv_recv_wr *wr = (const struct ibv_recv_wr *)any;
	struct rdma_ep_recv_wr *rec = (void *)p;

	(void)qp;
	rec->wr_id = wr->wr_id;
	rec->num_sge = wr->num_sge;
	rec->reserved = 0;
	pack_sges(rec + 1, wr->sg_list, len - sizeof(*rec));
}

/* Inline, so that the calls of record_len() and pack() are direct ones. */
static inline __attribute__((always_inline)) int
post(struct lep_session *session, unsigned long request, uint32_t handle,
     const struct ibv_qp *qp, struct wr *wr, struct wr **bad_wr,
     size_t (*record_len)(const struct ibv_qp *qp, const struct wr *wr),
     void (*pack)(uint8_t *p, const struct ibv_qp *qp, const struct wr *wr,
		  size_t len))
{
	size_t max = session->max_post_bytes, len;
	struct wr *first = wr;	/* in the buffer */
	struct buffer buf;
	uint32_t posted = 0;
	int ret = 0, bad = 0;

	buffer_init(&buf, max);
	while (wr) {
		len = record_len(qp, wr);
		if (!len || len > max) {
			bad = EINVAL;
			break;
		}
		if (len > buf.size - buf.len && !buffer_grow(&buf, len, max)) {
			if (!buf.num) {
				bad = ENOMEM;
				break;
			}
			ret = buffer_flush(&buf, session, request, handle,
					   &posted);
			if (ret)
				break;
			first = wr;
			continue;
		}
		pack(buf.start + buf.len, qp, wr, len);
		buf.len += len;
		buf.num++;
		wr = wr->next;
	}
	if (!ret)
		ret = buffer_flush(&buf, session, request, handle, &posted);
	if (ret) {
		while (posted-- && first->next)
			first = first->next;
		wr = first;
	} else {
		ret = bad;
	}
	if (bad_wr)
		*bad_wr = ret ? wr : NULL;
	/* The usual list needs no call. */
	if (buf.heap)
		free(buf.heap);
	return ret;
}

/* ibv_post_send(3) */
int lep_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	return post(lep_to_ctx(qp->context)->session, RDMA_EP_IOC_POST_SEND,
		    qp->handle, qp, (struct wr *)wr, (struct wr **)bad_wr,
		    send_len, send_pack);
}

/* ibv_post_recv(3) */
int lep_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	return post(lep_to_ctx(qp->context)->session, RDMA_EP_IOC_POST_RECV,
		    qp->handle, qp, (struct wr *)wr, (struct wr **)bad_wr,
		    recv_len, recv_pack);
}

/*
 * Calls the kernel for the beginning of a list, which is in the ring. @ret and *@bad_wr are the
 * result for the rest of the list. A receive that the kernel refuses in the ring comes before: it
 * and those behind it are lost.
 */
static int call_for_ring(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 const struct lep_ring_list *list, int ret, struct ibv_recv_wr **bad_wr)
{
	struct rdma_ep_cmd_post cmd = { .handle = srq->handle };
	int error = lep_ctx_call(srq->context, POST_SRQ_RECV, &cmd);
	uint32_t taken = lep_recv_ring_taken(lep_to_srq(srq), list);

	if (!error || taken == list->num)
		return ret;
	while (taken--)
		wr = wr->next;
	if (bad_wr)
		*bad_wr = wr;
	return error;
}

/* ibv_post_srq_recv(3) */
int lep_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct lep_ring_list list;
	struct ibv_recv_wr *left = lep_recv_ring_post(lep_to_srq(srq), wr, &list);
	bool call = list.call;
	int ret = 0;

	if (left) {
		ret = post(lep_to_ctx(srq->context)->session, RDMA_EP_IOC_POST_SRQ_RECV,
			   srq->handle, NULL, (struct wr *)left, (struct wr **)bad_wr,
			   recv_len, recv_pack);
		/* post() may have made no call, or one that failed before it took these. */
		call = ret && lep_recv_ring_taken(lep_to_srq(srq), &list) < list.num;
	} else if (bad_wr) {
		*bad_wr = NULL;
	}
	return call ? call_for_ring(srq, wr, &list, ret, bad_wr) : ret;
}
