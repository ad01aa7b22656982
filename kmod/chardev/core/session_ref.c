// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users and sessions as the lower layers see them: references, the work queue that sessions
 * and channels end on, sums of posted work.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>

#include "core.h"

/*
 * Tears sessions down. The last task that closes a file may have lost its memory and
 * namespaces already, so the work is done here. Not WQ_MEM_RECLAIM: it flushes queues of the
 * CM that are not. WQ_MAX_ACTIVE: items that wait for a device or a peer delay no others.
 */
static struct workqueue_struct *uep_session_wq;

/* Users with open sessions, and their reference counts reaching zero */
static DEFINE_MUTEX(uep_users_lock);
static DEFINE_HASHTABLE(uep_users, 6);

static atomic64_t uep_nr_sessions;

static struct uep_user *uep_user_alloc(kuid_t uid, u64 group)
{
	struct uep_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	refcount_set(&user->ref, 1);
	user->uid = uid;
	user->group = group;
	uep_idle_init(user);
	return user;
}

/* Finds the user, with a reference, or adds @new, if there is one; else NULL */
static struct uep_user *uep_user_add(kuid_t uid, u64 group, struct uep_user *new)
{
	u32 key = __kuid_val(uid);
	struct uep_user *user;

	guard(mutex)(&uep_users_lock);
	hash_for_each_possible(uep_users, user, node, key) {
		if (uid_eq(user->uid, uid) && user->group == group) {
			refcount_inc(&user->ref);
			return user;
		}
	}
	if (new)
		hash_add(uep_users, &new->node, key);
	return new;
}

/* Or NULL. Allocates without the lock, as the caller's cgroup may have no memory. */
static struct uep_user *uep_user_get(kuid_t uid, u64 group)
{
	struct uep_user *user = uep_user_add(uid, group, NULL), *new;

	if (user)
		return user;
	new = uep_user_alloc(uid, group);
	if (!new)
		return NULL;
	user = uep_user_add(uid, group, new);
	if (user != new)
		kfree(new);
	return user;
}

static void uep_user_put(struct uep_user *user)
{
	if (!refcount_dec_and_mutex_lock(&user->ref, &uep_users_lock))
		return;
	hash_del(&user->node);
	mutex_unlock(&uep_users_lock);
	cancel_delayed_work_sync(&user->idle.work);
	kfree(user);
}

/* The caller initializes release_work. */
struct uep_session *uep_session_alloc(void)
{
	struct uep_session *s;
	int ret = -ENOMEM;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->group = uep_group_get();
	if (!s->group)
		goto err_free;
	s->user = uep_user_get(current_euid(), uep_group_users(s->group));
	if (!s->user)
		goto err_group;
	ret = uep_account_open(s);
	if (ret)
		goto err_user;
	ret = uep_charge_files(s, 1);
	if (ret)
		goto err_account;
	kref_init(&s->ref);
	s->number = atomic64_inc_return(&uep_nr_sessions);
	xa_init_flags(&s->objs, XA_FLAGS_ALLOC1);
	xa_init(&s->qps);
	xa_init(&s->default_ctxs);
	spin_lock_init(&s->ev_lock);
	INIT_LIST_HEAD(&s->queues);
	INIT_LIST_HEAD(&s->idle);
	mutex_init(&s->ring_lock);
	xa_init(&s->ring_pages);
	ida_init(&s->rings);
	mutex_init(&s->ctx_lock);
	spin_lock_init(&s->note_lock);
	spin_lock_init(&s->held_lock);
	init_rwsem(&s->ending);
	return s;

err_account:
	uep_account_close(s);
err_user:
	uep_user_put(s->user);
err_group:
	uep_group_put(s->group);
err_free:
	kfree(s);
	return ERR_PTR(ret);
}

static void uep_session_free(struct kref *ref)
{
	struct uep_session *s = container_of(ref, struct uep_session, ref);

	xa_destroy(&s->objs);
	xa_destroy(&s->qps);
	xa_destroy(&s->default_ctxs);
	uep_rings_cleanup(s);
	uep_uncharge_files(s, 1 + uep_restrictions_objs(s->restriction));
	uep_restriction_put(s->restriction);
	uep_account_close(s);
	uep_user_put(s->user);
	uep_group_put(s->group);
	kfree(s);
}

void uep_session_get(struct uep_session *s)
{
	kref_get(&s->ref);
}

void uep_session_put(struct uep_session *s)
{
	kref_put(&s->ref, uep_session_free);
}

/* A task of root may have changed its user since it opened the session. */
static bool uep_session_is_own(const struct uep_session *s)
{
	kuid_t uid = s->user->uid;

	return uid_eq(uid, current_euid()) || uid_eq(uid, current_uid()) ||
	       uid_eq(uid, GLOBAL_ROOT_UID);
}

/*
 * Executes the work of a file that has been closed. A task of the session's user waits, so
 * that ports and memory are free again when the last close() or munmap() returns, or when
 * the parent can reap the task. A task of another user, which may have received the file or
 * looked at it, does not wait, as that may take long. (Not in the task itself: a driver may
 * take its signals away.) The caller keeps the work's memory. Returns false if the work was
 * queued already.
 */
bool uep_session_run(struct uep_session *s, struct work_struct *work)
{
	bool wait = !(current->flags & PF_KTHREAD) && uep_session_is_own(s);
	bool queued = queue_work(uep_session_wq, work);

	if (wait)
		flush_work(work);
	return queued;
}

int uep_session_init(void)
{
	uep_session_wq = alloc_workqueue("rdma_ep_session", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return uep_session_wq ? 0 : -ENOMEM;
}

void uep_session_cleanup(void)
{
	destroy_workqueue(uep_session_wq);
}

void uep_past_add(struct uep_past *past, const struct uep_traffic *t)
{
	atomic64_add(t->posted, &past->posted);
	atomic64_add(t->bytes, &past->bytes);
}
