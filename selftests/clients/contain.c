// SPDX-License-Identifier: GPL-2.0-only
/*
 * contain [-u|-s] [-p] [-n NETNS] [-m KIB] ROOT UID PROGRAM [ARG...]
 *
 * Runs PROGRAM as a container's runtime would: read-only in a mount namespace that contains only
 * ROOT (no /proc, no /sys, nothing of the host below it), in the network namespace NETNS (a file
 * such as /run/netns/NAME), as user UID without any capability and without a way to get one, with
 * KIB kilobytes of RLIMIT_MEMLOCK.
 * -u: in a user namespace as well, as runtimes of unprivileged users do
 * -s: with /proc and a read-only /sys
 * -p: as process 1 of a PID namespace, as in a pod; contain exits with the program's status
 */
#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void enter_netns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(125, "%s", path);
	close(fd);
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		err(125, "user %u", uid);
	/* /proc/self belongs to root while this is off. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		err(125, "%s", path);
}

static void enter_userns(uid_t uid)
{
	char map[32];

	if (unshare(CLONE_NEWUSER))
		err(125, "user namespace");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	write_file("/proc/self/gid_map", map);
}

/* Returns in process 1 of a new PID namespace. */
static void enter_pidns(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		err(125, "PID namespace");
	pid = fork();
	if (pid < 0)
		err(125, "fork");
	if (!pid)
		return;
	if (waitpid(pid, &status, 0) != pid)
		err(125, "waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void mount_proc_sys(void)
{
	if (mount("proc", "proc", "proc", 0, NULL) ||
	    mount("sysfs", "sys", "sysfs", MS_RDONLY, NULL))
		err(125, "/proc, /sys");
}

/* Unmounts the previous mounts instead of hiding them. */
static void enter_root(const char *root, bool proc_sys)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS))
		err(125, "namespaces");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(root, root, NULL, MS_BIND, NULL) ||
	    mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) || chdir(root))
		err(125, "%s", root);
	if (proc_sys)
		mount_proc_sys();
	if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH))
		err(125, "pivot_root");
}

int main(int argc, char **argv)
{
	bool userns = false, proc_sys = false, pidns = false;
	struct rlimit limit;
	uid_t uid;
	int opt;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		err(125, "RLIMIT_MEMLOCK");
	while ((opt = getopt(argc, argv, "+uspn:m:")) != -1) {
		switch (opt) {
		case 'u':
			userns = true;
			break;
		case 's':
			proc_sys = true;
			break;
		case 'p':
			pidns = true;
			break;
		case 'n':
			enter_netns(optarg);
			break;
		case 'm':
			limit.rlim_cur = strtoul(optarg, NULL, 10) * 1024;
			limit.rlim_max = limit.rlim_cur;
			break;
		default:
			return 125;
		}
	}
	if (argc - optind < 3)
		errx(125, "usage: contain [-u|-s] [-p] [-n NETNS] [-m KIB] ROOT UID PROGRAM [ARG...]");
	uid = strtoul(argv[optind + 1], NULL, 10);

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		err(125, "RLIMIT_MEMLOCK");
	if (userns) {
		become(uid);
		enter_userns(uid);
		if (pidns)
			enter_pidns();
		enter_root(argv[optind], proc_sys);
	} else {
		if (pidns)
			enter_pidns();
		enter_root(argv[optind], proc_sys);
		become(uid);
	}
	/* (A change of the user would clear it.) */
	if (pidns && prctl(PR_SET_PDEATHSIG, SIGKILL))
		err(125, "PR_SET_PDEATHSIG");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err(125, "no_new_privs");
	execv(argv[optind + 2], argv + optind + 2);
	err(127, "%s", argv[optind + 2]);
}
