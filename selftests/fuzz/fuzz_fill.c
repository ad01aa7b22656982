// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fills in the structures of the fuzzer's commands with mostly plausible values, and stores their
 * results.
 */
#include <fcntl.h>

#include "fuzz.h"

static void put(uint8_t *arg, const struct abi_field *f, uint64_t value)
{
	memcpy(arg + f->at, &value, f->size < 8 ? f->size : 8);
}

static uint32_t get32(const uint8_t *arg, const struct abi_field *f)
{
	uint32_t value;

	memcpy(&value, arg + f->at, sizeof(value));
	return value;
}

/* A number at a likely limit, or any number */
static uint64_t odd_number(struct fuzz_random *r)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0xffffff,
		0x1000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, 0xffffffffffffffff,
	};

	return fuzz_chance(r, 70) ?
	       numbers[fuzz_below(r, sizeof(numbers) / sizeof(numbers[0]))] : fuzz_next(r);
}

static uint64_t bad_address(struct fuzz_session *fs, struct fuzz_random *r)
{
	switch (fuzz_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000;	/* the kernel's */
	case 2:
		return (uintptr_t)fs->readonly;
	case 3:
		return (uintptr_t)fs->out + FUZZ_MEM - fuzz_below(r, 64);
	case 4:
		return (uintptr_t)fs->mem | 1;
	default:
		return odd_number(r);
	}
}

/* A handle that a command has returned, perhaps of a destroyed object */
static uint32_t handle(struct fuzz_session *fs, struct fuzz_random *r, uint32_t type)
{
	if (!type)
		type = 1 + fuzz_below(r, ABI_OBJ_LAST);
	return fs->handles[type][fuzz_below(r, FUZZ_POOL)];
}

static uint32_t type_of(struct fuzz_session *fs, struct fuzz_random *r, uint32_t h)
{
	for (uint32_t type = 1; type <= ABI_OBJ_LAST; type++)
		for (uint32_t i = 0; i < FUZZ_POOL; i++)
			if (fs->handles[type][i] == h)
				return type;
	return 1 + fuzz_below(r, ABI_OBJ_LAST);
}

static void addr(struct fuzz_session *fs, struct fuzz_random *r,
		 uint8_t *arg, const struct abi_field *f)
{
	struct sockaddr_in sin = fs->s.addr;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	static const uint16_t ports[] = { 7471, 7472, 7473, 0 };

	sin.sin_port = htons(ports[fuzz_below(r, 4)]);
	switch (fuzz_below(r, 16)) {
	case 0:			/* host that does not exist */
		sin.sin_addr.s_addr ^= htonl(0x40);
		break;
	case 1:			/* wildcard */
		sin.sin_addr.s_addr = 0;
		break;
	case 2:
	case 3:			/* group */
		abi_group(&sin, fuzz_below(r, 4));
		break;
	case 4:
		sin.sin_port = htons(fuzz_below(r, 65536));
		break;
	case 5:
		sin.sin_family = fuzz_below(r, 64);
		break;
	case 6:
		sin6.sin6_addr.s6_addr[0] = fuzz_next(r);
		sin6.sin6_addr.s6_addr[15] = fuzz_next(r);
		sin6.sin6_port = sin.sin_port;
		memcpy(arg + f->at, &sin6, sizeof(sin6));
		return;
	case 7:
	case 8:
	case 9:
		if (f->arg == ADDR_OPTIONAL)
			return;
		break;
	default:
		if (f->arg == ADDR_GROUP)
			abi_group(&sin, fuzz_below(r, 4));
	}
	memcpy(arg + f->at, &sin, sizeof(sin));
}

static uint32_t key(struct fuzz_session *fs, struct fuzz_random *r)
{
	uint32_t k = fs->keys[fuzz_below(r, FUZZ_POOL)];

	return fuzz_chance(r, 95) ? k : k + fuzz_below(r, 3) - 1;
}

static struct rdma_ep_sge *add_sges(struct fuzz_session *fs, struct fuzz_random *r, uint8_t *p,
				    uint32_t n)
{
	struct rdma_ep_sge *sge = (struct rdma_ep_sge *)p;

	for (; n; n--, sge++) {
		/* furnish() has registered the first quarter of the memory. */
		sge->addr = (uintptr_t)fs->mem +
			    fuzz_below(r, fuzz_chance(r, 90) ? FUZZ_MEM / 4 - 4096 : FUZZ_MEM / 2);
		sge->length = fuzz_below(r, 4096);
		sge->lkey = key(fs, r);
		if (fuzz_chance(r, 3))
			sge->length = odd_number(r);
		if (fuzz_chance(r, 3))
			sge->addr = odd_number(r);
	}
	return sge;
}

/*
 * Other threads may write to the same memory, so the request is built on the stack and not read
 * back.
 */
static uint8_t *add_send(struct fuzz_session *fs, struct fuzz_random *r, uint8_t *p)
{
	static const uint32_t opcodes[] = { 0, 1, 2, 3, 4, 5, 6, 9 };
	struct rdma_ep_send_wr wr = {
		.wr_id = fuzz_next(r),
		.opcode = opcodes[fuzz_below(r, 8)],
		.send_flags = fuzz_below(r, 8),
		.num_sge = fuzz_below(r, 3),
		.rkey = key(fs, r),
		.remote_addr = (uintptr_t)fs->mem + fuzz_below(r, 65536),
		.ah = fuzz_chance(r, 30) ? handle(fs, r, RDMA_EP_OBJ_AH) : 0,
		.remote_qpn = fuzz_below(r, 60),
	};
	uint8_t *end = p + sizeof(wr);

	if (fuzz_chance(r, 5))
		wr.opcode = fuzz_below(r, 256);
	if (fuzz_chance(r, 5))
		wr.send_flags = odd_number(r);
	if (fuzz_chance(r, 2))
		wr.reserved = odd_number(r);
	if (fuzz_chance(r, 10)) {
		wr.send_flags |= SEND_INLINE;
		wr.num_sge = 0;
		wr.inline_len = fuzz_below(r, 160);
		end += (wr.inline_len + 7) & ~7;
	} else {
		end = (uint8_t *)add_sges(fs, r, end, wr.num_sge);
		if (fuzz_chance(r, 3))
			wr.num_sge = odd_number(r);
	}
	memcpy(p, &wr, sizeof(wr));
	return end;
}

/* Most receives have no SGE, as one bad SGE fails the whole list. */
static uint8_t *add_recv(struct fuzz_session *fs, struct fuzz_random *r, uint8_t *p)
{
	struct rdma_ep_recv_wr wr = {
		.wr_id = fuzz_next(r),
		.num_sge = fuzz_chance(r, 60) ? 0 : fuzz_below(r, 3),
	};
	uint8_t *end = (uint8_t *)add_sges(fs, r, p + sizeof(wr), wr.num_sge);

	if (fuzz_chance(r, 3))
		wr.num_sge = odd_number(r);
	memcpy(p, &wr, sizeof(wr));
	return end;
}

/* A list of work requests at a random offset, as the memory has no lock */
static void wrs(struct fuzz_session *fs, struct fuzz_random *r,
		struct rdma_ep_cmd_post *post, bool send)
{
	uint8_t *start = fs->out + fuzz_below(r, FUZZ_MEM / 2 / 64) * 64;
	uint8_t *p = start;
	uint32_t i, n = 1 + fuzz_below(r, fuzz_chance(r, 50) ? 2 : 12);

	for (i = 0; i < n; i++)
		p = send ? add_send(fs, r, p) : add_recv(fs, r, p);
	post->wrs = (uintptr_t)start;
	post->wrs_len = p - start;
	post->num = n;
	if (fuzz_chance(r, 3))
		post->wrs = bad_address(fs, r);
	if (fuzz_chance(r, 3))
		post->wrs_len = odd_number(r);
	if (fuzz_chance(r, 3))
		post->num = odd_number(r);
}

static void fill_field(struct fuzz_session *fs, struct fuzz_random *r,
		       uint8_t *arg, const struct abi_field *f, uint32_t *last)
{
	const struct abi_field *q;

	switch (f->kind) {
	case FIELD_QP:
		for (q = abi_qp_fields; q->kind; q++)
			fill_field(fs, r, arg + f->at, q, last);
		return;
	case FIELD_QP_NUM:
		put(arg, f, fuzz_chance(r, 10) ? fuzz_below(r, 60) :
		    fs->qp_nums[fuzz_below(r, FUZZ_POOL)]);
		break;
	case FIELD_NUMBER:
		put(arg, f, fuzz_below(r, f->arg + 1));
		break;
	case FIELD_DEVICE:
		put(arg, f, fs->s.dev);
		break;
	case FIELD_PORT:
		put(arg, f, 1);
		break;
	case FIELD_ACCESS:
		put(arg, f, fuzz_chance(r, 80) ? AC_ALL : fuzz_below(r, 256));
		break;
	case FIELD_SAME:
		memcpy(arg + f->at, arg + f[-2].at, f->size);
		break;
	case FIELD_BITS:
		put(arg, f, fuzz_next(r) & fuzz_next(r) & f->arg);
		break;
	case FIELD_HANDLE:
	case FIELD_OPTIONAL:
		/* Many handles may be 0. */
		*last = fuzz_chance(r, 8) ? 0 : handle(fs, r, f->arg);
		put(arg, f, *last);
		break;
	case FIELD_TYPE:
		put(arg, f, type_of(fs, r, *last));
		break;
	case FIELD_FD:
		put(arg, f, fuzz_chance(r, 20) ? -1 : fs->fds[f->arg][fuzz_below(r, FUZZ_POOL)]);
		break;
	case FIELD_ADDR:
		addr(fs, r, arg, f);
		break;
	case FIELD_GID:
		if (fuzz_chance(r, f->arg ? 10 : 50))
			memcpy(arg + f->at, fs->s.gid, 16);
		else
			abi_group_gid(arg + f->at, fuzz_below(r, 3));
		break;
	case FIELD_SENDS:
	case FIELD_RECVS:
		wrs(fs, r, (struct rdma_ep_cmd_post *)arg, f->kind == FIELD_SENDS);
		break;
	case FIELD_MEMORY:
		put(arg, f, (uintptr_t)fs->mem + fuzz_below(r, FUZZ_MEM / 2));
		break;
	case FIELD_BUFFER:
		put(arg, f, fuzz_chance(r, 10) ? bad_address(fs, r) :
		    (uintptr_t)fs->out + FUZZ_MEM / 2);
		break;
	case FIELD_BYTES:
		for (uint32_t i = 0; i < f->arg; i++)
			arg[f->at + i] = fuzz_next(r);
		break;
	case FIELD_COOKIE:
		put(arg, f, fuzz_next(r));
		break;
	}
	if (f->kind < FIELD_OUT && fuzz_chance(r, 2))
		put(arg, f, odd_number(r));
	if (f->kind == FIELD_ZERO && fuzz_chance(r, 1))
		put(arg, f, odd_number(r));
}

/* Only few port spaces are valid, each with one type of QPs. */
static void fill_port_space(struct fuzz_random *r, uint32_t *ps, uint32_t *qp_type)
{
	if (fuzz_chance(r, 95)) {
		*ps = fuzz_chance(r, 75) ? RDMA_PS_TCP : RDMA_PS_UDP;
		*qp_type = *ps == RDMA_PS_TCP ? QPT_RC :
						QPT_UD;
	}
}

/* OPEN_QUEUE: all types of queues. SET_OBJ: mostly values only in fields that the flags name */
static void fill_handover(struct fuzz_session *fs, struct fuzz_random *r,
			  const struct abi_command *c, uint8_t *arg)
{
	static const __u32 types[] = { RDMA_EP_OBJ_ID, RDMA_EP_OBJ_CTX };
	struct rdma_ep_cmd_open_queue *queue = (void *)arg;
	struct rdma_ep_cmd_set_obj *set = (void *)arg;

	if (c->cmd == RDMA_EP_IOC_OPEN_QUEUE && fuzz_chance(r, 60)) {
		queue->type = types[fuzz_below(r, 2)];
		queue->handle = fs->handles[queue->type][fuzz_below(r, FUZZ_POOL)];
	}
	if (c->cmd != RDMA_EP_IOC_SET_OBJ || fuzz_chance(r, 10))
		return;
	if (!(set->flags & RDMA_EP_SET_UID))
		set->uid = 0;
	if (!(set->flags & RDMA_EP_SET_COOKIE))
		set->cookie = 0;
	if (!(set->flags & RDMA_EP_SET_NOTE))
		memset(set->note, 0, sizeof(set->note));
}

/* Sets mostly unreachable limits: commands of a session without rights fail early. */
static void fill_restrict(struct fuzz_random *r, struct rdma_ep_cmd_restrict *arg)
{
	if (fuzz_chance(r, 2))
		return;
	arg->flags &= RDMA_EP_RESTRICT_OBJECTS | RDMA_EP_RESTRICT_QUEUES |
		      RDMA_EP_RESTRICT_PINNED;
	arg->num_grants = 0;
	arg->max_objects = arg->flags & RDMA_EP_RESTRICT_OBJECTS ? UINT64_MAX : 0;
	arg->max_queue_bytes = arg->flags & RDMA_EP_RESTRICT_QUEUES ? UINT64_MAX : 0;
	arg->max_pinned_bytes = arg->flags & RDMA_EP_RESTRICT_PINNED ? UINT64_MAX : 0;
}

static void fill_special(struct fuzz_random *r, const struct abi_command *c, uint8_t *arg)
{
	struct rdma_ep_cmd_create_id *id = (void *)arg;
	struct rdma_ep_cmd_create_ep *ep = (void *)arg;
	struct rdma_ep_cmd_modify_qp *qp = (void *)arg;
	struct rdma_ep_cmd_create_qp *create = (void *)arg;
	struct rdma_ep_cmd_srq_attr *srq = (void *)arg;
	struct rdma_ep_cmd_set_option *opt = (void *)arg;
	struct rdma_ep_cmd_reject *rej = (void *)arg;
	struct rdma_ep_cmd_write_event *user = (void *)arg;
	struct rdma_ep_cmd_id *cmd = (void *)arg;
	struct rdma_ep_cmd_poll_cq *poll = (void *)arg;

	/* POLL_CQ into the ring */
	if (c->cmd == RDMA_EP_IOC_POLL_CQ && fuzz_chance(r, 50)) {
		poll->wcs = 0;
		poll->max = 0;
	}
	if (c->cmd == RDMA_EP_IOC_WRITE_EVENT && fuzz_chance(r, 70))
		user->event = RDMA_EP_CM_EVENT_USER;
	if (c->cmd == RDMA_EP_IOC_NOTIFY && fuzz_chance(r, 70))
		cmd->arg = EVENT_COMM_EST;
	if (c->cmd == RDMA_EP_IOC_REJECT && fuzz_chance(r, 80)) {
		rej->reason = fuzz_chance(r, 50) ? 0 : 28;
		rej->private_data_len %= 100;
	}
	/* TOS and ACK_TIMEOUT are a byte, other options an int. */
	if (c->cmd == RDMA_EP_IOC_SET_OPTION && fuzz_chance(r, 80)) {
		opt->level = 0;
		opt->optlen = opt->optname == 0 || opt->optname == 3 ? 1 : 4;
	}
	if (c->cmd == RDMA_EP_IOC_QUERY_SRQ) {
		srq->max_wr = 0;
		srq->srq_limit = 0;
	}
	if (c->cmd == RDMA_EP_IOC_CREATE_ID)
		fill_port_space(r, &id->ps, &id->qp_type);
	if (c->cmd == RDMA_EP_IOC_CREATE_EP) {
		/* CREATE_EP waits that long for hosts that do not exist. */
		ep->addr_timeout_ms %= 1000;
		ep->route_timeout_ms %= 1000;
		fill_port_space(r, &ep->ps, &ep->qp_type);
		if (ep->flags & RDMA_EP_EP_CREATE_QP)
			ep->qp.qp_type = ep->qp_type;
		else if (fuzz_chance(r, 95))
			memset(&ep->qp, 0, sizeof(ep->qp));
	}
	/*
	 * No id, as most ids have a QP or no device. A type that all devices have and few other
	 * parts, as one wrong part fails the command.
	 */
	if (c->cmd == RDMA_EP_IOC_CREATE_QP && fuzz_chance(r, 60)) {
		create->id = 0;
		create->init.qp_type = QPT_RC;
		create->init.max_inline_data %= 33;
		if (fuzz_chance(r, 70))
			create->init.srq = 0;
	}
	/* A transition succeeds only with certain masks. */
	if (c->cmd == RDMA_EP_IOC_MODIFY_QP && fuzz_chance(r, 70)) {
		static const uint32_t masks[] = {
			[QPS_INIT] = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS,
			[QPS_RTR] = QP_STATE | QP_AV | QP_PATH_MTU |
				    QP_DEST_QPN | QP_RQ_PSN |
				    QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER,
			[QPS_RTS] = QP_STATE | QP_TIMEOUT | QP_RETRY_CNT |
				    QP_RNR_RETRY | QP_SQ_PSN | QP_MAX_QP_RD_ATOMIC,
		};

		qp->attr.qp_state = fuzz_below(r, 7);
		qp->attr.qp_attr_mask = QP_STATE;
		if (qp->attr.qp_state <= QPS_RTS)
			qp->attr.qp_attr_mask |= masks[qp->attr.qp_state];
		qp->attr.pkey_index = 0;
		qp->attr.port_num = 1;
		qp->attr.ah_attr.port_num = 1;
		qp->attr.ah_attr.is_global = 1;
		if (fuzz_chance(r, 20))
			qp->attr.qp_attr_mask ^= QP_QKEY | QP_ACCESS_FLAGS;
	}
}

/* Makes some SRQs and QPs XRC ones, if the session has an XRC domain. */
static void fill_xrc(struct fuzz_session *fs, struct fuzz_random *r,
		     const struct abi_command *c, uint8_t *arg)
{
	struct rdma_ep_cmd_create_srq *srq = (void *)arg;
	struct rdma_ep_cmd_create_qp *qp = (void *)arg;

	if (!fs->handles[RDMA_EP_OBJ_XRCD][0])
		return;
	if (c->cmd == RDMA_EP_IOC_CREATE_SRQ && fuzz_chance(r, 40)) {
		srq->srq_type = IB_UVERBS_SRQT_XRC;
		srq->xrcd = handle(fs, r, RDMA_EP_OBJ_XRCD);
		srq->cq = handle(fs, r, RDMA_EP_OBJ_CQ);
	}
	if (c->cmd == RDMA_EP_IOC_CREATE_QP && fuzz_chance(r, 30)) {
		qp->init.qp_type = QPT_XRC_INI;
		qp->init.srq = 0;
		if (fuzz_chance(r, 50))
			return;
		qp->init.qp_type = QPT_XRC_TGT;
		qp->init.pd = handle(fs, r, RDMA_EP_OBJ_XRCD);
	}
}

/* Clears mostly the fields that must be 0 without RDMA_EP_AWAIT. */
static void fill_await(struct fuzz_random *r, const struct abi_command *c, uint8_t *arg)
{
	struct rdma_ep_cmd_resolve_addr *addr = (void *)arg;
	struct rdma_ep_cmd_get_request *req = (void *)arg;
	struct rdma_ep_cmd_connect *conn = (void *)arg;
	struct rdma_ep_cmd_id *cmd = (void *)arg;

	if (cmd->flags & RDMA_EP_AWAIT || fuzz_chance(r, 2))
		return;
	switch (c->cmd) {
	case RDMA_EP_IOC_RESOLVE_ADDR:
		memset(&addr->await, 0, sizeof(addr->await));
		break;
	case RDMA_EP_IOC_CONNECT:
	case RDMA_EP_IOC_ACCEPT:
		memset(&conn->await, 0, sizeof(conn->await));
		break;
	case RDMA_EP_IOC_RESOLVE_ROUTE:
	case RDMA_EP_IOC_DISCONNECT:
		memset(&cmd->await, 0, sizeof(cmd->await));
		break;
	case RDMA_EP_IOC_GET_REQUEST:
		req->await_fd = 0;
		break;
	}
}

/* Removes most parts, as one wrong part fails the command. */
static void fill_destroy_ep(struct fuzz_random *r, struct rdma_ep_cmd_destroy_ep *ep)
{
	if (fuzz_chance(r, 60))
		ep->srq = 0;
	if (fuzz_chance(r, 60))
		ep->recv_cq.cq = 0;
	if (fuzz_chance(r, 80))
		ep->send_cq.cq = 0;
	if (fuzz_chance(r, 70))
		ep->channel_fd = -1;
	if (fuzz_chance(r, 80))
		ep->recv_cq.channel_fd = -1;
	if (fuzz_chance(r, 80))
		ep->send_cq.channel_fd = -1;
}

unsigned long fuzz_fill(struct fuzz_session *fs, struct fuzz_random *r,
			const struct abi_command *c, uint8_t *arg)
{
	uint32_t size = _IOC_SIZE(c->cmd);
	const struct abi_field *f;
	uint32_t *head = (uint32_t *)arg;
	uint32_t last = 0;

	memset(arg, 0, size);
	head[0] = size;
	head[1] = fuzz_next(r) & c->flags;
	for (f = c->fields; f->kind; f++)
		fill_field(fs, r, arg, f, &last);
	fill_special(r, c, arg);
	fill_handover(fs, r, c, arg);
	fill_xrc(fs, r, c, arg);
	fill_await(r, c, arg);
	if (c->cmd == RDMA_EP_IOC_RESTRICT)
		fill_restrict(r, (void *)arg);
	if (c->cmd == RDMA_EP_IOC_DESTROY_EP)
		fill_destroy_ep(r, (void *)arg);
	if (c->role && fuzz_chance(r, 75)) {
		for (f = c->fields; f->kind != FIELD_HANDLE; f++)
			;
		put(arg, f, fs->roles[c->role][fuzz_below(r, FUZZ_ROLE_POOL)]);
	}
	if (fuzz_chance(r, 1))
		head[1] = odd_number(r);
	if (fuzz_chance(r, 1))
		head[0] = fuzz_below(r, 2 * size);
	if (fuzz_chance(r, 1))
		return c->cmd + (fuzz_below(r, 16) << _IOC_SIZESHIFT);
	return c->cmd;
}

/* Few calls block after this. nudge() interrupts those. */
void fuzz_no_wait(struct fuzz_random *r, int fd)
{
	if (fuzz_chance(r, 95))
		fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void learn_fields(struct fuzz_session *fs, struct fuzz_random *r,
			 const struct abi_field *f, const uint8_t *arg)
{
	uint32_t value, slot;

	for (; f->kind; f++) {
		if (f->kind == FIELD_QP)
			learn_fields(fs, r, abi_qp_fields, arg + f->at);
		if (f->kind != FIELD_OUT && f->kind != FIELD_OUT_FD &&
		    f->kind != FIELD_OUT_QP_NUM && f->kind != FIELD_KEY)
			continue;
		value = get32(arg, f);
		slot = fuzz_below(r, FUZZ_POOL);
		if (f->kind == FIELD_OUT && value)
			fs->handles[f->arg][slot] = value;
		else if (f->kind == FIELD_OUT_FD && (int)value > 2)
			fuzz_no_wait(r, fs->fds[f->arg][slot] = value);
		else if (f->kind == FIELD_OUT_QP_NUM && value)
			fs->qp_nums[slot] = value;
		else if (f->kind == FIELD_KEY)
			fs->keys[slot] = value;
	}
}

/* Moves the adopted session to the descriptor of the exported one. */
static void take_session(struct fuzz_session *fs, const struct abi_command *c,
			 const uint8_t *arg)
{
	struct rdma_ep_cmd_adopt own = {}, *a = (void *)arg;
	const struct rdma_ep_cmd_export *e = (const void *)arg;

	if (c->cmd == RDMA_EP_IOC_EXPORT) {
		if (e->fd >= 0)
			close(e->fd);
		if (a->flags & RDMA_EP_KEEP || ABI(fs->s.fd, ADOPT, &own))
			return;
		a = &own;
	}
	dup2(a->fd, fs->s.fd);
	close(a->fd);
}

void fuzz_learn(struct fuzz_session *fs, struct fuzz_random *r,
		const struct abi_command *c, const uint8_t *arg)
{
	learn_fields(fs, r, c->fields, arg);
	if (c->cmd == RDMA_EP_IOC_EXPORT || c->cmd == RDMA_EP_IOC_ADOPT)
		take_session(fs, c, arg);
}
