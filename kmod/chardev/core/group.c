// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of groups, the parameter with the rules, and the devices that rules close.
 *
 * uep_groups_lock protects the table, the reference counts of groups reaching zero, and changes
 * of the rules, which are read under RCU. It is held for no longer than the rules and the groups
 * take.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/glob.h>
#include <linux/hashtable.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../../compat.h"
#include "core.h"

static DEFINE_MUTEX(uep_groups_lock);
static DEFINE_HASHTABLE(uep_groups, 6);
static struct uep_rules __rcu *uep_rules;

/* A pattern without wildcards is a name: systemd's have backslashes, which quote in others. */
static bool uep_name_matches(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?[") ? glob_match(pattern, name) : !strcmp(pattern, name);
}

/* Is it a cgroup of the pattern? */
static bool uep_group_matches(const struct uep_group *g, const struct uep_pattern *p)
{
	if (g->level != p->level)
		return false;
	for (; g->level; g = g->parent)
		if (!uep_name_matches(p->name[g->level - 1], g->name))
			return false;
	return true;
}

/* The rules, or NULL. Holds the lock */
static struct uep_rules *uep_rules_locked(void)
{
	return rcu_dereference_protected(uep_rules, lockdep_is_held(&uep_groups_lock));
}

/* Applies the rules; a rule overrides those before it. Holds the lock */
static void uep_group_apply(struct uep_group *g)
{
	enum uep_memlock memlock = UEP_MEMLOCK_INHERIT;
	enum uep_users users = UEP_USERS_INHERIT;
	u64 max[UEP_NR_HELD] = { U64_MAX, U64_MAX, U64_MAX };
	const struct uep_rules *rules = uep_rules_locked();
	const struct uep_rule *r = rules ? rules->rules : NULL;
	const struct uep_rule *end = r ? r + rules->nr : NULL;
	int i;

	for (; r < end; r++) {
		if (!uep_group_matches(g, &r->group))
			continue;
		for (i = 0; i < UEP_NR_HELD; i++)
			if (r->set & BIT(i))
				max[i] = r->max[i];
		memlock = r->memlock ?: memlock;
		users = r->users ?: users;
	}
	for (i = 0; i < UEP_NR_HELD; i++)
		WRITE_ONCE(g->max[i], max[i]);
	WRITE_ONCE(g->memlock, memlock);
	WRITE_ONCE(g->users, users);
}

static struct uep_group *uep_group_find(u64 id)
{
	struct uep_group *g;

	lockdep_assert_held(&uep_groups_lock);
	hash_for_each_possible(uep_groups, g, node, id)
		if (g->id == id)
			return g;
	return NULL;
}

/* Drops a reference with the lock, and with the last one those of the groups above. */
static void uep_group_drop(struct uep_group *g)
{
	struct uep_group *parent;

	for (; g && refcount_dec_and_test(&g->ref); g = parent) {
		parent = g->parent;
		hash_del(&g->node);
		kfree(g);
	}
}

static struct uep_group *uep_group_alloc(u64 id, int level, const char *name)
{
	size_t len = strlen(name);
	struct uep_group *g;

	g = kzalloc(struct_size(g, name, len + 1), GFP_KERNEL_ACCOUNT);
	if (!g)
		return NULL;
	refcount_set(&g->ref, 1);
	g->id = id;
	g->level = level;
	memcpy(g->name, name, len);
	return g;
}

/* Takes over the reference to @parent. */
static void uep_group_add(struct uep_group *g, struct uep_group *parent)
{
	g->parent = parent;
	uep_group_apply(g);
	hash_add(uep_groups, &g->node, g->id);
}

/* The first level whose group is neither in the table nor in @new, or -1 */
static int uep_groups_missing(const u64 *ids, int level, struct uep_group **new)
{
	int i;

	for (i = 0; i <= level; i++)
		if (!new[i] && !uep_group_find(ids[i]))
			return i;
	return -1;
}

/* Finds the groups, or adds those of @new, of which it leaves the others. */
static struct uep_group *uep_groups_add(const u64 *ids, int level, struct uep_group **new)
{
	struct uep_group *g = NULL, *child;
	int i;

	for (i = 0; i <= level; i++) {
		child = uep_group_find(ids[i]);
		if (child) {
			refcount_inc(&child->ref);
			uep_group_drop(g);
		} else {
			child = new[i];
			new[i] = NULL;
			uep_group_add(child, g);
		}
		g = child;
	}
	return g;
}

/*
 * Finds or creates the groups of the path, which is overwritten. Allocates without the lock: the
 * caller's cgroup may have no memory, which takes time, and other tasks wait for the lock.
 */
static struct uep_group *uep_group_of_path(char *path, const u64 *ids, int level)
{
	struct uep_group *g = NULL, *new[UEP_MAX_LEVELS + 1] = {};
	char *names[UEP_MAX_LEVELS + 1] = { "" };
	int i;

	strsep(&path, "/");
	for (i = 1; i <= level; i++)
		names[i] = strsep(&path, "/") ?: "";
	for (;;) {
		mutex_lock(&uep_groups_lock);
		i = uep_groups_missing(ids, level, new);
		if (i < 0)
			break;
		mutex_unlock(&uep_groups_lock);
		new[i] = uep_group_alloc(ids[i], i, names[i]);
		if (!new[i])
			goto out;
	}
	g = uep_groups_add(ids, level, new);
	mutex_unlock(&uep_groups_lock);
out:
	for (i = 0; i <= level; i++)
		kfree(new[i]);
	return g;
}

/* The group of the current task's cgroup, with a reference, or NULL without memory */
struct uep_group *uep_group_get(void)
{
	size_t size = UEP_MAX_LEVELS * (NAME_MAX + 1) + 1;
	u64 ids[UEP_MAX_LEVELS + 1];
	struct uep_group *g;
	char *path;
	int level;

	level = ep_compat_cgroup_ids(ids, UEP_MAX_LEVELS, NULL, 0);
	mutex_lock(&uep_groups_lock);
	g = uep_group_find(ids[level]);
	if (g)
		refcount_inc(&g->ref);
	mutex_unlock(&uep_groups_lock);
	if (g)
		return g;
	path = kzalloc(size, GFP_KERNEL);
	if (!path)
		return NULL;
	/* The task may have moved since. */
	level = ep_compat_cgroup_ids(ids, UEP_MAX_LEVELS, path, size);
	g = uep_group_of_path(path, ids, level);
	kfree(path);
	return g;
}

void uep_group_put(struct uep_group *g)
{
	if (refcount_dec_not_one(&g->ref))
		return;
	mutex_lock(&uep_groups_lock);
	uep_group_drop(g);
	mutex_unlock(&uep_groups_lock);
}

/* Writes the path, unless @path is NULL. Returns its length. */
size_t uep_group_path(const struct uep_group *g, char *path)
{
	const struct uep_group *above;
	size_t len = 0, end, n;

	for (above = g; above->level; above = above->parent)
		len += 1 + strlen(above->name);
	len = len ?: 1;
	if (!path)
		return len;
	path[0] = '/';
	path[len] = 0;
	for (end = len; g->level; g = g->parent) {
		n = strlen(g->name);
		end -= n;
		memcpy(path + end, g->name, n);
		path[--end] = '/';
	}
	return len;
}

/* The nearest cgroup, from @g upwards, in which users have limits of their own, or 0 */
u64 uep_group_users(const struct uep_group *g)
{
	for (; g; g = g->parent) {
		enum uep_users users = READ_ONCE(g->users);

		if (users)
			return users == UEP_USERS_APART ? g->id : 0;
	}
	return 0;
}

/*
 * The cgroup, from @g upwards, whose rule exempts the tasks of @g from RLIMIT_MEMLOCK, as other
 * limits hold instead; or NULL
 */
const struct uep_group *uep_group_memlock(const struct uep_group *g)
{
	while (g && !READ_ONCE(g->memlock))
		g = g->parent;
	return g && READ_ONCE(g->memlock) == UEP_MEMLOCK_QUOTA ? g : NULL;
}

/*
 * May the current task register memory in a session of @g beyond its RLIMIT_MEMLOCK? The same
 * rule must allow it for the session, whose limits hold instead, and for the task: neither a
 * session that another cgroup passed on nor a move to another cgroup gives the right.
 */
bool uep_group_skips_rlimit(const struct uep_group *g)
{
	struct uep_group *of_task;
	bool ret;

	g = uep_group_memlock(g);
	if (!g)
		return false;
	of_task = uep_group_get();
	if (!of_task)
		return false;
	ret = uep_group_memlock(of_task) == g;
	uep_group_put(of_task);
	return ret;
}

static bool uep_task_has_gid(const struct uep_access_rule *r)
{
	unsigned int i;

	for (i = 0; i < r->nr_gids; i++)
		if (in_egroup_p(r->gids[i]))
			return true;
	return !r->nr_gids;
}

static bool uep_group_is_below(const struct uep_group *g, const struct uep_pattern *p)
{
	while (g && !uep_group_matches(g, p))
		g = g->parent;
	return g;
}

static bool uep_access_names(const struct uep_access_rule *r, const struct ib_device *ibdev)
{
	const char *driver = ep_driver_of(ibdev)->name;

	if (r->device)
		return glob_match(r->device, ibdev->name);
	return driver && !strcmp(r->driver, driver);
}

/* Does no rule close devices? Then no cgroup is looked up. */
bool uep_access_is_open(void)
{
	const struct uep_rules *rules;
	bool open;

	rcu_read_lock();
	rules = rcu_dereference(uep_rules);
	open = !rules || !rules->nr_access;
	rcu_read_unlock();
	return open;
}

static bool uep_access_allows(const struct uep_rules *rules, const struct ib_device *ibdev,
			      const struct uep_group *g)
{
	const struct uep_access_rule *r;
	bool named = false;

	for (r = rules->access; r < rules->access + rules->nr_access; r++) {
		if (!uep_access_names(r, ibdev))
			continue;
		named = true;
		if (uep_task_has_gid(r) && (!r->has_group || uep_group_is_below(g, &r->group)))
			return true;
	}
	return !named;
}

/*
 * May a task with those credentials and of cgroup @g use the device? Takes no lock. Process
 * context, also a work item
 */
bool uep_dev_allows(const struct ib_device *ibdev, const struct cred *cred,
		    const struct uep_group *g)
{
	const struct cred *old = override_creds(cred);
	const struct uep_rules *rules;
	bool allowed;

	rcu_read_lock();
	rules = rcu_dereference(uep_rules);
	allowed = !rules || uep_access_allows(rules, ibdev, g);
	rcu_read_unlock();
	revert_creds(old);
	return allowed;
}

/* May the current task use the device? Returns 0, -EACCES, or -ENOMEM. Process context. */
int uep_dev_check_access(const struct ib_device *ibdev)
{
	struct uep_group *g;
	bool allowed;

	if (uep_access_is_open())
		return 0;
	g = uep_group_get();
	if (!g)
		return -ENOMEM;
	allowed = uep_dev_allows(ibdev, current_cred(), g);
	uep_group_put(g);
	return allowed ? 0 : -EACCES;
}

/* Replaces all rules, or none of them. */
static int uep_rules_set(const char *text, const struct kernel_param *kp)
{
	struct uep_rules *rules;
	struct uep_group *g;
	int i;

	/* The root of a container may reach the file. Loading the module is a right by itself. */
	if (THIS_MODULE->state == MODULE_STATE_LIVE && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	rules = uep_rules_parse(text);
	if (IS_ERR(rules))
		return PTR_ERR(rules);
	mutex_lock(&uep_groups_lock);
	rules = rcu_replace_pointer(uep_rules, rules, lockdep_is_held(&uep_groups_lock));
	hash_for_each(uep_groups, i, g, node)
		uep_group_apply(g);
	mutex_unlock(&uep_groups_lock);
	synchronize_rcu();
	kvfree(rules);
	return 0;
}

static int uep_rules_get(char *text, const struct kernel_param *kp)
{
	const struct uep_rules *rules;

	guard(mutex)(&uep_groups_lock);
	rules = uep_rules_locked();
	return sysfs_emit(text, "%s\n", rules ? rules->text : "");
}

static void uep_rules_release(void *arg)
{
	kvfree(rcu_replace_pointer(uep_rules, NULL, true));
}

static const struct kernel_param_ops uep_rules_ops = {
	.set = uep_rules_set,
	.get = uep_rules_get,
	.free = uep_rules_release,
};

module_param_cb(rules, &uep_rules_ops, NULL, 0644);
MODULE_PARM_DESC(rules, "limits of cgroups, and devices that are not for all tasks");

/* Called when the drivers have been registered. */
int uep_group_init(void)
{
	const struct uep_rules *rules;

	guard(mutex)(&uep_groups_lock);
	rules = uep_rules_locked();
	return rules ? uep_rules_check_drivers(rules) : 0;
}
