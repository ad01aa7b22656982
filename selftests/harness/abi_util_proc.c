// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts of objects and charges, processes, threads and rights, for the raw ioctl tests.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "fds.h"

FILE *abi_fdinfo_open(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return fopen(path, "re");
}

long abi_fdinfo(const struct abi *s, const char *key)
{
	FILE *f = abi_fdinfo_open(s->fd);
	size_t len = strlen(key);
	char line[256];
	long n = -1;

	if (!f)
		return -1;
	while (n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			n = atol(line + len + 1);
	fclose(f);
	return n;
}

long abi_accounts(const char *key)
{
	FILE *f = fopen("/proc/rdma_ep", "re");
	char *line = NULL, *at, name[64];
	size_t size = 0;
	long sum = -1;

	if (!f)
		return -1;
	snprintf(name, sizeof(name), " %s ", key);
	while (getline(&line, &size, f) > 0) {
		at = strstr(line, name);
		if (at)
			sum = (sum < 0 ? 0 : sum) + atol(at + strlen(name));
	}
	free(line);
	fclose(f);
	return sum;
}

int abi_charges(const struct abi *s, struct abi_charges *c)
{
	c->objects = abi_fdinfo(s, "objects");
	c->queues = abi_fdinfo(s, "queue-memory");
	c->user_objects = abi_fdinfo(s, "user-objects");
	c->user_queues = abi_fdinfo(s, "user-queue-memory");
	c->user_pinned = abi_fdinfo(s, "user-pinned-memory");
	return c->objects < 0 || c->queues < 0 || c->user_objects < 0 ||
	       c->user_queues < 0 || c->user_pinned < 0 ? -ENOENT : 0;
}

int abi_charges_wait(const struct abi *s, const struct abi_charges *want)
{
	long end = abi_now_ms() + 2000 * TEST_SCALE;
	struct abi_charges c;

	do {
		if (!abi_charges(s, &c) && !memcmp(&c, want, sizeof(c)))
			return 0;
		usleep(10000);
	} while (abi_now_ms() < end);
	fprintf(stderr, "# are/should be: objects %ld/%ld queues %ld/%ld, the user's objects %ld/%ld queues %ld/%ld pinned %ld/%ld\n",
		c.objects, want->objects, c.queues, want->queues, c.user_objects,
		want->user_objects, c.user_queues, want->user_queues, c.user_pinned,
		want->user_pinned);
	return -ETIMEDOUT;
}

/* Parses a line for each device, "0: rxe0: pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0 srq 0". */
int abi_objects(struct abi_objects *o)
{
	const struct {
		const char *name;
		int *count;
	} kinds[] = {
		{ "pd", &o->pd }, { "cq", &o->cq }, { "qp", &o->qp },
		{ "cm_id", &o->cm_id }, { "mr", &o->mr }, { "ctx", &o->ctx },
		{ "srq", &o->srq },
	};
	FILE *f = popen("rdma resource show 2>/dev/null", "re");
	char word[64];
	int n, found = 0;

	memset(o, 0, sizeof(*o));
	if (!f)
		return -errno;
	while (fscanf(f, "%63s", word) == 1) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (strcmp(word, kinds[i].name) || fscanf(f, "%d", &n) != 1)
				continue;
			*kinds[i].count += n;
			found++;
		}
	}
	return pclose(f) || !found ? -ENOENT : 0;
}

int abi_objects_wait(const struct abi_objects *want)
{
	long end = abi_now_ms() + ABI_WAIT_MS;
	struct abi_objects o;
	int ret;

	do {
		ret = abi_objects(&o);
		if (ret)
			return ret;
		if (!memcmp(&o, want, sizeof(o)))
			return 0;
		usleep(100000);
	} while (abi_now_ms() < end);
	fprintf(stderr, "# are/should be: pd %d/%d cq %d/%d qp %d/%d id %d/%d mr %d/%d srq %d/%d\n",
		o.pd, want->pd, o.cq, want->cq, o.qp, want->qp, o.cm_id,
		want->cm_id, o.mr, want->mr, o.srq, want->srq);
	return -ETIMEDOUT;
}

/* Counts before the first test */
static struct abi_objects idle;
static bool idle_known;

static void __attribute__((constructor)) count_idle(void)
{
	idle_known = !abi_objects(&idle);
}

int abi_idle(void)
{
	return idle_known ? abi_objects_wait(&idle) : 0;
}

int abi_put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int abi_system(const char *fmt, ...)
{
	char command[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

int abi_add_netdev(const char *name, const char *addr)
{
	abi_del_netdev(name);
	return abi_system("ip link add %s type veth peer name %s_p && ip link set %s_p up && ip link set %s up && ip addr add %s dev %s",
			  name, name, name, name, addr, name);
}

void abi_del_netdev(const char *name)
{
	abi_system("ip link del %s 2>/dev/null", name);
}

int abi_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int abi_send_fd(int socket, int fd)
{
	return test_send_fds(socket, &fd, 1);
}

int abi_recv_fd(int socket)
{
	int fd;

	return test_recv_fds(socket, &fd, 1) ?: fd;
}

static void *call_thread(void *arg)
{
	struct abi_call *c = arg;

	c->ret = abi_raw(c->fd, c->cmd, c->arg);
	c->done = true;
	return NULL;
}

int abi_call(struct abi_call *c, int fd, unsigned long cmd, void *arg)
{
	*c = (struct abi_call) { .fd = fd, .cmd = cmd, .arg = arg };
	return -pthread_create(&c->thread, NULL, call_thread, c);
}

bool abi_call_blocked(const struct abi_call *c)
{
	usleep(200000);
	return !c->done;
}

bool abi_call_returned(struct abi_call *c)
{
	if (ABI_UNTIL(c->done))
		pthread_join(c->thread, NULL);
	return c->done;
}

int abi_keep_cpu(bool keep)
{
	struct sched_param param = { .sched_priority = keep };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ||
	       sched_setscheduler(0, keep ? SCHED_FIFO : SCHED_OTHER, &param) ? -errno : 0;
}

int abi_become(uid_t uid)
{
	return setgroups(0, NULL) || setresgid(uid, uid, uid) ||
	       setresuid(uid, uid, uid) ? -errno : 0;
}

int abi_drop_cap(int cap)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	data[cap / 32].effective &= ~(1U << cap % 32);
	data[cap / 32].permitted &= ~(1U << cap % 32);
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}
