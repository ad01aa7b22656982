// SPDX-License-Identifier: GPL-2.0-only
/* Conversions between the kernel's attributes of QPs and AHs and the ABI's. */
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>

#include "../../compat.h"
#include "verbs.h"

void uep_ah_attr_to_user(struct ib_uverbs_ah_attr *dst, struct rdma_ah_attr *src)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(src);

	*dst = (struct ib_uverbs_ah_attr) {
		.dlid = rdma_ah_get_dlid(src),
		.sl = rdma_ah_get_sl(src),
		.src_path_bits = rdma_ah_get_path_bits(src),
		.static_rate = rdma_ah_get_static_rate(src),
		.port_num = rdma_ah_get_port_num(src),
	};
	if (!(rdma_ah_get_ah_flags(src) & IB_AH_GRH))
		return;
	dst->is_global = 1;
	memcpy(dst->grh.dgid, grh->dgid.raw, sizeof(dst->grh.dgid));
	dst->grh.flow_label = grh->flow_label;
	dst->grh.sgid_index = grh->sgid_index;
	dst->grh.hop_limit = grh->hop_limit;
	dst->grh.traffic_class = grh->traffic_class;
}

/*
 * Network namespaces can share a device, but an address belongs to one of them: here that of the
 * context's opener, or the caller's. InfiniBand's belong to none.
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

/* May the session use the path? On RoCE a GID is an IP address. @sgid: NULL without a GRH */
static int uep_check_path(const struct uep_ctx *ctx, const struct ib_uverbs_ah_attr *src,
			  const union ib_gid *sgid)
{
	bool ip = sgid && rdma_protocol_roce(ctx->obj.dev->ibdev, src->port_num);
	const struct uep_session *s = ctx->obj.session;

	return uep_check_source_gid(s, ip ? sgid : NULL) ?:
	       uep_check_gid(s, ip ? (const void *)src->grh.dgid : NULL);
}

/* Called inside ep_dev_enter(). rdma_destroy_ah_attr() follows, also after an error. */
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
		return rdma_is_grh_required(ibdev, src->port_num) ? -EINVAL :
		       uep_check_path(ctx, src, NULL);
	gid = rdma_get_gid_attr(ibdev, src->port_num, src->grh.sgid_index);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	/* Passes the reference: the core does not look the index up again. */
	rdma_move_grh_sgid_attr(dst, NULL, src->grh.flow_label,
				src->grh.hop_limit, src->grh.traffic_class, gid);
	rdma_ah_set_dgid_raw(dst, (void *)src->grh.dgid);
	return uep_gid_allowed(ctx, gid) ? uep_check_path(ctx, src, &gid->gid) : -ENODATA;
}

void uep_qp_attr_to_user(struct ib_uverbs_qp_attr *dst, struct ib_qp_attr *src, int mask)
{
	const struct ib_qp_cap *cap = &src->cap;

	*dst = (struct ib_uverbs_qp_attr) {
		.qp_attr_mask = mask,
		UEP_COPY(qp_state), UEP_COPY(cur_qp_state), UEP_COPY(path_mtu),
		UEP_COPY(path_mig_state), UEP_COPY(qkey), UEP_COPY(rq_psn), UEP_COPY(sq_psn),
		UEP_COPY(dest_qp_num), UEP_COPY(qp_access_flags), UEP_COPY(pkey_index),
		UEP_COPY(alt_pkey_index), UEP_COPY(en_sqd_async_notify), UEP_COPY(sq_draining),
		UEP_COPY(max_rd_atomic), UEP_COPY(max_dest_rd_atomic), UEP_COPY(min_rnr_timer),
		UEP_COPY(port_num), UEP_COPY(timeout), UEP_COPY(retry_cnt), UEP_COPY(rnr_retry),
		UEP_COPY(alt_port_num), UEP_COPY(alt_timeout),
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
	};
	uep_ah_attr_to_user(&dst->ah_attr, &src->ah_attr);
	uep_ah_attr_to_user(&dst->alt_ah_attr, &src->alt_ah_attr);
}

/* ibv_modify_qp(3) changes all but capabilities. */
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
/* Those of ibv_reg_mr(3), too; 8 and 9 are the bits of FLUSH. Stock drivers ignore the others. */
#define UEP_QP_ACCESS_KNOWN	(GENMASK(9, 0) | IB_UVERBS_ACCESS_OPTIONAL_RANGE)

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
	/* ep_qp_modify_locked() compares it with the QP's port. */
	if ((*mask & IB_QP_STATE) && src->qp_state == IB_QPS_RTR)
		return 0;
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
	if ((*mask & ~UEP_QP_MASK) || memchr_inv(src->reserved, 0, sizeof(src->reserved)) ||
	    ((*mask & IB_QP_STATE) && src->qp_state > IB_QPS_ERR) ||
	    ((*mask & IB_QP_CUR_STATE) && src->cur_qp_state > IB_QPS_ERR) ||
	    ((*mask & IB_QP_ACCESS_FLAGS) && (src->qp_access_flags & ~UEP_QP_ACCESS_KNOWN)))
		return -EINVAL;
	if ((*mask & IB_QP_QKEY) && (src->qkey & IB_QP_SET_QKEY) && !ep_compat_qkey_allowed(ibdev))
		return -EPERM;
	/* Drivers may keep the upper bits, and send to the number without them. */
	if ((*mask & IB_QP_DEST_QPN) && src->dest_qp_num > 0xffffff)
		return -EINVAL;

	*dst = (struct ib_qp_attr) {
		UEP_COPY(qp_state), UEP_COPY(cur_qp_state), UEP_COPY(path_mtu),
		UEP_COPY(path_mig_state), UEP_COPY(qkey), UEP_COPY(dest_qp_num),
		UEP_COPY(pkey_index), UEP_COPY(alt_pkey_index), UEP_COPY(en_sqd_async_notify),
		UEP_COPY(max_rd_atomic), UEP_COPY(max_dest_rd_atomic), UEP_COPY(min_rnr_timer),
		UEP_COPY(port_num), UEP_COPY(timeout), UEP_COPY(retry_cnt), UEP_COPY(rnr_retry),
		UEP_COPY(alt_port_num), UEP_COPY(alt_timeout),
		.qp_access_flags = src->qp_access_flags & UEP_QP_ACCESS,
		/* The core ignores the upper bits, and logs that. */
		.rq_psn = src->rq_psn & 0xffffff,
		.sq_psn = src->sq_psn & 0xffffff,
	};
	ret = uep_qp_check_ports(qp, src, mask, dst);
	if (ret)
		return ret;
	if (*mask & IB_QP_AV)
		ret = uep_ah_attr_from_user(qp->ctx, &dst->ah_attr, &src->ah_attr);
	if (!ret && (*mask & IB_QP_ALT_PATH))
		ret = uep_ah_attr_from_user(qp->ctx, &dst->alt_ah_attr, &src->alt_ah_attr);
	return ret;
}
