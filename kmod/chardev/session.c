// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of sessions, and DESTROY.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "../compat.h"
#include "chardev.h"
#include "cm/cm.h"
#include "trace.h"
#include "verbs/verbs.h"

/*
 * Users before what they use. An id leaves all its groups in one go, a membership looks for
 * its own.
 */
static const enum rdma_ep_obj_type uep_end_order[] = {
	RDMA_EP_OBJ_ID, RDMA_EP_OBJ_MCAST, RDMA_EP_OBJ_QP, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_CQ,
	RDMA_EP_OBJ_MR, RDMA_EP_OBJ_AH, RDMA_EP_OBJ_XRCD, RDMA_EP_OBJ_PD, RDMA_EP_OBJ_CTX,
};

/* Has the object been made in the context? NULL: in any. */
static bool uep_obj_is_in(const struct uep_obj *obj, const struct uep_ctx *ctx)
{
	while (ctx && obj && obj != &ctx->obj)
		obj = obj->uses[0];
	return obj;
}

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
		if (uep_obj_is_in(obj, ctx))
			ep_qp_stop(&container_of(obj, struct uep_qp, obj)->qp, &waited);
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
	for (i = 0; uep_end_order[i] != RDMA_EP_OBJ_CTX; i++) {
		xa_for_each(&s->objs, handle, entry) {
			obj = uep_obj_lookup(s, handle, uep_end_order[i]);
			if (!obj)
				continue;
			if (uep_obj_is_in(obj, ctx) && uep_obj_claim(obj)) {
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

static void uep_session_end_type(struct uep_session *s, enum rdma_ep_obj_type type)
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
	struct uep_session *s = container_of(work, struct uep_session, release_work);
	struct uep_ctx *ctx;
	unsigned long i;
	int t;

	/* From here on no channel ends ids. */
	down_write(&s->ending);
	up_write(&s->ending);
	uep_session_refuse_requests(s);
	uep_stop_qps(s, NULL);
	uep_idle_flush(s);
	for (t = 0; t < ARRAY_SIZE(uep_end_order); t++) {
		if (uep_end_order[t] == RDMA_EP_OBJ_PD)
			xa_for_each(&s->default_ctxs, i, ctx)
				uep_obj_unhold(&ctx->default_pd->obj);
		uep_session_end_type(s, uep_end_order[t]);
	}
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
	INIT_LIST_HEAD(&s->queues);
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

/* The last reference to the file is gone. */
void uep_session_release(struct uep_session *s)
{
	struct uep_queue *q;

	trace_rdma_ep_session_close(s);
	spin_lock(&s->ev_lock);
	s->dead = true;
	list_for_each_entry(q, &s->queues, entry)
		uep_queue_kill(q);
	spin_unlock(&s->ev_lock);
	uep_session_get(s);
	uep_session_run(s, &s->release_work);
	uep_session_put(s);
}
