// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation, and each copy from and to user memory, of every command fails in turn, until
 * the command succeeds without a failure. Each failed call returns an error, leaves nothing behind,
 * and succeeds when it is repeated. The kernel's debugging finds other errors.
 *
 * It would catch an error that is not passed on, objects or charges that stay after a creation
 * fails half-way, and results, events and completions that are lost with a failed copy.
 *
 * Manual runs: FAIL_ONLY=NAME selects one command. FAIL_VERBOSE=1 prints every result. A 2 in the
 * files "verbose" of the kernel's debugfs prints the place that fails.
 */
#include <linux/capability.h>

#include "abi_test.h"
#include "abi_fail.h"
#include "abi_mock.h"

/* More than the failures of any command */
#define MAX_NTH	600

static const char objects_param[] = "/sys/module/rdma_ep/parameters/session_max_objects";

FIXTURE(fail) {
	struct abi_world w;
	union abi_arg *arg;
	union abi_arg *valid;
	int param;
	int first_fd;			/* descriptors from here on are the world's */
	unsigned int used;		/* last count of the session's objects */
	unsigned int calls, failures, passed;
	int last;			/* result of the last failure */
};

FIXTURE_VARIANT(fail) {
	bool mock;
};

#ifdef FAIL_ON_MOCK
/* The driver of the mock device counts its objects. */
FIXTURE_VARIANT_ADD(fail, mock) { .mock = true };
#else
/* rxe or siw */
FIXTURE_VARIANT_ADD(fail, device) { .mock = false };
#endif

FIXTURE_SETUP(fail)
{
	int ret;

	self->w.s.fd = -1;
	self->param = -1;
	ret = nth_setup();
	if (ret == -ENOENT)
		SKIP_FIXTURE("kernel without fault injection (CONFIG_FAULT_INJECTION)");
	ASSERT_EQ(0, ret);
	/* No task is exempt from quotas. */
	OK(abi_drop_cap(CAP_SYS_RESOURCE));
	self->arg = calloc(1, sizeof(*self->arg));
	self->valid = calloc(1, sizeof(*self->valid));
	self->param = open(objects_param, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, self->param);
	if (variant->mock) {
		OK(mock_load());
		OK(mock_new(""));
	} else {
		OK(abi_idle());
	}
	self->first_fd = dup(0);
	close(self->first_fd);
}

FIXTURE_TEARDOWN(fail)
{
	close_range(self->first_fd, ~0U, 0);
	if (self->param >= 0) {
		dprintf(self->param, "65536");
		TH_LOG("%u calls, %u failed, %u got through a failure",
		       self->calls, self->failures, self->passed);
	}
	if (variant->mock)
		mock_unload();
	nth_restore();
}

#define DATA struct __test_metadata *_metadata, FIXTURE_DATA(fail) * self, \
	const FIXTURE_VARIANT(fail) * variant

static void set_limit(FIXTURE_DATA(fail) * self, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(self->param, text, len, 0) != len)
		abort();
}

/* True if the session has room for one more object under this limit. */
static bool has_room(FIXTURE_DATA(fail) * self, unsigned int limit)
{
	const struct abi *s = &self->w.s;
	__u32 pd;
	int ret;

	set_limit(self, limit);
	ret = abi_alloc_pd(s, s->ctx, &pd);
	if (!ret)
		ret = ABI_DESTROY(s, PD, pd);
	else if (ret == -EDQUOT)
		return false;
	if (ret) {
		fprintf(stderr, "# the session does not work: %d\n", ret);
		abort();
	}
	return true;
}

static bool holds(FIXTURE_DATA(fail) * self, unsigned int objects)
{
	bool ok = has_room(self, objects + 1) && !has_room(self, objects);

	set_limit(self, 65536);
	return ok;
}

/* Returns the number of objects that the session is charged for. */
static unsigned int count_objects(FIXTURE_DATA(fail) * self)
{
	unsigned int low = 0, high = 8192, mid;

	if (holds(self, self->used))
		return self->used;
	while (low < high) {
		mid = (low + high) / 2;
		if (has_room(self, mid + 1))
			high = mid;
		else
			low = mid + 1;
	}
	set_limit(self, 65536);
	self->used = low;
	return low;
}

/* All counters */
struct state {
	struct mock_count mock;
	struct abi_charges charges;
	unsigned int objects;
	int fds;
};

static void take_state(DATA, struct state *st)
{
	memset(st, 0, sizeof(*st));
	if (variant->mock) {
		OK(mock_count(&st->mock));
	}
	/* (Meeting a limit destroys CQs that are kept for reuse, so this comes first.) */
	st->objects = count_objects(self);
	OK(abi_charges(&self->w.s, &st->charges));
	st->fds = abi_count_fds();
}

static void expect_state(DATA, const struct state *before,
			 const struct fail_case *f, const char *name, unsigned int nth)
{
	struct abi_charges want = before->charges;
	struct state st;

	take_state(_metadata, self, variant, &st);
	if (f->fresh)
		st.mock.ah = before->mock.ah;
	if (st.charges.queues == want.queues + f->keeps) {
		want.queues += f->keeps;
		want.user_queues += f->keeps;
	}
	LOGGED(EXPECT_EQ(before->objects, st.objects),
	       "%s, failure %u: charged objects", name, nth);
	LOGGED(EXPECT_EQ(0, abi_charges_wait(&self->w.s, &want)),
	       "%s, failure %u: charges", name, nth);
	LOGGED(EXPECT_EQ(before->fds, st.fds), "%s, failure %u: files", name, nth);
	LOGGED(EXPECT_EQ(0, memcmp(&before->mock, &st.mock, sizeof(st.mock))),
	       "%s, failure %u: " MOCK_COUNTS ", before: " MOCK_COUNTS, name, nth,
	       MOCK_COUNT_ARGS(st.mock), MOCK_COUNT_ARGS(before->mock));
}

static void open_world(DATA)
{
	OK(abi_world_open(&self->w));
}

static void close_world(DATA)
{
	close_range(self->first_fd, ~0U, 0);
	self->w.s.fd = -1;
}

/* Nothing is left of earlier sessions. */
static void expect_nothing(DATA, const char *name)
{
	struct mock_count c;

	if (variant->mock) {
		OK(mock_count(&c));
		LOGGED(EXPECT_EQ(0, mock_count_all(&c)),
		       "after %s: " MOCK_COUNTS, name, MOCK_COUNT_ARGS(c));
	} else {
		LOGGED(EXPECT_EQ(0, abi_idle()), "after %s", name);
	}
}

static int prepare(FIXTURE_DATA(fail) * self, const struct abi_command *c,
		   const struct fail_case *f)
{
	int ret;

	if (!f->prepare)
		return abi_prepare(&self->w, c, self->valid);
	memset(self->valid, 0, sizeof(*self->valid));
	self->w.result = 0;
	ret = f->prepare(&self->w, self->valid);
	self->valid->size = _IOC_SIZE(c->cmd);
	return ret;
}

/* True for the errnos that report a failed allocation or copy. */
static bool says_so(const struct abi *s, int ret)
{
	/*
	 * (The last ones are from neighbours and routes; from sockets, which rxe and siw create;
	 * from ports, for which TCP has no memory.)
	 */
	return ret == -ENOMEM || ret == -EFAULT || ret == -ENOBUFS ||
	       ret == -ENFILE || (s->iwarp && ret == -EADDRINUSE);
}

/* Ends the injection after a call; true if there was a failure. */
static bool disarm(FIXTURE_DATA(fail) * self, bool failed)
{
	bool hit = nth_disarm();

	self->calls++;
	self->failures += failed;
	self->passed += hit && !failed;
	return hit;
}

/* After a failure, makes the same call without one. */
static void again(DATA, const struct abi_command *c, const struct fail_case *f,
		  unsigned int nth, int failure)
{
	bool done = (f->once || (f->half && !variant->mock) || (f->effect && failure == -EFAULT));
	struct abi_world *w = &self->w;
	int ret;

	*self->arg = *self->valid;
	if (f->resume && failure == -EFAULT) {
		f->resume(self->arg);
		done = false;
	}
	ret = abi_raw(w->s.fd, c->cmd, self->arg);
	LOGGED(EXPECT_TRUE(ret == w->result || (done && ret == -f->again)),
	       "%s, failure %u (%d): once more: %d", f->name, nth, failure, ret);
	if (!ret && f->check) {
		LOGGED(EXPECT_EQ(0, f->check(w, self->arg)), "%s, failure %u: check", f->name, nth);
	}
}

/* Makes one call; false if no failure was injected. */
static bool call(DATA, const struct abi_command *c, const struct fail_case *f, unsigned int nth)
{
	const char *name = f->name;
	struct abi_world *w = &self->w;
	bool done = (f->once || f->effect);
	struct state st;
	bool hit;
	int ret;

	take_state(_metadata, self, variant, &st);
	*self->arg = *self->valid;
	OK(nth_arm(nth));
	ret = abi_raw(w->s.fd, c->cmd, self->arg);
	hit = disarm(self, ret != w->result);
	if (getenv("FAIL_VERBOSE"))
		TH_LOG("%s, failure %u: %d%s", name, nth, ret, hit ? "" : " (none)");
	if (hit)
		self->last = ret;
	if (ret == w->result) {
		/* Some allocations are not essential. */
		if (!ret && f->check) {
			LOGGED(EXPECT_EQ(0, f->check(w, self->arg)),
			       "%s, failure %u: check", name, nth);
		}
		return hit;
	}
	LOGGED(EXPECT_TRUE(hit && (says_so(&w->s, ret) || (w->s.iwarp && ret == -f->siw_says))),
	       "%s, failure %u: %d", name, nth, ret);
	if (!done || ret != -EFAULT)
		expect_state(_metadata, self, variant, &st, f, name, nth);
	again(_metadata, self, variant, c, f, nth, ret);
	return hit;
}

static void every_failure(DATA, const struct abi_command *c, const struct fail_case *f)
{
	const char *name = f->name;
	long start = abi_now_ms();
	const char *only = getenv("FAIL_ONLY"), *why;
	unsigned int nth, back;
	int tries = 0, ret;
	bool hit;

	if (only && strcmp(only, name))
		return;
	open_world(_metadata, self, variant);
	why = f->prepare ? abi_missing(&self->w.s, f->needs) : abi_left_out(&self->w.s, c);
	if (!why && self->w.s.iwarp)
		why = f->not_siw;
	if (why) {
		TH_LOG("%s is left out: %s", name, why);
		close_world(_metadata, self, variant);
		return;
	}
	self->last = 0;
	for (nth = 1; nth < MAX_NTH; nth++) {
		int mark = dup(0);

		close(mark);
		ret = prepare(self, c, f);
		LOGGED(ASSERT_EQ(0, ret), "cannot prepare %s", name);
		hit = call(_metadata, self, variant, c, f, nth);
		if (f->fresh) {
			close_world(_metadata, self, variant);
			open_world(_metadata, self, variant);
		} else {
			close_range(mark, ~0U, 0);
		}
		if (hit)
			continue;
		/*
		 * Not all calls allocate the same: caches are filled, and with reserves (of debug
		 * objects) the allocations depend on earlier failures. Unless the last copy has
		 * failed, go back by a small, varying number of failures.
		 */
		if (self->last == -EFAULT || f->silent || tries == 40)
			break;
		back = 1 + tries++ % 4;
		nth -= nth < back ? nth : back;
	}
	LOGGED(EXPECT_FALSE(hit), "%s never gets through", name);
	/* A command that the device does not support may be refused without a copy. */
	if (self->last != -EFAULT && !f->silent) {
		LOGGED(EXPECT_NE(0, self->w.result),
		       "%s, failure %u: the last copy has not failed", name, nth);
	}
	close_world(_metadata, self, variant);
	expect_nothing(_metadata, self, variant, name);
	TH_LOG("%s: %u failures, %ld ms", name, nth - 1, abi_now_ms() - start);
}

#ifndef FAIL_CALLS
/* abi_session's unknown_command checks that the table is complete. */
TEST_F_TIMEOUT(fail, every_command_survives_failure, 600)
{
	const struct abi_command *c;

	for_each_command(c) {
		const struct fail_case f = {
			.name = c->name, .cmd = c->cmd, .effect = c->effect, .again = c->again,
			.once = c->once, .fresh = c->fresh, .silent = c->silent,
			.not_siw = c->not_siw,
		};

		every_failure(_metadata, self, variant, c, &f);
	}
}

static void open_with_failures(DATA)
{
	bool hit = true;
	int fd, ret, fds = abi_count_fds();

	self->failures = 0;
	self->passed = 0;
	for (unsigned int nth = 1; hit && nth < MAX_NTH; nth++) {
		OK(nth_arm(nth));
		fd = open(RDMA_EP_DEVICE_NODE, O_RDWR | O_CLOEXEC);
		ret = fd < 0 ? -errno : 0;
		hit = disarm(self, ret);
		LOGGED(EXPECT_TRUE(!ret || (hit && says_so(&self->w.s, ret))),
		       "failure %u: %d", nth, ret);
		if (fd >= 0)
			close(fd);
		EXPECT_EQ(fds, abi_count_fds());
	}
	EXPECT_FALSE(hit);
}

/* Failed allocations of a path, a file and a session */
TEST_F(fail, open_survives_failure)
{
	open_with_failures(_metadata, self, variant);
	EXPECT_LT(2, self->failures);
}

/* Failed allocations of the accounts of three cgroups without a session as well */
TEST_F(fail, open_in_cgroup_survives_failure)
{
	static const char * const dirs[] = {
		"/sys/fs/cgroup/ep_fail", "/sys/fs/cgroup/ep_fail/a", "/sys/fs/cgroup/ep_fail/a/b",
	};
	unsigned int i, in_root = UINT_MAX;
	int fd;

	/* The root cgroup has an account from now on. */
	fd = open(RDMA_EP_DEVICE_NODE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	close(fd);
	/*
	 * A slab that needs a page adds a failure, so the smallest number counts. Freed objects
	 * become available after a grace period: three runs in a row may need a page each.
	 */
	for (i = 0; i < 10; i++) {
		expect_nothing(_metadata, self, variant, "an open");
		open_with_failures(_metadata, self, variant);
		if (in_root > self->failures + self->passed)
			in_root = self->failures + self->passed;
	}
	SKIP_IF(mkdir(dirs[0], 0700), "no cgroups");
	for (i = 1; i < ARRAY_SIZE(dirs); i++)
		OK(mkdir(dirs[i], 0700));
	OK(abi_put("/sys/fs/cgroup/ep_fail/a/b/cgroup.procs", "0"));
	open_with_failures(_metadata, self, variant);
	OK(abi_put("/sys/fs/cgroup/cgroup.procs", "0"));
	while (i--)
		OK(rmdir(dirs[i]));
	EXPECT_LE(in_root + 3, self->failures + self->passed);
}

/* The first use of a device in a session makes its default context. */
TEST_F(fail, first_use_survives_failure)
{
	struct rdma_ep_cmd_open_device o;
	bool hit = true;
	__u32 dev;
	int fd, ret;

	open_world(_metadata, self, variant);
	dev = self->w.s.dev;
	close_world(_metadata, self, variant);
	for (unsigned int nth = 1; hit && nth < MAX_NTH; nth++) {
		fd = FD(abi_open_node());
		o = (struct rdma_ep_cmd_open_device) {
			.size = sizeof(o), .flags = RDMA_EP_OPEN_DEFAULT, .dev_index = dev,
		};
		OK(nth_arm(nth));
		ret = abi_raw(fd, RDMA_EP_IOC_OPEN_DEVICE, &o);
		hit = disarm(self, ret);
		LOGGED(EXPECT_TRUE(!ret || (hit && says_so(&self->w.s, ret))),
		       "failure %u: %d", nth, ret);
		if (ret) {
			EXPECT_EQ(0, ABI(fd, OPEN_DEVICE, &o));
		}
		/* Another file of the same queue */
		close(o.async_fd);
		EXPECT_EQ(0, ABI(fd, OPEN_DEVICE, &o));
		close(o.async_fd);
		close(fd);
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(5, self->failures);
	expect_nothing(_metadata, self, variant, "first use");
}

/* A work item destroys the objects: in close() no allocation fails, but on a debug kernel. */
TEST_F(fail, close_survives_failure)
{
	bool hit = true;

	for (unsigned int nth = 1; hit && nth < MAX_NTH; nth++) {
		struct abi_pair p = {};
		int ret;

		open_world(_metadata, self, variant);
		OK(abi_pair_open(&self->w.s, &p));
		OK(nth_arm(nth));
		ret = close(self->w.s.fd);
		hit = nth_disarm();
		EXPECT_EQ(0, ret);
		close_world(_metadata, self, variant);
		expect_nothing(_metadata, self, variant, "close");
	}
	EXPECT_FALSE(hit);
}

/* Failures in mmap() of the session's rings, and in the first access to one */
TEST_F(fail, mmap_survives_failure)
{
	struct rdma_ep_cq_ring *rings;
	bool hit = true;
	__u32 cq, ring, pending;

	open_world(_metadata, self, variant);
	OK(abi_create_ring_cq(&self->w.s, -1, 8, 0, &cq, &ring));
	for (unsigned int nth = 1; hit && nth < MAX_NTH; nth++) {
		OK(nth_arm(nth));
		rings = abi_rings(&self->w.s);
		pending = rings ? *(volatile __u32 *)&rings[ring].pending : 1;
		hit = disarm(self, !rings);
		EXPECT_EQ(1, pending);
		if (!rings) {
			LOGGED(EXPECT_TRUE(hit && errno == ENOMEM), "failure %u: %d", nth, errno);
			rings = ASSERT_PTR(abi_rings(&self->w.s));
			EXPECT_EQ(1, rings[ring].pending);
		}
		munmap(rings, ABI_RINGS_BYTES);
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(0, self->failures);
	/* No mapping holds the session. */
	close_world(_metadata, self, variant);
	expect_nothing(_metadata, self, variant, "mmap");
}

/* A record that could not be copied is returned by the next read. */
static void read_record(DATA, int fd, void *record, size_t len, const char *what)
{
	unsigned int nth;
	bool hit = true;
	ssize_t n = -1;

	for (nth = 1; hit && nth < MAX_NTH; nth++) {
		LOGGED(ASSERT_TRUE(abi_ready(fd, ABI_WAIT_MS)), "no %s, failure %u", what, nth);
		OK(nth_arm(nth));
		n = read(fd, record, len);
		hit = nth_disarm();
		LOGGED(EXPECT_TRUE(!hit || (n < 0 && errno == EFAULT)),
		       "%s, failure %u: %zd", what, nth, n);
	}
	EXPECT_EQ((ssize_t)len, n);
	EXPECT_LT(2, nth);
	EXPECT_TRUE(abi_quiet(fd));
}

TEST_F(fail, read_survives_failure)
{
	struct abi_world *w = &self->w;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_comp_event comp;
	struct rdma_ep_async_event async;
	__u32 cq, qp;

	open_world(_metadata, self, variant);
	OK(abi_user_event(&w->s, w->obj[RDMA_EP_OBJ_ID], 0));
	read_record(_metadata, self, variant, w->channel, &ev, sizeof(ev), "event");
	EXPECT_EQ(w->obj[RDMA_EP_OBJ_ID], ev.id);

	/* (siw accepts no receive before a connection.) */
	if (!w->s.iwarp) {
		OK(abi_create_cq(&w->s, w->comp_channel, 8, 5, &cq));
		OK(abi_notify_cq(&w->s, cq, 0));
		OK(fail_flushed(w, cq, &qp));
		read_record(_metadata, self, variant, w->comp_channel, &comp,
			    sizeof(comp), "completion event");
		EXPECT_EQ(5, comp.uid);
	}
	if (variant->mock) {
		OK(mock_write("event", "%d port 1", EVENT_LID_CHANGE));
		read_record(_metadata, self, variant, w->s.async_fd, &async,
			    sizeof(async), "asynchronous event");
		EXPECT_EQ(EVENT_LID_CHANGE, async.event);
	}
}

#endif
#if defined(FAIL_CALLS) || defined(FAIL_ON_MOCK)
static void every_case(DATA, const struct fail_case *cases, unsigned int nr)
{
	const struct abi_command *c;

	for (unsigned int i = 0; i < nr; i++) {
		c = ASSERT_PTR(abi_find_command(cases[i].cmd));
		every_failure(_metadata, self, variant, c, &cases[i]);
	}
}

TEST_F_TIMEOUT(fail, more_calls_survive_failure, 600)
{
	every_case(_metadata, self, variant, fail_cases, fail_nr_cases);
}

TEST_F_TIMEOUT(fail, rings_and_waits_survive_failure, 600)
{
	every_case(_metadata, self, variant, fail_more_cases, fail_nr_more_cases);
}

#endif
TEST_HARNESS_MAIN
