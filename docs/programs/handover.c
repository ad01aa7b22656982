// SPDX-License-Identifier: BSD-2-Clause
/*
 * handover ADDRESS PORT: sends each message back. After SIGHUP the process becomes a new
 * instance of the program, with all connections: "handover -r SESSION MEMORY".
 * cc -D_GNU_SOURCE handover.c -o handover -lrdma_ep
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
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

static void check(int failed, const char *what)
{
	if (failed)
		err(1, "%s", what);
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
	check(!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(listener, ai->ai_src_addr) || rdma_listen(listener, 64), "rdma_listen");
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
static void resume(int session, int flags)
{
	struct rdma_ep_adopted *all = rdma_ep_adopt(session, flags);
	int n = 0;

	check(!all, "rdma_ep_adopt");
	channel = all->channels[0];
	comp = all->comp_channels[0];
	cq = all->cqs[0];
	srq = all->srqs[0];
	mr = all->regions[0].mr;
	/* Requests go on with mr->addr. The memory could be mapped there or anywhere else. */
	for (struct rdma_cm_id **id = all->ids; *id; id++)
		if ((*id)->qp)
			ids[n++] = *id;
	rdma_ep_free_adopted(all);
}

static void hand_over(const char *program)
{
	char session[16], file[16];
	int fd = rdma_ep_export(NULL);

	check(fd < 0 || fcntl(fd, F_SETFD, 0), "rdma_ep_export");	/* open after exec */
	snprintf(session, sizeof(session), "%d", fd);
	snprintf(file, sizeof(file), "%d", memory);
	execl(program, program, "-r", session, file, NULL);
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
		rdma_destroy_ep(id);
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
	if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		accept_request(copy.id);
	if (copy.event != RDMA_CM_EVENT_DISCONNECTED)
		return;
	for (int i = 0; i < SLOTS; i++)
		if (ids[i] == copy.id)
			ids[i] = NULL;
	rdma_destroy_ep(copy.id);
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

/* Until this descriptor can be read */
static void serve(int until)
{
	struct pollfd fds[] = {
		{ .fd = until, .events = POLLIN }, { .fd = channel->fd, .events = POLLIN },
		{ .fd = comp->fd, .events = POLLIN },
	};
	struct ibv_cq *from;
	void *context;

	while (!fds[0].revents) {
		check(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
		completions();
		TEMP_FAILURE_RETRY(poll(fds, 3, -1));
		if (fds[1].revents)
			connection_event();
		if (fds[2].revents && !ibv_get_cq_event(comp, &from, &context))
			ibv_ack_cq_events(from, 1);
	}
}

int main(int argc, char **argv)
{
	int fd, resumed = argc == 4;
	sigset_t hup;

	if (!resumed && argc != 3)
		return 2;
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hup, NULL);
	fd = signalfd(-1, &hup, SFD_CLOEXEC);
	memory = resumed ? atoi(argv[3]) : memfd_create("handover", 0);
	resumed ? resume(atoi(argv[2]), 0) : begin(argv[1], argv[2]);
	dprintf(STDOUT_FILENO, "serving\n");
	serve(fd);
	sigwaitinfo(&hup, NULL);
	hand_over(argv[0]);
	err(1, "%s", argv[0]);
}
