// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules of the administrator: devices that only some tasks may use, and the grammar.
 *
 * The tests fail if a task opens a closed device, gets its attributes, or listens, connects or
 * joins on it, and if only a part of the rules takes effect.
 */
#include <linux/capability.h>

#include "abi_group.h"

/* A rule about the device under test */
static const char *device_rule(const struct abi *s, const char *condition)
{
	static struct rdma_ep_device_info info;
	static char rule[256];

	/* The previous rule may close the device to the caller. */
	if (!info.dev_index)
		abi_device_info(s, &info);
	snprintf(rule, sizeof(rule), "device=%.64s %s", info.name, condition);
	return rule;
}

/* @arg: a session of a task that may use the device */
static int closed(void *arg)
{
	const struct abi *old = arg;
	struct rdma_ep_cmd_open_device open_dev = { .dev_index = old->dev };
	struct rdma_ep_device_info info;
	struct rdma_ep_cmd_query_port port = { .dev_index = old->dev, .port_num = 1 };
	const struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_ep_cmd_create_ep e;
	struct sockaddr_in sin = old->addr;
	struct abi s = *old;
	int channel;
	__u32 id;

	CHECK(1, abi_become(1000) == 0);
	s.fd = abi_open_node();
	CHECK(2, s.fd >= 0 && abi_device_info(&s, &info) == -ENODEV);
	CHECK(3, ABI(s.fd, OPEN_DEVICE, &open_dev) == -EACCES);
	CHECK(4, ABI(s.fd, QUERY_PORT, &port) == -EACCES);
	channel = abi_channel(&s);
	sin.sin_port = 0;
	/* An id that is bound to the device's address */
	CHECK(5, abi_tcp_id(&s, channel, 0, &id) == 0 && abi_bind(&s, id, &sin) == 0);
	CHECK(6, ABI_ID_CMD(&s, LISTEN, id, 1) == -EACCES);
	/* An id that would listen on all devices */
	CHECK(7, abi_tcp_id(&s, channel, 0, &id) == 0);
	CHECK(8, abi_bind_to(&s, id, &any) == 0);
	CHECK(9, ABI_ID_CMD(&s, LISTEN, id, 1) == -EACCES);
	/* An id of a client */
	CHECK(10, abi_tcp_id(&s, channel, 0, &id) == 0);
	CHECK(11, abi_resolve(&s, channel, id, &old->addr) == 0);
	CHECK(14, ABI_ID_CMD(&s, RESOLVE_ROUTE, id, 1000) == -EACCES);
	CHECK(15, abi_connect(&s, id, 0) == -EACCES);
	if (!s.iwarp) {
		CHECK(16, abi_ud_id(&s, channel, 0, &id) == 0);
		CHECK(17, abi_join(&s, id, 1, 0, &id) == -EACCES);
	}
	abi_own_ep(&s, 4732, &e);
	CHECK(12, ABI(s.fd, CREATE_EP, &e) == -EACCES);
	/* In a passed session the device cannot be opened, either. */
	open_dev = (struct rdma_ep_cmd_open_device) { .dev_index = old->dev };
	CHECK(13, ABI(old->fd, OPEN_DEVICE, &open_dev) == -EACCES);
	return 0;
}

/* Returns 2 if the device is closed to the task. */
static int opened(void *arg)
{
	const char *group = arg;
	struct abi s;

	CHECK(1, (!group || move_to(group) == 0) && abi_become(1000) == 0);
	CHECK(2, abi_open(&s) == 0);
	return 0;
}

TEST_F(group, device_for_some_only)
{
	struct abi s;

	OK(abi_open(&s));
	OK(set_rules(device_rule(&s, "gid=0")));
	EXPECT_EQ(0, abi_child(closed, &s));
	/* One of several groups */
	OK(set_rules(device_rule(&s, "gid=3,1000")));
	EXPECT_EQ(0, abi_child(opened, NULL));
	/* A cgroup or one below it; all conditions must hold. */
	OK(set_rules(device_rule(&s, "cgroup=/ep_*/a")));
	EXPECT_EQ(0, abi_child(opened, "/ep_test/a"));
	EXPECT_EQ(0, abi_child(opened, "/ep_test/a/sub"));
	EXPECT_EQ(2, abi_child(opened, "/ep_test/b"));
	OK(set_rules(device_rule(&s, "cgroup=/ep_*/a gid=0")));
	EXPECT_EQ(2, abi_child(opened, "/ep_test/a"));
	/* A rule for a driver; devices of other drivers stay open. */
	OK(set_rules(s.mock ? "device=* gid=0" :
		     s.iwarp ? "driver=siw gid=0" : "driver=rxe gid=0"));
	EXPECT_EQ(0, abi_child(closed, &s));
	OK(set_rules(s.iwarp ? "driver=rxe gid=0" : "driver=siw gid=0"));
	EXPECT_EQ(0, abi_child(opened, NULL));
	/* One of several rules must allow the task. */
	OK(set_rules("device=* gid=0\ndevice=* gid=1000"));
	EXPECT_EQ(0, abi_child(opened, NULL));
	abi_close(&s);
}

#define LISTENER_PORT	4735

/* @arg: a socket, for a session in which uid 1000 listens at all addresses, and its channel */
static int listen_and_send(void *arg)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(LISTENER_PORT) };
	struct abi s = {};
	int channel;
	__u32 id;

	CHECK(1, abi_become(1000) == 0);
	s.fd = abi_open_node();
	CHECK(2, s.fd >= 0);
	channel = abi_channel(&s);
	CHECK(3, abi_tcp_id(&s, channel, 0, &id) == 0 && abi_bind(&s, id, &any) == 0);
	CHECK(4, ABI_ID_CMD(&s, LISTEN, id, 4) == 0);
	CHECK(5, abi_send_fd(*(int *)arg, s.fd) == 0 && abi_send_fd(*(int *)arg, channel) == 0);
	return 0;
}

/*
 * An id that listens at all addresses also listens on devices that come later. A rule that comes
 * later stands for such a device here.
 */
TEST_F(group, listener_at_all_addresses_gets_no_request_of_a_closed_device)
{
	int sockets[2], fd, channel, client;
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	struct abi s;
	__u32 id;

	OK(abi_open(&s));
	client = abi_channel(&s);
	sin = s.addr;
	sin.sin_port = htons(LISTENER_PORT);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, abi_child(listen_and_send, &sockets[1]));
	fd = FD(abi_recv_fd(sockets[0]));
	channel = FD(abi_recv_fd(sockets[0]));

	OK(set_rules(device_rule(&s, "gid=0")));
	OK(abi_tcp_client(&s, client, &sin, 0, &id));
	OK(abi_id_qp(&s, id, &qp));
	OK(abi_connect(&s, id, 0));
	EXPECT_EQ(0, abi_event(client, EV_REJECTED, NULL));
	EXPECT_TRUE(abi_quiet(channel));

	OK(set_rules(device_rule(&s, "gid=0,1000")));
	OK(abi_tcp_client(&s, client, &sin, 0, &id));
	OK(abi_id_qp(&s, id, &qp));
	OK(abi_connect(&s, id, 0));
	EXPECT_EQ(0, abi_event(channel, EV_CONNECT_REQUEST, NULL));
	close(fd);
	close(channel);
	abi_close(&s);
	close(sockets[0]);
	close(sockets[1]);
}

static int without_sys_admin(void *arg)
{
	CHECK(1, abi_drop_cap(CAP_SYS_ADMIN) == 0);
	CHECK(2, set_rules("/ objects=1") == -EPERM);
	CHECK(3, abi_become(1000) == 0);
	CHECK(4, set_rules("/ objects=1") == -EACCES);
	return 0;
}

/* A bad rule changes nothing. */
TEST(grammar)
{
	static const struct {
		const char *rules;
		int ret;
	} bad[] = {
		{ "objects=1", -EINVAL },
		{ "/a objects=1 bytes=1", -EINVAL },
		{ "/a objects=1K", -EINVAL },
		{ "/a objects=-1", -EINVAL },
		{ "/a pinned=1X", -EINVAL },
		{ "/a pinned=-1", -EINVAL },
		{ "/a pinned=K", -EINVAL },
		{ "/a pinned=1KK", -EINVAL },
		{ "/a pinned=0x1G", -EINVAL },
		{ "/a pinned=16E", -ERANGE },
		{ "/a pinned=17179869184G", -ERANGE },
		{ "/a queue=18446744073709551616", -ERANGE },
		{ "/a queue=000000000000000000000000000001", -ERANGE },
		{ "/a objects=18446744073709551616", -ERANGE },
		{ "/a memlock=yes", -EINVAL },
		{ "/a users=alone", -EINVAL },
		{ "/a//b objects=1", -EINVAL },
		{ "/1/2/3/4/5/6/7/8/9 objects=1", -E2BIG },
		{ "device=rxe0", -EINVAL },
		{ "device=rxe0 uid=0", -EINVAL },
		{ "device=rxe0 gid=", -EINVAL },
		{ "device=rxe0 gid=0,", -EINVAL },
		{ "device=rxe0 gid=4294967296", -ERANGE },
		{ "device=rxe0 gid=4294967295", -EINVAL },
		{ "device=rxe0 gid=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", -E2BIG },
		{ "device=rxe0 cgroup=a", -EINVAL },
		{ "driver=siwx gid=0", -ENOENT },
		{ "/a objects=1; device=rxe0", -EINVAL },
	};
	static const char good[] =
		"# pods\n/kubepods.slice/*/* objects=1000 queue=16M pinned=1G memlock=quota users=apart\n"
		"/ pinned=max ; driver=siw gid=0 # its bugs\n";
	char text[4096] = "", many[4096] = "";
	FILE *f;

	OK(set_rules(good));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		LOGGED(EXPECT_EQ(bad[i].ret, set_rules(bad[i].rules)), "%s", bad[i].rules);
	memset(many, ' ', sizeof(many) - 1);
	EXPECT_EQ(-E2BIG, set_rules(many));
	for (size_t i = 0; i < 65; i++)
		memcpy(many + 8 * i, "/ ;     ", 8);
	many[8 * 65] = 0;
	EXPECT_EQ(-E2BIG, set_rules(many));
	many[8 * 64] = 0;
	f = ASSERT_PTR(fopen(RULES, "re"));
	EXPECT_LT(0, fread(text, 1, sizeof(text) - 1, f));
	fclose(f);
	EXPECT_STREQ(good, text);
	EXPECT_EQ(0, set_rules(many));
	EXPECT_EQ(0, abi_child(without_sys_admin, NULL));
	EXPECT_EQ(0, set_rules("\n"));
}

TEST_HARNESS_MAIN
