// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a session and of a user.
 *
 * Drivers allocate the queues of kernel consumers from memory that no cgroup is charged
 * for, so without limits an unprivileged opener of the device could exhaust the kernel.
 * CAP_SYS_RESOURCE exempts a task from them.
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

static bool uep_over_limit(const struct uep_session *s)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(uep_limits); i++)
		if (uep_limit_held(&uep_limits[i], s) > uep_limit_max(&uep_limits[i]))
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
	atomic64_add(nr_objs, &s->held[UEP_OBJS]);
	atomic64_add(nr_objs, &s->user->held[UEP_OBJS]);
	atomic64_add(queue_bytes, &s->held[UEP_QUEUE_BYTES]);
	atomic64_add(queue_bytes, &s->user->held[UEP_QUEUE_BYTES]);
}

/*
 * Returns -EDQUOT over a limit. A kernel thread, which delivers connection requests, gains
 * nothing from its capabilities, and does not reclaim, as other users wait for it.
 */
int uep_charge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	const struct uep_limit *l;

	uep_held_add(s, nr_objs, queue_bytes);
	if (likely(!uep_over_limit(s)))
		return 0;
	if (!(current->flags & PF_KTHREAD) &&
	    ((s->user->reclaim(s->user) && !uep_over_limit(s)) || capable(CAP_SYS_RESOURCE)))
		return 0;
	for (l = uep_limits; l < uep_limits + ARRAY_SIZE(uep_limits); l++)
		uep_trace_limit(s, l->name, uep_limit_held(l, s), uep_limit_max(l));
	uep_uncharge(s, nr_objs, queue_bytes);
	uep_log_over("its limit of objects or queue memory (see the module's parameters)");
	return -EDQUOT;
}

void uep_uncharge(struct uep_session *s, int nr_objs, u64 queue_bytes)
{
	uep_held_add(s, -nr_objs, -(s64)queue_bytes);
}

/* The file of a session or a channel counts as an object of the user, not of the session. */
int uep_charge_file(struct uep_user *user)
{
	atomic64_t *held = &user->held[UEP_OBJS];
	u32 max = READ_ONCE(user_max_objects);

	if (likely(atomic64_inc_return(held) <= max) ||
	    (user->reclaim(user) && atomic64_read(held) <= max) || capable(CAP_SYS_RESOURCE))
		return 0;
	atomic64_dec(held);
	uep_log_over("its user's limit of objects (user_max_objects)");
	return -EDQUOT;
}

void uep_uncharge_file(struct uep_user *user)
{
	atomic64_dec(&user->held[UEP_OBJS]);
}

/*
 * Pages that the caller registers next. RLIMIT_MEMLOCK is per process but a region outlives
 * its process, so the pages are limited per user as well.
 */
int uep_charge_pages(struct uep_session *s, u64 nr)
{
	u64 max = uep_mb(READ_ONCE(user_max_pinned_mb)) >> PAGE_SHIFT;
	s64 pinned = atomic64_read(&s->user->pinned_pages);

	/* Refused pages are never added, as other tasks would be refused because of them. */
	while (nr <= max && pinned <= (s64)(max - nr))
		if (atomic64_try_cmpxchg(&s->user->pinned_pages, &pinned, pinned + nr))
			return 0;
	if (rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY || capable(CAP_IPC_LOCK)) {
		atomic64_add(nr, &s->user->pinned_pages);
		return 0;
	}
	uep_trace_limit(s, "user_max_pinned_mb", (pinned + nr) << PAGE_SHIFT, max << PAGE_SHIFT);
	uep_log_over("its user's limit of registered memory (user_max_pinned_mb)");
	return -ENOMEM;
}

void uep_uncharge_pages(struct uep_session *s, u64 nr)
{
	atomic64_sub(nr, &s->user->pinned_pages);
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

void uep_quota_show(struct seq_file *m, struct uep_session *s)
{
	const struct uep_limit *l;

	seq_printf(m, "user:\t%u\n", from_kuid_munged(seq_user_ns(m), s->user->uid));
	for (l = uep_limits; l < uep_limits + ARRAY_SIZE(uep_limits); l++)
		seq_printf(m, "%s%llu of %llu%s\n", l->key, uep_limit_held(l, s) >> l->shift / 2,
			   uep_limit_max(l) >> l->shift / 2, l->shift ? " KiB" : "");
	seq_printf(m, "user-pinned-memory:\t%llu of %llu KiB\n",
		   (u64)atomic64_read(&s->user->pinned_pages) << (PAGE_SHIFT - 10),
		   uep_mb(READ_ONCE(user_max_pinned_mb)) >> 10);
}
