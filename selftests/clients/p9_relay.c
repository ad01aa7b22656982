// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes messages between 9P clients on RDMA and a 9P server on TCP, unchanged.
 *
 *	p9_relay ADDR PORT SERVER-PORT [hold]
 *
 * Each client's connection gets a connection to 127.0.0.1:SERVER-PORT. When one of the two ends,
 * the relay ends the other. "hold": READs get no reply, as if they took forever. (The server
 * replies at once to a flush of an unknown tag.)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define DEPTH	32
#define SIZE	(1 << 20)
#define TREAD	116

static int hold;

struct relay {
	struct rdma_cm_id *id;
	int sock;
	unsigned char *requests, *reply;
	struct ibv_mr *requests_mr, *reply_mr;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static int server(int port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	if (sock >= 0 && !connect(sock, (struct sockaddr *)&sin, sizeof(sin)))
		return sock;
	close(sock);
	return -1;
}

static int write_all(int sock, const unsigned char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= n) {
		n = write(sock, data, len);
		if (n <= 0)
			return -1;
	}
	return 0;
}

static int read_all(int sock, unsigned char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= n) {
		n = read(sock, data, len);
		if (n <= 0)
			return -1;
	}
	return 0;
}

/* A message of 9P begins with its length. */
static int read_message(int sock, unsigned char *data)
{
	size_t len;

	if (read_all(sock, data, 4))
		return -1;
	len = data[0] | data[1] << 8 | data[2] << 16 | (size_t)data[3] << 24;
	if (len < 7 || len > SIZE || read_all(sock, data + 4, len - 4))
		return -1;
	return len;
}

static void *replies(void *arg)
{
	struct relay *r = arg;
	struct ibv_wc wc;
	int len;

	while ((len = read_message(r->sock, r->reply)) > 0) {
		if (rdma_post_send(r->id, NULL, r->reply, len, r->reply_mr, 0) ||
		    rdma_get_send_comp(r->id, &wc) != 1 || wc.status)
			break;
	}
	rdma_disconnect(r->id);
	return NULL;
}

static int post(struct relay *r, int i)
{
	unsigned char *buf = r->requests + (size_t)i * SIZE;

	return rdma_post_recv(r->id, (void *)(long)i, buf, SIZE, r->requests_mr);
}

static int pass_on(struct relay *r, const unsigned char *msg, size_t len)
{
	return hold && len > 4 && msg[4] == TREAD ? 0 : write_all(r->sock, msg, len);
}

static void *requests(void *arg)
{
	struct relay *r = arg;
	pthread_t thread;
	struct ibv_wc wc;
	int i;

	must(!pthread_create(&thread, NULL, replies, r), "pthread_create");
	while (rdma_get_recv_comp(r->id, &wc) == 1 && !wc.status) {
		i = wc.wr_id;
		if (pass_on(r, r->requests + (size_t)i * SIZE, wc.byte_len) || post(r, i))
			break;
	}
	shutdown(r->sock, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(r->sock);
	rdma_dereg_mr(r->requests_mr);
	rdma_dereg_mr(r->reply_mr);
	rdma_destroy_ep(r->id);
	free(r->requests);
	free(r->reply);
	free(r);
	return NULL;
}

static void relay(struct rdma_cm_id *id, int port)
{
	struct relay *r = calloc(1, sizeof(*r));
	pthread_t thread;
	int i;

	must(!!r, "calloc");
	r->id = id;
	r->sock = server(port);
	if (r->sock < 0) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_ep(id);
		free(r);
		return;
	}
	r->requests = malloc((size_t)DEPTH * SIZE);
	r->reply = malloc(SIZE);
	must(r->requests && r->reply, "malloc");
	r->requests_mr = rdma_reg_msgs(id, r->requests, (size_t)DEPTH * SIZE);
	r->reply_mr = rdma_reg_msgs(id, r->reply, SIZE);
	must(r->requests_mr && r->reply_mr, "rdma_reg_msgs");
	for (i = 0; i < DEPTH; i++)
		must(!post(r, i), "rdma_post_recv");
	must(!rdma_accept(id, NULL), "rdma_accept");
	must(!pthread_create(&thread, NULL, requests, r), "pthread_create");
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE,
	}, *res;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 2,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *listener, *id;

	if (argc < 4) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	hold = argc > 4 && !strcmp(argv[4], "hold");
	must(!rdma_getaddrinfo(argv[1], argv[2], &hints, &res), "rdma_getaddrinfo");
	must(!rdma_create_ep(&listener, res, NULL, &attr), "rdma_create_ep");
	must(!rdma_listen(listener, 8), "rdma_listen");
	puts("listening");
	fflush(stdout);
	while (!rdma_get_request(listener, &id))
		relay(id, atoi(argv[3]));
	return 1;
}
