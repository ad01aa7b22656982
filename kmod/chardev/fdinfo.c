// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects, memory and traffic of a session: /proc/PID/fdinfo/FD of its file. One
 * "key:<tab>value" a line, as in proc(5); keys are stable, others may follow.
 */
#include <linux/seq_file.h>
#include <rdma/rdma_user_cm.h>

#include "chardev.h"
#include "cm/cm.h"
#include "verbs/verbs.h"

/* By enum rdma_ep_obj_type */
const char * const uep_obj_names[UEP_NR_OBJ_TYPES] = {
	[RDMA_EP_OBJ_CTX] = "contexts",
	[RDMA_EP_OBJ_ID] = "ids",
	[RDMA_EP_OBJ_PD] = "pds",
	[RDMA_EP_OBJ_MR] = "mrs",
	[RDMA_EP_OBJ_AH] = "ahs",
	[RDMA_EP_OBJ_CQ] = "cqs",
	[RDMA_EP_OBJ_SRQ] = "srqs",
	[RDMA_EP_OBJ_QP] = "qps",
	[RDMA_EP_OBJ_MCAST] = "memberships",
	[RDMA_EP_OBJ_XRCD] = "xrcds",
};

struct uep_sums {
	u32 objs[UEP_NR_OBJ_TYPES];
	struct uep_traffic sends;
	struct uep_traffic recvs;
	u64 polled;
	u64 pinned;
};

static void uep_sum_past(struct uep_traffic *sum, struct uep_past *past)
{
	sum->posted = atomic64_read(&past->posted);
	sum->bytes = atomic64_read(&past->bytes);
}

static void uep_sum_wq(struct uep_traffic *sum, struct uep_wq *wq)
{
	/* Handlers take that of an SRQ. */
	spin_lock_irq(&wq->lock);
	sum->posted += wq->traffic.posted;
	sum->bytes += wq->traffic.bytes;
	spin_unlock_irq(&wq->lock);
}

static void uep_sum_obj(struct uep_obj *obj, void *arg)
{
	struct uep_sums *sums = arg;
	struct uep_qp *qp;

	sums->objs[obj->type->type]++;
	switch (obj->type->type) {
	case RDMA_EP_OBJ_MR:
		sums->pinned += READ_ONCE(container_of(obj, struct uep_mr, obj)->nr_pages)
				<< PAGE_SHIFT;
		break;
	case RDMA_EP_OBJ_CQ:
		sums->polled += READ_ONCE(container_of(obj, struct uep_cq, obj)->nr_polled);
		break;
	case RDMA_EP_OBJ_SRQ:
		uep_sum_wq(&sums->recvs, &container_of(obj, struct uep_srq, obj)->wq);
		break;
	case RDMA_EP_OBJ_QP:
		qp = container_of(obj, struct uep_qp, obj);
		uep_sum_wq(&sums->sends, &qp->sq);
		uep_sum_wq(&sums->recvs, &qp->rq);
		break;
	default:
		break;
	}
}

/* The latest event decides. Called between ep_id_begin() and ep_id_end(). */
static const char *uep_id_state(const struct uep_id *id)
{
	const struct rdma_addr *addr = &id->id.cm_id->route.addr;

	if (id->id.listening)
		return "listening";
	if (id->id.request)
		return "request";
	switch (READ_ONCE(id->last)) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return "connected";
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return "disconnected";
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		return "failed";
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return "removed";
	}
	if (id->id.has_conn)
		return "connecting";
	/* rdma_bind_addr() sets the family of both. */
	if (memchr_inv(addr->dst_addr.__data, 0, sizeof(addr->dst_addr.__data)))
		return "resolved";
	return addr->src_addr.ss_family ? "bound" : "idle";
}

static const char *uep_ps_name(enum rdma_ucm_port_space ps)
{
	switch (ps) {
	case RDMA_PS_IPOIB:
		return "ipoib";
	case RDMA_PS_IB:
		return "ib";
	case RDMA_PS_TCP:
		return "tcp";
	default:
		return "udp";
	}
}

static void uep_show_addr(struct seq_file *m, const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET || ss->ss_family == AF_INET6)
		seq_printf(m, " %pISpc", ss);
	else
		seq_puts(m, ss->ss_family ? " gid" : " -");
}

/* handle, port space, state, source, destination, device, QP number */
static void uep_show_id(struct seq_file *m, struct uep_id *id)
{
	struct rdma_cm_id *cm_id;
	struct ep_dev *dev;
	struct ep_qp *qp;

	/* A task may hold the lock for long. */
	if (!mutex_trylock(&id->id.lock)) {
		seq_printf(m, "id:\t%u - busy - - - -\n", id->obj.handle);
		return;
	}
	if (id->id.closed) {
		seq_printf(m, "id:\t%u - removed - - - -\n", id->obj.handle);
		goto out;
	}
	cm_id = id->id.cm_id;
	seq_printf(m, "id:\t%u %s %s", id->obj.handle, uep_ps_name(cm_id->ps), uep_id_state(id));
	uep_show_addr(m, &cm_id->route.addr.src_addr);
	uep_show_addr(m, &cm_id->route.addr.dst_addr);
	dev = ep_id_dev(&id->id);
	seq_printf(m, " %s", dev ? cm_id->device->name : "-");
	ep_dev_put(dev);
	qp = ep_id_get_qp(&id->id);
	if (qp)
		seq_printf(m, " %u\n", qp->qp_num);
	else
		seq_puts(m, " -\n");
	ep_id_put_qp(&id->id, qp);
out:
	ep_id_end(&id->id);
}

static void uep_show_session(struct seq_file *m, struct uep_session *s)
{
	struct uep_sums sums = {};
	unsigned long handle;
	struct uep_obj *obj;
	int i;

	uep_sum_past(&sums.sends, &s->past_sends);
	uep_sum_past(&sums.recvs, &s->past_recvs);
	sums.polled = atomic64_read(&s->past_polled);
	uep_each_obj(s, uep_sum_obj, &sums);
	seq_printf(m, "session:\t%llu\n", s->number);
	uep_quota_show(m, s);
	for (i = 0; i < UEP_NR_OBJ_TYPES; i++)
		if (uep_obj_names[i])
			seq_printf(m, "%s:\t%u\n", uep_obj_names[i], sums.objs[i]);
	seq_printf(m, "pinned-memory:\t%llu KiB\n", sums.pinned >> 10);
	seq_printf(m, "unread-events:\t%u\n", READ_ONCE(s->nr_events));
	seq_printf(m, "sends:\t%llu\n", sums.sends.posted);
	seq_printf(m, "send-bytes:\t%llu\n", sums.sends.bytes);
	seq_printf(m, "receives:\t%llu\n", sums.recvs.posted);
	seq_printf(m, "receive-bytes:\t%llu\n", sums.recvs.bytes);
	seq_printf(m, "completions:\t%llu\n", sums.polled);
	uep_restrictions_show(m, s);
	uep_for_each_obj(obj, s, handle, RDMA_EP_OBJ_ID, NULL) {
		uep_show_id(m, container_of(obj, struct uep_id, obj));
		if (seq_has_overflowed(m)) {
			uep_obj_put(obj);
			break;
		}
	}
}

/* Nothing if another owner has adopted the session. */
void uep_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct uep_owner *owner = file->private_data;
	struct uep_session *s = uep_owner_session(owner);

	if (!s)
		return;
	uep_show_session(m, s);
	seq_printf(m, "owner:\t%s\n", uep_owner_ended(owner) ? "none" : "file");
	uep_session_put(s);
}
