// SPDX-License-Identifier: GPL-2.0-only
/* rdma_getaddrinfo() and rdma_freeaddrinfo(), which precede rdma_create_ep() */
#include <infiniband/ib.h>
#include <netdb.h>

#include "lib_test.h"

#define ADDR "10.1.2.3"

static struct rdma_addrinfo *get(const char *node, const char *service,
				 const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *res = NULL;
	int ret = rdma_getaddrinfo(node, service, hints, &res);

	if (ret) {
		lib_say(__FILE__, __LINE__, "rdma_getaddrinfo: %d, errno %d", ret, errno);
		return NULL;
	}
	return res;
}

static bool is_ipv4(const struct sockaddr *sa, socklen_t len, const char *addr, uint16_t port)
{
	const struct sockaddr_in *sin = (const void *)sa;
	struct in_addr in;

	inet_pton(AF_INET, addr, &in);
	return sa && len == sizeof(*sin) && sin->sin_family == AF_INET &&
	       sin->sin_addr.s_addr == in.s_addr && sin->sin_port == htons(port);
}

/* P0: rdma_getaddrinfo, rdma_freeaddrinfo */
TEST(active)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;

	res = ASSERT_PTR(get(ADDR, "7471", &hints));
	EXPECT_EQ(0, res->ai_flags);
	EXPECT_EQ(AF_INET, res->ai_family);
	EXPECT_EQ(IBV_QPT_RC, res->ai_qp_type);
	EXPECT_EQ(RDMA_PS_TCP, res->ai_port_space);
	EXPECT_TRUE(is_ipv4(res->ai_dst_addr, res->ai_dst_len, ADDR, 7471));
	EXPECT_TRUE(!res->ai_src_addr && !res->ai_src_len);
	EXPECT_TRUE(!res->ai_src_canonname && !res->ai_dst_canonname);
	EXPECT_TRUE(!res->ai_route && !res->ai_route_len);
	EXPECT_TRUE(!res->ai_connect && !res->ai_connect_len);
	EXPECT_TRUE(!res->ai_next);
	rdma_freeaddrinfo(res);
}

TEST(passive)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE,
		.ai_port_space = RDMA_PS_TCP,
	}, *res;

	res = ASSERT_PTR(get(ADDR, "7471", &hints));
	EXPECT_EQ(RAI_PASSIVE, res->ai_flags);
	EXPECT_TRUE(is_ipv4(res->ai_src_addr, res->ai_src_len, ADDR, 7471));
	EXPECT_TRUE(!res->ai_dst_addr && !res->ai_dst_len);
	rdma_freeaddrinfo(res);

	/* Without a node, the address is a wildcard. */
	hints.ai_family = AF_INET;
	res = ASSERT_PTR(get(NULL, "7472", &hints));
	EXPECT_TRUE(is_ipv4(res->ai_src_addr, res->ai_src_len, "0.0.0.0", 7472));
	rdma_freeaddrinfo(res);
	hints.ai_family = AF_INET6;
	res = ASSERT_PTR(get(NULL, "7472", &hints));
	EXPECT_EQ(AF_INET6, res->ai_family);
	EXPECT_EQ(sizeof(struct sockaddr_in6), res->ai_src_len);
	EXPECT_EQ(AF_INET6, res->ai_src_addr->sa_family);
	rdma_freeaddrinfo(res);
}

TEST(types)
{
	static const struct {
		int ps, type;		/* of the hints */
		int res_ps, res_type;
	} t[] = {
		{ 0, IBV_QPT_RC, RDMA_PS_TCP, IBV_QPT_RC },
		{ 0, IBV_QPT_UC, RDMA_PS_TCP, IBV_QPT_UC },
		{ 0, IBV_QPT_UD, RDMA_PS_UDP, IBV_QPT_UD },
		{ RDMA_PS_TCP, 0, RDMA_PS_TCP, IBV_QPT_RC },
		{ RDMA_PS_UDP, 0, RDMA_PS_UDP, IBV_QPT_UD },
		{ RDMA_PS_IPOIB, 0, RDMA_PS_IPOIB, IBV_QPT_UD },
		{ RDMA_PS_TCP, IBV_QPT_RC, RDMA_PS_TCP, IBV_QPT_RC },
		{ RDMA_PS_UDP, IBV_QPT_UD, RDMA_PS_UDP, IBV_QPT_UD },
		{ RDMA_PS_IB, IBV_QPT_UD, RDMA_PS_IB, IBV_QPT_UD },
		{ RDMA_PS_IB, IBV_QPT_RC, RDMA_PS_IB, IBV_QPT_RC },
	};
	struct rdma_addrinfo hints, *res;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memset(&hints, 0, sizeof(hints));
		hints.ai_port_space = t[i].ps;
		hints.ai_qp_type = t[i].type;
		res = get(ADDR, "1", &hints);
		ASSERT_TRUE(res != NULL) TH_LOG("case %d", i);
		EXPECT_EQ(t[i].res_ps, res->ai_port_space)
			TH_LOG("case %d", i);
		EXPECT_EQ(t[i].res_type, res->ai_qp_type)
			TH_LOG("case %d", i);
		rdma_freeaddrinfo(res);
	}
}

TEST(no_hints)
{
	struct rdma_addrinfo *res = ASSERT_PTR(get(ADDR, "7471", NULL));

	EXPECT_EQ(0, res->ai_flags);
	EXPECT_EQ(IBV_QPT_RC, res->ai_qp_type);
	EXPECT_EQ(RDMA_PS_TCP, res->ai_port_space);
	EXPECT_TRUE(is_ipv4(res->ai_dst_addr, res->ai_dst_len, ADDR, 7471));
	EXPECT_TRUE(!res->ai_next);	/* only the first answer */
	rdma_freeaddrinfo(res);
}

/* The source address of the hints is copied. */
TEST(source_hint)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(5),
		.sin_addr.s_addr = htonl(0x0a090807),
	};
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = SA(&sin),
		.ai_src_len = sizeof(sin),
	}, *res;

	res = ASSERT_PTR(get(ADDR, "7471", &hints));
	EXPECT_NE(SA(&sin), res->ai_src_addr);
	EXPECT_TRUE(is_ipv4(res->ai_src_addr, res->ai_src_len, "10.9.8.7", 5));
	EXPECT_TRUE(is_ipv4(res->ai_dst_addr, res->ai_dst_len, ADDR, 7471));
	rdma_freeaddrinfo(res);
}

/* Without node and service, the result is a copy of the hints. */
TEST(only_hints)
{
	struct sockaddr_in src = {
		.sin_family = AF_INET,
		.sin_port = htons(5),
		.sin_addr.s_addr = htonl(0x0a090807),
	}, dst = src;
	struct rdma_addrinfo hints = {
		.ai_family = AF_INET,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = SA(&src),
		.ai_src_len = sizeof(src),
		.ai_dst_addr = SA(&dst),
		.ai_dst_len = sizeof(dst),
	}, *res;

	dst.sin_port = htons(6);
	res = ASSERT_PTR(get(NULL, NULL, &hints));
	EXPECT_NE(&hints, res);
	EXPECT_NE(SA(&src), res->ai_src_addr);
	EXPECT_NE(SA(&dst), res->ai_dst_addr);
	EXPECT_TRUE(is_ipv4(res->ai_src_addr, res->ai_src_len, "10.9.8.7", 5));
	EXPECT_TRUE(is_ipv4(res->ai_dst_addr, res->ai_dst_len, "10.9.8.7", 6));
	EXPECT_EQ(IBV_QPT_RC, res->ai_qp_type);
	EXPECT_EQ(RDMA_PS_TCP, res->ai_port_space);
	EXPECT_EQ(AF_INET, res->ai_family);
	rdma_freeaddrinfo(res);
}

TEST(ipv6)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	}, *res;
	struct sockaddr_in6 *sin6;

	res = ASSERT_PTR(get("fd00::5", "7471", &hints));
	EXPECT_EQ(AF_INET6, res->ai_family);
	EXPECT_EQ(sizeof(*sin6), res->ai_dst_len);
	sin6 = (struct sockaddr_in6 *)res->ai_dst_addr;
	EXPECT_EQ(AF_INET6, sin6->sin6_family);
	EXPECT_EQ(htons(7471), sin6->sin6_port);
	EXPECT_EQ(5, sin6->sin6_addr.s6_addr[15]);
	rdma_freeaddrinfo(res);
}

/* With RAI_FAMILY and AF_IB, an IPv6 address is a GID. */
TEST(af_ib)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY,
		.ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP,
	}, *res;
	struct sockaddr_ib *sib;

	res = ASSERT_PTR(get("fe80::5", "7471", &hints));
	EXPECT_EQ(AF_IB, res->ai_family);
	EXPECT_EQ(sizeof(*sib), res->ai_dst_len);
	sib = (struct sockaddr_ib *)res->ai_dst_addr;
	EXPECT_EQ(AF_IB, sib->sib_family);
	EXPECT_EQ(htons(0xffff), sib->sib_pkey);
	EXPECT_EQ(htobe64((uint64_t)RDMA_PS_TCP << 16 | 7471), sib->sib_sid);
	EXPECT_EQ(htobe64(RDMA_IB_IP_PS_MASK | RDMA_IB_IP_PORT_MASK), sib->sib_sid_mask);
	EXPECT_EQ(5, ((uint8_t *)&sib->sib_addr)[15]);
	rdma_freeaddrinfo(res);
}

/* An error is -1 with errno, or an error of getaddrinfo(3). */
TEST(errors)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	}, *res = NULL;

	EXPECT_FAILS(EINVAL, rdma_getaddrinfo(NULL, NULL, NULL, &res));
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo("not-a-number", "1", &hints, &res));
	EXPECT_EQ(EAI_SERVICE, rdma_getaddrinfo(ADDR, "no-such-service", &hints, &res));
	hints.ai_family = AF_INET6;
	EXPECT_EQ(EAI_ADDRFAMILY, rdma_getaddrinfo(ADDR, "1", &hints, &res));
	hints.ai_family = AF_UNIX;
	EXPECT_EQ(EAI_FAMILY, rdma_getaddrinfo(ADDR, "1", &hints, &res));
	EXPECT_TRUE(!res);
	rdma_freeaddrinfo(NULL);
	if (!is_stock())	/* stock crashes */
		EXPECT_FAILS(EINVAL, rdma_getaddrinfo(ADDR, "1", &hints, NULL));
}

TEST_HARNESS_MAIN
