// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has to be done for QPs of rxe, which waits fifty seconds for those who use what
 * is being destroyed, and then frees it all the same.
 */
#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>

#include "../compat.h"
#include "../engine/engine.h"

static struct workqueue_struct *ep_rxe_wq;

static enum ib_qp_state ep_rxe_state(const struct ep_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};

	return ib_query_qp(qp->ibqp, &attr, IB_QP_STATE, &init) ? IB_QPS_ERR :
								   attr.qp_state;
}

/*
 * Takes from a QP what is posted, without completing it, and the region that it may have
 * kept; qp->lock is held. In RESET a packet that is just arriving would stay, in ERR it
 * is dropped. One RESET is not enough: it forgets the place in the send queue before it
 * empties that, and an error that is on its way may overtake it.
 */
static void ep_rxe_empty(struct ep_qp *qp)
{
	static const enum ib_qp_state way[] = {
		IB_QPS_RESET, IB_QPS_RESET, IB_QPS_INIT, IB_QPS_ERR,
	};
	int to_init = IB_QP_PKEY_INDEX | IB_QP_PORT |
		      (qp->type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS);
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	size_t i;

	/* One that never was in INIT has no port, and is empty. */
	if (ib_query_qp(qp->ibqp, &attr, to_init, &init) || !attr.port_num)
		return;
	/* Of these, a send queue that drains takes the last one only, which flushes. */
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		attr.qp_state = way[i];
		ib_modify_qp(qp->ibqp, &attr, way[i] == IB_QPS_INIT ?
			     IB_QP_STATE | to_init : IB_QP_STATE);
	}
}

/*
 * In ERR it may still be about to complete what it has begun to receive. After this it is
 * not. For who has waited for all that was posted; may sleep.
 */
void ep_rxe_stop_receiving(struct ep_qp *qp)
{
	mutex_lock(&qp->lock);
	if (qp->ibqp && ep_is_rxe(qp->ibqp->device))
		ep_rxe_empty(qp);
	ep_qp_unlock(qp);
}

/*
 * What rxe does without a look at the state that the QP is in. It believes the one that
 * it is told, also that a QP in ERR is in RTR, whose queues have been flushed; from
 * 6.12 on it takes any attribute at any time if the state is not to change. Resources
 * for READs it takes away from under a responder that is using them. qp->lock is held.
 */
int ep_rxe_check_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int *mask)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr now;
	enum ib_qp_state next;
	bool reset;
	int ret;

	if ((*mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    !((*mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTR))
		return -EOPNOTSUPP;
	/*
	 * A peer's FLUSH takes one, whether there is any or not. rxe rounds their number
	 * up, and has eight bits for it.
	 */
	if (*mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr->max_dest_rd_atomic =
			clamp_t(int, attr->max_dest_rd_atomic, 1,
				qp->ibqp->device->attrs.max_qp_rd_atom);
	reset = (*mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET;
	if ((*mask & IB_QP_STATE) && !(*mask & IB_QP_CUR_STATE) && !reset)
		return 0;
	ret = ib_query_qp(qp->ibqp, &now, IB_QP_STATE, &init);
	if (ret)
		return ret;
	if ((*mask & IB_QP_CUR_STATE) && attr->cur_qp_state != now.qp_state)
		return -EINVAL;
	/* It would say so itself, but by then it has been got ready for it. */
	if (reset && now.qp_state == IB_QPS_SQD && now.sq_draining)
		return -EINVAL;
	next = *mask & IB_QP_STATE ? attr->qp_state : now.qp_state;
	if (!ib_modify_qp_is_ok(now.qp_state, next, qp->type, *mask))
		return -EINVAL;
	/* By the time that it looks it may be another one: it knows. */
	*mask &= ~IB_QP_CUR_STATE;
	return 0;
}

/* Of a peer that there is not: what comes from there is dropped before rxe gets it. */
static const union ib_gid ep_rxe_no_peer = { .raw = { 0xff } };

/*
 * RTR of a QP that was connected before. rxe makes room for READs when the QP is in RTR
 * already, and for that waits until its responder has nothing more to do (6.12, 7.2): for
 * ever, if others go on sending to the QP that they were, or are, connected to. So it gets
 * an address first from which nothing comes, and the real one last, which is what rxe does
 * in that order. What was on its way since before the RESET is answered in INIT, too: so
 * the QP has no access rights until then, as a READ would take long.
 */
static int ep_rxe_to_rtr(struct ep_qp *qp, const struct ib_qp_attr *given,
			 int mask)
{
	struct ib_qp_attr attr = *given;
	int ret;

	rdma_ah_retrieve_grh(&attr.ah_attr)->dgid = ep_rxe_no_peer;
	ret = ib_modify_qp(qp->ibqp, &attr, IB_QP_AV);
	if (ret)
		return ret;
	attr = *given;
	if (!(mask & IB_QP_ACCESS_FLAGS))
		attr.qp_access_flags = qp->access;
	return ib_modify_qp(qp->ibqp, &attr, mask | IB_QP_ACCESS_FLAGS);
}

/*
 * Twice, see ep_rxe_empty(). A READ that was being answered is only forgotten with the room
 * for READs, and would be gone on with later.
 */
static int ep_rxe_reset(struct ep_qp *qp, struct ib_qp_attr *attr)
{
	struct ib_qp_attr room = { .max_dest_rd_atomic = 1 };

	return ib_modify_qp(qp->ibqp, attr, IB_QP_STATE) ?:
	       ib_modify_qp(qp->ibqp, attr, IB_QP_STATE) ?:
	       qp->used ? ib_modify_qp(qp->ibqp, &room,
				       IB_QP_MAX_DEST_RD_ATOMIC) : 0;
}

/* As ib_modify_qp(), after ep_rxe_check_modify(); qp->lock is held. */
int ep_rxe_modify(struct ep_qp *qp, struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state state = mask & IB_QP_STATE ? attr->qp_state :
						      qp->state;
	struct ib_qp_attr init;
	bool used;
	int ret;

	if ((mask & IB_QP_STATE) && state == IB_QPS_RESET)
		return ep_rxe_reset(qp, attr);
	if (!EP_COMPAT_RXE_WORKS || qp->type != IB_QPT_RC)
		return ib_modify_qp(qp->ibqp, attr, mask);
	if (state == IB_QPS_INIT && (mask & IB_QP_ACCESS_FLAGS)) {
		init = *attr;
		if (qp->used)
			init.qp_access_flags = 0;
		ret = ib_modify_qp(qp->ibqp, &init, mask);
		if (!ret)
			qp->access = attr->qp_access_flags;
		return ret;
	}
	if ((mask & IB_QP_STATE) && state == IB_QPS_RTR) {
		/* (Of what fails half may have been done.) */
		used = qp->used;
		qp->used = true;
		if (used && ib_modify_qp_is_ok(ep_rxe_state(qp), IB_QPS_RTR,
					       qp->type, mask))
			return ep_rxe_to_rtr(qp, attr, mask);
	}
	return ib_modify_qp(qp->ibqp, attr, mask);
}

/* What ib_query_qp() has said, and the QP is to have. */
void ep_rxe_query(const struct ep_qp *qp, struct ib_qp_attr *attr)
{
	if (qp->used && attr->qp_state == IB_QPS_INIT)
		attr->qp_access_flags = qp->access;
}

/* The user's QP of that number on the device, held (ep_res_ops.hold), or NULL */
static struct ep_qp *ep_rxe_find(struct ep_dev *dev, u32 qp_num)
{
	struct ep_qp *qp, *found = NULL;

	spin_lock(&dev->lock);
	hash_for_each_possible(dev->qps, qp, by_num, qp_num) {
		if (qp->qp_num != qp_num || !qp->res.ops->hold)
			continue;
		qp->res.ops->hold(&qp->res);
		found = qp;
		break;
	}
	spin_unlock(&dev->lock);
	return found;
}

/* Does what goes there stay on this device? */
static bool ep_rxe_is_local(const struct ep_qp *qp,
			    const struct rdma_ah_attr *ah_attr)
{
	const struct ib_gid_attr *gid;

	gid = rdma_find_gid(qp->res.dev->ibdev,
			    (union ib_gid *)&rdma_ah_read_grh(ah_attr)->dgid,
			    IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
	if (IS_ERR(gid))
		return false;
	rdma_put_gid_attr(gid);
	return true;
}

/*
 * The QP is going to be connected; qp->lock is held. What it sends before it is reset may
 * be in its peer's queue when it is destroyed, so it has to be known which those are: one
 * that is there no more is forgotten if there is no room. -EBUSY if all are there. (What
 * goes to other machines is in no queue here, whatever QP has that number.)
 */
int ep_rxe_add_peer(struct ep_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	u32 qp_num = attr->dest_qp_num, i;
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr now = {};
	struct ep_qp *peer;
	int ret;

	if (!EP_COMPAT_RXE_WORKS || !ep_rxe_is_local(qp, &attr->ah_attr))
		return 0;
	if (!(mask & IB_QP_DEST_QPN)) {
		ret = ib_query_qp(qp->ibqp, &now, IB_QP_DEST_QPN, &init);
		if (ret)
			return ret;
		qp_num = now.dest_qp_num;
	}
	for (i = 0; i < qp->nr_peers; i++)
		if (qp->peers[i] == qp_num)
			return 0;
	if (qp->nr_peers < EP_RXE_PEERS) {
		qp->peers[qp->nr_peers++] = qp_num;
		return 0;
	}
	for (i = 0; i < qp->nr_peers; i++) {
		peer = ep_rxe_find(qp->res.dev, qp->peers[i]);
		if (!peer) {
			qp->peers[i] = qp_num;
			return 0;
		}
		peer->res.ops->unhold(&peer->res);
	}
	return -EBUSY;
}

/* After so many looks at a QP that was in use it is waited for. */
#define EP_RXE_MISSES		8

/*
 * For the rescue, which has other QPs to look at: qp->lock, unless it is held. A user
 * whose tasks keep it busy keeps the rescue away for EP_RXE_MISSES looks at most.
 */
static bool ep_rxe_trylock(struct ep_qp *qp)
{
	if (!mutex_trylock(&qp->lock)) {
		if (++qp->missed < EP_RXE_MISSES)
			return false;
		mutex_lock(&qp->lock);
	}
	qp->missed = 0;
	return true;
}

/*
 * Is it of the same user, or connected to the other, and not to one of that number on
 * another machine? Not as far as is known, if it is in use. (qp->ibqp is on its way out.)
 */
static bool ep_rxe_is_peer(struct ep_qp *peer, struct ep_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	bool found;

	if (READ_ONCE(peer->state) < IB_QPS_RTR)
		return false;
	if (qp->res.ops && qp->res.ops->user &&
	    qp->res.ops->user(&qp->res) == peer->res.ops->user(&peer->res))
		return true;
	if (!ep_rxe_trylock(peer))
		return false;
	found = peer->ibqp &&
		!ib_query_qp(peer->ibqp, &attr, IB_QP_DEST_QPN | IB_QP_AV,
			     &init) &&
		attr.dest_qp_num == qp->qp_num &&
		ep_rxe_is_local(peer, &attr.ah_attr);
	ep_qp_unlock(peer);
	return found;
}

/* In which a work item of rxe goes on that was interrupted, also on a busy machine */
#define EP_RXE_ANSWER_TIME	(HZ / 100 + 1)

/*
 * Who has got a message may be done with the QP, but rxe answers after it completes, and
 * no more when the QP is in another state. The sender may try for ever then, as rxe does
 * not count to 7 retries. So give it the time, as destroying a QP alone would. What has
 * completed just now, or nobody knows when, gets more of it than data that came without a
 * word. @got_at: jiffies
 */
void ep_rxe_answer(unsigned long got_at)
{
	unsigned long until = got_at + EP_RXE_ANSWER_TIME;
	long left;

	usleep_range(1000, 2000);
	left = until - jiffies;
	/* (What is long ago may look like the future.) */
	if (left > 0 && left <= EP_RXE_ANSWER_TIME)
		schedule_timeout_uninterruptible(left);
}

/* Before ep_rxe_destroy(); qp->lock is held. However much there is to send, it ends. */
void ep_rxe_end(struct ep_qp *qp)
{
	enum ib_qp_state state;

	if (!EP_COMPAT_RXE_WORKS || !qp->worn)
		return;
	state = ep_rxe_state(qp);
	if (state == IB_QPS_ERR)
		return;
	if (state >= IB_QPS_RTR && !qp->abandoned)
		ep_rxe_answer(qp->res.ops && qp->res.ops->got_at ?
			      qp->res.ops->got_at(&qp->res) : jiffies);
	ep_rxe_empty(qp);
}

/* The QP is destroyed next, with others, after ep_rxe_answer(). */
void ep_rxe_stop(struct ep_qp *qp)
{
	qp->abandoned = true;
	mutex_lock(&qp->lock);
	if (qp->ibqp && ep_is_rxe(qp->ibqp->device)) {
		/* Nobody posts while it is emptied, or any more. */
		qp->res.ops->killing(&qp->res);
		ep_rxe_end(qp);
	}
	ep_qp_unlock(qp);
}

/*
 * The device goes, so no QP is made any more. Packets of one may be in the queues of any
 * other: these are emptied first, as each QP would wait for its peer.
 */
void ep_rxe_stop_all(struct ep_dev *dev)
{
	struct list_head *all = &dev->res[EP_RES_QP];
	struct ep_qp *qp;
	bool held;

	if (!EP_COMPAT_RXE_WORKS || !ep_is_rxe(dev->ibdev))
		return;
	ep_rxe_answer(jiffies);
	do {
		spin_lock(&dev->lock);
		/* The rescue goes through the same list. */
		dev->rxe.stopped = true;
		qp = list_first_entry_or_null(all, struct ep_qp, res.entry);
		held = qp && !qp->stopped && qp->res.ops->hold;
		if (qp && qp->stopped)
			qp = NULL;
		if (qp) {
			qp->stopped = true;
			list_move_tail(&qp->res.entry, all);
		}
		if (held)
			qp->res.ops->hold(&qp->res);
		spin_unlock(&dev->lock);
		if (held) {
			ep_rxe_stop(qp);
			qp->res.ops->unhold(&qp->res);
		}
		cond_resched();
	} while (qp);
}

/*
 * The rescue: what is done about a QP or a region that rxe cannot destroy as yet, for which
 * it waits fifty seconds, and then frees it. One work item for each device does so for
 * all destroyers that wait, and is not queued while there is none. A QP that is in use has
 * its turn with the next look, and is waited for if it is in use again and again.
 */

/* What waits for longer than that is looked after, as often as that. */
#define EP_RXE_LOOK_TIME	(HZ / 4)
/* How long a QP's packets may be in other queues before those are emptied */
#define EP_RXE_PEER_TIME	(2 * HZ)
/* What failed has had time to flush. */
#define EP_RXE_FLUSH_TIME	(HZ / 2)
/* So many QPs are looked at in one go. */
#define EP_RXE_BATCH		1024

/*
 * A QP is left with a region when a completion did not fit into the CQ, and goes to ERR
 * then; and on 6.1 when it goes to ERR while a WRITE with immediate data is being worked
 * on. One that has been in ERR for a while has flushed what it could, and is emptied, once:
 * that ends what it keeps. By then a grace period has passed, for all at once, since when
 * rxe drops packets for it (see ep_qp_quiet()).
 */
static void ep_rxe_drop_region(struct ep_qp *qp)
{
	if (!ep_rxe_trylock(qp))
		return;
	if (!qp->ibqp || !ep_is_rxe(qp->ibqp->device) || qp->emptied ||
	    ep_rxe_state(qp) != IB_QPS_ERR)
		goto out;
	if (!qp->failed_at) {
		qp->failed_at = jiffies ?: 1;
		qp->failed_rcu = start_poll_synchronize_rcu();
	}
	if (time_before(jiffies, qp->failed_at + EP_RXE_FLUSH_TIME) ||
	    !poll_state_synchronize_rcu(qp->failed_rcu))
		goto out;
	qp->emptied = true;
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	qp->res.ops->quiet(&qp->res);
	qp->res.ops->forget(&qp->res);
	ep_rxe_empty(qp);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
out:
	ep_qp_unlock(qp);
}

/*
 * The next QP of this round that may keep a region, held, or NULL: that was all, or *@left
 * have been gone through.
 */
static struct ep_qp *ep_rxe_next(struct ep_dev *dev, unsigned int *left)
{
	struct list_head *all = &dev->res[EP_RES_QP];
	struct ep_qp *qp, *found = NULL;

	spin_lock(&dev->lock);
	while (!found && *left) {
		qp = list_first_entry_or_null(all, struct ep_qp, res.entry);
		if (!qp || dev->rxe.stopped || qp->looked == dev->rxe.round) {
			dev->rxe.round++;
			*left = 0;
			break;
		}
		--*left;
		qp->looked = dev->rxe.round;
		list_move_tail(&qp->res.entry, all);
		if (!qp->res.ops->hold || !qp->res.ops->kept(&qp->res))
			continue;
		qp->res.ops->hold(&qp->res);
		found = qp;
	}
	spin_unlock(&dev->lock);
	return found;
}

/* Returns whether all QPs have been looked at. */
static bool ep_rxe_drop_regions(struct ep_dev *dev)
{
	unsigned int left = EP_RXE_BATCH, round = dev->rxe.round;
	struct ep_qp *qp;

	while ((qp = ep_rxe_next(dev, &left))) {
		ep_rxe_drop_region(qp);
		qp->res.ops->unhold(&qp->res);
		cond_resched();
	}
	return dev->rxe.round != round;
}

static void ep_rxe_fail_peers(struct ep_qp *qp)
{
	struct ep_qp *peer;
	u32 i;

	for (i = 0; i < qp->nr_peers; i++) {
		peer = ep_rxe_find(qp->res.dev, qp->peers[i]);
		if (!peer)
			continue;
		/* Once: it may be connected anew. */
		if (ep_rxe_is_peer(peer, qp)) {
			ep_qp_error(peer);
			qp->peers[i] = 0;
		}
		peer->res.ops->unhold(&peer->res);
	}
}

/* One at a time, so that a destroyer waits for one only. Returns whether there was one. */
static bool ep_rxe_fail_next(struct ep_dev *dev, unsigned long look)
{
	struct ep_qp *qp;
	bool due = false;

	mutex_lock(&dev->rxe.lock);
	list_for_each_entry(qp, &dev->rxe.going, going) {
		due = time_after_eq(look, qp->look_at);
		if (!due)
			continue;
		qp->look_at = look + EP_RXE_LOOK_TIME;
		ep_rxe_fail_peers(qp);
		break;
	}
	mutex_unlock(&dev->rxe.lock);
	return due;
}

static void ep_rxe_look(struct work_struct *work)
{
	struct ep_rxe_dev *rxe = container_of(to_delayed_work(work),
					      struct ep_rxe_dev, work);
	struct ep_dev *dev = container_of(rxe, struct ep_dev, rxe);
	unsigned long look = jiffies;
	bool all = true;

	while (ep_rxe_fail_next(dev, look))
		cond_resched();
	if (atomic_read(&rxe->nr_regions))
		all = ep_rxe_drop_regions(dev);
	if (atomic_read(&rxe->nr_regions) || !list_empty_careful(&rxe->going))
		queue_delayed_work(ep_rxe_wq, &rxe->work,
				   all ? EP_RXE_LOOK_TIME : 0);
}

/* Nothing that others wait for stands in front of the rescue. */
int ep_rxe_init_engine(void)
{
	ep_rxe_wq = alloc_workqueue("rdma_ep_rxe", WQ_UNBOUND, 0);
	return ep_rxe_wq ? 0 : -ENOMEM;
}

void ep_rxe_cleanup_engine(void)
{
	destroy_workqueue(ep_rxe_wq);
}

void ep_rxe_init(struct ep_dev *dev)
{
	mutex_init(&dev->rxe.lock);
	INIT_LIST_HEAD(&dev->rxe.going);
	dev->rxe.round = 1;
	INIT_DELAYED_WORK(&dev->rxe.work, ep_rxe_look);
}

/* Nothing is destroyed any more. */
void ep_rxe_cleanup(struct ep_dev *dev)
{
	cancel_delayed_work_sync(&dev->rxe.work);
}

/*
 * Around ib_dereg_mr() of a user's region. (ep_res_ops.kept says so of the QPs that may
 * keep it.)
 */
void ep_rxe_dereg_begin(struct ep_dev *dev)
{
	if (!ep_is_rxe(dev->ibdev))
		return;
	atomic_inc(&dev->rxe.nr_regions);
	queue_delayed_work(ep_rxe_wq, &dev->rxe.work, EP_RXE_LOOK_TIME);
}

void ep_rxe_dereg_end(struct ep_dev *dev)
{
	if (ep_is_rxe(dev->ibdev))
		atomic_dec(&dev->rxe.nr_regions);
}

/*
 * As ib_destroy_qp(). What the QP has sent to another one of this machine refers to it until
 * it is looked at there, which may be after gigabytes of READs. So if it takes long its
 * peers fail, who have lost their connection anyway. Not those of others, to whom a peer's
 * number is all that it takes to be connected.
 */
int ep_rxe_destroy(struct ep_qp *qp, struct ib_qp *ibqp)
{
	struct ep_rxe_dev *rxe = &qp->res.dev->rxe;
	int ret;

	if (!EP_COMPAT_RXE_WORKS || !qp->nr_peers)
		return ib_destroy_qp(ibqp);
	mutex_lock(&rxe->lock);
	qp->look_at = jiffies + EP_RXE_PEER_TIME;
	list_add(&qp->going, &rxe->going);
	mutex_unlock(&rxe->lock);
	queue_delayed_work(ep_rxe_wq, &rxe->work, EP_RXE_LOOK_TIME);
	ret = ib_destroy_qp(ibqp);
	mutex_lock(&rxe->lock);
	list_del(&qp->going);
	mutex_unlock(&rxe->lock);
	return ret;
}
