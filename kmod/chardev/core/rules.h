/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules of the administrator, parsed (rules.c): limits of cgroups, and lists of the tasks that
 * may use a device. docs/admin/accounting.md describes their text.
 */
#ifndef RDMA_EP_RULES_H
#define RDMA_EP_RULES_H

#include <linux/types.h>
#include <linux/uidgid.h>

/* Levels of cgroups below the root; a deeper cgroup counts as the one above it */
#define UEP_MAX_LEVELS		8
/* Bytes of all rules: with their end they fit a page, the most that sysfs takes at once. */
#define UEP_MAX_RULES_TEXT	4000
#define UEP_MAX_RULES		64
#define UEP_MAX_RULE_GIDS	16

/* The path of a cgroup: for each of its names a pattern, or the name (uep_name_matches()) */
struct uep_pattern {
	unsigned int level;
	const char *name[UEP_MAX_LEVELS];
};

enum uep_memlock {
	UEP_MEMLOCK_INHERIT,	/* that of the cgroup above */
	UEP_MEMLOCK_RLIMIT,	/* RLIMIT_MEMLOCK, and the limits of user and cgroups */
	UEP_MEMLOCK_QUOTA,	/* those limits only */
};

enum uep_users {
	UEP_USERS_INHERIT,	/* as in the cgroup above */
	UEP_USERS_SHARED,	/* a user has the same limits in and outside of the cgroup */
	UEP_USERS_APART,	/* a user has limits of their own in the cgroup */
};

/* Kinds of charges and their limits */
enum uep_held {
	UEP_OBJS,		/* also files, but of a session */
	UEP_QUEUE_BYTES,
	UEP_PINNED_BYTES,	/* registered memory, whole pages */
	UEP_NR_HELD,
};

/* Limits of each cgroup that matches, with all that is below it */
struct uep_rule {
	struct uep_pattern group;
	u32 set;			/* mask of the members of @max that the rule sets */
	u64 max[UEP_NR_HELD];		/* limits; UINT64_MAX: no limit */
	enum uep_memlock memlock;	/* of tasks in the cgroup */
	enum uep_users users;		/* of sessions that are opened in the cgroup */
};

/* Some of the tasks that may use a device */
struct uep_access_rule {
	const char *device;		/* pattern of its name, or NULL */
	const char *driver;		/* name of its driver, or NULL */
	bool has_group;			/* the task's cgroup is @group or below it */
	struct uep_pattern group;
	unsigned int nr_gids;		/* number of @gids; 0: all */
	kgid_t gids[UEP_MAX_RULE_GIDS];	/* one of them is a group of the task */
};

/* All rules */
struct uep_rules {
	char text[UEP_MAX_RULES_TEXT + 1]; /* as they were written */
	char words[UEP_MAX_RULES_TEXT + 1]; /* memory of the names in the rules */
	unsigned int nr;		/* number of @rules */
	unsigned int nr_access;		/* number of @access */
	struct uep_rule rules[UEP_MAX_RULES]; /* limits; a later one overrides an earlier one */
	/* A device that none of them names is open to all tasks */
	struct uep_access_rule access[UEP_MAX_RULES];
};

struct uep_rules *uep_rules_parse(const char *text);
int uep_rules_check_drivers(const struct uep_rules *rules);

#endif /* RDMA_EP_RULES_H */
