// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep doctor: RDMA devices and network namespaces, by the netlink that rdma(8) uses. A
 * container can use it as well: it needs neither /sys nor a capability.
 */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "tool.h"

/* Returns a socket with the answer to the command, or -1. The kernel answers inside send(). */
static int nl_send(int command, int flags)
{
	struct nlmsghdr request = {
		.nlmsg_len = sizeof(request),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (s >= 0 && send(s, &request, sizeof(request), 0) < 0) {
		close(s);
		s = -1;
	}
	return s;
}

enum netns_mode rdma_netns_mode(void)
{
	int s = nl_send(RDMA_NLDEV_CMD_SYS_GET, 0), left;
	enum netns_mode mode = NETNS_UNKNOWN;
	struct nlattr *attr;
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;
	ssize_t n;

	if (s < 0)
		return mode;
	n = recv(s, &answer, sizeof(answer), MSG_DONTWAIT);
	close(s);
	if (n <= 0 || !NLMSG_OK(&answer.header, n) || answer.header.nlmsg_type == NLMSG_ERROR)
		return mode;
	attr = NLMSG_DATA(&answer.header);
	left = NLMSG_PAYLOAD(&answer.header, 0);
	while (left > NLA_HDRLEN && attr->nla_len > NLA_HDRLEN && attr->nla_len <= left) {
		if ((attr->nla_type & NLA_TYPE_MASK) == RDMA_NLDEV_SYS_ATTR_NETNS_MODE)
			mode = *((uint8_t *)attr + NLA_HDRLEN) ? NETNS_SHARED : NETNS_EXCLUSIVE;
		left -= NLA_ALIGN(attr->nla_len);
		attr = (void *)((char *)attr + NLA_ALIGN(attr->nla_len));
	}
	return mode;
}

int rdma_netns_devices(void)
{
	int s = nl_send(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), num = 0;
	struct nlmsghdr *h;
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} answer;
	ssize_t n;

	if (s < 0)
		return -1;
	while ((n = recv(s, &answer, sizeof(answer), MSG_DONTWAIT)) > 0) {
		for (h = &answer.header; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				close(s);
				return h->nlmsg_type == NLMSG_DONE ? num : -1;
			}
			num++;
		}
	}
	close(s);
	return -1;
}
