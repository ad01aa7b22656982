// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capabilities: none, too many, all there are; and what was granted.
 */
#include "tests.h"

/* rdma_ep_create_qp() with these must give @want; what it made goes. */
static void kt_caps_try(struct kt *t, int line, struct rdma_ep *ep, int want, struct ib_qp_cap cap)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	int ret;

	qp.init.cap = cap;
	ret = rdma_ep_create_qp(ep, &qp);
	kt_check_eq(t, kbasename(__FILE__), line, "rdma_ep_create_qp()", want, ret);
	if (!ret)
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(ep));
	kt_expect_ptr(t, NULL, rdma_ep_qp(ep));
}

#define kt_expect_caps(t, ep, want, ...) \
	kt_caps_try(t, __LINE__, ep, want, (struct ib_qp_cap) { __VA_ARGS__ })

/* An active endpoint without a QP. */
static struct rdma_ep *kt_caps_ep(struct kt *t, struct rdma_ep **listener)
{
	struct kt_setup setup = {};
	struct rdma_ep *ep;
	struct kt_pair p;

	if (!kt_pair_listen(t, &p, &setup))
		return NULL;
	*listener = p.listener;
	ep = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, ep) && kt_expect_eq(t, 0, rdma_ep_destroy_qp(ep)))
		return ep;
	kt_destroy(t, ep);
	kt_destroy(t, p.listener);
	return NULL;
}

static void kt_caps_none(struct kt *t)
{
	struct rdma_ep *listener, *ep = kt_caps_ep(t, &listener);

	if (!ep)
		return;
	kt_expect_caps(t, ep, -EINVAL);
	kt_expect_caps(t, ep, 0, .max_send_wr = 1, .max_send_sge = 1);
	/* (siw wants a send queue.) */
	if (!kt_iwarp())
		kt_expect_caps(t, ep, 0, .max_recv_wr = 1, .max_recv_sge = 1);
	kt_destroy(t, ep);
	kt_destroy(t, listener);
}

static void kt_caps_over(struct kt *t)
{
	struct rdma_ep *listener, *ep = kt_caps_ep(t, &listener);
	const struct ib_device_attr *dev;
	static const u32 huge[] = { UINT_MAX, UINT_MAX - 1, INT_MAX };
	int i;

	if (!ep)
		return;
	dev = &rdma_ep_device(ep)->attrs;
	kt_expect_caps(t, ep, -EINVAL, .max_send_wr = dev->max_qp_wr);
	kt_expect_caps(t, ep, -EINVAL, .max_recv_wr = dev->max_qp_wr);
	kt_expect_caps(t, ep, -EINVAL, .max_send_wr = dev->max_qp_wr + 1);
	kt_expect_caps(t, ep, -EINVAL, .max_recv_wr = dev->max_qp_wr + 1);
	kt_expect_caps(t, ep, -EINVAL, .max_send_wr = 1, .max_send_sge = dev->max_send_sge + 1);
	kt_expect_caps(t, ep, -EINVAL, .max_recv_wr = 1, .max_recv_sge = dev->max_recv_sge + 1);
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		kt_expect_caps(t, ep, -EINVAL, .max_send_wr = huge[i]);
		kt_expect_caps(t, ep, -EINVAL, .max_recv_wr = huge[i]);
		kt_expect_caps(t, ep, -EINVAL, .max_send_wr = 1, .max_send_sge = huge[i]);
		kt_expect_caps(t, ep, -EINVAL, .max_recv_wr = 1, .max_recv_sge = huge[i]);
	}
	/* What "one less than the limit" promises. */
	if (dev->max_qp_wr <= SZ_64K)
		kt_expect_caps(t, ep, 0, .max_send_wr = dev->max_qp_wr - 1, .max_send_sge = 1);
	kt_destroy(t, ep);
	kt_destroy(t, listener);
}

/* Written back, what the QP and its queues can take. */
static void kt_caps_granted(struct kt *t)
{
	struct rdma_ep *listener, *ep = kt_caps_ep(t, &listener);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct kt_io *io;
	int i;

	if (!ep)
		return;
	qp.init.cap = (struct ib_qp_cap) {
		.max_send_wr = 5, .max_recv_wr = 6, .max_send_sge = 1,
		.max_recv_sge = 2,
	};
	if (!kt_expect_eq(t, 0, rdma_ep_create_qp(ep, &qp)))
		goto out;
	kt_expect(t, qp.init.cap.max_send_wr >= 5);
	kt_expect(t, qp.init.cap.max_recv_wr >= 6);
	kt_expect(t, qp.init.cap.max_send_sge >= 1);
	kt_expect(t, qp.init.cap.max_recv_sge >= 2);
	if (kt_expect_eq(t, 0, ib_query_qp(rdma_ep_qp(ep), &attr, IB_QP_CAP, &init))) {
		kt_expect(t, init.cap.max_recv_wr >= qp.init.cap.max_recv_wr);
		/* Not asked for; rxe has some. */
		kt_expect_eq(t, init.cap.max_inline_data, qp.init.cap.max_inline_data);
	}
	kt_expect(t, rdma_ep_send_cq(ep)->cqe >= qp.init.cap.max_send_wr);
	kt_expect(t, rdma_ep_recv_cq(ep)->cqe >= qp.init.cap.max_recv_wr);

	/* All of it can be posted, and all comes back. */
	io = kt_io_create(t, rdma_ep_pd(ep));
	if (io) {
		for (i = 0; i < 6; i++)
			kt_expect_eq(t, 0, kt_io_recv(io, ep));
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(ep));
		kt_io_destroy(t, io);
	}
out:
	kt_destroy(t, ep);
	kt_destroy(t, listener);
}

static void kt_caps_srq(struct kt *t)
{
	struct rdma_ep *listener, *ep = kt_caps_ep(t, &listener);
	const struct ib_device_attr *dev;
	struct ib_srq_init_attr bad[5];
	struct ib_srq_init_attr good = {
		.attr = { .max_wr = 5, .max_sge = 2 },
	};
	int i;

	if (!ep)
		return;
	dev = &rdma_ep_device(ep)->attrs;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].attr.max_wr = 0;
	bad[1].attr.max_wr = dev->max_srq_wr + 1;
	bad[2].attr.max_wr = UINT_MAX;
	bad[3].attr.max_sge = dev->max_srq_sge + 1;
	bad[4].srq_type = IB_SRQT_XRC;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		kt_note(t, "SRQ %d", i);
		kt_expect_eq(t, i == 4 ? -EOPNOTSUPP : -EINVAL,
			     rdma_ep_create_srq(ep, NULL, &bad[i]));
		kt_expect_ptr(t, NULL, rdma_ep_srq(ep));
	}
	if (kt_expect_eq(t, 0, rdma_ep_create_srq(ep, NULL, &good))) {
		kt_expect(t, rdma_ep_srq(ep));
		kt_expect(t, good.attr.max_wr >= 5);
		kt_expect(t, good.attr.max_sge >= 2);
	}
	kt_destroy(t, ep);
	kt_destroy(t, listener);
}

const struct kt_test kt_caps_tests[] = {
	{ "caps_none", kt_caps_none },
	{ "caps_over_limit", kt_caps_over },
	{ "caps_granted", kt_caps_granted },
	{ "caps_srq", kt_caps_srq },
	{}
};
