// SPDX-License-Identifier: GPL-2.0-only
/*
 * The QP, the SRQ and the QP attributes of an id. The tests of rdma_create_qp(3) and
 * rdma_create_srq(3) are in page_*.c.
 */
#include "lib_test.h"

FIXTURE(qp) {
	struct rdma_cm_id *id;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr attr;
};

/* A bound id, and a PD of its device. */
FIXTURE_SETUP(qp)
{
	self->id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
	self->verbs = self->id->verbs;
	self->pd = ASSERT_PTR(ibv_alloc_pd(self->verbs));
	self->attr = lib_qp_attr();
}

FIXTURE_TEARDOWN(qp)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* A QP without receive requests gets no receive CQ. */
TEST_F(qp, no_receive_queue)
{
	struct ibv_cq *cq = ASSERT_PTR(ibv_create_cq(self->verbs, 4, NULL, NULL, 0));

	if (is_libsiw(self->verbs))
		SKIP(return, "libsiw wants a receive queue");
	self->attr.recv_cq = cq;
	self->attr.cap.max_recv_wr = 0;
	self->attr.cap.max_recv_sge = 0;
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_TRUE(!self->id->recv_cq && self->id->send_cq);
	if (is_stock()) {	/* stock leaks the send CQ here */
		ibv_destroy_qp(self->id->qp);
		ibv_destroy_cq(self->id->send_cq);
		ibv_destroy_comp_channel(self->id->send_cq_channel);
	} else {
		rdma_destroy_qp(self->id);
		EXPECT_TRUE(!self->id->send_cq && !self->id->send_cq_channel);
	}
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* The next QP without a given PD has the default PD, as the earlier one may have been freed. */
TEST_F(qp, given_pd_goes_with_its_qp)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id = self->id;
	struct ibv_pd *default_pd = id->pd, *pd;
	struct ibv_mr *mr;
	char buf[8];

	if (is_stock())
		SKIP(return, "librdmacm takes the PD that is gone");
	pd = ASSERT_PTR(ibv_alloc_pd(self->verbs));
	ASSERT_EQ(0, rdma_create_qp(id, pd, &self->attr));
	EXPECT_EQ(pd, id->pd);
	rdma_destroy_qp(id);
	EXPECT_EQ(default_pd, id->pd);
	mr = ASSERT_PTR(rdma_reg_msgs(id, buf, sizeof(buf)));
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(default_pd, id->qp->pd);
	EXPECT_EQ(default_pd, id->pd);
	EXPECT_EQ(0, rdma_post_recv(id, NULL, buf, sizeof(buf), mr));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dereg_mr(mr));

	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, rdma_create_qp_ex(id, &ex));
	EXPECT_EQ(default_pd, id->qp->pd);
	rdma_destroy_qp(id);

	/* The next SRQ has the default PD as well. */
	pd = ASSERT_PTR(ibv_alloc_pd(self->verbs));
	attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, rdma_create_srq(id, NULL, &(struct ibv_srq_init_attr){
					.attr = { .max_wr = 1, .max_sge = 1 } }));
	EXPECT_EQ(default_pd, id->srq->pd);
	rdma_destroy_srq(id);
}

/* A PD that the program has put into the id stays there. */
TEST_F(qp, pd_in_the_id_is_used)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_pd *default_pd = id->pd;

	id->pd = self->pd;
	for (int i = 0; i < 2; i++) {
		self->attr = lib_qp_attr();
		ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
		EXPECT_EQ(self->pd, id->qp->pd);
		rdma_destroy_qp(id);
		EXPECT_EQ(self->pd, id->pd);
	}
	id->pd = default_pd;
}

/* A QP with an SRQ gets a receive CQ, although it has no receive requests. */
TEST_F(qp, srq_and_no_receive_queue)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_cm_id *id = self->id;

	if (is_stock())
		SKIP(return, "librdmacm crashes");
	ASSERT_EQ(0, rdma_create_srq(id, NULL, &srq));
	self->attr.cap.max_recv_wr = 0;
	self->attr.cap.max_recv_sge = 0;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_TRUE(id->recv_cq && id->recv_cq_channel && id->recv_cq != id->send_cq);
	EXPECT_EQ(id->recv_cq, id->qp->recv_cq);
	EXPECT_LE(8, id->recv_cq->cqe);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
}

/* rdma_disconnect(3): "transitions any associated QP to the error state" */
TEST_F(qp, disconnect_before_a_connection_flushes)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_mr *mr;
	char buf[8];

	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	mr = ASSERT_PTR(rdma_reg_msgs(id, buf, sizeof(buf)));
	ASSERT_EQ(0, rdma_post_recv(id, (void *)5, buf, sizeof(buf), mr));
	EXPECT_FAILS(EINVAL, rdma_disconnect(id));
	if (!lib_iwarp(id->verbs))
		EXPECT_WC(id->recv_cq, 5, IBV_WC_WR_FLUSH_ERR);
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* The QP and its CQs outlive the id. */
TEST_F(qp, destroy_id_first)
{
	struct rdma_cm_id copy;
	char buf[8];
	struct ibv_mr *mr;

	ASSERT_EQ(0, rdma_create_qp(self->id, self->pd, &self->attr));
	mr = ASSERT_PTR(rdma_reg_msgs(self->id, buf, sizeof(buf)));
	copy = *self->id;
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, rdma_post_recv(&copy, (void *)4, buf, 8, mr));
	EXPECT_EQ(0, lib_modify_qp(copy.qp, IBV_QPS_ERR));
	EXPECT_EQ(IBV_QPS_ERR, copy.qp->state);
	EXPECT_WC(copy.recv_cq, 4, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(0, ibv_destroy_qp(copy.qp));
	EXPECT_EQ(0, ibv_destroy_cq(copy.send_cq));
	EXPECT_EQ(0, ibv_destroy_cq(copy.recv_cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(copy.send_cq_channel));
	EXPECT_EQ(0, ibv_destroy_comp_channel(copy.recv_cq_channel));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

#define MAX_OTHERS	64

/*
 * A QP that the program puts into the id may have the address of a destroyed QP of
 * rdma_create_qp(). The library connects it nevertheless.
 */
TEST(another_qp_at_the_same_address)
{
	struct ibv_qp *made, *other[MAX_OTHERS];
	struct ibv_qp_init_attr attr;
	struct pair p = {};
	struct ibv_cq *cq;
	int n;

	ASSERT_EQ(0, pair_client(&p));
	made = p.a->qp;
	rdma_destroy_qp(p.a);
	cq = ASSERT_PTR(ibv_create_cq(p.a->verbs, 16, NULL, NULL, 0));
	for (n = 0; n < MAX_OTHERS; n++) {
		attr = lib_qp_attr_on(cq);
		other[n] = ASSERT_PTR(ibv_create_qp(p.a->pd, &attr));
		if (other[n] == made)
			break;
	}
	if (n == MAX_OTHERS)	/* The allocator has not reused the address. */
		n--;
	p.a->qp = other[n];
	ASSERT_EQ(0, pair_requested(&p));
	ASSERT_EQ(0, pair_accept(&p));
	EXPECT_EQ(IBV_QPS_RTS, lib_qp_state_as(other[n], IBV_QPS_RTS));
	ASSERT_EQ(0, lib_modify_qp(other[n], IBV_QPS_ERR));
	p.a->qp = NULL;
	for (; n >= 0; n--)
		EXPECT_EQ(0, ibv_destroy_qp(other[n]));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, pair_down(&p));
}

/* ------------------------------------------------------------------ */

/* P0: rdma_create_srq_ex */
TEST_F(qp, create_srq_ex)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 10, .max_sge = 2 },
		.srq_type = IBV_SRQT_BASIC,
	};
	struct rdma_cm_id *id = self->id;

	EXPECT_FAILS(EINVAL, rdma_create_srq_ex(id, &attr));
	EXPECT_TRUE(!id->srq);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	ASSERT_TRUE(id->srq != NULL);
	EXPECT_EQ(id->pd, id->srq->pd);
	EXPECT_LE(10, attr.attr.max_wr);
	EXPECT_LE(2, attr.attr.max_sge);
	rdma_destroy_srq(id);

	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.pd = self->pd;
	attr.attr.max_wr = 10;
	ASSERT_EQ(0, rdma_create_srq_ex(id, &attr));
	EXPECT_EQ(self->pd, id->srq->pd);
	rdma_destroy_srq(id);
	EXPECT_TRUE(!id->srq);
}

TEST_F(qp, no_xrc)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_srq_init_attr_ex xrc = {
		.attr = { .max_wr = 10, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_XRC,
	};

	EXPECT_EQ(-1, rdma_create_srq_ex(id, &xrc));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_TRUE(!id->srq && !id->recv_cq);
	if (!is_stock())	/* stock crashes */
		rdma_destroy_srq(id);
}

/* ------------------------------------------------------------------ */

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
		   IBV_QP_ACCESS_FLAGS)

TEST_F(qp, srq_ex_failure_leaves_the_attributes)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 100000 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
	};

	if (is_stock())
		SKIP(return, "librdmacm leaves its PD there");
	EXPECT_FAILS(EINVAL, rdma_create_srq_ex(self->id, &attr));
	EXPECT_EQ(IBV_SRQ_INIT_ATTR_TYPE, attr.comp_mask);
	EXPECT_EQ(NULL, attr.pd);
}

/* P0: rdma_init_qp_attr */
TEST_F(qp, init_qp_attr)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_id *unbound;
	int mask = 0;

	ASSERT_EQ(0, rdma_init_qp_attr(self->id, &attr, &mask));
	if (!lib_iwarp(self->verbs)) {
		EXPECT_EQ(INIT_MASK, mask);
		EXPECT_EQ(0, attr.qp_access_flags);
		EXPECT_EQ(0, attr.pkey_index);
		EXPECT_EQ(1, attr.port_num);
	}
	EXPECT_EQ(IBV_QPS_INIT, attr.qp_state);

	attr.qp_state = IBV_QPS_ERR + 1;
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(self->id, &attr, &mask));
	attr.qp_state = IBV_QPS_INIT;
	ASSERT_EQ(0, rdma_create_id(NULL, &unbound, NULL, RDMA_PS_TCP));
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(unbound, &attr, &mask));
	EXPECT_EQ(0, rdma_destroy_id(unbound));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(NULL, &attr, &mask));
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(self->id, NULL, &mask));
	EXPECT_FAILS(EINVAL, rdma_init_qp_attr(self->id, &attr, NULL));
}

TEST(init_qp_attr_of_datagrams)
{
	struct rdma_cm_id *id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_UDP));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	if (lib_iwarp(id->verbs))
		SKIP(return, "iWARP has no datagrams");
	ASSERT_EQ(0, rdma_init_qp_attr(id, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, mask);
	EXPECT_EQ(RDMA_UDP_QKEY, attr.qkey);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST(init_qp_attr_of_a_connection)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct pair p = {};
	int mask;

	ASSERT_EQ(0, pair_up(&p));
	if (lib_iwarp(p.a->verbs))
		SKIP(return, "these are InfiniBand's attributes");
	ASSERT_EQ(0, rdma_init_qp_attr(p.p, &attr, &mask));
	EXPECT_EQ(INIT_MASK, mask);
	/* Newer kernels add flags of newer devices. */
	EXPECT_EQ(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC, attr.qp_access_flags &
		  (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND));

	attr.qp_state = IBV_QPS_RTR;
	ASSERT_EQ(0, rdma_init_qp_attr(p.p, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, mask);
	EXPECT_EQ(p.a->qp->qp_num, attr.dest_qp_num);
	EXPECT_EQ(1, attr.ah_attr.is_global);
	EXPECT_EQ(0, memcmp(&attr.ah_attr.grh.dgid, &p.p->route.addr.addr.ibaddr.dgid, 16));

	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(0, rdma_init_qp_attr(p.a, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC, mask & ~(IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
	EXPECT_EQ(7, attr.retry_cnt);
	EXPECT_EQ(7, attr.rnr_retry);
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
