// SPDX-License-Identifier: GPL-2.0-only
/*
 * One connection writes megabytes beside one that sends little. On devices that would transmit
 * each list to its end, the module posts the long lists in pieces.
 *
 * It would catch: a message that waits for a whole list, a completion of a piece that reaches the
 * program or is lost, a post that still waits after SIGKILL. The CPUs may be busy, so the tests
 * check the order of completions, not time, and allow long waits for pieces.
 */
#include <semaphore.h>

#include "lib_test.h"

#define SIZE		16384
#define LIST		64	/* requests: 1 MiB, 8 pieces */
#define LISTS		16

/* One end writes to the other. */
struct conn {
	struct eps e;
	struct ibv_qp_init_attr attr, passive_attr;
	struct ibv_mr *from, *to;
	uint8_t *memory;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int conn_listen(struct conn *c)
{
	c->attr = lib_qp_attr();
	c->attr.sq_sig_all = 0;
	c->attr.cap.max_send_wr = LIST;
	c->passive_attr = c->attr;
	c->e.passive_attr = &c->passive_attr;
	c->e.active_attr = &c->attr;
	return eps_listen(&c->e);
}

/* @cq: for the sends, or NULL */
static int conn_up(struct conn *c, struct ibv_cq *cq)
{
	if (!c->e.listener)
		DO(conn_listen(c));
	c->attr.send_cq = cq;
	c->memory = calloc(2, SIZE);
	DO(!c->memory);
	DO(eps_up(&c->e));
	c->from = rdma_reg_msgs(c->e.a, c->memory, SIZE);
	c->to = rdma_reg_write(c->e.p, c->memory + SIZE, SIZE);
	DO(!c->from || !c->to);
	return 0;
}

static int conn_down(struct conn *c)
{
	DO(rdma_dereg_mr(c->from));
	DO(rdma_dereg_mr(c->to));
	DO(eps_down(&c->e));
	free(c->memory);
	return 0;
}

/* Posts WRITEs with wr_ids from 0 on. The last one is signalled, and one of @each (0: no other). */
static int post_list(struct conn *c, unsigned int num, uint32_t size, unsigned int each)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->memory,
		.length = size,
		.lkey = c->from->lkey,
	};
	struct ibv_send_wr wr[LIST] = {}, *bad;
	unsigned int i;

	for (i = 0; i < num; i++) {
		wr[i].wr_id = i;
		wr[i].next = i == num - 1 ? NULL : &wr[i + 1];
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		if (i == num - 1 || (each && !(i % each)))
			wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].wr.rdma.remote_addr = (uintptr_t)c->memory + SIZE;
		wr[i].wr.rdma.rkey = c->to->rkey;
	}
	return ibv_post_send(c->e.a->qp, wr, &bad);
}

/* Posts a list, and polls its completion, which must be the only one. */
static int write_list(struct conn *c, unsigned int num, uint32_t size)
{
	struct ibv_wc wc;
	int n;

	DO(post_list(c, num, size, 0));
	DO(lib_wait_wc(c->e.a->send_cq, &wc, 1));
	DO(wc.status || wc.wr_id != num - 1);
	n = ibv_poll_cq(c->e.a->send_cq, 1, &wc);
	if (n) {
		lib_say(__FILE__, __LINE__, "a completion too many: %d", n);
		return -1;
	}
	return 0;
}

FIXTURE(pace)
{
	int wait_us;
};

FIXTURE_SETUP(pace)
{
	self->wait_us = test_param("pace_wait_us", 1000000);
	if (!is_stock())
		ASSERT_GE(self->wait_us, 0);
}

FIXTURE_TEARDOWN(pace)
{
	if (self->wait_us >= 0)
		EXPECT_LE(0, test_param("pace_wait_us", self->wait_us));
}

/* Lists of one connection and messages of another one, which complete in the same CQ */
struct beside {
	struct conn much, little;
	struct ibv_cq *cq;
	sem_t next;			/* a list may be posted */
	unsigned int lists, messages;	/* completed */
	unsigned int inside;		/* messages between the first and the last of a list */
	bool in_list;
};

static void *post_lists(void *arg)
{
	struct beside *b = arg;
	int i;

	for (i = 0; i < LISTS; i++) {
		STEP(!sem_wait(&b->next));
		STEP(!post_list(&b->much, LIST, SIZE, 3));
	}
	return NULL;
}

static int beside_completed(struct beside *b, const struct ibv_wc *wc)
{
	DO(wc->status);
	if (wc->qp_num == b->little.e.a->qp->qp_num) {
		b->messages++;
		b->inside += b->in_list;
		return post_list(&b->little, 1, 64, 0);
	}
	b->in_list = wc->wr_id != LIST - 1;
	if (!b->in_list) {
		b->lists++;
		DO(sem_post(&b->next));
	}
	return 0;
}

/* Sends messages one after the other, while post_lists() posts lists one after the other. */
static int beside_run(struct beside *b)
{
	uint64_t end = now_ns() + 60000000000ull * TEST_SCALE;
	struct ibv_wc wc;
	int n;

	DO(post_list(&b->little, 1, 64, 0));
	DO(sem_post(&b->next));
	while (b->lists < LISTS && now_ns() < end) {
		n = ibv_poll_cq(b->cq, 1, &wc);
		DO(n < 0);
		if (n)
			DO(beside_completed(b, &wc));
		else
			sched_yield();
	}
	return 0;
}

/*
 * A list that is transmitted to its end has no message among its completions, except perhaps one
 * that was posted before it.
 */
TEST_F(pace, messages_beside_lists)
{
	struct beside b = {};
	struct lib_thread t;

	ASSERT_EQ(0, sem_init(&b.next, 0, 0));
	ASSERT_EQ(0, conn_listen(&b.little));
	b.cq = ASSERT_PTR(ibv_create_cq(b.little.e.listener->verbs, 2 * LIST, NULL, NULL, 0));
	ASSERT_EQ(0, conn_up(&b.much, b.cq));
	ASSERT_EQ(0, conn_up(&b.little, b.cq));

	ASSERT_EQ(0, lib_start(&t, post_lists, &b));
	ASSERT_EQ(0, beside_run(&b));
	EXPECT_RETURNS(0, &t);
	EXPECT_EQ(LISTS, b.lists);
	TH_LOG("%u messages, %u inside of %u lists", b.messages, b.inside, b.lists);
	if (!is_stock() && lib_iwarp(b.much.e.a->verbs))
		EXPECT_GE(b.inside, 3 * LISTS);
	EXPECT_EQ(0, conn_down(&b.much));
	EXPECT_EQ(0, conn_down(&b.little));
	EXPECT_EQ(0, ibv_destroy_cq(b.cq));
}

static void lists_and_messages(struct __test_metadata *_metadata)
{
	struct conn much = {}, little = {};
	unsigned int i, num;

	ASSERT_EQ(0, conn_up(&much, NULL));
	ASSERT_EQ(0, conn_up(&little, NULL));
	for (i = 1; i < 50; i++) {
		num = 1 + i % (LIST - 1);
		ASSERT_EQ(0, write_list(&little, 1, 64));
		EXPECT_EQ(0, write_list(&much, num, SIZE - i));
	}
	EXPECT_TRUE(lib_no_wc(much.e.a->send_cq));
	EXPECT_EQ(0, conn_down(&much));
	EXPECT_EQ(0, conn_down(&little));
}

/* Completions of the module's own do not reach the program, however a wait for a piece ends. */
TEST_F(pace, completions_of_lists)
{
	lists_and_messages(_metadata);
}

TEST_F(pace, completions_of_lists_whose_pieces_are_late)
{
	if (self->wait_us >= 0)
		ASSERT_EQ(1000000, test_param("pace_wait_us", 1));
	lists_and_messages(_metadata);
}

static void *write_on(void *arg)
{
	while (true)
		STEP(!write_list(arg, LIST, SIZE));
}

/* Writes lists beside small messages until it is killed. */
static void write_until_killed(int ready)
{
	struct conn much = {}, little = {};
	struct lib_thread t;
	int i;

	if (conn_up(&much, NULL) || conn_up(&little, NULL) || lib_start(&t, write_on, &much))
		_exit(1);
	for (i = 0; ; i++) {
		if (write_list(&little, 1, 64))
			_exit(1);
		if (i == 8 && write(ready, "", 1) != 1)
			_exit(1);
	}
}

TEST_F(pace, a_post_that_is_paced_is_killed)
{
	struct conn c = {};
	int ready[2], status;
	pid_t pid;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid)
		write_until_killed(ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	/* The killed process does not block the device. */
	ASSERT_EQ(0, conn_up(&c, NULL));
	EXPECT_EQ(0, write_list(&c, LIST, SIZE));
	EXPECT_EQ(0, conn_down(&c));
	close(ready[0]);
}

TEST_HARNESS_MAIN
