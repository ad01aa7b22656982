// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creation, registration and removal of devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>

#include "mock.h"

MODULE_DESCRIPTION("RDMA device whose behaviour tests choose");
MODULE_LICENSE("GPL");

static DEFINE_MUTEX(mock_lock);		/* mock_devs */
static LIST_HEAD(mock_devs);
static DECLARE_WAIT_QUEUE_HEAD(mock_gone);

static int mock_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	*attr = to_mock(ibdev)->attr;
	return 0;
}

static int mock_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct mock_dev *m = to_mock(ibdev);
	int ret = MOCK_GATE(ibdev, query_port);
	bool up = netif_running(m->ndev) && netif_carrier_ok(m->ndev);

	if (ret)
		return ret;
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_1024;
	attr->gid_tbl_len = 32;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	attr->max_msg_sz = 1 << 20;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int mock_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	int ret = MOCK_GATE(ibdev, query_pkey);

	*pkey = IB_DEFAULT_PKEY_FULL;
	return ret;
}

static int mock_port_immutable(struct ib_device *ibdev, u32 port,
			       struct ib_port_immutable *immutable)
{
	if (port == 1) {
		immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE;
		immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	} else {
		immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	}
	immutable->gid_tbl_len = 32;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static enum rdma_link_layer mock_link_layer(struct ib_device *ibdev, u32 port)
{
	return port == 1 ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND;
}

/* The core keeps the table. */
static int mock_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int mock_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

/* The core calls it when all references to the device have been dropped. */
static void mock_dealloc_driver(struct ib_device *ibdev)
{
	struct mock_dev *m = to_mock(ibdev);
	int i;

	debugfs_remove_recursive(m->dir);
	irq_work_sync(&m->irq_work);
	flush_work(&m->work);
	tasklet_kill(&m->after);
	for (i = 0; i < MOCK_NR_KINDS; i++)
		WARN_ON(m->count[i]);
	for (i = 0; i < MOCK_PD; i++)
		xa_destroy(&m->objs[i]);
	xa_destroy(&m->mrs);
	dev_put(m->ndev);
	mutex_lock(&mock_lock);
	if (!list_empty(&m->entry))
		list_del(&m->entry);
	mutex_unlock(&mock_lock);
	wake_up(&mock_gone);
}

const struct ib_device_ops mock_ops = {
	.owner = THIS_MODULE,
	.dealloc_driver = mock_dealloc_driver,
	.query_device = mock_query_device,
	.query_port = mock_query_port,
	.query_pkey = mock_query_pkey,
	.get_port_immutable = mock_port_immutable,
	.get_link_layer = mock_link_layer,
	.add_gid = mock_add_gid,
	.del_gid = mock_del_gid,
	.alloc_pd = mock_alloc_pd,
	.dealloc_pd = mock_dealloc_pd,
	.create_ah = mock_create_ah,
	.destroy_ah = mock_destroy_ah,
	.create_cq = mock_create_cq,
#ifdef HAVE_RESIZE_USER_CQ
	.resize_user_cq = mock_resize_cq,
#else
	.resize_cq = mock_resize_cq,
#endif
	.modify_cq = mock_modify_cq,
	.destroy_cq = mock_destroy_cq,
	.poll_cq = mock_poll_cq,
	.req_notify_cq = mock_req_notify_cq,
	.create_qp = mock_create_qp,
	.modify_qp = mock_modify_qp,
	.query_qp = mock_query_qp,
	.destroy_qp = mock_destroy_qp,
	.post_send = mock_post_send,
	.post_recv = mock_post_recv,
	.attach_mcast = mock_attach_mcast,
	.detach_mcast = mock_detach_mcast,
	.get_dma_mr = mock_get_dma_mr,
	.reg_user_mr = mock_reg_user_mr,
	.rereg_user_mr = mock_rereg_user_mr,
	.dereg_mr = mock_dereg_mr,
	INIT_RDMA_OBJ_SIZE(ib_pd, mock_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ah, mock_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, mock_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_qp, mock_qp, ibqp),
};

static const struct ib_device_ops mock_srq_ops = {
	.create_srq = mock_create_srq,
	.modify_srq = mock_modify_srq,
	.query_srq = mock_query_srq,
	.destroy_srq = mock_destroy_srq,
	.post_srq_recv = mock_post_srq_recv,
	INIT_RDMA_OBJ_SIZE(ib_srq, mock_srq, ibsrq),
};

static const struct ib_device_ops mock_xrc_ops = {
	.alloc_xrcd = mock_alloc_xrcd,
	.dealloc_xrcd = mock_dealloc_xrcd,
	INIT_RDMA_OBJ_SIZE(ib_xrcd, mock_xrcd, ibxrcd),
};

static const struct ib_device_attr mock_attr = {
	.vendor_id = 0x1d00,
	.max_mr_size = 1ULL << 40,
	.page_size_cap = PAGE_SIZE,
	.max_qp = 4096,
	.max_qp_wr = 4096,
	.max_send_sge = MOCK_MAX_SGE,
	.max_recv_sge = MOCK_MAX_SGE,
	.max_sge_rd = MOCK_MAX_SGE,
	.max_cq = 4096,
	.max_cqe = 65536,
	.max_mr = 4096,
	.max_pd = 4096,
	.max_ah = 4096,
	.max_qp_rd_atom = 16,
	.max_qp_init_rd_atom = 16,
	.max_res_rd_atom = 4096,
	.atomic_cap = IB_ATOMIC_HCA,
	.max_mcast_grp = 64,
	.max_mcast_qp_attach = 64,
	.max_total_mcast_qp_attach = 4096,
	.max_srq = 4096,
	.max_srq_wr = 4096,
	.max_srq_sge = MOCK_MAX_SGE,
	.max_pkeys = 1,
	.kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG,
};

/* Options of a device other than its limits */
struct mock_options {
	u32 driver;
	u32 srq;
	u32 xrc;
	u32 ib_port;
};

#define MOCK_LIMIT(name) { #name, offsetof(struct ib_device_attr, name) }
static const struct {
	const char *name;
	size_t offset;
} mock_limits[] = {
	MOCK_LIMIT(max_qp), MOCK_LIMIT(max_qp_wr), MOCK_LIMIT(max_send_sge),
	MOCK_LIMIT(max_recv_sge), MOCK_LIMIT(max_sge_rd), MOCK_LIMIT(max_cq),
	MOCK_LIMIT(max_cqe), MOCK_LIMIT(max_mr), MOCK_LIMIT(max_pd),
	MOCK_LIMIT(max_ah), MOCK_LIMIT(max_srq), MOCK_LIMIT(max_srq_wr),
	MOCK_LIMIT(max_srq_sge), MOCK_LIMIT(max_qp_rd_atom),
	MOCK_LIMIT(max_qp_init_rd_atom),
};

static int mock_option(struct mock_dev *m, struct mock_options *o, char *key, u32 value)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mock_limits); i++) {
		if (strcmp(key, mock_limits[i].name))
			continue;
		*(int *)((char *)&m->attr + mock_limits[i].offset) = value;
		return 0;
	}
	if (!strcmp(key, "max_mr_size"))
		m->attr.max_mr_size = value;
	else if (!strcmp(key, "driver"))
		o->driver = value;
	else if (!strcmp(key, "srq"))
		o->srq = value;
	else if (!strcmp(key, "xrc"))
		o->xrc = value;
	else if (!strcmp(key, "ib_port"))
		o->ib_port = value;
	else
		return -EINVAL;
	return 0;
}

static int mock_parse(struct mock_dev *m, struct mock_options *o, char *options)
{
	char *word, *value;
	u32 number;
	int ret;

	while ((word = strsep(&options, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = 0;
		ret = kstrtou32(value, 0, &number);
		if (!ret)
			ret = mock_option(m, o, word, number);
		if (ret)
			return ret;
	}
	return 0;
}

static void mock_init(struct mock_dev *m, const struct mock_options *o)
{
	struct ib_device *ibdev = &m->ibdev;
	int i;

	spin_lock_init(&m->lock);
	for (i = 0; i < MOCK_PD; i++)
		xa_init_flags(&m->objs[i], XA_FLAGS_ALLOC1);
	xa_init_flags(&m->mrs, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&m->entry);
	INIT_LIST_HEAD(&m->raised);
	init_irq_work(&m->irq_work, mock_irq_work);
	INIT_WORK(&m->work, mock_work);
	tasklet_setup(&m->after, mock_after);
	init_waitqueue_head(&m->idle);

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = o->ib_port ? 2 : 1;
	ibdev->num_comp_vectors = 2;
	ibdev->local_dma_lkey = MOCK_LOCAL_LKEY;
	eth_random_addr((u8 *)&ibdev->node_guid);
	m->attr.sys_image_guid = ibdev->node_guid;
	ib_set_device_ops(ibdev, &mock_ops);
	if (o->srq)
		ib_set_device_ops(ibdev, &mock_srq_ops);
	if (o->xrc) {
		ib_set_device_ops(ibdev, &mock_xrc_ops);
		m->attr.device_cap_flags |= IB_DEVICE_XRC;
	}
	ibdev->ops.driver_id = o->driver;
}

int mock_create(const char *name, const char *netdev, char *options)
{
	/* rdma_ep supports mlx5, and no module searches devices by this id. */
	struct mock_options o = { .driver = RDMA_DRIVER_MLX5, .srq = 1, .xrc = 1 };
	struct mock_dev *m;
	int ret;

	m = ib_alloc_device(mock_dev, ibdev);
	if (!m)
		return -ENOMEM;
	m->attr = mock_attr;
	ret = mock_parse(m, &o, options);
	mock_init(m, &o);
	if (!ret) {
		m->ndev = dev_get_by_name(current->nsproxy->net_ns, netdev);
		if (!m->ndev)
			ret = -ENODEV;
	}
	if (!ret)
		ret = ib_device_set_netdev(&m->ibdev, m->ndev, 1);
	if (ret)
		goto err;

	mock_control_add(m, name);
	mutex_lock(&mock_lock);
	list_add_tail(&m->entry, &mock_devs);
	mutex_unlock(&mock_lock);
	ret = ib_register_device(&m->ibdev, name, NULL);
	if (ret)
		goto err;
	memcpy(m->base, m->count, sizeof(m->base));
	return 0;

err:
	/* Calls mock_dealloc_driver(). */
	ib_dealloc_device(&m->ibdev);
	return ret;
}

/* Returns when the device has been removed, even if another task removes it. */
int mock_remove(const char *name)
{
	struct mock_dev *m, *found = NULL;

	mutex_lock(&mock_lock);
	list_for_each_entry(m, &mock_devs, entry) {
		/* A device has no name before its registration. */
		if (!ib_device_try_get(&m->ibdev))
			continue;
		if (!strcmp(name, dev_name(&m->ibdev.dev))) {
			found = m;
			break;
		}
		ib_device_put(&m->ibdev);
	}
	mutex_unlock(&mock_lock);
	if (!found)
		return -ENODEV;
	ib_unregister_device_and_put(&found->ibdev);
	return 0;
}

static int mock_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct mock_dev *m;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	mutex_lock(&mock_lock);
	list_for_each_entry(m, &mock_devs, entry) {
		if (m->ndev == ndev && ib_device_try_get(&m->ibdev)) {
			ib_unregister_device_queued(&m->ibdev);
			ib_device_put(&m->ibdev);
		}
	}
	mutex_unlock(&mock_lock);
	return NOTIFY_DONE;
}

static struct notifier_block mock_netdev_nb = { .notifier_call = mock_netdev_event };

static int __init mock_module_init(void)
{
	int ret;

	ret = register_netdevice_notifier(&mock_netdev_nb);
	if (ret)
		return ret;
	mock_control_init();
	return 0;
}

static bool mock_none_left(void)
{
	bool none;

	mutex_lock(&mock_lock);
	none = list_empty(&mock_devs);
	mutex_unlock(&mock_lock);
	return none;
}

static void mock_remove_all(void)
{
	struct mock_dev *m, *found;

	do {
		found = NULL;
		mutex_lock(&mock_lock);
		list_for_each_entry(m, &mock_devs, entry) {
			if (ib_device_try_get(&m->ibdev)) {
				found = m;
				break;
			}
		}
		mutex_unlock(&mock_lock);
		if (found)
			ib_unregister_device_and_put(&found->ibdev);
	} while (found);
}

static void __exit mock_module_exit(void)
{
	unregister_netdevice_notifier(&mock_netdev_nb);
	mock_remove_all();
	/* Another task may be removing a device. */
	wait_event(mock_gone, mock_none_left());
	/* That task may still be returning from mock_dealloc_driver(). */
	synchronize_rcu_tasks();
	mock_control_cleanup();
}

module_init(mock_module_init);
module_exit(mock_module_exit);
