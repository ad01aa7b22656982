// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that return an event (RDMA_EP_AWAIT).
 *
 * The tests would catch: an event that is lost because of a bad address or a signal, taken twice,
 * or not counted; a command that is executed again after a signal; a wait that does not end, or
 * delays other commands; a file that is taken for a channel of the session.
 */
#include "abi_test.h"

FIXTURE(await) {
	struct abi s;
	int channel;
	__u32 id;
	struct rdma_ep_channel_event ev;
};

FIXTURE_SETUP(await)
{
	OK(abi_open(&self->s));
	self->channel = FD(abi_channel(&self->s));
	OK(abi_tcp_id(&self->s, self->channel, 11, &self->id));
}

TEARDOWN_CLOSES(await)

static void set_await(__u32 *flags, struct rdma_ep_await *await, struct rdma_ep_channel_event *ev,
		      int fd)
{
	*flags = RDMA_EP_AWAIT;
	*await = (struct rdma_ep_await) { .event = (uintptr_t)ev, .channel_fd = fd };
}

/* Sets up a RESOLVE_ADDR to a local address, or to an unused one. */
static void set_resolve(struct _test_data_await *self, struct rdma_ep_cmd_resolve_addr *r,
			bool unused)
{
	*r = (struct rdma_ep_cmd_resolve_addr) { .id = self->id, .timeout_ms = 20000 };
	abi_own_addr(&self->s, 4720, &r->dst);
	if (unused)
		((struct sockaddr_in *)&r->dst)->sin_addr.s_addr ^= htonl(0x4e);
	memset(&self->ev, 0, sizeof(self->ev));
	set_await(&r->flags, &r->await, &self->ev, self->channel);
}

/* The command returns the channel's next event, of any id, and counts it as reported. */
TEST_F(await, pending_event_returned)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r;
	struct rdma_ep_channel_event ev;
	__u32 other;

	OK(abi_tcp_id(s, self->channel, 12, &other));
	OK(abi_user_event(s, other, 5));
	set_resolve(self, &r, false);
	OK(ABI(s->fd, RESOLVE_ADDR, &r));
	EXPECT_EQ(RDMA_EP_AWAIT_EVENT, r.await.state);
	EXPECT_EQ(RDMA_EP_CM_EVENT_USER, self->ev.event);
	EXPECT_EQ(12, self->ev.uid);
	EXPECT_EQ(5, self->ev.param.arg);
	EXPECT_EQ(1, abi_events_reported(s, other));
	EXPECT_EQ(0, abi_events_reported(s, self->id));
	/* The command itself has been executed, too. */
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, &ev));
	EXPECT_EQ(1, abi_events_reported(s, self->id));
}

/* Both sides connect and disconnect with waiting commands alone. */
TEST_F(await, connection_by_waiting_commands)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_id route = { .id = self->id, .arg = 5000 };
	struct rdma_ep_cmd_id end[2] = {};
	struct rdma_ep_cmd_connect connect = { .id = self->id };
	struct rdma_ep_cmd_connect accept = { .uid = 13 };
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_AWAIT | RDMA_EP_EP_CREATE_QP,
	};
	struct rdma_ep_channel_event ev, evs[2];
	struct rdma_ep_cmd_resolve_addr r;
	struct rdma_ep_cmd_create_qp c;
	struct sockaddr_in sin;
	int server = abi_channel(s);
	struct abi_call w, w2;

	OK(abi_tcp_listen(s, server, 0, 14, &g.id, &sin));
	set_resolve(self, &r, false);
	memcpy(&r.dst, &sin, sizeof(sin));
	OK(ABI(s->fd, RESOLVE_ADDR, &r));
	ASSERT_EQ(RDMA_EP_AWAIT_EVENT, r.await.state);
	ASSERT_EQ(EV_ADDR_RESOLVED, self->ev.event);
	set_await(&route.flags, &route.await, &self->ev, self->channel);
	OK(ABI(s->fd, RESOLVE_ROUTE, &route));
	ASSERT_EQ(EV_ROUTE_RESOLVED, self->ev.event);
	OK(abi_id_qp(s, self->id, &c));

	abi_auto_qp(&g.qp);
	g.await_fd = server;
	START_BLOCKED(&w, s, GET_REQUEST, &g);
	set_await(&connect.flags, &connect.await, &self->ev, self->channel);
	OK(ABI_CALL(&w2, s, CONNECT, &connect));
	EXPECT_RETURNS(0, &w);
	EXPECT_EQ(EV_CONNECT_REQUEST, g.event.event);
	EXPECT_EQ(0, g.qp_errno);
	EXPECT_NE(0, g.qp.qp);
	EXPECT_NE(server, g.channel_fd);
	EXPECT_FALSE(w2.done);
	EXPECT_EQ(1, abi_events_reported(s, g.id));

	accept.id = g.event.child;
	set_await(&accept.flags, &accept.await, &ev, g.channel_fd);
	OK(ABI(s->fd, ACCEPT, &accept));
	ASSERT_EQ(RDMA_EP_AWAIT_EVENT, accept.await.state);
	EXPECT_EQ(EV_ESTABLISHED, ev.event);
	EXPECT_EQ(13, ev.uid);
	EXPECT_RETURNS(0, &w2);
	EXPECT_EQ(RDMA_EP_AWAIT_EVENT, connect.await.state);
	EXPECT_EQ(EV_ESTABLISHED, self->ev.event);
	EXPECT_EQ(self->id, self->ev.id);

	end[0].id = self->id;
	set_await(&end[0].flags, &end[0].await, &evs[0], self->channel);
	OK(ABI_CALL(&w, s, DISCONNECT, &end[0]));
	if (!s->iwarp)
		EXPECT_TRUE(abi_call_blocked(&w));
	end[1].id = g.event.child;
	set_await(&end[1].flags, &end[1].await, &evs[1], g.channel_fd);
	EXPECT_EQ(0, ABI(s->fd, DISCONNECT, &end[1]));
	EXPECT_EQ(EV_DISCONNECTED, evs[1].event);
	EXPECT_RETURNS(0, &w);
	EXPECT_EQ(EV_DISCONNECTED, evs[0].event);
}

/* The command takes an event that is already queued. */
TEST_F(await, nonblocking_channel_does_not_wait)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r;
	struct rdma_ep_channel_event ev;

	fcntl(self->channel, F_SETFL, O_NONBLOCK);
	set_resolve(self, &r, true);
	OK(ABI(s->fd, RESOLVE_ADDR, &r));
	EXPECT_EQ(RDMA_EP_AWAIT_DONE, r.await.state);
	EXPECT_EQ(0, self->ev.event);
	OK(abi_user_event(s, self->id, 6));
	OK(ABI(s->fd, RESOLVE_ADDR, &r));
	EXPECT_EQ(RDMA_EP_AWAIT_EVENT, r.await.state);
	EXPECT_EQ(6, self->ev.param.arg);
	EXPECT_ERRNO(EAGAIN, read(self->channel, &ev, sizeof(ev)));
}

/* A file that is no channel of the session returns no event. */
TEST_F(await, foreign_channel_refused)
{
	struct abi *s = &self->s, other;
	struct rdma_ep_cmd_resolve_addr r;
	__u32 id;

	OK(abi_open(&other));
	int fds[] = { -1, 1 << 20, open("/dev/null", O_RDONLY), abi_comp_channel(s),
		      abi_channel(&other), s->fd };

	OK(abi_tcp_id(&other, fds[4], 15, &id));
	OK(abi_user_event(&other, id, 7));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		set_resolve(self, &r, true);
		r.await.channel_fd = fds[i];
		/* The id can be resolved once only. */
		r.await.state = i ? RDMA_EP_AWAIT_DONE : 0;
		EXPECT_EQ(0, ABI(s->fd, RESOLVE_ADDR, &r));
		EXPECT_EQ(RDMA_EP_AWAIT_DONE, r.await.state);
		EXPECT_EQ(0, self->ev.event);
	}
	EXPECT_TRUE(abi_ready(fds[4], 0));
	abi_close(&other);
}

TEST_F(await, bad_await_state_refused)
{
	struct rdma_ep_cmd_resolve_addr r;

	set_resolve(self, &r, true);
	r.await.state = RDMA_EP_AWAIT_EVENT;
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, RESOLVE_ADDR, &r));
	/* The structure has no room for the answer. */
	r.await.state = 0;
	r.size = offsetof(struct rdma_ep_cmd_resolve_addr, await.state);
	EXPECT_EQ(-EINVAL, abi_raw(self->s.fd, _IOC(_IOC_READ | _IOC_WRITE, RDMA_EP_IOC_TYPE,
						    RDMA_EP_CMD_RESOLVE_ADDR, r.size), &r));
	/* The refused commands have not been executed. */
	r.size = sizeof(r);
	fcntl(self->channel, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(0, ABI(self->s.fd, RESOLVE_ADDR, &r));
}

TEST_F(await, interrupted)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r;
	long start = abi_now_ms();

	set_resolve(self, &r, true);
	abi_alarm(200);
	EXPECT_EQ(-EINTR, ABI(s->fd, RESOLVE_ADDR, &r));
	EXPECT_LE(190, abi_now_ms() - start);
	EXPECT_EQ(RDMA_EP_AWAIT_DONE, r.await.state);
	/* A second execution would return EINVAL. */
	EXPECT_EQ(-EINTR, ABI(s->fd, RESOLVE_ADDR, &r));
	abi_alarm(0);
	EXPECT_EQ(0, self->ev.event);
	EXPECT_EQ(0, abi_events_reported(s, self->id));
	OK(abi_user_event(s, self->id, 8));
	EXPECT_EQ(0, ABI(s->fd, RESOLVE_ADDR, &r));
	EXPECT_EQ(8, self->ev.param.arg);
	r.await.state = 0;
	EXPECT_EQ(-EINVAL, ABI(s->fd, RESOLVE_ADDR, &r));
}

static volatile int signals;

static void on_signal(int sig)
{
	signals++;
}

/* With SA_RESTART the wait continues. */
TEST_F(await, restarted_without_second_execution)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r;
	struct abi_call w;

	signals = 0;
	sigaction(SIGUSR1, &sa, NULL);
	set_resolve(self, &r, true);
	OK(ABI_CALL(&w, s, RESOLVE_ADDR, &r));
	for (int i = 0; i < 3; i++) {
		EXPECT_TRUE(abi_call_blocked(&w));
		pthread_kill(w.thread, SIGUSR1);
	}
	EXPECT_TRUE(abi_call_blocked(&w));
	EXPECT_EQ(3, signals);
	OK(abi_user_event(s, self->id, 9));
	EXPECT_RETURNS(0, &w);
	EXPECT_EQ(RDMA_EP_AWAIT_EVENT, r.await.state);
	EXPECT_EQ(9, self->ev.param.arg);
}

/* An event that cannot be written remains the next one, and is not counted. */
TEST_F(await, unwritable_event_stays)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr *r = abi_map(4096);
	struct rdma_ep_channel_event ev;

	/* If a failure moved the first to the end, two failures would restore an order of two. */
	for (int i = 1; i <= 3; i++)
		OK(abi_user_event(s, self->id, i));
	set_resolve(self, r, true);
	r->await.event = 8;
	EXPECT_EQ(-EFAULT, ABI(s->fd, RESOLVE_ADDR, r));
	EXPECT_EQ(0, abi_events_reported(s, self->id));
	/* The same if the structure cannot be written. */
	r->await.event = (uintptr_t)&self->ev;
	r->await.state = RDMA_EP_AWAIT_DONE;
	mprotect(r, 4096, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(s->fd, RDMA_EP_IOC_RESOLVE_ADDR, r));
	EXPECT_EQ(0, abi_events_reported(s, self->id));
	ASSERT_EQ(sizeof(ev), read(self->channel, &ev, sizeof(ev)));
	EXPECT_EQ(1, ev.param.arg);
	mprotect(r, 4096, PROT_READ | PROT_WRITE);
	EXPECT_EQ(0, ABI(s->fd, RESOLVE_ADDR, r));
	EXPECT_EQ(2, self->ev.param.arg);
	EXPECT_EQ(2, abi_events_reported(s, self->id));
}

/* As with a blocked read(2): the id is destroyed at once, and the wait continues. */
TEST_F(await, id_destroyed_while_waiting)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r;
	struct abi_call w;
	__u32 other;

	OK(abi_tcp_id(s, self->channel, 12, &other));
	set_resolve(self, &r, true);
	START_BLOCKED(&w, s, RESOLVE_ADDR, &r);
	EXPECT_WITHIN(2000, EXPECT_EQ(0, ABI_DESTROY(s, ID, self->id)));
	EXPECT_TRUE(abi_call_blocked(&w));
	/* The command holds a reference to the file. */
	close(self->channel);
	EXPECT_TRUE(abi_call_blocked(&w));
	OK(abi_user_event(s, other, 3));
	EXPECT_RETURNS(0, &w);
	EXPECT_EQ(other, self->ev.id);
}

/* The command holds the session's file, so the session ends after the command. */
TEST_F(await, session_closed_while_waiting)
{
	struct rdma_ep_cmd_resolve_addr r;
	struct rdma_ep_channel_event ev;
	struct abi s = self->s;
	struct abi_call w;

	set_resolve(self, &r, true);
	START_BLOCKED(&w, &s, RESOLVE_ADDR, &r);
	EXPECT_WITHIN(2000, close(self->s.fd));
	self->s.fd = -1;
	EXPECT_TRUE(abi_call_blocked(&w));
	EXPECT_FALSE(abi_ready(self->channel, 0));
	abi_alarm(1);
	abi_alarm(0);
	while (!w.done) {
		pthread_kill(w.thread, SIGALRM);
		usleep(100000);
	}
	EXPECT_RETURNS(-EINTR, &w);
	EXPECT_ERRNO(EIO, read(self->channel, &ev, sizeof(ev)));
}

/* Each event wakes one waiter, and is returned once. */
TEST_F(await, each_event_one_waiter)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_resolve_addr r[4];
	struct rdma_ep_channel_event ev[4] = {};
	struct abi_call w[4];
	__u64 sum = 0;

	for (int i = 0; i < 4; i++) {
		set_resolve(self, &r[i], true);
		r[i].await.event = (uintptr_t)&ev[i];
		r[i].await.state = RDMA_EP_AWAIT_DONE;
		OK(ABI_CALL(&w[i], s, RESOLVE_ADDR, &r[i]));
	}
	EXPECT_TRUE(abi_call_blocked(&w[3]));
	for (int i = 0; i < 4; i++)
		OK(abi_user_event(s, self->id, 1 << i));
	for (int i = 0; i < 4; i++) {
		EXPECT_RETURNS(0, &w[i]);
		sum += ev[i].param.arg;
	}
	EXPECT_EQ(15, sum);
	EXPECT_EQ(4, abi_events_reported(s, self->id));
}

FIXTURE(request) {
	struct abi s;
	int server, client;
	__u32 id;
	struct rdma_ep_cmd_get_request g;
};

FIXTURE_SETUP(request)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	struct sockaddr_in sin;

	OK(abi_open(s));
	self->server = abi_channel(s);
	self->client = abi_channel(s);
	self->g = (struct rdma_ep_cmd_get_request) {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP | RDMA_EP_AWAIT,
		.await_fd = self->server,
	};
	abi_auto_qp(&self->g.qp);
	OK(abi_tcp_listen(s, self->server, 0, 71, &self->g.id, &sin));
	OK(abi_tcp_client(s, self->client, &sin, 72, &self->id));
	OK(abi_id_qp(s, self->id, &c));
}

TEARDOWN_CLOSES(request)

TEST_F(request, interrupted)
{
	struct rdma_ep_cmd_get_request g = self->g;
	struct abi *s = &self->s;
	int fds = abi_count_fds();

	abi_alarm(200);
	EXPECT_EQ(-EINTR, ABI(s->fd, GET_REQUEST, &g));
	abi_alarm(0);
	EXPECT_EQ(0, g.event.event);
	EXPECT_EQ(fds, abi_count_fds());
	OK(abi_connect(s, self->id, 0));
	OK(ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(EV_CONNECT_REQUEST, g.event.event);
	EXPECT_NE(0, g.qp.qp);
}

TEST_F(request, pending_request_returned)
{
	struct abi *s = &self->s;

	fcntl(self->client, F_SETFL, O_NONBLOCK);
	fcntl(self->server, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EAGAIN, ABI_WITH(s->fd, GET_REQUEST, self->g, await_fd, self->client));
	EXPECT_EQ(-EAGAIN, ABI_WITH(s->fd, GET_REQUEST, self->g, await_fd, -1));
	EXPECT_EQ(-EAGAIN, ABI_WITH(s->fd, GET_REQUEST, self->g, await_fd, s->fd));
	EXPECT_EQ(-EAGAIN, ABI(s->fd, GET_REQUEST, &self->g));
	self->g.flags &= ~RDMA_EP_AWAIT;
	EXPECT_EQ(-EINVAL, ABI(s->fd, GET_REQUEST, &self->g));
}

/* The descriptor that the next new file will have */
static int next_file(void)
{
	int next = dup(0);

	close(next);
	return next;
}

/* A request is not lost if no descriptors are free for its files. */
TEST_F(request, request_without_fds_stays)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = self->g;
	struct abi_call w;

	START_BLOCKED(&w, s, GET_REQUEST, &g);
	/* One for the request's channel, none for the CQs */
	WITH_RLIMIT(RLIMIT_NOFILE, next_file() + 1, {
		OK(abi_connect(s, self->id, 0));
		EXPECT_RETURNS(0, &w);
	});
	/* The request is returned without a QP. */
	EXPECT_EQ(EMFILE, g.qp_errno);
	EXPECT_EQ(0, g.qp.qp);
	EXPECT_EQ(0, ABI_DESTROY(s, ID, g.event.child));
}

TEST_F(request, request_without_any_fd_stays)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = self->g;
	struct abi_call w;

	START_BLOCKED(&w, s, GET_REQUEST, &g);
	WITH_RLIMIT(RLIMIT_NOFILE, next_file(), {
		OK(abi_connect(s, self->id, 0));
		EXPECT_RETURNS(-EMFILE, &w);
	});
	EXPECT_EQ(0, abi_events_reported(s, g.id));
	EXPECT_EQ(0, ABI(s->fd, GET_REQUEST, &g));
	EXPECT_EQ(EV_CONNECT_REQUEST, g.event.event);
	EXPECT_EQ(0, g.qp_errno);
}

/* As with a blocked read(2) */
TEST_F(request, listener_destroyed_while_waiting)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_get_request g = self->g;
	struct abi_call w;
	__u32 other;

	OK(abi_tcp_id(s, self->server, 12, &other));
	START_BLOCKED(&w, s, GET_REQUEST, &g);
	EXPECT_WITHIN(2000, EXPECT_EQ(0, ABI_DESTROY(s, ID, self->g.id)));
	EXPECT_TRUE(abi_call_blocked(&w));
	OK(abi_user_event(s, other, 4));
	EXPECT_RETURNS(0, &w);
	EXPECT_EQ(4, g.event.param.arg);
	EXPECT_EQ(-1, g.channel_fd);
}

TEST_HARNESS_MAIN
