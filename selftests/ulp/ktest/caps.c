// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capabilities of QPs and SRQs: none, beyond the limits, at the limits; the granted values.
 */
#include "tests.h"

/* Expects @want from rdma_ep_create_qp() with @cap, and destroys the QP. */
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

static struct rdma_ep *kt_caps_ep(struct kt *t)
{
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	kt_assert_eq(t, 0, rdma_ep_destroy_qp(p.client));
	return p.client;
}

static void kt_caps_none(struct kt *t)
{
	struct rdma_ep *ep = kt_caps_ep(t);

	kt_expect_caps(t, ep, -EINVAL);
	kt_expect_caps(t, ep, 0, .max_send_wr = 1, .max_send_sge = 1);
	/* siw requires a send queue. */
	if (!kt_iwarp())
		kt_expect_caps(t, ep, 0, .max_recv_wr = 1, .max_recv_sge = 1);
}

static void kt_caps_over(struct kt *t)
{
	static const u32 huge[] = { UINT_MAX, UINT_MAX - 1, INT_MAX };
	struct rdma_ep *ep = kt_caps_ep(t);
	const struct ib_device_attr *dev = &rdma_ep_device(ep)->attrs;
	int i;

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
	/* One less than the limit is granted, as draining needs an entry. */
	if (dev->max_qp_wr <= SZ_64K)
		kt_expect_caps(t, ep, 0, .max_send_wr = dev->max_qp_wr - 1, .max_send_sge = 1);
}

static void kt_caps_granted(struct kt *t)
{
	struct rdma_ep *ep = kt_caps_ep(t);
	struct rdma_ep_qp_attr qp = kt_qp();
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct kt_io *io;
	int i;

	qp.init.cap = (struct ib_qp_cap) {
		.max_send_wr = 5, .max_recv_wr = 6, .max_send_sge = 1,
		.max_recv_sge = 2,
	};
	kt_assert_eq(t, 0, rdma_ep_create_qp(ep, &qp));
	kt_expect(t, qp.init.cap.max_send_wr >= 5);
	kt_expect(t, qp.init.cap.max_recv_wr >= 6);
	kt_expect(t, qp.init.cap.max_send_sge >= 1);
	kt_expect(t, qp.init.cap.max_recv_sge >= 2);
	kt_assert_eq(t, 0, ib_query_qp(rdma_ep_qp(ep), &attr, IB_QP_CAP, &init));
	kt_expect(t, init.cap.max_recv_wr >= qp.init.cap.max_recv_wr);
	/* Inline data is not requested, but rxe grants some. */
	kt_expect_eq(t, init.cap.max_inline_data, qp.init.cap.max_inline_data);
	kt_expect(t, rdma_ep_send_cq(ep)->cqe >= qp.init.cap.max_send_wr);
	kt_expect(t, rdma_ep_recv_cq(ep)->cqe >= qp.init.cap.max_recv_wr);

	/* As many receives as requested can be posted, and all complete. */
	io = kt_io_create(t, rdma_ep_pd(ep));
	for (i = 0; i < 6; i++)
		kt_expect_eq(t, 0, kt_io_recv(io, ep));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(ep));
	kt_undo(t, io);
}

static void kt_caps_srq(struct kt *t)
{
	struct ib_srq_init_attr good = { .attr = { .max_wr = 5, .max_sge = 2 } };
	struct rdma_ep *ep = kt_caps_ep(t);
	const struct ib_device_attr *dev = &rdma_ep_device(ep)->attrs;
	struct ib_srq_init_attr bad[5];
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].attr.max_wr = 0;
	bad[1].attr.max_wr = dev->max_srq_wr + 1;
	bad[2].attr.max_wr = UINT_MAX;
	bad[3].attr.max_sge = dev->max_srq_sge + 1;
	bad[4].srq_type = IB_SRQT_XRC;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		kt_note("SRQ %d", i);
		kt_expect_eq(t, i == 4 ? -EOPNOTSUPP : -EINVAL,
			     rdma_ep_create_srq(ep, NULL, &bad[i]));
		kt_expect_ptr(t, NULL, rdma_ep_srq(ep));
	}
	kt_assert_eq(t, 0, rdma_ep_create_srq(ep, NULL, &good));
	kt_expect(t, rdma_ep_srq(ep));
	kt_expect(t, good.attr.max_wr >= 5);
	kt_expect(t, good.attr.max_sge >= 2);
}

const struct kt_test kt_caps_tests[] = {
	{ "caps_none", kt_caps_none },
	{ "caps_over_limit", kt_caps_over },
	{ "caps_granted", kt_caps_granted },
	{ "caps_srq", kt_caps_srq },
	{}
};
