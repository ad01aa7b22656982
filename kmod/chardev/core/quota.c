// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a session, of a user, and of the cgroups that the session was opened in.
 *
 * Drivers allocate the queues of kernel consumers from memory that no cgroup is charged
 * for, so without limits an unprivileged opener of the device could exhaust the kernel.
 * CAP_SYS_RESOURCE exempts a task from those of session and user; for registered memory
 * CAP_IPC_LOCK does, or RLIMIT_MEMLOCK without a limit. No task is exempt from those
 * of a cgroup, which the administrator has set: the root of a container is in it, too. The
 * limits of the session's restrictions hold for all tasks as well.
 */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>

#include "core.h"
#include "../trace.h"

static unsigned int session_max_objects = 65536;
module_param(session_max_objects, uint, 0644);
MODULE_PARM_DESC(session_max_objects, "most objects of one session");

static unsigned int user_max_objects = 262144;
module_param(user_max_objects, uint, 0644);
MODULE_PARM_DESC(user_max_objects, "most objects of all sessions of a user");

#define UEP_CHARGE_TRIES	4

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
	const char *key;		/* in fdinfo */
	const unsigned int *max;
	unsigned int shift;		/* of @max; MiB: 20 */
	bool of_user;			/* of all sessions of the user together */
	enum uep_held counter;
} uep_limits[] = {
	[UEP_REFUSED_SESSION_OBJECTS] = {
		"objects:\t", &session_max_objects, 0, false, UEP_OBJS,
	},
	[UEP_REFUSED_SESSION_QUEUE] = {
		"queue-memory:\t", &session_max_queue_mb, 20, false, UEP_QUEUE_BYTES,
	},
	[UEP_REFUSED_USER_OBJECTS] = {
		"user-objects:\t", &user_max_objects, 0, true, UEP_OBJS,
	},
	[UEP_REFUSED_USER_QUEUE] = {
		"user-queue-memory:\t", &user_max_queue_mb, 20, true, UEP_QUEUE_BYTES,
	},
	[UEP_REFUSED_USER_PINNED] = {
		"user-pinned-memory:\t", &user_max_pinned_mb, 20, true, UEP_PINNED_BYTES,
	},
};

static_assert(ARRAY_SIZE(uep_limits) == UEP_REFUSED_CGROUP_OBJECTS);
static_assert(UEP_REFUSED_CGROUP_PINNED - UEP_REFUSED_CGROUP_OBJECTS == UEP_NR_HELD - 1);

static u64 uep_limit_max(const struct uep_limit *l)
{
	return (u64)READ_ONCE(*l->max) << l->shift;
}

/* The limits of a session; none is of registered memory. */
#define UEP_NR_SESSION_LIMITS	(UEP_REFUSED_USER_OBJECTS - UEP_REFUSED_SESSION_OBJECTS)

static u64 uep_session_max(enum uep_held i)
{
	return uep_limit_max(&uep_limits[UEP_REFUSED_SESSION_OBJECTS + i]);
}

static u64 uep_user_max(enum uep_held i)
{
	return uep_limit_max(&uep_limits[UEP_REFUSED_USER_OBJECTS + i]);
}

static const atomic64_t *uep_limit_held(const struct uep_limit *l, const struct uep_session *s)
{
	return &(l->of_user ? s->user->held : s->held)[l->counter];
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

/* The first limit that a charge exceeds */
struct uep_over {
	enum uep_refusal reason;
	u64 wanted;
	u64 max;
};

/*
 * A charge is compared before it counts: one that is refused counts in no limit that other tasks
 * have, too, but for a moment if they charge at the same time. A limit that is lower than the
 * charges refuses further ones of its kind. @more: 0 if the charge counts already
 */
static __always_inline bool uep_exceeds(u64 more, const atomic64_t *held, u64 max,
					enum uep_refusal reason, struct uep_over *over)
{
	u64 nr = atomic64_read(held);

	if (likely(more <= max && nr <= max - more))
		return false;
	over->reason = reason;
	over->wanted = nr + more;
	over->max = max;
	return true;
}

/* Limits that no right exempts from, of one kind. @r: the restrictions that hold */
static bool uep_over_fixed(const struct uep_group *g, const struct uep_restriction *r,
			   enum uep_held i, u64 more, struct uep_over *over)
{
	for (; g; g = g->parent)
		if (uep_exceeds(more, &g->held[i], READ_ONCE(g->max[i]),
				UEP_REFUSED_CGROUP_OBJECTS + i, over))
			return true;
	for (; r; r = r->below)
		if (uep_exceeds(more, &r->held[i], r->max[i], UEP_REFUSED_RESTRICTION, over))
			return true;
	return false;
}

/* Kind by kind, as most charges have one or two. @exempt: from the limits of session and user */
static bool uep_over(const struct uep_session *s, const struct uep_want *w, bool exempt,
		     struct uep_over *over)
{
	const struct uep_restriction *r =
		w->of_session || w->of_channel ? uep_restrictions(s) : NULL;
	u64 more;
	int i;

	for (i = 0; i < UEP_NR_HELD; i++) {
		if (!w->nr[i])
			continue;
		more = w->charged ? 0 : w->nr[i];
		if (uep_over_fixed(s->group, r, i, more, over))
			return true;
		if (exempt)
			continue;
		if (w->of_session && i < UEP_NR_SESSION_LIMITS &&
		    uep_exceeds(more, &s->held[i], uep_session_max(i),
				UEP_REFUSED_SESSION_OBJECTS + i, over))
			return true;
		if (uep_exceeds(more, &s->user->held[i], uep_user_max(i),
				UEP_REFUSED_USER_OBJECTS + i, over))
			return true;
	}
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
	pr_notice_ratelimited(KBUILD_MODNAME ": %.*s[%d]: over its limit %s\n", len, name,
			      task_pid_nr(current), limit);
}

/* The memory of a queue: drivers round it up, use one more entry, and allocate pages. */
u64 uep_hw_queue_bytes(u32 nr, u32 size)
{
	return max_t(u64, PAGE_SIZE, (u64)roundup_pow_of_two(nr + 1) * roundup_pow_of_two(size));
}

/*
 * @sign: 1, or -1 to undo it. Returns whether all that counts now is within all limits. Inlined, so
 * that uep_held_sub() does not compare
 */
static __always_inline bool uep_held_add(struct uep_session *s, const struct uep_want *w,
					 int sign)
{
	bool fits = true;
	struct uep_group *g;
	u64 nr;
	int i;

	if (w->of_session || w->of_channel)
		fits = uep_restrictions_add(s, w, sign);
	for (i = 0; i < UEP_NR_HELD; i++) {
		if (!w->nr[i])
			continue;
		nr = sign * w->nr[i];
		for (g = s->group; g; g = g->parent)
			fits &= atomic64_add_return(nr, &g->held[i]) <= READ_ONCE(g->max[i]);
		fits &= atomic64_add_return(nr, &s->user->held[i]) <= uep_user_max(i);
		if (w->of_session && i < UEP_NR_SESSION_LIMITS)
			fits &= atomic64_read(&s->held[i]) <= uep_session_max(i);
	}
	return fits;
}

static void uep_held_sub(struct uep_session *s, const struct uep_want *w)
{
	uep_held_add(s, w, -1);
}

/* RLIMIT_MEMLOCK is per process but a region outlives its process. */
static bool uep_is_exempt(const struct uep_want *w)
{
	if (!w->nr[UEP_PINNED_BYTES])
		return capable(CAP_SYS_RESOURCE);
	return (!w->skip_rlimit && rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY) ||
	       capable(CAP_IPC_LOCK);
}

/*
 * Within the limits, perhaps since room is made, or beyond them by right? A kernel thread, which
 * delivers connection requests, gains nothing from its capabilities, and does not reclaim, as
 * other users wait for it.
 */
static bool uep_may_hold(const struct uep_session *s, const struct uep_want *w,
			 struct uep_over *over)
{
	if (likely(!uep_over(s, w, false, over)))
		return true;
	if (current->flags & PF_KTHREAD)
		return false;
	/* An idle CQ holds no registered memory. */
	if (!w->nr[UEP_PINNED_BYTES] && s->user->reclaim(s->user) && !uep_over(s, w, false, over))
		return true;
	return !uep_over(s, w, true, over) && uep_is_exempt(w);
}

/* One refusal has one reason: the first limit that is exceeded. */
static void uep_report_over(struct uep_session *s, const struct uep_over *over)
{
	trace_rdma_ep_over_limit(s, uep_refusals[over->reason], over->wanted, over->max);
	uep_count_refusal(s, over->reason);
	uep_log_over(uep_refusals[over->reason]);
}

/* Returns -EDQUOT over a limit. */
static int uep_charge_want(struct uep_session *s, struct uep_want *w)
{
	struct uep_over over = {};
	int tries;

	/* Other tasks may charge meanwhile: of two that do not fit together one does. */
	for (tries = 0; tries < UEP_CHARGE_TRIES && uep_may_hold(s, w, &over); tries++) {
		w->charged = true;
		if (likely(uep_held_add(s, w, 1)) || uep_may_hold(s, w, &over))
			return 0;
		uep_held_sub(s, w);
		w->charged = false;
	}
	uep_report_over(s, &over);
	return -EDQUOT;
}

/* Returns -EDQUOT. */
int uep_charge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	struct uep_want w = { .nr = { nr_objs, queue_bytes }, .of_session = true };

	return uep_charge_want(s, &w);
}

void uep_uncharge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	struct uep_want w = { .nr = { nr_objs, queue_bytes }, .of_session = true };

	uep_held_sub(s, &w);
}

/* Charges files whatever the limits. */
void uep_add_files(struct uep_session *s, int nr)
{
	struct uep_want w = { .nr = { nr } };

	uep_held_add(s, &w, 1);
}

/* Files and restrictions count as objects of user and cgroup, but not of the session. */
int uep_charge_files(struct uep_session *s, int nr)
{
	struct uep_want w = { .nr = { nr } };

	return uep_charge_want(s, &w);
}

void uep_uncharge_files(struct uep_session *s, int nr)
{
	struct uep_want w = { .nr = { nr } };

	uep_held_sub(s, &w);
}

/* A channel: its file, which counts as an object for the session's restrictions, too */
int uep_charge_channel(struct uep_session *s)
{
	struct uep_want w = { .nr = { 1 }, .of_channel = true };

	return uep_charge_want(s, &w);
}

void uep_uncharge_channel(struct uep_session *s)
{
	struct uep_want w = { .nr = { 1 }, .of_channel = true };

	uep_held_sub(s, &w);
}

/*
 * Pages that the caller registers next. @skip_rlimit: instead of RLIMIT_MEMLOCK, which then
 * exempts no task from the user's limit
 */
int uep_charge_pages(struct uep_session *s, u64 nr, bool skip_rlimit)
{
	struct uep_want w = {
		.nr = { [UEP_PINNED_BYTES] = nr << PAGE_SHIFT },
		.of_session = true,
		.skip_rlimit = skip_rlimit,
	};

	return uep_charge_want(s, &w) ? -ENOMEM : 0;
}

void uep_uncharge_pages(struct uep_session *s, u64 nr)
{
	struct uep_want w = {
		.nr = { [UEP_PINNED_BYTES] = nr << PAGE_SHIFT },
		.of_session = true,
	};

	uep_held_sub(s, &w);
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
	q->max_objects = uep_limit_max(&uep_limits[UEP_REFUSED_SESSION_OBJECTS]);
	q->max_user_objects = uep_limit_max(&uep_limits[UEP_REFUSED_USER_OBJECTS]);
	q->max_queue_bytes = uep_limit_max(&uep_limits[UEP_REFUSED_SESSION_QUEUE]);
	q->max_user_queue_bytes = uep_limit_max(&uep_limits[UEP_REFUSED_USER_QUEUE]);
}

/* Shows the limit with the least room of the session's cgroups, without the cgroup's name. */
static void uep_quota_show_group(struct seq_file *m, const struct uep_session *s,
				 enum uep_held i)
{
	static const char * const keys[UEP_NR_HELD] = {
		"cgroup-objects:\t", "cgroup-queue-memory:\t", "cgroup-pinned-memory:\t",
	};
	unsigned int shift = i == UEP_OBJS ? 0 : 10;
	u64 held = 0, max = U64_MAX, room = U64_MAX;
	const struct uep_group *g;

	for (g = s->group; g; g = g->parent) {
		u64 of_group = READ_ONCE(g->max[i]), used = atomic64_read(&g->held[i]);

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
		seq_printf(m, "%s%llu of %llu%s\n", l->key,
			   (u64)atomic64_read(uep_limit_held(l, s)) >> l->shift / 2,
			   uep_limit_max(l) >> l->shift / 2, l->shift ? " KiB" : "");
	for (i = 0; i < UEP_NR_HELD; i++)
		uep_quota_show_group(m, s, i);
	seq_printf(m, "memlock:\t%s\n", uep_group_memlock(s->group) ? "quota" : "rlimit");
}
