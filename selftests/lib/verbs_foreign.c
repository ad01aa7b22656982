// SPDX-License-Identifier: GPL-2.0-only
/*
 * libibverbs and rdma_ep in one process: the program's functions serve objects of both. The test
 * opens the device of libibverbs through a handle of dlopen(3), as some programs do.
 */
#include "lib_test.h"

/* The last GID of the table, for connections to itself. Returns its index, or -1. */
static int find_gid(struct ibv_context *context, struct ibv_port_attr *port, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = port->gid_tbl_len - 1; i >= 0; i--) {
		if (ibv_query_gid_ex(context, 1, i, &entry, 0))
			continue;
		if (!ibv_query_gid(context, 1, i, gid) && !memcmp(gid, &entry.gid, sizeof(*gid)))
			return i;
	}
	return -1;
}

static int connect_self(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_port_attr port;
	union ibv_gid gid;
	int index;

	if (ibv_query_port(context, 1, &port))
		return -1;
	index = find_gid(context, &port, &gid);
	if (index < 0)
		return -1;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = qp->qp_num;
	attr.min_rnr_timer = 12;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.sgid_index = index;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

struct objects {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	char buf[128];
};

static const char *make(struct objects *o)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr;
	struct ibv_ah_attr ah = { .port_num = 1, .is_global = 1 };
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	__be16 pkey;

	STEP(!ibv_query_device(o->context, &device) && device.max_qp > 0);
	STEP(!ibv_query_port(o->context, 1, &port));
	STEP(lib_iwarp(o->context) || !ibv_query_pkey(o->context, 1, 0, &pkey));
	STEP((o->pd = ibv_alloc_pd(o->context)));
	STEP((o->mr = ibv_reg_mr(o->pd, o->buf, sizeof(o->buf), IBV_ACCESS_LOCAL_WRITE)));
	STEP((o->channel = ibv_create_comp_channel(o->context)));
	STEP((o->cq = ibv_create_cq(o->context, 16, o, o->channel, 0)));
	STEP((o->srq = ibv_create_srq(o->pd, &srq)));
	attr = lib_qp_attr_on(o->cq);
	attr.srq = o->srq;
	STEP((o->qp = ibv_create_qp(o->pd, &attr)));
	if (!lib_iwarp(o->context)) {
		ah.grh.sgid_index = find_gid(o->context, &port, &ah.grh.dgid);
		STEP((o->ah = ibv_create_ah(o->pd, &ah)));
	}
	return NULL;
}

static const char *use(struct objects *o)
{
	struct ibv_sge sge = { .addr = (uintptr_t)o->buf, .length = 8, .lkey = o->mr->lkey };
	struct ibv_send_wr send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_srq_attr srq;
	struct ibv_wc wc[2];
	void *context;

	/* libsiw cannot query SRQs, and its QPs need the connection manager. */
	if (lib_iwarp(o->context))
		return NULL;
	STEP(!ibv_query_srq(o->srq, &srq) && srq.max_wr >= 8);
	STEP(!connect_self(o->context, o->qp));
	STEP(lib_qp_state(o->qp) == IBV_QPS_RTS);
	STEP(!ibv_req_notify_cq(o->cq, 0));
	STEP(!ibv_post_srq_recv(o->srq, &recv, &bad_recv));
	STEP(!ibv_post_send(o->qp, &send, &bad_send));
	STEP(lib_cq_event_context(o->channel, &context) == o->cq && context == o);
	STEP(!lib_wait_wc(o->cq, wc, 2));
	STEP(!wc[0].status && !wc[1].status);
	return NULL;
}

static const char *destroy(struct objects *o)
{
	STEP(!o->ah || !ibv_destroy_ah(o->ah));
	STEP(!ibv_destroy_qp(o->qp));
	STEP(!ibv_destroy_srq(o->srq));
	STEP(!ibv_destroy_cq(o->cq));
	STEP(!ibv_destroy_comp_channel(o->channel));
	STEP(!ibv_dereg_mr(o->mr));
	STEP(!ibv_dealloc_pd(o->pd));
	return NULL;
}

FIXTURE(two)
{
	void *handle;
	struct ibv_device **stock_list, **list;
	struct objects stock, own;
};

/* The device of the list with the same name, or NULL */
static struct ibv_device *same_device(struct ibv_device **list, struct ibv_device *device)
{
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), ibv_get_device_name(device)))
			return *list;
	return NULL;
}

FIXTURE_SETUP(two)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	__typeof__(&ibv_open_device) open_device;
	struct ibv_device **(*get_list)(int *num);
	struct ibv_device *device;

	self->handle = ASSERT_PTR(dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL));
	get_list = ASSERT_PTR(dlsym(self->handle, "ibv_get_device_list"));
	open_device = ASSERT_PTR(dlsym(self->handle, "ibv_open_device"));

	self->list = ASSERT_PTR(ibv_get_device_list(NULL));
	device = ASSERT_PTR(same_device(self->list, context->device));
	self->own.context = ASSERT_PTR(ibv_open_device(device));

	self->stock_list = ASSERT_PTR(get_list(NULL));
	device = ASSERT_PTR(same_device(self->stock_list, context->device));
	EXPECT_EQ(ibv_get_device_guid(self->own.context->device), ibv_get_device_guid(device));
	EXPECT_EQ(ibv_get_device_index(self->own.context->device), ibv_get_device_index(device));
	self->stock.context = ASSERT_PTR(open_device(device));
	if (!is_stock())
		EXPECT_NE(self->stock.context->ops.poll_cq, self->own.context->ops.poll_cq);
}

FIXTURE_TEARDOWN(two)
{
	EXPECT_EQ(0, ibv_close_device(self->stock.context));
	EXPECT_EQ(0, ibv_close_device(self->own.context));
	ibv_free_device_list(self->stock_list);
	ibv_free_device_list(self->list);
	dlclose(self->handle);
}

TEST_F(two, one_after_the_other)
{
	ASSERT_STEPS(make(&self->stock));
	ASSERT_STEPS(use(&self->stock));
	ASSERT_STEPS(destroy(&self->stock));
	ASSERT_STEPS(make(&self->own));
	ASSERT_STEPS(use(&self->own));
	ASSERT_STEPS(destroy(&self->own));
}

TEST_F(two, side_by_side)
{
	ASSERT_STEPS(make(&self->stock));
	ASSERT_STEPS(make(&self->own));
	ASSERT_STEPS(use(&self->own));
	ASSERT_STEPS(use(&self->stock));
	ASSERT_STEPS(destroy(&self->own));
	ASSERT_STEPS(destroy(&self->stock));
}

/* The program's ibv_open_device() opens a context of libibverbs for its devices. */
TEST_F(two, open_a_stock_device)
{
	struct ibv_context *context = ASSERT_PTR(ibv_open_device(self->stock.context->device));

	EXPECT_EQ(self->stock.context->ops.poll_cq, context->ops.poll_cq);
	EXPECT_EQ(0, ibv_close_device(context));
}

/* An object of one library is refused with objects of the other. */
TEST_F(two, do_not_mix)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	if (is_stock())
		SKIP(return, "undefined with the stock libraries");
	ASSERT_STEPS(make(&self->stock));
	ASSERT_STEPS(make(&self->own));
	EXPECT_FAILS_NULL(EBADF, ibv_create_cq(self->own.context, 1, NULL, self->stock.channel, 0));
	attr.send_cq = self->own.cq;
	attr.recv_cq = self->stock.cq;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(self->own.pd, &attr));
	attr.recv_cq = self->own.cq;
	attr.srq = self->stock.srq;
	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(self->own.pd, &attr));
	ASSERT_STEPS(destroy(&self->stock));
	ASSERT_STEPS(destroy(&self->own));
}

TEST_HARNESS_MAIN
