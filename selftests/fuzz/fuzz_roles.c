// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some commands succeed only with an object in a certain state, which random calls never reach.
 * The fuzzer's preparations bring objects into these states. fuzz_fill() uses them mostly for the
 * command of the state, and all threads use them for other commands as well.
 */
#include <unistd.h>

#include "fuzz.h"

/* Time limit of an event, which never comes if another thread has destroyed the id */
#define EVENT_MS	(200 * TEST_SCALE)

static int event(int channel, enum abi_cm_event want, struct rdma_ep_channel_event *ev)
{
	int ret = channel < 0 ? -EBADF : abi_read(channel, ev, sizeof(*ev), EVENT_MS);

	return ret ?: ev->event == want ? 0 : -EPROTO;
}

static void learn(struct fuzz_session *fs, struct fuzz_random *r, uint32_t type, uint32_t handle)
{
	if (handle)
		fs->handles[type][fuzz_below(r, FUZZ_POOL)] = handle;
}

static void learn_role(struct fuzz_session *fs, struct fuzz_random *r,
		       enum abi_role role, uint32_t handle)
{
	if (handle)
		fs->roles[role][fuzz_below(r, FUZZ_ROLE_POOL)] = handle;
}

/* Stores a channel; closes the one that it replaces. */
static void learn_fd(struct fuzz_session *fs, struct fuzz_random *r, uint32_t kind, int fd)
{
	uint32_t slot = fuzz_below(r, FUZZ_POOL);
	int old = fs->fds[kind][slot];

	fuzz_no_wait(r, fd);
	fs->fds[kind][slot] = fd;
	if (old > 2)
		close(old);
}

static int make_qp(struct fuzz_session *fs, struct fuzz_random *r,
		   uint32_t type, uint32_t id, struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp c;
	uint32_t cq, ring;
	int ret;

	ret = fuzz_chance(r, 50) ?
	      abi_create_cq(&fs->s, -1, 64, fuzz_next(r), &cq) :
	      abi_create_ring_cq(&fs->s, -1, 64, fuzz_next(r), &cq, &ring);
	if (ret)
		return ret;
	ret = abi_create_qp(&fs->s, type, cq, id, &c);
	if (ret)
		return ret;
	*init = c.init;
	learn(fs, r, RDMA_EP_OBJ_CQ, cq);
	learn(fs, r, RDMA_EP_OBJ_QP, c.init.qp);
	fs->qp_nums[fuzz_below(r, FUZZ_POOL)] = c.init.qp_num;
	return 0;
}

static int make_resolved(struct fuzz_session *fs, int channel,
			 const struct sockaddr_in *to, uint32_t *id)
{
	struct rdma_ep_channel_event ev;

	return abi_tcp_id(&fs->s, channel, 1, id) ?:
	       abi_resolve_addr(&fs->s, *id, to, 1000) ?:
	       event(channel, EV_ADDR_RESOLVED, &ev);
}

/* Resolves the route, after which the id may connect. */
static int make_client(struct fuzz_session *fs, int channel, uint32_t *id)
{
	struct rdma_ep_channel_event ev;

	return ABI_ID_CMD(&fs->s, RESOLVE_ROUTE, *id, 1000) ?:
	       event(channel, EV_ROUTE_RESOLVED, &ev);
}

/*
 * Makes a connection up to the role's state: a client with an address or a route, a request, an
 * accepted request, or a connected QP.
 */
static int prepare_connection(struct fuzz_session *fs, struct fuzz_random *r, enum abi_role role)
{
	int channel[2] = { abi_channel(&fs->s), abi_channel(&fs->s) };
	struct rdma_ep_qp_init qp = { 0 };
	struct sockaddr_in sin;
	struct rdma_ep_channel_event ev;
	uint32_t listener = 0, id = 0;
	int ret;

	ret = abi_tcp_listen(&fs->s, channel[1], 0, 2, &listener, &sin) ?:
	      make_resolved(fs, channel[0], &sin, &id);
	if (ret)
		goto out;
	if (role == ROLE_RESOLVED) {
		learn_role(fs, r, role, id);
		goto out;
	}
	ret = make_client(fs, channel[0], &id);
	if (ret)
		goto out;
	if (role == ROLE_READY) {
		learn_role(fs, r, role, id);
		if (fuzz_chance(r, 70))
			make_qp(fs, r, QPT_RC, id, &qp);
		goto out;
	}
	/* A client without its own QP gets CONNECT_RESPONSE, and may call ESTABLISH. */
	ret = make_qp(fs, r, QPT_RC, role == ROLE_RESPONDED ? 0 : id, &qp) ?:
	      abi_connect(&fs->s, id, qp.qp_num) ?:
	      event(channel[1], EV_CONNECT_REQUEST, &ev);
	if (ret)
		goto out;
	if (role == ROLE_REQUEST) {
		if (fuzz_chance(r, 70))
			make_qp(fs, r, QPT_RC, ev.child, &qp);
		learn_role(fs, r, role, ev.child);
		learn(fs, r, RDMA_EP_OBJ_ID, ev.child);
		goto out;
	}
	ret = make_qp(fs, r, QPT_RC, ev.child, &qp) ?:
	      abi_accept(&fs->s, ev.child, 3, 0);
	if (ret)
		goto out;
	learn(fs, r, RDMA_EP_OBJ_ID, ev.child);
	if (role == ROLE_CONNECTED) {
		learn_role(fs, r, role, qp.qp);
		goto out;
	}
	learn_role(fs, r, ROLE_ACCEPTED, ev.child);
	ret = event(channel[0], EV_CONNECT_RESPONSE, &ev);
	if (!ret)
		learn_role(fs, r, ROLE_RESPONDED, id);
out:
	learn(fs, r, RDMA_EP_OBJ_ID, listener);
	learn(fs, r, RDMA_EP_OBJ_ID, id);
	learn_fd(fs, r, FD_CHANNEL, channel[0]);
	learn_fd(fs, r, FD_CHANNEL, channel[1]);
	return ret;
}

/* Makes an id that may join a group, and attaches its QP to a group. */
static void prepare_datagram(struct fuzz_session *fs, struct fuzz_random *r, enum abi_role role)
{
	int channel = abi_channel(&fs->s);
	struct rdma_ep_qp_init qp;
	uint32_t id = 0;

	if (!abi_ud_id(&fs->s, channel, 4, &id) && !make_qp(fs, r, QPT_UD, id, &qp)) {
		learn_role(fs, r, ROLE_UD_ID, id);
		if (!abi_attach(&fs->s, qp.qp, 1))
			learn_role(fs, r, ROLE_ATTACHED, qp.qp);
	}
	learn(fs, r, RDMA_EP_OBJ_ID, id);
	learn_fd(fs, r, FD_CHANNEL, channel);
}

bool fuzz_prepare(struct fuzz_session *fs, struct fuzz_random *r, enum abi_role role)
{
	switch (role) {
	case ROLE_UD_ID:
	case ROLE_ATTACHED:
		prepare_datagram(fs, r, role);
		return true;
	case ROLE_ACCEPTED:
		return !prepare_connection(fs, r, ROLE_RESPONDED);
	default:
		return !prepare_connection(fs, r, role);
	}
}
