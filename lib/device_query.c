// SPDX-License-Identifier: BSD-2-Clause
/* Attributes of devices and ports. */
#include <stdio.h>

#include "objects.h"

static int query_device(struct ibv_context *context,
			struct rdma_ep_cmd_query_device *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->dev_index = lep_to_dev(context->device)->index;
	return lep_query_errno(lep_ctx_call(context, QUERY_DEVICE, cmd));
}

static void copy_device_attr(struct ibv_device_attr *attr,
			     const struct ib_uverbs_query_device_resp *resp)
{
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%u",
		 (unsigned int)(resp->fw_ver >> 32) & 0xffff,
		 (unsigned int)(resp->fw_ver >> 16) & 0xffff,
		 (unsigned int)resp->fw_ver & 0xffff);
	attr->node_guid = resp->node_guid;
	attr->sys_image_guid = resp->sys_image_guid;
	attr->max_mr_size = resp->max_mr_size;
	attr->page_size_cap = resp->page_size_cap;
	attr->vendor_id = resp->vendor_id;
	attr->vendor_part_id = resp->vendor_part_id;
	attr->hw_ver = resp->hw_ver;
	attr->max_qp = resp->max_qp;
	attr->max_qp_wr = resp->max_qp_wr;
	attr->device_cap_flags = resp->device_cap_flags;
	attr->max_sge = resp->max_sge;
	attr->max_sge_rd = resp->max_sge_rd;
	attr->max_cq = resp->max_cq;
	attr->max_cqe = resp->max_cqe;
	attr->max_mr = resp->max_mr;
	attr->max_pd = resp->max_pd;
	attr->max_qp_rd_atom = resp->max_qp_rd_atom;
	attr->max_ee_rd_atom = resp->max_ee_rd_atom;
	attr->max_res_rd_atom = resp->max_res_rd_atom;
	attr->max_qp_init_rd_atom = resp->max_qp_init_rd_atom;
	attr->max_ee_init_rd_atom = resp->max_ee_init_rd_atom;
	attr->atomic_cap = resp->atomic_cap;
	attr->max_ee = resp->max_ee;
	attr->max_rdd = resp->max_rdd;
	attr->max_mw = resp->max_mw;
	attr->max_raw_ipv6_qp = resp->max_raw_ipv6_qp;
	attr->max_raw_ethy_qp = resp->max_raw_ethy_qp;
	attr->max_mcast_grp = resp->max_mcast_grp;
	attr->max_mcast_qp_attach = resp->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach = resp->max_total_mcast_qp_attach;
	attr->max_ah = resp->max_ah;
	attr->max_fmr = resp->max_fmr;
	attr->max_map_per_fmr = resp->max_map_per_fmr;
	attr->max_srq = resp->max_srq;
	attr->max_srq_wr = resp->max_srq_wr;
	attr->max_srq_sge = resp->max_srq_sge;
	attr->max_pkeys = resp->max_pkeys;
	attr->local_ca_ack_delay = resp->local_ca_ack_delay;
	attr->phys_port_cnt = resp->phys_port_cnt;
}

/* ibv_query_device(3) */
LEP_EXPORT int ibv_query_device(struct ibv_context *context,
				struct ibv_device_attr *attr)
{
	struct rdma_ep_cmd_query_device cmd;
	int ret;

	if (!context || !attr)
		return EINVAL;
	if (!lep_ours(context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_query_device,
				   context, attr);
	ret = query_device(context, &cmd);
	if (!ret)
		copy_device_attr(attr, &cmd.attr);
	return ret;
}

/* ibv_query_device_ex(3); len is the size of the caller's structure. */
int lep_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t len)
{
	struct ibv_device_attr_ex full = {};
	struct rdma_ep_cmd_query_device cmd;
	int ret;

	if (!attr || (input && input->comp_mask))
		return EINVAL;
	if (len < offsetof(struct ibv_device_attr_ex, odp_caps))
		return EINVAL;
	ret = query_device(context, &cmd);
	if (ret)
		return ret;

	copy_device_attr(&full.orig_attr, &cmd.attr);
	full.completion_timestamp_mask = cmd.timestamp_mask;
	full.hca_core_clock = cmd.hca_core_clock;
	full.device_cap_flags_ex = cmd.device_cap_flags_ex;
	full.phys_port_cnt_ex = cmd.attr.phys_port_cnt;
	memset(attr, 0, len);
	memcpy(attr, &full, len < sizeof(full) ? len : sizeof(full));
	return 0;
}

/* ibv_query_port(3); len is the size of the caller's structure. */
int lep_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr, size_t len)
{
	struct rdma_ep_cmd_query_port cmd = {
		.dev_index = lep_to_dev(context->device)->index,
		.port_num = port_num,
	};
	struct ibv_port_attr full = {};

	if (!attr)
		return EINVAL;
	if (lep_ctx_call(context, QUERY_PORT, &cmd))
		return lep_query_errno(errno);

	full.state = cmd.attr.state;
	full.max_mtu = cmd.attr.max_mtu;
	full.active_mtu = cmd.attr.active_mtu;
	full.gid_tbl_len = cmd.attr.gid_tbl_len;
	full.port_cap_flags = cmd.attr.port_cap_flags;
	full.max_msg_sz = cmd.attr.max_msg_sz;
	full.bad_pkey_cntr = cmd.attr.bad_pkey_cntr;
	full.qkey_viol_cntr = cmd.attr.qkey_viol_cntr;
	full.pkey_tbl_len = cmd.attr.pkey_tbl_len;
	full.lid = cmd.attr.lid;
	full.sm_lid = cmd.attr.sm_lid;
	full.lmc = cmd.attr.lmc;
	full.max_vl_num = cmd.attr.max_vl_num;
	full.sm_sl = cmd.attr.sm_sl;
	full.subnet_timeout = cmd.attr.subnet_timeout;
	full.init_type_reply = cmd.attr.init_type_reply;
	full.active_width = cmd.attr.active_width;
	full.active_speed = cmd.attr.active_speed;
	full.phys_state = cmd.attr.phys_state;
	full.link_layer = cmd.attr.link_layer;
	full.flags = cmd.attr.flags;
	full.port_cap_flags2 = cmd.port_cap_flags2;
	memset(attr, 0, len);
	memcpy(attr, &full, len < sizeof(full) ? len : sizeof(full));
	return 0;
}

/* Serves programs that were built before struct ibv_port_attr grew. */
LEP_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			      struct _compat_ibv_port_attr *attr)
{
	if (!context || !attr)
		return EINVAL;
	if (!lep_ours(context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_query_port,
				   context, port_num, attr);
	return lep_query_port(context, port_num, (struct ibv_port_attr *)attr,
			      offsetof(struct ibv_port_attr, port_cap_flags2));
}
