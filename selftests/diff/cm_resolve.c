// SPDX-License-Identifier: GPL-2.0-only
/* Resolving addresses and routes; rdma_getaddrinfo(3). */
#include <arpa/inet.h>
#include <netdb.h>

#include "diff.h"

static void set_ip(struct sockaddr_in *sin, const char *ip)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(7471);
	inet_pton(AF_INET, ip, &sin->sin_addr);
}

/* Resolves synchronously. The answer contains the event's status. */
static void resolve(const char *what, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	struct rdma_cm_id *id;
	int ret;

	id = diff_id(RDMA_PS_TCP);
	ret = E(rdma_resolve_addr(id, src, dst, ms), "%s", what);
	diff_value("event", "%s %d", id->event ? rdma_event_str(id->event->event) : "none",
		   id->event ? id->event->status : 0);
	if (!ret)
		diff_value("id", "verbs %d pd %d port_num %d src %d dst %d",
			   !!id->verbs, !!id->pd, id->port_num, id->route.addr.src_addr.sa_family,
			   id->route.addr.dst_addr.sa_family);
	rdma_destroy_id(id);
}

static void addresses(void)
{
	struct sockaddr_in mine = lib_addr(7471), sin, src;
	struct sockaddr_in6 six, src6;
	struct sockaddr_storage ss = {};

	resolve("own address", NULL, SA(&mine), 2000);
	src = mine;
	src.sin_port = 0;
	resolve("from own to own address", SA(&src), SA(&mine), 2000);
	set_ip(&sin, "0.0.0.0");
	resolve("wildcard", NULL, SA(&sin), 2000);
	set_ip(&src, "0.0.0.0");
	src.sin_port = 0;
	resolve("from the wildcard", SA(&src), SA(&mine), 2000);
	set_ip(&src, "203.0.113.7");
	src.sin_port = 0;
	resolve("from an address of nobody", SA(&src), SA(&mine), 2000);
	set_ip(&sin, "127.0.0.1");
	resolve("loopback", NULL, SA(&sin), 2000);
	set_ip(&sin, "10.42.0.99");
	resolve("a neighbour that is not there", NULL, SA(&sin), 200);
	set_ip(&sin, "203.0.113.7");
	resolve("no route", NULL, SA(&sin), 200);
	sin = mine;
	sin.sin_port = 0;
	resolve("port 0", NULL, SA(&sin), 2000);
	resolve("timeout 0", NULL, SA(&mine), 0);
	resolve("timeout -1", NULL, SA(&mine), -1);
	if (lib_addr6(&six)) {
		six.sin6_port = htons(7471);
		resolve("own IPv6 address", NULL, SA(&six), 2000);
		src = mine;
		src.sin_port = 0;
		resolve("from IPv4 to IPv6", SA(&src), SA(&six), 2000);
		src6 = six;
		src6.sin6_port = 0;
		resolve("from IPv6 to IPv4", SA(&src6), SA(&mine), 2000);
		resolve("from IPv6 to IPv6", SA(&src6), SA(&six), 2000);
	}
	resolve("AF_UNSPEC", NULL, SA(&ss), 200);
	ss.ss_family = AF_UNIX;
	resolve("AF_UNIX", NULL, SA(&ss), 200);
	ss.ss_family = 27;
	resolve("AF_IB, all zero", NULL, SA(&ss), 200);
	ss.ss_family = 0xffff;
	resolve("family 0xffff", NULL, SA(&ss), 200);
	resolve("NULL", NULL, NULL, 200);
}

static void states(void)
{
	struct sockaddr_in mine = lib_addr(7471), wild = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	E(rdma_resolve_addr(NULL, NULL, SA(&mine), 200), "id NULL");
	E(rdma_resolve_route(NULL, 200), "id NULL");

	id = diff_id(RDMA_PS_TCP);
	E(rdma_resolve_route(id, 200), "unbound");
	NEED(!rdma_bind_addr(id, SA(&wild)));
	E(rdma_resolve_route(id, 200), "bound to the wildcard");
	NEED(!rdma_listen(id, 1));
	E(rdma_resolve_addr(id, NULL, SA(&mine), 200), "listening");
	E(rdma_resolve_route(id, 200), "listening");
	rdma_destroy_id(id);

	id = diff_id(RDMA_PS_TCP);
	wild = lib_addr(0);
	NEED(!rdma_bind_addr(id, SA(&wild)));
	E(rdma_resolve_route(id, 200), "bound, no destination");
	E(rdma_resolve_addr(id, NULL, SA(&mine), 2000), "bound before");
	E(rdma_resolve_addr(id, NULL, SA(&mine), 2000), "twice");
	E(rdma_resolve_route(id, 2000), "after resolve_addr");
	diff_value("paths", "%d", id->route.num_paths);
	E(rdma_resolve_route(id, 2000), "twice");
	E(rdma_resolve_addr(id, NULL, SA(&mine), 2000), "after resolve_route");
	E(rdma_bind_addr(id, SA(&wild)), "after resolve_route");
	rdma_destroy_id(id);

	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	E(rdma_resolve_addr(id, NULL, SA(&mine), 2000), "UDP, asynchronous");
	diff_value("UDP", "%s", diff_event(channel));
	if (!E(rdma_resolve_route(id, 0), "UDP, timeout 0"))
		diff_value("event", "%s", diff_event(channel));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

void diff_topic_cm_resolve(void)
{
	addresses();
	states();
}

static const char *eai(int ret)
{
	switch (ret) {
	case EAI_NONAME:
		return "NONAME";
	case EAI_SERVICE:
		return "SERVICE";
	case EAI_FAMILY:
		return "FAMILY";
	case EAI_SOCKTYPE:
		return "SOCKTYPE";
	default:
		return ret ? "other" : "0";
	}
}

/* Prints the name of an EAI_* code, too: I() takes values below -1 for -errno. */
static void getaddrinfo_one(const char *what, const char *node, const char *service,
			    const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *res = NULL;
	int ret;

	ret = I(rdma_getaddrinfo(node, service, hints, &res), "%s", what);
	diff_value("EAI", "%s", eai(ret));
	if (ret || !res)
		return;
	diff_value("result", "flags %x family %d qp %d ps %x src %u dst %u names %d%d route %zu connect %zu next %d",
		   res->ai_flags, res->ai_family, res->ai_qp_type,
		   res->ai_port_space, res->ai_src_len, res->ai_dst_len,
		   !!res->ai_src_canonname, !!res->ai_dst_canonname,
		   res->ai_route_len, res->ai_connect_len, !!res->ai_next);
	V(rdma_freeaddrinfo(res), "%s", what);
}

void diff_topic_cm_addrinfo(void)
{
	static const int types[] = { 0, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
				     IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, 99 };
	static const int spaces[] = { 0, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB,
				      RDMA_PS_IPOIB, 0x999 };
	static const int families[] = { AF_INET, AF_INET6, 27, AF_UNIX, -1 };
	struct sockaddr_in src = lib_addr(0);
	struct rdma_addrinfo hints = {};
	const char *ip = getenv("RDMA_ADDR") ?: "10.42.0.1";
	char what[64];
	size_t t, s;

	getaddrinfo_one("all NULL", NULL, NULL, NULL);
	getaddrinfo_one("node", ip, NULL, NULL);
	getaddrinfo_one("node, service", ip, "7471", NULL);
	getaddrinfo_one("service", NULL, "7471", NULL);
	getaddrinfo_one("empty hints", NULL, NULL, &hints);
	getaddrinfo_one("service is no number", ip, "no such service", &hints);
	getaddrinfo_one("service too large", ip, "70000", &hints);
	getaddrinfo_one("empty node", "", "7471", &hints);
	E(rdma_getaddrinfo(ip, "7471", &hints, NULL), "result NULL");
	V(rdma_freeaddrinfo(NULL), "NULL");

	hints.ai_flags = RAI_NUMERICHOST;
	getaddrinfo_one("numeric, a name", "no.such.name", "7471", &hints);
	hints.ai_flags = RAI_NUMERICHOST | RAI_PASSIVE;
	getaddrinfo_one("passive", ip, "7471", &hints);
	getaddrinfo_one("passive, no node", NULL, "7471", &hints);
	hints.ai_flags = RAI_NUMERICHOST | RAI_NOROUTE;
	getaddrinfo_one("no route", ip, "7471", &hints);
	hints.ai_flags = 0x7fffff00 | RAI_NUMERICHOST;
	getaddrinfo_one("unknown flags", ip, "7471", &hints);
	hints.ai_flags = RAI_NUMERICHOST;
	hints.ai_src_addr = SA(&src);
	hints.ai_src_len = sizeof(src);
	getaddrinfo_one("with a source", ip, "7471", &hints);
	getaddrinfo_one("only a source", NULL, NULL, &hints);
	hints.ai_flags |= RAI_PASSIVE;
	getaddrinfo_one("passive, with a source", ip, "7471", &hints);
	memset(&hints, 0, sizeof(hints));
	hints.ai_dst_addr = SA(&src);
	hints.ai_dst_len = sizeof(src);
	getaddrinfo_one("only a destination", NULL, NULL, &hints);

	memset(&hints, 0, sizeof(hints));
	hints.ai_flags = RAI_NUMERICHOST;
	for (t = 0; t < ARRAY_SIZE(types); t++)
		for (s = 0; s < ARRAY_SIZE(spaces); s++) {
			hints.ai_qp_type = types[t];
			hints.ai_port_space = spaces[s];
			snprintf(what, sizeof(what), "type %d space %x", types[t], spaces[s]);
			getaddrinfo_one(what, ip, "7471", &hints);
		}
	memset(&hints, 0, sizeof(hints));
	for (s = 0; s < ARRAY_SIZE(families); s++) {
		hints.ai_family = families[s];
		hints.ai_flags = RAI_NUMERICHOST;
		snprintf(what, sizeof(what), "family %d, IPv4", families[s]);
		getaddrinfo_one(what, ip, "7471", &hints);
		hints.ai_flags |= RAI_FAMILY;
		snprintf(what, sizeof(what), "RAI_FAMILY %d, IPv4", families[s]);
		getaddrinfo_one(what, ip, "7471", &hints);
		snprintf(what, sizeof(what), "RAI_FAMILY %d, IPv6", families[s]);
		getaddrinfo_one(what, "fd42::1", "7471", &hints);
	}
}
