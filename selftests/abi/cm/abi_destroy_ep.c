// SPDX-License-Identifier: GPL-2.0-only
/*
 * DESTROY_EP destroys a whole endpoint with one command.
 *
 * The tests would catch: a closed descriptor that is not the endpoint's, or whose events are not
 * acknowledged yet; a failed call that destroys half an endpoint; an endpoint destroyed twice;
 * an object destroyed while it is in use; files and objects that are left.
 */
#include "abi_test.h"

FIXTURE(destroy_ep) {
	struct abi s;
	struct rdma_ep_cmd_destroy_ep d;	/* all parts of an endpoint */
};

static int make_ep(const struct abi *s, struct rdma_ep_cmd_destroy_ep *d)
{
	struct rdma_ep_cmd_create_ep e;
	int ret;

	abi_own_ep(s, 4721, &e);
	ret = ABI(s->fd, CREATE_EP, &e);
	abi_ep_parts(&e, d);
	return ret;
}

FIXTURE_SETUP(destroy_ep)
{
	OK(abi_open(&self->s));
	OK(make_ep(&self->s, &self->d));
}

TEARDOWN_CLOSES(destroy_ep)

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Has DESTROY_EP cleared all handles and descriptors? */
static bool all_gone(const struct rdma_ep_cmd_destroy_ep *d)
{
	return !d->id && !d->qp && !d->srq && !d->recv_cq.cq &&
	       !d->send_cq.cq && d->channel_fd == -1 &&
	       d->recv_cq.channel_fd == -1 && d->send_cq.channel_fd == -1;
}

/* Can all parts still be used? */
static bool all_there(const struct abi *s, const struct rdma_ep_cmd_destroy_ep *d)
{
	return abi_state_of(s, d->qp) >= 0 && !abi_notify_cq(s, d->recv_cq.cq, 0) &&
	       !abi_notify_cq(s, d->send_cq.cq, 0) && abi_events_reported(s, d->id) >= 0 &&
	       is_open(d->channel_fd) && is_open(d->recv_cq.channel_fd) &&
	       is_open(d->send_cq.channel_fd);
}

TEST_F(destroy_ep, destroys_all_parts)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_destroy_ep was = self->d;
	struct abi_objects before;
	int fds = abi_count_fds();

	OK(abi_objects(&before));
	ASSERT_TRUE(all_there(s, &was));
	OK(ABI(s->fd, DESTROY_EP, &self->d));
	EXPECT_TRUE(all_gone(&self->d));
	EXPECT_EQ(0, self->d.events);
	EXPECT_EQ(0, self->d.qp_events);
	EXPECT_EQ(fds - 3, abi_count_fds());
	EXPECT_EQ(-ENOENT, ABI_DESTROY(s, ID, was.id));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(s, QP, was.qp));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(s, CQ, was.recv_cq.cq));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(s, CQ, was.send_cq.cq));
	EXPECT_EQ(-ENOENT, ABI(s->fd, DESTROY_EP, &was));
	before.cm_id--;
	before.qp--;
	before.cq -= 2;
	EXPECT_EQ(0, abi_objects_wait(&before));
}

/* All parts but the id are optional. */
TEST_F(destroy_ep, id_alone_destroyed)
{
	struct rdma_ep_cmd_destroy_ep d = {
		.id = self->d.id, .channel_fd = -1, .recv_cq.channel_fd = -1,
		.send_cq.channel_fd = -1,
	};
	struct abi *s = &self->s;

	EXPECT_EQ(0, ABI(s->fd, DESTROY_EP, &d));
	EXPECT_TRUE(all_gone(&d));
	EXPECT_TRUE(is_open(self->d.channel_fd));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, self->d.qp));
	EXPECT_EQ(-ENOENT, ABI(s->fd, DESTROY_EP, &self->d));
	EXPECT_TRUE(is_open(self->d.recv_cq.channel_fd));
}

#define EXPECT_REFUSED(_errno, _member, _value) \
	EXPECT_EQ(_errno, ABI_WITH(s->fd, DESTROY_EP, self->d, _member, _value))

/* A descriptor of another kind, session or part refuses the call. */
TEST_F(destroy_ep, wrong_fd_destroys_nothing)
{
	struct abi *s = &self->s, other;
	struct rdma_ep_cmd_destroy_ep theirs;

	OK(abi_open(&other));
	OK(make_ep(&other, &theirs));

	const int fds[] = {
		-2, 1 << 20, s->fd, s->async_fd, open("/dev/null", O_RDONLY), abi_channel(s),
		abi_comp_channel(s), theirs.channel_fd, theirs.recv_cq.channel_fd,
	};

	for (int i = 0; i < 9; i++) {
		EXPECT_REFUSED(-EBADF, channel_fd, fds[i]);
		EXPECT_REFUSED(-EBADF, recv_cq.channel_fd, fds[i]);
		EXPECT_REFUSED(-EBADF, send_cq.channel_fd, fds[i]);
	}
	/* Descriptors of other parts of the endpoint */
	EXPECT_REFUSED(-EBADF, send_cq.channel_fd, self->d.recv_cq.channel_fd);
	EXPECT_REFUSED(-EBADF, channel_fd, self->d.recv_cq.channel_fd);
	/* A descriptor without its CQ */
	EXPECT_REFUSED(-EBADF, recv_cq.cq, 0);
	for (int i = 2; i < 9; i++)
		EXPECT_TRUE(is_open(fds[i]));
	EXPECT_TRUE(all_there(s, &self->d));
	EXPECT_TRUE(all_there(&other, &theirs));
	EXPECT_EQ(0, ABI(s->fd, DESTROY_EP, &self->d));
	abi_close(&other);
}

/* So does a handle that does not exist, or is another session's. */
TEST_F(destroy_ep, wrong_handle_destroys_nothing)
{
	struct abi *s = &self->s, other;
	struct rdma_ep_cmd_destroy_ep theirs;
	__u32 pd;

	OK(abi_open(&other));
	for (__u32 i = 0; i < 20; i++)
		OK(abi_alloc_pd(&other, other.ctx, &pd));
	OK(make_ep(&other, &theirs));

	const __u32 bad[] = { 0x7fffffff, theirs.qp };

	for (__u32 i = 0; i < 2; i++) {
		EXPECT_REFUSED(-ENOENT, id, bad[i]);
		EXPECT_REFUSED(-ENOENT, qp, bad[i]);
		EXPECT_REFUSED(-ENOENT, srq, bad[i]);
		EXPECT_REFUSED(-ENOENT, send_cq.cq, bad[i]);
	}
	EXPECT_REFUSED(-ENOENT, id, 0);
	EXPECT_TRUE(all_there(s, &self->d));
	EXPECT_TRUE(all_there(&other, &theirs));
	abi_close(&other);
}

/* A CQ that another QP uses remains, with its file, and can be destroyed later. */
TEST_F(destroy_ep, cq_in_use_stays)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_destroy_ep was = self->d;
	struct rdma_ep_cmd_create_qp c;

	OK(abi_create_qp(s, QPT_RC, was.recv_cq.cq, 0, &c));
	OK(ABI(s->fd, DESTROY_EP, &self->d));
	EXPECT_EQ(was.recv_cq.cq, self->d.recv_cq.cq);
	EXPECT_EQ(was.recv_cq.channel_fd, self->d.recv_cq.channel_fd);
	EXPECT_TRUE(is_open(was.recv_cq.channel_fd));
	self->d.recv_cq = (struct rdma_ep_destroy_cq) { .channel_fd = -1 };
	EXPECT_TRUE(all_gone(&self->d));
	EXPECT_FALSE(is_open(was.send_cq.channel_fd));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, CQ, was.recv_cq.cq));
}

/* Files whose events are not acknowledged stay open. */
TEST_F(destroy_ep, unacknowledged_channel_stays)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_destroy_ep was = self->d;
	struct rdma_ep_comp_event comp;

	/* A flushed receive notifies one channel, and user events come to the other. */
	OK(abi_notify_cq(s, was.recv_cq.cq, 0));
	OK(abi_post_empty_recv(s, was.qp, 1));
	OK(abi_qp_state(s, was.qp, QPS_ERR));
	OK(abi_read(was.recv_cq.channel_fd, &comp, sizeof(comp), ABI_WAIT_MS));
	for (int i = 0; i < 2; i++) {
		OK(abi_user_event(s, was.id, 0));
		OK(abi_event(was.channel_fd, RDMA_EP_CM_EVENT_USER, NULL));
	}

	self->d.events = 1;
	OK(ABI(s->fd, DESTROY_EP, &self->d));
	EXPECT_EQ(0, self->d.id);
	EXPECT_EQ(2, self->d.events);
	EXPECT_EQ(was.channel_fd, self->d.channel_fd);
	EXPECT_TRUE(is_open(was.channel_fd));
	EXPECT_EQ(0, self->d.recv_cq.cq);
	EXPECT_EQ(1, self->d.recv_cq.comp_events);
	EXPECT_EQ(was.recv_cq.channel_fd, self->d.recv_cq.channel_fd);
	EXPECT_TRUE(is_open(was.recv_cq.channel_fd));
	EXPECT_EQ(-1, self->d.send_cq.channel_fd);
	EXPECT_FALSE(is_open(was.send_cq.channel_fd));
}

/* Files are closed if all events have been acknowledged. */
TEST_F(destroy_ep, acknowledged_channel_closed)
{
	struct abi *s = &self->s;

	OK(abi_user_event(s, self->d.id, 0));
	OK(abi_event(self->d.channel_fd, RDMA_EP_CM_EVENT_USER, NULL));
	self->d.events = 1;
	OK(ABI(s->fd, DESTROY_EP, &self->d));
	EXPECT_TRUE(all_gone(&self->d));
}

struct racer {
	const struct abi *s;
	struct rdma_ep_cmd_destroy_ep d;
	pthread_barrier_t *start;
	int ret;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->start);
	r->ret = ABI(r->s->fd, DESTROY_EP, &r->d);
	return NULL;
}

/* One of several concurrent calls succeeds, and destroys all parts. */
TEST_F(destroy_ep, destroyed_once_by_many)
{
	struct abi *s = &self->s;
	pthread_barrier_t barrier;
	struct racer r[3];
	pthread_t t[3];
	int i, won, fds;

	pthread_barrier_init(&barrier, NULL, 3);
	fds = abi_count_fds();
	for (int n = 0; n < 30; n++) {
		for (i = 0; i < 3; i++) {
			r[i] = (struct racer) { s, self->d, &barrier };
			pthread_create(&t[i], NULL, race, &r[i]);
		}
		for (won = 0, i = 0; i < 3; i++) {
			pthread_join(t[i], NULL);
			if (!r[i].ret) {
				EXPECT_TRUE(all_gone(&r[i].d));
				won++;
			} else {
				/* EBADF: the other call has closed the file already. */
				EXPECT_TRUE(r[i].ret == -ENOENT || r[i].ret == -EBADF);
			}
		}
		ASSERT_EQ(1, won);
		EXPECT_EQ(fds - 3, abi_count_fds());
		OK(make_ep(s, &self->d));
	}
}

static void *read_thread(void *arg)
{
	struct rdma_ep_channel_event ev;
	int fd = *(int *)arg;

	errno = 0;
	return (void *)(long)(read(fd, &ev, sizeof(ev)) < 0 ? errno : 0);
}

/* As with close(2), a blocked read(2) continues. */
TEST_F(destroy_ep, reader_keeps_file)
{
	int fd = self->d.channel_fd;
	pthread_t t;
	void *ret;

	OK(pthread_create(&t, NULL, read_thread, &fd));
	usleep(200000);
	OK(ABI(self->s.fd, DESTROY_EP, &self->d));
	EXPECT_FALSE(is_open(fd));
	abi_close(&self->s);
	self->s.fd = -1;
	OK(pthread_join(t, &ret));
	EXPECT_EQ(EIO, (long)ret);
}

TEST_F(destroy_ep, peer_sees_disconnect)
{
	struct abi *s = &self->s;
	struct abi_pair p = {};
	struct rdma_ep_cmd_destroy_ep d = {
		.channel_fd = -1, .recv_cq.channel_fd = -1, .send_cq.channel_fd = -1,
	};

	OK(abi_pair_open(s, &p));
	d.id = p.end[0].id;
	d.qp = p.end[0].qp.qp;
	d.send_cq.cq = p.end[0].cq[0];
	d.recv_cq.cq = p.end[0].cq[1];
	OK(ABI(s->fd, DESTROY_EP, &d));
	EXPECT_TRUE(all_gone(&d));
	EXPECT_EQ(0, abi_event(p.end[1].channel, EV_DISCONNECTED, NULL));
}

TEST_HARNESS_MAIN
