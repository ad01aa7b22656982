// SPDX-License-Identifier: BSD-2-Clause
/*
 * Extended completion queues: iterating over completions, ibv_start_poll() to
 * ibv_end_poll().
 *
 * Completions are taken from the kernel a few at a time. Those that the program
 * has not come to when it ends its iteration wait for the next one, or for
 * ibv_poll_cq(), in front of what is still in the kernel.
 */
#include "internal.h"

#define BATCH 16

struct lep_cq_batch {
	/* Held from ibv_start_poll() to ibv_end_poll(). */
	pthread_mutex_t lock;
	bool single_threaded;
	bool polling;
	/* wc[next] to wc[num - 1] are for the program. */
	unsigned int next;
	unsigned int num;
	/* What the reading functions read: in an iteration wc[next]. */
	const struct ibv_wc *now;
	struct ibv_wc wc[BATCH];
};

static struct lep_cq_batch *batch_of(struct ibv_cq_ex *cq)
{
	return lep_container(cq, struct lep_cq, ex)->batch;
}

static void batch_lock(struct lep_cq_batch *b)
{
	if (!b->single_threaded)
		pthread_mutex_lock(&b->lock);
}

static void batch_unlock(struct lep_cq_batch *b)
{
	if (!b->single_threaded)
		pthread_mutex_unlock(&b->lock);
}

/*
 * Take the next ones from the kernel; 0 or an errno, and then what is there stays
 * as it is.
 */
static int batch_fetch(struct ibv_cq_ex *cq, struct lep_cq_batch *b)
{
	int ret;

	ret = lep_poll_kernel(ibv_cq_ex_to_cq(cq), BATCH, b->wc);
	if (ret <= 0)
		return ret ? -ret : ENOENT;
	b->next = 0;
	b->num = ret;
	return 0;
}

static void batch_show(struct ibv_cq_ex *cq, struct lep_cq_batch *b)
{
	b->now = &b->wc[b->next];
	cq->status = b->now->status;
	cq->wr_id = b->now->wr_id;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct lep_cq_batch *b = batch_of(cq);
	int ret = 0;

	if (attr && attr->comp_mask)
		return errno = EINVAL;
	batch_lock(b);
	if (b->next == b->num)
		ret = batch_fetch(cq, b);
	if (ret) {
		batch_unlock(b);
		return errno = ret;
	}
	b->polling = true;
	batch_show(cq, b);
	return 0;
}

/*
 * Always asks the kernel before it says ENOENT: a program that has armed the CQ
 * within its iteration would wait for what has come meanwhile. The last
 * completion can still be read then.
 */
static int next_poll(struct ibv_cq_ex *cq)
{
	struct lep_cq_batch *b = batch_of(cq);
	int ret;

	if (!b->polling)
		return errno = EINVAL;
	if (b->next + 1 < b->num) {
		b->next++;
	} else {
		ret = batch_fetch(cq, b);
		if (ret)
			return errno = ret;
	}
	batch_show(cq, b);
	return 0;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct lep_cq_batch *b = batch_of(cq);

	if (!b->polling)
		return;
	b->polling = false;
	b->next++;
	batch_unlock(b);
}

static const struct ibv_wc *wc_of(struct ibv_cq_ex *cq)
{
	return batch_of(cq)->now;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->byte_len;
}

/* Or the key that was invalidated: it is in the same place. */
static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return wc_of(cq)->dlid_path_bits;
}

/* No CQ can be created with what these read; programs that do it get 0. */

static uint64_t read_no_time(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint16_t read_no_vlan(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint32_t read_no_tag(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static void read_no_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	(void)cq;
	memset(info, 0, sizeof(*info));
}

static void set_functions(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	cq->read_completion_ts = read_no_time;
	cq->read_cvlan = read_no_vlan;
	cq->read_flow_tag = read_no_tag;
	cq->read_tm_info = read_no_tm_info;
	cq->read_completion_wallclock_ns = read_no_time;
}

/*
 * What ibv_create_cq_ex(3) ends in. A parent domain makes no difference: it can
 * only be a plain one.
 */
struct ibv_cq_ex *lep_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct lep_cq_batch *b;
	struct ibv_cq *cq;
	int flags;

	if (!attr)
		return lep_null(EINVAL);
	flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return lep_null(EOPNOTSUPP);

	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	cq = lep_cq_create(context, attr->cqe, attr->cq_context, attr->channel,
			   attr->comp_vector);
	if (!cq) {
		free(b);
		return NULL;
	}
	pthread_mutex_init(&b->lock, NULL);
	b->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	b->now = b->wc;
	lep_to_cq(cq)->batch = b;
	set_functions(&lep_to_cq(cq)->ex);
	return &lep_to_cq(cq)->ex;
}

void lep_cq_batch_free(struct lep_cq_batch *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ibv_poll_cq(3) of an extended CQ. */
int lep_cq_batch_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct lep_cq_batch *b = lep_to_cq(cq)->batch;
	int got, ret = 0;

	batch_lock(b);
	got = b->num - b->next;
	if (got > num)
		got = num;
	memcpy(wc, &b->wc[b->next], got * sizeof(*wc));
	b->next += got;
	if (got < num)
		ret = lep_poll_kernel(cq, num - got, wc + got);
	batch_unlock(b);
	return ret < 0 && !got ? ret : got + (ret > 0 ? ret : 0);
}

/* How many completions of an extended CQ are not in the kernel any more. */
int lep_cq_batch_left(struct ibv_cq *cq)
{
	struct lep_cq_batch *b = lep_to_cq(cq)->batch;
	int left;

	batch_lock(b);
	left = b->num - b->next;
	batch_unlock(b);
	return left;
}
