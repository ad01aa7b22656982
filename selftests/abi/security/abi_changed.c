// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread changes a request while another one posts it. A post uses only the copy that it
 * checked: it fails, or the good request is carried out. userfaultfd(2) stops a post that has read
 * the request but not the end of the list; if the post read the request again, it would differ.
 */
#include <linux/userfaultfd.h>

#include "abi_test.h"

#define LEN	8192
#define PAGE	4096
#define ROUNDS	100
#define WR_LOCAL_INV	7		/* a kernel opcode, which invalidates a key */

FIXTURE(changed) {
	struct abi s;
	struct abi_pair p;
	__u32 qp;			/* client */
	__u32 peer;			/* server */
	char *buf;			/* LEN bytes, registered */
	struct rdma_ep_cmd_reg_mr mr;
	struct abi_wrs send, recv;
	unsigned int refused, taken;	/* posts */
};

FIXTURE_SETUP(changed)
{
	OK(abi_open(&self->s));
	self->p.max_wr = 32;
	OK(abi_pair_open(&self->s, &self->p));
	self->qp = self->p.end[0].qp.qp;
	self->peer = self->p.end[1].qp.qp;
	self->buf = abi_map(LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->buf, LEN, AC_ALL, &self->mr));
	memcpy(self->buf, "sixteen bytes...", 16);
}

TEARDOWN_CLOSES(changed)

/* A change of one byte in a list of one request: any copy has the old or the new value. */
struct change {
	const char *name;
	size_t at;
	__u32 difference;
};

#define WR(_type, _field)	offsetof(struct rdma_ep_##_type##_wr, _field)
#define SGE(_type, _field) \
	(sizeof(struct rdma_ep_##_type##_wr) + offsetof(struct rdma_ep_sge, _field))

static const struct change send_changes[] = {
	{ "lkey", SGE(send, lkey), 0x80000000 },
	{ "length", SGE(send, length), 0x80000000 },
	{ "address", SGE(send, addr) + 4, 0x80000000 },
	{ "num_sge", WR(send, num_sge), 0x80000000 },
	{ "opcode", WR(send, opcode), WR_SEND ^ WR_LOCAL_INV },
	/* With the flag, a driver copies the data from a kernel address. */
	{ "inline flag", WR(send, send_flags), SEND_INLINE },
	{ "unknown flag", WR(send, send_flags), 0x80000000 },
	{ "reserved", WR(send, reserved), 0x80000000 },
};

/* More than any QP's max_inline_data; the list holds all of the bytes. */
static const struct change inline_change = { "inline_len", WR(send, inline_len), 0x1000 };

static const struct change recv_changes[] = {
	{ "lkey", SGE(recv, lkey), 0x80000000 },
	{ "length", SGE(recv, length), 0x80000000 },
	{ "address", SGE(recv, addr) + 4, 0x80000000 },
	{ "num_sge", WR(recv, num_sge), 0x80000000 },
	{ "reserved", WR(recv, reserved), 0x80000000 },
};

struct flip {
	volatile __u32 *word;
	__u32 difference;
	volatile bool stop;
	pthread_t thread;
};

static void *flip_thread(void *arg)
{
	struct flip *f = arg;
	__u32 good = *f->word, bad = good ^ f->difference;

	while (!f->stop) {
		*f->word = bad;
		*f->word = good;
	}
	return NULL;
}

static int flip_begin(struct flip *f, struct abi_wrs *w, const struct change *c)
{
	f->word = (__u32 *)((char *)w->buf + c->at);
	f->difference = c->difference;
	f->stop = false;
	return -pthread_create(&f->thread, NULL, flip_thread, f);
}

static void flip_end(struct flip *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
}

/* Go on until posts have read both values, or the time is over. */
static bool go_on(const struct _test_data_changed *self, int round, long end)
{
	return round < ROUNDS || ((!self->refused || !self->taken) && abi_now_ms() < end);
}

/* Returns 0 once the message has been sent and has arrived. */
static int one_message(struct _test_data_changed *self)
{
	const struct abi *s = &self->s;
	struct rdma_ep_wc wc[2];
	char *place = self->buf + 4096;

	if (abi_wait(s, self->p.end[0].cq[0], &wc[0], 1) != 1 ||
	    abi_wait(s, self->p.end[1].cq[1], &wc[1], 1) != 1)
		return -ETIMEDOUT;
	if (wc[0].status || wc[1].status) {
		fprintf(stderr, "# status %u, %u\n", wc[0].status, wc[1].status);
		return -EIO;
	}
	if (wc[1].byte_len != 16 || memcmp(place, "sixteen bytes...", 16) || place[16])
		return -EBADMSG;
	memset(place, 0, 16);
	return 0;
}

static void good_recv(struct _test_data_changed *self)
{
	abi_wrs_recv(&self->recv, 4);
	abi_mr_sge(&self->recv, &self->mr, 4096, 64);
}

static void good_send(struct _test_data_changed *self)
{
	abi_wrs_send(&self->send, WR_SEND, SEND_SIGNALED, 5);
	abi_mr_sge(&self->send, &self->mr, 0, 16);
}

static void good_inline(struct _test_data_changed *self)
{
	char data[16 + 0x1000] = "sixteen bytes...";
	struct rdma_ep_send_wr *wr;

	wr = abi_wrs_send(&self->send, WR_SEND, SEND_SIGNALED, 5);
	abi_inline(&self->send, wr, data, sizeof(data));
	wr->inline_len = 16;
}

static int post_recv(struct _test_data_changed *self)
{
	return ABI_POST(&self->s, RECV, self->peer, &self->recv, NULL);
}

static int post_send(struct _test_data_changed *self)
{
	return ABI_POST(&self->s, SEND, self->qp, &self->send, NULL);
}

/* Posts the changing request; its peer's receive is posted before it, its peer's send after it. */
static void race(struct __test_metadata *_metadata, struct _test_data_changed *self,
		 const struct change *c, bool send)
{
	struct flip f;
	long end = abi_now_ms() + ABI_WAIT_MS;
	int ret;

	self->refused = 0;
	self->taken = 0;
	OK(flip_begin(&f, send ? &self->send : &self->recv, c));
	for (int round = 0; go_on(self, round, end); round++) {
		ret = send ? post_send(self) : post_recv(self);
		if (ret) {
			LOGGED(EXPECT_EQ(-EINVAL, ret), "%s", c->name);
			self->refused++;
			continue;
		}
		self->taken++;
		if (!send)
			OK(post_send(self));
		LOGGED(ASSERT_EQ(0, one_message(self)), "%s, round %d", c->name, round);
		if (send)
			OK(post_recv(self));
	}
	flip_end(&f);
	TH_LOG("%s: %u refused, %u taken", c->name, self->refused, self->taken);
	EXPECT_LT(0, self->refused);
	EXPECT_LT(0, self->taken);
}

TEST_F_TIMEOUT(changed, send_changed_while_posted, 120)
{
	SKIP_IF(abi_one_cpu(), "one CPU: nothing changes meanwhile");
	good_recv(self);
	OK(post_recv(self));
	good_send(self);
	for (size_t i = 0; i < ARRAY_SIZE(send_changes); i++)
		race(_metadata, self, &send_changes[i], true);
}

TEST_F_TIMEOUT(changed, inline_data_changed_while_posted, 120)
{
	SKIP_IF(abi_one_cpu(), "one CPU: nothing changes meanwhile");
	good_recv(self);
	OK(post_recv(self));
	good_inline(self);
	race(_metadata, self, &inline_change, true);
}

TEST_F_TIMEOUT(changed, receive_changed_while_posted, 120)
{
	SKIP_IF(abi_one_cpu(), "one CPU: nothing changes meanwhile");
	good_send(self);
	good_recv(self);
	for (size_t i = 0; i < ARRAY_SIZE(recv_changes); i++)
		race(_metadata, self, &recv_changes[i], false);
}

/* ---- changes right after the request has been read */

/* Two pages that end with a list, and one on which a reader waits */
struct midway {
	int fd;				/* of userfaultfd(2) */
	char *mem;
	volatile __u32 *word;
	__u32 difference;
	bool met;
	pthread_t thread;
};

static int midway_open(struct midway *m)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	m->mem = abi_map(3 * PAGE);
	if (m->mem == MAP_FAILED)
		return -ENOMEM;
	reg.range.start = (uintptr_t)m->mem + 2 * PAGE;
	reg.range.len = PAGE;
	m->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (m->fd < 0 || ioctl(m->fd, UFFDIO_API, &api) || ioctl(m->fd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

static void *midway_thread(void *arg)
{
	struct midway *m = arg;
	struct uffdio_zeropage zero = { .range = { (uintptr_t)m->mem + 2 * PAGE, PAGE } };
	struct pollfd p = { .fd = m->fd, .events = POLLIN };
	struct uffd_msg msg;

	if (poll(&p, 1, ABI_WAIT_MS) == 1 && read(m->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		*m->word ^= m->difference;
		m->met = true;
	}
	ioctl(m->fd, UFFDIO_ZEROPAGE, &zero);
	return NULL;
}

/* Posts one request, which changes after it has been read. @bad: from bad to good */
static int midway_post(struct _test_data_changed *self, struct midway *m,
		       bool send, const struct change *c, bool bad)
{
	const struct abi_wrs *w = send ? &self->send : &self->recv;
	char *list = m->mem + 2 * PAGE - w->len;
	struct rdma_ep_cmd_post p = {
		.wrs = (uintptr_t)list, .wrs_len = w->len + 8,
		.handle = send ? self->qp : self->peer, .num = 1,
	};
	int ret;

	memcpy(list, w->buf, w->len);
	m->word = (__u32 *)(list + c->at);
	m->difference = c->difference;
	if (bad)
		*m->word ^= c->difference;
	m->met = false;
	if (madvise(m->mem + 2 * PAGE, PAGE, MADV_DONTNEED) ||
	    pthread_create(&m->thread, NULL, midway_thread, m))
		return -EAGAIN;
	ret = send ? ABI(self->s.fd, POST_SEND, &p) : ABI(self->s.fd, POST_RECV, &p);
	pthread_join(m->thread, NULL);
	return m->met ? ret : -ESTALE;
}

static void midway(struct __test_metadata *_metadata,
		   struct _test_data_changed *self, struct midway *m, bool send,
		   const struct change *c)
{
	LOGGED(EXPECT_EQ(-EINVAL, midway_post(self, m, send, c, true)),
	       "%s of a %s that was bad", c->name, send ? "send" : "receive");
	if (send)
		OK(post_recv(self));
	LOGGED(ASSERT_EQ(0, midway_post(self, m, send, c, false)),
	       "%s of a %s that was good", c->name, send ? "send" : "receive");
	if (!send)
		OK(post_send(self));
	LOGGED(ASSERT_EQ(0, one_message(self)),
	       "%s of a %s that was good", c->name, send ? "send" : "receive");
}

/* A post uses the values that it has read before the change. */
TEST_F_TIMEOUT(changed, list_changed_after_read, 120)
{
	struct midway m;

	OK(midway_open(&m));
	good_recv(self);
	good_send(self);
	for (size_t i = 0; i < ARRAY_SIZE(recv_changes); i++)
		midway(_metadata, self, &m, false, &recv_changes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(send_changes); i++)
		midway(_metadata, self, &m, true, &send_changes[i]);
	good_inline(self);
	midway(_metadata, self, &m, true, &inline_change);
	close(m.fd);
}

TEST_HARNESS_MAIN
