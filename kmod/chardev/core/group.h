/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups: cgroups of the unified hierarchy in which sessions have been opened, and those above
 * them (group.c). A session is charged to all of them, whatever cgroup its opener, or the task
 * that uses it, moves to.
 */
#ifndef RDMA_EP_GROUP_H
#define RDMA_EP_GROUP_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/refcount.h>

#include "rules.h"

struct ib_device;

/* Counters of a session, a user and a group: objects (also files, but of a session), queues */
enum uep_held {
	UEP_OBJS,
	UEP_QUEUE_BYTES,
	UEP_NR_HELD,
};

static_assert((int)UEP_MAX_OBJS == UEP_OBJS && (int)UEP_MAX_QUEUE_BYTES == UEP_QUEUE_BYTES);

/**
 * struct uep_group - a cgroup
 * @node: in the table of groups
 * @ref: sessions, and groups below
 * @id: of the cgroup; not used again
 * @level: 0: the root
 * @parent: the cgroup above (holds a reference); NULL: none
 * @held: charged
 * @pinned_pages: registered
 * @max: limits by the rules; changes at any time, also to less than is charged
 * @memlock: by the rules, as @users
 * @users: of later sessions
 * @name: last name of its path
 */
struct uep_group {
	struct hlist_node node;
	refcount_t ref;
	u64 id;
	int level;
	struct uep_group *parent;
	atomic64_t held[UEP_NR_HELD];
	atomic64_t pinned_pages;
	u64 max[UEP_NR_MAX];
	enum uep_memlock memlock;
	enum uep_users users;
	char name[];
};

/* Would @held exceed the limit with @more? */
static inline bool uep_held_exceeds(u64 held, u64 more, u64 max)
{
	return more > max || held > max - more;
}

/* Refused pages are never added, as other tasks would be refused because of them. */
static inline bool uep_pages_add(atomic64_t *pages, u64 nr, u64 max)
{
	s64 pinned = atomic64_read(pages);

	while (nr <= max && pinned <= (s64)(max - nr))
		if (atomic64_try_cmpxchg(pages, &pinned, pinned + nr))
			return true;
	return false;
}

struct uep_group *uep_group_get(void);
void uep_group_put(struct uep_group *g);
size_t uep_group_path(const struct uep_group *g, char *path);
u64 uep_group_users(const struct uep_group *g);
bool uep_group_has_memlock(const struct uep_group *g);
bool uep_group_skips_rlimit(const struct uep_group *g);
int uep_dev_check_access(const struct ib_device *ibdev);
int uep_group_init(void);

#endif /* RDMA_EP_GROUP_H */
