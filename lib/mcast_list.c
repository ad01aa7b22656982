// SPDX-License-Identifier: BSD-2-Clause
/* The multicast groups of an id. */
#include "cm.h"

void lep_mcast_add(struct lep_id *id, struct lep_mcast *mcast)
{
	pthread_mutex_lock(&id->mutex);
	mcast->next = id->mcasts;
	id->mcasts = mcast;
	pthread_mutex_unlock(&id->mutex);
}

void lep_mcast_remove(struct lep_id *id, struct lep_mcast *mcast)
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

void lep_mcast_set_handle(struct lep_id *id, struct lep_mcast *mcast,
			  uint32_t handle)
{
	pthread_mutex_lock(&id->mutex);
	mcast->handle = handle;
	pthread_cond_broadcast(&id->cond);
	pthread_mutex_unlock(&id->mutex);
}

/*
 * Takes the latest membership in the group off the list, once the joining thread has its
 * handle.
 */
struct lep_mcast *lep_mcast_take(struct lep_id *id, const struct sockaddr *addr,
				 socklen_t len)
{
	struct lep_mcast **pos, *mcast;

	pthread_mutex_lock(&id->mutex);
	pthread_cleanup_push(lep_unlock, &id->mutex);
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
	pthread_cleanup_pop(1);
	return mcast;
}

/*
 * Detaches the external QP that the program has attached itself after the join. If id.qp has
 * another value than at the attachment, the attached QP may have been destroyed.
 */
void lep_mcast_detach_external(struct lep_id *id, const struct lep_mcast *mcast)
{
	struct ibv_qp *qp = lep_id_external_qp(id);

	if (qp && mcast->joined && mcast->attached != qp)
		ibv_detach_mcast(qp, &mcast->gid, mcast->lid);
}

/* A QP that is no longer in id.qp may have been destroyed. */
int lep_mcast_leave(struct lep_id *id, struct lep_mcast *mcast,
		    uint32_t *events)
{
	if (mcast->attached && mcast->attached == id->id.qp)
		ibv_detach_mcast(mcast->attached, &mcast->gid, mcast->lid);
	mcast->attached = NULL;
	return lep_obj_destroy(id->session, RDMA_EP_OBJ_MCAST, mcast->handle,
			       events, NULL);
}

/*
 * Leaves all groups before the id is destroyed. The structures stay until
 * lep_mcast_free_all(), as their events may still be acknowledged.
 */
void lep_mcast_leave_all(struct lep_id *id)
{
	struct lep_mcast *mcast;

	for (mcast = id->mcasts; mcast; mcast = mcast->next)
		lep_mcast_leave(id, mcast, NULL);
}

void lep_mcast_free_all(struct lep_id *id)
{
	struct lep_mcast *mcast;

	while ((mcast = id->mcasts)) {
		id->mcasts = mcast->next;
		free(mcast);
	}
}

/*
 * Complete a MULTICAST_JOIN or MULTICAST_ERROR event: it has the context of the join in the
 * place of private data. Returns -1 and errno if an external QP cannot be attached.
 */
int lep_mcast_event(struct lep_id *id, struct lep_mcast *mcast,
		    struct rdma_cm_event *event)
{
	const struct ibv_ah_attr *attr = &event->param.ud.ah_attr;
	struct ibv_qp *qp = lep_id_external_qp(id);
	int error;

	event->param.ud.private_data = mcast->context;
	if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN || mcast->send_only)
		return 0;
	mcast->gid = attr->grh.dgid;
	mcast->lid = attr->dlid;
	mcast->joined = true;
	if (!qp)
		return 0;
	error = ibv_attach_mcast(qp, &mcast->gid, mcast->lid);
	if (error)
		return lep_err(error);
	mcast->attached = qp;
	return 0;
}
