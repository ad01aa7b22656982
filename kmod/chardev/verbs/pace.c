// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pacing of long sends.
 *
 * A driver with ep_driver.pace_bytes transmits the requests of a QP to their end before it turns to
 * the next QP, so a message waits for megabytes of a neighbour. While another QP of the device
 * sends little, posts to a QP are cut into pieces: the last request of a piece is signalled, for
 * this file only if the user has not wanted that, and the next piece is posted when its
 * completion has been taken, and the device has then been idle for as long as the piece took. A
 * message then waits for one piece at most, and often for none.
 *
 * The wait for a piece, with the pause, ends after pace_wait_us at the latest, and with a signal
 * that kills the task. If the piece has not been taken then, the rest of the list is posted at
 * once, and the QP is not paced for UEP_PACE_TIME: a slow peer, not the device, holds the piece up.
 *
 * A completion for this file takes an entry of the CQ. A QP has one at a time, so with READs that
 * complete twice (EP_CAP_READ_TWICE) two entries for each QP must fit beside those of the user.
 * QPs of smaller CQs are not paced, nor those whose CQ reports solicited completions only.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/module.h>

#include "post.h"

#define UEP_PACE_TIME		msecs_to_jiffies(20)
#define UEP_PACE_LITTLE		4096	/* bytes of a post that sends little */

static unsigned int pace_wait_us = 2000;
module_param(pace_wait_us, uint, 0644);
MODULE_PARM_DESC(pace_wait_us, "longest wait of a post for a piece of its list, us; 0: no pieces");

static bool uep_pace_recent(unsigned long when)
{
	return time_before(jiffies, when + UEP_PACE_TIME);
}

/*
 * Has another QP sent little within UEP_PACE_TIME, or since the latest long post of this one? A
 * list may take longer than UEP_PACE_TIME, and the message then waits for it.
 */
static bool uep_pace_is_due(const struct uep_qp *qp)
{
	const struct ep_dev *dev = qp->obj.dev;
	u32 little = READ_ONCE(dev->little_qpn);
	unsigned long at = READ_ONCE(dev->little_at);

	return little && little != qp->qp.qp_num &&
	       (uep_pace_recent(at) ||
		(READ_ONCE(qp->pace.much) && time_after_eq(at, READ_ONCE(qp->pace.began_at))));
}

/* @users: QPs, and more than that where one sends and receives */
static bool uep_pace_has_room(const struct uep_cq *cq)
{
	return 2 * (u32)atomic_read(&cq->obj.users) <= READ_ONCE(cq->hw->wanted);
}

/* The bytes of a piece of a post that begins, or 0: it need not be cut. */
u32 uep_pace_begin(struct uep_qp *qp)
{
	const struct ep_dev *dev = qp->obj.dev;

	if (!dev->pace_bytes || !READ_ONCE(pace_wait_us) || !uep_pace_is_due(qp) ||
	    (READ_ONCE(qp->pace.failed) && uep_pace_recent(READ_ONCE(qp->pace.failed_at))) ||
	    !uep_pace_has_room(qp->send_cq))
		return 0;
	return dev->pace_bytes;
}

/*
 * Called after a post of so many bytes, @in_piece of them behind the latest piece. @began_at: when
 * the post began (jiffies). A QP that sends much as well does not count as one that sends little.
 */
void uep_pace_end(struct uep_qp *qp, u64 bytes, u64 in_piece, unsigned long began_at)
{
	struct ep_dev *dev = qp->obj.dev;

	if (!dev->pace_bytes)
		return;
	WRITE_ONCE(qp->pace.bytes, in_piece);
	if (bytes > UEP_PACE_LITTLE) {
		WRITE_ONCE(qp->pace.began_at, began_at);
		WRITE_ONCE(qp->pace.much, true);
		WRITE_ONCE(qp->pace.much_at, jiffies);
	} else if (!READ_ONCE(qp->pace.much) || !uep_pace_recent(READ_ONCE(qp->pace.much_at))) {
		WRITE_ONCE(dev->little_at, jiffies);
		WRITE_ONCE(dev->little_qpn, qp->qp.qp_num);
	}
}

/* Leaves the device to others, until a signal kills the task. */
static void uep_pace_rest(u64 ns)
{
	ktime_t time = ns_to_ktime(ns);

	set_current_state(TASK_KILLABLE);
	schedule_hrtimeout_range(&time, ns / 8, HRTIMER_MODE_REL);
}

/* The caller posts the end of a piece: waits for the piece before. False: in vain */
bool uep_pace_wait(struct uep_qp *qp)
{
	u64 cookie = READ_ONCE(qp->pace.cookie), now, end;
	bool ok = true;

	if (cookie && uep_wq_is_posted(&qp->sq, cookie)) {
		end = ktime_get_ns() + (u64)READ_ONCE(pace_wait_us) * NSEC_PER_USEC;
		ok = uep_cq_wait(qp->send_cq, &qp->sq, cookie, ns_to_ktime(end));
		now = ktime_get_ns();
		if (ok && now < end)
			uep_pace_rest(min(now - READ_ONCE(qp->pace.posted_at), end - now));
	}
	if (!ok) {
		WRITE_ONCE(qp->pace.failed_at, jiffies);
		WRITE_ONCE(qp->pace.failed, true);
	}
	WRITE_ONCE(qp->pace.posted_at, ktime_get_ns());
	return ok;
}
