// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session with one object of each type, and the list of features that devices lack.
 */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi_cmds.h"

static int fail(const char *what, int ret)
{
	if (ret)
		fprintf(stderr, "# %s: %s\n", what, strerror(-ret));
	return ret;
}

/* Since Linux 6.5 rxe has REREG_MR and work items. The tests run on 6.1 and on newer kernels. */
static bool abi_is_new_rxe(const struct abi *s)
{
	struct utsname u;

	return !s->iwarp && !uname(&u) && strncmp(u.release, "6.1.", 4);
}

const char *abi_missing(const struct abi *s, enum abi_feature feature)
{
	switch (feature) {
	case ABI_EVERYWHERE:
		break;
	case ABI_IB:
		return s->iwarp ? "iWARP has none of this" : NULL;
	case ABI_XRC:
		return s->mock ? NULL : "neither rxe nor siw has XRC";
	case ABI_RESIZE_CQ:
		return s->iwarp ? "siw does not resize CQs" : NULL;
	case ABI_REREG_MR:
		return s->mock || abi_is_new_rxe(s) ? NULL :
		       "neither siw nor rxe of Linux 6.1 changes regions";
	case ABI_MODERATION:
		return s->mock ? NULL : "neither rxe nor siw moderates events";
	case ABI_DEFERRED:
		return s->iwarp || abi_is_new_rxe(s) ? NULL :
		       "rxe of Linux 6.1 executes requests before the post returns";
	}
	return NULL;
}

int abi_world_qp(struct abi_world *w, __u32 type, __u32 *qp, __u32 *num)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, type, ABI_OBJ(w, PD), ABI_OBJ(w, CQ), ABI_OBJ(w, CQ));
	ret = ABI(w->s.fd, CREATE_QP, &c);
	*qp = c.init.qp;
	*num = c.init.qp_num;
	return ret;
}

int abi_world_id(struct abi_world *w, __u32 *id)
{
	struct sockaddr_in sin = w->s.addr;

	return abi_tcp_id(&w->s, w->channel, 7, id) ?:
	       abi_bind(&w->s, *id, &sin);
}

int abi_world_open(struct abi_world *w)
{
	struct abi *s = &w->s;
	__u32 *obj = w->obj;
	struct rdma_ep_cmd_reg_mr mr;
	int fd, ret;

	memset(w, 0, sizeof(*w));
	ret = fail("open", abi_open(s));
	if (ret)
		return ret;
	w->channel = abi_channel(s);
	w->ud_channel = abi_channel(s);
	w->comp_channel = abi_comp_channel(s);
	if (w->channel < 0 || w->ud_channel < 0 || w->comp_channel < 0)
		return fail("channels", -EIO);
	w->page = abi_map(4096);
	ret = fail("context", abi_ctx(s, &obj[RDMA_EP_OBJ_CTX], &fd)) ?:
	      fail("PD", abi_alloc_pd(s, s->ctx, &obj[RDMA_EP_OBJ_PD])) ?:
	      fail("MR", abi_reg_mr(s, obj[RDMA_EP_OBJ_PD], w->page, 4096, AC_ALL, &mr)) ?:
	      fail("CQ", abi_create_cq(s, -1, 64, 0, &obj[RDMA_EP_OBJ_CQ])) ?:
	      fail("SRQ", abi_create_srq(s, obj[RDMA_EP_OBJ_PD], 16, 0, &obj[RDMA_EP_OBJ_SRQ])) ?:
	      fail("id", abi_world_id(w, &obj[RDMA_EP_OBJ_ID])) ?:
	      fail("QP", abi_world_qp(w, QPT_RC, &obj[RDMA_EP_OBJ_QP], &w->qp_num)) ?:
	      fail("QP to INIT", abi_qp_init(s, obj[RDMA_EP_OBJ_QP], QPT_RC, 0));
	obj[RDMA_EP_OBJ_MR] = mr.mr;
	if (!ret && !abi_missing(s, ABI_XRC))
		ret = fail("XRC domain", abi_open_xrcd(s, -1, 0, &obj[RDMA_EP_OBJ_XRCD]));
	if (!ret && !abi_missing(s, ABI_IB))
		ret = fail("AH", abi_create_ah(s, obj[RDMA_EP_OBJ_PD], &obj[RDMA_EP_OBJ_AH])) ?:
		      fail("UD id", abi_ud_id(s, w->ud_channel, 0, &w->ud_id)) ?:
		      fail("group", abi_join(s, w->ud_id, 1, 0, &obj[RDMA_EP_OBJ_MCAST]));
	return ret;
}

void abi_world_close(struct abi_world *w)
{
	abi_close(&w->s);
	close(w->channel);
	close(w->ud_channel);
	close(w->comp_channel);
}
