// SPDX-License-Identifier: GPL-2.0-only
/*
 * LIST_OBJS reports all objects of a session, in steps. SET_OBJ sets values that the next owner
 * finds there.
 *
 * The tests would catch: an object that a step of the list omits, a wrong attribute or parent,
 * a list that is not bounded, a cookie or note that does not pass to the next owner, a uid that
 * does.
 */
#include "abi_test.h"

#define LEN	4096

FIXTURE(list) {
	struct abi s;
	struct abi_pair p;
	struct rdma_ep_obj_info info[ABI_LIST_MAX];
	int num;
	__u8 *mem;
	struct rdma_ep_cmd_reg_mr mr;
};

FIXTURE_SETUP(list)
{
	OK(abi_open(&self->s));
	self->p.rings = true;
	self->p.comp = FD(abi_comp_channel(&self->s));
	OK(abi_pair_open(&self->s, &self->p));
	self->mem = abi_map(LEN);
	OK(abi_reg_mr(&self->s, self->s.pd, self->mem, LEN, AC_ALL, &self->mr));
}

TEARDOWN_CLOSES(list)

static const struct rdma_ep_obj_info *find(struct _test_data_list *t, __u32 type, __u32 handle)
{
	for (int i = 0; i < t->num; i++)
		if (t->info[i].handle == handle && t->info[i].type == type)
			return &t->info[i];
	return NULL;
}

#define FIND(_type, _handle) ({						\
	__auto_type __i = find(self, RDMA_EP_OBJ_##_type, _handle);	\
									\
	ASSERT_NE(NULL, __i);						\
	__i;								\
})

static int set_uid(int fd, __u32 type, __u32 handle, __u64 uid)
{
	struct rdma_ep_cmd_set_obj o = {
		.flags = RDMA_EP_SET_UID, .type = type, .handle = handle, .uid = uid,
	};

	return ABI(fd, SET_OBJ, &o);
}

TEST_F(list, list_has_every_object)
{
	const struct abi_end *e = &self->p.end[1];
	const struct rdma_ep_obj_info *i;

	/* In steps of any size */
	for (__u32 step = 1; step < 9; step += 3) {
		self->num = abi_list_objs(self->s.fd, step, self->info);
		/* Context, PD, MR; listener; of each end id, QP, two CQs */
		ASSERT_EQ(3 + 1 + 8, self->num);
		for (int n = 1; n < self->num; n++)
			EXPECT_LT(self->info[n - 1].handle, self->info[n].handle);
	}
	i = FIND(CTX, self->s.ctx);
	EXPECT_EQ(RDMA_EP_OBJ_DEFAULT, i->flags);
	EXPECT_EQ(self->s.dev, i->dev_index);
	i = FIND(PD, self->s.pd);
	EXPECT_EQ(RDMA_EP_OBJ_DEFAULT, i->flags);
	EXPECT_EQ(self->s.ctx, i->ctx);
	i = FIND(MR, self->mr.mr);
	EXPECT_EQ(self->s.pd, i->pd);
	EXPECT_EQ((uintptr_t)self->mem, i->addr);
	EXPECT_EQ((uintptr_t)self->mem, i->iova);
	EXPECT_EQ(LEN, i->length);
	EXPECT_EQ(self->mr.lkey, i->lkey);
	EXPECT_EQ(self->mr.rkey, i->rkey);
	EXPECT_EQ(AC_ALL, i->access);
	i = FIND(QP, e->qp.qp);
	EXPECT_EQ(self->s.ctx, i->ctx);
	EXPECT_EQ(self->s.pd, i->pd);
	EXPECT_EQ(e->cq[0], i->send_cq);
	EXPECT_EQ(e->cq[1], i->recv_cq);
	EXPECT_EQ(e->qp.qp_num, i->number);
	EXPECT_EQ(QPT_RC, i->subtype);
	i = FIND(CQ, e->cq[1]);
	EXPECT_EQ(e->ring[1], i->ring);
	EXPECT_EQ(self->s.ctx, i->ctx);
	EXPECT_NE(0, i->channel);
	EXPECT_EQ(FIND(CQ, self->p.end[0].cq[0])->channel, i->channel);
	i = FIND(ID, e->id);
	EXPECT_EQ(0, i->flags);
	EXPECT_EQ(RDMA_PS_TCP, i->ps);
	EXPECT_EQ(QPT_RC, i->subtype);
	EXPECT_EQ(e->qp.qp, i->qp);
	EXPECT_EQ(self->s.dev, i->dev_index);
	EXPECT_NE(0, i->channel);
	EXPECT_NE(FIND(ID, self->p.end[0].id)->channel, i->channel);
	i = FIND(ID, self->p.listener);
	EXPECT_EQ(RDMA_EP_OBJ_LISTENING, i->flags);
}

TEST_F(list, list_is_bounded)
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

/* The cookie and the note of an object pass to the next owner, the uid does not. */
TEST_F(list, cookies_and_notes_stay)
{
	struct rdma_ep_cmd_set_obj o = {
		.flags = RDMA_EP_SET_UID | RDMA_EP_SET_COOKIE | RDMA_EP_SET_NOTE,
		.type = RDMA_EP_OBJ_QP, .handle = self->p.end[0].qp.qp, .uid = 7, .cookie = 8,
		.note = "note",
	};
	const struct rdma_ep_obj_info *i;
	__u32 cq;
	int fd;

	/* No completion event names a CQ without a channel. */
	OK(abi_create_cq(&self->s, -1, 1, 9, &cq));
	OK(ABI(self->s.fd, SET_OBJ, &o));
	self->num = abi_list_objs(self->s.fd, 64, self->info);
	i = FIND(QP, o.handle);
	EXPECT_EQ(7, i->uid);
	EXPECT_EQ(8, i->cookie);
	EXPECT_EQ(0, memcmp(o.note, i->note, sizeof(o.note)));
	EXPECT_EQ(9, FIND(CQ, cq)->uid);
	OK(set_uid(self->s.fd, RDMA_EP_OBJ_CQ, cq, 10));
	self->num = abi_list_objs(self->s.fd, 64, self->info);
	EXPECT_EQ(10, FIND(CQ, cq)->uid);
	fd = FD(abi_adopt(self->s.fd));
	self->num = abi_list_objs(fd, 64, self->info);
	i = FIND(QP, o.handle);
	EXPECT_EQ(0, i->uid);
	EXPECT_EQ(0, FIND(CQ, cq)->uid);
	EXPECT_EQ(8, i->cookie);
	EXPECT_EQ(0, memcmp(o.note, i->note, sizeof(o.note)));
	/* Each value can be set alone; a value without its flag is refused. */
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

TEST_HARNESS_MAIN
