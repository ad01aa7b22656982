// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions of versions 1.15 to 1.18 of libibverbs' ABI that are not supported. (buf.c has
 * the supported ones.) Programs that were built with newer headers may call them on objects
 * of this library, so they are defined even if the headers of this build lack them.
 */
#include "objects.h"

struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* Every object starts with its context, also if these headers lack its structure. */
static bool foreign(const void *obj)
{
	return obj && !lep_ours(*(struct ibv_context *const *)obj);
}

/* The same for contexts. */
static bool foreign_context(const struct ibv_context *context)
{
	return context && !lep_ours(context);
}

#define NEWER(ret, fn, version, fail, is_foreign, own, params, args) \
	LEP_EXPORT ret fn params; \
	ret fn params \
	{ \
		if (is_foreign) \
			return lep_forward(fail, version, fn, args); \
		return own; \
	}
#define ARGS(...) __VA_ARGS__

NEWER(struct ibv_dmah *, ibv_alloc_dmah, "IBVERBS_1.15", NULL,
      foreign_context(context), lep_null(EOPNOTSUPP),
      (struct ibv_context *context, struct ibv_dmah_init_attr *attr),
      ARGS(context, attr))

NEWER(int, ibv_dealloc_dmah, "IBVERBS_1.15", ENOSYS, foreign(dmah), EOPNOTSUPP,
      (struct ibv_dmah *dmah), ARGS(dmah))

NEWER(int, ibv_dm_export_dmabuf_fd, "IBVERBS_1.16", -1, foreign(dm),
      lep_err(EOPNOTSUPP), (struct ibv_dm *dm), ARGS(dm))

NEWER(int, ibv_query_port_speed, "IBVERBS_1.16", ENOSYS,
      foreign_context(context), EOPNOTSUPP,
      (struct ibv_context *context, uint32_t port_num, uint64_t *port_speed),
      ARGS(context, port_num, port_speed))

NEWER(int, _ibv_query_comp_cntr_caps, "IBVERBS_1.18", ENOSYS,
      foreign_context(context), EOPNOTSUPP,
      (struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
       size_t caps_size),
      ARGS(context, caps, caps_size))

NEWER(struct ibv_comp_cntr *, ibv_create_comp_cntr, "IBVERBS_1.18", NULL,
      foreign_context(context), lep_null(EOPNOTSUPP),
      (struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr),
      ARGS(context, attr))

NEWER(int, ibv_destroy_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr), ARGS(cntr))

NEWER(int, ibv_set_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t value),
      ARGS(cntr, value))

NEWER(int, ibv_set_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t value),
      ARGS(cntr, value))

NEWER(int, ibv_inc_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t amount),
      ARGS(cntr, amount))

NEWER(int, ibv_inc_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t amount),
      ARGS(cntr, amount))

NEWER(int, ibv_read_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t *value),
      ARGS(cntr, value))

NEWER(int, ibv_read_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
      EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t *value),
      ARGS(cntr, value))

NEWER(int, ibv_qp_attach_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(qp),
      EOPNOTSUPP,
      (struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
       struct ibv_qp_attach_comp_cntr_attr *attr),
      ARGS(qp, cntr, attr))
