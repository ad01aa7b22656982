// SPDX-License-Identifier: BSD-2-Clause
/* Multicast groups. The kernel attaches and detaches the id's own QP. */
#include "internal.h"

/*
 * An id's membership in a group; its address is the cookie. It is on the list before its
 * first event can be read, and has a handle when the kernel has returned from the join:
 * from then on it can be left. One that has been left is taken off the list first, so that
 * it is left once.
 */
struct lep_mcast {
	struct lep_mcast *next;		/* id->mutex */
	uint32_t handle;		/* id->mutex */
	uint32_t acked;			/* id->mutex */
	void *context;
	bool send_only;
	struct sockaddr_storage addr;
	/* A QP that is the id's, but not its own: see lep_id_external_qp(). */
	struct ibv_qp *attached;
	union ibv_gid gid;
	uint16_t lid;
};

static void link_mcast(struct lep_id *id, struct lep_mcast *mcast)
{
	pthread_mutex_lock(&id->mutex);
	mcast->next = id->mcasts;
	id->mcasts = mcast;
	pthread_mutex_unlock(&id->mutex);
}

static void unlink_mcast(struct lep_id *id, struct lep_mcast *mcast)
{
	struct lep_mcast **pos;

	pthread_mutex_lock(&id->mutex);
	for (pos = &id->mcasts; *pos; pos = &(*pos)->next) {
		if (*pos == mcast) {
			*pos = mcast->next;
			break;
		}
	}
	pthread_cond_broadcast(&id->cond);
	pthread_mutex_unlock(&id->mutex);
}

static void set_handle(struct lep_id *id, struct lep_mcast *mcast, uint32_t handle)
{
	pthread_mutex_lock(&id->mutex);
	mcast->handle = handle;
	pthread_cond_broadcast(&id->cond);
	pthread_mutex_unlock(&id->mutex);
}

/*
 * Takes the latest membership in the group off the list, once the thread that joins has
 * its handle.
 */
static struct lep_mcast *take_mcast(struct lep_id *id,
				    const struct sockaddr *addr, socklen_t len)
{
	struct lep_mcast **pos, *mcast;

	pthread_mutex_lock(&id->mutex);
	for (;;) {
		for (pos = &id->mcasts; *pos; pos = &(*pos)->next)
			if (!memcmp(&(*pos)->addr, addr, len))
				break;
		mcast = *pos;
		if (!mcast || mcast->handle)
			break;
		pthread_cond_wait(&id->cond, &id->mutex);
	}
	if (mcast)
		*pos = mcast->next;
	pthread_mutex_unlock(&id->mutex);
	return mcast;
}

static int join(struct rdma_cm_id *cm_id, const struct sockaddr *addr,
		bool send_only, void *context)
{
	struct rdma_ep_join_multicast cmd = {
		.flags = send_only ? RDMA_EP_JOIN_SEND_ONLY : 0,
	};
	struct lep_id *id = lep_to_id(cm_id);
	struct lep_mcast *mcast;
	int error;

	if (lep_addr_to_uapi(&cmd.addr, addr, lep_addr_len(addr)))
		return -1;
	mcast = calloc(1, sizeof(*mcast));
	if (!mcast)
		return -1;
	mcast->context = context;
	mcast->send_only = send_only;
	memcpy(&mcast->addr, addr, lep_addr_len(addr));
	link_mcast(id, mcast);

	cmd.id = id->handle;
	cmd.uid = (uintptr_t)mcast;
	if (lep_call(id->session, JOIN_MULTICAST, &cmd)) {
		error = errno;
		unlink_mcast(id, mcast);
		free(mcast);
		return lep_err(error);
	}
	set_handle(id, mcast, cmd.mcast);
	return lep_id_await_event(cm_id);
}

/* rdma_join_multicast(3) */
LEP_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				   void *context)
{
	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_join_multicast, id, addr,
				      context);
	if (!id || !lep_addr_len(addr))
		return lep_err(EINVAL);
	return join(id, addr, false, context);
}

/* rdma_join_multicast_ex(3) */
LEP_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				      struct rdma_cm_join_mc_attr_ex *attr,
				      void *context)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
				RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (lep_foreign_id(id))
		return lep_forward_cm(-1, rdma_join_multicast_ex, id, attr,
				      context);
	if (!id || !attr)
		return lep_err(EINVAL);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return lep_err(ENOTSUP);
	if ((attr->comp_mask & needed) != needed ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
	    !lep_addr_len(attr->addr))
		return lep_err(EINVAL);
	return join(id, attr->addr,
		    attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		    context);
}

static int leave(struct lep_id *id, struct lep_mcast *mcast, uint32_t *events)
{
	if (mcast->attached)
		ibv_detach_mcast(mcast->attached, &mcast->gid, mcast->lid);
	mcast->attached = NULL;
	return lep_obj_destroy(id->session, RDMA_EP_OBJ_MCAST, mcast->handle,
			       events, NULL);
}

/* rdma_leave_multicast(3): waits until its events have been acknowledged. */
LEP_EXPORT int rdma_leave_multicast(struct rdma_cm_id *cm_id,
				    struct sockaddr *addr)
{
	struct lep_id *id = lep_to_id(cm_id);
	socklen_t len = lep_addr_len(addr);
	struct lep_mcast *mcast;
	uint32_t events;
	int error;

	if (lep_foreign_id(cm_id))
		return lep_forward_cm(-1, rdma_leave_multicast, cm_id, addr);
	if (!id || !len)
		return lep_err(EINVAL);
	mcast = take_mcast(id, addr, len);
	if (!mcast)
		return lep_err(EADDRNOTAVAIL);
	/* The event that a synchronous id shows may be one of them. */
	if (id->sync)
		lep_id_drop_event(cm_id);
	if (leave(id, mcast, &events)) {
		error = errno;
		free(mcast);
		return lep_err(error);
	}
	lep_wait_acked(&id->mutex, &id->cond, &mcast->acked, events);
	free(mcast);
	return 0;
}

/* The id goes away; what may still be acknowledged stays until lep_mcast_free_all(). */
void lep_mcast_leave_all(struct lep_id *id)
{
	struct lep_mcast *mcast;

	for (mcast = id->mcasts; mcast; mcast = mcast->next)
		leave(id, mcast, NULL);
}

void lep_mcast_free_all(struct lep_id *id)
{
	struct lep_mcast *mcast;

	while ((mcast = id->mcasts)) {
		id->mcasts = mcast->next;
		free(mcast);
	}
}

/* One of its events has been acknowledged; called with id->mutex held. */
void lep_mcast_count_ack(struct lep_mcast *mcast)
{
	mcast->acked++;
}

/*
 * Complete a MULTICAST_JOIN or MULTICAST_ERROR event, which reports the context of
 * the join where others have private data. Returns -1 and errno if the QP can not
 * be attached.
 */
int lep_mcast_event(struct lep_id *id, struct lep_mcast *mcast,
		    struct rdma_cm_event *event)
{
	const struct ibv_ah_attr *attr = &event->param.ud.ah_attr;
	struct ibv_qp *qp = lep_id_external_qp(id);
	int error;

	event->param.ud.private_data = mcast->context;
	if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN || !qp ||
	    mcast->send_only)
		return 0;
	mcast->gid = attr->grh.dgid;
	mcast->lid = attr->dlid;
	error = ibv_attach_mcast(qp, &mcast->gid, mcast->lid);
	if (error)
		return lep_err(error);
	mcast->attached = qp;
	return 0;
}

static struct rdma_ep_qp_mcast qp_mcast(const struct ibv_qp *qp,
					const union ibv_gid *gid, uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd = { .qp = qp->handle, .lid = lid };

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return cmd;
}

/* ibv_attach_mcast(3) */
LEP_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd;

	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_attach_mcast, qp,
				   gid, lid);
	cmd = qp_mcast(qp, gid, lid);
	return lep_call(lep_to_ctx(qp->context)->session, ATTACH_MCAST, &cmd) ?
		errno : 0;
}

/* ibv_detach_mcast(3) */
LEP_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	struct rdma_ep_qp_mcast cmd;

	if (!qp || !gid)
		return EINVAL;
	if (!lep_ours(qp->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_detach_mcast, qp,
				   gid, lid);
	cmd = qp_mcast(qp, gid, lid);
	return lep_call(lep_to_ctx(qp->context)->session, DETACH_MCAST, &cmd) ?
		errno : 0;
}
