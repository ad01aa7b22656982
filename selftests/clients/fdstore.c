// SPDX-License-Identifier: GPL-2.0-only
/*
 * fdstore PROGRAM ARGUMENTS: a supervisor that keeps the descriptors of a service, by the
 * protocol of systemd's FileDescriptorStoreMax= (systemd.service(5)): it reads FDSTORE,
 * FDSTOREREMOVE and FDNAME from NOTIFY_SOCKET, and the next instance has the descriptors from 3 on,
 * with LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID. SIGHUP ends the service by SIGTERM and starts it
 * again, SIGTERM ends both.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX	16
#define LEN	64

static struct kept {
	char name[LEN];
	int fd;
} kept[MAX];
static int num;
static int notifications;
static sigset_t signals;

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static void listen_for_notifications(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/fdstore.%d", getpid());
	notifications = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(bind(notifications, (void *)&addr, sizeof(addr)), addr.sun_path);
	setenv("NOTIFY_SOCKET", addr.sun_path, 1);
}

/* Runs in the service: moves the descriptors to 3 and above, without close-on-exec. */
static void set_fds(void)
{
	char names[MAX * (LEN + 1)] = "", number[16];
	int high[MAX];

	for (int i = 0; i < num; i++) {
		/* Beyond the numbers that dup2() assigns below */
		high[i] = fcntl(kept[i].fd, F_DUPFD, 3 + MAX);
		snprintf(names + strlen(names), LEN + 1, "%s%s", i ? ":" : "", kept[i].name);
	}
	for (int i = 0; i < num; i++)
		check(dup2(high[i], 3 + i) < 0, "dup2");
	close_range(3 + num, ~0U, 0);
	snprintf(number, sizeof(number), "%d", num);
	setenv("LISTEN_FDS", number, 1);
	setenv("LISTEN_FDNAMES", names, 1);
	snprintf(number, sizeof(number), "%d", getpid());
	setenv("LISTEN_PID", number, 1);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	check(pid < 0, "fork");
	if (pid)
		return pid;
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	if (num)
		set_fds();
	execv(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static void drop(const char *name)
{
	for (int i = 0; i < num; i++) {
		if (strcmp(kept[i].name, name))
			continue;
		close(kept[i].fd);
		kept[i--] = kept[--num];
	}
}

static void one_notification(void)
{
	char control[CMSG_SPACE(sizeof(int))], text[256] = "", *line, *rest = text;
	struct iovec iov = { text, sizeof(text) - 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	const char *name = "stored";
	bool store = false, removal = false;
	struct cmsghdr *c;
	int fd = -1;

	check(recvmsg(notifications, &msg, MSG_CMSG_CLOEXEC) < 0, "recvmsg");
	c = CMSG_FIRSTHDR(&msg);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	while ((line = strsep(&rest, "\n"))) {
		store |= !strcmp(line, "FDSTORE=1");
		removal |= !strcmp(line, "FDSTOREREMOVE=1");
		if (!strncmp(line, "FDNAME=", 7))
			name = line + 7;
	}
	if (removal)
		drop(name);
	if (!store || fd < 0 || num == MAX) {
		if (fd >= 0)
			close(fd);
		return;
	}
	snprintf(kept[num].name, LEN, "%s", name);
	kept[num++].fd = fd;
}

static bool notified(void)
{
	struct pollfd p = { .fd = notifications, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Handles all notifications of the service, as it may exit right after it sent them. */
static void end(pid_t pid)
{
	kill(pid, SIGTERM);
	check(waitpid(pid, NULL, 0) != pid, "waitpid");
	while (notified())
		one_notification();
}

int main(int argc, char **argv)
{
	struct signalfd_siginfo info;
	struct pollfd fds[2];
	pid_t pid;

	if (argc < 2)
		return 2;
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	listen_for_notifications();
	fds[0] = (struct pollfd) { .fd = notifications, .events = POLLIN };
	fds[1] = (struct pollfd) { .fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN };
	pid = start(argv + 1);
	for (;;) {
		check(poll(fds, 2, -1) < 0, "poll");
		if (fds[0].revents)
			one_notification();
		if (!fds[1].revents)
			continue;
		check(read(fds[1].fd, &info, sizeof(info)) != sizeof(info), "signalfd");
		end(pid);
		if (info.ssi_signo == SIGTERM)
			break;
		pid = start(argv + 1);
	}
	unlink(getenv("NOTIFY_SOCKET"));
	return 0;
}
