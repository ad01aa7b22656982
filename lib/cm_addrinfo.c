// SPDX-License-Identifier: BSD-2-Clause
/* Address information of ids: rdma_resolve_addrinfo(3), rdma_query_addrinfo(3). */
#include <netdb.h>

#include "cm.h"

/* The errno for a result of lep_addrinfo_get(). */
static int resolve_error(int ret)
{
	switch (ret) {
	case -1:
	case EAI_SYSTEM:
		return errno;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_FAMILY:
		return EAFNOSUPPORT;
	case EAI_NONAME:
	case EAI_SERVICE:
		return ENOENT;
	default:
		return EINVAL;
	}
}

static void resolving_cancelled(void *id)
{
	lep_id_drop_addrinfo(id);
}

static int start_resolving(struct lep_id *id)
{
	bool busy;

	pthread_mutex_lock(&id->mutex);
	busy = id->resolving;
	id->resolving = true;
	pthread_mutex_unlock(&id->mutex);
	return busy ? lep_err(EBUSY) : 0;
}

/*
 * rdma_resolve_addrinfo(3). Like librdmacm's, it returns after the resolution of the name;
 * only the event comes later.
 */
LEP_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
				     const char *service,
				     const struct rdma_addrinfo *hints);
int rdma_resolve_addrinfo(struct rdma_cm_id *cm_id, const char *node,
			  const char *service,
			  const struct rdma_addrinfo *hints)
{
	struct lep_id *id = lep_to_id(cm_id);
	struct rdma_addrinfo *info;
	int ret, error;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_resolve_addrinfo, cm_id, node,
				      service, hints);
	if (!id)
		return lep_err(EINVAL);
	if (hints && hints->ai_flags & RAI_SA &&
	    (node || hints->ai_flags & RAI_DNS))
		return lep_err(ENOTSUP);
	if (start_resolving(id))
		return -1;

	/* getaddrinfo(3) is a cancellation point. */
	pthread_cleanup_push(resolving_cancelled, id);
	ret = lep_addrinfo_get(node, service, hints, &info);
	pthread_cleanup_pop(0);
	if (ret) {
		error = resolve_error(ret);
		goto err;
	}
	pthread_mutex_lock(&id->mutex);
	id->resolved = info;
	pthread_mutex_unlock(&id->mutex);
	if (lep_id_write_event(id, RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED, 0, 0)) {
		error = errno;
		goto err;
	}
	return lep_id_await_event(id);

err:
	lep_id_drop_addrinfo(id);
	return lep_err(error);
}

/* rdma_query_addrinfo(3): returns the result once. */
LEP_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id,
				   struct rdma_addrinfo **info);
int rdma_query_addrinfo(struct rdma_cm_id *cm_id, struct rdma_addrinfo **info)
{
	struct lep_id *id = lep_to_id(cm_id);

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_query_addrinfo, cm_id, info);
	if (!id || !info)
		return lep_err(EINVAL);
	pthread_mutex_lock(&id->mutex);
	*info = id->resolved;
	if (id->resolved)
		id->resolving = false;
	id->resolved = NULL;
	pthread_mutex_unlock(&id->mutex);
	return *info ? 0 : lep_err(ENOENT);
}
