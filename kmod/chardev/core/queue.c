// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading records: what event channels, completion channels and asynchronous
 * event queues have in common as files.
 */
#include <linux/poll.h>

#include "core.h"

static bool uep_read_ready(const struct uep_reader *r, void *priv)
{
	return r->dead(priv) || !r->empty(priv);
}

/* As many whole records as fit and are there, at least one. */
ssize_t uep_read(struct file *file, char __user *buf, size_t len,
		 const struct uep_reader *r)
{
	void *priv = file->private_data;
	ssize_t done = 0;
	int ret = -EINVAL;

	while (len - done >= r->size) {
		ret = r->dead(priv) ? -EIO : r->deliver(priv, buf + done);
		if (!ret) {
			done += r->size;
			if (signal_pending(current))
				break;
			cond_resched();
			continue;
		}
		if (ret != -EAGAIN || done || (file->f_flags & O_NONBLOCK))
			break;
		if (wait_event_interruptible(r->wait(priv)->head,
					     uep_read_ready(r, priv)))
			return -ERESTARTSYS;
	}
	return done ? done : ret;
}

__poll_t uep_poll(struct file *file, poll_table *wait,
		  const struct uep_reader *r)
{
	void *priv = file->private_data;

	poll_wait(file, &r->wait(priv)->head, wait);
	if (r->dead(priv))
		return EPOLLERR | EPOLLHUP;
	return r->empty(priv) ? 0 : EPOLLIN | EPOLLRDNORM;
}
