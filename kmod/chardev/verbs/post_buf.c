// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy of the user's list of work requests, and the memory that it names.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "post.h"

/* Entries are posted from the copy. */
static_assert(sizeof(struct rdma_ep_sge) == sizeof(struct ib_sge));
static_assert(offsetof(struct rdma_ep_sge, addr) == offsetof(struct ib_sge, addr));
static_assert(offsetof(struct rdma_ep_sge, length) == offsetof(struct ib_sge, length));
static_assert(offsetof(struct rdma_ep_sge, lkey) == offsetof(struct ib_sge, lkey));

void uep_post_free(struct uep_post_buf *buf)
{
	if (buf->data != (u8 *)buf->stack)
		kvfree(buf->data);
}

int uep_post_copy(struct uep_post_buf *buf, struct rdma_ep_cmd_post *arg)
{
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
	buf->mr = (struct uep_mr_range) {};
	if (!copy_from_user(buf->data, u64_to_user_ptr(arg->wrs), buf->len))
		return 0;
	uep_post_free(buf);
	return -EFAULT;
}

/* The next @len bytes, which the caller may change, or NULL if there are fewer. */
void *uep_post_next(struct uep_post_buf *buf, u64 len)
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
int uep_post_sges(struct uep_pd *pd, struct uep_post_buf *buf, struct ib_sge *sge, u32 num,
		  bool write, u64 *total)
{
	u32 i, left = 0;

	*total = 0;
	for (i = 0; i < num; i++) {
		if (!sge[i].length)
			continue;
		if (!uep_mr_check(pd, &buf->mr, &sge[i], write))
			return -EINVAL;
		*total += sge[i].length;
		sge[left++] = sge[i];
	}
	for (i = left; i < num; i++)
		sge[i].length = 0;
	return left;
}
