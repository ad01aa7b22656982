// SPDX-License-Identifier: GPL-2.0-only
/*
 * Synchronous calls that wait: signals, O_NONBLOCK, cancellation; and the destruction of an
 * endpoint, which waits for acknowledgments.
 *
 * It would catch: a call that a signal does not interrupt, or interrupts despite SA_RESTART, an
 * event that such a call loses, an endpoint that cannot be destroyed afterwards, files that are
 * left open or closed too early.
 */
#include "lib_test.h"

static volatile int signals;

static void on_signal(int sig)
{
	signals++;
}

static void handle(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	signals = 0;
	sigaction(SIGUSR1, &sa, NULL);
}

/* There may be no /proc to count in. */
static int count_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

struct call {
	struct rdma_cm_id *id, *new;
	int ret;
	int error;
};

static void *get_request(void *arg)
{
	struct call *c = arg;

	c->ret = rdma_get_request(c->id, &c->new);
	c->error = errno;
	return NULL;
}

static void *do_connect(void *arg)
{
	struct call *c = arg;

	c->ret = rdma_connect(c->id, NULL);
	c->error = errno;
	return NULL;
}

/* rdma_accept() waits for the other side, which must read its event if it uses librdmacm. */
static void *do_accept(void *arg)
{
	struct call *c = arg;

	c->ret = rdma_get_request(c->id, &c->new) || rdma_accept(c->new, NULL);
	return NULL;
}

TEST(get_request_is_interrupted)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	struct call c = {};

	ASSERT_EQ(0, eps_listen(&e));
	c.id = e.listener;
	handle(0);
	START_BLOCKED(&t, get_request, &c);
	pthread_kill(t.thread, SIGUSR1);
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(-1, c.ret);
	EXPECT_EQ(EINTR, c.error);
	EXPECT_EQ(1, signals);
	EXPECT_EQ(0, eps_up(&e));
	EXPECT_EQ(0, eps_down(&e));
}

TEST(get_request_goes_on)
{
	struct eps e = eps_with_qps();
	struct lib_thread t, active;
	struct call c = {}, a = {};

	ASSERT_EQ(0, eps_listen(&e));
	c.id = e.listener;
	handle(SA_RESTART);
	START_BLOCKED(&t, get_request, &c);
	pthread_kill(t.thread, SIGUSR1);
	EXPECT_TRUE(lib_still_blocked(&t));
	EXPECT_EQ(1, signals);
	ASSERT_EQ(0, eps_client(&e));
	a.id = e.a;
	ASSERT_EQ(0, lib_start(&active, do_connect, &a));
	ASSERT_EQ(0, lib_join(&t, NULL));
	ASSERT_EQ(0, c.ret);
	ASSERT_TRUE(c.new->qp && c.new->send_cq);
	EXPECT_NE(e.listener->channel, c.new->channel);
	EXPECT_EQ(0, rdma_accept(c.new, NULL));
	ASSERT_EQ(0, lib_join(&active, NULL));
	EXPECT_EQ(0, a.ret);
	e.p = c.new;
	EXPECT_EQ(0, eps_down(&e));
}

TEST(get_request_does_not_block)
{
	struct eps e = eps_with_qps();
	struct rdma_cm_id *id;

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, fcntl(e.listener->channel->fd, F_SETFL, O_NONBLOCK));
	EXPECT_FAILS(EAGAIN, rdma_get_request(e.listener, &id));
	ASSERT_EQ(0, fcntl(e.listener->channel->fd, F_SETFL, 0));
	EXPECT_EQ(0, eps_up(&e));
	EXPECT_EQ(0, eps_down(&e));
}

/* The connection is established although rdma_connect() is interrupted. */
TEST(connect_is_interrupted)
{
	struct eps e = eps_with_qps();
	struct call c = {}, passive = {};
	struct rdma_cm_event *event;
	struct lib_thread t;

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	c.id = e.a;
	if (lib_iwarp(c.id->verbs))
		SKIP(return, "siw's connect is one with the peer's answer");
	handle(0);
	START_BLOCKED(&t, do_connect, &c);
	pthread_kill(t.thread, SIGUSR1);
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(-1, c.ret);
	EXPECT_EQ(EINTR, c.error);

	passive.id = e.listener;
	ASSERT_EQ(0, lib_start(&t, do_accept, &passive));
	event = ASSERT_PTR(lib_get_event(c.id->channel, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(c.id, event->id);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_QPS(IBV_QPS_RTS, c.id->qp);
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(0, passive.ret);
	e.p = passive.new;
	EXPECT_EQ(0, eps_down(&e));
}

TEST(connect_goes_on)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	struct call c = {};

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	c.id = e.a;
	handle(SA_RESTART);
	START_BLOCKED(&t, do_connect, &c);
	pthread_kill(t.thread, SIGUSR1);
	EXPECT_TRUE(lib_still_blocked(&t));
	EXPECT_EQ(1, signals);
	ASSERT_EQ(0, rdma_get_request(e.listener, &e.p));
	ASSERT_EQ(0, rdma_accept(e.p, NULL));
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(0, c.ret);
	ASSERT_TRUE(c.id->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, c.id->event->event);
	EXPECT_EQ(0, eps_down(&e));
}

TEST(connect_does_not_block)
{
	struct eps e = eps_with_qps();
	struct call passive = {};
	struct lib_thread t;

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	ASSERT_EQ(0, fcntl(e.a->channel->fd, F_SETFL, O_NONBLOCK));
	EXPECT_FAILS(EAGAIN, rdma_connect(e.a, NULL));
	passive.id = e.listener;
	ASSERT_EQ(0, lib_start(&t, do_accept, &passive));
	EXPECT_EQ(0, lib_event(e.a->channel, RDMA_CM_EVENT_ESTABLISHED));
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(0, passive.ret);
	e.p = passive.new;
	EXPECT_EQ(0, eps_down(&e));
}

TEST(cancel_connect)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	struct call c = {};

	if (is_stock())
		SKIP(return, "what librdmacm holds then is its own business");
	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	c.id = e.a;
	START_BLOCKED(&t, do_connect, &c);
	EXPECT_CANCELLED(&t);
	ASSERT_EQ(0, rdma_get_request(e.listener, &e.p));
	/* eps_down() would wait for an event that the cancelled call has not acknowledged. */
	EXPECT_EQ(0, eps_down(&e));
}

/*
 * The cancellation comes before, with or after the request. Then rdma_get_request() returns the
 * request, or the library rejects it, or it stays unread. All can be destroyed in each case.
 */
TEST(cancel_as_the_request_comes)
{
	struct eps e = eps_with_qps();
	struct lib_thread t, active;
	int i, fds, got = 0;
	struct call a, c;
	void *ret;

	if (is_stock())
		SKIP(return, "librdmacm loses the request");
	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	rdma_destroy_ep(e.a);
	fds = count_fds();
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, eps_client(&e));
		a = (struct call) { .id = e.a };
		c = (struct call) { .id = e.listener };
		ASSERT_EQ(0, lib_start(&t, get_request, &c));
		usleep(10000);
		ASSERT_EQ(0, lib_start(&active, do_connect, &a));
		usleep(i * 500);
		pthread_cancel(t.thread);
		ASSERT_EQ(0, lib_join(&t, &ret));
		if (ret != PTHREAD_CANCELED) {
			ASSERT_EQ(0, c.ret);
			got++;
		} else if (!c.new) {
			/* The request may be unread: get it, so that it can be rejected. */
			fcntl(e.listener->channel->fd, F_SETFL, O_NONBLOCK);
			while (!__atomic_load_n(&active.done, __ATOMIC_ACQUIRE) && !c.new) {
				rdma_get_request(e.listener, &c.new);
				usleep(1000);
			}
			fcntl(e.listener->channel->fd, F_SETFL, 0);
		}
		if (c.new)
			rdma_destroy_ep(c.new);
		ASSERT_EQ(0, lib_join(&active, NULL));
		EXPECT_EQ(-1, a.ret);
		EXPECT_EQ(ECONNREFUSED, a.error);
		rdma_destroy_ep(a.id);
		EXPECT_EQ(fds, count_fds());
	}
	e.a = NULL;
	TH_LOG("%d of %d had it", got, i);
	EXPECT_EQ(0, eps_down(&e));
}

static void *destroy(void *id)
{
	rdma_destroy_ep(id);
	return NULL;
}

/* ibv_get_cq_event(3): destroying the CQ waits until its events are acknowledged. */
TEST(destroy_waits)
{
	struct eps e = eps_with_qps();
	struct lib_thread t;
	struct ibv_comp_channel *channel;
	char buf[8];
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	void *context;
	int fd;

	ASSERT_EQ(0, eps_up(&e));
	mr = ASSERT_PTR(rdma_reg_msgs(e.a, buf, sizeof(buf)));
	channel = e.a->recv_cq_channel;
	fd = channel->fd;
	ASSERT_EQ(0, ibv_req_notify_cq(e.a->recv_cq, 0));
	ASSERT_EQ(0, rdma_post_recv(e.a, NULL, buf, sizeof(buf), mr));
	/* The receive is flushed. */
	rdma_destroy_ep(e.p);
	e.p = NULL;
	ASSERT_EQ(0, lib_modify_qp(e.a->qp, IBV_QPS_ERR));
	ASSERT_EQ(0, ibv_get_cq_event(channel, &cq, &context));
	START_BLOCKED(&t, destroy, e.a);
	/* The channel stays open: the thread with the event may wait for the next one first. */
	EXPECT_LE(0, fcntl(fd, F_GETFD));
	ibv_ack_cq_events(cq, 1);
	ASSERT_EQ(0, lib_join(&t, NULL));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	e.a = NULL;
	EXPECT_EQ(0, eps_down(&e));
}

TEST(destroy_closes)
{
	struct eps e = eps_with_qps();
	int i, fds;

	/* Files that the library opens once are not counted. */
	ASSERT_EQ(0, eps_up(&e));
	ASSERT_EQ(0, eps_down(&e));
	fds = count_fds();
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, eps_up(&e));
		ASSERT_EQ(0, eps_down(&e));
		EXPECT_EQ(fds, count_fds());
	}
}

/* An endpoint without its QP, and one whose QP has a CQ of the program */
TEST(destroy_what_is_left)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct eps e = eps_with_qps();
	struct ibv_cq *cq;
	int fds;

	ASSERT_EQ(0, eps_up(&e));
	ASSERT_EQ(0, eps_down(&e));
	fds = count_fds();
	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_client(&e));
	rdma_destroy_qp(e.a);
	rdma_destroy_ep(e.a);
	ASSERT_EQ(0, eps_client(&e));
	cq = ASSERT_PTR(ibv_create_cq(e.a->verbs, 16, NULL, NULL, 0));
	rdma_destroy_qp(e.a);
	attr.send_cq = cq;
	ASSERT_EQ(0, rdma_create_qp(e.a, NULL, &attr));
	ASSERT_TRUE(e.a->send_cq == NULL && e.a->recv_cq != NULL);
	EXPECT_EQ(0, eps_down(&e));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(fds, count_fds());
}

TEST_HARNESS_MAIN
