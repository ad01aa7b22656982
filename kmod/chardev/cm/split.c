// SPDX-License-Identifier: GPL-2.0-only
/*
 * The move of a connection request to another session.
 *
 * Objects stay in their session, so the request gets a new object there, which takes over
 * rdma_cm's id. The old object is claimed meanwhile, and destroyed with the command.
 */
#include "cm.h"
#include "../verbs/verbs.h"

/* With id.lock */
static struct uep_srq *uep_id_live_srq(const struct uep_id *id)
{
	return id->srq && !uep_obj_claimed(&id->srq->obj) ? id->srq : NULL;
}

/* Moves rdma_cm's id. Holds no lock. */
static int uep_id_hand(struct uep_id *from, struct uep_id *to)
{
	int ret = ep_id_begin(&from->id);

	if (ret)
		return ret;
	/* One that has been destroyed does not matter. */
	ep_id_forget_qp(&from->id);
	ret = READ_ONCE(from->id.request) && uep_id_live_srq(from) ? -EBUSY :
	      ep_id_move(&from->id, &to->id);
	ep_id_end(&from->id);
	return ret;
}

static void uep_cmd_end_split(struct uep_cmd_step *step, bool commit)
{
	struct uep_id *old = step->obj, *new = step->arg;
	struct rdma_ep_cmd_destroy out;

	if (commit) {
		uep_id_publish(&new->obj);
		uep_obj_end(&old->obj, &out);
	} else {
		ep_id_move_back(&new->id, &old->id);
		uep_obj_discard(&new->obj);
		uep_obj_unclaim(&old->obj);
	}
	uep_obj_put(&old->obj);
}

/* The object of the same request in the session @to. Or ERR_PTR */
static struct uep_id *uep_id_clone(struct uep_session *to, struct uep_id *old)
{
	struct uep_channel *chan;
	struct uep_id *new;
	int ret;

	new = uep_id_alloc(to);
	if (IS_ERR(new))
		return new;
	chan = uep_channel_alloc(to);
	ret = PTR_ERR_OR_ZERO(chan);
	if (ret)
		goto err;
	new->chan = chan;
	ret = uep_obj_reserve(&new->obj);
	if (ret)
		goto err;
	new->id.number = new->obj.handle;
	spin_lock(&old->obj.session->ev_lock);
	chan->private = old->chan && old->chan->private;
	new->ece = old->ece;
	new->last = old->last;
	spin_unlock(&old->obj.session->ev_lock);
	new->obj.cookie = READ_ONCE(old->obj.cookie);
	ret = uep_obj_copy_note(&new->obj, &old->obj);
	if (!ret)
		return new;

err:
	uep_obj_discard(&new->obj);
	return ERR_PTR(ret);
}

/* The QP or SRQ that the id has, with a reference, or NULL */
static struct uep_obj *uep_id_part(struct uep_id *id)
{
	struct ep_qp *qp = ep_id_get_qp(&id->id);
	struct uep_srq *srq;

	if (qp)
		return &container_of(qp, struct uep_qp, qp)->obj;
	if (mutex_lock_killable(&id->id.lock))
		return NULL;
	srq = uep_id_live_srq(id);
	if (srq)
		uep_obj_get(&srq->obj);
	mutex_unlock(&id->id.lock);
	return srq ? &srq->obj : NULL;
}

/*
 * Moves a request that has been read, and not been answered, as a step of the command. -EBUSY:
 * it has a QP or SRQ, of which *@part is one, with a reference, or another command works on it.
 */
int uep_cmd_split(struct uep_cmd *cmd, u32 handle, struct uep_session *to, struct uep_obj **part)
{
	struct uep_id *old = uep_obj_lookup(cmd->s, handle, RDMA_EP_OBJ_ID), *new;
	int ret;

	if (!old)
		return -ENOENT;
	if (!uep_obj_claim(&old->obj)) {
		ret = uep_obj_claimed(&old->obj) ? -ENOENT : -EBUSY;
		goto err_put;
	}
	new = uep_id_clone(to, old);
	ret = PTR_ERR_OR_ZERO(new);
	if (ret)
		goto err_claim;
	ret = uep_id_hand(old, new);
	if (ret)
		goto err_new;
	uep_cmd_add_step(cmd, uep_cmd_end_split, old, new);
	return 0;

err_new:
	uep_obj_discard(&new->obj);
err_claim:
	uep_obj_unclaim(&old->obj);
err_put:
	if (ret == -EBUSY)
		*part = uep_id_part(old);
	uep_obj_put(&old->obj);
	return ret;
}
