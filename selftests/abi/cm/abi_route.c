// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses and paths that rdma_cm does not check. On RoCE it keeps ids with a route in a table
 * by interface and destination, and looks an id up there to remove it. If it does not find the
 * id, only KASAN reports that, at the next id.
 */
#include <rdma/rdma_user_cm.h>

#include "abi_test.h"

/* struct sockaddr_ib of <rdma/ib.h>, which the build of tests does not use */
struct ib_address {
	__u16 family;
	__be16 pkey;
	__be32 flowinfo;
	__u8 gid[16];
	__be64 sid, sid_mask;
	__u64 scope_id;
};

/* Not a local address, but an address that needs an interface */
static const struct sockaddr_in6 link_local = {
	.sin6_family = AF_INET6,
	.sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 0x77 },
};

FIXTURE(route) {
	struct abi s;
	int channel;
};

FIXTURE_SETUP(route)
{
	OK(abi_open(&self->s));
	self->channel = FD(abi_channel(&self->s));
}

FIXTURE_TEARDOWN(route)
{
	close(self->channel);
	abi_close(&self->s);
}

static int resolve6(const struct abi *s, __u32 id, __u32 scope)
{
	struct sockaddr_in6 dst = link_local;

	dst.sin6_scope_id = scope;
	return abi_resolve_addr(s, id, &dst, 300);
}

static int bind_link_local(const struct abi *s, __u32 id)
{
	struct sockaddr_in6 sin6 = link_local;

	sin6.sin6_scope_id = s->netdev;
	return abi_bind_to(s, id, &sin6);
}

/* A destination with another interface is refused, and the id keeps its own. (CMA-06) */
TEST_F(route, other_interface)
{
	__u32 id;

	for (int round = 0; round < 4; round++) {
		OK(abi_tcp_client(&self->s, self->channel, &self->s.addr, round, &id));
		EXPECT_EQ(-EINVAL, resolve6(&self->s, id, self->s.netdev + 1000 + round));
		EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	}
}

/* The same before the route is resolved */
TEST_F(route, other_interface_resolved)
{
	__u32 id;

	for (int round = 0; round < 4; round++) {
		OK(abi_tcp_id(&self->s, self->channel, 0, &id));
		OK(abi_resolve(&self->s, self->channel, id, &self->s.addr));
		EXPECT_EQ(-EINVAL, resolve6(&self->s, id, self->s.netdev + 1000));
		OK(abi_resolve_route(&self->s, self->channel, id));
		EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	}
}

/* An id with an AF_IB address has no interface, or that of a failed bind. It gets no route. */
TEST_F(route, ib_address)
{
	struct ib_address dst = {
		.family = ABI_AF_IB,
		.pkey = htons(0xffff),
		.sid = htobe64(0x01060000 | 4711),	/* TCP, port */
		.sid_mask = htobe64(~0ULL),
	};
	__u32 id;

	static_assert(sizeof(dst) == ABI_AF_IB_BYTES, "struct sockaddr_ib");
	SKIP_IF(self->s.iwarp, "no AF_IB addresses");
	memcpy(dst.gid, self->s.gid, sizeof(self->s.gid));
	for (int round = 0; round < 4; round++) {
		OK(abi_tcp_id(&self->s, self->channel, 0, &id));
		EXPECT_GT(0, bind_link_local(&self->s, id));
		OK(abi_resolve_addr(&self->s, id, &dst, 300));
		OK(abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
		EXPECT_EQ(-ENODEV, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, id, 5000));
		EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
	}
}

/* As on the wire */
struct path_record {
	__be64 service;
	__u8 dgid[16], sgid[16];
	__be16 dlid, slid;
	__be32 flow_and_hops;
	__u8 traffic_class, reversible;
	__be16 pkey, sl;
	__u8 mtu, rate, lifetime, preference;
	__u8 reserved[6];
};

static int set_path(const struct abi *s, __u32 id, const __u8 sgid[16], __u8 mtu, __u8 lifetime)
{
	struct path_record rec = {
		.reversible = 0x80, .pkey = htons(0xffff), .mtu = 0x80 | mtu,
		.rate = 0x83, .lifetime = 0x80 | lifetime,
	};
	struct ib_path_rec_data path = {
		.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
	};
	struct rdma_ep_cmd_set_option o = {
		.id = id, .level = RDMA_OPTION_IB, .optname = RDMA_OPTION_IB_PATH,
		.optlen = sizeof(path), .optval = (uintptr_t)&path,
	};

	memcpy(rec.sgid, sgid, sizeof(rec.sgid));
	memcpy(rec.dgid, s->gid, sizeof(rec.dgid));
	memcpy(path.path_rec, &rec, sizeof(rec));
	return ABI(s->fd, SET_OPTION, &o);
}

/*
 * A user's path, and the request for it, may have an MTU that does not exist. rxe divides by the
 * packet size: an empty READ was a panic (6.1). (RXE-24)
 */
TEST_F(route, mtu)
{
	static const __u8 mtus[] = { 0, 6, 15, 3 };
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	struct rdma_ep_channel_event ev;
	__u32 id, listener;

	SKIP_IF(self->s.iwarp, "no paths");
	OK(abi_tcp_listen(&self->s, self->channel, 0, 1, &listener, &sin));
	for (size_t i = 0; i < ARRAY_SIZE(mtus); i++) {
		OK(abi_tcp_id(&self->s, self->channel, 0, &id));
		OK(abi_resolve(&self->s, self->channel, id, &sin));
		OK(set_path(&self->s, id, self->s.gid, mtus[i], 8));
		OK(abi_event(self->channel, EV_ROUTE_RESOLVED, &ev));
		/* A path can be set once. */
		EXPECT_EQ(-EINVAL, set_path(&self->s, id, self->s.gid, 3, 8));
		OK(abi_id_qp(&self->s, id, &qp));
		OK(abi_connect(&self->s, id, 0));
		OK(abi_event(self->channel, EV_CONNECT_REQUEST, &ev));
		OK(abi_id_qp(&self->s, ev.child, &qp));
		LOGGED(EXPECT_EQ(mtus[i] == 3 ? 0 : -EINVAL, abi_accept(&self->s, ev.child, 2, 0)),
		       "MTU %u", mtus[i]);
		EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, ev.child));
		EXPECT_EQ(0, ABI_DESTROY(&self->s, ID, id));
		while (!abi_read(self->channel, &ev, sizeof(ev), 0))
			;
	}
}

static int life_time(const struct abi *s, __u32 id)
{
	struct rdma_ep_cmd_query_id q = { .id = id };

	return ABI(s->fd, QUERY_ID, &q) ?: q.info.path[0].packet_life_time;
}

/*
 * The IB CM keeps the remains of a connection for the packet life time, which a path or an ACK
 * timeout may set to hours. CONNECT limits it. (IBCM-02)
 */
TEST_F(route, life_time)
{
	struct rdma_ep_cmd_set_option timeout = {
		.level = RDMA_OPTION_ID,
		.optname = RDMA_OPTION_ID_ACK_TIMEOUT, .optlen = 1,
		.optval = (uintptr_t)"\x1f",
	};
	const struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin;
	struct rdma_ep_channel_event ev;
	__u32 id, listener;

	SKIP_IF(s->iwarp, "no paths");
	OK(abi_tcp_listen(s, self->channel, 0, 1, &listener, &sin));
	for (int by_path = 0; by_path < 2; by_path++) {
		OK(abi_tcp_id(s, self->channel, 0, &id));
		OK(abi_resolve(s, self->channel, id, &sin));
		timeout.id = id;
		if (by_path) {
			OK(set_path(s, id, s->gid, 3, 63));
		} else {
			OK(ABI(s->fd, SET_OPTION, &timeout));
			OK(ABI_ID_CMD(s, RESOLVE_ROUTE, id, 5000));
		}
		OK(abi_event(self->channel, EV_ROUTE_RESOLVED, &ev));
		EXPECT_EQ(by_path ? 63 : 30, life_time(s, id));
		OK(abi_id_qp(s, id, &qp));
		OK(abi_connect(s, id, 0));
		EXPECT_EQ(20, life_time(s, id));
		OK(abi_event(self->channel, EV_CONNECT_REQUEST, &ev));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, ev.child));
		EXPECT_EQ(0, ABI_DESTROY(s, ID, id));
		while (!abi_read(self->channel, &ev, sizeof(ev), 0))
			;
	}
}

/* An id without a GID gets no path, which would lead to any device that has the path's GID. */
TEST_F(route, path_without_gid)
{
	/* rdma_cm takes this for loopback. */
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(4711) };
	__u32 id;

	SKIP_IF(self->s.iwarp, "no paths");
	OK(abi_tcp_id(&self->s, self->channel, 0, &id));
	EXPECT_GT(0, bind_link_local(&self->s, id));
	OK(abi_resolve_addr(&self->s, id, &any, 300));
	OK(abi_event(self->channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_EQ(-ENODEV, set_path(&self->s, id, self->s.gid, 3, 8));
	EXPECT_EQ(-ENODEV, ABI_ID_CMD(&self->s, RESOLVE_ROUTE, id, 5000));
}

TEST_HARNESS_MAIN
