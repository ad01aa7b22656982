// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads create, use and destroy objects at the same time (ibv_alloc_td(3): verbs are thread
 * safe; rdma_cm: different ids).
 */
#include <sys/time.h>

#include "lib_test.h"

#define THREADS	4

/* Runs fn in THREADS threads, the n-th with arg + n * size. Returns a failure or NULL. */
static const char *in_threads(void *(*fn)(void *arg), void *arg, size_t size)
{
	struct lib_thread t[THREADS];
	void *failed = NULL, *ret;
	int i, started;

	for (started = 0; started < THREADS; started++)
		if (lib_start(&t[started], fn, (char *)arg + started * size))
			break;
	for (i = 0; i < started; i++) {
		if (lib_join(&t[i], &ret))
			return "a thread does not end";
		if (ret)
			failed = ret;
	}
	return started < THREADS ? "can not start threads" : failed;
}

static void *make_ids(void *arg)
{
	struct sockaddr_in addr = lib_addr(0);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < 10; i++) {
		STEP((channel = rdma_create_event_channel()));
		STEP(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
		STEP(!rdma_resolve_addr(id, NULL, SA(&addr), WAIT_MS));
		STEP(!lib_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
		STEP(!pair_qp(id));
		rdma_destroy_qp(id);
		STEP(!rdma_destroy_id(id));
		rdma_destroy_event_channel(channel);
	}
	return NULL;
}

TEST(ids)
{
	EXPECT_EQ(NULL, in_threads(make_ids, NULL, 0));
}

static void *make_verbs(void *arg)
{
	struct ibv_context *context = arg;
	struct ibv_qp_init_attr attr;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char buf[64];
	int i;

	for (i = 0; i < 10; i++) {
		STEP((pd = ibv_alloc_pd(context)));
		STEP((mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)));
		STEP((cq = ibv_create_cq(context, 8, NULL, NULL, 0)));
		attr = lib_qp_attr_on(cq);
		STEP((qp = ibv_create_qp(pd, &attr)));
		STEP(!ibv_destroy_qp(qp));
		STEP(!ibv_destroy_cq(cq));
		STEP(!ibv_dereg_mr(mr));
		STEP(!ibv_dealloc_pd(pd));
	}
	return NULL;
}

TEST(verbs)
{
	EXPECT_EQ(NULL, in_threads(make_verbs, lib_context(), 0));
}

static void *connect_pairs(void *arg)
{
	struct pair p = {};
	int i;

	for (i = 0; i < 3; i++) {
		STEP(!pair_up(&p));
		STEP(!pair_down(&p));
	}
	return NULL;
}

TEST(connections)
{
	EXPECT_EQ(NULL, in_threads(connect_pairs, NULL, 0));
}

/* The threads race to be the first that opens the device. */
static void *open_session(void *arg)
{
	struct rdma_cm_id *id;

	STEP(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	STEP(!rdma_destroy_id(id));
	return NULL;
}

TEST(first_calls)
{
	EXPECT_EQ(NULL, in_threads(open_session, NULL, 0));
}

/* ---- signals, and two threads with one id */

#define STORM_US	500
#define STORM_ROUNDS	200

static void on_alarm(int sig)
{
}

static bool storming;

/* Sets an option and gets QP attributes of an id, while another thread joins groups with it. */
static void *set_options(void *arg)
{
	struct rdma_cm_id *id = arg;
	struct ibv_qp_attr attr;
	uint8_t tos = 8;
	int mask;

	while (__atomic_load_n(&storming, __ATOMIC_RELAXED)) {
		STEP(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1));
		attr.qp_state = IBV_QPS_INIT;
		STEP(!rdma_init_qp_attr(id, &attr, &mask));
	}
	return NULL;
}

/*
 * Calls that wait only for each other do not fail with EINTR, even if the handler of a signal
 * lacks SA_RESTART.
 */
TEST(signals_interrupt_no_call)
{
	struct itimerval storm = { { 0, STORM_US }, { 0, STORM_US } }, quiet = {};
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = { htonl(0xe6050607) } };
	struct rdma_event_channel *channel = ASSERT_PTR(rdma_create_event_channel());
	struct rdma_cm_id *id = ASSERT_PTR(lib_bound_id(channel, RDMA_PS_UDP));
	struct lib_thread t[2];
	int errors = 0;

	if (lib_iwarp(id->verbs)) {
		EXPECT_EQ(0, rdma_destroy_id(id));
		rdma_destroy_event_channel(channel);
		SKIP(return, "iWARP has no multicast");
	}
	ASSERT_EQ(0, sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL));
	storming = true;
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_start(&t[i], set_options, id));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &storm, NULL));
	for (int i = 0; i < STORM_ROUNDS; i++) {
		errors += !!rdma_join_multicast(id, SA(&sin), NULL);
		errors += !!rdma_leave_multicast(id, SA(&sin));
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &quiet, NULL));
	__atomic_store_n(&storming, false, __ATOMIC_RELAXED);
	EXPECT_EQ(0, errors);
	EXPECT_RETURNS(NULL, &t[0]);
	EXPECT_RETURNS(NULL, &t[1]);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* ---- several connections on one CQ, with several posters and pollers */

#define POLLERS		2
#define MESSAGES	40
#define WINDOW		4

FIXTURE(shared)
{
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char buf[64];
	int completions, failures;
	struct line {
		struct pair pair;
		sem_t window;
		struct ibv_mr *mr;
		char *buf;
	} lines[THREADS];
};

static int shared_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = lib_qp_attr_on(cq);

	return rdma_create_qp(id, NULL, &attr);
}

static int line_up(struct line *line, struct ibv_cq *cq)
{
	struct pair *p = &line->pair;

	return pair_route(p) || shared_qp(p->a, cq) || pair_passive(p) ||
	       shared_qp(p->p, cq) || pair_accept(p);
}

FIXTURE_SETUP(shared)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct line *line;

	self->cq = ASSERT_PTR(ibv_create_cq(context, 16 * THREADS, NULL, NULL, 0));
	for (line = self->lines; line < self->lines + THREADS; line++) {
		ASSERT_EQ(0, line_up(line, self->cq));
		/* A message takes two units, and each of its two completions returns one. */
		ASSERT_EQ(0, sem_init(&line->window, 0, 2 * WINDOW));
		line->buf = self->buf;
	}
	self->mr = ASSERT_PTR(rdma_reg_msgs(self->lines[0].pair.a, self->buf, sizeof(self->buf)));
	for (line = self->lines; line < self->lines + THREADS; line++)
		line->mr = self->mr;
}

FIXTURE_TEARDOWN(shared)
{
	int i;

	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	for (i = 0; i < THREADS; i++)
		EXPECT_EQ(0, pair_down(&self->lines[i].pair));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
}

static void *post_line(void *arg)
{
	struct line *line = arg;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		STEP(!sem_wait(&line->window) && !sem_wait(&line->window));
		STEP(!rdma_post_recv(line->pair.p, line, line->buf, 64, line->mr));
		STEP(!rdma_post_send(line->pair.a, line, line->buf, 64, line->mr, 0));
	}
	return NULL;
}

static void *poll_shared(void *arg)
{
	FIXTURE_DATA(shared) *self = arg;
	const int all = 2 * MESSAGES * THREADS;
	struct line *line;
	struct ibv_wc wc[3];
	int i, n;

	while (__atomic_load_n(&self->completions, __ATOMIC_RELAXED) < all) {
		n = ibv_poll_cq(self->cq, 3, wc);
		STEP(n >= 0);
		for (i = 0; i < n; i++) {
			line = (void *)(uintptr_t)wc[i].wr_id;
			if (wc[i].status)
				__atomic_add_fetch(&self->failures, 1, __ATOMIC_RELAXED);
			sem_post(&line->window);
			__atomic_add_fetch(&self->completions, 1, __ATOMIC_RELAXED);
		}
		if (!n)
			usleep(500);
	}
	return NULL;
}

TEST_F(shared, posters_and_pollers)
{
	struct lib_thread pollers[POLLERS];
	int i;

	for (i = 0; i < POLLERS; i++)
		ASSERT_EQ(0, lib_start(&pollers[i], poll_shared, self));
	EXPECT_EQ(NULL, in_threads(post_line, self->lines, sizeof(self->lines[0])));
	for (i = 0; i < POLLERS; i++)
		EXPECT_RETURNS(NULL, &pollers[i]);

	EXPECT_EQ(2 * MESSAGES * THREADS, self->completions);
	EXPECT_EQ(0, self->failures);
	EXPECT_TRUE(lib_no_wc(self->cq));
}

/* ---- several threads serve one event channel */

#define CLIENTS		6

struct server {
	struct rdma_event_channel *channel;
	int established, gone;
};

static void *serve(void *arg)
{
	struct server *server = arg;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int type;

	while (__atomic_load_n(&server->gone, __ATOMIC_RELAXED) < CLIENTS) {
		if (!lib_readable(server->channel->fd, 20))
			continue;
		if (rdma_get_cm_event(server->channel, &event)) {
			STEP(errno == EAGAIN);
			continue;	/* another thread was faster */
		}
		id = event->id;
		type = event->event;
		STEP(!rdma_ack_cm_event(event));
		switch (type) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			STEP(!pair_qp(id));
			STEP(!rdma_accept(id, NULL));
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			__atomic_add_fetch(&server->established, 1, __ATOMIC_RELAXED);
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			rdma_disconnect(id);
			rdma_destroy_qp(id);
			STEP(!rdma_destroy_id(id));
			__atomic_add_fetch(&server->gone, 1, __ATOMIC_RELAXED);
			break;
		default:
			break;	/* TIMEWAIT_EXIT */
		}
	}
	return NULL;
}

TEST(threads_serve_one_channel)
{
	struct server server = {};
	struct lib_thread t[2];
	struct pair p = {};
	struct rdma_cm_id *clients[CLIENTS];
	int i;

	ASSERT_EQ(0, pair_listen(&p));
	server.channel = p.pc;
	ASSERT_EQ(0, fcntl(p.pc->fd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, lib_start(&t[i], serve, &server));
	for (i = 0; i < CLIENTS; i++) {
		ASSERT_EQ(0, pair_resolve(&p));
		ASSERT_EQ(0, pair_qp(p.a));
		clients[i] = p.a;
	}
	for (i = 0; i < CLIENTS; i++)
		ASSERT_EQ(0, rdma_connect(clients[i], NULL));
	for (i = 0; i < CLIENTS; i++)
		ASSERT_EQ(0, lib_event(p.ac, RDMA_CM_EVENT_ESTABLISHED));
	for (i = 0; i < CLIENTS; i++)
		EXPECT_EQ(0, rdma_disconnect(clients[i]));
	for (i = 0; i < 2; i++)
		EXPECT_RETURNS(NULL, &t[i]);

	EXPECT_EQ(CLIENTS, server.established);
	/* rdma_destroy_id() drops their unread DISCONNECTED events. */
	for (i = 0; i < CLIENTS; i++) {
		rdma_destroy_qp(clients[i]);
		EXPECT_EQ(0, rdma_destroy_id(clients[i]));
	}
	p.a = NULL;
	EXPECT_EQ(0, pair_down(&p));
}

TEST_HARNESS_MAIN
