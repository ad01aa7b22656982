// SPDX-License-Identifier: BSD-2-Clause
/* Contexts: the table of verbs, opening and closing devices. */
#include "objects.h"

/*
 * The inline functions of verbs.h call these without a check for NULL. With any other
 * member that is NULL they fail with EOPNOTSUPP.
 */
static int no_close_xrcd(struct ibv_xrcd *xrcd)
{
	(void)xrcd;
	return EOPNOTSUPP;
}

static int no_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		      struct ibv_mw_bind *bind)
{
	(void)qp, (void)mw, (void)bind;
	return EOPNOTSUPP;
}

static int no_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

static int no_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op,
			   struct ibv_ops_wr **bad_op)
{
	(void)srq;
	if (bad_op)
		*bad_op = op;
	return EOPNOTSUPP;
}

static void set_ops(struct verbs_context *verbs)
{
	struct ibv_context_ops *ops = &verbs->context.ops;

	ops->_compat_query_device = ibv_query_device;
	ops->_compat_query_port = ibv_query_port;
	ops->bind_mw = no_bind_mw;
	ops->dealloc_mw = no_dealloc_mw;
	ops->poll_cq = lep_poll_cq;
	ops->req_notify_cq = lep_req_notify_cq;
	ops->post_srq_recv = lep_post_srq_recv;
	ops->post_send = lep_post_send;
	ops->post_recv = lep_post_recv;

	verbs->query_port = lep_query_port;
	verbs->query_device_ex = lep_query_device_ex;
	verbs->create_cq_ex = lep_create_cq_ex;
	verbs->create_qp_ex = lep_create_qp_ex;
	verbs->create_srq_ex = lep_create_srq_ex;
	verbs->modify_cq = lep_modify_cq;
	verbs->close_xrcd = no_close_xrcd;
	verbs->post_srq_ops = no_post_srq_ops;
	verbs->sz = sizeof(*verbs);
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

static void set_xrc_ops(struct verbs_context *verbs)
{
	verbs->open_xrcd = lep_open_xrcd;
	verbs->close_xrcd = lep_close_xrcd;
	verbs->open_qp = lep_open_qp;
	verbs->get_srq_num = lep_get_srq_num;
}

/* The structure of a context. The caller sets async_fd. */
struct ibv_context *lep_context_make(struct lep_session *session, struct lep_device *dev,
				     uint32_t handle, bool is_default)
{
	struct lep_context *ctx = calloc(1, sizeof(*ctx));
	struct ibv_context *context;

	if (!ctx)
		return NULL;
	ctx->session = session;
	ctx->handle = handle;
	ctx->is_default = is_default;
	set_ops(&ctx->verbs);
	if (dev->has_xrc)
		set_xrc_ops(&ctx->verbs);
	context = &ctx->verbs.context;
	context->device = &dev->ibdev;
	context->cmd_fd = session->fd;
	context->async_fd = -1;
	context->num_comp_vectors = dev->num_comp_vectors;
	pthread_mutex_init(&context->mutex, NULL);
	return context;
}

/* A new context, or NULL and errno; flags are those of RDMA_EP_IOC_OPEN_DEVICE. */
struct ibv_context *lep_context_open(struct lep_session *session,
				     struct lep_device *dev, uint32_t flags,
				     uint32_t *pd)
{
	struct rdma_ep_cmd_open_device cmd = {
		.flags = flags,
		.dev_index = dev->index,
	};
	struct ibv_context *context;

	context = lep_context_make(session, dev, 0, flags & RDMA_EP_OPEN_DEFAULT);
	if (!context)
		return NULL;
	if (lep_call(session, OPEN_DEVICE, &cmd)) {
		pthread_mutex_destroy(&context->mutex);
		return lep_free_null(lep_to_ctx(context));
	}
	lep_to_ctx(context)->handle = cmd.ctx;
	context->async_fd = cmd.async_fd;
	if (pd)
		*pd = cmd.pd;
	return context;
}

/* ibv_open_device(3): a new context every time. */
LEP_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct lep_session *session;

	if (!device)
		return lep_null(EINVAL);
	if (!lep_device_ours(device))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_open_device, device);
	session = lep_session_get();
	if (!session)
		return NULL;
	return lep_context_open(session, lep_to_dev(device), 0, NULL);
}

/*
 * ibv_close_device(3): destroys the objects that are left in the context. The context that
 * ids share cannot be closed: EBUSY.
 */
LEP_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct rdma_ep_cmd_destroy cmd = { .type = RDMA_EP_OBJ_CTX };
	struct lep_context *ctx;
	bool left = false;
	int ret;

	if (!context)
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_close_device, context);
	ctx = lep_to_ctx(context);
	if (ctx->is_default)
		return lep_err(EBUSY);
	/* A child frees only the memory of its parent's context. */
	if (!lep_inherited(ctx->session)) {
		cmd.handle = ctx->handle;
		ret = lep_call(ctx->session, DESTROY, &cmd);
		left = ret && errno == EBUSY;
		if (left) {
			cmd.flags = RDMA_EP_DESTROY_CONTENTS;
			ret = lep_call(ctx->session, DESTROY, &cmd);
		}
		if (ret)
			return -1;
	}
	lep_close_fd(context->async_fd);
	/*
	 * The program may still use the structures of these objects, which point to the
	 * context.
	 */
	if (left) {
		context->async_fd = -1;
		return 0;
	}
	pthread_mutex_destroy(&context->mutex);
	free(ctx);
	return 0;
}
