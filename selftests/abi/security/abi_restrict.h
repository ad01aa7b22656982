/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of restrictions */
#ifndef ABI_RESTRICT_H
#define ABI_RESTRICT_H

#include "abi_test.h"

#define PORT		17471
#define LAST_PORT	65535

static inline int restrict_fd(int fd, __u32 flags, const struct rdma_ep_grant *grants,
			      __u32 num)
{
	struct rdma_ep_cmd_restrict r = {
		.flags = flags, .grants = (uintptr_t)grants, .num_grants = num,
	};

	return ABI(fd, RESTRICT, &r);
}

static inline int restrict_to(const struct abi *s, __u32 flags,
			      const struct rdma_ep_grant *grants, __u32 num)
{
	return restrict_fd(s->fd, flags, grants, num);
}

static inline struct rdma_ep_grant grant(__u32 type, const char *addr, __u32 len, __u16 first,
					 __u16 last)
{
	struct rdma_ep_grant g = {
		.type = type, .prefix_len = len, .first_port = first, .last_port = last,
		.family = strchr(addr, ':') ? AF_INET6 : AF_INET,
	};

	inet_pton(g.family, addr, g.addr);
	return g;
}

/* The device's own address alone */
static inline struct rdma_ep_grant grant_own(const struct abi *s, __u32 type, __u16 first,
					     __u16 last)
{
	struct rdma_ep_grant g = {
		.type = type, .family = AF_INET, .prefix_len = 32,
		.first_port = first, .last_port = last,
	};

	memcpy(g.addr, &s->addr.sin_addr, 4);
	return g;
}

#endif
