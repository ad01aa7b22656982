// SPDX-License-Identifier: GPL-2.0-only
/*
 * rsockets, which librdmacm implements, beside ids of rdma_ep; and ids of librdmacm, which a
 * program creates through a handle of dlopen(3).
 *
 * The program is linked with -lrdma_ep -lrdmacm. librdma_ep passes r*() on to librdmacm. In
 * cm_rsocket.stock all functions are librdmacm's.
 */
#include <rdma/rsocket.h>
#include <semaphore.h>

#include "lib_test.h"

#define ROUNDS	20
#define SIZE	3000

/* Number of open files of this name, or -1 */
static int open_files(const char *name)
{
	char path[64], target[128];
	struct dirent *entry;
	int n = 0;
	ssize_t len;
	DIR *dir;

	dir = opendir("/proc/self/fd");
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%.16s", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = 0;
		if (!strcmp(target, name))
			n++;
	}
	closedir(dir);
	return n;
}

static int recv_all(int rs, char *buf, size_t len)
{
	size_t got = 0;
	ssize_t ret;

	while (got < len) {
		ret = rrecv(rs, buf + got, len - got, 0);
		if (ret <= 0)
			return -1;
		got += ret;
	}
	return 0;
}

struct echo {
	struct lib_thread thread;
	int listener, rs;
	sem_t accepted;
};

/* Sends messages back until the client disconnects. */
static void *echo(void *arg)
{
	struct echo *e = arg;
	char buf[SIZE];
	int rs;

	rs = raccept(e->listener, NULL, NULL);
	sem_post(&e->accepted);
	if (rs < 0)
		return "raccept";
	while (!recv_all(rs, buf, sizeof(buf)))
		if (rsend(rs, buf, sizeof(buf), 0) != sizeof(buf))
			return "rsend";
	rclose(rs);
	return NULL;
}

/* Notes the call for the error message. */
#define TRY(_call) ({ step = #_call; (_call); })

/* siw may leave data unread that arrives before it has accepted (SIW-25). */
static int echo_up(struct echo *e)
{
	struct sockaddr_in addr = lib_addr(0);
	socklen_t len = sizeof(addr);
	const char *step;

	sem_init(&e->accepted, 0, 0);
	e->listener = TRY(rsocket(AF_INET, SOCK_STREAM, 0));
	e->rs = TRY(rsocket(AF_INET, SOCK_STREAM, 0));
	if (e->listener < 0 || e->rs < 0 || TRY(rbind(e->listener, SA(&addr), sizeof(addr))) ||
	    TRY(rlisten(e->listener, 1)) || TRY(rgetsockname(e->listener, SA(&addr), &len)) ||
	    lib_start(&e->thread, echo, e) ||
	    TRY(rconnect(e->rs, SA(&addr), sizeof(addr))) || TRY(sem_wait(&e->accepted))) {
		lib_say(__FILE__, __LINE__, "%s: %s", step, strerror(errno));
		return -1;
	}
	return 0;
}

static int echo_round(struct echo *e, char fill)
{
	char out[SIZE], in[SIZE];

	memset(out, fill, sizeof(out));
	if (rsend(e->rs, out, sizeof(out), 0) != sizeof(out) || recv_all(e->rs, in, sizeof(in)))
		return -1;
	return memcmp(in, out, sizeof(in)) ? -1 : 0;
}

static int echo_down(struct echo *e)
{
	void *failed = NULL;

	rshutdown(e->rs, SHUT_RDWR);
	if (rclose(e->rs) || lib_join(&e->thread, &failed) || rclose(e->listener))
		return -1;
	if (failed)
		lib_say(__FILE__, __LINE__, "%s", (char *)failed);
	return failed ? -1 : 0;
}

static int pair_message(struct pair *p, char fill)
{
	static char out[64], in[64];
	struct ibv_mr *out_mr, *in_mr;
	struct ibv_wc wc;
	int ret = -1;

	out_mr = rdma_reg_msgs(p->a, out, sizeof(out));
	in_mr = rdma_reg_msgs(p->p, in, sizeof(in));
	memset(out, fill, sizeof(out));
	memset(in, 0, sizeof(in));
	if (out_mr && in_mr && !rdma_post_recv(p->p, NULL, in, sizeof(in), in_mr) &&
	    !rdma_post_send(p->a, NULL, out, sizeof(out), out_mr, 0) &&
	    !lib_wait_wc(p->a->send_cq, &wc, 1) && !wc.status &&
	    !lib_wait_wc(p->p->recv_cq, &wc, 1) && !wc.status && !memcmp(in, out, sizeof(in)))
		ret = 0;
	if (out_mr)
		rdma_dereg_mr(out_mr);
	if (in_mr)
		rdma_dereg_mr(in_mr);
	return ret;
}

TEST(rsockets_alone)
{
	struct echo e;
	int i;

	ASSERT_EQ(0, echo_up(&e));
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(0, echo_round(&e, i));
	EXPECT_EQ(is_stock() || getenv("RDMA_ADDR") ? 0 : 1, open_files("/dev/infiniband/rdma_ep"));
	EXPECT_LT(0, open_files("/dev/infiniband/rdma_cm"));
	EXPECT_EQ(0, echo_down(&e));
}

TEST(rsockets_and_ids)
{
	struct pair p = {};
	struct echo e;
	int i, cm_files;

	ASSERT_EQ(0, echo_up(&e));
	cm_files = open_files("/dev/infiniband/rdma_cm");
	ASSERT_EQ(0, pair_up(&p));
	if (!is_stock())
		EXPECT_EQ(cm_files, open_files("/dev/infiniband/rdma_cm"));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, echo_round(&e, i));
		ASSERT_EQ(0, pair_message(&p, i));
	}
	ASSERT_EQ(0, echo_down(&e));
	ASSERT_EQ(0, pair_message(&p, 1));
	EXPECT_EQ(0, pair_down(&p));
}

TEST(ids_and_rsockets)
{
	struct pair p = {};
	struct echo e;

	ASSERT_EQ(0, pair_up(&p));
	ASSERT_EQ(0, echo_up(&e));
	ASSERT_EQ(0, pair_message(&p, 1));
	EXPECT_EQ(0, pair_down(&p));
	ASSERT_EQ(0, echo_round(&e, 2));
	EXPECT_EQ(0, echo_down(&e));
}

TEST(rsocket_polls)
{
	struct pollfd pfd = { .events = POLLIN };
	char buf[SIZE];
	struct echo e;

	ASSERT_EQ(0, echo_up(&e));
	pfd.fd = e.rs;
	EXPECT_EQ(0, rpoll(&pfd, 1, QUIET_MS));
	memset(buf, 7, sizeof(buf));
	ASSERT_EQ(sizeof(buf), rsend(e.rs, buf, sizeof(buf), 0));
	EXPECT_EQ(1, rpoll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(POLLIN, pfd.revents & POLLIN);
	ASSERT_EQ(0, recv_all(e.rs, buf, sizeof(buf)));
	EXPECT_EQ(0, echo_down(&e));
}

/* Ids of rdma_ep cannot bind to the port of an rsocket. */
TEST(rsockets_and_ids_share_ports)
{
	struct sockaddr_in addr = lib_addr(0);
	socklen_t len = sizeof(addr);
	struct rdma_cm_id *id;
	int rs;

	rs = rsocket(AF_INET, SOCK_STREAM, 0);
	ASSERT_LE(0, rs);
	ASSERT_EQ(0, rbind(rs, SA(&addr), sizeof(addr)));
	ASSERT_EQ(0, rlisten(rs, 1));
	ASSERT_EQ(0, rgetsockname(rs, SA(&addr), &len));
	ASSERT_NE(0, addr.sin_port);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	EXPECT_FAILS(EADDRINUSE, rdma_bind_addr(id, SA(&addr)));
	EXPECT_EQ(0, rclose(rs));
	EXPECT_EQ(0, rdma_bind_addr(id, SA(&addr)));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* ---- ids of librdmacm as arguments of the program's functions */

FIXTURE(foreign)
{
	void *handle;
	struct rdma_cm_id *listener, *a;
	__typeof__(&rdma_create_id) create_id;
};

FIXTURE_SETUP(foreign)
{
	self->handle = ASSERT_PTR(dlopen("librdmacm.so.1", RTLD_NOW));
	self->create_id = ASSERT_PTR((__typeof__(&rdma_create_id)) dlsym(self->handle,
				     "rdma_create_id"));
	if (!is_stock())
		ASSERT_NE((void *)rdma_create_id, (void *)self->create_id);
	ASSERT_EQ(0, self->create_id(NULL, &self->listener, self, RDMA_PS_TCP));
	ASSERT_EQ(0, self->create_id(NULL, &self->a, self, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(foreign)
{
	rdma_destroy_ep(self->a);
	rdma_destroy_ep(self->listener);
	dlclose(self->handle);
}

/* Progress of the passive side */
static bool accepted, arrived;

static bool wait_until(const bool *reached)
{
	int i;

	for (i = 0; i < WAIT_MS; i++) {
		if (__atomic_load_n(reached, __ATOMIC_ACQUIRE))
			return true;
		usleep(1000);
	}
	return false;
}

/* The passive side. Returns the step that failed, or NULL. */
static void *serve_one(void *arg)
{
	struct rdma_cm_id *listener = arg, *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char buf[8];

	STEP(!rdma_get_request(listener, &id));
	STEP(!pair_qp(id));
	STEP((mr = rdma_reg_msgs(id, buf, sizeof(buf))));
	STEP(!rdma_post_recv(id, NULL, buf, sizeof(buf), mr));
	STEP(!rdma_accept(id, NULL));
	__atomic_store_n(&accepted, true, __ATOMIC_RELEASE);
	STEP(rdma_get_recv_comp(id, &wc) == 1);
	STEP(!wc.status && wc.byte_len == 8);
	__atomic_store_n(&arrived, true, __ATOMIC_RELEASE);
	STEP(!rdma_disconnect(id));
	rdma_dereg_mr(mr);
	rdma_destroy_qp(id);
	STEP(!rdma_destroy_id(id));
	return NULL;
}

/* The thread serves the listener, to which a's route is resolved. */
static const char *route(FIXTURE_DATA(foreign) *self, struct lib_thread *thread,
			 void *(*serve)(void *listener))
{
	struct sockaddr_in addr = lib_addr(0);

	STEP(!rdma_bind_addr(self->listener, SA(&addr)));
	STEP(!rdma_listen(self->listener, 1));
	addr.sin_port = rdma_get_src_port(self->listener);
	STEP(addr.sin_port);
	STEP(!lib_start(thread, serve, self->listener));
	STEP(!rdma_resolve_addr(self->a, NULL, SA(&addr), WAIT_MS));
	STEP(!rdma_resolve_route(self->a, WAIT_MS));
	STEP(rdma_get_dst_port(self->a) == addr.sin_port);
	return NULL;
}

/* A connection, from creation to end, by the program's functions */
TEST_F(foreign, ids_live)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	char msg[8] = "message";
	struct lib_thread thread;
	void *failed = NULL;
	struct ibv_wc wc;
	uint8_t tos = 4;

	EXPECT_EQ(0, rdma_set_option(self->a, RDMA_OPTION_ID,
				     RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	ASSERT_STEPS(route(self, &thread, serve_one));
	ASSERT_EQ(0, rdma_create_qp(self->a, NULL, &attr));
	ASSERT_EQ(0, rdma_connect(self->a, NULL));
	/* siw_accept() overlooks a message that arrives too early (SIW-25). */
	EXPECT_TRUE(wait_until(&accepted));
	ASSERT_EQ(0, rdma_post_send(self->a, NULL, msg, sizeof(msg), NULL, IBV_SEND_INLINE));
	EXPECT_EQ(1, rdma_get_send_comp(self->a, &wc));
	EXPECT_EQ(0, wc.status);
	/* siw may lose a message if the connection ends directly after it. */
	EXPECT_TRUE(wait_until(&arrived));
	EXPECT_EQ(0, rdma_disconnect(self->a));
	EXPECT_EQ(0, lib_join(&thread, &failed));
	LOGGED(EXPECT_EQ(NULL, failed), "%s", (char *)failed);
	rdma_destroy_qp(self->a);
	EXPECT_EQ(NULL, self->a->qp);
}

static void *reject_one(void *arg)
{
	struct rdma_cm_id *id;

	STEP(!rdma_get_request(arg, &id));
	STEP(!rdma_reject(id, "no", 2));
	rdma_destroy_ep(id);
	return NULL;
}

TEST_F(foreign, other_calls)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_ece ece = { .vendor_id = 1 };
	struct lib_thread thread;
	void *failed = NULL;
	int mask = 0;

	ASSERT_STEPS(route(self, &thread, reject_one));
	EXPECT_EQ(0, rdma_set_local_ece(self->a, &ece));
	EXPECT_EQ(0, rdma_create_srq(self->a, NULL, &srq));
	ASSERT_NE(NULL, self->a->srq);
	attr.srq = self->a->srq;
	ASSERT_EQ(0, rdma_create_qp(self->a, NULL, &attr));
	EXPECT_EQ(0, rdma_init_qp_attr(self->a, &qp_attr, &mask));
	EXPECT_EQ(IBV_QP_STATE, mask & IBV_QP_STATE);
	EXPECT_FAILS(EINVAL, rdma_establish(self->a));
	EXPECT_FAILS(EINVAL, rdma_get_remote_ece(self->a, &ece));
	EXPECT_FAILS(ECONNREFUSED, rdma_connect(self->a, NULL));
	EXPECT_EQ(0, lib_join(&thread, &failed));
	EXPECT_EQ(NULL, failed);
	rdma_destroy_qp(self->a);
	rdma_destroy_srq(self->a);
	EXPECT_EQ(NULL, self->a->srq);
}

TEST_HARNESS_MAIN
