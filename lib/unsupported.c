// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that the kernel ABI cannot implement. They are defined because the real ones
 * would use private members that objects of this library lack. They fail as the real ones
 * do if a provider lacks the feature. (Most inline functions of verbs.h fail by themselves,
 * see set_ops().)
 */
#include "objects.h"

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

#define UNSUPPORTED(ret, fn, version, fail, is_foreign, own, params, args) \
	LEP_EXPORT ret fn params; \
	ret fn params \
	{ \
		if (is_foreign) \
			return lep_forward(fail, version, fn, args); \
		return own; \
	}
#define ARGS(...) __VA_ARGS__

/* Verbs: other kinds of memory regions */

UNSUPPORTED(struct ibv_mr *, ibv_reg_dmabuf_mr, "IBVERBS_1.12", NULL, foreign(pd),
	    lep_null(pd ? EOPNOTSUPP : EINVAL),
	    (struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
	     int access),
	    ARGS(pd, offset, length, iova, fd, access))

/*
 * Verbs: objects of another process. The call that imports a device is never passed on: the
 * program would run on the stock stack without notice.
 */

LEP_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return lep_null(EOPNOTSUPP);
}

UNSUPPORTED(struct ibv_pd *, ibv_import_pd, "IBVERBS_1.10", NULL,
	    foreign_context(context), lep_null(EOPNOTSUPP),
	    (struct ibv_context *context, uint32_t pd_handle), ARGS(context, pd_handle))

UNSUPPORTED(struct ibv_mr *, ibv_import_mr, "IBVERBS_1.10", NULL, foreign(pd),
	    lep_null(EOPNOTSUPP), (struct ibv_pd *pd, uint32_t mr_handle),
	    ARGS(pd, mr_handle))

UNSUPPORTED(struct ibv_dm *, ibv_import_dm, "IBVERBS_1.13", NULL,
	    foreign_context(context), lep_null(EOPNOTSUPP),
	    (struct ibv_context *context, uint32_t dm_handle), ARGS(context, dm_handle))

#define UNIMPORT(fn, version, type) \
	LEP_EXPORT void fn(struct type *obj) \
	{ \
		if (obj && !lep_ours(obj->context)) \
			lep_forward_void(version, fn, obj); \
	}

UNIMPORT(ibv_unimport_pd, "IBVERBS_1.10", ibv_pd)
UNIMPORT(ibv_unimport_mr, "IBVERBS_1.10", ibv_mr)
UNIMPORT(ibv_unimport_dm, "IBVERBS_1.13", ibv_dm)

/* Verbs: a provider's helper */

UNSUPPORTED(int, ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1", -ENOSYS,
	    foreign_context(context), -EOPNOTSUPP,
	    (struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6],
	     uint16_t *vid),
	    ARGS(context, attr, eth_mac, vid))

/*
 * Verbs: versions 1.15 to 1.18 of libibverbs' ABI. (buf.c has the supported functions of
 * these versions.) Programs that were built with newer headers may call them on objects of
 * this library, so they are defined even if the headers of this build lack them.
 */

struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

UNSUPPORTED(struct ibv_dmah *, ibv_alloc_dmah, "IBVERBS_1.15", NULL,
	    foreign_context(context), lep_null(EOPNOTSUPP),
	    (struct ibv_context *context, struct ibv_dmah_init_attr *attr),
	    ARGS(context, attr))

UNSUPPORTED(int, ibv_dealloc_dmah, "IBVERBS_1.15", ENOSYS, foreign(dmah), EOPNOTSUPP,
	    (struct ibv_dmah *dmah), ARGS(dmah))

UNSUPPORTED(int, ibv_dm_export_dmabuf_fd, "IBVERBS_1.16", -1, foreign(dm),
	    lep_err(EOPNOTSUPP), (struct ibv_dm *dm), ARGS(dm))

UNSUPPORTED(int, ibv_query_port_speed, "IBVERBS_1.16", ENOSYS,
	    foreign_context(context), EOPNOTSUPP,
	    (struct ibv_context *context, uint32_t port_num, uint64_t *port_speed),
	    ARGS(context, port_num, port_speed))

UNSUPPORTED(int, _ibv_query_comp_cntr_caps, "IBVERBS_1.18", ENOSYS,
	    foreign_context(context), EOPNOTSUPP,
	    (struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
	     size_t caps_size),
	    ARGS(context, caps, caps_size))

UNSUPPORTED(struct ibv_comp_cntr *, ibv_create_comp_cntr, "IBVERBS_1.18", NULL,
	    foreign_context(context), lep_null(EOPNOTSUPP),
	    (struct ibv_context *context, struct ibv_comp_cntr_init_attr *attr),
	    ARGS(context, attr))

UNSUPPORTED(int, ibv_destroy_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr), ARGS(cntr))

UNSUPPORTED(int, ibv_set_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t value),
	    ARGS(cntr, value))

UNSUPPORTED(int, ibv_set_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t value),
	    ARGS(cntr, value))

UNSUPPORTED(int, ibv_inc_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t amount),
	    ARGS(cntr, amount))

UNSUPPORTED(int, ibv_inc_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t amount),
	    ARGS(cntr, amount))

UNSUPPORTED(int, ibv_read_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t *value),
	    ARGS(cntr, value))

UNSUPPORTED(int, ibv_read_err_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(cntr),
	    EOPNOTSUPP, (struct ibv_comp_cntr *cntr, uint64_t *value),
	    ARGS(cntr, value))

UNSUPPORTED(int, ibv_qp_attach_comp_cntr, "IBVERBS_1.18", ENOSYS, foreign(qp),
	    EOPNOTSUPP,
	    (struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
	     struct ibv_qp_attach_comp_cntr_attr *attr),
	    ARGS(qp, cntr, attr))
