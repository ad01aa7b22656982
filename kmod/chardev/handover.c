// SPDX-License-Identifier: GPL-2.0-only
/*
 * EXPORT and ADOPT: the change of a session's owner (core/owner.c). And SET_OBJ and
 * OPEN_QUEUE, with which the next owner makes the objects its own.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "cm/cm.h"
#include "trace.h"
#include "verbs/verbs.h"

/* The longest wait for calls of the previous owner */
#define UEP_QUIET_MS	5000

/*
 * -EINVAL: no event names such an object by its uid. @forget: the owner is a new one, which has
 * read no event
 */
static int uep_obj_set_uid(struct uep_obj *obj, u64 uid, bool forget)
{
	struct uep_mcast *mcast;
	struct uep_srq *srq;
	struct uep_cq *cq;
	struct uep_qp *qp;

	switch (obj->type->type) {
	case RDMA_EP_OBJ_ID:
		uep_id_set_uid(container_of(obj, struct uep_id, obj), NULL, uid, forget);
		return 0;
	case RDMA_EP_OBJ_MCAST:
		mcast = container_of(obj, struct uep_mcast, obj);
		uep_id_set_uid(mcast->id, mcast, uid, forget);
		return 0;
	case RDMA_EP_OBJ_CQ:
		cq = container_of(obj, struct uep_cq, obj);
		if (cq->chan)
			uep_node_set_uid(cq->chan, &cq->comp, uid, forget);
		uep_node_set_uid(cq->ctx->async, &cq->async, uid, forget);
		return 0;
	case RDMA_EP_OBJ_SRQ:
		srq = container_of(obj, struct uep_srq, obj);
		uep_node_set_uid(srq->pd->ctx->async, &srq->async, uid, forget);
		return 0;
	case RDMA_EP_OBJ_QP:
		qp = container_of(obj, struct uep_qp, obj);
		uep_node_set_uid(qp->ctx->async, &qp->async, uid, forget);
		return 0;
	default:
		return -EINVAL;
	}
}

static int uep_obj_set_note(struct uep_obj *obj, const u8 *bytes)
{
	u8 *note = kmemdup(bytes, RDMA_EP_NOTE_BYTES, GFP_KERNEL_ACCOUNT);

	if (!note)
		return -ENOMEM;
	spin_lock(&obj->session->note_lock);
	swap(obj->note, note);
	spin_unlock(&obj->session->note_lock);
	kfree(note);
	return 0;
}

static int uep_obj_set(struct uep_obj *obj, const struct rdma_ep_cmd_set_obj *arg)
{
	int ret = 0;

	if (arg->flags & RDMA_EP_SET_UID)
		ret = uep_obj_set_uid(obj, arg->uid, false);
	if (!ret && (arg->flags & RDMA_EP_SET_NOTE))
		ret = uep_obj_set_note(obj, arg->note);
	if (!ret && (arg->flags & RDMA_EP_SET_COOKIE))
		WRITE_ONCE(obj->cookie, arg->cookie);
	return ret;
}

int uep_set_obj(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_set_obj *arg = cmd->arg;
	struct uep_obj *obj;

	if (!arg->flags || arg->type < RDMA_EP_OBJ_CTX || arg->type > RDMA_EP_OBJ_XRCD ||
	    (arg->uid && !(arg->flags & RDMA_EP_SET_UID)) ||
	    (arg->cookie && !(arg->flags & RDMA_EP_SET_COOKIE)) ||
	    (!(arg->flags & RDMA_EP_SET_NOTE) && memchr_inv(arg->note, 0, sizeof(arg->note))))
		return -EINVAL;
	obj = uep_obj_lookup(cmd->s, arg->handle, arg->type);
	return obj ? uep_obj_done(obj, uep_obj_set(obj, arg)) : -ENOENT;
}

/* The queue that the object reports to, with a reference, or NULL. */
static struct uep_queue *uep_obj_queue(struct uep_obj *obj)
{
	struct uep_queue *q;

	switch (obj->type->type) {
	case RDMA_EP_OBJ_ID:
		return uep_id_queue(container_of(obj, struct uep_id, obj));
	case RDMA_EP_OBJ_CQ:
		q = container_of(obj, struct uep_cq, obj)->chan;
		break;
	default:
		q = container_of(obj, struct uep_ctx, obj)->async;
		break;
	}
	if (q)
		kref_get(&q->ref);
	return q;
}

int uep_open_queue(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_open_queue *arg = cmd->arg;
	struct uep_queue *q;
	struct uep_obj *obj;

	if (arg->reserved || (arg->type != RDMA_EP_OBJ_ID && arg->type != RDMA_EP_OBJ_CQ &&
			      arg->type != RDMA_EP_OBJ_CTX))
		return -EINVAL;
	obj = uep_obj_lookup(cmd->s, arg->handle, arg->type);
	if (!obj)
		return -ENOENT;
	q = uep_obj_queue(obj);
	arg->fd = q ? uep_queue_add_file(cmd, q, true) : -ENODATA;
	uep_queue_put(q);
	return uep_obj_done(obj, min(arg->fd, 0));
}

/*
 * The owner gives the session up: wakes its readers, and waits for its calls, one of which may wait
 * for the memory of its user for ever.
 */
static int uep_end_owner(struct uep_session *s, struct uep_owner *owner)
{
	unsigned long handle;
	struct uep_obj *obj;
	long left;

	uep_owner_end(owner);
	uep_queues_wake(s, false);
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_CTX, NULL)
		wake_up_poll(&container_of(obj, struct uep_ctx, obj)->async->wait,
			     EPOLLERR | EPOLLHUP);
	left = wait_for_completion_interruptible_timeout(&owner->quiet,
							 msecs_to_jiffies(UEP_QUIET_MS));
	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

/*
 * A file of the owner's, which has no inode of the device. Takes over references of both kinds, ref
 * and files, and drops them if it fails. Returns its descriptor.
 */
static int uep_owner_add_file(struct uep_cmd *cmd, struct uep_owner *owner)
{
	int fd = uep_cmd_add_file(cmd, "[rdma_ep]", cmd->file->f_op, owner, O_RDWR);

	if (fd < 0)
		uep_session_close(owner);
	return fd;
}

/*
 * Until owner->adopted is 0 again, no other task adopts the session or gives it up. -EBADF: another
 * owner has adopted it, while the command waited for the user's memory or for calls.
 */
static int uep_owner_claim(struct uep_owner *owner)
{
	if (atomic_cmpxchg(&owner->adopted, 0, 1))
		return -EBUSY;
	if (owner->session)
		return 0;
	atomic_set(&owner->adopted, 0);
	return -EBADF;
}

static int uep_give_up(struct uep_session *s, struct uep_owner *owner)
{
	int ended = uep_end_owner(s, owner);
	/* Not before, as an adopter does not wait for this task. */
	int ret = uep_owner_claim(owner);
	unsigned long handle;
	struct uep_obj *obj;

	if (ret)
		return ret;
	/* Neither a signal nor a call that does not return gives the session back. */
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_SRQ, NULL)
		uep_recv_ring_give_up(container_of(obj, struct uep_srq, obj));
	atomic_set(&owner->adopted, 0);
	return ended;
}

int uep_export(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_export *arg = cmd->arg;
	struct uep_owner *owner = uep_cmd_owner(cmd);

	if (arg->reserved)
		return -EINVAL;
	arg->fd = -1;
	if (arg->flags & RDMA_EP_EXPORT_FD) {
		/* The command's file has a reference of both kinds, too. */
		kref_get(&owner->ref);
		atomic_inc(&owner->files);
		arg->fd = uep_owner_add_file(cmd, owner);
		if (arg->fd < 0)
			return arg->fd;
	}
	if (!(arg->flags & RDMA_EP_KEEP)) {
		trace_rdma_ep_session_export(cmd->s);
		return uep_give_up(cmd->s, owner);
	}
	if (!uep_owner_enter(owner))
		return -EBADF;
	WRITE_ONCE(owner->keep, true);
	uep_owner_exit(owner);
	return 0;
}

static void uep_end_adopt(struct uep_cmd_step *step, bool commit)
{
	struct uep_owner *old = step->obj, *new = step->arg;

	/* No task has found the new owner yet. */
	if (commit)
		new->session = uep_owner_take_session(old);
	atomic_set(&old->adopted, 0);
}

/*
 * The old owner gives the session up, and loses all that it could still use: its view of
 * rings, and the meaning of uids, which are addresses in its memory.
 */
static int uep_change_owner(struct uep_session *s, struct uep_owner *old)
{
	static const enum rdma_ep_obj_type named[] = {
		RDMA_EP_OBJ_ID, RDMA_EP_OBJ_MCAST, RDMA_EP_OBJ_CQ, RDMA_EP_OBJ_SRQ, RDMA_EP_OBJ_QP,
	};
	unsigned long handle;
	struct xarray pages;
	struct uep_obj *obj;
	int i, ret;

	xa_init(&pages);
	ret = uep_rings_prepare(s, &pages) ?: uep_end_owner(s, old) ?:
	      uep_rings_prepare(s, &pages);
	if (ret) {
		uep_rings_discard(&pages);
		return ret;
	}
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_CQ, NULL)
		uep_cq_move_ring(container_of(obj, struct uep_cq, obj), &pages);
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_SRQ, NULL)
		uep_recv_ring_move(container_of(obj, struct uep_srq, obj), &pages);
	uep_rings_replace(s, old, &pages);
	for (i = 0; i < ARRAY_SIZE(named); i++)
		uep_for_each_obj(obj, s, handle, named[i], NULL)
			uep_obj_set_uid(obj, 0, true);
	return 0;
}

int uep_adopt(struct uep_cmd *cmd)
{
	struct uep_owner *new, *old = uep_cmd_owner(cmd);
	struct rdma_ep_cmd_adopt *arg = cmd->arg;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	new = uep_owner_create(cmd->s);
	if (IS_ERR(new))
		return PTR_ERR(new);
	new->keep = arg->flags & RDMA_EP_KEEP;
	arg->fd = uep_owner_add_file(cmd, new);
	if (arg->fd < 0)
		return arg->fd;
	ret = uep_owner_claim(old);
	if (ret)
		return ret;
	uep_cmd_add_step(cmd, uep_end_adopt, old, new);
	trace_rdma_ep_session_adopt(cmd->s);
	return uep_change_owner(cmd->s, old);
}

/* Names the object that does not let the id move. @part: a reference, which it drops; or NULL */
static int uep_split_busy(struct uep_cmd *cmd, struct uep_obj *part)
{
	struct rdma_ep_cmd_split_id *arg = cmd->arg;

	arg->fd = -1;
	if (part) {
		arg->busy = part->handle;
		arg->busy_type = part->type->type;
		uep_obj_put(part);
	}
	return copy_to_user(cmd->uarg, arg, sizeof(*arg)) ? -EFAULT : -EBUSY;
}

int uep_split_id(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_split_id *arg = cmd->arg;
	struct uep_owner *owner = uep_session_open();
	struct uep_obj *part = NULL;
	int ret;

	if (IS_ERR(owner))
		return PTR_ERR(owner);
	ret = uep_restrictions_inherit(owner->session, cmd->s);
	if (ret) {
		uep_session_close(owner);
		return ret;
	}
	arg->fd = uep_owner_add_file(cmd, owner);
	if (arg->fd < 0)
		return arg->fd;
	arg->busy = 0;
	arg->busy_type = 0;
	ret = uep_cmd_split(cmd, arg->id, owner->session, &part);
	return ret == -EBUSY ? uep_split_busy(cmd, part) : ret;
}
