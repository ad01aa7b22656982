// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that the library posts to an SRQ in memory shared with the kernel: the result of lists
 * of which only the beginning is there. There is no verbs_srq_ring.stock, as the stock libraries
 * have no such memory.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/rdma_ep.h>

#include "lib_test.h"

#define MAX_WR	128
#define FIRST	4			/* receives on the queue before each list */
#define LIST	40			/* more than the ring takes */
#define IN_RING	RDMA_EP_RING_ENTRIES

static bool has_ring;			/* the latest SRQ */
static int posts;			/* calls that post to an SRQ */

/* The library calls this one. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	ret = syscall(SYS_ioctl, fd, request, arg);
	if (request == RDMA_EP_IOC_CREATE_SRQ && !ret)
		has_ring = ((struct rdma_ep_cmd_create_srq *)arg)->ring != RDMA_EP_NO_RING;
	posts += request == RDMA_EP_IOC_POST_SRQ_RECV;
	return ret;
}

static struct rdma_cm_id *sender;
static struct ibv_sge *trap;		/* on a page that cannot be read */
static int trapped;			/* reads of it */

/*
 * The library reads the entry of a receive, and has found the ring open before. A message closes
 * the ring.
 */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	if (info->si_addr < (void *)trap || info->si_addr >= (void *)(trap + 1)) {
		signal(sig, SIG_DFL);
		return;
	}
	mprotect(trap, getpagesize(), PROT_READ | PROT_WRITE);
	trapped += !lib_send(sender, "x", 1);
}

/* A connection whose passive side receives into an SRQ with an open ring. */
FIXTURE(ring) {
	struct pair p;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_sge sge[3], wrong;
	struct ibv_recv_wr wr[LIST], *bad;
	char buf[64];
};

/* A list of @n receives, with wr_ids from FIRST on */
static struct ibv_recv_wr *list(FIXTURE_DATA(ring) *self, int n)
{
	int i;

	for (i = 0; i < n; i++)
		self->wr[i] = (struct ibv_recv_wr) {
			FIRST + i, i + 1 < n ? &self->wr[i + 1] : NULL, self->sge, 1,
		};
	self->bad = NULL;
	posts = 0;
	return self->wr;
}

FIXTURE_SETUP(ring)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_WR, .max_sge = 3 } };
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct pair *p = &self->p;
	struct ibv_recv_wr wr = { .sg_list = self->sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_client(p));
	ASSERT_EQ(0, pair_passive(p));
	ASSERT_EQ(0, rdma_create_srq(p->p, NULL, &attr));
	if (!has_ring)
		SKIP_FIXTURE("no rings of receives with this driver");
	ASSERT_EQ(0, pair_qp(p->p));
	ASSERT_EQ(0, pair_accept(p));
	self->srq = p->p->srq;
	self->mr = ASSERT_PTR(rdma_reg_msgs(p->p, self->buf, sizeof(self->buf)));
	for (int i = 0; i < 3; i++)
		self->sge[i] = (struct ibv_sge) { (uintptr_t)self->buf, 8, self->mr->lkey };
	self->wrong = self->sge[0];
	self->wrong.lkey ^= 0x55500;

	sender = p->a;
	trapped = 0;
	trap = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	ASSERT_NE(MAP_FAILED, trap);
	*trap = self->sge[0];
	ASSERT_EQ(0, sigaction(SIGSEGV, &action, NULL));

	/* The kernel opens the ring when the queue has receives and the CQ is found empty. */
	for (; wr.wr_id < FIRST - 1; wr.wr_id++)
		ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	ASSERT_EQ(0, ibv_poll_cq(p->p->recv_cq, 1, &wc));
	posts = 0;
	ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	ASSERT_EQ(0, posts);
}

FIXTURE_TEARDOWN(ring)
{
	munmap(trap, getpagesize());
	rdma_destroy_qp(self->p.p);
	rdma_destroy_srq(self->p.p);
	EXPECT_EQ(0, rdma_dereg_mr(self->mr));
	EXPECT_EQ(0, pair_down(&self->p));
}

static void set_trap(const struct ibv_sge *sge)
{
	*trap = *sge;
	mprotect(trap, getpagesize(), PROT_NONE);
}

/* The first @n receives of the list are posted. */
static int receive(FIXTURE_DATA(ring) *self, int n)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < FIRST + n; i++) {
		if (i >= trapped)
			DO(lib_send(self->p.a, "x", 1));
		wc = lib_next_wc(self->p.p->recv_cq);
		DO(wc.status != IBV_WC_SUCCESS || wc.wr_id != i);
	}
	return 0;
}

/* The kernel refused a receive in the ring. */
static int srq_failed(FIXTURE_DATA(ring) *self)
{
	struct ibv_context *context = self->srq->context;
	struct ibv_async_event event;

	DO(!lib_readable(context->async_fd, WAIT_MS));
	DO(ibv_get_async_event(context, &event));
	ibv_ack_async_event(&event);
	DO(event.event_type != IBV_EVENT_SRQ_ERR || event.element.srq != self->srq);
	return 0;
}

/* The rest of the list makes no call, but the ring has been closed: the library calls for it. */
TEST_F(ring, closed_ring_is_taken_if_the_rest_makes_no_call)
{
	struct ibv_recv_wr *wr = list(self, 2);

	wr[0].sg_list = trap;
	wr[1].num_sge = -1;
	set_trap(&self->sge[0]);
	EXPECT_EQ(EINVAL, ibv_post_srq_recv(self->srq, wr, &self->bad));
	EXPECT_EQ(1, trapped);
	EXPECT_EQ(1, posts);
	EXPECT_EQ(&wr[1], self->bad);
	/* All messages arrive before the poll of the CQ, which takes what is in the ring, too. */
	for (int i = trapped; i < FIRST + 1; i++)
		ASSERT_EQ(0, lib_send(self->p.a, "x", 1));
	for (int i = 0; i < FIRST + 1; i++)
		EXPECT_WC(self->p.p->recv_cq, i, IBV_WC_SUCCESS);
}

/* The rest of a list shows that one in the ring is refused. */
TEST_F(ring, bad_wr_is_refused_one_in_the_ring)
{
	struct ibv_recv_wr *wr = list(self, LIST);

	wr[5].sg_list = &self->wrong;
	EXPECT_EQ(EINVAL, ibv_post_srq_recv(self->srq, wr, &self->bad));
	EXPECT_EQ(&wr[5], self->bad);
	EXPECT_EQ(0, srq_failed(self));
	EXPECT_EQ(0, receive(self, 5));
}

TEST_F(ring, bad_wr_is_the_first_of_two_refused_ones)
{
	struct ibv_recv_wr *wr = list(self, 2);

	wr[0].sg_list = &self->wrong;
	wr[1].num_sge = 3;		/* does not fit into the ring */
	EXPECT_EQ(EINVAL, ibv_post_srq_recv(self->srq, wr, &self->bad));
	EXPECT_EQ(&wr[0], self->bad);
	EXPECT_EQ(0, srq_failed(self));
	EXPECT_EQ(0, receive(self, 0));
}

/* The whole list is in the ring when a call for it fails. */
TEST_F(ring, bad_wr_is_behind_those_that_are_posted)
{
	struct ibv_recv_wr *wr = list(self, 8);

	wr[7].sg_list = trap;
	set_trap(&self->wrong);
	EXPECT_EQ(EINVAL, ibv_post_srq_recv(self->srq, wr, &self->bad));
	EXPECT_EQ(1, trapped);
	EXPECT_EQ(&wr[7], self->bad);
	EXPECT_EQ(0, srq_failed(self));
	EXPECT_EQ(0, receive(self, 7));
}

/* The ring's part is posted, and one of the rest is refused. */
TEST_F(ring, bad_wr_is_refused_one_of_the_rest)
{
	struct ibv_recv_wr *wr = list(self, LIST);

	wr[IN_RING + 2].sg_list = &self->wrong;
	EXPECT_EQ(EINVAL, ibv_post_srq_recv(self->srq, wr, &self->bad));
	EXPECT_EQ(&wr[IN_RING + 2], self->bad);
	EXPECT_TRUE(lib_quiet(self->srq->context->async_fd));
	EXPECT_EQ(0, receive(self, IN_RING + 2));
}

TEST_HARNESS_MAIN
