// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends of QPs on rxe. rxe waits fifty seconds for the tasks of a QP and the users of a region, and
 * then frees the object under them. No call of these tests may take that long.
 */
#include "abi_rxe.h"

/*
 * Creates a QP that sends for minutes, to no peer: the longest messages, from up to 15 copies of
 * a region. (rxe takes a length of 2 GiB for a negative number.)
 */
static int make_busy(FIXTURE_DATA(rxe) * self, struct rdma_ep_qp_init *qp,
		     const struct rdma_ep_cmd_reg_mr *mr)
{
	struct rdma_ep_cmd_query_port port = { .dev_index = self->s.dev, .port_num = 1 };
	__u32 length, part;
	int ret;

	ret = ABI(self->s.fd, QUERY_PORT, &port) ?:
	      create_qp(self, QPT_UC, self->cq, qp) ?:
	      abi_qp_init(&self->s, qp->qp, QPT_UC, 0) ?:
	      abi_qp_rts(&self->s, qp->qp, QPT_UC, NO_QPN);
	for (int i = 0; i < 100 && !ret; i++) {
		abi_remote(abi_wrs_send(&self->w, WR_RDMA_WRITE, SEND_SIGNALED, i), mr, 0);
		length = port.attr.max_msg_sz;
		for (int j = 0; j < 15 && length; j++, length -= part) {
			part = length < mr->length ? length : mr->length;
			abi_mr_sge(&self->w, mr, 0, part);
		}
		ret = ABI_POST(&self->s, SEND, qp->qp, &self->w, NULL);
	}
	return ret;
}

/* RXE-18 */
TEST_F(rxe, destroy_busy_qp_fast)
{
	struct rdma_ep_wc wc[100];
	struct rdma_ep_qp_init qp;
	int n;

	OK(make_busy(self, &qp, &self->mr));
	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp.qp)));
	/* Requests that were not sent have no completion. */
	n = abi_poll(&self->s, self->cq, wc, 100);
	EXPECT_LE(0, n);
	EXPECT_GT(100, n);
	for (int i = 0; i < n; i++)
		EXPECT_EQ(WC_SUCCESS, wc[i].status);
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, self->mr.mr));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, CQ, self->cq));
}

TEST_F(rxe, close_with_busy_qp_fast)
{
	struct rdma_ep_qp_init qp;
	struct abi_objects before;
	long start;

	abi_close(&self->s);
	OK(abi_idle());
	OK(abi_objects(&before));
	OK(abi_open(&self->s));
	OK(abi_create_cq(&self->s, -1, 128, 0, &self->cq));
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &self->mr));
	OK(make_busy(self, &qp, &self->mr));
	start = abi_now_ms();
	abi_close(&self->s);
	EXPECT_EQ(0, abi_objects_wait(&before));
	EXPECT_GT(DESTROY_MS, abi_now_ms() - start);
	OK(abi_open(&self->s));
}

/* Sets access flags without rights, which only a transition to INIT takes. */
static int modify_access(const FIXTURE_DATA(rxe) * self, __u32 qp, __u32 state)
{
	const struct ib_uverbs_qp_attr attr = {
		.qp_attr_mask = QP_STATE | QP_ACCESS_FLAGS, .qp_state = state,
	};

	return abi_modify_qp(&self->s, qp, &attr);
}

/* The same for a RESET, after which the QP can be used again. (RXE-19) */
TEST_F(rxe, reset_busy_qp_fast)
{
	struct rdma_ep_qp_init qp;
	struct rdma_ep_wc wc[100];
	int n;

	OK(make_busy(self, &qp, &self->mr));
	/* A refused command does not change the QP. */
	EXPECT_EQ(-EINVAL, modify_access(self, qp.qp, QPS_RESET));
	EXPECT_EQ(QPS_RTS, state_of(self, qp.qp));
	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, abi_qp_state(&self->s, qp.qp, QPS_RESET)));
	for (n = abi_poll(&self->s, self->cq, wc, 100); n > 0; n--)
		EXPECT_EQ(WC_SUCCESS, wc[n - 1].status);
	EXPECT_EQ(0, n);
	EXPECT_EQ(0, abi_qp_init(&self->s, qp.qp, QPT_UC, 0));
	EXPECT_EQ(0, abi_qp_rts(&self->s, qp.qp, QPT_UC, qp.qp_num));
	EXPECT_EQ(0, abi_post_send(&self->s, qp.qp, SEND_SIGNALED, 77, self->mr.iova, 8,
				   self->mr.lkey));
	EXPECT_WC(&self->s, self->cq, 77, WC_SUCCESS);
}

static int next_psn(const FIXTURE_DATA(rxe) * self, __u32 qp)
{
	struct ib_uverbs_qp_attr attr;

	return abi_query_qp(&self->s, qp, QP_SQ_PSN, &attr) ?: (int)attr.sq_psn;
}

/* Waits until @num packets have been sent, which no peer acknowledges. */
static int wait_sent(const FIXTURE_DATA(rxe) * self, __u32 qp, int num)
{
	return ABI_UNTIL(next_psn(self, qp) == num) ? 0 : -ETIMEDOUT;
}

#define DESTROYED	(-1)

/* Receives a message, with or without a sleep, and moves the QP to @state, or destroys it. */
static int receive_and_end(FIXTURE_DATA(rxe) * self, __u32 qp, __u32 cq, int channel, bool asleep,
			   int state)
{
	struct rdma_ep_comp_event ev;
	long end = abi_now_ms() + ABI_WAIT_MS;
	struct rdma_ep_wc wc;
	int ret;

	if (asleep && abi_read(channel, &ev, sizeof(ev), ABI_WAIT_MS))
		return -ETIMEDOUT;
	do
		ret = abi_poll(&self->s, cq, &wc, 1);
	while (!ret && abi_now_ms() < end);
	if (ret != 1 || wc.status)
		return -EIO;
	return state == DESTROYED ? ABI_DESTROY(&self->s, QP, qp) :
				    abi_qp_state(&self->s, qp, state);
}

/*
 * Receivers end right after a message. Without an acknowledgment the sender would repeat it for
 * ever. In every other round the completion event interrupts rxe's work item between the
 * completion and the acknowledgment. (RXE-20)
 */
static void end_receivers(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) *self, int state)
{
	struct rdma_ep_qp_init qp[2];
	struct rdma_ep_wc wc;
	int channel;
	__u32 cq;

	channel = FD(abi_comp_channel(&self->s));
	OK(abi_create_cq(&self->s, channel, 128, 0, &cq));
	OK(set_work_cpus("1", self->work_cpus, sizeof(self->work_cpus)));
	for (int round = 0; round < 100; round++) {
		OK(create_qp(self, QPT_RC, cq, &qp[0]));
		OK(create_qp(self, QPT_RC, cq, &qp[1]));
		OK(connect_qps(self, &qp[0], &qp[1]));
		OK(post_recvs(self, qp[1].qp, 1));
		if (round % 2) {
			OK(abi_notify_cq(&self->s, cq, 0));
			OK(abi_keep_cpu(true));
		}
		OK(post_sends(self, qp[0].qp, 1, WR_SEND, NULL));
		OK(receive_and_end(self, qp[1].qp, cq, channel, round % 2, state));
		OK(abi_keep_cpu(false));
		LOGGED(ASSERT_EQ(1, abi_wait(&self->s, self->cq, &wc, 1)), "round %d", round);
		EXPECT_EQ(WC_SUCCESS, wc.status);
		OK(ABI_DESTROY(&self->s, QP, qp[0].qp));
		if (state != DESTROYED)
			OK(ABI_DESTROY(&self->s, QP, qp[1].qp));
	}
}

TEST_F_TIMEOUT(rxe, destroyed_receiver_has_answered, 120)
{
	end_receivers(_metadata, self, DESTROYED);
}

TEST_F_TIMEOUT(rxe, failed_receiver_has_answered, 120)
{
	end_receivers(_metadata, self, QPS_ERR);
}

TEST_F_TIMEOUT(rxe, reset_receiver_has_answered, 120)
{
	end_receivers(_metadata, self, QPS_RESET);
}

/* Requests that were not acknowledged before a RESET are not sent again after it. */
TEST_F(rxe, reset_qp_resends_nothing)
{
	struct rdma_ep_qp_init qp[2];
	struct rdma_ep_wc wc[2];

	for (int i = 0; i < 2; i++)
		OK(create_qp(self, QPT_RC, self->cq, &qp[i]));
	OK(connect_to(self, qp[0].qp, NO_QPN));
	OK(post_sends(self, qp[0].qp, 4, WR_SEND, NULL));
	OK(wait_sent(self, qp[0].qp, 4));
	OK(abi_qp_state(&self->s, qp[0].qp, QPS_RESET));
	for (int i = 0; i < 2; i++)
		OK(abi_qp_init(&self->s, qp[i].qp, QPT_RC, 0));
	/* Without access rights a further READ or WRITE is an error of the receiver. */
	OK(modify_access(self, qp[1].qp, QPS_INIT));
	OK(post_recvs(self, qp[1].qp, 1));
	OK(abi_qp_rts(&self->s, qp[0].qp, QPT_RC, qp[1].qp_num));
	OK(abi_qp_rts(&self->s, qp[1].qp, QPT_RC, qp[0].qp_num));
	OK(post_sends(self, qp[0].qp, 1, WR_SEND, NULL));
	ASSERT_EQ(2, abi_wait(&self->s, self->cq, wc, 2));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
	EXPECT_EQ(WC_SUCCESS, wc[1].status);
	EXPECT_EQ(0, abi_poll(&self->s, self->cq, wc, 2));
	/* No request is left that would delay the destruction. */
	OK(abi_qp_state(&self->s, qp[0].qp, QPS_RESET));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp[0].qp));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp[1].qp));
}

/* Creates a QP in SQD, with sends that no peer acknowledges. */
static int make_draining(FIXTURE_DATA(rxe) * self, struct rdma_ep_qp_init *qp)
{
	return create_qp(self, QPT_RC, self->cq, qp) ?: connect_to(self, qp->qp, NO_QPN) ?:
	       post_sends(self, qp->qp, 2, WR_SEND, NULL) ?: wait_sent(self, qp->qp, 2) ?:
	       abi_qp_state(&self->s, qp->qp, QPS_SQD);
}

/* While the send queue drains, rxe moves a QP in SQD to ERR only. */
TEST_F(rxe, reset_draining_qp_fast)
{
	struct rdma_ep_qp_init qp;
	struct rdma_ep_wc wc[2];

	OK(make_draining(self, &qp));
	/* The refused RESET has no effect: the sends are flushed later. */
	EXPECT_EQ(-EINVAL, abi_qp_state(&self->s, qp.qp, QPS_RESET));
	EXPECT_EQ(QPS_SQD, state_of(self, qp.qp));
	EXPECT_EQ(0, abi_qp_state(&self->s, qp.qp, QPS_ERR));
	ASSERT_EQ(2, abi_wait(&self->s, self->cq, wc, 2));
	EXPECT_EQ(100, wc[0].wr_id);
	EXPECT_EQ(WC_WR_FLUSH_ERR, wc[1].status);
}

/* In SQD rxe completes the message that it has begun, which takes a minute here. */
TEST_F(rxe, destroy_draining_qp_fast)
{
	size_t len = 128u << 20;
	struct rdma_ep_qp_init qp;
	struct rdma_ep_cmd_reg_mr mr;

	OK(abi_reg_mr(&self->s, self->s.pd, abi_map(len), len, AC_ALL, &mr));
	OK(make_busy(self, &qp, &mr));
	usleep(100000);
	OK(abi_qp_state(&self->s, qp.qp, QPS_SQD));
	usleep(100000);
	ASSERT_EQ(QPS_SQD, state_of(self, qp.qp));
	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp.qp)));
}

/*
 * rxe executes a FLUSH of the peer without checking the access rights, nor whether the QP has a
 * responder resource. So every QP has at least one. (RXE-23)
 */
TEST_F(rxe, peer_flush_finds_room)
{
	static const int wanted[] = { 0, 1, 128, 129, 255 };
	static const int got[] = { 1, 1, 128, 128, 128 };
	struct ib_uverbs_qp_attr attr, now;
	struct rdma_ep_qp_init qp;

	OK(create_qp(self, QPT_RC, self->cq, &qp));
	abi_rtr_attr(&self->s, qp.qp_num, &attr);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
		attr.max_dest_rd_atomic = wanted[i];
		EXPECT_EQ(0, abi_modify_qp(&self->s, qp.qp, &attr));
		EXPECT_EQ(0, abi_query_qp(&self->s, qp.qp, QP_MAX_DEST_RD_ATOMIC, &now));
		EXPECT_EQ(got[i], now.max_dest_rd_atomic);
		OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
	}
}

TEST_HARNESS_MAIN
