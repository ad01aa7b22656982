// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes files to another process over a Unix socket (SCM_RIGHTS), with one byte of data.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "fds.h"

int test_send_fds(int socket, const int *fds, int n)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {};
	struct iovec iov = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_SPACE(n * sizeof(int)),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

int test_recv_fds(int socket, int *fds, int n)
{
	char control[CMSG_SPACE(2 * sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(n * sizeof(int)))
		return -EPROTO;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return 0;
}
