/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernels. Kbuild probes the headers of the kernel and defines HAVE_*;
 * no code tests version numbers, because distributions backport.
 */
#ifndef RDMA_EP_COMPAT_H
#define RDMA_EP_COMPAT_H

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cgroup_rdma.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

/* Without udata: for drivers that then take the CQ for the kernel's */
static inline int ep_compat_resize_cq(struct ib_cq *cq, unsigned int cqe)
{
#ifdef HAVE_RESIZE_USER_CQ
	const typeof(cq->device->ops.resize_user_cq) resize = cq->device->ops.resize_user_cq;
#else
	const typeof(cq->device->ops.resize_cq) resize = cq->device->ops.resize_cq;
#endif

	return resize ? resize(cq, cqe, NULL) : -EOPNOTSUPP;
}

/*
 * The port's network device with a reference, or NULL. Where ib_core does not export its
 * function, this does the same, and the GID table has no device for iWARP.
 */
static inline struct net_device *ep_compat_port_netdev(struct ib_device *ibdev, u32 port)
{
#ifdef HAVE_IB_DEVICE_GET_NETDEV
	return ib_device_get_netdev(ibdev, port);
#else
	struct net_device *ndev;

	if (ibdev->ops.get_netdev)
		return ibdev->ops.get_netdev(ibdev, port);
	rcu_read_lock();
	ndev = rcu_dereference(ibdev->port_data[port].netdev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
#endif
}

/*
 * Access rights that the CM gives to peers, on devices that have them. Soon after their
 * addition (6.2) a software driver's tasks became work items, and the state of its QPs got a
 * lock; no header shows that. The module cannot be built for a kernel in between: linux/cleanup.h
 * is not older than the work items, but for updates of 6.1 (kernel-lacks).
 */
#ifdef HAVE_IB_ACCESS_FLUSH
#define EP_COMPAT_ACCESS_FLUSH						\
	(IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)
#define EP_COMPAT_QP_WORK_ITEMS		true
#else
#define EP_COMPAT_ACCESS_FLUSH		0
#define EP_COMPAT_QP_WORK_ITEMS		false
#endif

/*
 * Until shortly before ib_core's sub-devices (6.11) a software driver also executed its tasks in
 * any context in which a packet arrived or was sent; no header shows that.
 */
#ifdef HAVE_IB_SUB_DEV
#define EP_COMPAT_QP_ONLY_WORK_ITEMS	true
#else
#define EP_COMPAT_QP_ONLY_WORK_ITEMS	false
#endif

/* For arrays on the way of each message: kernels that clear all variables leave them out. */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized __attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/*
 * Lets the task run that is to run before the current one returns to user space. With lazy
 * preemption cond_resched() does nothing.
 */
static inline void ep_compat_resched(void)
{
#ifdef TIF_NEED_RESCHED_LAZY
	if (test_thread_flag(TIF_NEED_RESCHED_LAZY))
		schedule();
#endif
	cond_resched();
}

/* For an area that is being mapped */
static inline void ep_compat_vm_flags(struct vm_area_struct *vma,
				      unsigned long set, unsigned long clear)
{
#ifdef HAVE_VM_FLAGS_MOD
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * May any task set Q_Keys with the privileged bit? The administrator's switch (rdma system set
 * privileged-qkey). Declared in a private header of ib_core. Where it is not exported, the module
 * assumes the default: off.
 */
#ifdef HAVE_RDMA_NL_GET_PRIVILEGED_QKEY
bool rdma_nl_get_privileged_qkey(void);
#define ep_compat_privileged_qkey()	rdma_nl_get_privileged_qkey()
#else
#define ep_compat_privileged_qkey()	false
#endif

/*
 * May the calling task set such Q_Keys? The switch included the capability check before that
 * moved to the device's user namespace.
 */
static inline bool ep_compat_qkey_allowed(struct ib_device *ibdev)
{
#ifdef HAVE_RDMA_DEV_HAS_RAW_CAP
	return rdma_dev_has_raw_cap(ibdev) || ep_compat_privileged_qkey();
#else
	return capable(CAP_NET_RAW) || ep_compat_privileged_qkey();
#endif
}

/*
 * ib_create_qp_user() alone adds an XRC target to its domain, so that others can open it. It is
 * declared in the same private header. Its fourth argument, NULL here, has changed its type
 * (struct ib_udata, struct uverbs_attr_bundle).
 */
#ifndef DECLARES_IB_CREATE_QP_USER
struct ib_uqp_object;
struct ib_qp *ib_create_qp_user(struct ib_device *ibdev, struct ib_pd *pd,
				struct ib_qp_init_attr *attr, void *uattrs,
				struct ib_uqp_object *uobj, const char *caller);
#endif

static inline struct ib_qp *
ep_compat_create_xrc_target(struct ib_device *ibdev,
			    struct ib_qp_init_attr *attr, const char *caller)
{
#ifdef HAVE_IB_CREATE_QP_USER
	return ib_create_qp_user(ibdev, NULL, attr, NULL, NULL, caller);
#else
	return ERR_PTR(-EOPNOTSUPP);
#endif
}

/*
 * The ids of the current task's cgroup and of those above it in the unified hierarchy, by level
 * (the root is 0), down to level @max. @path: NULL, or the path of the last one, @size bytes.
 * Returns the level of the last one. Without cgroups all tasks are in the root.
 */
static inline int ep_compat_cgroup_ids(u64 *ids, int max, char *path, size_t size)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgrp;
	int i, level;

	rcu_read_lock();
	cgrp = task_dfl_cgroup(current);
	level = min(cgrp->level, max);
	for (i = 0; i <= level; i++)
		ids[i] = cgroup_id(cgroup_ancestor(cgrp, i));
	if (path)
		cgroup_path(cgroup_ancestor(cgrp, level), path, size);
	rcu_read_unlock();
	return level;
#else
	ids[0] = 1;
	if (path)
		strscpy(path, "/", size);
	return 0;
#endif
}

#ifndef CONFIG_CGROUP_RDMA
struct rdma_cgroup;
#endif

/* Charges the RDMA controller of the current task's cgroup. */
static inline int ep_compat_cg_charge(struct ib_device *ibdev, struct rdma_cgroup **cg)
{
#ifdef CONFIG_CGROUP_RDMA
	return rdmacg_try_charge(cg, &ibdev->cg_device, RDMACG_RESOURCE_HCA_OBJECT);
#else
	*cg = NULL;
	return 0;
#endif
}

static inline void ep_compat_cg_uncharge(struct ib_device *ibdev, struct rdma_cgroup *cg)
{
#ifdef CONFIG_CGROUP_RDMA
	if (cg)
		rdmacg_uncharge(cg, &ibdev->cg_device, RDMACG_RESOURCE_HCA_OBJECT);
#endif
}

#endif /* RDMA_EP_COMPAT_H */
