// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of commands whose allocations fail, with other arguments than in the table of all commands.
 */
#include <rdma/ib_user_sa.h>
#include <stdio.h>
#include <sys/mman.h>

#include "abi_fail.h"

static void given_qp(struct abi_world *w, struct rdma_ep_cmd_create_qp *a, __u32 type)
{
	abi_qp_attr(a, type, w->obj[RDMA_EP_OBJ_PD], w->obj[RDMA_EP_OBJ_CQ],
		    w->obj[RDMA_EP_OBJ_CQ]);
}

int fail_make_qp(struct abi_world *w, __u32 type, __u32 id, __u32 *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	given_qp(w, &c, type);
	c.id = id;
	ret = ABI(w->s.fd, CREATE_QP, &c);
	*qp = c.init.qp;
	return ret;
}

ABI_FILL(query_devices, query_devices)
{
	a->devices = (uintptr_t)w->page;
	a->max = 8;
}

ABI_FILL(create_id_channel, create_id)
{
	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	a->ps = RDMA_PS_TCP;
	a->qp_type = QPT_RC;
}

int fail_ep_active(struct abi_world *w, void *arg)
{
	abi_own_ep(&w->s, 7471, arg);
	return 0;
}

ABI_FILL(create_ep_passive, create_ep)
{
	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE;
	a->ps = RDMA_PS_TCP;
	a->qp_type = QPT_RC;
	memcpy(&a->src, &w->s.addr, sizeof(w->s.addr));
}

int fail_destroy_qp(const struct abi *s, const struct rdma_ep_qp_init *qp)
{
	return ABI_DESTROY(s, QP, qp->qp) ?:
	       ABI_DESTROY(s, CQ, qp->send_cq.cq) ?:
	       ABI_DESTROY(s, CQ, qp->recv_cq.cq);
}

/* The endpoint exists: its handles can be destroyed. */
ABI_FN(check_ep, create_ep)
{
	return fail_destroy_qp(&w->s, &a->qp) ?: ABI_DESTROY(&w->s, ID, a->id);
}

ABI_FN(migrate_with_event, migrate_id)
{
	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	return abi_tcp_id(&w->s, w->channel, 0, &a->id) ?:
	       abi_user_event(&w->s, a->id, 0);
}

/* The event has moved with the id. */
ABI_FN(check_migrated, migrate_id)
{
	struct rdma_ep_channel_event ev;
	int ret = abi_read(a->channel_fd, &ev, sizeof(ev), ABI_WAIT_MS);

	return ret ?: ev.id == a->id ? 0 : -EPROTO;
}

static int connectable(struct abi_world *w, int *server, __u32 *listener, int *channel,
		       __u32 *client, __u32 *qp)
{
	struct sockaddr_in sin;

	*channel = abi_channel(&w->s);
	*server = abi_channel(&w->s);
	return abi_tcp_listen(&w->s, *server, 0, 0, listener, &sin) ?:
	       abi_tcp_client(&w->s, *channel, &sin, 0, client) ?:
	       fail_make_qp(w, QPT_RC, *client, qp);
}

static void fail_conn_param(struct rdma_ep_cmd_connect *a, __u32 id)
{
	a->id = id;
	a->conn.responder_resources = 1;
	a->conn.initiator_depth = 1;
	a->conn.retry_count = 7;
	a->conn.rnr_retry_count = 7;
	a->conn.private_data_len = 16;
}

int fail_connect_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *channel)
{
	__u32 listener, qp;
	int server, ret;

	ret = connectable(w, &server, &listener, channel, &a->id, &qp);
	fail_conn_param(a, a->id);
	return ret;
}

ABI_FN(connect_own_qp, connect)
{
	int channel;

	return fail_connect_own(w, a, &channel);
}

int fail_requested(struct abi_world *w, int *server, __u32 *listener)
{
	__u32 client, qp;
	int channel, ret;

	ret = connectable(w, server, listener, &channel, &client, &qp) ?:
	      abi_connect(&w->s, client, 0);
	if (!ret && !abi_ready(*server, ABI_WAIT_MS))
		ret = -ETIMEDOUT;
	return ret;
}

int fail_accept_own(struct abi_world *w, struct rdma_ep_cmd_connect *a, int *server,
		    __u32 *listener)
{
	struct rdma_ep_channel_event ev = {};
	__u32 qp;
	int ret;

	ret = fail_requested(w, server, listener) ?:
	      abi_event(*server, EV_CONNECT_REQUEST, &ev) ?:
	      fail_make_qp(w, QPT_RC, ev.child, &qp);
	fail_conn_param(a, ev.child);
	/*
	 * siw allocates two queues for READs of both sides. If it cannot allocate the second one,
	 * it frees the first one twice, the second time with the QP (SIW-06). Without READs of this
	 * side it allocates only one.
	 */
	if (w->s.iwarp)
		a->conn.initiator_depth = 0;
	return ret;
}

ABI_FN(accept_own_qp, connect)
{
	__u32 listener;
	int server;

	return fail_accept_own(w, a, &server, &listener);
}

ABI_FN(get_request_auto, get_request)
{
	int server;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	abi_auto_qp(&a->qp);
	return fail_requested(w, &server, &a->id);
}

ABI_FN(get_request_await, get_request)
{
	int server;
	int ret = fail_requested(w, &server, &a->id);

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP | RDMA_EP_AWAIT;
	a->await_fd = server;
	abi_auto_qp(&a->qp);
	return ret;
}

/* The event exists before the call; a failed call puts it back, so that the next call finds it. */
ABI_FN(resolve_addr_await, resolve_addr)
{
	int channel = abi_channel(&w->s);

	a->flags = RDMA_EP_AWAIT;
	a->timeout_ms = 5000;
	abi_own_addr(&w->s, 7471, &a->dst);
	a->await.event = (uintptr_t)w->page;
	a->await.channel_fd = channel;
	return abi_tcp_id(&w->s, channel, 1, &a->id) ?:
	       abi_user_event(&w->s, a->id, 0);
}

static void resume_awaited(union abi_arg *arg)
{
	((struct rdma_ep_cmd_resolve_addr *)arg)->await.state = RDMA_EP_AWAIT_DONE;
}

ABI_FN(check_awaited, resolve_addr)
{
	struct rdma_ep_channel_event *ev = w->page;

	return a->await.state == RDMA_EP_AWAIT_EVENT &&
	       ev->event == RDMA_EP_CM_EVENT_USER && ev->id == a->id ? 0 : -EPROTO;
}

/* An endpoint as the library creates it */
ABI_FN(destroy_ep_files, destroy_ep)
{
	struct rdma_ep_cmd_create_ep e;
	int ret;

	abi_own_ep(&w->s, 7471, &e);
	ret = ABI(w->s.fd, CREATE_EP, &e);
	abi_ep_parts(&e, a);
	return ret;
}

/* The new id exists in any case, and its QP unless there is a qp_errno. */
ABI_FN(check_request, get_request)
{
	/* ENFILE comes from sockets, which rxe and siw create. */
	if (a->qp_errno && a->qp_errno != ENOMEM && a->qp_errno != ENFILE)
		return -EPROTO;
	return (a->qp_errno ? 0 : fail_destroy_qp(&w->s, &a->qp)) ?:
	       ABI_DESTROY(&w->s, ID, a->event.child);
}

ABI_FN(disconnect_own_qp, id)
{
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	a->id = p.end[0].id;
	return ret;
}

ABI_FN(join_send_only, join_multicast)
{
	__u32 qp;

	a->flags = RDMA_EP_JOIN_SEND_ONLY;
	abi_group((struct sockaddr_in *)&a->addr, 9);
	return abi_ud_id(&w->s, w->ud_channel, 0, &a->id) ?:
	       fail_make_qp(w, QPT_UD, a->id, &qp);
}

ABI_FILL(reg_mr_large, reg_mr)
{
	static char mem[3 << 20];

	a->addr = (uintptr_t)mem;
	a->iova = a->addr;
	a->length = sizeof(mem);
	a->pd = w->obj[RDMA_EP_OBJ_PD];
	a->access = AC_LOCAL_WRITE | AC_REMOTE_WRITE;
}

/* Pinned memory is released. */
ABI_FN(check_mr, reg_mr)
{
	return ABI_DESTROY(&w->s, MR, a->mr);
}

ABI_FILL(create_qp_plain, create_qp)
{
	given_qp(w, a, QPT_RC);
}

ABI_FN(create_qp_ud, create_qp)
{
	given_qp(w, a, QPT_UD);
	return abi_ud_id(&w->s, w->ud_channel, 0, &a->id);
}

/* Large queues, whose memory is not from the slab; the command creates the CQs. */
ABI_FN(create_qp_auto, create_qp)
{
	struct sockaddr_in sin = w->s.addr;

	abi_auto_qp(&a->init);
	a->init.max_send_wr = 500;
	a->init.max_recv_wr = 500;
	return abi_tcp_id(&w->s, w->channel, 7, &a->id) ?:
	       abi_bind(&w->s, a->id, &sin);
}

/* The core counts the openers of these; only the mock device supports XRC. */
ABI_FILL(create_qp_target, create_qp)
{
	abi_qp_attr(a, QPT_XRC_TGT, w->obj[RDMA_EP_OBJ_XRCD], 0, 0);
}

ABI_FILL(create_qp_initiator, create_qp)
{
	given_qp(w, a, QPT_XRC_INI);
}

ABI_FILL(create_srq_xrc, create_srq)
{
	a->pd = w->obj[RDMA_EP_OBJ_PD];
	a->max_wr = 16;
	a->max_sge = 1;
	a->srq_type = IB_UVERBS_SRQT_XRC;
	a->xrcd = w->obj[RDMA_EP_OBJ_XRCD];
	a->cq = w->obj[RDMA_EP_OBJ_CQ];
}

/* An XRC domain that is shared by a file */
ABI_FILL(open_xrcd_file, open_xrcd)
{
	a->flags = RDMA_EP_XRCD_CREATE;
	a->ctx = w->s.ctx;
	a->fd = w->channel;
}

ABI_FN(check_qp, create_qp)
{
	return ABI_DESTROY(&w->s, QP, a->init.qp);
}

ABI_FN(modify_srq_grow, srq_attr)
{
	a->flags = RDMA_EP_SRQ_MAX_WR;
	a->max_wr = 200;
	return abi_create_srq(&w->s, w->obj[RDMA_EP_OBJ_PD], 16, 0, &a->srq);
}

static int modify_qp_to(struct abi_world *w, struct rdma_ep_cmd_modify_qp *a, __u32 state)
{
	a->attr.qp_attr_mask = QP_STATE;
	a->attr.qp_state = state;
	return fail_make_qp(w, QPT_RC, 0, &a->qp) ?:
	       abi_qp_init(&w->s, a->qp, QPT_RC, 0);
}

/* This creates an address handle, too. */
ABI_FN(modify_qp_rtr, modify_qp)
{
	abi_rtr_attr(&w->s, w->qp_num, &a->attr);
	return fail_make_qp(w, QPT_RC, 0, &a->qp) ?:
	       abi_qp_init(&w->s, a->qp, QPT_RC, 0);
}

static int modify_qp_reset(struct abi_world *w, void *arg)
{
	return modify_qp_to(w, arg, QPS_RESET);
}

static int modify_qp_err(struct abi_world *w, void *arg)
{
	return modify_qp_to(w, arg, QPS_ERR);
}

/* Creates a QP with a flushed receive. Some devices flush in a thread. */
int fail_flushed(struct abi_world *w, __u32 cq, __u32 *qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_qp(&w->s, QPT_RC, cq, 0, &c) ?:
	      abi_qp_init(&w->s, c.init.qp, QPT_RC, 0) ?:
	      abi_post_empty_recv(&w->s, c.init.qp, 77) ?:
	      abi_qp_state(&w->s, c.init.qp, QPS_ERR);
	*qp = c.init.qp;
	return ret;
}

ABI_FN(poll_cq_flushed, poll_cq)
{
	__u32 qp;

	a->wcs = (uintptr_t)w->page;
	a->max = 4;
	/* The destruction of the QP waits for that thread. */
	return abi_create_cq(&w->s, -1, 8, 0, &a->cq) ?:
	       fail_flushed(w, a->cq, &qp) ?:
	       ABI_DESTROY(&w->s, QP, qp);
}

/* The completion is not lost. */
ABI_FN(check_polled, poll_cq)
{
	struct rdma_ep_wc *wc = w->page;

	return a->num == 1 && wc->wr_id == 77 ? 0 : -ENODATA;
}

/* A list of sends, inline and not, longer than the buffers that the module has */
ABI_FN(post_send_list, post)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_pair p = { .max_wr = 128 };
	int ret;

	ret = abi_pair_open(&w->s, &p) ?:
	      abi_reg_mr(&w->s, w->s.pd, w->page, 4096, AC_LOCAL_WRITE, &mr);
	abi_wrs_init(&w->wrs);
	for (int i = 0; i < 100; i++) {
		struct rdma_ep_send_wr *wr;

		wr = abi_send_wr(&w->wrs, WR_SEND, SEND_SIGNALED, i);
		if (i & 1) {
			abi_inline(&w->wrs, wr, "0123456789abcdef", 16);
		} else {
			abi_mr_sge(&w->wrs, &mr, 0, 64);
			abi_mr_sge(&w->wrs, &mr, 64, 64);
		}
	}
	a->flags = RDMA_EP_POST_ALL;
	a->wrs = (uintptr_t)w->wrs.buf;
	a->wrs_len = w->wrs.len;
	a->num = w->wrs.num;
	a->handle = p.end[0].qp.qp;
	return ret;
}

ABI_FN(set_path, set_option)
{
	static struct ib_path_rec_data path = {
		.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
	};
	struct sockaddr_in dst = w->s.addr;

	a->level = RDMA_OPTION_IB;
	a->optname = RDMA_OPTION_IB_PATH;
	a->optlen = sizeof(path);
	a->optval = (uintptr_t)&path;
	dst.sin_port = htons(7471);
	return abi_tcp_id(&w->s, w->channel, 0, &a->id) ?:
	       abi_resolve(&w->s, w->channel, a->id, &dst);
}

/* The path causes one event. */
static int check_path(struct abi_world *w, void *arg)
{
	return abi_event(w->channel, EV_ROUTE_RESOLVED, NULL);
}

ABI_FN(destroy_qp, destroy)
{
	int ret;

	a->type = RDMA_EP_OBJ_QP;
	if (w->s.iwarp)
		return fail_make_qp(w, QPT_RC, 0, &a->handle);
	a->flags = RDMA_EP_DESTROY_DETACH;
	ret = fail_make_qp(w, QPT_UD, 0, &a->handle);
	return ret ?: abi_attach(&w->s, a->handle, 3);
}

/* Destroys an object of the world. */
#define DESTROY_WORLDS(_fn, _type)					\
	ABI_FILL(_fn, destroy)						\
	{								\
		a->type = RDMA_EP_OBJ_##_type;				\
		a->handle = w->obj[a->type];				\
	}

DESTROY_WORLDS(destroy_mr, MR)
DESTROY_WORLDS(destroy_ah, AH)
DESTROY_WORLDS(destroy_mcast, MCAST)
DESTROY_WORLDS(destroy_xrcd, XRCD)

ABI_FN(destroy_cq, destroy)
{
	a->type = RDMA_EP_OBJ_CQ;
	return abi_create_cq(&w->s, w->comp_channel, 8, 0, &a->handle);
}

ABI_FN(destroy_srq, destroy)
{
	a->type = RDMA_EP_OBJ_SRQ;
	return abi_create_srq(&w->s, w->s.pd, 8, 0, &a->handle);
}

/* A connected id with its QP */
ABI_FN(destroy_id, destroy)
{
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	a->type = RDMA_EP_OBJ_ID;
	a->handle = p.end[0].id;
	return ret;
}

ABI_FN(destroy_ctx, destroy)
{
	struct abi s = w->s;
	__u32 pd, cq, srq;
	int fd, ret;

	ret = abi_ctx(&w->s, &s.ctx, &fd) ?:
	      abi_alloc_pd(&s, s.ctx, &pd) ?:
	      abi_create_cq(&s, -1, 8, 0, &cq) ?:
	      abi_create_srq(&s, pd, 8, 0, &srq);
	a->flags = RDMA_EP_DESTROY_CONTENTS;
	a->type = RDMA_EP_OBJ_CTX;
	a->handle = s.ctx;
	return ret;
}

ABI_FILL(restrict_grants, restrict)
{
	struct rdma_ep_grant *g = w->page;

	a->flags = RDMA_EP_RESTRICT_DEVICES | RDMA_EP_RESTRICT_BIND;
	a->grants = (uintptr_t)g;
	a->num_grants = 2;
	memset(g, 0, 2 * sizeof(*g));
	g[0].type = RDMA_EP_GRANT_DEVICE;
	g[0].dev_index = w->s.dev;
	g[1].type = RDMA_EP_GRANT_BIND;
	g[1].family = AF_INET;
	g[1].last_port = UINT16_MAX;
}

#define CASE FAIL_CASE
#define DESTROY(_prepare, ...) \
	CASE(DESTROY, _prepare, .effect = true, .again = ENOENT, __VA_ARGS__)

const struct fail_case fail_cases[] = {
	CASE(QUERY_DEVICES, query_devices),
	CASE(CREATE_ID, create_id_channel),
	CASE(CREATE_EP, fail_ep_active, .check = check_ep, .fresh = true),
	CASE(CREATE_EP, create_ep_passive),
	CASE(MIGRATE_ID, migrate_with_event, .check = check_migrated),
	CASE(CONNECT, connect_own_qp, .effect = true, .again = EINVAL,
	     .not_siw = FAIL_SIW_EARLY, .fresh = true),
	CASE(ACCEPT, accept_own_qp, .once = true, .again = EINVAL, .fresh = true),
	CASE(GET_REQUEST, get_request_auto, .check = check_request, .fresh = true),
	CASE(GET_REQUEST, get_request_await, .check = check_request, .fresh = true),
	CASE(RESOLVE_ADDR, resolve_addr_await, .check = check_awaited,
	     .resume = resume_awaited, .effect = true, .again = EINVAL, .fresh = true),
	CASE(DESTROY_EP, destroy_ep_files, .effect = true, .again = ENOENT, .fresh = true),
	CASE(DISCONNECT, disconnect_own_qp, .effect = true, .again = EINVAL, .fresh = true),
	CASE(JOIN_MULTICAST, join_send_only, .needs = ABI_IB, .fresh = true),
	CASE(SET_OPTION, set_path, .needs = ABI_IB, .check = check_path, .effect = true,
	     .again = EINVAL, .fresh = true),
	CASE(REG_MR, reg_mr_large, .check = check_mr),
	CASE(CREATE_QP, create_qp_plain, .check = check_qp),
	CASE(CREATE_QP, create_qp_ud, .needs = ABI_IB, .check = check_qp),
	CASE(CREATE_QP, create_qp_auto, .check = check_qp),
	CASE(CREATE_QP, create_qp_target, .needs = ABI_XRC, .check = check_qp),
	CASE(CREATE_QP, create_qp_initiator, .needs = ABI_XRC, .check = check_qp),
	CASE(CREATE_SRQ, create_srq_xrc, .needs = ABI_XRC),
	CASE(OPEN_XRCD, open_xrcd_file, .needs = ABI_XRC),
	/* 256 slots of 128 bytes instead of 32: the driver may fail after their allocation. */
	CASE(MODIFY_SRQ, modify_srq_grow, .needs = ABI_IB, .effect = true, .keeps = 28),
	CASE(MODIFY_QP, modify_qp_rtr, .needs = ABI_IB, .effect = true, .half = true,
	     .again = EINVAL),
	CASE(MODIFY_QP, modify_qp_reset, .needs = ABI_IB, .effect = true),
	CASE(MODIFY_QP, modify_qp_err, .effect = true),
	/* A copy of completions that fails is made again, when the memory has been faulted in. */
	CASE(POLL_CQ, poll_cq_flushed, .needs = ABI_IB, .check = check_polled, .silent = true),
	/* (siw sends at once, and loses the connection if it cannot.) */
	CASE(POST_SEND, post_send_list, .effect = true, .again = ENOMEM,
	     .siw_says = ENOTCONN, .fresh = true),
	DESTROY(destroy_qp),
	DESTROY(destroy_mr, .fresh = true),
	DESTROY(destroy_ah, .needs = ABI_IB, .fresh = true),
	DESTROY(destroy_mcast, .needs = ABI_IB, .fresh = true),
	DESTROY(destroy_cq),
	DESTROY(destroy_srq),
	DESTROY(destroy_id, .fresh = true),
	DESTROY(destroy_xrcd, .needs = ABI_XRC, .fresh = true),
	DESTROY(destroy_ctx),
	CASE(RESTRICT, restrict_grants, .fresh = true),
};

const unsigned int fail_nr_cases = sizeof(fail_cases) / sizeof(fail_cases[0]);
