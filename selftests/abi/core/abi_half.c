// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that userfaultfd(2) stops where they read or write user memory. Meanwhile other
 * commands must not find objects that are being created, nor wait for the command; the session,
 * the listener or the owner may end.
 */
#include "abi_test.h"
#include "abi_cmds.h"
#include "abi/security/abi_recv_ring.h"

#define PAGE	ABI_STALL_BYTES

FIXTURE(half) {
	struct abi_world w;
	union abi_arg arg;
};

FIXTURE_SETUP(half)
{
	if (!abi_can_stall())
		SKIP_FIXTURE("no userfaultfd for writes");
	OK(abi_idle());
	OK(abi_world_open(&self->w));
}

FIXTURE_TEARDOWN(half)
{
	abi_close(&self->w.s);
}

/* Destroys all objects with handles in this range. Returns how many. */
static int destroy_guessed(const struct abi *s, __u32 from, __u32 to)
{
	int n = 0;

	for (__u32 h = from; h < to; h++)
		for (__u32 type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++)
			n += !abi_destroy(s, type, h);
	return n;
}

/* An object cannot be used before its command has returned. */
TEST_F_TIMEOUT(half, unpublished_object_not_found, 120)
{
	struct abi_world *w = &self->w;
	const struct abi_command *c;
	int found = 0, commands = 0, next;
	struct abi_stall st;
	struct abi_call call;
	__u32 pd;

	for_each_command(c) {
		if (!c->creates || abi_left_out(&w->s, c))
			continue;
		LOGGED(ASSERT_EQ(0, abi_prepare(w, c, &self->arg)), "cannot prepare %s", c->name);
		/* Handles ascend. */
		OK(abi_alloc_pd(&w->s, w->s.ctx, &pd));
		OK(abi_stall_begin(&st, &self->arg, _IOC_SIZE(c->cmd), false));
		next = dup(0);
		close(next);
		OK(abi_call(&call, w->s.fd, c->cmd, st.page));
		LOGGED(ASSERT_EQ(0, abi_stall_wait(&st)), "%s", c->name);
		LOGGED(EXPECT_EQ(0, destroy_guessed(&w->s, pd + 1, pd + 16)), "%s", c->name);
		LOGGED(EXPECT_EQ(-1, fcntl(next, F_GETFD)), "%s: file %d", c->name, next);
		abi_stall_end(&st, NULL);
		ASSERT_TRUE(abi_call_returned(&call));
		LOGGED(EXPECT_EQ(w->result, call.ret), "%s", c->name);
		found += !!destroy_guessed(&w->s, pd + 1, pd + 16);
		commands++;
		munmap(st.page, PAGE);
	}
	/* The handles were in the range of the search. */
	EXPECT_LT(8, commands);
	EXPECT_LE(w->s.iwarp ? 6 : 7, found);
}

/* The session is closed while a command creates an object in it. */
TEST_F_TIMEOUT(half, session_closed_while_creating, 120)
{
	struct abi_world *w = &self->w;
	const struct abi_command *c;
	struct abi_stall st;
	struct abi_call call;
	int first;

	abi_close(&w->s);
	OK(abi_idle());
	for_each_command(c) {
		if (!c->creates || abi_left_out(&w->s, c))
			continue;
		first = dup(0);
		close(first);
		OK(abi_world_open(w));
		LOGGED(ASSERT_EQ(0, abi_prepare(w, c, &self->arg)), "cannot prepare %s", c->name);
		OK(abi_stall_begin(&st, &self->arg, _IOC_SIZE(c->cmd), false));
		OK(abi_call(&call, w->s.fd, c->cmd, st.page));
		OK(abi_stall_wait(&st));
		abi_close(&w->s);
		abi_stall_end(&st, NULL);
		ASSERT_TRUE(abi_call_returned(&call));
		munmap(st.page, PAGE);
		/* Close the channels' files. */
		close_range(first, ~0U, 0);
		LOGGED(ASSERT_EQ(0, abi_idle()), "%s", c->name);
	}
}

struct reading {
	pthread_t thread;
	int fd;
	void *page;
	int ret;
};

static void *read_thread(void *arg)
{
	struct reading *r = arg;

	r->ret = read(r->fd, r->page, sizeof(struct rdma_ep_channel_event));
	if (r->ret < 0)
		r->ret = -errno;
	return NULL;
}

/*
 * A request that is being read already has an id, which cannot be used. Meanwhile its listener is
 * destroyed, or the session is closed.
 */
static void request(struct __test_metadata *_metadata, struct abi *s, bool close_session)
{
	int channel = abi_channel(s), client = abi_channel(s);
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_channel_event *ev;
	struct reading r = { .fd = channel };
	struct sockaddr_in sin;
	struct abi_stall st;
	__u32 listener, id, pd;
	static __u8 zero[PAGE];

	OK(abi_tcp_listen(s, channel, 0, 0, &listener, &sin));
	OK(abi_tcp_client(s, client, &sin, 0, &id));
	OK(abi_id_qp(s, id, &qp));
	OK(abi_alloc_pd(s, s->ctx, &pd));
	OK(abi_connect(s, id, 0));
	ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
	OK(abi_stall_begin(&st, zero, PAGE, false));
	r.page = st.page;
	OK(pthread_create(&r.thread, NULL, read_thread, &r));
	OK(abi_stall_wait(&st));
	EXPECT_EQ(0, destroy_guessed(s, pd + 1, pd + 8));
	if (close_session)
		abi_close(s);
	else
		EXPECT_EQ(0, ABI_DESTROY(s, ID, listener));
	abi_stall_end(&st, NULL);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(sizeof(*ev), r.ret);
	ev = (void *)st.page;
	EXPECT_EQ(EV_CONNECT_REQUEST, ev->event);
	if (!close_session)
		EXPECT_EQ(0, ABI_DESTROY(s, ID, ev->child));
	close(channel);
	close(client);
}

TEST_F(half, listener_destroyed_while_read)
{
	request(_metadata, &self->w.s, false);
}

TEST_F(half, session_closed_while_read)
{
	abi_close(&self->w.s);
	OK(abi_idle());
	OK(abi_open(&self->w.s));
	request(_metadata, &self->w.s, true);
	EXPECT_EQ(0, abi_idle());
}

/* The command that creates the id's SRQ waits for user memory, and fails. */
TEST_F(half, unpublished_srq_not_used)
{
	struct abi *s = &self->w.s;
	struct rdma_ep_cmd_create_srq srq = { .size = sizeof(srq), .max_wr = 8, .max_sge = 1 };
	struct rdma_ep_cmd_create_qp qp;
	struct sockaddr_in sin = s->addr;
	struct abi_stall st;
	struct abi_call c;
	__u32 id;

	sin.sin_port = 0;
	OK(abi_tcp_id(s, self->w.channel, 0, &id));
	OK(abi_bind(s, id, &sin));
	srq.id = id;
	OK(abi_stall_begin(&st, &srq, sizeof(srq), false));
	OK(abi_call(&c, s->fd, RDMA_EP_IOC_CREATE_SRQ, st.page));
	OK(abi_stall_wait(&st));
	/* The SRQ cannot be used yet: the QP gets a queue of its own. */
	OK(abi_id_qp(s, id, &qp));
	munmap(st.page, PAGE);
	abi_stall_end(&st, NULL);
	EXPECT_RETURNS(-EFAULT, &c);
	EXPECT_EQ(0, abi_post_empty_recv(s, qp.init.qp, 1));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, qp.init.qp));
	/* The id can have another SRQ. */
	EXPECT_EQ(0, ABI(s->fd, CREATE_SRQ, &srq));
}

#define NUMBERS	16

/*
 * Tries to connect the id to a QP of which the command is being executed: to its own QP, or to one
 * with a number that follows @after, or is the same.
 */
static void connect_guessed(struct __test_metadata *_metadata, const struct abi *s, __u32 id,
			    bool own, __u32 after)
{
	for (__u32 i = 0; i < NUMBERS; i++)
		EXPECT_EQ(-EINVAL, abi_connect(s, id, own ? 0 : after + i));
}

/* An id does not connect with a QP before the QP's command has returned. */
TEST_F(half, unpublished_qp_not_connected)
{
	struct rdma_ep_cmd_create_qp before, new, *qp;
	struct sockaddr_in sin;
	__u32 listener, id, cq;
	struct abi_stall st;
	struct abi_call c;
	int channel, client;
	struct abi s;

	OK(abi_open(&s));
	channel = FD(abi_channel(&s));
	client = FD(abi_channel(&s));
	OK(abi_create_cq(&s, -1, 64, 0, &cq));
	OK(abi_tcp_listen(&s, channel, 4, 0, &listener, &sin));
	for (int own = 0; own < 2; own++) {
		OK(abi_tcp_client(&s, client, &sin, 0, &id));
		OK(abi_create_qp(&s, QPT_RC, cq, 0, &before));
		OK(ABI_DESTROY(&s, QP, before.init.qp));
		abi_qp_attr(&new, QPT_RC, s.pd, cq, cq);
		new.size = sizeof(new);
		new.id = own ? id : 0;
		OK(abi_stall_begin(&st, &new, sizeof(new), false));
		OK(abi_call(&c, s.fd, RDMA_EP_IOC_CREATE_QP, st.page));
		OK(abi_stall_wait(&st));
		connect_guessed(_metadata, &s, id, own, before.init.qp_num);
		abi_stall_end(&st, NULL);
		EXPECT_RETURNS(0, &c);
		qp = (void *)st.page;
		EXPECT_GT(NUMBERS, qp->init.qp_num - before.init.qp_num);
		EXPECT_EQ(0, abi_connect(&s, id, own ? 0 : qp->init.qp_num));
		OK(ABI_DESTROY(&s, ID, id));
		OK(ABI_DESTROY(&s, QP, qp->init.qp));
		munmap(st.page, PAGE);
	}
	abi_close(&s);
}

/* A post that waits for its list delays no other command. */
TEST_F(half, stuck_list_blocks_no_others)
{
	struct abi *s = &self->w.s;
	struct abi_pair p = {};
	struct rdma_ep_cmd_post arg = {
		.size = sizeof(arg), .num = 1, .wrs_len = sizeof(struct rdma_ep_send_wr),
	};
	struct rdma_ep_send_wr wr = { .opcode = WR_SEND };
	static __u8 page[PAGE];
	struct abi_stall st;
	struct abi_call c;

	OK(abi_pair_open(s, &p));
	memcpy(page, &wr, sizeof(wr));
	OK(abi_stall_begin(&st, NULL, 0, true));
	arg.wrs = (uintptr_t)st.page;
	arg.handle = p.end[0].qp.qp;
	OK(abi_call(&c, s->fd, RDMA_EP_IOC_POST_SEND, &arg));
	OK(abi_stall_wait(&st));
	EXPECT_WITHIN(ABI_WAIT_MS,
		      EXPECT_EQ(0, abi_qp_state(s, p.end[0].qp.qp, QPS_ERR));
		      EXPECT_EQ(0, ABI_DESTROY(s, QP, p.end[0].qp.qp));
		      EXPECT_EQ(0, ABI_DESTROY(s, CQ, p.end[0].cq[0]));
		      EXPECT_EQ(0, ABI_DESTROY(s, ID, p.end[0].id)));
	abi_stall_end(&st, page);
	EXPECT_RETURNS(-ENOENT, &c);
}

/* Nor does a registration that waits for its memory. */
TEST_F(half, stuck_registration_blocks_no_others)
{
	struct abi *s = &self->w.s;
	struct rdma_ep_cmd_reg_mr mr = { .length = PAGE, .pd = s->pd, .access = AC_ALL };
	struct abi_call c;
	static __u8 page[PAGE];
	struct abi_pair p = {};
	struct abi_stall st;
	__u32 pd;

	OK(abi_stall_begin(&st, NULL, 0, true));
	mr.addr = (uintptr_t)st.page;
	mr.iova = mr.addr;
	OK(ABI_CALL(&c, s, REG_MR, &mr));
	while (!c.done && !abi_ready(st.fd, 10))
		;
	if (c.done) {
		EXPECT_RETURNS(-EFAULT, &c);
		SKIP(return, "this kernel does not wait for pages to pin");
	}
	EXPECT_EQ(0, abi_pair_open(s, &p));
	EXPECT_EQ(0, abi_alloc_pd(s, s->ctx, &pd));
	EXPECT_EQ(0, ABI_DESTROY(s, PD, pd));
	EXPECT_FALSE(c.done);
	abi_stall_end(&st, page);
	EXPECT_RETURNS(0, &c);
}

/* An adopter does not wait for ever for a call whose list does not come. */
TEST_F_TIMEOUT(half, stuck_call_delays_adoption_only, 60)
{
	struct rdma_ep_cmd_post arg = {
		.size = sizeof(arg), .num = 1, .wrs_len = sizeof(struct rdma_ep_send_wr),
	};
	struct abi *s = &self->w.s;
	static __u8 page[PAGE];
	struct abi_pair p = {};
	struct abi_stall st;
	struct abi_call c;
	__u32 pd;
	int fd;

	OK(abi_pair_open(s, &p));
	OK(abi_stall_begin(&st, NULL, 0, true));
	arg.wrs = (uintptr_t)st.page;
	arg.handle = p.end[0].qp.qp;
	OK(abi_call(&c, s->fd, RDMA_EP_IOC_POST_SEND, &arg));
	OK(abi_stall_wait(&st));
	EXPECT_WITHIN(ABI_WAIT_MS, EXPECT_EQ(-ETIMEDOUT, abi_adopt(s->fd)));
	/* The session has no owner, and can be adopted later. */
	EXPECT_EQ(-EBADF, abi_alloc_pd(s, s->ctx, &pd));
	abi_stall_end(&st, page);
	ASSERT_TRUE(abi_call_returned(&c));
	fd = FD(abi_adopt(s->fd));
	close(s->fd);
	s->fd = fd;
	EXPECT_EQ(0, abi_alloc_pd(s, s->ctx, &pd));
}

/* A RESTRICT waits for its memory until another owner has adopted the session. */
TEST_F(half, late_restriction_spares_next_owner)
{
	struct rdma_ep_grant grants[PAGE / sizeof(struct rdma_ep_grant)] = {
		{ .type = RDMA_EP_GRANT_DEVICE, .dev_index = self->w.s.dev },
	};
	struct rdma_ep_cmd_restrict r = { .flags = RDMA_EP_RESTRICT_DEVICES, .num_grants = 1 };
	struct abi next = self->w.s, *s = &self->w.s;
	static __u8 page[PAGE];
	struct abi_call c;
	struct abi_stall st;

	memcpy(page, grants, sizeof(grants));
	OK(abi_stall_begin(&st, NULL, 0, true));
	r.grants = (uintptr_t)st.page;
	OK(ABI_CALL(&c, s, RESTRICT, &r));
	OK(abi_stall_wait(&st));
	next.fd = FD(abi_adopt(s->fd));
	abi_stall_end(&st, page);
	EXPECT_RETURNS(-EBADF, &c);
	EXPECT_EQ(-1, abi_fdinfo(&next, "restriction"));
	close(s->fd);
	s->fd = next.fd;
}

/* The next owner has the session. Its ring of receives opens, and is pulled. */
static int use_next_owner(struct _test_data_recv *t, int fd)
{
	munmap(t->rings, ABI_RINGS_BYTES);
	close(t->s.fd);
	t->s.fd = fd;
	t->rings = abi_rings(&t->s);
	if (!t->rings)
		return -ENOMEM;
	t->r = (void *)&t->rings[t->srq.ring];
	if (settle(t, &t->c[0]) || t->r->kick || put(t, 8, 16) != 8)
		return -EAGAIN;
	return send_n(t, &t->c[0], 24) ?: take(t, &t->c[0], 24);
}

/* An EXPORT, which gives the rings of receives up, waits for its memory that long. */
TEST_F(recv, late_export_spares_next_owner)
{
	const struct rdma_ep_cmd_export e = { .size = sizeof(e) };
	static __u8 page[PAGE];
	struct abi_call c;
	struct abi_stall st;
	int next;

	if (!abi_can_stall())
		SKIP(return, "no userfaultfd for writes");
	OK(open_ring(self));
	memcpy(page, &e, sizeof(e));
	OK(abi_stall_begin(&st, NULL, 0, true));
	OK(abi_call(&c, self->s.fd, RDMA_EP_IOC_EXPORT, st.page));
	OK(abi_stall_wait(&st));
	next = FD(abi_adopt(self->s.fd));
	abi_stall_end(&st, page);
	EXPECT_RETURNS(-EBADF, &c);
	OK(use_next_owner(self, next));
}

/* EXPORT and ADOPT wait for the same call. */
TEST_F(recv, export_during_adoption_spares_next_owner)
{
	struct rdma_ep_cmd_post p = { .size = sizeof(p), .num = 1, .wrs_len = 64 };
	struct rdma_ep_cmd_export e = {};
	struct rdma_ep_cmd_adopt a = {};
	struct abi_call sender, export, adopt;
	static __u8 page[PAGE];
	struct abi_stall st;

	if (!abi_can_stall())
		SKIP(return, "no userfaultfd for writes");
	OK(open_ring(self));
	OK(abi_stall_begin(&st, NULL, 0, true));
	p.wrs = (uintptr_t)st.page;
	p.handle = self->c[0].from.qp;
	OK(abi_call(&sender, self->s.fd, RDMA_EP_IOC_POST_SEND, &p));
	OK(abi_stall_wait(&st));
	START_BLOCKED(&adopt, &self->s, ADOPT, &a);
	START_BLOCKED(&export, &self->s, EXPORT, &e);
	memset(page, 0xff, sizeof(page));
	abi_stall_end(&st, page);
	EXPECT_RETURNS(-EINVAL, &sender);
	EXPECT_RETURNS(0, &adopt);
	ASSERT_TRUE(abi_call_returned(&export));
	EXPECT_TRUE(export.ret == -EBUSY || export.ret == -EBADF);
	OK(use_next_owner(self, a.fd));
}

TEST_HARNESS_MAIN
