// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of another device, CQs that can not be drained, other namespaces.
 */
#include "tests.h"

/**
 * struct kt_foreign - objects of the second device
 * @ep: bound to it
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

static void kt_foreign_close(struct kt *t, struct kt_foreign *f)
{
	if (!IS_ERR_OR_NULL(f->srq))
		ib_destroy_srq(f->srq);
	if (!IS_ERR_OR_NULL(f->cq))
		ib_free_cq(f->cq);
	if (!IS_ERR_OR_NULL(f->pd))
		ib_dealloc_pd(f->pd);
	kt_destroy(t, f->ep);
	kt_no_second_device(t);
}

static bool kt_foreign_open(struct kt *t, struct kt_foreign *f)
{
	struct ib_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct sockaddr_storage addr = kt_sa(KT_ADDR2, 0);
	struct kt_setup setup = { .addr = &addr };
	struct ib_device *dev;

	*f = (struct kt_foreign) {};
	if (!kt_second_device(t))
		return false;
	f->ep = kt_passive(&setup);
	if (!kt_expect_ok(t, f->ep))
		goto err;
	dev = rdma_ep_device(f->ep);
	f->pd = ib_alloc_pd(dev, 0);
	f->cq = ib_alloc_cq(dev, NULL, 64, 0, IB_POLL_WORKQUEUE);
	if (!kt_expect_ok(t, f->pd) || !kt_expect_ok(t, f->cq))
		goto err;
	f->srq = ib_create_srq(f->pd, &srq);
	if (kt_expect_ok(t, f->srq))
		return true;
err:
	kt_foreign_close(t, f);
	return false;
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
	struct kt_setup setup = {};
	struct kt_foreign f;
	struct kt_pair p;

	if (!kt_foreign_open(t, &f))
		return;
	if (!kt_pair_listen(t, &p, &setup))
		goto out;
	p.client = kt_active(&setup, p.listener);
	if (!kt_expect_ok(t, p.client))
		goto out_listener;
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
	kt_expect_eq(t, 0, atomic_read(&f.pd->usecnt) - 1);	/* its SRQ */
	kt_expect_eq(t, 0, atomic_read(&f.cq->usecnt));
	/* And each device has a PD of its own for those who bring none. */
	qp = kt_qp();
	kt_expect_eq(t, 0, rdma_ep_create_srq(f.ep, NULL, &srq));
	kt_expect_eq(t, 0, rdma_ep_create_qp(p.client, &qp));
	kt_expect(t, rdma_ep_pd(p.client) != rdma_ep_pd(f.ep));
	kt_expect_ptr(t, rdma_ep_device(f.ep), rdma_ep_pd(f.ep)->device);
	kt_destroy(t, p.client);
out_listener:
	kt_destroy(t, p.listener);
out:
	kt_foreign_close(t, &f);
}

static void kt_comp_handler(struct ib_cq *cq, void *context)
{
}

static void kt_event_handler(struct ib_event *event, void *context)
{
}

/* A plain CQ runs nobody's ib_cqe. */
static void kt_plain_cq(struct kt *t)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = {};
	struct kt_pair p;
	struct ib_cq *cq;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	cq = ib_create_cq(rdma_ep_device(p.listener), kt_comp_handler,
			  kt_event_handler, NULL, &attr);
	p.client = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, cq) && kt_expect_ok(t, p.client)) {
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
		qp.init.send_cq = cq;
		kt_expect_no_qp(t, p.client, &qp);
		qp = kt_qp();
		qp.init.recv_cq = cq;
		kt_expect_no_qp(t, p.client, &qp);
		kt_expect_eq(t, 0, atomic_read(&cq->usecnt));
	}
	kt_destroy(t, p.client);
	if (!IS_ERR(cq))
		ib_destroy_cq(cq);
	kt_destroy(t, p.listener);
}

static void kt_poll_ctx(struct kt *t)
{
	struct rdma_ep_qp_attr qp = kt_qp();
	struct kt_setup setup = {};
	struct kt_pair p;

	if (!kt_pair_listen(t, &p, &setup))
		return;
	p.client = kt_active(&setup, p.listener);
	if (kt_expect_ok(t, p.client)) {
		kt_expect_eq(t, 0, rdma_ep_destroy_qp(p.client));
		qp.poll_ctx = IB_POLL_DIRECT + 1;
		kt_expect_no_qp(t, p.client, &qp);
		qp = kt_qp();
		qp.poll_ctx = -1;
		kt_expect_no_qp(t, p.client, &qp);
	}
	kt_destroy(t, p.client);
	kt_destroy(t, p.listener);
}

/* An address in a namespace that has none with a device, or none at all. */
static void kt_namespace(struct kt *t)
{
	struct kt_setup setup = {};
	struct rdma_ep *ep;
	struct kt_pair p;

	if (!kt_expect_eq(t, 0, kt_helper("netns")))
		goto out;
	setup.net = kt_get_netns("ktest");
	if (!kt_expect_ok(t, setup.net))
		goto out;
	kt_expect(t, setup.net != &init_net);
	ep = kt_passive(&setup);
	kt_expect_err(t, -EADDRNOTAVAIL, ep);
	kt_destroy(t, ep);
	ep = kt_active_to(&setup, kt_addr());
	kt_expect_err(t, -ENETUNREACH, ep);
	kt_destroy(t, ep);
	put_net(setup.net);
	/* And where it is, it can be had. */
	setup.net = &init_net;
	if (kt_pair_open(t, &p, &setup))
		kt_pair_close(t, &p);
out:
	kt_helper("clean");
}

/* siw lives in the namespace where it was made. */
static void kt_namespace_device(struct kt *t)
{
	struct sockaddr_storage addr = kt_sa("10.79.0.1", 0);
	struct kt_setup setup = { .addr = &addr };
	struct rdma_ep *ep;
	struct kt_pair p;

	if (kt_helper("netns-siw")) {
		kt_skip(t, "no siw for this kernel");
		goto out;
	}
	setup.net = kt_get_netns("ktest");
	if (!kt_expect_ok(t, setup.net))
		goto out;
	ep = kt_passive(&setup);
	if (kt_expect_ok(t, ep) && rdma_ep_listen(ep, 1) == -EADDRNOTAVAIL) {
		kt_skip(t, "siw opens its sockets in the caller's namespace");
		kt_destroy(t, ep);
		goto out_net;
	}
	kt_destroy(t, ep);
	if (kt_pair_open(t, &p, &setup)) {
		kt_expect(t, rdma_protocol_iwarp(rdma_ep_device(p.client), 1));
		kt_pair_close(t, &p);
	}
out_net:
	put_net(setup.net);
	setup.net = NULL;
	ep = kt_passive(&setup);
	kt_expect_err(t, -EADDRNOTAVAIL, ep);
	kt_destroy(t, ep);
out:
	kt_helper("clean");
}

static bool kt_module_refs(int n)
{
	return !kt_shell("test $(cat /sys/module/rdma_ep/refcnt) = %d", n);
}

/* Each endpoint keeps the module, besides what we need of it ourselves. */
static void kt_module(struct kt *t)
{
	struct kt_setup setup = {};
	struct rdma_ep *a, *b;

	kt_expect(t, kt_module_refs(1));
	a = kt_passive(&setup);
	b = kt_passive(&setup);
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
