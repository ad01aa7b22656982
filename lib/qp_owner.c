// SPDX-License-Identifier: BSD-2-Clause
/* The link between an id and its own QP, and this QP's state. */
#include "objects.h"

pthread_mutex_t lep_qp_owner_lock = PTHREAD_MUTEX_INITIALIZER;

void lep_qp_set_owner(struct lep_qp *qp, struct lep_qp_owner *owner)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	owner->qp = qp;
	qp->owner = owner;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_qp_clear_owner(struct lep_qp *qp)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (qp->owner)
		qp->owner->qp = NULL;
	qp->owner = NULL;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_owner_clear_qp(struct lep_qp_owner *owner)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (owner->qp)
		owner->qp->owner = NULL;
	owner->qp = NULL;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

void lep_owner_set_qp_state(struct lep_qp_owner *owner, enum ibv_qp_state state)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (owner->qp)
		owner->qp->qp.state = state;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

/*
 * Records that the connection is established. The program, or another thread, may already
 * have moved the QP to a later state.
 */
void lep_owner_qp_connected(struct lep_qp_owner *owner)
{
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (owner->qp && owner->qp->qp.state < IBV_QPS_RTS)
		owner->qp->qp.state = IBV_QPS_RTS;
	pthread_mutex_unlock(&lep_qp_owner_lock);
}

/* Queries the QP's state after a failed command, which may have moved the QP. */
void lep_owner_query_qp_state(struct lep_qp_owner *owner)
{
	struct rdma_ep_cmd_query_qp cmd = { .attr_mask = IBV_QP_STATE };
	struct lep_session *session = NULL;
	const struct lep_qp *qp;
	int error = errno;

	pthread_mutex_lock(&lep_qp_owner_lock);
	qp = owner->qp;
	if (qp) {
		session = lep_to_ctx(qp->qp.context)->session;
		cmd.qp = qp->qp.handle;
	}
	pthread_mutex_unlock(&lep_qp_owner_lock);
	if (!qp)
		return;

	if (lep_call(session, QUERY_QP, &cmd))
		cmd.attr.qp_state = IBV_QPS_ERR;	/* the device was removed */
	pthread_mutex_lock(&lep_qp_owner_lock);
	if (owner->qp == qp)
		owner->qp->qp.state = cmd.attr.qp_state;
	pthread_mutex_unlock(&lep_qp_owner_lock);
	errno = error;
}
