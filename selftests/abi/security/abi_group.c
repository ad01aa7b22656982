// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of cgroups by rules of the administrator, and memory beyond RLIMIT_MEMLOCK.
 *
 * The tests fail if a cgroup and its children exceed a limit by fork, by a move, by a passed
 * session, or with capabilities; and if RLIMIT_MEMLOCK is skipped for a task whose cgroup has no
 * such rule, or outside of the command.
 */
#include "abi_group.h"

#define MB	(1 << 20)

static int limit_memlock(rlim_t bytes)
{
	const struct rlimit limit = { bytes, bytes };

	return setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0;
}

/* siw of Linux 6.1 compares with RLIMIT_MEMLOCK itself (SIW-26). */
static bool driver_looks_at_rlimit(const struct abi *s)
{
	struct utsname u;

	return s->iwarp && !uname(&u) && !strncmp(u.release, "6.1.", 4);
}

static int reg_mb(const struct abi *s, struct rdma_ep_cmd_reg_mr *mr)
{
	char *mem = abi_map(MB);

	return abi_reg_mr(s, s->pd, mem, MB, AC_ALL, mr);
}

/* Root with all capabilities, in a, in a's child, and in b */
static int use_objects(void *arg)
{
	struct abi s, sub, b;
	int n, m;

	CHECK(1, move_to("/ep_test/a") == 0 && abi_open(&s) == 0);
	/* Three are the session, its context and its PD. */
	CHECK(2, abi_exhaust_pds(&s, &n) == -EDQUOT && n == 20 - 3);
	CHECK(3, abi_comp_channel(&s) == -EDQUOT);
	/* The limit includes cgroups below. */
	CHECK(4, move_to("/ep_test/a/sub") == 0);
	CHECK(5, open(RDMA_EP_DEVICE_NODE, O_RDWR) < 0 && errno == EDQUOT);
	abi_close(&s);
	CHECK(6, abi_open(&sub) == 0 && abi_exhaust_pds(&sub, &n) == -EDQUOT && n == 20 - 3);
	/* A sibling has its own limit. */
	CHECK(7, move_to("/ep_test/b") == 0);
	CHECK(8, abi_open(&b) == 0 && abi_exhaust_pds(&b, &m) == -EDQUOT && m == 20 - 3);
	CHECK(9, abi_fdinfo(&b, "cgroup-objects") == 20);
	/* Other cgroups have no limit. */
	CHECK(10, move_to("") == 0 && abi_open(&s) == 0);
	CHECK(11, abi_exhaust_pds(&s, &n) == 0 && n == 1000);
	CHECK(12, abi_fdinfo(&s, "cgroup-objects") == -1);
	return 0;
}

TEST_F(group, objects_of_a_cgroup)
{
	OK(set_rules("/ep_test/* objects=20"));
	EXPECT_EQ(0, abi_child(use_objects, NULL));
	/* The charges have ended. */
	EXPECT_EQ(0, abi_child(use_objects, NULL));
}

static int use_objects_of(void *arg)
{
	struct abi s;
	int n;

	CHECK(1, move_to(arg) == 0 && abi_open(&s) == 0);
	CHECK(2, abi_exhaust_pds(&s, &n) == -EDQUOT && n == 20 - 3);
	return 0;
}

/* A backslash is a character of a name without wildcards, as in /proc/PID/cgroup. */
TEST_F(group, names_with_backslashes)
{
	OK(set_rules("/ep_test/a\\x2db objects=20"));
	EXPECT_EQ(0, abi_child(use_objects_of, "/ep_test/a\\x2db"));
	OK(set_rules("/ep_test/a\\\\x2d? objects=20"));
	EXPECT_EQ(0, abi_child(use_objects_of, "/ep_test/a\\x2db"));
}

static int sum_of_two(void *arg)
{
	struct abi a, b;
	int n, m;

	CHECK(1, move_to("/ep_test/a") == 0 && abi_open(&a) == 0);
	CHECK(2, move_to("/ep_test/b") == 0 && abi_open(&b) == 0);
	CHECK(3, abi_exhaust_pds(&a, &n) == -EDQUOT && n == 10 - 3);
	/* 30 of the parent, of which a has 10 */
	CHECK(4, abi_exhaust_pds(&b, &m) == -EDQUOT && m == 30 - 10 - 3);
	return 0;
}

/* A limit applies to the sum of all cgroups below; a later rule overrides an earlier one. */
TEST_F(group, limits_of_parent_and_child)
{
	OK(set_rules("/ep_test objects=30 ; /ep_test/* objects=1000; /ep_test/a objects=10\n"));
	EXPECT_EQ(0, abi_child(sum_of_two, NULL));
}

static int queues(void *arg)
{
	__u32 cqs[100];
	struct abi s;
	int n = 0, ret;

	CHECK(1, move_to("/ep_test/a") == 0 && abi_open(&s) == 0);
	do {
		ret = abi_create_cq(&s, -1, 1000, 0, &cqs[n]);
	} while (!ret && ++n < 100);
	CHECK(2, ret == -EDQUOT && n > 2 && n < 40);
	CHECK(3, ABI_DESTROY(&s, CQ, cqs[0]) == 0);
	CHECK(4, abi_create_cq(&s, -1, 1000, 0, &cqs[0]) == 0);
	return 0;
}

TEST_F(group, queue_memory_of_a_cgroup)
{
	OK(set_rules("/ep_test/a queue=0002048k"));
	EXPECT_EQ(0, abi_child(queues, NULL));
}

/* A pod that keeps requesting more than its limits */
struct glutton {
	struct abi s;
	bool stop;
	int refused;
};

static void *want_too_much(void *arg)
{
	struct glutton *g = arg;
	__u32 handle;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		g->refused += abi_alloc_pd(&g->s, g->s.ctx, &handle) == -EDQUOT;
		g->refused += abi_create_cq(&g->s, -1, 30000, 0, &handle) == -EDQUOT;
	}
	return NULL;
}

static int beside_a_glutton(void *arg)
{
	struct glutton a = {};
	__u32 pd, pds[2], cq;
	pthread_t thread;
	struct abi b;
	int n, i;

	CHECK(1, move_to("/ep_test/a") == 0 && abi_open(&a.s) == 0);
	CHECK(2, move_to("/ep_test/b") == 0 && abi_open(&b) == 0);
	CHECK(3, abi_exhaust_pds(&a.s, &n) == -EDQUOT && n == 10 - 3);
	CHECK(4, abi_alloc_pd(&b, b.ctx, &pds[0]) == 0 && abi_alloc_pd(&b, b.ctx, &pds[1]) == 0);
	CHECK(5, abi_exhaust_pds(&b, &n) == -EDQUOT && n == 30 - 10 - 3 - 2);
	CHECK(6, ABI_DESTROY(&b, PD, pds[0]) == 0 && ABI_DESTROY(&b, PD, pds[1]) == 0);
	CHECK(7, pthread_create(&thread, NULL, want_too_much, &a) == 0);
	for (i = 0; i < 1000; i++) {
		CHECK(8, abi_alloc_pd(&b, b.ctx, &pd) == 0);
		CHECK(9, abi_create_cq(&b, -1, 8, 0, &cq) == 0);
		CHECK(10, ABI_DESTROY(&b, CQ, cq) == 0 && ABI_DESTROY(&b, PD, pd) == 0);
	}
	__atomic_store_n(&a.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(11, a.refused > 100);
	return 0;
}

/* Objects that a cgroup's own limit refuses do not count for its siblings, not even shortly. */
TEST_F(group, refused_beside_another)
{
	OK(set_rules("/ep_test objects=30 queue=1M; /ep_test/a objects=10 queue=256K"));
	EXPECT_EQ(0, abi_child(beside_a_glutton, NULL));
}

/* With users=apart, a uid has limits of its own in each cgroup, apart from those elsewhere. */
static int same_uid(void *arg)
{
	struct abi a, b, host;
	const bool *apart = arg;
	int n;

	CHECK(2, move_to("/ep_test/a") == 0);
	CHECK(3, seteuid(1000) == 0 && abi_open(&a) == 0 && seteuid(0) == 0);
	CHECK(4, move_to("/ep_test/b") == 0);
	CHECK(5, seteuid(1000) == 0 && abi_open(&b) == 0 && seteuid(0) == 0);
	CHECK(6, move_to("") == 0);
	CHECK(7, seteuid(1000) == 0 && abi_open(&host) == 0);
	CHECK(8, abi_exhaust_pds(&a, &n) == -EDQUOT && n == 30 - (*apart ? 3 : 9));
	CHECK(9, abi_exhaust_pds(&b, &n) == -EDQUOT && n == (*apart ? 30 - 3 : 0));
	CHECK(10, abi_exhaust_pds(&host, &n) == -EDQUOT && n == (*apart ? 30 - 3 : 0));
	return 0;
}

TEST_F(group, users_of_a_cgroup)
{
	int old = test_param("user_max_objects", 30);
	bool apart = false;

	EXPECT_EQ(0, abi_child(same_uid, &apart));
	EXPECT_EQ(0, set_rules("/ep_test/* users=apart"));
	apart = true;
	EXPECT_EQ(0, abi_child(same_uid, &apart));
	test_param("user_max_objects", old);
}

static long vm_pin(void)
{
	long kib = -1;
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* A thread whose mlock(2) must fail while another one registers memory */
struct locker {
	bool stop;
	int locked;
};

static void *try_to_lock(void *arg)
{
	struct locker *l = arg;
	char *mem = abi_map(4096);

	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		if (!syscall(SYS_mlock, mem, 4096))
			l->locked++;
		sched_yield();
	}
	return NULL;
}

/* RLIMIT_MEMLOCK is 0. @arg: as the root of a user namespace */
static int pod(void *arg)
{
	struct locker l = {};
	struct rdma_ep_cmd_reg_mr mr[3];
	pthread_t thread;
	struct abi s;

	CHECK(1, move_to("/ep_test/a") == 0);
	CHECK(2, limit_memlock(0) == 0 && abi_become(1000) == 0);
	if (arg && unshare(CLONE_NEWUSER))
		return 77;
	CHECK(3, abi_open(&s) == 0);
	if (driver_looks_at_rlimit(&s)) {
		CHECK(4, reg_mb(&s, &mr[0]) == -ENOMEM);
		return 0;
	}
	CHECK(5, pthread_create(&thread, NULL, try_to_lock, &l) == 0);
	for (int i = 0; i < 20; i++) {
		CHECK(6, reg_mb(&s, &mr[0]) == 0);
		CHECK(7, vm_pin() == 1024);
		CHECK(8, ABI_DESTROY(&s, MR, mr[0].mr) == 0);
	}
	__atomic_store_n(&l.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(9, l.locked == 0);
	CHECK(10, reg_mb(&s, &mr[0]) == 0 && reg_mb(&s, &mr[1]) == 0);
	CHECK(11, abi_fdinfo(&s, "cgroup-pinned-memory") == 2048);
	CHECK(12, reg_mb(&s, &mr[2]) == -ENOMEM);
	CHECK(13, ABI_DESTROY(&s, MR, mr[1].mr) == 0 && reg_mb(&s, &mr[1]) == 0);
	/* The rule allows no other locked memory. */
	CHECK(14, syscall(SYS_mlock, &s, 1) && (errno == EPERM || errno == ENOMEM));
	return 0;
}

TEST_F(group, memory_without_rlimit)
{
	OK(set_rules("/ep_test/* pinned=2M memlock=quota"));
	EXPECT_EQ(0, abi_child(pod, NULL));
}

TEST_F(group, memory_without_rlimit_in_a_user_namespace)
{
	int ret;

	OK(set_rules("/ep_test/* pinned=2M memlock=quota"));
	ret = abi_child(pod, "");
	SKIP_IF(ret == 77, "no user namespaces for users");
	EXPECT_EQ(0, ret);
}

static int exhausted_user(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s;

	CHECK(1, move_to("/ep_test/a") == 0);
	CHECK(2, limit_memlock(RLIM_INFINITY) == 0 && abi_become(1000) == 0 && abi_open(&s) == 0);
	CHECK(3, reg_mb(&s, &mr) == 0 && reg_mb(&s, &mr) == 0);
	/* With memlock=quota, RLIM_INFINITY does not exempt from the user's limit. */
	CHECK(4, reg_mb(&s, &mr) == -ENOMEM);
	return 0;
}

TEST_F(group, memory_of_a_user_without_rlimit)
{
	int old = test_param("user_max_pinned_mb", 2);

	EXPECT_EQ(0, set_rules("/ memlock=quota"));
	EXPECT_EQ(0, abi_child(exhausted_user, NULL));
	test_param("user_max_pinned_mb", old);
}

/* CAP_IPC_LOCK exempts root from the limit of the user, but not from that of the cgroup. */
static int privileged(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s;

	CHECK(1, move_to("/ep_test/a") == 0 && limit_memlock(RLIM_INFINITY) == 0);
	CHECK(2, abi_open(&s) == 0 && reg_mb(&s, &mr) == 0 && reg_mb(&s, &mr) == 0);
	CHECK(3, reg_mb(&s, &mr) == -ENOMEM);
	return 0;
}

TEST_F(group, limits_of_cgroup_hold_for_root)
{
	OK(set_rules("/ep_test/a pinned=2M"));
	EXPECT_EQ(0, abi_child(privileged, NULL));
}

static int reg_in_child(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;

	return -reg_mb(arg, &mr);
}

/* Moves to b, whose tasks are bound to RLIMIT_MEMLOCK, with a session of a. */
static int reg_in_b(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;

	if (move_to("/ep_test/b"))
		return 1;
	return abi_become(1000) ? 2 : -reg_mb(arg, &mr);
}

static int reg_in_a(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;

	if (move_to("/ep_test/a"))
		return 1;
	return abi_become(1000) ? 2 : -reg_mb(arg, &mr);
}

static bool shows_quota(const struct abi *s)
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->fd);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strcmp(line, "memlock:\tquota\n");
	if (f)
		fclose(f);
	return found;
}

static int fork_and_move(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct abi a, b;
	int n;

	CHECK(1, limit_memlock(65536) == 0);
	CHECK(2, move_to("/ep_test/b") == 0 && abi_open(&b) == 0);
	CHECK(3, move_to("/ep_test/a") == 0 && abi_open(&a) == 0);
	if (driver_looks_at_rlimit(&a))
		return 0;
	/* memlock=quota must apply to session and task. It does not apply to b's session. */
	CHECK(5, abi_child(reg_in_a, &b) == ENOMEM);
	/* It does not apply to a task in b. */
	CHECK(6, abi_child(reg_in_b, &a) == ENOMEM);
	/* A child's regions count for a, also after the child has exited. */
	CHECK(7, abi_child(reg_in_child, &a) == 0);
	CHECK(8, abi_child(reg_in_child, &a) == 0);
	CHECK(9, abi_child(reg_in_child, &a) == ENOMEM);
	CHECK(10, abi_fdinfo(&a, "cgroup-pinned-memory") == 2048);
	/* After a move of the opener, its old and new objects in the session count for a. */
	CHECK(11, move_to("/ep_test/b") == 0);
	/* fdinfo shows the rule of the session, not that of the reader. */
	CHECK(15, shows_quota(&a) && !shows_quota(&b));
	CHECK(12, abi_exhaust_pds(&a, &n) == -EDQUOT && n < 20);
	CHECK(13, reg_mb(&a, &mr) == -EDQUOT);
	CHECK(14, abi_exhaust_pds(&b, &n) == 0);
	return 0;
}

TEST_F(group, fork_move_and_passed_sessions)
{
	OK(set_rules("/ep_test/a objects=20 pinned=2M memlock=quota"));
	EXPECT_EQ(0, abi_child(fork_and_move, NULL));
}

/* The rule of a subgroup overrides that of its parent for its tasks. */
static int stricter_child(void *arg)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s, sub;

	CHECK(1, limit_memlock(65536) == 0);
	CHECK(2, move_to("/ep_test/a") == 0 && abi_open(&s) == 0);
	CHECK(3, move_to("/ep_test/a/sub") == 0 && abi_open(&sub) == 0);
	CHECK(4, abi_become(1000) == 0);
	CHECK(5, reg_mb(&sub, &mr) == -ENOMEM);
	CHECK(6, reg_mb(&s, &mr) == -ENOMEM);
	return 0;
}

TEST_F(group, policy_of_a_child)
{
	OK(set_rules("/ep_test/a memlock=quota; /ep_test/a/sub memlock=rlimit"));
	EXPECT_EQ(0, abi_child(stricter_child, NULL));
}

/* Limits below the charges refuse new objects; existing ones work and can be destroyed. */
TEST_F(group, lowered_below_use)
{
	struct rdma_ep_cmd_reg_mr mr, more;
	__u32 pds[10], pd, cq;
	struct abi s;

	OK(move_to("/ep_test/a"));
	OK(abi_open(&s));
	OK(move_to(""));
	for (int i = 0; i < 10; i++)
		OK(abi_alloc_pd(&s, s.ctx, &pds[i]));
	OK(reg_mb(&s, &mr));
	OK(set_rules("/ep_test/a objects=5 queue=1K pinned=4K"));
	EXPECT_EQ(-EDQUOT, abi_alloc_pd(&s, s.ctx, &pd));
	EXPECT_EQ(-EDQUOT, reg_mb(&s, &more));
	for (int i = 0; i < 10; i++)
		OK(ABI_DESTROY(&s, PD, pds[i]));
	/* Session, context, PD, MR, and one more */
	OK(abi_alloc_pd(&s, s.ctx, &pd));
	EXPECT_EQ(-EDQUOT, abi_alloc_pd(&s, s.ctx, &pds[0]));
	OK(ABI_DESTROY(&s, PD, pd));
	EXPECT_EQ(-ENOMEM, reg_mb(&s, &more));
	EXPECT_EQ(-EDQUOT, abi_create_cq(&s, -1, 8, 0, &cq));
	OK(ABI_DESTROY(&s, MR, mr.mr));
	EXPECT_EQ(-ENOMEM, reg_mb(&s, &more));
	OK(set_rules("/ep_test/a objects=5"));
	OK(reg_mb(&s, &more));
	abi_close(&s);
}

/* A deep cgroup with a long name, and its children */
#define DEEP_LEVELS	5
#define CHILDREN	64

static void deep_path(char *path, int levels, int child)
{
	path += sprintf(path, TOP "/b");
	while (levels--)
		path += sprintf(path, "/%0200d", 0);
	if (child >= 0)
		sprintf(path, "/%d", child);
}

static int control_memory(int levels, const char *how)
{
	char path[2048];

	deep_path(path, levels, -1);
	return abi_put(strcat(path, "/cgroup.subtree_control"), how);
}

static int move_to_child(int child)
{
	char path[2048];

	deep_path(path, DEEP_LEVELS, child);
	return abi_put(strcat(path, "/cgroup.procs"), "0");
}

/*
 * Bytes of the kernel's objects that a cgroup and those below are charged for, or -1. The kernel
 * adds changes up before they are read only if there are enough of them: pages make many.
 */
static long slabs(void)
{
	char line[128];
	long bytes = -1;
	FILE *f;

	munmap(memset(abi_map(4 * MB), 1, 4 * MB), 4 * MB);
	f = fopen(TOP "/memory.stat", "re");
	while (f && bytes < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "slab_unreclaimable %ld", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

/* Each session in a cgroup of its own needs memory for one more account, with its path. */
static int charged_accounts(void *arg)
{
	long before, same, apart;
	int i;

	before = slabs();
	CHECK(1, before >= 0);
	for (i = 0; i < CHILDREN; i++)
		CHECK(2, move_to_child(0) == 0 && open(RDMA_EP_DEVICE_NODE, O_RDWR) >= 0);
	same = slabs() - before;
	CHECK(3, same > CHILDREN * 512);
	for (i = 0; i < CHILDREN; i++)
		CHECK(4, move_to_child(i) == 0 && open(RDMA_EP_DEVICE_NODE, O_RDWR) >= 0);
	apart = slabs() - before - same;
	fprintf(stderr, "# a session: %ld bytes, with an account: %ld bytes\n", same / CHILDREN,
		apart / CHILDREN);
	CHECK(5, apart - same > CHILDREN * 1000);
	return 0;
}

/* The memory of accounts is charged to the cgroups of their sessions. */
TEST_F(group, accounts_are_charged)
{
	/* A manager of the machine's cgroups, as podman, leaves it on for its own. */
	bool on = !system("grep -qw memory " CGROUPS "/cgroup.subtree_control");
	char path[2048];
	int i;

	if (abi_put(CGROUPS "/cgroup.subtree_control", "+memory") ||
	    abi_put(TOP "/cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory controller");
	for (i = 0; i <= DEEP_LEVELS; i++) {
		deep_path(path, i, -1);
		ASSERT_TRUE(!i || !mkdir(path, 0700) || errno == EEXIST);
		OK(control_memory(i, "+memory"));
	}
	for (i = 0; i < CHILDREN; i++) {
		deep_path(path, DEEP_LEVELS, i);
		ASSERT_TRUE(!mkdir(path, 0700) || errno == EEXIST);
	}
	EXPECT_EQ(0, abi_child(charged_accounts, NULL));
	for (i = 0; i < CHILDREN; i++) {
		deep_path(path, DEEP_LEVELS, i);
		EXPECT_EQ(0, rmdir(path));
	}
	for (i = DEEP_LEVELS; i; i--) {
		deep_path(path, i, -1);
		EXPECT_EQ(0, rmdir(path));
	}
	OK(control_memory(0, "-memory"));
	OK(abi_put(TOP "/cgroup.subtree_control", "-memory"));
	if (!on)
		OK(abi_put(CGROUPS "/cgroup.subtree_control", "-memory"));
}

TEST_HARNESS_MAIN
