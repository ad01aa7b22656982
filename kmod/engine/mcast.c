// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups: the QPs that are attached to one and the ids that have
 * joined one.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <rdma/ib.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "engine.h"
#include "trace.h"

/* A device has a few thousand for all QPs together. */
#define EP_QP_MAX_MCASTS	1024U

/*
 * ... and an id, that many times: each event looks through them, in a work queue that
 * rdma_cm has for everybody.
 */
#define EP_ID_MAX_MCASTS	1024U

/**
 * struct ep_attachment - a group that a QP is attached to
 * @entry: in ep_qp.mcasts
 * @gid: group
 * @lid: the same
 * @hw_lid: LID that the driver was told with @gid
 * @members: memberships of the QP's id that need it
 */
struct ep_attachment {
	struct list_head entry;
	union ib_gid gid;
	u16 lid;
	u16 hw_lid;
	u32 members;
};

static struct ep_attachment *ep_qp_attachment(struct ep_qp *qp,
					      const union ib_gid *gid, u16 lid)
{
	struct ep_attachment *att;

	list_for_each_entry(att, &qp->mcasts, entry)
		if (att->lid == lid && !memcmp(&att->gid, gid, sizeof(*gid)))
			return att;
	return NULL;
}

/* With whatever LID. */
static struct ep_attachment *ep_qp_same_gid(struct ep_qp *qp,
					    const union ib_gid *gid)
{
	struct ep_attachment *att;

	list_for_each_entry(att, &qp->mcasts, entry)
		if (!memcmp(&att->gid, gid, sizeof(*gid)))
			return att;
	return NULL;
}

/*
 * Held over ib_attach_mcast() and ib_detach_mcast(). rxe is told of one QP at a time: it
 * takes a group away with its last QP even if another one is being attached just then, which
 * is in no group that can be found any more, but counted; or it takes the group away
 * twice. (Other drivers see to that themselves, and one that is stuck shall hold up
 * nobody else.) (RXE-10)
 */
static void ep_mcast_lock_dev(struct ep_dev *dev)
{
	if (dev->mcast_alone)
		mutex_lock(&dev->mcast_lock);
}

static void ep_mcast_unlock_dev(struct ep_dev *dev)
{
	if (dev->mcast_alone)
		mutex_unlock(&dev->mcast_lock);
}

/* And qp->lock. -EINTR if the task is killed */
static int ep_mcast_lock(struct ep_qp *qp)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (!ret)
		ep_mcast_lock_dev(qp->res.dev);
	return ret;
}

/* For handlers, which do not wait */
static bool ep_mcast_trylock(struct ep_qp *qp)
{
	struct ep_dev *dev = qp->res.dev;

	if (!mutex_trylock(&qp->lock))
		return false;
	if (!dev->mcast_alone || mutex_trylock(&dev->mcast_lock))
		return true;
	ep_qp_unlock(qp);
	return false;
}

static void ep_mcast_unlock(struct ep_qp *qp)
{
	ep_mcast_unlock_dev(qp->res.dev);
	ep_qp_unlock(qp);
}

/*
 * The driver is told of each GID once: rxe takes another LID to be the same group
 * and says that it attached, which ib_core counts, but it detaches only once. A QP
 * with such a count can not be destroyed any more.
 */
static int ep_qp_attach_hw(struct ep_qp *qp, struct ep_attachment *att)
{
	struct ep_attachment *same = ep_qp_same_gid(qp, &att->gid);

	att->hw_lid = same ? same->hw_lid : att->lid;
	return same ? 0 : ib_attach_mcast(qp->ibqp, &att->gid, att->hw_lid);
}

/* @att is not on the list. */
static int ep_qp_detach_hw(struct ep_qp *qp, struct ib_qp *ibqp,
			   struct ep_attachment *att)
{
	if (ep_qp_same_gid(qp, &att->gid))
		return 0;
	return ib_detach_mcast(ibqp, &att->gid, att->hw_lid);
}

static struct ep_attachment *ep_qp_attach_locked(struct ep_qp *qp,
						 const union ib_gid *gid,
						 u16 lid)
{
	struct ep_attachment *att;
	int ret;

	if (!qp->ibqp)
		return ERR_PTR(-EIO);
	att = ep_qp_attachment(qp, gid, lid);
	if (att)
		return att;
	if (qp->nr_mcasts == EP_QP_MAX_MCASTS)
		return ERR_PTR(-ENOMEM);
	att = kzalloc(sizeof(*att), GFP_KERNEL_ACCOUNT);
	if (!att)
		return ERR_PTR(-ENOMEM);
	att->gid = *gid;
	att->lid = lid;
	ret = ep_qp_attach_hw(qp, att);
	if (ret) {
		kfree(att);
		return ERR_PTR(ret);
	}
	list_add(&att->entry, &qp->mcasts);
	qp->nr_mcasts++;
	return att;
}

static int ep_qp_detach_locked(struct ep_qp *qp, const union ib_gid *gid,
			       u16 lid, u32 members)
{
	struct ep_attachment *att;
	int ret;

	if (!qp->ibqp)
		return -EIO;
	att = ep_qp_attachment(qp, gid, lid);
	if (!att)
		return -EINVAL;
	if (members && att->members > members) {
		att->members -= members;
		return 0;
	}
	list_del(&att->entry);
	ret = ep_qp_detach_hw(qp, qp->ibqp, att);
	if (ret) {
		list_add(&att->entry, &qp->mcasts);
		return ret;
	}
	qp->nr_mcasts--;
	kfree(att);
	return 0;
}

/* Attaching twice is attaching once, as it is with uverbs. */
int ep_qp_attach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	struct ep_attachment *att;
	int ret = ep_mcast_lock(qp);

	if (ret)
		return ret;
	att = ep_qp_attach_locked(qp, gid, lid);
	ep_mcast_unlock(qp);
	return PTR_ERR_OR_ZERO(att);
}

/* Whatever memberships there are. */
int ep_qp_detach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	int ret = ep_mcast_lock(qp);

	if (ret)
		return ret;
	ret = ep_qp_detach_locked(qp, gid, lid, 0);
	ep_mcast_unlock(qp);
	return ret;
}

/* @ibqp is no longer in @qp, so nobody else looks at its attachments. */
void ep_qp_detach_all(struct ep_qp *qp, struct ib_qp *ibqp)
{
	struct ep_attachment *att, *next;

	list_for_each_entry_safe(att, next, &qp->mcasts, entry) {
		list_del(&att->entry);
		ep_mcast_lock_dev(qp->res.dev);
		ep_qp_detach_hw(qp, ibqp, att);
		ep_mcast_unlock_dev(qp->res.dev);
		kfree(att);
	}
	qp->nr_mcasts = 0;
}

/*
 * rdma_cm leaves the first of the id's groups whose address is the same, be it
 * this membership or another one in the group, whose event may not have come yet.
 * So make the address unmistakable, where it does not name the group.
 */
static void ep_mcast_mark_addr(struct ep_mcast *mc)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&mc->addr;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&mc->addr;
	struct sockaddr_ib *sib = (struct sockaddr_ib *)&mc->addr;

	switch (mc->addr.ss_family) {
	case AF_INET:
		memcpy(sin->sin_zero, &mc->key, sizeof(mc->key));
		break;
	case AF_INET6:
		sin6->sin6_flowinfo = (__force __be32)mc->key;
		break;
	case AF_IB:
		sib->sib_sid = cpu_to_be64(mc->key);
		break;
	}
}

/**
 * ep_id_join - join a multicast group
 * @id: id that is bound to a device, between ep_id_begin_bound() and ep_id_end()
 * @mc: membership: @addr and @send_only are set, the rest zero
 *
 * Followed by an event if it succeeds, and then by ep_id_leave() at some time.
 *
 * Return: 0, -ENOMEM if the id is in too many, or what rdma_cm says
 */
int ep_id_join(struct ep_id *id, struct ep_mcast *mc)
{
	int ret;

	INIT_LIST_HEAD(&mc->joined);
	spin_lock(&id->link_lock);
	if (id->nr_mcasts == EP_ID_MAX_MCASTS) {
		spin_unlock(&id->link_lock);
		return -ENOMEM;
	}
	id->nr_mcasts++;
	mc->key = ++id->mcast_key;
	ep_mcast_mark_addr(mc);
	list_add(&mc->entry, &id->mcasts);
	spin_unlock(&id->link_lock);

	ret = rdma_join_multicast(id->cm_id, (struct sockaddr *)&mc->addr,
				  BIT(mc->send_only ? SENDONLY_FULLMEMBER_JOIN :
						      FULLMEMBER_JOIN),
				  (void *)(uintptr_t)mc->key);
	if (ret) {
		spin_lock(&id->link_lock);
		list_del_init(&mc->entry);
		id->nr_mcasts--;
		spin_unlock(&id->link_lock);
	}
	return ret;
}

/*
 * Detaches the QP and leaves the group. Process context, not in an event handler;
 * the id may have been destroyed, by its owner or with its device. A handler that
 * runs meanwhile has a reference to @mc and may still report on it.
 */
void ep_id_leave(struct ep_id *id, struct ep_mcast *mc)
{
	struct ep_qp *qp;

	mutex_lock(&id->lock);
	spin_lock(&id->link_lock);
	list_del_init(&mc->entry);
	id->nr_mcasts--;
	qp = mc->qp;
	mc->qp = NULL;
	spin_unlock(&id->link_lock);
	if (qp) {
		mutex_lock(&qp->lock);
		ep_mcast_lock_dev(qp->res.dev);
		ep_qp_detach_locked(qp, &mc->gid, mc->lid, 1);
		ep_mcast_unlock(qp);
		id->ops->put_qp(qp);
	}
	if (!id->closed)
		rdma_leave_multicast(id->cm_id, (struct sockaddr *)&mc->addr);
	mutex_unlock(&id->lock);
}

/* The membership that an event is about, with a reference, or NULL. */
static struct ep_mcast *ep_id_mcast_of(struct ep_id *id,
				       const struct rdma_cm_event *event)
{
	u32 key = (uintptr_t)event->param.ud.private_data;
	struct ep_mcast *mc, *found = NULL;

	spin_lock(&id->link_lock);
	list_for_each_entry(mc, &id->mcasts, entry)
		if (mc->key == key)
			found = mc;
	if (found)
		id->ops->get_mcast(found);
	spin_unlock(&id->link_lock);
	return found;
}

/*
 * Attaches the QP to the group that was joined, with ep_mcast_lock(), which ends. Takes
 * over the reference to it.
 */
static int ep_mcast_attach(struct ep_id *id, struct ep_mcast *mc,
			   struct ep_qp *qp)
{
	struct ep_attachment *att;
	struct ep_qp *old = NULL;
	bool left;

	att = ep_qp_attach_locked(qp, &mc->gid, mc->lid);
	if (IS_ERR(att))
		goto unlock;
	att->members++;
	spin_lock(&id->link_lock);
	left = list_empty(&mc->entry);
	if (!left) {
		id->ops->get_qp(qp);
		old = mc->qp;
		mc->qp = qp;
	}
	spin_unlock(&id->link_lock);
	if (left)
		ep_qp_detach_locked(qp, &mc->gid, mc->lid, 1);
unlock:
	ep_mcast_unlock(qp);
	if (old)
		id->ops->put_qp(old);
	id->ops->put_qp(qp);
	return PTR_ERR_OR_ZERO(att);
}

/* @ret: of attaching the QP. With the handler locked. */
static void ep_mcast_report(struct ep_id *id, struct ep_mcast *mc,
			    const struct rdma_cm_event *event, int ret)
{
	struct rdma_cm_event changed = *event;

	changed.param.ud.private_data = mc;
	if (ret) {
		changed.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		changed.status = ret;
	}
	trace_rdma_ep_cm_event(id, id->cm_id, &changed, 0);
	id->ops->event(id, &changed);
}

/* Another task has qp->lock; takes over the reference to @mc. With the handler locked. */
static void ep_mcast_later(struct ep_id *id, struct ep_mcast *mc,
			   const struct rdma_cm_event *event)
{
	if (id->no_later || mc->later) {
		id->ops->put_mcast(mc);
		return;
	}
	mc->later = true;
	mc->event = *event;
	rdma_copy_ah_attr(&mc->event.param.ud.ah_attr,
			  &event->param.ud.ah_attr);
	spin_lock(&id->link_lock);
	list_add_tail(&mc->joined, &id->joined);
	spin_unlock(&id->link_lock);
	ep_id_later(id);
}

/* What has been joined, and not attached yet. With what ep_mcast_later() took over. */
static struct ep_mcast *ep_id_joined(struct ep_id *id)
{
	struct ep_mcast *mc;

	spin_lock(&id->link_lock);
	mc = list_first_entry_or_null(&id->joined, struct ep_mcast, joined);
	if (mc)
		list_del_init(&mc->joined);
	spin_unlock(&id->link_lock);
	return mc;
}

/*
 * In the id's work item, which may wait. Returns whether there is another group: that is
 * for the item's next run, as others wait for theirs.
 */
bool ep_id_attach_later(struct ep_id *id)
{
	struct ep_mcast *mc = ep_id_joined(id);
	struct ep_qp *qp;
	int ret = 0;

	if (!mc)
		return false;
	qp = ep_id_get_qp(id);
	if (qp) {
		mutex_lock(&qp->lock);
		ep_mcast_lock_dev(qp->res.dev);
		ret = ep_mcast_attach(id, mc, qp);
	}
	rdma_lock_handler(id->cm_id);
	/* The group may be lost again. */
	if (!mc->lost)
		ep_mcast_report(id, mc, &mc->event, ret);
	rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
	mc->later = false;
	rdma_unlock_handler(id->cm_id);
	id->ops->put_mcast(mc);
	return !list_empty_careful(&id->joined);
}

/* The id ends. */
void ep_id_drop_mcasts(struct ep_id *id)
{
	struct ep_mcast *mc;

	while ((mc = ep_id_joined(id))) {
		rdma_destroy_ah_attr(&mc->event.param.ud.ah_attr);
		id->ops->put_mcast(mc);
	}
}

/* A group has been joined, or lost. Runs in the event handler. */
void ep_id_mcast_event(struct ep_id *id, const struct rdma_cm_event *event)
{
	struct ep_mcast *mc = ep_id_mcast_of(id, event);
	const struct rdma_ah_attr *attr = &event->param.ud.ah_attr;
	struct ep_qp *qp = NULL;
	int ret = 0;

	if (!mc)
		return;
	if (event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		mc->lost = true;
	else if (!mc->send_only)
		qp = ep_id_get_qp(id);
	if (qp) {
		mc->gid = rdma_ah_read_grh(attr)->dgid;
		mc->lid = rdma_ah_get_dlid(attr);
		if (!ep_mcast_trylock(qp)) {
			id->ops->put_qp(qp);
			ep_mcast_later(id, mc, event);
			return;
		}
		ret = ep_mcast_attach(id, mc, qp);
	}
	ep_mcast_report(id, mc, event, ret);
	id->ops->put_mcast(mc);
}
