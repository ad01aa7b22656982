// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of all commands (commands.def), and the functions that fill in valid arguments.
 */
#include <stdio.h>

#include "abi_cmds.h"

const struct abi_command *abi_find_command(unsigned long cmd)
{
	for (unsigned int i = 0; i < abi_num_commands; i++)
		if (abi_commands[i].cmd == cmd)
			return &abi_commands[i];
	return NULL;
}

const char *abi_left_out(const struct abi *s, const struct abi_command *c)
{
	return c->says_so ? NULL : abi_missing(s, c->needs);
}

/* Default value of a field: the session's device, its first port, objects of the world */
static __u32 usual(const struct abi_world *w, const struct abi_field *f)
{
	switch (f->kind) {
	case FIELD_DEVICE:
		return w->s.dev;
	case FIELD_PORT:
		return 1;
	case FIELD_HANDLE:
		return f->arg == RDMA_EP_OBJ_CTX ? w->s.ctx : w->obj[f->arg];
	default:
		return 0;
	}
}

int abi_prepare(struct abi_world *w, const struct abi_command *c, union abi_arg *arg)
{
	const char *why = abi_left_out(&w->s, c);
	int ret;

	memset(arg, 0, sizeof(*arg));
	if (why) {
		fprintf(stderr, "# %s is left out: %s\n", c->name, why);
		return -EOPNOTSUPP;
	}
	w->result = abi_missing(&w->s, c->needs) ? -EOPNOTSUPP : 0;
	for (const struct abi_field *f = c->fields; f->kind; f++)
		if (f->size == sizeof(__u32))
			arg->u32[f->at / 4] = usual(w, f);
	ret = c->prepare(w, arg);
	arg->size = _IOC_SIZE(c->cmd);
	/* -EOPNOTSUPP is reserved for abi_left_out(): here a preparation has failed. */
	return ret == -EOPNOTSUPP ? -EPROTO : ret;
}

static int prepare_nothing(struct abi_world *w, void *arg)
{
	return 0;
}

ABI_FILL(prepare_query_gid, query_gid)
{
	a->gid_index = w->s.gid_index;
}

ABI_FILL(prepare_query_gid_table, query_gid_table)
{
	a->entries = (uintptr_t)w->page;
	a->max = 4096 / sizeof(struct ib_uverbs_gid_entry);
}

ABI_FN(prepare_destroy, destroy)
{
	a->type = RDMA_EP_OBJ_PD;
	return abi_alloc_pd(&w->s, w->s.ctx, &a->handle);
}

ABI_FILL(prepare_create_id, create_id)
{
	a->channel_fd = w->channel;
	a->ps = RDMA_PS_TCP;
	a->qp_type = QPT_RC;
}

static void qp_init(struct abi_world *w, struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp c;

	abi_qp_attr(&c, QPT_RC, ABI_OBJ(w, PD), ABI_OBJ(w, CQ), ABI_OBJ(w, CQ));
	*init = c.init;
	init->srq = ABI_OBJ(w, SRQ);
}

ABI_FILL(prepare_create_ep, create_ep)
{
	abi_own_ep(&w->s, 7471, a);
	a->flags = RDMA_EP_EP_CREATE_QP;
	a->channel_fd = w->channel;
	qp_init(w, &a->qp);
}

static int new_id(struct abi_world *w, __u32 *id)
{
	return abi_tcp_id(&w->s, w->channel, 0, id);
}

ABI_FN(prepare_bind_addr, bind_addr)
{
	memcpy(&a->addr, &w->s.addr, sizeof(w->s.addr));
	return new_id(w, &a->id);
}

ABI_FN(prepare_resolve_addr, resolve_addr)
{
	struct sockaddr_in dst = w->s.addr;

	dst.sin_port = htons(7471);
	memcpy(&a->dst, &dst, sizeof(dst));
	a->timeout_ms = 5000;
	return new_id(w, &a->id);
}

ABI_FN(prepare_resolve_route, id)
{
	struct rdma_ep_channel_event ev;
	struct sockaddr_in dst = w->s.addr;
	int channel = abi_channel(&w->s);

	dst.sin_port = htons(7471);
	a->arg = 5000;
	return abi_tcp_id(&w->s, channel, 0, &a->id) ?:
	       abi_resolve_addr(&w->s, a->id, &dst, 5000) ?:
	       abi_event(channel, EV_ADDR_RESOLVED, &ev);
}

ABI_FN(prepare_listen, id)
{
	/* Over iWARP each entry of the backlog costs two allocations. */
	a->arg = 2;
	return abi_world_id(w, &a->id);
}

/* A connection in one of its states; its QPs belong to no id. */
struct conn {
	int server_channel, client_channel;
	__u32 listener, client, child;
	__u32 client_qp, server_qp;
};

static int conn_client(struct abi_world *w, struct conn *c)
{
	struct sockaddr_in sin;
	__u32 qp;

	c->server_channel = abi_channel(&w->s);
	c->client_channel = abi_channel(&w->s);
	return abi_world_qp(w, QPT_RC, &qp, &c->client_qp) ?:
	       abi_world_qp(w, QPT_RC, &qp, &c->server_qp) ?:
	       abi_tcp_listen(&w->s, c->server_channel, 0, 0, &c->listener, &sin) ?:
	       abi_tcp_client(&w->s, c->client_channel, &sin, 0, &c->client);
}

static int conn_request(struct abi_world *w, struct conn *c)
{
	struct rdma_ep_channel_event ev;
	int ret = conn_client(w, c) ?:
		  abi_connect(&w->s, c->client, c->client_qp) ?:
		  abi_event(c->server_channel, EV_CONNECT_REQUEST, &ev);

	c->child = ev.child;
	return ret;
}

/* iWARP has no such state: its CM completes a connection itself. */
static int conn_response(struct abi_world *w, struct conn *c)
{
	struct rdma_ep_channel_event ev;

	return conn_request(w, c) ?:
	       abi_accept(&w->s, c->child, 9, c->server_qp) ?:
	       abi_event(c->client_channel, EV_CONNECT_RESPONSE, &ev);
}

ABI_FN(prepare_connect, connect)
{
	struct conn c = {};
	int ret = conn_client(w, &c);

	a->id = c.client;
	a->conn.qp_num = c.client_qp;
	return ret;
}

ABI_FN(prepare_accept, connect)
{
	struct conn c = {};
	int ret = conn_request(w, &c);

	a->uid = 9;
	a->id = c.child;
	a->conn.qp_num = c.server_qp;
	return ret;
}

ABI_FN(prepare_reject, reject)
{
	struct conn c = {};
	int ret = conn_request(w, &c);

	a->id = c.child;
	return ret;
}

ABI_FN(prepare_split_id, split_id)
{
	struct conn c = {};
	int ret = conn_request(w, &c);

	a->id = c.child;
	return ret;
}

ABI_FN(prepare_establish, id)
{
	struct conn c = {};
	int ret = conn_response(w, &c);

	a->id = c.client;
	return ret;
}

ABI_FN(prepare_disconnect, id)
{
	struct conn c = {};
	struct rdma_ep_channel_event ev;
	int ret = w->s.iwarp ?
		  conn_request(w, &c) ?:
		  abi_accept(&w->s, c.child, 9, c.server_qp) :
		  conn_response(w, &c) ?:
		  ABI_ID_CMD(&w->s, ESTABLISH, c.client, 0);

	ret = ret ?: abi_event(c.server_channel, EV_ESTABLISHED, &ev);
	a->id = c.client;
	return ret;
}

ABI_FN(prepare_get_request, get_request)
{
	struct conn c = {};
	int ret = conn_client(w, &c) ?:
		  abi_connect(&w->s, c.client, c.client_qp);

	a->flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP;
	a->id = c.listener;
	qp_init(w, &a->qp);
	if (!ret && !abi_ready(c.server_channel, ABI_WAIT_MS))
		ret = -ETIMEDOUT;
	return ret;
}

ABI_FILL(prepare_join_multicast, join_multicast)
{
	a->id = w->ud_id;
	abi_group((struct sockaddr_in *)&a->addr, 2);
}

/* The server has accepted, and the client has not confirmed it. */
ABI_FN(prepare_notify, id)
{
	struct conn c = {};
	int ret = conn_response(w, &c);

	a->id = c.child;
	a->arg = EVENT_COMM_EST;
	return ret;
}

ABI_FILL(prepare_write_event, write_event)
{
	a->event = RDMA_EP_CM_EVENT_USER;
}

/* An id with QP, SRQ and two CQs: all optional parts of an endpoint but channels */
ABI_FN(prepare_destroy_ep, destroy_ep)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	a->channel_fd = -1;
	a->recv_cq.channel_fd = -1;
	a->send_cq.channel_fd = -1;
	ret = abi_world_id(w, &a->id) ?:
	      abi_create_srq(&w->s, ABI_OBJ(w, PD), 8, 0, &a->srq) ?:
	      abi_create_cq(&w->s, -1, 8, 0, &a->recv_cq.cq) ?:
	      abi_create_cq(&w->s, -1, 8, 0, &a->send_cq.cq);
	abi_qp_attr(&c, QPT_RC, ABI_OBJ(w, PD), a->send_cq.cq, a->recv_cq.cq);
	c.id = a->id;
	c.init.srq = a->srq;
	ret = ret ?: ABI(w->s.fd, CREATE_QP, &c);
	a->qp = c.init.qp;
	return ret;
}

ABI_FILL(prepare_set_option, set_option)
{
	a->level = RDMA_OPTION_ID;
	a->optname = RDMA_OPTION_ID_TOS;
	a->optlen = sizeof(w->tos);
	a->optval = (uintptr_t)&w->tos;
}

ABI_FILL(prepare_migrate_id, migrate_id)
{
	a->channel_fd = w->channel;
}

ABI_FILL(prepare_init_qp_attr, init_qp_attr)
{
	a->qp_state = QPS_INIT;
}

ABI_FILL(prepare_reg_mr, reg_mr)
{
	a->addr = (uintptr_t)w->page;
	a->iova = a->addr;
	a->length = 4096;
	a->access = AC_LOCAL_WRITE;
}

ABI_FILL(prepare_rereg_mr, rereg_mr)
{
	a->flags = RDMA_EP_REREG_ACCESS;
	a->access = AC_LOCAL_WRITE | AC_REMOTE_READ;
}

ABI_FILL(prepare_create_ah, create_ah)
{
	abi_self_ah(&w->s, &a->attr);
}

ABI_FILL(prepare_open_xrcd, open_xrcd)
{
	a->fd = -1;
}

ABI_FILL(prepare_create_cq, create_cq)
{
	a->channel_fd = w->comp_channel;
	a->cqe = 8;
}

ABI_FILL(prepare_resize_cq, resize_cq)
{
	a->cqe = 128;
}

ABI_FILL(prepare_poll_cq, poll_cq)
{
	a->wcs = (uintptr_t)w->page;
	a->max = 4;
}

ABI_FILL(prepare_modify_cq, modify_cq)
{
	a->cq_count = 1;
}

ABI_FN(prepare_create_srq, create_srq)
{
	a->pd = ABI_OBJ(w, PD);
	a->max_wr = 8;
	a->max_sge = 1;
	return abi_world_id(w, &a->id);
}

ABI_FILL(prepare_modify_srq, srq_attr)
{
	a->flags = RDMA_EP_SRQ_LIMIT;
	a->srq_limit = 1;
}

ABI_FN(prepare_create_qp, create_qp)
{
	qp_init(w, &a->init);
	return abi_world_id(w, &a->id);
}

ABI_FN(prepare_modify_qp, modify_qp)
{
	__u32 num;

	a->attr.qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS;
	a->attr.qp_state = QPS_INIT;
	a->attr.port_num = 1;
	return abi_world_qp(w, QPT_RC, &a->qp, &num);
}

ABI_FILL(prepare_query_qp, query_qp)
{
	a->attr_mask = QP_STATE;
}

ABI_FN(prepare_open_qp, open_qp)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, QPT_XRC_TGT, ABI_OBJ(w, XRCD), 0, 0);
	ret = ABI(w->s.fd, CREATE_QP, &c);
	a->qp_num = c.init.qp_num;
	return ret;
}

static void wrs(struct abi_world *w, struct rdma_ep_cmd_post *a, __u32 handle)
{
	a->wrs = (uintptr_t)w->wrs.buf;
	a->wrs_len = w->wrs.len;
	a->num = w->wrs.num;
	a->handle = handle;
}

/* An iWARP QP must be connected to send. An empty WRITE needs neither a receive nor memory. */
static int prepare_post_write(struct abi_world *w, struct rdma_ep_cmd_post *a)
{
	struct abi_pair p = {};
	int ret = abi_pair_open(&w->s, &p);

	abi_wrs_send(&w->wrs, WR_RDMA_WRITE, 0, 1);
	wrs(w, a, p.end[0].qp.qp);
	return ret;
}

ABI_FN(prepare_post_send, post)
{
	struct rdma_ep_send_wr *wr;
	__u32 qp, num;
	int ret;

	if (w->s.iwarp)
		return prepare_post_write(w, a);
	ret = abi_world_qp(w, QPT_UD, &qp, &num) ?:
	      abi_qp_init(&w->s, qp, QPT_UD, 0x1234) ?:
	      abi_qp_rts(&w->s, qp, QPT_UD, 0);
	wr = abi_wrs_send(&w->wrs, WR_SEND, 0, 1);
	wr->ah = ABI_OBJ(w, AH);
	wr->remote_qpn = num;
	wr->remote_qkey = 0x1234;
	wrs(w, a, qp);
	return ret;
}

ABI_FILL(prepare_post_recv, post)
{
	abi_wrs_recv(&w->wrs, 2);
	wrs(w, a, ABI_OBJ(w, QP));
}

ABI_FILL(prepare_post_srq_recv, post)
{
	abi_wrs_recv(&w->wrs, 3);
	wrs(w, a, ABI_OBJ(w, SRQ));
}

ABI_FN(prepare_attach_mcast, qp_mcast)
{
	__u32 num;

	abi_group_gid(a->gid, 3);
	return abi_world_qp(w, QPT_UD, &a->qp, &num);
}

ABI_FN(prepare_detach_mcast, qp_mcast)
{
	return prepare_attach_mcast(w, a) ?: abi_attach(&w->s, a->qp, 3);
}

ABI_FILL(prepare_list_objs, list_objs)
{
	a->objs = (uintptr_t)w->page;
	a->max = 4096 / sizeof(struct rdma_ep_obj_info);
}

ABI_FILL(prepare_set_obj, set_obj)
{
	a->flags = RDMA_EP_SET_COOKIE;
	a->handle = ABI_OBJ(w, PD);
	a->type = RDMA_EP_OBJ_PD;
	a->cookie = 4711;
}

ABI_FILL(prepare_restrict, restrict)
{
	a->flags = RDMA_EP_RESTRICT_OBJECTS;
	a->max_objects = UINT32_MAX;
}

ABI_FN(prepare_open_queue, open_queue)
{
	a->type = RDMA_EP_OBJ_CQ;
	return abi_create_cq(&w->s, w->comp_channel, 8, 0, &a->handle);
}

#define FIELD(_struct, _member, _kind, ...) {				\
	.at = offsetof(struct _struct, _member),			\
	.size = sizeof(((struct _struct *)0)->_member),			\
	.kind = FIELD_##_kind,						\
	.arg = 0 __VA_OPT__(+) __VA_ARGS__,				\
}

#define F(_cmd, _member, _kind, ...)					\
	FIELD(rdma_ep_cmd_##_cmd, _member, _kind __VA_OPT__(,) __VA_ARGS__)
#define Q(_member, _kind, ...)						\
	FIELD(rdma_ep_qp_init, _member, _kind __VA_OPT__(,) __VA_ARGS__)
#define UNUSED(_type, _member)	F(_type, _member, UNUSED)
#define FIELDS(...)		.fields = { __VA_ARGS__ }

#define QP_FIELDS(...)							\
	const struct abi_field abi_qp_fields[] = {			\
		__VA_ARGS__, { .kind = FIELD_END },			\
	};								\
	struct abi_command abi_commands[] = {

/* Sizes are multiples of 8, so the structures of 32-bit callers are the same. */
#define COMMAND(_name, _prepare, _weight, ...) {			\
	.name = #_name,							\
	.cmd = RDMA_EP_IOC_##_name +					\
	       0 * sizeof(char[_IOC_SIZE(RDMA_EP_IOC_##_name) % 8 ? -1 : 1]), \
	.prepare = prepare_##_prepare,					\
	.weight = _weight,						\
	__VA_ARGS__							\
},

#include "commands.def"
};

const unsigned int abi_num_commands = sizeof(abi_commands) / sizeof(abi_commands[0]);

static void add_reserved(struct abi_command *c, const struct abi_field *f, __u16 base)
{
	unsigned int i = 0;

	while (c->reserved[i].len)
		i++;
	assert(i < sizeof(c->reserved) / sizeof(c->reserved[0]));
	c->reserved[i].at = base + f->at;
	c->reserved[i].len = f->size;
}

static void add_handle(struct abi_command *c, const struct abi_field *f, __u16 base)
{
	unsigned int i = 0;

	while (c->handles[i].type)
		i++;
	assert(i < sizeof(c->handles) / sizeof(c->handles[0]));
	c->handles[i].at = base + f->at;
	/* prepare_*() uses a PD for a handle of any type. */
	c->handles[i].type = f->arg ?: RDMA_EP_OBJ_PD;
	c->handles[i].optional = f->kind == FIELD_OPTIONAL;
}

static void add_fields(struct abi_command *c, const struct abi_field *f, __u16 base)
{
	for (; f->kind; f++) {
		if (f->kind == FIELD_ZERO || f->kind == FIELD_UNUSED)
			add_reserved(c, f, base);
		else if (f->kind == FIELD_HANDLE || f->kind == FIELD_OPTIONAL)
			add_handle(c, f, base);
		else if (f->kind == FIELD_QP && f->arg != QP_LATER)
			add_fields(c, abi_qp_fields, base + f->at);
		else if (base && f->at == offsetof(struct rdma_ep_qp_init, flags)) {
			c->flags2 = f->arg;
			c->flags2_at = base + f->at;
		}
	}
}

static void __attribute__((constructor)) make_commands(void)
{
	struct abi_command *c;

	for_each_command(c) {
		if (c->zero.size)
			add_reserved(c, &c->zero, 0);
		add_fields(c, c->fields, 0);
	}
}
