// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of unprivileged users: they apply to all sessions of a user together, to root in a user
 * namespace, and to objects that a kernel thread creates for the user.
 */
#include <sys/prctl.h>

#include "abi_test.h"

#define QKEY	0x11111111

/* Parameters of the module */
static const struct {
	const char *name;
	int value;			/* during the test; 0: unchanged */
} limits[] = {
	{ "user_max_objects", 262144 },
	{ "user_max_queue_mb", 1024 },
	{ "session_max_objects", 65536 },
	{ "session_max_queue_mb", 512 },
	{ "user_max_pinned_mb" },
};

FIXTURE(unpriv) {
	int old[ARRAY_SIZE(limits)];
};

FIXTURE_SETUP(unpriv)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		self->old[i] = test_param(limits[i].name, limits[i].value ?: 2);
		ASSERT_LT(0, self->old[i]);
		if (!limits[i].value)
			test_param(limits[i].name, self->old[i]);
	}
}

FIXTURE_TEARDOWN(unpriv)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		test_param(limits[i].name, self->old[i]);
}

static int another_user(void *arg)
{
	struct abi s;
	int n;

	CHECK(20, abi_become(1001) == 0);
	CHECK(21, abi_open(&s) == 0);
	CHECK(22, abi_exhaust_pds(&s, &n) == -EDQUOT);
	CHECK(23, n == 27);
	return 0;
}

/* A session, its default context and its default PD count, too. */
static int user_objects(void *arg)
{
	struct abi s[3];
	__u32 cq;
	int n;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s[0]) == 0 && abi_open(&s[1]) == 0);
	CHECK(3, abi_exhaust_pds(&s[0], &n) == -EDQUOT);
	CHECK(4, n == 24);
	CHECK(5, abi_exhaust_pds(&s[1], &n) == -EDQUOT);
	CHECK(6, n == 0);
	CHECK(7, abi_create_cq(&s[1], -1, 8, 0, &cq) == -EDQUOT);
	/* A third session cannot get a context. */
	CHECK(8, abi_open(&s[2]) == -EDQUOT);
	abi_close(&s[2]);
	/* The end of one session makes room for the other. */
	abi_close(&s[0]);
	CHECK(9, abi_exhaust_pds(&s[1], &n) == -EDQUOT);
	CHECK(10, n == 27);
	return 0;
}

/* Sessions and channels are files and not objects, but they count, too. */
static int files_of_a_user(void *arg)
{
	int fd, n, chan;
	struct abi s;

	CHECK(1, abi_become(1000) == 0);
	for (n = 0; (fd = open(RDMA_EP_DEVICE_NODE, O_RDWR)) >= 0 && n < 40;)
		n++;
	CHECK(2, fd < 0 && errno == EDQUOT);
	CHECK(3, n == 30);
	for (fd = 3; fd < 100; fd++)
		close(fd);
	CHECK(4, abi_open(&s) == 0);
	for (n = 0; n < 40; n++) {
		chan = n % 2 ? abi_channel(&s) : abi_comp_channel(&s);
		if (chan < 0)
			break;
	}
	CHECK(5, chan == -EDQUOT);
	CHECK(6, n == 27);
	return 0;
}

TEST_F(unpriv, objects_of_a_user)
{
	test_param("user_max_objects", 30);
	EXPECT_EQ(0, abi_child(user_objects, NULL));
	/* The charges have ended with the child, and another user has a limit of its own. */
	EXPECT_EQ(0, abi_child(user_objects, NULL));
	EXPECT_EQ(0, abi_child(another_user, NULL));
	EXPECT_EQ(0, abi_child(files_of_a_user, NULL));
	EXPECT_EQ(0, abi_child(user_objects, NULL));
}

/* Creates CQs until that fails; returns the error. @n: number of CQs */
static int exhaust_queues(struct abi *s, int *n)
{
	__u32 cq;
	int ret;

	*n = 0;
	do {
		ret = abi_create_cq(s, -1, 1000, 0, &cq);
	} while (!ret && ++*n < 100);
	return ret;
}

static int queues(void *arg)
{
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_query q = {};
	struct abi s[2], roots;
	__u32 cq, srq;
	int n, m;

	CHECK(13, abi_open(&roots) == 0);
	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s[0]) == 0 && abi_open(&s[1]) == 0);
	CHECK(3, ABI(s[0].fd, QUERY, &q) == 0);
	CHECK(4, q.max_queue_bytes == 2 << 20 && q.max_user_queue_bytes == 3 << 20);
	CHECK(10, abi_create_cq(&s[1], -1, 1, 0, &cq) == 0);
	CHECK(5, exhaust_queues(&s[0], &n) == -EDQUOT);
	CHECK(6, n > 2 && n < 50);
	CHECK(7, exhaust_queues(&s[1], &m) == -EDQUOT);
	/*
	 * The first session reaches its own limit, and leaves half as much of the user's, of
	 * which the small CQ takes a little. The second session alone could have n - 1.
	 */
	CHECK(8, m == n / 2 - 1);
	/* A session counts for the user that opened it: root's has its whole limit. */
	CHECK(14, exhaust_queues(&roots, &m) == -EDQUOT);
	CHECK(15, m == n);
	/* Other queues count in the same limit. */
	CHECK(9, abi_create_srq(&s[1], s[1].pd, 8000, 0, &srq) == -EDQUOT);
	abi_qp_attr(&qp, QPT_RC, s[1].pd, cq, cq);
	qp.init.max_send_wr = 8000;
	CHECK(11, ABI(s[1].fd, CREATE_QP, &qp) == -EDQUOT);
	qp.init.max_send_wr = 1;
	qp.init.max_recv_wr = 8000;
	CHECK(12, ABI(s[1].fd, CREATE_QP, &qp) == -EDQUOT);
	/* A QP with an SRQ is not charged for a receive queue. */
	abi_close(&s[0]);
	CHECK(16, abi_create_srq(&s[1], s[1].pd, 8, 0, &qp.init.srq) == 0);
	qp.init.max_recv_wr = 65536;
	qp.init.max_recv_sge = 16;
	CHECK(17, ABI(s[1].fd, CREATE_QP, &qp) == 0);
	return 0;
}

/* MODIFY_SRQ allocates slots first: the SRQ keeps them if the driver fails, or if it shrinks. */
static int slots(void *arg)
{
	struct rdma_ep_cmd_srq_attr grow = { .flags = RDMA_EP_SRQ_MAX_WR, .max_wr = 3000 };
	struct rdma_ep_cmd_srq_attr shrink = { .flags = RDMA_EP_SRQ_MAX_WR, .max_wr = 1 };
	/* Every driver refuses a limit above max_wr. */
	struct rdma_ep_cmd_srq_attr refused = {
		.flags = RDMA_EP_SRQ_MAX_WR | RDMA_EP_SRQ_LIMIT, .max_wr = 3000, .srq_limit = 3001,
	};
	__u32 srq[3];
	struct abi s;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(3, abi_create_srq(&s, s.pd, 1, 1, &srq[i]) == 0);
	grow.srq = srq[0];
	shrink.srq = srq[0];
	refused.srq = srq[1];
	/* siw does not resize SRQs. */
	CHECK(4, ABI(s.fd, MODIFY_SRQ, &grow) == (s.iwarp ? -EOPNOTSUPP : 0));
	CHECK(5, ABI(s.fd, MODIFY_SRQ, &shrink) == (s.iwarp ? -EOPNOTSUPP : 0));
	grow.srq = srq[2];
	CHECK(6, ABI(s.fd, MODIFY_SRQ, &grow) == -EDQUOT);
	CHECK(7, ABI_DESTROY(&s, SRQ, srq[0]) == 0);
	CHECK(8, ABI(s.fd, MODIFY_SRQ, &refused) < 0);
	CHECK(9, ABI(s.fd, MODIFY_SRQ, &grow) == -EDQUOT);
	/* During the command both the old and the new size are charged. */
	CHECK(10, ABI(s.fd, MODIFY_SRQ, &refused) == -EDQUOT);
	CHECK(11, ABI_DESTROY(&s, SRQ, srq[1]) == 0);
	CHECK(12, ABI(s.fd, MODIFY_SRQ, &grow) != -EDQUOT);
	return 0;
}

TEST_F(unpriv, slots_of_an_srq)
{
	test_param("session_max_queue_mb", 1);
	EXPECT_EQ(0, abi_child(slots, NULL));
}

TEST_F(unpriv, queue_memory)
{
	test_param("session_max_queue_mb", 2);
	test_param("user_max_queue_mb", 3);
	EXPECT_EQ(0, abi_child(queues, NULL));
	EXPECT_EQ(0, abi_child(queues, NULL));
}

/* rdma_cm's memory for ids is charged to no cgroup, so it counts as queue memory. */
static int ids(void *arg)
{
	struct abi s;
	int n = 0, ret, channel;
	__u32 id = 0, more;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	channel = abi_channel(&s);
	do {
		more = id;
		ret = abi_tcp_id(&s, channel, 0, &id);
	} while (!ret && ++n < 1000);
	CHECK(3, ret == -EDQUOT);
	CHECK(4, n > 100 && n <= 128);
	CHECK(5, ABI_DESTROY(&s, ID, more) == 0);
	CHECK(6, abi_tcp_id(&s, channel, 0, &id) == 0);
	return 0;
}

TEST_F(unpriv, memory_of_ids)
{
	test_param("session_max_queue_mb", 1);
	EXPECT_EQ(0, abi_child(ids, NULL));
}

/* Drivers allocate memory for the largest number of READs of each QP, which is charged. */
static int reads(void *arg)
{
	struct rdma_ep_cmd_create_qp c;
	int n = 0, ret;
	struct abi s;
	__u32 cq;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	CHECK(3, abi_create_cq(&s, -1, 1, 0, &cq) == 0);
	do {
		abi_qp_attr(&c, QPT_RC, s.pd, cq, cq);
		c.init.max_send_wr = 1;
		c.init.max_recv_wr = 1;
		ret = ABI(s.fd, CREATE_QP, &c);
	} while (!ret && ++n < 1000);
	CHECK(4, ret == -EDQUOT);
	/* Two pages for queues, and two of rxe's, or eight of siw's */
	CHECK(5, n > 10 && n <= (s.iwarp ? 1024 / 40 : 1024 / 16));
	return 0;
}

TEST_F(unpriv, memory_for_reads)
{
	test_param("session_max_queue_mb", 1);
	EXPECT_EQ(0, abi_child(reads, NULL));
}

/* iw_cm and siw allocate memory for the whole backlog, which is charged. */
static int listeners(void *arg)
{
	struct sockaddr_in sin;
	__u32 id[2];
	struct abi s;
	int channel;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	channel = abi_channel(&s);
	CHECK(3, abi_tcp_listen(&s, channel, 0, 1, &id[0], &sin) == 0);
	CHECK(4, abi_tcp_listen(&s, channel, 0, 2, &id[1], &sin) == (s.iwarp ? -EDQUOT : 0));
	CHECK(5, ABI_ID_CMD(&s, LISTEN, id[1], 16) == (s.iwarp ? 0 : -EINVAL));
	CHECK(6, ABI_ID_CMD(&s, LISTEN, id[1], 16) == -EINVAL);
	CHECK(7, ABI_DESTROY(&s, ID, id[0]) == 0);
	CHECK(8, abi_tcp_listen(&s, channel, 0, 1, &id[0], &sin) == 0);
	return 0;
}

TEST_F(unpriv, listeners)
{
	test_param("session_max_queue_mb", 1);
	EXPECT_EQ(0, abi_child(listeners, NULL));
}

struct pinning {
	const struct abi *s;
	struct rdma_ep_cmd_reg_mr mr;
};

/* Registers 1 MiB, in a process that has registered no other memory. */
static int pin_mb(void *arg)
{
	struct pinning *p = arg;
	char *mem = abi_map(1 << 20);

	return -abi_reg_mr(p->s, p->s->pd, mem, 1 << 20, AC_ALL, &p->mr);
}

static int pin(void *arg)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };
	struct pinning *p = abi_map_shared(4096);
	struct abi s, other;

	CHECK(1, abi_become(1000) == 0);
	CHECK(2, setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	CHECK(3, abi_open(&s) == 0 && abi_open(&other) == 0);
	p->s = &s;
	CHECK(4, abi_child(pin_mb, p) == 0);
	CHECK(5, abi_child(pin_mb, p) == 0);
	CHECK(6, abi_child(pin_mb, p) == ENOMEM);
	p->s = &other;
	CHECK(7, pin_mb(p) == ENOMEM);
	CHECK(8, ABI_DESTROY(&s, MR, p->mr.mr) == -ENOENT);
	abi_close(&s);
	CHECK(9, pin_mb(p) == 0);
	return 0;
}

/* RLIMIT_MEMLOCK is per process, but a region outlives its process. */
TEST_F(unpriv, memory_of_a_user)
{
	test_param("user_max_pinned_mb", 2);
	EXPECT_EQ(0, abi_child(pin, NULL));
}

/*
 * IPoIB needs InfiniBand, but rdma_cm checks that only when it chooses the device of an address,
 * so the tests use the unspecified address, which has no device.
 */
struct port_space {
	const char *name;
	__u32 ps, type;
	bool ipoib;
};

static int bind_port(const struct abi *s, __u32 id, const void *addr, __u16 port)
{
	struct rdma_ep_cmd_bind_addr b = { .id = id };

	memcpy(&b.addr, addr, sizeof(struct sockaddr_in6));
	/* The port has the same offset in both families. */
	((struct sockaddr_in *)&b.addr)->sin_port = htons(port);
	return ABI(s->fd, BIND_ADDR, &b);
}

static int resolve_from_port(const struct abi *s, __u32 id, const void *src,
			     const void *dst, __u16 port)
{
	struct rdma_ep_cmd_resolve_addr r = { .id = id, .timeout_ms = 5000 };

	memcpy(&r.src, src, sizeof(struct sockaddr_in6));
	memcpy(&r.dst, dst, sizeof(struct sockaddr_in6));
	((struct sockaddr_in *)&r.src)->sin_port = htons(port);
	((struct sockaddr_in *)&r.dst)->sin_port = htons(4711);
	return ABI(s->fd, RESOLVE_ADDR, &r);
}

/* BIND_ADDR and RESOLVE_ADDR accept privileged ports of the port space only if @privileged. */
static void expect_ports(struct __test_metadata *_metadata, const struct abi *s,
			 const struct port_space *space, const void *dst, bool privileged)
{
	const struct sockaddr_in6 any = {
		.sin6_family = ((const struct sockaddr *)dst)->sa_family,
	};
	const void *addr = space->ipoib ? &any : dst;
	enum abi_cm_event resolved = space->ipoib ? EV_ADDR_ERROR : EV_ADDR_RESOLVED;
	static const __u16 low[] = { 1, 81, 1023 };
	int family = any.sin6_family;
	int want = privileged ? 0 : -EACCES;
	int channel = abi_channel(s);
	__u32 id[2];

	for (size_t i = 0; i < ARRAY_SIZE(low); i++) {
		for (size_t j = 0; j < 2; j++)
			OK(abi_create_id(s, channel, space->ps, space->type, 0, &id[j]));
		LOGGED(EXPECT_EQ(want, bind_port(s, id[0], addr, low[i])),
		       "%s, family %d, binding to %u", space->name, family, low[i]);
		if (privileged)
			OK(ABI_DESTROY(s, ID, id[0]));
		LOGGED(EXPECT_EQ(want, resolve_from_port(s, id[1], addr, dst, low[i])),
		       "%s, family %d, resolving from %u", space->name, family, low[i]);
		if (privileged) {
			OK(abi_event(channel, resolved, NULL));
			OK(ABI_DESTROY(s, ID, id[1]));
		}
	}
	if (privileged)
		return;
	/* Only the port was wrong, and the ids are unchanged. */
	EXPECT_TRUE(abi_quiet(channel));
	LOGGED(EXPECT_EQ(0, bind_port(s, id[0], addr, 1024)), "%s, family %d", space->name, family);
	LOGGED(EXPECT_EQ(0, resolve_from_port(s, id[1], addr, dst, 1025)),
	       "%s, family %d", space->name, family);
	OK(abi_event(channel, resolved, NULL));
	OK(ABI_DESTROY(s, ID, id[0]));
	OK(ABI_DESTROY(s, ID, id[1]));
}

/* The opener has the privilege, and loses it: the same session then gets no more such ports. */
TEST(privileged_ports)
{
	static const struct port_space spaces[] = {
		{ "TCP", RDMA_PS_TCP, QPT_RC },
		{ "UDP", RDMA_PS_UDP, QPT_UD },
		{ "IB", RDMA_PS_IB, QPT_RC },
		{ "IPoIB", RDMA_PS_IPOIB, QPT_UD, .ipoib = true },
	};
	struct sockaddr_in6 addr[2] = {};
	struct abi s;

	OK(abi_open(&s));
	memcpy(&addr[0], &s.addr, sizeof(s.addr));
	LOGGED(ASSERT_EQ(0, abi_addr6(&s, &addr[1])), "the device has no IPv6 address");
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		for (size_t j = 0; j < ARRAY_SIZE(addr); j++)
			expect_ports(_metadata, &s, &spaces[i], &addr[j], true);
	OK(abi_become_nobody());
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		for (size_t j = 0; j < ARRAY_SIZE(addr); j++)
			expect_ports(_metadata, &s, &spaces[i], &addr[j], false);
	abi_close(&s);
}

/* Becomes root in a user namespace, with all capabilities in that. */
static int become_rootless(void)
{
	if (abi_become(1000))
		return -1;
	/* After a change of its uid, a task cannot write its files in /proc without this. */
	if (prctl(PR_SET_DUMPABLE, 1))
		return -1;
	if (unshare(CLONE_NEWUSER))
		return -ENOSYS;
	if (abi_put("/proc/self/setgroups", "deny") || abi_put("/proc/self/gid_map", "0 1000 1") ||
	    abi_put("/proc/self/uid_map", "0 1000 1") || geteuid())
		return -2;
	return 0;
}

static int rootless(void *arg)
{
	const struct rlimit limit = { 65536, 65536 };
	char *big = abi_map(1 << 20);
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s;
	int n, ret;
	__u32 id, cq;

	ret = become_rootless();
	if (ret == -ENOSYS)
		return 77;
	CHECK(1, ret == 0);
	CHECK(2, setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	CHECK(3, abi_open(&s) == 0);
	sin = s.addr;
	sin.sin_port = htons(81);
	CHECK(4, abi_tcp_id(&s, abi_channel(&s), 0, &id) == 0);
	CHECK(5, abi_bind(&s, id, &sin) == -EACCES);
	CHECK(6, abi_reg_mr(&s, s.pd, big, 1 << 20, AC_ALL, &mr) == -ENOMEM);
	if (!s.iwarp) {
		CHECK(7, abi_create_cq(&s, -1, 8, 0, &cq) == 0);
		abi_qp_attr(&qp, QPT_UD, s.pd, cq, cq);
		CHECK(8, ABI(s.fd, CREATE_QP, &qp) == 0);
		CHECK(9, abi_qp_init(&s, qp.init.qp, QPT_UD, 0x80000000 | QKEY) == -EPERM);
		CHECK(10, abi_qp_init(&s, qp.init.qp, QPT_UD, QKEY) == 0);
	}
	CHECK(11, abi_exhaust_pds(&s, &n) == -EDQUOT);
	CHECK(12, n < 30);
	return 0;
}

TEST_F(unpriv, root_in_a_user_namespace)
{
	int ret;

	test_param("session_max_objects", 30);
	ret = abi_child(rootless, NULL);
	SKIP_IF(ret == 77, "no user namespaces for users");
	EXPECT_EQ(0, ret);
}

/*
 * A kernel thread, which has all capabilities, creates the id of a connection request. The id
 * counts for the listener's session all the same. A request without room is not answered
 * (iWARP: rejected), so the peer repeats it.
 */
static int full_listener(void *arg)
{
	const int *fds = arg;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	struct abi s;
	__u32 id, pd;
	int channel, n;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(1, abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	channel = abi_channel(&s);
	CHECK(3, abi_tcp_listen(&s, channel, 0, 0, &id, &sin) == 0);
	CHECK(4, abi_alloc_pd(&s, s.ctx, &pd) == 0);
	CHECK(5, abi_exhaust_pds(&s, &n) == -EDQUOT);
	CHECK(6, write(fds[1], &sin, sizeof(sin)) == sizeof(sin));
	CHECK(7, read(fds[2], &c, 1) == 1);
	CHECK(8, abi_read(channel, &ev, sizeof(ev), 1000) == -ETIMEDOUT);
	CHECK(9, ABI_DESTROY(&s, PD, pd) == 0);
	CHECK(10, s.iwarp || abi_event(channel, EV_CONNECT_REQUEST, &ev) == 0);
	return 0;
}

TEST_F(unpriv, kernel_threads)
{
	struct rdma_ep_channel_event ev;
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	int channel, fds[4];
	struct abi s;
	__u32 id, cq;
	pid_t pid;

	OK(pipe(fds));
	OK(pipe(fds + 2));
	test_param("session_max_objects", 20);
	pid = fork();
	if (!pid)
		_exit(full_listener(fds));
	ASSERT_EQ(sizeof(sin), read(fds[0], &sin, sizeof(sin)));
	OK(abi_open(&s));
	channel = abi_channel(&s);
	OK(abi_tcp_client(&s, channel, &sin, 0, &id));
	OK(abi_create_cq(&s, -1, 16, 0, &cq));
	OK(abi_create_qp(&s, QPT_RC, cq, id, &qp));
	OK(abi_connect(&s, id, 0));
	if (s.iwarp) {
		OK(abi_read(channel, &ev, sizeof(ev), ABI_WAIT_MS));
		EXPECT_NE(EV_ESTABLISHED, ev.event);
	}
	ASSERT_EQ(1, write(fds[3], "", 1));
	EXPECT_SUCCESS(pid);
	abi_close(&s);
}

TEST_HARNESS_MAIN
