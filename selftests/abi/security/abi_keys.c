// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys and QP numbers of other sessions, and of objects that have been destroyed.
 */
#include "abi_keys.h"

static bool all_are(const volatile __u8 *mem, size_t len, __u8 value)
{
	while (len)
		if (mem[--len] != value)
			return false;
	return true;
}

/* Gets the keys that rdma(8) shows to root: of PDs for all memory, and of all regions. */
static int known_keys(__u32 *keys, int max)
{
	FILE *f = popen("for t in pd mr; do rdma -d resource show $t; done 2>/dev/null | grep -o 'key 0x[^ ]*' | cut -c5-",
			"re");
	int n = 0;

	while (f && n < max && fscanf(f, "%x", &keys[n]) == 1)
		n++;
	if (f)
		pclose(f);
	return n;
}

TEST_F(keys, kernel_keys_refused)
{
	static const int near[] = { 0, -1, 1, -256, 256 };
	struct side *c = &self->side[0], *s = &self->side[1];
	__u64 addr[2] = { c->mr.iova, 0xffff888000001000ULL };
	__u32 keys[64], key;
	int n;

	n = known_keys(keys, 64);
	/* Two regions with two keys each */
	SKIP_IF(n < 4, "rdma(8) shows no keys");
	for (int i = 0; i < n * 5; i++) {
		key = keys[i / 5] + near[i % 5];
		if (key == c->mr.lkey)
			continue;
		for (int a = 0; a < 2; a++) {
			LOGGED(EXPECT_EQ(-EINVAL, post(self, WR_SEND, 0, 0, addr[a], 8, key)),
			       "send: key 0x%x", key);
			LOGGED(EXPECT_EQ(-EINVAL, post(self, WR_RDMA_READ, s->mr.iova, s->mr.rkey,
						       addr[a], 8, key)), "read: key 0x%x", key);
			LOGGED(EXPECT_EQ(-EINVAL, post_recv(self, 0, addr[a], 8, key)),
			       "recv: key 0x%x", key);
		}
	}
	EXPECT_EQ(WC_SUCCESS, carry_out(self, WR_RDMA_WRITE, s->mr.iova, s->mr.rkey));
}

/* For rxe and siw, ib_alloc_pd() registers a region with all memory, which rdma_ep destroys. */
TEST_F(keys, pd_has_no_key_for_all_memory)
{
	FILE *f = popen("rdma -d resource show pd 2>/dev/null", "re");
	char line[256];
	int pds = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "[rdma_ep]"))
			continue;
		pds++;
		LOGGED(EXPECT_NE(NULL, strstr(line, "local_dma_lkey 0x0 ")), "%s", line);
	}
	if (f)
		pclose(f);
	EXPECT_LE(2, pds);
}

/* Entries of no bytes are left out, whatever their address and key. */
TEST_F(keys, empty_sge_ignored)
{
	struct side *c = &self->side[0], *s = &self->side[1];
	static const __u64 addrs[] = { 0, ~0ULL, 0xffff888000000000ULL };

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		OK(post_recv(self, 1, s->mr.iova, LEN, s->mr.lkey));
		abi_wrs_send(&self->w, WR_SEND, SEND_SIGNALED, 7);
		abi_sge(&self->w, addrs[i], 0, i ? ~0U : 0);
		abi_mr_sge(&self->w, &c->mr, 0, 5);
		OK(ABI_POST(&c->s, SEND, c->qp, &self->w, NULL));
		EXPECT_WC(&c->s, c->cq, 7, WC_SUCCESS);
		EXPECT_EQ(5, EXPECT_WC(&s->s, self->p.end[1].cq[1], 8, WC_SUCCESS).byte_len);
	}
}

/*
 * Threads use a key while its region is destroyed and another one is registered at the same
 * address, for other memory. Data of their READs must not arrive there.
 */
struct stale {
	struct abi *s;
	__u32 qp, cq;
	__u64 addr;
	__u64 remote;
	__u32 rkey;
	volatile __u32 lkey;
	volatile bool stop;
	volatile unsigned int taken, refused, other;
};

static void *stale_thread(void *arg)
{
	struct stale *st = arg;
	struct rdma_ep_send_wr *wr;
	struct rdma_ep_wc wc[4];
	struct abi_wrs *w = malloc(sizeof(*w));
	int ret;

	while (!st->stop) {
		wr = abi_wrs_send(w, WR_RDMA_READ, SEND_SIGNALED, 1);
		wr->remote_addr = st->remote;
		wr->rkey = st->rkey;
		abi_sge(w, st->addr, LEN, st->lkey);
		ret = ABI_POST(st->s, SEND, st->qp, w, NULL);
		if (!ret)
			st->taken++;
		else if (ret == -EINVAL)
			st->refused++;
		else if (ret != -ENOMEM && ret != -ENOTCONN)
			st->other++;
		while (abi_poll(st->s, st->cq, wc, 4) > 0)
			;
	}
	free(w);
	return NULL;
}

TEST_F(keys, stale_key_refused)
{
	enum { THREADS = 2, ROUNDS = 12, AGAIN = 4 };
	struct side *c = &self->side[0], *s = &self->side[1];
	pthread_t thread[THREADS];
	struct rdma_ep_cmd_reg_mr mr, next;
	struct stale st = { .s = &c->s };
	struct abi_pair pair;
	__u8 *sink = new_memory(NULL);
	unsigned int before;

	memset(s->mem, 0xee, LEN);
	for (int round = 0; round < ROUNDS; round++) {
		/* A request whose region has been destroyed ends the connection. */
		memset(&pair, 0, sizeof(pair));
		OK(abi_pair_between(&c->s, &s->s, &pair));
		OK(abi_reg_mr(&c->s, c->s.pd, sink, LEN, AC_LOCAL_WRITE, &mr));
		st.qp = pair.end[0].qp.qp;
		st.cq = pair.end[0].cq[0];
		st.addr = mr.iova;
		st.lkey = mr.lkey;
		st.remote = s->mr.iova;
		st.rkey = s->mr.rkey;
		st.stop = false;
		before = st.taken;
		for (int i = 0; i < THREADS; i++)
			OK(pthread_create(&thread[i], NULL, stale_thread, &st));
		while (st.taken == before)
			usleep(100);
		usleep(1000 * (round % 4));
		for (int again = 0; again < AGAIN; again++) {
			OK(ABI_DESTROY(&c->s, MR, again ? next.mr : mr.mr));
			/* From here on the first key is refused. */
			EXPECT_EQ(-EINVAL, post(self, WR_RDMA_READ, st.remote,
						st.rkey, st.addr, 8, mr.lkey));
			ASSERT_EQ(sink, new_memory(sink));
			OK(abi_reg_mr(&c->s, c->s.pd, sink, LEN, AC_LOCAL_WRITE, &next));
			ASSERT_NE(mr.lkey, next.lkey);
			usleep(4000);
			LOGGED(ASSERT_TRUE(all_are(sink, LEN, 0)),
			       "round %d, region %d", round, again);
		}
		st.stop = true;
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		EXPECT_EQ(0, ABI_DESTROY(&c->s, MR, next.mr));
		EXPECT_EQ(0, ABI_DESTROY(&s->s, ID, pair.listener));
		for (int i = 0; i < 2; i++) {
			struct abi *o = i ? &s->s : &c->s;

			ABI_DESTROY(o, ID, pair.end[i].id);
			EXPECT_EQ(0, ABI_DESTROY(o, QP, pair.end[i].qp.qp));
			close(pair.end[i].channel);
		}
	}
	EXPECT_LT(0, st.refused);
	EXPECT_EQ(0, st.other);
}

/* Sent by a server in another process */
struct server {
	struct sockaddr_in sin;
	__u64 addr;
	__u32 rkey;
};

/* A child; returns the number of the failed step. */
static int serve(int fd, void *mem)
{
	struct rdma_ep_cmd_reg_mr mr;
	struct rdma_ep_cmd_create_qp qp;
	struct rdma_ep_channel_event ev;
	struct server me;
	__u32 listener;
	struct abi s;
	int channel;

	CHECK(1, !abi_open(&s) && !abi_reg_mr(&s, s.pd, mem, LEN, AC_ALL, &mr));
	channel = abi_channel(&s);
	CHECK(2, !abi_tcp_listen(&s, channel, 0, 0, &listener, &me.sin));
	me.addr = mr.iova;
	me.rkey = mr.rkey;
	CHECK(3, write(fd, &me, sizeof(me)) == sizeof(me));
	CHECK(4, !abi_event(channel, EV_CONNECT_REQUEST, &ev));
	CHECK(5, !abi_id_qp(&s, ev.child, &qp) && !abi_accept(&s, ev.child, 0, 0));
	pause();
	return 0;
}

static pid_t start_server(void *mem, struct server *server)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid)
		_exit(serve(fds[1], mem));
	close(fds[1]);
	if (read(fds[0], server, sizeof(*server)) != sizeof(*server))
		pid = -1;
	close(fds[0]);
	return pid;
}

/* Connects the client with the server, by a new QP and CQ. */
static int connect_server(struct _test_data_keys *self, const struct server *server)
{
	struct side *c = &self->side[0];
	int channel = abi_channel(&c->s);
	struct rdma_ep_cmd_create_qp qp;
	__u32 id;
	int ret;

	ret = abi_tcp_client(&c->s, channel, &server->sin, 0, &id) ?:
	      abi_id_qp(&c->s, id, &qp) ?: abi_connect(&c->s, id, 0) ?:
	      abi_event(channel, EV_ESTABLISHED, NULL);
	c->qp = qp.init.qp;
	c->cq = qp.init.send_cq.cq;
	return ret;
}

/* Starts a server with this memory, and connects the client with it. */
static pid_t new_server(struct __test_metadata *_metadata, struct _test_data_keys *self,
			void *mem, struct server *server)
{
	pid_t pid = start_server(mem, server);

	ASSERT_LT(0, pid);
	OK(connect_server(self, server));
	return pid;
}

static void end_server(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A queue keeps the region of its latest request from one call to the next. */
TEST_F(keys, key_of_latest_request_refused)
{
	struct side *c = &self->side[0], *s = &self->side[1];
	__u8 *sink = new_memory(NULL);
	struct rdma_ep_cmd_reg_mr mr;

	OK(abi_reg_mr(&c->s, c->s.pd, sink, LEN, AC_LOCAL_WRITE, &mr));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, post(self, WR_RDMA_READ, s->mr.iova, s->mr.rkey, mr.iova, 8, mr.lkey));
		EXPECT_WC(&c->s, c->cq, 7, WC_SUCCESS);
	}
	OK(post_recv(self, 0, mr.iova, 8, mr.lkey));
	OK(ABI_DESTROY(&c->s, MR, mr.mr));
	EXPECT_EQ(-EINVAL, post(self, WR_RDMA_READ, s->mr.iova, s->mr.rkey, mr.iova, 8, mr.lkey));
	EXPECT_EQ(-EINVAL, post_recv(self, 0, mr.iova, 8, mr.lkey));
	munmap(sink, LEN);
}

/*
 * A server is killed while its peer WRITEs to its memory, which this process shares. After the
 * server has been reaped, the memory does not change.
 */
TEST_F(keys, mr_key_of_dead_session_refused)
{
	struct side *c = &self->side[0];
	struct server dead, alive;
	struct rdma_ep_wc wc[16];
	__u8 *mem = abi_map_shared(LEN);
	pid_t pid;
	int ret;

	memset(mem, 0x11, LEN);
	memset(c->mem, 0xee, LEN);
	pid = new_server(_metadata, self, mem, &dead);
	ASSERT_EQ(WC_SUCCESS, carry_out(self, WR_RDMA_WRITE, dead.addr, dead.rkey));
	/*
	 * On iWARP a WRITE completes before its data arrives. siw may leave data that arrives
	 * right after the accept until more arrives.
	 */
	for (int i = 1; i < 1000 && !all_are(mem, 64, 0xee); i++) {
		usleep(10000);
		if (i % 200 == 0)
			ASSERT_EQ(WC_SUCCESS, carry_out(self, WR_RDMA_WRITE, dead.addr, dead.rkey));
	}
	ASSERT_TRUE(all_are(mem, 64, 0xee));
	for (int i = 0; i < 12; i++)
		OK(post(self, WR_RDMA_WRITE, dead.addr, dead.rkey, c->mr.iova, LEN, c->mr.lkey));
	end_server(pid);
	memset(mem, 0x22, LEN);
	for (int i = 0; i < 30; i++) {
		abi_poll(&c->s, c->cq, wc, 16);
		post(self, WR_RDMA_WRITE, dead.addr, dead.rkey, c->mr.iova, LEN, c->mr.lkey);
		usleep(10000);
	}
	EXPECT_TRUE(all_are(mem, LEN, 0x22));

	/* Another session that registers the same memory does not make the key valid. */
	pid = new_server(_metadata, self, mem, &alive);
	ASSERT_NE(dead.rkey, alive.rkey);
	ret = carry_out(self, WR_RDMA_READ, dead.addr, dead.rkey);
	EXPECT_NE(WC_SUCCESS, ret);
	if (!c->s.iwarp)
		EXPECT_EQ(WC_REM_ACCESS_ERR, ret);
	EXPECT_TRUE(all_are(c->mem, LEN, 0xee));
	end_server(pid);
	pid = new_server(_metadata, self, mem, &alive);
	ret = carry_out(self, WR_RDMA_WRITE, dead.addr, dead.rkey);
	if (!c->s.iwarp)
		EXPECT_EQ(WC_REM_ACCESS_ERR, ret);
	usleep(100000);
	EXPECT_TRUE(all_are(mem, LEN, 0x22));
	end_server(pid);
}

/* A remote key is valid only for connections of its own PD. */
TEST_F(keys, mr_key_of_another_pd_refused)
{
	struct side *s = &self->side[1];
	struct rdma_ep_cmd_reg_mr mr;
	struct abi other;
	__u8 *mem = new_memory(NULL);
	__u32 pd;
	int ret;

	memset(mem, 0x33, LEN);
	OK(abi_alloc_pd(&s->s, s->s.ctx, &pd));
	OK(abi_open(&other));
	OK(abi_reg_mr(&other, other.pd, mem, LEN, AC_ALL, &mr));
	ret = carry_out(self, WR_RDMA_READ, mr.iova, mr.rkey);
	EXPECT_NE(WC_SUCCESS, ret);
	memset(&self->p, 0, sizeof(self->p));
	OK(abi_pair_between(&self->side[0].s, &s->s, &self->p));
	self->side[0].qp = self->p.end[0].qp.qp;
	self->side[0].cq = self->p.end[0].cq[0];
	OK(abi_reg_mr(&s->s, pd, mem, LEN, AC_ALL, &mr));
	memset(self->side[0].mem, 0xee, LEN);
	carry_out(self, WR_RDMA_WRITE, mr.iova, mr.rkey);
	usleep(100000);
	EXPECT_TRUE(all_are(mem, LEN, 0x33));
	abi_close(&other);
}

/* Neither side can give its peer the number of a QP of another session. */
TEST_F(keys, qp_number_of_another_session_refused)
{
	struct abi *c = &self->side[0].s, *s = &self->side[1].s;
	int channel[2] = { abi_channel(c), abi_channel(s) };
	__u32 listener, id, child, qp[3], num[3];
	struct rdma_ep_cmd_create_qp own;
	struct sockaddr_in sin;

	num[0] = number_of(c, &qp[0]);
	num[1] = number_of(s, &qp[1]);
	num[2] = number_of(s, &qp[2]);
	ASSERT_TRUE(num[0] && num[1] && num[2]);
	OK(abi_tcp_listen(s, channel[1], 0, 0, &listener, &sin));
	OK(abi_tcp_client(c, channel[0], &sin, 0, &id));
	EXPECT_EQ(-EINVAL, abi_connect(c, id, num[1]));
	EXPECT_EQ(-EINVAL, abi_connect(c, id, self->p.end[1].qp.qp_num));
	OK(ABI_DESTROY(s, QP, qp[2]));
	EXPECT_EQ(-EINVAL, abi_connect(c, id, num[2]));
	EXPECT_TRUE(abi_quiet(channel[1]));
	if (c->iwarp)
		OK(abi_id_qp(c, id, &own));
	OK(abi_connect(c, id, num[0]));
	child = NEXT_EVENT(channel[1], EV_CONNECT_REQUEST).child;
	EXPECT_EQ(-EINVAL, abi_accept(s, child, 0, num[0]));
	EXPECT_EQ(-EINVAL, abi_accept(s, child, 0, self->p.end[0].qp.qp_num));
	EXPECT_EQ(-EINVAL, abi_accept(s, child, 0, num[2]));
	EXPECT_TRUE(abi_quiet(channel[0]));
}

TEST_HARNESS_MAIN
