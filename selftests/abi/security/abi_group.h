/* SPDX-License-Identifier: GPL-2.0-only */
/* A fixture for tests of the parameter "rules": it creates cgroups, and ends without rules. */
#ifndef ABI_GROUP_H
#define ABI_GROUP_H

#include <sys/mount.h>

#include "abi_test.h"

#define RULES	"/sys/module/rdma_ep/parameters/rules"
#define CGROUPS	"/tmp/rdma_ep.groups"
#define TOP	CGROUPS "/ep_test"

static inline int set_rules(const char *rules)
{
	return abi_put(RULES, rules);
}

FIXTURE(group) {
};

static const char * const groups[] = {
	TOP, TOP "/a", TOP "/a/sub", TOP "/a\\x2db", TOP "/b"
};

FIXTURE_SETUP(group)
{
	mkdir(CGROUPS, 0700);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL)) {
		rmdir(CGROUPS);
		SKIP_FIXTURE("cannot mount cgroup2");
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		ASSERT_TRUE(!mkdir(groups[i], 0700) || errno == EEXIST);
}

FIXTURE_TEARDOWN(group)
{
	EXPECT_EQ(0, set_rules(" "));
	for (size_t i = ARRAY_SIZE(groups); i--;)
		EXPECT_EQ(0, rmdir(groups[i]));
	umount(CGROUPS);
	rmdir(CGROUPS);
}

/* Moves the calling process to a cgroup; "": the root */
static inline int move_to(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", CGROUPS, group);
	return abi_put(path, "0");
}

#endif
