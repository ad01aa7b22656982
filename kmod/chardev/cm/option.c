// SPDX-License-Identifier: GPL-2.0-only
/* Options of ids. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "cm.h"

/* Longest option value: a handful of path records. */
#define UEP_MAX_OPTLEN	1024

static int uep_set_option_id(struct uep_id *id, u32 optname, const void *optval, u32 optlen)
{
	struct rdma_cm_id *cm_id = id->id.cm_id;
	int ret;

	switch (optname) {
	case RDMA_OPTION_ID_TOS:
		if (optlen != sizeof(u8))
			return -EINVAL;
		rdma_set_service_type(cm_id, *(u8 *)optval);
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (optlen != sizeof(int))
			return -EINVAL;
		return rdma_set_reuseaddr(cm_id, *(int *)optval ? 1 : 0);
	case RDMA_OPTION_ID_AFONLY:
		if (optlen != sizeof(int))
			return -EINVAL;
		ret = rdma_set_afonly(cm_id, *(int *)optval ? 1 : 0);
		if (!ret)
			id->both_families = !*(int *)optval;
		return ret;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		/* Five bits on the wire, and drivers shift by them. */
		if (optlen != sizeof(u8) || *(u8 *)optval > 31)
			return -EINVAL;
		return rdma_set_ack_timeout(cm_id, *(u8 *)optval);
	default:
		return -ENOSYS;
	}
}

/* rdma_cm reports no event when the user sets a path, so one is made here. */
static int uep_set_option_path(struct uep_id *id, const struct ib_path_rec_data *path, u32 optlen)
{
	const u32 wanted = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	struct rdma_cm_id *cm_id = id->id.cm_id;
	struct uep_event *ev;
	struct sa_path_rec rec = { .rec_type = SA_PATH_REC_TYPE_IB };
	u32 i, n = optlen / sizeof(*path);
	int ret;

	if (!optlen || optlen % sizeof(*path) || !cm_id->device)
		return -EINVAL;
	ret = uep_check_own_path(id->obj.session);
	if (ret)
		return ret;
	for (i = 0; i < n && path[i].flags != wanted; i++)
		;
	if (i == n)
		return -EINVAL;
	if (rdma_cap_opa_ah(cm_id->device, cm_id->port_num))
		return -EOPNOTSUPP;
	/* First, as the path cannot be unset. */
	ev = uep_event_alloc(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (!ev)
		return -ENOMEM;
	ib_sa_unpack_path((void *)path[i].path_rec, &rec);
	ret = ep_id_set_path(&id->id, &rec);
	if (ret) {
		kfree(ev);
		return ret;
	}
	id->own_path = true;
	uep_id_report(id, ev, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return 0;
}

int uep_set_option(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_set_option *arg = cmd->arg;
	struct uep_id *id;
	void *optval;
	int ret;

	if (arg->level != RDMA_OPTION_ID && arg->level != RDMA_OPTION_IB)
		return -ENOSYS;
	if (arg->level == RDMA_OPTION_IB && arg->optname != RDMA_OPTION_IB_PATH)
		return -ENOSYS;
	if (arg->optlen > UEP_MAX_OPTLEN)
		return -EINVAL;
	optval = kmalloc(arg->optlen, GFP_KERNEL_ACCOUNT);
	if (!optval)
		return -ENOMEM;
	ret = -EFAULT;
	if (copy_from_user(optval, u64_to_user_ptr(arg->optval), arg->optlen))
		goto out;
	id = uep_id_begin(cmd->s, arg->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto out;
	}
	if (arg->level == RDMA_OPTION_ID)
		ret = uep_set_option_id(id, arg->optname, optval, arg->optlen);
	else
		ret = uep_set_option_path(id, optval, arg->optlen);
	ret = uep_id_end(id, ret);
out:
	kfree(optval);
	return ret;
}
