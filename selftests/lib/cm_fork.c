// SPDX-License-Identifier: GPL-2.0-only
/* fork(2): a child has objects of its own, and cannot use those of its parent. */
#include <sys/eventfd.h>

#include "lib_test.h"

#define CHILD_SECONDS	20

/* Runs fn in a child. Returns its exit status, or -1 if a signal ended it. */
static int in_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(CHILD_SECONDS);
		_exit(fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child exits with the number of the step that failed. */
#define CHILD(_step, _ok) do { \
	if (!(_ok)) { \
		lib_say(__FILE__, __LINE__, "in the child: %s (%s)", #_ok, \
			strerror(errno)); \
		return _step; \
	} \
} while (0)

static int message(struct pair *p)
{
	static char buf[64];
	struct ibv_mr *mr = rdma_reg_msgs(p->p, buf, sizeof(buf));
	struct ibv_wc wc;
	int ret;

	if (!mr)
		return -1;
	ret = rdma_post_recv(p->p, NULL, buf, sizeof(buf), mr) ||
	      rdma_post_send(p->a, NULL, "hello", 5, NULL, IBV_SEND_INLINE) ||
	      lib_wait_wc(p->a->send_cq, &wc, 1) || wc.status ||
	      lib_wait_wc(p->p->recv_cq, &wc, 1) || wc.status || memcmp(buf, "hello", 5);
	rdma_dereg_mr(mr);
	return ret ? -1 : 0;
}

static int own_objects(void *arg)
{
	struct pair p = {};

	CHILD(1, !pair_up(&p));
	CHILD(2, !message(&p));
	CHILD(3, !pair_down(&p));
	return 0;
}

TEST(child_before_first_use)
{
	EXPECT_EQ(0, in_child(own_objects, NULL));
	EXPECT_EQ(0, own_objects(NULL));
}

static const char shared[] =
	"librdmacm's contexts and PDs are shared with the child, and do not work there";

TEST(child_with_objects_of_its_own)
{
	struct pair p = {};

	if (is_stock())
		SKIP(return, shared);
	ASSERT_EQ(0, pair_up(&p));
	EXPECT_EQ(0, in_child(own_objects, NULL));
	EXPECT_EQ(0, message(&p));
	EXPECT_EQ(0, in_child(own_objects, NULL));
	EXPECT_EQ(0, message(&p));
	EXPECT_EQ(0, pair_down(&p));
}

static int has_a_child(void *arg)
{
	struct pair p = {};

	CHILD(10, !pair_up(&p));
	CHILD(11, !in_child(own_objects, NULL));
	CHILD(12, !message(&p));
	CHILD(13, !pair_down(&p));
	return 0;
}

TEST(grandchild)
{
	if (is_stock())
		SKIP(return, shared);
	EXPECT_EQ(0, in_child(has_a_child, NULL));
}

struct inherited {
	struct pair pair;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_context *context;
	char buf[64];
};

/* For calls that return an errno, not -1 */
#define IS_EBADF(_step, _call) do { \
	int ret_ = (_call); \
	if (ret_ != EBADF) { \
		lib_say(__FILE__, __LINE__, "in the child: %s: %d", #_call, \
			ret_); \
		return _step; \
	} \
} while (0)

static int parents_ids(void *arg)
{
	struct pair *p = &((struct inherited *)arg)->pair;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp_init_attr init = lib_qp_attr();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint8_t tos = 1;
	int mask;

	CHILD(1, FAILS(EBADF, rdma_bind_addr(p->a, SA(&p->addr))));
	CHILD(2, FAILS(EBADF, rdma_listen(p->listener, 1)));
	CHILD(3, FAILS(EBADF, rdma_resolve_addr(p->a, NULL, SA(&p->addr), 1)));
	CHILD(4, FAILS(EBADF, rdma_resolve_route(p->a, 1)));
	CHILD(5, FAILS(EBADF, rdma_connect(p->a, NULL)));
	CHILD(6, FAILS(EBADF, rdma_accept(p->p, NULL)));
	CHILD(7, FAILS(EBADF, rdma_reject(p->p, NULL, 0)));
	CHILD(8, FAILS(EBADF, rdma_disconnect(p->a)));
	CHILD(9, FAILS(EBADF, rdma_init_qp_attr(p->a, &attr, &mask)));
	CHILD(10, FAILS(EBADF, rdma_set_option(p->a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1)));
	CHILD(11, FAILS(EBADF, rdma_get_cm_event(p->ac, &event)));
	CHILD(12, FAILS(EBADF, rdma_get_cm_event(p->pc, &event)));
	CHILD(13, FAILS(EBADF, rdma_migrate_id(p->a, NULL)));
	CHILD(14, FAILS(EBADF, rdma_destroy_id(p->a)));
	CHILD(15, !rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHILD(16, FAILS(EBADF, rdma_migrate_id(p->a, id->channel)));
	CHILD(17, !rdma_destroy_id(id));
	p->a->qp = NULL;
	CHILD(18, FAILS(EBADF, rdma_create_qp(p->a, NULL, &init)));
	return 0;
}

static int parents_verbs(void *arg)
{
	struct inherited *in = arg;
	struct ibv_sge sge = { (uintptr_t)in->buf, 8, in->mr->lkey };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1 }, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = in->pair.a->qp;
	struct ibv_qp_init_attr init = lib_qp_attr_on(qp->send_cq);
	struct ibv_device_attr device;
	struct ibv_async_event async;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	IS_EBADF(1, ibv_query_device(in->context, &device));
	CHILD(2, FAILS_NULL(EBADF, ibv_alloc_pd(in->context)));
	CHILD(3, FAILS_NULL(EBADF, ibv_reg_mr(qp->pd, in->buf, 8, 0)));
	CHILD(4, FAILS_NULL(EBADF, ibv_create_cq(in->context, 1, NULL, NULL, 0)));
	CHILD(5, FAILS_NULL(EBADF, ibv_create_qp(qp->pd, &init)));
	CHILD(6, FAILS_NULL(EBADF, ibv_create_comp_channel(in->context)));
	IS_EBADF(7, ibv_post_send(qp, &send, &bad_send));
	IS_EBADF(8, ibv_post_recv(qp, &recv, &bad_recv));
	CHILD(9, ibv_poll_cq(in->cq, 1, &wc) < 0);
	IS_EBADF(10, ibv_req_notify_cq(in->cq, 0));
	CHILD(11, FAILS(EBADF, ibv_get_cq_event(in->channel, &cq, &context)));
	CHILD(12, FAILS(EBADF, ibv_get_async_event(in->context, &async)));
	IS_EBADF(13, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	IS_EBADF(14, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	IS_EBADF(15, ibv_resize_cq(in->cq, 20));
	IS_EBADF(16, ibv_destroy_qp(qp));
	IS_EBADF(17, ibv_destroy_cq(in->cq));
	IS_EBADF(18, ibv_dereg_mr(in->mr));
	IS_EBADF(19, ibv_dealloc_pd(in->pair.a->pd));
	return 0;
}

/* A child cannot use the objects of its parent, and does not harm them. */
TEST(parents_objects)
{
	struct inherited in = {};

	if (is_stock())
		SKIP(return, shared);

	ASSERT_EQ(0, pair_up(&in.pair));
	in.context = in.pair.a->verbs;
	in.channel = ASSERT_PTR(ibv_create_comp_channel(in.context));
	in.cq = ASSERT_PTR(ibv_create_cq(in.context, 10, NULL, in.channel, 0));
	in.mr = ASSERT_PTR(ibv_reg_mr(in.pair.a->pd, in.buf, sizeof(in.buf),
				      IBV_ACCESS_LOCAL_WRITE));

	EXPECT_EQ(0, in_child(parents_ids, &in));
	EXPECT_EQ(0, in_child(parents_verbs, &in));
	EXPECT_EQ(0, message(&in.pair));
	EXPECT_QPS(IBV_QPS_RTS, in.pair.a->qp);

	EXPECT_EQ(0, ibv_dereg_mr(in.mr));
	EXPECT_EQ(0, ibv_destroy_cq(in.cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(in.channel));
	EXPECT_EQ(0, pair_down(&in.pair));
}

/* ---- fork(2) during calls of other threads */

static bool stop;

static void *busy(void *arg)
{
	struct sockaddr_in addr = lib_addr(0);
	struct ibv_context *context = arg;
	struct rdma_cm_id *id;
	struct ibv_device **list;
	struct ibv_pd *pd;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pd = ibv_alloc_pd(context);
		if (!pd || rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
			return "a call failed";
		list = ibv_get_device_list(NULL);
		if (!list || rdma_bind_addr(id, SA(&addr)) || pair_qp(id))
			return "a call failed";
		ibv_free_device_list(list);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
		ibv_dealloc_pd(pd);
	}
	return NULL;
}

static int own_id(void *arg)
{
	struct sockaddr_in addr = lib_addr(0);
	struct rdma_cm_id *id;

	CHILD(1, !rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHILD(2, !rdma_bind_addr(id, SA(&addr)));
	CHILD(3, id->verbs && !pair_qp(id));
	rdma_destroy_qp(id);
	CHILD(4, !rdma_destroy_id(id));
	return 0;
}

TEST(threads_and_forks)
{
	struct ibv_context *context = ASSERT_PTR(lib_context());
	struct lib_thread t[3];
	int i;

	if (is_stock())
		SKIP(return, shared);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, lib_start(&t[i], busy, context));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, in_child(own_id, NULL));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		EXPECT_RETURNS(NULL, &t[i]);
}

static int has_files(void *arg)
{
	const int *fds = arg;

	for (; *fds >= 0; fds++)
		CHILD(1, fcntl(*fds, F_GETFD) >= 0);
	return 0;
}

/* Closes all descriptors, among them that of the session, and opens others in their place. */
static int closes_all(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int fds[17], i;

	CHILD(2, list);
	ibv_free_device_list(list);
	for (i = 3; i < 1024; i++)
		close(i);
	for (i = 0; i < 16; i++)
		fds[i] = eventfd(0, 0);
	fds[i] = -1;
	CHILD(3, fds[15] >= 0);
	CHILD(4, !in_child(has_files, fds));
	return 0;
}

TEST(files_in_place_of_the_session)
{
	EXPECT_EQ(0, in_child(closes_all, NULL));
}

TEST_HARNESS_MAIN
