// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the fuzzer (fuzz_run.c) on the mock device, which has XRC. While commands are called,
 * operations of the device fail or wait, its handlers run in several contexts, it raises events,
 * and it is removed.
 */
#include <stdio.h>
#include <unistd.h>

#include "abi_mock.h"
#include "fuzz.h"

#define STALL_MS	30
/* Time limit for the destruction of idle CQs and of the objects of closed sessions */
#define KEPT_MS		(10000 * TEST_SCALE)

/*
 * Operations that may fail. The core takes a failed destruction for a bug of the driver, and
 * ib_mad would lose messages if poll_cq or req_notify_cq failed.
 */
static const char * const may_fail[] = {
	"alloc_pd", "create_ah", "create_cq", "resize_cq", "modify_cq",
	"create_srq", "modify_srq", "query_srq", "post_srq_recv", "create_qp",
	"modify_qp", "query_qp", "post_send", "attach_mcast", "reg_user_mr",
	"alloc_xrcd", "query_port", "query_pkey",
};

static const char * const may_wait[] = {
	"alloc_pd", "dealloc_pd", "create_cq", "resize_cq", "modify_cq",
	"destroy_cq", "create_srq", "modify_srq", "query_srq", "destroy_srq",
	"create_qp", "modify_qp", "query_qp", "destroy_qp", "attach_mcast",
	"detach_mcast", "reg_user_mr", "dereg_mr", "alloc_xrcd",
	"dealloc_xrcd", "query_port", "query_pkey",
};

static const char * const contexts[] = { "irq", "post", "locked", "work" };
static const char * const caps[] = { "exact", "more", "unwritten", "silent" };

#define ONE_OF(_r, _a)	((_a)[fuzz_below(_r, sizeof(_a) / sizeof((_a)[0]))])

static bool removed;

static void fail_op(struct fuzz_random *r)
{
	static const int errors[] = { ENOMEM, EINVAL, EAGAIN, EBUSY, EIO, ENODEV, MOCK_ERRNO };
	char file[64];

	snprintf(file, sizeof(file), "fail/%s", ONE_OF(r, may_fail));
	mock_write(file, "%d %d %d", ONE_OF(r, errors), 1 + fuzz_below(r, 3), fuzz_below(r, 6));
}

static void stall_op(struct fuzz_random *r)
{
	char file[64];

	snprintf(file, sizeof(file), "stall/%s", ONE_OF(r, may_wait));
	mock_write(file, "%u", 1 + fuzz_below(r, 3));
	usleep(fuzz_below(r, STALL_MS * 1000));
	mock_write(file, "0");
}

static void raise_event(struct fuzz_random *r)
{
	static const char * const kinds[] = { "qp", "cq", "srq" };
	const char *kind = ONE_OF(r, kinds);
	int last = mock_read_key("last", kind);

	if (fuzz_chance(r, 10))
		mock_write("event", "%u port 1", fuzz_below(r, 20));
	else if (last > 0)
		mock_write("event", "%u %s %u", fuzz_below(r, 20), kind, 1 + fuzz_below(r, last));
}

static void disturb(struct fuzz_random *r)
{
	uint32_t what = fuzz_below(r, 400);

	if (removed)
		return;
	if (what < 1)
		removed = !mock_del();
	else if (what < 40)
		mock_write("caps", "%s", ONE_OF(r, caps));
	else if (what < 120)
		mock_write("context", "%s", ONE_OF(r, contexts));
	else if (what < 180)
		stall_op(r);
	else if (what < 250)
		fail_op(r);
	else
		raise_event(r);
}

static int begin(void)
{
	removed = false;
	return mock_new("");
}

static bool nothing_left(void)
{
	long until = abi_now_ms() + KEPT_MS;
	struct mock_count n;

	do {
		if (mock_count(&n))
			return false;
		if (!(n.qp | n.cq | n.srq | n.pd | n.mr | n.ah | n.xrcd))
			return true;
		usleep(20000);
	} while (abi_now_ms() < until);
	printf("# qp %d cq %d srq %d pd %d mr %d ah %d xrcd %d\n", n.qp, n.cq,
	       n.srq, n.pd, n.mr, n.ah, n.xrcd);
	return false;
}

static const char *end(void)
{
	const char *why = NULL;

	if (removed)
		return NULL;
	if (!nothing_left())
		why = "the device still has objects";
	return mock_del() ? "the device can not be removed" : why;
}

/* Adds an XRC domain, with an SRQ and a target QP. */
static int furnish(struct fuzz_session *fs)
{
	struct rdma_ep_cmd_create_srq srq = {
		.pd = fs->s.pd, .max_wr = 16, .max_sge = 1, .srq_type = IB_UVERBS_SRQT_XRC,
	};
	struct rdma_ep_cmd_create_qp qp;
	uint32_t xrcd;
	int ret;

	ret = abi_open_xrcd(&fs->s, -1, 0, &xrcd);
	if (ret)
		return ret;
	srq.xrcd = xrcd;
	srq.cq = fs->handles[RDMA_EP_OBJ_CQ][0];
	abi_qp_attr(&qp, QPT_XRC_TGT, xrcd, 0, 0);
	ret = ABI(fs->s.fd, CREATE_SRQ, &srq) ?:
	      ABI(fs->s.fd, CREATE_QP, &qp);
	if (ret)
		return ret;
	for (int i = 0; i < FUZZ_POOL; i++)
		fs->handles[RDMA_EP_OBJ_XRCD][i] = xrcd;
	fs->handles[RDMA_EP_OBJ_SRQ][0] = srq.srq;
	fs->handles[RDMA_EP_OBJ_QP][2] = qp.init.qp;
	for (int i = 2; i < FUZZ_POOL; i++)
		fs->qp_nums[i] = qp.init.qp_num;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct fuzz_device device = {
		.begin = begin, .furnish = furnish, .disturb = disturb, .end = end,
	};
	int ret;

	if (mock_load()) {
		printf("Bail out! no mock device: modprobe rdma_ep_mock\n");
		return 1;
	}
	ret = fuzz_main(argc, argv, &device);
	mock_unload();
	return ret;
}
