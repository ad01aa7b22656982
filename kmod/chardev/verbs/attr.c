// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conversions between the kernel's attributes of QPs and AHs and the ABI's.
 */
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>

#include "../../compat.h"
#include "verbs.h"

void uep_ah_attr_to_user(struct ib_uverbs_ah_attr *dst, struct rdma_ah_attr *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->dlid = rdma_ah_get_dlid(src);
	dst->sl = rdma_ah_get_sl(src);
	dst->src_path_bits = rdma_ah_get_path_bits(src);
	dst->static_rate = rdma_ah_get_static_rate(src);
	dst->port_num = rdma_ah_get_port_num(src);
	if (rdma_ah_get_ah_flags(src) & IB_AH_GRH) {
		const struct ib_global_route *grh = rdma_ah_read_grh(src);

		dst->is_global = 1;
		memcpy(dst->grh.dgid, grh->dgid.raw, sizeof(dst->grh.dgid));
		dst->grh.flow_label = grh->flow_label;
		dst->grh.sgid_index = grh->sgid_index;
		dst->grh.hop_limit = grh->hop_limit;
		dst->grh.traffic_class = grh->traffic_class;
	}
}

/*
 * Devices may be shared among network namespaces, but an address is of one of them:
 * that the context was opened in, or the caller's. InfiniBand's are of none.
 */
static bool uep_gid_allowed(const struct uep_ctx *ctx, const struct ib_gid_attr *gid)
{
	const struct net_device *ndev;
	bool ret;

	if (!rdma_protocol_roce(gid->device, gid->port_num))
		return true;
	rcu_read_lock();
	ndev = rcu_dereference(gid->ndev);
	ret = ndev && (dev_net(ndev)->net_cookie == ctx->net_cookie ||
		       net_eq(dev_net(ndev), current->nsproxy->net_ns));
	rcu_read_unlock();
	return ret;
}

/*
 * Called inside ep_dev_enter(). Whatever this returns, rdma_destroy_ah_attr() follows.
 */
int uep_ah_attr_from_user(struct uep_ctx *ctx, struct rdma_ah_attr *dst,
			  const struct ib_uverbs_ah_attr *src)
{
	struct ib_device *ibdev = ctx->obj.dev->ibdev;
	const struct ib_gid_attr *gid;

	if (!rdma_is_port_valid(ibdev, src->port_num) || src->reserved || src->grh.reserved)
		return -EINVAL;
	dst->type = rdma_ah_find_type(ibdev, src->port_num);
	rdma_ah_set_port_num(dst, src->port_num);
	rdma_ah_set_sl(dst, src->sl);
	rdma_ah_set_static_rate(dst, src->static_rate);
	rdma_ah_set_dlid(dst, src->dlid);
	rdma_ah_set_path_bits(dst, src->src_path_bits);
	rdma_ah_set_make_grd(dst, false);
	if (!src->is_global)
		return rdma_is_grh_required(ibdev, src->port_num) ? -EINVAL : 0;
	gid = rdma_get_gid_attr(ibdev, src->port_num, src->grh.sgid_index);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	/* The core does not look the index up again. */
	rdma_move_grh_sgid_attr(dst, NULL, src->grh.flow_label,
				src->grh.hop_limit, src->grh.traffic_class, gid);
	rdma_ah_set_dgid_raw(dst, (void *)src->grh.dgid);
	return uep_gid_allowed(ctx, gid) ? 0 : -ENODATA;
}

void uep_qp_attr_to_user(struct ib_uverbs_qp_attr *dst, struct ib_qp_attr *src, int mask)
{
	memset(dst, 0, sizeof(*dst));
	dst->qp_attr_mask = mask;
	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	uep_ah_attr_to_user(&dst->ah_attr, &src->ah_attr);
	uep_ah_attr_to_user(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->max_send_wr = src->cap.max_send_wr;
	dst->max_recv_wr = src->cap.max_recv_wr;
	dst->max_send_sge = src->cap.max_send_sge;
	dst->max_recv_sge = src->cap.max_recv_sge;
	dst->max_inline_data = src->cap.max_inline_data;
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
}

/* What ibv_modify_qp(3) may change. Capabilities can not be. */
#define UEP_QP_MASK							\
	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY |	\
	 IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX | IB_QP_PORT |		\
	 IB_QP_QKEY | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_TIMEOUT |	\
	 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_RQ_PSN |		\
	 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_ALT_PATH | IB_QP_MIN_RNR_TIMER | \
	 IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |			\
	 IB_QP_PATH_MIG_STATE | IB_QP_DEST_QPN)

#define UEP_QP_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 EP_COMPAT_ACCESS_FLUSH)

/* The rules about ports that the core leaves to its callers. */
static int uep_qp_check_ports(struct uep_qp *qp, const struct ib_uverbs_qp_attr *src, int *mask,
			      struct ib_qp_attr *dst)
{
	struct ib_device *ibdev = qp->obj.dev->ibdev;

	if ((*mask & IB_QP_PORT) && !rdma_is_port_valid(ibdev, src->port_num))
		return -EINVAL;
	if ((*mask & IB_QP_ALT_PATH) &&
	    (!rdma_is_port_valid(ibdev, src->alt_port_num) ||
	     src->alt_port_num != src->alt_ah_attr.port_num))
		return -EINVAL;
	if (!(*mask & IB_QP_AV))
		return 0;
	if ((*mask & IB_QP_STATE) && src->qp_state == IB_QPS_RTR)
		return src->ah_attr.port_num == qp->qp.port ? 0 : -EINVAL;
	/* A path migration may have changed the port: set it with the path. */
	if ((*mask & IB_QP_PORT) && src->port_num != src->ah_attr.port_num)
		return -EINVAL;
	*mask |= IB_QP_PORT;
	dst->port_num = src->ah_attr.port_num;
	return 0;
}

/* As uep_ah_attr_from_user(), for both addresses. */
int uep_qp_attr_from_user(struct uep_qp *qp, struct ib_qp_attr *dst,
			  const struct ib_uverbs_qp_attr *src, int *mask)
{
	struct ib_device *ibdev = qp->obj.dev->ibdev;
	int ret;

	*mask = src->qp_attr_mask;
	if ((src->qp_attr_mask & ~UEP_QP_MASK) ||
	    memchr_inv(src->reserved, 0, sizeof(src->reserved)))
		return -EINVAL;
	if (((*mask & IB_QP_STATE) && src->qp_state > IB_QPS_ERR) ||
	    ((*mask & IB_QP_CUR_STATE) && src->cur_qp_state > IB_QPS_ERR) ||
	    ((*mask & IB_QP_ACCESS_FLAGS) &&
	     (src->qp_access_flags & ~UEP_QP_ACCESS)))
		return -EINVAL;
	if ((*mask & IB_QP_QKEY) && (src->qkey & IB_QP_SET_QKEY) && !ep_compat_qkey_allowed(ibdev))
		return -EPERM;
	/* Drivers may keep the upper bits, and send to the number without them. */
	if ((*mask & IB_QP_DEST_QPN) && src->dest_qp_num > 0xffffff)
		return -EINVAL;

	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	/* Of larger ones the core cuts the rest off, and tells everybody. */
	dst->rq_psn = src->rq_psn & 0xffffff;
	dst->sq_psn = src->sq_psn & 0xffffff;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->pkey_index = src->pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
	dst->alt_pkey_index = src->alt_pkey_index;

	ret = uep_qp_check_ports(qp, src, mask, dst);
	if (ret)
		return ret;
	if (*mask & IB_QP_AV)
		ret = uep_ah_attr_from_user(qp->ctx, &dst->ah_attr, &src->ah_attr);
	if (!ret && (*mask & IB_QP_ALT_PATH))
		ret = uep_ah_attr_from_user(qp->ctx, &dst->alt_ah_attr, &src->alt_ah_attr);
	return ret;
}
