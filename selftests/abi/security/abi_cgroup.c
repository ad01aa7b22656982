// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits and charges of the kernel's rdma cgroup controller, which apply to the calling task.
 */
#include <sys/mount.h>

#include "abi_test.h"

#define CGROUPS	"/tmp/rdma_ep.cgroups"
#define CGROUP	CGROUPS "/limited"

/* The device under test */
static struct rdma_ep_device_info device;

/* Limits its objects. */
static int limit_objects(const char *limit)
{
	char text[128];

	snprintf(text, sizeof(text), "%.64s hca_object=%s", device.name, limit);
	return abi_put(CGROUP "/rdma.max", text);
}

/* The sum of a key over all devices in a file of the cgroup; -1: no such file */
static int sum_of(const char *file, const char *key)
{
	FILE *f = fopen(file, "re");
	char line[256], *p;
	int sum = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, key);
		if (p)
			sum += atoi(p + strlen(key));
	}
	fclose(f);
	return sum;
}

static int nr_objects(void)
{
	return sum_of(CGROUP "/rdma.current", "hca_object=");
}

FIXTURE(cgroup) {
	bool ok;
};

FIXTURE_SETUP(cgroup)
{
	struct abi s;

	OK(abi_open(&s));
	OK(abi_device_info(&s, &device));
	abi_close(&s);
	mkdir(CGROUPS, 0700);
	SKIP_IF(mount("none", CGROUPS, "cgroup2", 0, NULL), "cannot mount cgroup2");
	abi_put(CGROUPS "/cgroup.subtree_control", "+rdma");
	mkdir(CGROUP, 0700);
	SKIP_IF(access(CGROUP "/rdma.max", W_OK), "no RDMA controller");
	self->ok = true;
}

/*
 * Linux 6.1 leaves the freed pool of a limit in the device's list when the cgroup is removed, and
 * uses it when the device is removed. Lifting the limit frees the pool. (CGROUP-01)
 */
FIXTURE_TEARDOWN(cgroup)
{
	if (self->ok)
		EXPECT_EQ(0, limit_objects("max"));
	rmdir(CGROUP);
	umount(CGROUPS);
	rmdir(CGROUPS);
}

/* A child, whose cgroup may have 4 objects of the device */
static int fill_cgroup(void *arg)
{
	const int limit = 4;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_reg_mr mr;
	struct abi s;
	__u32 h, pd;
	int n = 0, ret;

	if (limit_objects("4") || abi_put(CGROUP "/cgroup.procs", "0"))
		return 77;
	/* The default PD is one of them. */
	CHECK(1, abi_open(&s) == 0);
	do {
		ret = abi_alloc_pd(&s, s.ctx, n ? &h : &pd);
	} while (!ret && ++n < 16);
	CHECK(2, ret == -EAGAIN && n == limit - 1);
	CHECK(3, abi_create_cq(&s, -1, 8, 0, &h) == -EAGAIN);
	CHECK(4, abi_reg_mr(&s, s.pd, &h, sizeof(h), AC_ALL, &mr) == -EAGAIN);
	CHECK(5, s.iwarp || abi_create_ah(&s, s.pd, &h) == -EAGAIN);
	CHECK(6, abi_create_srq(&s, s.pd, 8, 0, &h) == -EAGAIN);
	/* A destroyed object is uncharged. */
	CHECK(7, ABI_DESTROY(&s, PD, pd) == 0 && abi_create_cq(&s, -1, 8, 0, &h) == 0);
	CHECK(8, abi_create_qp(&s, QPT_RC, h, 0, &qp) == -EAGAIN);
	return 0;
}

static void run_limited(struct __test_metadata *_metadata,
			const FIXTURE_DATA(cgroup) * self, int (*fn)(void *arg), void *arg)
{
	int status;

	SKIP_IF(!self->ok, "no RDMA controller");
	status = abi_child(fn, arg);
	SKIP_IF(status == 77, "cannot limit the device");
	EXPECT_EQ(0, status);
}

TEST_F(cgroup, objects_of_a_cgroup)
{
	run_limited(_metadata, self, fill_cgroup, NULL);
}

/*
 * Linux 7.2 also reports the peak of charges, and counts how often the limit was reached and how
 * many objects were refused.
 */
static int peak_and_events(void *arg)
{
	__u32 pd[3], more;
	struct abi s;

	if (access(CGROUP "/rdma.peak", R_OK))
		return 78;
	if (limit_objects("4") || abi_put(CGROUP "/cgroup.procs", "0"))
		return 77;
	CHECK(1, abi_open(&s) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(2, abi_alloc_pd(&s, s.ctx, &pd[i]) == 0);
	CHECK(3, sum_of(CGROUP "/rdma.events", "hca_object.max=") == 0);
	CHECK(4, abi_alloc_pd(&s, s.ctx, &more) == -EAGAIN);
	CHECK(5, abi_create_cq(&s, -1, 8, 0, &more) == -EAGAIN);
	for (int i = 0; i < 3; i++)
		CHECK(6, ABI_DESTROY(&s, PD, pd[i]) == 0);
	CHECK(7, nr_objects() == 1);
	CHECK(8, sum_of(CGROUP "/rdma.peak", "hca_object=") == 4);
	CHECK(9, sum_of(CGROUP "/rdma.events", "hca_object.max=") == 2);
	CHECK(10, sum_of(CGROUP "/rdma.events", "hca_object.alloc_fail=") == 2);
	CHECK(11, sum_of(CGROUP "/rdma.events", "hca_handle.max=") == 0);
	CHECK(12, sum_of(CGROUP "/rdma.events.local", "hca_object.alloc_fail=") == 2);
	return 0;
}

TEST_F(cgroup, peak_and_events_of_a_cgroup)
{
	int status;

	SKIP_IF(!self->ok, "no RDMA controller");
	status = abi_child(peak_and_events, NULL);
	SKIP_IF(status == 77, "cannot limit the device");
	SKIP_IF(status == 78, "the controller has no rdma.peak before Linux 7.2");
	EXPECT_EQ(0, status);
}

/* Uses a session whose opener is in no limited cgroup. */
static int fill_passed(void *arg)
{
	const struct abi *s = arg;
	__u32 h;

	if (limit_objects("1") || abi_put(CGROUP "/cgroup.procs", "0"))
		return 77;
	CHECK(1, abi_alloc_pd(s, s->ctx, &h) == 0);
	CHECK(2, abi_alloc_pd(s, s->ctx, &h) == -EAGAIN);
	return 0;
}

TEST_F(cgroup, passed_session_charges_caller)
{
	struct abi s;
	__u32 pd;

	OK(abi_open(&s));
	run_limited(_metadata, self, fill_passed, &s);
	EXPECT_EQ(0, abi_alloc_pd(&s, s.ctx, &pd));
	abi_close(&s);
}

static int make_ep(const struct abi *s, struct rdma_ep_cmd_create_ep *e)
{
	abi_own_ep(s, 4731, e);
	return ABI(s->fd, CREATE_EP, e);
}

static int destroy_cq(const struct abi *s, const struct rdma_ep_auto_cq *cq)
{
	close(cq->channel_fd);
	return ABI_DESTROY(s, CQ, cq->cq);
}

static int destroy_ep(const struct abi *s, const struct rdma_ep_cmd_create_ep *e)
{
	int ret = ABI_DESTROY(s, QP, e->qp.qp) ?:
		  ABI_DESTROY(s, ID, e->id);

	close(e->channel_fd);
	return ret ?: destroy_cq(s, &e->qp.send_cq) ?:
		      destroy_cq(s, &e->qp.recv_cq);
}

/*
 * Idle CQs of destroyed endpoints are uncharged. The next endpoint reuses them, and is charged
 * again, up to the limit.
 */
static int fill_again(void *arg)
{
	struct rdma_ep_cmd_create_ep e;
	struct abi s;
	__u32 pds[3];
	int n;

	if (limit_objects("max") || abi_put(CGROUP "/cgroup.procs", "0"))
		return 77;
	CHECK(1, abi_open(&s) == 0);
	n = nr_objects();
	CHECK(2, n > 0);
	for (int i = 0; i < 20; i++) {
		CHECK(3, make_ep(&s, &e) == 0);
		CHECK(4, nr_objects() == n + 3);
		CHECK(5, destroy_ep(&s, &e) == 0);
		CHECK(6, nr_objects() == n);
	}
	/* Other objects take the room of the endpoint, and a limit of 0 refuses a new one. */
	for (int i = 0; i < 3; i++)
		CHECK(7, abi_alloc_pd(&s, s.ctx, &pds[i]) == 0);
	CHECK(8, limit_objects("0") == 0);
	CHECK(9, make_ep(&s, &e) == -EAGAIN);
	CHECK(10, nr_objects() == n + 3);
	return 0;
}

TEST_F(cgroup, reused_objects_charged_again)
{
	run_limited(_metadata, self, fill_again, NULL);
}

TEST_HARNESS_MAIN
