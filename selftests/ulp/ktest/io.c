// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests, each of which must complete exactly once.
 */
#include <linux/slab.h>

#include "world.h"

static void kt_wr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_wr *wr = container_of(wc->wr_cqe, struct kt_wr, cqe);
	struct kt_io *io = wr->io;

	wr->status = wc->status;
	atomic_inc(&wr->done);
	if (READ_ONCE(io->gone))
		atomic_inc(&io->late);
	if (wc->status == IB_WC_SUCCESS)
		atomic_inc(&io->ok);
	if (io->fn)
		io->fn(io->fn_arg);
	atomic_inc(&io->done);
}

/* Called after the destruction of the endpoint: no request may be outstanding. */
static void kt_io_end(struct kt *t, void *arg)
{
	struct kt_io *io = arg;
	unsigned int i;

	WRITE_ONCE(io->gone, true);
	for (i = 0; i < io->posted; i++)
		if (!kt_expect_eq(t, 1, atomic_read(&io->wr[i].done)))
			break;
	kt_expect_eq(t, io->posted, atomic_read(&io->done));
	/* kt_wr_done() counts handlers that run from now on. */
	schedule_timeout_idle(msecs_to_jiffies(100));
	kt_expect_eq(t, 0, atomic_read(&io->late));
	ib_dma_unmap_single(io->dev, io->dma, KT_IO_SIZE, DMA_BIDIRECTIONAL);
}

struct kt_io *kt_io_create(struct kt *t, struct ib_pd *pd)
{
	struct kt_io *io = kt_zalloc(t, sizeof(*io));
	int i;

	io->dev = pd->device;
	io->lkey = pd->local_dma_lkey;
	io->buf = kt_zalloc(t, KT_IO_SIZE);
	io->dma = ib_dma_map_single(io->dev, io->buf, KT_IO_SIZE, DMA_BIDIRECTIONAL);
	kt_assert_eq(t, 0, ib_dma_mapping_error(io->dev, io->dma));
	for (i = 0; i < ARRAY_SIZE(io->wr); i++) {
		io->wr[i].io = io;
		io->wr[i].cqe.done = kt_wr_done;
	}
	kt_defer(t, KT_IO, kt_io_end, io);
	return io;
}

static struct kt_wr *kt_io_next(struct kt_io *io, struct ib_sge *sge)
{
	if (io->posted == ARRAY_SIZE(io->wr))
		return NULL;
	*sge = (struct ib_sge) {
		.addr = io->dma,
		.length = KT_IO_SIZE,
		.lkey = io->lkey,
	};
	return &io->wr[io->posted++];
}

static int kt_io_post_recv(struct kt_io *io, struct rdma_ep *ep, struct ib_srq *srq)
{
	struct ib_sge sge;
	struct kt_wr *kwr = kt_io_next(io, &sge);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int ret;

	if (!kwr)
		return -ENOSPC;
	wr.wr_cqe = &kwr->cqe;
	if (srq)
		ret = ib_post_srq_recv(srq, &wr, NULL);
	else
		ret = ib_post_recv(rdma_ep_qp(ep), &wr, NULL);
	if (ret)
		io->posted--;
	return ret;
}

int kt_io_recv(struct kt_io *io, struct rdma_ep *ep)
{
	return kt_io_post_recv(io, ep, NULL);
}

int kt_io_srq_recv(struct kt_io *io, struct ib_srq *srq)
{
	return kt_io_post_recv(io, NULL, srq);
}

int kt_io_send(struct kt_io *io, struct rdma_ep *ep)
{
	struct ib_sge sge;
	struct kt_wr *kwr = kt_io_next(io, &sge);
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int ret;

	if (!kwr)
		return -ENOSPC;
	wr.wr_cqe = &kwr->cqe;
	ret = ib_post_send(rdma_ep_qp(ep), &wr, NULL);
	if (ret)
		io->posted--;
	return ret;
}
