// SPDX-License-Identifier: BSD-2-Clause
/*
 * Polling, and the batches of extended completion queues: an iteration over completions
 * from ibv_start_poll() to ibv_end_poll().
 *
 * The batch takes completions from the kernel a few at a time. Completions that an
 * iteration did not reach come first in the next iteration, or in the next ibv_poll_cq().
 */
#include "objects.h"

#define BATCH 16

struct lep_cq_batch {
	/* Held from ibv_start_poll() to ibv_end_poll(). */
	pthread_mutex_t lock;
	bool single_threaded;
	bool polling;
	/* Completions that the program has not read yet: wc[next] to wc[num - 1]. */
	unsigned int next;
	unsigned int num;
	/* The completion that the read functions return: wc[next] in an iteration. */
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

/* Fetches a batch from the kernel. 0, or an errno that leaves the batch as it is. */
static int batch_fetch(struct ibv_cq_ex *cq, struct lep_cq_batch *b)
{
	int ret;

	ret = lep_cq_poll(ibv_cq_ex_to_cq(cq), BATCH, b->wc);
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
 * Polls the kernel before it returns ENOENT: a program that has armed the CQ within its
 * iteration would otherwise wait although completions have arrived since. After ENOENT the
 * last completion can still be read.
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

/* The invalidated key is in the same place. */
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

/* No CQ can be created with these members; a program that reads them gets 0. */

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

static void set_cq_functions(struct ibv_cq_ex *cq)
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

struct lep_cq_batch *lep_cq_batch_alloc(bool single_threaded)
{
	struct lep_cq_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->single_threaded = single_threaded;
	b->now = b->wc;
	return b;
}

void lep_cq_batch_free(struct lep_cq_batch *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* Makes the CQ an extended one. The CQ owns the batch from now on. */
void lep_cq_batch_attach(struct lep_cq *cq, struct lep_cq_batch *b)
{
	cq->batch = b;
	set_cq_functions(&cq->ex);
}

static int poll_batch(struct ibv_cq *cq, int num, struct ibv_wc *wc)
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
		ret = lep_cq_poll(cq, num - got, wc + got);
	batch_unlock(b);
	return ret < 0 && !got ? ret : got + (ret > 0 ? ret : 0);
}

/* The number of unread completions in the batch of an extended CQ. */
int lep_cq_batch_left(struct ibv_cq *cq)
{
	struct lep_cq_batch *b = lep_to_cq(cq)->batch;
	int left;

	batch_lock(b);
	left = b->num - b->next;
	batch_unlock(b);
	return left;
}

bool lep_cq_batch_single_threaded(const struct lep_cq *cq)
{
	return cq->batch->single_threaded;
}

/* True if the completions that are left in the batch can go back to the kernel. */
bool lep_cq_can_unread(struct lep_cq *cq)
{
	int left;

	if (!cq->batch)
		return true;
	if (cq->batch->polling)
		return false;
	left = lep_cq_batch_left(&cq->cq);
	return !left || (cq->ring && (unsigned int)left <= lep_ring_room(cq->ring));
}

/* Puts them into the ring, where the next owner finds them. */
void lep_cq_unread(struct lep_cq *cq)
{
	struct lep_cq_batch *b = cq->batch;

	if (!b || b->next == b->num)
		return;
	lep_ring_unread(cq->ring, &b->wc[b->next], b->num - b->next);
	b->next = b->num;
}

/* ibv_poll_cq(3) */
int lep_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	if (num <= 0)
		return 0;
	return lep_to_cq(cq)->batch ? poll_batch(cq, num, wc) :
				      lep_cq_poll(cq, num, wc);
}
