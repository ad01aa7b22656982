// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session passes from one owner to another: the next owner finds all objects as they were,
 * and the previous owner reaches none of them, by no descriptor and no mapping.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "abi_test.h"
#include "abi_cmds.h"

#define LEN	4096
#define MAX	256
#define ENTRIES	RDMA_EP_RING_ENTRIES

FIXTURE(handover) {
	struct abi s;
	struct abi_pair p;
	struct rdma_ep_cq_ring *rings;
	struct rdma_ep_obj_info info[MAX];
	int num;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
	int channel;			/* of a listener */
	struct sockaddr_in to;		/* ... and its address */
};

FIXTURE_SETUP(handover)
{
	OK(abi_open(&self->s));
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	self->p.rings = true;
	self->p.comp = abi_comp_channel(&self->s);
	ASSERT_LT(0, self->p.comp);
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

static int export(const struct abi *s, __u32 flags)
{
	struct rdma_ep_cmd_export e = { .flags = flags };

	return ABI(s->fd, EXPORT, &e);
}

/* The new descriptor, or a negative errno */
static int adopt(int fd, __u32 flags)
{
	struct rdma_ep_cmd_adopt a = { .flags = flags };
	int ret = ABI(fd, ADOPT, &a);

	return ret ?: a.fd;
}

static int list(int fd, __u32 step, struct rdma_ep_obj_info *info)
{
	struct rdma_ep_cmd_list_objs l = { .max = step };
	int ret, num = 0;

	do {
		l.objs = (uintptr_t)&info[num];
		ret = num + step > MAX ? -E2BIG : ABI(fd, LIST_OBJS, &l);
		if (ret)
			return ret;
		num += l.num;
	} while (l.cursor);
	return num;
}

static const struct rdma_ep_obj_info *find(struct _test_data_handover *t, __u32 type,
					   __u32 handle)
{
	for (int i = 0; i < t->num; i++)
		if (t->info[i].handle == handle && t->info[i].type == type)
			return &t->info[i];
	return NULL;
}

static int open_queue(int fd, __u32 type, __u32 handle)
{
	struct rdma_ep_cmd_open_queue q = { .type = type, .handle = handle };
	int ret = ABI(fd, OPEN_QUEUE, &q);

	return ret ?: q.fd;
}

static int set_uid(int fd, __u32 type, __u32 handle, __u64 uid)
{
	struct rdma_ep_cmd_set_obj o = {
		.flags = RDMA_EP_SET_UID, .type = type, .handle = handle, .uid = uid,
	};

	return ABI(fd, SET_OBJ, &o);
}

/* A message of 8 bytes from one end to the other */
static int send_to(struct _test_data_handover *t, const struct abi *s, int end, __u64 wr_id)
{
	return abi_post_send(s, t->p.end[!end].qp.qp, SEND_SIGNALED, wr_id, t->mem, 8,
			     t->mr.lkey);
}

static int receive(struct _test_data_handover *t, const struct abi *s, int end, __u64 wr_id)
{
	return abi_post_recv(s, t->p.end[end].qp.qp, wr_id, t->mem + 64, 64, t->mr.lkey);
}

/* Takes a completion of this id out of the ring. */
static int take(struct _test_data_handover *t, const struct abi *s,
		struct rdma_ep_cq_ring *rings, int end, int cq, __u64 wr_id)
{
	const struct abi_end *e = &t->p.end[end];
	struct rdma_ep_wc wc;

	if (!ABI_UNTIL(abi_ring_poll(s, e->cq[cq], &rings[e->ring[cq]], &wc, 1) == 1))
		return -ETIMEDOUT;
	return wc.status || wc.wr_id != wr_id || wc.qp_num != e->qp.qp_num ? -EPROTO : 0;
}

TEST_F(handover, list_has_every_object)
{
	const struct abi_end *e = &self->p.end[1];
	const struct rdma_ep_obj_info *i;

	/* In steps of any size */
	for (__u32 step = 1; step < 9; step += 3) {
		self->num = list(self->s.fd, step, self->info);
		/* Context, PD, MR; listener; of each end id, QP, two CQs */
		ASSERT_EQ(3 + 1 + 8, self->num);
		for (int n = 1; n < self->num; n++)
			EXPECT_LT(self->info[n - 1].handle, self->info[n].handle);
	}
	i = find(self, RDMA_EP_OBJ_CTX, self->s.ctx);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(RDMA_EP_OBJ_DEFAULT, i->flags);
	EXPECT_EQ(self->s.dev, i->dev_index);
	i = find(self, RDMA_EP_OBJ_PD, self->s.pd);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(RDMA_EP_OBJ_DEFAULT, i->flags);
	EXPECT_EQ(self->s.ctx, i->ctx);
	i = find(self, RDMA_EP_OBJ_MR, self->mr.mr);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(self->s.pd, i->pd);
	EXPECT_EQ((uintptr_t)self->mem, i->addr);
	EXPECT_EQ((uintptr_t)self->mem, i->iova);
	EXPECT_EQ(LEN, i->length);
	EXPECT_EQ(self->mr.lkey, i->lkey);
	EXPECT_EQ(self->mr.rkey, i->rkey);
	EXPECT_EQ(AC_ALL, i->access);
	i = find(self, RDMA_EP_OBJ_QP, e->qp.qp);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(self->s.ctx, i->ctx);
	EXPECT_EQ(self->s.pd, i->pd);
	EXPECT_EQ(e->cq[0], i->send_cq);
	EXPECT_EQ(e->cq[1], i->recv_cq);
	EXPECT_EQ(e->qp.qp_num, i->number);
	EXPECT_EQ(QPT_RC, i->subtype);
	i = find(self, RDMA_EP_OBJ_CQ, e->cq[1]);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(e->ring[1], i->ring);
	EXPECT_EQ(self->s.ctx, i->ctx);
	EXPECT_NE(0, i->channel);
	EXPECT_EQ(find(self, RDMA_EP_OBJ_CQ, self->p.end[0].cq[0])->channel, i->channel);
	i = find(self, RDMA_EP_OBJ_ID, e->id);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(0, i->flags);
	EXPECT_EQ(RDMA_PS_TCP, i->ps);
	EXPECT_EQ(QPT_RC, i->subtype);
	EXPECT_EQ(e->qp.qp, i->qp);
	EXPECT_EQ(self->s.dev, i->dev_index);
	EXPECT_NE(0, i->channel);
	EXPECT_NE(find(self, RDMA_EP_OBJ_ID, self->p.end[0].id)->channel, i->channel);
	i = find(self, RDMA_EP_OBJ_ID, self->p.listener);
	ASSERT_NE(NULL, i);
	EXPECT_EQ(RDMA_EP_OBJ_LISTENING, i->flags);
}

TEST_F(handover, list_is_bounded)
{
	struct rdma_ep_obj_info *info = calloc(400, sizeof(*info));
	struct rdma_ep_cmd_list_objs l = { .objs = (uintptr_t)info, .max = 400 };
	__u32 pd;

	for (int i = 0; i < 300; i++)
		OK(abi_alloc_pd(&self->s, self->s.ctx, &pd));
	OK(ABI(self->s.fd, LIST_OBJS, &l));
	EXPECT_EQ(256, l.num);
	EXPECT_NE(0, l.cursor);
	OK(ABI(self->s.fd, LIST_OBJS, &l));
	EXPECT_EQ(312 - 256, l.num);
	EXPECT_EQ(0, l.cursor);
	l.max = 0;
	EXPECT_EQ(-EINVAL, ABI(self->s.fd, LIST_OBJS, &l));
	l.max = 4;
	l.cursor = 0xffffffff;
	EXPECT_EQ(0, ABI(self->s.fd, LIST_OBJS, &l));
	EXPECT_EQ(0, l.num);
	l.cursor = 0;
	l.objs = 4096;
	EXPECT_EQ(-EFAULT, ABI(self->s.fd, LIST_OBJS, &l));
	free(info);
}

/* What it has said of an object stays, and uids do not. */
TEST_F(handover, cookies_and_notes_stay)
{
	struct rdma_ep_cmd_set_obj o = {
		.flags = RDMA_EP_SET_UID | RDMA_EP_SET_COOKIE | RDMA_EP_SET_NOTE,
		.type = RDMA_EP_OBJ_QP, .handle = self->p.end[0].qp.qp, .uid = 7, .cookie = 8,
		.note = "note",
	};
	const struct rdma_ep_obj_info *i;
	int fd;

	OK(ABI(self->s.fd, SET_OBJ, &o));
	self->num = list(self->s.fd, 64, self->info);
	i = find(self, RDMA_EP_OBJ_QP, o.handle);
	EXPECT_EQ(7, i->uid);
	EXPECT_EQ(8, i->cookie);
	EXPECT_EQ(0, memcmp(o.note, i->note, sizeof(o.note)));
	fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, fd);
	self->num = list(fd, 64, self->info);
	i = find(self, RDMA_EP_OBJ_QP, o.handle);
	EXPECT_EQ(0, i->uid);
	EXPECT_EQ(8, i->cookie);
	EXPECT_EQ(0, memcmp(o.note, i->note, sizeof(o.note)));
	/* Each by itself, and none of those that are not named */
	o.flags = RDMA_EP_SET_COOKIE;
	EXPECT_EQ(-EINVAL, ABI(fd, SET_OBJ, &o));
	o.uid = 0;
	EXPECT_EQ(-EINVAL, ABI(fd, SET_OBJ, &o));
	memset(o.note, 0, sizeof(o.note));
	EXPECT_EQ(0, ABI(fd, SET_OBJ, &o));
	o.flags = 0;
	o.cookie = 0;
	EXPECT_EQ(-EINVAL, ABI(fd, SET_OBJ, &o));
	EXPECT_EQ(-EINVAL, set_uid(fd, RDMA_EP_OBJ_PD, self->s.pd, 1));
	EXPECT_EQ(-ENOENT, set_uid(fd, RDMA_EP_OBJ_CQ, self->s.pd, 1));
	close(fd);
}

/* The owner gives it up: nothing works, nothing ends. */
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
	OK(export(&self->s, 0));
	/* Once more is the same. */
	EXPECT_EQ(0, export(&self->s, 0));
	EXPECT_EQ(-EBADF, export(&self->s, RDMA_EP_KEEP));
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
	/* The ids do not end with the owner's channels. */
	close(self->p.end[0].channel);
	close(self->p.end[1].channel);
	fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, fd);
	EXPECT_EQ(12, list(fd, 64, self->info));
	self->s.fd = fd;
	OK(send_to(self, &self->s, 1, 6));
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = abi_rings(&self->s);
	ASSERT_NE(NULL, self->rings);
	EXPECT_EQ(0, take(self, &self->s, self->rings, 1, 1, 5));
	free(arg);
}

/* Tasks that wait when the session is taken away. */
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
	fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, fd);
	EXPECT_RETURNS(-EBADF, &call);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(fd);
}

/* Unread completions, events, posted receives; a request that comes meanwhile */
TEST_F(handover, everything_unread_is_there)
{
	struct rdma_ep_cq_ring *old = self->rings, *rings;
	struct rdma_ep_cmd_poll_cq poll = { .cq = self->p.end[1].cq[1] };
	struct abi next = self->s;
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
	next.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, next.fd);
	rings = abi_rings(&next);
	ASSERT_NE(NULL, rings);
	for (int i = 2; i < 5; i++)
		EXPECT_EQ(0, take(self, &next, rings, 1, 1, 100 + i));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(0, take(self, &next, rings, 0, 0, 200 + i));
	/* Receives of the previous owner */
	for (int i = 5; i < 10; i++) {
		OK(send_to(self, &next, 1, 200 + i));
		EXPECT_EQ(0, take(self, &next, rings, 1, 1, 100 + i));
	}
	channel = open_queue(next.fd, RDMA_EP_OBJ_ID, self->p.end[0].id);
	ASSERT_LT(0, channel);
	EXPECT_EQ(0, set_uid(next.fd, RDMA_EP_OBJ_ID, self->p.end[0].id, 77));
	ev = NEXT_EVENT(channel, RDMA_EP_CM_EVENT_USER);
	EXPECT_EQ(4711, ev.param.arg);
	EXPECT_EQ(77, ev.uid);
	/* It has read one event, and the previous owner's do not count. */
	EXPECT_EQ(1, abi_events_reported(&next, self->p.end[0].id));
	self->s.fd = next.fd;
}

/* The previous owner's memory is not the ring any more. */
TEST_F(handover, ring_is_not_shared_with_previous_owner)
{
	const struct abi_end *e = &self->p.end[1];
	struct rdma_ep_cq_ring *old = &self->rings[e->ring[1]], *rings;
	struct rdma_ep_cmd_poll_cq poll = { .cq = e->cq[1] };
	struct abi next = self->s;
	__u32 head, tail;

	OK(receive(self, &self->s, 1, 1));
	OK(receive(self, &self->s, 1, 2));
	OK(send_to(self, &self->s, 1, 3));
	OK(take(self, &self->s, self->rings, 1, 1, 1));
	head = old->head;
	tail = old->tail;
	next.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, next.fd);
	rings = abi_rings(&next);
	ASSERT_NE(NULL, rings);
	/* It has a reason to call the kernel, which says that it is over. */
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

/* Its memory that it touches for the first time afterwards */
TEST_F(handover, untouched_mapping_leads_to_kernel)
{
	struct rdma_ep_cq_ring *again = abi_rings(&self->s), *rings;
	const struct abi_end *e = &self->p.end[1];
	struct abi next = self->s;

	ASSERT_NE(NULL, again);
	next.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, next.fd);
	rings = abi_rings(&next);
	ASSERT_NE(NULL, rings);
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

/* Nonsense in the ring harms only the one that has written it. */
TEST_F(handover, bad_tail_is_not_passed_on)
{
	const struct abi_end *e = &self->p.end[1];
	struct rdma_ep_cq_ring *rings;
	struct abi next = self->s;

	self->rings[e->ring[1]].tail = 0x12345678;
	self->rings[e->ring[1]].head = 0x87654321;
	next.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, next.fd);
	rings = abi_rings(&next);
	ASSERT_NE(NULL, rings);
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
	int fd = adopt(self->s.fd, 0);
	struct rdma_ep_channel_event ev;
	struct abi next = self->s;
	int channel;

	ASSERT_LT(0, fd);
	EXPECT_EQ(-EBADF, adopt(self->s.fd, 0));
	EXPECT_EQ(-EBADF, export(&self->s, 0));
	EXPECT_EQ(-EBADF, ABI(self->s.fd, QUERY, &q));
	EXPECT_EQ(-1, abi_fdinfo(&self->s, "session"));
	next.fd = fd;
	EXPECT_LT(0, abi_fdinfo(&next, "session"));
	/* The previous owner's channel is no channel of this one. */
	EXPECT_EQ(-EBADF, abi_migrate(&next, self->p.end[0].id, self->p.end[1].channel));
	channel = open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	ASSERT_LT(0, channel);
	/* Closing it ends nothing, and closing the new one everything. */
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	close(self->s.fd);
	EXPECT_EQ(12, list(fd, 64, self->info));
	close(fd);
	EXPECT_ERRNO(EIO, read(channel, &ev, sizeof(ev)));
	self->s.fd = open("/dev/null", O_RDONLY);
}

static int set_async(int fd)
{
	return fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETFL, O_ASYNC) ? -errno : 0;
}

/* SIGIO comes by the next owner's files, and no longer by those of the previous one. */
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
	next.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, next.fd);
	OK(abi_user_event(&next, id, 2));
	EXPECT_EQ(-1, sigtimedwait(&set, NULL, &quiet));
	channel = open_queue(next.fd, RDMA_EP_OBJ_ID, id);
	ASSERT_LT(0, channel);
	OK(set_async(channel));
	/* It cannot take them away again. */
	OK(set_async(self->p.end[0].channel));
	OK(abi_user_event(&next, id, 3));
	EXPECT_EQ(SIGIO, sigtimedwait(&set, NULL, &soon));
	/* Closed with O_ASYNC, and opened again */
	close(self->p.end[0].channel);
	close(channel);
	channel = open_queue(next.fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	ASSERT_LT(0, channel);
	OK(abi_user_event(&next, self->p.end[1].id, 4));
	EXPECT_EQ(-1, sigtimedwait(&set, NULL, &quiet));
	self->s.fd = next.fd;
}

/* The last descriptor of an owner ends the ids of a channel, as ever; no other does. */
TEST_F(handover, channel_ends_with_its_last_descriptor)
{
	int fd = adopt(self->s.fd, 0), a, b;
	struct rlimit all, few;

	ASSERT_LT(0, fd);
	self->s.fd = fd;
	a = open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	b = open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id);
	ASSERT_LT(0, a);
	ASSERT_LT(0, b);
	close(self->p.end[1].channel);
	close(a);
	EXPECT_EQ(12, list(fd, 64, self->info));
	/* Nor does one that could not be made */
	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	few.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &few);
	EXPECT_EQ(-EMFILE, open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[0].id));
	setrlimit(RLIMIT_NOFILE, &all);
	EXPECT_EQ(12, list(fd, 64, self->info));
	close(b);
	EXPECT_EQ(-ENOENT, open_queue(fd, RDMA_EP_OBJ_ID, self->p.end[1].id));
}

/* A failure leaves the session with its owner, or without one, to be adopted once more. */
TEST_F(handover, failed_adoption)
{
	struct rdma_ep_cmd_adopt *a = abi_map(LEN);
	struct rlimit all, few;
	int fds = abi_count_fds();

	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	few.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &few);
	EXPECT_EQ(-EMFILE, adopt(self->s.fd, 0));
	setrlimit(RLIMIT_NOFILE, &all);
	EXPECT_EQ(0, receive(self, &self->s, 1, 1));

	a->size = sizeof(*a);
	mprotect(a, LEN, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_ADOPT, a));
	EXPECT_EQ(fds, abi_count_fds());
	EXPECT_EQ(-EBADF, receive(self, &self->s, 1, 1));
	self->s.fd = adopt(self->s.fd, 0);
	ASSERT_LT(0, self->s.fd);
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
	r->ret = adopt(r->fd, 0);
	return NULL;
}

/* Of several at once, one has the session. */
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
	EXPECT_EQ(12, list(self->s.fd, 64, self->info));
}

/* The owner's process ends at any moment, and its objects stay, if it has said so before. */
TEST_F(handover, kept_session_outlives_process)
{
	struct rdma_ep_channel_event ev;
	int to[2], status, fd, channel;
	struct abi s;
	__u32 id;
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	for (int keep = 0; keep < 2; keep++) {
		pid = fork();
		if (!pid) {
			channel = abi_open(&s) ? -1 : abi_channel(&s);
			_exit(abi_tcp_id(&s, channel, 0, &id) || abi_user_event(&s, id, 9) ||
			      (keep && export(&s, RDMA_EP_KEEP)) || abi_send_fd(to[1], s.fd));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		fd = abi_recv_fd(to[0]);
		s.fd = adopt(fd, 0);
		ASSERT_LT(0, s.fd);
		close(fd);
		self->num = list(s.fd, 64, self->info);
		/* Context and PD; the id */
		EXPECT_EQ(keep ? 3 : 2, self->num);
		if (keep) {
			channel = open_queue(s.fd, RDMA_EP_OBJ_ID, self->info[2].handle);
			ASSERT_LT(0, channel);
			ev = NEXT_EVENT(channel, RDMA_EP_CM_EVENT_USER);
			EXPECT_EQ(9, ev.param.arg);
		}
		close(s.fd);
	}
}

struct taker {
	struct _test_data_handover *t;
	int socket;
	int (*become)(void);
};

/* Root of a user namespace of its own */
static int become_contained(void)
{
	return unshare(CLONE_NEWUSER) || abi_put("/proc/self/setgroups", "deny") ||
	       abi_put("/proc/self/gid_map", "0 0 1") || abi_put("/proc/self/uid_map", "0 0 1");
}

/*
 * A process without any right, the device, the memory and the library takes the session. Work
 * reaches the region as it was registered, and nothing else.
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
	s.fd = adopt(fd, 0);
	CHECK(4, s.fd > 0);
	close(fd);
	rings = abi_rings(&s);
	CHECK(5, rings);
	CHECK(6, list(s.fd, 64, t->info) == 12);
	CHECK(7, !take(t, &s, rings, 1, 1, 1));
	CHECK(8, !receive(t, &s, 1, 3));
	CHECK(9, !send_to(t, &s, 1, 4));
	CHECK(10, !take(t, &s, rings, 1, 1, 3));
	CHECK(11, abi_post_recv(&s, qp, 5, t->mem + LEN - 63, 64, t->mr.lkey) == -EINVAL);
	CHECK(12, abi_post_recv(&s, qp, 5, t->mem - 1, 64, t->mr.lkey) == -EINVAL);
	/* Its own limits count for what it adds; siw of Linux 6.1 has an errno of its own. */
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
	int to[2], status;
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
	OK(export(&self->s, 0));
	OK(abi_send_fd(to[0], self->s.fd));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* It has ended with the taker. */
	EXPECT_EQ(-EBADF, adopt(self->s.fd, 0));
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
	OK(export(&s, 0));
	EXPECT_FALSE(abi_ready(p.end[0].channel, ABI_QUIET_MS));
	close(s.fd);
	EXPECT_EQ(0, abi_event(p.end[0].channel, EV_DISCONNECTED, &ev));
}

/* Adopters' files are bounded, as they are charged to the giver. */
TEST_F_TIMEOUT(handover, owners_are_bounded, 60)
{
	int fds[65];

	fds[0] = self->s.fd;
	for (int i = 1; i < 65; i++) {
		fds[i] = adopt(fds[i - 1], 0);
		LOGGED(ASSERT_LT(0, fds[i]), "owner %d", i);
	}
	self->s.fd = fds[64];
	EXPECT_EQ(-EDQUOT, adopt(self->s.fd, 0));
	EXPECT_EQ(12, list(self->s.fd, 64, self->info));
	/* The opener's is none of them. */
	close(fds[0]);
	EXPECT_EQ(-EDQUOT, adopt(self->s.fd, 0));
	close(fds[1]);
	self->s.fd = adopt(fds[64], 0);
	ASSERT_LT(0, self->s.fd);
	for (int i = 2; i < 65; i++)
		close(fds[i]);
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

/* A descriptor for another process is no way to the node, and keeps the session alive. */
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
	/* One owner: both descriptors have the session. */
	EXPECT_EQ(12, list(kept, 64, self->info));
	EXPECT_EQ(0, receive(self, &self->s, 1, 1));
	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	close(self->s.fd);
	EXPECT_EQ(12, list(kept, 64, self->info));
	e.flags = RDMA_EP_EXPORT_FD;
	OK(ABI(kept, EXPORT, &e));
	ASSERT_LT(0, e.fd);
	EXPECT_EQ(-ENXIO, open_again(e.fd));
	EXPECT_EQ(-EBADF, list(kept, 64, self->info));
	close(kept);
	self->s.fd = adopt(e.fd, 0);
	ASSERT_LT(0, self->s.fd);
	EXPECT_EQ(-ENXIO, open_again(self->s.fd));
	EXPECT_EQ(-EBADF, list(e.fd, 64, self->info));
	close(e.fd);
	EXPECT_EQ(12, list(self->s.fd, 64, self->info));
}

/* ---- killed at any moment */

#define ROUNDS	14
#define SENDS	32

/* Steps of the giver, which owns the session first, and of the taker */
enum step {
	GIVES, EXPORTED, SENT, TAKES, RECEIVED, ADOPTED, TOOK, STEPS,
};

static const char *const step_names[] = {
	"export", "send", "sent", "receive", "adopt", "adopted", "took",
};

/* What the two processes share with the test */
struct round {
	int last;		/* the step at which one kills itself; STEPS: at none */
	atomic_int step[2];	/* which they have reached */
	atomic_int sends;
};

/* Is this the last step? Then the process ends. */
static void reach(struct round *r, int i, enum step step)
{
	atomic_store(&r->step[i], step);
	if (r->last == step)
		raise(SIGKILL);
}

static void give_to_other(struct round *r, int i, struct abi *s, int socket)
{
	reach(r, i, GIVES);
	if (export(s, 0))
		_exit(1);
	reach(r, i, EXPORTED);
	if (abi_send_fd(socket, s->fd))
		_exit(2);
	close(s->fd);
	reach(r, i, SENT);
}

static void take_from_other(struct round *r, int i, struct _test_data_handover *t, struct abi *s,
			    int socket)
{
	int fd;

	reach(r, i, TAKES);
	fd = abi_recv_fd(socket);
	if (fd < 0)
		_exit(0);
	reach(r, i, RECEIVED);
	s->fd = adopt(fd, 0);
	if (s->fd < 0)
		_exit(3);
	reach(r, i, ADOPTED);
	if (list(s->fd, 64, t->info) < 1 ||
	    open_queue(s->fd, RDMA_EP_OBJ_ID, t->p.end[1].id) < 0)
		_exit(4);
	close(fd);
	if (atomic_fetch_add(&r->sends, 1) < SENDS)
		abi_post_empty_send(s, t->p.end[1].qp.qp, 0, 1);
	reach(r, i, TOOK);
}

/* Passes the session on and takes it again, or once only. */
static void give_and_take(struct round *r, struct _test_data_handover *t, int i, int socket)
{
	struct abi s = t->s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (i)
		take_from_other(r, i, t, &s, socket);
	while (r->last == STEPS) {
		give_to_other(r, i, &s, socket);
		take_from_other(r, i, t, &s, socket);
	}
	if (!i)
		give_to_other(r, i, &s, socket);
	for (;;)
		pause();
}

/* A connection whose server the two processes pass to each other */
static int start_round(struct round *r, struct _test_data_handover *t, struct abi *client,
		       pid_t *pids)
{
	int to[2], ret;

	memset(&t->p, 0, sizeof(t->p));
	t->p.max_wr = SENDS;
	ret = socketpair(AF_UNIX, SOCK_STREAM, 0, to) ? -errno :
	      abi_open(client) ?: abi_open(&t->s) ?: abi_pair_between(client, &t->s, &t->p);
	if (ret)
		return ret;
	for (int i = 0; i < SENDS; i++)
		ret = ret ?: abi_post_empty_recv(client, t->p.end[0].qp.qp, i);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		close(client->fd);
		close(to[!i]);
		/* The first owner's channel is open until it has given the session away. */
		if (i) {
			close(t->s.fd);
			close(t->p.end[1].channel);
		}
		give_and_take(r, t, i, to[i]);
	}
	abi_close(&t->s);
	close(t->p.end[1].channel);
	close(to[0]);
	close(to[1]);
	return ret;
}

static void kill_one(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * One process ends at a step. The other one has the session if it has been sent to it, and else
 * the peer is disconnected at once.
 */
static void kill_at_step(struct __test_metadata *_metadata, struct _test_data_handover *self,
			 struct round *r, const struct abi *client, pid_t *pids)
{
	int channel = self->p.end[0].channel, first = r->last >= TAKES, status;
	struct rdma_ep_wc wc;

	ASSERT_EQ(pids[first], waitpid(pids[first], &status, 0));
	EXPECT_EQ(SIGKILL, status);
	if (r->last == SENT) {
		EXPECT_EQ(1, abi_wait(client, self->p.end[0].cq[1], &wc, 1));
		EXPECT_EQ(0, wc.status);
		EXPECT_FALSE(abi_ready(channel, 0));
		kill_one(pids[!first]);
	}
	EXPECT_EQ(0, abi_event(channel, EV_DISCONNECTED, NULL));
	if (r->last != SENT)
		kill_one(pids[!first]);
}

/* One is killed at any moment, and the other one a little later. */
static void kill_at_random(struct __test_metadata *_metadata, struct _test_data_handover *self,
			   struct round *r, pid_t *pids, int first)
{
	usleep(abi_random() % 60000);
	kill_one(pids[first]);
	usleep(abi_random() % 5000);
	kill_one(pids[!first]);
	EXPECT_EQ(0, abi_event(self->p.end[0].channel, EV_DISCONNECTED, NULL));
}

/* Whoever is killed and when: the connection has one owner or ends once, and nothing stays. */
TEST_F_TIMEOUT(handover, killed_while_handing_over, 3600)
{
	int rounds = atoi(getenv("HANDOVER_ROUNDS") ?: "0") ?: ROUNDS, died[STEPS + 1] = {};
	struct round *r = abi_map_shared(sizeof(*r));
	struct abi client;
	pid_t pids[2];
	int first;

	munmap(self->rings, ABI_RINGS_BYTES);
	self->rings = NULL;
	abi_close(&self->s);
	OK(abi_idle());
	for (int round = 0; round < rounds; round++) {
		first = round / 2 % 2;
		r->last = round % 2 ? STEPS : round / 2 % STEPS;
		r->sends = 0;
		r->step[0] = STEPS;
		r->step[1] = STEPS;
		OK(start_round(r, self, &client, pids));
		if (r->last < STEPS) {
			kill_at_step(_metadata, self, r, &client, pids);
		} else {
			kill_at_random(_metadata, self, r, pids, first);
			died[r->step[first]]++;
		}
		abi_close(&client);
		close(self->p.end[0].channel);
		ASSERT_EQ(0, abi_idle());
	}
	for (int i = 0; i < STEPS; i++)
		TH_LOG("killed at random, after step %s: %d", step_names[i], died[i]);
	OK(abi_open(&self->s));
}

/* ---- a session for one connection */

static int listen_for(struct _test_data_handover *t)
{
	__u32 id;

	t->channel = abi_channel(&t->s);
	return t->channel < 0 ? t->channel :
	       abi_tcp_listen(&t->s, t->channel, 4, 0, &id, &t->to);
}

/* A client that connects to that listener, and its request */
static int request(struct _test_data_handover *t, const struct abi *client, int *channel,
		   __u32 *id, __u32 *child)
{
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_channel_event ev;
	int ret;

	*channel = abi_channel(client);
	ret = *channel < 0 ? *channel :
	      abi_tcp_client(client, *channel, &t->to, 0, id) ?:
	      abi_id_qp(client, *id, &qp) ?:
	      abi_connect(client, *id, 0) ?:
	      abi_event(t->channel, EV_CONNECT_REQUEST, &ev);
	*child = ev.child;
	return ret;
}

static int split(int fd, __u32 id)
{
	struct rdma_ep_cmd_split_id s = { .id = id };
	int ret = ABI(fd, SPLIT_ID, &s);

	return ret ?: s.fd;
}

/* What is passed on is only the request; it is accepted there. */
TEST_F(handover, request_moves_to_own_session)
{
	struct rdma_ep_cmd_set_obj cookie = {
		.flags = RDMA_EP_SET_COOKIE, .type = RDMA_EP_OBJ_ID, .cookie = 4711,
	};
	struct rdma_ep_cmd_open_device dev = {
		.flags = RDMA_EP_OPEN_DEFAULT, .dev_index = self->s.dev,
	};
	struct abi client, own = self->s;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_wc wc;
	int channel, events, fd;
	__u32 id, child;

	OK(abi_open(&client));
	OK(listen_for(self));
	OK(request(self, &client, &channel, &id, &child));
	cookie.handle = child;
	OK(ABI(self->s.fd, SET_OBJ, &cookie));
	fd = split(self->s.fd, child);
	ASSERT_LT(0, fd);
	EXPECT_EQ(-ENOENT, split(self->s.fd, child));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(&self->s, ID, child));
	own.fd = adopt(fd, 0);
	ASSERT_LT(0, own.fd);
	ASSERT_EQ(1, list(own.fd, 64, self->info));
	EXPECT_EQ(RDMA_EP_OBJ_ID, self->info[0].type);
	EXPECT_EQ(RDMA_EP_OBJ_REQUEST, self->info[0].flags);
	EXPECT_EQ(4711, self->info[0].cookie);
	EXPECT_EQ(self->s.dev, self->info[0].dev_index);
	child = self->info[0].handle;
	events = open_queue(own.fd, RDMA_EP_OBJ_ID, child);
	ASSERT_LT(0, events);
	OK(ABI(own.fd, OPEN_DEVICE, &dev));
	own.ctx = dev.ctx;
	own.pd = dev.pd;
	OK(abi_id_qp(&own, child, &qp));
	OK(abi_post_empty_recv(&own, qp.init.qp, 5));
	OK(abi_accept(&own, child, 9, 0));
	ev = NEXT_EVENT(events, EV_ESTABLISHED);
	EXPECT_EQ(9, ev.uid);
	EXPECT_EQ(0, abi_event(channel, EV_ESTABLISHED, NULL));
	OK(export(&client, 0));
	client.fd = adopt(client.fd, 0);
	ASSERT_LT(0, client.fd);
	ASSERT_LT(0, list(client.fd, 64, self->info));
	for (self->num = 0; self->info[self->num].type != RDMA_EP_OBJ_QP; self->num++)
		;
	OK(abi_post_empty_send(&client, self->info[self->num].handle, SEND_SIGNALED, 1));
	ASSERT_EQ(1, abi_wait(&own, qp.init.recv_cq.cq, &wc, 1));
	EXPECT_EQ(5, wc.wr_id);
	/* It ends with its session, and the listener stays. */
	close(own.fd);
	EXPECT_LT(12, list(self->s.fd, 64, self->info));
	abi_close(&client);
}

TEST_F(handover, only_requests_move)
{
	struct rdma_ep_cmd_split_id s = {};
	struct rdma_ep_cmd_create_qp qp;
	struct abi client;
	int channel, fd, fds;
	__u32 id, child;

	EXPECT_EQ(-EINVAL, split(self->s.fd, self->p.listener));
	/* Established, with a QP */
	EXPECT_EQ(-EINVAL, split(self->s.fd, self->p.end[1].id));
	EXPECT_EQ(-ENOENT, split(self->s.fd, self->p.end[1].qp.qp));
	OK(abi_open(&client));
	OK(listen_for(self));
	OK(request(self, &client, &channel, &id, &child));
	OK(abi_id_qp(&self->s, child, &qp));
	fds = abi_count_fds();
	s.id = child;
	EXPECT_EQ(-EBUSY, ABI(self->s.fd, SPLIT_ID, &s));
	EXPECT_EQ(qp.init.qp, s.busy);
	EXPECT_EQ(RDMA_EP_OBJ_QP, s.busy_type);
	EXPECT_EQ(-1, s.fd);
	EXPECT_EQ(fds, abi_count_fds());
	/* It is as before. */
	OK(abi_accept(&self->s, child, 0, 0));
	EXPECT_EQ(0, abi_event(channel, EV_ESTABLISHED, NULL));
	EXPECT_EQ(0, abi_event(self->channel, EV_ESTABLISHED, NULL));
	/* Without a taker the peer is rejected. */
	OK(request(self, &client, &channel, &id, &child));
	fd = split(self->s.fd, child);
	ASSERT_LT(0, fd);
	close(fd);
	EXPECT_EQ(0, abi_event(channel, EV_REJECTED, NULL));
	abi_close(&client);
}

/* A QP or SRQ that has been destroyed keeps no request; a listener is none, also with an SRQ. */
TEST_F(handover, request_moves_without_its_parts)
{
	struct rdma_ep_cmd_create_srq srq = { .max_wr = 4, .max_sge = 1 };
	struct rdma_ep_cmd_create_qp qp;
	struct abi client;
	int channel, fd;
	__u32 id, child;

	OK(abi_open(&client));
	OK(listen_for(self));
	OK(request(self, &client, &channel, &id, &child));
	OK(abi_id_qp(&self->s, child, &qp));
	EXPECT_EQ(-EBUSY, split(self->s.fd, child));
	OK(ABI_DESTROY(&self->s, QP, qp.init.qp));
	srq.id = child;
	OK(ABI(self->s.fd, CREATE_SRQ, &srq));
	EXPECT_EQ(-EBUSY, split(self->s.fd, child));
	OK(ABI_DESTROY(&self->s, SRQ, srq.srq));
	fd = split(self->s.fd, child);
	EXPECT_LT(0, fd);
	close(fd);
	EXPECT_EQ(0, abi_event(channel, EV_REJECTED, NULL));
	srq.id = self->p.listener;
	OK(ABI(self->s.fd, CREATE_SRQ, &srq));
	EXPECT_EQ(-EINVAL, split(self->s.fd, self->p.listener));
	abi_close(&client);
}

/* A result that cannot be written leaves the request where it was. */
TEST_F(handover, failed_split)
{
	struct rdma_ep_cmd_split_id *s = abi_map(LEN);
	struct rdma_ep_cmd_create_qp qp;
	struct abi client;
	int channel, fds;
	__u32 id, child;

	OK(abi_open(&client));
	OK(listen_for(self));
	OK(request(self, &client, &channel, &id, &child));
	fds = abi_count_fds();
	s->size = sizeof(*s);
	s->id = child;
	mprotect(s, LEN, PROT_READ);
	EXPECT_EQ(-EFAULT, abi_raw(self->s.fd, RDMA_EP_IOC_SPLIT_ID, s));
	EXPECT_EQ(fds, abi_count_fds());
	OK(abi_id_qp(&self->s, child, &qp));
	OK(abi_accept(&self->s, child, 0, 0));
	EXPECT_EQ(0, abi_event(channel, EV_ESTABLISHED, NULL));
	abi_close(&client);
}

TEST_HARNESS_MAIN
