// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands for the handover of sessions, for the raw ioctl tests.
 */
#include "abi.h"

int abi_export(const struct abi *s, __u32 flags)
{
	struct rdma_ep_cmd_export e = { .flags = flags };

	return ABI(s->fd, EXPORT, &e);
}

int abi_adopt(int fd)
{
	struct rdma_ep_cmd_adopt a = {};
	int ret = ABI(fd, ADOPT, &a);

	return ret ?: a.fd;
}

int abi_split_id(const struct abi *s, __u32 id)
{
	struct rdma_ep_cmd_split_id c = { .id = id };
	int ret = ABI(s->fd, SPLIT_ID, &c);

	return ret ?: c.fd;
}

int abi_open_queue(int fd, __u32 type, __u32 handle)
{
	struct rdma_ep_cmd_open_queue q = { .type = type, .handle = handle };
	int ret = ABI(fd, OPEN_QUEUE, &q);

	return ret ?: q.fd;
}

int abi_list_objs(int fd, __u32 step, struct rdma_ep_obj_info *info)
{
	struct rdma_ep_cmd_list_objs l = { .max = step };
	int ret, num = 0;

	do {
		l.objs = (uintptr_t)&info[num];
		ret = num + step > ABI_LIST_MAX ? -E2BIG : ABI(fd, LIST_OBJS, &l);
		if (ret)
			return ret;
		num += l.num;
	} while (l.cursor);
	return num;
}

int abi_count_objs(int fd)
{
	struct rdma_ep_obj_info info[ABI_LIST_MAX];

	return abi_list_objs(fd, 64, info);
}
