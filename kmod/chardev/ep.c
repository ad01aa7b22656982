// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole endpoints in one command.
 */
#include <linux/string.h>

#include "cm.h"
#include "verbs.h"

static int uep_ep_passive(struct uep_id *id, struct sockaddr *src)
{
	int ret;

	ret = ep_id_begin(&id->id);
	if (ret)
		return ret;
	ret = rdma_bind_addr(id->id.cm_id, src);
	ep_id_end(&id->id);
	return ret;
}

/*
 * Nothing that was made here is published before it is complete, so a failure
 * or a signal in the middle leaves nothing: the command is rolled back.
 */
int uep_create_ep(struct uep_cmd *cmd)
{
	struct rdma_ep_create_ep *arg = cmd->arg;
	bool passive = arg->flags & RDMA_EP_EP_PASSIVE;
	bool with_qp = arg->flags & RDMA_EP_EP_CREATE_QP;
	struct sockaddr *src = uep_sockaddr(&arg->src);
	struct sockaddr *dst = uep_sockaddr(&arg->dst);
	struct uep_id *id;
	int ret;

	if (passive ? with_qp || dst || !src : !dst)
		return -EINVAL;
	if (IS_ERR(src) || IS_ERR(dst))
		return -EAFNOSUPPORT;
	if (!with_qp && memchr_inv(&arg->qp, 0, sizeof(arg->qp)))
		return -EINVAL;
	id = uep_id_make(cmd, arg->flags, arg->uid, &arg->channel_fd, arg->ps,
			 arg->qp_type);
	if (IS_ERR(id))
		return PTR_ERR(id);

	if (passive)
		ret = uep_ep_passive(id, src);
	else
		ret = ep_id_resolve(&id->id, src, dst, arg->addr_timeout_ms,
				    arg->route_timeout_ms);
	if (ret)
		return ret;

	ret = ep_id_begin(&id->id);
	if (ret)
		return ret;
	if (with_qp)
		ret = uep_qp_make(cmd, &arg->qp, id);
	if (!ret)
		uep_id_info(id, &arg->info);
	ep_id_end(&id->id);
	arg->id = id->obj.handle;
	return ret;
}

static int uep_request_qp(struct uep_cmd *cmd, struct rdma_ep_qp_init *init,
			  struct uep_id *child)
{
	int nr_objs = cmd->nr_objs, nr_files = cmd->nr_files;
	int ret;

	ret = ep_id_begin_bound(&child->id);
	if (ret)
		return ret;
	ret = uep_qp_make(cmd, init, child);
	ep_id_end(&child->id);
	if (ret)
		uep_cmd_rollback(cmd, nr_objs, nr_files);
	return ret;
}

int uep_get_request(struct uep_cmd *cmd)
{
	struct rdma_ep_get_request *arg = cmd->arg;
	bool with_qp = arg->flags & RDMA_EP_EP_CREATE_QP;
	struct uep_channel *chan;
	struct uep_id *id, *child;
	struct uep_event *ev;
	u32 reported;

	if (arg->reserved ||
	    (!with_qp && memchr_inv(&arg->qp, 0, sizeof(arg->qp))))
		return -EINVAL;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ev = uep_channel_take_of(id);
	uep_obj_put(&id->obj);
	if (!ev)
		return -EAGAIN;
	cmd->event = ev;
	arg->event = ev->rec;
	arg->channel_fd = -1;
	arg->qp_errno = 0;
	child = ev->child;
	if (!child)
		return 0;

	if (arg->flags & RDMA_EP_ID_PRIVATE_CHANNEL) {
		chan = uep_channel_for(cmd, arg->flags, &arg->channel_fd);
		if (IS_ERR(chan))
			return PTR_ERR(chan);
		uep_cmd_move(cmd, child, chan, &reported);
	}
	if (!with_qp)
		return 0;
	arg->qp_errno = -uep_request_qp(cmd, &arg->qp, child);
	if (arg->qp_errno) {
		/* What it mentions has been undone. */
		memset(&arg->qp, 0, sizeof(arg->qp));
		arg->qp.send_cq.channel_fd = -1;
		arg->qp.recv_cq.channel_fd = -1;
	}
	return 0;
}
