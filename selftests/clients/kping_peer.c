// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of kping's servers (ulp/kping) that posts no receives, so that no message of the server
 * arrives.
 *
 *	kping_peer ADDR PORT srq|stream N	sends N messages, one after another, and
 *						disconnects
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define SIZE	64	/* bytes of a message */
#define DEPTH	2	/* the least that a server serves */

/* struct kping_hello of ulp/kping/conn.c */
struct hello {
	uint32_t magic;
	uint8_t mode;		/* enum kping_mode */
	uint8_t op;		/* 0: SEND */
	uint8_t verify;
	uint8_t reserved;
	uint32_t count;
	uint32_t size;
	uint32_t depth;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct hello hello = {
		.magic = htonl(0x6b70696e),
		.count = htonl(1000000),
		.size = htonl(SIZE),
		.depth = htonl(DEPTH),
	};
	struct rdma_conn_param param = {
		.private_data = &hello,
		.private_data_len = sizeof(hello),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	static char buf[SIZE];
	int i;

	if (argc != 5) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	hello.mode = strcmp(argv[3], "srq") ? 3 : 2;
	must(!rdma_getaddrinfo(argv[1], argv[2], &hints, &res), "rdma_getaddrinfo");
	must(!rdma_create_ep(&id, res, NULL, &attr), "rdma_create_ep");
	mr = rdma_reg_msgs(id, buf, SIZE);
	must(!!mr, "rdma_reg_msgs");
	must(!rdma_connect(id, &param), "rdma_connect");
	for (i = 0; i < atoi(argv[4]); i++) {
		if (rdma_post_send(id, NULL, buf, SIZE, mr, 0) ||
		    rdma_get_send_comp(id, &wc) != 1 || wc.status)
			break;
	}
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return 0;
}
