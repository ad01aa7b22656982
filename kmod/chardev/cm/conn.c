// SPDX-License-Identifier: GPL-2.0-only
/* The commands that establish and end connections. */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "cm.h"
#include "../verbs/verbs.h"

/* Memory of iw_cm and the driver for each request of the backlog */
#define UEP_IW_REQUEST_BYTES	(512 + 128)

/*
 * May the id listen? One that is not bound to a device would listen on all, also on those of other
 * tasks. *@nr_iwarp: the devices of iWARP that it would listen on
 */
static int uep_listen_check(const struct uep_id *id, u32 *nr_iwarp)
{
	const struct ib_device *ibdev = id->id.cm_id->device;
	struct ep_dev *dev;
	u32 index = 0;
	int srcu, ret;

	/* Listening begets ids. */
	ret = uep_check_create_id(id->obj.session) ?: uep_id_check_listen(id);
	*nr_iwarp = ibdev && ibdev->node_type == RDMA_NODE_RNIC;
	if (ibdev)
		return ret;
	while (!ret && (dev = ep_dev_next(&index))) {
		if (!ep_dev_enter(dev, &srcu)) {
			ret = uep_check_dev(id->obj.session, dev->ibdev);
			*nr_iwarp += dev->ibdev->node_type == RDMA_NODE_RNIC;
			ep_dev_exit(dev, srcu);
		}
		ep_dev_put(dev);
	}
	return ret;
}

int uep_listen(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_id *arg = cmd->arg;
	struct uep_id *id = uep_id_begin(cmd->s, arg->id);
	u32 backlog = arg->arg, nr_iwarp;
	u64 bytes;
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	if (!backlog || backlog > EP_MAX_BACKLOG)
		backlog = EP_MAX_BACKLOG;
	ret = uep_listen_check(id, &nr_iwarp) ?: uep_id_keep_rights(id);
	if (ret)
		goto out;
	bytes = (u64)nr_iwarp * backlog * UEP_IW_REQUEST_BYTES;
	ret = uep_charge(cmd->s, 0, bytes);
	if (ret)
		goto out;
	ret = ep_id_listen(&id->id, backlog);
	if (ret)
		uep_uncharge(cmd->s, 0, bytes);
	else
		id->obj.queue_bytes += bytes;
out:
	return uep_id_end(id, ret);
}

/*
 * The QP of the session whose number the peer gets if the id has no QP, with a reference, or
 * NULL. The CM looks a number up among all QPs of the device, so it only gets those of the
 * session.
 */
static struct ep_qp *uep_conn_get_qp(struct uep_id *id, u32 qp_num)
{
	struct ep_dev *dev = ep_id_dev(&id->id);
	struct uep_qp *qp;

	if (!dev)
		return NULL;
	qp = uep_qp_by_num(id->obj.session, dev, qp_num);
	ep_dev_put(dev);
	return qp ? &qp->qp : NULL;
}

/* Called before the first event of an accepted id, which has the user's cookie. */
static void uep_accepted(struct ep_id *eid, void *arg)
{
	struct uep_id *id = container_of(eid, struct uep_id, id);
	const struct rdma_ep_cmd_connect *accept = arg;
	struct uep_session *s = id->obj.session;

	spin_lock(&s->ev_lock);
	id->uid = accept->uid;
	id->accepted = true;
	spin_unlock(&s->ev_lock);
}

static int uep_conn(struct rdma_ep_cmd_connect *arg, struct uep_session *s, bool accept)
{
	struct rdma_ucm_ece ece = {
		.vendor_id = arg->ece_vendor_id,
		.attr_mod = arg->ece_options,
	};
	struct rdma_conn_param param = {
		.private_data = arg->conn.private_data,
		.private_data_len = arg->conn.private_data_len,
		.flow_control = arg->conn.flow_control,
		.retry_count = arg->conn.retry_count,
		.rnr_retry_count = arg->conn.rnr_retry_count,
	};
	const struct rdma_cm_id *cm_id;
	struct uep_id *id;
	struct ep_qp *qp;
	int ret;

	id = uep_id_begin_bound(s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (memchr_inv(arg->conn.reserved, 0, sizeof(arg->conn.reserved)))
		return uep_id_end(id, -EINVAL);
	cm_id = id->id.cm_id;
	if (accept)
		ret = uep_dev_granted(s, cm_id->device) ? 0 : -EACCES;
	else
		ret = uep_id_check_access(id) ?: uep_id_check_peer(id);
	if (ret)
		return uep_id_end(id, ret);
	if (cm_id->route.addr.src_addr.ss_family == AF_IB)
		param.qkey = arg->qkey;
	if (cm_id->qp_type != IB_QPT_UD) {
		param.responder_resources = arg->conn.responder_resources;
		param.initiator_depth = arg->conn.initiator_depth;
	}
	if (accept) {
		spin_lock(&s->ev_lock);
		ece.vendor_id = id->ece.vendor_id;
		spin_unlock(&s->ev_lock);
	}
	qp = uep_conn_get_qp(id, arg->conn.qp_num);
	if (accept)
		ret = ep_id_accept(&id->id, qp, &param, &ece, uep_accepted, arg);
	else
		ret = ep_id_connect(&id->id, qp, &param, &ece);
	ep_id_put_qp(&id->id, qp);
	return uep_id_end(id, ret);
}

int uep_connect(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_connect *arg = cmd->arg;

	return arg->uid ? -EINVAL : uep_conn(arg, cmd->s, false);
}

int uep_accept(struct uep_cmd *cmd)
{
	return uep_conn(cmd->arg, cmd->s, true);
}

int uep_reject(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_reject *arg = cmd->arg;
	u8 reason = IB_CM_REJ_CONSUMER_DEFINED;
	struct uep_id *id;

	if (arg->reserved || arg->private_data_len > U8_MAX)
		return -EINVAL;
	if (arg->reason == IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		reason = arg->reason;
	else if (arg->reason && arg->reason != reason)
		return -EINVAL;
	id = uep_id_begin_bound(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	return uep_id_end(id, ep_id_reject(&id->id, arg->private_data,
					   arg->private_data_len, reason));
}

int uep_disconnect(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_id *arg = cmd->arg;
	struct uep_id *id;
	struct ep_qp *qp;
	int ret;

	if (arg->arg)
		return -EINVAL;
	id = uep_id_begin_bound(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	qp = uep_conn_get_qp(id, id->id.conn_qpn);
	ret = ep_id_disconnect(&id->id, qp);
	ep_id_put_qp(&id->id, qp);
	qp = ep_id_get_qp(&id->id);
	if (qp)
		arg->arg = READ_ONCE(qp->state);
	ep_id_put_qp(&id->id, qp);
	return uep_id_end(id, ret);
}

int uep_establish(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_id *arg = cmd->arg;
	struct uep_id *id;
	int ret;

	if (arg->arg)
		return -EINVAL;
	id = uep_id_begin_bound(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ep_id_establish(&id->id);
	/* No event follows. */
	if (!ret)
		uep_id_count_event(id, RDMA_CM_EVENT_ESTABLISHED);
	return uep_id_end(id, ret);
}

int uep_init_qp_attr(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_init_qp_attr *arg = cmd->arg;
	struct ib_qp_attr attr = { .qp_state = arg->qp_state };
	struct uep_id *id;
	int ret, mask = 0;

	if (arg->qp_state > IB_QPS_ERR)
		return -EINVAL;
	id = uep_id_begin_bound(cmd->s, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_init_qp_attr(id->id.cm_id, &attr, &mask);
	if (!ret)
		uep_qp_attr_to_user(&arg->attr, &attr, mask);
	return uep_id_end(id, ret);
}

int uep_notify(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_id *arg = cmd->arg;
	struct uep_event *ev;
	struct uep_id *id;
	int ret;

	/* First, as ep_id_notify() cannot be repeated. */
	ev = uep_event_alloc(RDMA_CM_EVENT_ESTABLISHED);
	if (!ev)
		return -ENOMEM;
	id = uep_id_begin_bound(cmd->s, arg->id);
	ret = PTR_ERR_OR_ZERO(id);
	if (ret)
		goto out;
	rdma_lock_handler(id->id.cm_id);
	ret = ep_id_notify(&id->id, arg->arg);
	if (ret > 0) {
		uep_id_count_event(id, RDMA_CM_EVENT_ESTABLISHED);
		uep_id_report(id, ev, RDMA_CM_EVENT_ESTABLISHED);
		ev = NULL;
	}
	rdma_unlock_handler(id->id.cm_id);
	ret = uep_id_end(id, min(ret, 0));
out:
	kfree(ev);
	return ret;
}
