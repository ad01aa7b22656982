// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all layers need of a session: its references, the work queue that its files end
 * on, the sums of what has been posted.
 */
#include <linux/slab.h>

#include "core.h"

/*
 * Tears sessions down. A file is closed where the task may have lost already what
 * makes it a task (memory, namespaces), so the work is done here. Not
 * WQ_MEM_RECLAIM: it flushes queues of the CM that are not.
 */
static struct workqueue_struct *uep_session_wq;

static void uep_session_free(struct kref *ref)
{
	struct uep_session *s = container_of(ref, struct uep_session, ref);

	xa_destroy(&s->objs);
	xa_destroy(&s->qps);
	xa_destroy(&s->default_ctxs);
	uep_rings_cleanup(s);
	uep_uncharge_file(s->user);
	uep_user_put(s->user);
	kfree(s);
}

void uep_session_get(struct uep_session *s)
{
	kref_get(&s->ref);
}

void uep_session_put(struct uep_session *s)
{
	kref_put(&s->ref, uep_session_free);
}

/*
 * Executes the work of a file that has been closed. Ports and memory are free again when
 * the last close() or munmap() returns, or when the parent learns that the task is dead.
 * That may take long, and another user's task may only have been sent the file, or have
 * looked at it. (Not in the task itself: a driver may take its signals away.)
 * The caller keeps the work's memory. Returns false if it was queued already.
 */
bool uep_session_run(struct uep_session *s, struct work_struct *work)
{
	bool wait = !(current->flags & PF_KTHREAD) && uep_user_is_current(s->user);
	bool queued = queue_work(uep_session_wq, work);

	if (wait)
		flush_work(work);
	return queued;
}

int uep_session_init(void)
{
	/* Whoever waits for a device or a peer is to hold up nobody else. */
	uep_session_wq = alloc_workqueue("rdma_ep_session", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return uep_session_wq ? 0 : -ENOMEM;
}

void uep_session_cleanup(void)
{
	destroy_workqueue(uep_session_wq);
}

void uep_past_add(struct uep_past *past, const struct uep_traffic *t)
{
	atomic64_add(t->posted, &past->posted);
	atomic64_add(t->bytes, &past->bytes);
}
