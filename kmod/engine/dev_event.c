// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of devices and their ports, for the objects that watch a device.
 *
 * Users choose the number of these objects, so the handler of the RDMA core does not call them: it
 * notes the event, and the device's work item does. The events of a port of one type are one, the
 * latest. So neither a port that keeps changing nor the objects of another device delay an event,
 * or the removal of the device.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "engine.h"

/* Types of events. Newer kernels may define others, which are dropped. */
#define EP_DEV_EVENT_TYPES	32
/* Objects that get an event before tasks that remove one have their turn */
#define EP_DEV_EVENT_BATCH	64

/* All events of one type of a port (0: of the device) that have not been reported */
struct ep_dev_event {
	struct list_head entry;		/* in ep_dev.events, or empty (ep_dev.event_lock) */
	u32 port;
	u32 type;
};

static struct workqueue_struct *ep_dev_event_wq;

static u32 ep_dev_event_port(const struct ib_event *event)
{
	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		return event->element.port_num;
	default:
		return 0;
	}
}

/* Process context. A later event takes the place of an earlier one at the end of the list. */
static void ep_dev_event_handler(struct ib_event_handler *handler, struct ib_event *event)
{
	struct ep_dev *dev = container_of(handler, struct ep_dev, event_handler);
	u32 port = ep_dev_event_port(event), type = event->event;
	struct ep_dev_event *ev;

	if (port > dev->ibdev->phys_port_cnt || type >= EP_DEV_EVENT_TYPES)
		return;
	ev = &dev->event_kinds[port * EP_DEV_EVENT_TYPES + type];
	spin_lock(&dev->event_lock);
	list_move_tail(&ev->entry, &dev->events);
	spin_unlock(&dev->event_lock);
	queue_work(ep_dev_event_wq, &dev->event_work);
}

/* Calls each watching object with all @events. */
static void ep_dev_report(struct ep_dev *dev, const struct list_head *events)
{
	const struct ep_dev_event *ev;
	struct ep_dev_watch *watch;
	unsigned long i;
	u32 n = 0;

	mutex_lock(&dev->watch_lock);
	xa_for_each(&dev->watches, i, watch) {
		list_for_each_entry(ev, events, entry)
			watch->event(watch, ev->port, ev->type);
		if (++n % EP_DEV_EVENT_BATCH)
			continue;
		mutex_unlock(&dev->watch_lock);
		cond_resched();
		mutex_lock(&dev->watch_lock);
	}
	mutex_unlock(&dev->watch_lock);
}

/* Reports the earliest event. It may come again meanwhile. */
static void ep_dev_event_work(struct work_struct *work)
{
	struct ep_dev *dev = container_of(work, struct ep_dev, event_work);
	struct ep_dev_event now, *ev;
	LIST_HEAD(one);
	bool more;

	spin_lock(&dev->event_lock);
	ev = list_first_entry_or_null(&dev->events, struct ep_dev_event, entry);
	if (ev) {
		now = *ev;
		list_del_init(&ev->entry);
	}
	more = !list_empty(&dev->events);
	spin_unlock(&dev->event_lock);
	if (!ev)
		return;
	list_add(&now.entry, &one);
	ep_dev_report(dev, &one);
	if (more)
		queue_work(ep_dev_event_wq, work);
}

/*
 * @watch gets the events of the device, whose removal is the last one, until
 * ep_dev_del_watch(). Inside ep_dev_enter().
 */
int ep_dev_add_watch(struct ep_dev *dev, struct ep_dev_watch *watch)
{
	return xa_alloc(&dev->watches, &watch->number, watch, xa_limit_32b, GFP_KERNEL_ACCOUNT);
}

/* On return the object is not called any more. */
void ep_dev_del_watch(struct ep_dev *dev, struct ep_dev_watch *watch)
{
	guard(mutex)(&dev->watch_lock);
	xa_erase(&dev->watches, watch->number);
}

/* Followed by ep_dev_free_events(), also if it fails. */
int ep_dev_init_events(struct ep_dev *dev)
{
	u32 i, nr = (dev->ibdev->phys_port_cnt + 1) * EP_DEV_EVENT_TYPES;

	mutex_init(&dev->watch_lock);
	xa_init_flags(&dev->watches, XA_FLAGS_ALLOC);
	spin_lock_init(&dev->event_lock);
	INIT_LIST_HEAD(&dev->events);
	INIT_WORK(&dev->event_work, ep_dev_event_work);
	dev->event_kinds = kvcalloc(nr, sizeof(*dev->event_kinds), GFP_KERNEL);
	if (!dev->event_kinds)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		INIT_LIST_HEAD(&dev->event_kinds[i].entry);
		dev->event_kinds[i].port = i / EP_DEV_EVENT_TYPES;
		dev->event_kinds[i].type = i % EP_DEV_EVENT_TYPES;
	}
	return 0;
}

void ep_dev_free_events(struct ep_dev *dev)
{
	xa_destroy(&dev->watches);
	kvfree(dev->event_kinds);
}

void ep_dev_begin_events(struct ep_dev *dev)
{
	INIT_IB_EVENT_HANDLER(&dev->event_handler, dev->ibdev, ep_dev_event_handler);
	ib_register_event_handler(&dev->event_handler);
}

/* Reports the events that are left and the removal, in one walk. No object begins to watch. */
void ep_dev_end_events(struct ep_dev *dev)
{
	struct ep_dev_event removal = { .type = IB_EVENT_DEVICE_FATAL };

	cancel_work_sync(&dev->event_work);
	list_add_tail(&removal.entry, &dev->events);
	ep_dev_report(dev, &dev->events);
	list_del(&removal.entry);
}

int ep_dev_event_init(void)
{
	ep_dev_event_wq = alloc_workqueue("rdma_ep_dev_event", WQ_UNBOUND, 0);
	return ep_dev_event_wq ? 0 : -ENOMEM;
}

/* No device is left. */
void ep_dev_event_cleanup(void)
{
	destroy_workqueue(ep_dev_event_wq);
}
