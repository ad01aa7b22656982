// SPDX-License-Identifier: GPL-2.0-only
/* Getting and acknowledging events, calls that wait for acknowledgments, migration of ids */
#include "lib_test.h"

/* An id, and an address whose resolution reports an event */
FIXTURE(event) {
	struct rdma_event_channel *ch, *other;
	struct rdma_cm_id *id;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(event)
{
	self->sin = lib_addr(7471);
	self->ch = ASSERT_PTR(rdma_create_event_channel());
	self->other = ASSERT_PTR(rdma_create_event_channel());
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(event)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->ch);
	rdma_destroy_event_channel(self->other);
}

static int resolve(FIXTURE_DATA(event) *self)
{
	return rdma_resolve_addr(self->id, NULL, SA(&self->sin), 2000);
}

/* P0: rdma_event_str */
TEST(event_str)
{
#define NAME(_event) EXPECT_STREQ(#_event, rdma_event_str(_event))
	NAME(RDMA_CM_EVENT_ADDR_RESOLVED);
	NAME(RDMA_CM_EVENT_ADDR_ERROR);
	NAME(RDMA_CM_EVENT_ROUTE_RESOLVED);
	NAME(RDMA_CM_EVENT_ROUTE_ERROR);
	NAME(RDMA_CM_EVENT_CONNECT_REQUEST);
	NAME(RDMA_CM_EVENT_CONNECT_RESPONSE);
	NAME(RDMA_CM_EVENT_CONNECT_ERROR);
	NAME(RDMA_CM_EVENT_UNREACHABLE);
	NAME(RDMA_CM_EVENT_REJECTED);
	NAME(RDMA_CM_EVENT_ESTABLISHED);
	NAME(RDMA_CM_EVENT_DISCONNECTED);
	NAME(RDMA_CM_EVENT_DEVICE_REMOVAL);
	NAME(RDMA_CM_EVENT_MULTICAST_JOIN);
	NAME(RDMA_CM_EVENT_MULTICAST_ERROR);
	NAME(RDMA_CM_EVENT_ADDR_CHANGE);
	NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	EXPECT_STREQ("UNKNOWN EVENT", rdma_event_str(99));
	EXPECT_STREQ("UNKNOWN EVENT", rdma_event_str(-1));
}

/* P0: rdma_get_cm_event, rdma_ack_cm_event */
TEST_F(event, blocks_until_there_is_one)
{
	struct rdma_cm_event *event = NULL;

	ASSERT_EQ(0, resolve(self));
	ASSERT_EQ(0, rdma_get_cm_event(self->ch, &event));
	ASSERT_TRUE(event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event->event);
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
}

TEST_F(event, nonblocking_and_poll)
{
	struct rdma_cm_event *event;

	ASSERT_EQ(0, fcntl(self->ch->fd, F_SETFL, O_NONBLOCK));
	EXPECT_FAILS(EAGAIN, rdma_get_cm_event(self->ch, &event));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	ASSERT_EQ(0, resolve(self));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	EXPECT_TRUE(lib_readable(self->ch->fd, 0));	/* still readable */
	ASSERT_EQ(0, rdma_get_cm_event(self->ch, &event));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_FAILS(EAGAIN, rdma_get_cm_event(self->ch, &event));
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
	/* Back to blocking */
	ASSERT_EQ(0, fcntl(self->ch->fd, F_SETFL, 0));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	ASSERT_EQ(0, rdma_get_cm_event(self->ch, &event));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, event->event);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(event, misuse)
{
	struct rdma_cm_event *event;

	EXPECT_FAILS(EINVAL, rdma_get_cm_event(self->ch, NULL));
	EXPECT_FAILS(EINVAL, rdma_ack_cm_event(NULL));
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_get_cm_event(NULL, &event));
	EXPECT_FAILS(EINVAL, rdma_migrate_id(NULL, self->ch));
}

static void on_signal(int sig)
{
}

static void *get_event(void *channel)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		return (void *)(long)errno;
	rdma_ack_cm_event(event);
	return NULL;
}

TEST_F(event, signal_interrupts)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct lib_thread t;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	START_BLOCKED(&t, get_event, self->ch);
	pthread_kill(t.thread, SIGUSR1);
	EXPECT_RETURNS(EINTR, &t);

	/* With SA_RESTART the call continues. */
	sa.sa_flags = SA_RESTART;
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	START_BLOCKED(&t, get_event, self->ch);
	pthread_kill(t.thread, SIGUSR1);
	EXPECT_TRUE(lib_still_blocked(&t));
	ASSERT_EQ(0, resolve(self));
	EXPECT_RETURNS(0, &t);
}

TEST_F(event, thread_can_be_cancelled)
{
	struct lib_thread t;

	START_BLOCKED(&t, get_event, self->ch);
	EXPECT_CANCELLED(&t);
	/* The channel still works. */
	ASSERT_EQ(0, resolve(self));
	EXPECT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
}

TEST_F(event, threads_share_a_channel)
{
	struct lib_thread t[2];

	ASSERT_EQ(0, lib_start(&t[0], get_event, self->ch));
	ASSERT_EQ(0, lib_start(&t[1], get_event, self->ch));
	EXPECT_TRUE(lib_still_blocked(&t[0]) && lib_still_blocked(&t[1]));
	ASSERT_EQ(0, resolve(self));
	while (lib_still_blocked(&t[0]) && lib_still_blocked(&t[1]))
		;
	EXPECT_TRUE(lib_still_blocked(&t[0]) || lib_still_blocked(&t[1]));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	EXPECT_RETURNS(0, &t[0]);
	EXPECT_RETURNS(0, &t[1]);
}

static void *destroy_id(void *id)
{
	return (void *)(long)rdma_destroy_id(id);
}

/* P0: rdma_destroy_id, rdma_ack_cm_event */
TEST_F(event, destroy_waits_for_acks)
{
	struct rdma_cm_event *event;
	struct lib_thread t;

	ASSERT_EQ(0, resolve(self));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	START_BLOCKED(&t, destroy_id, self->id);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_RETURNS(0, &t);
	self->id = NULL;
}

TEST_F(event, unread_events_go_with_the_id)
{
	ASSERT_EQ(0, resolve(self));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
}

/* Requests count as events of the listener. */
TEST(listener_waits_for_its_requests)
{
	struct pair p = {};
	struct lib_thread t;

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, pair_request(&p, NULL));
	START_BLOCKED(&t, destroy_id, p.listener);
	ASSERT_EQ(0, pair_ack(&p));
	EXPECT_RETURNS(0, &t);
	p.listener = NULL;
	/* A request that has been read outlives the listener. */
	ASSERT_EQ(0, pair_qp(p.p));
	ASSERT_EQ(0, rdma_accept(p.p, NULL));
	EXPECT_EQ(0, lib_event(p.ac, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, lib_event(p.pc, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, pair_down(&p));
}

TEST(unread_request_goes_with_the_listener)
{
	struct pair p = {};

	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, rdma_connect(p.a, NULL));
	ASSERT_TRUE(lib_readable(p.pc->fd, WAIT_MS));
	EXPECT_EQ(0, rdma_destroy_id(p.listener));
	p.listener = NULL;
	EXPECT_FALSE(lib_readable(p.pc->fd, 0));
	EXPECT_EQ(0, lib_event(p.ac, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(0, pair_down(&p));
}

/*
 * The end of the passive side's channel ends its ids: the peer gets DISCONNECTED, and the port
 * is free.
 */
static void end_channel(struct __test_metadata *_metadata, bool by_library)
{
	struct rdma_event_channel *ch = ASSERT_PTR(rdma_create_event_channel());
	struct rdma_cm_id *id;
	struct pair p = {};

	ASSERT_EQ(0, pair_up(&p));
	rdma_destroy_qp(p.p);
	if (by_library)
		rdma_destroy_event_channel(p.pc);
	else
		EXPECT_EQ(0, close(p.pc->fd));
	EXPECT_EQ(0, lib_event(p.ac, RDMA_CM_EVENT_DISCONNECTED));
	ASSERT_EQ(0, rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(0, rdma_bind_addr(id, SA(&p.addr)));
	EXPECT_EQ(0, rdma_listen(id, 1));
	EXPECT_EQ(0, rdma_destroy_id(id));

	/* The stock library would read the descriptor in the freed channel. */
	if (!by_library || !is_stock()) {
		EXPECT_EQ(-1, rdma_destroy_id(p.p));
		EXPECT_EQ(-1, rdma_destroy_id(p.listener));
	}
	if (!by_library)
		free(p.pc);
	p.pc = NULL;
	p.p = NULL;
	p.listener = NULL;
	EXPECT_EQ(0, pair_down(&p));
	rdma_destroy_event_channel(ch);
}

TEST(ids_end_with_a_destroyed_channel)
{
	end_channel(_metadata, true);
}

TEST(ids_end_with_a_closed_channel)
{
	end_channel(_metadata, false);
}

/* ------------------------------------------------------------------ */

/* P0: rdma_migrate_id */
TEST_F(event, migrate_takes_unread_events_along)
{
	ASSERT_EQ(0, resolve(self));
	ASSERT_TRUE(lib_readable(self->ch->fd, WAIT_MS));
	ASSERT_EQ(0, rdma_migrate_id(self->id, self->other));
	EXPECT_EQ(self->other, self->id->channel);
	EXPECT_FALSE(lib_readable(self->ch->fd, 0));
	EXPECT_EQ(0, lib_event(self->other, RDMA_CM_EVENT_ADDR_RESOLVED));
	/* Later events arrive there as well. */
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	EXPECT_EQ(0, lib_event(self->other, RDMA_CM_EVENT_ROUTE_RESOLVED));
	EXPECT_TRUE(lib_quiet(self->ch->fd));
}

struct migration {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
};

static void *migrate(void *arg)
{
	struct migration *m = arg;

	return (void *)(long)rdma_migrate_id(m->id, m->to);
}

TEST_F(event, migrate_waits_for_acks)
{
	struct migration m = { self->id, self->other };
	struct rdma_cm_event *event;
	struct lib_thread t;

	ASSERT_EQ(0, resolve(self));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	START_BLOCKED(&t, migrate, &m);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_RETURNS(0, &t);
	EXPECT_EQ(self->other, self->id->channel);
}

TEST_F(event, migrate_to_synchronous_and_back)
{
	struct rdma_event_channel *private;
	int fd;

	ASSERT_EQ(0, rdma_migrate_id(self->id, NULL));
	private = ASSERT_PTR(self->id->channel);
	EXPECT_NE(self->ch, private);
	EXPECT_NE(self->ch->fd, private->fd);
	fd = private->fd;

	ASSERT_EQ(0, resolve(self));	/* the call blocks now */
	ASSERT_TRUE(self->id->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, self->id->event->event);
	EXPECT_TRUE(lib_quiet(self->ch->fd));
	/* The id is synchronous already. */
	EXPECT_FAILS(EINVAL, rdma_migrate_id(self->id, NULL));

	ASSERT_EQ(0, rdma_migrate_id(self->id, self->other));
	EXPECT_EQ(self->other, self->id->channel);
	EXPECT_TRUE(!self->id->event);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	EXPECT_EQ(0, lib_event(self->other, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

TEST(migrate_a_connection)
{
	struct rdma_event_channel *to = ASSERT_PTR(rdma_create_event_channel());
	struct pair p = {};

	ASSERT_EQ(0, pair_up(&p));
	ASSERT_EQ(0, rdma_migrate_id(p.p, to));
	ASSERT_EQ(0, rdma_disconnect(p.a));
	EXPECT_EQ(0, lib_event(to, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_TRUE(lib_quiet(p.pc->fd));
	EXPECT_EQ(0, pair_down(&p));
	rdma_destroy_event_channel(to);
}

TEST(migrate_a_listener)
{
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct pair p = {};

	/* ucma leaves the new ids of the requests with the old channel. */
	if (is_stock())
		SKIP(return, "the kernel's ucma loses the requests");
	ASSERT_TRUE(to != NULL);
	ASSERT_EQ(0, pair_client(&p));
	ASSERT_EQ(0, rdma_connect(p.a, NULL));
	ASSERT_TRUE(lib_readable(p.pc->fd, WAIT_MS));
	ASSERT_EQ(0, rdma_migrate_id(p.listener, to));
	EXPECT_FALSE(lib_readable(p.pc->fd, 0));
	event = ASSERT_PTR(lib_get_event(to, RDMA_CM_EVENT_CONNECT_REQUEST));
	EXPECT_EQ(p.listener, event->listen_id);
	EXPECT_EQ(to, event->id->channel);
	p.p = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, pair_down(&p));
	rdma_destroy_event_channel(to);
}

TEST_HARNESS_MAIN
