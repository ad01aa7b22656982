// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is special about commands whose allocations fail, and more ways to call them
 * than the table of all commands has.
 */
#include <rdma/ib_user_sa.h>
#include <stdio.h>
#include <sys/mman.h>

#include "abi_fail.h"

/* Over iWARP each place of the backlog is two allocations. */
static int listen_two(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_id_cmd *a = (void *)arg;
	struct sockaddr_in sin = w->s.addr;

	a->arg = 2;
	return abi_create_id(&w->s, w->channel, RDMA_PS_TCP, IB_UVERBS_QPT_RC,
			     7, &a->id) ?:
	       abi_bind(&w->s, a->id, &sin);
}

/*
 * A connection's steps are taken by the CM, which does not take them back when the
 * structure can not be written. When accepting, rejecting or establishing fails, the
 * connection is over: the CM forgets it before it writes its message.
 */
static const struct fail_case special[] = {
	{ .cmd = RDMA_EP_IOC_DESTROY, .effect = true, .again = ENOENT },
	{ .cmd = RDMA_EP_IOC_CREATE_EP, .fresh = true },
	{ .cmd = RDMA_EP_IOC_BIND_ADDR, .effect = true, .again = EINVAL },
	{ .cmd = RDMA_EP_IOC_RESOLVE_ADDR, .effect = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_RESOLVE_ROUTE, .effect = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_LISTEN, .prepare = listen_two, .effect = true,
	  .again = EINVAL },
	{ .cmd = RDMA_EP_IOC_CONNECT, .effect = true, .again = EINVAL,
	  .not_siw = FAIL_SIW_EARLY, .fresh = true },
	{ .cmd = RDMA_EP_IOC_ACCEPT, .once = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_REJECT, .once = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_DISCONNECT, .effect = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_ESTABLISH, .once = true, .again = EINVAL,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_NOTIFY, .effect = true, .again = EISCONN,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_GET_REQUEST, .fresh = true },
	{ .cmd = RDMA_EP_IOC_WRITE_EVENT, .effect = true },
	{ .cmd = RDMA_EP_IOC_DESTROY_EP, .effect = true, .again = ENOENT,
	  .fresh = true },
	{ .cmd = RDMA_EP_IOC_JOIN_MULTICAST, .fresh = true },
	{ .cmd = RDMA_EP_IOC_MODIFY_QP, .effect = true },
	{ .cmd = RDMA_EP_IOC_POST_SEND, .effect = true },
	{ .cmd = RDMA_EP_IOC_POST_RECV, .effect = true, .fresh = true },
	{ .cmd = RDMA_EP_IOC_POST_SRQ_RECV, .effect = true, .fresh = true },
	{ .cmd = RDMA_EP_IOC_DETACH_MCAST, .effect = true, .again = EINVAL },
};

const struct fail_case *fail_special(unsigned long cmd)
{
	unsigned int i;

	for (i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (special[i].cmd == cmd)
			return &special[i];
	return NULL;
}

/* Everything that an endpoint can be made of, and nothing given. */
void fail_auto_qp(struct rdma_ep_qp_init *init)
{
	struct rdma_ep_create_qp c;

	abi_qp_attr(&c, IB_UVERBS_QPT_RC, 0, 0, 0);
	*init = c.init;
}

static void given_qp(struct abi_world *w, struct rdma_ep_create_qp *a,
		     __u32 type)
{
	abi_qp_attr(a, type, w->obj[RDMA_EP_OBJ_PD], w->obj[RDMA_EP_OBJ_CQ],
		    w->obj[RDMA_EP_OBJ_CQ]);
}

int fail_make_qp(struct abi_world *w, __u32 type, __u32 id, __u32 *qp)
{
	struct rdma_ep_create_qp c;
	int ret;

	given_qp(w, &c, type);
	c.id = id;
	ret = ABI(w->s.fd, CREATE_QP, &c);
	*qp = c.init.qp;
	return ret;
}

static int query_devices(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_query_devices *a = (void *)arg;

	a->devices = (uintptr_t)w->page;
	a->max = 8;
	return 0;
}

static int create_id_channel(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_id *a = (void *)arg;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	a->ps = RDMA_PS_TCP;
	a->qp_type = IB_UVERBS_QPT_RC;
	return 0;
}

int fail_ep_active(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_ep *a = (void *)arg;
	struct sockaddr_in dst = w->s.addr;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	a->ps = RDMA_PS_TCP;
	a->qp_type = IB_UVERBS_QPT_RC;
	a->addr_timeout_ms = 5000;
	a->route_timeout_ms = 5000;
	dst.sin_port = htons(7471);
	memcpy(&a->dst, &dst, sizeof(dst));
	fail_auto_qp(&a->qp);
	return 0;
}

static int create_ep_passive(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_ep *a = (void *)arg;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE;
	a->ps = RDMA_PS_TCP;
	a->qp_type = IB_UVERBS_QPT_RC;
	memcpy(&a->src, &w->s.addr, sizeof(w->s.addr));
	return 0;
}

/* The endpoint is there: its handles can be destroyed. */
static int check_ep(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_ep *a = (void *)arg;
	int ret;

	ret = abi_destroy(&w->s, RDMA_EP_OBJ_QP, a->qp.qp) ?:
	      abi_destroy(&w->s, RDMA_EP_OBJ_CQ, a->qp.send_cq.cq) ?:
	      abi_destroy(&w->s, RDMA_EP_OBJ_CQ, a->qp.recv_cq.cq);
	return ret ?: abi_destroy(&w->s, RDMA_EP_OBJ_ID, a->id);
}

static int migrate_with_event(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_migrate_id *a = (void *)arg;
	struct rdma_ep_write_event ev = { .event = RDMA_EP_CM_EVENT_USER };
	int ret = abi_create_id(&w->s, w->channel, RDMA_PS_TCP,
				IB_UVERBS_QPT_RC, 0, &a->id);

	ev.id = a->id;
	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL;
	return ret ?: ABI(w->s.fd, WRITE_EVENT, &ev);
}

/* The event has moved with the id. */
static int check_migrated(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_migrate_id *a = (void *)arg;
	struct rdma_ep_event ev;
	int ret = abi_read(a->channel_fd, &ev, sizeof(ev), ABI_WAIT_MS);

	return ret ?: ev.id == a->id ? 0 : -EPROTO;
}

static int connectable(struct abi_world *w, int *server, __u32 *listener,
		       __u32 *client, __u32 *qp)
{
	struct sockaddr_in sin;
	int channel = abi_channel(&w->s);

	*server = abi_channel(&w->s);
	return abi_listen(&w->s, *server, RDMA_PS_TCP, 0, 0, listener, &sin) ?:
	       abi_client(&w->s, channel, RDMA_PS_TCP, &sin, 0, client) ?:
	       fail_make_qp(w, IB_UVERBS_QPT_RC, *client, qp);
}

void fail_conn_param(struct rdma_ep_connect *a, __u32 id)
{
	a->id = id;
	a->conn.responder_resources = 1;
	a->conn.initiator_depth = 1;
	a->conn.retry_count = 7;
	a->conn.rnr_retry_count = 7;
	a->conn.private_data_len = 16;
}

/*
 * With READs of both sides siw allocates two queues for them, frees the first one if it
 * does not get the second, and then once more with the QP (SIW-06): with none
 * of ours there is one.
 */
void fail_accept_param(const struct abi_world *w, struct rdma_ep_connect *a, __u32 id)
{
	fail_conn_param(a, id);
	if (w->s.iwarp)
		a->conn.initiator_depth = 0;
}

static int connect_own_qp(struct abi_world *w, union abi_arg *arg)
{
	__u32 listener, client, qp;
	int server, ret;

	ret = connectable(w, &server, &listener, &client, &qp);
	fail_conn_param((struct rdma_ep_connect *)arg, client);
	return ret;
}

int fail_requested(struct abi_world *w, int *server, __u32 *listener)
{
	__u32 client, qp;
	int ret;

	ret = connectable(w, server, listener, &client, &qp) ?:
	      abi_connect(&w->s, client, 0);
	if (!ret && !abi_ready(*server, ABI_WAIT_MS))
		ret = -ETIMEDOUT;
	return ret;
}

static int accept_own_qp(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_event ev = {};
	__u32 listener, qp;
	int server, ret;

	ret = fail_requested(w, &server, &listener) ?:
	      abi_event(server, EV_CONNECT_REQUEST, &ev) ?:
	      fail_make_qp(w, IB_UVERBS_QPT_RC, ev.child, &qp);
	fail_accept_param(w, (struct rdma_ep_connect *)arg, ev.child);
	return ret;
}

static int get_request_auto(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_get_request *a = (void *)arg;
	int server;

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	fail_auto_qp(&a->qp);
	return fail_requested(w, &server, &a->id);
}

static int get_request_await(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_get_request *a = (void *)arg;
	int server;
	int ret = fail_requested(w, &server, &a->id);

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP |
		   RDMA_EP_AWAIT;
	a->await_fd = server;
	fail_auto_qp(&a->qp);
	return ret;
}

/* With an event that is there before: as it has been put back it is there again. */
static int resolve_addr_await(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_resolve_addr *a = (void *)arg;
	struct rdma_ep_write_event user = { .event = RDMA_EP_CM_EVENT_USER };
	struct sockaddr_in dst = w->s.addr;
	int channel = abi_channel(&w->s), ret;

	dst.sin_port = htons(7471);
	ret = abi_create_id(&w->s, channel, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 1,
			    &a->id);
	user.id = a->id;
	a->flags = RDMA_EP_AWAIT;
	a->timeout_ms = 5000;
	memcpy(&a->dst, &dst, sizeof(dst));
	a->await.event = (uintptr_t)w->page;
	a->await.channel_fd = channel;
	return ret ?: ABI(w->s.fd, WRITE_EVENT, &user);
}

static void resume_awaited(union abi_arg *arg)
{
	((struct rdma_ep_resolve_addr *)arg)->await.state = RDMA_EP_AWAIT_DONE;
}

static int check_awaited(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_resolve_addr *a = (void *)arg;
	struct rdma_ep_event *ev = w->page;

	return a->await.state == RDMA_EP_AWAIT_EVENT &&
	       ev->event == RDMA_EP_CM_EVENT_USER && ev->id == a->id ?
	       0 : -EPROTO;
}

/* An endpoint as the library makes it. */
static int destroy_ep_files(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy_ep *a = (void *)arg;
	struct rdma_ep_create_ep e = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP,
		.channel_fd = -1,
		.ps = RDMA_PS_TCP,
		.qp_type = IB_UVERBS_QPT_RC,
		.addr_timeout_ms = 5000,
		.route_timeout_ms = 5000,
	};
	struct sockaddr_in dst = w->s.addr;
	int ret;

	dst.sin_port = htons(7471);
	memcpy(&e.dst, &dst, sizeof(dst));
	fail_auto_qp(&e.qp);
	ret = ABI(w->s.fd, CREATE_EP, &e);
	a->id = e.id;
	a->channel_fd = e.channel_fd;
	a->qp = e.qp.qp;
	a->recv_cq.cq = e.qp.recv_cq.cq;
	a->recv_cq.channel_fd = e.qp.recv_cq.channel_fd;
	a->send_cq.cq = e.qp.send_cq.cq;
	a->send_cq.channel_fd = e.qp.send_cq.channel_fd;
	return ret;
}

/* The new id is there in any case, and its QP unless it says why not. */
static int check_request(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_get_request *a = (void *)arg;
	int ret = 0;

	/* ENFILE is what sockets say, which rxe and siw have. */
	if (a->qp_errno && a->qp_errno != ENOMEM && a->qp_errno != ENFILE)
		return -EPROTO;
	if (!a->qp_errno)
		ret = abi_destroy(&w->s, RDMA_EP_OBJ_QP, a->qp.qp) ?:
		      abi_destroy(&w->s, RDMA_EP_OBJ_CQ, a->qp.send_cq.cq) ?:
		      abi_destroy(&w->s, RDMA_EP_OBJ_CQ, a->qp.recv_cq.cq);
	return ret ?: abi_destroy(&w->s, RDMA_EP_OBJ_ID, a->event.child);
}

static int disconnect_own_qp(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_id_cmd *a = (void *)arg;
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	a->id = p.end[0].id;
	return ret;
}

static int join_send_only(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_join_multicast *a = (void *)arg;
	__u32 qp;

	a->flags = RDMA_EP_JOIN_SEND_ONLY;
	abi_group((struct sockaddr_in *)&a->addr, 9);
	return abi_ud_id(&w->s, w->ud_channel, 0, &a->id) ?:
	       fail_make_qp(w, IB_UVERBS_QPT_UD, a->id, &qp);
}

static int reg_mr_large(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_reg_mr *a = (void *)arg;
	static char mem[3 << 20];

	a->addr = (uintptr_t)mem;
	a->iova = a->addr;
	a->length = sizeof(mem);
	a->pd = w->obj[RDMA_EP_OBJ_PD];
	a->access = AC_LOCAL_WRITE | AC_REMOTE_WRITE;
	return 0;
}

/* Pinned memory is given back. */
static int check_mr(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_reg_mr *a = (void *)arg;

	return abi_destroy(&w->s, RDMA_EP_OBJ_MR, a->mr);
}

static int create_qp_plain(struct abi_world *w, union abi_arg *arg)
{
	given_qp(w, (struct rdma_ep_create_qp *)arg, IB_UVERBS_QPT_RC);
	return 0;
}

static int create_qp_ud(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_qp *a = (void *)arg;

	given_qp(w, a, IB_UVERBS_QPT_UD);
	return abi_ud_id(&w->s, w->ud_channel, 0, &a->id);
}

/* Large queues, whose memory is not from the slab; all that belongs to it made */
static int create_qp_auto(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_qp *a = (void *)arg;
	struct sockaddr_in sin = w->s.addr;

	fail_auto_qp(&a->init);
	a->init.max_send_wr = 500;
	a->init.max_recv_wr = 500;
	return abi_create_id(&w->s, w->channel, RDMA_PS_TCP, IB_UVERBS_QPT_RC,
			     7, &a->id) ?:
	       abi_bind(&w->s, a->id, &sin);
}

/* The core takes part in these, which counts openers; only on the mock device. */
static int create_qp_target(struct abi_world *w, union abi_arg *arg)
{
	abi_qp_attr((struct rdma_ep_create_qp *)arg, IB_UVERBS_QPT_XRC_TGT,
		    w->obj[RDMA_EP_OBJ_XRCD], 0, 0);
	return 0;
}

static int create_qp_initiator(struct abi_world *w, union abi_arg *arg)
{
	given_qp(w, (struct rdma_ep_create_qp *)arg, IB_UVERBS_QPT_XRC_INI);
	return 0;
}

static int create_srq_xrc(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_srq *a = (void *)arg;

	a->pd = w->obj[RDMA_EP_OBJ_PD];
	a->max_wr = 16;
	a->max_sge = 1;
	a->srq_type = IB_UVERBS_SRQT_XRC;
	a->xrcd = w->obj[RDMA_EP_OBJ_XRCD];
	a->cq = w->obj[RDMA_EP_OBJ_CQ];
	return 0;
}

/* One that is shared by way of a file */
static int open_xrcd_file(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_open_xrcd *a = (void *)arg;

	a->flags = RDMA_EP_XRCD_CREATE;
	a->ctx = w->s.ctx;
	a->fd = w->channel;
	return 0;
}

static int check_qp(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_create_qp *a = (void *)arg;

	return abi_destroy(&w->s, RDMA_EP_OBJ_QP, a->init.qp);
}

static int modify_srq_grow(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_srq_attr *a = (void *)arg;

	a->flags = RDMA_EP_SRQ_MAX_WR;
	a->max_wr = 200;
	return abi_create_srq(&w->s, w->obj[RDMA_EP_OBJ_PD], 16, 0, &a->srq);
}

static int modify_qp_to(struct abi_world *w, union abi_arg *arg, __u32 state)
{
	struct rdma_ep_modify_qp *a = (void *)arg;

	a->attr.qp_attr_mask = QP_STATE;
	a->attr.qp_state = state;
	return fail_make_qp(w, IB_UVERBS_QPT_RC, 0, &a->qp) ?:
	       abi_qp_init(&w->s, a->qp, IB_UVERBS_QPT_RC, 0);
}

/* Makes an address handle on the way. */
static int modify_qp_rtr(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_modify_qp *a = (void *)arg;

	a->attr.qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN |
		QP_RQ_PSN | QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER;
	a->attr.qp_state = QPS_RTR;
	a->attr.dest_qp_num = w->qp_num;
	a->attr.path_mtu = 3;
	a->attr.max_dest_rd_atomic = 1;
	a->attr.min_rnr_timer = 1;
	abi_self_ah(&w->s, &a->attr.ah_attr);
	return fail_make_qp(w, IB_UVERBS_QPT_RC, 0, &a->qp) ?:
	       abi_qp_init(&w->s, a->qp, IB_UVERBS_QPT_RC, 0);
}

static int modify_qp_reset(struct abi_world *w, union abi_arg *arg)
{
	return modify_qp_to(w, arg, QPS_RESET);
}

static int modify_qp_err(struct abi_world *w, union abi_arg *arg)
{
	return modify_qp_to(w, arg, QPS_ERR);
}

/* A receive that has been flushed */
static int poll_cq_flushed(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_poll_cq *a = (void *)arg;
	struct rdma_ep_create_qp c;
	struct abi_wrs r;
	int ret;

	a->wcs = (uintptr_t)w->page;
	a->max = 4;
	ret = abi_create_cq(&w->s, -1, 8, 0, &a->cq);
	if (ret)
		return ret;
	abi_qp_attr(&c, IB_UVERBS_QPT_RC, w->s.pd, a->cq, a->cq);
	abi_wrs_init(&r);
	abi_recv_wr(&r, 77);
	ret = ABI(w->s.fd, CREATE_QP, &c) ?:
	      abi_qp_init(&w->s, c.init.qp, IB_UVERBS_QPT_RC, 0) ?:
	      ABI_POST(&w->s, RECV, c.init.qp, &r, NULL) ?:
	      abi_qp_state(&w->s, c.init.qp, QPS_ERR);
	/* Some flush in a thread of their own; destroying waits for it. */
	return ret ?: abi_destroy(&w->s, RDMA_EP_OBJ_QP, c.init.qp);
}

/* It has not been lost. */
static int check_polled(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_poll_cq *a = (void *)arg;
	struct rdma_ep_wc *wc = w->page;

	return a->num == 1 && wc->wr_id == 77 ? 0 : -ENODATA;
}

/* A list of all kinds, longer than one buffer of the module */
static int post_send_list(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_post *a = (void *)arg;
	struct rdma_ep_reg_mr mr;
	struct abi_pair p = { .max_wr = 64 };
	int i, ret;

	ret = abi_pair_open(&w->s, &p) ?:
	      abi_reg_mr(&w->s, w->s.pd, w->page, 4096, AC_LOCAL_WRITE, &mr);
	abi_wrs_init(&w->wrs);
	for (i = 0; i < 40; i++) {
		struct rdma_ep_send_wr *wr;

		wr = abi_send_wr(&w->wrs, WR_SEND, SEND_SIGNALED, i);
		if (i & 1) {
			abi_inline(&w->wrs, wr, "0123456789abcdef", 16);
		} else {
			abi_sge(&w->wrs, mr.iova, 64, mr.lkey);
			abi_sge(&w->wrs, mr.iova + 64, 64, mr.lkey);
		}
	}
	a->flags = RDMA_EP_POST_ALL;
	a->wrs = (uintptr_t)w->wrs.buf;
	a->wrs_len = w->wrs.len;
	a->num = w->wrs.num;
	a->handle = p.end[0].qp.qp;
	return ret;
}

static int set_path(struct abi_world *w, union abi_arg *arg)
{
	static struct ib_path_rec_data path = {
		.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
	};
	struct rdma_ep_set_option *a = (void *)arg;
	struct sockaddr_in dst = w->s.addr;
	struct rdma_ep_event ev;

	a->level = RDMA_OPTION_IB;
	a->optname = RDMA_OPTION_IB_PATH;
	a->optlen = sizeof(path);
	a->optval = (uintptr_t)&path;
	dst.sin_port = htons(7471);
	return abi_create_id(&w->s, w->channel, RDMA_PS_TCP, IB_UVERBS_QPT_RC,
			     0, &a->id) ?:
	       abi_resolve_addr(&w->s, a->id, &dst, 5000) ?:
	       abi_event(w->channel, EV_ADDR_RESOLVED, &ev);
}

/* It comes with the path, and once. */
static int check_path(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_event ev;

	return abi_event(w->channel, EV_ROUTE_RESOLVED, &ev);
}

static int destroy(struct abi_world *w, union abi_arg *arg, __u32 type)
{
	struct rdma_ep_destroy *a = (void *)arg;

	a->type = type;
	a->handle = w->obj[type];
	return 0;
}

static int destroy_qp(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy *a = (void *)arg;
	int ret;

	a->type = RDMA_EP_OBJ_QP;
	if (w->s.iwarp)
		return fail_make_qp(w, IB_UVERBS_QPT_RC, 0, &a->handle);
	a->flags = RDMA_EP_DESTROY_DETACH;
	ret = fail_make_qp(w, IB_UVERBS_QPT_UD, 0, &a->handle);
	return ret ?: abi_attach(&w->s, a->handle, 3);
}

static int destroy_mr(struct abi_world *w, union abi_arg *arg)
{
	return destroy(w, arg, RDMA_EP_OBJ_MR);
}

static int destroy_ah(struct abi_world *w, union abi_arg *arg)
{
	return destroy(w, arg, RDMA_EP_OBJ_AH);
}

static int destroy_mcast(struct abi_world *w, union abi_arg *arg)
{
	return destroy(w, arg, RDMA_EP_OBJ_MCAST);
}

static int destroy_xrcd(struct abi_world *w, union abi_arg *arg)
{
	return destroy(w, arg, RDMA_EP_OBJ_XRCD);
}

static int destroy_cq(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy *a = (void *)arg;

	a->type = RDMA_EP_OBJ_CQ;
	return abi_create_cq(&w->s, w->comp_channel, 8, 0, &a->handle);
}

static int destroy_srq(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy *a = (void *)arg;

	a->type = RDMA_EP_OBJ_SRQ;
	return abi_create_srq(&w->s, w->s.pd, 8, 0, &a->handle);
}

/* Connected, with its QP */
static int destroy_id(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy *a = (void *)arg;
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	a->type = RDMA_EP_OBJ_ID;
	a->handle = p.end[0].id;
	return ret;
}

static int destroy_ctx(struct abi_world *w, union abi_arg *arg)
{
	struct rdma_ep_destroy *a = (void *)arg;
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
	CASE(ACCEPT, accept_own_qp, .once = true, .again = EINVAL,
	     .fresh = true),
	CASE(GET_REQUEST, get_request_auto, .check = check_request,
	     .fresh = true),
	CASE(GET_REQUEST, get_request_await, .check = check_request,
	     .fresh = true),
	CASE(RESOLVE_ADDR, resolve_addr_await, .check = check_awaited,
	     .resume = resume_awaited, .effect = true, .again = EINVAL, .fresh = true),
	CASE(DESTROY_EP, destroy_ep_files, .effect = true, .again = ENOENT,
	     .fresh = true),
	CASE(DISCONNECT, disconnect_own_qp, .effect = true, .again = EINVAL,
	     .fresh = true),
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
	/* Slots of 128 bytes, 256 instead of 32: the driver may fail when they are there. */
	CASE(MODIFY_SRQ, modify_srq_grow, .needs = ABI_IB, .effect = true, .keeps = 28),
	CASE(MODIFY_QP, modify_qp_rtr, .needs = ABI_IB, .effect = true, .half = true,
	     .again = EINVAL),
	CASE(MODIFY_QP, modify_qp_reset, .needs = ABI_IB, .effect = true),
	CASE(MODIFY_QP, modify_qp_err, .effect = true),
	CASE(POLL_CQ, poll_cq_flushed, .needs = ABI_IB, .check = check_polled),
	/* (siw sends at once, and has no connection any more if it can not.) */
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
};

const unsigned int fail_nr_cases = sizeof(fail_cases) / sizeof(fail_cases[0]);
