// SPDX-License-Identifier: GPL-2.0-only
/* XRC in use: the data path, ids, driver errors, and removal of the device */
#include "abi_test.h"
#include "abi_xrc.h"

/* ---- the data path */

struct path {
	__u32 xrcd, cq, recv_cq, qp, target, target_num;
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_reg_mr mr;
};

/*
 * A QP of this type that is connected to a target. The mock device delivers sends of any connected
 * QP to the XRC SRQ.
 */
static int path_open(const struct abi *s, void *mem, __u32 type, struct path *p)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_open_xrcd(s, -1, 0, &p->xrcd) ?:
	      abi_create_cq(s, -1, 64, 0, &p->cq) ?:
	      abi_create_cq(s, -1, 64, 0, &p->recv_cq) ?:
	      new_srq(s, p->xrcd, p->recv_cq, &p->srq) ?:
	      abi_reg_mr(s, s->pd, mem, 65536, AC_ALL, &p->mr) ?:
	      new_target(s, p->xrcd, &c);
	if (ret)
		return ret;
	p->target = c.init.qp;
	p->target_num = c.init.qp_num;
	abi_qp_attr(&c, type, s->pd, p->cq, type == INI ? 0 : p->cq);
	ret = ABI(s->fd, CREATE_QP, &c);
	p->qp = c.init.qp;
	if (ret || (type == INI && (c.init.max_recv_wr || c.init.recv_cq.cq)))
		return ret ?: -EPROTO;
	return abi_qp_init(s, p->qp, type, 0) ?:
	       abi_qp_init(s, p->target, TGT, 0) ?:
	       abi_qp_rts(s, p->qp, type, p->target_num) ?:
	       abi_qp_rts(s, p->target, TGT, c.init.qp_num);
}

/* Posts a receive, and sends an empty message to it. */
static int path_message(const struct abi *s, const struct path *p, __u64 wr_id)
{
	struct abi_wrs w;

	abi_wrs_recv(&w, wr_id);
	return ABI_POST(s, SRQ_RECV, p->srq.srq, &w, NULL) ?:
	       abi_post_empty_send(s, p->qp, 0, 1);
}

TEST_F(xrc, xrc_receive)
{
	struct abi *s = &self->s;
	struct path p = {};
	struct abi_wrs w;

	OK(path_open(s, self->mem, RC, &p));
	for (int i = 0; i < 40; i++) {
		memset(self->mem, i + 1, 500);
		abi_wrs_recv(&w, i);
		abi_sge(&w, (uintptr_t)self->mem + 4096, 500, p.mr.lkey);
		OK(ABI_POST(s, SRQ_RECV, p.srq.srq, &w, NULL));
		OK(abi_post_send(s, p.qp, SEND_SIGNALED, 100 + i, self->mem, 500, p.mr.lkey));
		EXPECT_EQ(p.target_num, EXPECT_WC(s, p.recv_cq, i, WC_SUCCESS).qp_num);
		EXPECT_WC(s, p.cq, 100 + i, WC_SUCCESS);
		EXPECT_EQ(0, memcmp(self->mem, self->mem + 4096, 500));
	}
	/* An invalid key is refused. */
	abi_wrs_recv(&w, 1);
	abi_sge(&w, (uintptr_t)self->mem, 500, p.mr.lkey + 1);
	EXPECT_EQ(-EINVAL, ABI_POST(s, SRQ_RECV, p.srq.srq, &w, NULL));
	/* The SRQ is destroyed before the completion is polled. */
	OK(path_message(s, &p, 55));
	OK(ABI_DESTROY(s, SRQ, p.srq.srq));
	OK(ABI_DESTROY(s, QP, p.target));
	EXPECT_EQ(p.target_num, EXPECT_WC(s, p.recv_cq, 55, WC_SUCCESS).qp_num);
}

/* A completion has QP number 0 if the last opener destroyed the QP before the poll. */
TEST_F(xrc, completion_of_destroyed_target)
{
	struct abi *s = &self->s;
	struct path p = {};
	__u32 opened;

	OK(path_open(s, self->mem, RC, &p));
	OK(open_qp(s, p.xrcd, p.target_num, 0, &opened));
	OK(path_message(s, &p, 65));
	OK(ABI_DESTROY(s, QP, opened));
	EXPECT_EQ(p.target_num, EXPECT_WC(s, p.recv_cq, 65, WC_SUCCESS).qp_num);
	OK(path_message(s, &p, 66));
	OK(ABI_DESTROY(s, QP, p.target));
	EXPECT_EQ(0, EXPECT_WC(s, p.recv_cq, 66, WC_SUCCESS).qp_num);
}

TEST_F(xrc, initiator_opcodes)
{
	static const __u32 refused[] = {
		WR_SEND, WR_SEND_WITH_IMM, WR_RDMA_WRITE_WITH_IMM, WR_SEND_WITH_INV,
	};
	static const __u32 offered[] = {
		WR_RDMA_WRITE, WR_RDMA_READ, WR_CMP_AND_SWP, WR_FETCH_AND_ADD,
	};
	__u64 *local = (__u64 *)self->mem, *remote = local + 4096 / 8;
	struct rdma_ep_send_wr *wr;
	struct abi *s = &self->s;
	struct rdma_ep_wc wc;
	struct path p = {};
	struct abi_wrs w;
	__u32 posted;

	OK(path_open(s, self->mem, INI, &p));
	for (size_t i = 0; i < ARRAY_SIZE(offered); i++) {
		*local = 0x1111;
		*remote = 0x2222;
		wr = abi_wrs_send(&w, offered[i], SEND_SIGNALED, i);
		wr->remote_addr = (uintptr_t)remote;
		wr->rkey = p.mr.rkey;
		wr->compare_add = offered[i] == WR_CMP_AND_SWP ? 0x2222 : 1;
		wr->swap = 0x3333;
		abi_sge(&w, (uintptr_t)local, 8, p.mr.lkey);
		OK(ABI_POST(s, SEND, p.qp, &w, NULL));
		EXPECT_WC(s, p.cq, i, WC_SUCCESS);
		EXPECT_EQ(offered[i] == WR_RDMA_WRITE ? 0x1111 : 0x2222, *local);
		EXPECT_EQ(offered[i] == WR_RDMA_WRITE ? 0x1111 :
			  offered[i] == WR_RDMA_READ ? 0x2222 :
			  offered[i] == WR_CMP_AND_SWP ? 0x3333 : 0x2223, *remote);
	}
	/* struct ib_send_wr has no field for the remote SRQ number. */
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		abi_wrs_send(&w, refused[i], SEND_SIGNALED, i);
		posted = 9;
		LOGGED(EXPECT_EQ(-EOPNOTSUPP, ABI_POST(s, SEND, p.qp, &w, &posted)),
		       "opcode %u", refused[i]);
		EXPECT_EQ(0, posted);
	}
	for (__u32 op = 7; op < 256; op++) {
		abi_wrs_send(&w, op, SEND_SIGNALED, 1);
		if (op != WR_SEND_WITH_INV)
			EXPECT_EQ(-EINVAL, ABI_POST(s, SEND, p.qp, &w, NULL));
	}
	EXPECT_EQ(0, abi_poll(s, p.cq, &wc, 1));

	/* Neither QP takes receives, and the target takes no sends. */
	abi_wrs_recv(&w, 1);
	EXPECT_EQ(-EINVAL, ABI_POST(s, RECV, p.qp, &w, NULL));
	EXPECT_EQ(-EINVAL, ABI_POST(s, RECV, p.target, &w, NULL));
	for (__u32 op = 0; op < 16; op++) {
		struct rdma_ep_cmd_post post = {
			.flags = op & 8 ? RDMA_EP_POST_ALL : 0, .handle = p.target, .num = 1,
		};

		abi_wrs_send(&w, op & 7, SEND_SIGNALED, 1);
		post.wrs = (uintptr_t)w.buf;
		post.wrs_len = w.len;
		EXPECT_EQ(-EINVAL, ABI(s->fd, POST_SEND, &post));
	}
}

/* ---- ids */

TEST_F(xrc, xrc_ids_connect)
{
	struct abi *s = &self->s;
	__u32 xrcd, cq, listener, child, plain;
	struct rdma_ep_cmd_get_request req = {};
	struct rdma_ep_cmd_create_ep ep = {};
	struct rdma_ep_cmd_create_srq srq;
	struct rdma_ep_cmd_create_qp c;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_cmd_reg_mr mr;
	struct sockaddr_in sin = s->addr;
	struct abi_wrs w;
	int channel = abi_channel(s);

	OK(abi_open_xrcd(s, -1, 0, &xrcd));
	OK(abi_create_cq(s, -1, 16, 0, &cq));
	OK(abi_reg_mr(s, s->pd, self->mem, 65536, AC_ALL, &mr));
	OK(abi_create_id(s, channel, PS_IB, TGT, 1, &listener));
	OK(abi_bind(s, listener, &sin));
	OK(ABI_ID_CMD(s, LISTEN, listener, 4));

	/* The client uses CREATE_EP. */
	abi_own_ep(s, ntohs(sin.sin_port), &ep);
	ep.ps = PS_IB;
	ep.qp_type = INI;
	EXPECT_EQ(-EINVAL, ABI_WITH(s->fd, CREATE_EP, ep, qp.qp_type, RC));
	ep.qp.qp_type = INI;
	OK(ABI(s->fd, CREATE_EP, &ep));
	EXPECT_EQ(QPS_INIT, ep.qp.state);
	EXPECT_LE(0, ep.qp.send_cq.channel_fd);
	EXPECT_EQ(-1, ep.qp.recv_cq.channel_fd);
	EXPECT_EQ(0, ep.qp.recv_cq.cq);
	OK(abi_connect(s, ep.id, 0));

	/* The server has its domain in place of a PD. */
	ASSERT_TRUE(abi_ready(channel, ABI_WAIT_MS));
	req.id = listener;
	req.flags = RDMA_EP_EP_CREATE_QP;
	abi_qp_attr(&c, TGT, xrcd, 0, 0);
	req.qp = c.init;
	OK(ABI(s->fd, GET_REQUEST, &req));
	ASSERT_EQ(0, req.qp_errno);
	EXPECT_EQ(QPS_INIT, req.qp.state);
	child = req.event.child;
	srq = (struct rdma_ep_cmd_create_srq) {
		.id = child, .max_wr = 4, .max_sge = 1, .srq_type = IB_UVERBS_SRQT_XRC,
		.xrcd = xrcd, .cq = cq,
	};
	OK(ABI(s->fd, CREATE_SRQ, &srq));
	EXPECT_EQ(s->pd, srq.pd);
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_SRQ, &srq));
	OK(abi_accept(s, child, 2, 0));
	EXPECT_EQ(req.qp.qp_num, NEXT_EVENT(ep.channel_fd, EV_ESTABLISHED).param.conn.qp_num);
	EXPECT_EQ(2, NEXT_EVENT(channel, EV_ESTABLISHED).uid);
	EXPECT_EQ(QPS_RTS, abi_state_of(s, ep.qp.qp));
	EXPECT_EQ(QPS_RTS, abi_state_of(s, req.qp.qp));

	memset(self->mem, 0x5a, 100);
	wr = abi_wrs_send(&w, WR_RDMA_WRITE, SEND_SIGNALED, 7);
	wr->remote_addr = (uintptr_t)self->mem + 4096;
	wr->rkey = mr.rkey;
	abi_sge(&w, (uintptr_t)self->mem, 100, mr.lkey);
	OK(ABI_POST(s, SEND, ep.qp.qp, &w, NULL));
	EXPECT_WC(s, ep.qp.send_cq.cq, 7, WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->mem, self->mem + 4096, 100));

	OK(ABI_ID_CMD(s, DISCONNECT, ep.id, 0));
	EXPECT_EQ(0, abi_event(channel, EV_DISCONNECTED, NULL));
	EXPECT_EQ(QPS_ERR, abi_state_of(s, ep.qp.qp));

	/* Ids of other types take no XRC QPs. */
	sin.sin_port = 0;
	OK(abi_create_id(s, channel, RDMA_PS_TCP, RC, 1, &plain));
	OK(abi_bind(s, plain, &sin));
	abi_qp_attr(&c, TGT, xrcd, 0, 0);
	c.id = plain;
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c));
	abi_qp_attr(&c, INI, 0, 0, 0);
	c.id = plain;
	EXPECT_EQ(-EINVAL, ABI(s->fd, CREATE_QP, &c));
	EXPECT_EQ(0, ABI_DESTROY(s, ID, child));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, req.qp.qp));
	EXPECT_EQ(0, ABI_DESTROY(s, SRQ, srq.srq));
	EXPECT_EQ(0, close_xrcd(s, xrcd));
	close(ep.channel_fd);
	close(ep.qp.send_cq.channel_fd);
	close(channel);
}

#define ITEM_MS	(3000 * TEST_SCALE)

/* A listener whose requests get targets, and a client's endpoint */
static int connect_to_target(const struct abi *s, int channel, struct rdma_ep_cmd_create_ep *ep,
			     struct rdma_ep_cmd_get_request *req)
{
	struct sockaddr_in sin = s->addr;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd;
	int ret;

	ret = abi_open_xrcd(s, -1, 0, &xrcd) ?:
	      abi_create_id(s, channel, PS_IB, TGT, 1, &req->id) ?:
	      abi_bind(s, req->id, &sin) ?: ABI_ID_CMD(s, LISTEN, req->id, 4);
	if (ret)
		return ret;
	abi_own_ep(s, ntohs(sin.sin_port), ep);
	ep->ps = PS_IB;
	ep->qp_type = INI;
	ep->qp.qp_type = INI;
	ret = ABI(s->fd, CREATE_EP, ep) ?: abi_connect(s, ep->id, 0);
	if (ret || !abi_ready(channel, ABI_WAIT_MS))
		return ret ?: -ETIMEDOUT;
	req->flags = RDMA_EP_EP_CREATE_QP;
	abi_qp_attr(&c, TGT, xrcd, 0, 0);
	req->qp = c.init;
	return ABI(s->fd, GET_REQUEST, req) ?: -req->qp_errno;
}

/*
 * The peer takes its request back, and a work item is to move the target to ERR. The request moves
 * to another session before the item has run: the item's id is not freed under it.
 */
TEST_F_TIMEOUT(xrc, split_waits_for_work_item, 60)
{
	struct rdma_ep_cmd_get_request req = {};
	struct rdma_ep_cmd_create_ep ep = {};
	const struct abi *s = &self->s;
	int channel = abi_channel(s), fd;

	OK(connect_to_target(s, channel, &ep, &req));
	OK(mock_work_ms(ITEM_MS));
	OK(ABI_DESTROY(s, ID, ep.id));
	ASSERT_TRUE(ABI_UNTIL(mock_work_runs()));
	OK(ABI_DESTROY(s, QP, req.qp.qp));
	fd = FD(abi_split_id(s, req.event.child));
	EXPECT_FALSE(mock_work_runs());
	OK(mock_work_ms(0));
	close(fd);
	close(ep.channel_fd);
	close(ep.qp.send_cq.channel_fd);
	close(channel);
}

/* ---- driver errors, stalls, and removal */

TEST_F(xrc, xrc_driver_error_leaves_nothing)
{
	struct abi *s = &self->s;
	struct rdma_ep_cmd_create_srq srq;
	struct mock_count before, after;
	struct rdma_ep_cmd_create_qp c;
	__u32 xrcd, none, cq, qp;

	OK(mock_fail("alloc_xrcd", MOCK_ERRNO, 2, 0));
	EXPECT_EQ(-MOCK_ERRNO, abi_open_xrcd(s, -1, 0, &none));
	EXPECT_EQ(-MOCK_ERRNO, abi_open_xrcd(s, self->file, CREATE, &none));
	/* The domain does not exist. */
	EXPECT_EQ(-EAGAIN, abi_open_xrcd(s, self->file, 0, &none));
	OK(abi_open_xrcd(s, self->file, CREATE | EXCL, &xrcd));
	OK(abi_create_cq(s, -1, 16, 0, &cq));

	OK(mock_count(&before));
	OK(mock_fail_once("create_srq"));
	EXPECT_EQ(-MOCK_ERRNO, new_srq(s, xrcd, cq, &srq));
	OK(mock_fail("create_qp", MOCK_ERRNO, 2, 0));
	EXPECT_EQ(-MOCK_ERRNO, new_target(s, xrcd, &c));
	abi_qp_attr(&c, INI, s->pd, cq, 0);
	EXPECT_EQ(-MOCK_ERRNO, ABI(s->fd, CREATE_QP, &c));
	OK(mock_count(&after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));

	OK(new_target(s, xrcd, &c));
	OK(mock_fail_once("modify_qp"));
	EXPECT_EQ(-MOCK_ERRNO, abi_qp_init(s, c.init.qp, TGT, 0));
	OK(abi_qp_init(s, c.init.qp, TGT, 0));
	/* MODIFY_QP of a target allocates a PD, to resolve the address of the peer. */
	OK(mock_count(&before));
	OK(mock_fail_once("alloc_pd"));
	EXPECT_EQ(-MOCK_ERRNO, abi_qp_rts(s, c.init.qp, TGT, 1));
	OK(mock_fail_once("create_ah"));
	EXPECT_EQ(-MOCK_ERRNO, abi_qp_rts(s, c.init.qp, TGT, 1));
	OK(abi_qp_rts(s, c.init.qp, TGT, 1));
	OK(mock_count(&after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	/* OPEN_QP works without the queried state. */
	OK(mock_fail_once("query_qp"));
	EXPECT_EQ(0, open_qp(s, xrcd, c.init.qp_num, 0, &qp));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, qp));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, close_xrcd(s, xrcd));
	EXPECT_EQ(0, count_of("xrcd"));
}

struct opener {
	const struct abi *s;
	int file;
	int ret;
	__u32 xrcd;
};

static void *opener(void *arg)
{
	struct opener *o = arg;

	o->ret = abi_open_xrcd(o->s, o->file, o->file < 0 ? 0 : CREATE, &o->xrcd);
	return NULL;
}

static void *remover(void *arg)
{
	*(int *)arg = mock_del();
	return NULL;
}

/* Two tasks open a domain while the driver creates it; the second time the device is removed. */
TEST_F(xrc, removal_while_opening_domain)
{
	struct opener o[2] = { { &self->s, self->file }, { &self->s2, self->file } };
	pthread_t thread[2], del;
	int ret = -1;

	for (int i = 0; i < 2; i++) {
		OK(mock_stall("alloc_xrcd", 1));
		OK(pthread_create(&thread[0], NULL, opener, &o[0]));
		OK(mock_wait_stalled("alloc_xrcd", 1));
		OK(pthread_create(&thread[1], NULL, opener, &o[1]));
		usleep(100000);
		if (i)
			OK(pthread_create(&del, NULL, remover, &ret));
		usleep(100000);
		OK(mock_stall("alloc_xrcd", 0));
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		EXPECT_EQ(0, o[0].ret);
		EXPECT_EQ(0, o[1].ret);
		if (i)
			break;
		EXPECT_EQ(1, count_of("xrcd"));
		EXPECT_EQ(0, close_xrcd(&self->s, o[0].xrcd));
		EXPECT_EQ(1, count_of("xrcd"));
		EXPECT_EQ(0, close_xrcd(&self->s2, o[1].xrcd));
		EXPECT_EQ(0, count_of("xrcd"));
	}
	pthread_join(del, NULL);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, close_xrcd(&self->s, o[0].xrcd));
	EXPECT_EQ(0, close_xrcd(&self->s2, o[1].xrcd));
}

static void *closer(void *arg)
{
	struct opener *o = arg;

	o->ret = close_xrcd(o->s, o->xrcd);
	return NULL;
}

struct other {
	const struct abi *s;
	int file;
	__u32 mine, shared;
	int ret;
	volatile bool done;
};

static void *others(void *arg)
{
	struct other *o = arg;
	__u32 xrcd;

	o->ret = close_xrcd(o->s, o->mine) ?:
		 close_xrcd(o->s, o->shared) ?:
		 abi_open_xrcd(o->s, -1, 0, &xrcd) ?:
		 close_xrcd(o->s, xrcd) ?:
		 abi_open_xrcd(o->s, o->file, CREATE | EXCL, &xrcd) ?:
		 close_xrcd(o->s, xrcd);
	o->done = true;
	return NULL;
}

/* A task that waits for the driver, for a shared domain or a private one, blocks no others. */
TEST_F(xrc, stalled_open_blocks_no_others)
{
	static const char * const ops[] = { "alloc_xrcd", "dealloc_xrcd" };
	struct opener o = { .s = &self->s2 };
	char name[] = "/tmp/abi_xrc.XXXXXX";
	pthread_t thread[2];
	int other;

	other = mkstemp(name);
	ASSERT_LE(0, other);
	unlink(name);
	for (int i = 0; i < 4; i++) {
		struct other t = { .s = &self->s, .file = self->file };

		o.file = i & 2 ? -1 : other;
		OK(abi_open_xrcd(t.s, -1, 0, &t.mine));
		OK(abi_open_xrcd(t.s, t.file, CREATE, &t.shared));
		if (i & 1)
			opener(&o);
		OK(mock_stall(ops[i & 1], 1));
		OK(pthread_create(&thread[0], NULL, i & 1 ? closer : opener, &o));
		OK(mock_wait_stalled(ops[i & 1], 1));
		OK(pthread_create(&thread[1], NULL, others, &t));
		LOGGED(EXPECT_TRUE(ABI_UNTIL(t.done)), "others wait for %s", ops[i & 1]);
		OK(mock_stall(ops[i & 1], 0));
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		EXPECT_EQ(0, t.ret);
		EXPECT_EQ(0, o.ret);
		if (!(i & 1))
			EXPECT_EQ(0, close_xrcd(o.s, o.xrcd));
		EXPECT_EQ(0, count_of("xrcd"));
	}
	close(other);
}

TEST_F(xrc, removal_with_xrc_objects)
{
	struct abi *s = &self->s, *s2 = &self->s2;
	struct rdma_ep_cmd_create_srq srq, none;
	struct rdma_ep_cmd_create_qp c, c2;
	struct path p = {};
	__u32 xrcd, xrcd2, cq2, qp;
	struct rdma_ep_wc wc;

	OK(path_open(s, self->mem, RC, &p));
	OK(path_message(s, &p, 1));
	OK(abi_open_xrcd(s, self->file, CREATE, &xrcd));
	OK(abi_open_xrcd(s2, self->file, 0, &xrcd2));
	OK(new_target(s, xrcd, &c));
	OK(open_qp(s2, xrcd2, c.init.qp_num, 0, &qp));
	OK(abi_create_cq(s2, -1, 16, 0, &cq2));
	OK(new_srq(s2, xrcd2, cq2, &srq));
	EXPECT_WITHIN(10000 * TEST_SCALE, OK(mock_del()));

	/* Completions from before the removal are not lost. */
	EXPECT_EQ(1, abi_poll(s, p.recv_cq, &wc, 1));
	EXPECT_EQ(-EIO, abi_open_xrcd(s, -1, 0, &xrcd2));
	EXPECT_EQ(-EIO, new_target(s, xrcd, &c2));
	EXPECT_EQ(-EIO, new_srq(s, xrcd, p.cq, &none));
	EXPECT_EQ(-EIO, abi_state_of(s2, qp));
	EXPECT_EQ(-EIO, abi_qp_init(s, c.init.qp, TGT, 0));
	EXPECT_EQ(-EBUSY, close_xrcd(s, xrcd));
	EXPECT_EQ(0, ABI_DESTROY(s, QP, c.init.qp));
	EXPECT_EQ(0, close_xrcd(s, xrcd));
	/* The close destroys the rest. */
	abi_close(s2);
	abi_close(s);
}

TEST_HARNESS_MAIN
