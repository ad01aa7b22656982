// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests and completions for the raw ioctl tests.
 */
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"

static void *append(struct abi_wrs *w, __u32 len)
{
	void *p = (char *)w->buf + w->len;

	assert(w->len + len <= sizeof(w->buf));
	memset(p, 0, len);
	w->len += len;
	return p;
}

struct rdma_ep_send_wr *abi_send_wr(struct abi_wrs *w, __u32 opcode, __u32 flags, __u64 wr_id)
{
	struct rdma_ep_send_wr *wr = append(w, sizeof(*wr));

	wr->wr_id = wr_id;
	wr->opcode = opcode;
	wr->send_flags = flags;
	w->num_sge = &wr->num_sge;
	w->num++;
	return wr;
}

struct rdma_ep_recv_wr *abi_recv_wr(struct abi_wrs *w, __u64 wr_id)
{
	struct rdma_ep_recv_wr *wr = append(w, sizeof(*wr));

	wr->wr_id = wr_id;
	w->num_sge = &wr->num_sge;
	w->num++;
	return wr;
}

void abi_sge(struct abi_wrs *w, __u64 addr, __u32 length, __u32 lkey)
{
	struct rdma_ep_sge *sge = append(w, sizeof(*sge));

	sge->addr = addr;
	sge->length = length;
	sge->lkey = lkey;
	++*w->num_sge;
}

void abi_mr_sge(struct abi_wrs *w, const struct rdma_ep_cmd_reg_mr *mr, __u64 offset, __u32 length)
{
	abi_sge(w, mr->iova + offset, length, mr->lkey);
}

void abi_remote(struct rdma_ep_send_wr *wr, const struct rdma_ep_cmd_reg_mr *mr, __u64 offset)
{
	wr->remote_addr = mr->iova + offset;
	wr->rkey = mr->rkey;
}

void abi_inline(struct abi_wrs *w, struct rdma_ep_send_wr *wr, const void *data, __u32 len)
{
	memcpy(append(w, (len + 7) & ~7U), data, len);
	wr->send_flags |= SEND_INLINE;
	wr->inline_len = len;
}

static int post(const struct abi *s, unsigned long cmd, __u32 flags,
		__u32 handle, const struct abi_wrs *w, __u32 *posted)
{
	struct rdma_ep_cmd_post p = {
		.flags = flags, .wrs = (uintptr_t)w->buf, .wrs_len = w->len, .handle = handle,
		.num = w->num, .posted = ~0U,
	};
	int ret = abi_ioctl(s->fd, cmd, &p);

	if (posted)
		*posted = p.posted;
	else if (!ret && p.posted != w->num)
		return -EPROTO;
	return ret;
}

int abi_post(const struct abi *s, unsigned long cmd, __u32 handle,
	     const struct abi_wrs *w, __u32 *posted)
{
	return post(s, cmd, 0, handle, w, posted);
}

void abi_recv_wrs(struct abi_wrs *w, __u32 num, __u64 first)
{
	abi_wrs_init(w);
	while (num--)
		abi_recv_wr(w, first++);
}

void abi_send_wrs(struct abi_wrs *w, __u32 num, __u32 flags, __u64 first)
{
	abi_wrs_init(w);
	while (num--)
		abi_send_wr(w, WR_SEND, flags, first++);
}

int abi_recv_one(const struct abi *s, __u32 qp, __u64 wr_id, __u64 addr, __u32 len, __u32 lkey)
{
	struct abi_wrs w;

	abi_wrs_recv(&w, wr_id);
	if (len)
		abi_sge(&w, addr, len, lkey);
	return ABI_POST(s, RECV, qp, &w, NULL);
}

int abi_send_one(const struct abi *s, __u32 qp, __u32 flags, __u64 wr_id, __u64 addr,
		 __u32 len, __u32 lkey)
{
	struct abi_wrs w;

	abi_wrs_send(&w, WR_SEND, flags, wr_id);
	if (len)
		abi_sge(&w, addr, len, lkey);
	return ABI_POST(s, SEND, qp, &w, NULL);
}

int abi_send_all(const struct abi *s, __u32 qp, const struct abi_wrs *w, __u32 *posted)
{
	return post(s, RDMA_EP_IOC_POST_SEND, RDMA_EP_POST_ALL, qp, w, posted);
}

int abi_poll(const struct abi *s, __u32 cq, struct rdma_ep_wc *wcs, __u32 max)
{
	struct rdma_ep_cmd_poll_cq p = { .wcs = (uintptr_t)wcs, .cq = cq, .max = max };
	int ret = ABI(s->fd, POLL_CQ, &p);

	if (ret)
		return ret;
	return p.num <= max ? (int)p.num : -EPROTO;
}

int abi_wait(const struct abi *s, __u32 cq, struct rdma_ep_wc *wcs, __u32 num)
{
	long end = abi_now_ms() + ABI_WAIT_MS;
	__u32 n = 0;
	int ret;

	while (n < num && abi_now_ms() < end) {
		ret = abi_poll(s, cq, wcs + n, num - n);
		if (ret < 0)
			return ret;
		n += ret;
		if (!ret)
			usleep(1000);
	}
	if (n < num)
		fprintf(stderr, "# %u of %u completions\n", n, num);
	return n;
}

struct rdma_ep_cq_ring *abi_rings(const struct abi *s)
{
	void *p = mmap(NULL, ABI_RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static __u32 ring_take(struct rdma_ep_cq_ring *ring, struct rdma_ep_wc *wcs, __u32 max)
{
	__u32 head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	__u32 tail = ring->tail, n;

	for (n = 0; n < max && tail != head; n++, tail++)
		wcs[n] = ring->wc[tail % RDMA_EP_RING_ENTRIES];
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return n;
}

int abi_ring_poll(const struct abi *s, __u32 cq, struct rdma_ep_cq_ring *ring,
		  struct rdma_ep_wc *wcs, __u32 max)
{
	struct rdma_ep_cmd_poll_cq p = { .cq = cq };
	__u32 n = ring_take(ring, wcs, max), more;
	int ret;

	while (n < max && __atomic_load_n(&ring->pending, __ATOMIC_ACQUIRE)) {
		ret = ABI(s->fd, POLL_CQ, &p);
		if (ret)
			return n ? (int)n : ret;
		more = ring_take(ring, wcs + n, max - n);
		if (!more)
			break;
		n += more;
	}
	return n;
}

void abi_bad_ranges(__u64 base, __u32 len, struct abi_range *bad)
{
	const struct abi_range ranges[ABI_BAD_RANGES] = {
		{ base - 1, 1 }, { base - 1, 2 }, { base - 4096, 4096 },
		{ base + len, 1 }, { base + len - 1, 2 }, { base, len + 1 },
		{ base, 0x80000000 }, { base, 0xffffffff },
		{ base + 1, 0xffffffff }, { base + len - 1, 0xffffffff },
		{ base - 1, len + 2 }, { 0, 1 }, { 0, 0xffffffff },
		{ ~0ULL, 1 }, { ~0ULL, 2 }, { ~0ULL, 0xffffffff },
		{ -(__u64)len, len }, { base | 1ULL << 63, 8 },
		{ base + (1ULL << 32), 8 }, { base - (1ULL << 32), 8 },
		{ 0xffff888000000000ULL, 8 },	/* the kernel's direct map */
	};

	memcpy(bad, ranges, sizeof(ranges));
}
