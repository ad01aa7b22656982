// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep doctor HOST, --listen PORT: the obstacles to a connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

/* Headers of a RoCE packet in front of its data: IPv6, UDP, BTH, RETH, and the checksum */
enum { HEADERS = 40 + 8 + 12 + 16 + 4 };

/* Connects a socket that sends nothing: its local address and path MTU are the route's. */
static int route(const struct addrinfo *to, struct sockaddr_storage *from, int *mtu)
{
	bool v6 = to->ai_family == AF_INET6;
	int s = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*from), mtu_len = sizeof(*mtu);
	int ret = 0;

	if (s < 0 || connect(s, to->ai_addr, to->ai_addrlen) ||
	    getsockname(s, (struct sockaddr *)from, &len) ||
	    getsockopt(s, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, mtu, &mtu_len))
		ret = -errno;
	if (s >= 0)
		close(s);
	return ret;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

/* The name of the interface that has the address, or false */
static bool interface_of(const struct sockaddr_storage *addr, char name[IF_NAMESIZE])
{
	struct ifaddrs *all, *a;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (a = all; a && !found; a = a->ifa_next) {
		if (!same_address(a->ifa_addr, addr))
			continue;
		snprintf(name, IF_NAMESIZE, "%s", a->ifa_name);
		found = true;
	}
	freeifaddrs(all);
	return found;
}

/* The first line of a file of the interface in /sys, until the next call, or "" */
static const char *attribute(const char *netdev, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", netdev, name);
	return line_of(path);
}

/* IPoIB's interfaces are not the network devices of a port. */
static bool is_infiniband(const char *netdev)
{
	return atoi(attribute(netdev, "type")) == ARPHRD_INFINIBAND;
}

static bool is_vlan(const char *netdev)
{
	return !strcmp(attribute(netdev, "uevent"), "DEVTYPE=vlan");
}

/* Does the interface have a GID of the port? A VLAN and a macvlan of its network device do. */
static bool has_gid(int fd, const struct rdma_ep_cmd_query_port *port, unsigned int netdev)
{
	struct rdma_ep_cmd_query_gid g = {
		.size = sizeof(g),
		.dev_index = port->dev_index,
		.port_num = port->port_num,
	};

	for (; g.gid_index < port->attr.gid_tbl_len; g.gid_index++)
		if (!ioctl(fd, RDMA_EP_IOC_QUERY_GID, &g) && g.ndev_ifindex == netdev)
			return true;
	return false;
}

/* The largest packet of the active port on the interface; 0: no device is on it */
static int port_mtu(int fd, const char *netdev)
{
	struct rdma_ep_device_info devs[MAX_DEVICES];
	int num = devices_get(fd, devs, MAX_DEVICES), i;
	struct rdma_ep_cmd_query_port q = { .size = sizeof(q) };
	unsigned int index = if_nametoindex(netdev), j;

	for (i = 0; index && i < num; i++) {
		/* rxe receives nothing from a macvlan. */
		bool by_gid = devs[i].driver_id != RDMA_DRIVER_RXE || is_vlan(netdev);

		for (j = 1; j <= devs[i].phys_port_cnt; j++) {
			q.dev_index = devs[i].dev_index;
			q.port_num = j;
			if (ioctl(fd, RDMA_EP_IOC_QUERY_PORT, &q) ||
			    (q.netdev_index != index && !(by_gid && has_gid(fd, &q, index))))
				continue;
			/* TCP finds the MTU of the path. */
			return devs[i].node_type == NODE_IWARP ? 1 : 128 << q.attr.active_mtu;
		}
	}
	return 0;
}

/* @fd: of the node. @name: an address or a host's name */
void check_reach(int fd, const char *name)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *to;
	char netdev[IF_NAMESIZE] = "", mend[160];
	struct sockaddr_storage from;
	int ret, mtu = 0, size;

	ret = getaddrinfo(name, "9", &hints, &to);
	if (ret) {
		say("route", FAIL, "use an address, or a name that is in the DNS or in /etc/hosts",
		    "%s: %s", name, gai_strerror(ret));
		return;
	}
	ret = route(to, &from, &mtu);
	freeaddrinfo(to);
	if (ret) {
		snprintf(mend, sizeof(mend),
			 "ip route add %s dev NETDEV, of the RDMA device", name);
		say("route", FAIL, mend, "no route to %s: %s", name, strerror(-ret));
		return;
	}
	if (!interface_of(&from, netdev))
		snprintf(netdev, sizeof(netdev), "?");
	/* Its packets have no headers of IP and UDP. */
	size = is_infiniband(netdev) ? 1 : port_mtu(fd, netdev);
	if (!size) {
		snprintf(mend, sizeof(mend),
			 "ip route add %s dev NETDEV, of the RDMA device; or rdma link add rxe0 type rxe netdev %s",
			 name, netdev);
		say("route", FAIL, mend, "the route to %s uses %s, which has no RDMA device", name,
		    netdev);
		return;
	}
	say("route", OK, NULL, "the route to %s uses %s", name, netdev);
	if (size > 1 && size + HEADERS > mtu) {
		snprintf(mend, sizeof(mend), "ip link set %s mtu %d, and a larger MTU on the way; or less on both sides",
			 netdev, mtu);
		say("mtu", FAIL, mend,
		    "the path to %s takes packets of %d bytes, RDMA sends %d and %d of headers",
		    name, mtu, size, HEADERS);
	} else {
		say("mtu", OK, NULL, "the path to %s takes packets of %d bytes", name, mtu);
	}
}

static int try_to_listen(int fd, const char *port)
{
	struct rdma_ep_cmd_create_id create = {
		.size = sizeof(create), .flags = RDMA_EP_ID_PRIVATE_CHANNEL,
		.ps = 0x106 /* RDMA_PS_TCP */, .qp_type = IB_UVERBS_QPT_RC,
	};
	struct rdma_ep_cmd_bind_addr bind_addr = { .size = sizeof(bind_addr) };
	struct rdma_ep_cmd_id listen_on = { .size = sizeof(listen_on), .arg = 1 };
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };

	if (ioctl(fd, RDMA_EP_IOC_CREATE_ID, &create))
		return -errno;
	bind_addr.id = create.id;
	listen_on.id = create.id;
	memcpy(&bind_addr.addr, &any, sizeof(any));
	if (ioctl(fd, RDMA_EP_IOC_BIND_ADDR, &bind_addr) ||
	    ioctl(fd, RDMA_EP_IOC_LISTEN, &listen_on))
		return -errno;
	return 0;
}

/* Listens for a moment, in a session of its own. */
void check_listen(const char *port)
{
	int fd = node_open(), ret = fd < 0 ? -errno : try_to_listen(fd, port);
	char mend[160];

	if (fd >= 0)
		close(fd);
	/* rdma_cm's errno if the port belongs to one address, and all are wanted */
	if (ret == -EADDRNOTAVAIL)
		ret = -EADDRINUSE;
	switch (-ret) {
	case 0:
		say("port", OK, NULL, "port %s is free", port);
		return;
	case EADDRINUSE:
		snprintf(mend, sizeof(mend),
			 "rdma-ep status | grep :%s; rdma resource show cm_id; on iWARP also ss -tlnp sport = :%s",
			 port, port);
		break;
	case EACCES:
		snprintf(mend, sizeof(mend),
			 "a port from 1024 on, or CAP_NET_BIND_SERVICE; if rules close a device, listen at an address of another one");
		break;
	default:
		snprintf(mend, sizeof(mend), "see rdma_listen(3ep)");
	}
	say("port", FAIL, mend, "port %s: %s", port, strerror(-ret));
}
