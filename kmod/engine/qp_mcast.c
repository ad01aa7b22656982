// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups that QPs are attached to.
 *
 * Drivers count attachments, and a QP that has one cannot be destroyed, so each QP has a list
 * of them (ep_qp.lock).
 */
#include <linux/slab.h>

#include "engine.h"

/* A device has a few thousand for all QPs together. */
#define EP_QP_MAX_MCASTS	1024U

/* A group that a QP is attached to */
struct ep_attachment {
	struct list_head entry;		/* in ep_qp.mcasts */
	union ib_gid gid;
	u16 lid;
	u16 hw_lid;			/* LID that the driver got with gid */
	u32 members;			/* memberships of the QP's id that need it */
};

/* @lid: NULL: any */
static struct ep_attachment *ep_qp_find_mcast(struct ep_qp *qp, const union ib_gid *gid,
					      const u16 *lid)
{
	struct ep_attachment *att;

	list_for_each_entry(att, &qp->mcasts, entry)
		if ((!lid || att->lid == *lid) && !memcmp(&att->gid, gid, sizeof(*gid)))
			return att;
	return NULL;
}

/*
 * A driver with EP_CAP_MCAST_ALONE removes a group with its last QP while another QP is being
 * attached to it, which is then in no group that can be found, or removes it twice. So its
 * calls are serialised; calls of other drivers do not wait for each other.
 */
static int ep_qp_call_mcast(int (*call)(struct ib_qp *, union ib_gid *, u16), struct ep_dev *dev,
			    struct ib_qp *ibqp, struct ep_attachment *att)
{
	if (!ep_dev_has(ibqp->device, EP_CAP_MCAST_ALONE))
		return call(ibqp, &att->gid, att->hw_lid);
	guard(mutex)(&dev->mcast_lock);
	return call(ibqp, &att->gid, att->hw_lid);
}

/* @att is not on the list. */
static int ep_qp_detach_hw(struct ep_qp *qp, struct ib_qp *ibqp, struct ep_attachment *att)
{
	if (ep_qp_find_mcast(qp, &att->gid, NULL))
		return 0;
	return ep_qp_call_mcast(ib_detach_mcast, qp->res.dev, ibqp, att);
}

/*
 * The driver gets each GID once: some attach it again with another LID, which ib_core counts,
 * but detach it only once. qp->lock is held.
 */
static int ep_qp_attach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members)
{
	struct ep_attachment *att, *same;
	int ret;

	if (!qp->ibqp)
		return -EIO;
	att = ep_qp_find_mcast(qp, gid, &lid);
	if (att)
		goto out;
	if (qp->nr_mcasts == EP_QP_MAX_MCASTS)
		return -ENOMEM;
	att = kzalloc(sizeof(*att), GFP_KERNEL_ACCOUNT);
	if (!att)
		return -ENOMEM;
	same = ep_qp_find_mcast(qp, gid, NULL);
	att->gid = *gid;
	att->lid = lid;
	att->hw_lid = same ? same->hw_lid : lid;
	ret = same ? 0 : ep_qp_call_mcast(ib_attach_mcast, qp->res.dev, qp->ibqp, att);
	if (ret) {
		kfree(att);
		return ret;
	}
	list_add(&att->entry, &qp->mcasts);
	qp->nr_mcasts++;
out:
	att->members += members;
	return 0;
}

/* @members: removed memberships; 0: all. qp->lock is held. */
static int ep_qp_detach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members)
{
	struct ep_attachment *att;
	int ret;

	if (!qp->ibqp)
		return -EIO;
	att = ep_qp_find_mcast(qp, gid, &lid);
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

/*
 * Attaches the QP for @members memberships of its id, 0 or 1; ep_qp_leave_mcast() ends one.
 * Attaching twice is attaching once, as with uverbs. -EINTR if the task is killed
 */
int ep_qp_attach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = ep_qp_attach_locked(qp, gid, lid, members);
	ep_qp_unlock(qp);
	return ret;
}

/* Regardless of memberships. -EINTR if the task is killed */
int ep_qp_detach_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	int ret = mutex_lock_killable(&qp->lock);

	if (ret)
		return ret;
	ret = ep_qp_detach_locked(qp, gid, lid, 0);
	ep_qp_unlock(qp);
	return ret;
}

void ep_qp_leave_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	guard(ep_qp)(qp);
	ep_qp_detach_locked(qp, gid, lid, 1);
}

/* Detaches the QP, but for a membership of its id that still needs the attachment. */
void ep_qp_drop_mcast(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	struct ep_attachment *att;

	guard(ep_qp)(qp);
	if (!qp->ibqp)
		return;
	att = ep_qp_find_mcast(qp, gid, &lid);
	if (att && !att->members)
		ep_qp_detach_locked(qp, gid, lid, 0);
}

/* @ibqp is no longer in @qp, so no other task accesses its attachments. */
void ep_qp_detach_all(struct ep_qp *qp, struct ib_qp *ibqp)
{
	struct ep_attachment *att, *next;

	list_for_each_entry_safe(att, next, &qp->mcasts, entry) {
		list_del(&att->entry);
		ep_qp_detach_hw(qp, ibqp, att);
		kfree(att);
	}
	qp->nr_mcasts = 0;
}
