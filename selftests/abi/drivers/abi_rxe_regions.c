// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions and QPs on rxe that READs, packets or overruns still use. Their destruction must not
 * take fifty seconds.
 */
#include "abi_rxe.h"

/* Registers @mib MiB of addresses that share 16 MiB of memory. */
static int reg_huge(const FIXTURE_DATA(rxe) * self, size_t mib, struct rdma_ep_cmd_reg_mr *mr)
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

/* Regions whose page table is too large for one allocation of rxe are refused. (RXE-22) */
TEST_F(rxe, huge_region_refused)
{
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	static const size_t mib[] = { 2048, 1040 };
	struct rdma_ep_cmd_reg_mr mr;
	int ret;

	OK(ABI(self->s.fd, QUERY_DEVICE, &d));
	for (size_t i = 0; i < ARRAY_SIZE(mib); i++) {
		ret = reg_huge(self, mib[i], &mr);
		EXPECT_TRUE(!ret || ret == -ENOMEM);
		EXPECT_EQ(!ret, mib[i] << 20 <= d.attr.max_mr_size);
		if (!ret)
			EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr));
	}
	EXPECT_EQ(0, reg_huge(self, 960, &mr));
}

/* Posts a READ that takes long to answer, and a WRITE whose packet waits behind it. */
static int read_huge(FIXTURE_DATA(rxe) * self, __u32 qp, const struct rdma_ep_cmd_reg_mr *to,
		     const struct rdma_ep_cmd_reg_mr *from)
{
	int ret;

	abi_remote(abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED, 0), from, 0);
	abi_mr_sge(&self->w, to, 0, to->length);
	ret = ABI_POST(&self->s, SEND, qp, &self->w, NULL) ?:
	      post_sends(self, qp, 1, WR_RDMA_WRITE, from);
	usleep(300000);
	return ret;
}

/* Before 6.12 messages cannot be that long, and packets do not refer to the QP that sent them. */
static bool can_read_huge(const FIXTURE_DATA(rxe) * self)
{
	struct rdma_ep_cmd_query_port port = { .dev_index = self->s.dev, .port_num = 1 };

	return !ABI(self->s.fd, QUERY_PORT, &port) && port.attr.max_msg_sz >= 1u << 31;
}

/* Opens a session of another user. */
static int open_other(FIXTURE_DATA(rxe) * other)
{
	int ret = seteuid(65534) ? -errno : abi_open(&other->s);

	if (seteuid(0))
		return -errno;
	return ret ?: abi_create_cq(&other->s, -1, 128, 0, &other->cq);
}

/*
 * Destroys a QP that has a packet in the queue of a QP in the session @their, which is connected
 * to it, or to no QP. That one fails, as its peer does not exist any more. Another user's QP does
 * not, although the destroyed QP was connected to its number before.
 */
static void destroy_requester(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self,
			      FIXTURE_DATA(rxe) * other, FIXTURE_DATA(rxe) * their, bool connected)
{
	struct rdma_ep_qp_init from, to, stranger;
	struct rdma_ep_cmd_reg_mr mr, their_mr;
	long start, took;

	OK(create_qp(other, QPT_RC, other->cq, &stranger));
	OK(connect_to(other, stranger.qp, NO_QPN));

	OK(create_qp(self, QPT_RC, self->cq, &from));
	OK(create_qp(their, QPT_RC, their->cq, &to));
	OK(reg_huge(self, 960, &mr));
	OK(reg_huge(their, 960, &their_mr));
	OK(connect_to(self, from.qp, stranger.qp_num));
	OK(abi_qp_state(&self->s, from.qp, QPS_RESET));
	OK(abi_qp_init(&self->s, from.qp, QPT_RC, 0));
	OK(connect_to(their, to.qp, connected ? from.qp_num : NO_QPN));
	OK(abi_qp_rts(&self->s, from.qp, QPT_RC, to.qp_num));
	OK(read_huge(self, from.qp, &mr, &their_mr));
	start = abi_now_ms();
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, from.qp));
	took = abi_now_ms() - start;
	EXPECT_GT(DESTROY_MS, took);
	/* (On a fast machine the READ has been answered before.) */
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

/* Neighbour entry of a machine that does not exist */
#define NEIGHBOUR(_cmd) \
	"ip neigh " _cmd " 10.42.0.77 lladdr 02:00:00:00:00:77 nud permanent " \
	"dev $(ip -o -4 addr show to 10.42.0.1 | awk '{ print $2; exit }')"

/* A QP's packets may be at any of its former peers, so the number of those is limited. */
TEST_F(rxe, destroy_after_many_peers_fast)
{
	struct rdma_ep_qp_init qp, peer[18];
	struct ib_uverbs_qp_attr attr;

	SKIP_IF(!can_read_huge(self), "packets do not know who sent them here");
	OK(create_qp(self, QPT_RC, self->cq, &qp));
	for (int i = 0; i < 18; i++)
		OK(create_qp(self, QPT_RC, self->cq, &peer[i]));
	for (int i = 0; i < 17; i++) {
		OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
		/* Packets have 24 bits of the number. */
		EXPECT_EQ(-EINVAL, abi_qp_rts(&self->s, qp.qp, QPT_RC, peer[i].qp_num | 1 << 24));
		ASSERT_EQ(i < 16 ? 0 : -EBUSY, abi_qp_rts(&self->s, qp.qp, QPT_RC, peer[i].qp_num));
		OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
	}
	OK(ABI_DESTROY(&self->s, QP, peer[3].qp));
	EXPECT_EQ(0, connect_to(self, qp.qp, peer[16].qp_num));
	/* QPs of other machines may have the same numbers. */
	OK(abi_qp_state(&self->s, qp.qp, QPS_RESET));
	OK(abi_qp_init(&self->s, qp.qp, QPT_RC, 0));
	abi_rtr_attr(&self->s, peer[17].qp_num, &attr);
	attr.ah_attr.grh.dgid[15] = 77;
	OK(system(NEIGHBOUR("replace")));
	EXPECT_EQ(0, abi_modify_qp(&self->s, qp.qp, &attr));
	EXPECT_EQ(0, system(NEIGHBOUR("del")));
}

/*
 * If the completion of a WRITE with immediate data does not fit into the CQ, the QP keeps the
 * region. The region must be destroyed nevertheless, and all QPs of the CQ must keep their states.
 */
static void overrun(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self, __u32 small)
{
	struct rdma_ep_qp_init from, to, healthy;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc[16];

	OK(create_qp(self, QPT_RC, self->cq, &from));
	OK(create_qp(self, QPT_RC, small, &to));
	OK(create_qp(self, QPT_RC, small, &healthy));
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, &mr));
	OK(connect_qps(self, &from, &to));
	OK(post_recvs(self, to.qp, 8));
	OK(connect_to(self, healthy.qp, NO_QPN));
	OK(post_sends(self, from.qp, 6, WR_RDMA_WRITE_WITH_IMM, &mr));
	ASSERT_TRUE(ABI_UNTIL(state_of(self, to.qp) == QPS_ERR));
	/* Earlier completions remain. */
	ASSERT_LT(0, abi_poll(&self->s, small, wc, 16));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);

	EXPECT_WITHIN(DESTROY_MS, EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr)));
	EXPECT_EQ(QPS_ERR, state_of(self, to.qp));
	EXPECT_EQ(QPS_RTS, state_of(self, healthy.qp));
	/* Receives that are posted in ERR are flushed. */
	while (abi_poll(&self->s, small, wc, 16) > 0)
		;
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, post_recvs(self, to.qp, 1));
		EXPECT_WC(&self->s, small, 0, WC_WR_FLUSH_ERR);
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
	struct abi s = self->s;
	__u32 small;
	int async;

	OK(abi_ctx(&self->s, &s.ctx, &async));
	OK(abi_create_cq(&s, -1, 1, 0, &small));
	overrun(_metadata, self, small);
	close(async);
}

struct sender {
	FIXTURE_DATA(rxe) * self;
	const struct rdma_ep_cmd_reg_mr *to;
	__u32 qp;
	int ret;
};

/* rxe of 6.1 executes requests before the post returns. */
static void *sender_thread(void *data)
{
	struct sender *s = data;

	s->ret = post_sends(s->self, s->qp, 60, WR_RDMA_WRITE_WITH_IMM, s->to);
	return NULL;
}

/*
 * A QP fails during a WRITE with immediate data, and on 6.1 keeps the region. Deregistering the
 * region must not change the QP's state, nor lose completions.
 */
TEST_F_TIMEOUT(rxe, dereg_after_error_fast, 300)
{
	struct sender sender = { .self = self };
	struct rdma_ep_qp_init from, to;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc;
	pthread_t thread;
	long start;

	for (int round = 0; round < 100; round++) {
		OK(create_qp(self, QPT_RC, self->cq, &from));
		OK(create_qp(self, QPT_RC, self->cq, &to));
		OK(abi_reg_mr(&self->s, self->s.pd, self->buf, 4096, AC_ALL, &mr));
		OK(connect_qps(self, &from, &to));
		OK(post_recvs(self, to.qp, 60));
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

/* Creates QPs whose packets wait behind READs, before the QPs that answer those. */
static void make_requesters(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) * self)
{
	struct rdma_ep_qp_init from[PAIRS], to[PAIRS];
	struct rdma_ep_cmd_reg_mr mr;

	OK(reg_huge(self, 960, &mr));
	for (int i = 0; i < PAIRS; i++)
		OK(create_qp(self, QPT_RC, self->cq, &from[i]));
	for (int i = 0; i < PAIRS; i++) {
		OK(create_qp(self, QPT_RC, self->cq, &to[i]));
		OK(connect_qps(self, &to[i], &from[i]));
		OK(read_huge(self, from[i].qp, &mr, &mr));
	}
}

/* The two seconds after which each peer fails do not add up. */
TEST_F_TIMEOUT(rxe, close_with_requesters_fast, 200)
{
	struct abi *s = &self->s;
	int async;

	SKIP_IF(!can_read_huge(self), "no READ takes that long here");
	make_requesters(_metadata, self);
	EXPECT_WITHIN(4000 * TEST_SCALE, abi_close(s));

	OK(abi_open(s));
	OK(abi_ctx(s, &s->ctx, &async));
	OK(abi_alloc_pd(s, s->ctx, &s->pd));
	OK(abi_create_cq(s, -1, 128, 0, &self->cq));
	OK(abi_reg_mr(s, s->pd, self->buf, LEN, AC_ALL, &self->mr));
	make_requesters(_metadata, self);
	EXPECT_WITHIN(4000 * TEST_SCALE,
		      EXPECT_EQ(0, abi_destroy_flags(s, RDMA_EP_OBJ_CTX, s->ctx,
						     RDMA_EP_DESTROY_CONTENTS)));
	close(async);
}

TEST_HARNESS_MAIN
