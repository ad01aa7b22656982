/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver operations that each command needs, for tests in which they fail or stall */
#ifndef ABI_MOCK_FAULT_H
#define ABI_MOCK_FAULT_H

#include "abi_test.h"
#include "abi_cmds.h"
#include "abi_mock.h"

static const struct fault {
	const char *name;		/* of the command */
	const char *op;
	int after;			/* calls that succeed before the failure */
	bool atomic;			/* may not sleep, so it cannot stall */
	bool many;			/* in the test of quotas, too */
} faults[] = {
	{ "ALLOC_PD", "alloc_pd", .many = true },
	{ "REG_MR", "reg_user_mr", .many = true },
	{ "REREG_MR", "rereg_user_mr", .many = true },
	{ "CREATE_AH", "create_ah", .many = true },
	{ "OPEN_XRCD", "alloc_xrcd", .many = true },
	{ "CREATE_CQ", "create_cq", .many = true },
	{ "RESIZE_CQ", "resize_cq", .many = true },
	{ "MODIFY_CQ", "modify_cq", .many = true },
	{ "POLL_CQ", "poll_cq", .atomic = true, .many = true },
	{ "NOTIFY_CQ", "req_notify_cq", .atomic = true, .many = true },
	{ "CREATE_SRQ", "create_srq", .many = true },
	{ "MODIFY_SRQ", "modify_srq", .many = true },
	{ "QUERY_SRQ", "query_srq", .many = true },
	{ "POST_SRQ_RECV", "post_srq_recv", .atomic = true, .many = true },
	{ "CREATE_QP", "create_qp", .many = true },
	{ "MODIFY_QP", "modify_qp", .many = true },
	{ "QUERY_QP", "query_qp", .many = true },
	{ "POST_SEND", "post_send", .atomic = true },
	{ "POST_RECV", "post_recv", .atomic = true, .many = true },
	{ "ATTACH_MCAST", "attach_mcast", .many = true },
	{ "DETACH_MCAST", "detach_mcast" },
	{ "QUERY_PORT", "query_port", .many = true },
	{ "QUERY_PKEY", "query_pkey", .many = true },
	{ "CREATE_EP", "create_cq", .many = true },
	{ "CREATE_EP", "create_cq", .after = 1, .many = true },
	{ "CREATE_EP", "create_qp", .many = true },
	{ "CREATE_EP", "modify_qp", .many = true },
};

#define for_each_fault(_f) \
	for (_f = faults; _f < faults + ARRAY_SIZE(faults); _f++)

static inline const struct abi_command *find(const char *name)
{
	const struct abi_command *c;

	for_each_command(c)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Prepares an active endpoint with a QP and CQs; that of abi_prepare() is passive. */
static inline int prepare_ep(struct abi_world *w, struct rdma_ep_cmd_create_ep *a)
{
	struct sockaddr_in sin;
	__u32 id;
	int ret;

	ret = abi_tcp_listen(&w->s, w->channel, 0, 1, &id, &sin);
	abi_own_ep(&w->s, ntohs(sin.sin_port), a);
	return ret;
}

/* A few leaked regions of this size exceed user_max_pinned_mb of the test of quotas. */
#define REGION_BYTES	(256 << 10)

static inline int prepare_mr(struct abi_world *w, struct rdma_ep_cmd_reg_mr *a)
{
	a->addr = (uintptr_t)abi_map(REGION_BYTES);
	a->iova = a->addr;
	a->length = REGION_BYTES;
	a->pd = ABI_OBJ(w, PD);
	a->access = AC_LOCAL_WRITE;
	return 0;
}

/* Returns -EOPNOTSUPP if the kernel or the device lacks the operation. */
static inline int prepare(struct abi_world *w, const struct abi_command *c, union abi_arg *arg)
{
	memset(arg, 0, sizeof(*arg));
	switch (c->cmd) {
	case RDMA_EP_IOC_CREATE_EP:
		return prepare_ep(w, (struct rdma_ep_cmd_create_ep *)arg);
	case RDMA_EP_IOC_REG_MR:
		return prepare_mr(w, (struct rdma_ep_cmd_reg_mr *)arg);
	default:
		return abi_prepare(w, c, arg) ?: w->result;
	}
}

/* Issues the command, and closes the files that it created. */
static inline int run(struct abi_world *w, const struct abi_command *c, union abi_arg *arg)
{
	struct rdma_ep_cmd_create_ep *ep = (struct rdma_ep_cmd_create_ep *)arg;
	int ret = abi_ioctl(w->s.fd, c->cmd, arg);

	if (!ret && c->cmd == RDMA_EP_IOC_CREATE_EP) {
		close(ep->channel_fd);
		close(ep->qp.send_cq.channel_fd);
		close(ep->qp.recv_cq.channel_fd);
	}
	return ret;
}

FIXTURE(fault) {
	struct abi_world w;
	union abi_arg *arg;
};

FIXTURE_SETUP(fault)
{
	self->w.s.fd = -1;
	OK(mock_load());
	self->arg = ASSERT_PTR(calloc(1, sizeof(*self->arg)));
	OK(mock_new(""));
}

FIXTURE_TEARDOWN(fault)
{
	abi_close(&self->w.s);
	mock_unload();
}

#endif /* ABI_MOCK_FAULT_H */
