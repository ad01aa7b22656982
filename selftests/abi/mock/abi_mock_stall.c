// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver operations that stall delay neither other commands nor the end of other sessions. A
 * device can be removed at any moment, and the removal waits for stalled operations.
 */
#include "abi_mock_fault.h"

struct stalled {
	pthread_t thread;
	struct abi_world w;
	const struct abi_command *c;
	union abi_arg arg;
	int ret;
};

static void *stalled_thread(void *data)
{
	struct stalled *st = data;

	st->ret = run(&st->w, st->c, &st->arg);
	return NULL;
}

/* Returns once a thread of session @st is in the operation. */
static int stalled_begin(struct stalled *st, const struct fault *f)
{
	st->c = find(f->name);
	return prepare(&st->w, st->c, &st->arg) ?: mock_stall(f->op, 1) ?:
	       -pthread_create(&st->thread, NULL, stalled_thread, st) ?:
	       mock_wait_stalled(f->op, 1);
}

static int stalled_end(struct stalled *st, const struct fault *f)
{
	int ret = mock_stall(f->op, 0);

	pthread_join(st->thread, NULL);
	return ret;
}

static bool can_stall(const struct fault *f)
{
	return !f->atomic && !f->after;
}

/* Another session issues all commands; each returns in time. */
static void run_all(struct __test_metadata *_metadata,
		    FIXTURE_DATA(fault) * self, const char *stalled)
{
	const struct fault *f;
	long start;
	int ret;

	for_each_fault(f) {
		const struct abi_command *c = find(f->name);

		start = abi_now_ms();
		ret = prepare(&self->w, c, self->arg);
		if (ret == -EOPNOTSUPP)
			continue;
		ASSERT_EQ(0, ret);
		LOGGED(EXPECT_EQ(0, run(&self->w, c, self->arg)),
		       "%s while %s stalls", c->name, stalled);
		LOGGED(EXPECT_GT(3000 * TEST_SCALE, abi_now_ms() - start),
		       "%s while %s stalls", c->name, stalled);
	}
}

TEST_F_TIMEOUT(fault, stalled_command_blocks_no_others, 200)
{
	struct stalled *st = calloc(1, sizeof(*st));
	const struct fault *f;
	int ret;

	OK(abi_world_open(&st->w));
	for_each_fault(f) {
		ret = can_stall(f) ? stalled_begin(st, f) : -EOPNOTSUPP;
		if (ret == -EOPNOTSUPP)
			continue;
		LOGGED(ASSERT_EQ(0, ret), "%s", f->name);
		OK(abi_world_open(&self->w));
		run_all(_metadata, self, f->op);
		abi_world_close(&self->w);
		EXPECT_EQ(0, stalled_end(st, f));
		LOGGED(EXPECT_EQ(0, st->ret), "%s after it was stalled", f->name);
	}
	abi_world_close(&st->w);
}

static void *close_thread(void *data)
{
	abi_world_close(data);
	return NULL;
}

/* Only the task that closes a session waits for the device. */
TEST_F_TIMEOUT(fault, stalled_close_blocks_no_others, 200)
{
	static const struct fault kinds[] = {
		{ "CREATE_QP", "destroy_qp" }, { "CREATE_SRQ", "destroy_srq" },
		{ "CREATE_CQ", "destroy_cq" }, { "REG_MR", "dereg_mr" },
		{ "CREATE_AH", "destroy_ah" },
		{ "OPEN_XRCD", "dealloc_xrcd" }, { "ALLOC_PD", "dealloc_pd" },
	};
	struct abi_world *w = calloc(1, sizeof(*w));
	const struct abi_command *c;
	pthread_t thread;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		c = find(kinds[i].name);
		OK(abi_world_open(&self->w));
		OK(abi_world_open(w));
		OK(prepare(w, c, self->arg));
		OK(run(w, c, self->arg));
		OK(mock_stall(kinds[i].op, 1));
		OK(pthread_create(&thread, NULL, close_thread, w));
		LOGGED(EXPECT_EQ(0, mock_wait_stalled(kinds[i].op, 1)), "%s", kinds[i].op);
		run_all(_metadata, self, kinds[i].op);
		OK(mock_stall(kinds[i].op, 0));
		pthread_join(thread, NULL);
		abi_world_close(&self->w);
	}
}

static void *close_one(void *data)
{
	abi_close(data);
	return NULL;
}

/* Closes the session in a thread; returns 0 if the thread ends within 5 s. */
static int closes_soon(struct abi *s)
{
	struct timespec end;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5 * TEST_SCALE;
	return pthread_create(&thread, NULL, close_one, s) ?:
	       pthread_timedjoin_np(thread, NULL, &end);
}

/* The session was received from another user, so closing it does not wait for the device. */
TEST_F(fault, stalled_close_by_other_user_returns)
{
	struct abi s = {};
	int sockets[2];
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	if (!pid)
		_exit(abi_become_nobody() || abi_open(&s) || abi_send_fd(sockets[1], s.fd));
	s.fd = FD(abi_recv_fd(sockets[0]));
	EXPECT_SUCCESS(pid);
	OK(mock_stall("dealloc_pd", 1));
	EXPECT_EQ(0, closes_soon(&s));
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", 1));
	OK(mock_stall("dealloc_pd", 0));
	close(sockets[0]);
	close(sockets[1]);
}

#define MANY	300

/* Many stalled closes do not delay another one: the module's work queue has WQ_MAX_ACTIVE. */
TEST_F_TIMEOUT(fault, many_stalled_closes_block_no_others, 200)
{
	struct abi *s = calloc(MANY, sizeof(*s)), other;
	pthread_t *threads = calloc(MANY, sizeof(*threads));

	OK(abi_open(&other));
	for (int i = 0; i < MANY; i++)
		OK(abi_open(&s[i]));
	OK(mock_stall("dealloc_pd", MANY));
	for (int i = 0; i < MANY; i++)
		OK(pthread_create(&threads[i], NULL, close_one, &s[i]));
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", MANY));
	EXPECT_EQ(0, closes_soon(&other));
	OK(mock_stall("dealloc_pd", 0));
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(s);
}

/* An id that joins a group with a QP of its own. */
static int join_with_qp(const struct abi *s, int channel, __u32 cq)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 id, mcast;

	return abi_ud_id(s, channel, 0, &id) ?: abi_create_qp(s, QPT_UD, cq, id, &c) ?:
	       abi_join(s, id, 1, 0, &mcast);
}

/* Many groups that one device does not attach to delay no join on another device. */
TEST_F_TIMEOUT(fault, many_stalled_joins_block_no_others, 200)
{
	struct abi *s = &self->w.s, other;
	int channel, other_channel;
	__u32 cq, other_cq;

	OK(abi_open(s));
	channel = FD(abi_channel(s));
	OK(abi_create_cq(s, -1, 64, 0, &cq));
	mock_select(1);
	OK(mock_new(""));
	OK(abi_open(&other));
	other_channel = FD(abi_channel(&other));
	OK(abi_create_cq(&other, -1, 64, 0, &other_cq));
	mock_select(0);

	OK(mock_stall("attach_mcast", MANY));
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(0, join_with_qp(s, channel, cq));
	EXPECT_EQ(0, mock_wait_stalled("attach_mcast", MANY));
	EXPECT_WITHIN(3000 * TEST_SCALE,
		      EXPECT_EQ(0, join_with_qp(&other, other_channel, other_cq));
		      EXPECT_EQ(0, abi_event(other_channel, EV_MULTICAST_JOIN, NULL)));
	OK(mock_stall("attach_mcast", 0));
	for (int i = 0; i < MANY; i++)
		OK(abi_event(channel, EV_MULTICAST_JOIN, NULL));
	abi_close(&other);
	close(other_channel);
	close(channel);
}

struct removal {
	pthread_t thread;
	volatile bool done;
	int ret;
};

static void *removal_thread(void *data)
{
	struct removal *r = data;

	r->ret = mock_del();
	r->done = true;
	return NULL;
}

/* A removal waits only for the stalled operation, whose command then returns. */
static void remove_stalled(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
			   struct stalled *st, const struct fault *f)
{
	const struct abi *s = &self->w.s;
	struct removal r = {};
	__u32 pd;

	OK(pthread_create(&r.thread, NULL, removal_thread, &r));
	/* Commands that begin now see the removal. */
	ABI_UNTIL(abi_alloc_pd(s, s->ctx, &pd) == -EIO);
	usleep(100000);
	LOGGED(EXPECT_FALSE(r.done), "%s", f->name);
	EXPECT_WITHIN(10000 * TEST_SCALE, EXPECT_EQ(0, stalled_end(st, f));
		      pthread_join(r.thread, NULL));
	EXPECT_EQ(0, r.ret);
	LOGGED(EXPECT_TRUE(!st->ret || st->ret == -EIO), "%s: %d", f->name, st->ret);
	EXPECT_EQ(-EIO, abi_alloc_pd(s, s->ctx, &pd));
}

TEST_F_TIMEOUT(fault, removal_waits_for_stalled_command, 300)
{
	struct stalled *st = calloc(1, sizeof(*st));
	const struct fault *f;
	int ret;

	for_each_fault(f) {
		if (!can_stall(f))
			continue;
		OK(abi_world_open(&st->w));
		OK(abi_world_open(&self->w));
		ret = stalled_begin(st, f);
		if (ret == -EOPNOTSUPP) {
			mock_del();
		} else {
			ASSERT_EQ(0, ret);
			remove_stalled(_metadata, self, st, f);
		}
		abi_world_close(&st->w);
		abi_world_close(&self->w);
		OK(mock_new(""));
	}
}

/* A task killed in a driver operation dies when that ends; a task that reads events at once. */
static void killed_child(int ready, const struct fault *f)
{
	struct stalled *st = calloc(1, sizeof(*st));
	struct rdma_ep_async_event ev;

	if (f ? abi_world_open(&st->w) || stalled_begin(st, f) : abi_open(&st->w.s))
		_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	abi_read(st->w.s.async_fd, &ev, sizeof(ev), -1);
	_exit(2);
}

/* Returns once the child is in the operation @f, or (NULL) about to read events. */
static pid_t child(const struct fault *f)
{
	int ready[2];
	pid_t pid;
	char x;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid)
		killed_child(ready[1], f);
	close(ready[1]);
	if (read(ready[0], &x, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

static bool dies(pid_t pid, int within_ms)
{
	long end = abi_now_ms() + within_ms;

	do {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		usleep(10000);
	} while (abi_now_ms() < end);
	return false;
}

TEST_F_TIMEOUT(fault, killed_while_stalled_dies, 120)
{
	static const struct fault ops[] = {
		{ "CREATE_QP", "create_qp" }, { "MODIFY_CQ", "modify_cq" },
		{ "REG_MR", "reg_user_mr" },
	};
	struct mock_count c;
	pid_t stuck, waiting;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		waiting = child(NULL);
		ASSERT_LT(0, waiting);
		stuck = child(&ops[i]);
		ASSERT_LT(0, stuck);
		kill(stuck, SIGKILL);
		kill(waiting, SIGKILL);
		EXPECT_TRUE(dies(waiting, 5000));
		EXPECT_FALSE(dies(stuck, 300));
		OK(mock_stall(ops[i].op, 0));
		EXPECT_TRUE(dies(stuck, 10000));
		/* The objects of a process are destroyed before its parent can reap it. */
		OK(mock_count(&c));
		LOGGED(EXPECT_EQ(0, mock_count_all(&c)), MOCK_COUNTS, MOCK_COUNT_ARGS(c));
	}
}

/* ---- removal at any moment */

struct user {
	pthread_t thread;
	struct abi_world w;
	union abi_arg arg;
	unsigned int calls, wrong;
	volatile bool *stop;
};

static bool fair(int ret)
{
	switch (ret) {
	case 0:
	case -EIO:
	case -ENODEV:
	case -ENOENT:
	case -EINVAL:
	case -ENOMEM:
	case -EBUSY:
	case -EADDRNOTAVAIL:
	case -ETIMEDOUT:
	case -EPROTO:
	case -EAGAIN:
	case -EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/* Issues random commands until @stop; counts results that are not fair(). */
static void *user_thread(void *data)
{
	struct user *u = data;
	unsigned int i;
	int ret;

	while (!*u->stop) {
		i = abi_random() % (sizeof(faults) / sizeof(faults[0]));
		ret = prepare(&u->w, find(faults[i].name), &u->arg);
		if (!ret)
			ret = run(&u->w, find(faults[i].name), &u->arg);
		if (!fair(ret)) {
			u->wrong++;
			fprintf(stderr, "# %s: %d\n", faults[i].name, ret);
		}
		u->calls++;
	}
	return NULL;
}

TEST_F_TIMEOUT(fault, removal_at_any_moment, 300)
{
	static const char * const contexts[] = { "irq", "post", "locked", "work" };
	struct user *u = calloc(3, sizeof(*u));
	volatile bool stop;
	unsigned int calls;
	int i;
	long start;

	for (int round = 0; round < 8; round++) {
		OK(mock_write("context", "%s", contexts[round % 4]));
		stop = false;
		for (i = 0; i < 3; i++) {
			u[i].stop = &stop;
			OK(abi_world_open(&u[i].w));
		}
		for (i = 0; i < 3; i++)
			OK(pthread_create(&u[i].thread, NULL, user_thread, &u[i]));
		usleep(abi_random() % 700000);
		start = abi_now_ms();
		EXPECT_EQ(0, round & 1 ? system("rdma link delete " MOCK_NAME) : mock_del());
		LOGGED(EXPECT_GT(10000 * TEST_SCALE, abi_now_ms() - start),
		       "round %d: %ld ms", round, abi_now_ms() - start);
		stop = true;
		for (calls = 0, i = 0; i < 3; i++) {
			pthread_join(u[i].thread, NULL);
			EXPECT_EQ(0, u[i].wrong);
			calls += u[i].calls;
			abi_world_close(&u[i].w);
		}
		EXPECT_LT(0, calls);
		OK(mock_new(""));
	}
}

TEST_HARNESS_MAIN
