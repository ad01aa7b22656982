// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of work requests that a user posts, copied, and the memory that it names.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../trace.h"
#include "post.h"

/* The user's entries are posted from the copy as they are. */
static_assert(sizeof(struct rdma_ep_sge) == sizeof(struct ib_sge));
static_assert(offsetof(struct rdma_ep_sge, addr) == offsetof(struct ib_sge, addr));
static_assert(offsetof(struct rdma_ep_sge, length) == offsetof(struct ib_sge, length));
static_assert(offsetof(struct rdma_ep_sge, lkey) == offsetof(struct ib_sge, lkey));

void uep_post_free(struct uep_post_buf *buf)
{
	if (buf->data != (u8 *)buf->stack)
		kvfree(buf->data);
}

int uep_post_copy(struct uep_post_buf *buf, struct rdma_ep_post *arg)
{
	arg->posted = 0;
	if (!arg->num)
		return -EINVAL;
	if (arg->wrs_len > UEP_MAX_POST_BYTES)
		return -E2BIG;
	buf->data = (u8 *)buf->stack;
	if (arg->wrs_len > sizeof(buf->stack)) {
		buf->data = kvmalloc(arg->wrs_len, GFP_KERNEL_ACCOUNT);
		if (!buf->data)
			return -ENOMEM;
	}
	buf->len = arg->wrs_len;
	buf->pos = 0;
	if (!copy_from_user(buf->data, u64_to_user_ptr(arg->wrs), buf->len))
		return 0;
	uep_post_free(buf);
	return -EFAULT;
}

/* The next @len bytes, which the caller may change, or NULL. */
void *uep_post_next(struct uep_post_buf *buf, u64 len)
{
	void *ret = buf->data + buf->pos;

	if (len > buf->len - buf->pos)
		return NULL;
	buf->pos += len;
	return ret;
}

/*
 * Checks entries and drops empty ones, which mean 2^31 bytes to some hardware.
 * Returns how many are left. What is behind them is empty then, so that it can
 * be done again.
 */
int uep_post_sges(struct uep_pd *pd, struct ib_sge *sge, u32 num, bool write, u64 *total)
{
	u32 i, left = 0;

	*total = 0;
	for (i = 0; i < num; i++) {
		if (!sge[i].length)
			continue;
		if (!uep_mr_check(pd, &sge[i], write))
			return -EINVAL;
		*total += sge[i].length;
		sge[left++] = sge[i];
	}
	for (i = left; i < num; i++)
		sge[i].length = 0;
	return left;
}

/* For traces: of the first send. */
static u32 uep_post_opcode(const struct uep_post_buf *buf)
{
	const struct rdma_ep_send_wr *u = (void *)buf->data;

	return buf->len < sizeof(*u) ? 0 : u->opcode;
}

/*
 * For traces, which have time: the data that the first @nr requests name. They are on
 * the queue, so all has been checked.
 */
static u64 uep_post_bytes(const struct uep_post_buf *buf, u32 nr, bool send)
{
	const u8 *pos = buf->data;
	const struct ib_sge *sge;
	u64 bytes = 0;
	u32 num;

	while (nr--) {
		if (send) {
			const struct rdma_ep_send_wr *u = (const void *)pos;

			pos += sizeof(*u) + ALIGN(u->inline_len, 8);
			bytes += u->inline_len;
			num = u->num_sge;
		} else {
			const struct rdma_ep_recv_wr *u = (const void *)pos;

			pos += sizeof(*u);
			num = u->num_sge;
		}
		sge = (const void *)pos;
		pos += num * sizeof(*sge);
		while (num--)
			bytes += sge++->length;
	}
	return bytes;
}

/* Called if rdma_ep_post is traced. */
void uep_post_trace(const struct uep_obj *obj, const struct rdma_ep_post *arg,
		    const struct uep_post_buf *buf, bool send, int ret)
{
	trace_rdma_ep_post(obj, arg, send ? uep_post_opcode(buf) : UEP_TRACE_RECV,
			   uep_post_bytes(buf, arg->posted, send), ret);
}
