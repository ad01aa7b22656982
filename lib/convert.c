// SPDX-License-Identifier: BSD-2-Clause
/* Public structures to and from those of the kernel ABI. */
#include <endian.h>
#include <netinet/in.h>

#include "core.h"

void lep_ah_attr_from_uapi(struct ibv_ah_attr *dst,
			   const struct ib_uverbs_ah_attr *src)
{
	memcpy(dst->grh.dgid.raw, src->grh.dgid, sizeof(dst->grh.dgid.raw));
	dst->grh.flow_label = src->grh.flow_label;
	dst->grh.sgid_index = src->grh.sgid_index;
	dst->grh.hop_limit = src->grh.hop_limit;
	dst->grh.traffic_class = src->grh.traffic_class;
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

void lep_ah_attr_to_uapi(struct ib_uverbs_ah_attr *dst,
			 const struct ibv_ah_attr *src)
{
	memset(dst, 0, sizeof(*dst));
	if (src->is_global) {
		memcpy(dst->grh.dgid, src->grh.dgid.raw, sizeof(dst->grh.dgid));
		dst->grh.flow_label = src->grh.flow_label;
		dst->grh.sgid_index = src->grh.sgid_index;
		dst->grh.hop_limit = src->grh.hop_limit;
		dst->grh.traffic_class = src->grh.traffic_class;
	}
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

/* All members except qp_state, which the caller of rdma_init_qp_attr() has set. */
void lep_qp_attr_from_uapi(struct ibv_qp_attr *dst,
			   const struct ib_uverbs_qp_attr *src)
{
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->cap.max_send_wr = src->max_send_wr;
	dst->cap.max_recv_wr = src->max_recv_wr;
	dst->cap.max_send_sge = src->max_send_sge;
	dst->cap.max_recv_sge = src->max_recv_sge;
	dst->cap.max_inline_data = src->max_inline_data;
	lep_ah_attr_from_uapi(&dst->ah_attr, &src->ah_attr);
	lep_ah_attr_from_uapi(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
	dst->rate_limit = 0;
}

/* Reads only the members that the mask names: callers leave others uninitialised. */
void lep_qp_attr_to_uapi(struct ib_uverbs_qp_attr *dst,
			 const struct ibv_qp_attr *src, int mask)
{
	memset(dst, 0, sizeof(*dst));
	dst->qp_attr_mask = mask;
	if (mask & IBV_QP_STATE)
		dst->qp_state = src->qp_state;
	if (mask & IBV_QP_CUR_STATE)
		dst->cur_qp_state = src->cur_qp_state;
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		dst->en_sqd_async_notify = src->en_sqd_async_notify;
	if (mask & IBV_QP_ACCESS_FLAGS)
		dst->qp_access_flags = src->qp_access_flags;
	if (mask & IBV_QP_PKEY_INDEX)
		dst->pkey_index = src->pkey_index;
	if (mask & IBV_QP_PORT)
		dst->port_num = src->port_num;
	if (mask & IBV_QP_QKEY)
		dst->qkey = src->qkey;
	if (mask & IBV_QP_AV)
		lep_ah_attr_to_uapi(&dst->ah_attr, &src->ah_attr);
	if (mask & IBV_QP_PATH_MTU)
		dst->path_mtu = src->path_mtu;
	if (mask & IBV_QP_TIMEOUT)
		dst->timeout = src->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		dst->retry_cnt = src->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		dst->rnr_retry = src->rnr_retry;
	if (mask & IBV_QP_RQ_PSN)
		dst->rq_psn = src->rq_psn;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		dst->max_rd_atomic = src->max_rd_atomic;
	if (mask & IBV_QP_ALT_PATH) {
		lep_ah_attr_to_uapi(&dst->alt_ah_attr, &src->alt_ah_attr);
		dst->alt_pkey_index = src->alt_pkey_index;
		dst->alt_port_num = src->alt_port_num;
		dst->alt_timeout = src->alt_timeout;
	}
	if (mask & IBV_QP_MIN_RNR_TIMER)
		dst->min_rnr_timer = src->min_rnr_timer;
	if (mask & IBV_QP_SQ_PSN)
		dst->sq_psn = src->sq_psn;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	if (mask & IBV_QP_PATH_MIG_STATE)
		dst->path_mig_state = src->path_mig_state;
	if (mask & IBV_QP_CAP) {
		dst->max_send_wr = src->cap.max_send_wr;
		dst->max_recv_wr = src->cap.max_recv_wr;
		dst->max_send_sge = src->cap.max_send_sge;
		dst->max_recv_sge = src->cap.max_recv_sge;
		dst->max_inline_data = src->cap.max_inline_data;
	}
	if (mask & IBV_QP_DEST_QPN)
		dst->dest_qp_num = src->dest_qp_num;
}

void lep_path_from_uapi(struct ibv_sa_path_rec *dst,
			const struct rdma_ep_path_rec *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst->dgid.raw, src->dgid, sizeof(dst->dgid.raw));
	memcpy(dst->sgid.raw, src->sgid, sizeof(dst->sgid.raw));
	dst->dlid = src->dlid;
	dst->slid = src->slid;
	dst->raw_traffic = src->raw_traffic;
	dst->flow_label = src->flow_label;
	dst->hop_limit = src->hop_limit;
	dst->traffic_class = src->traffic_class;
	dst->reversible = src->reversible;
	dst->numb_path = src->numb_path;
	dst->pkey = src->pkey;
	dst->sl = src->sl;
	dst->mtu_selector = src->mtu_selector;
	dst->mtu = src->mtu;
	dst->rate_selector = src->rate_selector;
	dst->rate = src->rate;
	dst->packet_life_time_selector = src->packet_life_time_selector;
	dst->packet_life_time = src->packet_life_time;
	dst->preference = src->preference;
}

#define SOCKADDR_IB_LEN 48

/* The length of an address by its family; 0 for NULL and for other families. */
socklen_t lep_addr_len(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return SOCKADDR_IB_LEN;
	default:
		return 0;
	}
}

__be16 lep_addr_port(const struct sockaddr_storage *addr)
{
	__be64 sid;

	switch (addr->ss_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	case AF_IB:
		/* The low bits of sib_sid, behind family, P_Key, flow and GID */
		memcpy(&sid, (const char *)addr + 24, sizeof(sid));
		return htobe16((uint16_t)be64toh(sid));
	default:
		return 0;
	}
}

int lep_addr_to_uapi(struct __kernel_sockaddr_storage *dst,
		     const struct sockaddr *src, socklen_t len)
{
	memset(dst, 0, sizeof(*dst));
	if (!src || !len)
		return 0;
	if (len > sizeof(*dst))
		return lep_err(EINVAL);
	memcpy(dst, src, len);
	return 0;
}
