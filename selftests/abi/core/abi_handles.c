// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: commands refuse wrong ones, objects in use cannot be destroyed, and all objects are
 * destroyed with the session.
 */
#include "abi_test.h"
#include "abi_cmds.h"

FIXTURE(handles) {
	struct abi_world w;
	struct abi_world other;
	union abi_arg valid;
	union abi_arg arg;
};

FIXTURE_SETUP(handles)
{
	__u32 pd;

	OK(abi_world_open(&self->w));
	OK(abi_world_open(&self->other));
	/* The other session's handles must be invalid in this one: they exceed all of this one. */
	for (int i = 0; i < 300; i++)
		OK(abi_alloc_pd(&self->other.s, self->other.s.ctx, &pd));
}

FIXTURE_TEARDOWN(handles)
{
	abi_close(&self->w.s);
	abi_close(&self->other.s);
}

static bool known(const struct abi_world *w, __u32 handle)
{
	for (int i = RDMA_EP_OBJ_CTX; i <= ABI_OBJ_LAST; i++) {
		if (w->obj[i] == handle)
			return true;
	}
	return handle == w->s.ctx || handle == w->s.pd;
}

static int make(struct abi_world *w, int type, __u32 *h)
{
	struct abi *s = &w->s;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_cmd_create_qp qp;
	int fd, ret;

	switch (type) {
	case RDMA_EP_OBJ_CTX:
		return abi_ctx(s, h, &fd);
	case RDMA_EP_OBJ_ID:
		return abi_tcp_id(s, w->channel, 0, h);
	case RDMA_EP_OBJ_PD:
		return abi_alloc_pd(s, s->ctx, h);
	case RDMA_EP_OBJ_MR:
		ret = abi_reg_mr(s, s->pd, w->page, 4096, 0, &mr);
		*h = mr.mr;
		return ret;
	case RDMA_EP_OBJ_AH:
		return abi_create_ah(s, s->pd, h);
	case RDMA_EP_OBJ_CQ:
		return abi_create_cq(s, -1, 8, 0, h);
	case RDMA_EP_OBJ_SRQ:
		return abi_create_srq(s, s->pd, 8, 0, h);
	case RDMA_EP_OBJ_QP:
		ret = abi_create_qp(s, QPT_RC, ABI_OBJ(w, CQ), 0, &qp);
		*h = qp.init.qp;
		return ret;
	case RDMA_EP_OBJ_MCAST:
		return abi_join(s, w->ud_id, 4, 0, h);
	case RDMA_EP_OBJ_XRCD:
		return abi_open_xrcd(s, -1, 0, h);
	}
	return -EINVAL;
}

/* Creates an object in the other session. This session has no object with the returned handle. */
static __u32 foreign(struct __test_metadata *_metadata, struct _test_data_handles *self, int type)
{
	__u32 h;

	OK(make(&self->other, type, &h));
	return h;
}

/* iWARP lacks some types of objects, and others need XRC. */
static bool missing(const struct abi_world *w, int type)
{
	switch (type) {
	case RDMA_EP_OBJ_AH:
	case RDMA_EP_OBJ_MCAST:
		return abi_missing(&w->s, ABI_IB);
	case RDMA_EP_OBJ_XRCD:
		return abi_missing(&w->s, ABI_XRC);
	default:
		return false;
	}
}

#define EXPECT_BAD(_what, _handle) ({					\
	self->arg = self->valid;					\
	self->arg.u32[at / 4] = (_handle);				\
	LOGGED(EXPECT_EQ(-ENOENT, abi_raw(w->s.fd, c->cmd, &self->arg)), \
	       "%s: %s as handle at %u", c->name, _what, at);		\
})

/* Each handle of each command, all else being valid */
TEST_F(handles, wrong_handles)
{
	static const char * const names[] = {
		[RDMA_EP_OBJ_CTX] = "context", [RDMA_EP_OBJ_ID] = "id",
		[RDMA_EP_OBJ_PD] = "PD", [RDMA_EP_OBJ_MR] = "MR",
		[RDMA_EP_OBJ_AH] = "AH", [RDMA_EP_OBJ_CQ] = "CQ",
		[RDMA_EP_OBJ_SRQ] = "SRQ", [RDMA_EP_OBJ_QP] = "QP",
		[RDMA_EP_OBJ_MCAST] = "membership",
		[RDMA_EP_OBJ_XRCD] = "XRC domain",
	};
	struct abi_world *w = &self->w;
	const struct abi_command *c;
	int ret;
	__u32 h, at;

	for_each_command(c) {
		if (!c->handles[0].type)
			continue;
		ret = abi_prepare(w, c, &self->valid);
		if (ret == -EOPNOTSUPP)
			continue;
		LOGGED(ASSERT_EQ(0, ret), "cannot prepare %s", c->name);
		for (unsigned int i = 0; i < ARRAY_SIZE(c->handles); i++) {
			if (!c->handles[i].type)
				break;
			at = c->handles[i].at;
			if (!c->handles[i].optional)
				EXPECT_BAD("0", 0);
			EXPECT_BAD("one never allocated", 0x7fffff00);
			EXPECT_BAD("one never allocated", 0x80000000);
			EXPECT_BAD("one never allocated", 0xffffffff);
			for (int type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++) {
				if (type != c->handles[i].type && w->obj[type])
					EXPECT_BAD(names[type], w->obj[type]);
			}
			h = foreign(_metadata, self, c->handles[i].type);
			ASSERT_FALSE(known(w, h));
			EXPECT_BAD("one of another session", h);
		}
		/* The valid arguments succeed. */
		LOGGED(EXPECT_EQ(w->result, abi_raw(w->s.fd, c->cmd, &self->valid)),
		       "%s: valid", c->name);
	}
}

/* The refused DESTROY does not change the other session's object. */
TEST_F(handles, destroy_foreign)
{
	__u32 h;

	for (int type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++) {
		if (missing(&self->w, type))
			continue;
		h = foreign(_metadata, self, type);
		EXPECT_EQ(-ENOENT, abi_destroy(&self->w.s, type, h));
		EXPECT_EQ(0, abi_destroy(&self->other.s, type, h));
	}
}

TEST_F(handles, destroy_wrong_type)
{
	static const __u32 unknown[] = {
		0, ABI_OBJ_LAST + 1, ABI_OBJ_LAST + 2, 0xffffffff, 0x80000001,
	};
	struct abi_world *w = &self->w;

	for (int have = RDMA_EP_OBJ_CTX; have <= ABI_OBJ_LAST; have++) {
		for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
			LOGGED(EXPECT_EQ(-EINVAL, abi_destroy(&w->s, unknown[i], w->obj[have])),
			       "%d as unknown type %u", have, unknown[i]);
		for (int claimed = RDMA_EP_OBJ_CTX; claimed <= ABI_OBJ_LAST; claimed++) {
			if (claimed == have)
				continue;
			LOGGED(EXPECT_EQ(-ENOENT, abi_destroy(&w->s, claimed, w->obj[have])),
			       "%d as %d", have, claimed);
		}
	}
	/* The objects still exist. */
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, ABI_OBJ(w, QP)));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, ID, ABI_OBJ(w, ID)));
}

/* Only QPs take RDMA_EP_DESTROY_DETACH. */
TEST_F(handles, destroy_flags)
{
	struct abi_world *w = &self->w;

	for (__u32 type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++)
		LOGGED(EXPECT_EQ(type == RDMA_EP_OBJ_QP ? 0 : -EINVAL,
				 abi_destroy_flags(&w->s, type, w->obj[type],
						   RDMA_EP_DESTROY_DETACH)), "type %u", type);
	/* The other objects still exist. */
	EXPECT_EQ(0, ABI_DESTROY(&w->s, MR, ABI_OBJ(w, MR)));
	if (!w->s.iwarp)
		EXPECT_EQ(0, ABI_DESTROY(&w->s, MCAST, ABI_OBJ(w, MCAST)));
}

TEST_F(handles, busy)
{
	struct abi_world *w = &self->w;
	const __u32 *obj = w->obj;
	struct rdma_ep_cmd_create_qp qp;
	__u32 pd;

	/* Users of the PD: MR, AH, SRQ, QP; of the SRQ: QP; of the CQ: QP (for both queues) */
	abi_qp_attr(&qp, QPT_RC, obj[RDMA_EP_OBJ_PD], obj[RDMA_EP_OBJ_CQ], obj[RDMA_EP_OBJ_CQ]);
	qp.init.srq = obj[RDMA_EP_OBJ_SRQ];
	OK(ABI(w->s.fd, CREATE_QP, &qp));
	OK(ABI_DESTROY(&w->s, QP, obj[RDMA_EP_OBJ_QP]));

	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, PD, obj[RDMA_EP_OBJ_PD]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, CQ, obj[RDMA_EP_OBJ_CQ]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, SRQ, obj[RDMA_EP_OBJ_SRQ]));
	OK(ABI_DESTROY(&w->s, QP, qp.init.qp));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, CQ, obj[RDMA_EP_OBJ_CQ]));

	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, PD, obj[RDMA_EP_OBJ_PD]));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, SRQ, obj[RDMA_EP_OBJ_SRQ]));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, PD, obj[RDMA_EP_OBJ_PD]));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, MR, obj[RDMA_EP_OBJ_MR]));
	if (!w->s.iwarp) {
		EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, PD, obj[RDMA_EP_OBJ_PD]));
		EXPECT_EQ(0, ABI_DESTROY(&w->s, AH, obj[RDMA_EP_OBJ_AH]));
	}
	EXPECT_EQ(0, ABI_DESTROY(&w->s, PD, obj[RDMA_EP_OBJ_PD]));

	/* The default context and PD cannot be destroyed, another context when it is empty. */
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, PD, w->s.pd));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, CTX, w->s.ctx));
	OK(abi_alloc_pd(&w->s, obj[RDMA_EP_OBJ_CTX], &pd));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, CTX, obj[RDMA_EP_OBJ_CTX]));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, PD, pd));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, CTX, obj[RDMA_EP_OBJ_CTX]));
}

static int destroy_ctx_contents(struct abi_world *w, __u32 type, __u32 handle)
{
	return abi_destroy_flags(&w->s, type, handle, RDMA_EP_DESTROY_CONTENTS);
}

/* Creates one object of each type that can be in a context, in s->ctx. */
static int fill_ctx(struct abi *s, void *mem, __u32 *obj)
{
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_reg_mr mr;
	int ret;

	memset(obj, 0, (ABI_OBJ_LAST + 1) * sizeof(*obj));
	ret = abi_alloc_pd(s, s->ctx, &obj[RDMA_EP_OBJ_PD]) ?:
	      abi_create_cq(s, -1, 8, 0, &obj[RDMA_EP_OBJ_CQ]) ?:
	      abi_create_srq(s, obj[RDMA_EP_OBJ_PD], 4, 0, &obj[RDMA_EP_OBJ_SRQ]) ?:
	      abi_reg_mr(s, obj[RDMA_EP_OBJ_PD], mem, 64, AC_LOCAL_WRITE, &mr);
	obj[RDMA_EP_OBJ_MR] = mr.mr;
	if (!ret && !s->iwarp)
		ret = abi_create_ah(s, obj[RDMA_EP_OBJ_PD], &obj[RDMA_EP_OBJ_AH]);
	if (ret)
		return ret;
	abi_qp_attr(&qp, QPT_RC, obj[RDMA_EP_OBJ_PD], obj[RDMA_EP_OBJ_CQ], obj[RDMA_EP_OBJ_CQ]);
	qp.init.srq = obj[RDMA_EP_OBJ_SRQ];
	ret = ABI(s->fd, CREATE_QP, &qp);
	obj[RDMA_EP_OBJ_QP] = qp.init.qp;
	return ret;
}

TEST_F(handles, context_with_contents)
{
	struct abi_world *w = &self->w;
	__u32 other[ABI_OBJ_LAST + 1], ctx = ABI_OBJ(w, CTX);
	struct abi s = w->s;

	s.ctx = ctx;
	OK(fill_ctx(&s, w->page, other));
	for (__u32 type = RDMA_EP_OBJ_CTX + 1; type <= ABI_OBJ_LAST; type++)
		EXPECT_EQ(-EINVAL, destroy_ctx_contents(w, type, w->obj[type]));
	/* The default context keeps its objects. */
	EXPECT_EQ(-EBUSY, destroy_ctx_contents(w, RDMA_EP_OBJ_CTX, w->s.ctx));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&w->s, CTX, ctx));

	EXPECT_EQ(0, destroy_ctx_contents(w, RDMA_EP_OBJ_CTX, ctx));
	EXPECT_EQ(-ENOENT, destroy_ctx_contents(w, RDMA_EP_OBJ_CTX, ctx));
	for (__u32 type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++)
		LOGGED(EXPECT_EQ(-ENOENT, abi_destroy(&w->s, type, other[type])), "type %u", type);
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, ABI_OBJ(w, QP)));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, SRQ, ABI_OBJ(w, SRQ)));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, CQ, ABI_OBJ(w, CQ)));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, MR, ABI_OBJ(w, MR)));
}

/* A CQ that another context uses remains, and its context with it. */
TEST_F(handles, context_whose_cq_is_used_elsewhere)
{
	struct abi_world *w = &self->w;
	__u32 ctx = ABI_OBJ(w, CTX), cq, pd;
	struct rdma_ep_cmd_create_qp qp;
	struct abi s = w->s;

	s.ctx = ctx;
	OK(abi_create_cq(&s, -1, 8, 0, &cq));
	OK(abi_alloc_pd(&s, ctx, &pd));
	abi_qp_attr(&qp, QPT_RC, ABI_OBJ(w, PD), cq, cq);
	OK(ABI(w->s.fd, CREATE_QP, &qp));
	EXPECT_EQ(-EBUSY, destroy_ctx_contents(w, RDMA_EP_OBJ_CTX, ctx));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(&w->s, PD, pd));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, QP, qp.init.qp));
	EXPECT_EQ(0, destroy_ctx_contents(w, RDMA_EP_OBJ_CTX, ctx));
	EXPECT_EQ(-ENOENT, ABI_DESTROY(&w->s, CQ, cq));
}

/* A failed creation keeps no reference to the PD and the CQs. */
TEST_F(handles, failed_creation_holds_nothing)
{
	struct abi_world *w = &self->w;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_cmd_reg_mr mr;
	__u32 pd, cq[2], srq;

	OK(abi_alloc_pd(&w->s, w->s.ctx, &pd));
	OK(abi_create_cq(&w->s, -1, 8, 0, &cq[0]));
	OK(abi_create_cq(&w->s, -1, 8, 0, &cq[1]));
	EXPECT_EQ(-EINVAL, abi_reg_mr(&w->s, pd, w->page, 0, 0, &mr));
	EXPECT_EQ(-EINVAL, abi_create_srq(&w->s, pd, 0, 0, &srq));
	abi_qp_attr(&qp, QPT_RC, pd, cq[0], cq[1]);
	qp.init.max_send_wr = ~0U;
	EXPECT_EQ(-EINVAL, ABI(w->s.fd, CREATE_QP, &qp));
	abi_qp_attr(&qp, QPT_RC, pd, cq[0], 0x7fffff00);
	EXPECT_EQ(-ENOENT, ABI(w->s.fd, CREATE_QP, &qp));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, CQ, cq[0]));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, CQ, cq[1]));
	EXPECT_EQ(0, ABI_DESTROY(&w->s, PD, pd));
}

TEST_F(handles, destroy_twice)
{
	__u32 h;

	for (int type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++) {
		if (missing(&self->w, type))
			continue;
		h = foreign(_metadata, self, type);
		EXPECT_EQ(0, abi_destroy(&self->other.s, type, h));
		EXPECT_EQ(-ENOENT, abi_destroy(&self->other.s, type, h));
	}
}

/* A late user of a destroyed object finds nothing, and not the object that was made next. */
TEST_F(handles, not_used_again_soon)
{
	__u32 old, h;

	for (int type = RDMA_EP_OBJ_CTX; type <= ABI_OBJ_LAST; type++) {
		if (missing(&self->w, type))
			continue;
		old = foreign(_metadata, self, type);
		OK(abi_destroy(&self->other.s, type, old));
		h = foreign(_metadata, self, type);
		EXPECT_NE(old, h);
		EXPECT_EQ(-ENOENT, abi_destroy(&self->other.s, type, old));
		EXPECT_EQ(0, abi_destroy(&self->other.s, type, h));
	}
}

/* Several tasks destroy the same object at the same time. */
struct race {
	const struct abi *s;
	pthread_barrier_t *barrier;
	__u32 type;
	__u32 *handle;
	int rounds;
	int won, lost;
};

static void *race_thread(void *arg)
{
	struct race *r = arg;
	int ret;

	for (int i = 0; i < r->rounds; i++) {
		pthread_barrier_wait(r->barrier);
		ret = abi_destroy(r->s, r->type, *r->handle);
		r->won += !ret;
		r->lost += ret == -ENOENT;
		pthread_barrier_wait(r->barrier);
	}
	return NULL;
}

TEST_F(handles, destroy_race)
{
	static const int types[] = {
		RDMA_EP_OBJ_PD, RDMA_EP_OBJ_CQ, RDMA_EP_OBJ_ID, RDMA_EP_OBJ_QP, RDMA_EP_OBJ_MCAST,
	};
	enum { THREADS = 2, ROUNDS = 100 };
	pthread_barrier_t barrier;
	pthread_t thread[THREADS];
	struct race r[THREADS];
	__u32 handle;

	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		if (missing(&self->w, types[t]))
			continue;
		pthread_barrier_init(&barrier, NULL, THREADS + 1);
		for (int i = 0; i < THREADS; i++) {
			r[i] = (struct race) {
				.s = &self->other.s, .barrier = &barrier, .type = types[t],
				.handle = &handle, .rounds = ROUNDS,
			};
			OK(pthread_create(&thread[i], NULL, race_thread, &r[i]));
		}
		for (int i = 0; i < ROUNDS; i++) {
			handle = foreign(_metadata, self, types[t]);
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		EXPECT_EQ(ROUNDS, r[0].won + r[1].won);
		EXPECT_EQ(ROUNDS, r[0].lost + r[1].lost);
		pthread_barrier_destroy(&barrier);
	}
}

/* One task uses objects that another task destroys. */
struct use {
	struct abi *s;
	__u32 qp, cq;
	volatile bool stop;
	int bad;
};

static void *use_thread(void *arg)
{
	struct use *u = arg;
	struct rdma_ep_wc wc[4];
	int ret;

	while (!u->stop) {
		ret = abi_qp_state(u->s, u->qp, QPS_ERR);
		if (ret && ret != -ENOENT && ret != -EINVAL)
			u->bad = ret;
		ret = abi_post_empty_recv(u->s, u->qp, 1);
		if (ret && ret != -ENOENT && ret != -EINVAL && ret != -ENOMEM)
			u->bad = ret;
		ret = abi_poll(u->s, u->cq, wc, 4);
		if (ret < 0 && ret != -ENOENT)
			u->bad = ret;
	}
	return NULL;
}

TEST_F(handles, use_while_destroyed)
{
	struct abi *s = &self->other.s;
	struct use u = { .s = s };
	struct rdma_ep_cmd_create_qp c;
	pthread_t thread;

	OK(pthread_create(&thread, NULL, use_thread, &u));
	for (int i = 0; i < 60; i++) {
		EXPECT_EQ(0, abi_create_cq(s, -1, 16, 0, &u.cq));
		EXPECT_EQ(0, abi_create_qp(s, QPT_RC, u.cq, 0, &c));
		abi_qp_init(s, c.init.qp, QPT_RC, 0);
		u.qp = c.init.qp;
		usleep(1000);
		/* The other task may still hold a reference, or poll the CQ. */
		EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
		EXPECT_EQ(0, ABI_DESTROY(s, CQ, u.cq));
	}
	u.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, u.bad);
}

/* Closing a copy of the descriptor does not close the session. */
TEST_F(handles, fork_and_close)
{
	struct abi *s = &self->w.s;
	__u32 qp = ABI_OBJ(&self->w, QP);
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		/* The child has the same session. */
		status = abi_state_of(s, qp);
		abi_close(s);
		_exit(status < 0);
	}
	EXPECT_SUCCESS(pid);
	usleep(100000);
	EXPECT_LE(0, abi_state_of(s, qp));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, qp));
}

/* Without any DESTROY, and with all channels open */
TEST(close_destroys_everything)
{
	struct abi_objects before, during;
	struct abi_world *w;
	struct abi_pair p = {};
	struct rdma_ep_channel_event ev;

	OK(abi_idle());
	SKIP_IF(abi_objects(&before), "no rdma(8)");
	w = calloc(1, sizeof(*w));
	OK(abi_world_open(w));
	OK(abi_pair_open(&w->s, &p));
	OK(abi_objects(&during));
	EXPECT_LE(before.pd + 2, during.pd);
	EXPECT_LE(before.cq + 5, during.cq);
	EXPECT_LE(before.qp + 3, during.qp);
	EXPECT_LE(before.mr + 1, during.mr);
	EXPECT_LE(before.cm_id + 3, during.cm_id);
	close(w->s.fd);
	EXPECT_EQ(0, abi_objects_wait(&before));
	EXPECT_EQ(-EIO, abi_read(p.end[0].channel, &ev, sizeof(ev), ABI_WAIT_MS));
	EXPECT_EQ(-EIO, abi_read(w->comp_channel, &ev, sizeof(ev), ABI_WAIT_MS));
	EXPECT_EQ(-EIO, abi_read(w->s.async_fd, &ev, sizeof(ev), ABI_WAIT_MS));
	close(w->channel);
	close(w->comp_channel);
	close(w->s.async_fd);
}

/* The same for a process that is killed. */
TEST(kill_destroys_everything)
{
	struct abi_objects before, during;
	int pipefd[2], status;
	char c = 0;
	pid_t pid;

	OK(abi_idle());
	SKIP_IF(abi_objects(&before), "no rdma(8)");
	OK(pipe(pipefd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct abi_world *w = calloc(1, sizeof(*w));
		struct abi_pair p = {};

		c = !abi_world_open(w) && !abi_pair_open(&w->s, &p);
		if (write(pipefd[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(pipefd[0], &c, 1));
	EXPECT_EQ(1, c);
	OK(abi_objects(&during));
	EXPECT_LT(before.qp, during.qp);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, abi_objects_wait(&before));
}

TEST_HARNESS_MAIN
