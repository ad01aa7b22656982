// SPDX-License-Identifier: GPL-2.0-only
/*
 * handover_kept ADDRESS PORT: the server of docs/programs/handover.c as a service whose
 * descriptors a supervisor keeps, by the protocol of systemd (sd_pid_notify_with_fds(3),
 * sd_listen_fds(3)). SIGTERM ends it between two messages, and the next instance finds the
 * session.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Only the function main() may end without a return statement. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
#define main exec_main
#include "../../docs/programs/handover.c"
#undef main
#pragma GCC diagnostic pop

/* Sends text with at most one descriptor; -1: without */
static void notify(const char *text, int fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1,
	};
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct cmsghdr *c;

	check(s < 0 || !path || strlen(path) >= sizeof(to.sun_path), "NOTIFY_SOCKET");
	strcpy(to.sun_path, path);
	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	check(sendmsg(s, &msg, 0) < 0, "sendmsg");
	close(s);
}

/* Returns the number of a descriptor that the supervisor has kept, or -1. */
static int find(const char *name)
{
	const char *pid = getenv("LISTEN_PID"), *names = getenv("LISTEN_FDNAMES");
	size_t len = strlen(name);
	int fd = 3;

	if (!pid || atoi(pid) != getpid())
		return -1;
	for (; names; fd++) {
		if (!strncmp(names, name, len) && (!names[len] || names[len] == ':'))
			return fd;
		names = strchr(names, ':');
		names += !!names;
	}
	return -1;
}

static void end(int signum)
{
	_exit(0);
}

int main(int argc, char **argv)
{
	int kept;
	sigset_t all;

	if (argc != 3)
		return 2;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signal(SIGTERM, end);
	session = find("session");
	if (session < 0) {
		begin(argv[1], argv[2]);
	} else {
		resume(RDMA_EP_KEEP);
		/* The copy of the supervisor is not needed any more. */
		notify("FDSTOREREMOVE=1\nFDNAME=session", -1);
	}
	kept = rdma_ep_keep(NULL);
	check(kept < 0, "rdma_ep_keep");
	notify("FDSTORE=1\nFDNAME=session", kept);
	close(kept);
	notify("READY=1", -1);
	dprintf(STDOUT_FILENO, "serving\n");
	serve();
	return 0;
}
