// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communication ids, their events, and connected pairs for the raw ioctl tests.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "abi.h"

int abi_addr6(const struct abi *s, struct sockaddr_in6 *sin6)
{
	struct ifaddrs *list, *a;
	struct sockaddr_in6 *addr;
	int ret = -ENOENT;

	if (getifaddrs(&list))
		return -errno;
	for (a = list; a; a = a->ifa_next) {
		addr = (struct sockaddr_in6 *)a->ifa_addr;
		if (!addr || addr->sin6_family != AF_INET6 ||
		    if_nametoindex(a->ifa_name) != s->netdev ||
		    IN6_IS_ADDR_LINKLOCAL(&addr->sin6_addr))
			continue;
		*sin6 = *addr;
		ret = 0;
	}
	freeifaddrs(list);
	return ret;
}

int abi_channel(const struct abi *s)
{
	struct rdma_ep_cmd_create_fd f = {};

	return ABI(s->fd, CREATE_CHANNEL, &f) ?: f.fd;
}

int abi_create_id(const struct abi *s, int channel, __u32 ps, __u32 type, __u64 uid, __u32 *id)
{
	struct rdma_ep_cmd_create_id c = {
		.uid = uid, .channel_fd = channel, .ps = ps, .qp_type = type,
	};
	int ret = ABI(s->fd, CREATE_ID, &c);

	*id = c.id;
	return ret;
}

static size_t addr_len(const void *addr)
{
	switch (*(const sa_family_t *)addr) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case ABI_AF_IB:
		return ABI_AF_IB_BYTES;
	}
	return sizeof(sa_family_t);
}

int abi_bind_to(const struct abi *s, __u32 id, const void *addr)
{
	struct rdma_ep_cmd_bind_addr b = { .id = id };

	memcpy(&b.addr, addr, addr_len(addr));
	return ABI(s->fd, BIND_ADDR, &b);
}

int abi_bind(const struct abi *s, __u32 id, struct sockaddr_in *sin)
{
	struct rdma_ep_cmd_bind_addr b = { .id = id };
	int ret;

	memcpy(&b.addr, sin, sizeof(*sin));
	ret = ABI(s->fd, BIND_ADDR, &b);
	if (!ret)
		memcpy(sin, &b.info.src, sizeof(*sin));
	return ret;
}

int abi_id_cmd(const struct abi *s, unsigned long cmd, __u32 id, __u32 arg)
{
	struct rdma_ep_cmd_id c = { .id = id, .arg = arg };

	return abi_ioctl(s->fd, cmd, &c);
}

static __u32 type_of(__u32 ps)
{
	return ps == RDMA_PS_UDP ? QPT_UD : QPT_RC;
}

/* Listens on a free port of our address; stores the address in @sin. */
int abi_listen(const struct abi *s, int channel, __u32 ps, __u32 backlog,
	       __u64 uid, __u32 *id, struct sockaddr_in *sin)
{
	int ret;

	/* Retry if a TCP socket has the port, see tcp_port_in_use(). */
	do {
		*sin = s->addr;
		ret = abi_create_id(s, channel, ps, type_of(ps), uid, id) ?:
		      abi_bind(s, *id, sin);
		if (ret)
			return ret;
		ret = ABI_ID_CMD(s, LISTEN, *id, backlog);
	} while (ret == -EADDRINUSE && s->iwarp && !ABI_DESTROY(s, ID, *id));
	return ret;
}

int abi_resolve_from(const struct abi *s, __u32 id, const void *src, const void *dst,
		     __u32 timeout_ms)
{
	struct rdma_ep_cmd_resolve_addr r = { .id = id, .timeout_ms = timeout_ms };

	if (src)
		memcpy(&r.src, src, addr_len(src));
	memcpy(&r.dst, dst, addr_len(dst));
	return ABI(s->fd, RESOLVE_ADDR, &r);
}

int abi_resolve(const struct abi *s, int channel, __u32 id, const struct sockaddr_in *dst)
{
	return abi_resolve_addr(s, id, dst, 5000) ?: abi_event(channel, EV_ADDR_RESOLVED, NULL);
}

int abi_resolve_route(const struct abi *s, int channel, __u32 id)
{
	return ABI_ID_CMD(s, RESOLVE_ROUTE, id, 5000) ?:
	       abi_event(channel, EV_ROUTE_RESOLVED, NULL);
}

/*
 * rdma_cm chooses a port for an id without regard to the ports of TCP, and siw binds a TCP socket
 * to it: CONNECT fails with EADDRINUSE if another socket has the port.
 */
static bool tcp_port_in_use(const struct abi *s, __u32 id)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rdma_ep_cmd_query_id q = { .id = id };
	bool used;

	used = !ABI(s->fd, QUERY_ID, &q) &&
	       !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	       bind(fd, (void *)&q.info.src, sizeof(struct sockaddr_in)) && errno == EADDRINUSE;
	close(fd);
	return used;
}

/* An id that is ready to connect */
int abi_client(const struct abi *s, int channel, __u32 ps,
	       const struct sockaddr_in *dst, __u64 uid, __u32 *id)
{
	int ret;

	for (;;) {
		ret = abi_create_id(s, channel, ps, type_of(ps), uid, id) ?:
		      abi_resolve(s, channel, *id, dst);
		if (ret || !s->iwarp || !tcp_port_in_use(s, *id))
			return ret ?: abi_resolve_route(s, channel, *id);
		ret = ABI_DESTROY(s, ID, *id);
		if (ret)
			return ret;
	}
}

int abi_ud_id(const struct abi *s, int channel, __u64 uid, __u32 *id)
{
	struct sockaddr_in sin = s->addr;

	return abi_create_id(s, channel, RDMA_PS_UDP, QPT_UD, uid, id) ?:
	       abi_bind(s, *id, &sin);
}

void abi_group(struct sockaddr_in *sin, __u16 number)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(0xe6010000 | number);
}

void abi_group_gid(__u8 gid[16], __u16 number)
{
	struct sockaddr_in sin;

	abi_group(&sin, number);
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &sin.sin_addr, 4);
}

int abi_join(const struct abi *s, __u32 id, __u16 group, __u64 uid, __u32 *mcast)
{
	struct rdma_ep_cmd_join_multicast j = { .uid = uid, .id = id };
	int ret;

	abi_group((struct sockaddr_in *)&j.addr, group);
	ret = ABI(s->fd, JOIN_MULTICAST, &j);
	*mcast = j.mcast;
	return ret;
}

int abi_attach(const struct abi *s, __u32 qp, __u16 group)
{
	struct rdma_ep_cmd_qp_mcast a = { .qp = qp };

	abi_group_gid(a.gid, group);
	return ABI(s->fd, ATTACH_MCAST, &a);
}

int abi_detach(const struct abi *s, __u32 qp, __u16 group)
{
	struct rdma_ep_cmd_qp_mcast a = { .qp = qp };

	abi_group_gid(a.gid, group);
	return ABI(s->fd, DETACH_MCAST, &a);
}

int abi_migrate(const struct abi *s, __u32 id, int channel)
{
	struct rdma_ep_cmd_migrate_id m = { .id = id, .channel_fd = channel };

	return ABI(s->fd, MIGRATE_ID, &m);
}

int abi_user_event(const struct abi *s, __u32 id, __u64 arg)
{
	struct rdma_ep_cmd_write_event w = { .id = id, .event = RDMA_EP_CM_EVENT_USER, .arg = arg };

	return ABI(s->fd, WRITE_EVENT, &w);
}

int abi_events_reported(const struct abi *s, __u32 id)
{
	struct rdma_ep_cmd_query_id q = { .id = id };

	return ABI(s->fd, QUERY_ID, &q) ?: (int)q.events_reported;
}

int abi_id_qp(const struct abi *s, __u32 id, struct rdma_ep_cmd_create_qp *qp)
{
	__u32 cq;
	int ret = abi_create_cq(s, -1, 16, 0, &cq);

	return ret ?: abi_create_qp(s, QPT_RC, cq, id, qp);
}

static void conn_param(struct rdma_ep_cmd_connect *c, __u32 id, __u32 qp_num, __u8 reads)
{
	c->id = id;
	c->conn.qp_num = qp_num;
	c->conn.responder_resources = reads;
	c->conn.initiator_depth = reads;
	c->conn.retry_count = 7;
	c->conn.rnr_retry_count = 7;
}

int abi_connect_reads(const struct abi *s, __u32 id, __u32 qp_num, __u8 reads)
{
	struct rdma_ep_cmd_connect c = {};

	conn_param(&c, id, qp_num, reads);
	return ABI(s->fd, CONNECT, &c);
}

int abi_connect(const struct abi *s, __u32 id, __u32 qp_num)
{
	return abi_connect_reads(s, id, qp_num, 1);
}

static int accept_with(const struct abi *s, __u32 id, __u64 uid, __u32 qp_num, __u8 reads)
{
	struct rdma_ep_cmd_connect c = { .uid = uid };

	conn_param(&c, id, qp_num, reads);
	return ABI(s->fd, ACCEPT, &c);
}

int abi_accept(const struct abi *s, __u32 id, __u64 uid, __u32 qp_num)
{
	return accept_with(s, id, uid, qp_num, 1);
}

int abi_read(int fd, void *record, size_t len, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	n = poll(&p, 1, timeout_ms);
	if (n < 0)
		return -errno;
	if (!n)
		return -ETIMEDOUT;
	n = read(fd, record, len);
	if (n < 0)
		return -errno;
	return n == (ssize_t)len ? 0 : -EPROTO;
}

int abi_event(int channel, enum abi_cm_event event, struct rdma_ep_channel_event *ev)
{
	struct rdma_ep_channel_event unused;
	int ret;

	ev = ev ?: &unused;
	memset(ev, 0, sizeof(*ev));
	ret = abi_read(channel, ev, sizeof(*ev), ABI_WAIT_MS);
	if (ret) {
		fprintf(stderr, "# no event %d: %s\n", event, strerror(-ret));
		return ret;
	}
	if (ev->event == event)
		return 0;
	fprintf(stderr, "# event %u (status %d) instead of %d\n", ev->event, ev->status, event);
	return -EPROTO;
}

bool abi_ready(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static int create_end_qp(const struct abi *s, const struct abi_pair *p, int i)
{
	struct abi_end *e = (struct abi_end *)&p->end[i];
	struct rdma_ep_cmd_create_qp c;
	int ret;

	for (int j = 0; j < 2; j++) {
		ret = p->rings ? abi_create_ring_cq(s, p->comp ?: -1, 128, 2 * i + j, &e->cq[j],
						    &e->ring[j]) :
		      abi_create_cq(s, p->comp ?: -1, 128, 2 * i + j, &e->cq[j]);
		if (ret)
			return ret;
	}
	abi_qp_attr(&c, QPT_RC, p->pd[i] ?: s->pd, e->cq[0], e->cq[1]);
	c.id = e->id;
	if (p->max_wr) {
		c.init.max_send_wr = p->max_wr;
		c.init.max_recv_wr = p->max_wr;
	}
	if (p->max_sge)
		c.init.max_send_sge = p->max_sge;
	if (i == 1)
		c.init.srq = p->srq;
	if (p->sig_all)
		c.init.flags = RDMA_EP_QP_SQ_SIG_ALL;
	ret = ABI(s->fd, CREATE_QP, &c);
	e->qp = c.init;
	return ret;
}

int abi_pair_between(const struct abi *c, const struct abi *s, struct abi_pair *p)
{
	struct abi_end *client = &p->end[0], *server = &p->end[1];
	struct sockaddr_in sin;
	struct rdma_ep_channel_event ev;
	int ret;

	client->channel = abi_channel(c);
	server->channel = abi_channel(s);
	if (client->channel < 0)
		return client->channel;
	if (server->channel < 0)
		return server->channel;
	ret = abi_listen(s, server->channel, RDMA_PS_TCP, 0, 1, &p->listener, &sin) ?:
	      abi_client(c, client->channel, RDMA_PS_TCP, &sin, 2, &client->id) ?:
	      create_end_qp(c, p, 0) ?:
	      abi_connect_reads(c, client->id, 0, !p->no_reads) ?:
	      abi_event(server->channel, EV_CONNECT_REQUEST, &ev);
	if (ret)
		return ret;
	server->id = ev.child;
	return create_end_qp(s, p, 1) ?:
	       accept_with(s, server->id, 3, 0, !p->no_reads) ?:
	       abi_event(client->channel, EV_ESTABLISHED, NULL) ?:
	       abi_event(server->channel, EV_ESTABLISHED, NULL);
}

int abi_pair_open(const struct abi *s, struct abi_pair *p)
{
	return abi_pair_between(s, s, p);
}
