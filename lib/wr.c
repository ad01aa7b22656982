// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting with functions: ibv_wr_start() to ibv_wr_complete() (ibv_wr_post(3)).
 *
 * The functions write the kernel's records into a buffer that belongs to the QP.
 * ibv_wr_complete() passes the list to the kernel, which posts it as a whole or not at all.
 * After an error ibv_wr_complete() drops the list, and returns the first error.
 */
#include "objects.h"

struct lep_wr_list {
	/* Held from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). */
	pthread_mutex_t lock;
	bool started;
	int error;		/* for ibv_wr_complete() */
	uint64_t ops;		/* IBV_QP_EX_WITH_* */
	uint32_t max_sge;
	uint32_t max_wr;
	uint32_t num;
	uint8_t *buf;
	size_t size;
	size_t len;
	size_t last;		/* offset of the last record */
};

static struct lep_wr_list *list_of(struct ibv_qp_ex *qp)
{
	return lep_container(qp, struct lep_qp, ex)->wr;
}

/* Outside of ibv_wr_start() and ibv_wr_complete() errors are ignored. */
static void fail(struct ibv_qp_ex *qp, int error)
{
	struct lep_wr_list *list = list_of(qp);

	if (list->started && !list->error)
		list->error = error;
}

/* Returns room for more bytes at the end of the list, or NULL. */
static void *append(struct ibv_qp_ex *qp, size_t more)
{
	struct lep_wr_list *list = list_of(qp);
	size_t size = list->size;
	uint8_t *buf;

	if (list->len + more > size) {
		while (size < list->len + more)
			size *= 2;
		buf = realloc(list->buf, size);
		if (!buf) {
			fail(qp, ENOMEM);
			return NULL;
		}
		list->buf = buf;
		list->size = size;
	}
	buf = list->buf + list->len;
	list->len += more;
	return buf;
}

/* Returns a new record, or NULL. */
static struct rdma_ep_send_wr *begin(struct ibv_qp_ex *qp, uint64_t op,
				     enum ibv_wr_opcode opcode)
{
	struct lep_wr_list *list = list_of(qp);
	struct rdma_ep_send_wr *rec;

	if (!list->started || list->error)
		return NULL;
	if (!(list->ops & op)) {
		list->error = EINVAL;
		return NULL;
	}
	if (list->num == list->max_wr) {
		list->error = ENOSPC;
		return NULL;
	}
	list->last = list->len;
	rec = append(qp, sizeof(*rec));
	if (!rec)
		return NULL;
	list->num++;
	memset(rec, 0, sizeof(*rec));
	rec->wr_id = qp->wr_id;
	rec->opcode = opcode;
	/* The functions that set the data set this flag. */
	rec->send_flags = qp->wr_flags & ~IBV_SEND_INLINE;
	return rec;
}

static void begin_rdma(struct ibv_qp_ex *qp, uint64_t op,
		       enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, __be32 imm_data)
{
	struct rdma_ep_send_wr *rec = begin(qp, op, opcode);

	if (!rec)
		return;
	rec->rkey = rkey;
	rec->remote_addr = remote_addr;
	rec->imm_data = imm_data;
}

static void begin_atomic(struct ibv_qp_ex *qp, uint64_t op,
			 enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add,
			 uint64_t swap)
{
	struct rdma_ep_send_wr *rec = begin(qp, op, opcode);

	if (!rec)
		return;
	rec->rkey = rkey;
	rec->remote_addr = remote_addr;
	rec->compare_add = compare_add;
	rec->swap = swap;
}

static void begin_send(struct ibv_qp_ex *qp, uint64_t op,
		       enum ibv_wr_opcode opcode, uint32_t imm_data)
{
	struct rdma_ep_send_wr *rec = begin(qp, op, opcode);

	if (rec)
		rec->imm_data = imm_data;
}

/* --------------------------------------------------------- begin a request */

static void wr_send(struct ibv_qp_ex *qp)
{
	begin_send(qp, IBV_QP_EX_WITH_SEND, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
{
	begin_send(qp, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM,
		   imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	begin_send(qp, IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV,
		   invalidate_rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey,
			  uint64_t remote_addr)
{
	begin_rdma(qp, IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE, rkey,
		   remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	begin_rdma(qp, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		   IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey,
			 uint64_t remote_addr)
{
	begin_rdma(qp, IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ, rkey,
		   remote_addr, 0);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	begin_atomic(qp, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		     IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
		     swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	begin_atomic(qp, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		     IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

/* ---------------------------------------------------- set members of the last */

/* The last record, or NULL. */
static struct rdma_ep_send_wr *last(struct ibv_qp_ex *qp)
{
	struct lep_wr_list *list = list_of(qp);

	if (!list->num)
		fail(qp, EINVAL);
	return !list->started || list->error ?
		NULL : (void *)(list->buf + list->last);
}

/* Remove the last record's data, and append bytes for new data. NULL on failure. */
static void *new_data(struct ibv_qp_ex *qp, size_t bytes)
{
	struct lep_wr_list *list = list_of(qp);
	struct rdma_ep_send_wr *rec = last(qp);

	if (!rec)
		return NULL;
	rec->send_flags &= ~IBV_SEND_INLINE;
	rec->num_sge = 0;
	rec->inline_len = 0;
	list->len = list->last + sizeof(*rec);
	return append(qp, bytes);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct rdma_ep_send_wr *rec = last(qp);

	if (!rec)
		return;
	if (!ah || !lep_ours(ah->context)) {
		fail(qp, EINVAL);
		return;
	}
	rec->ah = ah->handle;
	rec->remote_qpn = remote_qpn;
	rec->remote_qkey = remote_qkey;
}

/*
 * Mandatory on XRC_SEND QPs, but none of their operations consumes a receive of the SRQ. (A work
 * request of the kernel has no field for its number.)
 */
static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	(void)remote_srqn;
	if (qp->qp_base.qp_type != IBV_QPT_XRC_SEND)
		fail(qp, EOPNOTSUPP);
	else
		last(qp);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	void *p;

	if (num_sge > list_of(qp)->max_sge) {
		fail(qp, ENOSPC);
		return;
	}
	if (num_sge && !sg_list) {
		fail(qp, EINVAL);
		return;
	}
	p = new_data(qp, num_sge * sizeof(struct rdma_ep_sge));
	if (!p || !num_sge)
		return;
	memcpy(p, sg_list, num_sge * sizeof(struct rdma_ep_sge));
	last(qp)->num_sge = num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	wr_set_sge_list(qp, length ? 1 : 0, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	uint32_t max = lep_container(qp, struct lep_qp, ex)->max_inline_data;
	struct rdma_ep_send_wr *rec;
	size_t bytes = 0, padded, i;
	uint8_t *p;

	if (num_buf && !buf_list) {
		fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		if (buf_list[i].length > max - bytes) {
			fail(qp, ENOSPC);
			return;
		}
		bytes += buf_list[i].length;
	}
	padded = (bytes + 7) & ~(size_t)7;
	p = new_data(qp, padded);
	if (!p)
		return;
	rec = last(qp);
	rec->send_flags |= IBV_SEND_INLINE;
	rec->inline_len = bytes;
	for (i = 0; i < num_buf; i++) {
		if (!buf_list[i].length)
			continue;
		memcpy(p, buf_list[i].addr, buf_list[i].length);
		p += buf_list[i].length;
	}
	memset(p, 0, padded - bytes);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp, 1, &buf);
}

/* -------------------------------------------------------------- the whole list */

static void wr_start(struct ibv_qp_ex *qp)
{
	struct lep_wr_list *list = list_of(qp);

	pthread_mutex_lock(&list->lock);
	list->error = 0;
	list->num = 0;
	list->len = 0;
	list->started = true;
}

static void unlock_list(struct lep_wr_list *list)
{
	list->started = false;
	pthread_mutex_unlock(&list->lock);
}

/* One command for the whole list: the kernel posts all of it or nothing. */
static int post_list(struct ibv_qp_ex *qp)
{
	struct lep_wr_list *list = list_of(qp);
	struct rdma_ep_cmd_post cmd = {
		.flags = RDMA_EP_POST_ALL,
		.wrs = (uintptr_t)list->buf,
		.wrs_len = list->len,
		.handle = qp->qp_base.handle,
		.num = list->num,
	};

	if (list->len > UINT32_MAX)
		return ENOMEM;
	if (!lep_ctx_call(qp->qp_base.context, POST_SEND, &cmd))
		return 0;
	/* A full queue is the same error as the limits above. */
	return errno == ENOMEM ? ENOSPC : errno;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct lep_wr_list *list = list_of(qp);
	int ret;

	if (!list->started)
		return EINVAL;
	ret = list->error;
	if (!ret && list->num)
		ret = post_list(qp);
	unlock_list(list);
	return ret;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	struct lep_wr_list *list = list_of(qp);

	if (list->started)
		unlock_list(list);
}

/*
 * Operations that no QP can be created with stay NULL, as with other providers: programs
 * test these pointers (librpma: wr_atomic_write, wr_flush).
 */
static void set_qp_functions(struct ibv_qp_ex *qp)
{
	qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->wr_rdma_read = wr_rdma_read;
	qp->wr_rdma_write = wr_rdma_write;
	qp->wr_rdma_write_imm = wr_rdma_write_imm;
	qp->wr_send = wr_send;
	qp->wr_send_imm = wr_send_imm;
	qp->wr_send_inv = wr_send_inv;
	qp->wr_set_ud_addr = wr_set_ud_addr;
	qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
}

#define FIRST_SIZE 2048

/* Sets these functions of a QP before its creation. Returns 0, or -1 and errno. */
int lep_wr_list_create(struct lep_qp *qp, uint64_t ops)
{
	struct lep_wr_list *list;

	list = calloc(1, sizeof(*list));
	if (!list)
		return -1;
	list->buf = malloc(FIRST_SIZE);
	if (!list->buf) {
		free(list);
		return -1;
	}
	list->size = FIRST_SIZE;
	list->ops = ops;
	pthread_mutex_init(&list->lock, NULL);
	qp->wr = list;
	set_qp_functions(&qp->ex);
	return 0;
}

/* Sets the limits that the kernel has granted to the QP. */
void lep_wr_list_set_limits(struct lep_qp *qp, const struct ibv_qp_cap *cap)
{
	qp->wr->max_sge = cap->max_send_sge;
	qp->wr->max_wr = cap->max_send_wr;
}

/* True between ibv_wr_start() and ibv_wr_complete() */
bool lep_wr_list_started(const struct lep_qp *qp)
{
	return qp->wr && qp->wr->started;
}

/* The operations of a QP with these functions, else 0 */
uint64_t lep_wr_list_ops(const struct lep_qp *qp)
{
	return qp->wr ? qp->wr->ops : 0;
}

void lep_wr_list_free(struct lep_wr_list *list)
{
	if (!list)
		return;
	pthread_mutex_destroy(&list->lock);
	free(list->buf);
	free(list);
}
