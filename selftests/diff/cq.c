// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues and their channels. */
#include <fcntl.h>
#include <poll.h>

#include "diff.h"

void diff_topic_cq(void)
{
	static const int sizes[] = { 1, 2, 16, 1000, 0, -1, 32767, 32768, 0x7fffffff };
	static const int vectors[] = { -1, 1, 2, 100, 0x7fffffff };
	struct ibv_context *context = diff_open(), *other = diff_open();
	struct ibv_device_attr attr;
	struct ibv_comp_channel *channel;
	struct ibv_modify_cq_attr mod = {};
	struct ibv_cq *cq, *stale;
	struct ibv_wc wc[4];
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	size_t i;

	NEED(!ibv_query_device(context, &attr));
	N(ibv_create_cq(NULL, 1, NULL, NULL, 0), "context NULL");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cq = N(ibv_create_cq(context, sizes[i], &cq, NULL, 0), "%d entries", sizes[i]);
		if (!cq)
			continue;
		diff_value("cq", "%s, channel %d context %d %d",
			   cq->cqe >= sizes[i] ? "granted" : "less",
			   !!cq->channel, cq->context == context, cq->cq_context == &cq);
		ibv_destroy_cq(cq);
	}
	N(ibv_create_cq(context, attr.max_cqe + 1, NULL, NULL, 0), "max_cqe + 1 entries");
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		cq = N(ibv_create_cq(context, 1, NULL, NULL, vectors[i] == 1 ?
				     context->num_comp_vectors - 1 : vectors[i] == 2 ?
				     context->num_comp_vectors : vectors[i]),
		       "vector %s", vectors[i] == 1 ? "last" : vectors[i] == 2 ? "last + 1" :
		       vectors[i] < 0 ? "-1" : "large");
		if (cq)
			ibv_destroy_cq(cq);
		if (vectors[i] == 100)
			break;
	}
	NEED(channel = ibv_create_comp_channel(other));
	cq = N(ibv_create_cq(context, 1, NULL, channel, 0), "channel of another context");
	if (cq)
		ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);

	cq = diff_cq(context, 16);
	I(ibv_poll_cq(cq, 1, wc), "empty");
	I(ibv_poll_cq(cq, 0, wc), "0 entries");
	I(ibv_poll_cq(cq, 0, NULL), "0 entries, NULL");
	I(ibv_poll_cq(cq, -1, wc), "-1 entries");
	I(ibv_poll_cq(cq, 1, NULL), "empty, wc NULL");
	I(ibv_poll_cq(NULL, 1, wc), "cq NULL");
	P(ibv_req_notify_cq(cq, 0), "no channel");
	P(ibv_req_notify_cq(cq, 1), "solicited");
	P(ibv_req_notify_cq(cq, 99), "solicited 99");
	P(ibv_req_notify_cq(NULL, 0), "cq NULL");

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!P(ibv_resize_cq(cq, sizes[i]), "%d entries", sizes[i]))
			diff_value("resized", "%s", cq->cqe >= sizes[i] ? "granted" : "less");
	P(ibv_resize_cq(NULL, 1), "cq NULL");

	P(ibv_modify_cq(cq, &mod), "attr_mask 0");
	mod.attr_mask = IBV_CQ_ATTR_MODERATE;
	mod.moderate.cq_count = 1;
	mod.moderate.cq_period = 1;
	P(ibv_modify_cq(cq, &mod), "moderation");
	mod.attr_mask = ~0U;
	P(ibv_modify_cq(cq, &mod), "attr_mask -1");
	P(ibv_modify_cq(cq, NULL), "attr NULL");
	P(ibv_modify_cq(NULL, &mod), "cq NULL");

	pd = diff_pd(context);
	qp = diff_qp(pd, cq, IBV_QPT_RC);
	P(ibv_destroy_cq(cq), "a QP uses it");
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(pd);
	P(ibv_destroy_cq(NULL), "NULL");
	stale = diff_copy(cq);
	P(ibv_destroy_cq(cq), "plain");
	P(ibv_resize_cq(stale, 32), "stale CQ");
	P(ibv_req_notify_cq(stale, 0), "stale CQ");
	I(ibv_poll_cq(stale, 1, wc), "stale CQ");
	P(ibv_destroy_cq(stale), "stale CQ");
}

void diff_topic_comp(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_comp_channel *channel, *stale, fake = { .fd = -1 };
	struct ibv_cq *cq, *got;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 9 }, *bad;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	void *cookie;

	N(ibv_create_comp_channel(NULL), "NULL");
	channel = N(ibv_create_comp_channel(context), "plain");
	diff_value("channel", "context %d refcnt %d close on exec %d nonblocking %d",
		   channel->context == context, channel->refcnt,
		   !!(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC),
		   !!(fcntl(channel->fd, F_GETFL) & O_NONBLOCK));
	diff_hangs(300);
	E(ibv_get_cq_event(channel, &got, &cookie), "nothing: blocks");
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	E(ibv_get_cq_event(channel, &got, &cookie), "nothing, O_NONBLOCK");
	E(ibv_get_cq_event(NULL, &got, &cookie), "channel NULL");
	E(ibv_get_cq_event(&fake, &got, &cookie), "fd -1");
	cq = N(ibv_create_cq(context, 16, &channel, channel, 0), "with a channel");
	diff_value("refcnt", "%d", channel->refcnt);
	P(ibv_destroy_comp_channel(channel), "a CQ uses it");
	P(ibv_destroy_comp_channel(NULL), "NULL");

	pd = diff_pd(context);
	qp = diff_qp(pd, cq, IBV_QPT_RC);
	diff_move(qp, IBV_QPS_INIT, 0);
	NEED(!ibv_req_notify_cq(cq, 0));
	NEED(!ibv_post_recv(qp, &wr, &bad));
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	diff_value("readable", "%d", lib_readable(channel->fd, 2000));
	E(ibv_get_cq_event(channel, &got, &cookie), "flushed receive");
	diff_value("event", "cq %d cookie %d", got == cq, cookie == &channel);
	diff_value("flushed", "%s", diff_wc(cq));
	E(ibv_get_cq_event(channel, &got, &cookie), "no more, O_NONBLOCK");
	ibv_destroy_qp(qp);
	V(ibv_ack_cq_events(cq, 0), "0 events");
	V(ibv_ack_cq_events(NULL, 1), "NULL");
	V(ibv_ack_cq_events(cq, 1), "plain");
	P(ibv_destroy_cq(cq), "event acknowledged");
	P(ibv_destroy_comp_channel(channel), "not used any more");

	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 16, NULL, channel, 0));
	qp = diff_qp(pd, cq, IBV_QPT_RC);
	diff_move(qp, IBV_QPS_INIT, 0);
	NEED(!ibv_req_notify_cq(cq, 0));
	NEED(!ibv_post_recv(qp, &wr, &bad));
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	NEED(!ibv_get_cq_event(channel, &got, &cookie));
	ibv_destroy_qp(qp);
	diff_hangs(300);
	P(ibv_destroy_cq(cq), "event not acknowledged");

	NEED(channel = ibv_create_comp_channel(context));
	stale = diff_copy(channel);
	P(ibv_destroy_comp_channel(channel), "plain");
	E(ibv_get_cq_event(stale, &got, &cookie), "stale channel");
	N(ibv_create_cq(context, 16, NULL, stale, 0), "stale channel");
}
