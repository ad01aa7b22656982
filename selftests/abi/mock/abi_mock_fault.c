// SPDX-License-Identifier: GPL-2.0-only
/* Drivers whose operations fail or take for ever, and a device that goes away at any moment. */
#include "abi_test.h"
#include "abi_cmds.h"
#include "abi_mock.h"

/* Which operations of a driver a command needs. */
static const struct fault {
	const char *name;		/* of the command */
	const char *op;
	int after;			/* it works so often before it fails */
	bool atomic;			/* can not take for ever */
	bool many;			/* for the test of quotas */
} faults[] = {
	{ "ALLOC_PD", "alloc_pd", .many = true },
	{ "REG_MR", "reg_user_mr", .many = true },
	{ "REREG_MR", "rereg_user_mr", .many = true },
	{ "CREATE_AH", "create_ah", .many = true },
	{ "OPEN_XRCD", "alloc_xrcd", .many = true },
	{ "CREATE_CQ", "create_cq", .many = true },
	{ "RESIZE_CQ", "resize_cq", .many = true },
	{ "MODIFY_CQ", "modify_cq", .many = true },
	{ "POLL_CQ", "poll_cq", .atomic = true, .many = true },
	{ "NOTIFY_CQ", "req_notify_cq", .atomic = true, .many = true },
	{ "CREATE_SRQ", "create_srq", .many = true },
	{ "MODIFY_SRQ", "modify_srq", .many = true },
	{ "QUERY_SRQ", "query_srq", .many = true },
	{ "POST_SRQ_RECV", "post_srq_recv", .atomic = true, .many = true },
	{ "CREATE_QP", "create_qp", .many = true },
	{ "MODIFY_QP", "modify_qp", .many = true },
	{ "QUERY_QP", "query_qp", .many = true },
	{ "POST_SEND", "post_send", .atomic = true },
	{ "POST_RECV", "post_recv", .atomic = true, .many = true },
	{ "ATTACH_MCAST", "attach_mcast", .many = true },
	{ "DETACH_MCAST", "detach_mcast" },
	{ "QUERY_PORT", "query_port", .many = true },
	{ "QUERY_PKEY", "query_pkey", .many = true },
	{ "CREATE_EP", "create_cq", .many = true },
	{ "CREATE_EP", "create_cq", .after = 1, .many = true },
	{ "CREATE_EP", "create_qp", .many = true },
	{ "CREATE_EP", "modify_qp", .many = true },
};

#define for_each_fault(_f) \
	for (_f = faults; _f < faults + ARRAY_SIZE(faults); _f++)

static const struct abi_command *find(const char *name)
{
	const struct abi_command *c;

	for_each_command(c)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* The table's endpoint is passive; this one resolves, and makes a QP and CQs. */
static int prepare_ep(struct abi_world *w, struct rdma_ep_create_ep *a)
{
	struct sockaddr_in sin;
	__u32 id;
	int ret;

	ret = abi_tcp_listen(&w->s, w->channel, 0, 1, &id, &sin);
	abi_own_ep(&w->s, ntohs(sin.sin_port), a);
	return ret;
}

/* So large that a few of them are more than the test of quotas lets a user have */
#define REGION_BYTES	(256 << 10)

static int prepare_mr(struct abi_world *w, struct rdma_ep_reg_mr *a)
{
	a->addr = (uintptr_t)abi_map(REGION_BYTES);
	a->iova = a->addr;
	a->length = REGION_BYTES;
	a->pd = ABI_OBJ(w, PD);
	a->access = AC_LOCAL_WRITE;
	return 0;
}

/* Operations that the kernel does not have cannot fail, either: -EOPNOTSUPP. */
static int prepare(struct abi_world *w, const struct abi_command *c, union abi_arg *arg)
{
	memset(arg, 0, sizeof(*arg));
	switch (c->cmd) {
	case RDMA_EP_IOC_CREATE_EP:
		return prepare_ep(w, (struct rdma_ep_create_ep *)arg);
	case RDMA_EP_IOC_REG_MR:
		return prepare_mr(w, (struct rdma_ep_reg_mr *)arg);
	default:
		return abi_prepare(w, c, arg) ?: w->result;
	}
}

/* The command, without the files that it made */
static int run(struct abi_world *w, const struct abi_command *c, union abi_arg *arg)
{
	struct rdma_ep_create_ep *ep = (struct rdma_ep_create_ep *)arg;
	int ret = abi_ioctl(w->s.fd, c->cmd, arg);

	if (!ret && c->cmd == RDMA_EP_IOC_CREATE_EP) {
		close(ep->channel_fd);
		close(ep->qp.send_cq.channel_fd);
		close(ep->qp.recv_cq.channel_fd);
	}
	return ret;
}

FIXTURE(fault) {
	struct abi_world w;
	union abi_arg *arg;
};

FIXTURE_SETUP(fault)
{
	memset(self, 0, sizeof(*self));
	self->w.s.fd = -1;
	OK(mock_load());
	self->arg = calloc(1, sizeof(*self->arg));
	ASSERT_NE(NULL, self->arg);
	OK(mock_new(""));
}

FIXTURE_TEARDOWN(fault)
{
	abi_close(&self->w.s);
	mock_unload();
}

/* ---- failing operations */

#define CGROUPS	"/sys/fs/cgroup"
#define CGROUP	CGROUPS "/rdma_ep_mock"

/* This process in a cgroup of its own, whose objects are counted. */
static int cgroup_enter(void)
{
	int ret = abi_put(CGROUPS "/cgroup.subtree_control", "+rdma");

	if (!ret && mkdir(CGROUP, 0755) && errno != EEXIST)
		return -errno;
	return ret ?: abi_put(CGROUP "/cgroup.procs", "0");
}

static void cgroup_leave(void)
{
	abi_put(CGROUPS "/cgroup.procs", "0");
	rmdir(CGROUP);
}

/* "mock0 hca_handle=0 hca_object=7" */
static int cgroup_objects(void)
{
	FILE *f = fopen(CGROUP "/rdma.current", "re");
	int handles, objects, n = -ENOENT;
	char name[64];

	if (!f)
		return -errno;
	while (fscanf(f, "%63s hca_handle=%d hca_object=%d", name, &handles, &objects) == 3)
		if (!strcmp(name, MOCK_NAME))
			n = objects;
	fclose(f);
	return n;
}

TEST_F_TIMEOUT(fault, driver_error_leaves_nothing, 200)
{
	struct abi_world *w = &self->w;
	struct mock_count before, after;
	struct abi_charges charges;
	const struct fault *f;
	int fds, objects, ret;

	OK(cgroup_enter());
	OK(abi_world_open(w));
	for_each_fault(f) {
		const struct abi_command *c = find(f->name);

		ASSERT_NE(NULL, c);
		ret = prepare(w, c, self->arg);
		if (ret == -EOPNOTSUPP)
			continue;
		ASSERT_EQ(0, ret);
		fds = abi_count_fds();
		objects = cgroup_objects();
		ASSERT_LT(0, objects);
		OK(mock_count(&before));
		OK(abi_charges(&w->s, &charges));
		OK(mock_fail(f->op, MOCK_ERRNO, 1, f->after));
		ret = run(w, c, self->arg);
		LOGGED(EXPECT_EQ(-MOCK_ERRNO, ret), "%s, %s fails", c->name, f->op);
		OK(mock_fail(f->op, 0, 0, 0));
		OK(mock_count(&after));
		LOGGED(EXPECT_EQ(0, memcmp(&before, &after, sizeof(before))),
		       "%s left something", c->name);
		LOGGED(EXPECT_EQ(objects, cgroup_objects()),
		       "%s left a charge of its cgroup's", c->name);
		LOGGED(EXPECT_EQ(0, abi_charges_wait(&w->s, &charges)),
		       "%s left a charge, %s", c->name, f->op);
		EXPECT_EQ(fds, abi_count_fds());
		/* Nothing else is broken. */
		OK(prepare(w, c, self->arg));
		LOGGED(EXPECT_EQ(0, run(w, c, self->arg)), "%s afterwards", c->name);
	}
	abi_world_close(w);
	usleep(100000);
	OK(mock_count(&after));
	EXPECT_EQ(0, mock_count_all(&after));
	EXPECT_GE(0, cgroup_objects());
	cgroup_leave();
}

/* Queries that only refine what is known may fail. */
TEST_F(fault, failed_refining_query_tolerated)
{
	static const struct fault queries[] = {
		{ "CREATE_QP", "query_qp" }, { "CREATE_SRQ", "query_srq" },
	};

	OK(abi_world_open(&self->w));
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		const struct abi_command *c = find(queries[i].name);

		OK(prepare(&self->w, c, self->arg));
		OK(mock_fail(queries[i].op, MOCK_ERRNO, -1, 0));
		EXPECT_EQ(0, run(&self->w, c, self->arg));
		OK(mock_fail(queries[i].op, 0, 0, 0));
	}
}

/* The first use of a device makes a context and a PD. */
TEST_F(fault, failed_default_context_retried)
{
	struct abi s;

	OK(mock_fail("alloc_pd", MOCK_ERRNO, -1, 0));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(-MOCK_ERRNO, abi_open(&s));
		abi_close(&s);
	}
	OK(mock_fail("alloc_pd", 0, 0, 0));
	EXPECT_EQ(0, mock_read_key("count", "pd"));
}

/*
 * A QP that does not move on the way to a connection: that of the server, whose command fails,
 * or that of the client, which gets an event.
 */
static void connect_fails(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self, int after)
{
	struct abi *s = &self->w.s;
	struct rdma_ep_create_qp c;
	struct rdma_ep_event ev;
	struct sockaddr_in sin;
	__u32 listener, id, child;
	int server, client;

	server = abi_channel(s);
	client = abi_channel(s);
	OK(abi_tcp_listen(s, server, 0, 1, &listener, &sin));
	OK(abi_tcp_client(s, client, &sin, 2, &id));
	OK(abi_id_qp(s, id, &c));
	OK(abi_connect(s, id, 0));
	child = NEXT_EVENT(server, EV_CONNECT_REQUEST).child;
	OK(abi_id_qp(s, child, &c));

	OK(mock_fail("modify_qp", MOCK_ERRNO, 1, after));
	LOGGED(EXPECT_EQ(after < 3 ? -MOCK_ERRNO : 0, abi_accept(s, child, 3, 0)), "after %d", after);
	/* The server may try again, so that the client hears of it later. */
	if (after < 3) {
		EXPECT_TRUE(abi_quiet(client));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, child));
	}
	LOGGED(ASSERT_EQ(0, abi_read(client, &ev, sizeof(ev), ABI_WAIT_MS)), "after %d", after);
	LOGGED(EXPECT_EQ(after < 3 ? EV_REJECTED : EV_CONNECT_ERROR, ev.event),
	       "after %d: status %d", after, ev.status);
	EXPECT_EQ(id, ev.id);
	OK(mock_fail("modify_qp", 0, 0, 0));
	close(server);
	close(client);
}

TEST_F_TIMEOUT(fault, failed_modify_fails_connect, 120)
{
	struct mock_count c;

	/* INIT, RTR, RTS of the server, the same of the client */
	for (int i = 0; i < 6; i++) {
		OK(abi_world_open(&self->w));
		connect_fails(_metadata, self, i);
		abi_world_close(&self->w);
		OK(mock_count(&c));
		EXPECT_EQ(0, c.qp + c.cq + c.pd + c.mr);
	}
}

/* A user without privileges whose commands fail again and again keeps the whole quota. */
#define QUOTA_OBJECTS	64
#define QUOTA_TRIES	100

/* @gate: the open file that makes the operation fail */
static int quota_try(struct abi_world *w, const struct fault *f, int gate, union abi_arg *arg)
{
	const struct abi_command *c = find(f->name);
	char text[32];
	int ret;

	ret = prepare(w, c, arg);
	if (ret)
		return ret == -EOPNOTSUPP ? 0 : ret;
	snprintf(text, sizeof(text), "%d -1 %d", MOCK_ERRNO, f->after);
	for (int i = 0; i < QUOTA_TRIES; i++) {
		if ((!i || f->after) && write(gate, text, strlen(text)) < 0)
			return -errno;
		ret = run(w, c, arg);
		if (ret != -MOCK_ERRNO) {
			fprintf(stderr, "# %s, %s, try %d: %d\n", f->name, f->op, i, ret);
			return -ENOTTY;
		}
	}
	if (write(gate, "0", 1) < 0)
		return -errno;
	ret = run(w, c, arg);
	if (ret)
		fprintf(stderr, "# %s after %s: %d\n", f->name, f->op, ret);
	return ret;
}

static int quota_child(void *arg)
{
	/* Enough for all that there is at a time; without a limit nothing is counted. */
	const struct rlimit limit = { 8 << 20, 8 << 20 };
	FIXTURE_DATA(fault) *self = arg;
	int gate[ARRAY_SIZE(faults)], ret;
	char file[64];

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		snprintf(file, sizeof(file), "fail/%s", faults[i].op);
		gate[i] = mock_open(file);
		CHECK(10, gate[i] >= 0);
	}
	CHECK(11, !abi_become_nobody() && !setrlimit(RLIMIT_MEMLOCK, &limit));
	/* As long as a session is open, the user stays charged. */
	CHECK(13, abi_open_node() >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!faults[i].many)
			continue;
		/* Of its own, so that what the others have made is gone. */
		ret = abi_world_open(&self->w) ?:
		      quota_try(&self->w, &faults[i], gate[i], self->arg);
		abi_world_close(&self->w);
		CHECK(12, !ret);
	}
	return 0;
}

TEST_F_TIMEOUT(fault, driver_error_leaves_no_charge, 200)
{
	struct {
		const char *name;
		int value;
	} params[] = {
		{ "session_max_objects", QUOTA_OBJECTS }, { "session_max_queue_mb", 1 },
		{ "user_max_queue_mb", 1 }, { "user_max_pinned_mb", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		params[i].value = abi_param(params[i].name, params[i].value);
		EXPECT_LT(0, params[i].value);
	}
	EXPECT_EQ(0, abi_child(quota_child, self));
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		abi_param(params[i].name, params[i].value);
}

/* ---- operations that take for ever */

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

/* One thread of another session is in the operation when this returns. */
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

/* All commands in time, by another session */
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

/* A task that closes a session waits for the device; no other does. */
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

/* Closing the session in a thread of its own returns soon. */
static int closes_soon(struct abi *s)
{
	struct timespec end;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5 * TEST_SCALE;
	return pthread_create(&thread, NULL, close_one, s) ?:
	       pthread_timedjoin_np(thread, NULL, &end);
}

/* A user who was sent the session does not wait for the device when closing it. */
TEST_F(fault, stalled_close_by_other_user_returns)
{
	struct abi s = {};
	int sockets[2], status;
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	if (!pid)
		_exit(abi_become_nobody() || abi_open(&s) || abi_send_fd(sockets[1], s.fd));
	s.fd = abi_recv_fd(sockets[0]);
	ASSERT_LE(0, s.fd);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	OK(mock_stall("dealloc_pd", 1));
	EXPECT_EQ(0, closes_soon(&s));
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", 1));
	OK(mock_stall("dealloc_pd", 0));
	close(sockets[0]);
	close(sockets[1]);
}

#define MANY	300

/* Nor do others if many close sessions at once. */
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
	/* Each has got to where the device keeps it. */
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", MANY));
	EXPECT_EQ(0, closes_soon(&other));
	OK(mock_stall("dealloc_pd", 0));
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(s);
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

/* A removal waits for the stalled operation, for nothing else, and its command ends. */
static void remove_stalled(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
			   struct stalled *st, const struct fault *f)
{
	const struct abi *s = &self->w.s;
	struct removal r = {};
	__u32 pd;

	OK(pthread_create(&r.thread, NULL, removal_thread, &r));
	/* It has begun for all others. */
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

/* A task that is killed dies when the operation ends; one that only waits dies at once. */
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

/* @f: the child is in this operation when this returns, NULL: reads events */
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
		/* Nothing of them is left when their parent knows. */
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

/* All commands again and again, whatever they return. */
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
