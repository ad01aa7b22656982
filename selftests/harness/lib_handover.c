// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server and clients for the tests of rdma_ep_handover(7). Connections may move to another
 * process.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_handover.h"

struct rdma_cm_id *lib_find_id(struct rdma_ep_adopted *all, uint64_t cookie)
{
	for (struct rdma_cm_id **id = all->ids; *id; id++)
		if ((*id)->context == (void *)(uintptr_t)cookie)
			return *id;
	return NULL;
}

size_t lib_count(void *list)
{
	size_t n = 0;

	while (((void **)list)[n])
		n++;
	return n;
}

atomic_int *lib_accepted;

int lib_map_accepted(void)
{
	lib_accepted = mmap(NULL, sizeof(*lib_accepted), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return lib_accepted == MAP_FAILED ? -1 : 0;
}

int lib_post_slot(struct rdma_cm_id *id, struct ibv_mr *mr, char *mem, uintptr_t slot)
{
	return rdma_post_recv(id, (void *)slot, mem + 64 * slot, 64, mr);
}

int lib_serve(struct rdma_cm_id **ids, struct ibv_mr *mr, char *mem, int n)
{
	struct ibv_wc wc;

	for (int i = 0; n; i = (i + 1) % LIB_CLIENTS) {
		if (!ids[i] || ibv_poll_cq(ids[i]->recv_cq, 1, &wc) != 1)
			continue;
		/* A client exits after its last answer, which over iWARP fails the next receive. */
		if (wc.status != IBV_WC_SUCCESS)
			continue;
		DO(lib_post_slot(ids[i], mr, mem, wc.wr_id));
		DO(rdma_post_send(ids[i], NULL, mem + 64 * wc.wr_id, 64, mr, IBV_SEND_SIGNALED));
		DO(rdma_get_send_comp(ids[i], &wc) != 1);
		n--;
	}
	return 0;
}

int lib_client(int n, int rounds)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();
	struct rdma_addrinfo *res = lib_rai(0, LIB_SERVER_PORT, RDMA_PS_TCP);
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char buf[128];
	struct ibv_wc wc;

	DO(rdma_create_ep(&id, res, NULL, &attr));
	DO(!(mr = rdma_reg_msgs(id, buf, sizeof(buf))));
	DO(rdma_connect(id, NULL));
	while (atomic_load(lib_accepted) < LIB_CLIENTS)
		usleep(1000);
	for (int i = 0; i < rounds; i++) {
		memset(buf, 'a' + (n + i) % 26, 64);
		memset(buf + 64, 0, 64);
		DO(rdma_post_recv(id, NULL, buf + 64, 64, mr));
		DO(rdma_post_send(id, NULL, buf, 64, mr, 0));
		DO(rdma_get_recv_comp(id, &wc) != 1 || wc.status);
		DO(memcmp(buf, buf + 64, 64));
	}
	return 0;
}

pid_t lib_fork(int (*fn)(int, int), int a, int b)
{
	pid_t pid = fork();

	if (!pid) {
		/* Ends a side whose peer has failed. */
		alarm(WAIT_MS / 1000);
		_exit(fn(a, b) ? 1 : 0);
	}
	return pid;
}
