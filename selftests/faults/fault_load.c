// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program into which faults are injected: see usage(). It is not a test; faults/ uses it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault.h"

volatile sig_atomic_t fault_stop, fault_go;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		fault_go = 1;
	else
		fault_stop = 1;
}

void fault_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* Destroys an id and QP of a connection, on either side. */
static void drop(const struct abi *s, struct abi_end *e, bool qp_first)
{
	if (qp_first)
		ABI_DESTROY(s, QP, e->qp.qp);
	ABI_DESTROY(s, ID, e->id);
	if (!qp_first)
		ABI_DESTROY(s, QP, e->qp.qp);
	ABI_DESTROY(s, CQ, e->cq[0]);
	ABI_DESTROY(s, CQ, e->cq[1]);
	close(e->channel);
}

static int exchange(const struct abi *s, struct abi_pair *p, __u64 seed)
{
	struct fault_end client, server;
	long end = abi_now_ms() + ABI_WAIT_MS;
	int ret;

	ret = fault_end_of(&server, s, &p->end[1], seed) ?:
	      fault_end_of(&client, s, &p->end[0], seed);
	while (!ret && client.next < 3 && abi_now_ms() < end) {
		fault_server_step(&server);
		fault_client_step(&client, 3);
		ret = client.bad ?: server.bad;
	}
	if (!ret && client.next < 3)
		ret = -ETIMEDOUT;
	ABI_DESTROY(s, MR, client.mr.mr);
	ABI_DESTROY(s, MR, server.mr.mr);
	fault_end_unmap(&client);
	fault_end_unmap(&server);
	return ret;
}

int fault_connect(const struct abi *s, __u64 seed)
{
	struct abi_pair p = { .max_wr = FAULT_WINDOW };
	int ret;

	ret = abi_pair_open(s, &p) ?: exchange(s, &p, seed) ?:
	      ABI_ID_CMD(s, DISCONNECT, p.end[0].id, 0);
	/* (Otherwise it would exist until its channel is closed.) */
	ret = ret ?: ABI_DESTROY(s, ID, p.listener);
	if (ret)
		return ret;
	drop(s, &p.end[0], false);
	drop(s, &p.end[1], false);
	return 0;
}

/* Connections one after another, in sessions for fifty of them */
int fault_storm(__u64 seed, int connections)
{
	__u64 r = seed;
	struct abi s;
	int i, ret = 0;

	for (i = 0; i < connections && !ret && !fault_stop; i++) {
		struct abi_pair p = { .max_wr = FAULT_WINDOW };
		int first = fault_random(&r) % 2, how = fault_random(&r) % 5;

		if (i % 50 == 0)
			ret = abi_open(&s);
		ret = ret ?: abi_pair_open(&s, &p);
		if (!ret && i % 4 == 0)
			ret = exchange(&s, &p, seed + i);
		if (ret)
			break;
		/* 4: closing the channels destroys them. */
		if (how == 0)
			ret = ABI_ID_CMD(&s, DISCONNECT, p.end[first].id, 0);
		if (how < 4) {
			ABI_DESTROY(&s, ID, p.listener);
			drop(&s, &p.end[first], how == 1);
			drop(&s, &p.end[!first], how == 2);
		} else {
			close(p.end[0].channel);
			close(p.end[1].channel);
		}
		if (i % 50 == 49)
			abi_close(&s);
	}
	fault_say("connections %d", i);
	if (ret)
		fault_say("connection %d: %d", i, ret);
	return ret || i < connections ? FAULT_FAILED : FAULT_OK;
}

/* Sends a connection request, and does not wait for the answer. */
static int ask(const struct abi *s, const struct sockaddr_in *dst, __u32 *id)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 cq;
	int ret;

	ret = abi_tcp_client(s, abi_channel(s), dst, 1, id) ?:
	      abi_create_cq(s, -1, 32, 0, &cq);
	if (ret)
		return ret;
	return abi_create_qp(s, QPT_RC, cq, *id, &c) ?: abi_connect(s, *id, 0);
}

/* Leaves completions in a CQ until it reports an overrun. */
int fault_overrun(__u64 seed)
{
	struct rdma_ep_async_event ev;
	struct rdma_ep_cmd_create_qp c;
	struct abi s;
	__u32 cq;
	int ret;

	ret = abi_open(&s) ?: abi_create_cq(&s, -1, 1, 909, &cq);
	if (ret)
		return FAULT_FAILED;
	abi_qp_attr(&c, QPT_RC, s.pd, cq, cq);
	c.init.max_recv_wr = 64;
	ret = ABI(s.fd, CREATE_QP, &c) ?:
	      abi_qp_init(&s, c.init.qp, QPT_RC, 0);
	for (int i = 0; i < 64 && !ret; i++)
		ret = abi_post_recv(&s, c.init.qp, i, 0, 0, 0);
	ret = ret ?: abi_qp_state(&s, c.init.qp, QPS_ERR) ?:
	      abi_read(s.async_fd, &ev, sizeof(ev), ABI_WAIT_MS);
	if (ret || ev.event != EVENT_CQ_ERR || ev.uid != 909) {
		fault_say("not told of the overrun: %d", ret);
		return FAULT_FAILED;
	}
	ret = ABI_DESTROY(&s, QP, c.init.qp) ?:
	      ABI_DESTROY(&s, CQ, cq);
	fault_say("overrun, destroyed: %d", ret);
	abi_close(&s);
	return ret ? FAULT_FAILED : FAULT_OK;
}

/*
 * Sends more than the SRQ has receives for, which are posted slowly. With InfiniBand's protocol the
 * sender retries, and all messages arrive; with iWARP's the connection ends, and an event reports
 * it.
 */
int fault_exhaust(__u64 seed, int messages)
{
	struct abi_pair p = { .max_wr = 64 };
	__u64 mem[65][8] = {}, r = seed;
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_channel_event ev;
	struct rdma_ep_wc wc[8];
	int posted = 0, got = 0, sent = 0, done = 0, ret, n;
	/* The sender waits half a second each time there is no receive. */
	long end = abi_now_ms() + 3 * ABI_WAIT_MS;
	struct abi_wrs w;
	struct abi s;

	ret = abi_open(&s) ?: abi_create_srq(&s, s.pd, 4, 0, &p.srq) ?:
	      abi_reg_mr(&s, s.pd, mem, sizeof(mem), AC_LOCAL_WRITE, &mr) ?:
	      abi_pair_open(&s, &p);
	if (ret)
		return FAULT_FAILED;
	while (!ret && got < messages && abi_now_ms() < end) {
		if (sent < messages && sent - done < 32) {
			mem[sent % 64][0] = seed + sent;
			ret = abi_post_send(&s, p.end[0].qp.qp, SEND_SIGNALED, sent, mem[sent % 64],
					    64, mr.lkey);
			sent++;
		}
		/* One at a time, after random pauses */
		if (posted == got && fault_random(&r) % 8 == 0) {
			abi_wrs_recv(&w, posted++);
			abi_sge(&w, (uintptr_t)mem[64], 64, mr.lkey);
			memset(mem[64], 0, 64);
			ret = ret ?: ABI_POST(&s, SRQ_RECV, p.srq, &w, NULL);
		}
		n = abi_poll(&s, p.end[1].cq[1], wc, 8);
		for (int i = 0; i < n && !ret; i++) {
			ret = wc[i].status;
			if (!ret && (wc[i].wr_id != got || mem[64][0] != seed + got))
				return FAULT_WRONG;
			got++;
		}
		n = abi_poll(&s, p.end[0].cq[0], wc, 8);
		for (int i = 0; i < n && !ret; i++, done++)
			ret = wc[i].status;
		usleep(200);
	}
	fault_say("sent %d got %d status %d", sent, got, ret);
	if (got == messages)
		return FAULT_OK;
	if (!s.iwarp)
		return FAULT_BROKEN;
	return abi_event(p.end[0].channel, EV_DISCONNECTED, &ev) ? FAULT_FAILED : FAULT_OK;
}

/*
 * A channel with as many unread events as the session may have (the script has set a low limit). A
 * connection request finds no room: the peer is refused or gets no answer. The events in the
 * channel do not change, and after they are read, connections are possible again.
 */
int fault_flood(__u64 seed)
{
	struct rdma_ep_cmd_write_event user = { .event = RDMA_EP_CM_EVENT_USER };
	struct abi_pair p = {};
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	struct abi full, s;
	int channel, ret, n = 0, asked = 0;
	__u32 id, listener;

	ret = abi_open(&full) ?: abi_open(&s);
	if (ret)
		return FAULT_FAILED;
	channel = abi_channel(&full);
	ret = abi_tcp_listen(&full, channel, 0, 1, &listener, &sin) ?:
	      abi_tcp_id(&full, channel, 0, &user.id);
	while (!ret) {
		user.arg = seed + n;
		ret = ABI(full.fd, WRITE_EVENT, &user);
		n += !ret;
	}
	fault_say("full after %d events: %d", n, ret);
	if (ret != -EDQUOT && ret != -ENOBUFS)
		return FAULT_FAILED;
	for (int i = 0; i < 8; i++) {
		ret = ask(&s, &sin, &id);
		if (ret) {
			fault_say("can not ask: %d", ret);
			return FAULT_FAILED;
		}
		asked++;
	}
	usleep(200000);
	for (int i = 0; i < n; i++) {
		if (abi_read(channel, &ev, sizeof(ev), ABI_WAIT_MS) ||
		    ev.event != RDMA_EP_CM_EVENT_USER || ev.param.arg != seed + i) {
			fault_say("event %d is %u", i, ev.event);
			return FAULT_WRONG;
		}
	}
	ret = abi_pair_open(&full, &p) ?: exchange(&full, &p, seed);
	fault_say("asked %d times, then connected: %d", asked, ret);
	return ret ? FAULT_FAILED : FAULT_OK;
}

static int usage(void)
{
	fputs("fault_load MODE ARGS (device: $RDMA_DEV)\n"
	      "  zoo SEED [STATE...]         hold all states, or these\n"
	      "  leave SEED [STATE...]       the same, from another namespace\n"
	      "  stream SEED [PAUSE-US]      a checked stream to itself; from SIGUSR1 on new\n"
	      "                              connections, too, one after another\n"
	      "  serve PORT                  one end of one\n"
	      "  send ADDR PORT SEED [COUNT [RETRIES]]\n"
	      "                              the other; both give up after so many\n"
	      "  storm SEED COUNT            connections, opened and dropped\n"
	      "  overrun SEED                a CQ that nobody empties\n"
	      "  flood SEED                  a channel that nobody reads\n"
	      "  exhaust SEED COUNT          an SRQ with too little in it\n"
	      "A line \"ready\" says that all is there. SIGTERM ends it.\n", stderr);
	return FAULT_FAILED;
}

int main(int argc, char **argv)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct sigaction sa = { .sa_handler = on_signal };
	const char *mode = argc > 1 ? argv[1] : "";
	__u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	int n = argc > 3 ? atoi(argv[3]) : 0;

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	/* (siw ignores the capability that lifts the limit.) */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	seed = seed ?: 1;
	if (!strcmp(mode, "zoo") && argc > 2)
		return fault_zoo(seed, false, argv + 3);
	if (!strcmp(mode, "leave") && argc > 2)
		return fault_zoo(seed, true, argv + 3);
	if (!strcmp(mode, "stream") && argc > 2)
		return fault_stream(seed, n);
	if (!strcmp(mode, "serve") && argc > 2)
		return fault_serve(atoi(argv[2]));
	if (!strcmp(mode, "send") && argc > 4)
		return fault_send(argv[2], n, strtoull(argv[4], NULL, 0),
				  argc > 5 ? strtoull(argv[5], NULL, 0) : 0,
				  argc > 6 ? atoi(argv[6]) : 0);
	if (!strcmp(mode, "storm") && n)
		return fault_storm(seed, n);
	if (!strcmp(mode, "overrun"))
		return fault_overrun(seed);
	if (!strcmp(mode, "flood"))
		return fault_flood(seed);
	if (!strcmp(mode, "exhaust") && n)
		return fault_exhaust(seed, n);
	return usage();
}
