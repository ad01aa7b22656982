// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma_ep_export(3), rdma_ep_adopt(3), rdma_ep_close(3): the structures of an adopted session,
 * completions that the library had read ahead, and the end of the old structures.
 *
 * It would catch: structures that lack a pointer, lost completions or events, an endpoint that
 * the previous process can still use, objects that cannot be destroyed afterwards, a session that
 * ends although the program has objects in it.
 */
#include "lib_handover.h"
#include "lib_test.h"

#define LEN	4096

static struct rdma_ep_adopted *readopt(void)
{
	int fd = rdma_ep_export(NULL);

	return fd < 0 ? NULL : rdma_ep_adopt(fd, 0);
}

/* The receiver of a descriptor cannot open another session through /proc. */
static int open_again(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR);
}

TEST(descriptors_are_no_way_to_node)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_ep_adopted *all;
	struct rdma_cm_id *id;
	int fd, kept;

	if (access("/proc/self/fd", F_OK))
		SKIP(return, "there is no /proc to open a descriptor again by");
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	kept = rdma_ep_keep(NULL);
	ASSERT_LE(0, kept);
	EXPECT_FAILS(ENXIO, open_again(kept));
	EXPECT_TRUE(fcntl(kept, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(0, rdma_destroy_id(id));
	fd = rdma_ep_export(NULL);
	ASSERT_LE(0, fd);
	EXPECT_FAILS(ENXIO, open_again(fd));
	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(kept);
	all = ASSERT_PTR(rdma_ep_adopt(fd, 0));
	EXPECT_EQ(0, lib_count(all->ids));
	rdma_ep_free_adopted(all);
}

TEST(synchronous_endpoints)
{
	struct eps e = eps_with_qps();
	struct rdma_cm_id *old, *a, *p, *listener, *again;
	struct rdma_ep_adopted *all;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char buf[LEN];
	uint64_t cookie;

	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_up(&e));
	mr = ASSERT_PTR(rdma_reg_msgs(e.p, buf, sizeof(buf)));
	ASSERT_EQ(0, rdma_ep_set_cookie(RDMA_EP_OBJ_MR, mr, 4));
	ASSERT_EQ(0, rdma_post_recv(e.p, (void *)99, buf, 64, mr));
	ASSERT_EQ(0, lib_set_cookie(e.a, 1));
	ASSERT_EQ(0, lib_set_cookie(e.p, 2));
	ASSERT_EQ(0, lib_set_cookie(e.listener, 3));
	EXPECT_EQ(0, rdma_ep_get_cookie(RDMA_EP_OBJ_ID, e.p, &cookie));
	EXPECT_EQ(2, cookie);
	old = e.p;
	all = ASSERT_PTR(readopt());
	/* Calls on the old structures fail. */
	EXPECT_FAILS(EBADF, rdma_disconnect(old));
	EXPECT_FAILS(EBADF, rdma_destroy_id(old));
	EXPECT_EQ(-EBADF, ibv_poll_cq(old->recv_cq, 1, &wc));
	EXPECT_EQ(EBADF, ibv_destroy_qp(old->qp));
	EXPECT_FAILS(EBADF, rdma_ep_export(old));
	EXPECT_NE(0, rdma_post_recv(old, NULL, buf, 64, mr));

	EXPECT_EQ(3, lib_count(all->ids));
	EXPECT_EQ(2, lib_count(all->qps));
	EXPECT_EQ(4, lib_count(all->cqs));
	EXPECT_EQ(4, lib_count(all->comp_channels));
	EXPECT_EQ(0, lib_count(all->channels));
	EXPECT_EQ(1, lib_count(all->contexts));
	EXPECT_EQ(1, lib_count(all->pds));
	EXPECT_EQ(1, all->num_regions);
	a = lib_find_id(all, 1);
	p = lib_find_id(all, 2);
	listener = lib_find_id(all, 3);
	ASSERT_TRUE(a && p && listener);
	EXPECT_TRUE(p->qp && p->send_cq && p->recv_cq && p->send_cq_channel);
	EXPECT_EQ(p->qp->send_cq, p->send_cq);
	EXPECT_EQ(p->qp->recv_cq, p->recv_cq);
	EXPECT_EQ(p->recv_cq->channel, p->recv_cq_channel);
	EXPECT_EQ(all->contexts[0], p->verbs);
	EXPECT_EQ(all->pds[0], p->pd);
	EXPECT_EQ(all->pds[0], p->qp->pd);
	EXPECT_EQ(IBV_QPS_RTS, p->qp->state);
	EXPECT_EQ(IBV_QPT_RC, p->qp->qp_type);
	EXPECT_EQ(RDMA_PS_TCP, p->ps);
	EXPECT_EQ(0, memcmp(rdma_get_peer_addr(p), rdma_get_local_addr(a),
			    sizeof(struct sockaddr_in)));
	mr = all->regions[0].mr;
	EXPECT_EQ((void *)buf, mr->addr);
	EXPECT_EQ((uintptr_t)buf, all->regions[0].iova);
	EXPECT_EQ(4, all->regions[0].cookie);
	EXPECT_EQ(sizeof(buf), mr->length);

	/* One receive was posted before the adoption, one is posted now. */
	ASSERT_EQ(0, rdma_post_recv(p, (void *)100, buf + 64, 64, mr));
	ASSERT_EQ(0, rdma_post_send(a, NULL, buf + 128, 8, mr, 0));
	ASSERT_EQ(0, rdma_post_send(a, NULL, buf + 128, 8, mr, 0));
	ASSERT_EQ(1, rdma_get_recv_comp(p, &wc));
	EXPECT_EQ(99, wc.wr_id);
	ASSERT_EQ(1, rdma_get_recv_comp(p, &wc));
	EXPECT_EQ(100, wc.wr_id);

	/* The listener still creates QPs for its requests. */
	e.listener = listener;
	e.a = NULL;
	e.p = NULL;
	ASSERT_EQ(0, eps_client(&e));
	ASSERT_EQ(0, eps_up(&e));
	again = e.p;
	EXPECT_TRUE(again->qp && again->recv_cq);

	EXPECT_EQ(0, rdma_dereg_mr(mr));
	rdma_destroy_ep(a);
	rdma_destroy_ep(p);
	EXPECT_EQ(0, eps_down(&e));
	rdma_ep_free_adopted(all);
}

/* A request that has a QP, but is not accepted yet */
TEST(unanswered_request)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, 7480, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *listener, *id;
	struct rdma_ep_adopted *all;
	struct ibv_wc wc;
	pid_t pid;
	int status;

	pid = fork();
	if (!pid) {
		struct rdma_addrinfo *to = lib_rai(0, 7480, RDMA_PS_TCP);
		struct rdma_conn_param param = { .initiator_depth = 1, .responder_resources = 1 };

		alarm(WAIT_MS / 1000);
		while (rdma_create_ep(&id, to, NULL, &attr) || rdma_connect(id, &param))
			usleep(100000);
		_exit(rdma_get_recv_comp(id, &wc) < 0);
	}
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, NULL));
	ASSERT_EQ(0, rdma_listen(listener, LIB_CLIENTS));
	ASSERT_EQ(0, rdma_get_request(listener, &id));
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	ASSERT_EQ(0, lib_set_cookie(id, 7));
	all = ASSERT_PTR(readopt());
	id = lib_find_id(all, 7);
	ASSERT_TRUE(id && id->qp);
	ASSERT_TRUE(id->recv_cq && id->send_cq);
	EXPECT_EQ(id->qp->recv_cq, id->recv_cq);
	EXPECT_EQ(id->qp->send_cq, id->send_cq);
	EXPECT_EQ(0, rdma_accept(id, NULL));
	/* This destroys the library's CQs as well. */
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_ep_free_adopted(all);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
}

TEST(asynchronous_ids)
{
	struct rdma_event_channel *channel;
	struct rdma_ep_adopted *all;
	struct rdma_cm_event *event;
	struct pair pair = {};
	struct rdma_cm_id *a, *p;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_up(&pair));
	ASSERT_EQ(0, lib_set_cookie(pair.a, 1));
	ASSERT_EQ(0, lib_set_cookie(pair.p, 2));
	ASSERT_EQ(0, rdma_disconnect(pair.a));
	/* The event stays unread. */
	ASSERT_TRUE(lib_readable(pair.pc->fd, WAIT_MS));
	all = ASSERT_PTR(readopt());
	EXPECT_FAILS(EBADF, rdma_get_cm_event(pair.pc, &event));
	EXPECT_EQ(2, lib_count(all->channels));
	a = lib_find_id(all, 1);
	p = lib_find_id(all, 2);
	ASSERT_TRUE(a && p);
	channel = p->channel;
	EXPECT_NE(a->channel, channel);
	ASSERT_EQ(0, rdma_get_cm_event(channel, &event));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, event->event);
	EXPECT_EQ(p, event->id);
	EXPECT_EQ((void *)2, event->id->context);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, ibv_poll_cq(p->qp->recv_cq, 1, &wc));
	rdma_destroy_qp(p);
	EXPECT_EQ(0, rdma_destroy_id(p));
	rdma_ep_free_adopted(all);
}

/* The program has put its CQ into the id. The id does not destroy that CQ's channel. */
TEST(channel_of_the_program)
{
	struct ibv_context *context = lib_context();
	struct rdma_cm_id *id = lib_bound_id(NULL, RDMA_PS_TCP);
	struct rdma_ep_adopted *all;
	struct ibv_qp_init_attr attr;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq, *other;

	ASSERT_TRUE(id);
	comp = ASSERT_PTR(ibv_create_comp_channel(context));
	cq = ibv_create_cq(id->verbs, 8, NULL, comp, 0);
	other = ibv_create_cq(id->verbs, 8, NULL, comp, 0);
	ASSERT_TRUE(cq && other);
	attr = lib_qp_attr_on(cq);
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	id->recv_cq = cq;
	all = ASSERT_PTR(readopt());
	ASSERT_EQ(1, lib_count(all->ids));
	ASSERT_EQ(1, lib_count(all->comp_channels));
	id = all->ids[0];
	EXPECT_EQ(id->qp->recv_cq, id->recv_cq);
	EXPECT_EQ(NULL, id->recv_cq_channel);
	cq = all->cqs[all->cqs[0] == id->recv_cq];
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_req_notify_cq(cq, 0));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ibv_destroy_comp_channel(all->comp_channels[0]));
	rdma_ep_free_adopted(all);
}

/* The library has read completions that the program has not polled yet. */
TEST(completions_of_extended_cq)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64 };
	struct rdma_ep_adopted *all;
	struct ibv_poll_cq_attr none = {};
	struct ibv_qp_init_attr attr;
	struct eps e = {};
	struct ibv_recv_wr *bad;
	struct ibv_cq_ex *cq;
	struct ibv_wc wc;

	init.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
	cq = ASSERT_PTR(ibv_create_cq_ex(lib_context(), &init));
	attr = lib_qp_attr_on(ibv_cq_ex_to_cq(cq));
	e = eps_with_qps();
	e.passive_attr = &attr;
	ASSERT_EQ(0, eps_listen(&e));
	ASSERT_EQ(0, eps_up(&e));
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, ibv_post_recv(e.p->qp, &(struct ibv_recv_wr) { .wr_id = i }, &bad));
	ASSERT_EQ(0, lib_set_cookie(e.p, 2));
	ASSERT_EQ(0, rdma_ep_set_cookie(RDMA_EP_OBJ_CQ, cq, 3));
	/* All receives are flushed at once. */
	ASSERT_EQ(0, lib_modify_qp(e.p->qp, IBV_QPS_ERR));
	for (long end = 0; ibv_start_poll(cq, &none); end++) {
		ASSERT_GT(WAIT_MS, end);
		usleep(1000);
	}
	EXPECT_EQ(0, cq->wr_id);
	/* An iteration prevents the export. */
	EXPECT_FAILS(EBUSY, rdma_ep_export(NULL));
	ibv_end_poll(cq);
	all = ASSERT_PTR(readopt());
	cq = NULL;
	for (struct ibv_cq **c = all->cqs; *c; c++)
		if ((*c)->cq_context == (void *)3)
			cq = (struct ibv_cq_ex *)*c;
	ASSERT_TRUE(cq);
	for (int i = 1; i < 5; i++) {
		ASSERT_EQ(0, i == 1 ? ibv_start_poll(cq, &none) : ibv_next_poll(cq));
		EXPECT_EQ(i, cq->wr_id);
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, cq->status);
	}
	ibv_end_poll(cq);
	EXPECT_EQ(0, ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc));
	rdma_ep_free_adopted(all);
}

/* A list of work requests prevents the export until it ends. */
TEST(half_a_list_of_requests)
{
	struct rdma_ep_adopted *all;
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { 4, 4, 1, 1, 16 },
	};
	struct ibv_context *context = lib_context();
	struct ibv_qp_ex *qp;
	struct ibv_qp *plain;

	init.pd = ibv_alloc_pd(context);
	init.send_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	plain = ASSERT_PTR(ibv_create_qp_ex(context, &init));
	qp = ibv_qp_to_qp_ex(plain);
	ibv_wr_start(qp);
	EXPECT_FAILS(EBUSY, rdma_ep_export(NULL));
	ibv_wr_abort(qp);
	all = ASSERT_PTR(readopt());
	ASSERT_EQ(1, lib_count(all->qps));
	qp = ASSERT_PTR(ibv_qp_to_qp_ex(all->qps[0]));
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 0, 0, 0);
	/* The QP is in RESET. */
	EXPECT_NE(0, ibv_wr_complete(qp));
	EXPECT_EQ(0, ibv_destroy_qp(all->qps[0]));
	EXPECT_EQ(0, ibv_destroy_cq(all->cqs[0]));
	rdma_ep_free_adopted(all);
}

/* Size of this process in bytes */
static rlim_t own_size(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* rdma_ep_adopt() can be repeated after it fails to map the rings or to replace its descriptor. */
TEST(limits_of_adopter)
{
	struct ibv_cq *cq = ibv_create_cq(lib_context(), 8, NULL, NULL, 0);
	int fd, high = 200;

	ASSERT_TRUE(cq);
	fd = rdma_ep_export(NULL);
	ASSERT_LE(0, fd);
	WITH_RLIMIT(RLIMIT_AS, own_size() + (4 << 20),
		    EXPECT_FAILS_NULL(ENOMEM, rdma_ep_adopt(fd, 0)));

	ASSERT_EQ(high, dup2(fd, high));
	close(fd);
	WITH_RLIMIT(RLIMIT_NOFILE, high, EXPECT_FAILS_NULL(EMFILE, rdma_ep_adopt(high, 0)));
	EXPECT_NE(NULL, rdma_ep_adopt(high, 0));
}

static void *id_of_thread(void *none)
{
	return lib_bound_id(NULL, RDMA_PS_TCP);
}

static int close_in_child(int fd, int none)
{
	return !FAILS(EBADF, rdma_ep_close(fd));
}

/* The session of this process: a later call begins a new one, with new default objects. */
TEST(close_of_session)
{
	struct rdma_cm_id *id = lib_bound_id(NULL, RDMA_PS_TCP);
	struct ibv_context *context;
	struct lib_thread thread;
	struct ibv_pd *pd;
	void *other;
	int fd;

	ASSERT_TRUE(id);
	fd = id->verbs->cmd_fd;
	pd = ASSERT_PTR(ibv_alloc_pd(id->verbs));
	context = ASSERT_PTR(ibv_open_device(id->verbs->device));
	EXPECT_FAILS(EBUSY, rdma_ep_close(fd));
	ASSERT_EQ(0, rdma_destroy_id(id));
	EXPECT_FAILS(EBUSY, rdma_ep_close(fd));
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_FAILS(EBUSY, rdma_ep_close(fd));
	ASSERT_EQ(0, ibv_close_device(context));
	EXPECT_FAILS(EBADF, rdma_ep_close(-1));
	EXPECT_FAILS(EBADF, rdma_ep_close(STDOUT_FILENO));
	EXPECT_SUCCESS(lib_fork(close_in_child, fd, 0));
	ASSERT_EQ(0, rdma_ep_close(fd));
	EXPECT_FAILS(EBADF, rdma_ep_close(fd));
	EXPECT_FAILS(EBADF, fcntl(fd, F_GETFD));
	EXPECT_FAILS(EBADF, rdma_ep_export(NULL));

	ASSERT_EQ(0, lib_start(&thread, id_of_thread, NULL));
	ASSERT_EQ(0, lib_join(&thread, &other));
	id = ASSERT_PTR(other);
	fd = id->verbs->cmd_fd;
	ASSERT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, rdma_ep_close(fd));
}

TEST(bad_descriptors)
{
	struct rdma_cm_id *id = lib_bound_id(NULL, RDMA_PS_TCP);
	int fd = memfd_create("no session", MFD_CLOEXEC), session, copy;

	ASSERT_TRUE(id);
	ASSERT_LE(0, fd);
	EXPECT_FAILS_NULL(ENOTTY, rdma_ep_adopt(fd, 0));
	EXPECT_FAILS_NULL(EBADF, rdma_ep_adopt(-1, 0));
	EXPECT_FAILS_NULL(EINVAL, rdma_ep_adopt(fd, 128));
	EXPECT_FAILS(EINVAL, rdma_ep_set_cookie(RDMA_EP_OBJ_MCAST, id, 1));
	EXPECT_FAILS(EINVAL, rdma_ep_set_cookie(RDMA_EP_OBJ_ID, NULL, 1));
	EXPECT_FAILS(EINVAL, rdma_ep_get_cookie(RDMA_EP_OBJ_ID, id, NULL));
	session = rdma_ep_export(id);
	ASSERT_LT(0, session);
	/* No call has begun a new session, whose descriptor would be an empty one. */
	EXPECT_FAILS(EBADF, rdma_ep_export(NULL));
	EXPECT_FAILS(EBADF, rdma_ep_export(id));
	EXPECT_FAILS(EBADF, rdma_ep_close(session));
	copy = dup(session);
	ASSERT_TRUE(rdma_ep_adopt(session, 0));
	EXPECT_FAILS_NULL(EBADF, rdma_ep_adopt(copy, 0));
}

TEST_HARNESS_MAIN
