// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mock device for tests of the library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_mock.h"

#define ROOT	"/sys/kernel/debug/rdma_ep_mock"
#define NAME	"mockl"
#define NETDEV	"epmockl"
#define PEER	"epmockm"
#define ADDR	"10.92.18.1"
#define PORT	"7913"

/* Each test is a child process. Only the parent removes the device. */
static pid_t program;

static void __attribute__((constructor)) remember(void)
{
	program = getpid();
}

void lib_mock_down(void)
{
	system("{ echo " NAME " > " ROOT "/del; } 2>/dev/null");
	system("ip link del " NETDEV " 2>/dev/null");
}

static void __attribute__((destructor)) down_at_exit(void)
{
	if (getpid() == program)
		lib_mock_down();
}

struct ibv_context *lib_mock_open(void)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), NAME))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static int make_device(void)
{
	if (system("modprobe -a veth rdma_ep_mock"))
		return -1;
	system("ip link del " NETDEV " 2>/dev/null");
	return system("ip link add " NETDEV " type veth peer name " PEER) ||
	       system("ip link set " PEER " up") || system("ip link set " NETDEV " up") ||
	       system("ip addr add " ADDR "/24 dev " NETDEV) ||
	       system("echo " NAME " " NETDEV " > " ROOT "/new") ? -1 : 0;
}

struct ibv_context *lib_mock_up(void)
{
	struct ibv_context *context;
	union ibv_gid gid;
	struct stat st;

	if (stat("/sys/class/infiniband/" NAME, &st) && make_device()) {
		lib_say(__FILE__, __LINE__, "no mock device");
		return NULL;
	}
	context = lib_mock_open();
	/* The core adds the GIDs shortly afterwards. */
	for (int tries = 0; context && tries < 100; tries++) {
		if (!ibv_query_gid(context, 1, 1, &gid))
			break;
		usleep(50000);
	}
	return context;
}

struct rdma_addrinfo *lib_mock_rai(int flags, int qp_type)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags, .ai_port_space = RDMA_PS_IB,
		.ai_qp_type = qp_type,
	}, *res = NULL;

	return rdma_getaddrinfo(ADDR, PORT, &hints, &res) ? NULL : res;
}

struct ibv_xrcd *lib_open_xrcd(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = oflags,
	};

	return ibv_open_xrcd(context, &attr);
}
