// SPDX-License-Identifier: BSD-2-Clause
/*
 * Buffers that the library allocates, and memory regions described by a structure.
 * libibverbs has them from versions 1.15 and 1.17 of its ABI on. The kernel registers any
 * memory, so the buffers are ordinary memory.
 */
#include <unistd.h>

#include "objects.h"

struct ibv_buf {
	const void *mark;	/* &mark; another address in libibverbs */
	struct ibv_pd *pd;
	void *addr;
	size_t size;
};

static const char mark;

/* The structure of newer verbs.h. */
struct ibv_mr_init_attr;
struct mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
	struct ibv_buf *buf;
};

#define MASK_IOVA	(1 << 0)
#define MASK_ADDR	(1 << 1)
#define MASK_FD		(1 << 2)
#define MASK_FD_OFFSET	(1 << 3)
#define MASK_BUF	(1 << 5)

/* ibv_alloc_buf(3) */
LEP_EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size,
			       struct ibv_buf **out);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **out)
{
	struct ibv_buf *buf;
	int error;

	if (!pd || !out)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.17", ibv_alloc_buf, pd, size,
				   out);
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return NULL;
	error = posix_memalign(&buf->addr, sysconf(_SC_PAGESIZE), size);
	if (error) {
		free(buf);
		return lep_null(error);
	}
	buf->mark = &mark;
	buf->pd = pd;
	buf->size = size;
	*out = buf;
	return buf->addr;
}

/* ibv_free_buf(3) */
LEP_EXPORT void ibv_free_buf(struct ibv_buf *buf);
void ibv_free_buf(struct ibv_buf *buf)
{
	if (!buf)
		return;
	if (buf->mark != &mark) {
		lep_forward_void("IBVERBS_1.17", ibv_free_buf, buf);
		return;
	}
	buf->mark = NULL;
	free(buf->addr);
	free(buf);
}

/* ibv_export_buf_dmabuf_fd(3): no buffer of this library is backed by a DMA-buf. */
LEP_EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	if (buf && buf->mark != &mark)
		return lep_forward(-1, "IBVERBS_1.18", ibv_export_buf_dmabuf_fd,
				   buf);
	return lep_err(buf ? ENODATA : EINVAL);
}

/* True if the range is within the buffer, and the buffer belongs to the PD. */
static bool fits_buf(const struct ibv_pd *pd, const struct mr_init_attr *attr)
{
	const struct ibv_buf *buf = attr->buf;
	uintptr_t offset;

	if (!buf || buf->mark != &mark || buf->pd != pd ||
	    (uintptr_t)attr->addr < (uintptr_t)buf->addr)
		return false;
	offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;
	return offset <= buf->size && attr->length <= buf->size - offset;
}

static struct ibv_mr *reg_mr_ex(struct ibv_pd *pd,
				const struct mr_init_attr *attr)
{
	uint64_t iova = (uintptr_t)attr->addr;

	if (attr->comp_mask & ~(MASK_IOVA | MASK_ADDR | MASK_FD |
				MASK_FD_OFFSET | MASK_BUF))
		return lep_null(EOPNOTSUPP);
	if (attr->comp_mask & MASK_FD) {
		if ((attr->comp_mask & (MASK_ADDR | MASK_BUF)) ||
		    !(attr->comp_mask & MASK_FD_OFFSET) ||
		    !(attr->comp_mask & MASK_IOVA))
			return lep_null(EINVAL);
		return lep_null(EOPNOTSUPP);
	}
	if (!(attr->comp_mask & MASK_ADDR) ||
	    (attr->comp_mask & MASK_FD_OFFSET) ||
	    ((attr->comp_mask & MASK_BUF) && !fits_buf(pd, attr)))
		return lep_null(EINVAL);
	if (attr->comp_mask & MASK_IOVA)
		iova = attr->iova;
	return lep_mr_reg(pd, attr->addr, attr->length, iova, attr->access);
}

/* ibv_reg_mr_ex(3) */
LEP_EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd,
					struct ibv_mr_init_attr *attr);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	if (!pd || !attr)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.15", ibv_reg_mr_ex, pd,
				   attr);
	return reg_mr_ex(pd, (const struct mr_init_attr *)attr);
}

/* ibv_reg_buf_mr(3) */
LEP_EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf,
					 void *addr, size_t length, int access);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
			      size_t length, int access)
{
	struct mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = MASK_BUF | MASK_ADDR,
		.addr = addr,
		.buf = buf,
	};

	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.17", ibv_reg_buf_mr, pd, buf,
				   addr, length, access);
	return reg_mr_ex(pd, &attr);
}
