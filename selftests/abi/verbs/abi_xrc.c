// SPDX-License-Identifier: GPL-2.0-only
/*
 * XRC domains, target QPs in them, and sessions that share them. The tests use the mock device, as
 * neither rxe nor siw has XRC.
 */
#include "abi_test.h"
#include "abi_xrc.h"

/* ---- domains */

TEST_F(xrc, open_and_close_xrcd)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_open_xrcd o = { .ctx = s->ctx, .fd = -1 };
	__u32 xrcd[3];
	char *page;

	for (int i = 0; i < 3; i++)
		OK(abi_open_xrcd(s, -1, i, &xrcd[i]));
	EXPECT_EQ(3, count_of("xrcd"));
	EXPECT_EQ(-EBADF, abi_open_xrcd(s, 999, CREATE, &o.xrcd));
	EXPECT_EQ(-EBADF, abi_open_xrcd(s, -2, CREATE, &o.xrcd));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, OPEN_XRCD, o, flags, 4));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, OPEN_XRCD, o, reserved, 1));
	EXPECT_EQ(-ENOENT, ABI_WITH(s->fd, OPEN_XRCD, o, ctx, s->pd));
	/* A result that cannot be written leaves no domain. */
	page = abi_map(4096);
	o.size = sizeof(o);
	memcpy(page, &o, sizeof(o));
	OK(mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, abi_raw(s->fd, RDMA_EP_IOC_OPEN_XRCD, page));
	munmap(page, 4096);
	EXPECT_EQ(3, count_of("xrcd"));
	EXPECT_EQ(0, close_xrcd(s, xrcd[1]));
	EXPECT_EQ(-ENOENT, close_xrcd(s, xrcd[1]));
	EXPECT_EQ(2, count_of("xrcd"));
	abi_close(s);
	EXPECT_EQ(0, count_of("xrcd"));
}

TEST_F(xrc, device_without_xrc_says_so)
{
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_create_qp qp;
	__u32 xrcd, cq;

	abi_close(&self->s);
	abi_close(&self->s2);
	OK(mock_del());
	OK(mock_new("xrc=0"));
	OK(abi_open(&self->s));
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	EXPECT_EQ(-EOPNOTSUPP, abi_open_xrcd(&self->s, -1, 0, &xrcd));
	EXPECT_EQ(-EOPNOTSUPP, abi_open_xrcd(&self->s, self->file, CREATE, &xrcd));
	EXPECT_EQ(-EOPNOTSUPP, new_srq(&self->s, 1, cq, &srq));
	abi_qp_attr(&qp, INI, self->s.pd, cq, 0);
	EXPECT_EQ(-EOPNOTSUPP, ABI(self->s.fd, CREATE_QP, &qp));
	EXPECT_EQ(-ENOENT, new_target(&self->s, 1, &qp));
}

/*
 * Drivers that have XRC, but do not support it for posts of the kernel: they would send other
 * requests.
 */
TEST_F(xrc, driver_without_xrc_posts_refused)
{
	/* Drivers whose modules look devices up by driver_id are left out. */
	static const __u32 others[] = {
		RDMA_DRIVER_HNS, RDMA_DRIVER_OCRDMA, RDMA_DRIVER_CXGB4, RDMA_DRIVER_UNKNOWN,
	};
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct mock_count count;
	char options[32];
	__u32 xrcd, cq;
	int calls;

	abi_close(s);
	abi_close(&self->s2);
	for (size_t d = 0; d < ARRAY_SIZE(others); d++) {
		OK(mock_del());
		snprintf(options, sizeof(options), "driver=%u", others[d]);
		OK(mock_new(options));
		OK(abi_open(s));
		OK(abi_create_cq(s, -1, 16, 0, &cq));
		calls = mock_calls("create_qp");
		abi_qp_attr(&qp, INI, s->pd, cq, 0);
		LOGGED(EXPECT_EQ(-EOPNOTSUPP, ABI(s->fd, CREATE_QP, &qp)), "driver %u", others[d]);
		EXPECT_EQ(calls, mock_calls("create_qp"));
		OK(mock_count(&count));
		EXPECT_EQ(0, count.qp);
		/* Targets can be used. */
		OK(abi_open_xrcd(s, -1, 0, &xrcd));
		EXPECT_EQ(0, new_target(s, xrcd, &qp));
		abi_close(s);
	}
}

/* An inode identifies the domain, by any descriptor; the flags are like those of open(2). */
TEST_F(xrc, sessions_share_xrcd_by_inode)
{
	struct abi *s = &self->s, *s2 = &self->s2;
	char path[64], name[] = "/tmp/abi_xrc.XXXXXX";
	__u32 a, b, c, d;
	int again, other;
	long refusals;

	refusals = abi_accounts("rdma_max");
	EXPECT_LE(0, refusals);
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(s, self->file, 0, &a));
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(s, self->file, EXCL, &a));
	/* EAGAIN is the errno of the rdma cgroup controller, too; these are not counted as its. */
	EXPECT_EQ(refusals, abi_accounts("rdma_max"));
	OK(abi_open_xrcd(s, self->file, CREATE | EXCL, &a));
	EXPECT_EQ(-EINVAL, abi_open_xrcd(s2, self->file, CREATE | EXCL, &b));
	EXPECT_EQ(-EINVAL, abi_open_xrcd(s2, self->file, EXCL, &b));
	OK(abi_open_xrcd(s2, self->file, 0, &b));
	OK(abi_open_xrcd(s2, self->file, CREATE, &c));
	EXPECT_EQ(1, count_of("xrcd"));

	/* Another descriptor, another file, and no file */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->file);
	again = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, again);
	other = mkstemp(name);
	ASSERT_LE(0, other);
	unlink(name);
	OK(abi_open_xrcd(s, again, 0, &d));
	EXPECT_EQ(1, count_of("xrcd"));
	EXPECT_EQ(0, close_xrcd(s, d));
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(s, other, 0, &d));
	OK(abi_open_xrcd(s, other, CREATE, &d));
	EXPECT_EQ(2, count_of("xrcd"));
	EXPECT_EQ(0, close_xrcd(s, d));
	OK(abi_open_xrcd(s, -1, 0, &d));
	EXPECT_EQ(2, count_of("xrcd"));
	EXPECT_EQ(0, close_xrcd(s, d));

	/* The domain outlives its first opener and that descriptor. */
	EXPECT_EQ(0, close_xrcd(s, a));
	close(self->file);
	self->file = again;
	OK(abi_open_xrcd(s, again, 0, &a));
	EXPECT_EQ(1, count_of("xrcd"));
	abi_close(s2);
	EXPECT_EQ(1, count_of("xrcd"));
	EXPECT_EQ(0, close_xrcd(s, a));
	EXPECT_EQ(0, count_of("xrcd"));
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(s, again, 0, &a));
	close(other);
}

/* O_PATH gives no right to the file; any other descriptor works, even that of the session. */
TEST_F(xrc, xrcd_of_any_readable_file)
{
	struct abi *s = &self->s;
	__u32 xrcd;
	int fd;

	fd = open("/tmp", O_PATH | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, abi_open_xrcd(s, fd, CREATE, &xrcd));
	close(fd);
	EXPECT_EQ(0, abi_open_xrcd(s, s->async_fd, CREATE, &xrcd));
	EXPECT_EQ(0, abi_open_xrcd(s, s->fd, CREATE, &xrcd));
	EXPECT_EQ(2, count_of("xrcd"));
	/* The domains do not keep the session alive. */
	abi_close(s);
	EXPECT_EQ(0, count_of("xrcd"));
}

/* A domain keeps its file system mounted until it is closed. */
TEST_F(xrc, xrcd_keeps_mount_busy_no_longer)
{
	struct abi *s = &self->s;
	__u32 xrcd;
	int fd;

	mkdir("/tmp/abi_xrc.mnt", 0700);
	OK(system("mount -t tmpfs none /tmp/abi_xrc.mnt"));
	fd = open("/tmp/abi_xrc.mnt/f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	OK(abi_open_xrcd(s, fd, CREATE, &xrcd));
	close(fd);
	EXPECT_NE(0, system("umount /tmp/abi_xrc.mnt 2>/dev/null"));
	EXPECT_EQ(0, close_xrcd(s, xrcd));
	EXPECT_EQ(0, system("umount /tmp/abi_xrc.mnt"));
}

struct shared {
	int file;
	__u32 qp_num;
};

struct adopter {
	const struct abi *session;
	int file;
	__u32 xrcd;			/* of the session, by the file */
	__u32 qp_num;			/* of another session in that domain */
};

/* A child of another user, which has the file open */
static int other_user(void *arg)
{
	const struct shared *f = arg;
	__u32 xrcd, qp;
	struct abi s;

	CHECK(10, abi_become_nobody() == 0 && abi_open(&s) == 0);
	CHECK(11, abi_open_xrcd(&s, f->file, 0, &xrcd) == -EAGAIN);
	/* The user can have its own domain for the file. */
	CHECK(12, abi_open_xrcd(&s, f->file, CREATE | EXCL, &xrcd) == 0);
	CHECK(13, open_qp(&s, xrcd, f->qp_num, 0, &qp) == -EINVAL);
	return 0;
}

/* A child of another user, which adopts the other session */
static int other_adopter(void *arg)
{
	const struct adopter *a = arg;
	struct abi s = *a->session;
	__u32 xrcd, qp;

	CHECK(10, abi_become_nobody() == 0);
	s.fd = abi_adopt(a->session->fd);
	CHECK(11, s.fd > 0);
	CHECK(12, abi_open_xrcd(&s, a->file, 0, &xrcd) == -EACCES);
	CHECK(13, abi_open_xrcd(&s, a->file, CREATE, &xrcd) == -EACCES);
	CHECK(14, abi_open_xrcd(&s, -1, 0, &xrcd) == 0);
	CHECK(15, open_qp(&s, a->xrcd, a->qp_num, 0, &qp) == -EACCES);
	CHECK(16, open_qp(&s, xrcd, a->qp_num, 0, &qp) == -EINVAL);
	return 0;
}

TEST_F(xrc, xrcd_of_giver_refused)
{
	struct adopter a = { .session = &self->s2, .file = self->file };
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd;

	OK(abi_open_xrcd(&self->s, self->file, CREATE, &xrcd));
	OK(new_target(&self->s, xrcd, &c));
	a.qp_num = c.init.qp_num;
	OK(abi_open_xrcd(&self->s2, self->file, 0, &a.xrcd));
	EXPECT_EQ(0, abi_child(other_adopter, &a));
}

TEST_F(xrc, xrcd_of_other_user_refused)
{
	struct shared f = { .file = self->file };
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd;

	OK(abi_open_xrcd(&self->s, self->file, CREATE, &xrcd));
	OK(new_target(&self->s, xrcd, &c));
	f.qp_num = c.init.qp_num;
	EXPECT_EQ(0, abi_child(other_user, &f));
	EXPECT_EQ(1, count_of("xrcd"));
}

TEST_F(xrc, foreign_handles)
{
	struct abi *s = &self->s, *s2 = &self->s2;
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_create_qp c, c2;
	__u32 xrcd, mine, cq, cq2, qp;

	OK(abi_open_xrcd(s, self->file, CREATE, &xrcd));
	OK(abi_open_xrcd(s2, -1, 0, &mine));
	while (mine <= xrcd)	/* no handle that both have */
		OK(abi_open_xrcd(s2, -1, 0, &mine));
	OK(abi_create_cq(s, -1, 16, 0, &cq));
	OK(abi_create_cq(s2, -1, 16, 0, &cq2));
	OK(new_target(s, xrcd, &c));
	EXPECT_EQ(-ENOENT, close_xrcd(s, mine));
	EXPECT_EQ(-ENOENT, new_srq(s, mine, cq, &srq));
	EXPECT_EQ(-ENOENT, new_target(s, mine, &c2));
	EXPECT_EQ(-ENOENT, open_qp(s, mine, c.init.qp_num, 0, &qp));
	/* Handles of other types are refused, too. */
	EXPECT_EQ(-ENOENT, new_srq(s, s->pd, cq, &srq));
	EXPECT_EQ(-ENOENT, new_srq(s, xrcd, xrcd, &srq));
	EXPECT_EQ(-ENOENT, new_srq(s, xrcd, 0, &srq));
	EXPECT_EQ(-ENOENT, new_target(s, s->pd, &c2));
	EXPECT_EQ(-ENOENT, new_target(s, 0, &c2));
	abi_qp_attr(&c2, RC, xrcd, cq, cq);
	EXPECT_EQ(-ENOENT, ABI(s->fd, CREATE_QP, &c2));
	/* OPEN_QP looks only in the domain. */
	EXPECT_EQ(-EINVAL, open_qp(s2, mine, c.init.qp_num, 0, &qp));
	EXPECT_EQ(-EINVAL, open_qp(s, xrcd, 1, 0, &qp));
	OK(abi_create_qp(s, RC, cq, 0, &c2));
	EXPECT_EQ(-EINVAL, open_qp(s, xrcd, c2.init.qp_num, 0, &qp));
	/* A QP cannot have an XRC SRQ, and a basic SRQ has no domain. */
	OK(new_srq(s, xrcd, cq, &srq));
	abi_qp_attr(&c2, RC, s->pd, cq, cq);
	c2.init.srq = srq.srq;
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c2));
	srq = (struct rdma_ep_cmd_create_srq) { .pd = s->pd, .max_wr = 4 };
	OK(ABI(s->fd, CREATE_SRQ, &srq));
	/* An initiator receives nothing. */
	abi_qp_attr(&c2, INI, s->pd, cq, 0);
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_QP, c2, init.srq, srq.srq));
	EXPECT_EQ(0, ABI(s->fd, CREATE_QP, &c2));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, srq, xrcd, xrcd));
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_SRQ, srq, srq_type, IB_UVERBS_SRQT_TM));
}

/* A file has a domain on each device, and no object uses parts of both devices. */
TEST_F(xrc, one_file_two_devices_two_domains)
{
	struct rdma_ep_cmd_open_device dev = {};
	struct rdma_ep_device_info list[16] = {};
	struct rdma_ep_cmd_query_devices q = { .devices = (uintptr_t)list, .max = 16 };
	struct abi *s = &self->s, s1;
	struct sockaddr_in sin = s->addr;
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd, other, cq, pd1, id;

	OK(abi_put("/sys/kernel/debug/rdma_ep_mock/new", "mock1 epmock0_p"));
	OK(ABI(s->fd, QUERY_DEVICES, &q));
	for (unsigned int i = 0; i < q.num && i < 16; i++) {
		if (!strcmp((char *)list[i].name, "mock1"))
			dev.dev_index = list[i].dev_index;
		EXPECT_EQ(!strncmp((char *)list[i].name, "mock", 4),
			  !!(list[i].flags & RDMA_EP_DEVICE_XRC));
	}
	OK(ABI(s->fd, OPEN_DEVICE, &dev));
	s1 = *s;
	s1.ctx = dev.ctx;
	OK(abi_alloc_pd(&s1, s1.ctx, &pd1));
	OK(abi_create_cq(s, -1, 16, 0, &cq));
	OK(abi_open_xrcd(s, self->file, CREATE | EXCL, &xrcd));
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(&s1, self->file, 0, &other));
	OK(abi_open_xrcd(&s1, self->file, CREATE | EXCL, &other));
	EXPECT_EQ(1, count_of("xrcd"));
	EXPECT_EQ(-EINVAL, new_srq(s, other, cq, &srq));
	s1.pd = pd1;
	EXPECT_EQ(-EINVAL, new_srq(&s1, other, cq, &srq));
	EXPECT_EQ(-EINVAL, new_srq(&s1, xrcd, cq, &srq));
	OK(new_srq(s, xrcd, cq, &srq));
	/* An id has targets on its own device only. */
	OK(abi_create_id(s, abi_channel(s), PS_IB, TGT, 1, &id));
	OK(abi_bind(s, id, &sin));
	abi_qp_attr(&c, TGT, other, 0, 0);
	c.id = id;
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c));
	abi_qp_attr(&c, TGT, xrcd, 0, 0);
	c.id = id;
	EXPECT_EQ(0, ABI(s->fd, CREATE_QP, &c));
	abi_close(s);
	OK(abi_put("/sys/kernel/debug/rdma_ep_mock/del", "mock1"));
}

TEST_F(xrc, xrcd_in_use_busy)
{
	struct abi *s = &self->s, in_ctx;
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd, cq, qp;
	int fd;

	in_ctx = *s;
	OK(abi_ctx(s, &in_ctx.ctx, &fd));
	OK(abi_alloc_pd(s, in_ctx.ctx, &in_ctx.pd));
	OK(abi_create_cq(&in_ctx, -1, 16, 0, &cq));
	OK(abi_open_xrcd(&in_ctx, self->file, CREATE, &xrcd));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, CTX, in_ctx.ctx));
	OK(new_srq(&in_ctx, xrcd, cq, &srq));
	EXPECT_NE(0, srq.srq_num);
	EXPECT_EQ(mock_read_key("last", "srq"), srq.srq_num);
	EXPECT_EQ(-EBUSY, close_xrcd(s, xrcd));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, CQ, cq));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(s, PD, in_ctx.pd));
	OK(new_target(s, xrcd, &c));
	OK(open_qp(s, xrcd, c.init.qp_num, 0, &qp));
	EXPECT_EQ(0, ABI_DESTROY(s, SRQ, srq.srq));
	EXPECT_EQ(-EBUSY, close_xrcd(s, xrcd));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(-EBUSY, close_xrcd(s, xrcd));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, qp));
	EXPECT_EQ(0, count_of("qp"));
	EXPECT_EQ(0, close_xrcd(s, xrcd));
	EXPECT_EQ(0, count_of("xrcd"));
	/* The end of a context destroys its objects, but not those of another session. */
	OK(abi_open_xrcd(&in_ctx, self->file, CREATE, &xrcd));
	OK(new_srq(&in_ctx, xrcd, cq, &srq));
	OK(new_target(s, xrcd, &c));
	OK(abi_open_xrcd(&self->s2, self->file, 0, &xrcd));
	OK(open_qp(&self->s2, xrcd, c.init.qp_num, 0, &qp));
	EXPECT_EQ(0, abi_destroy_flags(s, RDMA_EP_OBJ_CTX, in_ctx.ctx, RDMA_EP_DESTROY_CONTENTS));
	EXPECT_EQ(0, count_of("srq"));
	EXPECT_EQ(1, count_of("qp"));
	EXPECT_EQ(1, count_of("xrcd"));
	EXPECT_EQ(QPS_RESET, abi_state_of(&self->s2, qp));
	abi_close(&self->s2);
	EXPECT_EQ(0, count_of("qp") + count_of("xrcd"));
}

/* ---- QPs */

TEST_F(xrc, shared_qp_openers_independent)
{
	struct abi *s = &self->s, *s2 = &self->s2;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd, xrcd2, qp, num;

	OK(abi_open_xrcd(s, self->file, CREATE, &xrcd));
	OK(abi_open_xrcd(s2, self->file, 0, &xrcd2));
	abi_qp_attr(&c, TGT, xrcd, 0, 0);
	c.init.uid = 11;
	OK(ABI(s->fd, CREATE_QP, &c));
	EXPECT_EQ(xrcd, c.init.pd);
	EXPECT_EQ(0, c.init.max_send_wr + c.init.max_recv_wr +
		  c.init.max_send_sge + c.init.max_recv_sge + c.init.max_inline_data);
	EXPECT_EQ(QPS_RESET, c.init.state);
	EXPECT_EQ(-1, c.init.send_cq.channel_fd);
	EXPECT_EQ(-1, c.init.recv_cq.channel_fd);
	num = c.init.qp_num;
	OK(abi_qp_init(s, c.init.qp, TGT, 0));
	OK(open_qp(s2, xrcd2, num, 22, &qp));
	EXPECT_EQ(1, count_of("qp"));
	EXPECT_EQ(QPS_INIT, abi_state_of(s2, qp));
	/* Each opener can change it, and gets its events. */
	OK(abi_qp_rts(s2, qp, TGT, 77));
	EXPECT_EQ(QPS_RTS, abi_state_of(s, c.init.qp));
	OK(mock_write("event", "%u qp %u", EVENT_QP_FATAL, num));
	EXPECT_ASYNC(s->async_fd, EVENT_QP_FATAL, 11);
	EXPECT_ASYNC(s2->async_fd, EVENT_QP_FATAL, 22);
	/* The QP exists until the last opener destroys it. */
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(1, count_of("qp"));
	EXPECT_EQ(QPS_RTS, abi_state_of(s2, qp));
	OK(mock_write("event", "%u qp %u", EVENT_QP_FATAL, num));
	EXPECT_ASYNC(s2->async_fd, EVENT_QP_FATAL, 22);
	EXPECT_TRUE(abi_quiet(s->async_fd));
	OK(open_qp(s, xrcd, num, 33, &c.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(s2, QP, qp));
	EXPECT_EQ(1, count_of("qp"));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, count_of("qp"));
	EXPECT_EQ(-EINVAL, open_qp(s, xrcd, num, 33, &qp));
}

/* The port that one opener has set is that of the QP. */
TEST_F(xrc, shared_qp_moved_by_two_openers)
{
	struct abi *s = &self->s, *s2 = &self->s2;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd, xrcd2, qp;

	OK(abi_open_xrcd(s, self->file, CREATE, &xrcd));
	OK(abi_open_xrcd(s2, self->file, 0, &xrcd2));
	OK(new_target(s, xrcd, &c));
	OK(open_qp(s2, xrcd2, c.init.qp_num, 0, &qp));
	OK(abi_qp_init(s, c.init.qp, TGT, 0));
	EXPECT_EQ(0, abi_qp_rts(s2, qp, TGT, 77));
	EXPECT_EQ(QPS_RTS, abi_state_of(s, c.init.qp));
}

struct hammer {
	const struct abi *s;
	__u32 xrcd, num;
	int bad;
};

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	__u32 qp;
	int ret;

	for (int i = 0; i < 300; i++) {
		ret = open_qp(h->s, h->xrcd, h->num, 0, &qp) ?:
		      abi_qp_state(h->s, qp, QPS_RESET) ?:
		      abi_qp_init(h->s, qp, TGT, 0);
		/* The other thread may have moved the QP. */
		if (ret && ret != -EINVAL)
			h->bad++;
		ret = abi_qp_rts(h->s, qp, TGT, 1 + i % 2);
		if (ret && ret != -EINVAL)
			h->bad++;
		h->bad += !!ABI_DESTROY(h->s, QP, qp);
	}
	return NULL;
}

/* Two openers modify one QP at the same time, which the core leaves to its callers. */
TEST_F(xrc, shared_qp_modified_at_once)
{
	struct hammer h[2] = { { .s = &self->s }, { .s = &self->s2 } };
	struct rdma_ep_cmd_create_qp c;
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		OK(abi_open_xrcd(h[i].s, self->file, CREATE, &h[i].xrcd));
	OK(new_target(&self->s, h[0].xrcd, &c));
	for (int i = 0; i < 2; i++) {
		h[i].num = c.init.qp_num;
		OK(pthread_create(&thread[i], NULL, hammer, &h[i]));
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, h[i].bad);
	}
	EXPECT_EQ(0, ABI_DESTROY(&self->s, QP, c.init.qp));
	EXPECT_EQ(0, count_of("qp"));
}

TEST_HARNESS_MAIN
