// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep doctor: the limits of memory, of the rdma cgroup and of the module.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tool.h"

/* Prints the limit that a rule puts in the place of RLIMIT_MEMLOCK. False: none does */
static bool has_memlock_rule(int fd)
{
	struct session *list;
	const char *limit;
	bool hidden, ruled = false;
	int num, i;

	num = sessions_get(getpid(), &list, &hidden);
	for (i = 0; i < num; i++) {
		if (list[i].fd != fd || strcmp(session_value(&list[i], "memlock"), "quota"))
			continue;
		limit = session_value(&list[i], "cgroup-pinned-memory");
		if (!strcmp(limit, "-"))
			limit = session_value(&list[i], "user-pinned-memory");
		say("memlock", OK, NULL,
		    "a rule of the module replaces RLIMIT_MEMLOCK: registered are %s", limit);
		ruled = true;
	}
	sessions_free(list, num);
	return ruled;
}

/*
 * May this process have more locked memory than @limit? mlock() needs the right that registering
 * needs, CAP_IPC_LOCK in the initial user namespace. No page is touched, so none is allocated.
 */
static bool locks_beyond(rlim_t limit)
{
	size_t size = limit + sysconf(_SC_PAGESIZE);
	bool locks;
	void *p;

	if (size < limit)
		return false;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	locks = !mlock2(p, size, MLOCK_ONFAULT);
	munmap(p, size);
	return locks;
}

/*
 * Is there a device whose driver compares with RLIMIT_MEMLOCK whatever the task may do? siw before
 * Linux 6.12 (SIW-26)
 */
static bool driver_compares(int fd)
{
	struct rdma_ep_device_info devs[MAX_DEVICES];
	int num = fd < 0 ? -1 : devices_get(fd, devs, MAX_DEVICES), i;
	unsigned int major = 0, minor = 0;
	struct utsname u;

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) != 2 || major > 6 ||
	    (major == 6 && minor >= 12))
		return false;
	for (i = 0; i < num; i++)
		if (devs[i].driver_id == RDMA_DRIVER_SIW)
			return true;
	return false;
}

/* @fd: of the node, or -1 */
void check_memlock(int fd)
{
	bool siw = driver_compares(fd);
	/* A rule is seen in /proc. */
	const char *more = siw ? " on siw, also by root and with a rule (SIW-26)" :
			   access("/proc/self/fdinfo", F_OK) ?
			   ", unless a rule of the module replaces the limit" : "";
	char mend[320];
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r))
		return;
	siw &= r.rlim_cur != RLIM_INFINITY;
	if (!siw && fd >= 0 && has_memlock_rule(fd))
		return;
	snprintf(mend, sizeof(mend),
		 "ulimit -l unlimited; for good: \"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, LimitMEMLOCK= of the unit%s",
		 siw ? "" : ", or a rule memlock=quota for the cgroup (docs/admin/accounting.md)");
	if (r.rlim_cur == RLIM_INFINITY || (!siw && locks_beyond(r.rlim_cur)))
		say("memlock", OK, NULL, "registered memory is not limited");
	else if (r.rlim_cur < 8 << 20)
		say("memlock", WARN, mend,
		    "at most %llu KiB of memory can be registered (ulimit -l)%s",
		    (unsigned long long)r.rlim_cur >> 10, more);
	else
		say("memlock", OK, NULL, "%llu KiB of memory can be registered%s",
		    (unsigned long long)r.rlim_cur >> 10, more);
}

/* Writes the path of a file in the cgroup @group. */
static const char *cgroup_file(char path[PATH_MAX], const char *group, const char *file)
{
	snprintf(path, PATH_MAX, "/sys/fs/cgroup%s/%s", group, file);
	return path;
}

/*
 * Finds limits in lines such as "rxe0 hca_handle=2 hca_object=max". Adds those it prints to
 * *limits. False: the cgroup has no rdma controller
 */
static bool check_rdma_max(const char *group, int *limits)
{
	char path[PATH_MAX], line[256];
	FILE *f = fopen(cgroup_file(path, group, "rdma.max"), "re");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		char *limit = strstr(line, "hca_object=");

		if (!limit || !strncmp(limit + 11, "max", 3))
			continue;
		++*limits;
		line[strcspn(line, "\n")] = 0;
		say("cgroup", WARN,
		    "echo \"DEVICE hca_object=max\" > rdma.max of the cgroup, if that is too little",
		    "%s: %s", *group ? group : "/", line);
	}
	fclose(f);
	return true;
}

/* Objects are charged to the cgroup and to all above it. */
void check_cgroup(void)
{
	char path[PATH_MAX], group[PATH_MAX - 64] = "", line[PATH_MAX], name[PATH_MAX];
	bool controlled = false;
	char *slash;
	int limits = 0;
	FILE *f;

	f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3))
			snprintf(group, sizeof(group), "%.*s",
				 (int)strcspn(line + 3, "\n"), line + 3);
	if (f)
		fclose(f);
	/* Not mounted, as in some containers */
	if (access(cgroup_file(path, group, "cgroup.procs"), F_OK))
		return;
	if (!strcmp(group, "/"))
		*group = 0;
	snprintf(name, sizeof(name), "%s", *group ? group : "this cgroup");
	do {
		controlled |= check_rdma_max(group, &limits);
		slash = strrchr(group, '/');
		if (slash)
			*slash = 0;
	} while (slash);
	if (!controlled)
		say("cgroup", OK, NULL, "no rdma controller for %s", name);
	else if (!limits)
		say("cgroup", OK, NULL, "rdma.max of %s limits nothing", name);
}

/* Writes the remedy for a limit of fdinfo: "user-objects", "objects", "cgroup-objects". */
static const char *mend_limit(char *mend, size_t size, const char *key)
{
	if (!strncmp(key, "cgroup-", 7))
		return "rdma-ep status; cat " RULES ": a rule of the cgroup has it";
	snprintf(mend, size, "rdma-ep status; echo MORE > " PARAMETERS "/%s_max_* (see rdma_ep(4))",
		 strncmp(key, "user-", 5) ? "session" : "user");
	return mend;
}

/* Warns if less than a tenth of a limit is left. */
void check_quota(void)
{
	bool hidden, full = false;
	struct session *list;
	char mend[160];
	int num, i, k;

	if (access("/proc/self/fdinfo", F_OK))
		return;
	num = sessions_get(0, &list, &hidden);
	for (i = 0; i < num; i++) {
		for (k = 0; k < list[i].nr_pairs; k++) {
			const struct pair *p = &list[i].pairs[k];
			const char *of = strstr(p->value, " of ");
			long long max = of ? atoll(of + 4) : 0;

			if (!max || atoll(p->value) * 10 < max * 9)
				continue;
			full = true;
			say("quota", WARN, mend_limit(mend, sizeof(mend), p->key),
			    "session %lu of user %s: %s: %s", list[i].number,
			    session_value(&list[i], "user"), p->key, p->value);
		}
	}
	if (!full)
		say("quota", OK, NULL, "no limit is near (%d session%s%s)",
		    num, num == 1 ? "" : "s", hidden ? " that can be seen" : "");
	sessions_free(list, num);
}
