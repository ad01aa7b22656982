// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restrictions of sessions: every command that needs a lost right fails, for every owner of the
 * session, and in sessions that are split off.
 */
#include "abi_restrict.h"
#include "abi_cmds.h"

#define LEN		4096
#define RIGHTS		(RDMA_EP_RESTRICT_IDS | RDMA_EP_RESTRICT_DEVICES | \
			 RDMA_EP_RESTRICT_BIND | RDMA_EP_RESTRICT_CONNECT)
#define LIMITS		(RDMA_EP_RESTRICT_OBJECTS | RDMA_EP_RESTRICT_QUEUES | \
			 RDMA_EP_RESTRICT_PINNED)

FIXTURE(restrict) {
	struct abi s;
	int channel;
	__u32 id;
	struct sockaddr_in own;		/* the device's address, with PORT */
};

FIXTURE_SETUP(restrict)
{
	OK(abi_open(&self->s));
	self->channel = FD(abi_channel(&self->s));
	OK(abi_tcp_id(&self->s, self->channel, 0, &self->id));
	abi_own_addr(&self->s, PORT, &self->own);
}

TEARDOWN_CLOSES(restrict)

static int set_afonly(const struct abi *s, __u32 id, int value)
{
	struct rdma_ep_cmd_set_option o = {
		.id = id, .level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_AFONLY,
		.optval = (uintptr_t)&value, .optlen = sizeof(value),
	};

	return ABI(s->fd, SET_OPTION, &o);
}

static int num_devices(const struct abi *s)
{
	struct rdma_ep_cmd_query_devices q = {};

	return ABI(s->fd, QUERY_DEVICES, &q) ?: (int)q.num;
}

TEST_F(restrict, bad_restrictions_change_nothing)
{
	const struct rdma_ep_grant good = grant(RDMA_EP_GRANT_BIND, "192.0.2.0", 24, 1, 2);
	const struct rdma_ep_grant dev = { .type = RDMA_EP_GRANT_DEVICE, .dev_index = self->s.dev };
	struct rdma_ep_cmd_restrict r = { .flags = RDMA_EP_RESTRICT_OBJECTS };
	struct rdma_ep_grant many[65];
	__u32 flags = RDMA_EP_RESTRICT_BIND | RDMA_EP_RESTRICT_DEVICES;

#define BAD(_good, _member, _value) ({					\
	struct rdma_ep_grant __bad = (_good);				\
									\
	__bad._member = (_value);					\
	EXPECT_EQ(-EINVAL, restrict_to(&self->s, flags, &__bad, 1)) {	\
		TH_LOG("%s = %s", #_member, #_value);			\
	}								\
})
	BAD(good, type, 0);
	BAD(good, type, RDMA_EP_GRANT_CONNECT + 1);
	BAD(good, type, RDMA_EP_GRANT_CONNECT);		/* without its flag */
	BAD(good, family, AF_UNIX);
	BAD(good, prefix_len, 33);
	BAD(good, prefix_len, 22);			/* 192.0.2.0 has a later bit */
	BAD(good, first_port, 3);
	BAD(good, reserved, 1);
	BAD(good, dev_index, 1);
	BAD(good, name[0], 'r');
	BAD(good, addr[15], 1);
	BAD(dev, dev_index, 0);
	BAD(dev, name[0], 'r');				/* number and name */
	BAD(dev, prefix_len, 1);
	BAD(dev, addr[0], 1);
	BAD(dev, last_port, 1);
	BAD(grant(RDMA_EP_GRANT_BIND, "::ffff:192.0.2.0", 120, 1, 2), reserved, 0);
	BAD(grant(RDMA_EP_GRANT_BIND, "2001:db8::", 129, 1, 2), reserved, 0);
	BAD(grant(RDMA_EP_GRANT_BIND, "2001:db8::1", 64, 1, 2), reserved, 0);
	memset(many, 0, sizeof(many));
	many[0].type = RDMA_EP_GRANT_DEVICE;
	memset(many[0].name, 'x', sizeof(many[0].name));
	EXPECT_EQ(-EINVAL, restrict_to(&self->s, flags, many, 1));
	strcpy((char *)many[0].name, "rxe 0");
	memset(many[0].name + 6, 0, sizeof(many[0].name) - 6);
	EXPECT_EQ(-EINVAL, restrict_to(&self->s, flags, many, 1));
	for (int i = 0; i < 65; i++)
		many[i] = good;
	EXPECT_EQ(-E2BIG, restrict_to(&self->s, flags, many, 65));
	EXPECT_EQ(-EFAULT, restrict_to(&self->s, flags, NULL, 1));
	EXPECT_EQ(-EINVAL, restrict_to(&self->s, 0, NULL, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESTRICT, r, reserved, 1));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESTRICT, r, max_queue_bytes, 1));
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESTRICT, r, max_pinned_bytes, 1));
	r.flags = RDMA_EP_RESTRICT_IDS;
	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, RESTRICT, r, max_objects, 1));

	EXPECT_EQ(-1, abi_fdinfo(&self->s, "restriction"));
	EXPECT_EQ(0, abi_bind_to(&self->s, self->id, &self->own));
	EXPECT_LT(0, num_devices(&self->s));
}

/* The number of restrictions is limited, and a later one gives no right back. */
TEST_F(restrict, restrictions_add_up)
{
	struct rdma_ep_grant all = grant(RDMA_EP_GRANT_BIND, "0.0.0.0", 0, 0, LAST_PORT);
	struct rdma_ep_grant one = grant_own(&self->s, RDMA_EP_GRANT_BIND, PORT, PORT);
	struct sockaddr_in other = self->own;

	other.sin_port = htons(PORT + 1);
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &one, 1));
	EXPECT_EQ(1, abi_fdinfo(&self->s, "restriction"));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &all, 1));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &other));
	for (int i = 2; i < 16; i++)
		OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &all, 1));
	EXPECT_EQ(-E2BIG, restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &all, 1));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &other));
	EXPECT_EQ(0, abi_bind_to(&self->s, self->id, &self->own));
}

/* Restrictions count for the user, by their memory, until the session ends. */
TEST_F(restrict, restrictions_count_as_objects)
{
	struct rdma_ep_grant many[64];
	struct abi_charges c, more;
	struct abi other;

	for (int i = 0; i < 64; i++)
		many[i] = grant(RDMA_EP_GRANT_BIND, "192.0.2.0", 24, 1, 2);
	OK(abi_open(&other));
	OK(abi_charges(&self->s, &c));
	OK(restrict_to(&other, RDMA_EP_RESTRICT_BIND, many, 64));
	OK(restrict_to(&other, RDMA_EP_RESTRICT_BIND, many, 1));
	OK(abi_charges(&self->s, &more));
	EXPECT_EQ(c.user_objects + 5 + 1, more.user_objects);
	abi_close(&other);
	OK(abi_charges(&self->s, &more));
	EXPECT_GT(c.user_objects, more.user_objects);
}

TEST_F(restrict, no_ids)
{
	struct rdma_ep_cmd_create_ep e;
	struct abi_pair p = {};
	struct rdma_ep_wc wc;
	__u32 id;

	OK(abi_pair_open(&self->s, &p));
	OK(abi_bind_to(&self->s, self->id, &self->own));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_IDS, NULL, 0));
	EXPECT_EQ(-EPERM, abi_tcp_id(&self->s, self->channel, 0, &id));
	abi_own_ep(&self->s, PORT, &e);
	EXPECT_EQ(-EPERM, ABI(self->s.fd, CREATE_EP, &e));
	EXPECT_EQ(-EPERM, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
	/* The connection stays. */
	OK(abi_post_empty_recv(&self->s, p.end[1].qp.qp, 1));
	OK(abi_post_empty_send(&self->s, p.end[0].qp.qp, SEND_SIGNALED, 2));
	EXPECT_EQ(1, abi_wait(&self->s, p.end[1].cq[1], &wc, 1));
}

TEST_F(restrict, devices)
{
	struct rdma_ep_cmd_open_device open = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_query_device query = { .dev_index = self->s.dev };
	struct rdma_ep_grant dev = { .type = RDMA_EP_GRANT_DEVICE, .dev_index = self->s.dev };
	struct rdma_ep_device_info info;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in to;
	struct abi client;
	int channel;
	__u32 id, listener, child;

	OK(abi_device_info(&self->s, &info));
	OK(abi_tcp_listen(&self->s, self->channel, 4, 0, &listener, &to));
	/* By number, then by name */
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_DEVICES, &dev, 1));
	EXPECT_EQ(1, num_devices(&self->s));
	dev.dev_index = 0;
	memcpy(dev.name, info.name, sizeof(dev.name));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_DEVICES, &dev, 1));
	EXPECT_EQ(0, ABI(self->s.fd, OPEN_DEVICE, &open));
	OK(abi_open(&client));
	channel = FD(abi_channel(&client));
	OK(abi_pair_open(&self->s, &(struct abi_pair) {}));
	OK(abi_tcp_client(&client, channel, &to, 0, &id));
	OK(abi_id_qp(&client, id, &qp));
	OK(abi_connect(&client, id, 0));
	ev = NEXT_EVENT(self->channel, EV_CONNECT_REQUEST);
	child = ev.child;
	OK(abi_id_qp(&self->s, child, &qp));

	/* Then another device, which need not exist */
	strcpy((char *)dev.name, "no-such-device");
	memset(dev.name + 15, 0, sizeof(dev.name) - 15);
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_DEVICES, &dev, 1));
	EXPECT_EQ(0, num_devices(&self->s));
	EXPECT_EQ(-EACCES, ABI(self->s.fd, OPEN_DEVICE, &open));
	EXPECT_EQ(-EACCES, ABI(self->s.fd, QUERY_DEVICE, &query));
	OK(abi_bind_to(&self->s, self->id, &self->own));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
	/* A connection request from before can only be rejected. */
	EXPECT_EQ(-EACCES, abi_accept(&self->s, child, 0, 0));
	OK(ABI_DESTROY(&self->s, ID, child));
	EXPECT_EQ(0, abi_event(channel, EV_REJECTED, NULL));
	/* The existing listener gets no request on the device. */
	OK(abi_tcp_client(&client, channel, &to, 0, &id));
	OK(abi_id_qp(&client, id, &(struct rdma_ep_cmd_create_qp) {}));
	OK(abi_connect(&client, id, 0));
	OK(abi_event(channel, EV_REJECTED, &ev));
	EXPECT_TRUE(abi_quiet(self->channel));
	abi_close(&client);
}

TEST_F(restrict, local_addresses)
{
	struct rdma_ep_grant own = grant_own(&self->s, RDMA_EP_GRANT_BIND, PORT, PORT + 1);
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct sockaddr_in addr = self->own, any = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	struct rdma_ep_cmd_create_ep e = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE,
		.ps = RDMA_PS_TCP, .qp_type = QPT_RC,
	}, active;
	__u32 unbound;

	OK(abi_tcp_id(&self->s, self->channel, 0, &unbound));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &own, 1));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &any));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &any6));
	addr.sin_port = htons(PORT - 1);
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &addr));
	addr.sin_port = htons(PORT + 2);
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &addr));
	addr.sin_port = 0;
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &addr));
	EXPECT_EQ(-EACCES, abi_resolve_from(&self->s, self->id, &addr, &self->own, 1000));
	memcpy(&e.src, &addr, sizeof(addr));
	EXPECT_EQ(-EACCES, ABI(self->s.fd, CREATE_EP, &e));
	/* LISTEN binds to the unspecified address, RESOLVE_ADDR to one that the kernel chooses. */
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, unbound, 1));
	OK(abi_resolve_addr(&self->s, unbound, &self->own, 1000));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, unbound, 1000));
	abi_own_ep(&self->s, PORT, &active);
	EXPECT_EQ(-EACCES, ABI(self->s.fd, CREATE_EP, &active));

	addr.sin_port = htons(PORT + 1);
	EXPECT_EQ(0, abi_bind_to(&self->s, self->id, &addr));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
	memcpy(&e.src, &self->own, sizeof(self->own));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_EP, &e));
}

/* An unspecified address of IPv6 may stand for IPv4, too. Port 0: the kernel's choice */
TEST_F(restrict, unspecified_addresses_and_ports)
{
	struct rdma_ep_grant grants[] = {
		grant(RDMA_EP_GRANT_BIND, "::", 0, 0, LAST_PORT),
		grant_own(&self->s, RDMA_EP_GRANT_BIND, 0, 0),
	};
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct sockaddr_in addr = self->own;

	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, grants, 2));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &any6));
	EXPECT_EQ(-EACCES, abi_bind_to(&self->s, self->id, &addr));
	addr.sin_port = 0;
	EXPECT_EQ(0, abi_bind_to(&self->s, self->id, &addr));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
}

/* rdma_cm listens on a loopback address as on the unspecified one. */
TEST_F(restrict, loopback_grant_listens_at_no_other_address)
{
	struct rdma_ep_grant grants[] = {
		grant(RDMA_EP_GRANT_BIND, "127.0.0.0", 8, PORT, PORT + 1),
		grant(RDMA_EP_GRANT_BIND, "::1", 128, PORT, PORT + 1),
		grant(RDMA_EP_GRANT_BIND, "0.0.0.0", 32, PORT + 1, PORT + 1),
		grant(RDMA_EP_GRANT_BIND, "0.0.0.0", 0, 0, 0),
	};
	struct sockaddr_in6 loop6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT + 1),
				      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in loop = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	__u32 ids[2];

	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, grants, 4));
	EXPECT_EQ(0, abi_bind_to(&self->s, self->id, &loop));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
	for (int i = 0; i < 2; i++)
		OK(abi_tcp_id(&self->s, self->channel, 0, &ids[i]));
	EXPECT_EQ(0, abi_bind_to(&self->s, ids[0], &loop6));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, ids[0], 1));
	OK(ABI_DESTROY(&self->s, ID, ids[0]));
	loop.sin_port = htons(PORT + 1);
	EXPECT_EQ(0, abi_bind_to(&self->s, ids[1], &loop));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, ids[1], 1));
}

/* With RDMA_OPTION_ID_AFONLY 0 the unspecified address of IPv4 stands for IPv6, too. */
TEST_F(restrict, grant_of_ipv4_listens_at_no_address_of_ipv6)
{
	struct rdma_ep_grant grants[] = {
		grant(RDMA_EP_GRANT_BIND, "0.0.0.0", 0, 0, PORT + 1),
		grant(RDMA_EP_GRANT_BIND, "::", 128, PORT + 1, PORT + 1),
		grant(RDMA_EP_GRANT_BIND, "::", 0, 0, 0),
	};
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	__u32 ids[2];

	for (int i = 0; i < 2; i++)
		OK(abi_tcp_id(&self->s, self->channel, 0, &ids[i]));
	OK(set_afonly(&self->s, ids[0], 0));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, grants, 3));
	EXPECT_EQ(0, abi_bind_to(&self->s, ids[0], &any));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, ids[0], 1));
	OK(set_afonly(&self->s, ids[0], 1));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, ids[0], 1));
	any.sin_port = htons(PORT + 1);
	EXPECT_EQ(0, abi_bind_to(&self->s, ids[1], &any));
	OK(set_afonly(&self->s, ids[1], 0));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, LISTEN, ids[1], 1));
}

/* LISTEN binds an id whose bind has failed to a port that the kernel chooses. */
TEST_F(restrict, port_of_a_failed_bind_is_none)
{
	struct rdma_ep_grant one = grant(RDMA_EP_GRANT_BIND, "0.0.0.0", 32, PORT, PORT);
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	__u32 second;

	OK(abi_tcp_id(&self->s, self->channel, 0, &second));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_BIND, &one, 1));
	OK(abi_bind_to(&self->s, self->id, &any));
	OK(ABI_ID_CMD(&self->s, LISTEN, self->id, 1));
	EXPECT_EQ(-EADDRNOTAVAIL, abi_bind_to(&self->s, second, &any));
	EXPECT_EQ(-EACCES, ABI_ID_CMD(&self->s, LISTEN, second, 1));
}

TEST_F(restrict, peers)
{
	struct rdma_ep_grant one = grant_own(&self->s, RDMA_EP_GRANT_CONNECT, PORT, PORT);
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons(PORT + 1) };
	struct sockaddr_in other = self->own;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_create_ep e;
	__u32 ready;

	/* An id that is ready to connect to a port that is not granted later */
	other.sin_port = htons(PORT + 1);
	OK(abi_tcp_client(&self->s, self->channel, &other, 0, &ready));
	OK(abi_id_qp(&self->s, ready, &qp));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_CONNECT, &one, 1));
	EXPECT_EQ(-EACCES, abi_connect(&self->s, ready, 0));
	EXPECT_EQ(-EACCES, abi_resolve_addr(&self->s, self->id, &other, 1000));
	abi_own_ep(&self->s, PORT + 1, &e);
	EXPECT_EQ(-EACCES, ABI(self->s.fd, CREATE_EP, &e));
	memset(&mapped.sin6_addr.s6_addr[10], 0xff, 2);
	memcpy(&mapped.sin6_addr.s6_addr[12], &self->s.addr.sin_addr, 4);
	EXPECT_EQ(-EACCES, abi_resolve_addr(&self->s, self->id, &mapped, 1000));
	/* The unspecified address leads to the host itself. */
	other.sin_addr.s_addr = 0;
	other.sin_port = htons(PORT);
	EXPECT_EQ(-EACCES, abi_resolve_addr(&self->s, self->id, &other, 1000));

	EXPECT_EQ(0, abi_resolve_addr(&self->s, self->id, &self->own, 1000));
	EXPECT_EQ(0, abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_EQ(0, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, self->id, 1000));
}

/* Limits below the charges refuse new objects, even with CAP_SYS_RESOURCE and CAP_IPC_LOCK. */
TEST_F(restrict, limits)
{
	struct rdma_ep_cmd_restrict r = { .flags = LIMITS, .max_objects = 1000 };
	struct rdma_ep_cmd_reg_mr mr, refused;
	void *mem = abi_map(2 * LEN);
	struct abi_charges c;
	__u32 pd, cq;

	OK(abi_charges(&self->s, &c));
	OK(abi_reg_mr(&self->s, self->s.pd, mem, LEN, 0, &mr));
	r.max_queue_bytes = (c.queues + 64) << 10;
	r.max_pinned_bytes = 2 * LEN;
	OK(ABI(self->s.fd, RESTRICT, &r));
	EXPECT_EQ(-ENOMEM, abi_reg_mr(&self->s, self->s.pd, mem, 2 * LEN, 0, &refused));
	OK(abi_reg_mr(&self->s, self->s.pd, mem, LEN, 0, &mr));
	EXPECT_EQ(-ENOMEM, abi_reg_mr(&self->s, self->s.pd, mem, LEN, 0, &refused));
	OK(ABI_DESTROY(&self->s, MR, mr.mr));
	OK(abi_reg_mr(&self->s, self->s.pd, mem, LEN, 0, &mr));
	EXPECT_EQ(-EDQUOT, abi_create_cq(&self->s, -1, 65536, 0, &cq));
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	r = (struct rdma_ep_cmd_restrict) { .flags = RDMA_EP_RESTRICT_OBJECTS };
	OK(ABI(self->s.fd, RESTRICT, &r));
	EXPECT_EQ(-EDQUOT, abi_alloc_pd(&self->s, self->s.ctx, &pd));
	EXPECT_EQ(-EDQUOT, abi_channel(&self->s));
	EXPECT_EQ(-EDQUOT, abi_comp_channel(&self->s));
	OK(ABI_DESTROY(&self->s, CQ, cq));
	EXPECT_EQ(-EDQUOT, abi_alloc_pd(&self->s, self->s.ctx, &pd));
}

/* A limit that is lower than the charges refuses nothing of another kind. */
TEST_F(restrict, limit_of_one_kind)
{
	struct rdma_ep_cmd_restrict r = { .flags = RDMA_EP_RESTRICT_QUEUES };
	struct rdma_ep_cmd_reg_mr mr;
	__u32 pd, cq;

	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(ABI(self->s.fd, RESTRICT, &r));
	EXPECT_EQ(-EDQUOT, abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
	EXPECT_LT(0, abi_channel(&self->s));
	OK(abi_reg_mr(&self->s, pd, abi_map(LEN), LEN, 0, &mr));
}

/* A session that is split off has the same restrictions, and shares their limits. */
TEST_F(restrict, inherited)
{
	struct rdma_ep_cmd_restrict limit = { .flags = RDMA_EP_RESTRICT_OBJECTS };
	struct rdma_ep_cmd_open_device open = { .dev_index = self->s.dev };
	struct rdma_ep_channel_event ev;
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in to;
	struct abi client, own = self->s;
	int channel, adopted, fds[2];
	struct abi_charges c;
	__u32 id, pd;

	OK(abi_open(&client));
	channel = FD(abi_channel(&client));
	OK(abi_tcp_listen(&self->s, self->channel, 4, 0, &id, &to));
	OK(restrict_to(&self->s, RDMA_EP_RESTRICT_CONNECT | RDMA_EP_RESTRICT_DEVICES,
		       &(struct rdma_ep_grant) { .type = RDMA_EP_GRANT_DEVICE,
						 .dev_index = self->s.dev }, 1));
	for (int i = 0; i < 2; i++) {
		OK(abi_tcp_client(&client, channel, &to, 0, &id));
		OK(abi_id_qp(&client, id, &qp));
		OK(abi_connect(&client, id, 0));
		ev = NEXT_EVENT(self->channel, EV_CONNECT_REQUEST);
		fds[i] = FD(abi_split_id(&self->s, ev.child));
	}
	own.fd = fds[0];
	EXPECT_EQ(1, abi_fdinfo(&own, "restriction"));
	/* The next owner has them as well, also one that is added while there is no owner. */
	OK(abi_export(&own, 0));
	OK(restrict_fd(fds[0], RDMA_EP_RESTRICT_IDS, NULL, 0));
	adopted = FD(abi_adopt(fds[0]));
	EXPECT_EQ(-EBADF, restrict_fd(fds[0], RDMA_EP_RESTRICT_IDS, NULL, 0));
	own.fd = adopted;
	EXPECT_EQ(2, abi_fdinfo(&own, "restriction"));
	channel = FD(abi_channel(&own));
	EXPECT_EQ(-EPERM, abi_tcp_id(&own, channel, 0, &id));
	OK(restrict_fd(own.fd, RDMA_EP_RESTRICT_DEVICES, NULL, 0));
	EXPECT_EQ(-EACCES, ABI(own.fd, OPEN_DEVICE, &open));
	/* The new restrictions do not apply to the other sessions. */
	EXPECT_EQ(0, ABI(fds[1], OPEN_DEVICE, &open));
	EXPECT_EQ(0, abi_tcp_id(&self->s, self->channel, 0, &id));

	/*
	 * A session and those that are split off it share one limit. It has room for the objects
	 * and the channel, and for 4 more: the new id with its channel, and two PDs.
	 */
	OK(abi_charges(&self->s, &c));
	limit.max_objects = c.objects + 1 + 4;
	OK(ABI(self->s.fd, RESTRICT, &limit));
	OK(abi_tcp_client(&client, abi_channel(&client), &to, 0, &id));
	OK(abi_id_qp(&client, id, &qp));
	OK(abi_connect(&client, id, 0));
	ev = NEXT_EVENT(self->channel, EV_CONNECT_REQUEST);
	own.fd = FD(abi_split_id(&self->s, ev.child));
	OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
	OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
	EXPECT_EQ(-EDQUOT, abi_alloc_pd(&self->s, self->s.ctx, &pd));
	EXPECT_EQ(-EDQUOT, ABI(own.fd, OPEN_DEVICE, &open));
	/* The end of the session that was split off makes room. */
	close(own.fd);
	EXPECT_TRUE(ABI_UNTIL(!abi_alloc_pd(&self->s, self->s.ctx, &pd)));
	close(fds[1]);
	close(adopted);
	abi_close(&client);
}

/*
 * Issues every command in a session without rights, and with limits of 0: a command that needs
 * them fails, others work. A new command fails here until its row in commands.def is right.
 */
TEST_F_TIMEOUT(restrict, session_without_rights_tries_everything, 300)
{
	const struct abi_command *c;
	struct abi_world w;
	union abi_arg arg;
	int ret;

	for_each_command(c) {
		OK(abi_world_open(&w));
		if (!abi_left_out(&w.s, c)) {
			OK(abi_prepare(&w, c, &arg));
			ASSERT_EQ(0, restrict_to(&w.s, RIGHTS | LIMITS, NULL, 0));
			ret = abi_raw(w.s.fd, c->cmd, &arg);
			EXPECT_EQ(c->denied ? -c->denied : w.result, ret) {
				TH_LOG("%s", c->name);
			}
		}
		abi_world_close(&w);
	}
}

TEST_HARNESS_MAIN
