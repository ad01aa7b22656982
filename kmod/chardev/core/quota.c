// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a session, of a user, and of the cgroups that the session was opened in.
 *
 * Drivers allocate the queues of kernel consumers from memory that no cgroup is charged
 * for, so without limits an unprivileged opener of the device could exhaust the kernel.
 * CAP_SYS_RESOURCE exempts a task from those of session and user. No task is exempt from those
 * of a cgroup, which the administrator has set: the root of a container is in it, too. Nor from
 * those of the session's restrictions.
 */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>

#include "core.h"
#include "../trace.h"

static unsigned int session_max_objects = 65536;
module_param(session_max_objects, uint, 0644);
MODULE_PARM_DESC(session_max_objects, "most objects of one session");

static unsigned int user_max_objects = 262144;
module_param(user_max_objects, uint, 0644);
MODULE_PARM_DESC(user_max_objects, "most objects of all sessions of a user");

/* The parameters that are 0 here get their value from uep_quota_init(). */
static unsigned int session_max_queue_mb;
module_param(session_max_queue_mb, uint, 0644);
MODULE_PARM_DESC(session_max_queue_mb, "most queue memory of one session, MiB (half of a user's)");

#define UEP_USER_MAX_QUEUE_MB	1024UL
static unsigned int user_max_queue_mb;
module_param(user_max_queue_mb, uint, 0644);
MODULE_PARM_DESC(user_max_queue_mb,
		 "most queue memory of all sessions of a user, MiB (1024, or a quarter of all)");

static unsigned int user_max_events = 262144;
module_param(user_max_events, uint, 0644);
MODULE_PARM_DESC(user_max_events, "most unread events of all sessions of a user");

static unsigned int user_max_pinned_mb;
module_param(user_max_pinned_mb, uint, 0644);
MODULE_PARM_DESC(user_max_pinned_mb,
		 "most registered memory of all sessions of a user, MiB (half of all)");

static const struct uep_limit {
	const char *name;		/* of the parameter */
	const char *key;		/* in fdinfo */
	const unsigned int *max;
	unsigned int shift;		/* of @max; MiB: 20 */
	bool of_user;			/* of all sessions of the user together */
	enum uep_held counter;
} uep_limits[] = {
	{ "session_max_objects", "objects:\t", &session_max_objects, 0, false, UEP_OBJS },
	{ "session_max_queue_mb", "queue-memory:\t", &session_max_queue_mb, 20, false,
	  UEP_QUEUE_BYTES },
	{ "user_max_objects", "user-objects:\t", &user_max_objects, 0, true, UEP_OBJS },
	{ "user_max_queue_mb", "user-queue-memory:\t", &user_max_queue_mb, 20, true,
	  UEP_QUEUE_BYTES },
};

static u64 uep_limit_max(const struct uep_limit *l)
{
	return (u64)READ_ONCE(*l->max) << l->shift;
}

static u64 uep_limit_held(const struct uep_limit *l, const struct uep_session *s)
{
	return atomic64_read(&(l->of_user ? s->user->held : s->held)[l->counter]);
}

static u64 uep_mb(unsigned int mb)
{
	return (u64)mb << 20;
}

void __init uep_quota_init(void)
{
	unsigned long mb = totalram_pages() >> (20 - PAGE_SHIFT);

	if (!user_max_pinned_mb)
		user_max_pinned_mb = mb / 2;
	if (!user_max_queue_mb)
		user_max_queue_mb = min(mb / 4, UEP_USER_MAX_QUEUE_MB);
	if (!session_max_queue_mb)
		session_max_queue_mb = user_max_queue_mb / 2;
}

/*
 * @more, here and below, is what a caller wants, by enum uep_held. It is compared before it is
 * charged: a charge that is refused counts in no limit that other tasks have, too.
 */
static bool uep_exceeds(const struct uep_limit *l, const struct uep_session *s, const u64 *more)
{
	return uep_held_exceeds(uep_limit_held(l, s), more[l->counter], uep_limit_max(l));
}

static bool uep_over_limit(const struct uep_session *s, const u64 *more)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(uep_limits); i++)
		if (uep_exceeds(&uep_limits[i], s, more))
			return true;
	return false;
}

static const char * const uep_group_limits[UEP_NR_MAX] = {
	[UEP_MAX_OBJS] = "cgroup_objects",
	[UEP_MAX_QUEUE_BYTES] = "cgroup_queue",
	[UEP_MAX_PINNED_BYTES] = "cgroup_pinned",
};

static u64 uep_group_held(const struct uep_group *g, enum uep_group_max i)
{
	switch (i) {
	case UEP_MAX_OBJS:
		return atomic64_read(&g->held[UEP_OBJS]);
	case UEP_MAX_QUEUE_BYTES:
		return atomic64_read(&g->held[UEP_QUEUE_BYTES]);
	default:
		return (u64)atomic64_read(&g->pinned_pages) << PAGE_SHIFT;
	}
}

/* Pages are not in @more. */
static bool uep_group_is_over(const struct uep_group *g, enum uep_held i, const u64 *more)
{
	return uep_held_exceeds(atomic64_read(&g->held[i]), more[i], READ_ONCE(g->max[i]));
}

static bool uep_groups_over_limit(const struct uep_session *s, const u64 *more)
{
	const struct uep_group *g;

	for (g = s->group; g; g = g->parent)
		if (uep_group_is_over(g, UEP_OBJS, more) ||
		    uep_group_is_over(g, UEP_QUEUE_BYTES, more))
			return true;
	return false;
}

static void uep_trace_limit(struct uep_session *s, const char *limit, u64 wanted, u64 max)
{
	if (wanted > max)
		trace_rdma_ep_over_limit(s, limit, wanted, max);
}

/* A user gives a task any name, so all but printable ASCII is escaped. */
static void uep_log_over(const char *limit)
{
	char comm[TASK_COMM_LEN], name[4 * TASK_COMM_LEN];
	int len;

	get_task_comm(comm, current);
	len = string_escape_mem(comm, strlen(comm), name, sizeof(name),
				ESCAPE_HEX | ESCAPE_NAP | ESCAPE_APPEND, "\\");
	pr_notice_ratelimited(KBUILD_MODNAME ": %.*s[%d]: over %s\n", len, name,
			      task_pid_nr(current), limit);
}

/* The memory of a queue: drivers round it up, use one more entry, and allocate pages. */
u64 uep_queue_bytes(u32 nr, u32 size)
{
	return max_t(u64, PAGE_SIZE, (u64)roundup_pow_of_two(nr + 1) * roundup_pow_of_two(size));
}

static void uep_held_add(struct uep_session *s, s64 nr_objs, s64 queue_bytes)
{
	struct uep_group *g;

	for (g = s->group; g; g = g->parent) {
		atomic64_add(nr_objs, &g->held[UEP_OBJS]);
		atomic64_add(queue_bytes, &g->held[UEP_QUEUE_BYTES]);
	}
	uep_restrictions_add(s, nr_objs, queue_bytes);
	atomic64_add(nr_objs, &s->user->held[UEP_OBJS]);
	atomic64_add(queue_bytes, &s->user->held[UEP_QUEUE_BYTES]);
}

static void uep_trace_limits(struct uep_session *s, const u64 *more)
{
	const struct uep_limit *l;
	const struct uep_group *g;
	int i;

	for (l = uep_limits; l < uep_limits + ARRAY_SIZE(uep_limits); l++)
		uep_trace_limit(s, l->name, uep_limit_held(l, s) + more[l->counter],
				uep_limit_max(l));
	for (g = s->group; g; g = g->parent)
		for (i = 0; i < UEP_NR_HELD; i++)
			uep_trace_limit(s, uep_group_limits[i],
					atomic64_read(&g->held[i]) + more[i],
					READ_ONCE(g->max[i]));
}

static bool uep_over_any_limit(const struct uep_session *s, const u64 *more)
{
	return uep_over_limit(s, more) || uep_groups_over_limit(s, more) ||
	       uep_restrictions_over_limit(s, more);
}

/*
 * Within the limits, perhaps since room is made, or beyond them by right? A kernel thread, which
 * delivers connection requests, gains nothing from its capabilities, and does not reclaim, as
 * other users wait for it.
 */
static bool uep_may_hold(const struct uep_session *s, const u64 *more)
{
	if (likely(!uep_over_any_limit(s, more)))
		return true;
	if (current->flags & PF_KTHREAD)
		return false;
	if (s->user->reclaim(s->user) && !uep_over_any_limit(s, more))
		return true;
	return !uep_groups_over_limit(s, more) && !uep_restrictions_over_limit(s, more) &&
	       capable(CAP_SYS_RESOURCE);
}

/* One refusal has one reason: the first limit that is exceeded. */
static enum uep_refusal uep_objects_reason(const struct uep_session *s, const u64 *more)
{
	const struct uep_group *g;
	int i;

	for (i = 0; i < ARRAY_SIZE(uep_limits); i++)
		if (uep_exceeds(&uep_limits[i], s, more))
			return UEP_REFUSED_SESSION_OBJECTS + i;
	for (g = s->group; g; g = g->parent)
		for (i = 0; i < UEP_NR_HELD; i++)
			if (uep_group_is_over(g, i, more))
				return UEP_REFUSED_CGROUP_OBJECTS + i;
	if (uep_restrictions_over_limit(s, more))
		return UEP_REFUSED_RESTRICTION;
	return UEP_REFUSED_OTHER;	/* another task has made room meanwhile */
}

/* Returns -EDQUOT over a limit. */
int uep_charge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	u64 more[UEP_NR_HELD] = { nr_objs, queue_bytes };
	bool charged = uep_may_hold(s, more);

	if (charged) {
		uep_held_add(s, nr_objs, queue_bytes);
		/* Other tasks may have charged something meanwhile. */
		memset(more, 0, sizeof(more));
		if (likely(uep_may_hold(s, more)))
			return 0;
	}
	uep_trace_limits(s, more);
	uep_count_refusal(s, uep_objects_reason(s, more));
	if (charged)
		uep_uncharge(s, nr_objs, queue_bytes);
	uep_log_over("its limit of objects or queue memory (see the module's parameters)");
	return -EDQUOT;
}

void uep_uncharge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	uep_held_add(s, -nr_objs, -(s64)queue_bytes);
}

/* Charges files whatever the limits. */
void uep_add_files(struct uep_session *s, int nr)
{
	struct uep_group *g;

	atomic64_add(nr, &s->user->held[UEP_OBJS]);
	for (g = s->group; g; g = g->parent)
		atomic64_add(nr, &g->held[UEP_OBJS]);
}

static bool uep_user_over_limit(const struct uep_session *s, const u64 *more)
{
	return uep_held_exceeds(atomic64_read(&s->user->held[UEP_OBJS]), more[UEP_OBJS],
				READ_ONCE(user_max_objects));
}

static bool uep_may_hold_files(const struct uep_session *s, const u64 *more)
{
	if (likely(!uep_user_over_limit(s, more) && !uep_groups_over_limit(s, more)))
		return true;
	if (s->user->reclaim(s->user) && !uep_user_over_limit(s, more) &&
	    !uep_groups_over_limit(s, more))
		return true;
	return !uep_groups_over_limit(s, more) && capable(CAP_SYS_RESOURCE);
}

/* Files and restrictions count as objects of user and cgroup, but not of the session. */
int uep_charge_files(struct uep_session *s, int nr)
{
	u64 more[UEP_NR_HELD] = { nr };
	bool charged = uep_may_hold_files(s, more);

	if (charged) {
		uep_add_files(s, nr);
		more[UEP_OBJS] = 0;
		if (likely(uep_may_hold_files(s, more)))
			return 0;
	}
	uep_count_refusal(s, uep_user_over_limit(s, more) ? UEP_REFUSED_USER_OBJECTS :
							    UEP_REFUSED_CGROUP_OBJECTS);
	if (charged)
		uep_add_files(s, -nr);
	uep_log_over("its limit of objects (user_max_objects, or the cgroup's)");
	return -EDQUOT;
}

void uep_uncharge_files(struct uep_session *s, int nr)
{
	uep_add_files(s, -nr);
}

/* A channel: its file, which counts as an object for the session's restrictions, too */
int uep_charge_channel(struct uep_session *s)
{
	u64 more[UEP_NR_HELD] = { 1 };
	bool charged = !uep_restrictions_over_limit(s, more);
	int ret;

	if (charged) {
		ret = uep_charge_files(s, 1);
		if (ret)
			return ret;
		uep_restrictions_add_channels(s, 1);
		more[UEP_OBJS] = 0;
		if (likely(!uep_restrictions_over_limit(s, more)))
			return 0;
	}
	uep_count_refusal(s, UEP_REFUSED_RESTRICTION);
	if (charged)
		uep_uncharge_channel(s);
	return -EDQUOT;
}

void uep_uncharge_channel(struct uep_session *s)
{
	uep_restrictions_add_channels(s, -1);
	uep_uncharge_files(s, 1);
}

/* Drops the pages of the session's groups below @end. */
static void uep_groups_drop_pages(struct uep_session *s, u64 nr, const struct uep_group *end)
{
	struct uep_group *g;

	for (g = s->group; g != end; g = g->parent)
		atomic64_sub(nr, &g->pinned_pages);
}

static bool uep_groups_add_pages(struct uep_session *s, u64 nr)
{
	struct uep_group *g;
	u64 max;

	for (g = s->group; g; g = g->parent) {
		max = READ_ONCE(g->max[UEP_MAX_PINNED_BYTES]);
		if (uep_pages_add(&g->pinned_pages, nr, max >> PAGE_SHIFT))
			continue;
		uep_trace_limit(s, uep_group_limits[UEP_MAX_PINNED_BYTES],
				uep_group_held(g, UEP_MAX_PINNED_BYTES) + (nr << PAGE_SHIFT), max);
		uep_count_refusal(s, UEP_REFUSED_CGROUP_PINNED);
		uep_log_over("its cgroup's limit of registered memory (the parameter rules)");
		uep_groups_drop_pages(s, nr, g);
		return false;
	}
	return true;
}

/*
 * Pages that the caller registers next. RLIMIT_MEMLOCK is per process but a region outlives
 * its process, so the pages are limited per user and cgroup as well. @skip_rlimit: instead of
 * RLIMIT_MEMLOCK, which then exempts no task from the user's limit
 */
int uep_charge_pages(struct uep_session *s, u64 nr, bool skip_rlimit)
{
	u64 max = uep_mb(READ_ONCE(user_max_pinned_mb)) >> PAGE_SHIFT;
	atomic64_t *pinned = &s->user->pinned_pages;

	if (!uep_groups_add_pages(s, nr))
		return -ENOMEM;
	if (!uep_restrictions_add_pages(s, nr)) {
		uep_count_refusal(s, UEP_REFUSED_RESTRICTION);
		uep_groups_drop_pages(s, nr, NULL);
		return -ENOMEM;
	}
	if (uep_pages_add(pinned, nr, max))
		return 0;
	if ((!skip_rlimit && rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY) || capable(CAP_IPC_LOCK)) {
		atomic64_add(nr, pinned);
		return 0;
	}
	uep_trace_limit(s, "user_max_pinned_mb", (atomic64_read(pinned) + nr) << PAGE_SHIFT,
			max << PAGE_SHIFT);
	uep_count_refusal(s, UEP_REFUSED_USER_PINNED);
	uep_log_over("its user's limit of registered memory (user_max_pinned_mb)");
	uep_restrictions_drop_pages(s, nr);
	uep_groups_drop_pages(s, nr, NULL);
	return -ENOMEM;
}

void uep_uncharge_pages(struct uep_session *s, u64 nr)
{
	atomic64_sub(nr, &s->user->pinned_pages);
	uep_restrictions_drop_pages(s, nr);
	uep_groups_drop_pages(s, nr, NULL);
}

/*
 * One more unread event; s->ev_lock is held. It comes from the CM's work queues, whose
 * capabilities do not count. @force: regardless of the limits
 */
bool uep_charge_event(struct uep_session *s, bool force)
{
	u32 of_user = atomic_inc_return(&s->user->nr_events);
	u32 max = READ_ONCE(user_max_events);

	if (force || (s->nr_events < UEP_MAX_EVENTS && of_user <= max)) {
		s->nr_events++;
		return true;
	}
	atomic_dec(&s->user->nr_events);
	uep_count_refusal(s, UEP_REFUSED_EVENTS);
	uep_trace_limit(s, "unread_events", s->nr_events + 1, UEP_MAX_EVENTS);
	uep_trace_limit(s, "user_max_events", of_user, max);
	if (of_user > max)
		pr_notice_ratelimited(KBUILD_MODNAME ": user %u does not read its events, one is refused (user_max_events)\n",
				      from_kuid(&init_user_ns, s->user->uid));
	return false;
}

void uep_uncharge_event(struct uep_session *s)
{
	s->nr_events--;
	atomic_dec(&s->user->nr_events);
}

void uep_quota_query(struct rdma_ep_cmd_query *q)
{
	q->max_objects = READ_ONCE(session_max_objects);
	q->max_user_objects = READ_ONCE(user_max_objects);
	q->max_queue_bytes = uep_mb(READ_ONCE(session_max_queue_mb));
	q->max_user_queue_bytes = uep_mb(READ_ONCE(user_max_queue_mb));
}

/* Shows the limit with the least room of the session's cgroups, without the cgroup's name. */
static void uep_quota_show_group(struct seq_file *m, const struct uep_session *s,
				 enum uep_group_max i)
{
	static const char * const keys[UEP_NR_MAX] = {
		"cgroup-objects:\t", "cgroup-queue-memory:\t", "cgroup-pinned-memory:\t",
	};
	unsigned int shift = i == UEP_MAX_OBJS ? 0 : 10;
	u64 held = 0, max = U64_MAX, room = U64_MAX;
	const struct uep_group *g;

	for (g = s->group; g; g = g->parent) {
		u64 of_group = READ_ONCE(g->max[i]), used = uep_group_held(g, i);

		if (of_group == U64_MAX || (of_group > used && of_group - used >= room))
			continue;
		room = of_group > used ? of_group - used : 0;
		max = of_group;
		held = used;
	}
	if (max != U64_MAX)
		seq_printf(m, "%s%llu of %llu%s\n", keys[i], held >> shift, max >> shift,
			   shift ? " KiB" : "");
}

void uep_quota_show(struct seq_file *m, struct uep_session *s)
{
	const struct uep_limit *l;
	int i;

	seq_printf(m, "user:\t%u\n", from_kuid_munged(seq_user_ns(m), s->user->uid));
	for (l = uep_limits; l < uep_limits + ARRAY_SIZE(uep_limits); l++)
		seq_printf(m, "%s%llu of %llu%s\n", l->key, uep_limit_held(l, s) >> l->shift / 2,
			   uep_limit_max(l) >> l->shift / 2, l->shift ? " KiB" : "");
	seq_printf(m, "user-pinned-memory:\t%llu of %llu KiB\n",
		   (u64)atomic64_read(&s->user->pinned_pages) << (PAGE_SHIFT - 10),
		   uep_mb(READ_ONCE(user_max_pinned_mb)) >> 10);
	for (i = 0; i < UEP_NR_MAX; i++)
		uep_quota_show_group(m, s, i);
	seq_printf(m, "memlock:\t%s\n", uep_group_has_memlock(s->group) ? "quota" : "rlimit");
}
