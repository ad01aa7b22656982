// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of another device, CQs that cannot be drained, other namespaces, module references.
 */
#include "tests.h"

/**
 * struct kt_foreign - objects of the second device
 * @ep: endpoint that is bound to it
 * @pd: PD
 * @cq: CQ
 * @srq: SRQ
 */
struct kt_foreign {
	struct rdma_ep *ep;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
};

static void kt_end_srq(struct kt *t, void *srq)
{
	ib_destroy_srq(srq);
}

static void kt_foreign_open(struct kt *t, struct kt_foreign *f)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct ib_device *dev;

	kt_second_device(t);
	f->ep = kt_passive(t, &(struct kt_setup) { .addr = &addr });
	dev = rdma_ep_device(f->ep);
	f->pd = kt_pd(t, dev);
	f->cq = kt_cq(t, dev, IB_POLL_WORKQUEUE);
	f->srq = ib_create_srq(f->pd, &srq);
	kt_assert_ok(t, f->srq);
	kt_defer(t, KT_REST, kt_end_srq, f->srq);
}

static void kt_expect_no_qp(struct kt *t, struct rdma_ep *ep, struct rdma_ep_qp_attr *qp)
{
	kt_expect_eq(t, -EINVAL, rdma_ep_create_qp(ep, qp));
	kt_expect_ptr(t, NULL, rdma_ep_qp(ep));
}

static void kt_foreign_objects(struct kt *t)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_foreign f;
	struct kt_pair p;

	kt_foreign_open(t, &f);
	kt_pair_client(t, &p, NULL);
	kt_expect(t, rdma_ep_device(p.client) != rdma_ep_device(f.ep));
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	qp.pd = f.pd;
	kt_expect_no_qp(t, p.client, &qp);
	qp = kt_qp();
	qp.init.send_cq = f.cq;
	kt_expect_no_qp(t, p.client, &qp);
	qp = kt_qp();
	qp.init.recv_cq = f.cq;
	kt_expect_no_qp(t, p.client, &qp);
	qp = kt_qp();
	qp.init.srq = f.srq;
	kt_expect_no_qp(t, p.client, &qp);
	kt_expect_eq(t, -EINVAL, rdma_ep_create_srq(p.client, f.pd, &srq));
	kt_expect_ptr(t, NULL, rdma_ep_srq(p.client));
	kt_expect_eq(t, 0, atomic_read(&f.pd->usecnt) - 1);	/* without its SRQ */
	kt_expect_eq(t, 0, atomic_read(&f.cq->usecnt));
	qp = kt_qp();
	kt_expect_eq(t, 0, rdma_ep_create_srq(f.ep, NULL, &srq));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	kt_expect(t, rdma_ep_pd(p.client) != rdma_ep_pd(f.ep));
	kt_expect_ptr(t, rdma_ep_device(f.ep), rdma_ep_pd(f.ep)->device);
}

static void kt_comp_handler(struct ib_cq *cq, void *context)
{
}

static void kt_event_handler(struct ib_event *event, void *context)
{
}

static void kt_end_plain_cq(struct kt *t, void *cq)
{
	ib_destroy_cq(cq);
}

/* A CQ of ib_create_cq() does not call ib_cqe handlers, so it is refused. */
static void kt_plain_cq(struct kt *t)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p;
	struct ib_cq *cq;

	kt_pair_client(t, &p, NULL);
	cq = ib_create_cq(rdma_ep_device(p.listener), kt_comp_handler,
			  kt_event_handler, NULL, &attr);
	kt_assert_ok(t, cq);
	kt_defer(t, KT_REST, kt_end_plain_cq, cq);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	qp.init.send_cq = cq;
	kt_expect_no_qp(t, p.client, &qp);
	qp = kt_qp();
	qp.init.recv_cq = cq;
	kt_expect_no_qp(t, p.client, &qp);
	kt_expect_eq(t, 0, atomic_read(&cq->usecnt));
}

static void kt_poll_ctx(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_pair p;

	kt_pair_client(t, &p, NULL);
	kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
	qp.poll_ctx = IB_POLL_DIRECT + 1;
	kt_expect_no_qp(t, p.client, &qp);
	qp = kt_qp();
	qp.poll_ctx = -1;
	kt_expect_no_qp(t, p.client, &qp);
}

static void kt_end_netns(struct kt *t, void *arg)
{
	kt_helper("clean");
}

/* A namespace without the device: it has neither its addresses nor a route to it. */
static void kt_namespace(struct kt *t)
{
	struct kt_setup setup = {};
	struct kt_pair p;

	kt_defer(t, KT_REST, kt_end_netns, kt_end_netns);
	kt_assert_eq(t, 0, kt_helper("netns"));
	setup.net = kt_get_netns(t, "ktest");
	kt_expect(t, setup.net != &init_net);
	kt_expect_no_ep(t, -EADDRNOTAVAIL, kt_create_passive(&setup));
	kt_expect_no_ep(t, -ENETUNREACH, kt_create_active(&setup, kt_addr()));
	setup.net = &init_net;
	kt_pair_open(t, &p, &setup);
}

/* A siw device is available only in the namespace in which it was created. */
static void kt_namespace_device(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa("10.79.0.1", 0);
	struct kt_setup setup = { .addr = &addr };
	struct rdma_ep *ep;
	struct kt_pair p;

	kt_defer(t, KT_REST, kt_end_netns, kt_end_netns);
	if (kt_helper("netns-siw")) {
		kt_skip(t, "no siw for this kernel");
		return;
	}
	setup.net = kt_get_netns(t, "ktest");
	ep = kt_passive(t, &setup);
	if (rdma_ep_listen(ep, 1) == -EADDRNOTAVAIL) {
		kt_skip(t, "siw opens its sockets in the caller's namespace");
		return;
	}
	kt_destroy(t, ep);
	kt_pair_open(t, &p, &setup);
	kt_expect(t, rdma_protocol_iwarp(rdma_ep_device(p.client), 1));
	setup.net = NULL;
	kt_expect_no_ep(t, -EADDRNOTAVAIL, kt_create_passive(&setup));
}

static bool kt_module_refs(int n)
{
	return !kt_shell("test $(cat /sys/module/rdma_ep/refcnt) = %d", n);
}

/* Each endpoint holds a reference on rdma_ep, beside the one of this module. */
static void kt_module(struct kt *t)
{
	struct rdma_ep *a, *b;

	kt_expect(t, kt_module_refs(1));
	a = kt_passive(t, NULL);
	b = kt_passive(t, NULL);
	kt_expect(t, kt_module_refs(3));
	kt_destroy(t, a);
	kt_expect(t, kt_module_refs(2));
	kt_destroy(t, b);
	kt_expect(t, kt_module_refs(1));
}

const struct kt_test kt_fault_tests[] = {
	{ "module_references", kt_module },
	{ "foreign_objects", kt_foreign_objects },
	{ "plain_cq", kt_plain_cq },
	{ "poll_context", kt_poll_ctx },
	{ "namespace", kt_namespace },
	{ "namespace_with_device", kt_namespace_device },
	{}
};
