// SPDX-License-Identifier: GPL-2.0-only
/*
 * CQs of the device that their user has destroyed, for the session's next CQ of the same kind.
 *
 * Allocating and clearing the memory of its queue is most of the cost of a CQ of a software
 * device, and a program that connects, talks and disconnects repeatedly soon needs the same
 * queue. On Linux 7.2 a cycle of such a program (docs/performance/measuring.md) costs 0.53 of
 * the stock stack's instructions, and 0.73 without this file.
 *
 * An idle CQ is empty, has no QPs, and serves its own session only. It is destroyed with the
 * session or the device, after UEP_IDLE_TIME, when it counts in a quota or a limit of the device
 * that is reached, or when it is found and the device has reported an error for it.
 */
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "core.h"

/* Limits of a session */
#define UEP_IDLE_MAX		24
#define UEP_IDLE_MAX_BYTES	(2ULL << 20)
/* Limits of a user */
#define UEP_IDLE_MAX_USER	256
#define UEP_IDLE_TIME		(HZ / 10)
/* Destroyed in one go: uep_idle_flush() may wait for the mutex meanwhile. */
#define UEP_IDLE_BATCH		64

/* Holds idle.lock of the user. */
static void uep_idle_remove(struct uep_idle *idle)
{
	list_del(&idle->all);
	list_del(&idle->entry);
	idle->session->nr_idle--;
	idle->session->user->idle.nr--;
	idle->session->idle_bytes -= idle->bytes;
	uep_uncharge(idle->session, 0, idle->bytes);
}

/*
 * Destroys idle CQs of the session (NULL: of all sessions of the user), the expired ones or
 * all, and waits for those that another task is destroying. Returns whether there were any.
 */
static bool uep_idle_reap(struct uep_idle_user *user, const struct uep_session *s, bool expired)
{
	unsigned long now = jiffies;
	struct uep_idle *idle, *next;
	LIST_HEAD(list);
	int n = 0;

	mutex_lock(&user->ending);
	spin_lock(&user->lock);
	list_for_each_entry_safe(idle, next, &user->all, all) {
		if (s && idle->session != s)
			continue;
		if (expired && (time_before(now, idle->until) || n == UEP_IDLE_BATCH)) {
			queue_delayed_work(ep_wq, &user->work, time_before(now, idle->until) ?
					   idle->until - now : 0);
			break;
		}
		uep_idle_remove(idle);
		list_add_tail(&idle->all, &list);
		n++;
	}
	spin_unlock(&user->lock);
	list_for_each_entry_safe(idle, next, &list, all)
		idle->end(idle);
	mutex_unlock(&user->ending);
	return n;
}

void uep_idle_flush(const struct uep_session *s)
{
	uep_idle_reap(&s->user->idle, s, false);
}

bool uep_idle_flush_user(struct uep_user *user)
{
	return uep_idle_reap(&user->idle, NULL, false);
}

static void uep_idle_expire(struct work_struct *work)
{
	uep_idle_reap(container_of(to_delayed_work(work), struct uep_idle_user, work), NULL, true);
}

/* Does the session have room for one more idle CQ? */
bool uep_idle_room(const struct uep_session *s, u64 bytes)
{
	return !READ_ONCE(s->dead) && READ_ONCE(s->nr_idle) < UEP_IDLE_MAX &&
	       READ_ONCE(s->user->idle.nr) < UEP_IDLE_MAX_USER &&
	       READ_ONCE(s->idle_bytes) + bytes <= UEP_IDLE_MAX_BYTES;
}

/* @bytes: charged to the session for it; the charge passes to @idle on success */
bool uep_idle_add(struct uep_idle *idle, struct uep_session *s, u64 bytes)
{
	struct uep_idle_user *user = &s->user->idle;
	bool first, ok;

	spin_lock(&user->lock);
	ok = uep_idle_room(s, bytes);
	if (ok) {
		first = list_empty(&user->all);
		idle->session = s;
		idle->bytes = bytes;
		idle->until = jiffies + UEP_IDLE_TIME;
		list_add_tail(&idle->all, &user->all);
		list_add(&idle->entry, &s->idle);
		s->nr_idle++;
		user->nr++;
		s->idle_bytes += bytes;
		if (first)
			queue_delayed_work(ep_wq, &user->work, UEP_IDLE_TIME);
	}
	spin_unlock(&user->lock);
	return ok;
}

/* Removes and returns the session's latest idle CQ of that kind, or NULL. */
struct uep_idle *uep_idle_take(struct uep_session *s, const struct ep_dev *dev, u32 cqe,
			       u32 comp_vector)
{
	struct uep_idle *idle;

	spin_lock(&s->user->idle.lock);
	list_for_each_entry(idle, &s->idle, entry)
		if (idle->dev == dev && idle->cqe == cqe && idle->comp_vector == comp_vector)
			break;
	if (list_entry_is_head(idle, &s->idle, entry))
		idle = NULL;
	else
		uep_idle_remove(idle);
	spin_unlock(&s->user->idle.lock);
	return idle;
}

void uep_idle_init(struct uep_user *user)
{
	mutex_init(&user->idle.ending);
	spin_lock_init(&user->idle.lock);
	INIT_LIST_HEAD(&user->idle.all);
	INIT_DELAYED_WORK(&user->idle.work, uep_idle_expire);
	user->reclaim = uep_idle_flush_user;
}
