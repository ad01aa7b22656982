// SPDX-License-Identifier: GPL-2.0-only
/* Queries: the module, devices, ports, GIDs, P_Keys. */
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/uaccess.h>
#include <rdma/ib_cache.h>
#include <rdma/opa_addr.h>
#include <rdma/opa_smi.h>

#include "../../compat.h"
#include "verbs.h"

int uep_query(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query *arg = cmd->arg;

	arg->caps = 0;
	arg->abi_version = RDMA_EP_ABI_VERSION;
	uep_quota_query(arg);
	arg->max_wr = UEP_MAX_WR;
	arg->max_cqe = UEP_MAX_CQE;
	arg->max_post_bytes = UEP_MAX_POST_BYTES;
	arg->max_backlog = EP_MAX_BACKLOG;
	return 0;
}

static void uep_device_to_user(struct rdma_ep_device_info *dst, struct ep_dev *dev)
{
	struct ib_device *ibdev = dev->ibdev;

	*dst = (struct rdma_ep_device_info) {
		.dev_index = dev->index,
		.flags = (ep_dev_has(ibdev, EP_CAP_REG_MR) ? RDMA_EP_DEVICE_USER_MR : 0) |
			 (ibdev->ops.alloc_xrcd ? RDMA_EP_DEVICE_XRC : 0),
		.node_guid = ibdev->node_guid,
		.node_type = ibdev->node_type,
		.phys_port_cnt = ibdev->phys_port_cnt,
		.num_comp_vectors = ibdev->num_comp_vectors,
		.ib_index = ibdev->index,
		.driver_id = ibdev->ops.driver_id,
	};
	strscpy(dst->name, ibdev->name, sizeof(dst->name));
}

int uep_query_devices(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_devices *arg = cmd->arg;
	struct rdma_ep_device_info __user *udevs = u64_to_user_ptr(arg->devices);
	struct rdma_ep_device_info rec;
	struct ep_dev *dev;
	u32 index = 0;
	int srcu;

	arg->num = 0;
	while ((dev = ep_dev_next(&index))) {
		bool mine = false;

		if (!ep_dev_enter(dev, &srcu)) {
			mine = rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns) &&
			       !uep_check_dev(cmd->s, dev->ibdev);
			uep_device_to_user(&rec, dev);
			ep_dev_exit(dev, srcu);
		}
		ep_dev_put(dev);
		if (!mine)
			continue;
		if (arg->num < arg->max && copy_to_user(udevs + arg->num, &rec, sizeof(rec)))
			return -EFAULT;
		arg->num++;
	}
	return 0;
}

/*
 * Capabilities that commands can use, or that need no command. The others of a device are not
 * reported: FLUSH and ATOMIC WRITE for example, as drivers do not read the address and key of a
 * kernel consumer's request.
 */
#define UEP_DEVICE_CAPS						\
	(IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |	\
	 IB_DEVICE_AUTO_PATH_MIG | IB_DEVICE_CHANGE_PHY_PORT |	\
	 IB_DEVICE_UD_AV_PORT_ENFORCE |				\
	 IB_DEVICE_CURR_QP_STATE_MOD |				\
	 IB_DEVICE_PORT_ACTIVE_EVENT |				\
	 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |	\
	 IB_DEVICE_SRQ_RESIZE)

static u64 uep_device_caps(const struct ib_device *ibdev)
{
	u64 offered = UEP_DEVICE_CAPS;

	if (ibdev->ops.alloc_xrcd && ep_dev_has(ibdev, EP_CAP_XRC))
		offered |= IB_DEVICE_XRC;
	if (!ep_dev_has_srq(ibdev))
		offered &= ~(u64)IB_DEVICE_SRQ_RESIZE;
	return ibdev->attrs.device_cap_flags & offered;
}

/* Longer regions than the driver's limit are refused. */
static u64 uep_max_mr_size(const struct ep_dev *dev)
{
	u64 size = dev->ibdev->attrs.max_mr_size;

	return dev->ops->max_mr_pages ? min(size, dev->ops->max_mr_pages() << PAGE_SHIFT) : size;
}

static void uep_device_attr(struct ib_uverbs_query_device_resp *dst, struct ep_dev *dev)
{
	const struct ib_device_attr *src = &dev->ibdev->attrs;
	struct ib_device *ibdev = dev->ibdev;
	bool srqs = ep_dev_has_srq(ibdev);

	*dst = (struct ib_uverbs_query_device_resp) {
		UEP_COPY(fw_ver), UEP_COPY(sys_image_guid),
		UEP_COPY(page_size_cap), UEP_COPY(vendor_id), UEP_COPY(vendor_part_id),
		UEP_COPY(hw_ver), UEP_COPY(max_qp), UEP_COPY(max_sge_rd), UEP_COPY(max_cq),
		UEP_COPY(max_mr), UEP_COPY(max_pd), UEP_COPY(max_qp_rd_atom),
		UEP_COPY(max_res_rd_atom), UEP_COPY(max_qp_init_rd_atom), UEP_COPY(atomic_cap),
		UEP_COPY(max_mcast_grp), UEP_COPY(max_mcast_qp_attach),
		UEP_COPY(max_total_mcast_qp_attach), UEP_COPY(max_ah),
		UEP_COPY(max_pkeys), UEP_COPY(local_ca_ack_delay),
		.node_guid = ibdev->node_guid,
		.max_mr_size = uep_max_mr_size(dev),
		.max_qp_wr = min_t(u32, src->max_qp_wr, UEP_MAX_WR),
		.device_cap_flags = lower_32_bits(uep_device_caps(ibdev)),
		.max_sge = min(src->max_send_sge, src->max_recv_sge),
		.max_cqe = min_t(u32, src->max_cqe, UEP_MAX_CQE),
		.max_srq = srqs ? src->max_srq : 0,
		.max_srq_wr = srqs ? min_t(u32, src->max_srq_wr, UEP_MAX_WR) : 0,
		.max_srq_sge = srqs ? src->max_srq_sge : 0,
		.phys_port_cnt = min_t(u32, ibdev->phys_port_cnt, U8_MAX),
	};
}

int uep_query_device(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_device *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu;

	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	uep_device_attr(&arg->attr, dev);
	arg->num_comp_vectors = dev->ibdev->num_comp_vectors;
	arg->device_cap_flags_ex = uep_device_caps(dev->ibdev);
	/* No command reads the clock. */
	arg->hca_core_clock = 0;
	arg->timestamp_mask = 0;
	uep_dev_exit(dev, srcu);
	return 0;
}

static u16 uep_lid(struct ib_device *ibdev, u32 port, u32 lid)
{
	return rdma_cap_opa_ah(ibdev, port) ? OPA_TO_IB_UCAST_LID(lid) : ib_lid_cpu16(lid);
}

static void uep_port_attr(struct ib_uverbs_query_port_resp *dst, const struct ib_port_attr *src,
			  const struct ep_dev *dev, u32 port)
{
	struct ib_device *ibdev = dev->ibdev;

	*dst = (struct ib_uverbs_query_port_resp) {
		UEP_COPY(state), UEP_COPY(max_mtu), UEP_COPY(active_mtu), UEP_COPY(gid_tbl_len),
		UEP_COPY(bad_pkey_cntr), UEP_COPY(qkey_viol_cntr),
		UEP_COPY(pkey_tbl_len), UEP_COPY(lmc), UEP_COPY(max_vl_num), UEP_COPY(sm_sl),
		UEP_COPY(subnet_timeout), UEP_COPY(init_type_reply), UEP_COPY(active_width),
		UEP_COPY(phys_state),
		.port_cap_flags = (src->port_cap_flags & ~IB_UVERBS_PCF_IP_BASED_GIDS) |
				  (src->ip_gids ? IB_UVERBS_PCF_IP_BASED_GIDS : 0),
		.flags = rdma_is_grh_required(ibdev, port) ? IB_UVERBS_QPF_GRH_REQUIRED : 0,
		.lid = uep_lid(ibdev, port, src->lid),
		.sm_lid = uep_lid(ibdev, port, src->sm_lid),
		.active_speed = min_t(u16, src->active_speed, IB_SPEED_NDR),
		/* Longer messages are refused. */
		.max_msg_sz = min(src->max_msg_sz, dev->max_msg_sz[port]),
		.link_layer = rdma_port_get_link_layer(ibdev, port),
	};
}

/* Index of a network device as the caller sees it, or 0. */
static u32 uep_ifindex(const struct net_device *ndev)
{
	return ndev && net_eq(dev_net(ndev), current->nsproxy->net_ns) ? ndev->ifindex : 0;
}

int uep_query_port(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_port *arg = cmd->arg;
	struct net_device *ndev;
	struct ib_port_attr attr;
	struct ep_dev *dev;
	int srcu, ret;

	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	/* Checks the port number. */
	ret = ib_query_port(dev->ibdev, arg->port_num, &attr);
	if (!ret) {
		uep_port_attr(&arg->attr, &attr, dev, arg->port_num);
		arg->port_cap_flags2 = attr.port_cap_flags2;
		ndev = ep_compat_port_netdev(dev->ibdev, arg->port_num);
		arg->netdev_index = uep_ifindex(ndev);
		dev_put(ndev);
	}
	uep_dev_exit(dev, srcu);
	return ret;
}

static u32 uep_gid_ifindex(const struct ib_gid_attr *attr)
{
	u32 ifindex;

	rcu_read_lock();
	ifindex = uep_ifindex(rcu_dereference(attr->ndev));
	rcu_read_unlock();
	return ifindex;
}

static int uep_gid(struct ib_device *ibdev, struct rdma_ep_cmd_query_gid *arg)
{
	const struct ib_gid_attr *attr;

	if (!rdma_is_port_valid(ibdev, arg->port_num) ||
	    arg->gid_index >= ibdev->port_data[arg->port_num].immutable.gid_tbl_len)
		return -EINVAL;
	attr = rdma_get_gid_attr(ibdev, arg->port_num, arg->gid_index);
	if (IS_ERR(attr))
		return -ENODATA;
	memcpy(arg->gid, attr->gid.raw, sizeof(arg->gid));
	arg->gid_type = attr->gid_type;
	arg->ndev_ifindex = uep_gid_ifindex(attr);
	rdma_put_gid_attr(attr);
	return 0;
}

int uep_query_gid(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_gid *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uep_gid(dev->ibdev, arg);
	uep_dev_exit(dev, srcu);
	return ret;
}

/* Returns the number of entries in the array, or an errno. */
static ssize_t uep_gid_table(struct ib_device *ibdev, struct ib_uverbs_gid_entry **entries)
{
	const struct ib_gid_attr *attr;
	struct ib_uverbs_gid_entry *e;
	size_t size = 0;
	ssize_t num;
	u32 port;

	rdma_for_each_port(ibdev, port)
		size += ibdev->port_data[port].immutable.gid_tbl_len;
	*entries = kvcalloc(size, sizeof(**entries), GFP_KERNEL_ACCOUNT);
	if (!*entries)
		return -ENOMEM;
	num = rdma_query_gid_table(ibdev, *entries, size);
	/* The core writes interfaces of all network namespaces. */
	for (e = *entries; e < *entries + max_t(ssize_t, num, 0); e++) {
		attr = rdma_get_gid_attr(ibdev, e->port_num, e->gid_index);
		e->netdev_ifindex = IS_ERR(attr) ? 0 : uep_gid_ifindex(attr);
		if (!IS_ERR(attr))
			rdma_put_gid_attr(attr);
	}
	if (num < 0)
		kvfree(*entries);
	return num;
}

int uep_query_gid_table(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_gid_table *arg = cmd->arg;
	struct ib_uverbs_gid_entry *entries;
	struct ep_dev *dev;
	ssize_t num;
	int srcu;

	if (arg->reserved)
		return -EINVAL;
	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	num = uep_gid_table(dev->ibdev, &entries);
	uep_dev_exit(dev, srcu);
	if (num < 0)
		return num;

	arg->num = num;
	if (num > arg->max)
		num = -EINVAL;
	else if (copy_to_user(u64_to_user_ptr(arg->entries), entries, num * sizeof(*entries)))
		num = -EFAULT;
	kvfree(entries);
	return num < 0 ? num : 0;
}

int uep_query_pkey(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_query_pkey *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu, ret = -EINVAL;
	u16 pkey;

	dev = uep_dev_enter(cmd->s, arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (rdma_is_port_valid(dev->ibdev, arg->port_num) && arg->pkey_index <= U16_MAX)
		ret = ib_query_pkey(dev->ibdev, arg->port_num, arg->pkey_index, &pkey);
	if (!ret)
		arg->pkey = pkey;
	uep_dev_exit(dev, srcu);
	return ret;
}
