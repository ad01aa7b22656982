// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of the kernel's key-value store (ulp/kvs) that depends only on the format of its
 * messages. It can misbehave:
 *
 *	kvs_peer ADDR PORT get KEY | put KEY VALUE | delete KEY
 *	kvs_peer ADDR PORT send HEX...	these bytes as messages, one after another
 *	kvs_peer ADDR PORT zeros LEN	one message of LEN zeros
 *	kvs_peer ADDR PORT burst N	N requests at once
 *	kvs_peer ADDR PORT deaf N	the same, without receives; until it is killed
 *	kvs_peer ADDR PORT hold		no requests; until it is killed
 *	kvs_peer ADDR PORT refuse N	N connections, one after another, that are given up
 *					before they exist: the client rejects the server's
 *					reply, or ends after it or before it (IB and RoCE)
 *
 * Prints "status N VALUE" for each reply.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "ulp/kvs/wire.h"

#define DEPTH	64

static struct rdma_cm_id *id;
static struct ibv_mr *mr;
static unsigned char out[2 * KVS_MSG_MAX], in[DEPTH][KVS_MSG_MAX];
static struct ibv_mr *in_mr;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_connection(const char *addr, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct rdma_conn_param param = {
		.retry_count = 3,
		.rnr_retry_count = 7,
	};

	must(!rdma_getaddrinfo(addr, port, &hints, &res), "rdma_getaddrinfo");
	must(!rdma_create_ep(&id, res, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(res);
	mr = rdma_reg_msgs(id, out, sizeof(out));
	in_mr = rdma_reg_msgs(id, in, sizeof(in));
	must(mr && in_mr, "rdma_reg_msgs");
	must(!rdma_connect(id, &param), "rdma_connect");
}

static void post_receives(int n)
{
	int i;

	for (i = 0; i < n; i++)
		must(!rdma_post_recv(id, in[i], in[i], sizeof(in[i]), in_mr), "rdma_post_recv");
}

static void post_request(size_t len)
{
	must(!rdma_post_send(id, NULL, out, len, mr, 0), "rdma_post_send");
}

static void print_reply(void)
{
	const struct kvs_msg *msg;
	struct ibv_wc wc;

	must(rdma_get_recv_comp(id, &wc) == 1, "rdma_get_recv_comp");
	if (wc.status) {
		printf("error %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	msg = (void *)(uintptr_t)wc.wr_id;
	printf("status %u %.*s\n", msg->status, ntohs(msg->value_len), msg->data);
	fflush(stdout);
}

static size_t make_request(int op, const char *key, const char *value)
{
	struct kvs_msg *msg = (void *)out;
	size_t key_len = strlen(key), value_len = strlen(value);

	must(key_len <= KVS_KEY_MAX && value_len <= KVS_VALUE_MAX, "too long");
	msg->version = KVS_VERSION;
	msg->op = op;
	msg->status = 0;
	msg->key_len = key_len;
	msg->value_len = htons(value_len);
	memcpy(msg->data, key, key_len);
	memcpy(msg->data + key_len, value, value_len);
	return sizeof(*msg) + key_len + value_len;
}

static size_t from_hex(const char *hex)
{
	size_t n;

	for (n = 0; n < sizeof(out) && sscanf(hex, "%2hhx", &out[n]) == 1; n++)
		hex += 2;
	return n;
}

static void exchange(size_t len)
{
	struct ibv_wc wc;

	post_receives(1);
	post_request(len);
	print_reply();
	must(rdma_get_send_comp(id, &wc) == 1, "rdma_get_send_comp");
}

/* Prints replies until none arrives for a second. */
static void burst(int n, int receives)
{
	size_t len = make_request(KVS_GET, "no such key", "");
	struct ibv_wc wc;
	int i, idle;

	post_receives(receives);
	post_request(len);
	for (i = 1; i < n; i++) {
		/* iWARP ends a connection at the first reply without a receive. */
		if (rdma_post_send(id, NULL, out, len, mr, 0))
			must(!receives, "rdma_post_send");
	}
	printf("sent %d\n", n);
	fflush(stdout);
	if (!receives)
		pause();
	for (idle = 0; idle < 10; idle++) {
		usleep(100000);
		while (ibv_poll_cq(id->recv_cq, 1, &wc) > 0) {
			puts(wc.status ? "error" : "reply");
			idle = 0;
		}
	}
}

static void next_event(struct rdma_event_channel *ch, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;

	must(!rdma_get_cm_event(ch, &event), "rdma_get_cm_event");
	if (event->event != want) {
		fprintf(stderr, "%s (%d), not %s\n", rdma_event_str(event->event), event->status,
			rdma_event_str(want));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

/* Each client uses another QP number: ib_cm takes an equal one for a stale connection. */
static void refuse_one(const struct sockaddr *dst, int how, unsigned int qpn)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_conn_param param = {
		.qp_num = qpn, .retry_count = 3, .rnr_retry_count = 7,
	};

	must(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_resolve_addr(id, NULL, (struct sockaddr *)dst, 5000), "rdma_resolve_addr");
	next_event(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(!rdma_resolve_route(id, 5000), "rdma_resolve_route");
	next_event(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	must(!rdma_connect(id, &param), "rdma_connect");
	if (how)
		next_event(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (how == 1)
		must(!rdma_reject(id, NULL, 0), "rdma_reject");
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
}

static void refuse(const char *addr, const char *port, int n)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	int i;

	must(!rdma_getaddrinfo(addr, port, &hints, &res), "rdma_getaddrinfo");
	for (i = 0; i < n; i++)
		refuse_one(res->ai_dst_addr, i % 3, 0x1234 + i);
	rdma_freeaddrinfo(res);
	printf("refused %d\n", n);
}

static int command(const char *cmd, int argc, char **argv)
{
	const char *key = argc ? argv[0] : "", *value = argc > 1 ? argv[1] : "";
	int n = atoi(key);

	if (!strcmp(cmd, "get")) {
		exchange(make_request(KVS_GET, key, ""));
	} else if (!strcmp(cmd, "put")) {
		exchange(make_request(KVS_PUT, key, value));
	} else if (!strcmp(cmd, "delete")) {
		exchange(make_request(KVS_DELETE, key, ""));
	} else if (!strcmp(cmd, "send")) {
		while (argc--)
			exchange(from_hex(*argv++));
	} else if (!strcmp(cmd, "zeros") && n <= sizeof(out)) {
		exchange(n);
	} else if (!strcmp(cmd, "burst") && n <= DEPTH) {
		burst(n, n);
	} else if (!strcmp(cmd, "deaf") && n <= DEPTH) {
		burst(n, 0);
	} else if (!strcmp(cmd, "hold")) {
		puts("connected");
		fflush(stdout);
		pause();
	} else {
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc < 4) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	if (!strcmp(argv[3], "refuse") && argc == 5) {
		refuse(argv[1], argv[2], atoi(argv[4]));
		return 0;
	}
	open_connection(argv[1], argv[2]);
	ret = command(argv[3], argc - 4, argv + 4);
	rdma_disconnect(id);
	rdma_dereg_mr(in_mr);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return ret;
}
