// SPDX-License-Identifier: GPL-2.0-only
/*
 * handover_client ADDRESS PORT CONNECTIONS: sends messages to docs/programs/handover.c on so many
 * connections until SIGTERM, and compares the answers. It fails if a message is lost, differs or
 * arrives twice, or if a connection ends. Prints the number of messages, and the longest time in
 * ms between two answers of any connection. After SIGUSR1 and an answer on each connection it
 * prints "gap MS...", the longest time between two answers of each connection since the previous
 * such line.
 *
 * It is linked with the stock libraries.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define LEN	64
#define MAX	256

struct conn {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char buf[2 * LEN];	/* sent, received */
	unsigned int sent;
};

static struct conn conns[MAX];
static long last_of[MAX];	/* time of the last answer, in ms */
static long gap_of[MAX];	/* longest time between answers, until it is printed */
static unsigned int answers[MAX];
static volatile sig_atomic_t ending, asked;

static void on_term(int sig)
{
	ending = 1;
}

static void on_usr1(int sig)
{
	asked = 1;
}

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void open_conn(struct conn *c, struct rdma_addrinfo *ai)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	check(rdma_create_ep(&c->id, ai, NULL, &attr), "rdma_create_ep");
	c->mr = rdma_reg_msgs(c->id, c->buf, sizeof(c->buf));
	check(!c->mr, "rdma_reg_msgs");
	check(rdma_connect(c->id, &param), "rdma_connect");
}

static void fill(struct conn *c, char *buf)
{
	snprintf(buf, LEN, "message %u of connection %d", c->sent, (int)(c - conns));
}

static void send_next(struct conn *c)
{
	memset(c->buf, 0, sizeof(c->buf));
	c->sent++;
	fill(c, c->buf);
	check(rdma_post_recv(c->id, NULL, c->buf + LEN, LEN, c->mr), "rdma_post_recv");
	check(rdma_post_send(c->id, NULL, c->buf, LEN, c->mr, 0), "rdma_post_send");
}

/* Returns 1 and consumes the answer if there is one. */
static int answered(struct conn *c)
{
	char expected[LEN] = "";
	struct ibv_wc wc;

	while (ibv_poll_cq(c->id->send_cq, 1, &wc) > 0)
		check(wc.status, ibv_wc_status_str(wc.status));
	if (ibv_poll_cq(c->id->recv_cq, 1, &wc) < 1)
		return 0;
	check(wc.status, ibv_wc_status_str(wc.status));
	fill(c, expected);
	if (wc.byte_len != LEN || memcmp(expected, c->buf + LEN, LEN)) {
		fprintf(stderr, "received \"%.*s\" instead of \"%s\"\n", LEN, c->buf + LEN,
			expected);
		exit(1);
	}
	return 1;
}

/* Prints the gaps once each connection has had an answer since the signal. */
static void show_gaps(int n)
{
	for (int i = 0; i < n; i++)
		if (!answers[i])
			return;
	printf("gap");
	for (int i = 0; i < n; i++)
		printf(" %ld", gap_of[i]);
	putchar('\n');
	fflush(stdout);
	memset(gap_of, 0, sizeof(gap_of));
	asked = 0;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	long now, last, longest = 0, gap;
	unsigned int messages = 0;
	int n, i, open;

	if (argc != 4)
		return 2;
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_usr1);
	n = atoi(argv[3]);
	check(n > MAX || rdma_getaddrinfo(argv[1], argv[2], &hints, &ai), "rdma_getaddrinfo");
	for (i = 0; i < n; i++)
		open_conn(&conns[i], ai);
	puts("connected");
	fflush(stdout);
	now = now_ms();
	for (i = 0; i < n; i++) {
		send_next(&conns[i]);
		last_of[i] = now;
	}
	for (open = n, last = now; open; usleep(500)) {
		now = now_ms();
		if (!asked)
			memset(answers, 0, sizeof(answers));
		for (i = 0; i < n; i++) {
			if (!last_of[i] || !answered(&conns[i]))
				continue;
			messages++;
			answers[i]++;
			last = now;
			gap = now - last_of[i];
			if (gap > gap_of[i])
				gap_of[i] = gap;
			if (gap > longest)
				longest = gap;
			last_of[i] = ending ? 0 : now;
			if (ending)
				open--;
			else
				send_next(&conns[i]);
		}
		if (asked)
			show_gaps(n);
		if (now - last > 60000) {
			fputs("no answer\n", stderr);
			return 1;
		}
	}
	printf("%u messages, at most %ld ms\n", messages, longest);
	for (i = 0; i < n; i++) {
		rdma_disconnect(conns[i].id);
		rdma_destroy_ep(conns[i].id);
	}
	return 0;
}
