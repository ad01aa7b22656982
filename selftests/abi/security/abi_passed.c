// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions and channels that are passed to a process of another user: some rights pass with the
 * descriptor, others depend on the caller. docs/security/model.md describes them.
 */
#include "abi_test.h"

#define LEN	8192
#define QKEY	0x11111111
/* Both processes map memory here, but not the same. */
#define PLACE	((void *)0x10000000000)

/*
 * Memory that the opener shares with the receiver. The receiver closes all inherited files, so it
 * has only the files that it receives, and these numbers.
 */
struct receiver {
	struct abi s;			/* fd: received */
	struct abi_pair p;
	struct rdma_ep_cmd_reg_mr mr;	/* of the opener's memory */
	__u32 id, ah, ud_qp;
	int fds[4];			/* received: session, others */
	int nr_fds;
};

FIXTURE(passed) {
	struct abi s;
	struct abi_pair p;
	int socket[2];
	pid_t pid;
	__u8 *mem;
	struct receiver *shared;
};

FIXTURE_SETUP(passed)
{
	self->shared = abi_map_shared(sizeof(*self->shared));
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, self->socket));
	OK(abi_open(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = mmap(PLACE, LEN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ(PLACE, self->mem);
	memset(self->mem, 'o', LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, AC_ALL, &self->shared->mr));
	self->shared->p = self->p;
}

TEARDOWN_CLOSES(passed)

/* Forks the receiver, which closes the inherited files and has other memory at PLACE. */
static int start(struct _test_data_passed *self, int (*fn)(struct receiver *r))
{
	struct receiver *r = self->shared;

	r->s = self->s;
	self->pid = fork();
	if (self->pid < 0)
		return -errno;
	if (self->pid)
		return 0;
	for (int fd = 3; fd < 256; fd++)
		if (fd != self->socket[1])
			close(fd);
	if (mmap(PLACE, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != PLACE)
		_exit(100);
	memset(PLACE, 'r', LEN);
	if (abi_become_nobody())
		_exit(101);
	for (int i = 0; i < r->nr_fds; i++) {
		r->fds[i] = abi_recv_fd(self->socket[1]);
		if (r->fds[i] < 0)
			_exit(102);
	}
	r->s.fd = r->fds[0];
	_exit(fn(r));
}

/* Passes the session's file; returns the receiver's exit status, or a negative errno. */
static int passed(struct _test_data_passed *self, int (*fn)(struct receiver *r))
{
	int status, ret;

	self->shared->nr_fds = 1;
	ret = start(self, fn) ?: abi_send_fd(self->socket[0], self->s.fd);
	if (ret)
		return ret;
	if (waitpid(self->pid, &status, 0) != self->pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int no_privileged_ports(struct receiver *r)
{
	struct sockaddr_in sin = r->s.addr;
	struct rdma_ep_cmd_create_ep ep = {
		.flags = RDMA_EP_EP_PASSIVE | RDMA_EP_ID_PRIVATE_CHANNEL, .ps = RDMA_PS_TCP,
		.qp_type = QPT_RC,
	};

	sin.sin_port = htons(81);
	CHECK(1, abi_bind(&r->s, r->id, &sin) == -EACCES);
	memcpy(&ep.src, &sin, sizeof(sin));
	CHECK(2, ABI(r->s.fd, CREATE_EP, &ep) == -EACCES);
	CHECK(3, abi_resolve_from(&r->s, r->id, &sin, &sin, 1000) == -EACCES);
	sin.sin_port = htons(1081);
	CHECK(4, abi_bind(&r->s, r->id, &sin) == 0);
	return 0;
}

TEST_F(passed, privileged_port_needs_right_of_caller)
{
	struct sockaddr_in sin = self->s.addr;
	int channel = abi_channel(&self->s);
	__u32 id;

	OK(abi_tcp_id(&self->s, channel, 0, &self->shared->id));
	EXPECT_EQ(0, passed(self, no_privileged_ports));
	/* The opener has the right. */
	sin.sin_port = htons(81);
	OK(abi_tcp_id(&self->s, channel, 0, &id));
	EXPECT_EQ(0, abi_bind(&self->s, id, &sin));
}

static int no_privileged_qkeys(struct receiver *r)
{
	static struct abi_wrs w;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_modify_qp m = { .qp = r->ud_qp };
	__u32 posted;

	wr = abi_wrs_send(&w, WR_SEND, SEND_SIGNALED, 1);
	wr->ah = r->ah;
	wr->remote_qpn = 1;
	wr->remote_qkey = 0x80010000;	/* QP1's */
	CHECK(1, ABI_POST(&r->s, SEND, r->ud_qp, &w, &posted) == -EPERM);
	CHECK(2, posted == 0);
	m.attr.qp_attr_mask = QP_STATE | QP_QKEY;
	m.attr.qp_state = QPS_RTS;
	m.attr.qkey = 0x80000000 | QKEY;
	CHECK(3, ABI(r->s.fd, MODIFY_QP, &m) == -EPERM);
	wr->remote_qkey = QKEY;
	CHECK(4, ABI_POST(&r->s, SEND, r->ud_qp, &w, NULL) == 0);
	return 0;
}

TEST_F(passed, privileged_qkey_needs_right_of_caller)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 cq;

	SKIP_IF(self->s.iwarp, "iWARP has no datagrams");
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_UD, cq, 0, &c));
	self->shared->ud_qp = c.init.qp;
	OK(abi_create_ah(&self->s, self->s.pd, &self->shared->ah));
	OK(abi_qp_init(&self->s, c.init.qp, QPT_UD, QKEY));
	OK(abi_qp_rts(&self->s, c.init.qp, QPT_UD, 0));
	EXPECT_EQ(0, passed(self, no_privileged_qkeys));
}

/* "VmPin" of the process, kB */
static int pinned(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	int kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %d", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static int limited_memory(struct receiver *r)
{
	const struct rlimit limit = { 65536, 65536 };
	struct rdma_ep_cmd_reg_mr mr;
	int before = pinned();
	char *big = abi_map(1 << 20);

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 99;
	CHECK(1, abi_reg_mr(&r->s, r->s.pd, big, 1 << 20, AC_ALL, &mr) == -ENOMEM);
	CHECK(2, abi_reg_mr(&r->s, r->s.pd, big, 32768, AC_ALL, &mr) == 0);
	CHECK(3, pinned() == before + 32);
	CHECK(4, abi_reg_mr(&r->s, r->s.pd, big, 65536, AC_ALL, &mr) == -ENOMEM);
	/* The region remains when this process exits. */
	return 0;
}

/* A registration counts against RLIMIT_MEMLOCK of the caller, not of the opener. */
TEST_F(passed, memlock_of_caller_counts)
{
	const struct rlimit much = { RLIM_INFINITY, RLIM_INFINITY };
	struct rdma_ep_cmd_reg_mr mr;
	int before;
	char *big = abi_map(1 << 20);

	OK(setrlimit(RLIMIT_MEMLOCK, &much));
	before = pinned();
	EXPECT_EQ(0, passed(self, limited_memory));
	EXPECT_EQ(before, pinned());
	EXPECT_EQ(0, abi_reg_mr(&self->s, self->s.pd, big, 1 << 20, AC_ALL, &mr));
	EXPECT_EQ(before + 1024, pinned());
}

static int send_from(struct abi *s, struct abi_pair *p, __u64 addr, __u32 len, __u32 lkey)
{
	return abi_post_send(s, p->end[0].qp.qp, SEND_SIGNALED, 1, addr, len, lkey);
}

/* Lists of requests are read from the caller's memory, data from that of the region. */
static int other_memory(struct receiver *r)
{
	struct rdma_ep_cmd_reg_mr mr;
	char *gone = abi_map(LEN);

	CHECK(1, abi_reg_mr(&r->s, r->s.pd, PLACE, LEN, AC_ALL, &mr) == 0);
	munmap(gone, LEN);
	CHECK(2, abi_reg_mr(&r->s, r->s.pd, gone, LEN, AC_ALL, &mr) == -EFAULT);
	CHECK(3, send_from(&r->s, &r->p, (uintptr_t)PLACE, 64, mr.lkey) == -EINVAL);
	CHECK(4, abi_reg_mr(&r->s, r->s.pd, PLACE, LEN, AC_ALL, &mr) == 0);
	/* The same address in a region of each process */
	CHECK(5, send_from(&r->s, &r->p, (uintptr_t)PLACE, 64, mr.lkey) == 0);
	CHECK(6, send_from(&r->s, &r->p, (uintptr_t)PLACE, 64, r->mr.lkey) == 0);
	/* The opener uses and destroys the second region. */
	r->mr = mr;
	return 0;
}

TEST_F(passed, memory_of_caller_is_registered)
{
	struct rdma_ep_cmd_reg_mr own = self->shared->mr, *theirs;
	struct rdma_ep_wc wc[3];
	struct abi_wrs w;
	__u8 *sink = abi_map(4096);
	struct rdma_ep_cmd_reg_mr mr;

	OK(abi_reg_mr(&self->s, self->s.pd, sink, 4096, AC_LOCAL_WRITE, &mr));
	abi_wrs_init(&w);
	for (int i = 0; i < 3; i++) {
		abi_recv_wr(&w, i);
		abi_mr_sge(&w, &mr, 64 * i, 64);
	}
	OK(ABI_POST(&self->s, RECV, self->p.end[1].qp.qp, &w, NULL));
	EXPECT_EQ(0, passed(self, other_memory));
	ASSERT_EQ(2, abi_wait(&self->s, self->p.end[1].cq[1], wc, 2));
	EXPECT_EQ('r', sink[0]);
	EXPECT_EQ('r', sink[63]);
	EXPECT_EQ('o', sink[64]);
	EXPECT_EQ('o', sink[127]);

	/* The receiver has exited, but its region belongs to the session. */
	theirs = &self->shared->mr;
	EXPECT_EQ(0, send_from(&self->s, &self->p, (uintptr_t)PLACE, 64, theirs->lkey));
	ASSERT_EQ(1, abi_wait(&self->s, self->p.end[1].cq[1], wc, 1));
	EXPECT_EQ(WC_SUCCESS, wc[0].status);
	EXPECT_EQ('r', sink[128]);
	EXPECT_EQ('r', sink[191]);
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, theirs->mr));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, own.mr));
}

static int fill(struct receiver *r)
{
	__u32 pd;
	int ret, n = 0;

	do {
		ret = abi_alloc_pd(&r->s, r->s.ctx, &pd);
	} while (!ret && ++n < 200);
	CHECK(1, ret == -EDQUOT);
	CHECK(2, n < 100);
	/* A session of its own counts for the receiver. */
	return abi_open(&r->s) || abi_alloc_pd(&r->s, r->s.ctx, &pd) ? 3 : 0;
}

/* Objects count for the user that opened the session, also those of an unprivileged receiver. */
TEST_F(passed, quota_of_opener_counts)
{
	int old = test_param("user_max_objects", 40);
	__u32 pd;

	ASSERT_LT(0, old);
	EXPECT_EQ(0, passed(self, fill));
	/* CAP_SYS_RESOURCE exempts root from its own limit. */
	EXPECT_EQ(0, abi_alloc_pd(&self->s, self->s.ctx, &pd));
	test_param("user_max_objects", old);
}

static int adopt_when_full(struct receiver *r)
{
	struct abi next = {};
	__u32 pd;
	int ret;

	do {
		ret = abi_alloc_pd(&r->s, r->s.ctx, &pd);
	} while (!ret);
	CHECK(1, ret == -EDQUOT);
	next.fd = abi_adopt(r->s.fd);
	CHECK(2, next.fd > 0);
	CHECK(3, abi_alloc_pd(&next, r->s.ctx, &pd) == -EDQUOT);
	return 0;
}

/* A server at its limit can hand its session over to its successor. */
TEST_F(passed, full_session_can_be_adopted)
{
	int old = test_param("user_max_objects", 40);

	ASSERT_LT(0, old);
	EXPECT_EQ(0, passed(self, adopt_when_full));
	test_param("user_max_objects", old);
}

enum { SESSION, CHANNEL, COMP, ASYNC };

static int only_events(struct receiver *r)
{
	struct rdma_ep_channel_event ev;
	struct rdma_ep_cmd_query q = {};
	struct rdma_ep_cmd_create_cq cq = { .cqe = 8 };
	struct rdma_ep_cmd_create_id id = { .ps = RDMA_PS_TCP, .qp_type = QPT_RC };
	struct rdma_ep_cmd_migrate_id mig = {};
	struct abi own;
	int c;

	close(r->fds[SESSION]);
	for (int i = CHANNEL; i <= ASYNC; i++)
		CHECK(1, ABI(r->fds[i], QUERY, &q) == -ENOTTY);
	CHECK(2, abi_event(r->fds[CHANNEL], RDMA_EP_CM_EVENT_USER, &ev) == 0);
	CHECK(3, ev.param.arg == 4711);
	/* Another session does not accept them as channels. */
	CHECK(4, abi_open(&own) == 0);
	c = abi_channel(&own);
	CHECK(5, abi_tcp_id(&own, c, 0, &mig.id) == 0);
	for (int i = SESSION; i <= ASYNC; i++) {
		id.channel_fd = r->fds[i];
		CHECK(6, ABI(own.fd, CREATE_ID, &id) == -EBADF);
		cq.ctx = own.ctx;
		cq.channel_fd = r->fds[i];
		CHECK(7, ABI(own.fd, CREATE_CQ, &cq) == -EBADF);
		mig.channel_fd = r->fds[i];
		CHECK(8, ABI(own.fd, MIGRATE_ID, &mig) == -EBADF);
	}
	/* A session does not accept its own files of another kind. */
	id.channel_fd = own.async_fd;
	CHECK(9, ABI(own.fd, CREATE_ID, &id) == -EBADF);
	cq.channel_fd = c;
	CHECK(10, ABI(own.fd, CREATE_CQ, &cq) == -EBADF);
	abi_close(&own);
	/* The opener closes the session after the event has been read. */
	CHECK(11, abi_read(r->fds[CHANNEL], &ev, sizeof(ev), ABI_WAIT_MS) == -EIO);
	CHECK(12, abi_read(r->fds[COMP], &ev, sizeof(ev), ABI_WAIT_MS) == -EIO);
	CHECK(13, abi_read(r->fds[ASYNC], &ev, sizeof(ev), ABI_WAIT_MS) == -EIO);
	return 0;
}

/* A process with only a channel gets its events, and cannot use the session. */
TEST_F(passed, channel_gives_only_events)
{
	struct rdma_ep_cmd_write_event user = { .event = RDMA_EP_CM_EVENT_USER, .arg = 4711 };
	int fds[4];

	abi_close(&self->s);
	OK(abi_idle());
	OK(abi_open(&self->s));
	fds[SESSION] = open("/dev/null", O_RDONLY);
	fds[CHANNEL] = abi_channel(&self->s);
	fds[COMP] = abi_comp_channel(&self->s);
	fds[ASYNC] = self->s.async_fd;
	OK(abi_tcp_id(&self->s, fds[CHANNEL], 0, &user.id));
	self->shared->nr_fds = 4;
	OK(start(self, only_events));
	for (int i = 0; i < 4; i++)
		OK(abi_send_fd(self->socket[0], fds[i]));
	OK(ABI(self->s.fd, WRITE_EVENT, &user));
	/* Once the receiver has read the event, end the session with all of its objects. */
	for (int i = 0; i < 1000 && abi_ready(fds[CHANNEL], 0); i++)
		usleep(10000);
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_EQ(0, abi_idle());
	EXPECT_SUCCESS(self->pid);
}

static int outlive(struct receiver *r)
{
	struct rdma_ep_cmd_query_qp q = { .qp = r->p.end[0].qp.qp };

	/* nr_fds is the opener's pid here: wait until it has been reaped. */
	for (int i = 0; i < 1000 && !kill(r->nr_fds, 0); i++)
		usleep(10000);
	CHECK(1, ABI(r->s.fd, QUERY_QP, &q) == 0);
	CHECK(2, send_from(&r->s, &r->p, r->mr.iova, 64, r->mr.lkey) == 0);
	CHECK(3, ABI_DESTROY(&r->s, MR, r->mr.mr) == 0);
	CHECK(4, ABI_DESTROY(&r->s, ID, r->p.end[0].id) == 0);
	return 0;
}

/*
 * The opener is killed. Its memory stays pinned while the session lives, and its ids exist as long
 * as their channels.
 */
static int opener(void *arg)
{
	struct _test_data_passed *self = arg;
	struct receiver *r = self->shared;

	if (abi_open(&self->s))
		return 1;
	memset(&self->p, 0, sizeof(self->p));
	if (abi_pair_open(&self->s, &self->p) ||
	    abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, AC_ALL, &r->mr))
		return 2;
	r->p = self->p;
	r->s = self->s;
	if (abi_send_fd(self->socket[0], self->s.fd) ||
	    abi_send_fd(self->socket[0], self->p.end[0].channel) ||
	    abi_send_fd(self->socket[0], self->p.end[1].channel))
		return 3;
	kill(getpid(), SIGKILL);
	return 0;
}

TEST_F(passed, session_outlives_its_opener)
{
	int status, fd;
	pid_t pid;

	abi_close(&self->s);
	OK(abi_idle());
	pid = fork();
	if (!pid)
		_exit(opener(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	fd = FD(abi_recv_fd(self->socket[1]));
	/* The channels: if these were closed, the ids would end. */
	ASSERT_LT(0, abi_recv_fd(self->socket[1]));
	ASSERT_LT(0, abi_recv_fd(self->socket[1]));
	self->shared->nr_fds = pid;
	self->shared->s.fd = fd;
	EXPECT_EQ(0, outlive(self->shared));
	close(fd);
	EXPECT_EQ(0, abi_idle());
}

/* Both sides of a fork create, use and destroy objects in the same session. */
static int busy(struct abi *s, char *page, int rounds)
{
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_wc wc[4];
	static struct abi_wrs w;
	__u32 pd, cq;
	int ret = 0, channel;
	__u32 id;

	while (!ret && rounds--) {
		channel = abi_channel(s);
		if (channel < 0)
			return channel;
		ret = abi_alloc_pd(s, s->ctx, &pd) ?:
		      abi_reg_mr(s, pd, page, 4096, AC_ALL, &mr) ?:
		      abi_create_cq(s, -1, 16, 0, &cq) ?:
		      abi_tcp_id(s, channel, 0, &id);
		if (ret)
			return ret;
		abi_qp_attr(&c, QPT_RC, pd, cq, cq);
		ret = ABI(s->fd, CREATE_QP, &c) ?:
		      abi_qp_init(s, c.init.qp, QPT_RC, 0);
		abi_wrs_recv(&w, 1);
		abi_mr_sge(&w, &mr, 0, 64);
		if (!ret)
			ret = ABI_POST(s, RECV, c.init.qp, &w, NULL);
		if (!ret && abi_poll(s, cq, wc, 4) < 0)
			ret = -EPROTO;
		ret = ret ?:
		      ABI_DESTROY(s, QP, c.init.qp) ?:
		      ABI_DESTROY(s, CQ, cq) ?:
		      ABI_DESTROY(s, MR, mr.mr) ?:
		      ABI_DESTROY(s, PD, pd) ?:
		      ABI_DESTROY(s, ID, id);
		close(channel);
	}
	return ret;
}

TEST_F(passed, session_works_after_fork)
{
	enum { CHILDREN = 3, ROUNDS = 40 };
	pid_t pid[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(!!busy(&self->s, (char *)self->mem, ROUNDS));
	}
	EXPECT_EQ(0, busy(&self->s, (char *)self->mem, ROUNDS));
	for (int i = 0; i < CHILDREN; i++) {
		EXPECT_SUCCESS(pid[i]);
	}
	/* The connection and the region of the fixture still work. */
	EXPECT_EQ(0, send_from(&self->s, &self->p, self->shared->mr.iova, 8,
			       self->shared->mr.lkey));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, self->shared->mr.mr));
}

TEST_HARNESS_MAIN
