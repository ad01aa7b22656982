// SPDX-License-Identifier: BSD-2-Clause
/* GID and P_Key tables. */
#include <endian.h>

#include "internal.h"

/* Returns 0 or an errno: ENODATA for an entry that is empty. */
static int query_gid(struct ibv_context *context, uint32_t port_num,
		     uint32_t index, struct rdma_ep_query_gid *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->dev_index = ep_dev(context->device)->index;
	cmd->port_num = port_num;
	cmd->gid_index = index;
	return ep_call(ep_ctx(context)->session, QUERY_GID, cmd) ?
		ep_query_errno(errno) : 0;
}

/* ibv_query_gid(3): an empty entry reads as a GID of zeros. */
EP_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			    int index, union ibv_gid *gid)
{
	struct rdma_ep_query_gid cmd;
	int ret;

	if (!context || !gid || index < 0)
		return ep_err(EINVAL);
	if (!ep_ours(context))
		return ep_forward(-1, "IBVERBS_1.1", ibv_query_gid, context,
				  port_num, index, gid);
	ret = query_gid(context, port_num, index, &cmd);
	if (ret && ret != ENODATA)
		return ep_err(ret);
	memset(gid, 0, sizeof(*gid));
	if (!ret)
		memcpy(gid->raw, cmd.gid, sizeof(gid->raw));
	return 0;
}

static void copy_entry(void *entry, const struct rdma_ep_query_gid *cmd,
		       size_t entry_size)
{
	struct ibv_gid_entry full = {
		.gid_index = cmd->gid_index,
		.port_num = cmd->port_num,
		.gid_type = cmd->gid_type,
		.ndev_ifindex = cmd->ndev_ifindex,
	};

	memcpy(full.gid.raw, cmd->gid, sizeof(full.gid.raw));
	memset(entry, 0, entry_size);
	memcpy(entry, &full,
	       entry_size < sizeof(full) ? entry_size : sizeof(full));
}

/* ibv_query_gid_ex(3): an empty entry is ENODATA. */
EP_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				uint32_t gid_index, struct ibv_gid_entry *entry,
				uint32_t flags, size_t entry_size)
{
	struct rdma_ep_query_gid cmd;
	int ret;

	if (!context || !entry)
		return EINVAL;
	if (!ep_ours(context))
		return ep_forward(ENOSYS, "IBVERBS_1.11", _ibv_query_gid_ex,
				  context, port_num, gid_index, entry, flags,
				  entry_size);
	if (flags)
		return EINVAL;
	ret = query_gid(context, port_num, gid_index, &cmd);
	if (!ret)
		copy_entry(entry, &cmd, entry_size);
	return ret;
}

/* ibv_query_gid_table(3): the valid entries of all ports, or -errno. */
EP_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
				       struct ibv_gid_entry *entries,
				       size_t max_entries, uint32_t flags,
				       size_t entry_size)
{
	struct rdma_ep_query_gid cmd;
	struct ibv_port_attr attr;
	size_t num = 0;
	int port, i, ret;

	if (!context || (!entries && max_entries))
		return -EINVAL;
	if (!ep_ours(context))
		return ep_forward(-ENOSYS, "IBVERBS_1.11",
				  _ibv_query_gid_table, context, entries,
				  max_entries, flags, entry_size);
	if (flags)
		return -EINVAL;

	for (port = 1; port <= ep_dev(context->device)->num_ports; port++) {
		ret = ep_query_port_attr(context, port, &attr, sizeof(attr));
		if (ret)
			return -ret;
		for (i = 0; i < attr.gid_tbl_len; i++) {
			ret = query_gid(context, port, i, &cmd);
			if (ret == ENODATA)
				continue;
			if (ret)
				return -ret;
			if (num == max_entries)
				return -EINVAL;
			copy_entry((char *)entries + num * entry_size, &cmd,
				   entry_size);
			num++;
		}
	}
	return num;
}

/*
 * A function that libibverbs does not document, but ibv_devinfo(1) and pyverbs
 * use; its symbol version changes with rdma-core's. The type is 0 for IB and
 * RoCE v1, and 1 for RoCE v2.
 */
static int query_gid_type(struct ibv_context *context, uint8_t port_num,
			  unsigned int index, unsigned int *type)
{
	struct rdma_ep_query_gid cmd;
	int ret;

	if (!context || !type)
		return ep_err(EINVAL);
	ret = query_gid(context, port_num, index, &cmd);
	if (ret)
		return ep_err(ret);
	*type = cmd.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

#define GID_TYPE_VERSION(n) \
	EP_EXPORT int ep_query_gid_type_##n(struct ibv_context *context, \
					    uint8_t port_num, \
					    unsigned int index, \
					    unsigned int *type); \
	int ep_query_gid_type_##n(struct ibv_context *context, \
				  uint8_t port_num, unsigned int index, \
				  unsigned int *type) \
	{ \
		int (*real)(struct ibv_context *context, uint8_t port_num, \
			    unsigned int index, unsigned int *type); \
 \
		if (!context || ep_ours(context)) \
			return query_gid_type(context, port_num, index, type); \
		real = (__typeof__(real))ep_real("ibv_query_gid_type", \
						 "IBVERBS_PRIVATE_" #n); \
		return real ? real(context, port_num, index, type) : \
			ep_err(ENOSYS); \
	} \
	__asm__(".symver ep_query_gid_type_" #n \
		", ibv_query_gid_type@IBVERBS_PRIVATE_" #n)

GID_TYPE_VERSION(34);
GID_TYPE_VERSION(57);
GID_TYPE_VERSION(59);
GID_TYPE_VERSION(64);
GID_TYPE_VERSION(65);

/* ibv_query_pkey(3) */
EP_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			     int index, __be16 *pkey)
{
	struct rdma_ep_query_pkey cmd = {};

	if (!context || !pkey || index < 0)
		return ep_err(EINVAL);
	if (!ep_ours(context))
		return ep_forward(-1, "IBVERBS_1.1", ibv_query_pkey, context,
				  port_num, index, pkey);
	cmd.dev_index = ep_dev(context->device)->index;
	cmd.port_num = port_num;
	cmd.pkey_index = index;
	if (ep_call(ep_ctx(context)->session, QUERY_PKEY, &cmd))
		return ep_err(ep_query_errno(errno));
	*pkey = htobe16(cmd.pkey);
	return 0;
}

/* ibv_get_pkey_index(3) */
EP_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
				 __be16 pkey)
{
	__be16 entry;
	int i;

	if (!context)
		return ep_err(EINVAL);
	if (!ep_ours(context))
		return ep_forward(-1, "IBVERBS_1.5", ibv_get_pkey_index,
				  context, port_num, pkey);
	for (i = 0; !ibv_query_pkey(context, port_num, i, &entry); i++)
		if (entry == pkey)
			return i;
	return -1;
}
