// SPDX-License-Identifier: BSD-2-Clause
/* Resolving, listening, connecting. The kernel moves the id's own QP with the connection. */
#include "cm.h"

int lep_id_resolve_addr(struct lep_id *id, const struct sockaddr *src,
			socklen_t src_len, const struct sockaddr *dst,
			socklen_t dst_len, int timeout_ms)
{
	struct rdma_ep_cmd_resolve_addr cmd = {
		.id = id->handle,
		.timeout_ms = timeout_ms,
	};
	struct lep_await wait;

	if (lep_addr_to_uapi(&cmd.src, src, src_len) ||
	    lep_addr_to_uapi(&cmd.dst, dst, dst_len))
		return -1;
	if (lep_call_await(id, RESOLVE_ADDR, &cmd, &wait))
		return -1;
	/* The program sees this address at once, and the other values with the event. */
	memcpy(&id->id.route.addr.dst_storage, &cmd.dst, sizeof(cmd.dst));
	return lep_await_finish(&wait);
}

/* rdma_resolve_addr(3) */
LEP_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id,
				 struct sockaddr *src_addr,
				 struct sockaddr *dst_addr, int timeout_ms)
{
	socklen_t src_len = lep_addr_len(src_addr);
	socklen_t dst_len = lep_addr_len(dst_addr);

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_resolve_addr, id, src_addr,
				      dst_addr, timeout_ms);
	if (!id || !dst_len || (src_addr && !src_len))
		return lep_err(EINVAL);
	return lep_id_resolve_addr(lep_to_id(id), src_addr, src_len, dst_addr,
				   dst_len, timeout_ms);
}

/* rdma_resolve_route(3) */
LEP_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct rdma_ep_cmd_id cmd = { .arg = timeout_ms };
	struct lep_await wait;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_resolve_route, id, timeout_ms);
	if (!id || !id->verbs)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	if (lep_call_await(lep_to_id(id), RESOLVE_ROUTE, &cmd, &wait))
		return -1;
	return lep_await_finish(&wait);
}

/* rdma_listen(3) */
LEP_EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct rdma_ep_cmd_id cmd = { .arg = backlog > 0 ? backlog : 0 };
	struct rdma_ep_cmd_query_id query;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_listen, id, backlog);
	if (!id)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	if (lep_call(lep_to_id(id)->session, LISTEN, &cmd))
		return -1;
	/* LISTEN has bound an unbound id: read its address. */
	if (id->route.addr.src_storage.ss_family &&
	    lep_addr_port(&id->route.addr.src_storage))
		return 0;
	if (lep_id_query(lep_to_id(id), &query))
		return -1;
	return lep_id_set_info(lep_to_id(id), &query.info);
}

/* The device that the id is bound to, with its limits; or NULL and errno. */
static struct lep_device *bound_device(struct lep_id *id)
{
	struct lep_device *dev;

	if (!id->has_device || !id->id.verbs)
		return lep_null(EINVAL);
	dev = lep_to_dev(id->id.verbs->device);
	return lep_device_limits(id->session, dev) ? NULL : dev;
}

static int check_param(const struct lep_id *id, const struct lep_device *dev,
		       const struct rdma_conn_param *param)
{
	if (id->id.ps != RDMA_PS_TCP)
		return 0;
	if (!param)
		return id->id.qp ? 0 : lep_err(EINVAL);
	if ((param->responder_resources != RDMA_MAX_RESP_RES &&
	     param->responder_resources > dev->max_responder_resources) ||
	    (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	     param->initiator_depth > dev->max_initiator_depth))
		return lep_err(EINVAL);
	return 0;
}

/*
 * Expand the parameters: the kernel's rdma_cm gives NULL and values of 0xff other meanings.
 * The caller has set responder_resources and initiator_depth in conn to their values for a
 * NULL param, and for "maximum".
 */
static int set_conn(struct rdma_ep_conn_param *conn, const struct lep_id *id,
		    const struct rdma_conn_param *param)
{
	const struct ibv_qp *qp = id->id.qp;
	size_t len = id->connect_len;

	conn->qp_num = qp ? qp->qp_num : param ? param->qp_num : 0;
	conn->srq = qp ? !!qp->srq : param ? param->srq : 0;
	if (len)
		memcpy(conn->private_data, id->connect, len);
	conn->private_data_len = len;
	if (!param) {
		conn->retry_count = 7;
		conn->rnr_retry_count = 7;
		return 0;
	}

	if (param->responder_resources != RDMA_MAX_RESP_RES)
		conn->responder_resources = param->responder_resources;
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		conn->initiator_depth = param->initiator_depth;
	conn->flow_control = param->flow_control;
	conn->retry_count = param->retry_count > 7 ? 7 : param->retry_count;
	conn->rnr_retry_count =
		param->rnr_retry_count > 7 ? 7 : param->rnr_retry_count;
	if (param->private_data && param->private_data_len) {
		if (len + param->private_data_len > UINT8_MAX)
			return lep_err(EINVAL);
		memcpy(conn->private_data + len, param->private_data,
		       param->private_data_len);
		conn->private_data_len = len + param->private_data_len;
	}
	return 0;
}

/* rdma_connect(3) */
LEP_EXPORT int rdma_connect(struct rdma_cm_id *cm_id,
			    struct rdma_conn_param *conn_param)
{
	struct lep_id *id = lep_to_id(cm_id);
	struct rdma_ep_cmd_connect cmd = {};
	struct lep_device *dev;
	struct lep_await wait;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_connect, cm_id, conn_param);
	if (!id)
		return lep_err(EINVAL);
	dev = bound_device(id);
	if (!dev || check_param(id, dev, conn_param))
		return -1;

	cmd.id = id->handle;
	cmd.ece_vendor_id = id->local_ece.vendor_id;
	cmd.ece_options = id->local_ece.options;
	cmd.conn.responder_resources = dev->max_responder_resources;
	cmd.conn.initiator_depth = dev->max_initiator_depth;
	if (set_conn(&cmd.conn, id, conn_param))
		return -1;
	if (lep_call_await(id, CONNECT, &cmd, &wait))
		return -1;

	/* Only the first request carries ai_connect. */
	free(id->connect);
	id->connect = NULL;
	id->connect_len = 0;
	return lep_await_finish(&wait);
}

static uint8_t min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* rdma_accept(3) */
LEP_EXPORT int rdma_accept(struct rdma_cm_id *cm_id,
			   struct rdma_conn_param *conn_param)
{
	struct lep_id *id = lep_to_id(cm_id);
	struct rdma_ep_cmd_connect cmd = {};
	bool datagram = cm_id && cm_id->qp_type == IBV_QPT_UD;
	struct ibv_qp *external = NULL;
	struct lep_device *dev;
	struct lep_await wait;
	int error;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_accept, cm_id, conn_param);
	if (!id || (!cm_id->qp && !conn_param))
		return lep_err(EINVAL);
	dev = bound_device(id);
	if (!dev || check_param(id, dev, conn_param))
		return -1;

	cmd.uid = (uintptr_t)id;
	cmd.id = id->handle;
	cmd.ece_options = id->local_ece.options;
	cmd.conn.responder_resources = min_u8(id->responder_resources,
					      dev->max_responder_resources);
	cmd.conn.initiator_depth = min_u8(id->initiator_depth,
					  dev->max_initiator_depth);
	if (set_conn(&cmd.conn, id, conn_param))
		return -1;
	if (!datagram)
		external = lep_id_external_qp(id);
	if (external && lep_external_qp_connect(id, external, &cmd.conn))
		return -1;
	if (datagram ? lep_call(id->session, ACCEPT, &cmd) :
		       lep_call_await(id, ACCEPT, &cmd, &wait)) {
		error = errno;
		if (external)
			lep_external_qp_set_state(external, IBV_QPS_ERR);
		lep_owner_query_qp_state(&id->owner);
		return lep_err(error);
	}

	if (datagram) {
		/* There is no event to wait for. */
		if (id->sync)
			lep_id_drop_event(id);
		return 0;
	}
	lep_owner_qp_connected(&id->owner);
	return lep_await_finish(&wait);
}

/* rdma_get_request(3): the id has the event of the request until it is rejected. */
static int reject(struct rdma_cm_id *id, const void *private_data,
		  uint8_t private_data_len, uint32_t reason)
{
	struct rdma_ep_cmd_reject cmd = { .reason = reason };

	if (!id)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	if (private_data && private_data_len) {
		memcpy(cmd.private_data, private_data, private_data_len);
		cmd.private_data_len = private_data_len;
	}
	if (lep_call(lep_to_id(id)->session, REJECT, &cmd))
		return -1;
	if (lep_to_id(id)->sync)
		lep_id_drop_event(lep_to_id(id));
	return 0;
}

/* rdma_reject(3) */
LEP_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_reject, id, private_data,
				      private_data_len);
	return reject(id, private_data, private_data_len, 0);
}

/* rdma_reject_ece(3): the reason is "vendor option not supported". */
LEP_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			       uint8_t private_data_len)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_reject_ece, id, private_data,
				      private_data_len);
	return reject(id, private_data, private_data_len, 35);
}

/* rdma_establish(3) */
LEP_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	struct rdma_ep_cmd_id cmd = {};

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_establish, id);
	if (!id || id->qp)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	return lep_call(lep_to_id(id)->session, ESTABLISH, &cmd) ? -1 : 0;
}

/*
 * rdma_disconnect(3): the kernel moves the QP to the error state, or on iWARP hardware to
 * the drained state, before it notifies the peer.
 */
LEP_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	struct rdma_ep_cmd_id cmd = {};
	enum ibv_qp_state state;
	struct ibv_qp *external;
	struct lep_await wait;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_disconnect, id);
	if (!id || !id->verbs)
		return lep_err(EINVAL);
	state = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP ?
		IBV_QPS_SQD : IBV_QPS_ERR;
	external = lep_id_external_qp(lep_to_id(id));
	if (external && lep_external_qp_set_state(external, state))
		return -1;

	cmd.id = lep_to_id(id)->handle;
	if (lep_call_await(lep_to_id(id), DISCONNECT, &cmd, &wait)) {
		/* The kernel may have moved the QP before the failure. */
		lep_owner_query_qp_state(&lep_to_id(id)->owner);
		return -1;
	}
	/* The state is missing if the wait has failed. */
	if (cmd.arg)
		lep_owner_set_qp_state(&lep_to_id(id)->owner, cmd.arg);
	else
		lep_owner_query_qp_state(&lep_to_id(id)->owner);
	return lep_await_finish(&wait);
}

/* rdma_init_qp_attr(3) */
LEP_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id,
				 struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_init_qp_attr, id, qp_attr,
				      qp_attr_mask);
	if (!id || !qp_attr || !qp_attr_mask || !id->verbs)
		return lep_err(EINVAL);
	return lep_id_init_qp_attr(lep_to_id(id), qp_attr, qp_attr_mask);
}

/* rdma_notify(3): the kernel accepts only "communication established". */
LEP_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct rdma_ep_cmd_id cmd = { .arg = event };

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_notify, id, event);
	if (!id)
		return lep_err(EINVAL);
	cmd.id = lep_to_id(id)->handle;
	return lep_call(lep_to_id(id)->session, NOTIFY, &cmd) ? -1 : 0;
}
