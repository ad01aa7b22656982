// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server is handed over to other processes: with all connections while its clients send,
 * after it has been killed, or each connection to a process of its own.
 *
 * It would catch: a message that is lost or answered twice, a process that cannot serve a
 * connection of another one, a session that ends with the process that has kept it, private memory
 * that a child shares with its parent, which the manual page excludes, a worker that runs out of
 * descriptors or address space.
 */
#include "lib_handover.h"
#include "lib_test.h"

#define LEN	4096
#define FEW	128	/* descriptors of a worker */
#define MANY	300	/* connections that it serves */
/* Address of the first server's region, which the next server does not map there */
#define PLACE	((void *)0x20000000000)

static int first_server(int socket, int to_next)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct rdma_cm_id *listener, *ids[LIB_CLIENTS] = {};
	struct ibv_mr *mr;
	int fds[2];
	char *mem;

	fds[1] = memfd_create("handover", 0);
	DO(ftruncate(fds[1], LEN));
	mem = mmap(PLACE, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fds[1], 0);
	DO(rdma_create_ep(&listener, res, NULL, &attr));
	DO(rdma_listen(listener, LIB_CLIENTS));
	DO(send(socket, "", 1, 0) != 1);
	mr = NULL;
	for (uintptr_t i = 0; i < LIB_CLIENTS; i++) {
		DO(rdma_get_request(listener, &ids[i]));
		if (!mr)
			mr = rdma_reg_msgs(ids[i], mem, LEN);
		DO(!mr);
		DO(lib_post_slot(ids[i], mr, mem, i));
		DO(rdma_accept(ids[i], NULL));
		atomic_fetch_add(lib_accepted, 1);
		DO(lib_set_cookie(ids[i], i + 1));
	}
	DO(lib_serve(ids, mr, mem, 10));
	fds[0] = rdma_ep_export(listener);
	DO(fds[0] < 0);
	DO(test_send_fds(to_next, fds, 2));
	return 0;
}

static int next_server(int socket)
{
	struct rdma_cm_id *ids[LIB_CLIENTS];
	struct rdma_ep_adopted *all;
	int fds[2];
	char *mem;

	DO(test_recv_fds(socket, fds, 2));
	DO(!(all = rdma_ep_adopt(fds[0], 0)));
	DO(lib_count(all->ids) != LIB_CLIENTS + 1);
	DO(all->num_regions != 1);
	/* The memory is mapped elsewhere, but requests keep the old addresses. */
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	DO(mem == MAP_FAILED || mem == PLACE);
	for (int i = 0; i < LIB_CLIENTS; i++)
		DO(!(ids[i] = lib_find_id(all, i + 1)));
	DO(lib_serve(ids, all->regions[0].mr, (char *)(uintptr_t)all->regions[0].iova, 20));
	/* The messages are in the new mapping. */
	DO(!mem[0]);
	rdma_ep_free_adopted(all);
	/* The exit of this process ends the connections. */
	return 0;
}

static int start_next(int socket, int none)
{
	return next_server(socket);
}

TEST(server_passes_to_another_process)
{
	pid_t pids[2 + LIB_CLIENTS];
	int up[2], pass[2];
	char c;

	ASSERT_EQ(0, lib_map_accepted());
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, up));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pass));
	pids[0] = lib_fork(start_next, pass[1], 0);
	pids[1] = lib_fork(first_server, up[1], pass[0]);
	ASSERT_EQ(1, recv(up[0], &c, 1, 0));
	for (int i = 0; i < LIB_CLIENTS; i++)
		pids[2 + i] = lib_fork(lib_client, i, 10);
	close(pass[0]);
	close(up[1]);
	for (int i = 0; i < 2 + LIB_CLIENTS; i++) {
		EXPECT_SUCCESS(pids[i]);
	}
}

static int kept_server(int socket, int none)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct rdma_cm_id *listener;
	int fd;

	DO(rdma_create_ep(&listener, res, NULL, &attr));
	DO(rdma_listen(listener, LIB_CLIENTS));
	fd = rdma_ep_keep(listener);
	DO(fd < 0);
	DO(test_send_fds(socket, &fd, 1));
	/* rdma_ep_keep() leaves the session usable here. */
	DO(lib_set_cookie(listener, 9));
	return raise(SIGKILL);
}

TEST(killed_process_is_replaced)
{
	struct rdma_cm_id *listener;
	struct rdma_ep_adopted *all;
	int to[2], status, fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	pid = lib_fork(kept_server, to[1], 0);
	ASSERT_EQ(0, test_recv_fds(to[0], &fd, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(SIGKILL, status);
	all = ASSERT_PTR(rdma_ep_adopt(fd, RDMA_EP_KEEP));
	ASSERT_EQ(1, lib_count(all->ids));
	listener = all->ids[0];
	EXPECT_EQ((void *)9, listener->context);
	EXPECT_EQ(LIB_SERVER_PORT, ntohs(rdma_get_src_port(listener)));
	rdma_destroy_ep(listener);
	rdma_ep_free_adopted(all);
}

static int child_server(int socket, int n)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_ep_adopted *all;
	struct rdma_cm_id *ids[LIB_CLIENTS] = {};
	struct ibv_mr *mr;
	static char mem[LEN];
	int fd;

	DO(test_recv_fds(socket, &fd, 1));
	DO(!(all = rdma_ep_adopt(fd, 0)));
	DO(lib_count(all->ids) != 1);
	ids[0] = all->ids[0];
	DO(!ids[0]->verbs || ids[0]->qp);
	DO(ids[0]->context != (void *)(uintptr_t)(n + 1));
	DO(rdma_create_qp(ids[0], NULL, &attr));
	DO(!(mr = rdma_reg_msgs(ids[0], mem, LEN)));
	DO(lib_post_slot(ids[0], mr, mem, 0));
	DO(rdma_accept(ids[0], NULL));
	atomic_fetch_add(lib_accepted, 1);
	return lib_serve(ids, mr, mem, 10);
}

TEST(children_serve)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	pid_t servers[LIB_CLIENTS], clients[LIB_CLIENTS];
	struct rdma_cm_id *listener, *id;
	int pass[LIB_CLIENTS][2], fd;

	ASSERT_EQ(0, lib_map_accepted());
	/* The servers are forked before the first connection. */
	for (int i = 0; i < LIB_CLIENTS; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pass[i]));
		servers[i] = lib_fork(child_server, pass[i][1], i);
		clients[i] = -1;
	}
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, NULL));
	ASSERT_EQ(0, rdma_listen(listener, LIB_CLIENTS));
	for (int i = 0; i < LIB_CLIENTS; i++) {
		clients[i] = lib_fork(lib_client, i, 10);
		ASSERT_EQ(0, rdma_get_request(listener, &id));
		ASSERT_EQ(0, lib_set_cookie(id, i + 1));
		fd = rdma_ep_split(id);
		ASSERT_LT(0, fd);
		ASSERT_EQ(0, test_send_fds(pass[i][0], &fd, 1));
		close(fd);
	}
	/* A listener cannot be split off. */
	EXPECT_FAILS(EINVAL, rdma_ep_split(listener));
	EXPECT_FAILS(EINVAL, rdma_ep_split(NULL));
	for (int i = 0; i < LIB_CLIENTS; i++) {
		EXPECT_SUCCESS(clients[i]);
		EXPECT_SUCCESS(servers[i]);
	}
	rdma_destroy_ep(listener);
}

/* A client that connects n times, and sends some messages of a byte on each connection. */
static int send_bytes(int n, int messages)
{
	struct ibv_qp_init_attr attr;
	struct rdma_addrinfo *res = lib_rai(0, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char byte;

	alarm(3 * WAIT_MS / 1000);
	for (int i = 0; i < n; i++) {
		byte = 'a' + i % 26;
		attr = lib_qp_attr();
		DO(rdma_create_ep(&id, res, NULL, &attr));
		DO(!(mr = rdma_reg_msgs(id, &byte, 1)));
		DO(rdma_connect(id, NULL));
		while (atomic_load(lib_accepted) <= i)
			usleep(1000);
		for (int m = 0; m < messages; m++)
			DO(rdma_post_send(id, NULL, &byte, 1, mr, 0));
		/* The server ends the connection. */
		DO(rdma_get_cm_event(id->channel, &event));
		DO(event->event != RDMA_CM_EVENT_DISCONNECTED);
		DO(rdma_ack_cm_event(event));
		DO(rdma_dereg_mr(mr));
		rdma_destroy_ep(id);
	}
	return 0;
}

/* The child of a process that has registered these */
static char *private, *shared;

static int receive_into_both(int session, int none)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, 0);
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	DO(!all || all->num_regions != 2);
	DO(!(id = lib_find_id(all, 1)));
	for (int i = 0; i < 2; i++)
		DO(rdma_post_recv(id, NULL, all->regions[i].mr->addr, 1, all->regions[i].mr));
	DO(rdma_accept(id, NULL));
	atomic_fetch_add(lib_accepted, 1);
	for (int i = 0; i < 2; i++)
		DO(rdma_get_recv_comp(id, &wc) != 1 || wc.status || wc.byte_len != 1);
	DO(shared[0] != 'a');
	/* The region has the pages of the parent. */
	DO(private[0]);
	return 0;
}

TEST(private_memory_of_parent)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *listener, *id;
	pid_t client;
	int fd;

	private = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(private != MAP_FAILED && shared != MAP_FAILED);
	ASSERT_EQ(0, lib_map_accepted());
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, NULL));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	client = lib_fork(send_bytes, 1, 2);
	ASSERT_EQ(0, rdma_get_request(listener, &id));
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	ASSERT_NE(NULL, rdma_reg_msgs(id, private, LEN));
	ASSERT_NE(NULL, rdma_reg_msgs(id, shared, LEN));
	ASSERT_EQ(0, lib_set_cookie(id, 1));
	fd = rdma_ep_export(listener);
	ASSERT_LE(0, fd);
	EXPECT_SUCCESS(lib_fork(receive_into_both, fd, 0));
	EXPECT_SUCCESS(client);
	EXPECT_EQ('a', shared[0]);
	EXPECT_EQ('a', private[0]);
	close(fd);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < FEW; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Receives a message on each of n connections, one after the other, with few descriptors. */
static int worker(int socket, int n)
{
	struct rlimit descriptors = { FEW, FEW }, bytes = { 1 << 30, 1 << 30 };
	struct ibv_qp_init_attr attr;
	int fd, before = open_descriptors();
	struct rdma_ep_adopted *all;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char byte;

	alarm(3 * WAIT_MS / 1000);
	DO(setrlimit(RLIMIT_NOFILE, &descriptors) || setrlimit(RLIMIT_AS, &bytes));
	for (int i = 0; i < n; i++) {
		DO(test_recv_fds(socket, &fd, 1));
		DO(!(all = rdma_ep_adopt(fd, 0)));
		id = all->ids[0];
		rdma_ep_free_adopted(all);
		attr = lib_qp_attr();
		DO(rdma_create_qp(id, NULL, &attr));
		DO(!(mr = rdma_reg_msgs(id, &byte, 1)));
		DO(rdma_post_recv(id, NULL, &byte, 1, mr));
		DO(rdma_accept(id, NULL));
		atomic_fetch_add(lib_accepted, 1);
		DO(rdma_get_recv_comp(id, &wc) != 1 || wc.status);
		DO(byte != 'a' + i % 26);
		DO(!FAILS(EBUSY, rdma_ep_close(fd)));
		DO(rdma_dereg_mr(mr));
		rdma_destroy_ep(id);
		DO(rdma_ep_close(fd));
		DO(open_descriptors() != before);
	}
	/* A few rings are as large as that. */
	DO(mmap(NULL, 1 << 29, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	return 0;
}

TEST(worker_serves_many)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct rdma_cm_id *listener, *id;
	pid_t server, client;
	int pass[2], fd;

	ASSERT_EQ(0, lib_map_accepted());
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pass));
	server = lib_fork(worker, pass[1], MANY);
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, NULL));
	ASSERT_EQ(0, rdma_listen(listener, LIB_CLIENTS));
	client = lib_fork(send_bytes, MANY, 1);
	for (int i = 0; i < MANY; i++) {
		ASSERT_EQ(0, rdma_get_request(listener, &id));
		fd = rdma_ep_split(id);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, test_send_fds(pass[0], &fd, 1));
		close(fd);
	}
	EXPECT_SUCCESS(client);
	EXPECT_SUCCESS(server);
	rdma_destroy_ep(listener);
}

TEST_HARNESS_MAIN
