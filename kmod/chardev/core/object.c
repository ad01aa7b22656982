// SPDX-License-Identifier: GPL-2.0-only
/* The handle table and the life of objects. */
#include <linux/slab.h>

#include "core.h"

static struct ep_res *uep_obj_res(struct uep_obj *obj)
{
	return (void *)obj + obj->type->res;
}

/*
 * Allocates a zeroed object, a structure of @size bytes that begins with a struct uep_obj, and
 * charges it and @queue_bytes to the session's quota. The caller owns the reference until
 * uep_cmd_add_obj() gives it to the handle table. ERR_PTR: -EDQUOT, -ENOMEM
 */
void *uep_obj_alloc(struct uep_session *s, const struct uep_obj_type *type, size_t size,
		    u64 queue_bytes)
{
	struct uep_obj *obj;
	int ret;

	ret = uep_charge(s, 1, queue_bytes);
	if (ret)
		return ERR_PTR(ret);
	obj = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!obj) {
		uep_uncharge(s, 1, queue_bytes);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&obj->ref);
	obj->type = type;
	obj->queue_bytes = queue_bytes;
	obj->session = s;
	if (type->res)
		uep_obj_res(obj)->owner = obj;
	uep_session_get(s);
	return obj;
}

/* Allocates an object that depends on @parent. -ENOENT if a destroyer has claimed that. */
void *uep_obj_alloc_in(struct uep_obj *parent, const struct uep_obj_type *type, size_t size,
		       u64 queue_bytes)
{
	struct uep_obj *obj;

	if (!uep_obj_add_user(parent))
		return ERR_PTR(-ENOENT);
	obj = uep_obj_alloc(parent->session, type, size, queue_bytes);
	if (IS_ERR(obj)) {
		uep_obj_del_user(parent);
		return obj;
	}
	obj->uses[obj->nr_uses++] = parent;
	obj->dev = parent->dev;
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
	int i;

	uep_uncharge(s, 1, obj->queue_bytes);
	if (obj->type->free)
		obj->type->free(obj);
	if (obj->type->res)
		ep_res_fini(uep_obj_res(obj));
	for (i = obj->nr_uses; i--;)
		uep_obj_put(obj->uses[i]);
	kfree(obj->note);
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

/*
 * Puts the object of a command, whose result is @ret, and returns the errno for the user:
 * -EIO of an object without hardware means that its device has been removed, unless another
 * task has destroyed the object after the lookup.
 */
int uep_obj_done(struct uep_obj *obj, int ret)
{
	if (ret == -EIO && uep_obj_claimed(obj))
		ret = -ENOENT;
	uep_obj_put(obj);
	return ret;
}

/* As uep_obj_enter(). -EINVAL if the object is not on @dev, which may be NULL: any */
void *uep_obj_enter_on(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type,
		       const struct ep_dev *dev, int *srcu)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, type);
	int ret;

	if (!obj)
		return ERR_PTR(-ENOENT);
	ret = ep_dev_enter(obj->dev, srcu);
	if (ret)
		return ERR_PTR(uep_obj_done(obj, ret));
	if (dev && obj->dev != dev)
		return ERR_PTR(uep_obj_exit(obj, *srcu, -EINVAL));
	return obj;
}

int uep_obj_exit(struct uep_obj *obj, int srcu, int ret)
{
	ep_dev_exit(obj->dev, srcu);
	return uep_obj_done(obj, ret);
}

/* Counts a user of @obj, with a reference, unless a destroyer has claimed @obj. */
bool uep_obj_add_user(struct uep_obj *obj)
{
	if (!atomic_inc_unless_negative(&obj->users))
		return false;
	uep_obj_get(obj);
	return true;
}

void uep_obj_del_user(struct uep_obj *obj)
{
	atomic_dec(&obj->users);
	uep_obj_put(obj);
}

/* Looks the object up and counts the caller as its user. Or NULL */
void *uep_obj_use(struct uep_session *s, u32 handle, enum rdma_ep_obj_type type)
{
	struct uep_obj *obj = uep_obj_lookup(s, handle, type);
	bool added;

	if (!obj)
		return NULL;
	added = uep_obj_add_user(obj);
	uep_obj_put(obj);
	return added ? obj : NULL;
}

/* Makes @user depend on the object, which must be on the same device. Or ERR_PTR */
void *uep_obj_use_for(struct uep_obj *user, u32 handle, enum rdma_ep_obj_type type)
{
	struct uep_obj *obj = uep_obj_use(user->session, handle, type);

	if (!obj)
		return ERR_PTR(-ENOENT);
	if (obj->dev != user->dev) {
		uep_obj_del_user(obj);
		return ERR_PTR(-EINVAL);
	}
	user->uses[user->nr_uses++] = obj;
	return obj;
}

/* Makes @obj depend on @used, unless a destroyer has claimed that. */
bool uep_obj_depend(struct uep_obj *obj, struct uep_obj *used)
{
	if (!uep_obj_add_user(used))
		return false;
	obj->uses[obj->nr_uses++] = used;
	return true;
}

/*
 * Reserves a handle, which lookups do not find yet. Handles are not used again soon, so that
 * a late user of a destroyed object gets -ENOENT, and not another object.
 */
int uep_obj_reserve(struct uep_obj *obj)
{
	struct uep_session *s = obj->session;
	int ret = xa_alloc_cyclic(&s->objs, &obj->handle, NULL,
				  XA_LIMIT(1, S32_MAX), &s->next_handle, GFP_KERNEL_ACCOUNT);

	return ret < 0 ? ret : 0;
}

/* The entry is reserved, so xa_store() cannot fail. */
void uep_obj_publish(struct uep_obj *obj)
{
	xa_store(&obj->session->objs, obj->handle, obj, 0);
}

/* Copies the note of another object to a new one. */
int uep_obj_copy_note(struct uep_obj *to, struct uep_obj *from)
{
	u8 *note;

	if (!READ_ONCE(from->note))
		return 0;
	note = kmalloc(RDMA_EP_NOTE_BYTES, GFP_KERNEL_ACCOUNT);
	if (!note)
		return -ENOMEM;
	spin_lock(&from->session->note_lock);
	memcpy(note, from->note, RDMA_EP_NOTE_BYTES);
	spin_unlock(&from->session->note_lock);
	to->note = note;
	return 0;
}

/* Makes the caller the destroyer. False: the object is in use or has been claimed. */
bool uep_obj_claim(struct uep_obj *obj)
{
	return atomic_cmpxchg(&obj->users, 0, -1) == 0;
}

void uep_obj_unclaim(struct uep_obj *obj)
{
	if (obj->type->unclaim)
		obj->type->unclaim(obj);
	else
		uep_obj_drop_claim(obj);
}

/*
 * Waits, between uep_obj_claim() and uep_obj_end(), as uep_obj_end() cannot be interrupted.
 * -EINTR: the claim has been dropped
 */
int uep_obj_settle(struct uep_obj *obj)
{
	int ret = obj->type->settle ? obj->type->settle(obj) : 0;

	if (ret)
		uep_obj_unclaim(obj);
	return ret;
}

/* Destroys an object that the caller has claimed. */
void uep_obj_end(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
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
	/* References, its id's for example, may keep the object itself for a while. */
	if (obj->queue_bytes)
		uep_uncharge(obj->session, 0, obj->queue_bytes);
	obj->queue_bytes = 0;
	uep_obj_put(obj);
}

/* -EBUSY: in use; -ENOENT: another task destroys it; -EINTR: the task is killed */
int uep_obj_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	int ret;

	if (!uep_obj_claim(obj))
		return uep_obj_claimed(obj) ? -ENOENT : -EBUSY;
	ret = uep_obj_settle(obj);
	if (!ret)
		uep_obj_end(obj, out);
	return ret;
}

/*
 * Destroys an object that has no user and no other destroyer: its creation failed, it has
 * not been published, or its session ends.
 */
void uep_obj_discard(struct uep_obj *obj)
{
	struct rdma_ep_cmd_destroy out;

	WARN_ON_ONCE(!uep_obj_claim(obj));
	uep_obj_end(obj, &out);
}

/* Calls @fn, which does not sleep, for each published object. RCU keeps the object's memory. */
void uep_each_obj(struct uep_session *s, void (*fn)(struct uep_obj *obj, void *arg), void *arg)
{
	unsigned long handle;
	struct uep_obj *obj;
	u32 n = 0;

	rcu_read_lock();
	xa_for_each(&s->objs, handle, obj) {
		fn(obj, arg);
		if (++n % UEP_RCU_BATCH)
			continue;
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
	rcu_read_unlock();
}
