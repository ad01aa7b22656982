// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver operations that fail: the command returns their errno and leaves no object, file or
 * charge. The tests compare counts of the mock device, the rdma cgroup, fdinfo and open files.
 */
#include "abi_mock_fault.h"

#define CGROUPS	"/sys/fs/cgroup"
#define CGROUP	CGROUPS "/rdma_ep_mock"

/* Moves this process to a cgroup that counts its objects. */
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
		/* The next attempt succeeds. */
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

/* CREATE_QP and CREATE_SRQ query the driver for the granted sizes; the query may fail. */
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

/* A session's first use of a device creates a context and a PD. */
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
	EXPECT_EQ(0, abi_open(&s));
	abi_close(&s);
}

/*
 * A state change of a QP fails while a connection is set up: that of the server fails ACCEPT,
 * that of the client raises CONNECT_ERROR. @after: state changes that succeed before
 */
static void connect_fails(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self, int after)
{
	struct abi *s = &self->w.s;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_channel_event ev;
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
	LOGGED(EXPECT_EQ(after < 3 ? -MOCK_ERRNO : 0, abi_accept(s, child, 3, 0)),
	       "after %d", after);
	/* The server may repeat ACCEPT, so the client gets no event before the id is destroyed. */
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

/* Commands of an unprivileged user that fail repeatedly use up none of the quotas. */
#define QUOTA_OBJECTS	64
#define QUOTA_TRIES	100

/* @gate: open file of the mock device that makes the operation fail */
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
	FIXTURE_DATA(fault) *self = arg;
	/* RLIM_INFINITY would exempt the user from user_max_pinned_mb. */
	const struct rlimit limit = { 8 << 20, 8 << 20 };
	int gate[ARRAY_SIZE(faults)], ret;
	char file[64];

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		snprintf(file, sizeof(file), "fail/%s", faults[i].op);
		gate[i] = mock_open(file);
		CHECK(10, gate[i] >= 0);
	}
	CHECK(11, !abi_become_nobody() && !setrlimit(RLIMIT_MEMLOCK, &limit));
	/* An open session keeps the counters of its user. */
	CHECK(13, abi_open_node() >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!faults[i].many)
			continue;
		/* A session for each fault: closing it destroys the objects of the last runs. */
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
		params[i].value = test_param(params[i].name, params[i].value);
		EXPECT_LT(0, params[i].value);
	}
	EXPECT_EQ(0, abi_child(quota_child, self));
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		test_param(params[i].name, params[i].value);
}

TEST_HARNESS_MAIN
