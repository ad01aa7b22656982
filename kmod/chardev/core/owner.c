// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners of sessions.
 *
 * A session can be handed over to another process, of another user perhaps. The descriptors
 * of the previous owner stay open where the kernel cannot close them, so each call enters its
 * owner first, and an owner that has lost the session is not entered any more.
 */
#include <linux/slab.h>

#include "core.h"

static void uep_owner_quiet(struct percpu_ref *calls)
{
	complete_all(&container_of(calls, struct uep_owner, calls)->quiet);
}

/*
 * Charges an adopter's file to the giver, whose limits do not refuse it: a server at its limit can
 * be restarted. So the owners of a session are limited.
 */
static int uep_owner_charge(struct uep_session *s)
{
	if (!atomic_add_unless(&s->nr_owners, 1, UEP_MAX_OWNERS)) {
		uep_count_refusal(s, UEP_REFUSED_SESSION_OBJECTS);
		return -EDQUOT;
	}
	uep_add_files(s, 1);
	return 0;
}

static void uep_owner_uncharge(struct uep_session *s)
{
	uep_uncharge_files(s, 1);
	atomic_dec(&s->nr_owners);
}

/* @charged: session that the owner's file is charged to, or NULL */
struct uep_owner *uep_owner_create(struct uep_session *charged)
{
	struct uep_owner *owner;
	int ret;

	ret = charged ? uep_owner_charge(charged) : 0;
	if (ret)
		return ERR_PTR(ret);
	owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);
	ret = -ENOMEM;
	if (!owner)
		goto err_charge;
	ret = percpu_ref_init(&owner->calls, uep_owner_quiet, 0, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_free;
	kref_init(&owner->ref);
	atomic_set(&owner->files, 1);
	init_completion(&owner->quiet);
	spin_lock_init(&owner->lock);
	if (charged)
		uep_session_get(charged);
	owner->charged = charged;
	return owner;

err_free:
	kfree(owner);
err_charge:
	if (charged)
		uep_owner_uncharge(charged);
	return ERR_PTR(ret);
}

/* The owner's file is closed. Files of its queues may be open still. */
void uep_owner_end_charge(struct uep_owner *owner)
{
	struct uep_session *s = xchg(&owner->charged, NULL);

	if (!s)
		return;
	uep_owner_uncharge(s);
	uep_session_put(s);
}

static void uep_owner_free(struct kref *ref)
{
	struct uep_owner *owner = container_of(ref, struct uep_owner, ref);

	/* No file, so no call, is left, but percpu_ref may be counting still. */
	if (atomic_read(&owner->ended))
		wait_for_completion(&owner->quiet);
	percpu_ref_exit(&owner->calls);
	uep_owner_end_charge(owner);
	kfree(owner);
}

/* May sleep. */
void uep_owner_put(struct uep_owner *owner)
{
	kref_put(&owner->ref, uep_owner_free);
}

/* Returns the session with a reference, or NULL if another owner has taken it. */
struct uep_session *uep_owner_session(struct uep_owner *owner)
{
	struct uep_session *s;

	spin_lock(&owner->lock);
	s = owner->session;
	if (s)
		uep_session_get(s);
	spin_unlock(&owner->lock);
	return s;
}

/* Takes the session with the owner's reference, or NULL, away from the owner. */
struct uep_session *uep_owner_take_session(struct uep_owner *owner)
{
	struct uep_session *s;

	spin_lock(&owner->lock);
	s = owner->session;
	owner->session = NULL;
	spin_unlock(&owner->lock);
	return s;
}

/* No call begins any more. Those that wait have to be woken. */
void uep_owner_end(struct uep_owner *owner)
{
	if (!atomic_xchg(&owner->ended, 1))
		percpu_ref_kill(&owner->calls);
}
