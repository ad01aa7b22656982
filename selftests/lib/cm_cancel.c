// SPDX-License-Identifier: GPL-2.0-only
/*
 * pthread_cancel(3) of blocked threads: no lock stays held, and no event is lost for the next
 * thread that waits.
 */
#include "lib_test.h"

#define ROUNDS 5

static int cancel(struct lib_thread *t)
{
	void *ret = NULL;

	if (!lib_still_blocked(t))
		return -1;
	if (pthread_cancel(t->thread) || lib_join(t, &ret))
		return -1;
	return ret == PTHREAD_CANCELED ? 0 : -1;
}

static void *wait_cm_event(void *arg)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(arg, &event);
	return NULL;
}

TEST(get_cm_event)
{
	struct lib_thread t;
	struct pair p = {};
	int i;

	ASSERT_EQ(0, pair_listen(&p));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, lib_start(&t, wait_cm_event, p.pc));
		ASSERT_EQ(0, cancel(&t));
	}
	/* The channel, the id and their events are unchanged. */
	ASSERT_EQ(0, pair_resolve(&p));
	ASSERT_EQ(0, pair_qp(p.a));
	ASSERT_EQ(0, pair_request(&p, NULL));
	EXPECT_EQ(0, pair_down(&p));
}

struct cq_wait {
	struct ibv_comp_channel *channel;
	struct ibv_context *context;
};

static void *wait_cq_event(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(((struct cq_wait *)arg)->channel, &cq, &context);
	return NULL;
}

static void *wait_async_event(void *arg)
{
	struct ibv_async_event event;

	ibv_get_async_event(((struct cq_wait *)arg)->context, &event);
	return NULL;
}

TEST(get_cq_event_and_async_event)
{
	struct lib_thread comp, async;
	struct cq_wait wait;
	struct ibv_cq *cq;
	int i;

	wait.context = ASSERT_PTR(lib_context());
	wait.channel = ASSERT_PTR(ibv_create_comp_channel(wait.context));
	cq = ASSERT_PTR(ibv_create_cq(wait.context, 4, NULL, wait.channel, 0));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, lib_start(&comp, wait_cq_event, &wait));
		ASSERT_EQ(0, lib_start(&async, wait_async_event, &wait));
		ASSERT_EQ(0, cancel(&comp));
		ASSERT_EQ(0, cancel(&async));
	}
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(wait.channel));
}

static void *wait_request(void *arg)
{
	struct rdma_cm_id *id;

	rdma_get_request(arg, &id);
	return NULL;
}

TEST(get_request)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	int i;

	ASSERT_EQ(0, eps_listen(&e));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, lib_start(&t, wait_request, e.listener));
		ASSERT_EQ(0, cancel(&t));
	}
	EXPECT_EQ(0, eps_up(&e));
	EXPECT_EQ(0, eps_down(&e));
}

static void *destroy(void *arg)
{
	rdma_destroy_id(arg);
	return NULL;
}

static void *take_cm_event(void *arg)
{
	struct rdma_cm_event *event;

	if (!rdma_get_cm_event(arg, &event))
		rdma_ack_cm_event(event);
	return NULL;
}

/*
 * A thread is cancelled while an event arrives: it gets the event, the library acknowledges it, or
 * it stays unread. The destruction of the id waits for none of them.
 */
TEST(get_cm_event_as_the_event_comes)
{
	struct lib_thread t;
	struct pair p = {};

	if (is_stock())
		SKIP(return, "librdmacm loses the event");
	ASSERT_EQ(0, pair_listen(&p));
	for (int i = 0; i < 60; i++) {
		ASSERT_EQ(0, rdma_create_id(p.ac, &p.a, NULL, RDMA_PS_TCP));
		ASSERT_EQ(0, lib_start(&t, take_cm_event, p.ac));
		usleep(10000);
		ASSERT_EQ(0, rdma_resolve_addr(p.a, NULL, SA(&p.addr), WAIT_MS));
		usleep(i * 20);
		pthread_cancel(t.thread);
		ASSERT_EQ(0, lib_join(&t, NULL));
		ASSERT_EQ(0, lib_start(&t, destroy, p.a));
		ASSERT_EQ(0, lib_join(&t, NULL));
	}
	p.a = NULL;
	EXPECT_EQ(0, pair_down(&p));
}

static void *take_cq_event(void *channel)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* The same of completion events: eps_down() destroys the CQ. */
TEST(get_cq_event_as_the_event_comes)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	struct ibv_wc wc;

	if (is_stock())
		SKIP(return, "libibverbs loses the event");
	ASSERT_EQ(0, eps_up(&e));
	for (int i = 0; i < 60; i++) {
		ASSERT_EQ(0, rdma_post_recvv(e.p, NULL, NULL, 0));
		ASSERT_EQ(0, ibv_req_notify_cq(e.p->recv_cq, 0));
		ASSERT_EQ(0, lib_start(&t, take_cq_event, e.p->recv_cq_channel));
		usleep(10000);
		ASSERT_EQ(0, rdma_post_sendv(e.a, NULL, NULL, 0, IBV_SEND_SIGNALED));
		usleep(i * 20);
		pthread_cancel(t.thread);
		ASSERT_EQ(0, lib_join(&t, NULL));
		ASSERT_EQ(0, lib_wait_wc(e.p->recv_cq, &wc, 1));
		ASSERT_EQ(0, lib_wait_wc(e.a->send_cq, &wc, 1));
	}
	EXPECT_EQ(0, eps_down(&e));
}

/* Waits for an acknowledgment, which must find the id even after the cancellation. */
TEST(destroy_id)
{
	struct rdma_cm_event *event;
	struct lib_thread t;
	struct pair p = {};

	if (is_stock())
		SKIP(return, "librdmacm's mutex stays locked");
	ASSERT_EQ(0, pair_listen(&p));
	ASSERT_EQ(0, rdma_create_id(p.ac, &p.a, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(p.a, NULL, SA(&p.addr), WAIT_MS));
	event = ASSERT_PTR(lib_get_event(p.ac, RDMA_CM_EVENT_ADDR_RESOLVED));
	ASSERT_EQ(0, lib_start(&t, destroy, p.a));
	ASSERT_EQ(0, cancel(&t));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	p.a = NULL;
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
