// SPDX-License-Identifier: GPL-2.0-only
/* Trace events of ids. */
#include <linux/in.h>
#include <linux/string.h>
#include <rdma/ib.h>

#include "engine.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* A valid address. The CM may be writing @ss: the event shows some of both then. */
void ep_trace_addr(u8 *dst, const struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)dst;
	const struct sockaddr_ib *ib = (const struct sockaddr_ib *)ss;

	memset(in6, 0, sizeof(*in6));
	switch (READ_ONCE(ss->ss_family)) {
	case AF_INET:
		memcpy(dst, ss, sizeof(struct sockaddr_in));
		break;
	case AF_INET6:
		memcpy(dst, ss, sizeof(struct sockaddr_in6));
		break;
	case AF_IB:
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(be64_to_cpu(ib->sib_sid) & 0xffff);
		memcpy(&in6->sin6_addr, &ib->sib_addr, sizeof(in6->sin6_addr));
		break;
	default:
		in6->sin6_family = AF_INET;
		break;
	}
}

void ep_trace_dev(char *dst, const struct rdma_cm_id *cm_id)
{
	const struct ib_device *ibdev = READ_ONCE(cm_id->device);

	strscpy(dst, ibdev ? ibdev->name : "-", IB_DEVICE_NAME_MAX);
}
