// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handle table and the life of objects.
 */
#include <linux/slab.h>

#include "core.h"

/**
 * uep_obj_alloc - allocate an object and charge it to the session's quota
 * @s: session
 * @type: type
 * @size: of the structure, which begins with a struct uep_obj
 * @queue_bytes: memory of its queues
 *
 * The caller owns the reference until it gives it to the handle table with
 * uep_cmd_add_obj().
 *
 * Return: zeroed object, or ERR_PTR: -EDQUOT, -ENOMEM
 */
void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type,
		    size_t size, u64 queue_bytes)
{
	struct uep_obj *obj;
	int ret;

	ret = uep_charge(s, queue_bytes);
	if (ret)
		return ERR_PTR(ret);
	obj = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!obj) {
		uep_uncharge(s, queue_bytes);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&obj->ref);
	atomic_set(&obj->users, 0);
	obj->type = type;
	obj->queue_bytes = queue_bytes;
	obj->session = s;
	uep_session_get(s);
	return obj;
}

void uep_obj_get(struct uep_obj *obj)
{
	kref_get(&obj->ref);
}

static void uep_obj_release(struct kref *ref)
{
	struct uep_obj *obj = container_of(ref, struct uep_obj, ref);
	struct uep_session *s = obj->session;

	uep_uncharge(s, obj->queue_bytes);
	obj->type->free(obj);
	uep_session_put(s);
}

/* May sleep. */
void uep_obj_put(struct uep_obj *obj)
{
	kref_put(&obj->ref, uep_obj_release);
}

/* Returns the object with a reference, or NULL. */
struct uep_obj *uep_obj_lookup(struct uep_session *s, u32 handle,
			       enum rdma_ep_obj_type type)
{
	struct uep_obj *obj;

	rcu_read_lock();
	obj = xa_load(&s->objs, handle);
	if (obj && (obj->type->type != type ||
		    !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/* Makes the caller's object depend on @obj, unless that is being destroyed. */
bool uep_obj_hold(struct uep_obj *obj)
{
	if (!atomic_inc_unless_negative(&obj->users))
		return false;
	uep_obj_get(obj);
	return true;
}

/* The two halves of the reverse: first no longer depend, later let go. */
void uep_obj_unuse(struct uep_obj *obj)
{
	atomic_dec(&obj->users);
}

void uep_obj_unhold(struct uep_obj *obj)
{
	uep_obj_unuse(obj);
	uep_obj_put(obj);
}

/* Lookup and hold. */
struct uep_obj *uep_obj_use(struct uep_session *s, u32 handle,
			    enum rdma_ep_obj_type type)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, type);
	bool held;

	if (!obj)
		return NULL;
	held = uep_obj_hold(obj);
	uep_obj_put(obj);
	return held ? obj : NULL;
}

/*
 * Gives the object a handle that does not work yet. Not one that has been freed
 * just now: who still uses that is to be told, not to get another object.
 */
int uep_obj_reserve(struct uep_obj *obj)
{
	struct uep_session *s = obj->session;
	int ret = xa_alloc_cyclic(&s->objs, &obj->handle, NULL,
				  XA_LIMIT(1, S32_MAX), &s->next_handle,
				  GFP_KERNEL_ACCOUNT);

	return ret < 0 ? ret : 0;
}

/* The place is reserved, so this can not fail. */
void uep_obj_publish(struct uep_obj *obj)
{
	xa_store(&obj->session->objs, obj->handle, obj, 0);
}

/* Has a destroyer claimed it? */
bool uep_obj_ended(struct uep_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

/*
 * An object without hardware has lost it with its device, unless somebody has
 * destroyed the object while the caller was about to use it.
 */
int uep_obj_error(struct uep_obj *obj, int ret)
{
	return ret == -EIO && uep_obj_ended(obj) ? -ENOENT : ret;
}

/* The caller is the destroyer from here on; false: it is in use, or has a destroyer. */
bool uep_obj_claim(struct uep_obj *obj)
{
	return atomic_cmpxchg(&obj->users, 0, -1) == 0;
}

void uep_obj_unclaimed(struct uep_obj *obj)
{
	atomic_set(&obj->users, 0);
}

/* It is not destroyed after all: the task is killed. */
void uep_obj_unclaim(struct uep_obj *obj)
{
	if (obj->type->unclaim)
		obj->type->unclaim(obj);
	else
		uep_obj_unclaimed(obj);
}

/*
 * After uep_obj_claim(), before uep_obj_end(), in which nothing can be interrupted. -EINTR:
 * the object has been let go of again.
 */
int uep_obj_settle(struct uep_obj *obj)
{
	int ret = obj->type->settle ? obj->type->settle(obj) : 0;

	if (ret)
		uep_obj_unclaim(obj);
	return ret;
}

/* Destroys an object that the caller has claimed. */
void uep_obj_end(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	if (obj->handle)
		xa_erase(&obj->session->objs, obj->handle);
	obj->type->destroy(obj, out);
	/* The object itself may be kept a while, by its id for example. */
	uep_uncharge_queues(obj->session, obj->queue_bytes);
	obj->queue_bytes = 0;
	uep_obj_put(obj);
}

/*
 * Ends an object whose creation failed or that has not been published, or in
 * the tear-down of its session: nobody else can claim it, nothing depends on it.
 */
void uep_obj_discard(struct uep_obj *obj)
{
	struct rdma_ep_destroy out;

	WARN_ON_ONCE(!uep_obj_claim(obj));
	uep_obj_end(obj, &out);
}
