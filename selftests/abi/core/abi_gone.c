// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is unmapped during a post, files that are closed during commands, AHs that are
 * destroyed during posts, and operations that the files do not have.
 */
#include "abi_test.h"
#include "abi_cmds.h"

#define LEN	65536

FIXTURE(gone) {
	struct abi s;
	struct abi_pair p;
	struct abi_wrs w;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE_SETUP(gone)
{
	OK(abi_idle());
	OK(abi_open(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = abi_map(LEN);
	memset(self->mem, 0x5a, LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, AC_ALL, &self->mr));
}

TEARDOWN_CLOSES(gone)

static int read_into(struct _test_data_gone *self, __u64 addr, __u32 len, __u32 lkey)
{
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->w, WR_RDMA_READ, SEND_SIGNALED, 1);
	abi_remote(wr, &self->mr, 0);
	abi_sge(&self->w, addr, len, lkey);
	return ABI_POST(&self->s, SEND, self->p.end[0].qp.qp, &self->w, NULL);
}

/*
 * A region outlives its mapping: data arrives in the registered pages, and not in a new mapping at
 * the address.
 */
TEST_F(gone, mr_outlives_its_mapping)
{
	enum { UNMAP, REPLACE, PROTECT, TRUNCATE, KINDS, ROUNDS = 4 };
	struct rdma_ep_cmd_reg_mr mr;
	int kind, fd;
	__u8 *mem;

	for (int round = 0; round < KINDS * ROUNDS; round++) {
		kind = round % KINDS;
		fd = memfd_create("gone", MFD_CLOEXEC);
		ASSERT_LT(0, fd);
		OK(ftruncate(fd, LEN));
		mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, kind == TRUNCATE ? MAP_SHARED :
			   MAP_PRIVATE | MAP_ANONYMOUS, kind == TRUNCATE ? fd : -1, 0);
		OK(abi_reg_mr(&self->s, self->s.pd, mem, LEN, AC_LOCAL_WRITE, &mr));
		OK(read_into(self, mr.iova, LEN, mr.lkey));
		switch (kind) {
		case UNMAP:
			munmap(mem, LEN);
			break;
		case REPLACE:
			mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		case PROTECT:
			mprotect(mem, LEN, PROT_NONE);
			break;
		case TRUNCATE:
			OK(ftruncate(fd, 0));
			break;
		}
		EXPECT_WC(&self->s, self->p.end[0].cq[0], 1, WC_SUCCESS);
		/* Once more, after the change */
		OK(read_into(self, mr.iova, LEN, mr.lkey));
		EXPECT_WC(&self->s, self->p.end[0].cq[0], 1, WC_SUCCESS);
		if (kind == REPLACE) {
			for (__u32 i = 0; i < LEN; i++)
				ASSERT_EQ(0, mem[i]);
		}
		EXPECT_EQ(0, ABI_DESTROY(&self->s, MR, mr.mr));
		if (kind != UNMAP)
			munmap(mem, LEN);
		close(fd);
	}
}

struct flicker {
	__u8 *page;
	volatile bool stop;
};

static void *flicker_thread(void *arg)
{
	struct flicker *f = arg;

	while (!f->stop) {
		mprotect(f->page, 4096, PROT_NONE);
		mprotect(f->page, 4096, PROT_READ);
		mprotect(f->page, 4096, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* The list and the structure become accessible and inaccessible during posts. */
TEST_F(gone, list_unmapped_while_posted)
{
	enum { ROUNDS = 400 };
	struct rdma_ep_cmd_post *post, good = {
		.size = sizeof(good), .num = 1, .handle = self->p.end[0].qp.qp,
	};
	struct flicker f = {};
	struct rdma_ep_wc wc[4];
	unsigned int taken = 0, faults = 0;
	long end = abi_now_ms() + ABI_WAIT_MS;
	pthread_t thread;
	int ret;

	f.page = abi_map(4096);
	abi_wrs_send(&self->w, WR_RDMA_WRITE, SEND_SIGNALED, 3);
	good.wrs_len = self->w.len;
	memcpy(f.page + 1024, self->w.buf, self->w.len);
	good.wrs = (uintptr_t)f.page + 1024;
	memcpy(f.page, &good, sizeof(good));
	OK(pthread_create(&thread, NULL, flicker_thread, &f));
	/* Until posts have found the page both accessible and inaccessible. */
	for (int i = 0; i < ROUNDS || ((!taken || !faults) && !abi_one_cpu() &&
				   abi_now_ms() < end); i++) {
		/* Odd rounds: the structure is on the page, too. */
		post = i & 1 ? (void *)f.page : &good;
		ret = abi_raw(self->s.fd, RDMA_EP_IOC_POST_SEND, post);
		/* The queue may be full for a moment. */
		if (ret == -EFAULT)
			faults++;
		else if (ret != -ENOMEM)
			taken++;
		LOGGED(ASSERT_TRUE(!ret || ret == -EFAULT || ret == -ENOMEM), "%d", ret);
		while (abi_poll(&self->s, self->p.end[0].cq[0], wc, 4) > 0) {
			EXPECT_EQ(WC_SUCCESS, wc[0].status);
			EXPECT_EQ(3, wc[0].wr_id);
		}
	}
	f.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, taken + faults);
	if (!abi_one_cpu()) {
		EXPECT_LT(0, taken);
		EXPECT_LT(0, faults);
	}
	TH_LOG("%u taken, %u faults", taken, faults);
	/* (The last of these requests may still fill the queue.) */
	while ((ret = read_into(self, self->mr.iova, 64, self->mr.lkey)) == -ENOMEM)
		ASSERT_EQ(1, abi_wait(&self->s, self->p.end[0].cq[0], wc, 1));
	ASSERT_EQ(0, ret);
	do {
		ASSERT_EQ(1, abi_wait(&self->s, self->p.end[0].cq[0], wc, 1));
	} while (wc[0].wr_id == 3);
	EXPECT_EQ(1, wc[0].wr_id);
}

/* Threads call commands on a file that another thread closes and opens again. */
struct closing {
	int fd;
	struct abi s;
	volatile bool stop;
	volatile unsigned int good, closed;
};

static void *closing_thread(void *arg)
{
	struct closing *c = arg;
	struct rdma_ep_cmd_create_id id = {
		.size = sizeof(id), .flags = RDMA_EP_ID_PRIVATE_CHANNEL, .ps = RDMA_PS_TCP,
		.qp_type = QPT_RC,
	};
	struct rdma_ep_cmd_create_qp qp;
	struct abi s = c->s;
	__u32 pd, cq, ctx;
	int ret, fd;

	s.fd = c->fd;
	while (!c->stop) {
		ret = abi_ctx(&s, &ctx, &fd);
		if (!ret) {
			s.ctx = ctx;
			close(fd);
		}
		ret = abi_alloc_pd(&s, s.ctx, &pd) ?:
		      abi_create_cq(&s, -1, 8, 0, &cq);
		abi_qp_attr(&qp, QPT_RC, pd, cq, cq);
		qp.size = sizeof(qp);
		if (!ret)
			ret = abi_raw(s.fd, RDMA_EP_IOC_CREATE_QP, &qp);
		if (!abi_raw(s.fd, RDMA_EP_IOC_CREATE_ID, &id))
			close(id.channel_fd);
		if (!ret)
			c->good++;
		else if (ret == -EBADF)
			c->closed++;
		for (__u32 h = 1; h < 12; h++)
			abi_destroy(&s, 1 + h % ABI_OBJ_LAST, h);
	}
	return NULL;
}

TEST_F_TIMEOUT(gone, files_closed_under_commands, 120)
{
	enum { THREADS = 3, ROUNDS = 40 };
	pthread_t thread[THREADS];
	struct closing c = {};
	int fd;

	abi_close(&self->s);
	OK(abi_idle());
	OK(abi_open(&c.s));
	c.fd = dup(c.s.fd);
	close(c.s.async_fd);
	for (int i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, closing_thread, &c));
	for (int i = 0; i < ROUNDS; i++) {
		usleep(10000);
		close(c.fd);
		usleep(1000 * (i % 3));
		fd = FD(abi_open_node());
		if (fd != c.fd) {
			dup2(fd, c.fd);
			close(fd);
		}
	}
	c.stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	TH_LOG("%u rounds with a session, %u without", c.good, c.closed);
	EXPECT_LT(0, c.good);
	EXPECT_LT(0, c.closed);
	close(c.fd);
	close(c.s.fd);
	EXPECT_EQ(0, abi_idle());
}

/* Channels cannot be mapped or written, and sessions cannot be read or written. */
TEST_F(gone, only_rings_can_be_mapped)
{
	int fds[3] = { self->p.end[0].channel, abi_comp_channel(&self->s), self->s.async_fd };
	char buf[256] = {};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[i], 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fds[i], 0));
		EXPECT_ERRNO(EBADF, write(fds[i], buf, sizeof(buf)));
	}
	EXPECT_ERRNO(EINVAL, write(self->s.fd, buf, sizeof(buf)));
	EXPECT_ERRNO(EINVAL, read(self->s.fd, buf, sizeof(buf)));
	EXPECT_EQ(-1, lseek(self->s.fd, 0, SEEK_SET));
}

/* ---- AHs that are destroyed during posts */

struct poster {
	const struct abi *s;
	__u32 qp, ah;
	volatile bool stop;
};

static void *post_to_ah(void *arg)
{
	struct poster *p = arg;
	struct rdma_ep_send_wr *wr;
	struct abi_wrs w;

	abi_wrs_init(&w);
	for (int i = 0; i < 16; i++) {
		wr = abi_send_wr(&w, WR_SEND, 0, i);
		wr->ah = p->ah;
	}
	while (!p->stop && !ABI_POST(p->s, SEND, p->qp, &w, NULL))
		;
	while (!p->stop && ABI_POST(p->s, SEND, p->qp, &w, NULL) == -ENOMEM)
		;
	return NULL;
}

/*
 * The AH needs its PD until the post has ended. (KASAN reports a use after free.
 * abi_mock_posts.c tests the same with a slow driver.)
 */
TEST_F(gone, ah_destroyed_while_posted)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct poster p = { .s = s };
	pthread_t thread;
	int ret, busy = 0;
	__u32 pd, cq;

	SKIP_IF(s->iwarp, "iWARP has no datagrams");
	for (int i = 0; i < 100; i++) {
		OK(abi_alloc_pd(s, s->ctx, &pd));
		OK(abi_create_cq(s, -1, 64, 0, &cq));
		OK(abi_create_ah(s, pd, &p.ah));
		abi_qp_attr(&qp, QPT_UD, pd, cq, cq);
		OK(ABI(s->fd, CREATE_QP, &qp));
		OK(abi_qp_init(s, qp.init.qp, QPT_UD, 1));
		OK(abi_qp_rts(s, qp.init.qp, QPT_UD, 0));
		p.qp = qp.init.qp;
		p.stop = false;
		OK(pthread_create(&thread, NULL, post_to_ah, &p));
		usleep(i * 100 % 3000);
		EXPECT_EQ(0, ABI_DESTROY(s, QP, p.qp));
		EXPECT_EQ(0, ABI_DESTROY(s, AH, p.ah));
		ret = ABI_DESTROY(s, PD, pd);
		EXPECT_TRUE(!ret || ret == -EBUSY);
		p.stop = true;
		pthread_join(thread, NULL);
		if (ret)
			EXPECT_EQ(0, ABI_DESTROY(s, PD, pd));
		busy += !!ret;
		EXPECT_EQ(0, ABI_DESTROY(s, CQ, cq));
	}
	TH_LOG("%d times the PD was still in use", busy);
}

TEST_HARNESS_MAIN
