// SPDX-License-Identifier: GPL-2.0-only
/* Trace events of sessions. */
#include <linux/string.h>

#include "verbs/verbs.h"

static u32 uep_trace_qp_num(const struct uep_obj *obj)
{
	if (obj->type->type != RDMA_EP_OBJ_QP)
		return 0;
	return container_of(obj, const struct uep_qp, obj)->qp.qp_num;
}

#define CREATE_TRACE_POINTS
#include "trace.h"
