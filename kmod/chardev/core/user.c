// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users that have sessions open.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>

#include "core.h"

/* Users with open sessions, and their reference counts reaching zero. */
static DEFINE_MUTEX(uep_users_lock);
static DEFINE_HASHTABLE(uep_users, 6);

struct uep_user *uep_user_get(kuid_t uid)
{
	u32 key = __kuid_val(uid);
	struct uep_user *user;

	mutex_lock(&uep_users_lock);
	hash_for_each_possible(uep_users, user, node, key) {
		if (uid_eq(user->uid, uid)) {
			refcount_inc(&user->ref);
			goto out;
		}
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		goto out;
	refcount_set(&user->ref, 1);
	user->uid = uid;
	uep_idle_init(user);
	hash_add(uep_users, &user->node, key);
out:
	mutex_unlock(&uep_users_lock);
	return user;
}

void uep_user_put(struct uep_user *user)
{
	if (!refcount_dec_and_mutex_lock(&user->ref, &uep_users_lock))
		return;
	hash_del(&user->node);
	mutex_unlock(&uep_users_lock);
	uep_idle_cleanup(user);
	kfree(user);
}

/* Root may have become somebody else since. */
bool uep_user_is_current(const struct uep_user *user)
{
	return uid_eq(user->uid, current_euid()) || uid_eq(user->uid, current_uid()) ||
	       uid_eq(user->uid, GLOBAL_ROOT_UID);
}
