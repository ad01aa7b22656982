// SPDX-License-Identifier: GPL-2.0-only
/* Event channels and events; creating, binding, migrating and destroying ids. */
#include <arpa/inet.h>
#include <fcntl.h>

#include "diff.h"

static struct sockaddr_in addr_of(const char *ip, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	inet_pton(AF_INET, ip, &sin.sin_addr);
	sin.sin_port = htons(port);
	return sin;
}

void diff_topic_cm_channel(void)
{
	struct rdma_event_channel *channel, fake = { .fd = -1 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int fds[2];

	channel = N(rdma_create_event_channel(), "plain");
	diff_value("close on exec", "%d", !!(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC));
	diff_value("nonblocking at first", "%d", !!(fcntl(channel->fd, F_GETFL) & O_NONBLOCK));
	diff_value("readable at first", "%d", lib_readable(channel->fd, 0));

	diff_hangs(300);
	E(rdma_get_cm_event(channel, &event), "no event: blocks");
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	E(rdma_get_cm_event(channel, &event), "no event, O_NONBLOCK");
	E(rdma_get_cm_event(channel, NULL), "event NULL");
	E(rdma_get_cm_event(NULL, &event), "channel NULL");
	E(rdma_get_cm_event(&fake, &event), "fd -1");
	NEED(!pipe(fds));
	E(rdma_ack_cm_event(NULL), "NULL");

	fake.fd = -1;
	E(rdma_create_id(&fake, &id, NULL, RDMA_PS_TCP), "channel's fd -1");
	fake.fd = fds[0];
	E(rdma_create_id(&fake, &id, NULL, RDMA_PS_TCP), "channel's fd a pipe");
	V(rdma_destroy_event_channel(channel), "plain");
	V(rdma_destroy_event_channel(NULL), "NULL");
}

static void create(void)
{
	static const struct {
		int ps;
		const char *name;
	} spaces[] = {
		{ RDMA_PS_TCP, "TCP" }, { RDMA_PS_UDP, "UDP" },
		{ RDMA_PS_IPOIB, "IPOIB" }, { RDMA_PS_IB, "IB" },
		{ 0, "0" }, { -1, "-1" }, { 0x0107, "0x107" },
		{ 0x10106, "TCP with bit 16" }, { 0x0001, "SDP" },
	};
	struct rdma_cm_id *id;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		ret = E(rdma_create_id(NULL, &id, &i, spaces[i].ps),
			"port space %s", spaces[i].name);
		if (ret)
			continue;
		diff_value("id", "ps %x type %d context %d verbs %d channel %d qp %d pd %d port %d",
			   id->ps, id->qp_type, id->context == &i, !!id->verbs,
			   !!id->channel, !!id->qp, !!id->pd, id->port_num);
		rdma_destroy_id(id);
	}
	E(rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP), "id NULL");
}

static void bind_one(const char *what, struct sockaddr *addr)
{
	struct rdma_cm_id *id;

	id = diff_id(RDMA_PS_TCP);
	if (!E(rdma_bind_addr(id, addr), "%s", what))
		diff_value("id", "verbs %d pd %d port_num %d src_port %d family %d",
			   !!id->verbs, !!id->pd, id->port_num, !!rdma_get_src_port(id),
			   id->route.addr.src_addr.sa_family);
	rdma_destroy_id(id);
}

static void bind_all(void)
{
	struct sockaddr_in mine = lib_addr(0), sin;
	struct sockaddr_in6 six, sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_storage ss = {};
	struct rdma_cm_id *id, *other;

	bind_one("the device's address", SA(&mine));
	sin = addr_of("0.0.0.0", 0);
	bind_one("wildcard", SA(&sin));
	sin = addr_of("127.0.0.1", 0);
	bind_one("loopback", SA(&sin));
	sin = addr_of("203.0.113.7", 0);
	bind_one("an address of nobody", SA(&sin));
	sin = addr_of("255.255.255.255", 0);
	bind_one("broadcast", SA(&sin));
	sin = addr_of("224.0.0.5", 0);
	bind_one("multicast", SA(&sin));
	sin = mine;
	sin.sin_port = htons(7);
	bind_one("privileged port, as root", SA(&sin));
	sin.sin_port = htons(65535);
	bind_one("port 65535", SA(&sin));
	bind_one("IPv6 wildcard", SA(&sin6));
	if (lib_addr6(&six))
		bind_one("the device's IPv6 address", SA(&six));
	sin6.sin6_addr.s6_addr[0] = 0x20;
	bind_one("an IPv6 address of nobody", SA(&sin6));
	sin6.sin6_addr.s6_addr[0] = 0xfe;
	sin6.sin6_addr.s6_addr[1] = 0x80;
	bind_one("IPv6 link-local without a scope", SA(&sin6));
	ss.ss_family = AF_UNSPEC;
	bind_one("AF_UNSPEC", SA(&ss));
	ss.ss_family = AF_UNIX;
	bind_one("AF_UNIX", SA(&ss));
	ss.ss_family = 27;
	bind_one("AF_IB, all zero", SA(&ss));
	ss.ss_family = 0xffff;
	bind_one("family 0xffff", SA(&ss));

	id = diff_id(RDMA_PS_TCP);
	other = diff_id(RDMA_PS_TCP);
	E(rdma_bind_addr(NULL, SA(&mine)), "id NULL");
	E(rdma_bind_addr(id, NULL), "address NULL");
	NEED(!rdma_bind_addr(id, SA(&mine)));
	E(rdma_bind_addr(id, SA(&mine)), "twice");
	sin = mine;
	sin.sin_port = rdma_get_src_port(id);
	E(rdma_bind_addr(other, SA(&sin)), "port in use");
	rdma_destroy_id(other);
	other = diff_id(RDMA_PS_UDP);
	E(rdma_bind_addr(other, SA(&sin)), "same port, other port space");
	rdma_destroy_id(other);
	rdma_destroy_id(id);
}

static void ports(void)
{
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	id = diff_id(RDMA_PS_TCP);
	I(rdma_get_src_port(id), "unbound");
	I(rdma_get_dst_port(id), "unbound");
	I(rdma_get_src_port(NULL), "NULL");
	I(rdma_get_dst_port(NULL), "NULL");
	diff_value("local address", "%d", rdma_get_local_addr(id) == &id->route.addr.src_addr);
	diff_value("peer address", "%d", rdma_get_peer_addr(id) == &id->route.addr.dst_addr);
	NEED(!rdma_bind_addr(id, SA(&sin)));
	I(!rdma_get_src_port(id), "bound");
	I(rdma_get_dst_port(id), "bound");
	id->route.addr.src_addr.sa_family = AF_UNIX;
	I(rdma_get_src_port(id), "AF_UNIX");
	id->route.addr.src_addr.sa_family = AF_INET;
	rdma_destroy_id(id);
}

static void migrate(void)
{
	struct rdma_event_channel *a, *b, fake = { .fd = -1 };
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	NEED(a = rdma_create_event_channel());
	NEED(b = rdma_create_event_channel());
	id = diff_id(RDMA_PS_TCP);
	E(rdma_migrate_id(id, NULL), "synchronous, to NULL");
	E(rdma_migrate_id(NULL, a), "id NULL");
	E(rdma_migrate_id(id, &fake), "to fd -1");
	E(rdma_migrate_id(id, a), "synchronous, to a channel");
	diff_value("channel", "%d", id->channel == a);
	E(rdma_migrate_id(id, a), "to the same channel");
	E(rdma_migrate_id(id, &fake), "from a channel to fd -1");
	diff_value("channel still", "%d", id->channel == a);
	sin.sin_port = htons(7471);
	NEED(!rdma_resolve_addr(id, NULL, SA(&sin), 2000));
	NEED(lib_readable(a->fd, 2000));
	E(rdma_migrate_id(id, b), "with an unread event");
	diff_value("old channel", "%d", lib_readable(a->fd, 0));
	diff_value("new channel", "%s", diff_event(b));
	E(rdma_migrate_id(id, NULL), "to NULL");
	diff_value("private channel", "%d", id->channel && id->channel != b);
	E(rdma_resolve_route(id, 2000), "synchronous after migration");
	E(rdma_destroy_id(id), "after migration");
	rdma_destroy_event_channel(a);
	rdma_destroy_event_channel(b);
}

static void destroy(void)
{
	struct sockaddr_in sin = lib_addr(7471);
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *stale;
	int value = 1;

	E(rdma_destroy_id(NULL), "NULL");
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	stale = diff_copy(id);
	E(rdma_destroy_id(id), "unbound");
	E(rdma_bind_addr(stale, SA(&sin)), "stale id");
	E(rdma_resolve_addr(stale, NULL, SA(&sin), 100), "stale id");
	E(rdma_listen(stale, 1), "stale id");
	E(rdma_migrate_id(stale, channel), "stale id");
	E(rdma_reject(stale, NULL, 0), "stale id");
	E(rdma_set_option(stale, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
			  &value, sizeof(value)), "stale id");
	E(rdma_notify(stale, IBV_EVENT_COMM_EST), "stale id");
	E(rdma_establish(stale), "stale id");
	E(rdma_destroy_id(stale), "stale id");

	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(id, NULL, SA(&sin), 2000));
	NEED(lib_readable(channel->fd, 2000));
	E(rdma_destroy_id(id), "with an unread event");
	diff_value("its event", "%d", lib_readable(channel->fd, 50));

	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(id, NULL, SA(&sin), 2000));
	NEED(!rdma_get_cm_event(channel, &event));
	diff_hangs(300);
	E(rdma_destroy_id(id), "with an event that was not acknowledged");
}

void diff_topic_cm_id(void)
{
	create();
	bind_all();
	ports();
	migrate();
	destroy();
}
