// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

/* hello ADDRESS: sends 16 bytes to rdma_server(1) there, waits for 16 bytes */
int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 16 } };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	char hello[16] = "hello", answer[16];
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (argc != 2)
		return 2;
	check(rdma_getaddrinfo(argv[1], "7471", &hints, &ai), "rdma_getaddrinfo");
	check(rdma_create_ep(&id, ai, NULL, &attr), "rdma_create_ep");
	mr = rdma_reg_msgs(id, answer, sizeof(answer));
	check(!mr, "rdma_reg_msgs");
	check(rdma_post_recv(id, NULL, answer, sizeof(answer), mr), "rdma_post_recv");
	check(rdma_connect(id, NULL), "rdma_connect");
	check(rdma_post_send(id, NULL, hello, sizeof(hello), NULL, IBV_SEND_INLINE),
	      "rdma_post_send");
	check(rdma_get_recv_comp(id, &wc) < 1, "rdma_get_recv_comp");
	printf("answer: %s, %u bytes\n", ibv_wc_status_str(wc.status), wc.byte_len);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(ai);
	return wc.status;
}
