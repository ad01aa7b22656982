// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several tasks join and leave, attach and detach at the same time, while ids and QPs are
 * destroyed. The kernel must survive, and nothing must be left.
 */
#include "abi_test.h"

#define GROUPS		8
#define RACE_MS		1000

/* Shared by the tasks of a race. Handles may be stale. */
struct race {
	struct abi s;
	int channel;
	__u32 cq;
	volatile __u32 id, qp;
	volatile __u32 mcast[GROUPS];
	volatile bool stop;
	long done;			/* commands that succeeded */
	int bad;			/* an unexpected errno */
};

static void note(struct race *r, int ret)
{
	switch (ret) {
	case 0:
		__atomic_add_fetch(&r->done, 1, __ATOMIC_RELAXED);
		break;
	case -ENOENT:		/* destroyed */
	case -EIO:		/* being destroyed */
	case -EINVAL:		/* not attached, not bound yet */
	case -EBUSY:		/* attached */
		break;
	default:
		r->bad = ret;
	}
}

static void *join_thread(void *arg)
{
	struct race *r = arg;
	__u32 mc;
	int ret;

	for (unsigned int i = 0; !r->stop; i++) {
		ret = abi_join(&r->s, r->id, i % GROUPS, i, &mc);
		/* ENOMEM: too many memberships, as leaving is slower. */
		if (ret != -ENOMEM)
			note(r, ret);
		if (!ret)
			r->mcast[i % GROUPS] = mc;
	}
	return NULL;
}

static void *leave_thread(void *arg)
{
	struct race *r = arg;

	for (unsigned int i = 0; !r->stop; i++)
		note(r, ABI_DESTROY(&r->s, MCAST, r->mcast[i % GROUPS]));
	return NULL;
}

/* EAGAIN: the id was destroyed, with its event, between poll() and read(). */
static void *read_thread(void *arg)
{
	struct race *r = arg;
	struct rdma_ep_channel_event ev;
	int ret;

	while (!r->stop) {
		ret = abi_read(r->channel, &ev, sizeof(ev), 10);
		if (ret && ret != -ETIMEDOUT && ret != -EAGAIN)
			r->bad = ret;
	}
	return NULL;
}

static void *attach_thread(void *arg)
{
	struct race *r = arg;

	for (unsigned int i = 0; !r->stop; i++)
		note(r, abi_attach(&r->s, r->qp, i % GROUPS));
	return NULL;
}

static void *detach_thread(void *arg)
{
	struct race *r = arg;

	for (unsigned int i = 0; !r->stop; i++)
		note(r, abi_detach(&r->s, r->qp, i % GROUPS));
	return NULL;
}

static int new_id(struct race *r)
{
	__u32 id;
	int ret = abi_ud_id(&r->s, r->channel, 1, &id);

	r->id = id;
	return ret;
}

/* @own: a QP of the id */
static int new_qp(struct race *r, bool own)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	abi_qp_attr(&c, QPT_UD, r->s.pd, r->cq, r->cq);
	if (own)
		c.id = r->id;
	ret = ABI(r->s.fd, CREATE_QP, &c);
	r->qp = c.init.qp;
	return ret;
}

FIXTURE(race) {
	struct race r;
};

FIXTURE_SETUP(race)
{
	struct race *r = &self->r;

	OK(abi_idle());
	OK(abi_open(&r->s));
	if (r->s.iwarp)
		SKIP_FIXTURE("iWARP has no multicast");
	r->channel = FD(abi_channel(&r->s));
	OK(fcntl(r->channel, F_SETFL, O_NONBLOCK));
	OK(abi_create_cq(&r->s, -1, 64, 0, &r->cq));
	OK(new_id(r));
	OK(new_qp(r, true));
}

FIXTURE_TEARDOWN(race)
{
	abi_close(&self->r.s);
	close(self->r.channel);
	EXPECT_EQ(0, abi_idle());
}

/* A race lasts until more commands than this have succeeded, within ABI_WAIT_MS. */
#define RACE_DONE	50

/* Runs the threads, and meanwhile calls @change repeatedly. */
static void run_threads(struct __test_metadata *_metadata, struct race *r,
			void *(*const *fns)(void *), int nr, int (*change)(struct race *))
{
	long end = abi_now_ms() + RACE_MS;
	pthread_t thread[8];

	ASSERT_GE(8, nr);
	for (int i = 0; i < nr; i++)
		OK(pthread_create(&thread[i], NULL, fns[i], r));
	while (abi_now_ms() < end || (__atomic_load_n(&r->done, __ATOMIC_RELAXED) <= RACE_DONE &&
				      abi_now_ms() < end + ABI_WAIT_MS)) {
		usleep(2000);
		EXPECT_EQ(0, change(r));
	}
	r->stop = true;
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, r->bad);
	EXPECT_LT(RACE_DONE, r->done);
	/* The objects can still be changed. */
	EXPECT_EQ(0, change(r));
}

#define RUN(_change, ...) ({						\
	static void *(*const __fns[])(void *) = { __VA_ARGS__ };	\
									\
	run_threads(_metadata, &self->r, __fns, ARRAY_SIZE(__fns), _change); \
})

static int change_id(struct race *r)
{
	return ABI_DESTROY(&r->s, ID, r->id) ?: new_id(r);
}

static int destroy_qp(struct race *r)
{
	return abi_destroy_flags(&r->s, RDMA_EP_OBJ_QP, r->qp, RDMA_EP_DESTROY_DETACH);
}

static int change_own_qp(struct race *r)
{
	return destroy_qp(r) ?: new_qp(r, true);
}

static int change_qp(struct race *r)
{
	return destroy_qp(r) ?: new_qp(r, false);
}

static int change_both(struct race *r)
{
	return change_id(r) ?: change_own_qp(r);
}

static int change_nothing(struct race *r)
{
	return 0;
}

/* Several tasks join and leave the same groups through the same id. */
TEST_F(race, join_and_leave)
{
	RUN(change_nothing, join_thread, join_thread, leave_thread, leave_thread, read_thread);
}

/* The id or its QP, or both, are destroyed and created meanwhile. */
TEST_F(race, join_and_destroy_id)
{
	RUN(change_id, join_thread, leave_thread, read_thread);
}

TEST_F(race, join_and_destroy_qp)
{
	RUN(change_own_qp, join_thread, leave_thread, read_thread, detach_thread);
}

TEST_F(race, join_and_destroy_both)
{
	RUN(change_both, join_thread, leave_thread, attach_thread);
}

/* A QP is attached, detached, and destroyed with its attachments. */
TEST_F(race, attach_and_destroy_qp)
{
	RUN(change_qp, attach_thread, attach_thread, detach_thread, detach_thread);
}

/*
 * The id's QP is destroyed while its memberships end. So that the destruction takes a while, the
 * QP is attached to other groups, too, from which it is detached first.
 */
struct leaver {
	const struct abi *s;
	pthread_barrier_t *barrier;
	__u32 mcast[16];
	int bad;
};

static void *leave_all_thread(void *arg)
{
	struct leaver *l = arg;

	pthread_barrier_wait(l->barrier);
	for (size_t i = 0; i < ARRAY_SIZE(l->mcast); i++)
		l->bad |= ABI_DESTROY(l->s, MCAST, l->mcast[i]);
	return NULL;
}

TEST_F(race, leave_while_qp_destroyed)
{
	struct race *r = &self->r;
	struct leaver l = { .s = &r->s };
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	l.barrier = &barrier;
	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(l.mcast); i++) {
			OK(abi_join(&r->s, r->id, i, i, &l.mcast[i]));
			OK(abi_event(r->channel, EV_MULTICAST_JOIN, NULL));
		}
		for (size_t i = 0; i < 400; i++)
			OK(abi_attach(&r->s, r->qp, 100 + i));
		OK(pthread_create(&thread, NULL, leave_all_thread, &l));
		pthread_barrier_wait(&barrier);
		usleep(100 * round);
		EXPECT_EQ(0, destroy_qp(r));
		pthread_join(thread, NULL);
		EXPECT_EQ(0, l.bad);
		OK(new_qp(r, true));
	}
}

/*
 * Several QPs are attached to one group and detached from it. rxe removes a group with its last
 * QP, also while another QP is being attached to it. It can then neither detach nor destroy
 * that QP.
 */
struct member {
	const struct race *r;
	pthread_t thread;
	__u32 qp;
	long done;
	int bad;
};

static void *come_and_go(void *arg)
{
	struct member *m = arg;

	for (; !m->r->stop && !m->bad; m->done++)
		m->bad = abi_attach(&m->r->s, m->qp, 0) ?:
			 abi_detach(&m->r->s, m->qp, 0);
	return NULL;
}

/* RXE-10 */
TEST_F(race, one_group)
{
	struct race *r = &self->r;
	struct member m[4] = {};

	for (size_t i = 0; i < ARRAY_SIZE(m); i++) {
		OK(new_qp(r, false));
		m[i].r = r;
		m[i].qp = r->qp;
	}
	for (size_t i = 0; i < ARRAY_SIZE(m); i++)
		OK(pthread_create(&m[i].thread, NULL, come_and_go, &m[i]));
	usleep(3 * RACE_MS * 1000);
	r->stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(m); i++) {
		pthread_join(m[i].thread, NULL);
		EXPECT_EQ(0, m[i].bad);
		EXPECT_LT(10, m[i].done);
		EXPECT_EQ(0, ABI_DESTROY(&r->s, QP, m[i].qp));
	}
}

#define CROWD		200

static void *reset_thread(void *arg)
{
	struct race *r = arg;

	while (!r->stop)
		note(r, abi_qp_state(&r->s, r->qp, QPS_RESET));
	return NULL;
}

/*
 * An id whose QP other tasks use joins a group, and after it an id without a QP. @most: how far
 * @done counts until the second id has its event. The first id has its event in the end.
 */
static int most_in_front(struct race *r, const long *done, long *most)
{
	int other = abi_channel(&r->s), ret, i;
	__u32 id, mc;
	long before;

	*most = 0;
	ret = other < 0 ? other : abi_ud_id(&r->s, other, 1, &id);
	for (i = 0; i < 3 && !ret; i++) {
		ret = abi_join(&r->s, r->id, i, 0, &mc) ?:
		      abi_join(&r->s, id, i, 0, &mc);
		before = __atomic_load_n(done, __ATOMIC_RELAXED);
		ret = ret ?: abi_event(other, EV_MULTICAST_JOIN, NULL);
		before = __atomic_load_n(done, __ATOMIC_RELAXED) - before;
		if (before > *most)
			*most = before;
		ret = ret ?: abi_event(r->channel, EV_MULTICAST_JOIN, NULL);
	}
	close(other);
	return ret;
}

/* The CM's work items, which all ids share, do not wait for tasks that modify a QP. */
TEST_F(race, modified_by_many)
{
	struct race *r = &self->r;
	pthread_t thread[CROWD];
	long most;

	for (int i = 0; i < CROWD; i++)
		OK(pthread_create(&thread[i], NULL, reset_thread, r));
	usleep(100000 * TEST_SCALE);
	OK(most_in_front(r, &r->done, &most));
	/* It was 13000 when the CM waited for all tasks. */
	EXPECT_GT(10 * CROWD, most);
	r->stop = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, r->bad);
}

struct crowd {
	const struct race *r;
	pthread_t thread;
	__u32 qp;
	int group;
	long *done;
	int bad;
};

static void *crowd_thread(void *arg)
{
	struct crowd *c = arg;

	while (!c->r->stop && !c->bad) {
		c->bad = abi_attach(&c->r->s, c->qp, c->group) ?:
			 abi_detach(&c->r->s, c->qp, c->group);
		__atomic_add_fetch(c->done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The same for tasks that attach QPs of their own. The module calls rxe for one at a time. */
TEST_F(race, attached_by_many)
{
	struct race *r = &self->r;
	struct crowd *c = calloc(CROWD, sizeof(*c));
	long done = 0, most;
	__u32 own = r->qp;

	for (int i = 0; i < CROWD; i++) {
		OK(new_qp(r, false));
		c[i] = (struct crowd) { .r = r, .qp = r->qp, .group = 10 + i, .done = &done };
		OK(pthread_create(&c[i].thread, NULL, crowd_thread, &c[i]));
	}
	r->qp = own;
	usleep(100000 * TEST_SCALE);
	OK(most_in_front(r, &done, &most));
	/* It was 80000 when the CM waited for all tasks. */
	EXPECT_GT(50 * CROWD, most);
	r->stop = true;
	for (int i = 0; i < CROWD; i++) {
		pthread_join(c[i].thread, NULL);
		EXPECT_EQ(0, c[i].bad);
	}
	free(c);
}

TEST_HARNESS_MAIN
