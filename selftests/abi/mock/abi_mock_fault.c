// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers whose operations fail or take for ever, and a device that goes away at
 * any moment.
 */
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

static const struct abi_command *find(const char *name)
{
	for (unsigned int i = 0; i < abi_num_commands; i++)
		if (!strcmp(abi_commands[i].name, name))
			return &abi_commands[i];
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
	a->size = sizeof(*a);
	return ret;
}

/* So large that a few of them are more than the test of quotas lets a user have */
#define REGION_BYTES	(256 << 10)

static int prepare_mr(struct abi_world *w, struct rdma_ep_reg_mr *a)
{
	char *mem = abi_map(REGION_BYTES);

	if (mem == MAP_FAILED)
		return -errno;
	a->addr = (uintptr_t)mem;
	a->iova = a->addr;
	a->length = REGION_BYTES;
	a->pd = w->obj[RDMA_EP_OBJ_PD];
	a->access = AC_LOCAL_WRITE;
	return 0;
}

/* What the kernel can not do can not fail, either: -EOPNOTSUPP. */
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

/* The command, without what files it made. */
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

static int fail_op(const struct fault *f, int err, int times)
{
	char file[64];

	snprintf(file, sizeof(file), "fail/%s", f->op);
	return mock_write(file, "%d %d %d", err, times, f->after);
}

static int stall_op(const char *op, int on)
{
	char file[64];

	snprintf(file, sizeof(file), "stall/%s", op);
	return mock_write(file, "%d", on);
}

/* ---- failing operations */

#define CGROUP "/sys/fs/cgroup/rdma_ep_mock"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* This process in a cgroup of its own, whose objects are counted. */
static int cgroup_enter(void)
{
	char pid[16];
	int ret;

	snprintf(pid, sizeof(pid), "%d", getpid());
	ret = write_file("/sys/fs/cgroup/cgroup.subtree_control", "+rdma");
	if (ret)
		return ret;
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		return -errno;
	return write_file(CGROUP "/cgroup.procs", pid);
}

static void cgroup_leave(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file("/sys/fs/cgroup/cgroup.procs", pid);
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
	int fds, objects, ret;

	OK(cgroup_enter());
	OK(abi_world_open(w));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct abi_command *c = find(faults[i].name);

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
		OK(fail_op(&faults[i], MOCK_ERRNO, 1));
		ret = run(w, c, self->arg);
		LOGGED(EXPECT_EQ(-MOCK_ERRNO, ret), "%s, %s fails", c->name, faults[i].op);
		OK(fail_op(&faults[i], 0, 0));
		OK(mock_count(&after));
		LOGGED(EXPECT_EQ(0, memcmp(&before, &after, sizeof(before))),
		       "%s left something", c->name);
		LOGGED(EXPECT_EQ(objects, cgroup_objects()),
		       "%s left a charge of its cgroup's", c->name);
		LOGGED(EXPECT_EQ(0, abi_charges_wait(&w->s, &charges)),
		       "%s left a charge, %s", c->name, faults[i].op);
		EXPECT_EQ(fds, abi_count_fds());
		/* Nothing else is broken. */
		OK(prepare(w, c, self->arg));
		LOGGED(EXPECT_EQ(0, run(w, c, self->arg)), "%s afterwards", c->name);
	}
	abi_world_close(w);
	usleep(100000);
	OK(mock_count(&after));
	EXPECT_EQ(0, after.qp + after.cq + after.srq + after.pd + after.mr + after.ah + after.xrcd);
	EXPECT_GE(0, cgroup_objects());
	cgroup_leave();
}

/* Queries that only refine what is known may fail. */
TEST_F(fault, failed_refining_query_tolerated)
{
	static const struct fault queries[] = {
		{ "CREATE_QP", "query_qp" }, { "CREATE_SRQ", "query_srq" },
	};
	struct abi_world *w = &self->w;

	OK(abi_world_open(w));
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		const struct abi_command *c = find(queries[i].name);

		OK(prepare(w, c, self->arg));
		OK(fail_op(&queries[i], MOCK_ERRNO, -1));
		EXPECT_EQ(0, run(w, c, self->arg));
		OK(fail_op(&queries[i], 0, 0));
	}
}

/* The first use of a device makes a context and a PD. */
TEST_F(fault, failed_default_context_retried)
{
	static const struct fault pd = { "", "alloc_pd" };
	struct mock_count c;
	struct abi s;

	OK(fail_op(&pd, MOCK_ERRNO, -1));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(-MOCK_ERRNO, abi_open(&s));
		abi_close(&s);
	}
	OK(fail_op(&pd, 0, 0));
	OK(mock_count(&c));
	EXPECT_EQ(0, c.pd);
}

/*
 * A QP that does not move on the way to a connection: of the server, which is
 * told at once, or of the client, which gets an event.
 */
static void connect_fails(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self, int after)
{
	struct abi *s = &self->w.s;
	struct rdma_ep_create_qp c;
	struct rdma_ep_event ev;
	struct sockaddr_in sin;
	__u32 listener, id, cq;
	int server, client, ret;

	server = abi_channel(s);
	client = abi_channel(s);
	OK(abi_tcp_listen(s, server, 0, 1, &listener, &sin));
	OK(abi_tcp_client(s, client, &sin, 2, &id));
	OK(abi_create_cq(s, -1, 64, 0, &cq));
	OK(abi_create_qp(s, QPT_RC, cq, id, &c));
	OK(abi_connect(s, id, 0));
	OK(abi_event(server, EV_CONNECT_REQUEST, &ev));
	OK(abi_create_qp(s, QPT_RC, cq, ev.child, &c));

	OK(mock_write("fail/modify_qp", "%d 1 %d", MOCK_ERRNO, after));
	ret = abi_accept(s, ev.child, 3, 0);
	LOGGED(EXPECT_EQ(after < 3 ? -MOCK_ERRNO : 0, ret), "after %d", after);
	/* The server may try again, so that the client hears of it later. */
	if (after < 3) {
		EXPECT_TRUE(abi_quiet(client));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, ev.child));
	}
	LOGGED(ASSERT_EQ(0, abi_read(client, &ev, sizeof(ev), ABI_WAIT_MS)), "after %d", after);
	LOGGED(EXPECT_EQ(after < 3 ? EV_REJECTED : EV_CONNECT_ERROR, ev.event),
	       "after %d: status %d", after, ev.status);
	EXPECT_EQ(id, ev.id);
	OK(mock_write("fail/modify_qp", "0"));
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

/* Somebody without privileges who fails again and again still has his quota. */
#define QUOTA_OBJECTS	64
#define QUOTA_TRIES	100

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

static int quota_child(struct abi_world *w, union abi_arg *arg)
{
	/* Enough for all that there is at a time; without limit nothing is asked. */
	const struct rlimit limit = { 8 << 20, 8 << 20 };
	int gate[ARRAY_SIZE(faults)], ret;
	char file[64];

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		snprintf(file, sizeof(file), "fail/%s", faults[i].op);
		gate[i] = mock_open(file);
		if (gate[i] < 0)
			return 10;
	}
	if (abi_become_nobody() || setrlimit(RLIMIT_MEMLOCK, &limit))
		return 11;
	/* As long as a session is open, what the user is charged stays. */
	if (abi_open_node() < 0)
		return 13;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!faults[i].many)
			continue;
		/* Of its own, so that what the others have made is gone. */
		ret = abi_world_open(w) ?:
		      quota_try(w, &faults[i], gate[i], arg);
		abi_world_close(w);
		if (ret)
			return 12;
	}
	return 0;
}

TEST_F_TIMEOUT(fault, driver_error_leaves_no_charge, 200)
{
	struct {
		const char *name;
		int value;
	} params[] = {
		{ "session_max_objects", QUOTA_OBJECTS },
		{ "session_max_queue_mb", 1 },
		{ "user_max_queue_mb", 1 },
		{ "user_max_pinned_mb", 1 },
	};
	int status;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		params[i].value = abi_param(params[i].name, params[i].value);
		EXPECT_LT(0, params[i].value);
	}
	pid = fork();
	if (!pid)
		_exit(quota_child(&self->w, self->arg));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		abi_param(params[i].name, params[i].value);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
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
	int ret;

	st->c = find(f->name);
	ret = prepare(&st->w, st->c, &st->arg);
	if (ret)
		return ret;
	ret = stall_op(f->op, 1);
	if (ret)
		return ret;
	if (pthread_create(&st->thread, NULL, stalled_thread, st))
		return -EAGAIN;
	return mock_wait_stalled(f->op, 1);
}

static int stalled_end(struct stalled *st, const struct fault *f)
{
	int ret = stall_op(f->op, 0);

	pthread_join(st->thread, NULL);
	return ret;
}

static bool can_stall(const struct fault *f)
{
	return !f->atomic && !f->after;
}

/* All commands in time, by somebody else who is there */
static void run_all(struct __test_metadata *_metadata,
		    FIXTURE_DATA(fault) * self, const char *stalled)
{
	long start;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct abi_command *c = find(faults[i].name);

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
	int ret;

	OK(abi_world_open(&st->w));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!can_stall(&faults[i]))
			continue;
		ret = stalled_begin(st, &faults[i]);
		if (ret == -EOPNOTSUPP)
			continue;
		LOGGED(ASSERT_EQ(0, ret), "%s", faults[i].name);
		OK(abi_world_open(&self->w));
		run_all(_metadata, self, faults[i].op);
		abi_world_close(&self->w);
		EXPECT_EQ(0, stalled_end(st, &faults[i]));
		LOGGED(EXPECT_EQ(0, st->ret), "%s after it was stalled", faults[i].name);
	}
	abi_world_close(&st->w);
}

static void *close_thread(void *data)
{
	abi_world_close(data);
	return NULL;
}

/* Who closes a session waits for the device; nobody else does. */
TEST_F_TIMEOUT(fault, stalled_close_blocks_no_others, 200)
{
	static const struct {
		const char *name, *op;
	} kinds[] = {
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
		OK(stall_op(kinds[i].op, 1));
		OK(pthread_create(&thread, NULL, close_thread, w));
		LOGGED(EXPECT_EQ(0, mock_wait_stalled(kinds[i].op, 1)), "%s", kinds[i].op);
		run_all(_metadata, self, kinds[i].op);
		OK(stall_op(kinds[i].op, 0));
		pthread_join(thread, NULL);
		abi_world_close(&self->w);
	}
}

static void *close_one(void *data)
{
	abi_close(data);
	return NULL;
}

/* Who was only sent a session does not wait for the device when it lets go of it. */
TEST_F(fault, stalled_close_by_other_user_returns)
{
	struct timespec end;
	pthread_t thread;
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
	OK(stall_op("dealloc_pd", 1));
	OK(pthread_create(&thread, NULL, close_one, &s));
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5 * TEST_SCALE;
	EXPECT_EQ(0, pthread_timedjoin_np(thread, NULL, &end));
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", 1));
	OK(stall_op("dealloc_pd", 0));
	close(sockets[0]);
	close(sockets[1]);
}

#define MANY	300

/* Nor do others if many close sessions at once. */
TEST_F_TIMEOUT(fault, many_stalled_closes_block_no_others, 200)
{
	struct abi *s = calloc(MANY, sizeof(*s)), other;
	pthread_t *threads = calloc(MANY, sizeof(*threads)), thread;
	struct timespec end;

	OK(abi_open(&other));
	for (int i = 0; i < MANY; i++)
		OK(abi_open(&s[i]));
	OK(stall_op("dealloc_pd", MANY));
	for (int i = 0; i < MANY; i++)
		OK(pthread_create(&threads[i], NULL, close_one, &s[i]));
	/* Each has got to where the device keeps it. */
	EXPECT_EQ(0, mock_wait_stalled("dealloc_pd", MANY));
	OK(pthread_create(&thread, NULL, close_one, &other));
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5 * TEST_SCALE;
	EXPECT_EQ(0, pthread_timedjoin_np(thread, NULL, &end));
	OK(stall_op("dealloc_pd", 0));
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

/* A removal waits for the operation, for nothing else, and everybody is told. */
TEST_F_TIMEOUT(fault, removal_waits_for_stalled_command, 300)
{
	struct stalled *st = calloc(1, sizeof(*st));
	struct removal r;
	__u32 pd;
	long start;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!can_stall(&faults[i]))
			continue;
		OK(abi_world_open(&st->w));
		OK(abi_world_open(&self->w));
		ret = stalled_begin(st, &faults[i]);
		if (ret != -EOPNOTSUPP) {
			ASSERT_EQ(0, ret);
			r.done = false;
			OK(pthread_create(&r.thread, NULL, removal_thread, &r));
			/* It has begun for everybody else. */
			for (int n = 0; n < 500; n++) {
				ret = abi_alloc_pd(&self->w.s, self->w.s.ctx, &pd);
				if (ret == -EIO)
					break;
				usleep(10000);
			}
			usleep(100000);
			LOGGED(EXPECT_FALSE(r.done), "%s", faults[i].name);
			start = abi_now_ms();
			EXPECT_EQ(0, stalled_end(st, &faults[i]));
			pthread_join(r.thread, NULL);
			EXPECT_EQ(0, r.ret);
			EXPECT_GT(10000 * TEST_SCALE, abi_now_ms() - start);
			LOGGED(EXPECT_TRUE(!st->ret || st->ret == -EIO),
			       "%s: %d", faults[i].name, st->ret);
			EXPECT_EQ(-EIO, abi_alloc_pd(&self->w.s, self->w.s.ctx, &pd));
		} else {
			mock_del();
		}
		abi_world_close(&st->w);
		abi_world_close(&self->w);
		OK(mock_new(""));
	}
}

/* Who is killed dies when the operation ends; who only waits dies at once. */
static void killed_child(int ready, const struct fault *f)
{
	struct stalled *st = calloc(1, sizeof(*st));
	struct rdma_ep_async_event ev;

	if (abi_world_open(&st->w) || stalled_begin(st, f) || write(ready, "x", 1) != 1)
		_exit(1);
	abi_read(st->w.s.async_fd, &ev, sizeof(ev), -1);
	_exit(2);
}

static void waiting_child(int ready)
{
	struct rdma_ep_async_event ev;
	struct abi s;

	if (abi_open(&s) || write(ready, "x", 1) != 1)
		_exit(1);
	read(s.async_fd, &ev, sizeof(ev));
	_exit(2);
}

static pid_t child(const struct fault *f)
{
	int ready[2];
	char x;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid && f)
		killed_child(ready[1], f);
	if (!pid)
		waiting_child(ready[1]);
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
		OK(stall_op(ops[i].op, 0));
		EXPECT_TRUE(dies(stuck, 10000));
		/* Nothing of them is left when their parent knows. */
		OK(mock_count(&c));
		LOGGED(EXPECT_EQ(0, c.qp + c.cq + c.srq + c.pd + c.mr + c.ah),
		       "qp %d cq %d srq %d pd %d mr %d ah %d", c.qp, c.cq, c.srq, c.pd, c.mr, c.ah);
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
