// SPDX-License-Identifier: GPL-2.0-only
/* Asynchronous events. */
#include <fcntl.h>

#include "diff.h"

static void get(struct ibv_context *context, const char *what)
{
	struct ibv_async_event event = {};

	lib_readable(context->async_fd, 1000);
	if (E(ibv_get_async_event(context, &event), "%s", what))
		return;
	diff_value("event", "%s", ibv_event_type_str(event.event_type));
	V(ibv_ack_async_event(&event), "%s", what);
}

void diff_topic_async(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 1);
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 1, 0 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_async_event event;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	int i;

	diff_hangs(300);
	E(ibv_get_async_event(context, &event), "nothing: blocks");
	fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
	E(ibv_get_async_event(context, &event), "nothing, O_NONBLOCK");
	E(ibv_get_async_event(NULL, &event), "context NULL");
	E(ibv_get_async_event(context, NULL), "event NULL");
	V(ibv_ack_async_event(NULL), "NULL");
	memset(&event, 0, sizeof(event));
	event.event_type = IBV_EVENT_PORT_ACTIVE;
	V(ibv_ack_async_event(&event), "of a port");
	event.event_type = 99;
	V(ibv_ack_async_event(&event), "unknown type");

	/* A limit below, then above the number of posted receives */
	NEED(srq = ibv_create_srq(pd, &srq_attr));
	for (i = 0; i < 4; i++)
		NEED(!ibv_post_srq_recv(srq, &wr, &bad));
	P(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "limit 2 of 4");
	diff_value("readable", "%d", lib_readable(context->async_fd, 100));
	limit.srq_limit = 8;
	P(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "limit 8 of 4");
	diff_value("readable", "%d", lib_readable(context->async_fd, 100));
	get(context, "limit above what is posted");
	ibv_destroy_srq(srq);

	qp = diff_qp(pd, cq, IBV_QPT_RC);
	ibv_destroy_qp(qp);
	P(ibv_destroy_cq(cq), "unused");
	P(ibv_dealloc_pd(pd), "unused");
	E(ibv_close_device(context), "plain");
}
