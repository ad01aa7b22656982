/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to the posting of sends and receives. */
#ifndef RDMA_EP_POST_H
#define RDMA_EP_POST_H

#include "../../compat.h"
#include "verbs.h"

/* Buffers up to this size need no allocation. */
#define UEP_POST_STACK		512

/*
 * A copy of the user's buffer, or of a part of a longer one: a command has UEP_MAX_POST_BYTES of
 * the kernel's memory at most.
 */
struct uep_post_buf {
	u8 *data;
	u8 **spare;			/* the CPU's buffer that data is, or NULL */
	u32 len;
	u32 pos;			/* of the next record, in data */
	u64 user;			/* the user's buffer */
	u32 user_len;
	u32 from;			/* data begins here, in the user's buffer */
	struct uep_mr_range *mr;	/* of the latest entry: the queue's or @own */
	struct uep_mr_range own;
	u64 stack[UEP_POST_STACK / sizeof(u64)];
};

int uep_post_copy(struct uep_post_buf *buf, struct rdma_ep_cmd_post *arg);
int uep_post_load(struct uep_post_buf *buf, u32 from);
bool uep_post_cuts_next(const struct uep_post_buf *buf);
void uep_post_free(struct uep_post_buf *buf);

/* The next @len bytes, which the caller may change, or NULL if there are fewer. */
static inline void *uep_post_next(struct uep_post_buf *buf, u64 len)
{
	void *ret = buf->data + buf->pos;

	if (len > buf->len - buf->pos)
		return NULL;
	buf->pos += len;
	return ret;
}

/*
 * Checks entries and drops empty ones, as some hardware takes a length of 0 for 2^31. Returns
 * how many are left. The entries behind these become empty, so a second call returns the same.
 */
static inline int uep_post_sges(struct uep_pd *pd, struct uep_post_buf *buf, struct ib_sge *sge,
				u32 num, bool write, u64 *total)
{
	struct ib_sge *end = sge + num, *next = sge, *s;
	u64 bytes = 0;

	for (s = sge; s < end; s++) {
		if (!s->length)
			continue;
		if (!uep_mr_check(pd, buf->mr, s, write))
			return -EINVAL;
		bytes += s->length;
		if (next < s)
			*next = *s;
		next++;
	}
	*total = bytes;
	for (s = next; s < end; s++)
		s->length = 0;
	return next - sge;
}

union uep_wr {
	struct ib_recv_wr recv;
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ib_ud_wr ud;
};

/* A request that is checked and not yet posted */
struct uep_post_req {
	union uep_wr wr;
	u64 wr_id;			/* the user's */
	u64 bytes;
	struct uep_ah *ah;		/* of a send (a reference) */
	struct ib_sge sge[2];		/* of a send: the module's own */
};

struct uep_post_batch {
	u32 nr;
	bool ends_piece;		/* the last request is the last one of a piece (pace.c) */
	bool signal_last;		/* ... and is signalled for that only */
	struct uep_post_req req[UEP_POST_BATCH];
};

/* A QP's send or receive queue, or a shared one, for posting */
struct uep_post_queue {
	struct uep_wq *wq;
	struct uep_pd *pd;
	struct uep_qp *qp;		/* NULL: an SRQ */
	struct uep_srq *srq;		/* NULL: a QP's */
	bool send;
	u32 max_sge;			/* entries of a receive */
	u64 bytes;			/* posted */
	u32 piece;			/* sends are posted in pieces of so many bytes; 0: not */
	u64 in_piece;			/* bytes of the piece until now */
};

static inline struct uep_post_queue uep_srq_post_queue(struct uep_srq *srq)
{
	return (struct uep_post_queue) { &srq->wq, srq->pd, NULL, srq, false,
					srq->srq.attr.max_sge };
}

static inline void uep_batch_init(struct uep_post_batch *b)
{
	b->nr = 0;
	b->ends_piece = false;
	b->signal_last = false;
}

/* Around the checks of entries: the queue remembers a region, for one task at a time. */
static inline void uep_post_begin_checks(struct uep_post_buf *buf, struct uep_wq *wq)
{
	buf->mr = &wq->mr;
	if (unlikely(atomic_xchg_acquire(&wq->mr_used, 1))) {
		buf->own = (struct uep_mr_range) {};
		buf->mr = &buf->own;
	}
}

static inline void uep_post_end_checks(struct uep_post_buf *buf, struct uep_wq *wq)
{
	if (buf->mr == &wq->mr)
		atomic_set_release(&wq->mr_used, 0);
}

/* Does data end before the user's buffer? */
static inline bool uep_post_is_part(const struct uep_post_buf *buf)
{
	return buf->len < buf->user_len - buf->from;
}

/* Does the next send continue behind data, so that uep_post_load() has to follow? */
static inline bool uep_post_is_cut(const struct uep_post_buf *buf)
{
	return unlikely(uep_post_is_part(buf)) && uep_post_cuts_next(buf);
}

static inline bool uep_is_signalled(const struct uep_qp *qp, const struct ib_send_wr *wr)
{
	return qp->qp.sq_sig_all || (wr->send_flags & IB_SEND_SIGNALED);
}

u32 uep_batch_post(struct uep_post_queue *q, struct uep_post_batch *b, u32 first, int *err);

u32 uep_pace_begin(struct uep_qp *qp);
void uep_pace_end(struct uep_qp *qp, u64 bytes, u64 in_piece, unsigned long began_at);
bool uep_pace_wait(struct uep_qp *qp);

int uep_send_add(struct uep_qp *qp, struct uep_post_buf *buf, struct uep_post_req *r);

/* As uep_send_add(), for a receive. */
static inline int uep_recv_add(struct uep_post_queue *q, struct uep_post_buf *buf,
			       struct uep_post_req *r)
{
	struct ib_recv_wr *wr = &r->wr.recv;
	const struct rdma_ep_recv_wr *u;
	struct ib_sge *sge;
	u64 total;
	int n;

	u = uep_post_next(buf, sizeof(*u));
	if (!u || u->reserved || u->num_sge > q->max_sge)
		return -EINVAL;
	sge = uep_post_next(buf, (u64)u->num_sge * sizeof(*sge));
	if (!sge)
		return -EINVAL;
	n = uep_post_sges(q->pd, buf, sge, u->num_sge, true, &total);
	if (n < 0)
		return n;
	if (total > q->pd->obj.dev->max_recv_sz)
		return -EINVAL;
	r->wr_id = u->wr_id;
	r->bytes = total;
	wr->sg_list = sge;
	wr->num_sge = n;
	return 0;
}

#endif /* RDMA_EP_POST_H */
