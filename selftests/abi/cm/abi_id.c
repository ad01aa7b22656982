// SPDX-License-Identifier: GPL-2.0-only
/* Communication ids that are not connected: results and errors of every command. */
#include "abi_test.h"

FIXTURE(id) {
	struct abi s;
	int channel;
	__u32 id;		/* RC, not bound */
};

FIXTURE_SETUP(id)
{
	OK(abi_open(&self->s));
	self->channel = FD(abi_channel(&self->s));
	OK(abi_tcp_id(&self->s, self->channel, 0xabcdef0123456789ULL, &self->id));
}

TEARDOWN_CLOSES(id)

static int new_id(const struct abi *s, int channel, __u32 *id)
{
	return abi_tcp_id(s, channel, 0, id);
}

TEST_F(id, create)
{
	static const struct {
		__u32 ps, type;
	} good[] = {
		{ RDMA_PS_TCP, QPT_RC },
		{ RDMA_PS_UDP, QPT_UD },
		{ RDMA_PS_IPOIB, QPT_UD },
		{ RDMA_PS_IB, QPT_RC },
		{ RDMA_PS_IB, QPT_UC },
		{ RDMA_PS_IB, QPT_UD },
	};
	struct rdma_ep_cmd_create_id c = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL, .channel_fd = -1, .ps = RDMA_PS_TCP,
		.qp_type = QPT_RC,
	};
	__u32 id;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT_EQ(0, abi_create_id(&self->s, self->channel, good[i].ps,
					   good[i].type, 0, &id));
		EXPECT_NE(0, id);
	}
	OK(ABI(self->s.fd, CREATE_ID, &c));
	EXPECT_LE(0, c.channel_fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(c.channel_fd, F_GETFD));
	EXPECT_TRUE(abi_quiet(c.channel_fd));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, c.id));
	close(c.channel_fd);
	/* The id is destroyed with its channel. */
	OK(ABI(self->s.fd, CREATE_ID, &c));
	close(c.channel_fd);
	EXPECT_EQ(-ENOENT, ABI_DESTROY(&self->s, ID, c.id));
}

TEST_F(id, create_errors)
{
	static const __u32 bad_ps[] = { 0, 1, 3, 0x105, 0x107, 0x10106, ~0U };
	static const __u32 bad_type[] = { 0, 1, 5, 8, 255, 256 + 2, ~0U };
	struct abi other;
	__u32 id;

	for (size_t i = 0; i < ARRAY_SIZE(bad_ps); i++)
		LOGGED(EXPECT_EQ(-EINVAL, abi_create_id(&self->s, self->channel, bad_ps[i],
							QPT_RC, 0, &id)),
		       "port space 0x%x", bad_ps[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad_type); i++)
		LOGGED(EXPECT_EQ(-EINVAL, abi_create_id(&self->s, self->channel, RDMA_PS_IB,
							bad_type[i], 0, &id)),
		       "QP type %u", bad_type[i]);
	OK(abi_open(&other));

	const int bad_fd[] = {
		-1, 10000, open("/dev/null", O_RDWR), self->s.fd, abi_comp_channel(&self->s),
		abi_channel(&other),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad_fd); i++)
		LOGGED(EXPECT_EQ(-EBADF, new_id(&self->s, bad_fd[i], &id)), "channel %zu", i);
}

TEST_F(id, bind)
{
	struct rdma_ep_cmd_bind_addr b = { .id = self->id };
	struct rdma_ep_cmd_query_id q = { .id = self->id };
	struct sockaddr_in *src = (struct sockaddr_in *)&b.info.src;
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	__u32 id;

	OK(ABI(self->s.fd, QUERY_ID, &q));
	EXPECT_EQ(0, q.info.dev_index);
	EXPECT_EQ(0, q.info.node_guid);
	EXPECT_EQ(0, q.events_reported);

	memcpy(&b.addr, &self->s.addr, sizeof(self->s.addr));
	OK(ABI(self->s.fd, BIND_ADDR, &b));
	EXPECT_EQ(AF_INET, src->sin_family);
	EXPECT_EQ(self->s.addr.sin_addr.s_addr, src->sin_addr.s_addr);
	EXPECT_NE(0, src->sin_port);
	EXPECT_EQ(self->s.dev, b.info.dev_index);
	EXPECT_EQ(1, b.info.port_num);
	OK(ABI(self->s.fd, QUERY_DEVICE, &d));
	EXPECT_EQ(d.attr.node_guid, b.info.node_guid);
	if (!self->s.iwarp)
		EXPECT_EQ(0, memcmp(b.info.sgid, self->s.gid, 16));
	OK(ABI(self->s.fd, QUERY_ID, &q));
	EXPECT_EQ(0, memcmp(&q.info, &b.info, sizeof(q.info)));

	/* Already bound; the port in use by another id */
	EXPECT_EQ(-EINVAL, abi_bind_to(&self->s, self->id, &self->s.addr));
	OK(new_id(&self->s, self->channel, &id));
	EXPECT_EQ(-EADDRINUSE, abi_bind_to(&self->s, id, src));
	/* The failed bind leaves the id unbound. */
	src->sin_port = 0;
	EXPECT_EQ(0, abi_bind_to(&self->s, id, src));
}

TEST_F(id, ipv6)
{
	struct sockaddr_in6 sin6, *src;
	struct rdma_ep_cmd_bind_addr b = { .id = self->id };
	struct rdma_ep_channel_event ev;
	__u32 id;

	SKIP_IF(abi_addr6(&self->s, &sin6), "no IPv6 address");
	memcpy(&b.addr, &sin6, sizeof(sin6));
	OK(ABI(self->s.fd, BIND_ADDR, &b));
	EXPECT_EQ(self->s.dev, b.info.dev_index);
	src = (struct sockaddr_in6 *)&b.info.src;
	EXPECT_EQ(AF_INET6, src->sin6_family);
	EXPECT_EQ(0, memcmp(&src->sin6_addr, &sin6.sin6_addr, 16));

	OK(new_id(&self->s, self->channel, &id));
	sin6.sin6_port = htons(4719);
	OK(abi_resolve_addr(&self->s, id, &sin6, 5000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, &ev));
	EXPECT_EQ(0, memcmp(&ev.info.dst, &sin6, sizeof(sin6)));
}

TEST_F(id, bind_any)
{
	struct rdma_ep_cmd_bind_addr b = { .id = self->id };
	struct sockaddr_in *src = (struct sockaddr_in *)&b.info.src;
	struct sockaddr_in any = { .sin_family = AF_INET };
	int ret;

	memcpy(&b.addr, &any, sizeof(any));
	OK(ABI(self->s.fd, BIND_ADDR, &b));
	EXPECT_EQ(0, b.info.dev_index);
	EXPECT_EQ(0, b.info.port_num);
	EXPECT_EQ(0, b.info.node_guid);
	EXPECT_NE(0, src->sin_port);
	/* The id has neither a device nor a resolved address. */
	ret = ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 100);
	EXPECT_TRUE(ret == -ENODEV || ret == -EINVAL);
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
}

TEST_F(id, bind_errors)
{
	struct sockaddr_in sin = self->s.addr;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	sa_family_t family;
	int ret;

	EXPECT_EQ(-EAFNOSUPPORT, abi_bind_to(&self->s, self->id, &sun));
	family = 0xffff;
	EXPECT_EQ(-EAFNOSUPPORT, abi_bind_to(&self->s, self->id, &family));
	/* TEST-NET-1: not a local address */
	ASSERT_EQ(1, inet_pton(AF_INET, "192.0.2.1", &sin.sin_addr));
	ret = abi_bind_to(&self->s, self->id, &sin);
	LOGGED(EXPECT_TRUE(ret == -EADDRNOTAVAIL || ret == -ENODEV), "returned %d", ret);
	/* rdma_cm binds a loopback address to a device of any interface, if it can. */
	ASSERT_EQ(1, inet_pton(AF_INET, "127.0.0.1", &sin.sin_addr));
	ret = abi_bind_to(&self->s, self->id, &sin);
	LOGGED(EXPECT_TRUE(ret == -ENODEV || ret == -EADDRNOTAVAIL || !ret), "returned %d", ret);
}

TEST_F(id, privileged_port)
{
	struct sockaddr_in sin = self->s.addr;
	__u32 id;

	sin.sin_port = htons(81);
	OK(new_id(&self->s, self->channel, &id));
	EXPECT_EQ(0, abi_bind(&self->s, id, &sin));
	EXPECT_EQ(htons(81), sin.sin_port);
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));

	/* The caller's rights count, not those of the task that opened the session. */
	OK(abi_become_nobody());
	EXPECT_EQ(-EACCES, abi_bind(&self->s, self->id, &sin));
	sin.sin_port = htons(1023);
	EXPECT_EQ(-EACCES, abi_bind(&self->s, self->id, &sin));
	sin.sin_port = htons(1081);
	EXPECT_EQ(0, abi_bind(&self->s, self->id, &sin));
}

TEST_F(id, resolve)
{
	struct sockaddr_in dst = self->s.addr;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_cmd_query_id q = { .id = self->id };

	dst.sin_port = htons(4711);
	OK(abi_resolve_addr(&self->s, self->id, &dst, 5000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, &ev));
	EXPECT_EQ(0xabcdef0123456789ULL, ev.uid);
	EXPECT_EQ(self->id, ev.id);
	EXPECT_EQ(0, ev.child);
	EXPECT_EQ(0, ev.status);
	EXPECT_EQ(RDMA_EP_EVENT_INFO, ev.flags);
	EXPECT_EQ(0, ev.reserved);
	EXPECT_EQ(self->s.dev, ev.info.dev_index);
	EXPECT_EQ(1, ev.info.port_num);
	EXPECT_EQ(0, memcmp(&ev.info.dst, &dst, sizeof(dst)));
	EXPECT_EQ(self->s.addr.sin_addr.s_addr,
		  ((struct sockaddr_in *)&ev.info.src)->sin_addr.s_addr);
	EXPECT_EQ(0, ev.info.num_paths);

	/* An address is resolved once. */
	EXPECT_EQ(-EINVAL, abi_resolve_addr(&self->s, self->id, &dst, 5000));
	OK(ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 5000));
	ev = EXPECT_EVENT(self->channel, EV_ROUTE_RESOLVED, self->id);
	EXPECT_EQ(RDMA_EP_EVENT_INFO, ev.flags);
	if (!self->s.iwarp) {
		EXPECT_EQ(1, ev.info.num_paths);
		EXPECT_EQ(0, memcmp(ev.info.path[0].dgid, self->s.gid, 16));
		EXPECT_EQ(0, memcmp(ev.info.path[0].sgid, self->s.gid, 16));
		EXPECT_LT(0, ev.info.path[0].mtu);
	}
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 100));

	OK(ABI(self->s.fd, QUERY_ID, &q));
	EXPECT_EQ(2, q.events_reported);
	EXPECT_EQ(0, memcmp(&q.info, &ev.info, sizeof(q.info)));
}

TEST_F(id, resolve_errors)
{
	struct sockaddr_in dst = self->s.addr, other = dst;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct rdma_ep_channel_event ev = {};
	int ret;

	/* The id has no destination yet. */
	ret = ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 100);
	EXPECT_TRUE(ret == -ENODEV || ret == -EINVAL);
	EXPECT_EQ(-EAFNOSUPPORT, abi_resolve_addr(&self->s, self->id, &sun, 300));
	EXPECT_EQ(-EAFNOSUPPORT, abi_resolve_from(&self->s, self->id, &sun, &dst, 300));
	/* A source address that is not local */
	inet_pton(AF_INET, "192.0.2.1", &other.sin_addr);
	ret = abi_resolve_from(&self->s, self->id, &other, &dst, 300);
	LOGGED(EXPECT_TRUE(ret == -EADDRNOTAVAIL || ret == -ENODEV), "returned %d", ret);

	/* A neighbour that does not answer leads to an event. */
	dst.sin_addr.s_addr ^= htonl(0x4d);
	OK(abi_resolve_addr(&self->s, self->id, &dst, 300));
	ev = EXPECT_EVENT(self->channel, EV_ADDR_ERROR, self->id);
	LOGGED(EXPECT_TRUE(ev.status == -ETIMEDOUT || ev.status == -EHOSTUNREACH),
	       "status %d", ev.status);
}

TEST_F(id, listen)
{
	struct sockaddr_in sin;
	__u32 id;

	OK(abi_tcp_listen(&self->s, self->channel, 0, 0, &id, &sin));
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, LISTEN, id, 0));
	EXPECT_EQ(-EINVAL, abi_resolve_addr(&self->s, id, &sin, 100));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	/* An unbound id listens at any address. A backlog above the limit is reduced. */
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, self->id, ~0U));
}

/* Commands that need a connection, or a request for one */
TEST_F(id, states)
{
	struct rdma_ep_cmd_reject r = { .id = self->id };
	struct sockaddr_in sin = self->s.addr;
	struct rdma_ep_cmd_create_qp qp;
	__u32 cq;

	OK(abi_create_cq(&self->s, -1, 64, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_RC, cq, 0, &qp));
	for (int bound = 0; bound < 2; bound++) {
		EXPECT_EQ(-EINVAL, abi_connect(&self->s, self->id, qp.init.qp_num));
		EXPECT_EQ(-EINVAL, abi_accept(&self->s, self->id, 1, qp.init.qp_num));
		EXPECT_EQ(-EINVAL, ABI(self->s.fd, REJECT, &r));
		EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, DISCONNECT, self->id, 0));
		EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, ESTABLISH, self->id, 0));
		if (!bound)
			OK(abi_bind(&self->s, self->id, &sin));
	}
	/* Bound, but without a destination */
	EXPECT_EQ(-EINVAL, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 100));
}

static int set_option(const struct abi *s, __u32 id, __u32 level, __u32 name,
		      const void *val, __u32 len)
{
	struct rdma_ep_cmd_set_option o = {
		.id = id, .level = level, .optname = name, .optlen = len, .optval = (uintptr_t)val,
	};

	return ABI(s->fd, SET_OPTION, &o);
}

TEST_F(id, options)
{
	const struct abi *s = &self->s;
	struct sockaddr_in sin;
	__u8 tos = 0x28, timeout = 14, too_long = 32;
	int one = 1;
	__u32 id[2];

	const struct {
		int ret;
		__u32 level, name;
		const void *val;
		__u32 len;
	} cases[] = {
		{ 0, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1 },
		{ 0, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, 4 },
		{ 0, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 4 },
		{ 0, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1 },
		{ -EINVAL, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &too_long, 1 },
		{ -ENOSYS, RDMA_OPTION_ID, 99, &one, 4 },
		{ -ENOSYS, RDMA_OPTION_IB, 99, &one, 4 },
		{ -ENOSYS, 2, 0, &one, 4 },
		{ -ENOSYS, ~0U, 0, &one, 4 },
		{ -EINVAL, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &one, 4 },
		{ -EINVAL, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 0 },
		{ -EINVAL, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &tos, 1 },
		{ -EINVAL, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &one, 4 },
		{ -EINVAL, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, ~0U },
		{ -EFAULT, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)16, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		LOGGED(EXPECT_EQ(cases[i].ret,
				 set_option(s, self->id, cases[i].level, cases[i].name,
					    cases[i].val, cases[i].len)),
		       "option %zu", i);

	/* Two ids share a port if both have set REUSEADDR. */
	sin = s->addr;
	OK(abi_bind(s, self->id, &sin));
	for (int i = 0; i < 2; i++) {
		OK(new_id(s, self->channel, &id[i]));
		if (i)
			EXPECT_EQ(0, set_option(s, id[i], RDMA_OPTION_ID,
						RDMA_OPTION_ID_REUSEADDR, &one, 4));
		EXPECT_EQ(i ? 0 : -EADDRINUSE, abi_bind(s, id[i], &sin));
	}
	/* While they share it neither can listen. A listener refuses AFONLY. */
	EXPECT_EQ(-EADDRINUSE, ABI_ID_CMD(s, LISTEN, self->id, 0));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, id[1]));
	EXPECT_EQ(0, ABI_ID_CMD(s, LISTEN, self->id, 0));
	EXPECT_EQ(-EINVAL, set_option(s, self->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 4));
}

/* Without a connection INIT_QP_ATTR returns the attributes of INIT, whatever the state. */
TEST_F(id, init_qp_attr)
{
	struct rdma_ep_cmd_init_qp_attr a = { .id = self->id, .qp_state = QPS_INIT };
	struct sockaddr_in sin = self->s.addr;

	EXPECT_EQ(-EINVAL, ABI(self->s.fd, INIT_QP_ATTR, &a));
	OK(abi_bind(&self->s, self->id, &sin));
	for (__u32 state = QPS_INIT; state <= QPS_ERR; state++) {
		memset(&a.attr, 0xff, sizeof(a.attr));
		a.qp_state = state;
		OK(ABI(self->s.fd, INIT_QP_ATTR, &a));
		EXPECT_EQ(state, a.attr.qp_state);
		EXPECT_EQ(QP_STATE, a.attr.qp_attr_mask & QP_STATE);
		if (self->s.iwarp)
			continue;
		EXPECT_EQ(QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS,
			  a.attr.qp_attr_mask);
		EXPECT_EQ(1, a.attr.port_num);
		/* Attributes that the kernel does not set are 0. */
		EXPECT_EQ(0, a.attr.dest_qp_num);
		EXPECT_EQ(0, a.attr.path_mtu);
	}
	a.qp_state = QPS_ERR + 1;
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, INIT_QP_ATTR, &a));
	a.qp_state = ~0U;
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, INIT_QP_ATTR, &a));
}

static int migrate(const struct abi *s, __u32 id, int channel, __u32 *reported)
{
	struct rdma_ep_cmd_migrate_id m = { .id = id, .channel_fd = channel };
	int ret = ABI(s->fd, MIGRATE_ID, &m);

	*reported = m.events_reported;
	return ret;
}

TEST_F(id, migrate)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_migrate_id m = { .flags = RDMA_EP_ID_PRIVATE_CHANNEL, .id = self->id };
	struct sockaddr_in dst = s->addr;
	int second = abi_channel(s);
	struct abi other;
	int bad_fd[5];
	__u32 reported;

	/* One event has been read, one has not. */
	dst.sin_port = htons(4712);
	OK(abi_resolve_addr(s, self->id, &dst, 5000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	OK(ABI_ID_CMD(s, RESOLVE_ROUTE, self->id, 5000));
	ASSERT_TRUE(abi_ready(self->channel, ABI_WAIT_MS));

	OK(abi_open(&other));
	bad_fd[0] = -1;
	bad_fd[1] = 0;
	bad_fd[2] = s->fd;
	bad_fd[3] = abi_comp_channel(s);
	bad_fd[4] = abi_channel(&other);
	for (size_t i = 0; i < ARRAY_SIZE(bad_fd); i++)
		LOGGED(EXPECT_EQ(-EBADF, migrate(s, self->id, bad_fd[i], &reported)),
		       "channel %zu", i);
	EXPECT_TRUE(abi_ready(self->channel, 0));

	EXPECT_EQ(0, migrate(s, self->id, second, &reported));
	EXPECT_EQ(1, reported);
	EXPECT_FALSE(abi_ready(self->channel, 0));
	EXPECT_TRUE(abi_ready(second, 0));
	OK(ABI(s->fd, MIGRATE_ID, &m));
	EXPECT_EQ(1, m.events_reported);
	EXPECT_EQ(FD_CLOEXEC, fcntl(m.channel_fd, F_GETFD));
	EXPECT_FALSE(abi_ready(second, 0));
	EXPECT_EVENT(m.channel_fd, EV_ROUTE_RESOLVED, self->id);
	/* Back, without unread events */
	EXPECT_EQ(0, migrate(s, self->id, self->channel, &reported));
	EXPECT_EQ(2, reported);
	EXPECT_TRUE(abi_quiet(self->channel));
}

/* The destruction of an id drops its own unread events only. */
TEST_F(id, destroy_with_events)
{
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_destroy d = { .type = RDMA_EP_OBJ_ID };
	struct sockaddr_in dst = s->addr;
	struct rdma_ep_channel_event ev;
	__u32 id;

	dst.sin_port = htons(4713);
	OK(abi_tcp_id(s, self->channel, 55, &id));
	OK(abi_resolve_addr(s, id, &dst, 5000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, &ev));
	EXPECT_EQ(55, ev.uid);
	OK(ABI_ID_CMD(s, RESOLVE_ROUTE, id, 5000));
	ASSERT_TRUE(abi_ready(self->channel, ABI_WAIT_MS));
	OK(abi_resolve_addr(s, self->id, &dst, 5000));
	usleep(ABI_QUIET_MS * 1000);

	d.handle = id;
	OK(ABI(s->fd, DESTROY, &d));
	EXPECT_EQ(1, d.events_reported);
	EXPECT_EQ(0, d.comp_events_reported);
	EXPECT_EVENT(self->channel, EV_ADDR_RESOLVED, self->id);
	EXPECT_TRUE(abi_quiet(self->channel));
}

/* The time to close a session with @ids ids and @events unread events of the last 16, or -1 */
static long close_ms(int ids, int events)
{
	struct rdma_ep_cmd_write_event w = { .event = RDMA_EP_CM_EVENT_USER };
	__u32 last[16];
	struct abi s;
	int channel;
	long start;

	if (abi_open(&s))
		return -1;
	channel = abi_channel(&s);
	while (ids--)
		if (new_id(&s, channel, &last[ids % ARRAY_SIZE(last)]))
			return -1;
	while (events--) {
		w.id = last[events % ARRAY_SIZE(last)];
		if (ABI(s.fd, WRITE_EVENT, &w))
			return -1;
	}
	start = abi_now_ms();
	abi_close(&s);
	return abi_now_ms() - start;
}

/* The destruction of an id does not walk the unread events of other ids. */
TEST_F_TIMEOUT(id, close_with_events, 120)
{
	long without = close_ms(8000, 0), with = close_ms(8000, 40000);

	ASSERT_LE(0, without);
	ASSERT_LE(0, with);
	LOGGED(EXPECT_GT(2 * without + 2000 * TEST_SCALE, with),
	       "%ld ms, without %ld ms", with, without);
}

TEST_HARNESS_MAIN
