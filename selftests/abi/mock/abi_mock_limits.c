// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices with small limits, devices that grant more than requested, drivers without support
 * for user memory, keys and lengths that no driver may see, and privileged Q_Keys.
 */
#include <sys/klog.h>

#include "abi_test.h"
#include "abi_mock.h"

FIXTURE(limits) {
	struct abi s;
	char *mem;
};

FIXTURE_SETUP(limits)
{
	self->s.fd = -1;
	OK(mock_load());
	self->mem = abi_map(65536);
}

FIXTURE_TEARDOWN(limits)
{
	abi_close(&self->s);
	mock_unload();
}

/* ---- drivers that must not register user memory */

/* Counts occurrences of the text in the kernel's log. */
static int log_lines(const char *text)
{
	static char log[1 << 20];
	int n = klogctl(3, log, sizeof(log) - 1), found = 0;
	char *p;

	if (n < 0)
		return -errno;
	log[n] = 0;
	for (p = log; (p = strstr(p, text)); p++)
		found++;
	return found;
}

static int driver_flags(const struct abi *s)
{
	struct rdma_ep_device_info info;

	return abi_device_info(s, &info) ?: (int)(info.flags & RDMA_EP_DEVICE_USER_MR);
}

TEST_F(limits, refused_drivers)
{
	static const __u32 refused[] = {
		RDMA_DRIVER_UNKNOWN, RDMA_DRIVER_MTHCA, RDMA_DRIVER_I40IW,
		RDMA_DRIVER_HNS, RDMA_DRIVER_USNIC, RDMA_DRIVER_EFA, 1000,
	};
	struct rdma_ep_cmd_reg_mr mr;
	char options[32];
	int before, after;
	__u32 cq;

	for (size_t d = 0; d < ARRAY_SIZE(refused); d++) {
		snprintf(options, sizeof(options), "driver=%u", refused[d]);
		OK(mock_new(options));
		OK(abi_open(&self->s));
		EXPECT_EQ(0, driver_flags(&self->s));
		/* pr_notice_ratelimited() prints at most 10 lines in 5 seconds. */
		before = log_lines(MOCK_NAME ": its driver cannot register");
		ASSERT_LE(0, before);
		for (int i = 0; i < 200; i++) {
			LOGGED(EXPECT_EQ(-EOPNOTSUPP, abi_reg_mr(&self->s, self->s.pd, self->mem,
								 4096, AC_ALL, &mr)),
			       "driver %u", refused[d]);
		}
		after = log_lines(MOCK_NAME ": its driver cannot register");
		EXPECT_GE(before + 20, after);
		if (!d)
			EXPECT_LT(before, after);
		EXPECT_EQ(0, mock_calls("reg_user_mr"));
		/* Other commands work. */
		EXPECT_EQ(0, abi_create_cq(&self->s, -1, 16, 0, &cq));
		abi_close(&self->s);
		OK(mock_del());
	}
}

TEST_F(limits, known_drivers)
{
	/* Drivers whose modules look devices up by driver_id are left out. */
	static const __u32 known[] = {
		RDMA_DRIVER_CXGB4, RDMA_DRIVER_QEDR, RDMA_DRIVER_OCRDMA,
		RDMA_DRIVER_VMW_PVRDMA, RDMA_DRIVER_HFI1, RDMA_DRIVER_QIB,
	};
	struct rdma_ep_cmd_reg_mr mr;
	char options[32];

	for (size_t d = 0; d < ARRAY_SIZE(known); d++) {
		bool plain = known[d] == RDMA_DRIVER_HFI1 || known[d] == RDMA_DRIVER_QIB;

		snprintf(options, sizeof(options), "driver=%u", known[d]);
		OK(mock_new(options));
		OK(abi_open(&self->s));
		EXPECT_EQ(RDMA_EP_DEVICE_USER_MR, driver_flags(&self->s));
		EXPECT_EQ(0, abi_reg_mr(&self->s, self->s.pd, self->mem, 4096, AC_ALL, &mr));
		/* hfi1 and qib ignore iova, so it must be equal to the address. */
		mr.iova += 4096;
		LOGGED(EXPECT_EQ(plain ? -EINVAL : 0, ABI(self->s.fd, REG_MR, &mr)),
		       "driver %u", known[d]);
		abi_close(&self->s);
		OK(mock_del());
	}
}

/* vmw_pvrdma has SRQs, but refuses those of the kernel, and logs that. */
TEST_F(limits, device_without_srq_says_so)
{
	struct rdma_ep_cmd_query_device q = {};
	struct abi *s = &self->s;
	char pvrdma[32];
	__u32 srq;

	snprintf(pvrdma, sizeof(pvrdma), "driver=%u", RDMA_DRIVER_VMW_PVRDMA);
	for (int i = 0; i < 2; i++) {
		OK(mock_new(i ? pvrdma : "srq=0"));
		OK(abi_open(s));
		EXPECT_EQ(-EOPNOTSUPP, abi_create_srq(s, s->pd, 4, 0, &srq));
		EXPECT_EQ(0, mock_calls("create_srq"));
		q.dev_index = s->dev;
		OK(ABI(s->fd, QUERY_DEVICE, &q));
		EXPECT_EQ(0, q.attr.max_srq);
		EXPECT_EQ(0, q.attr.max_srq_wr);
		EXPECT_EQ(0, q.attr.max_srq_sge);
		abi_close(s);
		OK(mock_del());
	}
}

/* ---- small limits */

#define SMALL "max_qp_wr=3 max_send_sge=1 max_recv_sge=2 max_cqe=5 " \
	"max_srq_wr=3 max_srq_sge=1 max_qp_rd_atom=1 max_qp_init_rd_atom=1"

/* Requests over the limits fail without a call of the driver. */
#define EXPECT_UNCALLED(_op, _call) ({					\
	int __calls = mock_calls(_op);					\
									\
	EXPECT_EQ(-EINVAL, _call);					\
	EXPECT_EQ(__calls, mock_calls(_op));				\
})

static int small_qp(const struct abi *s, __u32 cq, __u32 swr, __u32 rwr, __u32 ssge, __u32 rsge)
{
	struct rdma_ep_cmd_create_qp c;

	abi_qp_attr(&c, QPT_RC, s->pd, cq, cq);
	c.init.max_send_wr = swr;
	c.init.max_recv_wr = rwr;
	c.init.max_send_sge = ssge;
	c.init.max_recv_sge = rsge;
	return ABI(s->fd, CREATE_QP, &c);
}

TEST_F(limits, queue_limits_of_device)
{
	struct rdma_ep_cmd_create_srq c = { .max_wr = 3, .max_sge = 1 };
	struct rdma_ep_cmd_query_device q = {};
	struct rdma_ep_cmd_srq_attr a = { .flags = RDMA_EP_SRQ_MAX_WR, .max_wr = 4 };
	struct rdma_ep_cmd_resize_cq r = { .cqe = 6 };
	struct abi *s = &self->s;
	__u32 cq, bad;

	OK(mock_new(SMALL));
	OK(abi_open(s));
	q.dev_index = s->dev;
	OK(ABI(s->fd, QUERY_DEVICE, &q));
	EXPECT_EQ(3, q.attr.max_qp_wr);
	EXPECT_EQ(1, q.attr.max_sge);
	EXPECT_EQ(5, q.attr.max_cqe);
	EXPECT_EQ(3, q.attr.max_srq_wr);

	OK(abi_create_cq(s, -1, 5, 0, &cq));
	EXPECT_UNCALLED("create_cq", abi_create_cq(s, -1, 6, 0, &bad));
	EXPECT_UNCALLED("create_cq", abi_create_cq(s, -1, ~0U, 0, &bad));
	r.cq = cq;
	EXPECT_UNCALLED("resize_cq", ABI(s->fd, RESIZE_CQ, &r));

	EXPECT_EQ(0, small_qp(s, cq, 3, 3, 1, 2));
	EXPECT_UNCALLED("create_qp", small_qp(s, cq, 4, 3, 1, 2));
	EXPECT_UNCALLED("create_qp", small_qp(s, cq, 3, 4, 1, 2));
	EXPECT_UNCALLED("create_qp", small_qp(s, cq, 3, 3, 2, 2));
	EXPECT_UNCALLED("create_qp", small_qp(s, cq, 3, 3, 1, 3));

	c.pd = s->pd;
	EXPECT_EQ(0, ABI(s->fd, CREATE_SRQ, &c));
	a.srq = c.srq;
	EXPECT_UNCALLED("modify_srq", ABI(s->fd, MODIFY_SRQ, &a));
	EXPECT_UNCALLED("create_srq", ABI_WITH(s->fd, CREATE_SRQ, c, max_wr, 4));
	EXPECT_UNCALLED("create_srq", ABI_WITH(s->fd, CREATE_SRQ, c, max_sge, 2));
}

#define FEW "max_qp=1 max_cq=1 max_pd=2 max_mr=1 max_srq=1 max_ah=1 " \
	"max_mr_size=8192"

/* The driver enforces the limits on numbers of objects, rdma_ep that on the size of a region. */
TEST_F(limits, object_limits_of_device)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_reg_mr mr;
	struct mock_count c;
	__u32 cq, h;

	OK(mock_new(FEW));
	OK(abi_open(s));
	EXPECT_EQ(0, abi_create_cq(s, -1, 16, 0, &cq));
	EXPECT_EQ(-ENOMEM, abi_create_cq(s, -1, 16, 0, &h));
	EXPECT_EQ(0, abi_alloc_pd(s, s->ctx, &h));
	EXPECT_EQ(-ENOMEM, abi_alloc_pd(s, s->ctx, &h));
	EXPECT_EQ(0, small_qp(s, cq, 2, 2, 1, 1));
	EXPECT_EQ(-ENOMEM, small_qp(s, cq, 2, 2, 1, 1));
	EXPECT_EQ(0, abi_create_srq(s, s->pd, 4, 0, &h));
	EXPECT_EQ(-ENOMEM, abi_create_srq(s, s->pd, 4, 0, &h));
	EXPECT_EQ(0, abi_create_ah(s, s->pd, &h));
	EXPECT_EQ(-ENOMEM, abi_create_ah(s, s->pd, &h));
	EXPECT_EQ(-EINVAL, abi_reg_mr(s, s->pd, self->mem, 8193, AC_ALL, &mr));
	EXPECT_EQ(0, mock_calls("reg_user_mr"));
	EXPECT_EQ(0, abi_reg_mr(s, s->pd, self->mem, 8192, AC_ALL, &mr));
	EXPECT_EQ(-ENOMEM, abi_reg_mr(s, s->pd, self->mem, 1, AC_ALL, &mr));
	OK(mock_count(&c));
	LOGGED(EXPECT_TRUE(c.qp == 1 && c.cq == 1 && c.pd == 2 && c.mr == 1 && c.srq == 1 &&
			   c.ah == 1), MOCK_COUNTS, MOCK_COUNT_ARGS(c));
}

/* An RC QP that is connected to itself */
static int own_peer(const struct abi *s, __u32 recv_sge, struct rdma_ep_cmd_create_qp *c)
{
	__u32 cq;
	int ret = abi_create_cq(s, -1, 64, 0, &cq);

	abi_qp_attr(c, QPT_RC, s->pd, cq, cq);
	c->init.max_recv_sge = recv_sge;
	return ret ?: ABI(s->fd, CREATE_QP, c) ?:
	       abi_qp_init(s, c->init.qp, QPT_RC, 0) ?:
	       abi_qp_rts(s, c->init.qp, QPT_RC, c->init.qp_num);
}

/* ---- sums of lengths */

#define MESSAGE		(1 << 20)	/* the port's longest */
#define ENTRY		(16 << 20)

static int post_long(const struct abi *s, unsigned long cmd, __u32 qp,
		     const struct rdma_ep_cmd_reg_mr *mr, int num, __u32 length, __u32 last)
{
	struct abi_wrs w;

	abi_wrs_init(&w);
	if (cmd == RDMA_EP_IOC_POST_SEND)
		abi_send_wr(&w, WR_SEND, SEND_SIGNALED, 1);
	else
		abi_recv_wr(&w, 1);
	for (int i = 0; i < num; i++)
		abi_sge(&w, mr->iova, i < num - 1 ? length : last, mr->lkey);
	return abi_post(s, cmd, qp, &w, NULL);
}

TEST_F(limits, message_size_limit)
{
	const unsigned long send = RDMA_EP_IOC_POST_SEND;
	const unsigned long recv = RDMA_EP_IOC_POST_RECV;
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_cmd_reg_mr mr;
	char *mem;
	int calls;

	OK(mock_new("max_recv_sge=256"));
	OK(abi_open(s));
	mem = abi_map(ENTRY);
	OK(abi_reg_mr(s, s->pd, mem, ENTRY, AC_ALL, &mr));
	OK(own_peer(s, 256, &c));

	/*
	 * Drivers add lengths up in 32 bits, so rdma_ep refuses 2^32 bytes. The mock driver
	 * gets one byte less and refuses it, as it has fewer entries than max_recv_sge here.
	 */
	calls = mock_calls("post_recv");
	EXPECT_UNCALLED("post_recv", post_long(s, recv, c.init.qp, &mr, 256, ENTRY, ENTRY));
	EXPECT_EQ(-EINVAL, post_long(s, recv, c.init.qp, &mr, 256, ENTRY, ENTRY - 1));
	EXPECT_EQ(calls + 1, mock_calls("post_recv"));
	EXPECT_EQ(-EINVAL, post_long(s, send, c.init.qp, &mr, 1, 0, MESSAGE + 1));
	EXPECT_EQ(-EINVAL, post_long(s, send, c.init.qp, &mr, 2, MESSAGE, 1));
	EXPECT_EQ(-EINVAL, post_long(s, send, c.init.qp, &mr, 2, ENTRY, ENTRY));
	EXPECT_EQ(0, post_long(s, send, c.init.qp, &mr, 2, MESSAGE - 1, 1));
	munmap(mem, ENTRY);
}

/* READs may have a lower limit of entries than other sends. */
TEST_F(limits, sge_limit_of_reads)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_reg_mr mr;
	int calls, ret;
	struct abi_wrs w;
	char mem[64];

	OK(mock_new("max_sge_rd=1"));
	OK(abi_open(s));
	OK(abi_reg_mr(s, s->pd, mem, sizeof(mem), AC_ALL, &mr));
	OK(own_peer(s, 1, &c));
	ASSERT_LE(2, c.init.max_send_sge);
	for (int num = 2; num; num--) {
		wr = abi_wrs_send(&w, WR_RDMA_READ, SEND_SIGNALED, 1);
		abi_remote(wr, &mr, 0);
		for (ret = 0; ret < num; ret++)
			abi_mr_sge(&w, &mr, ret, 1);
		calls = mock_calls("post_send");
		ret = ABI_POST(s, SEND, c.init.qp, &w, NULL);
		EXPECT_EQ(num == 2 ? -EINVAL : 0, ret);
		EXPECT_EQ(calls + (num == 1), mock_calls("post_send"));
	}
}

/*
 * Keys that are valid on the device but not for the user: the local_dma_lkey, which covers all
 * kernel memory in a user's PD as well, and its neighbours; one of another PD; a stale one.
 */
TEST_F(limits, keys_of_kernel_and_stale_refused)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_reg_mr mr, other, stale;
	struct rdma_ep_cmd_create_qp c;
	__u32 pd, srq;
	struct abi_wrs w;
	char mem[64];
	int calls;

	OK(mock_new(""));
	OK(abi_open(s));
	OK(abi_alloc_pd(s, s->ctx, &pd));
	OK(abi_reg_mr(s, s->pd, mem, sizeof(mem), AC_ALL, &mr));
	OK(abi_reg_mr(s, pd, mem, sizeof(mem), AC_ALL, &other));
	OK(abi_reg_mr(s, s->pd, mem, sizeof(mem), AC_ALL, &stale));
	OK(ABI_DESTROY(s, MR, stale.mr));
	OK(abi_create_srq(s, s->pd, 16, 0, &srq));
	OK(own_peer(s, 1, &c));

	const __u32 local = MOCK_LOCAL_LKEY;
	const __u32 keys[] = {
		local - 2, local - 1, local, local + 1, local + 2, other.lkey, stale.lkey, 0, ~0U,
	};

	calls = mock_calls("post_send");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		LOGGED(EXPECT_EQ(-EINVAL, abi_post_send(s, c.init.qp, SEND_SIGNALED, 1,
							mr.iova, 8, keys[i])),
		       "send, key 0x%x", keys[i]);
		abi_wrs_recv(&w, 1);
		abi_sge(&w, mr.iova, 8, keys[i]);
		LOGGED(EXPECT_EQ(-EINVAL, ABI_POST(s, RECV, c.init.qp, &w, NULL)),
		       "receive, key 0x%x", keys[i]);
		LOGGED(EXPECT_EQ(-EINVAL, ABI_POST(s, SRQ_RECV, srq, &w, NULL)),
		       "SRQ, key 0x%x", keys[i]);
	}
	EXPECT_EQ(calls, mock_calls("post_send"));
	abi_wrs_recv(&w, 1);
	abi_mr_sge(&w, &mr, 0, 8);
	EXPECT_EQ(0, ABI_POST(s, SRQ_RECV, srq, &w, NULL));
	/* More entries than the SRQ's max_sge */
	abi_mr_sge(&w, &mr, 0, 8);
	EXPECT_EQ(-EINVAL, ABI_POST(s, SRQ_RECV, srq, &w, NULL));
}

/* ---- drivers that grant more than requested */

#define ASKED	10

/* Posts until the queue is full; returns the number of requests. */
static int fill(const struct abi *s, unsigned long cmd, __u32 handle)
{
	struct abi_wrs w;
	int n, ret;

	for (n = 0; n < 200; n++) {
		abi_wrs_init(&w);
		if (cmd == RDMA_EP_IOC_POST_SEND)
			abi_send_wr(&w, WR_SEND, SEND_SIGNALED, n);
		else
			abi_recv_wr(&w, n);
		ret = abi_post(s, cmd, handle, &w, NULL);
		if (ret)
			return ret == -ENOMEM ? n : ret;
	}
	return n;
}

/* Takes @num completions: each request completes once, in order. */
static int drain(const struct abi *s, __u32 cq, int num)
{
	struct rdma_ep_wc wc[200];

	if (abi_wait(s, cq, wc, num) != num || abi_poll(s, cq, wc + num, 1))
		return -ENOMSG;
	for (int i = 0; i < num; i++)
		if (wc[i].wr_id != i)
			return -EILSEQ;
	return 0;
}

static int caps_qp(const struct abi *s, __u32 scq, __u32 rcq, __u32 srq,
		   struct rdma_ep_cmd_create_qp *c)
{
	abi_qp_attr(c, QPT_RC, s->pd, scq, rcq);
	c->init.max_send_wr = ASKED;
	c->init.max_recv_wr = ASKED;
	c->init.srq = srq;
	return ABI(s->fd, CREATE_QP, c) ?:
	       abi_qp_init(s, c->init.qp, QPT_RC, 0);
}

static void caps(struct __test_metadata *_metadata, FIXTURE_DATA(limits) * self,
		 const char *mode, __u32 granted)
{
	struct rdma_ep_cmd_create_qp c[2];
	struct abi *s = &self->s;
	__u32 cq[3], srq;
	int i, n;

	OK(mock_write("caps", "%s", mode));
	for (i = 0; i < 3; i++)
		OK(abi_create_cq(s, -1, 256, 0, &cq[i]));
	OK(abi_create_srq(s, s->pd, ASKED, 0, &srq));
	OK(caps_qp(s, cq[0], cq[1], 0, &c[0]));
	OK(caps_qp(s, cq[2], cq[2], srq, &c[1]));
	EXPECT_LE(granted, c[0].init.max_send_wr);
	EXPECT_LE(granted, c[0].init.max_recv_wr);

	/* Receives fill the queue, and each is flushed. */
	n = fill(s, RDMA_EP_IOC_POST_RECV, c[0].init.qp);
	EXPECT_LE(granted, n);
	EXPECT_GE(2 * ASKED, n);
	OK(abi_qp_state(s, c[0].init.qp, QPS_ERR));
	EXPECT_EQ(0, drain(s, cq[1], n));
	OK(abi_qp_state(s, c[0].init.qp, QPS_RESET));

	/* Sends fill the queue while the peer has no receives, and complete later. */
	OK(abi_qp_init(s, c[0].init.qp, QPT_RC, 0));
	OK(abi_qp_rts(s, c[0].init.qp, QPT_RC, c[1].init.qp_num));
	OK(abi_qp_rts(s, c[1].init.qp, QPT_RC, c[0].init.qp_num));
	n = fill(s, RDMA_EP_IOC_POST_SEND, c[0].init.qp);
	EXPECT_LE(granted, n);
	EXPECT_GE(2 * ASKED, n);
	i = fill(s, RDMA_EP_IOC_POST_SRQ_RECV, srq);
	LOGGED(EXPECT_LE(n, i), "%s: %d sends, %d receives", mode, n, i);
	EXPECT_EQ(0, drain(s, cq[0], n));
	EXPECT_EQ(0, drain(s, cq[2], n));
}

TEST_F(limits, granted_caps_usable)
{
	static const struct {
		const char *mode;
		__u32 granted;
	} modes[] = {
		{ "exact", ASKED }, { "more", 2 * ASKED },
		{ "unwritten", 2 * ASKED }, { "silent", ASKED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		OK(mock_new(""));
		OK(abi_open(&self->s));
		TH_LOG("%s", modes[i].mode);
		caps(_metadata, self, modes[i].mode, modes[i].granted);
		abi_close(&self->s);
		OK(mock_del());
	}
}

/* ---- Q_Keys that rdma_cm chooses */

static int ud_qp(const struct abi *s, struct rdma_ep_cmd_create_qp *qp)
{
	__u32 id, cq;

	return abi_ud_id(s, abi_channel(s), 0, &id) ?:
	       abi_create_cq(s, -1, 16, 0, &cq) ?:
	       abi_create_qp(s, QPT_UD, cq, id, qp);
}

static int ud_qp_without_rights(void *arg)
{
	struct rdma_ep_cmd_create_qp qp;

	CHECK(100, abi_become_nobody() == 0);
	return -ud_qp(arg, &qp);
}

/*
 * IPoIB's broadcast group may have a privileged Q_Key, which rdma_cm sets in QPs of unconnected
 * ids. The task that creates such a QP needs the privilege for the Q_Key.
 */
TEST_F(limits, privileged_qkey_of_group_refused)
{
	static const __u32 qkeys[] = { 0x00000b1b, 0x80000b1b };
	struct ib_uverbs_qp_attr attr;
	struct mock_count before, after;
	struct rdma_ep_cmd_create_qp qp;
	struct abi *s = &self->s;
	bool privileged;

	OK(mock_new(""));
	OK(abi_open(s));
	for (size_t i = 0; i < ARRAY_SIZE(qkeys); i++) {
		privileged = qkeys[i] & 0x80000000;
		OK(mock_ud_qkey(qkeys[i]));
		OK(ud_qp(s, &qp));
		OK(abi_query_qp(s, qp.init.qp, QP_QKEY, &attr));
		EXPECT_EQ(qkeys[i], attr.qkey);
		OK(mock_count(&before));
		EXPECT_EQ(privileged ? EPERM : 0, abi_child(ud_qp_without_rights, s));
		OK(mock_count(&after));
		EXPECT_EQ(before.qp + !privileged, after.qp);
	}
}

TEST_HARNESS_MAIN
