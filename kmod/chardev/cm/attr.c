// SPDX-License-Identifier: GPL-2.0-only
/* Conversions of the kernel's CM events and routes to the ABI's. */
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "../verbs/verbs.h"
#include "cm.h"

static void uep_path_to_user(struct rdma_ep_path_rec *dst, struct sa_path_rec *src)
{
	*dst = (struct rdma_ep_path_rec) {
		.dlid = htons(ntohl(sa_path_get_dlid(src))),
		.slid = htons(ntohl(sa_path_get_slid(src))),
		.raw_traffic = sa_path_get_raw_traffic(src),
		UEP_COPY(flow_label), UEP_COPY(hop_limit), UEP_COPY(traffic_class),
		UEP_COPY(reversible), UEP_COPY(numb_path), UEP_COPY(pkey), UEP_COPY(sl),
		UEP_COPY(mtu_selector), UEP_COPY(mtu), UEP_COPY(rate_selector), UEP_COPY(rate),
		UEP_COPY(packet_life_time_selector), UEP_COPY(packet_life_time),
		UEP_COPY(preference),
	};
	memcpy(dst->dgid, src->dgid.raw, sizeof(dst->dgid));
	memcpy(dst->sgid, src->sgid.raw, sizeof(dst->sgid));
}

/* Returns false if the id has no device, or none that ep_id_dev() allows it. */
static bool uep_id_addresses(struct uep_id *id, struct rdma_ep_id_info *info)
{
	struct rdma_cm_id *cm_id = id->id.cm_id;
	struct rdma_route *route = &cm_id->route;
	struct ep_dev *dev;

	memset(info, 0, sizeof(*info));
	memcpy(&info->src, &route->addr.src_addr,
	       rdma_addr_size((struct sockaddr *)&route->addr.src_addr));
	memcpy(&info->dst, &route->addr.dst_addr,
	       rdma_addr_size((struct sockaddr *)&route->addr.dst_addr));

	dev = ep_id_dev(&id->id);
	if (!dev)
		return false;
	info->dev_index = dev->index;
	ep_dev_put(dev);
	info->node_guid = cm_id->device->node_guid;
	info->port_num = cm_id->port_num;
	info->pkey = cpu_to_be16(ib_addr_get_pkey(&route->addr.dev_addr));
	rdma_read_gids(cm_id, (union ib_gid *)info->sgid, (union ib_gid *)info->dgid);
	return true;
}

/*
 * Between ep_id_begin() and ep_id_end(), and in handlers of events after which rdma_cm does
 * not change the paths.
 */
void uep_id_info(struct uep_id *id, struct rdma_ep_id_info *info)
{
	struct rdma_cm_id *cm_id = id->id.cm_id;
	struct rdma_route *route = &cm_id->route;
	int i;

	if (!uep_id_addresses(id, info) || !route->path_rec ||
	    rdma_protocol_iwarp(cm_id->device, cm_id->port_num))
		return;
	info->num_paths = min_t(int, route->num_pri_alt_paths, ARRAY_SIZE(info->path));
	for (i = 0; i < info->num_paths; i++)
		uep_path_to_user(&info->path[i], &route->path_rec[i]);
}

static void uep_conn_to_user(struct rdma_ep_conn_param *dst, const struct rdma_conn_param *src)
{
	dst->private_data_len = src->private_data_len;
	if (src->private_data_len)
		memcpy(dst->private_data, src->private_data, src->private_data_len);
	dst->responder_resources = src->responder_resources;
	dst->initiator_depth = src->initiator_depth;
	dst->flow_control = src->flow_control;
	dst->retry_count = src->retry_count;
	dst->rnr_retry_count = src->rnr_retry_count;
	dst->srq = src->srq;
	dst->qp_num = src->qp_num;
}

static void uep_ud_to_user(struct rdma_ep_ud_param *dst, const struct rdma_ud_param *src)
{
	dst->private_data_len = src->private_data_len;
	if (src->private_data_len)
		memcpy(dst->private_data, src->private_data, src->private_data_len);
	uep_ah_attr_to_user(&dst->ah_attr, (struct rdma_ah_attr *)&src->ah_attr);
	dst->qp_num = src->qp_num;
	dst->qkey = src->qkey;
}

bool uep_event_has_info(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_ADDR_RESOLVED || type == RDMA_CM_EVENT_ROUTE_RESOLVED ||
	       type == RDMA_CM_EVENT_CONNECT_REQUEST;
}

/* In rdma_cm's handler, as @event ends with it. @id: of a connection request the new id */
void uep_event_fill(struct uep_id *id, struct rdma_ep_channel_event *rec,
		    const struct rdma_cm_event *event)
{
	rec->event = event->event;
	rec->status = event->status;
	if (id->id.cm_id->qp_type == IB_QPT_UD) {
		rec->flags = RDMA_EP_EVENT_UD;
		uep_ud_to_user(&rec->param.ud, &event->param.ud);
	} else {
		uep_conn_to_user(&rec->param.conn, &event->param.conn);
	}

	if (!uep_event_has_info(event->event))
		return;
	rec->flags |= RDMA_EP_EVENT_INFO;
	/* Another task may be resolving its route already. */
	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED)
		uep_id_addresses(id, &rec->info);
	else
		uep_id_info(id, &rec->info);
}
