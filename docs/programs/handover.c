// SPDX-License-Identifier: BSD-2-Clause
/*
 * handover ADDRESS PORT: sends each message back. After SIGHUP the process becomes a new
 * instance of the program, with all connections: "handover -r SESSION MEMORY".
 * cc -D_GNU_SOURCE handover.c -o handover -lrdma_ep
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/rdma_ep_handover.h>
#include <rdma/rdma_verbs.h>

#define SLOTS	256
#define SLOT	64	/* longest message */

static struct rdma_event_channel *channel;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static struct rdma_cm_id *ids[SLOTS];
static int memory;
static volatile sig_atomic_t restart;

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static void on_hup(int sig)
{
	(void)sig;
	restart = 1;
}

static void receive(uintptr_t slot)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr + SLOT * slot, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

/* The first instance: a listener, and what all connections share */
static void begin(const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = SLOTS, .max_sge = 1 } };
	struct rdma_addrinfo *ai;
	struct rdma_cm_id *listener;
	void *mem;

	check(rdma_getaddrinfo(address, port, &hints, &ai), "rdma_getaddrinfo");
	channel = rdma_create_event_channel();
	check(!channel, "rdma_create_event_channel");
	check(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(listener, ai->ai_src_addr), "rdma_bind_addr");
	check(rdma_listen(listener, 64), "rdma_listen");
	check(memory < 0 || ftruncate(memory, SLOTS * SLOT), "memfd_create");
	mem = mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	mr = ibv_reg_mr(listener->pd, mem, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	comp = ibv_create_comp_channel(listener->verbs);
	cq = comp ? ibv_create_cq(listener->verbs, 2 * SLOTS, NULL, comp, 0) : NULL;
	srq = ibv_create_srq(listener->pd, &attr);
	check(!mr || !cq || !srq, "memory, CQ, SRQ");
	for (int i = 0; i < SLOTS; i++)
		receive(i);
}

/* The next instance: the same, as it was */
static void resume(int session)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, 0);
	int n = 0;

	check(!all, "rdma_ep_adopt");
	channel = all->channels[0];
	comp = all->comp_channels[0];
	cq = all->cqs[0];
	srq = all->srqs[0];
	mr = all->regions[0].mr;
	/*
	 * Work requests go on with the old address, mr->addr. A program that looks into the
	 * messages maps the memory there, or anywhere else.
	 */
	for (struct rdma_cm_id **id = all->ids; *id; id++)
		if ((*id)->qp)
			ids[n++] = *id;
	rdma_ep_free_adopted(all);
}

static void hand_over(const char *program)
{
	char session[16], file[16];
	int fd = rdma_ep_export(NULL);

	check(fd < 0, "rdma_ep_export");
	fcntl(fd, F_SETFD, 0);
	snprintf(session, sizeof(session), "%d", fd);
	snprintf(file, sizeof(file), "%d", memory);
	execl(program, program, "-r", session, file, NULL);
	check(1, program);
}

static void accept_request(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	int i = 0;

	while (i < SLOTS && ids[i])
		i++;
	if (i == SLOTS || rdma_create_qp(id, NULL, &attr) || rdma_accept(id, NULL)) {
		rdma_reject(id, NULL, 0);
		if (id->qp)
			rdma_destroy_qp(id);
		rdma_destroy_id(id);
		return;
	}
	ids[i] = id;
}

static void connection_event(void)
{
	struct rdma_cm_event *event, copy;

	check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	copy = *event;
	rdma_ack_cm_event(event);
	if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		accept_request(copy.id);
	} else if (copy.event == RDMA_CM_EVENT_DISCONNECTED) {
		for (int i = 0; i < SLOTS; i++)
			if (ids[i] == copy.id)
				ids[i] = NULL;
		rdma_disconnect(copy.id);
		rdma_destroy_qp(copy.id);
		rdma_destroy_id(copy.id);
	}
}

static void answer(const struct ibv_wc *wc)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr + SLOT * wc->wr_id, wc->byte_len, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wc->wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};

	for (int i = 0; i < SLOTS; i++)
		if (ids[i] && ids[i]->qp->qp_num == wc->qp_num &&
		    !ibv_post_send(ids[i]->qp, &wr, &bad))
			return;
	receive(wc->wr_id);
}

static void completions(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV)
			answer(&wc);
		else
			receive(wc.wr_id);
	}
}

int main(int argc, char **argv)
{
	struct sigaction hup = { .sa_handler = on_hup };
	sigset_t blocked, none;
	bool resumed = argc == 4 && !strcmp(argv[1], "-r");
	struct pollfd fds[2];
	struct ibv_cq *from;
	void *context;

	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGHUP, &hup, NULL);
	if (!resumed && argc != 3)
		return 2;
	memory = resumed ? atoi(argv[3]) : memfd_create("handover", 0);
	resumed ? resume(atoi(argv[2])) : begin(argv[1], argv[2]);
	puts("serving");
	fflush(stdout);
	fds[0] = (struct pollfd) { .fd = channel->fd, .events = POLLIN };
	fds[1] = (struct pollfd) { .fd = comp->fd, .events = POLLIN };
	while (!restart) {
		check(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
		completions();
		if (ppoll(fds, 2, NULL, &none) < 0)
			continue;
		if (fds[0].revents)
			connection_event();
		if (fds[1].revents && !ibv_get_cq_event(comp, &from, &context))
			ibv_ack_cq_events(from, 1);
	}
	hand_over(argv[0]);
}
