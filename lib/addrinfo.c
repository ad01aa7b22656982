// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma_getaddrinfo(3) on top of getaddrinfo(3), without ibacm: the kernel resolves
 * addresses and routes.
 */
#include <netdb.h>
#include <netinet/in.h>

#include "cm.h"

static bool wants_stream(int qp_type)
{
	return qp_type == IBV_QPT_RC || qp_type == IBV_QPT_UC ||
	       qp_type == IBV_QPT_XRC_SEND || qp_type == IBV_QPT_XRC_RECV;
}

static void set_hints(struct addrinfo *ai, const struct rdma_addrinfo *hints)
{
	memset(ai, 0, sizeof(*ai));
	if (hints->ai_flags & RAI_PASSIVE)
		ai->ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ai->ai_flags |= AI_NUMERICHOST;
	if (hints->ai_family != AF_IB)
		ai->ai_family = hints->ai_family;

	if (wants_stream(hints->ai_qp_type))
		ai->ai_socktype = SOCK_STREAM;
	else if (hints->ai_qp_type == IBV_QPT_UD)
		ai->ai_socktype = SOCK_DGRAM;

	switch (hints->ai_port_space) {
	case RDMA_PS_TCP:
		ai->ai_protocol = IPPROTO_TCP;
		break;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		ai->ai_protocol = IPPROTO_UDP;
		break;
	case RDMA_PS_IB:
		if (ai->ai_socktype == SOCK_STREAM)
			ai->ai_protocol = IPPROTO_TCP;
		else if (ai->ai_socktype == SOCK_DGRAM)
			ai->ai_protocol = IPPROTO_UDP;
		break;
	default:
		break;
	}
}

static int copy_addr(struct sockaddr **dst, socklen_t *dst_len,
		     const struct sockaddr *src, socklen_t len)
{
	if (!src)
		return lep_err(EINVAL);
	*dst = malloc(len);
	if (!*dst)
		return -1;
	memcpy(*dst, src, len);
	*dst_len = len;
	return 0;
}

/* The layout of an AF_IB address. copy_gid() makes one from a GID in an IPv6 address. */
struct sockaddr_gid {
	uint16_t family;
	__be16 pkey;
	__be32 flowinfo;
	uint8_t gid[16];
	__be64 sid;
	__be64 sid_mask;
	uint64_t scope_id;
};

static int copy_gid(struct sockaddr **dst, socklen_t *dst_len,
		    const struct addrinfo *ai, int ps)
{
	const struct sockaddr_in6 *src = (const void *)ai->ai_addr;
	struct sockaddr_gid *addr;
	uint16_t port;

	if (ai->ai_family != AF_INET6)
		return lep_err(EINVAL);
	addr = calloc(1, sizeof(*addr));
	if (!addr)
		return -1;
	port = be16toh(src->sin6_port);
	addr->family = AF_IB;
	addr->pkey = htobe16(0xffff);
	addr->flowinfo = src->sin6_flowinfo;
	memcpy(addr->gid, &src->sin6_addr, sizeof(addr->gid));
	addr->sid = htobe64((uint64_t)ps << 16 | port);
	addr->sid_mask = htobe64((ps ? RDMA_IB_IP_PS_MASK : 0) |
				 (port ? RDMA_IB_IP_PORT_MASK : 0));
	addr->scope_id = src->sin6_scope_id;
	*dst = (struct sockaddr *)addr;
	*dst_len = sizeof(*addr);
	return 0;
}

/* The first answer of getaddrinfo() becomes the result, as in librdmacm. */
static int set_result(struct rdma_addrinfo *res,
		      const struct rdma_addrinfo *hints,
		      const struct addrinfo *ai)
{
	bool passive = ai->ai_flags & AI_PASSIVE;
	struct sockaddr **addr = &res->ai_dst_addr;
	socklen_t *len = &res->ai_dst_len;
	char **name = &res->ai_dst_canonname;

	res->ai_qp_type = hints->ai_qp_type;
	if (!res->ai_qp_type && ai->ai_socktype == SOCK_STREAM)
		res->ai_qp_type = IBV_QPT_RC;
	if (!res->ai_qp_type && ai->ai_socktype == SOCK_DGRAM)
		res->ai_qp_type = IBV_QPT_UD;
	res->ai_port_space = hints->ai_port_space;
	if (!res->ai_port_space && ai->ai_protocol == IPPROTO_TCP)
		res->ai_port_space = RDMA_PS_TCP;
	if (!res->ai_port_space && ai->ai_protocol == IPPROTO_UDP)
		res->ai_port_space = RDMA_PS_UDP;

	if (passive) {
		res->ai_flags = RAI_PASSIVE;
		addr = &res->ai_src_addr;
		len = &res->ai_src_len;
		name = &res->ai_src_canonname;
	}
	if (ai->ai_canonname) {
		*name = strdup(ai->ai_canonname);
		if (!*name)
			return -1;
	}
	if (hints->ai_family == AF_IB && hints->ai_flags & RAI_FAMILY &&
	    hints->ai_flags & RAI_NUMERICHOST) {
		res->ai_family = AF_IB;
		return copy_gid(addr, len, ai, res->ai_port_space);
	}
	res->ai_family = ai->ai_family;
	return copy_addr(addr, len, ai->ai_addr, ai->ai_addrlen);
}

/* Arguments and results are those of rdma_getaddrinfo(3). */
int lep_addrinfo_get(const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **out)
{
	static const struct rdma_addrinfo no_hints;
	struct addrinfo ai_hints, *ai = NULL;
	struct rdma_addrinfo *res;
	int error, ret = 0;

	if (!out || (!node && !service && !hints))
		return lep_err(EINVAL);
	if (lep_session_get_cm(NULL))
		return -1;
	if (hints && hints->ai_flags & RAI_SA)
		return lep_err(EOPNOTSUPP);

	/* getaddrinfo() is a cancellation point, so nothing is allocated before it. */
	if (node || service) {
		if (hints)
			set_hints(&ai_hints, hints);
		ret = getaddrinfo(node, service, hints ? &ai_hints : NULL, &ai);
		if (ret)
			return ret;
	}
	if (!hints)
		hints = &no_hints;
	res = calloc(1, sizeof(*res));
	if (!res) {
		if (ai)
			freeaddrinfo(ai);
		return lep_err(ENOMEM);
	}
	if (ai) {
		ret = set_result(res, hints, ai);
		freeaddrinfo(ai);
	} else {
		res->ai_flags = hints->ai_flags;
		res->ai_family = hints->ai_family;
		res->ai_qp_type = hints->ai_qp_type;
		res->ai_port_space = hints->ai_port_space;
		if (hints->ai_dst_len)
			ret = copy_addr(&res->ai_dst_addr, &res->ai_dst_len,
					hints->ai_dst_addr, hints->ai_dst_len);
	}
	if (!ret && !res->ai_src_len && hints->ai_src_len)
		ret = copy_addr(&res->ai_src_addr, &res->ai_src_len,
				hints->ai_src_addr, hints->ai_src_len);
	if (ret) {
		error = errno;
		lep_addrinfo_free(res);
		errno = error;
		return ret;
	}
	*out = res;
	return 0;
}

/* rdma_getaddrinfo(3): returns 0, -1 and errno, or an EAI_* code of getaddrinfo(3). */
LEP_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				const struct rdma_addrinfo *hints,
				struct rdma_addrinfo **out)
{
	if (lep_real_calls())
		return lep_forward_cm(-1, rdma_getaddrinfo, node, service,
				      hints, out);
	return lep_addrinfo_get(node, service, hints, out);
}

/* Frees results of any library: librdmacm allocates the same members. */
void lep_addrinfo_free(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
	}
}

/* rdma_freeaddrinfo(3) */
LEP_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	lep_addrinfo_free(res);
}
