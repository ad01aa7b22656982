// SPDX-License-Identifier: BSD-2-Clause
/* GID and P_Key tables. */
#include <endian.h>

#include "objects.h"

#define MAX_GIDS	(1U << 20)

/* Returns 0 or an errno: ENODATA for an entry that is empty. */
int lep_gid_query(struct ibv_context *context, uint32_t port_num,
		  uint32_t index, struct rdma_ep_cmd_query_gid *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->dev_index = lep_to_dev(context->device)->index;
	cmd->port_num = port_num;
	cmd->gid_index = index;
	return lep_query_errno(lep_ctx_call(context, QUERY_GID, cmd));
}

/* ibv_query_gid(3): an empty entry reads as a GID of zeros. */
LEP_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			     int index, union ibv_gid *gid)
{
	struct rdma_ep_cmd_query_gid cmd;
	int ret;

	if (!context || !gid || index < 0)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_query_gid, context,
				   port_num, index, gid);
	ret = lep_gid_query(context, port_num, index, &cmd);
	if (ret && ret != ENODATA)
		return lep_err(ret);
	memset(gid, 0, sizeof(*gid));
	if (!ret)
		memcpy(gid->raw, cmd.gid, sizeof(gid->raw));
	return 0;
}

static void copy_entry(void *entry, const struct ibv_gid_entry *full,
		       size_t entry_size)
{
	memset(entry, 0, entry_size);
	memcpy(entry, full,
	       entry_size < sizeof(*full) ? entry_size : sizeof(*full));
}

/* ibv_query_gid_ex(3): an empty entry is ENODATA. */
LEP_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				 uint32_t gid_index, struct ibv_gid_entry *entry,
				 uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full = {};
	struct rdma_ep_cmd_query_gid cmd;
	int ret;

	if (!context)
		return EINVAL;
	if (!lep_ours(context))
		return lep_forward(ENOSYS, "IBVERBS_1.11", _ibv_query_gid_ex,
				   context, port_num, gid_index, entry, flags,
				   entry_size);
	if (flags || entry_size < sizeof(*entry))
		return EINVAL;
	if (!entry)
		return EFAULT;
	ret = lep_gid_query(context, port_num, gid_index, &cmd);
	if (ret)
		return ret;
	full.gid_index = cmd.gid_index;
	full.port_num = cmd.port_num;
	full.gid_type = cmd.gid_type;
	full.ndev_ifindex = cmd.ndev_ifindex;
	memcpy(full.gid.raw, cmd.gid, sizeof(full.gid.raw));
	copy_entry(entry, &full, entry_size);
	return 0;
}

/* ibv_query_gid_table(3): the valid entries of all ports, or -errno. */
LEP_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
					struct ibv_gid_entry *entries,
					size_t max_entries, uint32_t flags,
					size_t entry_size)
{
	struct rdma_ep_cmd_query_gid_table cmd = {};
	struct ibv_gid_entry *table;
	size_t i;

	if (!context)
		return -EINVAL;
	if (!lep_ours(context))
		return lep_forward(-ENOSYS, "IBVERBS_1.11",
				   _ibv_query_gid_table, context, entries,
				   max_entries, flags, entry_size);
	if (flags || !entry_size)
		return -EINVAL;
	if (!entries && max_entries)
		return -EFAULT;

	/* No device has more entries. */
	if (max_entries > MAX_GIDS)
		max_entries = MAX_GIDS;
	/* The program's headers may have another size of an entry. */
	table = calloc(max_entries, sizeof(*table));
	if (max_entries && !table)
		return -ENOMEM;
	cmd.dev_index = lep_to_dev(context->device)->index;
	cmd.entries = (uintptr_t)table;
	cmd.max = max_entries;
	if (lep_ctx_call(context, QUERY_GID_TABLE, &cmd)) {
		free(table);
		return -lep_query_errno(errno);
	}
	for (i = 0; i < cmd.num; i++)
		copy_entry((char *)entries + i * entry_size, &table[i],
			   entry_size);
	free(table);
	return cmd.num;
}

/*
 * libibverbs does not document this function, but ibv_devinfo(1) and pyverbs call it. Its
 * symbol version changes with rdma-core's. The type is 0 for IB and RoCE v1, and 1 for
 * RoCE v2.
 */
static int query_gid_type(struct ibv_context *context, uint8_t port_num,
			  unsigned int index, unsigned int *type)
{
	struct rdma_ep_cmd_query_gid cmd;
	int ret;

	if (!context || !type)
		return lep_err(EINVAL);
	ret = lep_gid_query(context, port_num, index, &cmd);
	if (ret && ret != ENODATA)
		return lep_err(ret);
	*type = !ret && cmd.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

#define GID_TYPE_VERSION(n) \
	LEP_EXPORT int lep_query_gid_type_##n(struct ibv_context *context, \
					      uint8_t port_num, \
					      unsigned int index, \
					      unsigned int *type); \
	int lep_query_gid_type_##n(struct ibv_context *context, \
				   uint8_t port_num, unsigned int index, \
				   unsigned int *type) \
	{ \
		int (*real)(struct ibv_context *context, uint8_t port_num, \
			    unsigned int index, unsigned int *type); \
 \
		if (!context || lep_ours(context)) \
			return query_gid_type(context, port_num, index, type); \
		real = (__typeof__(real))lep_real("ibv_query_gid_type", \
						  "IBVERBS_PRIVATE_" #n); \
		return real ? real(context, port_num, index, type) : \
			lep_err(ENOSYS); \
	} \
	__asm__(".symver lep_query_gid_type_" #n \
		", ibv_query_gid_type@IBVERBS_PRIVATE_" #n)

GID_TYPE_VERSION(34);
GID_TYPE_VERSION(57);
GID_TYPE_VERSION(59);
GID_TYPE_VERSION(64);
GID_TYPE_VERSION(65);

/* Returns 0, or -1 and errno: ENOENT beyond the table, where libibverbs finds no file. */
static int query_pkey(struct ibv_context *context, uint8_t port_num, int index,
		      __be16 *pkey)
{
	struct rdma_ep_cmd_query_pkey cmd = {
		.dev_index = lep_to_dev(context->device)->index,
		.port_num = port_num,
		.pkey_index = index,
	};
	int error;

	if (lep_ctx_call(context, QUERY_PKEY, &cmd)) {
		error = lep_query_errno(errno);
		return lep_err(error == EINVAL ? ENOENT : error);
	}
	*pkey = htobe16(cmd.pkey);
	return 0;
}

/* ibv_query_pkey(3) */
LEP_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			      int index, __be16 *pkey)
{
	if (!context || !pkey)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_query_pkey, context,
				   port_num, index, pkey);
	return query_pkey(context, port_num, index, pkey);
}

/* ibv_get_pkey_index(3) */
LEP_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
				  __be16 pkey)
{
	__be16 entry;
	int i;

	if (!context)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.5", ibv_get_pkey_index,
				   context, port_num, pkey);
	for (i = 0; !query_pkey(context, port_num, i, &entry); i++)
		if (entry == pkey)
			return i;
	return -1;
}
