// SPDX-License-Identifier: GPL-2.0-only
/*
 * rxe waits fifty seconds for the tasks of a QP and for the users of a region, and then
 * frees what they go on to use. None of what is destroyed here may take that long.
 */
#include "abi_test.h"

#define LEN		(8u << 20)
#define MSG		512
/* Nobody has it. */
#define NO_QPN		0xfffffe
#define DESTROY_MS	(10000 * TEST_SCALE)

FIXTURE(rxe) {
	struct abi s;
	__u32 cq;
	char *buf;
	struct rdma_ep_reg_mr mr;
	struct abi_wrs w;
};

FIXTURE_SETUP(rxe)
{
	OK(abi_open(&self->s));
	if (self->s.iwarp)
		SKIP_FIXTURE("siw takes no QP without a connection");
	OK(abi_create_cq(&self->s, -1, 128, 0, &self->cq));
	self->buf = abi_map(LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &self->mr));
}

TEARDOWN_CLOSES(rxe)

static int create_qp(const FIXTURE_DATA(rxe) * self, __u32 type, __u32 cq,
		     struct rdma_ep_qp_init *qp)
{
	struct rdma_ep_create_qp c;
	int ret;

	abi_qp_attr(&c, type, self->s.pd, self->cq, cq);
	c.init.max_send_wr = 100;
	c.init.max_recv_wr = 64;
	c.init.max_send_sge = 16;
	ret = ABI(self->s.fd, CREATE_QP, &c);
	*qp = c.init;
	return ret;
}

/*
 * A QP that has to send for minutes: as much as it takes of a region, to nobody. (Of
 * a message of 2 GiB rxe believes that its length is below zero.)
 */
static int make_busy(FIXTURE_DATA(rxe) * self, struct rdma_ep_qp_init *qp,
		     const struct rdma_ep_reg_mr *mr)
{
	struct rdma_ep_query_port port = { .dev_index = self->s.dev, .port_num = 1 };
	struct rdma_ep_send_wr *wr;
	__u32 length, part, posted;
	int ret;

	ret = ABI(self->s.fd, QUERY_PORT, &port) ?:
	      create_qp(self, QPT_UC, self->cq, qp) ?:
	      abi_qp_init(&self->s, qp->qp, QPT_UC, 0) ?:
	      abi_qp_rts(&self->s, qp->qp, QPT_UC, NO_QPN);
	for (int i = 0; i < 100 && !ret; i++) {
		wr = abi_wrs_send(&self->w, WR_RDMA_WRITE, SEND_SIGNALED, i);
		wr->remote_addr = mr->iova;
		wr->rkey = mr->rkey;
		length = port.attr.max_msg_sz;
		for (int j = 0; j < 15 && length; j++, length -= part) {
			part = length < mr->length ? length : mr->length;
			abi_sge(&self->w, mr->iova, part, mr->lkey);
		}
		ret = ABI_POST(&self->s, SEND, qp->qp, &self->w, &posted);
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
	/* What was not sent just goes. */
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

static int state_of(const FIXTURE_DATA(rxe) * self, __u32 qp)
{
	struct rdma_ep_query_qp q = { .qp = qp, .attr_mask = QP_STATE };

	return ABI(self->s.fd, QUERY_QP, &q) ?: (int)q.attr.qp_state;
}

/* The same for what the QP forgets, and it can be used again. (RXE-19) */
TEST_F(rxe, reset_busy_qp_fast)
{
	struct rdma_ep_modify_qp m = {};
	struct rdma_ep_qp_init qp;
	struct rdma_ep_wc wc[100];
	__u32 posted;
	int n;

	OK(make_busy(self, &qp, &self->mr));
	/* What is refused does nothing to it. */
	m.qp = qp.qp;
	m.attr.qp_attr_mask = QP_STATE | QP_ACCESS_FLAGS;
	m.attr.qp_state = QPS_RESET;
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, MODIFY_QP, &m));
	EXPECT_EQ(QPS_RTS, state_of(self, qp.qp));
	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, abi_qp_state(&self->s, qp.qp, QPS_RESET)));
	for (n = abi_poll(&self->s, self->cq, wc, 100); n > 0; n--)
		EXPECT_EQ(WC_SUCCESS, wc[n - 1].status);
	EXPECT_EQ(0, n);
	EXPECT_EQ(0, abi_qp_init(&self->s, qp.qp, QPT_UC, 0));
	EXPECT_EQ(0, abi_qp_rts(&self->s, qp.qp, QPT_UC, qp.qp_num));
	abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 77);
	abi_mr_sge(&self->w, &self->mr, 0, 8);
	EXPECT_EQ(0, ABI_POST(&self->s, SEND, qp.qp, &self->w, &posted));
	ASSERT_EQ(1, abi_wait(&self->s, self->cq, wc, 1));
	EXPECT_EQ(77, wc[0].wr_id);
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
}

static int post_recvs(FIXTURE_DATA(rxe) * self, __u32 qp, int num)
{
	__u32 posted;

	abi_wrs_init(&self->w);
	for (int i = 0; i < num; i++) {
		abi_recv_wr(&self->w, i);
		abi_mr_sge(&self->w, &self->mr, 0, MSG);
	}
	return ABI_POST(&self->s, RECV, qp, &self->w, &posted);
}

static int connect_qps(const FIXTURE_DATA(rxe) * self, __u32 type, const struct rdma_ep_qp_init *a,
		       const struct rdma_ep_qp_init *b)
{
	return abi_qp_rts(&self->s, a->qp, type, b->qp_num) ?:
	       abi_qp_rts(&self->s, b->qp, type, a->qp_num);
}

static int post_sends(FIXTURE_DATA(rxe) * self, __u32 qp, int num, __u32 opcode,
		      const struct rdma_ep_reg_mr *to)
{
	struct rdma_ep_send_wr *wr;
	__u32 posted;

	abi_wrs_init(&self->w);
	for (int i = 0; i < num; i++) {
		wr = abi_send_wr(&self->w, opcode, SEND_SIGNALED, 100 + i);
		wr->remote_addr = to ? to->iova : 0;
		wr->rkey = to ? to->rkey : 0;
		abi_mr_sge(&self->w, &self->mr, 0, MSG);
	}
	return ABI_POST(&self->s, SEND, qp, &self->w, &posted);
}

/* Until so many packets have been sent, which nobody acknowledges */
static int wait_sent(const FIXTURE_DATA(rxe) * self, __u32 qp, __u32 num)
{
	struct rdma_ep_query_qp q = { .qp = qp, .attr_mask = QP_SQ_PSN };
	long end = abi_now_ms() + ABI_WAIT_MS;
	int ret;

	do {
		usleep(1000);
		ret = ABI(self->s.fd, QUERY_QP, &q);
	} while (!ret && q.attr.sq_psn != num && abi_now_ms() < end);
	return ret ?: (q.attr.sq_psn == num ? 0 : -ETIMEDOUT);
}

/* Gets a message, asleep or not, and is done with the QP. */
static int receive_and_destroy(FIXTURE_DATA(rxe) * self, __u32 qp, __u32 cq,
			       int channel, bool asleep)
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
	return ABI_DESTROY(&self->s, QP, qp);
}

/* Who sent it learns that it has arrived, or tries for ever. (RXE-20) */
TEST_F_TIMEOUT(rxe, destroyed_receiver_has_answered, 120)
{
	struct rdma_ep_notify_cq notify = {};
	struct rdma_ep_qp_init qp[2];
	int channel;
	struct rdma_ep_wc wc;

	channel = abi_comp_channel(&self->s);
	ASSERT_LE(0, channel);
	OK(abi_create_cq(&self->s, channel, 128, 0, &notify.cq));
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 2; i++) {
			OK(create_qp(self, QPT_RC, notify.cq, &qp[i]));
			OK(abi_qp_init(&self->s, qp[i].qp, QPT_RC, 0));
		}
		OK(connect_qps(self, QPT_RC, &qp[0], &qp[1]));
		OK(post_recvs(self, qp[1].qp, 1));
		if (round % 2)
			OK(ABI(self->s.fd, NOTIFY_CQ, &notify));
		OK(post_sends(self, qp[0].qp, 1, WR_SEND, NULL));
		OK(receive_and_destroy(self, qp[1].qp, notify.cq, channel, round % 2));
		LOGGED(ASSERT_EQ(1, abi_wait(&self->s, self->cq, &wc, 1)), "round %d", round);
		EXPECT_EQ(WC_SUCCESS, wc.status);
		OK(ABI_DESTROY(&self->s, QP, qp[0].qp));
	}
}

/* What was not acknowledged before the RESET is not sent again after it. */
TEST_F(rxe, reset_qp_resends_nothing)
{
	struct rdma_ep_modify_qp m = {};
	struct rdma_ep_qp_init qp[2];
	struct rdma_ep_wc wc[2];

	for (int i = 0; i < 2; i++)
		OK(create_qp(self, QPT_RC, self->cq, &qp[i]));
	OK(abi_qp_init(&self->s, qp[0].qp, QPT_RC, 0));
	OK(abi_qp_rts(&self->s, qp[0].qp, QPT_RC, NO_QPN));
	OK(post_sends(self, qp[0].qp, 4, WR_SEND, NULL));
	OK(wait_sent(self, qp[0].qp, 4));
	OK(abi_qp_state(&self->s, qp[0].qp, QPS_RESET));
	for (int i = 0; i < 2; i++)
		OK(abi_qp_init(&self->s, qp[i].qp, QPT_RC, 0));
	/* The other one minds if there is more. */
	m.qp = qp[1].qp;
	m.attr.qp_attr_mask = QP_STATE | QP_ACCESS_FLAGS;
	m.attr.qp_state = QPS_INIT;
	OK(ABI(self->s.fd, MODIFY_QP, &m));
	OK(post_recvs(self, qp[1].qp, 1));
	OK(connect_qps(self, QPT_RC, &qp[0], &qp[1]));
	OK(post_sends(self, qp[0].qp, 1, WR_SEND, NULL));
	ASSERT_EQ(2, abi_wait(&self->s, self->cq, wc, 2));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
	EXPECT_EQ(WC_SUCCESS, wc[1].status);
	EXPECT_EQ(0, abi_poll(&self->s, self->cq, wc, 2));
	/* Nor is anything left in the way. */
	OK(abi_qp_state(&self->s, qp[0].qp, QPS_RESET));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp[0].qp));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp[1].qp));
}

/* With sends that nobody acknowledges */
static int make_draining(FIXTURE_DATA(rxe) * self, struct rdma_ep_qp_init *qp)
{
	return create_qp(self, QPT_RC, self->cq, qp) ?:
	       abi_qp_init(&self->s, qp->qp, QPT_RC, 0) ?:
	       abi_qp_rts(&self->s, qp->qp, QPT_RC, NO_QPN) ?:
	       post_sends(self, qp->qp, 2, WR_SEND, NULL) ?:
	       wait_sent(self, qp->qp, 2) ?:
	       abi_qp_state(&self->s, qp->qp, QPS_SQD);
}

/* Out of a send queue that drains rxe lets nothing go but into ERR. */
TEST_F(rxe, reset_draining_qp_fast)
{
	struct rdma_ep_qp_init qp;
	struct rdma_ep_wc wc[2];

	OK(make_draining(self, &qp));
	/* What is refused does nothing to it: the sends are flushed later. */
	EXPECT_EQ(-EINVAL, abi_qp_state(&self->s, qp.qp, QPS_RESET));
	EXPECT_EQ(QPS_SQD, state_of(self, qp.qp));
	EXPECT_EQ(0, abi_qp_state(&self->s, qp.qp, QPS_ERR));
	ASSERT_EQ(2, abi_wait(&self->s, self->cq, wc, 2));
	EXPECT_EQ(100, wc[0].wr_id);
	EXPECT_EQ(WC_WR_FLUSH_ERR, wc[1].status);
}

/* What it has begun to send, it goes on with: a single message that takes a minute. */
TEST_F(rxe, destroy_draining_qp_fast)
{
	size_t len = 128u << 20;
	struct rdma_ep_qp_init qp;
	struct rdma_ep_reg_mr mr;
	char *buf;

	buf = abi_map(len);
	OK(abi_reg_mr(&self->s, self->s.pd, buf, len, AC_ALL, &mr));
	OK(make_busy(self, &qp, &mr));
	usleep(100000);
	OK(abi_qp_state(&self->s, qp.qp, QPS_SQD));
	usleep(100000);
	ASSERT_EQ(QPS_SQD, state_of(self, qp.qp));
	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, qp.qp)));
}

/* A region of so many MiB in 16 MiB of memory */
static int reg_huge(const FIXTURE_DATA(rxe) * self, size_t mib, struct rdma_ep_reg_mr *mr)
{
	size_t part = 16u << 20, len = mib << 20;
	int fd = memfd_create("rxe", MFD_CLOEXEC);
	char *buf = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || buf == MAP_FAILED || ftruncate(fd, part))
		return -errno;
	for (size_t i = 0; i < len; i += part) {
		if (mmap(buf + i, part, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return -errno;
	}
	close(fd);
	return abi_reg_mr(&self->s, self->s.pd, buf, len, AC_ALL, mr);
}

/* Where rxe wants more memory in one piece than there may be, it is not asked to. (RXE-22) */
TEST_F(rxe, huge_region_refused)
{
	struct rdma_ep_reg_mr mr;
	int ret;

	ret = reg_huge(self, 2048, &mr);
	EXPECT_TRUE(!ret || ret == -ENOMEM);
	if (!ret)
		EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr));
	ret = reg_huge(self, 1040, &mr);
	EXPECT_TRUE(!ret || ret == -ENOMEM);
	if (!ret)
		EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr));
	EXPECT_EQ(0, reg_huge(self, 960, &mr));
}

/* READs something that takes long to answer, and leaves a packet behind that. */
static int read_huge(FIXTURE_DATA(rxe) * self, __u32 qp, const struct rdma_ep_reg_mr *to,
		     const struct rdma_ep_reg_mr *from)
{
	struct rdma_ep_send_wr *wr;
	__u32 posted;
	int ret;

	wr = abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED, 0);
	wr->remote_addr = from->iova;
	wr->rkey = from->rkey;
	abi_sge(&self->w, to->iova, to->length, to->lkey);
	ret = ABI_POST(&self->s, SEND, qp, &self->w, &posted) ?:
	      post_sends(self, qp, 1, WR_RDMA_WRITE, from);
	usleep(300000);
	return ret;
}

/* Before 6.12 there are no messages of that size, and packets do not know who sent them. */
static bool can_read_huge(const FIXTURE_DATA(rxe) * self)
{
	struct rdma_ep_query_port port = { .dev_index = self->s.dev, .port_num = 1 };

	return !ABI(self->s.fd, QUERY_PORT, &port) && port.attr.max_msg_sz >= 1u << 31;
}

/* A session of somebody else */
static int open_other(FIXTURE_DATA(rxe) * other)
{
	int ret = seteuid(65534) ? -errno : abi_open(&other->s);

	if (seteuid(0))
		return -errno;
	return ret ?: abi_create_cq(&other->s, -1, 128, 0, &other->cq);
}

/*
 * A QP is destroyed that has a packet in the queue of another one, which is in their session and
 * connected to it, or to nobody. That one fails, as nobody waits for its answer any more; nobody
 * else does, though it is the number of anybody's QP that a QP is told as its peer's.
 */
static void destroy_requester(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self,
			      FIXTURE_DATA(rxe) * other, FIXTURE_DATA(rxe) * their, bool connected)
{
	struct rdma_ep_qp_init from, to, stranger;
	struct rdma_ep_reg_mr mr, their_mr;
	long start, took;

	OK(create_qp(other, QPT_RC, other->cq, &stranger));
	OK(abi_qp_init(&other->s, stranger.qp, QPT_RC, 0));
	OK(abi_qp_rts(&other->s, stranger.qp, QPT_RC, NO_QPN));

	OK(create_qp(self, QPT_RC, self->cq, &from));
	OK(create_qp(their, QPT_RC, their->cq, &to));
	OK(reg_huge(self, 960, &mr));
	OK(reg_huge(their, 960, &their_mr));
	OK(abi_qp_init(&self->s, from.qp, QPT_RC, 0));
	OK(abi_qp_rts(&self->s, from.qp, QPT_RC, stranger.qp_num));
	OK(abi_qp_state(&self->s, from.qp, QPS_RESET));
	OK(abi_qp_init(&self->s, from.qp, QPT_RC, 0));
	OK(abi_qp_init(&their->s, to.qp, QPT_RC, 0));
	OK(abi_qp_rts(&their->s, to.qp, QPT_RC, connected ? from.qp_num : NO_QPN));
	OK(abi_qp_rts(&self->s, from.qp, QPT_RC, to.qp_num));
	OK(read_huge(self, from.qp, &mr, &their_mr));
	start = abi_now_ms();
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, from.qp));
	took = abi_now_ms() - start;
	EXPECT_GT(DESTROY_MS, took);
	/* (A fast machine has answered before anybody is impatient.) */
	LOGGED(EXPECT_EQ(took < 2000 ? QPS_RTS : QPS_ERR, state_of(their, to.qp)), "%ld ms", took);
	EXPECT_EQ(QPS_RTS, state_of(other, stranger.qp));
	abi_close(&other->s);
}

/* RXE-04 */
TEST_F_TIMEOUT(rxe, destroy_requester_fast, 200)
{
	FIXTURE_DATA(rxe) other = {};

	SKIP_IF(!can_read_huge(self), "no READ takes that long here");
	OK(open_other(&other));
	destroy_requester(_metadata, self, &other, &other, true);
}

TEST_F_TIMEOUT(rxe, destroy_own_requester_fast, 200)
{
	FIXTURE_DATA(rxe) other = {};

	SKIP_IF(!can_read_huge(self), "no READ takes that long here");
	OK(open_other(&other));
	destroy_requester(_metadata, self, &other, self, false);
}

/* A machine that answers nothing, not even who has its address */
#define NEIGHBOUR(_cmd) \
	"ip neigh " _cmd " 10.42.0.77 lladdr 02:00:00:00:00:77 nud permanent " \
	"dev $(ip -o -4 addr show to 10.42.0.1 | awk '{ print $2; exit }')"

/* A packet may be with any of those that a QP was connected to: it is known which. */
TEST_F(rxe, destroy_after_many_peers_fast)
{
	struct rdma_ep_modify_qp m = {
		.attr = {
			.qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU |
					QP_DEST_QPN | QP_RQ_PSN |
					QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER,
			.qp_state = QPS_RTR, .path_mtu = 3,
			.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		},
	};
	struct rdma_ep_qp_init qp, peer[17];

	SKIP_IF(!can_read_huge(self), "packets do not know who sent them here");
	OK(create_qp(self, QPT_RC, self->cq, &qp));
	for (int i = 0; i < 17; i++)
		OK(create_qp(self, QPT_RC, self->cq, &peer[i]));
	for (int i = 0; i < 17; i++) {
		OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
		/* No more than 24 bits are sent. */
		EXPECT_EQ(-EINVAL, abi_qp_rts(&self->s, qp.qp, QPT_RC, peer[i].qp_num | 1 << 24));
		ASSERT_EQ(i < 16 ? 0 : -EBUSY, abi_qp_rts(&self->s, qp.qp, QPT_RC, peer[i].qp_num));
		OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
	}
	m.qp = qp.qp;
	abi_self_ah(&self->s, &m.attr.ah_attr);
	m.attr.ah_attr.grh.dgid[15] = 77;
	m.attr.dest_qp_num = peer[2].qp_num;
	OK(ABI_DESTROY(&self->s, QP, peer[3].qp));
	OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
	EXPECT_EQ(0, abi_qp_rts(&self->s, qp.qp, QPT_RC, peer[16].qp_num));
	/* Those of other machines have the same numbers. */
	OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
	OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
	OK(system(NEIGHBOUR("replace")));
	EXPECT_EQ(0, ABI(self->s.fd, MODIFY_QP, &m));
	EXPECT_EQ(0, system(NEIGHBOUR("del")));
}

/*
 * Where the completion of a WRITE with immediate data does not fit into the CQ, the QP
 * keeps the region. It is to go all the same, and all QPs of the CQ to stay what they are.
 */
static void overrun(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self, __u32 small)
{
	struct rdma_ep_qp_init from, to, healthy;
	struct rdma_ep_reg_mr mr;
	struct rdma_ep_wc wc[16];
	int n, state;
	long start;

	OK(create_qp(self, QPT_RC, self->cq, &from));
	OK(create_qp(self, QPT_RC, small, &to));
	OK(create_qp(self, QPT_RC, small, &healthy));
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, &mr));
	OK(abi_qp_init(&self->s, from.qp, QPT_RC, 0));
	OK(abi_qp_init(&self->s, to.qp, QPT_RC, 0));
	OK(abi_qp_init(&self->s, healthy.qp, QPT_RC, 0));
	OK(post_recvs(self, to.qp, 8));
	OK(connect_qps(self, QPT_RC, &from, &to));
	OK(abi_qp_rts(&self->s, healthy.qp, QPT_RC, NO_QPN));
	OK(post_sends(self, from.qp, 6, WR_RDMA_WRITE_WITH_IMM, &mr));
	start = abi_now_ms();
	do {
		usleep(1000);
		state = state_of(self, to.qp);
	} while (state != QPS_ERR && abi_now_ms() - start < ABI_WAIT_MS);
	ASSERT_EQ(QPS_ERR, state);
	/* What came through is there. */
	n = abi_poll(&self->s, small, wc, 16);
	ASSERT_LT(0, n);
	EXPECT_EQ(WC_SUCCESS, wc[0].status);

	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr)));
	EXPECT_EQ(QPS_ERR, state_of(self, to.qp));
	EXPECT_EQ(QPS_RTS, state_of(self, healthy.qp));
	/* What is received in ERR is flushed. */
	while (abi_poll(&self->s, small, wc, 16) > 0)
		;
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, post_recvs(self, to.qp, 1));
		ASSERT_EQ(1, abi_wait(&self->s, small, wc, 1));
		EXPECT_EQ(WC_WR_FLUSH_ERR, wc[0].status);
	}
}

/* RXE-21 */
TEST_F(rxe, dereg_after_overrun_fast)
{
	__u32 small;

	OK(abi_create_cq(&self->s, -1, 1, 0, &small));
	overrun(_metadata, self, small);
}

/* The CQ may be in another context than the region. */
TEST_F(rxe, dereg_after_overrun_in_other_ctx_fast)
{
	struct rdma_ep_create_cq c = { .channel_fd = -1, .cqe = 1 };
	int async;

	OK(abi_ctx(&self->s, &c.ctx, &async));
	OK(ABI(self->s.fd, CREATE_CQ, &c));
	overrun(_metadata, self, c.cq);
	close(async);
}

/*
 * Who says that it will be asked for no READs has no room to remember one, which a
 * FLUSH needs, too, that asks for nothing: rxe looks for neither right nor room.
 */
struct sender {
	FIXTURE_DATA(rxe) * self;
	const struct rdma_ep_reg_mr *to;
	__u32 qp;
	int ret;
};

/* On rxe of 6.1, what is posted is carried out before posting returns. */
static void *sender_thread(void *data)
{
	struct sender *s = data;

	s->ret = post_sends(s->self, s->qp, 60, WR_RDMA_WRITE_WITH_IMM, s->to);
	return NULL;
}

/*
 * A WRITE with immediate data that is being worked on when its QP fails. rxe of 6.1 keeps
 * the region then; what has been flushed, and the QP, are to stay what they are.
 */
TEST_F_TIMEOUT(rxe, dereg_after_error_fast, 300)
{
	struct sender sender = { .self = self };
	struct rdma_ep_qp_init from, to;
	struct rdma_ep_reg_mr mr;
	struct rdma_ep_wc wc;
	pthread_t thread;
	long start;

	for (int round = 0; round < 100; round++) {
		OK(create_qp(self, QPT_RC, self->cq, &from));
		OK(create_qp(self, QPT_RC, self->cq, &to));
		OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, &mr));
		OK(abi_qp_init(&self->s, from.qp, QPT_RC, 0));
		OK(abi_qp_init(&self->s, to.qp, QPT_RC, 0));
		OK(post_recvs(self, to.qp, 60));
		OK(connect_qps(self, QPT_RC, &from, &to));
		sender.qp = from.qp;
		sender.to = &mr;
		OK(pthread_create(&thread, NULL, sender_thread, &sender));
		usleep(abi_random() % 5000);
		OK(abi_qp_state(&self->s, to.qp, QPS_ERR));
		start = abi_now_ms();
		EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr));
		LOGGED(ASSERT_GT(DESTROY_MS, abi_now_ms() - start), "round %d", round);
		EXPECT_EQ(QPS_ERR, state_of(self, to.qp));
		pthread_join(thread, NULL);
		ASSERT_EQ(0, sender.ret);
		EXPECT_EQ(0, abi_qp_state(&self->s, from.qp, QPS_ERR));
		for (int got = 0; got < 120; got++)
			LOGGED(ASSERT_EQ(1, abi_wait(&self->s, self->cq, &wc, 1)),
			       "round %d: %d completions", round, got);
		OK(ABI_DESTROY(&self->s, QP, from.qp));
		OK(ABI_DESTROY(&self->s, QP, to.qp));
	}
}

#define PAIRS	4

/* QPs whose packets are behind READs, before those that answer */
static void make_requesters(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self)
{
	struct rdma_ep_qp_init from[PAIRS], to[PAIRS];
	struct abi *s = &self->s;
	struct rdma_ep_reg_mr mr;

	OK(reg_huge(self, 960, &mr));
	for (int i = 0; i < PAIRS; i++)
		OK(create_qp(self, QPT_RC, self->cq, &from[i]));
	for (int i = 0; i < PAIRS; i++) {
		OK(create_qp(self, QPT_RC, self->cq, &to[i]));
		OK(abi_qp_init(s, from[i].qp, QPT_RC, 0));
		OK(abi_qp_init(s, to[i].qp, QPT_RC, 0));
		OK(abi_qp_rts(s, to[i].qp, QPT_RC, from[i].qp_num));
		OK(abi_qp_rts(s, from[i].qp, QPT_RC, to[i].qp_num));
		OK(read_huge(self, from[i].qp, &mr, &mr));
	}
}

/* They do not take turns to be impatient. */
TEST_F_TIMEOUT(rxe, close_with_requesters_fast, 200)
{
	struct rdma_ep_destroy d = { .type = RDMA_EP_OBJ_CTX, .flags = RDMA_EP_DESTROY_CONTENTS };
	struct abi *s = &self->s;
	int async;
	long start;

	SKIP_IF(!can_read_huge(self), "no READ takes that long here");
	make_requesters(_metadata, self);
	EXPECT_WITHIN(4000 * TEST_SCALE, abi_close(s));

	OK(abi_open(s));
	OK(abi_ctx(s, &s->ctx, &async));
	OK(abi_alloc_pd(s, s->ctx, &s->pd));
	OK(abi_create_cq(s, -1, 128, 0, &self->cq));
	OK(abi_reg_mr(s, s->pd, self->buf, LEN, AC_ALL, &self->mr));
	make_requesters(_metadata, self);
	start = abi_now_ms();
	d.handle = s->ctx;
	EXPECT_EQ(0, ABI(s->fd, DESTROY, &d));
	EXPECT_GT(4000 * TEST_SCALE, abi_now_ms() - start);
	close(async);
}

/* RXE-23 */
TEST_F(rxe, peer_flush_finds_room)
{
	static const int wanted[] = { 0, 1, 128, 129, 255 };
	static const int got[] = { 1, 1, 128, 128, 128 };
	struct rdma_ep_query_qp q = { .attr_mask = QP_MAX_DEST_RD_ATOMIC };
	struct rdma_ep_modify_qp m = {};
	struct rdma_ep_qp_init qp;

	OK(create_qp(self, QPT_RC, self->cq, &qp));
	OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
	m.qp = qp.qp;
	m.attr.qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN |
			      QP_RQ_PSN | QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER;
	m.attr.qp_state = QPS_RTR;
	m.attr.dest_qp_num = qp.qp_num;
	m.attr.path_mtu = 3;
	m.attr.min_rnr_timer = 1;
	abi_self_ah(&self->s, &m.attr.ah_attr);
	q.qp = qp.qp;
	for (int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		m.attr.max_dest_rd_atomic = wanted[i];
		EXPECT_EQ(0, ABI(self->s.fd, MODIFY_QP, &m));
		EXPECT_EQ(0, ABI(self->s.fd, QUERY_QP, &q));
		EXPECT_EQ(got[i], q.attr.max_dest_rd_atomic);
		OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
		OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
	}
}

TEST_HARNESS_MAIN
