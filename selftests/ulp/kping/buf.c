// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: contiguous, mapped for the device, registered if the peer is to use
 * it; and patterns to fill and verify it.
 */
#include <linux/gfp.h>

#include "kping.h"

#define KPING_POISON	0xa5

int kping_buf_alloc(struct ib_pd *pd, struct kping_buf *buf, size_t size)
{
	buf->data = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!buf->data)
		return -ENOMEM;
	buf->size = size;
	sg_init_one(&buf->sg, buf->data, size);
	if (!ib_dma_map_sg(pd->device, &buf->sg, 1, DMA_BIDIRECTIONAL)) {
		free_pages_exact(buf->data, size);
		buf->data = NULL;
		return -ENOMEM;
	}
	buf->pd = pd;
	return 0;
}

/* Called after destroying the QP. @buf may not have been allocated. */
void kping_buf_free(struct kping_buf *buf)
{
	if (!buf->data)
		return;
	if (buf->mr)
		ib_dereg_mr(buf->mr);
	ib_dma_unmap_sg(buf->pd->device, &buf->sg, 1, DMA_BIDIRECTIONAL);
	free_pages_exact(buf->data, buf->size);
	memset(buf, 0, sizeof(*buf));
}

/*
 * Registers this buffer alone. The PD has no IB_PD_UNSAFE_GLOBAL_RKEY, which would
 * expose all memory to the peer.
 */
int kping_buf_register(struct kping_conn *conn, struct kping_buf *buf, int access)
{
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR, .access = access };
	int ret;

	buf->mr = ib_alloc_mr(buf->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(buf->size, PAGE_SIZE));
	if (IS_ERR(buf->mr)) {
		ret = PTR_ERR(buf->mr);
		buf->mr = NULL;
		return ret;
	}
	ret = ib_map_mr_sg(buf->mr, &buf->sg, 1, NULL, PAGE_SIZE);
	if (ret != 1)
		return ret < 0 ? ret : -EINVAL;

	wr.mr = buf->mr;
	wr.key = buf->mr->rkey;
	return kping_submit(conn, &wr.wr) ?: kping_flush(conn);
}

void kping_buf_to_cpu(const struct kping_buf *buf)
{
	ib_dma_sync_single_for_cpu(buf->pd->device, sg_dma_address(&buf->sg),
				   buf->size, DMA_BIDIRECTIONAL);
}

void kping_buf_to_device(const struct kping_buf *buf)
{
	ib_dma_sync_single_for_device(buf->pd->device, sg_dma_address(&buf->sg),
				      buf->size, DMA_BIDIRECTIONAL);
}

struct ib_sge kping_sge(const struct kping_buf *buf, u32 length)
{
	return (struct ib_sge) {
		.addr = buf->mr ? buf->mr->iova : sg_dma_address(&buf->sg),
		.length = length,
		.lkey = buf->mr ? buf->mr->lkey : buf->pd->local_dma_lkey,
	};
}

void kping_fill(struct kping_buf *buf, u32 length, u8 seed)
{
	u8 *data = buf->data;
	u32 i;

	kping_buf_to_cpu(buf);
	for (i = 0; i < length; i++)
		data[i] = seed + i;
	kping_buf_to_device(buf);
}

bool kping_check(struct kping_buf *buf, u32 length, u8 seed)
{
	const u8 *data = buf->data;
	bool ok = true;
	u32 i;

	kping_buf_to_cpu(buf);
	for (i = 0; i < length; i++)
		ok &= data[i] == (u8)(seed + i);
	kping_buf_to_device(buf);
	return ok;
}

/* Overwrites old data, so that kping_check() cannot mistake it for new data. */
void kping_poison(struct kping_buf *buf)
{
	kping_buf_to_cpu(buf);
	memset(buf->data, KPING_POISON, buf->size);
	kping_buf_to_device(buf);
}
