// SPDX-License-Identifier: GPL-2.0-only
/* Objects with numbers and their handlers; completion queues and shared receive queues. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mock.h"

/* @max: limit, without the core's own objects. Returns -ENOMEM at the limit. */
int mock_count_add(struct mock_dev *m, enum mock_kind kind, int max)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&m->lock, flags);
	if (m->count[kind] - m->base[kind] >= max)
		ret = -ENOMEM;
	else
		m->count[kind]++;
	spin_unlock_irqrestore(&m->lock, flags);
	return ret;
}

void mock_count_sub(struct mock_dev *m, enum mock_kind kind)
{
	unsigned long flags;

	spin_lock_irqsave(&m->lock, flags);
	m->count[kind]--;
	spin_unlock_irqrestore(&m->lock, flags);
}

/* @num: required number, or 0 for any */
int mock_obj_add(struct mock_dev *m, struct mock_obj *obj, enum mock_kind kind, u32 num)
{
	int ret;

	obj->kind = kind;
	obj->num = num;
	INIT_LIST_HEAD(&obj->entry);
	if (num)
		ret = xa_insert(&m->objs[kind], num, obj, GFP_KERNEL);
	else
		ret = xa_alloc_cyclic(&m->objs[kind], &obj->num, obj,
				      XA_LIMIT(17, 0xffffff), &m->next[kind], GFP_KERNEL);
	if (ret < 0)
		return ret;
	WRITE_ONCE(m->last[kind], obj->num);
	return 0;
}

static bool mock_obj_idle(struct mock_dev *m, struct mock_obj *obj)
{
	bool idle;

	spin_lock_irq(&m->lock);
	if (!list_empty(&obj->entry))
		list_del_init(&obj->entry);
	idle = !obj->calls;
	spin_unlock_irq(&m->lock);
	return idle;
}

/* No handler of the object runs after this. */
void mock_obj_del(struct mock_dev *m, struct mock_obj *obj)
{
	xa_erase(&m->objs[obj->kind], obj->num);
	wait_event(m->idle, mock_obj_idle(m, obj));
}

static void mock_call_event(struct mock_dev *m, struct mock_obj *obj, u32 type)
{
	struct ib_event event = { .device = &m->ibdev, .event = type };
	struct ib_srq *srq;
	struct ib_qp *qp;
	struct ib_cq *cq;

	switch (obj->kind) {
	case MOCK_QP:
		qp = &container_of(obj, struct mock_qp, obj)->ibqp;
		event.element.qp = qp;
		if (qp->event_handler)
			qp->event_handler(&event, qp->qp_context);
		break;
	case MOCK_CQ:
		cq = &container_of(obj, struct mock_cq, obj)->ibcq;
		event.element.cq = cq;
		if (cq->event_handler)
			cq->event_handler(&event, cq->cq_context);
		break;
	default:
		srq = &container_of(obj, struct mock_srq, obj)->ibsrq;
		event.element.srq = srq;
		if (srq->event_handler)
			srq->event_handler(&event, srq->srq_context);
	}
}

static void mock_call(struct mock_dev *m, struct mock_obj *obj, u32 events, bool comp)
{
	struct ib_cq *cq;

	if (comp) {
		cq = &container_of(obj, struct mock_cq, obj)->ibcq;
		if (cq->comp_handler)
			cq->comp_handler(cq, cq->cq_context);
	}
	for (; events; events &= events - 1)
		mock_call_event(m, obj, __ffs(events));
}

/* Schedules or calls the pending handlers of an object; m->lock is held. */
static void mock_raised(struct mock_dev *m, struct mock_obj *obj)
{
	u32 events = obj->events;
	bool comp = obj->comp;

	if (m->context != MOCK_CONTEXT_LOCKED) {
		if (list_empty(&obj->entry))
			list_add_tail(&obj->entry, &m->raised);
		return;
	}
	obj->events = 0;
	obj->comp = false;
	mock_call(m, obj, events, comp);
}

/* m->lock is held. The caller releases it by mock_unlock(). */
void mock_raise(struct mock_dev *m, struct mock_obj *obj, enum ib_event_type event)
{
	/* Events without a bit in the mask are reported at once. */
	if (event >= BITS_PER_TYPE(obj->events)) {
		mock_call_event(m, obj, event);
		return;
	}
	obj->events |= BIT(event);
	mock_raised(m, obj);
}

/* Calls all pending handlers in the context of the caller. */
void mock_dispatch(struct mock_dev *m)
{
	struct mock_obj *obj;
	unsigned long flags;
	u32 events;
	bool comp;

	spin_lock_irqsave(&m->lock, flags);
	while ((obj = list_first_entry_or_null(&m->raised, struct mock_obj, entry))) {
		list_del_init(&obj->entry);
		events = obj->events;
		comp = obj->comp;
		obj->events = 0;
		obj->comp = false;
		obj->calls++;
		spin_unlock_irqrestore(&m->lock, flags);
		mock_call(m, obj, events, comp);
		spin_lock_irqsave(&m->lock, flags);
		if (!--obj->calls)
			wake_up_all(&m->idle);
	}
	spin_unlock_irqrestore(&m->lock, flags);
}

void mock_irq_work(struct irq_work *work)
{
	struct mock_dev *m = container_of(work, struct mock_dev, irq_work);

	WARN_ON_ONCE(!in_hardirq());
	mock_dispatch(m);
}

void mock_work(struct work_struct *work)
{
	mock_dispatch(container_of(work, struct mock_dev, work));
}

/* Releases m->lock, and lets the pending handlers run in the chosen context. */
void mock_unlock(struct mock_dev *m, unsigned long flags)
	__releases(&m->lock)
{
	u32 context = READ_ONCE(m->context);
	bool any = !list_empty(&m->raised);

	spin_unlock_irqrestore(&m->lock, flags);
	if (!any)
		return;
	switch (context) {
	case MOCK_CONTEXT_IRQ:
		irq_work_queue(&m->irq_work);
		break;
	case MOCK_CONTEXT_WORK:
		queue_work(system_long_wq, &m->work);
		break;
	default:
		mock_dispatch(m);
	}
}

/* Depth of a queue in the driver, in the results of its creation and of a query */
u32 mock_depth(struct mock_dev *m, u32 wanted)
{
	return m->caps == MOCK_CAPS_EXACT ? wanted : 2 * wanted;
}

u32 mock_granted(struct mock_dev *m, u32 wanted)
{
	return m->caps == MOCK_CAPS_MORE ? 2 * wanted : wanted;
}

u32 mock_queried(struct mock_dev *m, u32 wanted)
{
	return m->caps == MOCK_CAPS_SILENT ? wanted : mock_depth(m, wanted);
}

int mock_wq_init(struct mock_wq *wq, u32 size)
{
	wq->size = size;
	if (!size)
		return 0;
	wq->ring = kvcalloc(size, sizeof(*wq->ring), GFP_KERNEL);
	return wq->ring ? 0 : -ENOMEM;
}

/* Adds a completion; m->lock is held. */
void mock_cq_add(struct mock_cq *cq, const struct ib_wc *wc, bool solicited)
{
	struct mock_dev *m = to_mock(cq->ibcq.device);

	if (cq->used == cq->size) {
		mock_raise(m, &cq->obj, IB_EVENT_CQ_ERR);
		return;
	}
	cq->ring[(cq->head + cq->used++) % cq->size] = *wc;
	if (!cq->notify || (cq->notify == IB_CQ_SOLICITED && !solicited &&
			    wc->status == IB_WC_SUCCESS))
		return;
	cq->notify = 0;
	cq->obj.comp = true;
	mock_raised(m, &cq->obj);
}

static int mock_cq_init(struct mock_cq *cq, const struct ib_cq_init_attr *attr)
{
	struct mock_dev *m = to_mock(cq->ibcq.device);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	ret = mock_count_add(m, MOCK_CQ, m->attr.max_cq);
	if (ret)
		return ret;
	cq->size = mock_depth(m, attr->cqe);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	ret = cq->ring ? mock_obj_add(m, &cq->obj, MOCK_CQ, 0) : -ENOMEM;
	if (ret) {
		kvfree(cq->ring);
		mock_count_sub(m, MOCK_CQ);
		return ret;
	}
	cq->ibcq.cqe = mock_granted(m, attr->cqe);
	return 0;
}

#ifdef HAVE_CREATE_CQ_ATTRS
int mock_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
#else
int mock_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
#endif
{
	return MOCK_GATE(ibcq->device, create_cq) ?:
	       mock_cq_init(to_mock_cq(ibcq), attr);
}

int mock_resize_cq(struct ib_cq *ibcq, MOCK_CQE_TYPE cqe, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibcq->device);
	struct mock_cq *cq = to_mock_cq(ibcq);
	int ret = MOCK_GATE(ibcq->device, resize_cq);
	struct ib_wc *ring;
	u32 i;

	if (ret)
		return ret;
	ring = kvcalloc(cqe, sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return -ENOMEM;
	spin_lock_irq(&m->lock);
	if (cqe < cq->used) {
		ret = -EINVAL;
	} else {
		for (i = 0; i < cq->used; i++)
			ring[i] = cq->ring[(cq->head + i) % cq->size];
		swap(ring, cq->ring);
		cq->head = 0;
		cq->size = cqe;
		ibcq->cqe = cqe;
	}
	spin_unlock_irq(&m->lock);
	kvfree(ring);
	return ret;
}

/* Accepts the values without effect. */
int mock_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	return MOCK_GATE(ibcq->device, modify_cq);
}

int mock_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibcq->device);
	struct mock_cq *cq = to_mock_cq(ibcq);
	int ret = MOCK_GATE(ibcq->device, destroy_cq);

	if (ret)
		return ret;
	mock_obj_del(m, &cq->obj);
	kvfree(cq->ring);
	mock_count_sub(m, MOCK_CQ);
	return 0;
}

/* Like drivers of hardware, fills in only the mandatory members of a failed completion. */
static void mock_fill_wc(struct ib_wc *wc, const struct ib_wc *cqe)
{
	if (cqe->status == IB_WC_SUCCESS) {
		*wc = *cqe;
		return;
	}
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->vendor_err = cqe->vendor_err;
	wc->qp = cqe->qp;
}

int mock_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct mock_dev *m = to_mock(ibcq->device);
	struct mock_cq *cq = to_mock_cq(ibcq);
	int ret = MOCK_GATE_ATOMIC(ibcq->device, poll_cq);
	unsigned long flags;
	int n;

	if (ret)
		return ret;
	spin_lock_irqsave(&m->lock, flags);
	for (n = 0; n < num && cq->used; n++, cq->used--) {
		mock_fill_wc(&wc[n], &cq->ring[cq->head]);
		cq->head = (cq->head + 1) % cq->size;
	}
	spin_unlock_irqrestore(&m->lock, flags);
	return n;
}

int mock_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct mock_dev *m = to_mock(ibcq->device);
	struct mock_cq *cq = to_mock_cq(ibcq);
	int ret = MOCK_GATE_ATOMIC(ibcq->device, req_notify_cq);
	unsigned long irqs;

	if (ret)
		return ret;
	spin_lock_irqsave(&m->lock, irqs);
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	ret = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->used;
	spin_unlock_irqrestore(&m->lock, irqs);
	return ret;
}

int mock_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibsrq->device);
	struct mock_srq *srq = to_mock_srq(ibsrq);
	int ret = MOCK_GATE(ibsrq->device, create_srq);

	if (ret)
		return ret;
	if (init->srq_type == IB_SRQT_TM)
		return -EOPNOTSUPP;
	ret = mock_count_add(m, MOCK_SRQ, m->attr.max_srq);
	if (ret)
		return ret;
	srq->pd = ibsrq->pd;
	if (init->srq_type == IB_SRQT_XRC)
		srq->xrcd = init->ext.xrc.xrcd;
	srq->max_wr = init->attr.max_wr;
	srq->max_sge = init->attr.max_sge;
	srq->limit = init->attr.srq_limit;
	ret = mock_wq_init(&srq->rq, mock_depth(m, srq->max_wr)) ?:
	      mock_obj_add(m, &srq->obj, MOCK_SRQ, 0);
	if (ret) {
		kvfree(srq->rq.ring);
		mock_count_sub(m, MOCK_SRQ);
		return ret;
	}
	if (init->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->obj.num;
	init->attr.max_wr = mock_granted(m, srq->max_wr);
	return 0;
}

static int mock_srq_resize(struct mock_dev *m, struct mock_srq *srq, u32 max_wr)
{
	struct mock_wq wq = {};
	int ret;
	u32 i;

	ret = mock_wq_init(&wq, mock_depth(m, max_wr));
	if (ret)
		return ret;
	spin_lock_irq(&m->lock);
	if (srq->rq.used > wq.size) {
		ret = -EINVAL;
	} else {
		for (i = 0; i < srq->rq.used; i++)
			wq.ring[i] = srq->rq.ring[(srq->rq.head + i) %
						  srq->rq.size];
		wq.used = srq->rq.used;
		swap(wq, srq->rq);
		srq->max_wr = max_wr;
	}
	spin_unlock_irq(&m->lock);
	kvfree(wq.ring);
	return ret;
}

int mock_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibsrq->device);
	struct mock_srq *srq = to_mock_srq(ibsrq);
	int ret = MOCK_GATE(ibsrq->device, modify_srq);

	if (!ret && (mask & IB_SRQ_MAX_WR))
		ret = mock_srq_resize(m, srq, attr->max_wr);
	if (ret || !(mask & IB_SRQ_LIMIT))
		return ret;
	spin_lock_irq(&m->lock);
	if (attr->srq_limit > srq->max_wr)
		ret = -EINVAL;
	else
		srq->limit = attr->srq_limit;
	spin_unlock_irq(&m->lock);
	return ret;
}

int mock_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct mock_dev *m = to_mock(ibsrq->device);
	struct mock_srq *srq = to_mock_srq(ibsrq);
	int ret = MOCK_GATE(ibsrq->device, query_srq);

	if (ret)
		return ret;
	attr->max_wr = mock_queried(m, srq->max_wr);
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
	return 0;
}

int mock_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct mock_dev *m = to_mock(ibsrq->device);
	struct mock_srq *srq = to_mock_srq(ibsrq);
	int ret = MOCK_GATE(ibsrq->device, destroy_srq);

	if (ret)
		return ret;
	mock_obj_del(m, &srq->obj);
	kvfree(srq->rq.ring);
	mock_count_sub(m, MOCK_SRQ);
	return 0;
}
