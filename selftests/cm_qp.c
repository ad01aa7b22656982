// SPDX-License-Identifier: GPL-2.0-only
/*
 * The QP and the SRQ of an id, and its QP attributes.
 */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "lib_util.h"

FIXTURE(qp) {
	struct rdma_cm_id *id;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr attr;
};

/* A bound id, and a PD of its device. */
FIXTURE_SETUP(qp)
{
	struct sockaddr_in sin = lib_addr(0);

	ASSERT_EQ(0, rdma_create_id(NULL, &self->id, self, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	self->verbs = self->id->verbs;
	self->pd = ibv_alloc_pd(self->verbs);
	ASSERT_TRUE(self->pd != NULL);
	self->attr = lib_qp_attr();
}

FIXTURE_TEARDOWN(qp)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
}

/* P0: rdma_create_qp, rdma_destroy_qp */
TEST_F(qp, with_everything_made)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_pd *default_pd = id->pd;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	int send_fd, recv_fd;
	struct ibv_qp *qp;

	self->attr.cap.max_send_wr = 5;
	self->attr.cap.max_recv_wr = 9;
	self->attr.qp_context = self;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	qp = id->qp;
	ASSERT_TRUE(qp != NULL);
	EXPECT_EQ(id->verbs, qp->context);
	EXPECT_EQ((void *)self, qp->qp_context);
	EXPECT_EQ(default_pd, qp->pd);
	EXPECT_EQ(default_pd, id->pd);
	EXPECT_EQ(IBV_QPT_RC, qp->qp_type);
	EXPECT_NE(0, qp->qp_num);
	EXPECT_TRUE(!qp->srq && !id->srq);
	/* Ready for receives */
	EXPECT_EQ(IBV_QPS_INIT, qp->state);
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS,
				  &init));
	/* (iWARP's states are others, and the access is always all.) */
	if (!lib_iwarp(id->verbs)) {
		EXPECT_EQ(IBV_QPS_INIT, attr.qp_state);
		EXPECT_EQ(0, attr.qp_access_flags);
	}

	/* The CQs that were made, each with a channel */
	ASSERT_TRUE(id->send_cq && id->recv_cq);
	ASSERT_TRUE(id->send_cq_channel && id->recv_cq_channel);
	EXPECT_NE(id->send_cq, id->recv_cq);
	EXPECT_NE(id->send_cq_channel, id->recv_cq_channel);
	EXPECT_EQ(id->send_cq_channel, id->send_cq->channel);
	EXPECT_EQ(id->recv_cq_channel, id->recv_cq->channel);
	EXPECT_EQ(1, id->send_cq_channel->refcnt);
	EXPECT_EQ((void *)id, id->send_cq->cq_context);
	EXPECT_EQ((void *)id, id->recv_cq->cq_context);
	EXPECT_EQ(id->verbs, id->send_cq->context);
	EXPECT_LE(5, id->send_cq->cqe);
	EXPECT_LE(9, id->recv_cq->cqe);
	EXPECT_EQ(id->send_cq, qp->send_cq);
	EXPECT_EQ(id->recv_cq, qp->recv_cq);
	send_fd = id->send_cq_channel->fd;
	recv_fd = id->recv_cq_channel->fd;
	EXPECT_NE(send_fd, recv_fd);

	/* What has been made is told */
	EXPECT_EQ(id->send_cq, self->attr.send_cq);
	EXPECT_EQ(id->recv_cq, self->attr.recv_cq);
	EXPECT_LE(5, self->attr.cap.max_send_wr);
	EXPECT_LE(9, self->attr.cap.max_recv_wr);
	EXPECT_LE(2, self->attr.cap.max_send_sge);
	EXPECT_LE(2, self->attr.cap.max_recv_sge);
	EXPECT_LE(16, self->attr.cap.max_inline_data);

	rdma_destroy_qp(id);
	EXPECT_TRUE(!id->qp && !id->send_cq && !id->recv_cq &&
		    !id->send_cq_channel && !id->recv_cq_channel);
	EXPECT_EQ(-1, fcntl(send_fd, F_GETFD));
	EXPECT_EQ(-1, fcntl(recv_fd, F_GETFD));
	EXPECT_EQ(default_pd, id->pd);

	/* And another */
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	rdma_destroy_qp(id);
}

TEST_F(qp, given_pd)
{
	ASSERT_EQ(0, rdma_create_qp(self->id, self->pd, &self->attr));
	EXPECT_EQ(self->pd, self->id->qp->pd);
	EXPECT_EQ(self->pd, self->id->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
	rdma_destroy_qp(self->id);
}

/* The next QP, of which none is named, has the default PD: the given one may be gone. */
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

	if (is_stock())
		SKIP(return, "librdmacm takes the PD that is gone");
	pd = ibv_alloc_pd(self->verbs);
	ASSERT_TRUE(pd != NULL);
	ASSERT_EQ(0, rdma_create_qp(id, pd, &self->attr));
	EXPECT_EQ(pd, id->pd);
	rdma_destroy_qp(id);
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(default_pd, id->qp->pd);
	EXPECT_EQ(default_pd, id->pd);
	rdma_destroy_qp(id);

	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, rdma_create_qp_ex(id, &ex));
	EXPECT_EQ(default_pd, id->qp->pd);
	rdma_destroy_qp(id);

	/* So has an SRQ. */
	pd = ibv_alloc_pd(self->verbs);
	ASSERT_TRUE(pd != NULL);
	attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, pd, &attr));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, rdma_create_srq(id, NULL, &(struct ibv_srq_init_attr){
					.attr = { .max_wr = 1, .max_sge = 1 } }));
	EXPECT_EQ(default_pd, id->srq->pd);
	rdma_destroy_srq(id);
}

/* One that the program has put there itself stays. */
TEST_F(qp, pd_in_the_id_is_used)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_pd *default_pd = id->pd;

	id->pd = self->pd;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(self->pd, id->qp->pd);
	rdma_destroy_qp(id);
	id->pd = default_pd;
}

TEST_F(qp, given_cqs)
{
	struct rdma_cm_id *id = self->id;
	struct ibv_cq *cq;

	cq = ibv_create_cq(self->verbs, 32, NULL, NULL, 0);
	ASSERT_TRUE(cq != NULL);
	self->attr.send_cq = cq;
	self->attr.recv_cq = cq;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(cq, id->qp->send_cq);
	EXPECT_EQ(cq, id->qp->recv_cq);
	/* Only those that were made are shown */
	EXPECT_TRUE(!id->send_cq && !id->recv_cq && !id->send_cq_channel &&
		    !id->recv_cq_channel);
	rdma_destroy_qp(id);

	/* One of the two */
	self->attr = lib_qp_attr();
	self->attr.send_cq = cq;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(cq, id->qp->send_cq);
	EXPECT_TRUE(!id->send_cq && !id->send_cq_channel);
	ASSERT_TRUE(id->recv_cq && id->recv_cq_channel);
	EXPECT_EQ(id->recv_cq, id->qp->recv_cq);
	rdma_destroy_qp(id);
	EXPECT_TRUE(!id->recv_cq && !id->recv_cq_channel);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* No requests, no CQ */
TEST_F(qp, no_receive_queue)
{
	struct ibv_cq *cq = ibv_create_cq(self->verbs, 4, NULL, NULL, 0);

	ASSERT_TRUE(cq != NULL);
	if (is_libsiw(self->verbs))
		SKIP(return, "libsiw wants a receive queue");
	self->attr.recv_cq = cq;
	self->attr.cap.max_recv_wr = 0;
	self->attr.cap.max_recv_sge = 0;
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &self->attr));
	EXPECT_TRUE(!self->id->recv_cq && self->id->send_cq);
	if (is_stock()) {	/* leaks the send CQ here */
		ibv_destroy_qp(self->id->qp);
		ibv_destroy_cq(self->id->send_cq);
		ibv_destroy_comp_channel(self->id->send_cq_channel);
	} else {
		rdma_destroy_qp(self->id);
		EXPECT_TRUE(!self->id->send_cq && !self->id->send_cq_channel);
	}
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

TEST_F(qp, errors)
{
	struct rdma_cm_id *id = self->id, *unbound;
	struct ibv_context *other;
	struct ibv_qp *qp;
	struct ibv_pd *pd;

	/* Of the same device, but of another context */
	other = ibv_open_device(self->verbs->device);
	ASSERT_TRUE(other != NULL);
	EXPECT_NE(other, self->verbs);
	pd = ibv_alloc_pd(other);
	ASSERT_TRUE(pd != NULL);
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(id, pd, &self->attr)));
	EXPECT_TRUE(!id->qp && !id->send_cq && !id->recv_cq);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_close_device(other));

	/* More than any device can do; nothing is left behind */
	self->attr.cap.max_send_sge = 10000;
	EXPECT_EQ(-1, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_TRUE(!id->qp);
	if (!is_stock())	/* attr still has the CQs that are gone */
		EXPECT_TRUE(!id->send_cq && !id->recv_cq &&
			    !id->send_cq_channel && !id->recv_cq_channel);

	/* Only one */
	self->attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	qp = id->qp;
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(id, NULL, &self->attr)));
	EXPECT_EQ(qp, id->qp);
	rdma_destroy_qp(id);
	if (is_stock())	/* crashes */
		return;

	self->attr = lib_qp_attr();
	rdma_destroy_qp(id);
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(NULL, NULL, &self->attr)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(id, NULL, NULL)));
	ASSERT_EQ(0, rdma_create_id(NULL, &unbound, NULL, RDMA_PS_TCP));
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(unbound, NULL, &self->attr)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_qp(unbound, self->pd,
						 &self->attr)));
	EXPECT_EQ(0, rdma_destroy_id(unbound));
}

/* The QP and its CQs outlive the id. */
TEST_F(qp, destroy_id_first)
{
	struct rdma_cm_id copy;
	struct ibv_wc wc;
	char buf[8];
	struct ibv_mr *mr;

	ASSERT_EQ(0, rdma_create_qp(self->id, self->pd, &self->attr));
	mr = rdma_reg_msgs(self->id, buf, sizeof(buf));
	ASSERT_TRUE(mr != NULL);
	copy = *self->id;
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, rdma_post_recv(&copy, (void *)4, buf, 8, mr));
	EXPECT_EQ(0, ibv_modify_qp(copy.qp, &(struct ibv_qp_attr) {
				   .qp_state = IBV_QPS_ERR }, IBV_QP_STATE));
	EXPECT_EQ(IBV_QPS_ERR, copy.qp->state);
	ASSERT_EQ(0, lib_wait_wc(copy.recv_cq, &wc, 1));
	EXPECT_EQ(4, wc.wr_id);
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	EXPECT_EQ(0, ibv_destroy_qp(copy.qp));
	EXPECT_EQ(0, ibv_destroy_cq(copy.send_cq));
	EXPECT_EQ(0, ibv_destroy_cq(copy.recv_cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(copy.send_cq_channel));
	EXPECT_EQ(0, ibv_destroy_comp_channel(copy.recv_cq_channel));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST(datagram_qp)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_bind_addr(id, SA(&sin)));
	if (lib_iwarp(id->verbs))
		SKIP(return, "iWARP has no datagrams");
	attr.qp_type = IBV_QPT_UD;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	/* Ready to send as well */
	EXPECT_QPS(IBV_QPS_RTS, id->qp);
	EXPECT_EQ(IBV_QPS_RTS, id->qp->state);
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* ------------------------------------------------------------------ */

/* P0: rdma_create_srq, rdma_destroy_srq */
TEST_F(qp, create_srq)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = &attr,
		.attr = { .max_wr = 10, .max_sge = 2 },
	};
	struct rdma_cm_id *id = self->id;
	struct ibv_pd *default_pd = id->pd;
	struct ibv_srq *srq;

	ASSERT_EQ(0, rdma_create_srq(id, NULL, &attr));
	srq = id->srq;
	ASSERT_TRUE(srq != NULL);
	EXPECT_EQ(id->verbs, srq->context);
	EXPECT_EQ((void *)&attr, srq->srq_context);
	EXPECT_EQ(default_pd, srq->pd);
	EXPECT_EQ(default_pd, id->pd);
	EXPECT_LE(10, attr.attr.max_wr);
	EXPECT_LE(2, attr.attr.max_sge);
	if (!is_stock()) {	/* "may only be associated with a single SRQ" */
		EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq(id, NULL, &attr)));
		EXPECT_EQ(srq, id->srq);
	}

	/* It is the one of the id's QP */
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &self->attr));
	EXPECT_EQ(srq, id->qp->srq);
	EXPECT_EQ(srq, self->attr.srq);
	rdma_destroy_qp(id);
	EXPECT_EQ(srq, id->srq);
	rdma_destroy_srq(id);
	EXPECT_TRUE(!id->srq);

	/* With a PD, and once more */
	attr.attr.max_wr = 10;
	attr.attr.max_sge = 2;
	ASSERT_EQ(0, rdma_create_srq(id, self->pd, &attr));
	EXPECT_EQ(self->pd, id->srq->pd);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->pd));
	rdma_destroy_srq(id);
	EXPECT_TRUE(!id->srq);
}

/* P0: rdma_create_srq_ex */
TEST_F(qp, create_srq_ex)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 10, .max_sge = 2 },
		.srq_type = IBV_SRQT_BASIC,
	};
	struct rdma_cm_id *id = self->id;

	EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq_ex(id, &attr)));
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

/* A failure leaves the attributes as they were. */
TEST_F(qp, srq_ex_failure_leaves_the_attributes)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 100000 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
	};

	if (is_stock())
		SKIP(return, "librdmacm leaves its PD there");
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq_ex(self->id, &attr)));
	EXPECT_EQ(IBV_SRQ_INIT_ATTR_TYPE, attr.comp_mask);
	EXPECT_EQ(NULL, attr.pd);
}

/* A PD of another context is no PD of the id's. */
TEST_F(qp, srq_with_pd_of_another_context)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_context *other;
	struct ibv_pd *pd;

	if (is_stock())
		SKIP(return, "the stock library makes one that no QP of the id can use");
	other = ibv_open_device(self->verbs->device);
	ASSERT_TRUE(other != NULL);
	pd = ibv_alloc_pd(other);
	ASSERT_TRUE(pd != NULL);
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq(self->id, pd, &attr)));
	EXPECT_EQ(NULL, self->id->srq);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_close_device(other));
}

TEST_F(qp, srq_errors)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1 << 30,
						    .max_sge = 1 } };
	struct rdma_cm_id *id = self->id;
	struct ibv_srq_init_attr_ex xrc = {
		.attr = { .max_wr = 10, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_XRC,
	};

	EXPECT_EQ(-1, rdma_create_srq(id, NULL, &attr));
	EXPECT_TRUE(!id->srq);
	EXPECT_EQ(-1, rdma_create_srq_ex(id, &xrc));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_TRUE(!id->srq && !id->recv_cq);
	if (is_stock())	/* crashes */
		return;
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq(NULL, NULL, &attr)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_create_srq(id, NULL, NULL)));
	rdma_destroy_srq(id);
}

/* ------------------------------------------------------------------ */

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
		   IBV_QP_ACCESS_FLAGS)

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
	EXPECT_TRUE(FAILS(EINVAL, rdma_init_qp_attr(self->id, &attr, &mask)));
	attr.qp_state = IBV_QPS_INIT;
	ASSERT_EQ(0, rdma_create_id(NULL, &unbound, NULL, RDMA_PS_TCP));
	EXPECT_TRUE(FAILS(EINVAL, rdma_init_qp_attr(unbound, &attr, &mask)));
	EXPECT_EQ(0, rdma_destroy_id(unbound));
	if (is_stock())	/* crashes */
		return;
	EXPECT_TRUE(FAILS(EINVAL, rdma_init_qp_attr(NULL, &attr, &mask)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_init_qp_attr(self->id, NULL, &mask)));
	EXPECT_TRUE(FAILS(EINVAL, rdma_init_qp_attr(self->id, &attr, NULL)));
}

TEST(init_qp_attr_of_datagrams)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;
	int mask = 0;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_bind_addr(id, SA(&sin)));
	if (lib_iwarp(id->verbs))
		SKIP(return, "iWARP has no datagrams");
	ASSERT_EQ(0, rdma_init_qp_attr(id, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		  mask);
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
	/* Newer kernels add what newer devices can do. */
	EXPECT_EQ(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC, attr.qp_access_flags &
		  (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND));

	attr.qp_state = IBV_QPS_RTR;
	ASSERT_EQ(0, rdma_init_qp_attr(p.p, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, mask);
	EXPECT_EQ(p.a->qp->qp_num, attr.dest_qp_num);
	EXPECT_EQ(1, attr.ah_attr.is_global);
	EXPECT_EQ(0, memcmp(&attr.ah_attr.grh.dgid,
			    &p.p->route.addr.addr.ibaddr.dgid, 16));

	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(0, rdma_init_qp_attr(p.a, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC, mask & ~(IBV_QP_ALT_PATH |
						    IBV_QP_PATH_MIG_STATE));
	EXPECT_EQ(7, attr.retry_cnt);
	EXPECT_EQ(7, attr.rnr_retry);
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
