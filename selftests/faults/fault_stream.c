// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checked streams: within one process, and between two.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"

/* Time limit for the return of the last messages */
#define DRAIN_MS	(60000 * TEST_SCALE)

/* Interval of new connections. While one is open, the scripts count its objects, too. */
#define CONNECT_MS	(1000 * TEST_SCALE)

/* Time without a message after which the sender probes whether the peer still answers */
#define PROBE_MS	(200 * TEST_SCALE)

#define MEM_BYTES	(2 * FAULT_WINDOW * FAULT_MSG)

struct message {
	__u64 seq;
	__u64 sum;		/* of the bytes that follow */
	__u32 len;		/* of the whole message */
	__u32 pad;
};

__u64 fault_random(__u64 *state)
{
	__u64 x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

/* Every message has its own generator. */
static __u64 generator(__u64 seed, __u64 seq)
{
	__u64 x = seed * 0x9e3779b97f4a7c15ULL + seq * 0xbf58476d1ce4e5b9ULL;

	return x ?: 1;
}

static __u32 length(__u64 *gen)
{
	/* Most messages fit in a packet, some need many. */
	__u32 max = fault_random(gen) % 4 ? 1024 : FAULT_MSG;

	return sizeof(struct message) +
	       fault_random(gen) % (max - sizeof(struct message) + 1) / 8 * 8;
}

static __u32 fill(char *buf, __u64 seed, __u64 seq)
{
	__u64 gen = generator(seed, seq), *word, sum = seq;
	struct message *m = (struct message *)buf;

	m->seq = seq;
	m->len = length(&gen);
	m->pad = 0;
	word = (__u64 *)(m + 1);
	for (__u32 i = 0; i < (m->len - sizeof(*m)) / 8; i++) {
		word[i] = fault_random(&gen);
		sum = (sum ^ word[i]) * 0x100000001b3ULL;
	}
	m->sum = sum;
	return m->len;
}

static bool right(const char *buf, __u32 len, __u64 seed, __u64 seq)
{
	__u64 gen = generator(seed, seq), sum = seq;
	const struct message *m = (const struct message *)buf;
	const __u64 *word = (const __u64 *)(m + 1);

	if (len < sizeof(*m) || m->seq != seq || m->len != len || len != length(&gen)) {
		fprintf(stderr, "# %u bytes, message %llu of %u bytes, instead of message %llu\n",
			len, m->seq, m->len, seq);
		return false;
	}
	for (__u32 i = 0; i < (len - sizeof(*m)) / 8; i++) {
		if (word[i] != fault_random(&gen)) {
			fprintf(stderr, "# message %llu is wrong from byte %zu on\n",
				seq, sizeof(*m) + i * 8);
			return false;
		}
		sum = (sum ^ word[i]) * 0x100000001b3ULL;
	}
	if (sum != m->sum)
		fprintf(stderr, "# checksum of message %llu\n", seq);
	return sum == m->sum;
}

static char *recv_buf(struct fault_end *e, __u64 n)
{
	return e->buf + n % FAULT_WINDOW * FAULT_MSG;
}

static char *send_buf(struct fault_end *e, __u64 n)
{
	return e->buf + (FAULT_WINDOW + n % FAULT_WINDOW) * FAULT_MSG;
}

/* (A flush error is the result of an earlier error, so a later status replaces it.) */
static void broken(struct fault_end *e, int status)
{
	if (e->bad && (e->bad != FAULT_BROKEN || e->status != WC_WR_FLUSH_ERR))
		return;
	e->bad = FAULT_BROKEN;
	e->status = status;
}

static int post_recv(struct fault_end *e, __u64 n)
{
	return abi_post_recv(e->s, e->qp, n, recv_buf(e, n), FAULT_MSG, e->mr.lkey);
}

static void post_send(struct fault_end *e, __u32 len)
{
	int ret = abi_post_send(e->s, e->qp, SEND_SIGNALED, e->sent, send_buf(e, e->sent), len,
				e->mr.lkey);

	if (ret) {
		broken(e, ret);
		return;
	}
	e->sent++;
	e->posted++;
}

int fault_end_init(struct fault_end *e, const struct abi *s, __u32 pd, __u64 seed)
{
	int ret;

	e->s = s;
	e->seed = seed;
	e->buf = abi_map(MEM_BYTES);
	if (e->buf == MAP_FAILED)
		return -ENOMEM;
	ret = abi_reg_mr(s, pd, e->buf, MEM_BYTES, AC_LOCAL_WRITE, &e->mr);
	for (int i = 0; i < FAULT_WINDOW && !ret; i++)
		ret = post_recv(e, i);
	return ret;
}

/*
 * Sends a message that the peer has to acknowledge. Otherwise a side that waits for an answer after
 * its last message would not detect that the peer has vanished.
 */
static void probe(struct fault_end *e)
{
	struct abi_wrs w;
	int ret;

	abi_wrs_send(&w, WR_RDMA_WRITE, SEND_SIGNALED, e->sent);
	ret = ABI_POST(e->s, SEND, e->qp, &w, NULL);
	if (ret)
		broken(e, ret);
	else
		e->posted++;
}

/* The region must be deregistered before. */
void fault_end_unmap(struct fault_end *e)
{
	munmap(e->buf, MEM_BYTES);
}

int fault_end_of(struct fault_end *e, const struct abi *s, const struct abi_end *from, __u64 seed)
{
	memset(e, 0, sizeof(*e));
	e->id = from->id;
	e->qp = from->qp.qp;
	e->send_cq = from->cq[0];
	e->recv_cq = from->cq[1];
	return fault_end_init(e, s, from->qp.pd ?: s->pd, seed);
}

static void take_sends(struct fault_end *e)
{
	struct rdma_ep_wc wc[FAULT_WINDOW];
	int n = abi_poll(e->s, e->send_cq, wc, FAULT_WINDOW), i;

	if (n < 0)
		broken(e, n);
	for (i = 0; i < n; i++) {
		e->posted--;
		if (wc[i].status)
			broken(e, wc[i].status);
	}
}

/* Takes at most @max received messages; the server sends them back. */
static int take_recvs(struct fault_end *e, int max, bool echo)
{
	struct rdma_ep_wc wc[FAULT_WINDOW];
	int n = abi_poll(e->s, e->recv_cq, wc, max), i, ret;

	if (n < 0)
		broken(e, n);
	for (i = 0; i < n && !e->bad; i++) {
		char *buf = recv_buf(e, e->next);

		if (wc[i].status) {
			broken(e, wc[i].status);
			break;
		}
		if (wc[i].wr_id != e->next || !right(buf, wc[i].byte_len, e->seed, e->next)) {
			e->bad = FAULT_WRONG;
			break;
		}
		if (echo)
			memcpy(send_buf(e, e->sent), buf, wc[i].byte_len);
		ret = post_recv(e, e->next + FAULT_WINDOW);
		if (ret)
			broken(e, ret);
		e->next++;
		if (echo)
			post_send(e, wc[i].byte_len);
	}
	return n < 0 ? 0 : n;
}

int fault_client_step(struct fault_end *e, __u64 total)
{
	int n = take_recvs(e, FAULT_WINDOW, false);

	take_sends(e);
	while (!e->bad && e->sent < total && e->posted < FAULT_WINDOW &&
	       e->sent - e->next < FAULT_WINDOW)
		post_send(e, fill(send_buf(e, e->sent), e->seed, e->sent));
	return n;
}

int fault_server_step(struct fault_end *e)
{
	take_sends(e);
	if (e->bad || e->posted == FAULT_WINDOW)
		return 0;
	return take_recvs(e, FAULT_WINDOW - e->posted, true);
}

/* ---- both sides in one process: for a bystander that faults must not disturb */

int fault_stream(__u64 seed, int pause_us)
{
	struct abi_pair p = { .max_wr = FAULT_WINDOW };
	struct fault_end client, server;
	long last, now, gap = 0, end = 0, connected = 0;
	__u64 total = ~0ULL, connections = 0;
	bool ready = false;
	struct abi s;
	int ret, n;

	ret = abi_open(&s) ?:
	      abi_pair_open(&s, &p) ?:
	      fault_end_of(&server, &s, &p.end[1], seed) ?:
	      fault_end_of(&client, &s, &p.end[0], seed);
	if (ret) {
		fault_say("no stream: %s", strerror(-ret));
		return FAULT_FAILED;
	}
	last = abi_now_ms();
	while (!client.bad && !server.bad && client.next < total) {
		n = fault_server_step(&server);
		n += fault_client_step(&client, total);
		now = abi_now_ms();
		if (n) {
			if (client.next && !ready)
				fault_say("ready");
			ready = client.next;
			gap = now - last > gap ? now - last : gap;
			last = now;
		}
		if (fault_stop && !end) {
			total = client.sent;
			end = now + DRAIN_MS;
		}
		if (end && now > end)
			break;
		/* (Its duration counts as a gap of the stream.) */
		if (fault_go && !end && now - connected > CONNECT_MS) {
			ret = fault_connect(&s, seed + ++connections);
			connected = abi_now_ms();
			/* (SIGTERM may interrupt it.) */
			if (ret == -EINTR && fault_stop)
				ret = 0;
			if (ret)
				break;
		}
		if (!n || pause_us)
			usleep(pause_us ?: 300);
	}
	fault_say("messages %llu longest-gap-ms %ld connections %llu",
		  client.next, gap, connections);
	if (ret)
		fault_say("no new connection: %s", strerror(-ret));
	else if (client.bad || server.bad)
		fault_say("broken: client %d (%d) server %d (%d)", client.bad,
			  client.status, server.bad, server.status);
	else if (client.next < total)
		fault_say("%llu messages do not arrive", total - client.next);
	return client.bad ?: server.bad ?:
	       ret || client.next < total ? FAULT_BROKEN : FAULT_OK;
}

/* ---- two processes */

static int make_qp(struct fault_end *e, const struct abi *s)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	ret = abi_create_cq(s, -1, 2 * FAULT_WINDOW, 0, &e->send_cq) ?:
	      abi_create_cq(s, -1, 2 * FAULT_WINDOW, 0, &e->recv_cq);
	if (ret)
		return ret;
	abi_qp_attr(&c, QPT_RC, s->pd, e->send_cq, e->recv_cq);
	c.id = e->id;
	ret = ABI(s->fd, CREATE_QP, &c);
	e->qp = c.init.qp;
	return ret;
}

/* True if the connection has ended. */
static bool ended(struct fault_end *e, int channel)
{
	struct rdma_ep_channel_event ev;

	if (!abi_ready(channel, 0) || abi_read(channel, &ev, sizeof(ev), 0))
		return false;
	fault_say("event %u", ev.event);
	return ev.event == EV_DISCONNECTED || ev.event == EV_DEVICE_REMOVAL;
}

/* Sends messages back until the connection ends. */
int fault_serve(int port)
{
	struct fault_end e = {};
	struct sockaddr_in sin;
	struct rdma_ep_channel_event ev;
	struct abi s;
	int channel, ret;
	__u32 listener;
	__u64 seed;

	ret = abi_open(&s);
	if (ret)
		return FAULT_FAILED;
	channel = abi_channel(&s);
	sin = s.addr;
	sin.sin_port = htons(port);
	ret = abi_tcp_id(&s, channel, 1, &listener) ?:
	      abi_bind(&s, listener, &sin) ?:
	      ABI_ID_CMD(&s, LISTEN, listener, 0);
	if (ret) {
		fault_say("does not listen: %s", strerror(-ret));
		return FAULT_FAILED;
	}
	fault_say("ready");
	ret = abi_event(channel, EV_CONNECT_REQUEST, &ev);
	if (ret)
		return FAULT_FAILED;
	memcpy(&seed, ev.param.conn.private_data, sizeof(seed));
	e.id = ev.child;
	ret = make_qp(&e, &s) ?:
	      fault_end_init(&e, &s, s.pd, seed) ?:
	      abi_accept(&s, e.id, 2, 0) ?:
	      abi_event(channel, EV_ESTABLISHED, &ev);
	if (ret) {
		fault_say("no connection: %s", strerror(-ret));
		return FAULT_FAILED;
	}
	while (!e.bad && !fault_stop && !ended(&e, channel))
		if (!fault_server_step(&e))
			usleep(300);
	fault_say("echoed %llu", e.next);
	return e.bad == FAULT_WRONG ? FAULT_WRONG : FAULT_OK;
}

/* Connects to the other end of a wire, from the device's own address. */
static int reach(struct fault_end *e, const struct abi *s, int channel,
		 const char *addr, int port, __u64 seed, int retries)
{
	struct sockaddr_in src = s->addr, dst = src;
	struct rdma_ep_cmd_connect c = {
		.conn = {
			.responder_resources = 1, .initiator_depth = 1,
			.retry_count = retries, .rnr_retry_count = 7,
			.private_data_len = sizeof(seed),
		},
	};
	struct rdma_ep_channel_event ev;
	int ret;

	if (inet_pton(AF_INET, addr, &dst.sin_addr) != 1)
		return -EINVAL;
	dst.sin_port = htons(port);
	memcpy(c.conn.private_data, &seed, sizeof(seed));
	ret = abi_tcp_id(s, channel, 1, &e->id) ?:
	      abi_bind(s, e->id, &src) ?:
	      abi_resolve_addr(s, e->id, &dst, 5000) ?:
	      abi_event(channel, EV_ADDR_RESOLVED, &ev) ?:
	      ABI_ID_CMD(s, RESOLVE_ROUTE, e->id, 5000) ?:
	      abi_event(channel, EV_ROUTE_RESOLVED, &ev) ?:
	      make_qp(e, s) ?:
	      fault_end_init(e, s, s->pd, seed);
	if (ret)
		return ret;
	c.id = e->id;
	return ABI(s->fd, CONNECT, &c) ?:
	       abi_event(channel, EV_ESTABLISHED, &ev);
}

/*
 * @messages: 0 for no end
 * @retries: of both sides, before they give up; 0 for the maximum, without probes
 */
int fault_send(const char *addr, int port, __u64 seed, __u64 messages, int retries)
{
	__u64 total = messages ?: ~0ULL;
	struct fault_end e = {};
	long start, last, now, gap = 0, probed = 0;
	bool ready = false;
	struct abi s;
	int channel, ret;

	ret = abi_open(&s);
	if (ret)
		return FAULT_FAILED;
	channel = abi_channel(&s);
	ret = reach(&e, &s, channel, addr, port, seed, retries ?: 7);
	if (ret) {
		fault_say("no connection: %s", strerror(-ret));
		return FAULT_FAILED;
	}
	start = abi_now_ms();
	last = start;
	while (!e.bad && e.next < total && !ended(&e, channel)) {
		if (fault_stop)
			total = e.sent;
		now = abi_now_ms();
		if (!fault_client_step(&e, total)) {
			if (retries && !e.posted && now - last > PROBE_MS &&
			    now - probed > PROBE_MS) {
				probe(&e);
				probed = now;
			}
			usleep(300);
			continue;
		}
		if (!ready)
			fault_say("ready");
		ready = true;
		gap = now - last > gap ? now - last : gap;
		last = now;
	}
	if (!e.bad && e.next < total)
		broken(&e, -ENOTCONN);
	/* The completion with the original error may have arrived by now. */
	if (e.bad == FAULT_BROKEN && e.status == WC_WR_FLUSH_ERR)
		take_sends(&e);
	now = abi_now_ms();
	fault_say("messages %llu ms %ld longest-gap-ms %ld", e.next, now - start, gap);
	if (e.bad)
		fault_say("broken: %d (%d) %ld ms after the last message",
			  e.bad, e.status, now - last);
	return e.bad;
}
