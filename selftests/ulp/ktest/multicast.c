// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicast groups of unconnected endpoints.
 */
#include "tests.h"

static void kt_multicast(struct kt *t)
{
	struct sockaddr_storage group = kt_sa("239.1.2.3", 0), other = kt_sa("239.1.2.4", 0);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep_attr attr = {
		.net = &init_net, .src = kt_ptr(kt_addr()), .ps = RDMA_PS_UDP,
	};
	const struct rdma_cm_event *event;
	struct rdma_ep *ep;

	kt_not_on_iwarp(t, "iWARP has no multicast");
	qp.init.qp_type = IB_QPT_UD;
	ep = kt_own(t, rdma_ep_create(&attr));
	kt_expect_eq(t, 0, rdma_ep_create_qp(ep, &qp));
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&group), false, KT_CALL_MS));
	event = rdma_ep_event(ep);
	kt_assert(t, event);
	kt_expect_eq(t, RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	kt_expect_eq(t, 0xffffff, event->param.ud.qp_num);
	kt_expect_eq(t, -EEXIST, rdma_ep_join(ep, kt_ptr(&group), false, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&other), true, KT_CALL_MS));
	kt_expect_eq(t, 0, rdma_ep_leave(ep, kt_ptr(&group)));
	kt_expect_eq(t, -EINVAL, rdma_ep_leave(ep, kt_ptr(&group)));
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&group), false, KT_CALL_MS));
	kt_expect_eq(t, -EINVAL, rdma_ep_join(ep, NULL, false, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_join(NULL, kt_ptr(&group), false, 0));
	kt_expect_eq(t, -EINVAL, rdma_ep_leave(ep, NULL));
}

/* A join waits for its own event, also if the event of another group is unread. */
static void kt_multicast_unread(struct kt *t)
{
	struct sockaddr_storage group = kt_sa("239.1.2.3", 0), other = kt_sa("239.1.2.4", 0);
	struct rdma_ep_channel *queue = kt_channel(t, NULL, NULL);
	struct rdma_ep_attr attr = {
		.net = &init_net, .src = kt_ptr(kt_addr()), .ps = RDMA_PS_UDP, .channel = queue,
	};
	const struct rdma_cm_event *event;
	struct rdma_ep *ep;

	kt_not_on_iwarp(t, "iWARP has no multicast");
	ep = kt_own(t, rdma_ep_create(&attr));
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&group), true, 0));
	/* The unread event migrates, too. */
	kt_expect_eq(t, 0, rdma_ep_migrate(ep, NULL));
	kt_expect_eq(t, 0, rdma_ep_join(ep, kt_ptr(&other), true, KT_CALL_MS));
	event = rdma_ep_event(ep);
	kt_assert(t, event);
	kt_expect_eq(t, RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	/* The GID contains the IPv4 address at its end. */
	kt_expect_eq(t, 4, event->param.ud.ah_attr.grh.dgid.raw[15]);
}

#define KT_JOINS	8

static int kt_call_join(struct kt_args *args)
{
	return rdma_ep_join(args->ep, args->data, true, args->timeout_ms);
}

/* Tasks join groups at the same time; each gets the result of its own group. */
static void kt_multicast_tasks(struct kt *t)
{
	struct sockaddr_storage *group = kt_zalloc(t, KT_JOINS * sizeof(*group));
	struct rdma_ep_attr attr = {
		.net = &init_net, .src = kt_ptr(kt_addr()), .ps = RDMA_PS_UDP,
	};
	struct kt_call *call[KT_JOINS];
	struct rdma_ep *ep;
	char addr[16];
	int i, round;

	kt_not_on_iwarp(t, "iWARP has no multicast");
	ep = kt_own(t, rdma_ep_create(&attr));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < KT_JOINS; i++) {
			snprintf(addr, sizeof(addr), "239.1.2.%d", i + 1);
			group[i] = kt_sa(addr, 0);
			call[i] = kt_call(t, kt_call_join, &(struct kt_args) {
				.ep = ep, .data = &group[i], .timeout_ms = RDMA_EP_FOREVER });
		}
		for (i = 0; i < KT_JOINS; i++)
			kt_abort_unless(t, kt_expect_call(t, call[i], KT_CALL_MS, 0));
		for (i = 0; i < KT_JOINS; i++)
			kt_expect_eq(t, 0, rdma_ep_leave(ep, kt_ptr(&group[i])));
	}
}

/* Endpoints that cannot join: those with RC, listeners, those with a route */
static void kt_multicast_refused(struct kt *t)
{
	struct sockaddr_storage group = kt_sa("239.1.2.3", 0), dst;
	struct rdma_ep_qp_attr qp = kt_qp();
	struct rdma_ep *ep;

	kt_expect_eq(t, -EINVAL, rdma_ep_join(kt_passive(t, NULL), kt_ptr(&group), false, 0));
	kt_not_on_iwarp(t, "iWARP has no UD");
	qp.init.qp_type = IB_QPT_UD;
	ep = kt_passive(t, &(struct kt_setup) { .server_qp = &qp });
	kt_expect_eq(t, 0, rdma_ep_listen(ep, 1));
	kt_expect_eq(t, -EINVAL, rdma_ep_join(ep, kt_ptr(&group), false, 0));
	kt_assert_eq(t, 0, rdma_ep_local_addr(ep, &dst));
	ep = kt_active_to(t, &(struct kt_setup) { .client_qp = &qp }, &dst);
	kt_expect_eq(t, -EINVAL, rdma_ep_join(ep, kt_ptr(&group), false, 0));
}

const struct kt_test kt_multicast_tests[] = {
	{ "multicast", kt_multicast },
	{ "multicast_unread", kt_multicast_unread },
	{ "multicast_tasks", kt_multicast_tasks },
	{ "multicast_refused", kt_multicast_refused },
	{}
};
