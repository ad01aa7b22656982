// SPDX-License-Identifier: GPL-2.0-only
/* The copy of the user's list of work requests, and the memory that it names. */
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "post.h"

/* 64 sends with one entry each, and more */
#define UEP_POST_SPARE		8192

/* Entries are posted from the copy. */
static_assert(sizeof(struct rdma_ep_sge) == sizeof(struct ib_sge));
static_assert(offsetof(struct rdma_ep_sge, addr) == offsetof(struct ib_sge, addr));
static_assert(offsetof(struct rdma_ep_sge, length) == offsetof(struct ib_sge, length));
static_assert(offsetof(struct rdma_ep_sge, lkey) == offsetof(struct ib_sge, lkey));

/*
 * A buffer for each CPU, or NULL while it is in use: allocating and clearing one takes longer than
 * checking a list.
 */
static DEFINE_PER_CPU(u8 *, uep_post_spares);

int __init uep_post_init(void)
{
	int cpu;
	u8 *buf;

	for_each_possible_cpu(cpu) {
		buf = kmalloc_node(UEP_POST_SPARE, GFP_KERNEL, cpu_to_node(cpu));
		if (!buf) {
			uep_post_cleanup();
			return -ENOMEM;
		}
		per_cpu(uep_post_spares, cpu) = buf;
	}
	return 0;
}

/* No task is posting. */
void uep_post_cleanup(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		kfree(per_cpu(uep_post_spares, cpu));
		per_cpu(uep_post_spares, cpu) = NULL;
	}
}

/* Memory for @len bytes of the list */
static int uep_post_alloc(struct uep_post_buf *buf, u32 len)
{
	buf->spare = NULL;
	buf->data = (u8 *)buf->stack;
	if (len <= sizeof(buf->stack))
		return 0;
	if (len <= UEP_POST_SPARE) {
		/* The task may continue on another CPU. */
		buf->spare = raw_cpu_ptr(&uep_post_spares);
		buf->data = xchg(buf->spare, NULL);
		if (buf->data)
			return 0;
	}
	buf->spare = NULL;
	buf->data = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	return buf->data ? 0 : -ENOMEM;
}

void uep_post_free(struct uep_post_buf *buf)
{
	if (buf->spare) {
		/* Pairs with xchg(): the next task writes to the buffer. */
		smp_store_release(buf->spare, buf->data);
	} else if (buf->data != (u8 *)buf->stack) {
		kvfree(buf->data);
	}
}

/* Copies the user's buffer from @from on, which may have changed since an earlier copy. */
int uep_post_load(struct uep_post_buf *buf, u32 from)
{
	/* A long list is many copies, and much work in between. */
	if (from) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	buf->from = from;
	buf->len = min(buf->user_len - from, UEP_MAX_POST_BYTES);
	buf->pos = 0;
	return copy_from_user(buf->data, u64_to_user_ptr(buf->user + from), buf->len) ?
	       -EFAULT : 0;
}

int uep_post_copy(struct uep_post_buf *buf, struct rdma_ep_cmd_post *arg)
{
	u32 len = min(arg->wrs_len, UEP_MAX_POST_BYTES);
	int ret;

	if (!arg->num)
		return -EINVAL;
	/* Only POST_SEND has the flag. */
	if (arg->wrs_len > len && !(arg->flags & RDMA_EP_POST_ALL))
		return -E2BIG;
	ret = uep_post_alloc(buf, len);
	if (ret)
		return ret;
	buf->user = arg->wrs;
	buf->user_len = arg->wrs_len;
	ret = uep_post_load(buf, 0);
	if (ret)
		uep_post_free(buf);
	return ret;
}

/*
 * For uep_post_is_cut(), of a copy of a part of a list of sends. A send that is longer than a part
 * fails its check.
 */
bool uep_post_cuts_next(const struct uep_post_buf *buf)
{
	const struct rdma_ep_send_wr *u = (void *)(buf->data + buf->pos);
	u64 left = buf->len - buf->pos;

	if (!buf->pos)
		return false;
	return left < sizeof(*u) ||
	       left - sizeof(*u) < (u64)u->num_sge * sizeof(struct ib_sge) +
				   ALIGN((u64)u->inline_len, 8);
}
