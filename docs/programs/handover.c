// SPDX-License-Identifier: BSD-2-Clause
/*
 * handover ADDRESS PORT [WORKERS]: sends each message back; with WORKERS, in a process for each
 * connection. After SIGHUP a process becomes its next instance, with all connections.
 * cc -D_GNU_SOURCE handover.c -o handover -lrdma_ep
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/rdma_ep_handover.h>
#include <rdma/rdma_verbs.h>

enum { SLOTS = 256, SLOT = 64 };	/* messages, bytes of the longest */
#define SLOT_AT(_n) ((char *)mr->addr + SLOT * (_n))
#define check(failed, what) ((failed) ? err(1, "%s", what) : (void)0)

static struct { struct cmsghdr to; int fd; } passed = { { CMSG_LEN(4), SOL_SOCKET, SCM_RIGHTS } };
static struct msghdr message = {
	.msg_iov = &(struct iovec) { &(char) { 0 }, 1 }, .msg_iovlen = 1,
	.msg_control = &passed, .msg_controllen = sizeof(passed),
};

static int session, sockets[2];	/* open over exec; the sockets: from parent to workers */
static struct rdma_event_channel *channel;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct rdma_cm_id *owner;	/* of the SRQ: the listener, or a worker's connection */
static struct rdma_cm_id *ids[1 << 24];	/* by the numbers of their QPs */

static void receive(uintptr_t slot)
{
	check(rdma_post_recv(owner, (void *)slot, SLOT_AT(slot), SLOT, mr), "rdma_post_recv");
}

/* All connections share these. To read the region, the next instance would map a memfd. */
static void prepare(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = SLOTS, .max_sge = 1 } };

	mr = rdma_reg_msgs(owner, calloc(SLOTS, SLOT), SLOTS * SLOT);
	comp = ibv_create_comp_channel(owner->verbs);
	cq = comp ? ibv_create_cq(owner->verbs, 2 * SLOTS, NULL, comp, 0) : NULL;
	check(!mr || !cq || rdma_create_srq(owner, NULL, &attr), "memory, CQ, SRQ");
	for (int i = 0; i < SLOTS; i++)
		receive(i);
}

static void begin(const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *ai;

	channel = rdma_create_event_channel();
	check(!channel || rdma_getaddrinfo(address, port, &hints, &ai), "rdma_getaddrinfo");
	check(rdma_create_id(channel, &owner, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(owner, ai->ai_src_addr) || rdma_listen(owner, 64), "rdma_listen");
	prepare();
}

/* Answers what is in the CQ, not all that comes meanwhile. Returns whether there may be more. */
static int completions(void)
{
	int left = cq->cqe;
	struct ibv_wc wc;

	check(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	for (; left && ibv_poll_cq(cq, 1, &wc) > 0; left--)
		if (wc.status || wc.opcode != IBV_WC_RECV || !ids[wc.qp_num] ||
		    rdma_post_send(ids[wc.qp_num], (void *)wc.wr_id, SLOT_AT(wc.wr_id),
				   wc.byte_len, mr, 0))
			receive(wc.wr_id);
	return !left;
}

/* The next instance: all objects are as they were. In a worker: a request without any */
static void resume(int flags)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, flags);

	check(!all, "rdma_ep_adopt");
	channel = all->channels[0];
	comp = all->comp_channels[0];
	cq = all->cqs[0];
	mr = all->regions[0].mr;
	owner = all->ids[0];
	for (struct rdma_cm_id **id = all->ids; *id; id++) {
		owner = (*id)->srq ? *id : owner;
		if ((*id)->qp)
			ids[(*id)->qp->qp_num] = *id;
	}
	rdma_ep_free_adopted(all);
}

/* Signals arrive in serve() only, so between two messages. */
static void hand_over(int signal)
{
	char *state;

	session = dup(rdma_ep_export(NULL));	/* without FD_CLOEXEC */
	check(session < 0 || asprintf(&state, "%d %d %d", session, sockets[0], sockets[1]) < 0,
	      "rdma_ep_export");
	execl(program_invocation_name, program_invocation_name, state, NULL);
	err(1, "%s", program_invocation_name);
}

static void accept_request(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .srq = owner->srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 }, .sq_sig_all = 1,
	};

	if (rdma_create_qp(id, NULL, &attr) || rdma_accept(id, NULL)) {
		check(id == owner, "rdma_accept");
		return rdma_destroy_ep(id);
	}
	ids[id->qp->qp_num] = id;
}

static int start_worker(void)
{
	if (fork())
		return 0;
	close(sockets[0]);
	if (recvmsg(sockets[1], &message, 0) <= 0)
		exit(0);	/* The parent has ended. */
	session = passed.fd;
	resume(0);
	prepare();
	accept_request(owner);
	return 1;
}

static void connection_event(void)
{
	struct rdma_cm_event *event, copy;
	int sent;

	check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	copy = *event;
	rdma_ack_cm_event(event);
	if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST && !sockets[0])
		return accept_request(copy.id);
	if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		passed.fd = rdma_ep_split(copy.id);
		if (passed.fd < 0)
			rdma_destroy_id(copy.id);
		sent = sendmsg(sockets[0], &message, MSG_DONTWAIT);
		close(passed.fd);	/* If it has not been sent, the peer is rejected. */
		if (sent > 0)
			start_worker();
	} else if (copy.event != RDMA_CM_EVENT_ESTABLISHED) {
		if (copy.id == owner)
			exit(0);	/* a worker */
		rdma_disconnect(copy.id);
		completions();
		ids[copy.id->qp->qp_num] = NULL;
		rdma_destroy_ep(copy.id);
	}
}

static void serve(void)
{
	void *context;

	for (;;) {
		struct pollfd fds[] = { { channel->fd, POLLIN }, { comp->fd, POLLIN } };
		struct timespec *now = completions() ? &(struct timespec) {} : NULL;
		sigset_t all;

		/* While there are events, ppoll() leaves signals pending. */
		sigprocmask(SIG_SETMASK, &(sigset_t) {}, &all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		ppoll(fds, 2, now, &(sigset_t) {});
		if (fds[0].revents)
			connection_event();
		else if (fds[1].revents && !ibv_get_cq_event(comp, &cq, &context))
			ibv_ack_cq_events(cq, 1);
	}
}

int main(int argc, char **argv)
{
	int workers = argc == 4 ? atoi(argv[3]) : 0;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signal(SIGHUP, hand_over);
	signal(SIGCHLD, SIG_IGN);
	if (argc == 2) {
		check(sscanf(argv[1], "%d %d %d", &session, &sockets[0], &sockets[1]) != 3,
		      "state");
		resume(0);
	} else {
		begin(argv[1], argv[2]);
		check(workers && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), "socketpair");
	}
	dprintf(STDOUT_FILENO, "serving\n");
	while (workers-- > 0 && !start_worker())
		;
	serve();
}
