// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session passes from one owner to another. The next owner finds all objects unchanged; the
 * previous owner reaches none of them, by a descriptor or a mapping.
 */
#include "abi_test.h"
#include "abi_cmds.h"

#define LEN	4096

FIXTURE(handover) {
	struct abi s;
	struct abi_pair p;
	struct rdma_ep_cq_ring *rings;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE_SETUP(handover)
{
	OK(abi_open(&self->s));
	self->rings = ASSERT_PTR(abi_rings(&self->s));
	self->p.rings = true;
	self->p.comp = FD(abi_comp_channel(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = abi_map_shared(LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, AC_ALL, &self->mr));
}

FIXTURE_TEARDOWN(handover)
{
	if (self->rings)
		munmap(self->rings, ABI_RINGS_BYTES);
	abi_close(&self->s);
}

/* Sends 8 bytes to @end. */
static int send_to(struct _test_data_handover *t, const struct abi *s, int end, __u64 wr_id)
{
	return abi_post_send(s, t->p.end[!end].qp.qp, SEND_SIGNALED, wr_id, t->mem, 8,
			     t->mr.lkey);
}

static int receive(struct _test_data_handover *t, const struct abi *s, int end, __u64 wr_id)
{
	return abi_post_recv(s, t->p.end[end].qp.qp, wr_id, t->mem + 64, 64, t->mr.lkey);
}

/* Takes the completion of @wr_id out of the ring. */
static int take(struct _test_data_handover *t, const struct abi *s,
		struct rdma_ep_cq_ring *rings, int end, int cq, __u64 wr_id)
{
	const struct abi_end *e = &t->p.end[end];
	struct rdma_ep_wc wc;

	if (!ABI_UNTIL(abi_ring_poll(s, e->cq[cq], &rings[e->ring[cq]], &wc, 1) == 1))
		return -ETIMEDOUT;
	return wc.status || wc.wr_id != wr_id || wc.qp_num != e->qp.qp_num ? -EPROTO : 0;
}

/* Adopts the session as the next owner, and maps its rings. */
static int adopt_with_rings(const struct abi *s, struct abi *next, struct rdma_ep_cq_ring **rings)
{
	*next = *s;
	next->fd = abi_adopt(s->fd);
	if (next->fd < 0)
		return next->fd;
	*rings = abi_rings(next);
	return *rings ? 0 : -errno;
}

TEST_F(handover, exported_session_is_out_of_reach)
{
	struct pollfd p = { .fd = self->p.end[1].channel, .events = POLLIN };
	struct rdma_ep_cmd_query q = {};
	struct rdma_ep_channel_event ev;
	struct rdma_ep_comp_event comp;
	union abi_arg *arg = calloc(1, sizeof(*arg));
	const struct abi_command *c;
	int fd;

	OK(receive(self, &self->s, 1, 5));
	OK(abi_export(&self->s, 0));
	/* A second EXPORT succeeds. */
	EXPECT_EQ(0, abi_export(&self->s, 0));
	EXPECT_EQ(-EBADF, abi_export(&self->s, RDMA_EP_KEEP));
	for_each_command(c) {
		if (c->ends || c->cmd == RDMA_EP_IOC_QUERY || c->cmd == RDMA_EP_IOC_RESTRICT)
			continue;
		LOGGED(EXPECT_EQ(-EBADF, abi_ioctl(self->s.fd, c->cmd, arg)), "%s", c->name);
	}
	EXPECT_EQ(0, ABI(self->s.fd, QUERY, &q));
	EXPECT_ERRNO(EBADF, read(self->p.end[1].channel, &ev, sizeof(ev)));
	EXPECT_ERRNO(EBADF, read(self->p.comp, &comp, sizeof(comp)));
	EXPECT_ERRNO(EBADF, read(self->s.async_fd, &ev, sizeof(ev)));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLERR | POLLHUP, p.revents);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, LEN, PROT_READ, MAP_SHARED, self->s.fd, 0));
	EXPECT_EQ(EBADF, errno);
	/* The ids do not end with the previous owner's channels. */
	close(self->p.end[0].channel);
	close(self->p.end[1].channel);
	fd = FD(abi_adopt(self->s.fd));
	EXPECT_EQ(12, abi_count_objs(fd));
	self->s.fd = fd;
	OK(send_to(self, &self->s, 1, 6));
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = ASSERT_PTR(abi_rings(&self->s));
	EXPECT_EQ(0, take(self, &self->s, self->rings, 1, 1, 5));
	free(arg);
}

/* Waiting tasks return when another owner adopts the session. */
TEST_F(handover, waiting_tasks_return)
{
	struct rdma_ep_cmd_get_request g = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_AWAIT, .id = self->p.listener,
	};
	struct rdma_ep_channel_event ev;
	int status, fd, to[2];
	struct abi_call call;
	pid_t pid;
	char c;

	OK(pipe(to));
	pid = fork();
	if (!pid) {
		/* (A child shares the files.) */
		if (write(to[1], "", 1) != 1)
			_exit(2);
		_exit(read(self->p.end[0].channel, &ev, sizeof(ev)) < 0 && errno == EBADF ?
		      0 : 1);
	}
	ASSERT_EQ(1, read(to[0], &c, 1));
	g.await_fd = self->p.end[1].channel;
	START_BLOCKED(&call, &self->s, GET_REQUEST, &g);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	fd = FD(abi_adopt(self->s.fd));
	EXPECT_RETURNS(-EBADF, &call);
	EXPECT_SUCCESS(pid);
	close(fd);
}

/* Unread completions and events, and posted receives, pass to the next owner. */
TEST_F(handover, everything_unread_is_there)
{
	struct rdma_ep_cmd_set_obj uid = {
		.flags = RDMA_EP_SET_UID, .type = RDMA_EP_OBJ_ID,
		.handle = self->p.end[0].id, .uid = 77,
	};
	struct rdma_ep_cq_ring *old = self->rings, *rings;
	struct rdma_ep_cmd_poll_cq poll = { .cq = self->p.end[1].cq[1] };
	struct abi next;
	struct rdma_ep_channel_event ev;
	int channel;

	OK(abi_user_event(&self->s, self->p.end[0].id, 4711));
	for (int i = 0; i < 10; i++)
		OK(receive(self, &self->s, 1, 100 + i));
	for (int i = 0; i < 5; i++)
		OK(send_to(self, &self->s, 1, 200 + i));
	/* The first of them have been read. */
	OK(take(self, &self->s, old, 1, 1, 100));
	OK(take(self, &self->s, old, 1, 1, 101));
	ASSERT_TRUE(ABI_UNTIL(!ABI(self->s.fd, POLL_CQ, &poll) &&
			      old[self->p.end[1].ring[1]].head == 5));
	OK(adopt_with_rings(&self->s, &next, &rings));
	for (int i = 2; i < 5; i++)
		EXPECT_EQ(0, take(self, &next, rings, 1, 1, 100 + i));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(0, take(self, &next, rings, 0, 0, 200 + i));
	/* Receives of the previous owner */
	for (int i = 5; i < 10; i++) {
		OK(send_to(self, &next, 1, 200 + i));
		EXPECT_EQ(0, take(self, &next, rings, 1, 1, 100 + i));
	}
	channel = FD(abi_open_queue(next.fd, RDMA_EP_OBJ_ID, self->p.end[0].id));
	EXPECT_EQ(0, ABI(next.fd, SET_OBJ, &uid));
	ev = NEXT_EVENT(channel, RDMA_EP_CM_EVENT_USER);
	EXPECT_EQ(4711, ev.param.arg);
	EXPECT_EQ(77, ev.uid);
	/* Only events that this owner has read count. */
	EXPECT_EQ(1, abi_events_reported(&next, self->p.end[0].id));
	self->s.fd = next.fd;
}

/* The rings of the next owner are in other memory. */
TEST_F(handover, ring_is_not_shared_with_previous_owner)
{
	const struct abi_end *e = &self->p.end[1];
	struct rdma_ep_cq_ring *old = &self->rings[e->ring[1]], *rings;
	struct rdma_ep_cmd_poll_cq poll = { .cq = e->cq[1] };
	struct abi next;
	__u32 head, tail;

	OK(receive(self, &self->s, 1, 1));
	OK(receive(self, &self->s, 1, 2));
	OK(send_to(self, &self->s, 1, 3));
	OK(take(self, &self->s, self->rings, 1, 1, 1));
	head = old->head;
	tail = old->tail;
	OK(adopt_with_rings(&self->s, &next, &rings));
	/* @pending leads the previous owner to the kernel, which returns EBADF. */
	EXPECT_NE(0, old->pending);
	EXPECT_EQ(-EBADF, ABI(self->s.fd, POLL_CQ, &poll));
	EXPECT_EQ(tail, rings[e->ring[1]].tail);
	old->tail = 1000;
	old->armed = 1;
	memset(old->wc, 0xff, sizeof(old->wc));
	EXPECT_EQ(tail, rings[e->ring[1]].tail);
	EXPECT_EQ(0, rings[e->ring[1]].armed);
	OK(send_to(self, &next, 1, 4));
	EXPECT_EQ(0, take(self, &next, rings, 1, 1, 2));
	EXPECT_EQ(head, old->head);
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	self->s.fd = next.fd;
}

/* The previous owner touches a mapping for the first time after the adoption. */
TEST_F(handover, untouched_mapping_leads_to_kernel)
{
	struct rdma_ep_cq_ring *again = abi_rings(&self->s), *rings;
	const struct abi_end *e = &self->p.end[1];
	struct abi next;

	ASSERT_NE(NULL, again);
	OK(adopt_with_rings(&self->s, &next, &rings));
	EXPECT_EQ(1, again[e->ring[1]].pending);
	EXPECT_EQ(0, again[e->ring[1]].head);
	again[e->ring[1]].tail = 99;
	EXPECT_NE(99, rings[e->ring[1]].tail);
	/* Also after the session's end */
	munmap(rings, ABI_RINGS_BYTES);
	close(next.fd);
	EXPECT_EQ(1, again[e->ring[1] + 1000].pending);
	munmap(again, ABI_RINGS_BYTES);
}

/* Wrong positions in a ring do not pass to the next owner. */
TEST_F(handover, bad_tail_is_not_passed_on)
{
	const struct abi_end *e = &self->p.end[1];
	struct rdma_ep_cq_ring *rings;
	struct abi next;

	self->rings[e->ring[1]].tail = 0x12345678;
	self->rings[e->ring[1]].head = 0x87654321;
	OK(adopt_with_rings(&self->s, &next, &rings));
	EXPECT_EQ(rings[e->ring[1]].head, rings[e->ring[1]].tail);
	EXPECT_EQ(0, rings[e->ring[1]].head);
	OK(receive(self, &next, 1, 1));
	OK(send_to(self, &next, 1, 2));
	EXPECT_EQ(0, take(self, &next, rings, 1, 1, 1));
	self->s.fd = next.fd;
}

TEST_F(handover, previous_descriptor_is_dead)
{
	struct rdma_ep_cmd_query q = {};
	int fd = abi_adopt(self->s.fd);
	struct rdma_ep_channel_event ev;
	struct abi next;
	int channel;

	ASSERT_LT(0, fd);
	EXPECT_EQ(-EBADF, abi_adopt(self->s.fd));
	EXPECT_EQ(-EBADF, abi_export(&self->s, 0));
	EXPECT_EQ(-EBADF, ABI(self->s.fd, QUERY, &q));
	EXPECT_EQ(-1, abi_fdinfo(&self->s, "session"));
	next.fd = fd;
	EXPECT_LT(0, abi_fdinfo(&next, "session"));
	/* The next owner cannot use the previous owner's channel. */
	EXPECT_EQ(-EBADF, abi_migrate(&next, self->p.end[0].id, self->p.end[1].channel));
	channel = FD(abi_open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id));
	/* Closing the old descriptor destroys nothing, closing the new one all objects. */
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	close(self->s.fd);
	EXPECT_EQ(12, abi_count_objs(fd));
	close(fd);
	EXPECT_ERRNO(EIO, read(channel, &ev, sizeof(ev)));
	self->s.fd = open("/dev/null", O_RDONLY);
}

static int set_async(int fd)
{
	return fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETFL, O_ASYNC) ? -errno : 0;
}

/* The next owner's files send SIGIO, those of the previous owner do not any more. */
TEST_F(handover, sigio_is_the_next_owners)
{
	const struct timespec soon = { ABI_WAIT_MS / 1000, 0 }, quiet = { 0, 200000000 };
	__u32 id = self->p.end[0].id;
	struct abi next = self->s;
	int channel;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(set_async(self->p.end[0].channel));
	OK(abi_user_event(&self->s, id, 1));
	EXPECT_EQ(SIGIO, sigtimedwait(&set, NULL, &soon));
	next.fd = abi_adopt(self->s.fd);
	ASSERT_LT(0, next.fd);
	OK(abi_user_event(&next, id, 2));
	EXPECT_EQ(-1, sigtimedwait(&set, NULL, &quiet));
	channel = abi_open_queue(next.fd, RDMA_EP_OBJ_ID, id);
	ASSERT_LT(0, channel);
	OK(set_async(channel));
	/* The previous owner cannot divert the signals. */
	OK(set_async(self->p.end[0].channel));
	OK(abi_user_event(&next, id, 3));
	EXPECT_EQ(SIGIO, sigtimedwait(&set, NULL, &soon));
	/* Closed with O_ASYNC, and opened again */
	close(self->p.end[0].channel);
	close(channel);
	channel = abi_open_queue(next.fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	ASSERT_LT(0, channel);
	OK(abi_user_event(&next, self->p.end[1].id, 4));
	EXPECT_EQ(-1, sigtimedwait(&set, NULL, &quiet));
	self->s.fd = next.fd;
}

/* Only the present owner's last descriptor of a channel destroys the channel's ids. */
TEST_F(handover, channel_ends_with_its_last_descriptor)
{
	int fd = abi_adopt(self->s.fd), a, b;

	ASSERT_LT(0, fd);
	self->s.fd = fd;
	a = abi_open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	b = abi_open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	ASSERT_LT(0, a);
	ASSERT_LT(0, b);
	close(self->p.end[1].channel);
	close(a);
	EXPECT_EQ(12, abi_count_objs(fd));
	/* A failed OPEN_QUEUE destroys nothing. */
	WITH_RLIMIT(RLIMIT_NOFILE, 3,
		    EXPECT_EQ(-EMFILE, abi_open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[0].id)));
	EXPECT_EQ(12, abi_count_objs(fd));
	close(b);
	EXPECT_EQ(-ENOENT, abi_open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id));
}

/* A failed ADOPT leaves the session with its owner, or without one until the next ADOPT. */
TEST_F(handover, failed_adoption)
{
	struct rdma_ep_cmd_adopt *a = abi_map(LEN);
	int fds = abi_count_fds();

	WITH_RLIMIT(RLIMIT_NOFILE, 3, EXPECT_EQ(-EMFILE, abi_adopt(self->s.fd)));
	EXPECT_EQ(0, receive(self, &self->s, 1, 1));

	a->size = sizeof(*a);
	mprotect(a, LEN, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_ADOPT, a));
	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(-EBADF, receive(self, &self->s, 1, 1));
	self->s.fd = FD(abi_adopt(self->s.fd));
	EXPECT_EQ(0, receive(self, &self->s, 1, 1));
}

struct racer {
	pthread_t thread;
	pthread_barrier_t *barrier;
	int fd;
	int ret;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->barrier);
	r->ret = abi_adopt(r->fd);
	return NULL;
}

/* One of several concurrent calls adopts the session. */
TEST_F(handover, one_of_several_adopts)
{
	pthread_barrier_t barrier;
	struct racer r[4];
	int won;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int round = 0; round < 10; round++) {
		won = -1;
		for (int i = 0; i < 4; i++) {
			r[i].barrier = &barrier;
			r[i].fd = self->s.fd;
			OK(pthread_create(&r[i].thread, NULL, race, &r[i]));
		}
		for (int i = 0; i < 4; i++)
			pthread_join(r[i].thread, NULL);
		for (int i = 0; i < 4; i++) {
			if (r[i].ret > 0) {
				EXPECT_EQ(-1, won);
				won = r[i].ret;
			} else {
				EXPECT_TRUE(r[i].ret == -EBUSY || r[i].ret == -EBADF);
			}
		}
		ASSERT_LT(0, won);
		dup2(won, self->s.fd);
		close(won);
	}
	EXPECT_EQ(12, abi_count_objs(self->s.fd));
}

struct taker {
	struct _test_data_handover *t;
	int socket;
	int (*become)(void);
};

/* Becomes root of a new user namespace. */
static int become_contained(void)
{
	return unshare(CLONE_NEWUSER) || abi_put("/proc/self/setgroups", "deny") ||
	       abi_put("/proc/self/gid_map", "0 0 1") || abi_put("/proc/self/uid_map", "0 0 1");
}

/*
 * A process without rights, a file of the device or the region's memory adopts the session. Its
 * work requests reach the registered region, and nothing else.
 */
static int take_over(void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct taker *k = arg;
	struct _test_data_handover *t = k->t;
	__u32 qp = t->p.end[1].qp.qp, id;
	struct rdma_ep_cq_ring *rings;
	struct rdma_ep_cmd_reg_mr mr;
	struct sockaddr_in low;
	struct abi s = t->s;
	int fd, ret;

	low = s.addr;
	fd = abi_recv_fd(k->socket);
	CHECK(1, fd > 0);
	CHECK(2, !setrlimit(RLIMIT_MEMLOCK, &none));
	CHECK(3, !k->become());
	munmap(t->mem, LEN);
	s.fd = abi_adopt(fd);
	CHECK(4, s.fd > 0);
	close(fd);
	rings = abi_rings(&s);
	CHECK(5, rings);
	CHECK(6, abi_count_objs(s.fd) == 12);
	CHECK(7, !take(t, &s, rings, 1, 1, 1));
	CHECK(8, !receive(t, &s, 1, 3));
	CHECK(9, !send_to(t, &s, 1, 4));
	CHECK(10, !take(t, &s, rings, 1, 1, 3));
	CHECK(11, abi_post_recv(&s, qp, 5, t->mem + LEN - 63, 64, t->mr.lkey) == -EINVAL);
	CHECK(12, abi_post_recv(&s, qp, 5, t->mem - 1, 64, t->mr.lkey) == -EINVAL);
	/* Its own limits apply to new objects. siw of Linux 6.1 has an errno of its own. */
	ret = abi_reg_mr(&s, s.pd, abi_map(LEN), LEN, AC_ALL, &mr);
	CHECK(13, ret == -EPERM || ret == -ENOMEM);
	low.sin_port = htons(81);
	CHECK(14, !abi_tcp_id(&s, abi_channel(&s), 0, &id));
	CHECK(15, abi_bind(&s, id, &low) == -EACCES);
	return 0;
}

static void expect_taken(struct __test_metadata *_metadata, struct _test_data_handover *self,
			 int (*become)(void))
{
	struct taker k = { .t = self, .become = become };
	int to[2];
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	k.socket = to[1];
	pid = fork();
	if (!pid) {
		close_range(3, to[1] - 1, 0);
		close_range(to[1] + 1, ~0U, 0);
		_exit(take_over(&k));
	}
	OK(receive(self, &self->s, 1, 1));
	OK(send_to(self, &self->s, 1, 2));
	OK(abi_export(&self->s, 0));
	OK(abi_send_fd(to[0], self->s.fd));
	EXPECT_SUCCESS(pid);
	/* The session has ended with the taker. */
	EXPECT_EQ(-EBADF, abi_adopt(self->s.fd));
}

TEST_F(handover, another_user_takes_over)
{
	expect_taken(_metadata, self, abi_become_nobody);
}

TEST_F(handover, container_takes_over)
{
	expect_taken(_metadata, self, become_contained);
}

/* A session without an adopter ends with its descriptor. */
TEST_F(handover, exported_session_ends)
{
	struct rdma_ep_channel_event ev;
	struct abi_pair p = {};
	struct abi s;

	OK(abi_open(&s));
	OK(abi_pair_between(&self->s, &s, &p));
	OK(abi_export(&s, 0));
	EXPECT_FALSE(abi_ready(p.end[0].channel, ABI_QUIET_MS));
	close(s.fd);
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DISCONNECTED, &ev));
}

/* The number of adopters' files is limited, as they are charged to the giver. */
TEST_F_TIMEOUT(handover, owners_are_bounded, 60)
{
	int fds[65] = { self->s.fd };

	for (int i = 1; i < 65; i++) {
		fds[i] = abi_adopt(fds[i - 1]);
		LOGGED(ASSERT_LT(0, fds[i]), "owner %d", i);
	}
	self->s.fd = fds[64];
	EXPECT_EQ(-EDQUOT, abi_adopt(self->s.fd));
	EXPECT_EQ(12, abi_count_objs(self->s.fd));
	/* The opener's file does not count. */
	close(fds[0]);
	EXPECT_EQ(-EDQUOT, abi_adopt(self->s.fd));
	close(fds[1]);
	self->s.fd = FD(abi_adopt(fds[64]));
	for (int i = 2; i < 65; i++)
		close(fds[i]);
}

/* A child of a previous owner keeps files of its queues, as a server's workers do over restarts. */
TEST_F_TIMEOUT(handover, closed_owners_count_no_more, 60)
{
	for (int i = 0, next; i < 80; i++) {
		next = abi_adopt(self->s.fd);
		LOGGED(ASSERT_LT(0, next), "owner %d", i);
		close(self->s.fd);
		self->s.fd = next;
		FD(abi_open_queue(next, RDMA_EP_OBJ_ID, self->p.end[0].id));
	}
}

/* Opens the file of a descriptor once more. */
static int open_again(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR);
	if (again < 0)
		return -errno;
	close(again);
	return 0;
}

/* A descriptor of EXPORT does not lead to the node, and keeps the session. */
TEST_F(handover, descriptors_cannot_be_opened_again)
{
	struct rdma_ep_cmd_export e = { .flags = RDMA_EP_EXPORT_FD | RDMA_EP_KEEP };
	int kept, fds = abi_count_fds();

	EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, EXPORT, e, reserved, 1));
	EXPECT_EQ(fds, abi_count_fds());
	OK(ABI(self->s.fd, EXPORT, &e));
	kept = e.fd;
	ASSERT_LT(0, kept);
	EXPECT_EQ(0, open_again(self->s.fd));
	EXPECT_EQ(-ENXIO, open_again(kept));
	/* Both descriptors are of one owner. */
	EXPECT_EQ(12, abi_count_objs(kept));
	EXPECT_EQ(0, receive(self, &self->s, 1, 1));
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	close(self->s.fd);
	EXPECT_EQ(12, abi_count_objs(kept));
	e.flags = RDMA_EP_EXPORT_FD;
	OK(ABI(kept, EXPORT, &e));
	ASSERT_LT(0, e.fd);
	EXPECT_EQ(-ENXIO, open_again(e.fd));
	EXPECT_EQ(-EBADF, abi_count_objs(kept));
	close(kept);
	self->s.fd = FD(abi_adopt(e.fd));
	EXPECT_EQ(-ENXIO, open_again(self->s.fd));
	EXPECT_EQ(-EBADF, abi_count_objs(e.fd));
	close(e.fd);
	EXPECT_EQ(12, abi_count_objs(self->s.fd));
}

TEST_HARNESS_MAIN
