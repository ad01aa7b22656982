// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups that QPs are attached to.
 *
 * Drivers count attachments, and a QP that has one cannot be destroyed, so each QP has a
 * list of them (ep_qp.lock).
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

static struct ep_attachment *ep_qp_attachment(struct ep_qp *qp, const union ib_gid *gid, u16 lid)
{
	struct ep_attachment *att;

	list_for_each_entry(att, &qp->mcasts, entry)
		if (att->lid == lid && !memcmp(&att->gid, gid, sizeof(*gid)))
			return att;
	return NULL;
}

/* With any LID */
static struct ep_attachment *ep_qp_same_gid(struct ep_qp *qp, const union ib_gid *gid)
{
	struct ep_attachment *att;

	list_for_each_entry(att, &qp->mcasts, entry)
		if (!memcmp(&att->gid, gid, sizeof(*gid)))
			return att;
	return NULL;
}

/*
 * Locks ep_dev.mcast_lock, for drivers with EP_CAP_MCAST_ALONE: such a driver removes a
 * group with its last QP even if another QP is being attached just then, which is in no
 * group that can be found any more, but counted; or it removes the group twice. (A stuck
 * driver of another kind delays no other user.)
 */
void ep_dev_lock_mcast(struct ep_dev *dev)
{
	if (dev->driver->caps & EP_CAP_MCAST_ALONE)
		mutex_lock(&dev->mcast_lock);
}

bool ep_dev_trylock_mcast(struct ep_dev *dev)
{
	return !(dev->driver->caps & EP_CAP_MCAST_ALONE) || mutex_trylock(&dev->mcast_lock);
}

void ep_dev_unlock_mcast(struct ep_dev *dev)
{
	if (dev->driver->caps & EP_CAP_MCAST_ALONE)
		mutex_unlock(&dev->mcast_lock);
}

/* @att is not on the list. */
static int ep_qp_detach_hw(struct ep_qp *qp, struct ib_qp *ibqp, struct ep_attachment *att)
{
	if (ep_qp_same_gid(qp, &att->gid))
		return 0;
	return ib_detach_mcast(ibqp, &att->gid, att->hw_lid);
}

/*
 * Adds @members to an attachment, which is made if need be; qp->lock and ep_dev.mcast_lock
 * are held. The driver gets each GID once: some attach it again with another LID, which ib_core
 * counts, but detach it only once.
 */
int ep_qp_attach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members)
{
	struct ep_attachment *att, *same;
	int ret;

	if (!qp->ibqp)
		return -EIO;
	att = ep_qp_attachment(qp, gid, lid);
	if (att)
		goto out;
	if (qp->nr_mcasts == EP_QP_MAX_MCASTS)
		return -ENOMEM;
	att = kzalloc(sizeof(*att), GFP_KERNEL_ACCOUNT);
	if (!att)
		return -ENOMEM;
	att->gid = *gid;
	att->lid = lid;
	same = ep_qp_same_gid(qp, gid);
	att->hw_lid = same ? same->hw_lid : lid;
	ret = same ? 0 : ib_attach_mcast(qp->ibqp, &att->gid, lid);
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

/* Takes @members away, 0: all. The same locks are held. */
int ep_qp_detach_locked(struct ep_qp *qp, const union ib_gid *gid, u16 lid, u32 members)
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

/* @ibqp is no longer in @qp, so no other task looks at its attachments. */
void ep_qp_detach_all(struct ep_qp *qp, struct ib_qp *ibqp)
{
	struct ep_attachment *att, *next;

	list_for_each_entry_safe(att, next, &qp->mcasts, entry) {
		list_del(&att->entry);
		ep_dev_lock_mcast(qp->res.dev);
		ep_qp_detach_hw(qp, ibqp, att);
		ep_dev_unlock_mcast(qp->res.dev);
		kfree(att);
	}
	qp->nr_mcasts = 0;
}
