// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: the commands that make and break them.
 */
#include <rdma/ib_cm.h>

#include "cm.h"
#include "verbs.h"

int uep_listen(struct uep_cmd *cmd)
{
	struct rdma_ep_id_cmd *arg = cmd->arg;
	u32 backlog = arg->arg;
	struct uep_id *id;
	int ret;

	if (!backlog || backlog > UEP_MAX_BACKLOG)
		backlog = UEP_MAX_BACKLOG;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_listen(&id->id, backlog);
	uep_obj_put(&id->obj);
	return ret;
}

/*
 * The QP that the peer is told of: the id's own, or another one of this session,
 * with a reference. A number that is not the user's never gets to the CM, which
 * would look it up among all QPs of the device.
 */
static struct uep_qp *uep_conn_find_qp(struct uep_id *id, u32 qp_num)
{
	struct ep_qp *own = ep_id_get_qp(&id->id);
	struct ep_dev *dev;
	struct uep_qp *qp;

	if (own)
		return container_of(own, struct uep_qp, qp);
	dev = ep_id_dev(&id->id);
	if (!dev)
		return NULL;
	qp = uep_qp_by_num(id->obj.session, dev, qp_num);
	ep_dev_put(dev);
	return qp;
}

/* @pin: for ep_qp_unpin() once the CM has the QP, or NULL */
static int uep_conn_qp(struct uep_id *id, u32 qp_num,
		       struct rdma_conn_param *param, struct ib_qp **pin)
{
	const struct rdma_cm_id *cm_id = id->id.cm_id;
	struct uep_qp *qp = uep_conn_find_qp(id, qp_num);
	int ret = 0;

	if (!qp)
		return -EINVAL;
	param->qp_num = qp->qp.qp_num;
	param->srq = qp->qp.has_srq;
	if (rdma_protocol_iwarp(cm_id->device, cm_id->port_num)) {
		*pin = ep_qp_pin(&qp->qp);
		if (!*pin)
			ret = -EINVAL;
	}
	uep_obj_put(&qp->obj);
	return ret;
}

static int uep_conn_param(struct uep_id *id, struct rdma_ep_connect *arg,
			  struct rdma_conn_param *param)
{
	const struct rdma_cm_id *cm_id = id->id.cm_id;
	const struct ib_device_attr *attrs = &cm_id->device->attrs;

	if (memchr_inv(arg->conn.reserved, 0, sizeof(arg->conn.reserved)))
		return -EINVAL;
	param->private_data = arg->conn.private_data;
	param->private_data_len = arg->conn.private_data_len;
	param->flow_control = arg->conn.flow_control;
	param->retry_count = arg->conn.retry_count;
	param->rnr_retry_count = arg->conn.rnr_retry_count;
	if (cm_id->route.addr.src_addr.ss_family == AF_IB)
		param->qkey = arg->qkey;

	if (cm_id->qp_type != IB_QPT_UD) {
		if (arg->conn.responder_resources > attrs->max_qp_rd_atom ||
		    arg->conn.initiator_depth > attrs->max_qp_init_rd_atom)
			return -EINVAL;
		param->responder_resources = arg->conn.responder_resources;
		param->initiator_depth = arg->conn.initiator_depth;
	}
	return 0;
}

int uep_connect(struct uep_cmd *cmd)
{
	struct rdma_ep_connect *arg = cmd->arg;
	struct rdma_conn_param param = {};
	struct rdma_ucm_ece ece = {
		.vendor_id = arg->ece_vendor_id,
		.attr_mod = arg->ece_options,
	};
	struct ib_qp *pin = NULL;
	struct uep_id *id;
	int ret;

	if (arg->uid)
		return -EINVAL;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_begin_bound(&id->id);
	if (ret)
		goto out;
	ret = uep_conn_param(id, arg, &param);
	/* An unconnected endpoint only asks, and tells no QP of its own. */
	if (!ret && id->id.cm_id->qp_type != IB_QPT_UD)
		ret = uep_conn_qp(id, arg->conn.qp_num, &param, &pin);
	if (!ret)
		ret = ep_id_connect(&id->id, &param, &ece);
	if (pin)
		ep_qp_unpin(pin);
	ep_id_end(&id->id);
out:
	uep_obj_put(&id->obj);
	return ret;
}

/*
 * From here on the user's cookie is known and events are reported. That has to
 * be so before the first of them, hence the handler's lock.
 */
static int uep_accept_locked(struct uep_id *id, struct rdma_ep_connect *arg,
			     struct rdma_conn_param *param)
{
	struct uep_session *s = id->obj.session;
	struct rdma_ucm_ece ece = {
		.vendor_id = arg->ece_vendor_id,
		.attr_mod = arg->ece_options,
	};
	int ret;

	rdma_lock_handler(id->id.cm_id);
	ret = ep_id_accept(&id->id, param, &ece);
	if (!ret) {
		spin_lock(&s->ev_lock);
		id->uid = arg->uid;
		id->accepted = true;
		spin_unlock(&s->ev_lock);
	}
	rdma_unlock_handler(id->id.cm_id);
	return ret;
}

/* The CM finds out too late: by then the QP is up, and it rejects the peer. */
static u32 uep_accept_max_private(struct uep_id *id)
{
	const struct rdma_cm_id *cm_id = id->id.cm_id;

	if (rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
		return U8_MAX;
	return cm_id->qp_type == IB_QPT_UD ? IB_CM_SIDR_REP_PRIVATE_DATA_SIZE :
					     IB_CM_REP_PRIVATE_DATA_SIZE;
}

int uep_accept(struct uep_cmd *cmd)
{
	struct rdma_ep_connect *arg = cmd->arg;
	struct rdma_conn_param param = {};
	struct ib_qp *pin = NULL;
	struct uep_id *id;
	int ret;

	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_begin_bound(&id->id);
	if (ret)
		goto out;
	ret = uep_conn_param(id, arg, &param);
	if (!ret && param.private_data_len > uep_accept_max_private(id))
		ret = -EINVAL;
	if (!ret)
		ret = uep_conn_qp(id, arg->conn.qp_num, &param, &pin);
	if (!ret)
		ret = uep_accept_locked(id, arg, &param);
	if (pin)
		ep_qp_unpin(pin);
	ep_id_end(&id->id);
out:
	uep_obj_put(&id->obj);
	return ret;
}

int uep_reject(struct uep_cmd *cmd)
{
	struct rdma_ep_reject *arg = cmd->arg;
	u8 reason = IB_CM_REJ_CONSUMER_DEFINED;
	struct uep_id *id;
	int ret;

	if (arg->reserved || arg->private_data_len > U8_MAX)
		return -EINVAL;
	if (arg->reason == IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		reason = arg->reason;
	else if (arg->reason && arg->reason != reason)
		return -EINVAL;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_begin_bound(&id->id);
	if (!ret) {
		ret = ep_id_reject(&id->id, arg->private_data,
				   arg->private_data_len, reason);
		ep_id_end(&id->id);
	}
	uep_obj_put(&id->obj);
	return ret;
}

static int uep_id_cmd(struct uep_cmd *cmd, int (*fn)(struct ep_id *id))
{
	struct rdma_ep_id_cmd *arg = cmd->arg;
	struct uep_id *id;
	int ret;

	if (arg->arg)
		return -EINVAL;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = fn(&id->id);
	uep_obj_put(&id->obj);
	return ret;
}

int uep_disconnect(struct uep_cmd *cmd)
{
	return uep_id_cmd(cmd, ep_id_disconnect);
}

int uep_establish(struct uep_cmd *cmd)
{
	return uep_id_cmd(cmd, ep_id_establish);
}

int uep_init_qp_attr(struct uep_cmd *cmd)
{
	struct rdma_ep_init_qp_attr *arg = cmd->arg;
	struct ib_qp_attr attr = { .qp_state = arg->qp_state };
	struct uep_id *id;
	int ret, mask = 0;

	if (arg->qp_state > IB_QPS_ERR)
		return -EINVAL;
	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_begin_bound(&id->id);
	if (!ret) {
		ret = rdma_init_qp_attr(id->id.cm_id, &attr, &mask);
		ep_id_end(&id->id);
	}
	uep_obj_put(&id->obj);
	if (!ret)
		uep_qp_attr_to_user(&arg->attr, &attr, mask);
	return ret;
}

int uep_notify(struct uep_cmd *cmd)
{
	struct rdma_ep_id_cmd *arg = cmd->arg;
	struct uep_id *id;
	int ret;

	id = uep_id_lookup(cmd->s, arg->id);
	if (!id)
		return -ENOENT;
	ret = ep_id_notify(&id->id, arg->arg);
	uep_obj_put(&id->obj);
	return ret;
}
