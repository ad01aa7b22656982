// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions, handles and the life of objects.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "../compat.h"
#include "cm.h"
#include "trace.h"
#include "verbs.h"

/*
 * Tears sessions down. A file is closed where the task may have lost already what
 * makes it a task (memory, namespaces), so the work is done here. Not
 * WQ_MEM_RECLAIM: it flushes queues of the CM that are not.
 */
static struct workqueue_struct *uep_session_wq;

/* ------------------------------------------------------------------ */
/* Objects                                                            */
/* ------------------------------------------------------------------ */

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

/* Users before what they use. */
static const enum rdma_ep_obj_type uep_verbs_types[] = {
	RDMA_EP_OBJ_QP, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_CQ, RDMA_EP_OBJ_MR,
	RDMA_EP_OBJ_AH, RDMA_EP_OBJ_XRCD, RDMA_EP_OBJ_PD,
};

/*
 * Before QPs of the session are destroyed: of a context, or, NULL, all. The senders of
 * what the user has got are answered first. See ep_qp_stop(). (Nothing uses a QP,
 * so what is stopped is destroyed.)
 */
static void uep_stop_qps(struct uep_session *s, const struct uep_ctx *ctx)
{
	struct uep_obj *obj;
	unsigned long handle;
	bool waited = false;
	void *entry;

	if (xa_empty(&s->qps))
		return;
	xa_for_each(&s->objs, handle, entry) {
		obj = uep_obj_lookup(s, handle, RDMA_EP_OBJ_QP);
		if (!obj)
			continue;
		if (!ctx || uep_obj_ctx(obj) == ctx)
			ep_qp_stop(&container_of(obj, struct uep_qp, obj)->qp,
				   &waited);
		uep_obj_put(obj);
		cond_resched();
	}
}

/*
 * Destroys what has been made in a context. Other tasks may use the session:
 * what they are just making or using elsewhere stays.
 */
static int uep_destroy_contents(struct uep_session *s, struct uep_ctx *ctx)
{
	struct rdma_ep_destroy out;
	struct uep_obj *obj;
	unsigned long handle;
	void *entry;
	int i, ret = 0;

	uep_stop_qps(s, ctx);
	for (i = 0; i < ARRAY_SIZE(uep_verbs_types); i++) {
		xa_for_each(&s->objs, handle, entry) {
			obj = uep_obj_lookup(s, handle, uep_verbs_types[i]);
			if (!obj)
				continue;
			if (uep_obj_ctx(obj) == ctx && uep_obj_claim(obj)) {
				ret = uep_obj_settle(obj);
				if (!ret)
					uep_obj_end(obj, &out);
			}
			uep_obj_put(obj);
			if (ret)
				return ret;
			cond_resched();
		}
	}
	return 0;
}

static u32 uep_destroy_flags(u32 type)
{
	switch (type) {
	case RDMA_EP_OBJ_QP:
		return RDMA_EP_DESTROY_DETACH;
	case RDMA_EP_OBJ_CTX:
		return RDMA_EP_DESTROY_CONTENTS;
	default:
		return 0;
	}
}

int uep_destroy(struct uep_cmd *cmd)
{
	struct rdma_ep_destroy *arg = cmd->arg;
	struct uep_obj *obj;
	struct uep_ctx *ctx;
	int ret = 0;

	if (arg->type < RDMA_EP_OBJ_CTX || arg->type > RDMA_EP_OBJ_XRCD)
		return -EINVAL;
	if (arg->flags & ~uep_destroy_flags(arg->type))
		return -EINVAL;
	arg->events_reported = 0;
	arg->comp_events_reported = 0;
	obj = uep_obj_lookup(cmd->s, arg->handle, arg->type);
	if (!obj)
		return -ENOENT;
	if (arg->flags & RDMA_EP_DESTROY_CONTENTS) {
		ctx = container_of(obj, struct uep_ctx, obj);
		if (!ctx->default_pd)
			ret = uep_destroy_contents(cmd->s, ctx);
	}
	if (ret)
		goto out;
	ret = -EBUSY;
	if (!arg->flags && obj->type->busy && obj->type->busy(obj))
		goto out;
	if (!uep_obj_claim(obj)) {
		ret = uep_obj_ended(obj) ? -ENOENT : -EBUSY;
		goto out;
	}
	ret = uep_obj_settle(obj);
	if (!ret)
		uep_obj_end(obj, arg);
out:
	uep_obj_put(obj);
	return ret;
}

/* ------------------------------------------------------------------ */
/* Sessions                                                           */
/* ------------------------------------------------------------------ */

static void uep_session_free(struct kref *ref)
{
	struct uep_session *s = container_of(ref, struct uep_session, ref);

	xa_destroy(&s->objs);
	xa_destroy(&s->qps);
	xa_destroy(&s->default_ctxs);
	uep_rings_cleanup(s);
	uep_uncharge_file(s->user);
	uep_user_put(s->user);
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

void uep_wait_add(struct uep_session *s, struct uep_wait *wait)
{
	init_waitqueue_head(&wait->head);
	spin_lock(&s->ev_lock);
	list_add(&wait->entry, &s->waits);
	spin_unlock(&s->ev_lock);
}

void uep_wait_del(struct uep_session *s, struct uep_wait *wait)
{
	spin_lock(&s->ev_lock);
	list_del(&wait->entry);
	spin_unlock(&s->ev_lock);
}

static void uep_session_end_type(struct uep_session *s,
				 enum rdma_ep_obj_type type)
{
	struct uep_obj *obj;
	unsigned long handle;

	xa_for_each(&s->objs, handle, obj) {
		if (obj->type->type == type)
			uep_obj_discard(obj);
		cond_resched();
	}
}

/*
 * On iWARP an id that waits for an answer can not be destroyed before it has one,
 * or the driver has given up after 10 s. The request may be in the same session.
 */
static void uep_session_refuse_requests(struct uep_session *s)
{
	struct uep_obj *obj;
	unsigned long handle;

	xa_for_each(&s->objs, handle, obj) {
		if (obj->type->type == RDMA_EP_OBJ_ID)
			uep_id_refuse(obj);
		cond_resched();
	}
}

/*
 * The file is gone, so no command runs and none will. Readers of channels may,
 * but find the session dead.
 */
static void uep_session_release_work(struct work_struct *work)
{
	struct uep_session *s =
		container_of(work, struct uep_session, release_work);
	struct uep_ctx *ctx;
	unsigned long i;

	/* From here on no channel ends ids. */
	down_write(&s->ending);
	up_write(&s->ending);
	uep_session_refuse_requests(s);
	uep_stop_qps(s, NULL);
	uep_idle_flush(s);
	/* An id leaves all its groups in one go, a membership looks for its own. */
	uep_session_end_type(s, RDMA_EP_OBJ_ID);
	uep_session_end_type(s, RDMA_EP_OBJ_MCAST);
	uep_session_end_type(s, RDMA_EP_OBJ_QP);
	uep_session_end_type(s, RDMA_EP_OBJ_SRQ);
	uep_session_end_type(s, RDMA_EP_OBJ_CQ);
	uep_session_end_type(s, RDMA_EP_OBJ_MR);
	uep_session_end_type(s, RDMA_EP_OBJ_AH);
	uep_session_end_type(s, RDMA_EP_OBJ_XRCD);
	xa_for_each(&s->default_ctxs, i, ctx)
		uep_obj_unhold(&ctx->default_pd->obj);
	uep_session_end_type(s, RDMA_EP_OBJ_PD);
	uep_session_end_type(s, RDMA_EP_OBJ_CTX);
	uep_session_put(s);
}

/* So many there have been. */
static atomic64_t uep_sessions;

struct uep_session *uep_session_create(void)
{
	struct uep_session *s;
	int ret = -ENOMEM;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->user = uep_user_get(current_euid());
	if (!s->user)
		goto err_free;
	ret = uep_charge_file(s->user);
	if (ret)
		goto err_user;
	kref_init(&s->ref);
	s->number = atomic64_inc_return(&uep_sessions);
	xa_init_flags(&s->objs, XA_FLAGS_ALLOC1);
	xa_init(&s->qps);
	xa_init(&s->default_ctxs);
	spin_lock_init(&s->ev_lock);
	INIT_LIST_HEAD(&s->waits);
	INIT_LIST_HEAD(&s->idle);
	uep_rings_init(s);
	mutex_init(&s->ctx_lock);
	init_rwsem(&s->ending);
	INIT_WORK(&s->release_work, uep_session_release_work);
	trace_rdma_ep_session_open(s);
	return s;

err_user:
	uep_user_put(s->user);
err_free:
	kfree(s);
	return ERR_PTR(ret);
}

/*
 * Executes the work of a file that has been closed. Ports and memory are free again when
 * the last close() or munmap() returns, or when the parent learns that the task is dead.
 * That may take long, and another user's task may only have been sent the file, or have
 * looked at it. (Not in the task itself: a driver may take its signals away.)
 * The caller keeps the work's memory. Returns false if it was queued already.
 */
bool uep_session_run(struct uep_session *s, struct work_struct *work)
{
	bool wait = !(current->flags & PF_KTHREAD) &&
		    uep_user_is_current(s->user);
	bool queued = queue_work(uep_session_wq, work);

	if (wait)
		flush_work(work);
	return queued;
}

/* The last reference to the file is gone. */
void uep_session_release(struct uep_session *s)
{
	struct uep_wait *w;

	trace_rdma_ep_session_close(s);
	spin_lock(&s->ev_lock);
	s->dead = true;
	list_for_each_entry(w, &s->waits, entry)
		wake_up_poll(&w->head, EPOLLERR | EPOLLHUP);
	spin_unlock(&s->ev_lock);
	uep_session_get(s);
	uep_session_run(s, &s->release_work);
	uep_session_put(s);
}

int uep_session_init(void)
{
	/* Whoever waits for a device or a peer is to hold up nobody else. */
	uep_session_wq = alloc_workqueue("rdma_ep_session", WQ_UNBOUND,
					 WQ_MAX_ACTIVE);
	return uep_session_wq ? 0 : -ENOMEM;
}

void uep_session_cleanup(void)
{
	destroy_workqueue(uep_session_wq);
}
