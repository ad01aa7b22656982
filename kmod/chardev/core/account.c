// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of accounts. uep_account_mutex protects it, and the members that account.h names. An
 * account lives while it has a session, and after that until UEP_MAX_IDLE_ACCOUNTS others have
 * lost their last session since. Its memory is charged to the cgroup of the opener, and does not
 * keep that alive: the memory controller moves charges for slabs of a removed cgroup to its parent.
 *
 * A path identifies a cgroup, and a name a device: a unit that is started again, with a new cgroup
 * of the same path, continues its account: a reader cannot distinguish the two.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "core.h"

#define UEP_MAX_IDLE_ACCOUNTS	1024U
#define UEP_NO_DEVICE		U32_MAX	/* no ib_device.index */

/* By enum uep_refusal; limits have the names of their parameters. */
const char * const uep_refusals[UEP_NR_REFUSALS] = {
	[UEP_REFUSED_SESSION_OBJECTS] = "session_max_objects",
	[UEP_REFUSED_SESSION_QUEUE] = "session_max_queue_mb",
	[UEP_REFUSED_USER_OBJECTS] = "user_max_objects",
	[UEP_REFUSED_USER_QUEUE] = "user_max_queue_mb",
	[UEP_REFUSED_USER_PINNED] = "user_max_pinned_mb",
	[UEP_REFUSED_CGROUP_OBJECTS] = "cgroup_objects",
	[UEP_REFUSED_CGROUP_QUEUE] = "cgroup_queue",
	[UEP_REFUSED_CGROUP_PINNED] = "cgroup_pinned",
	[UEP_REFUSED_EVENTS] = "events",
	[UEP_REFUSED_MEMLOCK] = "memlock",
	[UEP_REFUSED_RDMA_MAX] = "rdma_max",
	[UEP_REFUSED_ACCESS] = "access",
	[UEP_REFUSED_RESTRICTION] = "restriction",
	[UEP_REFUSED_OTHER] = "other",
};

static DEFINE_MUTEX(uep_account_mutex);
static DEFINE_HASHTABLE(uep_accounts, 8);
static DEFINE_XARRAY_ALLOC1(uep_account_numbers);
static u32 uep_account_number;
static LIST_HEAD(uep_idle_accounts);
static unsigned int uep_nr_idle_accounts;

static void uep_account_free(struct uep_account *a)
{
	struct uep_account_dev *d, *next;

	hash_del(&a->node);
	xa_erase(&uep_account_numbers, a->number);
	list_for_each_entry_safe(d, next, &a->devs, entry)
		kfree(d);
	kfree(a);
}

static void uep_account_forget(struct uep_account *a)
{
	list_del_init(&a->idle);
	uep_nr_idle_accounts--;
}

static struct uep_account *uep_account_alloc(kuid_t uid, const struct uep_group *g)
{
	size_t len = uep_group_path(g, NULL);
	struct uep_account *a;

	a = kzalloc(struct_size(a, path, len + 1), GFP_KERNEL_ACCOUNT);
	if (!a)
		return NULL;
	a->uid = uid;
	INIT_LIST_HEAD(&a->idle);
	INIT_LIST_HEAD(&a->sessions);
	INIT_LIST_HEAD(&a->devs);
	uep_group_path(g, a->path);
	a->hash = jhash(a->path, len, __kuid_val(uid));
	return a;
}

/* Returns the account in the table that is the same, or adds @new. NULL without memory */
static struct uep_account *uep_account_merge(struct uep_account *new)
{
	struct uep_account *a;

	hash_for_each_possible(uep_accounts, a, node, new->hash)
		if (uid_eq(a->uid, new->uid) && !strcmp(a->path, new->path))
			return a;
	if (xa_alloc_cyclic(&uep_account_numbers, &new->number, new, xa_limit_31b,
			    &uep_account_number, GFP_KERNEL) < 0)
		return NULL;
	hash_add(uep_accounts, &new->node, new->hash);
	return new;
}

/* Finds or creates the account of a session that is being opened. */
int uep_account_open(struct uep_session *s)
{
	struct uep_account *a, *new = uep_account_alloc(s->user->uid, s->group);

	if (!new)
		return -ENOMEM;
	guard(mutex)(&uep_account_mutex);
	a = uep_account_merge(new);
	if (a != new)
		kfree(new);
	if (!a)
		return -ENOMEM;
	if (!list_empty(&a->idle))
		uep_account_forget(a);
	list_add_tail(&s->in_account, &a->sessions);
	s->account = a;
	return 0;
}

/* The session is freed next, without objects. */
void uep_account_close(struct uep_session *s)
{
	struct uep_account *a = s->account, *oldest;

	guard(mutex)(&uep_account_mutex);
	list_del(&s->in_account);
	if (!list_empty(&a->sessions))
		return;
	list_add_tail(&a->idle, &uep_idle_accounts);
	if (++uep_nr_idle_accounts <= UEP_MAX_IDLE_ACCOUNTS)
		return;
	oldest = list_first_entry(&uep_idle_accounts, struct uep_account, idle);
	uep_account_forget(oldest);
	uep_account_free(oldest);
}

/* Finds the record of the device's name, or adds @new, if there is one; else NULL */
static struct uep_account_dev *uep_account_add_dev(struct uep_account *a,
						   const struct ib_device *ibdev,
						   struct uep_account_dev *new)
{
	struct uep_account_dev *d, *found = NULL;

	guard(mutex)(&uep_account_mutex);
	list_for_each_entry(d, &a->devs, entry) {
		if (!strcmp(d->name, ibdev->name))
			found = d;
		else if (d->index == ibdev->index)
			WRITE_ONCE(d->index, UEP_NO_DEVICE);
	}
	if (found)
		WRITE_ONCE(found->index, ibdev->index);
	else if (new)
		list_add_rcu(&new->entry, &a->devs);
	return found ?: new;
}

/*
 * Finds or creates. The caller has an open session, and is inside ep_dev_enter(). Or NULL.
 * Allocates without the lock, as the caller's cgroup may have no memory.
 */
struct uep_account_dev *uep_account_dev(struct uep_account *a, const struct ep_dev *dev)
{
	struct uep_account_dev *d, *new;

	d = uep_account_add_dev(a, dev->ibdev, NULL);
	if (d)
		return d;
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	strscpy(new->name, dev->ibdev->name, sizeof(new->name));
	new->index = dev->ibdev->index;
	d = uep_account_add_dev(a, dev->ibdev, new);
	if (d != new)
		kfree(new);
	return d;
}

/*
 * Counts on the device, if the account has opened it: under its latest name there, as contexts
 * keep the name that the device had. Any context
 */
void uep_account_count(struct uep_account *a, const struct ib_device *ibdev, enum uep_count count)
{
	struct uep_account_dev *d;

	rcu_read_lock();
	list_for_each_entry_rcu(d, &a->devs, entry) {
		if (READ_ONCE(d->index) == ibdev->index) {
			atomic64_inc(&d->past[count]);
			break;
		}
	}
	rcu_read_unlock();
}

/* The first account whose number is not below @from, or NULL; until uep_accounts_unlock() */
struct uep_account *uep_accounts_lock(u32 from)
{
	unsigned long number = from;

	mutex_lock(&uep_account_mutex);
	return xa_find(&uep_account_numbers, &number, U32_MAX, XA_PRESENT);
}

struct uep_account *uep_accounts_next(const struct uep_account *a)
{
	unsigned long number = a->number;

	lockdep_assert_held(&uep_account_mutex);
	return xa_find_after(&uep_account_numbers, &number, U32_MAX, XA_PRESENT);
}

void uep_accounts_unlock(void)
{
	mutex_unlock(&uep_account_mutex);
}

/* No session is left. */
void uep_accounts_cleanup(void)
{
	struct uep_account *a, *next;

	list_for_each_entry_safe(a, next, &uep_idle_accounts, idle)
		uep_account_free(a);
}
