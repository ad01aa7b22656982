// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma_ep_adopt(3) in a process that the giver does not trust, or that lacks something: the
 * mapped memory, rights, a library of this version, or the session, because another process has
 * adopted it.
 *
 * It would catch: an adoption that fails for lack of one of these or grants a right, a failed
 * adoption that ends the session, a session with two owners, ids without what they need, ids that
 * destroy an object twice because the giver's notes name it twice.
 */
#include <setjmp.h>
#include <sys/ioctl.h>

#include <rdma/rdma_ep.h>

#include "lib_handover.h"
#include "lib_mock.h"
#include "lib_test.h"

#define LEN	4096
#define PLACE	((void *)0x20000000000)		/* address of the region in the giver */

/*
 * An accepted connection in a session of its own, with a region of two pages over a memfd, and a
 * receive for the first message of its client.
 */
struct giver {
	struct rdma_cm_id *listener;
	int memory;
	int session;
	pid_t client;
};

static int give(struct giver *g, int rounds)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_ep_adopted *all;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *mem;
	int fd;

	DO(!res || lib_map_accepted());
	g->memory = memfd_create("region", MFD_CLOEXEC);
	DO(g->memory < 0 || ftruncate(g->memory, 2 * LEN));
	mem = mmap(PLACE, 2 * LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, g->memory, 0);
	DO(mem != PLACE);
	DO(rdma_create_ep(&g->listener, res, NULL, NULL));
	DO(rdma_listen(g->listener, LIB_CLIENTS));
	g->client = lib_fork(lib_client, 0, rounds);
	DO(rdma_get_request(g->listener, &id));
	fd = rdma_ep_split(id);
	DO(fd < 0 || !(all = rdma_ep_adopt(fd, 0)));
	id = all->ids[0];
	rdma_ep_free_adopted(all);
	DO(rdma_create_qp(id, NULL, &attr));
	DO(!(mr = rdma_reg_msgs(id, mem, 2 * LEN)));
	DO(lib_post_slot(id, mr, mem, 0));
	DO(rdma_accept(id, NULL));
	atomic_store(lib_accepted, LIB_CLIENTS);
	g->session = rdma_ep_export(id);
	DO(g->session < 0);
	munmap(mem, 2 * LEN);
	return 0;
}

static pid_t take(struct giver *g, int (*fn)(int session, int memory))
{
	return lib_fork(fn, g->session, g->memory);
}

static int adopt_one(int session, struct rdma_cm_id **id, struct ibv_mr **mr)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, 0);

	DO(!all || lib_count(all->ids) != 1 || all->num_regions != 1);
	*id = all->ids[0];
	*mr = all->regions[0].mr;
	DO((*mr)->addr != PLACE || (*mr)->length != 2 * LEN);
	rdma_ep_free_adopted(all);
	return 0;
}

/* Requests have the giver's addresses, wherever the memory is mapped. */
static int serve_one(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct rdma_cm_id *ids[LIB_CLIENTS] = { id };

	return lib_serve(ids, mr, PLACE, 1);
}

static sigjmp_buf at_fault;

static void on_fault(int sig)
{
	siglongjmp(at_fault, 1);
}

/* The library itself copies inline data, so unmapped data faults. */
static bool inline_faults(struct rdma_cm_id *id)
{
	signal(SIGSEGV, on_fault);
	if (!sigsetjmp(at_fault, 1)) {
		rdma_post_send(id, NULL, PLACE, 8, NULL, IBV_SEND_INLINE);
		return false;
	}
	signal(SIGSEGV, SIG_DFL);
	return true;
}

/* Requests need the region, but no mapping of its memory. Only inline data must be mapped. */
static int no_mapping(int session, int memory)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char got;

	DO(adopt_one(session, &id, &mr));
	DO(!inline_faults(id));
	DO(serve_one(id, mr));
	DO(pread(memory, &got, 1, 0) != 1 || got != 'a');
	return 0;
}

/* Unlike rdma_post_recv(), does not assert that the buffer is within mr. */
static int post_recv(struct rdma_cm_id *id, char *addr, uint32_t len, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(id->qp, &wr, &bad);
}

static int post_send(struct rdma_cm_id *id, char *addr, uint32_t len, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)addr, len, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(id->qp, &wr, &bad);
}

/* The region keeps its registered size, and requests beyond it are refused. */
static int short_mapping(int session, int memory)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *mem;

	DO(ftruncate(memory, LEN));
	mem = mmap(PLACE, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0);
	DO(mem != PLACE);
	DO(adopt_one(session, &id, &mr));
	/* The second page is no longer in the file, but still in the region. */
	DO(post_recv(id, mem + 2 * LEN - 64, 64, mr));
	DO(post_recv(id, mem + 2 * LEN - 64, 65, mr) != EINVAL);
	DO(post_recv(id, mem - 1, 64, mr) != EINVAL);
	DO(serve_one(id, mr));
	DO(mem[0] != 'a');
	return 0;
}

/* Requests with the addresses of another mapping are refused. */
static int other_mapping(int session, int memory)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *mem;

	mem = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	DO(mem == MAP_FAILED);
	DO(adopt_one(session, &id, &mr));
	DO(post_recv(id, mem, 64, mr) != EINVAL);
	DO(post_send(id, mem, 64, mr) != EINVAL);
	DO(serve_one(id, mr));
	DO(mem[0] != 'a');
	return 0;
}

TEST(memory_that_is_not_there)
{
	int (*const takers[])(int, int) = { no_mapping, short_mapping, other_mapping };
	struct giver g;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, give(&g, 1));
		EXPECT_SUCCESS(take(&g, takers[i]));
		EXPECT_SUCCESS(g.client);
		rdma_destroy_ep(g.listener);
		close(g.session);
		close(g.memory);
	}
}

/* The library of another version fails before it takes the session. */
static int of_other_version(int session, int memory)
{
	setenv("OTHER_ABI", "librdma_ep", 1);	/* clients/other_abi.c */
	DO(!FAILS_NULL(EPERM, rdma_ep_adopt(session, 0)));
	return 0;
}

TEST(library_of_another_version)
{
	struct giver g;

	ASSERT_EQ(0, give(&g, 1));
	EXPECT_SUCCESS(take(&g, of_other_version));
	EXPECT_SUCCESS(take(&g, other_mapping));
	EXPECT_SUCCESS(g.client);
	rdma_destroy_ep(g.listener);
}

/* A container without the device, its network and rights. The process is root there. */
static int contained(int session, int memory)
{
	const struct rlimit none = { 0, 0 };
	struct rdma_cm_id *id, *another;
	static char mem[LEN];
	struct ibv_mr *mr;

	DO(unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
	DO(setrlimit(RLIMIT_MEMLOCK, &none));
	DO(adopt_one(session, &id, &mr));
	DO(serve_one(id, mr));
	/* A new region counts against the limit of this process. */
	DO(rdma_reg_msgs(id, mem, LEN) || (errno != ENOMEM && errno != EPERM));
	/* The container's network has no device. */
	DO(!rdma_create_ep(&another, lib_rai(0, LIB_SERVER_PORT, RDMA_PS_TCP), NULL, NULL));
	DO(rdma_dereg_mr(mr));
	return 0;
}

TEST(container_with_nothing_but_the_descriptor)
{
	struct giver g;

	ASSERT_EQ(0, give(&g, 1));
	EXPECT_SUCCESS(take(&g, contained));
	EXPECT_SUCCESS(g.client);
	rdma_destroy_ep(g.listener);
}

/* One process adopts the session and serves; the others fail to adopt it. */
static int one_of_many(int session, int start)
{
	struct rdma_ep_adopted *all;
	char c;

	DO(read(start, &c, 1) != 1);
	all = rdma_ep_adopt(session, 0);
	if (!all) {
		DO(errno != EBADF && errno != EBUSY);
		return 0;
	}
	DO(serve_one(all->ids[0], all->regions[0].mr));
	return 0;
}

TEST(processes_at_once)
{
	pid_t pids[4];
	struct giver g;
	int start[2];

	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, give(&g, 1));
		ASSERT_EQ(0, pipe(start));
		for (int i = 0; i < 4; i++)
			pids[i] = lib_fork(one_of_many, g.session, start[0]);
		ASSERT_EQ(4, write(start[1], "1234", 4));
		for (int i = 0; i < 4; i++)
			EXPECT_SUCCESS(pids[i]);
		/* The client has its answer, so a process has adopted the session. */
		EXPECT_SUCCESS(g.client);
		rdma_destroy_ep(g.listener);
		close(g.session);
	}
}

/* ---- an established connection, and restrictions of its next owner */

static char *shared;

static int restricted_server(int socket, int nothing)
{
	struct rdma_cm_id *ids[LIB_CLIENTS] = {};
	struct rdma_ep_adopted *all;
	static char mem[LEN];
	int fd;

	DO(test_recv_fds(socket, &fd, 1));
	DO(!(all = rdma_ep_adopt(fd, 0)));
	DO(lib_count(all->ids) != 1 || all->num_regions != 1);
	ids[0] = all->ids[0];
	DO(!ids[0]->qp || ids[0]->qp->state != IBV_QPS_RTS);
	DO(!FAILS_NULL(EDQUOT, rdma_reg_msgs(ids[0], mem, LEN)));
	return lib_serve(ids, all->regions[0].mr, shared, 10);
}

TEST(established_connection_passes_alone)
{
	struct rdma_ep_restriction full = { .flags = RDMA_EP_RESTRICT_OBJECTS };
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *listener, *id;
	struct rdma_ep_adopted *all;
	pid_t server, peer;
	struct ibv_mr *mr;
	int pass[2], fd;

	shared = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)shared);
	ASSERT_EQ(0, lib_map_accepted());
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pass));
	server = lib_fork(restricted_server, pass[1], 0);
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, NULL));
	ASSERT_EQ(0, rdma_listen(listener, LIB_CLIENTS));
	peer = lib_fork(lib_client, 0, 10);
	ASSERT_EQ(0, rdma_get_request(listener, &id));
	fd = rdma_ep_split(id);
	ASSERT_LT(0, fd);
	all = ASSERT_PTR(rdma_ep_adopt(fd, 0));
	id = all->ids[0];
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	mr = ASSERT_PTR(rdma_reg_msgs(id, shared, LEN));
	ASSERT_EQ(0, lib_post_slot(id, mr, shared, 0));
	ASSERT_EQ(0, rdma_accept(id, NULL));
	atomic_store(lib_accepted, LIB_CLIENTS);

	fd = rdma_ep_export(id);
	ASSERT_LT(0, fd);
	EXPECT_FAILS(EINVAL, rdma_ep_restrict(fd, NULL));
	EXPECT_FAILS(EINVAL, rdma_ep_restrict(fd, &(struct rdma_ep_restriction) {}));
	EXPECT_FAILS(EBADF, rdma_ep_restrict(-1, &full));
	EXPECT_FAILS(ENOTTY, rdma_ep_restrict(pass[0], &full));
	EXPECT_EQ(0, rdma_ep_restrict(fd, &full));
	ASSERT_EQ(0, test_send_fds(pass[0], &fd, 1));
	EXPECT_SUCCESS(peer);
	EXPECT_SUCCESS(server);
	EXPECT_FAILS(EBADF, rdma_ep_restrict(fd, &full));
	rdma_destroy_ep(listener);
}

/* ---- a request, whose next owner may not have the context and the PD that its id needs */

/* The connection is rejected. */
static int refused_client(int nothing, int none)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id;

	DO(rdma_create_ep(&id, lib_rai(0, LIB_SERVER_PORT, RDMA_PS_TCP), NULL, &attr));
	DO(!rdma_connect(id, NULL));
	return 0;
}

static int adopts_nothing(int socket, int error)
{
	int fd;

	DO(test_recv_fds(socket, &fd, 1));
	DO(!FAILS_NULL(error, rdma_ep_adopt(fd, 0)));
	/* Nor is the session half adopted. */
	DO(!FAILS_NULL(error, rdma_ep_adopt(fd, 0)));
	return 0;
}

TEST(request_without_room_or_device)
{
	/* The id and its channel are two objects. */
	struct rdma_ep_restriction cases[] = {
		{ .flags = RDMA_EP_RESTRICT_OBJECTS, .max_objects = 2 },
		{ .flags = RDMA_EP_RESTRICT_DEVICES },
	};
	const int errors[] = { EDQUOT, EACCES };
	struct rdma_cm_id *listener, *id;
	pid_t taker, peer;
	int pass[2], fd;

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pass));
		/* Before this process has listed a device */
		taker = lib_fork(adopts_nothing, pass[1], errors[i]);
		ASSERT_EQ(0, rdma_create_ep(&listener,
					    lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP),
					    NULL, NULL));
		ASSERT_EQ(0, rdma_listen(listener, 1));
		peer = lib_fork(refused_client, 0, 0);
		ASSERT_EQ(0, rdma_get_request(listener, &id));
		fd = rdma_ep_split(id);
		ASSERT_LT(0, fd);
		ASSERT_EQ(0, rdma_ep_restrict(fd, &cases[i]));
		ASSERT_EQ(0, test_send_fds(pass[0], &fd, 1));
		EXPECT_SUCCESS(taker);
		close(fd);
		EXPECT_SUCCESS(peer);
		rdma_destroy_ep(listener);
	}
}

/* ---- an id whose device is removed between two owners has neither id->verbs nor id->qp */

TEST(removed_device)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_ep_adopted *all;
	struct rdma_cm_id *id;
	int fd;

	ASSERT_PTR(lib_mock_up());
	ASSERT_EQ(0, rdma_create_ep(&id, lib_mock_rai(RAI_PASSIVE, IBV_QPT_RC), NULL, NULL));
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	fd = rdma_ep_export(id);
	ASSERT_LT(0, fd);
	lib_mock_down();
	all = ASSERT_PTR(rdma_ep_adopt(fd, 0));
	ASSERT_EQ(1, lib_count(all->ids));
	id = all->ids[0];
	EXPECT_EQ(NULL, id->verbs);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(1, lib_count(all->qps));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* ---- notes (lib/handover.h) in which ids name CQs of another id */

enum { NOTE_CQS = 0, NOTE_ATTR_CQS = 4 };

/* The first id destroys its CQs. The second one, and attributes of a listener, name the same. */
static int forge_notes(int fd)
{
	struct rdma_ep_obj_info info[64];
	struct rdma_ep_cmd_list_objs l = {
		.size = sizeof(l), .max = 64, .objs = (uintptr_t)info,
	};
	struct rdma_ep_cmd_set_obj set = {
		.size = sizeof(set), .flags = RDMA_EP_SET_NOTE, .type = RDMA_EP_OBJ_ID,
	};
	uint32_t cqs[2] = {}, note[RDMA_EP_NOTE_BYTES / 4];

	DO(ioctl(fd, RDMA_EP_IOC_LIST_OBJS, &l));
	for (uint32_t i = 0; i < l.num; i++) {
		if (info[i].type != RDMA_EP_OBJ_ID)
			continue;
		memcpy(note, info[i].note, sizeof(note));
		if (!cqs[0]) {
			memcpy(cqs, note + NOTE_CQS, sizeof(cqs));
			DO(!cqs[0] || !cqs[1]);
			continue;
		}
		memcpy(note + (note[NOTE_CQS] ? NOTE_CQS : NOTE_ATTR_CQS), cqs, sizeof(cqs));
		memcpy(set.note, note, sizeof(note));
		set.handle = info[i].handle;
		DO(ioctl(fd, RDMA_EP_IOC_SET_OBJ, &set));
	}
	return 0;
}

static int adopts_forged(int session, int nothing)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, 0);
	struct rdma_cm_id **ids, *request;

	DO(!all || lib_count(all->ids) != 3);
	ids = all->ids;
	DO(!ids[0]->recv_cq || !ids[0]->send_cq);
	DO(ids[1]->recv_cq || ids[1]->send_cq || ids[1]->recv_cq_channel ||
	   ids[1]->send_cq_channel);
	rdma_destroy_ep(ids[0]);
	rdma_destroy_ep(ids[1]);
	/* The CQs of the attributes would have been destroyed. */
	DO(rdma_get_request(ids[2], &request));
	DO(!request->recv_cq || !request->send_cq);
	DO(rdma_accept(request, NULL));
	return 0;
}

static int accepted_client(int nothing, int none)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_cm_id *id;

	DO(rdma_create_ep(&id, lib_rai(0, LIB_SERVER_PORT, RDMA_PS_TCP), NULL, &attr));
	DO(rdma_connect(id, NULL));
	return 0;
}

TEST(notes_name_objects_twice)
{
	struct rdma_addrinfo *res = lib_rai(RAI_PASSIVE, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id, *listener;
	pid_t taker, client;
	int fd;

	for (int i = 0; i < 2; i++) {
		id = ASSERT_PTR(lib_bound_id(NULL, RDMA_PS_TCP));
		attr = lib_qp_attr();
		ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	}
	attr = lib_qp_attr();
	ASSERT_EQ(0, rdma_create_ep(&listener, res, NULL, &attr));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	client = lib_fork(accepted_client, 0, 0);
	fd = rdma_ep_keep(listener);
	ASSERT_LT(0, fd);
	ASSERT_EQ(0, forge_notes(fd));
	taker = lib_fork(adopts_forged, fd, 0);
	EXPECT_SUCCESS(taker);
	EXPECT_SUCCESS(client);
}

TEST_HARNESS_MAIN
