// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces, in both modes of "rdma system set netns": devices and addresses of another
 * namespace cannot be used, even with a session that was opened there.
 */
#include "abi_test.h"

static int new_id(const struct abi *s, int channel, __u32 *id)
{
	return abi_tcp_id(s, channel, 0, id);
}

/* Is there no route to the address, by an errno or an event? */
static bool unreachable(struct abi *s, int channel)
{
	struct sockaddr_in sin = s->addr;
	__u32 id;

	sin.sin_port = htons(7000);
	if (new_id(s, channel, &id))
		return false;
	if (abi_resolve_addr(s, id, &sin, 500))
		return true;
	return !abi_event(channel, EV_ADDR_ERROR, NULL);
}

/* A session that is used in a new namespace */
struct moved {
	struct abi s;
	int channel;
	__u32 id;			/* created in the old namespace */
	struct sockaddr_in sin;		/* of a listener in the old namespace */
	int fds[4];
};

static int in_a_new_one(void *arg)
{
	struct moved *m = arg;
	struct sockaddr_in sin = m->s.addr, any = m->sin;
	struct rdma_ep_channel_event ev;
	__u32 id, listener;
	char c;

	CHECK(1, unshare(CLONE_NEWNET) == 0);
	CHECK(2, system("ip link set lo up") == 0);
	/* The address exists only for an id that was created in the old namespace. */
	CHECK(3, new_id(&m->s, m->channel, &id) == 0);
	CHECK(4, abi_bind(&m->s, id, &sin) < 0);
	CHECK(5, unreachable(&m->s, m->channel));
	CHECK(6, abi_bind(&m->s, m->id, &sin) == 0);
	/* The port is free here, and connections in the old namespace do not arrive here. */
	any.sin_addr.s_addr = 0;
	CHECK(7, new_id(&m->s, m->channel, &listener) == 0);
	CHECK(8, abi_bind(&m->s, listener, &any) == 0);
	CHECK(9, ABI_ID_CMD(&m->s, LISTEN, listener, 4) == 0);
	CHECK(10, write(m->fds[1], "", 1) == 1);
	CHECK(11, read(m->fds[2], &c, 1) == 1);
	CHECK(12, abi_read(m->channel, &ev, sizeof(ev), ABI_QUIET_MS) == -ETIMEDOUT);
	return 0;
}

TEST(addresses)
{
	struct moved m = {};
	__u32 listener, id;
	int channel, client;
	struct abi s;
	pid_t pid;
	char c;

	OK(abi_open(&s));
	OK(abi_open(&m.s));
	channel = abi_channel(&s);
	client = abi_channel(&s);
	m.channel = abi_channel(&m.s);
	OK(new_id(&m.s, m.channel, &m.id));
	OK(abi_tcp_listen(&s, channel, 0, 0, &listener, &m.sin));
	OK(pipe(m.fds));
	OK(pipe(m.fds + 2));
	pid = fork();
	if (!pid)
		_exit(in_a_new_one(&m));
	close(m.fds[1]);
	EXPECT_EQ(1, read(m.fds[0], &c, 1));
	/* The client reaches the listener of its own namespace. */
	EXPECT_EQ(0, abi_tcp_client(&s, client, &m.sin, 0, &id));
	if (!s.iwarp) {
		struct rdma_ep_cmd_create_qp qp;

		OK(abi_id_qp(&s, id, &qp));
		EXPECT_EQ(0, abi_connect(&s, id, 0));
		EXPECT_EQ(0, abi_event(channel, EV_CONNECT_REQUEST, NULL));
	}
	EXPECT_EQ(1, write(m.fds[3], "", 1));
	EXPECT_SUCCESS(pid);
}

/* The mode can be changed only when no other namespace exists; they end after some time. */
static int set_mode(const char *mode)
{
	for (int i = 0; i < 100; i++) {
		if (!abi_system("rdma system set netns %s 2>/dev/null", mode))
			return 0;
		usleep(100000);
	}
	return -EBUSY;
}

FIXTURE(exclusive) {
	struct abi s;
	int channel;
	__u32 id;
};

FIXTURE_SETUP(exclusive)
{
	OK(set_mode("exclusive"));
	OK(abi_open(&self->s));
	self->channel = abi_channel(&self->s);
	OK(new_id(&self->s, self->channel, &self->id));
}

FIXTURE_TEARDOWN(exclusive)
{
	abi_close(&self->s);
	EXPECT_EQ(0, set_mode("shared"));
}

/* No query shows a device of another namespace, and it cannot be opened. */
static int invisible(const struct abi *s)
{
	struct rdma_ep_device_info devs[4];
	struct ib_uverbs_gid_entry gids[64];
	struct rdma_ep_cmd_query_devices q = { .devices = (uintptr_t)devs, .max = 4 };
	struct rdma_ep_cmd_query_device dev = { .dev_index = s->dev };
	struct rdma_ep_cmd_query_port port = { .dev_index = s->dev, .port_num = 1 };
	struct rdma_ep_cmd_query_gid gid = {
		.dev_index = s->dev, .port_num = 1, .gid_index = s->gid_index,
	};
	struct rdma_ep_cmd_query_gid_table table = {
		.dev_index = s->dev, .max = 64, .entries = (uintptr_t)gids,
	};
	struct rdma_ep_cmd_query_pkey pkey = { .dev_index = s->dev, .port_num = 1 };
	struct rdma_ep_cmd_open_device open = {};

	CHECK(30, ABI(s->fd, QUERY_DEVICES, &q) == 0);
	CHECK(31, q.num == 0);
	for (open.dev_index = 0; open.dev_index < s->dev + 4; open.dev_index++) {
		CHECK(32, ABI_WITH(s->fd, OPEN_DEVICE, open, flags, 0) == -ENODEV);
		CHECK(33, ABI_WITH(s->fd, OPEN_DEVICE, open, flags, RDMA_EP_OPEN_DEFAULT) ==
			  -ENODEV);
	}
	CHECK(34, ABI(s->fd, QUERY_DEVICE, &dev) == -ENODEV);
	CHECK(35, ABI(s->fd, QUERY_PORT, &port) == -ENODEV);
	CHECK(36, ABI(s->fd, QUERY_GID, &gid) == -ENODEV);
	CHECK(37, ABI(s->fd, QUERY_GID_TABLE, &table) == -ENODEV);
	CHECK(38, ABI(s->fd, QUERY_PKEY, &pkey) == -ENODEV);
	return 0;
}

/* Does the session's fdinfo show the device of an id? */
static bool shows_devices(int fd)
{
	FILE *f = abi_fdinfo_open(fd);
	char line[256], dev[64];
	bool shows = false;

	if (!f)
		return true;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "id: %*u %*s %*s %*s %*s %63s", dev) == 1)
			shows |= strcmp(dev, "-") != 0;
	fclose(f);
	return shows;
}

static int create_ep(const struct abi *s, const struct sockaddr_in *sin)
{
	struct rdma_ep_cmd_create_ep ep = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP, .ps = RDMA_PS_TCP,
		.qp_type = QPT_RC, .addr_timeout_ms = 200, .route_timeout_ms = 200,
	};

	memcpy(&ep.dst, sin, sizeof(*sin));
	abi_auto_qp(&ep.qp);
	return ABI(s->fd, CREATE_EP, &ep);
}

/* Any device could serve loopback. The address may resolve, but the id gets no device. */
static int loopback(const struct abi *s, int channel, __u32 addr)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(addr), .sin_port = htons(7000),
	};
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_query_id q = {};
	struct rdma_ep_channel_event ev = {};
	__u32 id;

	CHECK(40, new_id(s, channel, &id) == 0);
	if (!abi_resolve_addr(s, id, &sin, 500))
		abi_read(channel, &ev, sizeof(ev), ABI_WAIT_MS);
	q.id = id;
	CHECK(41, ABI(s->fd, QUERY_ID, &q) || !q.info.dev_index);
	CHECK(45, !ev.info.dev_index && !ev.info.node_guid && !ev.info.port_num);
	CHECK(46, !shows_devices(s->fd));
	abi_qp_attr(&qp, QPT_RC, 0, 0, 0);
	qp.id = id;
	CHECK(42, ABI(s->fd, CREATE_QP, &qp) < 0);
	CHECK(43, abi_connect(s, id, 0x123456) < 0);
	CHECK(44, create_ep(s, &sin) < 0);
	return 0;
}

static int outside(void *arg)
{
	const struct abi *before = arg;
	struct abi own = *before;
	struct sockaddr_in sin = before->addr;
	int ret, channel;
	__u32 id;

	CHECK(1, unshare(CLONE_NEWNET) == 0);
	CHECK(2, system("ip link set lo up") == 0);
	/* With the old session, and with a new one */
	ret = invisible(before);
	if (ret)
		return ret;
	own.fd = abi_open_node();
	CHECK(3, own.fd >= 0);
	ret = invisible(&own);
	if (ret)
		return ret + 20;
	channel = abi_channel(&own);
	CHECK(4, new_id(&own, channel, &id) == 0);
	CHECK(5, abi_bind(&own, id, &sin) < 0);
	CHECK(6, unreachable(&own, channel));
	CHECK(7, create_ep(&own, &sin) < 0);
	return loopback(&own, channel, INADDR_LOOPBACK) ?:
	       loopback(&own, channel, INADDR_ANY);
}

/* An interface with the device's address does not make the device usable. */
static int outside_with_address(void *arg)
{
	const struct abi *s = arg;
	struct sockaddr_in sin = s->addr;
	struct abi own = *s;
	int channel;
	__u32 id;

	CHECK(1, unshare(CLONE_NEWNET) == 0);
	CHECK(2, system("ip link set lo up") == 0);
	CHECK(6, abi_add_netdev("d0", inet_ntoa(sin.sin_addr)) == 0);
	own.fd = abi_open_node();
	channel = abi_channel(&own);
	CHECK(3, new_id(&own, channel, &id) == 0);
	CHECK(4, abi_bind(&own, id, &sin) < 0);
	CHECK(5, unreachable(&own, channel));
	return 0;
}

TEST_F(exclusive, devices)
{
	struct abi_pair p = {};
	__u32 pd;

	EXPECT_EQ(0, abi_child(outside, &self->s));
	EXPECT_EQ(0, abi_child(outside_with_address, &self->s));
	/* In its own namespace the device still works. */
	EXPECT_EQ(0, abi_alloc_pd(&self->s, self->s.ctx, &pd));
	EXPECT_EQ(0, abi_pair_open(&self->s, &p));
}

/*
 * A process that received a session can use its contexts in any namespace, as the opener passed
 * them. It cannot open the device.
 */
static int with_what_there_is(void *arg)
{
	struct abi *s = arg;
	__u32 pd, ctx;
	int fd;

	CHECK(1, unshare(CLONE_NEWNET) == 0);
	CHECK(2, abi_alloc_pd(s, s->ctx, &pd) == 0);
	CHECK(3, ABI_DESTROY(s, PD, pd) == 0);
	CHECK(4, abi_ctx(s, &ctx, &fd) == -ENODEV);
	return 0;
}

TEST_F(exclusive, passed_session)
{
	struct sockaddr_in sin = self->s.addr;

	EXPECT_EQ(0, abi_child(with_what_there_is, &self->s));
	EXPECT_EQ(0, abi_bind(&self->s, self->id, &sin));
}

/* In shared mode a device of another namespace can be used, but not its addresses. */
static int with_shared_device(const struct abi *before)
{
	struct ib_uverbs_gid_entry gids[64];
	struct rdma_ep_cmd_query_gid_table table = {
		.dev_index = before->dev, .max = 64, .entries = (uintptr_t)gids,
	};
	struct rdma_ep_cmd_query_gid gid = {
		.dev_index = before->dev, .port_num = 1, .gid_index = before->gid_index,
	};
	struct rdma_ep_cmd_create_qp qp;
	struct abi own = *before;
	__u32 cq, ah;
	int channel;

	own.fd = abi_open_node();
	CHECK(21, abi_open_default(&own) == 0);
	CHECK(22, ABI(own.fd, QUERY_GID, &gid) == 0);
	CHECK(23, gid.ndev_ifindex == 0);
	CHECK(24, ABI(own.fd, QUERY_GID_TABLE, &table) == 0 && table.num);
	for (__u32 i = 0; i < table.num; i++)
		CHECK(25, gids[i].netdev_ifindex == 0);
	if (!own.iwarp) {
		CHECK(26, abi_create_ah(&own, own.pd, &ah) == -ENODATA);
		CHECK(27, abi_create_cq(&own, -1, 8, 0, &cq) == 0);
		abi_qp_attr(&qp, QPT_RC, own.pd, cq, cq);
		CHECK(28, ABI(own.fd, CREATE_QP, &qp) == 0);
		CHECK(29, abi_qp_init(&own, qp.init.qp, QPT_RC, 0) == 0);
		CHECK(30, abi_qp_rts(&own, qp.init.qp, QPT_RC, qp.init.qp_num) == -ENODATA);
		/* A context can use the addresses of the namespace that it was opened in. */
		CHECK(31, abi_create_ah(before, before->pd, &ah) == 0);
	}
	channel = abi_channel(&own);
	return loopback(&own, channel, INADDR_LOOPBACK) ?:
	       loopback(&own, channel, INADDR_ANY);
}

static int in_shared_mode(void *arg)
{
	CHECK(1, unshare(CLONE_NEWNET) == 0);
	CHECK(2, system("ip link set lo up") == 0);
	return with_shared_device(arg);
}

/* The device's interface is in another namespace; a macvlan on top of it is in this one. */
static int in_macvlan(void *arg)
{
	struct abi *s = arg;
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char dev[IF_NAMESIZE];
	struct rdma_ep_cmd_query_id q = {};
	struct rdma_ep_channel_event ev;
	int channel, ret = -1;
	__u32 id;

	CHECK(51, if_indextoname(s->netdev, dev));
	CHECK(52, unshare(CLONE_NEWNET) == 0);
	CHECK(53, abi_system("nsenter -t %d -n ip link add ep_mv0 link %s netns %d type macvlan mode bridge",
			     getppid(), dev, getpid()) == 0);
	CHECK(54, system("ip addr add 10.98.7.1/24 dev ep_mv0 && ip link set ep_mv0 up") == 0);
	sin.sin_addr.s_addr = inet_addr("10.98.7.1");
	s->fd = abi_open_node();
	channel = abi_channel(s);
	/* A work item of ib_core adds the address to the device's GID table. */
	for (int i = 0; i < 50 && ret; i++) {
		CHECK(55, new_id(s, channel, &id) == 0);
		ret = abi_bind(s, id, &sin);
		if (ret)
			usleep(100000 * TEST_SCALE);
	}
	CHECK(56, ret == 0);
	q.id = id;
	CHECK(57, ABI(s->fd, QUERY_ID, &q) == 0 && q.info.dev_index == s->dev);
	CHECK(58, ABI_ID_CMD(s, LISTEN, id, 4) == 0);
	CHECK(59, new_id(s, channel, &id) == 0);
	sin.sin_port = htons(7000);
	CHECK(60, abi_resolve_addr(s, id, &sin, 2000) == 0);
	CHECK(61, abi_event(channel, EV_ADDR_RESOLVED, &ev) == 0);
	CHECK(62, ev.info.dev_index == s->dev);
	return 0;
}

TEST(macvlan)
{
	struct abi s;

	OK(abi_open(&s));
	SKIP_IF(s.iwarp, "siw: a device has the addresses of one interface");
	EXPECT_EQ(0, abi_child(in_macvlan, &s));
	abi_close(&s);
}

/* Linux 6.1 looks devices of iWARP up by link address, which any interface can have. */
static int with_its_link_address(void *arg)
{
	struct abi *s = arg;
	struct rdma_ep_cmd_query_gid gid = { .dev_index = s->dev, .port_num = 1 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct rdma_ep_cmd_query_id q = {};
	struct rdma_ep_cmd_create_qp qp;
	const __u8 *mac = gid.gid;
	int channel;
	__u32 id;

	CHECK(71, ABI(s->fd, QUERY_GID, &gid) == 0);
	CHECK(72, unshare(CLONE_NEWNET) == 0);
	CHECK(73, system("ip link set lo up") == 0 &&
	      abi_system("ip link add ep_d0 address %02x:%02x:%02x:%02x:%02x:%02x type dummy",
			 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]) == 0);
	CHECK(77, system("ip addr add 10.98.7.1/24 dev ep_d0 && ip link set ep_d0 up") == 0);
	sin.sin_addr.s_addr = inet_addr("10.98.7.1");
	s->fd = abi_open_node();
	channel = abi_channel(s);
	CHECK(74, new_id(s, channel, &id) == 0);
	abi_bind(s, id, &sin);
	q.id = id;
	CHECK(75, ABI(s->fd, QUERY_ID, &q) || !q.info.dev_index);
	abi_qp_attr(&qp, QPT_RC, 0, 0, 0);
	qp.id = id;
	CHECK(76, ABI(s->fd, CREATE_QP, &qp) < 0);
	return 0;
}

TEST(link_address)
{
	struct abi s;

	OK(abi_open(&s));
	SKIP_IF(!s.iwarp, "a GID of RoCE is an address of its interface");
	EXPECT_EQ(0, abi_child(with_its_link_address, &s));
	abi_close(&s);
}

TEST(shared)
{
	struct abi s;
	__u32 ah;

	OK(abi_open(&s));
	EXPECT_EQ(0, abi_child(in_shared_mode, &s));
	if (!s.iwarp)
		EXPECT_EQ(0, abi_create_ah(&s, s.pd, &ah));
	abi_close(&s);
}

#define C1	"ip netns exec ep_c1 "
#define C2	"ip netns exec ep_c2 "

/* Two siw devices, each with its interface in a namespace */
FIXTURE(namespaces) {
};

static void remove_namespaces(void)
{
	system("{ rdma link del siw_c1; rdma link del siw_c2; ip netns del ep_c1; ip netns del ep_c2; } 2>/dev/null");
}

FIXTURE_SETUP(namespaces)
{
	static const char * const setup[] = {
		"ip netns add ep_c1",
		"ip netns add ep_c2",
		"ip link add ep_v1 netns ep_c1 type veth peer name ep_v2 netns ep_c2",
		C1 "ip addr add 10.77.0.1/24 dev ep_v1",
		C2 "ip addr add 10.77.0.2/24 dev ep_v2",
		C1 "ip link set lo up",
		C2 "ip link set lo up",
		C1 "ip link set ep_v1 up",
		C2 "ip link set ep_v2 up",
		C1 "rdma link add siw_c1 type siw netdev ep_v1",
		C2 "rdma link add siw_c2 type siw netdev ep_v2",
	};

	if (system("modprobe -q siw"))
		SKIP_FIXTURE("no siw");
	remove_namespaces();
	for (size_t i = 0; i < ARRAY_SIZE(setup); i++)
		LOGGED(ASSERT_EQ(0, system(setup[i])), "%s", setup[i]);
}

FIXTURE_TEARDOWN(namespaces)
{
	remove_namespaces();
}

static int enter(const char *name)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

static int open_in(struct abi *s, const char *ns, const char *dev, const char *addr)
{
	setenv("RDMA_DEV", dev, 1);
	setenv("RDMA_EP_TEST_ADDR", addr, 1);
	return enter(ns) ?: abi_open(s);
}

/*
 * A connection within each namespace. The task of the first session then uses it in the second
 * namespace.
 */
static int two_namespaces(void *arg)
{
	struct sockaddr_in there, here;
	struct abi_pair p = {};
	struct abi s[2];
	__u32 id, early;
	int channel;

	CHECK(1, open_in(&s[0], "ep_c1", "siw_c1", "10.77.0.1") == 0);
	CHECK(2, abi_pair_open(&s[0], &p) == 0);
	channel = abi_channel(&s[0]);
	CHECK(3, new_id(&s[0], channel, &early) == 0);
	CHECK(4, open_in(&s[1], "ep_c2", "siw_c2", "10.77.0.2") == 0);
	memset(&p, 0, sizeof(p));
	CHECK(5, abi_pair_open(&s[1], &p) == 0);
	/* The namespace of the task counts for new ids of the first session. */
	here = s[1].addr;
	there = s[0].addr;
	CHECK(6, new_id(&s[0], channel, &id) == 0);
	CHECK(7, abi_bind(&s[0], id, &there) < 0);
	CHECK(8, abi_bind(&s[0], id, &here) == 0);
	/* An id stays in the namespace that it was created in. */
	here = s[1].addr;
	CHECK(9, abi_bind(&s[0], early, &here) < 0);
	CHECK(10, abi_bind(&s[0], early, &there) == 0);
	return 0;
}

TEST_F(namespaces, siw)
{
	EXPECT_EQ(0, abi_child(two_namespaces, NULL));
}

TEST_HARNESS_MAIN
