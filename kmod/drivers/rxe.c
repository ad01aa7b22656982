// SPDX-License-Identifier: GPL-2.0-only
/*
 * Destroying QPs and regions of rxe. Its destroy functions wait fifty seconds for users of an
 * object, and then free the object all the same.
 *
 * By the sources of Linux 6.1, 6.12 and 7.2, and no quirk has a fix in 7.2. Where a comment
 * names no version, 6.12 and 7.2 behave so, and 6.1, too, if its operations (ep_rxe_ops) contain
 * the function.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "drivers.h"

/* A device of rxe (ep_dev.driver_data) */
struct ep_rxe_dev {
	struct ep_dev *dev;
	struct delayed_work work;	/* the rescue */
	atomic_t nr_regions;		/* that are being deregistered */
	u32 round;			/* current walk through the QPs (ep_dev.lock) */
	bool stopped;			/* only ep_rxe_stop_all() walks (the same) */
	struct mutex lock;		/* destroying; held while peers fail, outside ep_qp.lock */
	struct list_head destroying;	/* QPs that are being destroyed */
};

static struct workqueue_struct *ep_rxe_wq;

/*
 * Locks a QP for the rescue, which has to visit other QPs: a user whose tasks keep the QP locked
 * delays the rescue only with every EP_RXE_MISSES-th visit.
 */
#define EP_RXE_MISSES		8

static bool ep_rxe_trylock(struct ep_qp *qp)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);

	if (!mutex_trylock(&qp->lock)) {
		if (++rxe->missed < EP_RXE_MISSES)
			return false;
		mutex_lock(&qp->lock);
	}
	rxe->missed = 0;
	return true;
}

/*
 * Does @peer belong to the same user as @qp, which is being destroyed, or is it connected to @qp,
 * and not to a QP of that number on another machine? False if it is locked.
 */
static bool ep_rxe_is_peer(struct ep_qp *peer, struct ep_qp *qp)
{
	struct ib_qp_attr attr;
	bool found;

	if (READ_ONCE(peer->state) < IB_QPS_RTR)
		return false;
	if (qp->res.ops && qp->res.ops->user(&qp->res) == peer->res.ops->user(&peer->res))
		return true;
	if (!ep_rxe_trylock(peer))
		return false;
	found = peer->ibqp && !ep_rxe_query(peer, &attr, IB_QP_DEST_QPN | IB_QP_AV) &&
		attr.dest_qp_num == qp->qp_num && ep_rxe_is_local(peer, &attr.ah_attr);
	ep_qp_unlock(peer);
	return found;
}

/* An interrupted work item of rxe resumes within this time on a busy machine. */
#define EP_RXE_ACK_TIME		(HZ / 100 + 1)
/* The same in a guest, whose host may interrupt the CPU itself */
#define EP_RXE_ACK_TIME_MAX	(HZ / 5)
/* After a wait beyond EP_RXE_ACK_TIME no wait is longer than that, for so many times its time. */
#define EP_RXE_HASTE		4
/* Intervals of the looks, us: the first, as a work item takes a few, doubles up to the last. */
#define EP_RXE_ACK_LOOK		10
#define EP_RXE_ACK_LOOK_MAX	640
/* Of more running workers, or among more processes, the wait does not look at each. */
#define EP_RXE_WORKERS		32
#define EP_RXE_PROCESSES	4096

/* A kernel worker that was inside a work item, perhaps interrupted there */
struct ep_rxe_worker {
	struct task_struct *task;	/* holds a reference */
	unsigned long nvcsw;
};

static bool ep_rxe_worker_runs(const struct ep_rxe_worker *w)
{
	return READ_ONCE(w->task->__state) == TASK_RUNNING &&
	       READ_ONCE(w->task->nvcsw) == w->nvcsw;
}

/* Fills in the running workers. *@all: these are all of them */
static u32 ep_rxe_running_workers(struct ep_rxe_worker *workers, bool *all)
{
	u32 nr = 0, left = EP_RXE_PROCESSES;
	struct task_struct *p;

	rcu_read_lock();
	for_each_process(p) {
		struct ep_rxe_worker w = { .task = p, .nvcsw = READ_ONCE(p->nvcsw) };

		if (!left-- || nr == EP_RXE_WORKERS)
			break;
		if (!(p->flags & PF_WQ_WORKER) || p == current || !ep_rxe_worker_runs(&w))
			continue;
		get_task_struct(p);
		workers[nr++] = w;
	}
	/* The end of the list is its head. */
	*all = p == &init_task;
	rcu_read_unlock();
	return nr;
}

/*
 * rxe acknowledges a message only after delivering its completion, and not at all once the QP has
 * left RTS. The sender may repeat it for ever then, as rxe does not count 7 retries. A work item
 * does both and does not sleep in between, so this waits until each worker that runs now has
 * finished an item, or sleeps (RXE-20). Before Linux 6.11 other contexts do both, too: this sleeps
 * for EP_RXE_ACK_TIME then, within which an interrupted one resumes.
 */
static void ep_rxe_wait_acks(void)
{
	static unsigned long hasty_until = INITIAL_JIFFIES;
	unsigned long begin = jiffies;
	bool hasty = time_before(begin, READ_ONCE(hasty_until));
	unsigned long end = begin + (hasty ? EP_RXE_ACK_TIME : EP_RXE_ACK_TIME_MAX);
	struct ep_rxe_worker workers[EP_RXE_WORKERS];
	u32 us = EP_RXE_ACK_LOOK;
	bool all;
	u32 i, nr = ep_rxe_running_workers(workers, &all);

	if (!all || !EP_COMPAT_QP_ONLY_WORK_ITEMS)
		schedule_timeout_uninterruptible(EP_RXE_ACK_TIME);
	for (i = 0; i < nr; i++) {
		while (ep_rxe_worker_runs(&workers[i]) && time_before(jiffies, end)) {
			usleep_range(us, 2 * us);
			if (us < EP_RXE_ACK_LOOK_MAX)
				us *= 2;
		}
		put_task_struct(workers[i].task);
	}
	/* schedule_timeout() takes one tick more. */
	if (!hasty && time_after(jiffies, begin + EP_RXE_ACK_TIME + 1))
		WRITE_ONCE(hasty_until, jiffies + EP_RXE_HASTE * (jiffies - begin));
}

/* A QP in @state ends next. UC and UD acknowledge nothing. */
static void ep_rxe_qp_wait_acks(struct ep_qp *qp, enum ib_qp_state state)
{
	if (qp->type == IB_QPT_RC && state >= IB_QPS_RTR && state != IB_QPS_ERR &&
	    !ep_rxe_qp(qp)->acked)
		ep_rxe_wait_acks();
}

/* A QP of a removed device has no ibqp, but keeps its state. */
static void ep_rxe_before_end(struct ep_qp *qp)
{
	if (READ_ONCE(qp->ibqp))
		ep_rxe_qp_wait_acks(qp, READ_ONCE(qp->state));
}

/* Ends sending and receiving, however much is posted. */
static void ep_rxe_before_destroy(struct ep_qp *qp)
{
	enum ib_qp_state state;

	if (!qp->tainted)
		return;
	state = ep_rxe_state(qp);
	if (state == IB_QPS_ERR)
		return;
	ep_rxe_qp_wait_acks(qp, state);
	ep_rxe_empty(qp);
}

/* Called after ep_rxe_wait_acks(). */
static void ep_rxe_stop_acked(struct ep_qp *qp)
{
	guard(ep_qp)(qp);
	ep_rxe_qp(qp)->acked = true;
	if (!qp->ibqp)
		return;
	/* No task posts while it is emptied, or later. */
	qp->res.ops->before_destroy(&qp->res);
	ep_rxe_before_destroy(qp);
}

static void ep_rxe_stop(struct ep_qp *qp, bool *waited)
{
	if (!*waited)
		ep_rxe_wait_acks();
	*waited = true;
	ep_rxe_stop_acked(qp);
}

/* The next QP of the current walk, or NULL; dev->lock is held. */
static struct ep_qp *ep_rxe_walk(struct ep_dev *dev)
{
	struct list_head *all = &dev->res[EP_RES_QP];
	struct ep_rxe_dev *rxe = dev->driver_data;
	struct ep_qp *qp;

	qp = list_first_entry_or_null(all, struct ep_qp, res.entry);
	if (!qp || ep_rxe_qp(qp)->round == rxe->round)
		return NULL;
	ep_rxe_qp(qp)->round = rxe->round;
	list_move_tail(&qp->res.entry, all);
	return qp;
}

/*
 * The device is being removed, so no QP is created any more. Packets of one may be in the queues
 * of any other: all are emptied first, as otherwise the destruction of each waits for its peer.
 */
static void ep_rxe_stop_all(struct ep_dev *dev)
{
	struct ep_rxe_dev *rxe = dev->driver_data;
	struct ep_qp *qp;

	ep_rxe_wait_acks();
	spin_lock(&dev->lock);
	rxe->stopped = true;
	rxe->round++;
	while ((qp = ep_rxe_walk(dev))) {
		qp->res.ops->get(&qp->res);
		spin_unlock(&dev->lock);
		ep_rxe_stop_acked(qp);
		qp->res.ops->put(&qp->res);
		cond_resched();
		spin_lock(&dev->lock);
	}
	spin_unlock(&dev->lock);
}

/*
 * The rescue: rxe waits fifty seconds for a QP or a region that it cannot destroy as yet, and
 * then frees it. One work item for each device ends such waits of all destroyers; it is not
 * queued while there are none. It visits a locked QP again with the next look, and waits for its
 * lock after some of these. (RXE-03)
 */

/* Interval of the looks; shorter waits end by themselves. */
#define EP_RXE_LOOK_TIME	(HZ / 4)
/* A QP's packets may be in other queues for this time before those are emptied. */
#define EP_RXE_PEER_TIME	(2 * HZ)
/* A QP in ERR flushes its queues within this time. */
#define EP_RXE_FLUSH_TIME	(HZ / 2)
/* QPs that one run visits */
#define EP_RXE_BATCH		1024

/*
 * A QP keeps a region when a completion does not fit into the CQ, and moves to ERR; and on 6.1
 * when it moves to ERR during a WRITE with immediate data. After some time in ERR it has flushed
 * its queues as far as it can. Emptying it then, once, ends its use of the region. A grace period
 * has passed by then, for all QPs at once, since when rxe drops packets for it (see
 * ep_rxe_before_reset()). (RXE-21)
 */
static void ep_rxe_drop_region(struct ep_qp *qp)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);

	if (!ep_rxe_trylock(qp))
		return;
	if (!qp->ibqp || rxe->emptied || ep_rxe_state(qp) != IB_QPS_ERR)
		goto out;
	if (!rxe->failed_at) {
		rxe->failed_at = jiffies ?: 1;
		rxe->failed_rcu = start_poll_synchronize_rcu();
	}
	if (time_before(jiffies, rxe->failed_at + EP_RXE_FLUSH_TIME) ||
	    !poll_state_synchronize_rcu(rxe->failed_rcu))
		goto out;
	rxe->emptied = true;
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	qp->res.ops->stop_posts(&qp->res);
	qp->res.ops->reap(&qp->res);
	ep_rxe_empty(qp);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
out:
	ep_qp_unlock(qp);
}

/* The next QP that may keep a region with a reference; NULL after the last, or when *@left is 0 */
static struct ep_qp *ep_rxe_next(struct ep_dev *dev, unsigned int *left)
{
	struct ep_rxe_dev *rxe = dev->driver_data;
	struct ep_qp *qp = NULL;

	spin_lock(&dev->lock);
	for (; *left; --*left) {
		qp = rxe->stopped ? NULL : ep_rxe_walk(dev);
		if (!qp || qp->res.ops->dereg_pending(&qp->res))
			break;
		qp = NULL;
	}
	if (qp)
		qp->res.ops->get(&qp->res);
	else if (*left && !rxe->stopped)
		rxe->round++;
	spin_unlock(&dev->lock);
	return qp;
}

/* Returns whether all QPs have been visited. */
static bool ep_rxe_drop_regions(struct ep_rxe_dev *rxe)
{
	unsigned int left = EP_RXE_BATCH;
	struct ep_qp *qp;

	while ((qp = ep_rxe_next(rxe->dev, &left))) {
		left--;
		ep_rxe_drop_region(qp);
		qp->res.ops->put(&qp->res);
		cond_resched();
	}
	return left;
}

static void ep_rxe_fail_peers(struct ep_qp *qp)
{
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);
	struct ep_dev *dev = qp->res.dev;
	struct ep_qp *peer;
	u32 i;

	for (i = 0; i < EP_RXE_PEERS; i++) {
		spin_lock(&dev->lock);
		peer = ep_rxe_find(dev, rxe->peers[i]);
		if (peer)
			peer->res.ops->get(&peer->res);
		spin_unlock(&dev->lock);
		if (!peer)
			continue;
		/* Once: it may be connected anew. */
		if (ep_rxe_is_peer(peer, qp)) {
			ep_qp_error(peer);
			rxe->peers[i] = 0;
		}
		peer->res.ops->put(&peer->res);
	}
}

/* One at a time: a task that destroys a QP waits for one. Returns whether there was one. */
static bool ep_rxe_fail_next(struct ep_rxe_dev *rxe, unsigned long look)
{
	struct ep_rxe_qp *qp;

	guard(mutex)(&rxe->lock);
	list_for_each_entry(qp, &rxe->destroying, entry) {
		if (time_before(look, qp->look_at))
			continue;
		qp->look_at = look + EP_RXE_LOOK_TIME;
		ep_rxe_fail_peers(container_of((void *)qp, struct ep_qp, driver_data));
		return true;
	}
	return false;
}

static void ep_rxe_look(struct work_struct *work)
{
	struct ep_rxe_dev *rxe = container_of(to_delayed_work(work), struct ep_rxe_dev, work);
	unsigned long look = jiffies;
	bool all = true;

	while (ep_rxe_fail_next(rxe, look))
		cond_resched();
	if (atomic_read(&rxe->nr_regions))
		all = ep_rxe_drop_regions(rxe);
	if (atomic_read(&rxe->nr_regions) || !list_empty_careful(&rxe->destroying))
		queue_delayed_work(ep_rxe_wq, &rxe->work, all ? EP_RXE_LOOK_TIME : 0);
}

static int ep_rxe_add(struct ep_dev *dev)
{
	struct ep_rxe_dev *rxe = kzalloc(sizeof(*rxe), GFP_KERNEL);

	if (!rxe)
		return -ENOMEM;
	rxe->dev = dev;
	mutex_init(&rxe->lock);
	INIT_LIST_HEAD(&rxe->destroying);
	rxe->round = 1;
	INIT_DELAYED_WORK(&rxe->work, ep_rxe_look);
	dev->driver_data = rxe;
	return 0;
}

static void ep_rxe_remove(struct ep_dev *dev)
{
	struct ep_rxe_dev *rxe = dev->driver_data;

	cancel_delayed_work_sync(&rxe->work);
	kfree(rxe);
}

/* rxe allocates 16 bytes a page in one piece, which ib_core warns of. (Early 6.12 did not.) */
static u64 ep_rxe_max_mr_pages(void)
{
	return KMALLOC_MAX_SIZE / 16;
}

/* ep_res_ops.dereg_pending is true meanwhile for QPs that may keep the region. */
static int ep_rxe_dereg_mr(struct ep_dev *dev, struct ib_mr *mr)
{
	struct ep_rxe_dev *rxe = dev->driver_data;
	int ret;

	atomic_inc(&rxe->nr_regions);
	queue_delayed_work(ep_rxe_wq, &rxe->work, EP_RXE_LOOK_TIME);
	ret = ib_dereg_mr(mr);
	atomic_dec(&rxe->nr_regions);
	return ret;
}

/*
 * Packets that the QP has sent to another one of this machine refer to it until rxe processes
 * them there, which may be after gigabytes of READs. So if that takes long its peers move to ERR,
 * which have lost their connection anyway. QPs of other users do not: connecting to them takes
 * only a number. (RXE-04)
 */
static int ep_rxe_destroy(struct ep_qp *qp, struct ib_qp *ibqp)
{
	struct ep_rxe_dev *dev = qp->res.dev->driver_data;
	struct ep_rxe_qp *rxe = ep_rxe_qp(qp);
	int ret;

	if (!memchr_inv(rxe->peers, 0, sizeof(rxe->peers)))
		return ib_destroy_qp(ibqp);
	scoped_guard(mutex, &dev->lock) {
		rxe->look_at = jiffies + EP_RXE_PEER_TIME;
		list_add(&rxe->entry, &dev->destroying);
	}
	queue_delayed_work(ep_rxe_wq, &dev->work, EP_RXE_LOOK_TIME);
	ret = ib_destroy_qp(ibqp);
	scoped_guard(mutex, &dev->lock)
		list_del(&rxe->entry);
	return ret;
}

/* rxe's tasks are work items, or tasklets (6.1). */
#define EP_RXE_WORKS(fn)	(EP_COMPAT_QP_WORK_ITEMS ? (fn) : NULL)
#define EP_RXE_TASKLETS(fn)	(EP_COMPAT_QP_WORK_ITEMS ? NULL : (fn))

const struct ep_driver_ops ep_rxe_ops = {
	.add = ep_rxe_add,
	.stop_all = EP_RXE_WORKS(ep_rxe_stop_all),
	.remove = ep_rxe_remove,
	.max_mr_pages = EP_RXE_WORKS(ep_rxe_max_mr_pages),
	.dereg_mr = ep_rxe_dereg_mr,
	.before_modify = ep_rxe_before_modify,
	.before_end = EP_RXE_WORKS(ep_rxe_before_end),
	.before_reset = EP_RXE_TASKLETS(ep_rxe_before_reset),
	.modify = ep_rxe_modify,
	.after_query = ep_rxe_after_query,
	.stop_receiving = ep_rxe_stop_receiving,
	.stop = EP_RXE_WORKS(ep_rxe_stop),
	.before_destroy = EP_RXE_WORKS(ep_rxe_before_destroy),
	.destroy = EP_RXE_WORKS(ep_rxe_destroy),
};

/* A queue of its own: no other work delays the rescue. */
int ep_rxe_init(void)
{
	ep_rxe_wq = alloc_workqueue("rdma_ep_rxe", WQ_UNBOUND, 0);
	return ep_rxe_wq ? 0 : -ENOMEM;
}

void ep_rxe_exit(void)
{
	destroy_workqueue(ep_rxe_wq);
}
