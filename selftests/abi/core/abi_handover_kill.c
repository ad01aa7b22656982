// SPDX-License-Identifier: GPL-2.0-only
/*
 * The owners of a session are killed while it passes from one to the other. The connection keeps
 * one owner or ends, and no object remains. faults/handover.sh repeats it a thousand times.
 */
#include <stdatomic.h>
#include <sys/prctl.h>

#include "abi_test.h"

/* Shared by the two processes and the test */
struct round {
	int last;		/* step at which a process kills itself; STEPS: none */
	atomic_int step[2];	/* last step of each process */
	atomic_int sends;
};

FIXTURE(owners) {
	struct round *r;
	struct abi client, s;	/* s passes from one process to the other */
	struct abi_pair p;
	pid_t pids[2];
};

FIXTURE_SETUP(owners)
{
	self->r = abi_map_shared(sizeof(*self->r));
}

FIXTURE_TEARDOWN(owners)
{
}

/* With RDMA_EP_KEEP the ids of a process that exits do not end with its channels. */
TEST_F(owners, kept_session_outlives_process)
{
	struct rdma_ep_obj_info info[ABI_LIST_MAX];
	struct rdma_ep_channel_event ev;
	int to[2], fd, channel;
	struct abi s;
	__u32 id;
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	for (int keep = 0; keep < 2; keep++) {
		pid = fork();
		if (!pid) {
			channel = abi_open(&s) ? -1 : abi_channel(&s);
			_exit(abi_tcp_id(&s, channel, 0, &id) || abi_user_event(&s, id, 9) ||
			      (keep && abi_export(&s, RDMA_EP_KEEP)) || abi_send_fd(to[1], s.fd));
		}
		EXPECT_SUCCESS(pid);
		fd = abi_recv_fd(to[0]);
		s.fd = FD(abi_adopt(fd));
		close(fd);
		/* Context and PD; the id */
		EXPECT_EQ(keep ? 3 : 2, abi_list_objs(s.fd, 64, info));
		if (keep) {
			channel = FD(abi_open_queue(s.fd, RDMA_EP_OBJ_ID, info[2].handle));
			ev = NEXT_EVENT(channel, RDMA_EP_CM_EVENT_USER);
			EXPECT_EQ(9, ev.param.arg);
		}
		close(s.fd);
	}
}

#define ROUNDS	14
#define SENDS	32

/* Steps of the giver, which owns the session first, and of the taker */
enum step {
	GIVES, EXPORTED, SENT, TAKES, RECEIVED, ADOPTED, TOOK, STEPS,
};

static const char *const step_names[] = {
	"export", "send", "sent", "receive", "adopt", "adopted", "took",
};

/* Records the step. At the last one the process kills itself. */
static void reach(struct round *r, int i, enum step step)
{
	atomic_store(&r->step[i], step);
	if (r->last == step)
		raise(SIGKILL);
}

static void give_to_other(struct round *r, int i, struct abi *s, int socket)
{
	reach(r, i, GIVES);
	if (abi_export(s, 0))
		_exit(1);
	reach(r, i, EXPORTED);
	if (abi_send_fd(socket, s->fd))
		_exit(2);
	close(s->fd);
	reach(r, i, SENT);
}

static void take_from_other(struct _test_data_owners *t, int i, struct abi *s, int socket)
{
	struct round *r = t->r;
	int fd;

	reach(r, i, TAKES);
	fd = abi_recv_fd(socket);
	if (fd < 0)
		_exit(0);
	reach(r, i, RECEIVED);
	s->fd = abi_adopt(fd);
	if (s->fd < 0)
		_exit(3);
	reach(r, i, ADOPTED);
	if (abi_count_objs(s->fd) < 1 ||
	    abi_open_queue(s->fd, RDMA_EP_OBJ_ID, t->p.end[1].id) < 0)
		_exit(4);
	close(fd);
	if (atomic_fetch_add(&r->sends, 1) < SENDS)
		abi_post_empty_send(s, t->p.end[1].qp.qp, 0, 1);
	reach(r, i, TOOK);
}

/* Passes the session back and forth, or once if there is a last step. */
static void give_and_take(struct _test_data_owners *t, int i, int socket)
{
	struct round *r = t->r;
	struct abi s = t->s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (i)
		take_from_other(t, i, &s, socket);
	while (r->last == STEPS) {
		give_to_other(r, i, &s, socket);
		take_from_other(t, i, &s, socket);
	}
	if (!i)
		give_to_other(r, i, &s, socket);
	for (;;)
		pause();
}

/* Connects, and starts two processes that pass the server's session to each other. */
static int start_round(struct _test_data_owners *t)
{
	struct abi *client = &t->client;
	int to[2], ret;

	memset(&t->p, 0, sizeof(t->p));
	t->p.max_wr = SENDS;
	ret = socketpair(AF_UNIX, SOCK_STREAM, 0, to) ? -errno :
	      abi_open(client) ?: abi_open(&t->s) ?: abi_pair_between(client, &t->s, &t->p);
	if (ret)
		return ret;
	for (int i = 0; i < SENDS; i++)
		ret = ret ?: abi_post_empty_recv(client, t->p.end[0].qp.qp, i);
	for (int i = 0; i < 2; i++) {
		t->pids[i] = fork();
		if (t->pids[i])
			continue;
		close(client->fd);
		close(to[!i]);
		/* The first owner alone keeps the channel open: its end would destroy the ids. */
		if (i) {
			close(t->s.fd);
			close(t->p.end[1].channel);
		}
		give_and_take(t, i, to[i]);
	}
	abi_close(&t->s);
	close(t->p.end[1].channel);
	close(to[0]);
	close(to[1]);
	return ret;
}

static void kill_one(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * One process kills itself at a step. The other one has the session if the step is SENT.
 * Otherwise the peer is disconnected at once.
 */
static void kill_at_step(struct __test_metadata *_metadata, struct _test_data_owners *self)
{
	int channel = self->p.end[0].channel, first = self->r->last >= TAKES, status;
	pid_t *pids = self->pids;
	struct rdma_ep_wc wc;

	ASSERT_EQ(pids[first], waitpid(pids[first], &status, 0));
	EXPECT_EQ(SIGKILL, status);
	if (self->r->last == SENT) {
		EXPECT_EQ(1, abi_wait(&self->client, self->p.end[0].cq[1], &wc, 1));
		EXPECT_EQ(0, wc.status);
		EXPECT_FALSE(abi_ready(channel, 0));
		kill_one(pids[!first]);
	}
	EXPECT_EQ(0, abi_event(channel, EV_DISCONNECTED, NULL));
	if (self->r->last != SENT)
		kill_one(pids[!first]);
}

/* Kills one process at any moment, and the other one a little later. */
static void kill_at_random(struct __test_metadata *_metadata, struct _test_data_owners *self,
			   int first)
{
	usleep(abi_random() % 60000);
	kill_one(self->pids[first]);
	usleep(abi_random() % 5000);
	kill_one(self->pids[!first]);
	EXPECT_EQ(0, abi_event(self->p.end[0].channel, EV_DISCONNECTED, NULL));
}

/* Whichever process is killed, and when: the connection ends once, and no object remains. */
TEST_F_TIMEOUT(owners, killed_while_handing_over, 3600)
{
	int rounds = atoi(getenv("HANDOVER_ROUNDS") ?: "0") ?: ROUNDS, died[STEPS + 1] = {};
	struct round *r = self->r;
	int first;

	OK(abi_idle());
	for (int round = 0; round < rounds; round++) {
		first = round / 2 % 2;
		r->last = round % 2 ? STEPS : round / 2 % STEPS;
		r->sends = 0;
		r->step[0] = STEPS;
		r->step[1] = STEPS;
		OK(start_round(self));
		if (r->last < STEPS) {
			kill_at_step(_metadata, self);
		} else {
			kill_at_random(_metadata, self, first);
			died[r->step[first]]++;
		}
		abi_close(&self->client);
		close(self->p.end[0].channel);
		ASSERT_EQ(0, abi_idle());
	}
	for (int i = 0; i < STEPS; i++)
		TH_LOG("killed at random, after step %s: %d", step_names[i], died[i]);
}

TEST_HARNESS_MAIN
