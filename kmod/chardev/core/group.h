/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups: cgroups of the unified hierarchy in which sessions have been opened, and those above
 * them (group.c). A session is charged to all of them, whatever cgroup its opener, or the task
 * that uses it, moves to.
 */
#ifndef RDMA_EP_GROUP_H
#define RDMA_EP_GROUP_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>

#include "rules.h"

struct cred;
struct ib_device;

/* A charge */
struct uep_want {
	u64 nr[UEP_NR_HELD];		/* wanted, by enum uep_held */
	/*
	 * It counts in the session and its restrictions, too, as objects and memory do, and not
	 * only in user and cgroups, as files do
	 */
	bool of_session;
	/* As a file, and as an object in the session's restrictions */
	bool of_channel;
	bool skip_rlimit;		/* another limit holds instead of RLIMIT_MEMLOCK */
	bool charged;			/* it counts already */
};

/* A cgroup */
struct uep_group {
	struct hlist_node node;		/* in the table of groups */
	refcount_t ref;			/* sessions, and groups below */
	u64 id;				/* of the cgroup; not used again */
	int level;			/* 0: the root */
	struct uep_group *parent;	/* the cgroup above (holds a reference); NULL: none */
	atomic64_t held[UEP_NR_HELD];	/* charged */
	/* Limits by the rules; they change at any time, also to less than is charged */
	u64 max[UEP_NR_HELD];
	enum uep_memlock memlock;	/* by the rules, as @users */
	enum uep_users users;		/* of later sessions */
	char name[];			/* last name of its path */
};

struct uep_group *uep_group_get(void);
void uep_group_put(struct uep_group *g);
size_t uep_group_path(const struct uep_group *g, char *path);
u64 uep_group_users(const struct uep_group *g);
const struct uep_group *uep_group_memlock(const struct uep_group *g);
bool uep_group_skips_rlimit(const struct uep_group *g);
bool uep_access_is_open(void);
int uep_dev_check_access(const struct ib_device *ibdev);
bool uep_dev_allows(const struct ib_device *ibdev, const struct cred *cred,
		    const struct uep_group *g);
int uep_group_init(void);

#endif /* RDMA_EP_GROUP_H */
