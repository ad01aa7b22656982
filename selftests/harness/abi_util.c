// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions, verbs objects, timers and memory for the raw ioctl tests.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "abi_mock.h"

int abi_raw(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int abi_ioctl(int fd, unsigned long cmd, void *arg)
{
	*(__u32 *)arg = _IOC_SIZE(cmd);
	return abi_raw(fd, cmd, arg);
}

int abi_open_node(void)
{
	int fd = open(RDMA_EP_DEVICE_NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "# %s: %s\n", RDMA_EP_DEVICE_NODE, strerror(errno));
		return -errno;
	}
	return fd;
}

/* Finds the device under test: $RDMA_DEV, or the first one with memory registration. */
static int find_device(struct abi *s)
{
	const char *want = getenv("RDMA_DEV");
	struct rdma_ep_device_info devs[16] = {};
	struct rdma_ep_cmd_query_devices q = { .devices = (uintptr_t)devs, .max = 16 };
	int ret = ABI(s->fd, QUERY_DEVICES, &q);

	if (ret)
		return ret;
	for (__u32 i = 0; i < q.num && i < q.max; i++) {
		if (want ? !strcmp(want, (char *)devs[i].name) :
		    !!(devs[i].flags & RDMA_EP_DEVICE_USER_MR)) {
			s->dev = devs[i].dev_index;
			s->iwarp = devs[i].node_type == 4;
			s->mock = !strcmp((char *)devs[i].name, MOCK_NAME);
			return 0;
		}
	}
	fprintf(stderr, "# no RDMA device %s\n", want ?: "to test");
	return -ENODEV;
}

/* Finds the device's address: $RDMA_EP_TEST_ADDR, or that of its network device. */
static int find_address(struct abi *s)
{
	struct rdma_ep_cmd_query_port port = { .dev_index = s->dev, .port_num = 1 };
	const char *given = getenv("RDMA_EP_TEST_ADDR");
	struct ifaddrs *list, *a;
	int ret = ABI(s->fd, QUERY_PORT, &port);

	if (ret)
		return ret;
	s->netdev = port.netdev_index;
	s->addr.sin_family = AF_INET;
	if (given)
		return inet_pton(AF_INET, given, &s->addr.sin_addr) == 1 ? 0 : -EINVAL;
	if (getifaddrs(&list))
		return -errno;
	ret = -EADDRNOTAVAIL;
	for (a = list; a && ret; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
		    if_nametoindex(a->ifa_name) != s->netdev)
			continue;
		s->addr.sin_addr = ((struct sockaddr_in *)a->ifa_addr)->sin_addr;
		ret = 0;
	}
	freeifaddrs(list);
	if (ret)
		fprintf(stderr, "# no IPv4 address on interface %u\n", s->netdev);
	return ret;
}

/* Finds the newest type of GID that maps our address. */
static int find_gid(struct abi *s)
{
	__u8 want[16] = { [10] = 0xff, 0xff };
	__u32 best = 0;

	if (s->iwarp)
		return 0;
	memcpy(want + 12, &s->addr.sin_addr, 4);
	for (__u32 i = 0; i < 32; i++) {
		struct rdma_ep_cmd_query_gid g = { .dev_index = s->dev, .port_num = 1,
			.gid_index = i };

		if (ABI(s->fd, QUERY_GID, &g) || memcmp(g.gid, want, 16) || g.gid_type <= best)
			continue;
		best = g.gid_type;
		s->gid_index = i;
		memcpy(s->gid, g.gid, 16);
	}
	if (!best)
		fprintf(stderr, "# no RoCE v1 or v2 GID of %s\n", inet_ntoa(s->addr.sin_addr));
	return best ? 0 : -ENODATA;
}

int abi_open_default(struct abi *s)
{
	struct rdma_ep_cmd_open_device o = { .flags = RDMA_EP_OPEN_DEFAULT, .dev_index = s->dev };
	int ret = ABI(s->fd, OPEN_DEVICE, &o);

	s->async_fd = o.async_fd;
	s->ctx = o.ctx;
	s->pd = o.pd;
	return ret;
}

int abi_open(struct abi *s)
{

	memset(s, 0, sizeof(*s));
	s->fd = abi_open_node();
	if (s->fd < 0)
		return s->fd;
	return find_device(s) ?: find_address(s) ?: find_gid(s) ?: abi_open_default(s);
}

int abi_device_info(const struct abi *s, struct rdma_ep_device_info *info)
{
	struct rdma_ep_device_info devs[16];
	struct rdma_ep_cmd_query_devices q = { .devices = (uintptr_t)devs, .max = 16 };
	int ret = ABI(s->fd, QUERY_DEVICES, &q);

	for (__u32 i = 0; !ret && i < q.num && i < q.max; i++) {
		if (devs[i].dev_index == s->dev) {
			*info = devs[i];
			return 0;
		}
	}
	return ret ?: -ENODEV;
}

int abi_open_wait(struct abi *s)
{
	long end = abi_now_ms() + ABI_WAIT_MS;
	int ret;

	while ((ret = abi_open(s)) && abi_now_ms() < end) {
		abi_close(s);
		usleep(50000);
	}
	return ret;
}

void abi_close(struct abi *s)
{
	if (s->async_fd > 0)
		close(s->async_fd);
	if (s->fd > 0)
		close(s->fd);
	s->fd = -1;
	s->async_fd = -1;
}

int abi_destroy_flags(const struct abi *s, __u32 type, __u32 handle, __u32 flags)
{
	struct rdma_ep_cmd_destroy d = { .flags = flags, .handle = handle, .type = type };

	return ABI(s->fd, DESTROY, &d);
}

int abi_destroy(const struct abi *s, __u32 type, __u32 handle)
{
	return abi_destroy_flags(s, type, handle, 0);
}

int abi_destroy_count(const struct abi *s, __u32 type, __u32 handle)
{
	struct rdma_ep_cmd_destroy d = {
		.handle = handle, .type = type, .events_reported = ~0U, .comp_events_reported = ~0U,
	};
	int ret = ABI(s->fd, DESTROY, &d);

	if (!ret && (type == RDMA_EP_OBJ_CQ ? d.events_reported : d.comp_events_reported))
		return -EPROTO;
	return ret ?: (int)(d.events_reported + d.comp_events_reported);
}

int abi_ctx(const struct abi *s, __u32 *ctx, int *async_fd)
{
	struct rdma_ep_cmd_open_device o = { .dev_index = s->dev };
	int ret = ABI(s->fd, OPEN_DEVICE, &o);

	*ctx = o.ctx;
	*async_fd = o.async_fd;
	return ret;
}

int abi_alloc_pd(const struct abi *s, __u32 ctx, __u32 *pd)
{
	struct rdma_ep_cmd_alloc_pd a = { .ctx = ctx };
	int ret = ABI(s->fd, ALLOC_PD, &a);

	*pd = a.pd;
	return ret;
}

int abi_exhaust_pds(const struct abi *s, int *n)
{
	__u32 pd;
	int ret;

	*n = 0;
	do {
		ret = abi_alloc_pd(s, s->ctx, &pd);
	} while (!ret && ++*n < 1000);
	return ret;
}

int abi_reg_mr(const struct abi *s, __u32 pd, void *addr, size_t length,
	       __u32 access, struct rdma_ep_cmd_reg_mr *mr)
{
	memset(mr, 0, sizeof(*mr));
	mr->addr = (uintptr_t)addr;
	mr->iova = mr->addr;
	mr->length = length;
	mr->pd = pd;
	mr->access = access;
	return ABI(s->fd, REG_MR, mr);
}

int abi_comp_channel(const struct abi *s)
{
	struct rdma_ep_cmd_create_fd f = {};

	return ABI(s->fd, CREATE_COMP_CHANNEL, &f) ?: f.fd;
}

static int create_cq(const struct abi *s, struct rdma_ep_cmd_create_cq *c, __u32 *cq)
{
	int ret;

	c->ctx = s->ctx;
	ret = ABI(s->fd, CREATE_CQ, c);
	*cq = c->cq;
	return ret;
}

int abi_create_cq(const struct abi *s, int channel, __u32 cqe, __u64 uid, __u32 *cq)
{
	struct rdma_ep_cmd_create_cq c = { .uid = uid, .channel_fd = channel, .cqe = cqe };

	return create_cq(s, &c, cq);
}

int abi_create_ring_cq(const struct abi *s, int channel, __u32 cqe, __u64 uid,
		       __u32 *cq, __u32 *ring)
{
	struct rdma_ep_cmd_create_cq c = {
		.flags = RDMA_EP_CQ_RING, .uid = uid, .channel_fd = channel, .cqe = cqe,
	};
	int ret = create_cq(s, &c, cq);

	*ring = c.ring;
	return ret;
}

int abi_notify_cq(const struct abi *s, __u32 cq, __u32 flags)
{
	struct rdma_ep_cmd_notify_cq n = { .flags = flags, .cq = cq };

	return ABI(s->fd, NOTIFY_CQ, &n);
}

int abi_create_srq(const struct abi *s, __u32 pd, __u32 max_wr, __u64 uid, __u32 *srq)
{
	struct rdma_ep_cmd_create_srq c = { .uid = uid, .pd = pd, .max_wr = max_wr, .max_sge = 1 };
	int ret = ABI(s->fd, CREATE_SRQ, &c);

	*srq = c.srq;
	return ret;
}

int abi_open_xrcd(const struct abi *s, int file, __u32 flags, __u32 *xrcd)
{
	struct rdma_ep_cmd_open_xrcd o = { .flags = flags, .ctx = s->ctx, .fd = file };
	int ret = ABI(s->fd, OPEN_XRCD, &o);

	*xrcd = o.xrcd;
	return ret;
}

void abi_qp_attr(struct rdma_ep_cmd_create_qp *qp, __u32 type, __u32 pd, __u32 send_cq,
		 __u32 recv_cq)
{
	memset(qp, 0, sizeof(*qp));
	qp->init.qp_type = type;
	qp->init.pd = pd;
	qp->init.max_send_wr = 16;
	qp->init.max_recv_wr = 16;
	qp->init.max_send_sge = 2;
	qp->init.max_recv_sge = 2;
	qp->init.max_inline_data = 64;
	qp->init.send_cq.cq = send_cq;
	qp->init.recv_cq.cq = recv_cq;
}

void abi_auto_qp(struct rdma_ep_qp_init *init)
{
	struct rdma_ep_cmd_create_qp qp;

	abi_qp_attr(&qp, QPT_RC, 0, 0, 0);
	*init = qp.init;
}

int abi_create_qp(const struct abi *s, __u32 type, __u32 cq, __u32 id,
		  struct rdma_ep_cmd_create_qp *qp)
{
	abi_qp_attr(qp, type, s->pd, cq, cq);
	qp->id = id;
	return ABI(s->fd, CREATE_QP, qp);
}

void abi_own_addr(const struct abi *s, __u16 port, void *addr)
{
	struct sockaddr_in sin = s->addr;

	sin.sin_port = htons(port);
	memcpy(addr, &sin, sizeof(sin));
}

void abi_own_ep(const struct abi *s, __u16 port, struct rdma_ep_cmd_create_ep *e)
{
	*e = (struct rdma_ep_cmd_create_ep) {
		.flags = RDMA_EP_EP_CREATE_QP | RDMA_EP_ID_PRIVATE_CHANNEL,
		.channel_fd = -1,
		.ps = RDMA_PS_TCP,
		.qp_type = QPT_RC,
		.addr_timeout_ms = 5000,
		.route_timeout_ms = 5000,
	};
	abi_own_addr(s, port, &e->dst);
	abi_auto_qp(&e->qp);
}

void abi_ep_parts(const struct rdma_ep_cmd_create_ep *e, struct rdma_ep_cmd_destroy_ep *d)
{
	*d = (struct rdma_ep_cmd_destroy_ep) {
		.id = e->id,
		.channel_fd = e->channel_fd,
		.qp = e->qp.qp,
		.recv_cq = { e->qp.recv_cq.cq, e->qp.recv_cq.channel_fd },
		.send_cq = { e->qp.send_cq.cq, e->qp.send_cq.channel_fd },
	};
}

void abi_self_ah(const struct abi *s, struct ib_uverbs_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid, s->gid, 16);
	attr->grh.sgid_index = s->gid_index;
	attr->grh.hop_limit = 64;
	attr->is_global = 1;
	attr->port_num = 1;
}

int abi_create_ah(const struct abi *s, __u32 pd, __u32 *ah)
{
	struct rdma_ep_cmd_create_ah c = { .pd = pd };
	int ret;

	abi_self_ah(s, &c.attr);
	ret = ABI(s->fd, CREATE_AH, &c);
	*ah = c.ah;
	return ret;
}

void abi_rtr_attr(const struct abi *s, __u32 dest, struct ib_uverbs_qp_attr *attr)
{
	*attr = (struct ib_uverbs_qp_attr) {
		.qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN |
				QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER,
		.qp_state = QPS_RTR,
		.dest_qp_num = dest,
		.path_mtu = 3,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
	};
	abi_self_ah(s, &attr->ah_attr);
}

void abi_rts_attr(struct ib_uverbs_qp_attr *attr)
{
	*attr = (struct ib_uverbs_qp_attr) {
		.qp_attr_mask = QP_STATE | QP_SQ_PSN | QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY |
				QP_MAX_QP_RD_ATOMIC,
		.qp_state = QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
}

int abi_modify_qp(const struct abi *s, __u32 qp, const struct ib_uverbs_qp_attr *attr)
{
	struct rdma_ep_cmd_modify_qp m = { .qp = qp, .attr = *attr };

	return ABI(s->fd, MODIFY_QP, &m);
}

int abi_query_qp(const struct abi *s, __u32 qp, __u32 mask, struct ib_uverbs_qp_attr *attr)
{
	struct rdma_ep_cmd_query_qp q = { .qp = qp, .attr_mask = mask };
	int ret = ABI(s->fd, QUERY_QP, &q);

	*attr = q.attr;
	return ret;
}

int abi_state_of(const struct abi *s, __u32 qp)
{
	struct ib_uverbs_qp_attr attr;

	return abi_query_qp(s, qp, QP_STATE, &attr) ?: (int)attr.qp_state;
}

int abi_qp_state(const struct abi *s, __u32 qp, __u32 state)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = QP_STATE, .qp_state = state };

	return abi_modify_qp(s, qp, &attr);
}

int abi_qp_init(const struct abi *s, __u32 qp, __u32 type, __u32 qkey)
{
	struct ib_uverbs_qp_attr attr = {
		.qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT, .qp_state = QPS_INIT,
		.port_num = 1,
	};

	if (type == QPT_UD) {
		attr.qp_attr_mask |= QP_QKEY;
		attr.qkey = qkey;
	} else {
		attr.qp_attr_mask |= QP_ACCESS_FLAGS;
		attr.qp_access_flags = type == QPT_UC ? AC_LOCAL_WRITE | AC_REMOTE_WRITE : AC_ALL;
	}
	return abi_modify_qp(s, qp, &attr);
}

/* From INIT to RTS, with the attributes that the QP's type has */
int abi_qp_rts(const struct abi *s, __u32 qp, __u32 type, __u32 dest)
{
	bool requester = type == QPT_RC || type == QPT_XRC_INI;
	bool responder = type == QPT_RC || type == QPT_XRC_TGT;
	struct ib_uverbs_qp_attr attr;
	int ret;

	abi_rtr_attr(s, dest, &attr);
	if (type == QPT_UD)
		attr.qp_attr_mask = QP_STATE;
	else if (!responder)
		attr.qp_attr_mask &= ~(QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER);
	ret = abi_modify_qp(s, qp, &attr);
	abi_rts_attr(&attr);
	if (!requester)
		attr.qp_attr_mask &= ~(QP_RETRY_CNT | QP_RNR_RETRY | QP_MAX_QP_RD_ATOMIC);
	if (!requester && !responder)
		attr.qp_attr_mask &= ~QP_TIMEOUT;
	return ret ?: abi_modify_qp(s, qp, &attr);
}

int abi_qp_connect(const struct abi *s, __u32 type, const struct rdma_ep_qp_init *a,
		   const struct rdma_ep_qp_init *b)
{
	return abi_qp_init(s, a->qp, type, 0) ?: abi_qp_init(s, b->qp, type, 0) ?:
	       abi_qp_rts(s, a->qp, type, b->qp_num) ?: abi_qp_rts(s, b->qp, type, a->qp_num);
}

int abi_count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		return -errno;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void on_alarm(int sig)
{
}

void abi_alarm(int ms)
{
	struct itimerval it = {
		.it_value = { ms / 1000, ms % 1000 * 1000 },
		/* Repeats, as the first signal may come before the wait. */
		.it_interval = { 0, 200000 },
	};
	struct sigaction sa = { .sa_handler = on_alarm };

	if (!ms)
		memset(&it, 0, sizeof(it));
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

bool abi_arrived(const void *at, const void *data, size_t len)
{
	return ABI_UNTIL(!memcmp(at, data, len));
}

long abi_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__u64 abi_random(void)
{
	static __u64 x = 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

void abi_fill(void *buf, size_t len)
{
	while (len--)
		((char *)buf)[len] = abi_random();
}

static void *map(size_t len, int flags)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void *abi_map(size_t len)
{
	return map(len, MAP_PRIVATE);
}

void *abi_map_shared(size_t len)
{
	return map(len, MAP_SHARED);
}
