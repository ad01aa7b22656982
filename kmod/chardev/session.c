// SPDX-License-Identifier: GPL-2.0-only
/* The life of sessions, and DESTROY. */
#include "chardev.h"
#include "cm/cm.h"
#include "trace.h"
#include "verbs/verbs.h"

/*
 * Users before what they use. An id leaves all of its groups at once, which is faster than
 * the end of each membership.
 */
static const enum rdma_ep_obj_type uep_end_order[] = {
	RDMA_EP_OBJ_ID, RDMA_EP_OBJ_MCAST, RDMA_EP_OBJ_QP, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_CQ,
	RDMA_EP_OBJ_MR, RDMA_EP_OBJ_AH, RDMA_EP_OBJ_XRCD, RDMA_EP_OBJ_PD, RDMA_EP_OBJ_CTX,
};

/* The context of the object, or the object itself if it is one; NULL: none, as of an id */
struct uep_ctx *uep_obj_ctx(struct uep_obj *obj)
{
	while (obj && obj->type->type != RDMA_EP_OBJ_CTX)
		obj = obj->uses[0];
	return obj ? container_of(obj, struct uep_ctx, obj) : NULL;
}

/*
 * The published object of the next handle after *@handle that is of the type (0: any) and in the
 * context (NULL: any), with a reference, or NULL. Sets *@handle to its handle. May sleep
 */
struct uep_obj *uep_next_obj(struct uep_session *s, unsigned long *handle,
			     enum rdma_ep_obj_type type, const struct uep_ctx *ctx)
{
	struct uep_obj *obj;
	bool found;

	do {
		cond_resched();
		rcu_read_lock();
		obj = xa_find_after(&s->objs, handle, U32_MAX, XA_PRESENT);
		found = !obj || ((!type || obj->type->type == type) &&
				 (!ctx || uep_obj_ctx(obj) == ctx) &&
				 kref_get_unless_zero(&obj->ref));
		rcu_read_unlock();
	} while (!found);
	return obj;
}

/*
 * Before QPs are destroyed: lets the driver answer the senders of received messages. See
 * ep_qp_stop(). No object depends on a QP, so each of these QPs is destroyed next.
 */
static void uep_stop_qps(struct uep_session *s, const struct uep_ctx *ctx)
{
	unsigned long handle;
	struct uep_obj *obj;
	bool waited = false;

	if (xa_empty(&s->qps))
		return;
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_QP, ctx)
		ep_qp_stop(&container_of(obj, struct uep_qp, obj)->qp, &waited);
}

/*
 * Destroys the objects in a context. Other tasks may use the session: objects that they
 * are creating, or use in other contexts, stay.
 */
static int uep_destroy_contents(struct uep_session *s, struct uep_ctx *ctx)
{
	struct rdma_ep_cmd_destroy out;
	unsigned long handle;
	struct uep_obj *obj;
	int i, ret;

	uep_stop_qps(s, ctx);
	for (i = 0; uep_end_order[i] != RDMA_EP_OBJ_CTX; i++)
		uep_for_each_obj(obj, s, handle, uep_end_order[i], ctx) {
			ret = uep_obj_destroy(obj, &out);
			if (ret && ret != -EBUSY && ret != -ENOENT) {
				uep_obj_put(obj);
				return ret;
			}
		}
	return 0;
}

/* By type */
static const u32 uep_destroy_flags[UEP_NR_OBJ_TYPES] = {
	[RDMA_EP_OBJ_QP] = RDMA_EP_DESTROY_DETACH,
	[RDMA_EP_OBJ_CTX] = RDMA_EP_DESTROY_CONTENTS,
};

int uep_destroy(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_destroy *arg = cmd->arg;
	struct uep_obj *obj;
	struct uep_ctx *ctx;
	int ret = 0;

	if (arg->type < RDMA_EP_OBJ_CTX || arg->type > RDMA_EP_OBJ_XRCD ||
	    arg->flags & ~uep_destroy_flags[arg->type])
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
	} else if (!arg->flags && obj->type->busy && obj->type->busy(obj)) {
		ret = -EBUSY;
	}
	if (!ret)
		ret = uep_obj_destroy(obj, arg);
	uep_obj_put(obj);
	return ret;
}

/*
 * The file has been released, so no command runs or will. Readers of channels may run, but
 * find the session dead.
 */
static void uep_session_release_work(struct work_struct *work)
{
	struct uep_session *s = container_of(work, struct uep_session, release_work);
	struct uep_ctx *ctx;
	struct uep_obj *obj;
	unsigned long i;
	int t;

	/* From here on uep_channel_end_work() ends no ids. */
	down_write(&s->ending);
	up_write(&s->ending);
	/*
	 * On iWARP the destruction of a connecting id waits for the peer's answer, or 10 s for
	 * the driver. The request may be in the same session.
	 */
	uep_for_each_obj(obj, s, i, RDMA_EP_OBJ_ID, NULL)
		uep_id_refuse(obj);
	uep_stop_qps(s, NULL);
	uep_idle_flush(s);
	for (t = 0; t < ARRAY_SIZE(uep_end_order); t++) {
		if (uep_end_order[t] == RDMA_EP_OBJ_PD)
			xa_for_each(&s->default_ctxs, i, ctx)
				uep_obj_del_user(&ctx->default_pd->obj);
		uep_for_each_obj(obj, s, i, uep_end_order[t], NULL)
			uep_obj_discard(obj);
	}
	uep_session_put(s);
}

/* Opens a session. Returns its owner, or ERR_PTR */
struct uep_owner *uep_session_open(void)
{
	struct uep_owner *owner = uep_owner_create(NULL);
	struct uep_session *s;

	if (IS_ERR(owner))
		return owner;
	s = uep_session_alloc();
	if (IS_ERR(s)) {
		uep_owner_put(owner);
		return ERR_CAST(s);
	}
	INIT_WORK(&s->release_work, uep_session_release_work);
	trace_rdma_ep_session_open(s);
	owner->session = s;
	return owner;
}

static void uep_session_release(struct uep_session *s)
{
	trace_rdma_ep_session_close(s);
	spin_lock(&s->ev_lock);
	s->dead = true;
	spin_unlock(&s->ev_lock);
	uep_queues_wake(s, true);
	uep_session_get(s);
	uep_session_run(s, &s->release_work);
	uep_session_put(s);
}

/* A file of the owner's is being released. Another owner may have the session. */
void uep_session_close(struct uep_owner *owner)
{
	struct uep_session *s = NULL;

	if (atomic_dec_and_test(&owner->files)) {
		s = uep_owner_take_session(owner);
		uep_owner_end_charge(owner);
	}
	if (s)
		uep_session_release(s);
	uep_owner_put(owner);
}
