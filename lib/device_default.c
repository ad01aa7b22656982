// SPDX-License-Identifier: BSD-2-Clause
/* The context, PD and XRC domain of a device that all ids on it share. */
#include "objects.h"

static struct lep_context *find_default(struct lep_session *session, struct lep_device *dev)
{
	struct lep_context *ctx = session->defaults;

	while (ctx && ctx->verbs.context.device != &dev->ibdev)
		ctx = ctx->next;
	return ctx;
}

static void add_default(struct lep_context *ctx, struct ibv_pd *pd)
{
	ctx->pd = pd;
	ctx->next = ctx->session->defaults;
	ctx->session->defaults = ctx;
}

/* Makes the context of an adopted session, with its PD, the default one. */
void lep_context_add_default(struct lep_context *ctx, struct ibv_pd *pd)
{
	pthread_mutex_lock(&lep_devices_lock);
	add_default(ctx, pd);
	pthread_mutex_unlock(&lep_devices_lock);
}

/*
 * The objects are created once and live as long as the session: programs use them after they
 * have destroyed their last id.
 */
int lep_device_default(struct lep_session *session, struct lep_device *dev,
		       struct ibv_context **context, struct ibv_pd **pd)
{
	struct lep_context *ctx;
	uint32_t handle;
	int ret = -1;

	pthread_mutex_lock(&lep_devices_lock);
	ctx = find_default(session, dev);
	if (!ctx) {
		struct ibv_pd *new_pd = calloc(1, sizeof(*new_pd));
		struct ibv_context *new_context;

		if (!new_pd)
			goto out;
		new_context = lep_context_open(session, dev,
					       RDMA_EP_OPEN_DEFAULT, &handle);
		if (!new_context) {
			free(new_pd);
			goto out;
		}
		new_pd->context = new_context;
		new_pd->handle = handle;
		ctx = lep_to_ctx(new_context);
		add_default(ctx, new_pd);
	}
	*context = &ctx->verbs.context;
	*pd = ctx->pd;
	ret = 0;
out:
	pthread_mutex_unlock(&lep_devices_lock);
	return ret;
}

/* Opens the XRC domain for the first id that needs it. */
struct ibv_xrcd *lep_device_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct lep_context *ctx = lep_to_ctx(context);
	struct ibv_xrcd *xrcd;

	if (!lep_has_xrc(context))
		return lep_null(EOPNOTSUPP);
	pthread_mutex_lock(&lep_devices_lock);
	if (!ctx->xrcd)
		ctx->xrcd = lep_open_xrcd(context, &attr);
	xrcd = ctx->xrcd;
	pthread_mutex_unlock(&lep_devices_lock);
	return xrcd;
}

/* True for an object of the library that all ids on its device share. */
bool lep_device_shares(struct lep_session *session, const struct rdma_ep_obj_info *info)
{
	bool shares = info->flags & RDMA_EP_OBJ_DEFAULT;
	const struct lep_context *ctx;

	pthread_mutex_lock(&lep_devices_lock);
	for (ctx = session->defaults; ctx && info->type == RDMA_EP_OBJ_XRCD; ctx = ctx->next)
		if (ctx->xrcd && lep_xrcd_handle(ctx->xrcd) == info->handle)
			shares = true;
	pthread_mutex_unlock(&lep_devices_lock);
	return shares;
}

/* Frees the structures of these objects. The session has no others. */
void lep_device_free_defaults(struct lep_session *session)
{
	struct lep_context *ctx;

	while ((ctx = session->defaults)) {
		session->defaults = ctx->next;
		lep_close_fd(ctx->verbs.context.async_fd);
		pthread_mutex_destroy(&ctx->verbs.context.mutex);
		free(ctx->xrcd);
		free(ctx->pd);
		free(ctx);
	}
}

/* rdma_get_devices(3): returns the contexts that ids have in id->verbs. */
LEP_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct lep_session *session;
	struct ibv_context **list;
	struct ibv_pd *pd;
	struct ibv_device **devices;
	int i, num, opened = 0;

	if (num_devices)
		*num_devices = 0;
	if (lep_session_get_cm(&session))
		return NULL;
	num = lep_devices_refresh(session, &devices);
	if (num < 0)
		return NULL;
	if (!num) {
		free(devices);
		return lep_null(ENODEV);
	}
	list = calloc(num + 1, sizeof(*list));
	if (list) {
		for (i = 0; i < num; i++) {
			/* A device that cannot be opened has just been removed. */
			if (!lep_device_default(session, lep_to_dev(devices[i]),
						&list[opened], &pd))
				opened++;
		}
		if (num_devices)
			*num_devices = opened;
	}
	free(devices);
	return list;
}

LEP_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
