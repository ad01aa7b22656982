// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep doctor: devices that users may use whose drivers have known issues, which
 * docs/security/known-issues.md describes.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tool.h"

/* Between the words of a rule */
#define BLANKS	" \t\r"

/*
 * Where systemd puts logins, but not containers, whose group 0 is that of the machine, too. A
 * container does not see whether the host has it.
 */
#define USER_SLICE	"/sys/fs/cgroup/user.slice"
#define NEW_RULES	"/run/rdma_ep.rules"

static const struct {
	unsigned int driver;
	const char *id;
	const char *severity;
	const char *kernels;	/* those that have been looked at */
} issues[] = {
#include "issues.h"
};

/* Is a series of kernels in a list such as "6.1, 6.12"? */
static bool listed(const char *kernels, const char *series)
{
	size_t len = strlen(series);
	const char *p;

	for (p = kernels; (p = strstr(p, series)); p += len)
		if ((p == kernels || p[-1] == ' ') && (!p[len] || p[len] == ','))
			return true;
	return false;
}

/* Is it an issue of this kernel? Later and other kernels count as the latest one. */
static bool applies(const char *kernels)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;
	char series[32];

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return false;
	snprintf(series, sizeof(series), "%u.%u", major, minor);
	return listed(kernels, listed("6.1, 6.12", series) ? series : "7.2");
}

/* Is the rule for all in group 0? Many images have users of that group. */
static bool admits_containers(const char *rule)
{
	const char *gid = strstr(rule, "gid=");
	char *end;

	if (!gid || strstr(rule, "cgroup="))
		return false;
	gid += strlen("gid");
	do {
		if (!strtoul(gid + 1, &end, 10))
			return true;
		gid = end;
	} while (*gid == ',');
	return false;
}

/*
 * Does the rule, which this function changes, restrict the device? @logins: the machine has a
 * cgroup without containers
 */
static bool restricts(char *rule, const char *name, const char *driver, bool logins)
{
	char *glob;

	if (logins && admits_containers(rule))
		return false;
	rule += strspn(rule, BLANKS);
	rule[strcspn(rule, BLANKS)] = 0;
	glob = strchr(rule, '=');
	if (!glob)
		return false;
	if (!strncmp(rule, "driver=", 7))
		return !strcmp(glob + 1, driver);
	return !strncmp(rule, "device=", 7) && !fnmatch(glob + 1, name, 0);
}

/* Does one of the module's rules restrict the device? -1: the rules cannot be read */
static int restricted(const char *name, const char *driver, bool logins)
{
	char text[4096] = "", *rest = text, *line, *rule;
	FILE *f = fopen(RULES, "re");
	size_t len;

	if (!f)
		return -1;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = 0;
	/* As kmod/chardev/core/rules.c: a comment ends with its line, not at a ";". */
	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, "#")] = 0;
		while ((rule = strsep(&line, ";")))
			if (restricts(rule, name, driver, logins))
				return 1;
	}
	return 0;
}

static void check_device(const struct rdma_ep_device_info *dev)
{
	const char *driver = dev->driver_id == RDMA_DRIVER_SIW ? "siw" : "rxe";
	const char *name = (const char *)dev->name;
	char list[256] = "", mend[256];
	size_t i, len = 0;
	bool logins = *on_host() || !access(USER_SLICE, F_OK);
	int closed;

	for (i = 0; i < sizeof(issues) / sizeof(issues[0]); i++) {
		if (issues[i].driver != dev->driver_id || !applies(issues[i].kernels))
			continue;
		len += snprintf(list + len, sizeof(list) - len, "%s%s (%s)", len ? ", " : "",
				issues[i].id, issues[i].severity);
		if (len >= sizeof(list))
			break;
	}
	if (!len)
		return;
	closed = restricted(name, driver, logins);
	if (closed > 0) {
		say("exposed", OK, NULL, "%s is not for all users (the module's rules)", name);
		return;
	}
	snprintf(mend, sizeof(mend), "%s(cat %s; echo driver=%s gid=0%s) > %s && cat %s > %s",
		 on_host(), RULES, driver, logins ? " cgroup=/user.slice" : "", NEW_RULES,
		 NEW_RULES, RULES);
	say("exposed", WARN, mend, "any user may use %s%s, whose driver %s has known issues: %s",
	    name, closed < 0 ? " (unless the module's rules close it)" : "", driver, list);
}

/* @fd: of the node */
void check_exposed(int fd)
{
	struct rdma_ep_device_info devs[MAX_DEVICES];
	int num = devices_get(fd, devs, MAX_DEVICES), i;
	struct stat st;

	if (stat(NODE, &st))
		return;
	if ((st.st_mode & 0006) != 0006) {
		say("exposed", OK, NULL, NODE " is not for all users");
		return;
	}
	for (i = 0; i < num; i++)
		check_device(&devs[i]);
}
