// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handle table and the life of objects.
 */
#include <linux/slab.h>

#include "core.h"

static struct ep_res *uep_obj_res(struct uep_obj *obj)
{
	return (void *)obj + obj->type->res;
}

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
void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type, size_t size,
		    u64 queue_bytes)
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
	if (type->res)
		uep_obj_res(obj)->owner = obj;
	uep_session_get(s);
	return obj;
}

/* The same, of an object that depends on @parent. -ENOENT if that is being destroyed. */
void *uep_obj_alloc_in(struct uep_obj *parent, const struct uep_obj_type *type, size_t size,
		       u64 queue_bytes)
{
	struct uep_obj *obj;

	if (!uep_obj_hold(parent))
		return ERR_PTR(-ENOENT);
	obj = uep_obj_alloc(parent->session, type, size, queue_bytes);
	if (IS_ERR(obj)) {
		uep_obj_unhold(parent);
		return obj;
	}
	obj->uses[obj->nr_uses++] = parent;
	obj->dev = parent->dev;
	return obj;
}

/* Makes @obj depend on one more object, unless that is being destroyed. */
bool uep_obj_depend(struct uep_obj *obj, struct uep_obj *used)
{
	if (!uep_obj_hold(used))
		return false;
	obj->uses[obj->nr_uses++] = used;
	return true;
}

void uep_obj_get(struct uep_obj *obj)
{
	kref_get(&obj->ref);
}

static void uep_obj_release(struct kref *ref)
{
	struct uep_obj *obj = container_of(ref, struct uep_obj, ref);
	struct uep_session *s = obj->session;
	int i;

	uep_uncharge(s, obj->queue_bytes);
	if (obj->type->free)
		obj->type->free(obj);
	if (obj->type->res)
		ep_res_fini(uep_obj_res(obj));
	for (i = obj->nr_uses; i--;)
		uep_obj_put(obj->uses[i]);
	kfree_rcu(obj, rcu);
	uep_session_put(s);
}

/* May sleep. */
void uep_obj_put(struct uep_obj *obj)
{
	kref_put(&obj->ref, uep_obj_release);
}

void uep_obj_get_res(struct ep_res *res)
{
	uep_obj_get(res->owner);
}

void uep_obj_put_res(struct ep_res *res)
{
	uep_obj_put(res->owner);
}

const struct ep_res_ops uep_obj_res_ops = {
	.get = uep_obj_get_res,
	.put = uep_obj_put_res,
};

/* Returns the object with a reference, or NULL. */
void *uep_obj_lookup(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type)
{
	struct uep_obj *obj;

	rcu_read_lock();
	obj = xa_load(&s->objs, handle);
	if (obj && (obj->type->type != type || !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/* Has a destroyer claimed it? */
bool uep_obj_ended(struct uep_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

/*
 * An object without hardware has lost it with its device, unless another task has
 * destroyed the object while the caller was about to use it.
 */
int uep_obj_error(struct uep_obj *obj, int ret)
{
	return ret == -EIO && uep_obj_ended(obj) ? -ENOENT : ret;
}

/* Puts the object of a command. Returns what the command returns. */
int uep_obj_done(struct uep_obj *obj, int ret)
{
	ret = uep_obj_error(obj, ret);
	uep_obj_put(obj);
	return ret;
}

/* As uep_obj_lookup(), and inside ep_dev_enter() until uep_obj_exit(); or ERR_PTR. */
void *uep_obj_enter(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type, int *srcu)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, type);
	int ret;

	if (!obj)
		return ERR_PTR(-ENOENT);
	ret = ep_dev_enter(obj->dev, srcu);
	return ret ? ERR_PTR(uep_obj_done(obj, ret)) : obj;
}

int uep_obj_exit(struct uep_obj *obj, int srcu, int ret)
{
	ep_dev_exit(obj->dev, srcu);
	return uep_obj_done(obj, ret);
}

/* As uep_obj_enter(), of an object that must be on @dev, unless that is NULL: else -EINVAL. */
void *uep_obj_enter_on(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type,
		       const struct ep_dev *dev, int *srcu)
{
	struct uep_obj *obj = uep_obj_enter(s, handle, type, srcu);

	if (!IS_ERR(obj) && dev && obj->dev != dev)
		return ERR_PTR(uep_obj_exit(obj, *srcu, -EINVAL));
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

void uep_obj_unhold(struct uep_obj *obj)
{
	atomic_dec(&obj->users);
	uep_obj_put(obj);
}

/* Lookup and hold. */
void *uep_obj_use(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, type);
	bool held;

	if (!obj)
		return NULL;
	held = uep_obj_hold(obj);
	uep_obj_put(obj);
	return held ? obj : NULL;
}

/* The object that a command names, for @user to depend on; on the same device. Or ERR_PTR. */
void *uep_obj_use_for(struct uep_obj *user, u32 handle, enum rdma_ep_obj_type type)
{
	struct uep_obj *obj = uep_obj_use(user->session, handle, type);

	if (!obj)
		return ERR_PTR(-ENOENT);
	if (obj->dev != user->dev) {
		uep_obj_unhold(obj);
		return ERR_PTR(-EINVAL);
	}
	user->uses[user->nr_uses++] = obj;
	return obj;
}

/*
 * Gives the object a handle that does not work yet. Not one that has been freed
 * just now: who still uses that is to be told, not to get another object.
 */
int uep_obj_reserve(struct uep_obj *obj)
{
	struct uep_session *s = obj->session;
	int ret = xa_alloc_cyclic(&s->objs, &obj->handle, NULL,
				  XA_LIMIT(1, S32_MAX), &s->next_handle, GFP_KERNEL_ACCOUNT);

	return ret < 0 ? ret : 0;
}

/* The place is reserved, so this can not fail. */
void uep_obj_publish(struct uep_obj *obj)
{
	xa_store(&obj->session->objs, obj->handle, obj, 0);
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
	int i;

	if (obj->handle)
		xa_erase(&obj->session->objs, obj->handle);
	if (obj->type->destroy)
		obj->type->destroy(obj, out);
	if (obj->type->res)
		ep_res_destroy(uep_obj_res(obj));
	for (i = obj->nr_uses; i--;)
		atomic_dec(&obj->uses[i]->users);
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
