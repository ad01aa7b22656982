// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC through the library: ibv_open_xrcd(3), ibv_open_qp(3), ibv_create_srq_ex(3),
 * ibv_get_srq_num(3), ibv_create_qp_ex(3), rdma_create_srq_ex(3) and synchronous
 * endpoints, as rdma_xserver and rdma_xclient use them. The tests run on the mock device.
 */
#include "lib_test.h"
#include "lib_mock.h"

#define FD_AND_OFLAGS	(IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

FIXTURE(xrc) {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int file;
	char buf[4096];
	struct ibv_mr *mr;
};

FIXTURE_SETUP(xrc)
{
	char name[] = "/tmp/verbs_xrc.XXXXXX";

	self->context = ASSERT_PTR(lib_mock_up());
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->context));
	self->cq = ASSERT_PTR(ibv_create_cq(self->context, 32, NULL, NULL, 0));
	self->mr = ASSERT_PTR(ibv_reg_mr(self->pd, self->buf, sizeof(self->buf),
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					 IBV_ACCESS_REMOTE_READ));
	self->file = mkstemp(name);
	ASSERT_LE(0, self->file);
	unlink(name);
}

FIXTURE_TEARDOWN(xrc)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->context));
	close(self->file);
}

static struct ibv_srq *create_srq(struct ibv_context *context,
				  struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.srq_context = pd,
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd, .xrcd = xrcd, .cq = cq,
	};

	return ibv_create_srq_ex(context, &attr);
}

static struct ibv_qp *create_target(struct ibv_context *context, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return ibv_create_qp_ex(context, &attr);
}

TEST_F(xrc, domains)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1, .oflags = O_CREAT };
	struct ibv_context *other;
	struct ibv_xrcd *a, *b;

	EXPECT_FAILS_NULL(EINVAL, ibv_open_xrcd(self->context, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	EXPECT_FAILS_NULL(EINVAL, ibv_open_xrcd(self->context, &attr));
	attr.comp_mask = FD_AND_OFLAGS | IBV_XRCD_INIT_ATTR_RESERVED;
	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_open_xrcd(self->context, &attr));
	EXPECT_FAILS_NULL(EINVAL, ibv_open_xrcd(self->context, NULL));
	a = ASSERT_PTR(lib_open_xrcd(self->context, -1, O_CREAT));
	EXPECT_EQ(self->context, a->context);
	EXPECT_EQ(0, ibv_close_xrcd(a));

	EXPECT_FAILS_NULL(EBADF, lib_open_xrcd(self->context, 999, O_CREAT));
	EXPECT_FAILS_NULL(EAGAIN, lib_open_xrcd(self->context, self->file, 0));
	a = ASSERT_PTR(lib_open_xrcd(self->context, self->file, O_CREAT | O_EXCL | O_RDWR));
	EXPECT_FAILS_NULL(EINVAL, lib_open_xrcd(self->context, self->file, O_CREAT | O_EXCL));
	/* Another context of the device can open the domain as well. */
	other = ASSERT_PTR(lib_mock_open());
	b = ASSERT_PTR(lib_open_xrcd(other, self->file, O_RDONLY));
	EXPECT_EQ(0, ibv_close_xrcd(a));
	a = ASSERT_PTR(lib_open_xrcd(self->context, self->file, 0));
	EXPECT_EQ(0, ibv_close_xrcd(b));
	EXPECT_EQ(0, ibv_close_xrcd(a));
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST_F(xrc, objects)
{
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
		.qp_context = self,
	};
	struct ibv_qp_attr qa = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr plain = {
		.qp_type = IBV_QPT_XRC_RECV, .send_cq = self->cq, .recv_cq = self->cq,
	};
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp, *again;
	struct ibv_srq_attr sa;
	struct ibv_xrcd *xrcd = ASSERT_PTR(lib_open_xrcd(self->context, -1, O_CREAT));
	struct ibv_srq *srq;
	uint32_t num = 0;

	EXPECT_FAILS_NULL(EINVAL, create_srq(self->context, self->pd, NULL, self->cq));
	EXPECT_FAILS_NULL(EINVAL, create_srq(self->context, self->pd, xrcd, NULL));
	srq = ASSERT_PTR(create_srq(self->context, self->pd, xrcd, self->cq));
	EXPECT_EQ((void *)self->pd, srq->srq_context);
	EXPECT_EQ(0, ibv_get_srq_num(srq, &num));
	EXPECT_NE(0, num);
	EXPECT_EQ(0, ibv_query_srq(srq, &sa));
	EXPECT_LE(8, sa.max_wr);
	EXPECT_EQ(EBUSY, ibv_close_xrcd(xrcd));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->cq));

	EXPECT_FAILS_NULL(EINVAL, ibv_create_qp(self->pd, &plain));
	EXPECT_FAILS_NULL(EINVAL, create_target(self->context, NULL));
	qp = ASSERT_PTR(create_target(self->context, xrcd));
	EXPECT_EQ(IBV_QPT_XRC_RECV, qp->qp_type);
	EXPECT_EQ(self->context, qp->context);
	EXPECT_EQ(0, ibv_modify_qp(qp, &qa, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	open.qp_num = qp->qp_num + 1000;
	open.xrcd = xrcd;
	EXPECT_FAILS_NULL(EINVAL, ibv_open_qp(self->context, &open));
	open.qp_num = qp->qp_num;
	open.comp_mask &= ~IBV_QP_OPEN_ATTR_TYPE;
	EXPECT_FAILS_NULL(EINVAL, ibv_open_qp(self->context, &open));
	open.comp_mask |= IBV_QP_OPEN_ATTR_TYPE;
	open.qp_type = IBV_QPT_XRC_SEND;
	EXPECT_FAILS_NULL(EINVAL, ibv_open_qp(self->context, &open));
	open.qp_type = IBV_QPT_XRC_RECV;
	again = ASSERT_PTR(ibv_open_qp(self->context, &open));
	EXPECT_EQ(qp->qp_num, again->qp_num);
	EXPECT_EQ((void *)self, again->qp_context);
	EXPECT_EQ(IBV_QPS_INIT, again->state);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_query_qp(again, &qa, IBV_QP_STATE, &init));
	EXPECT_EQ(IBV_QPS_INIT, qa.qp_state);
	EXPECT_EQ(IBV_QPT_XRC_RECV, init.qp_type);
	EXPECT_EQ(0, ibv_destroy_qp(again));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_close_xrcd(xrcd));

	/* Only XRC SRQs have numbers. */
	srq = ASSERT_PTR(ibv_create_srq(self->pd, &basic));
	EXPECT_EQ(EINVAL, ibv_get_srq_num(srq, &num));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* Connects an XRC_SEND QP to itself, which the mock device allows. */
static int to_itself(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = 1, .hop_limit = 64 },
		},
	};
	int ret = ibv_query_gid(qp->context, 1, 1, &attr.ah_attr.grh.dgid);

	ret = ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	ret = ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	attr.qp_state = IBV_QPS_RTS;
	return ret ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/*
 * ibv_wr_*() on an XRC_SEND QP refuse operations that need the number of an SRQ. Programs set it
 * for the others as well: ibv_wr_post(3) makes it mandatory.
 */
TEST_F(xrc, wr)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = self->pd, .send_cq = self->cq,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	EXPECT_FAILS_NULL(EOPNOTSUPP, ibv_create_qp_ex(self->context, &attr));
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE |
			      IBV_QP_EX_WITH_RDMA_READ;
	qp = ASSERT_PTR(ibv_create_qp_ex(self->context, &attr));
	EXPECT_EQ(0, attr.cap.max_recv_wr);
	ex = ASSERT_PTR(ibv_qp_to_qp_ex(qp));
	ASSERT_EQ(0, to_itself(qp));
	strcpy(self->buf, "xrc");
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, self->mr->rkey, (uintptr_t)self->buf + 64);
	ibv_wr_set_xrc_srqn(ex, 3);
	ibv_wr_set_sge(ex, self->mr->lkey, (uintptr_t)self->buf, 4);
	ASSERT_EQ(0, ibv_wr_complete(ex));
	ASSERT_EQ(0, lib_wait_wc(self->cq, &wc, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(0, strcmp("xrc", self->buf + 64));
	/* No request has been begun. */
	ibv_wr_start(ex);
	ibv_wr_set_xrc_srqn(ex, 3);
	EXPECT_EQ(EINVAL, ibv_wr_complete(ex));
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(EINVAL, ibv_wr_complete(ex));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* ---- endpoints */

static struct rdma_cm_id *create_ep(int flags, int qp_type, struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo *res = lib_mock_rai(flags, qp_type);
	struct rdma_cm_id *id = NULL;

	if (res && rdma_create_ep(&id, res, NULL, attr))
		id = NULL;
	rdma_freeaddrinfo(res);
	return id;
}

/* rdma_create_qp_ex() returns the domain that ids share, without an SRQ. */
TEST_F(xrc, target_without_a_domain_returns_the_shared_one)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV };
	struct rdma_cm_id *id;

	id = ASSERT_PTR(create_ep(RAI_PASSIVE, IBV_QPT_XRC_RECV, NULL));
	ASSERT_EQ(0, rdma_create_qp_ex(id, &attr));
	EXPECT_TRUE(attr.comp_mask & IBV_QP_INIT_ATTR_XRCD);
	ASSERT_TRUE(attr.xrcd);
	EXPECT_EQ(id->verbs, attr.xrcd->context);
	rdma_destroy_ep(id);
}

struct server {
	struct rdma_cm_id *listener, *id;
	struct lib_thread thread;
	uint32_t srqn;
};

/* Serves a request as rdma_xserver does. Returns the step that failed, or NULL. */
static void *serve(void *arg)
{
	struct server *s = arg;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct rdma_conn_param param = {
		.private_data = &s->srqn, .private_data_len = sizeof(s->srqn),
	};

	STEP(!rdma_get_request(s->listener, &s->id));
	STEP(s->id->qp && s->id->qp->qp_type == IBV_QPT_XRC_RECV);
	attr.srq_context = s->id;
	STEP(!rdma_create_srq(s->id, NULL, &attr));
	STEP(!ibv_get_srq_num(s->id->srq, &s->srqn));
	STEP(!rdma_accept(s->id, &param));
	return NULL;
}

static void *disconnect(void *arg)
{
	rdma_disconnect(arg);
	return NULL;
}

TEST_F(xrc, endpoints)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_recv_wr = 1, .max_recv_sge = 1 } };
	struct server s = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct rdma_cm_id *id;
	static char buf[64], to[64];
	struct ibv_mr *mr, *to_mr;
	struct ibv_wc wc;

	s.listener = ASSERT_PTR(create_ep(RAI_PASSIVE, IBV_QPT_XRC_RECV, &attr));
	EXPECT_EQ(IBV_QPT_XRC_RECV, s.listener->qp_type);
	ASSERT_EQ(0, rdma_listen(s.listener, 0));
	ASSERT_EQ(0, lib_start(&s.thread, serve, &s));

	memset(&attr, 0, sizeof(attr));
	attr.cap.max_send_wr = 2;
	attr.cap.max_send_sge = 1;
	attr.sq_sig_all = 1;
	id = ASSERT_PTR(create_ep(0, IBV_QPT_XRC_SEND, &attr));
	EXPECT_EQ(IBV_QPT_XRC_SEND, id->qp->qp_type);
	EXPECT_TRUE(id->send_cq && !id->recv_cq && !id->recv_cq_channel);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	EXPECT_RETURNS(NULL, &s.thread);
	EXPECT_EQ(0, memcmp(id->event->param.conn.private_data, &s.srqn, sizeof(s.srqn)));
	EXPECT_TRUE(s.id->srq && s.id->recv_cq && s.id->recv_cq_channel);
	EXPECT_EQ(IBV_QPS_RTS, s.id->qp->state);
	EXPECT_EQ(IBV_QPS_RTS, id->qp->state);

	mr = ASSERT_PTR(rdma_reg_msgs(id, buf, sizeof(buf)));
	to_mr = ASSERT_PTR(rdma_reg_write(s.id, to, sizeof(to)));
	EXPECT_EQ(0, rdma_post_recv(s.id, NULL, to, sizeof(to), to_mr));

	/* rdma_xclient's send is refused: struct ib_send_wr has no field for the SRQ. */
	sge = (struct ibv_sge) { (uintptr_t)buf, sizeof(buf), mr->lkey };
	wr.qp_type.xrc.remote_srqn = s.srqn;
	EXPECT_EQ(EOPNOTSUPP, ibv_post_send(id->qp, &wr, &bad));
	EXPECT_EQ(&wr, bad);
	memset(buf, 0x77, sizeof(buf));
	EXPECT_EQ(0, rdma_post_write(id, NULL, buf, sizeof(buf), mr, 0,
				     (uintptr_t)to, to_mr->rkey));
	ASSERT_EQ(1, rdma_get_send_comp(id, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(0, memcmp(buf, to, sizeof(buf)));

	/* Each rdma_disconnect() waits for the other one. */
	ASSERT_EQ(0, lib_start(&s.thread, disconnect, s.id));
	EXPECT_EQ(0, rdma_disconnect(id));
	EXPECT_EQ(0, lib_join(&s.thread, NULL));
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	EXPECT_EQ(0, rdma_dereg_mr(to_mr));
	rdma_destroy_ep(id);
	/* The CQ belongs to the SRQ, and outlives the QP. */
	rdma_destroy_qp(s.id);
	EXPECT_TRUE(s.id->srq && s.id->recv_cq);
	rdma_destroy_srq(s.id);
	EXPECT_TRUE(!s.id->srq && !s.id->recv_cq && !s.id->recv_cq_channel);
	rdma_destroy_ep(s.id);
	rdma_destroy_ep(s.listener);
}

/* For an XRC SRQ whose domain and CQ are created with it */
static struct ibv_srq_init_attr_ex srq_attr(void)
{
	return (struct ibv_srq_init_attr_ex) {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_XRC,
	};
}

struct racer {
	struct rdma_cm_id *id;
	struct ibv_srq_init_attr_ex attr;
	pthread_barrier_t *start;
	bool made;
};

static void *race_srq(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->start);
	r->made = !rdma_create_srq_ex(r->id, &r->attr);
	return NULL;
}

/* One thread creates the SRQ. The other one fails, and does not destroy the SRQ's CQ. */
TEST_F(xrc, two_threads_make_an_srq)
{
	struct racer r[2];
	struct lib_thread t[2];
	pthread_barrier_t start;
	struct rdma_cm_id *id;
	int i, round;

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 2));
	for (round = 0; round < 40; round++) {
		id = ASSERT_PTR(create_ep(0, IBV_QPT_XRC_RECV, NULL));
		for (i = 0; i < 2; i++) {
			r[i] = (struct racer) { .id = id, .attr = srq_attr(), .start = &start };
			ASSERT_EQ(0, lib_start(&t[i], race_srq, &r[i]));
		}
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, lib_join(&t[i], NULL));
		ASSERT_NE(r[0].made, r[1].made);
		i = r[1].made;
		ASSERT_TRUE(id->srq && id->recv_cq && id->recv_cq_channel);
		ASSERT_EQ(r[i].attr.cq, id->recv_cq);
		ASSERT_EQ(0, ibv_req_notify_cq(id->recv_cq, 0));
		rdma_destroy_srq(id);
		rdma_destroy_ep(id);
	}
}

/* With domain and CQ of the library, then of the program */
TEST_F(xrc, on_id)
{
	struct ibv_srq_init_attr_ex attr = srq_attr();
	struct ibv_qp_init_attr_ex qa = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct rdma_cm_id *id = NULL;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;

	/* A client whose QP only receives is unusual, but documented. */
	id = ASSERT_PTR(create_ep(0, IBV_QPT_XRC_RECV, NULL));
	xrcd = ASSERT_PTR(lib_open_xrcd(id->verbs, -1, O_CREAT));
	cq = ASSERT_PTR(ibv_create_cq(id->verbs, 8, NULL, NULL, 0));

	/* The library creates both. */
	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	EXPECT_TRUE(attr.xrcd && attr.xrcd != xrcd);
	EXPECT_EQ(id->recv_cq, attr.cq);
	EXPECT_FAILS(EINVAL, rdma_create_srq_ex(id, &attr));
	rdma_destroy_srq(id);
	EXPECT_TRUE(!id->recv_cq);
	/* A failure leaves no objects. */
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	attr.attr.max_wr = 1 << 20;
	EXPECT_EQ(-1, rdma_create_srq_ex(id, &attr));
	EXPECT_TRUE(!id->srq && !id->recv_cq && !id->recv_cq_channel);
	/* The same if creating the SRQ fails; the attributes are unchanged. */
	attr.attr.max_wr = 4;
	attr.attr.max_sge = 100000;
	attr.cq = NULL;
	EXPECT_FAILS(EINVAL, rdma_create_srq_ex(id, &attr));
	EXPECT_TRUE(!id->srq && !id->recv_cq && !id->recv_cq_channel);
	EXPECT_EQ(IBV_SRQ_INIT_ATTR_TYPE, attr.comp_mask);
	EXPECT_EQ(NULL, attr.cq);
	attr.attr.max_sge = 1;
	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	rdma_destroy_srq(id);
	/* The program gives both. */
	attr.attr.max_wr = 4;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			 IBV_SRQ_INIT_ATTR_CQ;
	attr.xrcd = xrcd;
	attr.cq = cq;
	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	EXPECT_TRUE(!id->recv_cq);
	EXPECT_EQ(EBUSY, ibv_destroy_cq(cq));
	qa.xrcd = xrcd;
	ASSERT_EQ(0, rdma_create_qp_ex(id, &qa));
	EXPECT_EQ(IBV_QPS_INIT, id->qp->state);
	EXPECT_EQ(EBUSY, ibv_close_xrcd(xrcd));
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ibv_close_xrcd(xrcd));
}

TEST_HARNESS_MAIN
