// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels: the files that completion events are read from.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "verbs.h"

/* Most faults are found out before an event is taken: its CQ may go meanwhile. */
static int uep_comp_deliver(void *priv, char __user *buf)
{
	struct rdma_ep_comp_event rec = {};
	struct uep_cq *cq;
	int ret = 0;

	if (clear_user(buf, sizeof(rec)))
		return -EFAULT;
	cq = uep_comp_take(priv, &rec.uid);
	if (!cq)
		return -EAGAIN;
	/* What the user is going to ask for next. */
	uep_cq_harvest(cq);
	if (copy_to_user(buf, &rec, sizeof(rec))) {
		uep_comp_untake(priv, cq);
		ret = -EFAULT;
	}
	uep_obj_put(&cq->obj);
	return ret;
}

static struct uep_wait *uep_comp_wait(void *priv)
{
	struct uep_comp_channel *chan = priv;

	return &chan->wait;
}

static bool uep_comp_dead(void *priv)
{
	struct uep_comp_channel *chan = priv;

	return READ_ONCE(chan->session->dead);
}

static bool uep_comp_empty(void *priv)
{
	struct uep_comp_channel *chan = priv;

	return list_empty_careful(&chan->cqs);
}

static const struct uep_reader uep_comp_reader = {
	.size = sizeof(struct rdma_ep_comp_event),
	.wait = uep_comp_wait,
	.dead = uep_comp_dead,
	.empty = uep_comp_empty,
	.deliver = uep_comp_deliver,
};

static ssize_t uep_comp_read(struct file *file, char __user *buf, size_t len,
			     loff_t *pos)
{
	return uep_read(file, buf, len, &uep_comp_reader);
}

static __poll_t uep_comp_poll(struct file *file, poll_table *wait)
{
	return uep_poll(file, wait, &uep_comp_reader);
}

static int uep_comp_release(struct inode *inode, struct file *file)
{
	uep_comp_put(file->private_data);
	return 0;
}

static const struct file_operations uep_comp_fops = {
	.owner = THIS_MODULE,
	.read = uep_comp_read,
	.poll = uep_comp_poll,
	.release = uep_comp_release,
};

/*
 * Makes a channel with a file. Returns it with a reference of the caller's own.
 */
struct uep_comp_channel *uep_comp_create(struct uep_cmd *cmd, int *fd)
{
	struct uep_comp_channel *chan;
	int ret;

	ret = uep_charge_file(cmd->s->user);
	if (ret)
		return ERR_PTR(ret);
	chan = kzalloc(sizeof(*chan), GFP_KERNEL_ACCOUNT);
	if (!chan) {
		uep_uncharge_file(cmd->s->user);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&chan->ref);
	spin_lock_init(&chan->lock);
	INIT_LIST_HEAD(&chan->cqs);
	chan->session = cmd->s;
	uep_session_get(cmd->s);
	uep_wait_add(cmd->s, &chan->wait);

	ret = uep_cmd_add_file(cmd, "[rdma_ep_comp]", &uep_comp_fops, chan);
	if (ret < 0) {
		uep_comp_put(chan);
		return ERR_PTR(ret);
	}
	kref_get(&chan->ref);
	*fd = ret;
	return chan;
}

/* The channel behind the caller's file, with a reference, or NULL. */
struct uep_comp_channel *uep_comp_get(struct uep_session *s, int fd)
{
	struct uep_comp_channel *chan = NULL;
	struct file *file = fget(fd);

	if (!file)
		return NULL;
	if (file->f_op == &uep_comp_fops) {
		chan = file->private_data;
		if (chan->session == s)
			kref_get(&chan->ref);
		else
			chan = NULL;
	}
	fput(file);
	return chan;
}

/* Is it a file of the CQ's channel? */
bool uep_comp_is(struct uep_cq *cq, int fd)
{
	struct uep_comp_channel *chan = uep_comp_get(cq->obj.session, fd);

	if (!chan)
		return false;
	uep_comp_put(chan);
	return chan == cq->chan;
}

int uep_create_comp_channel(struct uep_cmd *cmd)
{
	struct rdma_ep_create_fd *arg = cmd->arg;
	struct uep_comp_channel *chan;

	if (arg->reserved)
		return -EINVAL;
	chan = uep_comp_create(cmd, &arg->fd);
	if (IS_ERR(chan))
		return PTR_ERR(chan);
	uep_comp_put(chan);
	return 0;
}
