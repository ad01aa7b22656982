/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What posting sends and receives has in common.
 */
#ifndef RDMA_EP_POST_H
#define RDMA_EP_POST_H

#include "../../compat.h"
#include "verbs.h"

/* Buffers up to this size need no allocation. */
#define UEP_POST_STACK		512

/* The user's buffer, copied, and how much of it has been read. */
struct uep_post_buf {
	u8 *data;
	u32 len;
	u32 pos;
	u64 stack[UEP_POST_STACK / sizeof(u64)];
};

int uep_post(struct uep_cmd *cmd, enum rdma_ep_obj_type type,
	     int (*fn)(struct uep_obj *obj, struct rdma_ep_post *arg,
		       struct uep_post_buf *buf));
void *uep_post_next(struct uep_post_buf *buf, u64 len);
void uep_post_trace(const struct uep_obj *obj, const struct rdma_ep_post *arg,
		    const struct uep_post_buf *buf, bool send, int ret);
int uep_post_sges(struct uep_pd *pd, struct ib_sge *sge, u32 num, bool write, u64 *total);

/* A request of these entries is on the queue; wq->lock is held. */
static inline void uep_wq_count(struct uep_wq *wq, const struct ib_sge *sge, int num)
{
	wq->traffic.posted++;
	while (num-- > 0)
		wq->traffic.bytes += sge++->length;
}

#endif /* RDMA_EP_POST_H */
