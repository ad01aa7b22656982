// SPDX-License-Identifier: BSD-2-Clause
/* rdma-ep devices: the devices that the caller may use. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

enum { PORT_ACTIVE = 4, LINK_ETHERNET = 2 };

int node_open(void)
{
	return open(NODE, O_RDWR | O_CLOEXEC);
}

int devices_get(int fd, struct rdma_ep_device_info *devs, int max)
{
	struct rdma_ep_cmd_query_devices q = {
		.size = sizeof(q),
		.devices = (uintptr_t)devs,
		.max = max,
	};

	if (ioctl(fd, RDMA_EP_IOC_QUERY_DEVICES, &q))
		return -1;
	return (int)q.num < max ? (int)q.num : max;
}

static void get_netdev(struct port *port)
{
	struct ifaddrs *all, *a;

	if (!port->netdev || !if_indextoname(port->netdev, port->name))
		return;
	if (getifaddrs(&all))
		return;
	for (a = all; a; a = a->ifa_next) {
		if (strcmp(a->ifa_name, port->name))
			continue;
		if (a->ifa_flags & IFF_UP)
			port->netdev_up = true;
		if (a->ifa_addr && (a->ifa_addr->sa_family == AF_INET ||
				    a->ifa_addr->sa_family == AF_INET6))
			port->address = true;
	}
	freeifaddrs(all);
}

bool port_get(int fd, const struct rdma_ep_device_info *dev, int number,
	      struct port *port)
{
	struct rdma_ep_cmd_query_port q = {
		.size = sizeof(q),
		.dev_index = dev->dev_index,
		.port_num = number,
	};
	struct rdma_ep_cmd_query_gid g = {
		.size = sizeof(g),
		.dev_index = dev->dev_index,
		.port_num = number,
	};
	unsigned int i;

	memset(port, 0, sizeof(*port));
	port->number = number;
	if (ioctl(fd, RDMA_EP_IOC_QUERY_PORT, &q))
		return false;
	port->active = q.attr.state == PORT_ACTIVE;
	port->ethernet = q.attr.link_layer == LINK_ETHERNET;
	port->netdev = q.netdev_index;
	for (i = 0; i < q.attr.gid_tbl_len; i++) {
		g.gid_index = i;
		if (ioctl(fd, RDMA_EP_IOC_QUERY_GID, &g))
			continue;
		port->gids++;
		/* rxe receives nothing from a macvlan. */
		if (!port->netdev && dev->driver_id != RDMA_DRIVER_RXE)
			port->netdev = g.ndev_ifindex;
	}
	get_netdev(port);
	return true;
}

static const char *transport(const struct rdma_ep_device_info *dev,
			     const struct port *port)
{
	return dev->node_type == NODE_IWARP ? "iWARP" :
	       port->ethernet ? "RoCE" : "InfiniBand";
}

/* kmod/drivers/caps.c has the same. */
const char *device_refused(const struct rdma_ep_device_info *dev)
{
	switch (dev->driver_id) {
	case RDMA_DRIVER_IRDMA:
		return "no: irdma crashes where it registers user memory for the kernel";
	case RDMA_DRIVER_MTHCA:
		return "no: mthca crashes where it registers user memory for the kernel";
	case RDMA_DRIVER_HNS:
		return "no: hns registers the wrong memory for the kernel";
	case RDMA_DRIVER_EFA:
		return "no: efa has no queues for the kernel";
	case RDMA_DRIVER_USNIC:
		return "no: usnic has no queues for the kernel";
	default:
		return "no: how its driver registers user memory for the kernel has not been read";
	}
}

static void show(int fd, const struct rdma_ep_device_info *dev, bool json)
{
	bool mr = dev->flags & RDMA_EP_DEVICE_USER_MR;
	bool xrc = dev->flags & RDMA_EP_DEVICE_XRC;
	char name[ESCAPED(sizeof(dev->name))];
	struct port port;
	char netdev[ESCAPED(sizeof(port.name))];
	unsigned int i;

	escape(name, (const char *)dev->name, strlen((const char *)dev->name));

	if (json) {
		json_open(NULL, '{');
		json_string("device", name);
		json_bool("usable", mr);
		json_bool("xrc", xrc);
		json_open("ports", '[');
	}
	for (i = 1; i <= dev->phys_port_cnt; i++) {
		if (!port_get(fd, dev, i, &port))
			continue;
		escape(netdev, port.name, strlen(port.name));
		if (json) {
			json_open(NULL, '{');
			json_number("port", i);
			json_string("transport", transport(dev, &port));
			json_bool("active", port.active);
			json_number("gids", port.gids);
			if (*netdev)
				json_string("netdev", netdev);
			json_close('}');
		} else {
			printf("%-10s %4u %-10s %-6s %4d %-15s %s\n", name, i,
			       transport(dev, &port),
			       port.active ? "active" : "down", port.gids,
			       *netdev ? netdev : "-",
			       mr ? "yes" : device_refused(dev));
		}
	}
	if (json) {
		json_close(']');
		json_close('}');
	}
}

int cmd_devices(int argc, char **argv)
{
	struct rdma_ep_device_info devs[MAX_DEVICES];
	bool json = false;
	int fd, i, num;

	(void)argc;
	for (argv++; *argv;) {
		if (!option(&argv, "--json", NULL))
			usage("devices: no such option");
		json = true;
	}
	fd = node_open();
	num = fd < 0 ? -1 : devices_get(fd, devs, MAX_DEVICES);
	if (num < 0) {
		fprintf(stderr, "rdma-ep: " NODE ": %s (see \"rdma-ep doctor\")\n",
			strerror(errno));
		return 1;
	}
	if (json)
		json_open(NULL, '[');
	else if (num)
		printf("%-10s %4s %-10s %-6s %4s %-15s %s\n", "DEVICE", "PORT",
		       "TRANSPORT", "STATE", "GIDS", "NETDEV", "USABLE");
	else
		fprintf(stderr, "no devices (see \"rdma-ep doctor\")\n");
	for (i = 0; i < num; i++)
		show(fd, &devs[i], json);
	if (json)
		json_close(']');
	close(fd);
	return 0;
}
