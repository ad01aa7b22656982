// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries: the module, devices, ports, GIDs, P_Keys.
 */
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
	struct rdma_ep_query *arg = cmd->arg;

	arg->caps = 0;
	arg->abi_version = RDMA_EP_ABI_VERSION;
	uep_quota_query(arg);
	arg->max_wr = UEP_MAX_WR;
	arg->max_cqe = UEP_MAX_CQE;
	arg->max_post_bytes = UEP_MAX_POST_BYTES;
	arg->max_backlog = UEP_MAX_BACKLOG;
	return 0;
}

static void uep_device_to_user(struct rdma_ep_device *dst, struct ep_dev *dev)
{
	struct ib_device *ibdev = dev->ibdev;

	memset(dst, 0, sizeof(*dst));
	dst->dev_index = dev->index;
	if (ep_dev_has(ibdev, EP_CAP_REG_MR))
		dst->flags |= RDMA_EP_DEVICE_USER_MR;
	if (ibdev->ops.alloc_xrcd)
		dst->flags |= RDMA_EP_DEVICE_XRC;
	dst->node_guid = ibdev->node_guid;
	dst->node_type = ibdev->node_type;
	dst->phys_port_cnt = ibdev->phys_port_cnt;
	dst->num_comp_vectors = ibdev->num_comp_vectors;
	dst->ib_index = ibdev->index;
	dst->driver_id = ibdev->ops.driver_id;
	strscpy(dst->name, ibdev->name, sizeof(dst->name));
}

int uep_query_devices(struct uep_cmd *cmd)
{
	struct rdma_ep_query_devices *arg = cmd->arg;
	struct rdma_ep_device __user *udevs = u64_to_user_ptr(arg->devices);
	struct rdma_ep_device rec;
	struct ep_dev *dev;
	u32 index = 0;
	int srcu;

	arg->num = 0;
	while ((dev = ep_dev_next(&index))) {
		bool mine = false;

		if (!ep_dev_enter(dev, &srcu)) {
			mine = rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns);
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
 * Capabilities that can be had here, or that say something of what happens by itself.
 * Of others the device may have some that are not for kernel consumers, or that no command
 * asks for: they are not told. So of FLUSH and ATOMIC WRITE, as drivers take no
 * address and no key from a kernel consumer's request.
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
	return ibdev->attrs.device_cap_flags & offered;
}

static void uep_device_attr(struct ib_uverbs_query_device_resp *dst, struct ib_device *ibdev)
{
	const struct ib_device_attr *attr = &ibdev->attrs;

	memset(dst, 0, sizeof(*dst));
	dst->fw_ver = attr->fw_ver;
	dst->node_guid = ibdev->node_guid;
	dst->sys_image_guid = attr->sys_image_guid;
	dst->max_mr_size = attr->max_mr_size;
	dst->page_size_cap = attr->page_size_cap;
	dst->vendor_id = attr->vendor_id;
	dst->vendor_part_id = attr->vendor_part_id;
	dst->hw_ver = attr->hw_ver;
	dst->max_qp = attr->max_qp;
	dst->max_qp_wr = min_t(u32, attr->max_qp_wr, UEP_MAX_WR);
	dst->device_cap_flags = lower_32_bits(uep_device_caps(ibdev));
	dst->max_sge = min(attr->max_send_sge, attr->max_recv_sge);
	dst->max_sge_rd = attr->max_sge_rd;
	dst->max_cq = attr->max_cq;
	dst->max_cqe = min_t(u32, attr->max_cqe, UEP_MAX_CQE);
	dst->max_mr = attr->max_mr;
	dst->max_pd = attr->max_pd;
	dst->max_qp_rd_atom = attr->max_qp_rd_atom;
	dst->max_res_rd_atom = attr->max_res_rd_atom;
	dst->max_qp_init_rd_atom = attr->max_qp_init_rd_atom;
	dst->atomic_cap = attr->atomic_cap;
	dst->max_mcast_grp = attr->max_mcast_grp;
	dst->max_mcast_qp_attach = attr->max_mcast_qp_attach;
	dst->max_total_mcast_qp_attach = attr->max_total_mcast_qp_attach;
	dst->max_ah = attr->max_ah;
	dst->max_srq = attr->max_srq;
	dst->max_srq_wr = min_t(u32, attr->max_srq_wr, UEP_MAX_WR);
	dst->max_srq_sge = attr->max_srq_sge;
	dst->max_pkeys = attr->max_pkeys;
	dst->local_ca_ack_delay = attr->local_ca_ack_delay;
	dst->phys_port_cnt = min_t(u32, ibdev->phys_port_cnt, U8_MAX);
}

int uep_query_device(struct uep_cmd *cmd)
{
	struct rdma_ep_query_device *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu;

	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	uep_device_attr(&arg->attr, dev->ibdev);
	arg->num_comp_vectors = dev->ibdev->num_comp_vectors;
	arg->device_cap_flags_ex = uep_device_caps(dev->ibdev);
	/* No command reads it. */
	arg->hca_core_clock = 0;
	arg->timestamp_mask = 0;
	uep_dev_leave(dev, srcu);
	return 0;
}

static void uep_port_attr(struct ib_uverbs_query_port_resp *dst, const struct ib_port_attr *attr,
			  struct ib_device *ibdev, u32 port)
{
	memset(dst, 0, sizeof(*dst));
	dst->state = attr->state;
	dst->max_mtu = attr->max_mtu;
	dst->active_mtu = attr->active_mtu;
	dst->gid_tbl_len = attr->gid_tbl_len;
	dst->port_cap_flags = attr->port_cap_flags & ~IB_UVERBS_PCF_IP_BASED_GIDS;
	if (attr->ip_gids)
		dst->port_cap_flags |= IB_UVERBS_PCF_IP_BASED_GIDS;
	dst->max_msg_sz = attr->max_msg_sz;
	dst->bad_pkey_cntr = attr->bad_pkey_cntr;
	dst->qkey_viol_cntr = attr->qkey_viol_cntr;
	dst->pkey_tbl_len = attr->pkey_tbl_len;
	if (rdma_is_grh_required(ibdev, port))
		dst->flags |= IB_UVERBS_QPF_GRH_REQUIRED;
	if (rdma_cap_opa_ah(ibdev, port)) {
		dst->lid = OPA_TO_IB_UCAST_LID(attr->lid);
		dst->sm_lid = OPA_TO_IB_UCAST_LID(attr->sm_lid);
	} else {
		dst->lid = ib_lid_cpu16(attr->lid);
		dst->sm_lid = ib_lid_cpu16(attr->sm_lid);
	}
	dst->lmc = attr->lmc;
	dst->max_vl_num = attr->max_vl_num;
	dst->sm_sl = attr->sm_sl;
	dst->subnet_timeout = attr->subnet_timeout;
	dst->init_type_reply = attr->init_type_reply;
	dst->active_width = attr->active_width;
	dst->active_speed = min_t(u16, attr->active_speed, IB_SPEED_NDR);
	dst->phys_state = attr->phys_state;
	dst->link_layer = rdma_port_get_link_layer(ibdev, port);
}

/* Index of the port's network device as the caller sees it, or 0. */
static u32 uep_port_ifindex(struct ib_device *ibdev, u32 port)
{
	struct net_device *ndev = ep_compat_port_netdev(ibdev, port);
	u32 ifindex = 0;

	if (ndev && net_eq(dev_net(ndev), current->nsproxy->net_ns))
		ifindex = ndev->ifindex;
	dev_put(ndev);
	return ifindex;
}

int uep_query_port(struct uep_cmd *cmd)
{
	struct rdma_ep_query_port *arg = cmd->arg;
	struct ib_port_attr attr;
	struct ep_dev *dev;
	int srcu, ret;

	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	/* Checks the port number. */
	ret = ib_query_port(dev->ibdev, arg->port_num, &attr);
	if (!ret) {
		uep_port_attr(&arg->attr, &attr, dev->ibdev, arg->port_num);
		arg->port_cap_flags2 = attr.port_cap_flags2;
		arg->netdev_index = uep_port_ifindex(dev->ibdev, arg->port_num);
	}
	uep_dev_leave(dev, srcu);
	return ret;
}

/* The same of the address's network device. */
static u32 uep_gid_ifindex(const struct ib_gid_attr *attr)
{
	const struct net_device *ndev;
	u32 ifindex = 0;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev && net_eq(dev_net(ndev), current->nsproxy->net_ns))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

static int uep_gid(struct ib_device *ibdev, struct rdma_ep_query_gid *arg)
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
	struct rdma_ep_query_gid *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu, ret;

	if (arg->reserved)
		return -EINVAL;
	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = uep_gid(dev->ibdev, arg);
	uep_dev_leave(dev, srcu);
	return ret;
}

/* The core does not ask whose interface it is. */
static void uep_gid_entry_ifindex(struct ib_device *ibdev, struct ib_uverbs_gid_entry *entry)
{
	const struct ib_gid_attr *attr;

	attr = rdma_get_gid_attr(ibdev, entry->port_num, entry->gid_index);
	entry->netdev_ifindex = 0;
	if (IS_ERR(attr))
		return;
	entry->netdev_ifindex = uep_gid_ifindex(attr);
	rdma_put_gid_attr(attr);
}

/* Returns the number of entries in the array, or an errno. */
static ssize_t uep_gid_table(struct ib_device *ibdev, struct ib_uverbs_gid_entry **entries)
{
	size_t size = 0;
	ssize_t ret, i;
	u32 port;

	rdma_for_each_port(ibdev, port)
		size += ibdev->port_data[port].immutable.gid_tbl_len;
	*entries = kvcalloc(size, sizeof(**entries), GFP_KERNEL_ACCOUNT);
	if (!*entries)
		return -ENOMEM;
	ret = rdma_query_gid_table(ibdev, *entries, size);
	for (i = 0; i < ret; i++)
		uep_gid_entry_ifindex(ibdev, &(*entries)[i]);
	if (ret < 0) {
		kvfree(*entries);
		*entries = NULL;
	}
	return ret;
}

int uep_query_gid_table(struct uep_cmd *cmd)
{
	struct rdma_ep_query_gid_table *arg = cmd->arg;
	struct ib_uverbs_gid_entry *entries;
	struct ep_dev *dev;
	ssize_t num;
	int srcu;

	if (arg->reserved)
		return -EINVAL;
	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	num = uep_gid_table(dev->ibdev, &entries);
	uep_dev_leave(dev, srcu);
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
	struct rdma_ep_query_pkey *arg = cmd->arg;
	struct ep_dev *dev;
	int srcu, ret = -EINVAL;
	u16 pkey;

	dev = uep_dev_lookup(arg->dev_index, &srcu);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (rdma_is_port_valid(dev->ibdev, arg->port_num) && arg->pkey_index <= U16_MAX)
		ret = ib_query_pkey(dev->ibdev, arg->port_num, arg->pkey_index, &pkey);
	if (!ret)
		arg->pkey = pkey;
	uep_dev_leave(dev, srcu);
	return ret;
}
