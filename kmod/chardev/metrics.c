// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/rdma_ep: accounts, for rdma-ep metrics. A line "account KEY VALUE ..." for each, and
 * after it a line "device KEY VALUE ..." for each device that it has opened. Keys are stable,
 * others may follow. Names are escaped, as seq_escape() does it.
 *
 * The lock of accounts is held while the objects of one account are counted; each takes some ten
 * nanoseconds. Counters of the data path are those that it has anyway.
 */
#include <linux/capability.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "chardev.h"
#include "cm/cm.h"
#include "verbs/verbs.h"

#define UEP_ESCAPED	" \t\n\\\""

/* By enum uep_count */
static const char * const uep_counts[UEP_NR_COUNTS] = {
	"sent", "sent-bytes", "received", "received-bytes", "read", "read-bytes", "completions",
	"established", "disconnected", "connect-failed",
};

static void uep_count_wq(struct uep_account_dev *d, struct uep_wq *wq)
{
	spin_lock_irq(&wq->lock);
	d->sum[UEP_SENT] += wq->traffic.posted - wq->reads.posted;
	d->sum[UEP_SENT_BYTES] += wq->traffic.bytes - wq->reads.bytes;
	d->sum[UEP_READ] += wq->reads.posted;
	d->sum[UEP_READ_BYTES] += wq->reads.bytes;
	spin_unlock_irq(&wq->lock);
}

/* Called under RCU, which keeps the object and those that it depends on. */
static void uep_count_obj(struct uep_obj *obj, void *ids)
{
	struct uep_ctx *ctx = uep_obj_ctx(obj);
	struct uep_account_dev *d;
	struct uep_cq *cq;

	*(u64 *)ids += obj->type->type == RDMA_EP_OBJ_ID;
	if (!ctx)
		return;
	d = ctx->account;
	d->objs[obj->type->type]++;
	switch (obj->type->type) {
	case RDMA_EP_OBJ_MR:
		d->pinned += READ_ONCE(container_of(obj, struct uep_mr, obj)->nr_pages);
		break;
	case RDMA_EP_OBJ_CQ:
		cq = container_of(obj, struct uep_cq, obj);
		d->sum[UEP_COMPLETIONS] += READ_ONCE(cq->nr_polled);
		d->sum[UEP_RECEIVED] += READ_ONCE(cq->received.posted);
		d->sum[UEP_RECEIVED_BYTES] += READ_ONCE(cq->received.bytes);
		break;
	case RDMA_EP_OBJ_QP:
		uep_count_wq(d, &container_of(obj, struct uep_qp, obj)->sq);
		break;
	default:
		break;
	}
}

static void uep_show_account_dev(struct seq_file *m, struct uep_account_dev *d)
{
	int i;

	seq_puts(m, "device name ");
	seq_escape(m, d->name, UEP_ESCAPED);
	for (i = 0; i < UEP_NR_COUNTS; i++) {
		d->shown[i] = max(d->shown[i], d->sum[i]);
		seq_printf(m, " %s %llu", uep_counts[i], d->shown[i]);
	}
	/* Ids and their memberships belong to no context. */
	for (i = 0; i < UEP_NR_OBJ_TYPES; i++)
		if (uep_obj_names[i] && i != RDMA_EP_OBJ_ID && i != RDMA_EP_OBJ_MCAST)
			seq_printf(m, " %s %u", uep_obj_names[i], d->objs[i]);
	seq_printf(m, " pinned-bytes %llu\n", d->pinned << PAGE_SHIFT);
}

static int uep_show_account(struct seq_file *m, void *v)
{
	u64 objects = 0, queue_bytes = 0, events = 0, nr = 0, ids = 0;
	struct uep_account_dev *d;
	struct uep_account *a = v;
	struct uep_session *s;
	int i;

	list_for_each_entry(d, &a->devs, entry) {
		for (i = 0; i < UEP_NR_COUNTS; i++)
			d->sum[i] = atomic64_read(&d->past[i]);
		memset(d->objs, 0, sizeof(d->objs));
		d->pinned = 0;
	}
	/* An object that is counted in @past already is in no table any more. */
	smp_rmb();
	list_for_each_entry(s, &a->sessions, in_account) {
		nr++;
		objects += atomic64_read(&s->held[UEP_OBJS]);
		queue_bytes += atomic64_read(&s->held[UEP_QUEUE_BYTES]);
		events += READ_ONCE(s->nr_events);
		uep_each_obj(s, uep_count_obj, &ids);
	}
	seq_printf(m, "account uid %u cgroup ", from_kuid_munged(seq_user_ns(m), a->uid));
	seq_escape(m, a->path, UEP_ESCAPED);
	seq_printf(m, " sessions %llu objects %llu queue-bytes %llu unread-events %llu ids %llu",
		   nr, objects, queue_bytes, events, ids);
	for (i = 0; i < UEP_NR_REFUSALS; i++)
		seq_printf(m, " %s %llu", uep_refusals[i], (u64)atomic64_read(&a->refused[i]));
	seq_putc(m, '\n');
	list_for_each_entry(d, &a->devs, entry)
		uep_show_account_dev(m, d);
	return 0;
}

/* The position is the number of an account, which it has for its life. */
static void *uep_metrics_at(struct uep_account *a, loff_t *pos)
{
	if (a)
		*pos = a->number;
	return a;
}

static void *uep_metrics_start(struct seq_file *m, loff_t *pos)
{
	return uep_metrics_at(uep_accounts_lock(*pos), pos);
}

static void *uep_metrics_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct uep_account *a = v;

	*pos = a->number + 1;
	return uep_metrics_at(uep_accounts_next(a), pos);
}

static void uep_metrics_stop(struct seq_file *m, void *v)
{
	uep_accounts_unlock();
}

static const struct seq_operations uep_metrics_seq = {
	.start = uep_metrics_start,
	.next = uep_metrics_next,
	.stop = uep_metrics_stop,
	.show = uep_show_account,
};

/* It shows cgroups and users of the whole machine, also in a container with its root's uid. */
static int uep_metrics_open(struct inode *inode, struct file *file)
{
	return perfmon_capable() ? seq_open(file, &uep_metrics_seq) : -EPERM;
}

static const struct proc_ops uep_metrics_ops = {
	.proc_open = uep_metrics_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = seq_release,
};

int uep_metrics_init(void)
{
	return proc_create("rdma_ep", 0444, NULL, &uep_metrics_ops) ? 0 : -ENOMEM;
}

void uep_metrics_cleanup(void)
{
	remove_proc_entry("rdma_ep", NULL);
}
