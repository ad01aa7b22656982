// SPDX-License-Identifier: GPL-2.0-only
/* The close of an event channel's last descriptor destroys the ids that report to it. */
#include "abi_test.h"

#define UID	0x6161616161616161ULL
#define PORT	7477

FIXTURE(end) {
	struct abi s;
	int channel;
};

FIXTURE_SETUP(end)
{
	OK(abi_open(&self->s));
	self->channel = FD(abi_channel(&self->s));
}

TEARDOWN_CLOSES(end)

/* Returns 0, or -ENOENT if the id has been destroyed. */
static int query(const struct abi *s, __u32 id)
{
	int reported = abi_events_reported(s, id);

	return reported < 0 ? reported : 0;
}

static int make(const struct abi *s, int channel, __u32 *id)
{
	return abi_tcp_id(s, channel, UID, id);
}

TEST_F(end, ids_end_and_others_stay)
{
	struct abi *s = &self->s;
	int other = abi_channel(s);
	__u32 id[4], stays, moved;

	ASSERT_LE(0, other);
	for (int i = 0; i < 4; i++)
		OK(make(s, self->channel, &id[i]));
	OK(make(s, other, &stays));
	OK(make(s, self->channel, &moved));
	OK(abi_migrate(s, moved, other));
	OK(abi_migrate(s, id[3], other));
	OK(abi_migrate(s, id[3], self->channel));

	EXPECT_EQ(0, close(self->channel));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(-ENOENT, query(s, id[i]));
		EXPECT_EQ(-ENOENT, ABI_DESTROY(s, ID, id[i]));
	}
	EXPECT_EQ(0, query(s, stays));
	EXPECT_EQ(0, query(s, moved));
	EXPECT_EQ(0, close(other));
	EXPECT_EQ(-ENOENT, query(s, moved));
}

/* The charges of the ids are returned, too. */
TEST_F(end, charges_end)
{
	struct abi_charges before, c;
	int channel;
	__u32 id;

	OK(abi_charges(&self->s, &before));
	channel = FD(abi_channel(&self->s));
	OK(make(&self->s, channel, &id));
	OK(abi_charges(&self->s, &c));
	EXPECT_NE(before.objects, c.objects);
	EXPECT_EQ(0, close(channel));
	EXPECT_EQ(0, abi_charges_wait(&self->s, &before));
}

TEST_F(end, last_descriptor_counts)
{
	struct abi *s = &self->s;
	int copy = dup(self->channel);
	__u32 id;
	pid_t pid;

	ASSERT_LE(0, copy);
	OK(make(s, self->channel, &id));
	EXPECT_EQ(0, close(self->channel));
	EXPECT_EQ(0, query(s, id));
	/* A child process' descriptor counts, until the child exits. */
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(close(copy));
	EXPECT_SUCCESS(pid);
	EXPECT_EQ(0, query(s, id));
	EXPECT_EQ(0, close(copy));
	EXPECT_EQ(-ENOENT, query(s, id));
}

TEST_F(end, peer_hears_and_port_is_free)
{
	struct abi *s = &self->s;
	struct abi_pair p = {};
	struct sockaddr_in sin;
	struct abi other;
	__u32 id;

	OK(abi_open(&other));
	OK(abi_pair_between(s, &other, &p));
	/* The listener and the accepted id report to the server's channel. */
	EXPECT_EQ(0, close(p.end[1].channel));
	EXPECT_EQ(-ENOENT, query(&other, p.end[1].id));
	EXPECT_EQ(-ENOENT, query(&other, p.listener));
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DISCONNECTED, NULL));
	/* The QP remains. */
	EXPECT_EQ(0, ABI_DESTROY(&other, QP, p.end[1].qp.qp));

	sin = s->addr;
	sin.sin_port = htons(PORT);
	OK(make(s, self->channel, &id));
	OK(abi_bind(s, id, &sin));
	EXPECT_EQ(0, close(self->channel));
	self->channel = FD(abi_channel(s));
	OK(make(s, self->channel, &id));
	EXPECT_EQ(0, abi_bind(s, id, &sin));
	abi_close(&other);
}

/* Requests that are not answered yet, read and unread, are rejected. */
TEST_F(end, requests_are_refused)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp[2] = {};
	int client = abi_channel(s), i;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin = s->addr;
	__u32 listener, id[2];

	ASSERT_LE(0, client);
	sin.sin_port = 0;
	OK(abi_tcp_listen(s, self->channel, 4, UID, &listener, &sin));
	for (i = 0; i < 2; i++) {
		OK(abi_tcp_client(s, client, &sin, UID + i, &id[i]));
		OK(abi_id_qp(s, id[i], &qp[i]));
		OK(abi_connect(s, id[i], qp[i].init.qp_num));
		ASSERT_TRUE(abi_ready(self->channel, ABI_WAIT_MS));
		if (!i)
			OK(abi_event(self->channel, EV_CONNECT_REQUEST, &ev));
	}
	EXPECT_EQ(0, close(self->channel));
	EXPECT_EQ(-ENOENT, query(s, ev.child));
	EXPECT_EQ(0, abi_event(client, EV_REJECTED, &ev));
	EXPECT_EQ(0, abi_event(client, EV_REJECTED, &ev));
}

/*
 * The channel's last descriptor is closed while OPEN_QUEUE cannot write the next one. When the
 * command fails, the channel has none: its ids end. If it succeeds, they stay.
 */
static void closed_while_reopened(struct __test_metadata *_metadata, struct _test_data_end *self,
				  bool fails)
{
	struct rdma_ep_cmd_open_queue o = { .size = sizeof(o), .type = RDMA_EP_OBJ_ID }, *out;
	const struct abi *s = &self->s;
	struct sockaddr_in sin = s->addr;
	struct abi_stall st;
	struct abi_call c;
	__u32 id;

	sin.sin_port = htons(PORT);
	OK(make(s, self->channel, &id));
	OK(abi_bind(s, id, &sin));
	o.handle = id;
	OK(abi_stall_begin(&st, &o, sizeof(o), false));
	OK(abi_call(&c, s->fd, RDMA_EP_IOC_OPEN_QUEUE, st.page));
	OK(abi_stall_wait(&st));
	EXPECT_EQ(0, close(self->channel));
	EXPECT_EQ(0, query(s, id));
	if (fails)
		munmap(st.page, ABI_STALL_BYTES);
	abi_stall_end(&st, NULL);
	EXPECT_RETURNS(fails ? -EFAULT : 0, &c);
	if (!fails) {
		EXPECT_EQ(0, query(s, id));
		out = (void *)st.page;
		EXPECT_EQ(0, close(out->fd));
	}
	EXPECT_EQ(-ENOENT, query(s, id));
	self->channel = FD(abi_channel(s));
	OK(make(s, self->channel, &id));
	EXPECT_EQ(0, abi_bind(s, id, &sin));
}

TEST_F(end, closed_while_reopening_fails)
{
	SKIP_IF(!abi_can_stall(), "no userfaultfd for writes");
	closed_while_reopened(_metadata, self, true);
}

TEST_F(end, closed_while_reopening_succeeds)
{
	SKIP_IF(!abi_can_stall(), "no userfaultfd for writes");
	closed_while_reopened(_metadata, self, false);
}

/* A channel without any descriptor keeps its ids if OPEN_QUEUE fails. */
TEST_F(end, failed_reopening_ends_nothing)
{
	struct rdma_ep_cmd_open_queue *o = abi_map(4096);
	struct abi *s = &self->s, adopted = *s;
	__u32 id;

	OK(make(s, self->channel, &id));
	adopted.fd = FD(abi_adopt(s->fd));
	close(self->channel);
	o->size = sizeof(*o);
	o->type = RDMA_EP_OBJ_ID;
	o->handle = id;
	mprotect(o, 4096, PROT_READ);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(-EFAULT, abi_raw(adopted.fd, RDMA_EP_IOC_OPEN_QUEUE, o));
	EXPECT_EQ(0, query(&adopted, id));
	self->channel = FD(abi_open_queue(adopted.fd, RDMA_EP_OBJ_ID, id));
	EXPECT_EQ(0, close(self->channel));
	EXPECT_EQ(-ENOENT, query(&adopted, id));
	close(adopted.fd);
}

/* ---- Races */

#define ROUNDS	200
#define IDS	16

struct maker {
	const struct abi *s;
	int channel, other;
	bool moves;
	pthread_barrier_t start;
	__u32 id[IDS];
	int n;
};

/* Creates ids on the channel, or moves ids to it, until it is closed. */
static void *bring_ids(void *arg)
{
	struct maker *m = arg;
	__u32 id = 0;

	pthread_barrier_wait(&m->start);
	for (m->n = 0; m->n < IDS; m->n++) {
		if (make(m->s, m->moves ? m->other : m->channel, &id))
			break;
		m->id[m->n] = id;
		if (m->moves && abi_migrate(m->s, id, m->channel)) {
			ABI_DESTROY(m->s, ID, id);
			break;
		}
	}
	return NULL;
}

static void *close_session(void *arg)
{
	struct maker *m = arg;

	pthread_barrier_wait(&m->start);
	close(m->s->fd);
	return NULL;
}

FIXTURE(race) {
	struct abi s;
	struct maker m;
};

FIXTURE_VARIANT(race) {
	bool moves;
};

FIXTURE_VARIANT_ADD(race, created) { .moves = false };
FIXTURE_VARIANT_ADD(race, migrated) { .moves = true };

FIXTURE_SETUP(race)
{
	OK(abi_open(&self->s));
	self->m.s = &self->s;
	self->m.moves = variant->moves;
	self->m.other = FD(abi_channel(&self->s));
	OK(pthread_barrier_init(&self->m.start, NULL, 2));
}

TEARDOWN_CLOSES(race)

TEST_F(race, no_id_outlives_the_channel)
{
	struct maker *m = &self->m;
	pthread_t thread;
	int came = 0;

	for (int round = 0; round < ROUNDS; round++) {
		m->channel = FD(abi_channel(m->s));
		OK(pthread_create(&thread, NULL, bring_ids, m));
		pthread_barrier_wait(&m->start);
		usleep(abi_random() % 2000);
		OK(close(m->channel));
		OK(pthread_join(thread, NULL));
		came += m->n;
		for (int i = 0; i < m->n; i++)
			ASSERT_EQ(-ENOENT, query(m->s, m->id[i]));
	}
	EXPECT_LT(0, came);
}

/* Each id is destroyed once, by the end of the channel or of the session. */
TEST_F(race, session_ends_at_the_same_time)
{
	struct maker *m = &self->m;
	pthread_t thread;
	struct abi s;
	__u32 id;

	for (int round = 0; round < ROUNDS / 4; round++) {
		OK(abi_open(&s));
		m->s = &s;
		m->channel = FD(abi_channel(&s));
		for (int i = 0; i < IDS; i++)
			OK(make(&s, m->channel, &id));
		OK(pthread_create(&thread, NULL, close_session, m));
		pthread_barrier_wait(&m->start);
		usleep(abi_random() % 200);
		OK(close(m->channel));
		OK(pthread_join(thread, NULL));
		s.fd = -1;
		abi_close(&s);
	}
}

TEST_HARNESS_MAIN
